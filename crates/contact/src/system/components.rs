//! What moves by itself: bodies, and single rods of a batch, as far as no coupling joins them.

use super::{Matrix, System};

/// Disjoint sets of numbers, joined step by step.
#[derive(Clone, Debug)]
pub struct Sets {
    parents: Vec<u32>,
}

impl Sets {
    /// Every number below `count` is a set by itself.
    pub fn new(count: usize) -> Self {
        Self {
            parents: (0..count as u32).collect(),
        }
    }

    /// The smallest number of the set of a number.
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

    /// Makes the sets of two numbers one.
    pub fn join(&mut self, one: u32, other: u32) {
        let (one, other) = (self.find(one), self.find(other));
        self.parents[one.max(other) as usize] = one.min(other);
    }

    /// The set of every number, counted from 0 by the smallest of each, and how many sets there are.
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
    /// The body, or the rod of a batch, of every node, all counted from 0 by ascending offset, and how many there are.
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

    /// The component of every node, and how many components there are. A component is a body, or a rod of a batch, with all
    /// that couplings join to it: A⁻¹ has nothing between two of them.
    pub fn components(&self) -> (Vec<u32>, usize) {
        let (parts, count) = self.parts_of_nodes();
        let mut sets = Sets::new(count);
        for coupling in &self.couplings {
            for pair in coupling.nodes.windows(2) {
                sets.join(parts[pair[0].0 as usize], parts[pair[1].0 as usize]);
            }
        }
        let (numbers, count) = sets.numbered();
        let of_part = |part: u32| numbers[part as usize];
        (parts.into_iter().map(of_part).collect(), count)
    }
}
