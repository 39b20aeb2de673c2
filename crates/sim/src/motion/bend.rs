//! Bounds on the deviation of prescribed motion from its chord: by how much points leave the
//! straight line, with constant velocity, between their positions at both ends of a time interval.
//!
//! The deviation of a point is at most dt²/8 sup |ẍ|, plus |Δẋ| (t − a)(b − t)/dt for each time t
//! in the interval [a, b] at which its velocity jumps. Accelerations and jumps follow from the
//! formulas of the motion, never from samples. Rotations about one axis act on the distance from
//! the axis, others on that from the centre.
//!
//! A translation along a straight line without reversal is on its chord at all times: only its
//! timing within the interval differs from that of a constant velocity, and does not count.

use std::f64::consts::{FRAC_PI_2, PI, TAU};

use glam::DVec3;

use super::sequence::SequenceRates;
use super::{Motion, Script};

/// Bounds for the rate of change of a quantity in an interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Rates {
    /// Largest rate.
    pub(crate) rate: f64,
    /// Largest rate of change of the rate, apart from its jumps.
    pub(crate) acceleration: f64,
    /// Times at which the rate jumps, with bounds for the jumps.
    pub(crate) jumps: Vec<(f64, f64)>,
}

/// A jump of the velocity of points: `fixed` (m/s), plus `per_arm` (rad/s) times their arm.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Kink {
    time: f64,
    fixed: f64,
    per_arm: f64,
}

/// Bounds for the motion of points in a time interval. The *arm* of a point is its distance from
/// the axis of rotation, or from its centre if there is no common axis.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bend {
    interval: [f64; 2],
    /// Bound of accelerations (m/s²), without that of rotation.
    fixed: f64,
    /// Bound of accelerations by rotation, per arm (1/s²).
    per_arm: f64,
    kinks: Vec<Kink>,
    /// Bounds for the speed of points: fixed (m/s), and per arm (rad/s).
    speed: (f64, f64),
    /// Times between which positions must not be joined by a chord (s).
    cuts: Vec<f64>,
    /// Bound of the angle of rotation (rad).
    pub(crate) turn: f64,
    /// Bound for the growth of arms from the nearer end of the interval (m).
    pub(crate) growth: f64,
    /// The axis of all rotations, if there is only one.
    pub(crate) axis: Option<DVec3>,
    /// Centre of rotation at the start and at the end (m).
    pub(crate) centers: [DVec3; 2],
}

impl Rates {
    /// The sum of two quantities.
    fn plus(mut self, other: Rates) -> Rates {
        self.rate += other.rate;
        self.acceleration += other.acceleration;
        self.jumps.extend(other.jumps);
        self
    }

    /// The same quantity times a factor.
    fn times(mut self, factor: f64) -> Rates {
        self.rate *= factor;
        self.acceleration *= factor;
        self.jumps.iter_mut().for_each(|(_, jump)| *jump *= factor);
        self
    }

    /// Starts and stops: the rate jumps from and to zero at these times.
    fn with_ends(mut self, ends: impl Iterator<Item = f64>) -> Rates {
        let rate = self.rate;
        self.jumps.extend(ends.map(|time| (time, rate)));
        self
    }

    /// A constant rate.
    fn constant(rate: f64) -> Rates {
        Rates {
            rate,
            ..Rates::default()
        }
    }
}

impl Bend {
    /// Bound for the deviation from the chord of points with an arm (m).
    pub(crate) fn deviation(&self, arm: f64) -> f64 {
        let [begin, end] = self.interval;
        let dt = end - begin;
        if !self.cuts.is_empty() {
            return f64::INFINITY;
        }
        let arc = dt * dt / 8.0;
        let (mut fixed, mut turned) = (arc * self.fixed, arc * self.per_arm * arm);
        for kink in &self.kinks {
            let hat = (kink.time - begin) * (end - kink.time) / dt;
            fixed += hat * kink.fixed;
            turned += hat * kink.per_arm * arm;
        }
        // A rotation leaves its circle nowhere, and so does not leave the chord by more than the
        // diameter.
        fixed + turned.min(2.0 * arm)
    }

    /// The time at which a path that leaves its chord too far is best cut in two: at the largest
    /// kink if kinks are the cause, else in the middle.
    pub(crate) fn cut(&self, arm: f64) -> f64 {
        let [begin, end] = self.interval;
        if let Some(cut) = self.cuts.first() {
            return *cut;
        }
        let hat = |kink: &Kink| {
            let hat = (kink.time - begin) * (end - kink.time) / (end - begin);
            hat * (kink.fixed + kink.per_arm * arm)
        };
        let arc = (end - begin).powi(2) / 8.0 * (self.fixed + self.per_arm * arm);
        let worst = self.kinks.iter().max_by(|a, b| hat(a).total_cmp(&hat(b)));
        match worst {
            Some(kink) if hat(kink) > arc => kink.time,
            _ => 0.5 * (begin + end),
        }
    }

    /// Arm of a point with these positions at both ends (m).
    pub(crate) fn arm(&self, ends: [DVec3; 2]) -> f64 {
        let arm = |end: usize| self.arm_of(ends[end] - self.centers[end]);
        arm(0).max(arm(1)) + self.growth
    }

    /// Length of a vector across the axis of rotation (m).
    pub(crate) fn arm_of(&self, vector: DVec3) -> f64 {
        match self.axis {
            Some(axis) => vector.cross(axis).length(),
            None => vector.length(),
        }
    }

    /// Bounds for the speed of points: fixed (m/s), and per arm (rad/s).
    pub(crate) fn speed(&self) -> (f64, f64) {
        self.speed
    }

    /// Times inside the interval at which the velocity jumps.
    pub(crate) fn kink_times(&self) -> impl Iterator<Item = f64> + '_ {
        self.kinks.iter().map(|kink| kink.time)
    }

    /// Whether all points are at rest, or move with constant velocity.
    pub(crate) fn is_straight(&self) -> bool {
        self.fixed == 0.0
            && self.per_arm == 0.0
            && self.kinks.is_empty()
            && self.cuts.is_empty()
            && self.turn == 0.0
    }

    /// A jump of the velocity inside an interval, of unknown size.
    pub(crate) fn of_kink(interval: [f64; 2], time: f64) -> Option<Bend> {
        let mut bend = Bend {
            interval,
            ..Bend::default()
        };
        bend.add_kink(time, f64::INFINITY, 0.0);
        (!bend.is_straight()).then_some(bend)
    }

    /// Adds a jump of the velocity by at most the sum of the largest speeds before and after it, as
    /// where a hold begins or ends.
    pub(crate) fn add_kink(&mut self, time: f64, fixed: f64, per_arm: f64) {
        if time > self.interval[0] && time < self.interval[1] {
            self.kinks.push(Kink {
                time,
                fixed,
                per_arm,
            });
        }
    }
}

/// Bounds for the parts of a motion in an interval of its own time.
struct Parts {
    shift: Rates,
    turn: Rates,
    axis: Option<DVec3>,
    /// Rates of the fraction of the deformation.
    size: Rates,
}

impl Motion {
    /// Whether the motion is a translation along a straight line without reversal, in an interval
    /// of its own time. It is on its chord at all times, although not with constant velocity.
    fn is_on_line(&self, [from, to]: [f64; 2]) -> bool {
        if self.angular_velocity != DVec3::ZERO || self.deformation.is_some() {
            return false;
        }
        let [begin, end] = [from, to].map(|time| self.shift(self.start + time));
        let Some(line) = (end - begin).try_normalize() else {
            return false;
        };
        let is_along = |velocity: DVec3| is_parallel(velocity, line) && velocity.dot(line) >= 0.0;
        let swings_along = self.oscillation.as_ref().is_none_or(|swing| {
            let phases = [from, to].map(|time| TAU * swing.frequency * time + swing.phase);
            let direction = (0.5 * (phases[0] + phases[1])).cos().signum();
            swing.angle == 0.0 && !has_extremum(phases) && is_along(swing.amplitude * direction)
        });
        let keys_along = self.keyframes.as_ref().is_none_or(|keyframes| {
            let slopes = keyframes.slopes_of_segment([from, to]);
            slopes.is_some_and(|slopes| slopes.into_iter().all(is_along))
        });
        is_along(self.velocity) && swings_along && keys_along
    }

    /// Bounds for the parts. Translations count along `normal` only, if it is given.
    fn parts(&self, [from, to]: [f64; 2], normal: Option<DVec3>) -> Parts {
        let length = |vector: DVec3| {
            normal.map_or_else(|| vector.length(), |normal| vector.dot(normal).abs())
        };
        let mut shift = Rates::constant(length(self.velocity));
        let mut turns = vec![(
            Rates::constant(self.angular_velocity.length()),
            self.angular_velocity.try_normalize(),
        )];
        if let Some(swing) = &self.oscillation {
            let rate = TAU * swing.frequency;
            let phases = [from, to].map(|time| rate * time + swing.phase);
            let swinging = Rates {
                rate: rate * largest_sine(phases.map(|phase| phase + FRAC_PI_2)),
                acceleration: rate * rate * largest_sine(phases),
                jumps: Vec::new(),
            };
            shift = shift.plus(swinging.clone().times(length(swing.amplitude)));
            turns.push((swinging.times(swing.angle.abs()), Some(swing.axis)));
        }
        if let Some(keyframes) = &self.keyframes {
            shift = shift.plus(keyframes.shift_rates([from, to], length));
            turns.push(keyframes.turn_rates([from, to]));
        }
        turns.retain(|(rates, _)| rates.rate > 0.0 || !rates.jumps.is_empty());
        let (turn, axis) = compose(turns);
        let size = match &self.deformation {
            Some(deformation) if deformation.ramp > from => {
                let rate = 1.0 / deformation.ramp;
                let end = Some(deformation.ramp).filter(|ramp| *ramp < to);
                Rates::constant(rate).with_ends(end.into_iter())
            }
            _ => Rates::default(),
        };
        Parts {
            shift,
            turn,
            axis,
            size,
        }
    }
}

/// Whether the sine has an extremum in an interval of angles: at an odd multiple of a quarter turn.
fn has_extremum([from, to]: [f64; 2]) -> bool {
    ((from - FRAC_PI_2) / PI).ceil() * PI + FRAC_PI_2 <= to
}

/// The largest absolute value of the sine in an interval of angles.
fn largest_sine([from, to]: [f64; 2]) -> f64 {
    if has_extremum([from, to]) {
        1.0
    } else {
        from.sin().abs().max(to.sin().abs())
    }
}

/// Whether a vector is parallel to a direction, up to rounding.
fn is_parallel(vector: DVec3, direction: DVec3) -> bool {
    vector.cross(direction).length() <= 1e-12 * vector.length()
}

/// Rates of a composition of rotations, and their common axis. The angular velocities add; each is
/// turned by the rotations before it, which accelerates it unless the axes are parallel.
fn compose(turns: Vec<(Rates, Option<DVec3>)>) -> (Rates, Option<DVec3>) {
    let axis = turns.first().and_then(|(_, axis)| *axis);
    let is_common = turns.iter().all(|(_, other)| match (axis, other) {
        (Some(axis), Some(other)) => axis == *other || axis == -*other,
        _ => false,
    });
    let mut sum = Rates::default();
    for (turn, _) in turns {
        if !is_common {
            sum.acceleration += sum.rate * turn.rate;
        }
        sum = sum.plus(turn);
    }
    (sum, axis.filter(|_| is_common))
}

impl Script {
    /// Bounds for the motion in a time interval of points with at most the distance `extent` (m)
    /// from the centre before deformation. Translations count along `normal` only, if it is given.
    pub(crate) fn bend(&self, interval: [f64; 2], extent: f64, normal: Option<DVec3>) -> Bend {
        let motion = &self.motion;
        let still = Bend {
            interval,
            centers: interval.map(|time| motion.center + motion.shift(time)),
            ..Bend::default()
        };
        let own = [
            interval[0].max(motion.start) - motion.start,
            interval[1].min(motion.stop) - motion.start,
        ];
        if self.is_rest() || own[1] <= own[0] {
            return still;
        }
        let inside = |time: &f64| *time > interval[0] && *time < interval[1];
        let ends = [motion.start, motion.stop].into_iter().filter(inside);
        let ends: Vec<f64> = ends.map(|time| time - motion.start).collect();
        let parts = motion.parts(own, normal);
        let (arms, cuts) = self.arm_rates(own, extent, &parts);
        let [shift, turn, arms] =
            [parts.shift, parts.turn, arms].map(|rates| rates.with_ends(ends.iter().copied()));
        let dt = interval[1] - interval[0];
        let moving = Bend {
            speed: (shift.rate + arms.rate, turn.rate),
            turn: turn.rate * dt,
            growth: 0.5 * dt * arms.rate,
            axis: parts.axis,
            ..still
        };
        if ends.is_empty() && self.sequence.is_none() && motion.is_on_line(own) {
            return moving;
        }
        let fixed = shift.jumps.iter().chain(&arms.jumps);
        let fixed = fixed.map(|(time, jump)| (*time, *jump, 0.0));
        let turned = turn.jumps.iter().map(|(time, jump)| (*time, 0.0, *jump));
        let kinks = fixed.chain(turned).map(|(time, fixed, per_arm)| Kink {
            time: time + motion.start,
            fixed,
            per_arm,
        });
        let is_kink = |kink: &Kink| inside(&kink.time) && (kink.fixed > 0.0 || kink.per_arm > 0.0);
        Bend {
            fixed: shift.acceleration + 2.0 * turn.rate * arms.rate + arms.acceleration,
            per_arm: turn.acceleration + turn.rate * turn.rate,
            kinks: kinks.filter(is_kink).collect(),
            cuts: cuts.iter().map(|cut| cut + motion.start).collect(),
            ..moving
        }
    }

    /// Rates of r, the position relative to the centre before rotation, and times between jumps of
    /// it, in an interval of the motion's own time.
    fn arm_rates(&self, own: [f64; 2], extent: f64, parts: &Parts) -> (Rates, Vec<f64>) {
        let places = match &self.sequence {
            Some(sequence) => sequence.rates(own),
            None => SequenceRates::default(),
        };
        let gradient = self.motion.deformation.map_or(0.0, |deformation| {
            let columns = deformation.gradient.to_cols_array();
            let squares = columns.iter().map(|entry| entry * entry);
            squares.sum::<f64>().sqrt()
        });
        // r = (1 + σG)(p − c): both factors change.
        let mut arms = places.rates.times(1.0 + gradient);
        arms.acceleration += 2.0 * gradient * parts.size.rate * arms.rate;
        let stretched = parts.size.clone().times(gradient * extent);
        (arms.plus(stretched), places.cuts)
    }
}

#[cfg(test)]
mod tests;
