//! Symplectic Euler: forces at the start of the step change velocities, and those move everything. Nothing is solved, so
//! steps must be short; energy and momentum are kept for as long as one likes (Hairer, Lubich and Wanner 2006, I.1).

use super::implicit::{advance, elastic_at_start};
use super::{Scratch, StepError, Stopwatch, Taken};
use crate::energy::linearize::{Problem, Which, differentiate, linearize, prepare};

/// One step.
pub(super) fn step(problem: &Problem<'_>, scratch: &mut Scratch) -> Result<Taken, StepError> {
    let mut watch = Stopwatch::start();
    let mut taken = Taken::default();
    prepare(problem, scratch);
    let rest = vec![0.0; scratch.impulse.len()];
    match scratch.viscous.is_some() {
        // The viscosity comes from the Hessians.
        true => linearize(problem, &rest, Which::All, scratch),
        false => differentiate(problem, &rest, scratch),
    }
    scratch.elastic_start = elastic_at_start(problem.model, problem.from)
        + scratch
            .ties
            .iter()
            .map(|tie| tie.value(&problem.from.positions))
            .sum::<f64>();
    // Viscous forces are those of the velocities at the start.
    let unknowns = &problem.model.unknowns;
    let before = unknowns.join(&problem.from.velocities, &problem.from.spins);
    let mut drag = vec![0.0; before.len()];
    if let Some(viscous) = &scratch.viscous {
        viscous.multiply(&before, &mut drag);
    }
    let mut residual: Vec<f64> = scratch
        .residual
        .iter()
        .zip(&drag)
        .map(|(r, d)| r + d)
        .collect();
    let mut velocities: Vec<f64> = residual
        .iter()
        .zip(&scratch.inertia)
        .map(|(r, inertia)| -r / inertia)
        .collect();
    for (dof, rate) in problem.told() {
        velocities[dof] = rate;
    }
    for ((rho, v), inertia) in residual.iter_mut().zip(&velocities).zip(&scratch.inertia) {
        *rho += inertia * v;
    }
    taken.phases.assemble = watch.lap();
    taken.to = advance(problem, &velocities)?;
    taken.residual = residual;
    taken.drag = Some(drag);
    taken.velocities = velocities;
    Ok(taken)
}
