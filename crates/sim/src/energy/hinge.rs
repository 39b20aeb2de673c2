//! Bending of cloth: the hinges of Grinspun, Hirani, Desbrun and Schröder, Discrete Shells (2003).
//!
//! A hinge of nodes (x₀, x₁, x₂, x₃) is the edge e = x₁ − x₀ with the opposite node x₂ of one
//! triangle and x₃ of the other. Its energy is k (θ − θ̄)², where θ is the angle between the
//! normals, 0 when flat and positive when the opposite nodes rise to the side of the normals.
//!
//! The stiffness is k = D/2 · |ē|²/(Ā₀ + Ā₁), with lengths and areas at rest. This is D/6 times the
//! form (θ − θ̄)² |ē|/h̄ of that paper, where h̄ = (Ā₀ + Ā₁)/(3|ē|) is a third of the average
//! height. A sheet of bending rigidity D rolled to a cylinder of radius R then has the energy D/2 ·
//! area/R² on a grid with edges along the axis: only the hinges of these edges bend, each by dx/R,
//! and
//! |ē|²/(Ā₀ + Ā₁) = dy/dx. On equilateral triangles the same holds for a cylinder with any axis.
//! Other curvatures depend on the mesh: equilateral triangles have Poisson ratio −1/3. A square
//! grid has Poisson ratio 0, and its twisting stiffness is 3 times (`right`) or 2 times
//! (`alternating`) too large.

use super::{Blocks, Energy};
use glam::{DMat3, DVec3};
use std::f64::consts::{PI, TAU};

/// A triangle below this fraction of its rest area has no normal; its hinges have no energy.
pub(super) const MIN_AREA_RATIO: f64 = 1e-9;

/// A hinge without a rest angle, since one of its triangles has no area.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the hinge of edge {}-{} has a triangle without area", nodes[0], nodes[1])]
pub struct DegenerateHinge {
    /// Index of the hinge.
    pub hinge: usize,
    /// Its nodes: those of the edge, then the two opposite ones.
    pub nodes: [u32; 4],
}

/// The hinges of one or several sheets.
#[derive(Clone, Debug)]
pub struct Hinges {
    stencils: Vec<[u32; 4]>,
    /// k (J).
    stiffness: Vec<f64>,
    /// θ̄.
    rest_angle: Vec<f64>,
    /// Twice the area below which each of the two triangles counts as collapsed (m²).
    collapsed: Vec<f64>,
}

impl Hinges {
    /// Hinges with nodes (edge, edge, opposite, opposite) as returned by
    /// [`crate::mesh::surface::interior_hinges`], rest positions (m), and the bending rigidity D of
    /// each hinge (N m).
    pub fn new(
        stencils: Vec<[u32; 4]>,
        rest: &[DVec3],
        rigidity: &[f64],
    ) -> Result<Self, DegenerateHinge> {
        let mut hinges = Self {
            stiffness: Vec::with_capacity(stencils.len()),
            rest_angle: Vec::with_capacity(stencils.len()),
            collapsed: Vec::with_capacity(stencils.len()),
            stencils,
        };
        for (hinge, nodes) in hinges.stencils.iter().enumerate() {
            let x = super::at_nodes(nodes, rest);
            let longest = x
                .iter()
                .map(|point| point.distance_squared(x[0]))
                .fold(0.0, f64::max);
            let shape = HingeGeometry::new(&x, 1e-12 * longest).ok_or(DegenerateHinge {
                hinge,
                nodes: *nodes,
            })?;
            let [first, second] = [0, 1].map(|side| 0.5 * shape.length * shape.faces[side].height);
            hinges
                .stiffness
                .push(0.5 * rigidity[hinge] * shape.length * shape.length / (first + second));
            hinges.rest_angle.push(shape.angle());
            hinges
                .collapsed
                .push(MIN_AREA_RATIO * 2.0 * first.min(second));
        }
        Ok(hinges)
    }

    /// Angles between the normals at rest, one per hinge.
    pub fn rest_angles(&self) -> &[f64] {
        &self.rest_angle
    }

    fn shape(&self, element: usize, x: &[DVec3; 4]) -> Option<HingeGeometry> {
        HingeGeometry::new(x, self.collapsed[element])
    }

    /// θ − θ̄ wrapped to [−π, π]: it is continuous where θ jumps from π to −π.
    fn bend(&self, element: usize, shape: &HingeGeometry) -> f64 {
        wrap_angle(shape.angle() - self.rest_angle[element])
    }

    /// ∇k(θ − θ̄)², from the bend θ − θ̄ and ∇θ.
    fn force(&self, element: usize, bend: f64, slope: &[DVec3; 4]) -> [DVec3; 4] {
        slope.map(|g| 2.0 * self.stiffness[element] * bend * g)
    }

    /// 2k ∇θ∇θᵀ.
    fn gauss_newton(&self, element: usize, slope: &[DVec3; 4]) -> Blocks<4> {
        slope.map(|row| slope.map(|column| outer(2.0 * self.stiffness[element] * row, column)))
    }
}

impl Energy<4> for Hinges {
    fn stencils(&self) -> &[[u32; 4]] {
        &self.stencils
    }

    fn value(&self, element: usize, x: &[DVec3; 4]) -> f64 {
        let bend = self
            .shape(element, x)
            .map_or(0.0, |shape| self.bend(element, &shape));
        self.stiffness[element] * bend * bend
    }

    fn gradient(&self, element: usize, x: &[DVec3; 4]) -> [DVec3; 4] {
        self.shape(element, x).map_or([DVec3::ZERO; 4], |shape| {
            self.force(element, self.bend(element, &shape), &shape.angle_gradient())
        })
    }

    fn hessian(&self, element: usize, x: &[DVec3; 4]) -> Blocks<4> {
        let Some(shape) = self.shape(element, x) else {
            return [[DMat3::ZERO; 4]; 4];
        };
        let mut blocks = self.gauss_newton(element, &shape.angle_gradient());
        let moment = 2.0 * self.stiffness[element] * self.bend(element, &shape);
        let curvature = shape.angle_hessian();
        for (block, second) in blocks
            .as_flattened_mut()
            .iter_mut()
            .zip(curvature.as_flattened())
        {
            *block += *second * moment;
        }
        blocks
    }

    /// Gauss-Newton: without the indefinite term of the second derivative of θ.
    fn projected_hessian(&self, element: usize, x: &[DVec3; 4]) -> Blocks<4> {
        self.shape(element, x)
            .map_or([[DMat3::ZERO; 4]; 4], |shape| {
                self.gauss_newton(element, &shape.angle_gradient())
            })
    }

    fn linearize(&self, element: usize, x: &[DVec3; 4]) -> (f64, [DVec3; 4], Blocks<4>) {
        let Some(shape) = self.shape(element, x) else {
            return (0.0, [DVec3::ZERO; 4], [[DMat3::ZERO; 4]; 4]);
        };
        let (bend, slope) = (self.bend(element, &shape), shape.angle_gradient());
        (
            self.stiffness[element] * bend * bend,
            self.force(element, bend, &slope),
            self.gauss_newton(element, &slope),
        )
    }
}

/// One triangle of a hinge, in the frame of the edge.
struct Face {
    /// Unit normal, along e × (opposite − x₀).
    normal: DVec3,
    /// Unit vector in the plane of the triangle, orthogonal to the edge, towards the opposite node.
    inward: DVec3,
    /// Distance of the opposite node from the edge (m).
    height: f64,
    /// Projection of the opposite node on the edge: 0 at x₀, 1 at x₁.
    foot: f64,
}

/// Geometry of a hinge.
pub(super) struct HingeGeometry {
    /// Unit vector along the edge.
    axis: DVec3,
    /// Length of the edge (m).
    length: f64,
    faces: [Face; 2],
}

/// Signs of the faces: the normals of both rotate in the same sense about the edge, so θ is the
/// angle of the first face minus that of the second.
const SIGNS: [f64; 2] = [1.0, -1.0];

impl HingeGeometry {
    /// Geometry of a hinge; `None` if twice the area of a triangle is at most `collapsed`.
    pub(super) fn new(x: &[DVec3; 4], collapsed: f64) -> Option<Self> {
        let edge = x[1] - x[0];
        let length = edge.length();
        let axis = edge / length;
        let face = |opposite: DVec3| {
            let reach = opposite - x[0];
            let normal = edge.cross(reach);
            let double_area = normal.length();
            let normal = normal / double_area;
            (double_area > collapsed).then(|| Face {
                normal,
                inward: normal.cross(axis),
                height: double_area / length,
                foot: reach.dot(axis) / length,
            })
        };
        Some(Self {
            axis,
            length,
            faces: [face(x[2])?, face(x[3])?],
        })
    }

    /// θ.
    pub(super) fn angle(&self) -> f64 {
        let [first, second] = &self.faces;
        let sine = self.axis.dot(first.normal.cross(second.normal));
        sine.atan2(-first.normal.dot(second.normal))
    }

    /// ∇θ (Tamstorf and Grinspun, Discrete bending forces and their Jacobians, 2013). The
    /// derivative by an opposite node is normal/height; those by the ends of the edge balance force
    /// and moment.
    pub(super) fn angle_gradient(&self) -> [DVec3; 4] {
        let [first, second] =
            [0, 1].map(|side| self.faces[side].normal * (SIGNS[side] / self.faces[side].height));
        let [foot, other_foot] = [0, 1].map(|side| self.faces[side].foot);
        [
            first * (foot - 1.0) + second * (other_foot - 1.0),
            -first * foot - second * other_foot,
            first,
            second,
        ]
    }

    /// ∇∇θ, exact (Tamstorf and Grinspun 2013).
    ///
    /// Let a = x₂ − x₀, let n (normal), m (inward) and ê (axis) be the unit vectors of a face, h
    /// its height and s its foot. From ∂θ/∂a = n/h and ∂θ/∂e = −s n/h, with N = nmᵀ + mnᵀ:
    /// ∂²θ/∂a∂a = −N/h²,
    /// ∂²θ/∂a∂e = sN/h² − ênᵀ/(h|e|),
    /// ∂²θ/∂e∂e = −s²N/h² + s(nêᵀ + ênᵀ)/(h|e|) − N/(2|e|²).
    /// The last term is the symmetric part of nmᵀ; the antisymmetric parts of both faces cancel.
    pub(super) fn angle_hessian(&self) -> Blocks<4> {
        let mut blocks = [[DMat3::ZERO; 4]; 4];
        for side in 0..2 {
            let Face {
                normal,
                inward,
                height,
                foot,
            } = self.faces[side];
            let sign = SIGNS[side];
            let turn = outer(normal, inward) + outer(inward, normal);
            let tilt = outer(self.axis, normal) * (1.0 / (height * self.length));
            let steep = turn * (1.0 / (height * height));
            let aa = steep * -sign;
            let ae = (steep * foot - tilt) * sign;
            let ee = (steep * -(foot * foot) + (tilt + tilt.transpose()) * foot
                - turn * (0.5 / (self.length * self.length)))
                * sign;
            // e = x₁ − x₀ and a = opposite − x₀.
            let opposite = 2 + side;
            let ea = ae.transpose();
            blocks[1][1] += ee;
            blocks[opposite][opposite] += aa;
            blocks[opposite][1] += ae;
            blocks[1][opposite] += ea;
            blocks[0][1] -= ee + ae;
            blocks[1][0] -= ee + ea;
            blocks[0][opposite] -= ea + aa;
            blocks[opposite][0] -= ae + aa;
            blocks[0][0] += ee + ea + ae + aa;
        }
        blocks
    }
}

/// A difference of two angles in [−π, π], wrapped to [−π, π].
pub(super) fn wrap_angle(difference: f64) -> f64 {
    if difference > PI {
        difference - TAU
    } else if difference < -PI {
        difference + TAU
    } else {
        difference
    }
}

/// a bᵀ.
pub(super) fn outer(a: DVec3, b: DVec3) -> DMat3 {
    DMat3::from_cols(a * b.x, a * b.y, a * b.z)
}

#[cfg(test)]
mod tests {
    use super::super::check::check_derivatives;
    use super::super::total_value;
    use super::*;
    use crate::generate::sheet::{Cells, grid};
    use crate::mesh::Mesh;
    use crate::mesh::surface::{areas, interior_hinges};
    use proptest::array::uniform4;
    use proptest::prelude::*;

    const RIGIDITY: f64 = 1e-5;
    const FLAT: [DVec3; 4] = [
        DVec3::new(0.0, 0.0, 0.0),
        DVec3::new(0.02, 0.0, 0.0),
        DVec3::new(0.005, 0.015, 0.0),
        DVec3::new(0.012, -0.01, 0.0),
    ];

    fn one_hinge(rest: &[DVec3; 4]) -> Hinges {
        Hinges::new(vec![[0, 1, 2, 3]], rest, &[RIGIDITY]).unwrap()
    }

    /// `FLAT` with its first face rotated up by an angle.
    fn folded(angle: f64) -> [DVec3; 4] {
        let mut x = FLAT;
        x[2] = DVec3::new(x[2].x, x[2].y * angle.cos(), x[2].y * angle.sin());
        x
    }

    proptest! {
        #[test]
        fn derivatives_agree_with_differences(
            nudge in uniform4(proptest::array::uniform3(-0.004..0.004f64)),
            angle in -2.5..2.5f64,
            rest in -1.0..1.0f64,
        ) {
            let x = folded(angle);
            let x = [0, 1, 2, 3].map(|i| x[i] + DVec3::from_array(nudge[i]));
            let hinge = one_hinge(&folded(rest));
            // The energy has a kink at an angle of π from rest.
            prop_assume!(hinge.value(0, &x) < hinge.stiffness[0] * 3.1 * 3.1);
            check_derivatives(&hinge, 0, &x);
        }

        #[test]
        fn the_angle_is_that_of_the_fold(angle in -3.1..3.1f64) {
            prop_assert!((one_hinge(&folded(angle)).rest_angles()[0] - angle).abs() < 1e-12);
        }
    }

    #[test]
    fn the_bend_is_continuous_at_an_angle_of_pi() {
        for side in [1.0, -1.0] {
            let hinge = one_hinge(&folded(side * 3.0));
            let value = |angle: f64| hinge.value(0, &folded(side * angle));
            assert!((value(PI - 1e-9) - value(PI + 1e-9)).abs() < 1e-6 * value(PI - 1e-9));
            check_derivatives(&hinge, 0, &folded(side * (PI + 0.2)));
        }
        // Folded completely.
        assert!(one_hinge(&FLAT).value(0, &folded(PI)).is_finite());
    }

    fn square(cells: Cells) -> Mesh {
        grid([0.1, 0.1], [101, 101], cells)
    }

    /// Energy of a mesh bent to a surface, relative to D/2 · area.
    fn bent(mesh: &Mesh, surface: impl Fn(DVec3) -> DVec3) -> f64 {
        let stencils = interior_hinges(&mesh.triangles).unwrap();
        let rigidity = vec![RIGIDITY; stencils.len()];
        let hinges = Hinges::new(stencils, &mesh.points, &rigidity).unwrap();
        let points: Vec<DVec3> = mesh.points.iter().map(|point| surface(*point)).collect();
        let area: f64 = areas(&mesh.points, &mesh.triangles).iter().sum();
        total_value(&hinges, &points) / (0.5 * RIGIDITY * area)
    }

    #[test]
    fn a_cylinder_has_the_energy_of_a_plate() {
        let radius = 0.05;
        let roll = |arc: f64| {
            (
                radius * (arc / radius).sin(),
                radius * (1.0 - (arc / radius).cos()),
            )
        };
        for cells in [Cells::Right, Cells::Alternating] {
            let along_y = bent(&square(cells), |p| {
                DVec3::new(roll(p.x).0, p.y, roll(p.x).1)
            });
            let along_x = bent(&square(cells), |p| {
                DVec3::new(p.x, roll(p.y).0, roll(p.y).1)
            });
            for energy in [along_x, along_y] {
                // 99 of 100 columns of edges are interior.
                assert!(
                    (energy * radius * radius / 0.99 - 1.0).abs() < 1e-4,
                    "{cells:?} {energy}"
                );
            }
        }
    }

    #[test]
    fn the_twisting_stiffness_is_too_large_by_the_documented_factor() {
        let twist = 0.1;
        for (cells, factor) in [(Cells::Right, 3.0), (Cells::Alternating, 2.0)] {
            let energy = bent(&square(cells), |p| p + twist * p.x * p.y * DVec3::Z);
            // A plate of Poisson ratio 0 has D/2 · 2 κ₁₂².
            assert!(
                (energy / (2.0 * twist * twist) / factor - 1.0).abs() < 0.01,
                "{cells:?} {energy}"
            );
        }
    }

    #[test]
    fn equilateral_triangles_are_a_plate_of_poisson_ratio_minus_a_third() {
        let mut mesh = square(Cells::Right);
        for point in &mut mesh.points {
            *point = DVec3::new(point.x - 0.5 * point.y, 0.75f64.sqrt() * point.y, 0.0);
        }
        let curvature = 0.1;
        let density = |height: &dyn Fn(DVec3) -> f64| {
            bent(&mesh, |p| p + 0.5 * curvature * height(p) * DVec3::Z) / (curvature * curvature)
        };
        for angle in [0.0f64, 0.2, 0.7, 1.5] {
            let across = DVec3::new(angle.cos(), angle.sin(), 0.0);
            let cylinder = density(&|p| p.dot(across).powi(2));
            assert!((cylinder - 1.0).abs() < 0.02, "{cylinder} at {angle}");
        }
        // κ₁² + κ₂² + 2ν κ₁κ₂.
        let bowl = density(&|p| p.length_squared());
        assert!((bowl / (2.0 - 2.0 / 3.0) - 1.0).abs() < 0.02, "{bowl}");
    }

    #[test]
    fn a_hinge_without_area_is_refused() {
        let mut rest = FLAT;
        rest[3] = DVec3::new(0.05, 0.0, 0.0);
        let error = Hinges::new(vec![[0, 1, 2, 3]], &rest, &[RIGIDITY]).unwrap_err();
        assert_eq!(
            error,
            DegenerateHinge {
                hinge: 0,
                nodes: [0, 1, 2, 3]
            }
        );
        assert!(Hinges::new(vec![[0, 1, 2, 3]], &[DVec3::ZERO; 4], &[RIGIDITY]).is_err());
    }

    #[test]
    fn a_collapsed_hinge_has_finite_derivatives() {
        let hinge = one_hinge(&FLAT);
        let mut on_the_edge = FLAT;
        on_the_edge[2] = DVec3::new(0.01, 0.0, 0.0);
        let mut no_edge = FLAT;
        no_edge[1] = no_edge[0];
        for x in [on_the_edge, no_edge, [DVec3::ZERO; 4]] {
            let (_, gradient, hessian) = hinge.linearize(0, &x);
            assert!(hinge.value(0, &x).is_finite());
            assert!(gradient.iter().all(|g| g.is_finite()));
            assert!(hessian.as_flattened().iter().all(|block| block.is_finite()));
            assert!(
                hinge
                    .hessian(0, &x)
                    .as_flattened()
                    .iter()
                    .all(|block| block.is_finite())
            );
        }
    }
}
