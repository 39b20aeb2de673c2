//! Stretch and shear of cloth: linear triangles with one of three constitutive laws.
//!
//! The deformation gradient of a triangle is F = Σᵢ xᵢ ∇Nᵢᵀ (3×2), in the axes of the material (1
//! warp, 2 weft). All laws have their parameters from the plane stress matrix C (N/m) of small
//! strains ε = (ε₁₁, ε₂₂, 2ε₁₂), for which they agree: the energy of a triangle of rest area A is
//! A/2 ε·Cε. For large strains,
//!
//! - St. Venant-Kirchhoff hardens under tension and softens under compression,
//! - corotated is linear in the stretch: a strip of Poisson ratio 0 has the tension E t ε,
//! - neo-Hookean softens under tension like rubber and resists the loss of area.
//!
//! A triangle in space cannot invert, but its area can vanish. The last two laws have a kink there,
//! and the directions of their forces are not unique; all numbers remain finite.

mod corotated;
mod modes;
mod neo_hookean;
mod st_venant_kirchhoff;
#[cfg(test)]
mod tests;

use super::{Blocks, CHUNK, Energy, at_nodes};
use glam::{DMat2, DMat3, DVec2, DVec3};
use modes::Modes;
use rayon::prelude::*;

/// Plane stress matrix of an isotropic sheet.
///
/// `membrane_stiffness` is Young's modulus times thickness (N/m), `poisson` lies in (−1, 1).
pub fn isotropic_stiffness(membrane_stiffness: f64, poisson: f64) -> DMat3 {
    orthotropic_stiffness(
        [membrane_stiffness; 2],
        poisson,
        membrane_stiffness / (2.0 * (1.0 + poisson)),
    )
}

/// Plane stress matrix of a woven sheet.
///
/// `stretch` are Young's moduli times thickness along warp and weft (N/m), `shear` is the shear
/// modulus times thickness (N/m). `poisson` is the geometric mean √(ν₁₂ν₂₁) of the two Poisson
/// ratios: the result is positive definite for every value in (−1, 1) and any warp and weft.
pub fn orthotropic_stiffness(stretch: [f64; 2], poisson: f64, shear: f64) -> DMat3 {
    let [warp, weft] = stretch.map(|stiffness| stiffness / (1.0 - poisson * poisson));
    let coupling = poisson * (warp * weft).sqrt();
    DMat3::from_cols(
        DVec3::new(warp, coupling, 0.0),
        DVec3::new(coupling, weft, 0.0),
        DVec3::new(0.0, 0.0, shear),
    )
}

/// Rest coordinates of a triangle from its shape in space, with the first side along the warp.
pub fn flatten(corners: [DVec3; 3]) -> [DVec2; 3] {
    let (side, other) = (corners[1] - corners[0], corners[2] - corners[0]);
    let axis = side.normalize_or_zero();
    [
        DVec2::ZERO,
        DVec2::new(side.length(), 0.0),
        DVec2::new(axis.dot(other), axis.cross(other).length()),
    ]
}

/// Constitutive law.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MembraneLaw {
    /// Linear in the Green strain; C may be any symmetric positive semidefinite matrix.
    #[default]
    StVenantKirchhoff,
    /// Stable neo-Hookean in two dimensions, with fibres for the excess stiffness of warp and weft.
    NeoHookean,
    /// Linear in the Biot strain; C may be any symmetric positive semidefinite matrix.
    Corotated,
}

/// A triangle whose rest shape has no area.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("triangle {triangle} has the rest area {area} m²")]
pub struct DegenerateTriangle {
    /// Index of the triangle.
    pub triangle: usize,
    /// Its rest area (m²).
    pub area: f64,
}

/// Invalid parameters of a membrane.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum MembraneError {
    /// A triangle whose rest shape has no area.
    #[error(transparent)]
    Triangle(#[from] DegenerateTriangle),
    /// A stiffness matrix that a neo-Hookean sheet with fibres cannot have.
    #[error(
        "material {material} cannot be neo-hookean: its shear is too stiff for its stretch, or not \
         along warp and weft"
    )]
    NotNeoHookean {
        /// Index of the material.
        material: usize,
    },
}

/// The triangles of one or several sheets.
#[derive(Clone, Debug)]
pub struct Membrane {
    stencils: Vec<[u32; 3]>,
    inverse_rest: Vec<DMat2>,
    area: Vec<f64>,
    material: Vec<u32>,
    stiffness: Vec<DMat3>,
    law: MembraneLaw,
}

impl Membrane {
    /// Triangles with rest corners in the axes of the material (m). `material` is the index of each
    /// triangle into `stiffness`, the symmetric positive semidefinite matrices C (N/m).
    ///
    /// # Errors
    /// If a triangle has no area at rest, or the law does not admit a stiffness matrix.
    pub fn new(
        stencils: Vec<[u32; 3]>,
        rest: &[[DVec2; 3]],
        material: Vec<u32>,
        stiffness: Vec<DMat3>,
        law: MembraneLaw,
    ) -> Result<Self, MembraneError> {
        if law == MembraneLaw::NeoHookean
            && let Some(material) = stiffness.iter().position(|c| !neo_hookean::admits(*c))
        {
            return Err(MembraneError::NotNeoHookean { material });
        }
        let mut inverse_rest = Vec::with_capacity(rest.len());
        let mut area = Vec::with_capacity(rest.len());
        for (triangle, [a, b, c]) in rest.iter().enumerate() {
            let sides = DMat2::from_cols(b - a, c - a);
            let rest_area = 0.5 * sides.determinant().abs();
            let longest_side = (b - a).length_squared().max((c - a).length_squared());
            if rest_area <= 1e-12 * longest_side || !rest_area.is_finite() {
                return Err(MembraneError::Triangle(DegenerateTriangle {
                    triangle,
                    area: rest_area,
                }));
            }
            inverse_rest.push(sides.inverse());
            area.push(rest_area);
        }
        Ok(Self {
            stencils,
            inverse_rest,
            area,
            material,
            stiffness,
            law,
        })
    }

    /// Largest principal stretch of one triangle.
    pub fn largest_stretch(&self, element: usize, x: &[DVec3; 3]) -> f64 {
        let [f1, f2] = self.triangle(element, x).f;
        let (c11, c22, c12) = (f1.length_squared(), f2.length_squared(), f1.dot(f2));
        (0.5 * (c11 + c22) + (0.5 * (c11 - c22)).hypot(c12)).sqrt()
    }

    /// Largest principal stretch of all triangles.
    pub fn max_stretch(&self, positions: &[DVec3]) -> f64 {
        let largest = |(chunk, stencils): (usize, &[[u32; 3]])| {
            let stretch = |(i, stencil)| {
                self.largest_stretch(chunk * CHUNK + i, &at_nodes(stencil, positions))
            };
            stencils.iter().enumerate().map(stretch).fold(0.0, f64::max)
        };
        let largest: Vec<f64> = self
            .stencils
            .par_chunks(CHUNK)
            .enumerate()
            .map(largest)
            .collect();
        largest.into_iter().fold(0.0, f64::max)
    }

    /// The triangle with the smallest ratio of area to rest area, and this ratio.
    pub fn smallest_area_ratio(&self, positions: &[DVec3]) -> Option<(usize, f64)> {
        let ratio = |(element, stencil): (usize, &[u32; 3])| {
            let [a, b, c] = at_nodes(stencil, positions);
            let area = 0.5 * (b - a).cross(c - a).length();
            (element, area / self.area[element])
        };
        let smaller = |one: (usize, f64), other: (usize, f64)| {
            if other.1 < one.1 { other } else { one }
        };
        self.stencils.iter().enumerate().map(ratio).reduce(smaller)
    }

    fn triangle(&self, element: usize, x: &[DVec3; 3]) -> Triangle {
        let [second, third] = [0, 1].map(|row| self.inverse_rest[element].row(row));
        let sides = [x[1] - x[0], x[2] - x[0]];
        Triangle {
            f: [
                sides[0] * second.x + sides[1] * third.x,
                sides[0] * second.y + sides[1] * third.y,
            ],
            shape: [-second - third, second, third],
            area: self.area[element],
            stiffness: self.stiffness[self.material[element] as usize],
        }
    }

    fn second_derivative(&self, triangle: &Triangle, kind: HessianKind) -> Blocks<3> {
        let modes = || Modes::new(&triangle.f);
        match self.law {
            MembraneLaw::StVenantKirchhoff => {
                st_venant_kirchhoff::second_derivative(triangle, kind)
            }
            MembraneLaw::NeoHookean => neo_hookean::second_derivative(triangle, &modes(), kind),
            MembraneLaw::Corotated => corotated::second_derivative(triangle, &modes(), kind),
        }
    }
}

impl Energy<3> for Membrane {
    fn stencils(&self) -> &[[u32; 3]] {
        &self.stencils
    }

    fn value(&self, element: usize, x: &[DVec3; 3]) -> f64 {
        let triangle = self.triangle(element, x);
        match self.law {
            MembraneLaw::StVenantKirchhoff => st_venant_kirchhoff::value(&triangle),
            MembraneLaw::NeoHookean => neo_hookean::value(&triangle),
            MembraneLaw::Corotated => corotated::value(&triangle, &Modes::new(&triangle.f)),
        }
    }

    fn gradient(&self, element: usize, x: &[DVec3; 3]) -> [DVec3; 3] {
        let triangle = self.triangle(element, x);
        match self.law {
            MembraneLaw::StVenantKirchhoff => st_venant_kirchhoff::force(&triangle),
            MembraneLaw::NeoHookean => neo_hookean::force(&triangle, &Modes::new(&triangle.f)),
            MembraneLaw::Corotated => corotated::force(&triangle, &Modes::new(&triangle.f)),
        }
    }

    fn hessian(&self, element: usize, x: &[DVec3; 3]) -> Blocks<3> {
        self.second_derivative(&self.triangle(element, x), HessianKind::Exact)
    }

    fn projected_hessian(&self, element: usize, x: &[DVec3; 3]) -> Blocks<3> {
        self.second_derivative(&self.triangle(element, x), HessianKind::Projected)
    }

    fn linearize(&self, element: usize, x: &[DVec3; 3]) -> (f64, [DVec3; 3], Blocks<3>) {
        let triangle = self.triangle(element, x);
        let kind = HessianKind::Projected;
        match self.law {
            MembraneLaw::StVenantKirchhoff => (
                st_venant_kirchhoff::value(&triangle),
                st_venant_kirchhoff::force(&triangle),
                st_venant_kirchhoff::second_derivative(&triangle, kind),
            ),
            MembraneLaw::NeoHookean => {
                let modes = Modes::new(&triangle.f);
                (
                    neo_hookean::value(&triangle),
                    neo_hookean::force(&triangle, &modes),
                    neo_hookean::second_derivative(&triangle, &modes, kind),
                )
            }
            MembraneLaw::Corotated => {
                let modes = Modes::new(&triangle.f);
                (
                    corotated::value(&triangle, &modes),
                    corotated::force(&triangle, &modes),
                    corotated::second_derivative(&triangle, &modes, kind),
                )
            }
        }
    }
}

/// The kind of second derivative.
#[derive(Clone, Copy, PartialEq, Eq)]
enum HessianKind {
    /// Exact.
    Exact,
    /// Projected: positive semidefinite.
    Projected,
}

/// A deformed triangle with its parameters.
struct Triangle {
    /// The columns of F.
    f: [DVec3; 2],
    /// ∇Nᵢ, the gradients of the linear shape functions in the axes of the material (1/m).
    shape: [DVec2; 3],
    /// A (m²).
    area: f64,
    /// C (N/m).
    stiffness: DMat3,
}

impl Triangle {
    /// A P ∇Nᵢ, from the columns of the first Piola-Kirchhoff stress P (N/m).
    fn force(&self, stress: [DVec3; 2]) -> [DVec3; 3] {
        self.shape
            .map(|shape| (stress[0] * shape.x + stress[1] * shape.y) * self.area)
    }
}

/// A symmetric matrix with its negative eigenvalues set to zero.
fn positive_part(s: DMat2) -> DMat2 {
    let mean = 0.5 * (s.x_axis.x + s.y_axis.y);
    let radius = (0.5 * (s.x_axis.x - s.y_axis.y)).hypot(s.x_axis.y);
    let (largest, smallest) = (mean + radius, mean - radius);
    if smallest >= 0.0 {
        s
    } else if largest <= 0.0 {
        DMat2::ZERO
    } else {
        // The projector on the direction of the largest eigenvalue is (S − λ₂I)/(λ₁ − λ₂).
        (s - DMat2::from_diagonal(DVec2::splat(smallest))) * (largest / (largest - smallest))
    }
}
