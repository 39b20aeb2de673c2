//! Bounds of the machine: memory bandwidth and dense arithmetic.

use std::time::Instant;

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par};
use rayon::prelude::*;

/// Size of the measurements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BoundSize {
    /// Numbers in each array of the triad; three arrays should exceed the caches.
    pub(crate) numbers: usize,
    /// Rows of the dense matrices.
    pub(crate) rows: usize,
}

/// Three arrays of 64 MB, and matrices that fit into the cache.
pub(crate) const FULL: BoundSize = BoundSize {
    numbers: 8_000_000,
    rows: 768,
};

/// Minimum time of several runs (s).
pub(crate) fn best_of(runs: usize, mut work: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..runs {
        let start = Instant::now();
        work();
        best = best.min(start.elapsed().as_secs_f64());
    }
    best
}

/// Memory bandwidth of a = b + s c on the threads of the current pool (bytes/s).
pub(crate) fn triad(size: BoundSize, runs: usize) -> f64 {
    let mut a = vec![0.0f64; size.numbers];
    let (b, c) = (vec![1.0f64; size.numbers], vec![2.0f64; size.numbers]);
    let part = size
        .numbers
        .div_ceil(rayon::current_num_threads() * 4)
        .max(1);
    let seconds = best_of(runs, || {
        let chunks = a.par_chunks_mut(part).zip(b.par_chunks(part));
        let chunks = chunks.zip(c.par_chunks(part));
        chunks.for_each(|((a, b), c)| {
            for ((a, b), c) in a.iter_mut().zip(b).zip(c) {
                *a = b + 3.0 * c;
            }
        });
        std::hint::black_box(&mut a);
    });
    24.0 * size.numbers as f64 / seconds
}

/// Floating-point operations per second of a dense product. Each thread of the current pool
/// computes a block of columns.
pub(crate) fn dense_product(size: BoundSize, runs: usize) -> f64 {
    let rows = size.rows;
    let a = Mat::<f64>::from_fn(rows, rows, |i, j| ((i * 7 + j) % 13) as f64);
    let b: Vec<f64> = (0..rows * rows)
        .map(|k| ((k % rows + 5 * (k / rows)) % 11) as f64)
        .collect();
    let mut c = vec![0.0; rows * rows];
    let block = rows * rows.div_ceil(rayon::current_num_threads());
    let seconds = best_of(runs, || {
        let blocks = c.par_chunks_mut(block).zip(b.par_chunks(block));
        blocks.for_each(|(c, b)| {
            let columns = b.len() / rows;
            let b = MatRef::from_column_major_slice(b, rows, columns);
            let c = MatMut::from_column_major_slice_mut(c, rows, columns);
            matmul(c, Accum::Replace, &a, b, 1.0, Par::Seq);
        });
        std::hint::black_box(&mut c);
    });
    2.0 * (rows as f64).powi(3) / seconds
}
