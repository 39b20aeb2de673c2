//! Contacts in a certificate: contact law, gaps and forces.

use glam::DVec3;
use reefknot_contact::problem::ContactState;

use super::intersections::test_intersections;
use crate::collide::pair::Feature;
use crate::detect::{ContactPoint, Detection};
use crate::integrate::{ContactPhase, Scratch, StepOptions, StepOutcome};
use crate::pose::{PosedContact, relative_velocity};
use crate::step_input::StepInput;

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
    // The error is that of the motion, forces are those of the whole step.
    let forces = outcome.impulses(input.h());
    let pairs = phase.posed.iter().zip(&forces);
    let contacts = pairs
        .map(|(posed, impulse)| record(input, detection, posed, *impulse, &outcome.velocities, &to))
        .collect();
    let found = options
        .test
        .then(|| test_intersections(input, detection, &to));
    ContactReport {
        contacts,
        error,
        h: input.h(),
        intersections: found.as_ref().map(|found| found.count),
        violation: found.and_then(|found| found.first),
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
        state: contact.state(h, sliding.length() * h, impulse),
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
