//! Rods that touch: rows of the validation table, and the shipped scenes of ropes and hair.

use reefknot::check;
use reefknot::integrate::{self, Scratch, StepOptions};
use reefknot::model::Model;
use reefknot::scene::{Scene, SceneRequest};

use crate::tests::{Outcome, assert_close, build_size, probe, run};

/// Runs a scene with two of its parameters changed.
fn run_with(name: &str, [one, other]: [(&str, f64); 2]) -> Outcome {
    let set = |(parameter, value): (&str, f64)| format!("parameters.{parameter}={value}");
    run(name, &[&set(one), &set(other)])
}

#[test]
fn validation_capstan_holds_e_to_the_friction_times_the_angle() {
    for (mu, turns, expected) in [(0.3, 0.25, 1.602), (0.5, 0.5, 4.810)] {
        let drawn = run_with("validation/capstan", [("mu", mu), ("turns", turns)]);
        assert_close(&drawn, "tension_ratio", expected, 2e-2);
    }
}

#[test]
fn validation_stick_slip_slips_where_the_elastica_leaves_the_cone() {
    for (mu, lowest, expected) in [(0.1, 0.06, 0.0469), (0.3, 0.29, 0.2716)] {
        let lowered = run_with("validation/stick-slip", [("mu", mu), ("lowest", lowest)]);
        assert_close(&lowered, "lowering_at_slip_over_L", expected, 3e-2);
    }
}

/// The shipped scenes of rods, and how large their contact errors may be (m): hair under a band is the hardest, where 400 iterations are not quite enough in the
/// step in which it snaps on.
const SCENES: [(&str, &[&str], f64); 6] = [
    ("reefknot", &["parameters.duration=\"0.4 s\""], 1e-5),
    ("belt", &["time.duration=\"0.2 s\""], 1e-5),
    (
        "hairy-ball",
        &["parameters.rods=150", "time.duration=\"0.5 s\""],
        1e-5,
    ),
    // A ball that comes fast: hair it hits leaves where it was expected, and was not looked at until the gate had to stop it.
    (
        "sticky-patch",
        &[
            "parameters.rods=60",
            "parameters.comes=\"0.05 s\"",
            "time.duration=\"0.5 s\"",
        ],
        1e-5,
    ),
    ("hair-band", &["parameters.rods=30"], 1e-4),
    ("furry-bunny", &["time.duration=\"0.2 s\""], 1e-5),
];

#[test]
fn scenes_of_rods_neither_intersect_nor_break_the_law() {
    for (name, sets, most) in SCENES {
        let outcome = run(name, sets);
        assert!(outcome.contacts > 0, "{name} has contacts");
        assert!(outcome.errors[0] < most, "{name}: {:?}", outcome.errors);
    }
}

#[test]
fn scenes_of_rods_start_at_their_full_size() {
    for (name, ..) in SCENES {
        let found = check::intersections(&build_size(name, &[], false));
        assert!(found.is_empty(), "{name}: {found:?}");
    }
}

#[test]
fn a_belt_locks_with_much_friction_and_runs_with_little() {
    let locked = probe(&run("belt", &[]), "drop");
    assert!(locked < 0.01, "it tightens by {locked} m");
    let running = probe(&run("belt", &["parameters.mu=0.2"]), "drop");
    assert!(running > 0.05, "it runs by {running} m in half a second");
}

#[test]
fn a_reef_knot_carries_what_hangs_from_it_and_lets_go_on_ice() {
    let sets = ["parameters.duration=\"1 s\""];
    let held = probe(&run("reefknot", &sets), "tail_slip");
    let icy = [sets[0], "parameters.mu=0.05"];
    let slipped = probe(&run("reefknot", &icy), "tail_slip");
    assert!(held < 0.003 && slipped > 0.006, "{held} {slipped}");
}

#[test]
fn fur_that_is_hit_is_neither_pressed_together_nor_torn_by_its_roots() {
    let outcome = run("furry-bunny", &[]);
    // It touches the slope head-on. With roots that were as stiff across as along, first edges were pulled to seven times their length.
    let stretch = probe(&outcome, "fur_stretch");
    assert!((1.001..1.1).contains(&stretch), "{stretch}");
    assert!(outcome.errors[0] < 1e-5, "{:?}", outcome.errors);
}

#[test]
fn a_band_that_is_let_go_stays_where_it_is_by_friction() {
    let lowered = run("hair-band", &[]);
    let slipped = run(
        "hair-band",
        &[
            "contact.friction=0",
            "object.hair.contact.friction=0",
            "object.band.contact.friction=0",
            "collider.head.contact.friction=0",
        ],
    );
    let [held, slid] = [&lowered, &slipped].map(|outcome| probe(outcome, "band"));
    // It was let go at 15 mm, above the middle of the ball; without friction its own tension takes it up and off.
    assert!((held - 0.015).abs() < 1e-3, "{held} m");
    assert!((slid - 0.015).abs() > 3e-3, "{slid} m");
}

#[test]
fn wet_hair_clumps_and_sticks_to_a_ball_and_dry_hair_does_neither() {
    let wet = run("sticky-patch", &[]);
    let dry = run("sticky-patch", &["parameters.cohesion=0"]);
    let of = |name: &str| [probe(&wet, name), probe(&dry, name)];
    // Five seeds gave 145 to 211 contacts, five to seven for each of 30 hairs; dry hair crosses 0 to 6 times.
    let [clumped, crossings] = of("clumped");
    assert!(clumped > 100.0 && crossings < 20.0, "{clumped} {crossings}");
    // 20 to 27 contacts hold. They pull with 0.5 to 0.6 mN, at hairs that weigh 0.6 mN.
    let [held, left] = of("on_ball");
    assert!(held > 10.0 && left == 0.0, "{held} {left}");
    let [pull, _] = of("pull");
    assert!((3e-4..1.2e-3).contains(&pull), "{pull} N");
    // The ball goes back by 12 cm and tips come along by 5 to 8 cm; without cohesion they hang where they hung, but for 4 mm of swing.
    let [drawn, swing] = of("drawn");
    assert!(drawn > 0.03 && swing.abs() < 0.01, "{drawn} {swing} m");
    assert!(wet.errors[0] < 1e-5, "{:?}", wet.errors);
}

/// Vertices that are held cannot give way, and what is beside them would have to do it by a long lever: hair of 20 uN was pulled with 45 N.
#[test]
fn hair_that_is_held_too_close_is_not_torn() {
    let text = "
time = { duration = \"0.14 s\", frame_rate = 144, h = \"7 ms\" }
[material.hair]
preset = \"hair\"
damping = \"2 ms\"
[object.hair]
kind = \"groom\"
on = \"plate\"
at = { side = { point = [0, 0, \"495 mm\"], normal = [0, 0, -1] } }
count = 60
spacing = \"2 mm\"
length = \"30 cm\"
vertices = 30
lean = 0
stray = \"8 deg\"
radius = \"40 um\"
proximity_radius = \"0.4 mm\"
material = \"hair\"
[collider.plate]
kind = \"box\"
size = [\"2.4 cm\", \"2.4 cm\", \"1 cm\"]
position = [0, 0, \"50 cm\"]
";
    let model = model_of(text).unwrap();
    let mut scratch = Scratch::new(&model);
    let (mut state, mut contacts) = (model.start.clone(), 0);
    while state.step < model.clock.steps() {
        let step = integrate::step_with(&model, &state, StepOptions::TEST, &mut scratch)
            .0
            .unwrap();
        let report = &step.report;
        assert_eq!(report.intersections, Some(0));
        // It hangs, and stretches by a millionth; the rest is what brings it apart at the start.
        assert!(report.max_stretch < 1.05, "{}", report.max_stretch);
        contacts = contacts.max(report.contacts);
        state = step.to;
    }
    assert!(contacts > 30, "{contacts}");
}

#[test]
fn threads_change_no_bit_of_hair() {
    let sets = ["parameters.rods=250", "time.duration=\"0.6 s\""];
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.unwrap().install(|| run("hairy-ball", &sets))
    };
    let (one, two) = (on(1), on(2));
    assert!(one.contacts > 100, "{}", one.contacts);
    assert_eq!(one.state.hash(), two.state.hash());
}

fn model_of(text: &str) -> Result<Model, String> {
    let request = SceneRequest {
        text: text.to_owned(),
        ..SceneRequest::default()
    };
    let scene = Scene::read(&request).map_err(|problems| problems.to_string())?;
    Model::build(&scene).map_err(|problems| problems.to_string())
}

/// Two rods that lie across each other, and a third far away.
fn crossed(pairs: &str) -> String {
    format!(
        "time.duration = 1\n[material.a]\nyoung = 1e6\ndensity = 1000\n\
         [object.one]\nkind = \"rod\"\nlength = 0.1\nvertices = 5\nradius = 0.001\nmaterial = \"a\"\ncontact = {{ group = \"some\" }}\n\
         [object.two]\nkind = \"rod\"\nlength = 0.1\nvertices = 5\nradius = 0.001\nmaterial = \"a\"\nposition = [0, 0, 0.0021]\ncontact = {{ group = \"some\" }}\n\
         [contact]\npairs = [{pairs}]\n"
    )
}

#[test]
fn groups_of_contact_stand_for_all_pairs_of_their_members() {
    let frictions = |pairs: &str| {
        let model = model_of(&crossed(pairs)).unwrap();
        let touch = model.touch.as_ref().unwrap();
        let of = |one, other| touch.pairing(&model, one, other).friction;
        [of(0, 0), of(0, 1), of(1, 1)]
    };
    let group = "{ between = [\"some\", \"some\"], friction = 0.7 }";
    assert_eq!(frictions(group), [0.7; 3]);
    // What names an object goes before what names its group.
    let both = format!("{group}, {{ between = [\"one\", \"some\"], friction = 0.9 }}");
    assert_eq!(frictions(&both), [0.9, 0.9, 0.7]);
    let twice = format!("{group}, {group}");
    assert!(model_of(&crossed(&twice)).unwrap_err().contains("twice"));
    let unknown = "{ between = [\"sum\", \"one\"] }";
    let refused = model_of(&crossed(unknown)).unwrap_err();
    assert!(refused.contains("contact group `sum`"), "{refused}");
}

#[test]
fn what_is_told_not_to_touch_falls_through() {
    // The upper rod falls; where the lower one is told to rest and they touch, it stays there.
    let drop = |touch: bool| {
        let pairs = format!("{{ between = [\"one\", \"two\"], touch = {touch} }}");
        let text = crossed(&pairs).replace(
            "[object.two]",
            "[pin.one]\nobject = \"one\"\nat = { group = \"ends\" }\n[object.two]",
        );
        let model = model_of(&text.replace("duration = 1", "duration = 0.2")).unwrap();
        let mut scratch = Scratch::new(&model);
        let mut state = model.start.clone();
        while state.step < model.clock.steps() {
            let step = integrate::step_with(&model, &state, StepOptions::TEST, &mut scratch)
                .0
                .unwrap();
            assert_eq!(step.report.intersections, Some(0));
            state = step.to;
        }
        model.start.positions[5].z - state.positions[5].z
    };
    // g t²/2 is 0.196 m.
    assert!(drop(false) > 0.19, "it falls freely: {}", drop(false));
    assert!(drop(true) < 0.1, "it is held: {}", drop(true));
}
