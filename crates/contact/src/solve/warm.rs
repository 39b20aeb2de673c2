//! What a solver starts from: velocities, and what was remembered of each contact.

use glam::DVec3;

use super::Refined;
use crate::problem::{NodalProblem, Solution};

/// What a contact does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ContactState {
    /// It carries nothing.
    #[default]
    Open = 0,
    /// It holds.
    Stick = 1,
    /// It slides.
    Slip = 2,
}

impl ContactState {
    /// From the number that files have for it.
    pub fn from_number(number: u8) -> Option<Self> {
        [Self::Open, Self::Stick, Self::Slip]
            .into_iter()
            .find(|state| *state as u8 == number)
    }
}

/// What is remembered of a contact: from step to step as forces (N), in the warm start of a solve
/// as impulses (N s).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ContactMemory {
    /// The contact.
    pub id: u64,
    /// r, in world axes, on the first body of the pair.
    pub reaction: DVec3,
    /// The mean of r over the last iterations, of solvers that take one; else 0.
    pub average: DVec3,
    /// Whether it stuck or slipped.
    pub state: ContactState,
}

impl ContactMemory {
    /// With reactions times a factor: a time makes impulses of forces.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        Self {
            reaction: self.reaction * factor,
            average: self.average * factor,
            ..self
        }
    }
}

/// Where a solver begins: what the step before ended with.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WarmStart {
    /// v (m/s), flat; zero if empty.
    pub velocities: Vec<f64>,
    /// Contacts by ascending id, with impulses (N s). Others begin without any.
    pub contacts: Vec<ContactMemory>,
}

impl WarmStart {
    /// From an answer to a problem.
    pub fn from_solution(problem: &NodalProblem, solution: Solution) -> Self {
        let ids = problem.contacts.iter().map(|contact| contact.id);
        let memory = ids.zip(&solution.impulses).enumerate();
        let memory = memory.map(|(place, (id, impulse))| ContactMemory {
            id,
            reaction: *impulse,
            average: solution.averages.get(place).copied().unwrap_or_default(),
            state: solution.states.get(place).copied().unwrap_or_default(),
        });
        let mut contacts: Vec<ContactMemory> = memory.collect();
        contacts.sort_by_key(|contact| contact.id);
        Self {
            velocities: solution.velocities,
            contacts,
        }
    }

    /// The answer that it is to a problem; contacts of which nothing is known are open.
    pub fn to_solution(&self, problem: &NodalProblem) -> Solution {
        let known = |id: u64| self.contact(id).copied().unwrap_or_default();
        let contacts = problem.contacts.iter().map(|contact| known(contact.id));
        let contacts: Vec<ContactMemory> = contacts.collect();
        Solution {
            velocities: self.velocities.clone(),
            impulses: contacts.iter().map(|known| known.reaction).collect(),
            averages: contacts.iter().map(|known| known.average).collect(),
            states: contacts.iter().map(|known| known.state).collect(),
        }
    }

    /// What is known of a contact; nothing if it is new.
    pub fn contact(&self, id: u64) -> Option<&ContactMemory> {
        let place = self.contacts.binary_search_by_key(&id, |known| known.id);
        place.ok().map(|place| &self.contacts[place])
    }

    /// r of every contact of a problem (N s).
    pub fn impulses_of(&self, problem: &NodalProblem) -> Vec<DVec3> {
        let impulse = |id: u64| self.contact(id).map_or(DVec3::ZERO, |known| known.reaction);
        let contacts = problem.contacts.iter();
        contacts.map(|contact| impulse(contact.id)).collect()
    }

    /// The same for a problem that was refined: contacts that go on under another id keep what is
    /// known of them.
    #[must_use]
    pub fn refined(mut self, refined: &Refined) -> Self {
        if refined.renamed.is_empty() {
            return self;
        }
        let mut renamed = Vec::new();
        for (from, to) in &refined.renamed {
            renamed.extend(
                self.contact(*from)
                    .map(|known| ContactMemory { id: *to, ..*known }),
            );
        }
        let is_replaced = |id: u64| {
            let ids = refined.renamed.iter();
            ids.clone().any(|(from, to)| *from == id || *to == id)
        };
        self.contacts.retain(|known| !is_replaced(known.id));
        self.contacts.extend(renamed);
        self.contacts.sort_by_key(|known| known.id);
        self
    }
}

#[cfg(test)]
mod tests;
