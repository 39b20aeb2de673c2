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
    /// The step gains energy beyond the work done on the scene.
    #[error(
        "the step gains {gain:.1e} J from nothing, beside {energy:.1e} J of energy; set a shorter \
         `h`, more `halvings`, or `energy = \"report\"` to accept and record such steps"
    )]
    EnergyGain {
        /// The gain (J).
        gain: f64,
        /// Kinetic and elastic energy, or the energy that changed its form (J).
        energy: f64,
    },
    /// An error of the step is too large beside the scene.
    #[error(
        "the step has an error of {error:.1e} m, above the limit of {limit:.1e} m that follows from \
         the size of the scene; set a shorter `h` or more `halvings`"
    )]
    Inaccurate {
        /// The largest error (m).
        error: f64,
        /// 1/1000 of the diagonal of the scene for an error that the method claims to be small, the
        /// diagonal for others (m).
        limit: f64,
    },
    /// The contacts contradict each other.
    #[error(
        "contacts of `{object}` with `{other}` leave an error of {error:.1e} m, above the limit of \
         {limit:.1e} m that follows from the size of the scene: there may be no room between what \
         presses on them; slow the motion down, set a smaller `thickness` for the pair, a \
         `compliance` for its contacts, or a shorter `h`"
    )]
    Contradiction {
        /// The first object of the deepest contact.
        object: String,
        /// Its other object.
        other: String,
        /// The largest error (m).
        error: f64,
        /// The limit (m).
        limit: f64,
    },
    /// The gate acts although Newton's method has not converged.
    #[error(
        "Newton's method has not converged, and its motion collides; set more `iterations` or a \
         shorter `h`"
    )]
    GuardedEarly,
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
    /// Prescribed motion bends too much to be followed by chords.
    #[error(
        "the prescribed motion of `{object}` turns too fast at {time:.6} s: chords of {h:.1e} s do \
         not follow it; slow it down, set a shorter `h`, or a larger `thickness` for what it touches"
    )]
    PathTooCurved {
        /// The object.
        object: String,
        /// The time (s).
        time: f64,
        /// The duration of a chord (s).
        h: f64,
    },
    /// A vertex is squeezed between prescribed motions.
    #[error(
        "`{object}` (vertex {vertex}) has no room beside `{other}` near \
         ({:.4}, {:.4}, {:.4}) m at {time:.6} s: held vertices, prescribed motion or other \
         contacts press one against the other; slow the motion down, set a smaller `thickness` for \
         the pair, or a `compliance` for its contacts",
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
    /// Whether a step that fails with this error may pass with more Newton iterations.
    pub(crate) fn is_mended_by_convergence(&self) -> bool {
        matches!(
            self,
            StepError::EnergyGain { .. }
                | StepError::Inaccurate { .. }
                | StepError::Contradiction { .. }
                | StepError::GuardedEarly
                | StepError::NotFinite { .. }
                | StepError::TooFast { .. }
                | StepError::Collapsed { .. }
        )
    }

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
