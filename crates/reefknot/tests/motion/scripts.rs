//! Keyframes, velocities and oscillations of prescribed objects.

use glam::DVec3;
use reefknot_sim::state::State;

use super::common::*;

/// Position over time of the corner [`CORNER`] of a box with a motion.
fn moved(motion: &str) -> impl Fn(f64) -> DVec3 + use<> {
    let simulation = Simulation::new(&format!(
        "[collider.it]\nkind = \"box\"\nsize = [2, 2, 2]\nposition = [1, 0, 0]\n\
            motion = {{ {motion} }}\n"
    ));
    let start = simulation.model.objects[0].mesh.points.clone();
    let corner = start
        .iter()
        .position(|p| close(*p, DVec3::new(2.0, 1.0, 1.0), 1e-12))
        .unwrap();
    move |time| simulation.at(0, time)[corner]
}

const CORNER: DVec3 = DVec3::new(2.0, 1.0, 1.0);

#[test]
fn keyframes_are_met_exactly_and_hold_at_both_ends() {
    for interpolation in ["linear", "smooth"] {
        let at = moved(&format!(
            "keyframes = [{{ time = 0.1 }}, {{ time = 0.3, position = [1, 2, 3] }}, {{ time = 0.7, \
                position = [-1, 0, 3] }}], interpolation = \"{interpolation}\""
        ));
        for (time, shift) in [
            (0.0, DVec3::ZERO),
            (0.1, DVec3::ZERO),
            (0.3, DVec3::new(1.0, 2.0, 3.0)),
            (0.7, DVec3::new(-1.0, 0.0, 3.0)),
            (1.0, DVec3::new(-1.0, 0.0, 3.0)),
        ] {
            assert!(
                close(at(time), CORNER + shift, 1e-14),
                "{interpolation} {time}"
            );
        }
        // Both interpolations agree at the midpoint.
        assert!(close(at(0.5), CORNER + DVec3::new(0.0, 1.0, 3.0), 1e-14));
    }
}

#[test]
fn keyframes_rotate_by_full_turns() {
    let at = moved(
        "keyframes = [{ time = 0 }, { time = 1, rotation = { angle = \"1.25 turn\" } }], \
            center = [1, 0, 0]",
    );
    // After 0.4 s half a turn, after 1 s a quarter more than a full one, counter-clockwise about
    // (1, 0).
    assert!(close(at(0.4), DVec3::new(0.0, -1.0, 1.0), 1e-14));
    assert!(close(at(1.0), DVec3::new(0.0, 1.0, 1.0), 1e-14));
}

#[test]
fn motions_start_and_stop_at_their_times() {
    let at = moved("velocity = [1, 0, -2], start = 0.2, stop = 0.7");
    assert_eq!(at(0.1), CORNER);
    assert_eq!(at(0.2), CORNER);
    assert!(close(at(0.4), CORNER + DVec3::new(0.2, 0.0, -0.4), 1e-14));
    assert!(close(at(1.0), CORNER + DVec3::new(0.5, 0.0, -1.0), 1e-14));
    assert_eq!(at(0.7), at(1.0));
    // Times of keyframes are relative to the start.
    let at = moved("keyframes = [{ time = 0 }, { time = 0.2, position = [1, 0, 0] }], start = 0.5");
    assert!(close(at(0.6), CORNER + DVec3::X * 0.5, 1e-14));
    assert!(close(at(1.0), CORNER + DVec3::X, 1e-14));
}

#[test]
fn rotations_are_about_the_position_or_the_given_center() {
    let spin = "angular_velocity = [0, 0, \"90 deg/s\"]";
    // The position of the object is (1, 0, 0).
    assert!(close(moved(spin)(1.0), DVec3::new(0.0, 1.0, 1.0), 1e-14));
    let about_origin = moved(&format!("{spin}, center = [0, 0, 0]"));
    assert!(close(about_origin(1.0), DVec3::new(-1.0, 2.0, 1.0), 1e-14));
}

#[test]
fn an_oscillation_is_a_sine_minus_its_value_at_the_start() {
    let at = moved(
        "oscillation = { amplitude = [0, 0, 0.5], frequency = \"2.5 Hz\", phase = \"90 deg\" }, \
            start = 0.2",
    );
    // With a phase of 90° a cosine minus 1: −2 amplitudes after half a period of 0.4 s, 0 after a
    // full one.
    assert!(close(at(0.2), CORNER, 1e-15));
    assert!(close(at(0.4), CORNER - DVec3::Z, 1e-14));
    assert!(close(at(0.6), CORNER, 1e-14));
    let at = moved(
        "oscillation = { rotation = { axis = [0, 0, 1], angle = \"90 deg\" }, frequency = 1 }",
    );
    assert!(close(at(0.25), DVec3::new(0.0, 1.0, 1.0), 1e-14));
    assert!(close(at(0.75), DVec3::new(2.0, -1.0, 1.0), 1e-14));
}

#[test]
fn velocities_of_prescribed_objects_are_those_of_the_motion() {
    let simulation = Simulation::new(
        "[collider.it]\nkind = \"box\"\nsize = [2, 2, 2]\n\
            motion = { velocity = [1, 2, 3], stop = 0.5 }\n",
    );
    let velocity = |step: u64| {
        let state = State {
            step,
            ..simulation.state.clone()
        };
        simulation.model.velocities(0, &state)[0]
    };
    // Velocities are means over the last step; at step 0 over the first.
    for step in [0, 1, 50] {
        assert!(close(velocity(step), DVec3::new(1.0, 2.0, 3.0), 1e-12));
    }
    assert_eq!(velocity(52), DVec3::ZERO);
}
