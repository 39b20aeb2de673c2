//! The most robust solver of Delassus problems: impulses to high accuracy where W is singular, unsymmetric and badly scaled.
//!
//! Contacts that W does not connect are solved apart and in parallel, each group without units (`scaled`). Four methods help
//! each other, because each fails where another does not (`search`):
//!
//! 1. Gauss-Seidel sweeps with exact solves of single contacts (`sweeps`): cheap, and good at finding which contacts open;
//! 2. ADMM on the associated law, whose shift follows the iterates (`splitting`): slow, but hardly ever stuck;
//! 3. Newton's method on a smoothed form of the law (`newton`), the smoothing taken back as the residual falls, from
//!    the state of either. It is what reaches the tolerance in most problems, often after ten sweeps and a few steps;
//! 4. least squares of the natural map (`least_squares`), where all of these end close by.
//!
//! The linear systems of 2 and 3 are W plus a block per contact. They have the pattern of W and share one symbolic
//! factorization (`lu`). All parameters are without units and the same for every problem, the work is bounded, and the bits of
//! the answer do not depend on the threads.

use glam::DVec3;
use rayon::prelude::*;

use super::Outcome;
use super::condensed::Condensed;
use super::refining::Refining;
use super::table::{Iterations, SolverEntry};
use crate::delassus::DelassusProblem;
use crate::system::Sets;
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

/// The solver in the table.
pub const ENTRY: SolverEntry = SolverEntry {
    name: "robust",
    help: "Gauss-Seidel, ADMM, Newton's method and least squares in turn, on the Delassus operator; the most likely to solve a small problem.",
    delassus: Some(|problem, _, limits, impulses| solve(problem, limits.tolerance, impulses)),
    options: &[],
    build: |_| {
        Box::new(Refining {
            solver: Condensed::default(),
            polishes: true,
        })
    },
    // It ends by itself: its work is bounded for each group of contacts, and all of them are
    // counted.
    iterations: Iterations {
        alone: usize::MAX,
        in_step: 100_000,
    },
};

/// Seeks impulses whose natural map error and scaled error are both within a tolerance.
///
/// `impulses` are where to begin, and empty or of another length for nothing known. If the tolerance is not reached, they are the
/// best that were found, by the larger of the two errors, in each group of connected contacts. Where there is no solution, impulses that
/// grow without bound make both errors as small as one likes; they do not count as converged.
pub fn solve(problem: &DelassusProblem, tolerance: f64, impulses: &mut Vec<DVec3>) -> Outcome {
    if impulses.len() != problem.contacts() || !impulses.iter().all(|r| r.is_finite()) {
        impulses.clear();
        impulses.resize(problem.contacts(), DVec3::ZERO);
    }
    let groups = connected(problem);
    let mut places = vec![0; problem.contacts()];
    for group in &groups {
        for (place, contact) in group.iter().enumerate() {
            places[*contact as usize] = place as u32;
        }
    }
    let goal = Goal::new(problem, tolerance, groups.len());
    let given = &*impulses;
    let found: Vec<Found> = groups
        .par_iter()
        .map(|group| {
            let floors = goal.floors(group.len());
            let scaled = Scaled::new(problem, group, &places, floors);
            let start = scaled.without_units(group.iter().map(|c| given[*c as usize]));
            let (outcome, best) = Search::run(&scaled, goal.tolerance, start);
            Found {
                outcome,
                is_bounded: scaled.excess(&best) <= 1.0,
                impulses: scaled.with_units(&best),
            }
        })
        .collect();
    let mut total = Outcome::default();
    for (group, found) in groups.iter().zip(&found) {
        for (contact, r) in group.iter().zip(&found.impulses) {
            impulses[*contact as usize] = *r;
        }
        total.iterations += found.outcome.iterations;
        total.products += found.outcome.products;
    }
    // What a group has left over may still be little next to the whole.
    let is_bounded = found.iter().all(|found| found.is_bounded);
    total.is_converged = is_bounded && problem.errors(impulses).largest() <= tolerance;
    total
}

/// The answer of a group.
struct Found {
    outcome: Outcome,
    impulses: Vec<DVec3>,
    /// Whether the impulses have not grown beyond all measure.
    is_bounded: bool,
}

/// What each group has to reach so that the whole is within the tolerance.
///
/// The errors of the whole are E/S with E² the sum over the groups and S² the largest of up to three such sums (‖q‖², ‖r‖², ‖u‖²). If
/// E_g ≤ ½ ε max(S_g, F_g), where F_g² is the share of the group in ‖q‖² by its number of contacts, then
/// E² ≤ ¼ ε² (Σ S_g² + ‖q‖²) ≤ ¼ ε² (3 S² + S²). So small groups need not be solved better than the whole needs it.
struct Goal {
    tolerance: f64,
    contacts: usize,
    /// ‖q‖² as the natural and the scaled error measure it; nothing if there is only one group.
    free: [f64; 2],
}

impl Goal {
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

    fn floors(&self, contacts: usize) -> [f64; 2] {
        let share = contacts as f64 / self.contacts as f64;
        self.free.map(|free| (free * share).sqrt())
    }
}

/// Groups of contacts that are connected through W, each ascending.
fn connected(problem: &DelassusProblem) -> Vec<Vec<u32>> {
    let contacts = problem.contacts();
    let mut sets = Sets::new(contacts);
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
