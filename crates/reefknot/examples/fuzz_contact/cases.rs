//! Builds and steps scenes that abuse contact, and notes what must not happen.
//!
//! Each scene has threads of its own, which tell of every step. One that is silent for too long is left to itself: a step cannot be
//! stopped, but the next scene need not wait for it.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use reefknot::check;
use reefknot::integrate::{self, Scratch, StepError, StepOptions};
use reefknot::model::Model;
use reefknot::report::StepReport;
use reefknot::scene::{Scene, SceneRequest};

use crate::abuse;
use crate::offences::{crossing, offence};

/// A step that takes longer than this hangs, as far as a user can tell.
const SLOW: Duration = Duration::from_secs(20);

/// A scene is left when it has taken this long: there are others.
const ENOUGH: Duration = Duration::from_secs(8);

/// Progress is told every so many scenes.
const TOLD: u64 = 50;

/// Something that must not happen.
#[derive(Debug)]
#[allow(
    dead_code,
    reason = "the test that shares this file shows it as a whole"
)]
pub(crate) struct Finding {
    pub(crate) kind: &'static str,
    pub(crate) seed: u64,
    /// The step, from 1; what happens before the first one counts to it.
    pub(crate) step: u64,
    pub(crate) what: String,
}

/// What happened.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) scenes: u64,
    /// Took all their steps.
    pub(crate) finished: u64,
    /// Left because they took too long, though no single step did.
    pub(crate) left: u64,
    /// Left because what is held or told to move went through what is: nobody stops that, and what hangs on it is pierced from then on.
    pub(crate) pierced: u64,
    /// Refused before the first step: things inside each other, or steps too long.
    pub(crate) refused: u64,
    /// Not even built: a mistake of the generator.
    pub(crate) not_built: u64,
    pub(crate) not_built_example: Option<String>,
    /// Ended with an error, by its kind.
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

    /// Counts a scene that ended in some step.
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
            Ending::Found(kind, what) => self.findings.push(Finding {
                kind,
                seed,
                step,
                what,
            }),
        }
    }
}

/// How a scene ended.
enum Ending {
    Finished,
    Left,
    Pierced,
    Refused(String),
    NotBuilt(String),
    Failed(StepError),
    /// With something that must not happen: its kind, and what it was.
    Found(&'static str, String),
}

impl Ending {
    fn words(&self) -> String {
        match self {
            Ending::Finished => "finished".to_owned(),
            Ending::Left => "left".to_owned(),
            Ending::Pierced => "told things went through each other".to_owned(),
            Ending::Refused(why) | Ending::NotBuilt(why) => why.clone(),
            Ending::Failed(error) => error.to_string(),
            Ending::Found(kind, what) => format!("{kind}: {what}"),
        }
    }
}

/// Which scenes to run.
#[allow(dead_code, reason = "the test that shares this file writes none")]
pub(crate) enum Scenes {
    /// Those of some seeds.
    Seeds(Vec<u64>),
    /// One that is given, as seed 0.
    Written(String),
}

/// Runs scenes.
///
/// # Errors
/// If threads cannot be started, or the folder not be written to.
pub(crate) fn run(scenes: Scenes, save: Option<&Path>) -> std::io::Result<Tally> {
    if let Some(folder) = save {
        std::fs::create_dir_all(folder)?;
    }
    let prints = std::env::var("FUZZ_CASES").is_ok();
    let mut tally = Tally::default();
    let texts: Box<dyn Iterator<Item = (u64, String)>> = match scenes {
        Scenes::Seeds(seeds) => Box::new(seeds.into_iter().map(|seed| (seed, abuse::scene(seed)))),
        Scenes::Written(text) => Box::new(std::iter::once((0, text))),
    };
    for (seed, text) in texts {
        let file = save.map(|folder| folder.join(format!("{seed}.toml")));
        if let Some(file) = &file {
            std::fs::write(file, &text)?;
        }
        let (step, ending) = watch(seed, text, &mut tally)?;
        if prints {
            eprintln!("{seed}: {}", ending.words());
        }
        if let (Some(file), false) = (&file, matches!(ending, Ending::Found(..))) {
            std::fs::remove_file(file)?;
        }
        tally.add_scene(seed, step, ending);
        if tally.scenes.is_multiple_of(TOLD) {
            let (scenes, steps, findings) = (tally.scenes, tally.steps, tally.findings.len());
            eprintln!("{scenes} scenes, {steps} steps, {findings} findings");
        }
    }
    Ok(tally)
}

/// What a scene that runs tells.
enum News {
    Step(Box<StepReport>),
    End(Ending),
}

/// Runs a scene on threads of its own and listens to it: in which step it ended, and how.
fn watch(seed: u64, text: String, tally: &mut Tally) -> std::io::Result<(u64, Ending)> {
    let threads = rayon::ThreadPoolBuilder::new().thread_name(move |_| format!("scene {seed}"));
    let threads = threads.build().map_err(std::io::Error::other)?;
    let (tell, news) = channel();
    threads.spawn(move || {
        let ending = catch_unwind(AssertUnwindSafe(|| play(text, &tell)));
        let ending = ending.unwrap_or_else(|panic| Ending::Found("panic", message(&*panic)));
        // Nobody listens if it was left to itself.
        let _ = tell.send(News::End(ending));
    });
    let mut step = 1;
    loop {
        let began = Instant::now();
        let heard = news.recv_timeout(SLOW);
        let taken = began.elapsed();
        if taken > tally.slowest {
            (tally.slowest, tally.slowest_seed) = (taken, seed);
        }
        match heard {
            Ok(News::Step(report)) => {
                tally.add_step(&report);
                step = report.step + 1;
            }
            Ok(News::End(ending)) => return Ok((step, ending)),
            Err(_) => return Ok((step, Ending::Found("slow", format!("more than {SLOW:?}")))),
        }
    }
}

/// What a panic says; where it was, the program has said already.
fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or_default().to_owned()
}

/// Builds a scene and takes its steps.
fn play(text: String, tell: &Sender<News>) -> Ending {
    let (model, mut scratch) = match begin(text) {
        Ok(built) => built,
        Err(ending) => return ending,
    };
    let began = Instant::now();
    let mut state = model.start.clone();
    while state.step < model.clock.steps() {
        if began.elapsed() > ENOUGH {
            return Ending::Left;
        }
        let step = match integrate::step_with(&model, &state, StepOptions::TEST, &mut scratch).0 {
            Ok(step) => step,
            Err(error) => return Ending::Failed(error),
        };
        if let Some((kind, what)) = offence(&model, &step) {
            return Ending::Found(kind, what);
        }
        let touch = model.touch.as_ref();
        match touch.and_then(|touch| crossing(&model, touch, &step.to)) {
            None => {}
            Some((true, _)) => return Ending::Pierced,
            Some((false, what)) => return Ending::Found("crossing that was not noticed", what),
        }
        if tell.send(News::Step(Box::new(step.report))).is_err() {
            return Ending::Left;
        }
        state = step.to;
    }
    Ending::Finished
}

/// What a run does before its first step.
fn begin(text: String) -> Result<(Model, Scratch), Ending> {
    let request = SceneRequest {
        text,
        ..SceneRequest::default()
    };
    let built = Scene::read(&request).and_then(|scene| Model::build(&scene));
    let model = built.map_err(|problems| Ending::NotBuilt(problems.to_string()))?;
    let refused = |error: StepError| Ending::Refused(error.to_string());
    integrate::refuse_unstable(&model).map_err(refused)?;
    let inside = check::intersections(&model);
    if !inside.is_empty() {
        return Err(Ending::Refused(inside.join("; ")));
    }
    let scratch = Scratch::new(&model);
    Ok((model, scratch))
}
