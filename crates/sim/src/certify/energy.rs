//! Energies of a state, and the energy balance of a step.

use glam::DVec3;

use crate::energy::sum_in_chunks;
use crate::equations::Equations;
use crate::integrate::StepOutcome;
use crate::model::{Body, Model, Trial};
use crate::pose::{PosedContact, relative_velocity};
use crate::report::{Energies, EnergyGain};
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
    let turns = vec![0.0; model.edges()];
    let trial = Trial::start(state, &turns);
    let elastic = model.bodies.iter().map(|body| body.elastic_energy(&trial));
    Energies {
        kinetic: kinetic_energy(model, state),
        elastic: elastic.sum::<f64>() + ties,
        gravity: gravity_energy(model, state),
        ..Energies::default()
    }
}

fn gravity_energy(model: &Model, state: &State) -> f64 {
    let work = |node: usize| model.weights[node] * model.gravity.dot(state.positions[node]);
    -sum_in_chunks(model.weights.len(), work)
}

/// Kinetic energy of flat velocities (J).
fn kinetic_energy_of(model: &Model, v: &[f64]) -> f64 {
    let (unknowns, inertias) = (&model.unknowns, &model.twist_inertias);
    let of_node =
        |node: usize| 0.5 * model.masses[node] * unknowns.at_node(v, node).length_squared();
    let of_edge = |edge: usize| 0.5 * inertias[edge] * v[unknowns.edge_offset[edge]].powi(2);
    sum_in_chunks(model.masses.len(), of_node) + sum_in_chunks(inertias.len(), of_edge)
}

fn kinetic_energy(model: &Model, state: &State) -> f64 {
    let of_node = |node: usize| 0.5 * model.masses[node] * state.velocities[node].length_squared();
    let of_edge = |edge: usize| 0.5 * model.twist_inertias[edge] * state.spins[edge].powi(2);
    sum_in_chunks(model.masses.len(), of_node) + sum_in_chunks(model.twist_inertias.len(), of_edge)
}

/// The energy balance of a step: its equations
/// M (v − v₀) + hα M v + hC v − h F + h ∇E = ρ + Bᵀ r, multiplied by v. Implicit methods take ∇E at
/// the end of the step, explicit ones at its start.
///
/// The numerical loss is computed, not left over: the excess of h ∇E·v and M (v − v₀)·v over the
/// changes of elastic and kinetic energy. What remains is `unbalanced`, the work of ρ.
pub(super) struct EnergyBalance<'a> {
    pub(super) input: &'a StepInput<'a>,
    pub(super) outcome: &'a StepOutcome<'a>,
    /// Bᵀ r on all unknowns (N s).
    pub(super) impulses: &'a [f64],
    /// The terms of the step, with ∇E where the method takes it.
    pub(super) equations: &'a Equations,
}

/// Contact terms that are not losses.
#[derive(Default)]
struct ContactFlows {
    /// Work of contacts that recover from an overlap, and of cohesion that attracts (J).
    recovered: f64,
    /// Sum of the contact forces (N).
    force: f64,
}

/// The energies of a step and the part of their growth that has no source (J).
pub(super) struct EnergyFlows {
    pub(super) energies: Energies,
    pub(super) gain: EnergyGain,
}

impl EnergyBalance<'_> {
    /// Energies at the end of the step, with work and losses during it.
    pub(super) fn flows(&self) -> EnergyFlows {
        let (model, from, to) = (self.input.model, self.input.from, &self.outcome.to);
        let (h, v) = (self.input.h(), &self.outcome.velocities);
        let equations = self.equations;
        let mut after = energies_with(model, to, equations.tie_energy(&to.positions));
        // Work by changes of the prescribed lengths of ties, at the positions of the start.
        let tie_work =
            equations.tie_energy(&from.positions) - model.tie_energy(from, self.input.span.begin);
        let (wind_work, wind_drag) = self.wind_flows();
        after.viscous = dot(&self.drag(), v) - wind_drag + self.medium_loss();
        let held_work = self.held_work();
        after.work = held_work + tie_work + wind_work + h * dot(&self.input.prescribed.loads, v);
        let contact = self.add_contact_flows(&mut after);
        let before = Energies {
            kinetic: kinetic_energy(model, from),
            elastic: equations.elastic_start - tie_work,
            gravity: gravity_energy(model, from),
            ..Energies::default()
        };
        // The elastic energy at the start with the tie lengths of this step.
        let stored = after.elastic - equations.elastic_start;
        let elastic_work = self.elastic_work();
        let momentum_work = self.momentum_work();
        let (arrival, restored) = self.add_impact_flows(&mut after);
        after.numerical =
            elastic_work - stored + momentum_work - (arrival - before.kinetic) + restored;
        let change = after.total() - before.total();
        let losses = after.viscous + after.contact + after.numerical;
        after.unbalanced = change + losses - after.work;
        let non_convex = (stored - elastic_work).max(0.0);
        let turnover = before.kinetic
            + after.kinetic
            + stored.abs()
            + (after.gravity - before.gravity).abs()
            + after.work.abs();
        EnergyFlows {
            gain: EnergyGain {
                gain: change - after.work - contact.recovered - non_convex,
                non_convex,
                turnover,
                stored: after.kinetic + after.elastic,
                contact_force: contact.force,
            },
            energies: after,
        }
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

    /// (ρ − Bᵀ r)·v over the held unknowns (J), where ρ contains Bᵀ r.
    fn held_work(&self) -> f64 {
        let (v, is_held) = (&self.outcome.velocities, self.input.is_held());
        sum_in_chunks(v.len(), |dof| {
            if is_held[dof] {
                (self.outcome.residual[dof] - self.impulses[dof]) * v[dof]
            } else {
                0.0
            }
        })
    }

    /// Subtracts r·(Bv + k) from the contact loss, and the part of prescribed motion, r·k, from the
    /// external work.
    fn add_contact_flows(&self, after: &mut Energies) -> ContactFlows {
        let mut flows = ContactFlows::default();
        let Some(phase) = &self.outcome.contact else {
            return flows;
        };
        let h = self.input.h();
        for (index, (posed, known)) in phase.posed.iter().zip(&phase.memory).enumerate() {
            let speed = self.relative_velocity(posed);
            let reaction = match &self.outcome.impact {
                Some(impact) => impact.carried[index],
                None => known.reaction,
            };
            after.contact -= self.contact_work(index, reaction, posed, speed);
            after.work -= reaction.dot(posed.prescribed_velocity);
            let normal = posed.contact.normal;
            let overlap = posed.prescribed_velocity - posed.contact.kinematic;
            let recovery = reaction.dot(normal) * normal.dot(overlap);
            let attraction = -h * posed.contact.cohesion * normal.dot(speed);
            flows.recovered += recovery.max(0.0) + attraction.max(0.0);
            flows.force += reaction.length() / h;
        }
        flows
    }

    /// Work of an impulse in a contact (J). Of contacts that take part in an impact, only the
    /// friction on the way to it counts.
    fn contact_work(
        &self,
        contact: usize,
        reaction: DVec3,
        posed: &PosedContact,
        speed: DVec3,
    ) -> f64 {
        let impact = self.outcome.impact.as_ref();
        if impact.is_some_and(|impact| impact.takes_part[contact]) {
            let normal = posed.contact.normal;
            (reaction - normal * reaction.dot(normal))
                .dot(speed)
                .min(0.0)
        } else {
            reaction.dot(speed)
        }
    }

    /// B v + k of a contact, without the term of the gap (m/s).
    fn relative_velocity(&self, posed: &PosedContact) -> DVec3 {
        let unknowns = &self.input.model.unknowns;
        relative_velocity(&posed.stencil, posed.prescribed_velocity, |node| {
            unknowns.at_node(&self.outcome.velocities, node as usize)
        })
    }

    /// Adds the loss and the work of an impact. Returns the kinetic energy of v, and the numerical
    /// loss of a step that ends with v⁻ and its impulses instead of v and r.
    fn add_impact_flows(&self, after: &mut Energies) -> (f64, f64) {
        let (Some(impact), Some(phase)) = (&self.outcome.impact, &self.outcome.contact) else {
            return (after.kinetic, 0.0);
        };
        let model = self.input.model;
        let arrival = kinetic_energy_of(model, &self.outcome.velocities);
        let [before, _] = &impact.velocities;
        let before = kinetic_energy_of(model, before);
        let mut restored = arrival - before;
        let mut prescribed_work = 0.0;
        for (index, (posed, known)) in phase.posed.iter().zip(&phase.memory).enumerate() {
            let speed = self.relative_velocity(posed);
            let (carried, prescribed) = (impact.carried[index], impact.prescribed[index]);
            restored += self.contact_work(index, carried, posed, speed);
            restored -= known.reaction.dot(speed);
            restored -= (carried - known.reaction).dot(prescribed);
            prescribed_work -= impact.impulses[index].dot(prescribed);
            after.work -= impact.impulses[index].dot(posed.prescribed_velocity);
        }
        after.contact += before - after.kinetic + prescribed_work;
        (arrival, restored)
    }

    /// h ∇E·v (J).
    fn elastic_work(&self) -> f64 {
        let (h, v, equations) = (self.input.h(), &self.outcome.velocities, self.equations);
        let ties = if equations.ties.is_empty() {
            0.0
        } else {
            dot(&equations.tie_gradient, v)
        };
        h * (dot(&equations.gradient, v) + ties)
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
