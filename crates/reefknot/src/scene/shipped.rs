//! Scenes that come with the program: embedded, so that they run from anywhere.

use include_dir::{Dir, include_dir};

use crate::units::did_you_mean;

static SCENES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../scenes");

/// A scene that comes with the program.
#[derive(Clone, Copy, Debug)]
pub struct Shipped {
    /// Its name, such as `flag` or `validation/cloth-hanging`.
    pub name: &'static str,
    /// The text of its scene file.
    pub text: &'static str,
}

/// All shipped scenes, by name.
#[must_use]
pub fn all() -> Vec<Shipped> {
    let mut scenes = Vec::new();
    collect(&SCENES, &mut scenes);
    scenes.sort_by_key(|scene| scene.name);
    scenes
}

fn collect(folder: &'static Dir<'_>, scenes: &mut Vec<Shipped>) {
    for file in folder.files() {
        let name = file
            .path()
            .to_str()
            .and_then(|path| path.strip_suffix(".toml"));
        if let (Some(name), Some(text)) = (name, file.contents_utf8()) {
            scenes.push(Shipped { name, text });
        }
    }
    for inner in folder.dirs() {
        collect(inner, scenes);
    }
}

/// The shipped scene with this name.
///
/// # Errors
/// A sentence that names what is there.
pub fn find(name: &str) -> Result<Shipped, String> {
    let scenes = all();
    let names = || scenes.iter().map(|scene| scene.name);
    scenes
        .iter()
        .find(|scene| scene.name == name)
        .copied()
        .ok_or_else(|| {
            format!(
                "there is no scene file and no shipped scene `{name}`{}",
                did_you_mean(name, names())
            )
        })
}
