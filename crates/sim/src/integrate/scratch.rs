//! Work memory of steps. No value in it is read by a later step: a step with new memory has the
//! same bits.

use glam::DVec3;
use reefknot_contact::problem::NodalProblem;
use reefknot_contact::solve::Solver;
use reefknot_contact::solve::table::SolverEntry;
use reefknot_contact::system::{FactorCache, FactorPlan, System};

use crate::detect::Detector;
use crate::equations::{Equations, Linearised, VectorPool};
use crate::model::{Body, Elements, Model, ObjectType};

/// Work memory of steps.
pub struct Scratch {
    /// Terms of the equations of a step.
    pub(crate) equations: Equations,
    /// Linearisation of these equations.
    pub(crate) linearised: Linearised,
    /// Contact problem of a step.
    pub(crate) posed: PosedProblem,
    /// Contact solver, if the scene has one.
    pub(crate) solver: Option<StepSolver>,
    /// Bounding volume tree of the broad phase.
    pub(crate) detector: Detector,
    /// Flat vectors for reuse.
    pub(crate) pool: VectorPool,
    /// Diagonal of the bounding box of all simulated objects at the start of the run (m).
    pub(crate) diagonal: f64,
}

/// A contact problem with held unknowns eliminated, and its factors. Without contacts: A v = f.
pub(crate) struct PosedProblem {
    pub(crate) problem: NodalProblem,
    /// Factors of its system, computed on demand.
    pub(crate) factors: FactorCache,
}

/// The contact solver of a model.
pub(crate) struct StepSolver {
    pub(crate) entry: &'static SolverEntry,
    pub(crate) solver: Box<dyn Solver>,
}

impl Scratch {
    /// Memory for a model. Factors are allocated on first use.
    #[must_use]
    pub fn new(model: &Model) -> Scratch {
        let solver = model.method.solver.as_ref().map(|chosen| StepSolver {
            entry: chosen.entry,
            solver: (chosen.entry.build)(&chosen.options),
        });
        Scratch {
            equations: Equations::new(model),
            linearised: Linearised::new(model),
            posed: PosedProblem {
                problem: NodalProblem {
                    system: model.system(),
                    masses: model.masses.clone(),
                    lever_arms: lever_arms(model),
                    ..NodalProblem::default()
                },
                factors: FactorCache::new(model.bodies.iter().map(plan_of).collect()),
            },
            solver,
            detector: Detector::default(),
            pool: VectorPool::default(),
            diagonal: diagonal(model),
        }
    }

    /// A of the last implicit step, with the rows of held unknowns replaced by those of the
    /// identity.
    #[must_use]
    pub fn held_system(&self) -> &System {
        &self.posed.problem.system
    }

    /// Number of factorizations so far.
    #[must_use]
    pub fn factorizations(&self) -> usize {
        self.posed.factors.factorizations()
    }
}

/// Diagonal of the bounding box of all simulated objects at the start of the run (m).
fn diagonal(model: &Model) -> f64 {
    let simulated = model
        .objects
        .iter()
        .filter(|object| !object.nodes().is_empty());
    let points = simulated.flat_map(|object| &object.mesh.points);
    let boxed = points.fold(
        [DVec3::INFINITY, DVec3::NEG_INFINITY],
        |[low, high], point| [low.min(*point), high.max(*point)],
    );
    (boxed[1] - boxed[0]).length()
}

/// Rod radius at each twist unknown: the lever arm that converts angles to lengths.
fn lever_arms(model: &Model) -> Vec<(usize, f64)> {
    let mut lever_arms = Vec::new();
    for body in &model.bodies {
        if let ObjectType::Rods(rods) = &model.objects[body.object].kind {
            let radius = rods.radius[0].max(rods.radius[1]);
            let offsets = &model.unknowns.edge_offset[body.edges.clone()];
            lever_arms.extend(offsets.iter().map(|offset| (*offset, radius)));
        }
    }
    lever_arms
}

fn plan_of(body: &Body) -> FactorPlan {
    match &body.elements {
        Elements::Blocks(blocks) => FactorPlan::Blocks(blocks.symbolic.clone()),
        Elements::Rods(rods) => FactorPlan::Rods(rods.batch.layout(), rods.batch.shape().count),
    }
}
