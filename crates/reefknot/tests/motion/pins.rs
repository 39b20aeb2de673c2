//! Pins: selection, motion, start and release.

use std::f64::consts::FRAC_PI_2;

use glam::{DQuat, DVec3};
use reefknot_sim::state::State;

use super::common::*;

#[test]
fn every_kind_of_selection_chooses_its_vertices() {
    let held = |at: &str| {
        let text = format!("{SHEET}[pin.it]\nobject = \"sheet\"\nat = {{ {at} }}\n");
        Simulation::new(&text).model.pins[0].vertices.clone()
    };
    assert_eq!(held("vertices = [7, 3, 7, 0]"), [0, 3, 7]);
    assert_eq!(held("group = \"left\""), [0, 5, 10, 15, 20]);
    // Regions refer to the start positions, 1 m above the origin.
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
fn held_vertices_meet_their_targets_to_the_bit_with_a_closed_energy_balance() {
    let mut sheet = Simulation::new(&format!(
        "{SHEET}[pin.it]\nobject = \"sheet\"\nat = {{ group = \"corners\" }}\n\
            motion = {{ velocity = [0.3, 0, 0.1], angular_velocity = [0, 0.5, 1], \
            oscillation = {{ amplitude = [0, 0, 0.02], frequency = 3 }} }}\n"
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
            // Rounding does not accumulate: targets come from the script, not from the last step.
            let start = sheet.model.start.positions[node];
            assert_eq!(target, pin.script.point(index, start, time));
        }
    }
}

/// The border moves as a rigid body, and the stiff interior follows.
#[test]
fn a_stiff_sheet_follows_its_border() {
    let border = "vertices = [0, 1, 2, 3, 4, 5, 9, 10, 14, 15, 19, 20, 21, 22, 23, 24]";
    let mut sheet = Simulation::new(&format!(
        "{SHEET}[pin.it]\nobject = \"sheet\"\nat = {{ {border} }}\n\
            motion = {{ velocity = [0, 0, 0.2], angular_velocity = [0, 0, \"90 deg/s\"] }}\n"
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
        // The sudden start excites oscillations of some millimetres.
        assert!(close(*now, expected, 0.02), "{now} against {expected}");
    }
}

#[test]
fn a_sheet_held_at_all_vertices_moves_as_a_rigid_body() {
    let mut sheet = Simulation::new(&format!(
        "{SHEET}[pin.it]\nobject = \"sheet\"\n\
            at = {{ side = {{ point = [0, 0, 0], normal = [0, 0, 1] }} }}\n\
            motion = {{ keyframes = [{{ time = 0 }}, {{ time = 1, position = [0, 1, 0], \
            rotation = {{ axis = [1, 0, 0], angle = \"2 turn\" }} }}], \
            interpolation = \"smooth\" }}\n"
    ));
    sheet.balanced_steps(50);
    // Half of the smooth motion: one turn.
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

/// With steps of 10 ms, the time of step 23 is computed as 0.22999999999999998 s.
#[test]
fn start_and_release_times_tolerate_rounding_of_the_step_time() {
    let sheet = Simulation::new(&format!(
        "{SHEET}[pin.early]\nobject = \"sheet\"\nat = {{ vertices = [0] }}\nrelease = 0.23\n\
            [pin.late]\nobject = \"sheet\"\nat = {{ vertices = [1] }}\nstart = 0.23\n[load.late]\n\
            object = \"sheet\"\nat = {{ vertices = [2] }}\nforce = [0, 0, 1]\nstart = 0.23\n\
            [load.early]\nobject = \"sheet\"\nat = {{ vertices = [3] }}\nforce = [0, 0, 1]\n\
            stop = 0.23\n"
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
fn a_pin_with_a_later_start_holds_the_current_positions_until_its_release() {
    let mut sheet = Simulation::new(&format!(
        "{SHEET}[pin.it]\nobject = \"sheet\"\nat = {{ group = \"corners\" }}\nstart = 0.2\n\
            release = 0.5\nmotion = {{ velocity = [1, 0, 0], start = 0.3 }}\n"
    ));
    sheet.balanced_steps(20);
    let taken = sheet.state.positions[0];
    let fallen = 0.5 * 9.81 * 0.01 * 0.01 * 20.0 * 21.0;
    assert!((sheet.model.start.positions[0].z - taken.z - fallen).abs() < 1e-10);
    sheet.balanced_steps(10);
    // Vertices rest to the bit until the motion starts.
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
fn of_two_pins_on_a_vertex_the_last_has_priority_until_its_release() {
    let mut sheet = Simulation::new(&format!(
        "{SHEET}[pin.one]\nobject = \"sheet\"\nat = {{ group = \"corners\" }}\n[pin.two]\n\
            object = \"sheet\"\nat = {{ vertices = [0] }}\nmotion = {{ velocity = [0, 0, 1] }}\n\
            release = 0.1\n"
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
