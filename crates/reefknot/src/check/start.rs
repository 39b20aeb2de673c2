//! Whether a scene starts with things inside each other: such a scene is refused, since no motion from there is free of
//! intersections.

use crate::collide::certify::{certify_shape, crossings};
use crate::collide::features::Primitive;
use crate::collide::pair::Feature;
use crate::detect::points_at_start;
use crate::model::Model;
use crate::model::touch::Touch;

/// Pairs that are named; of the others it is said how many there are.
const SHOWN: usize = 5;

/// What starts inside what, in sentences; nothing if all is well.
#[must_use]
pub fn intersections(model: &Model) -> Vec<String> {
    let Some(touch) = &model.touch else {
        return Vec::new();
    };
    let points = points_at_start(model, touch);
    let held = model.held(&model.start, &model.clock.span(0)).is_held;
    let is_free = |node: u32| {
        let offset = model.unknowns.node_offset[node as usize];
        held[offset..offset + 3].contains(&false)
    };
    let is_movable = |point: u32| touch.stencil(point).iter().any(|(node, _)| is_free(*node));
    let mut found = Vec::new();
    let features = &touch.features;
    for crossing in crossings(features, &points) {
        let ends = features.edges[crossing.edge as usize];
        let corners = features.triangles[crossing.triangle as usize];
        if !ends.iter().chain(&corners).any(|point| is_movable(*point)) {
            continue;
        }
        let (one, at) = touch.name(model, Feature::Edge(crossing.edge));
        let (other, there) = touch.name(model, Feature::Triangle(crossing.triangle));
        let [x, y, z] = crossing.place.to_array();
        found.push(format!(
            "`{one}` (vertex {at}) starts inside `{other}` (vertex {there}) at ({x:.4}, {y:.4}, {z:.4}) m"
        ));
    }
    let mut more = 0;
    for collider in &touch.colliders {
        let (places, others) = inside_shape(model, touch, &points, collider, is_movable);
        found.extend(places);
        more += others;
    }
    more += found.len().saturating_sub(SHOWN);
    found.truncate(SHOWN);
    if more > 0 {
        found.push(format!("and {more} more places"));
    }
    found
}

/// What is inside a collider with a formula, and how many places are not named.
fn inside_shape(
    model: &Model,
    touch: &Touch,
    points: &[glam::DVec3],
    collider: &crate::model::touch::ExactCollider,
    is_movable: impl Fn(u32) -> bool + Sync,
) -> (Vec<String>, usize) {
    let back = model.collider_pose(collider, 0.0).inverse();
    let local: Vec<glam::DVec3> = points.iter().map(|point| back.apply(*point)).collect();
    let core = |point: u32| touch.core[point as usize];
    let is_tested = |primitive: &Primitive| {
        touch.meets(model, primitive.part, collider)
            && primitive.points.iter().any(|point| is_movable(*point))
    };
    let report = certify_shape(
        &touch.features,
        &collider.shape,
        [&local, &local],
        core,
        |_| 0.0,
        is_tested,
    );
    let name = &model.objects[collider.object].name;
    let offenders = report.offenders.iter();
    let mut sentences: Vec<String> = offenders
        .map(|offender| {
            let point = offender.feature[0];
            let (one, at) = touch.name(model, Feature::Point(point));
            let [x, y, z] = points[point as usize].to_array();
            format!("`{one}` (vertex {at}) starts inside `{name}` at ({x:.4}, {y:.4}, {z:.4}) m")
        })
        .collect();
    // A triangle and its neighbour may have the same first corner.
    sentences.sort();
    sentences.dedup();
    let others = match sentences.is_empty() {
        true => 0,
        false => report.intersections - report.offenders.len(),
    };
    (sentences, others)
}
