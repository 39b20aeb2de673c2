//! Solves and grades problems from files: the work of `reefknot solve`.
//!
//! FCLIB problems are solved as Delassus problems; global ones are condensed first. Captured
//! problems are solved by all solvers. Errors are computed from the problem, for answers from any
//! source.

use glam::DVec3;

use crate::delassus::DelassusProblem;
use crate::file::ProblemFile;
use crate::file::fclib::FclibProblem;
use crate::file::problem::CapturedProblem;
use crate::file::solution::{Answer, SubmittedSolution};
use crate::global::{GlobalError, GlobalProblem, MassFactor};
use crate::problem::Errors;
use crate::solve::options::Options;
use crate::solve::table::{SOLVERS, SolverEntry, names};
use crate::solve::{Limits, NoRefinement, SolveError, SolveOutcome};
use crate::system::{FactorCache, SystemFactorError};

/// Why a solver cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SolverError {
    /// There is no solver with this name.
    #[error("there is no solver `{name}`; the solvers are {}", names(SOLVERS.iter()))]
    Unknown {
        /// The requested name.
        name: String,
    },
    /// The solver needs nodes, which FCLIB problems do not have.
    #[error(
        "the solver `{name}` needs nodes and their masses, which FCLIB problems do not have; \
         choose {}",
        names(SOLVERS.iter().filter(|entry| entry.delassus.is_some()))
    )]
    NeedsNodes {
        /// The solver.
        name: &'static str,
    },
}

/// The solver with a name.
///
/// # Errors
/// If there is none.
pub fn solver_named(name: &str) -> Result<&'static SolverEntry, SolverError> {
    SolverEntry::named(name).ok_or_else(|| SolverError::Unknown { name: name.into() })
}

/// Checks that a solver supports a problem.
///
/// # Errors
/// If it does not.
pub fn check_support(solver: &SolverEntry, problem: &ProblemFile) -> Result<(), SolverError> {
    match problem {
        ProblemFile::Fclib(_) if solver.delassus.is_none() => {
            Err(SolverError::NeedsNodes { name: solver.name })
        }
        _ => Ok(()),
    }
}

/// Why a problem cannot be solved or graded.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TaskError {
    /// The matrix of a captured problem cannot be factorized.
    #[error("the matrix of the problem cannot be factorized: {0}")]
    Factor(#[from] SystemFactorError),
    /// The problem cannot be condensed.
    #[error("the problem cannot be condensed: {0}")]
    Condense(#[from] GlobalError),
    /// The solver does not support the problem.
    #[error(transparent)]
    Solver(#[from] SolverError),
    /// The solver cannot start.
    #[error(transparent)]
    Solve(#[from] SolveError),
}

/// Errors of an answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Grade {
    /// For an FCLIB problem, dimensionless.
    Relative {
        /// [`DelassusProblem::natural_map_error`] or [`GlobalProblem::natural_map_error`].
        natural_map_error: f64,
        /// [`DelassusProblem::scaled_error`].
        scaled_error: f64,
    },
    /// For a captured problem, in metres.
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

/// A problem with its factors.
#[derive(Debug)]
pub enum Task {
    /// A Delassus problem.
    Local(DelassusProblem),
    /// A problem with general matrices.
    Global {
        /// The problem.
        problem: GlobalProblem,
        /// The factor of M.
        factor: MassFactor,
        /// The Delassus problem of `problem`.
        condensed: DelassusProblem,
    },
    /// A problem captured from a step.
    Captured {
        /// The problem.
        captured: CapturedProblem,
        /// The factors of A, computed on demand.
        factors: FactorCache,
    },
}

impl Task {
    /// Prepares a problem; global FCLIB problems are factorized and condensed.
    ///
    /// # Errors
    /// If a matrix cannot be factorized, or the problem is too large to be condensed.
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
                let factors = FactorCache::default();
                Self::Captured { captured, factors }
            }
        })
    }

    /// Solves the problem to a tolerance of both of its errors.
    ///
    /// # Errors
    /// If the solver does not support the problem, or cannot start.
    pub fn solve(
        &mut self,
        solver: &'static SolverEntry,
        tolerance: f64,
    ) -> Result<(Answer, SolveOutcome), TaskError> {
        let limits = solver.limits(tolerance);
        let (submitted, outcome) = match self {
            Self::Local(problem) => {
                let mut impulses = vec![DVec3::ZERO; problem.contacts()];
                let outcome = solve_delassus(solver, problem, limits, &mut impulses)?;
                (SubmittedSolution::from_impulses(impulses), outcome)
            }
            Self::Global { condensed, .. } => {
                let mut impulses = vec![DVec3::ZERO; condensed.contacts()];
                // Rounding of the velocities adds to the error: half the tolerance leaves room.
                let half = solver.limits(0.5 * tolerance);
                let mut outcome = solve_delassus(solver, condensed, half, &mut impulses)?;
                if !outcome.is_converged {
                    let again = solve_delassus(solver, condensed, limits, &mut impulses)?;
                    outcome.add(&again);
                }
                (SubmittedSolution::from_impulses(impulses), outcome)
            }
            Self::Captured { captured, factors } => {
                let CapturedProblem { problem, warm, .. } = captured;
                let (solution, outcome) = solver.build_default().solve(
                    problem,
                    factors,
                    warm,
                    limits,
                    &mut NoRefinement,
                )?;
                let submitted = SubmittedSolution {
                    impulses: solution.impulses,
                    velocities: Some(solution.velocities),
                };
                (submitted, outcome)
            }
        };
        Ok((self.complete(submitted)?, outcome))
    }

    /// The answer with given impulses, and velocities if they are given; the others are computed.
    ///
    /// # Errors
    /// If velocities must be computed, and the matrix cannot be factorized.
    pub fn complete(&mut self, submitted: SubmittedSolution) -> Result<Answer, TaskError> {
        let impulses = submitted.impulses;
        let (velocities, relative_velocities) = match self {
            Self::Local(problem) => (None, problem.velocities(&impulses)),
            Self::Global {
                problem, factor, ..
            } => {
                let own = || problem.velocities(factor, &impulses);
                let velocities = submitted.velocities.unwrap_or_else(own);
                let relative = problem.relative_velocities(&velocities);
                (Some(velocities), relative)
            }
            Self::Captured { captured, factors } => {
                let problem = &captured.problem;
                let velocities = match submitted.velocities {
                    Some(velocities) => velocities,
                    None => problem.velocities(factors.get(&problem.system)?, &impulses),
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

    /// The errors of an answer, computed from the problem.
    ///
    /// # Errors
    /// If the matrix of a captured problem cannot be factorized.
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
                Grade::Metres(problem.errors(factors.get(&problem.system)?, v, r))
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

    /// Number of entries of v; 0 for a Delassus problem.
    pub fn unknowns(&self) -> usize {
        match self {
            Self::Local(_) => 0,
            Self::Global { problem, .. } => problem.force.len(),
            Self::Captured { captured, .. } => captured.problem.system.dofs(),
        }
    }
}

/// Solves a Delassus problem, starting from the impulses given.
fn solve_delassus(
    solver: &SolverEntry,
    problem: &DelassusProblem,
    limits: Limits,
    impulses: &mut Vec<DVec3>,
) -> Result<SolveOutcome, SolverError> {
    let solve = (solver.delassus).ok_or(SolverError::NeedsNodes { name: solver.name })?;
    let options = Options::defaults(solver.options);
    Ok(solve(problem, &options, limits, impulses))
}

#[cfg(test)]
mod tests;
