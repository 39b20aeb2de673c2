//! The gate between the velocities of the solver and the accepted motion: no accepted motion
//! intersects.
//!
//! 1. Continuous collision detection tests the whole motion ([`Detection::impacts`]). Usually no
//!    pair comes too close, because contacts keep the thickness and the gate only a fraction of it.
//! 2. Inelastic projection changes velocities so that colliding pairs keep their distance (Harmon
//!    2010, section 3.6). It is repeated with all pairs that collide along the new motion.
//! 3. The nodes of pairs that still collide lose their relative motion, first in part, then
//!    completely (impact zones, Harmon 2010, section 3.3). Finally their rods and bodies do.
//! 4. If a pair collides even then, the step fails: prescribed motion leaves no room.
//!
//! All of this is done per impact zone, a set of nodes that are joined by collisions. A zone that
//! fails does not change the others, and only pairs with a changed node are tested again. Changes
//! of velocities by the gate violate the equations of motion; the momentum error of the step
//! includes them.

mod project;
mod rigid;
mod stop;

use glam::DVec3;

use crate::collide::pair::Feature;
use crate::detect::{ContactPoint, Detection, GUARD_FRACTION};
use crate::pose::{PoseContext, PosedContact};
use crate::step_input::StepInput;
use project::{project_zone, zones};
use stop::{ImpactZones, StopExtent};

/// Rounds of projection.
const MAX_PROJECTIONS: usize = 8;

/// The projection of a zone fails if its largest speed grows by more than this factor.
const MAX_SPEED_GROWTH: f64 = 4.0;

/// The projection of all zones fails if the number of impacts grows by more than this factor.
const MAX_IMPACT_GROWTH: usize = 8;

/// Rounds of stopping nodes.
const MAX_NODE_STOP_ROUNDS: usize = 8;

/// Rounds of stopping whole rods and bodies.
const MAX_BODY_STOP_ROUNDS: usize = 16;

/// A pair of features that cannot be separated, and the position of their contact (m).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct NoRoom {
    pub(crate) features: [Feature; 2],
    pub(crate) position: DVec3,
}

/// The reason why no motion passes the gate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum GateError {
    /// Two features have no room between prescribed objects.
    NoRoom(NoRoom),
    /// A point and its displacement (m), which is too large for collision detection.
    LostPoint(u32, f64),
}

/// Changes velocities until no pair comes closer than the guard; whether any velocity changed.
pub(crate) fn pass(
    input: &StepInput<'_>,
    detection: &mut Detection<'_>,
    velocities: &mut [f64],
) -> Result<bool, GateError> {
    let to = detection.end_points(&input.ends(velocities));
    if let Some((point, displacement)) = detection.lost_point(&to) {
        return Err(GateError::LostPoint(point, displacement));
    }
    let mut impacts = detection.impacts(&to, GUARD_FRACTION, None);
    if impacts.is_empty() {
        return Ok(false);
    }
    project_zones(input, detection, &impacts, velocities);
    impacts = find_impacts(input, detection, velocities, None);
    for (rounds, extent) in [
        (MAX_NODE_STOP_ROUNDS, StopExtent::Nodes),
        (MAX_BODY_STOP_ROUNDS, StopExtent::Bodies),
    ] {
        let mut zones = ImpactZones::new(input, extent);
        for _ in 0..rounds {
            if impacts.is_empty() {
                return Ok(true);
            }
            let changed = zones.stop(input, detection, &impacts, velocities);
            if changed.is_empty() {
                break;
            }
            impacts = find_impacts(input, detection, velocities, Some(&changed));
            // A motion passes only after a test of all pairs.
            if impacts.is_empty() {
                impacts = find_impacts(input, detection, velocities, None);
            }
        }
    }
    match impacts.first() {
        None => Ok(true),
        Some(first) => Err(GateError::NoRoom(no_room(detection, first))),
    }
}

/// Projects velocities zone by zone until no pair collides. Zones that fail get their velocities
/// back: contradictory constraints make velocities grow, and cause more collisions than before.
fn project_zones(
    input: &StepInput<'_>,
    detection: &mut Detection<'_>,
    first: &[ContactPoint],
    velocities: &mut [f64],
) {
    let before = velocities.to_vec();
    let mut constraints: Vec<PosedContact> = Vec::new();
    let mut is_failed = vec![false; input.model.masses.len()];
    let mut impacts = first.to_vec();
    for round in 0..=MAX_PROJECTIONS {
        let is_over = round == MAX_PROJECTIONS || impacts.len() > MAX_IMPACT_GROWTH * first.len();
        merge_constraints(input, detection, &mut constraints, &impacts);
        let mut changed = Vec::new();
        for zone in zones(input, &constraints) {
            let is_hit = |posed: &&PosedContact| {
                let id = posed.contact_point.id;
                impacts
                    .binary_search_by_key(&id, |impact| impact.id)
                    .is_ok()
            };
            if !zone.iter().any(is_hit) {
                continue;
            }
            let nodes = || {
                zone.iter()
                    .flat_map(|posed| &posed.stencil)
                    .map(|(node, _)| *node)
            };
            let has_failed = nodes().any(|node| is_failed[node as usize]);
            if has_failed || is_over || !project_zone(input, &zone, velocities) {
                for node in nodes() {
                    is_failed[node as usize] = true;
                    let offset = input.model.unknowns.node_offset[node as usize];
                    velocities[offset..offset + 3].copy_from_slice(&before[offset..offset + 3]);
                }
            } else {
                changed.extend(nodes());
            }
        }
        if is_over || changed.is_empty() {
            return;
        }
        impacts = find_impacts(input, detection, velocities, Some(&changed));
    }
}

/// The features of an impact, and the closest point on the first at the start of the step.
fn no_room(detection: &Detection<'_>, impact: &ContactPoint) -> NoRoom {
    let first_side = impact.points.iter().zip(impact.weights);
    let first_side = first_side.filter(|(_, weight)| *weight > 0.0);
    let terms = first_side.map(|(point, weight)| detection.from[*point as usize] * weight);
    NoRoom {
        features: impact.features,
        position: terms.sum(),
    }
}

/// Impacts of the motion with these velocities; with `changed`, only those of points that these
/// nodes move.
fn find_impacts(
    input: &StepInput<'_>,
    detection: &mut Detection<'_>,
    velocities: &[f64],
    changed: Option<&[u32]>,
) -> Vec<ContactPoint> {
    let to = detection.end_points(&input.ends(velocities));
    let Some(changed) = changed else {
        return detection.impacts(&to, GUARD_FRACTION, None);
    };
    let mut is_changed = vec![false; input.model.masses.len()];
    for node in changed {
        is_changed[*node as usize] = true;
    }
    let collision = detection.collision;
    let points = 0..collision.places.len() as u32;
    let is_moved = |point: u32| {
        let mut nodes = collision.stencil(point).iter();
        nodes.any(|(node, _)| is_changed[*node as usize])
    };
    let is_moved: Vec<bool> = points.map(is_moved).collect();
    detection.impacts(&to, GUARD_FRACTION, Some(&is_moved))
}

/// Adds impacts to the constraints; an impact replaces the constraint with the same id.
fn merge_constraints(
    input: &StepInput<'_>,
    detection: &Detection<'_>,
    constraints: &mut Vec<PosedContact>,
    impacts: &[ContactPoint],
) {
    let posing = PoseContext { input, detection };
    constraints.extend(impacts.iter().map(|impact| posing.pose(impact)));
    // The sort is stable: of two with the same id, the newer is last, and kept.
    constraints.sort_by_key(|posed| posed.contact_point.id);
    constraints.dedup_by(|newer, kept| {
        let is_same = newer.contact_point.id == kept.contact_point.id;
        if is_same {
            std::mem::swap(newer, kept);
        }
        is_same
    });
}
