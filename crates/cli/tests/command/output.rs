//! What the program prints.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use crate::common::{Place, TINY};

/// The keys of the summary, as the contract has them.
const KEYS: [&str; 33] = [
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

/// The keys of a table in JSON, whose order means nothing.
fn keys(value: &Json) -> BTreeSet<&str> {
    let table = value.as_object().unwrap();
    table.keys().map(String::as_str).collect()
}

fn set<const N: usize>(keys: [&str; N]) -> BTreeSet<&str> {
    keys.into()
}

#[test]
fn the_summary_is_the_last_line_and_has_the_keys_of_the_contract() {
    let place = Place::new();
    let ran = place.expect(0, &TINY, &["--out", "a", "--summary", "json"]);
    assert!(
        ran.stdout.lines().count() > 1,
        "a result for people comes first"
    );
    let summary = ran.summary();
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
            "numerical"
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
fn quiet_prints_the_summary_and_nothing_else() {
    let place = Place::new();
    let ran = place.expect(0, &TINY, &["--out", "a", "--summary", "json", "--quiet"]);
    assert_eq!(ran.stdout.lines().count(), 1);
    assert_eq!(keys(&ran.summary()), set(KEYS));
    assert_eq!(ran.stderr, "");
    let ran = place.expect(0, &TINY, &["--out", "b", "--quiet"]);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", ""));
}

#[test]
fn the_summary_of_a_finished_run_is_that_of_the_run() {
    let place = Place::new();
    let first = place.finish(&TINY, &["--out", "a"]);
    let again = place.finish(&TINY, &["--out", "a", "--resume"]);
    for key in KEYS
        .iter()
        .filter(|key| !["wall_s", "peak_rss_bytes"].contains(key))
    {
        assert_eq!(first[key], again[key], "{key}");
    }
}

#[test]
fn the_result_does_not_depend_on_the_threads() {
    let place = Place::new();
    let flag = ["run", "flag", "--quick"];
    let hashes = ["1", "2", "3"].map(|threads| {
        let hash = place.hash(&flag, &["--out", threads, "--threads", threads]);
        crate::common::same_run(&place.path(threads), &place.path("1"));
        hash
    });
    assert_eq!(hashes[0], hashes[1]);
    assert_eq!(hashes[0], hashes[2]);
}

#[test]
fn a_value_that_is_probably_not_meant_is_noted_before_the_run() {
    let place = Place::new();
    let heavy = ["--set", "material.cloth.area_density=100", "--frames", "1"];
    place
        .expect(0, &TINY, &heavy)
        .says("an area density of 100 kg/m^2: is the unit right?");
}

/// A rod that falls far within long steps, for which Newton's method has few iterations.
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
fn the_summary_counts_the_steps_that_were_halved() {
    let place = Place::new();
    std::fs::write(place.path("scene.toml"), HALVED).unwrap();
    let run = ["run", "scene.toml", "--out", "a", "--summary", "json"];
    let ran = place.expect(0, &run, &[]);
    let summary = ran.summary();
    let log = std::fs::read_to_string(place.path("a/run.jsonl")).unwrap();
    let halvings = log.lines().map(|line| {
        let report: Json = serde_json::from_str(line).unwrap();
        report["halvings"].as_u64().unwrap()
    });
    let halved = halvings.filter(|halvings| *halvings > 0).count();
    assert!(halved > 0 && halved < 10, "{halved} of 10");
    assert_eq!(summary["halved_steps"], halved);
    assert_eq!(summary["steps"], 10);
    ran.says(&format!("  halved: {halved} of 10 steps"));
    // A run that goes on has counted those before, too.
    let run = [
        "run",
        "scene.toml",
        "--out",
        "a",
        "--summary",
        "json",
        "--resume",
    ];
    assert_eq!(place.expect(0, &run, &[]).summary()["halved_steps"], halved);
}
