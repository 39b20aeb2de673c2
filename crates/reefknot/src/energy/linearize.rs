//! The equations of a step, all energies and forces in them, and their linearisation.
//!
//! The velocities v of a step (with the turning rates of edges of rods) make the action stationary:
//! ∇𝒜(v) = M (v − v₀) + hC v − h F + h ∇E(x₀ + h v) = 0, with C, F and the frames of rods taken at the start of the step.

use std::borrow::Cow;

use glam::DVec3;
use rayon::prelude::*;
use reefknot_contact::cholesky::parts;
use reefknot_contact::system::{Coupling, Matrix};

use crate::energy::equations::{BodyTerms, Equations, Linearised};
use crate::model::tie::ActiveTie;
use crate::model::{BlockElements, Body, Elements, Model, Trial};
use crate::step_input::StepInput;

/// Where the action is linearised.
#[derive(Clone, Copy, Debug)]
pub(crate) enum At<'v> {
    /// At the start of the step, where nothing has moved. The viscosity of the step is taken here.
    Start,
    /// Where velocities lead.
    Velocities(&'v [f64]),
}

/// M (1 + h α) and f: what stays the same in a step, whatever its velocities. Also the drag of the wind, and ties.
pub(crate) fn prepare(input: &StepInput<'_>, equations: &mut Equations) {
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
            prepare_run(input, body, own, index, [impulse, inertia]);
        });
    }
    for (impulse, load) in equations.impulse.iter_mut().zip(&input.prescribed.loads) {
        *impulse += h * load;
    }
}

/// Impulse and inertia of one run of the unknowns of a body.
fn prepare_run(
    input: &StepInput<'_>,
    body: &Body,
    own: &BodyTerms,
    index: usize,
    [impulse, inertia]: [&mut [f64]; 2],
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
        let mut given = h * force;
        if !input.is_static {
            given += mass * from.velocities[node];
        }
        given.write_to_slice(&mut impulse[offset..]);
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

/// Which bodies are linearised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    /// All, and ties.
    All,
    /// Affine ones; all else stays as it was.
    Affine,
}

impl Which {
    pub(crate) fn has(self, body: &Body) -> bool {
        let is_affine = || matches!(&body.elements, Elements::Blocks(blocks) if blocks.is_affine);
        self == Which::All || is_affine()
    }
}

/// A = M + hC + h²K and ∇𝒜 of some bodies; `to` keeps those of the others. Also ∇E, and at the
/// start C.
pub(crate) fn linearize(
    input: &StepInput<'_>,
    at: At<'_>,
    which: Which,
    equations: &mut Equations,
    to: &mut Linearised,
) {
    let model = input.model;
    let (positions, turns) = match at {
        At::Start => (
            Cow::Borrowed(&input.from.positions[..]),
            vec![0.0; model.edges()],
        ),
        At::Velocities(v) => {
            let (positions, turns) = input.trial(v);
            (Cow::Owned(positions), turns)
        }
    };
    let trial = Trial {
        from: input.from,
        positions: &positions,
        turns: &turns,
    };
    linearize_bodies(input, (at, &trial), which, equations, to);
    for body in model.bodies.iter().filter(|body| which.has(body)) {
        let point = &mut to.point[body.dofs.clone()];
        match at {
            At::Start => point.fill(0.0),
            At::Velocities(v) => point.copy_from_slice(&v[body.dofs.clone()]),
        }
    }
    let h = input.h();
    if which == Which::All {
        let coupling = |tie: &ActiveTie| Coupling {
            nodes: tie.nodes.clone(),
            block: tie.block(&positions) * (h * h),
        };
        to.system
            .couple(equations.ties.iter().map(coupling).collect());
        to.tie_point.clone_from(&to.point);
        differentiate_ties(model, &positions, equations);
    }
    equations.fill_residual(&to.point, h, &mut to.residual);
    if !equations.ties.is_empty() {
        // Ties are linearised with all bodies, some of which may be linearised elsewhere by now.
        let points = to.point.iter().zip(&to.tie_point);
        let beyond: Vec<f64> = points.map(|(point, known)| point - known).collect();
        to.system.multiply_couplings(&beyond, &mut to.residual);
        equations.add_ties(h, &mut to.residual);
    }
}

/// Matrices and gradients of the bodies themselves.
fn linearize_bodies(
    input: &StepInput<'_>,
    (at, trial): (At<'_>, &Trial<'_>),
    which: Which,
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
    let gradients = parts(
        &mut equations.gradient,
        model.bodies.iter().map(|body| body.dofs.len()),
    );
    let work: Vec<_> = model
        .bodies
        .iter()
        .zip(&mut equations.bodies)
        .zip(to.system.bodies.iter_mut().zip(viscous))
        .zip(gradients)
        .filter(|(((body, _), _), _)| which.has(body))
        .collect();
    let inertia = &equations.inertia;
    work.into_par_iter()
        .for_each(|(((body, own), (to, viscous)), gradient)| {
            let matrix = &mut to.matrix;
            evaluate(body, trial, own);
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
                if let At::Start = at {
                    fill_viscous(body, input, own, viscous, gradient);
                }
                matrix.copy_from(viscous);
            } else {
                matrix.clear();
            }
            add_elastic(body, trial, h, own, (matrix, gradient));
            matrix.add_diagonal(inertia);
        });
}

/// Values, gradients and Hessians of the elements of a body; rods do that where they need them.
fn evaluate(body: &Body, trial: &Trial<'_>, own: &mut BodyTerms) {
    if let Elements::Blocks(blocks) = &body.elements {
        let positions = &trial.positions[body.nodes.clone()];
        own.elastic = 0.0;
        for (term, buffer) in blocks.terms.iter().zip(&mut own.buffers) {
            term.fill(buffer, positions);
            own.elastic += buffer.energy();
        }
    }
}

/// hC of one body at the start of the step: in proportion to the parts of K, and the drag of the wind.
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

/// h²K and ∇E of one body.
fn add_elastic(
    body: &Body,
    trial: &Trial<'_>,
    h: f64,
    own: &mut BodyTerms,
    (matrix, gradient): (&mut Matrix, &mut [f64]),
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
        _ => unreachable!("a matrix of another kind than its body"),
    }
}

/// The sum of the gradients of all energies of a body.
fn gather_gradients(blocks: &BlockElements, own: &BodyTerms, gradient: &mut [f64]) {
    let mut nodes = vec![DVec3::ZERO; gradient.len() / 3];
    for (term, buffer) in blocks.terms.iter().zip(&own.buffers) {
        term.map.gather_gradients(buffer, 1.0, &mut nodes);
    }
    for (value, entries) in nodes.iter().zip(gradient.chunks_exact_mut(3)) {
        value.write_to_slice(entries);
    }
}

/// ∇𝒜(v) (N s) of all bodies, without K. Also ∇E.
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
    let gradients = parts(
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

/// 𝒜(v) (J): what a step makes stationary.
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

/// ∇E of the springs between points, at some positions.
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
