//! The errors detect every kind of wrong solution.

use glam::{DQuat, DVec3};

use super::*;
use crate::block_sparse::{BlockPattern, BlockSparse};
use crate::problem::WarmStart;
use crate::samples::{self, GRAVITY, World};
use crate::solve::gauss_seidel::{self, GaussSeidel};
use crate::solve::refinement::FixedSolver;
use crate::system::{FactorCache, Matrix, SystemFactor};

const STEP: f64 = 0.01;

fn factor(problem: &NodalProblem) -> SystemFactor {
    let mut factor = SystemFactor::for_system(&problem.system).unwrap();
    factor.factorize(&problem.system).unwrap();
    factor
}

/// The solution of Gauss-Seidel to 1e-9 m.
fn solve(problem: &NodalProblem, warm: &WarmStart) -> Solution {
    let (mut factors, limits) = (FactorCache::default(), gauss_seidel::ENTRY.limits(1e-9));
    let mut solver = GaussSeidel::new(true);
    let solved = solver.solve_fixed(problem, &mut factors, warm, limits, &|_| true);
    solved.unwrap().0
}

/// The problem of a world after some steps, its solution to 1e-9 m, and its factor.
fn solved(world: World, steps: usize) -> (NodalProblem, Solution, SystemFactor) {
    let mut captured = samples::capture(world, STEP, steps, solve);
    let last = captured.pop().unwrap();
    let solution = solve(&last.problem, &last.warm);
    let factor = factor(&last.problem);
    (last.problem, solution, factor)
}

/// Tests that errors are above the tolerance for each kind of mistake in the impulses, with the
/// right velocities and with the velocities that follow from the wrong impulses.
fn detect_all_mistakes(young: f64) {
    let world = samples::cube(young, 3, 0.4, 0.2);
    let (problem, solution, factor) = solved(world, 12);
    let tolerance = stopping_tolerance(1e-5, GRAVITY, STEP);
    let error = |velocities: &[f64], impulses: &[DVec3]| {
        problem.errors(&factor, velocities, impulses).largest()
    };
    let right = error(&solution.velocities, &solution.impulses);
    assert!(right <= 1e-9, "{right}");
    let pressure =
        |contact: &usize| solution.impulses[*contact].dot(problem.contacts[*contact].normal);
    let loaded = (0..problem.contacts.len()).max_by(|a, b| pressure(a).total_cmp(&pressure(b)));
    let loaded = loaded.unwrap();
    let with = |change: &dyn Fn(usize, DVec3) -> DVec3| -> Vec<DVec3> {
        let impulses = solution.impulses.iter().enumerate();
        impulses.map(|(contact, r)| change(contact, *r)).collect()
    };
    let only = |factor: f64| {
        move |contact: usize, r: DVec3| if contact == loaded { r * factor } else { r }
    };
    let rotated = |contact: usize, r: DVec3| {
        let normal = problem.contacts[contact].normal;
        DQuat::from_axis_angle(normal, 5f64.to_radians()) * r
    };
    let mistakes: [(&str, Vec<DVec3>); 4] = [
        ("an impulse is missing", with(&only(0.0))),
        ("an impulse is doubled", with(&only(2.0))),
        ("friction is rotated by 5 degrees", with(&rotated)),
        (
            "friction is missing",
            with(&|contact, r| {
                let normal = problem.contacts[contact].normal;
                normal * r.dot(normal)
            }),
        ),
    ];
    for (mistake, impulses) in mistakes {
        let same = error(&solution.velocities, &impulses);
        assert!(same > tolerance, "{mistake}: {same} m");
        let following = error(&problem.velocities(&factor, &impulses), &impulses);
        assert!(
            following > tolerance,
            "{mistake}, velocities follow: {following} m"
        );
    }
    // The solution of the problem without gravity.
    let mut weightless = problem.clone();
    for (node, offset) in problem.system.node_offset.iter().enumerate() {
        weightless.force[offset + 2] += STEP * GRAVITY * problem.masses[node];
    }
    let floating = solve(&weightless, &WarmStart::default());
    let without = error(&floating.velocities, &floating.impulses);
    // A part of the free fall of one step; contacts take the rest.
    assert!(without > 0.1 * GRAVITY * STEP * STEP, "{without} m");
    // A contact that opens by 10 µm and keeps its impulse.
    let mut opened = solution.velocities.clone();
    let (node, _) = problem.contacts.stencil(loaded)[0];
    let offset = problem.system.node_offset[node as usize];
    let lift = problem.contacts[loaded].normal * (1e-5 / STEP);
    for axis in 0..3 {
        opened[offset + axis] += lift[axis];
    }
    let open = error(&opened, &solution.impulses);
    assert!(open >= 0.99e-5, "{open} m");
}

#[test]
fn every_mistake_on_a_soft_body_is_detected() {
    detect_all_mistakes(1e5);
}

#[test]
fn every_mistake_on_a_stiff_body_is_detected() {
    // The diagonal of A is 10⁵ times the mass here: errors relative to it would hide gravity.
    detect_all_mistakes(1e9);
}

/// A particle of 2 kg at `gap` metres above a floor.
fn particle(contact: Contact, gap: f64) -> NodalProblem {
    let pattern = std::sync::Arc::new(BlockPattern::new(1, []));
    let mut matrix = BlockSparse::zeros(pattern);
    matrix.values[0] = glam::DMat3::from_diagonal(DVec3::splat(2.0));
    let mut contacts = Contacts::new();
    let contact = Contact {
        id: 7,
        normal: DVec3::Z,
        kinematic: DVec3::Z * (gap / STEP),
        ..contact
    };
    contacts.push(contact, [(0, 1.0)]);
    NodalProblem {
        system: System::new([Matrix::Blocks(matrix)], vec![0]),
        force: vec![0.0, 0.0, -2.0 * GRAVITY * STEP],
        step: STEP,
        masses: vec![2.0],
        mobilities: vec![0.5],
        lever_arms: Vec::new(),
        contacts,
    }
}

#[test]
fn a_cohesive_contact_holds_up_to_its_cohesion() {
    // Pulled with 12 N, below the cohesion of 15 N: it stays closed, and the contact pulls with
    // 12 N.
    let mut problem = particle(
        Contact {
            cohesion: 15.0,
            ..Contact::default()
        },
        0.0,
    );
    problem.force = vec![0.0, 0.0, 12.0 * STEP];
    let factor = factor(&problem);
    let impulse = [DVec3::new(0.0, 0.0, -12.0 * STEP)];
    let errors = problem.errors(&factor, &[0.0; 3], &impulse);
    assert!(errors.largest() < 1e-18, "{errors:?}");
    // Pulled with 20 N: it opens with an acceleration of 5 N/2 kg, and the contact pulls with 15 N.
    problem.force[2] = 20.0 * STEP;
    let errors = problem.errors(
        &factor,
        &[0.0, 0.0, 2.5 * STEP],
        &[DVec3::Z * (-15.0 * STEP)],
    );
    assert!(errors.largest() < 1e-17, "{errors:?}");
    // A pull above the cohesion is an error of 20 N − 15 N on 2 kg for a step.
    let errors = problem.errors(&factor, &[0.0; 3], &[DVec3::Z * (-20.0 * STEP)]);
    assert!(
        (errors.contact - 2.5 * STEP * STEP).abs() < 1e-12,
        "{errors:?}"
    );
}

#[test]
fn a_compliant_contact_penetrates_in_proportion_to_its_force() {
    let problem = particle(
        Contact {
            compliance: 1e-4,
            ..Contact::default()
        },
        -1e-4 * 2.0 * GRAVITY,
    );
    let factor = factor(&problem);
    let weight = [DVec3::Z * (2.0 * GRAVITY * STEP)];
    // At rest, at the depth κ times the weight.
    let errors = problem.errors(&factor, &[0.0; 3], &weight);
    assert!(errors.largest() < 1e-17, "{errors:?}");
}

#[test]
fn held_directions_have_no_momentum_error() {
    let mut problem = particle(
        Contact {
            friction: 0.5,
            ..Contact::default()
        },
        0.0,
    );
    let whole = problem.system.clone();
    problem.system.hold(&whole, &[true, false, false], |_| true);
    // Prescribed to slide along x at 0.3 m/s, against friction.
    problem.force[0] = 0.3;
    let factor = factor(&problem);
    let weight = 2.0 * GRAVITY * STEP;
    let impulse = [DVec3::new(-0.5 * weight, 0.0, weight)];
    let errors = problem.errors(&factor, &[0.3, 0.0, 0.0], &impulse);
    assert!(errors.largest() < 1e-17, "{errors:?}");
}

#[test]
fn the_nonlinear_error_of_a_linear_problem_is_its_momentum_error() {
    let (problem, solution, factor) = solved(samples::cube(1e6, 2, 0.4, 0.2), 5);
    let half: Vec<DVec3> = solution.impulses.iter().map(|r| *r * 0.5).collect();
    let mut gradient = vec![0.0; problem.system.dofs()];
    problem.system.multiply(&solution.velocities, &mut gradient);
    for (entry, force) in gradient.iter_mut().zip(&problem.force) {
        *entry -= force;
    }
    let nonlinear = problem.nonlinear_error(&factor, &gradient, &half);
    let momentum = problem.momentum_error(&factor, &solution.velocities, &half);
    assert!((nonlinear - momentum).abs() < 1e-12 * momentum);
    assert!(momentum > 1e-5);
}

#[test]
fn nan_velocities_have_nan_errors() {
    let problem = particle(Contact::default(), 0.0);
    let factor = factor(&problem);
    let errors = problem.errors(&factor, &[0.0, 0.0, f64::NAN], &[DVec3::ZERO]);
    assert!(errors.largest().is_nan());
}

#[test]
fn contacts_of_separate_bodies_are_separate_groups() {
    let chain = samples::chain(1e7, 3);
    let (problem, _, _) = solved(chain, 3);
    let (groups, count) = problem.groups();
    assert_eq!((groups.len(), count), (problem.contacts.len(), 3));
    let stack = samples::stack(1e6, 3);
    let (problem, _, _) = solved(stack, 3);
    assert_eq!(problem.groups().1, 1);
}

fn check_changed(change: &dyn Fn(&mut NodalProblem)) -> Result<(), String> {
    let mut problem = particle(Contact::default(), 0.0);
    change(&mut problem);
    problem.check().map_err(|error| error.to_string())
}

#[test]
fn invalid_problems_are_rejected_with_the_invalid_value() {
    let check = check_changed;
    let contact = |change: &dyn Fn(&mut Contact)| {
        check(&|problem| problem.contacts.iter_mut().for_each(change))
    };
    let added = |id: u64, stencil: &[(u32, f64)]| {
        check(&|problem| {
            let normal = DVec3::X;
            let contact = Contact {
                id,
                normal,
                ..Contact::default()
            };
            problem.contacts.push(contact, stencil.iter().copied());
        })
    };
    let cases = [
        (check(&|_| ()), ""),
        (
            check(&|p| p.force.push(0.0)),
            "force has 4 entries, but the problem needs 3",
        ),
        (
            check(&|p| p.step = 0.0),
            "the time step must be positive and finite",
        ),
        (
            check(&|p| p.masses[0] = -1.0),
            "mass of node 0 must be positive and finite",
        ),
        (
            check(&|p| p.force[1] = f64::NAN),
            "force at degree of freedom 1 must be finite",
        ),
        (
            contact(&|c| c.normal = DVec3::ONE),
            "contact 0 (id 7): normal must be a unit vector",
        ),
        (
            contact(&|c| c.friction = -0.1),
            "contact 0 (id 7): coefficient of friction must be finite and not negative",
        ),
        (
            contact(&|c| c.kinematic.x = f64::INFINITY),
            "contact 0 (id 7): kinematic term must be finite",
        ),
        (
            added(8, &[(3, 1.0)]),
            "contact 1 (id 8): stencil must be of nodes of the problem, with finite weights",
        ),
        (
            added(8, &[(0, 1.0), (0, 1.0)]),
            "contact 1 (id 8): stencil must be of different nodes",
        ),
        (
            added(8, &[]),
            "contact 1 (id 8): stencil must be of at least one node with a nonzero weight",
        ),
        (added(7, &[(0, 1.0)]), "two contacts have the id 7"),
    ];
    for (found, wanted) in cases {
        assert_eq!(found.err().unwrap_or_default(), wanted);
    }
}
