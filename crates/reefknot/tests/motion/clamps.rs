//! Clamps of simulated and of prescribed rods.

use std::f64::consts::TAU;

use glam::DVec3;
use reefknot_sim::model::{Model, ObjectType};
use reefknot_sim::state::State;

use super::common::*;

/// Rotation of each director about its edge since the start (rad).
fn twists(model: &Model, state: &State) -> Vec<f64> {
    let points = model.points(0, state);
    let directors = model.directors(0, state).unwrap();
    let ObjectType::Rods(rods) = &model.objects[0].kind else {
        panic!("no rods")
    };
    let twist = |index: usize| {
        let [a, b] = rods.edges[index].map(|vertex| points[vertex as usize]);
        let (along, now) = ((b - a).normalize(), directors[index]);
        assert!(along.dot(now).abs() < 1e-12 && (now.length() - 1.0).abs() < 1e-12);
        let start = rods.directors[index];
        along.dot(start.cross(now)).atan2(start.dot(now))
    };
    (0..directors.len()).map(twist).collect()
}

fn assert_near(twists: &[f64], expected: [f64; 5], tolerance: f64) {
    let pairs = twists.iter().zip(expected);
    let error = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(error < tolerance, "{twists:?} against {expected:?}");
}

/// Asserts the twists of a prescribed rod in a step.
fn assert_prescribed_twists(simulation: &Simulation, step: u64, expected: [f64; 5]) {
    let state = State {
        step,
        ..simulation.state.clone()
    };
    assert_near(&twists(&simulation.model, &state), expected, 1e-9);
}

/// A prescribed rod at rest, apart from its clamps.
fn prescribed(more: &str) -> Simulation {
    Simulation::new(&format!("{ROD}motion = {{ velocity = [0, 0, 0] }}\n{more}"))
}

/// A weightless simulated rod with quasi-static twist (a millionth of the inertia).
fn simulated(more: &str) -> Simulation {
    let mut rod = Simulation::new(&format!("{ROD}quasi_static_twist = true\n{more}"));
    rod.model.gravity = DVec3::ZERO;
    rod
}

/// Advances a simulated rod to a step, and asserts its twists within a tolerance.
fn assert_simulated_twists(rod: &mut Simulation, step: u64, expected: [f64; 5], tolerance: f64) {
    rod.balanced_steps((step - rod.state.step) as usize);
    assert_near(&twists(&rod.model, &rod.state), expected, tolerance);
}

/// Fraction of the clamps' twist at the five edges of a prescribed rod: linear in the edge.
const PRESCRIBED: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];

/// The same for a simulated rod: its first and last edges are rigid, so the twist is linear along
/// the three between them. Directors are at the middles of their edges.
const SIMULATED: [f64; 5] = [0.0, 1.0 / 6.0, 0.5, 5.0 / 6.0, 1.0];

const BOTH: &str = "[clamp.start]\nobject = \"rod\"\nend = \"first\"\n[clamp.end]\n\
    object = \"rod\"\nend = \"last\"\n";

const TURNED: &str =
    "twist = { keyframes = [{ time = 0, angle = 0 }, { time = 0.5, angle = \"80 deg\" }] }\n";

#[test]
fn a_clamp_twists_its_end_and_the_rod_linearly() {
    let angle = 80_f64.to_radians();
    let half = PRESCRIBED.map(|part| 0.5 * part * angle);
    let whole = PRESCRIBED.map(|part| part * angle);
    let rod = prescribed(&format!("{BOTH}{TURNED}"));
    assert_eq!(rod.model.pins[rod.model.clamps[1].pin].vertices, [4, 5]);
    assert_prescribed_twists(&rod, 0, [0.0; 5]);
    assert_prescribed_twists(&rod, 25, half);
    assert_prescribed_twists(&rod, 100, whole);
    let mut rod = simulated(&format!("{BOTH}{TURNED}"));
    assert_simulated_twists(&mut rod, 25, SIMULATED.map(|part| 0.5 * part * angle), 1e-6);
    assert_simulated_twists(&mut rod, 100, SIMULATED.map(|part| part * angle), 1e-6);
    // G J θ²/2L with the length between the clamps.
    let stored = reefknot_sim::certify::energies(&rod.model, &rod.state).elastic;
    let ObjectType::Rods(rods) = &rod.model.objects[0].kind else {
        panic!("no rods")
    };
    let expected = 0.5 * rods.material.twist * angle * angle / 0.6;
    assert!(
        (stored / expected - 1.0).abs() < 1e-6,
        "{stored} against {expected}"
    );
}

/// A clamp may rotate by more than half a turn in a step: full turns are counted.
#[test]
fn a_fast_rotating_clamp_accumulates_full_turns_of_twist() {
    let mut rod = simulated(&format!("{BOTH}twist = {{ rate = \"70 turn/s\" }}\n"));
    rod.balanced_steps(2);
    // 0.7 turns per step: after two steps, directors alone would show 0.4 turns.
    let twists = &rod.state.twists;
    for (edge, twist) in twists.iter().enumerate().skip(1) {
        let expected = (SIMULATED[edge] - SIMULATED[edge - 1]) * 1.4 * TAU;
        assert!((twist / expected - 1.0).abs() < 1e-4, "{twists:?}");
    }
}

#[test]
fn a_clamp_with_a_later_start_rotates_from_the_frame_at_its_start() {
    let late = "[clamp.end]\nobject = \"rod\"\nend = \"last\"\nstart = 0.5\nrelease = 0.8\n\
        twist = { rate = \"1 rad/s\" }\n";
    let rod = prescribed(late);
    assert_prescribed_twists(&rod, 40, [0.0; 5]);
    assert_prescribed_twists(&rod, 50, [0.0; 5]);
    assert_prescribed_twists(&rod, 60, [0.1; 5]);
    assert_prescribed_twists(&rod, 100, [0.3; 5]);
    // The other end is free, so a simulated rod rotates as a whole.
    let mut rod = simulated(late);
    assert_simulated_twists(&mut rod, 50, [0.0; 5], 1e-12);
    assert_simulated_twists(&mut rod, 60, [0.1; 5], 1e-3);
    assert_simulated_twists(&mut rod, 80, [0.3; 5], 1e-3);
    // After the release the rod keeps rotating at 1 rad/s: there is no drag.
    assert_simulated_twists(&mut rod, 100, [0.5; 5], 5e-3);
}

/// A rotation of a clamp about the rod twists it like `twist`.
#[test]
fn a_rotating_motion_of_a_clamp_twists_the_rod() {
    let turned = format!(
        "{BOTH}motion = {{ angular_velocity = [\"1 rad/s\", 0, 0] }}\n\
            twist = {{ rate = \"0.5 rad/s\" }}\n"
    );
    let rod = prescribed(&turned);
    assert_prescribed_twists(&rod, 40, PRESCRIBED.map(|part| 0.6 * part));
    assert_eq!(rod.at(0, 0.4)[5], rod.model.objects[0].mesh.points[5]);
    let mut rod = simulated(&turned);
    assert_simulated_twists(&mut rod, 40, SIMULATED.map(|part| 0.6 * part), 1e-6);
    assert!(close(
        rod.state.positions[5],
        rod.model.start.positions[5],
        1e-15
    ));
}

#[test]
fn a_moving_clamp_carries_its_edge_and_bends_the_rest() {
    let carried =
        "[clamp.end]\nobject = \"rod\"\nend = \"last\"\nmotion = { velocity = [0, 0, 1] }\n";
    let rod = prescribed(carried);
    let points = rod.at(0, 0.3);
    assert!(close(points[5], DVec3::new(1.0, 0.0, 0.3), 1e-14));
    assert!(close(points[4], DVec3::new(0.8, 0.0, 0.3), 1e-14));
    assert_eq!(points[3], rod.model.objects[0].mesh.points[3]);
    // A simulated rod follows, first near the clamp.
    let mut rod = simulated(carried);
    rod.balanced_steps(30);
    let points = &rod.state.positions;
    assert!(close(points[5], DVec3::new(1.0, 0.0, 0.3), 1e-14));
    assert!(close(points[4], DVec3::new(0.8, 0.0, 0.3), 1e-14));
    assert!(points[3].z < points[4].z && points[3].z > 0.1, "{points:?}");
    assert!(points[0].z < points[3].z, "{points:?}");
}
