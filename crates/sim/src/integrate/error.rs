//! Errors of a step.

use reefknot_contact::factor_error::FactorError;
use reefknot_contact::solve::SolveError;
use reefknot_contact::system::SystemFactorError;

use crate::model::{Body, Elements, Model};

/// The reason why a step failed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum StepError {
    /// A position or velocity is not finite.
    #[error("vertex {vertex} of `{object}` has a {what} that is not finite")]
    NotFinite {
        /// The object.
        object: String,
        /// The vertex.
        vertex: usize,
        /// "position" or "velocity".
        what: &'static str,
    },
    /// An energy or error of the step is not finite.
    #[error("vertex {vertex} of `{object}` moves at {speed:.1e} m/s: its energy is not finite")]
    Overflow {
        /// The object.
        object: String,
        /// The fastest vertex.
        vertex: usize,
        /// Its largest component of velocity (m/s).
        speed: f64,
    },
    /// A triangle has collapsed.
    #[error("triangle {element} of `{object}` has collapsed to {ratio:.1e} of its rest area")]
    Collapsed {
        /// The object.
        object: String,
        /// The triangle.
        element: usize,
        /// Area over rest area.
        ratio: f64,
    },
    /// The time step is above the stability limit of an explicit integrator.
    #[error(
        "a step of {h:.2e} s is too long for symplectic-euler: `{object}` needs less than \
         {longest:.2e} s; set a shorter `h`, or another integrator"
    )]
    TooLong {
        /// The object with the fastest oscillation.
        object: String,
        /// The time step (s).
        h: f64,
        /// The stability limit (s).
        longest: f64,
    },
    /// Newton's method did not converge.
    #[error(
        "Newton's method has not converged: its last iteration moved a vertex by {error:.1e} m; \
         set more `iterations`, a larger `tolerance` or a shorter `h`"
    )]
    NotConverged {
        /// Largest displacement by the last iteration (m).
        error: f64,
    },
    /// The contact solver did not converge.
    #[error(
        "the contact solver has not converged after {iterations} iterations; set another `solver`, \
         a larger `tolerance` or a shorter `h`"
    )]
    ContactNotConverged {
        /// Iterations of all solves of the step.
        iterations: u64,
    },
    /// The contact problem could not be solved.
    #[error("the contacts of the step cannot be solved: {reason}")]
    Contact {
        /// The reason.
        reason: String,
    },
    /// A vertex moves too far in a step for continuous collision detection.
    #[error(
        "vertex {vertex} of `{object}` moves by {way:.1e} m in a step, too far for continuous \
         collision detection; set a shorter `h`"
    )]
    TooFast {
        /// The object.
        object: String,
        /// The vertex.
        vertex: usize,
        /// Its displacement (m).
        way: f64,
    },
    /// A vertex is squeezed between prescribed motions.
    #[error(
        "`{object}` (vertex {vertex}) has no room beside `{other}` near \
         ({:.4}, {:.4}, {:.4}) m at {time:.6} s: prescribed motion leaves none; slow the motion \
         down, set a smaller `thickness` for the pair, or a `compliance` for its contacts",
        place[0], place[1], place[2]
    )]
    NoRoom {
        /// One object.
        object: String,
        /// A vertex of it.
        vertex: usize,
        /// The object that it would penetrate.
        other: String,
        /// The position (m).
        place: [f64; 3],
        /// The time (s).
        time: f64,
    },
    /// The linear system could not be solved.
    #[error("the linear system of `{object}` cannot be solved: {reason}")]
    Linear {
        /// The object.
        object: String,
        /// The reason, with the vertex.
        reason: String,
    },
}

impl StepError {
    /// The error of a failed factorization of the system.
    pub(crate) fn factor(model: &Model, error: SystemFactorError) -> StepError {
        StepError::linear(model, &model.bodies[error.body], error.source)
    }

    /// The error of a failed contact solve.
    pub(crate) fn solve(model: &Model, error: SolveError) -> StepError {
        match error {
            SolveError::Factor(error) => StepError::factor(model, error),
            SolveError::TooManyNodes(error) => StepError::Contact {
                reason: error.to_string(),
            },
        }
    }

    /// The error of a failed factorization of a body, with object and vertex instead of body and
    /// row.
    fn linear(model: &Model, body: &Body, error: FactorError) -> StepError {
        let object = &model.objects[body.object];
        let first = body.nodes.start - object.nodes().start;
        let reason = match error {
            FactorError::NotPositiveDefinite { node } => {
                format!("it is not positive definite at vertex {}", first + node)
            }
            FactorError::NotPositiveDefiniteRod { rod, unknown } => {
                let vertices = match &body.elements {
                    Elements::Rods(rods) => rods.batch.shape().vertices,
                    Elements::Blocks(_) => 0,
                };
                let vertex = first + rod * vertices + unknown / 4;
                format!("it is not positive definite and finite at vertex {vertex}")
            }
            FactorError::NotFinite { row, column } if row == column => {
                format!(
                    "it has an entry that is not finite at vertex {}",
                    first + row
                )
            }
            FactorError::NotFinite { row, column } => {
                let (row, column) = (first + row, first + column);
                format!("it has an entry that is not finite between vertices {column} and {row}")
            }
            FactorError::OutOfMemory => "there is not enough memory".to_owned(),
        };
        StepError::Linear {
            object: object.name.clone(),
            reason,
        }
    }
}
