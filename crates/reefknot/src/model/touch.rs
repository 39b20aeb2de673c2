//! What can touch, made once from the model: the features of all surfaces, the nodes under each of their points, shapes with a
//! formula, and how thick everything is.
//!
//! Surfaces are triangles, rods are segments about which contacts keep a radius. A simulated ball is one point, its middle, with its
//! radius as thickness: so it is round for everything that it meets. Colliders with a formula that move rigidly are met as they are
//! ([`ExactCollider`]), all others by their triangles.

use std::ops::Range;

use std::f64::consts::TAU;

use glam::DVec3;

use super::{Kind, Model, Movement, Object};
use crate::collide::features::{Features, NONE, Part};
use crate::collide::pair::Feature;
use crate::generate::shape::Shape;
use crate::mesh::{Curve, Mesh};
use crate::model::contact::Pairing;
use crate::motion::Pose;

/// Contacts keep at least this part of the size of a simulated thing: with nothing between them, surfaces would have no sides.
const LEAST_THICKNESS: f64 = 1e-4;

/// The same for rods, which are thinner, as a part of their length.
const LEAST_DIAMETER: f64 = 1e-6;

/// What can touch.
#[derive(Debug, Default)]
pub struct Touch {
    /// Points, edges and triangles of all objects.
    pub features: Features,
    /// Object and vertex of each point; of a ball, its copy.
    pub places: Vec<(u32, u32)>,
    /// The object of each part.
    pub objects: Vec<u32>,
    /// Half the thickness that contacts keep about each object, and half of what they keep at least (m).
    halves: Vec<[f64; 2]>,
    /// Half the thickness that contacts keep about each point, without its core (m).
    pub skin: Vec<f64>,
    /// The radius of each point that is the middle of a ball, else 0 (m).
    pub core: Vec<f64>,
    /// Both together (m).
    pub half_thickness: Vec<f64>,
    /// Positions of the points at rest, each part by itself (m); rods are straight there, or round if they are closed.
    pub rest: Vec<DVec3>,
    /// The edges that are segments of rods.
    pub segments: Vec<u32>,
    /// Colliders with a formula.
    pub colliders: Vec<ExactCollider>,
    /// The first point of each object.
    first_point: Vec<u32>,
    ends: Vec<u32>,
    stencils: Vec<(u32, f64)>,
}

/// A collider with a formula.
#[derive(Clone, Debug)]
pub struct ExactCollider {
    /// The index of the object.
    pub object: usize,
    /// Its shape about its origin.
    pub shape: Shape,
    /// Where it is put before it moves.
    pub pose: Pose,
    /// The thickness between each point and it, with the core of the point (m).
    pub thickness: Vec<f64>,
}

impl Touch {
    /// What can touch in a model; nothing if there is nobody to be touched.
    #[must_use]
    pub fn of(model: &Model) -> Option<Touch> {
        let mut made = Touch {
            halves: vec![[0.0; 2]; model.objects.len()],
            ..Touch::default()
        };
        let mut surfaces = Surfaces::default();
        for index in 0..model.objects.len() {
            made.first_point.push(made.places.len() as u32);
            made.add(model, index, &mut surfaces);
        }
        made.join_roots(model, &mut surfaces);
        let is_free = surfaces.parts.iter().any(|part| part.is_free);
        made.features = Features::new(
            surfaces.part_of,
            surfaces.parts,
            surfaces.triangles,
            &surfaces.segments,
            &surfaces.joined,
        );
        let apart = model.contact.pairs.iter();
        let apart = apart.filter(|pair| pair.touch == Some(false));
        let apart = apart.map(|pair| pair.objects.map(|object| object as u32));
        made.features =
            std::mem::take(&mut made.features).keeping_apart(made.objects.clone(), apart.collect());
        let primitives = made.features.primitives.iter();
        let segments = primitives.filter(|it| it.triangle == NONE && it.points[0] != it.points[1]);
        made.segments = segments.map(|segment| segment.edges[0]).collect();
        let halves = made.skin.iter().zip(&made.core);
        made.half_thickness = halves.map(|(skin, core)| skin + core).collect();
        made.measure_colliders(model);
        is_free.then_some(made)
    }

    /// The nodes and weights that make a point; none if it is told how to move.
    #[must_use]
    pub fn stencil(&self, point: u32) -> &[(u32, f64)] {
        let point = point as usize;
        let start = if point == 0 { 0 } else { self.ends[point - 1] };
        &self.stencils[start as usize..self.ends[point] as usize]
    }

    /// The points of an object.
    #[must_use]
    pub fn points_of(&self, object: usize) -> Range<usize> {
        let first = |object: usize| self.first_point.get(object).map(|point| *point as usize);
        let end = first(object + 1).unwrap_or(self.places.len());
        first(object).unwrap_or(end)..end
    }

    /// The objects that have points here, ascending.
    pub(crate) fn objects_with_points(&self) -> impl Iterator<Item = usize> {
        (0..self.first_point.len()).filter(|object| !self.points_of(*object).is_empty())
    }

    /// The object of a point.
    #[must_use]
    pub fn object_of(&self, point: u32) -> usize {
        self.places[point as usize].0 as usize
    }

    /// What holds between two objects.
    #[must_use]
    pub fn pairing(&self, model: &Model, one: usize, other: usize) -> Pairing {
        let of = |object: usize| (object, &model.objects[object].surface);
        model.contact.between(of(one), of(other))
    }

    /// The thickness that a pair of parts is told to have beyond that of its points, or less (m).
    #[must_use]
    pub fn extra(&self, model: &Model, one: u32, other: u32) -> f64 {
        let objects = [one, other].map(|part| self.objects[part as usize] as usize);
        let Some(told) = self.told(model, objects) else {
            return 0.0;
        };
        let own = objects.map(|object| self.halves[object][0]);
        told - own[0] - own[1]
    }

    /// The thickness that two objects are told to have, if they are, but no less than contacts keep (m).
    fn told(&self, model: &Model, objects: [usize; 2]) -> Option<f64> {
        let told = model.contact.thickness_between(objects[0], objects[1])?;
        let [one, other] = objects.map(|object| self.halves[object][1]);
        Some(told.max(one + other))
    }

    /// Whether anything of a part can touch a collider with a formula.
    #[must_use]
    pub fn meets(&self, model: &Model, part: u32, collider: &ExactCollider) -> bool {
        let object = self.objects[part as usize] as usize;
        self.features.parts[part as usize].is_free
            && model.contact.do_touch(object, collider.object)
    }

    /// How a feature is called in messages: its object, and a vertex of it.
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

    fn add(&mut self, model: &Model, index: usize, surfaces: &mut Surfaces) {
        let object = &model.objects[index];
        match (&object.kind, &object.movement) {
            (Kind::Rods(_), _) => self.add_rods(model, index, surfaces),
            (
                Kind::Collider(Some(exact)) | Kind::Rigid(Some(exact), _),
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
            (Kind::Rigid(Some(exact), _), Movement::Carried(carried)) => match exact.shape {
                Shape::Sphere { radius } => {
                    let nodes = carried.nodes.clone().step_by(4);
                    for (copy, node) in nodes.enumerate() {
                        self.add_part(index, object, surfaces);
                        let rest = model.start.positions[node];
                        let skin = self.half_skin(index, object, 2.0 * radius);
                        self.add_point((index, copy), [(node as u32, 1.0)], surfaces);
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

    /// The rods of an object, each a part of its own.
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
                self.add_point((index, vertex), stencil, surfaces);
                self.core.push(0.0);
                self.skin.push(skin);
            }
            self.rest.extend(unrolled(&object.mesh, curve));
            let edges = curve.edges();
            let numbered = edges.map(|ends| ends.map(|end| first + end - curve.first));
            surfaces.segments.extend(numbered);
        }
    }

    /// Roots of hair count as one with the corners of the triangles that they grow on.
    fn join_roots(&self, model: &Model, surfaces: &mut Surfaces) {
        for (index, object) in model.objects.iter().enumerate() {
            let Some(rooted) = &object.rooted else {
                continue;
            };
            let host = self.first_point[rooted.host] as usize;
            let end = self.first_point.get(rooted.host + 1);
            let end = end.map_or(self.places.len(), |end| *end as usize);
            let corners = &model.objects[rooted.host].mesh.triangles;
            for (curve, root) in object.mesh.curves.iter().zip(&rooted.roots) {
                for corner in corners[root.triangle as usize] {
                    // Vertices of an object are in order; those of colliders with a formula are not there.
                    let place = (rooted.host as u32, corner);
                    if let Ok(at) = self.places[host..end].binary_search(&place) {
                        let point = self.first_point[index] + curve.first;
                        surfaces.joined.push([point, (host + at) as u32]);
                    }
                }
            }
        }
    }

    /// The surface of an object, copy by copy.
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
                // What weighs nothing in a point is not moved by it.
                let stencil = stencil.into_iter().filter(|(_, weight)| *weight != 0.0);
                let stencil = stencil.map(|(node, weight)| (node as u32, weight));
                self.add_point((index, first + vertex), stencil, surfaces);
                self.core.push(0.0);
                self.skin.push(skin);
                self.rest.push(copy.points[vertex]);
            }
            let triangles = copy.triangles.iter();
            let numbered = triangles.map(|corners| corners.map(|corner| number[corner as usize]));
            surfaces.triangles.extend(numbered);
        }
    }

    fn add_part(&mut self, index: usize, object: &Object, surfaces: &mut Surfaces) {
        let is_free = !matches!(object.movement, Movement::Scripted(_));
        let is_rigid = matches!(object.kind, Kind::Rigid(..) | Kind::Collider(_));
        self.objects.push(index as u32);
        surfaces.parts.push(Part {
            is_free,
            meets_itself: is_free && !is_rigid,
        });
    }

    /// A point of the last part.
    fn add_point(
        &mut self,
        (object, vertex): (usize, usize),
        stencil: impl IntoIterator<Item = (u32, f64)>,
        surfaces: &mut Surfaces,
    ) {
        surfaces.part_of.push(surfaces.parts.len() as u32 - 1);
        self.places.push((object as u32, vertex as u32));
        self.stencils.extend(stencil);
        self.ends.push(self.stencils.len() as u32);
    }

    /// The thickness between every point and every collider with a formula.
    fn measure_colliders(&mut self, model: &Model) {
        for at in 0..self.colliders.len() {
            let other = self.colliders[at].object;
            let thickness = (0..self.places.len()).map(|point| {
                let own = self.object_of(point as u32);
                let told = self.told(model, [own, other]);
                let half = 0.5 * model.objects[other].surface.thickness;
                self.core[point] + told.unwrap_or(self.skin[point] + half)
            });
            self.colliders[at].thickness = thickness.collect();
        }
    }

    /// Half the thickness of an object of some size.
    fn half_skin(&mut self, index: usize, object: &Object, size: f64) -> f64 {
        let least = match object.movement {
            Movement::Scripted(_) => 0.0,
            Movement::Simulated(_) | Movement::Carried(_) => match object.kind {
                Kind::Rods(_) => LEAST_DIAMETER * size,
                _ => LEAST_THICKNESS * size,
            },
        };
        let half = 0.5 * object.surface.thickness.max(least);
        self.halves[index] = [half, 0.5 * least];
        half
    }
}

/// The corners and parts of features, while they are gathered.
#[derive(Default)]
struct Surfaces {
    part_of: Vec<u32>,
    parts: Vec<Part>,
    triangles: Vec<[u32; 3]>,
    segments: Vec<[u32; 2]>,
    joined: Vec<[u32; 2]>,
}

/// The length of a rod (m).
fn rod_length(mesh: &Mesh, curve: &Curve) -> f64 {
    let at = |vertex: u32| mesh.points[vertex as usize];
    curve.edges().map(|[a, b]| at(a).distance(at(b))).sum()
}

/// The vertices of a rod where distances are what lies between them along the rod: how close two places of it may come does not
/// depend on how it was bent at the start, or knotted.
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
    let place = |along: f64| match curve.closed && radius > 0.0 {
        true => DVec3::new(
            radius * (along / radius).cos(),
            radius * (along / radius).sin(),
            0.0,
        ),
        false => DVec3::X * along,
    };
    places.into_iter().map(place).collect()
}
