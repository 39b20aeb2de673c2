//! Contact of rods: the shipped scenes of ropes and hair.

use reefknot_sim::check;
use reefknot_sim::integrate::{Scratch, StepOptions};
use reefknot_sim::model::Model;
use reefknot_sim::scene::{Scene, SceneRequest};
use reefknot_sim::step::step_with;

use crate::tests::{build_size, probe, run};

/// Shipped scenes of rods, with the limit of their contact errors (m). Hair under a band is the
/// hardest: 400 iterations do not suffice in the step in which the band snaps on.
const SCENES: [(&str, &[&str], f64); 6] = [
    ("reefknot", &["parameters.duration=\"0.4 s\""], 1e-5),
    ("belt", &["time.duration=\"0.2 s\""], 1e-5),
    (
        "hairy-ball",
        &["parameters.rods=150", "time.duration=\"0.5 s\""],
        1e-5,
    ),
    // A fast ball. Regression: detection missed hair that it pushed out of its predicted volume,
    // until the gate stopped it.
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
fn scenes_of_rods_neither_intersect_nor_violate_the_contact_law() {
    for (name, sets, limit) in SCENES {
        let outcome = run(name, sets);
        assert!(outcome.contacts > 0, "{name} has contacts");
        assert!(outcome.errors[0] < limit, "{name}: {:?}", outcome.errors);
    }
}

#[test]
fn scenes_of_rods_start_without_intersections_at_their_full_size() {
    for (name, ..) in SCENES {
        let found = check::intersections(&build_size(name, &[], false));
        assert!(found.is_empty(), "{name}: {found:?}");
    }
}

#[test]
fn a_belt_locks_with_high_friction_and_slips_with_low_friction() {
    let locked = probe(&run("belt", &[]), "drop");
    assert!(locked < 0.01, "it tightens by {locked} m");
    let slipping = probe(&run("belt", &["parameters.mu=0.2"]), "drop");
    assert!(slipping > 0.05, "it slips by {slipping} m in half a second");
}

#[test]
fn a_reef_knot_holds_its_load_and_slips_with_little_friction() {
    let sets = ["parameters.duration=\"1 s\""];
    let held = probe(&run("reefknot", &sets), "tail_slip");
    let icy = [sets[0], "parameters.mu=0.05"];
    let slipped = probe(&run("reefknot", &icy), "tail_slip");
    assert!(held < 0.003 && slipped > 0.006, "{held} {slipped}");
}

#[test]
fn fur_hit_head_on_does_not_stretch_at_its_roots() {
    let outcome = run("furry-bunny", &[]);
    // Regression: with roots as stiff across as along, first edges stretched to seven times their
    // length.
    let stretch = probe(&outcome, "fur_stretch");
    assert!((1.001..1.1).contains(&stretch), "{stretch}");
    assert!(outcome.errors[0] < 1e-5, "{:?}", outcome.errors);
}

#[test]
fn friction_keeps_a_released_band_in_place() {
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
    // It is released at 15 mm, above the centre of the ball. Without friction its tension pulls it
    // up and off.
    assert!((held - 0.015).abs() < 1e-3, "{held} m");
    assert!((slid - 0.015).abs() > 3e-3, "{slid} m");
}

#[test]
fn wet_hair_clumps_and_sticks_to_a_ball_and_dry_hair_does_neither() {
    let wet = run("sticky-patch", &[]);
    let dry = run("sticky-patch", &["parameters.cohesion=0"]);
    let wet_and_dry = |name: &str| [probe(&wet, name), probe(&dry, name)];
    // Over five seeds, wet hair has 145 to 211 contacts, five to seven per hair; dry hair 0 to 6.
    let [clumped, crossings] = wet_and_dry("clumped");
    assert!(clumped > 100.0 && crossings < 20.0, "{clumped} {crossings}");
    // 20 to 27 contacts hold, with a force of 0.5 to 0.6 mN on hairs of 0.6 mN.
    let [held, left] = wet_and_dry("on_ball");
    assert!(held > 10.0 && left == 0.0, "{held} {left}");
    let [pull, _] = wet_and_dry("pull");
    assert!((3e-4..1.2e-3).contains(&pull), "{pull} N");
    // The ball retracts by 12 cm and pulls tips by 5 to 8 cm. Without cohesion they swing by 4 mm.
    let [drawn, swing] = wet_and_dry("drawn");
    assert!(drawn > 0.03 && swing.abs() < 0.01, "{drawn} {swing} m");
    assert!(wet.errors[0] < 1e-5, "{:?}", wet.errors);
}

/// Regression: held vertices cannot separate, and the contacts next to them act on a long lever:
/// hair of 20 uN had forces of 45 N.
#[test]
fn hair_with_roots_closer_than_its_thickness_does_not_stretch() {
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
        let step = step_with(&model, &state, StepOptions::TEST, &mut scratch)
            .0
            .unwrap();
        let report = &step.report;
        assert_eq!(report.intersections, Some(0));
        // The weight stretches it by 1e-6; the rest is the recovery of gaps at the start.
        assert!(report.max_stretch < 1.05, "{}", report.max_stretch);
        contacts = contacts.max(report.contacts);
        state = step.to;
    }
    assert!(contacts > 30, "{contacts}");
}

#[test]
fn hair_has_the_same_bits_on_two_threads() {
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

/// Two rods, one above the other, with contact pairs.
fn two_rods(pairs: &str) -> String {
    format!(
        "time.duration = 1\n[material.a]\nyoung = 1e6\ndensity = 1000\n\
         [object.one]\nkind = \"rod\"\nlength = 0.1\nvertices = 5\nradius = 0.001\n\
         material = \"a\"\ncontact = {{ group = \"some\" }}\n\
         [object.two]\nkind = \"rod\"\nlength = 0.1\nvertices = 5\nradius = 0.001\n\
         material = \"a\"\nposition = [0, 0, 0.0021]\ncontact = {{ group = \"some\" }}\n\
         [contact]\npairs = [{pairs}]\n"
    )
}

#[test]
fn contact_groups_apply_to_all_pairs_of_their_members() {
    let frictions = |pairs: &str| {
        let model = model_of(&two_rods(pairs)).unwrap();
        let collision = model.collision.as_ref().unwrap();
        let friction = |one, other| collision.pairing(&model, one, other).friction;
        [friction(0, 0), friction(0, 1), friction(1, 1)]
    };
    let group = "{ between = [\"some\", \"some\"], friction = 0.7 }";
    assert_eq!(frictions(group), [0.7; 3]);
    // A pair with an object name has priority over its group.
    let both = format!("{group}, {{ between = [\"one\", \"some\"], friction = 0.9 }}");
    assert_eq!(frictions(&both), [0.9, 0.9, 0.7]);
    let twice = format!("{group}, {group}");
    assert!(model_of(&two_rods(&twice)).unwrap_err().contains("twice"));
    let unknown = "{ between = [\"sum\", \"one\"] }";
    let refused = model_of(&two_rods(unknown)).unwrap_err();
    assert!(refused.contains("contact group `sum`"), "{refused}");
}

#[test]
fn pairs_without_contact_pass_through_each_other() {
    // The upper rod falls. With contact, the pinned lower rod holds it.
    let drop = |touch: bool| {
        let pairs = format!("{{ between = [\"one\", \"two\"], touch = {touch} }}");
        let text = two_rods(&pairs).replace(
            "[object.two]",
            "[pin.one]\nobject = \"one\"\nat = { group = \"ends\" }\n[object.two]",
        );
        let model = model_of(&text.replace("duration = 1", "duration = 0.2")).unwrap();
        let mut scratch = Scratch::new(&model);
        let mut state = model.start.clone();
        while state.step < model.clock.steps() {
            let step = step_with(&model, &state, StepOptions::TEST, &mut scratch)
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
