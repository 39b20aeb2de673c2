//! Gauss-Seidel sweeps over the contacts, each solved exactly for its own impulse.

use glam::DVec3;

use super::scaled::Scaled;
use crate::law;

/// Solves every contact once, in the order given. The velocities of the others are those of their newest impulses.
pub(super) fn sweep(problem: &Scaled, order: impl Iterator<Item = usize>, impulses: &mut [DVec3]) {
    for contact in order {
        let block = problem.operator.diagonal(contact);
        let own = impulses[contact];
        let velocity = problem.operator.row_times(contact, impulses) + problem.free[contact];
        let free = velocity - *block * own;
        if let Some(r) = law::solve_contact(block, free, problem.friction[contact], own) {
            impulses[contact] = r;
        }
    }
}
