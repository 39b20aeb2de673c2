//! The result of an integrator, before it is certified.

use super::contact::ContactPhase;
use crate::state::State;

/// The result of an integrator for one step.
pub(crate) struct StepOutcome<'a> {
    /// State at the end of the step.
    pub(crate) to: State,
    /// Velocities of the step, flat (m/s, rad/s).
    pub(crate) velocities: Vec<f64>,
    /// Residual of the equations of motion without contact impulses, ρ + Bᵀ r (N s). On held
    /// unknowns it contains the impulse that holds them.
    pub(crate) residual: Vec<f64>,
    /// The equations that the residual refers to.
    pub(crate) solved: SolvedEquations,
    /// Viscous impulse (N s), if it was evaluated at other velocities than those of the step.
    pub(crate) drag: Option<Vec<f64>>,
    /// Contacts, if the model has features that can collide.
    pub(crate) contact: Option<ContactPhase<'a>>,
    /// Iterations of Newton's method. The report has the larger of these and the iterations of the
    /// contact solver.
    pub(crate) iterations: u64,
}

/// Equations of motion that a step has solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SolvedEquations {
    /// None: the velocities follow from the forces explicitly.
    None,
    /// The linearised equations.
    Linear,
    /// The nonlinear equations; the residual is that at the velocities of the step.
    Nonlinear,
}
