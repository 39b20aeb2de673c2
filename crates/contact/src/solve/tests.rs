//! All solvers of the table on all sample worlds.

use super::options::{OptionValue, Options};
use super::table::{SOLVERS, SolverEntry};
use super::*;
use crate::problem::{Contacts, Errors};
use crate::samples::{self, CapturedStep, World};
use crate::system::SystemFactor;

/// Solves with or without polish, if the solver has that option.
fn run(
    entry: &SolverEntry,
    sample: &CapturedStep,
    limits: Limits,
    polishes: bool,
) -> (Solution, SolveOutcome, Errors) {
    let mut options = Options::defaults(entry.options);
    options.set("polish", OptionValue::Flag(polishes));
    let mut solver = (entry.build)(&options);
    let (mut problem, mut factors) = (sample.problem.clone(), FactorCache::default());
    let solved = solver.solve(
        &mut problem,
        &mut factors,
        &sample.warm,
        limits,
        &mut NoRefinement,
    );
    let (solution, outcome) = solved.unwrap();
    let factor = factors.get(&problem.system).unwrap();
    let errors = problem.errors(factor, &solution.velocities, &solution.impulses);
    assert_eq!(
        outcome.is_converged,
        errors.largest() <= limits.tolerance,
        "{}: convergence disagrees with the errors: {errors:?}",
        entry.name
    );
    (solution, outcome, errors)
}

/// The first problems of a world.
fn capture(world: World, count: usize) -> Vec<CapturedStep> {
    samples::capture(world, 0.01, count, |problem, warm| {
        let sample = CapturedStep {
            problem: problem.clone(),
            warm: warm.clone(),
        };
        run(&robust::ENTRY, &sample, robust::ENTRY.limits(1e-9), true).0
    })
}

/// A problem without a warm start.
fn cold(problem: NodalProblem) -> CapturedStep {
    CapturedStep {
        problem,
        warm: WarmStart::default(),
    }
}

#[test]
fn all_solvers_converge_on_all_worlds_except_stiff_crossing_rods() {
    for young in [1e5, 1e9] {
        for (name, world) in samples::worlds(young) {
            let captured = capture(world, 5);
            // On stiff crossing rods only the robust solver converges reliably.
            let is_hard = name == "crossing" && young == 1e9;
            // At the landing, and two steps later.
            for step in [2, 4] {
                for entry in &SOLVERS {
                    let limits = entry.limits(1e-8);
                    let (_, outcome, errors) = run(entry, &captured[step], limits, true);
                    let solver = entry.name;
                    assert!(
                        outcome.is_converged || (is_hard && solver != "robust"),
                        "{solver}: {name} {young:e} step {step}: {errors:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn all_solvers_converge_on_random_problems_and_a_heap() {
    let random = (0..20).map(|seed| samples::random(seed, 4, 12));
    for problem in random.chain([samples::heap(300)]) {
        let sample = cold(problem);
        for entry in &SOLVERS {
            let (_, outcome, errors) = run(entry, &sample, entry.limits(1e-8), true);
            assert!(outcome.is_converged, "{}: {errors:?}", entry.name);
        }
    }
}

#[test]
fn no_solver_reports_convergence_on_an_unsolvable_problem() {
    let sample = cold(samples::contradictory().problem(0.01));
    for entry in &SOLVERS {
        let limits = Limits {
            tolerance: 1e-8,
            iterations: 100,
        };
        let (solution, outcome, errors) = run(entry, &sample, limits, true);
        assert!(!outcome.is_converged, "{}", entry.name);
        // Between two planes that approach at 0.2 m/s, one contact has at least 0.1 m/s for a step
        // of 0.01 s.
        assert!(errors.contact > 0.9e-3, "{}: {errors:?}", entry.name);
        assert!(solution.velocities.iter().all(|v| v.is_finite()));
    }
}

#[test]
fn newton_steps_converge_after_few_sweeps() {
    let sample = capture(samples::stack(1e6, 2), 5).pop().unwrap();
    let few = Limits {
        tolerance: 1e-8,
        iterations: 8,
    };
    let (_, without, left) = run(&gauss_seidel::ENTRY, &sample, few, false);
    let (_, with, found) = run(&gauss_seidel::ENTRY, &sample, few, true);
    assert!(!without.is_converged && left.largest() > 1e-7, "{left:?}");
    assert!(with.is_converged && found.largest() <= 1e-8, "{found:?}");
    assert_eq!((without.iterations, with.iterations), (8, 8));
    assert!(with.solves > without.solves);
}

#[test]
fn the_iteration_limit_is_exact() {
    // Gauss-Seidel computes errors every four sweeps, but can end in between.
    let sample = capture(samples::stack(1e6, 2), 3).pop().unwrap();
    for iterations in [0, 1, 3, 6, 9] {
        for entry in [gauss_seidel::ENTRY, admm::ENTRY] {
            let limits = Limits {
                tolerance: 1e-15,
                iterations,
            };
            let (solution, outcome, _) = run(&entry, &sample, limits, false);
            assert_eq!(outcome.iterations, iterations, "{}", entry.name);
            assert_eq!(solution.impulses.len(), sample.problem.contacts.len());
        }
    }
}

#[test]
fn a_problem_without_contacts_takes_one_solve() {
    for world in [samples::cube(1e6, 2, 0.4, 0.2), samples::tied(1e6, 2)] {
        let mut problem = world.problem(0.01);
        problem.contacts = Contacts::new();
        let mut factor = SystemFactor::for_system(&problem.system).unwrap();
        factor.factorize(&problem.system).unwrap();
        let mut wanted = problem.force.clone();
        factor.solve_in_place(&problem.system, &mut wanted);
        assert!(wanted.iter().any(|v| *v != 0.0));
        let sample = cold(problem);
        for entry in &SOLVERS {
            let (solution, outcome, _) = run(entry, &sample, entry.limits(1e-8), true);
            assert_eq!(solution, Solution::new(wanted.clone(), Vec::new()));
            let once = SolveOutcome {
                solves: 1,
                factorizations: 1,
                is_converged: true,
                ..SolveOutcome::default()
            };
            assert_eq!(outcome, once, "{}", entry.name);
        }
    }
}

#[test]
fn admm_counts_a_solve_for_every_iteration_and_every_check() {
    let sample = capture(samples::cube(1e6, 3, 0.4, 0.2), 6).pop().unwrap();
    let sample = cold(sample.problem);
    let limits = admm::ENTRY.limits(1e-8);
    let (_, outcome, _) = run(&admm::ENTRY, &sample, limits, false);
    assert!(outcome.is_converged && outcome.iterations > 1);
    // Without ties, an iteration is one solve with A + W, and a check is one solve and one product
    // with A. At least one check is needed for convergence.
    assert!(outcome.products >= 1);
    assert_eq!(outcome.solves, outcome.iterations + outcome.products);
    assert_eq!((outcome.factorizations, outcome.linearisations), (2, 0));
}

#[test]
fn only_factorizations_of_this_solve_are_counted() {
    let sample = capture(samples::cube(1e6, 2, 0.4, 0.2), 4).pop().unwrap();
    for entry in &SOLVERS {
        let (mut problem, mut factors) = (sample.problem.clone(), FactorCache::default());
        let (mut solver, limits) = (entry.build_default(), entry.limits(1e-8));
        let mut count = || {
            let solved = solver.solve(
                &mut problem,
                &mut factors,
                &sample.warm,
                limits,
                &mut NoRefinement,
            );
            solved.unwrap().1.factorizations
        };
        // A is factorized once. ADMM also factorizes A + W in every solve, for new weights.
        let own = usize::from(entry.name == "admm");
        assert_eq!([count(), count()], [1 + own, own], "{}", entry.name);
    }
}

/// Adds contacts at the first call.
struct LateContacts(Option<Contacts>);

impl Refine for LateContacts {
    fn refine(&mut self, problem: &mut NodalProblem, _: &[f64], _: bool) -> Refinement {
        let Some(contacts) = self.0.take() else {
            return Refinement::default();
        };
        problem.contacts = contacts;
        Refinement {
            added: problem.contacts.iter().map(|contact| contact.id).collect(),
            ..Refinement::default()
        }
    }
}

#[test]
fn contacts_added_to_a_free_problem_take_a_linearisation_and_no_factorization() {
    let sample = capture(samples::cube(1e6, 2, 0.4, 0.2), 6).pop().unwrap();
    for entry in &SOLVERS {
        let (mut problem, mut factors) = (sample.problem.clone(), FactorCache::default());
        let mut late = LateContacts(Some(std::mem::take(&mut problem.contacts)));
        let limits = entry.limits(1e-8);
        let mut solver = entry.build_default();
        let solved = solver.solve(&mut problem, &mut factors, &sample.warm, limits, &mut late);
        let (solution, outcome) = solved.unwrap();
        let factor = factors.fresh().unwrap();
        let errors = sample
            .problem
            .errors(factor, &solution.velocities, &solution.impulses);
        assert!(
            outcome.is_converged && errors.largest() <= 1e-8,
            "{errors:?}"
        );
        let own = usize::from(entry.name == "admm");
        assert_eq!(outcome.linearisations, 1, "{}", entry.name);
        assert_eq!(outcome.factorizations, 1 + own, "{}", entry.name);
    }
}

#[test]
fn an_indefinite_matrix_is_an_error_with_its_body() {
    for mut problem in [samples::random(1, 2, 3), samples::random(1, 2, 0)] {
        let dofs = problem.system.bodies[1].matrix.dofs();
        problem.system.bodies[1]
            .matrix
            .add_diagonal(&vec![-1e3; dofs]);
        for entry in &SOLVERS {
            let (mut factors, warm) = (FactorCache::default(), WarmStart::default());
            let limits = entry.limits(1e-8);
            let mut solver = entry.build_default();
            let solved = solver.solve(&mut problem, &mut factors, &warm, limits, &mut NoRefinement);
            let error = solved.map(|_| ()).unwrap_err();
            assert!(matches!(error, SolveError::Factor(error) if error.body == 1));
        }
    }
}
