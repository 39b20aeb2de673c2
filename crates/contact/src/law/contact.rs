//! One contact with a general operator: u = W r + q and (u, r) in C_mu, solved by enumeration.
//!
//! Daviet et al. 2011 solve it by the quartic of Bonnefon and Daviet 2011, backed by a Newton method on the function of
//! Fischer and Burmeister. Here the quartic keeps the square root it came from, which takes off the roots that squaring
//! brings in and leaves a function of one unknown with a bracket.
//!
//! Let u_N = 0. Then r_N = -(q_N + w_NT·r_T)/w_NN, and with the Schur complement A = W_TT - w_TN w_NTᵀ/w_NN and
//! b = w_TN q_N/w_NN - q_T the tangential velocity is u_T = A r_T - b. A contact that slides has u_T = -λ r_T with λ > 0,
//! one that sticks has λ = 0; thus (A + λ I) r_T = b. By Cramer's rule r_T = p(λ)/d(λ), where p = adj(A + λ I) b is linear and
//! d = det(A + λ I) quadratic, and the surface of the cone is reached where
//!
//! G(λ) = ‖p‖ - mu r_N d = ‖p‖ + g d + h·p = 0,  g = mu q_N/w_NN < 0,  h = mu w_NT/w_NN.
//!
//! The contact sticks exactly if G(0) <= 0. Otherwise G leads from G(0) > 0 to -∞, so that a root exists: every W whose
//! symmetric part is positive definite (A inherits that) has a solution. In the axes where the symmetric part of A is
//! diagonal, A is [[α, ω], [-ω, β]] and d = (α + λ)(β + λ) + ω² a sum of positive terms. Nothing cancels, and the residual
//! stays at rounding whatever the condition of W.
//!
//! The enumeration comes first: it is several times faster than the Fischer-Burmeister function even from a good guess, and
//! it does not fail on operators of bad condition. What is left for the latter, and for a search over the direction of
//! friction, are operators that are singular or not semidefinite.

use std::f64::consts::TAU;

use glam::{DMat3, DVec2, DVec3};

use super::{fischer_burmeister, natural_map};

#[cfg(test)]
mod tests;

/// An answer holds if its error is below this part of ‖q‖, or of the rounding of W r.
const TOLERANCE: f64 = 1e-12;
/// With [`TOLERANCE`], the error allowed to W r: 1.6e-14 of its terms, a hundred roundings.
const SHARE_OF_IMPULSE: f64 = 1.0 / 64.0;
/// An impulse above this many times ‖q‖/‖W‖ comes from an operator that is singular up to rounding: W r would keep two digits
/// of q.
const LARGEST: f64 = 1e12;
/// Newton doubles the digits: the step after one of this relative size is below rounding.
const LAST_STEP: f64 = 1e-8;
/// Bisection alone would need about this many steps over the range of λ; Newton needs two to five.
const MOST_STEPS: usize = 100;
/// Directions of friction that the search for slides compares.
const DIRECTIONS: usize = 128;
/// From the angle between two directions to rounding.
const BISECTIONS: usize = 50;

/// The impulse r of a contact with u = W r + q and (u, r) in C_mu, in local axes.
///
/// `w` is positive semidefinite up to rounding. It may be slightly unsymmetric and singular, and of any magnitude; the
/// answer scales exactly with powers of two. `mu` is finite. `guess` is where r was before: the search for the slip begins
/// there. It may select among several solutions, but r = 0 is taken whenever it is valid.
///
/// The answer is exact in the sense of backward error: a change of q by 1e-12 of ‖q‖ and 1.6e-14 of ‖W‖‖r‖ at most makes it
/// so, and for a definite W rounding is all that is left. `None` if there is no such answer, as for W = 0 and q_N < 0 or
/// where friction wedges a singular W; if ‖r‖ would exceed 1e12 ‖q‖/‖W‖, which takes a condition above 1e11; or if the
/// input is not finite.
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
    let contact = Contact {
        w: *w * size.recip(),
        q: q * speed.recip(),
        mu,
    };
    let r = contact.solve(guess * (size / speed))? * (speed / size);
    r.is_finite().then_some(r)
}

/// The power of two at or below `x >= 0`, and the smallest normal number at least; infinite for NaN and infinity.
#[inline]
fn power_of_two(x: f64) -> f64 {
    const EXPONENT: u64 = 0x7ff << 52;
    f64::from_bits(x.to_bits() & EXPONENT).max(f64::MIN_POSITIVE)
}

/// A contact that approaches (q_N < 0), scaled such that the magnitudes in `w` and in `q` sum to a number in [1, 2).
#[derive(Debug)]
pub(super) struct Contact {
    pub(super) w: DMat3,
    pub(super) q: DVec3,
    pub(super) mu: f64,
}

impl Contact {
    fn solve(&self, guess: DVec3) -> Option<DVec3> {
        // No impulse of a semidefinite W changes u_N then.
        if self.w.x_axis.x <= 0.0 {
            return None;
        }
        if self.mu == 0.0 {
            let r = self.frictionless();
            return self.allows(0.0, r).then_some(r);
        }
        let Answer { impulse: r, slip } = self.enumerate(guess);
        // (u - error, r) obeys the law: the error is one of q.
        let error = self.w * r + self.q + slip * r.with_x(0.0);
        if self.allows(error.length_squared(), r) {
            return Some(r);
        }
        self.search(r)
    }

    /// Whether an error of this square may be left with the impulse `r`.
    fn allows(&self, error_squared: f64, r: DVec3) -> bool {
        let (q, r) = (self.q.length_squared(), r.length_squared());
        let terms = q + SHARE_OF_IMPULSE * SHARE_OF_IMPULSE * r;
        error_squared <= TOLERANCE * TOLERANCE * terms && r <= LARGEST * LARGEST * q
    }

    fn frictionless(&self) -> DVec3 {
        DVec3::new(-self.q.x / self.w.x_axis.x, 0.0, 0.0)
    }

    /// Stick or slide; take-off is excluded by q_N < 0.
    fn enumerate(&self, guess: DVec3) -> Answer {
        let tangent = Tangent::new(self);
        if tangent.surface(0.0).value <= 0.0 {
            return tangent.stick(self);
        }
        let u = self.w * guess + self.q;
        let (u, r) = (u.with_x(0.0), guess.with_x(0.0));
        tangent.slide(self, -u.dot(r) / r.length_squared())
    }

    /// The first answer that holds: a slide in any direction, or where Newton's method on the Fischer-Burmeister function ends
    /// that begins there, at the answer of the enumeration, or where the contact would stick.
    #[cold]
    fn search(&self, answer: DVec3) -> Option<DVec3> {
        let stuck = -(self.w.inverse() * self.q);
        let holds = |r: &DVec3| {
            // An error of the velocity enters the natural map at most 1 + mu times.
            let error = natural_map(self.mu, self.w * *r + self.q, *r, 1.0) / (1.0 + self.mu);
            self.allows(error.length_squared(), *r)
        };
        self.slides().chain([answer, stuck]).find_map(|start| {
            let end = fischer_burmeister::refine(self, start);
            [start, end].into_iter().find(holds)
        })
    }

    /// All slides, whatever W is: impulses on the surface of the cone with u_N = 0, in a direction at which the slip turns from
    /// one side of the friction to the other.
    ///
    /// The side is a quartic in the tangent of half the angle (Bonnefon and Daviet 2011), so that there are four at most.
    fn slides(&self) -> impl Iterator<Item = DVec3> {
        (0..DIRECTIONS).filter_map(|index| {
            let ends = [index, index + 1].map(|index| TAU * index as f64 / DIRECTIONS as f64);
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

    /// The generator of the cone with its friction along `direction`.
    fn ray(&self, direction: DVec2) -> DVec3 {
        DVec3::new(1.0, self.mu * direction.x, self.mu * direction.y)
    }

    /// On which side of the friction the slip lies, for an impulse along `direction` that makes u_N = 0.
    fn side(&self, direction: DVec2) -> bool {
        let lift = self.w * self.ray(direction);
        let slip = lift.x * self.q - self.q.x * lift;
        slip.y * direction.y > slip.z * direction.x
    }
}

/// An impulse in the cone, and the λ of its slip.
struct Answer {
    impulse: DVec3,
    slip: f64,
}

/// The tangential problem (A + λ I) r_T = b in the axes where the symmetric part of A is diagonal.
struct Tangent {
    /// Cosine and sine of the turn from the axes of the contact.
    axis: DVec2,
    alpha: f64,
    beta: f64,
    omega: f64,
    b: DVec2,
    g: f64,
    h: DVec2,
}

/// G and the terms that make it up, at one λ.
struct Surface {
    p: DVec2,
    d: f64,
    /// ‖p‖.
    length: f64,
    value: f64,
}

impl Tangent {
    fn new(contact: &Contact) -> Self {
        let Contact { w, q, mu } = contact;
        let inverse = w.x_axis.x.recip();
        let row = DVec2::new(w.y_axis.x, w.z_axis.x) * inverse;
        let column = DVec2::new(w.x_axis.y, w.x_axis.z);
        let yy = w.y_axis.y - column.x * row.x;
        let zz = w.z_axis.z - column.y * row.y;
        let yz = w.z_axis.y - column.x * row.y;
        let zy = w.y_axis.z - column.y * row.x;
        let b = column * (q.x * inverse) - DVec2::new(q.y, q.z);

        let (shift, axis) = jacobi_rotation(yy, 0.5 * (yz + zy), zz);
        // An eigenvalue of a semidefinite matrix that is below rounding is rounding.
        let rounding = f64::EPSILON * w.y_axis.y.max(w.z_axis.z).max(w.x_axis.x);
        Self {
            axis,
            alpha: (yy - shift).max(rounding),
            beta: (zz + shift).max(rounding),
            omega: 0.5 * (yz - zy),
            b: turn(axis, b),
            g: mu * q.x * inverse,
            h: turn(axis, row) * *mu,
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
        turn(DVec2::new(self.axis.x, -self.axis.y), p / d)
    }

    fn stick(&self, contact: &Contact) -> Answer {
        let friction = self.friction(0.0);
        let row = DVec2::new(contact.w.y_axis.x, contact.w.z_axis.x);
        let pressure = -(contact.q.x + row.dot(friction)) / contact.w.x_axis.x;
        // Rounding must not leave the cone.
        let pressure = pressure.max(friction.length() / contact.mu);
        Answer {
            impulse: DVec3::new(pressure, friction.x, friction.y),
            slip: 0.0,
        }
    }

    /// r_N comes from the cone. From u_N = 0 it may cancel, and its error would leave the cone; this way the error is one of
    /// rounding in q_N.
    fn slide(&self, contact: &Contact, start: f64) -> Answer {
        let slip = self.slip(start);
        let friction = self.friction(slip);
        Answer {
            impulse: DVec3::new(friction.length() / contact.mu, friction.x, friction.y),
            slip,
        }
    }

    /// A root λ of G in (0, ∞): Newton's method on -G/‖p‖, kept in a bracket.
    ///
    /// Divided by ‖p‖, the function is linear if A is isotropic and h = 0, and nearly so elsewhere.
    fn slip(&self, start: f64) -> f64 {
        // ‖p‖ <= 2 (λ + α) ‖b‖ for λ >= |ω| and α the larger eigenvalue, and d >= (λ + α) λ; thus G < 0 from here on.
        let far = 2.0 * (1.0 + self.h.abs().element_sum()) * self.b.abs().element_sum() / -self.g;
        let (mut low, mut high) = (0.0, far.max(self.omega.abs()));
        let smallest = self.alpha.min(self.beta);
        let mut lambda = if start > 0.0 && start < high {
            start
        } else {
            0.5 * high
        };
        for _ in 0..MOST_STEPS {
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

/// Coordinates of `x` in the axes turned by the angle of `axis`.
#[inline]
fn turn(axis: DVec2, x: DVec2) -> DVec2 {
    DVec2::new(axis.x * x.x - axis.y * x.y, axis.y * x.x + axis.x * x.y)
}

/// The rotation that makes [[first, coupling], [coupling, second]] diagonal, with eigenvalues first - shift and
/// second + shift: the shift, and the cosine and sine.
fn jacobi_rotation(first: f64, coupling: f64, second: f64) -> (f64, DVec2) {
    let difference = second - first;
    // The smallest number is for a multiple of the identity: no rotation.
    let root = (difference * difference + 4.0 * coupling * coupling).sqrt() + f64::MIN_POSITIVE;
    let tangent = 2.0 * coupling / (difference + root.copysign(difference));
    let cosine = (1.0 + tangent * tangent).sqrt().recip();
    (tangent * coupling, DVec2::new(cosine, tangent * cosine))
}
