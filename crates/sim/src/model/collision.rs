//! The collision model: features of all surfaces with the nodes of their points, exact colliders,
//! and thicknesses.
//!
//! Surfaces are triangles. Rods are segments, with a radius as thickness. A simulated ball is a
//! single point at its centre, with its radius as core. Colliders given by a formula that move
//! rigidly are exact ([`ExactCollider`]); all others collide by their triangles.

use std::ops::Range;

use std::f64::consts::TAU;

use glam::DVec3;

use super::{Model, Movement, Object, ObjectType};
use crate::collide::features::{Features, NONE, Part};
use crate::collide::pair::Feature;
use crate::generate::shape::Shape;
use crate::mesh::{Curve, Mesh};
use crate::model::contact::PairProperties;
use crate::motion::Pose;

/// Minimum thickness of a simulated object, as a fraction of its size. Surfaces at distance zero
/// would have no sides.
const MIN_RELATIVE_THICKNESS: f64 = 1e-4;

/// Minimum thickness of simulated rods, as a fraction of their length.
const MIN_RELATIVE_DIAMETER: f64 = 1e-6;

/// Features of a model that can collide.
#[derive(Debug, Default)]
pub struct CollisionModel {
    /// Points, edges and triangles of all objects.
    pub features: Features,
    /// Object and vertex of each point; for a ball, its copy instead of the vertex.
    pub places: Vec<(u32, u32)>,
    /// Object of each part.
    pub objects: Vec<u32>,
    /// Half the thickness of each object, and half its minimum thickness (m).
    halves: Vec<[f64; 2]>,
    /// Half the thickness of each point, without its core (m).
    pub skin: Vec<f64>,
    /// Radius of the ball around each point; 0 for other points (m).
    pub core: Vec<f64>,
    /// Skin plus core of each point (m).
    pub half_thickness: Vec<f64>,
    /// Positions of the points in the rest state, separately for each part (m). Rods are straight
    /// there; closed ones are circular.
    pub rest: Vec<DVec3>,
    /// Edges that are segments of rods.
    pub segments: Vec<u32>,
    /// Exact colliders.
    pub colliders: Vec<ExactCollider>,
    /// First point of each object.
    first_point: Vec<u32>,
    /// End of the stencil of each point in `stencils`.
    ends: Vec<u32>,
    /// Nodes and weights of all points, concatenated.
    stencils: Vec<(u32, f64)>,
}

/// A collider given by a formula.
#[derive(Clone, Debug)]
pub struct ExactCollider {
    /// Index of the object.
    pub object: usize,
    /// Shape in local coordinates.
    pub shape: Shape,
    /// Initial pose.
    pub pose: Pose,
    /// Thickness between each point and the collider, with the core of the point (m).
    pub thickness: Vec<f64>,
}

impl CollisionModel {
    /// Collision model of a model; `None` if no simulated part can collide.
    #[must_use]
    pub fn of(model: &Model) -> Option<CollisionModel> {
        let mut collision = CollisionModel {
            halves: vec![[0.0; 2]; model.objects.len()],
            ..CollisionModel::default()
        };
        let mut surfaces = Surfaces::default();
        for index in 0..model.objects.len() {
            collision.first_point.push(collision.places.len() as u32);
            collision.add(model, index, &mut surfaces);
        }
        collision.join_roots(model, &mut surfaces);
        let is_free = surfaces.parts.iter().any(|part| part.is_free);
        collision.features = Features::new(
            surfaces.part_of,
            surfaces.parts,
            surfaces.triangles,
            &surfaces.segments,
            &surfaces.joined,
        );
        let excluded = model.contact.pairs.iter();
        let excluded = excluded.filter(|pair| pair.collides == Some(false));
        let excluded = excluded.map(|pair| pair.objects.map(|object| object as u32));
        collision.features = std::mem::take(&mut collision.features)
            .with_collision_filter(collision.objects.clone(), excluded.collect());
        let primitives = collision.features.primitives.iter();
        let segments = primitives.filter(|it| it.triangle == NONE && it.points[0] != it.points[1]);
        collision.segments = segments.map(|segment| segment.owned_edges[0]).collect();
        let halves = collision.skin.iter().zip(&collision.core);
        collision.half_thickness = halves.map(|(skin, core)| skin + core).collect();
        collision.measure_colliders(model);
        is_free.then_some(collision)
    }

    /// Nodes and weights of a point; empty if the point is scripted.
    #[must_use]
    pub fn stencil(&self, point: u32) -> &[(u32, f64)] {
        let point = point as usize;
        let start = if point == 0 { 0 } else { self.ends[point - 1] };
        &self.stencils[start as usize..self.ends[point] as usize]
    }

    /// Points of an object.
    #[must_use]
    pub fn points_of(&self, object: usize) -> Range<usize> {
        let first = |object: usize| self.first_point.get(object).map(|point| *point as usize);
        let end = first(object + 1).unwrap_or(self.places.len());
        first(object).unwrap_or(end)..end
    }

    /// Objects that have points in the collision model, ascending.
    pub(crate) fn objects_with_points(&self) -> impl Iterator<Item = usize> {
        (0..self.first_point.len()).filter(|object| !self.points_of(*object).is_empty())
    }

    /// Object of a point.
    #[must_use]
    pub fn object_of(&self, point: u32) -> usize {
        self.places[point as usize].0 as usize
    }

    /// Contact properties of two objects.
    #[must_use]
    pub fn pairing(&self, model: &Model, one: usize, other: usize) -> PairProperties {
        let of = |object: usize| (object, &model.objects[object].surface);
        model.contact.between(of(one), of(other))
    }

    /// Thickness set for the objects of two parts minus the thickness of their points (m). It can
    /// be negative.
    #[must_use]
    pub fn extra_thickness(&self, model: &Model, one: u32, other: u32) -> f64 {
        let objects = [one, other].map(|part| self.objects[part as usize] as usize);
        let Some(thickness) = self.prescribed_thickness(model, objects) else {
            return 0.0;
        };
        let own = objects.map(|object| self.halves[object][0]);
        thickness - own[0] - own[1]
    }

    /// Thickness set for two objects, if any, but at least the sum of their minima (m).
    fn prescribed_thickness(&self, model: &Model, objects: [usize; 2]) -> Option<f64> {
        let thickness = model.contact.thickness_between(objects[0], objects[1])?;
        let [one, other] = objects.map(|object| self.halves[object][1]);
        Some(thickness.max(one + other))
    }

    /// Whether a part can collide with an exact collider.
    #[must_use]
    pub fn can_collide(&self, model: &Model, part: u32, collider: &ExactCollider) -> bool {
        let object = self.objects[part as usize] as usize;
        self.features.parts[part as usize].is_free
            && model.contact.objects_collide(object, collider.object)
    }

    /// Name of the object of a feature and one of its vertices, for messages.
    #[must_use]
    pub fn name(&self, model: &Model, feature: Feature) -> (String, usize) {
        if let Feature::Collider(number) = feature {
            let object = self.colliders[number as usize].object;
            return (model.objects[object].name.clone(), 0);
        }
        let [point, ..] = feature.corners(&self.features);
        let (object, vertex) = self.places[point as usize];
        (model.objects[object as usize].name.clone(), vertex as usize)
    }

    /// Adds the features of an object.
    fn add(&mut self, model: &Model, index: usize, surfaces: &mut Surfaces) {
        let object = &model.objects[index];
        match (&object.kind, &object.movement) {
            (ObjectType::Rods(_), _) => self.add_rods(model, index, surfaces),
            (
                ObjectType::Collider(Some(exact)) | ObjectType::Rigid(Some(exact), _),
                Movement::Scripted(script),
            ) if script.sequence.is_none()
                && script.motion.deformation.is_none()
                && !model.pins.iter().any(|pin| pin.object == index) =>
            {
                let colliders = exact.poses.iter().map(|pose| ExactCollider {
                    object: index,
                    shape: exact.shape,
                    pose: *pose,
                    thickness: Vec::new(),
                });
                self.colliders.extend(colliders);
            }
            (ObjectType::Rigid(Some(exact), _), Movement::Carried(carried)) => match exact.shape {
                Shape::Sphere { radius } => {
                    // The first of the four nodes of a prop is its centre.
                    let nodes = carried.nodes.clone().step_by(4);
                    for (copy, node) in nodes.enumerate() {
                        self.add_part(index, object, surfaces);
                        let rest = model.start.positions[node];
                        let skin = self.half_skin(index, object, 2.0 * radius);
                        self.add_point(index, copy, [(node as u32, 1.0)], surfaces);
                        self.core.push(radius);
                        self.skin.push(skin);
                        self.rest.push(rest);
                    }
                }
                _ => self.add_surface(model, index, surfaces),
            },
            _ => self.add_surface(model, index, surfaces),
        }
    }

    /// Adds the rods of an object, each as a part.
    fn add_rods(&mut self, model: &Model, index: usize, surfaces: &mut Surfaces) {
        let object = &model.objects[index];
        let longest = object
            .mesh
            .curves
            .iter()
            .map(|curve| rod_length(&object.mesh, curve))
            .fold(0.0, f64::max);
        let skin = self.half_skin(index, object, longest);
        for curve in &object.mesh.curves {
            self.add_part(index, object, surfaces);
            let first = surfaces.part_of.len() as u32;
            for vertex in curve.first..curve.first + curve.count {
                let vertex = vertex as usize;
                let stencil = model.stencil(index, vertex).unwrap_or_default();
                let stencil = stencil
                    .into_iter()
                    .map(|(node, weight)| (node as u32, weight));
                self.add_point(index, vertex, stencil, surfaces);
                self.core.push(0.0);
                self.skin.push(skin);
            }
            self.rest.extend(unrolled(&object.mesh, curve));
            let edges = curve.edges();
            let numbered = edges.map(|ends| ends.map(|end| first + end - curve.first));
            surfaces.segments.extend(numbered);
        }
    }

    /// Joins root points of hair with the corners of their triangles: such points do not collide.
    fn join_roots(&self, model: &Model, surfaces: &mut Surfaces) {
        for (index, object) in model.objects.iter().enumerate() {
            let Some(rooted) = &object.rooted else {
                continue;
            };
            let host = self.points_of(rooted.host);
            let corners = &model.objects[rooted.host].mesh.triangles;
            for (curve, root) in object.mesh.curves.iter().zip(&rooted.roots) {
                for corner in corners[root.triangle as usize] {
                    // Points are sorted by object and vertex. Exact colliders have none.
                    let place = (rooted.host as u32, corner);
                    if let Ok(at) = self.places[host.clone()].binary_search(&place) {
                        let point = self.first_point[index] + curve.first;
                        surfaces.joined.push([point, (host.start + at) as u32]);
                    }
                }
            }
        }
    }

    /// Adds the triangles of an object, each copy as a part.
    fn add_surface(&mut self, model: &Model, index: usize, surfaces: &mut Surfaces) {
        let object = &model.objects[index];
        let copy = object.rest_copy();
        if copy.triangles.is_empty() {
            return;
        }
        let mut number = vec![u32::MAX; copy.points.len()];
        for corner in copy.triangles.iter().flatten() {
            number[*corner as usize] = 0;
        }
        let skin = self.half_skin(index, object, copy.diagonal());
        for part in 0..object.copies {
            self.add_part(index, object, surfaces);
            let first = part * copy.points.len();
            for (vertex, number) in number.iter_mut().enumerate() {
                if *number == u32::MAX {
                    continue;
                }
                *number = surfaces.part_of.len() as u32;
                let stencil = model.stencil(index, first + vertex).unwrap_or_default();
                // Nodes of weight zero do not move the point.
                let stencil = stencil.into_iter().filter(|(_, weight)| *weight != 0.0);
                let stencil = stencil.map(|(node, weight)| (node as u32, weight));
                self.add_point(index, first + vertex, stencil, surfaces);
                self.core.push(0.0);
                self.skin.push(skin);
                self.rest.push(copy.points[vertex]);
            }
            let triangles = copy.triangles.iter();
            let numbered = triangles.map(|corners| corners.map(|corner| number[corner as usize]));
            surfaces.triangles.extend(numbered);
        }
    }

    /// Adds a part of an object.
    fn add_part(&mut self, index: usize, object: &Object, surfaces: &mut Surfaces) {
        let is_free = !matches!(object.movement, Movement::Scripted(_));
        let is_rigid = matches!(object.kind, ObjectType::Rigid(..) | ObjectType::Collider(_));
        self.objects.push(index as u32);
        surfaces.parts.push(Part {
            is_free,
            self_collides: is_free && !is_rigid,
        });
    }

    /// Adds a point to the last part.
    fn add_point(
        &mut self,
        object: usize,
        vertex: usize,
        stencil: impl IntoIterator<Item = (u32, f64)>,
        surfaces: &mut Surfaces,
    ) {
        surfaces.part_of.push(surfaces.parts.len() as u32 - 1);
        self.places.push((object as u32, vertex as u32));
        self.stencils.extend(stencil);
        self.ends.push(self.stencils.len() as u32);
    }

    /// Computes the thickness between every point and every exact collider.
    fn measure_colliders(&mut self, model: &Model) {
        for at in 0..self.colliders.len() {
            let other = self.colliders[at].object;
            let thickness = (0..self.places.len()).map(|point| {
                let own = self.object_of(point as u32);
                let thickness = self.prescribed_thickness(model, [own, other]);
                let half = 0.5 * model.objects[other].surface.thickness;
                self.core[point] + thickness.unwrap_or(self.skin[point] + half)
            });
            self.colliders[at].thickness = thickness.collect();
        }
    }

    /// Half the thickness of an object with a given size (m).
    fn half_skin(&mut self, index: usize, object: &Object, size: f64) -> f64 {
        let least = match object.movement {
            Movement::Scripted(_) => 0.0,
            Movement::Simulated(_) | Movement::Carried(_) => match object.kind {
                ObjectType::Rods(_) => MIN_RELATIVE_DIAMETER * size,
                _ => MIN_RELATIVE_THICKNESS * size,
            },
        };
        let half = 0.5 * object.surface.thickness.max(least);
        self.halves[index] = [half, 0.5 * least];
        half
    }
}

/// Points, parts, triangles and segments collected from all objects.
#[derive(Default)]
struct Surfaces {
    part_of: Vec<u32>,
    parts: Vec<Part>,
    triangles: Vec<[u32; 3]>,
    segments: Vec<[u32; 2]>,
    joined: Vec<[u32; 2]>,
}

/// Length of a rod (m).
fn rod_length(mesh: &Mesh, curve: &Curve) -> f64 {
    let at = |vertex: u32| mesh.points[vertex as usize];
    curve.edges().map(|[a, b]| at(a).distance(at(b))).sum()
}

/// Vertices of a rod, straightened: distances are arc lengths. Rest distances for self-collision
/// must not depend on how the rod is bent or knotted at the start. Closed rods become circles.
fn unrolled(mesh: &Mesh, curve: &Curve) -> Vec<DVec3> {
    let at = |vertex: u32| mesh.points[vertex as usize];
    let mut along = 0.0;
    let mut places = vec![0.0];
    for [a, b] in curve.edges() {
        along += at(a).distance(at(b));
        places.push(along);
    }
    places.truncate(curve.count as usize);
    let radius = along / TAU;
    let place = |along: f64| {
        if curve.closed && radius > 0.0 {
            DVec3::new(
                radius * (along / radius).cos(),
                radius * (along / radius).sin(),
                0.0,
            )
        } else {
            DVec3::X * along
        }
    };
    places.into_iter().map(place).collect()
}
