//! The order of primitives in the leaves: consecutive primitives are neighbours in space.
//!
//! The tree has no pointers, so building it is sorting its primitives. The Hilbert curve visits all
//! cells of a fine grid and steps from each to an adjacent one. On two folded cloths of 160,000
//! triangles, splitting at medians left 1.3 times as many overlapping pairs of leaves, and Morton's
//! curve, which jumps, 1.8 times.

use super::radix::radix_sort;
use super::volume::{Volume, larger, smaller};
use rayon::prelude::*;
use reefknot_contact::lanes::{Kernel, dispatch};

/// The grid has 2 to this cells along a side: the finest that is sorted in three passes, 0.25 mm in
/// a metre.
const GRID_BITS: u32 = 12;
/// Bits of a key for the index of the volume, below its position on the curve.
const INDEX_BITS: u32 = u64::BITS - 3 * GRID_BITS;
/// Cells whose positions on the curve are computed at once.
const LANES: usize = 8;
/// Volumes that one task takes.
const CHUNK_SIZE: usize = 4096;

/// The indices of volumes in the order of their centres along the Hilbert curve; in the same cell,
/// ascending.
pub(super) fn hilbert_order<const K: usize, const T: usize>(
    count: usize,
    volume: impl Fn(usize) -> Volume<K, T> + Sync,
) -> Vec<u32> {
    // Centres at the middle of the step, times two or four: bounds are limited so that their sums
    // are finite, and no volume is empty.
    let centres = (0..count)
        .into_par_iter()
        .with_min_len(CHUNK_SIZE)
        .map(|at| {
            let volume = volume(at);
            let centre = |k| {
                let moments = volume.lower.iter().zip(&volume.upper);
                moments.map(|(lower, upper)| lower[k] + upper[k]).sum()
            };
            std::array::from_fn(centre)
        });
    let centres: Vec<[f32; 3]> = centres.collect();
    let (lower, side) = bounds(&centres);
    let scale = ((1u32 << GRID_BITS) - 1) as f32 / side;
    // With more volumes than these bits can index, positions have fewer bits: cells are larger.
    let index_bits = INDEX_BITS.max(usize::BITS - count.leading_zeros());
    let mut keys = vec![0; count];
    let chunks = keys
        .par_chunks_mut(CHUNK_SIZE)
        .zip(centres.par_chunks(CHUNK_SIZE));
    chunks.enumerate().for_each(|(chunk, (keys, centres))| {
        let first = chunk * CHUNK_SIZE;
        dispatch(HilbertKeys {
            keys,
            centres,
            lower,
            scale,
            first,
            index_bits,
        });
    });
    radix_sort(&mut keys, 3 * GRID_BITS, |key| key >> index_bits);
    let indices = keys.into_par_iter().with_min_len(CHUNK_SIZE);
    indices
        .map(|key| (key & ((1 << index_bits) - 1)) as u32)
        .collect()
}

/// Computes the keys of consecutive centres: their positions on the curve, above their indices.
struct HilbertKeys<'a> {
    keys: &'a mut [u64],
    centres: &'a [[f32; 3]],
    lower: [f32; 3],
    scale: f32,
    /// The index of the first.
    first: usize,
    /// The number of bits of an index.
    index_bits: u32,
}

impl Kernel for HilbertKeys<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let lanes = self.keys.chunks_mut(LANES).zip(self.centres.chunks(LANES));
        for (chunk, (keys, centres)) in lanes.enumerate() {
            let mut cells = [[0; LANES]; 3];
            for (lane, centre) in centres.iter().enumerate() {
                for k in 0..3 {
                    // A cast turns NaN into 0 and saturates, so that every centre has a cell.
                    let cell = ((centre[k] - self.lower[k]) * self.scale) as u32;
                    cells[k][lane] = cell.min((1 << GRID_BITS) - 1);
                }
            }
            let positions = hilbert_indices(cells);
            for (lane, key) in keys.iter_mut().enumerate() {
                let number = self.first + chunk * LANES + lane;
                let position = positions[lane] >> (self.index_bits - INDEX_BITS);
                *key = position << self.index_bits | number as u64;
            }
        }
    }
}

/// The lower corner and the longest side of the box of all centres.
fn bounds(centres: &[[f32; 3]]) -> ([f32; 3], f32) {
    let mut lower = [f32::INFINITY; 3];
    let mut upper = [f32::NEG_INFINITY; 3];
    for centre in centres {
        for k in 0..3 {
            lower[k] = smaller(lower[k], centre[k]);
            upper[k] = larger(upper[k], centre[k]);
        }
    }
    let side = (0..3).map(|k| upper[k] - lower[k]).fold(0.0, larger);
    (lower, side)
}

/// Positions of cells along the Hilbert curve: Skilling, Programming the Hilbert curve (2004),
/// without branches and for several cells at once.
#[inline(always)]
fn hilbert_indices(mut x: [[u32; LANES]; 3]) -> [u64; LANES] {
    for bit in (1..GRID_BITS).rev() {
        let below = (1 << bit) - 1;
        for k in 0..3 {
            for lane in 0..LANES {
                // All ones where the bit is set: then the first axis is reversed, else it is
                // exchanged with axis k.
                let is_set = 0u32.wrapping_sub(x[k][lane] >> bit & 1);
                let exchanged = (x[0][lane] ^ x[k][lane]) & below & !is_set;
                x[0][lane] ^= (below & is_set) | exchanged;
                x[k][lane] ^= exchanged;
            }
        }
    }
    let mut flip = [0; LANES];
    for lane in 0..LANES {
        x[1][lane] ^= x[0][lane];
        x[2][lane] ^= x[1][lane];
        for bit in 1..GRID_BITS {
            flip[lane] ^= ((1 << bit) - 1) & 0u32.wrapping_sub(x[2][lane] >> bit & 1);
        }
    }
    std::array::from_fn(|lane| {
        let [a, b, c] = [0, 1, 2].map(|k| spread(x[k][lane] ^ flip[lane]));
        a << 2 | b << 1 | c
    })
}

/// Inserts two zeros before each bit.
#[inline(always)]
fn spread(bits: u32) -> u64 {
    let mut x = u64::from(bits);
    x = (x | x << 32) & 0x001f_0000_0000_ffff;
    x = (x | x << 16) & 0x001f_0000_ff00_00ff;
    x = (x | x << 8) & 0x100f_00f0_0f00_f00f;
    x = (x | x << 4) & 0x10c3_0c30_c30c_30c3;
    (x | x << 2) & 0x1249_2492_4924_9249
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_curve_steps_to_adjacent_cells() {
        let mut cells = Vec::new();
        for number in 0..16 * 16 * 16u32 {
            cells.push([number >> 8, number >> 4 & 15, number & 15]);
        }
        let mut along: Vec<(u64, [u32; 3])> = Vec::new();
        for eight in cells.as_chunks::<LANES>().0 {
            let positions = hilbert_indices([0, 1, 2].map(|k| eight.map(|cell| cell[k])));
            along.extend(positions.into_iter().zip(*eight));
        }
        along.sort_unstable();
        for (at, pair) in along.windows(2).enumerate() {
            let [(position, a), (_, b)] = [pair[0], pair[1]];
            // The curve fills the cube at its first corner before it leaves it.
            assert_eq!(position, at as u64);
            let steps = (0..3).map(|k| a[k].abs_diff(b[k])).sum::<u32>();
            assert_eq!(steps, 1, "{a:?} {b:?}");
        }
    }

    #[test]
    fn volumes_of_any_size_have_an_order() {
        let largest = f32::MAX;
        let positions = [0.0, -largest, largest, 1e-40, 1.0, -1e30, 3.0];
        let volume = |at: usize| Volume::<3> {
            lower: [[positions[at]; 3]],
            upper: [[largest; 3]],
        };
        let mut order = hilbert_order(positions.len(), volume);
        order.sort_unstable();
        assert_eq!(order, [0, 1, 2, 3, 4, 5, 6]);
        assert_eq!(hilbert_order(3, |_| Volume::<3>::EVERYTHING), [0, 1, 2]);
        assert!(hilbert_order(0, |_| Volume::<3>::EMPTY).is_empty());
    }
}
