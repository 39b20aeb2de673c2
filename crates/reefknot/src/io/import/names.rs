//! Groups that grow while a file is read.

use std::collections::BTreeMap;

use crate::mesh::Group;

/// One element belongs to this many groups at most, so that a file cannot ask for memory in
/// proportion to its size squared.
pub(super) const MOST_GROUPS: usize = 16;

/// Groups by name, in the order in which the names came.
#[derive(Debug, Default)]
pub(super) struct Names {
    numbers: BTreeMap<String, usize>,
    members: Vec<(String, Vec<u32>)>,
}

impl Names {
    /// The number of the group of this name.
    pub(super) fn number(&mut self, name: &str) -> usize {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = self.members.len();
        self.numbers.insert(name.to_owned(), number);
        self.members.push((name.to_owned(), Vec::new()));
        number
    }

    /// Adds vertices to a group.
    pub(super) fn add(&mut self, number: usize, vertices: &[u32]) {
        if let Some((_, members)) = self.members.get_mut(number) {
            members.extend_from_slice(vertices);
        }
    }

    /// The groups that have vertices.
    pub(super) fn into_groups(self) -> Vec<Group> {
        let members = self.members.into_iter();
        members
            .filter(|(_, vertices)| !vertices.is_empty())
            .map(|(name, vertices)| Group::new(name, once(vertices)))
            .collect()
    }
}

/// Each vertex once. Elements name a vertex some six times, and sorting all that would take as long as
/// reading it.
fn once(vertices: Vec<u32>) -> Vec<u32> {
    let largest = vertices.iter().max().map_or(0, |vertex| *vertex as usize);
    if vertices.len() < largest / 8 {
        return vertices;
    }
    let mut is_there = vec![false; largest + 1];
    for vertex in vertices {
        is_there[vertex as usize] = true;
    }
    let marked = (0u32..).zip(is_there).filter(|(_, is_there)| *is_there);
    marked.map(|(vertex, _)| vertex).collect()
}
