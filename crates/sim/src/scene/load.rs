//! Scenes by name or path, and meshes given by a program.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::problem::Problems;
use super::{Scene, SceneRequest, shipped};
use crate::mesh::Mesh;
use crate::mesh::encode::{encode, extension};

/// Reason why a scene cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// There is no such scene.
    #[error("{0}")]
    NotFound(String),
    /// The file cannot be read.
    #[error("cannot read {}: {source}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Reason given by the system.
        source: std::io::Error,
    },
    /// The scene has mistakes.
    #[error("{0}")]
    Mistakes(#[from] Problems),
}

impl SceneRequest {
    /// A scene file, or a shipped scene by its name.
    ///
    /// # Errors
    /// If there is no such scene, or its file is not text.
    pub fn find(name: &str) -> Result<SceneRequest, LoadError> {
        let path = Path::new(name);
        // A file may happen to have the name of a shipped scene, as the program itself does.
        let is_file = path.is_file() && shipped::find(name).is_err();
        if is_file || name.ends_with(".toml") {
            return SceneRequest::from_file(path);
        }
        let shipped = shipped::find(name).map_err(|reason| {
            LoadError::NotFound(if path.is_dir() {
                format!("{name} is a folder; give a scene file or a shipped scene")
            } else {
                format!("{reason}\n`reefknot scenes` lists the shipped scenes")
            })
        })?;
        Ok(SceneRequest {
            name: name.to_owned(),
            file: format!("{name}.toml"),
            text: shipped.text.to_owned(),
            ..SceneRequest::default()
        })
    }

    fn from_file(path: &Path) -> Result<SceneRequest, LoadError> {
        let file = path.display().to_string();
        let bytes = std::fs::read(path).map_err(|source| LoadError::Unreadable {
            path: path.to_path_buf(),
            source,
        })?;
        let text = String::from_utf8(bytes).map_err(|error| Problems::not_text(&file, &error))?;
        let stem = path.file_stem().unwrap_or_default();
        Ok(SceneRequest {
            name: stem.to_string_lossy().into_owned(),
            file,
            text,
            folder: path.parent().unwrap_or(Path::new("")).to_path_buf(),
            ..SceneRequest::default()
        })
    }
}

impl Scene {
    /// Loads a scene file, or a shipped scene by its name.
    ///
    /// # Errors
    /// If there is no such scene, or it has mistakes.
    pub fn load(name: &str) -> Result<Scene, LoadError> {
        Ok(Scene::read(&SceneRequest::find(name)?)?)
    }

    /// Gives the scene a mesh under a file name. Objects with `file = "NAME"` use it in place of a
    /// file on disk, and a run keeps a copy of it. The name ends in `.obj` for triangles and
    /// curves, in `.msh` for tetrahedra; groups are not kept.
    ///
    /// # Errors
    /// A sentence if the name has another ending.
    pub fn add_mesh(&mut self, name: &str, mesh: &Mesh) -> Result<(), String> {
        let wanted = extension(mesh);
        if !name.ends_with(wanted) {
            return Err(format!(
                "`{name}` names a mesh in memory, so it must end in `{wanted}`"
            ));
        }
        self.meshes.insert(name.to_owned(), Arc::from(encode(mesh)));
        Ok(())
    }
}
