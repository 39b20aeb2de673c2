//! Reads, builds and steps mutated scenes, and notes what must not happen.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use reefknot::check;
use reefknot::integrate::{self, Scratch};
use reefknot::model::Model;
use reefknot::scene::problem::Problems;
use reefknot::scene::{Scene, SceneRequest};

use crate::{mutate, seeds};

/// Cases that take longer than this hang, as far as a user can tell; nobody uses a debug build.
pub(crate) const SLOW: Duration = Duration::from_secs(if cfg!(debug_assertions) { 40 } else { 2 });

/// A case that takes this long is not waited for.
const STUCK: Duration = Duration::from_secs(60);

/// Longer reports than this bury what they say.
const LONGEST_REPORT: usize = 40_000;

/// Scenes of more vertices than this are refused.
const MAX_VERTICES: usize = 100_000;

/// Scenes of more vertices than this are allowed in one case of [`LARGE_EVERY`].
const LARGE: usize = 2000;

const LARGE_EVERY: u64 = 40;

/// The stack of the main thread where it is smallest.
const STACK: usize = 1 << 20;

/// What happened.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) cases: u64,
    pub(crate) accepted: u64,
    pub(crate) rejected: u64,
    pub(crate) built: u64,
    pub(crate) stepped: u64,
    pub(crate) steps_failed: u64,
    pub(crate) panics: u64,
    /// Refused without saying where.
    pub(crate) without_place: u64,
    /// Reports that are too long or hold control characters.
    pub(crate) bad_reports: u64,
    /// Accepted, but what is stored of them reads back differently.
    pub(crate) not_reread: u64,
    pub(crate) slowest: Duration,
    pub(crate) slowest_case: u64,
    /// The first thing of each kind that must not happen: its case, what it is, and the scene.
    pub(crate) findings: Vec<(&'static str, u64, String, String)>,
    /// Some reports, for reading.
    pub(crate) sample: Vec<String>,
}

impl Tally {
    /// Whether nothing happened that must not.
    pub(crate) fn is_clean(&self) -> bool {
        self.findings.is_empty() && self.slowest <= SLOW
    }

    /// One line of JSON.
    pub(crate) fn json(&self) -> String {
        serde_json::json!({
            "cases": self.cases,
            "accepted": self.accepted,
            "rejected": self.rejected,
            "built": self.built,
            "stepped": self.stepped,
            "steps_failed": self.steps_failed,
            "panics": self.panics,
            "rejections_without_place": self.without_place,
            "bad_reports": self.bad_reports,
            "not_reread": self.not_reread,
            "slowest_ms": (self.slowest.as_secs_f64() * 1e4).round() / 10.0,
            "slowest_case": self.slowest_case,
        })
        .to_string()
    }

    fn find(&mut self, kind: &'static str, case: u64, what: String, request: &SceneRequest) {
        if self.findings.iter().all(|finding| finding.0 != kind) {
            let scene = format!(
                "--quick {} --set {:?}\n{}",
                request.quick, request.sets, request.text
            );
            self.findings.push((kind, case, what, scene));
        }
    }
}

/// Runs `count` cases from `first` on.
///
/// # Errors
/// If the thread that runs them cannot be started.
pub(crate) fn run(first: u64, count: u64, seed: u64) -> std::io::Result<Tally> {
    let message = Arc::new(Mutex::new(String::new()));
    let recorder = message.clone();
    let previous = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let mut first = recorder.lock().unwrap_or_else(PoisonError::into_inner);
        if first.is_empty() {
            *first = info.to_string();
        }
    }));
    let current = Arc::new((AtomicU64::new(first), Mutex::new(Instant::now())));
    let watched = current.clone();
    std::thread::spawn(move || watch(&watched));
    let worker = std::thread::Builder::new()
        .stack_size(STACK)
        .spawn(move || {
            let seeds = seeds::seeds();
            let mut tally = Tally::default();
            for case in first..first + count {
                let request = mutate::request(&seeds, seed, case);
                current.0.store(case, Ordering::Relaxed);
                let start = Instant::now();
                *current.1.lock().unwrap_or_else(PoisonError::into_inner) = start;
                let result = catch_unwind(AssertUnwindSafe(|| one(case, &request, &mut tally)));
                let taken = start.elapsed();
                tally.cases += 1;
                if taken > tally.slowest {
                    (tally.slowest, tally.slowest_case) = (taken, case);
                }
                if result.is_err() {
                    tally.panics += 1;
                    let mut message = message.lock().unwrap_or_else(PoisonError::into_inner);
                    let what = std::mem::take(&mut *message);
                    tally.find("panic", case, what, &request);
                }
            }
            current.0.store(u64::MAX, Ordering::Relaxed);
            tally
        })?;
    let result = worker.join();
    std::panic::set_hook(previous);
    result.map_err(|_| std::io::Error::other("the fuzzer itself failed"))
}

/// Ends the program when a case does not end: nothing else can stop it.
fn watch(current: &(AtomicU64, Mutex<Instant>)) {
    loop {
        std::thread::sleep(Duration::from_millis(500));
        let case = current.0.load(Ordering::Relaxed);
        if case == u64::MAX {
            return;
        }
        let start = *current.1.lock().unwrap_or_else(PoisonError::into_inner);
        if start.elapsed() > STUCK {
            eprintln!("case {case} does not end");
            std::process::abort();
        }
    }
}

/// Reads a scene, and goes on with it as a run would.
fn one(case: u64, request: &SceneRequest, tally: &mut Tally) {
    let scene = match Scene::read(request) {
        Ok(scene) => scene,
        Err(problems) => {
            tally.rejected += 1;
            return note(case, &problems, request, tally);
        }
    };
    let most = match case.is_multiple_of(LARGE_EVERY) {
        true => MAX_VERTICES,
        false => LARGE,
    };
    let model = match Model::build_within(&scene, most) {
        Ok(model) => model,
        Err(problems) => {
            tally.rejected += 1;
            return note(case, &problems, request, tally);
        }
    };
    tally.accepted += 1;
    tally.built += 1;
    reread(case, &scene, request, tally);
    let _ = check::check_scene(&scene, &model);
    if step_twice(&scene, &model) {
        tally.stepped += 1;
    } else {
        tally.steps_failed += 1;
    }
}

/// Whether two steps could be taken.
fn step_twice(scene: &Scene, model: &Model) -> bool {
    let Ok(mut scratch) = Scratch::new(model) else {
        return false;
    };
    let integrator = scene.tables.method.integrator;
    let mut state = model.start.clone();
    for _ in 0..2.min(model.clock.steps()) {
        let Ok(step) = integrate::step(integrator, model, &state, &mut scratch) else {
            return false;
        };
        for probe in &model.probes {
            let _ = probe.values(model, &step.to, Some(&step));
        }
        let _ = model.clock.frame_at(step.to.step);
        state = step.to;
    }
    true
}

/// Checks that the scene that is stored with a run reads back to itself.
fn reread(case: u64, scene: &Scene, request: &SceneRequest, tally: &mut Tally) {
    let stored = scene.to_toml();
    let again = Scene::read(&SceneRequest {
        text: stored.clone(),
        file: "stored.toml".into(),
        ..SceneRequest::default()
    });
    let what = match again {
        Ok(again) if again.to_toml() == stored => return,
        Ok(_) => "it reads back to something else".to_owned(),
        Err(problems) => problems.to_string(),
    };
    tally.not_reread += 1;
    tally.find("not reread", case, what, request);
}

/// Checks what a refusal says.
fn note(case: u64, problems: &Problems, request: &SceneRequest, tally: &mut Tally) {
    let report = problems.to_string();
    let shown = problems.list().iter().take(Problems::SHOWN);
    let is_placed = shown
        .map(|problem| problems.position(&problem.place))
        .all(|position| {
            position.is_some_and(|(file, line, column)| {
                report.contains(&format!("{file}:{line}:{column}\n"))
            })
        });
    if !is_placed || problems.list().is_empty() {
        tally.without_place += 1;
        tally.find("rejection without a place", case, report.clone(), request);
    }
    let is_control = |c: char| c.is_control() && c != '\n';
    if report.len() > LONGEST_REPORT || report.contains(is_control) {
        tally.bad_reports += 1;
        tally.find("bad report", case, report.clone(), request);
    }
    if tally.sample.len() < 1000 {
        tally.sample.push(report);
    }
}
