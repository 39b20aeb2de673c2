//! Advancing by a time step: one state is read, another is written, and a step that fails leaves
//! nothing behind.

mod linear_euler;

use glam::DVec3;
use reefknot_contact::block_sparse::BlockSparse;
use reefknot_contact::cholesky::{Factor, FactorError};
use reefknot_contact::system::{System, SystemFactor};

use crate::energy::Energy;
use crate::energy::assemble::ElementBuffer;
use crate::energy::wind::WindLoad;
use crate::model::{Body, Model};
use crate::report::StepReport;
use crate::scene::tables::Integrator;
use crate::state::State;

/// Why a step could not be taken.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum StepError {
    /// A position or velocity is no number.
    #[error("vertex {vertex} of `{object}` has no finite {what}")]
    NotFinite {
        /// The object.
        object: String,
        /// The vertex.
        vertex: usize,
        /// "position" or "velocity".
        what: &'static str,
    },
    /// Numbers have grown beyond what can be computed with.
    #[error(
        "vertex {vertex} of `{object}` moves at {speed:.1e} m/s: its energy is no finite number"
    )]
    Overflow {
        /// The object.
        object: String,
        /// The fastest vertex.
        vertex: usize,
        /// Its largest component of velocity (m/s).
        speed: f64,
    },
    /// An element has lost its area.
    #[error("triangle {element} of `{object}` has collapsed to {ratio:.1e} of its rest area")]
    Collapsed {
        /// The object.
        object: String,
        /// The element.
        element: usize,
        /// Area over rest area.
        ratio: f64,
    },
    /// The linear system could not be solved.
    #[error("the linear system of `{object}` cannot be solved: {reason}")]
    Linear {
        /// The object.
        object: String,
        /// Why, and at which vertex.
        reason: String,
    },
}

impl StepError {
    /// A failed factorization in the words of users, who know objects and their vertices.
    pub(crate) fn linear(model: &Model, body: &Body, error: FactorError) -> StepError {
        let object = &model.objects[body.object];
        let first = body.nodes.start - object.nodes().start;
        let reason = match error {
            FactorError::NotPositiveDefinite { node } => {
                format!("it is not positive definite at vertex {}", first + node)
            }
            FactorError::NotFinite { row, column } if row == column => {
                format!(
                    "it has an entry that is no finite number at vertex {}",
                    first + row
                )
            }
            FactorError::NotFinite { row, column } => {
                let (row, column) = (first + row, first + column);
                format!(
                    "it has an entry that is no finite number between vertices {column} and {row}"
                )
            }
            FactorError::OutOfMemory => "there is not enough memory".to_owned(),
        };
        StepError::Linear {
            object: object.name.clone(),
            reason,
        }
    }
}

/// A step that was taken.
#[derive(Clone, Debug)]
pub struct Step {
    /// The state after it.
    pub to: State,
    /// What it says of itself.
    pub report: StepReport,
    /// Nodes that were held, and the force that it took (N).
    pub pin_forces: Vec<(usize, DVec3)>,
}

impl Step {
    /// The force of a pin on its object (N).
    #[must_use]
    pub fn pin_force(&self, model: &Model, pin: usize) -> DVec3 {
        let pin = &model.pins[pin];
        let nodes = model.objects[pin.object].nodes();
        let is_pinned = |node: usize| {
            let vertex = node.wrapping_sub(nodes.start) as u32;
            nodes.contains(&node) && pin.vertices.binary_search(&vertex).is_ok()
        };
        self.pin_forces
            .iter()
            .filter(|(node, _)| is_pinned(*node))
            .map(|(_, force)| *force)
            .sum()
    }
}

/// Buffers that steps work in. Nothing in here outlives a step: a new one gives the same bits.
pub struct Scratch {
    /// The system A v = f of the step.
    pub(crate) system: System,
    /// A with the rows of held nodes replaced.
    pub(crate) held_system: System,
    pub(crate) factor: SystemFactor,
    pub(crate) membranes: Vec<ElementBuffer<3>>,
    pub(crate) hinges: Vec<ElementBuffer<4>>,
    pub(crate) winds: Vec<WindLoad>,
    /// Forces of loads on nodes (N).
    pub(crate) loads: Vec<(usize, DVec3)>,
    /// f: momentum and impulses at the linearisation (N s).
    pub(crate) impulse: Vec<DVec3>,
    /// Gradient of the elastic energy at the start of the step (N).
    pub(crate) gradient: Vec<DVec3>,
}

impl Scratch {
    /// Buffers for a model.
    ///
    /// # Errors
    /// If there is not enough memory for the factorization.
    pub fn new(model: &Model) -> Result<Scratch, StepError> {
        let matrices = || {
            let bodies = model.bodies.iter();
            bodies.map(|body| BlockSparse::zeros(body.shell.pattern.clone()))
        };
        let factors: Result<Vec<Factor>, StepError> = model
            .bodies
            .iter()
            .map(|body| {
                Factor::new(body.shell.symbolic.clone())
                    .map_err(|error| StepError::linear(model, body, error))
            })
            .collect();
        let nodes = model.masses.len();
        let shells = || model.bodies.iter().map(|body| &*body.shell);
        Ok(Scratch {
            system: System::new(matrices()),
            held_system: System::new(matrices()),
            factor: SystemFactor::new(factors?),
            membranes: shells()
                .map(|shell| ElementBuffer::new(shell.membrane.stencils()))
                .collect(),
            hinges: shells()
                .map(|shell| ElementBuffer::new(shell.hinges.stencils()))
                .collect(),
            winds: model
                .bodies
                .iter()
                .map(|body| WindLoad::new(&body.shell.triangles, body.nodes.len()))
                .collect(),
            loads: Vec::new(),
            impulse: vec![DVec3::ZERO; nodes],
            gradient: vec![DVec3::ZERO; nodes],
        })
    }
}

/// Takes one step.
///
/// # Errors
/// Why it could not be taken; the state it started from is as it was.
pub fn step(
    integrator: Integrator,
    model: &Model,
    from: &State,
    scratch: &mut Scratch,
) -> Result<Step, StepError> {
    match integrator {
        Integrator::LinearEuler => linear_euler::step(model, from, scratch),
    }
}
