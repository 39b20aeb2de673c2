//! Memory that steps work in. Nothing in here outlives a step: a new one gives the same bits.

use reefknot_contact::banded::BandedFactor;
use reefknot_contact::cholesky::Factor;
use reefknot_contact::file::problem::CapturedProblem;
use reefknot_contact::problem::NodalProblem;
use reefknot_contact::solve::admm::{self, Admm};
use reefknot_contact::system::{BodyFactor, System, SystemFactor};

use super::StepError;
use crate::detect::Detector;
use crate::energy::assemble::ElementBuffer;
use crate::energy::wind::WindLoad;
use crate::model::tie::ActiveTie;
use crate::model::{Body, Elements, Kind, Model};

/// Buffers that steps work in.
pub struct Scratch {
    /// A at the last linearisation.
    pub(crate) system: System,
    /// The contact problem of the step; its system is A with the rows of held unknowns replaced.
    pub(crate) posed: NodalProblem,
    pub(crate) factor: SystemFactor,
    /// Whether the independent test looks at every step, not only at those that end a frame.
    pub tests_every_step: bool,
    /// Whether it looks at this one.
    pub(crate) is_tested: bool,
    /// If there is one, every solve with contacts replaces it by its problem; after a step it is that of the last solve.
    pub capture: Option<CapturedProblem>,
    /// Iterations that solves with contacts may still take in this step.
    pub(crate) iterations_left: usize,
    /// The solver of contacts, and the tree of detection, with the memory that they keep.
    pub(crate) admm: Admm,
    pub(crate) detector: Detector,
    /// hC at the start of the step, if anything is viscous.
    pub(crate) viscous: Option<System>,
    pub(crate) bodies: Vec<BodyScratch>,
    /// Springs between points of objects.
    pub(crate) ties: Vec<ActiveTie>,
    /// M (1 + h α), the part of A that is diagonal (kg).
    pub(crate) inertia: Vec<f64>,
    /// Forces and torques of loads (N, N m).
    pub(crate) loads: Vec<f64>,
    /// f = M v₀ + h F, without elastic forces (N s).
    pub(crate) impulse: Vec<f64>,
    /// Gradient of the elastic energy at the last linearisation (N).
    pub(crate) gradient: Vec<f64>,
    /// Gradient of the energy of ties, and the velocities where it was taken.
    pub(crate) tie_gradient: Vec<f64>,
    pub(crate) tie_point: Vec<f64>,
    /// The velocities v_k of the last linearisation (m/s).
    pub(crate) point: Vec<f64>,
    /// ∇𝒜(v_k) (N s).
    pub(crate) residual: Vec<f64>,
    /// Elastic energy at the start of the step (J).
    pub(crate) elastic_start: f64,
    /// Flat vectors of zeros, but while held unknowns are told to move.
    pub(crate) moving: Vec<f64>,
    /// Flat vectors that nobody needs any more: new memory costs more than what is done with it.
    spare: Vec<Vec<f64>>,
}

/// The part of one body.
pub(crate) struct BodyScratch {
    /// A buffer per energy; none for rods, which go straight into their matrix.
    pub(crate) buffers: Vec<ElementBuffer>,
    pub(crate) wind: WindLoad,
    /// Elastic energy at the last linearisation (J).
    pub(crate) elastic: f64,
}

impl Scratch {
    /// Buffers for a model.
    ///
    /// # Errors
    /// If there is not enough memory for the factorization.
    pub fn new(model: &Model) -> Result<Scratch, StepError> {
        let matrices = || model.bodies.iter().map(|body| body.elements.matrix());
        let offsets = &model.unknowns.node_offset;
        let factors: Result<Vec<BodyFactor>, StepError> = model
            .bodies
            .iter()
            .map(|body| factor_of(model, body))
            .collect();
        let is_viscous =
            model.wind.is_some() || model.bodies.iter().any(|body| body.elements.is_viscous());
        let zeros = || vec![0.0; model.unknowns.count];
        Ok(Scratch {
            system: System::new(matrices(), offsets.clone()),
            posed: NodalProblem {
                system: System::new(matrices(), offsets.clone()),
                masses: model.masses.clone(),
                arms: arms(model),
                ..NodalProblem::default()
            },
            admm: Admm::new(admm::Settings::new(model.method.tolerance.0)),
            detector: Detector::default(),
            tests_every_step: false,
            is_tested: false,
            capture: None,
            iterations_left: 0,
            factor: SystemFactor::new(factors?),
            viscous: is_viscous.then(|| System::new(matrices(), offsets.clone())),
            bodies: model.bodies.iter().map(BodyScratch::new).collect(),
            ties: Vec::new(),
            inertia: zeros(),
            loads: zeros(),
            impulse: zeros(),
            gradient: zeros(),
            tie_gradient: Vec::new(),
            tie_point: Vec::new(),
            point: zeros(),
            residual: zeros(),
            elastic_start: 0.0,
            moving: zeros(),
            spare: Vec::new(),
        })
    }

    /// A flat vector of any content.
    pub(crate) fn vector(&mut self) -> Vec<f64> {
        let mut vector = self.spare.pop().unwrap_or_default();
        vector.resize(self.point.len(), 0.0);
        vector
    }

    /// Keeps flat vectors for later; a few are enough.
    pub(crate) fn keep(&mut self, vectors: impl IntoIterator<Item = Vec<f64>>) {
        self.spare.extend(vectors);
        self.spare.truncate(4);
    }

    /// A of the last step that solved anything, with the rows of held unknowns replaced.
    #[must_use]
    pub fn held_system(&self) -> &System {
        &self.posed.system
    }
}

/// What turns the twists of rods into lengths: the radius of each.
fn arms(model: &Model) -> Vec<(usize, f64)> {
    let mut arms = Vec::new();
    for body in &model.bodies {
        if let Kind::Rods(rods) = &model.objects[body.object].kind {
            let radius = rods.radius[0].max(rods.radius[1]);
            let offsets = &model.unknowns.edge_offset[body.edges.clone()];
            arms.extend(offsets.iter().map(|offset| (*offset, radius)));
        }
    }
    arms
}

fn factor_of(model: &Model, body: &Body) -> Result<BodyFactor, StepError> {
    match &body.elements {
        Elements::Blocks(blocks) => Factor::new(blocks.symbolic.clone())
            .map(BodyFactor::Blocks)
            .map_err(|error| StepError::linear(model, body, error)),
        Elements::Rods(rods) => Ok(BodyFactor::Rods(BandedFactor::new(
            rods.batch.layout(),
            rods.batch.shape().count,
        ))),
    }
}

impl BodyScratch {
    fn new(body: &Body) -> BodyScratch {
        let nodes = body.nodes.len();
        let (buffers, wind) = match &body.elements {
            Elements::Blocks(blocks) => (
                blocks.terms.iter().map(|term| term.buffer()).collect(),
                WindLoad::on_triangles(&blocks.sail, nodes),
            ),
            Elements::Rods(rods) => (
                Vec::new(),
                WindLoad::on_edges(&rods.edges, rods.diameter, nodes),
            ),
        };
        BodyScratch {
            buffers,
            wind,
            elastic: 0.0,
        }
    }
}
