//! Copies of the input files of a run, in its folder.
//!
//! The manifest has a fingerprint of each file. It identifies damaged copies, and input files that
//! were changed or added since the run was started.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_128;

use super::IoError;
use super::atomic::{flush_to_disk, remove_if_present, remove_leftovers, write_atomically};
use super::folder::{COPY_LIST, RunFolder};
use super::input::INPUT_FOLDER;
use crate::model::input::{InputFile, Source};

impl RunFolder {
    /// Path of the copy of an input file.
    #[must_use]
    pub fn input(&self, name: &str) -> PathBuf {
        self.file(INPUT_FOLDER).join(name)
    }

    /// Names and fingerprints of the input files, from the manifest.
    fn recorded_inputs(&self) -> Option<BTreeMap<String, String>> {
        serde_json::from_value(self.manifest()?["inputs"].take()).ok()
    }

    /// Removes the copies of the run, except those that the next run is built from.
    pub(super) fn clear_inputs(&self, next: &[InputFile]) -> Result<(), IoError> {
        let mut names: Vec<String> = match self.recorded_inputs() {
            Some(recorded) => recorded.into_keys().collect(),
            None => Vec::new(),
        };
        let copying = self.read_text(COPY_LIST).unwrap_or_default();
        names.extend(serde_json::from_str::<Vec<String>>(&copying).unwrap_or_default());
        // A run never writes a name with a folder in it.
        names.retain(|name| {
            Path::new(name)
                .file_name()
                .is_some_and(|file| file == &**name)
        });
        for path in names.iter().map(|name| self.input(name)) {
            if !next.iter().any(|input| input.is_at(&path)) {
                remove_if_present(&path)?;
            }
        }
        let folder = self.file(INPUT_FOLDER);
        if folder.is_dir() {
            remove_leftovers(&folder)?;
        }
        // A folder with files of other programs is not empty, and stays.
        let _ = fs::remove_dir(&folder);
        Ok(())
    }

    /// Copies the input files of a scene. Returns the copies that were missing or damaged.
    ///
    /// # Errors
    /// If an input file cannot be read any more, or a copy cannot be written.
    pub fn write_inputs(&self, inputs: &[InputFile]) -> Result<Vec<PathBuf>, IoError> {
        if inputs.is_empty() {
            return Ok(Vec::new());
        }
        let folder = self.file(INPUT_FOLDER);
        if self.manifest().is_none() {
            let names: Vec<&str> = inputs.iter().map(|input| input.name.as_str()).collect();
            self.write_text(COPY_LIST, &serde_json::json!(names).to_string())?;
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

    /// Removes the list of copies without a manifest, once the manifest names them.
    ///
    /// # Errors
    /// If the list cannot be removed.
    pub fn confirm_inputs(&self) -> Result<(), IoError> {
        remove_if_present(&self.file(COPY_LIST))
    }

    /// Whether any of these input files is itself a copy in this folder.
    #[must_use]
    pub fn contains_inputs(&self, inputs: &[InputFile]) -> bool {
        let is_copy = |input: &InputFile| input.is_at(&self.input(&input.name));
        inputs.iter().any(is_copy)
    }

    /// First difference between these input files and those of the run, as a sentence.
    ///
    /// # Errors
    /// If there is no manifest, and a copy exists but cannot be read.
    pub fn input_difference(&self, inputs: &[InputFile]) -> Result<Option<String>, IoError> {
        let Some(mut recorded) = self.recorded_inputs() else {
            return self.copy_difference(inputs);
        };
        for input in inputs {
            match recorded.remove(&input.name) {
                None => {
                    return Ok(Some(format!("{} was added after its start", input.shown())));
                }
                Some(digest) if digest != input.fingerprint() => {
                    return Ok(Some(format!(
                        "{} has changed since its start",
                        input.shown()
                    )));
                }
                Some(_) => {}
            }
        }
        let missing = recorded.into_keys().next();
        Ok(missing.map(|name| format!("the input file that was copied as {name} is missing")))
    }

    /// The same without a manifest, by the copies. Missing copies are no difference.
    fn copy_difference(&self, inputs: &[InputFile]) -> Result<Option<String>, IoError> {
        for input in inputs {
            let path = self.input(&input.name);
            match fs::read(&path) {
                Ok(stored) if xxh3_128(&stored) != input.digest => {
                    return Ok(Some(format!(
                        "{} has changed since its start",
                        input.shown()
                    )));
                }
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(IoError::read(&path, error));
                }
                _ => {}
            }
        }
        Ok(None)
    }

    /// A message for each missing or damaged copy.
    #[must_use]
    pub fn damaged_inputs(&self) -> Vec<String> {
        let recorded = self.recorded_inputs().unwrap_or_default();
        let problem = |(name, digest): (String, String)| {
            let path = self.input(&name);
            let advice = "restore the file, or use --resume with the scene file that the run was \
                          started with";
            match self.read(&path) {
                Ok(bytes) if fingerprint(xxh3_128(&bytes)) == digest => None,
                Ok(_) => Some(format!(
                    "{} is not the file that the run has copied; {advice}",
                    path.display()
                )),
                Err(IoError::Read { source, .. }) => Some(format!(
                    "cannot read {}: {}; {advice}",
                    path.display(),
                    super::plain(&source)
                )),
                Err(error) => Some(error.to_string()),
            }
        };
        recorded.into_iter().filter_map(problem).collect()
    }
}

impl InputFile {
    /// Its location, for a message.
    fn shown(&self) -> String {
        match &self.source {
            Source::File(path) => path.display().to_string(),
            Source::Shipped(_) => format!("{} of this build", self.name),
            Source::Memory(_) => format!("the mesh {} in memory", self.name),
        }
    }

    /// Whether it is the file at this path.
    fn is_at(&self, path: &Path) -> bool {
        let Source::File(own) = &self.source else {
            return false;
        };
        matches!((own.canonicalize(), path.canonicalize()), (Ok(own), Ok(path)) if own == path)
    }

    /// The fingerprint of its bytes, in hexadecimal.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        fingerprint(self.digest)
    }
}

fn fingerprint(digest: u128) -> String {
    format!("{digest:032x}")
}
