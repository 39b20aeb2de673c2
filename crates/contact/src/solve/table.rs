//! The table of contact solvers, for the step, `reefknot solve`, scene files, their schema and the
//! command line.

use glam::DVec3;

use super::options::{OptionSpec, Options};
use super::{Limits, SolveOutcome, Solver, admm, gauss_seidel, robust};
use crate::delassus::DelassusProblem;

/// All solvers, the most robust first. A new solver needs a file in `solve/` and a row here.
pub static SOLVERS: [SolverEntry; 3] = [robust::ENTRY, gauss_seidel::ENTRY, admm::ENTRY];

/// Description and constructor of a solver.
#[derive(Clone, Copy, Debug)]
pub struct SolverEntry {
    /// Name in scene files and on the command line.
    pub name: &'static str,
    /// A line of help.
    pub help: &'static str,
    /// Solves Delassus problems, if the solver supports them; all solvers support nodal problems.
    pub delassus: Option<SolveDelassus>,
    /// Options.
    pub options: &'static [OptionSpec],
    /// Constructor.
    pub build: fn(&Options) -> Box<dyn Solver>,
    /// Default iteration limits.
    pub iterations: IterationLimits,
}

/// Solves a Delassus problem, starting from the impulses given.
pub type SolveDelassus = fn(&DelassusProblem, &Options, Limits, &mut Vec<DVec3>) -> SolveOutcome;

/// Iteration limits of a solve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IterationLimits {
    /// For a problem of its own.
    pub standalone: usize,
    /// In a step, where the gate corrects an unconverged motion.
    pub in_step: usize,
}

impl SolverEntry {
    /// The solver with a name.
    pub fn named(name: &str) -> Option<&'static SolverEntry> {
        SOLVERS.iter().find(|entry| entry.name == name)
    }

    /// The solver with default options.
    pub fn build_default(&self) -> Box<dyn Solver> {
        (self.build)(&Options::defaults(self.options))
    }

    /// The limits for a problem of its own.
    pub fn limits(&self, tolerance: f64) -> Limits {
        Limits {
            tolerance,
            iterations: self.iterations.standalone,
        }
    }
}

/// The names of solvers as a phrase: "robust, gauss-seidel and admm".
pub fn names(entries: impl Iterator<Item = &'static SolverEntry>) -> String {
    let names: Vec<&str> = entries.map(|entry| entry.name).collect();
    match names.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => "none".to_owned(),
    }
}
