//! The result of an integrator, before it is certified.

use glam::DVec3;

use super::contact::ContactPhase;
use super::impact::ImpactOutcome;
use crate::state::State;
use crate::step_input::StepInput;

/// The result of an integrator for one step.
pub(crate) struct StepOutcome<'a> {
    /// State at the end of the step.
    pub(crate) to: State,
    /// Velocities of the step, flat (m/s, rad/s).
    pub(crate) velocities: Vec<f64>,
    /// Residual of the equations of motion without contact impulses, ρ + Bᵀ r (N s). On held
    /// unknowns it contains the impulse that holds them.
    pub(crate) residual: Vec<f64>,
    /// The equations that the residual refers to.
    pub(crate) solved: SolvedEquations,
    /// Viscous impulse (N s), if it was evaluated at other velocities than those of the step.
    pub(crate) drag: Option<Vec<f64>>,
    /// Contacts, if the model has features that can collide.
    pub(crate) contact: Option<ContactPhase<'a>>,
    /// The impact at the end of the step, if contacts bounce.
    pub(crate) impact: Option<ImpactOutcome>,
    /// Iterations of Newton's method. The report has the larger of these and the iterations of the
    /// contact solver.
    pub(crate) iterations: u64,
    /// Whether Newton's method has converged. A linearised method always has.
    pub(crate) is_converged: bool,
}

impl StepOutcome<'_> {
    /// Bᵀ r of the last solve on free nodes, and of the whole step on held ones (N s).
    pub(crate) fn impulses_on_nodes(&self, input: &StepInput<'_>) -> Vec<f64> {
        let Some(phase) = &self.contact else {
            return vec![0.0; self.residual.len()];
        };
        let mut impulses = phase.impulses_on_nodes(input);
        if self.impact.is_some() {
            let whole = phase.on_nodes(input, &self.impulses(input.h()));
            let entries = impulses.iter_mut().zip(&whole).zip(input.is_held());
            for ((impulse, whole), _) in entries.filter(|(_, is_held)| **is_held) {
                *impulse = *whole;
            }
        }
        impulses
    }

    /// Impulse of each contact over the whole step of `h` (N s), with its impact. Each is in its
    /// friction cone: a sum of two that are could be outside by rounding.
    pub(crate) fn impulses(&self, h: f64) -> Vec<DVec3> {
        let Some(phase) = &self.contact else {
            return Vec::new();
        };
        match &self.impact {
            Some(impact) => {
                let sums = impact.carried.iter().zip(&impact.impulses);
                let sums = sums.map(|(carried, own)| *carried + *own);
                let contacts = phase.posed.iter().map(|posed| &posed.contact);
                let pairs = contacts.zip(sums);
                pairs
                    .map(|(contact, sum)| contact.admissible(h, sum))
                    .collect()
            }
            None => phase.memory.iter().map(|known| known.reaction).collect(),
        }
    }
}

/// Equations of motion that a step has solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SolvedEquations {
    /// None: the velocities follow from the forces explicitly.
    None,
    /// The linearised equations.
    Linear,
    /// The nonlinear equations; the residual is that at the velocities of the step.
    Nonlinear,
}
