//! Prescribed motion: poses and points as a function of time.
//!
//! A [`Motion`] is a rigid motion, optionally after a linear deformation. A [`Script`] applies it
//! to the points of an object, or to the points of a sequence of mesh files. The functions depend
//! on time only: there is no drift, and a resumed run has the same bits.

pub(crate) mod bend;
pub mod keyframes;
pub mod sequence;

use std::f64::consts::TAU;
use std::sync::Arc;

use glam::{DMat3, DQuat, DVec3};

use keyframes::{Keyframes, Track};
use sequence::Sequence;

/// A rigid transformation: x becomes `turn` x + `shift`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pose {
    /// Rotation about the origin.
    pub turn: DQuat,
    /// Translation after the rotation (m).
    pub shift: DVec3,
}

impl Pose {
    /// The identity.
    pub const IDENTITY: Pose = Pose {
        turn: DQuat::IDENTITY,
        shift: DVec3::ZERO,
    };

    /// The transformed point.
    #[must_use]
    pub fn apply(&self, point: DVec3) -> DVec3 {
        // The identity keeps all bits; the formula below would round.
        if *self == Pose::IDENTITY {
            return point;
        }
        self.turn * point + self.shift
    }

    /// The inverse transformation.
    #[must_use]
    pub fn inverse(&self) -> Pose {
        let turn = self.turn.conjugate();
        Pose {
            turn,
            shift: turn * -self.shift,
        }
    }

    /// Composition: this pose after another one.
    #[must_use]
    pub fn after(&self, first: &Pose) -> Pose {
        Pose {
            turn: self.turn * first.turn,
            shift: self.turn * first.shift + self.shift,
        }
    }
}

/// A harmonic oscillation. It starts at displacement zero for any phase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Oscillation {
    /// Amplitude of the translation (m).
    pub amplitude: DVec3,
    /// Axis of the rotation.
    pub axis: DVec3,
    /// Amplitude of the rotation (rad).
    pub angle: f64,
    /// Frequency (1/s).
    pub frequency: f64,
    /// Phase at the start (rad).
    pub phase: f64,
}

/// A motion as a function of time; the identity at its start.
#[derive(Clone, Debug, PartialEq)]
pub struct Motion {
    /// Start (s).
    pub start: f64,
    /// End (s).
    pub stop: f64,
    /// Constant velocity (m/s).
    pub velocity: DVec3,
    /// Constant angular velocity (rad/s).
    pub angular_velocity: DVec3,
    /// Centre of rotations and deformation (m).
    pub center: DVec3,
    /// Oscillation, added to the constant velocities.
    pub oscillation: Option<Oscillation>,
    /// Poses at given times, relative to the initial pose.
    pub keyframes: Option<Keyframes>,
    /// Linear deformation before the rigid motion.
    pub deformation: Option<Deformation>,
}

/// A linear deformation that increases to its full size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deformation {
    /// Displacement gradient.
    pub gradient: DMat3,
    /// Duration of the increase (s).
    pub ramp: f64,
}

impl Motion {
    /// The motion at rest.
    #[must_use]
    pub fn rest() -> Motion {
        Motion {
            start: 0.0,
            stop: f64::INFINITY,
            velocity: DVec3::ZERO,
            angular_velocity: DVec3::ZERO,
            center: DVec3::ZERO,
            oscillation: None,
            keyframes: None,
            deformation: None,
        }
    }

    /// A point after the deformation.
    fn deform(&self, point: DVec3, elapsed: f64) -> DVec3 {
        let Some(deformation) = &self.deformation else {
            return point;
        };
        let size = if deformation.ramp > 0.0 {
            (elapsed / deformation.ramp).min(1.0)
        } else {
            1.0
        };
        point + deformation.gradient * (point - self.center) * size
    }

    /// Whether the motion is at rest at all times.
    #[must_use]
    pub fn is_rest(&self) -> bool {
        self.velocity == DVec3::ZERO
            && self.angular_velocity == DVec3::ZERO
            && self.oscillation.is_none()
            && self.keyframes.is_none()
            && self.deformation.is_none()
    }

    /// Largest absolute length (m), angle (rad) or displacement gradient until a time.
    #[must_use]
    pub fn reach(&self, until: f64) -> f64 {
        let elapsed = elapsed(until, self.start, self.stop);
        let steady = largest(self.velocity).max(largest(self.angular_velocity)) * elapsed;
        let swinging = self.oscillation.as_ref().map_or(0.0, |swing| {
            let periods = swing.frequency * elapsed;
            let phase = swing.phase.abs().max(swing.angle.abs());
            periods.max(phase).max(largest(swing.amplitude))
        });
        let keyed = self.keyframes.as_ref().map_or(0.0, Keyframes::reach);
        let stretch = self.deformation.as_ref().map_or(0.0, |deformation| {
            let columns = deformation.gradient.to_cols_array();
            columns
                .into_iter()
                .fold(0.0, |most: f64, entry| most.max(entry.abs()))
        });
        let center = largest(self.center);
        steady.max(swinging).max(keyed).max(stretch).max(center)
    }

    /// Translation at a time (m).
    fn shift(&self, time: f64) -> DVec3 {
        let elapsed = elapsed(time, self.start, self.stop);
        let mut shift = self.velocity * elapsed;
        if let Some(oscillation) = &self.oscillation {
            shift += oscillation.amplitude * oscillation.swing(elapsed);
        }
        if let Some(keyframes) = &self.keyframes {
            shift += keyframes.shift(elapsed);
        }
        shift
    }

    /// Pose at a time, without the deformation.
    #[must_use]
    pub fn pose(&self, time: f64) -> Pose {
        if self.is_rest() {
            return Pose::IDENTITY;
        }
        let elapsed = elapsed(time, self.start, self.stop);
        let mut turn = DQuat::from_scaled_axis(self.angular_velocity * elapsed);
        if let Some(oscillation) = &self.oscillation {
            let angle = oscillation.angle * oscillation.swing(elapsed);
            turn *= DQuat::from_axis_angle(oscillation.axis, angle);
        }
        if let Some(keyframes) = &self.keyframes {
            turn *= keyframes.turn(elapsed);
        }
        Pose {
            turn,
            shift: self.shift(time) + self.center - turn * self.center,
        }
    }
}

impl Oscillation {
    /// Displacement relative to the amplitude, at a time since the start.
    fn swing(&self, elapsed: f64) -> f64 {
        (TAU * self.frequency * elapsed + self.phase).sin() - self.phase.sin()
    }
}

/// Largest absolute component of a vector.
fn largest(vector: DVec3) -> f64 {
    vector.abs().max_element()
}

/// Time since the start, constant after the stop (s).
fn elapsed(time: f64, start: f64, stop: f64) -> f64 {
    (time.min(stop) - start).max(0.0)
}

/// An angle as a function of time.
#[derive(Clone, Debug, PartialEq)]
pub struct Twist {
    /// Start (s).
    pub start: f64,
    /// End (s).
    pub stop: f64,
    /// Constant rate (rad/s).
    pub rate: f64,
    /// Angles at given times.
    pub keyframes: Option<Track<1>>,
}

impl Twist {
    /// Largest absolute angle until a time (rad).
    #[must_use]
    pub fn reach(&self, until: f64) -> f64 {
        let keyed = self.keyframes.as_ref().map_or(0.0, Track::reach);
        (self.rate.abs() * elapsed(until, self.start, self.stop)).max(keyed)
    }

    /// Angle at a time (rad).
    #[must_use]
    pub fn angle(&self, time: f64) -> f64 {
        let elapsed = elapsed(time, self.start, self.stop);
        let keyed = self
            .keyframes
            .as_ref()
            .map_or(0.0, |track| track.at(elapsed)[0]);
        self.rate * elapsed + keyed
    }
}

/// Prescribed motion of the points of an object or a pin.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    /// The motion.
    pub motion: Motion,
    /// Points that the motion is applied to, instead of the initial ones.
    pub sequence: Option<Arc<Sequence>>,
}

impl Script {
    /// The script at rest.
    #[must_use]
    pub fn rest() -> Script {
        Script {
            motion: Motion::rest(),
            sequence: None,
        }
    }

    /// Whether all points are at rest at all times.
    #[must_use]
    pub fn is_rest(&self) -> bool {
        self.motion.is_rest() && self.sequence.is_none()
    }

    /// Whether positions jump from one value to the next.
    pub(crate) fn jumps(&self) -> bool {
        let interpolation = self
            .sequence
            .as_ref()
            .map(|sequence| sequence.interpolation);
        interpolation == Some(sequence::FrameInterpolation::Hold)
    }

    /// Position at a time of the point with initial position `start` and index `vertex` in the
    /// sequence (m).
    #[must_use]
    pub fn point(&self, vertex: usize, start: DVec3, time: f64) -> DVec3 {
        self.points(std::iter::once((vertex, start)), time)
            .next()
            .unwrap_or(start)
    }

    /// Positions at a time of points, each given by its index in the sequence and its initial
    /// position (m).
    pub fn points<'a>(
        &'a self,
        points: impl Iterator<Item = (usize, DVec3)> + 'a,
        time: f64,
    ) -> impl Iterator<Item = DVec3> + 'a {
        let pose = self.motion.pose(time);
        let elapsed = elapsed(time, self.motion.start, self.motion.stop);
        let blend = self
            .sequence
            .as_ref()
            .map(|sequence| sequence.blend(elapsed));
        points.map(move |(vertex, start)| {
            let place = match (&self.sequence, &blend) {
                (Some(sequence), Some(blend)) => sequence.point(vertex, blend),
                _ => start,
            };
            pose.apply(self.motion.deform(place, elapsed))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::f64::consts::{FRAC_PI_2, PI};

    #[test]
    fn a_constant_angular_velocity_rotates_about_the_center_until_the_stop() {
        let motion = Motion {
            start: 1.0,
            stop: 2.0,
            angular_velocity: DVec3::Z * FRAC_PI_2,
            center: DVec3::X,
            ..Motion::rest()
        };
        let start = DVec3::new(2.0, 0.0, 5.0);
        assert_eq!(motion.pose(0.5).apply(start), start);
        // A quarter turn moves the point from x + 1 m to y + 1 m of the centre.
        for time in [2.0, 7.0] {
            let point = motion.pose(time).apply(start);
            assert!((point - DVec3::new(1.0, 1.0, 5.0)).length() < 1e-15);
        }
    }

    #[test]
    fn an_oscillation_is_zero_at_the_start_and_after_each_period() {
        let motion = Motion {
            oscillation: Some(Oscillation {
                amplitude: DVec3::new(0.1, 0.0, 0.0),
                axis: DVec3::Z,
                angle: 0.2,
                frequency: 4.0,
                phase: PI / 3.0,
            }),
            ..Motion::rest()
        };
        let start = DVec3::new(0.0, 1.0, 0.0);
        assert!((motion.pose(0.0).apply(start) - start).length() < 1e-15);
        assert!((motion.pose(0.25).apply(start) - start).length() < 1e-14);
        // The phase is π/3: the sine has fallen from √3/2 to −√3/2 after half a period.
        let half = motion.pose(0.125);
        assert!((half.shift.x + 0.1 * 3f64.sqrt()).abs() < 1e-15);
        let (axis, angle) = half.turn.to_axis_angle();
        assert!((axis.z * angle + 0.2 * 3f64.sqrt()).abs() < 1e-14);
    }

    #[test]
    fn points_at_rest_keep_their_bits() {
        let point = DVec3::new(0.1, -0.0, 1e-300);
        let moved = Script::rest().point(0, point, 3.7);
        assert_eq!(
            moved.to_array().map(f64::to_bits),
            point.to_array().map(f64::to_bits)
        );
    }

    proptest! {
        #[test]
        fn a_pose_and_its_inverse_cancel(
            axis in proptest::array::uniform3(-3.0f64..3.0),
            shift in proptest::array::uniform3(-5.0f64..5.0),
            point in proptest::array::uniform3(-5.0f64..5.0),
        ) {
            let pose = Pose {
                turn: DQuat::from_scaled_axis(DVec3::from(axis)),
                shift: DVec3::from(shift),
            };
            let point = DVec3::from(point);
            let back = pose.inverse().apply(pose.apply(point));
            prop_assert!((back - point).length() < 1e-13);
            let identity = pose.after(&pose.inverse());
            prop_assert!((identity.apply(point) - point).length() < 1e-13);
        }

        #[test]
        fn the_composition_of_poses_applies_both(
            axes in proptest::array::uniform2(proptest::array::uniform3(-3.0f64..3.0)),
            shifts in proptest::array::uniform2(proptest::array::uniform3(-5.0f64..5.0)),
            point in proptest::array::uniform3(-5.0f64..5.0),
        ) {
            let [first, second] = [0, 1].map(|i| Pose {
                turn: DQuat::from_scaled_axis(DVec3::from(axes[i])),
                shift: DVec3::from(shifts[i]),
            });
            let point = DVec3::from(point);
            let composed = second.after(&first).apply(point);
            let successive = second.apply(first.apply(point));
            prop_assert!((composed - successive).length() < 1e-13);
        }

        #[test]
        fn a_steady_motion_keeps_lengths_and_stays_within_its_reach(
            velocity in proptest::array::uniform3(-5.0f64..5.0),
            spin in proptest::array::uniform3(-5.0f64..5.0),
            center in proptest::array::uniform3(-5.0f64..5.0),
            (start, length, time) in (0.0f64..3.0, 0.0f64..3.0, 0.0f64..9.0),
        ) {
            let [velocity, center] = [velocity, center].map(DVec3::from);
            let angular_velocity = DVec3::from(spin);
            let motion = Motion {
                start,
                stop: start + length,
                velocity,
                angular_velocity,
                center,
                ..Motion::rest()
            };
            let pose = motion.pose(time);
            let moved = velocity * (time.min(start + length) - start).max(0.0);
            prop_assert!((pose.apply(center) - center - moved).length() < 1e-13);
            let unit = pose.apply(center + DVec3::X) - pose.apply(center);
            prop_assert!(unit.length() - 1.0 < 1e-13);
            prop_assert!(moved.abs().max_element() <= motion.reach(9.0));
            prop_assert!(pose.turn.is_normalized());
        }
    }
}
