//! ADMM on sample problems, tested by the errors of the problem and against Gauss-Seidel.

use glam::DVec3;

use super::*;
use crate::problem::{Contact, Contacts, nan_max};
use crate::samples::{self, CapturedStep, World};
use crate::solve::gauss_seidel::{self, GaussSeidel};
use crate::solve::refinement::FixedSolver;
use crate::solve::{NoRefinement, Refinement};

fn factorized(problem: &NodalProblem) -> SystemFactor {
    let mut factor = SystemFactor::for_system(&problem.system).unwrap();
    factor.factorize(&problem.system).unwrap();
    factor
}

/// Solves to a tolerance. Returns the solution with its errors.
fn run(
    sample: &CapturedStep,
    options: AdmmOptions,
    tolerance: f64,
) -> (Solution, SolveOutcome, Errors) {
    run_within(sample, options, ENTRY.limits(tolerance))
}

fn run_within(
    sample: &CapturedStep,
    options: AdmmOptions,
    limits: Limits,
) -> (Solution, SolveOutcome, Errors) {
    let mut problem = sample.problem.clone();
    let mut factors = FactorCache::default();
    let (solution, outcome) = Admm::new(options)
        .solve(
            &mut problem,
            &mut factors,
            &sample.warm,
            limits,
            &mut NoRefinement,
        )
        .unwrap();
    let factor = factors.fresh().unwrap();
    let errors = problem.errors(factor, &solution.velocities, &solution.impulses);
    assert_eq!(
        outcome.is_converged,
        errors.largest() <= limits.tolerance,
        "convergence disagrees with the errors: {errors:?}"
    );
    (solution, outcome, errors)
}

fn capture(world: World, step: f64, count: usize) -> Vec<CapturedStep> {
    samples::capture(world, step, count, |problem, warm| {
        let sample = CapturedStep {
            problem: problem.clone(),
            warm: warm.clone(),
        };
        run(&sample, AdmmOptions::default(), 1e-8).0
    })
}

fn worlds(young: f64) -> Vec<(&'static str, World)> {
    vec![
        ("cube", samples::cube(young, 3, 0.4, 0.2)),
        ("thrown", samples::thrown(young, 3, 0.3)),
        ("stack", samples::stack(young, 2)),
        ("affine", samples::affine(young, 3)),
        ("wall", samples::wall(young, 3)),
        ("brick", samples::brick(young, 10, 0.4, 0.2)),
        ("chain", samples::chain(young, 3)),
        ("crossing", samples::crossing(young, 2)),
        ("cloth", samples::cloth(young, 8)),
        ("layers", samples::layers(young, 5)),
        ("wedge", samples::wedge(young, 2, 0.3)),
        ("tied", samples::tied(young, 2)),
    ]
}

#[test]
fn every_world_converges_to_a_nanometre_soft_and_stiff() {
    for young in [1e5, 1e9] {
        for (name, world) in worlds(young) {
            for (step, sample) in capture(world, 0.01, 8).iter().enumerate() {
                let (_, outcome, errors) = run(sample, AdmmOptions::default(), 1e-9);
                assert!(
                    outcome.is_converged,
                    "{name} {young:e} step {step}: {errors:?}"
                );
            }
        }
    }
}

#[test]
fn velocities_agree_with_gauss_seidel() {
    // A wedge can jam in more than one way; all other worlds have unique velocities.
    for (name, world) in worlds(1e6).into_iter().filter(|(name, _)| *name != "wedge") {
        for sample in capture(world, 0.01, 5) {
            let (ours, _, _) = run(&sample, AdmmOptions::default(), 1e-10);
            let limits = gauss_seidel::ENTRY.limits(1e-10);
            let (theirs, outcome) = GaussSeidel::new(true)
                .solve_fixed(
                    &sample.problem,
                    &mut FactorCache::default(),
                    &sample.warm,
                    limits,
                    &|_| true,
                )
                .unwrap();
            if !outcome.is_converged {
                continue;
            }
            let difference: Vec<f64> = ours
                .velocities
                .iter()
                .zip(&theirs.velocities)
                .map(|(a, b)| a - b)
                .collect();
            let distance = sample.problem.largest_displacement(&difference);
            // Impulses need not be unique. Errors of velocities accumulate along a body.
            assert!(distance < 1e-8, "{name}: {distance} m");
        }
    }
}

#[test]
fn both_local_solvers_converge_to_the_same_velocities() {
    for (name, world) in worlds(1e6) {
        for sample in capture(world, 0.01, 4) {
            let solve = |local: LocalSolver| {
                let options = AdmmOptions {
                    local,
                    ..AdmmOptions::default()
                };
                run(&sample, options, 1e-9)
            };
            let [one, other] = [LocalSolver::Isotropic, LocalSolver::General].map(solve);
            let pairs = one.0.velocities.iter().zip(&other.0.velocities);
            let distance = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            // An error of 1e-9 m in a step of 10 ms is a tenth of a micrometre per second, of which
            // a wedged cube makes more than thirty times that.
            assert!(one.1.is_converged && other.1.is_converged, "{name}");
            assert!(distance < 1e-5, "{name}: {distance} m/s");
        }
    }
}

#[test]
fn random_problems_with_cohesion_and_compliance_converge() {
    for seed in 0..60 {
        let problem = samples::random(seed, 4, 12);
        problem.check().unwrap();
        let sample = CapturedStep {
            problem,
            warm: WarmStart::default(),
        };
        let (_, outcome, errors) = run(&sample, AdmmOptions::default(), 1e-8);
        assert!(outcome.is_converged, "seed {seed}: {errors:?}");
    }
}

#[test]
fn rest_is_a_fixed_point() {
    let world = samples::cube(1e7, 3, 0.1, 0.5);
    let captured = capture(world, 0.01, 60);
    let last = captured.last().unwrap();
    let (_, outcome, _) = run(last, AdmmOptions::default(), 1e-7);
    // The cube has been sticking to the incline for half a second.
    assert!(outcome.iterations <= 3, "{outcome:?}");
}

#[test]
fn the_number_of_iterations_does_not_depend_on_units() {
    for (name, world) in [
        ("cube", samples::cube(1e7, 3, 0.4, 0.2)),
        ("affine", samples::affine(1e7, 3)),
        ("crossing", samples::crossing(1e7, 2)),
    ] {
        for sample in capture(world, 0.01, 6) {
            let (_, here, _) = run(&sample, AdmmOptions::default(), 1e-6);
            for (lengths, masses, times) in [
                (1e3, 1.0, 1.0),
                (1.0, 1e-3, 1.0),
                (1.0, 1.0, 1e3),
                (1e-3, 1e3, 1e-3),
            ] {
                let (problem, warm) =
                    samples::rescale(&sample.problem, &sample.warm, lengths, masses, times);
                let there = CapturedStep { problem, warm };
                let (_, there, _) = run(&there, AdmmOptions::default(), 1e-6 * lengths);
                let distance = here.iterations.abs_diff(there.iterations);
                assert!(
                    distance <= 1,
                    "{name}: {here:?} {there:?} for {lengths} {masses} {times}"
                );
            }
        }
    }
}

#[test]
fn results_are_bit_identical_on_one_to_three_threads() {
    // Enough contacts for several chunks in a stage.
    let sample = CapturedStep {
        problem: samples::heap(20_000),
        warm: WarmStart::default(),
    };
    let options = AdmmOptions {
        polishes: false,
        ..AdmmOptions::default()
    };
    let limits = Limits {
        tolerance: 1e-12,
        iterations: 8,
    };
    let solve = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| run_within(&sample, options, limits).0)
    };
    let (one, two, three) = (solve(1), solve(2), solve(3));
    assert!(one == two && two == three);
    assert!(one.impulses.iter().any(|r| *r != DVec3::ZERO));
}

/// Adds all contacts at the third call.
struct LateContacts {
    contacts: Contacts,
    calls: usize,
}

impl Refine for LateContacts {
    fn refine(&mut self, problem: &mut NodalProblem, velocities: &[f64], _: bool) -> Refinement {
        assert_eq!(velocities.len(), problem.system.dofs());
        self.calls += 1;
        let is_third = self.calls == 3;
        if is_third {
            problem.contacts = self.contacts.clone();
        }
        let added = problem.contacts.iter().map(|contact| contact.id);
        Refinement {
            added: added.filter(|_| is_third).collect(),
            ..Refinement::default()
        }
    }
}

#[test]
fn contacts_that_a_refinement_adds_are_solved() {
    let captured = capture(samples::cube(1e6, 3, 0.4, 0.2), 0.01, 6);
    let sample = captured.last().unwrap();
    let mut problem = sample.problem.clone();
    let all = problem.contacts.clone();
    let mut some = Contacts::new();
    for contact in (0..all.len()).step_by(3) {
        some.push(all[contact], all.stencil(contact).iter().copied());
    }
    problem.contacts = some;
    let mut late = LateContacts {
        contacts: all,
        calls: 0,
    };
    let mut factors = FactorCache::default();
    let options = AdmmOptions {
        refine_every: 2,
        ..AdmmOptions::default()
    };
    let mut solver = Admm::new(options);
    let (solution, outcome) = solver
        .solve(
            &mut problem,
            &mut factors,
            &sample.warm,
            ENTRY.limits(1e-9),
            &mut late,
        )
        .unwrap();
    assert!(outcome.is_converged && late.calls >= 3, "{outcome:?}");
    assert_eq!(problem.contacts.len(), sample.problem.contacts.len());
    let (whole, _, _) = run(sample, AdmmOptions::default(), 1e-9);
    let difference: Vec<f64> = solution
        .velocities
        .iter()
        .zip(&whole.velocities)
        .map(|(a, b)| a - b)
        .collect();
    let distance = sample.problem.largest_displacement(&difference);
    assert!(distance < 1e-7, "{distance} m");
}

#[test]
fn every_solution_is_refined_before_it_is_returned() {
    let captured = capture(samples::cube(1e6, 2, 0.4, 0.2), 0.01, 6);
    let sample = captured.last().unwrap();
    let mut problem = sample.problem.clone();
    let all = problem.contacts.clone();
    problem.contacts = Contacts::new();
    // The first solution has no contacts; it is refined long before the refinement interval.
    let mut late = LateContacts {
        contacts: all,
        calls: 2,
    };
    let mut factors = FactorCache::default();
    let options = AdmmOptions {
        refine_every: 1000,
        ..AdmmOptions::default()
    };
    let mut solver = Admm::new(options);
    let (solution, outcome) = solver
        .solve(
            &mut problem,
            &mut factors,
            &sample.warm,
            ENTRY.limits(1e-8),
            &mut late,
        )
        .unwrap();
    assert!(outcome.is_converged && late.calls == 4, "{outcome:?}");
    let errors = sample.problem.errors(
        factors.fresh().unwrap(),
        &solution.velocities,
        &solution.impulses,
    );
    assert!(errors.largest() <= 1e-8, "{errors:?}");
}

/// A refinement that is due at every third poll, and for solutions.
#[derive(Default)]
struct EveryThird {
    polls: usize,
    due: usize,
    calls: usize,
}

impl Refine for EveryThird {
    fn poll(&mut self, is_solution: bool) -> bool {
        self.polls += 1;
        let is_due = is_solution || self.polls.is_multiple_of(3);
        self.due += usize::from(is_due);
        is_due
    }

    fn refine(&mut self, _: &mut NodalProblem, _: &[f64], _: bool) -> Refinement {
        self.calls += 1;
        Refinement::default()
    }
}

#[test]
fn a_refinement_is_called_only_when_its_poll_says_so() {
    let captured = capture(samples::cube(1e6, 3, 0.4, 0.2), 0.01, 6);
    let sample = captured.last().unwrap();
    let mut problem = sample.problem.clone();
    let mut factors = FactorCache::default();
    let options = AdmmOptions {
        refine_every: 1,
        starts_unconstrained: true,
        polishes: false,
        ..AdmmOptions::default()
    };
    let mut refine = EveryThird::default();
    let (warm, limits) = (WarmStart::default(), ENTRY.limits(1e-8));
    let solved = Admm::new(options).solve(&mut problem, &mut factors, &warm, limits, &mut refine);
    let (_, outcome) = solved.unwrap();
    assert!(outcome.is_converged);
    // Polled in every iteration; called every third time, and for the solution.
    assert_eq!(refine.polls, outcome.iterations);
    assert!(refine.polls > 3, "{}", refine.polls);
    assert_eq!(refine.calls, refine.due);
    assert!(refine.calls <= refine.polls / 3 + 1);
}

/// Doubles the mass of the first body at the first call.
struct DoubleMass(bool);

impl Refine for DoubleMass {
    fn refine(&mut self, problem: &mut NodalProblem, _: &[f64], _: bool) -> Refinement {
        if std::mem::replace(&mut self.0, true) {
            return Refinement::default();
        }
        let dofs = problem.system.bodies[0].matrix.dofs();
        let masses: Vec<f64> = problem.masses.iter().flat_map(|m| [*m; 3]).collect();
        problem.system.bodies[0]
            .matrix
            .add_diagonal(&masses[..dofs]);
        Refinement {
            bodies: vec![0],
            ..Refinement::default()
        }
    }
}

#[test]
fn a_matrix_that_a_refinement_changes_is_factorized_again() {
    let captured = capture(samples::cube(1e6, 2, 0.4, 0.2), 0.01, 6);
    let sample = captured.last().unwrap();
    let mut problem = sample.problem.clone();
    let mut factors = FactorCache::default();
    let options = AdmmOptions {
        refine_every: 1,
        ..AdmmOptions::default()
    };
    let (solution, outcome) = Admm::new(options)
        .solve(
            &mut problem,
            &mut factors,
            &sample.warm,
            ENTRY.limits(1e-9),
            &mut DoubleMass(false),
        )
        .unwrap();
    assert!(outcome.is_converged);
    // By a new factor, for the heavier body.
    let errors = problem.errors(
        &factorized(&problem),
        &solution.velocities,
        &solution.impulses,
    );
    assert!(errors.largest() <= 1e-9, "{errors:?}");
    let lighter = sample.problem.errors(
        &factorized(&sample.problem),
        &solution.velocities,
        &solution.impulses,
    );
    assert!(lighter.largest() > 1e-6, "{lighter:?}");
}

#[test]
fn unsolvable_problems_end_at_the_limit_without_convergence() {
    let world = samples::contradictory();
    let sample = CapturedStep {
        problem: world.problem(0.01),
        warm: WarmStart::default(),
    };
    let limits = Limits {
        tolerance: 1e-6,
        iterations: 200,
    };
    let (_, outcome, errors) = run_within(&sample, AdmmOptions::default(), limits);
    assert!(!outcome.is_converged && outcome.iterations == 200);
    assert!(
        errors.largest().is_finite() && errors.largest() > 1e-6,
        "{errors:?}"
    );
}

#[test]
fn a_problem_without_contacts_takes_no_iterations() {
    let mut problem = samples::cube(1e6, 2, 0.4, 0.2).problem(0.01);
    problem.contacts = Contacts::new();
    let sample = CapturedStep {
        problem,
        warm: WarmStart::default(),
    };
    let (solution, outcome, errors) = run(&sample, AdmmOptions::default(), 1e-12);
    assert!(solution.impulses.is_empty());
    assert!(
        outcome.is_converged && outcome.iterations == 0,
        "{outcome:?} {errors:?}"
    );
}

#[test]
fn a_single_contact_agrees_with_a_brute_force_search() {
    // A particle against walls of several directions: u = r/m + u_free. The best r is found on
    // refined grids.
    for (normal, velocity, friction) in [
        (DVec3::Z, DVec3::new(1.0, 0.5, -1.0), 0.3),
        (DVec3::new(0.6, 0.0, 0.8), DVec3::new(-0.3, 0.2, -2.0), 0.9),
        (DVec3::X, DVec3::new(0.5, 1.0, 0.0), 0.5),
        (DVec3::Y, DVec3::new(0.1, -1.0, 0.0), 0.5),
    ] {
        let mut world = samples::random(1, 1, 1);
        world.contacts = Contacts::new();
        let contact = Contact {
            id: 1,
            normal,
            kinematic: velocity,
            friction,
            ..Contact::default()
        };
        world.contacts.push(contact, [(0, 1.0)]);
        let factor = factorized(&world);
        let sample = CapturedStep {
            problem: world,
            warm: WarmStart::default(),
        };
        let (solution, outcome, _) = run(&sample, AdmmOptions::default(), 1e-10);
        assert!(outcome.is_converged);
        let best = |around: DVec3, width: f64| {
            let steps = || (-8..=8).map(|k| width * f64::from(k) / 8.0);
            let mut best_so_far = (f64::INFINITY, DVec3::ZERO);
            for offset in steps()
                .flat_map(|x| steps().flat_map(move |y| steps().map(move |z| DVec3::new(x, y, z))))
            {
                let impulse = [around + offset];
                let velocities = sample.problem.velocities(&factor, &impulse);
                let error = sample.problem.contact_error(&velocities, &impulse);
                if error < best_so_far.0 {
                    best_so_far = (error, impulse[0]);
                }
            }
            best_so_far
        };
        let scale = solution.impulses[0].length().max(1.0);
        let mut found = best(DVec3::ZERO, 2.0 * scale);
        for level in 1..14 {
            found = best(found.1, 2.0 * scale * 0.4f64.powi(level));
        }
        assert!(
            (found.1 - solution.impulses[0]).length() < 1e-3 * scale,
            "{found:?} {:?}",
            solution.impulses
        );
    }
}

#[test]
fn changed_weights_of_the_same_nodes_are_detected() {
    // New contacts can raise the weights of nodes; A + W must be factorized again.
    for sample in capture(samples::stack(1e6, 2), 0.01, 2) {
        let problem = &sample.problem;
        let before = WeightedNodes::new(problem, WeightRule::Mobility);
        assert_eq!(changed_offsets(problem, &before, &before), [0; 0]);
        let mut after = before.clone();
        after.weights[0] *= 2.0;
        let offset = problem.system.node_offset[before.nodes[0] as usize];
        let found = changed_offsets(problem, &before, &after);
        assert_eq!(found, [offset]);
        let body = &problem.system.bodies[problem.system.body_of(offset)];
        assert!(any_within(&found, &body.dofs()));
        assert!(!any_within(&found, &(offset + 1..usize::MAX)));
    }
}

#[test]
fn a_weighted_system_with_ties_is_solved_to_rounding() {
    for sample in capture(samples::tied(1e6, 2), 0.01, 3) {
        let (problem, factor) = (&sample.problem, factorized(&sample.problem));
        let nodes = WeightedNodes::new(problem, AdmmOptions::default().weights);
        let mut weighted = WeightedSystem::new(problem, &factor).unwrap();
        weighted.update(problem, &nodes, |_| true).unwrap();
        let mut velocities = vec![0.0; problem.system.dofs()];
        let solves = weighted.solve(&mut problem.force.clone(), &mut velocities, 1e-12, 0.0);
        assert_eq!(solves, 1);
        let mut system = problem.system.clone();
        system.copy_with_weights(&problem.system, nodes.by_offset(), |_| true);
        let mut product = vec![0.0; velocities.len()];
        system.multiply(&velocities, &mut product);
        let largest = |entries: &[f64]| entries.iter().fold(0.0, |a: f64, b| nan_max(a, b.abs()));
        let residual: Vec<f64> = product
            .iter()
            .zip(&problem.force)
            .map(|(a, b)| a - b)
            .collect();
        // Rounding is relative to the internal forces of springs of 1e6 N/m, which are much larger
        // than the applied forces on nodes of grams.
        let (rest, force) = (largest(&residual), largest(&problem.force));
        assert!(rest < 1e-9 * force, "{rest} of {force}");
    }
}
