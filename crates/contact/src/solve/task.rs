//! Problems from files, solved by any solver and graded: the work behind `reefknot solve`.
//!
//! Solvers of general problems take the problem in the impulses alone, so that problems with velocities are condensed for
//! them. Captured problems also have solvers of their own. Whoever made an answer, the problem grades it.

use glam::DVec3;

use super::admm::{self, Admm};
use super::{Outcome, SolveError, Unrefined, condensed, gauss_seidel, robust};
use crate::delassus::DelassusProblem;
use crate::file::ProblemFile;
use crate::file::fclib::FclibProblem;
use crate::file::problem::CapturedProblem;
use crate::file::solution::{Answer, Claim};
use crate::global::{GlobalError, GlobalProblem, MassFactor};
use crate::problem::{Errors, Solution};
use crate::system::{SystemFactor, SystemFactorError};

/// A solver that `reefknot solve` offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Solver {
    /// Takes every problem, and is the most likely to solve it.
    Robust,
    /// Takes every problem.
    GaussSeidel,
    /// Takes captured problems.
    Admm,
}

/// Why a solver is not at hand.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SolverError {
    /// Nobody plans such a solver.
    #[error("there is no solver `{0}`; there are robust, gauss-seidel and admm")]
    Unknown(String),
    /// The solver is planned.
    #[error("the solver `{0}` is not built yet; there are robust, gauss-seidel and admm")]
    NotBuilt(String),
    /// The solver needs more than an FCLIB file has.
    #[error(
        "the solver `admm` works on nodes and their masses, which FCLIB problems do not have; take robust or gauss-seidel"
    )]
    NeedsNodes,
}

impl Solver {
    /// All of them.
    pub const ALL: [Solver; 3] = [Self::Robust, Self::GaussSeidel, Self::Admm];

    /// What users call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Robust => "robust",
            Self::GaussSeidel => "gauss-seidel",
            Self::Admm => "admm",
        }
    }

    /// The solver of a name.
    ///
    /// # Errors
    /// If there is none, or not yet.
    pub fn named(name: &str) -> Result<Self, SolverError> {
        const PLANNED: [&str; 6] = ["cr", "cr-diag", "ica", "nl-ica", "staggered", "mprgp"];
        match Self::ALL.into_iter().find(|solver| solver.name() == name) {
            Some(solver) => Ok(solver),
            None if PLANNED.contains(&name) => Err(SolverError::NotBuilt(name.into())),
            None => Err(SolverError::Unknown(name.into())),
        }
    }

    /// Whether it can solve a problem.
    ///
    /// # Errors
    /// If it cannot.
    pub fn accepts(self, problem: &ProblemFile) -> Result<(), SolverError> {
        match (self, problem) {
            (Self::Admm, ProblemFile::Fclib(_)) => Err(SolverError::NeedsNodes),
            _ => Ok(()),
        }
    }
}

/// Why a problem cannot be worked on.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TaskError {
    /// The matrix of a captured problem has no factor.
    #[error("the matrix of the problem cannot be factorized: {0}")]
    Factor(#[from] SystemFactorError),
    /// The problem cannot be condensed to the impulses.
    #[error("the problem cannot be condensed: {0}")]
    Condense(#[from] GlobalError),
    /// The solver does not fit.
    #[error(transparent)]
    Solver(#[from] SolverError),
    /// The solver cannot begin.
    #[error(transparent)]
    Solve(#[from] SolveError),
}

/// How good an answer is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Grade {
    /// Of an FCLIB problem, without units.
    Relative {
        /// [`DelassusProblem::natural_map_error`] or [`GlobalProblem::natural_map_error`].
        natural_map_error: f64,
        /// [`DelassusProblem::scaled_error`].
        scaled_error: f64,
    },
    /// Of a captured problem, in metres.
    Metres(Errors),
}

impl Grade {
    /// Whether both errors are within a tolerance.
    pub fn is_within(&self, tolerance: f64) -> bool {
        let errors = match self {
            Self::Relative {
                natural_map_error,
                scaled_error,
            } => [*natural_map_error, *scaled_error],
            Self::Metres(errors) => [errors.contact, errors.momentum],
        };
        errors.iter().all(|error| *error <= tolerance)
    }
}

/// A problem, and what is computed once for it.
#[derive(Debug)]
pub enum Task {
    /// In the impulses alone.
    Local(DelassusProblem),
    /// With general matrices.
    Global {
        /// The problem.
        problem: GlobalProblem,
        /// The factors of M.
        factor: MassFactor,
        /// The problem in the impulses.
        condensed: DelassusProblem,
    },
    /// Captured from a step.
    Captured {
        /// The problem.
        captured: CapturedProblem,
        /// The factors of A.
        factor: SystemFactor,
    },
}

impl Task {
    /// Factorizes or condenses what has to be.
    ///
    /// # Errors
    /// If a matrix has no factor, or the problem is too large.
    pub fn new(problem: ProblemFile) -> Result<Self, TaskError> {
        Ok(match problem {
            ProblemFile::Fclib(FclibProblem::Local(problem)) => Self::Local(problem),
            ProblemFile::Fclib(FclibProblem::Global(problem)) => {
                let factor = problem.factorize()?;
                let condensed = problem.condense(&factor)?;
                Self::Global {
                    problem,
                    factor,
                    condensed,
                }
            }
            ProblemFile::Captured(captured) => {
                let system = &captured.problem.system;
                let mut factor = SystemFactor::of(system)?;
                factor.factorize(system)?;
                Self::Captured { captured, factor }
            }
        })
    }

    /// Solves the problem, up to a tolerance on both of its errors.
    ///
    /// # Errors
    /// If the solver does not take such problems, or cannot begin.
    pub fn solve(
        &mut self,
        solver: Solver,
        tolerance: f64,
    ) -> Result<(Answer, Outcome), TaskError> {
        let (claim, outcome) = match self {
            Self::Local(problem) => {
                let mut impulses = vec![DVec3::ZERO; problem.contacts()];
                let outcome = solve_delassus(solver, problem, tolerance, &mut impulses)?;
                (Claim::of(impulses), outcome)
            }
            Self::Global { condensed, .. } => {
                let mut impulses = vec![DVec3::ZERO; condensed.contacts()];
                // The error of the motion comes on top, though it is only rounding.
                let mut outcome =
                    solve_delassus(solver, condensed, 0.5 * tolerance, &mut impulses)?;
                if !outcome.is_converged {
                    let again = solve_delassus(solver, condensed, tolerance, &mut impulses)?;
                    outcome.is_converged = again.is_converged;
                }
                (Claim::of(impulses), outcome)
            }
            Self::Captured { captured, factor } => {
                let (solution, outcome) = solve_captured(solver, captured, factor, tolerance)?;
                let claim = Claim {
                    impulses: solution.impulses,
                    velocities: Some(solution.velocities),
                };
                (claim, outcome)
            }
        };
        Ok((self.complete(claim), outcome))
    }

    /// The whole answer to which impulses, and velocities if they are known, belong.
    pub fn complete(&self, claim: Claim) -> Answer {
        let impulses = claim.impulses;
        let (velocities, relative_velocities) = match self {
            Self::Local(problem) => (None, problem.velocities(&impulses)),
            Self::Global {
                problem, factor, ..
            } => {
                let own = || problem.velocities(factor, &impulses);
                let velocities = claim.velocities.unwrap_or_else(own);
                let relative = problem.relative_velocities(&velocities);
                (Some(velocities), relative)
            }
            Self::Captured { captured, factor } => {
                let own = || captured.problem.velocities(factor, &impulses);
                let velocities = claim.velocities.unwrap_or_else(own);
                let relative = captured.problem.relative_velocities(&velocities);
                (Some(velocities), relative)
            }
        };
        Answer {
            impulses,
            relative_velocities,
            velocities,
        }
    }

    /// How good an answer is, computed from the problem.
    pub fn grade(&self, answer: &Answer) -> Grade {
        let (r, v) = (
            &answer.impulses,
            answer.velocities.as_deref().unwrap_or(&[]),
        );
        match self {
            Self::Local(problem) => Grade::Relative {
                natural_map_error: problem.natural_map_error(r),
                scaled_error: problem.scaled_error(r),
            },
            Self::Global {
                problem, condensed, ..
            } => Grade::Relative {
                natural_map_error: problem.natural_map_error(condensed, v, r),
                scaled_error: condensed.scaled_error(r),
            },
            Self::Captured { captured, factor } => {
                Grade::Metres(captured.problem.errors(factor, v, r))
            }
        }
    }

    /// Number of contacts.
    pub fn contacts(&self) -> usize {
        match self {
            Self::Local(problem) => problem.contacts(),
            Self::Global { problem, .. } => problem.friction.len(),
            Self::Captured { captured, .. } => captured.problem.contacts.len(),
        }
    }

    /// Number of entries of v; 0 if the problem has none.
    pub fn unknowns(&self) -> usize {
        match self {
            Self::Local(_) => 0,
            Self::Global { problem, .. } => problem.force.len(),
            Self::Captured { captured, .. } => captured.problem.system.dofs(),
        }
    }
}

/// Solves a problem in the impulses, from the impulses given.
fn solve_delassus(
    solver: Solver,
    problem: &DelassusProblem,
    tolerance: f64,
    impulses: &mut Vec<DVec3>,
) -> Result<Outcome, SolverError> {
    match solver {
        Solver::Robust => Ok(robust::solve(problem, tolerance, impulses)),
        Solver::GaussSeidel => {
            let settings = gauss_seidel::Settings::new(tolerance);
            Ok(gauss_seidel::solve(problem, settings, impulses))
        }
        Solver::Admm => Err(SolverError::NeedsNodes),
    }
}

/// Solves a captured problem from its warm start.
fn solve_captured(
    solver: Solver,
    captured: &mut CapturedProblem,
    factor: &mut SystemFactor,
    tolerance: f64,
) -> Result<(Solution, Outcome), SolveError> {
    let CapturedProblem { problem, warm, .. } = captured;
    match solver {
        Solver::Robust => {
            let impulses = warm.impulses_of(problem);
            match condensed::solve(problem, factor, &impulses, tolerance) {
                Ok(found) => Ok(found),
                // What is too large to be condensed goes to the solver that does without.
                Err(_) => solve_captured(Solver::Admm, captured, factor, tolerance),
            }
        }
        Solver::GaussSeidel => {
            let settings = gauss_seidel::Settings::new(tolerance);
            gauss_seidel::solve_nodal(problem, factor, warm, settings)
        }
        Solver::Admm => {
            let mut admm = Admm::new(admm::Settings::new(tolerance));
            admm.solve(problem, factor, warm, &mut Unrefined)
        }
    }
}

#[cfg(test)]
mod tests;
