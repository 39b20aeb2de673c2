//! Mutated scene files: none panics or hangs, and each error has a place.

#[path = "../examples/fuzz_scenes/cases.rs"]
mod cases;
#[path = "../examples/fuzz/choices.rs"]
mod choices;
#[path = "../examples/fuzz/guard.rs"]
mod guard;
#[path = "../examples/fuzz_scenes/mutate.rs"]
mod mutate;
#[path = "../examples/fuzz_scenes/seeds.rs"]
mod seeds;

use reefknot_sim::model::Model;
use reefknot_sim::scene::{Scene, SceneRequest, shipped};

#[test]
fn two_thousand_mutated_scenes_neither_panic_nor_hang_and_each_error_has_a_place() {
    let tally = cases::run(0, 2000, 1).unwrap();
    assert!(tally.is_clean(), "{}\n{:#?}", tally.json(), tally.findings);
    assert!(tally.stepped > 200, "too few scenes reach a step");
    assert!(tally.rejected > 500, "too few scenes are broken");
    assert!(!tally.sample.is_empty());
}

#[test]
fn the_seed_scenes_use_every_key() {
    fn keys(schema: &serde_json::Value, found: &mut Vec<String>) {
        match schema {
            serde_json::Value::Object(object) => {
                if let Some(serde_json::Value::Object(properties)) = object.get("properties") {
                    found.extend(properties.keys().cloned());
                }
                object.values().for_each(|value| keys(value, found));
            }
            serde_json::Value::Array(list) => list.iter().for_each(|value| keys(value, found)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    keys(&reefknot_sim::scene::json_schema(), &mut found);
    let texts = seeds::seeds().into_iter().map(|seed| seed.text + "\n");
    let text: String = texts.collect();
    for key in found {
        assert!(text.contains(&key), "no seed scene uses `{key}`");
    }
}

#[test]
fn the_seed_scenes_are_valid_and_small() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in seeds::FILES {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    for seed in seeds::seeds() {
        let request = SceneRequest {
            text: seed.text,
            quick: true,
            folder: folder.path().to_path_buf(),
            ..SceneRequest::default()
        };
        let limit = match shipped::find(&seed.name) {
            Ok(_) => cases::MAX_VERTICES,
            Err(_) => cases::USUAL_MAX_VERTICES,
        };
        let built = Scene::read(&request).and_then(|scene| Model::build_within(&scene, limit));
        if let Err(problems) = built {
            panic!("{}: {problems}", seed.name);
        }
    }
}
