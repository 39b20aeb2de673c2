//! Connected components of A: bodies and single rods of a batch, joined by couplings.

use super::{Matrix, System};

/// Union-find over the numbers 0, 1, ….
#[derive(Clone, Debug)]
pub struct DisjointSets {
    parents: Vec<u32>,
}

impl DisjointSets {
    /// One set for each number below `count`.
    pub fn new(count: usize) -> Self {
        Self {
            parents: (0..count as u32).collect(),
        }
    }

    /// Smallest number in the set of a number.
    pub fn find(&mut self, number: u32) -> u32 {
        let mut root = number;
        while self.parents[root as usize] != root {
            root = self.parents[root as usize];
        }
        let mut next = number;
        while next != root {
            next = std::mem::replace(&mut self.parents[next as usize], root);
        }
        root
    }

    /// Joins the sets of two numbers.
    pub fn join(&mut self, one: u32, other: u32) {
        let (one, other) = (self.find(one), self.find(other));
        self.parents[one.max(other) as usize] = one.min(other);
    }

    /// Index of the set of every number, and the number of sets. Sets are sorted by their smallest
    /// number.
    pub fn numbered(&mut self) -> (Vec<u32>, usize) {
        let mut numbers = vec![0; self.parents.len()];
        let mut count = 0;
        for number in 0..self.parents.len() {
            let root = self.find(number as u32) as usize;
            if root == number {
                numbers[number] = count;
                count += 1;
            } else {
                numbers[number] = numbers[root];
            }
        }
        (numbers, count as usize)
    }
}

impl System {
    /// Index of the part of every node, and the number of parts. A part is a sparse body or one rod
    /// of a batch; parts are sorted by offset.
    pub(super) fn parts_of_nodes(&self) -> (Vec<u32>, usize) {
        let count = |matrix: &Matrix| match matrix {
            Matrix::Blocks(_) => 1,
            Matrix::Rods(batch) => batch.count() as u32,
        };
        let mut firsts = vec![0];
        for body in &self.bodies {
            firsts.push(firsts[firsts.len() - 1] + count(&body.matrix));
        }
        let part = |offset: &usize| {
            let index = self.body_of(*offset);
            let body = &self.bodies[index];
            let within = match &body.matrix {
                Matrix::Blocks(_) => 0,
                Matrix::Rods(batch) => (offset - body.offset) / batch.layout().size().max(1),
            };
            firsts[index] + within as u32
        };
        let parts = self.node_offset.iter().map(part).collect();
        (parts, firsts[firsts.len() - 1] as usize)
    }

    /// Component of every node, and the number of components. A component consists of the bodies
    /// and rods that couplings join; A⁻¹ has no entries between two components.
    pub fn components(&self) -> (Vec<u32>, usize) {
        let (parts, count) = self.parts_of_nodes();
        let mut sets = DisjointSets::new(count);
        for coupling in &self.couplings {
            for pair in coupling.nodes.windows(2) {
                sets.join(parts[pair[0].0 as usize], parts[pair[1].0 as usize]);
            }
        }
        let (numbers, count) = sets.numbered();
        let component = |part: u32| numbers[part as usize];
        (parts.into_iter().map(component).collect(), count)
    }
}
