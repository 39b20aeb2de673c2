//! The robust solver on problems in velocities and impulses, by way of their Delassus operator.

use glam::DVec3;

use super::{Outcome, robust};
use crate::delassus::DelassusProblem;
use crate::delassus::nodal::{Inverses, TooManyNodes, to_local, to_solution};
use crate::law;
use crate::problem::{NodalProblem, Solution, larger};
use crate::system::SystemFactor;

/// Relative tolerances that are tried in turn, until the errors in metres are small enough.
const TOLERANCES: [f64; 6] = [1e-4, 1e-6, 1e-8, 1e-10, 1e-12, 1e-14];

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
    let (inverses, solves) = Inverses::new(problem, factor)?;
    let posed = inverses.pose(problem, factor);
    let mut outcome = Outcome {
        products: solves + 1,
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
    outcome.products += 2;
    outcome.is_converged = errors.largest() <= tolerance;
    Ok((solution, outcome))
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
