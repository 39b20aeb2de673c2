//! The direction in which the body is nearest. It only has to be good, nothing depends on its being exact.

use super::real::{Real, Vector};

/// The nearest point of the body, as seen from the origin.
pub(super) struct Nearest<T> {
    /// Whether it is inside the body, not on its rim.
    pub(super) is_inside: bool,
    /// Towards it.
    pub(super) direction: Vector<T>,
}

/// The point of a flat convex body that is nearest to the origin; the corners are given in order.
#[inline]
pub(super) fn nearest<T: Real, const N: usize>(corners: &[Vector<T>; N]) -> Nearest<T> {
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
    Nearest {
        is_inside,
        direction,
    }
}

/// From the origin to the nearest point of a side.
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
        // Again, because a short vector has lost its right angle, and with it one end of the side would be nearer.
        foot - side * (foot.dot(side) / square)
    }
}
