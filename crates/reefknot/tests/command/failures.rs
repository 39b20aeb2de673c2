//! Runs in which a step fails.

use std::fs;

use serde_json::Value as Json;

use crate::common::{Sandbox, TINY, files};

/// Runs a scene that fails, resumes it twice, and expects the same error and the same files.
fn assert_fails(set: &str, words: &[&str]) {
    let sandbox = Sandbox::new();
    let scene = [&TINY[..], &["--out", "a", "--set", set]].concat();
    let first = sandbox.expect(1, &scene, &["--summary", "json"]);
    for word in ["step ", " s failed: ", "`flag`"].iter().chain(words) {
        first.prints(word);
    }
    let (_, checkpoint) = first.stderr.trim_end().rsplit_once(' ').unwrap();
    assert!(sandbox.path(checkpoint).is_file(), "{checkpoint}");
    let mut before = files(&sandbox.path("a"));
    for _ in 0..2 {
        let again = sandbox.expect(1, &scene, &["--resume", "--quiet"]);
        let message = |text: &str| text[text.find("error: ").unwrap()..].to_owned();
        assert_eq!(message(&again.stderr), message(&first.stderr));
        let mut after = files(&sandbox.path("a"));
        // The manifest contains the last command.
        for list in [&mut before, &mut after] {
            list.retain(|(path, _)| !path.ends_with("manifest.json"));
        }
        assert_eq!(before, after);
    }
    let log = fs::read_to_string(sandbox.path("a/run.jsonl")).unwrap();
    for line in log.lines() {
        let report: Json = serde_json::from_str(line).unwrap();
        assert!(report["energy_j"]["kinetic"].is_f64(), "{line}");
    }
    // The stored frames are intact.
    sandbox.expect(0, &["check", "a"], &[]);
    sandbox.expect(0, &["export", "a", "--to", "obj"], &[]);
}

#[test]
fn a_matrix_that_is_not_finite_is_reported_with_its_vertex() {
    assert_fails(
        "wind.velocity=[\"1e160 m/s\", 0, 0]",
        &["step 1 at", "not finite at vertex 1"],
    );
}

#[test]
fn energies_that_overflow_fail_instead_of_being_stored() {
    // Positions stay finite for one step, but a log line with infinite energies is not valid JSON.
    assert_fails("gravity=[0, 0, 1e300]", &["step 1 at 0.008333 s", "vertex"]);
}

#[test]
fn a_failure_in_a_later_step_leaves_a_checkpoint_of_the_step_before() {
    // An enormous load starts with the third step.
    assert_fails(
        "load.burst={ object = \"flag\", at = { vertices = [7] }, force = [0, 0, 1e300], \
            start = 0.0166 }",
        &["step 3 at 0.025000 s", "vertex", "000000002.safetensors"],
    );
}
