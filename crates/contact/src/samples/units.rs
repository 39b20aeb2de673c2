//! The same problem in other units.

use super::matter;
use crate::problem::{Contact, Contacts, NodalProblem};
use crate::solve::WarmStart;
use crate::system::{Coupling, Matrix, System};

/// A problem and its warm start in other units: numbers that are lengths become `lengths` times as large, masses and
/// times likewise. So do errors, which are lengths; a solver that depends on no units takes the same iterations.
pub fn rescale(
    problem: &NodalProblem,
    warm: &WarmStart,
    lengths: f64,
    masses: f64,
    times: f64,
) -> (NodalProblem, WarmStart) {
    let (speed, impulse) = (lengths / times, masses * lengths / times);
    // Twists have 1/T where nodes have L/T, and their rows of A v = f have one L more.
    let mut turns = vec![1.0; problem.system.dofs()];
    for (dof, _) in &problem.arms {
        turns[*dof] = lengths;
    }
    let cut = problem.system.cut();
    let force = problem.force.iter().enumerate().map(|(dof, force)| {
        match cut.get(dof).copied().unwrap_or_default() {
            true => force * speed / turns[dof],
            false => force * impulse * turns[dof],
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
    let arms = problem.arms.iter();
    let rescaled = NodalProblem {
        system: rescale_system(&problem.system, masses, &turns),
        force: force.collect(),
        step: problem.step * times,
        masses: problem.masses.iter().map(|mass| mass * masses).collect(),
        mobilities: problem.mobilities.iter().map(|m| m / masses).collect(),
        arms: arms.map(|(dof, arm)| (*dof, arm * lengths)).collect(),
        contacts,
    };
    let velocities = warm.velocities.iter().zip(&turns);
    let contacts = warm.contacts.iter();
    let warm = WarmStart {
        velocities: velocities.map(|(v, turn)| v * speed / turn).collect(),
        contacts: contacts.map(|known| known.times(impulse)).collect(),
    };
    (rescaled, warm)
}

/// A × M, and × L for each twist of an entry; what is cut off stays a row of the identity.
fn rescale_system(system: &System, masses: f64, turns: &[f64]) -> System {
    let mut rescaled = system.clone();
    for body in &mut rescaled.bodies {
        let dofs = body.offset..body.offset + body.matrix.dofs();
        matter::scale(&mut body.matrix, masses, &turns[dofs.clone()]);
        match (system.cut().get(dofs), &mut body.matrix) {
            (Some(cut), Matrix::Blocks(matrix)) => matrix.isolate(cut, 1.0),
            (Some(cut), Matrix::Rods(batch)) => batch.isolate(cut, 1.0),
            (None, _) => {}
        }
    }
    let ties = system.couplings().iter().cloned();
    let ties = ties.map(|tie| Coupling {
        block: tie.block * masses,
        ..tie
    });
    rescaled.couple(ties.collect());
    rescaled
}
