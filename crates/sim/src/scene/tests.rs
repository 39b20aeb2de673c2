//! Reading of scenes, and the location and advice of common mistakes.

use super::*;

mod method;

const SCENE: &str = r#"title = "Test"
time = { duration = "1 s", h = "10 ms" }
[parameters]
n = 10
width = "50 cm"
half = "= $width / 2"
[material.sheet]
area_density = "150 g/m^2"
membrane = ["1 kN/m", 500]
bending = 1e-6
[object.cloth]
kind = "cloth-grid"
size = ["$width", "$half"]
vertices = ["$n", "= $n / 2"]
material = "sheet"
[pin.left]
object = "cloth"
at = { group = "left" }
[probe.tip]
measure = { position = { object = "cloth", vertex = 0 } }
[quick]
"parameters.n" = 4
"#;

fn read(text: &str, sets: &[&str]) -> Result<Scene, Problems> {
    Scene::read(&SceneRequest {
        name: "test".into(),
        file: "test.toml".into(),
        text: text.into(),
        quick: false,
        sets: sets.iter().map(|set| (*set).to_owned()).collect(),
        ..SceneRequest::default()
    })
}

fn cloth(scene: &Scene) -> tables::ClothGrid {
    match &scene.tables.object.0[0].value.kind {
        tables::ObjectKind::ClothGrid(grid) => grid.clone(),
        other => panic!("{other:?}"),
    }
}

/// Replaces `from` by `to` in the scene and returns the reports.
fn mistakes(from: &str, to: &str) -> String {
    assert!(
        SCENE.contains(from),
        "the test replaces text that is not there: {from}"
    );
    read(&SCENE.replacen(from, to, 1), &[])
        .unwrap_err()
        .to_string()
}

#[test]
fn parameters_units_and_expressions_are_converted_to_si() {
    let scene = read(SCENE, &[]).unwrap();
    let grid = cloth(&scene);
    assert_eq!(grid.size.value.map(|length| length.0), [0.5, 0.25]);
    assert_eq!(grid.vertices.value, [10, 5]);
    let material = &scene.tables.material.0[0].value;
    assert_eq!(material.area_density.unwrap().0, 0.15);
    assert_eq!(
        material.membrane.unwrap().0.map(|stiffness| stiffness.0),
        [1000.0, 500.0]
    );
    assert_eq!(scene.tables.gravity.map(|g| g.0), [0.0, 0.0, -9.81]);
}

#[test]
fn quick_and_set_apply_in_order() {
    let request = SceneRequest {
        text: SCENE.into(),
        quick: true,
        ..SceneRequest::default()
    };
    assert_eq!(
        cloth(&Scene::read(&request).unwrap()).vertices.value,
        [4, 2]
    );
    let set = SceneRequest {
        sets: vec!["parameters.n=6".into()],
        ..request
    };
    assert_eq!(cloth(&Scene::read(&set).unwrap()).vertices.value, [6, 3]);
    let scene = read(
        SCENE,
        &["object.cloth.vertices.1=7", "parameters.width=80 cm"],
    )
    .unwrap();
    assert_eq!(cloth(&scene).vertices.value, [10, 7]);
    assert_eq!(cloth(&scene).size.value.map(|length| length.0), [0.8, 0.4]);
}

#[test]
fn a_written_scene_reads_back_to_itself() {
    let scene = read(SCENE, &["parameters.n=8", "title=a \"quoted\" \\ title"]).unwrap();
    let again = read(&scene.to_toml(), &[]).unwrap();
    assert_eq!(again.to_toml(), scene.to_toml());
    assert_eq!(cloth(&again).vertices.value, [8, 4]);
    assert_eq!(again.tables.title, "a \"quoted\" \\ title");
}

#[test]
fn only_the_duration_may_differ_between_runs_of_one_scene() {
    let earlier = read(SCENE, &[]).unwrap();
    let stored = read(&earlier.to_toml(), &[]).unwrap();
    assert_eq!(earlier.difference(&stored), None);
    let difference = |set: &str| read(SCENE, &[set]).unwrap().difference(&stored);
    assert_eq!(difference("time.duration=9"), None);
    assert!(
        difference("time.h=0.02")
            .unwrap()
            .starts_with("`time.h` is ")
    );
    assert!(
        difference("parameters.n=12")
            .unwrap()
            .ends_with(" and 12 here")
    );
}

/// Replaced text, replacement, and expected parts of the report.
const MISTAKES: [(&str, &str, &[&str]); 17] = [
    (
        "vertices =",
        "verticees =",
        &[
            "test.toml:14:1",
            "unknown key `verticees`",
            "did you mean `vertices`?",
            "`object.cloth.vertices` is missing",
        ],
    ),
    (
        "\"150 g/m^2\"",
        "\"150 g/m\"",
        &["test.toml:8:16", "must be in kg/m^2, not in kg/m"],
    ),
    (
        "\"150 g/m^2\"",
        "\"150 gg/m^2\"",
        &["test.toml:8:16", "unknown unit `gg`"],
    ),
    (
        "\"150 g/m^2\"",
        "-1",
        &["test.toml:8:16", "must be above 0"],
    ),
    (
        "\"cloth-grid\"",
        "\"cloth-gird\"",
        &["test.toml:12:8", "did you mean \"cloth-grid\"?"],
    ),
    (
        "kind = \"cloth-grid\"\n",
        "",
        &["`object.cloth.kind` is missing", "one of \"cloth-grid\""],
    ),
    (
        "[\"$width\", \"$half\"]",
        "[1]",
        &["test.toml:13:8", "must have 2 values"],
    ),
    (
        "[\"$width\", \"$half\"]",
        "3",
        &["test.toml:13:8", "a list of 2 values, not a whole number"],
    ),
    (
        "\"$width\", ",
        "\"$widht\", ",
        &["test.toml:13:9", "did you mean `width`"],
    ),
    (
        "= $width / 2",
        "= $width + 2*s",
        &["test.toml:6:8", "m and s cannot be added"],
    ),
    (
        "= $width / 2",
        "= $half / 2",
        &["test.toml:6:8", "depends on itself"],
    ),
    (
        "{ group = \"left\" }",
        "{}",
        &["test.toml:18:6", "exactly one key"],
    ),
    (
        "{ group = \"left\" }",
        "{ groop = \"left\" }",
        &["test.toml:18:8", "did you mean `group`"],
    ),
    (
        "duration = \"1 s\"",
        "duration = inf",
        &["test.toml:2:21", "not a finite number"],
    ),
    (
        "[pin.left]",
        "[pin.\"a/b\"]",
        &["test.toml:16:6", "`a/b` is not a valid name"],
    ),
    (
        "\"parameters.n\" = 4",
        "\"parameters.m\" = 4",
        &["test.toml:22:1", "no parameter `m`"],
    ),
    ("[pin.left]", "[pin.left", &["test.toml:16:10", "not TOML"]),
];

#[test]
fn each_mistake_is_reported_with_location_and_advice() {
    for (from, to, expected) in MISTAKES {
        let report = mistakes(from, to);
        for words in expected {
            assert!(
                report.contains(words),
                "{to}: expected `{words}` in\n{report}"
            );
        }
    }
}

#[test]
fn several_mistakes_are_reported_at_once() {
    let text = SCENE
        .replace("bending = 1e-6", "bendng = 1e-6")
        .replace("\"10 ms\"", "\"10 mm\"")
        .replace("vertex = 0", "vertex = -1");
    let problems = read(&text, &[]).unwrap_err();
    assert_eq!(problems.list().len(), 3, "{problems}");
}

#[test]
fn mistakes_in_set_arguments_are_located_there() {
    let report = |set: &str| read(SCENE, &[set]).unwrap_err().to_string();
    assert!(report("parameters.m=3").contains("no parameter `m`"));
    assert!(report("time.duraton=3").contains("did you mean `duration`?"));
    let wrong = report("time.duration=\"3 kg\"");
    assert!(
        wrong.contains("--set:1:15") && wrong.contains("must be in s, not in kg"),
        "{wrong}"
    );
    assert!(report("time.duration").contains("has no `=`"));
    assert!(report("title.x=1").contains("`title` is text"));
    assert!(report("object.cloth.size.5=1").contains("has 2 values"));
    assert!(report("time=[1").contains("not a TOML value"));
}

#[test]
fn parameters_that_grow_exponentially_are_refused() {
    let mut text = String::from("[parameters]\np0 = 1\n");
    for i in 1..60 {
        text += &format!("p{i} = [\"$p{}\", \"$p{}\"]\n", i - 1, i - 1);
    }
    let report = read(&text, &[]).unwrap_err().to_string();
    assert!(report.contains("too many times"), "{report}");
}

#[test]
fn the_reference_page_in_docs_is_up_to_date() {
    let page = include_str!("../../../../docs/scenes.md");
    assert!(
        page == reference(),
        "docs/scenes.md is stale: run `reefknot schema --markdown > docs/scenes.md`"
    );
}

#[test]
fn the_schema_has_defaults_and_refuses_unknown_keys() {
    let schema = json_schema();
    assert_eq!(
        schema["properties"]["time"]["properties"]["frame_rate"]["x-default"],
        "24"
    );
    assert_eq!(schema["additionalProperties"], false);
    let object = &schema["properties"]["object"]["additionalProperties"]["oneOf"][0];
    assert_eq!(object["properties"]["kind"]["const"], "cloth-grid");
    assert!(
        object["required"]
            .as_array()
            .unwrap()
            .contains(&serde_json::json!("size"))
    );
}
