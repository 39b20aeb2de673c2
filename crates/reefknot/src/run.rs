//! A whole run: from a scene to a folder, through any number of stops.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use reefknot_contact::file::problem::CapturedProblem;
use serde_json::{Value as Json, json};

use crate::integrate::{self, Scratch, Step, StepError, StepOptions};
use crate::io::IoError;
use crate::io::atomic::flush_to_disk;
use crate::io::folder::{Contents, FORMAT_VERSION, Log, Origin, RunFolder};
use crate::machine;
use crate::model::Model;
use crate::probe::ProbeSeries;
use crate::report::{Statistics, StepReport, Summary, SummaryFacts};
use crate::resume::{self, ResumePoint, StepLog};
use crate::scene::{Scene, SceneRequest};
use crate::state::State;

/// A checkpoint is written at the end of a frame when the last one is older than this.
const CHECKPOINT_EVERY: Duration = Duration::from_secs(1);

/// What to do with a folder, and when to stop.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// The folder of the run.
    pub folder: PathBuf,
    /// Go on with what is there.
    pub resume: bool,
    /// Remove the run that is there.
    pub overwrite: bool,
    /// Stop with a checkpoint after this time.
    pub time_limit: Option<Duration>,
    /// The independent test looks at every step, not only at those that end a frame.
    pub certify: bool,
    /// Steps whose contact problem is stored, if they have contacts.
    pub capture: Vec<RangeInclusive<u64>>,
    /// The command line, for the manifest.
    pub command: Vec<String>,
    /// Which build of the program this is.
    pub build: Build,
    /// Threads that work on it.
    pub threads: usize,
}

/// Which build of the program this is.
#[derive(Clone, Debug, Default)]
pub struct Build {
    /// Version.
    pub version: String,
    /// Commit of the source.
    pub commit: String,
    /// Compiler.
    pub rustc: String,
}

/// Why a run was stopped from outside.
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
    /// All frames are there.
    Finished,
    /// All frames were there already.
    WasFinished,
    /// Stopped with a checkpoint.
    Stopped(Stop),
}

/// How far a run is.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// Steps done.
    pub step: u64,
    /// Steps of the whole run.
    pub steps: u64,
    /// The last step.
    pub report: &'a StepReport,
}

/// Whoever watches a run.
pub trait Watcher {
    /// Something worth a sentence happened.
    fn note(&mut self, sentence: &str);
    /// The first step is about to be taken, after so many were done before.
    fn start(&mut self, step: u64, steps: u64);
    /// A step was taken.
    fn progress(&mut self, progress: &Progress<'_>);
    /// Whether to stop now.
    fn stop(&self) -> Option<Stop>;
}

/// Why a run did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Nothing was computed.
    #[error("{0}")]
    Refused(String),
    /// A step failed.
    #[error("step {step} at {time:.6} s failed: {source}\nthe last good state is {checkpoint}")]
    Step {
        /// The step.
        step: u64,
        /// Where it would have ended (s).
        time: f64,
        /// Why.
        source: Box<StepError>,
        /// The file of the state before it.
        checkpoint: String,
    },
    /// The folder failed while the run was under way.
    #[error("{0}")]
    Files(IoError),
}

/// What a run leaves behind.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How it ended.
    pub ending: Ending,
    /// Its summary.
    pub summary: Summary,
    /// If there are intersections, and the method claims that there are none: the first, with step
    /// and time, in a sentence.
    pub offence: Option<String>,
    /// How many contact problems were stored.
    pub captured: u64,
}

/// Runs a scene into a folder.
///
/// # Errors
/// [`RunError::Refused`] before the first step, the others after it.
pub fn run(
    scene: &Scene,
    model: &Model,
    options: &RunOptions,
    watcher: &mut dyn Watcher,
) -> Result<Outcome, RunError> {
    let began = Instant::now();
    let refused = |error: IoError| RunError::Refused(error.to_string());
    integrate::refuse_unstable(model).map_err(|error| RunError::Refused(error.to_string()))?;
    refuse_intersections(model)?;
    let folder = RunFolder::new(&options.folder);
    refuse_contents(&folder.contents().map_err(refused)?, &folder, options)?;
    let _lock = folder.lock().map_err(refused)?;
    // Another process may have come and gone before the lock was ours.
    let contents = folder.contents().map_err(refused)?;
    refuse_contents(&contents, &folder, options)?;
    if contents == Contents::Run && !options.overwrite {
        refuse_other_scene(scene, model, &folder)?;
    } else {
        folder.clear(&model.inputs).map_err(refused)?;
    }
    let name = run_name(scene, &folder);
    let point = begin(scene, model, options, &folder).map_err(refused)?;
    for repair in &point.repairs {
        watcher.note(repair);
    }
    let origin = Origin {
        isa: machine::instruction_set(),
        commit: options.build.commit.clone(),
    };
    if let Some(earlier) = point.origin.filter(|earlier| *earlier != origin) {
        watcher.note(&format!(
            "the run comes from build {} on {}, this is build {} on {}: bits may differ from here on",
            earlier.commit, earlier.isa, origin.commit, origin.isa
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
        offence: None,
        captured: 0,
    };
    if point.state.step >= model.clock.steps() {
        return Ok(active.outcome(Ending::WasFinished, &point.state));
    }
    if point.state.step == 0 {
        active.write_start(&point.state).map_err(refused)?;
    }
    active.setup = began.elapsed();
    active.advance(point.state, began, watcher)
}

/// Refuses a scene that starts with things inside each other: no motion from there is free of intersections.
fn refuse_intersections(model: &Model) -> Result<(), RunError> {
    let found = crate::check::intersections(model);
    match found.is_empty() {
        true => Ok(()),
        false => Err(RunError::Refused(format!(
            "the scene starts with things inside each other:\n  {}\nmove them apart, or give method.solver = \"none\" to simulate without contact",
            found.join("\n  ")
        ))),
    }
}

/// Refuses to write where something is that nobody asked to replace.
fn refuse_contents(
    contents: &Contents,
    folder: &RunFolder,
    options: &RunOptions,
) -> Result<(), RunError> {
    let path = folder.root().display();
    match contents {
        Contents::Foreign(name) => Err(RunError::Refused(format!(
            "{path} holds `{name}`, which is no part of a run; choose another folder with --out"
        ))),
        Contents::Run if !options.resume && !options.overwrite => Err(RunError::Refused(format!(
            "{path} holds a run already; continue it with --resume, replace it with --overwrite, or choose another folder with --out"
        ))),
        _ => Ok(()),
    }
}

/// Refuses to continue the run of another scene, or to cut it short.
fn refuse_other_scene(scene: &Scene, model: &Model, folder: &RunFolder) -> Result<(), RunError> {
    let path = folder.root().display();
    let refused = |reason: String| RunError::Refused(reason);
    let text = folder
        .read_text("scene.toml")
        .map_err(|error| refused(error.to_string()))?;
    // A lost or damaged manifest is written anew: the scene says whose run it is.
    if let Some(manifest) = folder.manifest() {
        let age = match manifest["format_version"].as_u64().unwrap_or(0) {
            version if version > FORMAT_VERSION => "a newer",
            version if version < FORMAT_VERSION => "an older",
            _ => "this",
        };
        if age != "this" {
            return Err(refused(format!(
                "{path} was written by {age} reefknot ({}); continue it with that one, or start again with --overwrite",
                manifest["version"].as_str().unwrap_or("unknown")
            )));
        }
    }
    let stored = Scene::read(&SceneRequest {
        file: folder.file("scene.toml").display().to_string(),
        text,
        ..SceneRequest::default()
    });
    let stored = stored.map_err(|problems| refused(problems.to_string()))?;
    if let Some(difference) = scene.with_texts(&model.renamed).difference(&stored) {
        return Err(refused(format!(
            "{path} holds another run: {difference}; only more frames and other threads can be changed with --resume"
        )));
    }
    let other_input = folder.other_input(&model.inputs);
    if let Some(difference) = other_input.map_err(|error| refused(error.to_string()))? {
        let advice = match folder.holds(&model.inputs) {
            true => "put its inputs back as they were, or continue from the scene that the run began with"
                .to_owned(),
            false => format!(
                "`reefknot run {} --out {path} --resume` goes on with the copies that it has made, --out chooses another folder",
                folder.file("scene.toml").display()
            ),
        };
        return Err(refused(format!(
            "{path} holds another run: {difference}; {advice}"
        )));
    }
    let clock = crate::build::clock(&stored).map_err(|problems| refused(problems.to_string()))?;
    if model.clock.frames < clock.frames {
        return Err(refused(format!(
            "{path} holds a run of {} frames, which cannot be cut to {}; give --frames {0} or more, or choose another folder with --out",
            clock.frames, model.clock.frames
        )));
    }
    Ok(())
}

/// Makes the folder ready: a new run, or one to go on with.
fn begin(
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
    let mut point = resume::find(folder, model)?;
    for path in copied.iter().filter(|_| !is_new) {
        let repair = format!("{} was missing or damaged: copied again", path.display());
        point.repairs.push(repair);
    }
    let manifest = manifest(scene, model, options, folder, &point);
    folder.write_text("manifest.json", &format!("{manifest:#}\n"))?;
    folder.keep_inputs()?;
    Ok(point)
}

/// What the run is called: also one that goes on from its own `scene.toml` keeps its name.
fn run_name(scene: &Scene, folder: &RunFolder) -> String {
    let manifest = folder.manifest().unwrap_or_default();
    manifest["scene"].as_str().unwrap_or(&scene.name).to_owned()
}

/// What made the run: first, and each time that it went on.
fn manifest(
    scene: &Scene,
    model: &Model,
    options: &RunOptions,
    folder: &RunFolder,
    point: &ResumePoint,
) -> Json {
    let build = &options.build;
    let maker = json!({
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
                let mut maker = maker;
                maker["from_step"] = json!(point.state.step);
                match stored["continued"].as_array_mut() {
                    Some(list) => list.push(maker),
                    None => stored["continued"] = json!([maker]),
                }
            }
            stored
        }
        None => maker,
    };
    let facts = json!({
        "format_version": FORMAT_VERSION,
        "seed": scene.tables.seed,
        "scene": run_name(scene, folder),
        "title": scene.tables.title,
        "frame_rate": model.clock.frame_rate,
        "steps_per_frame": model.clock.steps_per_frame,
        "frames": model.clock.frames,
        "start_frame": scene.tables.time.start_frame,
        "tolerance_m": model.method.tolerance.0,
        "claims": model.claims(),
        "objects": model.objects.iter().map(|object| &object.name).collect::<Vec<_>>(),
        "kinds": model.objects.iter().map(|object| object.kind.word()).collect::<Vec<_>>(),
        "inputs": model.inputs.iter().map(|input| (&input.name, input.fingerprint())).collect::<BTreeMap<_, _>>(),
    });
    if let (Json::Object(manifest), Json::Object(facts)) = (&mut manifest, facts) {
        manifest.extend(facts);
    }
    manifest
}

/// A run under way.
struct ActiveRun<'a> {
    name: String,
    scene: &'a Scene,
    model: &'a Model,
    options: &'a RunOptions,
    folder: &'a RunFolder,
    origin: Origin,
    statistics: Statistics,
    probes: ProbeSeries,
    log: Log,
    probe_log: Log,
    setup: Duration,
    /// Frames that may not be on disk yet.
    unflushed: Vec<PathBuf>,
    /// Seconds that checkpoints took since the last step; the next one reports them.
    saving_s: f64,
    /// The first intersection of the steps taken here, in a sentence.
    offence: Option<String>,
    /// How many contact problems were stored.
    captured: u64,
}

impl ActiveRun<'_> {
    /// Frame, probes and checkpoint of the start.
    fn write_start(&mut self, state: &State) -> Result<(), IoError> {
        self.folder.write_frame(0, self.model, state, None)?;
        self.unflushed.push(self.folder.frame(0));
        self.write_probes(state, None)?;
        self.save(state).map(drop)
    }

    /// Takes steps until the end or a stop.
    fn advance(
        mut self,
        mut state: State,
        began: Instant,
        watcher: &mut dyn Watcher,
    ) -> Result<Outcome, RunError> {
        let clock = &self.model.clock;
        let mut scratch = Scratch::new(self.model);
        let mut saved = Instant::now();
        let mut watch = Watch::start();
        watcher.start(state.step, clock.steps());
        while state.step < clock.steps() {
            let next = state.step + 1;
            let captures = &self.options.capture;
            let options = StepOptions {
                test: self.options.certify || clock.frame_at(next).is_some(),
                capture: captures.iter().any(|steps| steps.contains(&next)),
            };
            let (taken, captured) = integrate::step_with(self.model, &state, options, &mut scratch);
            // Also of a step that fails: its problem is the first thing to look at.
            self.write_problem(next, captured)
                .map_err(RunError::Files)?;
            let mut step = match taken {
                Ok(step) => step,
                Err(error) => return Err(self.failed(&state, error)),
            };
            self.write_step(&mut step, &mut watch)
                .map_err(RunError::Files)?;
            watcher.progress(&Progress {
                step: step.to.step,
                steps: clock.steps(),
                report: &step.report,
            });
            state = step.to;
            let limit = self
                .options
                .time_limit
                .filter(|limit| began.elapsed() >= *limit);
            let stop = watcher.stop().or(limit.map(|_| Stop::TimeLimit));
            let finished = state.step == clock.steps();
            let frame_ends = clock.frame_at(state.step).is_some();
            if finished || stop.is_some() || (frame_ends && saved.elapsed() >= CHECKPOINT_EVERY) {
                self.save(&state).map_err(RunError::Files)?;
                saved = Instant::now();
            }
            if let Some(stop) = stop.filter(|_| !finished) {
                return Ok(self.outcome(Ending::Stopped(stop), &state));
            }
        }
        Ok(self.outcome(Ending::Finished, &state))
    }

    /// Everything that a step leaves in the folder.
    fn write_step(&mut self, step: &mut Step, watch: &mut Watch) -> Result<(), IoError> {
        let writing = Instant::now();
        let frame = self.model.clock.frame_at(step.to.step);
        if let Some(frame) = frame {
            self.folder
                .write_frame(frame, self.model, &step.to, Some(step))?;
            self.unflushed.push(self.folder.frame(frame));
        }
        self.write_probes(&step.to, Some(step))?;
        let saving_s = std::mem::take(&mut self.saving_s);
        step.report.phases_s.write = saving_s + writing.elapsed().as_secs_f64();
        (step.report.wall_s, step.report.cpu_s) = watch.lap();
        let line = serde_json::to_string(&step.report).unwrap_or_default();
        self.log.line(&line)?;
        if frame.is_some() {
            self.log.flush(false)?;
            self.probe_log.flush(false)?;
        }
        self.statistics.add(&step.report);
        if let (Some(offence), None) = (&step.offence, &self.offence) {
            let StepReport { step, time, .. } = step.report;
            self.offence = Some(format!("step {step} at {time:.6} s: {offence}"));
        }
        Ok(())
    }

    /// The contact problem of a step, if it was asked for and there are contacts.
    fn write_problem(
        &mut self,
        step: u64,
        captured: Option<CapturedProblem>,
    ) -> Result<(), IoError> {
        if let Some(captured) = captured.filter(|it| !it.problem.contacts.is_empty()) {
            self.folder.write_problem(step, &captured)?;
            self.captured += 1;
        }
        Ok(())
    }

    fn write_probes(&mut self, state: &State, step: Option<&Step>) -> Result<(), IoError> {
        let values = |probe: &crate::probe::Probe| probe.values(self.model, state, step);
        let row: Vec<f64> = self.model.probes.iter().flat_map(values).collect();
        let mut line = format!("{},{}", state.step, self.model.clock.time(state.step));
        for value in &row {
            line += &format!(",{value}");
        }
        self.probes.add(&row);
        self.probe_log.line(&line)
    }

    /// A checkpoint, after everything it counts on is on disk.
    fn save(&mut self, state: &State) -> Result<PathBuf, IoError> {
        let began = Instant::now();
        self.log.flush(true)?;
        self.probe_log.flush(true)?;
        flush_to_disk(&self.folder.file("frames"), &self.unflushed)?;
        self.unflushed.clear();
        let path = self.folder.write_checkpoint(state, &self.origin)?;
        self.saving_s += began.elapsed().as_secs_f64();
        Ok(path)
    }

    /// A failed step, with the last good state on disk.
    fn failed(&mut self, state: &State, source: StepError) -> RunError {
        match self.save(state) {
            Ok(path) => RunError::Step {
                step: state.step + 1,
                time: self.model.clock.time(state.step + 1),
                source: Box::new(source),
                checkpoint: path.display().to_string(),
            },
            Err(error) => RunError::Files(error),
        }
    }

    fn outcome(&self, ending: Ending, state: &State) -> Outcome {
        let summary = self.summary(state);
        let is_claimed = summary.facts.claims.gap;
        let has_met = is_claimed && summary.intersections.is_some_and(|count| count > 0);
        let first = || {
            self.offence
                .clone()
                .unwrap_or_else(|| self.logged_offence())
        };
        Outcome {
            ending,
            offence: has_met.then(first),
            captured: self.captured,
            summary,
        }
    }

    /// The first intersection of another process that worked on the run: the log says when, not who met whom.
    fn logged_offence(&self) -> String {
        let reports = StepLog::read(self.folder).map(|log| log.reports);
        let met = |report: &StepReport| report.intersections.is_some_and(|count| count > 0);
        let first = reports.unwrap_or_default().into_iter().find(met);
        let place = first.map_or("a step".to_owned(), |report| {
            format!("step {} at {:.6} s", report.step, report.time)
        });
        format!("{place}: surfaces intersect")
    }

    fn summary(&self, state: &State) -> Summary {
        let model = self.model;
        let method = &self.scene.tables.method;
        let probes = self.probes.summary();
        let conclusions = model.conclusions.iter();
        let facts = SummaryFacts {
            conclusions: conclusions.filter_map(|it| it.of(&probes)).collect(),
            scene: self.name.clone(),
            version: self.options.build.version.clone(),
            isa: self.origin.isa.clone(),
            method: method.integrator.word().to_owned(),
            solver: method.solver.word().to_owned(),
            claims: model.claims(),
            threads: self.options.threads,
            h: model.clock.h(),
            frames: state.step / model.clock.steps_per_frame,
            simulated_s: model.clock.time(state.step),
            setup_s: self.setup.as_secs_f64(),
            vertices: model.vertices(),
            nodes: model.masses.len(),
            dofs: model.unknowns.count,
            elements: model.elements(),
            start_energy: crate::certify::energies(model, &model.start),
            probes,
            state_hash: state.hash(),
        };
        Summary::new(facts, &self.statistics)
    }
}

/// Wall and processor time between steps.
struct Watch {
    wall: Instant,
    cpu: Option<Duration>,
}

impl Watch {
    fn start() -> Watch {
        Watch {
            wall: Instant::now(),
            cpu: machine::processor_time(),
        }
    }

    /// Seconds since the last call.
    fn lap(&mut self) -> (f64, Option<f64>) {
        let now = Watch::start();
        let wall = (now.wall - self.wall).as_secs_f64();
        let cpu = now
            .cpu
            .zip(self.cpu)
            .map(|(now, then)| (now - then).as_secs_f64());
        *self = now;
        (wall, cpu)
    }
}
