//! St. Venant-Kirchhoff: A/2 ε·Cε with the Green strain E = (FᵀF − I)/2 as ε = (E₁₁, E₂₂, 2E₁₂).
//!
//! The derivatives are those of Bonet and Wood, Nonlinear Continuum Mechanics for Finite Element
//! Analysis.

use super::{HessianKind, Triangle, positive_part};
use crate::energy::Blocks;
use glam::{DMat2, DMat3, DVec2, DVec3};

/// The energy of a triangle (J).
pub(super) fn value(triangle: &Triangle) -> f64 {
    let strain = green_strain(&triangle.f);
    0.5 * triangle.area * strain.dot(triangle.stiffness * strain)
}

/// A F S ∇Nᵢ.
pub(super) fn force(triangle: &Triangle) -> [DVec3; 3] {
    let (f, stress) = (&triangle.f, stress(triangle));
    triangle.shape.map(|shape| {
        let traction = stress * shape * triangle.area;
        f[0] * traction.x + f[1] * traction.y
    })
}

/// A (∂ε/∂xᵢᵀ C ∂ε/∂xⱼ + (∇Nᵢ·S∇Nⱼ) I): material and geometric stiffness.
///
/// The material part is positive semidefinite; the geometric part is so if S is. The projected
/// derivative has the tensile part of S only.
pub(super) fn second_derivative(triangle: &Triangle, kind: HessianKind) -> Blocks<3> {
    let (f, shape) = (&triangle.f, &triangle.shape);
    let stress = match kind {
        HessianKind::Exact => stress(triangle),
        HessianKind::Projected => positive_part(stress(triangle)),
    };
    let scaled = triangle.stiffness * triangle.area;
    let strain_gradient =
        shape.map(|w| DMat3::from_cols(f[0] * w.x, f[1] * w.y, f[1] * w.x + f[0] * w.y));
    let mut blocks = [[DMat3::ZERO; 3]; 3];
    for i in 0..3 {
        for j in 0..=i {
            let geometric = triangle.area * shape[i].dot(stress * shape[j]);
            blocks[i][j] = strain_gradient[i] * scaled * strain_gradient[j].transpose()
                + DMat3::from_diagonal(DVec3::splat(geometric));
            blocks[j][i] = blocks[i][j].transpose();
        }
    }
    blocks
}

/// The second Piola-Kirchhoff stress S (N/m).
fn stress(triangle: &Triangle) -> DMat2 {
    let s = triangle.stiffness * green_strain(&triangle.f);
    DMat2::from_cols(DVec2::new(s.x, s.z), DVec2::new(s.z, s.y))
}

/// (E₁₁, E₂₂, 2E₁₂) of E = (FᵀF − I)/2.
fn green_strain(f: &[DVec3; 2]) -> DVec3 {
    DVec3::new(
        0.5 * (f[0].length_squared() - 1.0),
        0.5 * (f[1].length_squared() - 1.0),
        f[0].dot(f[1]),
    )
}
