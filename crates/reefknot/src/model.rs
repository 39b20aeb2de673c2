//! The scene made concrete, once: nodes, masses, elements, pins, probes. Never changed afterwards.

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
use crate::material::ShellMaterial;
use crate::mesh::Group;
use crate::probe::Probe;
use crate::state::{Clock, State};

/// What is simulated.
#[derive(Debug)]
pub struct Model {
    /// The objects, in the order of the scene.
    pub objects: Vec<Object>,
    /// Mass of each node (kg).
    pub masses: Vec<f64>,
    /// Where everything starts.
    pub start: State,
    /// Held nodes.
    pub pins: Vec<Pin>,
    /// Acceleration of free fall (m/s²).
    pub gravity: DVec3,
    /// Moving air.
    pub wind: Option<(Wind, Air)>,
    /// What is measured.
    pub probes: Vec<Probe>,
    /// Frames and steps.
    pub clock: Clock,
}

/// An object: a run of nodes with their elements.
#[derive(Debug)]
pub struct Object {
    /// Its name in the scene.
    pub name: String,
    /// Its nodes; elements count from the first of them.
    pub nodes: Range<usize>,
    /// Its triangles.
    pub triangles: Vec<[u32; 3]>,
    /// Groups of vertices that pins can name.
    pub groups: Vec<Group>,
    /// Its material.
    pub material: ShellMaterial,
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

/// Nodes that are held.
#[derive(Clone, Debug)]
pub struct Pin {
    /// Its name in the scene.
    pub name: String,
    /// The index of the object.
    pub object: usize,
    /// The nodes, ascending.
    pub nodes: Vec<usize>,
    /// When they are let go (s).
    pub release: f64,
}

impl Model {
    /// Name of the object that a node belongs to, and its number there.
    #[must_use]
    pub fn place_of_node(&self, node: usize) -> (&str, usize) {
        let object = self
            .objects
            .iter()
            .find(|object| object.nodes.contains(&node));
        object.map_or(("", node), |object| {
            (object.name.as_str(), node - object.nodes.start)
        })
    }

    /// Which nodes are held during the step that starts at this time.
    #[must_use]
    pub fn held(&self, time: f64) -> Vec<bool> {
        let mut held = vec![false; self.masses.len()];
        for pin in self.pins.iter().filter(|pin| time < pin.release) {
            for &node in &pin.nodes {
                held[node] = true;
            }
        }
        held
    }

    /// Number of elements of all kinds.
    #[must_use]
    pub fn elements(&self) -> usize {
        let of_object =
            |object: &Object| object.membrane.stencils().len() + object.hinges.stencils().len();
        self.objects.iter().map(of_object).sum()
    }
}
