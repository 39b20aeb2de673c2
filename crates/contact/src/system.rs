//! `A v = f`, by bodies.
//!
//! A body is a matrix of 3×3 blocks or a batch of banded rods. Bodies have no entries in common but those of
//! couplings (ties between them), so products and factorizations go body by body, in parallel; couplings are left to
//! conjugate gradients with the factors as preconditioner (Daviet 2020, 6.2.5), which are exact where there are none.
//! Contacts address velocities through [`System::node_offset`] only: what lies between the nodes of a body (twists of
//! rods) is the body's own business.

use glam::{DMat3, DVec3};
use rayon::prelude::*;

use crate::banded::{BandedBatch, BandedFactor};
use crate::block_sparse::BlockSparse;
use crate::cholesky::{Factor, FactorError, parts};

/// Where the residual of conjugate gradients ends, as a part of where it began: rounding lets it go no further.
const TOLERANCE: f64 = 1e-14;

/// More iterations than this are worth nothing: ties are few, or springs much softer than what they tie.
const MOST_ITERATIONS: usize = 2000;

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

    /// Number of degrees of freedom.
    pub fn dofs(&self) -> usize {
        self.bodies
            .last()
            .map_or(0, |body| body.offset + body.matrix.dofs())
    }

    /// The index of the body that a degree of freedom belongs to.
    fn body_of(&self, dof: usize) -> usize {
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

/// A factorization that failed, and in which body.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("body {body}: {source}")]
pub struct SystemFactorError {
    /// Index of the body.
    pub body: usize,
    /// What is wrong with its matrix.
    pub source: FactorError,
}

/// The factor of a body.
#[derive(Debug)]
pub enum BodyFactor {
    /// Of a sparse matrix.
    Blocks(Factor),
    /// Of a batch of rods.
    Rods(BandedFactor),
}

impl BodyFactor {
    fn dofs(&self) -> usize {
        match self {
            BodyFactor::Blocks(factor) => factor.dofs(),
            BodyFactor::Rods(factor) => factor.dofs(),
        }
    }

    fn factorize(&mut self, matrix: &Matrix) -> Result<(), FactorError> {
        match (self, matrix) {
            (BodyFactor::Blocks(factor), Matrix::Blocks(matrix)) => factor.factorize(matrix),
            (BodyFactor::Rods(factor), Matrix::Rods(batch)) => {
                let size = batch.layout().size();
                factor
                    .factorize(batch)
                    .map_err(|error| FactorError::NotPositiveDefiniteRod {
                        rod: error.rod,
                        unknown: error.unknown % size,
                    })
            }
            _ => unreachable!("a factor of another kind than its body"),
        }
    }

    fn solve_in_place(&self, rhs: &mut [f64]) {
        // A body on which nothing acts stays as it is.
        if rhs.iter().all(|entry| *entry == 0.0) {
            return;
        }
        match self {
            BodyFactor::Blocks(factor) => factor.solve_in_place(rhs),
            BodyFactor::Rods(factor) => factor.solve_in_place(rhs),
        }
    }
}

/// The factors of all bodies of a system.
#[derive(Debug)]
pub struct SystemFactor {
    factors: Vec<BodyFactor>,
}

impl SystemFactor {
    /// From one factor per body, in their order. Bodies with the same pattern may share the
    /// symbolic part.
    pub fn new(factors: Vec<BodyFactor>) -> Self {
        Self { factors }
    }

    /// Factorizes all bodies, in parallel. The first body that fails is reported, whichever
    /// thread came upon a failure first.
    ///
    /// # Errors
    /// If a matrix is not finite or not positive definite.
    ///
    /// # Panics
    /// If the bodies are not those that the factors were made for.
    pub fn factorize(&mut self, system: &System) -> Result<(), SystemFactorError> {
        self.factorize_some(system, |_| true)
    }

    /// Factorizes some bodies, by index.
    ///
    /// # Errors
    /// As [`SystemFactor::factorize`].
    ///
    /// # Panics
    /// If the bodies are not those that the factors were made for.
    pub fn factorize_some(
        &mut self,
        system: &System,
        is_chosen: impl Fn(usize) -> bool + Sync,
    ) -> Result<(), SystemFactorError> {
        assert_eq!(self.factors.len(), system.bodies.len());
        let pairs = self.factors.par_iter_mut().zip(&system.bodies).enumerate();
        let results: Vec<_> = pairs
            .map(|(index, (factor, body))| match is_chosen(index) {
                true => factor.factorize(&body.matrix),
                false => Ok(()),
            })
            .collect();
        let mut failures = results.into_iter().enumerate();
        failures.try_for_each(|(body, result)| {
            result.map_err(|source| SystemFactorError { body, source })
        })
    }

    /// Replaces `rhs` by what the bodies' own matrices make of it: `A⁻¹ rhs` where nothing is coupled.
    fn precondition(&self, rhs: &mut [f64]) {
        let parts = parts(rhs, self.factors.iter().map(BodyFactor::dofs));
        let work: Vec<_> = self.factors.iter().zip(parts).collect();
        work.into_par_iter()
            .for_each(|(factor, part)| factor.solve_in_place(part));
    }

    /// Replaces `rhs` by `A⁻¹ rhs` for the system that was factorized.
    ///
    /// # Panics
    /// If `rhs` does not have the length of the factorized system.
    pub fn solve_in_place(&self, system: &System, rhs: &mut [f64]) {
        assert_eq!(
            rhs.len(),
            self.factors.iter().map(BodyFactor::dofs).sum::<usize>()
        );
        if system.couplings.is_empty() {
            return self.precondition(rhs);
        }
        self.conjugate_gradients(system, rhs);
    }

    /// Preconditioned conjugate gradients, one vector after the other: sums do not depend on the threads.
    fn conjugate_gradients(&self, system: &System, rhs: &mut [f64]) {
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let mut residual = rhs.to_vec();
        // What is tied to nothing has its answer at once, and no part in the rest.
        let is_coupled = system.coupled_bodies();
        for (body, _) in system
            .bodies
            .iter()
            .zip(&is_coupled)
            .filter(|(_, is)| !**is)
        {
            residual[body.offset..body.offset + body.matrix.dofs()].fill(0.0);
        }
        for (body, _) in system.bodies.iter().zip(&is_coupled).filter(|(_, is)| **is) {
            rhs[body.offset..body.offset + body.matrix.dofs()].fill(0.0);
        }
        self.precondition(rhs);
        let solution = rhs;
        let mut preconditioned = residual.clone();
        self.precondition(&mut preconditioned);
        let mut direction = preconditioned.clone();
        let mut product = vec![0.0; residual.len()];
        let mut size = dot(&residual, &preconditioned);
        let enough = TOLERANCE * TOLERANCE * size;
        for _ in 0..MOST_ITERATIONS {
            if size.is_nan() || size <= enough {
                return;
            }
            system.multiply(&direction, &mut product);
            let length = size / dot(&direction, &product);
            for (x, d) in solution.iter_mut().zip(&direction) {
                *x += length * d;
            }
            for (r, p) in residual.iter_mut().zip(&product) {
                *r -= length * p;
            }
            preconditioned.copy_from_slice(&residual);
            self.precondition(&mut preconditioned);
            let next = dot(&residual, &preconditioned);
            for (d, z) in direction.iter_mut().zip(&preconditioned) {
                *d = z + next / size * *d;
            }
            size = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::banded::BandedLayout;
    use crate::block_sparse::tests::random;
    use crate::symbolic::Symbolic;
    use std::sync::Arc;

    fn factors(system: &System) -> SystemFactor {
        let factor = |body: &Body| match &body.matrix {
            Matrix::Blocks(matrix) => {
                let symbolic = Symbolic::analyze(matrix.pattern()).unwrap();
                BodyFactor::Blocks(Factor::new(Arc::new(symbolic)).unwrap())
            }
            Matrix::Rods(batch) => {
                BodyFactor::Rods(BandedFactor::new(batch.layout().clone(), batch.count()))
            }
        };
        SystemFactor::new(system.bodies.iter().map(factor).collect())
    }

    fn system(matrices: impl IntoIterator<Item = BlockSparse>) -> System {
        let matrices: Vec<Matrix> = matrices.into_iter().map(Matrix::Blocks).collect();
        let dofs: usize = matrices.iter().map(Matrix::dofs).sum();
        System::new(matrices, (0..dofs).step_by(3).collect())
    }

    #[test]
    fn solves_all_bodies() {
        let sizes = [3, 1, 40, 7];
        let bodies = sizes.map(|n| random(n, &[(0, 1), (2, 5), (1, 2), (30, 3)], n as u64));
        let system = system(bodies);
        assert_eq!(system.dofs(), 3 * 51);
        assert_eq!(system.node_offset[4], 12);
        let mut factor = factors(&system);
        factor.factorize(&system).unwrap();
        let x: Vec<f64> = (0..system.dofs()).map(|i| (i as f64).sin()).collect();
        let mut y = vec![0.0; x.len()];
        system.multiply(&x, &mut y);
        factor.solve_in_place(&system, &mut y);
        assert!(x.iter().zip(&y).all(|(a, b)| (a - b).abs() < 1e-12));
    }

    #[test]
    fn names_the_body_that_fails() {
        let mut system = system([5, 6, 7].map(|n| random(n, &[(0, 3)], 1)));
        let mut factor = factors(&system);
        for body in [2, 1] {
            system.bodies[body]
                .matrix
                .add_diagonal(&vec![-1e3; 3 * (5 + body)]);
            let error = factor.factorize(&system).unwrap_err();
            assert_eq!(error.body, body);
        }
    }

    /// Two sheets and a batch of rods, tied in three places.
    fn tied() -> System {
        let mut batch = BandedBatch::zeros(BandedLayout::rod(4, false), 3);
        batch.add_diagonal(&vec![2.0; 45]);
        for rod in 0..3 {
            for unknown in 1..15 {
                batch.add(rod, unknown, unknown - 1, -0.7);
            }
        }
        let sheets = [5, 6].map(|n| Matrix::Blocks(random(n, &[(0, 3), (1, 4)], n as u64)));
        let nodes = (0..11).map(|j| 3 * j);
        let rods = (0..12).map(|j| 33 + j / 4 * 15 + j % 4 * 4);
        let matrices = sheets.into_iter().chain([Matrix::Rods(batch)]);
        let mut system = System::new(matrices, nodes.chain(rods).collect());
        let ties = [
            (vec![(1, 1.0), (7, -1.0)], 10.0),
            (vec![(2, 0.5), (4, 0.5), (15, -1.0)], 1e4),
            (vec![(20, 1.0)], 3.0),
        ];
        let couplings = ties.map(|(nodes, scale)| Coupling {
            nodes,
            block: DMat3::from_diagonal(DVec3::new(1.0, 0.3, 0.0)) * scale,
        });
        system.couple(couplings.into());
        system
    }

    #[test]
    fn solves_through_ties_whatever_is_held() {
        let whole = tied();
        let mut is_held = vec![false; whole.dofs()];
        for round in 0..2 {
            let mut system = whole.clone();
            system.hold(&whole, &is_held, |_| true);
            let mut factor = factors(&system);
            factor.factorize(&system).unwrap();
            let x: Vec<f64> = (0..system.dofs()).map(|i| (i as f64).sin()).collect();
            let mut y = vec![0.0; x.len()];
            system.multiply(&x, &mut y);
            factor.solve_in_place(&system, &mut y);
            let error = x
                .iter()
                .zip(&y)
                .map(|(a, b)| (a - b).abs())
                .fold(0.0, f64::max);
            assert!(error < 1e-10, "round {round}: {error}");
            is_held[6..9].fill(true);
            is_held[33..36].fill(true);
            // A node that is tied, held along y only.
            is_held[4] = true;
            is_held[36] = true;
        }
    }

    #[test]
    fn bodies_hang_together_through_ties() {
        // Node 1 is in the first sheet and 7 in the second, 2 and 4 in the first and 15 among the rods.
        let system = tied();
        assert_eq!(system.connected(vec![false, true, false]), [true; 3]);
        assert_eq!(system.connected(vec![false; 3]), [false; 3]);
    }

    #[test]
    fn what_has_not_changed_is_held_already() {
        let mut whole = tied();
        let is_held = vec![false; whole.dofs()];
        let mut held = whole.clone();
        held.hold(&whole, &is_held, |_| true);
        whole.bodies[1].matrix.add_diagonal(&[3.0; 18]);
        let mut again = held.clone();
        again.hold(&whole, &is_held, |_| true);
        held.hold(&whole, &is_held, |body| body == 1);
        let x: Vec<f64> = (0..whole.dofs()).map(|i| (i as f64).cos()).collect();
        let [mut a, mut b] = [vec![0.0; x.len()], vec![0.0; x.len()]];
        again.multiply(&x, &mut a);
        held.multiply(&x, &mut b);
        assert_eq!(a, b);
    }

    #[test]
    fn a_tie_pulls_both_ends() {
        let with = tied();
        let mut without = with.clone();
        without.couple(Vec::new());
        let x: Vec<f64> = (0..with.dofs()).map(|i| (i as f64).cos()).collect();
        let [mut a, mut b] = [vec![0.0; x.len()], vec![0.0; x.len()]];
        with.multiply(&x, &mut a);
        without.multiply(&x, &mut b);
        let (near, far) = (with.node_offset[1], with.node_offset[7]);
        let pull = 10.0 * (x[near] - x[far]);
        assert!((a[near] - b[near] - pull).abs() < 1e-12);
        assert!((a[far] - b[far] + pull).abs() < 1e-12);
    }
}
