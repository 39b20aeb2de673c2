//! Problems and answers in files.
//!
//! Problems come in two formats, told apart by their first bytes: FCLIB, the HDF5 files in which programs of computational
//! mechanics exchange contact problems ([`fclib`]), and captured problems of reefknot itself, which keep nodes, bodies and
//! the warm start ([`problem`]). Answers are safetensors files ([`solution`]). What is read is checked in full: a
//! damaged or hostile file gives an error that names the object at fault, never a panic and never more memory than
//! the file is worth.

pub mod fclib;
mod hdf5;
pub mod problem;
pub mod solution;
mod tensors;

use crate::global::GlobalProblem;
use fclib::FclibProblem;
use problem::CapturedProblem;

/// A problem, whichever the format of its file.
#[derive(Clone, Debug)]
pub enum ProblemFile {
    /// From another program.
    Fclib(FclibProblem),
    /// From a step of reefknot.
    Captured(CapturedProblem),
}

impl ProblemFile {
    /// Reads a file of either format.
    ///
    /// # Errors
    /// If the bytes are of neither format, or not a problem.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FileError> {
        if hdf5::is_hdf5(bytes) {
            return FclibProblem::from_bytes(bytes).map(Self::Fclib);
        }
        if tensors::is_safetensors(bytes) {
            return CapturedProblem::from_bytes(bytes).map(Self::Captured);
        }
        Err(FileError::UnknownFormat)
    }

    /// The problem in the form of FCLIB.
    pub fn to_fclib(&self) -> FclibProblem {
        match self {
            Self::Fclib(problem) => problem.clone(),
            Self::Captured(captured) => {
                FclibProblem::Global(GlobalProblem::from_nodal(&captured.problem))
            }
        }
    }
}

/// Why a file is not what it should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// Neither format.
    #[error("it is neither an FCLIB problem (HDF5) nor a captured problem (safetensors)")]
    UnknownFormat,
    /// Something in the file is absent, damaged, of another type or size, or makes no sense.
    #[error("{object} {reason}")]
    Object {
        /// Where in the file.
        object: String,
        /// What is wrong with it.
        reason: String,
    },
}

impl FileError {
    fn new(object: impl Into<String>, reason: impl Into<String>) -> Self {
        let (object, reason) = (object.into(), reason.into());
        Self::Object { object, reason }
    }
}
