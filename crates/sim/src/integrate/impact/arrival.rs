//! The velocities before an impact.

use glam::DVec3;
use reefknot_contact::problem::{Contacts, NodalProblem, Solution, WarmStart};
use reefknot_contact::solve::NoRefinement;

use super::islands::Islands;
use super::reflection::Motion;
use super::{masses, prescribed_velocity};
use crate::equations::Equations;
use crate::equations::linearize::differentiate;
use crate::integrate::contact_solve::strictest_tolerance;
use crate::integrate::scratch::StepSolver;
use crate::integrate::{Context, Scratch, SolvedEquations, StepError, StepOutcome};
use crate::model::Trial;
use crate::step_input::StepInput;

/// v⁻ and its impulses.
pub(super) fn before_impact(
    input: &StepInput<'_>,
    outcome: &StepOutcome<'_>,
    bounces: &[bool],
    islands: &Islands,
    scratch: &mut Scratch,
    context: &mut Context,
) -> Result<Motion, StepError> {
    let free = without_bouncing(input, outcome, bounces, scratch, context)?;
    let residual = match outcome.solved {
        SolvedEquations::Linear if outcome.drag.is_none() => {
            differentiate(input, &outcome.velocities, &mut scratch.equations)
        }
        _ => outcome.residual.clone(),
    };
    let mut before = Motion {
        velocities: outcome.velocities.clone(),
        impulses: outcome.impulses(input.h()),
    };
    let mut line = EnergyLine::of(input, outcome, islands, &free.velocities, &residual);
    line.add_prescribed_work(outcome, islands, &scratch.posed.problem, &free.impulses);
    line.subtract_deficits(input, outcome, islands, &scratch.equations);
    let fraction = |island: &Option<u32>| island.map_or(0.0, |it| line.largest_fraction(it));
    for (dof, island) in islands.of_dofs.iter().enumerate() {
        let v = before.velocities[dof];
        before.velocities[dof] += fraction(island) * (free.velocities[dof] - v);
    }
    for (contact, island) in islands.of_contacts.iter().enumerate() {
        let r = before.impulses[contact];
        before.impulses[contact] += (free.impulses[contact] - r) * fraction(island);
    }
    Ok(before)
}

/// v̂ and r̂: the solution of the step without the contacts that bounce.
fn without_bouncing(
    input: &StepInput<'_>,
    outcome: &StepOutcome<'_>,
    bounces: &[bool],
    scratch: &mut Scratch,
    context: &mut Context,
) -> Result<Solution, StepError> {
    let Some(StepSolver { solver, .. }) = &mut scratch.solver else {
        return Ok(Solution::new(
            outcome.velocities.clone(),
            outcome.impulses(input.h()),
        ));
    };
    let (problem, factors) = (&mut scratch.posed.problem, &mut scratch.posed.factors);
    let kept: Vec<usize> = (0..bounces.len()).filter(|it| !bounces[*it]).collect();
    let mut contacts = Contacts::new();
    for contact in &kept {
        let stencil = problem.contacts.stencil(*contact).iter().copied();
        contacts.push(problem.contacts[*contact], stencil);
    }
    let memory = outcome.contact.iter().flat_map(|phase| &phase.memory);
    let warm = WarmStart {
        velocities: outcome.velocities.clone(),
        contacts: memory.copied().collect(),
    };
    let tolerance = strictest_tolerance(input.model, input.h());
    let limits = context.budget.limits(tolerance);
    let all = std::mem::replace(&mut problem.contacts, contacts);
    let solved = solver.solve(problem, factors, &warm, limits, &mut NoRefinement);
    problem.contacts = all;
    let (mut solution, _) = solved.map_err(|error| StepError::solve(input.model, error))?;
    let mut impulses = vec![DVec3::ZERO; bounces.len()];
    for (contact, impulse) in kept.iter().zip(&solution.impulses) {
        impulses[*contact] = *impulse;
    }
    solution.impulses = impulses;
    Ok(solution)
}

/// The kinetic energy of each island along v + θ (v̂ − v), less the work of prescribed motion, and
/// what it may gain (J).
struct EnergyLine {
    /// Energy that the step has lost in inertia and contacts: ½ ‖v − v₀‖² − v·Bᵀr.
    lost: Vec<f64>,
    /// The gain is `slope` θ + `square` θ²/2.
    slope: Vec<f64>,
    square: Vec<f64>,
}

impl EnergyLine {
    /// By the equations of the step, the work of all its forces is v·M (v − v₀).
    fn of(
        input: &StepInput<'_>,
        outcome: &StepOutcome<'_>,
        islands: &Islands,
        free: &[f64],
        residual: &[f64],
    ) -> EnergyLine {
        let (v, start, masses) = (
            &outcome.velocities,
            input.start_velocities(),
            masses(input.model),
        );
        let change = |dof: usize| free[dof] - v[dof];
        let sums = |value: &dyn Fn(usize) -> f64| {
            islands.sums(|dof| {
                if input.is_held()[dof] {
                    0.0
                } else {
                    value(dof)
                }
            })
        };
        EnergyLine {
            lost: sums(&|dof| {
                0.5 * masses[dof] * (v[dof] - start[dof]).powi(2) - v[dof] * residual[dof]
            }),
            slope: sums(&|dof| masses[dof] * v[dof] * change(dof)),
            square: sums(&|dof| masses[dof] * change(dof).powi(2)),
        }
    }

    /// The work of prescribed motion, −r·k, is that of the impulses between r and r̂.
    fn add_prescribed_work(
        &mut self,
        outcome: &StepOutcome<'_>,
        islands: &Islands,
        problem: &NodalProblem,
        free: &[DVec3],
    ) {
        for (contact, known) in outcome.impulses(problem.step).into_iter().enumerate() {
            if let Some(island) = islands.of_contacts[contact] {
                let prescribed = prescribed_velocity(outcome, problem, contact);
                self.lost[island as usize] -= known.dot(prescribed);
                self.slope[island as usize] -= (known - free[contact]).dot(prescribed);
            }
        }
    }

    /// Subtracts what the elastic energy of a body has grown beyond h ∇E·v: where it is not convex,
    /// the equations of the step hide a gain. Batches of rods have several islands.
    fn subtract_deficits(
        &mut self,
        input: &StepInput<'_>,
        outcome: &StepOutcome<'_>,
        islands: &Islands,
        equations: &Equations,
    ) {
        let (h, v) = (input.h(), &outcome.velocities);
        let (_, turns) = input.trial(v);
        let still = vec![0.0; turns.len()];
        let start = Trial::start(input.from, &still);
        let end = Trial {
            from: input.from,
            positions: &outcome.to.positions,
            turns: &turns,
        };
        for body in &input.model.bodies {
            let own = islands.of_body(body);
            if own.is_empty() {
                continue;
            }
            let stored = body.elastic_energy(&end) - body.elastic_energy(&start);
            let along = body
                .dofs
                .clone()
                .map(|dof| equations.gradient[dof] * v[dof]);
            let deficit = (stored - h * along.sum::<f64>()).max(0.0);
            for island in own {
                self.lost[island as usize] -= deficit;
            }
        }
    }

    /// The largest θ ≤ 1 at which an island has gained at most what it has lost.
    fn largest_fraction(&self, island: u32) -> f64 {
        let of = |values: &[f64]| values[island as usize];
        let (lost, slope, square) = (of(&self.lost), of(&self.slope), of(&self.square));
        if slope + 0.5 * square <= lost {
            return 1.0;
        }
        let lost = lost.max(0.0);
        let root = (slope * slope + 2.0 * square * lost).sqrt();
        // Without cancellation.
        let fraction = if slope > 0.0 {
            2.0 * lost / (slope + root)
        } else {
            (root - slope) / square
        };
        if fraction.is_finite() {
            fraction.clamp(0.0, 1.0)
        } else {
            0.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_island_gains_what_it_has_lost_and_not_more() {
        let fraction = |lost: f64, slope: f64, square: f64| {
            let line = EnergyLine {
                lost: vec![lost],
                slope: vec![slope],
                square: vec![square],
            };
            line.largest_fraction(0)
        };
        for (lost, slope, square) in [(1.0, 2.0, 4.0), (1.0, -1.0, 8.0), (1e-9, 3.0, 1.0)] {
            let part = fraction(lost, slope, square);
            assert!((slope * part + 0.5 * square * part * part - lost).abs() <= 1e-15);
        }
        assert_eq!(fraction(9.0, 1.0, 1.0), 1.0);
        assert_eq!(fraction(-1.0, 1.0, 1.0), 0.0);
        assert_eq!(fraction(0.0, 0.0, 0.0), 1.0);
        assert_eq!(fraction(f64::NAN, f64::NAN, 1.0), 0.0);
    }
}
