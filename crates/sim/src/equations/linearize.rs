//! Assembly of the equations of a step: action, gradient and linearisation.
//!
//! The velocities v of a step, with the spins of rod edges, make the action stationary:
//! ∇𝒜(v) = M (v − v₀) + hC v − h F + h ∇E(x₀ + h v) = 0. C, F and the material frames of rods are
//! those at the start of the step.

use std::borrow::Cow;

use glam::DVec3;
use rayon::prelude::*;
use reefknot_contact::parallel::split_by_lengths;
use reefknot_contact::system::{Coupling, Matrix};

use crate::energy::Curvature;
use crate::equations::{BodyTerms, Equations, Linearised};
use crate::model::tie::ActiveTie;
use crate::model::{BlockElements, Body, Elements, Model, Trial};
use crate::step_input::StepInput;

/// The point at which the action is linearised.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LinearisationPoint<'v> {
    /// The positions at the start of the step. This also evaluates C.
    Start,
    /// The positions that velocities lead to.
    Velocities(&'v [f64]),
}

/// Computes the terms that are constant in a step: M (1 + h α), f, the drag of the wind, and ties.
pub(crate) fn prepare(input: &StepInput<'_>, equations: &mut Equations) {
    equations.curvature = Curvature::Projected;
    let (model, from, h) = (input.model, input.from, input.h());
    equations.ties = model.active_ties(from, &input.span);
    let time = input.span.begin;
    let work = model.bodies.par_iter().zip(&mut equations.bodies);
    work.for_each(|(body, own)| {
        if let Some((field, air)) = &model.wind {
            let nodes = body.nodes.clone();
            let (positions, velocities) = (&from.positions[nodes.clone()], &from.velocities[nodes]);
            own.wind.update(air, field, time, positions, velocities);
        }
    });
    for (body, own) in model.bodies.iter().zip(&equations.bodies) {
        let run = body.run();
        let dofs = body.dofs.clone();
        let impulses = equations.impulse[dofs.clone()].par_chunks_mut(run.dofs());
        let inertias = equations.inertia[dofs].par_chunks_mut(run.dofs());
        let runs = impulses.zip(inertias).enumerate();
        runs.for_each(|(index, (impulse, inertia))| {
            prepare_run(input, body, own, index, impulse, inertia);
        });
    }
    for (impulse, load) in equations.impulse.iter_mut().zip(&input.prescribed.loads) {
        *impulse += h * load;
    }
}

/// Impulse and inertia of one run of consecutive unknowns of a body.
fn prepare_run(
    input: &StepInput<'_>,
    body: &Body,
    own: &BodyTerms,
    index: usize,
    impulse: &mut [f64],
    inertia: &mut [f64],
) {
    let (model, from, h) = (input.model, input.from, input.h());
    let (unknowns, run) = (&model.unknowns, body.run());
    let drag = 1.0 + h * body.elements.mass_damping();
    let first = body.dofs.start + index * run.dofs();
    for node in run.nodes_of(index, body) {
        let (mass, offset) = (model.masses[node], unknowns.node_offset[node] - first);
        let mut force = model.weights[node] * model.gravity;
        if model.wind.is_some() {
            force += own.wind.force[node - body.nodes.start];
        }
        let mut momentum = h * force;
        if !input.is_static {
            momentum += mass * from.velocities[node];
        }
        momentum.write_to_slice(&mut impulse[offset..]);
        inertia[offset..offset + 3].fill(mass * drag);
    }
    for edge in run.edges_of(index, body) {
        let (moment, offset) = (
            model.twist_inertias[edge],
            unknowns.edge_offset[edge] - first,
        );
        let spin = if input.is_static {
            0.0
        } else {
            from.spins[edge]
        };
        impulse[offset] = moment * spin;
        inertia[offset] = moment * drag;
    }
}

/// The bodies that are linearised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodySubset {
    /// All bodies, and ties.
    All,
    /// Affine bodies. The other ones and ties keep their linearisation.
    Affine,
}

impl BodySubset {
    pub(crate) fn contains(self, body: &Body) -> bool {
        let is_affine = || matches!(&body.elements, Elements::Blocks(blocks) if blocks.is_affine);
        self == BodySubset::All || is_affine()
    }
}

/// Computes A = M + hC + h²K, ∇𝒜 and ∇E of a subset of bodies, and at the start of the step C.
pub(crate) fn linearize(
    input: &StepInput<'_>,
    at: LinearisationPoint<'_>,
    subset: BodySubset,
    equations: &mut Equations,
    to: &mut Linearised,
) {
    let model = input.model;
    let (positions, turns) = match at {
        LinearisationPoint::Start => (
            Cow::Borrowed(&input.from.positions[..]),
            vec![0.0; model.edges()],
        ),
        LinearisationPoint::Velocities(v) => {
            let (positions, turns) = input.trial(v);
            (Cow::Owned(positions), turns)
        }
    };
    let trial = Trial {
        from: input.from,
        positions: &positions,
        turns: &turns,
    };
    linearize_bodies(input, at, &trial, subset, equations, to);
    for body in model.bodies.iter().filter(|body| subset.contains(body)) {
        let point = &mut to.point[body.dofs.clone()];
        match at {
            LinearisationPoint::Start => point.fill(0.0),
            LinearisationPoint::Velocities(v) => point.copy_from_slice(&v[body.dofs.clone()]),
        }
    }
    let h = input.h();
    if subset == BodySubset::All {
        let coupling = |tie: &ActiveTie| Coupling {
            nodes: tie.nodes.clone(),
            block: tie.block(&positions) * (h * h),
        };
        to.system
            .set_couplings(equations.ties.iter().map(coupling).collect());
        to.tie_point.clone_from(&to.point);
        differentiate_ties(model, &positions, equations);
    }
    equations.fill_residual(&to.point, h, &mut to.residual);
    if !equations.ties.is_empty() {
        // Affine bodies may have been relinearised at another point than the ties.
        let points = to.point.iter().zip(&to.tie_point);
        let offset: Vec<f64> = points.map(|(point, known)| point - known).collect();
        to.system.multiply_couplings(&offset, &mut to.residual);
        equations.add_ties(h, &mut to.residual);
    }
}

/// Matrices and gradients of bodies, without ties.
fn linearize_bodies(
    input: &StepInput<'_>,
    at: LinearisationPoint<'_>,
    trial: &Trial<'_>,
    subset: BodySubset,
    equations: &mut Equations,
    to: &mut Linearised,
) {
    let (model, h) = (input.model, input.h());
    let viscous: Vec<Option<&mut Matrix>> = match &mut equations.viscous {
        Some(viscous) => viscous
            .bodies
            .iter_mut()
            .map(|body| Some(&mut body.matrix))
            .collect(),
        None => model.bodies.iter().map(|_| None).collect(),
    };
    let gradients = split_by_lengths(
        &mut equations.gradient,
        model.bodies.iter().map(|body| body.dofs.len()),
    );
    let work: Vec<_> = model
        .bodies
        .iter()
        .zip(&mut equations.bodies)
        .zip(to.system.bodies.iter_mut().zip(viscous))
        .zip(gradients)
        .filter(|(((body, _), _), _)| subset.contains(body))
        .collect();
    let (inertia, curvature) = (&equations.inertia, equations.curvature);
    work.into_par_iter()
        .for_each(|(((body, own), (to, viscous)), gradient)| {
            let matrix = &mut to.matrix;
            evaluate(body, trial, curvature, own);
            let inertia = &inertia[body.dofs.clone()];
            if let (None, Elements::Rods(rods), Matrix::Rods(matrix)) =
                (&viscous, &body.elements, &mut *matrix)
            {
                let pose = body.rod_pose(rods, trial);
                let scales = [h * h; 3];
                own.elastic =
                    (rods.batch).linearize_onto_diagonal(&pose, scales, inertia, matrix, gradient);
                return;
            }
            if let Some(viscous) = viscous {
                if let LinearisationPoint::Start = at {
                    fill_viscous(body, input, own, viscous, gradient);
                }
                matrix.copy_from(viscous);
            } else {
                matrix.clear();
            }
            add_elastic(body, trial, h, own, matrix, gradient);
            matrix.add_diagonal(inertia);
        });
}

/// Evaluates values, gradients and Hessians of the elements of a body. Rods evaluate theirs during
/// assembly.
fn evaluate(body: &Body, trial: &Trial<'_>, curvature: Curvature, own: &mut BodyTerms) {
    if let Elements::Blocks(blocks) = &body.elements {
        let positions = &trial.positions[body.nodes.clone()];
        own.elastic = 0.0;
        for (term, buffer) in blocks.terms.iter().zip(&mut own.buffers) {
            term.fill(buffer, positions, curvature);
            own.elastic += buffer.energy();
        }
    }
}

/// Assembles hC of one body at the start of the step: terms proportional to the parts of K, and the
/// drag of the wind.
fn fill_viscous(
    body: &Body,
    input: &StepInput<'_>,
    own: &BodyTerms,
    viscous: &mut Matrix,
    gradient: &mut [f64],
) {
    let h = input.h();
    viscous.clear();
    match (&body.elements, &mut *viscous) {
        (Elements::Blocks(blocks), Matrix::Blocks(viscous)) => {
            let terms = blocks.terms.iter().zip(&own.buffers);
            for (term, buffer) in terms.filter(|(term, _)| term.damping > 0.0) {
                let scale = h * term.damping;
                term.map.gather_blocks(buffer, scale, &mut viscous.values);
            }
        }
        (Elements::Rods(rods), Matrix::Rods(viscous)) if body.elements.is_viscous() => {
            let turns = vec![0.0; input.model.edges()];
            let pose = body.rod_pose(rods, &Trial::start(input.from, &turns));
            let scales = rods.damping.map(|damping| h * damping);
            rods.batch.linearize(&pose, scales, viscous, gradient);
        }
        _ => {}
    }
    if input.model.wind.is_some() {
        let offsets = &input.model.unknowns.node_offset[body.nodes.clone()];
        for (offset, drag) in offsets.iter().zip(&own.wind.damping) {
            viscous.add_block(offset - body.dofs.start, &(*drag * h));
        }
    }
}

/// Adds h²K of one body to `matrix` and computes its ∇E.
fn add_elastic(
    body: &Body,
    trial: &Trial<'_>,
    h: f64,
    own: &mut BodyTerms,
    matrix: &mut Matrix,
    gradient: &mut [f64],
) {
    match (&body.elements, matrix) {
        (Elements::Blocks(blocks), Matrix::Blocks(matrix)) => {
            for (term, buffer) in blocks.terms.iter().zip(&own.buffers) {
                term.map.gather_blocks(buffer, h * h, &mut matrix.values);
            }
            gather_gradients(blocks, own, gradient);
        }
        (Elements::Rods(rods), Matrix::Rods(matrix)) => {
            let pose = body.rod_pose(rods, trial);
            own.elastic = rods.batch.linearize(&pose, [h * h; 3], matrix, gradient);
        }
        _ => unreachable!("body and matrix are of the same kind"),
    }
}

/// Sum of the gradients of all energies of a body.
fn gather_gradients(blocks: &BlockElements, own: &BodyTerms, gradient: &mut [f64]) {
    let mut nodes = vec![DVec3::ZERO; gradient.len() / 3];
    for (term, buffer) in blocks.terms.iter().zip(&own.buffers) {
        term.map.gather_gradients(buffer, 1.0, &mut nodes);
    }
    for (value, entries) in nodes.iter().zip(gradient.chunks_exact_mut(3)) {
        value.write_to_slice(entries);
    }
}

/// ∇𝒜(v) of all bodies (N s), without evaluating K. Also evaluates ∇E.
pub(crate) fn differentiate(
    input: &StepInput<'_>,
    v: &[f64],
    equations: &mut Equations,
) -> Vec<f64> {
    let model = input.model;
    let (positions, turns) = input.trial(v);
    let trial = Trial {
        from: input.from,
        positions: &positions,
        turns: &turns,
    };
    let gradients = split_by_lengths(
        &mut equations.gradient,
        model.bodies.iter().map(|body| body.dofs.len()),
    );
    let work: Vec<_> = model
        .bodies
        .iter()
        .zip(&mut equations.bodies)
        .zip(gradients)
        .collect();
    work.into_par_iter().for_each(|((body, own), gradient)| {
        let positions = &trial.positions[body.nodes.clone()];
        match &body.elements {
            Elements::Blocks(blocks) => {
                own.elastic = 0.0;
                for (term, buffer) in blocks.terms.iter().zip(&mut own.buffers) {
                    term.fill_gradients(buffer, positions);
                    own.elastic += buffer.energy();
                }
                gather_gradients(blocks, own, gradient);
            }
            Elements::Rods(rods) => {
                own.elastic = rods.batch.gradient(&body.rod_pose(rods, &trial), gradient);
            }
        }
    });
    differentiate_ties(model, &positions, equations);
    let mut residual = vec![0.0; v.len()];
    equations.fill_residual(v, input.h(), &mut residual);
    if !equations.ties.is_empty() {
        equations.add_ties(input.h(), &mut residual);
    }
    residual
}

/// The action 𝒜(v) (J).
pub(crate) fn action(input: &StepInput<'_>, v: &[f64], equations: &Equations) -> f64 {
    let model = input.model;
    let (positions, turns) = input.trial(v);
    let trial = Trial {
        from: input.from,
        positions: &positions,
        turns: &turns,
    };
    let elastic: Vec<f64> = model
        .bodies
        .par_iter()
        .map(|body| body.elastic_energy(&trial))
        .collect();
    let ties = equations.ties.iter().map(|tie| tie.value(&positions));
    let mut sum = elastic.iter().sum::<f64>() + ties.sum::<f64>();
    for ((v, inertia), impulse) in v.iter().zip(&equations.inertia).zip(&equations.impulse) {
        sum += 0.5 * inertia * v * v - impulse * v;
    }
    if let Some(viscous) = &equations.viscous {
        let mut product = vec![0.0; v.len()];
        viscous.multiply(v, &mut product);
        sum += 0.5 * v.iter().zip(&product).map(|(v, p)| v * p).sum::<f64>();
    }
    sum
}

/// Right-hand side f of A v = f: A v_k − ∇𝒜(v_k), with held unknowns eliminated. In rows of held
/// unknowns it is their prescribed velocity.
pub(crate) fn right_hand_side(input: &StepInput<'_>, linearised: &Linearised) -> Vec<f64> {
    let held = input.held_velocities();
    let mut point = linearised.point.clone();
    for (dof, rate) in &held {
        point[*dof] -= rate;
    }
    let mut force = vec![0.0; point.len()];
    linearised.system.multiply(&point, &mut force);
    for (force, residual) in force.iter_mut().zip(&linearised.residual) {
        *force -= residual;
    }
    for (dof, rate) in &held {
        force[*dof] = *rate;
    }
    force
}

/// ∇E of ties at `positions`.
fn differentiate_ties(model: &Model, positions: &[DVec3], equations: &mut Equations) {
    if equations.ties.is_empty() {
        return;
    }
    equations.tie_gradient.clear();
    equations.tie_gradient.resize(model.unknowns.count, 0.0);
    for tie in &equations.ties {
        let force = tie.gradient(positions);
        for (node, weight) in &tie.nodes {
            let offset = model.unknowns.node_offset[*node as usize];
            let flat = &mut equations.tie_gradient[offset..];
            (DVec3::from_slice(flat) + force * *weight).write_to_slice(flat);
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
