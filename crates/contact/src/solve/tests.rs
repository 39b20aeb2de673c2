//! Every solver of the table, on worlds of every kind.

use super::options::{OptionValue, Options};
use super::table::{SOLVERS, SolverEntry};
use super::*;
use crate::problem::{Contacts, Errors};
use crate::samples::{self, Captured, World};
use crate::system::SystemFactor;

/// A solve with a polish or without, if the solver has that option.
fn run(
    entry: &SolverEntry,
    of: &Captured,
    limits: Limits,
    polishes: bool,
) -> (Solution, Outcome, Errors) {
    let mut options = Options::defaults(entry.options);
    options.set("polish", OptionValue::Flag(polishes));
    let mut solver = (entry.build)(&options);
    let (mut problem, mut factors) = (of.problem.clone(), Factors::default());
    let solved = solver.solve(&mut problem, &mut factors, &of.warm, limits, &mut Unrefined);
    let (solution, outcome) = solved.unwrap();
    let factor = factors.of(&problem.system).unwrap();
    let errors = problem.errors(factor, &solution.velocities, &solution.impulses);
    assert_eq!(
        outcome.is_converged,
        errors.largest() <= limits.tolerance,
        "{} says otherwise than the yardstick: {errors:?}",
        entry.name
    );
    (solution, outcome, errors)
}

/// Some problems of a world.
fn capture(world: World, count: usize) -> Vec<Captured> {
    samples::capture(world, 0.01, count, |problem, warm| {
        let of = Captured {
            problem: problem.clone(),
            warm: warm.clone(),
        };
        run(&robust::ENTRY, &of, robust::ENTRY.limits(1e-9), true).0
    })
}

/// A problem by itself.
fn alone(problem: NodalProblem) -> Captured {
    Captured {
        problem,
        warm: WarmStart::default(),
    }
}

#[test]
fn every_solver_solves_every_world_or_says_that_it_did_not() {
    for young in [1e5, 1e9] {
        for (name, world) in samples::worlds(young) {
            let captured = capture(world, 5);
            // Stiff rods that cross are hard to all but the most robust.
            let is_hard = name == "crossing" && young == 1e9;
            // As it lands, and a little later.
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
fn every_solver_solves_random_problems_and_a_heap() {
    let random = (0..20).map(|seed| samples::random(seed, 4, 12));
    for problem in random.chain([samples::heap(300)]) {
        let of = alone(problem);
        for entry in &SOLVERS {
            let (_, outcome, errors) = run(entry, &of, entry.limits(1e-8), true);
            assert!(outcome.is_converged, "{}: {errors:?}", entry.name);
        }
    }
}

#[test]
fn no_solver_claims_to_have_met_a_contradiction() {
    let of = alone(samples::contradictory().problem(0.01));
    for entry in &SOLVERS {
        let limits = Limits {
            tolerance: 1e-8,
            iterations: 100,
        };
        let (solution, outcome, errors) = run(entry, &of, limits, true);
        assert!(!outcome.is_converged, "{}", entry.name);
        // Two planes that come together at 0.2 m/s leave half of that to one of them, for a step of
        // 0.01 s.
        assert!(errors.contact > 0.9e-3, "{}: {errors:?}", entry.name);
        assert!(solution.velocities.iter().all(|v| v.is_finite()));
    }
}

#[test]
fn newton_steps_end_what_few_sweeps_have_begun() {
    let of = capture(samples::stack(1e6, 2), 5).pop().unwrap();
    let few = Limits {
        tolerance: 1e-8,
        iterations: 8,
    };
    let (_, without, left) = run(&gauss_seidel::ENTRY, &of, few, false);
    let (_, with, found) = run(&gauss_seidel::ENTRY, &of, few, true);
    assert!(!without.is_converged && left.largest() > 1e-7, "{left:?}");
    assert!(with.is_converged && found.largest() <= 1e-8, "{found:?}");
    assert_eq!((without.iterations, with.iterations), (8, 8));
    assert!(with.solves > without.solves);
}

#[test]
fn limits_are_kept_to_the_iteration() {
    // Gauss-Seidel looks at errors after every four sweeps, but ends in between.
    let of = capture(samples::stack(1e6, 2), 3).pop().unwrap();
    for iterations in [0, 1, 3, 6, 9] {
        for entry in [gauss_seidel::ENTRY, admm::ENTRY] {
            let limits = Limits {
                tolerance: 1e-15,
                iterations,
            };
            let (solution, outcome, _) = run(&entry, &of, limits, false);
            assert_eq!(outcome.iterations, iterations, "{}", entry.name);
            assert_eq!(solution.impulses.len(), of.problem.contacts.len());
        }
    }
}

#[test]
fn a_problem_without_contacts_is_one_solve() {
    for world in [samples::cube(1e6, 2, 0.4, 0.2), samples::tied(1e6, 2)] {
        let mut problem = world.problem(0.01);
        problem.contacts = Contacts::new();
        let mut factor = SystemFactor::of(&problem.system).unwrap();
        factor.factorize(&problem.system).unwrap();
        let mut wanted = problem.force.clone();
        factor.solve_in_place(&problem.system, &mut wanted);
        assert!(wanted.iter().any(|v| *v != 0.0));
        let of = alone(problem);
        for entry in &SOLVERS {
            let (solution, outcome, _) = run(entry, &of, entry.limits(1e-8), true);
            assert_eq!(solution, Solution::new(wanted.clone(), Vec::new()));
            let once = Outcome {
                solves: 1,
                factorizations: 1,
                is_converged: true,
                ..Outcome::default()
            };
            assert_eq!(outcome, once, "{}", entry.name);
        }
    }
}

#[test]
fn admm_counts_a_solve_for_every_iteration_and_every_check() {
    let of = capture(samples::cube(1e6, 3, 0.4, 0.2), 6).pop().unwrap();
    let of = alone(of.problem);
    let limits = admm::ENTRY.limits(1e-8);
    let (_, outcome, _) = run(&admm::ENTRY, &of, limits, false);
    assert!(outcome.is_converged && outcome.iterations > 1);
    // Nothing is tied, so that a solve goes through the factors once: with A + W in an iteration,
    // with A in a check, which also multiplies. No answer counts unchecked.
    assert!(outcome.products >= 1);
    assert_eq!(outcome.solves, outcome.iterations + outcome.products);
    assert_eq!((outcome.factorizations, outcome.linearisations), (2, 0));
}

#[test]
fn only_factorizations_of_this_solve_are_counted() {
    let of = capture(samples::cube(1e6, 2, 0.4, 0.2), 4).pop().unwrap();
    for entry in &SOLVERS {
        let (mut problem, mut factors) = (of.problem.clone(), Factors::default());
        let (mut solver, limits) = (entry.default(), entry.limits(1e-8));
        let mut count = || {
            let solved = solver.solve(&mut problem, &mut factors, &of.warm, limits, &mut Unrefined);
            solved.unwrap().1.factorizations
        };
        // A, which stays, and for ADMM A + W, which is made anew: weights belong to a solve.
        let own = usize::from(entry.name == "admm");
        assert_eq!([count(), count()], [1 + own, own], "{}", entry.name);
    }
}

/// Adds contacts to a problem that has none.
struct Found(Option<Contacts>);

impl Refine for Found {
    fn refine(&mut self, problem: &mut NodalProblem, _: &[f64], _: bool) -> Refined {
        let Some(contacts) = self.0.take() else {
            return Refined::default();
        };
        problem.contacts = contacts;
        Refined {
            added: problem.contacts.iter().map(|contact| contact.id).collect(),
            ..Refined::default()
        }
    }
}

#[test]
fn contacts_found_along_the_free_motion_cost_a_linearisation_and_no_factorization() {
    let of = capture(samples::cube(1e6, 2, 0.4, 0.2), 6).pop().unwrap();
    for entry in &SOLVERS {
        let (mut problem, mut factors) = (of.problem.clone(), Factors::default());
        let mut found = Found(Some(std::mem::take(&mut problem.contacts)));
        let limits = entry.limits(1e-8);
        let mut solver = entry.default();
        let solved = solver.solve(&mut problem, &mut factors, &of.warm, limits, &mut found);
        let (solution, outcome) = solved.unwrap();
        let factor = factors.fresh().unwrap();
        let errors = of
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
fn a_matrix_without_a_factor_is_told_and_not_solved() {
    for mut problem in [samples::random(1, 2, 3), samples::random(1, 2, 0)] {
        let dofs = problem.system.bodies[1].matrix.dofs();
        problem.system.bodies[1]
            .matrix
            .add_diagonal(&vec![-1e3; dofs]);
        for entry in &SOLVERS {
            let (mut factors, warm) = (Factors::default(), WarmStart::default());
            let limits = entry.limits(1e-8);
            let mut solver = entry.default();
            let solved = solver.solve(&mut problem, &mut factors, &warm, limits, &mut Unrefined);
            let error = solved.map(|_| ()).unwrap_err();
            assert!(matches!(error, SolveError::Factor(of) if of.body == 1));
        }
    }
}
