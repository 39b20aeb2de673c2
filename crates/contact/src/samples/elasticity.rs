//! Stiffness matrices of elastic bodies.
//!
//! The energy of an element is a sum of terms ½ k (Σ_j d_j · x_j)². K is therefore symmetric and
//! positive semidefinite for any d_j.

use std::sync::Arc;

use glam::{DMat3, DVec3};
use rayon::prelude::*;

use crate::block_sparse::{BlockPattern, BlockSparse};
use crate::lanes::LANES;
use crate::symmetric::outer;
use crate::system::Matrix;

/// Energy ½ k (Σ_j d_j · x_j)².
#[derive(Clone, Debug)]
pub(super) struct QuadraticTerm {
    /// k.
    pub(super) stiffness: f64,
    /// Nodes j and their d_j.
    pub(super) form: Vec<(u32, DVec3)>,
}

/// Lamé parameters λ and μ (Pa).
#[derive(Clone, Copy, Debug)]
pub(super) struct LameParameters {
    pub(super) lambda: f64,
    pub(super) mu: f64,
}

impl LameParameters {
    /// Parameters for Poisson's ratio 0.3.
    pub(super) fn new(young: f64) -> Self {
        let poisson = 0.3;
        Self {
            lambda: young * poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson)),
            mu: 0.5 * young / (1.0 + poisson),
        }
    }
}

/// Linear elasticity of an element with constant strain: ½ V (λ tr² ε + 2 μ ε : ε), where the
/// displacement gradient is Σ_j x_j g_jᵀ.
pub(super) fn elastic(
    volume: f64,
    lame: LameParameters,
    gradients: &[(u32, DVec3)],
) -> Vec<QuadraticTerm> {
    let term = |stiffness: f64, along: &dyn Fn(DVec3) -> DVec3| QuadraticTerm {
        stiffness: volume * stiffness,
        form: gradients
            .iter()
            .map(|(node, g)| (*node, along(*g)))
            .collect(),
    };
    let mut terms = vec![term(lame.lambda, &|g| g)];
    for (i, axis) in DVec3::AXES.into_iter().enumerate() {
        terms.push(term(2.0 * lame.mu, &|g| axis * g[i]));
        let (j, next) = ((i + 1) % 3, DVec3::AXES[(i + 1) % 3]);
        // 2 μ (ε_ij² + ε_ji²) = μ (2 ε_ij)².
        terms.push(term(lame.mu, &|g| axis * g[j] + next * g[i]));
    }
    terms
}

/// Spring between two nodes along a fixed direction.
pub(super) fn spring(stiffness: f64, nodes: [u32; 2], direction: DVec3) -> QuadraticTerm {
    QuadraticTerm {
        stiffness,
        form: vec![(nodes[0], -direction), (nodes[1], direction)],
    }
}

/// Bending energy ½ k ‖x₀ − 2 x₁ + x₂‖².
pub(super) fn bend(stiffness: f64, nodes: [u32; 3]) -> [QuadraticTerm; 3] {
    DVec3::AXES.map(|axis| QuadraticTerm {
        stiffness,
        form: vec![(nodes[0], axis), (nodes[1], axis * -2.0), (nodes[2], axis)],
    })
}

/// Stiffness matrix K = Σ k d dᵀ of a body.
pub(super) fn assemble(nodes: usize, terms: &[QuadraticTerm]) -> BlockSparse {
    let pairs = terms.iter().flat_map(|term| {
        let nodes = term.form.iter().map(|(node, _)| *node);
        nodes.flat_map(|one| term.form.iter().map(move |(other, _)| (one, *other)))
    });
    let pattern = Arc::new(BlockPattern::new(nodes, pairs));
    let mut matrix = BlockSparse::zeros(pattern.clone());
    for QuadraticTerm { stiffness, form } in terms {
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

/// Multiplies every entry by a factor and by the lengths of its row and column.
pub(super) fn scale(matrix: &mut Matrix, factor: f64, lengths: &[f64]) {
    match matrix {
        Matrix::Blocks(matrix) => {
            let pattern = matrix.pattern().clone();
            let part = |node: usize| DMat3::from_diagonal(DVec3::from_slice(&lengths[3 * node..]));
            for column in 0..pattern.nodes() {
                for slot in pattern.column(column) {
                    let row_part = part(pattern.rows()[slot] as usize) * factor;
                    matrix.values[slot] = row_part * matrix.values[slot] * part(column);
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
