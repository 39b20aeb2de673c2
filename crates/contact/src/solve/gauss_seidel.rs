//! The solver `gauss-seidel`: one contact after the other, each exactly, on the Delassus operator (Jean 1999; Daviet et al. 2011).
//!
//! The reference for other solvers. Contacts that are no neighbours are solved side by side, in stages; contacts that hardly
//! change sleep for a few sweeps.

use glam::DVec3;
use rayon::prelude::*;

use super::coloring::Coloring;
use super::condensed::contact_error;
use super::{Outcome, SolveError, Warm};
use crate::delassus::DelassusProblem;
use crate::delassus::nodal::{Inverses, to_local, to_solution};
use crate::law;
use crate::problem::{NodalProblem, Solution, larger};
use crate::system::SystemFactor;

/// Contacts that a thread takes at a time.
const CHUNK: usize = 64;

/// How many sweeps a contact sleeps.
const SLEEP: u32 = 8;

/// A contact that changes by less than this part of the largest change sleeps.
const QUIET: f64 = 0.01;

/// Sweeps between two looks at the errors.
const SWEEPS: usize = 4;

/// How Gauss-Seidel goes about it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// What may be left of the errors.
    pub tolerance: f64,
    /// It ends after so many sweeps, converged or not.
    pub most_sweeps: usize,
    /// Whether contacts that hardly change sleep for a few sweeps.
    pub sleeps: bool,
}

impl Settings {
    /// What holds in general.
    pub fn new(tolerance: f64) -> Self {
        Self {
            tolerance,
            most_sweeps: 10_000,
            sleeps: true,
        }
    }
}

/// Solves a problem in the impulses from those given, until both of its errors are within the tolerance.
pub fn solve(problem: &DelassusProblem, settings: Settings, impulses: &mut [DVec3]) -> Outcome {
    sweep_until(problem, settings, impulses, |impulses| {
        problem.errors(impulses).largest()
    })
}

/// Solves a problem in velocities and impulses; `factor` is that of A.
///
/// # Errors
/// If too many nodes of a body are touched.
pub fn solve_nodal(
    problem: &NodalProblem,
    factor: &SystemFactor,
    warm: &Warm,
    settings: Settings,
) -> Result<(Solution, Outcome), SolveError> {
    let (inverses, solves) = Inverses::new(problem, factor)?;
    let posed = inverses.pose(problem, factor);
    let mut impulses = to_local(problem, &warm.impulses_of(problem));
    let error = |impulses: &[DVec3]| contact_error(problem, &posed, impulses);
    let mut outcome = sweep_until(&posed, settings, &mut impulses, error);
    let solution = to_solution(problem, factor, &impulses);
    let errors = problem.errors(factor, &solution.velocities, &solution.impulses);
    outcome.is_converged = errors.largest() <= settings.tolerance;
    outcome.products += solves + 3;
    Ok((solution, outcome))
}

/// Sweeps until the error is within the tolerance. The best impulses seen are returned.
fn sweep_until(
    problem: &DelassusProblem,
    settings: Settings,
    impulses: &mut [DVec3],
    error: impl Fn(&[DVec3]) -> f64,
) -> Outcome {
    let mut sweeper = Sweeper::new(problem, settings.sleeps);
    let mut outcome = Outcome::default();
    let mut best = (error(impulses), impulses.to_vec());
    while best.0.is_nan() || best.0 > settings.tolerance {
        if outcome.iterations >= settings.most_sweeps {
            impulses.copy_from_slice(&best.1);
            return outcome;
        }
        for _ in 0..SWEEPS {
            sweeper.sweep(problem, impulses);
        }
        outcome.iterations += SWEEPS;
        let found = error(impulses);
        if best.0.is_nan() || found < best.0 {
            best = (found, impulses.to_vec());
        }
        outcome.products += SWEEPS + 1;
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
            let outcome = solve(&problem, Settings::new(tolerance), &mut impulses);
            assert!(outcome.is_converged, "{outcome:?}");
            assert!(problem.errors(&impulses).largest() <= tolerance);
        }
    }

    #[test]
    fn sleeping_contacts_wake_up_in_time() {
        let problem = row(300);
        let solve = |sleeps: bool| {
            let mut impulses = vec![DVec3::ZERO; 300];
            let settings = Settings {
                sleeps,
                ..Settings::new(1e-10)
            };
            assert!(solve(&problem, settings, &mut impulses).is_converged);
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
            pool.install(|| solve(&problem, Settings::new(1e-9), &mut impulses));
            impulses
        };
        assert!(solve(1) == solve(2));
    }

    #[test]
    fn other_units_take_as_many_sweeps() {
        let count = |problem: &NodalProblem, tolerance: f64| {
            let mut factor = SystemFactor::of(&problem.system).unwrap();
            factor.factorize(&problem.system).unwrap();
            let settings = Settings::new(tolerance);
            let (_, outcome) = solve_nodal(problem, &factor, &Warm::default(), settings).unwrap();
            assert!(outcome.is_converged);
            outcome.iterations
        };
        for seed in 0..10 {
            let problem = samples::random(seed, 4, 12);
            let here = count(&problem, 1e-7);
            for (lengths, masses, times) in [(1e3, 1.0, 1.0), (1.0, 1e-3, 1.0), (1.0, 1.0, 1e3)] {
                let (other, _) =
                    samples::rescale(&problem, &Warm::default(), lengths, masses, times);
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
        let settings = Settings {
            most_sweeps: 100,
            ..Settings::new(1e-6)
        };
        let mut impulses = vec![DVec3::ZERO];
        let outcome = solve(&problem, settings, &mut impulses);
        assert!(!outcome.is_converged && outcome.iterations == 100);
        assert!(impulses[0].is_finite());
        let world = samples::contradictory();
        let nodal = world.problem(0.01);
        let mut factor = SystemFactor::of(&nodal.system).unwrap();
        factor.factorize(&nodal.system).unwrap();
        let settings = Settings {
            most_sweeps: 100,
            ..Settings::new(1e-6)
        };
        let (_, outcome) = solve_nodal(&nodal, &factor, &Warm::default(), settings).unwrap();
        assert!(!outcome.is_converged);
    }
}
