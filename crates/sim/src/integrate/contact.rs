//! Contacts of a step: detection at its start, the contacts of the problem, and the gate at its
//! end.

use glam::DVec3;
use rayon::prelude::*;
use reefknot_contact::problem::{ContactMemory, WarmStart};

use super::context::{Context, Phase};
use super::tuning::TUNING;
use super::{Scratch, StepError};
use crate::collide::pair::Feature;
use crate::detect::{ContactPoint, Detection};
use crate::gate::{self, GateError};
use crate::pose::{PoseContext, PosedContact};
use crate::step_input::StepInput;

/// Contacts of a step.
pub(crate) struct ContactPhase<'a> {
    pub(crate) detection: Detection<'a>,
    /// Contacts of the problem, by ascending id.
    pub(crate) posed: Vec<PosedContact>,
    /// Impulse and state of each contact after the last solve.
    pub(crate) memory: Vec<ContactMemory>,
    /// Iterations of the contact solver in all solves.
    pub(crate) iterations: u64,
    /// Whether the last solve has converged.
    pub(crate) is_converged: bool,
    /// Whether the gate changed the velocities.
    pub(crate) is_guarded: bool,
    /// Contacts found by CCD in a solve, to be posed in the next one.
    pub(super) pending: Vec<PosedContact>,
}

/// Tolerance and options of one contact solve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ContactRequest {
    /// Tolerance of the contact error (m).
    pub(super) tolerance: f64,
    /// Whether another solve of the same step follows. That solve poses the contacts found last.
    pub(super) is_followed: bool,
    /// Whether affine bodies are relinearised at the velocities found.
    pub(super) relinearises: bool,
}

impl<'a> ContactPhase<'a> {
    /// 1. Detects contacts at the start of the step; `None` if the model has no collision.
    pub(super) fn begin(
        input: &StepInput<'a>,
        scratch: &mut Scratch,
        context: &mut Context,
    ) -> Option<ContactPhase<'a>> {
        let collision = input.model.collision.as_ref()?;
        let expected = expected_ends(input);
        let mut detection = Detection::new(input, collision, &expected, &mut scratch.detector);
        let found = detection.contacts();
        let mut phase = ContactPhase {
            posed: Vec::new(),
            memory: Vec::new(),
            iterations: 0,
            is_converged: true,
            is_guarded: false,
            pending: Vec::new(),
            detection,
        };
        phase.posed = phase.pose(input, &found);
        context.timer.lap(Phase::Detect);
        Some(phase)
    }

    /// Contacts of the problem, by ascending id.
    pub(super) fn pose(&self, input: &StepInput<'_>, found: &[ContactPoint]) -> Vec<PosedContact> {
        let posing = PoseContext {
            input,
            detection: &self.detection,
        };
        let posed = found
            .par_iter()
            .map(|contact_point| posing.pose(contact_point));
        let posed = posed
            .filter(|posed| posing.largest_weight(&posed.stencil) >= TUNING.min_contact_weight);
        let mut posed: Vec<PosedContact> = posed.collect();
        posed.sort_by_key(|posed| posed.contact.id);
        posed
    }

    /// Moves pending contacts to the problem. They replace contacts with the same id.
    pub(super) fn pose_pending(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        let mut all = std::mem::take(&mut self.pending);
        all.append(&mut self.posed);
        all.sort_by_key(|posed| posed.contact.id);
        all.dedup_by_key(|posed| posed.contact.id);
        self.posed = all;
    }

    /// Whether the step has no contacts so far.
    pub(super) fn is_empty(&self) -> bool {
        self.posed.is_empty() && self.pending.is_empty()
    }

    /// Warm start from the step before.
    pub(super) fn warm_start(input: &StepInput<'_>) -> WarmStart {
        let known = input.from.contacts.iter();
        WarmStart {
            velocities: input.start_velocities(),
            contacts: known.map(|known| known.scaled(input.h())).collect(),
        }
    }

    /// Warm start from the last solve of this step.
    pub(super) fn warm_restart(&self, velocities: &[f64]) -> WarmStart {
        WarmStart {
            velocities: velocities.to_vec(),
            contacts: self.memory.clone(),
        }
    }

    /// Bᵀ r on free and held nodes (N s), of the last solve.
    pub(crate) fn impulses_on_nodes(&self, input: &StepInput<'_>) -> Vec<f64> {
        let impulses: Vec<DVec3> = self.memory.iter().map(|known| known.reaction).collect();
        self.on_nodes(input, &impulses)
    }

    /// Bᵀ r on free and held nodes (N s).
    pub(crate) fn on_nodes(&self, input: &StepInput<'_>, impulses: &[DVec3]) -> Vec<f64> {
        let unknowns = &input.model.unknowns;
        let mut sum = vec![0.0; unknowns.count];
        for (posed, impulse) in self.posed.iter().zip(impulses) {
            for (node, weight) in &posed.stencil {
                let flat = &mut sum[unknowns.node_offset[*node as usize]..];
                (DVec3::from_slice(flat) + *impulse * *weight).write_to_slice(flat);
            }
        }
        sum
    }

    /// 5. Passes velocities through the gate, which changes them where features come closer than
    ///    the guard.
    pub(super) fn guard(
        &mut self,
        input: &StepInput<'_>,
        velocities: &mut [f64],
    ) -> Result<(), StepError> {
        // `advance` reports the vertex of a velocity or position that is not finite.
        let is_lost = |place: &DVec3| !place.is_finite();
        if velocities.iter().any(|v| !v.is_finite()) || self.detection.from.iter().any(is_lost) {
            return Ok(());
        }
        let collision = self.detection.collision;
        match gate::pass(input, &mut self.detection, velocities) {
            Ok(is_guarded) => {
                self.is_guarded = is_guarded;
                Ok(())
            }
            Err(GateError::LostPoint(point, way)) => {
                let (object, vertex) = collision.name(input.model, Feature::Point(point));
                Err(StepError::TooFast {
                    object,
                    vertex,
                    way,
                })
            }
            Err(GateError::NoRoom(no_room)) => {
                let [one, other] = no_room.features.map(|it| collision.name(input.model, it));
                Err(StepError::NoRoom {
                    object: one.0,
                    vertex: one.1,
                    other: other.0,
                    place: no_room.position.to_array(),
                    time: input.span.end,
                })
            }
        }
    }
}

/// Positions at the end of the step if gravity is the only force (m).
pub(crate) fn expected_ends(input: &StepInput<'_>) -> Vec<DVec3> {
    let (model, from, h) = (input.model, input.from, input.h());
    let moves = if input.is_static { 0.0 } else { 1.0 };
    let fall = model.gravity * (h * h);
    let nodes = from.positions.iter().zip(&from.velocities).enumerate();
    let expected = nodes.map(|(node, (x, v))| {
        if model.is_axis(node) {
            *x + *v * (moves * h)
        } else {
            *x + *v * (moves * h) + fall
        }
    });
    let mut expected: Vec<DVec3> = expected.collect();
    input.put_held(&mut expected);
    expected
}
