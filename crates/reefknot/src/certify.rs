//! The certificate of a step, computed from the problem and the accepted motion, never by the
//! solver.

use glam::DVec3;

use crate::energy::total_value;
use crate::integrate::{Scratch, Step};
use crate::model::Model;
use crate::report::{Energies, Phases, StepReport};
use crate::state::{State, flat};

/// Kinetic, elastic and gravity energy of a state (J).
#[must_use]
pub fn energies(model: &Model, state: &State) -> Energies {
    let mut energies = Energies::default();
    for (mass, velocity) in model.masses.iter().zip(&state.velocities) {
        energies.kinetic += 0.5 * mass * velocity.length_squared();
    }
    for (mass, position) in model.masses.iter().zip(&state.positions) {
        energies.gravity -= mass * model.gravity.dot(*position);
    }
    for body in &model.bodies {
        let positions = &state.positions[body.nodes.clone()];
        energies.elastic += total_value(&body.shell.membrane, positions);
        energies.elastic += total_value(&body.shell.hinges, positions);
    }
    energies
}

/// Grades the step from `from` to `to` and packs it up.
pub(crate) fn certify(
    model: &Model,
    from: &State,
    to: State,
    scratch: &Scratch,
    held: &[bool],
) -> Step {
    let h = model.clock.h();
    // ρ = A v − f: on free nodes an error, on held ones the impulse that holds them.
    let mut residual = vec![0.0; 3 * model.masses.len()];
    scratch
        .system
        .multiply(&flat(&to.velocities), &mut residual);
    for (rho, f) in residual.iter_mut().zip(flat(&scratch.impulse)) {
        *rho -= f;
    }
    let pin_forces: Vec<(usize, DVec3)> = (0..held.len())
        .filter(|node| held[*node])
        .map(|node| (node, DVec3::from_slice(&residual[3 * node..]) / h))
        .collect();
    for (node, _) in &pin_forces {
        residual[3 * node..3 * node + 3].fill(0.0);
    }
    scratch.factor.solve_in_place(&mut residual);
    let momentum_error = residual
        .chunks_exact(3)
        .map(|error| h * DVec3::from_slice(error).length())
        .fold(0.0, f64::max);

    let energy_j = balance(model, from, &to, scratch, &pin_forces);
    let max_stretch = model
        .bodies
        .iter()
        .map(|body| {
            let positions = &to.positions[body.nodes.clone()];
            body.shell.membrane.max_stretch(positions)
        })
        .fold(0.0, f64::max);
    let report = StepReport {
        step: to.step,
        time: model.clock.time(to.step),
        contacts: 0,
        iterations: 0,
        intersections: None,
        min_gap_m: None,
        contact_error_m: None,
        momentum_error_m: Some(momentum_error),
        nonlinear_error_m: None,
        max_stretch,
        energy_j,
        wall_s: 0.0,
        cpu_s: None,
        phases_s: Phases::default(),
    };
    Step {
        to,
        report,
        pin_forces,
    }
}

/// Energies after the step, and what flowed during it. Multiplying A v = f + r by v gives each
/// term; the numerical loss of implicit Euler is ½ Δvᵀ M Δv and what the linearised elastic force
/// does beyond the change of the elastic energy.
fn balance(
    model: &Model,
    from: &State,
    to: &State,
    scratch: &Scratch,
    pin_forces: &[(usize, DVec3)],
) -> Energies {
    let h = model.clock.h();
    let mut after = energies(model, to);
    let (mut elastic_before, mut elastic_work) = (0.0, 0.0);
    for (index, body) in model.bodies.iter().enumerate() {
        let nodes = body.nodes.clone();
        let (v, mass) = (&to.velocities[nodes.clone()], &model.masses[nodes.clone()]);
        let gradient = &scratch.gradient[nodes.clone()];
        let (membrane, hinges) = (&scratch.membranes[index], &scratch.hinges[index]);
        elastic_before += membrane.energy() + hinges.energy();
        let (stretch, bend) = (membrane.quadratic_form(v), hinges.quadratic_form(v));
        elastic_work += h * gradient.iter().zip(v).map(|(g, v)| g.dot(*v)).sum::<f64>();
        elastic_work += h * h * (stretch + bend);
        let material = &body.shell.material;
        let drag: f64 = mass
            .iter()
            .zip(v)
            .map(|(m, v)| m * v.length_squared())
            .sum();
        after.viscous += h
            * (material.membrane_damping * stretch
                + material.bending_damping * bend
                + material.mass_damping * drag);
        if model.wind.is_some() {
            let wind = &scratch.winds[index];
            let push = wind.force.iter().zip(&wind.damping).zip(v);
            after.work += h * push.map(|((f, d), v)| v.dot(*f - *d * *v)).sum::<f64>();
        }
    }
    after.work += pin_forces
        .iter()
        .chain(&scratch.loads)
        .map(|(node, force)| h * force.dot(to.velocities[*node]))
        .sum::<f64>();
    let change = to
        .velocities
        .iter()
        .zip(&from.velocities)
        .zip(&model.masses);
    after.numerical = elastic_work - (after.elastic - elastic_before)
        + change
            .map(|((v, v0), mass)| 0.5 * mass * v.distance_squared(*v0))
            .sum::<f64>();
    after
}
