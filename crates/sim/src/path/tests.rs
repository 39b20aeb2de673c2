//! Which motions are cut, and into how many chords.

use super::*;
use crate::integrate::{Scratch, StepOptions, expected_ends};
use crate::scene::{Scene, SceneRequest};
use crate::step::step_with;

/// A model of a small sheet of 1 mm at z = 0, 10 cm wide, with other tables.
fn model(tables: &str) -> Model {
    let text = format!(
        r#"
        time = {{ duration = "10 ms", frame_rate = 100, substeps = 1 }}
        gravity = [0, 0, 0]
        [material.cloth]
        young = "1 MPa"
        thickness = "1 mm"
        density = 1000
        [object.sheet]
        kind = "cloth-grid"
        size = [0.1, 0.1]
        vertices = [4, 4]
        material = "cloth"
        {tables}
        "#
    );
    let scene = Scene::read(&SceneRequest {
        text,
        ..SceneRequest::default()
    });
    Model::build(&scene.unwrap_or_else(|it| panic!("{it}"))).unwrap_or_else(|it| panic!("{it}"))
}

/// Number of spans of the first step, and the largest turn or time that they leave out.
fn spans(tables: &str) -> usize {
    let model = model(tables);
    let mut open = vec![model.clock.span(0)];
    let mut count = 0;
    while let Some(span) = open.pop() {
        let input = StepInput::of(&model, &model.start, span);
        let cut = match is_straight(&model, &span) {
            true => None,
            false => cut(&input, &expected_ends(&input)).unwrap(),
        };
        match cut {
            Some(halves) => open.extend(halves),
            None => count += 1,
        }
    }
    count
}

fn collider(shape: &str, position: &str, motion: &str) -> String {
    format!("[collider.it]\n{shape}\nposition = {position}\nmotion = {{ {motion} }}")
}

const BOX: &str = "kind = \"box\"\nsize = [0.2, 0.02, 0.02]";
const FULL_TURN: &str = "angular_velocity = [0, 0, \"100 turn/s\"]";

#[test]
fn a_full_turn_beside_a_sheet_is_cut_until_its_sagitta_is_half_the_guard() {
    // The farthest point of the box is 0.1 m from the axis. The sheet keeps half its thickness, and
    // the gate a tenth of that: arcs of (8 · 25 µm / 0.1 m)^½ = 45 mrad, 141 in a turn.
    assert_eq!(spans(&collider(BOX, "[0, 0, 0.0115]", FULL_TURN)), 256);
}

#[test]
fn what_nothing_can_reach_is_not_cut() {
    assert_eq!(spans(&collider(BOX, "[0, 0, 0.5]", FULL_TURN)), 1);
    let far = "motion = { angular_velocity = [0, 0, \"100 turn/s\"] }\nposition = [2, 0, 0]";
    let fan = "[collider.it]\nkind = \"nail\"\nradius = 0.01\nlength = 0.1\nhead_radius = 0.02\n";
    assert_eq!(spans(&format!("{fan}head_thickness = 0.01\n{far}")), 1);
}

#[test]
fn shapes_that_turn_into_themselves_are_not_cut() {
    let near = "[0, 0, 0.0515]";
    let sphere = "kind = \"sphere\"\nradius = 0.05";
    assert_eq!(spans(&collider(sphere, near, FULL_TURN)), 1);
    let any_axis = "angular_velocity = [300, 500, 700]";
    assert_eq!(spans(&collider(sphere, near, any_axis)), 1);
    let wheel = "kind = \"cylinder\"\nradius = 0.2\nlength = 0.1";
    assert_eq!(spans(&collider(wheel, near, FULL_TURN)), 1);
    assert!(spans(&collider(wheel, near, "angular_velocity = [300, 0, 0]")) > 100);
    let plane = "kind = \"plane\"\nsize = 3";
    let slides = "oscillation = { amplitude = [1, 0, 0], frequency = 100 }";
    assert_eq!(spans(&collider(plane, "[0, 0, -0.0015]", FULL_TURN)), 1);
    assert_eq!(spans(&collider(plane, "[0, 0, -0.0015]", slides)), 1);
    let rises = "oscillation = { amplitude = [0, 0, 0.1], frequency = 100 }";
    assert!(spans(&collider(plane, "[0, 0, -0.0015]", rises)) > 8);
}

#[test]
fn keyframes_inside_a_step_cut_it_there() {
    let dip = "keyframes = [{ time = 0 }, { time = \"3 ms\", position = [0, 0, -0.1] }, \
               { time = \"10 ms\" }]";
    // Straight before and after the keyframe.
    assert_eq!(spans(&collider(BOX, "[0, 0, 0.0515]", dip)), 2);
    let start = "velocity = [0, 0, -20], start = \"2 ms\", stop = \"7 ms\"";
    assert_eq!(spans(&collider(BOX, "[0, 0, 0.0515]", start)), 3);
}

#[test]
fn pins_that_turn_are_followed() {
    let pin = "[pin.end]\nobject = \"sheet\"\nat = { group = \"corners\" }\n";
    // Corners are 71 mm from the centre, two sides have 1 mm: 2π (71 mm / (8 · 0.05 mm))^½ = 84.
    let turning = "motion = { angular_velocity = [0, 0, \"100 turn/s\"] }";
    assert_eq!(spans(&format!("{pin}{turning}")), 128);
    assert_eq!(spans(pin), 1);
}

#[test]
fn a_motion_beyond_all_chords_is_refused_with_object_and_cure() {
    let model = model(&collider(
        BOX,
        "[0, 0, 0.0115]",
        "angular_velocity = [0, 0, 3e6]",
    ));
    let mut scratch = Scratch::new(&model);
    let (result, _) = step_with(&model, &model.start, StepOptions::TEST, &mut scratch);
    let message = result.unwrap_err().to_string();
    assert!(
        message.contains("`it` turns too fast at 0.000000 s"),
        "{message}"
    );
}
