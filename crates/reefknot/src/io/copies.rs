//! The copies of the files that a run was built from, in its folder.
//!
//! The manifest has a fingerprint of each, so that a copy that was damaged, and a file that was changed or came
//! later, are not taken for what the run began with.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_128;

use super::IoError;
use super::atomic::{flush_to_disk, remove_leftovers, write_atomically};
use super::folder::{RunFolder, remove_if_there};
use super::input::{INPUTS, Input, Source};

/// Names the copies of a run that has no manifest yet, so that they are removed if it never gets one.
pub(super) const COPYING: &str = ".copying";

impl RunFolder {
    /// The file of a copy.
    #[must_use]
    pub fn input(&self, name: &str) -> PathBuf {
        self.file(INPUTS).join(name)
    }

    /// What the manifest says that the run was built from: names and fingerprints.
    fn recorded_inputs(&self) -> Option<BTreeMap<String, String>> {
        serde_json::from_value(self.manifest()?["inputs"].take()).ok()
    }

    /// Removes the copies that the run has made, except those that the next one is built from.
    pub(super) fn clear_inputs(&self, next: &[Input]) -> Result<(), IoError> {
        let mut names: Vec<String> = match self.recorded_inputs() {
            Some(recorded) => recorded.into_keys().collect(),
            None => Vec::new(),
        };
        let copying = self.read_text(COPYING).unwrap_or_default();
        names.extend(serde_json::from_str::<Vec<String>>(&copying).unwrap_or_default());
        // A name with a folder in it was not written by a run.
        names.retain(|name| {
            Path::new(name)
                .file_name()
                .is_some_and(|file| file == &**name)
        });
        for path in names.iter().map(|name| self.input(name)) {
            if !next.iter().any(|input| input.is_at(&path)) {
                remove_if_there(&path)?;
            }
        }
        let folder = self.file(INPUTS);
        if folder.is_dir() {
            remove_leftovers(&folder)?;
        }
        // A folder that still holds something holds somebody else's.
        let _ = fs::remove_dir(&folder);
        Ok(())
    }

    /// Keeps copies of the files that a scene was built from. Returns those that were not there, or damaged.
    ///
    /// # Errors
    /// If one cannot be read any more, or not be written.
    pub fn write_inputs(&self, inputs: &[Input]) -> Result<Vec<PathBuf>, IoError> {
        if inputs.is_empty() {
            return Ok(Vec::new());
        }
        let folder = self.file(INPUTS);
        if self.manifest().is_none() {
            let names: Vec<&str> = inputs.iter().map(|input| input.name.as_str()).collect();
            self.write_text(COPYING, &serde_json::json!(names).to_string())?;
        }
        fs::create_dir_all(&folder).map_err(|error| IoError::write(&folder, error))?;
        remove_leftovers(&folder)?;
        let mut written = Vec::new();
        for input in inputs {
            let path = self.input(&input.name);
            if !fs::read(&path).is_ok_and(|stored| xxh3_128(&stored) == input.digest) {
                write_atomically(&path, &input.bytes()?, false)?;
                written.push(path);
            }
        }
        flush_to_disk(&folder, &written)?;
        Ok(written)
    }

    /// Says that the manifest names the copies now.
    ///
    /// # Errors
    /// If that cannot be written.
    pub fn keep_inputs(&self) -> Result<(), IoError> {
        remove_if_there(&self.file(COPYING))
    }

    /// Whether some of these files are the copies themselves.
    #[must_use]
    pub fn holds(&self, inputs: &[Input]) -> bool {
        let is_copy = |input: &Input| input.is_at(&self.input(&input.name));
        inputs.iter().any(is_copy)
    }

    /// How these files are others than those that the run was built from, in a sentence.
    ///
    /// # Errors
    /// If there is no manifest, and a copy is there but cannot be read.
    pub fn other_input(&self, inputs: &[Input]) -> Result<Option<String>, IoError> {
        let Some(mut recorded) = self.recorded_inputs() else {
            return self.other_copy(inputs);
        };
        for input in inputs {
            match recorded.remove(&input.name) {
                None => {
                    return Ok(Some(format!(
                        "{} was not there when it began",
                        input.shown()
                    )));
                }
                Some(digest) if digest != input.fingerprint() => {
                    return Ok(Some(format!("{} has changed since", input.shown())));
                }
                Some(_) => {}
            }
        }
        let gone = recorded.into_keys().next();
        Ok(gone.map(|name| format!("the file that it has copied as {name} is missing")))
    }

    /// The same where the manifest is lost: copies that are missing do not count.
    fn other_copy(&self, inputs: &[Input]) -> Result<Option<String>, IoError> {
        for input in inputs {
            let path = self.input(&input.name);
            match fs::read(&path) {
                Ok(stored) if xxh3_128(&stored) != input.digest => {
                    return Ok(Some(format!("{} has changed since", input.shown())));
                }
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(IoError::read(&path, error));
                }
                _ => {}
            }
        }
        Ok(None)
    }

    /// What is wrong with the copies, in a sentence for each.
    #[must_use]
    pub fn bad_inputs(&self) -> Vec<String> {
        let recorded = self.recorded_inputs().unwrap_or_default();
        let look = |(name, digest): (String, String)| {
            let path = self.input(&name);
            let advice = "put the file back, or continue the run from the scene that it began with, with --resume";
            match fs::read(&path) {
                Ok(bytes) if fingerprint(xxh3_128(&bytes)) == digest => None,
                Ok(_) => Some(format!(
                    "{} is not the file that the run has copied; {advice}",
                    path.display()
                )),
                Err(error) => Some(format!(
                    "cannot read {}: {}; {advice}",
                    path.display(),
                    super::plain(&error)
                )),
            }
        };
        recorded.into_iter().filter_map(look).collect()
    }
}

impl Input {
    /// Where it was found, for a message.
    fn shown(&self) -> String {
        match &self.source {
            Source::File(path) => path.display().to_string(),
            Source::Shipped(_) => format!("{} of this build", self.name),
        }
    }

    /// Whether it was found at this path.
    fn is_at(&self, path: &Path) -> bool {
        let Source::File(own) = &self.source else {
            return false;
        };
        matches!((own.canonicalize(), path.canonicalize()), (Ok(own), Ok(path)) if own == path)
    }

    /// The fingerprint of its bytes, as text.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        fingerprint(self.digest)
    }
}

fn fingerprint(digest: u128) -> String {
    format!("{digest:032x}")
}
