//! Files: the folder of a run, imported meshes, and exports for other programs.
//!
//! A run can stop at any moment, by a full disk, a power cut or its user, and its folder must stay
//! readable. So files are replaced atomically ([`atomic`]), files of arrays have a checksum over
//! all their bytes ([`tensors`]), and every error names the file, the cause and a remedy
//! ([`IoError`]). [`export`] converts the frames of a run to the formats of other programs.
//! [`status`] and [`slim`] serve the viewer.

pub mod atomic;
mod clear;
mod contained;
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

/// Error of writing or reading a file.
#[derive(Debug, thiserror::Error)]
pub enum IoError {
    /// The operating system refused to write.
    #[error("cannot write {}: {}; {}", .path.display(), plain(.source), advice_on_writing(.source))]
    Write {
        /// The file or folder that was to be written, never the temporary file beside it.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// The operating system refused to read.
    #[error("cannot read {}: {}; {}", .path.display(), plain(.source), advice_on_reading(.source))]
    Read {
        /// The file or folder that was to be read.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// A file does not have the bytes that were written.
    #[error("{} is damaged: {reason}; {ADVICE_ON_DAMAGE}", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Cause.
        reason: String,
    },
    /// Another process writes to the folder of a run.
    #[error(
        "another reefknot is writing to {}; wait until it ends, or use another folder with --out",
        .path.display()
    )]
    Busy {
        /// The folder.
        path: PathBuf,
    },
    /// An entry of a run folder that is not a regular file or folder inside it.
    #[error(
        "refused {}: {reason}; remove it, or put a copy of the file in its place",
        .path.display()
    )]
    Refused {
        /// The entry.
        path: PathBuf,
        /// Why it is refused.
        reason: String,
    },
    /// A tensor is missing, or has the wrong type or shape.
    #[error("tensor `{name}` of {}: {reason}", .path.display())]
    Tensor {
        /// The file.
        path: PathBuf,
        /// The name of the tensor in the file.
        name: String,
        /// Cause and remedy.
        reason: String,
    },
    /// An animation cannot be stored in the format of the exporter.
    #[error("cannot export {}: {reason}", .path.display())]
    Export {
        /// The file that was to be written.
        path: PathBuf,
        /// Cause and remedy.
        reason: String,
    },
}

impl IoError {
    /// Error of writing `path`.
    pub fn write(path: &Path, source: std::io::Error) -> Self {
        let path = path.to_path_buf();
        Self::Write { path, source }
    }

    /// Error of reading `path`.
    pub fn read(path: &Path, source: std::io::Error) -> Self {
        let path = path.to_path_buf();
        Self::Read { path, source }
    }

    /// Whether the file to be read does not exist.
    #[must_use]
    pub fn is_missing_file(&self) -> bool {
        let missing = [ErrorKind::NotFound, ErrorKind::NotADirectory];
        matches!(self, Self::Read { source, .. } if missing.contains(&source.kind()))
    }

    /// Message for a file outside the folder of a run, without the advice to resume.
    #[must_use]
    pub fn message_outside_run(&self) -> String {
        match self {
            Self::Write { path, source } => format!(
                "cannot write {}: {}; free some space, or choose another place, and try again",
                path.display(),
                plain(source)
            ),
            other => other.to_string(),
        }
    }

    /// An entry of a run folder that must not be followed.
    pub(super) fn refused(path: &Path, reason: impl Into<String>) -> Self {
        let (path, reason) = (path.to_path_buf(), reason.into());
        Self::Refused { path, reason }
    }

    /// Error of a file whose bytes are not those that were written.
    pub fn damaged(path: &Path, reason: impl Into<String>) -> Self {
        let (path, reason) = (path.to_path_buf(), reason.into());
        Self::Damaged { path, reason }
    }
}

/// Message of the operating system, without the error number.
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
    fn the_error_of_a_full_disk_names_the_file_and_the_remedy() {
        let full = std::io::Error::from_raw_os_error(28);
        let error = IoError::write(Path::new("RUN/frames/00012.safetensors"), full);
        assert_eq!(
            error.to_string(),
            "cannot write RUN/frames/00012.safetensors: No space left on device; \
             free some space and continue with --resume"
        );
    }

    #[test]
    fn the_error_of_an_image_does_not_advise_to_resume() {
        let full = std::io::Error::from_raw_os_error(28);
        let sentence = IoError::write(Path::new("00012.png"), full).message_outside_run();
        assert!(sentence.starts_with("cannot write 00012.png: No space left on device; "));
        assert!(!sentence.contains("--resume"));
    }

    #[test]
    fn the_error_of_a_missing_file_names_it() {
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
