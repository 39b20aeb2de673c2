//! Contacts and their stencils, in two flat lists.

use std::ops::Index;

use glam::DVec3;

/// Where two things touch, or may.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Contact {
    /// The same for the same features from step to step; no two contacts share it.
    pub id: u64,
    /// Unit normal, from the second body to the first.
    pub normal: DVec3,
    /// k: the relative velocity that is there without any v (m/s), such as gap/h along the normal.
    pub kinematic: DVec3,
    /// μ.
    pub friction: f64,
    /// ξ (N): how hard the two can be pulled before they come apart.
    pub cohesion: f64,
    /// κ (m/N), along the normal.
    pub compliance: f64,
}

/// Contacts with the nodes that take part in each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Contacts {
    contacts: Vec<Contact>,
    ends: Vec<usize>,
    stencils: Vec<(u32, f64)>,
}

impl Contacts {
    /// No contacts.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a contact with its nodes and weights b: positive on the first body, negative on the second. Each node once.
    pub fn push(&mut self, contact: Contact, stencil: impl IntoIterator<Item = (u32, f64)>) {
        self.contacts.push(contact);
        self.stencils.extend(stencil);
        self.ends.push(self.stencils.len());
    }

    /// Number of contacts.
    pub fn len(&self) -> usize {
        self.contacts.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.contacts.is_empty()
    }

    /// The nodes and weights of a contact.
    pub fn stencil(&self, contact: usize) -> &[(u32, f64)] {
        let start = match contact {
            0 => 0,
            _ => self.ends[contact - 1],
        };
        &self.stencils[start..self.ends[contact]]
    }

    /// Number of nodes in all stencils.
    pub fn stencil_nodes(&self) -> usize {
        self.stencils.len()
    }

    /// All contacts, without their nodes.
    pub fn iter(&self) -> std::slice::Iter<'_, Contact> {
        self.contacts.iter()
    }

    /// All contacts, to change them; their nodes stay.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, Contact> {
        self.contacts.iter_mut()
    }

    /// The nodes that take part in a contact, each once, ascending.
    pub fn touched(&self) -> Vec<u32> {
        let nodes = self.stencils.iter().map(|(node, _)| *node as usize + 1);
        let mut is_touched = vec![false; nodes.max().unwrap_or(0)];
        for (node, _) in &self.stencils {
            is_touched[*node as usize] = true;
        }
        let nodes = is_touched.into_iter().enumerate();
        let touched = nodes.filter(|(_, is_touched)| *is_touched);
        touched.map(|(node, _)| node as u32).collect()
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
