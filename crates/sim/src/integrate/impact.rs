//! Impacts with restitution.
//!
//! A step in which surfaces collide ends with them in contact, as if they did not bounce: that
//! determines its motion. Its velocities v are not those before the impact, since the contacts have
//! stopped them. The step without the contacts that bounce would have the velocities v̂, and those
//! before the impact lie between: v⁻ = v + θ (v̂ − v), with the largest θ ≤ 1 at which kinetic,
//! elastic and gravity energy together have not grown ([`arrival`]). So the part of the step after
//! the impact adds no energy, and a ball hits the floor with the speed of its fall to it. v⁻
//! belongs to the impulses (1 − θ) r + θ r̂ of the two solutions.
//!
//! The impact changes v⁻ to v⁺ at the positions of the end of the step ([`reflection`]), and the
//! next step starts with v⁺. All contacts that touch take part in it, also those at rest. Elastic
//! bodies bounce node by node, with lumped masses; props bounce as rigid bodies ([`inertia`]).

mod arrival;
mod inertia;
mod islands;
mod reflection;

use glam::DVec3;
use reefknot_contact::problem::{Contact, Contacts, NodalProblem};

use super::{ContactPhase, Context, Phase, Scratch, StepError, StepOutcome};
use crate::model::Model;
use crate::pose::PosedContact;
use crate::step_input::StepInput;
use arrival::before_impact;
use inertia::ImpactInertia;
use islands::Islands;
use reflection::{Motion, SimultaneousImpact};

/// Contacts bounce if they approach faster than this many times the speed of a fall during a step.
/// What rests does not approach, but what rolls or is pushed around does a little.
const MIN_APPROACH_IN_FALLS: f64 = 2.0;

/// Contacts do not bounce if they approach in a step by less than this fraction of the tolerance.
const MIN_APPROACH_IN_TOLERANCES: f64 = 1e-3;

/// The impact at the end of a step.
#[derive(Clone, Debug)]
pub(crate) struct ImpactOutcome {
    /// v⁻ and v⁺, flat (m/s, rad/s).
    pub(crate) velocities: [Vec<f64>; 2],
    /// Impulses of each contact before the impact, those of v⁻ (N s).
    pub(crate) carried: Vec<DVec3>,
    /// Impulses of each contact in the impact (N s).
    pub(crate) impulses: Vec<DVec3>,
    /// Prescribed relative velocity of each contact, that of held nodes included (m/s).
    pub(crate) prescribed: Vec<DVec3>,
    /// Whether each contact takes part.
    pub(crate) takes_part: Vec<bool>,
}

/// The impact at the end of a step, if there is one. It changes the velocities of the state.
pub(crate) fn resolve(
    input: &StepInput<'_>,
    outcome: &mut StepOutcome<'_>,
    scratch: &mut Scratch,
    context: &mut Context,
) -> Result<(), StepError> {
    let Some(phase) = &outcome.contact else {
        return Ok(());
    };
    let problem = &scratch.posed.problem;
    let bounces = bouncing(input, phase, &outcome.velocities, problem);
    if !bounces.contains(&true) {
        return Ok(());
    }
    let touches = touching(input, phase, &outcome.velocities, problem);
    let islands = Islands::of(input, &bounces, &touches, problem);
    if islands.is_empty() {
        return Ok(());
    }
    let before = before_impact(input, outcome, &bounces, &islands, scratch, context)?;
    let problem = &scratch.posed.problem;
    let (before_motion, after) = after_impact(input, outcome, &islands, &before, problem)?;
    let prescribed = (0..bounces.len()).map(|it| prescribed_velocity(outcome, problem, it));
    let prescribed = prescribed.collect();
    let unknowns = &input.model.unknowns;
    outcome.to.velocities = unknowns.nodes(&after.velocities);
    outcome.to.spins = unknowns.edges(&after.velocities);
    outcome.impact = Some(ImpactOutcome {
        velocities: [before_motion, after.velocities],
        carried: before.impulses,
        impulses: after.impulses,
        prescribed,
        takes_part: islands.of_contacts.iter().map(Option::is_some).collect(),
    });
    context.timer.lap(Phase::Contact);
    Ok(())
}

/// Whether each contact bounces if it is reached: it approaches at the start or on the way.
fn bouncing(
    input: &StepInput<'_>,
    phase: &ContactPhase<'_>,
    velocities: &[f64],
    problem: &NodalProblem,
) -> Vec<bool> {
    if input.is_static || phase.posed.iter().all(|posed| posed.restitution == 0.0) {
        return Vec::new();
    }
    let h = input.h();
    let falls = MIN_APPROACH_IN_FALLS * input.model.gravity.length() * h;
    let least = falls.max(MIN_APPROACH_IN_TOLERANCES * input.model.method.tolerance / h);
    let start = input.start_velocities();
    let bounces = phase.posed.iter().enumerate().map(|(contact, posed)| {
        let approach = |v: &[f64]| {
            let velocity = problem.relative_velocity(contact, v) - gap_rate(posed);
            -velocity.dot(posed.contact.normal)
        };
        posed.restitution > 0.0 && approach(&start).max(approach(velocities)) > least
    });
    bounces.collect()
}

/// Whether each contact touches at the end of the step.
fn touching(
    input: &StepInput<'_>,
    phase: &ContactPhase<'_>,
    velocities: &[f64],
    problem: &NodalProblem,
) -> Vec<bool> {
    let (h, tolerance) = (input.h(), input.model.method.tolerance);
    let touches = phase.memory.iter().enumerate().map(|(contact, known)| {
        let velocity = problem.relative_velocity(contact, velocities);
        let gap = h * velocity.dot(problem.contacts[contact].normal);
        known.reaction != DVec3::ZERO || gap <= tolerance
    });
    touches.collect()
}

/// v⁻ with rigid props, and v⁺ with the impulses of the impact.
fn after_impact(
    input: &StepInput<'_>,
    outcome: &StepOutcome<'_>,
    islands: &Islands,
    before: &Motion,
    posed: &NodalProblem,
) -> Result<(Vec<f64>, Motion), StepError> {
    let chosen = islands.contacts();
    let inertia = ImpactInertia::of(input, &outcome.to.positions, &nodes_of(posed, &chosen));
    let dofs = inertia.dofs(&input.model.unknowns);
    let mut own: Vec<f64> = dofs.iter().map(|dof| before.velocities[*dof]).collect();
    inertia.make_rigid(&mut own);
    let mut start = before.velocities.clone();
    set_at(&dofs, &own, &mut start);
    let mut after = Motion {
        velocities: start.clone(),
        impulses: vec![DVec3::ZERO; posed.contacts.len()],
    };
    let Some(method) = &input.model.method.solver else {
        return Ok((start, after));
    };
    let restitution = restitutions(outcome, &chosen);
    let mut impact = SimultaneousImpact {
        problem: NodalProblem {
            contacts: contacts_of(outcome, posed, &chosen, &inertia),
            force: vec![0.0; inertia.system.dofs()],
            step: input.h(),
            system: inertia.system,
            masses: inertia.masses,
            ..NodalProblem::default()
        },
        restitution: &restitution,
        solver: (method.entry.build)(&method.options),
        iterations: method.entry.iterations.in_step,
    };
    let motion = impact.resolve(own).map_err(|error| StepError::Contact {
        reason: error.to_string(),
    })?;
    set_at(&dofs, &motion.velocities, &mut after.velocities);
    for (contact, impulse) in chosen.iter().zip(&motion.impulses) {
        after.impulses[*contact] = *impulse;
    }
    Ok((start, after))
}

/// Writes values to some places of a flat vector.
fn set_at(places: &[usize], values: &[f64], to: &mut [f64]) {
    for (place, value) in places.iter().zip(values) {
        to[*place] = *value;
    }
}

/// The nodes of some contacts, ascending.
fn nodes_of(problem: &NodalProblem, contacts: &[usize]) -> Vec<u32> {
    let stencils = contacts.iter().map(|it| problem.contacts.stencil(*it));
    let mut nodes: Vec<u32> = stencils.flatten().map(|(node, _)| *node).collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}

/// The contacts of the impact. Cohesion and compliance do not act in it.
fn contacts_of(
    outcome: &StepOutcome<'_>,
    posed: &NodalProblem,
    chosen: &[usize],
    inertia: &ImpactInertia,
) -> Contacts {
    let mut contacts = Contacts::new();
    for contact in chosen {
        let stencil = posed.contacts.stencil(*contact).iter();
        let stencil = stencil.filter_map(|(node, b)| Some((inertia.index(*node)?, *b)));
        let contact = Contact {
            kinematic: known_velocity(outcome, posed, *contact),
            cohesion: 0.0,
            compliance: 0.0,
            ..posed.contacts[*contact]
        };
        contacts.push(contact, stencil);
    }
    contacts
}

fn restitutions(outcome: &StepOutcome<'_>, chosen: &[usize]) -> Vec<f64> {
    let phase = outcome.contact.iter();
    let of_phase = |phase: &ContactPhase<'_>| -> Vec<f64> {
        let of = |contact: &usize| phase.posed[*contact].restitution;
        chosen.iter().map(of).collect()
    };
    phase.flat_map(of_phase).collect()
}

/// The term of the gap in k (m/s).
fn gap_rate(posed: &PosedContact) -> DVec3 {
    posed.contact.kinematic - posed.prescribed_velocity
}

/// k of a contact without the term of the gap (m/s). Nodes that are held along some axes only are
/// not part of it.
fn known_velocity(outcome: &StepOutcome<'_>, problem: &NodalProblem, contact: usize) -> DVec3 {
    let posed = outcome.contact.as_ref().map(|phase| &phase.posed[contact]);
    problem.contacts[contact].kinematic - posed.map_or(DVec3::ZERO, gap_rate)
}

/// Prescribed relative velocity of a contact, that of held nodes included (m/s).
fn prescribed_velocity(outcome: &StepOutcome<'_>, problem: &NodalProblem, contact: usize) -> DVec3 {
    let known = known_velocity(outcome, problem, contact);
    let stencil = problem.contacts.stencil(contact).iter();
    stencil.fold(known, |sum, (node, b)| {
        let held = DVec3::ONE - problem.system.free_part(*node as usize);
        let offset = problem.system.node_offset[*node as usize];
        sum + DVec3::from_slice(&outcome.velocities[offset..]) * held * *b
    })
}

/// Mass or moment of inertia of each unknown (kg, kg m²).
fn masses(model: &Model) -> Vec<f64> {
    let masses = model.masses.iter().map(|mass| DVec3::splat(*mass));
    let masses: Vec<DVec3> = masses.collect();
    model.unknowns.join(&masses, &model.twist_inertias)
}
