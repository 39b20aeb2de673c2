//! Removal of a run from its folder.

use std::fs::{self, File};

use super::IoError;
use super::atomic::{remove_if_present, remove_leftovers};
use super::folder::{NUMBERED_FOLDERS, OWN_FILES, REMOVAL_MARKER, RunFolder, numbered_name};
use crate::model::input::InputFile;

impl RunFolder {
    /// Removes the files that a run has written, and no others. Input copies that the next run is
    /// built from are kept.
    ///
    /// # Errors
    /// If a file cannot be removed.
    pub fn clear(&self, next: &[InputFile]) -> Result<(), IoError> {
        let removing = self.file(REMOVAL_MARKER);
        File::create(&removing).map_err(|error| IoError::write(&removing, error))?;
        self.clear_inputs(next)?;
        for name in OWN_FILES {
            remove_if_present(&self.file(name))?;
        }
        for folder in NUMBERED_FOLDERS {
            for number in self.numbered(folder)? {
                remove_if_present(&self.file(&numbered_name(folder, number)))?;
            }
            let folder = self.file(folder);
            if folder.is_dir() {
                remove_leftovers(&folder)?;
            }
            // A folder with files of other programs is not empty, and stays.
            let _ = fs::remove_dir(&folder);
        }
        remove_if_present(&removing)
    }
}
