//! Errors compared with values computed by hand, and W of nodal problems with the motion of nodes.

use std::sync::Arc;

use glam::{DMat3, DVec3};

use super::nodal::{InverseBlocks, to_local, to_solution, to_world};
use super::*;
use crate::block_sparse::{BlockPattern, BlockSparse};
use crate::problem::{Contact, Contacts, NodalProblem};
use crate::samples::{self, World};
use crate::system::{Matrix, System, SystemFactor};

fn single(w: DMat3, q: DVec3, mu: f64) -> DelassusProblem {
    DelassusProblem::new(BlockRows::new(1, [(0, 0, w)]), vec![q], vec![mu]).unwrap()
}

#[test]
fn errors_agree_with_values_computed_by_hand() {
    // u = 4 r + q. For r = 0 and μ = 1/2 the map is P_K(−ũ), ũ = (−3 + μ‖u_T‖, 4, 0) = (−1, 4, 0).
    let q = DVec3::new(-3.0, 4.0, 0.0);
    let problem = single(DMat3::from_diagonal(DVec3::splat(4.0)), q, 0.5);
    // P_K(1, −4, 0): normal (1 + 4/2)/(1 + 1/4) = 2.4, tangent 1.2.
    let length = 2.4f64.hypot(1.2);
    let errors = problem.errors(&[DVec3::ZERO]);
    assert!(
        (errors.natural_map - length / 5.0).abs() < 1e-15,
        "{errors:?}"
    );
    // The projection is homogeneous: ρ = 1/4 scales numerator and denominator.
    assert!((errors.scaled - length / 5.0).abs() < 1e-15, "{errors:?}");
    assert_eq!(errors.largest(), errors.natural_map.max(errors.scaled));
    // Sliding: u_N = 0 implies r_N = 3/4, and friction is 3/8 against u_T = 4 − 1.5.
    let exact = [DVec3::new(0.75, -0.375, 0.0)];
    assert!(problem.errors(&exact).largest() < 1e-16);
    // A separating contact has no error, even if W is zero.
    let open = single(DMat3::ZERO, DVec3::new(1.0, 2.0, 0.0), 0.3);
    assert_eq!(open.errors(&[DVec3::ZERO]).largest(), 0.0);
}

#[test]
fn invalid_problems_are_refused_with_a_reason() {
    let w = |x: f64| BlockRows::new(2, [(0, 0, DMat3::IDENTITY), (1, 1, DMat3::IDENTITY * x)]);
    let message = |w: BlockRows, q: [f64; 2], mu: Vec<f64>| {
        let free = q.map(|q| DVec3::X * q).to_vec();
        DelassusProblem::new(w, free, mu).map_err(|error| error.to_string())
    };
    let error = |text: &str| Err(text.to_string());
    assert_eq!(
        message(w(1.0), [0.0; 2], vec![0.1]),
        error("2 contacts in W, but 2 relative velocities in q and 1 coefficients of friction")
    );
    assert_eq!(
        message(w(f64::NAN), [0.0; 2], vec![0.1; 2]),
        error("contact 1: W is not finite")
    );
    assert_eq!(
        message(w(1.0), [f64::INFINITY, 0.0], vec![0.1; 2]),
        error("contact 0: q is not finite")
    );
    assert_eq!(
        message(w(1.0), [0.0; 2], vec![f64::NAN, 0.0]),
        error("contact 0: μ is not finite")
    );
    assert_eq!(
        message(w(1.0), [0.0; 2], vec![0.0, -0.1]),
        error("contact 1: the coefficient of friction is negative")
    );
}

fn factorized(problem: &NodalProblem) -> SystemFactor {
    let mut factor = SystemFactor::for_system(&problem.system).unwrap();
    factor.factorize(&problem.system).unwrap();
    factor
}

/// Inverse blocks of a problem, and the number of solves.
pub(crate) fn inverse_blocks(
    problem: &NodalProblem,
    factor: &SystemFactor,
) -> (InverseBlocks, usize) {
    let mut inverses = InverseBlocks::default();
    let solves = inverses.update(problem, factor, |_| true).unwrap();
    (inverses, solves)
}

/// Problem of a world after three steps of free fall.
fn landed(mut world: World) -> NodalProblem {
    for _ in 0..3 {
        let problem = world.problem(0.01);
        let velocities = to_solution(
            &problem,
            &factorized(&problem),
            &vec![DVec3::ZERO; problem.contacts.len()],
        );
        world.advance(0.001, &velocities.velocities);
    }
    world.problem(0.01)
}

#[test]
fn the_operator_agrees_with_the_motion_of_nodes() {
    let worlds = [
        samples::stack(1e6, 2),
        samples::crossing(1e7, 2),
        samples::tied(1e6, 2),
        samples::affine(1e7, 2),
    ];
    let mut problems: Vec<NodalProblem> = worlds.into_iter().map(landed).collect();
    problems.extend((0..5).map(|seed| samples::random(seed, 3, 10)));
    for problem in &problems {
        assert!(!problem.contacts.is_empty());
        let factor = factorized(problem);
        let (inverses, _) = inverse_blocks(problem, &factor);
        let condensed = inverses.condense(problem, &factor);
        // For any impulses, W r + q is the relative velocity of the moving nodes.
        let impulses: Vec<DVec3> = (0..condensed.contacts())
            .map(|c| DVec3::new(0.3 + 0.1 * c as f64, (c as f64).sin(), 0.2) * 0.01)
            .collect();
        let world = to_world(problem, &impulses);
        let moved = problem.velocities(&factor, &world);
        let again = to_local(problem, &world);
        let velocities = condensed.velocities(&impulses);
        for contact in 0..condensed.contacts() {
            let velocity = problem.relative_velocity(contact, &moved);
            let (u, _) = problem.law_pair(contact, velocity, world[contact]);
            let local = crate::law::basis(problem.contacts[contact].normal).transpose() * u;
            let size = 1.0 + velocity.length();
            assert!((velocities[contact] - local).length() < 1e-9 * size);
            assert!((again[contact] - impulses[contact]).length() < 1e-14);
        }
    }
}

#[test]
fn only_changed_bodies_are_recomputed() {
    let mut problem = landed(samples::stack(1e6, 3));
    let mut factor = factorized(&problem);
    let (mut inverses, all) = inverse_blocks(&problem, &factor);
    assert!(all > 0);
    assert_eq!(inverses.update(&problem, &factor, |_| false).unwrap(), 0);
    // The mass of the middle cube changes; without an update, its blocks are stale.
    let dofs = problem.system.bodies[1].matrix.dofs();
    problem.system.bodies[1]
        .matrix
        .add_diagonal(&vec![0.01; dofs]);
    factor.factorize(&problem.system).unwrap();
    let (anew, _) = inverse_blocks(&problem, &factor);
    assert!(
        inverses.condense(&problem, &factor).operator != anew.condense(&problem, &factor).operator
    );
    assert!(
        inverses
            .update(&problem, &factor, |body| body == 1)
            .unwrap()
            > 0
    );
    // Solves with fewer right-hand sides have the same order of additions, so the bits are equal.
    assert!(
        inverses.condense(&problem, &factor).operator == anew.condense(&problem, &factor).operator
    );
}

/// Two bodies of independent particles of 1 kg: `first` in the first body, one in the second.
fn particles(first: usize) -> NodalProblem {
    let body = |nodes: usize| {
        let mut matrix = BlockSparse::zeros(Arc::new(BlockPattern::new(nodes, [])));
        matrix.values.fill(DMat3::IDENTITY);
        Matrix::Blocks(matrix)
    };
    let nodes = first + 1;
    NodalProblem {
        system: System::new([body(first), body(1)], (0..nodes).map(|j| 3 * j).collect()),
        force: vec![0.0; 3 * nodes],
        step: 0.01,
        masses: vec![1.0; nodes],
        ..NodalProblem::default()
    }
}

#[test]
fn changes_during_a_refused_update_are_not_lost() {
    let mut problem = particles(6001);
    let set_contacts = |problem: &mut NodalProblem, nodes: std::ops::RangeInclusive<u32>| {
        problem.contacts = Contacts::new();
        for node in nodes {
            let contact = Contact {
                id: u64::from(node),
                normal: DVec3::Z,
                ..Contact::default()
            };
            problem.contacts.push(contact, [(node, 1.0)]);
        }
    };
    let mut inverses = InverseBlocks::default();
    set_contacts(&mut problem, 6001..=6001);
    inverses
        .update(&problem, &factorized(&problem), |_| true)
        .unwrap();
    // All particles are in contact, and the mass of the last one changes.
    set_contacts(&mut problem, 0..=6001);
    problem.system.bodies[1].matrix.add_diagonal(&[3.0; 3]);
    let factor = factorized(&problem);
    let refused = inverses.update(&problem, &factor, |body| body == 1);
    assert_eq!(refused.unwrap_err().nodes, 6001);
    set_contacts(&mut problem, 6001..=6001);
    inverses.update(&problem, &factor, |_| false).unwrap();
    let operator = inverses.condense(&problem, &factor).operator;
    // The mass is 4 kg.
    assert_eq!(*operator.diagonal(0), DMat3::IDENTITY * 0.25);
}
