//! Velocities of a step among contacts: the problem is posed, solved, and changed on the way where the motion shows what was not known at the
//! start (Daviet 2020, Alg. 2).

use glam::DVec3;
use rayon::prelude::*;
use reefknot_contact::file::problem::CapturedProblem;
use reefknot_contact::mobility;
use reefknot_contact::problem::{NodalProblem, Solution, stopping_tolerance};
use reefknot_contact::solve::admm::{Admm, Settings};
use reefknot_contact::solve::{Refine, Refined, SolveError, Warm};
use reefknot_contact::system::SystemFactor;

use super::linear_euler::AGAIN;
use super::{Scratch, StepError};
use crate::collide::pair::Feature;
use crate::detect::{Detection, NEAR, Touching};
use crate::energy::linearize::{Problem, Which, linearize};
use crate::gate::{self, Stopped};
use crate::model::{Body, Elements};
use crate::pose::{Posed, Posing, contacts_of, relative, second_id};

/// How often the motion is looked at while a problem is solved, at most; then the gate decides. After a look that adds less than one of so many
/// contacts, twice as many chances are passed over as before it.
const LOOKS: usize = 40;
const FEW_NEW: usize = 1000;

/// The same while another solve of the same step follows.
const FEW_LOOKS: usize = 3;

/// Iterations of the solver, at most.
const ITERATIONS: usize = 400;

/// The same for all solves of a step, with its halves, that do not converge: what is that hard goes on with a few in each solve,
/// the gate, and no more halves.
pub(super) const ITERATIONS_OF_STEP: usize = 3 * ITERATIONS;
const FEW_ITERATIONS: usize = 30;

/// What an attempt at a step counts itself: there are no more than 80.
pub(super) const ATTEMPT: usize = ITERATIONS_OF_STEP / 80;

/// The part of the mobility of a node of a rod that weights are made of: a third needs the fewest iterations in a ball of hair.
const ROD_MOBILITY: f64 = 1.0 / 3.0;

/// If more than one of this many points leaves where it was expected, the motion is not looked at yet, so many times. Then they do leave: what is hit is far from
/// an answer without the contacts that a look would show.
const MANY_ASTRAY: usize = 100;
const WAITS: usize = 4;

/// Contacts that every node that can move has less weight in are left to the gate: what moves them would have to go a hundred times as far.
const LEAST_GIVE: f64 = 0.01;

/// What a step knows of its contacts.
pub(crate) struct Touches<'a> {
    pub(crate) detection: Detection<'a>,
    /// The contacts of the problem, by ascending id.
    pub(crate) posed: Vec<Posed>,
    /// Their impulses (N s), in world axes.
    pub(crate) impulses: Vec<DVec3>,
    /// Iterations of the solver.
    pub(crate) iterations: u64,
    /// Whether the gate had to change the motion.
    pub(crate) is_guarded: bool,
    /// Whether the equations know masses only: then nothing is linearised again.
    pub(super) is_explicit: bool,
    /// What the next solve may leave of errors (m), and whether another one of the same step follows it.
    pub(super) tolerance: f64,
    pub(super) goes_on: bool,
    /// Contacts that the motion of a solve showed, for the one that follows.
    found: Vec<Posed>,
}

impl<'a> Touches<'a> {
    /// 1. Who may touch; nothing if nothing can.
    pub(super) fn begin(step: &Problem<'a>, scratch: &mut Scratch) -> Option<Touches<'a>> {
        let (model, from) = (step.model, step.from);
        let touch = model.touch.as_ref()?;
        let h = step.h();
        let moves = if step.is_static { 0.0 } else { 1.0 };
        let fall = model.gravity * (h * h);
        let nodes = from.positions.iter().zip(&from.velocities).enumerate();
        let expected = nodes.map(|(node, (x, v))| match model.is_axis(node) {
            true => *x + *v * (moves * h),
            false => *x + *v * (moves * h) + fall,
        });
        let mut expected: Vec<DVec3> = expected.collect();
        step.put_held(&mut expected);
        let held = (&step.held.is_held[..], &mut scratch.detector);
        let detection = Detection::new(model, touch, from, &step.span, &expected, held);
        let mut touches = Touches {
            posed: Vec::new(),
            impulses: Vec::new(),
            iterations: 0,
            is_guarded: false,
            is_explicit: false,
            tolerance: strictest(step),
            goes_on: false,
            found: Vec::new(),
            detection,
        };
        let found = touches.detection.contacts();
        touches.posed = touches.pose(step, &found);
        Some(touches)
    }

    fn pose(&self, step: &Problem<'_>, found: &[Touching]) -> Vec<Posed> {
        let posing = Posing {
            step,
            detection: &self.detection,
        };
        let posed = found.par_iter().map(|touching| posing.pose(touching));
        let posed = posed.filter(|posed| posing.give(&posed.stencil) >= LEAST_GIVE);
        let mut posed: Vec<Posed> = posed.collect();
        posed.sort_by_key(|posed| posed.contact.id);
        posed
    }

    /// Takes over the contacts that a motion showed: they come first, and so take the place of those with the same id.
    fn add_found(&mut self) {
        if self.found.is_empty() {
            return;
        }
        let mut all = std::mem::take(&mut self.found);
        all.append(&mut self.posed);
        all.sort_by_key(|posed| posed.contact.id);
        all.dedup_by_key(|posed| posed.contact.id);
        self.posed = all;
    }

    /// Where the solver begins: the step before.
    pub(super) fn warm(&self, step: &Problem<'_>) -> Warm {
        let (from, unknowns) = (step.from, &step.model.unknowns);
        let velocities = match step.is_static {
            true => vec![0.0; unknowns.count],
            false => unknowns.join(&from.velocities, &from.spins),
        };
        let forces = from.contacts.iter();
        Warm {
            velocities,
            impulses: forces.map(|(id, force)| (*id, *force * step.h())).collect(),
        }
    }

    /// Where it begins when the same step is solved again.
    pub(super) fn warm_again(&self, velocities: &[f64]) -> Warm {
        let ids = self.posed.iter().map(|posed| posed.contact.id);
        Warm {
            velocities: velocities.to_vec(),
            impulses: ids.zip(self.impulses.iter().copied()).collect(),
        }
    }

    /// Bᵀ r, on held nodes too (N s).
    pub(crate) fn push(&self, step: &Problem<'_>) -> Vec<f64> {
        let unknowns = &step.model.unknowns;
        let mut push = vec![0.0; unknowns.count];
        for (posed, impulse) in self.posed.iter().zip(&self.impulses) {
            for (node, weight) in &posed.stencil {
                let flat = &mut push[unknowns.node_offset[*node as usize]..];
                (DVec3::from_slice(flat) + *impulse * *weight).write_to_slice(flat);
            }
        }
        push
    }

    /// 3. and 4. The problem with the last linearisation, solved.
    pub(super) fn solve(
        &mut self,
        step: &Problem<'_>,
        warm: &Warm,
        scratch: &mut Scratch,
    ) -> Result<Vec<f64>, StepError> {
        let model = step.model;
        self.add_found();
        let mut problem = std::mem::take(&mut scratch.posed);
        problem.step = step.h();
        problem
            .system
            .hold(&scratch.system, &step.held.is_held, |_| true);
        problem.force = force(step, scratch);
        problem.contacts = contacts_of(step, &self.posed);
        let mut factor = std::mem::replace(&mut scratch.factor, SystemFactor::new(Vec::new()));
        let factorized = factor.factorize(&problem.system);
        problem.mobilities = mobilities(step, &factor);
        let solved = factorized
            .map_err(SolveError::from)
            .and_then(|()| self.solve_problem(step, (&mut problem, &mut factor), warm, scratch));
        scratch.posed = problem;
        scratch.factor = factor;
        let solution = solved.map_err(|error| match error {
            SolveError::Factor(error) => {
                StepError::linear(model, &model.bodies[error.body], error.source)
            }
            SolveError::TooManyNodes(error) => StepError::Contact {
                reason: error.to_string(),
            },
        })?;
        if let Some(capture) = &mut scratch.capture {
            *capture = CapturedProblem {
                problem: scratch.posed.clone(),
                tolerance: scratch.admm.settings.tolerance,
                warm: warm.clone(),
            };
        }
        self.impulses = solution.impulses;
        Ok(solution.velocities)
    }

    fn solve_problem(
        &mut self,
        step: &Problem<'_>,
        (problem, factor): (&mut NodalProblem, &mut SystemFactor),
        warm: &Warm,
        scratch: &mut Scratch,
    ) -> Result<Solution, SolveError> {
        let mut admm = std::mem::replace(&mut scratch.admm, no_memory());
        admm.settings.tolerance = self.tolerance;
        let left = scratch.iterations_left.max(FEW_ITERATIONS);
        admm.settings.most_iterations = left.min(ITERATIONS);
        let mut look = Look {
            step,
            touches: self,
            scratch,
            patience: 1,
            waited: 0,
            looks: 0,
            waits: 0,
            again: 0,
        };
        let mut solution = Solution::default();
        let mut is_done = false;
        // Without contacts there is nothing to iterate on.
        while problem.contacts.is_empty() && !is_done {
            solution.velocities = problem.velocities(factor, &[]);
            let refined = look.refine(problem, &solution.velocities, true);
            factor.factorize_some(&problem.system, |body| refined.bodies.contains(&body))?;
            is_done = refined.is_nothing();
        }
        if !is_done {
            let solved = admm.solve(problem, factor, warm, &mut look);
            solution = match solved {
                Ok((solution, outcome)) => {
                    self.iterations += outcome.iterations as u64;
                    if !outcome.is_converged {
                        let left = scratch.iterations_left;
                        scratch.iterations_left = left.saturating_sub(outcome.iterations);
                    }
                    solution
                }
                Err(error) => {
                    scratch.admm = admm;
                    return Err(error);
                }
            };
        }
        scratch.admm = admm;
        Ok(solution)
    }

    /// 5. Nothing comes closer than the guard, whatever it takes.
    pub(super) fn guard(
        &mut self,
        step: &Problem<'_>,
        velocities: &mut [f64],
    ) -> Result<(), StepError> {
        // What is no number is refused with its place when the step is taken.
        let is_lost = |place: &DVec3| !place.is_finite();
        if velocities.iter().any(|v| !v.is_finite()) || self.detection.from.iter().any(is_lost) {
            return Ok(());
        }
        match gate::pass(step, &mut self.detection, velocities) {
            Ok(is_guarded) => {
                self.is_guarded = is_guarded;
                Ok(())
            }
            Err(Stopped::Lost(point, way)) => {
                let touch = self.detection.touch;
                let (object, vertex) = touch.name(step.model, Feature::Point(point));
                Err(StepError::TooFast {
                    object,
                    vertex,
                    way,
                })
            }
            Err(Stopped::NoRoom(no_room)) => {
                let touch = self.detection.touch;
                let [one, other] = no_room.features.map(|it| touch.name(step.model, it));
                Err(StepError::NoRoom {
                    object: one.0,
                    vertex: one.1,
                    other: other.0,
                    place: no_room.place.to_array(),
                    time: step.span.end,
                })
            }
        }
    }
}

/// What contacts may leave of errors in a step, so that nothing at rest creeps (m).
pub(super) fn strictest(step: &Problem<'_>) -> f64 {
    let gravity = step.model.gravity.length();
    stopping_tolerance(step.model.method.tolerance.0, gravity, step.h())
}

fn no_memory() -> Admm {
    Admm::new(Settings::new(0.0))
}

/// How easily each node moves (1/kg): if its body is rigid; of what is affine, by its own mass; in a rod, by a part of what the factor says.
fn mobilities(step: &Problem<'_>, factor: &SystemFactor) -> Vec<f64> {
    let (model, positions) = (step.model, &step.from.positions);
    let mut mobilities = Vec::with_capacity(positions.len());
    for (index, body) in model.bodies.iter().enumerate() {
        let masses = &model.masses[body.nodes.clone()];
        match &body.elements {
            Elements::Blocks(blocks) if blocks.is_affine => {
                mobilities.extend(masses.iter().map(|mass| 1.0 / mass));
            }
            Elements::Rods(_) => {
                let diagonal = factor.inverse_diagonal(index).unwrap_or_default();
                let nodes = body.nodes.clone();
                mobilities.extend(nodes.map(|node| rod_mobility(step, body, node, &diagonal)));
            }
            Elements::Blocks(_) => {
                mobilities.extend(mobility::rigid(masses, &positions[body.nodes.clone()]));
            }
        }
    }
    mobilities
}

/// A part of how far a node of a rod gives way to an impulse, along the axes that it can move along. Rods are so soft across and so
/// stiff along that neither their masses nor those of whole rods tell how hard it is to move a node: with these, ADMM needs
/// several times the iterations.
fn rod_mobility(step: &Problem<'_>, body: &Body, node: usize, diagonal: &[f64]) -> f64 {
    let offset = step.model.unknowns.node_offset[node];
    let free = (offset..offset + 3).filter(|dof| !step.held.is_held[*dof]);
    let inverses = free.filter_map(|dof| diagonal.get(dof - body.dofs.start));
    let (sum, count) = inverses.fold((0.0, 0.0), |(sum, count), of| (sum + of, count + 1.0));
    match count > 0.0 && f64::is_finite(sum) {
        true => ROD_MOBILITY * sum / count,
        false => 1.0 / step.model.masses[node],
    }
}

/// f of A v = f at the last linearisation; where something is held, what it is told: A v_k − ∇𝒜(v_k), with what held unknowns do to
/// free ones.
fn force(step: &Problem<'_>, scratch: &Scratch) -> Vec<f64> {
    let told = step.told();
    let mut point = scratch.point.clone();
    for (dof, rate) in &told {
        point[*dof] -= rate;
    }
    let mut force = vec![0.0; point.len()];
    if point.iter().any(|entry| *entry != 0.0) {
        scratch.system.multiply(&point, &mut force);
    }
    for (force, residual) in force.iter_mut().zip(&scratch.residual) {
        *force -= residual;
    }
    for (dof, rate) in &told {
        force[*dof] = *rate;
    }
    force
}

/// Looks at the motion while a problem is solved.
struct Look<'a, 'b, 'c> {
    step: &'a Problem<'b>,
    touches: &'a mut Touches<'c>,
    scratch: &'a mut Scratch,
    /// How many chances to look it takes for one, and how many there were since the last.
    patience: usize,
    waited: usize,
    looks: usize,
    /// How often it was too early to look.
    waits: usize,
    again: usize,
}

impl Refine for Look<'_, '_, '_> {
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
        self.looks += 1;
        self.patience *= 2;
        let most = match self.touches.goes_on {
            true => FEW_LOOKS,
            false => LOOKS,
        };
        let new = match self.looks <= most {
            true => self.add_impacts(velocities, is_answer),
            false => 0,
        };
        if new > 0 {
            if new * FEW_NEW >= self.touches.posed.len() {
                self.patience = 1;
            }
            problem.contacts = contacts_of(self.step, &self.touches.posed);
            refined.contacts = true;
        }
        if is_answer && !refined.contacts && self.again < AGAIN && !self.touches.is_explicit {
            self.again += 1;
            refined.bodies = self.linearise_again(problem, velocities);
        }
        refined
    }
}

impl Look<'_, '_, '_> {
    /// Adds contacts where the motion comes too close; how many.
    fn add_impacts(&mut self, velocities: &[f64], is_answer: bool) -> usize {
        let nodes = self.step.ends(velocities);
        let detection = &mut self.touches.detection;
        let to = detection.to(&nodes);
        if detection.lost(&to).is_some() {
            return 0;
        }
        // What goes far astray on the way to an answer would meet much that the answer never meets.
        let may_wait = !is_answer && self.waits < WAITS;
        if may_wait && detection.leaving(&to) * MANY_ASTRAY > to.len() {
            self.waits += 1;
            self.patience = 1;
            return 0;
        }
        let found = detection.impacts(&to, NEAR, None);
        let (step, h) = (self.step, self.step.h());
        let unknowns = &step.model.unknowns;
        let mut new = self.touches.pose(step, &found);
        new.retain_mut(|posed| {
            let speed = relative(&posed.stencil, posed.contact.kinematic, |node| {
                unknowns.at_node(velocities, node as usize)
            });
            let known = &self.touches.posed;
            let id = posed.contact.id;
            if known.binary_search_by_key(&id, |it| it.contact.id).is_ok() {
                posed.contact.id = second_id(id);
            }
            // A pair that ends far enough apart but is too close on the way would not be changed by this.
            let skin = posed.touching.thickness - posed.touching.core;
            posed.contact.normal.dot(speed) * h <= -1e-3 * skin
        });
        let count = new.len();
        self.touches.found = new;
        // An answer that the next solve goes on from need not know all that it meets.
        if is_answer && self.touches.goes_on {
            return 0;
        }
        self.touches.add_found();
        count
    }

    /// Linearises affine bodies at the velocities found; which bodies changed.
    fn linearise_again(&mut self, problem: &mut NodalProblem, velocities: &[f64]) -> Vec<usize> {
        let (step, model) = (self.step, self.step.model);
        let is_affine = |body: usize| Which::Affine.has(&model.bodies[body]);
        let bodies: Vec<usize> = (0..model.bodies.len())
            .filter(|body| is_affine(*body))
            .collect();
        let dofs = bodies
            .iter()
            .flat_map(|body| model.bodies[*body].dofs.clone());
        let change = dofs
            .map(|dof| (velocities[dof] - self.scratch.point[dof]).abs())
            .fold(0.0, f64::max);
        // Where nothing turned since, nothing changes.
        if change * step.h() <= model.method.tolerance.0 {
            return Vec::new();
        }
        linearize(step, velocities, Which::Affine, self.scratch);
        problem
            .system
            .hold(&self.scratch.system, &step.held.is_held, is_affine);
        problem.force = force(step, self.scratch);
        bodies
    }
}
