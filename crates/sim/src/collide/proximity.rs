//! The contacts of a state: every local minimum of the distance between two surfaces, once, with
//! normal, weights and gap.
//!
//! Candidate pairs of a point and a triangle, or of two edges, come from the tree. Each is replaced
//! by the pair of features that contain its closest points (two points, a point and an edge, ...),
//! duplicates are merged, and pairs that are not a local minimum of the distance are dropped
//! ([`super::minimum`]). So a vertex above a shared edge has one contact, not one per triangle
//! (Harmon 2010, section 3.3; duplicates spoil the preconditioner of Verschoor and Jalba 2019,
//! section 3.4.1).
//!
//! Points that are not finite, or have a coordinate beyond [`MAX_COORDINATE`], are reported and
//! have no contacts.
//!
//! Tasks are fixed chunks of pairs, and contacts are sorted by id, so the result is the same for
//! any number of threads.

#[cfg(test)]
mod tests;

use std::f64::consts::FRAC_PI_2;

use glam::DVec3;
use rayon::prelude::*;

use super::features::Features;
use super::minimum::{PairDistance, PlacedFeatures};
use super::pair::{Feature, FeaturePair};

/// Coordinates beyond this (m) are treated as not finite, because their squares overflow.
pub const MAX_COORDINATE: f64 = 1e120;

/// A distance below this fraction of the coordinates has no reliable direction.
const MIN_RELIABLE_DISTANCE: f64 = 1e-9;

/// Edges are nearly parallel if their sine is below this (in normals), or its square (in the choice
/// of pairs).
const MIN_SINE: f64 = 1e-6;

/// Pairs that one task takes.
const CHUNK_SIZE: usize = 1024;

/// Thickness to add between two parts (m), positive or negative.
pub type ExtraThickness<'a> = &'a (dyn Fn(u32, u32) -> f64 + Sync);

/// The contacts to find.
#[derive(Clone, Copy)]
pub struct ProximityQuery<'a> {
    /// Largest gap of a contact (m).
    pub range: f64,
    /// Additional range of each point (m). The largest of each side counts. May be empty.
    pub ranges: &'a [f64],
    /// Half the thickness of the surface at each point: the radius of a rod, half the thickness of
    /// cloth (m).
    pub half_thickness: &'a [f64],
    /// Thickness to add between two parts.
    pub extra: Option<ExtraThickness<'a>>,
    /// Positions at rest (m): features of one part that are close at rest must not repel each
    /// other.
    ///
    /// The thickness T between two features of one part that are s < πT/2 apart at rest is T
    /// sin(s/T), which is less than s: a rod or sheet can bend until its inner side is in contact
    /// with itself, at the radius T/2.
    pub rest: Option<&'a [DVec3]>,
    /// Largest sine by which the surface of a point may descend towards a flat part of the other
    /// surface if the point is still a contact. 1 makes all points over flat parts contacts, since
    /// each point moves independently; 0 allows minima of both surfaces only.
    pub slope: f64,
}

/// A local minimum of the distance between two surfaces.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProximityPair {
    /// The id of the pair ([`FeaturePair::id`]), the same in all steps.
    pub id: u64,
    /// Points of the first feature, then of the second; unused entries repeat a point.
    pub points: [u32; 4],
    /// Weights of the points: those of the first feature sum to 1, those of the second to −1.
    pub weights: [f64; 4],
    /// Unit vector from the second to the first.
    ///
    /// It is the direction between the closest points. Where rounding hides it, it is the normal of
    /// the triangle, or perpendicular to both edges, or else the normal of the surface around the
    /// second minus that around the first, and points out of the second.
    pub normal: DVec3,
    /// Distance of the closest points (m).
    pub distance: f64,
    /// Distance minus thickness (m).
    pub gap: f64,
}

/// The contacts of a state.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Proximity {
    /// Contacts by ascending id.
    pub contacts: Vec<ProximityPair>,
    /// Points that are not finite or too far away, ascending; they have no contacts.
    pub invalid_points: Vec<u32>,
}

/// All contacts among `point_triangle`, pairs (point, triangle), and `edge_edge`, pairs of edges.
///
/// The lists must contain every pair within the range, thickness included: a pair is dropped if a
/// neighbour is closer, and that pair must be in the lists to replace it.
#[must_use]
pub fn contacts(
    features: &Features,
    positions: &[DVec3],
    point_triangle: &[[u32; 2]],
    edge_edge: &[[u32; 2]],
    query: &ProximityQuery,
) -> Proximity {
    let search = ContactSearch {
        placed: PlacedFeatures {
            features,
            positions,
        },
        query: *query,
    };
    let invalid_points = (0..positions.len() as u32)
        .filter(|&point| is_invalid(positions[point as usize]))
        .collect();
    let points = point_triangle
        .par_chunks(CHUNK_SIZE)
        .map(|pairs| search.resolved(pairs, Feature::Point, Feature::Triangle));
    let edges = edge_edge
        .par_chunks(CHUNK_SIZE)
        .map(|pairs| search.resolved(pairs, Feature::Edge, Feature::Edge));
    let mut pairs = points.chain(edges).collect::<Vec<_>>().concat();
    pairs.par_sort_unstable_by_key(|pair| pair.id());
    pairs.dedup();
    let contacts = pairs
        .par_chunks(CHUNK_SIZE)
        .map(|pairs| {
            pairs
                .iter()
                .filter_map(|&pair| search.contact(pair))
                .collect()
        })
        .collect::<Vec<Vec<ProximityPair>>>()
        .concat();
    Proximity {
        contacts,
        invalid_points,
    }
}

/// Thickness of a pair at its closest points (m).
#[must_use]
pub fn thickness(
    features: &Features,
    pair: FeaturePair,
    near: &PairDistance,
    query: &ProximityQuery,
) -> f64 {
    let search = ContactSearch {
        placed: PlacedFeatures {
            features,
            positions: &[],
        },
        query: *query,
    };
    search.thickness(pair, near)
}

/// Whether a position is not finite, or too far away.
fn is_invalid(position: DVec3) -> bool {
    !position.abs().cmple(DVec3::splat(MAX_COORDINATE)).all()
}

struct ContactSearch<'a> {
    placed: PlacedFeatures<'a>,
    query: ProximityQuery<'a>,
}

impl ContactSearch<'_> {
    /// The pairs that replace those in range.
    fn resolved(
        &self,
        pairs: &[[u32; 2]],
        first: fn(u32) -> Feature,
        second: fn(u32) -> Feature,
    ) -> Vec<FeaturePair> {
        let mut found = Vec::new();
        for &[one, other] in pairs {
            let pair = FeaturePair::new(first(one), second(other));
            let near = self.placed.distance(pair);
            if self.is_in_range(&near) && !self.is_covered_by_point(pair, &near) {
                self.placed.resolve(pair, &mut found);
            }
        }
        found
    }

    /// Whether two edges are closest at an end of one, reliably, and that point is a candidate with
    /// a triangle on the other. That candidate resolves to the same pair. Most pairs of edges are
    /// such.
    fn is_covered_by_point(&self, pair: FeaturePair, near: &PairDistance) -> bool {
        let [Feature::Edge(one), Feature::Edge(other)] = pair.features() else {
            return false;
        };
        let [a, b, c, d] = near
            .points
            .map(|point| self.placed.positions[point as usize]);
        let (along, across) = (b - a, d - c);
        let square = along.length_squared() * across.length_squared();
        // For nearly parallel edges, rounding may decide which end is closest.
        let is_sure = along.cross(across).length_squared() > MIN_SINE * square;
        let [w0, w1, w2, w3] = near.closest.weights;
        let end_of = |first: usize, weights: [f64; 2]| {
            let end = if weights[1] == 0.0 { first } else { first + 1 };
            (weights[0] == 0.0 || weights[1] == 0.0).then_some(near.points[end])
        };
        let features = self.placed.features;
        let is_candidate = |point: Option<u32>, edge: u32| {
            let triangles = features.edge_triangles.of(edge).iter();
            point.is_some_and(|point| {
                triangles
                    .into_iter()
                    .any(|&triangle| features.may_collide_point_triangle(point, triangle))
            })
        };
        is_sure
            && (is_candidate(end_of(0, [w0, w1]), other) || is_candidate(end_of(2, [w2, w3]), one))
    }

    /// Whether a pair can be in range, with the largest thickness of its corners.
    fn is_in_range(&self, near: &PairDistance) -> bool {
        let half = near.points.map(|point| self.half_thickness(point));
        let thickest = half.into_iter().fold(0.0, f64::max);
        let reach = self.range(near) + 2.0 * thickest + self.extra(near);
        let positions = near
            .points
            .map(|point| self.placed.positions[point as usize]);
        near.closest.distance <= reach + near.rounding && !positions.into_iter().any(is_invalid)
    }

    /// The contact of a resolved pair; None if it is out of range or no minimum.
    fn contact(&self, pair: FeaturePair) -> Option<ProximityPair> {
        let near = self.placed.distance(pair);
        let gap = near.closest.distance - self.thickness(pair, &near);
        let is_contact =
            gap <= self.range(&near) && self.placed.is_minimum(pair, &near, self.query.slope);
        is_contact.then(|| ProximityPair {
            id: pair.id(),
            points: near.points,
            weights: near.closest.weights,
            normal: self.normal(pair, &near),
            distance: near.closest.distance,
            gap,
        })
    }

    /// Largest gap of a contact of this pair (m).
    fn range(&self, near: &PairDistance) -> f64 {
        let ProximityQuery { range, ranges, .. } = self.query;
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
        let half = self.query.half_thickness.get(point as usize);
        half.map_or(0.0, |half| half.max(0.0))
    }

    fn parts(&self, near: &PairDistance) -> [u32; 2] {
        let part = |point: u32| self.placed.features.part_of[point as usize];
        [part(near.points[0]), part(near.points[3])]
    }

    fn extra(&self, near: &PairDistance) -> f64 {
        let [first, second] = self.parts(near);
        let extra = self.query.extra.map(|extra| extra(first, second));
        extra.unwrap_or(0.0)
    }

    /// Thickness of both sides at the closest points, limited within a part
    /// ([`ProximityQuery::rest`]).
    fn thickness(&self, pair: FeaturePair, near: &PairDistance) -> f64 {
        let terms = near.points.iter().zip(near.closest.weights);
        let own: f64 = terms
            .map(|(&point, weight)| weight.abs() * self.half_thickness(point))
            .sum();
        let thickness = (own + self.extra(near)).max(0.0);
        let [first, second] = self.parts(near);
        match self.query.rest {
            Some(positions) if first == second && thickness > 0.0 => {
                let at_rest = PlacedFeatures {
                    positions,
                    ..self.placed
                };
                let angle = at_rest.distance(pair).closest.distance / thickness;
                // False if the distance at rest is NaN.
                if angle < FRAC_PI_2 {
                    thickness * angle.sin()
                } else {
                    thickness
                }
            }
            _ => thickness,
        }
    }

    /// Unit vector from the second to the first ([`ProximityPair::normal`]).
    fn normal(&self, pair: FeaturePair, near: &PairDistance) -> DVec3 {
        let (vector, distance) = (near.closest.vector, near.closest.distance);
        let positions = near
            .points
            .map(|point| self.placed.positions[point as usize]);
        let largest = positions.iter().map(|it| it.abs().max_element());
        if distance > MIN_RELIABLE_DISTANCE * largest.fold(0.0, f64::max) {
            return (vector / distance).normalize();
        }
        let normal = self.feature_normal(pair, positions);
        if normal.dot(vector) < -near.rounding {
            -normal
        } else {
            normal
        }
    }

    /// A unit normal from the orientation of the features alone.
    fn feature_normal(&self, pair: FeaturePair, positions: [DVec3; 4]) -> DVec3 {
        let [first, second] = pair.features();
        let [p, q, a, b] = positions;
        let around = self.surface_normal(second) - self.surface_normal(first);
        let across = match (first, second) {
            (Feature::Edge(_), _) => {
                let (one, other) = ((q - p).normalize_or_zero(), (b - a).normalize_or_zero());
                let across = one.cross(other);
                let across = if across.length() > MIN_SINE {
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

    /// The normal of a triangle, or the sum of the unit normals of the triangles around a feature.
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
                .incident(features)
                .map(|larger| self.surface_normal(larger))
                .sum(),
        }
    }
}
