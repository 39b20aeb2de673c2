//! What implicit methods share: solving for the velocities of a step, and taking them.

use glam::DVec3;
use rayon::prelude::*;

use super::{Scratch, StepError};
use crate::energy::CHUNK;
use crate::energy::linearize::{Problem, Which};
use crate::model::{Elements, Model, Trial};
use crate::state::State;

/// Triangles below this part of their rest area have no direction any more.
const COLLAPSED: f64 = 1e-6;

/// Solves A (v − v_k) = −∇𝒜(v_k) for the free unknowns; held ones go as they are told.
pub(super) fn solve(problem: &Problem<'_>, scratch: &mut Scratch) -> Result<Vec<f64>, StepError> {
    let model = problem.model;
    let (mut change, mut pull) = (scratch.vector(), scratch.vector());
    let Scratch {
        system,
        posed,
        factor,
        residual,
        point,
        moving,
        ..
    } = scratch;
    posed.system.hold(system, &problem.held.is_held, |_| true);
    factor
        .factorize(&posed.system)
        .map_err(|error| StepError::linear(model, &model.bodies[error.body], error.source))?;
    let entries = change.par_iter_mut().zip(&*residual).with_min_len(CHUNK);
    entries.for_each(|(change, entry)| *change = -entry);
    let mut told = problem.told();
    for (dof, rate) in &mut told {
        *rate -= point[*dof];
    }
    // What held unknowns do to free ones: A_fp δ_p moves to the right-hand side.
    if told.iter().any(|(_, rate)| *rate != 0.0) {
        for (dof, rate) in &told {
            moving[*dof] = *rate;
        }
        system.multiply(moving, &mut pull);
        for (dof, _) in &told {
            moving[*dof] = 0.0;
        }
        let changes = change.par_iter_mut().zip(&pull).with_min_len(CHUNK);
        changes.for_each(|(change, pull)| *change -= pull);
    }
    for (dof, rate) in &told {
        change[*dof] = *rate;
    }
    factor.solve_in_place(&posed.system, &mut change);
    let changes = change.par_iter_mut().zip(&*point).with_min_len(CHUNK);
    changes.for_each(|(change, point)| *change += *point);
    scratch.keep([pull]);
    Ok(change)
}

/// Solves again after affine bodies were linearised at velocities v: for these and for what ties connect with them. All else has
/// its answer in v.
pub(super) fn solve_affine(
    problem: &Problem<'_>,
    v: &mut [f64],
    scratch: &mut Scratch,
) -> Result<(), StepError> {
    let (model, is_held) = (problem.model, &problem.held.is_held);
    let is_affine = |index: usize| Which::Affine.has(&model.bodies[index]);
    let affine = (0..model.bodies.len()).map(is_affine).collect();
    let connected = scratch.system.connected(affine);
    let (mut change, mut left) = (scratch.vector(), scratch.vector());
    let Scratch {
        system,
        posed,
        factor,
        residual,
        point,
        ..
    } = scratch;
    posed.system.hold(system, is_held, is_affine);
    factor
        .factorize_some(&posed.system, is_affine)
        .map_err(|error| StepError::linear(model, &model.bodies[error.body], error.source))?;
    change.fill(0.0);
    let bodies = || model.bodies.iter().zip(&connected).filter(|(_, is)| **is);
    for dof in bodies().flat_map(|(body, _)| body.dofs.clone()) {
        change[dof] = v[dof] - point[dof];
    }
    system.multiply(&change, &mut left);
    change.fill(0.0);
    for dof in bodies().flat_map(|(body, _)| body.dofs.clone()) {
        if !is_held[dof] {
            change[dof] = -(left[dof] + residual[dof]);
        }
    }
    factor.solve_in_place(&posed.system, &mut change);
    for (v, change) in v.iter_mut().zip(&change) {
        *v += change;
    }
    scratch.keep([change, left]);
    Ok(())
}

/// ρ = A (v − v_k) + ∇𝒜(v_k): on free unknowns an error, on held ones the impulse that holds them.
pub(super) fn linear_residual(scratch: &mut Scratch, v: &[f64]) -> Vec<f64> {
    let (mut residual, mut change) = (scratch.vector(), scratch.vector());
    let pairs = v.par_iter().zip(&scratch.point).with_min_len(CHUNK);
    let changes = change.par_iter_mut().zip(pairs);
    changes.for_each(|(change, (v, p))| *change = v - p);
    scratch.system.multiply(&change, &mut residual);
    scratch.keep([change]);
    let residuals = residual.par_iter_mut().zip(&scratch.residual);
    residuals
        .with_min_len(CHUNK)
        .for_each(|(rho, known)| *rho += known);
    residual
}

/// The state that these velocities lead to.
pub(super) fn advance(problem: &Problem<'_>, v: &[f64]) -> Result<State, StepError> {
    let (model, from) = (problem.model, problem.from);
    refuse_infinite(model, v)?;
    let (mut positions, turns) = problem.trial(v);
    problem.put_held(&mut positions);
    let mut to = State {
        step: from.step,
        positions,
        velocities: model.unknowns.nodes(v),
        directors: vec![DVec3::ZERO; from.directors.len()],
        twists: vec![0.0; from.twists.len()],
        spins: model.unknowns.edges(v),
        contacts: Vec::new(),
        approaches: Vec::new(),
    };
    if problem.is_static {
        to.velocities.fill(DVec3::ZERO);
        to.spins.fill(0.0);
    }
    carry_frames(model, from, &turns, &mut to);
    refuse_collapsed(model, &to)?;
    Ok(to)
}

/// The frames of rods at the end of a step: carried along in time, and turned.
fn carry_frames(model: &Model, from: &State, turns: &[f64], to: &mut State) {
    for body in &model.bodies {
        if let Elements::Rods(rods) = &body.elements {
            let trial = Trial {
                from,
                positions: &to.positions,
                turns,
            };
            let (directors, twists) = rods.batch.advance_frames(&body.rod_pose(rods, &trial));
            to.directors[body.edges.clone()].copy_from_slice(&directors);
            to.twists[body.edges.clone()].copy_from_slice(&twists);
        }
    }
}

/// Stops at the first vertex or edge that has no velocity any more.
fn refuse_infinite(model: &Model, v: &[f64]) -> Result<(), StepError> {
    // By chunks, since a search that may end at every number is slow.
    let is_unsound = |rates: &[f64]| rates.iter().any(|rate| !rate.is_finite());
    let Some(chunk) = v.par_chunks(CHUNK).position_first(is_unsound) else {
        return Ok(());
    };
    let rates = v[chunk * CHUNK..].iter();
    let dof = chunk * CHUNK + rates.take_while(|rate| rate.is_finite()).count();
    let unknowns = &model.unknowns;
    let body = model.bodies.iter().find(|body| body.dofs.contains(&dof));
    let nodes = body.map_or(0..0, |body| body.nodes.clone());
    // The twist of an edge stands after the node that the edge begins at.
    let node = nodes.rev().find(|node| unknowns.node_offset[*node] <= dof);
    let (object, vertex) = model.place_of_node(node.unwrap_or(0));
    Err(StepError::NotFinite {
        object: object.to_owned(),
        vertex,
        what: "velocity",
    })
}

/// Stops at the first vertex that is nowhere and the first element that has collapsed.
fn refuse_collapsed(model: &Model, state: &State) -> Result<(), StepError> {
    let is_unsound = |places: &[DVec3]| places.iter().any(|place| !place.is_finite());
    let chunks = state.positions.par_chunks(CHUNK);
    if let Some(chunk) = chunks.position_first(is_unsound) {
        let places = state.positions[chunk * CHUNK..].iter();
        let node = chunk * CHUNK + places.take_while(|place| place.is_finite()).count();
        let (object, vertex) = model.place_of_node(node);
        return Err(StepError::NotFinite {
            object: object.to_owned(),
            vertex,
            what: "position",
        });
    }
    for body in &model.bodies {
        if let Some((element, ratio)) = body.smallest_area_ratio(state)
            && ratio < COLLAPSED
        {
            let object = &model.objects[body.object];
            let copy = (body.nodes.start - object.nodes().start) / body.nodes.len();
            let triangles = object.mesh.triangles.len() / object.copies.max(1);
            return Err(StepError::Collapsed {
                object: object.name.clone(),
                element: copy * triangles + element,
                ratio,
            });
        }
    }
    Ok(())
}
