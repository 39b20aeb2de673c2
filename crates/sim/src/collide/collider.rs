//! Contacts with an exact collider, in its frame: local minima of the distance of a surface, each
//! once.
//!
//! With a convex shape every point, edge and triangle has one smallest distance
//! ([`super::convex`]). A triangle is a contact if it is closer than all its sides; an edge is a
//! contact if it is closer than its ends and no incident triangle is closer. One tolerance serves
//! all comparisons. A feature that is not a contact is replaced by a closer one or by a part of its
//! boundary, so the closest point is always found. A point moves independently, and is always a
//! contact: each vertex of a sheet on a floor, level or not, has one.
//!
//! Features of parts that are not free are ignored, and so are those with a point that is not
//! finite, as in [`super::proximity`], which reports them.

#[cfg(test)]
mod tests;

use glam::DVec3;
use rayon::prelude::*;

use super::convex::{ShapeDistance, closest};
use super::features::Features;
use super::pair::{Feature, FeaturePair};
use super::proximity::{MAX_COORDINATE, ProximityPair};
use crate::generate::shape::Shape;

/// Distances that differ by less than this fraction of the coordinates count as equal.
const RELATIVE_TOLERANCE: f64 = 1e-11;

/// Features that one task takes.
const CHUNK_SIZE: usize = 256;

/// The contacts to find.
#[derive(Clone, Copy, Debug)]
pub struct ShapeQuery<'a> {
    /// Largest gap of a contact (m).
    pub range: f64,
    /// Additional range of each point (m). The largest of a feature counts. May be empty.
    pub ranges: &'a [f64],
    /// Half the thickness of the surface at each point (m).
    pub half_thickness: &'a [f64],
    /// Additional thickness of the collider (m).
    pub skin: f64,
    /// The parts to test; all if None.
    pub parts: Option<&'a [bool]>,
}

/// The contacts of all free parts with a collider, by ascending id.
///
/// `positions` are in the frame of the shape, and so are the normals, which point out of it.
/// Weights are those of the points; the collider, of index `number`, is the second feature of the
/// id. Empty for shapes without an exact distance.
#[must_use]
pub fn contacts(
    features: &Features,
    positions: &[DVec3],
    shape: &Shape,
    number: u32,
    query: &ShapeQuery,
) -> Vec<ProximityPair> {
    let mut search = ShapeSearch {
        features,
        positions,
        shape,
        query: *query,
        points: Vec::new(),
        edges: Vec::new(),
        triangles: Vec::new(),
    };
    let [points, edges, triangles] = [
        positions.len(),
        features.edges.len(),
        features.triangles.len(),
    ];
    search.points = in_parallel(points, |at| search.distance(Feature::Point(at)));
    search.edges = in_parallel(edges, |at| search.distance(Feature::Edge(at)));
    search.triangles = in_parallel(triangles, |at| search.distance(Feature::Triangle(at)));
    let level = RELATIVE_TOLERANCE * search.size();
    let of_kind = |count: usize, of: fn(u32) -> Feature| {
        let numbers = (0..count as u32).into_par_iter().with_min_len(CHUNK_SIZE);
        let found = numbers.filter_map(|at| search.contact(of(at), number, level));
        found.collect::<Vec<ProximityPair>>()
    };
    let mut found = of_kind(points, Feature::Point);
    found.extend(of_kind(edges, Feature::Edge));
    found.extend(of_kind(triangles, Feature::Triangle));
    found
}

/// The values of a function at 0 to `count`, in order.
fn in_parallel<T: Send>(count: usize, of: impl Fn(u32) -> T + Send + Sync) -> Vec<T> {
    let numbers = (0..count as u32).into_par_iter();
    numbers.with_min_len(CHUNK_SIZE).map(of).collect()
}

struct ShapeSearch<'a> {
    features: &'a Features,
    positions: &'a [DVec3],
    shape: &'a Shape,
    query: ShapeQuery<'a>,
    /// The distance of each feature; None for those out of range.
    points: Vec<Option<ShapeDistance>>,
    edges: Vec<Option<ShapeDistance>>,
    triangles: Vec<Option<ShapeDistance>>,
}

impl ShapeSearch<'_> {
    /// The distance of a feature, if it may be in range. The distances of its points must be known
    /// for edges and triangles.
    fn distance(&self, feature: Feature) -> Option<ShapeDistance> {
        let ids = feature.corners(self.features);
        let corners = ids.map(|point| self.positions[point as usize]);
        let part = self.features.part_of[ids[0] as usize];
        let is_usable = |position: &DVec3| position.abs().cmple(DVec3::splat(MAX_COORDINATE)).all();
        let is_skipped = self.query.parts.is_some_and(|parts| !parts[part as usize]);
        let is_free = self.features.parts[part as usize].is_free;
        if is_skipped || !is_free || !corners.iter().all(is_usable) {
            return None;
        }
        let count = match feature {
            Feature::Point(_) => return closest(self.shape, &corners[..1]),
            Feature::Edge(_) => 2,
            _ => 3,
        };
        // The distance changes by no more than the displacement, which from the nearest corner is
        // at most longest / √3.
        let sides = [0, 1, 2].map(|i| corners[i].distance(corners[(i + 1) % 3]));
        let nearest = ids
            .iter()
            .filter_map(|&point| self.points[point as usize])
            .map(|found| found.signed.distance)
            .fold(f64::INFINITY, f64::min);
        let longest = sides.into_iter().fold(0.0, f64::max);
        let thickest = ids.map(|point| self.half_thickness(point));
        let thickest = thickest.into_iter().fold(0.0, f64::max);
        let range = self.range(ids) + thickest + self.query.skin.max(0.0);
        if nearest - longest / 3.0_f64.sqrt() > range {
            return None;
        }
        closest(self.shape, &corners[..count])
    }

    fn of(&self, feature: Feature) -> Option<&ShapeDistance> {
        let (list, at) = match feature {
            Feature::Point(at) => (&self.points, at),
            Feature::Edge(at) => (&self.edges, at),
            Feature::Triangle(at) => (&self.triangles, at),
            Feature::Collider(_) => return None,
        };
        list[at as usize].as_ref()
    }

    /// Largest gap of a contact of this feature (m).
    fn range(&self, ids: [u32; 3]) -> f64 {
        let own = ids.map(|point| self.query.ranges.get(point as usize).copied());
        self.query.range + own.into_iter().flatten().fold(0.0, f64::max)
    }

    fn half_thickness(&self, point: u32) -> f64 {
        let half = self.query.half_thickness.get(point as usize);
        half.map_or(0.0, |half| half.max(0.0))
    }

    /// The largest coordinate of a tested point, or distance from the shape.
    fn size(&self) -> f64 {
        let points = self.positions.iter().zip(&self.points);
        points
            .filter_map(|(position, distance)| {
                let distance = distance.as_ref()?.signed.distance.abs();
                Some(position.abs().max_element().max(distance))
            })
            .fold(0.0, f64::max)
    }

    /// The contact of a feature with the collider; None if it is out of range or no minimum.
    fn contact(&self, feature: Feature, number: u32, level: f64) -> Option<ProximityPair> {
        let found = self.of(feature)?;
        let distance = found.signed.distance;
        let ids = feature.corners(self.features);
        let terms = ids.iter().zip(found.weights);
        let own: f64 = terms
            .map(|(&point, weight)| weight * self.half_thickness(point))
            .sum();
        let gap = distance - own - self.query.skin.max(0.0);
        let is_in_range = gap <= self.range(ids);
        let value = |other: Feature| self.of(other).map(|found| found.signed.distance);
        let is_inside = || {
            let mut border = feature.boundary(self.features).filter_map(value);
            border.all(|other| other - distance > level)
        };
        let is_minimum = || {
            let mut around = feature.incident(self.features).filter_map(value);
            matches!(feature, Feature::Point(_)) || around.all(|other| distance - other <= level)
        };
        (is_in_range && is_inside() && is_minimum()).then(|| ProximityPair {
            id: FeaturePair::new(feature, Feature::Collider(number)).id(),
            points: [ids[0], ids[1], ids[2], ids[2]],
            weights: [found.weights[0], found.weights[1], found.weights[2], 0.0],
            normal: found.signed.gradient,
            distance,
            gap,
        })
    }
}
