//! What must hold of a problem before a solver gets it.

use super::NodalProblem;

/// What is wrong with a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProblemError {
    /// Vectors and matrix do not fit together.
    #[error("{what} has {found} entries, but the problem needs {wanted}")]
    Size {
        /// Which vector.
        what: &'static str,
        /// Its length.
        found: usize,
        /// What it should be.
        wanted: usize,
    },
    /// The time step is not positive and finite.
    #[error("the time step must be positive and finite")]
    Step,
    /// A number of a node or a degree of freedom is not what it must be.
    #[error("{what} of {place} must be {wanted}")]
    Value {
        /// Which vector.
        what: &'static str,
        /// Node or degree of freedom.
        place: usize,
        /// The condition.
        wanted: &'static str,
    },
    /// A number of a contact is not what it must be.
    #[error("contact {contact} (id {id}): {what} must be {wanted}")]
    Contact {
        /// Its index.
        contact: usize,
        /// Its id.
        id: u64,
        /// Which number.
        what: &'static str,
        /// The condition.
        wanted: &'static str,
    },
    /// Two contacts have the same id.
    #[error("two contacts have the id {id}")]
    SameId {
        /// The id.
        id: u64,
    },
}

impl NodalProblem {
    /// Checks sizes, signs and finiteness; not the matrix, which its factorization checks.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn check(&self) -> Result<(), ProblemError> {
        let (nodes, dofs) = (self.system.node_offset.len(), self.system.dofs());
        let sizes = [
            ("force", self.force.len(), dofs),
            ("masses", self.masses.len(), nodes),
            ("mobilities", self.mobilities.len(), nodes),
        ];
        for (what, found, wanted) in sizes {
            let is_left_out = what == "mobilities" && found == 0;
            if found != wanted && !is_left_out {
                return Err(ProblemError::Size {
                    what,
                    found,
                    wanted,
                });
            }
        }
        if !(self.step > 0.0 && self.step.is_finite()) {
            return Err(ProblemError::Step);
        }
        let value = |what, place, wanted| {
            Err(ProblemError::Value {
                what,
                place,
                wanted,
            })
        };
        if let Some(dof) = self.force.iter().position(|f| !f.is_finite()) {
            return value("force", dof, "finite");
        }
        let is_mass = |m: &f64| *m > 0.0 && m.is_finite();
        if let Some(node) = self.masses.iter().position(|m| !is_mass(m)) {
            return value("mass", node, "positive and finite");
        }
        let is_mobility = |m: &f64| *m >= 0.0 && m.is_finite();
        if let Some(node) = self.mobilities.iter().position(|m| !is_mobility(m)) {
            return value("mobility", node, "finite and not negative");
        }
        let is_bad_offset = |offset: &usize| offset.checked_add(3).is_none_or(|end| end > dofs);
        if let Some(node) = self.system.node_offset.iter().position(is_bad_offset) {
            return value("offset", node, "inside of the system");
        }
        let is_bad_arm = |(dof, arm): &(usize, f64)| *dof >= dofs || !arm.is_finite();
        if let Some(place) = self.arms.iter().position(is_bad_arm) {
            return value("arm", place, "finite and at a degree of freedom");
        }
        self.check_contacts(nodes)
    }

    fn check_contacts(&self, nodes: usize) -> Result<(), ProblemError> {
        for (index, contact) in self.contacts.iter().enumerate() {
            let stencil = self.contacts.stencil(index);
            let amount = |number: f64| number >= 0.0 && number.is_finite();
            let unit = (contact.normal.length_squared() - 1.0).abs() < 1e-6;
            let is_node =
                |(node, weight): &(u32, f64)| (*node as usize) < nodes && weight.is_finite();
            let repeats = |place: usize| {
                stencil[..place]
                    .iter()
                    .any(|(node, _)| *node == stencil[place].0)
            };
            let conditions = [
                (unit, "normal", "a unit vector"),
                (contact.kinematic.is_finite(), "kinematic term", "finite"),
                (
                    amount(contact.friction),
                    "coefficient of friction",
                    "finite and not negative",
                ),
                (
                    amount(contact.cohesion),
                    "cohesion",
                    "finite and not negative",
                ),
                (
                    amount(contact.compliance),
                    "compliance",
                    "finite and not negative",
                ),
                (
                    stencil.iter().all(is_node),
                    "stencil",
                    "of nodes of the problem, with finite weights",
                ),
                (
                    !(0..stencil.len()).any(repeats),
                    "stencil",
                    "of different nodes",
                ),
                (
                    stencil.iter().any(|(_, weight)| *weight != 0.0),
                    "stencil",
                    "of at least one node with a weight",
                ),
            ];
            if let Some((_, what, wanted)) = conditions.into_iter().find(|(holds, _, _)| !holds) {
                return Err(ProblemError::Contact {
                    contact: index,
                    id: contact.id,
                    what,
                    wanted,
                });
            }
        }
        let mut ids: Vec<u64> = self.contacts.iter().map(|contact| contact.id).collect();
        ids.sort_unstable();
        match ids.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(ProblemError::SameId { id: pair[0] }),
            None => Ok(()),
        }
    }
}
