//! Entries of a run folder are regular files and folders inside it.
//!
//! A run folder may come from somebody else. A link could lead to a private file, and a FIFO or a
//! device blocks its reader or never ends. Such entries are refused before anything is read.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use super::IoError;

/// Type that an entry must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryType {
    /// A regular file.
    File,
    /// A folder.
    Folder,
}

/// Refuses an entry that is not of this type, or a link that leads out of the folder `root`.
/// An entry that does not exist passes.
///
/// # Errors
/// [`IoError::Refused`] with the reason; [`IoError::Read`] if the system refuses to tell.
pub(super) fn check_entry(root: &Path, path: &Path, wanted: EntryType) -> Result<(), IoError> {
    let failed = |error| IoError::read(path, error);
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        entry => entry.map_err(failed)?,
    };
    let target = fs::canonicalize(path).map_err(failed)?;
    if !target.starts_with(fs::canonicalize(root).map_err(failed)?) {
        let reason = format!("it leads to {}, outside the run folder", target.display());
        return Err(IoError::refused(path, reason));
    }
    let facts = fs::metadata(&target).map_err(failed)?;
    let is_wanted = match wanted {
        EntryType::File => facts.is_file(),
        EntryType::Folder => facts.is_dir(),
    };
    if is_wanted {
        return Ok(());
    }
    let reason = match wanted {
        EntryType::File if facts.is_dir() => "it is a folder, not a file",
        EntryType::File => "it is a FIFO, a socket or a device, not a file",
        EntryType::Folder => "it is not a folder",
    };
    Err(IoError::refused(path, reason))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn only_regular_files_inside_the_folder_pass() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("run");
        fs::create_dir_all(root.join("frames")).unwrap();
        fs::write(root.join("a"), "a").unwrap();
        fs::write(place.path().join("private"), "p").unwrap();
        symlink("a", root.join("inner")).unwrap();
        symlink("../private", root.join("outer")).unwrap();
        symlink("/dev/zero", root.join("device")).unwrap();
        symlink(root.join("frames"), root.join("folder")).unwrap();
        let check = |name: &str, wanted| check_entry(&root, &root.join(name), wanted);
        let reason = |name, wanted| match check(name, wanted).unwrap_err() {
            IoError::Refused { reason, .. } => reason,
            other => panic!("{other}"),
        };
        for name in ["a", "inner", "absent"] {
            check(name, EntryType::File).unwrap();
        }
        check("folder", EntryType::Folder).unwrap();
        assert!(reason("../private", EntryType::File).contains("outside the run folder"));
        assert!(reason("outer", EntryType::File).contains("outside the run folder"));
        assert!(reason("device", EntryType::File).contains("/dev/zero"));
        assert!(reason("frames", EntryType::File).contains("a folder"));
        assert!(reason("a", EntryType::Folder).contains("not a folder"));
        // The folder of the run itself may be a link.
        symlink(&root, place.path().join("linked")).unwrap();
        let linked = place.path().join("linked");
        check_entry(&linked, &linked.join("inner"), EntryType::File).unwrap();
    }
}
