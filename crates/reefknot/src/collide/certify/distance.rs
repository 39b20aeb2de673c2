//! The distance of two features: the smallest of all candidates, without asking which of them is the right one.
//!
//! It is the distance of the origin from the polygon of differences ([`super::polygon`]). Candidates are the nearest
//! point of each side, and the foot of the origin on the plane if it is inside. Each is a point of the polygon, so a
//! badly conditioned one (thin triangle, nearly parallel edges) can be too far but never too near.

use glam::DVec3;

use super::Kind;
use super::polygon::{PARALLELOGRAM, TRIANGLE, inverse_power};

/// Rounds for the weights of a foot.
const REFINEMENTS: usize = 2;

/// The distance of a point and a triangle, or of two edges; 0 for what is not finite.
///
/// It is off by at most 4 units in the last place of the largest difference of coordinates: below 2 in millions of
/// comparisons with exact fractions, thin triangles and edges parallel to 2^-33 included.
#[must_use]
pub fn distance(kind: Kind, points: &[DVec3; 4]) -> f64 {
    if !points.iter().all(|point| point.is_finite()) {
        return 0.0;
    }
    match kind {
        Kind::PointTriangle => from_origin(points, TRIANGLE),
        Kind::EdgeEdge => from_origin(points, PARALLELOGRAM),
    }
}

/// A distance that two finite features do not fall below by more than rounding: that of their boxes along an axis.
pub(super) fn distance_of_boxes(kind: Kind, points: &[DVec3; 4]) -> f64 {
    let [a, b, c, d] = *points;
    let [one, other] = match kind {
        Kind::PointTriangle => [[a, a], [b.min(c).min(d), b.max(c).max(d)]],
        Kind::EdgeEdge => [[a.min(b), a.max(b)], [c.min(d), c.max(d)]],
    };
    let gap = (one[0] - other[1]).max(other[0] - one[1]);
    gap.max_element()
}

/// The distance of the polygon of differences from the origin. Units are powers of two, so that squares stay in range.
fn from_origin<const CORNERS: usize>(points: &[DVec3; 4], pairs: [[usize; 2]; CORNERS]) -> f64 {
    let largest = |vectors: &[DVec3]| {
        let sizes = vectors.iter().map(|vector| vector.abs().max_element());
        sizes.fold(0.0, f64::max)
    };
    // A quarter of the inverse, and no difference overflows.
    let unit = 0.25 * inverse_power(largest(points));
    let points = points.map(|point| point * unit);
    let corners = pairs.map(|[one, other]| points[one] - points[other]);
    let second_unit = inverse_power(largest(&corners));
    let corners = corners.map(|corner| corner * second_unit);

    let side = |corner: usize| {
        let next = (corner + 1) % CORNERS;
        nearest_of_side(corners[corner], corners[next])
    };
    let candidates = (0..CORNERS).map(side).chain(foot(&corners));
    let squares = candidates.map(DVec3::length_squared);
    squares.fold(f64::INFINITY, f64::min).sqrt() / second_unit / unit
}

/// The point of a segment that is nearest to the origin.
fn nearest_of_side(start: DVec3, end: DVec3) -> DVec3 {
    let along = end - start;
    let fraction = -start.dot(along) / along.length_squared();
    // From the nearer end; a side without length gives no number, and its start.
    match fraction {
        _ if fraction >= 1.0 => end,
        _ if fraction > 0.5 => end - (1.0 - fraction) * along,
        _ if fraction > 0.0 => start + fraction * along,
        _ => start,
    }
}

/// The foot of the origin on the plane of the polygon, if inside.
fn foot<const CORNERS: usize>(corners: &[DVec3; CORNERS]) -> Option<DVec3> {
    let base = corners[0];
    let (one, other) = (corners[1] - base, corners[CORNERS - 1] - base);
    let normal = one.cross(other);
    let over = normal / normal.length_squared();
    let (mut first, mut second, mut point) = (0.0, 0.0, base);
    // Weights of nearly parallel sides are badly known; each round takes away most of what the last left.
    for _ in 0..REFINEMENTS {
        first -= point.cross(other).dot(over);
        second -= one.cross(point).dot(over);
        point = base + first * one + second * other;
    }
    let is_inside = first >= 0.0
        && second >= 0.0
        && match CORNERS {
            3 => first + second <= 1.0,
            _ => first <= 1.0 && second <= 1.0,
        };
    is_inside.then_some(point)
}

#[cfg(test)]
mod tests;
