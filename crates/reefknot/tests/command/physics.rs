//! `reefknot check --physics`: rows, exit codes, summary and page.

use serde_json::Value as Json;

use crate::common::Sandbox;

/// A small selection of the suite.
const SMALL: [&str; 6] = [
    "check",
    "--physics",
    "--only",
    "eccentric-load,cloth-shear",
    "--summary",
    "json",
];

#[test]
fn the_physics_of_small_scenes_agree_with_theory() {
    let sandbox = Sandbox::new();
    let output = sandbox.expect(0, &SMALL, &["--solver", "gauss-seidel"]);
    let summary = output.summary();
    assert_eq!(summary["suite"], "physics");
    assert_eq!(summary["solver"], "gauss-seidel");
    let count = |key: &str| summary[key].as_u64().unwrap();
    assert_eq!(
        [count("held"), count("failed"), count("refused")],
        [5, 0, 0]
    );
    assert!(summary["integrator"].is_string() && summary["wall_s"].is_f64());
    let rows = summary["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 5);
    let keys = "scene set theory probe found expected tolerance bound holds status reason solver \
                integrator h steps unconverged_steps contact_error_m momentum_error_m \
                nonlinear_error_m intersections wall_s";
    for row in rows {
        for key in keys.split_whitespace() {
            assert!(row.get(key).is_some(), "{key} {row}");
        }
    }
    // The scene without contact keeps its solver.
    assert_eq!(rows[0]["solver"], "none");
    assert!(output.stdout.contains("5 of 5 values agree with theory"));
    let page = std::fs::read_to_string(sandbox.path("physics.html")).unwrap();
    assert!(page.contains("eccentric-load") && page.ends_with("</html>\n"));
    let errors = output.stderr;
    assert!(!errors.contains("error"), "{errors}");
}

#[test]
fn another_gravity_is_found() {
    let sandbox = Sandbox::new();
    let more = ["--set", "gravity=[0, 0, -10.5]", "--out", "moon.md"];
    let output = sandbox.expect(1, &SMALL, &more);
    let rows: Json = output.summary()["rows"].clone();
    let status = |probe: &str| {
        let rows = rows.as_array().unwrap();
        let row = rows.iter().find(|row| row["probe"] == probe).unwrap();
        (row["holds"].as_bool().unwrap(), row["status"].clone())
    };
    assert_eq!(status("force"), (false, "failed".into()));
    assert_eq!(status("energy"), (true, "held".into()));
    let page = std::fs::read_to_string(sandbox.path("moon.md")).unwrap();
    assert!(page.contains("FAILED") && page.contains(r"gravity=\[0, 0, -10.5\]"));
}

#[test]
fn cases_that_cannot_run_are_refused_with_the_reason() {
    let sandbox = Sandbox::new();
    let explicit = ["--set", "method.integrator=\"symplectic-euler\""];
    let output = sandbox.expect(
        0,
        &["check", "--physics", "--only", "vibration,momentum"],
        &explicit,
    );
    assert!(
        output
            .stdout
            .contains("this is the theory of implicit Euler")
    );
    assert!(
        output.stdout.contains("refused  vibration"),
        "{}",
        output.stdout
    );
    // If no case can run, the arguments are wrong.
    let refusals = [
        (vec!["--set", "parameters.moo=3"], "no parameter `moo`"),
        (vec!["--set", "metod.tolerance=1"], "unknown key `metod`"),
        (vec!["--solver", "adm"], "adm"),
        (vec!["--only", "inclin"], "did you mean `incline`?"),
        (vec!["--out", "page.txt"], ".html or .md"),
        (vec!["--out", "missing/page.html"], "missing/page.html"),
        (vec!["--set", "method"], "no `=`"),
    ];
    for (more, words) in refusals {
        let output = sandbox.expect(2, &["check", "--physics", "--quick"], &more);
        assert!(output.stderr.contains(words), "{words}: {}", output.stderr);
    }
    sandbox.expect(2, &["check", "flag"], &["--physics"]);
    sandbox.expect(2, &["check", "flag"], &["--solver", "admm"]);
}

#[test]
fn the_suite_stops_by_a_signal() {
    let sandbox = Sandbox::new();
    let mut running = sandbox.start(&["check", "--physics", "--only", "stick-slip"]);
    // Handlers of signals are set before the page is created.
    let files = || std::fs::read_dir(sandbox.path(".")).unwrap().count();
    running.wait_until("the page is created", || files() > 0);
    running.signal("-INT");
    let output = running.wait();
    assert_eq!(output.code, Some(130), "{output:?}");
    assert_eq!(files(), 0);
}
