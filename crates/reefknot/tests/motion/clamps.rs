//! Ends of rods, held with their frame.

use glam::DVec3;
use reefknot::model::Kind;
use reefknot::state::State;

use super::common::*;

/// The angle by which each director has turned about its edge since the start.
fn twists(simulation: &Simulation, step: u64) -> Vec<f64> {
    let model = &simulation.model;
    let state = State {
        step,
        ..simulation.state.clone()
    };
    let points = model.points(0, &state);
    let directors = model.directors(0, &state).unwrap();
    let Kind::Rods(rods) = &model.objects[0].kind else {
        panic!("no rods")
    };
    let twist = |index: usize| {
        let [a, b] = rods.edges[index].map(|vertex| points[vertex as usize]);
        let (along, now) = ((b - a).normalize(), directors[index]);
        assert!(along.dot(now).abs() < 1e-12 && now.is_normalized());
        let start = rods.directors[index];
        along.dot(start.cross(now)).atan2(start.dot(now))
    };
    (0..directors.len()).map(twist).collect()
}

fn assert_twists(simulation: &Simulation, step: u64, expected: [f64; 5]) {
    let twists = twists(simulation, step);
    let pairs = twists.iter().zip(expected);
    let error = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(error < 1e-9, "step {step}: {twists:?} against {expected:?}");
}

#[test]
fn a_clamp_twists_its_end_and_what_is_between_evenly() {
    let rod = Simulation::new(&format!(
        "{ROD}[clamp.start]\nobject = \"rod\"\nend = \"first\"\n[clamp.end]\nobject = \"rod\"\nend = \"last\"\ntwist = {{ keyframes = [{{ time = 0, angle = 0 }}, {{ time = 0.5, angle = \"80 deg\" }}] }}\n"
    ));
    assert_eq!(rod.model.pins[rod.model.clamps[1].pin].vertices, [4, 5]);
    let step = 80_f64.to_radians() / 4.0;
    assert_twists(&rod, 0, [0.0; 5]);
    assert_twists(&rod, 25, [0.0, 0.5, 1.0, 1.5, 2.0].map(|part| part * step));
    assert_twists(&rod, 100, [0.0, 1.0, 2.0, 3.0, 4.0].map(|part| part * step));
}

#[test]
fn a_clamp_that_takes_hold_late_turns_from_where_it_took_hold() {
    let rod = Simulation::new(&format!(
        "{ROD}[clamp.end]\nobject = \"rod\"\nend = \"last\"\nstart = 0.5\nrelease = 0.8\ntwist = {{ rate = \"1 rad/s\" }}\n"
    ));
    assert_twists(&rod, 40, [0.0; 5]);
    assert_twists(&rod, 50, [0.0; 5]);
    assert_twists(&rod, 60, [0.1; 5]);
    assert_twists(&rod, 100, [0.3; 5]);
}

/// Whoever turns a clamp about the rod turns the frame that it holds, just as `twist` does.
#[test]
fn a_clamp_that_is_turned_as_a_whole_turns_its_frame() {
    let rod = Simulation::new(&format!(
        "{ROD}[clamp.start]\nobject = \"rod\"\nend = \"first\"\n[clamp.end]\nobject = \"rod\"\nend = \"last\"\nmotion = {{ angular_velocity = [\"1 rad/s\", 0, 0] }}\ntwist = {{ rate = \"0.5 rad/s\" }}\n"
    ));
    assert_twists(&rod, 40, [0.0, 0.15, 0.3, 0.45, 0.6]);
    assert_eq!(rod.at(0, 0.4)[5], rod.model.objects[0].mesh.points[5]);
}

#[test]
fn what_a_clamp_carries_moves_with_it() {
    let rod = Simulation::new(&format!(
        "{ROD}[clamp.end]\nobject = \"rod\"\nend = \"last\"\nmotion = {{ velocity = [0, 0, 1] }}\n"
    ));
    let points = rod.at(0, 0.3);
    assert!(close(points[5], DVec3::new(1.0, 0.0, 0.3), 1e-14));
    assert!(close(points[4], DVec3::new(0.8, 0.0, 0.3), 1e-14));
    // Not simulated yet, the rest stays.
    assert_eq!(points[3], rod.model.objects[0].mesh.points[3]);
}
