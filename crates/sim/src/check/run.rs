//! Tests of a stored run: its files, certificates and contacts, and steps repeated from its
//! checkpoints.

mod contacts;
mod problems;

use super::{Finding, Severity, finding};
use crate::claims::{Claims, EnergyClaim, EquationsClaim};
use crate::integrate::{Scratch, claims};
use crate::io::IoError;
use crate::io::folder::{Contents, RunFolder};
use crate::io::frame::{frame_file, topology_file};
use crate::io::tensors::TensorFile;
use crate::manifest::facts;
use crate::model::{EnergyRule, Model};
use crate::report::StepReport;
use crate::resume::{ProbeLog, StepLog};
use crate::scene::{Scene, SceneRequest};
use crate::state::State;
use crate::step::{excess_gain, step};
use contacts::ContactCheck;
use problems::check_problems;

/// Tests all files of a run, and repeats steps from its checkpoints.
///
/// # Errors
/// A message if the folder has no readable run.
pub fn check_run(path: &std::path::Path) -> Result<Vec<Finding>, String> {
    let folder = RunFolder::new(path);
    let shown = path.display();
    match folder.contents().map_err(|error| error.to_string())? {
        Contents::Run => {}
        Contents::Empty => return Err(format!("{shown} holds no run")),
        Contents::Foreign(name) => return Err(format!("{shown} holds `{name}`, but no run")),
    }
    let wrong_inputs = folder.damaged_inputs().into_iter();
    let wrong_inputs: Vec<Finding> = wrong_inputs
        .map(|sentence| finding(Severity::Wrong, sentence))
        .collect();
    // Other tests need the original input files.
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
        .input_difference(&model.inputs)
        .map_err(|error| error.to_string())?
    {
        let sentence =
            format!("{shown} was computed from other input files: {difference}; restore them");
        return Ok(vec![finding(Severity::Wrong, sentence)]);
    }
    let mut findings = Vec::new();
    check_manifest(&folder, &scene, &model, &mut findings);
    check_topology(&folder, &model, &mut findings);
    check_frames_and_logs(&folder, &model, &mut findings).map_err(|error| error.to_string())?;
    check_problems(&folder, &model, &mut findings).map_err(|error| error.to_string())?;
    repeat_steps(&folder, &model, &mut findings).map_err(|error| error.to_string())?;
    Ok(findings)
}

/// Tests that the manifest states the facts of the scene.
fn check_manifest(folder: &RunFolder, scene: &Scene, model: &Model, findings: &mut Vec<Finding>) {
    let path = folder.file("manifest.json");
    let reason = match folder.manifest() {
        None => "it is not the manifest of a run".to_owned(),
        Some(manifest) => {
            let mut facts = facts(scene, model).into_iter();
            match facts.find(|(key, value)| manifest[key] != *value) {
                None => return,
                Some((key, _)) => format!("its `{key}` is not that of scene.toml"),
            }
        }
    };
    let sentence = IoError::damaged(&path, reason).to_string();
    findings.push(finding(Severity::Wrong, sentence));
}

/// Tests that the topology is that of the scene.
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

/// Tests that frames and logs are complete and end at the same step.
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
            format!("{shown} is damaged after step {covered}; continue the run with --resume")
        } else if covered < reached {
            format!(
                "{shown} ends at step {covered}, but the run has reached step {reached}; continue \
                 the run with --resume"
            )
        } else {
            continue;
        };
        findings.push(finding(Severity::Wrong, sentence));
    }
    check_frames(folder, model, reached / per_frame, findings);
    check_claims(claims(model), &steps.reports, findings);
    check_intersections(claims(model), &steps.reports, findings);
    check_balance(model, &steps.reports, findings);
    check_gains(model, &steps.reports, findings);
    Ok(())
}

/// Tests that every frame up to the last is complete, and that its contacts obey the law.
fn check_frames(folder: &RunFolder, model: &Model, last: u64, findings: &mut Vec<Finding>) {
    let mut damaged = 0;
    let mut contacts = ContactCheck::new(model);
    for frame in 0..=last {
        let path = folder.frame(frame);
        let result = folder
            .read_frame(frame)
            .and_then(|file| contacts.add(&file, &path));
        if let Err(error) = result {
            damaged += 1;
            let is_missing = matches!(&error, IoError::Read { source, .. }
                if source.kind() == std::io::ErrorKind::NotFound);
            let sentence = if is_missing {
                let path = path.display();
                format!("{path} is missing; continue the run with --resume to compute it again")
            } else {
                error.to_string()
            };
            findings.push(finding(Severity::Wrong, sentence));
        }
    }
    if damaged == 0 {
        let sentence = format!("{} frames with valid checksums", last + 1);
        findings.push(finding(Severity::Good, sentence));
    }
    contacts.finish(findings);
}

/// Tests that every step reports the errors that its method claims to bound.
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
            let sentence = format!("step {step} has no `{name}`, which its method claims to bound");
            findings.push(finding(Severity::Wrong, sentence));
            return;
        }
    }
}

/// Severity of a failed test: an error if the method claims the property, otherwise a warning.
fn severity(is_claimed: bool) -> Severity {
    if is_claimed {
        Severity::Wrong
    } else {
        Severity::Warning
    }
}

/// Reports the intersections that the independent test found during the run.
fn check_intersections(claims: Claims, steps: &[StepReport], findings: &mut Vec<Finding>) {
    let counts = steps.iter().filter_map(|report| report.intersections);
    let tested = counts.clone().count();
    let intersects = |report: &&StepReport| report.intersections.is_some_and(|count| count > 0);
    if let Some(first) = steps.iter().find(intersects) {
        let sentence = format!(
            "{} intersections in {tested} steps tested, first in step {} at {:.6} s",
            counts.sum::<u64>(),
            first.step,
            first.time
        );
        findings.push(finding(severity(claims.gap), sentence));
    } else if tested > 0 {
        let sentence = format!("no intersections in {tested} steps tested");
        findings.push(finding(Severity::Good, sentence));
    }
}

/// Tests that no step gains energy from nothing, if the method of the run claims so.
fn check_gains(model: &Model, steps: &[StepReport], findings: &mut Vec<Finding>) {
    if claims(model).energy != EnergyClaim::Dissipative {
        return;
    }
    let h = model.clock.h();
    let gains = steps.iter().filter_map(|report| {
        let (gain, energy) = excess_gain(model, h, report)?;
        Some((gain, energy, report.step))
    });
    let gains: Vec<(f64, f64, u64)> = gains.collect();
    match gains.iter().max_by(|a, b| a.0.total_cmp(&b.0)) {
        None => {
            let sentence = format!("no energy from nothing in {} steps", steps.len());
            findings.push(finding(Severity::Good, sentence));
        }
        Some((gain, energy, step)) => {
            let is_claimed = model.method.energy == EnergyRule::Dissipative;
            let sentence = format!(
                "{} steps gain energy from nothing, at most {gain:.1e} J of {energy:.1e} J \
                 (step {step})",
                gains.len()
            );
            findings.push(finding(severity(is_claimed), sentence));
        }
    }
}

/// Tests that the energy balance of every step closes.
fn check_balance(model: &Model, steps: &[StepReport], findings: &mut Vec<Finding>) {
    let mut before = crate::certify::energies(model, &model.start).total();
    let (mut worst, mut at, mut scale, mut height) = (0.0, 0, 0.0_f64, 0.0_f64);
    for report in steps {
        let energy = &report.energy_j;
        let flow = energy.flow();
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
    // Far from the origin, the gravity energy has large rounding errors.
    let severity = if worst <= 1e-6 * scale + 1e-12 * height {
        Severity::Good
    } else {
        Severity::Wrong
    };
    let sentence = format!(
        "energy balance of {} steps closes to {worst:.1e} J (worst in step {at})",
        steps.len()
    );
    findings.push(finding(severity, sentence));
}

/// Repeats the frame after each checkpoint and compares all bits.
fn repeat_steps(
    folder: &RunFolder,
    model: &Model,
    findings: &mut Vec<Finding>,
) -> Result<(), IoError> {
    let mut starts = vec![model.start.clone()];
    let mut damaged = Vec::new();
    for step in folder.checkpoints()? {
        match folder.read_checkpoint(step, model) {
            Ok((state, _)) => starts.push(state),
            Err(error) => damaged.push((step, error)),
        }
    }
    let newest = starts.last().map_or(0, |state| state.step);
    for (step, error) in damaged {
        let sentence = match error {
            // A resume starts from the newest whole checkpoint and leaves older ones alone.
            IoError::Damaged { path, reason } if step < newest => {
                let shown = path.display();
                format!("{shown} is damaged: {reason}; delete it: a newer checkpoint is intact")
            }
            error => error.to_string(),
        };
        findings.push(finding(Severity::Wrong, sentence));
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
    let sentence = format!("{repeated} frames repeated from checkpoints with the same bits");
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
        let step = step(model, &state, &mut scratch)
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
            "{} differs from steps repeated from step {first}: `{name}` is not the same (was it \
             computed by another version or machine?)",
            folder.frame(frame).display()
        )),
    }
}
