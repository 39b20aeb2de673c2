//! One time step: the integrator computes it, `certify` grades it, and a failed step is repeated as
//! two halves.
//!
//! A step reads one state and returns another. The first is never changed.

use reefknot_contact::file::problem::CapturedProblem;

mod judge;

use crate::certify;
use crate::integrate::{
    Context, Effort, IntegratorMethod, Phase, Scratch, StepError, StepOptions, Stepping, claims_of,
    expected_ends, impact, method_of,
};
use crate::model::Model;
use crate::path;
use crate::state::{Span, State};
use crate::step_input::StepInput;

pub use crate::certify::Step;
pub(crate) use judge::excess_gain;

/// Halvings of a step that is accepted but not converged.
const MAX_HALVINGS_TO_CONVERGE: u32 = 4;

/// Takes one step. A failed step is repeated as halves, quarters and so on. Steps that end a frame
/// are checked by the independent intersection test.
///
/// # Errors
/// If the step fails with all allowed halvings.
pub fn step(model: &Model, from: &State, scratch: &mut Scratch) -> Result<Step, StepError> {
    let options = StepOptions {
        test: model.clock.frame_at(from.step + 1).is_some(),
        capture: false,
    };
    step_with(model, from, options, scratch).0
}

/// Takes one step with options. Also returns the contact problem of the last solve if
/// `options.capture` is set, even if the step fails.
pub fn step_with(
    model: &Model,
    from: &State,
    options: StepOptions,
    scratch: &mut Scratch,
) -> (Result<Step, StepError>, Option<CapturedProblem>) {
    let method = method_of(&model.method.integrator);
    let solver = scratch.solver.as_ref().map(|solver| solver.entry);
    let mut context = Context::new(options, solver);
    let step = step_by(method, model, from, scratch, &mut context);
    (step, context.captured)
}

/// One step by an integrator, whole or halved.
fn step_by(
    method: &dyn IntegratorMethod,
    model: &Model,
    from: &State,
    scratch: &mut Scratch,
    context: &mut Context,
) -> Result<Step, StepError> {
    let span = model.clock.span(from.step);
    let mut step = match method.stepping() {
        Stepping::Halved => along_path(method, model, from, span, scratch, context)?,
        Stepping::Whole => single(method, model, from, span, scratch, context)?,
    };
    step.to.step = from.step + 1;
    step.report.step = step.to.step;
    step.report.time = span.end;
    step.report.phases_s = context.timer.phases();
    Ok(step)
}

/// One step over `span`, or several whose chords follow prescribed motion along its path.
fn along_path(
    method: &dyn IntegratorMethod,
    model: &Model,
    from: &State,
    span: Span,
    scratch: &mut Scratch,
    context: &mut Context,
) -> Result<Step, StepError> {
    context.budget.begin_part();
    if path::is_straight(model, &span) {
        return halved(method, model, from, span, scratch, context);
    }
    let input = StepInput::of(model, from, span);
    let mut cut = path::cut(&input, &expected_ends(&input))?;
    if cut.is_none() {
        let step = halved(method, model, from, span, scratch, context)?;
        // What moves other than predicted may come near a path that nothing could reach.
        cut = path::cut(&input, &step.to.positions)?;
        if cut.is_none() {
            return Ok(step);
        }
    }
    let [first, second] = cut.unwrap_or(span.halves());
    let before = along_path(method, model, from, first, scratch, context)?;
    let after = along_path(method, model, &before.to, second, scratch, context)?;
    Ok(before.then(after))
}

/// One step over `span`, or two over its halves if that fails or does not converge.
fn halved(
    method: &dyn IntegratorMethod,
    model: &Model,
    from: &State,
    span: Span,
    scratch: &mut Scratch,
    context: &mut Context,
) -> Result<Step, StepError> {
    context.budget.begin_attempt();
    let whole = single(method, model, from, span, scratch, context);
    let max_depth = match &whole {
        Ok(step) if !step.report.unconverged || method.can_converge() => return whole,
        // Short steps are no shorter way to a static solution.
        Ok(_) if model.method.quasi_static => return whole,
        Ok(_) => model.method.halvings.min(MAX_HALVINGS_TO_CONVERGE),
        Err(_) => model.method.halvings,
    };
    if span.depth >= max_depth || context.budget.is_spent() {
        return whole;
    }
    let [first, second] = span.halves();
    let halves = halved(method, model, from, first, scratch, context).and_then(|before| {
        let after = halved(method, model, &before.to, second, scratch, context)?;
        Ok(before.then(after))
    });
    // An unconverged step is better than none.
    halves.or_else(|error| whole.map_err(|_| error))
}

/// One step over `span` with its certificate. A refused step is solved further.
fn single(
    method: &dyn IntegratorMethod,
    model: &Model,
    from: &State,
    span: Span,
    scratch: &mut Scratch,
    context: &mut Context,
) -> Result<Step, StepError> {
    let input = StepInput::of(model, from, span);
    let usual = attempt(method, &input, Effort::Usual, scratch, context);
    match usual {
        // More iterations do not help contacts that no solve could satisfy.
        Err(error)
            if error.is_mended_by_convergence()
                && method.can_converge()
                && !context.budget.is_exhausted() =>
        {
            attempt(method, &input, Effort::Converged, scratch, context)
        }
        usual => usual,
    }
}

/// One attempt at a step, certified and judged.
fn attempt(
    method: &dyn IntegratorMethod,
    input: &StepInput<'_>,
    effort: Effort,
    scratch: &mut Scratch,
    context: &mut Context,
) -> Result<Step, StepError> {
    context.effort = effort;
    let mut outcome = method.step(input, scratch, context)?;
    impact::resolve(input, &mut outcome, scratch, context)?;
    let claims = claims_of(method, input.model);
    let is_converged = outcome.is_converged;
    // 6. Certificate.
    let mut step = certify::certify(input, outcome, scratch, context.options);
    context.timer.lap(Phase::Certify);
    if effort == Effort::Usual && step.report.failsafe && !is_converged && method.can_converge() {
        return Err(StepError::GuardedEarly);
    }
    refuse_overflow(input.model, &step)?;
    judge::judge(input, claims, scratch.diagonal, &step)?;
    step.report.unconverged = judge::is_unconverged(input, claims, &step.report);
    Ok(step)
}

/// Refuses a step whose energies or errors are not finite: JSON cannot represent them.
fn refuse_overflow(model: &Model, step: &Step) -> Result<(), StepError> {
    let report = &step.report;
    let energy = &report.energy_j;
    let errors = [report.momentum_error_m, report.nonlinear_error_m];
    let errors = errors.into_iter().flatten().sum::<f64>() + report.max_stretch;
    if (energy.total() + energy.flow() + errors).is_finite() {
        return Ok(());
    }
    let speeds = step.to.velocities.iter().map(|v| v.abs().max_element());
    let fastest = speeds.enumerate().max_by(|a, b| a.1.total_cmp(&b.1));
    let (node, speed) = fastest.unwrap_or_default();
    let (object, vertex) = model.place_of_node(node);
    Err(StepError::Overflow {
        object: object.to_owned(),
        vertex,
        speed,
    })
}

#[cfg(test)]
mod path_tests;
#[cfg(test)]
mod tests;
