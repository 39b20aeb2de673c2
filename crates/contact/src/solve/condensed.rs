//! The robust solver on nodal problems, which are condensed to Delassus problems first.

use glam::DVec3;

use super::admm::{self, Admm};
use super::refinement::FixedSolver;
use super::{Limits, NoRefinement, SolveError, SolveOutcome, Solver, robust};
use crate::delassus::DelassusProblem;
use crate::delassus::nodal::{InverseBlocks, TooManyNodes, to_local, to_solution};
use crate::law;
use crate::problem::{NodalProblem, Solution, WarmStart, nan_max};
use crate::system::{FactorCache, SystemFactor};

/// Relative tolerances of the robust solver, tried in turn until the errors in metres are within
/// the tolerance.
const RELATIVE_TOLERANCES: [f64; 6] = [1e-4, 1e-6, 1e-8, 1e-10, 1e-12, 1e-14];

/// Condenses nodal problems. Keeps A⁻¹ between contact nodes while a problem is refined.
#[derive(Debug, Default)]
pub(super) struct Condenser {
    inverses: InverseBlocks,
}

impl Condenser {
    /// The Delassus problem of a nodal problem, and the number of solves with the factors.
    /// `is_changed` tells the bodies whose matrix changed since the last call.
    pub(super) fn condense(
        &mut self,
        problem: &NodalProblem,
        factor: &SystemFactor,
        is_changed: &dyn Fn(usize) -> bool,
    ) -> Result<(DelassusProblem, usize), TooManyNodes> {
        let solves = self.inverses.update(problem, factor, is_changed)?;
        Ok((self.inverses.condense(problem, factor), solves + 1))
    }
}

/// Solves a problem from impulses r, to a tolerance of both errors (m). `factor` is that of A.
///
/// # Errors
/// If too many nodes of a body are in contact.
pub fn solve(
    problem: &NodalProblem,
    factor: &SystemFactor,
    impulses: &[DVec3],
    tolerance: f64,
) -> Result<(Solution, SolveOutcome), TooManyNodes> {
    let (delassus, solves) = Condenser::default().condense(problem, factor, &|_| true)?;
    let (solution, mut outcome) = solve_condensed(problem, factor, &delassus, impulses, tolerance);
    outcome.solves += solves;
    Ok((solution, outcome))
}

/// Solves a problem whose Delassus problem is given.
fn solve_condensed(
    problem: &NodalProblem,
    factor: &SystemFactor,
    delassus: &DelassusProblem,
    impulses: &[DVec3],
    tolerance: f64,
) -> (Solution, SolveOutcome) {
    let mut outcome = SolveOutcome::default();
    let mut local = delassus.projected(&to_local(problem, impulses));
    let mut smallest = contact_error(problem, delassus, &local);
    for relative in RELATIVE_TOLERANCES {
        // Rounding in W contributes to the errors: half the tolerance leaves room for it.
        if smallest <= 0.5 * tolerance {
            break;
        }
        let mut next = local.clone();
        let found = robust::solve(delassus, relative, &mut next);
        outcome.iterations += found.iterations;
        outcome.products += found.products;
        let error = contact_error(problem, delassus, &next);
        if smallest.is_nan() || error < smallest {
            smallest = error;
            local = next;
        }
        if !found.is_converged {
            break;
        }
    }
    let solution = to_solution(problem, factor, &local);
    let errors = problem.errors(factor, &solution.velocities, &solution.impulses);
    outcome.solves += 2;
    outcome.is_converged = errors.largest() <= tolerance;
    (solution, outcome)
}

/// The robust solver on nodal problems. Problems that are too large to be condensed are solved by
/// ADMM.
#[derive(Debug, Default)]
pub struct Condensed {
    condenser: Condenser,
    fallback: Option<Admm>,
}

impl FixedSolver for Condensed {
    fn solve_fixed(
        &mut self,
        problem: &NodalProblem,
        factors: &mut FactorCache,
        warm: &WarmStart,
        limits: Limits,
        is_changed: &dyn Fn(usize) -> bool,
    ) -> Result<(Solution, SolveOutcome), SolveError> {
        let factor = factors.get(&problem.system)?;
        match self.condenser.condense(problem, factor, is_changed) {
            Ok((delassus, solves)) => {
                let impulses = warm.impulses_of(problem);
                let (solution, mut outcome) =
                    solve_condensed(problem, factor, &delassus, &impulses, limits.tolerance);
                outcome.solves += solves;
                Ok((solution, outcome))
            }
            Err(_) => {
                let admm = self
                    .fallback
                    .get_or_insert_with(|| Admm::new(admm::AdmmOptions::default()));
                admm.solve(
                    &mut problem.clone(),
                    factors,
                    warm,
                    limits,
                    &mut NoRefinement,
                )
            }
        }
    }
}

/// The contact error of a nodal problem (m), from its Delassus problem, without a solve.
pub(super) fn contact_error(
    problem: &NodalProblem,
    delassus: &DelassusProblem,
    impulses: &[DVec3],
) -> f64 {
    let velocities = delassus.velocities(impulses);
    let error = |contact: usize| {
        let scaled = impulses[contact] * problem.inverse_effective_mass(contact);
        law::natural_map(delassus.friction[contact], velocities[contact], scaled, 1.0).length()
    };
    let errors = (0..delassus.contacts()).map(error);
    problem.step * errors.fold(0.0, nan_max)
}
