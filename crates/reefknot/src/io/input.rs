//! The files that a scene is built from: meshes and sequences of them, beside the scene or shipped with the program.
//!
//! A run keeps a copy of each in `inputs/`, and its `scene.toml` names the copies, so that its folder can be
//! moved, checked and continued without the rest.

use std::fs::Metadata;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use include_dir::{Dir, include_dir};
use xxhash_rust::xxh3::xxh3_128;

use super::IoError;
use crate::scene::problem::Place;
use crate::units::did_you_mean;

static MESHES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../assets/meshes");

/// The folder of a run's copies.
pub const INPUTS: &str = "inputs";

/// Larger files are refused: no mesh of such a size could be simulated.
const LARGEST: u64 = 1 << 31;

/// Where the bytes of a file are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// On disk.
    File(PathBuf),
    /// In the program.
    Shipped(&'static [u8]),
}

/// A file that a scene was built from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// Its name in `inputs/`.
    pub name: String,
    /// Where it was found.
    pub source: Source,
    /// Fingerprint of its bytes.
    pub digest: u128,
}

/// Finds and reads files, and remembers which.
#[derive(Debug, Default)]
pub struct Files {
    folder: PathBuf,
    /// Folders in the order of their first use.
    folders: Vec<PathBuf>,
    /// What was read, each file once.
    found: Vec<(Stored, Source, u128)>,
    /// The values of the scene that name a file, or a pattern of file names.
    named: Vec<(Place, Stored)>,
}

/// A file by its folder, as an index, and its name there.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stored {
    folder: usize,
    name: String,
}

/// What a scene was built from.
#[derive(Debug, Default)]
pub struct Inputs {
    /// The files, each once.
    pub files: Vec<Input>,
    /// What the values of the scene that name files become in a run's `scene.toml`.
    pub renamed: Vec<(Place, String)>,
}

impl Files {
    /// Paths are from this folder.
    #[must_use]
    pub fn new(folder: &Path) -> Files {
        Files {
            folder: folder.to_path_buf(),
            ..Files::default()
        }
    }

    /// The bytes of a file that a scene names.
    ///
    /// # Errors
    /// A sentence on what is wrong, and what to do.
    pub fn read(&mut self, written: &str) -> Result<Vec<u8>, (String, String)> {
        let path = self.folder.join(written);
        let refused =
            |reason: String, advice| (format!("cannot read `{written}`: {reason}"), advice);
        let (source, bytes) = match (std::fs::metadata(&path), MESHES.get_file(written)) {
            (Ok(facts), _) => {
                let bytes = read_file(&path, &facts);
                let bytes = bytes.map_err(|(reason, advice)| refused(reason, advice.to_owned()))?;
                (Source::File(path), bytes)
            }
            (Err(error), Some(file)) if error.kind() == ErrorKind::NotFound => {
                (Source::Shipped(file.contents()), file.contents().to_vec())
            }
            (Err(error), _) => {
                let advice = match error.kind() {
                    ErrorKind::PermissionDenied => "allow reading it".to_owned(),
                    _ => advice(written, &path),
                };
                return Err(refused(super::plain(&error), advice));
            }
        };
        let stored = self.stored(&source, written);
        if !self.found.iter().any(|(known, ..)| *known == stored) {
            self.found.push((stored, source, xxh3_128(&bytes)));
        }
        Ok(bytes)
    }

    /// Remembers that a value of the scene names a file, or a pattern of file names, that was read.
    pub fn rename(&mut self, place: &Place, written: &str) {
        let shipped = MESHES
            .get_file(written)
            .filter(|_| !self.folder.join(written).exists());
        let source = match shipped {
            Some(file) => Source::Shipped(file.contents()),
            None => Source::File(self.folder.join(written)),
        };
        let stored = self.stored(&source, written);
        self.named.push((place.clone(), stored));
    }

    fn stored(&mut self, source: &Source, written: &str) -> Stored {
        let parent = match source {
            Source::File(path) => path.parent().unwrap_or(Path::new("")).to_path_buf(),
            Source::Shipped(_) => PathBuf::from("shipped meshes"),
        };
        let known = self.folders.iter().position(|folder| *folder == parent);
        let folder = known.unwrap_or_else(|| {
            self.folders.push(parent);
            self.folders.len() - 1
        });
        let name = Path::new(written).file_name().unwrap_or_default();
        let name = name.to_string_lossy().into_owned();
        Stored { folder, name }
    }

    /// Gives all files their names in the folder of a run.
    #[must_use]
    pub fn finish(self) -> Inputs {
        let prefixes = self.prefixes();
        let name = |stored: &Stored| format!("{}{}", prefixes[stored.folder], stored.name);
        let files = self.found.iter().map(|(stored, source, digest)| Input {
            name: name(stored),
            source: source.clone(),
            digest: *digest,
        });
        let renamed = self.named.iter();
        Inputs {
            files: files.collect(),
            renamed: renamed
                .map(|(place, stored)| (place.clone(), format!("{INPUTS}/{}", name(stored))))
                .collect(),
        }
    }

    /// What comes before the names of each folder's files: nothing for those of the first, so that a run's own
    /// copies keep their names; a number for others, which no name of the first begins with.
    fn prefixes(&self) -> Vec<String> {
        let first = self.found.iter().filter(|(stored, ..)| stored.folder == 0);
        let first: Vec<&str> = first.map(|(stored, ..)| stored.name.as_str()).collect();
        let prefixes = (2_u64..).map(|number| format!("{number}-"));
        let free = prefixes.filter(|prefix| !first.iter().any(|name| name.starts_with(prefix)));
        let mut all = vec![String::new()];
        all.extend(free.take(self.folders.len().saturating_sub(1)));
        all
    }

    /// The files of a pattern with `#` for digits: number and path as the scene would write it, ascending.
    ///
    /// # Errors
    /// A sentence on what is wrong, and what to do.
    pub fn numbered(&self, pattern: &str) -> Result<Vec<(u64, String)>, (String, String)> {
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
        match numbers.is_empty() {
            true => Err((
                format!("there is no file `{pattern}`"),
                advice(pattern, &full),
            )),
            false => Ok(numbers),
        }
    }
}

/// What stands before and after the digits.
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
        "looked for {}; paths are from the folder of the scene file; shipped meshes are {}{hint}",
        path.display(),
        shipped.join(", ")
    )
}

/// Reads a file, or says what is wrong and what to do.
fn read_file(path: &Path, facts: &Metadata) -> Result<Vec<u8>, (String, &'static str)> {
    if facts.is_dir() {
        return Err(("it is a folder".into(), "give a file in it"));
    }
    if !facts.is_file() {
        let advice = "give a file on a disk, which can be read more than once";
        return Err(("it is no file".into(), advice));
    }
    if facts.len() > LARGEST {
        let gigabytes = facts.len() as f64 / 1e9;
        let reason = format!("it has {gigabytes:.1} GB, more than can be read");
        return Err((reason, "give a mesh of at most 2 GB"));
    }
    std::fs::read(path).map_err(|error| (super::plain(&error), super::advice_on_reading(&error)))
}

impl Input {
    /// The bytes, as they were when the scene was built.
    ///
    /// # Errors
    /// If they cannot be read, or are others now.
    pub fn bytes(&self) -> Result<Vec<u8>, IoError> {
        let (path, bytes) = match &self.source {
            Source::Shipped(bytes) => return Ok(bytes.to_vec()),
            Source::File(path) => {
                let bytes = std::fs::read(path).map_err(|error| IoError::read(path, error))?;
                (path, bytes)
            }
        };
        match xxh3_128(&bytes) == self.digest {
            true => Ok(bytes),
            false => Err(IoError::damaged(path, "it has changed since it was read")),
        }
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
    fn files_of_two_folders_keep_apart_and_each_is_stored_once() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a", "b"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
            std::fs::write(folder.path().join(name).join("mesh.obj"), name).unwrap();
        }
        let mut files = Files::new(folder.path());
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
    fn a_file_that_is_called_like_the_copy_of_another_does_not_take_its_place() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a/2-mesh.obj", "a/3-0001.obj", "b/mesh.obj", "c/0002.obj"] {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, name).unwrap();
        }
        let mut files = Files::new(folder.path());
        for name in ["a/2-mesh.obj", "b/mesh.obj", "c/0002.obj", "a/3-0001.obj"] {
            files.read(name).unwrap();
            files.rename(&PLACE, name);
        }
        let inputs = files.finish();
        // 2- would be another's name, and 3-0002.obj one of the sequence 3-####.obj.
        let expected = ["2-mesh.obj", "4-mesh.obj", "5-0002.obj", "3-0001.obj"];
        assert_eq!(names(&inputs), expected);
        let renamed = inputs.renamed.iter().map(|(_, name)| name.as_str());
        assert!(renamed.eq(expected.map(|name| format!("inputs/{name}"))));
    }

    #[test]
    fn a_missing_file_names_the_shipped_ones() {
        let mut files = Files::new(Path::new("nowhere"));
        let (message, advice) = files.read("buny.obj").unwrap_err();
        assert!(message.starts_with("cannot read `buny.obj`: "), "{message}");
        assert!(advice.contains("bunny_coarse.msh"), "{advice}");
        assert!(advice.contains("did you mean `bunny.obj`"), "{advice}");
        let mut here = Files::new(Path::new("."));
        assert!(here.read("..").unwrap_err().0.ends_with("it is a folder"));
        let (message, advice) = here.read("/dev/null").unwrap_err();
        assert!(message.ends_with("it is no file"), "{message}");
        // Nobody who names a device looks for a bunny.
        assert!(!advice.contains("bunny"), "{advice}");
    }

    #[test]
    fn numbered_files_are_found_in_the_order_of_their_numbers() {
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
        let files = Files::new(folder.path());
        let found = files.numbered("body.####.obj").unwrap();
        let numbers: Vec<u64> = found.iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers, [9, 10, 10000]);
        assert!(
            files
                .numbered("body.obj")
                .unwrap_err()
                .0
                .contains("no place")
        );
        assert!(
            files
                .numbered("leg.##.obj")
                .unwrap_err()
                .0
                .contains("no file")
        );
    }
}
