//! Stretch and shear of cloth: St. Venant-Kirchhoff triangles.
//!
//! With the deformation gradient F = Σᵢ xᵢ ∇Nᵢᵀ (3×2) and the Green strain E = (FᵀF − I)/2, a triangle of rest area A
//! has the energy A/2 ε·Cε, where ε = (E₁₁, E₂₂, 2E₁₂) in the axes of the material (1 warp, 2 weft) and C is in N/m.
//! The derivatives are those of Bonet and Wood, Nonlinear Continuum Mechanics for Finite Element Analysis.

use super::{Blocks, CHUNK, Energy, at_nodes};
use glam::{DMat2, DMat3, DVec2, DVec3};
use rayon::prelude::*;

/// Plane stress of a sheet that is the same in all directions.
///
/// `membrane_stiffness` is Young's modulus times thickness (N/m), `poisson` lies in (−1, 1).
pub fn isotropic_stiffness(membrane_stiffness: f64, poisson: f64) -> DMat3 {
    orthotropic_stiffness(
        [membrane_stiffness; 2],
        poisson,
        membrane_stiffness / (2.0 * (1.0 + poisson)),
    )
}

/// Plane stress of a woven sheet.
///
/// `stretch` holds Young's moduli times thickness along warp and weft (N/m), `shear` the shear modulus times thickness
/// (N/m). `poisson` is the geometric mean √(ν₁₂ν₂₁) of the two Poisson ratios, so the result is positive definite for
/// every value in (−1, 1), however different warp and weft are.
pub fn orthotropic_stiffness(stretch: [f64; 2], poisson: f64, shear: f64) -> DMat3 {
    let [warp, weft] = stretch.map(|stiffness| stiffness / (1.0 - poisson * poisson));
    let coupling = poisson * (warp * weft).sqrt();
    DMat3::from_cols(
        DVec3::new(warp, coupling, 0.0),
        DVec3::new(coupling, weft, 0.0),
        DVec3::new(0.0, 0.0, shear),
    )
}

/// Rest coordinates for a triangle that has none: its shape in space, the first side along the warp.
pub fn flatten(corners: [DVec3; 3]) -> [DVec2; 3] {
    let (side, other) = (corners[1] - corners[0], corners[2] - corners[0]);
    let axis = side.normalize_or_zero();
    [
        DVec2::ZERO,
        DVec2::new(side.length(), 0.0),
        DVec2::new(axis.dot(other), axis.cross(other).length()),
    ]
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

/// The triangles of one or several sheets.
#[derive(Clone, Debug)]
pub struct Membrane {
    stencils: Vec<[u32; 3]>,
    inverse_rest: Vec<DMat2>,
    area: Vec<f64>,
    material: Vec<u32>,
    stiffness: Vec<DMat3>,
}

impl Membrane {
    /// `rest` holds the corners of each triangle in the axes of the material (m), `material` the index of each triangle
    /// into `stiffness`, the symmetric positive semidefinite matrices C (N/m).
    pub fn new(
        stencils: Vec<[u32; 3]>,
        rest: &[[DVec2; 3]],
        material: Vec<u32>,
        stiffness: Vec<DMat3>,
    ) -> Result<Self, DegenerateTriangle> {
        let mut inverse_rest = Vec::with_capacity(rest.len());
        let mut area = Vec::with_capacity(rest.len());
        for (triangle, [a, b, c]) in rest.iter().enumerate() {
            let sides = DMat2::from_cols(b - a, c - a);
            let rest_area = 0.5 * sides.determinant().abs();
            let longest_side = (b - a).length_squared().max((c - a).length_squared());
            if rest_area <= 1e-12 * longest_side || !rest_area.is_finite() {
                return Err(DegenerateTriangle {
                    triangle,
                    area: rest_area,
                });
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
        })
    }

    /// The largest length of a deformed triangle over its rest length, in any direction of its plane.
    pub fn largest_stretch(&self, element: usize, x: &[DVec3; 3]) -> f64 {
        let [f1, f2] = self.deformation(element, x);
        let (c11, c22, c12) = (f1.length_squared(), f2.length_squared(), f1.dot(f2));
        (0.5 * (c11 + c22) + (0.5 * (c11 - c22)).hypot(c12)).sqrt()
    }

    /// The largest stretch of all triangles.
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

    /// The triangle whose area is the smallest part of its rest area, and that part.
    pub fn smallest_area_ratio(&self, positions: &[DVec3]) -> Option<(usize, f64)> {
        let ratio = |(element, stencil): (usize, &[u32; 3])| {
            let [a, b, c] = at_nodes(stencil, positions);
            let area = 0.5 * (b - a).cross(c - a).length();
            (element, area / self.area[element])
        };
        let smaller = |one: (usize, f64), other: (usize, f64)| match other.1 < one.1 {
            true => other,
            false => one,
        };
        self.stencils.iter().enumerate().map(ratio).reduce(smaller)
    }

    /// ∇Nᵢ, the gradients of the linear shape functions in the axes of the material (1/m).
    fn shape_gradients(&self, element: usize) -> [DVec2; 3] {
        let [second, third] = [0, 1].map(|row| self.inverse_rest[element].row(row));
        [-second - third, second, third]
    }

    /// The columns of F.
    fn deformation(&self, element: usize, x: &[DVec3; 3]) -> [DVec3; 2] {
        let [_, second, third] = self.shape_gradients(element);
        let sides = [x[1] - x[0], x[2] - x[0]];
        [
            sides[0] * second.x + sides[1] * third.x,
            sides[0] * second.y + sides[1] * third.y,
        ]
    }

    fn material_stiffness(&self, element: usize) -> DMat3 {
        self.stiffness[self.material[element] as usize]
    }

    /// The second Piola-Kirchhoff stress S (N/m).
    fn stress(&self, element: usize, f: &[DVec3; 2]) -> DMat2 {
        let s = self.material_stiffness(element) * green_strain(f);
        DMat2::from_cols(DVec2::new(s.x, s.z), DVec2::new(s.z, s.y))
    }

    /// A F S ∇Nᵢ.
    fn force(&self, element: usize, f: &[DVec3; 2], stress: DMat2) -> [DVec3; 3] {
        self.shape_gradients(element).map(|shape| {
            let traction = stress * shape * self.area[element];
            f[0] * traction.x + f[1] * traction.y
        })
    }

    /// A (∂ε/∂xᵢᵀ C ∂ε/∂xⱼ + (∇Nᵢ·S∇Nⱼ) I): the stiffness of the material, and that of the stress it is under.
    fn second_derivative(&self, element: usize, f: &[DVec3; 2], stress: DMat2) -> Blocks<3> {
        let shape = self.shape_gradients(element);
        let scaled = self.material_stiffness(element) * self.area[element];
        let strain_gradient =
            shape.map(|w| DMat3::from_cols(f[0] * w.x, f[1] * w.y, f[1] * w.x + f[0] * w.y));
        let mut blocks = [[DMat3::ZERO; 3]; 3];
        for i in 0..3 {
            for j in 0..=i {
                let geometric = self.area[element] * shape[i].dot(stress * shape[j]);
                blocks[i][j] = strain_gradient[i] * scaled * strain_gradient[j].transpose()
                    + DMat3::from_diagonal(DVec3::splat(geometric));
                blocks[j][i] = blocks[i][j].transpose();
            }
        }
        blocks
    }
}

impl Energy<3> for Membrane {
    fn stencils(&self) -> &[[u32; 3]] {
        &self.stencils
    }

    fn value(&self, element: usize, x: &[DVec3; 3]) -> f64 {
        let strain = green_strain(&self.deformation(element, x));
        0.5 * self.area[element] * strain.dot(self.material_stiffness(element) * strain)
    }

    fn gradient(&self, element: usize, x: &[DVec3; 3]) -> [DVec3; 3] {
        let f = self.deformation(element, x);
        self.force(element, &f, self.stress(element, &f))
    }

    fn hessian(&self, element: usize, x: &[DVec3; 3]) -> Blocks<3> {
        let f = self.deformation(element, x);
        self.second_derivative(element, &f, self.stress(element, &f))
    }

    /// Keeps the tensile part of the stress only: the material part is positive semidefinite as it is, and the
    /// geometric part is as S is.
    fn projected_hessian(&self, element: usize, x: &[DVec3; 3]) -> Blocks<3> {
        let f = self.deformation(element, x);
        self.second_derivative(element, &f, positive_part(self.stress(element, &f)))
    }

    fn linearize(&self, element: usize, x: &[DVec3; 3]) -> (f64, [DVec3; 3], Blocks<3>) {
        let f = self.deformation(element, x);
        let stress = self.stress(element, &f);
        (
            self.value(element, x),
            self.force(element, &f, stress),
            self.second_derivative(element, &f, positive_part(stress)),
        )
    }
}

/// (E₁₁, E₂₂, 2E₁₂) of E = (FᵀF − I)/2.
fn green_strain(f: &[DVec3; 2]) -> DVec3 {
    DVec3::new(
        0.5 * (f[0].length_squared() - 1.0),
        0.5 * (f[1].length_squared() - 1.0),
        f[0].dot(f[1]),
    )
}

/// A symmetric matrix without its negative eigenvalues.
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

#[cfg(test)]
mod tests {
    use super::super::check::check_derivatives;
    use super::super::total_value;
    use super::*;
    use crate::generate::sheet::{Cells, grid};
    use proptest::array::uniform3;
    use proptest::prelude::*;

    fn one_triangle(stiffness: DMat3) -> Membrane {
        let rest = [
            DVec2::new(0.01, 0.02),
            DVec2::new(0.05, 0.01),
            DVec2::new(0.02, 0.06),
        ];
        Membrane::new(vec![[0, 1, 2]], &[rest], vec![0], vec![stiffness]).unwrap()
    }

    proptest! {
        #[test]
        fn derivatives(corners in uniform3(uniform3(-0.05..0.05f64)), poisson in -0.5..0.9f64, weft in 10.0..1000.0f64) {
            let x = corners.map(DVec3::from_array);
            let stiffness = orthotropic_stiffness([100.0, weft], poisson, 20.0);
            check_derivatives(&one_triangle(stiffness), 0, &x);
        }

        #[test]
        fn derivatives_in_compression(nudge in uniform3(uniform3(-0.005..0.005f64)), scale in 0.1..1.0f64) {
            let rest = [[0.01, 0.02, 0.0], [0.05, 0.01, 0.0], [0.02, 0.06, 0.0]].map(DVec3::from_array);
            let x = [0, 1, 2].map(|i| rest[i] * scale + DVec3::from_array(nudge[i]));
            check_derivatives(&one_triangle(isotropic_stiffness(100.0, 0.3)), 0, &x);
        }

        #[test]
        fn the_positive_part_is_what_the_negative_part_leaves(a in -1.0..1.0f64, b in -1.0..1.0f64, c in -1.0..1.0f64) {
            let s = DMat2::from_cols_array(&[a, b, b, c]);
            let (positive, negative) = (positive_part(s), positive_part(-s));
            prop_assert!((positive - negative).abs_diff_eq(s, 1e-14));
            prop_assert!((positive * negative).abs_diff_eq(DMat2::ZERO, 1e-14));
            prop_assert!(positive.determinant() >= -1e-14 && positive.x_axis.x + positive.y_axis.y >= 0.0);
        }
    }

    #[test]
    fn rest_has_no_force() {
        let membrane = one_triangle(isotropic_stiffness(100.0, 0.3));
        let x = [[0.01, 0.02, 0.0], [0.05, 0.01, 0.0], [0.02, 0.06, 0.0]].map(DVec3::from_array);
        assert!(membrane.gradient(0, &x).iter().all(|g| g.length() < 1e-13));
        check_derivatives(
            &membrane,
            0,
            &x.map(|point| point + DVec3::new(1e-3, 0.0, 0.0)),
        );
    }

    fn square(stiffness: DMat3) -> (Membrane, Vec<DVec3>) {
        let mesh = grid([0.1, 0.1], [4, 5], Cells::Alternating);
        let rest = mesh.rest_triangles(DVec3::X);
        let material = vec![0; rest.len()];
        (
            Membrane::new(mesh.triangles, &rest, material, vec![stiffness]).unwrap(),
            mesh.points,
        )
    }

    #[test]
    fn simple_shear_has_the_known_energy() {
        let (membrane, mut points) = square(isotropic_stiffness(1e5 * 1e-3, 0.3));
        points.iter_mut().for_each(|point| point.x += 0.1 * point.y);
        let energy = total_value(&membrane, &points);
        assert!((energy / 1.93681e-3 - 1.0).abs() < 1e-5, "{energy}");
    }

    #[test]
    fn warp_and_weft_stretch_as_told() {
        let stretched = |axis: usize| {
            let (membrane, mut points) = square(orthotropic_stiffness([100.0, 400.0], 0.0, 10.0));
            points.iter_mut().for_each(|point| point[axis] *= 1.1);
            assert!((membrane.max_stretch(&points) - 1.1).abs() < 1e-12);
            total_value(&membrane, &points)
        };
        // A/2 C E² with E = (1.1² − 1)/2.
        assert!((stretched(0) - 0.005 * 100.0 * 0.105 * 0.105).abs() < 1e-12);
        assert!((stretched(1) - 0.005 * 400.0 * 0.105 * 0.105).abs() < 1e-12);
    }

    #[test]
    fn the_smallest_area_is_found() {
        let membrane = one_triangle(DMat3::IDENTITY);
        let x = [[0.01, 0.02, 0.0], [0.05, 0.01, 0.0], [0.02, 0.06, 0.0]]
            .map(|point| DVec3::from_array(point) * 2.0);
        let (triangle, ratio) = membrane.smallest_area_ratio(&x).unwrap();
        assert_eq!(triangle, 0);
        assert!((ratio - 4.0).abs() < 1e-12);
        assert_eq!(membrane.smallest_area_ratio(&[x[0]; 3]), Some((0, 0.0)));
    }

    #[test]
    fn a_triangle_without_area_is_refused() {
        let rest = [DVec2::ZERO, DVec2::X, DVec2::X * 2.0];
        let error =
            Membrane::new(vec![[0, 1, 2]], &[rest], vec![0], vec![DMat3::IDENTITY]).unwrap_err();
        assert_eq!(
            error,
            DegenerateTriangle {
                triangle: 0,
                area: 0.0
            }
        );
    }

    #[test]
    fn flattened_triangles_keep_their_shape() {
        let corners = [[0.1, 0.3, 0.2], [0.4, -0.1, 0.3], [0.2, 0.2, 0.9]].map(DVec3::from_array);
        let flat = flatten(corners);
        for (i, j) in [(0, 1), (1, 2), (2, 0)] {
            assert!((flat[i].distance(flat[j]) - corners[i].distance(corners[j])).abs() < 1e-14);
        }
    }
}
