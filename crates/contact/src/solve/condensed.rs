//! The robust solver on problems in velocities and impulses, by way of their Delassus operator.

use glam::DVec3;

use super::admm::{self, Admm};
use super::refining::FixedSolver;
use super::{Limits, Outcome, SolveError, Solver, Unrefined, WarmStart, robust};
use crate::delassus::DelassusProblem;
use crate::delassus::nodal::{Inverses, TooManyNodes, to_local, to_solution};
use crate::law;
use crate::problem::{NodalProblem, Solution, larger};
use crate::system::{Factors, SystemFactor};

/// Relative tolerances that are tried in turn, until the errors in metres are small enough.
const TOLERANCES: [f64; 6] = [1e-4, 1e-6, 1e-8, 1e-10, 1e-12, 1e-14];

/// A⁻¹ between touched nodes, kept while a problem is refined.
#[derive(Debug, Default)]
pub(super) struct Condenser {
    inverses: Inverses,
}

impl Condenser {
    /// The problem in the impulses alone, and how many solves it took. Matrices have changed only
    /// of the bodies that a function tells.
    pub(super) fn pose(
        &mut self,
        problem: &NodalProblem,
        factor: &SystemFactor,
        is_changed: &dyn Fn(usize) -> bool,
    ) -> Result<(DelassusProblem, usize), TooManyNodes> {
        let solves = self.inverses.update(problem, factor, is_changed)?;
        Ok((self.inverses.pose(problem, factor), solves + 1))
    }
}

/// Solves a problem from impulses r, up to both of its errors (m). `factor` is that of A.
///
/// # Errors
/// If too many nodes of a body are touched.
pub fn solve(
    problem: &NodalProblem,
    factor: &SystemFactor,
    impulses: &[DVec3],
    tolerance: f64,
) -> Result<(Solution, Outcome), TooManyNodes> {
    let condensed = Condenser::default().pose(problem, factor, &|_| true)?;
    Ok(solve_condensed(
        problem,
        factor,
        condensed,
        (impulses, tolerance),
    ))
}

/// The same with the problem in the impulses, and what that took.
fn solve_condensed(
    problem: &NodalProblem,
    factor: &SystemFactor,
    (posed, solves): (DelassusProblem, usize),
    (impulses, tolerance): (&[DVec3], f64),
) -> (Solution, Outcome) {
    let mut outcome = Outcome {
        solves,
        ..Outcome::default()
    };
    let mut local = to_local(problem, impulses);
    let mut least = contact_error(problem, &posed, &local);
    for relative in TOLERANCES {
        // Rounding in W is a part of the errors: what is hardly good enough may be graded as worse.
        if least <= 0.5 * tolerance {
            break;
        }
        let mut next = local.clone();
        let found = robust::solve(&posed, relative, &mut next);
        outcome.iterations += found.iterations;
        outcome.products += found.products;
        let error = contact_error(problem, &posed, &next);
        if least.is_nan() || error < least {
            least = error;
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

/// The robust solver on nodal problems. What is too large to be condensed goes to a solver that
/// does without.
#[derive(Debug, Default)]
pub struct Condensed {
    condenser: Condenser,
    large: Option<Admm>,
}

impl FixedSolver for Condensed {
    fn solve_fixed(
        &mut self,
        problem: &NodalProblem,
        factors: &mut Factors,
        warm: &WarmStart,
        limits: Limits,
        is_changed: &dyn Fn(usize) -> bool,
    ) -> Result<(Solution, Outcome), SolveError> {
        let factor = factors.of(&problem.system)?;
        match self.condenser.pose(problem, factor, is_changed) {
            Ok(condensed) => {
                let impulses = warm.impulses_of(problem);
                let start = (&impulses[..], limits.tolerance);
                Ok(solve_condensed(problem, factor, condensed, start))
            }
            Err(_) => {
                let admm = self
                    .large
                    .get_or_insert_with(|| Admm::new(admm::Settings::default()));
                admm.solve(&mut problem.clone(), factors, warm, limits, &mut Unrefined)
            }
        }
    }
}

/// The contact error of a problem from its Delassus operator, without a solve (m).
pub(super) fn contact_error(
    problem: &NodalProblem,
    posed: &DelassusProblem,
    impulses: &[DVec3],
) -> f64 {
    let velocities = posed.velocities(impulses);
    let error = |contact: usize| {
        let scaled = impulses[contact] * problem.lightness(contact);
        law::natural_map(posed.friction[contact], velocities[contact], scaled, 1.0).length()
    };
    let errors = (0..posed.contacts()).map(error);
    problem.step * errors.fold(0.0, larger)
}
