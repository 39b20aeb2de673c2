//! Atomic replacement of files.
//!
//! The bytes are written to a temporary file in the same folder, which is renamed over the old
//! file: a reader or a crash sees the complete old file or the complete new one. A *durable* write
//! also survives a power cut, because file and folder are flushed to disk. That takes milliseconds,
//! so exports are not durable, and frames are flushed only before the next checkpoint.

use super::IoError;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Ending of the names of temporary files.
const TEMPORARY_SUFFIX: &str = ".tmp";

/// Writes `bytes` to the file `path`, replacing an earlier one atomically.
///
/// On failure the earlier file is unchanged, and the temporary file is removed.
///
/// # Errors
/// [`IoError::Write`] with `path`, also if the temporary file failed.
pub fn write_atomically(path: &Path, bytes: &[u8], durable: bool) -> Result<(), IoError> {
    let mut file = AtomicFile::create(path)?;
    file.write_all(bytes)
        .map_err(|error| IoError::write(path, error))?;
    file.finish(durable)
}

/// A file that is written piece by piece, and replaces an earlier one atomically by
/// [`AtomicFile::finish`]. If it is dropped before, the temporary file is removed.
#[derive(Debug)]
pub struct AtomicFile {
    path: PathBuf,
    temporary: PathBuf,
    file: File,
    is_finished: bool,
}

impl AtomicFile {
    /// Creates the temporary file for `path`.
    ///
    /// # Errors
    /// [`IoError::Write`] with `path` if its folder cannot be written.
    pub fn create(path: &Path) -> Result<AtomicFile, IoError> {
        let failed = |error| IoError::write(path, error);
        let temporary = temporary_path(path).map_err(failed)?;
        Ok(AtomicFile {
            file: File::create(&temporary).map_err(failed)?,
            path: path.to_path_buf(),
            temporary,
            is_finished: false,
        })
    }

    /// Renames the temporary file to its path; `durable` makes it survive a power cut.
    ///
    /// # Errors
    /// [`IoError::Write`] with its path. The earlier file is unchanged, unless only the folder
    /// could not be flushed.
    pub fn finish(mut self, durable: bool) -> Result<(), IoError> {
        let failed = |error| IoError::write(&self.path, error);
        if durable {
            self.file.sync_all().map_err(failed)?;
        }
        fs::rename(&self.temporary, &self.path).map_err(failed)?;
        if durable {
            flush_folder(folder_of(&self.path)).map_err(failed)?;
        }
        self.is_finished = true;
        Ok(())
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if !self.is_finished {
            // The error that prevented the end is reported, not this one.
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

/// Flushes files that were written earlier, all in one folder, so that they survive a power cut.
///
/// # Errors
/// [`IoError::Write`] with the file or folder that cannot be flushed.
pub fn flush_to_disk(folder: &Path, files: &[PathBuf]) -> Result<(), IoError> {
    for path in files {
        let flushed = File::open(path).and_then(|file| file.sync_all());
        flushed.map_err(|error| IoError::write(path, error))?;
    }
    flush_folder(folder).map_err(|error| IoError::write(folder, error))
}

/// Removes the temporary files that a killed process left in `folder`, and returns their number.
///
/// The folder must be locked: a process that is still writing there would lose its file.
///
/// # Errors
/// [`IoError::Read`] if the folder cannot be listed, [`IoError::Write`] if a file cannot be
/// removed.
pub fn remove_leftovers(folder: &Path) -> Result<usize, IoError> {
    // Other programs have files that end in .tmp too: only names with a process number match.
    remove_files(folder, |name| final_name(name) != name)
}

/// Removes the files (not the folders) of `folder` whose names are `unwanted`.
pub(super) fn remove_files(
    folder: &Path,
    unwanted: impl Fn(&str) -> bool,
) -> Result<usize, IoError> {
    let cannot_list = |error| IoError::read(folder, error);
    let mut removed = 0;
    for entry in fs::read_dir(folder).map_err(cannot_list)? {
        let entry = entry.map_err(cannot_list)?;
        let is_file = entry.file_type().map_err(cannot_list)?.is_file();
        if is_file && entry.file_name().to_str().is_some_and(&unwanted) {
            let path = entry.path();
            fs::remove_file(&path).map_err(|error| IoError::write(&path, error))?;
            removed += 1;
        }
    }
    Ok(removed)
}

/// Removes a file that may be missing.
pub(super) fn remove_if_present(path: &Path) -> Result<(), IoError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(IoError::write(path, error)),
        _ => Ok(()),
    }
}

/// `NAME.PROCESS.tmp` beside `path`. The number of the process keeps temporary files of two
/// processes apart.
fn temporary_path(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or(io::ErrorKind::IsADirectory)?;
    let mut temporary = OsString::from(name);
    temporary.push(format!(".{}{TEMPORARY_SUFFIX}", std::process::id()));
    Ok(path.with_file_name(temporary))
}

/// Final name of the temporary file `name`; any other name unchanged.
pub(super) fn final_name(name: &str) -> &str {
    let without_suffix = name.strip_suffix(TEMPORARY_SUFFIX);
    match without_suffix.and_then(|name| name.rsplit_once('.')) {
        Some((name, process)) if process.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => name,
    }
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Flushes a folder, which stores the names of its files.
#[cfg(unix)]
fn flush_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Other systems cannot open a folder as a file; their file systems journal the rename.
#[cfg(not(unix))]
fn flush_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_replaced_without_leftovers() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.bin");
        for (bytes, durable) in [
            (&b"first"[..], false),
            (b"second, longer", true),
            (b"", true),
        ] {
            write_atomically(&path, bytes, durable).unwrap();
            assert_eq!(fs::read(&path).unwrap(), bytes);
        }
        assert_eq!(names(folder.path()), ["a.bin"]);
    }

    #[test]
    fn the_error_of_a_missing_folder_names_the_path() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("absent").join("a.bin");
        let message = write_atomically(&path, b"x", true).unwrap_err().to_string();
        assert!(
            message.contains(&format!("cannot write {}: ", path.display())),
            "{message}"
        );
        assert!(message.contains("--out"), "{message}");
    }

    #[test]
    fn the_error_of_a_file_instead_of_a_folder_names_the_path() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, b"x").unwrap();
        let path = file.join("a.bin");
        let message = write_atomically(&path, b"x", false)
            .unwrap_err()
            .to_string();
        assert!(message.contains(&path.display().to_string()), "{message}");
    }

    #[test]
    fn a_failed_rename_keeps_the_old_file_and_removes_the_temporary_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("occupied");
        fs::create_dir(&path).unwrap();
        fs::write(path.join("inside"), b"kept").unwrap();
        assert!(write_atomically(&path, b"x", false).is_err());
        assert_eq!(fs::read(path.join("inside")).unwrap(), b"kept");
        assert_eq!(names(folder.path()), ["occupied"]);
    }

    #[test]
    fn an_unfinished_file_leaves_the_old_one_unchanged() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.bin");
        write_atomically(&path, b"old", false).unwrap();
        let mut file = AtomicFile::create(&path).unwrap();
        file.write_all(b"ne").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        drop(file);
        assert_eq!(names(folder.path()), ["a.bin"]);
        let mut file = AtomicFile::create(&path).unwrap();
        file.write_all(b"new").unwrap();
        file.finish(false).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(names(folder.path()), ["a.bin"]);
    }

    #[test]
    fn a_path_without_a_file_name_is_an_error() {
        assert!(write_atomically(Path::new(".."), b"x", false).is_err());
    }

    #[test]
    fn the_final_name_is_recovered_from_the_temporary_one() {
        let temporary = temporary_path(Path::new("folder/a.0001.obj")).unwrap();
        let name = temporary.file_name().unwrap().to_str().unwrap();
        assert_eq!(final_name(name), "a.0001.obj");
        for other in ["a.0001.obj", "a.tmp", "a.b.tmp", ".tmp"] {
            assert_eq!(final_name(other), other);
        }
    }

    #[test]
    fn only_leftovers_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a.bin", "a.bin.12.tmp", "notes.tmp", "tmp"] {
            fs::write(folder.path().join(name), b"x").unwrap();
        }
        fs::create_dir(folder.path().join("folder.tmp")).unwrap();
        assert_eq!(remove_leftovers(folder.path()).unwrap(), 1);
        assert_eq!(
            names(folder.path()),
            ["a.bin", "folder.tmp", "notes.tmp", "tmp"]
        );
    }
}
