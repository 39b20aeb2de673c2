//! The folder of a run: what is in it, and how each file is written so that the folder opens
//! whatever the moment of a crash.
//!
//! `.lock` is the first file of a run, `manifest.json` the last that is written before it begins. Frames
//! and checkpoints appear whole or not at all; `run.jsonl` and `probes.csv` only grow, and are on
//! disk before a checkpoint that counts on them; a crash can tear their last line.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use glam::DVec3;
use reefknot_contact::file::problem::CapturedProblem;

use super::IoError;
use super::atomic::{final_name, remove_leftovers, write_atomically};
use super::copies::COPYING;
use super::frame::{frame_file, topology_file};
use super::input::{INPUTS, Input};
use super::tensors::TensorFile;
use crate::integrate::Step;
use crate::model::Model;
use crate::state::{Array, FIELDS, Length, State, flat};

/// Version of the folder's layout. 2: checkpoints with what solvers and integrators remember.
pub const FORMAT_VERSION: u64 = 2;

/// How many checkpoints are kept.
const CHECKPOINTS_KEPT: usize = 3;

/// The files that a run writes, except numbered ones and exports.
const OWN_FILES: [&str; 6] = [
    "manifest.json",
    COPYING,
    "scene.toml",
    "run.jsonl",
    "probes.csv",
    "topology.safetensors",
];

/// The folders of numbered files.
const NUMBERED: [&str; 3] = ["frames", "checkpoints", PROBLEMS];

/// The folder of contact problems, which is there only if some were captured.
const PROBLEMS: &str = "problems";

/// Held while a process writes. It is the first file of a run: what stands in a folder without it
/// and without a manifest was not written by a run.
const LOCK: &str = ".lock";

/// There while a run is removed, so that what is left of it is not taken for a run.
const REMOVING: &str = ".removing";

/// How long a lock is tried for, and how often: [`RunFolder::is_being_written`] holds it for microseconds, and
/// a look at a run must not keep another from starting.
const LOCK_PATIENCE: Duration = Duration::from_millis(100);
const LOCK_PAUSE: Duration = Duration::from_millis(5);

/// What the bits of a state depend on beside the scene.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Instruction set.
    pub isa: String,
    /// Commit of the program.
    pub commit: String,
}

/// What a folder holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contents {
    /// Nothing, the beginnings of a run that never took a step, or what is left of one that was
    /// being removed.
    Nothing,
    /// A run, perhaps a damaged one.
    Run,
    /// Something else, such as this file.
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
        self.file(&numbered_name(PROBLEMS, step))
    }

    /// What the folder holds.
    ///
    /// # Errors
    /// If it cannot be listed.
    pub fn contents(&self) -> Result<Contents, IoError> {
        let entries = match fs::read_dir(&self.root) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Contents::Nothing);
            }
            Err(error) => return Err(IoError::read(&self.root, error)),
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| IoError::read(&self.root, error))?;
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        let has = |name: &str| names.iter().any(|other| other == name);
        if has(REMOVING) {
            return Ok(Contents::Nothing);
        }
        let results = !self.frames()?.is_empty() || !self.checkpoints()?.is_empty();
        if results || (has("manifest.json") && (has(LOCK) || self.manifest().is_some())) {
            return Ok(Contents::Run);
        }
        let own = |name: &str| match name {
            LOCK | "export" => true,
            _ => has(LOCK) && is_own(name),
        };
        let foreign = names.iter().find(|name| !own(name));
        Ok(foreign.map_or(Contents::Nothing, |name| Contents::Foreign(name.clone())))
    }

    /// The manifest, if it is whole and that of a run: other programs have files of this name too.
    #[must_use]
    pub fn manifest(&self) -> Option<serde_json::Value> {
        let text = self.read_text("manifest.json").ok()?;
        let manifest: serde_json::Value = serde_json::from_str(&text).ok()?;
        manifest["format_version"].is_u64().then_some(manifest)
    }

    /// Keeps other processes from writing here for as long as the file is held; the system lets
    /// go of it when the process ends, however it ends.
    ///
    /// # Errors
    /// If another process has it, or the folder cannot be written.
    pub fn lock(&self) -> Result<File, IoError> {
        let path = self.file(LOCK);
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
                Err(TryLockError::WouldBlock) if began.elapsed() < LOCK_PATIENCE => {
                    std::thread::sleep(LOCK_PAUSE);
                }
                Err(TryLockError::WouldBlock) => {
                    let path = self.root.clone();
                    return Err(IoError::Busy { path });
                }
                // Some network file systems have no locks: then there is nothing to keep.
                Err(TryLockError::Error(_)) => return Ok(file),
            }
        }
    }

    /// Whether some process, perhaps this one, holds the lock. Neither makes nor keeps it.
    #[must_use]
    pub fn is_being_written(&self) -> bool {
        let Ok(file) = File::open(self.file(LOCK)) else {
            return false;
        };
        // Closing the file lets go of the lock, should it have been free.
        matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
    }

    /// Removes what a run has written, and nothing else; of its copies of files not those that the next run is
    /// built from.
    ///
    /// # Errors
    /// If a file cannot be removed.
    pub fn clear(&self, next: &[Input]) -> Result<(), IoError> {
        let removing = self.file(REMOVING);
        File::create(&removing).map_err(|error| IoError::write(&removing, error))?;
        self.clear_inputs(next)?;
        for name in OWN_FILES {
            remove_if_there(&self.file(name))?;
        }
        for folder in NUMBERED {
            for number in self.numbered(folder)? {
                remove_if_there(&self.file(&numbered_name(folder, number)))?;
            }
            let folder = self.file(folder);
            if folder.is_dir() {
                remove_leftovers(&folder)?;
            }
            // A folder that still holds something holds somebody else's.
            let _ = fs::remove_dir(&folder);
        }
        remove_if_there(&removing)
    }

    /// Makes the folders, and removes halves of files that a crash has left.
    ///
    /// # Errors
    /// If they cannot be made.
    pub fn prepare(&self) -> Result<(), IoError> {
        for name in NUMBERED {
            let path = self.file(name);
            if name != PROBLEMS {
                fs::create_dir_all(&path).map_err(|error| IoError::write(&path, error))?;
            }
            if path.is_dir() {
                remove_leftovers(&path)?;
            }
        }
        remove_leftovers(&self.root)?;
        Ok(())
    }

    /// Writes the parts that do not change during a run.
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
    /// If it is missing, damaged or another frame.
    pub fn read_frame(&self, frame: u64) -> Result<TensorFile, IoError> {
        let path = self.frame(frame);
        let file = TensorFile::read(&path)?;
        match file.metadata("frame") {
            Some(number) if number == frame.to_string() => Ok(file),
            number => {
                let number = number.unwrap_or("of no number");
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
        let folder = self.file(PROBLEMS);
        fs::create_dir_all(&folder).map_err(|error| IoError::write(&folder, error))?;
        write_atomically(&self.problem(step), &captured.to_bytes(), false)
    }

    /// Writes a checkpoint and removes the oldest beyond those kept. Later ones, which a repair went
    /// back behind, are removed too: their logs were cut off, and they would count as the newest.
    ///
    /// # Errors
    /// If it cannot be written; older ones are untouched then.
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
        let older = kept.iter().rev().skip(CHECKPOINTS_KEPT);
        for step in older.chain(later) {
            remove_if_there(&self.checkpoint(*step))?;
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

    /// The frames that are there, ascending.
    ///
    /// # Errors
    /// If the folder cannot be listed.
    pub fn frames(&self) -> Result<Vec<u64>, IoError> {
        self.numbered("frames")
    }

    fn numbered(&self, folder: &str) -> Result<Vec<u64>, IoError> {
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

    /// Reads a checkpoint of a run of this model; also where it was made.
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
                "its state does not have the hash it names",
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
        let bytes = fs::read(&path).map_err(|error| IoError::read(&path, error))?;
        String::from_utf8(bytes).map_err(|_| IoError::damaged(&path, "it is not text"))
    }
}

/// Stores the values of a field of a state; ids in two halves.
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

/// Reads the values of a field, of the same kind as an array.
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

/// The name of a numbered file, within the folder of the run.
fn numbered_name(folder: &str, number: u64) -> String {
    match folder {
        "checkpoints" => format!("{folder}/{number:09}.safetensors"),
        _ => format!("{folder}/{number:05}.safetensors"),
    }
}

/// Whether a run writes an entry of this name into its folder.
fn is_own(name: &str) -> bool {
    let name = final_name(name);
    name == INPUTS || OWN_FILES.contains(&name) || NUMBERED.contains(&name)
}

pub(super) fn remove_if_there(path: &Path) -> Result<(), IoError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(IoError::write(path, error))
        }
        _ => Ok(()),
    }
}

/// A text file that only grows.
#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    writer: BufWriter<File>,
}

impl Log {
    /// Opens a file to append to.
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

    /// Adds a line.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn line(&mut self, line: &str) -> Result<(), IoError> {
        writeln!(self.writer, "{line}").map_err(|error| IoError::write(&self.path, error))
    }

    /// Hands everything to the system, and to the disk if `durable`.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn flush(&mut self, durable: bool) -> Result<(), IoError> {
        let result = self.writer.flush().and_then(|()| match durable {
            true => self.writer.get_ref().sync_data(),
            false => Ok(()),
        });
        result.map_err(|error| IoError::write(&self.path, error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_at_the_lock_tells_who_writes_and_leaves_no_trace() {
        let place = tempfile::tempdir().unwrap();
        let folder = RunFolder::new(place.path().join("a"));
        assert!(!folder.is_being_written());
        assert!(!folder.root().exists());
        let lock = folder.lock().unwrap();
        // Also if it is this process.
        assert!(folder.is_being_written());
        assert!(matches!(folder.lock(), Err(IoError::Busy { .. })));
        drop(lock);
        assert!(!folder.is_being_written());
        assert!(folder.lock().is_ok());
    }

    #[test]
    fn looks_do_not_keep_a_run_from_starting() {
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
