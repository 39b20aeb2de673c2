//! No accepted motion intersects: what the solver's velocities would still bring together is kept apart here, by less and less gentle means.
//!
//! 1. The whole motion is followed ([`Detection::impacts`]). As a rule nothing comes too close: contacts keep a thickness, the gate only a
//!    part of it.
//! 2. Where something does, velocities are projected so that the pairs that collide keep their distance (the inelastic projection of
//!    Harmon 2010, section 3.6), again and again with all pairs that collide on the way.
//! 3. Nodes that still collide give up what they move against each other, first in part, then all of it (the impact zones of Harmon
//!    2010, section 3.3), and in the end their rods and bodies with them.
//! 4. What collides even then leaves no room; the step has failed.
//!
//! All of this happens zone by zone: a zone are nodes that collisions join. What cannot be solved in one changes nothing in the others, and only
//! pairs with a node that was changed are looked at again. Whatever is changed here is not what the forces would do, and counts in the
//! momentum error of the step.

mod project;
mod rigid;
mod stop;

use glam::DVec3;

use crate::collide::pair::Feature;
use crate::detect::{Detection, GUARD, Touching};
use crate::pose::{Posed, Posing};
use crate::step_input::StepInput;
use project::{is_projected, zones};
use stop::{Reach, Stops};

/// Rounds of projection; it has failed in a zone whose velocities grow by so many times, and everywhere if so many times more collide.
const PROJECTIONS: usize = 8;
const GROWTH: f64 = 4.0;
const MORE: usize = 8;

/// Rounds of stopping nodes, and then of whole bodies: each stops at least one, or ends.
const STOPS: usize = 8;
const BODY_STOPS: usize = 16;

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
    input: &StepInput<'_>,
    detection: &mut Detection<'_>,
    velocities: &mut [f64],
) -> Result<bool, Stopped> {
    let to = detection.to(&input.ends(velocities));
    if let Some((point, way)) = detection.lost(&to) {
        return Err(Stopped::Lost(point, way));
    }
    let mut impacts = detection.impacts(&to, GUARD, None);
    if impacts.is_empty() {
        return Ok(false);
    }
    project_zones(input, detection, &impacts, velocities);
    impacts = look(input, detection, velocities, None);
    for (rounds, reach) in [(STOPS, Reach::Nodes), (BODY_STOPS, Reach::Bodies)] {
        let mut stops = Stops::new(input, reach);
        for _ in 0..rounds {
            if impacts.is_empty() {
                return Ok(true);
            }
            let changed = stops.stop(input, detection, &impacts, velocities);
            if changed.is_empty() {
                break;
            }
            impacts = look(input, detection, velocities, Some(&changed));
            // Nothing passes before all of it was looked at.
            if impacts.is_empty() {
                impacts = look(input, detection, velocities, None);
            }
        }
    }
    match impacts.first() {
        None => Ok(true),
        Some(first) => Err(Stopped::NoRoom(no_room(detection, first))),
    }
}

/// Projects velocities zone by zone until nothing collides. Zones that fail are left as they were: constraints that contradict each other
/// make velocities grow, and more collide than before.
fn project_zones(
    input: &StepInput<'_>,
    detection: &mut Detection<'_>,
    first: &[Touching],
    velocities: &mut [f64],
) {
    let before = velocities.to_vec();
    let mut constraints: Vec<Posed> = Vec::new();
    let mut is_failed = vec![false; input.model.masses.len()];
    let mut impacts = first.to_vec();
    for round in 0..=PROJECTIONS {
        let is_over = round == PROJECTIONS || impacts.len() > MORE * first.len();
        join(input, detection, &mut constraints, &impacts);
        let mut changed = Vec::new();
        for zone in zones(input, &constraints) {
            let is_hit = |posed: &&Posed| {
                let id = posed.touching.id;
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
            if has_failed || is_over || !is_projected(input, &zone, velocities) {
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
        impacts = look(input, detection, velocities, Some(&changed));
    }
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

/// What comes too close with these velocities; if nodes are given, only of what these move.
fn look(
    input: &StepInput<'_>,
    detection: &mut Detection<'_>,
    velocities: &[f64],
    changed: Option<&[u32]>,
) -> Vec<Touching> {
    let nodes = input.ends(velocities);
    let to = detection.to(&nodes);
    let Some(changed) = changed else {
        return detection.impacts(&to, GUARD, None);
    };
    let mut is_changed = vec![false; input.model.masses.len()];
    for node in changed {
        is_changed[*node as usize] = true;
    }
    let touch = detection.touch;
    let points = 0..touch.places.len() as u32;
    let is_moved = |point: u32| {
        let mut nodes = touch.stencil(point).iter();
        nodes.any(|(node, _)| is_changed[*node as usize])
    };
    let is_moved: Vec<bool> = points.map(is_moved).collect();
    detection.impacts(&to, GUARD, Some(&is_moved))
}

/// Adds impacts to constraints; one that is there already is replaced.
fn join(
    input: &StepInput<'_>,
    detection: &Detection<'_>,
    constraints: &mut Vec<Posed>,
    impacts: &[Touching],
) {
    let posing = Posing { input, detection };
    constraints.extend(impacts.iter().map(|impact| posing.pose(impact)));
    // The sort is stable: of two with the same id the newer one comes last, and is kept.
    constraints.sort_by_key(|posed| posed.touching.id);
    constraints.dedup_by(|newer, kept| {
        let is_same = newer.touching.id == kept.touching.id;
        if is_same {
            std::mem::swap(newer, kept);
        }
        is_same
    });
}
