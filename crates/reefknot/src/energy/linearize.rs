//! The linear system of a step: all energies and forces, differentiated at its start.

use glam::{DMat3, DVec3};

use crate::integrate::Scratch;
use crate::model::{Body, Model};
use crate::state::State;

/// Fills the scratch with A = M + hC + h²K and f = M v₀ + h F at `from`.
///
/// K is the positive semidefinite part of the elastic Hessian, C the viscosity (in proportion to
/// the parts of K), the drag of the medium and that of the wind.
pub fn linearize(model: &Model, from: &State, h: f64, scratch: &mut Scratch) {
    scratch.loads = model.load_forces(from);
    for (index, body) in model.bodies.iter().enumerate() {
        linearize_body(model, index, body, from, h, scratch);
    }
    for (node, force) in &scratch.loads {
        scratch.impulse[*node] += h * *force;
    }
}

fn linearize_body(
    model: &Model,
    index: usize,
    body: &Body,
    from: &State,
    h: f64,
    scratch: &mut Scratch,
) {
    let nodes = body.nodes.clone();
    let shell = &*body.shell;
    let positions = &from.positions[nodes.clone()];
    let velocities = &from.velocities[nodes.clone()];
    let masses = &model.masses[nodes.clone()];
    let material = &shell.material;

    let (membrane, hinges) = (&mut scratch.membranes[index], &mut scratch.hinges[index]);
    membrane.fill(&shell.membrane, positions);
    hinges.fill(&shell.hinges, positions);
    let matrix = &mut scratch.system.bodies[index].matrix;
    matrix.values.fill(DMat3::ZERO);
    let scale = |damping: f64| h * h + h * damping;
    shell.membrane_map.gather_blocks(
        membrane,
        scale(material.membrane_damping),
        &mut matrix.values,
    );
    shell
        .hinge_map
        .gather_blocks(hinges, scale(material.bending_damping), &mut matrix.values);
    let gradient = &mut scratch.gradient[nodes.clone()];
    gradient.fill(DVec3::ZERO);
    shell.membrane_map.gather_gradients(membrane, 1.0, gradient);
    shell.hinge_map.gather_gradients(hinges, 1.0, gradient);

    let wind = model.wind.as_ref().map(|(field, air)| {
        let load = &mut scratch.winds[index];
        load.update(
            air,
            field,
            model.clock.time(from.step),
            positions,
            velocities,
        );
        &*load
    });
    let impulse = &mut scratch.impulse[nodes];
    for node in 0..masses.len() {
        let mass = masses[node];
        let mut force = mass * model.gravity - gradient[node];
        let mut inertia =
            DMat3::from_diagonal(DVec3::splat(mass * (1.0 + h * material.mass_damping)));
        if let Some(load) = wind {
            force += load.force[node];
            inertia += load.damping[node] * h;
        }
        impulse[node] = mass * velocities[node] + h * force;
        let diagonal = matrix.pattern().column(node).start;
        matrix.values[diagonal] += inertia;
    }
}
