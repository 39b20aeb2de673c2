//! Common part of all laws: an energy density Ψ(I₁, I₂, J) that is a sum of functions of one
//! invariant each.
//!
//! With the signed singular values σ of F (Smith, de Goes and Kim 2019), I₁ = Σσᵢ = tr(RᵀF),
//! I₂ = Σσᵢ² = ‖F‖² and J = σ₁σ₂σ₃ = det F. Then P = ψ₁R + 2ψ₂F + ψ₃ cof F, where ψ are the
//! derivatives by the invariants. With k the third axis besides i and j, the modes are
//!
//! - scaling: ψ₁₁ + 4ψ₂₂σᵢσⱼ + ψ₃₃gᵢgⱼ with g = ∂J/∂σ, plus 2ψ₂ on the diagonal, ψ₃σₖ off it,
//! - twist: 2ψ₁/(σᵢ + σⱼ) + 2ψ₂ + ψ₃σₖ,
//! - flip: 2ψ₂ − ψ₃σₖ.
//!
//! Only R is singular, at σᵢ + σⱼ = 0, where the nearest rotation jumps.

use super::super::isotropic::Modes;
use super::super::principal::Principal;
use glam::{DMat3, DVec3};

/// Lower bound of σᵢ + σⱼ in denominators: keeps the twist finite where the nearest rotation jumps.
const MIN_STRETCH_SUM: f64 = 1e-4;

/// Lamé parameters (Pa).
#[derive(Clone, Copy, Debug)]
pub(super) struct Lame {
    /// μ, the shear modulus.
    pub mu: f64,
    /// λ.
    pub lambda: f64,
}

impl Lame {
    pub(super) fn new(young: f64, poisson: f64) -> Self {
        Self {
            mu: young / (2.0 * (1.0 + poisson)),
            lambda: young * poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson)),
        }
    }
}

/// Invariants of F.
#[derive(Clone, Copy, Debug)]
pub(super) struct Invariants {
    /// I₁ − 3 = tr(RᵀF − I).
    pub trace: f64,
    /// ‖F − R‖² = I₂ − 2I₁ + 3, without cancellation near rest.
    pub distance: f64,
    /// I₂ = ‖F‖².
    pub square: f64,
    /// J = det F.
    pub volume: f64,
}

impl Invariants {
    /// Invariants that need no rotation; `trace` and `distance` are zero.
    pub(super) fn without_rotation(f: &DMat3) -> Self {
        Self {
            trace: 0.0,
            distance: 0.0,
            square: f.x_axis.length_squared()
                + f.y_axis.length_squared()
                + f.z_axis.length_squared(),
            volume: f.determinant(),
        }
    }

    /// All invariants.
    pub(super) fn new(f: &DMat3, principal: &Principal) -> Self {
        let strain = principal.stretches - DVec3::ONE;
        Self {
            trace: strain.element_sum(),
            distance: strain.length_squared(),
            ..Self::without_rotation(f)
        }
    }
}

/// A density and its derivatives by I₁, I₂ and J (Pa). Mixed second derivatives are zero for all
/// laws.
#[derive(Clone, Copy, Debug)]
pub(super) struct Density {
    /// Ψ.
    pub value: f64,
    /// ψ₁, ψ₂, ψ₃.
    pub first: [f64; 3],
    /// ψ₁₁, ψ₂₂, ψ₃₃.
    pub second: [f64; 3],
}

impl Density {
    /// First Piola-Kirchhoff stress P without its part ψ₁R.
    pub(super) fn stress_without_rotation(&self, f: &DMat3) -> DMat3 {
        let [_, square, volume] = self.first;
        let cofactor = DMat3::from_cols(
            f.y_axis.cross(f.z_axis),
            f.z_axis.cross(f.x_axis),
            f.x_axis.cross(f.y_axis),
        );
        *f * (2.0 * square) + cofactor * volume
    }

    /// Second derivative in the principal axes.
    pub(super) fn modes(&self, stretches: DVec3) -> Modes {
        let [x, y, z] = stretches.to_array();
        let areas = DVec3::new(y * z, z * x, x * y);
        let sums = DVec3::new(y + z, z + x, x + y).max(DVec3::splat(MIN_STRETCH_SUM));
        let [trace, square, volume] = self.first;
        let shear = stretches * volume;
        let twice = DVec3::splat(2.0 * square);
        let beside = DMat3::from_cols(
            DVec3::new(twice.x, shear.z, shear.y),
            DVec3::new(shear.z, twice.y, shear.x),
            DVec3::new(shear.y, shear.x, twice.z),
        );
        let column = |i: usize| {
            DVec3::splat(self.second[0])
                + stretches * (4.0 * self.second[1] * stretches[i])
                + areas * (self.second[2] * areas[i])
        };
        Modes {
            scaling: beside + DMat3::from_cols(column(0), column(1), column(2)),
            twist: DVec3::splat(2.0 * trace) / sums + twice + shear,
            flip: twice - shear,
        }
    }
}
