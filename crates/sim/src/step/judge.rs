//! Whether a step is accepted: it gains no energy from nothing, and its errors are small beside the
//! scene.

use crate::certify::Step;
use crate::claims::{Claims, EnergyClaim, EquationsClaim};
use crate::integrate::{StepError, strictest_tolerance};
use crate::model::{EnergyRule, Model};
use crate::report::StepReport;
use crate::step_input::StepInput;

/// Relative gain of energy below which a step is accepted: rounding, and equations solved to their
/// tolerance.
const MAX_RELATIVE_GAIN: f64 = 1e-6;

/// Largest gain where the elastic energy is not convex, relative to the energy.
const MAX_NON_CONVEX_GAIN: f64 = 0.01;

/// Largest claimed error of a step, relative to the diagonal of the scene.
const MAX_RELATIVE_ERROR: f64 = 1e-3;

/// Overlap at which contacts count as the reason of a large error, relative to the limit of errors.
const OVERLAP: f64 = 0.1;

/// Error below which a step counts as converged, whatever its tolerance (m).
const CONVERGED_ERROR: f64 = 10e-6;

/// The claims of a method that claims all errors to be small.
const EVERYTHING: Claims = Claims::implicit(EquationsClaim::Nonlinear);

/// Refuses a step that gains energy, whose claimed errors are large beside the scene, or whose other
/// errors are larger than the scene.
pub(super) fn judge(
    input: &StepInput<'_>,
    claims: Claims,
    diagonal: f64,
    step: &Step,
) -> Result<(), StepError> {
    let claimed = (
        worst_error(claims, &step.report),
        MAX_RELATIVE_ERROR * diagonal,
    );
    let reported = (worst_error(EVERYTHING, &step.report), diagonal);
    for (error, limit) in [claimed, reported] {
        // A static solution may take several steps, such as through an instability.
        if limit > 0.0 && error > limit && !input.is_static {
            return Err(inaccurate(input.model, step, [error, limit]));
        }
    }
    let is_judged = input.model.method.energy == EnergyRule::Dissipative
        && claims.energy == EnergyClaim::Dissipative;
    match excess_gain(input.model, input.h(), &step.report) {
        Some((gain, energy)) if is_judged => Err(StepError::EnergyGain { gain, energy }),
        _ => Ok(()),
    }
}

/// The reason of a large error: contacts that contradict each other, so that the error is theirs or
/// surfaces are pressed into each other's thickness, or the equations.
fn inaccurate(model: &Model, step: &Step, [error, limit]: [f64; 2]) -> StepError {
    let deepest = step.contacts.iter().min_by(|a, b| a.gap.total_cmp(&b.gap));
    match deepest {
        Some(contact)
            if step.report.contact_error_m >= Some(error) || contact.gap < -OVERLAP * limit =>
        {
            let [object, other] = contact.objects.map(|it| model.objects[it].name.clone());
            StepError::Contradiction {
                object,
                other,
                error,
                limit,
            }
        }
        _ => StepError::Inaccurate { error, limit },
    }
}

/// Whether a claimed error of a step is above its tolerance.
pub(super) fn is_unconverged(input: &StepInput<'_>, claims: Claims, report: &StepReport) -> bool {
    worst_error(claims, report) > input.model.method.tolerance.max(CONVERGED_ERROR)
}

/// The largest of the errors that a method claims to be small (m).
fn worst_error(claims: Claims, report: &StepReport) -> f64 {
    let momentum = report.momentum_error_m;
    let momentum = momentum.filter(|_| claims.equations != EquationsClaim::None);
    let nonlinear = report.nonlinear_error_m;
    let nonlinear = nonlinear.filter(|_| claims.equations == EquationsClaim::Nonlinear);
    let contact = report.contact_error_m.filter(|_| claims.contact);
    let errors = [momentum, nonlinear, contact].into_iter().flatten();
    errors.fold(0.0, f64::max)
}

/// The energy that a step of length `h` gains beyond what is allowed, and the energy that it is
/// compared with (J).
pub(crate) fn excess_gain(model: &Model, h: f64, report: &StepReport) -> Option<(f64, f64)> {
    let gain = &report.gain_j;
    // Equations that are solved to a tolerance let forces work along it.
    let weight = model.weights.iter().sum::<f64>() * model.gravity.length();
    let tolerance = strictest_tolerance(model, h);
    let slack = tolerance * (gain.contact_force + weight);
    let scale = gain.turnover.max(gain.stored);
    let rounding = 1e-10 * (gain.stored + report.energy_j.gravity.abs());
    // The energy of a motion by the tolerance: what rests may have that.
    let slack = slack + model.masses.iter().sum::<f64>() * (tolerance / h).powi(2);
    if gain.gain > MAX_RELATIVE_GAIN * gain.turnover + slack + rounding {
        Some((gain.gain, scale))
    } else if gain.non_convex > MAX_NON_CONVEX_GAIN * scale + slack + rounding {
        Some((gain.non_convex, scale))
    } else {
        None
    }
}
