//! The model: objects, nodes, masses, elements, pins and probes. It is built once from a scene by
//! `build` and never changed afterwards.

mod body;
pub mod collision;
pub mod contact;
mod directors;
pub mod input;
pub mod kinematics;
mod load;
mod method;
pub mod probe;
pub mod tie;
mod unknowns;

use std::borrow::Cow;
use std::ops::Range;

use glam::DVec3;
use reefknot_contact::system::System;

use crate::energy::wind::{Air, Wind};
use crate::generate::groom::Root;
use crate::generate::lattice::Embedding;
use crate::generate::shape::Shape;
use crate::material::{RodMaterial, ShellMaterial, SolidMaterial};
use crate::mesh::Mesh;
use crate::mesh::mass::MassProperties;
use crate::motion::{Pose, Script, Twist};
use crate::scene::problem::Place;
use crate::state::{Clock, State};
use collision::CollisionModel;
use contact::{ContactModel, SurfaceProperties};
use input::InputFile;
use probe::{Conclusion, Probe};

pub use body::{BlockElements, Body, Elements, RodElements, Trial};
pub use method::{ContactSolver, EnergyRule, Integrator, Method, NewtonOptions};
pub use unknowns::Unknowns;

/// A model of a scene.
#[derive(Debug)]
pub struct Model {
    /// Objects, then colliders, each in the order of the scene.
    pub objects: Vec<Object>,
    /// Bodies, by ascending nodes.
    pub bodies: Vec<Body>,
    /// Mass of each node (kg).
    pub masses: Vec<f64>,
    /// Gravitational mass of each node (kg). It is zero for the axes of props; the centre node has
    /// the whole mass.
    pub weights: Vec<f64>,
    /// Moment of inertia of each rod edge about itself (kg m²).
    pub twist_inertias: Vec<f64>,
    /// Indices of nodes and edges in flat vectors.
    pub unknowns: Unknowns,
    /// Initial state.
    pub start: State,
    /// Held vertices, those of clamps included.
    pub pins: Vec<Pin>,
    /// Held rod edges.
    pub clamps: Vec<Clamp>,
    /// Forces and moments.
    pub loads: Vec<Load>,
    /// Springs of attachments, stitches and hair roots.
    pub ties: Vec<Tie>,
    /// Contact properties.
    pub contact: ContactModel,
    /// Features that can collide; `None` if the scene has no contact.
    pub collision: Option<CollisionModel>,
    /// Acceleration of gravity (m/s²).
    pub gravity: DVec3,
    /// Wind field, and properties of the air.
    pub wind: Option<(Wind, Air)>,
    /// Measurements.
    pub probes: Vec<Probe>,
    /// Sentences at the end of a run.
    pub conclusions: Vec<Conclusion>,
    /// Frames and steps.
    pub clock: Clock,
    /// Integrator, contact solver and tolerances.
    pub method: Method,
    /// Input files.
    pub inputs: Vec<InputFile>,
    /// Values of the scene that name input files, with their replacements in the folder of a run.
    pub renamed: Vec<(Place, String)>,
}

/// An object or a collider, with all its copies.
#[derive(Debug)]
pub struct Object {
    /// Name in the scene.
    pub name: String,
    /// Type, material and shape.
    pub kind: ObjectType,
    /// Initial points of all copies (m), their elements and their groups.
    pub mesh: Mesh,
    /// Points of one copy in the rest state (m), if they differ from the initial ones.
    pub rest: Option<Vec<DVec3>>,
    /// Number of copies. Their meshes are concatenated.
    pub copies: usize,
    /// Mass (kg); 0 for colliders.
    pub mass: f64,
    /// How its points move.
    pub movement: Movement,
    /// Roots of its rods on another object.
    pub rooted: Option<Rooted>,
    /// Contact properties.
    pub surface: SurfaceProperties,
}

/// The kind of an object.
#[derive(Debug)]
pub enum ObjectType {
    /// Cloth.
    Shell(ShellMaterial),
    /// Rods.
    Rods(Rods),
    /// A soft solid.
    Solid(SolidMaterial),
    /// A surface embedded in a lattice of tetrahedra: the lattices of all copies, and the weights
    /// of the first copy.
    Embedded(SolidMaterial, Embedding),
    /// A rigid prop: its shape if that is exact, and the mass properties of one copy.
    Rigid(Option<ExactShape>, MassProperties),
    /// A collider: its shape if that is exact.
    Collider(Option<ExactShape>),
}

impl ObjectType {
    /// Name of the kind in messages and in the manifest.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            ObjectType::Shell(_) => "shell",
            ObjectType::Rods(_) => "rods",
            ObjectType::Solid(_) => "solid",
            ObjectType::Embedded(..) => "embedded",
            ObjectType::Rigid(..) => "rigid",
            ObjectType::Collider(_) => "collider",
        }
    }
}

/// A shape given by a formula. The triangles of its object are for drawing only.
#[derive(Clone, Debug)]
pub struct ExactShape {
    /// The shape in local coordinates.
    pub shape: Shape,
    /// Initial pose of each copy.
    pub poses: Vec<Pose>,
}

/// Properties of rods.
#[derive(Debug)]
pub struct Rods {
    /// Material.
    pub material: RodMaterial,
    /// Semi-axes of the cross-section (m).
    pub radius: [f64; 2],
    /// Radius for contact (m).
    pub proximity_radius: f64,
    /// Edges of all rods.
    pub edges: Vec<[u32; 2]>,
    /// Natural curvature along both axes of the section (1/m); `None` for the initial one.
    pub natural_curvature: Option<[f64; 2]>,
    /// Natural twist (rad/m); `None` for the initial one.
    pub natural_twist: Option<f64>,
    /// Initial twist of each rod in addition to the natural twist (rad).
    pub start_twist: f64,
    /// Initial length over natural length.
    pub start_stretch: f64,
    /// Whether sections have no rotational inertia.
    pub quasi_static_twist: bool,
    /// First axis of the section at each edge at the start, by parallel transport along each rod.
    /// Along closed rods a uniform twist is added that makes the frame periodic.
    pub directors: Vec<DVec3>,
}

/// How the points of an object move.
#[derive(Debug)]
pub enum Movement {
    /// Each point is a node.
    Simulated(Range<usize>),
    /// Each point is a weighted sum of four nodes: the corners of a lattice cell, or the centre and
    /// the axes of a prop.
    Carried(CarriedPoints),
    /// The points are a function of time.
    Scripted(Box<Script>),
}

/// Points that are weighted sums of nodes.
#[derive(Debug)]
pub struct CarriedPoints {
    /// The nodes of the object.
    pub nodes: Range<usize>,
    /// The nodes of each point, relative to the first node.
    pub corners: Vec<[u32; 4]>,
    /// The weights of these nodes.
    pub weights: Vec<[f64; 4]>,
}

/// Roots of rods on the triangles of another object.
#[derive(Debug)]
pub struct Rooted {
    /// Index of the host.
    pub host: usize,
    /// Root of each rod.
    pub roots: Vec<Root>,
}

/// Held vertices.
#[derive(Clone, Debug)]
pub struct Pin {
    /// Name in the scene.
    pub name: String,
    /// Index of the object.
    pub object: usize,
    /// The vertices, ascending.
    pub vertices: Vec<u32>,
    /// The nodes of these vertices, ascending; empty for a scripted object.
    pub nodes: Vec<usize>,
    /// Whether the vertices are held along each axis.
    pub holds: [bool; 3],
    /// Prescribed motion. The points of its sequence are those of `vertices`.
    pub script: Script,
    /// Start of the hold (s).
    pub start: f64,
    /// End of the hold (s).
    pub release: f64,
}

/// Rod edges whose material frame is held. Their vertices are held by a pin.
#[derive(Clone, Debug)]
pub struct Clamp {
    /// Name in the scene.
    pub name: String,
    /// Index of the pin that holds the vertices.
    pub pin: usize,
    /// Edges, counted within the object.
    pub edges: Vec<u32>,
    /// Prescribed rotation about the edges.
    pub twist: Twist,
}

/// A force, a moment and a pressure on vertices.
#[derive(Clone, Debug)]
pub struct Load {
    /// Name in the scene.
    pub name: String,
    /// Index of the object.
    pub object: usize,
    /// The vertices, ascending.
    pub vertices: Vec<u32>,
    /// Total force (N).
    pub force: DVec3,
    /// Total moment about the mean of the vertices (N m).
    pub moment: DVec3,
    /// Pressure on triangles (Pa).
    pub pressure: f64,
    /// Triangles with all corners among the vertices, if there is a pressure.
    pub triangles: Vec<[u32; 3]>,
    /// Start (s).
    pub start: f64,
    /// Duration of the linear increase to the full load (s).
    pub ramp: f64,
    /// End (s).
    pub stop: f64,
}

/// A spring between a vertex and a point of another object, or of the same one.
#[derive(Clone, Debug)]
pub struct Tie {
    /// Name of the attachment or stitch in the scene.
    pub name: String,
    /// Object and vertex of the first end.
    pub from: (usize, u32),
    /// Object of the second end, and its vertices with weights.
    pub to: (usize, Vec<(u32, f64)>),
    /// Spring constant (N/m).
    pub stiffness: f64,
    /// Natural length at the start and at the end of closing (m).
    pub length: [f64; 2],
    /// Duration of closing (s).
    pub close: f64,
    /// Time of release (s).
    pub release: f64,
}

impl Model {
    /// A zero system with the sparsity pattern of all bodies, without couplings.
    pub(crate) fn system(&self) -> System {
        let matrices = self.bodies.iter().map(|body| body.elements.matrix());
        System::new(matrices, self.unknowns.node_offset.clone())
    }

    /// Index of the object or collider with this name.
    #[must_use]
    pub fn object(&self, name: &str) -> Option<usize> {
        self.objects.iter().position(|object| object.name == name)
    }

    /// Name of the object of a node, and a vertex of it that the node moves.
    #[must_use]
    pub fn place_of_node(&self, node: usize) -> (&str, usize) {
        let (object, vertex) = self.vertex_of_node(node);
        let name = self.objects.get(object).map_or("", |object| &object.name);
        (name, vertex)
    }

    /// Index of the object of a node, and a vertex of it that the node moves.
    #[must_use]
    pub fn vertex_of_node(&self, node: usize) -> (usize, usize) {
        // Bodies are sorted by nodes, and every node belongs to a body.
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

    /// Number of vertices of all objects and colliders.
    #[must_use]
    pub fn vertices(&self) -> usize {
        let points = self.objects.iter().map(|object| object.mesh.points.len());
        points.sum()
    }

    /// Number of elements of all bodies.
    #[must_use]
    pub fn elements(&self) -> usize {
        self.bodies.iter().map(|body| body.elements.count()).sum()
    }

    /// Number of simulated rod edges.
    #[must_use]
    pub fn edges(&self) -> usize {
        self.twist_inertias.len()
    }

    /// Nodes and weights of a point of an object; `None` for scripted objects.
    #[must_use]
    pub fn stencil(&self, object: usize, vertex: usize) -> Option<Vec<(usize, f64)>> {
        match &self.objects[object].movement {
            Movement::Simulated(nodes) => Some(vec![(nodes.start + vertex, 1.0)]),
            Movement::Carried(carried) => Some(carried.stencil(vertex).collect()),
            Movement::Scripted(_) => None,
        }
    }

    /// Whether a node is an axis of a prop: a vector, not a point.
    #[must_use]
    pub fn is_axis(&self, node: usize) -> bool {
        self.weights[node] == 0.0
    }

    /// Mass of every unknown, flat (kg, kg m²).
    #[must_use]
    pub fn flat_masses(&self) -> Vec<f64> {
        let nodes: Vec<DVec3> = self.masses.iter().map(|mass| DVec3::splat(*mass)).collect();
        self.unknowns.join(&nodes, &self.twist_inertias)
    }
}

impl CarriedPoints {
    /// Nodes and weights of a point.
    pub fn stencil(&self, vertex: usize) -> impl Iterator<Item = (usize, f64)> {
        let corners = self.corners[vertex].into_iter().zip(self.weights[vertex]);
        let first = self.nodes.start;
        corners.map(move |(corner, weight)| (first + corner as usize, weight))
    }

    /// Nodal values interpolated at a point.
    #[must_use]
    pub fn at(&self, vertex: usize, values: &[DVec3]) -> DVec3 {
        let stencil = self.stencil(vertex);
        stencil.map(|(node, weight)| values[node] * weight).sum()
    }
}

impl Object {
    /// Nodes of the object; empty for scripted objects.
    #[must_use]
    pub fn nodes(&self) -> Range<usize> {
        match &self.movement {
            Movement::Simulated(nodes) => nodes.clone(),
            Movement::Carried(carried) => carried.nodes.clone(),
            Movement::Scripted(_) => 0..0,
        }
    }

    /// Its prescribed motion, if all its points are a function of time.
    pub(crate) fn script(&self) -> Option<&Script> {
        match &self.movement {
            Movement::Scripted(script) => Some(script),
            Movement::Simulated(_) | Movement::Carried(_) => None,
        }
    }

    /// Initial mesh of the first copy.
    #[must_use]
    pub fn first_copy(&self) -> Cow<'_, Mesh> {
        match self.copies {
            1 => Cow::Borrowed(&self.mesh),
            copies => Cow::Owned(self.mesh.first_part(copies)),
        }
    }

    /// Mesh of one copy in the rest state.
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
        matches!(self.kind, ObjectType::Collider(_))
    }
}
