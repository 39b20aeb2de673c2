//! The certificate of a step, computed from the problem and the accepted motion, never by the
//! solver.

use std::ops::Range;

use glam::DVec3;
use rayon::prelude::*;

mod touched;

use crate::energy::linearize::Problem;
use crate::energy::{CHUNK, sum_in_chunks};
use crate::integrate::{Scratch, Step, Taken};
use crate::model::{Body, Elements, Model, Trial};
use crate::pose::relative;
use crate::report::{Energies, StepReport};
use crate::state::State;
use touched::touched;
pub use touched::{ContactRecord, ContactState};

/// A momentum error that is surely below this (m) is reported by its bound, which costs no solve.
const NEGLIGIBLE: f64 = 1e-9;

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
pub(crate) fn certify(problem: &Problem<'_>, taken: &mut Taken<'_>, scratch: &Scratch) -> Step {
    let (model, h) = (problem.model, problem.h());
    let unknowns = &model.unknowns;
    // What contacts do is no error.
    let push = match &taken.touches {
        Some(touches) => touches.push(problem),
        None => vec![0.0; taken.residual.len()],
    };
    let energy_j = balance(problem, taken, &push, scratch);
    for (rho, push) in taken.residual.iter_mut().zip(&push) {
        *rho -= push;
    }
    let touched = taken
        .touches
        .as_ref()
        .map(|touches| touched(problem, touches, taken, scratch));
    let (mut to, residual) = (std::mem::take(&mut taken.to), &mut taken.residual);
    let is_held = &problem.held.is_held;
    let pin_forces = pin_forces(problem, residual);
    let residuals = residual.par_iter_mut().zip(is_held);
    residuals.with_min_len(CHUNK).for_each(|(rho, is_held)| {
        if *is_held {
            *rho = 0.0;
        }
    });
    // How far each point is from where the forces would put it; one that solves nothing has no error.
    let error = taken.solves.then(|| {
        let bound = h * momentum_bound(model, residual, scratch);
        if bound <= NEGLIGIBLE {
            return bound;
        }
        scratch
            .factor
            .solve_in_place(&scratch.posed.system, residual);
        h * unknowns.largest_at_nodes(residual)
    });
    let stretches = model.bodies.iter().map(|body| body.max_stretch(&to));
    let max_stretch = stretches.fold(0.0, f64::max);
    let contacts = touched
        .as_ref()
        .map_or(&[][..], |touched| &touched.contacts);
    carry_over(taken, contacts, &mut to);
    let gaps = contacts.iter().map(|contact| contact.gap);
    let report = StepReport {
        step: to.step,
        time: problem.span.end,
        contacts: contacts.len() as u64,
        iterations: taken.iterations,
        halvings: 0,
        failsafe: taken
            .touches
            .as_ref()
            .is_some_and(|touches| touches.is_guarded),
        intersections: touched.as_ref().and_then(|touched| touched.intersections),
        min_gap_m: gaps.fold(None, |least: Option<f64>, gap| {
            Some(least.map_or(gap, |l| l.min(gap)))
        }),
        contact_error_m: touched.as_ref().map(|touched| touched.error),
        momentum_error_m: error,
        nonlinear_error_m: error.filter(|_| taken.is_nonlinear),
        max_stretch,
        energy_j,
        wall_s: 0.0,
        cpu_s: None,
        phases_s: taken.phases,
    };
    let (contacts, offence) = touched
        .map(|touched| (touched.contacts, touched.offence))
        .unwrap_or_default();
    Step {
        to,
        report,
        pin_forces,
        contacts,
        offence,
    }
}

/// What the next step is to know of the contacts of this one.
fn carry_over(taken: &Taken<'_>, contacts: &[ContactRecord], to: &mut State) {
    let loaded = contacts
        .iter()
        .filter(|contact| contact.force != DVec3::ZERO);
    to.contacts = loaded.map(|contact| (contact.id, contact.force)).collect();
    let posed = taken.touches.iter().flat_map(|touches| &touches.posed);
    let bouncing = posed.filter(|posed| posed.approach > 0.0);
    to.approaches = bouncing
        .map(|posed| (posed.contact.id, posed.approach))
        .collect();
}

/// The force that it took to hold each node (N), along the axes along which it is held.
fn pin_forces(problem: &Problem<'_>, residual: &[f64]) -> Vec<(usize, DVec3)> {
    let (h, is_held) = (problem.h(), &problem.held.is_held);
    let force = |(node, _): &(usize, DVec3)| {
        let offset = problem.model.unknowns.node_offset[*node];
        let along = |axis: usize| match is_held[offset + axis] {
            true => residual[offset + axis] / h,
            false => 0.0,
        };
        (*node, DVec3::new(along(0), along(1), along(2)))
    };
    problem.held.targets.iter().map(force).collect()
}

/// A bound of max ‖(A⁻¹ρ)ⱼ‖ over the nodes that needs no solve (m/s). K and C are positive semidefinite, so A ⪰ M and
/// mⱼ ‖(A⁻¹ρ)ⱼ‖² ≤ ρᵀA⁻¹MA⁻¹ρ ≤ ρᵀM⁻¹ρ, where M is the inertia in A; for every rod and every other body by itself if
/// nothing ties them.
fn momentum_bound(model: &Model, residual: &[f64], scratch: &Scratch) -> f64 {
    let sum = |dofs: Range<usize>| -> f64 {
        let entries = residual[dofs.clone()].iter().zip(&scratch.inertia[dofs]);
        entries.map(|(rho, inertia)| rho * rho / inertia).sum()
    };
    let total = |dofs: Range<usize>| {
        let (first, count) = (dofs.start, dofs.len().div_ceil(CHUNK));
        sum_in_chunks(count, |chunk| {
            let start = first + chunk * CHUNK;
            sum(start..dofs.end.min(start + CHUNK))
        })
    };
    // Not `max`, which passes over what is no number.
    let larger = |most: f64, bound: f64| if bound <= most { most } else { bound };
    let of_body = |body: &Body| {
        let masses = body.nodes.clone().map(|node| model.masses[node]);
        let least = masses.fold(f64::INFINITY, f64::min);
        let most = match (&body.elements, scratch.ties.is_empty()) {
            (_, false) => total(0..residual.len()),
            (Elements::Blocks(_), true) => total(body.dofs.clone()),
            (Elements::Rods(rods), true) => {
                let (first, size) = (body.dofs.start, rods.batch.shape().unknowns());
                let of_rod = |rod: usize| sum(first + rod * size..first + (rod + 1) * size);
                let rods = (0..rods.batch.shape().count).into_par_iter();
                let sums: Vec<f64> = rods.map(of_rod).collect();
                sums.into_iter().fold(0.0, larger)
            }
        };
        (most / least).sqrt()
    };
    model.bodies.iter().map(of_body).fold(0.0, larger)
}

/// Energies after the step, and what flowed during it. Multiplying the equations of the step, M (v − v₀) + hα M v + hC v − h F +
/// h G = ρ + Bᵀ r, by v gives each term, whatever the elastic force −G that the method takes; the numerical loss is what h G v and
/// M (v − v₀) v have beyond the changes of elastic and kinetic energy, less what ρ gives where nothing is held.
fn balance(problem: &Problem<'_>, taken: &Taken<'_>, push: &[f64], scratch: &Scratch) -> Energies {
    let (model, from, to) = (problem.model, problem.from, &taken.to);
    let (h, unknowns, v) = (problem.h(), &model.unknowns, &taken.velocities);
    let dot =
        |a: &[f64], b: &[f64]| sum_in_chunks(a.len().min(b.len()), |place| a[place] * b[place]);
    let tie_energy =
        |positions: &[DVec3]| -> f64 { scratch.ties.iter().map(|tie| tie.value(positions)).sum() };
    let mut after = energies_with(model, to, tie_energy(&to.positions));
    // Ties that were told to change before anything moved.
    let told = tie_energy(&from.positions) - model.tie_energy(from, problem.span.begin);

    // hC v, of the velocities that it was taken at.
    let mut drag = Vec::new();
    match (&taken.drag, &scratch.viscous) {
        (Some(known), _) => drag.clone_from(known),
        (None, Some(viscous)) => {
            drag.resize(v.len(), 0.0);
            viscous.multiply(v, &mut drag);
        }
        (None, None) => {}
    }
    let drag_work = dot(&drag, v);
    let (wind_work, wind_drag) = wind_flows(problem, taken, scratch);
    let damped = |body: &Body| body.elements.mass_damping() > 0.0;
    let medium: f64 = model
        .bodies
        .iter()
        .filter(|body| damped(body))
        .map(|body| {
            let part = h * body.elements.mass_damping() / (1.0 + h * body.elements.mass_damping());
            let first = body.dofs.start;
            let square = |dof: usize| scratch.inertia[first + dof] * v[first + dof].powi(2);
            part * sum_in_chunks(body.dofs.len(), square)
        })
        .sum();
    after.viscous = drag_work - wind_drag + medium;
    let held_work = sum_in_chunks(v.len(), |dof| match problem.held.is_held[dof] {
        true => (taken.residual[dof] - push[dof]) * v[dof],
        false => 0.0,
    });
    after.work = held_work + told + wind_work + h * dot(&scratch.loads, v);
    if let Some(touches) = &taken.touches {
        // r·Bv is what contacts give: r·(Bv + k) less what those give who are told to move.
        for (posed, impulse) in touches.posed.iter().zip(&touches.impulses) {
            let speed = relative(&posed.stencil, posed.drift, |node| {
                unknowns.at_node(v, node as usize)
            });
            after.contact -= impulse.dot(speed);
            after.work -= impulse.dot(posed.drift);
        }
    }

    // h G v = ρ v − (M (1 + hα) v + hC v − f) v.
    let left = sum_in_chunks(v.len(), |dof| {
        (taken.residual[dof] - scratch.inertia[dof] * v[dof] + scratch.impulse[dof]) * v[dof]
    });
    let elastic_work = left - drag_work;
    let moves = if problem.is_static { 0.0 } else { 1.0 };
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
    let unsolved = match taken.solves {
        true => sum_in_chunks(v.len(), |dof| match problem.held.is_held[dof] {
            true => 0.0,
            false => (taken.residual[dof] - push[dof]) * v[dof],
        }),
        false => 0.0,
    };
    after.numerical = elastic_work - (after.elastic - scratch.elastic_start) + momentum
        - (after.kinetic - kinetic_energy(model, from))
        - unsolved;
    after
}

/// The work of the wind (J), and what of it is in C: its drag at the velocities that it was taken at.
fn wind_flows(problem: &Problem<'_>, taken: &Taken<'_>, scratch: &Scratch) -> (f64, f64) {
    let (model, h) = (problem.model, problem.h());
    if model.wind.is_none() {
        return (0.0, 0.0);
    }
    let (mut work, mut drag) = (0.0, 0.0);
    for (body, own) in model.bodies.iter().zip(&scratch.bodies) {
        for (local, node) in body.nodes.clone().enumerate() {
            let velocity = model.unknowns.at_node(&taken.velocities, node);
            let seen = match taken.drag.is_some() {
                true => problem.from.velocities[node],
                false => velocity,
            };
            drag += h * velocity.dot(own.wind.damping[local] * seen);
            work += h * velocity.dot(own.wind.force[local] - own.wind.damping[local] * seen);
        }
    }
    (work, drag)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::energy::linearize::tests::{model, problem, velocities};
    use crate::energy::linearize::{Which, linearize, prepare};

    /// Rods, cloth, a solid, a lattice and a prop, with viscosity and wind; with ties and without.
    #[test]
    fn the_momentum_error_is_never_above_its_bound() {
        let mut tied = model();
        let ties = std::mem::take(&mut tied.ties);
        for ties in [Vec::new(), ties] {
            tied.ties = ties;
            let problem = problem(&tied);
            let mut scratch = Scratch::new(&tied).unwrap();
            prepare(&problem, &mut scratch);
            let rest = vec![0.0; tied.unknowns.count];
            linearize(&problem, &rest, Which::All, &mut scratch);
            let Scratch {
                system,
                posed,
                factor,
                ..
            } = &mut scratch;
            posed.system.hold(system, &problem.held.is_held, |_| true);
            factor.factorize(&posed.system).unwrap();
            for seed in 0..20 {
                let mut residual = velocities(&tied, seed, 1.0);
                for (rho, is_held) in residual.iter_mut().zip(&problem.held.is_held) {
                    *rho = if *is_held { 0.0 } else { *rho };
                }
                let bound = momentum_bound(&tied, &residual, &scratch);
                scratch
                    .factor
                    .solve_in_place(&scratch.posed.system, &mut residual);
                let error = tied.unknowns.largest_at_nodes(&residual);
                assert!(error > 0.0 && error <= bound, "{error} above {bound}");
            }
        }
    }
}
