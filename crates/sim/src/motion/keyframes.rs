//! Keyframes: values at given times, with interpolation.

use glam::{DQuat, DVec3};

/// Interpolation between keyframes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrackInterpolation {
    /// Piecewise linear.
    Linear,
    /// Continuous velocity, at rest at the first and the last key, without overshoot.
    Smooth,
}

/// `N` numbers at given times.
#[derive(Clone, Debug, PartialEq)]
pub struct Track<const N: usize> {
    times: Vec<f64>,
    values: Vec<[f64; N]>,
    /// Slopes at the given times; `None` for linear interpolation.
    slopes: Option<Vec<[f64; N]>>,
}

impl<const N: usize> Track<N> {
    /// A track through values at ascending times.
    ///
    /// # Panics
    /// If there are not as many values as times, or none.
    #[must_use]
    pub fn new(
        times: Vec<f64>,
        values: Vec<[f64; N]>,
        interpolation: TrackInterpolation,
    ) -> Track<N> {
        assert!(times.len() == values.len() && !times.is_empty());
        let slopes = match interpolation {
            TrackInterpolation::Linear => None,
            TrackInterpolation::Smooth => Some(smooth_slopes(&times, &values)),
        };
        Track {
            times,
            values,
            slopes,
        }
    }

    /// Largest absolute value of all numbers.
    #[must_use]
    pub fn reach(&self) -> f64 {
        let all = self.values.as_flattened().iter();
        all.fold(0.0, |most, value| value.abs().max(most))
    }

    /// The numbers at a time. They are constant before the first and after the last key.
    #[must_use]
    pub fn at(&self, time: f64) -> [f64; N] {
        let (segment, fraction) = segment_at(&self.times, time);
        let (from, to) = (
            self.values[segment],
            self.values[(segment + 1).min(self.values.len() - 1)],
        );
        // Exact at the given times.
        if fraction == 0.0 {
            return from;
        }
        std::array::from_fn(|i| match &self.slopes {
            None => from[i] + fraction * (to[i] - from[i]),
            Some(slopes) => {
                let length = self.times[segment + 1] - self.times[segment];
                let (start, end) = (slopes[segment][i] * length, slopes[segment + 1][i] * length);
                hermite([from[i], to[i]], [start, end], fraction)
            }
        })
    }
}

/// Index of the last given time that is not after `time`, and the fraction of the way to the next.
fn segment_at(times: &[f64], time: f64) -> (usize, f64) {
    let after = times.partition_point(|given| *given <= time);
    if after == 0 {
        return (0, 0.0);
    }
    match times.get(after) {
        None => (after - 1, 0.0),
        Some(next) => {
            let from = times[after - 1];
            (after - 1, (time - from) / (next - from))
        }
    }
}

/// Cubic Hermite interpolation with values and slopes at 0 and 1.
fn hermite(values: [f64; 2], slopes: [f64; 2], s: f64) -> f64 {
    let rise = values[1] - values[0];
    let [start, end] = slopes;
    let bend = 3.0 * rise - 2.0 * start - end;
    let snap = start + end - 2.0 * rise;
    values[0] + s * (start + s * (bend + s * snap))
}

/// Slopes of a monotone cubic interpolant that is at rest at both ends: weighted harmonic means of
/// the slopes to either side, 0 at extrema (Fritsch and Butland, A method for constructing local
/// monotone piecewise cubic interpolants, 1984).
fn smooth_slopes<const N: usize>(times: &[f64], values: &[[f64; N]]) -> Vec<[f64; N]> {
    let slope = |segment: usize, i: usize| {
        let time = times[segment + 1] - times[segment];
        (values[segment + 1][i] - values[segment][i]) / time
    };
    let at = |key: usize, i: usize| {
        if key == 0 || key + 1 == times.len() {
            return 0.0;
        }
        let (before, after) = (slope(key - 1, i), slope(key, i));
        if before * after <= 0.0 {
            return 0.0;
        }
        let (left, right) = (times[key] - times[key - 1], times[key + 1] - times[key]);
        let weights = [(left + 2.0 * right), (2.0 * left + right)];
        3.0 * (left + right) / (weights[0] / before + weights[1] / after)
    };
    (0..times.len())
        .map(|key| std::array::from_fn(|i| at(key, i)))
        .collect()
}

/// Translations and rotations at given times.
#[derive(Clone, Debug, PartialEq)]
pub struct Keyframes {
    shifts: Track<3>,
    turns: Turns,
}

/// Rotations at given times.
#[derive(Clone, Debug, PartialEq)]
enum Turns {
    /// Angles about one axis, which may exceed a full turn.
    OneAxis(DVec3, Track<1>),
    /// Times and rotations, with spherical interpolation along the shortest arc.
    Shortest(Vec<f64>, Vec<DQuat>, TrackInterpolation),
}

/// A pose at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Key {
    /// Time (s).
    pub time: f64,
    /// Translation (m).
    pub shift: DVec3,
    /// Axis of the rotation.
    pub axis: DVec3,
    /// Angle of the rotation (rad).
    pub angle: f64,
}

impl Keyframes {
    /// Keyframes at ascending times; `None` without keys.
    #[must_use]
    pub fn new(keys: &[Key], interpolation: TrackInterpolation) -> Option<Keyframes> {
        if keys.is_empty() {
            return None;
        }
        let times: Vec<f64> = keys.iter().map(|key| key.time).collect();
        let shifts = keys.iter().map(|key| key.shift.to_array()).collect();
        // A rotation by zero has any axis.
        let turning: Vec<&Key> = keys.iter().filter(|key| key.angle != 0.0).collect();
        let axis = turning.first().map_or(DVec3::Z, |key| key.axis);
        let turns = if turning.iter().all(|key| key.axis == axis) {
            let angles = keys.iter().map(|key| [key.angle]).collect();
            Turns::OneAxis(axis, Track::new(times.clone(), angles, interpolation))
        } else {
            let turn = |key: &Key| DQuat::from_axis_angle(key.axis, key.angle);
            let turns = keys.iter().map(turn).collect();
            Turns::Shortest(times.clone(), turns, interpolation)
        };
        Some(Keyframes {
            shifts: Track::new(times, shifts, interpolation),
            turns,
        })
    }

    /// Largest absolute length (m) or angle (rad) of all keys.
    #[must_use]
    pub fn reach(&self) -> f64 {
        match &self.turns {
            Turns::OneAxis(_, angles) => self.shifts.reach().max(angles.reach()),
            Turns::Shortest(..) => self.shifts.reach(),
        }
    }

    /// Translation at a time (m).
    #[must_use]
    pub fn shift(&self, time: f64) -> DVec3 {
        DVec3::from_array(self.shifts.at(time))
    }

    /// Rotation at a time.
    #[must_use]
    pub fn turn(&self, time: f64) -> DQuat {
        match &self.turns {
            Turns::OneAxis(axis, angles) => DQuat::from_axis_angle(*axis, angles.at(time)[0]),
            Turns::Shortest(times, turns, interpolation) => {
                let (segment, fraction) = segment_at(times, time);
                let next = turns[(segment + 1).min(turns.len() - 1)];
                let fraction = match interpolation {
                    TrackInterpolation::Linear => fraction,
                    TrackInterpolation::Smooth => hermite([0.0, 1.0], [0.0, 0.0], fraction),
                };
                turns[segment].slerp(next, fraction)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::f64::consts::{PI, TAU};

    fn key(time: f64, shift: DVec3, axis: DVec3, angle: f64) -> Key {
        Key {
            time,
            shift,
            axis,
            angle,
        }
    }

    #[test]
    fn rotations_about_one_axis_keep_full_turns() {
        let keys = [
            key(0.0, DVec3::ZERO, DVec3::X, 0.0),
            key(2.0, DVec3::ZERO, DVec3::Z, 2.0 * TAU),
        ];
        let keyframes = Keyframes::new(&keys, TrackInterpolation::Linear).unwrap();
        // A quarter of two turns is half a turn.
        let turned = keyframes.turn(0.5) * DVec3::X;
        assert!((turned + DVec3::X).length() < 1e-14);
        assert!((keyframes.turn(5.0) * DVec3::X - DVec3::X).length() < 1e-14);
    }

    #[test]
    fn rotations_about_two_axes_follow_the_shortest_arc() {
        let keys = [
            key(1.0, DVec3::ZERO, DVec3::X, PI / 2.0),
            key(3.0, DVec3::ZERO, DVec3::Y, PI / 2.0),
        ];
        let keyframes = Keyframes::new(&keys, TrackInterpolation::Smooth).unwrap();
        let close = |a: DQuat, b: DQuat| a.dot(b).abs() > 1.0 - 1e-14;
        assert!(close(
            keyframes.turn(0.0),
            DQuat::from_axis_angle(DVec3::X, PI / 2.0)
        ));
        assert!(close(
            keyframes.turn(9.0),
            DQuat::from_axis_angle(DVec3::Y, PI / 2.0)
        ));
        let first = DQuat::from_axis_angle(DVec3::X, PI / 2.0);
        let middle = keyframes.turn(2.0);
        // The middle has the same angle to both ends.
        assert!(
            (middle.angle_between(first) - middle.angle_between(keyframes.turn(9.0))).abs() < 1e-7
        );
    }

    proptest! {
        #[test]
        fn smooth_interpolation_is_monotone_and_has_continuous_slopes(
            steps in proptest::collection::vec((0.1f64..2.0, -1.0f64..1.0), 2..8),
            at in 0.0f64..1.0,
        ) {
            let mut time = 0.0;
            let times: Vec<f64> = steps.iter().map(|step| { time += step.0; time }).collect();
            let values: Vec<[f64; 1]> = steps.iter().map(|step| [step.1]).collect();
            let track = Track::new(times.clone(), values.clone(), TrackInterpolation::Smooth);
            let time = times[0] + at * (times[times.len() - 1] - times[0]);
            let (segment, _) = segment_at(&times, time);
            let [low, high] = [values[segment][0], values[(segment + 1).min(values.len() - 1)][0]];
            let value = track.at(time)[0];
            prop_assert!(value >= low.min(high) - 1e-12 && value <= low.max(high) + 1e-12);
            for (key, value) in times.iter().zip(&values) {
                prop_assert_eq!(track.at(*key)[0], value[0]);
                // One-sided differences differ by the curvature only.
                let e = 1e-6;
                let slopes = [track.at(key + e)[0] - value[0], value[0] - track.at(key - e)[0]];
                prop_assert!((slopes[0] - slopes[1]).abs() / e < 1e-2);
            }
        }
    }
}
