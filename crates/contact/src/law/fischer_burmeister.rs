//! A damped Newton method on the Fischer-Burmeister function of the second-order cone (Fukushima,
//! Luo and Tseng 2002), as in Daviet et al. 2011: slower than the enumeration, but without
//! assumptions on W.
//!
//! With m = min(mu, 1) and M = max(mu, 1), the vectors x = (m r_N, r_T/M) and y = (u_N/M + m ‖u_T‖,
//! m u_T) map r and ũ to the self-dual cone K_1 for any mu. The law is K_1 ∋ x ⊥ y ∈ K_1, and that
//! is f = x + y - (x∘x + y∘y)^½ = 0, where ∘ is the Jordan product (x_N y_N + x_T·y_T, x_N y_T
//! + y_N x_T).

use glam::{DMat3, DVec3};

use super::contact::LocalProblem;
use super::tangential_length;

/// Newton steps, at most.
const MAX_STEPS: usize = 20;

/// Halvings of a step, at most.
const MAX_HALVINGS: usize = 10;

/// Armijo constant of the line search: the fraction of the predicted decrease that is required.
const SUFFICIENT_DECREASE: f64 = 1e-4;

/// The end of Newton's method from `r`. ‖f‖ never increases; `r` is returned if f is not finite.
pub(super) fn refine(contact: &LocalProblem, mut r: DVec3) -> DVec3 {
    let mut point = Point::new(contact, r);
    for _ in 0..MAX_STEPS {
        let merit = point.f.length_squared();
        let derivative = point.derivative(contact);
        let slope = derivative.transpose() * point.f;
        let newton = -(derivative.inverse() * point.f);
        // With a singular derivative, the Newton direction may be undefined or not a descent
        // direction. The fallback is steepest descent to the minimum of the linear model.
        let is_descent = newton.is_finite() && slope.dot(newton) < 0.0;
        let direction = if is_descent {
            newton
        } else {
            slope * (-slope.length_squared() / (derivative * slope).length_squared())
        };
        let Some((next, there)) = descend(contact, r, direction, merit, slope) else {
            break;
        };
        (r, point) = (next, there);
    }
    r
}

/// The longest of the halved steps with a sufficient decrease of ‖f‖².
fn descend(
    contact: &LocalProblem,
    r: DVec3,
    direction: DVec3,
    merit: f64,
    slope: DVec3,
) -> Option<(DVec3, Point)> {
    let predicted = 2.0 * SUFFICIENT_DECREASE * slope.dot(direction);
    let mut length = 1.0;
    for _ in 0..MAX_HALVINGS {
        let next = r + length * direction;
        let there = Point::new(contact, next);
        if there.f.length_squared() < merit + length * predicted {
            return Some((next, there));
        }
        length *= 0.5;
    }
    None
}

/// The function f at one impulse, with the terms of its derivative.
struct Point {
    u: DVec3,
    x: DVec3,
    y: DVec3,
    /// (x∘x + y∘y)^½.
    root: DVec3,
    f: DVec3,
}

impl Point {
    fn new(contact: &LocalProblem, r: DVec3) -> Self {
        let u = contact.w * r + contact.q;
        let (narrow, wide) = factors(contact.mu);
        let x = DVec3::new(narrow * r.x, r.y / wide, r.z / wide);
        let y = DVec3::new(
            u.x / wide + narrow * tangential_length(u),
            narrow * u.y,
            narrow * u.z,
        );
        let root = square_root(jordan(x, x) + jordan(y, y));
        let f = x + y - root;
        Self { u, x, y, root, f }
    }

    /// df/dr = (I - L_s⁻¹ L_x) dx/dr + (I - L_s⁻¹ L_y) dy/du W with s the root and L_a the matrix
    /// of a∘, for s∘s = x∘x + y∘y gives L_s ds = L_x dx + L_y dy.
    fn derivative(&self, contact: &LocalProblem) -> DMat3 {
        let (narrow, wide) = factors(contact.mu);
        let x_by_r = DMat3::from_diagonal(DVec3::new(narrow, wide.recip(), wide.recip()));
        let speed = tangential_length(self.u).max(f64::MIN_POSITIVE);
        let y_by_u = DMat3::from_cols(
            DVec3::new(wide.recip(), 0.0, 0.0),
            narrow * DVec3::new(self.u.y / speed, 1.0, 0.0),
            narrow * DVec3::new(self.u.z / speed, 0.0, 1.0),
        );
        let inverse = arrow_inverse(self.root);
        let by_x = DMat3::IDENTITY - inverse * arrow(self.x);
        let by_y = DMat3::IDENTITY - inverse * arrow(self.y);
        by_x * x_by_r + by_y * y_by_u * contact.w
    }
}

/// m and M.
fn factors(mu: f64) -> (f64, f64) {
    (mu.min(1.0), mu.max(1.0))
}

/// a∘b.
fn jordan(a: DVec3, b: DVec3) -> DVec3 {
    (a.x * b + b.x * a).with_x(a.dot(b))
}

/// The element of K_1 whose Jordan square is `z` in K_1, from the square roots of the eigenvalues
/// z_N ± ‖z_T‖.
fn square_root(z: DVec3) -> DVec3 {
    let length = tangential_length(z);
    let more = (z.x + length).max(0.0).sqrt();
    let less = (z.x - length).max(0.0).sqrt();
    let along = 0.5 * (more - less) / length.max(f64::MIN_POSITIVE);
    DVec3::new(0.5 * (more + less), along * z.y, along * z.z)
}

/// The symmetric matrix of a∘.
fn arrow(a: DVec3) -> DMat3 {
    DMat3::from_cols(a, DVec3::new(a.y, a.x, 0.0), DVec3::new(a.z, 0.0, a.x))
}

/// The inverse of [`arrow`] in the interior of K_1; of a regular matrix near it on the surface.
fn arrow_inverse(a: DVec3) -> DMat3 {
    let normal = a.x * (1.0 + 1e-14) + f64::MIN_POSITIVE;
    arrow(a.with_x(normal)).inverse()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::law::solve_contact;

    fn vector() -> impl Strategy<Value = DVec3> {
        (-1.0..1.0, -1.0..1.0, -1.0..1.0).prop_map(|(x, y, z)| DVec3::new(x, y, z))
    }

    fn contact() -> impl Strategy<Value = LocalProblem> {
        (vector(), vector(), vector(), vector(), 0.1..3.0).prop_map(|(a, b, c, q, mu)| {
            let root = DMat3::from_cols(a, b, c);
            let w = (root * root.transpose() + 0.1 * DMat3::IDENTITY) * 0.2;
            LocalProblem { w, q, mu }
        })
    }

    proptest! {
        /// At a distance from the kinks, where the second derivatives of f are of order 1/distance.
        #[test]
        fn the_derivative_agrees_with_central_differences(
            contact in contact(), r in vector(), direction in vector(),
        ) {
            let point = Point::new(&contact, r);
            let inside = point.root.x - tangential_length(point.root);
            prop_assume!(inside > 0.05 && tangential_length(point.u) > 0.05);
            let step = 1e-6;
            let ahead = Point::new(&contact, r + step * direction).f;
            let behind = Point::new(&contact, r - step * direction).f;
            let difference = (ahead - behind) / (2.0 * step);
            prop_assert!((point.derivative(&contact) * direction - difference).length() <= 1e-7);
        }

        /// Convergence is local only: ‖f‖ has kinks where u_T = 0, and other minima.
        #[test]
        fn newtons_method_converges_from_near_a_solution(
            contact in contact(), offset in vector(),
        ) {
            let solution = solve_contact(&contact.w, contact.q, contact.mu, DVec3::ZERO).unwrap();
            let r = refine(&contact, solution + 1e-3 * solution.length() * offset);
            let f = Point::new(&contact, r).f.length();
            prop_assert!(f <= 1e-12 * (1.0 + r.length()), "{f:e}");
        }

        #[test]
        fn the_jordan_square_of_the_root_is_its_argument(x in vector(), y in vector()) {
            let z = jordan(x, x) + jordan(y, y);
            let root = square_root(z);
            prop_assert!((jordan(root, root) - z).length() <= 1e-14);
        }
    }
}
