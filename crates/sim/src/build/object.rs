//! Objects and colliders: mesh, material, placement and movement.

use std::sync::Arc;

use glam::{DQuat, DVec3};

use super::kind::{carry_directors, own_thickness, surface, use_of};
use super::mesh::Prototype;
use super::place::{Layout, Places, vector};
use super::refuse::smallest_length;
use super::simulate::Simulated;
use super::{Builder, Parts};
use crate::generate::lattice::Embedding;
use crate::generate::shape::Shape;
use crate::mesh::Mesh;
use crate::mesh::diagnose::MeshUse;
use crate::model::{ExactShape, Movement, Object, ObjectType};
use crate::scene::problem::Place;
use crate::scene::tables::{self, Collider, ObjectKind, Placement};
use crate::scene::values::NamedItem;

pub(super) type ObjectItem = NamedItem<tables::Object>;

impl<'a> Builder<'a> {
    /// All objects and colliders. Grooms are built last, because they need their hosts.
    pub(super) fn parts(&mut self) -> Option<Parts> {
        let tables = self.tables;
        let mut parts = Parts::default();
        let mut slots: Vec<Option<Object>> = Vec::new();
        for item in &tables.object.0 {
            let object = match item.value.kind {
                ObjectKind::Groom(_) => None,
                _ => self.object(item, &mut parts, slots.len()),
            };
            slots.push(object);
        }
        for item in &tables.collider.0 {
            let collider = self.collider(item);
            slots.push(collider);
        }
        for (index, item) in tables.object.0.iter().enumerate() {
            if let ObjectKind::Groom(groom) = &item.value.kind {
                slots[index] = self.groom(item, groom, &slots, &mut parts, index);
            }
        }
        let objects: Option<Vec<Object>> = slots.into_iter().collect();
        parts.objects = objects?;
        Some(parts)
    }

    /// An object that is not a groom. Its nodes and bodies are added to the parts.
    fn object(&mut self, item: &ObjectItem, parts: &mut Parts, index: usize) -> Option<Object> {
        let who = format!("object.{}", item.name);
        let prototype = self.object_mesh(&item.value.kind, &who);
        let material = self.material_of(item);
        let Prototype {
            mut mesh,
            place,
            shape,
            order,
        } = prototype?;
        let use_as = use_of(&item.value.kind);
        let places = self.placed(&mut mesh, &item.value.placement, use_as, &who, &place)?;
        let exact = exact(shape, &places);
        let shape = exact.as_ref().map(|exact| &exact.shape);
        let (kind, mass) = self.kind(item, material?, &mesh, shape, &place)?;
        let rolled = rolled(&item.value.kind, &mesh);
        let whole = places.copies_of(rolled.as_ref().unwrap_or(&mesh));
        let smallest = smallest_length(&mesh, use_as);
        self.refuse_far(&whole, smallest, &who, &item.place)?;
        let kind = placed_kind(kind, exact, &mesh, &places);
        let movement = match &item.value.motion {
            None => {
                let simulated = Simulated {
                    item,
                    index,
                    kind: &kind,
                    mass,
                    mesh: &mesh,
                    whole: &whole,
                    places: &places,
                    place: &place,
                    holds_roots: false,
                };
                Some(self.simulate(&simulated, parts)?)
            }
            Some(_) => None,
        };
        let layout = Arc::new(Layout {
            order,
            count: mesh.points.len(),
            places,
        });
        let movement = match movement {
            Some(movement) => movement,
            None => self.scripted(item, &layout)?,
        };
        let copies = layout.places.poses.len();
        self.layouts.insert(item.name.clone(), layout);
        Some(Object {
            name: item.name.clone(),
            surface: surface(&item.value.contact, own_thickness(&kind, &mesh)),
            kind,
            mesh: whole,
            copies,
            mass: copies as f64 * mass,
            movement,
            rooted: None,
            rest: rolled.is_some().then_some(mesh.points),
        })
    }

    /// Prescribed movement of an object.
    fn scripted(&mut self, item: &ObjectItem, layout: &Layout) -> Option<Movement> {
        let center = vector(item.value.placement.position.map(|length| length.0));
        let arrange = |points: Vec<DVec3>| layout.all(points);
        let script = self.script(item.value.motion.as_ref(), center, &arrange)?;
        Some(Movement::Scripted(Box::new(script)))
    }

    fn collider(&mut self, item: &NamedItem<Collider>) -> Option<Object> {
        let Collider {
            placement,
            kind,
            edge,
            motion,
            contact,
        } = &item.value;
        let who = format!("collider.{}", item.name);
        let prototype = self.shape_mesh(kind, edge.as_ref(), &who);
        let Prototype {
            mut mesh,
            place,
            shape,
            order,
        } = prototype?;
        let places = self.placed(&mut mesh, placement, MeshUse::Collider, &who, &place)?;
        let whole = places.copies_of(&mesh);
        self.refuse_far(&whole, mesh.diagonal(), &who, &item.place)?;
        let center = vector(placement.position.map(|length| length.0));
        let layout = Layout {
            order,
            count: mesh.points.len(),
            places,
        };
        let script = self.script(motion.as_ref(), center, &|points| layout.all(points))?;
        let places = &layout.places;
        // A sequence may change the shape.
        let exact = exact(shape, places).filter(|_| script.sequence.is_none());
        Some(Object {
            name: item.name.clone(),
            kind: ObjectType::Collider(exact),
            mesh: whole,
            copies: places.poses.len(),
            mass: 0.0,
            movement: Movement::Scripted(Box::new(script)),
            rooted: None,
            rest: None,
            surface: surface(contact, 0.0),
        })
    }

    /// Scales a mesh and returns the placement of its copies. Refuses invalid sizes, too many
    /// vertices and defects.
    fn placed(
        &mut self,
        mesh: &mut Mesh,
        placement: &Placement,
        use_as: MeshUse,
        who: &str,
        place: &Place,
    ) -> Option<Places> {
        let scale = vector(placement.scale.0);
        if scale != DVec3::ONE {
            mesh.points.iter_mut().for_each(|point| *point *= scale);
        }
        self.refuse_size(mesh, who, place)?;
        let places = self.places(placement, mesh, who)?;
        let vertices = places.poses.len() * mesh.points.len();
        self.refuse_vertices(vertices as f64, who, place)?;
        self.vertices += vertices;
        self.refuse_defects(mesh, use_as, who, place)?;
        Some(places)
    }
}

/// The type of an object with the exact shape, directors and lattice of its placed copies.
fn placed_kind(
    kind: ObjectType,
    exact: Option<ExactShape>,
    mesh: &Mesh,
    places: &Places,
) -> ObjectType {
    match kind {
        ObjectType::Rigid(_, properties) => ObjectType::Rigid(exact, properties),
        ObjectType::Rods(rods) => {
            let turns: Vec<DQuat> = places.poses.iter().map(|pose| pose.turn).collect();
            ObjectType::Rods(carry_directors(rods, mesh, &turns))
        }
        ObjectType::Embedded(material, embedding) => {
            let lattice = places.copies_of(&embedding.lattice);
            ObjectType::Embedded(
                material,
                Embedding {
                    lattice,
                    ..embedding
                },
            )
        }
        kind => kind,
    }
}

/// A sheet rolled up about y, if it has a `roll`. Edges along x keep their lengths as chords of the
/// roll.
fn rolled(kind: &ObjectKind, mesh: &Mesh) -> Option<Mesh> {
    let ObjectKind::ClothGrid(grid) = kind else {
        return None;
    };
    let radius = grid.roll.as_ref()?.value.0;
    let cells = (grid.vertices.value[0].max(2) - 1) as f64;
    let chord = grid.size.value[0].0 / cells;
    let angle = 2.0 * (0.5 * chord / radius).min(1.0).asin();
    let mut mesh = mesh.clone();
    for point in &mut mesh.points {
        let turned = point.x / chord * angle;
        *point = DVec3::new(
            radius * turned.sin(),
            point.y,
            radius * (1.0 - turned.cos()),
        );
    }
    Some(mesh)
}

/// The exact shape with the poses of its copies; `None` if the scaled shape has no formula.
fn exact(shape: Option<Shape>, places: &Places) -> Option<ExactShape> {
    let shape = scaled(shape?, places.scale)?;
    shape.is_analytic().then(|| ExactShape {
        shape,
        poses: places.poses.clone(),
    })
}

/// A scaled shape; `None` if the result is another shape, such as an ellipsoid.
fn scaled(shape: Shape, scale: DVec3) -> Option<Shape> {
    let even = scale.x == scale.y && scale.y == scale.z;
    let round = scale.x == scale.y;
    let s = scale.x;
    match shape {
        Shape::Box { size } => Some(Shape::Box {
            size: [size[0] * scale.x, size[1] * scale.y, size[2] * scale.z],
        }),
        Shape::Plane { size } => Some(Shape::Plane {
            size: size * s.max(scale.y),
        }),
        Shape::Sphere { radius } if even => Some(Shape::Sphere { radius: radius * s }),
        Shape::Capsule { radius, length } if even => Some(Shape::Capsule {
            radius: radius * s,
            length: length * s,
        }),
        Shape::Cylinder { radius, length } if round => Some(Shape::Cylinder {
            radius: radius * s,
            length: length * scale.z,
        }),
        Shape::Cone { radius, height } if round => Some(Shape::Cone {
            radius: radius * s,
            height: height * scale.z,
        }),
        _ => None,
    }
}
