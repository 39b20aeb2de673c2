//! What a run with contact stores, tells and refuses.

use std::fs;

use glam::DVec3;
use reefknot::io::tensors::TensorFile;
use serde_json::Value as Json;

use crate::common::{Place, files};

/// A sheet of 32 g that lies down on the floor: half a millimetre above it, where contact keeps it.
const SCENE: &str = r#"
time = { duration = "0.2 s", frame_rate = 50, h = "10 ms" }
[material.sheet]
young = "0.1 MPa"
thickness = "1 mm"
area_density = "0.2 kg/m^2"
[object.cloth]
kind = "cloth-grid"
size = [0.4, 0.4]
vertices = [5, 5]
material = "sheet"
position = [0, 0, "1 mm"]
[collider.floor]
kind = "plane"
[probe.push]
measure.contact_force = { object = "cloth", other = "floor" }
along = [0, 0, 1]
[probe.touching]
measure.contacts = { object = "floor" }
[probe.gap]
measure.gap = { object = "cloth" }
[probe.landed]
measure.contacts = { object = "cloth" }
reduce = "when-above"
threshold = 0
[probe.creep]
measure.position = { object = "cloth", vertex = 0 }
reduce = "max-change"
from = "0.1 s"
"#;

const RUN: [&str; 4] = ["run", "scene.toml", "--out", "a"];

fn place() -> Place {
    let place = Place::new();
    fs::write(place.path("scene.toml"), SCENE).unwrap();
    place
}

fn number(value: &Json) -> f64 {
    value.as_f64().unwrap()
}

#[test]
fn frames_and_probes_have_the_forces_of_contacts() {
    let place = place();
    let summary = place.finish(&RUN, &[]);
    let probes = &summary["probes"];
    let weight = 0.032 * 9.81;
    assert!((number(&probes["push"]) / weight - 1.0).abs() < 1e-3);
    assert!(number(&probes["touching"]) > 3.0);
    assert!(number(&probes["gap"]).abs() < 1e-5);
    assert!(number(&probes["creep"]) < 1e-6);
    // It falls by half a millimetre in 10 ms.
    let landed = number(&probes["landed"]);
    assert!(landed > 0.0 && landed < 0.03, "{landed}");
    let read = |name: &str| TensorFile::read(&place.path("a/frames").join(name)).unwrap();
    assert_eq!(read("00000.safetensors").f64("contact/gap").unwrap().0, [0]);
    let last = read("00010.safetensors");
    let force = last.f64("contact/force").unwrap().1.chunks_exact(3);
    let sum: DVec3 = force.map(DVec3::from_slice).sum();
    let sums = last.f64("object/force").unwrap();
    assert_eq!(sums.0, [2, 3]);
    assert!((sum - DVec3::from_slice(sums.1)).length() < 1e-12);
    assert!((sum.z / weight - 1.0).abs() < 1e-3, "{sum}");
    assert!(last.u8("contact/state").unwrap().1.contains(&1));
    place
        .expect(0, &["check", "a"], &[])
        .says("each with its force in the friction cone")
        .says("steps tested for intersections: none");
}

#[test]
fn a_person_is_told_what_touched_and_what_was_tested() {
    let place = place();
    let ran = place.expect(0, &RUN, &[]);
    ran.says(" contacts in a step, at most ")
        .says("0 intersections (10 of 20 steps tested)")
        .says("  contact error at most ")
        .says("momentum error at most ");
    let more = ["--certify", "--overwrite", "--summary", "json"];
    let ran = place.expect(0, &RUN, &more);
    ran.says("0 intersections (all steps tested)");
    assert_eq!(ran.summary()["certified_steps"], 20);
    let more = ["--overwrite", "--solver", "none"];
    place
        .expect(0, &RUN, &more)
        .says("contact is not simulated");
}

#[test]
fn a_solver_is_not_taken_back_in_silence() {
    let place = place();
    let options = [
        "--solver",
        "robust",
        "--set",
        "method={ solver = \"admm\" }",
    ];
    place
        .expect(2, &RUN, &options)
        .says("--solver robust and --set disagree");
}

#[test]
fn a_solver_replaces_that_of_the_scene_and_takes_options() {
    let place = place();
    let scene = format!("method.solver = {{ kind = \"admm\", sweeps = 3 }}\n{SCENE}");
    fs::write(place.path("scene.toml"), scene).unwrap();
    let options = [
        "--set",
        "method.solver.sleep=false",
        "--solver",
        "gauss-seidel",
    ];
    let summary = place.finish(&RUN, &options);
    assert_eq!(summary["solver"], "gauss-seidel");
    let stored = fs::read_to_string(place.path("a/scene.toml")).unwrap();
    let solver = "kind = \"gauss-seidel\"\nsleep = false";
    assert!(stored.contains(solver), "{stored}");
    let options = ["--set", "method.solver.sweeps=2", "--solver", "robust"];
    let ran = place.expect(2, &RUN, &options);
    ran.says("unknown key `sweeps`").says("\"robust\"");
}

#[test]
fn the_test_of_every_step_changes_no_bit() {
    let place = place();
    let plain = place.finish(&RUN, &[]);
    let certified = place.finish(&RUN, &["--certify", "--overwrite"]);
    assert_eq!(plain["state_hash"], certified["state_hash"]);
}

#[test]
fn an_intersection_is_an_error_of_the_run_and_of_its_check() {
    let place = place();
    place.finish(&RUN, &[]);
    let log = fs::read_to_string(place.path("a/run.jsonl")).unwrap();
    let lines = log.lines().map(|line| {
        let is_fourth = line.starts_with("{\"step\":4,");
        let found = if is_fourth {
            "\"intersections\":3"
        } else {
            "\"intersections\":0"
        };
        line.replace("\"intersections\":0", found) + "\n"
    });
    fs::write(place.path("a/run.jsonl"), lines.collect::<String>()).unwrap();
    let more = ["--resume", "--quiet", "--summary", "json"];
    let ran = place.expect(1, &RUN, &more);
    assert_eq!(ran.summary()["intersections"], 3);
    assert_eq!(
        ran.stderr,
        "error: step 4 at 0.040000 s: surfaces intersect\n"
    );
    place
        .expect(1, &["check", "a"], &[])
        .says("wrong: 3 intersections in 10 steps tested, first in step 4 at 0.040000 s");
}

#[test]
fn captured_problems_can_be_solved_again() {
    let place = place();
    let capture = ["--capture", "10,15..16"];
    place
        .expect(0, &RUN, &capture)
        .says("contact problems in a/problems: 3");
    let names = files(&place.path("a/problems")).into_iter();
    let names: Vec<String> = names
        .map(|(path, _)| path.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    let wanted = [
        "00010.safetensors",
        "00015.safetensors",
        "00016.safetensors",
    ];
    assert_eq!(names, wanted);
    for solver in ["admm", "robust"] {
        let problem = ["a/problems/00015.safetensors", "--solver", solver];
        let summary = place.finish(&["solve"], &problem);
        assert_eq!(summary["dofs"], 75);
        let log = fs::read_to_string(place.path("a/run.jsonl")).unwrap();
        let report: Json = serde_json::from_str(log.lines().nth(14).unwrap()).unwrap();
        assert_eq!(summary["contacts"], report["contacts"]);
    }
    // A run without it has no such folder, and replaces what it finds of an earlier one.
    place.finish(&RUN, &["--overwrite"]);
    assert!(!place.path("a/problems").exists());
    let more = ["--resume", "--capture", "3"];
    place.expect(0, &RUN, &more).says("nothing was captured");
    assert!(!place.path("a/problems").exists());
}

#[test]
fn captures_do_not_change_a_run_and_somebody_elses_files_stay() {
    let place = place();
    let plain = place.finish(&RUN, &[]);
    let captured = place.finish(&RUN, &["--capture", "1..20", "--overwrite"]);
    assert_eq!(plain["state_hash"], captured["state_hash"]);
    fs::write(place.path("a/problems/notes.txt"), "mine").unwrap();
    place.finish(&RUN, &["--overwrite"]);
    let left = files(&place.path("a/problems"));
    assert_eq!(left.len(), 1, "{left:?}");
    assert_eq!(left[0].1, b"mine");
}

#[test]
fn steps_and_solvers_that_make_no_sense_are_refused() {
    let place = place();
    for (steps, reason) in [
        ("0", "the first step is 1"),
        ("20..10", "the first step comes after the last"),
        ("ten", "steps are needed, such as 10 or 10..20"),
        ("1,,2", "steps are needed"),
        ("-1", "-1"),
    ] {
        place.expect(2, &RUN, &["--capture", steps]).says(reason);
    }
    let unknown = place.expect(2, &RUN, &["--solver", "magic"]);
    unknown.says("'magic'").says("none").says("admm");
    assert!(!place.path("a").exists(), "nothing was begun");
}
