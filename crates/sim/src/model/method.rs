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

/// A contact solver with its options.
#[derive(Clone, Debug)]
pub struct ContactSolver {
    /// Entry of the solver table.
    pub entry: &'static SolverEntry,
    /// Values of all options of the solver.
    pub options: Options,
}
