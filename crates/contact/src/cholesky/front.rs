//! The elimination of one supernode in its dense front.

use std::ops::Range;

use super::FactorError;
use super::dense::{self, Failure};
use crate::block_sparse::BlockSparse;
use crate::symbolic::{Supernode, Symbolic};

/// The buffers of a supernode.
#[derive(Debug, Default)]
pub(super) struct Front {
    /// Its columns of L, column-major, with its border below; the upper triangle means nothing.
    pub(super) panel: Vec<f64>,
    /// The same in single precision, where that was asked for.
    pub(super) light: Vec<f32>,
    /// What it leaves for its parent, column-major, lower triangle; the rest means nothing.
    pub(super) update: Vec<f64>,
}

/// Buffers for updates, used over and over by one task, so that they stay in the cache.
pub(super) type Pool = Vec<Vec<f64>>;

/// Makes a buffer hold `length` zeros.
pub(super) fn zeros(buffer: &mut Vec<f64>, length: usize) -> Result<(), FactorError> {
    buffer.clear();
    let reserved = buffer.try_reserve_exact(length);
    reserved.map_err(|_| FactorError::OutOfMemory)?;
    buffer.resize(length, 0.0);
    Ok(())
}

/// A task at work.
pub(super) struct Task<'a> {
    pub(super) symbolic: &'a Symbolic,
    pub(super) matrix: &'a BlockSparse,
    /// Whether the dense work on a front is shared among threads.
    pub(super) is_shared: bool,
    /// The first supernode of the task.
    pub(super) first: usize,
    /// The fronts of earlier stages, which may hold children.
    pub(super) done: &'a [Front],
    /// The fronts of this task.
    pub(super) fronts: &'a mut [Front],
    pub(super) pool: &'a mut Pool,
}

impl Task<'_> {
    /// Factorizes the columns of a supernode, whose children must be done.
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
            let (update, places) = self.left_by(child as usize);
            add_to_panel(update, places, supernode, &mut front.panel);
        }
        let result = dense::factorize(&mut front, width, border, self.is_shared);
        // What children leave to the parent comes after the product, which then need not be added to anything.
        for &child in children {
            let (update, places) = self.left_by(child as usize);
            add_to_update(update, places, supernode, &mut front.update);
            if child as usize >= self.first {
                let done = &mut self.fronts[child as usize - self.first];
                self.pool.push(std::mem::take(&mut done.update));
            }
        }
        self.fronts[s - self.first] = front;
        result.map_err(|failure| match failure {
            Failure::Pivot(column) => FactorError::NotPositiveDefinite {
                node: self.symbolic.order[supernode.columns.start + column / 3] as usize,
            },
            Failure::Memory => FactorError::OutOfMemory,
        })
    }

    /// What a child has left, and the places of its border in the front of its parent.
    fn left_by(&self, child: usize) -> (&[f64], &[u32]) {
        let below = &self.symbolic.supernodes[child];
        let places = &self.symbolic.places[below.border.clone()];
        let front = match child.checked_sub(self.first) {
            Some(own) => &self.fronts[own],
            None => &self.done[child],
        };
        (&front.update, places)
    }

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

/// Runs of consecutive places (end in the child, shift to the parent): they are long, and adding whole runs is much faster
/// than adding 3×3 blocks.
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

/// Adds what a child left to the columns that its parent eliminates. `places` are those of its border there.
fn add_to_panel(update: &[f64], places: &[u32], supernode: &Supernode, panel: &mut [f64]) {
    let inside = places.partition_point(|&place| (place as usize) < supernode.width());
    let columns = 0..inside;
    add_columns(update, places, columns, panel, 3 * supernode.height(), 0);
}

/// Adds what a child left to what its parent leaves.
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

/// Adds some columns of a child's update, from the diagonal down. `stride` is the height of the target, and its rows and
/// columns count from the place `skip`.
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
