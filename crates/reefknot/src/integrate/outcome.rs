//! What an integrator hands back, and a step with its certificate.

use glam::DVec3;

use super::contact::ContactPhase;
use crate::certify::ContactRecord;
use crate::model::Model;
use crate::report::{Energies, StepReport};
use crate::state::State;

/// A step that was taken, before it is certified.
pub(crate) struct StepOutcome<'a> {
    /// The state after it.
    pub(crate) to: State,
    /// Its velocities, flat.
    pub(crate) velocities: Vec<f64>,
    /// What its equations leave over: on free unknowns an error, on held ones the impulse that
    /// holds them (N s).
    pub(crate) residual: Vec<f64>,
    /// Which equations these are.
    pub(crate) solved: Solved,
    /// Viscous impulse where it is not that of the velocities of the step (N s).
    pub(crate) drag: Option<Vec<f64>>,
    /// Contacts, where there can be any.
    pub(crate) contact: Option<ContactPhase<'a>>,
    /// Iterations of its own; those of the contact solver count if they are more.
    pub(crate) iterations: u64,
}

/// Which equations a step has solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Solved {
    /// None: velocities follow from forces.
    Nothing,
    /// Linear ones.
    Linear,
    /// The nonlinear ones, whose residual is that at the velocities of the step.
    Nonlinear,
}

/// A step that was taken.
#[derive(Clone, Debug)]
pub struct Step {
    /// The state after it.
    pub to: State,
    /// What it says of itself.
    pub report: StepReport,
    /// Nodes that were held, and the force that it took (N).
    pub pin_forces: Vec<(usize, DVec3)>,
    /// Contacts of the step, or of its last part.
    pub contacts: Vec<ContactRecord>,
    /// What the independent test found first, in a sentence.
    pub offence: Option<String>,
}

impl Step {
    /// The force of a pin on its object (N).
    #[must_use]
    pub fn pin_force(&self, model: &Model, pin: usize) -> DVec3 {
        let pin = &model.pins[pin];
        let is_pinned =
            |node: &usize| pin.nodes.binary_search(node).is_ok() && !model.is_axis(*node);
        self.pin_forces
            .iter()
            .filter(|(node, _)| is_pinned(node))
            .map(|(_, force)| *force)
            .sum()
    }

    /// This step and another one after it, as one.
    pub(super) fn then(self, after: Step) -> Step {
        let (first, second) = (&self.report, after.report);
        let largest = |a: Option<f64>, b: Option<f64>| a.zip(b).map(|(a, b)| a.max(b)).or(a).or(b);
        let (energy, flows) = (second.energy_j, first.energy_j);
        let report = StepReport {
            iterations: first.iterations + second.iterations,
            halvings: 1 + first.halvings + second.halvings,
            failsafe: first.failsafe || second.failsafe,
            intersections: first
                .intersections
                .zip(second.intersections)
                .map(|(a, b)| a + b),
            min_gap_m: first.min_gap_m.map_or(second.min_gap_m, |gap| {
                Some(second.min_gap_m.map_or(gap, |other| gap.min(other)))
            }),
            contacts: first.contacts.max(second.contacts),
            contact_error_m: largest(first.contact_error_m, second.contact_error_m),
            momentum_error_m: largest(first.momentum_error_m, second.momentum_error_m),
            nonlinear_error_m: largest(first.nonlinear_error_m, second.nonlinear_error_m),
            max_stretch: first.max_stretch.max(second.max_stretch),
            energy_j: Energies {
                work: energy.work + flows.work,
                viscous: energy.viscous + flows.viscous,
                contact: energy.contact + flows.contact,
                numerical: energy.numerical + flows.numerical,
                ..energy
            },
            ..second
        };
        // Both took the same time, so their mean has the impulse of both.
        let forces = self.pin_forces.iter().chain(&after.pin_forces);
        let mut pin_forces: Vec<(usize, DVec3)> =
            forces.map(|(node, force)| (*node, 0.5 * *force)).collect();
        pin_forces.sort_by_key(|(node, _)| *node);
        pin_forces.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
            }
            same
        });
        Step {
            to: after.to,
            report,
            pin_forces,
            contacts: after.contacts,
            offence: self.offence.or(after.offence),
        }
    }
}
