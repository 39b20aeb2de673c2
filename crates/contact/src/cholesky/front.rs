//! The elimination of one supernode in its dense front.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor as dense;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::{Accum, MatMut, Par, Spec};

use super::FactorError;
use crate::block_sparse::BlockSparse;
use crate::symbolic::{Supernode, Symbolic};

/// The buffers of a supernode.
#[derive(Debug, Default)]
pub(super) struct Front {
    /// Its columns of L, column-major, with its border below; the upper triangle means nothing.
    pub(super) panel: Vec<f64>,
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

/// Sets the lower triangle of an update to zero.
fn clear_lower(update: &mut [f64], size: usize) {
    let columns = update.chunks_exact_mut(size.max(1)).take(size);
    for (k, column) in columns.enumerate() {
        column[k..].fill(0.0);
    }
}

/// A task at work.
pub(super) struct Task<'a> {
    pub(super) symbolic: &'a Symbolic,
    pub(super) matrix: &'a BlockSparse,
    pub(super) par: Par,
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
        let leaf = supernode.children.is_empty();
        if front.update.len() < border * border {
            zeros(&mut front.update, border * border)?;
        } else if !leaf {
            clear_lower(&mut front.update, border);
        }
        for &child in &self.symbolic.children[supernode.children.clone()] {
            let child = child as usize;
            let below = &self.symbolic.supernodes[child];
            let places = &self.symbolic.places[below.border.clone()];
            if child < self.first {
                add_update(&self.done[child].update, places, supernode, &mut front);
            } else {
                let update = std::mem::take(&mut self.fronts[child - self.first].update);
                add_update(&update, places, supernode, &mut front);
                self.pool.push(update);
            }
        }
        let result = factorize(&mut front, width, border, leaf, self.par);
        self.fronts[s - self.first] = front;
        result.map_err(|failure| match failure {
            Failure::Pivot(column) => FactorError::NotPositiveDefinite {
                node: self.symbolic.order[supernode.columns.start + column / 3] as usize,
            },
            Failure::Memory => FactorError::OutOfMemory,
        })
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

/// Adds what a child left to the front of its parent. `places` are those of its border there.
fn add_update(update: &[f64], places: &[u32], supernode: &Supernode, front: &mut Front) {
    let size = 3 * places.len();
    let (width, height) = (supernode.width(), supernode.height());
    // Runs of consecutive places (end in the child, shift to the parent): they are long, and
    // adding whole runs is much faster than adding 3×3 blocks.
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for (k, &place) in places.iter().enumerate() {
        let shift = place as usize - k;
        match runs.last_mut() {
            // A run also ends where the columns of the parent do.
            Some(run) if run.1 == shift && place as usize != width => run.0 = k + 1,
            _ => runs.push((k + 1, shift)),
        }
    }
    let mut first_run = 0;
    for (k, &place) in places.iter().enumerate() {
        while runs[first_run].0 <= k {
            first_run += 1;
        }
        let place = place as usize;
        // In the update of the parent, rows and columns count from the end of its columns.
        let (target, skip) = if place < width {
            (&mut front.panel, 0)
        } else {
            (&mut front.update, width)
        };
        let stride = 3 * (height - skip);
        for c in 0..3 {
            let source = &update[(3 * k + c) * size..][..size];
            let target = &mut target[(3 * (place - skip) + c) * stride..][..stride];
            // From the diagonal down.
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

enum Failure {
    Pivot(usize),
    Memory,
}

/// The dense part: `L₁₁ L₁₁ᵀ = F₁₁`, `L₂₁ = F₂₁ L₁₁⁻ᵀ`, update `F₂₂ − L₂₁ L₂₁ᵀ`.
fn factorize(
    front: &mut Front,
    width: usize,
    border: usize,
    leaf: bool,
    par: Par,
) -> Result<(), Failure> {
    let panel = MatMut::from_column_major_slice_mut(&mut front.panel, width + border, width);
    let (mut top, mut bottom) = panel.split_at_row_mut(width);
    let request = dense::cholesky_in_place_scratch::<f64>(width, par, Spec::default());
    let mut memory = MemBuffer::try_new(request).map_err(|_| Failure::Memory)?;
    let stack = MemStack::new(&mut memory);
    dense::cholesky_in_place(
        top.as_mut(),
        Default::default(),
        par,
        stack,
        Spec::default(),
    )
    .map_err(|dense::LltError::NonPositivePivot { index }| Failure::Pivot(index))?;
    // Entries near the largest number overflow to pivots that are positive but useless.
    if let Some(bad) = (0..width).find(|&k| !top[(k, k)].is_finite()) {
        return Err(Failure::Pivot(bad));
    }
    if border == 0 {
        return Ok(());
    }
    solve_lower_triangular_in_place(top.as_ref(), bottom.as_mut().transpose_mut(), par);
    let update = &mut front.update[..border * border];
    triangular::matmul(
        MatMut::from_column_major_slice_mut(update, border, border),
        BlockStructure::TriangularLower,
        // Without children there is nothing to add to, only leftovers.
        if leaf { Accum::Replace } else { Accum::Add },
        bottom.as_ref(),
        BlockStructure::Rectangular,
        bottom.as_ref().transpose(),
        BlockStructure::Rectangular,
        -1.0,
        par,
    );
    Ok(())
}
