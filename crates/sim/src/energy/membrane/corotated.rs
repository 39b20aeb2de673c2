//! Corotated: A/2 ε·Cε with the Biot strain U − I as ε, where F = RU is the polar decomposition.
//!
//! In the isotropic case this is μ‖F − R‖² + λ/2 tr²(U − I) with the Lamé parameters of plane
//! stress. U is invariant under rotations, so C may be anisotropic.
//!
//! In the axes of the singular values, a change dF = Σ aₖⱼuₖvⱼᵀ rotates the sheet in its plane by
//! ω = (a₂₁ − a₁₂)/s, s = σ₁ + σ₂, and strains it by dU₁₁ = a₁₁, dU₂₂ = a₂₂ and
//! dU₁₂ = (σ₁a₁₂ + σ₂a₂₁)/s. Differentiating U² = FᵀF twice gives
//! d²U₁₁ = 2 dU₁₂ ω + σ₁ω² + a₃₁²/σ₁,
//! d²U₂₂ = −2 dU₁₂ ω + σ₂ω² + a₃₂²/σ₂,
//! d²U₁₂ = 2 (ω (σ₁a₂₂ − σ₂a₁₁) + a₃₁a₃₂)/s.
//! With the stress T = Cε the second derivative is dε·C dε + T:d²U.

use super::modes::{ModeStiffness, Modes};
use super::{HessianKind, Triangle, positive_part};
use crate::energy::Blocks;
use glam::{DMat2, DMat3, DVec2, DVec3};

/// The energy of a triangle (J).
pub(super) fn value(triangle: &Triangle, modes: &Modes) -> f64 {
    let strain = biot_strain(modes);
    0.5 * triangle.area * strain.dot(triangle.stiffness * strain)
}

/// The derivative of the energy by the positions (N).
pub(super) fn force(triangle: &Triangle, modes: &Modes) -> [DVec3; 3] {
    let t = principal_stress(triangle, modes);
    let [first, second] = modes.stretch;
    let shear = 2.0 * t.z / (first + second).max(f64::MIN_POSITIVE);
    triangle.force(modes.stress([[t.x, shear * first], [shear * second, t.y]]))
}

/// The second derivative of the energy by the positions (N/m).
pub(super) fn second_derivative(
    triangle: &Triangle,
    modes: &Modes,
    kind: HessianKind,
) -> Blocks<3> {
    let t = principal_stress(triangle, modes);
    let [first, second] = modes.divisors();
    let sum = first + second;
    let strains = strain_axes(modes);
    let material = strains.transpose() * triangle.stiffness * strains;
    // Coefficients g and k of the terms 2ω g·dε and kω².
    let mut coupling = DVec3::new(
        -2.0 * t.z * second / sum,
        2.0 * t.z * first / sum,
        0.5 * (t.x - t.y),
    );
    let mut turning = t.x * first + t.y * second;
    let mut across = DMat2::from_cols(
        DVec2::new(t.x / first, 2.0 * t.z / sum),
        DVec2::new(2.0 * t.z / sum, t.y / second),
    );
    if kind == HessianKind::Projected {
        across = positive_part(across);
        turning = turning.max(0.0);
        coupling *= semidefinite_fraction(material, coupling, turning);
    }
    // dε and ω as functions of (a₁₁, a₂₂, a₁₂, a₂₁).
    let strain_rows = [
        [1.0, 0.0, 0.0, 0.0],
        [0.0, 1.0, 0.0, 0.0],
        [0.0, 0.0, 2.0 * first / sum, 2.0 * second / sum],
    ];
    let turn_row = [0.0, 0.0, -1.0 / sum, 1.0 / sum];
    let mut in_plane = [[0.0; 4]; 4];
    for i in 0..4 {
        let strain = DVec3::from_array(strain_rows.map(|row| row[i]));
        let stress = material * strain + coupling * turn_row[i];
        let moment = coupling.dot(strain) + turning * turn_row[i];
        for j in 0..4 {
            let other = DVec3::from_array(strain_rows.map(|row| row[j]));
            in_plane[i][j] = stress.dot(other) + moment * turn_row[j];
        }
    }
    modes.blocks(triangle, &ModeStiffness { in_plane, across })
}

/// The largest factor in [0, 1] on the coupling g for which ε·Cε + 2ω g·ε + kω² is positive
/// semidefinite, k ≥ 0. The condition is g·C⁻¹g ≤ k.
fn semidefinite_fraction(material: DMat3, coupling: DVec3, turning: f64) -> f64 {
    let scale = material
        .x_axis
        .x
        .max(material.y_axis.y)
        .max(material.z_axis.z);
    let singular = material.determinant() <= 1e-12 * scale * scale * scale;
    if turning <= 0.0 || singular {
        return 0.0;
    }
    let needed = coupling.dot(material.inverse() * coupling);
    if needed > turning {
        (turning / needed).sqrt()
    } else {
        1.0
    }
}

/// (U₁₁ − 1, U₂₂ − 1, 2U₁₂) in the axes of the material.
fn biot_strain(modes: &Modes) -> DVec3 {
    let [first, second] = modes.stretch;
    strain_axes(modes) * DVec3::new(first - 1.0, second - 1.0, 0.0)
}

/// T₁₁, T₂₂ and T₁₂ in the axes of the singular values.
fn principal_stress(triangle: &Triangle, modes: &Modes) -> DVec3 {
    strain_axes(modes).transpose() * (triangle.stiffness * biot_strain(modes))
}

/// Transforms strains (ε₁₁, ε₂₂, 2ε₁₂) from the axes of the singular values to those of the
/// material.
fn strain_axes(modes: &Modes) -> DMat3 {
    let [v1, v2] = modes.right;
    DMat3::from_cols(
        DVec3::new(v1.x * v1.x, v1.y * v1.y, 2.0 * v1.x * v1.y),
        DVec3::new(v2.x * v2.x, v2.y * v2.y, 2.0 * v2.x * v2.y),
        DVec3::new(v1.x * v2.x, v1.y * v2.y, v1.x * v2.y + v1.y * v2.x),
    )
}
