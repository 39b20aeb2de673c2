//! Elastic solids: linear tetrahedra of an isotropic material.
//!
//! The deformation gradient F = Σᵢ xᵢ∇Nᵢᵀ of a tetrahedron is constant, and its energy is V Ψ(F)
//! with the rest volume V. Each law Ψ has a module; their common part is in `law`, and the closed
//! form of second derivative and projection in [`super::isotropic`]. Force and stiffness of the
//! first node follow from those of the others by translation invariance.
//!
//! Every law is finite for every F: flat and inverted tetrahedra are admissible. Linear tetrahedra
//! lock in bending and for ν near 1/2.

mod corotated;
mod fixed_corotated;
mod law;
mod neo_hookean;
mod stable_neo_hookean;
#[cfg(test)]
mod tests;

use super::isotropic::Modes;
use super::principal::Principal;
use super::{Blocks, CHUNK, Energy, at_nodes};
use glam::{DMat3, DVec3};
use law::{Density, Invariants, Lame};
use rayon::prelude::*;

/// Largest Poisson ratio. Incompressible materials need another element.
pub const LARGEST_POISSON: f64 = 0.499;

/// Constitutive law. All laws agree for small strains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SolidLaw {
    /// μ‖F − R‖² + λ/2 tr²(RᵀF − I).
    Corotated,
    /// μ‖F − R‖² + λ/2 (J − 1)².
    FixedCorotated,
    /// μ/2 (‖F‖² − 3) − μ ln J + λ/2 ln²J, extrapolated for J < 0.4.
    NeoHookean,
    /// The stable neo-Hookean law of Smith, de Goes and Kim, smooth for every F.
    StableNeoHookean,
}

impl SolidLaw {
    fn density(self, moduli: Lame, at: &Invariants) -> Density {
        match self {
            Self::Corotated => corotated::density(moduli, at),
            Self::FixedCorotated => fixed_corotated::density(moduli, at),
            Self::NeoHookean => neo_hookean::density(moduli, at),
            Self::StableNeoHookean => stable_neo_hookean::density(moduli, at),
        }
    }

    /// Whether value and stress depend on the rotation R, which is costly to compute.
    fn needs_rotation(self) -> bool {
        matches!(self, Self::Corotated | Self::FixedCorotated)
    }
}

/// Invalid parameters of a solid.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum SolidError {
    /// A tetrahedron names a point that does not exist.
    #[error("tetrahedron {tetrahedron} has the point {point}, but there are {points} points")]
    NoSuchPoint {
        /// Index of the tetrahedron.
        tetrahedron: usize,
        /// Index of the point.
        point: u32,
        /// Number of points.
        points: usize,
    },
    /// A tetrahedron whose rest shape has no volume.
    #[error("tetrahedron {tetrahedron} has the rest volume {volume} m³")]
    Flat {
        /// Index of the tetrahedron.
        tetrahedron: usize,
        /// Its rest volume (m³).
        volume: f64,
    },
    /// A Young's modulus that is not positive.
    #[error("Young's modulus is {young} Pa, but must be positive and finite")]
    Young {
        /// Young's modulus (Pa).
        young: f64,
    },
    /// A Poisson ratio that is negative or too close to 1/2.
    #[error("Poisson's ratio is {poisson}, but must be from 0 to {LARGEST_POISSON}")]
    Poisson {
        /// Poisson's ratio.
        poisson: f64,
    },
}

/// Tetrahedra of one material, of one or several bodies.
#[derive(Clone, Debug)]
pub struct Solid {
    stencils: Vec<[u32; 4]>,
    /// Inverse of the matrix whose columns are the sides at rest. Its rows are ∇N of the last three
    /// nodes (1/m).
    inverse_rest: Vec<DMat3>,
    /// V (m³).
    volume: Vec<f64>,
    law: SolidLaw,
    moduli: Lame,
}

impl Solid {
    /// Tetrahedra with rest positions (m), Young's modulus (Pa) and Poisson's ratio of small
    /// strains. The orientation of the nodes of a tetrahedron is arbitrary.
    pub fn new(
        tetrahedra: Vec<[u32; 4]>,
        points: &[DVec3],
        law: SolidLaw,
        young: f64,
        poisson: f64,
    ) -> Result<Self, SolidError> {
        if !(young > 0.0 && young.is_finite()) {
            return Err(SolidError::Young { young });
        }
        if !(0.0..=LARGEST_POISSON).contains(&poisson) {
            return Err(SolidError::Poisson { poisson });
        }
        let mut inverse_rest = Vec::with_capacity(tetrahedra.len());
        let mut volume = Vec::with_capacity(tetrahedra.len());
        for (tetrahedron, nodes) in tetrahedra.iter().enumerate() {
            if let Some(&point) = nodes.iter().find(|node| **node as usize >= points.len()) {
                return Err(SolidError::NoSuchPoint {
                    tetrahedron,
                    point,
                    points: points.len(),
                });
            }
            let sides = sides(&at_nodes(nodes, points));
            let rest_volume = sides.determinant().abs() / 6.0;
            let longest = (sides.x_axis.length_squared())
                .max(sides.y_axis.length_squared())
                .max(sides.z_axis.length_squared());
            if !(rest_volume > 1e-12 * longest * longest.sqrt() && rest_volume.is_finite()) {
                return Err(SolidError::Flat {
                    tetrahedron,
                    volume: rest_volume,
                });
            }
            inverse_rest.push(sides.inverse());
            volume.push(rest_volume);
        }
        Ok(Self {
            stencils: tetrahedra,
            inverse_rest,
            volume,
            law,
            moduli: Lame::new(young, poisson),
        })
    }

    /// Rest volumes (m³), one per tetrahedron.
    pub fn volumes(&self) -> &[f64] {
        &self.volume
    }

    /// First Piola-Kirchhoff stress P = ∂Ψ/∂F (Pa).
    pub fn stress(&self, deformation: &DMat3) -> DMat3 {
        let (density, principal) = self.density(deformation);
        stress(&density, deformation, principal.as_ref())
    }

    /// Deformation gradient F of one tetrahedron.
    pub fn deformation(&self, element: usize, x: &[DVec3; 4]) -> DMat3 {
        sides(x) * self.inverse_rest[element]
    }

    /// Principal stretches of one tetrahedron, descending. The last is negative if it is inverted.
    pub fn stretches(&self, element: usize, x: &[DVec3; 4]) -> DVec3 {
        Principal::of(&self.deformation(element, x)).stretches
    }

    /// Largest principal stretch of all tetrahedra.
    pub fn max_stretch(&self, positions: &[DVec3]) -> f64 {
        let of_chunk = |(chunk, stencils): (usize, &[[u32; 4]])| {
            let mut largest: f64 = 0.0;
            for (i, stencil) in stencils.iter().enumerate() {
                let f = self.deformation(chunk * CHUNK + i, &at_nodes(stencil, positions));
                // The decomposition is costly: skip it where the bound excludes a new maximum.
                if stretch_bound(&f) > largest {
                    largest = largest.max(Principal::of(&f).stretches.x);
                }
            }
            largest
        };
        let chunks = self.stencils.par_chunks(CHUNK).enumerate();
        let found: Vec<f64> = chunks.map(of_chunk).collect();
        found.into_iter().fold(0.0, f64::max)
    }

    /// Smallest principal stretch of all tetrahedra: negative if one is inverted, 1 if there are
    /// none.
    pub fn min_stretch(&self, positions: &[DVec3]) -> f64 {
        let smallest = |element, x: &[DVec3; 4]| self.stretches(element, x).z;
        let found = self.extreme(positions, smallest, f64::INFINITY, f64::min);
        if found.is_finite() { found } else { 1.0 }
    }

    /// Smallest ratio of volume to rest volume: negative if a tetrahedron is inverted, 1 if there
    /// are none.
    pub fn smallest_volume_ratio(&self, positions: &[DVec3]) -> f64 {
        let ratio = |element, x: &[DVec3; 4]| self.deformation(element, x).determinant();
        let found = self.extreme(positions, ratio, f64::INFINITY, f64::min);
        if found.is_finite() { found } else { 1.0 }
    }

    /// Extreme of a quantity over all tetrahedra.
    fn extreme(
        &self,
        positions: &[DVec3],
        quantity: impl Fn(usize, &[DVec3; 4]) -> f64 + Sync,
        start: f64,
        choose: fn(f64, f64) -> f64,
    ) -> f64 {
        let of_chunk = |(chunk, stencils): (usize, &[[u32; 4]])| {
            let of_element =
                |(i, stencil)| quantity(chunk * CHUNK + i, &at_nodes(stencil, positions));
            stencils
                .iter()
                .enumerate()
                .map(of_element)
                .fold(start, choose)
        };
        let found: Vec<f64> = self
            .stencils
            .par_chunks(CHUNK)
            .enumerate()
            .map(of_chunk)
            .collect();
        found.into_iter().fold(start, choose)
    }

    /// Ψ and its derivatives, and the principal axes if the law needs them.
    fn density(&self, f: &DMat3) -> (Density, Option<Principal>) {
        let principal = self.law.needs_rotation().then(|| Principal::of(f));
        (self.density_at(f, principal.as_ref()), principal)
    }

    fn density_at(&self, f: &DMat3, principal: Option<&Principal>) -> Density {
        let invariants = match principal {
            Some(principal) if self.law.needs_rotation() => Invariants::new(f, principal),
            _ => Invariants::without_rotation(f),
        };
        self.law.density(self.moduli, &invariants)
    }

    /// V P∇Nᵢ.
    fn force(&self, element: usize, stress: &DMat3) -> [DVec3; 4] {
        let by_node = *stress * (self.inverse_rest[element].transpose() * self.volume[element]);
        let [second, third, fourth] = [by_node.x_axis, by_node.y_axis, by_node.z_axis];
        [-(second + third + fourth), second, third, fourth]
    }

    fn second_derivative(&self, element: usize, principal: &Principal, modes: &Modes) -> Blocks<4> {
        let inner = modes.blocks(principal, &self.inverse_rest[element], self.volume[element]);
        let column = [0, 1, 2].map(|j| -(inner[0][j] + inner[1][j] + inner[2][j]));
        let first = -(column[0] + column[1] + column[2]);
        let row = |i: usize| [column[i].transpose(), inner[i][0], inner[i][1], inner[i][2]];
        [
            [first, column[0], column[1], column[2]],
            row(0),
            row(1),
            row(2),
        ]
    }
}

impl Energy<4> for Solid {
    fn stencils(&self) -> &[[u32; 4]] {
        &self.stencils
    }

    fn value(&self, element: usize, x: &[DVec3; 4]) -> f64 {
        let (density, _) = self.density(&self.deformation(element, x));
        self.volume[element] * density.value
    }

    fn gradient(&self, element: usize, x: &[DVec3; 4]) -> [DVec3; 4] {
        self.force(element, &self.stress(&self.deformation(element, x)))
    }

    fn hessian(&self, element: usize, x: &[DVec3; 4]) -> Blocks<4> {
        let f = self.deformation(element, x);
        let principal = Principal::of(&f);
        let modes = self
            .density_at(&f, Some(&principal))
            .modes(principal.stretches);
        self.second_derivative(element, &principal, &modes)
    }

    fn projected_hessian(&self, element: usize, x: &[DVec3; 4]) -> Blocks<4> {
        self.linearize(element, x).2
    }

    fn linearize(&self, element: usize, x: &[DVec3; 4]) -> (f64, [DVec3; 4], Blocks<4>) {
        let f = self.deformation(element, x);
        let principal = Principal::of(&f);
        let density = self.density_at(&f, Some(&principal));
        let modes = density.modes(principal.stretches).projected();
        (
            self.volume[element] * density.value,
            self.force(element, &stress(&density, &f, Some(&principal))),
            self.second_derivative(element, &principal, &modes),
        )
    }
}

/// Sides from the first node to the others, as columns.
fn sides(x: &[DVec3; 4]) -> DMat3 {
    DMat3::from_cols(x[1] - x[0], x[2] - x[0], x[3] - x[0])
}

/// An upper bound of the principal stretches: the eigenvalues of FᵀF are within mean ± 2 spread,
/// with spread² = ‖FᵀF − mean‖²/6.
fn stretch_bound(f: &DMat3) -> f64 {
    let [x, y, z] = [f.x_axis, f.y_axis, f.z_axis];
    let lengths = DVec3::new(x.length_squared(), y.length_squared(), z.length_squared());
    let mean = lengths.element_sum() / 3.0;
    let off_diagonal = DVec3::new(x.dot(y), y.dot(z), z.dot(x)).length_squared();
    let square = ((lengths - mean).length_squared() + 2.0 * off_diagonal) / 6.0;
    (mean + 2.0 * square.sqrt()).sqrt()
}

/// First Piola-Kirchhoff stress (Pa).
fn stress(density: &Density, f: &DMat3, principal: Option<&Principal>) -> DMat3 {
    let along_rotation = density.first[0];
    let rest = density.stress_without_rotation(f);
    match principal {
        Some(principal) if along_rotation != 0.0 => principal.rotation() * along_rotation + rest,
        _ => rest,
    }
}
