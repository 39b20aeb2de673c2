//! The outer loop for solvers that refine nothing themselves: solve, look along the motion, change
//! the problem, solve again from there.

use super::{
    Limits, Outcome, Polish, Refine, Refined, SolveError, Solver, WarmStart, look_at_answer,
    solve_free,
};
use crate::problem::{NodalProblem, Solution};
use crate::system::Factors;

/// Where so many iterations are left, a solve gets a part of them: an answer that takes long shows
/// new contacts as well as one that converged, and what they bring has to be solved for too.
const PLENTY: usize = 100;
const SHARES: usize = 8;

/// A solver of problems that stay as they are.
pub trait FixedSolver: Send + Sync {
    /// Solves a problem with at least one contact. Since the last call, matrices have changed only
    /// of the bodies that a function tells.
    ///
    /// # Errors
    /// If a matrix cannot be factorized, or the problem is too large for the solver.
    fn solve_fixed(
        &mut self,
        problem: &NodalProblem,
        factors: &mut Factors,
        warm: &WarmStart,
        limits: Limits,
        is_changed: &dyn Fn(usize) -> bool,
    ) -> Result<(Solution, Outcome), SolveError>;
}

/// Gives a solver the outer loop, and Newton steps on the contacts where it does not converge.
#[derive(Debug)]
pub struct Refining<S> {
    /// The solver inside.
    pub solver: S,
    /// Whether Newton steps follow where it does not converge.
    pub polishes: bool,
}

impl<S: FixedSolver> Solver for Refining<S> {
    fn solve(
        &mut self,
        problem: &mut NodalProblem,
        factors: &mut Factors,
        warm: &WarmStart,
        limits: Limits,
        refine: &mut dyn Refine,
    ) -> Result<(Solution, Outcome), SolveError> {
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
            let share = if left >= PLENTY { left / shares } else { left };
            let posed = (&*problem, &mut *factors);
            let (solution, outcome) = self.solve_once(
                posed,
                &start,
                changed.as_deref(),
                Limits {
                    iterations: share,
                    ..limits
                },
            )?;
            total.add(&outcome);
            // At the limit an answer to what was found last is needed, and no more of that.
            let is_over = left == 0;
            let known = WarmStart::from_solution(problem, solution.clone());
            let refined = match is_over {
                true => Refined::default(),
                false => look_at_answer(refine, problem, &solution.velocities),
            };
            let has_changed = !refined.is_nothing();
            let has_ended = total.is_converged || outcome.iterations < share || left < PLENTY;
            if is_over || (!has_changed && has_ended) {
                total.is_converged &= !is_over;
                total.factorizations += factors.factorizations() - before;
                return Ok((solution, total));
            }
            // Refinements count too: answers that are there at once take no iterations.
            total.linearisations += usize::from(has_changed);
            let spent = total.iterations.saturating_add(total.linearisations);
            left = limits.iterations.saturating_sub(spent);
            // Where nothing new comes, all that is left is for this.
            shares = if has_changed { SHARES } else { 1 };
            factors.invalidate_bodies(refined.bodies.iter().copied());
            start = known.refined(&refined);
            changed = Some(refined.bodies);
        }
    }
}

impl<S: FixedSolver> Refining<S> {
    /// Solves the problem as it is, with Newton steps if they are needed. Matrices have changed of
    /// all bodies, or only of those given.
    fn solve_once(
        &mut self,
        (problem, factors): (&NodalProblem, &mut Factors),
        start: &WarmStart,
        changed: Option<&[usize]>,
        limits: Limits,
    ) -> Result<(Solution, Outcome), SolveError> {
        let is_changed = |body: usize| changed.is_none_or(|of| of.contains(&body));
        let solver = &mut self.solver;
        let (mut solution, mut outcome) =
            solver.solve_fixed(problem, factors, start, limits, &is_changed)?;
        if self.polishes && !outcome.is_converged {
            polish(problem, factors, limits, (&mut solution, &mut outcome))?;
        }
        Ok((solution, outcome))
    }
}

/// Newton steps from an answer that is not good enough; kept if they are better.
fn polish(
    problem: &NodalProblem,
    factors: &mut Factors,
    limits: Limits,
    (solution, outcome): (&mut Solution, &mut Outcome),
) -> Result<(), SolveError> {
    let factor = factors.of(&problem.system)?;
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
