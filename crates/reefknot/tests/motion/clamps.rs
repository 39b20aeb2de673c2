//! Ends of rods, held with their frame: of rods that are simulated, and of those that are told how to move.

use std::f64::consts::TAU;

use glam::DVec3;
use reefknot::model::{Kind, Model};
use reefknot::state::State;

use super::common::*;

/// The angle by which each director has turned about its edge since the start.
fn twists(model: &Model, state: &State) -> Vec<f64> {
    let points = model.points(0, state);
    let directors = model.directors(0, state).unwrap();
    let Kind::Rods(rods) = &model.objects[0].kind else {
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

/// For rods that are told how to move, whatever happened before.
fn assert_twists(simulation: &Simulation, step: u64, expected: [f64; 5]) {
    let state = State {
        step,
        ..simulation.state.clone()
    };
    assert_near(&twists(&simulation.model, &state), expected, 1e-9);
}

/// A rod that rests where it is not held.
fn told(more: &str) -> Simulation {
    Simulation::new(&format!("{ROD}motion = {{ velocity = [0, 0, 0] }}\n{more}"))
}

/// A rod without weight whose sections are always in equilibrium, but for a millionth of their inertia.
fn simulated(more: &str) -> Simulation {
    let mut rod = Simulation::new(&format!("{ROD}quasi_static_twist = true\n{more}"));
    rod.model.gravity = DVec3::ZERO;
    rod
}

/// After some more steps: the held ends are turned as told to rounding, what is between by the tolerance.
fn assert_steps(rod: &mut Simulation, step: u64, expected: [f64; 5], tolerance: f64) {
    rod.balanced_steps((step - rod.state.step) as usize);
    assert_near(&twists(&rod.model, &rod.state), expected, tolerance);
}

/// Twist between clamps at both ends of a rod of five equal edges that is told how to move: even from edge to edge.
const TOLD: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];

/// The same of one that is simulated: its first and last edge are rigid, so that the twist is even along the three between
/// them. Directors stand for the middles of their edges.
const SIMULATED: [f64; 5] = [0.0, 1.0 / 6.0, 0.5, 5.0 / 6.0, 1.0];

const BOTH: &str = "[clamp.start]\nobject = \"rod\"\nend = \"first\"\n[clamp.end]\nobject = \"rod\"\nend = \"last\"\n";

const TURNED: &str =
    "twist = { keyframes = [{ time = 0, angle = 0 }, { time = 0.5, angle = \"80 deg\" }] }\n";

#[test]
fn a_clamp_twists_its_end_and_what_is_between_evenly() {
    let angle = 80_f64.to_radians();
    let half = TOLD.map(|part| 0.5 * part * angle);
    let whole = TOLD.map(|part| part * angle);
    let rod = told(&format!("{BOTH}{TURNED}"));
    assert_eq!(rod.model.pins[rod.model.clamps[1].pin].vertices, [4, 5]);
    assert_twists(&rod, 0, [0.0; 5]);
    assert_twists(&rod, 25, half);
    assert_twists(&rod, 100, whole);
    let mut rod = simulated(&format!("{BOTH}{TURNED}"));
    assert_steps(&mut rod, 25, SIMULATED.map(|part| 0.5 * part * angle), 1e-6);
    assert_steps(&mut rod, 100, SIMULATED.map(|part| part * angle), 1e-6);
    // G J θ²/2L with the length between the clamps, of which J is exact for no section but a circle's.
    let stored = reefknot::certify::energies(&rod.model, &rod.state).elastic;
    let Kind::Rods(rods) = &rod.model.objects[0].kind else {
        panic!("no rods")
    };
    let expected = 0.5 * rods.material.twist * angle * angle / 0.6;
    assert!(
        (stored / expected - 1.0).abs() < 1e-6,
        "{stored} against {expected}"
    );
}

/// A clamp may turn by more than half a turn in a step, and many times in a run: turns are counted.
#[test]
fn a_clamp_that_turns_fast_winds_the_rod_up() {
    let mut rod = simulated(&format!("{BOTH}twist = {{ rate = \"70 turn/s\" }}\n"));
    rod.balanced_steps(2);
    // 0.7 turns a step, of which the directors alone would show 0.4 after two.
    let twists = &rod.state.twists;
    for (edge, twist) in twists.iter().enumerate().skip(1) {
        let expected = (SIMULATED[edge] - SIMULATED[edge - 1]) * 1.4 * TAU;
        assert!((twist / expected - 1.0).abs() < 1e-4, "{twists:?}");
    }
}

#[test]
fn a_clamp_that_takes_hold_late_turns_from_where_it_took_hold() {
    let late = "[clamp.end]\nobject = \"rod\"\nend = \"last\"\nstart = 0.5\nrelease = 0.8\ntwist = { rate = \"1 rad/s\" }\n";
    let rod = told(late);
    assert_twists(&rod, 40, [0.0; 5]);
    assert_twists(&rod, 50, [0.0; 5]);
    assert_twists(&rod, 60, [0.1; 5]);
    assert_twists(&rod, 100, [0.3; 5]);
    // Nothing holds the other end, so a simulated rod turns along as a whole.
    let mut rod = simulated(late);
    assert_steps(&mut rod, 50, [0.0; 5], 1e-12);
    assert_steps(&mut rod, 60, [0.1; 5], 1e-3);
    assert_steps(&mut rod, 80, [0.3; 5], 1e-3);
    // Let go, sections with inertia would turn on at 1 rad/s; these have next to none, but nothing that brakes them.
    assert_steps(&mut rod, 100, [0.5; 5], 5e-3);
}

/// Whoever turns a clamp about the rod turns the frame that it holds, just as `twist` does.
#[test]
fn a_clamp_that_is_turned_as_a_whole_turns_its_frame() {
    let turned = format!(
        "{BOTH}motion = {{ angular_velocity = [\"1 rad/s\", 0, 0] }}\ntwist = {{ rate = \"0.5 rad/s\" }}\n"
    );
    let rod = told(&turned);
    assert_twists(&rod, 40, TOLD.map(|part| 0.6 * part));
    assert_eq!(rod.at(0, 0.4)[5], rod.model.objects[0].mesh.points[5]);
    let mut rod = simulated(&turned);
    assert_steps(&mut rod, 40, SIMULATED.map(|part| 0.6 * part), 1e-6);
    assert!(close(
        rod.state.positions[5],
        rod.model.start.positions[5],
        1e-15
    ));
}

#[test]
fn what_a_clamp_carries_moves_with_it() {
    let carried =
        "[clamp.end]\nobject = \"rod\"\nend = \"last\"\nmotion = { velocity = [0, 0, 1] }\n";
    let rod = told(carried);
    let points = rod.at(0, 0.3);
    assert!(close(points[5], DVec3::new(1.0, 0.0, 0.3), 1e-14));
    assert!(close(points[4], DVec3::new(0.8, 0.0, 0.3), 1e-14));
    assert_eq!(points[3], rod.model.objects[0].mesh.points[3]);
    // A simulated rod bends along: the nearer to the clamp, the sooner.
    let mut rod = simulated(carried);
    rod.balanced_steps(30);
    let points = &rod.state.positions;
    assert!(close(points[5], DVec3::new(1.0, 0.0, 0.3), 1e-14));
    assert!(close(points[4], DVec3::new(0.8, 0.0, 0.3), 1e-14));
    assert!(points[3].z < points[4].z && points[3].z > 0.1, "{points:?}");
    assert!(points[0].z < points[3].z, "{points:?}");
}
