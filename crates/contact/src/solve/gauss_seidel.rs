//! The solver `gauss-seidel`: one contact after the other, each exactly, on the Delassus operator (Jean 1999; Daviet et al. 2011).
//!
//! The reference for other solvers. Contacts that are no neighbours are solved side by side, in stages; contacts that hardly
//! change sleep for a few sweeps.

use glam::DVec3;
use rayon::prelude::*;

use super::coloring::Coloring;
use super::condensed::{Condenser, contact_error};
use super::options::{OptionKind, OptionSpec, OptionValue};
use super::refining::{FixedSolver, Refining};
use super::table::{Iterations, SolverEntry};
use super::{Limits, Outcome, SolveError, WarmStart};
use crate::delassus::DelassusProblem;
use crate::delassus::nodal::{to_local, to_solution};
use crate::law;
use crate::problem::{NodalProblem, Solution, larger};
use crate::system::Factors;

/// Contacts that a thread takes at a time.
const CHUNK: usize = 64;

/// How many sweeps a contact sleeps.
const SLEEP: u32 = 8;

/// A contact that changes by less than this part of the largest change sleeps.
const QUIET: f64 = 0.01;

/// Sweeps between two looks at the errors.
const SWEEPS: usize = 4;

/// The solver in the table.
pub const ENTRY: SolverEntry = SolverEntry {
    name: "gauss-seidel",
    help: "One contact after the other, each exactly, on the Delassus operator (Jean 1999); a reference for small problems.",
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
            help: "Whether Newton steps on the contacts follow where sweeps do not converge.",
            kind: OptionKind::Flag,
            default: OptionValue::Flag(true),
        },
    ],
    build: |options| {
        Box::new(Refining {
            solver: GaussSeidel::new(options.flag("sleep")),
            polishes: options.flag("polish"),
        })
    },
    iterations: Iterations {
        alone: 10_000,
        in_step: 2000,
    },
};

/// Solves a problem in the impulses from those given, until both of its errors are within the
/// tolerance.
pub fn solve(
    problem: &DelassusProblem,
    sleeps: bool,
    limits: Limits,
    impulses: &mut [DVec3],
) -> Outcome {
    sweep_until(
        problem,
        sleeps,
        limits,
        (impulses, |impulses: &[DVec3]| {
            problem.errors(impulses).largest()
        }),
    )
}

/// The solver of nodal problems.
#[derive(Debug, Default)]
pub struct GaussSeidel {
    /// Whether contacts that hardly change sleep for a few sweeps.
    sleeps: bool,
    condenser: Condenser,
}

impl GaussSeidel {
    /// A solver without any memory yet.
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
        factors: &mut Factors,
        warm: &WarmStart,
        limits: Limits,
        is_changed: &dyn Fn(usize) -> bool,
    ) -> Result<(Solution, Outcome), SolveError> {
        let factor = factors.of(&problem.system)?;
        let (posed, solves) = self.condenser.pose(problem, factor, is_changed)?;
        let mut impulses = to_local(problem, &warm.impulses_of(problem));
        let error = |impulses: &[DVec3]| contact_error(problem, &posed, impulses);
        let mut outcome = sweep_until(&posed, self.sleeps, limits, (&mut impulses, error));
        let solution = to_solution(problem, factor, &impulses);
        let errors = problem.errors(factor, &solution.velocities, &solution.impulses);
        outcome.is_converged = errors.largest() <= limits.tolerance;
        outcome.solves += solves + 2;
        Ok((solution, outcome))
    }
}

/// Sweeps from some impulses until the error, which a function tells, is within the tolerance. The
/// best impulses seen are returned.
fn sweep_until(
    problem: &DelassusProblem,
    sleeps: bool,
    limits: Limits,
    (impulses, error): (&mut [DVec3], impl Fn(&[DVec3]) -> f64),
) -> Outcome {
    let mut sweeper = Sweeper::new(problem, sleeps);
    let mut outcome = Outcome::default();
    let mut best = (error(impulses), impulses.to_vec());
    while best.0.is_nan() || best.0 > limits.tolerance {
        if outcome.iterations >= limits.iterations {
            impulses.copy_from_slice(&best.1);
            return outcome;
        }
        let sweeps = SWEEPS.min(limits.iterations - outcome.iterations);
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

/// Sweeps over all contacts.
#[derive(Clone, Debug)]
pub struct Sweeper {
    coloring: Coloring,
    sleep: Vec<u32>,
    sleeps: bool,
    /// The largest change of an impulse in the last sweep, times ‖W_cc‖ (m/s).
    change: f64,
    /// ‖W_cc‖.
    scales: Vec<f64>,
}

impl Sweeper {
    /// For a problem.
    pub fn new(problem: &DelassusProblem, sleeps: bool) -> Self {
        let operator = &problem.operator;
        let neighbours = |contact: usize| operator.row(contact).0.iter().copied();
        let scale = |contact: usize| crate::symmetric::spectral_norm(operator.diagonal(contact));
        Self {
            coloring: Coloring::of_graph(problem.contacts(), neighbours),
            sleep: vec![0; problem.contacts()],
            sleeps,
            change: 0.0,
            scales: (0..problem.contacts()).map(scale).collect(),
        }
    }

    /// Solves every contact that is awake once, given all others. Contacts of a stage do not see each other, so that their answers can
    /// be written down afterwards.
    pub fn sweep(&mut self, problem: &DelassusProblem, impulses: &mut [DVec3]) {
        let quiet = if self.sleeps {
            QUIET * self.change
        } else {
            0.0
        };
        let mut change = 0.0;
        let coloring = std::mem::take(&mut self.coloring);
        for stage in &coloring.stages {
            let contacts = &coloring.order[stage.clone()];
            let solve = |contact: &u32| self.solve_contact(problem, impulses, *contact as usize);
            let answers: Vec<DVec3> = match contacts.len() > CHUNK {
                true => contacts.par_iter().with_min_len(CHUNK).map(solve).collect(),
                false => contacts.iter().map(solve).collect(),
            };
            for (contact, answer) in contacts.iter().zip(answers) {
                change = larger(
                    change,
                    self.take(*contact as usize, answer, impulses, quiet),
                );
            }
        }
        for contact in &coloring.order[coloring.rest.clone()] {
            let answer = self.solve_contact(problem, impulses, *contact as usize);
            change = larger(
                change,
                self.take(*contact as usize, answer, impulses, quiet),
            );
        }
        self.coloring = coloring;
        self.change = change;
    }

    /// What a contact's impulse should be; as it is if it sleeps, or has no solution.
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

    /// Takes over an answer; how much it changes the contact's velocity.
    fn take(&mut self, contact: usize, answer: DVec3, impulses: &mut [DVec3], quiet: f64) -> f64 {
        if self.sleep[contact] > 0 {
            self.sleep[contact] -= 1;
            return 0.0;
        }
        let change = (answer - impulses[contact]).length() * self.scales[contact];
        impulses[contact] = answer;
        if change < quiet {
            self.sleep[contact] = SLEEP;
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

    fn solve_nodal(problem: &NodalProblem, limits: Limits) -> (Solution, Outcome) {
        let (mut solver, warm) = (GaussSeidel::new(true), WarmStart::default());
        let mut factors = Factors::default();
        solver
            .solve_fixed(problem, &mut factors, &warm, limits, &|_| true)
            .unwrap()
    }

    /// A row of blocks that push each other along, on the ground: each contact sees its neighbours.
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
    fn both_errors_get_below_the_tolerance() {
        for tolerance in [1e-4, 1e-8, 1e-12] {
            let problem = row(300);
            let mut impulses = vec![DVec3::ZERO; 300];
            let outcome = solve(&problem, true, ENTRY.limits(tolerance), &mut impulses);
            assert!(outcome.is_converged, "{outcome:?}");
            assert!(problem.errors(&impulses).largest() <= tolerance);
        }
    }

    #[test]
    fn sleeping_contacts_wake_up_in_time() {
        let problem = row(300);
        let solve = |sleeps: bool| {
            let mut impulses = vec![DVec3::ZERO; 300];
            assert!(solve(&problem, sleeps, ENTRY.limits(1e-10), &mut impulses).is_converged);
            impulses
        };
        // The operator is positive definite, so that the answer is one.
        let (one, other) = (solve(true), solve(false));
        let apart = one.iter().zip(&other).map(|(a, b)| (*a - *b).length());
        assert!(apart.fold(0.0, f64::max) < 1e-8);
    }

    #[test]
    fn one_thread_and_two_give_the_same_bits() {
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
    fn other_units_take_as_many_sweeps() {
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
                // Errors are looked at after every few sweeps.
                let apart = here.abs_diff(count(&other, 1e-7 * lengths));
                assert!(apart <= SWEEPS, "seed {seed}: {apart} sweeps apart");
            }
        }
    }

    #[test]
    fn what_cannot_be_met_ends_and_says_so() {
        // Nothing can push this contact apart.
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
