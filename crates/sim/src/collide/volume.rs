//! Bounding volumes of moving points: intervals along a few directions, for the whole path or
//! linear in time.
//!
//! A `Volume<3>` is a box along the axes. A `Volume<9>` also bounds x ± y, x ± z and y ± z: the
//! 18-DOP of Klosowski et al., Efficient collision detection using bounding volume hierarchies of
//! k-DOPs (1998), which fits slanted edges and triangles better. On folded cloths it leaves a sixth
//! of the pairs for about the same time of search, but building takes twice as long.
//!
//! A volume of the `WHOLE` path has one interval along each direction, for all times. A `MOVING`
//! one has two, at the start and at the end of the step, and is linear in between: Harmon, Robust,
//! Efficient, and Accurate Contact Algorithms (2010), section 7.2. Two moving volumes overlap only
//! if all their intervals overlap at one time. So neighbours with the same large motion, such as
//! hair, are separated. A point on a straight path has exact bounds; the bounds of several points
//! are the extremes at both ends, which bound them in between too.
//!
//! Bounds are f32, which takes half the memory of f64 and has twice the lanes. This is safe: bounds
//! are relative to an origin amid the points, so a scene far from 0 loses no precision, and they
//! are rounded outwards by more than all rounding before. So two features that touch in exact
//! arithmetic have overlapping volumes. The origin depends on the points alone, so equal motions
//! have equal volumes, whatever happened before. The overlap of moving volumes takes a division. It
//! is rounded towards overlap, and monotonically: if two volumes overlap, so do larger ones that
//! contain them. Otherwise the result of a search would depend on the order of the tree.
//!
//! A point whose position or reach is not finite, or too large for f32, has the volume of
//! everything.

use glam::DVec3;
use rayon::prelude::*;
use std::f64::consts::SQRT_2;

/// The largest bound. Volumes stay finite, so that an empty one (from +∞ to −∞) overlaps none, and
/// so do the differences of bounds.
const MAX_BOUND: f32 = f32::MAX / 4.0;
/// Points farther than this from the origin, with their reach, have the volume of everything.
const MAX_COORDINATE: f64 = 0.5 * MAX_BOUND as f64;
/// Twice the relative rounding error of f32.
const F32_ROUNDING: f64 = f32::EPSILON as f64;
/// Bounds the relative error of the few f64 operations for a bound.
const F64_ROUNDING: f64 = 16.0 * f64::EPSILON;
/// Bounds the absolute error of subnormal f32.
const F32_UNDERFLOW: f64 = f32::MIN_POSITIVE as f64;
/// Bounds the relative error of two quotients of differences of bounds (three roundings each), and
/// of this factor.
const QUOTIENT_ROUNDING: f32 = 1.0 + 8.0 * f32::EPSILON;
/// One interval along each direction, for the whole path.
pub const WHOLE: usize = 1;
/// Intervals at the start and at the end.
pub const MOVING: usize = 2;
/// Points that one task takes.
const CHUNK_SIZE: usize = 4096;
/// Points, at most, whose median is the origin.
const MAX_ORIGIN_SAMPLES: usize = 1000;

/// Positions of all points at both ends of a step, and their reach.
#[derive(Clone, Copy, Debug)]
pub struct PointMotion<'a> {
    /// Positions at the start.
    pub from: &'a [DVec3],
    /// Positions at the end, of the same length.
    pub to: &'a [DVec3],
    /// The reach of each point (m), of the same length. A negative reach counts as 0.
    pub reach: &'a [f64],
}

/// Intervals along the first `K` of the directions x, y, z, x ± y, x ± z, y ± z, at `T` moments:
/// `WHOLE` or `MOVING`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Volume<const K: usize, const T: usize = WHOLE> {
    /// Lower bounds.
    pub lower: [[f32; K]; T],
    /// Upper bounds.
    pub upper: [[f32; K]; T],
}

impl<const K: usize, const T: usize> Volume<K, T> {
    /// Contains nothing and overlaps nothing.
    pub const EMPTY: Self = Self {
        lower: [[f32::INFINITY; K]; T],
        upper: [[f32::NEG_INFINITY; K]; T],
    };
    /// Overlaps everything but the empty volume.
    pub const EVERYTHING: Self = Self {
        lower: [[-MAX_BOUND; K]; T],
        upper: [[MAX_BOUND; K]; T],
    };

    /// The volume of a point that moves from `from` to `to`, with a reach at the start and at the
    /// end.
    #[must_use]
    pub fn of_moving_point(from: DVec3, to: DVec3, reach: [f64; 2]) -> Self {
        const { assert!(T == WHOLE || T == MOVING) };
        let [Some(start), Some(end)] = [bounds::<K>(from, reach[0]), bounds(to, reach[1])] else {
            return Self::EVERYTHING;
        };
        let mut volume = Self::EMPTY;
        for (moment, (lower, upper)) in [start, end].into_iter().enumerate() {
            let moment = moment.min(T - 1);
            for k in 0..K {
                volume.lower[moment][k] = smaller(volume.lower[moment][k], lower[k]);
                volume.upper[moment][k] = larger(volume.upper[moment][k], upper[k]);
            }
        }
        volume
    }

    /// The smallest volume that contains both.
    #[inline]
    #[must_use]
    pub fn merge(&self, other: &Self) -> Self {
        let mut merged = *self;
        for moment in 0..T {
            for k in 0..K {
                let (lower, upper) = (other.lower[moment][k], other.upper[moment][k]);
                merged.lower[moment][k] = smaller(self.lower[moment][k], lower);
                merged.upper[moment][k] = larger(self.upper[moment][k], upper);
            }
        }
        merged
    }

    /// Whether the intervals overlap along every direction, for moving volumes at one time. Bounds
    /// are inclusive.
    #[inline]
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        // No early exit: comparing all directions is cheaper than a mispredicted branch.
        let mut overlap = true;
        for k in 0..K {
            let (mut is_below, mut is_above) = (true, true);
            for moment in 0..T {
                is_below &= other.upper[moment][k] < self.lower[moment][k];
                is_above &= self.upper[moment][k] < other.lower[moment][k];
            }
            overlap &= !(is_below | is_above);
        }
        overlap && (T == WHOLE || self.overlaps_at_one_time(other))
    }

    /// Whether moving volumes overlap along all directions at one time, if no direction separates
    /// them all the time.
    #[inline]
    fn overlaps_at_one_time(&self, other: &Self) -> bool {
        let mut interval = OverlapInterval::ANY;
        for k in 0..K {
            let below = [0, T - 1].map(|moment| other.upper[moment][k] - self.lower[moment][k]);
            interval = interval.clip(below);
            let above = [0, T - 1].map(|moment| self.upper[moment][k] - other.lower[moment][k]);
            interval = interval.clip(above);
        }
        interval.is_nonempty()
    }

    /// Whether `other` is inside at every moment.
    #[must_use]
    pub fn contains(&self, other: &Self) -> bool {
        (0..T).all(|moment| {
            let [lower, upper] = [&self.lower[moment], &self.upper[moment]];
            let other = [&other.lower[moment], &other.upper[moment]];
            (0..K).all(|k| lower[k] <= other[0][k] && other[1][k] <= upper[k])
        })
    }
}

/// The time interval in which two moving volumes overlap along all directions.
///
/// A time t is represented by t / (1 − t). Let g₀ and g₁ be the overlap of two bounds at the start
/// and at the end, one negative and the other not. It vanishes at |g₀ / g₁|: a single division,
/// which rounds monotonically.
#[derive(Clone, Copy, Debug)]
pub(super) struct OverlapInterval {
    begin: f32,
    end: f32,
}

impl OverlapInterval {
    /// The whole step.
    pub(super) const ANY: Self = Self {
        begin: 0.0,
        end: f32::INFINITY,
    };

    /// Clips the interval to the times at which two bounds overlap. `start` and `end` are the
    /// overlap at both ends, not both negative.
    #[inline(always)]
    pub(super) fn clip(self, [start, end]: [f32; 2]) -> Self {
        let time = (start / end).abs();
        Self {
            begin: larger(self.begin, if start < 0.0 { time } else { 0.0 }),
            end: smaller(self.end, if end < 0.0 { time } else { f32::INFINITY }),
        }
    }

    /// Whether the interval is not empty, up to rounding.
    #[inline(always)]
    pub(super) fn is_nonempty(self) -> bool {
        self.begin <= self.end * QUOTIENT_ROUNDING + f32::MIN_POSITIVE
    }
}

/// Bounds of a point with its reach along each direction; None if it is not finite or too far away.
#[inline]
fn bounds<const K: usize>(point: DVec3, reach: f64) -> Option<([f32; K], [f32; K])> {
    // The error of a difference is relative to its terms, not to its result.
    let size = point.abs().element_sum() + 2.0 * reach.abs();
    if !(point.is_finite() && size < MAX_COORDINATE) {
        return None;
    }
    let slack = F64_ROUNDING * size + F32_UNDERFLOW;
    let reach = reach.max(0.0);
    let along = project::<K>(point);
    let (mut lowest, mut highest) = ([0.0; K], [0.0; K]);
    for k in 0..K {
        let reach = if k < 3 { reach } else { SQRT_2 * reach };
        let (lower, upper) = (along[k] - reach, along[k] + reach);
        lowest[k] = (lower - (lower.abs() * F32_ROUNDING + slack)) as f32;
        highest[k] = (upper + (upper.abs() * F32_ROUNDING + slack)) as f32;
    }
    Some((lowest, highest))
}

/// Minimum in one instruction; bounds are never NaN.
#[inline]
pub(super) fn smaller(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

/// Maximum in one instruction; bounds are never NaN.
#[inline]
pub(super) fn larger(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

/// Coordinates of a point along each direction.
#[inline]
fn project<const K: usize>(point: DVec3) -> [f64; K] {
    const { assert!(K <= 9) };
    let DVec3 { x, y, z } = point;
    let all = [x, y, z, x + y, x - y, x + z, x - z, y + z, y - z];
    std::array::from_fn(|k| all[k])
}

/// The volumes of all points along a motion.
#[derive(Clone, Debug)]
pub struct Volumes<const K: usize, const T: usize = WHOLE> {
    /// The origin of all bounds.
    origin: DVec3,
    /// The volume of each point.
    of_points: Vec<Volume<K, T>>,
}

impl<const K: usize, const T: usize> Volumes<K, T> {
    /// The volumes of a motion, relative to an origin amid its points.
    #[must_use]
    pub fn new(motion: &PointMotion) -> Self {
        Self::about(median(motion), motion)
    }

    /// The volumes of a motion with a clearance at the end of each point (m).
    #[must_use]
    pub fn with_clearance(motion: &PointMotion, clearance: &[f64]) -> Self {
        Self::build(median(motion), motion, |point| clearance[point])
    }

    /// The volumes of a motion, relative to a given origin.
    pub(super) fn about(origin: DVec3, motion: &PointMotion) -> Self {
        Self::build(origin, motion, |_| 0.0)
    }

    fn build(origin: DVec3, motion: &PointMotion, clearance: impl Fn(usize) -> f64 + Sync) -> Self {
        let mut volumes = Self {
            origin,
            of_points: Vec::new(),
        };
        let mut of_points = vec![Volume::EMPTY; motion.from.len()];
        let chunks = of_points.par_chunks_mut(CHUNK_SIZE).enumerate();
        chunks.for_each(|(chunk, chunk_volumes)| {
            for (at, volume) in chunk_volumes.iter_mut().enumerate() {
                let point = chunk * CHUNK_SIZE + at;
                *volume = volumes.along(point as u32, motion, clearance(point));
            }
        });
        volumes.of_points = of_points;
        volumes
    }

    /// The origin of all bounds.
    #[cfg(test)]
    pub(super) fn origin(&self) -> DVec3 {
        self.origin
    }

    /// The volume of a point.
    #[inline]
    #[must_use]
    pub fn of(&self, point: u32) -> &Volume<K, T> {
        &self.of_points[point as usize]
    }

    /// The volume of one point along a motion, with a clearance at its end.
    #[inline]
    pub(super) fn along(&self, point: u32, motion: &PointMotion, clearance: f64) -> Volume<K, T> {
        let point = point as usize;
        let (from, to) = (motion.from[point], motion.to[point]);
        let reach = motion.reach[point].max(0.0);
        let reach = [reach, reach + clearance.max(0.0)];
        Volume::of_moving_point(from - self.origin, to - self.origin, reach)
    }

    /// Extends the volume of a point by another one.
    pub(super) fn extend(&mut self, point: u32, volume: &Volume<K, T>) {
        let own = &mut self.of_points[point as usize];
        *own = own.merge(volume);
    }
}

/// The median of the positions along each axis, from evenly spaced samples. A few points far away,
/// or not finite, do not move it, so the bounds of the others stay sharp.
fn median(motion: &PointMotion) -> DVec3 {
    let stride = motion.from.len().div_ceil(MAX_ORIGIN_SAMPLES).max(1);
    let samples = motion.from.iter().step_by(stride).copied();
    let samples: Vec<DVec3> = samples.filter(|point| point.is_finite()).collect();
    let along = |axis: usize| {
        let mut values: Vec<f64> = samples.iter().map(|point| point[axis]).collect();
        values.sort_unstable_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or(0.0)
    };
    DVec3::new(along(0), along(1), along(2))
}

#[cfg(test)]
mod tests;
