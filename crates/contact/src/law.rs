//! The law of Signorini and Coulomb at one contact, and the solution of one contact that is alone in the world.
//!
//! A contact has a relative velocity `u` (m/s) and an impulse `r` (N s). The pair obeys the law C_mu (Daviet 2020, eq. 1
//! and 2) if 0 <= u_N ⊥ r_N >= 0, if r lies in the cone K_mu = { ‖r_T‖ <= mu r_N }, and if r_T = -mu r_N u_T/‖u_T‖
//! wherever the contact slides. In local axes the component x is along the normal and y, z are the tangents; the
//! functions that end in `_about` take world axes and a unit normal instead, so that no basis needs to be built.
//!
//! - The law as an equation: [`project`] is the nearest point of the cone, and [`natural_map`] vanishes exactly where the
//!   law holds. It measures every solver of this package.
//! - One contact solved: [`solve_isotropic`] where the contact is as light in all directions, [`solve_contact`] for any
//!   3x3 operator.
//!
//! Friction coefficients are not negative. NaN in gives NaN out; nothing here panics.

use glam::{DMat3, DVec3};

pub use contact::solve_contact;

use crate::symmetric::outer;

mod contact;
mod fischer_burmeister;
#[cfg(test)]
mod tests;

/// A cone this wide cannot be told from the half space: its surface is 1e-100 rad from the tangent plane.
const WIDEST: f64 = 1e100;

/// Where the nearest point of the cone lies.
enum Nearest {
    /// The point is in the polar cone: the tip.
    Tip,
    /// The point is in the cone already.
    Itself,
    /// On the surface: the normal component, and the factor on the tangential part.
    Surface { normal: f64, shrink: f64 },
}

impl Nearest {
    /// The polar cone comes first: for mu = 0 the other half of the axis would pass for the inside.
    #[inline]
    fn find(mu: f64, normal: f64, tangential: f64) -> Self {
        if mu * tangential <= -normal {
            Self::Tip
        } else if tangential <= mu * normal {
            Self::Itself
        } else {
            let (along, square) = (normal + mu * tangential, 1.0 + mu * mu);
            Self::Surface {
                normal: along / square,
                shrink: mu * along / (square * tangential),
            }
        }
    }
}

/// Finite stand-in for an infinite coefficient; NaN stays.
#[inline]
fn narrowed(mu: f64) -> f64 {
    if mu > WIDEST { WIDEST } else { mu }
}

/// ‖x_T‖ in local axes.
#[inline]
fn tangential_length(x: DVec3) -> f64 {
    (x.y * x.y + x.z * x.z).sqrt()
}

/// The nearest point of K_mu in the Euclidean norm, in local axes.
///
/// For `mu = 0` the cone is the ray of the normal, for `mu = ∞` the half space.
#[inline]
pub fn project(mu: f64, x: DVec3) -> DVec3 {
    match Nearest::find(narrowed(mu), x.x, tangential_length(x)) {
        Nearest::Tip => DVec3::ZERO,
        Nearest::Itself => x,
        Nearest::Surface { normal, shrink } => DVec3::new(normal, shrink * x.y, shrink * x.z),
    }
}

/// [`project`] in world axes for the unit vector `normal`.
#[inline]
pub fn project_about(normal: DVec3, mu: f64, x: DVec3) -> DVec3 {
    let along = normal.dot(x);
    let across = x - along * normal;
    match Nearest::find(narrowed(mu), along, across.length()) {
        Nearest::Tip => DVec3::ZERO,
        Nearest::Itself => x,
        Nearest::Surface {
            normal: along,
            shrink,
        } => along * normal + shrink * across,
    }
}

/// The derivative of [`project`] at `x`; on a kink, one element of the generalized Jacobian.
///
/// Symmetric, with eigenvalues in [0, 1]. On the surface it is e eᵀ + shrink p pᵀ, where e is the generator of the cone
/// through the nearest point and p the tangent square to it.
pub fn project_derivative(mu: f64, x: DVec3) -> DMat3 {
    let mu = narrowed(mu);
    let tangential = tangential_length(x);
    match Nearest::find(mu, x.x, tangential) {
        Nearest::Tip => DMat3::ZERO,
        Nearest::Itself => DMat3::IDENTITY,
        Nearest::Surface { shrink, .. } => {
            let (y, z) = (x.y / tangential, x.z / tangential);
            let generator = DVec3::new(1.0, mu * y, mu * z) / (1.0 + mu * mu).sqrt();
            outer(generator, generator)
                + shrink * outer(DVec3::new(0.0, -z, y), DVec3::new(0.0, -z, y))
        }
    }
}

/// ũ = u + mu ‖u_T‖ n, De Saxcé's change of variable, in local axes; `mu` finite.
///
/// (u, r) obeys C_mu exactly if K_mu ∋ r ⊥ ũ ∈ K_{1/mu}: the law as a complementarity of a cone and its dual.
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
/// `rho > 0` (N s per m/s) weighs velocity against impulse; the inverse of the size of the contact's operator is the
/// natural choice.
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
/// Finite and the same for the same bits of every unit vector, but not continuous: no basis of the tangents is.
pub fn basis(normal: DVec3) -> DMat3 {
    let (first, second) = normal.any_orthonormal_pair();
    DMat3::from_cols(normal, first, second)
}

/// The impulse of a contact with u = s r + u_free + c r_N n, in world axes: s is `scale > 0`, c is `compliance >= 0`, both
/// in m/s per N s.
///
/// The enumeration of Daviet 2020, section 5.2.2. The compliance gives way along the normal alone, so that it only
/// changes the operator that Signorini's condition sees, s + c, and leaves that of friction, s.
#[inline]
pub fn solve_isotropic(normal: DVec3, mu: f64, scale: f64, compliance: f64, free: DVec3) -> DVec3 {
    let approach = normal.dot(free);
    if approach >= 0.0 {
        return DVec3::ZERO;
    }
    let pressure = -approach / (scale + compliance);
    let slip = free - approach * normal;
    let (most, speed_squared) = (mu * pressure, slip.length_squared());
    // Squares: the contacts that stick need no root.
    let hold = match speed_squared <= (most * scale) * (most * scale) {
        true => scale.recip(),
        false => most / speed_squared.sqrt(),
    };
    pressure * normal - slip * hold
}
