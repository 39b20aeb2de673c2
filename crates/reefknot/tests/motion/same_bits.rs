//! The same bits on any number of threads, and from checkpoints.

use std::path::Path;

use reefknot_sim::integrate::Scratch;
use reefknot_sim::io::folder::{Origin, RunFolder};
use reefknot_sim::model::Model;

use super::common::*;

/// Pins with motions and releases, a load and wind.
const HOLDS_AND_LOADS: &str = "
[pin.corners]
object = \"sheet\"
at = { group = \"corners\" }
motion = { velocity = [0.3, 0, 0], angular_velocity = [0, 0, 2] }
release = 0.4
[pin.late]
object = \"sheet\"
at = { vertices = [12] }
start = 0.3
motion = { oscillation = { amplitude = [0, 0, 0.1], frequency = 2 } }
[load.pull]
object = \"sheet\"
at = { group = \"top\" }
force = [0, 0.2, 0]
moment = [0, 0, 0.001]
ramp = 0.3
[wind]
velocity = [0, 2, 0]
turbulence = 1
";

#[test]
fn pins_and_loads_have_the_same_bits_on_any_number_of_threads() {
    // A moment needs vertices that are not collinear.
    let text = format!("{SHEET}{HOLDS_AND_LOADS}")
        .replace("group = \"top\"", "vertices = [20, 22, 24, 17]");
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| {
            let mut sheet = Simulation::new(&text);
            sheet.balanced_steps(60);
            sheet.state.hash()
        })
    };
    assert_eq!(run(1), run(3));
}

#[test]
fn pins_and_loads_resume_from_checkpoints_with_the_same_bits() {
    let text = format!("{SHEET}{HOLDS_AND_LOADS}")
        .replace("group = \"top\"", "vertices = [20, 22, 24, 17]");
    let temporary = tempfile::tempdir().unwrap();
    let folder = RunFolder::new(temporary.path());
    folder.prepare().unwrap();
    let mut straight = Simulation::new(&text);
    folder
        .write_text("scene.toml", &straight.scene.to_toml())
        .unwrap();
    let origin = Origin {
        isa: "any".into(),
        commit: "any".into(),
    };
    for _ in 0..60 {
        folder.write_checkpoint(&straight.state, &origin).unwrap();
        let step = straight.state.step;
        let taken = straight.step();
        let scene = read_in(Path::new(""), &folder.read_text("scene.toml").unwrap());
        let model = Model::build(&scene).unwrap();
        let (state, _) = folder.read_checkpoint(step, &model).unwrap();
        let mut scratch = Scratch::new(&model);
        let again = reefknot_sim::step::step(&model, &state, &mut scratch).unwrap();
        assert_eq!(again.to.hash(), taken.to.hash(), "step {step}");
        assert_eq!(again.pin_forces, taken.pin_forces);
        assert_eq!(again.report.energy_j, taken.report.energy_j);
    }
}
