//! Distance and closest points of two features: a point and a triangle, or two edges.
//!
//! Both are least-squares problems in two bounded weights. Weights of the interior come from an
//! orthogonal basis instead of the normal equations, weights of the boundary from the sides and
//! ends; the smallest distance is returned. So where rounding hides the region (needles, nearly
//! parallel edges), every choice has the right distance: its error is a few roundings of the size
//! of the pair. A weight is exactly 0 if the closest point does not depend on that corner; the
//! weights determine the region.
//!
//! Only lengths and their squares are computed. So sizes from 2⁻⁴⁰⁰ to 2⁴⁰⁰ work, and scaling by a
//! power of two scales the result exactly. Differences are computed first: a translation without
//! rounding changes nothing. Positions that are not finite, or beyond that range, have a distance
//! that is not finite.

#[cfg(test)]
mod tests;

use glam::DVec3;

use crate::mesh::nearest::{closest_in_triangle, closest_on_segment, nearest_combination};

/// Edges with a squared sine below this may be parallel.
const MAX_PARALLEL_SINE_SQUARED: f64 = 1e-6;

/// Edges are parallel if the distance at the middle of their overlap exceeds the smallest distance
/// by at most this fraction.
const PARALLEL_TOLERANCE: f64 = 4.0 * f64::EPSILON;

/// The closest points of two features.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Closest {
    /// Weights of the four points: those of the first feature sum to 1, those of the second to −1.
    pub weights: [f64; 4],
    /// From the closest point of the second feature to that of the first (m).
    pub vector: DVec3,
    /// Its length (m).
    pub distance: f64,
}

impl Closest {
    fn new(weights: [f64; 4], vector: DVec3) -> Closest {
        Closest {
            weights,
            vector,
            distance: vector.length(),
        }
    }
}

/// The closest points of a point (first) and a triangle (the other three).
#[must_use]
pub fn point_triangle([point, a, b, c]: [DVec3; 4]) -> Closest {
    let [u, v, w] = closest_in_triangle([a, b, c], point);
    // Relative to the corner with the largest weight, so that the differences are short.
    let vector = if u >= v && u >= w {
        (point - a) - v * (b - a) - w * (c - a)
    } else if v >= w {
        (point - b) - w * (c - b) - u * (a - b)
    } else {
        (point - c) - u * (a - c) - v * (b - c)
    };
    Closest::new([1.0, -u, -v, -w], vector)
}

/// The closest points of a point (first) and an edge (the next two); the fourth weight is 0.
#[must_use]
pub fn point_edge([point, a, b]: [DVec3; 3]) -> Closest {
    let [u, v] = closest_on_segment([a, b], point);
    let vector = if u >= v {
        (point - a) - v * (b - a)
    } else {
        (point - b) - u * (a - b)
    };
    Closest::new([1.0, -u, -v, 0.0], vector)
}

/// The closest points of two edges, the first two points and the last two. For parallel edges, the
/// middle of their overlap.
#[must_use]
pub fn edge_edge(points: [DVec3; 4]) -> Closest {
    if !points.iter().all(|point| point.is_finite()) {
        return Closest::new([1.0, 0.0, -1.0, 0.0], DVec3::NAN);
    }
    let [a, b, c, d] = points;
    let (one, other) = (b - a, d - c);
    let squares = [one.length_squared(), other.length_squared()];
    let cross = one.cross(other).length_squared();
    let is_nearly_parallel = cross <= MAX_PARALLEL_SINE_SQUARED * squares[0] * squares[1];
    // c + t (d − c) − a nearest to s (b − a), with the longer edge first.
    let inside = if squares[0] >= squares[1] {
        nearest_combination([one, -other], c - a)
    } else {
        nearest_combination([-other, one], c - a).map(|[t, s]| [s, t])
    };
    match inside {
        Some([s, t]) if !is_nearly_parallel => clamped(points, s, t),
        Some([s, t]) if is_fraction(s) && is_fraction(t) => {
            prefer_overlap_middle([between(points, s, t), at_ends(points)], points)
        }
        _ => prefer_overlap_middle([at_ends(points); 2], points),
    }
}

fn is_fraction(number: f64) -> bool {
    number > 0.0 && number < 1.0
}

/// The closest points of two edges from those of their lines (Ericson, Real-Time Collision
/// Detection, 2005, section 5.1.9).
fn clamped(points: [DVec3; 4], s: f64, t: f64) -> Closest {
    if is_fraction(s) && is_fraction(t) {
        return between(points, s, t);
    }
    let [a, b, c, d] = points;
    let [_, t] = closest_on_segment([c, d], along([a, b], s.clamp(0.0, 1.0)));
    let [_, s] = closest_on_segment([a, b], along([c, d], t));
    between(points, s, t)
}

/// The closer of two candidates, or the middle of the overlap if it is as close.
fn prefer_overlap_middle([one, other]: [Closest; 2], points: [DVec3; 4]) -> Closest {
    let best = if one.distance <= other.distance {
        one
    } else {
        other
    };
    match middle_of_overlap(points) {
        Some(middle) if middle.distance <= best.distance * (1.0 + PARALLEL_TOLERANCE) => middle,
        _ => best,
    }
}

/// The point at a fraction of an edge; exact at the ends.
fn along([a, b]: [DVec3; 2], fraction: f64) -> DVec3 {
    if fraction <= 0.5 {
        a + fraction * (b - a)
    } else {
        b + (1.0 - fraction) * (a - b)
    }
}

/// The points at fractions s and t of two edges.
fn between([a, b, c, d]: [DVec3; 4], s: f64, t: f64) -> Closest {
    // Relative to the nearer ends, so that an end itself adds no rounding.
    let (first, along_first) = if s <= 0.5 { (a, s) } else { (b, s - 1.0) };
    let (second, along_second) = if t <= 0.5 { (c, t) } else { (d, t - 1.0) };
    let vector = (first - second) + along_first * (b - a) - along_second * (d - c);
    Closest::new([1.0 - s, s, t - 1.0, -t], vector)
}

/// The closest points with an end of one of the edges.
fn at_ends([a, b, c, d]: [DVec3; 4]) -> Closest {
    let first = |point: DVec3, weights: [f64; 2]| {
        let to = point_edge([point, c, d]);
        Closest::new(
            [weights[0], weights[1], to.weights[1], to.weights[2]],
            to.vector,
        )
    };
    let second = |point: DVec3, weights: [f64; 2]| {
        let to = point_edge([point, a, b]);
        Closest::new(
            [-to.weights[1], -to.weights[2], -weights[0], -weights[1]],
            -to.vector,
        )
    };
    let mut best = first(a, [1.0, 0.0]);
    for other in [
        first(b, [0.0, 1.0]),
        second(c, [1.0, 0.0]),
        second(d, [0.0, 1.0]),
    ] {
        if other.distance < best.distance {
            best = other;
        }
    }
    best
}

/// The middle of the overlap of two edges of about the same direction, if the overlap has a length.
fn middle_of_overlap(points: [DVec3; 4]) -> Option<Closest> {
    let [a, b, c, d] = points;
    let along = b - a;
    let at = |point: DVec3| (point - a).dot(along) / along.length_squared();
    let (from, to) = (at(c), at(d));
    let (low, high) = (from.min(to).max(0.0), from.max(to).min(1.0));
    let s = 0.5 * (low + high);
    let [_, t] = closest_on_segment([c, d], a + s * along);
    (low < high && t > 0.0 && t < 1.0).then(|| between(points, s, t))
}
