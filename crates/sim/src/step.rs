//! One time step: the integrator computes it, `certify` grades it, and a failed step is repeated as
//! two halves.
//!
//! A step reads one state and returns another. The first is never changed.

use reefknot_contact::file::problem::CapturedProblem;

use crate::certify;
use crate::integrate::{
    Context, IntegratorMethod, Phase, Scratch, StepError, StepOptions, Stepping, method_of,
};
use crate::model::Model;
use crate::state::{Span, State};
use crate::step_input::StepInput;

pub use crate::certify::Step;

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
        Stepping::Halved => halved(method, model, from, span, scratch, context)?,
        Stepping::Whole => single(method, model, from, span, scratch, context)?,
    };
    step.to.step = from.step + 1;
    step.report.step = step.to.step;
    step.report.time = span.end;
    step.report.phases_s = context.timer.phases();
    refuse_overflow(model, &step)?;
    Ok(step)
}

/// One step over `span`, or two over its halves if that fails.
fn halved(
    method: &dyn IntegratorMethod,
    model: &Model,
    from: &State,
    span: Span,
    scratch: &mut Scratch,
    context: &mut Context,
) -> Result<Step, StepError> {
    context.budget.begin_attempt();
    let error = match single(method, model, from, span, scratch, context) {
        Ok(step) => return Ok(step),
        Err(error) => error,
    };
    let is_deep = span.depth >= model.method.halvings;
    if is_deep || context.budget.is_spent() {
        return Err(error);
    }
    let [first, second] = span.halves();
    let before = halved(method, model, from, first, scratch, context)?;
    let after = halved(method, model, &before.to, second, scratch, context)?;
    Ok(before.then(after))
}

/// One step over `span` with its certificate.
fn single(
    method: &dyn IntegratorMethod,
    model: &Model,
    from: &State,
    span: Span,
    scratch: &mut Scratch,
    context: &mut Context,
) -> Result<Step, StepError> {
    let input = StepInput::of(model, from, span);
    let outcome = method.step(&input, scratch, context)?;
    // 6. Certificate.
    let step = certify::certify(&input, outcome, scratch, context.options);
    context.timer.lap(Phase::Certify);
    Ok(step)
}

/// Refuses a step whose energies or errors are not finite: JSON cannot represent them.
fn refuse_overflow(model: &Model, step: &Step) -> Result<(), StepError> {
    let report = &step.report;
    let energy = &report.energy_j;
    let flows = energy.work + energy.viscous + energy.contact + energy.numerical;
    let errors = report.momentum_error_m.unwrap_or(0.0) + report.max_stretch;
    if (energy.total() + flows + errors).is_finite() {
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
mod tests;
