//! The contact problem of a step: A v = f + Bᵀ r, u = B v + k, (u, r) in Signorini's and Coulomb's law for every
//! contact (Daviet 2020, eq. 5).
//!
//! A contact is a normal and a short list of nodes with weights (Assumption 1), so that B is made of multiples of the 3×3
//! identity. v are velocities (m/s), r impulses (N s) in world axes, on the first body of a pair. How good an answer is, is
//! for the problem to say ([`NodalProblem::contact_error`], [`NodalProblem::momentum_error`]): no solver grades itself.

mod check;
mod contacts;
mod errors;
#[cfg(test)]
mod tests;

use glam::DVec3;

pub use check::ProblemError;
pub use contacts::{Contact, Contacts};
pub use errors::{Errors, stopping_tolerance};
pub(crate) use errors::{larger, largest};

use crate::solve::ContactState;
use crate::system::{Sets, System, SystemFactor};

/// A frictional contact problem in velocities and impulses.
#[derive(Clone, Debug, Default)]
pub struct NodalProblem {
    /// A (kg). What is held is cut off in it ([`System::hold`]).
    pub system: System,
    /// f (N s); where something is held, its velocity (m/s).
    pub force: Vec<f64>,
    /// h (s).
    pub step: f64,
    /// The lumped mass of every node (kg).
    pub masses: Vec<f64>,
    /// How easily every node moves (1/kg), for weights: how much a unit impulse would move it if
    /// its body were rigid ([`crate::mobility`]), or a part of what it does move. A hint, for
    /// solvers that use it; may be empty.
    pub mobilities: Vec<f64>,
    /// Degrees of freedom that are no part of a node, each with the length that turns it into metres (twists: the radius).
    pub arms: Vec<(usize, f64)>,
    /// Who touches.
    pub contacts: Contacts,
}

/// An answer to a problem.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Solution {
    /// v (m/s), flat.
    pub velocities: Vec<f64>,
    /// r of every contact (N s), in world axes.
    pub impulses: Vec<DVec3>,
    /// The mean of r over the last iterations, of solvers that take one; else empty.
    pub averages: Vec<DVec3>,
    /// What every contact does, of solvers that keep such states; else empty.
    pub states: Vec<ContactState>,
}

impl Solution {
    /// An answer without averages and states.
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

    /// Adds Bᵀ r to a flat vector; nothing moves what is held.
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

    /// v = A⁻¹ (f + Bᵀ r): the motion that impulses make. `factor` is that of A.
    pub fn velocities(&self, factor: &SystemFactor, impulses: &[DVec3]) -> Vec<f64> {
        let mut velocities = self.force.clone();
        self.add_impulses(impulses, &mut velocities);
        factor.solve_in_place(&self.system, &mut velocities);
        velocities
    }

    /// How easily a node moves (1/kg): as the hint says, or else as its mass does.
    pub fn mobility(&self, node: usize) -> f64 {
        let hint = self.mobilities.get(node).copied();
        hint.unwrap_or_else(|| self.masses[node].recip())
    }

    /// The group of every contact, and how many groups there are: contacts of different groups share nothing that moves.
    pub fn groups(&self) -> (Vec<u32>, usize) {
        let (components, count) = self.system.components();
        let mut sets = Sets::new(count + self.contacts.len());
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
        let place = |root: u32| known.partition_point(|other| *other < root) as u32;
        (roots.into_iter().map(place).collect(), known.len())
    }
}
