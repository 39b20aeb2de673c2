//! Facts of a scene that `manifest.json` states for readers of a run.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};

use crate::integrate::claims;
use crate::io::folder::FORMAT_VERSION;
use crate::model::Model;
use crate::scene::Scene;

/// Facts by key. The name of the run and the machine are not among them.
#[must_use]
pub fn facts(scene: &Scene, model: &Model) -> Map<String, Json> {
    let inputs = model.inputs.iter();
    let inputs = inputs.map(|input| (&input.name, input.fingerprint()));
    let facts = json!({
        "format_version": FORMAT_VERSION,
        "seed": scene.tables.seed,
        "title": scene.tables.title,
        "frame_rate": model.clock.frame_rate,
        "steps_per_frame": model.clock.steps_per_frame,
        "frames": model.clock.frames,
        "start_frame": scene.tables.time.start_frame,
        "tolerance_m": model.method.tolerance,
        "claims": claims(model),
        "objects": model.objects.iter().map(|object| &object.name).collect::<Vec<_>>(),
        "kinds": model.objects.iter().map(|object| object.kind.word()).collect::<Vec<_>>(),
        "inputs": inputs.collect::<BTreeMap<_, _>>(),
    });
    match facts {
        Json::Object(facts) => facts,
        _ => Map::new(),
    }
}
