//! The same bits on any number of threads, and from checkpoints.

use reefknot_sim::integrate::Scratch;
use reefknot_sim::io::folder::{Origin, RunFolder};
use reefknot_sim::step::step;

use super::common::*;

#[test]
fn all_kinds_have_the_same_bits_on_any_number_of_threads() {
    for (method, h) in [(LINEAR, 5e-3), (NEWTON, 5e-3), (SYMPLECTIC, 1e-4)] {
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| {
                let mut all = Simulation::new(method, h, &all_kinds());
                all.steps(20);
                all.state.hash()
            })
        };
        let one = run(1);
        assert_eq!(one, run(2), "{method}");
        assert_eq!(one, run(3), "{method}");
    }
}

/// Rods with more than a full turn of twist, which directors alone cannot represent.
const WOUND: &str = "
[object.rod]
kind = \"rod\"
length = 0.5
vertices = 11
radius = [0.01, 0.005]
start_twist = \"3 turn\"
material = \"stuff\"
[object.ring]
kind = \"rod-ring\"
ring_radius = 0.1
vertices = 12
radius = [0.01, 0.005]
start_twist = \"-2 turn\"
material = \"stuff\"
position = [1, 0, 0]
[clamp.first]
object = \"rod\"
end = \"first\"
[clamp.last]
object = \"rod\"
end = \"last\"
twist = { rate = \"5 turn/s\" }
";

#[test]
fn twisted_rods_resume_from_a_checkpoint_with_the_same_bits() {
    for method in [LINEAR, NEWTON] {
        let temporary = tempfile::tempdir().unwrap();
        let folder = RunFolder::new(temporary.path());
        folder.prepare().unwrap();
        let origin = Origin {
            isa: "any".into(),
            commit: "any".into(),
        };
        let mut straight = Simulation::new(method, 5e-3, WOUND);
        straight.steps(10);
        folder.write_checkpoint(&straight.state, &origin).unwrap();
        straight.steps(10);
        // 3 turns from the start, and 5 a second for 0.1 s.
        let twist: f64 = straight.state.twists[..10].iter().sum();
        let turns = twist / std::f64::consts::TAU;
        assert!((turns - 3.5).abs() < 0.01, "{turns} turns");

        let model = model(method, 5e-3, WOUND);
        let (mut state, _) = folder.read_checkpoint(10, &model).unwrap();
        for _ in 0..10 {
            let mut scratch = Scratch::new(&model);
            state = step(&model, &state, &mut scratch).unwrap().to;
        }
        assert_eq!(state.hash(), straight.state.hash(), "{method}");
    }
}

#[test]
fn a_checkpoint_of_other_rods_is_refused() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = RunFolder::new(temporary.path());
    folder.prepare().unwrap();
    let origin = Origin {
        isa: "any".into(),
        commit: "any".into(),
    };
    let rods = model(LINEAR, 5e-3, WOUND);
    folder.write_checkpoint(&rods.start, &origin).unwrap();
    // The same number of vertices with one more edge: the rod is closed.
    let closed = WOUND.split("[clamp.first]").next().unwrap();
    let closed = closed
        .replace(
            "kind = \"rod\"\nlength = 0.5",
            "kind = \"rod-ring\"\nring_radius = 0.1",
        )
        .replace("start_twist = \"3 turn\"\n", "");
    let other = model(LINEAR, 5e-3, &closed);
    assert_eq!(other.masses.len(), rods.masses.len());
    assert!(folder.read_checkpoint(0, &other).is_err());
}
