//! Energy and momentum balance of every step.

use glam::DVec3;
use reefknot_sim::certify::energies;
use reefknot_sim::model::Elements;

use super::common::*;

fn assert_balanced(method: &str, h: f64) {
    for (kind, text) in KINDS {
        let case = format!("{kind} with {method}");
        let mut simulation = Simulation::new(method, h, text);
        let momentum = simulation.momentum();
        for _ in 0..20 {
            simulation.balanced_step(&case);
        }
        if kind != "groom" {
            // A free object gains the momentum m g t.
            let gained = simulation.momentum() - momentum;
            let expected = 20.0 * h * simulation.weight();
            assert!(
                gained.distance(expected) < 1e-8 * expected.length(),
                "{case}: {gained} against {expected}"
            );
        }
        let moved = simulation
            .state
            .positions
            .iter()
            .zip(&simulation.model.start.positions);
        let moved = moved
            .map(|(now, start)| now.distance(*start))
            .fold(0.0, f64::max);
        // The slowest object is the hair, whose host moves at 0.2 m/s.
        assert!(moved > 20.0 * h * 0.2, "{case}: {moved} m");
    }
}

#[test]
fn every_kind_balances_energy_and_momentum_with_implicit_euler() {
    assert_balanced(LINEAR, 5e-3);
}

#[test]
fn every_kind_balances_energy_and_momentum_with_newtons_method() {
    assert_balanced(NEWTON, 5e-3);
}

#[test]
fn every_kind_balances_energy_and_momentum_with_symplectic_euler() {
    assert_balanced(SYMPLECTIC, 1e-4);
}

/// All kinds of objects with damping, wind and drag: the viscous loss is never negative.
#[test]
fn drag_and_viscosity_dissipate_energy() {
    let text = all_kinds().replace("material = \"stuff\"", "material = \"tough\"");
    let text = format!(
        "{text}[material.tough]\ndensity = 1000\nyoung = 1e6\npoisson = 0.3\nthickness = \"2 mm\"\n\
            damping = \"2 ms\"\nmass_damping = 1\n[wind]\nvelocity = [0, 3, 0]\n"
    );
    for (method, h) in [(LINEAR, 5e-3), (NEWTON, 5e-3), (SYMPLECTIC, 2e-5)] {
        let mut all = Simulation::new(method, h, &text);
        for _ in 0..10 {
            let before = reefknot_sim::certify::energies(&all.model, &all.state);
            let after = all.step().report.energy_j;
            assert!(after.viscous > 0.0, "{method}: {after:?}");
            let flow = after.flow();
            let error = after.total() - before.total() - flow;
            let scale = after.kinetic + after.elastic + after.viscous + after.work.abs();
            assert!(
                error.abs() < 1e-9 * scale,
                "{method}: {error} J of {scale} J"
            );
        }
    }
}

/// From rest, the first iteration moves along tangents and stretches stiff objects, so a line
/// search would allow a small step only. Two iterations must not slow down a rotation.
#[test]
fn two_newton_iterations_do_not_slow_down_a_rotation() {
    let wire = "
[object.wire]
kind = \"rod\"
length = 0.2
vertices = 12
radius = \"0.1 mm\"
material = \"steel\"
angular_velocity = [0, 0, 20]
[material.steel]
preset = \"steel\"
";
    let (h, steps) = (5e-3, 20);
    let two =
        "gravity = [0, 0, 0]\nmethod = { integrator = { kind = \"newton\", iterations = 2 } }\n";
    let mut turning = Simulation::new(two, h, wire);
    let speed = |of: &Simulation| energies(&of.model, &of.state).kinetic.sqrt();
    let before = speed(&turning);
    turning.steps(steps);
    // Implicit Euler loses the fraction (ω h)² of the speed in a step.
    let (mut expected, mut now) = (1.0, 20.0 * h);
    for _ in 0..steps {
        expected /= 1.0 + now * now;
        now = 20.0 * h * expected;
    }
    let found = speed(&turning) / before;
    assert!(
        (found - expected).abs() < 0.02,
        "{found} against {expected}"
    );
}

/// A thrown prop conserves its angular momentum to second order, and the lengths of its axes.
#[test]
fn a_rotating_prop_stays_rigid_and_conserves_angular_momentum() {
    let text = KINDS.iter().find(|kind| kind.0 == "prop").unwrap().1;
    let text = text.replace("rigidity = 1e6", "rigidity = 1e9");
    let mut prop = Simulation::new(NEWTON, 1e-3, &text);
    prop.model.gravity = DVec3::ZERO;
    let axes = |prop: &Simulation| [1, 2, 3].map(|axis| prop.state.positions[axis].length());
    let spin = |prop: &Simulation| -> DVec3 {
        let nodes =
            (1..4).map(|axis| prop.state.positions[axis].cross(prop.state.velocities[axis]));
        prop.model.masses[0] * nodes.sum::<DVec3>()
    };
    let (lengths, momentum) = (axes(&prop), spin(&prop));
    prop.steps(100);
    for (now, start) in axes(&prop).iter().zip(lengths) {
        assert!((now / start - 1.0).abs() < 1e-5, "{now} against {start}");
    }
    // Implicit Euler damps a rotation at ω by the fraction h ω/2 in a time of 1/ω: 7e-4 in 0.1 s at
    // 3.7 rad/s with steps of 1 ms.
    let ratio = spin(&prop).distance(momentum) / momentum.length();
    assert!(ratio < 2e-3, "{ratio}");
}

/// Rods have a twist unknown per edge.
#[test]
fn twist_of_rods_is_an_unknown_and_spreads() {
    let text = KINDS.iter().find(|kind| kind.0 == "rod").unwrap().1;
    let mut rod = Simulation::new(LINEAR, 5e-3, text);
    assert!(matches!(rod.model.bodies[0].elements, Elements::Rods(_)));
    assert_eq!(rod.model.unknowns.count, 13 * 3 + 12);
    let start: f64 = rod.state.twists.iter().sum();
    rod.steps(20);
    let end: f64 = rod.state.twists.iter().sum();
    assert!((start - end).abs() > 0.1, "{start} against {end}");
    assert!(rod.state.spins.iter().all(|spin| *spin != 0.0));
}
