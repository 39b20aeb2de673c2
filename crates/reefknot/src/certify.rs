//! The certificate of a step, computed from the problem and the accepted motion, never by the
//! solver.

use glam::DVec3;
use rayon::prelude::*;
use reefknot_contact::solve::ContactMemory;

mod momentum;
mod touched;

use crate::energy::{CHUNK, sum_in_chunks};
use crate::integrate::{ContactPhase, Scratch, Solved, Step, StepOptions, StepOutcome};
use crate::model::{Body, Model, Trial};
use crate::pose::relative;
use crate::report::{Energies, StepReport};
use crate::state::State;
use crate::step_input::StepInput;
use momentum::momentum_error;
pub use reefknot_contact::solve::ContactState;
pub use touched::ContactRecord;
use touched::{Touched, touched};

/// Kinetic, elastic and gravity energy of a state (J).
#[must_use]
pub fn energies(model: &Model, state: &State) -> Energies {
    let time = model.clock.time(state.step);
    energies_with(model, state, model.tie_energy(state, time))
}

/// The same, if it is known what the ties have.
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

/// Grades a step and packs it up.
pub(crate) fn certify(
    input: &StepInput<'_>,
    mut outcome: StepOutcome<'_>,
    scratch: &mut Scratch,
    options: StepOptions,
) -> Step {
    let (model, h) = (input.model, input.h());
    // What contacts do is no error.
    let impulses = match &outcome.contact {
        Some(phase) => phase.impulses_on_nodes(input),
        None => vec![0.0; outcome.residual.len()],
    };
    let energy_j = balance(input, &outcome, &impulses, scratch);
    for (rho, impulse) in outcome.residual.iter_mut().zip(&impulses) {
        *rho -= impulse;
    }
    let touched = outcome
        .contact
        .as_ref()
        .map(|phase| touched(input, phase, &outcome, (scratch, options)));
    let residual = &mut outcome.residual;
    let pin_forces = pin_forces(input, residual);
    let residuals = residual.par_iter_mut().zip(input.is_held());
    residuals.with_min_len(CHUNK).for_each(|(rho, is_held)| {
        if *is_held {
            *rho = 0.0;
        }
    });
    // One that solves nothing has no error.
    let error =
        (outcome.solved != Solved::Nothing).then(|| momentum_error(model, h, residual, scratch));
    let stretches = model
        .bodies
        .iter()
        .map(|body| body.max_stretch(&outcome.to));
    let max_stretch = stretches.fold(0.0, f64::max);
    let report = StepReport {
        step: outcome.to.step,
        time: input.span.end,
        momentum_error_m: error,
        nonlinear_error_m: error.filter(|_| outcome.solved == Solved::Nonlinear),
        max_stretch,
        energy_j,
        iterations: outcome.iterations,
        ..StepReport::default()
    };
    let mut step = Step {
        to: outcome.to,
        report,
        pin_forces,
        contacts: Vec::new(),
        offence: None,
    };
    if let (Some(phase), Some(touched)) = (outcome.contact, touched) {
        report_contacts(&mut step, &phase, touched);
        phase.detection.finish(&mut scratch.detector);
    }
    scratch.spare.keep([outcome.velocities, outcome.residual]);
    step
}

/// What a step says of its contacts, and what the next step is to know of them.
fn report_contacts(step: &mut Step, phase: &ContactPhase<'_>, touched: Touched) {
    let gaps = touched.contacts.iter().map(|contact| contact.gap);
    let report = &mut step.report;
    report.contacts = touched.contacts.len() as u64;
    report.iterations = report.iterations.max(phase.iterations);
    report.failsafe = phase.is_guarded;
    report.intersections = touched.intersections;
    report.min_gap_m = gaps.fold(None, |least: Option<f64>, gap| {
        Some(least.map_or(gap, |l| l.min(gap)))
    });
    report.contact_error_m = Some(touched.error);
    let known = touched.contacts.iter().zip(&phase.memory);
    let loaded = known.filter(|(contact, _)| contact.force != DVec3::ZERO);
    let memory = loaded.map(|(contact, known)| ContactMemory {
        id: contact.id,
        reaction: contact.force,
        average: known.average / touched.h,
        state: contact.state,
    });
    step.to.contacts = memory.collect();
    let bouncing = phase.posed.iter().filter(|posed| posed.approach > 0.0);
    step.to.approaches = bouncing
        .map(|posed| (posed.contact.id, posed.approach))
        .collect();
    step.contacts = touched.contacts;
    step.offence = touched.offence;
}

/// The force that it took to hold each node (N), along the axes along which it is held.
fn pin_forces(input: &StepInput<'_>, residual: &[f64]) -> Vec<(usize, DVec3)> {
    let (h, is_held) = (input.h(), &input.prescribed.held.is_held);
    let force = |(node, _): &(usize, DVec3)| {
        let offset = input.model.unknowns.node_offset[*node];
        let along = |axis: usize| match is_held[offset + axis] {
            true => residual[offset + axis] / h,
            false => 0.0,
        };
        (*node, DVec3::new(along(0), along(1), along(2)))
    };
    input.prescribed.held.targets.iter().map(force).collect()
}

/// Energies after the step, and what flowed during it. Multiplying the equations of the step, M (v − v₀) + hα M v + hC v − h F +
/// h G = ρ + Bᵀ r, by v gives each term, whatever the elastic force −G that the method takes; the numerical loss is what h G v and
/// M (v − v₀) v have beyond the changes of elastic and kinetic energy, less what ρ gives where nothing is held.
fn balance(
    input: &StepInput<'_>,
    outcome: &StepOutcome<'_>,
    impulses: &[f64],
    scratch: &Scratch,
) -> Energies {
    let (model, from, to) = (input.model, input.from, &outcome.to);
    let (h, unknowns, v) = (input.h(), &model.unknowns, &outcome.velocities);
    let dot =
        |a: &[f64], b: &[f64]| sum_in_chunks(a.len().min(b.len()), |place| a[place] * b[place]);
    let equations = &scratch.equations;
    let tie_energy = |positions: &[DVec3]| equations.tie_energy(positions);
    let mut after = energies_with(model, to, tie_energy(&to.positions));
    // Ties whose prescribed length changed before anything moved.
    let prescribed = tie_energy(&from.positions) - model.tie_energy(from, input.span.begin);

    // hC v, of the velocities that it was taken at.
    let mut drag = Vec::new();
    match (&outcome.drag, &equations.viscous) {
        (Some(known), _) => drag.clone_from(known),
        (None, Some(viscous)) => {
            drag.resize(v.len(), 0.0);
            viscous.multiply(v, &mut drag);
        }
        (None, None) => {}
    }
    let drag_work = dot(&drag, v);
    let (wind_work, wind_drag) = wind_flows(input, outcome, scratch);
    let damped = |body: &Body| body.elements.mass_damping() > 0.0;
    let medium: f64 = model
        .bodies
        .iter()
        .filter(|body| damped(body))
        .map(|body| {
            let part = h * body.elements.mass_damping() / (1.0 + h * body.elements.mass_damping());
            let first = body.dofs.start;
            let square = |dof: usize| equations.inertia[first + dof] * v[first + dof].powi(2);
            part * sum_in_chunks(body.dofs.len(), square)
        })
        .sum();
    after.viscous = drag_work - wind_drag + medium;
    let held_work = sum_in_chunks(v.len(), |dof| match input.prescribed.held.is_held[dof] {
        true => (outcome.residual[dof] - impulses[dof]) * v[dof],
        false => 0.0,
    });
    after.work = held_work + prescribed + wind_work + h * dot(&input.prescribed.loads, v);
    if let Some(phase) = &outcome.contact {
        // r·Bv is what contacts give: r·(Bv + k) less what those give who are told to move.
        for (posed, known) in phase.posed.iter().zip(&phase.memory) {
            let speed = relative(&posed.stencil, posed.drift, |node| {
                unknowns.at_node(v, node as usize)
            });
            after.contact -= known.reaction.dot(speed);
            after.work -= known.reaction.dot(posed.drift);
        }
    }

    // h G v = ρ v − (M (1 + hα) v + hC v − f) v.
    let left = sum_in_chunks(v.len(), |dof| {
        (outcome.residual[dof] - equations.inertia[dof] * v[dof] + equations.impulse[dof]) * v[dof]
    });
    let elastic_work = left - drag_work;
    let moves = if input.is_static { 0.0 } else { 1.0 };
    let momentum_of_nodes = sum_in_chunks(model.masses.len(), |node| {
        let velocity = unknowns.at_node(v, node);
        let change = velocity - moves * from.velocities[node];
        model.masses[node] * change.dot(velocity)
    });
    let momentum_of_edges = sum_in_chunks(model.twist_inertias.len(), |edge| {
        let spin = v[unknowns.edge_offset[edge]];
        model.twist_inertias[edge] * (spin - moves * from.spins[edge]) * spin
    });
    let momentum = momentum_of_nodes + momentum_of_edges;
    // What free unknowns are pushed with beyond the equations: few iterations of Newton's method, or the gate.
    let unsolved = match outcome.solved != Solved::Nothing {
        true => sum_in_chunks(v.len(), |dof| match input.prescribed.held.is_held[dof] {
            true => 0.0,
            false => (outcome.residual[dof] - impulses[dof]) * v[dof],
        }),
        false => 0.0,
    };
    after.numerical = elastic_work - (after.elastic - equations.elastic_start) + momentum
        - (after.kinetic - kinetic_energy(model, from))
        - unsolved;
    after
}

/// The work of the wind (J), and what of it is in C: its drag at the velocities that it was taken at.
fn wind_flows(input: &StepInput<'_>, outcome: &StepOutcome<'_>, scratch: &Scratch) -> (f64, f64) {
    let (model, h) = (input.model, input.h());
    if model.wind.is_none() {
        return (0.0, 0.0);
    }
    let (mut work, mut drag) = (0.0, 0.0);
    for (body, own) in model.bodies.iter().zip(&scratch.equations.bodies) {
        for (local, node) in body.nodes.clone().enumerate() {
            let velocity = model.unknowns.at_node(&outcome.velocities, node);
            let seen = match outcome.drag.is_some() {
                true => input.from.velocities[node],
                false => velocity,
            };
            drag += h * velocity.dot(own.wind.damping[local] * seen);
            work += h * velocity.dot(own.wind.force[local] - own.wind.damping[local] * seen);
        }
    }
    (work, drag)
}
