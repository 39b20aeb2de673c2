//! `reefknot export`.

use reefknot::io::export::{ExportOptions, Up, write_obj, write_vtk};
use reefknot::io::stored::StoredRun;

use crate::arguments::{ExportArguments, ExportFormat, UpAxis};
use crate::{FAILED, Failure, say};

pub(crate) fn export(arguments: &ExportArguments) -> Result<u8, Failure> {
    let run = StoredRun::open(&arguments.run).map_err(Failure::refused)?;
    let folder = arguments
        .out
        .clone()
        .unwrap_or_else(|| arguments.run.join("export"));
    let options = ExportOptions {
        up: match arguments.up {
            UpAxis::Z => Up::Z,
            UpAxis::Y => Up::Y,
        },
        scale: arguments.unit,
    };
    std::fs::create_dir_all(&folder)
        .map_err(|error| Failure::refused(format!("cannot write {}: {error}", folder.display())))?;
    let name = run.name();
    let result = run.animate(|animation| match arguments.to {
        ExportFormat::Obj => write_obj(animation, &options, &folder, &name),
        ExportFormat::Vtk => write_vtk(animation, &options, &folder, &name),
    });
    let files = result.map_err(|error| Failure {
        code: FAILED,
        message: error.to_string(),
    })?;
    if let Some(last) = files.last() {
        say(&format!(
            "{} files, the last is {}",
            files.len(),
            last.display()
        ));
    }
    Ok(0)
}
