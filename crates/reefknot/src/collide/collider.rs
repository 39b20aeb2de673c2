//! Contacts with a collider that has a formula, in its frame: the places where a surface is closest to it, each once.
//!
//! With a convex shape the distance of every point, edge and triangle is a number of its own, the least over all of it
//! ([`super::convex`]). A triangle is a contact if it is closer than all its sides, an edge if it is closer than its ends
//! and no triangle on it is closer. One slack serves all comparisons; whatever is not a contact stands back for something
//! that is closer or for a part of its border, so the closest place is always found. A point moves by itself, and is
//! always a contact: each vertex of a sheet on a floor, level or not, has one.
//!
//! Features of parts that are not free are passed over, and so are those with a point that is not finite, as in
//! [`super::proximity`], which reports them.

#[cfg(test)]
mod tests;

use glam::DVec3;
use rayon::prelude::*;

use super::convex::{Reach, closest};
use super::features::Features;
use super::pair::{Feature, Pair};
use super::proximity::{Contact, FARTHEST};
use crate::generate::shape::Shape;

/// Distances that differ by less than this part of the coordinates are equal.
const LEVEL: f64 = 1e-11;

/// Features that one task looks at.
const CHUNK: usize = 256;

/// What counts as a contact.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'a> {
    /// Contacts with a gap up to this are wanted (m).
    pub range: f64,
    /// What each point adds to that (m), the largest of a feature; nothing if there are none.
    pub ranges: &'a [f64],
    /// Half the thickness of the surface at each point (m).
    pub half_thickness: &'a [f64],
    /// Thickness that the collider adds (m).
    pub skin: f64,
    /// The parts that are looked at, if not all.
    pub parts: Option<&'a [bool]>,
}

/// The contacts of everything that is free with a collider, by ascending id.
///
/// `positions` are in the frame of the shape, and so are the normals of the contacts, which look out of it. Weights are
/// those of the points; the other side is the collider, the second feature of the id. Nothing for shapes without a formula.
#[must_use]
pub fn contacts(
    features: &Features,
    positions: &[DVec3],
    shape: &Shape,
    number: u32,
    settings: &Settings,
) -> Vec<Contact> {
    let mut scene = Scene {
        features,
        positions,
        shape,
        settings: *settings,
        points: Vec::new(),
        edges: Vec::new(),
        triangles: Vec::new(),
    };
    let [points, edges, triangles] = [
        positions.len(),
        features.edges.len(),
        features.triangles.len(),
    ];
    scene.points = in_parallel(points, |at| scene.reach(Feature::Point(at)));
    scene.edges = in_parallel(edges, |at| scene.reach(Feature::Edge(at)));
    scene.triangles = in_parallel(triangles, |at| scene.reach(Feature::Triangle(at)));
    let level = LEVEL * scene.size();
    let of_kind = |count: usize, of: fn(u32) -> Feature| {
        let numbers = (0..count as u32).into_par_iter().with_min_len(CHUNK);
        let found = numbers.filter_map(|at| scene.contact(of(at), number, level));
        found.collect::<Vec<Contact>>()
    };
    let mut found = of_kind(points, Feature::Point);
    found.extend(of_kind(edges, Feature::Edge));
    found.extend(of_kind(triangles, Feature::Triangle));
    found
}

/// The values of a function of 0 to `count`, in order.
fn in_parallel<T: Send>(count: usize, of: impl Fn(u32) -> T + Send + Sync) -> Vec<T> {
    let numbers = (0..count as u32).into_par_iter();
    numbers.with_min_len(CHUNK).map(of).collect()
}

struct Scene<'a> {
    features: &'a Features,
    positions: &'a [DVec3],
    shape: &'a Shape,
    settings: Settings<'a>,
    /// How close each feature comes; nothing for those out of range.
    points: Vec<Option<Reach>>,
    edges: Vec<Option<Reach>>,
    triangles: Vec<Option<Reach>>,
}

impl Scene<'_> {
    /// How close a feature comes, if it may be in range. Those of its points are known for edges and triangles.
    fn reach(&self, feature: Feature) -> Option<Reach> {
        let ids = feature.corners(self.features);
        let corners = ids.map(|point| self.positions[point as usize]);
        let part = self.features.part_of[ids[0] as usize];
        let is_usable = |place: &DVec3| place.abs().cmple(DVec3::splat(FARTHEST)).all();
        let is_passed = self
            .settings
            .parts
            .is_some_and(|parts| !parts[part as usize]);
        let is_free = self.features.parts[part as usize].is_free;
        if is_passed || !is_free || !corners.iter().all(is_usable) {
            return None;
        }
        let count = match feature {
            Feature::Point(_) => return closest(self.shape, &corners[..1]),
            Feature::Edge(_) => 2,
            _ => 3,
        };
        // The distance changes by no more than the way: from the nearest corner that is at most longest / √3.
        let sides = [0, 1, 2].map(|i| corners[i].distance(corners[(i + 1) % 3]));
        let nearest = ids
            .iter()
            .filter_map(|&point| self.points[point as usize])
            .map(|reach| reach.signed.distance)
            .fold(f64::INFINITY, f64::min);
        let longest = sides.into_iter().fold(0.0, f64::max);
        let thickest = ids.map(|point| self.half_thickness(point));
        let thickest = thickest.into_iter().fold(0.0, f64::max);
        let range = self.range(ids) + thickest + self.settings.skin.max(0.0);
        if nearest - longest / 3.0_f64.sqrt() > range {
            return None;
        }
        closest(self.shape, &corners[..count])
    }

    fn of(&self, feature: Feature) -> Option<&Reach> {
        let (list, at) = match feature {
            Feature::Point(at) => (&self.points, at),
            Feature::Edge(at) => (&self.edges, at),
            Feature::Triangle(at) => (&self.triangles, at),
            Feature::Collider(_) => return None,
        };
        list[at as usize].as_ref()
    }

    /// Up to which gap a feature counts (m).
    fn range(&self, ids: [u32; 3]) -> f64 {
        let own = ids.map(|point| self.settings.ranges.get(point as usize).copied());
        self.settings.range + own.into_iter().flatten().fold(0.0, f64::max)
    }

    fn half_thickness(&self, point: u32) -> f64 {
        let half = self.settings.half_thickness.get(point as usize);
        half.map_or(0.0, |half| half.max(0.0))
    }

    /// The largest coordinate that is looked at, or distance from the shape.
    fn size(&self) -> f64 {
        let points = self.positions.iter().zip(&self.points);
        points
            .filter_map(|(place, reach)| {
                let distance = reach.as_ref()?.signed.distance.abs();
                Some(place.abs().max_element().max(distance))
            })
            .fold(0.0, f64::max)
    }

    fn contact(&self, feature: Feature, number: u32, level: f64) -> Option<Contact> {
        let reach = self.of(feature)?;
        let distance = reach.signed.distance;
        let ids = feature.corners(self.features);
        let terms = ids.iter().zip(reach.weights);
        let own: f64 = terms
            .map(|(&point, weight)| weight * self.half_thickness(point))
            .sum();
        let gap = distance - own - self.settings.skin.max(0.0);
        let is_in_range = gap <= self.range(ids);
        let value = |other: Feature| self.of(other).map(|reach| reach.signed.distance);
        let is_inside = || {
            let mut border = feature.border(self.features).filter_map(value);
            border.all(|other| other - distance > level)
        };
        let is_minimum = || {
            let mut around = feature.around(self.features).filter_map(value);
            matches!(feature, Feature::Point(_)) || around.all(|other| distance - other <= level)
        };
        (is_in_range && is_inside() && is_minimum()).then(|| Contact {
            id: Pair::new(feature, Feature::Collider(number)).id(),
            points: [ids[0], ids[1], ids[2], ids[2]],
            weights: [reach.weights[0], reach.weights[1], reach.weights[2], 0.0],
            normal: reach.signed.gradient,
            distance,
            gap,
        })
    }
}
