//! Shipped scenes, embedded in the program.

use include_dir::{Dir, include_dir};

use crate::units::did_you_mean;

static SCENES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../scenes");

/// A shipped scene.
#[derive(Clone, Copy, Debug)]
pub struct Shipped {
    /// Name, such as `flag` or `validation/cloth-hanging`.
    pub name: &'static str,
    /// Text of the scene file.
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
/// A message with the closest name, if there is no such scene.
pub fn find(name: &str) -> Result<Shipped, String> {
    let scenes = all();
    let names = || scenes.iter().map(|scene| scene.name);
    scenes
        .iter()
        .find(|scene| scene.name == name)
        .copied()
        .ok_or_else(|| {
            format!(
                "no scene file and no shipped scene is called `{name}`{}",
                did_you_mean(name, names())
            )
        })
}
