//! Runs whose physics goes wrong.

use std::fs;

use serde_json::Value as Json;

use crate::common::{Place, TINY, files};

/// Runs a scene that fails, goes on with it, and expects the same failure with the same files.
fn fails(set: &str, words: &[&str]) {
    let place = Place::new();
    let scene = [&TINY[..], &["--out", "a", "--set", set]].concat();
    let first = place.expect(1, &scene, &["--summary", "json"]);
    for word in ["step ", " s failed: ", "`flag`"].iter().chain(words) {
        first.says(word);
    }
    let (_, checkpoint) = first.stderr.trim_end().rsplit_once(' ').unwrap();
    assert!(place.path(checkpoint).is_file(), "{checkpoint}");
    let mut before = files(&place.path("a"));
    for _ in 0..2 {
        let again = place.expect(1, &scene, &["--resume", "--quiet"]);
        let message = |text: &str| text[text.find("error: ").unwrap()..].to_owned();
        assert_eq!(message(&again.stderr), message(&first.stderr));
        let mut after = files(&place.path("a"));
        // The manifest has the last command.
        for list in [&mut before, &mut after] {
            list.retain(|(path, _)| !path.ends_with("manifest.json"));
        }
        assert_eq!(before, after);
    }
    let log = fs::read_to_string(place.path("a/run.jsonl")).unwrap();
    for line in log.lines() {
        let report: Json = serde_json::from_str(line).unwrap();
        assert!(report["energy_j"]["kinetic"].is_f64(), "{line}");
    }
    // What is there is whole.
    place.expect(0, &["check", "a"], &[]);
    place.expect(0, &["export", "a", "--to", "obj"], &[]);
}

#[test]
fn a_matrix_that_is_not_finite_fails_with_its_place() {
    fails(
        "wind.velocity=[\"1e160 m/s\", 0, 0]",
        &["step 1 at", "no finite number at vertex 1"],
    );
}

#[test]
fn energies_that_overflow_fail_instead_of_being_stored() {
    // Positions stay finite for a step, but lines of the log could not be read back.
    fails("gravity=[0, 0, 1e300]", &["step 1 at 0.008333 s", "vertex"]);
}

#[test]
fn a_failure_in_the_middle_leaves_the_state_before_it() {
    // A pull that nothing withstands begins with the third step.
    fails(
        "load.burst={ object = \"flag\", at = { vertices = [7] }, force = [0, 0, 1e300], start = 0.0166 }",
        &["step 3 at 0.025000 s", "vertex", "000000002.safetensors"],
    );
}
