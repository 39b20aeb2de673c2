//! A second look at a run: everything that it has stored, and steps repeated from its checkpoints.

mod contacts;

use serde_json::json;

use super::{Finding, Severity, finding};
use crate::integrate::claims::{Claims, EquationsClaim};
use crate::integrate::{self, Scratch};
use crate::io::IoError;
use crate::io::folder::{Contents, RunFolder};
use crate::io::frame::{frame_file, topology_file};
use crate::io::tensors::TensorFile;
use crate::model::Model;
use crate::report::StepReport;
use crate::resume::{ProbeLog, StepLog};
use crate::scene::{Scene, SceneRequest};
use crate::state::State;
use contacts::ContactCheck;

/// Looks at everything that a run has stored, and repeats steps from its checkpoints.
///
/// # Errors
/// A sentence if the folder holds no run that can be read.
pub fn check_run(path: &std::path::Path) -> Result<Vec<Finding>, String> {
    let folder = RunFolder::new(path);
    let shown = path.display();
    match folder.contents().map_err(|error| error.to_string())? {
        Contents::Run => {}
        Contents::Nothing => return Err(format!("{shown} holds no run")),
        Contents::Foreign(name) => return Err(format!("{shown} holds `{name}` and no run")),
    }
    let wrong_inputs = folder.bad_inputs().into_iter();
    let wrong_inputs: Vec<Finding> = wrong_inputs
        .map(|sentence| finding(Severity::Wrong, sentence))
        .collect();
    // Nothing can be compared with what comes from the wrong files.
    if !wrong_inputs.is_empty() {
        return Ok(wrong_inputs);
    }
    let text = folder
        .read_text("scene.toml")
        .map_err(|error| error.to_string())?;
    let request = SceneRequest {
        file: folder.file("scene.toml").display().to_string(),
        text,
        folder: path.to_path_buf(),
        ..SceneRequest::default()
    };
    let scene = Scene::read(&request).map_err(|problems| problems.to_string())?;
    let model = Model::build(&scene).map_err(|problems| problems.to_string())?;
    if let Some(difference) = folder
        .other_input(&model.inputs)
        .map_err(|error| error.to_string())?
    {
        let sentence = format!(
            "{shown} was built from other files: {difference}; put its inputs back as they were"
        );
        return Ok(vec![finding(Severity::Wrong, sentence)]);
    }
    let mut findings = Vec::new();
    check_manifest(&folder, &model, &mut findings);
    check_topology(&folder, &model, &mut findings);
    check_frames_and_logs(&folder, &model, &mut findings).map_err(|error| error.to_string())?;
    repeat_steps(&folder, &model, &mut findings).map_err(|error| error.to_string())?;
    Ok(findings)
}

/// Whether the manifest can be read, and claims what the method of the scene does.
fn check_manifest(folder: &RunFolder, model: &Model, findings: &mut Vec<Finding>) {
    let path = folder.file("manifest.json");
    let reason = match folder.manifest() {
        None => "it is no manifest of a run",
        Some(manifest) if manifest["claims"] != json!(model.claims()) => {
            "its `claims` are not those of the method in scene.toml"
        }
        Some(_) => return,
    };
    let sentence = IoError::damaged(&path, reason).to_string();
    findings.push(finding(Severity::Wrong, sentence));
}

/// Whether the topology is that of the scene.
fn check_topology(folder: &RunFolder, model: &Model, findings: &mut Vec<Finding>) {
    let path = folder.file("topology.safetensors");
    let result = TensorFile::read(&path).and_then(|stored| {
        match topology_file(model).first_difference(&stored) {
            None => Ok(()),
            Some(name) => {
                let reason = format!("`{name}` is not that of scene.toml");
                Err(IoError::damaged(&path, reason))
            }
        }
    });
    if let Err(error) = result {
        findings.push(finding(Severity::Wrong, error.to_string()));
    }
}

/// Whether frames and logs are whole, and each covers what the others have.
fn check_frames_and_logs(
    folder: &RunFolder,
    model: &Model,
    findings: &mut Vec<Finding>,
) -> Result<(), IoError> {
    let steps = StepLog::read(folder)?;
    let rows = ProbeLog::read(folder, model)?;
    let frames = folder.frames()?;
    let per_frame = model.clock.steps_per_frame;
    let logs = [
        ("run.jsonl", steps.reports.len() as u64, steps.is_torn()),
        (
            "probes.csv",
            (rows.rows.len() as u64).saturating_sub(1),
            rows.is_torn(),
        ),
    ];
    let newest_frame = frames.last().copied().unwrap_or(0);
    let logged = logs.iter().map(|(_, steps, _)| *steps).max().unwrap_or(0);
    let checkpoint = folder.checkpoints()?.last().copied().unwrap_or(0);
    let reached = logged.max(newest_frame * per_frame).max(checkpoint);
    for (name, covered, is_torn) in logs {
        let path = folder.file(name);
        let shown = path.display();
        let sentence = if is_torn {
            format!("{shown} makes no sense after step {covered}; continue the run with --resume")
        } else if covered < reached {
            format!(
                "{shown} ends at step {covered}, but the run was at step {reached}; continue it with --resume"
            )
        } else {
            continue;
        };
        findings.push(finding(Severity::Wrong, sentence));
    }
    check_frames(folder, model, reached / per_frame, findings);
    check_claims(model.claims(), &steps.reports, findings);
    check_intersections(model.claims(), &steps.reports, findings);
    check_balance(model, &steps.reports, findings);
    Ok(())
}

/// Whether every frame up to the last is there and whole, with contacts that obey their laws.
fn check_frames(folder: &RunFolder, model: &Model, last: u64, findings: &mut Vec<Finding>) {
    let mut bad = 0;
    let mut contacts = ContactCheck::new(model);
    for frame in 0..=last {
        let path = folder.frame(frame);
        let looked = folder.read_frame(frame);
        let looked = looked.and_then(|file| contacts.add(&file, &path));
        if let Err(error) = looked {
            bad += 1;
            let missing = matches!(&error, IoError::Read { source, .. } if source.kind() == std::io::ErrorKind::NotFound);
            let sentence = match missing {
                true => format!(
                    "{} is missing; continue the run with --resume to make it again",
                    path.display()
                ),
                false => error.to_string(),
            };
            findings.push(finding(Severity::Wrong, sentence));
        }
    }
    if bad == 0 {
        let sentence = format!("{} frames, each with its checksum", last + 1);
        findings.push(finding(Severity::Good, sentence));
    }
    contacts.finish(findings);
}

/// Whether every step says how far it is from what its method claims.
fn check_claims(claims: Claims, steps: &[StepReport], findings: &mut Vec<Finding>) {
    let is_solved = claims.equations != EquationsClaim::None;
    let is_nonlinear = claims.equations == EquationsClaim::Nonlinear;
    for report in steps {
        let values = [
            ("momentum_error_m", is_solved, report.momentum_error_m),
            ("nonlinear_error_m", is_nonlinear, report.nonlinear_error_m),
            ("contact_error_m", claims.contact, report.contact_error_m),
        ];
        let is_missing =
            |(_, is_claimed, value): &&(&str, bool, Option<f64>)| *is_claimed && value.is_none();
        if let Some((name, ..)) = values.iter().find(is_missing) {
            let step = report.step;
            let sentence =
                format!("step {step} has no `{name}`, which its method claims to keep small");
            findings.push(finding(Severity::Wrong, sentence));
            return;
        }
    }
}

/// How bad it is that something does not hold: what is not claimed is only worth knowing.
fn severity(is_claimed: bool) -> Severity {
    match is_claimed {
        true => Severity::Wrong,
        false => Severity::Warning,
    }
}

/// Whether the independent test found anything while the run was made.
fn check_intersections(claims: Claims, steps: &[StepReport], findings: &mut Vec<Finding>) {
    let counts = steps.iter().filter_map(|report| report.intersections);
    let tested = counts.clone().count();
    let met = |report: &&StepReport| report.intersections.is_some_and(|count| count > 0);
    if let Some(first) = steps.iter().find(met) {
        let sentence = format!(
            "{} intersections in {tested} steps tested, first in step {} at {:.6} s",
            counts.sum::<u64>(),
            first.step,
            first.time
        );
        findings.push(finding(severity(claims.gap), sentence));
    } else if tested > 0 {
        let sentence = format!("{tested} steps tested for intersections: none");
        findings.push(finding(Severity::Good, sentence));
    }
}

/// Whether the energy balance closes in every step.
fn check_balance(model: &Model, steps: &[StepReport], findings: &mut Vec<Finding>) {
    let mut before = crate::certify::energies(model, &model.start).total();
    let (mut worst, mut at, mut scale, mut height) = (0.0, 0, 0.0_f64, 0.0_f64);
    for report in steps {
        let energy = &report.energy_j;
        let flow = energy.work - energy.viscous - energy.contact - energy.numerical;
        let error = (energy.total() - before - flow).abs();
        scale = energy
            .kinetic
            .abs()
            .max(energy.elastic)
            .max(flow.abs())
            .max(scale);
        height = height.max(energy.gravity.abs());
        before = energy.total();
        if error > worst {
            (worst, at) = (error, report.step);
        }
    }
    // Heights far from the origin round off in the gravity energy, however little moves.
    let severity = if worst <= 1e-6 * scale + 1e-12 * height {
        Severity::Good
    } else {
        Severity::Wrong
    };
    let sentence = format!(
        "{} steps; their energy balance closes to {worst:.1e} J (step {at})",
        steps.len()
    );
    findings.push(finding(severity, sentence));
}

/// Repeats the frame that follows each checkpoint and compares every bit.
fn repeat_steps(
    folder: &RunFolder,
    model: &Model,
    findings: &mut Vec<Finding>,
) -> Result<(), IoError> {
    let mut starts = vec![model.start.clone()];
    for step in folder.checkpoints()? {
        match folder.read_checkpoint(step, model) {
            Ok((state, _)) => starts.push(state),
            Err(error) => findings.push(finding(Severity::Wrong, error.to_string())),
        }
    }
    starts.dedup_by_key(|state| state.step);
    let frames = folder.frames()?;
    let mut repeated = 0;
    for state in starts {
        let frame = state.step / model.clock.steps_per_frame + 1;
        if frames.binary_search(&frame).is_err() {
            continue;
        }
        match repeat_frame(folder, model, state, frame) {
            Ok(()) => repeated += 1,
            Err(sentence) => findings.push(finding(Severity::Wrong, sentence)),
        }
    }
    let sentence = format!("{repeated} frames repeated from checkpoints, to the same bits");
    findings.push(finding(Severity::Good, sentence));
    Ok(())
}

fn repeat_frame(
    folder: &RunFolder,
    model: &Model,
    mut state: State,
    frame: u64,
) -> Result<(), String> {
    let mut scratch = Scratch::new(model);
    let first = state.step;
    let mut last = None;
    while state.step < frame * model.clock.steps_per_frame {
        let step = integrate::step(model, &state, &mut scratch)
            .map_err(|error| format!("step {} cannot be repeated: {error}", state.step + 1))?;
        state = step.to.clone();
        last = Some(step);
    }
    let again = frame_file(model, &state, last.as_ref());
    let stored = folder
        .read_frame(frame)
        .map_err(|error| error.to_string())?;
    match again.first_difference(&stored) {
        None => Ok(()),
        Some(name) => Err(format!(
            "{} does not follow from step {first}: `{name}` differs (made by another version or machine?)",
            folder.frame(frame).display()
        )),
    }
}
