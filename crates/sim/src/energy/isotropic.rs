//! Second derivatives of isotropic energies, and their positive semidefinite parts in closed form.
//!
//! An isotropic density is a function Ψ(σ₁, σ₂, σ₃) of the signed singular values of
//! F = U diag(σ) Vᵀ. In the principal axes, δF̂ = UᵀδFV, its second derivative decouples (Smith, de
//! Goes and Kim, Analytic Eigensystems for Isotropic Distortion Energies, 2019):
//!
//! - scaling: the 3×3 matrix ∂²Ψ/∂σᵢ∂σⱼ acts on the diagonal of δF̂,
//! - twist: (∂ᵢΨ + ∂ⱼΨ)/(σᵢ + σⱼ) acts on (δF̂ᵢⱼ − δF̂ⱼᵢ)/√2,
//! - flip: (∂ᵢΨ − ∂ⱼΨ)/(σᵢ − σⱼ) acts on (δF̂ᵢⱼ + δF̂ⱼᵢ)/√2.
//!
//! The projection clamps six numbers and the eigenvalues of one 3×3 matrix. The blocks of an
//! element, wₐ C w_b with the gradients w of the shape functions, are computed in the principal
//! axes, where C has 21 nonzero entries, and then rotated by U.

use super::Blocks;
use super::principal::Principal;
use glam::{DMat3, DVec3};

/// Second derivative of an isotropic density in its principal axes (Pa).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Modes {
    /// ∂²Ψ/∂σᵢ∂σⱼ.
    pub scaling: DMat3,
    /// Stiffness of the twist in the plane normal to each principal axis.
    pub twist: DVec3,
    /// Stiffness of the flip in the plane normal to each principal axis.
    pub flip: DVec3,
}

impl Modes {
    /// The nearest positive semidefinite modes.
    pub(crate) fn projected(&self) -> Self {
        Self {
            scaling: positive_part(&self.scaling),
            twist: self.twist.max(DVec3::ZERO),
            flip: self.flip.max(DVec3::ZERO),
        }
    }

    /// Second derivatives of `volume` Ψ(F) by three nodes, where F = Σ xₐ wₐᵀ + constant and wₐ are
    /// the rows of `shape`.
    pub(crate) fn blocks(&self, principal: &Principal, shape: &DMat3, volume: f64) -> Blocks<3> {
        let scaling = self.scaling * volume;
        let same = (self.twist + self.flip) * (0.5 * volume);
        let swapped = (self.flip - self.twist) * (0.5 * volume);
        // Row a of `shape` V is Vᵀwₐ.
        let local = (*shape * principal.right).transpose();
        let left = principal.left;
        let left_transposed = left.transpose();
        let block = |a: usize, b: usize| {
            let (one, other) = (local.col(a), local.col(b));
            let product = one * other;
            let entry = |i: usize, j: usize| {
                let k = 3 - i - j;
                scaling.col(j)[i] * (one[i] * other[j]) + swapped[k] * (one[j] * other[i])
            };
            let diagonal = |i: usize, j: usize, k: usize| {
                scaling.col(i)[i] * product[i] + same[k] * product[j] + same[j] * product[k]
            };
            let hat = DMat3::from_cols(
                DVec3::new(diagonal(0, 1, 2), entry(1, 0), entry(2, 0)),
                DVec3::new(entry(0, 1), diagonal(1, 2, 0), entry(2, 1)),
                DVec3::new(entry(0, 2), entry(1, 2), diagonal(2, 0, 1)),
            );
            left * (hat * left_transposed)
        };
        let (b01, b02, b12) = (block(0, 1), block(0, 2), block(1, 2));
        [
            [block(0, 0), b01, b02],
            [b01.transpose(), block(1, 1), b12],
            [b02.transpose(), b12.transpose(), block(2, 2)],
        ]
    }
}

/// A symmetric matrix with its negative eigenvalues set to zero.
fn positive_part(matrix: &DMat3) -> DMat3 {
    // The common case: all leading minors are positive.
    let [[a, b, _], [_, d, _], _] = matrix.to_cols_array_2d();
    if a > 0.0 && a * d - b * b > 0.0 && matrix.determinant() > 0.0 {
        return *matrix;
    }
    let (values, axes) = eigensystem(matrix);
    let clamped = DMat3::from_diagonal(values.max(DVec3::ZERO));
    axes * clamped * axes.transpose()
}

/// Eigenvalues and eigenvectors (columns) of a symmetric matrix by cyclic Jacobi rotations.
fn eigensystem(matrix: &DMat3) -> (DVec3, DMat3) {
    let mut a = matrix.to_cols_array_2d();
    let mut axes = DVec3::AXES;
    for _sweep in 0..12 {
        let size = a[0][0].abs().max(a[1][1].abs()).max(a[2][2].abs());
        let off_diagonal = a[1][0].abs().max(a[2][0].abs()).max(a[2][1].abs());
        if off_diagonal <= 1e-17 * size {
            break;
        }
        for (p, q, r) in [(0, 1, 2), (0, 2, 1), (1, 2, 0)] {
            let coupling = a[p][q];
            if coupling == 0.0 {
                continue;
            }
            let tau = (a[q][q] - a[p][p]) / (2.0 * coupling);
            let tangent = tau.signum() / (tau.abs() + (1.0 + tau * tau).sqrt());
            let cosine = 1.0 / (1.0 + tangent * tangent).sqrt();
            let sine = tangent * cosine;
            a[p][p] -= tangent * coupling;
            a[q][q] += tangent * coupling;
            (a[p][q], a[q][p]) = (0.0, 0.0);
            let (one, other) = (a[r][p], a[r][q]);
            a[r][p] = cosine * one - sine * other;
            a[r][q] = sine * one + cosine * other;
            (a[p][r], a[q][r]) = (a[r][p], a[r][q]);
            let (one, other) = (axes[p], axes[q]);
            axes[p] = one * cosine - other * sine;
            axes[q] = one * sine + other * cosine;
        }
    }
    (
        DVec3::new(a[0][0], a[1][1], a[2][2]),
        DMat3::from_cols(axes[0], axes[1], axes[2]),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::array::uniform6;
    use proptest::prelude::*;

    fn symmetric([a, b, c, d, e, f]: [f64; 6]) -> DMat3 {
        DMat3::from_cols_array(&[a, b, c, b, d, e, c, e, f])
    }

    proptest! {
        #[test]
        fn eigenvectors_diagonalize_the_matrix(
            entries in uniform6(-1.0..1.0f64),
            diagonal in -2.0..2.0f64,
        ) {
            let matrix = symmetric(entries) + DMat3::IDENTITY * diagonal;
            let (values, axes) = eigensystem(&matrix);
            prop_assert!((axes * axes.transpose()).abs_diff_eq(DMat3::IDENTITY, 1e-14));
            prop_assert!((matrix * axes).abs_diff_eq(axes * DMat3::from_diagonal(values), 1e-14));
        }

        #[test]
        fn a_matrix_is_the_difference_of_its_positive_and_negative_parts(
            entries in uniform6(-1.0..1.0f64),
            diagonal in -2.0..2.0f64,
        ) {
            let matrix = symmetric(entries) + DMat3::IDENTITY * diagonal;
            let (positive, negative) = (positive_part(&matrix), positive_part(&-matrix));
            prop_assert!((positive - negative).abs_diff_eq(matrix, 1e-14));
            prop_assert!((positive * negative).abs_diff_eq(DMat3::ZERO, 1e-13));
            prop_assert!(eigensystem(&positive).0.min_element() >= -1e-14);
        }
    }

    #[test]
    fn repeated_eigenvalues_are_found() {
        let (values, _) = eigensystem(&symmetric([0.0, 1.0, 1.0, 0.0, 1.0, 0.0]));
        let mut values = values.to_array();
        values.sort_by(f64::total_cmp);
        for (value, known) in values.iter().zip([-1.0, -1.0, 2.0]) {
            assert!((value - known).abs() < 1e-15);
        }
        assert_eq!(positive_part(&DMat3::ZERO), DMat3::ZERO);
        assert_eq!(positive_part(&-DMat3::IDENTITY), DMat3::ZERO);
    }
}
