//! Signed distance of points, edges and triangles from a convex exact shape, in the frame of the
//! shape.
//!
//! The signed distance φ of a convex set is convex and changes by no more than the displacement. So
//! its minimum over an edge is found by bisection of the slope, and a tangent plane is a lower
//! bound: φ(y) ≥ φ(x) + g·(y − x), whose minimum over a feature is at a corner. Every result has
//! that bound. Over a triangle the minimum is on a side, or, outside of the shape, at the support
//! point of the shape along the normal of the triangle. Where a triangle cuts into the shape
//! neither may hold, and a search finds the minimum.
//!
//! The whole feature is tested, so a coarse triangle does not sink onto a small ball between its
//! corners.

#[cfg(test)]
mod tests;

use glam::{DVec2, DVec3};

use super::distance::{point_edge, point_triangle};
use crate::generate::shape::Shape;

/// A slope below this counts as zero.
const LEVEL_SLOPE: f64 = 1e-12;

/// Steps of the search on an edge; every second one is a bisection, so less than 2⁻⁵⁰ remains.
const MAX_EDGE_STEPS: usize = 104;

/// Steps of the search in a triangle: 0.618⁶⁴ = 10⁻¹³ of its width remains.
const TRIANGLE_STEPS: usize = 64;

/// The inverse of the golden ratio.
const INVERSE_GOLDEN_RATIO: f64 = 0.618_033_988_749_894_9;

/// Steps of conservative advancement.
const MAX_ADVANCES: usize = 100;

/// Signed distance of a point (m), negative inside, and its gradient, a unit vector.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SignedDistance {
    /// The distance.
    pub distance: f64,
    /// The gradient; one of several where the distance is not smooth, as on the axis of a cylinder.
    pub gradient: DVec3,
}

/// The closest or deepest point of a feature relative to a shape.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShapeDistance {
    /// Weights of the corners, as many as the feature has; the others are 0.
    pub weights: [f64; 3],
    /// Distance and normal there.
    pub signed: SignedDistance,
    /// Lower bound for the distance of all points of the feature (m).
    pub bound: f64,
}

/// Signed distance of a point and its gradient; None for shapes without an exact distance, or a
/// point that is not finite.
#[must_use]
pub fn signed_distance(shape: &Shape, point: DVec3) -> Option<SignedDistance> {
    // The most common shapes first, for speed.
    match *shape {
        Shape::Plane { .. } if point.is_finite() => {
            return Some(SignedDistance {
                distance: point.z,
                gradient: DVec3::Z,
            });
        }
        Shape::Sphere { radius } if point.is_finite() => {
            let length = point.length();
            return Some(SignedDistance {
                distance: length - radius,
                gradient: if length > 0.0 {
                    point / length
                } else {
                    DVec3::Z
                },
            });
        }
        _ => {}
    }
    let distance = shape.distance(point)?;
    // Shapes of revolution about z are treated in the half plane of radius and height.
    let outwards = DVec2::new(point.x, point.y).try_normalize();
    let outwards = outwards.unwrap_or(DVec2::X).extend(0.0);
    let across = DVec2::new(point.truncate().length(), point.z);
    let turned = |gradient: DVec2| outwards * gradient.x + DVec3::Z * gradient.y;
    let gradient = match *shape {
        Shape::Box { size } => box_gradient(point, 0.5 * DVec3::from(size)),
        Shape::Sphere { .. } => point.try_normalize().unwrap_or(DVec3::Z),
        Shape::Cylinder { radius, length } => {
            let half = DVec3::new(radius, 0.5 * length, 1.0);
            turned(box_gradient(across.extend(0.0), half).truncate())
        }
        Shape::Capsule { length, .. } => {
            let half = (0.5 * length).max(0.0);
            let from_core = point - DVec3::Z * point.z.clamp(-half, half);
            from_core.try_normalize().unwrap_or(DVec3::X)
        }
        Shape::Plane { .. } => DVec3::Z,
        Shape::Cone { radius, height } => turned(cone_gradient(across, radius, height)),
        Shape::Funnel { .. } | Shape::Stairs { .. } | Shape::Nail { .. } => return None,
    };
    (distance.is_finite() && gradient.is_finite()).then_some(SignedDistance { distance, gradient })
}

/// Away from the nearest point of a box with these half sides; inside, through the nearest face.
fn box_gradient(point: DVec3, half: DVec3) -> DVec3 {
    let beyond = point.abs() - half;
    let outside = beyond.max(DVec3::ZERO).try_normalize();
    let unsigned = outside.unwrap_or_else(|| DVec3::AXES[beyond.max_position()]);
    unsigned * DVec3::ONE.copysign(point)
}

/// Away from the nearest point of a cone on z = 0, by radius and height.
fn cone_gradient(point: DVec2, radius: f64, height: f64) -> DVec2 {
    let rim = DVec2::new(radius, 0.0);
    let slope = DVec2::new(-radius, height);
    let side = DVec2::new(height, radius).normalize_or_zero();
    let (above_side, below_base) = (side.dot(point - rim), -point.y);
    if above_side <= 0.0 && below_base <= 0.0 {
        return if above_side >= below_base {
            side
        } else {
            -DVec2::Y
        };
    }
    let along = ((point - rim).dot(slope) / slope.length_squared()).clamp(0.0, 1.0);
    let on_side = rim + along * slope;
    let on_base = DVec2::new(point.x.min(radius), 0.0);
    let (from_side, from_base) = (point - on_side, point - on_base);
    let away = if from_side.length_squared() < from_base.length_squared() {
        from_side
    } else {
        from_base
    };
    away.try_normalize().unwrap_or(side)
}

/// The support point of a shape in a direction, the middle if there are several; None for shapes
/// without one.
fn support(shape: &Shape, direction: DVec3) -> Option<DVec3> {
    let sign = |x: f64| {
        if x.abs() <= LEVEL_SLOPE {
            0.0
        } else {
            x.signum()
        }
    };
    let outwards = DVec2::new(direction.x, direction.y);
    let outwards = if outwards.length() <= LEVEL_SLOPE {
        DVec3::ZERO
    } else {
        outwards.normalize().extend(0.0)
    };
    match *shape {
        Shape::Box { size } => Some(0.5 * DVec3::from(size) * direction.map(sign)),
        Shape::Sphere { radius } => Some(radius * direction),
        Shape::Cylinder { radius, length } => {
            Some(radius * outwards + DVec3::Z * (0.5 * length * sign(direction.z)))
        }
        Shape::Capsule { radius, length } => {
            Some(radius * direction + DVec3::Z * (0.5 * length.max(0.0) * sign(direction.z)))
        }
        Shape::Cone { radius, height } => {
            let (rim, apex) = (radius * outwards, DVec3::Z * height);
            let is_apex = apex.dot(direction) > rim.dot(direction);
            Some(if is_apex { apex } else { rim })
        }
        _ => None,
    }
}

/// The closest point of a feature with one to three corners to the shape; None for shapes without
/// an exact distance, or corners that are not finite.
///
/// Of several closest points, the middle of those on an edge; corners before sides before the
/// interior.
#[must_use]
pub fn closest(shape: &Shape, corners: &[DVec3]) -> Option<ShapeDistance> {
    match *corners {
        [point] => Some(with_tangent_bound(
            corners,
            [1.0, 0.0, 0.0],
            signed_distance(shape, point)?,
        )),
        [_, ..] if matches!(shape, Shape::Sphere { .. } | Shape::Plane { .. }) => {
            closest_to_sphere_or_plane(shape, corners)
        }
        [a, b] => on_edge(shape, [a, b]),
        [a, b, c] => in_triangle(shape, [a, b, c]),
        _ => None,
    }
}

/// The same for a ball, whose centre determines the closest point, and for a plane, to which a
/// corner is closest.
fn closest_to_sphere_or_plane(shape: &Shape, corners: &[DVec3]) -> Option<ShapeDistance> {
    let [a, b] = [corners[0], corners[1]];
    let weights = match (shape, corners) {
        (Shape::Sphere { .. }, [_, _]) => {
            let [_, w, v, _] = point_edge([DVec3::ZERO, a, b]).weights;
            [-w, -v, 0.0]
        }
        (Shape::Sphere { .. }, _) => {
            let [_, w, v, u] = point_triangle([DVec3::ZERO, a, b, corners[2]]).weights;
            [-w, -v, -u]
        }
        (_, [_, _]) if a.z == b.z => [0.5, 0.5, 0.0],
        _ => {
            let heights = corners.iter().enumerate();
            let lowest = heights.min_by(|one, other| one.1.z.total_cmp(&other.1.z));
            let mut weights = [0.0; 3];
            weights[lowest?.0] = 1.0;
            weights
        }
    };
    let at: DVec3 = corners.iter().zip(weights).map(|(c, w)| *c * w).sum();
    let signed = signed_distance(shape, at)?;
    let mut nearest = with_tangent_bound(corners, weights, signed);
    let size = corners.iter().map(|corner| corner.abs().max_element());
    let rounding = 16.0 * f64::EPSILON * size.fold(0.0, f64::max);
    nearest.bound = nearest.bound.max(signed.distance - rounding);
    Some(nearest)
}

/// Adds the lower bound of the tangent plane.
fn with_tangent_bound(
    corners: &[DVec3],
    weights: [f64; 3],
    signed: SignedDistance,
) -> ShapeDistance {
    let at: DVec3 = corners.iter().zip(weights).map(|(c, w)| *c * w).sum();
    let descent = corners
        .iter()
        .map(|corner| signed.gradient.dot(*corner - at))
        .fold(0.0, f64::min);
    ShapeDistance {
        weights,
        signed,
        bound: signed.distance + descent,
    }
}

/// The closest point of an edge.
fn on_edge(shape: &Shape, [a, b]: [DVec3; 2]) -> Option<ShapeDistance> {
    let along = (b - a).normalize_or_zero();
    let at = |fraction: f64| signed_distance(shape, a.lerp(b, fraction));
    let [start, end] = [signed_distance(shape, a)?, signed_distance(shape, b)?];
    let (first, last) = (start.gradient.dot(along), end.gradient.dot(along));
    let fraction = if first > LEVEL_SLOPE {
        0.0
    } else if last < -LEVEL_SLOPE {
        1.0
    } else {
        let slope = |fraction: f64| Some(at(fraction)?.gradient.dot(along));
        let from = if first < -LEVEL_SLOPE {
            crossing(slope, [first, last], -LEVEL_SLOPE)?
        } else {
            0.0
        };
        let to = if last > LEVEL_SLOPE {
            crossing(slope, [first, last], LEVEL_SLOPE)?
        } else {
            1.0
        };
        0.5 * (from + to)
    };
    let mut best = (fraction, at(fraction)?);
    for end in [(1.0, end), (0.0, start)] {
        if end.1.distance <= best.1.distance {
            best = end;
        }
    }
    let (fraction, signed) = best;
    let mut nearest = with_tangent_bound(&[a, b], [1.0 - fraction, fraction, 0.0], signed);
    // Between the two slopes the distance is level, beyond them it grows.
    let spread = (LEVEL_SLOPE + 4.0 * f64::EPSILON) * a.distance(b);
    nearest.bound = nearest.bound.max(signed.distance - spread);
    Some(nearest)
}

/// The position in [0, 1] at which an increasing slope reaches a level between those of the ends:
/// false position and bisection alternately.
fn crossing(slope: impl Fn(f64) -> Option<f64>, ends: [f64; 2], level: f64) -> Option<f64> {
    let ([mut low, mut high], [mut below, mut above]) = ([0.0, 1.0], ends.map(|end| end - level));
    for step in 0..MAX_EDGE_STEPS {
        if high - low <= 2.0 * f64::EPSILON {
            break;
        }
        let guess = low - below * (high - low) / (above - below);
        let is_guess = step % 2 == 0 && guess > low && guess < high;
        let middle = if is_guess { guess } else { 0.5 * (low + high) };
        let found = slope(middle)? - level;
        if found < 0.0 {
            (low, below) = (middle, found);
        } else {
            (high, above) = (middle, found);
        }
    }
    Some(0.5 * (low + high))
}

/// The closest point of a triangle.
fn in_triangle(shape: &Shape, corners: [DVec3; 3]) -> Option<ShapeDistance> {
    let [a, b, c] = corners;
    let mut best: Option<ShapeDistance> = None;
    for (ends, side) in [([0, 1], [a, b]), ([1, 2], [b, c]), ([2, 0], [c, a])] {
        let found = on_edge(shape, side)?;
        let mut weights = [0.0; 3];
        weights[ends[0]] = found.weights[0];
        weights[ends[1]] = found.weights[1];
        let found = with_tangent_bound(&corners, weights, found.signed);
        if best.is_none_or(|best| found.signed.distance < best.signed.distance) {
            best = Some(found);
        }
    }
    let best = best?;
    let size = a.distance(b).max(b.distance(c)).max(c.distance(a));
    let is_sure = |nearest: &ShapeDistance| {
        nearest.bound >= nearest.signed.distance - 4.0 * LEVEL_SLOPE * size
    };
    if is_sure(&best) {
        return Some(best);
    }
    let touched = closest_by_support(shape, corners).filter(is_sure);
    touched.or_else(|| golden_section_search(shape, corners, best))
}

/// The closest point of the plane of a triangle outside of the shape, if it is inside the triangle.
fn closest_by_support(shape: &Shape, corners: [DVec3; 3]) -> Option<ShapeDistance> {
    let [a, b, c] = corners;
    let normal = (b - a).cross(c - a).try_normalize()?;
    let mut best: Option<ShapeDistance> = None;
    for direction in [normal, -normal] {
        let farthest = support(shape, direction)?;
        let weights = crate::mesh::nearest::closest_in_triangle(corners, farthest);
        let at = a * weights[0] + b * weights[1] + c * weights[2];
        let found = with_tangent_bound(&corners, weights, signed_distance(shape, at)?);
        if best.is_none_or(|best| found.signed.distance < best.signed.distance) {
            best = Some(found);
        }
    }
    best
}

/// The smallest distance of the segments parallel to a side, by golden sections: it is a convex
/// function.
fn golden_section_search(
    shape: &Shape,
    corners: [DVec3; 3],
    border: ShapeDistance,
) -> Option<ShapeDistance> {
    let [a, b, c] = corners;
    let on_line = |fraction: f64| -> Option<ShapeDistance> {
        let found = on_edge(shape, [a.lerp(b, fraction), a.lerp(c, fraction)])?;
        let [u, v, _] = found.weights;
        let weights = [1.0 - fraction, fraction * u, fraction * v];
        Some(with_tangent_bound(&corners, weights, found.signed))
    };
    let (mut low, mut high) = (0.0, 1.0);
    let mut inner = [1.0 - INVERSE_GOLDEN_RATIO, INVERSE_GOLDEN_RATIO];
    let mut found = [on_line(inner[0])?, on_line(inner[1])?];
    let mut best = border;
    for _ in 0..TRIANGLE_STEPS {
        for found in found {
            best.bound = best.bound.max(found.bound);
            if found.signed.distance < best.signed.distance {
                best.signed = found.signed;
                best.weights = found.weights;
            }
        }
        if found[0].signed.distance <= found[1].signed.distance {
            high = inner[1];
            inner = [high - INVERSE_GOLDEN_RATIO * (high - low), inner[0]];
            found = [on_line(inner[0])?, found[0]];
        } else {
            low = inner[0];
            inner = [inner[1], low + INVERSE_GOLDEN_RATIO * (high - low)];
            found = [found[1], on_line(inner[1])?];
        }
    }
    best.bound = best.bound.min(best.signed.distance);
    Some(best)
}

/// A time in [0, 1], not later than the first at which a feature that moves linearly from `from` to
/// `to`, in the frame of the shape, is within `separation` of it (m); None if it never is.
///
/// Conservative advancement: at the closest point a plane separates the feature from the shape, and
/// the feature is clear until its first corner reaches that plane. A feature that comes within
/// `separation + tolerance` counts as an impact. A feature that is not finite has an impact at time
/// 0, and one that grazes the shape at the time after a bounded number of steps.
#[must_use]
pub fn first_contact(
    shape: &Shape,
    from: &[DVec3],
    to: &[DVec3],
    separation: f64,
    tolerance: f64,
) -> Option<f64> {
    let count = from.len().min(to.len()).min(3);
    let (from, to) = (&from[..count], &to[..count]);
    let coordinates = from
        .iter()
        .chain(to)
        .map(|corner| corner.abs().max_element());
    let rounding = 16.0 * f64::EPSILON * coordinates.fold(0.0, f64::max);
    let mut corners = [DVec3::ZERO; 3];
    let mut time = 0.0;
    for _ in 0..MAX_ADVANCES {
        for (corner, (from, to)) in corners.iter_mut().zip(from.iter().zip(to)) {
            *corner = from.lerp(*to, time);
        }
        let Some(nearest) = closest(shape, &corners[..count]) else {
            return Some(time);
        };
        let is_apart = nearest.bound > separation + tolerance.max(rounding);
        if !is_apart {
            return Some(time);
        }
        let normal = nearest.signed.gradient;
        let at: DVec3 = corners
            .iter()
            .zip(nearest.weights)
            .map(|(c, w)| *c * w)
            .sum();
        let plane = normal.dot(at) - nearest.signed.distance + separation + rounding;
        let time_to_plane = |(corner, (from, to)): (&DVec3, (&DVec3, &DVec3))| {
            let approach = normal.dot(*from - *to);
            let height = normal.dot(*corner) - plane;
            if approach > 0.0 {
                height.max(0.0) / approach
            } else {
                f64::INFINITY
            }
        };
        let moving = corners.iter().zip(from.iter().zip(to));
        time += moving.map(time_to_plane).fold(f64::INFINITY, f64::min);
        if time > 1.0 {
            return None;
        }
    }
    Some(time)
}
