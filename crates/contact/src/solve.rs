//! Solvers of contact problems: what goes in and comes out, whichever it is. [`table`] lists them.

pub mod admm;
pub mod alart_curnier;
pub mod coloring;
pub mod condensed;
pub mod gauss_seidel;
pub mod gmres;
pub mod options;
mod polish;
pub mod refining;
pub mod robust;
pub mod table;
pub mod task;
mod warm;

use crate::delassus::nodal::TooManyNodes;
use crate::problem::{NodalProblem, Solution};
use crate::system::{Factors, SystemFactorError};

pub use polish::Polish;
pub use warm::{ContactMemory, ContactState, WarmStart};

/// A solver of nodal problems, with the memory that it keeps from step to step. Nothing in that
/// memory changes an answer.
pub trait Solver: Send + Sync {
    /// Solves a problem from a warm start, up to the limits. `factors` are those of A, made if the
    /// solver asks for them. `refine` is shown motions on the way, or answers only; it changes the
    /// problem, and the solver goes on from where it was.
    ///
    /// # Errors
    /// If a matrix cannot be factorized, or the problem is too large for the solver.
    fn solve(
        &mut self,
        problem: &mut NodalProblem,
        factors: &mut Factors,
        warm: &WarmStart,
        limits: Limits,
        refine: &mut dyn Refine,
    ) -> Result<(Solution, Outcome), SolveError>;

    /// Whether it makes use of [`NodalProblem::mobilities`].
    fn uses_mobilities(&self) -> bool {
        false
    }
}

/// When a solver ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// What may be left of both errors (m for nodal problems); see
    /// [`crate::problem::stopping_tolerance`].
    pub tolerance: f64,
    /// It ends after so many iterations, converged or not.
    pub iterations: usize,
}

/// How a solver ended, and what it took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Iterations, of whatever kind the solver makes.
    pub iterations: usize,
    /// Products with A, or with the Delassus operator.
    pub products: usize,
    /// Solves with the factors of A, or of A with weights.
    pub solves: usize,
    /// Factorizations, of A or of another matrix as large.
    pub factorizations: usize,
    /// How often a contact opened, closed, began to slip or to stick, of solvers that keep such
    /// states.
    pub state_changes: usize,
    /// How often the problem was refined.
    pub linearisations: usize,
    /// Whether both errors are within the tolerance.
    pub is_converged: bool,
}

impl Outcome {
    /// Adds the work of another solve; whether that converged is what counts.
    pub fn add(&mut self, other: &Outcome) {
        self.iterations += other.iterations;
        self.products += other.products;
        self.solves += other.solves;
        self.factorizations += other.factorizations;
        self.state_changes += other.state_changes;
        self.linearisations += other.linearisations;
        self.is_converged = other.is_converged;
    }
}

/// Why a solver could not begin, or go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SolveError {
    /// A matrix cannot be factorized.
    #[error(transparent)]
    Factor(#[from] SystemFactorError),
    /// A Delassus operator would be too large.
    #[error(transparent)]
    TooManyNodes(#[from] TooManyNodes),
}

/// Changes a problem while it is solved: normals, weights, k, contacts (never removing one that carries a force), matrices.
pub trait Refine {
    /// Whether to be called this time: what the solver has come to is put together only then. Asked once each time.
    fn is_due(&mut self, _is_answer: bool) -> bool {
        true
    }

    /// Looks at velocities that the solver has come to, changes the problem, and says what changed. Called every few iterations,
    /// and for every answer before it counts: then `is_answer`.
    fn refine(
        &mut self,
        problem: &mut NodalProblem,
        velocities: &[f64],
        is_answer: bool,
    ) -> Refined;
}

/// What [`Refine::refine`] changed; contacts by id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refined {
    /// Contacts that are new.
    pub added: Vec<u64>,
    /// Contacts with another normal, stencil, k or law.
    pub changed: Vec<u64>,
    /// Contacts that are gone.
    pub removed: Vec<u64>,
    /// Contacts that go on under another id, from and to: a point that slid onto the next triangle
    /// keeps its force and state.
    pub renamed: Vec<(u64, u64)>,
    /// The bodies whose matrix or force changed.
    pub bodies: Vec<usize>,
}

impl Refined {
    /// Whether no contact came, went or changed.
    pub fn has_same_contacts(&self) -> bool {
        let ids = [&self.added, &self.changed, &self.removed];
        ids.iter().all(|ids| ids.is_empty()) && self.renamed.is_empty()
    }

    /// Whether nothing changed.
    pub fn is_nothing(&self) -> bool {
        self.has_same_contacts() && self.bodies.is_empty()
    }
}

/// Leaves a problem as it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unrefined;

impl Refine for Unrefined {
    fn refine(&mut self, _: &mut NodalProblem, _: &[f64], _: bool) -> Refined {
        Refined::default()
    }
}

/// The motion of a problem for as long as it has no contacts; nothing once refinement has found
/// some. Without contacts there is nothing to iterate on, and refinements count for the limit.
pub(crate) fn solve_free(
    problem: &mut NodalProblem,
    factors: &mut Factors,
    limits: Limits,
    refine: &mut dyn Refine,
) -> Result<(Option<Solution>, Outcome), SolveError> {
    let mut outcome = Outcome::default();
    while problem.contacts.is_empty() {
        let velocities = problem.velocities(factors.of(&problem.system)?, &[]);
        outcome.solves += 1;
        let refined = look_at_answer(refine, problem, &velocities);
        factors.invalidate_bodies(refined.bodies.iter().copied());
        outcome.is_converged = refined.is_nothing();
        outcome.linearisations += usize::from(!outcome.is_converged);
        let is_over = outcome.is_converged || outcome.linearisations >= limits.iterations;
        if is_over && problem.contacts.is_empty() {
            return Ok((Some(Solution::new(velocities, Vec::new())), outcome));
        }
    }
    Ok((None, outcome))
}

/// Shows an answer to a refinement, if that is due; what it changed.
pub(crate) fn look_at_answer(
    refine: &mut dyn Refine,
    problem: &mut NodalProblem,
    velocities: &[f64],
) -> Refined {
    match refine.is_due(true) {
        true => refine.refine(problem, velocities, true),
        false => Refined::default(),
    }
}

#[cfg(test)]
mod tests;
