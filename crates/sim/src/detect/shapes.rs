//! Exact colliders in a step: contacts at its start, and impacts along a motion that is straight in
//! the frame of the collider.

use glam::{DQuat, DVec3};
use rayon::prelude::*;

use super::impacts::{ImpactQuery, kept_distance};
use super::{ContactPoint, Detection};
use crate::collide::collider::{self, ShapeQuery};
use crate::collide::convex::{closest, first_contact, signed_distance};
use crate::collide::margins::{PathLengths, SafeLength, is_still_clear, safe_length};
use crate::collide::pair::{Feature, FeaturePair};
use crate::generate::shape::Shape;
use crate::model::collision::ExactCollider;
use crate::motion::Pose;

/// Features that one task tests.
const CHUNK_SIZE: usize = 512;

/// Relative tolerance of the time of impact: a feature that comes within this fraction of its
/// separation counts as an impact, so that the search ends.
const TOLERANCE: f64 = 1e-2;

/// Path lengths up to which features stay clear of a collider.
#[derive(Default)]
pub(super) struct ShapeMargins {
    points: Vec<SafeLength>,
    triangles: Vec<SafeLength>,
    segments: Vec<SafeLength>,
}

/// A feature, and the accumulated path length of its end (m).
struct TestedFeature {
    feature: Feature,
    length: f64,
}

/// An exact collider with its poses at both ends of a step.
pub(crate) struct MovingCollider<'a> {
    pub(crate) collider: &'a ExactCollider,
    /// Poses of the material at the start and at the end.
    material: [Pose; 2],
    /// Poses of the frame of its shape at the start and at the end.
    pub(crate) poses: [Pose; 2],
    /// Positions of the points at the start, in the frame of the collider.
    pub(crate) start: Vec<DVec3>,
}

impl<'a> MovingCollider<'a> {
    pub(super) fn new(
        collider: &'a ExactCollider,
        poses: [Pose; 2],
        from: &[DVec3],
    ) -> MovingCollider<'a> {
        let material = poses;
        let poses = geometric_poses(&collider.shape, material);
        let back = poses[0].inverse();
        let points = from.par_iter().with_min_len(CHUNK_SIZE);
        MovingCollider {
            collider,
            material,
            poses,
            start: points.map(|point| back.apply(*point)).collect(),
        }
    }

    /// Displacement of the material of the collider at a position in the step (m).
    pub(crate) fn displacement(&self, position: DVec3) -> DVec3 {
        let [start, end] = &self.material;
        if start == end {
            return DVec3::ZERO;
        }
        end.apply(start.inverse().apply(position)) - position
    }

    /// For each part, whether it can come within `factor` times its thickness on the way from the
    /// start to `end`. The bounding ball of the part and its motion decides, since the distance
    /// changes by no more than the displacement.
    fn near_parts(&self, detection: &Detection<'_>, end: &[DVec3], factor: f64) -> Vec<bool> {
        let (model, collision) = (detection.model, detection.collision);
        let features = &collision.features;
        let empty = (DVec3::INFINITY, DVec3::NEG_INFINITY, 0.0_f64);
        let mut bounds = vec![empty; features.parts.len()];
        for (point, part) in features.part_of.iter().enumerate() {
            let (low, high, thickest) = &mut bounds[*part as usize];
            let (from, to) = (self.start[point], end[point]);
            *low = low.min(from).min(to);
            *high = high.max(from).max(to);
            *thickest = thickest.max(self.collider.thickness[point]);
        }
        let is_near = |(part, (low, high, thickest)): (usize, &(DVec3, DVec3, f64))| {
            let middle = 0.5 * (*low + *high);
            let radius = 0.5 * (*high - *low).length() + factor * thickest;
            let distance = self.collider.shape.distance(middle);
            // A distance that is NaN counts as near.
            let is_far = distance.is_some_and(|distance| distance > radius);
            !is_far && collision.can_collide(model, part as u32, self.collider)
        };
        bounds.iter().enumerate().map(is_near).collect()
    }

    /// Distance of a feature at the end of the step (m).
    pub(super) fn distance_at_end(&self, corners: [DVec3; 3]) -> Option<f64> {
        let back = self.poses[1].inverse();
        let corners = corners.map(|corner| back.apply(corner));
        Some(closest(&self.collider.shape, &corners)?.signed.distance)
    }

    /// The contacts at the start, within a thickness.
    pub(super) fn contacts(&self, detection: &Detection<'_>, number: u32) -> Vec<ContactPoint> {
        let collision = detection.collision;
        let features = &collision.features;
        let near = self.near_parts(detection, &self.start, 2.0);
        if !near.contains(&true) {
            return Vec::new();
        }
        let skins = self.collider.thickness.iter().zip(&collision.core);
        let skins: Vec<f64> = skins.map(|(thickness, core)| thickness - core).collect();
        let query = ShapeQuery {
            range: 0.0,
            ranges: &skins,
            half_thickness: &self.collider.thickness,
            skin: 0.0,
            parts: Some(&near),
        };
        let found = collider::contacts(features, &self.start, &self.collider.shape, number, &query);
        let found = found
            .iter()
            .filter(|contact| detection.has_movable(&contact.points[..3]));
        found
            .map(|contact| ContactPoint {
                id: contact.id,
                features: FeaturePair::from_id(contact.id).features(),
                points: contact.points,
                weights: [
                    contact.weights[0],
                    contact.weights[1],
                    contact.weights[2],
                    0.0,
                ],
                normal: self.poses[1].turn * contact.normal,
                gap: contact.gap,
                thickness: contact.distance - contact.gap,
                core: detection.collision.core[contact.points[0] as usize],
                time: 0.0,
            })
            .collect()
    }

    /// Impacts of points along a motion, and of triangles and segments without a colliding corner.
    pub(super) fn impacts(
        &self,
        detection: &Detection<'_>,
        number: u32,
        query: &ImpactQuery<'_>,
        path_lengths: &PathLengths,
        margins: &mut ShapeMargins,
    ) -> Vec<ContactPoint> {
        let features = &detection.collision.features;
        let back = self.poses[1].inverse();
        let ends = query.to.par_iter().with_min_len(CHUNK_SIZE);
        let ends = ends.map(|point| back.apply(*point));
        let end: Vec<DVec3> = ends.collect();
        let motion = ColliderMotion {
            moving: self,
            detection,
            near: self.near_parts(detection, &end, 1.0),
            end,
            number,
            query,
        };
        if !motion.near.contains(&true) {
            return Vec::new();
        }
        let (segments, triangles) = (&detection.collision.segments, features.triangles.len());
        let tested = |feature: fn(u32) -> Feature, at: u32, lengths: &[f64]| TestedFeature {
            feature: feature(at),
            length: lengths.get(at as usize).copied().unwrap_or(0.0),
        };
        let mut found = motion.impacts(&mut margins.points, self.start.len(), |at| {
            tested(Feature::Point, at as u32, &path_lengths.points)
        });
        // Points are in ascending order.
        let hit: Vec<u32> = found
            .iter()
            .map(|contact_point| contact_point.points[0])
            .collect();
        let has_hit = |corners: &[u32]| corners.iter().any(|it| hit.binary_search(it).is_ok());
        let triangles = motion.impacts(&mut margins.triangles, triangles, |at| {
            tested(Feature::Triangle, at as u32, &path_lengths.triangles)
        });
        let triangles = triangles.into_iter();
        found.extend(triangles.filter(|contact_point| !has_hit(&contact_point.points[..3])));
        let segments = motion.impacts(&mut margins.segments, segments.len(), |at| {
            tested(Feature::Edge, segments[at], &path_lengths.edges)
        });
        let segments = segments.into_iter();
        found.extend(segments.filter(|contact_point| !has_hit(&contact_point.points[..2])));
        found
    }
}

/// Poses of a frame in which a shape is at rest, given those of its material. A shape that its own
/// rotation does not change has a frame that takes no part in it: points at rest beside a wheel
/// are at rest in its frame, and not on a chord through the wheel.
pub(crate) fn geometric_poses(shape: &Shape, [start, end]: [Pose; 2]) -> [Pose; 2] {
    if !shape.is_round() || start.turn == end.turn {
        return [start, end];
    }
    let turn = if let Shape::Sphere { .. } = shape {
        start.turn
    } else {
        let [from, to] = [start, end].map(|pose| (pose.turn * DVec3::Z).normalize());
        (DQuat::from_rotation_arc(from, to) * start.turn).normalize()
    };
    let mut end = Pose { turn, ..end };
    if let Shape::Plane { .. } = shape {
        // Nor does a plane change by motion along itself.
        let normal = (turn * DVec3::Z).normalize();
        end.shift = start.shift + normal * normal.dot(end.shift - start.shift);
    }
    [start, end]
}

/// A motion in the frame of a collider.
struct ColliderMotion<'a> {
    moving: &'a MovingCollider<'a>,
    detection: &'a Detection<'a>,
    /// The parts that come near the collider.
    near: Vec<bool>,
    /// Positions of the points at the end, in the frame of the collider.
    end: Vec<DVec3>,
    number: u32,
    query: &'a ImpactQuery<'a>,
}

impl ColliderMotion<'_> {
    /// Impacts of `count` features.
    fn impacts(
        &self,
        margins: &mut Vec<SafeLength>,
        count: usize,
        feature: impl Fn(usize) -> TestedFeature + Sync,
    ) -> Vec<ContactPoint> {
        margins.resize(count, 0.0);
        let margins = margins.par_iter_mut().enumerate().with_min_len(CHUNK_SIZE);
        let found = margins.filter_map(|(at, margin)| self.impact(feature(at), margin));
        found.collect()
    }

    /// The impact of a feature; without one, the path length up to which it stays clear.
    fn impact(&self, tested: TestedFeature, margin: &mut SafeLength) -> Option<ContactPoint> {
        let TestedFeature { feature, length } = tested;
        if is_still_clear(length, *margin) {
            return None;
        }
        *margin = 0.0;
        let (detection, moving) = (self.detection, self.moving);
        let ids = feature.corners(&detection.collision.features);
        let count = match feature {
            Feature::Point(_) => 1,
            Feature::Edge(_) => 2,
            _ => 3,
        };
        let part = detection.collision.features.part_of[ids[0] as usize];
        let is_marked = |marked: &[bool]| ids.iter().any(|id| marked[*id as usize]);
        if !self.near[part as usize]
            || !detection.has_movable(&ids)
            || !self.query.marked.is_none_or(is_marked)
        {
            return None;
        }
        let separations = ids.map(|id| self.separation(id)).into_iter();
        let separation = separations.fold(0.0, f64::max);
        let from = ids.map(|id| moving.start[id as usize]);
        let to = ids.map(|id| self.end[id as usize]);
        // The distance is a convex function: no corner at either end is below its tangent plane at
        // the centroid.
        let middle = from.iter().chain(&to).sum::<DVec3>() / 6.0;
        let at = signed_distance(&moving.collider.shape, middle)?;
        let corners = from[..count].iter().chain(&to[..count]);
        let descents = corners.map(|corner| at.gradient.dot(*corner - middle));
        let least = at.distance + descents.fold(f64::INFINITY, f64::min);
        let slack = least - separation * (1.0 + 2.0 * TOLERANCE);
        if slack > 0.0 {
            // The tangent plane at the old centroid stays valid; ends that move by less than the
            // slack stay above it.
            *margin = safe_length(length, slack);
            return None;
        }
        self.search(feature, ids, &from[..count], separation)
    }

    /// The distance that a point must keep (m).
    fn separation(&self, id: u32) -> f64 {
        let core = self.detection.collision.core[id as usize];
        core + self.query.fraction * (self.moving.collider.thickness[id as usize] - core)
    }

    /// Searches for the time of impact of a feature.
    fn search(
        &self,
        feature: Feature,
        ids: [u32; 3],
        from: &[DVec3],
        mut separation: f64,
    ) -> Option<ContactPoint> {
        let shape = &self.moving.collider.shape;
        let detection = self.detection;
        let ends = ids.map(|id| self.end[id as usize]);
        let to = &ends[..from.len()];
        let cores = ids.map(|id| detection.collision.core[id as usize]);
        let core = cores.into_iter().fold(0.0, f64::max);
        let start = closest(shape, from)?;
        if start.bound <= separation * (1.0 + TOLERANCE) && start.bound > core {
            separation = kept_distance(start.bound, core, separation);
        }
        let tolerance = TOLERANCE * (separation - core);
        let time = first_contact(shape, from, to, separation, tolerance)?;
        let mut then = [DVec3::ZERO; 3];
        for (then, (from, to)) in then.iter_mut().zip(from.iter().zip(to)) {
            *then = from.lerp(*to, time);
        }
        let there = closest(shape, &then[..from.len()])?;
        let weighted = |positions: &[DVec3]| -> DVec3 {
            let terms = positions.iter().zip(there.weights);
            terms.map(|(position, weight)| *position * weight).sum()
        };
        let back = weighted(from) - weighted(&then[..from.len()]);
        let thicknesses = ids.map(|id| self.moving.collider.thickness[id as usize]);
        let thickness: f64 = (0..3).map(|at| thicknesses[at] * there.weights[at]).sum();
        let [a, b, c] = there.weights;
        let side = |triangle: u32, side: usize| {
            Feature::Edge(detection.collision.features.triangle_edges[triangle as usize][side])
        };
        // Two triangles whose common side is closest have one contact.
        let on = match (feature, [a, b, c].map(|weight| weight == 0.0)) {
            (Feature::Triangle(triangle), [false, false, true]) => side(triangle, 0),
            (Feature::Triangle(triangle), [true, false, false]) => side(triangle, 1),
            (Feature::Triangle(triangle), [false, true, false]) => side(triangle, 2),
            _ => feature,
        };
        let pair = FeaturePair::new(on, Feature::Collider(self.number));
        Some(ContactPoint {
            id: pair.id(),
            features: pair.features(),
            points: [ids[0], ids[1], ids[2], ids[2]],
            weights: [a, b, c, 0.0],
            normal: self.moving.poses[1].turn * there.signed.gradient,
            gap: there.signed.distance + there.signed.gradient.dot(back) - thickness,
            thickness,
            core,
            time,
        })
    }
}
