//! Symplectic Euler: forces at the start of the step change velocities, and those move everything. Nothing is solved, so
//! steps must be short; energy and momentum are kept for as long as one likes (Hairer, Lubich and Wanner 2006, I.1).

use super::implicit::advance;
use super::{Scratch, StepError, Stopwatch, Taken, Touches};
use crate::energy::linearize::{Problem, Which, differentiate, elastic_energy, linearize, prepare};
use crate::model::Body;
use crate::random::Random;

/// One step.
pub(super) fn step<'a>(
    problem: &Problem<'a>,
    scratch: &mut Scratch,
) -> Result<Taken<'a>, StepError> {
    let mut watch = Stopwatch::start();
    let mut taken = Taken::default();
    let mut touches = Touches::begin(problem, scratch);
    taken.phases.detect = watch.lap();
    prepare(problem, scratch);
    let rest = vec![0.0; scratch.impulse.len()];
    match scratch.viscous.is_some() {
        // The viscosity comes from the Hessians.
        true => linearize(problem, &rest, Which::All, scratch),
        false => differentiate(problem, &rest, scratch),
    }
    scratch.elastic_start = elastic_energy(scratch, &problem.from.positions);
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
    taken.phases.assemble = watch.lap();
    if let Some(touches) = &mut touches {
        velocities = among_contacts(problem, touches, &residual, scratch)?;
        taken.phases.contact = watch.lap();
        touches.guard(problem, &mut velocities)?;
        taken.iterations = touches.iterations;
        taken.solves = !touches.posed.is_empty();
    }
    for ((rho, v), inertia) in residual.iter_mut().zip(&velocities).zip(&scratch.inertia) {
        *rho += inertia * v;
    }
    taken.to = advance(problem, &velocities)?;
    taken.phases.gate = watch.lap();
    taken.touches = touches;
    taken.residual = residual;
    taken.drag = Some(drag);
    taken.velocities = velocities;
    Ok(taken)
}

/// v among contacts, which know masses only: M v = −ρ + Bᵀ r.
fn among_contacts(
    problem: &Problem<'_>,
    touches: &mut Touches<'_>,
    residual: &[f64],
    scratch: &mut Scratch,
) -> Result<Vec<f64>, StepError> {
    let Scratch {
        system, inertia, ..
    } = scratch;
    for (body, part) in problem.model.bodies.iter().zip(&mut system.bodies) {
        part.matrix.clear();
        part.matrix.add_diagonal(&inertia[body.dofs.clone()]);
    }
    system.couple(Vec::new());
    scratch.point.fill(0.0);
    scratch.residual.copy_from_slice(residual);
    touches.is_explicit = true;
    touches.solve(problem, &touches.warm(problem), scratch)
}

/// How often the power method multiplies; by then it knows the largest eigenvalue to a few percent.
const PRODUCTS: usize = 60;

/// The longest step that is stable at a state (s), and the object that needs it: 2/ω of the fastest oscillation, by the power
/// method on M⁻¹K of what is free.
fn longest_step(problem: &Problem<'_>, scratch: &mut Scratch) -> (f64, usize) {
    let model = problem.model;
    prepare(problem, scratch);
    let rest = vec![0.0; model.unknowns.count];
    linearize(problem, &rest, Which::All, scratch);
    let mut random = Random::new(1);
    let mut direction: Vec<f64> = rest.iter().map(|_| random.between(-1.0, 1.0)).collect();
    let mut product = rest;
    let mut square = 0.0;
    for _ in 0..PRODUCTS {
        // In the norm of M: xᵀ(A − M)x over xᵀMx is (hω)², with what viscosity adds.
        for (x, is_held) in direction.iter_mut().zip(&problem.held.is_held) {
            *x = if *is_held { 0.0 } else { *x };
        }
        let masses = direction.iter().zip(&scratch.inertia);
        let size = masses.map(|(x, mass)| mass * x * x).sum::<f64>().sqrt();
        direction.iter_mut().for_each(|x| *x /= size);
        scratch.system.multiply(&direction, &mut product);
        square = 0.0;
        for (dof, x) in direction.iter_mut().enumerate() {
            let force = product[dof] - scratch.inertia[dof] * *x;
            square += *x * force;
            *x = force / scratch.inertia[dof];
        }
    }
    let fastest = |body: &&Body| -> f64 {
        let entries = body
            .dofs
            .clone()
            .map(|dof| scratch.inertia[dof] * direction[dof].powi(2));
        entries.sum()
    };
    let bodies = model.bodies.iter();
    let body = bodies.max_by(|a, b| fastest(a).total_cmp(&fastest(b)));
    let object = body.map_or(0, |body| body.object);
    (2.0 * problem.h() / square.max(0.0).sqrt(), object)
}

/// Refuses steps that are too long for what is simulated: they would grow without end.
pub(super) fn refuse_long(problem: &Problem<'_>, scratch: &mut Scratch) -> Result<(), StepError> {
    let (longest, object) = longest_step(problem, scratch);
    match problem.h() <= longest || longest.is_nan() {
        true => Ok(()),
        false => Err(StepError::TooLong {
            object: problem.model.objects[object].name.clone(),
            h: problem.h(),
            longest,
        }),
    }
}
