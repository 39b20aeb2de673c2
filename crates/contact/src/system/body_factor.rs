//! Factors of single bodies.

use std::ops::Range;

use rayon::prelude::*;

use super::Matrix;
use crate::banded::BandedFactor;
use crate::cholesky::Factor;
use crate::factor_error::FactorError;
use crate::parallel::split_by_lengths;

/// Failure to factorize the matrix of a body.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("body {body}: {source}")]
pub struct SystemFactorError {
    /// Index of the body.
    pub body: usize,
    /// Reason of the failure.
    pub source: FactorError,
}

/// Factor of the matrix of a body.
#[derive(Debug)]
pub enum BodyFactor {
    /// Sparse Cholesky factor.
    Blocks(Factor),
    /// Banded factors of a batch of rods.
    Rods(BandedFactor),
}

impl BodyFactor {
    /// Number of degrees of freedom.
    pub(super) fn dofs(&self) -> usize {
        match self {
            BodyFactor::Blocks(factor) => factor.dofs(),
            BodyFactor::Rods(factor) => factor.dofs(),
        }
    }

    /// Factorizes a matrix. In a batch of rods, only groups whose unknowns have changed are
    /// factorized.
    pub(super) fn factorize(
        &mut self,
        matrix: &Matrix,
        is_changed: impl Fn(Range<usize>) -> bool + Sync,
    ) -> Result<(), FactorError> {
        match (self, matrix) {
            (BodyFactor::Blocks(factor), Matrix::Blocks(matrix)) => factor.factorize(matrix),
            (BodyFactor::Rods(factor), Matrix::Rods(batch)) => {
                let size = batch.layout().size();
                let factorized = factor.factorize_changed(batch, is_changed);
                factorized.map_err(|error| FactorError::NotPositiveDefiniteRod {
                    rod: error.rod,
                    unknown: error.unknown % size,
                })
            }
            _ => unreachable!("a factor of another kind than the matrix of its body"),
        }
    }

    /// Replaces `rhs` by A⁻¹ `rhs`, with the single-precision copy of a sparse factor if
    /// `single_precision`.
    fn solve_in_place(&self, rhs: &mut [f64], single_precision: bool) {
        // The solution of a zero right-hand side is zero.
        if rhs.iter().all(|entry| *entry == 0.0) {
            return;
        }
        match self {
            BodyFactor::Blocks(factor) if single_precision => factor.solve_single_precision(rhs),
            BodyFactor::Blocks(factor) => factor.solve_in_place(rhs),
            BodyFactor::Rods(factor) => factor.solve_in_place(rhs),
        }
    }

    /// Adds A⁻¹ b to x and sets b to zero.
    pub(super) fn add_solution(&self, b: &mut [f64], x: &mut [f64], single_precision: bool) {
        match self {
            BodyFactor::Rods(factor) => factor.add_solution(b, x),
            BodyFactor::Blocks(_) if b.iter().all(|entry| *entry == 0.0) => {}
            BodyFactor::Blocks(_) => {
                self.solve_in_place(b, single_precision);
                move_to(b, x);
            }
        }
    }
}

/// Adds b to x and sets b to zero.
pub(super) fn move_to(b: &mut [f64], x: &mut [f64]) {
    for (b, x) in b.iter_mut().zip(x) {
        *x += std::mem::take(b);
    }
}

/// Solves with the factors of the chosen bodies, each in its part of a vector.
pub(super) fn solve_bodies(
    factors: &[BodyFactor],
    rhs: &mut [f64],
    single_precision: bool,
    is_chosen: impl Fn(usize) -> bool,
) {
    let right_hand_sides = split_by_lengths(rhs, factors.iter().map(BodyFactor::dofs));
    let pairs = factors.iter().zip(right_hand_sides).enumerate();
    let chosen = pairs.filter(|(body, _)| is_chosen(*body));
    let work: Vec<_> = chosen.map(|(_, pair)| pair).collect();
    work.into_par_iter()
        .for_each(|(factor, part)| factor.solve_in_place(part, single_precision));
}
