//! Input files of a model. [`crate::io::input`] finds, reads and copies them.

use std::path::PathBuf;
use std::sync::Arc;

/// The location of a file's bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// On disk.
    File(PathBuf),
    /// In the program.
    Shipped(&'static [u8]),
    /// Given by the caller.
    Memory(Arc<[u8]>),
}

/// An input file of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputFile {
    /// Name in the folder `inputs/` of a run.
    pub name: String,
    /// Location.
    pub source: Source,
    /// Hash of its bytes (XXH3, 128 bits).
    pub digest: u128,
}
