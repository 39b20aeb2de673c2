//! Builds and steps generated scenes, and records violated requirements.
//!
//! Each scene runs on its own threads, which report every step. A scene without a report for too
//! long is abandoned: a step cannot be stopped, but the next scene need not wait for it.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use reefknot_sim::check;
use reefknot_sim::integrate::{Scratch, StepError, StepOptions, refuse_unstable};
use reefknot_sim::model::Model;
use reefknot_sim::report::StepReport;
use reefknot_sim::scene::{Scene, SceneRequest};
use reefknot_sim::step::step_with;

use crate::generate;
use crate::violations::{crossing, violation};

/// Time limit of a step.
const STEP_LIMIT: Duration = Duration::from_secs(20);

/// Time limit of a scene.
const SCENE_LIMIT: Duration = Duration::from_secs(8);

/// Number of scenes between progress messages.
const PROGRESS_INTERVAL: u64 = 50;

/// A violated requirement.
#[derive(Debug)]
#[allow(
    dead_code,
    reason = "the test that shares this file shows it as a whole"
)]
pub(crate) struct Finding {
    pub(crate) kind: &'static str,
    pub(crate) seed: u64,
    /// The step, counted from 1; 1 also before the first step.
    pub(crate) step: u64,
    pub(crate) description: String,
}

/// Counts and findings of all scenes.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) scenes: u64,
    /// Completed all steps.
    pub(crate) finished: u64,
    /// Abandoned after [`SCENE_LIMIT`].
    pub(crate) left: u64,
    /// Abandoned because prescribed or held points passed through others of that kind: no solver
    /// can prevent this, and attached objects intersect from then on.
    pub(crate) pierced: u64,
    /// Refused before the first step: intersections at the start, or an unstable time step.
    pub(crate) refused: u64,
    /// Invalid scenes: a mistake of the generator.
    pub(crate) not_built: u64,
    pub(crate) not_built_example: Option<String>,
    /// Failed steps by kind of error.
    pub(crate) errors: BTreeMap<String, u64>,
    pub(crate) steps: u64,
    pub(crate) steps_with_contacts: u64,
    pub(crate) halvings: u64,
    pub(crate) failsafe_steps: u64,
    pub(crate) slowest: Duration,
    pub(crate) slowest_seed: u64,
    pub(crate) findings: Vec<Finding>,
}

impl Tally {
    /// One line of JSON.
    pub(crate) fn json(&self) -> String {
        let mut findings: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
        for finding in &self.findings {
            findings.entry(finding.kind).or_default().push(finding.seed);
        }
        let slow = findings.remove("slow").unwrap_or_default();
        serde_json::json!({
            "scenes": self.scenes,
            "finished": self.finished,
            "left": self.left,
            "pierced": self.pierced,
            "refused": self.refused,
            "not_built": self.not_built,
            "errors": self.errors,
            "steps": self.steps,
            "steps_with_contacts": self.steps_with_contacts,
            "halvings": self.halvings,
            "failsafe_steps": self.failsafe_steps,
            "slowest_step_ms": (self.slowest.as_secs_f64() * 1e4).round() / 10.0,
            "slowest_seed": self.slowest_seed,
            "slow": slow,
            "findings": findings,
        })
        .to_string()
    }

    fn add_step(&mut self, report: &StepReport) {
        self.steps += 1;
        self.steps_with_contacts += u64::from(report.contacts > 0);
        self.halvings += report.halvings;
        self.failsafe_steps += u64::from(report.failsafe);
    }

    /// Counts a scene, given its last step and its end.
    fn add_scene(&mut self, seed: u64, step: u64, ending: Ending) {
        self.scenes += 1;
        match ending {
            Ending::Finished => self.finished += 1,
            Ending::Left => self.left += 1,
            Ending::Pierced => self.pierced += 1,
            Ending::Refused(_) => self.refused += 1,
            Ending::NotBuilt(message) => {
                self.not_built += 1;
                self.not_built_example.get_or_insert(message);
            }
            Ending::Failed(error) => {
                let kind = format!("{error:?}");
                let kind = kind.split(' ').next().unwrap_or_default().to_owned();
                *self.errors.entry(kind).or_default() += 1;
            }
            Ending::Found(kind, description) => self.findings.push(Finding {
                kind,
                seed,
                step,
                description,
            }),
        }
    }
}

/// End of a scene.
enum Ending {
    Finished,
    Left,
    Pierced,
    Refused(String),
    NotBuilt(String),
    Failed(StepError),
    /// Finding: kind and description.
    Found(&'static str, String),
}

impl Ending {
    fn describe(&self) -> String {
        match self {
            Ending::Finished => "finished".to_owned(),
            Ending::Left => "abandoned: too slow".to_owned(),
            Ending::Pierced => "prescribed or held points passed through each other".to_owned(),
            Ending::Refused(why) | Ending::NotBuilt(why) => why.clone(),
            Ending::Failed(error) => error.to_string(),
            Ending::Found(kind, description) => format!("{kind}: {description}"),
        }
    }
}

/// Scenes to run.
#[allow(dead_code, reason = "the test that shares this file uses seeds only")]
pub(crate) enum Scenes {
    /// Generated from seeds.
    Seeds(Vec<u64>),
    /// A given scene, as seed 0.
    Text(String),
}

/// Runs scenes, and saves those with findings to a folder.
///
/// # Errors
/// If threads cannot be started or the folder cannot be written.
pub(crate) fn run(scenes: Scenes, save: Option<&Path>) -> std::io::Result<Tally> {
    if let Some(folder) = save {
        std::fs::create_dir_all(folder)?;
    }
    let prints = std::env::var("FUZZ_CASES").is_ok();
    let mut tally = Tally::default();
    let texts: Box<dyn Iterator<Item = (u64, String)>> = match scenes {
        Scenes::Seeds(seeds) => {
            Box::new(seeds.into_iter().map(|seed| (seed, generate::scene(seed))))
        }
        Scenes::Text(text) => Box::new(std::iter::once((0, text))),
    };
    for (seed, text) in texts {
        let file = save.map(|folder| folder.join(format!("{seed}.toml")));
        if let Some(file) = &file {
            std::fs::write(file, &text)?;
        }
        let (step, ending) = run_scene(seed, text, &mut tally)?;
        if prints {
            eprintln!("{seed}: {}", ending.describe());
        }
        if let (Some(file), false) = (&file, matches!(ending, Ending::Found(..))) {
            std::fs::remove_file(file)?;
        }
        tally.add_scene(seed, step, ending);
        if tally.scenes.is_multiple_of(PROGRESS_INTERVAL) {
            let (scenes, steps, findings) = (tally.scenes, tally.steps, tally.findings.len());
            eprintln!("{scenes} scenes, {steps} steps, {findings} findings");
        }
    }
    Ok(tally)
}

/// Report of a running scene.
enum Progress {
    Step(Box<StepReport>),
    End(Ending),
}

/// Runs a scene on its own threads; returns its last step and its end.
fn run_scene(seed: u64, text: String, tally: &mut Tally) -> std::io::Result<(u64, Ending)> {
    let threads = rayon::ThreadPoolBuilder::new().thread_name(move |_| format!("scene {seed}"));
    let threads = threads.build().map_err(std::io::Error::other)?;
    let (sender, receiver) = channel();
    threads.spawn(move || {
        let ending = catch_unwind(AssertUnwindSafe(|| simulate(text, &sender)));
        let ending = ending.unwrap_or_else(|panic| Ending::Found("panic", panic_message(&*panic)));
        // Sending fails if the scene was abandoned.
        let _ = sender.send(Progress::End(ending));
    });
    let mut step = 1;
    loop {
        let start = Instant::now();
        let received = receiver.recv_timeout(STEP_LIMIT);
        let taken = start.elapsed();
        if taken > tally.slowest {
            (tally.slowest, tally.slowest_seed) = (taken, seed);
        }
        match received {
            Ok(Progress::Step(report)) => {
                tally.add_step(&report);
                step = report.step + 1;
            }
            Ok(Progress::End(ending)) => return Ok((step, ending)),
            Err(_) => {
                return Ok((
                    step,
                    Ending::Found("slow", format!("more than {STEP_LIMIT:?}")),
                ));
            }
        }
    }
}

/// Message of a panic.
fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or_default().to_owned()
}

/// Builds and steps a scene, and reports each step.
fn simulate(text: String, sender: &Sender<Progress>) -> Ending {
    let (model, mut scratch) = match build(text) {
        Ok(built) => built,
        Err(ending) => return ending,
    };
    let start = Instant::now();
    let mut state = model.start.clone();
    while state.step < model.clock.steps() {
        if start.elapsed() > SCENE_LIMIT {
            return Ending::Left;
        }
        let step = match step_with(&model, &state, StepOptions::TEST, &mut scratch).0 {
            Ok(step) => step,
            Err(error) => return Ending::Failed(error),
        };
        if let Some((kind, description)) = violation(&model, &step) {
            return Ending::Found(kind, description);
        }
        let collision = model.collision.as_ref();
        match collision.and_then(|collision| crossing(&model, collision, &step.to)) {
            None => {}
            Some((true, _)) => return Ending::Pierced,
            Some((false, description)) => {
                return Ending::Found("unreported intersection", description);
            }
        }
        if sender.send(Progress::Step(Box::new(step.report))).is_err() {
            return Ending::Left;
        }
        state = step.to;
    }
    Ending::Finished
}

/// Builds a scene, with the checks that a run makes before its first step.
fn build(text: String) -> Result<(Model, Scratch), Ending> {
    let request = SceneRequest {
        text,
        ..SceneRequest::default()
    };
    let built = Scene::read(&request).and_then(|scene| Model::build(&scene));
    let model = built.map_err(|problems| Ending::NotBuilt(problems.to_string()))?;
    let refused = |error: StepError| Ending::Refused(error.to_string());
    refuse_unstable(&model).map_err(refused)?;
    let inside = check::intersections(&model);
    if !inside.is_empty() {
        return Err(Ending::Refused(inside.join("; ")));
    }
    let scratch = Scratch::new(&model);
    Ok((model, scratch))
}
