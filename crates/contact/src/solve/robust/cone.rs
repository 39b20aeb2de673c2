//! The Jordan algebra of the second-order cone L = {‖x_T‖ ≤ x_N}, for Newton's method.
//!
//! Every x has eigenvalues x_N ± ‖x_T‖ with eigenvectors (1, ±d), d = x_T/‖x_T‖. Scalar functions
//! act on the eigenvalues (Fukushima, Luo, Tseng 2002).

use glam::{DMat3, DVec2, DVec3};

use crate::symmetric::outer;

/// Distance of the eigenvalues of B from −1 and 1, at least, so that 1 ± B are invertible.
pub(super) const MIN_SLOPE_DISTANCE: f64 = 1e-10;

/// The root |z|_ε = (z² + 4ε²)^½ and its derivative.
pub(super) struct Root {
    pub(super) value: DVec3,
    /// d.
    axis: DVec3,
    /// Eigenvalues of the derivative B: for (1, d), for (1, −d), and orthogonal to both.
    slopes: [f64; 3],
}

impl Root {
    pub(super) fn new(z: DVec3, smoothing: f64) -> Self {
        let length = DVec2::new(z.y, z.z).length();
        let axis = if length > 0.0 {
            DVec3::new(0.0, z.y / length, z.z / length)
        } else {
            DVec3::Y
        };
        let (plus, minus) = (z.x + length, z.x - length);
        let root = |x: f64| (x * x + 4.0 * smoothing * smoothing).sqrt();
        let (root_plus, root_minus) = (root(plus), root(minus));
        let slope = |x: f64, root: f64| {
            let limit = 1.0 - MIN_SLOPE_DISTANCE;
            if root > 0.0 {
                (x / root).clamp(-limit, limit)
            } else {
                0.0
            }
        };
        Self {
            value: DVec3::X * (0.5 * (root_plus + root_minus))
                + axis * (0.5 * (root_plus - root_minus)),
            axis,
            slopes: [
                slope(plus, root_plus),
                slope(minus, root_minus),
                slope(plus + minus, root_plus + root_minus),
            ],
        }
    }

    /// C = (1 + B)⁻¹ (1 − B).
    pub(super) fn compliance(&self) -> DMat3 {
        self.map(|slope| (1.0 - slope) / (1.0 + slope))
    }

    /// (1 + B)⁻¹.
    pub(super) fn inverse(&self) -> DMat3 {
        self.map(|slope| (1.0 + slope).recip())
    }

    /// f(B): the matrix with the eigenvectors of B and the eigenvalues f(slope).
    fn map(&self, f: impl Fn(f64) -> f64) -> DMat3 {
        let [plus, minus, across] = self.slopes.map(f);
        let (mean, half) = (0.5 * (plus + minus), 0.5 * (plus - minus));
        let d = self.axis;
        let side = DVec3::new(0.0, -d.z, d.y);
        (outer(DVec3::X, DVec3::X) + outer(d, d)) * mean
            + (outer(DVec3::X, d) + outer(d, DVec3::X)) * half
            + outer(side, side) * across
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// x ∘ x.
    fn square(x: DVec3) -> DVec3 {
        DVec3::new(x.length_squared(), 2.0 * x.x * x.y, 2.0 * x.x * x.z)
    }

    fn vector() -> impl Strategy<Value = DVec3> {
        let part = || -2.0..2.0;
        (part(), part(), part()).prop_map(|(x, y, z)| DVec3::new(x, y, z))
    }

    proptest! {
        #[test]
        fn the_square_of_the_root_is_its_radicand(z in vector(), smoothing in 0.0..2.0) {
            let root = Root::new(z, smoothing);
            let wanted = square(z) + DVec3::X * (4.0 * smoothing * smoothing);
            prop_assert!((square(root.value) - wanted).length() < 1e-13);
        }

        #[test]
        fn the_derivative_agrees_with_central_differences(z in vector(), smoothing in 0.01..2.0) {
            let root = Root::new(z, smoothing);
            let derivative = root.map(|slope| slope);
            let step = 1e-6;
            for axis in [DVec3::X, DVec3::Y, DVec3::Z] {
                let ahead = Root::new(z + axis * step, smoothing).value;
                let behind = Root::new(z - axis * step, smoothing).value;
                let difference = (ahead - behind) / (2.0 * step);
                // The third derivative is of order 1/ε².
                let bound = 1e-9 + 10.0 * (step / smoothing).powi(2);
                prop_assert!((derivative * axis - difference).length() < bound);
            }
        }

        #[test]
        fn compliance_is_twice_the_inverse_minus_one(z in vector(), smoothing in 0.01..2.0) {
            let root = Root::new(z, smoothing);
            // (1 − B)/(1 + B) = 2/(1 + B) − 1.
            let other = root.inverse() * 2.0 - DMat3::IDENTITY;
            let size = 1.0 + root.inverse().x_axis.length();
            prop_assert!(root.compliance().abs_diff_eq(other, 1e-12 * size));
        }
    }
}
