//! Implicit Euler, linearised once at the start of the step (Baraff and Witkin 1998; the linear
//! case of Daviet 2020, Eq. 3): A v = f with A = M + hC + h²K and f = M v₀ + h F(x₀).
//!
//! Affine bodies are relinearised at the velocities found so far: along the first tangent of a
//! rotation they would grow and spin up, since the energy that keeps them rigid is very stiff.

use super::contact::ContactRequest;
use super::contact_solve::{solve_contacts, strictest_tolerance};
use super::implicit::{advance_through_gate, solve, solve_affine};
use super::tuning::TUNING;
use super::{
    ContactPhase, Context, Effort, IntegratorMethod, Phase, Scratch, SolvedEquations, StepError,
    StepOutcome,
};
use crate::claims::{Claims, EquationsClaim};
use crate::equations::linearize::{BodySubset, LinearisationPoint, linearize, prepare};
use crate::model::NewtonOptions;
use crate::step_input::StepInput;

/// Linearised implicit Euler, without options.
pub(super) struct LinearEuler;

impl IntegratorMethod for LinearEuler {
    fn claims(&self) -> Claims {
        Claims::implicit(EquationsClaim::Linear)
    }

    /// Implicit Euler has 1/z = 1 − hs.
    fn angular_frequency(&self, [_, imaginary]: [f64; 2], h: f64) -> f64 {
        imaginary / h
    }

    fn can_converge(&self) -> bool {
        true
    }

    fn step<'a>(
        &self,
        input: &StepInput<'a>,
        scratch: &mut Scratch,
        context: &mut Context,
    ) -> Result<StepOutcome<'a>, StepError> {
        if context.effort == Effort::Converged {
            return NewtonOptions::default().step(input, scratch, context);
        }
        // 1. Detection of contacts.
        let mut contact = ContactPhase::begin(input, scratch, context);
        // 2. A v = f, linearised at the start.
        assemble(input, scratch, context);
        // 3. and 4. Solve for v with contacts; held nodes have their prescribed velocities.
        let mut velocities = match &mut contact {
            Some(phase) => {
                let request = ContactRequest {
                    tolerance: strictest_tolerance(input.model, input.h()),
                    is_followed: false,
                    relinearises: true,
                };
                let warm = ContactPhase::warm_start(input);
                solve_contacts(phase, input, &warm, request, scratch, context)?
            }
            None => without_contact(input, scratch, context)?,
        };
        // 5. Gate, and the state at the end.
        let to = advance_through_gate(input, &mut contact, &mut velocities, context)?;
        Ok(StepOutcome {
            to,
            residual: (scratch.linearised).residual_at(&velocities, &mut scratch.pool),
            velocities,
            solved: SolvedEquations::Linear,
            drag: None,
            contact,
            impact: None,
            iterations: 0,
            is_converged: true,
        })
    }
}

/// Assembles A and ∇𝒜 at the start of the step.
fn assemble(input: &StepInput<'_>, scratch: &mut Scratch, context: &mut Context) {
    let Scratch {
        equations,
        linearised,
        ..
    } = scratch;
    prepare(input, equations);
    linearize(
        input,
        LinearisationPoint::Start,
        BodySubset::All,
        equations,
        linearised,
    );
    equations.elastic_start = equations.elastic_energy(&input.from.positions);
    context.timer.lap(Phase::Assemble);
}

/// Velocities of a model without contacts.
fn without_contact(
    input: &StepInput<'_>,
    scratch: &mut Scratch,
    context: &mut Context,
) -> Result<Vec<f64>, StepError> {
    let mut velocities = solve(input, scratch, context)?;
    let mut bodies = input.model.bodies.iter();
    if bodies.any(|body| BodySubset::Affine.contains(body)) {
        for _ in 0..TUNING.affine_relinearisations {
            let Scratch {
                equations,
                linearised,
                ..
            } = scratch;
            let at = LinearisationPoint::Velocities(&velocities);
            linearize(input, at, BodySubset::Affine, equations, linearised);
            solve_affine(input, &mut velocities, scratch)?;
        }
        context.timer.lap(Phase::Linear);
    }
    Ok(velocities)
}
