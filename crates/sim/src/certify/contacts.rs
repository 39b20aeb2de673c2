//! Contacts in a certificate: contact law, gaps, forces, and the independent intersection test.

use glam::DVec3;
use reefknot_contact::problem::ContactState;

use crate::collide::certify::{PairKind, Violation, certify, certify_shape};
use crate::collide::convex::closest;
use crate::collide::features::Primitive;
use crate::collide::pair::Feature;
use crate::detect::{ContactPoint, Detection, GUARD_FRACTION, MovingCollider, points_of};
use crate::integrate::{ContactPhase, Scratch, StepOptions, StepOutcome};
use crate::model::collision::CollisionModel;
use crate::pose::{PosedContact, relative_velocity};
use crate::step_input::StepInput;

/// A contact slips if it slides by more than this in a step (m).
const SLIP_THRESHOLD: f64 = 1e-9;

/// A contact slips only if its friction force is within this relative distance of the cone.
const CONE_TOLERANCE: f64 = 1e-6;

/// A contact of an accepted step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactRecord {
    /// Identifies the pair of features in all steps.
    pub id: u64,
    /// Indices of the two objects.
    pub objects: [usize; 2],
    /// The vertex of largest weight on each side; `None` for balls and exact colliders.
    pub vertices: [Option<u32>; 2],
    /// Position at the end of the step (m).
    pub point: DVec3,
    /// Unit normal from the second object to the first.
    pub normal: DVec3,
    /// Force on the first object (N).
    pub force: DVec3,
    /// Distance minus thickness at the end of the step (m).
    pub gap: f64,
    /// Open, sticking or slipping.
    pub state: ContactState,
}

/// Certificate of the contacts of a step.
pub(super) struct ContactReport {
    pub(super) contacts: Vec<ContactRecord>,
    /// Contact error (m).
    pub(super) error: f64,
    /// Duration of the forces (s).
    pub(super) h: f64,
    /// Number of intersections; `None` if they were not tested.
    pub(super) intersections: Option<u64>,
    /// Description of the first intersection.
    pub(super) violation: Option<String>,
}

/// Computes the certificate of the contacts of a step.
pub(super) fn grade_contacts(
    input: &StepInput<'_>,
    phase: &ContactPhase<'_>,
    outcome: &StepOutcome<'_>,
    scratch: &Scratch,
    options: StepOptions,
) -> ContactReport {
    let detection = &phase.detection;
    let to = detection.end_points(&outcome.to.positions);
    let impulses: Vec<DVec3> = phase.memory.iter().map(|known| known.reaction).collect();
    let problem = &scratch.posed.problem;
    let error = if phase.posed.is_empty() {
        0.0
    } else {
        problem.contact_error(&outcome.velocities, &impulses)
    };
    let pairs = phase.posed.iter().zip(&impulses);
    let contacts = pairs
        .map(|(posed, impulse)| record(input, detection, posed, *impulse, &outcome.velocities, &to))
        .collect();
    let (intersections, violation) = if options.test {
        test_intersections(input, detection, &to)
    } else {
        (None, None)
    };
    ContactReport {
        contacts,
        error,
        h: input.h(),
        intersections,
        violation,
    }
}

/// The record of one contact with its impulse (N s). `to` are the points at the end of the step.
fn record(
    input: &StepInput<'_>,
    detection: &Detection<'_>,
    posed: &PosedContact,
    impulse: DVec3,
    velocities: &[f64],
    to: &[DVec3],
) -> ContactRecord {
    let (h, contact_point) = (input.h(), &posed.contact_point);
    let unknowns = &input.model.unknowns;
    let contact = &posed.contact;
    let speed = relative_velocity(&posed.stencil, posed.prescribed_velocity, |node| {
        unknowns.at_node(velocities, node as usize)
    });
    let sliding = speed - contact.normal * contact.normal.dot(speed);
    // r̂ = r + hξn.
    let shifted = impulse + contact.normal * (h * contact.cohesion);
    let normal = shifted.dot(contact.normal);
    let tangential = (shifted - contact.normal * normal).length();
    let is_sliding = sliding.length() * h > SLIP_THRESHOLD;
    let is_on_cone = tangential >= (1.0 - CONE_TOLERANCE) * contact.friction * normal;
    let is_loaded = normal > 0.0;
    let state = if !is_loaded {
        ContactState::Open
    } else if is_sliding && is_on_cone {
        ContactState::Slip
    } else {
        ContactState::Stick
    };
    let sides = || contact_point.points.iter().zip(contact_point.weights);
    let first = sides().filter(|(_, weight)| *weight > 0.0);
    let gap = detection.gap_at(contact_point, to);
    let core = |point: u32| detection.collision.core[point as usize];
    // Midway between the two surfaces; on the surface of an exact collider.
    let place: DVec3 = first
        .map(|(point, weight)| (to[*point as usize] - contact.normal * core(*point)) * weight)
        .sum();
    let skin = gap + contact_point.thickness - contact_point.core;
    let way = match contact_point.features[1] {
        Feature::Collider(_) => skin,
        _ => 0.5 * skin,
    };
    ContactRecord {
        id: contact.id,
        objects: posed.objects,
        vertices: [1.0, -1.0].map(|side| main_vertex(detection, contact_point, side)),
        point: place - contact.normal * way,
        normal: contact.normal,
        force: impulse / h,
        gap,
        state,
    }
}

/// The vertex of largest weight on a side: 1 for the first, −1 for the second. `None` for balls.
fn main_vertex(detection: &Detection<'_>, contact_point: &ContactPoint, side: f64) -> Option<u32> {
    let collision = &detection.collision;
    let points = contact_point.points.iter().zip(contact_point.weights);
    let of_side = points.filter(|(_, weight)| side * weight > 0.0);
    let (point, _) = of_side.max_by(|(_, a), (_, b)| (side * a).total_cmp(&(side * b)))?;
    let is_ball = collision.core[*point as usize] > 0.0;
    (!is_ball).then(|| collision.places[*point as usize].1)
}

/// The independent intersection test: number of pairs that intersect within the step or end closer
/// than half the guard, and a description of the first.
fn test_intersections(
    input: &StepInput<'_>,
    detection: &Detection<'_>,
    to: &[DVec3],
) -> (Option<u64>, Option<String>) {
    let features = &detection.collision.features;
    let candidates = detection.candidates(to);
    let report = certify(
        features,
        &candidates.point_triangle,
        &candidates.edge_edge,
        &detection.from,
        to,
        |kind, pair| {
            detection.least_distance(pair, kind == PairKind::EdgeEdge, 0.5 * GUARD_FRACTION)
        },
    );
    let mut count = report.intersections as u64;
    let mut description = report.violations.first().map(|violation| {
        let is_edges = violation.kind == PairKind::EdgeEdge;
        let (points, second) = points_of(features, violation.features, is_edges);
        describe_pair(
            input,
            detection,
            [points[0], points[second]],
            violation.violation,
        )
    });
    for moving in &detection.moving_colliders {
        let (found, first) = test_exact_collider(input, detection, moving, to);
        count += found;
        description = description.or(first);
    }
    (Some(count), description)
}

/// The independent intersection test against one exact collider.
fn test_exact_collider(
    input: &StepInput<'_>,
    detection: &Detection<'_>,
    moving: &MovingCollider<'_>,
    to: &[DVec3],
) -> (u64, Option<String>) {
    let collision = detection.collision;
    let ends = [&detection.from[..], to];
    let [from, to] = [0, 1].map(|end| {
        let back = moving.poses[end].inverse();
        ends[end]
            .iter()
            .map(|point| back.apply(*point))
            .collect::<Vec<_>>()
    });
    let shape = &moving.collider.shape;
    // Points that cannot move have no guard.
    let is_movable = |point: u32| detection.is_movable[point as usize];
    let start_distance = start_distances(collision, moving, &from);
    let guard = |point: u32| {
        let at = point as usize;
        let skin = moving.collider.thickness[at] - collision.core[at];
        let start = start_distance[at] - collision.core[at];
        if is_movable(point) {
            (0.5 * GUARD_FRACTION * skin).min(0.25 * start).max(0.0)
        } else {
            0.0
        }
    };
    let core = |point: u32| collision.core[point as usize];
    let is_tested = |primitive: &Primitive| {
        collision.can_collide(input.model, primitive.part, moving.collider)
            && detection.has_movable(&primitive.points)
    };
    let along = [&from[..], &to];
    let report = certify_shape(&collision.features, shape, along, core, guard, is_tested);
    let first = report.violations.first();
    let name = &input.model.objects[moving.collider.object].name;
    match first {
        None => (0, None),
        Some(violation) => {
            let (one, at) = collision.name(input.model, Feature::Point(violation.feature[0]));
            let phrase = violation_phrase(violation.violation);
            let description = format!("`{one}` (vertex {at}) {phrase} `{name}`");
            (report.intersections as u64, Some(description))
        }
    }
}

/// Distance of each point and of its triangles from an exact collider at the start of the step (m).
/// Features that start closer than the guard need not move apart. Triangles far away are skipped.
fn start_distances(
    collision: &CollisionModel,
    moving: &MovingCollider<'_>,
    from: &[DVec3],
) -> Vec<f64> {
    let shape = &moving.collider.shape;
    let distance = |place: DVec3| shape.distance(place).unwrap_or(0.0);
    let mut distances: Vec<f64> = from.iter().map(|place| distance(*place)).collect();
    for corners in &collision.features.triangles {
        let places = corners.map(|corner| from[corner as usize]);
        let middle = (places[0] + places[1] + places[2]) / 3.0;
        let size = places.map(|place| place.distance(middle));
        let thickest = corners.map(|corner| moving.collider.thickness[corner as usize]);
        let far = size
            .into_iter()
            .chain(thickest)
            .fold(0.0, |far: f64, of| far.max(of));
        if distance(middle) > 2.0 * far {
            continue;
        }
        let least = closest(shape, &places).map_or(0.0, |reach| reach.signed.distance);
        for corner in corners {
            let distance = &mut distances[*corner as usize];
            *distance = distance.min(least);
        }
    }
    distances
}

/// Description of a violation between two points.
fn describe_pair(
    input: &StepInput<'_>,
    detection: &Detection<'_>,
    points: [u32; 2],
    violation: Violation,
) -> String {
    let name = |point: u32| detection.collision.name(input.model, Feature::Point(point));
    let [(one, at), (other, there)] = points.map(name);
    let phrase = violation_phrase(violation);
    format!("`{one}` (vertex {at}) {phrase} `{other}` (vertex {there})")
}

/// Verb phrase of a violation, between subject and object.
fn violation_phrase(violation: Violation) -> String {
    match violation {
        Violation::NotFinite => "has a position that is not finite beside".to_owned(),
        Violation::Collision(time) => format!("goes through (from {time:.3} of the step)"),
        Violation::TooClose(distance) => format!("ends {distance:.3e} m from"),
    }
}
