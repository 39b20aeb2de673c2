//! Positions at times within a step, for the independent intersection test.

use glam::DVec3;

use super::MotionTest;
use crate::motion::Pose;
use crate::state::Span;

/// Positions of all points, and material poses of exact colliders, at a time of a step.
pub(super) struct Moment {
    /// Fraction of the step.
    pub(super) fraction: f64,
    pub(super) points: Vec<DVec3>,
    pub(super) poses: Vec<Pose>,
}

impl MotionTest<'_, '_> {
    /// The moment at the start (0) or at the end (1) of the step.
    pub(super) fn end(&self, end: usize, points: Vec<DVec3>) -> Moment {
        let poses = self.input.prescribed.poses.iter();
        Moment {
            fraction: end as f64,
            points,
            poses: poses.map(|poses| poses[end]).collect(),
        }
    }

    /// A moment within the step: prescribed motion by its formula, everything else on straight
    /// lines.
    pub(super) fn moment(&self, time: f64, to: &[DVec3]) -> Moment {
        let (model, collision, span) =
            (self.input.model, self.detection.collision, &self.input.span);
        let fraction = (time - span.begin) / (span.end - span.begin);
        let from = &self.detection.from;
        let straight = from
            .iter()
            .zip(to)
            .map(|(from, to)| from.lerp(*to, fraction));
        let mut points: Vec<DVec3> = straight.collect();
        for object in collision.objects_with_points() {
            let Some(places) = self.places_of(object, time) else {
                continue;
            };
            for point in collision.points_of(object) {
                points[point] = places[collision.places[point].1 as usize];
            }
        }
        for (point, bulge) in self.bulges_of_held(time, fraction) {
            points[point] += bulge;
        }
        let poses = collision.colliders.iter();
        let poses = poses.map(|collider| model.collider_pose(collider, time));
        Moment {
            fraction,
            points,
            poses: poses.collect(),
        }
    }

    /// Points of a scripted object within the step. Positions that jump do so along a straight line.
    fn places_of(&self, object: usize, time: f64) -> Option<Vec<DVec3>> {
        let model = self.input.model;
        let script = model.objects[object].script()?;
        if script.jumps() {
            return None;
        }
        model.scripted_points_of(object, time)
    }

    /// By how much points beside held nodes leave their straight lines at a time of the step.
    fn bulges_of_held(&self, time: f64, fraction: f64) -> Vec<(usize, DVec3)> {
        let (model, from, span) = (self.input.model, self.input.from, &self.input.span);
        let part = Span {
            end: time,
            h: time - span.begin,
            ..*span
        };
        let mut bulges = vec![DVec3::ZERO; model.masses.len()];
        let now = model.pinned(from, &part);
        let ends = &self.input.prescribed.held.targets;
        for (node, (target, _)) in now {
            if let Ok(at) = ends.binary_search_by_key(&node, |(node, _)| *node) {
                let offset = model.unknowns.node_offset[node];
                let straight = from.positions[node].lerp(ends[at].1, fraction);
                for axis in (0..3).filter(|axis| self.input.is_held()[offset + axis]) {
                    bulges[node][axis] = target[axis] - straight[axis];
                }
            }
        }
        let collision = self.detection.collision;
        let points = 0..collision.places.len();
        let bulge = |point: usize| -> DVec3 {
            let stencil = collision.stencil(point as u32).iter();
            stencil
                .map(|(node, weight)| bulges[*node as usize] * *weight)
                .sum()
        };
        points
            .map(|point| (point, bulge(point)))
            .filter(|(_, bulge)| *bulge != DVec3::ZERO)
            .collect()
    }
}
