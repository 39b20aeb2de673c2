//! The part of a certificate that is about contacts: the law, gaps, forces, and the independent test of the motion.

use glam::DVec3;
use reefknot_contact::solve::ContactState;

use crate::collide::certify::{Kind, Offence, certify, certify_shape};
use crate::collide::convex::closest;
use crate::collide::features::Primitive;
use crate::collide::pair::Feature;
use crate::detect::{Detection, GUARD, Standing, Touching, points_of};
use crate::integrate::{ContactPhase, Scratch, StepOptions, StepOutcome};
use crate::model::touch::Touch;
use crate::pose::{Posed, relative};
use crate::step_input::StepInput;

/// Motion along a contact by less than this is none (m).
const STILL: f64 = 1e-9;

/// A contact of a step that was taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactRecord {
    /// The same for the same features from step to step.
    pub id: u64,
    /// The two objects, by index.
    pub objects: [usize; 2],
    /// The vertex of each that has most to do with it; none for balls and for colliders with a formula.
    pub vertices: [Option<u32>; 2],
    /// Where it is (m), at the end of the step.
    pub point: DVec3,
    /// Unit normal from the second to the first.
    pub normal: DVec3,
    /// Force on the first (N).
    pub force: DVec3,
    /// Distance less thickness at the end of the step (m).
    pub gap: f64,
    /// Whether it holds.
    pub state: ContactState,
}

/// What is to be said of the contacts of a step.
pub(super) struct Touched {
    pub(super) contacts: Vec<ContactRecord>,
    pub(super) error: f64,
    /// The time that forces act for (s).
    pub(super) h: f64,
    pub(super) intersections: Option<u64>,
    pub(super) offence: Option<String>,
}

/// Grades the contacts of a step.
pub(super) fn touched(
    input: &StepInput<'_>,
    phase: &ContactPhase<'_>,
    outcome: &StepOutcome<'_>,
    (scratch, options): (&Scratch, StepOptions),
) -> Touched {
    let detection = &phase.detection;
    let to = detection.to(&outcome.to.positions);
    let impulses: Vec<DVec3> = phase.memory.iter().map(|known| known.reaction).collect();
    let problem = &scratch.posed.problem;
    let error = match phase.posed.is_empty() {
        true => 0.0,
        false => problem.contact_error(&outcome.velocities, &impulses),
    };
    let pairs = phase.posed.iter().zip(&impulses);
    let contacts = pairs.map(|(posed, impulse)| {
        let found = (*impulse, &outcome.velocities[..], &to[..]);
        record(input, detection, posed, found)
    });
    let contacts = contacts.collect();
    let (intersections, offence) = match options.test {
        true => independent(input, detection, &to),
        false => (None, None),
    };
    Touched {
        contacts,
        error,
        h: input.h(),
        intersections,
        offence,
    }
}

fn record(
    input: &StepInput<'_>,
    detection: &Detection<'_>,
    posed: &Posed,
    (impulse, velocities, to): (DVec3, &[f64], &[DVec3]),
) -> ContactRecord {
    let (h, touching) = (input.h(), &posed.touching);
    let unknowns = &input.model.unknowns;
    let contact = &posed.contact;
    let speed = relative(&posed.stencil, posed.drift, |node| {
        unknowns.at_node(velocities, node as usize)
    });
    let across = speed - contact.normal * contact.normal.dot(speed);
    let held = impulse + contact.normal * (h * contact.cohesion);
    let normal = held.dot(contact.normal);
    let tangential = (held - contact.normal * normal).length();
    let is_sliding = across.length() * h > STILL;
    let state = match normal > 0.0 {
        false => ContactState::Open,
        true if is_sliding && tangential >= (1.0 - 1e-6) * contact.friction * normal => {
            ContactState::Slip
        }
        true => ContactState::Stick,
    };
    let sides = || touching.points.iter().zip(touching.weights);
    let first = sides().filter(|(_, weight)| *weight > 0.0);
    let gap = detection.gap_at(touching, to);
    let core = |point: u32| detection.touch.core[point as usize];
    // From the surface of the first half way to that of the second; for a collider with a formula, on its surface.
    let place: DVec3 = first
        .map(|(point, weight)| (to[*point as usize] - contact.normal * core(*point)) * weight)
        .sum();
    let skin = gap + touching.thickness - touching.core;
    let way = match touching.features[1] {
        Feature::Collider(_) => skin,
        _ => 0.5 * skin,
    };
    ContactRecord {
        id: contact.id,
        objects: posed.objects,
        vertices: [1.0, -1.0].map(|side| main_vertex(detection, touching, side)),
        point: place - contact.normal * way,
        normal: contact.normal,
        force: impulse / h,
        gap,
        state,
    }
}

/// The vertex with the largest weight of a side, which is 1 for the first and −1 for the second.
fn main_vertex(detection: &Detection<'_>, touching: &Touching, side: f64) -> Option<u32> {
    let touch = &detection.touch;
    let points = touching.points.iter().zip(touching.weights);
    let of_side = points.filter(|(_, weight)| side * weight > 0.0);
    let (point, _) = of_side.max_by(|(_, a), (_, b)| (side * a).total_cmp(&(side * b)))?;
    let is_ball = touch.core[*point as usize] > 0.0;
    (!is_ball).then(|| touch.places[*point as usize].1)
}

/// How many pairs the independent test finds that met, or ended closer than the guard; and the first of them.
fn independent(
    input: &StepInput<'_>,
    detection: &Detection<'_>,
    to: &[DVec3],
) -> (Option<u64>, Option<String>) {
    let features = &detection.touch.features;
    let candidates = detection.candidates(to);
    let report = certify(
        features,
        &candidates.point_triangle,
        &candidates.edge_edge,
        &detection.from,
        to,
        |kind, pair| detection.least_distance(pair, kind == Kind::EdgeEdge, 0.5 * GUARD),
    );
    let mut count = report.intersections as u64;
    let mut sentence = report.offenders.first().map(|offender| {
        let is_edges = offender.kind == Kind::EdgeEdge;
        let (points, second) = points_of(features, offender.features, is_edges);
        offence_of(
            input,
            detection,
            [points[0], points[second]],
            offender.offence,
        )
    });
    for standing in &detection.standing {
        let (found, first) = beside_shape(input, detection, standing, to);
        count += found;
        sentence = sentence.or(first);
    }
    (Some(count), sentence)
}

/// The same for a collider with a formula.
fn beside_shape(
    input: &StepInput<'_>,
    detection: &Detection<'_>,
    standing: &Standing<'_>,
    to: &[DVec3],
) -> (u64, Option<String>) {
    let touch = detection.touch;
    let ends = [&detection.from[..], to];
    let [from, to] = [0, 1].map(|end| {
        let back = standing.poses[end].inverse();
        ends[end]
            .iter()
            .map(|point| back.apply(*point))
            .collect::<Vec<_>>()
    });
    let shape = &standing.collider.shape;
    // What cannot move need not keep away.
    let is_movable = |point: u32| detection.is_movable[point as usize];
    let apart = apart_at_start(touch, standing, &from);
    let guard = |point: u32| {
        let at = point as usize;
        let skin = standing.collider.thickness[at] - touch.core[at];
        let start = apart[at] - touch.core[at];
        match is_movable(point) {
            true => (0.5 * GUARD * skin).min(0.25 * start).max(0.0),
            false => 0.0,
        }
    };
    let core = |point: u32| touch.core[point as usize];
    let is_tested = |primitive: &Primitive| {
        touch.meets(input.model, primitive.part, standing.collider)
            && detection.moves(&primitive.points)
    };
    let along = [&from[..], &to];
    let report = certify_shape(&touch.features, shape, along, core, guard, is_tested);
    let first = report.offenders.first();
    let name = &input.model.objects[standing.collider.object].name;
    match first {
        None => (0, None),
        Some(offender) => {
            let (one, at) = touch.name(input.model, Feature::Point(offender.feature[0]));
            let what = words(offender.offence);
            let sentence = format!("`{one}` (vertex {at}) {what} `{name}`");
            (report.intersections as u64, Some(sentence))
        }
    }
}

/// How far each point was from a collider with a formula, and everything of the triangles about it, where that is near: what began closer
/// than the guard may stay there.
fn apart_at_start(touch: &Touch, standing: &Standing<'_>, from: &[DVec3]) -> Vec<f64> {
    let shape = &standing.collider.shape;
    let distance = |place: DVec3| shape.distance(place).unwrap_or(0.0);
    let mut apart: Vec<f64> = from.iter().map(|place| distance(*place)).collect();
    for corners in &touch.features.triangles {
        let places = corners.map(|corner| from[corner as usize]);
        let middle = (places[0] + places[1] + places[2]) / 3.0;
        let size = places.map(|place| place.distance(middle));
        let thickest = corners.map(|corner| standing.collider.thickness[corner as usize]);
        let far = size
            .into_iter()
            .chain(thickest)
            .fold(0.0, |far: f64, of| far.max(of));
        if distance(middle) > 2.0 * far {
            continue;
        }
        let least = closest(shape, &places).map_or(0.0, |reach| reach.signed.distance);
        for corner in corners {
            let apart = &mut apart[*corner as usize];
            *apart = apart.min(least);
        }
    }
    apart
}

fn offence_of(
    input: &StepInput<'_>,
    detection: &Detection<'_>,
    points: [u32; 2],
    offence: Offence,
) -> String {
    let name = |point: u32| detection.touch.name(input.model, Feature::Point(point));
    let [(one, at), (other, there)] = points.map(name);
    let what = words(offence);
    format!("`{one}` (vertex {at}) {what} `{other}` (vertex {there})")
}

fn words(offence: Offence) -> String {
    match offence {
        Offence::NotFinite => "has no finite position beside".to_owned(),
        Offence::Met(time) => format!("goes through (from {time:.3} of the step)"),
        Offence::TooClose(distance) => format!("ends {distance:.3e} m from"),
    }
}
