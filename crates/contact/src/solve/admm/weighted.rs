//! The matrix of ADMM's first half, A + W: factorized once for many iterations, and read in single precision where that is good enough.

use super::WeightedNodes;
use crate::problem::{NodalProblem, larger};
use crate::solve::SolveError;
use crate::system::{System, SystemFactor};

/// Unknowns from which on solves are bound by memory.
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

    /// Becomes A + W, and factorizes the bodies that changed.
    pub(super) fn weigh(
        &mut self,
        problem: &NodalProblem,
        nodes: &WeightedNodes,
        is_changed: impl Fn(usize) -> bool + Sync,
    ) -> Result<(), SolveError> {
        self.system.copy_from(&problem.system);
        let weights = nodes.nodes.iter().zip(&nodes.weights);
        self.system
            .add_weights(weights.map(|(node, weight)| (*node, *weight)));
        self.factor.factorize_some(&self.system, &is_changed)?;
        if self.has_light() {
            self.factor.lighten_some(is_changed)?;
        }
        self.is_light = None;
        Ok(())
    }

    /// Whether solves are bound by reading the factor, so that half of it is worth a copy.
    fn has_light(&self) -> bool {
        self.factor.is_exact(&self.system) && self.system.dofs() >= LARGE
    }

    /// Moves `velocities` to (A + W)⁻¹ rhs, which is used up: to about `accuracy` through couplings, in single precision where that
    /// proves to be off by no more than `enough`. How many times it went through the factors.
    pub(super) fn solve(
        &mut self,
        rhs: &mut [f64],
        velocities: &mut [f64],
        [accuracy, enough]: [f64; 2],
    ) -> usize {
        if self.is_light == Some(true) {
            self.factor.solve_lightly(rhs);
            velocities.copy_from_slice(rhs);
            return 1;
        }
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

/// The bodies where nodes have another weight than before, or got or lost one: a node that comes to touch a heavier one weighs more, too.
pub(super) fn changed_bodies(
    problem: &NodalProblem,
    before: &WeightedNodes,
    after: &WeightedNodes,
) -> Vec<usize> {
    let nodes = before.nodes.iter().chain(&after.nodes);
    let changed = nodes.filter(|node| before.weight(**node) != after.weight(**node));
    let body = |node: &u32| {
        problem
            .system
            .body_of(problem.system.node_offset[*node as usize])
    };
    let mut bodies: Vec<usize> = changed.map(body).collect();
    bodies.sort_unstable();
    bodies.dedup();
    bodies
}
