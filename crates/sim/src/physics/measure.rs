//! One case: its scene is built and run in memory, with the independent test for intersections in
//! every step.

use std::time::Instant;

use serde::Serialize;
use serde_json::Value as Json;

use super::Case;
use crate::check;
use crate::integrate::{Scratch, StepOptions, refuse_unstable};
use crate::model::Model;
use crate::probe::ProbeSeries;
use crate::report::StepReport;
use crate::scene::problem::Problems;
use crate::scene::{Scene, SceneRequest, shipped};
use crate::step::{Step, step_with};

/// Changes to the scenes of all cases.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// Contact solver of the scenes with contact.
    pub solver: Option<String>,
    /// `KEY=VALUE` of `--set`, after those of the case.
    pub sets: Vec<String>,
}

/// Why a case has no values.
#[derive(Clone, Debug)]
pub enum Unmeasured {
    /// Its scene cannot run with these changes.
    Refused(String),
    /// A step failed.
    Failed(String),
    /// It was stopped from outside.
    Stopped,
}

/// What a case measured.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Values of the probes.
    pub probes: Json,
    /// Values of the probes of the coarser run, if the case has one.
    pub coarser: Json,
}

/// Result of a case.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What was measured, if all steps were taken.
    pub measured: Result<Measured, Unmeasured>,
    /// Facts of its steps so far.
    pub facts: Facts,
}

/// Facts of the steps of a case.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Facts {
    /// Integrator.
    pub integrator: String,
    /// Contact solver, "none" without contact.
    pub solver: String,
    /// Time step (s).
    pub h: f64,
    /// Number of steps.
    pub steps: u64,
    /// Number of steps with an error above the tolerance of the scene.
    pub unconverged_steps: u64,
    /// Number of steps that were halved.
    pub halved_steps: u64,
    /// Intersections found by the independent test; null without contact.
    pub intersections: Option<u64>,
    /// Largest contact error (m).
    pub contact_error_m: Option<f64>,
    /// Largest momentum error (m).
    pub momentum_error_m: Option<f64>,
    /// Largest nonlinear error (m).
    pub nonlinear_error_m: Option<f64>,
    /// Wall time (s).
    pub wall_s: f64,
}

impl Facts {
    fn add(&mut self, report: &StepReport) {
        self.steps += 1;
        self.unconverged_steps += u64::from(report.unconverged);
        self.halved_steps += u64::from(report.halvings > 0);
        if let Some(found) = report.intersections {
            *self.intersections.get_or_insert(0) += found;
        }
        let errors = [
            (&mut self.contact_error_m, report.contact_error_m),
            (&mut self.momentum_error_m, report.momentum_error_m),
            (&mut self.nonlinear_error_m, report.nonlinear_error_m),
        ];
        for (largest, error) in errors {
            if let Some(error) = error {
                *largest = Some(largest.unwrap_or(0.0).max(error));
            }
        }
    }
}

/// Runs a case until its end, or until `is_stopped`.
#[must_use]
pub fn measure(case: &Case, changes: &Changes, is_stopped: &dyn Fn() -> bool) -> Outcome {
    let began = Instant::now();
    let mut facts = Facts::default();
    let coarser = match &case.coarser {
        None => Ok(Json::Null),
        Some(set) => run(case, Some(set), changes, &mut facts, is_stopped),
    };
    let measured = coarser.and_then(|coarser| {
        let probes = run(case, None, changes, &mut facts, is_stopped)?;
        Ok(Measured { probes, coarser })
    });
    facts.wall_s = began.elapsed().as_secs_f64();
    Outcome { measured, facts }
}

/// Probes of one run.
fn run(
    case: &Case,
    coarser: Option<&String>,
    changes: &Changes,
    facts: &mut Facts,
    is_stopped: &dyn Fn() -> bool,
) -> Result<Json, Unmeasured> {
    let scene = read(case, coarser, changes)?;
    let method = &scene.tables.method;
    facts.integrator = method.integrator.word().to_owned();
    facts.solver = method.solver.word().to_owned();
    let model = build(case, &scene)?;
    facts.h = model.clock.h();
    let mut scratch = Scratch::new(&model);
    let mut state = model.start.clone();
    let mut series = ProbeSeries::new(&model.probes, model.clock.h(), &model.method.integrator);
    let row = |state: &_, step: Option<&Step>| -> Vec<f64> {
        let probes = model.probes.iter();
        probes
            .flat_map(|probe| probe.values(&model, state, step))
            .collect()
    };
    series.add(&row(&state, None));
    while state.step < model.clock.steps() {
        if is_stopped() {
            return Err(Unmeasured::Stopped);
        }
        let (result, _) = step_with(&model, &state, StepOptions::TEST, &mut scratch);
        let step = result.map_err(|error| {
            let (number, time) = (state.step + 1, model.clock.span(state.step).end);
            Unmeasured::Failed(format!("step {number} at {time:.6} s failed: {error}"))
        })?;
        facts.add(&step.report);
        series.add(&row(&step.to, Some(&step)));
        state = step.to;
    }
    Ok(series.summary())
}

/// The scene of a case with its changes.
fn read(case: &Case, coarser: Option<&String>, changes: &Changes) -> Result<Scene, Unmeasured> {
    let shipped =
        shipped::find(&format!("validation/{}", case.scene)).map_err(Unmeasured::Refused)?;
    let mut request = SceneRequest {
        name: shipped.name.to_owned(),
        file: format!("{}.toml", shipped.name),
        text: shipped.text.to_owned(),
        quick: true,
        sets: case.sets.iter().chain(coarser).cloned().collect(),
        ..SceneRequest::default()
    };
    if let Some(solver) = &changes.solver {
        // Scenes without contact stay without it.
        let scene = Scene::read(&request).map_err(mistakes)?;
        if !scene.tables.method.solver.is_none() {
            request.sets.push(format!("method.solver=\"{solver}\""));
        }
    }
    request.sets.extend(changes.sets.iter().cloned());
    Scene::read(&request).map_err(mistakes)
}

/// The model of a case, or the reason why its scene cannot run.
fn build(case: &Case, scene: &Scene) -> Result<Model, Unmeasured> {
    let model = Model::build(scene).map_err(mistakes)?;
    let integrator = &model.method.integrator;
    if let Some(family) = case.about.filter(|family| !family.has(integrator)) {
        return Err(Unmeasured::Refused(format!(
            "this is the theory of {}, not of \"{}\"",
            family.name(),
            scene.tables.method.integrator.word()
        )));
    }
    refuse_unstable(&model).map_err(|error| Unmeasured::Refused(error.to_string()))?;
    match check::intersections(&model).first() {
        Some(found) => Err(Unmeasured::Refused(format!(
            "it starts with an intersection: {found}"
        ))),
        None => Ok(model),
    }
}

/// Refusal with the first mistake as one line, with its advice.
fn mistakes(problems: Problems) -> Unmeasured {
    let first = problems.list().first();
    Unmeasured::Refused(first.map_or_else(String::new, |problem| {
        format!("{}; {}", problem.message, problem.advice)
    }))
}
