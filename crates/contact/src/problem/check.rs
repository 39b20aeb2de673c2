//! Validation of a problem before a solve.

use super::NodalProblem;

/// Why a problem is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProblemError {
    /// The length of a vector does not match the matrix.
    #[error("{vector} has {found} entries, but the problem needs {expected}")]
    Size {
        /// Name of the vector.
        vector: &'static str,
        /// Its length.
        found: usize,
        /// Required length.
        expected: usize,
    },
    /// The time step is not positive and finite.
    #[error("the time step must be positive and finite")]
    Step,
    /// A value of a node or a degree of freedom is invalid.
    #[error("{quantity} {index} must be {condition}")]
    Value {
        /// Name of the value, and of the item that it belongs to.
        quantity: &'static str,
        /// Index of the node, degree of freedom or lever arm.
        index: usize,
        /// Condition on the value.
        condition: &'static str,
    },
    /// A value of a contact is invalid.
    #[error("contact {contact} (id {id}): {quantity} must be {condition}")]
    Contact {
        /// Index of the contact.
        contact: usize,
        /// Id of the contact.
        id: u64,
        /// Name of the value.
        quantity: &'static str,
        /// Condition on the value.
        condition: &'static str,
    },
    /// Two contacts have the same id.
    #[error("two contacts have the id {id}")]
    SameId {
        /// The common id.
        id: u64,
    },
}

impl NodalProblem {
    /// Checks sizes, signs and finiteness. The matrix is checked by its factorization.
    ///
    /// # Errors
    /// For the first invalid size or value.
    pub fn check(&self) -> Result<(), ProblemError> {
        let (nodes, dofs) = (self.system.node_offset.len(), self.system.dofs());
        let sizes = [
            ("force", self.force.len(), dofs),
            ("masses", self.masses.len(), nodes),
            ("mobilities", self.mobilities.len(), nodes),
        ];
        for (vector, found, expected) in sizes {
            let is_omitted = vector == "mobilities" && found == 0;
            if found != expected && !is_omitted {
                return Err(ProblemError::Size {
                    vector,
                    found,
                    expected,
                });
            }
        }
        if !(self.step > 0.0 && self.step.is_finite()) {
            return Err(ProblemError::Step);
        }
        self.check_values(dofs)?;
        self.check_contacts(nodes)
    }

    fn check_values(&self, dofs: usize) -> Result<(), ProblemError> {
        let invalid = |quantity, index, condition| {
            Err(ProblemError::Value {
                quantity,
                index,
                condition,
            })
        };
        if let Some(dof) = self.force.iter().position(|f| !f.is_finite()) {
            return invalid("force at degree of freedom", dof, "finite");
        }
        let is_mass = |m: &f64| *m > 0.0 && m.is_finite();
        if let Some(node) = self.masses.iter().position(|m| !is_mass(m)) {
            return invalid("mass of node", node, "positive and finite");
        }
        let is_mobility = |m: &f64| *m >= 0.0 && m.is_finite();
        if let Some(node) = self.mobilities.iter().position(|m| !is_mobility(m)) {
            return invalid("mobility of node", node, "finite and not negative");
        }
        let is_bad_offset = |offset: &usize| offset.checked_add(3).is_none_or(|end| end > dofs);
        if let Some(node) = self.system.node_offset.iter().position(is_bad_offset) {
            return invalid("offset of node", node, "inside the system");
        }
        let is_bad_arm = |(dof, arm): &(usize, f64)| *dof >= dofs || !arm.is_finite();
        if let Some(index) = self.lever_arms.iter().position(is_bad_arm) {
            return invalid("lever arm", index, "finite and at a degree of freedom");
        }
        Ok(())
    }

    fn check_contacts(&self, nodes: usize) -> Result<(), ProblemError> {
        for contact in 0..self.contacts.len() {
            self.check_contact(contact, nodes)?;
        }
        let mut ids: Vec<u64> = self.contacts.iter().map(|contact| contact.id).collect();
        ids.sort_unstable();
        match ids.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(ProblemError::SameId { id: pair[0] }),
            None => Ok(()),
        }
    }

    fn check_contact(&self, index: usize, nodes: usize) -> Result<(), ProblemError> {
        const NOT_NEGATIVE: &str = "finite and not negative";
        let (contact, stencil) = (&self.contacts[index], self.contacts.stencil(index));
        let is_amount = |number: f64| number >= 0.0 && number.is_finite();
        let is_unit = (contact.normal.length_squared() - 1.0).abs() < 1e-6;
        let is_node = |(node, weight): &(u32, f64)| (*node as usize) < nodes && weight.is_finite();
        let is_repeated = |entry: usize| {
            let before = &stencil[..entry];
            before.iter().any(|(node, _)| *node == stencil[entry].0)
        };
        let has_weight = stencil.iter().any(|(_, weight)| *weight != 0.0);
        let conditions = [
            (is_unit, "normal", "a unit vector"),
            (contact.kinematic.is_finite(), "kinematic term", "finite"),
            (
                is_amount(contact.friction),
                "coefficient of friction",
                NOT_NEGATIVE,
            ),
            (is_amount(contact.cohesion), "cohesion", NOT_NEGATIVE),
            (is_amount(contact.compliance), "compliance", NOT_NEGATIVE),
            (
                stencil.iter().all(is_node),
                "stencil",
                "of nodes of the problem, with finite weights",
            ),
            (
                !(0..stencil.len()).any(is_repeated),
                "stencil",
                "of different nodes",
            ),
            (
                has_weight,
                "stencil",
                "of at least one node with a nonzero weight",
            ),
        ];
        match conditions.into_iter().find(|(holds, _, _)| !holds) {
            Some((_, quantity, condition)) => Err(ProblemError::Contact {
                contact: index,
                id: contact.id,
                quantity,
                condition,
            }),
            None => Ok(()),
        }
    }
}
