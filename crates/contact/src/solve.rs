//! Solvers of contact problems: what goes in and comes out, whichever it is.

pub mod admm;
pub mod alart_curnier;
pub mod coloring;
pub mod condensed;
pub mod gauss_seidel;
pub mod gmres;
pub mod robust;
pub mod task;

use glam::DVec3;

use crate::delassus::nodal::TooManyNodes;
use crate::problem::NodalProblem;
use crate::system::SystemFactorError;

/// Where a solver begins: what the step before ended with.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Warm {
    /// v (m/s), flat; zero if empty.
    pub velocities: Vec<f64>,
    /// Contacts by ascending id with their r (N s), in world axes. Others begin without an impulse.
    pub impulses: Vec<(u64, DVec3)>,
}

/// How a solver ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Iterations, of whatever kind the solver makes.
    pub iterations: usize,
    /// Solves with A, or products with the Delassus operator.
    pub products: usize,
    /// Whether both errors are within the tolerance.
    pub is_converged: bool,
}

impl Warm {
    /// From an answer to a problem.
    pub fn from_solution(problem: &NodalProblem, velocities: Vec<f64>, impulses: &[DVec3]) -> Self {
        let ids = problem.contacts.iter().map(|contact| contact.id);
        let mut impulses: Vec<(u64, DVec3)> = ids.zip(impulses.iter().copied()).collect();
        impulses.sort_by_key(|(id, _)| *id);
        Self {
            velocities,
            impulses,
        }
    }

    /// r of every contact of a problem.
    pub fn impulses_of(&self, problem: &NodalProblem) -> Vec<DVec3> {
        let contacts = problem.contacts.iter();
        contacts.map(|contact| self.impulse(contact.id)).collect()
    }

    /// The impulse of a contact; none if it is new.
    pub fn impulse(&self, id: u64) -> DVec3 {
        match self.impulses.binary_search_by_key(&id, |(id, _)| *id) {
            Ok(place) => self.impulses[place].1,
            Err(_) => DVec3::ZERO,
        }
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

/// What [`Refine::refine`] changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refined {
    /// Whether contacts came, went or changed.
    pub contacts: bool,
    /// The bodies whose matrix or force changed.
    pub bodies: Vec<usize>,
}

/// Leaves a problem as it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unrefined;

impl Refine for Unrefined {
    fn refine(&mut self, _: &mut NodalProblem, _: &[f64], _: bool) -> Refined {
        Refined::default()
    }
}

impl Refined {
    /// Whether nothing changed.
    pub fn is_nothing(&self) -> bool {
        !self.contacts && self.bodies.is_empty()
    }
}
