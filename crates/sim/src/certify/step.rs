//! An accepted step with its certificate.

use glam::DVec3;

use super::ContactRecord;
use crate::model::Model;
use crate::report::{Energies, StepReport};
use crate::state::State;

/// An accepted step.
#[derive(Clone, Debug)]
pub struct Step {
    /// State at its end.
    pub to: State,
    /// Its certificate and statistics.
    pub report: StepReport,
    /// Held nodes with their constraint forces (N).
    pub pin_forces: Vec<(usize, DVec3)>,
    /// Duration of the step or of its part (s).
    pub duration: f64,
    /// Contacts of the step; of a halved step, those of its last part.
    pub contacts: Vec<ContactRecord>,
    /// Description of the first violation found by the independent intersection test.
    pub violation: Option<String>,
}

impl Step {
    /// Force of a pin on its object (N).
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

    /// The combination of this step and the step after it.
    pub(crate) fn then(self, after: Step) -> Step {
        let (first, second) = (&self.report, after.report);
        let largest = |a: Option<f64>, b: Option<f64>| a.zip(b).map(|(a, b)| a.max(b)).or(a).or(b);
        let (energy, flows) = (second.energy_j, first.energy_j);
        let report = StepReport {
            iterations: first.iterations + second.iterations,
            halvings: 1 + first.halvings + second.halvings,
            failsafe: first.failsafe || second.failsafe,
            unconverged: first.unconverged || second.unconverged,
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
            gain_j: if first.gain_j.gain > second.gain_j.gain {
                first.gain_j
            } else {
                second.gain_j
            },
            max_stretch: first.max_stretch.max(second.max_stretch),
            energy_j: Energies {
                work: energy.work + flows.work,
                viscous: energy.viscous + flows.viscous,
                contact: energy.contact + flows.contact,
                numerical: energy.numerical + flows.numerical,
                unbalanced: energy.unbalanced + flows.unbalanced,
                ..energy
            },
            ..second
        };
        // The mean force has the impulse of both.
        let duration = self.duration + after.duration;
        let parts = [
            (&self.pin_forces, self.duration / duration),
            (&after.pin_forces, after.duration / duration),
        ];
        let forces = parts.into_iter().flat_map(|(forces, weight)| {
            forces
                .iter()
                .map(move |(node, force)| (*node, weight * *force))
        });
        let mut pin_forces: Vec<(usize, DVec3)> = forces.collect();
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
            duration,
            contacts: after.contacts,
            violation: self.violation.or(after.violation),
        }
    }
}
