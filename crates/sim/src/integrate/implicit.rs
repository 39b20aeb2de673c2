//! Parts shared by integrators: linear solves, and the state that velocities lead to.

use glam::DVec3;
use rayon::prelude::*;

use super::{ContactPhase, Context, Phase, Scratch, StepError};
use crate::energy::CHUNK;
use crate::equations::linearize::BodySubset;
use crate::model::{Elements, Model, Trial};
use crate::state::State;
use crate::step_input::StepInput;

/// A triangle below this fraction of its rest area has collapsed: its normal is not defined.
const MIN_AREA_RATIO: f64 = 1e-6;

/// 5. Passes velocities through the gate, which may change them. Returns the state that they lead
///    to.
pub(super) fn advance_through_gate(
    input: &StepInput<'_>,
    contact: &mut Option<ContactPhase<'_>>,
    velocities: &mut [f64],
    context: &mut Context,
) -> Result<State, StepError> {
    if let Some(phase) = contact {
        if input.model.method.converge && !phase.is_converged {
            return Err(StepError::ContactNotConverged {
                iterations: phase.iterations,
            });
        }
        phase.guard(input, velocities)?;
    }
    let to = advance(input, velocities)?;
    context.timer.lap(Phase::Gate);
    Ok(to)
}

/// Solves A (v − v_k) = −∇𝒜(v_k) for the free unknowns. Held ones have their prescribed velocities.
pub(super) fn solve(
    input: &StepInput<'_>,
    scratch: &mut Scratch,
    context: &mut Context,
) -> Result<Vec<f64>, StepError> {
    let Scratch {
        linearised,
        posed,
        pool,
        ..
    } = scratch;
    let (system, count) = (&mut posed.problem.system, linearised.point.len());
    system.hold(&linearised.system, input.is_held(), |_| true);
    posed.factors.invalidate();
    let factor = posed.factors.get(system);
    let factor = factor.map_err(|error| StepError::factor(input.model, error))?;
    let mut change = pool.take(count);
    let residuals = change.par_iter_mut().zip(&linearised.residual);
    let entries = residuals.with_min_len(CHUNK);
    entries.for_each(|(change, entry)| *change = -entry);
    let mut held = input.held_velocities();
    for (dof, rate) in &mut held {
        *rate -= linearised.point[*dof];
    }
    // Eliminate held unknowns: A_fp δ_p moves to the right-hand side. It is zero if no held unknown
    // changes its velocity.
    if held.iter().any(|(_, rate)| *rate != 0.0) {
        let (mut moving, mut pull) = (vec![0.0; count], pool.take(count));
        for (dof, rate) in &held {
            moving[*dof] = *rate;
        }
        linearised.system.multiply(&moving, &mut pull);
        let changes = change.par_iter_mut().zip(&pull).with_min_len(CHUNK);
        changes.for_each(|(change, pull)| *change -= pull);
        pool.recycle([pull]);
    }
    for (dof, rate) in &held {
        change[*dof] = *rate;
    }
    factor.solve_in_place(system, &mut change);
    let changes = change.par_iter_mut().zip(&linearised.point);
    let changes = changes.with_min_len(CHUNK);
    changes.for_each(|(change, point)| *change += *point);
    context.timer.lap(Phase::Linear);
    Ok(change)
}

/// Solves again after affine bodies were relinearised at velocities `v`: for these bodies and those
/// connected with them by ties. The other velocities remain.
pub(super) fn solve_affine(
    input: &StepInput<'_>,
    v: &mut [f64],
    scratch: &mut Scratch,
) -> Result<(), StepError> {
    let (model, is_held) = (input.model, input.is_held());
    let is_affine = |index: usize| BodySubset::Affine.contains(&model.bodies[index]);
    let Scratch {
        linearised,
        posed,
        pool,
        ..
    } = scratch;
    let affine = (0..model.bodies.len()).map(is_affine).collect();
    let connected = linearised.system.connected_bodies(affine);
    let (mut change, mut left) = (pool.take(v.len()), pool.take(v.len()));
    let system = &mut posed.problem.system;
    system.hold(&linearised.system, is_held, is_affine);
    let changed = (0..model.bodies.len()).filter(|body| is_affine(*body));
    posed.factors.invalidate_bodies(changed);
    let factor = posed.factors.get(system);
    let factor = factor.map_err(|error| StepError::factor(model, error))?;
    change.fill(0.0);
    let bodies = || model.bodies.iter().zip(&connected).filter(|(_, is)| **is);
    for dof in bodies().flat_map(|(body, _)| body.dofs.clone()) {
        change[dof] = v[dof] - linearised.point[dof];
    }
    linearised.system.multiply(&change, &mut left);
    change.fill(0.0);
    for dof in bodies().flat_map(|(body, _)| body.dofs.clone()) {
        if !is_held[dof] {
            change[dof] = -(left[dof] + linearised.residual[dof]);
        }
    }
    factor.solve_in_place(system, &mut change);
    for (v, change) in v.iter_mut().zip(&change) {
        *v += change;
    }
    pool.recycle([change, left]);
    Ok(())
}

/// The state that velocities lead to.
pub(super) fn advance(input: &StepInput<'_>, v: &[f64]) -> Result<State, StepError> {
    let (model, from) = (input.model, input.from);
    refuse_infinite(model, v)?;
    let (mut positions, turns) = input.trial(v);
    input.put_held(&mut positions);
    let mut to = State {
        step: from.step,
        positions,
        velocities: model.unknowns.nodes(v),
        directors: vec![DVec3::ZERO; from.directors.len()],
        twists: vec![0.0; from.twists.len()],
        spins: model.unknowns.edges(v),
        ..State::default()
    };
    if input.is_static {
        to.velocities.fill(DVec3::ZERO);
        to.spins.fill(0.0);
    }
    carry_frames(model, from, &turns, &mut to);
    refuse_collapsed(model, &to)?;
    Ok(to)
}

/// Material frames of rods at the end of a step: parallel transport in time, then rotation by
/// `turns`.
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

/// Refuses velocities that are not finite, with the first vertex.
fn refuse_infinite(model: &Model, v: &[f64]) -> Result<(), StepError> {
    // In chunks: a search that can end at every entry is slow.
    let is_unsound = |rates: &[f64]| rates.iter().any(|rate| !rate.is_finite());
    let Some(chunk) = v.par_chunks(CHUNK).position_first(is_unsound) else {
        return Ok(());
    };
    let rates = v[chunk * CHUNK..].iter();
    let dof = chunk * CHUNK + rates.take_while(|rate| rate.is_finite()).count();
    let unknowns = &model.unknowns;
    let body = model.bodies.iter().find(|body| body.dofs.contains(&dof));
    let nodes = body.map_or(0..0, |body| body.nodes.clone());
    // The twist of an edge follows the first node of the edge.
    let node = nodes.rev().find(|node| unknowns.node_offset[*node] <= dof);
    let (object, vertex) = model.place_of_node(node.unwrap_or(0));
    Err(StepError::NotFinite {
        object: object.to_owned(),
        vertex,
        what: "velocity",
    })
}

/// Refuses positions that are not finite and collapsed triangles, with the first of them.
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
            && ratio < MIN_AREA_RATIO
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
