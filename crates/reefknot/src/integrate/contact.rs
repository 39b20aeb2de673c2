//! The contact phase of a step: the problem is posed, solved, and refined on the way where the
//! motion shows what was not known at the start (Daviet 2020, Alg. 2). Then the motion goes through
//! the gate.

use glam::DVec3;
use rayon::prelude::*;
use reefknot_contact::file::problem::CapturedProblem;
use reefknot_contact::problem::stopping_tolerance;
use reefknot_contact::solve::{ContactMemory, WarmStart};

use super::context::{Context, Phase};
use super::refine::MotionRefinement;
use super::scratch::StepSolver;
use super::{Scratch, StepError, admm};
use crate::collide::pair::Feature;
use crate::detect::{Detection, Touching};
use crate::energy::equations::Linearised;
use crate::gate::{self, Stopped};
use crate::pose::{Posed, Posing, contacts_of};
use crate::step_input::StepInput;

/// Contacts that every node that can move has less weight in are left to the gate: what moves them would have to go a hundred times as far.
const LEAST_WEIGHT: f64 = 0.01;

/// What a step knows of its contacts.
pub(crate) struct ContactPhase<'a> {
    pub(crate) detection: Detection<'a>,
    /// The contacts of the problem, by ascending id.
    pub(crate) posed: Vec<Posed>,
    /// What the last solve says of each.
    pub(crate) memory: Vec<ContactMemory>,
    /// Iterations of the solver.
    pub(crate) iterations: u64,
    /// Whether the last solve has converged.
    pub(crate) is_converged: bool,
    /// Whether the gate had to change the motion.
    pub(crate) is_guarded: bool,
    /// Contacts that the motion of a solve showed, for the one that follows.
    pub(super) pending: Vec<Posed>,
}

/// What one solve of the contact phase is to do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ContactSolve {
    /// What it may leave of errors (m).
    pub(super) tolerance: f64,
    /// Whether another solve of the same step follows, which can take over contacts that are found
    /// last.
    pub(super) is_followed: bool,
    /// Whether affine bodies are linearised again where they turn.
    pub(super) relinearises: bool,
}

impl<'a> ContactPhase<'a> {
    /// 1. Who may touch; nothing if nothing can.
    pub(super) fn begin(
        input: &StepInput<'a>,
        scratch: &mut Scratch,
        context: &mut Context,
    ) -> Option<ContactPhase<'a>> {
        let touch = input.model.touch.as_ref()?;
        let expected = expected_ends(input);
        let mut detection = Detection::new(input, touch, &expected, &mut scratch.detector);
        let found = detection.contacts();
        let mut phase = ContactPhase {
            posed: Vec::new(),
            memory: Vec::new(),
            iterations: 0,
            is_converged: true,
            is_guarded: false,
            pending: Vec::new(),
            detection,
        };
        phase.posed = phase.pose(input, &found);
        context.timer.lap(Phase::Detect);
        Some(phase)
    }

    /// Contacts of the problem, by ascending id.
    pub(super) fn pose(&self, input: &StepInput<'_>, found: &[Touching]) -> Vec<Posed> {
        let posing = Posing {
            input,
            detection: &self.detection,
        };
        let posed = found.par_iter().map(|touching| posing.pose(touching));
        let posed = posed.filter(|posed| posing.largest_weight(&posed.stencil) >= LEAST_WEIGHT);
        let mut posed: Vec<Posed> = posed.collect();
        posed.sort_by_key(|posed| posed.contact.id);
        posed
    }

    /// Takes over the contacts that a motion showed: they come first, and so take the place of those with the same id.
    pub(super) fn take_pending(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        let mut all = std::mem::take(&mut self.pending);
        all.append(&mut self.posed);
        all.sort_by_key(|posed| posed.contact.id);
        all.dedup_by_key(|posed| posed.contact.id);
        self.posed = all;
    }

    /// Where the solver begins: the step before.
    pub(super) fn warm_start(input: &StepInput<'_>) -> WarmStart {
        let known = input.from.contacts.iter();
        WarmStart {
            velocities: input.start_velocities(),
            contacts: known.map(|known| known.times(input.h())).collect(),
        }
    }

    /// Where it begins when the same step is solved again.
    pub(super) fn warm_again(&self, velocities: &[f64]) -> WarmStart {
        WarmStart {
            velocities: velocities.to_vec(),
            contacts: self.memory.clone(),
        }
    }

    /// Bᵀ r, on held nodes too (N s).
    pub(crate) fn impulses_on_nodes(&self, input: &StepInput<'_>) -> Vec<f64> {
        let unknowns = &input.model.unknowns;
        let mut sum = vec![0.0; unknowns.count];
        for (posed, known) in self.posed.iter().zip(&self.memory) {
            for (node, weight) in &posed.stencil {
                let flat = &mut sum[unknowns.node_offset[*node as usize]..];
                (DVec3::from_slice(flat) + known.reaction * *weight).write_to_slice(flat);
            }
        }
        sum
    }

    /// 3. and 4. The linearised equations with contacts, solved.
    pub(super) fn solve(
        &mut self,
        input: &StepInput<'_>,
        warm: &WarmStart,
        request: ContactSolve,
        scratch: &mut Scratch,
        context: &mut Context,
    ) -> Result<Vec<f64>, StepError> {
        self.take_pending();
        let Scratch {
            equations,
            linearised,
            posed: to,
            solver: Some(StepSolver { solver, .. }),
            ..
        } = scratch
        else {
            let reason = "the scene has no contact solver".to_owned();
            return Err(StepError::Contact { reason });
        };
        let (problem, factors) = (&mut to.problem, &mut to.factors);
        problem.step = input.h();
        (problem.system).hold(&linearised.system, input.is_held(), |_| true);
        problem.force = force(input, linearised);
        problem.contacts = contacts_of(input, &self.posed);
        factors.invalidate();
        problem.mobilities.clear();
        if solver.uses_mobilities() {
            let factor = factors.of(&problem.system);
            let factor = factor.map_err(|error| StepError::factor(input.model, error))?;
            problem.mobilities = admm::mobilities(input, factor);
        }
        let limits = context.budget.limits(request.tolerance);
        let mut refinement = MotionRefinement::new(input, self, request, (equations, linearised));
        let solved = solver.solve(problem, factors, warm, limits, &mut refinement);
        let (solution, outcome) = solved.map_err(|error| StepError::solve(input.model, error))?;
        if context.options.capture {
            context.captured = Some(CapturedProblem {
                problem: problem.clone(),
                tolerance: request.tolerance,
                warm: warm.clone(),
            });
        }
        self.iterations += outcome.iterations as u64;
        self.is_converged = outcome.is_converged;
        context.budget.charge(&outcome);
        let answer = WarmStart::from_solution(problem, solution);
        self.memory = answer.contacts;
        context.timer.lap(match self.posed.is_empty() {
            true => Phase::Linear,
            false => Phase::Contact,
        });
        Ok(answer.velocities)
    }

    /// 5. Nothing comes closer than the guard, whatever it takes.
    pub(super) fn guard(
        &mut self,
        input: &StepInput<'_>,
        velocities: &mut [f64],
    ) -> Result<(), StepError> {
        // What is no number is refused with its place when the step is taken.
        let is_lost = |place: &DVec3| !place.is_finite();
        if velocities.iter().any(|v| !v.is_finite()) || self.detection.from.iter().any(is_lost) {
            return Ok(());
        }
        let touch = self.detection.touch;
        match gate::pass(input, &mut self.detection, velocities) {
            Ok(is_guarded) => {
                self.is_guarded = is_guarded;
                Ok(())
            }
            Err(Stopped::Lost(point, way)) => {
                let (object, vertex) = touch.name(input.model, Feature::Point(point));
                Err(StepError::TooFast {
                    object,
                    vertex,
                    way,
                })
            }
            Err(Stopped::NoRoom(no_room)) => {
                let [one, other] = no_room.features.map(|it| touch.name(input.model, it));
                Err(StepError::NoRoom {
                    object: one.0,
                    vertex: one.1,
                    other: other.0,
                    place: no_room.place.to_array(),
                    time: input.span.end,
                })
            }
        }
    }
}

/// Where nodes end the step if nothing but gravity acts on them.
fn expected_ends(input: &StepInput<'_>) -> Vec<DVec3> {
    let (model, from, h) = (input.model, input.from, input.h());
    let moves = if input.is_static { 0.0 } else { 1.0 };
    let fall = model.gravity * (h * h);
    let nodes = from.positions.iter().zip(&from.velocities).enumerate();
    let expected = nodes.map(|(node, (x, v))| match model.is_axis(node) {
        true => *x + *v * (moves * h),
        false => *x + *v * (moves * h) + fall,
    });
    let mut expected: Vec<DVec3> = expected.collect();
    input.put_held(&mut expected);
    expected
}

/// What contacts may leave of errors in a step, so that nothing at rest creeps (m).
pub(super) fn strictest_tolerance(input: &StepInput<'_>) -> f64 {
    let gravity = input.model.gravity.length();
    stopping_tolerance(input.model.method.tolerance.0, gravity, input.h())
}

/// f of A v = f; where something is held, its velocity: A v_k − ∇𝒜(v_k), with what held unknowns do
/// to free ones.
pub(super) fn force(input: &StepInput<'_>, linearised: &Linearised) -> Vec<f64> {
    let held = input.held_velocities();
    let mut point = linearised.point.clone();
    for (dof, rate) in &held {
        point[*dof] -= rate;
    }
    let mut force = vec![0.0; point.len()];
    linearised.system.multiply(&point, &mut force);
    for (force, residual) in force.iter_mut().zip(&linearised.residual) {
        *force -= residual;
    }
    for (dof, rate) in &held {
        force[*dof] = *rate;
    }
    force
}
