//! No accepted motion intersects: what the solver's velocities would still bring together is kept apart here, by less and less gentle means.
//!
//! 1. The whole motion is followed ([`Detection::impacts`]). As a rule nothing comes too close: contacts keep a thickness, the gate only a
//!    part of it.
//! 2. Where something does, velocities are projected so that the pairs that collide keep their distance (the inelastic projection of
//!    Harmon 2010, section 3.6), again and again with all pairs that collide on the way.
//! 3. Nodes that still collide are stopped short of it, then left where they were, and in the end their bodies with them.
//! 4. What collides with nodes that do not move leaves no room; the step has failed.
//!
//! Whatever is changed here is not what the forces would do, and counts in the momentum error of the step.

use glam::DVec3;

use crate::collide::pair::Feature;
use crate::detect::{Detection, GUARD, NEAR, Touching};
use crate::energy::linearize::Problem;
use crate::pose::{Posed, Posing, relative};

/// Rounds of projection; it has failed when velocities grow by so many times, or so many times more collide.
const PROJECTIONS: usize = 8;
const GROWTH: f64 = 4.0;
const MORE: usize = 8;

/// Rounds of stopping nodes, and then of whole bodies: each stops at least one, or ends.
const STOPS: usize = 8;
const BODY_STOPS: usize = 16;

/// Nodes are stopped at this part of the way to their impact.
const SHORT: f64 = 0.8;

/// How often a node is stopped short before it stays where it is.
const PATIENCE: u8 = 2;

/// Iterations of conjugate gradients in a projection, and how far they reduce what is left.
const ITERATIONS: usize = 200;
const ACCURACY: f64 = 1e-10;

/// Two features that have no room.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct NoRoom {
    pub(crate) features: [Feature; 2],
    pub(crate) place: DVec3,
}

/// Why nothing passes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Stopped {
    /// Two features have no room.
    NoRoom(NoRoom),
    /// A point goes so far (m) that nobody can tell what it meets.
    Lost(u32, f64),
}

/// Changes velocities until nothing comes closer than the guard; whether it had to.
pub(crate) fn pass(
    step: &Problem<'_>,
    detection: &mut Detection<'_>,
    velocities: &mut [f64],
) -> Result<bool, Stopped> {
    let to = detection.to(&step.ends(velocities));
    if let Some((point, way)) = detection.lost(&to) {
        return Err(Stopped::Lost(point, way));
    }
    let mut impacts = detection.impacts(&to, GUARD);
    if impacts.is_empty() {
        return Ok(false);
    }
    if is_projected(step, detection, &impacts, velocities) {
        return Ok(true);
    }
    let mut stops = vec![0; step.model.masses.len()];
    for round in 0..STOPS + BODY_STOPS {
        let is_stopped = match round < STOPS {
            true => stop(step, detection, &impacts, &mut stops, velocities),
            false => stop_bodies(step, detection, &impacts, velocities),
        };
        if !is_stopped {
            break;
        }
        impacts = look(step, detection, velocities);
        if impacts.is_empty() {
            return Ok(true);
        }
    }
    Err(Stopped::NoRoom(no_room(detection, &impacts[0])))
}

/// Projects velocities until nothing collides; whether that came to an end. If not, they are left as they were: constraints that
/// contradict each other make velocities grow, and more collide than before.
fn is_projected(
    step: &Problem<'_>,
    detection: &mut Detection<'_>,
    first: &[Touching],
    velocities: &mut [f64],
) -> bool {
    let before = velocities.to_vec();
    let fastest = |velocities: &[f64]| {
        velocities
            .iter()
            .fold(0.0, |most: f64, v| most.max(v.abs()))
    };
    let mut zone: Vec<Posed> = Vec::new();
    let mut impacts = first.to_vec();
    for _ in 0..PROJECTIONS {
        join(step, detection, &mut zone, &impacts);
        project(step, &zone, velocities);
        if fastest(velocities) > GROWTH * fastest(&before) {
            break;
        }
        impacts = look(step, detection, velocities);
        if impacts.is_empty() {
            return true;
        }
        if impacts.len() > MORE * first.len() {
            break;
        }
    }
    velocities.copy_from_slice(&before);
    false
}

fn no_room(detection: &Detection<'_>, impact: &Touching) -> NoRoom {
    let place = impact
        .points
        .iter()
        .zip(impact.weights)
        .filter(|(_, weight)| *weight > 0.0);
    let place = place.map(|(point, weight)| detection.from[*point as usize] * weight);
    NoRoom {
        features: impact.features,
        place: place.sum(),
    }
}

/// What comes too close with these velocities.
fn look(step: &Problem<'_>, detection: &mut Detection<'_>, velocities: &[f64]) -> Vec<Touching> {
    let nodes = step.ends(velocities);
    let to = detection.to(&nodes);
    detection.impacts(&to, GUARD)
}

/// Adds impacts to a zone; one that is there already is replaced.
fn join(
    step: &Problem<'_>,
    detection: &Detection<'_>,
    zone: &mut Vec<Posed>,
    impacts: &[Touching],
) {
    let posing = Posing { step, detection };
    zone.extend(impacts.iter().map(|impact| posing.pose(impact)));
    // The sort is stable: of two with the same id the newer one comes last, and is kept.
    zone.sort_by_key(|posed| posed.touching.id);
    zone.dedup_by(|newer, kept| {
        let is_same = newer.touching.id == kept.touching.id;
        if is_same {
            std::mem::swap(newer, kept);
        }
        is_same
    });
}

/// A bilateral constraint on velocities: the two sides end the step as far apart as they must, along the normal.
struct Row<'a> {
    normal: DVec3,
    /// Free nodes: node, weight, 1/m along free axes.
    nodes: Vec<(u32, f64, DVec3)>,
    posed: &'a Posed,
    wanted: f64,
}

/// The least change of velocities, in the norm of mass, that keeps all pairs of a zone apart: C M⁻¹ Cᵀ λ = wanted − C v, by conjugate gradients
/// (Harmon 2010, eqs. 3.6 and 3.7).
fn project(step: &Problem<'_>, zone: &[Posed], velocities: &mut [f64]) {
    let unknowns = &step.model.unknowns;
    let rows: Vec<Row> = zone.iter().map(|posed| row(step, posed)).collect();
    let at = |velocities: &[f64], node: u32| {
        DVec3::from_slice(&velocities[unknowns.node_offset[node as usize]..])
    };
    let mut left: Vec<f64> = rows
        .iter()
        .map(|row| {
            let speed = relative(&row.posed.stencil, row.posed.drift, |node| {
                at(velocities, node)
            });
            row.wanted - row.normal.dot(speed)
        })
        .collect();
    // M⁻¹ Cᵀ λ, on all unknowns.
    let push = |lambda: &[f64], change: &mut [f64]| {
        for (row, lambda) in rows.iter().zip(lambda) {
            for (node, weight, lightness) in &row.nodes {
                let flat = &mut change[unknowns.node_offset[*node as usize]..];
                let sum = DVec3::from_slice(flat) + row.normal * *lightness * (*weight * lambda);
                sum.write_to_slice(flat);
            }
        }
    };
    let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
    let mut lambda = vec![0.0; rows.len()];
    let mut direction = left.clone();
    let mut square = dot(&left, &left);
    let enough = ACCURACY * ACCURACY * square;
    let mut change = vec![0.0; velocities.len()];
    for _ in 0..ITERATIONS {
        if square <= enough {
            break;
        }
        change.fill(0.0);
        push(&direction, &mut change);
        let product: Vec<f64> = rows
            .iter()
            .map(|row| {
                let terms = row.nodes.iter();
                terms
                    .map(|(node, weight, _)| weight * row.normal.dot(at(&change, *node)))
                    .sum()
            })
            .collect();
        let curvature = dot(&direction, &product);
        if curvature <= f64::MIN_POSITIVE || curvature.is_nan() {
            break;
        }
        let length = square / curvature;
        for place in 0..left.len() {
            lambda[place] += length * direction[place];
            left[place] -= length * product[place];
        }
        let next = dot(&left, &left);
        let part = next / square;
        square = next;
        for (direction, left) in direction.iter_mut().zip(&left) {
            *direction = left + part * *direction;
        }
    }
    change.fill(0.0);
    push(&lambda, &mut change);
    for (v, change) in velocities.iter_mut().zip(&change) {
        *v += change;
    }
}

fn row<'a>(step: &Problem<'_>, posed: &'a Posed) -> Row<'a> {
    let (model, h) = (step.model, step.h());
    let touching = &posed.touching;
    let nodes = posed.stencil.iter().map(|(node, weight)| {
        let offset = model.unknowns.node_offset[*node as usize];
        let free = |axis: usize| match step.held.is_held[offset + axis] {
            true => 0.0,
            false => 1.0 / model.masses[*node as usize],
        };
        (*node, *weight, DVec3::new(free(0), free(1), free(2)))
    });
    // As far apart as at the start, but no farther than contacts begin.
    let start = touching.gap + touching.thickness;
    let skin = touching.thickness - touching.core;
    let kept = touching.core + (start - touching.core).min(NEAR * skin);
    Row {
        normal: touching.normal,
        nodes: nodes.collect(),
        posed,
        wanted: (kept - start) / h,
    }
}

/// Stops the nodes of impacts short of them; whether there was one left that moved.
fn stop(
    step: &Problem<'_>,
    detection: &Detection<'_>,
    impacts: &[Touching],
    stops: &mut [u8],
    velocities: &mut [f64],
) -> bool {
    let model = step.model;
    let mut is_stopped = false;
    let mut parts: Vec<(u32, f64)> = Vec::new();
    for impact in impacts {
        for (point, _) in impact.points.iter().zip(impact.weights) {
            let nodes = detection.touch.stencil(*point).iter();
            parts.extend(nodes.map(|(node, _)| (*node, SHORT * impact.time)));
        }
    }
    parts.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    parts.dedup_by_key(|(node, _)| *node);
    for (node, part) in parts {
        let count = &mut stops[node as usize];
        let part = if *count >= PATIENCE { 0.0 } else { part };
        *count += 1;
        let offset = model.unknowns.node_offset[node as usize];
        for dof in (offset..offset + 3).filter(|dof| !step.held.is_held[*dof]) {
            is_stopped |= velocities[dof] != 0.0;
            velocities[dof] *= part;
        }
    }
    is_stopped
}

/// Leaves the bodies of impacts where they were; whether there was one left that moved.
fn stop_bodies(
    step: &Problem<'_>,
    detection: &Detection<'_>,
    impacts: &[Touching],
    velocities: &mut [f64],
) -> bool {
    let points = impacts.iter().flat_map(|impact| impact.points);
    let nodes = points.flat_map(|point| detection.touch.stencil(point).iter());
    let mut is_hit = vec![false; step.model.bodies.len()];
    for (node, _) in nodes {
        let offset = step.model.unknowns.node_offset[*node as usize];
        let bodies = &step.model.bodies;
        is_hit[bodies.partition_point(|body| body.dofs.end <= offset)] = true;
    }
    let hit = step.model.bodies.iter().zip(is_hit);
    let dofs = hit
        .filter(|(_, is_hit)| *is_hit)
        .flat_map(|(body, _)| body.dofs.clone());
    let mut is_stopped = false;
    for dof in dofs.filter(|dof| !step.held.is_held[*dof]) {
        is_stopped |= velocities[dof] != 0.0;
        velocities[dof] = 0.0;
    }
    is_stopped
}
