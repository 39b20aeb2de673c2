//! Problems from files, solved by any solver and graded: the work behind `reefknot solve`.
//!
//! Solvers of general problems take the problem in the impulses alone, so that problems with velocities are condensed for
//! them. Captured problems also have solvers of their own. Whoever made an answer, the problem grades it.

use glam::DVec3;

use super::options::Options;
use super::table::{SOLVERS, SolverEntry, names};
use super::{Limits, Outcome, SolveError, Unrefined};
use crate::delassus::DelassusProblem;
use crate::file::ProblemFile;
use crate::file::fclib::FclibProblem;
use crate::file::problem::CapturedProblem;
use crate::file::solution::{Answer, Claim};
use crate::global::{GlobalError, GlobalProblem, MassFactor};
use crate::problem::Errors;
use crate::system::{Factors, SystemFactorError};

/// Why a solver is not at hand.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SolverError {
    /// There is no such solver.
    #[error("there is no solver `{name}`; there are {}", names(SOLVERS.iter()))]
    Unknown {
        /// What was asked for.
        name: String,
    },
    /// The solver needs more than an FCLIB file has.
    #[error(
        "the solver `{name}` works on nodes and their masses, which FCLIB problems do not have; take {}",
        names(SOLVERS.iter().filter(|entry| entry.delassus.is_some()))
    )]
    NeedsNodes {
        /// The solver.
        name: &'static str,
    },
}

/// The solver of a name.
///
/// # Errors
/// If there is none.
pub fn solver_named(name: &str) -> Result<&'static SolverEntry, SolverError> {
    SolverEntry::named(name).ok_or_else(|| SolverError::Unknown { name: name.into() })
}

/// Whether a solver takes a problem.
///
/// # Errors
/// If it does not.
pub fn accepts(solver: &SolverEntry, problem: &ProblemFile) -> Result<(), SolverError> {
    match problem {
        ProblemFile::Fclib(_) if solver.delassus.is_none() => {
            Err(SolverError::NeedsNodes { name: solver.name })
        }
        _ => Ok(()),
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
        /// The factors of A, once somebody asked for them.
        factors: Factors,
    },
}

impl Task {
    /// Condenses what has to be.
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
                let factors = Factors::default();
                Self::Captured { captured, factors }
            }
        })
    }

    /// Solves the problem, up to a tolerance on both of its errors.
    ///
    /// # Errors
    /// If the solver does not take such problems, or cannot begin.
    pub fn solve(
        &mut self,
        solver: &'static SolverEntry,
        tolerance: f64,
    ) -> Result<(Answer, Outcome), TaskError> {
        let limits = solver.limits(tolerance);
        let (claim, outcome) = match self {
            Self::Local(problem) => {
                let mut impulses = vec![DVec3::ZERO; problem.contacts()];
                let outcome = solve_delassus(solver, problem, limits, &mut impulses)?;
                (Claim::of(impulses), outcome)
            }
            Self::Global { condensed, .. } => {
                let mut impulses = vec![DVec3::ZERO; condensed.contacts()];
                // The error of the motion comes on top, though it is only rounding.
                let half = solver.limits(0.5 * tolerance);
                let mut outcome = solve_delassus(solver, condensed, half, &mut impulses)?;
                if !outcome.is_converged {
                    let again = solve_delassus(solver, condensed, limits, &mut impulses)?;
                    outcome.add(&again);
                }
                (Claim::of(impulses), outcome)
            }
            Self::Captured { captured, factors } => {
                let CapturedProblem { problem, warm, .. } = captured;
                let (solution, outcome) =
                    solver
                        .default()
                        .solve(problem, factors, warm, limits, &mut Unrefined)?;
                let claim = Claim {
                    impulses: solution.impulses,
                    velocities: Some(solution.velocities),
                };
                (claim, outcome)
            }
        };
        Ok((self.complete(claim)?, outcome))
    }

    /// The whole answer to which impulses, and velocities if they are known, belong.
    ///
    /// # Errors
    /// If velocities must be computed, and the matrix has no factor.
    pub fn complete(&mut self, claim: Claim) -> Result<Answer, TaskError> {
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
            Self::Captured { captured, factors } => {
                let problem = &captured.problem;
                let velocities = match claim.velocities {
                    Some(velocities) => velocities,
                    None => problem.velocities(factors.of(&problem.system)?, &impulses),
                };
                let relative = captured.problem.relative_velocities(&velocities);
                (Some(velocities), relative)
            }
        };
        Ok(Answer {
            impulses,
            relative_velocities,
            velocities,
        })
    }

    /// How good an answer is, computed from the problem.
    ///
    /// # Errors
    /// If the matrix of a captured problem has no factor.
    pub fn grade(&mut self, answer: &Answer) -> Result<Grade, TaskError> {
        let (r, v) = (
            &answer.impulses,
            answer.velocities.as_deref().unwrap_or(&[]),
        );
        Ok(match self {
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
            Self::Captured { captured, factors } => {
                let problem = &captured.problem;
                Grade::Metres(problem.errors(factors.of(&problem.system)?, v, r))
            }
        })
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
    solver: &SolverEntry,
    problem: &DelassusProblem,
    limits: Limits,
    impulses: &mut Vec<DVec3>,
) -> Result<Outcome, SolverError> {
    let solve = (solver.delassus).ok_or(SolverError::NeedsNodes { name: solver.name })?;
    let options = Options::defaults(solver.options);
    Ok(solve(problem, &options, limits, impulses))
}

#[cfg(test)]
mod tests;
