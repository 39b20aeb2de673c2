//! The solver `robust`: Delassus problems to high accuracy, also where W is singular, unsymmetric
//! and badly scaled.
//!
//! Groups of contacts that W does not connect are solved separately and in parallel, in
//! dimensionless form (`scaled`). Four methods are combined, because each fails on problems that
//! another solves (`search`):
//!
//! 1. Gauss-Seidel sweeps with exact solves of single contacts (`sweeps`): cheap, and good at
//!    finding the open contacts;
//! 2. ADMM on the associated law, with a shift that follows the iterates (`splitting`): slow, but
//!    it rarely stagnates;
//! 3. Newton's method on a smoothed form of the law (`newton`), from the state of 1 or 2. The
//!    smoothing is reduced with the residual. It reaches the tolerance in most problems, often
//!    after ten sweeps and a few steps;
//! 4. least squares of the natural map (`least_squares`), if the others end close to a solution.
//!
//! The linear systems of 2 and 3 are W plus a block per contact. They have the pattern of W and
//! share one symbolic factorization (`lu`). All parameters are dimensionless and the same for every
//! problem, the work is bounded, and the result does not depend on the threads.

use glam::DVec3;
use rayon::prelude::*;

use super::SolveOutcome;
use super::condensed::Condensed;
use super::refinement::RefinementLoop;
use super::table::{IterationLimits, SolverEntry};
use crate::delassus::DelassusProblem;
use crate::system::DisjointSets;
use scaled::Scaled;
use search::Search;

mod cone;
mod least_squares;
mod lu;
mod newton;
mod scaled;
mod search;
mod splitting;
mod sweeps;
#[cfg(test)]
mod tests;

/// Entry in the table of solvers.
pub const ENTRY: SolverEntry = SolverEntry {
    name: "robust",
    help: "Gauss-Seidel, ADMM, Newton's method and least squares in turn, on the Delassus \
           operator; the most reliable for small problems.",
    delassus: Some(|problem, _, limits, impulses| solve(problem, limits.tolerance, impulses)),
    options: &[],
    build: |_| {
        Box::new(RefinementLoop {
            solver: Condensed::default(),
            polishes: true,
        })
    },
    // The work is bounded for each group of contacts, and iterations are summed over all groups.
    iterations: IterationLimits {
        standalone: usize::MAX,
        in_step: 100_000,
    },
};

/// Searches impulses whose natural map error and scaled error are both within a tolerance.
///
/// `impulses` are the start; zero is used if their number does not match or they are not finite. If
/// the tolerance is not reached, each group of connected contacts has the impulses with the
/// smallest error found, by the larger of the two errors. Without a solution, impulses that grow
/// without bound can make both errors arbitrarily small; they do not count as converged.
pub fn solve(problem: &DelassusProblem, tolerance: f64, impulses: &mut Vec<DVec3>) -> SolveOutcome {
    if impulses.len() != problem.contacts() || !impulses.iter().all(|r| r.is_finite()) {
        impulses.clear();
        impulses.resize(problem.contacts(), DVec3::ZERO);
    }
    let groups = connected_groups(problem);
    let mut group_indices = vec![0; problem.contacts()];
    for group in &groups {
        for (index, contact) in group.iter().enumerate() {
            group_indices[*contact as usize] = index as u32;
        }
    }
    let goal = GroupGoal::new(problem, tolerance, groups.len());
    let given = &*impulses;
    let found: Vec<GroupSolution> = groups
        .par_iter()
        .map(|group| {
            let floors = goal.floors(group.len());
            let scaled = Scaled::new(problem, group, &group_indices, floors);
            let start = scaled.to_dimensionless(group.iter().map(|c| given[*c as usize]));
            let (outcome, best) = Search::run(&scaled, goal.tolerance, start);
            GroupSolution {
                outcome,
                is_bounded: scaled.excess(&best) <= 1.0,
                impulses: scaled.to_units(&best),
            }
        })
        .collect();
    let mut total = SolveOutcome::default();
    for (group, found) in groups.iter().zip(&found) {
        for (contact, r) in group.iter().zip(&found.impulses) {
            impulses[*contact as usize] = *r;
        }
        total.iterations += found.outcome.iterations;
        total.products += found.outcome.products;
    }
    *impulses = problem.projected(impulses);
    // An unconverged group may still be within the tolerance of the whole problem.
    let is_bounded = found.iter().all(|found| found.is_bounded);
    total.is_converged = is_bounded && problem.errors(impulses).largest() <= tolerance;
    total
}

/// Result of a group of connected contacts.
struct GroupSolution {
    outcome: SolveOutcome,
    impulses: Vec<DVec3>,
    /// Whether the impulses are below the bound of [`Scaled::excess`].
    is_bounded: bool,
}

/// Tolerance of each group for which the whole problem is within its tolerance.
///
/// The errors of the whole are E/S with E² the sum over the groups and S² the largest of up to
/// three such sums (‖q‖², ‖r‖², ‖u‖²). If E_g ≤ ½ ε max(S_g, F_g), where F_g² is the share of the
/// group in ‖q‖² by its number of contacts, then E² ≤ ¼ ε² (Σ S_g² + ‖q‖²) ≤ ¼ ε² (3 S² + S²). So
/// small groups are not solved more accurately than the whole requires.
struct GroupGoal {
    tolerance: f64,
    contacts: usize,
    /// ‖q‖² in the units of the natural map error and of the scaled error; 0 for a single group.
    free: [f64; 2],
}

impl GroupGoal {
    fn new(problem: &DelassusProblem, tolerance: f64, groups: usize) -> Self {
        let contacts = problem.contacts();
        if groups <= 1 {
            return Self {
                tolerance,
                contacts,
                free: [0.0; 2],
            };
        }
        let natural = problem.free.iter().map(|q| q.length_squared());
        let scaled =
            (0..contacts).map(|c| (problem.free[c] * problem.inverse_scale(c)).length_squared());
        Self {
            tolerance: 0.5 * tolerance,
            contacts,
            free: [natural.sum(), scaled.sum()],
        }
    }

    /// F_g for both errors.
    fn floors(&self, contacts: usize) -> [f64; 2] {
        let share = contacts as f64 / self.contacts as f64;
        self.free.map(|free| (free * share).sqrt())
    }
}

/// Groups of contacts that W connects, each ascending.
fn connected_groups(problem: &DelassusProblem) -> Vec<Vec<u32>> {
    let contacts = problem.contacts();
    let mut sets = DisjointSets::new(contacts);
    for row in 0..contacts {
        for column in problem.operator.row(row).0 {
            sets.join(row as u32, *column);
        }
    }
    let (numbers, count) = sets.numbered();
    let mut groups = vec![Vec::new(); count];
    for (contact, group) in numbers.iter().enumerate() {
        groups[*group as usize].push(contact as u32);
    }
    groups
}
