//! The contact solve of a step: the linearised equations with contacts, posed, solved, and refined
//! on the way (Daviet 2020, Alg. 2).

use reefknot_contact::file::problem::CapturedProblem;
use reefknot_contact::problem::{NodalProblem, Solution, WarmStart, stopping_tolerance};
use reefknot_contact::system::FactorCache;

use super::contact::{ContactPhase, ContactRequest};
use super::context::{Context, Phase};
use super::refine::MotionRefinement;
use super::scratch::StepSolver;
use super::{Scratch, StepError, admm};
use crate::energy::Curvature;
use crate::equations::linearize::right_hand_side;
use crate::model::Model;
use crate::pose::assemble_contacts;
use crate::step_input::StepInput;

/// Velocities that solve the linearised equations with contacts. The impulses are stored in
/// `phase`.
pub(super) fn solve_contacts(
    phase: &mut ContactPhase<'_>,
    input: &StepInput<'_>,
    warm: &WarmStart,
    request: ContactRequest,
    scratch: &mut Scratch,
    context: &mut Context,
) -> Result<Vec<f64>, StepError> {
    phase.pose_pending();
    let Scratch {
        equations,
        linearised,
        posed: to,
        solver: Some(StepSolver { solver, .. }),
        ..
    } = scratch
    else {
        let reason = "the scene has no contact solver; set `solver` in `method`".to_owned();
        return Err(StepError::Contact { reason });
    };
    let (problem, factors) = (&mut to.problem, &mut to.factors);
    problem.step = input.h();
    (problem.system).hold(&linearised.system, input.is_held(), |_| true);
    problem.force = right_hand_side(input, linearised);
    problem.contacts = assemble_contacts(input, &phase.posed);
    factors.invalidate();
    problem.mobilities.clear();
    // The exact curvature must be positive definite.
    if solver.uses_mobilities() || equations.curvature == Curvature::Exact {
        let factor = factors.get(&problem.system);
        let factor = factor.map_err(|error| StepError::factor(input.model, error))?;
        if solver.uses_mobilities() {
            problem.mobilities = admm::mobilities(input, factor);
        }
    }
    let limits = context.budget.limits(request.tolerance);
    let mut refinement = MotionRefinement::new(input, phase, request, equations, linearised);
    let solved = solver.solve(problem, factors, warm, limits, &mut refinement);
    let (mut solution, outcome) = solved.map_err(|error| StepError::solve(input.model, error))?;
    if context.options.capture {
        context.captured = Some(CapturedProblem {
            problem: problem.clone(),
            tolerance: request.tolerance,
            warm: warm.clone(),
        });
    }
    phase.iterations += outcome.iterations as u64;
    phase.is_converged = outcome.is_converged;
    context.budget.charge(&outcome);
    if outcome.is_converged && !request.is_followed {
        balance(problem, factors, &mut solution);
    }
    let answer = WarmStart::from_solution(problem, solution);
    phase.memory = answer.contacts;
    context.timer.lap(if phase.posed.is_empty() {
        Phase::Linear
    } else {
        Phase::Contact
    });
    Ok(answer.velocities)
}

/// Replaces the velocities by those of the impulses, A v = f + Bᵀr. What a solver leaves of these
/// equations is a small motion but, in stiff bodies, a large force that does work. Without factors
/// the velocities remain.
fn balance(problem: &NodalProblem, factors: &FactorCache, solution: &mut Solution) {
    if let Some(factor) = factors.fresh() {
        let mut change = problem.residual(&solution.velocities, &solution.impulses);
        factor.solve_in_place(&problem.system, &mut change);
        for (v, change) in solution.velocities.iter_mut().zip(&change) {
            *v -= change;
        }
    }
}

/// Contact tolerance at which objects at rest do not creep (m).
pub(crate) fn strictest_tolerance(model: &Model, h: f64) -> f64 {
    stopping_tolerance(model.method.tolerance, model.gravity.length(), h)
}
