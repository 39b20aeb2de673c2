//! The solver `gauss-seidel`: nonlinear block Gauss-Seidel on the Delassus operator, with an exact
//! solve of each contact (Jean 1999; Daviet et al. 2011).
//!
//! The reference for other solvers. Contacts that are not neighbours are solved in parallel, in
//! stages; contacts that hardly change sleep for a few sweeps.

use glam::DVec3;
use rayon::prelude::*;

use super::coloring::Coloring;
use super::condensed::{Condenser, contact_error};
use super::options::{OptionKind, OptionSpec, OptionValue};
use super::refinement::{FixedSolver, RefinementLoop};
use super::table::{IterationLimits, SolverEntry};
use super::{Limits, SolveError, SolveOutcome};
use crate::delassus::DelassusProblem;
use crate::delassus::nodal::{to_local, to_solution};
use crate::law;
use crate::problem::{NodalProblem, Solution, WarmStart, nan_max};
use crate::system::FactorCache;

/// Contacts per parallel task.
const CHUNK_SIZE: usize = 64;

/// Number of sweeps that a contact sleeps.
const SLEEP_SWEEPS: u32 = 8;

/// A contact falls asleep if it changes by less than this fraction of the largest change of the
/// previous sweep.
const SLEEP_THRESHOLD_FACTOR: f64 = 0.01;

/// Sweeps between two computations of the errors.
const CHECK_INTERVAL: usize = 4;

/// Entry in the table of solvers.
pub const ENTRY: SolverEntry = SolverEntry {
    name: "gauss-seidel",
    help: "Gauss-Seidel sweeps with an exact solve of each contact, on the Delassus operator (Jean \
           1999); a reference for small problems.",
    delassus: Some(|problem, options, limits, impulses| {
        solve(problem, options.flag("sleep"), limits, impulses)
    }),
    options: &[
        OptionSpec {
            name: "sleep",
            help: "Whether contacts that hardly change sleep for a few sweeps.",
            kind: OptionKind::Flag,
            default: OptionValue::Flag(true),
        },
        OptionSpec {
            name: "polish",
            help: "Whether to try Newton steps on the contacts if the sweeps do not converge.",
            kind: OptionKind::Flag,
            default: OptionValue::Flag(true),
        },
    ],
    build: |options| {
        Box::new(RefinementLoop {
            solver: GaussSeidel::new(options.flag("sleep")),
            polishes: options.flag("polish"),
        })
    },
    iterations: IterationLimits {
        standalone: 10_000,
        in_step: 2000,
    },
};

/// Solves a Delassus problem, starting from the impulses given, until both of its errors are within
/// the tolerance.
pub fn solve(
    problem: &DelassusProblem,
    sleeps: bool,
    limits: Limits,
    impulses: &mut [DVec3],
) -> SolveOutcome {
    let error = |impulses: &[DVec3]| problem.errors(impulses).largest();
    sweep_until_converged(problem, sleeps, limits, impulses, error)
}

/// The solver of nodal problems.
#[derive(Debug, Default)]
pub struct GaussSeidel {
    /// Whether contacts that hardly change sleep for a few sweeps.
    sleeps: bool,
    condenser: Condenser,
}

impl GaussSeidel {
    /// A solver with empty buffers.
    pub fn new(sleeps: bool) -> Self {
        Self {
            sleeps,
            condenser: Condenser::default(),
        }
    }
}

impl FixedSolver for GaussSeidel {
    fn solve_fixed(
        &mut self,
        problem: &NodalProblem,
        factors: &mut FactorCache,
        warm: &WarmStart,
        limits: Limits,
        is_changed: &dyn Fn(usize) -> bool,
    ) -> Result<(Solution, SolveOutcome), SolveError> {
        let factor = factors.get(&problem.system)?;
        let (delassus, solves) = self.condenser.condense(problem, factor, is_changed)?;
        let mut impulses = to_local(problem, &warm.impulses_of(problem));
        let error = |impulses: &[DVec3]| contact_error(problem, &delassus, impulses);
        let mut outcome =
            sweep_until_converged(&delassus, self.sleeps, limits, &mut impulses, error);
        let solution = to_solution(problem, factor, &impulses);
        let errors = problem.errors(factor, &solution.velocities, &solution.impulses);
        outcome.is_converged = errors.largest() <= limits.tolerance;
        outcome.solves += solves + 2;
        Ok((solution, outcome))
    }
}

/// Sweeps from the impulses given until `error` is within the tolerance. At the iteration limit,
/// `impulses` are those with the smallest error.
fn sweep_until_converged(
    problem: &DelassusProblem,
    sleeps: bool,
    limits: Limits,
    impulses: &mut [DVec3],
    error: impl Fn(&[DVec3]) -> f64,
) -> SolveOutcome {
    // A start within the tolerance is the solution, and the law has impulses in the cones only.
    impulses.copy_from_slice(&problem.projected(impulses));
    let mut sweeper = Sweeper::new(problem, sleeps);
    let mut outcome = SolveOutcome::default();
    let mut best = (error(impulses), impulses.to_vec());
    while best.0.is_nan() || best.0 > limits.tolerance {
        if outcome.iterations >= limits.iterations {
            impulses.copy_from_slice(&best.1);
            return outcome;
        }
        let sweeps = CHECK_INTERVAL.min(limits.iterations - outcome.iterations);
        for _ in 0..sweeps {
            sweeper.sweep(problem, impulses);
        }
        outcome.iterations += sweeps;
        let found = error(impulses);
        if best.0.is_nan() || found < best.0 {
            best = (found, impulses.to_vec());
        }
        outcome.products += sweeps + 1;
    }
    outcome.is_converged = true;
    outcome
}

/// Sweeps over all contacts, with their sleep.
#[derive(Clone, Debug)]
pub struct Sweeper {
    coloring: Coloring,
    /// Sweeps that each contact still sleeps.
    sleep: Vec<u32>,
    sleeps: bool,
    /// Largest change of an impulse in the last sweep, times ‖W_cc‖ (m/s).
    change: f64,
    /// ‖W_cc‖.
    scales: Vec<f64>,
}

impl Sweeper {
    /// Sweeps for a problem, with all contacts awake.
    pub fn new(problem: &DelassusProblem, sleeps: bool) -> Self {
        let operator = &problem.operator;
        let neighbours = |contact: usize| operator.row(contact).0.iter().copied();
        let scale = |contact: usize| crate::symmetric::spectral_norm(operator.diagonal(contact));
        Self {
            coloring: Coloring::from_graph(problem.contacts(), neighbours),
            sleep: vec![0; problem.contacts()],
            sleeps,
            change: 0.0,
            scales: (0..problem.contacts()).map(scale).collect(),
        }
    }

    /// Solves every contact once that is awake, the others being fixed. Contacts of a stage are
    /// independent, so that their impulses are written after the stage.
    pub fn sweep(&mut self, problem: &DelassusProblem, impulses: &mut [DVec3]) {
        let sleep_threshold = if self.sleeps {
            SLEEP_THRESHOLD_FACTOR * self.change
        } else {
            0.0
        };
        let mut change = 0.0;
        let coloring = std::mem::take(&mut self.coloring);
        for stage in &coloring.stages {
            let contacts = &coloring.order[stage.clone()];
            let solve = |contact: &u32| self.solve_contact(problem, impulses, *contact as usize);
            let solved: Vec<DVec3> = if contacts.len() > CHUNK_SIZE {
                let contacts = contacts.par_iter().with_min_len(CHUNK_SIZE);
                contacts.map(solve).collect()
            } else {
                contacts.iter().map(solve).collect()
            };
            for (contact, impulse) in contacts.iter().zip(solved) {
                let own = self.update(*contact as usize, impulse, impulses, sleep_threshold);
                change = nan_max(change, own);
            }
        }
        for contact in &coloring.order[coloring.rest.clone()] {
            let impulse = self.solve_contact(problem, impulses, *contact as usize);
            let own = self.update(*contact as usize, impulse, impulses, sleep_threshold);
            change = nan_max(change, own);
        }
        self.coloring = coloring;
        self.change = change;
    }

    /// The impulse that solves a contact; unchanged if the contact sleeps or has no solution.
    fn solve_contact(
        &self,
        problem: &DelassusProblem,
        impulses: &[DVec3],
        contact: usize,
    ) -> DVec3 {
        let impulse = impulses[contact];
        if self.sleep[contact] > 0 {
            return impulse;
        }
        let own = problem.operator.diagonal(contact);
        let velocity = problem.operator.row_times(contact, impulses) + problem.free[contact];
        let free = velocity - *own * impulse;
        law::solve_contact(own, free, problem.friction[contact], impulse).unwrap_or(impulse)
    }

    /// Sets the impulse of a contact and updates its sleep. Returns the change of its velocity.
    fn update(
        &mut self,
        contact: usize,
        impulse: DVec3,
        impulses: &mut [DVec3],
        sleep_threshold: f64,
    ) -> f64 {
        if self.sleep[contact] > 0 {
            self.sleep[contact] -= 1;
            return 0.0;
        }
        let change = (impulse - impulses[contact]).length() * self.scales[contact];
        impulses[contact] = impulse;
        if change < sleep_threshold {
            self.sleep[contact] = SLEEP_SWEEPS;
        }
        change
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block_rows::BlockRows;
    use crate::samples;
    use glam::DMat3;

    fn solve_nodal(problem: &NodalProblem, limits: Limits) -> (Solution, SolveOutcome) {
        let (mut solver, warm) = (GaussSeidel::new(true), WarmStart::default());
        let mut factors = FactorCache::default();
        solver
            .solve_fixed(problem, &mut factors, &warm, limits, &|_| true)
            .unwrap()
    }

    /// A row of blocks on the ground that push each other: each contact is coupled to its
    /// neighbours.
    fn row(contacts: usize) -> DelassusProblem {
        let entries = (0..contacts as u32).flat_map(|c| {
            let side = DMat3::IDENTITY * -0.4;
            let own = (c, c, DMat3::from_diagonal(DVec3::new(1.0, 1.3, 1.3)));
            let next = (c + 1 < contacts as u32).then_some([(c, c + 1, side), (c + 1, c, side)]);
            [own].into_iter().chain(next.into_iter().flatten())
        });
        let free =
            (0..contacts).map(|c| DVec3::new(-1.0 + 0.3 * (c as f64).sin(), 0.7, (c as f64).cos()));
        DelassusProblem::new(
            BlockRows::new(contacts, entries),
            free.collect(),
            vec![0.4; contacts],
        )
        .unwrap()
    }

    #[test]
    fn both_errors_converge_below_the_tolerance() {
        for tolerance in [1e-4, 1e-8, 1e-12] {
            let problem = row(300);
            let mut impulses = vec![DVec3::ZERO; 300];
            let outcome = solve(&problem, true, ENTRY.limits(tolerance), &mut impulses);
            assert!(outcome.is_converged, "{outcome:?}");
            assert!(problem.errors(&impulses).largest() <= tolerance);
        }
    }

    #[test]
    fn sleeping_does_not_change_the_solution() {
        let problem = row(300);
        let solve = |sleeps: bool| {
            let mut impulses = vec![DVec3::ZERO; 300];
            assert!(solve(&problem, sleeps, ENTRY.limits(1e-10), &mut impulses).is_converged);
            impulses
        };
        // The operator is positive definite, so that the solution is unique.
        let (one, other) = (solve(true), solve(false));
        let distances = one.iter().zip(&other).map(|(a, b)| (*a - *b).length());
        assert!(distances.fold(0.0, f64::max) < 1e-8);
    }

    #[test]
    fn results_are_bit_identical_on_one_and_two_threads() {
        let problem = row(3000);
        let solve = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            let mut impulses = vec![DVec3::ZERO; 3000];
            pool.install(|| solve(&problem, true, ENTRY.limits(1e-9), &mut impulses));
            impulses
        };
        assert!(solve(1) == solve(2));
    }

    #[test]
    fn the_number_of_sweeps_does_not_depend_on_units() {
        let count = |problem: &NodalProblem, tolerance: f64| {
            let (_, outcome) = solve_nodal(problem, ENTRY.limits(tolerance));
            assert!(outcome.is_converged);
            outcome.iterations
        };
        for seed in 0..10 {
            let problem = samples::random(seed, 4, 12);
            let here = count(&problem, 1e-7);
            for (lengths, masses, times) in [(1e3, 1.0, 1.0), (1.0, 1e-3, 1.0), (1.0, 1.0, 1e3)] {
                let (other, _) =
                    samples::rescale(&problem, &WarmStart::default(), lengths, masses, times);
                // Rounding may move convergence to the next computation of the errors.
                let difference = here.abs_diff(count(&other, 1e-7 * lengths));
                assert!(
                    difference <= CHECK_INTERVAL,
                    "seed {seed}: {difference} sweeps"
                );
            }
        }
    }

    #[test]
    fn unsolvable_problems_end_at_the_limit_without_convergence() {
        // No impulse changes the velocity of this contact.
        let operator = BlockRows::new(1, [(0, 0, DMat3::ZERO)]);
        let problem = DelassusProblem::new(operator, vec![-DVec3::X], vec![0.3]).unwrap();
        let limits = Limits {
            tolerance: 1e-6,
            iterations: 100,
        };
        let mut impulses = vec![DVec3::ZERO];
        let outcome = solve(&problem, true, limits, &mut impulses);
        assert!(!outcome.is_converged && outcome.iterations == 100);
        assert!(impulses[0].is_finite());
        let world = samples::contradictory();
        let nodal = world.problem(0.01);
        let (_, outcome) = solve_nodal(&nodal, limits);
        assert!(!outcome.is_converged);
    }
}
