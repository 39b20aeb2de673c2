//! Energy and momentum, step by step.

use glam::DVec3;
use reefknot::certify::energies;
use reefknot::model::Elements;

use super::common::*;

fn is_balanced(method: &str, h: f64) {
    for (kind, text) in KINDS {
        let what = format!("{kind} with {method}");
        let mut thing = Simulation::new(method, h, text);
        let momentum = thing.momentum();
        for _ in 0..20 {
            thing.balanced_step(&what);
        }
        if kind != "groom" {
            // Free: m g t is all that it has gained.
            let gained = thing.momentum() - momentum;
            let expected = 20.0 * h * thing.weight();
            assert!(
                gained.distance(expected) < 1e-8 * expected.length(),
                "{what}: {gained} against {expected}"
            );
        }
        let moved = thing
            .state
            .positions
            .iter()
            .zip(&thing.model.start.positions);
        let moved = moved
            .map(|(now, start)| now.distance(*start))
            .fold(0.0, f64::max);
        // The slowest is the hair, which is carried along at 0.2 m/s and more.
        assert!(moved > 20.0 * h * 0.2, "{what}: {moved} m");
    }
}

#[test]
fn every_kind_balances_energy_and_momentum_with_implicit_euler() {
    is_balanced(LINEAR, 5e-3);
}

#[test]
fn every_kind_balances_energy_and_momentum_with_newtons_method() {
    is_balanced(NEWTON, 5e-3);
}

#[test]
fn every_kind_balances_energy_and_momentum_with_symplectic_euler() {
    is_balanced(SYMPLECTIC, 1e-4);
}

/// Pulled at by loads, air and a resting medium, all kinds at once; energy is lost to viscosity only, and never gained there.
#[test]
fn drag_and_viscosity_only_take() {
    let text = all_kinds().replace("material = \"stuff\"", "material = \"tough\"");
    let text = format!(
        "{text}[material.tough]\ndensity = 1000\nyoung = 1e6\npoisson = 0.3\nthickness = \"2 mm\"\ndamping = \"2 ms\"\nmass_damping = 1\n[wind]\nvelocity = [0, 3, 0]\n"
    );
    for (method, h) in [(LINEAR, 5e-3), (NEWTON, 5e-3), (SYMPLECTIC, 2e-5)] {
        let mut all = Simulation::new(method, h, &text);
        for _ in 0..10 {
            let before = reefknot::certify::energies(&all.model, &all.state);
            let after = all.step().report.energy_j;
            assert!(after.viscous > 0.0, "{method}: {after:?}");
            let flow = after.work - after.viscous - after.contact - after.numerical;
            let error = after.total() - before.total() - flow;
            let stake = after.kinetic + after.elastic + after.viscous + after.work.abs();
            assert!(
                error.abs() < 1e-9 * stake,
                "{method}: {error} J of {stake} J"
            );
        }
    }
}

/// From rest, a first iteration goes along tangents, where what hardly stretches is stretched: a line search allows a small part of that way only,
/// and two iterations would slow down everything that turns.
#[test]
fn two_iterations_of_newtons_method_do_not_slow_down_what_turns() {
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
    // Implicit Euler loses (ω h)² of the speed in a step, as long as it has it.
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

/// A prop that is thrown keeps its angular momentum to second order, and its axes their lengths.
#[test]
fn a_prop_turns_and_stays_rigid() {
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
    // Implicit Euler brakes a turn at ω by about h ω/2 of it in a time of 1/ω: 0.1 s at 3.7 rad/s and 1 ms lose 7e-4.
    let ratio = spin(&prop).distance(momentum) / momentum.length();
    assert!(ratio < 2e-3, "{ratio}");
}

/// Rods have unknowns that others have not; all of them take part.
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
