//! Refinement of a contact problem while it is solved: when CCD is run on an iterate of the solver,
//! which contacts are added, and when affine bodies are relinearised.

use reefknot_contact::problem::NodalProblem;
use reefknot_contact::solve::{Refine, Refinement};

use super::contact::{ContactPhase, ContactRequest};
use super::tuning::TUNING;
use crate::detect::CONTACT_FRACTION;
use crate::equations::linearize::{BodySubset, LinearisationPoint, linearize, right_hand_side};
use crate::equations::{Equations, Linearised};
use crate::pose::{assemble_contacts, relative_velocity, second_id};
use crate::step_input::StepInput;

/// Refines a contact problem along the motion of the solver's iterates.
pub(super) struct MotionRefinement<'s, 'i, 'c> {
    input: &'s StepInput<'i>,
    phase: &'s mut ContactPhase<'c>,
    request: ContactRequest,
    equations: &'s mut Equations,
    linearised: &'s mut Linearised,
    /// Polls from one CCD round to the next.
    interval: usize,
    /// Polls since the last CCD round.
    polls: usize,
    /// CCD rounds so far.
    rounds: usize,
    /// CCD rounds postponed so far, since the iterate was too far from a solution.
    postponements: usize,
    /// Relinearisations of affine bodies so far.
    relinearisations: usize,
}

impl<'s, 'i, 'c> MotionRefinement<'s, 'i, 'c> {
    pub(super) fn new(
        input: &'s StepInput<'i>,
        phase: &'s mut ContactPhase<'c>,
        request: ContactRequest,
        equations: &'s mut Equations,
        linearised: &'s mut Linearised,
    ) -> MotionRefinement<'s, 'i, 'c> {
        MotionRefinement {
            input,
            phase,
            request,
            equations,
            linearised,
            interval: 1,
            polls: 0,
            rounds: 0,
            postponements: 0,
            relinearisations: 0,
        }
    }
}

impl Refine for MotionRefinement<'_, '_, '_> {
    fn poll(&mut self, is_solution: bool) -> bool {
        self.polls += 1;
        is_solution || self.polls >= self.interval
    }

    fn refine(
        &mut self,
        problem: &mut NodalProblem,
        velocities: &[f64],
        is_solution: bool,
    ) -> Refinement {
        let mut refined = Refinement::default();
        if velocities.iter().any(|rate| !rate.is_finite()) {
            return refined;
        }
        self.polls = 0;
        self.rounds += 1;
        self.interval *= 2;
        let max_rounds = if self.request.is_followed {
            TUNING.max_ccd_rounds_if_followed
        } else {
            TUNING.max_ccd_rounds
        };
        if self.rounds <= max_rounds {
            refined = self.add_impacts(velocities, is_solution);
        }
        let new = refined.added.len() + refined.changed.len();
        if new > 0 {
            if new * TUNING.contacts_per_new >= self.phase.posed.len() {
                self.interval = 1;
            }
            problem.contacts = assemble_contacts(self.input, &self.phase.posed);
        }
        let relinearises =
            self.request.relinearises && self.relinearisations < TUNING.affine_relinearisations;
        if is_solution && new == 0 && relinearises {
            self.relinearisations += 1;
            refined.bodies = self.relinearise_affine(problem, velocities);
        }
        refined
    }
}

impl MotionRefinement<'_, '_, '_> {
    /// Runs CCD on an iterate and adds contacts at impacts. Returns the ids of these contacts.
    fn add_impacts(&mut self, velocities: &[f64], is_solution: bool) -> Refinement {
        let mut refined = Refinement::default();
        let nodes = self.input.ends(velocities);
        let detection = &mut self.phase.detection;
        let to = detection.end_points(&nodes);
        if detection.lost_point(&to).is_some() {
            return refined;
        }
        // An iterate far from the solution meets features that the solution never meets.
        let may_postpone = !is_solution && self.postponements < TUNING.max_postponements;
        if may_postpone && detection.count_outside(&to) * TUNING.points_per_outlier > to.len() {
            self.postponements += 1;
            self.interval = 1;
            return refined;
        }
        let found = detection.impacts(&to, CONTACT_FRACTION, None);
        let (input, h) = (self.input, self.input.h());
        let unknowns = &input.model.unknowns;
        let mut new = self.phase.pose(input, &found);
        let known = &self.phase.posed;
        let is_known = |id: u64| known.binary_search_by_key(&id, |it| it.contact.id).is_ok();
        new.retain_mut(|posed| {
            let speed = relative_velocity(&posed.stencil, posed.contact.kinematic, |node| {
                unknowns.at_node(velocities, node as usize)
            });
            let id = posed.contact.id;
            if is_known(id) {
                posed.contact.id = second_id(id);
            }
            // A pair that is too close within the step but not at its end satisfies its contact
            // constraint already.
            let skin = posed.contact_point.thickness - posed.contact_point.core;
            posed.contact.normal.dot(speed) * h <= -1e-3 * skin
        });
        let ids = new.iter().map(|posed| posed.contact.id);
        (refined.changed, refined.added) = ids.partition(|id| is_known(*id));
        self.phase.pending = new;
        // The next solve of the step poses the contacts of this answer.
        if is_solution && self.request.is_followed {
            return Refinement::default();
        }
        self.phase.pose_pending();
        refined
    }

    /// Relinearises affine bodies at the velocities found. Returns the bodies that changed.
    fn relinearise_affine(&mut self, problem: &mut NodalProblem, velocities: &[f64]) -> Vec<usize> {
        let (input, model) = (self.input, self.input.model);
        let is_affine = |body: usize| BodySubset::Affine.contains(&model.bodies[body]);
        let bodies: Vec<usize> = (0..model.bodies.len())
            .filter(|body| is_affine(*body))
            .collect();
        let dofs = bodies
            .iter()
            .flat_map(|body| model.bodies[*body].dofs.clone());
        let change = dofs
            .map(|dof| (velocities[dof] - self.linearised.point[dof]).abs())
            .fold(0.0, f64::max);
        // Bodies that did not move since the last linearisation keep it.
        if change * input.h() <= model.method.tolerance {
            return Vec::new();
        }
        let (equations, linearised) = (&mut *self.equations, &mut *self.linearised);
        let at = LinearisationPoint::Velocities(velocities);
        linearize(input, at, BodySubset::Affine, equations, linearised);
        (problem.system).hold(&linearised.system, input.is_held(), is_affine);
        problem.force = right_hand_side(input, linearised);
        bodies
    }
}
