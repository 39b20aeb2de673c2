//! Implicit Euler by Newton's method: the velocities of a step make the action stationary (Daviet
//! 2020, Eq. 2). A line search keeps the action, minus the work of contacts, from growing.

use reefknot_contact::problem::WarmStart;

use super::contact::ContactRequest;
use super::contact_solve::{solve_contacts, strictest_tolerance};
use super::implicit::{advance_through_gate, solve};
use super::tuning::TUNING;
use super::{
    ContactPhase, Context, IntegratorMethod, Phase, Scratch, SolvedEquations, StepError,
    StepOutcome,
};
use crate::claims::{Claims, EquationsClaim};
use crate::equations::linearize::{
    BodySubset, LinearisationPoint, action, differentiate, linearize, prepare,
};
use crate::equations::{Equations, Linearised};
use crate::model::NewtonOptions;
use crate::step_input::StepInput;

impl IntegratorMethod for NewtonOptions {
    fn claims(&self) -> Claims {
        Claims::implicit(EquationsClaim::Nonlinear)
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
        // 1. Detection of contacts.
        let mut contact = ContactPhase::begin(input, scratch, context);
        // 2. A at the velocities of the step before.
        let mut newton = NewtonState::begin(input, self.iterations, scratch, context);
        while !newton.is_over {
            // 3. and 4. Solve the linearised equations with contacts, then line search towards the
            //    solution.
            let target = newton.solve_linearised(input, &mut contact, scratch, context)?;
            newton.advance_towards(target, input, &contact, scratch, context);
        }
        if input.model.method.converge && !newton.is_converged {
            return Err(StepError::NotConverged {
                error: newton.error,
            });
        }
        // 5. Gate, the state at the end, and the nonlinear residual.
        let mut velocities = newton.velocities;
        let to = advance_through_gate(input, &mut contact, &mut velocities, context)?;
        let residual = differentiate(input, &velocities, &mut scratch.equations);
        context.timer.lap(Phase::Assemble);
        Ok(StepOutcome {
            to,
            velocities,
            residual,
            solved: SolvedEquations::Nonlinear,
            drag: None,
            contact,
            iterations: newton.iteration,
        })
    }
}

/// State of Newton's method.
struct NewtonState {
    /// Maximum number of iterations.
    max_iterations: u64,
    /// Iterations so far.
    iteration: u64,
    velocities: Vec<f64>,
    /// Warm start of the next contact solve.
    warm: WarmStart,
    /// Largest displacement of a node by the full step of the last iteration (m).
    error: f64,
    is_converged: bool,
    /// Whether the iteration has ended, converged or not.
    is_over: bool,
}

impl NewtonState {
    fn begin(
        input: &StepInput<'_>,
        iterations: u64,
        scratch: &mut Scratch,
        context: &mut Context,
    ) -> NewtonState {
        let velocities = linearize_at_start(input, scratch);
        context.timer.lap(Phase::Assemble);
        NewtonState {
            max_iterations: iterations.max(1),
            iteration: 0,
            velocities,
            warm: ContactPhase::warm_start(input),
            error: f64::INFINITY,
            is_converged: false,
            is_over: false,
        }
    }

    /// Solution of the equations linearised at the current velocities.
    fn solve_linearised(
        &mut self,
        input: &StepInput<'_>,
        contact: &mut Option<ContactPhase<'_>>,
        scratch: &mut Scratch,
        context: &mut Context,
    ) -> Result<Vec<f64>, StepError> {
        if self.iteration > 0 {
            let at = LinearisationPoint::Velocities(&self.velocities);
            let Scratch {
                equations,
                linearised,
                ..
            } = &mut *scratch;
            linearize(input, at, BodySubset::All, equations, linearised);
        }
        context.timer.lap(Phase::Assemble);
        let Some(phase) = contact else {
            return solve(input, scratch, context);
        };
        let is_first = self.iteration == 0 && self.max_iterations > 1;
        let range = [strictest_tolerance(input), input.model.method.tolerance];
        let request = ContactRequest {
            tolerance: contact_tolerance(range, is_first, self.error),
            is_followed: is_first,
            relinearises: true,
        };
        let target = solve_contacts(phase, input, &self.warm, request, scratch, context)?;
        self.warm = phase.warm_restart(&target);
        Ok(target)
    }

    /// Line search towards `target`. Ends the iteration if the change is below the tolerance or the
    /// line search fails.
    fn advance_towards(
        &mut self,
        target: Vec<f64>,
        input: &StepInput<'_>,
        contact: &Option<ContactPhase<'_>>,
        scratch: &mut Scratch,
        context: &mut Context,
    ) {
        let change: Vec<f64> = target
            .iter()
            .zip(&self.velocities)
            .map(|(t, v)| t - v)
            .collect();
        self.error = input.h() * input.model.unknowns.largest_at_nodes(&change);
        let has_slope = self.iteration > 0;
        if !has_slope {
            for (dof, rate) in input.held_velocities() {
                self.velocities[dof] = rate;
            }
        }
        self.iteration += 1;
        self.is_converged = self.error <= input.model.method.tolerance;
        self.is_over = self.iteration >= self.max_iterations;
        if self.is_converged && has_slope {
            self.velocities = target;
            self.is_over = true;
        } else {
            let impulses = contact.as_ref().map(|phase| phase.impulses_on_nodes(input));
            let (equations, linearised) = (&scratch.equations, &scratch.linearised);
            let line = LineSearch {
                input,
                equations,
                slope: has_slope.then_some(linearised),
                impulses: impulses.as_deref().unwrap_or_default(),
            };
            match line.search(&self.velocities, &target) {
                Some(found) => self.velocities = found,
                // After a failed line search the next iteration would be the same.
                None => self.is_over |= has_slope,
            }
        }
        context.timer.lap(Phase::Assemble);
    }
}

/// Initial velocities of Newton's method, those of the step before, with the linearisation there.
///
/// From zero velocities, rotating bodies would first move along tangents and stretch. The line
/// search would then cut the motion, and a small number of iterations would damp it. From the
/// velocities of the step before, this error is of an order in h higher.
fn linearize_at_start(input: &StepInput<'_>, scratch: &mut Scratch) -> Vec<f64> {
    let Scratch {
        equations,
        linearised,
        ..
    } = scratch;
    prepare(input, equations);
    // C is evaluated at the start of the step only.
    linearize(
        input,
        LinearisationPoint::Start,
        BodySubset::All,
        equations,
        linearised,
    );
    equations.elastic_start = equations.elastic_energy(&input.from.positions);
    let before = input.start_velocities();
    if input.is_static || !action(input, &before, equations).is_finite() {
        return vec![0.0; before.len()];
    }
    let at = LinearisationPoint::Velocities(&before);
    linearize(input, at, BodySubset::All, equations, linearised);
    before
}

/// Contact tolerance of a Newton iteration (m), between the one at which objects at rest do not
/// creep and the tolerance of the scene. In fast motion the linearisation error is far larger than
/// the contact error. `change` is the largest displacement by the iteration before (m).
fn contact_tolerance([strictest, loosest]: [f64; 2], is_first: bool, change: f64) -> f64 {
    if is_first {
        TUNING.first_tolerance_factor * strictest
    } else if change.is_finite() {
        (TUNING.forcing_term * change).clamp(strictest, loosest)
    } else {
        strictest
    }
}

/// A backtracking line search on the action minus the work of contacts.
struct LineSearch<'s> {
    input: &'s StepInput<'s>,
    equations: &'s Equations,
    /// The linearisation at the start of the line, if there is one. It determines the slope there;
    /// without it the slope is taken as zero.
    slope: Option<&'s Linearised>,
    /// Bᵀ r (N s); empty without contacts.
    impulses: &'s [f64],
}

impl LineSearch<'_> {
    /// Work of contact impulses at velocities `v` (J).
    fn work(&self, v: &[f64]) -> f64 {
        v.iter().zip(self.impulses).map(|(v, f)| v * f).sum()
    }

    /// The first accepted velocities between `velocities` and `target`, by repeated halving from
    /// `target`.
    fn search(&self, velocities: &[f64], target: &[f64]) -> Option<Vec<f64>> {
        let (input, equations) = (self.input, self.equations);
        let slope: f64 = match self.slope {
            Some(linearised) => {
                let change = target.iter().zip(velocities).map(|(t, v)| t - v);
                let along: f64 = change
                    .zip(&linearised.residual)
                    .map(|(change, r)| change * r)
                    .sum();
                along - self.work(target) + self.work(velocities)
            }
            None => 0.0,
        };
        let start = action(input, velocities, equations) - self.work(velocities);
        let rounding = TUNING.action_rounding * (start.abs() + equations.elastic_start.abs());
        let mut fraction = 1.0;
        for _ in 0..TUNING.max_halvings {
            let trial: Vec<f64> = velocities
                .iter()
                .zip(target)
                .map(|(v, t)| v + fraction * (t - v))
                .collect();
            let value = action(input, &trial, equations) - self.work(&trial);
            if value <= start + TUNING.sufficient_decrease * fraction * slope + rounding {
                return Some(trial);
            }
            fraction *= 0.5;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_contact_tolerance_follows_the_newton_step_within_its_range() {
        let range = [1e-6, 1e-5];
        // Objects at rest must not creep, nor those in a step with a single iteration.
        assert_eq!(contact_tolerance(range, false, 0.0), 1e-6);
        assert_eq!(contact_tolerance(range, false, f64::INFINITY), 1e-6);
        assert_eq!(contact_tolerance(range, false, f64::NAN), 1e-6);
        // 1/100 of 0.5 mm, and at most the tolerance of the scene.
        assert!((contact_tolerance(range, false, 5e-4) - 5e-6).abs() < 1e-18);
        assert_eq!(contact_tolerance(range, false, 0.1), 1e-5);
        assert_eq!(contact_tolerance(range, true, f64::INFINITY), 3e-4);
    }
}
