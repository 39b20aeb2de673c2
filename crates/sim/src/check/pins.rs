//! Pins that hold a whole object, start with a jump, never act, or contradict each other.

use std::collections::BTreeSet;

use glam::DVec3;

use super::{Finding, Severity, finding};
use crate::model::{Clamp, Model, Pin};
use crate::units::short_number;

/// Two pins contradict each other if their motions of a vertex differ by more than this (m), or
/// their twists of an edge (rad).
const MOTION_TOLERANCE: f64 = 1e-9;

pub(super) fn check_pins(model: &Model, findings: &mut Vec<Finding>) {
    let end = model.clock.time(model.clock.steps());
    for (index, pin) in model.pins.iter().enumerate() {
        let object = &model.objects[pin.object];
        if pin.vertices.len() == object.mesh.points.len() && !object.nodes().is_empty() {
            let sentence = format!(
                "`{}` holds all vertices of `{}`, so that no part of it is simulated",
                called(model, index),
                object.name
            );
            findings.push(finding(Severity::Warning, sentence));
        }
        if let Some(jump) = jump_at_start(model, pin) {
            let sentence = format!(
                "the motion of `{}` starts {} m from the initial positions of its vertices, which \
                 jump there in the first step",
                called(model, index),
                short_number(jump)
            );
            findings.push(finding(Severity::Warning, sentence));
        }
        if pin.start >= end {
            let sentence = format!(
                "`{}` never holds: it starts at {} s, but the run ends at {end} s",
                called(model, index),
                pin.start
            );
            findings.push(finding(Severity::Warning, sentence));
        }
    }
    for (earlier, later) in sharing_pairs(model) {
        check_pair(model, earlier, later, findings);
    }
}

/// Distance by which a pin moves its vertices at the start (m), if it does.
fn jump_at_start(model: &Model, pin: &Pin) -> Option<f64> {
    if pin.start > 0.0 {
        return None;
    }
    let points = &model.objects[pin.object].mesh.points;
    let starts = pin.vertices.iter().map(|vertex| points[*vertex as usize]);
    let prescribed = pin.script.points(starts.clone().enumerate(), 0.0);
    let jumps = prescribed.zip(starts);
    let jumps = jumps.map(|(prescribed, start)| prescribed.distance(start));
    let jump = jumps.fold(0.0, f64::max);
    let rounding = 1e-12 * model.objects[pin.object].mesh.diagonal();
    (jump > MOTION_TOLERANCE.max(rounding)).then_some(jump)
}

/// Pairs of pins with a common vertex. Found by sorting vertices, as a scene may have thousands of
/// pins.
fn sharing_pairs(model: &Model) -> BTreeSet<(usize, usize)> {
    let mut holds: Vec<(usize, u32, usize)> = Vec::new();
    for (index, pin) in model.pins.iter().enumerate() {
        let vertices = pin.vertices.iter();
        holds.extend(vertices.map(|vertex| (pin.object, *vertex, index)));
    }
    holds.sort_unstable();
    let mut pairs = BTreeSet::new();
    for same in holds.chunk_by(|one, other| (one.0, one.1) == (other.0, other.1)) {
        for neighbours in same.windows(2) {
            pairs.insert((neighbours[0].2, neighbours[1].2));
        }
    }
    pairs
}

/// Name of a pin, or of the clamp to which it belongs, as in the scene.
fn called(model: &Model, pin: usize) -> String {
    let is_clamp = model.clamps.iter().any(|clamp| clamp.pin == pin);
    format!(
        "{}.{}",
        if is_clamp { "clamp" } else { "pin" },
        model.pins[pin].name
    )
}

fn check_pair(model: &Model, earlier: usize, later: usize, findings: &mut Vec<Finding>) {
    let (one, other) = (&model.pins[earlier], &model.pins[later]);
    let Some(span) = Span::of(model, one, other) else {
        return;
    };
    let shared = Shared::of(one, other);
    let Some(&(first, _)) = shared.0.first() else {
        return;
    };
    let object = &model.objects[one.object];
    let both = format!(
        "`{}` and `{}`",
        called(model, earlier),
        called(model, later)
    );
    let hold_vertex = |vertex: u32| {
        let place = object.mesh.points[vertex as usize];
        let [x, y, z] = place.to_array().map(short_number);
        format!(
            "{both} both hold vertex {vertex} of `{}` at ({x}, {y}, {z}) m",
            object.name
        )
    };
    let advice = "release one of them first, or select other vertices";
    if let Some((time, vertex)) = shared.apart(&object.mesh.points, [one, other], &span) {
        let sentence = format!(
            "{}, but move it differently at {time:.4} s: {advice}",
            hold_vertex(vertex)
        );
        findings.push(finding(Severity::Wrong, sentence));
    } else if let Some((time, edge)) = twisted_apart(model, [earlier, later], &span) {
        let sentence = format!(
            "{both} both hold edge {edge} of `{}`, but twist it differently at {time:.4} s: \
             {advice}",
            object.name
        );
        findings.push(finding(Severity::Wrong, sentence));
    } else if one.release != other.release {
        let sentence = format!(
            "{}, but release it at different times: the later release applies",
            hold_vertex(first)
        );
        findings.push(finding(Severity::Warning, sentence));
    }
}

/// Time interval in which two pins hold (s).
struct Span {
    start: f64,
    end: f64,
}

impl Span {
    /// The interval; `None` if it is empty.
    fn of(model: &Model, one: &Pin, other: &Pin) -> Option<Span> {
        let run = model.clock.time(model.clock.steps());
        let start = one.start.max(other.start);
        let end = one.release.min(other.release).min(run);
        (end > start).then_some(Span { start, end })
    }

    /// Sampled times, ascending, with the end. They are uneven, so that no oscillation is zero at
    /// all of them.
    fn times(&self) -> Vec<f64> {
        const SAMPLES: u32 = 64;
        const GOLDEN: f64 = 0.618_033_988_749_894_8;
        let part = |i: u32| (f64::from(i) * GOLDEN).fract();
        let mut parts: Vec<f64> = (1..SAMPLES).map(part).chain([1.0]).collect();
        parts.sort_by(f64::total_cmp);
        let time = |part: f64| self.start + (self.end - self.start) * part;
        parts.into_iter().map(time).collect()
    }
}

/// The common vertices of two pins, each with its indices in both.
struct Shared(Vec<(u32, [usize; 2])>);

impl Shared {
    fn of(one: &Pin, other: &Pin) -> Shared {
        let held = one.vertices.iter().enumerate();
        let both = held.filter_map(|(index, vertex)| {
            let found = other.vertices.binary_search(vertex).ok()?;
            Some((*vertex, [index, found]))
        });
        Shared(both.collect())
    }

    /// A time and a vertex whose prescribed displacements differ, measured from the start of the
    /// interval.
    fn apart(&self, start: &[DVec3], pins: [&Pin; 2], span: &Span) -> Option<(f64, u32)> {
        let places = |side: usize, time: f64| -> Vec<DVec3> {
            let held = self.0.iter();
            let held = held.map(|(vertex, indices)| (indices[side], start[*vertex as usize]));
            pins[side].script.points(held, time).collect()
        };
        let before = [0, 1].map(|side| places(side, span.start));
        span.times().into_iter().find_map(|time| {
            let now = [0, 1].map(|side| places(side, time));
            let moved = |side: usize, i: usize| now[side][i] - before[side][i];
            let is_apart = |i: &usize| moved(0, *i).distance(moved(1, *i)) > MOTION_TOLERANCE;
            let found = (0..self.0.len()).find(is_apart)?;
            Some((time, self.0[found].0))
        })
    }
}

/// A time and an edge whose prescribed twists differ, for two clamps given by their pins.
fn twisted_apart(model: &Model, pins: [usize; 2], span: &Span) -> Option<(f64, u32)> {
    let clamp = |pin: usize| model.clamps.iter().find(|clamp| clamp.pin == pin);
    let (one, other) = (clamp(pins[0])?, clamp(pins[1])?);
    let edge = one
        .edges
        .iter()
        .find(|edge| other.edges.binary_search(edge).is_ok())?;
    let twist = |clamp: &Clamp, time: f64| {
        let before = if model.pins[clamp.pin].start == 0.0 {
            0.0
        } else {
            clamp.twist.angle(span.start)
        };
        clamp.twist.angle(time) - before
    };
    let differs = |time: &f64| (twist(one, *time) - twist(other, *time)).abs() > MOTION_TOLERANCE;
    let time = span.times().into_iter().find(differs)?;
    Some((time, *edge))
}
