//! Pins that hold too much, nothing, or against each other.

use std::collections::BTreeSet;

use glam::DVec3;

use super::{Finding, Severity, finding};
use crate::model::{Clamp, Model, Pin};
use crate::units::short_number;

/// Two pins pull a vertex apart if they move it differently by more than this (m), or twist it (rad).
const APART: f64 = 1e-9;

pub(super) fn check_pins(model: &Model, findings: &mut Vec<Finding>) {
    let end = model.clock.time(model.clock.steps());
    for (index, pin) in model.pins.iter().enumerate() {
        let object = &model.objects[pin.object];
        if pin.vertices.len() == object.mesh.points.len() && !object.nodes().is_empty() {
            let sentence = format!(
                "`{}` holds every vertex of `{}`: it will not move by itself",
                called(model, index),
                object.name
            );
            findings.push(finding(Severity::Warning, sentence));
        }
        if let Some(jump) = jump_at_start(model, pin) {
            let sentence = format!(
                "`{}` begins {} m away from where its vertices start: they jump there in the first step",
                called(model, index),
                short_number(jump)
            );
            findings.push(finding(Severity::Warning, sentence));
        }
        if pin.start >= end {
            let sentence = format!(
                "`{}` takes hold at {} s, but the run ends at {end} s",
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

/// How far a pin that holds from the start moves vertices at once (m), if it does.
fn jump_at_start(model: &Model, pin: &Pin) -> Option<f64> {
    if pin.start > 0.0 {
        return None;
    }
    let points = &model.objects[pin.object].mesh.points;
    let starts = pin.vertices.iter().map(|vertex| points[*vertex as usize]);
    let told = pin.script.points(starts.clone().enumerate(), 0.0);
    let jumps = told.zip(starts).map(|(told, start)| told.distance(start));
    let jump = jumps.fold(0.0, f64::max);
    (jump > APART.max(1e-12 * model.objects[pin.object].mesh.diagonal())).then_some(jump)
}

/// The pairs of pins that hold a vertex in common, found by vertex: a scene may have thousands of pins.
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

/// A pin or the clamp that it belongs to, as the scene calls it.
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
    let who = |vertex: u32| {
        let place = object.mesh.points[vertex as usize];
        let [x, y, z] = place.to_array().map(short_number);
        format!(
            "{both} hold vertex {vertex} of `{}` at ({x}, {y}, {z})",
            object.name
        )
    };
    let one_of_two = "let one of them go, or choose other vertices";
    if let Some((time, vertex)) = shared.apart(&object.mesh.points, [one, other], &span) {
        let sentence = format!(
            "{}, but move it apart, as at {time:.4} s: {one_of_two}",
            who(vertex)
        );
        findings.push(finding(Severity::Wrong, sentence));
    } else if let Some((time, edge)) = twisted_apart(model, [earlier, later], &span) {
        let sentence = format!(
            "{both} hold edge {edge} of `{}`, but twist it differently, as at {time:.4} s: {one_of_two}",
            object.name
        );
        findings.push(finding(Severity::Wrong, sentence));
    } else if one.release != other.release {
        let sentence = format!(
            "{}, but let go at different times: the later one counts",
            who(first)
        );
        findings.push(finding(Severity::Warning, sentence));
    }
}

/// When two pins both hold (s).
struct Span {
    start: f64,
    end: f64,
}

impl Span {
    /// Nothing if there is no such time.
    fn of(model: &Model, one: &Pin, other: &Pin) -> Option<Span> {
        let run = model.clock.time(model.clock.steps());
        let start = one.start.max(other.start);
        let end = one.release.min(other.release).min(run);
        (end > start).then_some(Span { start, end })
    }

    /// Times to look at, ascending, the last one too; so uneven that no oscillation is at rest at all of them.
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

/// The vertices that two pins hold, each with its indices in both.
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

    /// A time and a vertex that the pins have moved differently then, from where both held it first.
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
            let is_apart = |i: &usize| moved(0, *i).distance(moved(1, *i)) > APART;
            let found = (0..self.0.len()).find(is_apart)?;
            Some((time, self.0[found].0))
        })
    }
}

/// A time and an edge that two clamps, given by their pins, have twisted differently then.
fn twisted_apart(model: &Model, pins: [usize; 2], span: &Span) -> Option<(f64, u32)> {
    let clamp = |pin: usize| model.clamps.iter().find(|clamp| clamp.pin == pin);
    let (one, other) = (clamp(pins[0])?, clamp(pins[1])?);
    let edge = one
        .edges
        .iter()
        .find(|edge| other.edges.binary_search(edge).is_ok())?;
    let twist = |clamp: &Clamp, time: f64| {
        let before = match model.pins[clamp.pin].start == 0.0 {
            true => 0.0,
            false => clamp.twist.angle(span.start),
        };
        clamp.twist.angle(time) - before
    };
    let mut times = span.times().into_iter();
    let apart = times.find(|time| (twist(one, *time) - twist(other, *time)).abs() > APART)?;
    Some((apart, *edge))
}
