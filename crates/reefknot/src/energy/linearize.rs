//! The equations of a step, all energies and forces in them, and their linearisation.
//!
//! The velocities v of a step (with the turning rates of edges of rods) make the action stationary:
//! ∇𝒜(v) = M (v − v₀) + hC v − h F + h ∇E(x₀ + h v) = 0, with C, F and the frames of rods taken at the start of the step.

use std::borrow::Cow;

use glam::DVec3;
use rayon::prelude::*;
use reefknot_contact::cholesky::parts;
use reefknot_contact::system::{Coupling, Matrix};

use crate::energy::CHUNK;
use crate::integrate::{BodyScratch, Scratch};
use crate::model::kinematics::Held;
use crate::model::tie::ActiveTie;
use crate::model::{BlockElements, Body, Elements, Model, Trial};
use crate::state::{Span, State};

/// A step that is to be taken.
pub(crate) struct Problem<'a> {
    pub(crate) model: &'a Model,
    pub(crate) from: &'a State,
    pub(crate) span: Span,
    pub(crate) held: Held,
    /// Whether the step begins at rest, wherever it comes from.
    pub(crate) is_static: bool,
}

impl Problem<'_> {
    /// The time step (s).
    pub(crate) fn h(&self) -> f64 {
        self.span.h
    }

    /// Positions and turns that velocities lead to; held nodes are exactly where they are told if they move as told.
    pub(crate) fn trial(&self, v: &[f64]) -> (Vec<DVec3>, Vec<f64>) {
        let (unknowns, h) = (&self.model.unknowns, self.h());
        let starts = self.from.positions.par_iter().with_min_len(CHUNK);
        let positions = starts
            .enumerate()
            .map(|(node, x)| *x + h * unknowns.at_node(v, node));
        let rates = unknowns.edge_offset.par_iter().with_min_len(CHUNK);
        let turns = rates.map(|offset| h * v[*offset]);
        (positions.collect(), turns.collect())
    }

    /// Where nodes end the step with these velocities: held ones exactly where they are told.
    pub(crate) fn ends(&self, v: &[f64]) -> Vec<DVec3> {
        let (mut positions, _) = self.trial(v);
        self.put_held(&mut positions);
        positions
    }

    /// Puts held nodes where they are told: not x + h v, so that bits do not drift.
    pub(crate) fn put_held(&self, positions: &mut [DVec3]) {
        for (node, target) in &self.held.targets {
            let offset = self.model.unknowns.node_offset[*node];
            for axis in (0..3).filter(|axis| self.held.is_held[offset + axis]) {
                positions[*node][axis] = target[axis];
            }
        }
    }

    /// The velocities that held unknowns are told (m/s, rad/s), by their place in flat vectors.
    pub(crate) fn told(&self) -> Vec<(usize, f64)> {
        let (unknowns, h) = (&self.model.unknowns, self.h());
        let mut told = Vec::new();
        for (node, target) in &self.held.targets {
            let velocity = (*target - self.from.positions[*node]) / h;
            let offset = unknowns.node_offset[*node];
            let rates = (offset..).zip(velocity.to_array());
            told.extend(rates.filter(|(dof, _)| self.held.is_held[*dof]));
        }
        let turns = self.held.turns.iter();
        told.extend(turns.map(|(edge, turn)| (unknowns.edge_offset[*edge], turn / h)));
        told
    }
}

/// M (1 + h α) and f: what stays the same in a step, whatever its velocities. Also the drag of the wind, and ties.
pub(crate) fn prepare(problem: &Problem<'_>, scratch: &mut Scratch) {
    let (model, from, h) = (problem.model, problem.from, problem.h());
    scratch.ties = model.active_ties(from, &problem.span);
    scratch.loads = model.load_forces(from, &problem.span);
    let time = problem.span.begin;
    let work = model.bodies.par_iter().zip(&mut scratch.bodies);
    work.for_each(|(body, own)| {
        if let Some((field, air)) = &model.wind {
            let nodes = body.nodes.clone();
            let (positions, velocities) = (&from.positions[nodes.clone()], &from.velocities[nodes]);
            own.wind.update(air, field, time, positions, velocities);
        }
    });
    for (body, own) in model.bodies.iter().zip(&scratch.bodies) {
        let run = body.run();
        let dofs = body.dofs.clone();
        let impulses = scratch.impulse[dofs.clone()].par_chunks_mut(run.dofs());
        let inertias = scratch.inertia[dofs].par_chunks_mut(run.dofs());
        let runs = impulses.zip(inertias).enumerate();
        runs.for_each(|(index, (impulse, inertia))| {
            prepare_run(problem, body, own, index, [impulse, inertia]);
        });
    }
    for (impulse, load) in scratch.impulse.iter_mut().zip(&scratch.loads) {
        *impulse += h * load;
    }
}

/// Impulse and inertia of one run of the unknowns of a body.
fn prepare_run(
    problem: &Problem<'_>,
    body: &Body,
    own: &BodyScratch,
    index: usize,
    [impulse, inertia]: [&mut [f64]; 2],
) {
    let (model, from, h) = (problem.model, problem.from, problem.h());
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
        if !problem.is_static {
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
        let spin = if problem.is_static {
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

/// Fills the scratch with A = M + hC + h²K, ∇E and ∇𝒜 for some bodies at velocities v. At the start of the step, where v is
/// zero, C is taken too.
pub(crate) fn linearize(problem: &Problem<'_>, v: &[f64], which: Which, scratch: &mut Scratch) {
    let model = problem.model;
    let first = v.iter().all(|entry| *entry == 0.0);
    let (positions, turns) = match first {
        true => (
            Cow::Borrowed(&problem.from.positions[..]),
            vec![0.0; model.edges()],
        ),
        false => {
            let (positions, turns) = problem.trial(v);
            (Cow::Owned(positions), turns)
        }
    };
    let trial = Trial {
        from: problem.from,
        positions: &positions,
        turns: &turns,
    };
    let h = problem.h();
    let viscous: Vec<Option<&mut Matrix>> = match &mut scratch.viscous {
        Some(viscous) => viscous
            .bodies
            .iter_mut()
            .map(|body| Some(&mut body.matrix))
            .collect(),
        None => model.bodies.iter().map(|_| None).collect(),
    };
    let gradients = parts(
        &mut scratch.gradient,
        model.bodies.iter().map(|body| body.dofs.len()),
    );
    let work: Vec<_> = model
        .bodies
        .iter()
        .zip(&mut scratch.bodies)
        .zip(scratch.system.bodies.iter_mut().zip(viscous))
        .zip(gradients)
        .filter(|(((body, _), _), _)| which.has(body))
        .collect();
    let inertia = &scratch.inertia;
    work.into_par_iter()
        .for_each(|(((body, own), (to, viscous)), gradient)| {
            let matrix = &mut to.matrix;
            evaluate(body, &trial, own);
            let inertia = &inertia[body.dofs.clone()];
            if let (None, Elements::Rods(rods), Matrix::Rods(matrix)) =
                (&viscous, &body.elements, &mut *matrix)
            {
                let pose = body.rod_pose(rods, &trial);
                let scales = [h * h; 3];
                own.elastic =
                    (rods.batch).linearize_onto_diagonal(&pose, scales, inertia, matrix, gradient);
                return;
            }
            if let Some(viscous) = viscous {
                if first {
                    fill_viscous(body, problem, own, viscous, gradient);
                }
                matrix.copy_from(viscous);
            } else {
                matrix.clear();
            }
            add_elastic(body, &trial, h, own, matrix, gradient);
            matrix.add_diagonal(inertia);
        });
    for body in model.bodies.iter().filter(|body| which.has(body)) {
        scratch.point[body.dofs.clone()].copy_from_slice(&v[body.dofs.clone()]);
    }
    if which == Which::All {
        let coupling = |tie: &ActiveTie| Coupling {
            nodes: tie.nodes.clone(),
            block: tie.block(&positions) * (h * h),
        };
        scratch
            .system
            .couple(scratch.ties.iter().map(coupling).collect());
        differentiate_ties(model, v, &positions, scratch);
    }
    fill_residual(scratch, h);
}

/// Values, gradients and Hessians of the elements of a body; rods do that where they need them.
fn evaluate(body: &Body, trial: &Trial<'_>, own: &mut BodyScratch) {
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
    problem: &Problem<'_>,
    own: &BodyScratch,
    viscous: &mut Matrix,
    gradient: &mut [f64],
) {
    let h = problem.h();
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
            let turns = vec![0.0; problem.model.edges()];
            let pose = body.rod_pose(rods, &Trial::start(problem.from, &turns));
            let scales = rods.damping.map(|damping| h * damping);
            rods.batch.linearize(&pose, scales, viscous, gradient);
        }
        _ => {}
    }
    if problem.model.wind.is_some() {
        let offsets = &problem.model.unknowns.node_offset[body.nodes.clone()];
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
    own: &mut BodyScratch,
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
        _ => unreachable!("a matrix of another kind than its body"),
    }
}

/// The sum of the gradients of all energies of a body.
fn gather_gradients(blocks: &BlockElements, own: &BodyScratch, gradient: &mut [f64]) {
    let mut nodes = vec![DVec3::ZERO; gradient.len() / 3];
    for (term, buffer) in blocks.terms.iter().zip(&own.buffers) {
        term.map.gather_gradients(buffer, 1.0, &mut nodes);
    }
    for (value, entries) in nodes.iter().zip(gradient.chunks_exact_mut(3)) {
        value.write_to_slice(entries);
    }
}

/// ∇E and ∇𝒜 of all bodies at velocities v, without K: A stays that of the last linearisation.
pub(crate) fn differentiate(problem: &Problem<'_>, v: &[f64], scratch: &mut Scratch) {
    let model = problem.model;
    let (positions, turns) = problem.trial(v);
    let trial = Trial {
        from: problem.from,
        positions: &positions,
        turns: &turns,
    };
    let gradients = parts(
        &mut scratch.gradient,
        model.bodies.iter().map(|body| body.dofs.len()),
    );
    let work: Vec<_> = model
        .bodies
        .iter()
        .zip(&mut scratch.bodies)
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
    differentiate_ties(model, v, &positions, scratch);
    scratch.point.copy_from_slice(v);
    fill_residual(scratch, problem.h());
}

/// Energy of the elements and of ties at the last linearisation or differentiation (J).
pub(crate) fn elastic_energy(scratch: &Scratch, positions: &[DVec3]) -> f64 {
    let bodies: f64 = scratch.bodies.iter().map(|own| own.elastic).sum();
    let ties = scratch.ties.iter().map(|tie| tie.value(positions));
    bodies + ties.sum::<f64>()
}

/// 𝒜(v) (J): what a step makes stationary.
pub(crate) fn action(problem: &Problem<'_>, v: &[f64], scratch: &Scratch) -> f64 {
    let model = problem.model;
    let (positions, turns) = problem.trial(v);
    let trial = Trial {
        from: problem.from,
        positions: &positions,
        turns: &turns,
    };
    let elastic: Vec<f64> = model
        .bodies
        .par_iter()
        .map(|body| body.elastic_energy(&trial))
        .collect();
    let ties = scratch.ties.iter().map(|tie| tie.value(&positions));
    let mut sum = elastic.iter().sum::<f64>() + ties.sum::<f64>();
    for ((v, inertia), impulse) in v.iter().zip(&scratch.inertia).zip(&scratch.impulse) {
        sum += 0.5 * inertia * v * v - impulse * v;
    }
    if let Some(viscous) = &scratch.viscous {
        let mut product = vec![0.0; v.len()];
        viscous.multiply(v, &mut product);
        sum += 0.5 * v.iter().zip(&product).map(|(v, p)| v * p).sum::<f64>();
    }
    sum
}

/// ∇E of the springs between points, at velocities v that lead to some positions.
fn differentiate_ties(model: &Model, v: &[f64], positions: &[DVec3], scratch: &mut Scratch) {
    if scratch.ties.is_empty() {
        return;
    }
    scratch.tie_point.clear();
    scratch.tie_point.extend_from_slice(v);
    scratch.tie_gradient.clear();
    scratch.tie_gradient.resize(v.len(), 0.0);
    for tie in &scratch.ties {
        let force = tie.gradient(positions);
        for (node, weight) in &tie.nodes {
            let offset = model.unknowns.node_offset[*node as usize];
            let flat = &mut scratch.tie_gradient[offset..];
            (DVec3::from_slice(flat) + force * *weight).write_to_slice(flat);
        }
    }
}

/// ∇𝒜 = M (1 + hα) v + hC v − f + h ∇E at the velocities of the last linearisation.
fn fill_residual(scratch: &mut Scratch, h: f64) {
    let Scratch {
        residual,
        point,
        viscous,
        ..
    } = scratch;
    match viscous {
        Some(viscous) => viscous.multiply(point, residual),
        None => residual.fill(0.0),
    }
    let known = (&scratch.inertia, &scratch.impulse, &scratch.gradient);
    let residuals = scratch.residual.par_iter_mut().zip(&scratch.point);
    let residuals = residuals.with_min_len(CHUNK).enumerate();
    residuals.for_each(|(dof, (residual, point))| {
        *residual += known.0[dof] * point - known.1[dof] + h * known.2[dof];
    });
    if !scratch.ties.is_empty() {
        let points = scratch.point.iter().zip(&scratch.tie_point);
        let beyond: Vec<f64> = points.map(|(point, known)| point - known).collect();
        scratch
            .system
            .multiply_couplings(&beyond, &mut scratch.residual);
        for (residual, gradient) in scratch.residual.iter_mut().zip(&scratch.tie_gradient) {
            *residual += h * gradient;
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
