//! What ADMM carries from iteration to iteration (Daviet 2020, Alg. 4).

use glam::DVec3;

use super::projection::Projection;
use super::{Settings, WeightedNodes};
use crate::problem::{NodalProblem, larger};
use crate::solve::Warm;
use crate::system::SystemFactor;

/// What an iteration leaves to the next.
#[derive(Debug, Default)]
pub(super) struct Iterate {
    /// v, flat.
    pub(super) velocities: Vec<f64>,
    /// p, λ of nodes with weights, and where acceleration takes them.
    feasible: Vec<DVec3>,
    dual: Vec<DVec3>,
    pub(super) feasible_ahead: Vec<DVec3>,
    pub(super) dual_ahead: Vec<DVec3>,
    /// θ of Alg. 4.
    momentum: f64,
    /// Σ w (‖p − p̂‖² + ‖λ − λ̂‖²) (Goldstein et al. 2014).
    residual: f64,
    /// How far p and v are apart, how far p moved, how much contacts changed (m/s).
    pub(super) unrest: f64,
}

impl Iterate {
    pub(super) fn start(
        problem: &NodalProblem,
        factor: &SystemFactor,
        warm: &Warm,
        settings: &Settings,
    ) -> Self {
        let mut velocities = warm.velocities.clone();
        velocities.resize(problem.system.dofs(), 0.0);
        if settings.starts_unconstrained {
            velocities.copy_from_slice(&problem.force);
            factor.solve_in_place(&problem.system, &mut velocities);
        }
        // What is held moves as it is told from the start.
        for (dof, is_cut) in problem.system.cut().iter().enumerate() {
            if *is_cut {
                velocities[dof] = problem.force[dof];
            }
        }
        Self {
            velocities,
            momentum: 1.0,
            residual: f64::INFINITY,
            unrest: f64::INFINITY,
            ..Self::default()
        }
    }

    /// p = v, and λ = W⁻¹ Bᵀ r: what keeps a body at rest where it was.
    pub(super) fn place(
        &mut self,
        problem: &NodalProblem,
        nodes: &WeightedNodes,
        projection: &Projection,
    ) {
        self.feasible = self.at(problem, nodes);
        self.dual = vec![DVec3::ZERO; nodes.nodes.len()];
        projection.push(&mut self.dual);
        self.restart();
    }

    /// The same p and λ for other nodes with weights: new ones begin where they are, without a force.
    pub(super) fn carry_over(
        &mut self,
        problem: &NodalProblem,
        before: &WeightedNodes,
        after: &WeightedNodes,
    ) {
        let (feasible, dual) = (
            self.at(problem, after),
            vec![DVec3::ZERO; after.nodes.len()],
        );
        let old_feasible = std::mem::replace(&mut self.feasible, feasible);
        let old_dual = std::mem::replace(&mut self.dual, dual);
        for (place, node) in after.nodes.iter().enumerate() {
            if let Some(old) = before.find(*node) {
                self.feasible[place] = old_feasible[old];
                self.dual[place] = old_dual[old] * (before.weights[old] / after.weights[place]);
            }
        }
        self.restart();
    }

    fn restart(&mut self) {
        self.feasible_ahead.clone_from(&self.feasible);
        self.dual_ahead.clone_from(&self.dual);
        self.momentum = 1.0;
        self.residual = f64::INFINITY;
        self.unrest = f64::INFINITY;
    }

    /// v of nodes with weights.
    pub(super) fn at(&self, problem: &NodalProblem, nodes: &WeightedNodes) -> Vec<DVec3> {
        let offset = |node: &u32| problem.system.node_offset[*node as usize];
        let velocity = |node: &u32| DVec3::from_slice(&self.velocities[offset(node)..]);
        nodes.nodes.iter().map(velocity).collect()
    }

    /// λ ← λ̂ + p − v, then momentum or a restart (Alg. 4).
    pub(super) fn advance(
        &mut self,
        velocities: &[DVec3],
        feasible: Vec<DVec3>,
        weights: &[f64],
        is_accelerated: bool,
    ) {
        let mut residual = 0.0;
        let mut unrest = 0.0;
        let mut dual = self.dual_ahead.clone();
        for place in 0..feasible.len() {
            let apart = feasible[place] - velocities[place];
            let moved = feasible[place] - self.feasible_ahead[place];
            dual[place] += apart;
            residual += weights[place] * (apart.length_squared() + moved.length_squared());
            unrest = larger(unrest, apart.length() + moved.length());
        }
        self.unrest = unrest;
        let before = std::mem::replace(&mut self.feasible, feasible);
        let dual_before = std::mem::replace(&mut self.dual, dual);
        let is_growing = residual > self.residual;
        self.residual = residual;
        if !is_accelerated || is_growing {
            self.momentum = 1.0;
            self.feasible_ahead.clone_from(&self.feasible);
            self.dual_ahead.clone_from(&self.dual);
            return;
        }
        let next = 0.5 * (1.0 + (1.0 + 4.0 * self.momentum * self.momentum).sqrt());
        let ahead = (self.momentum - 1.0) / next;
        self.momentum = next;
        for place in 0..before.len() {
            let (p, dual) = (self.feasible[place], self.dual[place]);
            self.feasible_ahead[place] = p + (p - before[place]) * ahead;
            self.dual_ahead[place] = dual + (dual - dual_before[place]) * ahead;
        }
    }

    /// The largest speed of p (m/s).
    pub(super) fn fastest(&self) -> f64 {
        let speeds = self.feasible.iter().map(|p| p.length());
        speeds.fold(0.0, larger)
    }

    /// All velocities, with p where there are weights (6.2.7); what is held stays as it is told.
    pub(super) fn answer(&self, problem: &NodalProblem, nodes: &WeightedNodes) -> Vec<f64> {
        let mut velocities = self.velocities.clone();
        for (place, node) in nodes.nodes.iter().enumerate() {
            let offset = problem.system.node_offset[*node as usize];
            let free = problem.system.free_part(*node as usize);
            let held = DVec3::from_slice(&velocities[offset..]) * (DVec3::ONE - free);
            (self.feasible[place] * free + held).write_to_slice(&mut velocities[offset..]);
        }
        velocities
    }
}
