//! Collects groups of vertices while a file is read.

use std::collections::BTreeMap;

use crate::mesh::Group;

/// Maximum number of groups of an element. It keeps the memory proportional to the size of a file.
pub(super) const MAX_GROUPS: usize = 16;

/// Groups by name, in the order of their first occurrence.
#[derive(Debug, Default)]
pub(super) struct GroupBuilder {
    numbers: BTreeMap<String, usize>,
    members: Vec<(String, Vec<u32>)>,
}

impl GroupBuilder {
    /// Index of the group of this name, which is added if it is new.
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
            .map(|(name, vertices)| Group::new(name, deduplicate(vertices)))
            .collect()
    }
}

/// Removes duplicates, if a table by vertex is small enough. A vertex occurs about six times, and
/// sorting all occurrences would take as long as reading them.
fn deduplicate(vertices: Vec<u32>) -> Vec<u32> {
    let largest = vertices.iter().max().map_or(0, |vertex| *vertex as usize);
    if vertices.len() < largest / 8 {
        return vertices;
    }
    let mut is_member = vec![false; largest + 1];
    for vertex in vertices {
        is_member[vertex as usize] = true;
    }
    let marked = (0u32..).zip(is_member).filter(|(_, is_member)| *is_member);
    marked.map(|(vertex, _)| vertex).collect()
}
