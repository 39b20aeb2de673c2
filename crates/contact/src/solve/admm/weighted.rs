//! The matrix of ADMM's first half, A + W: factorized once for many iterations, and read in single precision where that is good enough.

use std::ops::Range;

use super::WeightedNodes;
use crate::problem::{NodalProblem, larger};
use crate::solve::SolveError;
use crate::system::{Body, Matrix, System, SystemFactor};

/// Unknowns of sparse bodies from which on solves are bound by memory. Rods have no copies in single precision: that would leave nothing of how softly
/// they bend beside how hard they are to stretch.
const LARGE: usize = 3000;

/// A + W and its factors.
#[derive(Debug)]
pub(super) struct Weighted {
    system: System,
    factor: SystemFactor,
    /// Whether single precision is good enough; unknown until it was tried.
    is_light: Option<bool>,
}

impl Weighted {
    pub(super) fn new(problem: &NodalProblem, factor: &SystemFactor) -> Result<Self, SolveError> {
        Ok(Self {
            system: problem.system.clone(),
            factor: factor.alike()?,
            is_light: None,
        })
    }

    /// Whether its factors have room for those of a problem.
    pub(super) fn is_of(&self, problem: &NodalProblem) -> bool {
        self.system.is_like(&problem.system)
    }

    /// Becomes A + W where any of a range of degrees of freedom changed, as a function says, and factorizes that.
    pub(super) fn weigh(
        &mut self,
        problem: &NodalProblem,
        nodes: &WeightedNodes,
        is_changed: impl Fn(Range<usize>) -> bool + Sync,
    ) -> Result<(), SolveError> {
        self.system
            .weigh(&problem.system, nodes.by_offset(), &is_changed);
        self.factor.factorize_changed(&self.system, &is_changed)?;
        if self.has_light() {
            let bodies = &self.system.bodies;
            self.factor
                .lighten_some(|body| is_changed(bodies[body].dofs()))?;
        }
        self.is_light = None;
        Ok(())
    }

    /// Whether a solve is exact, so that what it gives can be added up.
    pub(super) fn is_exact(&self) -> bool {
        self.factor.is_exact(&self.system)
    }

    /// Adds (A + W)⁻¹ `change` to `velocities`, and makes it zero; in single precision where that proved to be good enough.
    pub(super) fn add_solution(&self, change: &mut [f64], velocities: &mut [f64]) {
        let is_light = self.is_light == Some(true);
        self.factor.add_solution(change, velocities, is_light);
    }

    /// Whether solves are bound by reading the factor, so that half of it is worth a copy.
    fn has_light(&self) -> bool {
        let sparse = |body: &Body| match &body.matrix {
            Matrix::Blocks(_) => body.matrix.dofs(),
            Matrix::Rods(_) => 0,
        };
        let dofs: usize = self.system.bodies.iter().map(sparse).sum();
        dofs >= LARGE && self.factor.is_exact(&self.system)
    }

    /// Moves `velocities` to (A + W)⁻¹ rhs, which is used up: to about `accuracy` through couplings. Finds out whether single precision is
    /// off by no more than `enough`. How many times it went through the factors.
    pub(super) fn solve(
        &mut self,
        rhs: &mut [f64],
        velocities: &mut [f64],
        [accuracy, enough]: [f64; 2],
    ) -> usize {
        let is_tried = self.has_light() && self.is_light.is_none();
        let light = is_tried.then(|| {
            let mut light = rhs.to_vec();
            self.factor.solve_lightly(&mut light);
            light
        });
        let products = self
            .factor
            .solve_towards(&self.system, rhs, velocities, accuracy);
        let Some(light) = light else {
            return products;
        };
        let apart = light.iter().zip(&*velocities).map(|(l, v)| (l - v).abs());
        self.is_light = Some(apart.fold(0.0, larger) <= enough);
        products + 1
    }
}

/// Where nodes start that have another weight than before, or got or lost one, ascending: a node that comes to touch a heavier one weighs
/// more, too.
pub(super) fn changed_offsets(
    problem: &NodalProblem,
    before: &WeightedNodes,
    after: &WeightedNodes,
) -> Vec<usize> {
    let new = after.nodes.iter();
    let new = new.filter(|node| before.weight(**node) != after.weight(**node));
    let gone = before
        .nodes
        .iter()
        .filter(|node| after.find(**node).is_none());
    let offset = |node: &u32| problem.system.node_offset[*node as usize];
    let mut offsets: Vec<usize> = new.chain(gone).map(offset).collect();
    offsets.sort_unstable();
    offsets
}

/// Whether any of some numbers, ascending, is in a range.
pub(super) fn any_within(numbers: &[usize], range: &Range<usize>) -> bool {
    let place = numbers.partition_point(|number| *number < range.start);
    numbers.get(place).is_some_and(|number| *number < range.end)
}
