//! A complete run: simulates a scene into a folder, and resumes it after any number of stops.

mod active;
mod refuse;

use std::fs::File;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use crate::integrate::{StepError, refuse_unstable};
use crate::io::IoError;
use crate::io::folder::{Contents, Log, Origin, RunFolder};
use crate::machine;
use crate::manifest::facts;
use crate::model::Model;
use crate::report::{StepReport, Summary};
use crate::resume::{self, ResumePoint};
use crate::scene::Scene;
use active::ActiveRun;
use refuse::{refuse_contents, refuse_intersections, refuse_other_scene};

/// Options of a run.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// The folder of the run.
    pub folder: PathBuf,
    /// Continue the run in the folder.
    pub resume: bool,
    /// Replace the run in the folder.
    pub overwrite: bool,
    /// Stop with a checkpoint after this time.
    pub time_limit: Option<Duration>,
    /// Test every step for intersections, not only those that end a frame.
    pub certify: bool,
    /// Steps whose contact problem is stored, if they have contacts.
    pub capture: Vec<RangeInclusive<u64>>,
    /// The command line, for the manifest.
    pub command: Vec<String>,
    /// Build of the program, for the manifest.
    pub build: Build,
    /// Number of threads.
    pub threads: usize,
}

/// Build of the program.
#[derive(Clone, Debug, Default)]
pub struct Build {
    /// Version.
    pub version: String,
    /// Commit of the source.
    pub commit: String,
    /// Compiler.
    pub rustc: String,
}

/// Reason of an early stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Ctrl-C.
    Interrupt,
    /// SIGTERM.
    Terminate,
    /// The time limit.
    TimeLimit,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// All frames are complete.
    Finished,
    /// All frames were complete before this call.
    AlreadyFinished,
    /// Stopped with a checkpoint.
    Stopped(Stop),
}

/// Progress of a run.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// Steps done.
    pub step: u64,
    /// Steps of the complete run.
    pub steps: u64,
    /// Report of the last step.
    pub report: &'a StepReport,
}

/// Receives the events of a run, and can stop it.
pub trait Observer {
    /// Called with a message for the user, for example on repaired files.
    fn note(&mut self, sentence: &str);
    /// Called before the first step; `step` of all `steps` were computed earlier.
    fn start(&mut self, step: u64, steps: u64);
    /// Called after each step.
    fn progress(&mut self, progress: &Progress<'_>);
    /// Reason to stop now, if any. Called after each step.
    fn stop(&self) -> Option<Stop>;
}

/// Error that ends a run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The run was refused before the first step.
    #[error("{0}")]
    Refused(String),
    /// Another process writes to the folder. The same command may succeed later.
    #[error("{0}")]
    Busy(IoError),
    /// A step failed.
    #[error("step {step} at {time:.6} s failed: {source}\nthe last good state is {checkpoint}")]
    Step {
        /// Number of the step.
        step: u64,
        /// End time of the step (s).
        time: f64,
        /// Cause.
        source: Box<StepError>,
        /// Checkpoint of the state before the step.
        checkpoint: String,
    },
    /// A file could not be read or written after the first step.
    #[error("{0}")]
    Files(IoError),
}

/// Result of a run.
#[derive(Clone, Debug)]
pub struct RunOutcome {
    /// How it ended.
    pub ending: Ending,
    /// Its summary.
    pub summary: Summary,
    /// First intersection, with step and time, if the integrator claims that there are none.
    pub first_intersection: Option<String>,
    /// Number of stored contact problems.
    pub captured: u64,
}

/// Runs a scene into a folder.
///
/// # Errors
/// [`RunError::Refused`] and [`RunError::Busy`] before the first step, the others after it.
pub fn run(
    scene: &Scene,
    model: &Model,
    options: &RunOptions,
    observer: &mut dyn Observer,
) -> Result<RunOutcome, RunError> {
    let began = Instant::now();
    refuse_unstable(model).map_err(|error| RunError::Refused(error.to_string()))?;
    refuse_intersections(model)?;
    let folder = RunFolder::new(&options.folder);
    let _lock = lock_folder(scene, model, options, &folder)?;
    let name = run_name(scene, &folder);
    let point = prepare_folder(scene, model, options, &folder).map_err(refused)?;
    for repair in &point.repairs {
        observer.note(repair);
    }
    let origin = Origin {
        isa: machine::instruction_set(),
        commit: options.build.commit.clone(),
    };
    if let Some(earlier) = point.origin.filter(|earlier| *earlier != origin) {
        observer.note(&format!(
            "the run comes from build {} on {}, this is build {} on {}: \
             bits may differ from step {} on",
            earlier.commit,
            earlier.isa,
            origin.commit,
            origin.isa,
            point.state.step + 1
        ));
    }
    let mut active = ActiveRun {
        name,
        scene,
        model,
        options,
        folder: &folder,
        origin,
        statistics: point.statistics,
        probes: point.probes,
        log: Log::append(folder.file("run.jsonl")).map_err(refused)?,
        probe_log: Log::append(folder.file("probes.csv")).map_err(refused)?,
        setup: Duration::ZERO,
        unflushed: Vec::new(),
        saving_s: 0.0,
        first_intersection: None,
        captured: 0,
    };
    if point.state.step >= model.clock.steps() {
        return Ok(active.outcome(Ending::AlreadyFinished, &point.state));
    }
    if point.state.step == 0 {
        active.write_start(&point.state).map_err(refused)?;
    }
    active.setup = began.elapsed();
    active.advance(point.state, began, observer)
}

fn refused(error: IoError) -> RunError {
    RunError::Refused(error.to_string())
}

/// Locks the folder, checks its contents against the options, and removes a run that is replaced.
fn lock_folder(
    scene: &Scene,
    model: &Model,
    options: &RunOptions,
    folder: &RunFolder,
) -> Result<File, RunError> {
    refuse_contents(&folder.contents().map_err(refused)?, folder, options)?;
    let lock = folder.lock().map_err(|error| match error {
        IoError::Busy { .. } => RunError::Busy(error),
        other => refused(other),
    })?;
    // Another process may have written to the folder before this one had the lock.
    let contents = folder.contents().map_err(refused)?;
    refuse_contents(&contents, folder, options)?;
    if contents == Contents::Run && !options.overwrite {
        refuse_other_scene(scene, model, folder)?;
    } else {
        folder.clear(&model.inputs).map_err(refused)?;
    }
    Ok(lock)
}

/// Prepares the folder for a new run, or for the continuation of a stored one.
fn prepare_folder(
    scene: &Scene,
    model: &Model,
    options: &RunOptions,
    folder: &RunFolder,
) -> Result<ResumePoint, IoError> {
    folder.prepare()?;
    let is_new = folder.manifest().is_none();
    let copied = folder.write_inputs(&model.inputs)?;
    folder.write_text("scene.toml", &scene.with_texts(&model.renamed).to_toml())?;
    folder.write_topology(model)?;
    let mut point = resume::restore(folder, model)?;
    for path in copied.iter().filter(|_| !is_new) {
        let repair = format!("{} was missing or damaged: copied again", path.display());
        point.repairs.push(repair);
    }
    let manifest = manifest(scene, model, options, folder, &point);
    folder.write_text("manifest.json", &format!("{manifest:#}\n"))?;
    folder.confirm_inputs()?;
    Ok(point)
}

/// Name of the run. A run that is resumed from its own `scene.toml` keeps the name in its manifest.
fn run_name(scene: &Scene, folder: &RunFolder) -> String {
    let manifest = folder.manifest().unwrap_or_default();
    manifest["scene"].as_str().unwrap_or(&scene.name).to_owned()
}

/// Contents of `manifest.json`: the command, build and machine of the first start and of each
/// continuation, and the facts that readers of the run need.
fn manifest(
    scene: &Scene,
    model: &Model,
    options: &RunOptions,
    folder: &RunFolder,
    point: &ResumePoint,
) -> Json {
    let build = &options.build;
    let start = json!({
        "command": options.command,
        "version": build.version,
        "commit": build.commit,
        "rustc": build.rustc,
        "cpu": machine::processor(),
        "isa": machine::instruction_set(),
    });
    let mut manifest = match folder.manifest() {
        Some(mut stored) => {
            if point.state.step < model.clock.steps() {
                let mut start = start;
                start["from_step"] = json!(point.state.step);
                match stored["continued"].as_array_mut() {
                    Some(list) => list.push(start),
                    None => stored["continued"] = json!([start]),
                }
            }
            stored
        }
        None => start,
    };
    if let Json::Object(manifest) = &mut manifest {
        manifest.insert("scene".to_owned(), json!(run_name(scene, folder)));
        manifest.extend(facts(scene, model));
    }
    manifest
}
