//! Intersections at the start. Such a scene is refused, because the gate accepts no motion that
//! starts with an intersection.

use crate::collide::certify::{certify_shape, crossings};
use crate::collide::features::Primitive;
use crate::collide::pair::Feature;
use crate::detect::points_at_start;
use crate::model::Model;
use crate::model::collision::CollisionModel;

/// Largest number of intersections that are described; the others are counted.
const SHOWN: usize = 5;

/// Descriptions of intersections at the start; empty if there are none.
#[must_use]
pub fn intersections(model: &Model) -> Vec<String> {
    let Some(collision) = &model.collision else {
        return Vec::new();
    };
    let points = points_at_start(model, collision);
    let held = model.held(&model.start, &model.clock.span(0)).is_held;
    let is_free = |node: u32| model.unknowns.is_free(node as usize, &held);
    let is_movable = |point: u32| {
        collision
            .stencil(point)
            .iter()
            .any(|(node, _)| is_free(*node))
    };
    let mut found = Vec::new();
    let features = &collision.features;
    for crossing in crossings(features, &points) {
        let ends = features.edges[crossing.edge as usize];
        let corners = features.triangles[crossing.triangle as usize];
        if !ends.iter().chain(&corners).any(|point| is_movable(*point)) {
            continue;
        }
        let (one, at) = collision.name(model, Feature::Edge(crossing.edge));
        let (other, there) = collision.name(model, Feature::Triangle(crossing.triangle));
        let [x, y, z] = crossing.position.to_array();
        found.push(format!(
            "`{one}` (vertex {at}) intersects `{other}` (vertex {there}) at the start, at \
             ({x:.4}, {y:.4}, {z:.4}) m: move them apart"
        ));
    }
    let mut more = 0;
    for collider in &collision.colliders {
        let (places, others) = inside_shape(model, collision, &points, collider, is_movable);
        found.extend(places);
        more += others;
    }
    more += found.len().saturating_sub(SHOWN);
    found.truncate(SHOWN);
    if more > 0 {
        found.push(format!("and {more} more intersections at the start"));
    }
    found
}

/// Descriptions of intersections with an exact collider, and the number of those not described.
fn inside_shape(
    model: &Model,
    collision: &CollisionModel,
    points: &[glam::DVec3],
    collider: &crate::model::collision::ExactCollider,
    is_movable: impl Fn(u32) -> bool + Sync,
) -> (Vec<String>, usize) {
    let back = model.collider_pose(collider, 0.0).inverse();
    let local: Vec<glam::DVec3> = points.iter().map(|point| back.apply(*point)).collect();
    let core = |point: u32| collision.core[point as usize];
    let is_tested = |primitive: &Primitive| {
        collision.can_collide(model, primitive.part, collider)
            && primitive.points.iter().any(|point| is_movable(*point))
    };
    let report = certify_shape(
        &collision.features,
        &collider.shape,
        [&local, &local],
        core,
        |_| 0.0,
        is_tested,
    );
    let name = &model.objects[collider.object].name;
    let violations = report.violations.iter();
    let mut sentences: Vec<String> = violations
        .map(|violation| {
            let point = violation.feature[0];
            let (one, at) = collision.name(model, Feature::Point(point));
            let [x, y, z] = points[point as usize].to_array();
            format!(
                "`{one}` (vertex {at}) intersects `{name}` at the start, at \
                 ({x:.4}, {y:.4}, {z:.4}) m: move them apart"
            )
        })
        .collect();
    // Neighbouring triangles may have the same first corner.
    sentences.sort();
    sentences.dedup();
    let others = if sentences.is_empty() {
        0
    } else {
        report.intersections - report.violations.len()
    };
    (sentences, others)
}
