//! Where a moving point can be: intervals along a few directions.
//!
//! A `Volume<3>` is a box along the axes; a `Volume<9>` also bounds x ± y, x ± z and y ± z, the 18-DOP of Klosowski et al.,
//! Efficient collision detection using bounding volume hierarchies of k-DOPs (1998), which fits slanted edges and
//! triangles better: on folded cloths it leaves a sixth of the pairs for about the same time of search, but building takes
//! twice as long.
//!
//! Bounds are f32, half the memory of f64 and twice the lanes. Two things keep that safe: they are relative to a place
//! amid the points, so that a scene far from 0 loses nothing, and they are rounded outwards by more than all the rounding on the way to
//! them, so that two features that touch in exact arithmetic have volumes that overlap. That place depends on the
//! points alone, so equal motions have equal volumes, whatever happened before.
//!
//! A point that is not finite, or with a reach that is not, could be anywhere: its volume is everything.

use glam::DVec3;
use rayon::prelude::*;
use std::f64::consts::SQRT_2;

/// The largest bound. Volumes stay finite, so that an empty one (from +∞ to −∞) overlaps none.
const LARGEST: f64 = f32::MAX as f64;
/// Twice the relative rounding error of f32.
const ROUND_SINGLE: f64 = f32::EPSILON as f64;
/// More than the relative error of the few f64 operations that lead to a bound.
const ROUND_DOUBLE: f64 = 16.0 * f64::EPSILON;
/// More than the error of an f32 too small for the relative one.
const SMALLEST: f64 = f32::MIN_POSITIVE as f64;
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

/// Intervals along the first `K` of the directions x, y, z, x ± y, x ± z, y ± z.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Volume<const K: usize> {
    /// Lower ends.
    pub lower: [f32; K],
    /// Upper ends.
    pub upper: [f32; K],
}

impl<const K: usize> Volume<K> {
    /// Holds nothing and overlaps nothing.
    pub const EMPTY: Self = Self {
        lower: [f32::INFINITY; K],
        upper: [f32::NEG_INFINITY; K],
    };
    /// Overlaps everything but the empty volume.
    pub const EVERYTHING: Self = Self {
        lower: [-f32::MAX; K],
        upper: [f32::MAX; K],
    };

    /// The volume of a point that moves from `from` to `to` and reaches `reach` in all directions.
    #[must_use]
    pub fn of_point(from: DVec3, to: DVec3, reach: f64) -> Self {
        if !(from.is_finite() && to.is_finite() && reach.is_finite()) {
            return Self::EVERYTHING;
        }
        let reach = reach.max(0.0);
        let (start, end) = (project::<K>(from), project::<K>(to));
        // Errors of a difference are relative to its terms, not to what is left of them.
        let size = from.abs().max(to.abs()).element_sum() + 2.0 * reach;
        let slack = ROUND_DOUBLE * size + SMALLEST;
        let mut volume = Self::EMPTY;
        for k in 0..K {
            let reach = if k < 3 { reach } else { SQRT_2 * reach };
            let lower = start[k].min(end[k]) - reach;
            let upper = start[k].max(end[k]) + reach;
            let lower = lower - (lower.abs() * ROUND_SINGLE + slack);
            let upper = upper + (upper.abs() * ROUND_SINGLE + slack);
            volume.lower[k] = -single(-lower);
            volume.upper[k] = single(upper);
        }
        volume
    }

    /// The smallest volume that holds both.
    #[inline]
    #[must_use]
    pub fn merge(&self, other: &Self) -> Self {
        let mut merged = *self;
        for k in 0..K {
            merged.lower[k] = smaller(self.lower[k], other.lower[k]);
            merged.upper[k] = larger(self.upper[k], other.upper[k]);
        }
        merged
    }

    /// Whether the two have a place in common along every direction; their borders belong to them.
    #[inline]
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        // No short cut: comparing all at once is cheaper than a branch that is often guessed wrong.
        let mut overlap = true;
        for k in 0..K {
            overlap &= (self.lower[k] <= other.upper[k]) & (other.lower[k] <= self.upper[k]);
        }
        overlap
    }

    /// Whether all of `other` lies inside.
    #[must_use]
    pub fn holds(&self, other: &Self) -> bool {
        (0..K).all(|k| self.lower[k] <= other.lower[k] && other.upper[k] <= self.upper[k])
    }
}

/// An upper bound as f32; the largest where overflow has left an infinity or NaN.
#[inline]
fn single(upper: f64) -> f32 {
    if upper < LARGEST {
        upper.max(-LARGEST) as f32
    } else {
        f32::MAX
    }
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
pub struct Volumes<const K: usize> {
    /// What bounds are relative to.
    origin: DVec3,
    /// The volume of each point.
    of_points: Vec<Volume<K>>,
}

impl<const K: usize> Volumes<K> {
    /// The volumes of a motion, about a place amid its points.
    #[must_use]
    pub fn new(motion: &Motion) -> Self {
        Self::about(middle(motion), motion)
    }

    /// The volumes of a motion, relative to an origin that the caller knows.
    #[must_use]
    pub fn about(origin: DVec3, motion: &Motion) -> Self {
        let mut of_points = vec![Volume::EMPTY; motion.from.len()];
        let chunks = of_points.par_chunks_mut(CHUNK).enumerate();
        chunks.for_each(|(chunk, volumes)| {
            for (at, volume) in volumes.iter_mut().enumerate() {
                let point = chunk * CHUNK + at;
                let (from, to) = (motion.from[point] - origin, motion.to[point] - origin);
                *volume = Volume::of_point(from, to, motion.reach[point]);
            }
        });
        Self { origin, of_points }
    }

    /// What bounds are relative to.
    #[must_use]
    pub fn origin(&self) -> DVec3 {
        self.origin
    }

    /// The volume of a point.
    #[inline]
    #[must_use]
    pub fn of(&self, point: u32) -> &Volume<K> {
        &self.of_points[point as usize]
    }

    /// The volume of one point along a motion that ends elsewhere.
    pub(super) fn along(&self, point: u32, motion: &Motion, to: DVec3) -> Volume<K> {
        let point = point as usize;
        let from = motion.from[point] - self.origin;
        Volume::of_point(from, to - self.origin, motion.reach[point])
    }

    /// Makes the volume of a point hold another one too.
    pub(super) fn extend(&mut self, point: u32, volume: &Volume<K>) {
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
