//! Neo-Hookean: per area μ/2 (‖F‖² − 2) − μ(J − 1) + λ/2 (J − 1)², where J = |f₁ × f₂| is the area
//! over its rest.
//!
//! This is the law of Smith, de Goes and Kim, Stable Neo-Hookean Flesh Simulation (2018), in two
//! dimensions. It has polynomials of J instead of ln J and is finite for a triangle without area.
//! Its Lamé parameters for small strains are μ and λ − μ; for plane stress, μ = E t/(2(1 + ν)) and
//! λ = E t/(2(1 − ν)).
//!
//! For a general C, μ = C₃₃ and λ = C₁₂ + C₃₃. The excess stiffness of warp and weft,
//! kₐ = Cₐₐ − C₁₂ − 2C₃₃ ≥ 0, is that of fibres with the energy kₐ/2 (|fₐ| − 1)² per area: small
//! strains have the stiffness C. Isotropic sheets have no fibres.

use super::modes::{ModeStiffness, Modes};
use super::{HessianKind, Triangle, positive_part};
use crate::energy::Blocks;
use crate::energy::hinge::outer;
use glam::{DMat2, DMat3, DVec2, DVec3};

/// A fibre below this fraction of its rest length has no direction.
const MIN_LENGTH_RATIO: f64 = 1e-9;

/// Parameters of a sheet (N/m), from its matrix C.
struct Parameters {
    /// μ.
    shear: f64,
    /// λ.
    area: f64,
    /// k₁ and k₂.
    fibres: [f64; 2],
}

impl Parameters {
    fn new(c: DMat3) -> Self {
        let (coupling, shear) = (c.x_axis.y, c.z_axis.z);
        let fibre = |stretch: f64| {
            let rest = stretch - coupling - 2.0 * shear;
            // In isotropic sheets this is a rounding error.
            if rest.abs() <= 1e-9 * stretch.abs() {
                0.0
            } else {
                rest
            }
        };
        Self {
            shear,
            area: coupling + shear,
            fibres: [fibre(c.x_axis.x), fibre(c.y_axis.y)],
        }
    }

    /// Derivative of the density by J.
    fn pressure(&self, area_ratio: f64) -> f64 {
        self.area * (area_ratio - 1.0) - self.shear
    }
}

/// Whether the law admits a stiffness matrix.
pub(super) fn admits(c: DMat3) -> bool {
    let parameters = Parameters::new(c);
    let along_axes = c.x_axis.z == 0.0 && c.y_axis.z == 0.0;
    let [warp, weft] = parameters.fibres;
    along_axes && parameters.shear >= 0.0 && parameters.area >= 0.0 && warp >= 0.0 && weft >= 0.0
}

/// The energy of a triangle (J).
pub(super) fn value(triangle: &Triangle) -> f64 {
    let parameters = Parameters::new(triangle.stiffness);
    let f = &triangle.f;
    let growth = f[0].cross(f[1]).length() - 1.0;
    let square = f[0].length_squared() + f[1].length_squared();
    let sheet = parameters.shear * (0.5 * (square - 2.0) - growth)
        + 0.5 * parameters.area * growth * growth;
    let fibre = |axis: usize| 0.5 * parameters.fibres[axis] * (f[axis].length() - 1.0).powi(2);
    triangle.area * (sheet + fibre(0) + fibre(1))
}

/// The derivative of the energy by the positions (N).
pub(super) fn force(triangle: &Triangle, modes: &Modes) -> [DVec3; 3] {
    let parameters = Parameters::new(triangle.stiffness);
    let [first, second] = modes.stretch;
    let pressure = parameters.pressure(first * second);
    let mut stress = modes.stress([
        [parameters.shear * first + pressure * second, 0.0],
        [0.0, parameters.shear * second + pressure * first],
    ]);
    for axis in 0..2 {
        let length = triangle.f[axis].length();
        if parameters.fibres[axis] > 0.0 && length > MIN_LENGTH_RATIO {
            stress[axis] += triangle.f[axis] * (parameters.fibres[axis] * (1.0 - 1.0 / length));
        }
    }
    triangle.force(stress)
}

/// Second derivative of the energy by the positions (N/m). In the axes of the singular values it is
/// μ Σaₖⱼ² + λ dJ² + p d²J, with dJ = σ₂a₁₁ + σ₁a₂₂ and
/// d²J = 2(a₁₁a₂₂ − a₁₂a₂₁) + a₃₁²σ₂/σ₁ + a₃₂²σ₁/σ₂.
pub(super) fn second_derivative(
    triangle: &Triangle,
    modes: &Modes,
    kind: HessianKind,
) -> Blocks<3> {
    let parameters = Parameters::new(triangle.stiffness);
    let (mu, lambda) = (parameters.shear, parameters.area);
    let [first, second] = modes.stretch;
    let divisors = modes.divisors();
    let pressure = parameters.pressure(first * second);
    let mixed = lambda * first * second + pressure;
    let mut stretch = DMat2::from_cols_array(&[
        mu + lambda * second * second,
        mixed,
        mixed,
        mu + lambda * first * first,
    ]);
    // Stiffness of the modes a₁₂ + a₂₁ and a₁₂ − a₂₁.
    let mut shear = [mu - pressure, mu + pressure];
    let mut across = [
        mu + pressure * second / divisors[0],
        mu + pressure * first / divisors[1],
    ];
    if kind == HessianKind::Projected {
        stretch = positive_part(stretch);
        shear = shear.map(|stiffness| stiffness.max(0.0));
        across = across.map(|stiffness| stiffness.max(0.0));
    }
    let (same, other) = (0.5 * (shear[0] + shear[1]), 0.5 * (shear[0] - shear[1]));
    let (s11, s12, s22) = (stretch.x_axis.x, stretch.x_axis.y, stretch.y_axis.y);
    let stiffness = ModeStiffness {
        in_plane: [
            [s11, s12, 0.0, 0.0],
            [s12, s22, 0.0, 0.0],
            [0.0, 0.0, same, other],
            [0.0, 0.0, other, same],
        ],
        across: DMat2::from_diagonal(DVec2::from_array(across)),
    };
    let mut blocks = modes.blocks(triangle, &stiffness);
    for axis in 0..2 {
        if parameters.fibres[axis] > 0.0 {
            add_fibre(triangle, axis, parameters.fibres[axis], kind, &mut blocks);
        }
    }
    blocks
}

/// Adds the second derivative of the fibres along an axis: springs of rest length 1 along fₐ.
fn add_fibre(
    triangle: &Triangle,
    axis: usize,
    fibre: f64,
    kind: HessianKind,
    blocks: &mut Blocks<3>,
) {
    let length = triangle.f[axis].length();
    let (along, across) = if length > MIN_LENGTH_RATIO {
        (triangle.f[axis] / length, 1.0 - 1.0 / length)
    } else {
        (DVec3::X, 0.0)
    };
    let across = match kind {
        HessianKind::Exact => across,
        HessianKind::Projected => across.max(0.0),
    };
    let along = outer(along, along);
    let stiffness = (along + (DMat3::IDENTITY - along) * across) * (fibre * triangle.area);
    for i in 0..3 {
        for j in 0..3 {
            blocks[i][j] += stiffness * (triangle.shape[i][axis] * triangle.shape[j][axis]);
        }
    }
}
