//! Eight volumes side by side, so that one instruction compares a volume with all eight.

use super::volume::{Volume, larger, smaller};
use glam::Vec4;

/// Volumes in a block; children of a node.
pub(super) const WIDTH: usize = 8;

/// What is true of lanes: all bits of a lane are set where it is, else none. The compiler makes vector instructions of masks that
/// are stored, and of bits that are gathered from stored masks, but not of both in one.
pub(super) type Mask = [u32; WIDTH];

/// Eight volumes, each in its lane; places without one are empty.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(align(32))]
pub(super) struct Block<const K: usize> {
    lower: [[f32; WIDTH]; K],
    upper: [[f32; WIDTH]; K],
}

impl<const K: usize> Block<K> {
    /// Eight empty volumes.
    pub(super) const EMPTY: Self = Self {
        lower: [[f32::INFINITY; WIDTH]; K],
        upper: [[f32::NEG_INFINITY; WIDTH]; K],
    };

    /// Puts a volume into a lane.
    #[inline(always)]
    pub(super) fn set(&mut self, lane: usize, volume: &Volume<K>) {
        for k in 0..K {
            self.lower[k][lane] = volume.lower[k];
            self.upper[k][lane] = volume.upper[k];
        }
    }

    /// The volume in a lane.
    #[inline(always)]
    pub(super) fn get(&self, lane: usize) -> Volume<K> {
        let mut volume = Volume::EMPTY;
        for k in 0..K {
            volume.lower[k] = self.lower[k][lane];
            volume.upper[k] = self.upper[k][lane];
        }
        volume
    }

    /// The smallest volume that holds all eight.
    #[inline]
    pub(super) fn merged(&self) -> Volume<K> {
        let mut merged = self.get(0);
        for lane in 1..WIDTH {
            merged = merged.merge(&self.get(lane));
        }
        merged
    }

    /// Which lanes overlap a volume.
    #[inline(always)]
    pub(super) fn overlapping(&self, volume: &Volume<K>) -> Mask {
        let mut mask = [u32::MAX; WIDTH];
        for k in 0..K {
            for lane in 0..WIDTH {
                let overlaps = (self.lower[k][lane] <= volume.upper[k])
                    & (volume.lower[k] <= self.upper[k][lane]);
                mask[lane] &= if overlaps { u32::MAX } else { 0 };
            }
        }
        mask
    }

    /// The lengths of all sides of the boxes of all eight.
    pub(super) fn sides(&self) -> f64 {
        let mut sum = [0.0; WIDTH];
        for k in 0..3 {
            for lane in 0..WIDTH {
                sum[lane] += larger(self.upper[k][lane] - self.lower[k][lane], 0.0);
            }
        }
        f64::from(smaller(sum.iter().sum(), f32::MAX))
    }
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
