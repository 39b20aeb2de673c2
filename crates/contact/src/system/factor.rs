//! Factorization of a system body by body, and solves with couplings: exact if all couplings can be
//! eliminated, otherwise by conjugate gradients.

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use super::body_factor::{BodyFactor, SystemFactorError, move_to, solve_bodies};
use super::elimination::Elimination;
use super::{Matrix, System};
use crate::banded::BandedFactor;
use crate::block_sparse::BlockPattern;
use crate::cholesky::Factor;
use crate::conjugate_gradients::{CgProgress, ConjugateSystem, conjugate_gradients};

use crate::parallel::split_by_lengths;
use crate::symbolic::Symbolic;

/// Conjugate gradients stop at this reduction of the residual: rounding prevents a larger one.
const RELATIVE_RESIDUAL: f64 = 1e-14;

/// Entries of a vector per parallel task.
const CHUNK_SIZE: usize = 4096;

/// Iteration limit of conjugate gradients. Convergence is fast, because ties are few or much softer
/// than the bodies that they join.
const MAX_ITERATIONS: usize = 2000;

/// Factors of all bodies of a system.
#[derive(Debug)]
pub struct SystemFactor {
    factors: Vec<BodyFactor>,
    pub(super) elimination: Elimination,
    /// Bodies whose factors are out of date, because the elimination factorizes their Schur
    /// complements instead.
    is_replaced: Vec<bool>,
}

impl SystemFactor {
    /// Combines the factors of all bodies, in their order. Bodies with the same pattern may share
    /// the symbolic factorization.
    pub fn new(factors: Vec<BodyFactor>) -> Self {
        Self {
            is_replaced: vec![false; factors.len()],
            elimination: Elimination::default(),
            factors,
        }
    }

    /// Number of bodies.
    pub(super) fn bodies(&self) -> usize {
        self.factors.len()
    }

    /// Allocates the factors of a system. Bodies with the same pattern share the symbolic
    /// factorization.
    ///
    /// # Errors
    /// If there is not enough memory.
    pub fn for_system(system: &System) -> Result<Self, SystemFactorError> {
        let mut known: Vec<(*const BlockPattern, Arc<Symbolic>)> = Vec::new();
        let mut factor = |matrix: &Matrix| match matrix {
            Matrix::Blocks(matrix) => {
                let pattern = Arc::as_ptr(matrix.pattern());
                let found = known.iter().find(|(other, _)| *other == pattern);
                let symbolic = match found {
                    Some((_, symbolic)) => symbolic.clone(),
                    None => Arc::new(Symbolic::analyze(matrix.pattern())?),
                };
                if found.is_none() {
                    known.push((pattern, symbolic.clone()));
                }
                Factor::new(symbolic).map(BodyFactor::Blocks)
            }
            Matrix::Rods(batch) => Ok(BodyFactor::Rods(BandedFactor::new(
                batch.layout().clone(),
                batch.count(),
            ))),
        };
        let factors = system.bodies.iter().enumerate().map(|(body, part)| {
            factor(&part.matrix).map_err(|source| SystemFactorError { body, source })
        });
        factors.collect::<Result<_, _>>().map(Self::new)
    }

    /// Factorizes all bodies in parallel. Of several failures, that of the first body is returned,
    /// independent of the threads; hosts of an elimination come last.
    ///
    /// # Errors
    /// If a matrix is not finite or not positive definite.
    ///
    /// # Panics
    /// If the system has other bodies than the factors.
    pub fn factorize(&mut self, system: &System) -> Result<(), SystemFactorError> {
        self.factorize_bodies(system, |_| true)
    }

    /// Factorizes the chosen bodies.
    ///
    /// # Errors
    /// As [`SystemFactor::factorize`].
    ///
    /// # Panics
    /// If the system has other bodies than the factors.
    pub fn factorize_bodies(
        &mut self,
        system: &System,
        is_chosen: impl Fn(usize) -> bool + Sync,
    ) -> Result<(), SystemFactorError> {
        self.factorize_changed(system, |dofs| is_chosen(system.body_of(dofs.start)))
    }

    /// Factorizes the bodies, and the groups of rods, that have changed. `is_changed` says whether
    /// any degree of freedom of a range has.
    ///
    /// # Errors
    /// As [`SystemFactor::factorize`].
    ///
    /// # Panics
    /// If the system has other bodies than the factors.
    pub fn factorize_changed(
        &mut self,
        system: &System,
        is_changed: impl Fn(Range<usize>) -> bool + Sync,
    ) -> Result<(), SystemFactorError> {
        assert_eq!(self.factors.len(), system.bodies.len());
        self.elimination.update_plan(system, &self.factors);
        let bodies = 0..self.factors.len();
        let is_host: Vec<bool> = bodies.map(|body| self.elimination.is_host(body)).collect();
        let was_replaced = std::mem::replace(&mut self.is_replaced, is_host.clone());
        let factorized = self.factorize_each(system, |body, dofs| {
            (was_replaced[body] || is_changed(dofs)) && !is_host[body]
        });
        if factorized.is_err() {
            self.elimination.invalidate();
        }
        factorized?;
        let elimination = &mut self.elimination;
        let eliminated = elimination.factorize(system, &self.factors, |body| {
            is_changed(system.bodies[body].dofs())
        });
        if eliminated.is_none() {
            self.is_replaced.fill(false);
            self.factorize_each(system, |body, _| is_host[body])?;
        }
        Ok(())
    }

    fn factorize_each(
        &mut self,
        system: &System,
        is_changed: impl Fn(usize, Range<usize>) -> bool + Sync,
    ) -> Result<(), SystemFactorError> {
        let pairs = self.factors.par_iter_mut().zip(&system.bodies).enumerate();
        let results: Vec<_> = pairs
            .map(|(index, (factor, body))| {
                let first = body.offset;
                if is_changed(index, body.dofs()) {
                    factor.factorize(&body.matrix, |own| {
                        is_changed(index, first + own.start..first + own.end)
                    })
                } else {
                    Ok(())
                }
            })
            .collect();
        let mut failures = results.into_iter().enumerate();
        failures.try_for_each(|(body, result)| {
            result.map_err(|source| SystemFactorError { body, source })
        })
    }

    /// Whether solves are direct: there are no couplings, or all of them are eliminated.
    pub(crate) fn is_exact(&self, system: &System) -> bool {
        system.couplings.is_empty() || self.elimination.is_done()
    }

    /// Replaces `rhs` by P⁻¹ `rhs`, where P consists of the body matrices and the eliminated
    /// couplings. P = A if [`SystemFactor::is_exact`].
    fn precondition(&self, rhs: &mut [f64], single_precision: bool) {
        let (factors, elimination) = (&self.factors, &self.elimination);
        if elimination.is_done() {
            elimination.solve_in_place(factors, rhs, single_precision)
        } else {
            solve_bodies(factors, rhs, single_precision, |_| true)
        }
    }

    /// Copies the factors of the chosen bodies to single precision, and all whose copies are out of
    /// date, for [`SystemFactor::solve_single_precision`].
    ///
    /// # Errors
    /// If memory runs out.
    pub fn update_single_precision(
        &mut self,
        is_chosen: impl Fn(usize) -> bool,
    ) -> Result<(), SystemFactorError> {
        for (body, factor) in self.factors.iter_mut().enumerate() {
            if let BodyFactor::Blocks(factor) = factor
                && (is_chosen(body) || !factor.has_single_precision())
                && !self.is_replaced[body]
            {
                let copied = factor.copy_to_single_precision();
                copied.map_err(|source| SystemFactorError { body, source })?;
            }
        }
        self.elimination.copy_to_single_precision()
    }

    /// Replaces `rhs` by an approximation of `A⁻¹ rhs`, for a system without couplings that are
    /// not eliminated; see [`Factor::solve_single_precision`].
    ///
    /// # Panics
    /// If `rhs` does not have the length of the factorized system.
    pub fn solve_single_precision(&self, rhs: &mut [f64]) {
        self.precondition(rhs, true);
    }

    /// Adds `A⁻¹ b` to x and sets b to zero, if [`SystemFactor::is_exact`]. Bodies where b is zero
    /// are skipped.
    ///
    /// # Panics
    /// If a vector does not have the length of the factorized system.
    pub(crate) fn add_solution(&self, b: &mut [f64], x: &mut [f64], single_precision: bool) {
        if self.elimination.is_done() {
            self.elimination
                .solve_in_place(&self.factors, b, single_precision);
            let chunks = b.par_chunks_mut(CHUNK_SIZE);
            let chunks = chunks.zip(x.par_chunks_mut(CHUNK_SIZE));
            return chunks.for_each(|(b, x)| move_to(b, x));
        }
        let dofs = || self.factors.iter().map(BodyFactor::dofs);
        let work = self.factors.par_iter().zip(split_by_lengths(b, dofs()));
        work.zip(split_by_lengths(x, dofs()))
            .for_each(|((factor, b), x)| factor.add_solution(b, x, single_precision));
    }

    /// Diagonal of the inverse of the matrix of a body, if the body is a batch of rods.
    #[must_use]
    pub fn inverse_diagonal(&self, body: usize) -> Option<Vec<f64>> {
        match self.factors.get(body)? {
            BodyFactor::Blocks(_) => None,
            BodyFactor::Rods(factor) => Some(factor.inverse_diagonals()),
        }
    }

    /// Allocates factors for another system of the same structure. The symbolic factorizations are
    /// shared.
    ///
    /// # Errors
    /// If there is not enough memory.
    pub fn allocate_like(&self) -> Result<Self, SystemFactorError> {
        let allocate = |(body, factor): (usize, &BodyFactor)| match factor {
            BodyFactor::Blocks(factor) => Factor::new(factor.symbolic().clone())
                .map(BodyFactor::Blocks)
                .map_err(|source| SystemFactorError { body, source }),
            BodyFactor::Rods(factor) => Ok(BodyFactor::Rods(factor.clone())),
        };
        let factors = self.factors.iter().enumerate().map(allocate);
        let factors = factors.collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            elimination: self.elimination.allocate_like(),
            ..Self::new(factors)
        })
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
        if self.is_exact(system) {
            return self.precondition(rhs, false);
        }
        let mut solution = vec![0.0; rhs.len()];
        self.conjugate_gradients(system, rhs, &mut solution, 0.0);
        rhs.copy_from_slice(&solution);
    }

    /// Improves `solution` until the estimated error of every entry of `A⁻¹ rhs` is at most
    /// `accuracy` (Daviet 2020, 6.2.5). A single solve if all couplings are eliminated. Overwrites
    /// `rhs` and returns the number of solves with the factors.
    ///
    /// # Panics
    /// If a vector does not have the length of the factorized system.
    pub fn improve_solution(
        &self,
        system: &System,
        rhs: &mut [f64],
        solution: &mut [f64],
        accuracy: f64,
    ) -> usize {
        if self.is_exact(system) {
            self.precondition(rhs, false);
            solution.copy_from_slice(rhs);
            return 1;
        }
        let mut product = vec![0.0; rhs.len()];
        system.multiply(solution, &mut product);
        for (rhs, product) in rhs.iter_mut().zip(&product) {
            *rhs -= product;
        }
        self.conjugate_gradients(system, rhs, solution, accuracy)
    }

    /// Preconditioned conjugate gradients from a solution and its residual. Stops when no entry of
    /// the preconditioned residual exceeds `accuracy`, or rounding prevents further progress.
    /// Returns the number of solves with the factors.
    fn conjugate_gradients(
        &self,
        system: &System,
        residual: &mut [f64],
        solution: &mut [f64],
        accuracy: f64,
    ) -> usize {
        // The preconditioner solves uncoupled bodies exactly; they leave the iteration here.
        let is_coupled = system.coupled_bodies();
        let mut preconditioned = residual.to_vec();
        self.precondition(&mut preconditioned, false);
        for (body, is_coupled) in system.bodies.iter().zip(is_coupled) {
            let dofs = body.dofs();
            if !is_coupled {
                let corrected = solution[dofs.clone()].iter_mut();
                for (x, d) in corrected.zip(&preconditioned[dofs.clone()]) {
                    *x += d;
                }
                residual[dofs.clone()].fill(0.0);
                preconditioned[dofs].fill(0.0);
            }
        }
        let mut coupled = CoupledSystem {
            system,
            factor: self,
            accuracy,
        };
        let limit = MAX_ITERATIONS;
        let effort = conjugate_gradients(&mut coupled, solution, residual, preconditioned, limit);
        (effort.steps + 1).min(limit)
    }
}

/// System with couplings, preconditioned by the factors of its bodies.
struct CoupledSystem<'a> {
    system: &'a System,
    factor: &'a SystemFactor,
    accuracy: f64,
}

impl ConjugateSystem for CoupledSystem<'_> {
    fn multiply(&self, x: &[f64], y: &mut [f64]) {
        self.system.multiply(x, y);
    }

    fn precondition(&self, residual: &mut [f64]) {
        self.factor.precondition(residual, false);
    }

    fn test_convergence(&mut self, progress: &CgProgress<'_>) -> bool {
        let floor = RELATIVE_RESIDUAL * RELATIVE_RESIDUAL * progress.initial_size;
        let is_small = |entry: &f64| entry.abs() <= self.accuracy;
        progress.size.is_nan()
            || progress.size <= floor
            || progress.preconditioned.iter().all(is_small)
    }
}
