//! Rigid bodies as stiff affine bodies (Lan, Kaufman, Li, Jiang and Yang, Affine Body Dynamics,
//! 2022).
//!
//! A body has four 3-vectors (c, a₁, a₂, a₃): the centre of mass, and the images of its principal
//! axes. The point with coordinates X along the principal axes, relative to the centre of mass, is
//! at c + Σ (Xₖ/gₖ) aₖ. The length of aₖ at rest is the gyration length gₖ, m gₖ² = ∫ρXₖ² dV: so
//! all four vectors have the mass m of the body. With the linear map A = (a₁/g₁, a₂/g₂, a₃/g₃), the
//! energy k/2 ‖AᵀA − I‖² keeps the body rigid.
//!
//! It is an isotropic function of A, Ψ = k/2 Σ(σᵢ² − 1)², so its projection has the closed form of
//! [`super::isotropic`]: scaling 2k(3σᵢ² − 1), without coupling, twist 2k(σᵢ² − σᵢσⱼ + σⱼ² − 1) and
//! flip 2k(σᵢ² + σᵢσⱼ + σⱼ² − 1). All are finite. The energy does not depend on the sign of det A:
//! it is also zero for a reflected body.

use super::isotropic::Modes;
use super::principal::Principal;
use super::{Blocks, Energy};
use glam::{DMat3, DVec3};

/// A body without extent along one of its axes, or without stiffness.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error(
    "a rigid body has the gyration lengths {lengths:?} m and the stiffness {stiffness} J, \
     but all must be positive and finite"
)]
pub struct NoExtent {
    /// Its gyration lengths (m).
    pub lengths: [f64; 3],
    /// Its stiffness (J).
    pub stiffness: f64,
}

/// The energy that keeps an affine body rigid. Its single element has the nodes c, a₁, a₂, a₃; c is
/// a point, the others are vectors: translations change c only, rotations about c change the others
/// only.
#[derive(Clone, Debug)]
pub struct Orthogonality {
    stencil: [[u32; 4]; 1],
    /// Diagonal matrix of 1/gₖ (1/m).
    shape: DMat3,
    /// k (J).
    stiffness: f64,
}

impl Orthogonality {
    /// Energy for gyration lengths along the principal axes (m) and stiffness k, a modulus times
    /// the volume of the body (J).
    pub fn new(lengths: [f64; 3], stiffness: f64) -> Result<Self, NoExtent> {
        let valid = |value: f64| value > 0.0 && value.is_finite() && value.recip().is_finite();
        if !(lengths.into_iter().all(valid) && valid(stiffness)) {
            return Err(NoExtent { lengths, stiffness });
        }
        Ok(Self {
            stencil: [[0, 1, 2, 3]],
            shape: DMat3::from_diagonal(DVec3::from_array(lengths).recip()),
            stiffness,
        })
    }

    /// The linear map A from the principal axes at rest to space.
    pub fn map(&self, x: &[DVec3; 4]) -> DMat3 {
        DMat3::from_cols(x[1], x[2], x[3]) * self.shape
    }

    /// 2k A(AᵀA − I) by the axes.
    fn force(&self, map: &DMat3) -> [DVec3; 4] {
        let by_axis = *map * strain(map) * (self.shape * (2.0 * self.stiffness));
        [DVec3::ZERO, by_axis.x_axis, by_axis.y_axis, by_axis.z_axis]
    }

    fn energy(&self, map: &DMat3) -> f64 {
        let strain = strain(map);
        let square = strain.x_axis.length_squared()
            + strain.y_axis.length_squared()
            + strain.z_axis.length_squared();
        0.5 * self.stiffness * square
    }

    fn modes(&self, stretches: DVec3) -> Modes {
        let twice = 2.0 * self.stiffness;
        let [x, y, z] = stretches.to_array();
        let squares = stretches * stretches;
        let products = DVec3::new(y * z, z * x, x * y);
        let others = DVec3::splat(squares.element_sum() - 1.0) - squares;
        Modes {
            scaling: DMat3::from_diagonal((squares * 3.0 - DVec3::ONE) * twice),
            twist: (others - products) * twice,
            flip: (others + products) * twice,
        }
    }

    fn second_derivative(&self, principal: &Principal, modes: &Modes) -> Blocks<4> {
        let mut blocks = [[DMat3::ZERO; 4]; 4];
        let inner = modes.blocks(principal, &self.shape, 1.0);
        for (row, inner_row) in blocks[1..].iter_mut().zip(&inner) {
            row[1..].copy_from_slice(inner_row);
        }
        blocks
    }
}

impl Energy<4> for Orthogonality {
    fn stencils(&self) -> &[[u32; 4]] {
        &self.stencil
    }

    fn value(&self, _element: usize, x: &[DVec3; 4]) -> f64 {
        self.energy(&self.map(x))
    }

    fn gradient(&self, _element: usize, x: &[DVec3; 4]) -> [DVec3; 4] {
        self.force(&self.map(x))
    }

    fn hessian(&self, _element: usize, x: &[DVec3; 4]) -> Blocks<4> {
        let principal = Principal::of(&self.map(x));
        self.second_derivative(&principal, &self.modes(principal.stretches))
    }

    fn projected_hessian(&self, _element: usize, x: &[DVec3; 4]) -> Blocks<4> {
        let principal = Principal::of(&self.map(x));
        self.second_derivative(&principal, &self.modes(principal.stretches).projected())
    }
}

/// AᵀA − I.
fn strain(map: &DMat3) -> DMat3 {
    map.transpose() * *map - DMat3::IDENTITY
}

#[cfg(test)]
mod tests {
    use super::super::check::check_slopes;
    use super::*;
    use glam::DQuat;
    use proptest::array::{uniform3, uniform4};
    use proptest::prelude::*;

    const LENGTHS: [f64; 3] = [0.03, 0.05, 0.08];

    fn body() -> Orthogonality {
        Orthogonality::new(LENGTHS, 1e4).unwrap()
    }

    fn rest(turn: DQuat) -> [DVec3; 4] {
        let axes = DVec3::AXES;
        let [a, b, c] = [0, 1, 2].map(|k| turn * axes[k] * LENGTHS[k]);
        [DVec3::new(0.02, -0.01, 0.03), a, b, c]
    }

    /// Checks invariance under translation of the centre and rotation of the axes.
    fn check_motion(body: &Orthogonality, x: &[DVec3; 4], turn: DQuat) {
        let (value, gradient) = (body.value(0, x), body.gradient(0, x));
        let scale = gradient.iter().map(|g| g.length()).fold(0.0, f64::max);
        assert_eq!(gradient[0], DVec3::ZERO);
        let moved = [x[0] + DVec3::new(5.0, 6.0, 7.0), x[1], x[2], x[3]];
        assert_eq!(
            (value, gradient),
            (body.value(0, &moved), body.gradient(0, &moved))
        );
        let torque: DVec3 = (1..4).map(|k| x[k].cross(gradient[k])).sum();
        assert!(torque.length() <= 1e-12 * scale, "{torque}");
        let turned = x.map(|vector| turn * vector);
        assert!((body.value(0, &turned) - value).abs() <= 1e-12 * (value + body.stiffness));
        let turned_gradient = body.gradient(0, &turned);
        for k in 0..4 {
            let error = turned_gradient[k].distance(turn * gradient[k]);
            assert!(error <= 1e-11 * scale + 1e-13 * body.stiffness / LENGTHS[0]);
        }
        for blocks in [body.hessian(0, x), body.projected_hessian(0, x)] {
            for k in 0..4 {
                assert_eq!((blocks[0][k], blocks[k][0]), (DMat3::ZERO, DMat3::ZERO));
            }
        }
    }

    proptest! {
        #[test]
        fn derivatives_agree_with_differences(
            vectors in uniform4(uniform3(-0.1..0.1f64)),
            turn in uniform3(-3.0..3.0f64),
        ) {
            let x = vectors.map(DVec3::from_array);
            check_slopes(&body(), 0, &x);
            check_motion(&body(), &x, DQuat::from_scaled_axis(turn.into()));
        }

        #[test]
        fn derivatives_agree_with_differences_near_rest(
            nudge in uniform4(uniform3(-0.1..0.1f64)),
            exponent in -12..0i32,
            turn in uniform3(-3.0..3.0f64),
        ) {
            let turn = DQuat::from_scaled_axis(turn.into());
            let mut x = rest(turn);
            for (vector, nudge) in x.iter_mut().zip(nudge) {
                *vector += DVec3::from_array(nudge) * 10f64.powi(exponent);
            }
            check_slopes(&body(), 0, &x);
            check_motion(&body(), &x, turn);
        }
    }

    #[test]
    fn collapsed_and_reflected_bodies_have_finite_derivatives() {
        let [c, a, b, d] = rest(DQuat::IDENTITY);
        for x in [
            [c, a, b, -d],
            [c, a, a, a],
            [c, a, b, DVec3::ZERO],
            [c, -a, -b, DVec3::ZERO],
        ] {
            check_slopes(&body(), 0, &x);
        }
        let (value, gradient, blocks) = body().linearize(0, &[DVec3::ZERO; 4]);
        // k/2 ‖I‖².
        assert_eq!((value, gradient), (1.5e4, [DVec3::ZERO; 4]));
        assert_eq!(blocks, [[DMat3::ZERO; 4]; 4]);
    }

    #[test]
    fn the_energy_of_a_uniaxial_stretch_is_exact() {
        let [c, a, b, d] = rest(DQuat::IDENTITY);
        assert!(body().value(0, &rest(DQuat::from_rotation_y(0.7))) < 1e-27);
        // k/2 (1.1² − 1)².
        let value = body().value(0, &[c, a * 1.1, b, d]);
        assert!((value - 5e3 * 0.21 * 0.21).abs() < 1e-9);
        // Small strains ε cost k/2 (2ε)²: the stiffness along an axis is 4k/g².
        let stiffness = body().hessian(0, &[c, a, b, d])[1][1].x_axis.x;
        assert!((stiffness * 0.03 * 0.03 / 4e4 - 1.0).abs() < 1e-12);
    }

    /// A body that is rotated by half a radian in a step, with axes on straight lines, becomes
    /// rigid after a few Newton iterations.
    #[test]
    fn rotating_bodies_become_rigid_after_newton_iterations() {
        let (body, inertia) = (body(), 10.0);
        let start = rest(DQuat::IDENTITY);
        let target = start.map(|vector| vector + 0.5 * DVec3::Z.cross(vector));
        let mut x = target;
        for _ in 0..8 {
            let (_, gradient, blocks) = body.linearize(0, &x);
            let mut step = [DVec3::ZERO; 4];
            // Gauss-Seidel by nodes solves (inertia + K) step = −gradient − inertia (x − target).
            for _ in 0..2000 {
                for i in 1..4 {
                    let mut right = -gradient[i] - (x[i] - target[i]) * inertia;
                    for j in (1..4).filter(|j| *j != i) {
                        right -= blocks[i][j] * step[j];
                    }
                    let diagonal = blocks[i][i] + DMat3::IDENTITY * inertia;
                    step[i] = diagonal.inverse() * right;
                }
            }
            for i in 1..4 {
                x[i] += step[i];
            }
        }
        let stretches = Principal::of(&body.map(&x)).stretches;
        assert!((stretches - DVec3::ONE).length() < 1e-5, "{stretches}");
    }

    #[test]
    fn bodies_without_extent_are_refused() {
        assert!(Orthogonality::new([0.1, 0.0, 0.1], 1.0).is_err());
        assert!(Orthogonality::new([0.1, 1e-320, 0.1], 1.0).is_err());
        let error = Orthogonality::new([0.1, 0.2, 0.1], -1.0).unwrap_err();
        assert_eq!(
            error.to_string(),
            "a rigid body has the gyration lengths [0.1, 0.2, 0.1] m and the stiffness -1 J, \
             but all must be positive and finite"
        );
    }
}
