//! Reading a scene that must be right.

use std::path::Path;

use reefknot::scene::{Scene, SceneRequest};

/// The scene of a text whose paths are from a folder.
pub(crate) fn read_in(folder: &Path, text: &str) -> Scene {
    let request = SceneRequest {
        file: "scene.toml".into(),
        text: text.into(),
        folder: folder.into(),
        ..SceneRequest::default()
    };
    Scene::read(&request).unwrap_or_else(|problems| panic!("{problems}\n{text}"))
}
