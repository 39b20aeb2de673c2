//! Standard output and standard error of `run`.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use crate::common::{Sandbox, TINY};

/// Keys of the summary (a contract).
const KEYS: [&str; 34] = [
    "scene",
    "version",
    "isa",
    "method",
    "solver",
    "claims",
    "threads",
    "steps",
    "halved_steps",
    "failsafe_steps",
    "unconverged_steps",
    "certified_steps",
    "h",
    "frames",
    "simulated_s",
    "wall_s",
    "cpu_s",
    "wall_per_step_s",
    "phases_s",
    "nodes",
    "dofs",
    "elements",
    "contacts",
    "iterations",
    "intersections",
    "min_gap_m",
    "contact_error_m",
    "momentum_error_m",
    "nonlinear_error_m",
    "max_stretch",
    "energy_j",
    "probes",
    "state_hash",
    "peak_rss_bytes",
];

/// Keys of a JSON table, without their order.
fn keys(value: &Json) -> BTreeSet<&str> {
    let table = value.as_object().unwrap();
    table.keys().map(String::as_str).collect()
}

fn set<const N: usize>(keys: [&str; N]) -> BTreeSet<&str> {
    keys.into()
}

#[test]
fn the_summary_is_the_last_line_and_has_all_keys() {
    let sandbox = Sandbox::new();
    let output = sandbox.expect(0, &TINY, &["--out", "a", "--summary", "json"]);
    assert!(
        output.stdout.lines().count() > 1,
        "the readable result comes first"
    );
    let summary = output.summary();
    assert_eq!(keys(&summary), set(KEYS));
    assert_eq!(
        keys(&summary["phases_s"]),
        set([
            "detect", "assemble", "linear", "contact", "gate", "certify", "write"
        ])
    );
    assert_eq!(
        keys(&summary["energy_j"]),
        set([
            "kinetic",
            "elastic",
            "gravity",
            "work",
            "viscous",
            "contact",
            "numerical",
            "unbalanced",
            "layers"
        ])
    );
    for series in [
        "wall_per_step_s",
        "contacts",
        "iterations",
        "contact_error_m",
        "momentum_error_m",
    ] {
        assert_eq!(keys(&summary[series]), set(["mean", "max"]));
    }
    assert_eq!(summary["solver"], "admm");
    assert_eq!(summary["frames"], 24);
    assert_eq!(summary["intersections"], 0);
    assert_eq!(keys(&summary["probes"]), set(["corner", "pull"]));
}

#[test]
fn quiet_prints_only_the_summary() {
    let sandbox = Sandbox::new();
    let output = sandbox.expect(0, &TINY, &["--out", "a", "--summary", "json", "--quiet"]);
    assert_eq!(output.stdout.lines().count(), 1);
    assert_eq!(keys(&output.summary()), set(KEYS));
    assert_eq!(output.stderr, "");
    let output = sandbox.expect(0, &TINY, &["--out", "b", "--quiet"]);
    assert_eq!((output.stdout.as_str(), output.stderr.as_str()), ("", ""));
}

#[test]
fn resuming_a_finished_run_prints_the_same_summary() {
    let sandbox = Sandbox::new();
    let first = sandbox.finish(&TINY, &["--out", "a"]);
    let again = sandbox.finish(&TINY, &["--out", "a", "--resume"]);
    for key in KEYS
        .iter()
        .filter(|key| !["wall_s", "peak_rss_bytes"].contains(key))
    {
        assert_eq!(first[key], again[key], "{key}");
    }
}

#[test]
fn the_result_does_not_depend_on_the_number_of_threads() {
    let sandbox = Sandbox::new();
    let flag = ["run", "flag", "--quick"];
    let hashes = ["1", "2", "3"].map(|threads| {
        let hash = sandbox.hash(&flag, &["--out", threads, "--threads", threads]);
        crate::common::assert_same_run(&sandbox.path(threads), &sandbox.path("1"));
        hash
    });
    assert_eq!(hashes[0], hashes[1]);
    assert_eq!(hashes[0], hashes[2]);
}

#[test]
fn an_implausible_value_is_reported_before_the_run() {
    let sandbox = Sandbox::new();
    let heavy = ["--set", "material.cloth.area_density=100", "--frames", "1"];
    sandbox
        .expect(0, &TINY, &heavy)
        .prints("an area density of 100 kg/m^2, which is unusual: check the unit");
}

/// A rod that falls far in long steps, with too few Newton iterations for some of them.
const HALVED: &str = r#"
time = { duration = "0.5 s", frame_rate = 20, substeps = 1 }
method = { integrator = { kind = "newton", iterations = 6 }, converge = true }
[material.rubber]
density = 1000
young = "1 MPa"
[object.rod]
kind = "rod"
length = 0.5
vertices = 11
radius = "4 mm"
material = "rubber"
[clamp.end]
object = "rod"
end = "first"
"#;

#[test]
fn the_summary_counts_the_halved_steps() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path("scene.toml"), HALVED).unwrap();
    let run = ["run", "scene.toml", "--out", "a", "--summary", "json"];
    let output = sandbox.expect(0, &run, &[]);
    let summary = output.summary();
    let log = std::fs::read_to_string(sandbox.path("a/run.jsonl")).unwrap();
    let halvings = log.lines().map(|line| {
        let report: Json = serde_json::from_str(line).unwrap();
        report["halvings"].as_u64().unwrap()
    });
    let halved = halvings.filter(|halvings| *halvings > 0).count();
    assert!(halved > 0 && halved < 10, "{halved} of 10");
    assert_eq!(summary["halved_steps"], halved);
    assert_eq!(summary["steps"], 10);
    output.prints(&format!("  {halved} of 10 steps were halved"));
    // A resumed run counts the halved steps of earlier calls.
    let run = [
        "run",
        "scene.toml",
        "--out",
        "a",
        "--summary",
        "json",
        "--resume",
    ];
    assert_eq!(
        sandbox.expect(0, &run, &[]).summary()["halved_steps"],
        halved
    );
}
