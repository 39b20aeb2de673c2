//! Objects and colliders: mesh, material, place, and who moves them.

use std::sync::Arc;

use glam::{DQuat, DVec3};

use super::kind::{carry_directors, own_thickness, surface, use_of};
use super::mesh::Prototype;
use super::place::{Layout, Places, vector};
use super::refuse::smallest_length;
use super::shell::shell;
use super::{Builder, Parts};
use crate::generate::lattice::Embedding;
use crate::generate::shape::Shape;
use crate::mesh::Mesh;
use crate::mesh::diagnose::Use;
use crate::mesh::surface::{areas, lumped_masses};
use crate::model::{Body, Exact, Kind, Movement, Object, Shell};
use crate::scene::problem::Place;
use crate::scene::tables::{self, Collider, ObjectKind, Placement};
use crate::scene::values::NamedItem;

pub(super) type ObjectItem = NamedItem<tables::Object>;

impl<'a> Builder<'a> {
    /// All objects and colliders. Grooms come last, since they grow on others.
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
                slots[index] = self.groom(item, groom, &slots);
            }
        }
        let objects: Option<Vec<Object>> = slots.into_iter().collect();
        parts.objects = objects?;
        Some(parts)
    }

    /// An object that is no groom. Its nodes and bodies are added to the parts.
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
        let (kind, mass) = self.kind(item, material?, &mesh, &place)?;
        let whole = places.copies_of(&mesh);
        let smallest = smallest_length(&mesh, use_as);
        self.refuse_far(&whole, smallest, &who, &item.place)?;
        let kind = match kind {
            Kind::Rigid(_, properties) => Kind::Rigid(exact(shape, &places), properties),
            Kind::Rods(rods) => {
                let turns: Vec<DQuat> = places.poses.iter().map(|pose| pose.turn).collect();
                Kind::Rods(carry_directors(rods, &mesh, &turns))
            }
            Kind::Embedded(material, embedding) => {
                let lattice = places.copies_of(&embedding.lattice);
                Kind::Embedded(
                    material,
                    Embedding {
                        lattice,
                        ..embedding
                    },
                )
            }
            kind => kind,
        };
        let layout = Arc::new(Layout {
            order,
            count: mesh.points.len(),
            places,
        });
        let movement = match (&kind, &item.value.motion) {
            (Kind::Shell(material), None) => {
                let shell = self.shell(item, &mesh, material.clone(), &place)?;
                let masses = self.shell_masses(&shell, &mesh, item, &place)?;
                let first = parts.positions.len();
                parts.add_bodies(index, &whole, shell, &masses);
                parts.set_in_motion(first, masses.len(), &item.value);
                self.refuse_fast(&parts.velocities[first..], &who, &item.place)?;
                Movement::Simulated(first..parts.positions.len())
            }
            (_, motion) => {
                let center = vector(item.value.placement.position.map(|length| length.0));
                let arrange = |points: Vec<DVec3>| layout.all(points);
                Movement::Scripted(Box::new(self.script(motion.as_ref(), center, &arrange)?))
            }
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
        })
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
        let places = self.placed(&mut mesh, placement, Use::Collider, &who, &place)?;
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
            kind: Kind::Collider(exact),
            mesh: whole,
            copies: places.poses.len(),
            mass: 0.0,
            movement: Movement::Scripted(Box::new(script)),
            surface: surface(contact, 0.0),
        })
    }

    /// Scales a mesh and says where its copies are put, if it can be used so and there are not too many.
    fn placed(
        &mut self,
        mesh: &mut Mesh,
        placement: &Placement,
        use_as: Use,
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

    fn shell(
        &mut self,
        item: &ObjectItem,
        mesh: &Mesh,
        material: crate::material::ShellMaterial,
        place: &Place,
    ) -> Option<Arc<Shell>> {
        let warp = match &item.value.kind {
            ObjectKind::ClothMesh(cloth) => {
                self.direction(&cloth.warp, "the warp needs a direction")?
            }
            _ => DVec3::X,
        };
        match shell(mesh, material, warp) {
            Ok(shell) => Some(Arc::new(shell)),
            Err(reason) => {
                let message = format!("`object.{}` cannot be built: {reason}", item.name);
                self.problem(place, message, "give sizes and numbers that fit");
                None
            }
        }
    }

    /// The masses of the nodes of one copy (kg).
    fn shell_masses(
        &mut self,
        shell: &Shell,
        mesh: &Mesh,
        item: &ObjectItem,
        place: &Place,
    ) -> Option<Vec<f64>> {
        let areas = areas(&mesh.points, &mesh.triangles);
        let density = shell.material.area_density;
        let masses = lumped_masses(mesh.points.len(), &mesh.triangles, &areas, density);
        if let Some(mass) = masses.iter().find(|mass| !mass.is_normal()) {
            let message = format!("a vertex of `object.{}` would weigh {mass:e} kg", item.name);
            let advice = "give a `size` and a material whose masses can be computed with";
            self.problem(place, message, advice);
            return None;
        }
        Some(masses)
    }
}

impl Parts {
    /// Nodes and bodies for all copies of a piece of cloth.
    fn add_bodies(&mut self, object: usize, whole: &Mesh, shell: Arc<Shell>, masses: &[f64]) {
        for points in whole.points.chunks(masses.len()) {
            let first = self.positions.len();
            self.positions.extend(points);
            self.masses.extend(masses);
            self.bodies.push(Body {
                object,
                nodes: first..self.positions.len(),
                shell: shell.clone(),
            });
        }
    }

    /// The velocities at the start: each copy turns about its middle.
    fn set_in_motion(&mut self, first: usize, copy: usize, object: &tables::Object) {
        let velocity = vector(object.velocity.map(|speed| speed.0));
        let spin = vector(object.angular_velocity.map(|rate| rate.0));
        self.velocities.resize(first, DVec3::ZERO);
        for nodes in (first..self.positions.len()).step_by(copy) {
            let nodes = nodes..nodes + copy;
            let mass: f64 = self.masses[nodes.clone()].iter().sum();
            let weighted = nodes
                .clone()
                .map(|node| self.positions[node] * self.masses[node]);
            let middle = weighted.sum::<DVec3>() / mass;
            let turning = |node: usize| match spin == DVec3::ZERO {
                true => velocity,
                false => velocity + spin.cross(self.positions[node] - middle),
            };
            let velocities: Vec<DVec3> = nodes.map(turning).collect();
            self.velocities.extend(velocities);
        }
    }
}

/// The exact shape of something that is put in its places, if there is one and no scale spoils it.
fn exact(shape: Option<Shape>, places: &Places) -> Option<Exact> {
    let shape = scaled(shape?, places.scale)?;
    shape.is_analytic().then(|| Exact {
        shape,
        poses: places.poses.clone(),
    })
}

/// A shape with other sizes; nothing where the scale would make another shape of it.
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
