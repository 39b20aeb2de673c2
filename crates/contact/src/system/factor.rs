//! Factorizations of a system body by body, and solves through couplings.

use rayon::prelude::*;

use super::{Matrix, System};
use crate::banded::BandedFactor;
use crate::cholesky::{Factor, FactorError, parts};

/// Where the residual of conjugate gradients ends, as a part of where it began: rounding lets it go no further.
const TOLERANCE: f64 = 1e-14;

/// More iterations than this are worth nothing: ties are few, or springs much softer than what they tie.
const MOST_ITERATIONS: usize = 2000;

/// A factorization that failed, and in which body.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("body {body}: {source}")]
pub struct SystemFactorError {
    /// Index of the body.
    pub body: usize,
    /// What is wrong with its matrix.
    pub source: FactorError,
}

/// The factor of a body.
#[derive(Debug)]
pub enum BodyFactor {
    /// Of a sparse matrix.
    Blocks(Factor),
    /// Of a batch of rods.
    Rods(BandedFactor),
}

impl BodyFactor {
    fn dofs(&self) -> usize {
        match self {
            BodyFactor::Blocks(factor) => factor.dofs(),
            BodyFactor::Rods(factor) => factor.dofs(),
        }
    }

    fn factorize(&mut self, matrix: &Matrix) -> Result<(), FactorError> {
        match (self, matrix) {
            (BodyFactor::Blocks(factor), Matrix::Blocks(matrix)) => factor.factorize(matrix),
            (BodyFactor::Rods(factor), Matrix::Rods(batch)) => {
                let size = batch.layout().size();
                factor
                    .factorize(batch)
                    .map_err(|error| FactorError::NotPositiveDefiniteRod {
                        rod: error.rod,
                        unknown: error.unknown % size,
                    })
            }
            _ => unreachable!("a factor of another kind than its body"),
        }
    }

    fn solve_in_place(&self, rhs: &mut [f64]) {
        // A body on which nothing acts stays as it is.
        if rhs.iter().all(|entry| *entry == 0.0) {
            return;
        }
        match self {
            BodyFactor::Blocks(factor) => factor.solve_in_place(rhs),
            BodyFactor::Rods(factor) => factor.solve_in_place(rhs),
        }
    }
}

/// The factors of all bodies of a system.
#[derive(Debug)]
pub struct SystemFactor {
    factors: Vec<BodyFactor>,
}

impl SystemFactor {
    /// From one factor per body, in their order. Bodies with the same pattern may share the
    /// symbolic part.
    pub fn new(factors: Vec<BodyFactor>) -> Self {
        Self { factors }
    }

    /// Factorizes all bodies, in parallel. The first body that fails is reported, whichever
    /// thread came upon a failure first.
    ///
    /// # Errors
    /// If a matrix is not finite or not positive definite.
    ///
    /// # Panics
    /// If the bodies are not those that the factors were made for.
    pub fn factorize(&mut self, system: &System) -> Result<(), SystemFactorError> {
        self.factorize_some(system, |_| true)
    }

    /// Factorizes some bodies, by index.
    ///
    /// # Errors
    /// As [`SystemFactor::factorize`].
    ///
    /// # Panics
    /// If the bodies are not those that the factors were made for.
    pub fn factorize_some(
        &mut self,
        system: &System,
        is_chosen: impl Fn(usize) -> bool + Sync,
    ) -> Result<(), SystemFactorError> {
        assert_eq!(self.factors.len(), system.bodies.len());
        let pairs = self.factors.par_iter_mut().zip(&system.bodies).enumerate();
        let results: Vec<_> = pairs
            .map(|(index, (factor, body))| match is_chosen(index) {
                true => factor.factorize(&body.matrix),
                false => Ok(()),
            })
            .collect();
        let mut failures = results.into_iter().enumerate();
        failures.try_for_each(|(body, result)| {
            result.map_err(|source| SystemFactorError { body, source })
        })
    }

    /// Replaces `rhs` by what the bodies' own matrices make of it: `A⁻¹ rhs` where nothing is coupled.
    fn precondition(&self, rhs: &mut [f64]) {
        let parts = parts(rhs, self.factors.iter().map(BodyFactor::dofs));
        let work: Vec<_> = self.factors.iter().zip(parts).collect();
        work.into_par_iter()
            .for_each(|(factor, part)| factor.solve_in_place(part));
    }

    /// Replaces `rhs` by `A⁻¹ rhs` for the system that was factorized.
    ///
    /// # Panics
    /// If `rhs` does not have the length of the factorized system.
    pub fn solve_in_place(&self, system: &System, rhs: &mut [f64]) {
        assert_eq!(
            rhs.len(),
            self.factors.iter().map(BodyFactor::dofs).sum::<usize>()
        );
        if system.couplings.is_empty() {
            return self.precondition(rhs);
        }
        self.conjugate_gradients(system, rhs);
    }

    /// Preconditioned conjugate gradients, one vector after the other: sums do not depend on the threads.
    fn conjugate_gradients(&self, system: &System, rhs: &mut [f64]) {
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let mut residual = rhs.to_vec();
        // What is tied to nothing has its answer at once, and no part in the rest.
        let is_coupled = system.coupled_bodies();
        for (body, _) in system
            .bodies
            .iter()
            .zip(&is_coupled)
            .filter(|(_, is)| !**is)
        {
            residual[body.offset..body.offset + body.matrix.dofs()].fill(0.0);
        }
        for (body, _) in system.bodies.iter().zip(&is_coupled).filter(|(_, is)| **is) {
            rhs[body.offset..body.offset + body.matrix.dofs()].fill(0.0);
        }
        self.precondition(rhs);
        let solution = rhs;
        let mut preconditioned = residual.clone();
        self.precondition(&mut preconditioned);
        let mut direction = preconditioned.clone();
        let mut product = vec![0.0; residual.len()];
        let mut size = dot(&residual, &preconditioned);
        let enough = TOLERANCE * TOLERANCE * size;
        for _ in 0..MOST_ITERATIONS {
            if size.is_nan() || size <= enough {
                return;
            }
            system.multiply(&direction, &mut product);
            let length = size / dot(&direction, &product);
            for (x, d) in solution.iter_mut().zip(&direction) {
                *x += length * d;
            }
            for (r, p) in residual.iter_mut().zip(&product) {
                *r -= length * p;
            }
            preconditioned.copy_from_slice(&residual);
            self.precondition(&mut preconditioned);
            let next = dot(&residual, &preconditioned);
            for (d, z) in direction.iter_mut().zip(&preconditioned) {
                *d = z + next / size * *d;
            }
            size = next;
        }
    }
}
