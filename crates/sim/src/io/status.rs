//! Status of a run, read from its folder: for the viewer, which polls it.
use serde::Serialize;
use serde_json::Value as Json;
use xxhash_rust::xxh3::Xxh3;

use super::IoError;
use super::folder::{Contents, FORMAT_VERSION, RunFolder};

/// State of a folder and the run in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    /// A process writes to it.
    Running,
    /// All frames are complete.
    Finished,
    /// Frames are missing, and no process writes them.
    Stopped,
    /// There is no run yet.
    Empty,
    /// The run was removed.
    Gone,
    /// The folder has files that are not of a run.
    Foreign,
    /// The manifest cannot be read.
    Damaged,
}

/// Status of a run at this moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunStatus {
    /// State of the folder.
    pub state: RunState,
    /// Message for the user, if there are no frames to show.
    pub message: Option<String>,
    /// Stored frames: first and last of each gapless sequence.
    pub frames: Vec<[u64; 2]>,
    /// A text that changes when the run is continued or replaced.
    pub identity: String,
}

impl RunStatus {
    /// Status of a folder. `was_there` says that an earlier call found a run in it.
    #[must_use]
    pub fn read(folder: &RunFolder, was_there: bool) -> RunStatus {
        // The lock is tested first: a run that ends while its frames are listed is not stopped.
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
            return absent(if path.exists() {
                format!("{name} is a file; a run is a folder")
            } else {
                format!("{name} does not exist")
            });
        }
        let has_manifest = path.join("manifest.json").exists();
        match folder.contents() {
            Ok(Contents::Run) if has_manifest => RunStatus::of_run(folder, is_being_written)
                .unwrap_or_else(|error| RunStatus::without(RunState::Damaged, error.to_string())),
            Ok(Contents::Foreign(entry)) if !is_being_written && !was_there => RunStatus::without(
                RunState::Foreign,
                format!("{name} holds `{entry}`, which is not part of a run"),
            ),
            Ok(Contents::Run) if !is_being_written && !was_there => RunStatus::without(
                RunState::Damaged,
                format!(
                    "manifest.json of {name} is missing; \
                     restore it from a copy, or continue the run with --resume"
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
        let (manifest, identity) = read_manifest(folder)?;
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

/// Text that identifies the run in a folder; another one after a continuation or replacement.
///
/// # Errors
/// If its manifest is missing or damaged.
pub fn identity(folder: &RunFolder) -> Result<String, IoError> {
    Ok(read_manifest(folder)?.1)
}

/// The manifest, if it has the keys that a viewer needs, and the identity of the run.
fn read_manifest(folder: &RunFolder) -> Result<(Json, String), IoError> {
    let path = &folder.file("manifest.json");
    let failed = |error| IoError::read(path, error);
    let bytes = folder.read(path)?;
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
    // A run that is replaced by an equal one has the same manifest, with a later time.
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
    use std::path::Path;

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
    fn the_state_follows_a_run_from_stopped_to_gone() {
        let place = tempfile::tempdir().unwrap();
        let folder = store(&place.path().join("a"));
        let state = |was_there| RunStatus::read(&folder, was_there).state;
        let stopped = RunStatus::read(&folder, false);
        assert_eq!(stopped.state, RunState::Stopped);
        assert_eq!((stopped.frames, stopped.message), (vec![[0, 1]], None));
        let lock = folder.lock().unwrap();
        assert_eq!(state(true), RunState::Running);
        drop(lock);
        add_frame(folder.root(), 2);
        assert_eq!(state(true), RunState::Finished);
        fs::remove_file(folder.frame(1)).unwrap();
        let gappy = RunStatus::read(&folder, true);
        assert_eq!(gappy.state, RunState::Stopped);
        assert_eq!(gappy.frames, [[0, 0], [2, 2]]);
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
    fn a_folder_without_a_run_has_a_message() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("a");
        fs::create_dir(&root).unwrap();
        let folder = RunFolder::new(&root);
        let says = |state: RunState, text: &str| {
            let status = RunStatus::read(&folder, false);
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
    fn a_run_that_was_replaced_by_an_equal_one_has_another_identity() {
        let place = tempfile::tempdir().unwrap();
        let folder = store(place.path());
        let before = RunStatus::read(&folder, true).identity;
        assert_eq!(RunStatus::read(&folder, true).identity, before);
        let path = folder.file("manifest.json");
        let file = fs::File::options().write(true).open(path).unwrap();
        let later = std::time::SystemTime::now() + std::time::Duration::from_secs(1);
        file.set_modified(later).unwrap();
        assert_ne!(RunStatus::read(&folder, true).identity, before);
    }
}
