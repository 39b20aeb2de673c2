//! What every integrator is: the one interface between the methods and the rest.

use super::claims::Claims;
use super::context::Context;
use super::outcome::StepOutcome;
use super::{Scratch, StepError};
use crate::step_input::StepInput;

/// How a method covers the time of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stepping {
    /// With one step of h; one that fails is taken in two halves.
    Halved,
    /// With times of its own: it takes the whole span, and there is nothing to halve.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "the integrators so far all step by h")
    )]
    Whole,
}

/// A way to advance by a time step, with its options.
pub(crate) trait IntegratorMethod {
    /// What it claims of every step.
    fn claims(&self) -> Claims;

    /// How it covers the time of a step.
    fn stepping(&self) -> Stepping {
        Stepping::Halved
    }

    /// Whether it poses contact problems for a solver.
    fn takes_solver(&self) -> bool {
        true
    }

    /// The angular frequency (rad/s) of a damped oscillation e^{st}, s = −d ± iω, that steps of `h`
    /// seconds turn into zⁿ. `inverse` holds the real and the imaginary part of 1/z, the latter
    /// positive. It undoes the error of the method, so that the frequency does not depend on the
    /// length of the steps.
    fn angular_frequency(&self, inverse: [f64; 2], h: f64) -> f64;

    /// Refuses a model whose first step it cannot take.
    fn refuse(&self, _first: &StepInput<'_>) -> Result<(), StepError> {
        Ok(())
    }

    /// One step, before it is certified.
    fn step<'a>(
        &self,
        input: &StepInput<'a>,
        scratch: &mut Scratch,
        context: &mut Context,
    ) -> Result<StepOutcome<'a>, StepError>;
}
