//! The adjacency graph of a block pattern.

use crate::block_sparse::BlockPattern;

/// Neighbours of every node, in both directions and without the node itself.
pub(super) struct Graph {
    starts: Vec<usize>,
    neighbours: Vec<u32>,
}

impl Graph {
    pub(super) fn new(pattern: &BlockPattern) -> Self {
        let nodes = pattern.nodes();
        let edges = || {
            let column = |j: usize| {
                let range = pattern.column(j);
                let rows = &pattern.rows()[range.start + 1..range.end];
                rows.iter().map(move |&i| (i as usize, j))
            };
            (0..nodes).flat_map(column)
        };
        let mut starts = vec![0; nodes + 1];
        for (i, j) in edges() {
            starts[i + 1] += 1;
            starts[j + 1] += 1;
        }
        for i in 0..nodes {
            starts[i + 1] += starts[i];
        }
        let mut fill = starts.clone();
        let mut neighbours = vec![0; starts[nodes]];
        for (i, j) in edges() {
            neighbours[fill[i]] = j as u32;
            neighbours[fill[j]] = i as u32;
            fill[i] += 1;
            fill[j] += 1;
        }
        Self { starts, neighbours }
    }

    /// Neighbours of a node.
    pub(super) fn neighbours(&self, node: u32) -> &[u32] {
        &self.neighbours[self.starts[node as usize]..self.starts[node as usize + 1]]
    }
}
