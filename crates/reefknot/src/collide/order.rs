//! The order of primitives in the leaves: neighbours in the order are neighbours in space.
//!
//! The tree has no pointers, so building it means to put its primitives in order. The Hilbert curve visits all cells of a
//! fine grid and steps from each to one beside it. On two folded cloths of 160,000 triangles, halving at medians left
//! 1.3 times as many pairs of leaves to look at, and Morton's curve, which jumps, 1.8 times.

use super::radix::radix_sort;
use super::volume::{Volume, larger, smaller};
use rayon::prelude::*;
use reefknot_contact::lanes::{Kernel, dispatch};

/// Cells along a side of the grid are 2 to this: the finest that is sorted in three passes, 0.25 mm in a metre.
const BITS: u32 = 12;
/// Bits that the place on the curve leaves in a key for the number of the volume.
const NUMBER: u32 = u64::BITS - 3 * BITS;
/// Cells whose places are found at once.
const LANES: usize = 8;
/// Items that one task takes.
const CHUNK: usize = 4096;

/// The numbers of volumes along the curve, by their middles; those in the same cell in ascending order.
pub(super) fn along_curve<const K: usize, const T: usize>(
    count: usize,
    volume: impl Fn(usize) -> Volume<K, T> + Sync,
) -> Vec<u32> {
    // Middles halfway through the step, twice or four times: no volume is so large that their sum is infinite, and none is empty.
    let middles = (0..count).into_par_iter().with_min_len(CHUNK).map(|at| {
        let volume = volume(at);
        let middle = |k| {
            let moments = volume.lower.iter().zip(&volume.upper);
            moments.map(|(lower, upper)| lower[k] + upper[k]).sum()
        };
        std::array::from_fn(middle)
    });
    let middles: Vec<[f32; 3]> = middles.collect();
    let (lower, side) = bounds(&middles);
    let scale = ((1u32 << BITS) - 1) as f32 / side;
    // More volumes than that many bits can number take some from the place: their cells are larger.
    let number = NUMBER.max(usize::BITS - count.leading_zeros());
    let mut keys = vec![0; count];
    let chunks = keys.par_chunks_mut(CHUNK).zip(middles.par_chunks(CHUNK));
    chunks.enumerate().for_each(|(chunk, (keys, middles))| {
        let first = chunk * CHUNK;
        dispatch(Keys {
            keys,
            middles,
            lower,
            scale,
            first,
            number,
        });
    });
    radix_sort(&mut keys, 3 * BITS, |key| key >> number);
    let numbers = keys.into_par_iter().with_min_len(CHUNK);
    numbers
        .map(|key| (key & ((1 << number) - 1)) as u32)
        .collect()
}

/// Finds the keys of consecutive middles: their places on the curve, above their numbers.
struct Keys<'a> {
    keys: &'a mut [u64],
    middles: &'a [[f32; 3]],
    lower: [f32; 3],
    scale: f32,
    /// The number of the first.
    first: usize,
    /// The bits of a number.
    number: u32,
}

impl Kernel for Keys<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let lanes = self.keys.chunks_mut(LANES).zip(self.middles.chunks(LANES));
        for (chunk, (keys, middles)) in lanes.enumerate() {
            let mut cells = [[0; LANES]; 3];
            for (lane, middle) in middles.iter().enumerate() {
                for k in 0..3 {
                    // Casting takes NaN for 0 and what is too large for the largest, so that any middle gets a cell.
                    let cell = ((middle[k] - self.lower[k]) * self.scale) as u32;
                    cells[k][lane] = cell.min((1 << BITS) - 1);
                }
            }
            let places = places_on_curve(cells);
            for (lane, key) in keys.iter_mut().enumerate() {
                let number = self.first + chunk * LANES + lane;
                let place = places[lane] >> (self.number - NUMBER);
                *key = place << self.number | number as u64;
            }
        }
    }
}

/// The lower corner and the longest side of the box around all middles.
fn bounds(middles: &[[f32; 3]]) -> ([f32; 3], f32) {
    let mut lower = [f32::INFINITY; 3];
    let mut upper = [f32::NEG_INFINITY; 3];
    for middle in middles {
        for k in 0..3 {
            lower[k] = smaller(lower[k], middle[k]);
            upper[k] = larger(upper[k], middle[k]);
        }
    }
    let side = (0..3).map(|k| upper[k] - lower[k]).fold(0.0, larger);
    (lower, side)
}

/// How far along the Hilbert curve cells are: Skilling, Programming the Hilbert curve (2004), without branches and for
/// several cells at once.
#[inline(always)]
fn places_on_curve(mut x: [[u32; LANES]; 3]) -> [u64; LANES] {
    for bit in (1..BITS).rev() {
        let below = (1 << bit) - 1;
        for k in 0..3 {
            for lane in 0..LANES {
                // All ones where the bit is set: then the first axis turns around, else it changes places with axis k.
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
        for bit in 1..BITS {
            flip[lane] ^= ((1 << bit) - 1) & 0u32.wrapping_sub(x[2][lane] >> bit & 1);
        }
    }
    std::array::from_fn(|lane| {
        let [a, b, c] = [0, 1, 2].map(|k| spread(x[k][lane] ^ flip[lane]));
        a << 2 | b << 1 | c
    })
}

/// Puts two zeros before each bit.
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
    fn the_curve_steps_from_each_cell_to_one_beside_it() {
        let mut cells = Vec::new();
        for number in 0..16 * 16 * 16u32 {
            cells.push([number >> 8, number >> 4 & 15, number & 15]);
        }
        let mut along: Vec<(u64, [u32; 3])> = Vec::new();
        for eight in cells.as_chunks::<LANES>().0 {
            let places = places_on_curve([0, 1, 2].map(|k| eight.map(|cell| cell[k])));
            along.extend(places.into_iter().zip(*eight));
        }
        along.sort_unstable();
        for (at, pair) in along.windows(2).enumerate() {
            let [(place, a), (_, b)] = [pair[0], pair[1]];
            // The curve fills the cube at the corner where it starts before it goes on.
            assert_eq!(place, at as u64);
            let steps = (0..3).map(|k| a[k].abs_diff(b[k])).sum::<u32>();
            assert_eq!(steps, 1, "{a:?} {b:?}");
        }
    }

    #[test]
    fn any_volumes_have_an_order() {
        let largest = f32::MAX;
        let places = [0.0, -largest, largest, 1e-40, 1.0, -1e30, 3.0];
        let volume = |at: usize| Volume::<3> {
            lower: [[places[at]; 3]],
            upper: [[largest; 3]],
        };
        let mut order = along_curve(places.len(), volume);
        order.sort_unstable();
        assert_eq!(order, [0, 1, 2, 3, 4, 5, 6]);
        assert_eq!(along_curve(3, |_| Volume::<3>::EVERYTHING), [0, 1, 2]);
        assert!(along_curve(0, |_| Volume::<3>::EMPTY).is_empty());
    }
}
