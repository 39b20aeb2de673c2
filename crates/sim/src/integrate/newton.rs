//! Implicit Euler by Newton's method: the velocities of a step make the action stationary (Daviet
//! 2020, Eq. 2). A line search keeps the action, minus the work of contacts, from growing.

use reefknot_contact::problem::WarmStart;

use super::contact::ContactRequest;
use super::contact_solve::{solve_contacts, strictest_tolerance};
use super::implicit::{advance_through_gate, solve};
use super::momentum::{clear_held, momentum_error};
use super::tuning::TUNING;
use super::{
    ContactPhase, Context, Effort, IntegratorMethod, Phase, Scratch, SolvedEquations, StepError,
    StepOutcome,
};
use crate::claims::{Claims, EquationsClaim};
use crate::energy::Curvature;
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

    fn can_converge(&self) -> bool {
        self.iterations < NewtonOptions::default().iterations
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
        let iterations = match context.effort {
            Effort::Usual => self.iterations,
            Effort::Converged => self.iterations.max(NewtonOptions::default().iterations),
        };
        let mut newton = NewtonState::begin(input, iterations, scratch, context);
        while !newton.is_over {
            // 3. and 4. Solve the linearised equations with contacts, then line search towards the
            //    solution.
            let target = newton.solve_linearised(input, &mut contact, scratch, context)?;
            newton.advance_towards(target, input, &contact, scratch, context);
            // Contacts that no solve could satisfy do not improve with the linearisation.
            newton.is_over |= newton.max_iterations > 2 && context.budget.is_exhausted();
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
            impact: None,
            iterations: newton.iteration,
            is_converged: newton.is_converged,
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
    /// Nonlinear error after the full step of the last iteration (m).
    error: f64,
    /// Nonlinear error at which the iteration ends (m).
    tolerance: f64,
    /// Work of the residual at which the iteration ends (J).
    slack: f64,
    is_converged: bool,
    /// The next iteration with the exact curvature. At a solution, a minimum of the action, A is
    /// positive definite with it.
    next_exact: u64,
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
        let model = input.model;
        let weight = model.weights.iter().sum::<f64>() * model.gravity.length();
        NewtonState {
            max_iterations: iterations.max(1),
            tolerance: model.method.tolerance,
            slack: 0.5 * strictest_tolerance(input.model, input.h()) * weight,
            iteration: 0,
            velocities,
            warm: ContactPhase::warm_start(input),
            error: f64::INFINITY,
            is_converged: false,
            next_exact: if input.is_static {
                u64::MAX
            } else {
                TUNING.projected_iterations
            },
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
            // Only a factorization shows that A is positive definite.
            let factorizes = scratch.posed.factors.fresh().is_some();
            if factorizes && self.iteration >= self.next_exact {
                self.linearize(Curvature::Exact, input, scratch, context);
                match self.solve(input, contact, scratch, context) {
                    Err(StepError::Linear { .. }) => {
                        self.next_exact = self.iteration + 1 + TUNING.projected_iterations;
                    }
                    solved => return solved,
                }
            }
            self.linearize(Curvature::Projected, input, scratch, context);
        }
        self.solve(input, contact, scratch, context)
    }

    fn linearize(
        &self,
        curvature: Curvature,
        input: &StepInput<'_>,
        scratch: &mut Scratch,
        context: &mut Context,
    ) {
        let at = LinearisationPoint::Velocities(&self.velocities);
        let Scratch {
            equations,
            linearised,
            ..
        } = scratch;
        equations.curvature = curvature;
        linearize(input, at, BodySubset::All, equations, linearised);
        context.timer.lap(Phase::Assemble);
    }

    /// Solution of the linearised equations.
    fn solve(
        &mut self,
        input: &StepInput<'_>,
        contact: &mut Option<ContactPhase<'_>>,
        scratch: &mut Scratch,
        context: &mut Context,
    ) -> Result<Vec<f64>, StepError> {
        let Some(phase) = contact else {
            return solve(input, scratch, context);
        };
        let is_first = self.iteration == 0 && self.max_iterations > 1;
        let range = [strictest_tolerance(input.model, input.h()), self.tolerance];
        let request = ContactRequest {
            tolerance: contact_tolerance(range, is_first, self.error),
            is_followed: is_first,
            // The slope of later line searches is that of the linearisation at their start.
            relinearises: self.iteration == 0,
        };
        let target = solve_contacts(phase, input, &self.warm, request, scratch, context)?;
        self.warm = phase.warm_restart(&target);
        Ok(target)
    }

    /// Accepts `target` if it solves the nonlinear equations, or, in motion, if its error is at most
    /// half of the Newton step (the natural monotonicity test of Deuflhard 2004, Sec. 3.3).
    /// Otherwise searches the line towards it.
    fn advance_towards(
        &mut self,
        target: Vec<f64>,
        input: &StepInput<'_>,
        contact: &Option<ContactPhase<'_>>,
        scratch: &mut Scratch,
        context: &mut Context,
    ) {
        if self.iteration == 0 {
            for (dof, rate) in input.held_velocities() {
                self.velocities[dof] = rate;
            }
        }
        let change: Vec<f64> = target
            .iter()
            .zip(&self.velocities)
            .map(|(t, v)| t - v)
            .collect();
        let change = input.h() * input.model.unknowns.largest_at_nodes(&change);
        let impulses = contact.as_ref().map(|phase| phase.impulses_on_nodes(input));
        let found = Defect::at(&target, impulses.as_deref(), input, scratch);
        // Without contacts the first solve is as exact as later ones.
        let is_alone = contact.as_ref().is_none_or(ContactPhase::is_empty);
        let is_last = self.iteration > 0 || (is_alone && !input.is_static);
        // Near a critical load the error is small long before a static solution is reached. Such a
        // solution must be a minimum of the energy: it is found by descent alone.
        let is_solved = if input.is_static {
            change <= self.tolerance && is_last
        } else {
            found.error <= self.tolerance
                && (found.work <= self.slack || found.error > 0.5 * self.error)
        };
        let is_monotone = !input.is_static && found.error <= 0.5 * change;
        self.error = found.error;
        self.iteration += 1;
        self.is_over = self.iteration >= self.max_iterations;
        let line = LineSearch {
            input,
            equations: &scratch.equations,
            slope: (self.iteration > 1).then_some(&scratch.linearised),
            impulses: impulses.as_deref().unwrap_or_default(),
            may_extend: self.iteration > 1 && !self.is_over && !input.is_static,
        };
        if is_solved || is_monotone {
            self.velocities = target;
            self.is_converged = is_solved && is_last;
            self.is_over |= self.is_converged;
        } else if let Some(accepted) = line.search(&self.velocities, &target) {
            self.velocities = accepted;
        } else {
            // After a failed line search the next iteration would be the same.
            self.is_over |= self.iteration > 1;
        }
        context.timer.lap(Phase::Assemble);
    }
}

/// What is left of the nonlinear equations at some velocities.
struct Defect {
    /// Nonlinear error (m).
    error: f64,
    /// Work of the residual in the step (J): energy from nothing if positive.
    work: f64,
}

impl Defect {
    fn at(
        v: &[f64],
        impulses: Option<&[f64]>,
        input: &StepInput<'_>,
        scratch: &mut Scratch,
    ) -> Defect {
        let mut residual = differentiate(input, v, &mut scratch.equations);
        for (rho, impulse) in residual.iter_mut().zip(impulses.unwrap_or_default()) {
            *rho -= impulse;
        }
        clear_held(input, &mut residual);
        let work = residual.iter().zip(v).map(|(rho, v)| rho * v).sum();
        let error = momentum_error(input.model, input.h(), &mut residual, scratch);
        Defect { error, work }
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
/// the contact error. `error` is the nonlinear error of the iteration before (m).
fn contact_tolerance([strictest, loosest]: [f64; 2], is_first: bool, error: f64) -> f64 {
    if is_first {
        TUNING.first_tolerance_factor * strictest
    } else if error.is_finite() {
        (TUNING.forcing_term * error).clamp(strictest, loosest)
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
    /// Whether velocities beyond the target are tried: another iteration follows.
    may_extend: bool,
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
        let at = |fraction: f64| -> (f64, Vec<f64>) {
            let entries = velocities.iter().zip(target);
            let trial: Vec<f64> = entries.map(|(v, t)| v + fraction * (t - v)).collect();
            (action(input, &trial, equations) - self.work(&trial), trial)
        };
        let mut fraction = 1.0;
        for _ in 0..TUNING.max_halvings {
            let mut found = at(fraction);
            if found.0 <= start + TUNING.sufficient_decrease * fraction * slope + rounding {
                // The action has little curvature along the line: the solution is beyond.
                while self.may_extend
                    && (1.0..TUNING.max_extension).contains(&fraction)
                    && found.0 < start + TUNING.linear_decrease * fraction * slope
                {
                    fraction *= 2.0;
                    let beyond = at(fraction);
                    if beyond.0.is_nan() || beyond.0 >= found.0 {
                        break;
                    }
                    found = beyond;
                }
                return Some(found.1);
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
    fn the_contact_tolerance_follows_the_nonlinear_error_within_its_range() {
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
