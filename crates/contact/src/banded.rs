//! Many small symmetric positive definite matrices with a narrow band, all of one shape: the system of a batch of rods.
//!
//! Elements of a rod couple three vertices in a row, so its matrix is a band and a Cholesky factorization without
//! pivoting or fill is linear in its length. One such matrix has nothing to vectorize; so four are stored interleaved
//! (a *group*) and factorized together, one in each lane of a vector register (see [`crate::lanes`]). The last group is
//! filled up with identities.
//!
//! Unknowns of a rod in its public order: x₀ (3), θ₀, x₁ (3), θ₁, …, and θ of the last edge only if the rod is closed.
//! A closed rod would couple its first unknowns with its last ones; inside, it is folded (0, n−1, 1, n−2, …), which
//! about doubles the band instead. Callers see the public order only.
//!
//! Memory: `size × (bandwidth + 1)` numbers per rod for a matrix and as many for a factor; for an open rod
//! 4 × 11 × 8 = 352 bytes per vertex each, for a closed one 4 × 19 × 8 = 608.

use std::ops::Range;

use rayon::prelude::*;

use crate::lanes::{LANES, Lanes, dispatch};

mod kernel;
#[cfg(test)]
mod tests;

/// Groups that one task works on. Groups do not depend on each other, so it changes no bits.
const GROUPS: usize = 4;

/// Where the entries of one matrix of a batch lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BandedLayout {
    size: usize,
    bandwidth: usize,
    /// Row of each unknown; the unknown itself if nothing is permuted.
    order: Option<Vec<u32>>,
}

impl BandedLayout {
    /// A plain band: unknowns farther apart than `bandwidth` are not coupled.
    #[must_use]
    pub fn new(size: usize, bandwidth: usize) -> Self {
        Self {
            size,
            bandwidth: bandwidth.min(size.saturating_sub(1)),
            order: None,
        }
    }

    /// The unknowns of one rod: 4n − 1 if it is open, 4n if it is closed.
    #[must_use]
    pub fn rod(vertices: usize, is_closed: bool) -> Self {
        if !is_closed {
            return Self::new((4 * vertices).saturating_sub(1), 10);
        }
        let order = folded_order(vertices);
        let mut bandwidth = 0;
        for vertex in 0..vertices {
            let rows = (0..ELEMENT).map(|place| order[(4 * vertex + place) % (4 * vertices)]);
            let (least, greatest) = rows.fold((u32::MAX, 0), |(least, greatest), row| {
                (least.min(row), greatest.max(row))
            });
            bandwidth = bandwidth.max((greatest - least) as usize);
        }
        Self {
            size: 4 * vertices,
            bandwidth,
            order: Some(order),
        }
    }

    /// Number of unknowns.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }

    /// How far from the diagonal entries are, in rows.
    #[must_use]
    pub fn bandwidth(&self) -> usize {
        self.bandwidth
    }

    /// The row of each unknown, if it is another than its number.
    #[must_use]
    pub fn order(&self) -> Option<&[u32]> {
        self.order.as_deref()
    }

    /// Where the entry of two unknowns, at most `bandwidth` rows apart, lies in a group.
    #[inline]
    #[must_use]
    pub fn entry(&self, one: usize, other: usize) -> usize {
        self.entry_of_rows([self.row(one), self.row(other)])
    }

    /// The same, if their rows are known.
    #[inline]
    #[must_use]
    pub fn entry_of_rows(&self, rows: [usize; 2]) -> usize {
        let (column, row) = (rows[0].min(rows[1]), rows[0].max(rows[1]));
        row * (self.bandwidth + 1) + (row - column)
    }

    /// The row of an unknown.
    #[inline]
    #[must_use]
    pub fn row(&self, unknown: usize) -> usize {
        match &self.order {
            Some(order) => order[unknown] as usize,
            None => unknown,
        }
    }

    /// Makes the matrices of a group diagonal, one value per unknown, matrix after matrix; where there are no values, a
    /// matrix is the identity.
    pub fn set_diagonal(&self, entries: &mut [Lanes], values: &[f64]) {
        entries.fill(Lanes::default());
        let count = values.len() / self.size.max(1);
        if count < LANES {
            for row in entries.chunks_exact_mut(self.bandwidth + 1) {
                row[0].0[count..].fill(1.0);
            }
        }
        self.add_diagonal(entries, values);
    }

    fn add_diagonal(&self, entries: &mut [Lanes], values: &[f64]) {
        for (lane, of_matrix) in values.chunks_exact(self.size).enumerate() {
            for (unknown, value) in of_matrix.iter().enumerate() {
                entries[self.row(unknown) * (self.bandwidth + 1)].0[lane] += value;
            }
        }
    }

    /// The unknowns of all matrices of a group, as they lie one after the other.
    fn unknowns_of(&self, group: usize) -> Range<usize> {
        group * LANES * self.size..(group + 1) * LANES * self.size
    }

    /// Entries of one matrix.
    fn entries(&self) -> usize {
        self.size * (self.bandwidth + 1)
    }

    /// The vectors of up to four rods, by rows.
    fn gather(&self, vectors: &[f64], rows: &mut [Lanes]) {
        for (lane, vector) in vectors.chunks_exact(self.size).enumerate() {
            for (unknown, value) in vector.iter().enumerate() {
                rows[self.row(unknown)].0[lane] = *value;
            }
        }
    }

    /// Back to vectors; these stay as they are where there are no rows.
    fn scatter(&self, rows: &[Lanes], vectors: &mut [f64]) {
        self.visit(rows, vectors, |value, found| *value = found);
    }

    fn scatter_add(&self, rows: &[Lanes], vectors: &mut [f64]) {
        self.visit(rows, vectors, |value, found| *value += found);
    }

    #[inline(always)]
    fn visit(&self, rows: &[Lanes], vectors: &mut [f64], each: impl Fn(&mut f64, f64)) {
        if rows.is_empty() {
            return;
        }
        for (lane, vector) in vectors.chunks_exact_mut(self.size).enumerate() {
            for (unknown, value) in vector.iter_mut().enumerate() {
                each(value, rows[self.row(unknown)].0[lane]);
            }
        }
    }
}

/// Unknowns that the elements at a vertex couple: three vertices and the two edges between them.
const ELEMENT: usize = 11;

/// The rows of the unknowns of a closed rod, folded so that both halves run side by side. Each position is followed by
/// the twist of the edge that leads away from the fold; the twist across the fold comes first.
fn folded_order(vertices: usize) -> Vec<u32> {
    let mut order = vec![0; 4 * vertices];
    let mut next = 0;
    let mut place = |unknown: usize| {
        order[unknown] = next;
        next += 1;
    };
    if vertices > 0 {
        place(4 * vertices - 1);
    }
    for step in 0..vertices {
        let is_ahead = step % 2 == 0;
        let vertex = match is_ahead {
            true => step / 2,
            false => vertices - 1 - step / 2,
        };
        (4 * vertex..4 * vertex + 3).for_each(&mut place);
        // The two halves share the last edge, which the half that comes to it first has placed.
        if step + 1 < vertices {
            place(match is_ahead {
                true => 4 * vertex + 3,
                false => 4 * vertex - 1,
            });
        }
    }
    order
}

/// Symmetric matrices of one shape.
#[derive(Clone, Debug, PartialEq)]
pub struct BandedBatch {
    layout: BandedLayout,
    count: usize,
    /// Group after group, row after row of the lower half: the diagonal, then entries away from it.
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
        batch.fill_up();
        batch
    }

    /// Matrices from their bands as [`BandedBatch::bands`] gives them; none if there are more or fewer numbers than they need.
    #[must_use]
    pub fn from_bands(layout: BandedLayout, count: usize, bands: &[f64]) -> Option<Self> {
        if count.checked_mul(layout.entries()) != Some(bands.len()) {
            return None;
        }
        let mut batch = Self::zeros(layout, count);
        let (of_matrix, width) = (batch.layout.entries(), batch.layout.bandwidth + 1);
        for (matrix, band) in bands.chunks_exact(of_matrix.max(1)).enumerate() {
            let group = &mut batch.entries[matrix / LANES * of_matrix..][..of_matrix];
            for (place, value) in band.iter().enumerate() {
                let (row, distance) = (place / width, place % width);
                if distance <= row {
                    group[place].0[matrix % LANES] = *value;
                }
            }
        }
        Some(batch)
    }

    /// The bands, matrix after matrix: of every row the diagonal, then `bandwidth` entries away from it, zero where there is
    /// no column.
    #[must_use]
    pub fn bands(&self) -> Vec<f64> {
        let of_matrix = self.layout.entries();
        let band = |matrix: usize| {
            let group = &self.entries[matrix / LANES * of_matrix..][..of_matrix];
            group.iter().map(move |entry| entry.0[matrix % LANES])
        };
        (0..self.count).flat_map(band).collect()
    }

    /// Sets all entries to zero.
    pub fn clear(&mut self) {
        let of_task = (GROUPS * self.layout.entries()).max(1);
        self.entries
            .par_chunks_mut(of_task)
            .for_each(|entries| entries.fill(Lanes::default()));
        self.fill_up();
    }

    /// Identities where the last group has no matrix.
    fn fill_up(&mut self) {
        let width = self.layout.bandwidth + 1;
        let last = self.entries.len().saturating_sub(self.layout.entries());
        if !self.count.is_multiple_of(LANES) {
            for row in self.entries[last..].chunks_exact_mut(width) {
                row[0].0[self.count % LANES..].fill(1.0);
            }
        }
    }

    /// Takes over the entries of a batch of the same layout and count.
    pub fn copy_from(&mut self, other: &BandedBatch) {
        self.copy_some(other, |_| true);
    }

    /// The same for groups with unknowns that changed; the function says whether there are any in a range.
    pub fn copy_some(
        &mut self,
        other: &BandedBatch,
        is_changed: impl Fn(Range<usize>) -> bool + Sync,
    ) {
        let layout = &self.layout;
        let of_group = layout.entries().max(1);
        let groups = self.entries.par_chunks_mut(of_group);
        let groups = groups.zip(other.entries.par_chunks(of_group)).enumerate();
        groups
            .with_min_len(GROUPS)
            .filter(|(group, _)| is_changed(layout.unknowns_of(*group)))
            .for_each(|(_, (to, from))| to.copy_from_slice(from));
    }

    /// Number of degrees of freedom of all matrices.
    #[must_use]
    pub fn dofs(&self) -> usize {
        self.count * self.layout.size
    }

    /// The shape of each matrix.
    #[must_use]
    pub fn layout(&self) -> &BandedLayout {
        &self.layout
    }

    /// Number of matrices.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// For assembly: the entries of each group of four matrices, to be addressed by [`BandedLayout::entry`]. Add
    /// nothing to lanes that have no matrix.
    pub fn groups_mut(&mut self) -> impl IndexedParallelIterator<Item = &mut [Lanes]> {
        let of_group = self.layout.entries().max(1);
        self.entries.par_chunks_exact_mut(of_group)
    }

    /// The entry of two unknowns of a matrix; 0 outside the band.
    #[must_use]
    pub fn get(&self, matrix: usize, one: usize, other: usize) -> f64 {
        match self.layout.row(one).abs_diff(self.layout.row(other)) > self.layout.bandwidth {
            true => 0.0,
            false => self.entries[self.place(matrix, one, other)].0[matrix % LANES],
        }
    }

    /// Adds to the entry of two unknowns of a matrix, which lie inside the band, and to its mirror image.
    pub fn add(&mut self, matrix: usize, one: usize, other: usize, value: f64) {
        let place = self.place(matrix, one, other);
        self.entries[place].0[matrix % LANES] += value;
    }

    fn place(&self, matrix: usize, one: usize, other: usize) -> usize {
        matrix / LANES * self.layout.entries() + self.layout.entry(one, other)
    }

    /// Sets the diagonals, one value per unknown, matrix after matrix, and all other entries to zero: where assembly
    /// begins.
    pub fn set_diagonal(&mut self, values: &[f64]) {
        let layout = self.layout.clone();
        let of_values = (LANES * layout.size).max(1);
        let groups = self.groups_mut().zip(values.par_chunks(of_values));
        groups
            .with_min_len(GROUPS)
            .for_each(|(entries, values)| layout.set_diagonal(entries, values));
    }

    /// Adds to the diagonals; one value per unknown, matrix after matrix.
    pub fn add_diagonal(&mut self, values: &[f64]) {
        let layout = self.layout.clone();
        let of_values = (LANES * layout.size).max(1);
        let groups = self.groups_mut().zip(values.par_chunks(of_values));
        groups
            .with_min_len(GROUPS)
            .for_each(|(entries, values)| layout.add_diagonal(entries, values));
    }

    /// Adds to the diagonals, group by group: for the unknowns of each, a function calls another with those that it adds to, and what.
    pub fn add_to_diagonal(
        &mut self,
        of_group: impl Fn(Range<usize>, &mut dyn FnMut(usize, f64)) + Sync,
    ) {
        let layout = self.layout.clone();
        let groups = self.groups_mut().enumerate().with_min_len(GROUPS);
        groups.for_each(|(group, entries)| {
            let unknowns = layout.unknowns_of(group);
            let first = unknowns.start;
            of_group(unknowns, &mut |unknown, value| {
                let (lane, own) = (
                    (unknown - first) / layout.size,
                    (unknown - first) % layout.size,
                );
                entries[layout.entry(own, own)].0[lane] += value;
            });
        });
    }

    /// Takes held unknowns out: their rows and columns become zero and their diagonal entries `diagonal`. One flag per
    /// unknown, matrix after matrix.
    pub fn isolate(&mut self, held: &[bool], diagonal: f64) {
        let layout = self.layout.clone();
        let (width, of_flags) = (layout.bandwidth + 1, (LANES * layout.size).max(1));
        let groups = self.groups_mut().zip(held.par_chunks(of_flags));
        groups.with_min_len(GROUPS).for_each(|(entries, held)| {
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

    /// y = A x for every matrix; vectors lie one after the other.
    pub fn multiply(&self, x: &[f64], y: &mut [f64]) {
        let layout = &self.layout;
        let of_vectors = (GROUPS * LANES * layout.size).max(1);
        let tasks = x.par_chunks(of_vectors).zip(y.par_chunks_mut(of_vectors));
        let of_matrices = (GROUPS * layout.entries()).max(1);
        let tasks = tasks.zip(self.entries.par_chunks(of_matrices));
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

/// A matrix that has no Cholesky factor: not positive definite, or not finite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the matrix of rod {rod} is not positive definite and finite at its unknown {unknown}")]
pub struct NotPositiveDefinite {
    /// Which matrix of the batch.
    pub rod: usize,
    /// The unknown whose pivot is not positive, in public order.
    pub unknown: usize,
}

/// The Cholesky factors A = L Lᵀ of a batch.
#[derive(Clone, Debug)]
pub struct BandedFactor {
    layout: BandedLayout,
    count: usize,
    /// L as in [`BandedBatch`], with the inverses of its diagonal.
    entries: Vec<Lanes>,
}

impl BandedFactor {
    /// Room for the factors of `count` matrices. Before [`BandedFactor::factorize`] they are of no use.
    #[must_use]
    pub fn new(layout: BandedLayout, count: usize) -> Self {
        let entries = vec![Lanes::default(); count.div_ceil(LANES) * layout.entries()];
        Self {
            layout,
            count,
            entries,
        }
    }

    /// Number of degrees of freedom of all matrices.
    #[must_use]
    pub fn dofs(&self) -> usize {
        self.count * self.layout.size
    }

    /// Factorizes matrices of the layout and count that this was made for.
    ///
    /// # Errors
    /// If one of them is not positive definite or not finite: the first such rod. The factors of the others are usable.
    pub fn factorize(&mut self, batch: &BandedBatch) -> Result<(), NotPositiveDefinite> {
        self.factorize_some(batch, |_| true)
    }

    /// The same for groups with unknowns that changed; the function says whether there are any in a range.
    ///
    /// # Errors
    /// As [`BandedFactor::factorize`].
    pub fn factorize_some(
        &mut self,
        batch: &BandedBatch,
        is_changed: impl Fn(Range<usize>) -> bool + Sync,
    ) -> Result<(), NotPositiveDefinite> {
        let layout = &self.layout;
        let of_group = layout.entries().max(1);
        let factorize = |(group, (factor, matrix)): (usize, (&mut [Lanes], &[Lanes]))| {
            if !is_changed(layout.unknowns_of(group)) {
                return None;
            }
            dispatch(kernel::Factorize {
                matrix,
                factor,
                bandwidth: layout.bandwidth,
            });
            failure(layout, factor).map(|(lane, unknown)| NotPositiveDefinite {
                rod: group * LANES + lane,
                unknown,
            })
        };
        let factors = self.entries.par_chunks_exact_mut(of_group);
        let groups = factors.zip(batch.entries.par_chunks_exact(of_group));
        let failures: Vec<Option<NotPositiveDefinite>> = groups
            .enumerate()
            .with_min_len(GROUPS)
            .map(factorize)
            .collect();
        match failures.into_iter().flatten().next() {
            Some(failure) => Err(failure),
            None => Ok(()),
        }
    }

    /// Replaces right-hand sides b, one after the other, by A⁻¹ b.
    pub fn solve_in_place(&self, vectors: &mut [f64]) {
        let of_task = (GROUPS * LANES * self.layout.size).max(1);
        let tasks = vectors.par_chunks_mut(of_task).enumerate();
        tasks.for_each(|(task, vectors)| {
            self.solve_groups(task, vectors, |rows, vectors| {
                self.layout.scatter(rows, vectors);
            });
        });
    }

    /// Adds A⁻¹ b to x, and makes b zero.
    pub fn add_solution(&self, b: &mut [f64], x: &mut [f64]) {
        let layout = &self.layout;
        let of_task = (GROUPS * LANES * layout.size).max(1);
        let tasks = b.par_chunks_mut(of_task).zip(x.par_chunks_mut(of_task));
        tasks.enumerate().for_each(|(task, (b, x))| {
            let mut groups = x.chunks_mut((LANES * layout.size).max(1));
            self.solve_groups(task, b, |rows, b| {
                b.fill(0.0);
                if let Some(x) = groups.next() {
                    layout.scatter_add(rows, x);
                }
            });
        });
    }

    /// Solves for the groups of a task, in order, and hands over what is found with where it came from; no rows where nothing acts, since that
    /// stays as it is.
    fn solve_groups(
        &self,
        task: usize,
        vectors: &mut [f64],
        mut found: impl FnMut(&[Lanes], &mut [f64]),
    ) {
        let layout = &self.layout;
        let of_group = layout.entries();
        let factors = self.entries[task * GROUPS * of_group..].chunks_exact(of_group.max(1));
        let mut rows = vec![Lanes::default(); layout.size];
        for (factor, vectors) in factors.zip(vectors.chunks_mut((LANES * layout.size).max(1))) {
            if vectors.iter().all(|entry| *entry == 0.0) {
                found(&[], vectors);
                continue;
            }
            layout.gather(vectors, &mut rows);
            dispatch(kernel::Solve {
                factor,
                bandwidth: layout.bandwidth,
                rows: &mut rows,
            });
            found(&rows, vectors);
        }
    }

    /// The diagonals of A⁻¹, one after the other: how far each unknown gives way to a force on it.
    #[must_use]
    pub fn inverse_diagonals(&self) -> Vec<f64> {
        let layout = &self.layout;
        let mut diagonals = vec![0.0; self.dofs()];
        let of_diagonals = (GROUPS * LANES * layout.size).max(1);
        let of_factors = (GROUPS * layout.entries()).max(1);
        let tasks = diagonals.par_chunks_mut(of_diagonals);
        let tasks = tasks.zip(self.entries.par_chunks(of_factors));
        tasks.for_each(|(diagonals, factors)| {
            let mut inverse = vec![Lanes::default(); layout.entries()];
            let groups = diagonals.chunks_mut(LANES * layout.size);
            for (factor, diagonals) in factors.chunks_exact(layout.entries()).zip(groups) {
                dispatch(kernel::Invert {
                    factor,
                    bandwidth: layout.bandwidth,
                    inverse: &mut inverse,
                });
                let rows = inverse.iter().step_by(layout.bandwidth + 1).copied();
                layout.scatter(&rows.collect::<Vec<Lanes>>(), diagonals);
            }
        });
        diagonals
    }

    /// Number of matrices.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }
}

/// The first lane of a factorized group whose pivots are not all positive and finite, and the unknown of the first such
/// pivot. The inverse of the root of a pivot is positive and finite exactly then, and what is not a number spreads to
/// later rows only.
fn failure(layout: &BandedLayout, factor: &[Lanes]) -> Option<(usize, usize)> {
    let is_good = |inverse: f64| inverse > 0.0 && inverse < f64::INFINITY;
    let rows = factor.chunks_exact(layout.bandwidth + 1);
    let are_good = rows.map(|row| row[0].0.iter().all(|inverse| is_good(*inverse)));
    // All rows are looked at, because a branch for each costs more.
    if are_good.fold(true, |all, good| all & good) {
        return None;
    }
    (0..LANES).find_map(|lane| {
        let mut rows = factor.chunks_exact(layout.bandwidth + 1);
        let row = rows.position(|row| !is_good(row[0].0[lane]))?;
        let unknown = (0..layout.size).find(|unknown| layout.row(*unknown) == row)?;
        Some((lane, unknown))
    })
}
