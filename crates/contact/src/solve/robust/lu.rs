//! LU factors of unsymmetric matrices of 3×3 blocks whose pattern is symmetric.
//!
//! Multifrontal like [`crate::cholesky`], on the same tree of supernodes. Pivoting is restricted to
//! the rows that a front eliminates, so that the symbolic factorization is done once per pattern.
//! Compared with pivoting over all rows little accuracy is lost, since every contact adds a
//! diagonal block. Contacts between the same two bodies have the same neighbours, and are ordered
//! together.

use std::collections::BTreeMap;

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::lu::partial_pivoting::factor as dense;
use faer::linalg::matmul::matmul;
use faer::linalg::triangular_solve::{
    solve_lower_triangular_in_place, solve_unit_lower_triangular_in_place,
};
use faer::prelude::{IntoConst, ReborrowMut};
use faer::{Accum, MatMut, Par, Spec};
use glam::{DMat3, DVec3};
use rayon::prelude::*;

use crate::block_rows::BlockRows;
use crate::block_sparse::BlockPattern;
use crate::order::minimum_degree;
use crate::parallel::split_by_lengths;
use crate::symbolic::{Supernode, Symbolic};

/// The blocks of a matrix by the slots of a symmetric pattern.
#[derive(Clone, Debug)]
struct Blocks {
    /// At (row, column) of the pattern, which is the lower triangle.
    lower: Vec<DMat3>,
    /// At (column, row).
    upper: Vec<DMat3>,
}

/// The eliminated part of a supernode, and its update matrix for the parent.
#[derive(Clone, Debug, Default)]
struct Front {
    /// L₁₁ and U₁₁ above L₂₁.
    columns: Vec<f64>,
    /// U₁₂.
    rows: Vec<f64>,
    /// Row of the k-th pivot.
    pivots: Vec<usize>,
    update: Vec<f64>,
}

/// The factors of a matrix whose diagonal blocks change.
#[derive(Debug)]
pub(super) struct Lu {
    symbolic: Symbolic,
    blocks: Blocks,
    /// The slot of each diagonal block.
    diagonals: Vec<usize>,
    fronts: Vec<Front>,
    /// Floating-point operations of a factorization.
    operations: f64,
    /// Floating-point operations of all factorizations and solves so far.
    spent: f64,
}

impl Lu {
    /// Allocates the factors of a matrix; `None` if memory runs out.
    pub(super) fn new(matrix: &BlockRows) -> Option<Self> {
        let size = matrix.rows();
        let pairs = (0..size).flat_map(|row| {
            let (columns, _) = matrix.row(row);
            columns.iter().map(move |column| (row as u32, *column))
        });
        let pattern = BlockPattern::new(size, pairs);
        let mut blocks = Blocks {
            lower: vec![DMat3::ZERO; pattern.blocks()],
            upper: vec![DMat3::ZERO; pattern.blocks()],
        };
        for row in 0..size {
            let (columns, values) = matrix.row(row);
            for (column, block) in columns.iter().zip(values) {
                let column = *column as usize;
                let slot = pattern.slot(row.max(column), row.min(column))?;
                if row >= column {
                    blocks.lower[slot] = *block;
                } else {
                    blocks.upper[slot] = *block;
                }
            }
        }
        let symbolic = Symbolic::with_order(&pattern, &order(matrix)?).ok()?;
        Some(Self {
            fronts: vec![Front::default(); symbolic.supernodes.len()],
            diagonals: (0..size).map(|node| pattern.column(node).start).collect(),
            operations: 2.0 * symbolic.operations(),
            spent: 0.0,
            symbolic,
            blocks,
        })
    }

    /// Approximate floating-point operations of a factorization.
    pub(super) fn operations(&self) -> f64 {
        self.operations
    }

    /// Approximate floating-point operations so far.
    pub(super) fn spent(&self) -> f64 {
        self.spent
    }

    /// Factorizes the matrix with `shift(contact)` added to the diagonal. `None` if it is singular
    /// to rounding, or memory runs out.
    pub(super) fn factorize(
        &mut self,
        matrix: &BlockRows,
        shift: impl Fn(usize) -> DMat3,
    ) -> Option<()> {
        for (contact, slot) in self.diagonals.iter().enumerate() {
            self.blocks.lower[*slot] = *matrix.diagonal(contact) + shift(contact);
        }
        self.spent += self.operations;
        for stage in &self.symbolic.stages {
            let tasks = &self.symbolic.tasks[stage.clone()];
            let Some(first) = tasks.first() else {
                continue;
            };
            let (done, rest) = self.fronts.split_at_mut(first.start);
            let fronts = split_by_lengths(rest, tasks.iter().map(|task| task.len()));
            let work: Vec<_> = tasks.iter().zip(fronts).collect();
            let eliminate = |(task, fronts)| {
                let mut elimination = EliminationTask {
                    symbolic: &self.symbolic,
                    blocks: &self.blocks,
                    done,
                    fronts,
                };
                std::ops::Range::clone(task).try_for_each(|s| elimination.eliminate(s, task.start))
            };
            match work.len() {
                1 => work.into_iter().try_for_each(eliminate)?,
                _ => work.into_par_iter().try_for_each(eliminate)?,
            }
        }
        Some(())
    }

    /// Replaces `x` by the solution.
    pub(super) fn solve_in_place(&mut self, x: &mut [DVec3]) {
        self.spent += 4.0 * self.symbolic.factor_entries() as f64;
        let order = &self.symbolic.order;
        let mut y: Vec<f64> = Vec::with_capacity(3 * x.len());
        for node in order {
            y.extend(x[*node as usize].to_array());
        }
        let mut local = Vec::new();
        for (supernode, front) in self.symbolic.supernodes.iter().zip(&self.fronts) {
            let border = &self.symbolic.borders[supernode.border.clone()];
            front.forward(supernode, border, &mut y, &mut local);
        }
        for (supernode, front) in self.symbolic.supernodes.iter().zip(&self.fronts).rev() {
            let border = &self.symbolic.borders[supernode.border.clone()];
            front.backward(supernode, border, &mut y, &mut local);
        }
        for (y, node) in y.chunks_exact(3).zip(order) {
            x[*node as usize] = DVec3::from_slice(y);
        }
    }
}

/// Elimination order: minimum degree on groups of contacts with the same neighbours.
fn order(matrix: &BlockRows) -> Option<Vec<u32>> {
    let mut groups: BTreeMap<&[u32], Vec<u32>> = BTreeMap::new();
    for row in 0..matrix.rows() {
        groups
            .entry(matrix.row(row).0)
            .or_default()
            .push(row as u32);
    }
    let mut group_of = vec![0; matrix.rows()];
    for (group, members) in groups.values().enumerate() {
        for member in members {
            group_of[*member as usize] = group as u32;
        }
    }
    let pairs = groups.keys().enumerate().flat_map(|(group, columns)| {
        let others = columns.iter().map(|column| group_of[*column as usize]);
        others.map(move |other| (group as u32, other))
    });
    let pattern = BlockPattern::new(groups.len(), pairs);
    let members: Vec<Vec<u32>> = groups.into_values().collect();
    let order = minimum_degree(&pattern).ok()?;
    Some(
        order
            .iter()
            .flat_map(|group| members[*group as usize].iter().copied())
            .collect(),
    )
}

/// The supernodes that one thread eliminates.
struct EliminationTask<'a> {
    symbolic: &'a Symbolic,
    blocks: &'a Blocks,
    /// Fronts of earlier stages.
    done: &'a [Front],
    /// Fronts of this task.
    fronts: &'a mut [Front],
}

impl EliminationTask<'_> {
    /// Assembles and factorizes the front of a supernode; `first` is the first one of the task.
    fn eliminate(&mut self, index: usize, first: usize) -> Option<()> {
        let supernode = &self.symbolic.supernodes[index];
        let (width, border) = (3 * supernode.width(), 3 * supernode.border.len());
        let mut front = std::mem::take(&mut self.fronts[index - first]);
        clear(&mut front.columns, (width + border) * width);
        clear(&mut front.rows, width * border);
        clear(&mut front.update, border * border);
        self.gather(supernode, &mut front);
        for &child in &self.symbolic.children[supernode.children.clone()] {
            let below = &self.symbolic.supernodes[child as usize];
            let places = &self.symbolic.places[below.border.clone()];
            let child = match (child as usize).checked_sub(first) {
                Some(own) => &self.fronts[own],
                None => &self.done[child as usize],
            };
            front.add(&child.update, places, supernode);
        }
        let result = front.factorize(width, border);
        self.fronts[index - first] = front;
        result
    }

    /// Copies the entries of the matrix into a front.
    fn gather(&self, supernode: &Supernode, front: &mut Front) {
        let (width, height) = (3 * supernode.width(), 3 * supernode.height());
        for entry in &self.symbolic.entries[supernode.entries.clone()] {
            let (row, column) = (3 * entry.row as usize, 3 * entry.column as usize);
            let mut below = &self.blocks.lower[entry.slot as usize];
            let mut right = &self.blocks.upper[entry.slot as usize];
            if entry.transposed {
                std::mem::swap(&mut below, &mut right);
            }
            for k in 0..3 {
                let target = &mut front.columns[(column + k) * height + row..];
                below.col(k).write_to_slice(target);
            }
            if row == column {
                continue;
            }
            for k in 0..3 {
                let target = if row < width {
                    &mut front.columns[(row + k) * height + column..]
                } else {
                    &mut front.rows[(row - width + k) * width + column..]
                };
                right.col(k).write_to_slice(target);
            }
        }
    }
}

impl Front {
    /// Adds the update matrix of a child; `places` are the rows of its border in this front.
    fn add(&mut self, update: &[f64], places: &[u32], supernode: &Supernode) {
        let (width, height) = (3 * supernode.width(), 3 * supernode.height());
        let (size, border) = (3 * places.len(), height - width);
        let inside = places.partition_point(|place| 3 * (*place as usize) < width);
        for (k, place) in places.iter().enumerate() {
            for c in 0..3 {
                let source = &update[(3 * k + c) * size..][..size];
                let column = 3 * *place as usize + c;
                if k < inside {
                    scatter(source, places, 0, &mut self.columns[column * height..]);
                    continue;
                }
                let (top, bottom) = source.split_at(3 * inside);
                let column = column - width;
                scatter(top, places, 0, &mut self.rows[column * width..]);
                let target = &mut self.update[column * border..];
                scatter(bottom, &places[inside..], width, target);
            }
        }
    }

    /// P F₁₁ = L₁₁ U₁₁, U₁₂ = L₁₁⁻¹ P F₁₂, L₂₁ = F₂₁ U₁₁⁻¹, and the update matrix F₂₂ − L₂₁ U₁₂.
    fn factorize(&mut self, width: usize, border: usize) -> Option<()> {
        let columns = MatMut::from_column_major_slice_mut(&mut self.columns, width + border, width);
        let (mut top, mut below) = columns.split_at_row_mut(width);
        let mut inverse = vec![0; width];
        self.pivots.resize(width, 0);
        let request =
            dense::lu_in_place_scratch::<usize, f64>(width, width, Par::Seq, Spec::default());
        let mut memory = MemBuffer::try_new(request).ok()?;
        dense::lu_in_place(
            top.rb_mut(),
            &mut self.pivots,
            &mut inverse,
            Par::Seq,
            MemStack::new(&mut memory),
            Spec::default(),
        );
        let top = top.into_const();
        if !(0..width).all(|k| top[(k, k)].is_normal()) {
            return None;
        }
        if border == 0 {
            return Some(());
        }
        let mut sorted = vec![0.0; width];
        for column in self.rows.chunks_exact_mut(width) {
            for (target, row) in sorted.iter_mut().zip(&self.pivots) {
                *target = column[*row];
            }
            column.copy_from_slice(&sorted);
        }
        let mut rows = MatMut::from_column_major_slice_mut(&mut self.rows, width, border);
        solve_unit_lower_triangular_in_place(top, rows.rb_mut(), Par::Seq);
        solve_lower_triangular_in_place(top.transpose(), below.rb_mut().transpose_mut(), Par::Seq);
        let update = MatMut::from_column_major_slice_mut(&mut self.update, border, border);
        let (below, rows) = (below.into_const(), rows.into_const());
        matmul(update, Accum::Add, below, rows, -1.0, Par::Seq);
        Some(())
    }

    /// Forward substitution with L for the columns of a supernode; updates the rows of its border.
    fn forward(&self, supernode: &Supernode, border: &[u32], y: &mut [f64], local: &mut Vec<f64>) {
        let (width, height) = (3 * supernode.width(), 3 * supernode.height());
        let start = 3 * supernode.columns.start;
        local.clear();
        local.extend(self.pivots.iter().map(|row| y[start + row]));
        local.resize(height, 0.0);
        for (k, column) in self.columns.chunks_exact(height).enumerate() {
            let value = local[k];
            for (target, factor) in local[k + 1..].iter_mut().zip(&column[k + 1..]) {
                *target -= factor * value;
            }
        }
        y[start..start + width].copy_from_slice(&local[..width]);
        for (part, row) in local[width..].chunks_exact(3).zip(border) {
            for (target, part) in y[3 * *row as usize..].iter_mut().zip(part) {
                *target += part;
            }
        }
    }

    /// Backward substitution with U for the columns of a supernode, after those of its border.
    fn backward(&self, supernode: &Supernode, border: &[u32], y: &mut [f64], local: &mut Vec<f64>) {
        let (width, height) = (3 * supernode.width(), 3 * supernode.height());
        let start = 3 * supernode.columns.start;
        local.clear();
        local.extend_from_slice(&y[start..start + width]);
        for (columns, row) in self.rows.chunks_exact(3 * width).zip(border) {
            let value = &y[3 * *row as usize..][..3];
            let (a, rest) = columns.split_at(width);
            let (b, c) = rest.split_at(width);
            for (target, ((a, b), c)) in local.iter_mut().zip(a.iter().zip(b).zip(c)) {
                *target -= a * value[0] + b * value[1] + c * value[2];
            }
        }
        for (k, column) in self.columns.chunks_exact(height).enumerate().rev() {
            let value = local[k] / column[k];
            local[k] = value;
            for (target, factor) in local[..k].iter_mut().zip(column) {
                *target -= factor * value;
            }
        }
        y[start..start + width].copy_from_slice(local);
    }
}

/// Resizes a buffer and sets it to zero.
fn clear(values: &mut Vec<f64>, length: usize) {
    values.clear();
    values.resize(length, 0.0);
}

/// Adds a column to the block rows at `places`; `target` starts at the scalar row `skip`.
fn scatter(source: &[f64], places: &[u32], skip: usize, target: &mut [f64]) {
    for (source, place) in source.chunks_exact(3).zip(places) {
        let target = &mut target[3 * *place as usize - skip..][..3];
        for (target, source) in target.iter_mut().zip(source) {
            *target += source;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Largest ‖(A x − b)_c‖ for an unsymmetric A without diagonal dominance.
    fn error(size: u32, entries: &[(u32, u32, [i8; 9])]) -> Option<f64> {
        let block = |e: &[i8; 9]| DMat3::from_cols_array(&e.map(|x| f64::from(x) / 64.0));
        let entries = entries
            .iter()
            .map(|(i, j, e)| (i % size, j % size, block(e)));
        let matrix = BlockRows::new(size as usize, entries);
        let mut lu = Lu::new(&matrix).unwrap();
        // A permutation as the shift: no diagonal entry is a pivot.
        let shift = DMat3::from_cols(DVec3::Y, DVec3::Z, DVec3::X) * 30.0;
        lu.factorize(&matrix, |_| DMat3::IDENTITY)?;
        lu.factorize(&matrix, |_| shift)?;
        let b: Vec<DVec3> = (0..size)
            .map(|i| DVec3::new(f64::from(i).cos(), 1.0, -0.5))
            .collect();
        let mut x = b.clone();
        lu.solve_in_place(&mut x);
        let mut product = vec![DVec3::ZERO; b.len()];
        matrix.multiply(&x, &mut product);
        let errors = (0..b.len()).map(|c| (product[c] + shift * x[c] - b[c]).length());
        Some(errors.fold(0.0, f64::max))
    }

    proptest! {
        #[test]
        fn solves_unsymmetric_systems(
            size in 1u32..40,
            entries in prop::collection::vec((0u32..40, 0u32..40, any::<[i8; 9]>()), 0..150),
        ) {
            if let Some(error) = error(size, &entries) {
                prop_assert!(error < 1e-9, "{error}");
            }
        }
    }

    #[test]
    fn singular_and_nan_matrices_are_rejected() {
        let matrix = BlockRows::new(2, [(0, 1, DMat3::IDENTITY)]);
        let mut lu = Lu::new(&matrix).unwrap();
        assert!(lu.factorize(&matrix, |_| DMat3::ZERO).is_none());
        assert!(lu.factorize(&matrix, |_| DMat3::NAN).is_none());
        assert!(lu.factorize(&matrix, |_| DMat3::IDENTITY).is_some());
    }

    #[test]
    fn results_are_bit_identical_on_one_and_two_threads() {
        let side = 40;
        let cells = (0..side * side).filter(|k| k % side + 1 < side && k / side + 1 < side);
        let pairs = cells.flat_map(|k| [(k, k + 1), (k + side, k), (k + side + 1, k)]);
        let block = DMat3::from_cols_array(&[1.0, 0.5, 0.2, -0.3, 1.0, 0.1, 0.4, -0.6, 1.0]);
        let matrix = BlockRows::new((side * side) as usize, pairs.map(|(i, j)| (i, j, block)));
        let solve = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            pool.unwrap().install(|| {
                let mut lu = Lu::new(&matrix).unwrap();
                assert!(lu.symbolic.tasks.len() > 1, "there is only one task");
                lu.factorize(&matrix, |_| DMat3::from_diagonal(DVec3::splat(5.0)))
                    .unwrap();
                let mut x = vec![DVec3::new(1.0, 2.0, 3.0); matrix.rows()];
                lu.solve_in_place(&mut x);
                x
            })
        };
        assert_eq!(solve(1), solve(2));
    }
}
