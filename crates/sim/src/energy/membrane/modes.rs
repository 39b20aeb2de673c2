//! The singular value decomposition of F, and second derivatives in its axes.
//!
//! With F = σ₁u₁v₁ᵀ + σ₂u₂v₂ᵀ and u₃ normal to the sheet, a change dF has the components
//! aₖⱼ = uₖ·dF vⱼ. The second derivative of a rotation-invariant law decouples into a part in the
//! plane, by (a₁₁, a₂₂, a₁₂, a₂₁), and a part across it, by (a₃₁, a₃₂) (after Smith, de Goes and
//! Kim, Analytic Eigensystems for Isotropic Distortion Energies, 2019).

use super::Triangle;
use crate::energy::Blocks;
use glam::{DMat2, DMat3, DVec2, DVec3};

/// Lower bound of singular values in denominators.
const MIN_DIVISOR: f64 = 1e-6;

/// F = σ₁u₁v₁ᵀ + σ₂u₂v₂ᵀ.
pub(super) struct Modes {
    /// u₁, u₂ and u₃ as columns: a rotation.
    pub(super) left: DMat3,
    /// v₁ and v₂: a rotation.
    pub(super) right: [DVec2; 2],
    /// σ₁ ≥ σ₂ ≥ 0.
    pub(super) stretch: [f64; 2],
}

/// Second derivative of an energy density by the components aₖⱼ (N/m).
pub(super) struct ModeStiffness {
    /// By (a₁₁, a₂₂, a₁₂, a₂₁).
    pub(super) in_plane: [[f64; 4]; 4],
    /// By (a₃₁, a₃₂).
    pub(super) across: DMat2,
}

impl Modes {
    /// Decomposition of F. For equal or zero singular values, one of the possible directions is
    /// chosen.
    pub(super) fn new(f: &[DVec3; 2]) -> Self {
        let half_difference = 0.5 * (f[0].length_squared() - f[1].length_squared());
        let radius = half_difference.hypot(f[0].dot(f[1]));
        // The angle of v₁ is half that of (half_difference, f₁·f₂). Its larger coordinate is
        // computed without cancellation.
        let larger = radius + half_difference.abs();
        let first = match (larger > 0.0, half_difference >= 0.0) {
            (false, _) => DVec2::X,
            (true, true) => DVec2::new(larger, f[0].dot(f[1])),
            (true, false) => DVec2::new(f[0].dot(f[1]), larger),
        };
        let first = first.normalize_or(DVec2::X);
        let right = [first, first.perp()];
        let along = f[0] * first.x + f[1] * first.y;
        let largest = along.length();
        let normal = f[0].cross(f[1]);
        let area = normal.length();
        let u1 = along.normalize_or(DVec3::X);
        // The normal of a sliver is not orthogonal to u₁, by rounding.
        let u3 = (normal - u1 * u1.dot(normal)).normalize_or(u1.any_orthonormal_vector());
        let stretch = [largest, if largest > 0.0 { area / largest } else { 0.0 }];
        Self {
            left: DMat3::from_cols(u1, u3.cross(u1), u3),
            right,
            stretch,
        }
    }

    /// Singular values for use in denominators.
    pub(super) fn divisors(&self) -> [f64; 2] {
        self.stretch.map(|stretch| stretch.max(MIN_DIVISOR))
    }

    /// The columns of Σ pₖⱼ uₖvⱼᵀ, from rows of p.
    pub(super) fn stress(&self, p: [[f64; 2]; 2]) -> [DVec3; 2] {
        let (u, [v1, v2]) = (&self.left, self.right);
        let [on_v1, on_v2] = [0, 1].map(|j| u.x_axis * p[0][j] + u.y_axis * p[1][j]);
        [on_v1 * v1.x + on_v2 * v2.x, on_v1 * v1.y + on_v2 * v2.y]
    }

    /// Second derivative by the positions.
    pub(super) fn blocks(&self, triangle: &Triangle, stiffness: &ModeStiffness) -> Blocks<3> {
        // Index of aₖⱼ in the in-plane part.
        const PLACE: [[usize; 2]; 2] = [[0, 2], [3, 1]];
        let shape = triangle.shape.map(|w| self.right.map(|v| v.dot(w)));
        let q = &stiffness.in_plane;
        let transposed = self.left.transpose();
        let mut blocks = [[DMat3::ZERO; 3]; 3];
        for i in 0..3 {
            for j in 0..=i {
                let (wi, wj) = (shape[i], shape[j]);
                let entry = |k: usize, l: usize| {
                    let [k, l] = [PLACE[k], PLACE[l]];
                    wi[0] * (q[k[0]][l[0]] * wj[0] + q[k[0]][l[1]] * wj[1])
                        + wi[1] * (q[k[1]][l[0]] * wj[0] + q[k[1]][l[1]] * wj[1])
                };
                let across = DVec2::from_array(wi).dot(stiffness.across * DVec2::from_array(wj));
                let local = DMat3::from_cols(
                    DVec3::new(entry(0, 0), entry(1, 0), 0.0),
                    DVec3::new(entry(0, 1), entry(1, 1), 0.0),
                    DVec3::new(0.0, 0.0, across),
                );
                blocks[i][j] = self.left * (local * triangle.area) * transposed;
                blocks[j][i] = blocks[i][j].transpose();
            }
        }
        for i in 0..3 {
            blocks[i][i] = (blocks[i][i] + blocks[i][i].transpose()) * 0.5;
        }
        blocks
    }
}
