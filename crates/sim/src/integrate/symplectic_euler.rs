//! Symplectic Euler: forces at the start of the step change the velocities, the new velocities
//! change the positions. It is explicit and stable for short steps only. Momentum is conserved, and
//! the energy error stays bounded (Hairer, Lubich and Wanner 2006, I.1).

use super::contact::ContactRequest;
use super::contact_solve::{solve_contacts, strictest_tolerance};
use super::implicit::advance_through_gate;
use super::{
    ContactPhase, Context, IntegratorMethod, Phase, Scratch, SolvedEquations, StepError,
    StepOutcome,
};
use crate::claims::{Claims, EnergyClaim, EquationsClaim, PathClaim};
use crate::equations::linearize::{
    BodySubset, LinearisationPoint, differentiate, linearize, prepare,
};
use crate::equations::{Equations, Linearised};
use crate::model::Body;
use crate::random::Random;
use crate::step_input::StepInput;

/// Power iterations for the largest eigenvalue. Its error is then a few percent.
const POWER_ITERATIONS: usize = 60;

/// Symplectic Euler, without options.
pub(super) struct SymplecticEuler;

impl IntegratorMethod for SymplecticEuler {
    fn claims(&self) -> Claims {
        Claims {
            equations: EquationsClaim::None,
            path: PathClaim::Straight,
            contact: true,
            gap: true,
            energy: EnergyClaim::None,
        }
    }

    /// Refuses time steps above the stability limit.
    fn refuse(&self, first: &StepInput<'_>) -> Result<(), StepError> {
        let (longest, object) = longest_step(first);
        if first.h() <= longest || longest.is_nan() {
            return Ok(());
        }
        Err(StepError::TooLong {
            object: first.model.objects[object].name.clone(),
            h: first.h(),
            longest,
        })
    }

    /// Symplectic Euler has z + 1/z = 2 − (hω)².
    fn angular_frequency(&self, [real, imaginary]: [f64; 2], h: f64) -> f64 {
        let cosine = real / real.hypot(imaginary);
        (2.0 - 2.0 * cosine).max(0.0).sqrt() / h
    }

    fn step<'a>(
        &self,
        input: &StepInput<'a>,
        scratch: &mut Scratch,
        context: &mut Context,
    ) -> Result<StepOutcome<'a>, StepError> {
        // 1. Detection of contacts.
        let mut contact = ContactPhase::begin(input, scratch, context);
        // 2. M v = −ρ, with forces at the positions and velocities of the start.
        let (mut residual, drag) = forces_at_start(input, scratch);
        context.timer.lap(Phase::Assemble);
        // 3. and 4. Solve for v with contacts, M being the only matrix; held nodes have their
        //    prescribed velocities.
        let mut velocities = match &mut contact {
            Some(phase) => contact_velocities(input, phase, &residual, scratch, context)?,
            None => free_velocities(input, &residual, scratch),
        };
        // 5. Gate, and the state at the end.
        let to = advance_through_gate(input, &mut contact, &mut velocities, context)?;
        let inertia = &scratch.equations.inertia;
        for ((rho, v), inertia) in residual.iter_mut().zip(&velocities).zip(inertia) {
            *rho += inertia * v;
        }
        let has_contacts = contact.as_ref().is_some_and(|it| !it.posed.is_empty());
        Ok(StepOutcome {
            to,
            velocities,
            residual,
            solved: if has_contacts {
                SolvedEquations::Linear
            } else {
                SolvedEquations::None
            },
            drag: Some(drag),
            contact,
            impact: None,
            iterations: 0,
            is_converged: true,
        })
    }
}

/// ρ = ∇𝒜(0) plus viscous impulses at the velocities of the start, and these impulses (N s).
fn forces_at_start(input: &StepInput<'_>, scratch: &mut Scratch) -> (Vec<f64>, Vec<f64>) {
    let Scratch {
        equations,
        linearised,
        ..
    } = scratch;
    prepare(input, equations);
    let mut residual = if equations.viscous.is_some() {
        // C is proportional to the Hessians.
        linearize(
            input,
            LinearisationPoint::Start,
            BodySubset::All,
            equations,
            linearised,
        );
        linearised.residual.clone()
    } else {
        let rest = vec![0.0; input.model.unknowns.count];
        differentiate(input, &rest, equations)
    };
    equations.elastic_start = equations.elastic_energy(&input.from.positions);
    let unknowns = &input.model.unknowns;
    let before = unknowns.join(&input.from.velocities, &input.from.spins);
    let drag = equations.drag(&before);
    for (residual, drag) in residual.iter_mut().zip(&drag) {
        *residual += drag;
    }
    (residual, drag)
}

/// Velocities without contacts: v = −M⁻¹ρ.
fn free_velocities(input: &StepInput<'_>, residual: &[f64], scratch: &Scratch) -> Vec<f64> {
    let inertia = &scratch.equations.inertia;
    let mut velocities: Vec<f64> = residual.iter().zip(inertia).map(|(r, m)| -r / m).collect();
    for (dof, rate) in input.held_velocities() {
        velocities[dof] = rate;
    }
    velocities
}

/// Velocities with contacts: M v = −ρ + Bᵀ r.
fn contact_velocities(
    input: &StepInput<'_>,
    phase: &mut ContactPhase<'_>,
    residual: &[f64],
    scratch: &mut Scratch,
    context: &mut Context,
) -> Result<Vec<f64>, StepError> {
    let inertia = &scratch.equations.inertia;
    (scratch.linearised).set_explicit(input.model, inertia, residual);
    let request = ContactRequest {
        tolerance: strictest_tolerance(input.model, input.h()),
        is_followed: false,
        relinearises: false,
    };
    let warm = ContactPhase::warm_start(input);
    solve_contacts(phase, input, &warm, request, scratch, context)
}

/// The longest stable time step at a state (s), and the object that limits it: 2/ω of the fastest
/// oscillation, by the power method on M⁻¹K of the free unknowns.
fn longest_step(input: &StepInput<'_>) -> (f64, usize) {
    let model = input.model;
    let (mut equations, mut linearised) = (Equations::new(model), Linearised::new(model));
    prepare(input, &mut equations);
    linearize(
        input,
        LinearisationPoint::Start,
        BodySubset::All,
        &mut equations,
        &mut linearised,
    );
    let (inertia, system) = (&equations.inertia, &linearised.system);
    let mut product = vec![0.0; model.unknowns.count];
    let mut random = Random::new(1);
    let mut direction: Vec<f64> = product.iter().map(|_| random.between(-1.0, 1.0)).collect();
    let mut square = 0.0;
    for _ in 0..POWER_ITERATIONS {
        // xᵀ(A − M)x / xᵀMx is (hω)² plus a viscous part.
        for (x, is_held) in direction.iter_mut().zip(input.is_held()) {
            *x = if *is_held { 0.0 } else { *x };
        }
        let masses = direction.iter().zip(inertia);
        let size = masses.map(|(x, mass)| mass * x * x).sum::<f64>().sqrt();
        direction.iter_mut().for_each(|x| *x /= size);
        system.multiply(&direction, &mut product);
        square = 0.0;
        for (dof, x) in direction.iter_mut().enumerate() {
            let force = product[dof] - inertia[dof] * *x;
            square += *x * force;
            *x = force / inertia[dof];
        }
    }
    let fastest = |body: &&Body| -> f64 {
        let entries = body
            .dofs
            .clone()
            .map(|dof| inertia[dof] * direction[dof].powi(2));
        entries.sum()
    };
    let bodies = model.bodies.iter();
    let body = bodies.max_by(|a, b| fastest(a).total_cmp(&fastest(b)));
    let object = body.map_or(0, |body| body.object);
    (2.0 * input.h() / square.max(0.0).sqrt(), object)
}
