//! The contacts of a state: every place where two surfaces are closest, once, with normal, weights and gap.
//!
//! Pairs of a point and a triangle, or of two edges, that may be close come from the tree. Each is renamed to what its closest points
//! really lie on (two points, a point and an edge, ...), equal names are merged, and those that are no local minimum of the
//! distance between the surfaces are dropped ([`super::minimum`]). So a vertex above a shared edge gives one contact and not
//! one per triangle (Harmon 2010, section 3.3; duplicates spoil the preconditioner of Verschoor and Jalba 2019, section 3.4.1).
//!
//! A point that is not finite, or farther than [`FARTHEST`] from the origin, has no contacts; it is reported.
//!
//! Work is cut into fixed chunks and what is found sorted by id, so the answer is the same for any number of threads.

#[cfg(test)]
mod tests;

use std::f64::consts::FRAC_PI_2;

use glam::DVec3;
use rayon::prelude::*;

use super::features::Features;
use super::minimum::{Near, Placed};
use super::pair::{Feature, Pair};

/// Coordinates beyond this (m) are treated as not finite: their squares would overflow.
pub const FARTHEST: f64 = 1e120;

/// Below this part of the coordinates a distance has no sure direction.
const SURE: f64 = 1e-9;

/// Edges whose sine, or the square of it, is below this have no common perpendicular to speak of.
const PARALLEL: f64 = 1e-6;

/// Pairs that one task looks at.
const CHUNK: usize = 1024;

/// Thickness that is added between two parts, or taken away (m), by their numbers.
pub type Extra<'a> = &'a (dyn Fn(u32, u32) -> f64 + Sync);

/// What counts as a contact.
#[derive(Clone, Copy)]
pub struct Settings<'a> {
    /// Contacts with a gap up to this are wanted (m).
    pub range: f64,
    /// What each point adds to that, of each side the largest (m); nothing if there are none.
    pub ranges: &'a [f64],
    /// Half the thickness of the surface at each point: the radius of a rod, half that of cloth (m).
    pub half_thickness: &'a [f64],
    /// Thickness to add between two parts.
    pub extra: Option<Extra<'a>>,
    /// Positions at rest (m): parts of one thing that are close at rest must not push each other apart.
    ///
    /// The thickness T between two features of one part that are s < πT/2 apart at rest is T sin(s/T), which is less than s:
    /// a rod or sheet can bend until its inner side meets itself, at the radius T/2, and no further.
    pub rest: Option<&'a [DVec3]>,
    /// A point over a flat place of the other surface is a contact though its own surface descends from there, by up to this
    /// sine: 1 for all such points, because each moves by itself; 0 for places only where both surfaces are closest.
    pub slope: f64,
}

/// A place where two surfaces are closest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contact {
    /// The number of the pair ([`Pair::id`]), the same as long as the same features touch.
    pub id: u64,
    /// Points of the first feature and then of the second; places that are not needed repeat a point.
    pub points: [u32; 4],
    /// Weights of the points: those of the first feature sum to 1, those of the second to −1.
    pub weights: [f64; 4],
    /// Unit vector from the second to the first.
    ///
    /// It is the direction between the closest points. Where they are closer than rounding can tell, it is the normal of
    /// the triangle, or perpendicular to both edges, or else that of the surface around the second less that around the first, and looks
    /// out of the second.
    pub normal: DVec3,
    /// Distance of the closest points (m).
    pub distance: f64,
    /// Distance less thickness (m).
    pub gap: f64,
}

/// What is near in a state.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Proximity {
    /// Contacts by ascending id.
    pub contacts: Vec<Contact>,
    /// Points that are not finite or too far away, ascending; they have no contacts.
    pub lost: Vec<u32>,
}

/// All contacts among `point_triangle`, pairs (point, triangle), and `edge_edge`, pairs of edges.
///
/// The lists must hold every pair that is within the range, thickness included: a pair is dropped where a neighbour is
/// closer, and that one must be there to stand for it.
#[must_use]
pub fn contacts(
    features: &Features,
    positions: &[DVec3],
    point_triangle: &[[u32; 2]],
    edge_edge: &[[u32; 2]],
    settings: &Settings,
) -> Proximity {
    let state = State {
        placed: Placed {
            features,
            positions,
        },
        settings: *settings,
    };
    let lost = (0..positions.len() as u32)
        .filter(|&point| is_lost(positions[point as usize]))
        .collect();
    let points = point_triangle
        .par_chunks(CHUNK)
        .map(|pairs| state.settled(pairs, Feature::Point, Feature::Triangle));
    let edges = edge_edge
        .par_chunks(CHUNK)
        .map(|pairs| state.settled(pairs, Feature::Edge, Feature::Edge));
    let mut pairs = points.chain(edges).collect::<Vec<_>>().concat();
    pairs.par_sort_unstable_by_key(|pair| pair.id());
    pairs.dedup();
    let contacts = pairs
        .par_chunks(CHUNK)
        .map(|pairs| {
            pairs
                .iter()
                .filter_map(|&pair| state.contact(pair))
                .collect()
        })
        .collect::<Vec<Vec<Contact>>>()
        .concat();
    Proximity { contacts, lost }
}

/// The thickness between the features of a pair where the points have these weights (m).
#[must_use]
pub fn thickness(features: &Features, pair: Pair, near: &Near, settings: &Settings) -> f64 {
    let state = State {
        placed: Placed {
            features,
            positions: &[],
        },
        settings: *settings,
    };
    state.thickness(pair, near)
}

/// Whether a point is nowhere, or too far away.
fn is_lost(place: DVec3) -> bool {
    !place.abs().cmple(DVec3::splat(FARTHEST)).all()
}

struct State<'a> {
    placed: Placed<'a>,
    settings: Settings<'a>,
}

impl State<'_> {
    /// What stands for those of the pairs that are in range.
    fn settled(
        &self,
        pairs: &[[u32; 2]],
        first: fn(u32) -> Feature,
        second: fn(u32) -> Feature,
    ) -> Vec<Pair> {
        let mut found = Vec::new();
        for &[one, other] in pairs {
            let pair = Pair::new(first(one), second(other));
            let near = self.placed.near(pair);
            if self.is_in_range(&near) && !self.is_found_otherwise(pair, &near) {
                self.placed.settle(pair, &mut found);
            }
        }
        found
    }

    /// Whether two edges are closest at an end of one, surely, and that point meets a triangle on the other: then this pair
    /// tells the same. Most pairs of edges are such.
    fn is_found_otherwise(&self, pair: Pair, near: &Near) -> bool {
        let [Feature::Edge(one), Feature::Edge(other)] = pair.features() else {
            return false;
        };
        let [a, b, c, d] = near
            .points
            .map(|point| self.placed.positions[point as usize]);
        let (along, across) = (b - a, d - c);
        let square = along.length_squared() * across.length_squared();
        // Where edges are nearly parallel, rounding may have chosen the end.
        let is_sure = along.cross(across).length_squared() > PARALLEL * square;
        let [w0, w1, w2, w3] = near.closest.weights;
        let end_of = |at: usize, weights: [f64; 2]| {
            let end = if weights[1] == 0.0 { at } else { at + 1 };
            (weights[0] == 0.0 || weights[1] == 0.0).then_some(near.points[end])
        };
        let features = self.placed.features;
        let meets = |point: Option<u32>, edge: u32| {
            let triangles = features.edge_triangles.of(edge).iter();
            point.is_some_and(|point| {
                triangles
                    .into_iter()
                    .any(|&triangle| features.point_meets_triangle(point, triangle))
            })
        };
        is_sure && (meets(end_of(0, [w0, w1]), other) || meets(end_of(2, [w2, w3]), one))
    }

    /// Whether any of the pair can be in range, with the largest thickness of its corners.
    fn is_in_range(&self, near: &Near) -> bool {
        let half = near.points.map(|point| self.half_thickness(point));
        let thickest = half.into_iter().fold(0.0, f64::max);
        let reach = self.range(near) + 2.0 * thickest + self.extra(near);
        let places = near
            .points
            .map(|point| self.placed.positions[point as usize]);
        near.closest.distance <= reach + near.rounding && !places.into_iter().any(is_lost)
    }

    /// The contact of a settled pair, if it is one.
    fn contact(&self, pair: Pair) -> Option<Contact> {
        let near = self.placed.near(pair);
        let gap = near.closest.distance - self.thickness(pair, &near);
        let is_contact =
            gap <= self.range(&near) && self.placed.is_minimum(pair, &near, self.settings.slope);
        is_contact.then(|| Contact {
            id: pair.id(),
            points: near.points,
            weights: near.closest.weights,
            normal: self.normal(pair, &near),
            distance: near.closest.distance,
            gap,
        })
    }

    /// Up to which gap a pair counts (m).
    fn range(&self, near: &Near) -> f64 {
        let Settings { range, ranges, .. } = self.settings;
        if ranges.is_empty() {
            return range;
        }
        let side = |is_first: bool| {
            let terms = near.points.iter().zip(near.closest.weights);
            let side = terms.filter(|(_, weight)| (*weight > 0.0) == is_first);
            let own = side.map(|(point, _)| ranges[*point as usize]);
            own.fold(0.0, f64::max)
        };
        range + side(true) + side(false) + self.extra(near).max(0.0)
    }

    fn half_thickness(&self, point: u32) -> f64 {
        let half = self.settings.half_thickness.get(point as usize);
        half.map_or(0.0, |half| half.max(0.0))
    }

    fn parts(&self, near: &Near) -> [u32; 2] {
        let part = |point: u32| self.placed.features.part_of[point as usize];
        [part(near.points[0]), part(near.points[3])]
    }

    fn extra(&self, near: &Near) -> f64 {
        let [first, second] = self.parts(near);
        let extra = self.settings.extra.map(|extra| extra(first, second));
        extra.unwrap_or(0.0)
    }

    /// Thickness of both sides where they are closest, limited for parts of one thing ([`Settings::rest`]).
    fn thickness(&self, pair: Pair, near: &Near) -> f64 {
        let terms = near.points.iter().zip(near.closest.weights);
        let own: f64 = terms
            .map(|(&point, weight)| weight.abs() * self.half_thickness(point))
            .sum();
        let thickness = (own + self.extra(near)).max(0.0);
        let [first, second] = self.parts(near);
        match self.settings.rest {
            Some(positions) if first == second && thickness > 0.0 => {
                let at_rest = Placed {
                    positions,
                    ..self.placed
                };
                let turn = at_rest.near(pair).closest.distance / thickness;
                // Also where the distance at rest is not a number.
                if turn < FRAC_PI_2 {
                    thickness * turn.sin()
                } else {
                    thickness
                }
            }
            _ => thickness,
        }
    }

    /// The unit vector from the second to the first ([`Contact::normal`]).
    fn normal(&self, pair: Pair, near: &Near) -> DVec3 {
        let (vector, distance) = (near.closest.vector, near.closest.distance);
        let places = near
            .points
            .map(|point| self.placed.positions[point as usize]);
        let largest = places.iter().map(|place| place.abs().max_element());
        if distance > SURE * largest.fold(0.0, f64::max) {
            return (vector / distance).normalize();
        }
        let normal = self.own_normal(pair, places);
        if normal.dot(vector) < -near.rounding {
            -normal
        } else {
            normal
        }
    }

    /// A unit normal from the features alone.
    fn own_normal(&self, pair: Pair, places: [DVec3; 4]) -> DVec3 {
        let [first, second] = pair.features();
        let [p, q, a, b] = places;
        let around = self.surface_normal(second) - self.surface_normal(first);
        let across = match (first, second) {
            (Feature::Edge(_), _) => {
                let (one, other) = ((q - p).normalize_or_zero(), (b - a).normalize_or_zero());
                let across = one.cross(other);
                let across = if across.length() > PARALLEL {
                    across
                } else {
                    DVec3::ZERO
                };
                if across.dot(around) < 0.0 {
                    -across
                } else {
                    across
                }
            }
            (_, Feature::Triangle(_)) => self.surface_normal(second),
            _ => DVec3::ZERO,
        };
        let along = match (first, second) {
            (Feature::Edge(_), _) => (b - a).try_normalize(),
            (_, Feature::Edge(_)) => (a - q).try_normalize(),
            _ => None,
        };
        let sideways = along.map(DVec3::any_orthonormal_vector);
        let found = across.try_normalize().or_else(|| around.try_normalize());
        found.or(sideways).unwrap_or(DVec3::Z)
    }

    /// The sum of the unit normals of the triangles that a feature is, or has around it.
    fn surface_normal(&self, feature: Feature) -> DVec3 {
        let features = self.placed.features;
        match feature {
            Feature::Triangle(_) => {
                let corners = feature.corners(features);
                let [a, b, c] = corners.map(|point| self.placed.positions[point as usize]);
                let (one, other) = ((b - a).normalize_or_zero(), (c - a).normalize_or_zero());
                one.cross(other).normalize_or_zero()
            }
            _ => feature
                .around(features)
                .map(|larger| self.surface_normal(larger))
                .sum(),
        }
    }
}
