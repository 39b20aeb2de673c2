//! The certificate of a step, computed from the problem and the accepted motion, never by the
//! solver.

use glam::DVec3;
use reefknot_contact::problem::ContactMemory;

mod contacts;
mod energy;
mod intersections;
mod step;

use crate::equations::linearize::differentiate;
use crate::integrate::{
    ContactPhase, Scratch, SolvedEquations, StepOptions, StepOutcome, clear_held, momentum_error,
};
use crate::report::StepReport;
use crate::step_input::StepInput;
pub use contacts::ContactRecord;
use contacts::{ContactReport, grade_contacts};
use energy::EnergyBalance;
pub use energy::energies;
pub use reefknot_contact::problem::ContactState;
pub use step::Step;

/// Computes the certificate of a step.
pub(crate) fn certify(
    input: &StepInput<'_>,
    mut outcome: StepOutcome<'_>,
    scratch: &mut Scratch,
    options: StepOptions,
) -> Step {
    let (model, h) = (input.model, input.h());
    // An implicit method takes the elastic forces at the end of the step.
    let is_linear = outcome.solved == SolvedEquations::Linear && outcome.drag.is_none();
    let nonlinear =
        is_linear.then(|| differentiate(input, &outcome.velocities, &mut scratch.equations));
    // Contact impulses are subtracted from the residual below.
    let impulses = outcome.impulses_on_nodes(input);
    let balance = EnergyBalance {
        input,
        outcome: &outcome,
        impulses: &impulses,
        equations: &scratch.equations,
    };
    let flows = balance.flows();
    for (rho, impulse) in outcome.residual.iter_mut().zip(&impulses) {
        *rho -= impulse;
    }
    let contacts = outcome
        .contact
        .as_ref()
        .map(|phase| grade_contacts(input, phase, &outcome, scratch, options));
    let residual = &mut outcome.residual;
    let pin_forces = pin_forces(input, residual);
    clear_held(input, residual);
    // An explicit step has no momentum error.
    let error = (outcome.solved != SolvedEquations::None)
        .then(|| momentum_error(model, h, residual, scratch));
    let nonlinear_error = match nonlinear {
        Some(mut residual) => {
            for (rho, impulse) in residual.iter_mut().zip(&impulses) {
                *rho -= impulse;
            }
            clear_held(input, &mut residual);
            Some(momentum_error(model, h, &mut residual, scratch))
        }
        None => error.filter(|_| outcome.solved == SolvedEquations::Nonlinear),
    };
    let stretches = model
        .bodies
        .iter()
        .map(|body| body.max_stretch(&outcome.to));
    let max_stretch = stretches.fold(0.0, f64::max);
    let report = StepReport {
        step: outcome.to.step,
        time: input.span.end,
        momentum_error_m: error,
        nonlinear_error_m: nonlinear_error,
        max_stretch,
        energy_j: flows.energies,
        gain_j: flows.gain,
        iterations: outcome.iterations,
        ..StepReport::default()
    };
    let mut step = Step {
        to: outcome.to,
        report,
        pin_forces,
        duration: h,
        contacts: Vec::new(),
        violation: None,
    };
    if let (Some(phase), Some(contacts)) = (outcome.contact, contacts) {
        report_contacts(&mut step, &phase, contacts);
        phase.detection.finish(&mut scratch.detector);
    }
    (scratch.pool).recycle([outcome.velocities, outcome.residual]);
    step
}

/// Adds the contact report to a step, and the warm start of the next step to its state.
fn report_contacts(step: &mut Step, phase: &ContactPhase<'_>, found: ContactReport) {
    let gaps = found.contacts.iter().map(|contact| contact.gap);
    let report = &mut step.report;
    report.contacts = found.contacts.len() as u64;
    report.iterations = report.iterations.max(phase.iterations);
    report.failsafe = phase.is_guarded;
    report.intersections = found.intersections;
    report.min_gap_m = gaps.fold(None, |least: Option<f64>, gap| {
        Some(least.map_or(gap, |l| l.min(gap)))
    });
    report.contact_error_m = Some(found.error);
    let known = found.contacts.iter().zip(&phase.memory);
    let loaded = known.filter(|(contact, _)| contact.force != DVec3::ZERO);
    let memory = loaded.map(|(contact, known)| ContactMemory {
        id: contact.id,
        reaction: contact.force,
        average: known.average / found.h,
        state: contact.state,
    });
    step.to.contacts = memory.collect();
    step.contacts = found.contacts;
    step.violation = found.violation;
}

/// Constraint force on each held node (N); zero along free axes.
fn pin_forces(input: &StepInput<'_>, residual: &[f64]) -> Vec<(usize, DVec3)> {
    let (h, is_held) = (input.h(), &input.prescribed.held.is_held);
    let force = |(node, _): &(usize, DVec3)| {
        let offset = input.model.unknowns.node_offset[*node];
        let along = |axis: usize| {
            if is_held[offset + axis] {
                residual[offset + axis] / h
            } else {
                0.0
            }
        };
        (*node, DVec3::new(along(0), along(1), along(2)))
    };
    input.prescribed.held.targets.iter().map(force).collect()
}
