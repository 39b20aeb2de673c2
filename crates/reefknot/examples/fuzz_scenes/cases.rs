//! Reads, builds and steps mutated scenes, and records violated requirements.

use std::time::Duration;

use reefknot_sim::check;
use reefknot_sim::integrate::Scratch;
use reefknot_sim::io::frame::{frame_file, topology_file};
use reefknot_sim::machine::peak_memory;
use reefknot_sim::model::Model;
use reefknot_sim::scene::problem::Problems;
use reefknot_sim::scene::{Scene, SceneRequest};
use reefknot_sim::state::State;
use reefknot_sim::step::{Step, step};

use crate::{guard, mutate, seeds};

/// Time limit of a case; longer in debug builds.
const CASE_LIMIT: Duration = Duration::from_secs(if cfg!(debug_assertions) { 40 } else { 2 });

/// Longest acceptable report (bytes).
const MAX_REPORT_LENGTH: usize = 40_000;

/// Limit of vertices in every [`LARGE_CASE_INTERVAL`]th case.
pub(crate) const MAX_VERTICES: usize = 100_000;

/// Limit of vertices in all other cases.
pub(crate) const USUAL_MAX_VERTICES: usize = 4000;

const LARGE_CASE_INTERVAL: u64 = 40;

/// Scenes with more nodes are not stepped: a step may take longer than [`CASE_LIMIT`].
const MAX_STEPPED_NODES: usize = 20_000;

/// Limit of peak memory over all cases (bytes): more indicates a leak.
const MAX_MEMORY: u64 = 2 << 30;

/// Counts and findings of all cases.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) cases: u64,
    pub(crate) accepted: u64,
    pub(crate) rejected: u64,
    pub(crate) built: u64,
    pub(crate) stepped: u64,
    pub(crate) steps_failed: u64,
    pub(crate) panics: u64,
    /// Refused without a place.
    pub(crate) without_place: u64,
    /// Reports that are too long or contain control characters.
    pub(crate) bad_reports: u64,
    /// Accepted, but the stored scene reads back differently.
    pub(crate) not_reread: u64,
    /// Accepted, but a point, velocity, director or twist is not finite.
    pub(crate) not_finite: u64,
    /// Seed scenes, with the numbers of their cases and of those accepted.
    pub(crate) seeds: Vec<(String, u64, u64)>,
    pub(crate) slowest: Duration,
    pub(crate) slowest_case: u64,
    /// First finding of each kind: kind, case, description and scene.
    pub(crate) findings: Vec<(&'static str, u64, String, String)>,
    /// Some reports, for inspection.
    pub(crate) sample: Vec<String>,
}

impl Tally {
    /// Whether there are no findings.
    pub(crate) fn is_clean(&self) -> bool {
        let memory = peak_memory().unwrap_or(0);
        self.findings.is_empty() && memory <= MAX_MEMORY
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

    /// Accepted cases of each seed scene, as text.
    #[allow(dead_code, reason = "the test that shares this file does not print it")]
    pub(crate) fn accepted_by_seed(&self) -> String {
        let lines = self.seeds.iter();
        lines
            .map(|(name, cases, accepted)| format!("{accepted} of {cases} of {name}\n"))
            .collect()
    }

    fn add_finding(&mut self, kind: &'static str, case: u64, what: String, request: &SceneRequest) {
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
            let (mut request, seed_index) = mutate::request(&seeds, seed, case);
            request.folder = folder.path().to_path_buf();
            let accepted = tally.accepted;
            let (taken, panic) = guard.case(case, || run_case(case, &request, &mut tally));
            tally.cases += 1;
            tally.seeds[seed_index].1 += 1;
            tally.seeds[seed_index].2 += tally.accepted - accepted;
            if taken > tally.slowest {
                (tally.slowest, tally.slowest_case) = (taken, case);
            }
            if taken > CASE_LIMIT {
                tally.add_finding("slow case", case, format!("{taken:.1?}"), &request);
            }
            if let Some(what) = panic {
                tally.panics += 1;
                tally.add_finding("panic", case, what, &request);
            }
        }
        tally
    })
}

/// Reads, builds, checks and steps a scene as a run would.
fn run_case(case: u64, request: &SceneRequest, tally: &mut Tally) {
    let scene = match Scene::read(request) {
        Ok(scene) => scene,
        Err(problems) => {
            tally.rejected += 1;
            return check_report(case, &problems, request, tally);
        }
    };
    let limit = if case.is_multiple_of(LARGE_CASE_INTERVAL) {
        MAX_VERTICES
    } else {
        USUAL_MAX_VERTICES
    };
    let model = match Model::build_within(&scene, limit) {
        // Objects overlap in these scenes, so contact is switched off.
        Ok(mut model) => {
            model.collision = None;
            model
        }
        Err(problems) => {
            tally.rejected += 1;
            return check_report(case, &problems, request, tally);
        }
    };
    tally.accepted += 1;
    tally.built += 1;
    check_reread(case, &scene, request, tally);
    let sentences = check::check_scene(&scene, &model);
    let sentences: String = sentences
        .iter()
        .map(|f| f.sentence.clone() + "\n")
        .collect();
    if sentences.contains("NaN") || sentences.contains(is_control) {
        tally.bad_reports += 1;
        tally.add_finding("bad sentence of the check", case, sentences, request);
    }
    let _ = topology_file(&model);
    match take_steps(&model) {
        Ok(()) => tally.stepped += 1,
        Err(None) => tally.steps_failed += 1,
        Err(Some(what)) => {
            tally.not_finite += 1;
            tally.add_finding("not finite", case, what, request);
        }
    }
}

/// Checks the start, two computed steps, and the prescribed objects at the middle and at the end.
/// The error describes a value that is not finite, or is `None` if a step fails.
fn take_steps(model: &Model) -> Result<(), Option<String>> {
    check_finite(model, &model.start, None).map_err(Some)?;
    let (middle, end) = (model.clock.steps() / 2, model.clock.steps());
    for step in [middle, end] {
        let state = State {
            step,
            ..model.start.clone()
        };
        check_finite(model, &state, None).map_err(Some)?;
    }
    if model.masses.len() > MAX_STEPPED_NODES {
        return Ok(());
    }
    let mut scratch = Scratch::new(model);
    let mut state = model.start.clone();
    for _ in 0..2.min(end) {
        let Ok(step) = step(model, &state, &mut scratch) else {
            return Err(None);
        };
        check_finite(model, &step.to, Some(&step)).map_err(Some)?;
        state = step.to;
    }
    Ok(())
}

/// Checks that all values that a run stores of a state are finite, also in single precision.
fn check_finite(model: &Model, state: &State, step: Option<&Step>) -> Result<(), String> {
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

/// Checks that the stored scene of a run reads back to itself.
fn check_reread(case: u64, scene: &Scene, request: &SceneRequest, tally: &mut Tally) {
    let stored = scene.to_toml();
    let again = Scene::read(&SceneRequest {
        text: stored.clone(),
        file: "stored.toml".into(),
        ..SceneRequest::default()
    });
    let what = match again {
        Ok(again) if again.to_toml() == stored => return,
        Ok(_) => "the stored scene reads back differently".to_owned(),
        Err(problems) => problems.to_string(),
    };
    tally.not_reread += 1;
    tally.add_finding("not reread", case, what, request);
}

/// Checks the report on a refused scene.
fn check_report(case: u64, problems: &Problems, request: &SceneRequest, tally: &mut Tally) {
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
        tally.add_finding("rejection without a place", case, report.clone(), request);
    }
    if report.len() > MAX_REPORT_LENGTH || report.contains(is_control) {
        tally.bad_reports += 1;
        tally.add_finding("bad report", case, report.clone(), request);
    }
    if tally.sample.len() < 1000 {
        tally.sample.push(report);
    }
}
