//! Outer products, eigenvalues and norms of 3×3 matrices.

use glam::{DMat3, DVec3};

/// a bᵀ.
pub(crate) fn outer(a: DVec3, b: DVec3) -> DMat3 {
    DMat3::from_cols(a * b.x, a * b.y, a * b.z)
}

/// Eigenvalues of a symmetric matrix, ascending, by the trigonometric solution of the
/// characteristic equation. The error is of the order of rounding in the largest one.
pub fn eigenvalues(matrix: &DMat3) -> DVec3 {
    let entries = matrix.to_cols_array();
    let size = entries.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    if size == 0.0 || !size.is_finite() {
        return DVec3::splat(size);
    }
    let scaled = *matrix * size.recip();
    let mean = (scaled.x_axis.x + scaled.y_axis.y + scaled.z_axis.z) / 3.0;
    let deviator = scaled - DMat3::from_diagonal(DVec3::splat(mean));
    let squares = deviator.to_cols_array().iter().map(|x| x * x).sum::<f64>();
    let spread = (squares / 6.0).sqrt();
    if spread <= f64::MIN_POSITIVE {
        return DVec3::splat(size * mean);
    }
    let half_determinant = (deviator * spread.recip()).determinant() / 2.0;
    let angle = half_determinant.clamp(-1.0, 1.0).acos() / 3.0;
    let third = std::f64::consts::TAU / 3.0;
    let largest = mean + 2.0 * spread * angle.cos();
    let smallest = mean + 2.0 * spread * (angle + third).cos();
    DVec3::new(smallest, 3.0 * mean - largest - smallest, largest) * size
}

/// Largest singular value of a matrix, which need not be symmetric.
pub fn spectral_norm(matrix: &DMat3) -> f64 {
    let size = matrix.to_cols_array();
    let size = size.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    if size == 0.0 || !size.is_finite() {
        return size;
    }
    let scaled = *matrix * size.recip();
    size * eigenvalues(&(scaled.transpose() * scaled)).z.sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn eigenvalues_have_the_invariants_of_the_matrix(
            entries in prop::array::uniform6(-1.0f64..1.0),
            exponent in -150i32..150,
        ) {
            let [a, b, c, d, e, f] = entries.map(|x| x * 2f64.powi(exponent));
            let matrix = DMat3::from_cols_array(&[a, b, c, b, d, e, c, e, f]);
            let found = eigenvalues(&matrix);
            let size = 2f64.powi(exponent);
            prop_assert!(found.x <= found.y + 1e-12 * size && found.y <= found.z + 1e-12 * size);
            prop_assert!((found.element_sum() - (a + d + f)).abs() < 1e-13 * size);
            let product = found.x / size * (found.y / size) * (found.z / size);
            let determinant = (matrix * size.recip()).determinant();
            prop_assert!((product - determinant).abs() < 1e-13);
        }
    }

    #[test]
    fn eigenvalues_of_a_rotated_diagonal_are_its_entries() {
        let turn = DMat3::from_rotation_x(0.4) * DMat3::from_rotation_z(1.1);
        let wanted = DVec3::new(1e-4, 2.0, 700.0);
        let matrix = turn * DMat3::from_diagonal(wanted) * turn.transpose();
        assert!((eigenvalues(&matrix) - wanted).length() < 1e-12 * 700.0);
        // The singular values of a rotation times a diagonal are the entries of the diagonal.
        let norm = spectral_norm(&(turn * DMat3::from_diagonal(wanted)));
        assert!((norm - 700.0).abs() < 1e-9);
        assert_eq!(eigenvalues(&DMat3::IDENTITY), DVec3::ONE);
    }
}
