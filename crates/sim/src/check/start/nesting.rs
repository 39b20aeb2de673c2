//! Objects that start wholly inside others. Where surfaces do not cross, each connected piece is
//! wholly inside or outside of a closed surface, so one point of it decides.
//!
//! Solids, embedded surfaces, props and closed colliders are bodies; cloth is not, whose inside is
//! empty. A collider with inward normals is a room, and the scene is inside. Exact colliders around
//! an object are found by their distance instead.

use glam::DVec3;
use reefknot_contact::system::DisjointSets;

use super::{Intersections, Start, position};
use crate::collide::certify::{Enclosure, PairKind, distance};
use crate::collide::features::Features;
use crate::collide::pair::Feature;
use crate::generate::shape::Shape;
use crate::model::ObjectType;
use crate::units::short_number;

/// Adds objects inside others. `crossed` are the pairs of parts whose surfaces cross, sorted: they
/// are intersections already.
pub(super) fn add_nested(start: &Start<'_>, crossed: &[[u32; 2]], found: &mut Intersections) {
    let nesting = Nesting::new(start);
    if nesting.enclosure.is_empty() {
        return;
    }
    nesting.add_pieces(crossed, found);
    nesting.add_colliders(found);
}

struct Nesting<'a> {
    start: &'a Start<'a>,
    enclosure: Enclosure<'a>,
    /// Whether a point of each part is movable.
    is_movable: Vec<bool>,
    /// Pairs of objects that are attached, the smaller first, sorted: a hair may begin below the
    /// skin, and a bone is inside of its limb.
    attached: Vec<[usize; 2]>,
}

impl<'a> Nesting<'a> {
    fn new(start: &'a Start<'a>) -> Nesting<'a> {
        let (model, collision) = (start.model, start.collision);
        let is_body = |part: u32| {
            let object = collision.objects[part as usize] as usize;
            !matches!(model.objects[object].kind, ObjectType::Shell(_))
        };
        let features = &collision.features;
        let mut is_movable = vec![false; features.parts.len()];
        for (part, is_point_movable) in features.part_of.iter().zip(&start.is_movable) {
            is_movable[*part as usize] |= is_point_movable;
        }
        let ties = model.ties.iter().map(|tie| [tie.from.0, tie.to.0]);
        let objects = model.objects.iter().enumerate();
        let roots =
            objects.filter_map(|(index, object)| Some([index, object.rooted.as_ref()?.host]));
        let pairs = ties.chain(roots);
        let mut attached: Vec<_> = pairs.map(|[a, b]| [a.min(b), a.max(b)]).collect();
        attached.sort_unstable();
        attached.dedup();
        Nesting {
            start,
            enclosure: Enclosure::new(features, &start.points, is_body),
            is_movable,
            attached,
        }
    }

    /// Adds connected pieces of surfaces and rods, and balls, inside a part of another object or
    /// copy.
    fn add_pieces(&self, crossed: &[[u32; 2]], found: &mut Intersections) {
        let features = &self.start.collision.features;
        for point in representatives(features) {
            let place = self.start.points[point as usize];
            let own = features.part_of[point as usize];
            for (part, number) in self.enclosure.winding_numbers(place, Some(own)) {
                let pair = [own.min(part), own.max(part)];
                let is_inside = number > 0
                    && features.may_collide(own, part)
                    && (self.is_movable[own as usize] || self.is_movable[part as usize])
                    && crossed.binary_search(&pair).is_err()
                    && !self.are_attached(own, part);
                if is_inside {
                    let inner = || self.start.place(Feature::Point(point));
                    found.add(|| self.describe(&inner(), place, part));
                }
            }
        }
    }

    /// Adds exact colliders inside a part.
    fn add_colliders(&self, found: &mut Intersections) {
        let (model, collision) = (self.start.model, self.start.collision);
        for collider in &collision.colliders {
            let Some(inner) = interior_point(&collider.shape) else {
                continue;
            };
            let place = model.collider_pose(collider, 0.0).apply(inner);
            for (part, number) in self.enclosure.winding_numbers(place, None) {
                let is_tested = collision.can_collide(model, part, collider);
                if number > 0 && is_tested && self.is_movable[part as usize] {
                    let name = format!("`{}`", model.objects[collider.object].name);
                    found.add(|| self.describe(&name, place, part));
                }
            }
        }
    }

    fn are_attached(&self, one: u32, other: u32) -> bool {
        let object = |part: u32| self.start.collision.objects[part as usize] as usize;
        let [one, other] = [one, other].map(object);
        let pair = [one.min(other), one.max(other)];
        self.attached.binary_search(&pair).is_ok()
    }

    fn describe(&self, inner: &str, place: DVec3, part: u32) -> String {
        let object = self.start.collision.objects[part as usize] as usize;
        let outer = &self.start.model.objects[object];
        let room = if matches!(outer.kind, ObjectType::Collider(_)) {
            "; a closed collider around a scene needs inward normals"
        } else {
            ""
        };
        format!(
            "{inner} starts inside `{}`, {} m below its surface, at {}: move it out, or set \
             `touch = false` for the pair in `contact.pairs`{room}",
            outer.name,
            short_number(self.depth(place, part)),
            position(place)
        )
    }

    /// Distance of a place from the triangles of a part (m).
    fn depth(&self, place: DVec3, part: u32) -> f64 {
        let features = &self.start.collision.features;
        let triangles = features.triangles.iter();
        let own = triangles.filter(|corners| features.part_of[corners[0] as usize] == part);
        let distances = own.map(|corners| {
            let [a, b, c] = corners.map(|corner| self.start.points[corner as usize]);
            distance(PairKind::PointTriangle, &[place, a, b, c])
        });
        distances.fold(f64::INFINITY, f64::min)
    }
}

/// The first point of each connected piece.
fn representatives(features: &Features) -> Vec<u32> {
    let points = features.part_of.len();
    let mut pieces = DisjointSets::new(points);
    for [one, other] in &features.edges {
        pieces.join(*one, *other);
    }
    let points = 0..points as u32;
    points
        .filter(|point| pieces.find(*point) == *point)
        .collect()
}

/// A point inside a shape with an exact distance; none for a half space.
fn interior_point(shape: &Shape) -> Option<DVec3> {
    match shape {
        Shape::Plane { .. } => None,
        Shape::Cone { height, .. } => Some(DVec3::Z * (0.25 * height)),
        _ => Some(DVec3::ZERO),
    }
}
