//! Symplectic Euler: forces at the start of the step change velocities, and those move everything. Nothing is solved, so
//! steps must be short; energy and momentum are kept for as long as one likes (Hairer, Lubich and Wanner 2006, I.1).

use super::claims::{Claims, EnergyClaim, EquationsClaim, PathClaim};
use super::contact::{ContactSolve, strictest_tolerance};
use super::implicit::advance_through_gate;
use super::{
    ContactPhase, Context, IntegratorMethod, Phase, Scratch, Solved, StepError, StepOutcome,
};
use crate::energy::equations::{Equations, Linearised};
use crate::energy::linearize::{At, Which, differentiate, linearize, prepare};
use crate::model::Body;
use crate::random::Random;
use crate::scene::tables::SymplecticEuler;
use crate::step_input::StepInput;

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

    /// Steps that are too long for what is simulated would grow without end.
    fn refuse(&self, first: &StepInput<'_>) -> Result<(), StepError> {
        let (longest, object) = longest_step(first);
        match first.h() <= longest || longest.is_nan() {
            true => Ok(()),
            false => Err(StepError::TooLong {
                object: first.model.objects[object].name.clone(),
                h: first.h(),
                longest,
            }),
        }
    }

    /// It has z + 1/z = 2 − (hω)².
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
        // 1. Who may touch.
        let mut contact = ContactPhase::begin(input, scratch, context);
        // 2. M v = −ρ, with forces at the start and viscous ones at the velocities of the start.
        let (mut residual, drag) = forces_at_start(input, scratch);
        context.timer.lap(Phase::Assemble);
        // 3. and 4. v, among contacts that know masses only; that of held nodes as it is prescribed.
        let mut velocities = match &mut contact {
            Some(phase) => among_contacts(input, phase, &residual, scratch, context)?,
            None => free_velocities(input, &residual, scratch),
        };
        // 5. The motion, through the gate.
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
                Solved::Linear
            } else {
                Solved::Nothing
            },
            drag: Some(drag),
            contact,
            iterations: 0,
        })
    }
}

/// ρ = ∇𝒜(0) with viscous impulses at the velocities of the start, and these (N s).
fn forces_at_start(input: &StepInput<'_>, scratch: &mut Scratch) -> (Vec<f64>, Vec<f64>) {
    let Scratch {
        equations,
        linearised,
        ..
    } = scratch;
    prepare(input, equations);
    let mut residual = match equations.viscous.is_some() {
        // The viscosity comes from the Hessians.
        true => {
            linearize(input, At::Start, Which::All, equations, linearised);
            linearised.residual.clone()
        }
        false => {
            let rest = vec![0.0; input.model.unknowns.count];
            differentiate(input, &rest, equations)
        }
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

/// v = −M⁻¹ρ.
fn free_velocities(input: &StepInput<'_>, residual: &[f64], scratch: &Scratch) -> Vec<f64> {
    let inertia = &scratch.equations.inertia;
    let mut velocities: Vec<f64> = residual.iter().zip(inertia).map(|(r, m)| -r / m).collect();
    for (dof, rate) in input.held_velocities() {
        velocities[dof] = rate;
    }
    velocities
}

/// v among contacts: M v = −ρ + Bᵀ r.
fn among_contacts(
    input: &StepInput<'_>,
    phase: &mut ContactPhase<'_>,
    residual: &[f64],
    scratch: &mut Scratch,
    context: &mut Context,
) -> Result<Vec<f64>, StepError> {
    let inertia = &scratch.equations.inertia;
    (scratch.linearised).become_masses(input.model, inertia, residual);
    let request = ContactSolve {
        tolerance: strictest_tolerance(input),
        is_followed: false,
        relinearises: false,
    };
    let warm = ContactPhase::warm_start(input);
    phase.solve(input, &warm, request, scratch, context)
}

/// How often the power method multiplies; by then it knows the largest eigenvalue to a few percent.
const PRODUCTS: usize = 60;

/// The longest step that is stable at a state (s), and the object that needs it: 2/ω of the fastest oscillation, by the power
/// method on M⁻¹K of what is free.
fn longest_step(input: &StepInput<'_>) -> (f64, usize) {
    let model = input.model;
    let (mut equations, mut linearised) = (Equations::new(model), Linearised::new(model));
    prepare(input, &mut equations);
    linearize(
        input,
        At::Start,
        Which::All,
        &mut equations,
        &mut linearised,
    );
    let (inertia, system) = (&equations.inertia, &linearised.system);
    let mut product = vec![0.0; model.unknowns.count];
    let mut random = Random::new(1);
    let mut direction: Vec<f64> = product.iter().map(|_| random.between(-1.0, 1.0)).collect();
    let mut square = 0.0;
    for _ in 0..PRODUCTS {
        // In the norm of M: xᵀ(A − M)x over xᵀMx is (hω)², with what viscosity adds.
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
