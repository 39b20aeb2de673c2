//! Input files of a scene: meshes and mesh sequences, next to the scene file or shipped with the
//! program.
//!
//! A run stores a copy of each in `inputs/`, and its `scene.toml` names the copies, so that its
//! folder can be moved, checked and resumed without the original files.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use include_dir::{Dir, include_dir};
use xxhash_rust::xxh3::xxh3_128;

use super::IoError;
use crate::model::input::{InputFile, Source};
use crate::scene::problem::Place;
use crate::units::did_you_mean;

static MESHES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../assets/meshes");

/// Folder of the copies, in the folder of a run.
pub const INPUT_FOLDER: &str = "inputs";

/// Maximum size of an input file (bytes). The mesh of a larger file would not fit into memory.
const MAX_FILE_BYTES: u64 = 1 << 31;

/// Finds and reads the input files of a scene, and records them.
#[derive(Debug, Default)]
pub struct InputFiles {
    folder: PathBuf,
    /// Mesh files in memory, by the name that the scene uses.
    memory: BTreeMap<String, Arc<[u8]>>,
    /// Folders in the order of their first use.
    folders: Vec<PathBuf>,
    /// Files that were read, each once, with the fingerprint of their bytes.
    found: Vec<(FileKey, Source, u128)>,
    /// Values of the scene that name a file, or a pattern of file names.
    named: Vec<(Place, FileKey)>,
}

/// Identifies a file by the index of its folder and its name there.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FileKey {
    folder: usize,
    name: String,
}

/// Input files of a scene, with their names in the folder of a run.
#[derive(Debug, Default)]
pub struct Inputs {
    /// The files, each once.
    pub files: Vec<InputFile>,
    /// New values in the `scene.toml` of a run, for the values of the scene that name files.
    pub renamed: Vec<(Place, String)>,
}

impl InputFiles {
    /// No files yet. Names are those of meshes in memory, or paths relative to this folder.
    #[must_use]
    pub fn new(folder: &Path, memory: &BTreeMap<String, Arc<[u8]>>) -> InputFiles {
        InputFiles {
            folder: folder.to_path_buf(),
            memory: memory.clone(),
            ..InputFiles::default()
        }
    }

    /// The bytes of a file that a scene names.
    ///
    /// # Errors
    /// The cause and the remedy.
    pub fn read(&mut self, written: &str) -> Result<Vec<u8>, (String, String)> {
        let (source, bytes) = self.find(written)?;
        let stored = self.stored(&source, written);
        if !self.found.iter().any(|(known, ..)| *known == stored) {
            self.found.push((stored, source, xxh3_128(&bytes)));
        }
        Ok(bytes)
    }

    /// Finds a file in memory, on disk, or among the shipped ones, in this order.
    fn find(&self, written: &str) -> Result<(Source, Vec<u8>), (String, String)> {
        if let Some(bytes) = self.memory.get(written) {
            return Ok((Source::Memory(bytes.clone()), bytes.to_vec()));
        }
        let path = self.folder.join(written);
        let refused =
            |reason: String, advice| (format!("cannot read `{written}`: {reason}"), advice);
        match (std::fs::metadata(&path), MESHES.get_file(written)) {
            (Ok(facts), _) => {
                let bytes = read_file(&path, &facts);
                let bytes = bytes.map_err(|(reason, advice)| refused(reason, advice.to_owned()))?;
                Ok((Source::File(path), bytes))
            }
            (Err(error), Some(file)) if error.kind() == ErrorKind::NotFound => {
                Ok((Source::Shipped(file.contents()), file.contents().to_vec()))
            }
            (Err(error), _) => {
                let advice = match error.kind() {
                    ErrorKind::PermissionDenied => "allow reading it".to_owned(),
                    _ => advice(written, &path),
                };
                Err(refused(super::plain(&error), advice))
            }
        }
    }

    /// Records that a value of the scene names a file, or a pattern of file names, that was read.
    pub fn rename(&mut self, place: &Place, written: &str) {
        let path = self.folder.join(written);
        let shipped = MESHES.get_file(written).filter(|_| !path.exists());
        let source = match (self.memory.get(written), shipped) {
            (Some(bytes), _) => Source::Memory(bytes.clone()),
            (None, Some(file)) => Source::Shipped(file.contents()),
            (None, None) => Source::File(path),
        };
        let stored = self.stored(&source, written);
        self.named.push((place.clone(), stored));
    }

    fn stored(&mut self, source: &Source, written: &str) -> FileKey {
        let parent = match source {
            Source::File(path) => path.parent().unwrap_or(Path::new("")).to_path_buf(),
            Source::Shipped(_) => PathBuf::from("shipped meshes"),
            Source::Memory(_) => PathBuf::from("meshes in memory"),
        };
        let known = self.folders.iter().position(|folder| *folder == parent);
        let folder = known.unwrap_or_else(|| {
            self.folders.push(parent);
            self.folders.len() - 1
        });
        let name = Path::new(written).file_name().unwrap_or_default();
        let name = name.to_string_lossy().into_owned();
        FileKey { folder, name }
    }

    /// Assigns all files their names in the folder of a run.
    #[must_use]
    pub fn finish(self) -> Inputs {
        let prefixes = self.prefixes();
        let name = |stored: &FileKey| format!("{}{}", prefixes[stored.folder], stored.name);
        let files = self.found.iter().map(|(stored, source, digest)| InputFile {
            name: name(stored),
            source: source.clone(),
            digest: *digest,
        });
        let renamed = self.named.iter();
        Inputs {
            files: files.collect(),
            renamed: renamed
                .map(|(place, stored)| (place.clone(), format!("{INPUT_FOLDER}/{}", name(stored))))
                .collect(),
        }
    }

    /// Prefix of the file names of each folder. The first folder has none, so that a run's own
    /// copies keep their names. Others have a number with which no name of the first folder begins.
    fn prefixes(&self) -> Vec<String> {
        let first = self.found.iter().filter(|(stored, ..)| stored.folder == 0);
        let first: Vec<&str> = first.map(|(stored, ..)| stored.name.as_str()).collect();
        let prefixes = (2_u64..).map(|number| format!("{number}-"));
        let free = prefixes.filter(|prefix| !first.iter().any(|name| name.starts_with(prefix)));
        let mut all = vec![String::new()];
        all.extend(free.take(self.folders.len().saturating_sub(1)));
        all
    }

    /// Files that match a pattern with `#` for digits: number and path relative to the folder of
    /// the scene, ascending.
    ///
    /// # Errors
    /// The cause and the remedy.
    pub fn matching(&self, pattern: &str) -> Result<Vec<(u64, String)>, (String, String)> {
        let path = Path::new(pattern);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let Some((head, tail)) = split_pattern(&name) else {
            let message = format!("`{pattern}` has no place for a number");
            return Err((
                message,
                "write `#` for each digit, as in \"body.####.obj\"".into(),
            ));
        };
        let digits = name.matches('#').count();
        let folder = path.parent().unwrap_or(Path::new(""));
        let full = self.folder.join(folder);
        // A scene named without a folder, beside its sequence, has an empty path here.
        let full = if full.as_os_str().is_empty() {
            PathBuf::from(".")
        } else {
            full
        };
        let entries = std::fs::read_dir(&full).map_err(|error| {
            let reason = super::plain(&error);
            let message = format!("cannot read the folder of `{pattern}`: {reason}");
            (message, advice(pattern, &full))
        })?;
        let mut numbers = Vec::new();
        for entry in entries.flatten() {
            let file = entry.file_name().to_string_lossy().into_owned();
            let number = file
                .strip_prefix(head)
                .and_then(|rest| rest.strip_suffix(tail));
            let is_number =
                |text: &&str| text.len() >= digits && text.bytes().all(|b| b.is_ascii_digit());
            if let Some(number) = number.filter(is_number).and_then(|text| text.parse().ok()) {
                numbers.push((number, folder.join(file).to_string_lossy().into_owned()));
            }
        }
        numbers.sort();
        if numbers.is_empty() {
            let message = format!("there is no file `{pattern}`");
            return Err((message, advice(pattern, &full)));
        }
        Ok(numbers)
    }
}

/// The parts of a name before and after the digits; none if there are no digits, or apart.
fn split_pattern(name: &str) -> Option<(&str, &str)> {
    let first = name.find('#')?;
    let last = name.rfind('#')?;
    let all = name[first..=last].bytes().all(|byte| byte == b'#');
    all.then(|| (&name[..first], &name[last + 1..]))
}

fn advice(written: &str, path: &Path) -> String {
    let shipped = MESHES.files().filter_map(|file| file.path().to_str());
    let shipped: Vec<&str> = shipped.filter(|name| !name.ends_with(".md")).collect();
    let hint = did_you_mean(written, shipped.iter().copied());
    format!(
        "looked for {}; paths are relative to the folder of the scene file; \
         shipped meshes are {}{hint}",
        path.display(),
        shipped.join(", ")
    )
}

/// Bytes of a file, or the cause and the remedy.
fn read_file(path: &Path, facts: &Metadata) -> Result<Vec<u8>, (String, &'static str)> {
    if facts.is_dir() {
        return Err(("it is a folder".into(), "give a file in it"));
    }
    if !facts.is_file() {
        let advice = "give a file on a disk, which can be read more than once";
        return Err(("it is not a regular file".into(), advice));
    }
    if facts.len() > MAX_FILE_BYTES {
        let gigabytes = facts.len() as f64 / 1e9;
        let reason = format!("it has {gigabytes:.1} GB, more than can be read");
        return Err((reason, "give a mesh of at most 2 GB"));
    }
    std::fs::read(path).map_err(|error| (super::plain(&error), super::advice_on_reading(&error)))
}

impl InputFile {
    /// The bytes, as they were when the scene was built.
    ///
    /// # Errors
    /// If they cannot be read, or have changed.
    pub fn bytes(&self) -> Result<Vec<u8>, IoError> {
        let (path, bytes) = match &self.source {
            Source::Shipped(bytes) => return Ok(bytes.to_vec()),
            Source::Memory(bytes) => return Ok(bytes.to_vec()),
            Source::File(path) => {
                let bytes = std::fs::read(path).map_err(|error| IoError::read(path, error))?;
                (path, bytes)
            }
        };
        if xxh3_128(&bytes) != self.digest {
            return Err(IoError::damaged(path, "it has changed since it was read"));
        }
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: Place = Place {
        source: 0,
        range: 3..5,
    };

    #[test]
    fn equal_names_in_two_folders_stay_distinct_and_each_file_is_stored_once() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a", "b"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
            std::fs::write(folder.path().join(name).join("mesh.obj"), name).unwrap();
        }
        let mut files = InputFiles::new(folder.path(), &BTreeMap::new());
        assert_eq!(files.read("a/mesh.obj").unwrap(), b"a");
        assert_eq!(files.read("b/mesh.obj").unwrap(), b"b");
        assert_eq!(files.read("a/mesh.obj").unwrap(), b"a");
        files.read("bunny.obj").unwrap();
        files.rename(&PLACE, "b/mesh.obj");
        let inputs = files.finish();
        assert_eq!(names(&inputs), ["mesh.obj", "2-mesh.obj", "3-bunny.obj"]);
        assert_eq!(inputs.renamed, [(PLACE, "inputs/2-mesh.obj".to_owned())]);
        std::fs::write(folder.path().join("a/mesh.obj"), "other").unwrap();
        let error = inputs.files[0].bytes().unwrap_err().to_string();
        assert!(error.contains("has changed"), "{error}");
    }

    fn names(inputs: &Inputs) -> Vec<&str> {
        let names = inputs.files.iter().map(|input| input.name.as_str());
        names.collect()
    }

    #[test]
    fn copies_have_distinct_names_if_a_file_is_named_like_the_copy_of_another() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a/2-mesh.obj", "a/3-0001.obj", "b/mesh.obj", "c/0002.obj"] {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, name).unwrap();
        }
        let mut files = InputFiles::new(folder.path(), &BTreeMap::new());
        for name in ["a/2-mesh.obj", "b/mesh.obj", "c/0002.obj", "a/3-0001.obj"] {
            files.read(name).unwrap();
            files.rename(&PLACE, name);
        }
        let inputs = files.finish();
        // 2-mesh.obj exists already, and 3-0002.obj would be part of the sequence 3-####.obj.
        let expected = ["2-mesh.obj", "4-mesh.obj", "5-0002.obj", "3-0001.obj"];
        assert_eq!(names(&inputs), expected);
        let renamed = inputs.renamed.iter().map(|(_, name)| name.as_str());
        assert!(renamed.eq(expected.map(|name| format!("inputs/{name}"))));
    }

    #[test]
    fn the_error_of_a_missing_file_lists_the_shipped_meshes() {
        let mut files = InputFiles::new(Path::new("nowhere"), &BTreeMap::new());
        let (message, advice) = files.read("buny.obj").unwrap_err();
        assert!(message.starts_with("cannot read `buny.obj`: "), "{message}");
        assert!(advice.contains("bunny_coarse.msh"), "{advice}");
        assert!(advice.contains("did you mean `bunny.obj`"), "{advice}");
        let mut here = InputFiles::new(Path::new("."), &BTreeMap::new());
        assert!(here.read("..").unwrap_err().0.ends_with("it is a folder"));
        let (message, advice) = here.read("/dev/null").unwrap_err();
        assert!(message.ends_with("it is not a regular file"), "{message}");
        // The list of shipped meshes does not help with a device.
        assert!(!advice.contains("bunny"), "{advice}");
    }

    #[test]
    fn files_of_a_pattern_are_sorted_by_number() {
        let folder = tempfile::tempdir().unwrap();
        for name in [
            "body.0010.obj",
            "body.0009.obj",
            "body.10000.obj",
            "body.3.obj",
            "body.x.obj",
        ] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let files = InputFiles::new(folder.path(), &BTreeMap::new());
        let found = files.matching("body.####.obj").unwrap();
        let numbers: Vec<u64> = found.iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers, [9, 10, 10000]);
        assert!(
            files
                .matching("body.obj")
                .unwrap_err()
                .0
                .contains("no place")
        );
        assert!(
            files
                .matching("leg.##.obj")
                .unwrap_err()
                .0
                .contains("no file")
        );
    }
}
