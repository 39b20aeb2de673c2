//! Implicit Euler by Newton's method: the velocities of a step make the action stationary (Daviet 2020, Eq. 2), found by
//! linearising again and again, with a line search that never lets the action grow.

use reefknot_contact::solve::WarmStart;

use super::claims::{Claims, EquationsClaim};
use super::contact::{ContactSolve, strictest_tolerance};
use super::implicit::{advance_through_gate, solve};
use super::{
    ContactPhase, Context, IntegratorMethod, Phase, Scratch, Solved, StepError, StepOutcome,
};
use crate::energy::equations::{Equations, Linearised};
use crate::energy::linearize::{At, Which, action, differentiate, linearize, prepare};
use crate::scene::tables::Newton;
use crate::step_input::StepInput;

/// A step of the line search must gain this part of what the slope promises (Armijo).
const SUFFICIENT_DECREASE: f64 = 1e-4;

/// How often a step is halved by the line search.
const MOST_HALVINGS: usize = 30;

/// Gains below this part of the action's terms are rounding.
const ROUNDING: f64 = 1e-13;

/// How many times the tolerance contacts may leave in the first of several iterations: less would be lost on equations that the next one changes. With 1000 times, curls are linearised
/// where they are stretched by a third, and need the gate.
const FIRST_TOLERANCE: f64 = 300.0;

/// The part of the largest change of an iteration that contacts may leave in the next one. With a thousandth, 4,000 curls that are thrown about take 166 iterations
/// a step where they take 136, and their equations are left as far from solved.
const FORCING_TERM: f64 = 1e-2;

impl IntegratorMethod for Newton {
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
        // 1. Who may touch.
        let mut contact = ContactPhase::begin(input, scratch, context);
        // 2. A, linearised at the velocities so far.
        let mut search = Search::begin(input, self.iterations, scratch, context);
        while !search.is_over {
            // 3. and 4. Where the linear equations are solved among contacts, and as far on the way there as is good.
            let goal = search.goal(input, &mut contact, scratch, context)?;
            search.approach(input, &contact, goal, scratch, context);
        }
        if input.model.method.converge && !search.is_converged {
            return Err(StepError::NotConverged {
                error: search.error,
            });
        }
        // 5. The motion, through the gate, and how far it is from solving the equations.
        let mut velocities = search.velocities;
        let to = advance_through_gate(input, &mut contact, &mut velocities, context)?;
        let residual = differentiate(input, &velocities, &mut scratch.equations);
        context.timer.lap(Phase::Assemble);
        Ok(StepOutcome {
            to,
            velocities,
            residual,
            solved: Solved::Nonlinear,
            drag: None,
            contact,
            iterations: search.iteration,
        })
    }
}

/// Newton's method under way.
struct Search {
    /// Iterations, at most, and done so far.
    most: u64,
    iteration: u64,
    velocities: Vec<f64>,
    /// Where the contact solver begins.
    warm: WarmStart,
    /// How far the last iteration would have moved anything (m).
    error: f64,
    is_converged: bool,
    is_over: bool,
}

impl Search {
    fn begin(
        input: &StepInput<'_>,
        iterations: u64,
        scratch: &mut Scratch,
        context: &mut Context,
    ) -> Search {
        let velocities = begin(input, scratch);
        context.timer.lap(Phase::Assemble);
        Search {
            most: iterations.max(1),
            iteration: 0,
            velocities,
            warm: ContactPhase::warm_start(input),
            error: f64::INFINITY,
            is_converged: false,
            is_over: false,
        }
    }

    /// The solution of the equations linearised at the velocities so far.
    fn goal(
        &mut self,
        input: &StepInput<'_>,
        contact: &mut Option<ContactPhase<'_>>,
        scratch: &mut Scratch,
        context: &mut Context,
    ) -> Result<Vec<f64>, StepError> {
        if self.iteration > 0 {
            let at = At::Velocities(&self.velocities);
            let Scratch {
                equations,
                linearised,
                ..
            } = &mut *scratch;
            linearize(input, at, Which::All, equations, linearised);
        }
        context.timer.lap(Phase::Assemble);
        let Some(phase) = contact else {
            return solve(input, scratch, context);
        };
        let is_first = self.iteration == 0 && self.most > 1;
        let between = [strictest_tolerance(input), input.model.method.tolerance.0];
        let request = ContactSolve {
            tolerance: contact_tolerance(between, is_first, self.error),
            is_followed: is_first,
            relinearises: true,
        };
        let goal = phase.solve(input, &self.warm, request, scratch, context)?;
        self.warm = phase.warm_again(&goal);
        Ok(goal)
    }

    /// Goes towards a goal, and ends where it is close or nothing better is found.
    fn approach(
        &mut self,
        input: &StepInput<'_>,
        contact: &Option<ContactPhase<'_>>,
        goal: Vec<f64>,
        scratch: &mut Scratch,
        context: &mut Context,
    ) {
        let change: Vec<f64> = goal
            .iter()
            .zip(&self.velocities)
            .map(|(g, v)| g - v)
            .collect();
        self.error = input.h() * input.model.unknowns.largest_at_nodes(&change);
        let has_slope = self.iteration > 0;
        if !has_slope {
            for (dof, rate) in input.held_velocities() {
                self.velocities[dof] = rate;
            }
        }
        self.iteration += 1;
        self.is_converged = self.error <= input.model.method.tolerance.0;
        self.is_over = self.iteration >= self.most;
        if self.is_converged && has_slope {
            self.velocities = goal;
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
            match line.search(&self.velocities, &goal) {
                Some(found) => self.velocities = found,
                // From where nothing better is found, the next iteration would find the same.
                None => self.is_over |= has_slope,
            }
        }
        context.timer.lap(Phase::Assemble);
    }
}

/// Linearises where Newton's method begins: at the velocities of the step before. From rest, what turns goes along tangents first, where whatever
/// hardly stretches is stretched: the line search would let it move by a small part of its way only, and few iterations would slow
/// down everything. From here, the same error is one of the second order less.
fn begin(input: &StepInput<'_>, scratch: &mut Scratch) -> Vec<f64> {
    let Scratch {
        equations,
        linearised,
        ..
    } = scratch;
    prepare(input, equations);
    // Viscosity is that of the start, wherever the rest is linearised.
    linearize(input, At::Start, Which::All, equations, linearised);
    equations.elastic_start = equations.elastic_energy(&input.from.positions);
    let before = input.start_velocities();
    if input.is_static || !action(input, &before, equations).is_finite() {
        return vec![0.0; before.len()];
    }
    let at = At::Velocities(&before);
    linearize(input, at, Which::All, equations, linearised);
    before
}

/// What contacts may leave of errors in an iteration (m), between what lets everything rest and the tolerance of the scene: where things are thrown
/// about, the equations themselves are off by far more. `change` is how far the iteration before moved anything.
fn contact_tolerance([strictest, loosest]: [f64; 2], is_first: bool, change: f64) -> f64 {
    match is_first {
        true => FIRST_TOLERANCE * strictest,
        false if change.is_finite() => (FORCING_TERM * change).clamp(strictest, loosest),
        false => strictest,
    }
}

/// A search along the line from velocities to a goal for where the action, less the work of
/// contacts, is small enough.
struct LineSearch<'s> {
    input: &'s StepInput<'s>,
    equations: &'s Equations,
    /// The linearisation at the velocities where the search begins, whose slope is known there;
    /// nothing if it is elsewhere.
    slope: Option<&'s Linearised>,
    /// Bᵀ r (N s); empty without contacts.
    impulses: &'s [f64],
}

impl LineSearch<'_> {
    fn work(&self, v: &[f64]) -> f64 {
        v.iter().zip(self.impulses).map(|(v, f)| v * f).sum()
    }

    /// The velocities found, if there are any.
    fn search(&self, velocities: &[f64], goal: &[f64]) -> Option<Vec<f64>> {
        let (input, equations) = (self.input, self.equations);
        let slope: f64 = match self.slope {
            Some(linearised) => {
                let change = goal.iter().zip(velocities).map(|(g, v)| g - v);
                let along: f64 = change
                    .zip(&linearised.residual)
                    .map(|(change, r)| change * r)
                    .sum();
                along - self.work(goal) + self.work(velocities)
            }
            None => 0.0,
        };
        let start = action(input, velocities, equations) - self.work(velocities);
        let noise = ROUNDING * (start.abs() + equations.elastic_start.abs());
        let mut part = 1.0;
        for _ in 0..MOST_HALVINGS {
            let between: Vec<f64> = velocities
                .iter()
                .zip(goal)
                .map(|(v, g)| v + part * (g - v))
                .collect();
            let there = action(input, &between, equations) - self.work(&between);
            if there <= start + SUFFICIENT_DECREASE * part * slope + noise {
                return Some(between);
            }
            part *= 0.5;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contacts_are_solved_as_exactly_as_the_motion_asks_for() {
        let between = [1e-6, 1e-5];
        // What rests must not creep; nor may a step with one iteration, of which nothing is known before.
        assert_eq!(contact_tolerance(between, false, 0.0), 1e-6);
        assert_eq!(contact_tolerance(between, false, f64::INFINITY), 1e-6);
        assert_eq!(contact_tolerance(between, false, f64::NAN), 1e-6);
        // A hundredth of half a millimetre, and never more than the scene allows.
        assert!((contact_tolerance(between, false, 5e-4) - 5e-6).abs() < 1e-18);
        assert_eq!(contact_tolerance(between, false, 0.1), 1e-5);
        assert_eq!(contact_tolerance(between, true, f64::INFINITY), 3e-4);
    }
}
