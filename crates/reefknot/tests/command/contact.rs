//! Runs with contact: stored forces, printed figures, captured problems, refused arguments.

use std::fs;

use glam::DVec3;
use reefknot_sim::io::tensors::TensorFile;
use serde_json::Value as Json;

use crate::common::{Sandbox, files};

/// A sheet of 32 g that falls by 0.5 mm onto the floor, to half its contact thickness above it.
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

fn sandbox_with_scene() -> Sandbox {
    let sandbox = Sandbox::new();
    fs::write(sandbox.path("scene.toml"), SCENE).unwrap();
    sandbox
}

fn number(value: &Json) -> f64 {
    value.as_f64().unwrap()
}

#[test]
fn frames_and_probes_contain_the_contact_forces() {
    let sandbox = sandbox_with_scene();
    let summary = sandbox.finish(&RUN, &[]);
    let probes = &summary["probes"];
    let weight = 0.032 * 9.81;
    assert!((number(&probes["push"]) / weight - 1.0).abs() < 1e-3);
    assert!(number(&probes["touching"]) > 3.0);
    assert!(number(&probes["gap"]).abs() < 1e-5);
    assert!(number(&probes["creep"]) < 1e-6);
    // The sheet falls by 0.5 mm in 10 ms.
    let landed = number(&probes["landed"]);
    assert!(landed > 0.0 && landed < 0.03, "{landed}");
    let read = |name: &str| TensorFile::read(&sandbox.path("a/frames").join(name)).unwrap();
    assert_eq!(read("00000.safetensors").f64("contact/gap").unwrap().0, [0]);
    let last = read("00010.safetensors");
    let force = last.f64("contact/force").unwrap().1.chunks_exact(3);
    let sum: DVec3 = force.map(DVec3::from_slice).sum();
    let sums = last.f64("object/force").unwrap();
    assert_eq!(sums.0, [2, 3]);
    assert!((sum - DVec3::from_slice(sums.1)).length() < 1e-12);
    assert!((sum.z / weight - 1.0).abs() < 1e-3, "{sum}");
    assert!(last.u8("contact/state").unwrap().1.contains(&1));
    sandbox
        .expect(0, &["check", "a"], &[])
        .prints("have forces in their friction cones")
        .prints("no intersections in ");
}

#[test]
fn the_printed_result_has_contacts_errors_and_tested_steps() {
    let sandbox = sandbox_with_scene();
    let output = sandbox.expect(0, &RUN, &[]);
    output
        .prints(" contacts (max ")
        .prints("0 intersections (10 of 20 steps tested)")
        .prints("  contact error max ")
        .prints("momentum error max ");
    let more = ["--certify", "--overwrite", "--summary", "json"];
    let output = sandbox.expect(0, &RUN, &more);
    output.prints("0 intersections (all steps tested)");
    assert_eq!(output.summary()["certified_steps"], 20);
    let more = ["--overwrite", "--solver", "none"];
    sandbox
        .expect(0, &RUN, &more)
        .prints("contact is not simulated");
}

#[test]
fn contradicting_solver_arguments_are_refused() {
    let sandbox = sandbox_with_scene();
    let options = [
        "--solver",
        "robust",
        "--set",
        "method={ solver = \"admm\" }",
    ];
    sandbox
        .expect(2, &RUN, &options)
        .prints("--solver robust contradicts --set");
}

#[test]
fn the_solver_argument_replaces_that_of_the_scene_and_keeps_set_options() {
    let sandbox = sandbox_with_scene();
    let scene = format!("method.solver = {{ kind = \"admm\", sweeps = 3 }}\n{SCENE}");
    fs::write(sandbox.path("scene.toml"), scene).unwrap();
    let options = [
        "--set",
        "method.solver.sleep=false",
        "--solver",
        "gauss-seidel",
    ];
    let summary = sandbox.finish(&RUN, &options);
    assert_eq!(summary["solver"], "gauss-seidel");
    let stored = fs::read_to_string(sandbox.path("a/scene.toml")).unwrap();
    let solver = "kind = \"gauss-seidel\"\nsleep = false";
    assert!(stored.contains(solver), "{stored}");
    let options = ["--set", "method.solver.sweeps=2", "--solver", "robust"];
    let output = sandbox.expect(2, &RUN, &options);
    output.prints("unknown key `sweeps`").prints("\"robust\"");
}

#[test]
fn certifying_every_step_changes_no_bit() {
    let sandbox = sandbox_with_scene();
    let plain = sandbox.finish(&RUN, &[]);
    let certified = sandbox.finish(&RUN, &["--certify", "--overwrite"]);
    assert_eq!(plain["state_hash"], certified["state_hash"]);
}

#[test]
fn an_intersection_fails_the_run_and_its_check() {
    let sandbox = sandbox_with_scene();
    sandbox.finish(&RUN, &[]);
    let log = fs::read_to_string(sandbox.path("a/run.jsonl")).unwrap();
    let lines = log.lines().map(|line| {
        let is_fourth = line.starts_with("{\"step\":4,");
        let found = if is_fourth {
            "\"intersections\":3"
        } else {
            "\"intersections\":0"
        };
        line.replace("\"intersections\":0", found) + "\n"
    });
    fs::write(sandbox.path("a/run.jsonl"), lines.collect::<String>()).unwrap();
    let more = ["--resume", "--quiet", "--summary", "json"];
    let output = sandbox.expect(1, &RUN, &more);
    assert_eq!(output.summary()["intersections"], 3);
    assert_eq!(
        output.stderr,
        "error: step 4 at 0.040000 s: surfaces intersect\n"
    );
    sandbox
        .expect(1, &["check", "a"], &[])
        .prints("wrong: 3 intersections in 10 steps tested, first in step 4 at 0.040000 s");
}

#[test]
fn captured_problems_can_be_solved_again() {
    let sandbox = sandbox_with_scene();
    let capture = ["--capture", "10,15..16"];
    sandbox
        .expect(0, &RUN, &capture)
        .prints("3 contact problems captured in a/problems");
    let names = files(&sandbox.path("a/problems")).into_iter();
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
        let summary = sandbox.finish(&["solve"], &problem);
        assert_eq!(summary["dofs"], 75);
        let log = fs::read_to_string(sandbox.path("a/run.jsonl")).unwrap();
        let report: Json = serde_json::from_str(log.lines().nth(14).unwrap()).unwrap();
        assert_eq!(summary["contacts"], report["contacts"]);
    }
    // A run without `--capture` has no folder `problems`, and removes that of the replaced run.
    sandbox.finish(&RUN, &["--overwrite"]);
    assert!(!sandbox.path("a/problems").exists());
    let more = ["--resume", "--capture", "3"];
    sandbox
        .expect(0, &RUN, &more)
        .prints("no problem was captured");
    assert!(!sandbox.path("a/problems").exists());
}

#[test]
fn captures_do_not_change_a_run_and_foreign_files_stay() {
    let sandbox = sandbox_with_scene();
    let plain = sandbox.finish(&RUN, &[]);
    let captured = sandbox.finish(&RUN, &["--capture", "1..20", "--overwrite"]);
    assert_eq!(plain["state_hash"], captured["state_hash"]);
    fs::write(sandbox.path("a/problems/notes.txt"), "mine").unwrap();
    sandbox.finish(&RUN, &["--overwrite"]);
    let left = files(&sandbox.path("a/problems"));
    assert_eq!(left.len(), 1, "{left:?}");
    assert_eq!(left[0].1, b"mine");
}

#[test]
fn invalid_steps_and_solvers_are_refused() {
    let sandbox = sandbox_with_scene();
    for (steps, reason) in [
        ("0", "steps are counted from 1"),
        ("20..10", "the first step is larger than the last"),
        ("ten", "expected steps such as 10 or 10..20"),
        ("1,,2", "expected steps"),
        ("-1", "-1"),
    ] {
        sandbox
            .expect(2, &RUN, &["--capture", steps])
            .prints(reason);
    }
    let unknown = sandbox.expect(2, &RUN, &["--solver", "magic"]);
    unknown.prints("'magic'").prints("none").prints("admm");
    assert!(!sandbox.path("a").exists(), "no run was started");
}
