//! Helpers: build a scene, and return its problems or the findings of its check.

use std::path::Path;

use reefknot_sim::check::{Severity, check_scene};
use reefknot_sim::model::Model;
use reefknot_sim::scene::{Scene, SceneRequest};

pub(crate) const HEAD: &str = "
time = { duration = \"1 s\", frame_rate = 100, substeps = 1 }
[material.stuff]
density = 1000
young = 1e6
poisson = 0.3
thickness = \"1 mm\"
";

pub(crate) const SHEET: &str = "
[object.sheet]
kind = \"cloth-grid\"
size = [0.4, 0.4]
vertices = [5, 5]
material = \"stuff\"
";

pub(crate) const ROD: &str = "
[object.rod]
kind = \"rod\"
length = 1
vertices = 6
radius = 0.01
material = \"stuff\"
";

pub(crate) fn read_in(folder: &Path, text: &str) -> Scene {
    let request = SceneRequest {
        file: "scene.toml".into(),
        text: format!("{HEAD}{text}"),
        folder: folder.into(),
        ..SceneRequest::default()
    };
    Scene::read(&request).unwrap_or_else(|problems| panic!("{problems}\n{text}"))
}

pub(crate) fn folder_with(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

/// The report on a scene that cannot be built. Each problem must have a place and advice.
pub(crate) fn refusal_in(folder: &Path, text: &str) -> String {
    let scene = read_in(folder, text);
    match Model::build(&scene) {
        Ok(_) => panic!("was accepted: {text}"),
        Err(problems) => {
            for problem in problems.list() {
                assert!(problems.position(&problem.place).is_some());
                assert!(!problem.place.range.is_empty(), "{problem:?}");
                assert!(!problem.advice.is_empty(), "{problem:?}");
            }
            problems.to_string()
        }
    }
}

pub(crate) fn assert_words(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "`{word}` is not in:\n{text}");
    }
}

pub(crate) fn assert_refused(text: &str, words: &[&str]) {
    assert_words(&refusal_in(Path::new(""), text), words);
}

/// Findings in a scene that can be built, without those about its few objects.
pub(crate) fn findings_in(folder: &Path, text: &str) -> Vec<(Severity, String)> {
    let scene = read_in(folder, text);
    let model = Model::build(&scene).unwrap_or_else(|problems| panic!("{problems}"));
    check_scene(&scene, &model)
        .into_iter()
        .map(|finding| (finding.severity, finding.sentence))
        .filter(|(_, sentence)| !sentence.contains("only cloth is simulated"))
        .filter(|(_, sentence)| !sentence.contains("have no effect"))
        .filter(|(_, sentence)| !sentence.contains("has no object"))
        .collect()
}

pub(crate) fn findings(text: &str) -> Vec<(Severity, String)> {
    findings_in(Path::new(""), text)
}

pub(crate) fn assert_found(found: &[(Severity, String)], severity: Severity, words: &[&str]) {
    let contains_words = |sentence: &str| words.iter().all(|word| sentence.contains(word));
    assert!(
        found
            .iter()
            .any(|(s, sentence)| *s == severity && contains_words(sentence)),
        "{words:?} are not in {found:?}"
    );
}
