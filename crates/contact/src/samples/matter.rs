//! Matrices of elastic bodies, as sums of squares.
//!
//! The energy of every element is a sum of terms ½ k (Σ_j d_j · x_j)². So K is symmetric and positive semidefinite
//! whatever the d_j are, and a motion that no square sees costs nothing.

use std::sync::Arc;

use glam::{DMat3, DVec3};
use rayon::prelude::*;

use crate::block_sparse::{BlockPattern, BlockSparse};
use crate::lanes::LANES;
use crate::symmetric::outer;
use crate::system::Matrix;

/// ½ k (Σ_j d_j · x_j)².
#[derive(Clone, Debug)]
pub(super) struct Square {
    /// k.
    pub(super) stiffness: f64,
    /// Nodes j and their d_j.
    pub(super) form: Vec<(u32, DVec3)>,
}

/// Lamé's λ and μ (Pa).
#[derive(Clone, Copy, Debug)]
pub(super) struct Lame {
    pub(super) lambda: f64,
    pub(super) mu: f64,
}

impl Lame {
    /// Of a material with Poisson's ratio 0.3.
    pub(super) fn new(young: f64) -> Self {
        let poisson = 0.3;
        Self {
            lambda: young * poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson)),
            mu: 0.5 * young / (1.0 + poisson),
        }
    }
}

/// Linear elasticity with a constant strain: ½ V (λ tr² ε + 2 μ ε : ε), where the displacement gradient is
/// Σ_j x_j g_jᵀ.
pub(super) fn elastic(volume: f64, lame: Lame, gradients: &[(u32, DVec3)]) -> Vec<Square> {
    let square = |stiffness: f64, along: &dyn Fn(DVec3) -> DVec3| Square {
        stiffness: volume * stiffness,
        form: gradients
            .iter()
            .map(|(node, g)| (*node, along(*g)))
            .collect(),
    };
    let mut squares = vec![square(lame.lambda, &|g| g)];
    for (i, axis) in DVec3::AXES.into_iter().enumerate() {
        squares.push(square(2.0 * lame.mu, &|g| axis * g[i]));
        let (j, next) = ((i + 1) % 3, DVec3::AXES[(i + 1) % 3]);
        // 2 μ (ε_ij² + ε_ji²) = μ (2 ε_ij)².
        squares.push(square(lame.mu, &|g| axis * g[j] + next * g[i]));
    }
    squares
}

/// A spring between two nodes, along its direction only.
pub(super) fn spring(stiffness: f64, nodes: [u32; 2], direction: DVec3) -> Square {
    Square {
        stiffness,
        form: vec![(nodes[0], -direction), (nodes[1], direction)],
    }
}

/// Resists ‖x₀ − 2 x₁ + x₂‖ in all directions.
pub(super) fn bend(stiffness: f64, nodes: [u32; 3]) -> [Square; 3] {
    DVec3::AXES.map(|axis| Square {
        stiffness,
        form: vec![(nodes[0], axis), (nodes[1], axis * -2.0), (nodes[2], axis)],
    })
}

/// K of a body: Σ k d dᵀ.
pub(super) fn assemble(nodes: usize, squares: &[Square]) -> BlockSparse {
    let pairs = squares.iter().flat_map(|square| {
        let nodes = square.form.iter().map(|(node, _)| *node);
        nodes.flat_map(|one| square.form.iter().map(move |(other, _)| (one, *other)))
    });
    let pattern = Arc::new(BlockPattern::new(nodes, pairs));
    let mut matrix = BlockSparse::zeros(pattern.clone());
    for Square { stiffness, form } in squares {
        for (row, a) in form {
            for (column, b) in form.iter().filter(|(column, _)| column <= row) {
                if let Some(slot) = pattern.slot(*row as usize, *column as usize) {
                    matrix.values[slot] += outer(*a, *b) * *stiffness;
                }
            }
        }
    }
    matrix
}

/// Multiplies the entry of every two degrees of freedom by a factor and by the lengths of both.
pub(super) fn scale(matrix: &mut Matrix, factor: f64, lengths: &[f64]) {
    match matrix {
        Matrix::Blocks(matrix) => {
            let pattern = matrix.pattern().clone();
            let part = |node: usize| DMat3::from_diagonal(DVec3::from_slice(&lengths[3 * node..]));
            for column in 0..pattern.nodes() {
                for slot in pattern.column(column) {
                    let of_row = part(pattern.rows()[slot] as usize) * factor;
                    matrix.values[slot] = of_row * matrix.values[slot] * part(column);
                }
            }
        }
        Matrix::Rods(batch) => {
            let (layout, count) = (batch.layout().clone(), batch.count());
            let width = layout.bandwidth() + 1;
            let mut unknowns = vec![0; layout.size()];
            for unknown in 0..layout.size() {
                unknowns[layout.row(unknown)] = unknown;
            }
            batch.groups_mut().enumerate().for_each(|(group, entries)| {
                for rod in group * LANES..count.min((group + 1) * LANES) {
                    let length = |row: usize| lengths[rod * layout.size() + unknowns[row]];
                    for row in 0..layout.size() {
                        for column in row.saturating_sub(width - 1)..=row {
                            let entry = &mut entries[row * width + (row - column)].0[rod % LANES];
                            *entry *= factor * length(row) * length(column);
                        }
                    }
                }
            });
        }
    }
}
