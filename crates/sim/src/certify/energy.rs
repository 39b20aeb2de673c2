//! Energies of a state, and the energy balance of a step.

use crate::energy::sum_in_chunks;
use crate::equations::Equations;
use crate::integrate::{SolvedEquations, StepOutcome};
use crate::model::{Body, Model, Trial};
use crate::pose::relative_velocity;
use crate::report::Energies;
use crate::state::State;
use crate::step_input::StepInput;

/// Kinetic, elastic and gravity energy of a state (J).
#[must_use]
pub fn energies(model: &Model, state: &State) -> Energies {
    let time = model.clock.time(state.step);
    energies_with(model, state, model.tie_energy(state, time))
}

/// Energies of a state, given the energy of its ties (J).
fn energies_with(model: &Model, state: &State, ties: f64) -> Energies {
    let gravity = |node: usize| model.weights[node] * model.gravity.dot(state.positions[node]);
    let turns = vec![0.0; model.edges()];
    let trial = Trial::start(state, &turns);
    let elastic = model.bodies.iter().map(|body| body.elastic_energy(&trial));
    Energies {
        kinetic: kinetic_energy(model, state),
        elastic: elastic.sum::<f64>() + ties,
        gravity: -sum_in_chunks(model.weights.len(), gravity),
        ..Energies::default()
    }
}

fn kinetic_energy(model: &Model, state: &State) -> f64 {
    let of_node = |node: usize| 0.5 * model.masses[node] * state.velocities[node].length_squared();
    let of_edge = |edge: usize| 0.5 * model.twist_inertias[edge] * state.spins[edge].powi(2);
    sum_in_chunks(model.masses.len(), of_node) + sum_in_chunks(model.twist_inertias.len(), of_edge)
}

/// The energy balance of a step: its equations
/// M (v − v₀) + hα M v + hC v − h F + h G = ρ + Bᵀ r, multiplied by v. −G is the elastic force of
/// the integrator.
///
/// The numerical loss is the excess of h G·v and M (v − v₀)·v over the changes of elastic and
/// kinetic energy, minus the work of ρ on free unknowns.
pub(super) struct EnergyBalance<'a> {
    pub(super) input: &'a StepInput<'a>,
    pub(super) outcome: &'a StepOutcome<'a>,
    /// Bᵀ r on all unknowns (N s).
    pub(super) impulses: &'a [f64],
    pub(super) equations: &'a Equations,
}

impl EnergyBalance<'_> {
    /// Energies at the end of the step, with work and losses during it (J).
    pub(super) fn energies(&self) -> Energies {
        let (model, from, to) = (self.input.model, self.input.from, &self.outcome.to);
        let (h, v) = (self.input.h(), &self.outcome.velocities);
        let equations = self.equations;
        let mut after = energies_with(model, to, equations.tie_energy(&to.positions));
        // Work by changes of the prescribed lengths of ties, at the positions of the start.
        let tie_work =
            equations.tie_energy(&from.positions) - model.tie_energy(from, self.input.span.begin);
        let drag_work = dot(&self.drag(), v);
        let (wind_work, wind_drag) = self.wind_flows();
        after.viscous = drag_work - wind_drag + self.medium_loss();
        let held_work = self.residual_work(true);
        after.work = held_work + tie_work + wind_work + h * dot(&self.input.prescribed.loads, v);
        self.add_contact_flows(&mut after);
        let elastic_work = self.elastic_work(drag_work);
        // Work of the residual on free unknowns: by Newton's method before convergence, and by the
        // gate.
        let unsolved = if self.outcome.solved == SolvedEquations::None {
            0.0
        } else {
            self.residual_work(false)
        };
        after.numerical = elastic_work - (after.elastic - equations.elastic_start)
            + self.momentum_work()
            - (after.kinetic - kinetic_energy(model, from))
            - unsolved;
        after
    }

    /// Viscous impulse hC v at the velocities where the integrator evaluated it (N s).
    fn drag(&self) -> Vec<f64> {
        let v = &self.outcome.velocities;
        let mut drag = Vec::new();
        match (&self.outcome.drag, &self.equations.viscous) {
            (Some(known), _) => drag.clone_from(known),
            (None, Some(viscous)) => {
                drag.resize(v.len(), 0.0);
                viscous.multiply(v, &mut drag);
            }
            (None, None) => {}
        }
        drag
    }

    /// Loss to mass-proportional damping, hα M v·v (J).
    fn medium_loss(&self) -> f64 {
        let (h, v) = (self.input.h(), &self.outcome.velocities);
        let loss = |body: &Body| {
            let ratio = h * body.elements.mass_damping() / (1.0 + h * body.elements.mass_damping());
            let first = body.dofs.start;
            let square = |dof: usize| self.equations.inertia[first + dof] * v[first + dof].powi(2);
            ratio * sum_in_chunks(body.dofs.len(), square)
        };
        let bodies = self.input.model.bodies.iter();
        let damped = bodies.filter(|body| body.elements.mass_damping() > 0.0);
        damped.map(loss).sum()
    }

    /// (ρ − Bᵀ r)·v over the held or the free unknowns (J), where ρ contains Bᵀ r.
    fn residual_work(&self, of_held: bool) -> f64 {
        let (v, is_held) = (&self.outcome.velocities, self.input.is_held());
        sum_in_chunks(v.len(), |dof| {
            if is_held[dof] == of_held {
                (self.outcome.residual[dof] - self.impulses[dof]) * v[dof]
            } else {
                0.0
            }
        })
    }

    /// Subtracts r·(Bv + k) from the contact loss, and the part of prescribed motion, r·k, from the
    /// external work.
    fn add_contact_flows(&self, after: &mut Energies) {
        let Some(phase) = &self.outcome.contact else {
            return;
        };
        let unknowns = &self.input.model.unknowns;
        for (posed, known) in phase.posed.iter().zip(&phase.memory) {
            let speed = relative_velocity(&posed.stencil, posed.prescribed_velocity, |node| {
                unknowns.at_node(&self.outcome.velocities, node as usize)
            });
            after.contact -= known.reaction.dot(speed);
            after.work -= known.reaction.dot(posed.prescribed_velocity);
        }
    }

    /// h G·v = ρ·v − (M (1 + hα) v + hC v − f)·v (J).
    fn elastic_work(&self, drag_work: f64) -> f64 {
        let (v, equations) = (&self.outcome.velocities, self.equations);
        let left = sum_in_chunks(v.len(), |dof| {
            (self.outcome.residual[dof] - equations.inertia[dof] * v[dof] + equations.impulse[dof])
                * v[dof]
        });
        left - drag_work
    }

    /// M (v − v₀)·v (J).
    fn momentum_work(&self) -> f64 {
        let (model, from, v) = (self.input.model, self.input.from, &self.outcome.velocities);
        let unknowns = &model.unknowns;
        let moves = if self.input.is_static { 0.0 } else { 1.0 };
        let of_nodes = sum_in_chunks(model.masses.len(), |node| {
            let velocity = unknowns.at_node(v, node);
            let change = velocity - moves * from.velocities[node];
            model.masses[node] * change.dot(velocity)
        });
        let of_edges = sum_in_chunks(model.twist_inertias.len(), |edge| {
            let spin = v[unknowns.edge_offset[edge]];
            model.twist_inertias[edge] * (spin - moves * from.spins[edge]) * spin
        });
        of_nodes + of_edges
    }

    /// Work of the wind, and the part of it in C: its drag at the velocities where the integrator
    /// evaluated it (J).
    fn wind_flows(&self) -> (f64, f64) {
        let (input, outcome) = (self.input, self.outcome);
        let (model, h) = (input.model, input.h());
        if model.wind.is_none() {
            return (0.0, 0.0);
        }
        let (mut work, mut drag) = (0.0, 0.0);
        for (body, own) in model.bodies.iter().zip(&self.equations.bodies) {
            for (local, node) in body.nodes.clone().enumerate() {
                let velocity = model.unknowns.at_node(&outcome.velocities, node);
                let seen = if outcome.drag.is_some() {
                    input.from.velocities[node]
                } else {
                    velocity
                };
                drag += h * velocity.dot(own.wind.damping[local] * seen);
                work += h * velocity.dot(own.wind.force[local] - own.wind.damping[local] * seen);
            }
        }
        (work, drag)
    }
}

/// Dot product of two flat vectors. Zero if one of them is empty.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    sum_in_chunks(a.len().min(b.len()), |index| a[index] * b[index])
}
