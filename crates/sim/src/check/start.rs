//! Intersections at the start. A scene with one is refused, because the gate accepts no motion that
//! starts with an intersection.
//!
//! Surfaces may cross each other ([`crossings`]), exact colliders ([`certify_shape`]) or balls
//! ([`balls`]). If they do not, one object may still be wholly inside another ([`nesting`]).

mod balls;
mod nesting;

use glam::DVec3;

use crate::collide::certify::{certify_shape, crossings};
use crate::collide::convex::closest;
use crate::collide::features::Primitive;
use crate::collide::pair::Feature;
use crate::detect::points_at_start;
use crate::model::Model;
use crate::model::collision::{CollisionModel, ExactCollider};
use crate::units::short_number;

/// Largest number of intersections that are described; the others are counted.
const SHOWN: usize = 5;

/// Descriptions of intersections at the start; empty if there are none.
#[must_use]
pub fn intersections(model: &Model) -> Vec<String> {
    let Some(collision) = &model.collision else {
        return Vec::new();
    };
    let start = Start::new(model, collision);
    let mut found = Intersections::default();
    let crossed = start.add_crossings(&mut found);
    for collider in &collision.colliders {
        start.add_shape(collider, &mut found);
    }
    balls::add_overlaps(&start, &mut found);
    nesting::add_nested(&start, &crossed, &mut found);
    found.finish()
}

/// Descriptions of the first intersections, and the number of the others.
#[derive(Default)]
struct Intersections {
    sentences: Vec<String>,
    others: usize,
}

impl Intersections {
    fn add(&mut self, sentence: impl FnOnce() -> String) {
        if self.sentences.len() < SHOWN {
            self.sentences.push(sentence());
        } else {
            self.others += 1;
        }
    }

    fn finish(mut self) -> Vec<String> {
        if self.others > 0 {
            let others = format!("and {} more intersections at the start", self.others);
            self.sentences.push(others);
        }
        self.sentences
    }
}

/// The points of a model at the start.
struct Start<'a> {
    model: &'a Model,
    collision: &'a CollisionModel,
    points: Vec<DVec3>,
    /// Whether a point depends on a free node.
    is_movable: Vec<bool>,
}

impl<'a> Start<'a> {
    fn new(model: &'a Model, collision: &'a CollisionModel) -> Start<'a> {
        let held = model.held(&model.start, &model.clock.span(0)).is_held;
        let is_free = |node: u32| model.unknowns.is_free(node as usize, &held);
        let points = points_at_start(model, collision);
        let numbers = 0..points.len() as u32;
        let stencils = numbers.map(|point| collision.stencil(point));
        let is_movable = stencils.map(|nodes| nodes.iter().any(|(node, _)| is_free(*node)));
        Start {
            is_movable: is_movable.collect(),
            model,
            collision,
            points,
        }
    }

    fn any_movable(&self, points: &[u32]) -> bool {
        points.iter().any(|point| self.is_movable[*point as usize])
    }

    /// Adds edges that cross triangles. Returns the pairs of parts that do, the smaller first,
    /// sorted.
    fn add_crossings(&self, found: &mut Intersections) -> Vec<[u32; 2]> {
        let features = &self.collision.features;
        let mut crossed = Vec::new();
        for crossing in crossings(features, &self.points) {
            let ends = features.edges[crossing.edge as usize];
            let corners = features.triangles[crossing.triangle as usize];
            let parts = [ends[0], corners[0]].map(|point| features.part_of[point as usize]);
            crossed.push([parts[0].min(parts[1]), parts[0].max(parts[1])]);
            if !self.any_movable(&ends) && !self.any_movable(&corners) {
                continue;
            }
            found.add(|| {
                let edge = self.place(Feature::Edge(crossing.edge));
                let triangle = self.place(Feature::Triangle(crossing.triangle));
                format!(
                    "{edge} intersects {triangle} at the start, at {}: move them apart",
                    position(crossing.position)
                )
            });
        }
        crossed.sort_unstable();
        crossed.dedup();
        crossed
    }

    /// Adds features that intersect an exact collider, or are inside it.
    fn add_shape(&self, collider: &ExactCollider, found: &mut Intersections) {
        let collision = self.collision;
        let back = self.model.collider_pose(collider, 0.0).inverse();
        let local: Vec<DVec3> = self.points.iter().map(|point| back.apply(*point)).collect();
        let core = |point: u32| collision.core[point as usize];
        let is_tested = |primitive: &Primitive| {
            collision.can_collide(self.model, primitive.part, collider)
                && self.any_movable(&primitive.points)
        };
        let report = certify_shape(
            &collision.features,
            &collider.shape,
            [&local, &local],
            core,
            |_| 0.0,
            is_tested,
        );
        let violations = report.violations.iter().map(|violation| {
            let mut corners = violation.feature.to_vec();
            corners.dedup();
            let places: Vec<DVec3> = corners.iter().map(|it| local[*it as usize]).collect();
            let reach = closest(&collider.shape, &places);
            let depth = reach.map_or(0.0, |it| core(corners[0]) - it.signed.distance);
            (corners[0], depth)
        });
        let mut deepest: Vec<(u32, f64)> = violations.collect();
        // Neighbouring triangles may have the same first corner.
        deepest.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
        deepest.dedup_by_key(|(point, _)| *point);
        let name = &self.model.objects[collider.object].name;
        for (point, depth) in &deepest {
            found.add(|| {
                let depth = if *depth > 0.0 {
                    format!("by {} m ", short_number(*depth))
                } else {
                    String::new()
                };
                format!(
                    "{} intersects `{name}` {depth}at the start, at {}: move them apart",
                    self.place(Feature::Point(*point)),
                    position(self.points[*point as usize])
                )
            });
        }
        found.others += report.intersections - report.violations.len();
    }

    /// Name of the object of a feature, with one of its vertices, and its copy if there are
    /// several.
    fn place(&self, feature: Feature) -> String {
        let (name, vertex) = self.collision.name(self.model, feature);
        let object = self.model.object(&name).map(|it| &self.model.objects[it]);
        let copies = object.map_or(1, |object| object.copies);
        let [point, ..] = feature.corners(&self.collision.features);
        let is_ball = self.collision.core[point as usize] > 0.0;
        match (is_ball, copies) {
            (true, 1) => format!("`{name}`"),
            (true, _) => format!("`{name}` (copy {vertex})"),
            (false, 1) => format!("`{name}` (vertex {vertex})"),
            (false, _) => {
                let points = object.map_or(1, |object| object.mesh.points.len() / copies);
                format!(
                    "`{name}` (vertex {vertex}, copy {})",
                    vertex / points.max(1)
                )
            }
        }
    }
}

/// A position in a message.
fn position(place: DVec3) -> String {
    let [x, y, z] = place.to_array();
    format!("({x:.4}, {y:.4}, {z:.4}) m")
}
