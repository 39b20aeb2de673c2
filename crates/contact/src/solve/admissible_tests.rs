//! Solutions of all solvers have impulses in their friction cones, also where a solver is stopped.

use glam::DVec3;
use proptest::prelude::*;

use super::options::{OptionValue, Options};
use super::table::SOLVERS;
use super::*;
use crate::problem::{Contact, ContactState, Contacts};
use crate::random::Random;
use crate::samples;

/// Rounding relative to an impulse and the cohesion, as in the test of stored frames.
const ROUNDING: f64 = 1e-14;

/// Rounding of errors, which a solver may compute in another order (m).
const ERROR_ROUNDING: f64 = 1e-14;

/// Largest μ of the problems, and no friction.
const FRICTIONS: [f64; 4] = [0.0, 0.3, 2.0, 50.0];

/// Asserts that impulses are in their cones, and that states agree with them.
fn assert_admissible(problem: &NodalProblem, solution: &Solution, what: &str) {
    assert_eq!(solution.impulses.len(), problem.contacts.len());
    for (index, (contact, impulse)) in problem.contacts.iter().zip(&solution.impulses).enumerate() {
        let held = problem.step * contact.cohesion;
        let slack = ROUNDING * (impulse.length() + held);
        let normal = impulse.dot(contact.normal);
        let tangential = (*impulse - contact.normal * normal).length();
        let height = normal + held + slack;
        assert!(
            height >= 0.0 && tangential <= contact.friction * height + slack,
            "{what}, contact {index}: {impulse} of {contact:?}"
        );
        let velocity = problem.relative_velocity(index, &solution.velocities);
        let sliding = problem.step * velocity.reject_from_normalized(contact.normal).length();
        match contact.state(problem.step, sliding, *impulse) {
            ContactState::Open => assert_eq!(*impulse, contact.normal * -held, "{what}"),
            ContactState::Slip => assert!(
                tangential >= (1.0 - 2e-6) * contact.friction * (normal + held) - slack,
                "{what}"
            ),
            ContactState::Stick => assert_ne!(*impulse, contact.normal * -held, "{what}"),
        }
    }
}

/// Changes the normals of all contacts every time, as sliding over a curved surface does.
struct Turn {
    random: Random,
    turns: usize,
}

impl Refine for Turn {
    fn refine(&mut self, problem: &mut NodalProblem, _: &[f64], _: bool) -> Refinement {
        if self.turns == 0 {
            return Refinement::default();
        }
        self.turns -= 1;
        let mut turned = Contacts::new();
        for (index, contact) in problem.contacts.iter().enumerate() {
            let normal = contact.normal + self.random.vector() * 0.5;
            let contact = Contact {
                normal: normal.normalize_or(DVec3::Z),
                ..*contact
            };
            turned.push(contact, problem.contacts.stencil(index).iter().copied());
        }
        problem.contacts = turned;
        Refinement {
            changed: problem.contacts.iter().map(|contact| contact.id).collect(),
            ..Refinement::default()
        }
    }
}

/// A random problem, and a warm start from other cones.
fn problem(seed: u64, friction: f64) -> (NodalProblem, WarmStart) {
    let mut problem = samples::random(seed, 4, 12);
    for contact in problem.contacts.iter_mut() {
        contact.friction *= friction;
    }
    let mut random = Random::new(seed ^ 0x5eed);
    let impulses = (0..problem.contacts.len()).map(|_| random.vector() * 0.1);
    let solution = Solution::new(vec![0.0; problem.system.dofs()], impulses.collect());
    let warm = WarmStart::from_solution(&problem, solution);
    (problem, warm)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn all_solutions_are_in_the_cones_wherever_a_solver_is_stopped(
        seed in 0_u64..1_000_000,
        friction in 0_usize..4,
        iterations in 0_usize..4,
        polishes: bool,
        turns in 0_usize..4,
        tolerance in prop_oneof![Just(1e-3), Just(1e-8), Just(1e-15)],
    ) {
        let (original, warm) = problem(seed, FRICTIONS[friction]);
        for entry in &SOLVERS {
            let mut options = Options::defaults(entry.options);
            options.set("polish", OptionValue::Flag(polishes));
            let mut solver = (entry.build)(&options);
            for iterations in [iterations, 100] {
                let (mut problem, mut factors) = (original.clone(), FactorCache::default());
                let mut turn = Turn { random: Random::new(seed), turns };
                let limits = Limits { tolerance, iterations };
                let solved = solver.solve(&mut problem, &mut factors, &warm, limits, &mut turn);
                let (solution, outcome) = solved.unwrap();
                let what = format!("{} at {iterations}", entry.name);
                assert_admissible(&problem, &solution, &what);
                // Convergence is that of the impulses returned.
                let factor = factors.get(&problem.system).unwrap();
                let errors = problem.errors(factor, &solution.velocities, &solution.impulses);
                prop_assert!(
                    !outcome.is_converged || errors.largest() <= tolerance.max(ERROR_ROUNDING),
                    "{what}: {errors:?}"
                );
            }
        }
    }

    #[test]
    fn solutions_of_delassus_problems_are_in_the_cones(
        seed in 0_u64..1_000_000,
        iterations in 0_usize..4,
        tolerance in prop_oneof![Just(1e-1), Just(1e-8), Just(1e-15)],
    ) {
        let (problem, warm) = problem(seed, 1.0);
        let mut factors = FactorCache::default();
        let factor = factors.get(&problem.system).unwrap();
        let mut condenser = condensed::Condenser::default();
        let (delassus, _) = condenser.condense(&problem, factor, &|_| true).unwrap();
        for entry in &SOLVERS {
            let Some(solve) = entry.delassus else { continue };
            let mut impulses = warm.impulses_of(&problem);
            let limits = Limits { tolerance, iterations };
            solve(&delassus, &Options::defaults(entry.options), limits, &mut impulses);
            for (r, mu) in impulses.iter().zip(&delassus.friction) {
                let slack = ROUNDING * r.length();
                let tangential = r.y.hypot(r.z);
                prop_assert!(r.x >= 0.0 && tangential <= mu * r.x + slack, "{}: {r}", entry.name);
            }
        }
    }
}

#[test]
fn rounding_where_cohesion_cancels_an_impulse_does_not_close_an_open_contact() {
    let contact = Contact {
        normal: DVec3::new(1.0, 2.0, 3.0).normalize(),
        friction: 0.5,
        cohesion: 7.0,
        ..Contact::default()
    };
    let (step, held) = (0.003, 0.021);
    // −hξn as another order of operations rounds it, and with a part that the law forbids.
    for impulse in [
        contact.normal * (held * (1.0 + 3.0 * f64::EPSILON)) * -1.0,
        contact.normal * (held * (1.0 - 3.0 * f64::EPSILON)) * -1.0,
        contact.normal * (-2.0 * held),
    ] {
        let impulse = contact.admissible(step, impulse);
        assert_eq!(impulse, contact.normal * -(step * contact.cohesion));
        assert_eq!(contact.state(step, 1.0, impulse), ContactState::Open);
    }
}
