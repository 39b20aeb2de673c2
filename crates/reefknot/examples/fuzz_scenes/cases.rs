//! Reads, builds and steps mutated scenes, and notes what must not happen.

use std::time::Duration;

use reefknot::check;
use reefknot::integrate::{self, Scratch, Step};
use reefknot::io::frame::{frame_file, topology_file};
use reefknot::machine::peak_memory;
use reefknot::model::Model;
use reefknot::scene::problem::Problems;
use reefknot::scene::{Scene, SceneRequest};
use reefknot::state::State;

use crate::{guard, mutate, seeds};

/// Cases that take longer than this hang, as far as a user can tell; nobody uses a debug build.
pub(crate) const SLOW: Duration = Duration::from_secs(if cfg!(debug_assertions) { 40 } else { 2 });

/// Longer reports than this bury what they say.
const LONGEST_REPORT: usize = 40_000;

/// Scenes of more vertices than this are refused.
pub(crate) const MAX_VERTICES: usize = 100_000;

/// Scenes of more vertices than this are allowed in one case of [`LARGE_EVERY`].
pub(crate) const LARGE: usize = 4000;

const LARGE_EVERY: u64 = 40;

/// Steps of more nodes than this take as long as a case may, with every right.
const MOST_NODES: usize = 20_000;

/// Scenes of at most [`MAX_VERTICES`] that need more memory than this in all hold on to something (bytes).
const MOST_MEMORY: u64 = 2 << 30;

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
    /// Accepted, but a point, a velocity, a director or a twist is no finite number.
    pub(crate) not_finite: u64,
    /// Scenes to start from, and how many of the cases made from them were made and accepted.
    pub(crate) seeds: Vec<(String, u64, u64)>,
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
        let memory = peak_memory().unwrap_or(0);
        self.findings.is_empty() && memory <= MOST_MEMORY
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
            "not_finite": self.not_finite,
            "slowest_ms": (self.slowest.as_secs_f64() * 1e4).round() / 10.0,
            "slowest_case": self.slowest_case,
            "peak_mib": peak_memory().map(|bytes| bytes >> 20),
        })
        .to_string()
    }

    /// For every scene to start from, how many of its cases were accepted.
    #[allow(dead_code, reason = "the test that shares this file does not print it")]
    pub(crate) fn accepted_by_seed(&self) -> String {
        let lines = self.seeds.iter();
        lines
            .map(|(name, cases, accepted)| format!("{accepted} of {cases} of {name}\n"))
            .collect()
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
    let folder = tempfile::tempdir()?;
    for (name, text) in seeds::FILES {
        std::fs::write(folder.path().join(name), text)?;
    }
    guard::run(|guard| {
        let seeds = seeds::seeds();
        let mut tally = Tally::default();
        for seed in &seeds {
            tally.seeds.push((seed.name.clone(), 0, 0));
        }
        for case in first..first + count {
            let (mut request, start_from) = mutate::request(&seeds, seed, case);
            request.folder = folder.path().to_path_buf();
            let accepted = tally.accepted;
            let (taken, panic) = guard.case(case, || one(case, &request, &mut tally));
            tally.cases += 1;
            tally.seeds[start_from].1 += 1;
            tally.seeds[start_from].2 += tally.accepted - accepted;
            if taken > tally.slowest {
                (tally.slowest, tally.slowest_case) = (taken, case);
            }
            if taken > SLOW {
                tally.find("slow case", case, format!("{taken:.1?}"), &request);
            }
            if let Some(what) = panic {
                tally.panics += 1;
                tally.find("panic", case, what, &request);
            }
        }
        tally
    })
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
        // Things lie anywhere here: what touches what is another matter.
        Ok(mut model) => {
            model.touch = None;
            model
        }
        Err(problems) => {
            tally.rejected += 1;
            return note(case, &problems, request, tally);
        }
    };
    tally.accepted += 1;
    tally.built += 1;
    reread(case, &scene, request, tally);
    let sentences = check::check_scene(&scene, &model);
    let sentences: String = sentences
        .iter()
        .map(|f| f.sentence.clone() + "\n")
        .collect();
    if sentences.contains("NaN") || sentences.contains(is_control) {
        tally.bad_reports += 1;
        tally.find("bad sentence of the check", case, sentences, request);
    }
    let _ = topology_file(&model);
    match look_along(&model) {
        Ok(()) => tally.stepped += 1,
        Err(None) => tally.steps_failed += 1,
        Err(Some(what)) => {
            tally.not_finite += 1;
            tally.find("not finite", case, what, request);
        }
    }
}

/// Looks at everything at the start, after two steps and at the end, which what is not simulated needs no steps to
/// reach. Says what is not finite, or nothing if a step fails.
fn look_along(model: &Model) -> Result<(), Option<String>> {
    look(model, &model.start, None).map_err(Some)?;
    let (middle, end) = (model.clock.steps() / 2, model.clock.steps());
    for step in [middle, end] {
        let state = State {
            step,
            ..model.start.clone()
        };
        look(model, &state, None).map_err(Some)?;
    }
    if model.masses.len() > MOST_NODES {
        return Ok(());
    }
    let mut scratch = Scratch::new(model);
    let mut state = model.start.clone();
    for _ in 0..2.min(end) {
        let Ok(step) = integrate::step(model, &state, &mut scratch) else {
            return Err(None);
        };
        look(model, &step.to, Some(&step)).map_err(Some)?;
        state = step.to;
    }
    Ok(())
}

/// What a run stores of a moment: all of it must be finite, also as it is stored.
fn look(model: &Model, state: &State, step: Option<&Step>) -> Result<(), String> {
    for (index, object) in model.objects.iter().enumerate() {
        let arrays = [
            ("points", model.points(index, state)),
            ("velocities", model.velocities(index, state)),
            (
                "directors",
                model.directors(index, state).unwrap_or_default(),
            ),
        ];
        for (what, array) in arrays {
            let is_bad =
                |vector: &glam::DVec3| !vector.as_vec3().is_finite() || !vector.is_finite();
            if let Some(vertex) = array.iter().position(is_bad) {
                return Err(format!(
                    "{what} of `{}`: {vertex} is {:?} at step {}",
                    object.name,
                    array[vertex].to_array(),
                    state.step
                ));
            }
        }
    }
    let angles = state.twists.iter().chain(&state.spins);
    if let Some(angle) = angles.into_iter().find(|angle| !angle.is_finite()) {
        return Err(format!(
            "a twist or a spin is {angle} at step {}",
            state.step
        ));
    }
    for probe in &model.probes {
        let _ = probe.values(model, state, step);
    }
    let _ = frame_file(model, state, step);
    let _ = model.clock.frame_at(state.step);
    Ok(())
}

fn is_control(c: char) -> bool {
    c.is_control() && c != '\n'
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
    if report.len() > LONGEST_REPORT || report.contains(is_control) {
        tally.bad_reports += 1;
        tally.find("bad report", case, report.clone(), request);
    }
    if tally.sample.len() < 1000 {
        tally.sample.push(report);
    }
}
