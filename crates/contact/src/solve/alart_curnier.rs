//! The function of Alart and Curnier (1991), whose zeros are the solutions of the law of Signorini
//! and Coulomb, and its generalized derivative.

use glam::{DMat3, DVec3};

use crate::symmetric::outer;

/// The function at a contact and its derivatives: dF = `by_impulse` dr + `by_velocity` du.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AlartCurnier {
    /// F = r − (max(0, τ_N), τ_T cut to the disk of radius μ max(0, τ_N)), where τ = r − ρ u.
    pub value: DVec3,
    /// ∂F/∂r.
    pub by_impulse: DMat3,
    /// ∂F/∂u.
    pub by_velocity: DMat3,
}

impl AlartCurnier {
    /// The function at u and r in local axes (normal, tangent, tangent), with ρ > 0 (kg).
    pub fn new(mu: f64, u: DVec3, r: DVec3, rho: f64) -> Self {
        let target = r - u * rho;
        if target.x.is_nan() || target.x <= 0.0 {
            return Self {
                value: r,
                by_impulse: DMat3::IDENTITY,
                by_velocity: DMat3::ZERO,
            };
        }
        let slip = DVec3::new(0.0, target.y, target.z);
        let (radius, length) = (mu * target.x, slip.length());
        if length <= radius {
            return Self {
                value: u * rho,
                by_impulse: DMat3::ZERO,
                by_velocity: DMat3::from_diagonal(DVec3::splat(rho)),
            };
        }
        // Slip: the radius of the disk grows with τ_N, and the point on its edge rotates with τ_T.
        let direction = slip / length;
        let cut = radius / length;
        let tangential = DMat3::from_diagonal(DVec3::new(0.0, 1.0, 1.0));
        let turn = (tangential - outer(direction, direction)) * cut;
        let grow = outer(direction, DVec3::X) * mu;
        let on_edge = turn + grow;
        Self {
            value: DVec3::new(rho * u.x, 0.0, 0.0) + DVec3::new(0.0, r.y, r.z) - direction * radius,
            by_impulse: tangential - on_edge,
            by_velocity: (on_edge + outer(DVec3::X, DVec3::X)) * rho,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn vector() -> impl Strategy<Value = DVec3> {
        prop::array::uniform3(-2.0f64..2.0).prop_map(DVec3::from_array)
    }

    proptest! {
        #[test]
        fn derivatives_agree_with_central_differences(
            u in vector(), r in vector(), du in vector(), dr in vector(),
            mu in 0.0f64..1.5, rho in 0.1f64..3.0,
        ) {
            let target = r - u * rho;
            let slip = target.y.hypot(target.z);
            // Away from the boundaries between open, stick and slip.
            prop_assume!(target.x.abs() > 1e-3 && (slip - mu * target.x).abs() > 1e-3);
            prop_assume!(slip > 1e-2);
            let at = AlartCurnier::new(mu, u, r, rho);
            let step = 1e-6;
            let ahead = AlartCurnier::new(mu, u + du * step, r + dr * step, rho).value;
            let behind = AlartCurnier::new(mu, u - du * step, r - dr * step, rho).value;
            let wanted = (ahead - behind) / (2.0 * step);
            let found = at.by_impulse * dr + at.by_velocity * du;
            // The error of the differences is below (1/slip)³ h².
            prop_assert!((found - wanted).length() < 1e-5, "{found} {wanted}");
        }
    }

    #[test]
    fn the_function_is_zero_exactly_where_the_law_holds() {
        let value = |u, r| AlartCurnier::new(0.5, u, r, 2.0).value;
        assert_eq!(value(DVec3::new(1.0, 3.0, 0.0), DVec3::ZERO), DVec3::ZERO);
        assert_eq!(value(DVec3::ZERO, DVec3::new(2.0, 0.9, 0.0)), DVec3::ZERO);
        assert_eq!(value(DVec3::Y, DVec3::new(2.0, -1.0, 0.0)), DVec3::ZERO);
        assert!(value(DVec3::Y, DVec3::new(2.0, 1.0, 0.0)).length() > 1.0);
        assert!(value(-DVec3::X, DVec3::ZERO).length() > 1.0);
    }
}
