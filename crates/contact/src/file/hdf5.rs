//! Reading of named arrays from HDF5 files, with checks against damaged files.

use std::panic::{AssertUnwindSafe, catch_unwind};

use hdf5_pure::{DType, Dataset, File};

use super::FileError;

/// HDF5 file in memory.
pub(super) struct Hdf5 {
    file: File,
    bytes: u64,
}

/// Whether these are the bytes of an HDF5 file.
pub(super) fn is_hdf5(bytes: &[u8]) -> bool {
    hdf5_pure::is_hdf5_bytes(bytes)
}

impl Hdf5 {
    pub(super) fn open(bytes: &[u8]) -> Result<Self, FileError> {
        let file = call_guarded("the file", || File::from_bytes(bytes.to_vec()))?;
        let bytes = bytes.len() as u64;
        Ok(Self { file, bytes })
    }

    /// Names of the groups inside a group.
    pub(super) fn groups(&self, path: &str) -> Result<Vec<String>, FileError> {
        call_guarded(path, || match path {
            "/" => self.file.root().groups(),
            _ => self.file.group(path)?.groups(),
        })
    }

    /// An array of 32-bit integers.
    pub(super) fn integers(&self, path: &str) -> Result<Vec<i32>, FileError> {
        let array = self.array(path, &DType::I32)?;
        call_guarded(path, || array.read_i32())
    }

    /// An array of 64-bit floating-point numbers.
    pub(super) fn numbers(&self, path: &str) -> Result<Vec<f64>, FileError> {
        let array = self.array(path, &DType::F64)?;
        call_guarded(path, || array.read_f64())
    }

    /// An uncompressed array of a type, not larger than the file.
    fn array(&self, path: &str, wanted: &DType) -> Result<Dataset, FileError> {
        let array = call_guarded(path, || self.file.dataset(path))?;
        let found = call_guarded(path, || array.dtype())?;
        if found != *wanted {
            let reason = format!("holds {found}, but must hold {wanted}");
            return Err(FileError::new(path, reason));
        }
        if !array.filters().is_empty() {
            let reason = "is compressed, which is not supported; \
                          unpack it with `h5repack -f NONE OLD NEW`";
            return Err(FileError::new(path, reason));
        }
        let shape = call_guarded(path, || array.shape())?;
        let size = match wanted {
            DType::I32 => 4,
            _ => 8,
        };
        let declared = shape
            .iter()
            .try_fold(size, |all: u64, length| all.checked_mul(*length));
        // Arrays of FCLIB are stored in full, so a larger one is damaged.
        match declared {
            Some(declared) if declared <= self.bytes => Ok(array),
            _ => Err(FileError::new(
                path,
                format!("has the shape {shape:?}, but the file is too small for it"),
            )),
        }
    }
}

/// Calls the HDF5 library. Its panics are converted to errors, because a damaged file can cause
/// them.
fn call_guarded<T>(
    path: &str,
    call: impl FnOnce() -> Result<T, hdf5_pure::Error>,
) -> Result<T, FileError> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(FileError::new(path, format!("cannot be read: {error}"))),
        Err(_) => Err(FileError::new(path, "cannot be read: the file is damaged")),
    }
}
