//! The scene made concrete, once: objects, nodes, masses, elements, pins, probes. Never changed afterwards.

pub mod contact;
mod directors;
pub mod kinematics;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use glam::DVec3;
use reefknot_contact::block_sparse::BlockPattern;
use reefknot_contact::symbolic::Symbolic;

use crate::energy::Energy;
use crate::energy::assemble::GatherMap;
use crate::energy::hinge::Hinges;
use crate::energy::membrane::Membrane;
use crate::energy::wind::{Air, Wind};
use crate::generate::groom::Root;
use crate::generate::lattice::Embedding;
use crate::generate::shape::Shape;
use crate::io::input::Input;
use crate::material::{RodMaterial, ShellMaterial, SolidMaterial};
use crate::mesh::Mesh;
use crate::mesh::mass::MassProperties;
use crate::motion::{Pose, Script, Twist};
use crate::probe::Probe;
use crate::scene::problem::Place;
use crate::state::{Clock, State};
use contact::{ContactModel, Surface};

/// What is simulated, and what it meets.
#[derive(Debug)]
pub struct Model {
    /// The objects and then the colliders, each in the order of the scene.
    pub objects: Vec<Object>,
    /// What is simulated, each a run of nodes.
    pub bodies: Vec<Body>,
    /// Mass of each node (kg).
    pub masses: Vec<f64>,
    /// Where all nodes start.
    pub start: State,
    /// Held vertices; those of clamps too.
    pub pins: Vec<Pin>,
    /// Held edges of rods.
    pub clamps: Vec<Clamp>,
    /// Forces and moments.
    pub loads: Vec<Load>,
    /// Attachments and stitches, for integrators to come.
    pub ties: Vec<Tie>,
    /// What happens where things touch.
    pub contact: ContactModel,
    /// Acceleration of free fall (m/s²).
    pub gravity: DVec3,
    /// Moving air.
    pub wind: Option<(Wind, Air)>,
    /// What is measured.
    pub probes: Vec<Probe>,
    /// Frames and steps.
    pub clock: Clock,
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
    /// How many copies the mesh holds, one after the other.
    pub copies: usize,
    /// Its mass (kg); 0 for colliders.
    pub mass: f64,
    /// Who moves its points.
    pub movement: Movement,
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
    /// First axis of the section at each edge at the start, carried along each rod without twist; along closed rods
    /// with the even twist that brings it back to the first.
    pub directors: Vec<DVec3>,
}

/// Who moves the points of an object.
#[derive(Debug)]
pub enum Movement {
    /// Each point is a node of the state.
    Simulated(Range<usize>),
    /// They are a function of time.
    Scripted(Box<Script>),
    /// Each rod goes with a triangle of another object.
    Rooted {
        /// The index of the other object.
        host: usize,
        /// Where each rod is rooted.
        roots: Vec<Root>,
    },
}

/// A part that is simulated by itself: its matrix has no entries with others.
#[derive(Debug)]
pub struct Body {
    /// The index of its object.
    pub object: usize,
    /// Its nodes; elements count from the first of them.
    pub nodes: Range<usize>,
    /// Its elements, shared by all copies.
    pub shell: Arc<Shell>,
}

/// The elements of a piece of cloth.
#[derive(Debug)]
pub struct Shell {
    /// What it is made of.
    pub material: ShellMaterial,
    /// Its triangles.
    pub triangles: Vec<[u32; 3]>,
    /// Resistance to stretch and shear.
    pub membrane: Membrane,
    /// Resistance to bending.
    pub hinges: Hinges,
    /// The blocks of its matrix.
    pub pattern: Arc<BlockPattern>,
    /// How its matrix is factorized.
    pub symbolic: Arc<Symbolic>,
    /// Where membrane elements go in the matrix.
    pub membrane_map: GatherMap<3>,
    /// Where hinges go in the matrix.
    pub hinge_map: GatherMap<4>,
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
    /// Name of the object that a node belongs to, and its number there.
    #[must_use]
    pub fn place_of_node(&self, node: usize) -> (&str, usize) {
        let (object, vertex) = self.vertex_of_node(node);
        let name = self.objects.get(object).map_or("", |object| &object.name);
        (name, vertex)
    }

    /// The index of the object that a node belongs to, and its number there.
    #[must_use]
    pub fn vertex_of_node(&self, node: usize) -> (usize, usize) {
        // Bodies stand in the order of their nodes, and leave none out.
        let body = self.bodies.partition_point(|body| body.nodes.end <= node);
        self.bodies.get(body).map_or((usize::MAX, node), |body| {
            let first = self.objects[body.object].nodes().start;
            (body.object, node - first)
        })
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
        let of_body =
            |body: &Body| body.shell.membrane.stencils().len() + body.shell.hinges.stencils().len();
        self.bodies.iter().map(of_body).sum()
    }
}

impl Object {
    /// The nodes that are its points; none if it is not simulated.
    #[must_use]
    pub fn nodes(&self) -> Range<usize> {
        match &self.movement {
            Movement::Simulated(nodes) => nodes.clone(),
            Movement::Scripted(_) | Movement::Rooted { .. } => 0..0,
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

    /// Whether it is a collider.
    #[must_use]
    pub fn is_collider(&self) -> bool {
        matches!(self.kind, Kind::Collider(_))
    }
}
