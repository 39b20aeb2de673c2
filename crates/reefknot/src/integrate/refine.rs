//! The policy of refining contacts along the motion: when a motion that a solver has come to is
//! followed, what it adds to the problem, and when affine bodies are linearised again.

use reefknot_contact::problem::NodalProblem;
use reefknot_contact::solve::{Refine, Refined};

use super::contact::{ContactPhase, ContactSolve, force};
use super::linear_euler::AFFINE_LINEARISATIONS;
use crate::detect::NEAR;
use crate::energy::equations::{Equations, Linearised};
use crate::energy::linearize::{At, Which, linearize};
use crate::pose::{contacts_of, relative, second_id};
use crate::step_input::StepInput;

/// How often the motion is followed in a solve, at most; then the gate decides.
const MOST_ROUNDS: usize = 40;

/// The same if another solve of the same step follows.
const MOST_ROUNDS_IF_FOLLOWED: usize = 3;

/// After a round that adds less than one of so many contacts, twice as many chances are passed over
/// as before it.
const FEW_NEW: usize = 1000;

/// Skip CCD while over one of so many points are outside their predicted boxes, so many times. Then
/// they do leave: what is hit is far from an answer without the contacts that CCD would show.
const MANY_OUTSIDE: usize = 100;
const MOST_WAITS: usize = 4;

/// Refines a problem along the motion while it is solved.
pub(super) struct MotionRefinement<'s, 'i, 'c> {
    input: &'s StepInput<'i>,
    phase: &'s mut ContactPhase<'c>,
    request: ContactSolve,
    equations: &'s mut Equations,
    linearised: &'s mut Linearised,
    /// How many chances to look it takes for one, and how many there were since the last.
    patience: usize,
    waited: usize,
    rounds: usize,
    /// How often it was too early to look.
    waits: usize,
    linearisations: usize,
}

impl<'s, 'i, 'c> MotionRefinement<'s, 'i, 'c> {
    pub(super) fn new(
        input: &'s StepInput<'i>,
        phase: &'s mut ContactPhase<'c>,
        request: ContactSolve,
        (equations, linearised): (&'s mut Equations, &'s mut Linearised),
    ) -> MotionRefinement<'s, 'i, 'c> {
        MotionRefinement {
            input,
            phase,
            request,
            equations,
            linearised,
            patience: 1,
            waited: 0,
            rounds: 0,
            waits: 0,
            linearisations: 0,
        }
    }
}

impl Refine for MotionRefinement<'_, '_, '_> {
    fn is_due(&mut self, is_answer: bool) -> bool {
        self.waited += 1;
        is_answer || self.waited >= self.patience
    }

    fn refine(
        &mut self,
        problem: &mut NodalProblem,
        velocities: &[f64],
        is_answer: bool,
    ) -> Refined {
        let mut refined = Refined::default();
        if velocities.iter().any(|rate| !rate.is_finite()) {
            return refined;
        }
        self.waited = 0;
        self.rounds += 1;
        self.patience *= 2;
        let most = match self.request.is_followed {
            true => MOST_ROUNDS_IF_FOLLOWED,
            false => MOST_ROUNDS,
        };
        if self.rounds <= most {
            refined = self.add_impacts(velocities, is_answer);
        }
        let new = refined.added.len() + refined.changed.len();
        if new > 0 {
            if new * FEW_NEW >= self.phase.posed.len() {
                self.patience = 1;
            }
            problem.contacts = contacts_of(self.input, &self.phase.posed);
        }
        let linearises = self.request.relinearises && self.linearisations < AFFINE_LINEARISATIONS;
        if is_answer && new == 0 && linearises {
            self.linearisations += 1;
            refined.bodies = self.linearise_affine(problem, velocities);
        }
        refined
    }
}

impl MotionRefinement<'_, '_, '_> {
    /// Adds contacts where the motion comes too close; which.
    fn add_impacts(&mut self, velocities: &[f64], is_answer: bool) -> Refined {
        let mut refined = Refined::default();
        let nodes = self.input.ends(velocities);
        let detection = &mut self.phase.detection;
        let to = detection.to(&nodes);
        if detection.lost(&to).is_some() {
            return refined;
        }
        // What goes far astray on the way to an answer would meet much that the answer never meets.
        let may_wait = !is_answer && self.waits < MOST_WAITS;
        if may_wait && detection.leaving(&to) * MANY_OUTSIDE > to.len() {
            self.waits += 1;
            self.patience = 1;
            return refined;
        }
        let found = detection.impacts(&to, NEAR, None);
        let (input, h) = (self.input, self.input.h());
        let unknowns = &input.model.unknowns;
        let mut new = self.phase.pose(input, &found);
        let known = &self.phase.posed;
        let is_known = |id: u64| known.binary_search_by_key(&id, |it| it.contact.id).is_ok();
        new.retain_mut(|posed| {
            let speed = relative(&posed.stencil, posed.contact.kinematic, |node| {
                unknowns.at_node(velocities, node as usize)
            });
            let id = posed.contact.id;
            if is_known(id) {
                posed.contact.id = second_id(id);
            }
            // A pair that ends far enough apart but is too close on the way would not be changed by
            // this.
            let skin = posed.touching.thickness - posed.touching.core;
            posed.contact.normal.dot(speed) * h <= -1e-3 * skin
        });
        let ids = new.iter().map(|posed| posed.contact.id);
        (refined.changed, refined.added) = ids.partition(|id| is_known(*id));
        self.phase.pending = new;
        // An answer that the next solve goes on from need not know all that it meets.
        if is_answer && self.request.is_followed {
            return Refined::default();
        }
        self.phase.take_pending();
        refined
    }

    /// Linearises affine bodies at the velocities found; which bodies changed.
    fn linearise_affine(&mut self, problem: &mut NodalProblem, velocities: &[f64]) -> Vec<usize> {
        let (input, model) = (self.input, self.input.model);
        let is_affine = |body: usize| Which::Affine.has(&model.bodies[body]);
        let bodies: Vec<usize> = (0..model.bodies.len())
            .filter(|body| is_affine(*body))
            .collect();
        let dofs = bodies
            .iter()
            .flat_map(|body| model.bodies[*body].dofs.clone());
        let change = dofs
            .map(|dof| (velocities[dof] - self.linearised.point[dof]).abs())
            .fold(0.0, f64::max);
        // Where nothing turned since, nothing changes.
        if change * input.h() <= model.method.tolerance.0 {
            return Vec::new();
        }
        let (equations, linearised) = (&mut *self.equations, &mut *self.linearised);
        let at = At::Velocities(velocities);
        linearize(input, at, Which::Affine, equations, linearised);
        (problem.system).hold(&linearised.system, input.is_held(), is_affine);
        problem.force = force(input, linearised);
        bodies
    }
}
