//! The inertia of an impact: lumped masses, and rigid props.
//!
//! A prop is an affine body with the mass m at its centre and at its three axes aₖ = gₖRₖ. By mass
//! alone an impulse would deform it. Its velocities are rigid if they are orthogonal to six strain
//! rates, the symmetric parts of the rate of the linear map. In the coordinates cₖₗ = ȧₖ·Rₗ these
//! are cₖₖ and cₖₗ/gₖ + cₗₖ/gₗ, orthogonal to each other; with the unit vectors q along them, the
//! inertia is m (1 + β Σ q qᵀ), which is that of the rigid body up to 1/β.

use std::sync::Arc;

use glam::{DMat3, DVec3};
use reefknot_contact::block_sparse::{BlockPattern, BlockSparse};
use reefknot_contact::system::{Matrix, System};

use crate::energy::principal::Principal;
use crate::equations::linearize::BodySubset;
use crate::model::{Body, Model, Unknowns};
use crate::step_input::StepInput;

/// β: the part of an impulse that deforms a prop is its inverse. Larger ones lose digits.
const STIFFNESS: f64 = 1e8;

/// A strain rate whose free part is shorter is held.
const MIN_FREE_PART: f64 = 1e-3;

/// The nodes that an impact moves, with their inertia.
pub(super) struct ImpactInertia {
    /// The nodes of the model, ascending: those of contacts, and all four of a prop.
    nodes: Vec<usize>,
    /// The inertia (kg), with held unknowns.
    pub(super) system: System,
    /// Mass of each node (kg).
    pub(super) masses: Vec<f64>,
    /// The six strain rates of each prop, with the first of its nodes.
    strains: Vec<(usize, [[DVec3; 3]; 6])>,
}

impl ImpactInertia {
    /// Inertia at `positions` for contacts at these nodes.
    pub(super) fn of(input: &StepInput<'_>, positions: &[DVec3], at: &[u32]) -> ImpactInertia {
        let model = input.model;
        let mut inertia = ImpactInertia {
            nodes: Vec::new(),
            system: System::default(),
            masses: Vec::new(),
            strains: Vec::new(),
        };
        let single = Arc::new(BlockPattern::new(1, []));
        let prop = Arc::new(BlockPattern::new(4, [(1, 2), (1, 3), (2, 3)]));
        let mut matrices = Vec::new();
        for node in at.iter().map(|node| *node as usize) {
            if inertia.nodes.last().is_some_and(|last| *last >= node) {
                continue;
            }
            let mass = model.masses[node];
            let mut matrix = match prop_of(model, node) {
                Some(body) => {
                    let [_, axes @ ..] = [0, 1, 2, 3].map(|k| positions[body.nodes.start + k]);
                    let strains = strain_rates(axes);
                    inertia.strains.push((inertia.nodes.len(), strains));
                    inertia.nodes.extend(body.nodes.clone());
                    let mut matrix = BlockSparse::zeros(prop.clone());
                    add_strains(&mut matrix, mass, &strains);
                    Matrix::Blocks(matrix)
                }
                None => {
                    inertia.nodes.push(node);
                    Matrix::Blocks(BlockSparse::zeros(single.clone()))
                }
            };
            let dofs = matrix.dofs();
            matrix.add_diagonal(&vec![mass; dofs]);
            inertia.masses.extend(vec![mass; dofs / 3]);
            matrices.push(matrix);
        }
        let offsets = (0..inertia.nodes.len()).map(|node| 3 * node).collect();
        let free = System::new(matrices, offsets);
        let is_held = inertia.nodes.iter().flat_map(|node| {
            let offset = model.unknowns.node_offset[*node];
            input.is_held()[offset..offset + 3].iter().copied()
        });
        let is_held: Vec<bool> = is_held.collect();
        inertia.system = free.clone();
        inertia.system.hold(&free, &is_held, |_| true);
        inertia
    }

    /// The unknowns of the model at the nodes.
    pub(super) fn dofs(&self, unknowns: &Unknowns) -> Vec<usize> {
        let offsets = self.nodes.iter().map(|node| unknowns.node_offset[*node]);
        offsets.flat_map(|offset| offset..offset + 3).collect()
    }

    /// Index of a node of the model.
    pub(super) fn index(&self, node: u32) -> Option<u32> {
        let found = self.nodes.binary_search(&(node as usize));
        found.ok().map(|index| index as u32)
    }

    /// Changes the free velocities of props as little as possible so that they are rigid.
    pub(super) fn make_rigid(&self, velocities: &mut [f64]) {
        let is_held = self.system.held();
        for (first, strains) in &self.strains {
            let axes = 3 * first + 3..3 * first + 12;
            let (rates, is_held) = (&mut velocities[axes.clone()], &is_held[axes]);
            remove_strains(rates, strains, is_held);
        }
    }
}

/// Removes the strain rates from the velocities of three axes. The parts of the strain rates that
/// are free are made orthogonal one after the other.
fn remove_strains(rates: &mut [f64], strains: &[[DVec3; 3]; 6], is_held: &[bool]) {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let mut known: Vec<[f64; 9]> = Vec::new();
    for strain in strains {
        let whole: [f64; 9] = std::array::from_fn(|dof| strain[dof / 3][dof % 3]);
        let rate = dot(&whole, rates);
        let mut free = std::array::from_fn(|dof| if is_held[dof] { 0.0 } else { whole[dof] });
        for other in &known {
            let along = dot(&free, other);
            free.iter_mut()
                .zip(other)
                .for_each(|(q, of)| *q -= along * of);
        }
        let size = dot(&free, &free).sqrt();
        if size > MIN_FREE_PART {
            free.iter_mut().for_each(|q| *q /= size);
            for (v, q) in rates.iter_mut().zip(&free) {
                *v -= rate / size * q;
            }
            known.push(free);
        }
    }
}

/// The prop of a node.
fn prop_of(model: &Model, node: usize) -> Option<&Body> {
    let body = (model.bodies).partition_point(|body| body.nodes.end <= node);
    let body = model.bodies.get(body)?;
    let is_prop = BodySubset::Affine.contains(body) && body.nodes.len() == 4;
    is_prop.then_some(body)
}

/// Orthonormal strain rates of a prop, by its axes.
fn strain_rates(axes: [DVec3; 3]) -> [[DVec3; 3]; 6] {
    let lengths = axes.map(|axis| axis.length().max(f64::MIN_POSITIVE));
    let [x, y, z] = [0, 1, 2].map(|k| axes[k] / lengths[k]);
    let principal = Principal::of(&DMat3::from_cols(x, y, z));
    let rotation = principal.left * principal.right.transpose();
    [(0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (2, 0)].map(|(k, l)| {
        let mut strain = [DVec3::ZERO; 3];
        strain[k] = rotation.col(l);
        if k != l {
            // cₖₗ/gₖ + cₗₖ/gₗ, scaled to length 1.
            let size = lengths[k].hypot(lengths[l]);
            strain[k] = rotation.col(l) * (lengths[l] / size);
            strain[l] = rotation.col(k) * (lengths[k] / size);
        }
        strain
    })
}

/// Adds m β Σ q qᵀ.
fn add_strains(matrix: &mut BlockSparse, mass: f64, strains: &[[DVec3; 3]; 6]) {
    let pattern = matrix.pattern().clone();
    for column in 0..3 {
        for row in column..3 {
            let Some(slot) = pattern.slot(1 + row, 1 + column) else {
                continue;
            };
            for strain in strains {
                let [of_row, of_column] = [row, column].map(|k| strain[k]);
                let outer = DMat3::from_cols(
                    of_row * of_column.x,
                    of_row * of_column.y,
                    of_row * of_column.z,
                );
                matrix.values[slot] += outer * (mass * STIFFNESS);
            }
        }
    }
}

#[cfg(test)]
mod tests;
