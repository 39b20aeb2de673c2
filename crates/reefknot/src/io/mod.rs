//! What a run leaves on disk, and what other programs read of it.
//!
//! A run may be stopped at any moment, by a full disk or a power cut as well as by its user, and
//! its folder must open afterwards. So every file is replaced whole or not at all ([`atomic`]),
//! files of numbers carry a checksum over all their bytes ([`tensors`]), and every error says which
//! file, what happened and what to do about it ([`IoError`]). [`export`] turns the frames of a run
//! into files of other programs, [`status`] and [`slim`] are what its viewer asks for.

pub mod atomic;
mod copies;
pub mod export;
pub mod folder;
pub mod frame;
pub mod import;
pub mod input;
pub mod slim;
pub mod status;
pub mod stored;
pub mod tensors;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Why a file could not be written, read or understood.
#[derive(Debug, thiserror::Error)]
pub enum IoError {
    /// The operating system refused to write.
    #[error("cannot write {}: {}; {}", .path.display(), plain(.source), advice_on_writing(.source))]
    Write {
        /// The file or folder that was to be written, never the temporary file beside it.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The operating system refused to read.
    #[error("cannot read {}: {}; {}", .path.display(), plain(.source), advice_on_reading(.source))]
    Read {
        /// The file or folder that was to be read.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The bytes of a file are not those that were written.
    #[error("{} is damaged: {reason}; {ADVICE_ON_DAMAGE}", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Another process writes to the folder of a run.
    #[error("another reefknot is writing to {}; wait for it, or choose another folder with --out", .path.display())]
    Busy {
        /// The folder.
        path: PathBuf,
    },
    /// A tensor is absent, or not of the type or shape that its reader or writer needs.
    #[error("tensor `{name}` of {}: {reason}", .path.display())]
    Tensor {
        /// The file.
        path: PathBuf,
        /// The name of the tensor in the file.
        name: String,
        /// What is wrong with it, and what to do.
        reason: String,
    },
    /// The frames of an animation do not make a file that other programs can read.
    #[error("cannot export {}: {reason}", .path.display())]
    Export {
        /// The file that was to be written.
        path: PathBuf,
        /// What is wrong with the animation, and what to do.
        reason: String,
    },
}

impl IoError {
    /// A refused write of `path`.
    pub fn write(path: &Path, source: std::io::Error) -> Self {
        let path = path.to_path_buf();
        Self::Write { path, source }
    }

    /// A refused read of `path`.
    pub fn read(path: &Path, source: std::io::Error) -> Self {
        let path = path.to_path_buf();
        Self::Read { path, source }
    }

    /// The sentence for files that are no part of a run: nothing there can be resumed.
    #[must_use]
    pub fn outside_of_a_run(&self) -> String {
        match self {
            Self::Write { path, source } => format!(
                "cannot write {}: {}; free some space, or choose another place, and try again",
                path.display(),
                plain(source)
            ),
            other => other.to_string(),
        }
    }

    /// A file whose bytes are not those that were written.
    pub fn damaged(path: &Path, reason: impl Into<String>) -> Self {
        let (path, reason) = (path.to_path_buf(), reason.into());
        Self::Damaged { path, reason }
    }
}

/// The system's message without the error number, which means nothing to most readers.
pub(crate) fn plain(error: &std::io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error") {
        Some(end) => text[..end].to_string(),
        None => text,
    }
}

fn advice_on_writing(error: &std::io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "free some space and continue with --resume"
        }
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            "allow writing there, or choose another folder with --out"
        }
        ErrorKind::NotFound
        | ErrorKind::NotADirectory
        | ErrorKind::AlreadyExists
        | ErrorKind::IsADirectory => "check the folder, or choose another one with --out",
        _ => "check the disk and continue with --resume",
    }
}

const ADVICE_ON_DAMAGE: &str = "restore it from a copy, or continue the run with --resume";

pub(crate) fn advice_on_reading(error: &std::io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::IsADirectory => {
            "check the path"
        }
        ErrorKind::PermissionDenied => "allow reading it",
        _ => "check the disk, or restore the file from a copy",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_says_which_file_and_what_to_do() {
        let full = std::io::Error::from_raw_os_error(28);
        let error = IoError::write(Path::new("RUN/frames/00012.safetensors"), full);
        assert_eq!(
            error.to_string(),
            "cannot write RUN/frames/00012.safetensors: No space left on device; \
             free some space and continue with --resume"
        );
    }

    #[test]
    fn a_picture_is_not_resumed() {
        let full = std::io::Error::from_raw_os_error(28);
        let sentence = IoError::write(Path::new("00012.png"), full).outside_of_a_run();
        assert!(sentence.starts_with("cannot write 00012.png: No space left on device; "));
        assert!(!sentence.contains("--resume"));
    }

    #[test]
    fn a_missing_file_says_which() {
        let error = IoError::read(
            Path::new("RUN/topology.safetensors"),
            ErrorKind::NotFound.into(),
        );
        assert!(
            error
                .to_string()
                .starts_with("cannot read RUN/topology.safetensors: ")
        );
        assert!(error.to_string().ends_with("; check the path"));
    }
}
