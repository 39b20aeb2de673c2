//! Conversion of problems to other units.

use super::elasticity;
use crate::problem::{Contact, Contacts, NodalProblem, WarmStart};
use crate::system::{Coupling, Matrix, System};

/// Problem and warm start in other units: the numerical values of lengths, masses and times are
/// multiplied by `lengths`, `masses` and `times`. Errors are lengths. A solver that does not depend
/// on units takes the same number of iterations.
pub fn rescale(
    problem: &NodalProblem,
    warm: &WarmStart,
    lengths: f64,
    masses: f64,
    times: f64,
) -> (NodalProblem, WarmStart) {
    let (speed, impulse) = (lengths / times, masses * lengths / times);
    // The velocity of a twist has the unit 1/T instead of L/T, and its row of A v = f an additional
    // factor L.
    let mut turns = vec![1.0; problem.system.dofs()];
    for (dof, _) in &problem.lever_arms {
        turns[*dof] = lengths;
    }
    let is_held = problem.system.held();
    let force = problem.force.iter().enumerate().map(|(dof, force)| {
        if is_held.get(dof).copied().unwrap_or_default() {
            force * speed / turns[dof]
        } else {
            force * impulse * turns[dof]
        }
    });
    let mut contacts = Contacts::new();
    for (index, contact) in problem.contacts.iter().enumerate() {
        let contact = Contact {
            kinematic: contact.kinematic * speed,
            cohesion: contact.cohesion * impulse / times,
            compliance: contact.compliance * (times * times / masses),
            ..*contact
        };
        contacts.push(contact, problem.contacts.stencil(index).iter().copied());
    }
    let lever_arms = problem.lever_arms.iter();
    let rescaled = NodalProblem {
        system: rescale_system(&problem.system, masses, &turns),
        force: force.collect(),
        step: problem.step * times,
        masses: problem.masses.iter().map(|mass| mass * masses).collect(),
        mobilities: problem.mobilities.iter().map(|m| m / masses).collect(),
        lever_arms: lever_arms.map(|(dof, arm)| (*dof, arm * lengths)).collect(),
        contacts,
    };
    let velocities = warm.velocities.iter().zip(&turns);
    let contacts = warm.contacts.iter();
    let warm = WarmStart {
        velocities: velocities.map(|(v, turn)| v * speed / turn).collect(),
        contacts: contacts.map(|known| known.scaled(impulse)).collect(),
    };
    (rescaled, warm)
}

/// Multiplies A by `masses`, and rows and columns of twists by `turns`. Rows of held degrees of
/// freedom remain those of the identity.
fn rescale_system(system: &System, masses: f64, turns: &[f64]) -> System {
    let mut rescaled = system.clone();
    for body in &mut rescaled.bodies {
        let dofs = body.offset..body.offset + body.matrix.dofs();
        elasticity::scale(&mut body.matrix, masses, &turns[dofs.clone()]);
        match (system.held().get(dofs), &mut body.matrix) {
            (Some(is_held), Matrix::Blocks(matrix)) => matrix.isolate(is_held, 1.0),
            (Some(is_held), Matrix::Rods(batch)) => batch.isolate(is_held, 1.0),
            (None, _) => {}
        }
    }
    let ties = system.couplings().iter().cloned();
    let ties = ties.map(|tie| Coupling {
        block: tie.block * masses,
        ..tie
    });
    rescaled.set_couplings(ties.collect());
    rescaled
}
