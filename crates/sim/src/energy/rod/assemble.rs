//! Assembly of the matrices of four rods for solves: Gauss-Newton at vertices, projected at edges.
//! They are positive semidefinite.

use super::frame::Strain;
use super::stretch::Stretch;
use super::visit::{Gradient, Visitor, first_unknown, wrapped};
use reefknot_contact::banded::BandedLayout;
use reefknot_contact::lanes::Lanes;

/// Index of an entry of a symmetric matrix in its packed lower triangle.
#[inline(always)]
fn triangle(row: usize, column: usize) -> usize {
    let (lower, upper) = (row.max(column), row.min(column));
    lower * (lower + 1) / 2 + upper
}

/// Gradient and positive semidefinite matrix: Σ k ∇s ∇sᵀ at vertices, the projected Hessian of
/// stretch at edges.
pub(super) struct Linearize<'a> {
    pub(super) gradient: Gradient<Lanes>,
    pub(super) matrix: &'a mut [Lanes],
    pub(super) layout: &'a BandedLayout,
    /// Factors of the parts of the matrix: stretch, bending, twist.
    pub(super) scales: [Lanes; 3],
}

impl Linearize<'_> {
    #[inline(always)]
    fn add(&mut self, rows: [usize; 2], value: Lanes) {
        let entry = &mut self.matrix[self.layout.entry_of_rows(rows)];
        *entry = *entry + value;
    }

    /// Whether the rod is open and has at least three vertices. Then the entries of an element are
    /// a diagonal block of the band at fixed offsets.
    #[inline(always)]
    fn is_plain(&self) -> bool {
        self.layout.order().is_none() && self.layout.bandwidth() == 10
    }

    /// Adds the entries of an edge, if `is_plain`.
    #[inline(always)]
    fn add_stretch(&mut self, first: usize, stiffness: &[Lanes; 6]) {
        let (rows, _) = self.matrix.as_chunks_mut::<11>();
        let Some(rows) = rows[first..].first_chunk_mut::<7>() else {
            return;
        };
        for row in 0..3 {
            for column in 0..=row {
                let value = stiffness[triangle(row, column)];
                for place in [row, row + 4] {
                    let entry = &mut rows[place][row - column];
                    *entry = *entry + value;
                }
            }
            for column in 0..3 {
                let entry = &mut rows[row + 4][row + 4 - column];
                *entry = *entry - stiffness[triangle(row, column)];
            }
        }
    }

    /// Adds the entries of a vertex, if `is_plain`.
    #[inline(always)]
    fn add_square(&mut self, first: usize, slopes: &[[Lanes; 11]; 3], scaled: &[[Lanes; 11]; 3]) {
        let (rows, _) = self.matrix.as_chunks_mut::<11>();
        let Some(rows) = rows[first..].first_chunk_mut::<11>() else {
            return;
        };
        for place in 0..11 {
            let [a, b, c] = [scaled[0][place], scaled[1][place], scaled[2][place]];
            for (other, entry) in rows[place][..=place].iter_mut().rev().enumerate() {
                let value = a * slopes[0][other] + b * slopes[1][other] + c * slopes[2][other];
                *entry = *entry + value;
            }
        }
    }
}

impl Visitor<Lanes> for Linearize<'_> {
    #[inline(always)]
    fn edge(&mut self, edge: usize, stretch: &Stretch<Lanes>) {
        self.gradient.edge(edge, stretch);
        let mut stiffness = stretch.stiffness();
        for value in &mut stiffness {
            *value = *value * self.scales[0];
        }
        if self.is_plain() {
            self.add_stretch(4 * edge, &stiffness);
            return;
        }
        let unknowns = self.gradient.gradient.len();
        let next = wrapped(4 * edge + 4, unknowns);
        let mut rows = [[0; 3]; 2];
        for axis in 0..3 {
            rows[0][axis] = self.layout.row(4 * edge + axis);
            rows[1][axis] = self.layout.row(next + axis);
        }
        for row in 0..3 {
            for column in 0..3 {
                let value = stiffness[triangle(row, column)];
                self.add([rows[1][row], rows[0][column]], -value);
                if column <= row {
                    self.add([rows[0][row], rows[0][column]], value);
                    self.add([rows[1][row], rows[1][column]], value);
                }
            }
        }
    }

    #[inline(always)]
    fn vertex(&mut self, vertex: usize, strains: &[Strain<Lanes>; 3], stiffness: [Lanes; 3]) {
        self.gradient.vertex(vertex, strains, stiffness);
        let slopes = [strains[0].slope(), strains[1].slope(), strains[2].slope()];
        let [_, bend, twist] = self.scales;
        let factors = [
            stiffness[0] * bend,
            stiffness[1] * bend,
            stiffness[2] * twist,
        ];
        let mut scaled = slopes;
        for (slope, factor) in scaled.iter_mut().zip(factors) {
            for value in slope {
                *value = *value * factor;
            }
        }
        let unknowns = self.gradient.gradient.len();
        let first = first_unknown(vertex, unknowns);
        if self.is_plain() {
            self.add_square(first, &slopes, &scaled);
            return;
        }
        let mut rows = [0; 11];
        for place in 0..11 {
            rows[place] = self.layout.row(wrapped(first + place, unknowns));
        }
        for place in 0..11 {
            for other in 0..=place {
                let value = scaled[0][place] * slopes[0][other]
                    + scaled[1][place] * slopes[1][other]
                    + scaled[2][place] * slopes[2][other];
                self.add([rows[place], rows[other]], value);
            }
        }
    }
}
