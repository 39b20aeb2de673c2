//! The physics suite: every scene of `scenes/validation` with the values that mechanics predicts.
//!
//! This table is the only place of expected values and tolerances. `reefknot check --physics` prints
//! it for any solver and integrator, and the tests of the repository assert it.
//!
//! | module | content |
//! | --- | --- |
//! | `rods`, `shells`, `solids`, `motion`, `friction`, `contacts` | the table |
//! | `theory` | closed forms, with their sources |
//! | `measure` | one case: its scene, run in memory |
//! | `suite` | all cases, several at a time, and the rows of the result |

mod contacts;
mod friction;
mod measure;
mod motion;
mod rods;
mod shells;
mod solids;
mod suite;
#[cfg(test)]
mod tests;
pub mod theory;

use std::fmt::Display;

use crate::model::Integrator;

pub use measure::{Changes, Facts, Measured, Outcome, Unmeasured, measure};
pub use suite::{Row, Status, Tally, rows, run};

/// A scene at some values, and what theory says about its probes.
#[derive(Clone, Debug)]
pub struct Case {
    /// Name of the scene in `scenes/validation`.
    pub scene: &'static str,
    /// The theory.
    pub theory: &'static str,
    /// `KEY=VALUE` of the case.
    pub sets: Vec<String>,
    /// Changes for the second, coarser run that a rate of convergence needs.
    pub coarser: Option<String>,
    /// The expected values.
    pub checks: Vec<Check>,
    /// Whether the theory is about implicit Euler, or about symplectic Euler.
    pub about: Option<Family>,
    /// Whether the case takes too long for the quick suite.
    pub is_long: bool,
}

/// Expected value of a probe.
#[derive(Clone, Copy, Debug)]
pub struct Check {
    /// Name of the probe.
    pub probe: &'static str,
    /// Its value.
    pub expected: Expected,
}

/// An expected value with its tolerance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Expected {
    /// A value, and the largest error relative to it.
    Relative {
        /// The value.
        expected: f64,
        /// Largest relative error.
        tolerance: f64,
    },
    /// A value, and the largest difference from it.
    Absolute {
        /// The value.
        expected: f64,
        /// Largest difference.
        tolerance: f64,
    },
    /// Any larger value.
    Above {
        /// The limit.
        expected: f64,
    },
    /// A rate of convergence to `exact`: log₂ of the errors of the coarser and the finer run.
    Order {
        /// The limit of the probe.
        exact: f64,
        /// The smallest rate.
        expected: f64,
    },
}

/// Integrators with one theory of their discretisation error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Implicit Euler, by any solution method.
    ImplicitEuler,
    /// Symplectic Euler.
    SymplecticEuler,
}

impl Family {
    /// Whether an integrator belongs to the family.
    #[must_use]
    pub fn has(self, integrator: &Integrator) -> bool {
        let is_symplectic = matches!(integrator, Integrator::SymplecticEuler);
        is_symplectic == (self == Family::SymplecticEuler)
    }

    /// Name in messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Family::ImplicitEuler => "implicit Euler",
            Family::SymplecticEuler => "symplectic Euler",
        }
    }
}

impl Expected {
    /// The kind of bound in words, the expected value or limit, and the tolerance if there is one.
    #[must_use]
    pub fn parts(&self) -> (&'static str, f64, Option<f64>) {
        match *self {
            Expected::Relative {
                expected,
                tolerance,
            } => ("relative", expected, Some(tolerance)),
            Expected::Absolute {
                expected,
                tolerance,
            } => ("absolute", expected, Some(tolerance)),
            Expected::Above { expected } => ("above", expected, None),
            Expected::Order { expected, .. } => ("order above", expected, None),
        }
    }

    /// The value that is compared: the probe itself, or the rate of its convergence.
    #[must_use]
    pub fn found(&self, value: f64, coarser: f64) -> f64 {
        match self {
            Expected::Order { exact, .. } => {
                ((coarser - exact).abs() / (value - exact).abs()).log2()
            }
            _ => value,
        }
    }

    /// Whether a value agrees with theory.
    #[must_use]
    pub fn holds(&self, found: f64) -> bool {
        match *self {
            Expected::Relative {
                expected,
                tolerance,
            } => (found / expected - 1.0).abs() <= tolerance,
            Expected::Absolute {
                expected,
                tolerance,
            } => (found - expected).abs() <= tolerance,
            Expected::Above { expected } | Expected::Order { expected, .. } => found > expected,
        }
    }
}

impl Case {
    fn new(scene: &'static str, theory: &'static str) -> Case {
        Case {
            scene,
            theory,
            sets: Vec::new(),
            coarser: None,
            checks: Vec::new(),
            about: None,
            is_long: false,
        }
    }

    /// Sets a number of `[parameters]`.
    fn with(self, parameter: &str, value: f64) -> Case {
        self.set("parameters", parameter, value)
    }

    /// Sets a word of `[parameters]`.
    fn with_word(self, parameter: &str, word: &str) -> Case {
        self.set("parameters", parameter, format!("\"{word}\""))
    }

    /// Sets the duration (s).
    fn lasting(self, duration: f64) -> Case {
        self.set("time", "duration", duration)
    }

    fn set(mut self, table: &str, key: &str, value: impl Display) -> Case {
        self.sets.push(format!("{table}.{key}={value}"));
        self
    }

    /// A probe within a relative tolerance.
    fn close(self, probe: &'static str, expected: f64, tolerance: f64) -> Case {
        let expected = Expected::Relative {
            expected,
            tolerance,
        };
        self.check(probe, expected)
    }

    /// A probe within an absolute tolerance.
    fn near(self, probe: &'static str, expected: f64, tolerance: f64) -> Case {
        let expected = Expected::Absolute {
            expected,
            tolerance,
        };
        self.check(probe, expected)
    }

    /// A probe above a limit.
    fn above(self, probe: &'static str, expected: f64) -> Case {
        self.check(probe, Expected::Above { expected })
    }

    /// A probe that converges to `exact`, in comparison with half as many cells.
    fn converging(mut self, probe: &'static str, exact: f64, cells: f64) -> Case {
        self.coarser = Some(format!("parameters.cells={}", cells / 2.0));
        // Second order would be 2 in the limit of small cells.
        let expected = 1.3;
        self.check(probe, Expected::Order { exact, expected })
    }

    fn check(mut self, probe: &'static str, expected: Expected) -> Case {
        self.checks.push(Check { probe, expected });
        self
    }

    /// The theory is that of a family of integrators.
    fn about(mut self, family: Family) -> Case {
        self.about = Some(family);
        self
    }

    /// Not in the quick suite.
    fn long(mut self) -> Case {
        self.is_long = true;
        self
    }
}

/// All cases. Those that take longest come first, so that none is left over at the end.
#[must_use]
pub fn cases() -> Vec<Case> {
    let tables = [
        friction::cases(),
        contacts::cases(),
        shells::cases(),
        rods::cases(),
        solids::cases(),
        motion::cases(),
    ];
    let mut cases: Vec<Case> = tables.into_iter().flatten().collect();
    cases.sort_by_key(|case| !case.is_long);
    cases
}

/// Names of the scenes, each once.
#[must_use]
pub fn scenes() -> Vec<&'static str> {
    let mut names: Vec<&str> = cases().iter().map(|case| case.scene).collect();
    names.sort_unstable();
    names.dedup();
    names
}
