//! The time loop of a run: steps, frames, logs and checkpoints.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use reefknot_contact::file::problem::CapturedProblem;

use super::{Ending, Observer, Progress, RunError, RunOptions, RunOutcome, Stop};
use crate::integrate::{Scratch, StepError, StepOptions, claims};
use crate::io::IoError;
use crate::io::atomic::flush_to_disk;
use crate::io::folder::{Log, Origin, RunFolder};
use crate::machine;
use crate::model::Model;
use crate::probe::ProbeSeries;
use crate::report::{Statistics, StepReport, Summary, SummaryFacts};
use crate::resume::StepLog;
use crate::scene::Scene;
use crate::state::State;
use crate::step::{Step, step_with};

/// A checkpoint is written at the end of a frame if the last one is older than this.
const CHECKPOINT_INTERVAL: Duration = Duration::from_secs(1);

/// State of a run in progress.
pub(super) struct ActiveRun<'a> {
    pub(super) name: String,
    pub(super) scene: &'a Scene,
    pub(super) model: &'a Model,
    pub(super) options: &'a RunOptions,
    pub(super) folder: &'a RunFolder,
    pub(super) origin: Origin,
    pub(super) statistics: Statistics,
    pub(super) probes: ProbeSeries,
    pub(super) log: Log,
    pub(super) probe_log: Log,
    pub(super) setup: Duration,
    /// Frames that are not flushed to disk yet.
    pub(super) unflushed: Vec<PathBuf>,
    /// Time spent on checkpoints since the last step (s). The next step reports it.
    pub(super) saving_s: f64,
    /// First intersection of the steps of this process, as a sentence.
    pub(super) first_intersection: Option<String>,
    /// Number of stored contact problems.
    pub(super) captured: u64,
}

impl ActiveRun<'_> {
    /// Writes frame, probes and checkpoint of the start.
    pub(super) fn write_start(&mut self, state: &State) -> Result<(), IoError> {
        self.folder.write_frame(0, self.model, state, None)?;
        self.unflushed.push(self.folder.frame(0));
        self.write_probes(state, None)?;
        self.save(state).map(drop)
    }

    /// Computes steps until the end or a stop.
    pub(super) fn advance(
        mut self,
        mut state: State,
        began: Instant,
        observer: &mut dyn Observer,
    ) -> Result<RunOutcome, RunError> {
        let clock = &self.model.clock;
        let mut scratch = Scratch::new(self.model);
        let mut saved = Instant::now();
        let mut stopwatch = Stopwatch::start();
        observer.start(state.step, clock.steps());
        while state.step < clock.steps() {
            let next = state.step + 1;
            let captures = &self.options.capture;
            let options = StepOptions {
                test: self.options.certify || clock.frame_at(next).is_some(),
                capture: captures.iter().any(|steps| steps.contains(&next)),
            };
            let (taken, captured) = step_with(self.model, &state, options, &mut scratch);
            // Also for a step that fails: its problem helps to find the cause.
            self.write_problem(next, captured)
                .map_err(RunError::Files)?;
            let mut step = match taken {
                Ok(step) => step,
                Err(error) => return Err(self.failed(&state, error)),
            };
            self.write_step(&mut step, &mut stopwatch)
                .map_err(RunError::Files)?;
            observer.progress(&Progress {
                step: step.to.step,
                steps: clock.steps(),
                report: &step.report,
            });
            state = step.to;
            let limit = self
                .options
                .time_limit
                .filter(|limit| began.elapsed() >= *limit);
            let stop = observer.stop().or(limit.map(|_| Stop::TimeLimit));
            let finished = state.step == clock.steps();
            let frame_ends = clock.frame_at(state.step).is_some();
            if finished || stop.is_some() || (frame_ends && saved.elapsed() >= CHECKPOINT_INTERVAL)
            {
                self.save(&state).map_err(RunError::Files)?;
                saved = Instant::now();
            }
            if let Some(stop) = stop.filter(|_| !finished) {
                return Ok(self.outcome(Ending::Stopped(stop), &state));
            }
        }
        Ok(self.outcome(Ending::Finished, &state))
    }

    /// Writes the results of a step: frame, probes and log.
    fn write_step(&mut self, step: &mut Step, stopwatch: &mut Stopwatch) -> Result<(), IoError> {
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
        (step.report.wall_s, step.report.cpu_s) = stopwatch.lap();
        let line = serde_json::to_string(&step.report).unwrap_or_default();
        self.log.line(&line)?;
        if frame.is_some() {
            self.log.flush(false)?;
            self.probe_log.flush(false)?;
        }
        self.statistics.add(&step.report);
        if let (Some(intersection), None) = (&step.violation, &self.first_intersection) {
            let StepReport { step, time, .. } = step.report;
            self.first_intersection = Some(format!("step {step} at {time:.6} s: {intersection}"));
        }
        Ok(())
    }

    /// Writes the contact problem of a step, if it was captured and has contacts.
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
        let values = |probe: &crate::model::probe::Probe| probe.values(self.model, state, step);
        let row: Vec<f64> = self.model.probes.iter().flat_map(values).collect();
        let mut line = format!("{},{}", state.step, self.model.clock.time(state.step));
        for value in &row {
            line += &format!(",{value}");
        }
        self.probes.add(&row);
        self.probe_log.line(&line)
    }

    /// Writes a checkpoint, after the logs and frames before it are flushed to disk.
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

    /// Error of a failed step, after a checkpoint of the state before it.
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

    pub(super) fn outcome(&self, ending: Ending, state: &State) -> RunOutcome {
        let summary = self.summary(state);
        let is_claimed = summary.facts.claims.gap;
        let is_violated = is_claimed && summary.intersections.is_some_and(|count| count > 0);
        let first = || {
            let found = self.first_intersection.clone();
            found.unwrap_or_else(|| self.logged_intersection())
        };
        RunOutcome {
            ending,
            first_intersection: is_violated.then(first),
            captured: self.captured,
            summary,
        }
    }

    /// First intersection of steps before the run was resumed. The log has the step, but not the
    /// objects.
    fn logged_intersection(&self) -> String {
        let reports = StepLog::read(self.folder).map(|log| log.reports);
        let intersects = |report: &StepReport| report.intersections.is_some_and(|count| count > 0);
        let first = reports.unwrap_or_default().into_iter().find(intersects);
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
            claims: claims(model),
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

/// Measures wall and processor time between steps.
struct Stopwatch {
    wall: Instant,
    cpu: Option<Duration>,
}

impl Stopwatch {
    fn start() -> Stopwatch {
        Stopwatch {
            wall: Instant::now(),
            cpu: machine::processor_time(),
        }
    }

    /// Seconds since the last call.
    fn lap(&mut self) -> (f64, Option<f64>) {
        let now = Stopwatch::start();
        let wall = (now.wall - self.wall).as_secs_f64();
        let cpu = now
            .cpu
            .zip(self.cpu)
            .map(|(now, then)| (now - then).as_secs_f64());
        *self = now;
        (wall, cpu)
    }
}
