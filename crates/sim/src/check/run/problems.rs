//! Tests of the captured contact problems of a run.

use std::path::Path;

use reefknot_contact::file::header::is_sealed;
use reefknot_contact::file::problem::CapturedProblem;

use super::{Finding, Severity, finding};
use crate::io::IoError;
use crate::io::folder::RunFolder;
use crate::model::Model;

pub(super) fn check_problems(
    folder: &RunFolder,
    model: &Model,
    findings: &mut Vec<Finding>,
) -> Result<(), IoError> {
    let steps = folder.problems()?;
    let mut damaged = 0;
    for step in &steps {
        let path = folder.problem(*step);
        if let Err(reason) = check_problem(folder, &path, model) {
            damaged += 1;
            let shown = path.display();
            let sentence =
                format!("{shown} is damaged: {reason}; restore it from a copy, or delete it");
            findings.push(finding(Severity::Wrong, sentence));
        }
    }
    if damaged == 0 && !steps.is_empty() {
        let sentence = format!("{} contact problems with valid checksums", steps.len());
        findings.push(finding(Severity::Good, sentence));
    }
    Ok(())
}

/// Tests that a file is a complete contact problem of this model. The error is the reason.
fn check_problem(folder: &RunFolder, path: &Path, model: &Model) -> Result<(), String> {
    let bytes = folder.read(path).map_err(|error| error.to_string())?;
    if !is_sealed(&bytes) {
        return Err("it has no checksum".to_owned());
    }
    let captured = CapturedProblem::from_bytes(&bytes).map_err(|error| error.to_string())?;
    if captured.problem.masses == model.masses {
        Ok(())
    } else {
        Err("its masses are not those of scene.toml".to_owned())
    }
}
