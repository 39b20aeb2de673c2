//! `A v = f`, by bodies.
//!
//! Bodies have no entries in common, so products and factorizations go body by body, in parallel.
//! Contacts address velocities through [`System::node_offset`] only: what lies between the nodes
//! of a body (twists of rods) is the body's own business.

use rayon::prelude::*;

use crate::block_sparse::BlockSparse;
use crate::cholesky::{Factor, FactorError, parts};

/// The matrix of the system. All vectors are flat `f64`.
#[derive(Clone, Debug, Default)]
pub struct System {
    /// Where the three velocity components of node j start.
    pub node_offset: Vec<usize>,
    /// The diagonal blocks, by ascending offset and without holes between them.
    pub bodies: Vec<Body>,
}

/// A part of the system that is not coupled with others.
#[derive(Clone, Debug)]
pub struct Body {
    /// Its first degree of freedom.
    pub offset: usize,
    /// Its matrix.
    pub matrix: BlockSparse,
}

impl Body {
    /// Number of degrees of freedom.
    pub fn dofs(&self) -> usize {
        3 * self.matrix.pattern().nodes()
    }
}

impl System {
    /// The system of some bodies, one after the other.
    pub fn new(matrices: impl IntoIterator<Item = BlockSparse>) -> Self {
        let mut system = Self::default();
        let mut offset = 0;
        for matrix in matrices {
            let nodes = matrix.pattern().nodes();
            system
                .node_offset
                .extend((0..nodes).map(|j| offset + 3 * j));
            system.bodies.push(Body { offset, matrix });
            offset += 3 * nodes;
        }
        system
    }

    /// Number of degrees of freedom.
    pub fn dofs(&self) -> usize {
        self.bodies.last().map_or(0, |b| b.offset + b.dofs())
    }

    /// `y = A x`.
    ///
    /// # Panics
    /// If a vector has another length than [`System::dofs`].
    pub fn multiply(&self, x: &[f64], y: &mut [f64]) {
        assert!(x.len() == self.dofs() && y.len() == self.dofs());
        let parts = parts(y, self.bodies.iter().map(Body::dofs));
        let work: Vec<_> = self.bodies.iter().zip(parts).collect();
        work.into_par_iter().for_each(|(body, y)| {
            body.matrix
                .multiply(&x[body.offset..body.offset + body.dofs()], y);
        });
    }
}

/// A factorization that failed, and in which body.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("body {body}: {source}")]
pub struct SystemFactorError {
    /// Index of the body.
    pub body: usize,
    /// What is wrong with its matrix.
    pub source: FactorError,
}

/// The factors of all bodies of a system.
#[derive(Debug)]
pub struct SystemFactor {
    factors: Vec<Factor>,
}

impl SystemFactor {
    /// From one factor per body, in their order. Bodies with the same pattern may share the
    /// symbolic part.
    pub fn new(factors: Vec<Factor>) -> Self {
        Self { factors }
    }

    /// The factors, one per body.
    pub fn factors(&self) -> &[Factor] {
        &self.factors
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
        assert_eq!(self.factors.len(), system.bodies.len());
        let pairs = self.factors.par_iter_mut().zip(&system.bodies);
        let results: Vec<_> = pairs.map(|(f, b)| f.factorize(&b.matrix)).collect();
        let mut failures = results.into_iter().enumerate();
        failures.try_for_each(|(body, result)| {
            result.map_err(|source| SystemFactorError { body, source })
        })
    }

    /// Replaces `rhs` by `A⁻¹ rhs`.
    ///
    /// # Panics
    /// If `rhs` does not have the length of the factorized system.
    pub fn solve_in_place(&self, rhs: &mut [f64]) {
        assert_eq!(rhs.len(), self.factors.iter().map(Factor::dofs).sum());
        let parts = parts(rhs, self.factors.iter().map(Factor::dofs));
        let work: Vec<_> = self.factors.iter().zip(parts).collect();
        work.into_par_iter()
            .for_each(|(factor, part)| factor.solve_in_place(part));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block_sparse::tests::random;
    use crate::symbolic::Symbolic;
    use std::sync::Arc;

    fn factors(system: &System) -> SystemFactor {
        let factor = |body: &Body| {
            let symbolic = Symbolic::analyze(body.matrix.pattern()).unwrap();
            Factor::new(Arc::new(symbolic)).unwrap()
        };
        SystemFactor::new(system.bodies.iter().map(factor).collect())
    }

    #[test]
    fn solves_all_bodies() {
        let sizes = [3, 1, 40, 7];
        let bodies = sizes.map(|n| random(n, &[(0, 1), (2, 5), (1, 2), (30, 3)], n as u64));
        let system = System::new(bodies);
        assert_eq!(system.dofs(), 3 * 51);
        assert_eq!(system.node_offset[4], 12);
        let mut factor = factors(&system);
        factor.factorize(&system).unwrap();
        let x: Vec<f64> = (0..system.dofs()).map(|i| (i as f64).sin()).collect();
        let mut y = vec![0.0; x.len()];
        system.multiply(&x, &mut y);
        factor.solve_in_place(&mut y);
        assert!(x.iter().zip(&y).all(|(a, b)| (a - b).abs() < 1e-12));
    }

    #[test]
    fn names_the_body_that_fails() {
        let mut system = System::new([5, 6, 7].map(|n| random(n, &[(0, 3)], 1)));
        let mut factor = factors(&system);
        for body in [2, 1] {
            system.bodies[body]
                .matrix
                .isolate(&vec![true; 5 + body], -1.0);
            let error = factor.factorize(&system).unwrap_err();
            assert_eq!(error.body, body);
        }
    }
}
