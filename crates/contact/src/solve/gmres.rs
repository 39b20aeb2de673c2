//! The generalised minimal residual method (GMRES) for unsymmetric systems given by products.

use crate::conjugate_gradients::dot;

/// Result of [`gmres`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GmresOutcome {
    /// The solution.
    pub solution: Vec<f64>,
    /// Products with the matrix.
    pub products: usize,
    /// Norm of the residual relative to the right-hand side.
    pub residual: f64,
}

/// Solves J x = b from x = 0 with at most `max_products` products, until the residual is below
/// `tolerance` relative to b. `product` multiplies by J P, where P is the preconditioner; the
/// caller applies P to the solution.
pub fn gmres(
    rhs: &[f64],
    tolerance: f64,
    max_products: usize,
    mut product: impl FnMut(&[f64], &mut [f64]),
) -> GmresOutcome {
    let size = dot(rhs, rhs).sqrt();
    let mut found = GmresOutcome {
        solution: vec![0.0; rhs.len()],
        ..GmresOutcome::default()
    };
    if !(size > 0.0 && size.is_finite()) {
        return found;
    }
    // The basis of Arnoldi's method, and the Hessenberg matrix, made triangular column by column
    // with Givens rotations.
    let mut basis: Vec<Vec<f64>> = vec![rhs.iter().map(|entry| entry / size).collect()];
    let mut columns: Vec<Vec<f64>> = Vec::new();
    let mut rotations: Vec<(f64, f64)> = Vec::new();
    let mut remainder = vec![size];
    found.residual = 1.0;
    while columns.len() < max_products && found.residual > tolerance {
        let last = columns.len();
        let mut next = vec![0.0; rhs.len()];
        product(&basis[last], &mut next);
        found.products += 1;
        let mut column = orthogonalize(&basis, &mut next);
        let length = dot(&next, &next).sqrt();
        if !length.is_finite() {
            break;
        }
        for (row, (cosine, sine)) in rotations.iter().enumerate() {
            let (upper, lower) = (column[row], column[row + 1]);
            column[row] = cosine * upper + sine * lower;
            column[row + 1] = cosine * lower - sine * upper;
        }
        let radius = column[last].hypot(length);
        if radius <= f64::MIN_POSITIVE {
            break;
        }
        let (cosine, sine) = (column[last] / radius, length / radius);
        column[last] = radius;
        rotations.push((cosine, sine));
        columns.push(column);
        remainder.push(-sine * remainder[last]);
        remainder[last] *= cosine;
        found.residual = remainder[last + 1].abs() / size;
        if length <= f64::EPSILON * radius {
            break;
        }
        basis.push(next.iter().map(|entry| entry / length).collect());
    }
    let parts = back_substitute(&columns, remainder);
    for (part, vector) in parts.iter().zip(&basis) {
        for (x, v) in found.solution.iter_mut().zip(vector) {
            *x += part * v;
        }
    }
    found
}

/// Makes `next` orthogonal to the basis. Returns its components along the basis.
fn orthogonalize(basis: &[Vec<f64>], next: &mut [f64]) -> Vec<f64> {
    let mut column = Vec::with_capacity(basis.len());
    // Two passes of Gram-Schmidt keep the basis orthogonal to rounding.
    for pass in 0..2 {
        for (row, vector) in basis.iter().enumerate() {
            let part = dot(vector, next);
            if pass == 0 {
                column.push(part);
            } else {
                column[row] += part;
            }
            for (entry, v) in next.iter_mut().zip(vector) {
                *entry -= part * v;
            }
        }
    }
    column
}

/// Solves the triangular system of the rotated Hessenberg matrix, given by columns.
fn back_substitute(columns: &[Vec<f64>], rhs: Vec<f64>) -> Vec<f64> {
    let mut parts = rhs;
    parts.truncate(columns.len());
    for row in (0..parts.len()).rev() {
        let later = (row + 1..parts.len()).map(|other| columns[other][row] * parts[other]);
        parts[row] = (parts[row] - later.sum::<f64>()) / columns[row][row];
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn solves_unsymmetric_systems(entries in prop::collection::vec(-1.0f64..1.0, 64)) {
            let entry = |row: usize, column: usize| {
                let diagonal = if row == column { 9.0 } else { 0.0 };
                diagonal + entries[row * 8 + column]
            };
            let multiply = |x: &[f64], y: &mut [f64]| {
                for (row, y) in y.iter_mut().enumerate() {
                    *y = (0..8).map(|column| entry(row, column) * x[column]).sum();
                }
            };
            let wanted: Vec<f64> = (0..8).map(|row| (row as f64).cos()).collect();
            let mut rhs = vec![0.0; 8];
            multiply(&wanted, &mut rhs);
            let found = gmres(&rhs, 1e-14, 20, multiply);
            // The basis is complete after one product per unknown.
            prop_assert!(found.products <= 9);
            for (x, wanted) in found.solution.iter().zip(&wanted) {
                prop_assert!((x - wanted).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn singular_and_nan_systems_end_without_a_solution() {
        let found = gmres(&[1.0, 1.0], 1e-10, 50, |_, y| y.fill(0.0));
        assert_eq!((found.solution, found.residual), (vec![0.0, 0.0], 1.0));
        let found = gmres(&[f64::NAN, 1.0], 1e-10, 50, |x, y| y.copy_from_slice(x));
        assert_eq!(found.products, 0);
        let found = gmres(&[1.0, 1.0], 1e-10, 50, |_, y| y.fill(f64::NAN));
        assert_eq!(found.products, 1);
    }
}
