//! The linear system `A v = f`, stored body by body.
//!
//! The matrix of a body is sparse with 3×3 blocks, or a batch of banded rods. Only couplings (ties)
//! have entries between bodies, so products and factorizations run over bodies in parallel. A body
//! that is tied to one other body is eliminated exactly. Other couplings are solved by conjugate
//! gradients with the factors as preconditioner (Daviet 2020, 6.2.5). Contacts find velocities
//! through [`System::node_offset`] only; the other unknowns of a body (twists of rods) are private
//! to it.

mod body_factor;
mod components;
mod elimination;
mod entries;
mod factor;
mod factor_cache;
mod iterative;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::Arc;

use glam::{DMat3, DVec3};
use rayon::prelude::*;

use crate::banded::BandedBatch;
use crate::block_sparse::BlockSparse;
use crate::parallel::split_by_lengths;

pub use body_factor::{BodyFactor, SystemFactorError};
pub use components::DisjointSets;
pub use factor::SystemFactor;
pub use factor_cache::{FactorCache, FactorPlan};
pub use iterative::IterativeSolution;

/// The matrix A of the system. Vectors are flat: one `f64` per degree of freedom.
#[derive(Clone, Debug, Default)]
pub struct System {
    /// First degree of freedom of each node; its three velocity components are consecutive.
    pub node_offset: Vec<usize>,
    /// Diagonal blocks of A, by ascending offset and without gaps.
    pub bodies: Vec<SystemBody>,
    /// Blocks between nodes in addition to the matrices of the bodies.
    couplings: Vec<Coupling>,
    /// Whether the diagonal blocks of couplings are part of the body matrices, so that the
    /// preconditioner contains them.
    is_merged: bool,
    /// Whether each degree of freedom is held; empty if none is.
    is_held: Vec<bool>,
}

/// A diagonal block of A, coupled to others by ties only.
#[derive(Clone, Debug)]
pub struct SystemBody {
    /// First degree of freedom.
    pub offset: usize,
    /// Matrix of the body.
    pub matrix: Matrix,
}

impl SystemBody {
    /// Degrees of freedom of the body.
    pub fn dofs(&self) -> Range<usize> {
        self.offset..self.offset + self.matrix.dofs()
    }
}

/// Weights of nodes, sorted by the first degree of freedom of the node.
#[derive(Clone, Copy, Debug)]
pub struct NodeWeights<'a> {
    /// First degree of freedom of each node, ascending.
    pub offsets: &'a [usize],
    /// Weight of each node (kg).
    pub weights: &'a [f64],
}

impl<'a> NodeWeights<'a> {
    /// Offsets and weights of the nodes that start within a range of degrees of freedom.
    fn within(self, dofs: Range<usize>) -> impl Iterator<Item = (usize, f64)> + use<'a> {
        let begin = self.offsets.partition_point(|offset| *offset < dofs.start);
        let count = self.offsets[begin..].partition_point(|offset| *offset < dofs.end);
        let places = begin..begin + count;
        places.map(move |place| (self.offsets[place], self.weights[place]))
    }
}

/// Matrix of a body.
#[derive(Clone, Debug)]
pub enum Matrix {
    /// Sparse matrix of 3×3 blocks.
    Blocks(BlockSparse),
    /// Banded matrices of rods with the same number of vertices.
    Rods(BandedBatch),
}

/// A term bᵢ bⱼ S in the block of every pair of nodes (i, j): the Hessian of a tie.
#[derive(Clone, Debug, PartialEq)]
pub struct Coupling {
    /// Distinct nodes and their weights b.
    pub nodes: Vec<(u32, f64)>,
    /// S, symmetric and positive semidefinite (kg).
    pub block: DMat3,
}

impl Matrix {
    /// Number of degrees of freedom.
    pub fn dofs(&self) -> usize {
        match self {
            Matrix::Blocks(matrix) => 3 * matrix.pattern().nodes(),
            Matrix::Rods(batch) => batch.dofs(),
        }
    }

    /// Sets all entries to zero.
    pub fn clear(&mut self) {
        match self {
            Matrix::Blocks(matrix) => matrix.values.fill(DMat3::ZERO),
            Matrix::Rods(batch) => batch.clear(),
        }
    }

    /// Copies the entries of a matrix of the same kind and pattern.
    pub fn copy_from(&mut self, other: &Matrix) {
        match (self, other) {
            (Matrix::Blocks(to), Matrix::Blocks(from)) => to.values.copy_from_slice(&from.values),
            (Matrix::Rods(to), Matrix::Rods(from)) => to.copy_from(from),
            (to, from) => *to = from.clone(),
        }
    }

    /// `y = A x`.
    pub fn multiply(&self, x: &[f64], y: &mut [f64]) {
        match self {
            Matrix::Blocks(matrix) => matrix.multiply(x, y),
            Matrix::Rods(batch) => batch.multiply(x, y),
        }
    }

    /// Replaces the rows and columns of held degrees of freedom by those of the identity.
    fn isolate(&mut self, is_held: &[bool]) {
        if !is_held.contains(&true) {
            return;
        }
        match self {
            Matrix::Blocks(matrix) => matrix.isolate(is_held, 1.0),
            Matrix::Rods(batch) => batch.isolate(is_held, 1.0),
        }
    }

    /// Adds a vector to the diagonal.
    pub fn add_diagonal(&mut self, diagonal: &[f64]) {
        match self {
            Matrix::Blocks(matrix) => {
                let pattern = matrix.pattern().clone();
                for (node, entries) in diagonal.chunks_exact(3).enumerate() {
                    let slot = pattern.column(node).start;
                    matrix.values[slot] += DMat3::from_diagonal(DVec3::from_slice(entries));
                }
            }
            Matrix::Rods(batch) => batch.add_diagonal(diagonal),
        }
    }

    /// Diagonal block of the node whose first degree of freedom is `offset`.
    pub fn block(&self, offset: usize) -> DMat3 {
        match self {
            Matrix::Blocks(matrix) => matrix.values[matrix.pattern().column(offset / 3).start],
            Matrix::Rods(batch) => {
                let size = batch.layout().size();
                let (rod, first) = (offset / size, offset % size);
                let entry = |row: usize, column: usize| batch.get(rod, first + row, first + column);
                let column = |c: usize| DVec3::new(entry(0, c), entry(1, c), entry(2, c));
                DMat3::from_cols(column(0), column(1), column(2))
            }
        }
    }

    /// Adds a symmetric block to the diagonal block of the node at `offset`.
    pub fn add_block(&mut self, offset: usize, block: &DMat3) {
        match self {
            Matrix::Blocks(matrix) => {
                let slot = matrix.pattern().column(offset / 3).start;
                matrix.values[slot] += *block;
            }
            Matrix::Rods(batch) => {
                let size = batch.layout().size();
                let (rod, first) = (offset / size, offset % size);
                for row in 0..3 {
                    for column in 0..=row {
                        batch.add(rod, first + row, first + column, block.col(column)[row]);
                    }
                }
            }
        }
    }
}

impl System {
    /// System of consecutive bodies, without couplings. `node_offset` as in
    /// [`System::node_offset`].
    pub fn new(matrices: impl IntoIterator<Item = Matrix>, node_offset: Vec<usize>) -> Self {
        let mut offset = 0;
        let bodies = matrices.into_iter().map(|matrix| {
            let first = offset;
            offset += matrix.dofs();
            SystemBody {
                offset: first,
                matrix,
            }
        });
        let bodies = bodies.collect();
        Self {
            node_offset,
            bodies,
            couplings: Vec::new(),
            is_merged: false,
            is_held: Vec::new(),
        }
    }

    /// Restores the state of a stored system. Its matrices are those after [`System::hold`]; if
    /// `is_merged`, they contain the diagonal blocks of the couplings.
    #[must_use]
    pub fn restore(
        mut self,
        couplings: Vec<Coupling>,
        is_merged: bool,
        is_held: Vec<bool>,
    ) -> Self {
        (self.couplings, self.is_merged, self.is_held) = (couplings, is_merged, is_held);
        self
    }

    /// Number of degrees of freedom.
    pub fn dofs(&self) -> usize {
        self.bodies
            .last()
            .map_or(0, |body| body.offset + body.matrix.dofs())
    }

    /// Index of the body of a degree of freedom.
    pub fn body_of(&self, dof: usize) -> usize {
        self.bodies.partition_point(|body| body.offset <= dof) - 1
    }

    /// Whether each body has a node in a coupling.
    fn coupled_bodies(&self) -> Vec<bool> {
        let mut is_coupled = vec![false; self.bodies.len()];
        for (node, _) in self.couplings.iter().flat_map(|coupling| &coupling.nodes) {
            is_coupled[self.body_of(self.node_offset[*node as usize])] = true;
        }
        is_coupled
    }

    /// Blocks between nodes in addition to the matrices of the bodies.
    pub fn couplings(&self) -> &[Coupling] {
        &self.couplings
    }

    /// Whether the diagonal blocks of couplings are part of the body matrices.
    pub fn is_merged(&self) -> bool {
        self.is_merged
    }

    /// Whether each degree of freedom is held; empty if none is.
    pub fn held(&self) -> &[bool] {
        &self.is_held
    }

    /// 1 for each free component of a node, 0 for each held one.
    pub fn free_part(&self, node: usize) -> DVec3 {
        free_part_of(&self.is_held, self.node_offset[node])
    }

    /// Copies a system of the same structure and adds weights to the diagonal of its free nodes.
    /// Only degrees of freedom in ranges for which `is_changed` is true are updated.
    pub fn copy_with_weights(
        &mut self,
        other: &System,
        weights: NodeWeights<'_>,
        is_changed: impl Fn(Range<usize>) -> bool + Sync,
    ) {
        self.couplings.clone_from(&other.couplings);
        self.is_held.clone_from(&other.is_held);
        self.is_merged = other.is_merged;
        let free = |offset: usize| free_part_of(&other.is_held, offset);
        for (body, from) in self.bodies.iter_mut().zip(&other.bodies) {
            let (first, dofs) = (body.offset, body.dofs());
            let changed = |own: &Range<usize>| is_changed(first + own.start..first + own.end);
            match (&mut body.matrix, &from.matrix) {
                _ if !is_changed(dofs.clone()) => {}
                (Matrix::Rods(to), Matrix::Rods(from)) => {
                    to.copy_changed(from, |own| changed(&own));
                    to.add_diagonal_by_groups(|own, add| {
                        let here = first + own.start..first + own.end;
                        let here = if changed(&own) { here } else { 0..0 };
                        for (offset, weight) in weights.within(here) {
                            let added = (free(offset) * weight).to_array();
                            (0..3).for_each(|axis| add(offset - first + axis, added[axis]));
                        }
                    });
                }
                (to, from) => {
                    to.copy_from(from);
                    for (offset, weight) in weights.within(dofs) {
                        let block = DMat3::from_diagonal(free(offset) * weight);
                        to.add_block(offset - first, &block);
                    }
                }
            }
        }
    }

    /// Diagonal block of a node in the matrix of its body.
    pub fn node_block(&self, node: usize) -> DMat3 {
        let offset = self.node_offset[node];
        let body = &self.bodies[self.body_of(offset)];
        body.matrix.block(offset - body.offset)
    }

    /// Whether another system has the same nodes, and bodies with the same patterns.
    pub fn has_same_structure(&self, other: &System) -> bool {
        let bodies = self.bodies.iter().zip(&other.bodies);
        self.node_offset == other.node_offset
            && self.bodies.len() == other.bodies.len()
            && bodies
                .map(|(one, other)| (&one.matrix, &other.matrix))
                .all(|(one, other)| match (one, other) {
                    (Matrix::Blocks(one), Matrix::Blocks(other)) => {
                        Arc::ptr_eq(one.pattern(), other.pattern())
                    }
                    (Matrix::Rods(one), Matrix::Rods(other)) => {
                        one.layout() == other.layout() && one.count() == other.count()
                    }
                    _ => false,
                })
    }

    /// Replaces all couplings.
    pub fn set_couplings(&mut self, couplings: Vec<Coupling>) {
        self.couplings = couplings;
    }

    /// `y += C x`, where C is the sum of the couplings without their merged diagonal blocks.
    pub fn multiply_couplings(&self, x: &[f64], y: &mut [f64]) {
        for coupling in &self.couplings {
            self.multiply_coupling(coupling, x, y);
        }
    }

    /// Marks all bodies that a chain of couplings connects to a marked body.
    pub fn connected_bodies(&self, mut is_in: Vec<bool>) -> Vec<bool> {
        let body = |node: u32| self.body_of(self.node_offset[node as usize]);
        loop {
            let mut has_grown = false;
            for coupling in &self.couplings {
                let bodies = coupling.nodes.iter().map(|(node, _)| body(*node));
                if bodies.clone().any(|body| is_in[body]) {
                    for body in bodies {
                        has_grown |= !std::mem::replace(&mut is_in[body], true);
                    }
                }
            }
            if !has_grown {
                return is_in;
            }
        }
    }

    /// Copies a system of the same structure, with the rows and columns of held degrees of freedom
    /// replaced by those of the identity, and merges the diagonal blocks of its couplings. Bodies
    /// that are not chosen keep their matrices from the last call.
    pub fn hold(&mut self, other: &System, is_held: &[bool], is_chosen: impl Fn(usize) -> bool) {
        for (index, (to, from)) in self.bodies.iter_mut().zip(&other.bodies).enumerate() {
            if !is_chosen(index) {
                continue;
            }
            to.matrix.copy_from(&from.matrix);
            to.matrix
                .isolate(&is_held[to.offset..to.offset + to.matrix.dofs()]);
        }
        let is_free = |node: u32| {
            let offset = other.node_offset[node as usize];
            is_held[offset..offset + 3].contains(&false)
        };
        let free_part = |coupling: &Coupling| Coupling {
            nodes: coupling
                .nodes
                .iter()
                .copied()
                .filter(|(node, _)| is_free(*node))
                .collect(),
            block: coupling.block,
        };
        self.couplings = other.couplings.iter().map(free_part).collect();
        self.is_held.clear();
        self.is_held.extend_from_slice(is_held);
        self.is_merged = true;
        for coupling in &self.couplings {
            for (node, weight) in &coupling.nodes {
                let offset = self.node_offset[*node as usize];
                let index = self.bodies.partition_point(|body| body.offset <= offset) - 1;
                if !is_chosen(index) {
                    continue;
                }
                let body = &mut self.bodies[index];
                let free = DMat3::from_diagonal(free_part_of(&self.is_held, offset));
                let block = free * (coupling.block * (weight * weight)) * free;
                body.matrix.add_block(offset - body.offset, &block);
            }
        }
        self.couplings.retain(|coupling| coupling.nodes.len() > 1);
    }

    /// `y = A x`.
    ///
    /// # Panics
    /// If a vector has another length than [`System::dofs`].
    pub fn multiply(&self, x: &[f64], y: &mut [f64]) {
        assert!(x.len() == self.dofs() && y.len() == self.dofs());
        let parts = split_by_lengths(y, self.bodies.iter().map(|body| body.matrix.dofs()));
        let work: Vec<_> = self.bodies.iter().zip(parts).collect();
        work.into_par_iter().for_each(|(body, y)| {
            let part = &x[body.offset..body.offset + body.matrix.dofs()];
            if part.iter().all(|entry| *entry == 0.0) {
                y.fill(0.0)
            } else {
                body.matrix.multiply(part, y)
            }
        });
        self.multiply_couplings(x, y);
    }

    /// Adds the product with one coupling, without its diagonal blocks if these are merged.
    fn multiply_coupling(&self, coupling: &Coupling, x: &[f64], y: &mut [f64]) {
        let value = |node: u32| {
            let offset = self.node_offset[node as usize];
            DVec3::from_slice(&x[offset..]) * free_part_of(&self.is_held, offset)
        };
        let nodes = coupling.nodes.iter();
        let sum: DVec3 = nodes.map(|(node, weight)| value(*node) * *weight).sum();
        for (node, weight) in &coupling.nodes {
            let others = if self.is_merged {
                sum - value(*node) * *weight
            } else {
                sum
            };
            let offset = self.node_offset[*node as usize];
            let pull = coupling.block * others * *weight * free_part_of(&self.is_held, offset);
            (DVec3::from_slice(&y[offset..]) + pull).write_to_slice(&mut y[offset..]);
        }
    }
}

/// 1 for each free component of a node, 0 for each held one.
fn free_part_of(is_held: &[bool], offset: usize) -> DVec3 {
    match is_held.get(offset..offset + 3) {
        Some(held) => DVec3::from_array([0, 1, 2].map(|axis| f64::from(u8::from(!held[axis])))),
        None => DVec3::ONE,
    }
}
