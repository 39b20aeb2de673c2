//! The times at which the plane of the body contains the origin: zeros of a cubic.

use super::real::{Real, UNIT_ROUNDOFF, Vector};
use super::{DifferenceBody, UNDERFLOW};

/// The volume that the origin spans with the body, d₀ · (e × f) with the corner d₀ and the sides e
/// and f from it: a cubic in time in Bernstein form.
pub(super) struct CoplanarityCubic<T> {
    values: [T; 4],
    /// Bounds the error of a value of the cubic between start and end.
    error: T,
    /// The error, plus the separation times the largest area: values above it are certified.
    margin: T,
    /// Bounds the area of e × f from above.
    area: f64,
}

impl<T: Real> CoplanarityCubic<T> {
    pub(super) fn new<const N: usize>(body: &DifferenceBody<T, N>, separation: f64) -> Self {
        let d = body.corners.map(|corners| corners[0]);
        let e = body.sides.map(|sides| sides[0]);
        let f = body.sides.map(|sides| sides[1]);
        let largest = |vectors: [Vector<T>; 2], norm: fn(glam::DVec3) -> f64| {
            norm(vectors[0].rounded()).max(norm(vectors[1].rounded()))
        };
        let sum = |vector: glam::DVec3| vector.abs().element_sum();
        // 12 roundings for the coefficients, 9 for a value. A scalar product has 4 and twice that
        // as its bound.
        let error =
            4.0 * T::ERROR * largest(d, sum) * largest(e, sum) * largest(f, sum) + UNDERFLOW;
        let normals = normals(e, f);
        // The largest coefficient bounds the area; the middle one is stored twice as large.
        let [start, twice, end] = normals.map(|normal| normal.rounded().length());
        let area = start.max(0.5 * twice).max(end) * (1.0 + 16.0 * UNIT_ROUNDOFF);
        let area = area + 4.0 * T::ERROR * largest(e, sum) * largest(f, sum) + UNDERFLOW;
        let margin = error + separation * area;
        CoplanarityCubic {
            values: coefficients(d, normals),
            error: T::of(error),
            margin: T::of(margin),
            area,
        }
    }

    /// Certain distance of the plane from the origin at all times, minus the separation (m); not
    /// positive if unknown.
    pub(super) fn slack(&self) -> f64 {
        let sign = if self.values[0] < T::of(0.0) {
            -1.0
        } else {
            1.0
        };
        let heights = self
            .values
            .map(|value| (value * T::of(sign) - self.margin).rounded());
        let is_clear = heights.iter().all(|height| *height > 0.0);
        if is_clear {
            heights.into_iter().fold(f64::INFINITY, f64::min) / self.area
        } else {
            0.0
        }
    }

    /// Bernstein coefficients for a time interval, by blossoming.
    fn between(&self, from: T, to: T) -> [T; 4] {
        let [a, b, c, d] = self.values;
        let mix = |x: T, y: T, time: T| x + (y - x) * time;
        let [p, q, r] = [mix(a, b, from), mix(b, c, from), mix(c, d, from)];
        let [s, t] = [mix(p, q, from), mix(q, r, from)];
        let [u, v, w] = [mix(a, b, to), mix(b, c, to), mix(c, d, to)];
        let [x, y] = [mix(u, v, to), mix(v, w, to)];
        [
            mix(s, t, from),
            mix(s, t, to),
            mix(x, y, from),
            mix(x, y, to),
        ]
    }

    /// A time, not before the given one, until which the plane is clear of the origin.
    ///
    /// The graph of the cubic is in the hull of its coefficients, and clear until the hull reaches
    /// zero (Bézier clipping: it converges quadratically to a simple zero, and never passes it).
    pub(super) fn clear_from(&self, mut time: T) -> T {
        let (zero, one) = (T::of(0.0), T::of(1.0));
        for _ in 0..4 {
            let values = self.between(time, one);
            let sign = if values[0] < zero { -1.0 } else { 1.0 };
            let heights = values.map(|value| value * T::of(sign) - self.margin);
            let is_clear = heights[0] > zero;
            if !is_clear {
                return time;
            }
            let Some(clear) = first_hull_zero(&heights) else {
                return one;
            };
            let next = time + (one - time) * clear;
            let next = next - T::of(T::ERROR * next.rounded());
            let advances = next > time;
            if !advances {
                return time;
            }
            time = next;
        }
        time
    }

    /// Proves that the body contains the origin near the given time: the origin changes its side of
    /// the plane, and the line through the origin along the normal stays inside the body.
    pub(super) fn is_crossed<const N: usize>(&self, body: &DifferenceBody<T, N>, time: T) -> bool {
        let (zero, one) = (T::of(0.0), T::of(1.0));
        [1e-9, 1e-6].iter().any(|&width| {
            let (from, to) = (time - T::of(width), time + T::of(width));
            let from = if from > zero { from } else { zero };
            let to = if to < one { to } else { one };
            let [before, _, _, after] = self.between(from, to);
            let changes_sign = (before > self.error && -after > self.error)
                || (-before > self.error && after > self.error);
            changes_sign && contains_origin_line(body, from, to)
        })
    }
}

/// Bernstein coefficients of e × f, both linear in time; the middle one times two.
fn normals<T: Real>(e: [Vector<T>; 2], f: [Vector<T>; 2]) -> [Vector<T>; 3] {
    [
        e[0].cross(f[0]),
        e[0].cross(f[1]) + e[1].cross(f[0]),
        e[1].cross(f[1]),
    ]
}

/// Bernstein coefficients of d · (e × f), d linear in time.
fn coefficients<T: Real>(d: [Vector<T>; 2], normals: [Vector<T>; 3]) -> [T; 4] {
    let three = T::of(3.0);
    [
        d[0].dot(normals[0]),
        (d[1].dot(normals[0]) + d[0].dot(normals[1])) / three,
        (d[1].dot(normals[1]) + d[0].dot(normals[2])) / three,
        d[1].dot(normals[2]),
    ]
}

/// The first position in [0, 1] at which the hull of the points (k/3, height k) reaches zero, if
/// any.
fn first_hull_zero<T: Real>(heights: &[T; 4]) -> Option<T> {
    let is_above = heights.map(|height| height > T::of(0.0));
    let mut first = None;
    for low in 1..4 {
        for high in 0..low {
            if is_above[high] && !is_above[low] {
                let along = heights[high] / (heights[high] - heights[low]);
                let steps = T::of(high as f64) + T::of((low - high) as f64) * along;
                let position = steps / T::of(3.0);
                if first.is_none_or(|first| position < first) {
                    first = Some(position);
                }
            }
        }
    }
    first
}

/// Whether the line through the origin along the normal at the first time is inside the body from
/// the first time to the second: the triangles that it spans with the sides of the body have
/// positive areas, quadratic in time.
fn contains_origin_line<T: Real, const N: usize>(
    body: &DifferenceBody<T, N>,
    from: T,
    to: T,
) -> bool {
    let (here, there) = (body.at(from), body.at(to));
    let normal = (here[1] - here[0]).cross(here[2] - here[0]);
    let sum = |vector: Vector<T>| vector.rounded().abs().element_sum();
    let largest = |corner: usize| sum(body.corners[0][corner]).max(sum(body.corners[1][corner]));
    (0..N).all(|corner| {
        let next = (corner + 1) % N;
        let error = 16.0 * T::ERROR * sum(normal) * largest(corner) * largest(next) + UNDERFLOW;
        let area = |a: Vector<T>, b: Vector<T>| normal.dot(a.cross(b));
        let middle = area(here[corner], there[next]) + area(there[corner], here[next]);
        let areas = [
            area(here[corner], here[next]),
            middle * T::of(0.5),
            area(there[corner], there[next]),
        ];
        areas.iter().all(|&area| area > T::of(error))
    })
}
