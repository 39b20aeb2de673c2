//! What need not be followed again. While a step is solved, its motion is followed many times, always from the same start, and from time to time its ends
//! change by less and less. A pair that a direction kept apart with room to spare stays apart until its points have gone so far.

use glam::DVec3;
use rayon::prelude::*;

use super::features::Features;

/// Features that one task takes.
const CHUNK: usize = 4096;

/// Covers the rounding of all sums here, in single precision too.
const ROUNDING: f64 = 1e-6;

/// How far the ends of features have gone, all ways together (m): never more than from any time to any other.
#[derive(Clone, Debug, Default)]
pub struct Travelled {
    to: Vec<DVec3>,
    /// By point.
    pub points: Vec<f64>,
    /// By edge.
    pub edges: Vec<f64>,
    /// By triangle.
    pub triangles: Vec<f64>,
    /// At least as far as the features of any pair together.
    pub any_pair: f64,
}

impl Travelled {
    /// Goes on to other ends.
    pub fn go_on(&mut self, features: &Features, to: &[DVec3]) {
        if self.to.len() != to.len() {
            self.to = to.to_vec();
            self.points = vec![0.0; to.len()];
            self.edges = vec![0.0; features.edges.len()];
            self.triangles = vec![0.0; features.triangles.len()];
            return;
        }
        let ways = self.to.par_iter().zip(to).with_min_len(CHUNK);
        let ways: Vec<f64> = ways.map(|(from, to)| from.distance(*to)).collect();
        self.to.copy_from_slice(to);
        let farthest = ways.iter().fold(0.0, larger);
        self.any_pair += 2.0 * farthest * (1.0 + ROUNDING);
        let longest = |corners: &[u32]| {
            let ways = corners.iter().map(|corner| &ways[*corner as usize]);
            ways.fold(0.0, larger)
        };
        let add = |sums: &mut [f64], way: &(dyn Fn(usize) -> f64 + Sync)| {
            let sums = sums.par_iter_mut().enumerate().with_min_len(CHUNK);
            sums.for_each(|(index, sum)| *sum += way(index) * (1.0 + ROUNDING));
        };
        add(&mut self.points, &|point| ways[point]);
        add(&mut self.edges, &|edge| longest(&features.edges[edge]));
        add(&mut self.triangles, &|at| longest(&features.triangles[at]));
    }
}

/// The larger of two; what is no number if one is not.
fn larger(most: f64, way: &f64) -> f64 {
    if *way <= most { most } else { *way }
}

/// How far the features of a pair may have gone together until it is to be followed again (m); 0 if always.
pub type Until = f32;

/// Whether a pair is still clear.
#[inline]
pub fn is_clear(gone: f64, until: Until) -> bool {
    gone < f64::from(until)
}

/// Until when a pair is clear that has `slack` more than it needs (m).
#[inline]
pub fn until(gone: f64, slack: f64) -> Until {
    match slack > 0.0 {
        true => ((gone + slack) * (1.0 - ROUNDING)) as Until,
        false => 0.0,
    }
}

/// Pairs in a row that are known to be clear by one number.
pub const BLOCK: usize = 16;

/// What is known of the pairs of a list since they were last followed.
#[derive(Clone, Debug, Default)]
pub struct Clear {
    /// Of each pair.
    pub pairs: Vec<Until>,
    /// Of each block of pairs, by how far any pair has gone.
    pub blocks: Vec<Until>,
}

impl Clear {
    /// Makes room for a list of so many pairs; of those that are new at its end nothing is known.
    pub fn fit(&mut self, pairs: usize) {
        if pairs != self.pairs.len() {
            self.forget_blocks(self.pairs.len().min(pairs));
        }
        match self.pairs.is_empty() {
            // Untouched memory, of which each thread then gets what it writes to.
            true => self.pairs = vec![0.0; pairs],
            false => self.pairs.resize(pairs, 0.0),
        }
        self.blocks.resize(pairs.div_ceil(BLOCK), 0.0);
    }

    /// Of blocks with pairs from a place on, nothing is known any more.
    pub fn forget_blocks(&mut self, from: usize) {
        let known = self.blocks.len().min(from / BLOCK);
        self.blocks[known..].fill(0.0);
    }
}

/// What is known of the pairs of lists of candidates.
#[derive(Clone, Debug, Default)]
pub struct Margins {
    /// Of points with triangles.
    pub point_triangle: Clear,
    /// Of edges with edges.
    pub edge_edge: Clear,
}
