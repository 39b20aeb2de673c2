//! Factorizations of a system body by body, and solves through couplings: exact where they can be eliminated, else by conjugate
//! gradients.

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use super::elimination::Elimination;
use super::{Matrix, System};
use crate::banded::BandedFactor;
use crate::block_sparse::BlockPattern;
use crate::cholesky::{Factor, FactorError, Symbolic, parts};

/// Where the residual of conjugate gradients ends, as a part of where it began: rounding lets it go no further.
const TOLERANCE: f64 = 1e-14;

/// Entries of vectors that one task works on.
const CHUNK: usize = 4096;

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
    pub(super) fn dofs(&self) -> usize {
        match self {
            BodyFactor::Blocks(factor) => factor.dofs(),
            BodyFactor::Rods(factor) => factor.dofs(),
        }
    }

    /// Of a batch of rods, only what changed; a function says whether any of a range of its unknowns did.
    fn factorize(
        &mut self,
        matrix: &Matrix,
        is_changed: impl Fn(Range<usize>) -> bool + Sync,
    ) -> Result<(), FactorError> {
        match (self, matrix) {
            (BodyFactor::Blocks(factor), Matrix::Blocks(matrix)) => factor.factorize(matrix),
            (BodyFactor::Rods(factor), Matrix::Rods(batch)) => {
                let size = batch.layout().size();
                factor.factorize_some(batch, is_changed).map_err(|error| {
                    FactorError::NotPositiveDefiniteRod {
                        rod: error.rod,
                        unknown: error.unknown % size,
                    }
                })
            }
            _ => unreachable!("a factor of another kind than its body"),
        }
    }

    /// Of sparse matrices, what was copied to single precision is read if `is_light`.
    fn solve_in_place(&self, rhs: &mut [f64], is_light: bool) {
        // A body on which nothing acts stays as it is.
        if rhs.iter().all(|entry| *entry == 0.0) {
            return;
        }
        match self {
            BodyFactor::Blocks(factor) if is_light => factor.solve_lightly(rhs),
            BodyFactor::Blocks(factor) => factor.solve_in_place(rhs),
            BodyFactor::Rods(factor) => factor.solve_in_place(rhs),
        }
    }

    /// Adds A⁻¹ b to x, and makes b zero.
    fn add_solution(&self, b: &mut [f64], x: &mut [f64], is_light: bool) {
        match self {
            BodyFactor::Rods(factor) => factor.add_solution(b, x),
            BodyFactor::Blocks(_) if b.iter().all(|entry| *entry == 0.0) => {}
            BodyFactor::Blocks(_) => {
                self.solve_in_place(b, is_light);
                move_to(b, x);
            }
        }
    }
}

/// Adds b to x, and makes b zero.
fn move_to(b: &mut [f64], x: &mut [f64]) {
    for (b, x) in b.iter_mut().zip(x) {
        *x += std::mem::take(b);
    }
}

/// Solves with the factors of some bodies, by index, in their parts of a vector.
pub(super) fn solve_bodies(
    factors: &[BodyFactor],
    rhs: &mut [f64],
    is_light: bool,
    is_chosen: impl Fn(usize) -> bool,
) {
    let parts = parts(rhs, factors.iter().map(BodyFactor::dofs));
    let pairs = factors.iter().zip(parts).enumerate();
    let chosen = pairs.filter(|(body, _)| is_chosen(*body));
    let work: Vec<_> = chosen.map(|(_, pair)| pair).collect();
    work.into_par_iter()
        .for_each(|(factor, part)| factor.solve_in_place(part, is_light));
}

/// The factors of all bodies of a system.
#[derive(Debug)]
pub struct SystemFactor {
    factors: Vec<BodyFactor>,
    pub(super) elimination: Elimination,
    /// Bodies whose own factors are not kept up, because the elimination has others in their place.
    is_left_out: Vec<bool>,
}

impl SystemFactor {
    /// From one factor per body, in their order. Bodies with the same pattern may share the
    /// symbolic part.
    pub fn new(factors: Vec<BodyFactor>) -> Self {
        Self {
            is_left_out: vec![false; factors.len()],
            elimination: Elimination::default(),
            factors,
        }
    }

    /// Number of bodies.
    pub(super) fn bodies(&self) -> usize {
        self.factors.len()
    }

    /// Room for the factors of a system; bodies with the same pattern share the symbolic part.
    ///
    /// # Errors
    /// If there is not enough memory.
    pub fn of(system: &System) -> Result<Self, SystemFactorError> {
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

    /// Factorizes all bodies, in parallel. The first body that fails is reported, whichever
    /// thread came upon a failure first; those that others are eliminated from come last.
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
        self.factorize_changed(system, |dofs| is_chosen(system.body_of(dofs.start)))
    }

    /// Factorizes what changed: bodies, and of batches of rods those rods. A function says whether any of a range of degrees of freedom
    /// did.
    ///
    /// # Errors
    /// As [`SystemFactor::factorize`].
    ///
    /// # Panics
    /// If the bodies are not those that the factors were made for.
    pub fn factorize_changed(
        &mut self,
        system: &System,
        is_changed: impl Fn(Range<usize>) -> bool + Sync,
    ) -> Result<(), SystemFactorError> {
        assert_eq!(self.factors.len(), system.bodies.len());
        self.elimination.pose(system, &self.factors);
        let bodies = 0..self.factors.len();
        let is_host: Vec<bool> = bodies.map(|body| self.elimination.is_host(body)).collect();
        let was_left_out = std::mem::replace(&mut self.is_left_out, is_host.clone());
        let factorized = self.factorize_bodies(system, |body, dofs| {
            (was_left_out[body] || is_changed(dofs)) && !is_host[body]
        });
        if factorized.is_err() {
            self.elimination.forget();
        }
        factorized?;
        let elimination = &mut self.elimination;
        let eliminated = elimination.factorize(system, &self.factors, |body| {
            is_changed(system.bodies[body].dofs())
        });
        if eliminated.is_none() {
            self.is_left_out.fill(false);
            self.factorize_bodies(system, |body, _| is_host[body])?;
        }
        Ok(())
    }

    fn factorize_bodies(
        &mut self,
        system: &System,
        is_changed: impl Fn(usize, Range<usize>) -> bool + Sync,
    ) -> Result<(), SystemFactorError> {
        let pairs = self.factors.par_iter_mut().zip(&system.bodies).enumerate();
        let results: Vec<_> = pairs
            .map(|(index, (factor, body))| {
                let first = body.offset;
                match is_changed(index, body.dofs()) {
                    true => factor.factorize(&body.matrix, |own| {
                        is_changed(index, first + own.start..first + own.end)
                    }),
                    false => Ok(()),
                }
            })
            .collect();
        let mut failures = results.into_iter().enumerate();
        failures.try_for_each(|(body, result)| {
            result.map_err(|source| SystemFactorError { body, source })
        })
    }

    /// Whether solves need no conjugate gradients: nothing is coupled, or all couplings are eliminated.
    pub(crate) fn is_exact(&self, system: &System) -> bool {
        system.couplings.is_empty() || self.elimination.is_done()
    }

    /// Replaces `rhs` by what the bodies' own matrices make of it, and the couplings that are eliminated: `A⁻¹ rhs` where there are no
    /// others.
    fn precondition(&self, rhs: &mut [f64], is_light: bool) {
        let (factors, elimination) = (&self.factors, &self.elimination);
        match elimination.is_done() {
            true => elimination.solve_in_place(factors, rhs, is_light),
            false => solve_bodies(factors, rhs, is_light, |_| true),
        }
    }

    /// Copies the factors of some bodies to single precision, for [`SystemFactor::solve_lightly`], and all whose copies
    /// are out of date.
    ///
    /// # Errors
    /// If memory runs out.
    pub fn lighten_some(
        &mut self,
        is_chosen: impl Fn(usize) -> bool,
    ) -> Result<(), SystemFactorError> {
        for (body, factor) in self.factors.iter_mut().enumerate() {
            if let BodyFactor::Blocks(factor) = factor
                && (is_chosen(body) || !factor.is_light())
                && !self.is_left_out[body]
            {
                let lightened = factor.lighten();
                lightened.map_err(|source| SystemFactorError { body, source })?;
            }
        }
        self.elimination.lighten()
    }

    /// Replaces `rhs` by about `A⁻¹ rhs` of a system where nothing is coupled but what is eliminated; see [`Factor::solve_lightly`].
    ///
    /// # Panics
    /// If `rhs` does not have the length of the factorized system.
    pub fn solve_lightly(&self, rhs: &mut [f64]) {
        self.precondition(rhs, true);
    }

    /// Adds `A⁻¹ b` to x where solves need no conjugate gradients, and makes b zero: what b does not act on is not looked at.
    ///
    /// # Panics
    /// If a vector does not have the length of the factorized system.
    pub(crate) fn add_solution(&self, b: &mut [f64], x: &mut [f64], is_light: bool) {
        if self.elimination.is_done() {
            self.elimination.solve_in_place(&self.factors, b, is_light);
            let parts = b.par_chunks_mut(CHUNK).zip(x.par_chunks_mut(CHUNK));
            return parts.for_each(|(b, x)| move_to(b, x));
        }
        let dofs = || self.factors.iter().map(BodyFactor::dofs);
        let work = self.factors.par_iter().zip(parts(b, dofs()));
        work.zip(parts(x, dofs()))
            .for_each(|((factor, b), x)| factor.add_solution(b, x, is_light));
    }

    /// The diagonal of the inverse of a body's own matrix, if it is a batch of rods.
    #[must_use]
    pub fn inverse_diagonal(&self, body: usize) -> Option<Vec<f64>> {
        match self.factors.get(body)? {
            BodyFactor::Blocks(_) => None,
            BodyFactor::Rods(factor) => Some(factor.inverse_diagonals()),
        }
    }

    /// Room for the factors of another system like the one that these are of; the symbolic parts are shared.
    ///
    /// # Errors
    /// If there is not enough memory.
    pub fn alike(&self) -> Result<Self, SystemFactorError> {
        let alike = |(body, factor): (usize, &BodyFactor)| match factor {
            BodyFactor::Blocks(factor) => Factor::new(factor.symbolic().clone())
                .map(BodyFactor::Blocks)
                .map_err(|source| SystemFactorError { body, source }),
            BodyFactor::Rods(factor) => Ok(BodyFactor::Rods(factor.clone())),
        };
        let factors = self.factors.iter().enumerate().map(alike);
        let factors = factors.collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            elimination: self.elimination.alike(),
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

    /// Moves `solution` towards `A⁻¹ rhs` until no entry is off by more than about `accuracy`; at once where nothing is coupled
    /// but what is eliminated (Daviet 2020, 6.2.5). `rhs` is used up. Says how many times it went through the factors.
    ///
    /// # Panics
    /// If a vector does not have the length of the factorized system.
    pub fn solve_towards(
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

    /// Preconditioned conjugate gradients from a solution and its residual, one vector after the other: sums do not depend on
    /// the threads. They end when the factors make nothing larger than `accuracy` of the residual, or rounding lets it go no further.
    fn conjugate_gradients(
        &self,
        system: &System,
        residual: &mut [f64],
        solution: &mut [f64],
        accuracy: f64,
    ) -> usize {
        // What is tied to nothing has its answer at once, and no part in the rest.
        let is_coupled = system.coupled_bodies();
        let mut preconditioned = residual.to_vec();
        self.precondition(&mut preconditioned, false);
        for (body, is_coupled) in system.bodies.iter().zip(is_coupled) {
            let dofs = body.offset..body.offset + body.matrix.dofs();
            if !is_coupled {
                let moved = solution[dofs.clone()].iter_mut();
                for (x, d) in moved.zip(&preconditioned[dofs.clone()]) {
                    *x += d;
                }
                residual[dofs.clone()].fill(0.0);
                preconditioned[dofs].fill(0.0);
            }
        }
        let mut direction = preconditioned.clone();
        let mut product = vec![0.0; residual.len()];
        let mut size = dot(residual, &preconditioned);
        let floor = TOLERANCE * TOLERANCE * size;
        for iteration in 1..=MOST_ITERATIONS {
            let is_accurate = preconditioned.iter().all(|entry| entry.abs() <= accuracy);
            if size.is_nan() || size <= floor || is_accurate {
                return iteration;
            }
            system.multiply(&direction, &mut product);
            let length = size / dot(&direction, &product);
            if !length.is_finite() {
                return iteration;
            }
            for (x, d) in solution.iter_mut().zip(&direction) {
                *x += length * d;
            }
            for (r, p) in residual.iter_mut().zip(&product) {
                *r -= length * p;
            }
            preconditioned.copy_from_slice(residual);
            self.precondition(&mut preconditioned, false);
            let next = dot(residual, &preconditioned);
            for (d, z) in direction.iter_mut().zip(&preconditioned) {
                *d = z + next / size * *d;
            }
            size = next;
        }
        MOST_ITERATIONS
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
