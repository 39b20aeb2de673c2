//! Keyframes: values at given times, with interpolation.

use glam::{DQuat, DVec3};

use super::bend::Rates;

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

impl<const N: usize> Track<N> {
    /// Bounds for the rates in an interval, with a norm of the numbers.
    fn rates(&self, [from, to]: [f64; 2], norm: impl Fn([f64; N]) -> f64) -> Rates {
        let mut rates = Rates::default();
        for segment in 0..self.times.len() - 1 {
            let (start, end) = (self.times[segment], self.times[segment + 1]);
            if start >= to || end <= from {
                continue;
            }
            let part = [from.max(start), to.min(end)].map(|time| (time - start) / (end - start));
            let [rate, acceleration] = self.segment_rates(segment, part, &norm);
            rates.rate = rates.rate.max(rate);
            rates.acceleration = rates.acceleration.max(acceleration);
        }
        // Smooth tracks have continuous slopes, and none at their ends.
        if self.slopes.is_none() {
            for (key, time) in self.times.iter().enumerate() {
                if *time > from && *time < to {
                    let [before, after] = [self.slope_before(key), self.slope_before(key + 1)];
                    let jump = norm(std::array::from_fn(|i| after[i] - before[i]));
                    rates.jumps.push((*time, jump));
                }
            }
        }
        rates
    }

    /// Slope of the segment that ends at a key; zero before the first and after the last key.
    fn slope_before(&self, key: usize) -> [f64; N] {
        if key == 0 || key >= self.times.len() {
            return [0.0; N];
        }
        let length = self.times[key] - self.times[key - 1];
        std::array::from_fn(|i| (self.values[key][i] - self.values[key - 1][i]) / length)
    }

    /// Bounds for rate and acceleration in a part of a segment, from 0 to 1.
    fn segment_rates(
        &self,
        segment: usize,
        part: [f64; 2],
        norm: impl Fn([f64; N]) -> f64,
    ) -> [f64; 2] {
        let Some(slopes) = &self.slopes else {
            return [norm(self.slope_before(segment + 1)), 0.0];
        };
        let length = self.times[segment + 1] - self.times[segment];
        let rise = self.slope_before(segment + 1);
        let [start, end] = [slopes[segment], slopes[segment + 1]];
        // The cubic of `hermite`, differentiated, in slopes.
        let bend = |i: usize| 3.0 * rise[i] - 2.0 * start[i] - end[i];
        let snap = |i: usize| start[i] + end[i] - 2.0 * rise[i];
        let rate = |s: f64| {
            let rate = |i| start[i] + s * (2.0 * bend(i) + s * 3.0 * snap(i));
            norm(std::array::from_fn(rate))
        };
        let acceleration =
            |s: f64| norm(std::array::from_fn(|i| 2.0 * bend(i) + 6.0 * s * snap(i))) / length;
        // The rate is a parabola: it leaves its chord by an eighth of its second derivative.
        let width = part[1] - part[0];
        let bulge = norm(std::array::from_fn(|i| 6.0 * snap(i))) * width * width / 8.0;
        let largest = |value: &dyn Fn(f64) -> f64| value(part[0]).max(value(part[1]));
        [largest(&rate) + bulge, largest(&acceleration)]
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

    /// Bounds for the velocity of the translation in an interval, with a norm.
    pub(super) fn shift_rates(&self, interval: [f64; 2], norm: impl Fn(DVec3) -> f64) -> Rates {
        let norm = |numbers: [f64; 3]| norm(DVec3::from_array(numbers));
        self.shifts.rates(interval, norm)
    }

    /// Slopes of the translation at both ends of the segment that contains an interval, and between
    /// them; `None` with rotations or keys inside. All slopes of the segment are positive sums of
    /// these along each axis, or have their sign.
    pub(super) fn slopes_of_segment(&self, [from, to]: [f64; 2]) -> Option<[DVec3; 3]> {
        let turns = self.turn_rates([from, to]).0;
        let times = &self.shifts.times;
        let is_cut = times.iter().any(|time| *time > from && *time < to);
        if turns.rate != 0.0 || is_cut {
            return None;
        }
        let key = times.partition_point(|time| *time <= from);
        let mean = DVec3::from_array(self.shifts.slope_before(key));
        let slopes = self.shifts.slopes.as_ref();
        let slope = |key: usize| {
            let slope = slopes.and_then(|slopes| slopes.get(key));
            slope.map_or(mean, |slope| DVec3::from_array(*slope))
        };
        if key == 0 || key == times.len() {
            return Some([DVec3::ZERO; 3]);
        }
        Some([slope(key - 1), mean, slope(key)])
    }

    /// Bounds for the angular velocity in an interval, and the axis if it is constant.
    pub(super) fn turn_rates(&self, [from, to]: [f64; 2]) -> (Rates, Option<DVec3>) {
        let (times, turns, interpolation) = match &self.turns {
            Turns::OneAxis(axis, angles) => {
                let rates = angles.rates([from, to], |[angle]| angle.abs());
                return (rates, Some(*axis));
            }
            Turns::Shortest(times, turns, interpolation) => (times, turns, *interpolation),
        };
        // Each segment turns about its own axis with a velocity of constant direction.
        let velocity = |segment: usize| -> DVec3 {
            let ends = turns.get(segment).zip(turns.get(segment + 1));
            let length = times[(segment + 1).min(times.len() - 1)] - times[segment];
            ends.map_or(DVec3::ZERO, |(start, end)| {
                let shorter = if start.dot(*end) < 0.0 { -*end } else { *end };
                (shorter * start.conjugate()).to_scaled_axis() / length
            })
        };
        // Largest slope and second derivative of the smooth fraction 3s² − 2s³.
        let [steepness, curvature] = match interpolation {
            TrackInterpolation::Linear => [1.0, 0.0],
            TrackInterpolation::Smooth => [1.5, 6.0],
        };
        let mut rates = Rates::default();
        let mut axes = Vec::new();
        for segment in 0..times.len() - 1 {
            let (start, end) = (times[segment], times[segment + 1]);
            if start < to && end > from {
                let rate = velocity(segment).length();
                rates.rate = rates.rate.max(steepness * rate);
                rates.acceleration = (rates.acceleration).max(curvature * rate / (end - start));
                axes.push(velocity(segment).try_normalize());
            }
        }
        if interpolation == TrackInterpolation::Linear {
            for (key, time) in times.iter().enumerate() {
                if *time > from && *time < to {
                    let before = key.checked_sub(1).map_or(DVec3::ZERO, velocity);
                    rates.jumps.push((*time, (velocity(key) - before).length()));
                }
            }
        }
        let axis = axes.first().copied().flatten();
        (rates, axis.filter(|_| axes.len() == 1))
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
