//! Batches of small symmetric positive definite banded matrices of the same shape: the system of a
//! batch of rods.
//!
//! An element of a rod couples three consecutive vertices, so the matrix is banded and its Cholesky
//! factorization takes linear time without fill. A single matrix offers no parallelism; therefore
//! four matrices are stored interleaved (a *group*) and factorized together, one in each lane of a
//! vector register (see [`crate::lanes`]). The last group is padded with identities.
//!
//! The unknowns of a rod have the public order x₀ (3), θ₀, x₁ (3), θ₁, …; θ of the last edge exists
//! only if the rod is closed. A closed rod couples its first and last unknowns. Its internal order
//! is folded (0, n−1, 1, n−2, …), which about doubles the bandwidth. The interface uses the public
//! order only.
//!
//! Memory: `size × (bandwidth + 1)` numbers per rod for a matrix, and the same for its factor. An
//! open rod needs 4 × 11 × 8 = 352 bytes per vertex for each, a closed one 4 × 19 × 8 = 608.

use std::ops::Range;

use rayon::prelude::*;

use crate::lanes::{LANES, Lanes, dispatch};

mod factor;
mod kernel;
mod layout;
#[cfg(test)]
mod tests;

pub use factor::{BandedFactor, NotPositiveDefinite};
pub use layout::BandedLayout;

/// Groups per parallel task. Groups are independent, so results do not depend on it.
const GROUPS_PER_TASK: usize = 4;

/// Symmetric banded matrices of the same shape.
#[derive(Clone, Debug, PartialEq)]
pub struct BandedBatch {
    layout: BandedLayout,
    count: usize,
    /// Rows of the lower triangle, group by group. A row starts with its diagonal entry and
    /// continues away from the diagonal.
    entries: Vec<Lanes>,
}

impl BandedBatch {
    /// `count` matrices of zeros.
    #[must_use]
    pub fn zeros(layout: BandedLayout, count: usize) -> Self {
        let entries = vec![Lanes::default(); count.div_ceil(LANES) * layout.entries()];
        let mut batch = Self {
            layout,
            count,
            entries,
        };
        batch.pad_last_group();
        batch
    }

    /// Matrices from their bands, in the format of [`BandedBatch::bands`]. `None` if the number of
    /// entries is wrong.
    #[must_use]
    pub fn from_bands(layout: BandedLayout, count: usize, bands: &[f64]) -> Option<Self> {
        if count.checked_mul(layout.entries()) != Some(bands.len()) {
            return None;
        }
        let mut batch = Self::zeros(layout, count);
        let (matrix_len, width) = (batch.layout.entries(), batch.layout.bandwidth + 1);
        for (matrix, band) in bands.chunks_exact(matrix_len.max(1)).enumerate() {
            let group = &mut batch.entries[matrix / LANES * matrix_len..][..matrix_len];
            for (place, value) in band.iter().enumerate() {
                let (row, distance) = (place / width, place % width);
                if distance <= row {
                    group[place].0[matrix % LANES] = *value;
                }
            }
        }
        Some(batch)
    }

    /// Bands of all matrices. A row has its diagonal entry and then `bandwidth` entries away from
    /// the diagonal, zero where there is no column.
    #[must_use]
    pub fn bands(&self) -> Vec<f64> {
        let matrix_len = self.layout.entries();
        let band = |matrix: usize| {
            let group = &self.entries[matrix / LANES * matrix_len..][..matrix_len];
            group.iter().map(move |entry| entry.0[matrix % LANES])
        };
        (0..self.count).flat_map(band).collect()
    }

    /// Sets all entries to zero.
    pub fn clear(&mut self) {
        let task_len = (GROUPS_PER_TASK * self.layout.entries()).max(1);
        self.entries
            .par_chunks_mut(task_len)
            .for_each(|entries| entries.fill(Lanes::default()));
        self.pad_last_group();
    }

    /// Sets the unused lanes of the last group to identities.
    fn pad_last_group(&mut self) {
        let width = self.layout.bandwidth + 1;
        let last = self.entries.len().saturating_sub(self.layout.entries());
        if !self.count.is_multiple_of(LANES) {
            for row in self.entries[last..].chunks_exact_mut(width) {
                row[0].0[self.count % LANES..].fill(1.0);
            }
        }
    }

    /// Copies the entries of a batch with the same layout and count.
    pub fn copy_from(&mut self, other: &BandedBatch) {
        self.copy_changed(other, |_| true);
    }

    /// Copies the groups for whose range of unknowns `is_changed` is true.
    pub fn copy_changed(
        &mut self,
        other: &BandedBatch,
        is_changed: impl Fn(Range<usize>) -> bool + Sync,
    ) {
        let layout = &self.layout;
        let group_len = layout.entries().max(1);
        let groups = self.entries.par_chunks_mut(group_len);
        let groups = groups.zip(other.entries.par_chunks(group_len)).enumerate();
        groups
            .with_min_len(GROUPS_PER_TASK)
            .filter(|(group, _)| is_changed(layout.unknowns_of(*group)))
            .for_each(|(_, (to, from))| to.copy_from_slice(from));
    }

    /// Total number of degrees of freedom.
    #[must_use]
    pub fn dofs(&self) -> usize {
        self.count * self.layout.size
    }

    /// Shape of the matrices.
    #[must_use]
    pub fn layout(&self) -> &BandedLayout {
        &self.layout
    }

    /// Number of matrices.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Entries of each group of four matrices, for assembly. Indices are given by
    /// [`BandedLayout::entry`]. Unused lanes must not be changed.
    pub fn groups_mut(&mut self) -> impl IndexedParallelIterator<Item = &mut [Lanes]> {
        let group_len = self.layout.entries().max(1);
        self.entries.par_chunks_exact_mut(group_len)
    }

    /// Entry of a matrix at two unknowns; 0 outside the band.
    #[must_use]
    pub fn get(&self, matrix: usize, one: usize, other: usize) -> f64 {
        if self.layout.row(one).abs_diff(self.layout.row(other)) > self.layout.bandwidth {
            0.0
        } else {
            self.entries[self.place(matrix, one, other)].0[matrix % LANES]
        }
    }

    /// Adds to the entry of a matrix at two unknowns inside the band, and to its transpose.
    pub fn add(&mut self, matrix: usize, one: usize, other: usize, value: f64) {
        let place = self.place(matrix, one, other);
        self.entries[place].0[matrix % LANES] += value;
    }

    fn place(&self, matrix: usize, one: usize, other: usize) -> usize {
        matrix / LANES * self.layout.entries() + self.layout.entry(one, other)
    }

    /// Sets the diagonals, and all other entries to zero, for the start of an assembly. One value
    /// per unknown, matrix by matrix.
    pub fn set_diagonal(&mut self, values: &[f64]) {
        let layout = self.layout.clone();
        let values_len = (LANES * layout.size).max(1);
        let groups = self.groups_mut().zip(values.par_chunks(values_len));
        groups
            .with_min_len(GROUPS_PER_TASK)
            .for_each(|(entries, values)| layout.set_diagonal(entries, values));
    }

    /// Adds to the diagonals. One value per unknown, matrix by matrix.
    pub fn add_diagonal(&mut self, values: &[f64]) {
        let layout = self.layout.clone();
        let values_len = (LANES * layout.size).max(1);
        let groups = self.groups_mut().zip(values.par_chunks(values_len));
        groups
            .with_min_len(GROUPS_PER_TASK)
            .for_each(|(entries, values)| layout.add_diagonal(entries, values));
    }

    /// Adds to the diagonals, group by group. `visit` gets the range of unknowns of a group and a
    /// function that adds a value to the diagonal entry of an unknown.
    pub fn add_diagonal_by_groups(
        &mut self,
        visit: impl Fn(Range<usize>, &mut dyn FnMut(usize, f64)) + Sync,
    ) {
        let layout = self.layout.clone();
        let groups = self.groups_mut().enumerate().with_min_len(GROUPS_PER_TASK);
        groups.for_each(|(group, entries)| {
            let unknowns = layout.unknowns_of(group);
            let first = unknowns.start;
            visit(unknowns, &mut |unknown, value| {
                let (lane, own) = (
                    (unknown - first) / layout.size,
                    (unknown - first) % layout.size,
                );
                entries[layout.entry(own, own)].0[lane] += value;
            });
        });
    }

    /// Isolates held unknowns: sets their rows and columns to zero and their diagonal entries to
    /// `diagonal`. One flag per unknown, matrix by matrix.
    pub fn isolate(&mut self, held: &[bool], diagonal: f64) {
        let layout = self.layout.clone();
        let (width, flags_len) = (layout.bandwidth + 1, (LANES * layout.size).max(1));
        let groups = self.groups_mut().zip(held.par_chunks(flags_len));
        groups
            .with_min_len(GROUPS_PER_TASK)
            .for_each(|(entries, held)| {
                for unknown in (0..held.len()).filter(|unknown| held[*unknown]) {
                    let (lane, row) = (unknown / layout.size, layout.row(unknown % layout.size));
                    for entry in &mut entries[row * width..(row + 1) * width] {
                        entry.0[lane] = 0.0;
                    }
                    for below in row + 1..layout.size.min(row + width) {
                        entries[below * width + (below - row)].0[lane] = 0.0;
                    }
                    entries[row * width].0[lane] = diagonal;
                }
            });
    }

    /// y = A x for every matrix, with concatenated vectors.
    pub fn multiply(&self, x: &[f64], y: &mut [f64]) {
        let layout = &self.layout;
        let vectors_len = (GROUPS_PER_TASK * LANES * layout.size).max(1);
        let tasks = x.par_chunks(vectors_len).zip(y.par_chunks_mut(vectors_len));
        let matrices_len = (GROUPS_PER_TASK * layout.entries()).max(1);
        let tasks = tasks.zip(self.entries.par_chunks(matrices_len));
        tasks.for_each(|((x, y), entries)| {
            let mut buffers = [vec![Lanes::default(); layout.size], Vec::new()];
            let vectors = x.chunks(LANES * layout.size);
            let vectors = vectors.zip(y.chunks_mut(LANES * layout.size));
            for (matrix, (x, y)) in entries.chunks_exact(layout.entries()).zip(vectors) {
                let [input, output] = &mut buffers;
                layout.gather(x, input);
                output.clear();
                output.resize(layout.size, Lanes::default());
                dispatch(kernel::Multiply {
                    matrix,
                    bandwidth: layout.bandwidth,
                    input,
                    output,
                });
                layout.scatter(output, y);
            }
        });
    }
}
