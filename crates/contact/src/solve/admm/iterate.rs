//! The iterate of ADMM: v, p and λ, with Nesterov acceleration and restarts (Daviet 2020, Alg. 4).

use glam::DVec3;
use rayon::prelude::*;

use super::projection::Projection;
use super::{AdmmOptions, WeightedNodes};
use crate::problem::{NodalProblem, WarmStart, nan_max, par_nan_max};
use crate::system::SystemFactor;

/// Nodes per parallel task. Sums are taken per task, then over the tasks in order, so that they do
/// not depend on the threads.
const CHUNK_SIZE: usize = 2048;

/// State between two iterations.
#[derive(Debug, Default)]
pub(super) struct Iterate {
    /// v, flat.
    pub(super) velocities: Vec<f64>,
    /// p of nodes with weights.
    feasible: Vec<DVec3>,
    /// λ of nodes with weights.
    dual: Vec<DVec3>,
    /// p̂, extrapolated.
    feasible_ahead: Vec<DVec3>,
    /// λ̂, extrapolated.
    dual_ahead: Vec<DVec3>,
    /// W⁻¹ Bᵀ r if it differs from λ, after a refinement of the contacts.
    impulse_velocities: Option<Vec<DVec3>>,
    /// W (p̂ + λ̂) on the right-hand side that v solves; empty if v solves none.
    solved_rhs: Vec<DVec3>,
    /// Change of the right-hand side since v was solved, flat.
    rhs_change: Vec<f64>,
    /// θ of Alg. 4.
    momentum: f64,
    /// Σ w (‖p − p̂‖² + ‖λ − λ̂‖²), the criterion of restarts (Goldstein et al. 2014).
    combined_residual: f64,
    /// Largest of ‖p − v‖ + ‖p − p̂‖ over nodes, and of the changes of contacts in the last sweep
    /// (m/s).
    pub(super) residual: f64,
}

impl Iterate {
    /// v of the warm start, or without contact; p and λ follow by [`Iterate::initialize`].
    pub(super) fn start(
        problem: &NodalProblem,
        factor: &SystemFactor,
        warm: &WarmStart,
        options: &AdmmOptions,
    ) -> Self {
        let mut velocities = warm.velocities.clone();
        velocities.resize(problem.system.dofs(), 0.0);
        if options.starts_unconstrained {
            velocities.copy_from_slice(&problem.force);
            factor.solve_in_place(&problem.system, &mut velocities);
        }
        // Held degrees of freedom have their prescribed velocity from the start.
        for (dof, is_held) in problem.system.held().iter().enumerate() {
            if *is_held {
                velocities[dof] = problem.force[dof];
            }
        }
        Self {
            rhs_change: vec![0.0; velocities.len()],
            velocities,
            momentum: 1.0,
            combined_residual: f64::INFINITY,
            residual: f64::INFINITY,
            ..Self::default()
        }
    }

    /// Sets p = v and λ = W⁻¹ Bᵀ r, of which a rest state is a fixed point.
    pub(super) fn initialize(&mut self, nodes: &WeightedNodes, projection: &Projection) {
        self.feasible = self.node_velocities(nodes);
        self.dual = vec![DVec3::ZERO; nodes.nodes.len()];
        projection.add_impulse_velocities(&mut self.dual);
        self.impulse_velocities = None;
        self.restart();
    }

    /// Transfers p and λ to other nodes with weights. New nodes start with p = v and λ = 0. The
    /// acceleration is not restarted: a few new contacts disturb few nodes.
    pub(super) fn transfer(
        &mut self,
        before: &WeightedNodes,
        after: &WeightedNodes,
        projection: &Projection,
    ) {
        let (velocities, count) = (self.node_velocities(after), after.nodes.len());
        // New and old index of each node in both lists, and the factor that keeps W λ.
        let known = after.nodes.iter().enumerate().filter_map(|(new, node)| {
            let old = before.find(*node)?;
            Some((new, old, before.weights[old] / after.weights[new]))
        });
        let known: Vec<(usize, usize, f64)> = known.collect();
        for feasible in [&mut self.feasible, &mut self.feasible_ahead] {
            let before = std::mem::replace(feasible, velocities.clone());
            for (new, old, _) in &known {
                feasible[*new] = before[*old];
            }
        }
        for dual in [&mut self.dual, &mut self.dual_ahead] {
            let before = std::mem::replace(dual, vec![DVec3::ZERO; count]);
            for (new, old, ratio) in &known {
                dual[*new] = before[*old] * *ratio;
            }
        }
        let mut impulse_velocities = vec![DVec3::ZERO; count];
        projection.add_impulse_velocities(&mut impulse_velocities);
        self.impulse_velocities = Some(impulse_velocities);
        self.clear_history();
    }

    /// Restarts the acceleration.
    fn restart(&mut self) {
        self.feasible_ahead.clone_from(&self.feasible);
        self.dual_ahead.clone_from(&self.dual);
        self.momentum = 1.0;
        self.clear_history();
    }

    /// Discards the right-hand side and the residuals of the iteration before.
    fn clear_history(&mut self) {
        self.solved_rhs.clear();
        self.combined_residual = f64::INFINITY;
        self.residual = f64::INFINITY;
    }

    /// v of nodes with weights.
    fn node_velocities(&self, nodes: &WeightedNodes) -> Vec<DVec3> {
        let velocity = |offset: &usize| DVec3::from_slice(&self.velocities[*offset..]);
        nodes.offsets.iter().map(velocity).collect()
    }

    /// f + W (p̂ + λ̂), if v does not solve the system with the previous right-hand side. Otherwise
    /// `None`, and only the change of the right-hand side remains ([`Iterate::rhs_change`]).
    pub(super) fn right_hand_side(
        &mut self,
        problem: &NodalProblem,
        nodes: &WeightedNodes,
    ) -> Option<Vec<f64>> {
        let is_new = self.solved_rhs.is_empty();
        self.solved_rhs.resize(nodes.nodes.len(), DVec3::ZERO);
        let mut rhs = is_new.then(|| problem.force.clone());
        let flat = rhs.as_mut().unwrap_or(&mut self.rhs_change);
        let parts = split_by_nodes(flat, &nodes.offsets);
        let ahead = self.feasible_ahead.par_chunks(CHUNK_SIZE);
        let ahead = ahead.zip(self.dual_ahead.par_chunks(CHUNK_SIZE));
        let work = parts.into_par_iter().zip(ahead);
        let work = work.zip(self.solved_rhs.par_chunks_mut(CHUNK_SIZE));
        work.for_each(|((part, (feasible, dual)), solved)| {
            for local in 0..solved.len() {
                let index = part.first_node + local;
                let free = problem.system.free_part(nodes.nodes[index] as usize);
                let term = (feasible[local] + dual[local]) * nodes.weights[index] * free;
                let entries = &mut part.flat[nodes.offsets[index] - part.first_entry..];
                let sum = DVec3::from_slice(entries) + (term - solved[local]);
                sum.write_to_slice(entries);
                solved[local] = term;
            }
        });
        rhs
    }

    /// Marks v as inexact for its right-hand side: the next update solves the full system.
    pub(super) fn invalidate_velocities(&mut self) {
        self.solved_rhs.clear();
    }

    /// The change of the right-hand side since v was solved, and v.
    pub(super) fn rhs_change(&mut self) -> (&mut [f64], &mut [f64]) {
        (&mut self.rhs_change, &mut self.velocities)
    }

    /// Start of the projection of a node with a weight: v − λ̂ + W⁻¹ Bᵀ r.
    #[inline]
    pub(super) fn projection_start(&self, nodes: &WeightedNodes, index: usize) -> DVec3 {
        let velocity = DVec3::from_slice(&self.velocities[nodes.offsets[index]..]);
        let impulse_velocities = self.impulse_velocities.as_ref().unwrap_or(&self.dual);
        velocity - self.dual_ahead[index] + impulse_velocities[index]
    }

    /// Updates p from the projection and λ ← λ̂ + p − v, which is W⁻¹ Bᵀ r; then extrapolates both,
    /// or restarts the acceleration if the combined residual grew (Alg. 4).
    pub(super) fn advance(
        &mut self,
        nodes: &WeightedNodes,
        projection: &Projection,
        is_accelerated: bool,
    ) {
        let velocities = &self.velocities;
        let chunks = self.feasible_ahead.par_chunks_mut(CHUNK_SIZE);
        let chunks = chunks.zip(self.dual_ahead.par_chunks_mut(CHUNK_SIZE));
        let sums = chunks.enumerate().map(|(chunk, (feasible, dual))| {
            let (mut combined, mut largest) = (0.0, 0.0);
            for local in 0..feasible.len() {
                let index = chunk * CHUNK_SIZE + local;
                let projected = projection.velocity(index);
                let primal = projected - DVec3::from_slice(&velocities[nodes.offsets[index]..]);
                let moved = projected - feasible[local];
                feasible[local] = projected;
                dual[local] += primal;
                let squares = primal.length_squared() + moved.length_squared();
                combined += nodes.weights[index] * squares;
                largest = nan_max(largest, primal.length() + moved.length());
            }
            (combined, largest)
        });
        let sums: Vec<(f64, f64)> = sums.collect();
        let (combined, largest) = sums.into_iter().fold((0.0, 0.0), |sum, of_chunk| {
            (sum.0 + of_chunk.0, nan_max(sum.1, of_chunk.1))
        });
        self.residual = largest;
        self.impulse_velocities = None;
        let is_growing = combined > self.combined_residual;
        self.combined_residual = combined;
        let factor = if is_accelerated && !is_growing {
            let next = 0.5 * (1.0 + (1.0 + 4.0 * self.momentum * self.momentum).sqrt());
            let factor = (self.momentum - 1.0) / next;
            self.momentum = next;
            factor
        } else {
            self.momentum = 1.0;
            0.0
        };
        extrapolate(&mut self.feasible, &mut self.feasible_ahead, factor);
        extrapolate(&mut self.dual, &mut self.dual_ahead, factor);
    }

    /// The largest speed of p (m/s).
    pub(super) fn max_speed(&self) -> f64 {
        par_nan_max(self.feasible.len(), |index| self.feasible[index].length())
    }

    /// All velocities: p at nodes with weights (6.2.7), v elsewhere and in held directions.
    pub(super) fn feasible_velocities(
        &self,
        problem: &NodalProblem,
        nodes: &WeightedNodes,
    ) -> Vec<f64> {
        let mut velocities = self.velocities.clone();
        for (index, node) in nodes.nodes.iter().enumerate() {
            let offset = nodes.offsets[index];
            let free = problem.system.free_part(*node as usize);
            let held = DVec3::from_slice(&velocities[offset..]) * (DVec3::ONE - free);
            (self.feasible[index] * free + held).write_to_slice(&mut velocities[offset..]);
        }
        velocities
    }
}

/// Replaces `now` by now + factor (now − before), and `before` by the old `now`.
fn extrapolate(before: &mut [DVec3], now: &mut [DVec3], factor: f64) {
    let chunks = before
        .par_chunks_mut(CHUNK_SIZE)
        .zip(now.par_chunks_mut(CHUNK_SIZE));
    chunks.for_each(|(before, now)| {
        for (before, now) in before.iter_mut().zip(now) {
            let current = *now;
            *now = current + (current - *before) * factor;
            *before = current;
        }
    });
}

/// The part of a flat vector with the entries of one chunk of nodes.
struct Part<'a> {
    /// Index of the first node.
    first_node: usize,
    /// Offset of its entries.
    first_entry: usize,
    flat: &'a mut [f64],
}

/// Splits a flat vector into one part per chunk of nodes; `offsets` are those of the nodes.
fn split_by_nodes<'a>(flat: &'a mut [f64], offsets: &[usize]) -> Vec<Part<'a>> {
    let (mut rest, mut taken) = (flat, 0);
    let first_nodes = (0..offsets.len()).step_by(CHUNK_SIZE);
    let part = |first_node: usize| {
        let first = offsets[first_node];
        let end = offsets.get(first_node + CHUNK_SIZE).copied();
        let (_, tail) = std::mem::take(&mut rest).split_at_mut(first - taken);
        let (flat, tail) = tail.split_at_mut(end.map_or(tail.len(), |end| end - first));
        (rest, taken) = (tail, first + flat.len());
        Part {
            first_node,
            first_entry: first,
            flat,
        }
    };
    first_nodes.map(part).collect()
}
