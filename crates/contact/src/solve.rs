//! Solvers of contact problems: their common interface. [`table`] lists them.

pub mod admm;
pub mod alart_curnier;
pub mod coloring;
pub mod condensed;
pub mod gauss_seidel;
pub mod gmres;
pub mod options;
mod polish;
pub mod refinement;
pub mod robust;
pub mod table;

use crate::delassus::nodal::TooManyNodes;
use crate::problem::{NodalProblem, Solution, WarmStart};
use crate::system::{FactorCache, SystemFactorError};

pub use polish::Polish;

/// A solver of nodal problems, with buffers that it keeps from step to step. Their content does not
/// change results.
pub trait Solver: Send + Sync {
    /// Solves a problem from a warm start, up to the limits. `factors` are those of A, computed on
    /// demand. `refine` gets velocities during the solve, or solutions only; it may change the
    /// problem, and the solver continues from its state. The impulses of the solution are in their
    /// friction cones ([`NodalProblem::make_admissible`]).
    ///
    /// # Errors
    /// If a matrix cannot be factorized, or the problem is too large for the solver.
    fn solve(
        &mut self,
        problem: &mut NodalProblem,
        factors: &mut FactorCache,
        warm: &WarmStart,
        limits: Limits,
        refine: &mut dyn Refine,
    ) -> Result<(Solution, SolveOutcome), SolveError>;

    /// Whether the solver uses [`NodalProblem::mobilities`].
    fn uses_mobilities(&self) -> bool {
        false
    }
}

/// Stopping rule of a solver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Tolerance of both errors (m for nodal problems); see
    /// [`crate::problem::stopping_tolerance`].
    pub tolerance: f64,
    /// Iterations, at most.
    pub iterations: usize,
}

/// Result of a solve, and its work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SolveOutcome {
    /// Iterations, as the solver defines them.
    pub iterations: usize,
    /// Products with A, or with the Delassus operator.
    pub products: usize,
    /// Solves with the factors of A, or of A with weights.
    pub solves: usize,
    /// Factorizations of A, or of another matrix of its size.
    pub factorizations: usize,
    /// Number of times a contact opened, closed, began to slip or to stick; 0 for solvers without
    /// contact states.
    pub state_changes: usize,
    /// Number of refinements that changed the problem.
    pub linearisations: usize,
    /// Whether both errors are within the tolerance.
    pub is_converged: bool,
}

impl SolveOutcome {
    /// Adds the work of a later solve, and takes over whether it converged.
    pub fn add(&mut self, other: &SolveOutcome) {
        self.iterations += other.iterations;
        self.products += other.products;
        self.solves += other.solves;
        self.factorizations += other.factorizations;
        self.state_changes += other.state_changes;
        self.linearisations += other.linearisations;
        self.is_converged = other.is_converged;
    }
}

/// Why a solver cannot start or continue.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SolveError {
    /// A matrix cannot be factorized.
    #[error(transparent)]
    Factor(#[from] SystemFactorError),
    /// A Delassus operator would be too large.
    #[error(transparent)]
    TooManyNodes(#[from] TooManyNodes),
}

/// Changes a problem during its solve: normals, weights, k, contacts, matrices. A contact with an
/// impulse is never removed.
pub trait Refine {
    /// Whether to call [`Refine::refine`] this time; the solver assembles its velocities only then.
    /// Must be called once per opportunity, since implementations count the calls.
    fn poll(&mut self, _is_answer: bool) -> bool {
        true
    }

    /// Changes the problem at the velocities of the solver, and returns the changes. Called every
    /// few iterations, and with `is_solution` for every solution before the solver returns it.
    fn refine(
        &mut self,
        problem: &mut NodalProblem,
        velocities: &[f64],
        is_solution: bool,
    ) -> Refinement;
}

/// Changes of a problem by [`Refine::refine`]; contacts by id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refinement {
    /// New contacts.
    pub added: Vec<u64>,
    /// Contacts whose normal, stencil, k or law changed.
    pub changed: Vec<u64>,
    /// Removed contacts.
    pub removed: Vec<u64>,
    /// Contacts with a new id, as (old, new): a point that slid onto the next triangle keeps its
    /// impulse and state.
    pub renamed: Vec<(u64, u64)>,
    /// Bodies whose matrix or force changed.
    pub bodies: Vec<usize>,
}

impl Refinement {
    /// Whether all contacts are the same.
    pub fn has_same_contacts(&self) -> bool {
        let ids = [&self.added, &self.changed, &self.removed];
        ids.iter().all(|ids| ids.is_empty()) && self.renamed.is_empty()
    }

    /// Whether the problem is the same.
    pub fn is_empty(&self) -> bool {
        self.has_same_contacts() && self.bodies.is_empty()
    }
}

/// A [`Refine`] without changes.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoRefinement;

impl Refine for NoRefinement {
    fn refine(&mut self, _: &mut NodalProblem, _: &[f64], _: bool) -> Refinement {
        Refinement::default()
    }
}

/// Solves a problem without contacts, with refinements. Returns no solution if a refinement adds
/// contacts. Refinements count as iterations.
pub(crate) fn solve_free(
    problem: &mut NodalProblem,
    factors: &mut FactorCache,
    limits: Limits,
    refine: &mut dyn Refine,
) -> Result<(Option<Solution>, SolveOutcome), SolveError> {
    let mut outcome = SolveOutcome::default();
    while problem.contacts.is_empty() {
        let velocities = problem.velocities(factors.get(&problem.system)?, &[]);
        outcome.solves += 1;
        let refined = refine_solution(refine, problem, &velocities);
        factors.invalidate_bodies(refined.bodies.iter().copied());
        outcome.is_converged = refined.is_empty();
        outcome.linearisations += usize::from(!outcome.is_converged);
        let is_over = outcome.is_converged || outcome.linearisations >= limits.iterations;
        if is_over && problem.contacts.is_empty() {
            return Ok((Some(Solution::new(velocities, Vec::new())), outcome));
        }
    }
    Ok((None, outcome))
}

/// Refines the problem at a solution, if the refinement is due.
pub(crate) fn refine_solution(
    refine: &mut dyn Refine,
    problem: &mut NodalProblem,
    velocities: &[f64],
) -> Refinement {
    if refine.poll(true) {
        refine.refine(problem, velocities, true)
    } else {
        Refinement::default()
    }
}

#[cfg(test)]
mod admissible_tests;
#[cfg(test)]
mod tests;
