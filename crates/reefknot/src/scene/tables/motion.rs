//! Motion that is told, not simulated.

use super::{Angle, AngularRate, Duration, Length, Rate, Rotation, Speed, Up};
use crate::scene::define::{choice, table};
use crate::scene::shape::{NOT_NEGATIVE, POSITIVE, between};
use crate::scene::values::{LengthUnit, Placed};

table! {
    /// A motion that is told. Its parts add up: turns of angular velocity, oscillation and keyframes about
    /// `center`, then the shifts of velocity, oscillation and keyframes. At `start` nothing has moved
    /// yet.
    pub struct Motion {
        /// When it begins; keyframes and oscillations count from here.
        start: Duration [NOT_NEGATIVE] = "0",
        /// When it ends; it stays as it is then. Never if left out.
        stop: Option<Placed<Duration>> [NOT_NEGATIVE],
        /// Constant velocity.
        velocity: [Speed; 3] = "[0, 0, 0]",
        /// Constant angular velocity about `center`.
        angular_velocity: [AngularRate; 3] = "[0, 0, 0]",
        /// The point that turns go about; the position of the thing, or the middle of the held vertices,
        /// if left out.
        center: Option<[Length; 3]>,
        /// To and fro.
        oscillation: Option<Oscillation>,
        /// Places and turns at given times; before the first and after the last it rests.
        keyframes: Option<Placed<Vec<Keyframe>>>,
        /// What is between keyframes.
        interpolation: Interpolation = "\"linear\"",
        /// A stretch or shear about `center`, before all else.
        deformation: Option<Deformation>,
        /// Numbered mesh files that give the points; the other parts move what they give.
        sequence: Option<Sequence>,
    }
}

table! {
    /// A stretch or shear: the point at x from `center` goes to x + G x.
    pub struct Deformation {
        /// G, by rows: the first row is what is added to x.
        gradient: [[f64; 3]; 3],
        /// How long it takes to grow to its full size.
        ramp: Duration [NOT_NEGATIVE] = "0",
    }
}

choice! {
    /// What is between two given times.
    pub enum Interpolation {
        /// Straight on, with a kink at the given times.
        Linear = "linear",
        /// Without kinks, starting and ending at rest, never beyond the given values.
        Smooth = "smooth",
    }
}

table! {
    /// Where something is at a given time, as it differs from its start.
    pub struct Keyframe {
        /// When, from the start of the motion.
        time: Placed<Duration> [NOT_NEGATIVE],
        /// How far it has moved from where it started.
        position: [Length; 3] = "[0, 0, 0]",
        /// How it is turned from how it started. From one keyframe to the next about the same axis it turns by the
        /// difference of the angles, also by more than a turn; otherwise by the shortest way.
        rotation: Rotation = "{}",
    }
}

table! {
    /// A sinusoid: amplitude times (sin(2π · frequency · t + phase) − sin(phase)), with t from the start of the motion.
    pub struct Oscillation {
        /// Amplitude of the shift.
        amplitude: [Length; 3] = "[0, 0, 0]",
        /// Amplitude of the turn, with its axis.
        rotation: Rotation = "{}",
        /// Periods by time.
        frequency: Rate [POSITIVE],
        /// Where in the period it begins.
        phase: Angle = "0",
    }
}

table! {
    /// Numbered OBJ or PLY files with the same vertices. Their points are scaled, turned and put in place
    /// as those of the object are. For a pin they are those of its object, or just those of the held
    /// vertices in the order of their numbers.
    pub struct Sequence {
        /// The files, with `#` for the digits of the number: "body.####.obj" is body.0001.obj.
        file: Placed<String>,
        /// The number of the first file; the smallest there is if left out.
        first: Option<u64> [between(0.0, 1e9)],
        /// Files per second; the scene's frame rate if left out.
        frame_rate: Option<f64> [between(1e-3, 1e6)],
        /// When the first file is reached, from the start of the motion.
        offset: Duration = "0",
        /// What is between two files.
        interpolation: SequenceInterpolation = "\"linear\"",
        /// The unit of their numbers.
        unit: LengthUnit = "\"m\"",
        /// The axis of the files that points up.
        up: Up = "\"z\"",
    }
}

choice! {
    /// What is between two files of a sequence.
    pub enum SequenceInterpolation {
        /// Points move straight on.
        Linear = "linear",
        /// Points move along curves through four files.
        Smooth = "smooth",
        /// Points stay until the next file.
        Hold = "hold",
    }
}

table! {
    /// How a clamp turns the end of a rod about its axis.
    pub struct Twist {
        /// When it begins.
        start: Duration [NOT_NEGATIVE] = "0",
        /// When it ends. Never if left out.
        stop: Option<Placed<Duration>> [NOT_NEGATIVE],
        /// Constant rate.
        rate: AngularRate = "0",
        /// Angles at given times.
        keyframes: Option<Placed<Vec<TwistKeyframe>>>,
        /// What is between keyframes.
        interpolation: Interpolation = "\"linear\"",
    }
}

table! {
    /// An angle at a time.
    pub struct TwistKeyframe {
        /// When, from the start of the twist.
        time: Placed<Duration> [NOT_NEGATIVE],
        /// The angle.
        angle: Angle,
    }
}
