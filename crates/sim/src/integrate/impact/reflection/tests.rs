use std::sync::Arc;

use proptest::prelude::*;
use reefknot_contact::block_sparse::{BlockPattern, BlockSparse};
use reefknot_contact::random::Random;
use reefknot_contact::solve::table::{SOLVERS, SolverEntry};
use reefknot_contact::system::{Matrix, System};

use super::*;

/// Independent nodes with masses, and contacts as (normal, μ, nodes with weights).
struct Nodes {
    masses: Vec<f64>,
    contacts: Contacts,
    restitution: Vec<f64>,
}

impl Nodes {
    fn new(masses: &[f64]) -> Nodes {
        Nodes {
            masses: masses.to_vec(),
            contacts: Contacts::new(),
            restitution: Vec::new(),
        }
    }

    fn touch(&mut self, normal: DVec3, friction: f64, e: f64, stencil: &[(u32, f64)]) {
        let contact = Contact {
            id: self.contacts.len() as u64,
            normal,
            friction,
            ..Contact::default()
        };
        self.contacts.push(contact, stencil.iter().copied());
        self.restitution.push(e);
    }

    fn problem(&self) -> NodalProblem {
        let single = Arc::new(BlockPattern::new(1, []));
        let matrices = self.masses.iter().map(|mass| {
            let mut matrix = Matrix::Blocks(BlockSparse::zeros(single.clone()));
            matrix.add_diagonal(&[*mass; 3]);
            matrix
        });
        let offsets = (0..self.masses.len()).map(|node| 3 * node).collect();
        let system = System::new(matrices, offsets);
        NodalProblem {
            force: vec![0.0; system.dofs()],
            system,
            step: 1e-3,
            masses: self.masses.clone(),
            contacts: self.contacts.clone(),
            ..NodalProblem::default()
        }
    }

    fn impact(&self, solver: &SolverEntry, before: &[f64], restitution: &[f64]) -> Motion {
        let mut impact = SimultaneousImpact {
            problem: self.problem(),
            restitution,
            solver: solver.build_default(),
            iterations: solver.iterations.in_step,
        };
        impact.resolve(before.to_vec()).unwrap()
    }

    fn kinetic(&self, v: &[f64]) -> f64 {
        let of = |(dof, v): (usize, &f64)| 0.5 * self.masses[dof / 3] * v * v;
        v.iter().enumerate().map(of).sum()
    }

    /// The smallest normal velocity.
    fn slowest(&self, v: &[f64]) -> f64 {
        let problem = self.problem();
        let normal = |contact: usize| {
            let velocity = problem.relative_velocity(contact, v);
            velocity.dot(self.contacts[contact].normal)
        };
        (0..self.contacts.len())
            .map(normal)
            .fold(f64::INFINITY, f64::min)
    }
}

/// A row of nodes of equal mass along x, each in contact with the next.
fn cradle(count: usize, e: f64) -> Nodes {
    let mut nodes = Nodes::new(&vec![0.2; count]);
    for ball in 1..count as u32 {
        nodes.touch(DVec3::X, 0.0, e, &[(ball - 1, -1.0), (ball, 1.0)]);
    }
    nodes
}

/// Random nodes that move towards the floor and each other.
fn random(seed: u64, count: usize, friction: f64) -> (Nodes, Vec<f64>) {
    let mut random = Random::new(seed);
    let masses: Vec<f64> = (0..count).map(|_| random.between(0.1, 3.0)).collect();
    let mut nodes = Nodes::new(&masses);
    for node in 0..count as u32 {
        let mut axis = || random.between(-0.4, 0.4);
        let normal = DVec3::new(axis(), axis(), 1.0).normalize();
        nodes.touch(normal, friction, 1.0, &[(node, 1.0)]);
        let other = (node + 1) % count as u32;
        let share = random.between(0.1, 0.9);
        let third = (node + 2) % count as u32;
        let stencil = [(node, 1.0), (other, -share), (third, share - 1.0)];
        let mut axis = || random.between(-1.0, 1.0);
        let normal = DVec3::new(axis(), axis(), axis());
        nodes.touch(
            normal.try_normalize().unwrap_or(DVec3::X),
            friction,
            1.0,
            &stencil,
        );
    }
    let v = (0..3 * count).map(|_| random.between(-2.0, 2.0)).collect();
    (nodes, v)
}

#[test]
fn a_cradle_sends_off_its_last_balls_with_every_solver() {
    for entry in &SOLVERS {
        for moving in [1, 2] {
            let nodes = cradle(5, 1.0);
            let mut before = vec![0.0; 15];
            (0..moving).for_each(|ball| before[3 * ball] = 1.5);
            let after = nodes.impact(entry, &before, &nodes.restitution);
            for ball in 0..5 {
                let expected = if ball >= 5 - moving { 1.5 } else { 0.0 };
                let found = after.velocities[3 * ball];
                assert!((found - expected).abs() < 1e-6, "{}: {found}", entry.name);
            }
        }
    }
}

/// The resting wall of e = 0 takes what the ball of e = 1 passes to the ball in between.
#[test]
fn contacts_have_the_restitution_of_their_pair() {
    let mut nodes = Nodes::new(&[1.0, 1.0]);
    nodes.touch(DVec3::X, 0.0, 1.0, &[(0, -1.0), (1, 1.0)]);
    nodes.touch(DVec3::NEG_X, 0.0, 0.0, &[(1, 1.0)]);
    let after = nodes.impact(&SOLVERS[0], &[2.0, 0.0, 0.0, 0.0, 0.0, 0.0], &[1.0, 0.0]);
    assert!(after.velocities.iter().all(|v| v.abs() < 1e-6), "{after:?}");
    let after = nodes.impact(&SOLVERS[0], &[2.0, 0.0, 0.0, 0.0, 0.0, 0.0], &[1.0, 1.0]);
    assert!((after.velocities[0] + 2.0).abs() < 1e-6, "{after:?}");
}

/// A block that slides loses μ (1 + e) u_N of its speed, or sticks.
#[test]
fn friction_is_bounded_by_the_impulse_of_the_bounce() {
    let mut nodes = Nodes::new(&[0.5]);
    nodes.touch(DVec3::Z, 0.2, 0.5, &[(0, 1.0)]);
    let slides = nodes
        .impact(&SOLVERS[0], &[3.0, 0.0, -2.0], &[0.5])
        .velocities;
    assert!((slides[0] - (3.0 - 0.2 * 3.0)).abs() < 1e-6, "{slides:?}");
    assert!((slides[2] - 1.0).abs() < 1e-6, "{slides:?}");
    let sticks = nodes
        .impact(&SOLVERS[0], &[0.3, 0.0, -2.0], &[0.5])
        .velocities;
    assert!(sticks[0].abs() < 1e-6 && (sticks[2] - 1.0).abs() < 1e-6);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// e = 1 keeps the energy; e < 1 loses between 0 and (1 − e²) of what e = 0 loses. Afterwards
    /// nothing approaches.
    #[test]
    fn the_loss_is_between_zero_and_that_of_the_normal_energy(
        seed in 0..10_000u64,
        count in 3..7usize,
        e in 0.0..1.0f64,
    ) {
        let (nodes, before) = random(seed, count, 0.0);
        let loss = |e: f64| {
            let restitution = vec![e; nodes.contacts.len()];
            let after = nodes.impact(&SOLVERS[0], &before, &restitution);
            prop_assert!(nodes.slowest(&after.velocities) > -1e-4);
            Ok(nodes.kinetic(&before) - nodes.kinetic(&after.velocities))
        };
        let (most, rounding) = (loss(0.0)?, 1e-9 * nodes.kinetic(&before));
        prop_assert!(loss(1.0)?.abs() <= rounding);
        let found = loss(e)?;
        prop_assert!(found >= -rounding, "{found}");
        prop_assert!(found <= (1.0 - e * e) * most + 1e-5 * nodes.kinetic(&before));
    }

    /// Also with friction and different coefficients, the energy never grows, and impulses are in
    /// their cones.
    #[test]
    fn no_impact_gains_energy(
        seed in 0..10_000u64,
        count in 3..7usize,
        friction in 0.0..1.5f64,
        levels in proptest::collection::vec(prop_oneof![Just(0.0), Just(1.0), 0.0..1.0f64], 14),
    ) {
        let (nodes, before) = random(seed, count, friction);
        let restitution = &levels[..nodes.contacts.len()];
        let after = nodes.impact(&SOLVERS[0], &before, restitution);
        let energy = nodes.kinetic(&before);
        prop_assert!(nodes.kinetic(&after.velocities) <= energy * (1.0 + 1e-9));
        for (contact, impulse) in nodes.contacts.iter().zip(&after.impulses) {
            let push = impulse.dot(contact.normal);
            let rub = (*impulse - contact.normal * push).length();
            prop_assert!(rub <= friction * push * (1.0 + 1e-9) + 1e-12);
        }
    }
}
