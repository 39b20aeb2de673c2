//! Eight volumes side by side, so that one instruction compares a volume with all eight.

use super::volume::{Meeting, Volume, WHOLE, larger, smaller};
use glam::Vec4;

/// Volumes in a block; children of a node.
pub(super) const WIDTH: usize = 8;

/// What is true of lanes: all bits of a lane are set where it is, else none. The compiler makes vector instructions of masks that
/// are stored, and of bits that are gathered from stored masks, but not of both in one.
pub(super) type Mask = [u32; WIDTH];

/// Eight volumes, each in its lane; places without one are empty.
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

    /// Puts a volume into a lane.
    #[inline(always)]
    pub(super) fn set(&mut self, lane: usize, volume: &Volume<K, T>) {
        for moment in 0..T {
            for k in 0..K {
                self.lower[moment][k][lane] = volume.lower[moment][k];
                self.upper[moment][k][lane] = volume.upper[moment][k];
            }
        }
    }

    /// The volume in a lane.
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

    /// The smallest volume that holds all eight.
    #[inline]
    pub(super) fn merged(&self) -> Volume<K, T> {
        let mut merged = self.get(0);
        for lane in 1..WIDTH {
            merged = merged.merge(&self.get(lane));
        }
        merged
    }

    /// Which lanes overlap a volume.
    #[inline(always)]
    pub(super) fn overlapping(&self, volume: &Volume<K, T>) -> Mask {
        let mut mask = [u32::MAX; WIDTH];
        for k in 0..K {
            // Along one direction, at the start or at the end; the most that costs no more than twice a comparison of boxes.
            let (mut below, mut above) = ([0; WIDTH], [0; WIDTH]);
            for moment in 0..T {
                let (lower, upper) = (&self.lower[moment][k], &self.upper[moment][k]);
                for lane in 0..WIDTH {
                    below[lane] |= filled(lower[lane] <= volume.upper[moment][k]);
                    above[lane] |= filled(volume.lower[moment][k] <= upper[lane]);
                }
            }
            for lane in 0..WIDTH {
                mask[lane] &= below[lane] & above[lane];
            }
        }
        if T == WHOLE || bits(&mask) == 0 {
            return mask;
        }
        self.overlapping_at_once(volume, mask)
    }

    /// Those of the lanes that overlap a volume along all directions at one time, of those that no direction separates.
    #[inline(always)]
    fn overlapping_at_once(&self, volume: &Volume<K, T>, mut mask: Mask) -> Mask {
        let mut meeting = [Meeting::ANY; WIDTH];
        let last = T - 1;
        for k in 0..K {
            for lane in 0..WIDTH {
                let below = [0, last].map(|at| volume.upper[at][k] - self.lower[at][k][lane]);
                let above = [0, last].map(|at| self.upper[at][k][lane] - volume.lower[at][k]);
                meeting[lane] = meeting[lane].with_room(below).with_room(above);
            }
        }
        for lane in 0..WIDTH {
            mask[lane] &= filled(meeting[lane].is_possible());
        }
        mask
    }

    /// The lengths of all sides of the boxes of all eight, at all moments.
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

/// All bits of a lane, or none.
#[inline(always)]
fn filled(is_true: bool) -> u32 {
    if is_true { u32::MAX } else { 0 }
}

/// A mask as the bits of a number: bit `lane` is set where it is true.
#[inline(always)]
pub(super) fn bits(mask: &Mask) -> u32 {
    // The signs of floats are what one instruction gathers into bits.
    let half = |at: usize| {
        let lanes = [mask[at], mask[at + 1], mask[at + 2], mask[at + 3]];
        Vec4::from_array(lanes.map(f32::from_bits)).is_negative_bitmask()
    };
    half(0) | half(4) << 4
}

/// The numbers of the bits that are set.
#[inline(always)]
pub(super) fn lanes(mut bits: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = bits.trailing_zeros() as usize;
        let is_set = bits != 0;
        bits &= bits.wrapping_sub(1);
        is_set.then_some(lane)
    })
}
