//! The distance of two features as the minimum over all candidates, without a choice of region.
//!
//! It is the distance of the origin from the polygon of differences ([`super::polygon`]).
//! Candidates are the nearest point of each side, and the foot of the perpendicular from the origin
//! on the plane if it is inside. Each is a point of the polygon, so an ill-conditioned one (thin
//! triangle, nearly parallel edges) can be too far but never too near.

use glam::DVec3;

use super::PairKind;
use super::polygon::{PARALLELOGRAM, TRIANGLE, inverse_power};

/// Refinements of the weights of a foot.
const REFINEMENTS: usize = 2;

/// The distance of a point and a triangle, or of two edges (m); 0 if a position is not finite.
///
/// Its error is at most 4 ulp of the largest difference of coordinates, and below 2 in millions of
/// comparisons with exact fractions, including thin triangles and edges parallel to 2^-33.
#[must_use]
pub fn distance(kind: PairKind, points: &[DVec3; 4]) -> f64 {
    if !points.iter().all(|point| point.is_finite()) {
        return 0.0;
    }
    match kind {
        PairKind::PointTriangle => from_origin(points, TRIANGLE),
        PairKind::EdgeEdge => from_origin(points, PARALLELOGRAM),
    }
}

/// A lower bound, up to rounding, for the distance of two finite features: the largest distance of
/// their boxes along an axis.
pub(super) fn distance_of_boxes(kind: PairKind, points: &[DVec3; 4]) -> f64 {
    let [a, b, c, d] = *points;
    let [one, other] = match kind {
        PairKind::PointTriangle => [[a, a], [b.min(c).min(d), b.max(c).max(d)]],
        PairKind::EdgeEdge => [[a.min(b), a.max(b)], [c.min(d), c.max(d)]],
    };
    let gap = (one[0] - other[1]).max(other[0] - one[1]);
    gap.max_element()
}

/// The distance of the polygon of differences from the origin. Coordinates are scaled by powers of
/// two, so that squares stay in range.
fn from_origin<const CORNERS: usize>(points: &[DVec3; 4], pairs: [[usize; 2]; CORNERS]) -> f64 {
    let largest = |vectors: &[DVec3]| {
        let sizes = vectors.iter().map(|vector| vector.abs().max_element());
        sizes.fold(0.0, f64::max)
    };
    // A quarter of the inverse: no difference overflows.
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

/// The nearest point of a segment to the origin.
fn nearest_of_side(start: DVec3, end: DVec3) -> DVec3 {
    let along = end - start;
    let fraction = -start.dot(along) / along.length_squared();
    // Relative to the nearer end. The fraction is NaN for a side of length zero: its start.
    match fraction {
        _ if fraction >= 1.0 => end,
        _ if fraction > 0.5 => end - (1.0 - fraction) * along,
        _ if fraction > 0.0 => start + fraction * along,
        _ => start,
    }
}

/// The foot of the perpendicular from the origin on the plane of the polygon, if inside.
fn foot<const CORNERS: usize>(corners: &[DVec3; CORNERS]) -> Option<DVec3> {
    let base = corners[0];
    let (one, other) = (corners[1] - base, corners[CORNERS - 1] - base);
    let normal = one.cross(other);
    let over = normal / normal.length_squared();
    let (mut first, mut second, mut point) = (0.0, 0.0, base);
    // The weights are inaccurate for nearly parallel sides; each round removes most of the error of
    // the last.
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
