//! The system A + W of the velocity update: factorized once for many iterations, and solved in
//! single precision where that is accurate enough.

use std::ops::Range;

use super::WeightedNodes;
use super::tuning::TUNING;
use crate::problem::{NodalProblem, nan_max};
use crate::solve::SolveError;
use crate::system::{Matrix, System, SystemBody, SystemFactor};

/// A + W and its factors.
#[derive(Debug)]
pub(super) struct WeightedSystem {
    system: System,
    factor: SystemFactor,
    /// Whether single precision is accurate enough; `None` until it was tried.
    uses_single_precision: Option<bool>,
}

impl WeightedSystem {
    /// A copy of A, with memory for its factors.
    pub(super) fn new(problem: &NodalProblem, factor: &SystemFactor) -> Result<Self, SolveError> {
        Ok(Self {
            system: problem.system.clone(),
            factor: factor.allocate_like()?,
            uses_single_precision: None,
        })
    }

    /// Whether the system of a problem has the same structure, so that the memory can be used.
    pub(super) fn fits(&self, problem: &NodalProblem) -> bool {
        self.system.has_same_structure(&problem.system)
    }

    /// Computes and factorizes A + W in the ranges of degrees of freedom that changed.
    pub(super) fn update(
        &mut self,
        problem: &NodalProblem,
        nodes: &WeightedNodes,
        is_changed: impl Fn(Range<usize>) -> bool + Sync,
    ) -> Result<(), SolveError> {
        self.system
            .copy_with_weights(&problem.system, nodes.by_offset(), &is_changed);
        self.factor.factorize_changed(&self.system, &is_changed)?;
        if self.supports_single_precision() {
            let bodies = &self.system.bodies;
            self.factor
                .update_single_precision(|body| is_changed(bodies[body].dofs()))?;
        }
        self.uses_single_precision = None;
        Ok(())
    }

    /// Whether solves are direct, so that solutions for changes of the right-hand side can be
    /// summed.
    pub(super) fn is_exact(&self) -> bool {
        self.factor.is_exact(&self.system)
    }

    /// Adds (A + W)⁻¹ `change` to `velocities`, and sets `change` to zero. In single precision if
    /// that is accurate enough.
    pub(super) fn add_solution(&self, change: &mut [f64], velocities: &mut [f64]) {
        let is_single = self.uses_single_precision == Some(true);
        self.factor.add_solution(change, velocities, is_single);
    }

    /// Whether single precision is worth a copy of the factor. Rods are excluded: beside their
    /// stretching stiffness, single precision would lose their bending stiffness.
    fn supports_single_precision(&self) -> bool {
        let sparse = |body: &SystemBody| match &body.matrix {
            Matrix::Blocks(_) => body.matrix.dofs(),
            Matrix::Rods(_) => 0,
        };
        let dofs: usize = self.system.bodies.iter().map(sparse).sum();
        dofs >= TUNING.single_precision_min_unknowns && self.factor.is_exact(&self.system)
    }

    /// Sets `velocities` to (A + W)⁻¹ rhs; `rhs` is overwritten. Couplings between bodies are
    /// solved iteratively, to about `accuracy` (m/s). Single precision is tried, and used from now
    /// on if its error is at most `single_precision` (m/s). Returns the number of solves with the
    /// factors.
    pub(super) fn solve(
        &mut self,
        rhs: &mut [f64],
        velocities: &mut [f64],
        accuracy: f64,
        single_precision: f64,
    ) -> usize {
        let is_tried = self.supports_single_precision() && self.uses_single_precision.is_none();
        let single = is_tried.then(|| {
            let mut single = rhs.to_vec();
            self.factor.solve_single_precision(&mut single);
            single
        });
        let solves = self
            .factor
            .improve_solution(&self.system, rhs, velocities, accuracy);
        let Some(single) = single else {
            return solves;
        };
        let errors = single.iter().zip(&*velocities).map(|(s, v)| (s - v).abs());
        self.uses_single_precision = Some(errors.fold(0.0, nan_max) <= single_precision);
        solves + 1
    }
}

/// Offsets of the nodes whose weight changed, appeared or disappeared, ascending. A new contact
/// with a heavier node changes a weight too.
pub(super) fn changed_offsets(
    problem: &NodalProblem,
    before: &WeightedNodes,
    after: &WeightedNodes,
) -> Vec<usize> {
    let new = after.nodes.iter();
    let new = new.filter(|node| before.weight(**node) != after.weight(**node));
    let removed = before
        .nodes
        .iter()
        .filter(|node| after.find(**node).is_none());
    let offset = |node: &u32| problem.system.node_offset[*node as usize];
    let mut offsets: Vec<usize> = new.chain(removed).map(offset).collect();
    offsets.sort_unstable();
    offsets
}

/// Whether any of the numbers, which are ascending, is in a range.
pub(super) fn any_within(numbers: &[usize], range: &Range<usize>) -> bool {
    let first = numbers.partition_point(|number| *number < range.start);
    numbers.get(first).is_some_and(|number| *number < range.end)
}
