//! Elastic energies and wind, and their assembly into a linear system.
//!
//! Each module is one formula: parameters as arrays over elements, then value, gradient and Hessian
//! of one element.

pub mod affine;
pub mod assemble;
pub mod hinge;
pub mod isotropic;
pub mod membrane;
pub mod plate;
pub mod principal;
pub mod rod;
pub mod solid;
pub mod spring;
pub mod term;
pub mod wind;

#[cfg(test)]
pub(crate) mod check;

use glam::{DMat3, DVec3};
use rayon::prelude::*;

/// Second derivative of an element: block `[i][j]` is ∂²/∂xᵢ∂xⱼ.
pub type Blocks<const K: usize> = [[DMat3; K]; K];

/// Chunk size of parallel work. It is fixed: sums have the same bits for any number of threads.
pub(crate) const CHUNK: usize = 256;

/// Which second derivative a linearisation uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Curvature {
    /// The positive semidefinite approximation: A is positive definite anywhere.
    #[default]
    Projected,
    /// The exact second derivative: Newton's method converges quadratically where A is positive
    /// definite.
    Exact,
}

/// A sum over elements, each a function of the positions of `K` nodes.
pub trait Energy<const K: usize>: Sync {
    /// Nodes of each element, distinct within an element.
    fn stencils(&self) -> &[[u32; K]];

    /// Energy of one element (J).
    fn value(&self, element: usize, x: &[DVec3; K]) -> f64;

    /// Derivative by the positions (N): minus the force on each node.
    fn gradient(&self, element: usize, x: &[DVec3; K]) -> [DVec3; K];

    /// Exact second derivative (N/m).
    fn hessian(&self, element: usize, x: &[DVec3; K]) -> Blocks<K>;

    /// Positive semidefinite approximation of the second derivative, for linear solves (N/m).
    fn projected_hessian(&self, element: usize, x: &[DVec3; K]) -> Blocks<K>;

    /// Value, gradient and projected Hessian. Energies override it where they share work.
    fn linearize(&self, element: usize, x: &[DVec3; K]) -> (f64, [DVec3; K], Blocks<K>) {
        (
            self.value(element, x),
            self.gradient(element, x),
            self.projected_hessian(element, x),
        )
    }

    /// Value, gradient and exact Hessian.
    fn expand(&self, element: usize, x: &[DVec3; K]) -> (f64, [DVec3; K], Blocks<K>) {
        (
            self.value(element, x),
            self.gradient(element, x),
            self.hessian(element, x),
        )
    }
}

/// Energy of all elements (J), with the same bits for any number of threads.
pub fn total_value<const K: usize>(energy: &impl Energy<K>, positions: &[DVec3]) -> f64 {
    let stencils = energy.stencils();
    sum_in_chunks(stencils.len(), |element| {
        energy.value(element, &at_nodes(&stencils[element], positions))
    })
}

/// Values of an array at the nodes of one element.
pub(crate) fn at_nodes<const K: usize>(stencil: &[u32; K], values: &[DVec3]) -> [DVec3; K] {
    stencil.map(|node| values[node as usize])
}

/// Σ term(i) for i < count. Chunks are summed in parallel, then their sums in order.
pub(crate) fn sum_in_chunks(count: usize, term: impl Fn(usize) -> f64 + Sync) -> f64 {
    let sum_of_chunk = |chunk: usize| {
        let first = chunk * CHUNK;
        (first..count.min(first + CHUNK)).map(&term).sum()
    };
    let partial: Vec<f64> = (0..count.div_ceil(CHUNK))
        .into_par_iter()
        .map(sum_of_chunk)
        .collect();
    partial.iter().sum()
}
