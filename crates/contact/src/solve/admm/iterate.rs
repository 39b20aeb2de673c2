//! What ADMM carries from iteration to iteration (Daviet 2020, Alg. 4).

use glam::DVec3;
use rayon::prelude::*;

use super::projection::Projection;
use super::{Settings, WeightedNodes};
use crate::problem::{NodalProblem, larger, largest};
use crate::solve::WarmStart;
use crate::system::SystemFactor;

/// Nodes that one task takes. Sums go over so many, and then over the tasks in order.
const CHUNK: usize = 2048;

/// What an iteration leaves to the next.
#[derive(Debug, Default)]
pub(super) struct Iterate {
    /// v, flat.
    pub(super) velocities: Vec<f64>,
    /// p, λ of nodes with weights, and where acceleration takes them.
    feasible: Vec<DVec3>,
    dual: Vec<DVec3>,
    feasible_ahead: Vec<DVec3>,
    dual_ahead: Vec<DVec3>,
    /// W⁻¹ Bᵀ r, if that is not λ: where contacts have changed since.
    pushed: Option<Vec<DVec3>>,
    /// W (p̂ + λ̂) that v is the answer to; nothing if it is not yet.
    pulled: Vec<DVec3>,
    /// By how much W (p̂ + λ̂) has changed since, flat.
    change: Vec<f64>,
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
        warm: &WarmStart,
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
            change: vec![0.0; velocities.len()],
            velocities,
            momentum: 1.0,
            residual: f64::INFINITY,
            unrest: f64::INFINITY,
            ..Self::default()
        }
    }

    /// p = v, and λ = W⁻¹ Bᵀ r: what keeps a body at rest where it was.
    pub(super) fn place(&mut self, nodes: &WeightedNodes, projection: &Projection) {
        self.feasible = self.at(nodes);
        self.dual = vec![DVec3::ZERO; nodes.nodes.len()];
        projection.push(&mut self.dual);
        self.pushed = None;
        self.restart();
    }

    /// The same p and λ for other nodes with weights: new ones begin where they are, without a force. The others keep their momentum: a few
    /// contacts more upset few of them.
    pub(super) fn carry_over(
        &mut self,
        before: &WeightedNodes,
        after: &WeightedNodes,
        projection: &Projection,
    ) {
        let (here, count) = (self.at(after), after.nodes.len());
        // Where each node was among the others, and by what its λ changes with its weight.
        let known = after.nodes.iter().enumerate().filter_map(|(place, node)| {
            let old = before.find(*node)?;
            Some((place, old, before.weights[old] / after.weights[place]))
        });
        let known: Vec<(usize, usize, f64)> = known.collect();
        for feasible in [&mut self.feasible, &mut self.feasible_ahead] {
            let old = std::mem::replace(feasible, here.clone());
            for (place, from, _) in &known {
                feasible[*place] = old[*from];
            }
        }
        for dual in [&mut self.dual, &mut self.dual_ahead] {
            let old = std::mem::replace(dual, vec![DVec3::ZERO; count]);
            for (place, from, ratio) in &known {
                dual[*place] = old[*from] * *ratio;
            }
        }
        let mut pushed = vec![DVec3::ZERO; count];
        projection.push(&mut pushed);
        self.pushed = Some(pushed);
        self.begin_again();
    }

    fn restart(&mut self) {
        self.feasible_ahead.clone_from(&self.feasible);
        self.dual_ahead.clone_from(&self.dual);
        self.momentum = 1.0;
        self.begin_again();
    }

    /// Nothing is known of the iteration before.
    fn begin_again(&mut self) {
        self.pulled.clear();
        self.residual = f64::INFINITY;
        self.unrest = f64::INFINITY;
    }

    /// v of nodes with weights.
    fn at(&self, nodes: &WeightedNodes) -> Vec<DVec3> {
        let velocity = |offset: &usize| DVec3::from_slice(&self.velocities[*offset..]);
        nodes.offsets.iter().map(velocity).collect()
    }

    /// f + W (p̂ + λ̂), if v is not the answer to what was pulled before. Else nothing, and only what changed is left to be solved for.
    pub(super) fn pull(
        &mut self,
        problem: &NodalProblem,
        nodes: &WeightedNodes,
    ) -> Option<Vec<f64>> {
        let is_new = self.pulled.is_empty();
        self.pulled.resize(nodes.nodes.len(), DVec3::ZERO);
        let mut rhs = is_new.then(|| problem.force.clone());
        let flat = rhs.as_mut().unwrap_or(&mut self.change);
        let parts = parts_of(flat, &nodes.offsets);
        let ahead = self.feasible_ahead.par_chunks(CHUNK);
        let ahead = ahead.zip(self.dual_ahead.par_chunks(CHUNK));
        let work = parts.into_par_iter().zip(ahead);
        let work = work.zip(self.pulled.par_chunks_mut(CHUNK));
        work.for_each(|((part, (feasible, dual)), pulled)| {
            for index in 0..pulled.len() {
                let place = part.place + index;
                let free = problem.system.free_part(nodes.nodes[place] as usize);
                let pull = (feasible[index] + dual[index]) * nodes.weights[place] * free;
                let entries = &mut part.flat[nodes.offsets[place] - part.first..];
                let sum = DVec3::from_slice(entries) + (pull - pulled[index]);
                sum.write_to_slice(entries);
                pulled[index] = pull;
            }
        });
        rhs
    }

    /// v is not quite the answer to what was pulled: the next time everything is solved for.
    pub(super) fn forget(&mut self) {
        self.pulled.clear();
    }

    /// What is to be solved for since the last time, and v.
    pub(super) fn change(&mut self) -> (&mut [f64], &mut [f64]) {
        (&mut self.change, &mut self.velocities)
    }

    /// v − λ̂ + W⁻¹ Bᵀ r of a node with a weight: where its projection begins.
    #[inline]
    pub(super) fn aim(&self, nodes: &WeightedNodes, place: usize) -> DVec3 {
        let velocity = DVec3::from_slice(&self.velocities[nodes.offsets[place]..]);
        let pushed = self.pushed.as_ref().unwrap_or(&self.dual);
        velocity - self.dual_ahead[place] + pushed[place]
    }

    /// Takes over p from the projection: λ ← λ̂ + p − v, which is W⁻¹ Bᵀ r, then momentum or a restart (Alg. 4).
    pub(super) fn advance(
        &mut self,
        nodes: &WeightedNodes,
        projection: &Projection,
        is_accelerated: bool,
    ) {
        let velocities = &self.velocities;
        let chunks = self.feasible_ahead.par_chunks_mut(CHUNK);
        let chunks = chunks.zip(self.dual_ahead.par_chunks_mut(CHUNK));
        let sums = chunks.enumerate().map(|(chunk, (feasible, dual))| {
            let (mut residual, mut unrest) = (0.0, 0.0);
            for index in 0..feasible.len() {
                let place = chunk * CHUNK + index;
                let projected = projection.velocity(place);
                let apart = projected - DVec3::from_slice(&velocities[nodes.offsets[place]..]);
                let moved = projected - feasible[index];
                feasible[index] = projected;
                dual[index] += apart;
                let squares = apart.length_squared() + moved.length_squared();
                residual += nodes.weights[place] * squares;
                unrest = larger(unrest, apart.length() + moved.length());
            }
            (residual, unrest)
        });
        let sums: Vec<(f64, f64)> = sums.collect();
        let (residual, unrest) = sums.into_iter().fold((0.0, 0.0), |sum, of_chunk| {
            (sum.0 + of_chunk.0, larger(sum.1, of_chunk.1))
        });
        self.unrest = unrest;
        self.pushed = None;
        let is_growing = residual > self.residual;
        self.residual = residual;
        let ahead = match is_accelerated && !is_growing {
            true => {
                let next = 0.5 * (1.0 + (1.0 + 4.0 * self.momentum * self.momentum).sqrt());
                let ahead = (self.momentum - 1.0) / next;
                self.momentum = next;
                ahead
            }
            false => {
                self.momentum = 1.0;
                0.0
            }
        };
        go_ahead(&mut self.feasible, &mut self.feasible_ahead, ahead);
        go_ahead(&mut self.dual, &mut self.dual_ahead, ahead);
    }

    /// The largest speed of p (m/s).
    pub(super) fn fastest(&self) -> f64 {
        largest(self.feasible.len(), |place| self.feasible[place].length())
    }

    /// All velocities, with p where there are weights (6.2.7); what is held stays as it is told.
    pub(super) fn answer(&self, problem: &NodalProblem, nodes: &WeightedNodes) -> Vec<f64> {
        let mut velocities = self.velocities.clone();
        for (place, node) in nodes.nodes.iter().enumerate() {
            let offset = nodes.offsets[place];
            let free = problem.system.free_part(*node as usize);
            let held = DVec3::from_slice(&velocities[offset..]) * (DVec3::ONE - free);
            (self.feasible[place] * free + held).write_to_slice(&mut velocities[offset..]);
        }
        velocities
    }
}

/// From where it was before and where it is now, that and a part of the way more.
fn go_ahead(before: &mut [DVec3], now: &mut [DVec3], part: f64) {
    let chunks = before.par_chunks_mut(CHUNK).zip(now.par_chunks_mut(CHUNK));
    chunks.for_each(|(before, now)| {
        for (before, now) in before.iter_mut().zip(now) {
            let here = *now;
            *now = here + (here - *before) * part;
            *before = here;
        }
    });
}

/// What of a flat vector some nodes in a row write to.
struct Part<'a> {
    /// The first of the nodes.
    place: usize,
    /// Where its entries start.
    first: usize,
    flat: &'a mut [f64],
}

/// A flat vector by tasks, for nodes whose entries start at `offsets`.
fn parts_of<'a>(flat: &'a mut [f64], offsets: &[usize]) -> Vec<Part<'a>> {
    let (mut rest, mut taken) = (flat, 0);
    let places = (0..offsets.len()).step_by(CHUNK);
    let part = |place: usize| {
        let first = offsets[place];
        let end = offsets.get(place + CHUNK).copied();
        let (_, tail) = std::mem::take(&mut rest).split_at_mut(first - taken);
        let (flat, tail) = tail.split_at_mut(end.map_or(tail.len(), |end| end - first));
        (rest, taken) = (tail, first + flat.len());
        Part { place, first, flat }
    };
    places.map(part).collect()
}
