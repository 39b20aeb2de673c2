//! The contact problem of a step: A v = f + Bᵀ r, u = B v + k, with (u, r) in the law of Signorini
//! and Coulomb at every contact (Daviet 2020, eq. 5).
//!
//! A contact is a normal and a short list of nodes with weights (Assumption 1), so that the blocks
//! of B are multiples of the 3×3 identity. v are velocities (m/s); r are impulses (N s) in world
//! axes, on the first body of a pair. The errors of a solution are computed by the problem
//! ([`NodalProblem::contact_error`], [`NodalProblem::momentum_error`]), never by a solver.

mod check;
mod contacts;
mod errors;
#[cfg(test)]
mod tests;
mod warm;

use glam::DVec3;

pub use check::ProblemError;
pub use contacts::{Contact, Contacts};
pub use errors::{Errors, stopping_tolerance};
pub(crate) use errors::{nan_max, par_nan_max};
pub use warm::{ContactMemory, ContactState, WarmStart};

use crate::system::{DisjointSets, System, SystemFactor};

/// A frictional contact problem in velocities and impulses.
#[derive(Clone, Debug, Default)]
pub struct NodalProblem {
    /// A (kg). Held degrees of freedom have unit rows and columns ([`System::hold`]).
    pub system: System,
    /// f (N s); the prescribed velocity (m/s) at held degrees of freedom.
    pub force: Vec<f64>,
    /// h (s).
    pub step: f64,
    /// Lumped mass of every node (kg).
    pub masses: Vec<f64>,
    /// Mobility of every node (1/kg), for the weights of ADMM: the velocity per unit impulse of the
    /// node in its rigid body ([`crate::mobility`]), or a part of its velocity in the deformable
    /// body. Optional; may be empty.
    pub mobilities: Vec<f64>,
    /// Degrees of freedom that do not belong to a node, each with the length that converts it to
    /// metres (for twists, the radius of the rod).
    pub lever_arms: Vec<(usize, f64)>,
    /// The contacts, with their stencils.
    pub contacts: Contacts,
}

/// Velocities and impulses that solve a problem, or approximate a solution.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Solution {
    /// v (m/s), flat.
    pub velocities: Vec<f64>,
    /// r of every contact (N s), in world axes.
    pub impulses: Vec<DVec3>,
    /// Mean of r over the last iterations; empty for solvers without it.
    pub averages: Vec<DVec3>,
    /// State of every contact; empty for solvers without contact states.
    pub states: Vec<ContactState>,
}

impl Solution {
    /// A solution without averages and states.
    pub fn new(velocities: Vec<f64>, impulses: Vec<DVec3>) -> Self {
        Self {
            velocities,
            impulses,
            ..Self::default()
        }
    }
}

impl NodalProblem {
    /// u_c = Σ_j b_cj v_j + k_c.
    pub fn relative_velocity(&self, contact: usize, velocities: &[f64]) -> DVec3 {
        let stencil = self.contacts.stencil(contact).iter();
        let kinematic = self.contacts[contact].kinematic;
        stencil.fold(kinematic, |sum, (node, weight)| {
            let offset = self.system.node_offset[*node as usize];
            sum + DVec3::from_slice(&velocities[offset..]) * *weight
        })
    }

    /// u = B v + k.
    pub fn relative_velocities(&self, velocities: &[f64]) -> Vec<DVec3> {
        let contacts = 0..self.contacts.len();
        contacts
            .map(|contact| self.relative_velocity(contact, velocities))
            .collect()
    }

    /// Adds Bᵀ r to a flat vector, except at held degrees of freedom.
    pub fn add_impulses(&self, impulses: &[DVec3], force: &mut [f64]) {
        for (contact, impulse) in impulses.iter().enumerate() {
            for (node, weight) in self.contacts.stencil(contact) {
                let node = *node as usize;
                let offset = self.system.node_offset[node];
                let push = *impulse * *weight * self.system.free_part(node);
                (DVec3::from_slice(&force[offset..]) + push).write_to_slice(&mut force[offset..]);
            }
        }
    }

    /// v = A⁻¹ (f + Bᵀ r). `factor` is that of A.
    pub fn velocities(&self, factor: &SystemFactor, impulses: &[DVec3]) -> Vec<f64> {
        let mut velocities = self.force.clone();
        self.add_impulses(impulses, &mut velocities);
        factor.solve_in_place(&self.system, &mut velocities);
        velocities
    }

    /// Moves impulses into their friction cones. Every solver does so before the errors of its
    /// solution are computed, so that a solution has no force that the law forbids.
    pub fn make_admissible(&self, impulses: &mut [DVec3]) {
        for (contact, impulse) in self.contacts.iter().zip(impulses) {
            *impulse = contact.admissible(self.step, *impulse);
        }
    }

    /// Mobility of a node (1/kg); the inverse of its mass if [`NodalProblem::mobilities`] is empty.
    pub fn mobility(&self, node: usize) -> f64 {
        let given = self.mobilities.get(node).copied();
        given.unwrap_or_else(|| self.masses[node].recip())
    }

    /// The group of every contact, and the number of groups. Contacts of different groups share no
    /// component of the system, so that they are independent.
    pub fn groups(&self) -> (Vec<u32>, usize) {
        let (components, count) = self.system.components();
        let mut sets = DisjointSets::new(count + self.contacts.len());
        for contact in 0..self.contacts.len() {
            for (node, _) in self.contacts.stencil(contact) {
                sets.join(components[*node as usize], (count + contact) as u32);
            }
        }
        let roots = (0..self.contacts.len()).map(|contact| sets.find((count + contact) as u32));
        let roots: Vec<u32> = roots.collect();
        let mut known: Vec<u32> = roots.clone();
        known.sort_unstable();
        known.dedup();
        let index = |root: u32| known.partition_point(|other| *other < root) as u32;
        (roots.into_iter().map(index).collect(), known.len())
    }
}
