//! Indices of the unknowns of nodes and edges in flat vectors.

use glam::DVec3;
use rayon::prelude::*;

use super::{Body, Elements};
use crate::energy::CHUNK;

/// Layout of flat vectors. In rods, the twist of each edge is between the nodes that it joins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unknowns {
    /// Index of the first of the three unknowns of each node.
    pub node_offset: Vec<usize>,
    /// Index of the twist of each rod edge.
    pub edge_offset: Vec<usize>,
    /// Number of unknowns.
    pub count: usize,
}

impl Unknowns {
    /// Layout for bodies sorted by nodes. Also sets the `dofs` of these bodies.
    pub(crate) fn of(bodies: &mut [Body]) -> Unknowns {
        let mut unknowns = Unknowns::default();
        for body in bodies {
            let first = unknowns.count;
            match &body.elements {
                Elements::Blocks(_) => {
                    let offsets = (0..body.nodes.len()).map(|node| first + 3 * node);
                    unknowns.node_offset.extend(offsets);
                    unknowns.count += 3 * body.nodes.len();
                }
                Elements::Rods(rods) => {
                    let shape = rods.batch.shape();
                    for rod in 0..shape.count {
                        let first = first + rod * shape.unknowns();
                        let nodes = (0..shape.vertices).map(|vertex| first + 4 * vertex);
                        unknowns.node_offset.extend(nodes);
                        let twists = (0..shape.edges()).map(|edge| first + 4 * edge + 3);
                        unknowns.edge_offset.extend(twists);
                    }
                    unknowns.count += shape.count * shape.unknowns();
                }
            }
            body.dofs = first..unknowns.count;
        }
        unknowns
    }

    /// Flat vector of values at nodes and edges.
    #[must_use]
    pub fn join(&self, nodes: &[DVec3], edges: &[f64]) -> Vec<f64> {
        let mut flat = vec![0.0; self.count];
        for (offset, value) in self.node_offset.iter().zip(nodes) {
            value.write_to_slice(&mut flat[*offset..]);
        }
        for (offset, value) in self.edge_offset.iter().zip(edges) {
            flat[*offset] = *value;
        }
        flat
    }

    /// Whether a node is free along at least one axis, given whether each unknown is held.
    #[must_use]
    pub fn is_free(&self, node: usize, is_held: &[bool]) -> bool {
        let offset = self.node_offset[node];
        is_held[offset..offset + 3].contains(&false)
    }

    /// Value at a node.
    #[must_use]
    pub fn at_node(&self, flat: &[f64], node: usize) -> DVec3 {
        DVec3::from_slice(&flat[self.node_offset[node]..])
    }

    /// Values at all nodes.
    #[must_use]
    pub fn nodes(&self, flat: &[f64]) -> Vec<DVec3> {
        let offsets = self.node_offset.par_iter().with_min_len(CHUNK);
        offsets
            .map(|offset| DVec3::from_slice(&flat[*offset..]))
            .collect()
    }

    /// Values at all edges.
    #[must_use]
    pub fn edges(&self, flat: &[f64]) -> Vec<f64> {
        let offsets = self.edge_offset.par_iter().with_min_len(CHUNK);
        offsets.map(|offset| flat[*offset]).collect()
    }

    /// Largest length of a nodal vector.
    #[must_use]
    pub fn largest_at_nodes(&self, flat: &[f64]) -> f64 {
        // Not `max`, which ignores NaN.
        let larger = |most: f64, length: f64| if length <= most { most } else { length };
        let of_chunk = |offsets: &[usize]| {
            let lengths = offsets
                .iter()
                .map(|offset| DVec3::from_slice(&flat[*offset..]).length());
            lengths.fold(0.0, larger)
        };
        let largest: Vec<f64> = self.node_offset.par_chunks(CHUNK).map(of_chunk).collect();
        largest.into_iter().fold(0.0, larger)
    }
}
