//! ADMM on sample problems: against the errors of the problem itself and against Gauss-Seidel.

use glam::DVec3;

use super::*;
use crate::problem::{Contact, Contacts, larger};
use crate::samples::{self, Captured, World};
use crate::solve::gauss_seidel::{self, GaussSeidel};
use crate::solve::refining::FixedSolver;
use crate::solve::{Refined, Unrefined};

fn factorized(problem: &NodalProblem) -> SystemFactor {
    let mut factor = SystemFactor::of(&problem.system).unwrap();
    factor.factorize(&problem.system).unwrap();
    factor
}

/// Solves to a tolerance, and grades the answer.
fn run(of: &Captured, settings: Settings, tolerance: f64) -> (Solution, Outcome, Errors) {
    run_within(of, settings, ENTRY.limits(tolerance))
}

fn run_within(of: &Captured, settings: Settings, limits: Limits) -> (Solution, Outcome, Errors) {
    let mut problem = of.problem.clone();
    let mut factors = Factors::default();
    let (solution, outcome) = Admm::new(settings)
        .solve(&mut problem, &mut factors, &of.warm, limits, &mut Unrefined)
        .unwrap();
    let factor = factors.fresh().unwrap();
    let errors = problem.errors(factor, &solution.velocities, &solution.impulses);
    assert_eq!(
        outcome.is_converged,
        errors.largest() <= limits.tolerance,
        "a solver that says otherwise than the yardstick: {errors:?}"
    );
    (solution, outcome, errors)
}

fn capture(world: World, step: f64, count: usize) -> Vec<Captured> {
    samples::capture(world, step, count, |problem, warm| {
        let of = Captured {
            problem: problem.clone(),
            warm: warm.clone(),
        };
        run(&of, Settings::default(), 1e-8).0
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
fn every_world_is_solved_to_a_nanometre_soft_and_stiff() {
    for young in [1e5, 1e9] {
        for (name, world) in worlds(young) {
            for (step, of) in capture(world, 0.01, 8).iter().enumerate() {
                let (_, outcome, errors) = run(of, Settings::default(), 1e-9);
                assert!(
                    outcome.is_converged,
                    "{name} {young:e} step {step}: {errors:?}"
                );
            }
        }
    }
}

#[test]
fn velocities_are_those_of_gauss_seidel() {
    // A wedge can jam in more than one way; all others have one answer.
    for (name, world) in worlds(1e6).into_iter().filter(|(name, _)| *name != "wedge") {
        for of in capture(world, 0.01, 5) {
            let (ours, _, _) = run(&of, Settings::default(), 1e-10);
            let limits = gauss_seidel::ENTRY.limits(1e-10);
            let (theirs, outcome) = GaussSeidel::new(true)
                .solve_fixed(
                    &of.problem,
                    &mut Factors::default(),
                    &of.warm,
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
            let apart = of.problem.largest_displacement(&difference);
            // Impulses need not be unique, velocities nearly are: errors add up along a body.
            assert!(apart < 1e-8, "{name}: {apart} m apart");
        }
    }
}

#[test]
fn both_local_solvers_take_the_same_way() {
    for (name, world) in worlds(1e6) {
        for of in capture(world, 0.01, 4) {
            let way = |local: LocalSolver| {
                let settings = Settings {
                    local,
                    ..Settings::default()
                };
                run(&of, settings, 1e-8)
            };
            let [one, other] = [LocalSolver::Isotropic, LocalSolver::General].map(way);
            let pairs = one.0.velocities.iter().zip(&other.0.velocities);
            let apart = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            // Errors of 1e-8 m in a step of 10 ms are a micrometre per second, of what contacts ask for.
            assert!(one.1.is_converged && other.1.is_converged, "{name}");
            assert!(apart < 1e-5, "{name}: {apart} m/s");
        }
    }
}

#[test]
fn random_problems_are_solved_with_cohesion_and_compliance() {
    for seed in 0..60 {
        let problem = samples::random(seed, 4, 12);
        problem.check().unwrap();
        let of = Captured {
            problem,
            warm: WarmStart::default(),
        };
        let (_, outcome, errors) = run(&of, Settings::default(), 1e-8);
        assert!(outcome.is_converged, "seed {seed}: {errors:?}");
    }
}

#[test]
fn rest_is_a_fixed_point() {
    let world = samples::cube(1e7, 3, 0.1, 0.5);
    let captured = capture(world, 0.01, 60);
    let last = captured.last().unwrap();
    let (_, outcome, _) = run(last, Settings::default(), 1e-7);
    // It sticks to the incline, and has done so for half a second.
    assert!(outcome.iterations <= 3, "{outcome:?}");
}

#[test]
fn other_units_take_as_many_iterations() {
    for (name, world) in [
        ("cube", samples::cube(1e7, 3, 0.4, 0.2)),
        ("affine", samples::affine(1e7, 3)),
        ("crossing", samples::crossing(1e7, 2)),
    ] {
        for of in capture(world, 0.01, 6) {
            let (_, here, _) = run(&of, Settings::default(), 1e-6);
            for (lengths, masses, times) in [
                (1e3, 1.0, 1.0),
                (1.0, 1e-3, 1.0),
                (1.0, 1.0, 1e3),
                (1e-3, 1e3, 1e-3),
            ] {
                let (problem, warm) =
                    samples::rescale(&of.problem, &of.warm, lengths, masses, times);
                let there = Captured { problem, warm };
                let (_, there, _) = run(&there, Settings::default(), 1e-6 * lengths);
                let apart = here.iterations.abs_diff(there.iterations);
                assert!(
                    apart <= 1,
                    "{name}: {here:?} {there:?} for {lengths} {masses} {times}"
                );
            }
        }
    }
}

#[test]
fn one_thread_and_two_give_the_same_bits() {
    // Enough contacts for several chunks in a stage.
    let of = Captured {
        problem: samples::heap(20_000),
        warm: WarmStart::default(),
    };
    let settings = Settings {
        polishes: false,
        ..Settings::default()
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
        pool.install(|| run_within(&of, settings, limits).0)
    };
    let (one, two, three) = (solve(1), solve(2), solve(3));
    assert!(one == two && two == three);
    assert!(one.impulses.iter().any(|r| *r != DVec3::ZERO));
}

/// Adds the contacts that were kept back, at the third call.
struct Late {
    contacts: Contacts,
    calls: usize,
}

impl Refine for Late {
    fn refine(&mut self, problem: &mut NodalProblem, velocities: &[f64], _: bool) -> Refined {
        assert_eq!(velocities.len(), problem.system.dofs());
        self.calls += 1;
        let is_time = self.calls == 3;
        if is_time {
            problem.contacts = self.contacts.clone();
        }
        let added = problem.contacts.iter().map(|contact| contact.id);
        Refined {
            added: added.filter(|_| is_time).collect(),
            ..Refined::default()
        }
    }
}

#[test]
fn contacts_that_come_late_are_met_all_the_same() {
    let captured = capture(samples::cube(1e6, 3, 0.4, 0.2), 0.01, 6);
    let of = captured.last().unwrap();
    let mut problem = of.problem.clone();
    let all = problem.contacts.clone();
    let mut some = Contacts::new();
    for contact in (0..all.len()).step_by(3) {
        some.push(all[contact], all.stencil(contact).iter().copied());
    }
    problem.contacts = some;
    let mut late = Late {
        contacts: all,
        calls: 0,
    };
    let mut factors = Factors::default();
    let settings = Settings {
        refine_every: 2,
        ..Settings::default()
    };
    let mut solver = Admm::new(settings);
    let (solution, outcome) = solver
        .solve(
            &mut problem,
            &mut factors,
            &of.warm,
            ENTRY.limits(1e-9),
            &mut late,
        )
        .unwrap();
    assert!(outcome.is_converged && late.calls >= 3, "{outcome:?}");
    assert_eq!(problem.contacts.len(), of.problem.contacts.len());
    let (whole, _, _) = run(of, Settings::default(), 1e-9);
    let difference: Vec<f64> = solution
        .velocities
        .iter()
        .zip(&whole.velocities)
        .map(|(a, b)| a - b)
        .collect();
    let apart = of.problem.largest_displacement(&difference);
    assert!(apart < 1e-7, "{apart} m");
}

#[test]
fn an_answer_is_looked_at_before_it_counts() {
    let captured = capture(samples::cube(1e6, 2, 0.4, 0.2), 0.01, 6);
    let of = captured.last().unwrap();
    let mut problem = of.problem.clone();
    let all = problem.contacts.clone();
    problem.contacts = Contacts::new();
    // The first answer knows no contacts; it is looked at long before it would be time.
    let mut late = Late {
        contacts: all,
        calls: 2,
    };
    let mut factors = Factors::default();
    let settings = Settings {
        refine_every: 1000,
        ..Settings::default()
    };
    let mut solver = Admm::new(settings);
    let (solution, outcome) = solver
        .solve(
            &mut problem,
            &mut factors,
            &of.warm,
            ENTRY.limits(1e-8),
            &mut late,
        )
        .unwrap();
    assert!(outcome.is_converged && late.calls == 4, "{outcome:?}");
    let errors = of.problem.errors(
        factors.fresh().unwrap(),
        &solution.velocities,
        &solution.impulses,
    );
    assert!(errors.largest() <= 1e-8, "{errors:?}");
}

/// Is due every third time that it is asked, and for answers.
#[derive(Default)]
struct Seldom {
    asked: usize,
    due: usize,
    calls: usize,
}

impl Refine for Seldom {
    fn is_due(&mut self, is_answer: bool) -> bool {
        self.asked += 1;
        let is_due = is_answer || self.asked.is_multiple_of(3);
        self.due += usize::from(is_due);
        is_due
    }

    fn refine(&mut self, _: &mut NodalProblem, _: &[f64], _: bool) -> Refined {
        self.calls += 1;
        Refined::default()
    }
}

#[test]
fn what_is_not_due_is_not_called() {
    let captured = capture(samples::cube(1e6, 3, 0.4, 0.2), 0.01, 6);
    let of = captured.last().unwrap();
    let mut problem = of.problem.clone();
    let mut factors = Factors::default();
    let settings = Settings {
        refine_every: 1,
        starts_unconstrained: true,
        polishes: false,
        ..Settings::default()
    };
    let mut seldom = Seldom::default();
    let (warm, limits) = (WarmStart::default(), ENTRY.limits(1e-8));
    let solved = Admm::new(settings).solve(&mut problem, &mut factors, &warm, limits, &mut seldom);
    let (_, outcome) = solved.unwrap();
    assert!(outcome.is_converged);
    // Asked in every iteration; called every third time, and for the answer.
    assert_eq!(seldom.asked, outcome.iterations);
    assert!(seldom.asked > 3, "{}", seldom.asked);
    assert_eq!(seldom.calls, seldom.due);
    assert!(seldom.calls <= seldom.asked / 3 + 1);
}

/// Makes the first body twice as heavy at the first call.
struct Heavier(bool);

impl Refine for Heavier {
    fn refine(&mut self, problem: &mut NodalProblem, _: &[f64], _: bool) -> Refined {
        if std::mem::replace(&mut self.0, true) {
            return Refined::default();
        }
        let dofs = problem.system.bodies[0].matrix.dofs();
        let masses: Vec<f64> = problem.masses.iter().flat_map(|m| [*m; 3]).collect();
        problem.system.bodies[0]
            .matrix
            .add_diagonal(&masses[..dofs]);
        Refined {
            bodies: vec![0],
            ..Refined::default()
        }
    }
}

#[test]
fn a_matrix_that_changes_on_the_way_is_factorized_again() {
    let captured = capture(samples::cube(1e6, 2, 0.4, 0.2), 0.01, 6);
    let of = captured.last().unwrap();
    let mut problem = of.problem.clone();
    let mut factors = Factors::default();
    let settings = Settings {
        refine_every: 1,
        ..Settings::default()
    };
    let (solution, outcome) = Admm::new(settings)
        .solve(
            &mut problem,
            &mut factors,
            &of.warm,
            ENTRY.limits(1e-9),
            &mut Heavier(false),
        )
        .unwrap();
    assert!(outcome.is_converged);
    // By a factor that was made anew, for the heavier body.
    let errors = problem.errors(
        &factorized(&problem),
        &solution.velocities,
        &solution.impulses,
    );
    assert!(errors.largest() <= 1e-9, "{errors:?}");
    let lighter = of.problem.errors(
        &factorized(&of.problem),
        &solution.velocities,
        &solution.impulses,
    );
    assert!(lighter.largest() > 1e-6, "{lighter:?}");
}

#[test]
fn what_cannot_be_met_ends_and_says_so() {
    let world = samples::contradictory();
    let of = Captured {
        problem: world.problem(0.01),
        warm: WarmStart::default(),
    };
    let limits = Limits {
        tolerance: 1e-6,
        iterations: 200,
    };
    let (_, outcome, errors) = run_within(&of, Settings::default(), limits);
    assert!(!outcome.is_converged && outcome.iterations == 200);
    assert!(
        errors.largest().is_finite() && errors.largest() > 1e-6,
        "{errors:?}"
    );
}

#[test]
fn a_problem_without_contacts_is_solved_at_once() {
    let mut problem = samples::cube(1e6, 2, 0.4, 0.2).problem(0.01);
    problem.contacts = Contacts::new();
    let of = Captured {
        problem,
        warm: WarmStart::default(),
    };
    let (solution, outcome, errors) = run(&of, Settings::default(), 1e-12);
    assert!(solution.impulses.is_empty());
    assert!(
        outcome.is_converged && outcome.iterations == 0,
        "{outcome:?} {errors:?}"
    );
}

#[test]
fn a_single_contact_is_solved_as_by_trying_all_directions() {
    // A particle of 1 kg thrown at a wall of 45°: u = r/m + u_free, so that the best r is found by trying.
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
        let of = Captured {
            problem: world,
            warm: WarmStart::default(),
        };
        let (solution, outcome, _) = run(&of, Settings::default(), 1e-10);
        assert!(outcome.is_converged);
        let best = |around: DVec3, width: f64| {
            let steps = || (-8..=8).map(|k| width * f64::from(k) / 8.0);
            let mut least = (f64::INFINITY, DVec3::ZERO);
            for offset in steps()
                .flat_map(|x| steps().flat_map(move |y| steps().map(move |z| DVec3::new(x, y, z))))
            {
                let impulse = [around + offset];
                let velocities = of.problem.velocities(&factor, &impulse);
                let error = of.problem.contact_error(&velocities, &impulse);
                if error < least.0 {
                    least = (error, impulse[0]);
                }
            }
            least
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
fn a_body_whose_weights_change_is_factorized_again_though_its_nodes_are_the_same() {
    // Contacts that are found late make their nodes heavier; the factor of A + W must know.
    for of in capture(samples::stack(1e6, 2), 0.01, 2) {
        let problem = &of.problem;
        let before = WeightedNodes::new(problem, Weights::Mobility);
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
fn weights_leave_the_ties_of_two_bodies_exact() {
    for of in capture(samples::tied(1e6, 2), 0.01, 3) {
        let (problem, factor) = (&of.problem, factorized(&of.problem));
        let nodes = WeightedNodes::new(problem, Settings::default().weights);
        let mut weighted = Weighted::new(problem, &factor).unwrap();
        weighted.weigh(problem, &nodes, |_| true).unwrap();
        let mut velocities = vec![0.0; problem.system.dofs()];
        let accuracies = [1e-12, 0.0];
        let passes = weighted.solve(&mut problem.force.clone(), &mut velocities, accuracies);
        assert_eq!(passes, 1);
        let mut system = problem.system.clone();
        system.weigh(&problem.system, nodes.by_offset(), |_| true);
        let mut product = vec![0.0; velocities.len()];
        system.multiply(&velocities, &mut product);
        let largest = |entries: &[f64]| entries.iter().fold(0.0, |a: f64, b| larger(a, b.abs()));
        let residual: Vec<f64> = product
            .iter()
            .zip(&problem.force)
            .map(|(a, b)| a - b)
            .collect();
        // A node weighs grams and is held by springs of 1e6 N/m: rounding is of forces much larger than those that act.
        let (left, force) = (largest(&residual), largest(&problem.force));
        assert!(left < 1e-9 * force, "{left} of {force}");
    }
}
