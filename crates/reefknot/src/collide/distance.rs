//! How far two features are apart, and where: a point and a triangle, or two edges.
//!
//! Both are a least-squares problem in two weights with bounds. The weights inside come from an orthogonal basis, not from the
//! normal equations, those on the border from the sides and ends; among what is found the smallest distance wins. So where
//! rounding cannot tell the regions apart (needles, edges that are nearly parallel) any choice has the right distance: it is off
//! by a few rounding errors of the size of the pair, never more. A weight is exactly 0 where a corner has no part in it, and
//! that is how the region is told.
//!
//! Only lengths and their squares are formed, so sizes from 2⁻⁴⁰⁰ to 2⁴⁰⁰ work, and to scale by a power of two scales the
//! answer exactly. Differences are formed first: a shift that rounds nothing changes nothing. Positions that are not finite,
//! or beyond that range, give a distance that is not finite.

#[cfg(test)]
mod tests;

use glam::DVec3;

use crate::mesh::nearest::{closest_in_triangle, closest_on_segment, combination};

/// Edges whose squared sine is below this are asked whether they run side by side.
const NEARLY_PARALLEL: f64 = 1e-6;

/// Side by side: nowhere along their overlap are two edges closer than in its middle, to this part of the distance.
const LEVEL: f64 = 4.0 * f64::EPSILON;

/// What the closest points of two features lie on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Region {
    /// Two corners.
    PointPoint,
    /// A corner, and the inside of an edge or side.
    PointEdge,
    /// A point, and the inside of a triangle.
    PointTriangle,
    /// The insides of two edges.
    EdgeEdge,
}

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

    /// What the closest points lie on; which corners those are, the weights that are not 0 say.
    #[must_use]
    pub fn region(&self) -> Region {
        let count = |has: fn(f64) -> bool| self.weights.iter().filter(|w| has(**w)).count();
        match (count(|weight| weight > 0.0), count(|weight| weight < 0.0)) {
            (2, 2) => Region::EdgeEdge,
            (1, 3) | (3, 1) => Region::PointTriangle,
            (1, 2) | (2, 1) => Region::PointEdge,
            _ => Region::PointPoint,
        }
    }
}

/// The closest points of a point (first) and a triangle (the other three).
#[must_use]
pub fn point_triangle([point, a, b, c]: [DVec3; 4]) -> Closest {
    let [u, v, w] = closest_in_triangle([a, b, c], point);
    // From the corner with the largest weight, so that the two differences are the shortest.
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

/// The closest points of two edges, the first two points and the last two. Of edges side by side, the middle of their overlap.
#[must_use]
pub fn edge_edge(points: [DVec3; 4]) -> Closest {
    if !points.iter().all(|point| point.is_finite()) {
        return Closest::new([1.0, 0.0, -1.0, 0.0], DVec3::NAN);
    }
    let [a, b, c, d] = points;
    let (one, other) = (b - a, d - c);
    let squares = [one.length_squared(), other.length_squared()];
    let cross = one.cross(other).length_squared();
    let is_level = cross <= NEARLY_PARALLEL * squares[0] * squares[1];
    // c + t (d − c) − a nearest to s (b − a), the longer edge first.
    let inside = if squares[0] >= squares[1] {
        combination([one, -other], c - a)
    } else {
        combination([-other, one], c - a).map(|[t, s]| [s, t])
    };
    match inside {
        Some([s, t]) if !is_level => clamped(points, s, t),
        Some([s, t]) if is_fraction(s) && is_fraction(t) => {
            level([between(points, s, t), at_ends(points)], points)
        }
        _ => level([at_ends(points); 2], points),
    }
}

fn is_fraction(number: f64) -> bool {
    number > 0.0 && number < 1.0
}

/// The closest points from those of the two lines (Ericson, Real-Time Collision Detection, 2005, section 5.1.9).
fn clamped(points: [DVec3; 4], s: f64, t: f64) -> Closest {
    if is_fraction(s) && is_fraction(t) {
        return between(points, s, t);
    }
    let [a, b, c, d] = points;
    let [_, t] = closest_on_segment([c, d], along([a, b], s.clamp(0.0, 1.0)));
    let [_, s] = closest_on_segment([a, b], along([c, d], t));
    between(points, s, t)
}

/// The better of two answers, or the middle of the overlap if that is as good.
fn level([one, other]: [Closest; 2], points: [DVec3; 4]) -> Closest {
    let best = if one.distance <= other.distance {
        one
    } else {
        other
    };
    match middle_of_overlap(points) {
        Some(middle) if middle.distance <= best.distance * (1.0 + LEVEL) => middle,
        _ => best,
    }
}

/// The point at a fraction of an edge; its ends are exact.
fn along([a, b]: [DVec3; 2], fraction: f64) -> DVec3 {
    if fraction <= 0.5 {
        a + fraction * (b - a)
    } else {
        b + (1.0 - fraction) * (a - b)
    }
}

/// The points at fractions s and t of two edges.
fn between([a, b, c, d]: [DVec3; 4], s: f64, t: f64) -> Closest {
    // From the nearer ends, so that an end itself adds no rounding.
    let (first, along_first) = if s <= 0.5 { (a, s) } else { (b, s - 1.0) };
    let (second, along_second) = if t <= 0.5 { (c, t) } else { (d, t - 1.0) };
    let vector = (first - second) + along_first * (b - a) - along_second * (d - c);
    Closest::new([1.0 - s, s, t - 1.0, -t], vector)
}

/// The closest of what has an end of one of the edges in it.
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

/// Of two edges in about one direction: the middle of what they have beside each other, if that has any length.
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
