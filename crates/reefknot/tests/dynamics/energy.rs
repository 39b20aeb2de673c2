//! No energy from nothing: impacts that made energy with one linearisation, or with two.

use reefknot_sim::certify::energies;

use super::common::*;

/// Takes steps until the end of the scene. Asserts that kinetic + elastic + gravity energy never
/// grows beyond the work done on the scene, to a part of its largest value, and that few steps are
/// unconverged. Returns the summed numerical loss (J).
fn run_without_gain([head, text]: [&str; 2], h: f64, steps: usize, tolerance: f64) -> f64 {
    let mut simulation = Simulation::new(head, h, text);
    let start = energies(&simulation.model, &simulation.state).total();
    let lowest = -simulation.weight().length();
    let (mut work, mut numerical, mut largest) = (0.0, 0.0, 0.0_f64);
    let mut unconverged = 0;
    for step in 1..=steps {
        let report = simulation.step().report;
        let energy = report.energy_j;
        work += energy.work;
        numerical += energy.numerical;
        largest = largest.max(energy.kinetic + energy.elastic).max(work.abs());
        let gain = energy.total() - start - work;
        assert!(
            gain <= tolerance * largest.max(start - lowest),
            "step {step}: {gain} J without a source beside {largest} J"
        );
        unconverged += usize::from(report.unconverged);
        assert_eq!(report.intersections.unwrap_or(0), 0, "step {step}");
    }
    // An impact along a straight rope is the worst: one step misses its tolerance.
    assert!(
        unconverged <= 1 + steps / 50,
        "{unconverged} of {steps} steps"
    );
    numerical
}

/// With two iterations this made 1e16 J of 590 J.
#[test]
fn a_bullet_in_a_sheet_makes_no_energy() {
    let head = "gravity = [0, 0, 0]\ncontact = { friction = 0.3 }\n";
    let text = "
[object.sheet]
kind = \"cloth-grid\"
size = [0.3, 0.3]
vertices = [9, 9]
material = \"stuff\"
[object.bullet]
kind = \"solid-ball\"
radius = 0.015
edge = 0.012
material = \"stuff\"
position = [-0.0536656315, 0, -0.107331263]
velocity = [134.164079, 0, 268.328157]
";
    run_without_gain([head, text], 5e-3, 6, 1e-6);
}

/// With one linearisation this made 2e24 J.
#[test]
fn jelly_pressed_at_10_m_per_s_keeps_to_the_work_of_the_press() {
    let head = "contact = { friction = 0.3 }\n";
    let text = "
[material.jelly]
preset = \"jelly\"
solid_model = \"fixed-corotated\"
[object.ball]
kind = \"solid-ball\"
radius = 0.08
edge = 0.045
material = \"jelly\"
position = [0, 0, 0.1]
[collider.ground]
kind = \"plane\"
[collider.lid]
kind = \"box\"
size = [0.4, 0.4, 0.05]
position = [0, 0, 0.24]
motion = { velocity = [0, 0, -10], stop = 0.016 }
";
    run_without_gain([head, text], 8e-3, 12, 1e-4);
}

/// A step of the straight rope made 243 J of 1.9 J.
#[test]
fn a_straight_rope_lowered_on_the_floor_buckles_without_energy() {
    let head = "contact = { friction = 0.4 }\n";
    let text = "
[material.rope]
preset = \"cotton-rope\"
[object.rope]
kind = \"rod\"
length = \"0.5 m\"
vertices = 40
radius = \"5 mm\"
rotation = { axis = [0, 1, 0], angle = \"90 deg\" }
position = [0.001, 0, 0.51]
material = \"rope\"
[pin.feed]
object = \"rope\"
at = { end = \"first\" }
motion = { velocity = [0, 0, \"-0.8 m/s\"] }
[collider.floor]
kind = \"plane\"
";
    run_without_gain([head, text], 4e-3, 60, 1e-4);
}

/// Implicit Euler loses energy in proportion to h: half the loss with half the step.
#[test]
fn the_numerical_loss_goes_to_zero_with_the_time_step() {
    let head = "gravity = [0, 0, 0]\n";
    let text = "
[object.sheet]
kind = \"cloth-grid\"
size = [0.4, 0.3]
vertices = [5, 4]
material = \"stuff\"
velocity = [1, 0, 0.5]
angular_velocity = [1, 2, 3]
";
    let loss = |steps: usize| run_without_gain([head, text], 0.1 / steps as f64, steps, 1e-9);
    let losses = [40, 80, 160].map(loss);
    for pair in losses.windows(2) {
        let ratio = pair[0] / pair[1];
        assert!((1.7..2.1).contains(&ratio), "{losses:?}");
    }
}
