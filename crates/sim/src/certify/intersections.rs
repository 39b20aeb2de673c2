//! The independent intersection test of an accepted step.
//!
//! Detection, gate and contacts take prescribed motion as straight within the span of a step. This
//! test does not rely on that: it evaluates the motion at times of its own within the span, and
//! tests the chords between them. Free nodes move along straight lines, hair along with the head on
//! which it grows.

use glam::DVec3;

use crate::collide::certify::{PairKind, Violation, certify, certify_shape};
use crate::collide::convex::closest;
use crate::collide::features::{Features, Primitive};
use crate::collide::pair::Feature;
use crate::collide::pairs::Candidates;
use crate::detect::{Detection, GUARD_FRACTION, MovingCollider, geometric_poses, points_of};
use crate::model::Model;
use crate::model::collision::CollisionModel;
use crate::motion::bend::Bend;
use crate::path;
use crate::state::Span;
use crate::step_input::StepInput;
use moments::Moment;

mod moments;

/// Least number of chords of a span with prescribed motion that is not straight.
const MIN_CHORDS: usize = 2;

/// Largest number of chords of a span, apart from those between corners of the path.
const MAX_CHORDS: usize = 16;

/// Largest turn of a chord (rad), up to [`MAX_CHORDS`].
const CHORD_TURN: f64 = 0.1;

/// Distance that is kept within a span, relative to that at its end.
const INNER_FRACTION: f64 = 0.25;

/// What the test found: the number of features or pairs, and a description of the first.
#[derive(Default)]
pub(super) struct Intersections {
    pub(super) count: u64,
    pub(super) first: Option<String>,
}

/// The pairs that are tested along a chord.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tested {
    All,
    /// Hair with the head on which it grows.
    HairOnHost,
    /// All others.
    Others,
}

/// A part of a step in which everything is taken to be straight.
struct Chord<'a> {
    ends: [&'a Moment; 2],
    tested: Tested,
}

/// Counts the pairs that intersect within the step, or end closer than half the guard.
pub(super) fn test_intersections(
    input: &StepInput<'_>,
    detection: &Detection<'_>,
    to: &[DVec3],
) -> Intersections {
    let test = MotionTest { input, detection };
    let times = chord_times(input.model, &input.span);
    let inner = times.iter().map(|time| test.moment(*time, to));
    let begin = test.end(0, detection.from.clone());
    let moments: Vec<Moment> = ([begin].into_iter().chain(inner))
        .chain([test.end(1, to.to_vec())])
        .collect();
    let is_bent = path::bent_objects(input.model, &input.span);
    let mut found = Intersections::default();
    let mut bodies = detection.collision.objects_with_points();
    let do_bodies_bend = bodies.any(|object| is_bent[object]);
    for chord in chords(input.model, &moments, do_bodies_bend) {
        test.test_pairs(&chord, &mut found);
    }
    for (number, moving) in detection.moving_colliders.iter().enumerate() {
        for chord in chords(input.model, &moments, is_bent[moving.collider.object]) {
            test.test_collider(number, moving, &chord, &mut found);
        }
    }
    found
}

/// The chords along which something is tested: from moment to moment if it bends.
fn chords<'a>(model: &Model, moments: &'a [Moment], does_bend: bool) -> Vec<Chord<'a>> {
    let (Some(begin), Some(end)) = (moments.first(), moments.last()) else {
        return Vec::new();
    };
    let whole = |tested: Tested| Chord {
        ends: [begin, end],
        tested,
    };
    if !does_bend {
        return vec![whole(Tested::All)];
    }
    let has_hair = model.objects.iter().any(|object| object.rooted.is_some());
    let hair = has_hair.then(|| whole(Tested::HairOnHost));
    let parts = moments.windows(2).map(|pair| Chord {
        ends: [&pair[0], &pair[1]],
        tested: Tested::Others,
    });
    hair.into_iter().chain(parts).collect()
}

/// Times inside a span between which prescribed motion is tested along chords; none if it is
/// straight.
fn chord_times(model: &Model, span: &Span) -> Vec<f64> {
    let bends: Vec<Bend> = path::bends(model, span).map(|(_, bend)| bend).collect();
    if bends.is_empty() {
        return Vec::new();
    }
    let turn = bends.iter().map(|bend| bend.turn).fold(0.0, f64::max);
    let count = ((turn / CHORD_TURN).ceil() as usize).clamp(MIN_CHORDS, MAX_CHORDS);
    let fractions = (1..count).map(|part| part as f64 / count as f64);
    let mut times: Vec<f64> = fractions
        .map(|it| span.begin + it * (span.end - span.begin))
        .collect();
    times.extend(bends.iter().flat_map(Bend::kink_times));
    times.sort_unstable_by(f64::total_cmp);
    times.dedup();
    times
}

struct MotionTest<'a, 'b> {
    input: &'a StepInput<'a>,
    detection: &'a Detection<'b>,
}

impl MotionTest<'_, '_> {
    /// Whether a pair of objects is tested along a chord.
    fn is_tested(&self, chord: &Chord<'_>, one: usize, other: usize) -> bool {
        match chord.tested {
            Tested::All => true,
            Tested::HairOnHost => self.input.model.is_rooted(one, other),
            Tested::Others => !self.input.model.is_rooted(one, other),
        }
    }

    fn test_pairs(&self, chord: &Chord<'_>, found: &mut Intersections) {
        let detection = self.detection;
        let features = &detection.collision.features;
        let [from, to] = chord.ends.map(|moment| &moment.points[..]);
        let candidates = self.candidates(chord);
        let is_last = chord.is_last();
        let report = certify(
            features,
            &candidates.point_triangle,
            &candidates.edge_edge,
            from,
            to,
            |kind, pair| {
                if is_last {
                    let is_edges = kind == PairKind::EdgeEdge;
                    detection.least_distance(pair, is_edges, 0.5 * GUARD_FRACTION)
                } else {
                    0.0
                }
            },
        );
        let description = || {
            let violation = report.violations.first()?;
            let is_edges = violation.kind == PairKind::EdgeEdge;
            let (points, second) = points_of(features, violation.features, is_edges);
            let name = |point| {
                detection
                    .collision
                    .name(self.input.model, Feature::Point(point))
            };
            let [(one, at), (other, there)] = [points[0], points[second]].map(name);
            let phrase = chord.phrase(violation.violation);
            Some(format!(
                "`{one}` (vertex {at}) {phrase} `{other}` (vertex {there})"
            ))
        };
        found.add(report.intersections, description);
    }

    /// The pairs of features that may meet along a chord, by a search of its own.
    fn candidates(&self, chord: &Chord<'_>) -> Candidates {
        let [from, to] = chord.ends.map(|moment| &moment.points[..]);
        let mut candidates = self.detection.candidates(from, to);
        if chord.tested == Tested::All {
            return candidates;
        }
        let features = &self.detection.collision.features;
        let object = |point: u32| self.detection.collision.object_of(point);
        let is_tested = |pair: &[u32; 2], is_edges: bool| {
            let (points, second) = points_of(features, *pair, is_edges);
            self.is_tested(chord, object(points[0]), object(points[second]))
        };
        candidates
            .point_triangle
            .retain(|pair| is_tested(pair, false));
        candidates.edge_edge.retain(|pair| is_tested(pair, true));
        candidates
    }

    /// Tests an exact collider along a chord.
    fn test_collider(
        &self,
        number: usize,
        moving: &MovingCollider<'_>,
        chord: &Chord<'_>,
        found: &mut Intersections,
    ) {
        let (model, collision) = (self.input.model, self.detection.collision);
        let (collider, shape) = (moving.collider, &moving.collider.shape);
        let poses = geometric_poses(shape, chord.ends.map(|moment| moment.poses[number]));
        let [from, to] = [0, 1].map(|end| {
            let back = poses[end].inverse();
            let points = chord.ends[end].points.iter();
            points.map(|point| back.apply(*point)).collect::<Vec<_>>()
        });
        let guards = self.guards(moving, chord.is_last());
        let guard = |point: u32| guards[point as usize];
        let core = |point: u32| collision.core[point as usize];
        let is_tested = |primitive: &Primitive| {
            collision.can_collide(model, primitive.part, collider)
                && self.detection.has_movable(&primitive.points)
                && self.is_tested(
                    chord,
                    collision.object_of(primitive.points[0]),
                    collider.object,
                )
        };
        let features: &Features = &collision.features;
        let report = certify_shape(features, shape, [&from, &to], core, guard, is_tested);
        let description = || {
            let violation = report.violations.first()?;
            let (one, at) = collision.name(model, Feature::Point(violation.feature[0]));
            let phrase = chord.phrase(violation.violation);
            let name = &model.objects[collider.object].name;
            Some(format!("`{one}` (vertex {at}) {phrase} `{name}`"))
        };
        found.add(report.intersections, description);
    }

    /// The distance that each point must keep from an exact collider at the end of a chord (m).
    fn guards(&self, moving: &MovingCollider<'_>, is_last: bool) -> Vec<f64> {
        let collision = self.detection.collision;
        let part = if is_last { 1.0 } else { INNER_FRACTION };
        let start_distances = start_distances(collision, moving);
        let points = start_distances.iter().enumerate();
        let guard = |(at, start): (usize, &f64)| {
            let core = collision.core[at];
            let skin = moving.collider.thickness[at] - core;
            let guard = (0.5 * GUARD_FRACTION * skin).min(0.25 * (start - core));
            // Points that cannot move have no guard.
            if self.detection.is_movable[at] {
                part * guard.max(0.0)
            } else {
                0.0
            }
        };
        points.map(guard).collect()
    }
}

impl Intersections {
    fn add(&mut self, count: usize, description: impl FnOnce() -> Option<String>) {
        self.count += count as u64;
        if count > 0 && self.first.is_none() {
            self.first = description();
        }
    }
}

impl Chord<'_> {
    fn is_last(&self) -> bool {
        self.ends[1].fraction == 1.0
    }

    /// Verb phrase of a violation, between subject and object.
    fn phrase(&self, violation: Violation) -> String {
        match violation {
            Violation::NotFinite => "has a position that is not finite beside".to_owned(),
            Violation::Collision(time) => {
                let [from, to] = self.ends.map(|moment| moment.fraction);
                let time = from + time * (to - from);
                format!("goes through (from {time:.3} of the step)")
            }
            Violation::TooClose(distance) if self.is_last() => {
                format!("ends {distance:.3e} m from")
            }
            Violation::TooClose(distance) => format!("comes within {distance:.3e} m of"),
        }
    }
}

/// Distance of each point and of its triangles from an exact collider at the start of the step (m).
/// Features that start closer than the guard need not move apart. Triangles far away are skipped.
fn start_distances(collision: &CollisionModel, moving: &MovingCollider<'_>) -> Vec<f64> {
    let from = &moving.start;
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
