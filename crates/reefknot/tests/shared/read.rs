//! Reads scenes that must be valid.

use std::path::Path;

use reefknot_sim::scene::{Scene, SceneRequest};

/// The scene of a text, with paths relative to a folder.
pub(crate) fn read_in(folder: &Path, text: &str) -> Scene {
    let request = SceneRequest {
        file: "scene.toml".into(),
        text: text.into(),
        folder: folder.into(),
        ..SceneRequest::default()
    };
    Scene::read(&request).unwrap_or_else(|problems| panic!("{problems}\n{text}"))
}
