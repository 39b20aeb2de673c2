//! Advancing by a time step: one state is read, another is written, and a step that fails leaves
//! nothing behind.

mod admm;
pub mod claims;
mod contact;
mod context;
mod error;
mod implicit;
mod linear_euler;
mod method;
mod newton;
mod outcome;
mod refine;
mod scratch;
mod symplectic_euler;

use reefknot_contact::file::problem::CapturedProblem;

use crate::certify;
use crate::model::Model;
use crate::state::{Span, State};
use crate::step_input::StepInput;

pub(crate) use contact::ContactPhase;
pub use context::StepOptions;
pub(crate) use context::{Context, Phase};
pub use error::StepError;
pub(crate) use method::{IntegratorMethod, Stepping};
pub use outcome::Step;
pub(crate) use outcome::{Solved, StepOutcome};
pub use scratch::Scratch;

/// Takes one step; where it fails, in halves, in quarters and so on. The independent test looks at
/// it if it ends a frame.
///
/// # Errors
/// Why it could not be taken; the state it started from is as it was.
pub fn step(model: &Model, from: &State, scratch: &mut Scratch) -> Result<Step, StepError> {
    let options = StepOptions {
        test: model.clock.frame_at(from.step + 1).is_some(),
        capture: false,
    };
    step_with(model, from, options, scratch).0
}

/// The same with options. Also the contact problem of the last solve, if it was to be captured: of
/// a step that fails, too.
pub fn step_with(
    model: &Model,
    from: &State,
    options: StepOptions,
    scratch: &mut Scratch,
) -> (Result<Step, StepError>, Option<CapturedProblem>) {
    let method = model.method.integrator.method();
    let solver = scratch.solver.as_ref().map(|solver| solver.entry);
    let mut context = Context::new(options, solver);
    let step = step_by(method, model, from, scratch, &mut context);
    (step, context.captured)
}

/// One step by a method: as a whole, or in halves.
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

/// Refuses a method that cannot simulate a model.
///
/// # Errors
/// If the steps of an explicit method are too long from the start.
pub fn refuse_unstable(model: &Model) -> Result<(), StepError> {
    let first = StepInput::of(model, &model.start, model.clock.span(0));
    model.method.integrator.method().refuse(&first)
}

/// A step over some time, or two over its halves.
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
    let is_deep = span.depth >= model.method.halvings as u32;
    if is_deep || context.budget.is_spent() {
        return Err(error);
    }
    let [first, second] = span.halves();
    let before = halved(method, model, from, first, scratch, context)?;
    let after = halved(method, model, &before.to, second, scratch, context)?;
    Ok(before.then(after))
}

/// One step, as it is.
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
    // 6. What the step says of itself.
    let step = certify::certify(&input, outcome, scratch, context.options);
    context.timer.lap(Phase::Certify);
    Ok(step)
}

/// Stops at a step that cannot be graded, which nobody could read back from the log either.
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
pub(crate) mod tests;
