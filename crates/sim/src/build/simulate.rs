//! Nodes and bodies of simulated objects.

use std::sync::Arc;

use glam::DVec3;

use super::elements::{Prop, prop, shell, solid, solid_masses};
use super::object::ObjectItem;
use super::place::{Places, vector};
use super::rods::rod_bodies;
use super::{Builder, Parts};
use crate::generate::lattice::Embedding;
use crate::material::{SolidMaterial, has_valid_sound_speed};
use crate::mesh::Mesh;
use crate::mesh::mass::MassProperties;
use crate::mesh::surface::{areas, lumped_masses};
use crate::model::{BlockElements, Body, CarriedPoints, Elements, Movement, ObjectType, Rods};
use crate::scene::problem::Place;
use crate::scene::tables::{self, ObjectKind};

/// Smallest radius of gyration of a prop, relative to its size. Smaller values are inconsistent
/// with the shape, and lose precision.
const MIN_GYRATION: f64 = 1e-6;

/// An object to simulate.
pub(super) struct Simulated<'a> {
    pub(super) item: &'a ObjectItem,
    /// Index of the object.
    pub(super) index: usize,
    pub(super) kind: &'a ObjectType,
    /// Mass of one copy (kg).
    pub(super) mass: f64,
    /// Rest mesh of one copy, before placement.
    pub(super) mesh: &'a Mesh,
    /// Mesh of all copies, placed.
    pub(super) whole: &'a Mesh,
    pub(super) places: &'a Places,
    /// Location for problems of the mesh.
    pub(super) place: &'a Place,
    /// Whether a scripted host holds the first edges of its rods.
    pub(super) holds_roots: bool,
}

impl Builder<'_> {
    /// Adds the nodes and bodies of an object.
    pub(super) fn simulate(
        &mut self,
        object: &Simulated<'_>,
        parts: &mut Parts,
    ) -> Option<Movement> {
        let first = parts.positions.len();
        let movement = match object.kind {
            ObjectType::Shell(material) => {
                let warp = match &object.item.value.kind {
                    ObjectKind::ClothMesh(cloth) => {
                        self.direction(&cloth.warp, "`warp` must not be zero")?
                    }
                    _ => DVec3::X,
                };
                self.warps.insert(object.item.name.clone(), warp);
                let elements = self.buildable(object, shell(object.mesh, material, warp, &[]))?;
                let areas = areas(&object.mesh.points, &object.mesh.triangles);
                let count = object.mesh.points.len();
                let density = material.area_density;
                let masses = lumped_masses(count, &object.mesh.triangles, &areas, density);
                self.refuse_massless(&masses, object)?;
                parts.add_copies(object.index, &object.whole.points, elements, &masses);
                Movement::Simulated(first..parts.positions.len())
            }
            ObjectType::Solid(material) => {
                let elements = self.buildable(object, solid(object.mesh, material, 1.0))?;
                let masses = solid_masses(object.mesh, material.density);
                self.refuse_massless(&masses, object)?;
                parts.add_copies(object.index, &object.whole.points, elements, &masses);
                Movement::Simulated(first..parts.positions.len())
            }
            ObjectType::Embedded(material, embedding) => {
                self.embedded(object, material, embedding, parts)?
            }
            ObjectType::Rigid(_, properties) => self.prop(object, properties, parts)?,
            ObjectType::Rods(rods) => self.simulated_rods(object, rods, parts)?,
            ObjectType::Collider(_) => return None,
        };
        parts.set_in_motion(first, object);
        let who = format!("object.{}", object.item.name);
        self.refuse_fast(&parts.velocities[first..], &who, &object.item.place)?;
        Some(movement)
    }

    /// The value of a result. An error is reported.
    fn buildable<T>(
        &mut self,
        object: &Simulated<'_>,
        result: Result<T, String>,
    ) -> Option<Arc<T>> {
        match result {
            Ok(elements) => Some(Arc::new(elements)),
            Err(reason) => {
                let message = format!("`object.{}` cannot be built: {reason}", object.item.name);
                self.problem(object.place, message, "give other sizes or numbers");
                None
            }
        }
    }

    fn refuse_massless(&mut self, masses: &[f64], object: &Simulated<'_>) -> Option<()> {
        let Some(vertex) = masses.iter().position(|mass| !mass.is_normal()) else {
            return Some(());
        };
        let message = format!(
            "vertex {vertex} of `object.{}` would have a mass of {:e} kg",
            object.item.name, masses[vertex]
        );
        let advice = "give another size or density";
        self.problem(object.place, message, advice);
        None
    }

    /// Adds an embedded surface with its lattice. The lattice is larger than the surface; its
    /// density and stiffness are reduced to conserve mass.
    fn embedded(
        &mut self,
        object: &Simulated<'_>,
        material: &SolidMaterial,
        embedding: &Embedding,
        parts: &mut Parts,
    ) -> Option<Movement> {
        let copies = object.places.poses.len();
        let lattice = &embedding.lattice;
        let one = lattice.first_part(copies);
        let full: f64 = solid_masses(&one, material.density).iter().sum();
        let part = object.mass / full;
        let elements = self.buildable(object, solid(&one, material, part))?;
        let masses = solid_masses(&one, material.density * part);
        self.refuse_massless(&masses, object)?;
        let first = parts.positions.len();
        parts.add_copies(object.index, &lattice.points, elements, &masses);
        let count = one.points.len() as u32;
        let of_copy = |copy: u32| {
            let corners = embedding.weights.iter().map(|stencil| stencil.vertices);
            corners.map(move |corners| corners.map(|corner| copy * count + corner))
        };
        let weights = embedding.weights.iter().map(|stencil| stencil.weights);
        Some(Movement::Carried(CarriedPoints {
            nodes: first..parts.positions.len(),
            corners: (0..copies as u32).flat_map(of_copy).collect(),
            weights: weights
                .clone()
                .cycle()
                .take(copies * weights.len())
                .collect(),
        }))
    }

    /// Adds a rigid prop: four nodes of equal mass, its centre of mass and its scaled principal
    /// axes.
    fn prop(
        &mut self,
        object: &Simulated<'_>,
        properties: &MassProperties,
        parts: &mut Parts,
    ) -> Option<Movement> {
        let prop = self.buildable(object, rigid_body(object, properties))?;
        let elements = &prop.elements;
        let first = parts.positions.len();
        for pose in &object.places.poses {
            let node = parts.positions.len();
            parts.positions.push(pose.apply(properties.centre));
            for axis in 0..3 {
                parts
                    .positions
                    .push(pose.turn * (prop.axes.col(axis) * prop.lengths[axis]));
            }
            parts.masses.extend([object.mass; 4]);
            parts.weights.extend([object.mass, 0.0, 0.0, 0.0]);
            parts.bodies.push(Body {
                object: object.index,
                nodes: node..node + 4,
                edges: 0..0,
                dofs: 0..0,
                elements: Elements::Blocks(elements.clone()),
            });
        }
        let copies = object.places.poses.len();
        let weights = object.mesh.points.iter().map(|point| {
            let [x, y, z] = (prop.axes.transpose() * (*point - properties.centre)).to_array();
            let [a, b, c] = prop.lengths;
            [1.0, x / a, y / b, z / c]
        });
        let corners =
            (0..copies as u32).map(|copy| [4 * copy, 4 * copy + 1, 4 * copy + 2, 4 * copy + 3]);
        let count = object.mesh.points.len();
        Some(Movement::Carried(CarriedPoints {
            nodes: first..parts.positions.len(),
            corners: corners
                .flat_map(|corners| std::iter::repeat_n(corners, count))
                .collect(),
            weights: weights.clone().cycle().take(copies * count).collect(),
        }))
    }

    /// Adds rods, with one body for each run of rods with equal numbers of vertices.
    pub(super) fn simulated_rods(
        &mut self,
        object: &Simulated<'_>,
        rods: &Rods,
        parts: &mut Parts,
    ) -> Option<Movement> {
        let bodies = rod_bodies(object.whole, rods, object.holds_roots);
        let mut bodies = self.buildable(object, bodies)?;
        let first = parts.positions.len();
        let first_edge = parts.twists.len();
        for body in Arc::get_mut(&mut bodies)
            .into_iter()
            .flat_map(std::mem::take)
        {
            self.refuse_massless(&body.masses, object)?;
            let node = first + body.vertices.start;
            let edge = first_edge + body.edges.start;
            parts
                .positions
                .extend(&object.whole.points[body.vertices.clone()]);
            parts.masses.extend(&body.masses);
            parts.weights.extend(&body.masses);
            parts.twist_inertias.extend(&body.twist_inertias);
            parts.directors.extend(&body.directors);
            parts.twists.extend(&body.twists);
            parts.bodies.push(Body {
                object: object.index,
                nodes: node..node + body.vertices.len(),
                edges: edge..edge + body.edges.len(),
                dofs: 0..0,
                elements: Elements::Rods(body.elements),
            });
        }
        Some(Movement::Simulated(first..parts.positions.len()))
    }
}

/// Axes, lengths and elements of a rigid prop.
///
/// # Errors
/// The inconsistency, as a part of a sentence.
fn rigid_body(object: &Simulated<'_>, properties: &MassProperties) -> Result<Prop, String> {
    let ObjectKind::Rigid(table) = &object.item.value.kind else {
        return Err("it is not a rigid prop".to_owned());
    };
    let inertia = match &table.inertia {
        Some(given) => glam::DMat3::from_diagonal(vector(given.value.map(|moment| moment.0))),
        None => properties.inertia * (object.mass / properties.volume),
    };
    let stiffness = table.rigidity.0 * properties.volume;
    if !has_valid_sound_speed(stiffness, object.mass) {
        return Err(format!(
            "a `rigidity` of {:e} Pa is too large for a mass of {:e} kg",
            table.rigidity.0, object.mass
        ));
    }
    let prop = prop(object.mass, inertia, stiffness)?;
    let size = object.mesh.diagonal();
    if prop
        .lengths
        .iter()
        .all(|length| *length > MIN_GYRATION * size)
    {
        Ok(prop)
    } else {
        Err(format!(
            "its moments of inertia are too small for a size of {size:e} m"
        ))
    }
}

impl Parts {
    /// Adds nodes and bodies for all copies of an object with these elements.
    fn add_copies(
        &mut self,
        object: usize,
        points: &[DVec3],
        elements: Arc<BlockElements>,
        masses: &[f64],
    ) {
        for points in points.chunks(masses.len()) {
            let first = self.positions.len();
            self.positions.extend(points);
            self.masses.extend(masses);
            self.weights.extend(masses);
            self.bodies.push(Body {
                object,
                nodes: first..self.positions.len(),
                edges: 0..0,
                dofs: 0..0,
                elements: Elements::Blocks(elements.clone()),
            });
        }
    }

    /// Sets the initial velocities. Each copy rotates about its centre of mass.
    fn set_in_motion(&mut self, first: usize, object: &Simulated<'_>) {
        let table: &tables::Object = &object.item.value;
        let velocity = vector(table.velocity.map(|speed| speed.0));
        let spin = vector(table.angular_velocity.map(|rate| rate.0));
        self.velocities.resize(self.positions.len(), DVec3::ZERO);
        self.spins.resize(self.twists.len(), 0.0);
        let copies = object.places.poses.len().max(1);
        let copy = ((self.positions.len() - first) / copies).max(1);
        for nodes in (first..self.positions.len()).step_by(copy) {
            let nodes = nodes..(nodes + copy).min(self.positions.len());
            let mass: f64 = self.weights[nodes.clone()].iter().sum();
            let weighted = nodes
                .clone()
                .map(|node| self.positions[node] * self.weights[node]);
            let middle = weighted.sum::<DVec3>() / mass;
            for node in nodes {
                // An axis of a prop is a vector, not a point.
                let is_axis = self.weights[node] == 0.0;
                let (arm, shift) = if is_axis {
                    (self.positions[node], DVec3::ZERO)
                } else {
                    (self.positions[node] - middle, velocity)
                };
                self.velocities[node] = if spin == DVec3::ZERO {
                    shift
                } else {
                    shift + spin.cross(arm)
                };
            }
        }
        self.spin_sections(object.index, spin);
    }

    /// Sets the initial spins of the sections of rods.
    pub(super) fn spin_sections(&mut self, object: usize, spin: DVec3) {
        if spin == DVec3::ZERO {
            return;
        }
        for body in self.bodies.iter().filter(|body| body.object == object) {
            let Elements::Rods(rods) = &body.elements else {
                continue;
            };
            for (edge, ends) in body.edges.clone().zip(&rods.edges) {
                let [a, b] = ends.map(|node| self.positions[body.nodes.start + node as usize]);
                self.spins[edge] = spin.dot((b - a).normalize_or_zero());
            }
        }
    }
}
