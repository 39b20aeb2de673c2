//! Restitution: what impacts keep, and what they lose.

use std::path::Path;

use reefknot_sim::integrate::Scratch;
use reefknot_sim::model::Model;
use reefknot_sim::report::Energies;
use reefknot_sim::state::State;
use reefknot_sim::step::step;

use crate::read::read_in;

const FLOOR: &str = "[collider.ground]\nkind = \"plane\"\n";
const SOFT: &str = "[material.soft]\nyoung = 1e5\npoisson = 0.3\nthickness = 1e-3\ndensity = 400\n";

/// A box that lands on an edge.
const TILTED_BOX: &str = "
[object.box]
kind = \"rigid\"
shape = { kind = \"box\", size = [0.06, 0.06, 0.06] }
mass = 0.1
position = [0, 0, 0.05]
velocity = [0, 0, -2]
rotation = { axis = [0, 1, 0], angle = 0.3 }
";

/// Two sheets and a ball above each other.
const SHEETS: &str = "
[object.lower]
kind = \"cloth-grid\"
size = [0.1, 0.1]
vertices = [5, 5]
material = \"soft\"
position = [0, 0, 0.02]
velocity = [0, 0, -2]
[object.upper]
kind = \"cloth-grid\"
size = [0.1, 0.1]
vertices = [5, 5]
material = \"soft\"
position = [0.01, 0, 0.03]
velocity = [0, 0, -2]
[object.ball]
kind = \"rigid\"
shape = { kind = \"sphere\", radius = 0.03, edge = 0.02 }
mass = 0.05
position = [0, 0, 0.08]
velocity = [0, 0, -3]
";

const ROD: &str = "
[object.rod]
kind = \"rod\"
length = 0.2
radius = 0.004
vertices = 9
material = \"soft\"
position = [0, 0, 0.05]
velocity = [0, 0, -1]
rotation = { axis = [0, 1, 0], angle = 0.2 }
";

/// A run: energies after each step, and the last state.
struct Run {
    energies: Vec<Energies>,
    state: State,
    model: Model,
}

impl Run {
    /// Runs `steps` steps of `h_ms` with a gravity and contact properties.
    fn new(text: &str, contact: &str, gravity: f64, h_ms: f64, steps: usize) -> Run {
        let text = format!(
            "time = {{ duration = 10, frame_rate = 10, h = \"{h_ms} ms\" }}\n\
                gravity = [0, 0, {gravity}]\n[contact]\n{contact}\n{text}"
        );
        let model = Model::build(&read_in(Path::new("."), &text)).unwrap();
        let mut scratch = Scratch::new(&model);
        let mut state = model.start.clone();
        let mut energies = Vec::new();
        for _ in 0..steps {
            let step = step(&model, &state, &mut scratch).unwrap();
            energies.push(step.report.energy_j);
            state = step.to;
        }
        Run {
            energies,
            state,
            model,
        }
    }

    /// Kinetic, elastic and gravity energy never grow.
    fn assert_no_gain(&self, case: &str) {
        for pair in self.energies.windows(2) {
            let [before, after] = [pair[0].total(), pair[1].total()];
            let rounding = 1e-6 * pair[0].kinetic.max(1e-3);
            assert!(after <= before + rounding, "{case}: {before} to {after}");
        }
    }

    fn contact_loss(&self) -> f64 {
        self.energies.iter().map(|energy| energy.contact).sum()
    }

    /// Speed of the centre of a prop along x, by its number.
    fn speed_of_prop(&self, prop: usize) -> f64 {
        self.state.velocities[self.model.bodies[prop].nodes.start].x
    }
}

#[test]
fn a_tilted_box_that_bounces_fully_loses_nothing_in_its_contacts() {
    let scene = format!("{FLOOR}{TILTED_BOX}");
    for (h, steps) in [(4.0, 12), (1.0, 40), (0.2, 200)] {
        let run = Run::new(&scene, "friction = 0\nrestitution = 1", 0.0, h, steps);
        run.assert_no_gain(&format!("h = {h} ms"));
        // 0.2 J of normal energy; the tolerance of contacts is 10 µm.
        assert!(run.contact_loss().abs() < 1e-5, "{}", run.contact_loss());
        let up = run.state.velocities[0].z;
        assert!(up > 0.5, "h = {h} ms: {up} m/s");
    }
}

#[test]
fn what_bounces_partly_loses_at_most_its_normal_energy() {
    let scene = format!("{FLOOR}{TILTED_BOX}");
    for e in [0.3, 0.7] {
        let contact = format!("friction = 0\nrestitution = {e}");
        // Until after the first impact, with the edge: that alone loses at most (1 − e²) 0.2 J.
        let run = Run::new(&scene, &contact, 0.0, 1.0, 8);
        let loss = run.contact_loss();
        assert!(loss > 1e-3 && loss <= (1.0 - e * e) * 0.2, "{e}: {loss}");
    }
}

#[test]
fn sheets_rods_and_piles_gain_nothing_and_lose_nothing_in_full_bounces() {
    for (name, scene) in [("sheets", SHEETS), ("rod", ROD)] {
        let scene = format!("{FLOOR}{SOFT}{scene}");
        for (h, steps) in [(4.0, 20), (1.0, 40)] {
            let case = format!("{name}, h = {h} ms");
            let run = Run::new(&scene, "friction = 0\nrestitution = 1", -9.81, h, steps);
            run.assert_no_gain(&case);
            let limit = 1e-2 * run.energies[0].kinetic;
            let loss = run.contact_loss();
            assert!(loss.abs() < limit, "{case}: {loss} J of {limit} J");
        }
    }
}

#[test]
fn friction_takes_nothing_from_a_flat_bounce() {
    let scene = format!("{FLOOR}{}", TILTED_BOX.replace("0.3 }", "0 }"));
    let run = Run::new(&scene, "friction = 0.5\nrestitution = 1", 0.0, 4.0, 10);
    let last = run.energies[run.energies.len() - 1].total();
    assert!((last - 0.2).abs() < 1e-4, "{last} J of 0.2 J");
}

#[test]
fn a_cradle_of_balls_sends_off_the_last_ball_alone() {
    let ball = |index: usize| {
        let (x, speed) = match index {
            0 => (-0.03, 1.0),
            _ => (0.1002 * index as f64, 0.0),
        };
        format!(
            "[object.ball{index}]\nkind = \"rigid\"\n\
                shape = {{ kind = \"sphere\", radius = 0.05, edge = 0.04 }}\nmass = 0.2\n\
                position = [{x}, 0, 0]\nvelocity = [{speed}, 0, 0]\n\
                contact = {{ thickness = \"0.2 mm\" }}\n"
        )
    };
    let scene: String = (0..5).map(ball).collect();
    let run = Run::new(&scene, "restitution = 1", 0.0, 4.0, 12);
    let mut speeds: Vec<f64> = (0..5).map(|prop| run.speed_of_prop(prop)).collect();
    let last = speeds.pop().unwrap();
    assert!((last - 1.0).abs() < 1e-3, "{last}");
    assert!(speeds.iter().all(|v| v.abs() < 5e-3), "{speeds:?}");
    run.assert_no_gain("cradle");
}

#[test]
fn a_ball_returns_with_the_speed_of_its_fall() {
    let ball = "[object.ball]\nkind = \"rigid\"\n\
        shape = { kind = \"sphere\", radius = 0.05, edge = 0.04 }\nmass = 0.5\n\
        position = [0, 0, 0.3]\n";
    let scene = format!("{FLOOR}{ball}");
    // A free fall of implicit Euler loses m g² h²/2 per step: 3e-5 J in all.
    let run = Run::new(&scene, "restitution = 1", -9.81, 1.0, 400);
    let lost = run.energies[0].total() - run.energies[399].total();
    assert!(lost > 0.0 && lost < 0.02, "{lost} J of 1.2 J");
    assert!(run.contact_loss().abs() < 1e-5, "{}", run.contact_loss());
}

#[test]
fn boxes_at_rest_do_not_bounce() {
    let cube = |index: usize| {
        let z = 0.0301 + 0.0602 * index as f64;
        format!(
            "[object.box{index}]\nkind = \"rigid\"\n\
                shape = {{ kind = \"box\", size = [0.06, 0.06, 0.06] }}\nmass = 0.1\n\
                position = [0, 0, {z}]\ncontact = {{ thickness = \"0.2 mm\" }}\n"
        )
    };
    let boxes: String = (0..3).map(cube).collect();
    let floor = format!("{FLOOR}contact = {{ thickness = \"0.2 mm\" }}\n");
    let contact = "friction = 0.3\nrestitution = 1";
    let run = Run::new(&format!("{floor}{boxes}"), contact, -9.81, 4.0, 50);
    let start = run.model.start.positions.iter();
    let moved = start.zip(&run.state.positions).map(|(a, b)| a.distance(*b));
    let moved = moved.fold(0.0, f64::max);
    assert!(moved < 3e-4, "{moved} m");
    // A bounce at the threshold would have 1e-3 J. What is left is the tolerance of contacts.
    let kinetic = run.energies[49].kinetic;
    assert!(kinetic < 1e-6, "{kinetic} J");
}

/// A paddle at 1.5 m/s: the box leaves it at twice its speed, with the energy that it was given.
#[test]
fn a_paddle_gives_the_energy_of_its_work() {
    let scene = "[collider.paddle]\nkind = \"box\"\nsize = [0.3, 0.3, 0.02]\n\
        motion = { velocity = [0, 0, 1.5] }\n[object.box]\nkind = \"rigid\"\n\
        shape = { kind = \"box\", size = [0.06, 0.06, 0.06] }\nmass = 0.1\n\
        position = [0, 0, 0.05]\n";
    let run = Run::new(scene, "restitution = 1", 0.0, 4.0, 12);
    let up = run.state.velocities[0].z;
    assert!((up - 3.0).abs() < 1e-3, "{up} m/s");
    let work: f64 = run.energies.iter().map(|energy| energy.work).sum();
    assert!((work - 0.45).abs() < 1e-3, "{work} J");
}
