//! Symmetric sparse matrices of 3×3 blocks, one block row per node.
//!
//! Only the lower triangle is stored, in compressed column storage. The pattern is separate from
//! the values and shared, because it is constant while the values change in every step. Held nodes
//! are isolated ([`BlockSparse::isolate`]) instead of removed, so that the symbolic factorization
//! is computed once.

use std::ops::Range;
use std::sync::Arc;

use glam::{DMat3, DVec3};

/// Sparsity pattern of a symmetric matrix of 3×3 blocks: the lower triangle, in compressed column
/// storage with ascending rows. The diagonal block is always present and first in its column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockPattern {
    starts: Vec<usize>,
    rows: Vec<u32>,
}

impl BlockPattern {
    /// Pattern with all diagonal blocks and the blocks of the given pairs of nodes. Pairs may be in
    /// any order, repeated, and `(i, j)` or `(j, i)`.
    ///
    /// # Panics
    /// If a node of a pair is not below `nodes`.
    pub fn new(nodes: usize, pairs: impl IntoIterator<Item = (u32, u32)>) -> Self {
        let mut keys: Vec<(u32, u32)> = pairs
            .into_iter()
            .filter(|(i, j)| i != j)
            .map(|(i, j)| (i.min(j), i.max(j)))
            .collect();
        keys.sort_unstable();
        keys.dedup();
        let mut starts = Vec::with_capacity(nodes + 1);
        let mut rows = Vec::with_capacity(nodes + keys.len());
        let mut next = keys.iter().peekable();
        for column in 0..nodes as u32 {
            starts.push(rows.len());
            rows.push(column);
            while let Some((_, row)) = next.next_if(|key| key.0 == column) {
                assert!((*row as usize) < nodes, "a pair with node {row} of {nodes}");
                rows.push(*row);
            }
        }
        assert!(next.peek().is_none(), "a pair with a node beyond {nodes}");
        starts.push(rows.len());
        Self { starts, rows }
    }

    /// Pattern from its compressed columns; `None` if they are not valid.
    pub fn from_columns(starts: Vec<usize>, rows: Vec<u32>) -> Option<Self> {
        let nodes = starts.len().checked_sub(1)?;
        let is_column = |column: usize| {
            let rows = rows.get(starts[column]..starts[column + 1])?;
            let is_ascending = rows.windows(2).all(|pair| pair[0] < pair[1]);
            let is_inside = rows.last().is_some_and(|last| (*last as usize) < nodes);
            let has_diagonal = rows.first().is_some_and(|row| *row as usize == column);
            (is_ascending && is_inside && has_diagonal).then_some(())
        };
        (0..nodes).try_for_each(is_column)?;
        let is_whole = starts[0] == 0 && starts[nodes] == rows.len();
        is_whole.then_some(Self { starts, rows })
    }

    /// Number of nodes, which is that of block rows and block columns.
    pub fn nodes(&self) -> usize {
        self.starts.len() - 1
    }

    /// Number of stored blocks.
    pub fn blocks(&self) -> usize {
        self.rows.len()
    }

    /// Index of the block at a row and a column (`row >= column`), if it is in the pattern.
    pub fn slot(&self, row: usize, column: usize) -> Option<usize> {
        let range = self.column(column);
        let found = self.rows[range.clone()].binary_search(&(row as u32));
        found.ok().map(|k| range.start + k)
    }

    /// Slots of a column; the first is its diagonal block.
    pub fn column(&self, column: usize) -> Range<usize> {
        self.starts[column]..self.starts[column + 1]
    }

    /// Row of every slot.
    pub fn rows(&self) -> &[u32] {
        &self.rows
    }
}

/// Symmetric matrix with a [`BlockPattern`].
#[derive(Clone, Debug)]
pub struct BlockSparse {
    pattern: Arc<BlockPattern>,
    /// One block per slot of the pattern. Diagonal blocks are stored in full and must be symmetric.
    pub values: Vec<DMat3>,
}

impl BlockSparse {
    /// Zero matrix with a pattern.
    pub fn zeros(pattern: Arc<BlockPattern>) -> Self {
        let values = vec![DMat3::ZERO; pattern.blocks()];
        Self { pattern, values }
    }

    /// Sparsity pattern.
    pub fn pattern(&self) -> &Arc<BlockPattern> {
        &self.pattern
    }

    /// `y = A x`, for flat vectors with three components per node. Runs on one thread: the product
    /// is limited by memory bandwidth, and its rounding must not depend on the threads.
    ///
    /// # Panics
    /// If a vector does not have three components per node.
    pub fn multiply(&self, x: &[f64], y: &mut [f64]) {
        let nodes = self.pattern.nodes();
        assert!(x.len() == 3 * nodes && y.len() == 3 * nodes);
        y.fill(0.0);
        for column in 0..nodes {
            let slots = self.pattern.column(column);
            let x_column = DVec3::from_slice(&x[3 * column..]);
            let mut sum = self.values[slots.start] * x_column;
            for slot in slots.start + 1..slots.end {
                let row = 3 * self.pattern.rows[slot] as usize;
                let block = &self.values[slot];
                sum += block.transpose() * DVec3::from_slice(&x[row..]);
                let product = *block * x_column + DVec3::from_slice(&y[row..]);
                product.write_to_slice(&mut y[row..]);
            }
            (sum + DVec3::from_slice(&y[3 * column..])).write_to_slice(&mut y[3 * column..]);
        }
    }

    /// Isolates the marked unknowns: their rows and columns become those of `scale` times the
    /// identity. The pattern does not change. A `scale` similar to the other diagonal entries keeps
    /// the condition number small.
    ///
    /// # Panics
    /// If `mask` does not have three entries per node.
    pub fn isolate(&mut self, mask: &[bool], scale: f64) {
        assert_eq!(mask.len(), 3 * self.pattern.nodes());
        let kept = |node: usize| {
            let part = |axis: usize| f64::from(u8::from(!mask[3 * node + axis]));
            DVec3::new(part(0), part(1), part(2))
        };
        for column in 0..self.pattern.nodes() {
            let slots = self.pattern.column(column);
            let kept_column = kept(column);
            for slot in slots.clone() {
                let kept_row = kept(self.pattern.rows[slot] as usize);
                if kept_row + kept_column == DVec3::splat(2.0) {
                    continue;
                }
                let block = &self.values[slot];
                // A product with zero would keep NaN.
                let entry = |row: usize, column: usize| {
                    if kept_row[row] * kept_column[column] == 0.0 {
                        0.0
                    } else {
                        block.col(column)[row]
                    }
                };
                let column_of = |c: usize| DVec3::new(entry(0, c), entry(1, c), entry(2, c));
                self.values[slot] = DMat3::from_cols(column_of(0), column_of(1), column_of(2));
            }
            let isolated = DVec3::ONE - kept_column;
            self.values[slots.start] += DMat3::from_diagonal(isolated * scale);
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::random::Random;
    use proptest::prelude::*;

    /// Random symmetric matrix, positive definite by diagonal dominance.
    pub(crate) fn random(nodes: usize, pairs: &[(u32, u32)], seed: u64) -> BlockSparse {
        let mut random = Random::new(seed);
        let pairs = pairs
            .iter()
            .map(|&(i, j)| (i % nodes as u32, j % nodes as u32));
        let pattern = Arc::new(BlockPattern::new(nodes, pairs));
        let mut matrix = BlockSparse::zeros(pattern.clone());
        for column in 0..nodes {
            for slot in pattern.column(column) {
                let entries: [f64; 9] = std::array::from_fn(|_| random.signed());
                let block = DMat3::from_cols_array(&entries);
                let row = pattern.rows()[slot] as usize;
                if row == column {
                    let half = (block + block.transpose()) * 0.1;
                    matrix.values[slot] += half + DMat3::IDENTITY;
                    continue;
                }
                matrix.values[slot] = block;
                // The absolute row sums of the block are at most 3.
                for node in [row, column] {
                    matrix.values[pattern.column(node).start] += DMat3::IDENTITY * 3.0;
                }
            }
        }
        matrix
    }

    pub(crate) fn dense(matrix: &BlockSparse) -> Vec<Vec<f64>> {
        let nodes = matrix.pattern().nodes();
        let mut full = vec![vec![0.0; 3 * nodes]; 3 * nodes];
        for column in 0..nodes {
            for slot in matrix.pattern().column(column) {
                let row = matrix.pattern().rows()[slot] as usize;
                for (a, b) in (0..3).flat_map(|a| (0..3).map(move |b| (a, b))) {
                    let value = matrix.values[slot].col(b)[a];
                    full[3 * row + a][3 * column + b] = value;
                    full[3 * column + b][3 * row + a] = value;
                }
            }
        }
        full
    }

    fn close(x: &[f64], y: &[f64]) -> bool {
        x.len() == y.len() && x.iter().zip(y).all(|(a, b)| (a - b).abs() < 1e-11)
    }

    fn product(full: &[Vec<f64>], x: &[f64]) -> Vec<f64> {
        let row = |r: &Vec<f64>| r.iter().zip(x).map(|(a, b)| a * b).sum();
        full.iter().map(row).collect()
    }

    #[test]
    fn pairs_are_sorted_and_merged() {
        let pattern = BlockPattern::new(4, [(3, 1), (1, 3), (0, 2), (2, 2), (1, 0)]);
        assert_eq!(pattern.rows(), [0, 1, 2, 1, 3, 2, 3]);
        assert_eq!(pattern.blocks(), 7);
        assert_eq!(pattern.slot(3, 1), Some(4));
        assert_eq!(pattern.slot(2, 1), None);
        assert_eq!(pattern.slot(2, 2), Some(5));
        assert_eq!(BlockPattern::new(0, []).nodes(), 0);
    }

    #[test]
    fn invalid_columns_are_refused() {
        let pattern = BlockPattern::new(4, [(3, 1), (0, 2)]);
        let (starts, rows) = (vec![0, 2, 4, 5, 6], vec![0, 2, 1, 3, 2, 3]);
        let stored = BlockPattern::from_columns(starts.clone(), rows.clone());
        assert_eq!(stored, Some(pattern));
        let refuses = |starts: &[usize], rows: &[u32]| {
            let stored = BlockPattern::from_columns(starts.to_vec(), rows.to_vec());
            assert_eq!(stored, None, "{starts:?} {rows:?}");
        };
        refuses(&[], &[]);
        refuses(&[0, 2, 4, 5], &rows);
        refuses(&[0, 4, 2, 5, 6], &rows);
        refuses(&[0, 2, 4, 5, 9], &rows);
        refuses(&starts, &[2, 0, 1, 3, 2, 3]);
        refuses(&starts, &[0, 2, 1, 4, 2, 3]);
        refuses(&starts, &[0, 2, 1, 3, 3, 3]);
    }

    proptest! {
        #[test]
        fn products_agree_with_the_dense_matrix(
            nodes in 1usize..12,
            pairs in prop::collection::vec((0u32..12, 0u32..12), 0..40),
            seed: u64,
        ) {
            let matrix = random(nodes, &pairs, seed);
            let x: Vec<f64> = (0..3 * nodes).map(|i| (i as f64 * 0.7).sin()).collect();
            let mut y = vec![f64::NAN; 3 * nodes];
            matrix.multiply(&x, &mut y);
            prop_assert!(close(&y, &product(&dense(&matrix), &x)));
        }

        #[test]
        fn isolated_unknowns_have_rows_of_a_scaled_identity(
            mask in prop::collection::vec(any::<[bool; 3]>(), 1..12),
            pairs in prop::collection::vec((0u32..12, 0u32..12), 0..40),
            seed: u64,
        ) {
            let mut matrix = random(mask.len(), &pairs, seed);
            let before = dense(&matrix);
            let mask = mask.as_flattened();
            matrix.isolate(mask, 2.5);
            let after = dense(&matrix);
            for i in 0..before.len() {
                for j in 0..before.len() {
                    let is_isolated = mask[i] || mask[j];
                    let wanted = if i == j { 2.5 } else { 0.0 };
                    prop_assert_eq!(after[i][j], if is_isolated { wanted } else { before[i][j] });
                }
            }
        }
    }
}
