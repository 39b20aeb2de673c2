//! Gauss-Seidel sweeps with an exact solve of each contact.

use glam::DVec3;

use super::scaled::Scaled;
use crate::law;

/// Solves every contact once for its own impulse, in the order given, with the newest impulses of
/// the others. A contact without a solution keeps its impulse.
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
