//! A single contact with a general operator: u = W r + q and (u, r) in C_mu, solved by enumeration
//! of open, stick and slip.
//!
//! Daviet et al. 2011 solve it by the quartic of Bonnefon and Daviet 2011, with a Newton method on
//! the function of Fischer and Burmeister as the fallback. Here the equation is not squared to a
//! quartic: without the spurious roots of squaring, a bracketed function of one unknown remains.
//!
//! Let u_N = 0. Then r_N = -(q_N + w_NT·r_T)/w_NN, and with the Schur complement A = W_TT - w_TN
//! w_NTᵀ/w_NN and b = w_TN q_N/w_NN - q_T the tangential velocity is u_T = A r_T - b. A contact
//! that slides has u_T = -λ r_T with λ > 0, one that sticks has λ = 0; thus (A + λ I) r_T = b. By
//! Cramer's rule r_T = p(λ)/d(λ), where p = adj(A + λ I) b is linear and d = det(A + λ I)
//! quadratic, and r lies on the surface of the cone where
//!
//! G(λ) = ‖p‖ - mu r_N d = ‖p‖ + g d + h·p = 0,  g = mu q_N/w_NN < 0,  h = mu w_NT/w_NN.
//!
//! The contact sticks exactly if G(0) <= 0. Otherwise G(0) > 0 and G tends to -∞, so that a root
//! exists: there is a solution for every W whose symmetric part is positive definite (A inherits
//! that). In the axes where the symmetric part of A is diagonal, A is [[α, ω], [-ω, β]], and the
//! terms of d = (α + λ)(β + λ) + ω² are positive. Without cancellation, the residual is at rounding
//! for any condition number of W.
//!
//! The enumeration is tried first: it is several times faster than the Fischer-Burmeister method
//! even from a good guess, and it does not fail on ill-conditioned operators. That method, and a
//! search over the direction of friction, are for operators that are singular or not semidefinite.

use std::f64::consts::TAU;

use glam::{DMat3, DVec2, DVec3};

use super::{fischer_burmeister, natural_map};

#[cfg(test)]
mod tests;

/// Tolerance of the error, relative to ‖q‖.
const TOLERANCE: f64 = 1e-12;

/// Factor on [`TOLERANCE`] for the part of the error relative to ‖W‖‖r‖: 1.6e-14, about a hundred
/// roundings of W r.
const IMPULSE_TOLERANCE_FACTOR: f64 = 1.0 / 64.0;

/// Largest ‖r‖ relative to ‖q‖/‖W‖. Beyond it the operator is singular to rounding: W r would keep
/// two digits of q.
const MAX_IMPULSE_RATIO: f64 = 1e12;

/// Newton's method on λ ends after a relative step of this size: convergence is quadratic, so that
/// the next step would be below rounding.
const LAST_STEP: f64 = 1e-8;

/// Steps of the root finder, at most. Bisection alone would need about this number over the range
/// of λ; Newton's method needs two to five.
const MAX_STEPS: usize = 100;

/// Directions of friction that the search compares.
const SEARCH_DIRECTIONS: usize = 128;

/// Bisections from the angle between two directions to rounding.
const BISECTIONS: usize = 50;

/// The impulse r of a contact with u = W r + q and (u, r) in C_mu, in local axes.
///
/// `w` is positive semidefinite to rounding. It may be slightly unsymmetric and singular, and of
/// any magnitude; the solution scales exactly with powers of two. `mu` is finite. `guess` is a
/// previous r, from which the slip is searched. It may select among several solutions, but r = 0 is
/// returned whenever it is a solution.
///
/// The result has a small backward error: it is exact for a q that differs by at most 1e-12 ‖q‖ +
/// 1.6e-14 ‖W‖‖r‖, and to rounding for a definite W. `None` if there is no such result, as for W =
/// 0 and q_N < 0 or where friction wedges a singular W; if ‖r‖ would exceed 1e12 ‖q‖/‖W‖, which
/// needs a condition number above 1e11; or if the input is not finite.
pub fn solve_contact(w: &DMat3, q: DVec3, mu: f64, guess: DVec3) -> Option<DVec3> {
    let size = power_of_two((w.x_axis.abs() + w.y_axis.abs() + w.z_axis.abs()).element_sum());
    let speed = power_of_two(q.abs().element_sum());
    // The sums are infinite or NaN if any entry is, and so are their powers of two.
    if !(size < f64::INFINITY && speed < f64::INFINITY && (0.0..f64::INFINITY).contains(&mu)) {
        return None;
    }
    if q.x >= 0.0 {
        return Some(DVec3::ZERO);
    }
    let contact = LocalProblem {
        w: *w * size.recip(),
        q: q * speed.recip(),
        mu,
    };
    let r = contact.solve(guess * (size / speed))? * (speed / size);
    r.is_finite().then_some(r)
}

/// The largest power of two up to `x >= 0`, and at least the smallest normal number; infinite for
/// NaN and infinity.
#[inline]
fn power_of_two(x: f64) -> f64 {
    const EXPONENT: u64 = 0x7ff << 52;
    f64::from_bits(x.to_bits() & EXPONENT).max(f64::MIN_POSITIVE)
}

/// An approaching contact (q_N < 0), scaled such that the sums of the magnitudes in `w` and in `q`
/// are in [1, 2).
#[derive(Debug)]
pub(super) struct LocalProblem {
    pub(super) w: DMat3,
    pub(super) q: DVec3,
    pub(super) mu: f64,
}

impl LocalProblem {
    fn solve(&self, guess: DVec3) -> Option<DVec3> {
        // With w_NN = 0 and W semidefinite, no impulse changes u_N.
        if self.w.x_axis.x <= 0.0 {
            return None;
        }
        if self.mu == 0.0 {
            let r = self.frictionless();
            return self.allows(0.0, r).then_some(r);
        }
        let Candidate { impulse: r, slip } = self.enumerate(guess);
        // (u - error, r) obeys the law: a backward error in q.
        let error = self.w * r + self.q + slip * r.with_x(0.0);
        if self.allows(error.length_squared(), r) {
            return Some(r);
        }
        self.search(r)
    }

    /// Whether a squared error is within the tolerance for the impulse `r`.
    fn allows(&self, error_squared: f64, r: DVec3) -> bool {
        let (q, r) = (self.q.length_squared(), r.length_squared());
        let terms = q + IMPULSE_TOLERANCE_FACTOR * IMPULSE_TOLERANCE_FACTOR * r;
        let max_impulse = MAX_IMPULSE_RATIO * MAX_IMPULSE_RATIO * q;
        error_squared <= TOLERANCE * TOLERANCE * terms && r <= max_impulse
    }

    fn frictionless(&self) -> DVec3 {
        DVec3::new(-self.q.x / self.w.x_axis.x, 0.0, 0.0)
    }

    /// Stick or slip; q_N < 0 excludes an open contact.
    fn enumerate(&self, guess: DVec3) -> Candidate {
        let tangent = Tangent::new(self);
        if tangent.surface(0.0).value <= 0.0 {
            return tangent.stick(self);
        }
        let u = self.w * guess + self.q;
        let (u, r) = (u.with_x(0.0), guess.with_x(0.0));
        tangent.slip(self, -u.dot(r) / r.length_squared())
    }

    /// The first impulse within the tolerance of these: slip in any direction, and the ends of
    /// Newton's method on the Fischer-Burmeister function from there, from the result of the
    /// enumeration, and from stick.
    #[cold]
    fn search(&self, enumerated: DVec3) -> Option<DVec3> {
        let stuck = -(self.w.inverse() * self.q);
        let is_solution = |r: &DVec3| {
            // The natural map amplifies an error of the velocity by at most 1 + mu.
            let error = natural_map(self.mu, self.w * *r + self.q, *r, 1.0) / (1.0 + self.mu);
            self.allows(error.length_squared(), *r)
        };
        self.slips().chain([enumerated, stuck]).find_map(|start| {
            let end = fischer_burmeister::refine(self, start);
            [start, end].into_iter().find(is_solution)
        })
    }

    /// Slip for any W: impulses on the surface of the cone with u_N = 0, in the directions at which
    /// the slip velocity changes from one side of the friction to the other.
    ///
    /// The side is the sign of a quartic in the tangent of half the angle (Bonnefon and Daviet
    /// 2011), so that there are at most four.
    fn slips(&self) -> impl Iterator<Item = DVec3> {
        (0..SEARCH_DIRECTIONS).filter_map(|index| {
            let angle = |index: usize| TAU * index as f64 / SEARCH_DIRECTIONS as f64;
            let ends = [index, index + 1].map(angle);
            let [mut here, mut there] = ends.map(DVec2::from_angle);
            let side = self.side(here);
            if side == self.side(there) {
                return None;
            }
            for _ in 0..BISECTIONS {
                let middle = (here + there).normalize();
                if self.side(middle) == side {
                    here = middle;
                } else {
                    there = middle;
                }
            }
            let ray = self.ray(here);
            let lift = self.w.row(0).dot(ray);
            (lift > 0.0).then(|| ray * (-self.q.x / lift))
        })
    }

    /// The generator of the cone with friction along `direction`.
    fn ray(&self, direction: DVec2) -> DVec3 {
        DVec3::new(1.0, self.mu * direction.x, self.mu * direction.y)
    }

    /// Side of the friction on which the slip velocity lies, for an impulse along `direction` with
    /// u_N = 0.
    fn side(&self, direction: DVec2) -> bool {
        let lift = self.w * self.ray(direction);
        let slip = lift.x * self.q - self.q.x * lift;
        slip.y * direction.y > slip.z * direction.x
    }
}

/// An impulse in the cone, and its λ: u_T = -λ r_T.
struct Candidate {
    impulse: DVec3,
    slip: f64,
}

/// The tangential problem (A + λ I) r_T = b in the axes where the symmetric part of A is diagonal.
struct Tangent {
    /// Cosine and sine of the rotation from the axes of the contact.
    axis: DVec2,
    alpha: f64,
    beta: f64,
    omega: f64,
    b: DVec2,
    g: f64,
    h: DVec2,
}

/// G and its terms at one λ.
struct Surface {
    p: DVec2,
    d: f64,
    /// ‖p‖.
    length: f64,
    /// G.
    value: f64,
}

impl Tangent {
    fn new(contact: &LocalProblem) -> Self {
        let LocalProblem { w, q, mu } = contact;
        let inverse = w.x_axis.x.recip();
        let row = DVec2::new(w.y_axis.x, w.z_axis.x) * inverse;
        let column = DVec2::new(w.x_axis.y, w.x_axis.z);
        let yy = w.y_axis.y - column.x * row.x;
        let zz = w.z_axis.z - column.y * row.y;
        let yz = w.z_axis.y - column.x * row.y;
        let zy = w.y_axis.z - column.y * row.x;
        let b = column * (q.x * inverse) - DVec2::new(q.y, q.z);

        let (shift, axis) = jacobi_rotation(yy, 0.5 * (yz + zy), zz);
        // An eigenvalue of a semidefinite matrix is not below rounding.
        let rounding = f64::EPSILON * w.y_axis.y.max(w.z_axis.z).max(w.x_axis.x);
        Self {
            axis,
            alpha: (yy - shift).max(rounding),
            beta: (zz + shift).max(rounding),
            omega: 0.5 * (yz - zy),
            b: rotate(axis, b),
            g: mu * q.x * inverse,
            h: rotate(axis, row) * *mu,
        }
    }

    #[inline]
    fn surface(&self, lambda: f64) -> Surface {
        let (alpha, beta) = (self.alpha + lambda, self.beta + lambda);
        let p = DVec2::new(
            beta * self.b.x - self.omega * self.b.y,
            alpha * self.b.y + self.omega * self.b.x,
        );
        let d = alpha * beta + self.omega * self.omega;
        let length = p.length();
        Surface {
            p,
            d,
            length,
            value: length + self.g * d + self.h.dot(p),
        }
    }

    /// r_T at λ in the axes of the contact.
    fn friction(&self, lambda: f64) -> DVec2 {
        let Surface { p, d, .. } = self.surface(lambda);
        rotate(DVec2::new(self.axis.x, -self.axis.y), p / d)
    }

    /// The impulse of a sticking contact, λ = 0.
    fn stick(&self, contact: &LocalProblem) -> Candidate {
        let friction = self.friction(0.0);
        let row = DVec2::new(contact.w.y_axis.x, contact.w.z_axis.x);
        let pressure = -(contact.q.x + row.dot(friction)) / contact.w.x_axis.x;
        // Rounding must not move the impulse out of the cone.
        let pressure = pressure.max(friction.length() / contact.mu);
        Candidate {
            impulse: DVec3::new(pressure, friction.x, friction.y),
            slip: 0.0,
        }
    }

    /// The impulse of a sliding contact. r_N is computed from the surface of the cone: from u_N = 0
    /// there would be cancellation, and the impulse could leave the cone. The remaining error is
    /// rounding in q_N.
    fn slip(&self, contact: &LocalProblem, start: f64) -> Candidate {
        let slip = self.find_root(start);
        let friction = self.friction(slip);
        Candidate {
            impulse: DVec3::new(friction.length() / contact.mu, friction.x, friction.y),
            slip,
        }
    }

    /// A root λ of G in (0, ∞), by Newton's method on -G/‖p‖ with a bracket.
    ///
    /// Divided by ‖p‖, the function is linear if A is isotropic and h = 0, and nearly linear
    /// otherwise.
    fn find_root(&self, start: f64) -> f64 {
        // ‖p‖ <= 2 (λ + α) ‖b‖ for λ >= |ω| and α the larger eigenvalue, and d >= (λ + α) λ: G < 0
        // beyond this λ.
        let far = 2.0 * (1.0 + self.h.abs().element_sum()) * self.b.abs().element_sum() / -self.g;
        let (mut low, mut high) = (0.0, far.max(self.omega.abs()));
        let smallest = self.alpha.min(self.beta);
        let mut lambda = if start > 0.0 && start < high {
            start
        } else {
            0.5 * high
        };
        for _ in 0..MAX_STEPS {
            let surface = self.surface(lambda);
            if surface.value > 0.0 {
                low = lambda;
            } else {
                high = lambda;
            }
            let step = self.newton_step(lambda, &surface);
            let next = lambda + step;
            let inside = low <= next && next <= high;
            lambda = if inside { next } else { 0.5 * (low + high) };
            if inside && step.abs() <= LAST_STEP * (lambda + smallest) {
                break;
            }
        }
        lambda
    }

    /// -f/f' of f = -G/‖p‖.
    #[inline]
    fn newton_step(&self, lambda: f64, surface: &Surface) -> f64 {
        let slope = self.g * (2.0 * lambda + self.alpha + self.beta) + self.h.dot(self.b);
        let rest = surface.value - surface.length;
        let square = surface.length * surface.length;
        -surface.value * square / (slope * square - rest * surface.p.dot(self.b))
    }
}

/// Coordinates of `x` in the axes rotated by the angle of `axis`.
#[inline]
fn rotate(axis: DVec2, x: DVec2) -> DVec2 {
    DVec2::new(axis.x * x.x - axis.y * x.y, axis.y * x.x + axis.x * x.y)
}

/// The rotation that diagonalizes [[first, coupling], [coupling, second]], with the eigenvalues
/// first - shift and second + shift. Returns the shift, and the cosine and sine.
fn jacobi_rotation(first: f64, coupling: f64, second: f64) -> (f64, DVec2) {
    let difference = second - first;
    // The smallest number avoids 0/0 for a multiple of the identity: no rotation.
    let root = (difference * difference + 4.0 * coupling * coupling).sqrt() + f64::MIN_POSITIVE;
    let tangent = 2.0 * coupling / (difference + root.copysign(difference));
    let cosine = (1.0 + tangent * tangent).sqrt().recip();
    (tangent * coupling, DVec2::new(cosine, tangent * cosine))
}
