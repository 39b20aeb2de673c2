//! Where a moving point can be: intervals along a few directions, all along its path or from moment to moment.
//!
//! A `Volume<3>` is a box along the axes; a `Volume<9>` also bounds x ± y, x ± z and y ± z, the 18-DOP of Klosowski et al.,
//! Efficient collision detection using bounding volume hierarchies of k-DOPs (1998), which fits slanted edges and
//! triangles better: on folded cloths it leaves a sixth of the pairs for about the same time of search, but building takes
//! twice as long.
//!
//! A volume of the `WHOLE` path has one interval along each direction, for all times. A `MOVING` one has two, at the start and at
//! the end of the step, and changes linearly in between: Harmon, Robust, Efficient, and Accurate Contact Algorithms (2010),
//! section 7.2. Two moving volumes meet only if all their intervals overlap at one time, so that neighbours that go a long way
//! side by side, as hair does, are told apart. A point on a straight path has exact bounds; those of several
//! points take the outermost at both ends, which bounds them in between too.
//!
//! Bounds are f32, half the memory of f64 and twice the lanes. Two things keep that safe: they are relative to a place
//! amid the points, so that a scene far from 0 loses nothing, and they are rounded outwards by more than all the rounding on the way to
//! them, so that two features that touch in exact arithmetic have volumes that overlap. That place depends on the
//! points alone, so equal motions have equal volumes, whatever happened before. Whether moving volumes overlap takes a division; it is
//! rounded towards overlapping, and such that larger volumes overlap wherever smaller ones inside them do: else what
//! a tree finds would depend on how it is built.
//!
//! A point that is not finite, or with a reach that is not, or too far away for f32, could be anywhere: its volume is everything.

use glam::DVec3;
use rayon::prelude::*;
use std::f64::consts::SQRT_2;

/// The largest bound. Volumes stay finite, so that an empty one (from +∞ to −∞) overlaps none, and so do the differences of bounds.
const LARGEST: f32 = f32::MAX / 4.0;
/// What is further away than that from the origin, with its reach, could be anywhere.
const FAR: f64 = 0.5 * LARGEST as f64;
/// Twice the relative rounding error of f32.
const ROUND_SINGLE: f64 = f32::EPSILON as f64;
/// More than the relative error of the few f64 operations that lead to a bound.
const ROUND_DOUBLE: f64 = 16.0 * f64::EPSILON;
/// More than the error of an f32 too small for the relative one.
const SMALLEST: f64 = f32::MIN_POSITIVE as f64;
/// More than the relative error of two quotients of differences of bounds (three roundings each), and of this factor.
const LATER: f32 = 1.0 + 8.0 * f32::EPSILON;
/// One interval along each direction, for the whole path.
pub const WHOLE: usize = 1;
/// Intervals at the start and at the end.
pub const MOVING: usize = 2;
/// Points that one task takes.
const CHUNK: usize = 4096;
/// Points, at most, that say where the middle is.
const SAMPLES: usize = 1000;

/// Where all points are at the two ends of a step, and how far from its path each still counts.
#[derive(Clone, Copy, Debug)]
pub struct Motion<'a> {
    /// Positions at the start.
    pub from: &'a [DVec3],
    /// Positions at the end; as many.
    pub to: &'a [DVec3],
    /// The reach of each point (m); as many. A negative one counts as 0.
    pub reach: &'a [f64],
}

/// Intervals along the first `K` of the directions x, y, z, x ± y, x ± z, y ± z, at `T` moments: `WHOLE` or `MOVING`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Volume<const K: usize, const T: usize = WHOLE> {
    /// Lower ends.
    pub lower: [[f32; K]; T],
    /// Upper ends.
    pub upper: [[f32; K]; T],
}

impl<const K: usize, const T: usize> Volume<K, T> {
    /// Holds nothing and overlaps nothing.
    pub const EMPTY: Self = Self {
        lower: [[f32::INFINITY; K]; T],
        upper: [[f32::NEG_INFINITY; K]; T],
    };
    /// Overlaps everything but the empty volume.
    pub const EVERYTHING: Self = Self {
        lower: [[-LARGEST; K]; T],
        upper: [[LARGEST; K]; T],
    };

    /// The volume of a point that moves from `from` to `to` and reaches that far in all directions at the start and at the end.
    #[must_use]
    pub fn of_point(from: DVec3, to: DVec3, reach: [f64; 2]) -> Self {
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

    /// The smallest volume that holds both.
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

    /// Whether the two have a place in common along every direction, at one time if they move; their borders belong to them.
    #[inline]
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        // No short cut: comparing all at once is cheaper than a branch that is often guessed wrong.
        let mut overlap = true;
        for k in 0..K {
            let (mut is_below, mut is_above) = (true, true);
            for moment in 0..T {
                is_below &= other.upper[moment][k] < self.lower[moment][k];
                is_above &= self.upper[moment][k] < other.lower[moment][k];
            }
            overlap &= !(is_below | is_above);
        }
        overlap && (T == WHOLE || self.overlaps_at_once(other))
    }

    /// Whether moving volumes that no direction separates all the time overlap along all at one time.
    #[inline]
    fn overlaps_at_once(&self, other: &Self) -> bool {
        let mut meeting = Meeting::ANY;
        for k in 0..K {
            let room = [0, T - 1].map(|moment| other.upper[moment][k] - self.lower[moment][k]);
            meeting = meeting.with_room(room);
            let room = [0, T - 1].map(|moment| self.upper[moment][k] - other.lower[moment][k]);
            meeting = meeting.with_room(room);
        }
        meeting.is_possible()
    }

    /// Whether all of `other` lies inside, at every moment.
    #[must_use]
    pub fn holds(&self, other: &Self) -> bool {
        (0..T).all(|moment| {
            let [lower, upper] = [&self.lower[moment], &self.upper[moment]];
            let other = [&other.lower[moment], &other.upper[moment]];
            (0..K).all(|k| lower[k] <= other[0][k] && other[1][k] <= upper[k])
        })
    }
}

/// When two moving volumes overlap: from the latest time at which they begin to along a direction, to the earliest at which they cease.
///
/// A time t is given by t / (1 − t). Of two bounds with the room r₀ between them at the start and r₁ at the end, the one negative and the other not, that is
/// |r₀ / r₁| when they meet: a single division, which rounds monotonically.
#[derive(Clone, Copy, Debug)]
pub(super) struct Meeting {
    begin: f32,
    end: f32,
}

impl Meeting {
    /// All the time.
    pub(super) const ANY: Self = Self {
        begin: 0.0,
        end: f32::INFINITY,
    };

    /// While there is also room between two bounds, of which this much is there at the start and at the end; not less than 0 at both.
    #[inline(always)]
    pub(super) fn with_room(self, [start, end]: [f32; 2]) -> Self {
        let time = (start / end).abs();
        Self {
            begin: larger(self.begin, if start < 0.0 { time } else { 0.0 }),
            end: smaller(self.end, if end < 0.0 { time } else { f32::INFINITY }),
        }
    }

    /// Whether there is such a time, as far as rounding can tell.
    #[inline(always)]
    pub(super) fn is_possible(self) -> bool {
        self.begin <= self.end * LATER + f32::MIN_POSITIVE
    }
}

/// Bounds of a place and its reach along each direction; none if it could be anywhere.
#[inline]
fn bounds<const K: usize>(place: DVec3, reach: f64) -> Option<([f32; K], [f32; K])> {
    // Errors of a difference are relative to its terms, not to what is left of them.
    let size = place.abs().element_sum() + 2.0 * reach.abs();
    if !(place.is_finite() && size < FAR) {
        return None;
    }
    let slack = ROUND_DOUBLE * size + SMALLEST;
    let reach = reach.max(0.0);
    let along = project::<K>(place);
    let (mut lowest, mut highest) = ([0.0; K], [0.0; K]);
    for k in 0..K {
        let reach = if k < 3 { reach } else { SQRT_2 * reach };
        let (lower, upper) = (along[k] - reach, along[k] + reach);
        lowest[k] = (lower - (lower.abs() * ROUND_SINGLE + slack)) as f32;
        highest[k] = (upper + (upper.abs() * ROUND_SINGLE + slack)) as f32;
    }
    Some((lowest, highest))
}

/// A minimum that is one instruction; bounds are never NaN.
#[inline]
pub(super) fn smaller(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

/// A maximum that is one instruction; bounds are never NaN.
#[inline]
pub(super) fn larger(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

/// How far along each direction a place is.
#[inline]
fn project<const K: usize>(at: DVec3) -> [f64; K] {
    const { assert!(K <= 9) };
    let DVec3 { x, y, z } = at;
    let all = [x, y, z, x + y, x - y, x + z, x - z, y + z, y - z];
    std::array::from_fn(|k| all[k])
}

/// The volumes of all points along a motion.
#[derive(Clone, Debug)]
pub struct Volumes<const K: usize, const T: usize = WHOLE> {
    /// What bounds are relative to.
    origin: DVec3,
    /// The volume of each point.
    of_points: Vec<Volume<K, T>>,
}

impl<const K: usize, const T: usize> Volumes<K, T> {
    /// The volumes of a motion, about a place amid its points.
    #[must_use]
    pub fn new(motion: &Motion) -> Self {
        Self::about(middle(motion), motion)
    }

    /// The volumes of a motion that may end elsewhere, by as much as each point has room (m).
    #[must_use]
    pub fn with_room(motion: &Motion, room: &[f64]) -> Self {
        Self::made(middle(motion), motion, |point| room[point])
    }

    /// The volumes of a motion, relative to an origin that the caller knows.
    #[must_use]
    pub fn about(origin: DVec3, motion: &Motion) -> Self {
        Self::made(origin, motion, |_| 0.0)
    }

    fn made(origin: DVec3, motion: &Motion, room: impl Fn(usize) -> f64 + Sync) -> Self {
        let mut made = Self {
            origin,
            of_points: Vec::new(),
        };
        let mut of_points = vec![Volume::EMPTY; motion.from.len()];
        let chunks = of_points.par_chunks_mut(CHUNK).enumerate();
        chunks.for_each(|(chunk, volumes)| {
            for (at, volume) in volumes.iter_mut().enumerate() {
                let point = chunk * CHUNK + at;
                *volume = made.along(point as u32, motion, room(point));
            }
        });
        made.of_points = of_points;
        made
    }

    /// What bounds are relative to.
    #[must_use]
    pub fn origin(&self) -> DVec3 {
        self.origin
    }

    /// The volume of a point.
    #[inline]
    #[must_use]
    pub fn of(&self, point: u32) -> &Volume<K, T> {
        &self.of_points[point as usize]
    }

    /// The volume of one point along a motion, with room at its end.
    #[inline]
    pub(super) fn along(&self, point: u32, motion: &Motion, room: f64) -> Volume<K, T> {
        let point = point as usize;
        let (from, to) = (motion.from[point], motion.to[point]);
        let reach = motion.reach[point].max(0.0);
        let reach = [reach, reach + room.max(0.0)];
        Volume::of_point(from - self.origin, to - self.origin, reach)
    }

    /// Makes the volume of a point hold another one too.
    pub(super) fn extend(&mut self, point: u32, volume: &Volume<K, T>) {
        let held = &mut self.of_points[point as usize];
        *held = held.merge(volume);
    }
}

/// A place amid the points: along each axis the median of some that are spread over all. A few points far away, or not
/// finite, do not move it, so that the bounds of the others stay as sharp.
fn middle(motion: &Motion) -> DVec3 {
    let stride = motion.from.len().div_ceil(SAMPLES).max(1);
    let places = motion.from.iter().step_by(stride);
    let places: Vec<DVec3> = places.copied().filter(|place| place.is_finite()).collect();
    let median = |axis: usize| {
        let mut along: Vec<f64> = places.iter().map(|place| place[axis]).collect();
        along.sort_unstable_by(f64::total_cmp);
        along.get(along.len() / 2).copied().unwrap_or(0.0)
    };
    DVec3::new(median(0), median(1), median(2))
}

#[cfg(test)]
mod tests;
