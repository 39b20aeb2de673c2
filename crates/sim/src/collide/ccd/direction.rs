//! The direction to the nearest point of the body. Correctness does not depend on its accuracy.

use super::real::{Real, Vector};

/// The nearest point of the body to the origin.
pub(super) struct NearestPoint<T> {
    /// Whether it is in the interior of the body.
    pub(super) is_inside: bool,
    /// Direction from the origin to it.
    pub(super) direction: Vector<T>,
}

/// The nearest point of a flat convex body to the origin; corners are in cyclic order.
#[inline]
pub(super) fn nearest<T: Real, const N: usize>(corners: &[Vector<T>; N]) -> NearestPoint<T> {
    let zero = T::of(0.0);
    let normal = (corners[1] - corners[0]).cross(corners[2] - corners[0]);
    let mut is_inside = true;
    let mut least = T::of(f64::INFINITY);
    let mut direction = Vector([zero; 3]);
    for corner in 0..N {
        let (here, next) = (corners[corner], corners[(corner + 1) % N]);
        let side = next - here;
        is_inside &= side.cross(normal).dot(here) > zero;
        let to_side = perpendicular(here, next, side);
        let square = to_side.dot(to_side);
        if square < least {
            least = square;
            direction = to_side;
        }
    }
    if is_inside {
        let sign = if normal.dot(corners[0]) < zero {
            -1.0
        } else {
            1.0
        };
        direction = normal * T::of(sign);
    }
    NearestPoint {
        is_inside,
        direction,
    }
}

/// Vector from the origin to the nearest point of a side.
#[inline]
fn perpendicular<T: Real>(here: Vector<T>, next: Vector<T>, side: Vector<T>) -> Vector<T> {
    let along = -here.dot(side);
    let square = side.dot(side);
    if along <= T::of(0.0) {
        here
    } else if along >= square {
        next
    } else {
        let foot = here + side * (along / square);
        // Again, because rounding spoils the right angle of a short vector, and an end of the side
        // would then be nearer.
        foot - side * (foot.dot(side) / square)
    }
}
