//! Construction of the element of a vertex from its fan of triangles.

use super::fan::{Fan, FlatFan};
use super::weights::{End, Spoke, free_directions, spokes, weights};
use super::{ClampedEdge, PlateError};
use glam::DVec3;

/// Maximum number of nodes of an element. Vertices with more neighbours have several elements.
const MAX_NODES: usize = 10;

/// A clamped edge in the element of one of its nodes.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClampedEnd {
    /// Index of the clamp.
    pub(super) clamp: usize,
    /// Length of `beyond` along normal × edge (m).
    reach: f64,
    /// Vector from the node to a point beyond the edge, in the tangent plane of the clamp (m). It
    /// is the opposite node of the missing triangle.
    pub(super) beyond: DVec3,
}

impl ClampedEnd {
    /// Sets a new normal at the current edge. Normals parallel to the edge are ignored.
    pub(super) fn aim(&mut self, normal: DVec3, edge: DVec3) {
        let across = normal.cross(edge);
        if across.length() > 1e-6 * normal.length() * edge.length() {
            self.beyond = across.normalize_or_zero() * self.reach;
        }
    }
}

/// The clamps at the first and the last edge of a fan.
pub(super) fn clamped_ends(
    fan: &Fan,
    rest: &[DVec3],
    clamps: &[ClampedEdge],
) -> Result<[Option<ClampedEnd>; 2], PlateError> {
    let mut ends = [None; 2];
    if fan.closed {
        return Ok(ends);
    }
    let last = fan.ring.len() - 1;
    let from_centre = |place: usize| rest[fan.ring[place] as usize] - rest[fan.centre as usize];
    for (end, place, inner) in [(0, 0, 1), (1, last, last - 1)] {
        let both = [fan.ring[place], fan.centre];
        let Some(clamp) = clamps
            .iter()
            .position(|clamp| both.iter().all(|node| clamp.edge.contains(node)))
        else {
            continue;
        };
        let edge = from_centre(place);
        let direction = clamps[clamp].normal.cross(edge).normalize_or_zero();
        let inward = direction.dot(from_centre(inner));
        if inward.abs() <= 1e-6 * edge.length() {
            return Err(PlateError::Clamp {
                edge: clamps[clamp].edge,
            });
        }
        ends[end] = Some(ClampedEnd {
            clamp,
            reach: -inward,
            beyond: direction * -inward,
        });
    }
    Ok(ends)
}

/// An element whose number of nodes is not part of its type.
pub(super) struct LooseStar {
    /// The centre and its neighbours in order.
    pub(super) nodes: Vec<u32>,
    /// Whether a triangle joins the last neighbour with the first.
    pub(super) closed: bool,
    /// Clamps at the edges to the first and the last neighbour.
    pub(super) ends: [Option<ClampedEnd>; 2],
    /// Weights of the edges to each node; zero for the centre and for edges without an angle in
    /// this element.
    pub(super) weights: Vec<DVec3>,
}

/// The elements of a vertex: one, or several if it has many neighbours.
pub(super) fn stars_of(
    fan: &Fan,
    rest: &[DVec3],
    clamped: &[Option<ClampedEnd>; 2],
    poisson: f64,
) -> Vec<LooseStar> {
    let flat = FlatFan::new(fan, rest);
    let ends = clamped.map(|end| end.map_or(End::Free, |_| End::Clamped));
    let directions = free_directions(fan, &flat, ends);
    let spokes: Vec<(usize, Spoke)> = spokes(fan, &flat, ends)
        .into_iter()
        .enumerate()
        .filter_map(|(place, spoke)| spoke.map(|spoke| (place, spoke)))
        .collect();
    let is_whole = fan.ring.len() < MAX_NODES;
    // A part has the centre, its edges, and one more neighbour on each side.
    let parts = if is_whole {
        usize::from(!spokes.is_empty())
    } else {
        spokes.len().div_ceil(MAX_NODES - 3)
    };
    let part = |index: usize| {
        let [first, end] = [index, index + 1].map(|index| index * spokes.len() / parts);
        let chosen = &spokes[first..end];
        let area = flat.area * chosen.len() as f64 / spokes.len() as f64;
        let weights = weights(chosen, &directions, area, poisson);
        let places = if is_whole {
            (0..fan.ring.len()).collect()
        } else {
            with_neighbours(fan, chosen)
        };
        loose_star(fan, clamped, &places, &weights, fan.closed && is_whole)
    };
    (0..parts).map(part).collect()
}

/// Indices in the ring of consecutive spokes, and of the spokes before and after them.
fn with_neighbours(fan: &Fan, spokes: &[(usize, Spoke)]) -> Vec<usize> {
    let before = spokes.first().and_then(|first| fan.before(first.0));
    let after = spokes.last().and_then(|last| fan.after(last.0));
    let own = spokes.iter().map(|spoke| spoke.0);
    before.into_iter().chain(own).chain(after).collect()
}

/// The element of a fan with the neighbours at `places` of the ring.
fn loose_star(
    fan: &Fan,
    clamped: &[Option<ClampedEnd>; 2],
    places: &[usize],
    weights: &[(usize, DVec3)],
    closed: bool,
) -> LooseStar {
    let last = fan.ring.len() - 1;
    let weight = |place: &usize| {
        let found = weights.iter().find(|weight| weight.0 == *place);
        found.map_or(DVec3::ZERO, |weight| weight.1)
    };
    let neighbours = places.iter().map(|place| fan.ring[*place]);
    LooseStar {
        nodes: std::iter::once(fan.centre).chain(neighbours).collect(),
        closed,
        ends: [
            clamped[0].filter(|_| places.first() == Some(&0)),
            clamped[1].filter(|_| places.last() == Some(&last)),
        ],
        weights: std::iter::once(DVec3::ZERO)
            .chain(places.iter().map(weight))
            .collect(),
    }
}
