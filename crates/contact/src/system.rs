//! `A v = f`, by bodies.
//!
//! A body is a matrix of 3×3 blocks or a batch of banded rods. Bodies have no entries in common but those of
//! couplings (ties between them), so products and factorizations go body by body, in parallel. What is tied to one other body only
//! is eliminated exactly; other couplings are left to conjugate gradients with the factors as preconditioner (Daviet 2020, 6.2.5).
//! Contacts address velocities through [`System::node_offset`] only: what lies between the nodes of a body (twists of
//! rods) is the body's own business.

mod components;
mod elimination;
mod entries;
mod factor;
mod iterative;
mod on_demand;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::Arc;

use glam::{DMat3, DVec3};
use rayon::prelude::*;

use crate::banded::BandedBatch;
use crate::block_sparse::BlockSparse;
use crate::cholesky::parts;

pub use components::Sets;
pub use factor::{BodyFactor, SystemFactor, SystemFactorError};
pub use iterative::Iterative;
pub use on_demand::{FactorPlan, Factors};

/// The matrix of the system. All vectors are flat `f64`.
#[derive(Clone, Debug, Default)]
pub struct System {
    /// Where the three velocity components of node j start.
    pub node_offset: Vec<usize>,
    /// The diagonal blocks, by ascending offset and without holes between them.
    pub bodies: Vec<Body>,
    /// What is between nodes beyond those of the bodies' own matrices.
    couplings: Vec<Coupling>,
    /// Whether the bodies hold what couplings do to single nodes, where the preconditioner sees it.
    is_merged: bool,
    /// Which degrees of freedom are cut off; none if empty.
    is_cut: Vec<bool>,
}

/// A part of the system that only couplings tie to others.
#[derive(Clone, Debug)]
pub struct Body {
    /// Its first degree of freedom.
    pub offset: usize,
    /// Its matrix.
    pub matrix: Matrix,
}

impl Body {
    /// Its degrees of freedom.
    pub fn dofs(&self) -> Range<usize> {
        self.offset..self.offset + self.matrix.dofs()
    }
}

/// Weights of nodes, by where the velocities of these start.
#[derive(Clone, Copy, Debug)]
pub struct NodeWeights<'a> {
    /// Where each starts, ascending.
    pub offsets: &'a [usize],
    /// The weight of each (kg).
    pub weights: &'a [f64],
}

impl<'a> NodeWeights<'a> {
    /// Those of nodes that start within a range of degrees of freedom.
    fn within(self, dofs: Range<usize>) -> impl Iterator<Item = (usize, f64)> + use<'a> {
        let begin = self.offsets.partition_point(|offset| *offset < dofs.start);
        let count = self.offsets[begin..].partition_point(|offset| *offset < dofs.end);
        let places = begin..begin + count;
        places.map(move |place| (self.offsets[place], self.weights[place]))
    }
}

/// The matrix of a body.
#[derive(Clone, Debug)]
pub enum Matrix {
    /// Sparse, by 3×3 blocks.
    Blocks(BlockSparse),
    /// Rods of the same number of vertices, each a band.
    Rods(BandedBatch),
}

/// Adds bᵢ bⱼ S to the block of every two of its nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Coupling {
    /// The nodes, each once, and their weights b.
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

    /// Takes over the entries of another matrix of the same kind and pattern.
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

    /// Makes the rows and columns of marked degrees of freedom those of the identity.
    fn isolate(&mut self, is_held: &[bool]) {
        if !is_held.contains(&true) {
            return;
        }
        match self {
            Matrix::Blocks(matrix) => matrix.isolate(is_held, 1.0),
            Matrix::Rods(batch) => batch.isolate(is_held, 1.0),
        }
    }

    /// Adds a number to the diagonal entry of every degree of freedom.
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

    /// The block on the diagonal of the node whose degrees of freedom begin at `offset`.
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

    /// Adds a symmetric block at the three degrees of freedom of a node, which begin at `offset`.
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
    /// The system of some bodies, one after the other; `node_offset` as in [`System::node_offset`].
    pub fn new(matrices: impl IntoIterator<Item = Matrix>, node_offset: Vec<usize>) -> Self {
        let mut offset = 0;
        let bodies = matrices.into_iter().map(|matrix| {
            let first = offset;
            offset += matrix.dofs();
            Body {
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
            is_cut: Vec::new(),
        }
    }

    /// The same bodies as they were stored: with couplings that the matrices hold in part already if `is_merged`, and with
    /// what was cut off; the matrices are as [`System::hold`] left them.
    #[must_use]
    pub fn restore(mut self, couplings: Vec<Coupling>, is_merged: bool, is_cut: Vec<bool>) -> Self {
        (self.couplings, self.is_merged, self.is_cut) = (couplings, is_merged, is_cut);
        self
    }

    /// Number of degrees of freedom.
    pub fn dofs(&self) -> usize {
        self.bodies
            .last()
            .map_or(0, |body| body.offset + body.matrix.dofs())
    }

    /// The index of the body that a degree of freedom belongs to.
    pub fn body_of(&self, dof: usize) -> usize {
        self.bodies.partition_point(|body| body.offset <= dof) - 1
    }

    /// Whether each body has a part in a coupling.
    fn coupled_bodies(&self) -> Vec<bool> {
        let mut is_coupled = vec![false; self.bodies.len()];
        for (node, _) in self.couplings.iter().flat_map(|coupling| &coupling.nodes) {
            is_coupled[self.body_of(self.node_offset[*node as usize])] = true;
        }
        is_coupled
    }

    /// What is between nodes beyond the bodies' own matrices.
    pub fn couplings(&self) -> &[Coupling] {
        &self.couplings
    }

    /// Whether the bodies hold what couplings do to single nodes.
    pub fn is_merged(&self) -> bool {
        self.is_merged
    }

    /// Whether each degree of freedom is cut off, so that nothing moves it; empty if none is.
    pub fn cut(&self) -> &[bool] {
        &self.is_cut
    }

    /// 1 for each component of a node that can move, 0 for what is cut off.
    pub fn free_part(&self, node: usize) -> DVec3 {
        free_part_of(&self.is_cut, self.node_offset[node])
    }

    /// Becomes another system of the same bodies, with weights added to the diagonal of nodes where they can move. Only what changed is looked
    /// at: a function says whether any of a range of degrees of freedom did.
    pub fn weigh(
        &mut self,
        other: &System,
        weights: NodeWeights<'_>,
        is_changed: impl Fn(Range<usize>) -> bool + Sync,
    ) {
        self.couplings.clone_from(&other.couplings);
        self.is_cut.clone_from(&other.is_cut);
        self.is_merged = other.is_merged;
        let free = |offset: usize| free_part_of(&other.is_cut, offset);
        for (body, from) in self.bodies.iter_mut().zip(&other.bodies) {
            let (first, dofs) = (body.offset, body.dofs());
            let changed = |own: &Range<usize>| is_changed(first + own.start..first + own.end);
            match (&mut body.matrix, &from.matrix) {
                _ if !is_changed(dofs.clone()) => {}
                (Matrix::Rods(to), Matrix::Rods(from)) => {
                    to.copy_some(from, |own| changed(&own));
                    to.add_to_diagonal(|own, add| {
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

    /// The block on the diagonal of a node in its body's matrix.
    pub fn node_block(&self, node: usize) -> DMat3 {
        let offset = self.node_offset[node];
        let body = &self.bodies[self.body_of(offset)];
        body.matrix.block(offset - body.offset)
    }

    /// Whether another system has the same nodes, and bodies of the same kinds and patterns.
    pub fn is_like(&self, other: &System) -> bool {
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
    pub fn couple(&mut self, couplings: Vec<Coupling>) {
        self.couplings = couplings;
    }

    /// Adds what couplings do with velocities: `y += C x`.
    pub fn multiply_couplings(&self, x: &[f64], y: &mut [f64]) {
        for coupling in &self.couplings {
            self.multiply_coupling(coupling, x, y);
        }
    }

    /// The bodies that couplings connect with some, by any number of them; these too.
    pub fn connected(&self, mut is_in: Vec<bool>) -> Vec<bool> {
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

    /// Becomes another system of the same bodies with the rows and columns of held degrees of freedom cut off. Bodies that
    /// are not chosen have not changed since the last time.
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
        self.is_cut.clear();
        self.is_cut.extend_from_slice(is_held);
        self.is_merged = true;
        for coupling in &self.couplings {
            for (node, weight) in &coupling.nodes {
                let offset = self.node_offset[*node as usize];
                let index = self.bodies.partition_point(|body| body.offset <= offset) - 1;
                if !is_chosen(index) {
                    continue;
                }
                let body = &mut self.bodies[index];
                let free = DMat3::from_diagonal(free_part_of(&self.is_cut, offset));
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
        let parts = parts(y, self.bodies.iter().map(|body| body.matrix.dofs()));
        let work: Vec<_> = self.bodies.iter().zip(parts).collect();
        work.into_par_iter().for_each(|(body, y)| {
            let part = &x[body.offset..body.offset + body.matrix.dofs()];
            match part.iter().all(|entry| *entry == 0.0) {
                true => y.fill(0.0),
                false => body.matrix.multiply(part, y),
            }
        });
        self.multiply_couplings(x, y);
    }

    /// Adds what a coupling does; without what it does to single nodes, where the bodies have that.
    fn multiply_coupling(&self, coupling: &Coupling, x: &[f64], y: &mut [f64]) {
        let value = |node: u32| {
            let offset = self.node_offset[node as usize];
            DVec3::from_slice(&x[offset..]) * free_part_of(&self.is_cut, offset)
        };
        let nodes = coupling.nodes.iter();
        let sum: DVec3 = nodes.map(|(node, weight)| value(*node) * *weight).sum();
        for (node, weight) in &coupling.nodes {
            let others = match self.is_merged {
                true => sum - value(*node) * *weight,
                false => sum,
            };
            let offset = self.node_offset[*node as usize];
            let pull = coupling.block * others * *weight * free_part_of(&self.is_cut, offset);
            (DVec3::from_slice(&y[offset..]) + pull).write_to_slice(&mut y[offset..]);
        }
    }
}

/// 1 for each component of a node that is not cut off, else 0.
fn free_part_of(is_cut: &[bool], offset: usize) -> DVec3 {
    match is_cut.get(offset..offset + 3) {
        Some(cut) => DVec3::from_array([0, 1, 2].map(|axis| f64::from(u8::from(!cut[axis])))),
        None => DVec3::ONE,
    }
}
