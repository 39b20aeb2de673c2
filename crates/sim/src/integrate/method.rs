//! The interface of all integrators.

use super::context::Context;
use super::linear_euler::LinearEuler;
use super::outcome::StepOutcome;
use super::symplectic_euler::SymplecticEuler;
use super::{Scratch, StepError};
use crate::claims::Claims;
use crate::model::Integrator;
use crate::step_input::StepInput;

/// How an integrator covers the time span of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stepping {
    /// By one step of h. A failed step is repeated as two halves.
    Halved,
    /// By substeps that the integrator chooses itself. A failed step is not repeated.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "all present integrators step by h")
    )]
    Whole,
}

/// A time integrator with its options.
pub(crate) trait IntegratorMethod {
    /// Guarantees for every step.
    fn claims(&self) -> Claims;

    /// How the integrator covers the time span of a step.
    fn stepping(&self) -> Stepping {
        Stepping::Halved
    }

    /// Angular frequency ω (rad/s) of a damped oscillation e^{st}, s = −d ± iω, that the integrator
    /// turns into zⁿ with time step `h` (s). `inverse` is the real and imaginary part of 1/z, the
    /// latter positive. This inverts the discretisation error: the result does not depend on `h`.
    fn angular_frequency(&self, inverse: [f64; 2], h: f64) -> f64;

    /// Whether [`Effort::Converged`] solves the equations further than [`Effort::Usual`].
    fn can_converge(&self) -> bool {
        false
    }

    /// Refuses a model whose first step is unstable.
    fn refuse(&self, _first: &StepInput<'_>) -> Result<(), StepError> {
        Ok(())
    }

    /// Takes one step, without its certificate.
    fn step<'a>(
        &self,
        input: &StepInput<'a>,
        scratch: &mut Scratch,
        context: &mut Context,
    ) -> Result<StepOutcome<'a>, StepError>;
}

/// The implementation of an integrator.
pub(crate) fn method_of(integrator: &Integrator) -> &dyn IntegratorMethod {
    match integrator {
        Integrator::SymplecticEuler => &SymplecticEuler,
        Integrator::LinearEuler => &LinearEuler,
        Integrator::Newton(newton) => newton,
    }
}
