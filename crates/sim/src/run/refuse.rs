//! Preconditions of a run: scene, folder and, with `--resume`, agreement with the stored run.

use super::{RunError, RunOptions};
use crate::io::folder::{Contents, FORMAT_VERSION, RunFolder};
use crate::model::Model;
use crate::scene::{Scene, SceneRequest};

/// Refuses a scene whose surfaces intersect at the start: no motion from there is free of
/// intersections.
pub(super) fn refuse_intersections(model: &Model) -> Result<(), RunError> {
    let found = crate::check::intersections(model);
    if found.is_empty() {
        return Ok(());
    }
    Err(RunError::Refused(format!(
        "surfaces intersect at the start of the scene:\n  {}\n\
         move the objects apart, or set method.solver = \"none\" to simulate without contact",
        found.join("\n  ")
    )))
}

/// Refuses a folder with foreign files, or with a run that is neither resumed nor overwritten.
pub(super) fn refuse_contents(
    contents: &Contents,
    folder: &RunFolder,
    options: &RunOptions,
) -> Result<(), RunError> {
    let path = folder.root().display();
    match contents {
        Contents::Foreign(name) => Err(RunError::Refused(format!(
            "{path} holds `{name}`, which is not part of a run; choose another folder with --out"
        ))),
        Contents::Run if !options.resume && !options.overwrite => Err(RunError::Refused(format!(
            "{path} holds a run already; continue it with --resume, replace it with --overwrite, \
             or choose another folder with --out"
        ))),
        _ => Ok(()),
    }
}

/// Refuses to resume a run of another scene, of other input files, or with fewer frames.
pub(super) fn refuse_other_scene(
    scene: &Scene,
    model: &Model,
    folder: &RunFolder,
) -> Result<(), RunError> {
    let path = folder.root().display();
    let refused = |reason: String| RunError::Refused(reason);
    let text = folder
        .read_text("scene.toml")
        .map_err(|error| refused(error.to_string()))?;
    refuse_other_version(folder)?;
    let stored = Scene::read(&SceneRequest {
        file: folder.file("scene.toml").display().to_string(),
        text,
        ..SceneRequest::default()
    });
    let stored = stored.map_err(|problems| refused(problems.to_string()))?;
    if let Some(difference) = scene.with_texts(&model.renamed).difference(&stored) {
        return Err(refused(format!(
            "{path} holds another run: {difference}; \
             --resume can only add frames and change the number of threads"
        )));
    }
    let input_difference = folder.input_difference(&model.inputs);
    if let Some(difference) = input_difference.map_err(|error| refused(error.to_string()))? {
        let advice = if folder.contains_inputs(&model.inputs) {
            "restore its input files, or resume it with the scene file that it was started with"
                .to_owned()
        } else {
            format!(
                "`reefknot run {} --out {path} --resume` continues it with its own copies of the \
                 input files; --out chooses another folder",
                folder.file("scene.toml").display()
            )
        };
        return Err(refused(format!(
            "{path} holds another run: {difference}; {advice}"
        )));
    }
    let clock = crate::build::clock(&stored).map_err(|problems| refused(problems.to_string()))?;
    if model.clock.frames < clock.frames {
        return Err(refused(format!(
            "{path} holds a run of {} frames, which cannot be shortened to {}; \
             give --frames {0} or more, or choose another folder with --out",
            clock.frames, model.clock.frames
        )));
    }
    Ok(())
}

/// Refuses to resume a run whose folder has another format version. A missing or damaged manifest
/// is accepted and written again: `scene.toml` identifies the run.
fn refuse_other_version(folder: &RunFolder) -> Result<(), RunError> {
    let Some(manifest) = folder.manifest() else {
        return Ok(());
    };
    let age = match manifest["format_version"].as_u64().unwrap_or(0) {
        version if version > FORMAT_VERSION => "a newer",
        version if version < FORMAT_VERSION => "an older",
        _ => return Ok(()),
    };
    Err(RunError::Refused(format!(
        "{} was written by {age} reefknot ({}); continue it with that version, \
         or start again with --overwrite",
        folder.root().display(),
        manifest["version"].as_str().unwrap_or("unknown")
    )))
}
