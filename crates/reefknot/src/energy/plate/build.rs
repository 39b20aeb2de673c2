//! From the fan of a vertex to its element.

use super::fan::{Fan, FlatFan};
use super::weights::{End, Spoke, free_directions, spokes, weights};
use super::{Clamp, PlateError};
use glam::DVec3;

/// The largest number of nodes of an element; vertices with more neighbours have several.
const LARGEST: usize = 10;

/// A clamped edge as one of its nodes sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClampedEnd {
    /// Index of the clamp.
    pub(super) clamp: usize,
    /// Times the direction of normal × edge it is `beyond` (m).
    reach: f64,
    /// From the node to a point beyond the edge, where the sheet would go on straight (m).
    pub(super) beyond: DVec3,
}

impl ClampedEnd {
    /// Turns to a normal, where the edge is now; stays if they have one direction.
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
    clamps: &[Clamp],
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

/// An element before its number of nodes is part of its type.
pub(super) struct LooseStar {
    /// The centre and its neighbours in order.
    pub(super) nodes: Vec<u32>,
    /// Whether a triangle joins the last neighbour with the first.
    pub(super) closed: bool,
    /// Clamps at the edges to the first and the last neighbour.
    pub(super) ends: [Option<ClampedEnd>; 2],
    /// Of the edge to each node; zero for the centre and for edges that have no angle here.
    pub(super) weights: Vec<DVec3>,
}

/// The elements of a vertex: one, or several if it has too many neighbours.
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
    let is_whole = fan.ring.len() < LARGEST;
    // A part has the centre, its edges, and a neighbour on either side.
    let parts = match is_whole {
        true => usize::from(!spokes.is_empty()),
        false => spokes.len().div_ceil(LARGEST - 3),
    };
    let part = |index: usize| {
        let [first, end] = [index, index + 1].map(|index| index * spokes.len() / parts);
        let chosen = &spokes[first..end];
        let area = flat.area * chosen.len() as f64 / spokes.len() as f64;
        let weights = weights(chosen, &directions, area, poisson);
        let places = match is_whole {
            true => (0..fan.ring.len()).collect(),
            false => with_neighbours(fan, chosen),
        };
        loose_star(fan, clamped, &places, &weights, fan.closed && is_whole)
    };
    (0..parts).map(part).collect()
}

/// The places in the ring of some consecutive spokes, and of those before and after.
fn with_neighbours(fan: &Fan, spokes: &[(usize, Spoke)]) -> Vec<usize> {
    let before = spokes.first().and_then(|first| fan.before(first.0));
    let after = spokes.last().and_then(|last| fan.after(last.0));
    let own = spokes.iter().map(|spoke| spoke.0);
    before.into_iter().chain(own).chain(after).collect()
}

/// The element of a fan with the neighbours at some `places`.
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
