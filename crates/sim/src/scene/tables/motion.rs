//! Prescribed motion of objects, colliders, pins and clamps.

use super::{Angle, AngularRate, Duration, Length, Rate, Rotation, Speed, Up};
use crate::scene::define::{choice, table};
use crate::scene::schema::{NOT_NEGATIVE, POSITIVE, between};
use crate::scene::values::{LengthUnit, Placed};

table! {
    /// Prescribed motion. Its parts are combined: first the rotations of angular velocity,
    /// oscillation and keyframes about `center`, then the translations of velocity, oscillation and
    /// keyframes. At `start` the displacement is zero.
    pub struct Motion {
        /// Start time. Times of keyframes and oscillations are relative to it.
        start: Duration [NOT_NEGATIVE] = "0",
        /// End time, after which the last pose is kept. Default: never.
        stop: Option<Placed<Duration>> [NOT_NEGATIVE],
        /// Constant velocity.
        velocity: [Speed; 3] = "[0, 0, 0]",
        /// Constant angular velocity about `center`.
        angular_velocity: [AngularRate; 3] = "[0, 0, 0]",
        /// Centre of rotation. Default: the `position` of the object or collider, or the mean of
        /// the held vertices.
        center: Option<[Length; 3]>,
        /// Sinusoidal motion.
        oscillation: Option<Oscillation>,
        /// Poses at given times. Before the first and after the last keyframe the pose is constant.
        keyframes: Option<Placed<Vec<Keyframe>>>,
        /// Interpolation between keyframes.
        interpolation: Interpolation = "\"linear\"",
        /// A linear deformation about `center`, applied before rotation and translation.
        deformation: Option<Deformation>,
        /// A sequence of mesh files with the positions of all points, to which the other parts are
        /// applied.
        sequence: Option<Sequence>,
    }
}

table! {
    /// Linear deformation: a point at x relative to `center` moves to x + G x.
    pub struct Deformation {
        /// The displacement gradient G, by rows.
        gradient: [[f64; 3]; 3],
        /// Time until the full deformation is reached.
        ramp: Duration [NOT_NEGATIVE] = "0",
    }
}

choice! {
    /// Interpolation between keyframes.
    pub enum Interpolation {
        /// Piecewise linear: the velocity jumps at keyframes.
        Linear = "linear",
        /// Continuous velocity, at rest at the first and the last keyframe, without overshoot.
        Smooth = "smooth",
    }
}

table! {
    /// A pose at a given time, relative to the initial pose.
    pub struct Keyframe {
        /// Time from the start of the motion.
        time: Placed<Duration> [NOT_NEGATIVE],
        /// Displacement from the initial position.
        position: [Length; 3] = "[0, 0, 0]",
        /// Rotation from the initial orientation. Between keyframes with the same axis the angle is
        /// interpolated, also over several turns; otherwise the shortest rotation is taken.
        rotation: Rotation = "{}",
    }
}

table! {
    /// Sinusoidal motion: amplitude · (sin(2π · frequency · t + phase) − sin(phase)), with t from
    /// the start of the motion.
    pub struct Oscillation {
        /// Amplitude of the translation.
        amplitude: [Length; 3] = "[0, 0, 0]",
        /// Amplitude of the rotation, with its axis.
        rotation: Rotation = "{}",
        /// Frequency.
        frequency: Rate [POSITIVE],
        /// Phase at the start.
        phase: Angle = "0",
    }
}

table! {
    /// Numbered OBJ or PLY files with the same vertices. Points are placed with the `scale`,
    /// `rotation` and `position` of the object. The files of a pin have all vertices of its object,
    /// or the held vertices only, in the order of their indices.
    pub struct Sequence {
        /// File name with `#` for each digit of the number: "body.####.obj" is body.0001.obj.
        file: Placed<String>,
        /// Number of the first file. Default: the smallest number found.
        first: Option<u64> [between(0.0, 1e9)],
        /// Files per second. Default: `time.frame_rate`.
        frame_rate: Option<f64> [between(1e-3, 1e6)],
        /// Time of the first file, from the start of the motion.
        offset: Duration = "0",
        /// Interpolation between files.
        interpolation: SequenceInterpolation = "\"linear\"",
        /// Unit of length of the files.
        unit: LengthUnit = "\"m\"",
        /// Up axis of the files.
        up: Up = "\"z\"",
    }
}

choice! {
    /// Interpolation between the files of a sequence.
    pub enum SequenceInterpolation {
        /// Linear.
        Linear = "linear",
        /// Cubic, through four files.
        Smooth = "smooth",
        /// Constant until the next file.
        Hold = "hold",
    }
}

table! {
    /// Prescribed rotation of a rod end about its own axis.
    pub struct Twist {
        /// Start time.
        start: Duration [NOT_NEGATIVE] = "0",
        /// End time, after which the last angle is kept. Default: never.
        stop: Option<Placed<Duration>> [NOT_NEGATIVE],
        /// Constant angular velocity.
        rate: AngularRate = "0",
        /// Angles at given times.
        keyframes: Option<Placed<Vec<TwistKeyframe>>>,
        /// Interpolation between keyframes.
        interpolation: Interpolation = "\"linear\"",
    }
}

table! {
    /// An angle at a given time.
    pub struct TwistKeyframe {
        /// Time from the start of the twist.
        time: Placed<Duration> [NOT_NEGATIVE],
        /// Angle from the initial orientation.
        angle: Angle,
    }
}
