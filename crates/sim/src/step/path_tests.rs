//! Prescribed motion is followed along its own path, and the independent test notices a step that
//! follows chords.

use super::*;
use crate::scene::{Scene, SceneRequest};

fn model(time: &str, tables: &str) -> Model {
    let text = format!(
        r#"
        time = {time}
        [material.cloth]
        young = "0.1 MPa"
        thickness = "4 mm"
        density = 1000
        [object.sheet]
        kind = "cloth-grid"
        size = [0.3, 0.3]
        vertices = [5, 5]
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

/// The first step along chords of the whole step, as if no motion were curved.
fn along_chord(model: &Model) -> Result<Step, StepError> {
    let method = method_of(&model.method.integrator);
    let mut scratch = Scratch::new(model);
    let solver = scratch.solver.as_ref().map(|solver| solver.entry);
    let mut context = Context::new(StepOptions::TEST, solver);
    halved(
        method,
        model,
        &model.start,
        model.clock.span(0),
        &mut scratch,
        &mut context,
    )
}

/// Intersections and parts of all steps.
fn run(model: &Model) -> (u64, u64) {
    let mut scratch = Scratch::new(model);
    let (mut state, mut found) = (model.start.clone(), (0, 0));
    for _ in 0..model.clock.steps() {
        let (step, _) = step_with(model, &state, StepOptions::TEST, &mut scratch);
        let step = step.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(step.violation, None);
        found.0 += step.report.intersections.unwrap();
        found.1 += step.report.halvings;
        state = step.to;
    }
    found
}

const ONE_STEP: &str = "{ duration = \"10 ms\", frame_rate = 100, substeps = 1 }";

/// A bar that swings through the sheet about an axis at x = 1 m, 0.95 m from its middle.
fn swinging_bar(angular_velocity: f64) -> String {
    format!(
        r#"
        [collider.bar]
        kind = "box"
        size = [0.05, 0.5, 0.05]
        position = [0.0924, 0, 0.2807]
        motion = {{ angular_velocity = [0, {angular_velocity}, 0], center = [1, 0, 0] }}
        "#
    )
}

#[test]
fn a_bar_that_swings_by_an_arc_of_which_the_chord_misses_the_sheet_hits_it() {
    // Two radians, from 0.28 m above the sheet to beyond the axis.
    let model = model(ONE_STEP, &swinging_bar(-200.0));
    let chord = along_chord(&model).unwrap();
    assert_eq!(chord.report.contacts, 0);
    assert!(chord.report.intersections > Some(0));
    let (intersections, parts) = run(&model);
    assert_eq!(intersections, 0);
    assert!(parts > 10, "{parts}");
}

#[test]
fn a_full_turn_in_a_step_does_not_pass_through_a_sheet() {
    // The chord has no length: a bar that follows it is at rest.
    let model = model(ONE_STEP, &swinging_bar(-100.0 * std::f64::consts::TAU));
    let chord = along_chord(&model).unwrap();
    assert!(chord.report.intersections > Some(0));
    assert!(chord.violation.unwrap().contains("goes through (from 0."));
    let (intersections, parts) = run(&model);
    assert_eq!(intersections, 0);
    assert!(parts > 50, "{parts}");
}

#[test]
fn a_box_that_turns_by_a_radian_in_each_step_does_not_cut_into_a_sheet() {
    let spinner = r#"
        [collider.spinner]
        kind = "box"
        size = [0.12, 0.02, 0.02]
        position = [0, 0, -0.075]
        motion = { angular_velocity = [-89.8, 37.8, -22.4], velocity = [0, 0, 1] }
    "#;
    let time = "{ duration = \"40 ms\", frame_rate = 100, substeps = 1 }";
    let (intersections, parts) = run(&model(time, spinner));
    assert_eq!(intersections, 0);
    assert!(parts > 10, "{parts}");
}

#[test]
fn a_keyframe_inside_a_step_is_not_cut_off() {
    // Down to the sheet and up again: the chord stays above.
    let hammer = r#"
        [collider.hammer]
        kind = "funnel"
        top_radius = 0.03
        bottom_radius = 0.03
        height = 0.02
        wall = 0.01
        position = [0, 0, 0.05]
        motion = { keyframes = [{ time = 0 }, { time = "4 ms", position = [0, 0, -0.06] }, { time = "10 ms" }] }
    "#;
    let model = model(ONE_STEP, hammer);
    assert!(along_chord(&model).unwrap().report.intersections > Some(0));
    let (intersections, parts) = run(&model);
    assert_eq!(intersections, 0);
    assert!(parts >= 1, "{parts}");
}
