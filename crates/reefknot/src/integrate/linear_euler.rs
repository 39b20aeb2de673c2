//! Implicit Euler, linearised once at the start of the step (Baraff and Witkin 1998; the linear
//! case of Daviet 2020, Eq. 3): A v = f with A = M + hC + h²K and f = M v₀ + h F(x₀).
//!
//! Affine bodies are linearised again, at the velocities found so far: what keeps them rigid is as stiff as it gets, and
//! along the tangent of a turn they would grow and spin up.

use super::implicit::{advance, linear_residual, solve, solve_affine};
use super::{Scratch, StepError, Stopwatch, Taken, Touches};
use crate::energy::linearize::{Problem, Which, elastic_energy, linearize, prepare};

/// How often affine bodies are linearised again.
pub(super) const AGAIN: usize = 2;

/// One step.
pub(super) fn step<'a>(
    problem: &Problem<'a>,
    scratch: &mut Scratch,
) -> Result<Taken<'a>, StepError> {
    let mut watch = Stopwatch::start();
    let mut taken = Taken::default();
    // 1. Who may touch.
    let mut touches = Touches::begin(problem, scratch);
    taken.phases.detect = watch.lap();

    // 2. A v = f, linearised at the start.
    prepare(problem, scratch);
    let rest = vec![0.0; scratch.impulse.len()];
    linearize(problem, &rest, Which::All, scratch);
    scratch.elastic_start = elastic_energy(scratch, &problem.from.positions);
    taken.phases.assemble = watch.lap();

    // 3. and 4. v among contacts, that of held nodes as told.
    let mut velocities = match &mut touches {
        Some(touches) => touches.solve(problem, &touches.warm(problem), scratch)?,
        None => without_contact(problem, scratch)?,
    };
    let spent = watch.lap();
    match &touches {
        Some(touches) if !touches.posed.is_empty() => taken.phases.contact = spent,
        _ => taken.phases.linear = spent,
    }

    // 5. The motion, through the gate.
    if let Some(touches) = &mut touches {
        touches.guard(problem, &mut velocities)?;
        taken.iterations = touches.iterations;
    }
    taken.to = advance(problem, &velocities)?;
    taken.phases.gate = watch.lap();
    taken.residual = linear_residual(scratch, &velocities);
    taken.solves = true;
    taken.touches = touches;
    taken.velocities = velocities;
    Ok(taken)
}

/// v where nothing touches.
fn without_contact(problem: &Problem<'_>, scratch: &mut Scratch) -> Result<Vec<f64>, StepError> {
    let mut velocities = solve(problem, scratch)?;
    let mut bodies = problem.model.bodies.iter();
    if bodies.any(|body| Which::Affine.has(body)) {
        for _ in 0..AGAIN {
            linearize(problem, &velocities, Which::Affine, scratch);
            solve_affine(problem, &mut velocities, scratch)?;
        }
    }
    Ok(velocities)
}
