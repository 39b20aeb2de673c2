//! Kernels for one group of four matrices. The loops over the band have constant lengths for the
//! bandwidths of rods.

use crate::lanes::{Kernel, Lanes, Scalar};

/// Cholesky factorization row by row: each row is reduced by the rows above it within the band.
pub(super) struct Factorize<'a> {
    pub(super) matrix: &'a [Lanes],
    pub(super) factor: &'a mut [Lanes],
    pub(super) bandwidth: usize,
}

impl Kernel for Factorize<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self {
            matrix,
            factor,
            bandwidth,
        } = self;
        let rows = matrix.len() / (bandwidth + 1);
        for row in 0..rows.min(bandwidth) {
            factorize_row(matrix, factor, bandwidth, row);
        }
        match bandwidth {
            10 => factorize_full_rows::<10, 11>(matrix, factor),
            // The window of a closed rod exceeds the registers.
            18 => {
                for row in 18..rows {
                    factorize_row(matrix, factor, 18, row);
                }
            }
            _ => {
                for row in bandwidth..rows {
                    factorize_row(matrix, factor, bandwidth, row);
                }
            }
        }
    }
}

#[inline(always)]
fn factorize_row(matrix: &[Lanes], factor: &mut [Lanes], bandwidth: usize, row: usize) {
    let width = bandwidth + 1;
    let (above, current) = factor.split_at_mut(row * width);
    let current = &mut current[..width];
    current.copy_from_slice(&matrix[row * width..(row + 1) * width]);
    let mut pivot = current[0];
    for column in row.saturating_sub(bandwidth)..row {
        let entry = current[row - column] * above[column * width];
        current[row - column] = entry;
        for later in column + 1..row {
            let reduced = current[row - later] - entry * above[later * width + (later - column)];
            current[row - later] = reduced;
        }
        pivot = pivot - entry * entry;
    }
    current[0] = Lanes::splat(1.0) / pivot.sqrt();
}

/// Factorizes the rows with a full band; `WIDTH` is `BAND + 1`.
#[inline(always)]
fn factorize_full_rows<const BAND: usize, const WIDTH: usize>(
    matrix: &[Lanes],
    factor: &mut [Lanes],
) {
    let (matrix, _) = matrix.as_chunks::<WIDTH>();
    let (factor, _) = factor.as_chunks_mut::<WIDTH>();
    for row in BAND..matrix.len().min(factor.len()) {
        let (above, current) = factor.split_at_mut(row);
        let (Some(above), Some(current)) = (above.last_chunk::<BAND>(), current.first_mut()) else {
            return;
        };
        // Entry `i` is column `i` of the window; the last one is the diagonal.
        let mut window = [Lanes::splat(0.0); WIDTH];
        for column in 0..WIDTH {
            window[column] = matrix[row][BAND - column];
        }
        for column in 0..BAND {
            let entry = window[column] * above[column][0];
            current[BAND - column] = entry;
            for later in column + 1..BAND {
                window[later] = window[later] - entry * above[later][later - column];
            }
            window[BAND] = window[BAND] - entry * entry;
        }
        current[0] = Lanes::splat(1.0) / window[BAND].sqrt();
    }
}

/// Forward substitution L y = b, then backward substitution Lᵀ x = y.
pub(super) struct Solve<'a> {
    pub(super) factor: &'a [Lanes],
    pub(super) bandwidth: usize,
    pub(super) rows: &'a mut [Lanes],
}

impl Kernel for Solve<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        match self.bandwidth {
            10 => solve(self.factor, 10, self.rows),
            18 => solve(self.factor, 18, self.rows),
            bandwidth => solve(self.factor, bandwidth, self.rows),
        }
    }
}

#[inline(always)]
fn solve(factor: &[Lanes], bandwidth: usize, rows: &mut [Lanes]) {
    let width = bandwidth + 1;
    for (row, entries) in factor.chunks_exact(width).enumerate() {
        let reach = row.min(bandwidth);
        let (above, current) = rows[row - reach..=row].split_at_mut(reach);
        let mut sum = current[0];
        for (value, entry) in above.iter().zip(entries[1..=reach].iter().rev()) {
            sum = sum - *entry * *value;
        }
        current[0] = sum * entries[0];
    }
    for (row, entries) in factor.chunks_exact(width).enumerate().rev() {
        let reach = row.min(bandwidth);
        let (above, current) = rows[row - reach..=row].split_at_mut(reach);
        let solved = current[0] * entries[0];
        current[0] = solved;
        for (value, entry) in above.iter_mut().zip(entries[1..=reach].iter().rev()) {
            *value = *value - *entry * solved;
        }
    }
}

/// `output` += A `input`. Entries below the diagonal are also those above it.
pub(super) struct Multiply<'a> {
    pub(super) matrix: &'a [Lanes],
    pub(super) bandwidth: usize,
    pub(super) input: &'a [Lanes],
    pub(super) output: &'a mut [Lanes],
}

impl Kernel for Multiply<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let is_zero = |value: &Lanes| *value == Lanes::default();
        // Rows outside the band of the last nonzero input contribute zero. Inputs from held roots
        // are nonzero near the roots only.
        let reached = match self.input.iter().rposition(|value| !is_zero(value)) {
            Some(last) => last + self.bandwidth + 1,
            None => 0,
        };
        let rows = self.matrix.chunks_exact(self.bandwidth + 1);
        for (row, entries) in rows.enumerate().take(reached) {
            let here = self.input[row];
            let mut sum = entries[0] * here;
            for distance in 1..=row.min(self.bandwidth) {
                let entry = entries[distance];
                sum = sum + entry * self.input[row - distance];
                let output = &mut self.output[row - distance];
                *output = *output + entry * here;
            }
            self.output[row] = self.output[row] + sum;
        }
    }
}

/// Entries of A⁻¹ inside the band, from the last row up (Takahashi et al. 1973): A⁻¹ L is upper
/// triangular, and its diagonal is the inverse of that of L.
pub(super) struct Invert<'a> {
    pub(super) factor: &'a [Lanes],
    pub(super) bandwidth: usize,
    pub(super) inverse: &'a mut [Lanes],
}

impl Kernel for Invert<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        match self.bandwidth {
            10 => invert(self.factor, 10, self.inverse),
            bandwidth => invert(self.factor, bandwidth, self.inverse),
        }
    }
}

#[inline(always)]
fn invert(factor: &[Lanes], bandwidth: usize, inverse: &mut [Lanes]) {
    let width = bandwidth + 1;
    let size = factor.len() / width;
    for column in (0..size).rev() {
        let below = column + 1..size.min(column + width);
        let diagonal = factor[column * width];
        for row in below.clone() {
            let mut sum = Lanes::default();
            for other in below.clone() {
                let (high, low) = (row.max(other), row.min(other));
                let entry = factor[other * width + (other - column)];
                sum = sum + inverse[high * width + (high - low)] * entry;
            }
            inverse[row * width + (row - column)] = -(diagonal * sum);
        }
        let mut sum = diagonal;
        for row in below {
            let place = row * width + (row - column);
            sum = sum - inverse[place] * factor[place];
        }
        inverse[column * width] = diagonal * sum;
    }
}
