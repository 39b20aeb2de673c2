//! Memory that steps work in, in named parts. Nothing in here outlives a step: a new one gives the
//! same bits.

use reefknot_contact::problem::NodalProblem;
use reefknot_contact::solve::Solver;
use reefknot_contact::solve::table::SolverEntry;
use reefknot_contact::system::{FactorPlan, Factors, System};

use crate::detect::Detector;
use crate::energy::equations::{Equations, Linearised, SpareVectors};
use crate::model::{Body, Elements, Kind, Model};

/// Memory that steps work in.
pub struct Scratch {
    /// The terms of the equations of a step.
    pub(crate) equations: Equations,
    /// Their linearisation.
    pub(crate) linearised: Linearised,
    /// The problem of a step.
    pub(crate) posed: PosedProblem,
    /// The contact solver, if the scene has one.
    pub(crate) solver: Option<StepSolver>,
    /// The tree of detection.
    pub(crate) detector: Detector,
    pub(crate) spare: SpareVectors,
}

/// A problem with held unknowns cut off, and its factors. Without contacts it is A v = f.
pub(crate) struct PosedProblem {
    pub(crate) problem: NodalProblem,
    /// Factors of its system, if anybody asked for them.
    pub(crate) factors: Factors,
}

/// The contact solver of a model.
pub(crate) struct StepSolver {
    pub(crate) entry: &'static SolverEntry,
    pub(crate) solver: Box<dyn Solver>,
}

impl Scratch {
    /// Memory for a model. Factors are allocated when they are first asked for.
    #[must_use]
    pub fn new(model: &Model) -> Scratch {
        let choice = &model.method.solver;
        let solver = choice.entry.map(|entry| StepSolver {
            entry,
            solver: (entry.build)(&choice.options),
        });
        Scratch {
            equations: Equations::new(model),
            linearised: Linearised::new(model),
            posed: PosedProblem {
                problem: NodalProblem {
                    system: model.system(),
                    masses: model.masses.clone(),
                    arms: arms(model),
                    ..NodalProblem::default()
                },
                factors: Factors::new(model.bodies.iter().map(plan_of).collect()),
            },
            solver,
            detector: Detector::default(),
            spare: SpareVectors::default(),
        }
    }

    /// A of the last step that solved anything, with the rows of held unknowns replaced.
    #[must_use]
    pub fn held_system(&self) -> &System {
        &self.posed.problem.system
    }

    /// How often anything was factorized so far.
    #[must_use]
    pub fn factorizations(&self) -> usize {
        self.posed.factors.factorizations()
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

fn plan_of(body: &Body) -> FactorPlan {
    match &body.elements {
        Elements::Blocks(blocks) => FactorPlan::Blocks(blocks.symbolic.clone()),
        Elements::Rods(rods) => FactorPlan::Rods(rods.batch.layout(), rods.batch.shape().count),
    }
}
