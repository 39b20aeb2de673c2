//! Eight volumes side by side, so that vector instructions compare a volume with all eight.

use super::volume::{OverlapInterval, Volume, WHOLE, larger, smaller};
use glam::Vec4;

/// Volumes per block, and children per node.
pub(super) const WIDTH: usize = 8;

/// A condition per lane: all bits of a lane are set if it holds, else none. The compiler vectorises
/// the computation of a stored mask, and gathering bits from a stored mask, but not both in one.
pub(super) type Mask = [u32; WIDTH];

/// Eight volumes, one per lane; unused lanes are empty.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(align(32))]
pub(super) struct Block<const K: usize, const T: usize> {
    lower: [[[f32; WIDTH]; K]; T],
    upper: [[[f32; WIDTH]; K]; T],
}

impl<const K: usize, const T: usize> Block<K, T> {
    /// Eight empty volumes.
    pub(super) const EMPTY: Self = Self {
        lower: [[[f32::INFINITY; WIDTH]; K]; T],
        upper: [[[f32::NEG_INFINITY; WIDTH]; K]; T],
    };

    /// Sets the volume of a lane.
    #[inline(always)]
    pub(super) fn set(&mut self, lane: usize, volume: &Volume<K, T>) {
        for moment in 0..T {
            for k in 0..K {
                self.lower[moment][k][lane] = volume.lower[moment][k];
                self.upper[moment][k][lane] = volume.upper[moment][k];
            }
        }
    }

    /// The volume of a lane.
    #[inline(always)]
    pub(super) fn get(&self, lane: usize) -> Volume<K, T> {
        let mut volume = Volume::EMPTY;
        for moment in 0..T {
            for k in 0..K {
                volume.lower[moment][k] = self.lower[moment][k][lane];
                volume.upper[moment][k] = self.upper[moment][k][lane];
            }
        }
        volume
    }

    /// The smallest volume that contains all eight.
    #[inline]
    pub(super) fn merged(&self) -> Volume<K, T> {
        let mut merged = self.get(0);
        for lane in 1..WIDTH {
            merged = merged.merge(&self.get(lane));
        }
        merged
    }

    /// The lanes that overlap a volume.
    #[inline(always)]
    pub(super) fn overlapping(&self, volume: &Volume<K, T>) -> Mask {
        let mut mask = [u32::MAX; WIDTH];
        for k in 0..K {
            // Overlap along one direction, at the start or at the end. This test costs at most
            // twice a comparison of boxes.
            let (mut below, mut above) = ([0; WIDTH], [0; WIDTH]);
            for moment in 0..T {
                let (lower, upper) = (&self.lower[moment][k], &self.upper[moment][k]);
                for lane in 0..WIDTH {
                    below[lane] |= lane_mask(lower[lane] <= volume.upper[moment][k]);
                    above[lane] |= lane_mask(volume.lower[moment][k] <= upper[lane]);
                }
            }
            for lane in 0..WIDTH {
                mask[lane] &= below[lane] & above[lane];
            }
        }
        if T == WHOLE || bits(&mask) == 0 {
            return mask;
        }
        self.overlapping_at_one_time(volume, mask)
    }

    /// The lanes of a mask that overlap a volume along all directions at one time.
    #[inline(always)]
    fn overlapping_at_one_time(&self, volume: &Volume<K, T>, mut mask: Mask) -> Mask {
        let mut interval = [OverlapInterval::ANY; WIDTH];
        let last = T - 1;
        for k in 0..K {
            for lane in 0..WIDTH {
                let below = [0, last].map(|at| volume.upper[at][k] - self.lower[at][k][lane]);
                let above = [0, last].map(|at| self.upper[at][k][lane] - volume.lower[at][k]);
                interval[lane] = interval[lane].clip(below).clip(above);
            }
        }
        for lane in 0..WIDTH {
            mask[lane] &= lane_mask(interval[lane].is_nonempty());
        }
        mask
    }

    /// Sum of the side lengths of all eight boxes, at all moments.
    pub(super) fn sides(&self) -> f64 {
        let mut sum = [0.0; WIDTH];
        for moment in 0..T {
            for k in 0..3 {
                let (lower, upper) = (&self.lower[moment][k], &self.upper[moment][k]);
                for lane in 0..WIDTH {
                    sum[lane] += larger(upper[lane] - lower[lane], 0.0);
                }
            }
        }
        f64::from(smaller(sum.iter().sum(), f32::MAX))
    }
}

/// The mask of one lane.
#[inline(always)]
fn lane_mask(is_set: bool) -> u32 {
    if is_set { u32::MAX } else { 0 }
}

/// A mask as bits: bit `lane` is set if the condition holds.
#[inline(always)]
pub(super) fn bits(mask: &Mask) -> u32 {
    // One instruction gathers the signs of four floats.
    let half = |at: usize| {
        let lanes = [mask[at], mask[at + 1], mask[at + 2], mask[at + 3]];
        Vec4::from_array(lanes.map(f32::from_bits)).is_negative_bitmask()
    };
    half(0) | half(4) << 4
}

/// The indices of the bits that are set.
#[inline(always)]
pub(super) fn lanes(mut bits: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = bits.trailing_zeros() as usize;
        let is_set = bits != 0;
        bits &= bits.wrapping_sub(1);
        is_set.then_some(lane)
    })
}
