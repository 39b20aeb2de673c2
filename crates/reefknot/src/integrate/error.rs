//! Why a step could not be taken.

use reefknot_contact::cholesky::FactorError;
use reefknot_contact::solve::SolveError;
use reefknot_contact::system::SystemFactorError;

use crate::model::{Body, Elements, Model};

/// Why a step could not be taken.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum StepError {
    /// A position or velocity is no number.
    #[error("vertex {vertex} of `{object}` has no finite {what}")]
    NotFinite {
        /// The object.
        object: String,
        /// The vertex.
        vertex: usize,
        /// "position" or "velocity".
        what: &'static str,
    },
    /// Numbers have grown beyond what can be computed with.
    #[error(
        "vertex {vertex} of `{object}` moves at {speed:.1e} m/s: its energy is no finite number"
    )]
    Overflow {
        /// The object.
        object: String,
        /// The fastest vertex.
        vertex: usize,
        /// Its largest component of velocity (m/s).
        speed: f64,
    },
    /// An element has lost its area.
    #[error("triangle {element} of `{object}` has collapsed to {ratio:.1e} of its rest area")]
    Collapsed {
        /// The object.
        object: String,
        /// The element.
        element: usize,
        /// Area over rest area.
        ratio: f64,
    },
    /// A step of an explicit method is longer than its stiffest part allows.
    #[error(
        "a step of {h:.2e} s is too long for symplectic-euler: `{object}` needs less than {longest:.2e} s; give a shorter `h`, or another integrator"
    )]
    TooLong {
        /// The object with the fastest oscillation.
        object: String,
        /// The step (s).
        h: f64,
        /// The longest stable one (s).
        longest: f64,
    },
    /// Newton's method did not come close enough.
    #[error(
        "Newton's method is still {error:.1e} m away after its last iteration; give it more `iterations`, a larger `tolerance` or a shorter `h`"
    )]
    NotConverged {
        /// The last change of a position (m).
        error: f64,
    },
    /// The contact solver did not come close enough.
    #[error(
        "the contact solver is not within the tolerance after {iterations} iterations; give another `solver`, a larger `tolerance` or a shorter `h`"
    )]
    ContactNotConverged {
        /// Iterations of all solves of the step.
        iterations: u64,
    },
    /// The contact problem could not be solved.
    #[error("the contacts of the step cannot be solved: {reason}")]
    Contact {
        /// Why.
        reason: String,
    },
    /// Something goes too far in a step.
    #[error(
        "vertex {vertex} of `{object}` moves by {way:.1e} m in a step, too far to tell what it meets; give a shorter `h`"
    )]
    TooFast {
        /// The object.
        object: String,
        /// The vertex.
        vertex: usize,
        /// How far (m).
        way: f64,
    },
    /// Something cannot get out of the way.
    #[error(
        "`{object}` (vertex {vertex}) has no room beside `{other}` near ({:.4}, {:.4}, {:.4}) m at {time:.6} s: prescribed motion leaves none; slow it down, give the pair a smaller `thickness`, or let contacts give way with `compliance`", place[0], place[1], place[2]
    )]
    NoRoom {
        /// An object.
        object: String,
        /// One of its vertices.
        vertex: usize,
        /// What it would go through.
        other: String,
        /// Where (m).
        place: [f64; 3],
        /// When (s).
        time: f64,
    },
    /// The linear system could not be solved.
    #[error("the linear system of `{object}` cannot be solved: {reason}")]
    Linear {
        /// The object.
        object: String,
        /// Why, and at which vertex.
        reason: String,
    },
}

impl StepError {
    /// A failed factorization of a system in the words of users.
    pub(crate) fn factor(model: &Model, error: SystemFactorError) -> StepError {
        StepError::linear(model, &model.bodies[error.body], error.source)
    }

    /// A failed solve in the words of users.
    pub(crate) fn solve(model: &Model, error: SolveError) -> StepError {
        match error {
            SolveError::Factor(error) => StepError::factor(model, error),
            SolveError::TooManyNodes(error) => StepError::Contact {
                reason: error.to_string(),
            },
        }
    }

    /// A failed factorization of a body in the words of users, who know objects and their vertices.
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
                    "it has an entry that is no finite number at vertex {}",
                    first + row
                )
            }
            FactorError::NotFinite { row, column } => {
                let (row, column) = (first + row, first + column);
                format!(
                    "it has an entry that is no finite number between vertices {column} and {row}"
                )
            }
            FactorError::OutOfMemory => "there is not enough memory".to_owned(),
        };
        StepError::Linear {
            object: object.name.clone(),
            reason,
        }
    }
}
