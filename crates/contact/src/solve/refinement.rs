//! The outer loop for solvers of fixed problems: solve, refine the problem at the solution, solve
//! again from there.

use super::{
    Limits, Polish, Refine, Refinement, SolveError, SolveOutcome, Solver, refine_solution,
    solve_free,
};
use crate::problem::{NodalProblem, Solution, WarmStart};
use crate::system::FactorCache;

/// With at least this number of iterations left, a solve gets only 1/[`SHARES`] of them: an
/// unconverged solution reveals new contacts too, and these need iterations of their own.
const MIN_SHARED_ITERATIONS: usize = 100;
const SHARES: usize = 8;

/// A solver of problems that do not change during a solve.
pub trait FixedSolver: Send + Sync {
    /// Solves a problem with at least one contact. `is_changed` tells the bodies whose matrix
    /// changed since the last call.
    ///
    /// # Errors
    /// If a matrix cannot be factorized, or the problem is too large for the solver.
    fn solve_fixed(
        &mut self,
        problem: &NodalProblem,
        factors: &mut FactorCache,
        warm: &WarmStart,
        limits: Limits,
        is_changed: &dyn Fn(usize) -> bool,
    ) -> Result<(Solution, SolveOutcome), SolveError>;
}

/// A fixed solver in the outer loop, with Newton steps on the contacts if it does not converge.
#[derive(Debug)]
pub struct RefinementLoop<S> {
    /// The inner solver.
    pub solver: S,
    /// Whether to try Newton steps if it does not converge.
    pub polishes: bool,
}

impl<S: FixedSolver> Solver for RefinementLoop<S> {
    fn solve(
        &mut self,
        problem: &mut NodalProblem,
        factors: &mut FactorCache,
        warm: &WarmStart,
        limits: Limits,
        refine: &mut dyn Refine,
    ) -> Result<(Solution, SolveOutcome), SolveError> {
        let before = factors.factorizations();
        let (free, mut total) = solve_free(problem, factors, limits, refine)?;
        if let Some(solution) = free {
            total.factorizations += factors.factorizations() - before;
            return Ok((solution, total));
        }
        let mut start = warm.clone();
        let mut changed: Option<Vec<usize>> = None;
        let (mut left, mut shares) = (limits.iterations, SHARES);
        loop {
            let share = if left >= MIN_SHARED_ITERATIONS {
                left / shares
            } else {
                left
            };
            let share_limits = Limits {
                iterations: share,
                ..limits
            };
            let changed_bodies = changed.as_deref();
            let (solution, outcome) =
                self.solve_once(problem, factors, &start, changed_bodies, share_limits)?;
            total.add(&outcome);
            // At the limit, the last refinement still needs a solution, but no further refinement.
            let is_over = left == 0;
            let known = WarmStart::from_solution(problem, solution.clone());
            let refined = if is_over {
                Refinement::default()
            } else {
                refine_solution(refine, problem, &solution.velocities)
            };
            let has_changed = !refined.is_empty();
            let is_shared = left >= MIN_SHARED_ITERATIONS;
            let has_ended = total.is_converged || outcome.iterations < share || !is_shared;
            if is_over || (!has_changed && has_ended) {
                total.is_converged &= !is_over;
                total.factorizations += factors.factorizations() - before;
                return Ok((solution, total));
            }
            // Refinements count too, since a solve may take no iterations.
            total.linearisations += usize::from(has_changed);
            let spent = total.iterations.saturating_add(total.linearisations);
            left = limits.iterations.saturating_sub(spent);
            // Without changes, the next solve gets all remaining iterations.
            shares = if has_changed { SHARES } else { 1 };
            factors.invalidate_bodies(refined.bodies.iter().copied());
            start = known.rename_contacts(&refined.renamed);
            changed = Some(refined.bodies);
        }
    }
}

impl<S: FixedSolver> RefinementLoop<S> {
    /// Solves the problem without refinement, with Newton steps if the solver does not converge.
    /// `changed` are the bodies whose matrix changed; `None` for all.
    fn solve_once(
        &mut self,
        problem: &NodalProblem,
        factors: &mut FactorCache,
        start: &WarmStart,
        changed: Option<&[usize]>,
        limits: Limits,
    ) -> Result<(Solution, SolveOutcome), SolveError> {
        let is_changed = |body: usize| changed.is_none_or(|bodies| bodies.contains(&body));
        let solver = &mut self.solver;
        let (mut solution, mut outcome) =
            solver.solve_fixed(problem, factors, start, limits, &is_changed)?;
        if self.polishes && !outcome.is_converged {
            polish(problem, factors, limits, &mut solution, &mut outcome)?;
        }
        Ok((solution, outcome))
    }
}

/// Newton steps from an unconverged solution, which they replace if their errors are smaller.
fn polish(
    problem: &NodalProblem,
    factors: &mut FactorCache,
    limits: Limits,
    solution: &mut Solution,
    outcome: &mut SolveOutcome,
) -> Result<(), SolveError> {
    let factor = factors.get(&problem.system)?;
    let errors = problem.errors(factor, &solution.velocities, &solution.impulses);
    let (found, solves) = Polish::now(limits.tolerance).run(problem, factor, &solution.impulses);
    outcome.solves += solves + 1;
    if let Some((better, polished)) = found.filter(|found| found.0.largest() < errors.largest()) {
        outcome.is_converged = better.largest() <= limits.tolerance;
        *solution = polished;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
