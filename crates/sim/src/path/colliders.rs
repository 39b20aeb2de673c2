//! The sagitta of exact colliders: of their surface, in the frame that does not turn with a shape
//! that turns into itself.

use glam::DVec3;

use super::{Cut, Motions, SweptBox};
use crate::collide::features::Primitive;
use crate::detect::geometric_poses;
use crate::generate::shape::Shape;
use crate::model::collision::ExactCollider;
use crate::motion::bend::Bend;
use crate::motion::{Pose, Script};

/// The smallest component of a unit axis along another for both to count as parallel.
const PARALLEL: f64 = 1.0 - 1e-12;

/// Motion of an exact collider in a span.
struct Turning<'a> {
    collider: &'a ExactCollider,
    bend: Bend,
    /// Largest arm of its surface (m); infinite for a plane that tilts.
    arm: f64,
    /// Largest distance of its surface from the origin of its frame (m).
    radius: f64,
    /// Bound of the turn of its frame (rad).
    turn: f64,
    /// Poses of its frame at both ends.
    poses: [Pose; 2],
}

impl<'a> Turning<'a> {
    /// The motion of a collider; `None` if it moves along its chord.
    fn of(
        motions: &Motions<'_>,
        collider: &'a ExactCollider,
        poses: [Pose; 2],
    ) -> Option<Turning<'a>> {
        let input = motions.input;
        let script: &Script = input.model.objects[collider.object].script()?;
        let axis = poses[0].turn * DVec3::Z;
        let interval = [input.span.begin, input.span.end];
        let whole = script.bend(interval, 0.0, None);
        if whole.is_straight() {
            return None;
        }
        let is_plane = matches!(collider.shape, Shape::Plane { .. });
        let turns_about_itself = whole
            .axis
            .is_some_and(|turn| turn.dot(axis).abs() >= PARALLEL);
        let keeps_axis = turns_about_itself || whole.turn == 0.0;
        // Only motion along its normal moves a plane that is not tilted.
        let bend = match is_plane && keeps_axis {
            true => script.bend(interval, 0.0, Some(axis)),
            false => whole,
        };
        let radius = collider.shape.outer_radius();
        let center_arm = bend.arm([0, 1].map(|end| poses[end].shift));
        let (arm, turn) = match collider.shape {
            Shape::Plane { .. } if keeps_axis => (0.0, 0.0),
            Shape::Sphere { .. } => (center_arm, 0.0),
            _ if keeps_axis && collider.shape.is_round() => (center_arm, 0.0),
            _ => (center_arm + radius, bend.turn),
        };
        Some(Turning {
            collider,
            bend,
            arm,
            radius,
            turn,
            poses: geometric_poses(&collider.shape, poses),
        })
    }
}

impl Motions<'_> {
    /// The exact collider whose motion in its frame leaves the true one most.
    pub(super) fn worst_of_colliders(&self) -> Option<Cut> {
        let poses = &self.input.prescribed.poses;
        let mut worst: Option<Cut> = None;
        for (collider, poses) in self.collision.colliders.iter().zip(poses) {
            let Some(turning) = Turning::of(self, collider, *poses) else {
                continue;
            };
            for primitive in &self.collision.features.primitives {
                let excess = self.excess_of(&turning, primitive);
                if worst.is_none_or(|worst| excess > worst.excess) && excess > 1.0 {
                    worst = Some(Cut {
                        object: collider.object,
                        time: turning.bend.cut(self.arm_beside(&turning, primitive)),
                        excess,
                    });
                }
            }
        }
        worst
    }

    /// The sagitta of a collider beside a feature, relative to the largest one allowed; 0 if they
    /// cannot touch.
    fn excess_of(&self, turning: &Turning<'_>, primitive: &Primitive) -> f64 {
        let (model, collider) = (self.input.model, turning.collider);
        let object = self.collision.object_of(primitive.points[0]);
        let is_free = self.collision.can_collide(model, primitive.part, collider);
        if !is_free || model.is_rooted(object, collider.object) {
            return 0.0;
        }
        let corners = || primitive.points.iter().map(|point| *point as usize);
        let skins = corners().map(|at| collider.thickness[at] - self.collision.core[at]);
        let skin = skins.fold(f64::INFINITY, f64::min);
        let displacements = corners().map(|at| self.from[at].distance(self.to[at]));
        // What moves while the frame turns: |2 ω × v| dt²/8.
        let coupled = 0.25 * turning.turn * displacements.fold(0.0, f64::max);
        let beside = self.sagitta(&primitive.points) + coupled;
        let sagitta = beside + turning.bend.deviation(self.arm_beside(turning, primitive));
        let excess = sagitta / Motions::allowed(skin);
        let is_apart = excess <= 1.0
            || self.is_far_from_path(turning, primitive, sagitta)
            || self.is_far_in_frame(turning, primitive, beside);
        if is_apart { 0.0 } else { excess }
    }

    /// The arm of the surface where it may touch a feature. A plane that tilts is as large as what
    /// it touches.
    fn arm_beside(&self, turning: &Turning<'_>, primitive: &Primitive) -> f64 {
        if turning.arm.is_finite() {
            return turning.arm;
        }
        self.arm_of(turning, primitive)
    }

    /// The largest arm of the corners of a feature.
    fn arm_of(&self, turning: &Turning<'_>, primitive: &Primitive) -> f64 {
        let corners = primitive.points.iter().map(|point| *point as usize);
        let arms = corners.map(|at| turning.bend.arm([self.from[at], self.to[at]]));
        arms.fold(0.0, f64::max)
    }

    /// Whether a feature stays clear of the ball around the collider, wherever it turns.
    fn is_far_from_path(&self, turning: &Turning<'_>, primitive: &Primitive, sagitta: f64) -> bool {
        let centers = turning.poses.iter().map(|pose| pose.shift);
        let path = SweptBox::EMPTY.with(centers);
        let distance = turning.radius + self.thickest(turning, primitive) + sagitta;
        !(self.extend(SweptBox::EMPTY, primitive)).is_near(&path, distance)
    }

    /// Whether a feature stays clear in the frame of the collider. There it moves along an arc of
    /// its own arm.
    fn is_far_in_frame(&self, turning: &Turning<'_>, primitive: &Primitive, beside: f64) -> bool {
        let own = turning.bend.deviation(match turning.turn > 0.0 {
            true => self.arm_of(turning, primitive),
            false => turning.arm,
        });
        let back = turning.poses.map(|pose| pose.inverse());
        let ends = [&self.from, &self.to];
        let corners = primitive.points.iter().map(|point| *point as usize);
        let places = corners.flat_map(|at| [0, 1].map(|end| back[end].apply(ends[end][at])));
        let places: Vec<DVec3> = places.collect();
        let middle = places.iter().sum::<DVec3>() / places.len() as f64;
        let radius = places
            .iter()
            .map(|place| place.distance(middle))
            .fold(0.0, f64::max);
        let reach = radius + self.thickest(turning, primitive) + beside + own;
        let distance = turning.collider.shape.distance(middle);
        distance.is_some_and(|distance| distance > reach)
    }

    /// The largest thickness between a feature and a collider (m).
    fn thickest(&self, turning: &Turning<'_>, primitive: &Primitive) -> f64 {
        let corners = primitive.points.iter().map(|point| *point as usize);
        let thicknesses = corners.map(|at| turning.collider.thickness[at]);
        thicknesses.fold(0.0, f64::max)
    }
}
