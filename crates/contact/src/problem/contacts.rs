//! Contacts and their stencils, in flat lists.

use std::ops::Index;

use glam::DVec3;

use super::ContactState;
use crate::law;

/// Where cohesion cancels an impulse, what is left below this fraction of the cohesion is rounding.
const CANCELLATION: f64 = 8.0 * f64::EPSILON;

/// A contact slips if it slides by more than this in a step (m).
const SLIP_THRESHOLD: f64 = 1e-9;

/// A contact slips only if its friction is within this relative distance of the surface of its
/// cone.
const SLIP_TOLERANCE: f64 = 1e-6;

/// A contact point between two bodies, closed or possibly closing in the step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Contact {
    /// Unique id, the same for the same features from step to step.
    pub id: u64,
    /// Unit normal, from the second body to the first.
    pub normal: DVec3,
    /// k (m/s): the part of the relative velocity that does not depend on v, such as gap/h along
    /// the normal.
    pub kinematic: DVec3,
    /// μ.
    pub friction: f64,
    /// ξ (N): the pull at which the contact opens.
    pub cohesion: f64,
    /// κ (m/N), along the normal.
    pub compliance: f64,
}

impl Contact {
    /// r̂ = r + hξn, the impulse in the law, in a step of h.
    pub fn law_impulse(&self, step: f64, impulse: DVec3) -> DVec3 {
        impulse + self.normal * (step * self.cohesion)
    }

    /// The impulse r nearest to the one given whose r̂ is in the friction cone. At the tip it is
    /// −hξn to the last bit.
    #[must_use]
    pub fn admissible(&self, step: f64, impulse: DVec3) -> DVec3 {
        let held = self.normal * (step * self.cohesion);
        let shifted = impulse + held;
        if shifted.length() <= CANCELLATION * held.length() {
            return -held;
        }
        let projected = law::project_about(self.normal, self.friction, shifted);
        if projected == shifted {
            impulse
        } else {
            projected - held
        }
    }

    /// The state of a contact with an admissible impulse, whose sides slide by a distance (m) in a
    /// step of h.
    pub fn state(&self, step: f64, sliding: f64, impulse: DVec3) -> ContactState {
        let shifted = self.law_impulse(step, impulse);
        if shifted == DVec3::ZERO {
            return ContactState::Open;
        }
        let normal = shifted.dot(self.normal);
        let tangential = (shifted - self.normal * normal).length();
        let is_on_surface = tangential >= (1.0 - SLIP_TOLERANCE) * self.friction * normal;
        if sliding > SLIP_THRESHOLD && is_on_surface {
            ContactState::Slip
        } else {
            ContactState::Stick
        }
    }
}

/// Contacts with their stencils.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Contacts {
    contacts: Vec<Contact>,
    /// End of the stencil of each contact in `stencils`.
    ends: Vec<usize>,
    stencils: Vec<(u32, f64)>,
}

impl Contacts {
    /// No contacts.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a contact with its nodes and weights b: positive on the first body, negative on the
    /// second. Each node occurs once.
    pub fn push(&mut self, contact: Contact, stencil: impl IntoIterator<Item = (u32, f64)>) {
        self.contacts.push(contact);
        self.stencils.extend(stencil);
        self.ends.push(self.stencils.len());
    }

    /// Number of contacts.
    pub fn len(&self) -> usize {
        self.contacts.len()
    }

    /// Whether there are no contacts.
    pub fn is_empty(&self) -> bool {
        self.contacts.is_empty()
    }

    /// The nodes and weights of a contact.
    pub fn stencil(&self, contact: usize) -> &[(u32, f64)] {
        let start = if contact == 0 {
            0
        } else {
            self.ends[contact - 1]
        };
        &self.stencils[start..self.ends[contact]]
    }

    /// Number of entries of all stencils.
    pub fn stencil_nodes(&self) -> usize {
        self.stencils.len()
    }

    /// All contacts, without their stencils.
    pub fn iter(&self) -> std::slice::Iter<'_, Contact> {
        self.contacts.iter()
    }

    /// All contacts, mutable, without their stencils.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, Contact> {
        self.contacts.iter_mut()
    }

    /// The nodes of all stencils, each once, ascending.
    pub fn nodes(&self) -> Vec<u32> {
        let nodes = self.stencils.iter().map(|(node, _)| *node as usize + 1);
        let mut is_used = vec![false; nodes.max().unwrap_or(0)];
        for (node, _) in &self.stencils {
            is_used[*node as usize] = true;
        }
        let nodes = is_used.into_iter().enumerate();
        let used = nodes.filter(|(_, is_used)| *is_used);
        used.map(|(node, _)| node as u32).collect()
    }
}

impl Index<usize> for Contacts {
    type Output = Contact;

    fn index(&self, contact: usize) -> &Contact {
        &self.contacts[contact]
    }
}

impl<'a> IntoIterator for &'a Contacts {
    type Item = &'a Contact;
    type IntoIter = std::slice::Iter<'a, Contact>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
