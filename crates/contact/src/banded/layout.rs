//! Shape of a banded matrix: size, bandwidth and order of the unknowns.

use std::ops::Range;

use crate::lanes::{LANES, Lanes};

/// Memory layout of the matrices of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BandedLayout {
    pub(super) size: usize,
    pub(super) bandwidth: usize,
    /// Row of each unknown; `None` for the identity.
    order: Option<Vec<u32>>,
}

impl BandedLayout {
    /// Band in the order of the unknowns. Unknowns farther apart than `bandwidth` are not coupled.
    #[must_use]
    pub fn new(size: usize, bandwidth: usize) -> Self {
        Self {
            size,
            bandwidth: bandwidth.min(size.saturating_sub(1)),
            order: None,
        }
    }

    /// Layout of a rod with n vertices: 4n − 1 unknowns if it is open, 4n if it is closed.
    #[must_use]
    pub fn rod(vertices: usize, is_closed: bool) -> Self {
        if !is_closed {
            return Self::new((4 * vertices).saturating_sub(1), 10);
        }
        let order = folded_order(vertices);
        let mut bandwidth = 0;
        for vertex in 0..vertices {
            let rows =
                (0..UNKNOWNS_PER_ELEMENT).map(|place| order[(4 * vertex + place) % (4 * vertices)]);
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

    /// Largest distance of an entry from the diagonal, in rows.
    #[must_use]
    pub fn bandwidth(&self) -> usize {
        self.bandwidth
    }

    /// Row of each unknown; `None` if the rows are in the order of the unknowns.
    #[must_use]
    pub fn order(&self) -> Option<&[u32]> {
        self.order.as_deref()
    }

    /// Index in a group of the entry at two unknowns, at most `bandwidth` rows apart.
    #[inline]
    #[must_use]
    pub fn entry(&self, one: usize, other: usize) -> usize {
        self.entry_of_rows([self.row(one), self.row(other)])
    }

    /// Index in a group of the entry at two rows.
    #[inline]
    #[must_use]
    pub fn entry_of_rows(&self, rows: [usize; 2]) -> usize {
        let (column, row) = (rows[0].min(rows[1]), rows[0].max(rows[1]));
        row * (self.bandwidth + 1) + (row - column)
    }

    /// Row of an unknown.
    #[inline]
    #[must_use]
    pub fn row(&self, unknown: usize) -> usize {
        match &self.order {
            Some(order) => order[unknown] as usize,
            None => unknown,
        }
    }

    /// Sets the matrices of a group to diagonal ones, with one value per unknown, matrix by matrix.
    /// Matrices without values become identities.
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

    /// Adds to the diagonals of a group.
    pub(super) fn add_diagonal(&self, entries: &mut [Lanes], values: &[f64]) {
        for (lane, diagonal) in values.chunks_exact(self.size).enumerate() {
            for (unknown, value) in diagonal.iter().enumerate() {
                entries[self.row(unknown) * (self.bandwidth + 1)].0[lane] += value;
            }
        }
    }

    /// Range of the unknowns of a group in concatenated vectors.
    pub(super) fn unknowns_of(&self, group: usize) -> Range<usize> {
        group * LANES * self.size..(group + 1) * LANES * self.size
    }

    /// Number of entries of one matrix.
    pub(super) fn entries(&self) -> usize {
        self.size * (self.bandwidth + 1)
    }

    /// Interleaves the vectors of up to four rods, in the order of rows.
    pub(super) fn gather(&self, vectors: &[f64], rows: &mut [Lanes]) {
        for (lane, vector) in vectors.chunks_exact(self.size).enumerate() {
            for (unknown, value) in vector.iter().enumerate() {
                rows[self.row(unknown)].0[lane] = *value;
            }
        }
    }

    /// Inverse of [`BandedLayout::gather`]. Without rows, the vectors are not changed.
    pub(super) fn scatter(&self, rows: &[Lanes], vectors: &mut [f64]) {
        self.visit(rows, vectors, |value, found| *value = found);
    }

    /// As [`BandedLayout::scatter`], but adds to the vectors.
    pub(super) fn scatter_add(&self, rows: &[Lanes], vectors: &mut [f64]) {
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

/// Unknowns coupled by the elements at a vertex: three vertices and the two edges between them.
pub(super) const UNKNOWNS_PER_ELEMENT: usize = 11;

/// Rows of the unknowns of a closed rod, folded so that both halves alternate. Each position is
/// followed by the twist of the edge away from the fold. The twist of the edge at the fold is
/// first.
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
        let vertex = if is_ahead {
            step / 2
        } else {
            vertices - 1 - step / 2
        };
        (4 * vertex..4 * vertex + 3).for_each(&mut place);
        // The two halves share the last edge, which is placed already.
        if step + 1 < vertices {
            place(if is_ahead {
                4 * vertex + 3
            } else {
                4 * vertex - 1
            });
        }
    }
    order
}
