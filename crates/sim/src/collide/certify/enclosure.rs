//! Whether a point is inside a closed surface, by its winding number.
//!
//! A ray from the point leaves the surface through some triangles and enters it through others; the
//! difference of their numbers is the winding number: 1 inside a body with outward normals, 0
//! outside of it and in its cavities, −1 in a room, whose normals are inward. Signs are exact. A
//! ray that touches the boundary of a triangle is replaced by one of another direction.

use glam::DVec3;

use super::super::features::{Features, NONE, Primitive};
use super::super::tree::Tree;
use super::super::volume::{PointMotion, Volume, Volumes};
use super::at;
use super::surfaces::passage;
use reefknot_contact::system::DisjointSets;

/// Rays from a point, at most. One is enough unless coordinates are special.
const MAX_RAYS: u32 = 32;

/// Slope of the first ray, and its ratio between the two axes: no fractions of small integers, so
/// that rays seldom meet the vertices of regular meshes.
const SLOPE: f64 = 1.234_567e-4;
const SLOPE_RATIO: f64 = 0.618_034;

/// The closed surfaces of a state.
pub struct Enclosure<'a> {
    features: &'a Features,
    positions: &'a [DVec3],
    tree: Tree<3>,
    /// The origin of the volumes of the tree.
    origin: DVec3,
    /// The smallest and the largest coordinates of the surfaces.
    bounds: [DVec3; 2],
}

impl<'a> Enclosure<'a> {
    /// The surfaces of the parts selected, as far as they are closed and finite.
    #[must_use]
    pub fn new(
        features: &'a Features,
        positions: &'a [DVec3],
        is_selected: impl Fn(u32) -> bool,
    ) -> Enclosure<'a> {
        let is_closed = closed_triangles(features);
        let is_finite = |it: &Primitive| it.points.iter().all(|p| at(positions, *p).is_finite());
        let mut triangles = features.primitives.clone();
        triangles.retain(|it| {
            let is_closed = it.triangle != NONE && is_closed[it.triangle as usize];
            is_closed && is_selected(it.part) && is_finite(it)
        });
        let corners = triangles.iter().flat_map(|it| it.points);
        let places = corners.map(|point| at(positions, point));
        let bounds = places.fold(
            [DVec3::INFINITY, DVec3::NEG_INFINITY],
            |[lower, upper], place| [lower.min(place), upper.max(place)],
        );
        let origin = 0.5 * (bounds[0] + bounds[1]);
        let origin = if origin.is_finite() {
            origin
        } else {
            DVec3::ZERO
        };
        let volumes = Volumes::about(
            origin,
            &PointMotion {
                from: positions,
                to: positions,
                reach: &vec![0.0; positions.len()],
            },
        );
        Enclosure {
            features,
            positions,
            tree: Tree::from_primitives(&triangles, &volumes),
            origin,
            bounds,
        }
    }

    /// Whether there is no closed surface.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bounds[0].x > self.bounds[1].x
    }

    /// The parts with a winding number about a point of another part, with the number, by ascending
    /// part; empty for a point on a surface.
    #[must_use]
    pub fn winding_numbers(&self, point: DVec3, own: Option<u32>) -> Vec<(u32, i32)> {
        let [lower, upper] = self.bounds;
        // NaN is outside.
        if !(point.cmpge(lower) & point.cmple(upper)).all() {
            return Vec::new();
        }
        let rays =
            (1..=MAX_RAYS).find_map(|ray| self.along_ray(point, own, f64::from(ray) * SLOPE));
        rays.unwrap_or_default()
    }

    /// The winding numbers by a ray of a slope; None if it touches the boundary of a triangle.
    fn along_ray(&self, point: DVec3, own: Option<u32>, slope: f64) -> Option<Vec<(u32, i32)>> {
        // Beyond the surfaces: twice their size.
        let length = 2.0 * self.bounds[1].distance(self.bounds[0]);
        let end = point + DVec3::new(length, slope * length, slope * SLOPE_RATIO * length);
        let volume: Volume<3> =
            Volume::of_moving_point(point - self.origin, end - self.origin, [0.0; 2]);
        let mut near = Vec::new();
        self.tree.add_overlapping_triangles(&volume, &mut near);
        near.sort_unstable();
        let mut passages = Vec::new();
        for triangle in near {
            let corners = self.features.triangles[triangle as usize];
            let part = self.features.part_of[corners[0] as usize];
            if own == Some(part) {
                continue;
            }
            let passage = passage(
                [point, end],
                corners.map(|corner| at(self.positions, corner)),
            )?;
            if passage != 0 {
                passages.push((part, passage));
            }
        }
        passages.sort_unstable();
        let mut sums: Vec<(u32, i32)> = Vec::new();
        for (part, passage) in passages {
            match sums.last_mut() {
                Some((last, sum)) if *last == part => *sum += passage,
                _ => sums.push((part, passage)),
            }
        }
        sums.retain(|(_, sum)| *sum != 0);
        Some(sums)
    }
}

/// Whether each triangle is part of a closed surface: one without boundary, of triangles joined
/// along edges, each of which has as many triangles in one direction as in the other.
fn closed_triangles(features: &Features) -> Vec<bool> {
    let mut sets = DisjointSets::new(features.triangles.len());
    let mut open = Vec::new();
    for (edge, ends) in features.edges.iter().enumerate() {
        let triangles = features.edge_triangles.of(edge as u32);
        let Some(first) = triangles.first() else {
            continue;
        };
        let mut balance = 0;
        for triangle in triangles {
            sets.join(*first, *triangle);
            let [a, b, c] = features.triangles[*triangle as usize];
            let is_along = [[a, b], [b, c], [c, a]].contains(ends);
            balance += if is_along { 1 } else { -1 };
        }
        if balance != 0 {
            open.push(*first);
        }
    }
    let (surfaces, count) = sets.numbered();
    let mut is_closed = vec![true; count];
    for triangle in open {
        is_closed[surfaces[triangle as usize] as usize] = false;
    }
    let of_triangles = surfaces.iter().map(|surface| is_closed[*surface as usize]);
    of_triangles.collect()
}

#[cfg(test)]
mod tests;
