//! Elimination of one supernode in its dense front.

use std::ops::Range;

use super::dense::{self, FrontError};
use crate::block_sparse::BlockSparse;
use crate::factor_error::FactorError;
use crate::symbolic::{Supernode, Symbolic};

/// Buffers of a supernode.
#[derive(Debug, Default)]
pub(super) struct Front {
    /// Columns of L including the border, column-major; the upper triangle is undefined.
    pub(super) panel: Vec<f64>,
    /// Single-precision copy of the panel, if requested.
    pub(super) single: Vec<f32>,
    /// Update matrix for the parent, column-major; the upper triangle is undefined.
    pub(super) update: Vec<f64>,
}

/// Buffers for update matrices. A task reuses them, so that they stay in the processor cache.
pub(super) type Pool = Vec<Vec<f64>>;

/// Resizes a buffer to `length` zeros.
pub(super) fn zeros(buffer: &mut Vec<f64>, length: usize) -> Result<(), FactorError> {
    buffer.clear();
    let reserved = buffer.try_reserve_exact(length);
    reserved.map_err(|_| FactorError::OutOfMemory)?;
    buffer.resize(length, 0.0);
    Ok(())
}

/// Factorization of consecutive supernodes by one thread.
pub(super) struct SubtreeTask<'a> {
    pub(super) symbolic: &'a Symbolic,
    pub(super) matrix: &'a BlockSparse,
    /// Whether the dense work on a front is shared among threads.
    pub(super) is_shared: bool,
    /// First supernode of the task.
    pub(super) first: usize,
    /// Fronts of earlier stages, some of which are children.
    pub(super) done: &'a [Front],
    /// Fronts of this task.
    pub(super) fronts: &'a mut [Front],
    pub(super) pool: &'a mut Pool,
}

impl SubtreeTask<'_> {
    /// Factorizes the columns of a supernode. Its children must be factorized.
    pub(super) fn eliminate(&mut self, s: usize) -> Result<(), FactorError> {
        let supernode = &self.symbolic.supernodes[s];
        let (width, border) = (3 * supernode.width(), 3 * supernode.border.len());
        let mut front = std::mem::take(&mut self.fronts[s - self.first]);
        if front.update.capacity() == 0 && border > 0 {
            front.update = self.pool.pop().unwrap_or_default();
        }
        zeros(&mut front.panel, (width + border) * width)?;
        self.gather_matrix(supernode, &mut front.panel);
        if front.update.len() < border * border {
            zeros(&mut front.update, border * border)?;
        }
        let children = &self.symbolic.children[supernode.children.clone()];
        for &child in children {
            let (update, places) = self.child_update(child as usize);
            add_to_panel(update, places, supernode, &mut front.panel);
        }
        let (panel, update) = (&mut front.panel, &mut front.update);
        let result = dense::factorize(panel, update, width, border, self.is_shared);
        // The updates of children are added after the product, which overwrites the buffer.
        for &child in children {
            let (update, places) = self.child_update(child as usize);
            add_to_update(update, places, supernode, &mut front.update);
            if child as usize >= self.first {
                let done = &mut self.fronts[child as usize - self.first];
                self.pool.push(std::mem::take(&mut done.update));
            }
        }
        self.fronts[s - self.first] = front;
        result.map_err(|failure| match failure {
            FrontError::Pivot(column) => FactorError::NotPositiveDefinite {
                node: self.symbolic.order[supernode.columns.start + column / 3] as usize,
            },
            FrontError::Memory => FactorError::OutOfMemory,
        })
    }

    /// Update matrix of a child, and the rows of its border in the front of the parent.
    fn child_update(&self, child: usize) -> (&[f64], &[u32]) {
        let below = &self.symbolic.supernodes[child];
        let places = &self.symbolic.places[below.border.clone()];
        let front = match child.checked_sub(self.first) {
            Some(own) => &self.fronts[own],
            None => &self.done[child],
        };
        (&front.update, places)
    }

    /// Copies the entries of A to a panel.
    fn gather_matrix(&self, supernode: &Supernode, panel: &mut [f64]) {
        let stride = 3 * supernode.height();
        for entry in &self.symbolic.entries[supernode.entries.clone()] {
            let block = &self.matrix.values[entry.slot as usize];
            let block = if entry.transposed {
                block.transpose()
            } else {
                *block
            };
            let corner = 3 * entry.column as usize * stride + 3 * entry.row as usize;
            for (k, column) in block.to_cols_array_2d().iter().enumerate() {
                panel[corner + k * stride..][..3].copy_from_slice(column);
            }
        }
    }
}

/// Runs of consecutive places: (end in the child, shift to the parent). Runs are long, and adding
/// a run is much faster than adding 3×3 blocks.
fn runs_of(places: &[u32]) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for (k, &place) in places.iter().enumerate() {
        let shift = place as usize - k;
        match runs.last_mut() {
            Some(run) if run.1 == shift => run.0 = k + 1,
            _ => runs.push((k + 1, shift)),
        }
    }
    runs
}

/// Adds the update of a child to the panel of its parent. `places` are the rows of its border in
/// the front of the parent.
fn add_to_panel(update: &[f64], places: &[u32], supernode: &Supernode, panel: &mut [f64]) {
    let inside = places.partition_point(|&place| (place as usize) < supernode.width());
    let columns = 0..inside;
    add_columns(update, places, columns, panel, 3 * supernode.height(), 0);
}

/// Adds the update of a child to the update of its parent.
fn add_to_update(update: &[f64], places: &[u32], supernode: &Supernode, target: &mut [f64]) {
    let width = supernode.width();
    let inside = places.partition_point(|&place| (place as usize) < width);
    let columns = inside..places.len();
    add_columns(
        update,
        places,
        columns,
        target,
        3 * supernode.border.len(),
        width,
    );
}

/// Adds columns of the update of a child, from the diagonal down. `stride` is the height of the
/// target, whose rows and columns start at the place `skip`.
fn add_columns(
    update: &[f64],
    places: &[u32],
    columns: Range<usize>,
    target: &mut [f64],
    stride: usize,
    skip: usize,
) {
    let size = 3 * places.len();
    let runs = runs_of(places);
    let mut first_run = 0;
    for k in columns {
        while runs[first_run].0 <= k {
            first_run += 1;
        }
        let place = places[k] as usize - skip;
        for c in 0..3 {
            let source = &update[(3 * k + c) * size..][..size];
            let target = &mut target[(3 * place + c) * stride..][..stride];
            let mut row = 3 * k + c;
            for &(end, shift) in &runs[first_run..] {
                let source = &source[row..3 * end];
                let target = &mut target[row + 3 * shift - 3 * skip..][..source.len()];
                for (t, s) in target.iter_mut().zip(source) {
                    *t += s;
                }
                row = 3 * end;
            }
        }
    }
}
