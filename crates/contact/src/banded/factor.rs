//! Cholesky factors of a batch of banded matrices.

use std::ops::Range;

use rayon::prelude::*;

use super::{BandedBatch, BandedLayout, GROUPS_PER_TASK, kernel};
use crate::lanes::{LANES, Lanes, dispatch};

/// A matrix of a batch is not positive definite or not finite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the matrix of rod {rod} is not positive definite and finite at its unknown {unknown}")]
pub struct NotPositiveDefinite {
    /// Index of the matrix.
    pub rod: usize,
    /// Unknown of the first pivot that is not positive, in public order.
    pub unknown: usize,
}

/// Cholesky factors A = L Lᵀ of a batch.
#[derive(Clone, Debug)]
pub struct BandedFactor {
    layout: BandedLayout,
    count: usize,
    /// L in the layout of [`BandedBatch`], with inverted diagonal entries.
    pub(super) entries: Vec<Lanes>,
}

impl BandedFactor {
    /// Allocates the factors of `count` matrices. They are invalid before
    /// [`BandedFactor::factorize`].
    #[must_use]
    pub fn new(layout: BandedLayout, count: usize) -> Self {
        let entries = vec![Lanes::default(); count.div_ceil(LANES) * layout.entries()];
        Self {
            layout,
            count,
            entries,
        }
    }

    /// Total number of degrees of freedom.
    #[must_use]
    pub fn dofs(&self) -> usize {
        self.count * self.layout.size
    }

    /// Factorizes a batch of the same layout and count.
    ///
    /// # Errors
    /// If a matrix is not positive definite or not finite; the first such rod is reported. The
    /// factors of the others are valid.
    pub fn factorize(&mut self, batch: &BandedBatch) -> Result<(), NotPositiveDefinite> {
        self.factorize_changed(batch, |_| true)
    }

    /// Factorizes the groups for whose range of unknowns `is_changed` is true.
    ///
    /// # Errors
    /// As [`BandedFactor::factorize`].
    pub fn factorize_changed(
        &mut self,
        batch: &BandedBatch,
        is_changed: impl Fn(Range<usize>) -> bool + Sync,
    ) -> Result<(), NotPositiveDefinite> {
        let layout = &self.layout;
        let group_len = layout.entries().max(1);
        let factorize = |(group, (factor, matrix)): (usize, (&mut [Lanes], &[Lanes]))| {
            if !is_changed(layout.unknowns_of(group)) {
                return None;
            }
            dispatch(kernel::Factorize {
                matrix,
                factor,
                bandwidth: layout.bandwidth,
            });
            failure(layout, factor).map(|(lane, unknown)| NotPositiveDefinite {
                rod: group * LANES + lane,
                unknown,
            })
        };
        let factors = self.entries.par_chunks_exact_mut(group_len);
        let groups = factors.zip(batch.entries.par_chunks_exact(group_len));
        let failures: Vec<Option<NotPositiveDefinite>> = groups
            .enumerate()
            .with_min_len(GROUPS_PER_TASK)
            .map(factorize)
            .collect();
        match failures.into_iter().flatten().next() {
            Some(failure) => Err(failure),
            None => Ok(()),
        }
    }

    /// Replaces concatenated right-hand sides b by A⁻¹ b.
    pub fn solve_in_place(&self, vectors: &mut [f64]) {
        let task_len = (GROUPS_PER_TASK * LANES * self.layout.size).max(1);
        let tasks = vectors.par_chunks_mut(task_len).enumerate();
        tasks.for_each(|(task, vectors)| {
            self.solve_groups(task, vectors, |rows, vectors| {
                self.layout.scatter(rows, vectors);
            });
        });
    }

    /// Adds A⁻¹ b to x and sets b to zero.
    pub fn add_solution(&self, b: &mut [f64], x: &mut [f64]) {
        let layout = &self.layout;
        let task_len = (GROUPS_PER_TASK * LANES * layout.size).max(1);
        let tasks = b.par_chunks_mut(task_len).zip(x.par_chunks_mut(task_len));
        tasks.enumerate().for_each(|(task, (b, x))| {
            let mut groups = x.chunks_mut((LANES * layout.size).max(1));
            self.solve_groups(task, b, |rows, b| {
                b.fill(0.0);
                if let Some(x) = groups.next() {
                    layout.scatter_add(rows, x);
                }
            });
        });
    }

    /// Solves for the groups of a task, in order, and calls `found` with the solution and the
    /// right-hand sides of each group. The solution is empty if the right-hand sides are zero.
    fn solve_groups(
        &self,
        task: usize,
        vectors: &mut [f64],
        mut found: impl FnMut(&[Lanes], &mut [f64]),
    ) {
        let layout = &self.layout;
        let group_len = layout.entries();
        let factors =
            self.entries[task * GROUPS_PER_TASK * group_len..].chunks_exact(group_len.max(1));
        let mut rows = vec![Lanes::default(); layout.size];
        for (factor, vectors) in factors.zip(vectors.chunks_mut((LANES * layout.size).max(1))) {
            if vectors.iter().all(|entry| *entry == 0.0) {
                found(&[], vectors);
                continue;
            }
            layout.gather(vectors, &mut rows);
            dispatch(kernel::Solve {
                factor,
                bandwidth: layout.bandwidth,
                rows: &mut rows,
            });
            found(&rows, vectors);
        }
    }

    /// Concatenated diagonals of A⁻¹.
    #[must_use]
    pub fn inverse_diagonals(&self) -> Vec<f64> {
        let layout = &self.layout;
        let mut diagonals = vec![0.0; self.dofs()];
        let diagonals_len = (GROUPS_PER_TASK * LANES * layout.size).max(1);
        let factors_len = (GROUPS_PER_TASK * layout.entries()).max(1);
        let tasks = diagonals.par_chunks_mut(diagonals_len);
        let tasks = tasks.zip(self.entries.par_chunks(factors_len));
        tasks.for_each(|(diagonals, factors)| {
            let mut inverse = vec![Lanes::default(); layout.entries()];
            let groups = diagonals.chunks_mut(LANES * layout.size);
            for (factor, diagonals) in factors.chunks_exact(layout.entries()).zip(groups) {
                dispatch(kernel::Invert {
                    factor,
                    bandwidth: layout.bandwidth,
                    inverse: &mut inverse,
                });
                let rows = inverse.iter().step_by(layout.bandwidth + 1).copied();
                layout.scatter(&rows.collect::<Vec<Lanes>>(), diagonals);
            }
        });
        diagonals
    }
}

/// First lane of a factorized group with a pivot that is not positive and finite, and the unknown
/// of its first such pivot. The stored inverse root of a pivot is positive and finite exactly if
/// the pivot is, and NaN propagates to later rows only.
fn failure(layout: &BandedLayout, factor: &[Lanes]) -> Option<(usize, usize)> {
    let is_good = |inverse: f64| inverse > 0.0 && inverse < f64::INFINITY;
    let rows = factor.chunks_exact(layout.bandwidth + 1);
    let are_good = rows.map(|row| row[0].0.iter().all(|inverse| is_good(*inverse)));
    // Without an early exit: a branch per row costs more.
    if are_good.fold(true, |all, good| all & good) {
        return None;
    }
    (0..LANES).find_map(|lane| {
        let mut rows = factor.chunks_exact(layout.bandwidth + 1);
        let row = rows.position(|row| !is_good(row[0].0[lane]))?;
        let unknown = (0..layout.size).find(|unknown| layout.row(*unknown) == row)?;
        Some((lane, unknown))
    })
}
