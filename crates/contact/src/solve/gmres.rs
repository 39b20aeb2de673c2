//! The generalised minimal residual method for systems that are not symmetric and only known by their products.

/// How [`gmres`] ended.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// The solution.
    pub solution: Vec<f64>,
    /// Products with the matrix.
    pub products: usize,
    /// What is left of the residual, as a part of the right-hand side.
    pub residual: f64,
}

/// Solves J x = b from x = 0 with at most `most` products, until the residual is `tolerance` of b. `product` is J P, where P is the
/// preconditioner; the caller applies P to the solution.
pub fn gmres(
    rhs: &[f64],
    tolerance: f64,
    most: usize,
    mut product: impl FnMut(&[f64], &mut [f64]),
) -> Found {
    let size = dot(rhs, rhs).sqrt();
    let mut found = Found {
        solution: vec![0.0; rhs.len()],
        ..Found::default()
    };
    if !(size > 0.0 && size.is_finite()) {
        return found;
    }
    // Arnoldi's basis, and the Hessenberg matrix made triangular by rotations, column by column.
    let mut basis: Vec<Vec<f64>> = vec![rhs.iter().map(|entry| entry / size).collect()];
    let mut columns: Vec<Vec<f64>> = Vec::new();
    let mut rotations: Vec<(f64, f64)> = Vec::new();
    let mut remainder = vec![size];
    found.residual = 1.0;
    while columns.len() < most && found.residual > tolerance {
        let last = columns.len();
        let mut next = vec![0.0; rhs.len()];
        product(&basis[last], &mut next);
        found.products += 1;
        let mut column = Vec::with_capacity(last + 1);
        // Twice is enough to keep the basis orthogonal in spite of rounding.
        for pass in 0..2 {
            for (row, vector) in basis.iter().enumerate() {
                let part = dot(vector, &next);
                match pass {
                    0 => column.push(part),
                    _ => column[row] += part,
                }
                for (entry, v) in next.iter_mut().zip(vector) {
                    *entry -= part * v;
                }
            }
        }
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
    let mut parts = remainder;
    parts.truncate(columns.len());
    for row in (0..parts.len()).rev() {
        let later = (row + 1..parts.len()).map(|other| columns[other][row] * parts[other]);
        parts[row] = (parts[row] - later.sum::<f64>()) / columns[row][row];
    }
    for (part, vector) in parts.iter().zip(&basis) {
        for (x, v) in found.solution.iter_mut().zip(vector) {
            *x += part * v;
        }
    }
    found
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn solves_unsymmetric_systems(entries in prop::collection::vec(-1.0f64..1.0, 64)) {
            let entry = |row: usize, column: usize| match row == column {
                true => 9.0 + entries[row * 8 + column],
                false => entries[row * 8 + column],
            };
            let multiply = |x: &[f64], y: &mut [f64]| {
                for (row, y) in y.iter_mut().enumerate() {
                    *y = (0..8).map(|column| entry(row, column) * x[column]).sum();
                }
            };
            let wanted: Vec<f64> = (0..8).map(|place| (place as f64).cos()).collect();
            let mut rhs = vec![0.0; 8];
            multiply(&wanted, &mut rhs);
            let found = gmres(&rhs, 1e-14, 20, multiply);
            // The basis is complete after as many products as there are unknowns.
            prop_assert!(found.products <= 9);
            for (x, wanted) in found.solution.iter().zip(&wanted) {
                prop_assert!((x - wanted).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn what_is_singular_or_no_number_ends() {
        let found = gmres(&[1.0, 1.0], 1e-10, 50, |_, y| y.fill(0.0));
        assert_eq!((found.solution, found.residual), (vec![0.0, 0.0], 1.0));
        let found = gmres(&[f64::NAN, 1.0], 1e-10, 50, |x, y| y.copy_from_slice(x));
        assert_eq!(found.products, 0);
        let found = gmres(&[1.0, 1.0], 1e-10, 50, |_, y| y.fill(f64::NAN));
        assert_eq!(found.products, 1);
    }
}
