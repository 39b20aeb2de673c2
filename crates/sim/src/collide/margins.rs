//! Margins of pairs, which show that a pair needs no new test. While a step is solved, its motion
//! is tested many times from the same start, to ends that change less and less. A pair that a
//! direction separates with some slack stays separated until its points have moved by the slack.

use glam::DVec3;
use rayon::prelude::*;

use super::features::Features;

/// Features that one task updates.
const CHUNK_SIZE: usize = 4096;

/// Bounds the relative rounding error of all sums here, in single precision too.
const ROUNDING: f64 = 1e-6;

/// Accumulated path lengths of the ends of features (m), from motion to motion: upper bounds for
/// the distance between any two earlier ends.
#[derive(Clone, Debug, Default)]
pub struct PathLengths {
    to: Vec<DVec3>,
    /// By point.
    pub points: Vec<f64>,
    /// By edge.
    pub edges: Vec<f64>,
    /// By triangle.
    pub triangles: Vec<f64>,
    /// An upper bound for the sum of the two features of any pair.
    pub max_of_pair: f64,
}

impl PathLengths {
    /// Adds the path from the last ends to these.
    pub fn advance(&mut self, features: &Features, to: &[DVec3]) {
        if self.to.len() != to.len() {
            self.to = to.to_vec();
            self.points = vec![0.0; to.len()];
            self.edges = vec![0.0; features.edges.len()];
            self.triangles = vec![0.0; features.triangles.len()];
            return;
        }
        let paths = self.to.par_iter().zip(to).with_min_len(CHUNK_SIZE);
        let paths: Vec<f64> = paths.map(|(from, to)| from.distance(*to)).collect();
        self.to.copy_from_slice(to);
        let farthest = paths.iter().fold(0.0, larger);
        self.max_of_pair += 2.0 * farthest * (1.0 + ROUNDING);
        let longest = |corners: &[u32]| {
            let paths = corners.iter().map(|corner| &paths[*corner as usize]);
            paths.fold(0.0, larger)
        };
        let add = |sums: &mut [f64], path: &(dyn Fn(usize) -> f64 + Sync)| {
            let sums = sums.par_iter_mut().enumerate().with_min_len(CHUNK_SIZE);
            sums.for_each(|(index, sum)| *sum += path(index) * (1.0 + ROUNDING));
        };
        add(&mut self.points, &|point| paths[point]);
        add(&mut self.edges, &|edge| longest(&features.edges[edge]));
        add(&mut self.triangles, &|at| longest(&features.triangles[at]));
    }
}

/// The larger of two numbers; NaN if one is.
fn larger(most: f64, path: &f64) -> f64 {
    if *path <= most { most } else { *path }
}

/// Path length of a pair (m) up to which it certainly stays separated; 0 if that is unknown.
pub type SafeLength = f32;

/// Whether a pair is still certainly separated at this path length.
#[inline]
pub fn is_still_clear(length: f64, safe: SafeLength) -> bool {
    length < f64::from(safe)
}

/// The safe length of a pair that has now this path length, and this slack (m).
#[inline]
pub fn safe_length(length: f64, slack: f64) -> SafeLength {
    if slack > 0.0 {
        ((length + slack) * (1.0 - ROUNDING)) as SafeLength
    } else {
        0.0
    }
}

/// Consecutive pairs with a common safe length.
pub const PAIRS_PER_BLOCK: usize = 16;

/// Safe lengths of the pairs of a list.
#[derive(Clone, Debug, Default)]
pub struct PairMargins {
    /// Of each pair.
    pub pairs: Vec<SafeLength>,
    /// Of each block of pairs, in terms of [`PathLengths::max_of_pair`].
    pub blocks: Vec<SafeLength>,
}

impl PairMargins {
    /// Resizes to a list of `pairs` pairs; new pairs at the end are unknown.
    pub fn resize(&mut self, pairs: usize) {
        if pairs != self.pairs.len() {
            self.invalidate_blocks(self.pairs.len().min(pairs));
        }
        if self.pairs.is_empty() {
            // Zeroed memory is not touched, so each thread gets the pages that it writes.
            self.pairs = vec![0.0; pairs];
        } else {
            self.pairs.resize(pairs, 0.0);
        }
        self.blocks.resize(pairs.div_ceil(PAIRS_PER_BLOCK), 0.0);
    }

    /// Sets the blocks with pairs from an index on to unknown.
    pub fn invalidate_blocks(&mut self, from: usize) {
        let known = self.blocks.len().min(from / PAIRS_PER_BLOCK);
        self.blocks[known..].fill(0.0);
    }
}

/// Margins of all candidate pairs.
#[derive(Clone, Debug, Default)]
pub struct Margins {
    /// Of points with triangles.
    pub point_triangle: PairMargins,
    /// Of edges with edges.
    pub edge_edge: PairMargins,
}
