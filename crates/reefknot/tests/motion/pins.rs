//! Vertices that are held, carried and let go.

use std::f64::consts::FRAC_PI_2;

use glam::{DQuat, DVec3};
use reefknot::state::State;

use super::common::*;

#[test]
fn pins_take_their_vertices_by_every_selection() {
    let held = |at: &str| {
        let text = format!("{SHEET}[pin.it]\nobject = \"sheet\"\nat = {{ {at} }}\n");
        Simulation::new(&text).model.pins[0].vertices.clone()
    };
    assert_eq!(held("vertices = [7, 3, 7, 0]"), [0, 3, 7]);
    assert_eq!(held("group = \"left\""), [0, 5, 10, 15, 20]);
    // Regions are where the object starts, 1 m up.
    assert_eq!(
        held("box = { min = [-1, -1, 0.9], max = [-0.05, -0.15, 1.1] }"),
        [0, 1]
    );
    assert_eq!(
        held("sphere = { center = [0, 0, 1], radius = 0.11 }"),
        [7, 11, 12, 13, 17]
    );
    assert_eq!(
        held("side = { point = [0, 0.15, 0], normal = [0, 3, 0] }"),
        [20, 21, 22, 23, 24]
    );
    let text = format!("{ROD}[pin.it]\nobject = \"rod\"\nat = {{ end = \"last\" }}\n");
    assert_eq!(Simulation::new(&text).model.pins[0].vertices, [5]);
}

#[test]
fn held_vertices_go_where_they_are_told_to_the_bit_and_energy_is_kept() {
    let mut sheet = Simulation::new(&format!(
        "{SHEET}[pin.it]\nobject = \"sheet\"\nat = {{ group = \"corners\" }}\nmotion = {{ velocity = [0.3, 0, 0.1], angular_velocity = [0, 0.5, 1], oscillation = {{ amplitude = [0, 0, 0.02], frequency = 3 }} }}\n"
    ));
    for _ in 0..60 {
        let held = sheet.held();
        assert_eq!(held.targets.len(), 4);
        sheet.balanced_steps(1);
        let time = sheet.model.clock.time(sheet.state.step);
        let pin = &sheet.model.pins[0];
        for ((index, vertex), (node, target)) in pin.vertices.iter().enumerate().zip(held.targets) {
            assert_eq!(*vertex as usize, node);
            assert_eq!(sheet.state.positions[node], target);
            // Nothing adds up from step to step: it is the script's own place.
            let start = sheet.model.start.positions[node];
            assert_eq!(target, pin.script.point(index, start, time));
        }
    }
}

/// The border goes around like a rigid body; a light and stiff inside has no choice but to follow.
#[test]
fn a_sheet_follows_its_border() {
    let border = "vertices = [0, 1, 2, 3, 4, 5, 9, 10, 14, 15, 19, 20, 21, 22, 23, 24]";
    let mut sheet = Simulation::new(&format!(
        "{SHEET}[pin.it]\nobject = \"sheet\"\nat = {{ {border} }}\nmotion = {{ velocity = [0, 0, 0.2], angular_velocity = [0, 0, \"90 deg/s\"] }}\n"
    ));
    sheet.model.gravity = DVec3::ZERO;
    sheet.balanced_steps(100);
    let turn = DQuat::from_rotation_z(FRAC_PI_2);
    for (start, now) in sheet
        .model
        .start
        .positions
        .iter()
        .zip(&sheet.state.positions)
    {
        let expected = turn * *start + DVec3::Z * 0.2;
        // The jerk at the start leaves it swinging by some millimetres.
        assert!(close(*now, expected, 0.02), "{now} against {expected}");
    }
}

#[test]
fn a_sheet_that_is_held_everywhere_goes_like_a_rigid_body() {
    let mut sheet = Simulation::new(&format!(
        "{SHEET}[pin.it]\nobject = \"sheet\"\nat = {{ side = {{ point = [0, 0, 0], normal = [0, 0, 1] }} }}\nmotion = {{ keyframes = [{{ time = 0 }}, {{ time = 1, position = [0, 1, 0], rotation = {{ axis = [1, 0, 0], angle = \"2 turn\" }} }}], interpolation = \"smooth\" }}\n"
    ));
    sheet.balanced_steps(50);
    // Half way in a smooth motion from rest to rest: one turn.
    for (start, now) in sheet
        .model
        .start
        .positions
        .iter()
        .zip(&sheet.state.positions)
    {
        assert!(close(*now, *start + DVec3::Y * 0.5, 1e-14));
    }
    sheet.balanced_steps(50);
    assert!(sheet.step().report.max_stretch - 1.0 < 1e-9);
}

/// Steps of 10 ms, of which the time of the 23rd is computed as 0.22999999999999998 s.
#[test]
fn a_time_that_a_step_begins_at_but_for_rounding_is_met_by_that_step() {
    let sheet = Simulation::new(&format!(
        "{SHEET}[pin.early]\nobject = \"sheet\"\nat = {{ vertices = [0] }}\nrelease = 0.23\n[pin.late]\nobject = \"sheet\"\nat = {{ vertices = [1] }}\nstart = 0.23\n[load.late]\nobject = \"sheet\"\nat = {{ vertices = [2] }}\nforce = [0, 0, 1]\nstart = 0.23\n[load.early]\nobject = \"sheet\"\nat = {{ vertices = [3] }}\nforce = [0, 0, 1]\nstop = 0.23\n"
    ));
    let from = |step: u64| State {
        step,
        ..sheet.state.clone()
    };
    let nodes = |list: Vec<(usize, DVec3)>| list.iter().map(|(node, _)| *node).collect::<Vec<_>>();
    assert!(sheet.model.clock.time(23) < 0.23);
    for (step, held, loaded) in [(22, 0, 3), (23, 1, 2), (24, 1, 2)] {
        assert_eq!(
            nodes(held_from(&sheet.model, &from(step)).targets),
            [held],
            "step {step}"
        );
        assert_eq!(
            nodes(load_forces_from(&sheet.model, &from(step))),
            [loaded],
            "step {step}"
        );
    }
}

#[test]
fn a_late_pin_takes_hold_wherever_its_vertices_are_and_lets_go() {
    let mut sheet = Simulation::new(&format!(
        "{SHEET}[pin.it]\nobject = \"sheet\"\nat = {{ group = \"corners\" }}\nstart = 0.2\nrelease = 0.5\nmotion = {{ velocity = [1, 0, 0], start = 0.3 }}\n"
    ));
    sheet.balanced_steps(20);
    let taken = sheet.state.positions[0];
    let fallen = 0.5 * 9.81 * 0.01 * 0.01 * 20.0 * 21.0;
    assert!((sheet.model.start.positions[0].z - taken.z - fallen).abs() < 1e-10);
    sheet.balanced_steps(10);
    // It rests until its motion begins, to the bit.
    assert_eq!(sheet.state.positions[0], taken);
    sheet.balanced_steps(20);
    assert!(close(
        sheet.state.positions[0],
        taken + DVec3::X * 0.2,
        1e-12
    ));
    let released = sheet.state.positions[0];
    assert!(close(sheet.state.velocities[0], DVec3::X, 1e-9));
    sheet.balanced_steps(5);
    assert!(sheet.state.positions[0].x > released.x && sheet.state.positions[0].z < released.z);
    assert!(sheet.held().targets.is_empty());
}

#[test]
fn of_two_pins_on_a_vertex_the_last_counts_and_the_other_holds_on() {
    let mut sheet = Simulation::new(&format!(
        "{SHEET}[pin.one]\nobject = \"sheet\"\nat = {{ group = \"corners\" }}\n[pin.two]\nobject = \"sheet\"\nat = {{ vertices = [0] }}\nmotion = {{ velocity = [0, 0, 1] }}\nrelease = 0.1\n"
    ));
    sheet.balanced_steps(10);
    let start = sheet.model.start.positions[0];
    assert!(close(
        sheet.state.positions[0],
        start + DVec3::Z * 0.1,
        1e-15
    ));
    assert_eq!(sheet.held().targets.len(), 4);
    assert_eq!(sheet.state.positions[4], sheet.model.start.positions[4]);
}
