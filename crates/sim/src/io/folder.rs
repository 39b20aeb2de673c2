//! The folder of a run: its files, written such that the folder is readable after a crash at any
//! moment.
//!
//! `.lock` is the first file of a run, `manifest.json` the last before the first step. Frames and
//! checkpoints are written atomically. `run.jsonl` and `probes.csv` are only appended to, and are
//! flushed to disk before each checkpoint; a crash can leave an incomplete last line.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use glam::DVec3;
use reefknot_contact::file::problem::CapturedProblem;

use super::IoError;
use super::atomic::{final_name, remove_if_present, remove_leftovers, write_atomically};
use super::contained::{EntryType, check_entry};
use super::frame::{frame_file, topology_file};
use super::input::INPUT_FOLDER;
use super::tensors::TensorFile;
use crate::certify::Step;
use crate::model::Model;
use crate::state::{Array, FIELDS, Length, State, flat};

/// Version of the folder's layout. 3: checkpoints without approach speeds.
pub const FORMAT_VERSION: u64 = 3;

/// Number of checkpoints that are kept.
const MAX_CHECKPOINTS: usize = 3;

/// The files that a run writes, except numbered ones and exports.
pub(super) const OWN_FILES: [&str; 6] = [
    "manifest.json",
    COPY_LIST,
    "scene.toml",
    "run.jsonl",
    "probes.csv",
    "topology.safetensors",
];

/// Names of the input copies of a run that has no manifest yet. If the run never gets one, the next
/// run removes them.
pub(super) const COPY_LIST: &str = ".copying";

/// The folders of numbered files.
pub(super) const NUMBERED_FOLDERS: [&str; 3] = ["frames", "checkpoints", PROBLEM_FOLDER];

/// The folder of contact problems, which exists only if some were captured.
const PROBLEM_FOLDER: &str = "problems";

/// Lock file, held while a process writes. It is the first file of a run: files in a folder without
/// it and without a manifest were not written by a run.
const LOCK_FILE: &str = ".lock";

/// Marks a run that is being removed, so that its remaining files do not count as a run.
pub(super) const REMOVAL_MARKER: &str = ".removing";

/// Timeout and interval of attempts to lock. [`RunFolder::is_being_written`] holds the lock for
/// microseconds, which must not prevent a run from starting.
const LOCK_TIMEOUT: Duration = Duration::from_millis(100);
const LOCK_RETRY_INTERVAL: Duration = Duration::from_millis(5);

/// Build and machine on which the bits of a state depend, beside the scene.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Instruction set.
    pub isa: String,
    /// Commit of the program.
    pub commit: String,
}

/// Contents of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contents {
    /// No run: an empty folder, a run without any step, or the rest of a run that was being
    /// removed.
    Empty,
    /// A run, possibly damaged.
    Run,
    /// Files that are not of a run; the name of the first.
    Foreign(String),
}

/// The paths of a run's folder.
#[derive(Clone, Debug)]
pub struct RunFolder {
    root: PathBuf,
}

impl RunFolder {
    /// The folder at this path, which need not exist.
    pub fn new(root: impl Into<PathBuf>) -> RunFolder {
        RunFolder { root: root.into() }
    }

    /// Its path.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A file in it.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// The file of a frame.
    #[must_use]
    pub fn frame(&self, frame: u64) -> PathBuf {
        self.file(&numbered_name("frames", frame))
    }

    /// The file of the checkpoint after a step.
    #[must_use]
    pub fn checkpoint(&self, step: u64) -> PathBuf {
        self.file(&numbered_name("checkpoints", step))
    }

    /// The file of the contact problem of a step.
    #[must_use]
    pub fn problem(&self, step: u64) -> PathBuf {
        self.file(&numbered_name(PROBLEM_FOLDER, step))
    }

    /// Contents of the folder.
    ///
    /// # Errors
    /// If it cannot be listed.
    pub fn contents(&self) -> Result<Contents, IoError> {
        let entries = match fs::read_dir(&self.root) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Contents::Empty);
            }
            Err(error) => return Err(IoError::read(&self.root, error)),
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| IoError::read(&self.root, error))?;
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        self.check_entries()?;
        let has = |name: &str| names.iter().any(|other| other == name);
        if has(REMOVAL_MARKER) {
            return Ok(Contents::Empty);
        }
        let results = !self.frames()?.is_empty() || !self.checkpoints()?.is_empty();
        if results || (has("manifest.json") && (has(LOCK_FILE) || self.manifest().is_some())) {
            return Ok(Contents::Run);
        }
        let own = |name: &str| match name {
            LOCK_FILE | "export" => true,
            _ => has(LOCK_FILE) && is_own(name),
        };
        let foreign = names.iter().find(|name| !own(name));
        Ok(foreign.map_or(Contents::Empty, |name| Contents::Foreign(name.clone())))
    }

    /// Refuses a run folder with an own entry that is not a regular file or folder inside it.
    fn check_entries(&self) -> Result<(), IoError> {
        for name in OWN_FILES.into_iter().chain([LOCK_FILE, REMOVAL_MARKER]) {
            check_entry(&self.root, &self.file(name), EntryType::File)?;
        }
        for name in NUMBERED_FOLDERS.into_iter().chain([INPUT_FOLDER, "export"]) {
            let folder = self.file(name);
            check_entry(&self.root, &folder, EntryType::Folder)?;
            if name == "export" || !folder.is_dir() {
                continue;
            }
            for entry in fs::read_dir(&folder).map_err(|error| IoError::read(&folder, error))? {
                let entry = entry.map_err(|error| IoError::read(&folder, error))?;
                check_entry(&self.root, &entry.path(), EntryType::File)?;
            }
        }
        Ok(())
    }

    /// Bytes of a file in the folder.
    ///
    /// # Errors
    /// If it is missing, or not a regular file inside the folder.
    pub fn read(&self, path: &Path) -> Result<Vec<u8>, IoError> {
        check_entry(&self.root, path, EntryType::File)?;
        fs::read(path).map_err(|error| IoError::read(path, error))
    }

    /// A file that may be growing, from a byte to the end of its last whole line.
    ///
    /// # Errors
    /// As for [`RunFolder::read`].
    pub fn read_lines(&self, path: &Path, from: u64) -> Result<Vec<u8>, IoError> {
        check_entry(&self.root, path, EntryType::File)?;
        let read = || {
            let mut file = File::open(path)?;
            let mut bytes = Vec::new();
            if from < file.metadata()?.len() {
                file.seek(SeekFrom::Start(from))?;
                file.read_to_end(&mut bytes)?;
            }
            Ok(bytes)
        };
        let mut bytes = read().map_err(|error| IoError::read(path, error))?;
        let end = bytes.iter().rposition(|byte| *byte == b'\n');
        bytes.truncate(end.map_or(0, |end| end + 1));
        Ok(bytes)
    }

    /// The manifest, if it is valid and of a run: other programs also write a `manifest.json`.
    #[must_use]
    pub fn manifest(&self) -> Option<serde_json::Value> {
        let text = self.read_text("manifest.json").ok()?;
        let manifest: serde_json::Value = serde_json::from_str(&text).ok()?;
        manifest["format_version"].is_u64().then_some(manifest)
    }

    /// Locks the folder against other writers until the returned file is dropped. The system
    /// releases the lock when the process ends for any reason.
    ///
    /// # Errors
    /// If another process has the lock, or the folder cannot be written.
    pub fn lock(&self) -> Result<File, IoError> {
        let path = self.file(LOCK_FILE);
        fs::create_dir_all(&self.root).map_err(|error| IoError::write(&self.root, error))?;
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(|error| IoError::write(&path, error))?;
        let began = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) if began.elapsed() < LOCK_TIMEOUT => {
                    std::thread::sleep(LOCK_RETRY_INTERVAL);
                }
                Err(TryLockError::WouldBlock) => {
                    let path = self.root.clone();
                    return Err(IoError::Busy { path });
                }
                // Some network file systems have no locks: continue without one.
                Err(TryLockError::Error(_)) => return Ok(file),
            }
        }
    }

    /// Whether any process, including this one, holds the lock. Does not create the lock file.
    #[must_use]
    pub fn is_being_written(&self) -> bool {
        let path = self.file(LOCK_FILE);
        let is_own = check_entry(&self.root, &path, EntryType::File).is_ok();
        let Some(file) = is_own.then(|| File::open(path).ok()).flatten() else {
            return false;
        };
        // If the lock was free, closing the file releases it again.
        matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
    }

    /// Creates the subfolders, and removes temporary files that a crash has left.
    ///
    /// # Errors
    /// If they cannot be created or removed.
    pub fn prepare(&self) -> Result<(), IoError> {
        for name in NUMBERED_FOLDERS {
            let path = self.file(name);
            if name != PROBLEM_FOLDER {
                fs::create_dir_all(&path).map_err(|error| IoError::write(&path, error))?;
            }
            if path.is_dir() {
                remove_leftovers(&path)?;
            }
        }
        remove_leftovers(&self.root)?;
        Ok(())
    }

    /// Writes the elements and other arrays that are constant during a run.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn write_topology(&self, model: &Model) -> Result<(), IoError> {
        topology_file(model).write(&self.file("topology.safetensors"), true)
    }

    /// Writes a frame.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_frame(
        &self,
        frame: u64,
        model: &Model,
        state: &State,
        step: Option<&Step>,
    ) -> Result<(), IoError> {
        let mut file = frame_file(model, state, step);
        file.set_metadata("frame", &frame.to_string());
        file.write(&self.frame(frame), false)
    }

    /// Reads a frame.
    ///
    /// # Errors
    /// If it is missing, damaged or has the number of another frame.
    pub fn read_frame(&self, frame: u64) -> Result<TensorFile, IoError> {
        let path = self.frame(frame);
        let file = TensorFile::read(&path)?;
        match file.metadata("frame") {
            Some(number) if number == frame.to_string() => Ok(file),
            number => {
                let number = number.unwrap_or("without a number");
                let reason = format!("it holds frame {number}");
                Err(IoError::damaged(&path, reason))
            }
        }
    }

    /// Writes the contact problem of a step.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_problem(&self, step: u64, captured: &CapturedProblem) -> Result<(), IoError> {
        let folder = self.file(PROBLEM_FOLDER);
        fs::create_dir_all(&folder).map_err(|error| IoError::write(&folder, error))?;
        write_atomically(&self.problem(step), &captured.to_bytes(), false)
    }

    /// Writes a checkpoint and removes those beyond `MAX_CHECKPOINTS`. Checkpoints of later steps
    /// are removed too: they are left from before a repair, and their logs were truncated.
    ///
    /// # Errors
    /// If it cannot be written. Older checkpoints are kept in that case.
    pub fn write_checkpoint(&self, state: &State, origin: &Origin) -> Result<PathBuf, IoError> {
        let mut file = TensorFile::new();
        file.set_metadata("step", &state.step.to_string());
        file.set_metadata("isa", &origin.isa);
        file.set_metadata("commit", &origin.commit);
        file.set_metadata("state_hash", &state.hash());
        for field in &FIELDS {
            put_array(&mut file, field.name, (field.get)(state));
        }
        let path = self.checkpoint(state.step);
        file.write(&path, true)?;
        let steps = self.checkpoints()?;
        let (kept, later) = steps.split_at(steps.partition_point(|step| *step <= state.step));
        let older = kept.iter().rev().skip(MAX_CHECKPOINTS);
        for step in older.chain(later) {
            remove_if_present(&self.checkpoint(*step))?;
        }
        Ok(path)
    }

    /// The steps that have checkpoints, ascending.
    ///
    /// # Errors
    /// If the folder cannot be listed.
    pub fn checkpoints(&self) -> Result<Vec<u64>, IoError> {
        self.numbered("checkpoints")
    }

    /// Numbers of the stored frames, ascending.
    ///
    /// # Errors
    /// If the folder cannot be listed.
    pub fn frames(&self) -> Result<Vec<u64>, IoError> {
        self.numbered("frames")
    }

    /// Steps with a captured contact problem, ascending.
    ///
    /// # Errors
    /// If the folder cannot be listed.
    pub fn problems(&self) -> Result<Vec<u64>, IoError> {
        self.numbered(PROBLEM_FOLDER)
    }

    pub(super) fn numbered(&self, folder: &str) -> Result<Vec<u64>, IoError> {
        let path = self.file(folder);
        let entries = match fs::read_dir(&path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(IoError::read(&path, error)),
        };
        let mut numbers = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| IoError::read(&path, error))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let stem = name.strip_suffix(".safetensors");
            let number: Option<u64> = stem.and_then(|stem| stem.parse().ok());
            let own = |number: &u64| numbered_name(folder, *number) == format!("{folder}/{name}");
            numbers.extend(number.filter(own));
        }
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// Reads a checkpoint of a run of this model, and its origin.
    ///
    /// # Errors
    /// If it is missing, damaged or of another scene.
    pub fn read_checkpoint(&self, step: u64, model: &Model) -> Result<(State, Origin), IoError> {
        let path = self.checkpoint(step);
        let file = TensorFile::read(&path)?;
        let mut state = State {
            step,
            ..State::default()
        };
        for field in &FIELDS {
            let name = field.name;
            let kind = (field.get)(&state);
            let array = read_array(&file, name, &kind)?;
            let count = match field.length {
                Length::Nodes => model.masses.len(),
                Length::Edges => model.edges(),
                Length::Any => array.len(),
                Length::As(other) => FIELDS
                    .iter()
                    .find(|field| field.name == other)
                    .map_or(0, |field| (field.get)(&state).len()),
            };
            if array.len() != count {
                let reason = format!("it has {} {name}, not {count}", array.len());
                return Err(IoError::damaged(&path, reason));
            }
            (field.set)(&mut state, array)
                .map_err(|reason| IoError::damaged(&path, format!("`{name}` has {reason}")))?;
        }
        if file.metadata("state_hash") != Some(state.hash().as_str()) {
            return Err(IoError::damaged(
                &path,
                "its `state_hash` is not the hash of its state",
            ));
        }
        let text = |key: &str| file.metadata(key).unwrap_or_default().to_owned();
        let origin = Origin {
            isa: text("isa"),
            commit: text("commit"),
        };
        Ok((state, origin))
    }

    /// Replaces a text file.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_text(&self, name: &str, text: &str) -> Result<(), IoError> {
        write_atomically(&self.file(name), text.as_bytes(), true)
    }

    /// Reads a text file.
    ///
    /// # Errors
    /// If it is missing or not text.
    pub fn read_text(&self, name: &str) -> Result<String, IoError> {
        let path = self.file(name);
        String::from_utf8(self.read(&path)?).map_err(|_| IoError::damaged(&path, "it is not text"))
    }
}

/// Stores the values of a field of a state; each 64-bit id as two 32-bit halves.
fn put_array(file: &mut TensorFile, name: &str, array: Array) {
    let count = array.len();
    match array {
        Array::Vectors(values) => file.put_f64(name, &[count, 3], flat(&values)),
        Array::Numbers(values) => file.put_f64(name, &[count], values),
        Array::Ids(ids) => {
            let halves = |id: u64| [(id >> 32) as u32 as i32, id as u32 as i32];
            file.put_i32(
                name,
                &[count, 2],
                ids.into_iter().flat_map(halves).collect(),
            );
        }
        Array::Bytes(values) => file.put_u8(name, &[count], values),
    }
}

/// Reads the values of a field, with the type of the array `kind`.
fn read_array(file: &TensorFile, name: &str, kind: &Array) -> Result<Array, IoError> {
    Ok(match kind {
        Array::Vectors(_) => {
            let vectors = file.f64(name)?.1.chunks_exact(3);
            Array::Vectors(vectors.map(DVec3::from_slice).collect())
        }
        Array::Numbers(_) => Array::Numbers(file.f64(name)?.1.to_vec()),
        Array::Ids(_) => {
            let join =
                |halves: &[i32]| (u64::from(halves[0] as u32) << 32) | u64::from(halves[1] as u32);
            Array::Ids(file.i32(name)?.1.chunks_exact(2).map(join).collect())
        }
        Array::Bytes(_) => Array::Bytes(file.u8(name)?.1.to_vec()),
    })
}

/// Path of a numbered file, relative to the folder of the run.
pub(super) fn numbered_name(folder: &str, number: u64) -> String {
    match folder {
        "checkpoints" => format!("{folder}/{number:09}.safetensors"),
        _ => format!("{folder}/{number:05}.safetensors"),
    }
}

/// Whether a run writes an entry of this name, or a temporary file of it, into its folder.
fn is_own(name: &str) -> bool {
    let name = final_name(name);
    name == INPUT_FOLDER || OWN_FILES.contains(&name) || NUMBERED_FOLDERS.contains(&name)
}

/// A text file that is only appended to.
#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    writer: BufWriter<File>,
}

impl Log {
    /// Opens a file for appending.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn append(path: PathBuf) -> Result<Log, IoError> {
        let file = OpenOptions::new().create(true).append(true).open(&path);
        match file {
            Ok(file) => Ok(Log {
                path,
                writer: BufWriter::with_capacity(1 << 16, file),
            }),
            Err(error) => Err(IoError::write(&path, error)),
        }
    }

    /// Appends a line.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn line(&mut self, line: &str) -> Result<(), IoError> {
        writeln!(self.writer, "{line}").map_err(|error| IoError::write(&self.path, error))
    }

    /// Writes the buffer to the file, and flushes the file to disk if `durable`.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn flush(&mut self, durable: bool) -> Result<(), IoError> {
        let result = self.writer.flush().and_then(|()| {
            if durable {
                self.writer.get_ref().sync_data()
            } else {
                Ok(())
            }
        });
        result.map_err(|error| IoError::write(&self.path, error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_held_lock_is_detected_without_creating_the_folder() {
        let place = tempfile::tempdir().unwrap();
        let folder = RunFolder::new(place.path().join("a"));
        assert!(!folder.is_being_written());
        assert!(!folder.root().exists());
        let lock = folder.lock().unwrap();
        // Also if this process holds it.
        assert!(folder.is_being_written());
        assert!(matches!(folder.lock(), Err(IoError::Busy { .. })));
        drop(lock);
        assert!(!folder.is_being_written());
        assert!(folder.lock().is_ok());
    }

    #[test]
    fn concurrent_status_queries_do_not_prevent_locking() {
        let place = tempfile::tempdir().unwrap();
        let folder = RunFolder::new(place.path());
        drop(folder.lock().unwrap());
        let done = std::sync::atomic::AtomicBool::new(false);
        let is_done = || done.load(std::sync::atomic::Ordering::Relaxed);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !is_done() {
                        let _ = folder.is_being_written();
                        std::thread::sleep(Duration::from_micros(20));
                    }
                });
            }
            let failures = (0..500).filter(|_| folder.lock().is_err()).count();
            done.store(true, std::sync::atomic::Ordering::Relaxed);
            assert_eq!(failures, 0);
        });
    }
}
