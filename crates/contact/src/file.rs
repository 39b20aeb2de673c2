//! Files of problems and solutions.
//!
//! Problem files have two formats, recognized by their first bytes: FCLIB, the HDF5 format in which
//! programs of computational mechanics exchange contact problems ([`fclib`]), and captured problems
//! of reefknot, which contain nodes, bodies and the warm start ([`problem`]). Solutions are
//! safetensors files ([`solution`]). All input is validated: a damaged or malicious file causes an
//! error with the name of the invalid object, never a panic, and never an allocation larger than a
//! small multiple of the file.

pub mod fclib;
mod hdf5;
pub mod header;
pub mod problem;
pub mod solution;
mod tensors;

use crate::global::GlobalProblem;
use fclib::FclibProblem;
use problem::CapturedProblem;

/// Problem from a file of either format.
#[derive(Clone, Debug)]
pub enum ProblemFile {
    /// Problem in the format FCLIB.
    Fclib(FclibProblem),
    /// Problem of a step of reefknot.
    Captured(CapturedProblem),
}

impl ProblemFile {
    /// Reads a file of either format.
    ///
    /// # Errors
    /// If the bytes have neither format, or the problem is not valid.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FileError> {
        if hdf5::is_hdf5(bytes) {
            return FclibProblem::from_bytes(bytes).map(Self::Fclib);
        }
        if tensors::is_safetensors(bytes) {
            return CapturedProblem::from_bytes(bytes).map(Self::Captured);
        }
        Err(FileError::UnknownFormat)
    }

    /// Problem in the form of FCLIB.
    pub fn to_fclib(&self) -> FclibProblem {
        match self {
            Self::Fclib(problem) => problem.clone(),
            Self::Captured(captured) => {
                FclibProblem::Global(GlobalProblem::from_nodal(&captured.problem))
            }
        }
    }
}

/// Reason why a file is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// The file has neither format.
    #[error("it is neither an FCLIB problem (HDF5) nor a captured problem (safetensors)")]
    UnknownFormat,
    /// An object of the file is missing, damaged, of the wrong type or size, or not valid.
    #[error("{object} {reason}")]
    Object {
        /// Name of the object.
        object: String,
        /// Reason, as the rest of a sentence that starts with the name.
        reason: String,
    },
}

impl FileError {
    fn new(object: impl Into<String>, reason: impl Into<String>) -> Self {
        let (object, reason) = (object.into(), reason.into());
        Self::Object { object, reason }
    }
}
