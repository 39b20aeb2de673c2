//! The warm start of a solver: velocities, and the impulse and state of each contact.

use glam::DVec3;

use super::{NodalProblem, Solution};

/// State of a contact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ContactState {
    /// The impulse is zero.
    #[default]
    Open = 0,
    /// The tangential velocity is zero.
    Stick = 1,
    /// The contact slides.
    Slip = 2,
}

impl ContactState {
    /// The state with a number, as in files.
    pub fn from_number(number: u8) -> Option<Self> {
        [Self::Open, Self::Stick, Self::Slip]
            .into_iter()
            .find(|state| *state as u8 == number)
    }
}

/// Reaction and state of a contact, kept from step to step as forces (N), and in the warm start of
/// a solve as impulses (N s).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ContactMemory {
    /// Id of the contact.
    pub id: u64,
    /// r, in world axes, on the first body of the pair.
    pub reaction: DVec3,
    /// Mean of r over the last iterations; 0 for solvers without it.
    pub average: DVec3,
    /// State.
    pub state: ContactState,
}

impl ContactMemory {
    /// The memory with reactions multiplied by a factor, such as h from forces to impulses.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        Self {
            reaction: self.reaction * factor,
            average: self.average * factor,
            ..self
        }
    }
}

/// Start of a solver: the end of the previous step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WarmStart {
    /// v (m/s), flat; zero if empty.
    pub velocities: Vec<f64>,
    /// Contacts by ascending id, with impulses (N s). Other contacts start with zero impulse.
    pub contacts: Vec<ContactMemory>,
}

impl WarmStart {
    /// The warm start at a solution of a problem.
    pub fn from_solution(problem: &NodalProblem, solution: Solution) -> Self {
        let ids = problem.contacts.iter().map(|contact| contact.id);
        let memory = ids.zip(&solution.impulses).enumerate();
        let memory = memory.map(|(contact, (id, impulse))| ContactMemory {
            id,
            reaction: *impulse,
            average: solution.averages.get(contact).copied().unwrap_or_default(),
            state: solution.states.get(contact).copied().unwrap_or_default(),
        });
        let mut contacts: Vec<ContactMemory> = memory.collect();
        contacts.sort_by_key(|contact| contact.id);
        Self {
            velocities: solution.velocities,
            contacts,
        }
    }

    /// The solution of a problem with these velocities and impulses; unknown contacts are open.
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

    /// The memory of a contact; `None` if the contact is new.
    pub fn contact(&self, id: u64) -> Option<&ContactMemory> {
        let index = self.contacts.binary_search_by_key(&id, |known| known.id);
        index.ok().map(|index| &self.contacts[index])
    }

    /// r of every contact of a problem (N s).
    pub fn impulses_of(&self, problem: &NodalProblem) -> Vec<DVec3> {
        let impulse = |id: u64| self.contact(id).map_or(DVec3::ZERO, |known| known.reaction);
        let contacts = problem.contacts.iter();
        contacts.map(|contact| impulse(contact.id)).collect()
    }

    /// The warm start with new ids of contacts, given as (old, new): a contact keeps its memory
    /// under its new id.
    #[must_use]
    pub fn rename_contacts(mut self, ids: &[(u64, u64)]) -> Self {
        if ids.is_empty() {
            return self;
        }
        let mut renamed = Vec::new();
        for (from, to) in ids {
            renamed.extend(
                self.contact(*from)
                    .map(|known| ContactMemory { id: *to, ..*known }),
            );
        }
        let is_replaced = |id: u64| ids.iter().any(|(from, to)| *from == id || *to == id);
        self.contacts.retain(|known| !is_replaced(known.id));
        self.contacts.extend(renamed);
        self.contacts.sort_by_key(|known| known.id);
        self
    }
}

#[cfg(test)]
mod tests;
