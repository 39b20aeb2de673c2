//! The scene made concrete, once: objects, nodes, masses, elements, pins, probes. Never changed afterwards.

mod body;
pub mod contact;
mod directors;
pub mod kinematics;
mod load;
pub mod tie;
pub mod touch;
mod unknowns;

use std::borrow::Cow;
use std::ops::Range;

use glam::DVec3;
use reefknot_contact::system::System;

use crate::energy::wind::{Air, Wind};
use crate::generate::groom::Root;
use crate::generate::lattice::Embedding;
use crate::generate::shape::Shape;
use crate::integrate::claims::Claims;
use crate::io::input::Input;
use crate::material::{RodMaterial, ShellMaterial, SolidMaterial};
use crate::mesh::Mesh;
use crate::mesh::mass::MassProperties;
use crate::motion::{Pose, Script, Twist};
use crate::probe::{Conclusion, Probe};
use crate::scene::problem::Place;
use crate::scene::tables::Method;
use crate::state::{Clock, State};
use contact::{ContactModel, Surface};
use touch::Touch;

pub use body::{BlockElements, Body, Elements, RodElements, Trial};
pub use unknowns::Unknowns;

/// What is simulated, and what it meets.
#[derive(Debug)]
pub struct Model {
    /// The objects and then the colliders, each in the order of the scene.
    pub objects: Vec<Object>,
    /// What is simulated, each a run of nodes.
    pub bodies: Vec<Body>,
    /// Mass of each node (kg).
    pub masses: Vec<f64>,
    /// The mass of each node that gravity pulls at (kg): none for the axes of props, whose node of the middle has it all.
    pub weights: Vec<f64>,
    /// Moment of inertia of each edge of rods about itself (kg m²).
    pub twist_inertias: Vec<f64>,
    /// Where nodes and edges stand in flat vectors.
    pub unknowns: Unknowns,
    /// Where all nodes start.
    pub start: State,
    /// Held vertices; those of clamps too.
    pub pins: Vec<Pin>,
    /// Held edges of rods.
    pub clamps: Vec<Clamp>,
    /// Forces and moments.
    pub loads: Vec<Load>,
    /// Attachments and stitches.
    pub ties: Vec<Tie>,
    /// What happens where things touch.
    pub contact: ContactModel,
    /// What can touch; nothing if nothing does.
    pub touch: Option<Touch>,
    /// Acceleration of free fall (m/s²).
    pub gravity: DVec3,
    /// Moving air.
    pub wind: Option<(Wind, Air)>,
    /// What is measured.
    pub probes: Vec<Probe>,
    /// What the run ends with, in words.
    pub conclusions: Vec<Conclusion>,
    /// Frames and steps.
    pub clock: Clock,
    /// How the motion is computed.
    pub method: Method,
    /// The files that it was built from.
    pub inputs: Vec<Input>,
    /// What the values of the scene that name these files become in the folder of a run.
    pub renamed: Vec<(Place, String)>,
}

/// Something with points: an object or a collider, with all its copies.
#[derive(Debug)]
pub struct Object {
    /// Its name in the scene.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// Its points at the start (m), their elements, and the groups that pins can name.
    pub mesh: Mesh,
    /// The points of a copy at rest, if they are not those that it starts with (m).
    pub rest: Option<Vec<DVec3>>,
    /// How many copies the mesh holds, one after the other.
    pub copies: usize,
    /// Its mass (kg); 0 for colliders.
    pub mass: f64,
    /// Who moves its points.
    pub movement: Movement,
    /// Where its rods are rooted in another object, if they are.
    pub rooted: Option<Rooted>,
    /// How it touches others.
    pub surface: Surface,
}

/// What an object is.
#[derive(Debug)]
pub enum Kind {
    /// Cloth.
    Shell(ShellMaterial),
    /// Rods.
    Rods(Rods),
    /// A soft solid.
    Solid(SolidMaterial),
    /// A surface in a lattice of tetrahedra: the lattices of all copies, and the weights of the first, whose lattice
    /// comes first.
    Embedded(SolidMaterial, Embedding),
    /// A rigid prop; its shape if it is an exact one, and the properties of one copy.
    Rigid(Option<Exact>, MassProperties),
    /// Something to touch; its shape if it is an exact one.
    Collider(Option<Exact>),
}

impl Kind {
    /// A word for messages and the manifest.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Kind::Shell(_) => "shell",
            Kind::Rods(_) => "rods",
            Kind::Solid(_) => "solid",
            Kind::Embedded(..) => "embedded",
            Kind::Rigid(..) => "rigid",
            Kind::Collider(_) => "collider",
        }
    }
}

/// A shape that is known exactly; the triangles only draw it.
#[derive(Clone, Debug)]
pub struct Exact {
    /// The shape about its origin.
    pub shape: Shape,
    /// Where each copy is put.
    pub poses: Vec<Pose>,
}

/// What rods have beside their vertices.
#[derive(Debug)]
pub struct Rods {
    /// What they are made of.
    pub material: RodMaterial,
    /// Half axes of the section (m).
    pub radius: [f64; 2],
    /// Radius for contact (m).
    pub proximity_radius: f64,
    /// The edges of all rods.
    pub edges: Vec<[u32; 2]>,
    /// Curvature without force along both half axes (1/m); that of the start if nothing.
    pub natural_curvature: Option<[f64; 2]>,
    /// Twist without force (rad/m); that of the start if nothing.
    pub natural_twist: Option<f64>,
    /// How far each rod is twisted at the start beyond that (rad).
    pub start_twist: f64,
    /// Length at the start over length without force.
    pub start_stretch: f64,
    /// Whether sections have no inertia of their own.
    pub quasi_static_twist: bool,
    /// First axis of the section at each edge at the start, carried along each rod without twist; along closed rods
    /// with the even twist that brings it back to the first.
    pub directors: Vec<DVec3>,
}

/// Who moves the points of an object.
#[derive(Debug)]
pub enum Movement {
    /// Each point is a node of the state.
    Simulated(Range<usize>),
    /// Each point is a weighted sum of four nodes: those of a lattice cell, or the middle and the axes of a prop.
    Carried(Carried),
    /// They are a function of time.
    Scripted(Box<Script>),
}

/// Points that are weighted sums of nodes.
#[derive(Debug)]
pub struct Carried {
    /// The nodes.
    pub nodes: Range<usize>,
    /// The nodes of each point, counted from the first.
    pub corners: Vec<[u32; 4]>,
    /// Their weights.
    pub weights: Vec<[f64; 4]>,
}

/// Where the rods of an object grow: each goes with a triangle of another one.
#[derive(Debug)]
pub struct Rooted {
    /// The index of the other object.
    pub host: usize,
    /// Where each rod is rooted.
    pub roots: Vec<Root>,
}

/// Vertices that are held.
#[derive(Clone, Debug)]
pub struct Pin {
    /// Its name in the scene.
    pub name: String,
    /// The index of the object.
    pub object: usize,
    /// The vertices, ascending.
    pub vertices: Vec<u32>,
    /// The nodes that hold them, ascending; none if nothing of the object is simulated.
    pub nodes: Vec<usize>,
    /// Whether they are held along each axis.
    pub holds: [bool; 3],
    /// How they move; the points of its sequence are those of `vertices`.
    pub script: Script,
    /// When they are taken hold of (s).
    pub start: f64,
    /// When they are let go (s).
    pub release: f64,
}

/// Edges of rods whose material frame is held; their vertices are held by a pin.
#[derive(Clone, Debug)]
pub struct Clamp {
    /// Its name in the scene.
    pub name: String,
    /// The pin that holds the vertices.
    pub pin: usize,
    /// The edges, in the order of the object's edges.
    pub edges: Vec<u32>,
    /// How they are turned.
    pub twist: Twist,
}

/// A force and a moment on vertices.
#[derive(Clone, Debug)]
pub struct Load {
    /// Its name in the scene.
    pub name: String,
    /// The index of the object.
    pub object: usize,
    /// The vertices, ascending.
    pub vertices: Vec<u32>,
    /// The whole force (N).
    pub force: DVec3,
    /// The whole moment about the middle of the vertices (N m).
    pub moment: DVec3,
    /// Pressure on triangles (Pa).
    pub pressure: f64,
    /// The triangles between the vertices, if there is a pressure.
    pub triangles: Vec<[u32; 3]>,
    /// When it begins (s).
    pub start: f64,
    /// How long it takes to grow to its full size (s).
    pub ramp: f64,
    /// When it ends (s).
    pub stop: f64,
}

/// A vertex that is tied to a point of another object, or of the same one.
#[derive(Clone, Debug)]
pub struct Tie {
    /// The name of the attachment or stitch in the scene.
    pub name: String,
    /// Object and vertex.
    pub from: (usize, u32),
    /// The other object, and its vertices with their weights.
    pub to: (usize, Vec<(u32, f64)>),
    /// Force by elongation (N/m).
    pub stiffness: f64,
    /// Length at the start and in the end (m).
    pub length: [f64; 2],
    /// How long it takes from one to the other (s).
    pub close: f64,
    /// When it lets go (s).
    pub release: f64,
}

impl Model {
    /// What the method claims of every step.
    #[must_use]
    pub fn claims(&self) -> Claims {
        let claims = self.method.integrator.method().claims();
        match self.touch.is_some() {
            true => claims,
            false => claims.without_contact(),
        }
    }

    /// A system with the pattern of every body, and no couplings.
    pub(crate) fn system(&self) -> System {
        let matrices = self.bodies.iter().map(|body| body.elements.matrix());
        System::new(matrices, self.unknowns.node_offset.clone())
    }

    /// Name of the object that a node belongs to, and its number there.
    #[must_use]
    pub fn place_of_node(&self, node: usize) -> (&str, usize) {
        let (object, vertex) = self.vertex_of_node(node);
        let name = self.objects.get(object).map_or("", |object| &object.name);
        (name, vertex)
    }

    /// The index of the object that a node belongs to, and its vertex there, or one that the node moves.
    #[must_use]
    pub fn vertex_of_node(&self, node: usize) -> (usize, usize) {
        // Bodies stand in the order of their nodes, and leave none out.
        let body = self.bodies.partition_point(|body| body.nodes.end <= node);
        let Some(body) = self.bodies.get(body) else {
            return (usize::MAX, node);
        };
        let local = node - self.objects[body.object].nodes().start;
        let vertex = match &self.objects[body.object].movement {
            Movement::Carried(carried) => {
                let has_node = |corners: &[u32; 4]| corners.contains(&(local as u32));
                carried.corners.iter().position(has_node).unwrap_or(0)
            }
            _ => local,
        };
        (body.object, vertex)
    }

    /// Number of vertices of all objects and colliders, however they move.
    #[must_use]
    pub fn vertices(&self) -> usize {
        let points = self.objects.iter().map(|object| object.mesh.points.len());
        points.sum()
    }

    /// Number of elements that are simulated, of all kinds.
    #[must_use]
    pub fn elements(&self) -> usize {
        self.bodies.iter().map(|body| body.elements.count()).sum()
    }

    /// Number of edges of simulated rods.
    #[must_use]
    pub fn edges(&self) -> usize {
        self.twist_inertias.len()
    }

    /// The nodes and weights that make a point of an object; nothing if it is not simulated.
    #[must_use]
    pub fn stencil(&self, object: usize, vertex: usize) -> Option<Vec<(usize, f64)>> {
        match &self.objects[object].movement {
            Movement::Simulated(nodes) => Some(vec![(nodes.start + vertex, 1.0)]),
            Movement::Carried(carried) => Some(carried.stencil(vertex).collect()),
            Movement::Scripted(_) => None,
        }
    }

    /// Whether a node is the axis of a prop: a vector, not a point.
    #[must_use]
    pub fn is_axis(&self, node: usize) -> bool {
        self.weights[node] == 0.0
    }

    /// The mass of every unknown (kg, kg m²).
    #[must_use]
    pub fn flat_masses(&self) -> Vec<f64> {
        let nodes: Vec<DVec3> = self.masses.iter().map(|mass| DVec3::splat(*mass)).collect();
        self.unknowns.join(&nodes, &self.twist_inertias)
    }
}

impl Carried {
    /// The nodes and weights that make a point.
    pub fn stencil(&self, vertex: usize) -> impl Iterator<Item = (usize, f64)> {
        let corners = self.corners[vertex].into_iter().zip(self.weights[vertex]);
        let first = self.nodes.start;
        corners.map(move |(corner, weight)| (first + corner as usize, weight))
    }

    /// What values at nodes are at a point.
    #[must_use]
    pub fn at(&self, vertex: usize, values: &[DVec3]) -> DVec3 {
        let stencil = self.stencil(vertex);
        stencil.map(|(node, weight)| values[node] * weight).sum()
    }
}

impl Object {
    /// The nodes that move its points; none if it is not simulated.
    #[must_use]
    pub fn nodes(&self) -> Range<usize> {
        match &self.movement {
            Movement::Simulated(nodes) => nodes.clone(),
            Movement::Carried(carried) => carried.nodes.clone(),
            Movement::Scripted(_) => 0..0,
        }
    }

    /// The mesh of its first copy.
    #[must_use]
    pub fn first_copy(&self) -> Cow<'_, Mesh> {
        match self.copies {
            1 => Cow::Borrowed(&self.mesh),
            copies => Cow::Owned(self.mesh.first_part(copies)),
        }
    }

    /// The mesh of a copy at rest.
    #[must_use]
    pub fn rest_copy(&self) -> Mesh {
        let mut mesh = self.first_copy().into_owned();
        if let Some(rest) = &self.rest {
            mesh.points.clone_from(rest);
        }
        mesh
    }

    /// Whether it is a collider.
    #[must_use]
    pub fn is_collider(&self) -> bool {
        matches!(self.kind, Kind::Collider(_))
    }
}
