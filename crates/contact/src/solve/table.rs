//! The solvers that there are: one table for the step, `reefknot solve`, scene files, their schema
//! and the command line.

use glam::DVec3;

use super::options::{OptionSpec, Options};
use super::{Limits, Outcome, Solver, admm, gauss_seidel, robust};
use crate::delassus::DelassusProblem;

/// All solvers, the most robust first. To add one: its file in `solve/`, and its row here.
pub static SOLVERS: [SolverEntry; 3] = [robust::ENTRY, gauss_seidel::ENTRY, admm::ENTRY];

/// A solver before it is built.
#[derive(Clone, Copy, Debug)]
pub struct SolverEntry {
    /// What users call it.
    pub name: &'static str,
    /// A line of help.
    pub help: &'static str,
    /// How it solves problems in the impulses alone, if it takes such problems; all take nodal
    /// ones.
    pub delassus: Option<SolveDelassus>,
    /// Its options.
    pub options: &'static [OptionSpec],
    /// How it is built.
    pub build: fn(&Options) -> Box<dyn Solver>,
    /// Iterations of a solve, at most: by itself, and in a step, where the gate goes on from what
    /// it has come to.
    pub iterations: Iterations,
}

/// Solves a problem in the impulses from those given.
pub type SolveDelassus = fn(&DelassusProblem, &Options, Limits, &mut Vec<DVec3>) -> Outcome;

/// Iterations of a solve, at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Iterations {
    /// Of a problem by itself.
    pub alone: usize,
    /// In a step.
    pub in_step: usize,
}

impl SolverEntry {
    /// The solver of a name.
    pub fn named(name: &str) -> Option<&'static SolverEntry> {
        SOLVERS.iter().find(|entry| entry.name == name)
    }

    /// The solver with default options.
    pub fn default(&self) -> Box<dyn Solver> {
        (self.build)(&Options::defaults(self.options))
    }

    /// The limits of a problem by itself.
    pub fn limits(&self, tolerance: f64) -> Limits {
        Limits {
            tolerance,
            iterations: self.iterations.alone,
        }
    }
}

/// The names of some solvers in a sentence: "robust, gauss-seidel and admm".
pub fn names(entries: impl Iterator<Item = &'static SolverEntry>) -> String {
    let names: Vec<&str> = entries.map(|entry| entry.name).collect();
    match names.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => "none".to_owned(),
    }
}
