//! Principal axes of a 3×3 matrix: the signed singular value decomposition F = U diag(σ) Vᵀ.
//!
//! U and V are proper rotations and σ₁ ≥ σ₂ ≥ |σ₃|, where σ₃ has the sign of det F ("rotation
//! variant", Irving, Teran and Fedkiw 2004). UVᵀ is the rotation nearest to F, also for an inverted
//! F.
//!
//! One-sided Jacobi rotations make the columns of F orthogonal (Hestenes 1958). Working on F
//! instead of FᵀF keeps the error near 1e-16 σ₁ for every F: singular, inverted or with repeated
//! singular values. Axes that are not unique are chosen deterministically.

use glam::{DMat3, DVec3};

/// Maximum number of Jacobi sweeps. Millions of random matrices needed at most 5, singular ones 13.
const MAX_SWEEPS: usize = 20;

/// Two columns are orthogonal if the squared cosine between them is below this, (4e-16)².
const ORTHOGONALITY_TOLERANCE: f64 = 1.6e-31;

/// A signed singular value decomposition.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Principal {
    /// U, the principal axes after the deformation.
    pub left: DMat3,
    /// σ, the principal stretches, descending. Only the last may be negative.
    pub stretches: DVec3,
    /// V, the principal axes before the deformation.
    pub right: DMat3,
}

impl Principal {
    /// Decomposition of a finite matrix.
    pub fn of(matrix: &DMat3) -> Self {
        // Scaling prevents overflow and underflow of squares.
        let scale = (matrix.x_axis.abs())
            .max(matrix.y_axis.abs())
            .max(matrix.z_axis.abs())
            .max_element();
        if scale < f64::MIN_POSITIVE {
            return Self {
                left: DMat3::IDENTITY,
                stretches: DVec3::ZERO,
                right: DMat3::IDENTITY,
            };
        }
        let mut images = [matrix.x_axis, matrix.y_axis, matrix.z_axis].map(|column| column / scale);
        let mut axes = DVec3::AXES;
        for _sweep in 0..MAX_SWEEPS {
            let mut done = orthogonalize(&mut images, &mut axes, 0, 1);
            done &= orthogonalize(&mut images, &mut axes, 0, 2);
            done &= orthogonalize(&mut images, &mut axes, 1, 2);
            if done {
                break;
            }
        }
        sort(&mut images, &mut axes);
        let [first, second, third] = images;
        // Not zero: the longest column is at least as long as the largest entry, 1.
        let longest = first.length();
        let first_axis = first / longest;
        let second_axis = perpendicular(second, first_axis);
        let third_axis = first_axis.cross(second_axis);
        let stretches = DVec3::new(longest, second_axis.dot(second), third_axis.dot(third));
        Self {
            left: DMat3::from_cols(first_axis, second_axis, third_axis),
            stretches: stretches * scale,
            right: DMat3::from_cols(axes[0], axes[1], axes[2]),
        }
    }

    /// UVᵀ, the rotation of the signed polar decomposition.
    pub fn rotation(&self) -> DMat3 {
        self.left * self.right.transpose()
    }
}

/// Rotates two columns of the matrix and of V to make the former orthogonal. Returns whether they
/// already were.
#[inline(always)]
fn orthogonalize(images: &mut [DVec3; 3], axes: &mut [DVec3; 3], i: usize, j: usize) -> bool {
    let (one, other) = (images[i].length_squared(), images[j].length_squared());
    let product = images[i].dot(images[j]);
    if product * product <= ORTHOGONALITY_TOLERANCE * (one * other) {
        return true;
    }
    // The smaller root t of t² + 2τt − 1 = 0 with τ = (other − one)/(2 product), without division
    // by the product.
    let (difference, twice) = (other - one, 2.0 * product);
    let root = (difference * difference + twice * twice).sqrt();
    let tangent = twice.copysign(twice * difference.signum()) / (difference.abs() + root);
    let cosine = 1.0 / (1.0 + tangent * tangent).sqrt();
    let sine = tangent * cosine;
    for pair in [images, axes] {
        let (first, second) = (pair[i], pair[j]);
        pair[i] = first * cosine - second * sine;
        pair[j] = first * sine + second * cosine;
    }
    false
}

/// Sorts columns by descending length. Each swap changes one sign: V remains a rotation.
#[inline(always)]
fn sort(images: &mut [DVec3; 3], axes: &mut [DVec3; 3]) {
    for (i, j) in [(0, 1), (1, 2), (0, 1)] {
        if images[i].length_squared() < images[j].length_squared() {
            for pair in [&mut *images, &mut *axes] {
                (pair[i], pair[j]) = (pair[j], -pair[i]);
            }
        }
    }
}

/// Direction of the part of a vector orthogonal to a unit vector; any orthogonal direction if the
/// vector is too short or almost parallel.
#[inline(always)]
fn perpendicular(vector: DVec3, unit: DVec3) -> DVec3 {
    let rest = vector - unit * unit.dot(vector);
    let length_squared = rest.length_squared();
    if length_squared > 1e-200 && length_squared > 0.5 * vector.length_squared() {
        rest / length_squared.sqrt()
    } else {
        unit.any_orthonormal_vector()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::array::{uniform3, uniform4, uniform9};
    use proptest::prelude::*;

    fn distance(one: &DMat3, other: &DMat3) -> f64 {
        let difference = *one - *other;
        difference
            .to_cols_array()
            .into_iter()
            .map(f64::abs)
            .fold(0.0, f64::max)
    }

    fn check(matrix: &DMat3) -> Principal {
        let principal = Principal::of(matrix);
        let Principal {
            left,
            stretches,
            right,
        } = principal;
        for rotation in [left, right] {
            assert!(distance(&(rotation * rotation.transpose()), &DMat3::IDENTITY) < 3e-15);
            assert!((rotation.determinant() - 1.0).abs() < 3e-15);
        }
        let back = left * DMat3::from_diagonal(stretches) * right.transpose();
        let size = stretches.x;
        assert!(
            distance(&back, matrix) <= 5e-15 * size,
            "{matrix} became {back}"
        );
        assert!(stretches.x >= stretches.y - 1e-15 * size);
        assert!(stretches.y >= stretches.z.abs() - 1e-15 * size);
        principal
    }

    fn rotation(quaternion: [f64; 4]) -> DMat3 {
        let quaternion = glam::DQuat::from_array(quaternion);
        if quaternion.length() > 1e-3 {
            DMat3::from_quat(quaternion.normalize())
        } else {
            DMat3::IDENTITY
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn random_matrices_are_decomposed(
            entries in uniform9(-1.0..1.0f64),
            exponent in -250..250i32,
        ) {
            check(&(DMat3::from_cols_array(&entries) * 10f64.powi(exponent)));
        }

        #[test]
        fn matrices_with_entries_of_all_magnitudes_are_decomposed(
            entries in uniform9(-1.0..1.0f64),
            exponents in uniform9(-200..0i32),
        ) {
            let entries: [f64; 9] =
                std::array::from_fn(|i| entries[i] * 10f64.powi(exponents[i]));
            check(&DMat3::from_cols_array(&entries));
        }

        #[test]
        fn matrices_of_small_integers_are_decomposed(entries in uniform9(-2..3i32)) {
            check(&DMat3::from_cols_array(&entries.map(f64::from)));
        }

        #[test]
        fn prescribed_stretches_are_found(
            left in uniform4(-1.0..1.0f64),
            right in uniform4(-1.0..1.0f64),
            stretches in uniform3(-1.0..1.0f64),
            exponents in uniform3(-20..1i32),
        ) {
            let stretches = [0, 1, 2].map(|i| stretches[i] * 10f64.powi(exponents[i]));
            let diagonal = DMat3::from_diagonal(stretches.into());
            let matrix = rotation(left) * diagonal * rotation(right).transpose();
            let found = check(&matrix).stretches;
            let mut known = stretches.map(f64::abs);
            known.sort_by(f64::total_cmp);
            for i in 0..3 {
                prop_assert!((found[i].abs() - known[2 - i]).abs() <= 3e-15);
            }
            prop_assert!(found.z * stretches.iter().product::<f64>() >= -1e-15);
        }

        #[test]
        fn repeated_stretches_and_small_strains_are_decomposed(
            left in uniform4(-1.0..1.0f64),
            right in uniform4(-1.0..1.0f64),
            signs in uniform3(0..2i32),
            strain in uniform9(-1.0..1.0f64),
            exponent in -18..0i32,
        ) {
            let signs = DVec3::from_array(signs.map(|sign| f64::from(2 * sign - 1)));
            let strain = DMat3::from_cols_array(&strain) * 10f64.powi(exponent);
            check(&(rotation(left) * (DMat3::from_diagonal(signs) + strain) * rotation(right)));
        }

        #[test]
        fn the_polar_rotation_is_found(
            turn in uniform4(-1.0..1.0f64),
            axes in uniform4(-1.0..1.0f64),
            stretches in uniform3(0.1..3.0f64),
        ) {
            let diagonal = DMat3::from_diagonal(stretches.into());
            let stretch = rotation(axes) * diagonal * rotation(axes).transpose();
            let found = Principal::of(&(rotation(turn) * stretch)).rotation();
            prop_assert!(distance(&found, &rotation(turn)) < 1e-13);
        }
    }

    #[test]
    fn extreme_matrices_are_decomposed() {
        check(&DMat3::IDENTITY);
        check(&-DMat3::IDENTITY);
        check(&DMat3::from_cols_array(&[1.0; 9]));
        check(&DMat3::from_cols_array(&[f64::MAX / 4.0; 9]));
        check(&DMat3::from_diagonal(DVec3::new(1e-300, 1.0, -1e-160)));
        check(&DMat3::from_cols(DVec3::ZERO, DVec3::X, DVec3::ZERO));
        let zero = Principal::of(&DMat3::ZERO);
        assert_eq!(zero.stretches, DVec3::ZERO);
        assert_eq!(zero.rotation(), DMat3::IDENTITY);
        let tiny = Principal::of(&DMat3::from_cols_array(&[f64::MIN_POSITIVE; 9]));
        assert!((tiny.stretches.x / f64::MIN_POSITIVE - 3.0).abs() < 1e-14);
    }

    #[test]
    fn the_smallest_stretch_of_an_inverted_matrix_is_negative() {
        let stretches = DVec3::new(1.0, 1.5, -0.5);
        let found = check(&DMat3::from_diagonal(stretches));
        assert_eq!(found.stretches, DVec3::new(1.5, 1.0, -0.5));
        assert!(distance(&found.rotation(), &DMat3::IDENTITY) < 1e-15);
    }
}
