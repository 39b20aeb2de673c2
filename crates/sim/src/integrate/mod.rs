//! Time integrators. Each advances a state by one step and returns a `StepOutcome`.
//!
//! | module | content |
//! | --- | --- |
//! | `method` | interface of all integrators |
//! | `symplectic_euler`, `linear_euler`, `newton` | the integrators |
//! | `implicit` | linear solves, acceptance of velocities |
//! | `contact` | contacts of a step |
//! | `contact_solve`, `refine`, `admm` | contact solve, with CCD on the way |
//! | `impact` | contacts that bounce at the end of a step |
//! | `momentum` | momentum error |
//! | `context`, `scratch` | options, budget and timer; work memory |
//! | `tuning` | limits and tolerances |

mod admm;
mod contact;
mod contact_solve;
mod context;
mod error;
pub(crate) mod impact;
mod implicit;
mod linear_euler;
mod method;
mod momentum;
mod newton;
mod outcome;
mod refine;
mod scratch;
mod symplectic_euler;
mod tuning;

use crate::claims::Claims;
use crate::model::Model;
use crate::step_input::StepInput;

pub(crate) use contact::{ContactPhase, expected_ends};
pub(crate) use contact_solve::strictest_tolerance;
pub use context::StepOptions;
pub(crate) use context::{Context, Effort, Phase};
pub use error::StepError;
pub(crate) use method::{IntegratorMethod, Stepping, method_of};
pub(crate) use momentum::{clear_held, momentum_error};
pub(crate) use outcome::{SolvedEquations, StepOutcome};
pub use scratch::Scratch;

/// Claims of a model's integrator for every step.
#[must_use]
pub fn claims(model: &Model) -> Claims {
    claims_of(method_of(&model.method.integrator), model)
}

/// Claims of an integrator for every step of a model.
pub(crate) fn claims_of(method: &dyn IntegratorMethod, model: &Model) -> Claims {
    let claims = method.claims();
    if model.collision.is_some() {
        claims
    } else {
        claims.without_contact()
    }
}

/// Refuses a model whose first step is unstable for its integrator.
///
/// # Errors
/// If the time step is above the stability limit of an explicit integrator.
pub fn refuse_unstable(model: &Model) -> Result<(), StepError> {
    let first = StepInput::of(model, &model.start, model.clock.span(0));
    method_of(&model.method.integrator).refuse(&first)
}
