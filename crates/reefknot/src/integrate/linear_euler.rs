//! Implicit Euler, linearised once at the start of the step (Baraff and Witkin 1998; the linear
//! case of Daviet 2020, Eq. 3): A v = f with A = M + hC + h²K and f = M v₀ + h F(x₀).
//!
//! Affine bodies are linearised again, at the velocities found so far: what keeps them rigid is as stiff as it gets, and
//! along the tangent of a turn they would grow and spin up.

use super::claims::{Claims, EquationsClaim};
use super::contact::{ContactSolve, strictest_tolerance};
use super::implicit::{advance_through_gate, solve, solve_affine};
use super::{
    ContactPhase, Context, IntegratorMethod, Phase, Scratch, Solved, StepError, StepOutcome,
};
use crate::energy::linearize::{At, Which, linearize, prepare};
use crate::scene::tables::LinearEuler;
use crate::step_input::StepInput;

/// How often affine bodies are linearised again.
pub(super) const AFFINE_LINEARISATIONS: usize = 2;

impl IntegratorMethod for LinearEuler {
    fn claims(&self) -> Claims {
        Claims::implicit(EquationsClaim::Linear)
    }

    /// Implicit Euler has 1/z = 1 − hs.
    fn angular_frequency(&self, [_, imaginary]: [f64; 2], h: f64) -> f64 {
        imaginary / h
    }

    fn step<'a>(
        &self,
        input: &StepInput<'a>,
        scratch: &mut Scratch,
        context: &mut Context,
    ) -> Result<StepOutcome<'a>, StepError> {
        // 1. Who may touch.
        let mut contact = ContactPhase::begin(input, scratch, context);
        // 2. A v = f, linearised at the start.
        assemble(input, scratch, context);
        // 3. and 4. v among contacts, that of held nodes as it is prescribed.
        let mut velocities = match &mut contact {
            Some(phase) => {
                let request = ContactSolve {
                    tolerance: strictest_tolerance(input),
                    is_followed: false,
                    relinearises: true,
                };
                let warm = ContactPhase::warm_start(input);
                phase.solve(input, &warm, request, scratch, context)?
            }
            None => without_contact(input, scratch, context)?,
        };
        // 5. The motion, through the gate.
        let to = advance_through_gate(input, &mut contact, &mut velocities, context)?;
        Ok(StepOutcome {
            to,
            residual: (scratch.linearised).residual_at(&velocities, &mut scratch.spare),
            velocities,
            solved: Solved::Linear,
            drag: None,
            contact,
            iterations: 0,
        })
    }
}

/// A and ∇𝒜 at the start of the step.
fn assemble(input: &StepInput<'_>, scratch: &mut Scratch, context: &mut Context) {
    let Scratch {
        equations,
        linearised,
        ..
    } = scratch;
    prepare(input, equations);
    linearize(input, At::Start, Which::All, equations, linearised);
    equations.elastic_start = equations.elastic_energy(&input.from.positions);
    context.timer.lap(Phase::Assemble);
}

/// v where nothing touches.
fn without_contact(
    input: &StepInput<'_>,
    scratch: &mut Scratch,
    context: &mut Context,
) -> Result<Vec<f64>, StepError> {
    let mut velocities = solve(input, scratch, context)?;
    let mut bodies = input.model.bodies.iter();
    if bodies.any(|body| Which::Affine.has(body)) {
        for _ in 0..AFFINE_LINEARISATIONS {
            let Scratch {
                equations,
                linearised,
                ..
            } = scratch;
            let at = At::Velocities(&velocities);
            linearize(input, at, Which::Affine, equations, linearised);
            solve_affine(input, &mut velocities, scratch)?;
        }
        context.timer.lap(Phase::Linear);
    }
    Ok(velocities)
}
