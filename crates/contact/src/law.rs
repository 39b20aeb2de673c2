//! The law of Signorini and Coulomb at one contact, and solvers of a single contact.
//!
//! A contact has a relative velocity `u` (m/s) and an impulse `r` (N s). The pair obeys the law
//! C_mu (Daviet 2020, eq. 1 and 2) if 0 <= u_N ⊥ r_N >= 0, if r lies in the cone K_mu = { ‖r_T‖ <=
//! mu r_N }, and if r_T = -mu r_N u_T/‖u_T‖ wherever the contact slides. In local axes the
//! component x is along the normal and y, z are the tangents. The functions that end in `_about`
//! take world axes and a unit normal instead, so that no basis is needed.
//!
//! - The law as an equation: [`project`] is the projection on the cone, and [`natural_map`] is zero
//!   exactly where the law holds. The errors of all solvers are computed from it.
//! - A single contact: [`solve_isotropic`] for a multiple of the identity as its operator,
//!   [`solve_contact`] for a general 3x3 operator.
//!
//! Friction coefficients are not negative. NaN inputs have NaN results; no function panics.

use glam::{DMat3, DVec3};

pub use contact::solve_contact;

use crate::symmetric::outer;

mod contact;
mod fischer_burmeister;
#[cfg(test)]
mod tests;

/// Larger coefficients are replaced by this one: the surface of its cone is 1e-100 rad from the
/// tangent plane, so that the cone is the half space to rounding.
const MAX_FRICTION: f64 = 1e100;

/// The projection on the cone, by the region of the point.
enum ConeProjection {
    /// The point is in the polar cone; its projection is the tip.
    Tip,
    /// The point is in the cone; it is its own projection.
    Inside,
    /// The projection is on the surface: its normal component, and the factor on the tangential
    /// part.
    Surface { normal: f64, shrink: f64 },
}

impl ConeProjection {
    /// The polar cone is tested first: for mu = 0, points on the negative axis also satisfy the
    /// condition of the inside.
    #[inline]
    fn find(mu: f64, normal: f64, tangential: f64) -> Self {
        if mu * tangential <= -normal {
            Self::Tip
        } else if tangential <= mu * normal {
            Self::Inside
        } else {
            let (along, square) = (normal + mu * tangential, 1.0 + mu * mu);
            Self::Surface {
                normal: along / square,
                shrink: mu * along / (square * tangential),
            }
        }
    }
}

/// The coefficient limited to [`MAX_FRICTION`]; NaN stays NaN.
#[inline]
fn finite_friction(mu: f64) -> f64 {
    if mu > MAX_FRICTION { MAX_FRICTION } else { mu }
}

/// ‖x_T‖ in local axes.
#[inline]
fn tangential_length(x: DVec3) -> f64 {
    (x.y * x.y + x.z * x.z).sqrt()
}

/// The orthogonal projection on K_mu, in local axes.
///
/// For `mu = 0` the cone is the ray of the normal, for `mu = ∞` the half space.
#[inline]
pub fn project(mu: f64, x: DVec3) -> DVec3 {
    match ConeProjection::find(finite_friction(mu), x.x, tangential_length(x)) {
        ConeProjection::Tip => DVec3::ZERO,
        ConeProjection::Inside => x,
        ConeProjection::Surface { normal, shrink } => {
            DVec3::new(normal, shrink * x.y, shrink * x.z)
        }
    }
}

/// [`project`] in world axes for the unit vector `normal`.
#[inline]
pub fn project_about(normal: DVec3, mu: f64, x: DVec3) -> DVec3 {
    let along = normal.dot(x);
    let across = x - along * normal;
    match ConeProjection::find(finite_friction(mu), along, across.length()) {
        ConeProjection::Tip => DVec3::ZERO,
        ConeProjection::Inside => x,
        ConeProjection::Surface {
            normal: along,
            shrink,
        } => along * normal + shrink * across,
    }
}

/// The derivative of [`project`] at `x`; at a kink, one element of the generalized Jacobian.
///
/// Symmetric, with eigenvalues in [0, 1]. On the surface it is e eᵀ + shrink p pᵀ, where e is the
/// generator of the cone through the projection and p the tangent orthogonal to it.
pub fn project_derivative(mu: f64, x: DVec3) -> DMat3 {
    let mu = finite_friction(mu);
    let tangential = tangential_length(x);
    match ConeProjection::find(mu, x.x, tangential) {
        ConeProjection::Tip => DMat3::ZERO,
        ConeProjection::Inside => DMat3::IDENTITY,
        ConeProjection::Surface { shrink, .. } => {
            let (y, z) = (x.y / tangential, x.z / tangential);
            let generator = DVec3::new(1.0, mu * y, mu * z) / (1.0 + mu * mu).sqrt();
            outer(generator, generator)
                + shrink * outer(DVec3::new(0.0, -z, y), DVec3::new(0.0, -z, y))
        }
    }
}

/// ũ = u + mu ‖u_T‖ n, De Saxcé's change of variable, in local axes; `mu` finite.
///
/// (u, r) obeys C_mu exactly if K_mu ∋ r ⊥ ũ ∈ K_{1/mu}: a complementarity problem of a cone and
/// its dual.
#[inline]
pub fn associated(mu: f64, u: DVec3) -> DVec3 {
    DVec3::new(u.x + mu * tangential_length(u), u.y, u.z)
}

/// [`associated`] in world axes for the unit vector `normal`.
#[inline]
pub fn associated_about(normal: DVec3, mu: f64, u: DVec3) -> DVec3 {
    u + mu * u.reject_from_normalized(normal).length() * normal
}

/// r - P(r - rho ũ), P the projection on K_mu, in local axes: zero exactly if (u, r) obeys C_mu.
///
/// `rho > 0` (N s per m/s) scales velocities to impulses; the inverse of the norm of the contact's
/// operator is the natural choice.
#[inline]
pub fn natural_map(mu: f64, u: DVec3, r: DVec3, rho: f64) -> DVec3 {
    r - project(mu, r - rho * associated(mu, u))
}

/// [`natural_map`] in world axes for the unit vector `normal`.
#[inline]
pub fn natural_map_about(normal: DVec3, mu: f64, u: DVec3, r: DVec3, rho: f64) -> DVec3 {
    r - project_about(normal, mu, r - rho * associated_about(normal, mu, u))
}

/// A right-handed orthonormal basis whose first column is the unit vector `normal`.
///
/// A deterministic function of the normal. It is not continuous, since no tangent basis is.
pub fn basis(normal: DVec3) -> DMat3 {
    let (first, second) = normal.any_orthonormal_pair();
    DMat3::from_cols(normal, first, second)
}

/// The impulse of a contact with u = s r + u_free + c r_N n, in world axes: s is `scale > 0`, c is
/// `compliance >= 0`, both in m/s per N s.
///
/// The enumeration of Daviet 2020, section 5.2.2. The compliance acts along the normal only: the
/// operator of Signorini's condition is s + c, that of friction is s.
#[inline]
pub fn solve_isotropic(normal: DVec3, mu: f64, scale: f64, compliance: f64, free: DVec3) -> DVec3 {
    let approach = normal.dot(free);
    if approach >= 0.0 {
        return DVec3::ZERO;
    }
    let pressure = -approach / (scale + compliance);
    let slip = free - approach * normal;
    let (max_friction, speed_squared) = (mu * pressure, slip.length_squared());
    // Squares, so that sticking contacts need no square root.
    let stick_speed = max_friction * scale;
    let factor = if speed_squared <= stick_speed * stick_speed {
        scale.recip()
    } else {
        max_friction / speed_squared.sqrt()
    };
    pressure * normal - slip * factor
}
