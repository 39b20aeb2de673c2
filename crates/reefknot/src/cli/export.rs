//! `reefknot export`.

use std::path::{Path, PathBuf};

use reefknot_sim::io::IoError;
use reefknot_sim::io::export::{Animation, ExportOptions, VerticalAxis, write_obj, write_vtk};
use reefknot_sim::io::stored::StoredRun;

use crate::cli::arguments::{ExportArguments, ExportFormat, UpAxis};
use crate::cli::{Failure, html, say};

/// Function that writes an animation to a folder; its files start with this name.
type Exporter = fn(&Animation<'_>, &ExportOptions, &Path, &str) -> Result<Vec<PathBuf>, IoError>;

pub(crate) fn export(arguments: &ExportArguments) -> Result<u8, Failure> {
    let run = StoredRun::open(&arguments.run).map_err(Failure::refused)?;
    let name = run.name();
    let write: Exporter = match arguments.to {
        ExportFormat::Obj => write_obj,
        ExportFormat::Vtk => write_vtk,
        ExportFormat::Html => return html::export(arguments, &name),
    };
    if arguments.look.is_some() {
        return Err(Failure::refused("--look applies to --to html only"));
    }
    let folder = arguments
        .out
        .clone()
        .unwrap_or_else(|| arguments.run.join("export"));
    let options = ExportOptions {
        up: match arguments.up {
            UpAxis::Z => VerticalAxis::Z,
            UpAxis::Y => VerticalAxis::Y,
        },
        scale: arguments.unit,
    };
    std::fs::create_dir_all(&folder)
        .map_err(|error| Failure::refused(format!("cannot write {}: {error}", folder.display())))?;
    let result = run.animate(|animation| write(animation, &options, &folder, &name));
    let files = result.map_err(|error| Failure::of_export(&error))?;
    if let Some(last) = files.last() {
        say(&format!(
            "{} files written, the last is {}",
            files.len(),
            last.display()
        ));
    }
    Ok(0)
}
