//! Pins that hold too much, nothing, or against each other.

use glam::DVec3;

use super::{Finding, Severity, finding};
use crate::model::{Model, Pin};

/// Two pins pull a vertex apart if they move it differently by more than this (m).
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
        if pin.start >= end {
            let sentence = format!(
                "`{}` takes hold at {} s, but the run ends at {end} s",
                called(model, index),
                pin.start
            );
            findings.push(finding(Severity::Warning, sentence));
        }
        for earlier in 0..index {
            check_pair(model, earlier, index, findings);
        }
    }
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
    if one.object != other.object {
        return;
    }
    let shared = one
        .vertices
        .iter()
        .find(|vertex| other.vertices.binary_search(vertex).is_ok());
    let Some(&vertex) = shared else {
        return;
    };
    let object = &model.objects[one.object];
    let place = object.mesh.points[vertex as usize];
    let (first, second) = (called(model, earlier), called(model, later));
    let who = format!(
        "`{first}` and `{second}` hold vertex {vertex} of `{}` at ({:.4}, {:.4}, {:.4})",
        object.name, place.x, place.y, place.z
    );
    if let Some(time) = time_apart(model, one, other, vertex) {
        let sentence = format!(
            "{who}, but move it apart, as at {time:.4} s: let one of them go, or choose other vertices"
        );
        findings.push(finding(Severity::Wrong, sentence));
    } else if one.release != other.release {
        let sentence = format!("{who}, but let go at different times: the later one counts");
        findings.push(finding(Severity::Warning, sentence));
    }
}

/// A time at which two pins have moved a vertex differently, from where both held it first.
fn time_apart(model: &Model, one: &Pin, other: &Pin, vertex: u32) -> Option<f64> {
    const SAMPLES: u32 = 64;
    let start = one.start.max(other.start);
    let end = one
        .release
        .min(other.release)
        .min(model.clock.time(model.clock.steps()));
    if end <= start {
        return None;
    }
    let place = model.objects[one.object].mesh.points[vertex as usize];
    let moved = |pin: &Pin, time: f64| -> DVec3 {
        let index = pin.vertices.binary_search(&vertex).unwrap_or(0);
        pin.script.point(index, place, time) - pin.script.point(index, place, start)
    };
    let times = (1..=SAMPLES).map(|i| start + (end - start) * f64::from(i) / f64::from(SAMPLES));
    let mut apart = times.filter(|time| moved(one, *time).distance(moved(other, *time)) > APART);
    apart.next()
}
