//! Properties of steps for any integrator, shown with a ballistic one.

use std::cell::RefCell;

use super::*;
use crate::claims::{Claims, EnergyClaim, EquationsClaim, PathClaim};
use crate::equations::linearize::differentiate;
use crate::integrate::{SolvedEquations, StepOutcome};
use crate::model::{EnergyRule, NewtonOptions};
use crate::scene::{Scene, SceneRequest};
use crate::state::IntegratorData;

/// Keeps the velocities of the start, and counts its steps in the state. Fails if a step is longer
/// than `longest`.
struct Ballistic {
    stepping: Stepping,
    longest: f64,
    spans: RefCell<Vec<f64>>,
}

impl Ballistic {
    fn new(stepping: Stepping, longest: f64) -> Ballistic {
        Ballistic {
            stepping,
            longest,
            spans: RefCell::default(),
        }
    }
}

impl IntegratorMethod for Ballistic {
    fn claims(&self) -> Claims {
        Claims {
            equations: EquationsClaim::None,
            path: PathClaim::Pieces,
            contact: false,
            gap: false,
            energy: EnergyClaim::None,
        }
    }

    fn stepping(&self) -> Stepping {
        self.stepping
    }

    fn angular_frequency(&self, _: [f64; 2], _: f64) -> f64 {
        f64::NAN
    }

    fn step<'a>(
        &self,
        input: &StepInput<'a>,
        scratch: &mut Scratch,
        _: &mut Context,
    ) -> Result<StepOutcome<'a>, StepError> {
        self.spans.borrow_mut().push(input.h());
        if input.h() > self.longest {
            return Err(StepError::NotConverged { error: 1.0 });
        }
        crate::equations::linearize::prepare(input, &mut scratch.equations);
        let velocities = input.start_velocities();
        let mut to = input.from.clone();
        to.positions = input.ends(&velocities);
        let steps = input.from.carried.values.first().unwrap_or(&0.0) + 1.0;
        to.carried = IntegratorData {
            ids: vec![7],
            values: vec![steps],
        };
        Ok(StepOutcome {
            to,
            residual: vec![0.0; velocities.len()],
            velocities,
            solved: SolvedEquations::None,
            drag: None,
            contact: None,
            impact: None,
            iterations: 0,
            is_converged: true,
        })
    }
}

fn model() -> Model {
    let text = r#"
        time = { duration = "1 s", frame_rate = 10, substeps = 1 }
        method = { solver = "none", halvings = 3 }
        material.stuff = { young = "1 MPa", thickness = "1 mm", density = 1000 }
        [object.sheet]
        kind = "cloth-grid"
        size = [1, 1]
        vertices = [3, 3]
        material = "stuff"
        velocity = [1, 0, 0]
    "#;
    let request = SceneRequest {
        text: text.to_owned(),
        ..SceneRequest::default()
    };
    Model::build(&Scene::read(&request).unwrap()).unwrap()
}

fn take(method: &Ballistic, model: &Model, from: &State) -> Result<Step, StepError> {
    let mut context = Context::new(StepOptions::default(), None);
    step_by(method, model, from, &mut Scratch::new(model), &mut context)
}

#[test]
fn a_failed_step_is_halved_and_integrator_data_pass_through_the_halves() {
    let model = model();
    let method = Ballistic::new(Stepping::Halved, 0.03);
    let step = take(&method, &model, &model.start).unwrap();
    // 0.1 s and its halves fail; four quarters succeed.
    assert_eq!(step.report.halvings, 3);
    assert_eq!(step.to.carried.values, [4.0]);
    assert_eq!(step.to.step, 1);
    let moved = step.to.positions[0].x - model.start.positions[0].x;
    assert!((moved - 0.1).abs() < 1e-12, "{moved}");
    let mut without_data = step.to.clone();
    without_data.carried = IntegratorData::default();
    assert_ne!(step.to.hash(), without_data.hash());
}

#[test]
fn a_method_with_own_substeps_is_called_once_per_step() {
    let model = model();
    let method = Ballistic::new(Stepping::Whole, 1.0);
    let step = take(&method, &model, &model.start).unwrap();
    assert_eq!((step.report.halvings, step.to.step), (0, 1));
    let strict = Ballistic::new(Stepping::Whole, 0.03);
    assert!(take(&strict, &model, &model.start).is_err());
    assert_eq!(strict.spans.borrow().len(), 1);
}

#[test]
fn errors_that_are_not_computed_are_none_in_the_report() {
    let model = model();
    let step = take(&Ballistic::new(Stepping::Whole, 1.0), &model, &model.start).unwrap();
    assert_eq!(step.report.momentum_error_m, None);
    assert_eq!(step.report.contact_error_m, None);
    assert_eq!(step.report.intersections, None);
}

/// Newton's method with a force that the model does not have: it adds a fraction of the velocities
/// at the end of every step.
struct Pushed {
    fraction: f64,
}

impl IntegratorMethod for Pushed {
    fn claims(&self) -> Claims {
        Claims {
            equations: EquationsClaim::None,
            ..Claims::implicit(EquationsClaim::Nonlinear)
        }
    }

    fn angular_frequency(&self, _: [f64; 2], _: f64) -> f64 {
        f64::NAN
    }

    fn step<'a>(
        &self,
        input: &StepInput<'a>,
        scratch: &mut Scratch,
        context: &mut Context,
    ) -> Result<StepOutcome<'a>, StepError> {
        let mut outcome = NewtonOptions::default().step(input, scratch, context)?;
        let factor = 1.0 + self.fraction;
        outcome.velocities.iter_mut().for_each(|v| *v *= factor);
        outcome.to.velocities.iter_mut().for_each(|v| *v *= factor);
        outcome.to.positions = input.ends(&outcome.velocities);
        outcome.residual = differentiate(input, &outcome.velocities, &mut scratch.equations);
        Ok(outcome)
    }
}

fn pushed(fraction: f64, energy: EnergyRule) -> (Model, Result<Step, StepError>) {
    let mut model = model();
    model.gravity = glam::DVec3::ZERO;
    model.method.energy = energy;
    let mut context = Context::new(StepOptions::default(), None);
    let mut scratch = Scratch::new(&model);
    // The momentum error of the push has no limit here: the energy alone must show it.
    scratch.diagonal = 0.0;
    let method = Pushed { fraction };
    let step = step_by(&method, &model, &model.start, &mut scratch, &mut context);
    (model, step)
}

#[test]
fn energy_from_a_force_that_the_model_does_not_have_is_refused() {
    // 1.0001 of the speed: a gain of 2e-4 of the kinetic energy in every half of the step.
    let (_, step) = pushed(1e-4, EnergyRule::Dissipative);
    assert!(
        matches!(step, Err(StepError::EnergyGain { gain, .. }) if gain > 0.0),
        "{step:?}"
    );
    // A brake loses energy. It is not refused, but it is no numerical loss either.
    let (_, step) = pushed(-1e-4, EnergyRule::Dissipative);
    let energy = step.unwrap().report.energy_j;
    assert!(energy.unbalanced < 0.0, "{energy:?}");
}

#[test]
fn the_balance_attributes_the_work_of_an_unknown_force_to_no_loss() {
    let (model, step) = pushed(0.1, EnergyRule::Report);
    let report = step.unwrap().report;
    // The sheet flies at 1 m/s without forces. The push works M (v − v₀)·v = m · 0.1 · 1.1; implicit
    // Euler loses m · 0.1² / 2 of it.
    let mass: f64 = model.masses.iter().sum();
    let energy = report.energy_j;
    let close = |found: f64, expected: f64| (found - expected).abs() < 1e-9 * mass;
    assert!(close(energy.unbalanced, 0.11 * mass), "{energy:?}");
    assert!(close(energy.numerical, 0.005 * mass), "{energy:?}");
    assert!(
        close(report.gain_j.gain, 0.105 * mass),
        "{:?}",
        report.gain_j
    );
    assert_eq!([energy.work, energy.viscous, energy.contact], [0.0; 3]);
}
