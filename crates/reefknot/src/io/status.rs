//! What a run is doing, seen from outside: for those who watch its folder, and come back to it.

use std::path::Path;

use serde::Serialize;
use serde_json::Value as Json;
use xxhash_rust::xxh3::Xxh3;

use super::IoError;
use super::folder::{Contents, FORMAT_VERSION, RunFolder};

/// What is the matter with the folder of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    /// A process writes to it.
    Running,
    /// All its frames are there.
    Finished,
    /// Frames are missing, and nobody writes them.
    Stopped,
    /// There is no run yet.
    Empty,
    /// There was a run.
    Gone,
    /// Something else is there.
    Foreign,
    /// What it says of itself cannot be read.
    Damaged,
}

/// What can be said of a run at this moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunStatus {
    /// What is the matter.
    pub state: RunState,
    /// A sentence for the user, if there is nothing to see.
    pub message: Option<String>,
    /// The frames that are there: first and last of each gapless sequence.
    pub frames: Vec<[u64; 2]>,
    /// Another text once the run was continued, or replaced by another.
    pub identity: String,
}

impl RunStatus {
    /// Looks at a folder; `was_there` if it has been seen to hold a run before.
    #[must_use]
    pub fn of(folder: &RunFolder, was_there: bool) -> RunStatus {
        // The lock comes first: a run that ends while its frames are counted must not look stopped.
        let is_being_written = folder.is_being_written();
        let path = folder.root();
        let name = path.display();
        let absent = |what: String| match (is_being_written, was_there) {
            (true, _) => RunStatus::without(
                RunState::Empty,
                format!("the run in {name} is about to begin"),
            ),
            (false, true) => RunStatus::without(
                RunState::Gone,
                format!("the run in {name} is no longer there"),
            ),
            (false, false) => RunStatus::without(RunState::Empty, what),
        };
        if !path.is_dir() {
            return absent(match path.exists() {
                true => format!("{name} is a file; a run is a folder"),
                false => format!("{name} does not exist"),
            });
        }
        let has_manifest = path.join("manifest.json").exists();
        match folder.contents() {
            Ok(Contents::Run) if has_manifest => RunStatus::of_run(folder, is_being_written)
                .unwrap_or_else(|error| RunStatus::without(RunState::Damaged, error.to_string())),
            Ok(Contents::Foreign(entry)) if !is_being_written && !was_there => RunStatus::without(
                RunState::Foreign,
                format!("{name} holds `{entry}`, which is no part of a run"),
            ),
            Ok(Contents::Run) if !is_being_written && !was_there => RunStatus::without(
                RunState::Damaged,
                format!(
                    "{name} has lost its manifest.json; restore it from a copy, or continue the run with --resume"
                ),
            ),
            Ok(_) => absent(format!("{name} holds no run")),
            Err(error) => RunStatus::without(RunState::Damaged, error.to_string()),
        }
    }

    fn without(state: RunState, message: String) -> RunStatus {
        RunStatus {
            state,
            message: Some(message),
            frames: Vec::new(),
            identity: String::new(),
        }
    }

    fn of_run(folder: &RunFolder, is_being_written: bool) -> Result<RunStatus, IoError> {
        let (manifest, identity) = read_manifest(&folder.file("manifest.json"))?;
        let frames = sequences(&folder.frames()?);
        let all = [0, manifest["frames"].as_u64().unwrap_or_default()];
        let state = match frames[..] {
            _ if is_being_written => RunState::Running,
            [one] if one[0] == 0 && one[1] >= all[1] => RunState::Finished,
            _ => RunState::Stopped,
        };
        Ok(RunStatus {
            state,
            message: None,
            frames,
            identity,
        })
    }
}

/// What the run in a folder is told apart by from those before and after it.
///
/// # Errors
/// If its manifest is missing or damaged.
pub fn identity(folder: &RunFolder) -> Result<String, IoError> {
    Ok(read_manifest(&folder.file("manifest.json"))?.1)
}

/// The manifest, if it has what a viewer needs, and what it is told apart by.
fn read_manifest(path: &Path) -> Result<(Json, String), IoError> {
    let failed = |error| IoError::read(path, error);
    let bytes = std::fs::read(path).map_err(failed)?;
    let metadata = std::fs::metadata(path).map_err(failed)?;
    let manifest: Json = serde_json::from_slice(&bytes)
        .map_err(|error| IoError::damaged(path, error.to_string()))?;
    let needed = [
        ("format_version", manifest["format_version"].is_u64()),
        ("scene", manifest["scene"].is_string()),
        ("frames", manifest["frames"].is_u64()),
        ("frame_rate", manifest["frame_rate"].is_number()),
        ("objects", manifest["objects"].is_array()),
    ];
    if let Some((key, _)) = needed.iter().find(|(_, is_there)| !is_there) {
        return Err(IoError::damaged(path, format!("it has no `{key}`")));
    }
    if manifest["format_version"].as_u64() > Some(FORMAT_VERSION) {
        let version = manifest["version"].as_str().unwrap_or("unknown");
        let reason = format!("a newer reefknot ({version}) wrote it, which this one cannot read");
        return Err(IoError::damaged(path, reason));
    }
    let mut hasher = Xxh3::new();
    hasher.update(&bytes);
    // A run that is replaced by the same has the same manifest, but not from the same moment.
    let changed = metadata.modified().map_err(failed)?;
    let changed = changed.duration_since(std::time::UNIX_EPOCH);
    hasher.update(&changed.unwrap_or_default().as_nanos().to_le_bytes());
    Ok((manifest, format!("{:016x}", hasher.digest())))
}

/// First and last of each gapless sequence of ascending numbers.
fn sequences(numbers: &[u64]) -> Vec<[u64; 2]> {
    let together = |a: &u64, b: &u64| a + 1 == *b;
    let parts = numbers.chunk_by(together);
    parts.map(|part| [part[0], part[part.len() - 1]]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const MANIFEST: &str =
        r#"{"format_version":1,"scene":"a","frames":2,"frame_rate":25.0,"objects":[]}"#;

    /// A folder with a manifest and frames 0 and 1 of 2.
    fn store(root: &Path) -> RunFolder {
        fs::create_dir_all(root.join("frames")).unwrap();
        fs::write(root.join("manifest.json"), MANIFEST).unwrap();
        for frame in [0, 1] {
            add_frame(root, frame);
        }
        RunFolder::new(root)
    }

    fn add_frame(root: &Path, frame: u64) {
        fs::write(root.join(format!("frames/{frame:05}.safetensors")), "").unwrap();
    }

    #[test]
    fn a_run_is_stopped_running_finished_and_gone() {
        let place = tempfile::tempdir().unwrap();
        let folder = store(&place.path().join("a"));
        let state = |was_there| RunStatus::of(&folder, was_there).state;
        let stopped = RunStatus::of(&folder, false);
        assert_eq!(stopped.state, RunState::Stopped);
        assert_eq!((stopped.frames, stopped.message), (vec![[0, 1]], None));
        let lock = folder.lock().unwrap();
        assert_eq!(state(true), RunState::Running);
        drop(lock);
        add_frame(folder.root(), 2);
        assert_eq!(state(true), RunState::Finished);
        fs::remove_file(folder.frame(1)).unwrap();
        let holey = RunStatus::of(&folder, true);
        assert_eq!(holey.state, RunState::Stopped);
        assert_eq!(holey.frames, [[0, 0], [2, 2]]);
        fs::remove_file(folder.file("manifest.json")).unwrap();
        assert_eq!(
            (state(true), state(false)),
            (RunState::Gone, RunState::Damaged)
        );
        fs::remove_dir_all(folder.root()).unwrap();
        assert_eq!(
            (state(true), state(false)),
            (RunState::Gone, RunState::Empty)
        );
    }

    #[test]
    fn what_is_no_run_is_told_in_a_sentence() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("a");
        fs::create_dir(&root).unwrap();
        let folder = RunFolder::new(&root);
        let says = |state: RunState, text: &str| {
            let status = RunStatus::of(&folder, false);
            assert_eq!(status.state, state, "{status:?}");
            assert!(status.message.unwrap().contains(text), "{text}");
        };
        says(RunState::Empty, "holds no run");
        let lock = folder.lock().unwrap();
        says(RunState::Empty, "is about to begin");
        drop(lock);
        fs::write(root.join("notes.txt"), "").unwrap();
        says(RunState::Foreign, "`notes.txt`");
        store(&root);
        for (text, reason) in [
            ("{", "manifest.json is damaged"),
            (&MANIFEST.replace("\"scene\":\"a\",", ""), "no `scene`"),
            (&MANIFEST.replace(":1,", ":99,"), "a newer reefknot"),
        ] {
            fs::write(root.join("manifest.json"), text).unwrap();
            says(RunState::Damaged, reason);
        }
    }

    #[test]
    fn a_run_that_was_replaced_by_the_same_is_another() {
        let place = tempfile::tempdir().unwrap();
        let folder = store(place.path());
        let before = RunStatus::of(&folder, true).identity;
        assert_eq!(RunStatus::of(&folder, true).identity, before);
        let path = folder.file("manifest.json");
        let file = fs::File::options().write(true).open(path).unwrap();
        let later = std::time::SystemTime::now() + std::time::Duration::from_secs(1);
        file.set_modified(later).unwrap();
        assert_ne!(RunStatus::of(&folder, true).identity, before);
    }
}
