//! The numerical method of a model: its integrator, its contact solver and their tolerances.

use reefknot_contact::solve::options::Options;
use reefknot_contact::solve::table::SolverEntry;

/// The numerical method.
#[derive(Clone, Debug)]
pub struct Method {
    /// The time integrator.
    pub integrator: Integrator,
    /// The contact solver; `None` simulates without contact.
    pub solver: Option<ContactSolver>,
    /// Tolerance of Newton's method and of the contact solver (m).
    pub tolerance: f64,
    /// Whether a step without convergence fails, and is halved.
    pub converge: bool,
    /// What happens to a step that gains energy from nothing.
    pub energy: EnergyRule,
    /// Whether every step starts at rest.
    pub quasi_static: bool,
    /// Maximum number of successive halvings of a failed step.
    pub halvings: u32,
}

/// A time integrator with its options.
#[derive(Clone, Debug)]
pub enum Integrator {
    /// Explicit: forces at the start of the step.
    SymplecticEuler,
    /// Implicit Euler, linearised once at the start of the step.
    LinearEuler,
    /// Implicit Euler by Newton's method with a line search.
    Newton(NewtonOptions),
}

/// Options of Newton's method.
#[derive(Clone, Copy, Debug)]
pub struct NewtonOptions {
    /// Maximum number of iterations in a step.
    pub iterations: u64,
}

impl Default for NewtonOptions {
    fn default() -> NewtonOptions {
        NewtonOptions { iterations: 20 }
    }
}

/// What happens to a step that gains energy from nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EnergyRule {
    /// It is solved further, halved, or refused.
    #[default]
    Dissipative,
    /// It is recorded.
    Report,
}

/// A contact solver with its options.
#[derive(Clone, Debug)]
pub struct ContactSolver {
    /// Entry of the solver table.
    pub entry: &'static SolverEntry,
    /// Values of all options of the solver.
    pub options: Options,
}
