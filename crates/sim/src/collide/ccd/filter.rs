//! A filter for pairs that one direction separates during the whole motion, which are most pairs.
//!
//! The certificate is that of [`super::DifferenceBody::clear_along`] for the whole motion; pairs
//! without it need a search. The formulas have no branches, so that the compiler vectorises over
//! several pairs.

use glam::DVec3;
use reefknot_contact::lanes::Kernel;

use super::UNDERFLOW;
use super::real::{Real, UNIT_ROUNDOFF};

/// Pairs per block: their points fit in the first-level cache.
const BLOCK_SIZE: usize = 64;

/// Kernel for pairs of points and triangles, or of edges.
pub(in crate::collide) struct Filter<'a, const EDGES: bool> {
    pub(in crate::collide) from: &'a [DVec3],
    pub(in crate::collide) to: &'a [DVec3],
    /// The points of each pair: a point and the corners of a triangle, or the ends of two edges.
    pub(in crate::collide) quads: &'a [[u32; 4]],
    pub(in crate::collide) separations: &'a [f64],
    /// Result: the certain distance of each pair during the whole motion, minus its separation (m);
    /// not positive if unknown.
    pub(in crate::collide) slacks: &'a mut [f64],
}

/// Coordinates of a block of pairs by corner and axis, at one end of the motion.
type Points = [[[f64; BLOCK_SIZE]; 3]; 4];

impl<const EDGES: bool> Kernel for Filter<'_, EDGES> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let mut points: [Points; 2] = [[[[0.0; BLOCK_SIZE]; 3]; 4]; 2];
        let mut separations = [0.0; BLOCK_SIZE];
        let mut clear = [0.0; BLOCK_SIZE];
        for (block, slacks) in self.slacks.chunks_mut(BLOCK_SIZE).enumerate() {
            let first = block * BLOCK_SIZE;
            for pair in 0..slacks.len() {
                separations[pair] = self.separations[first + pair];
                for corner in 0..4 {
                    let point = self.quads[first + pair][corner] as usize;
                    for (end, at) in [self.from[point], self.to[point]].into_iter().enumerate() {
                        points[end][corner][0][pair] = at.x;
                        points[end][corner][1][pair] = at.y;
                        points[end][corner][2][pair] = at.z;
                    }
                }
            }
            for pair in 0..BLOCK_SIZE {
                let from = corners(&points[0], pair);
                let to = corners(&points[1], pair);
                clear[pair] = if EDGES {
                    edge_edge(&from, &to, separations[pair])
                } else {
                    point_triangle(&from, &to, separations[pair])
                };
            }
            slacks.copy_from_slice(&clear[..slacks.len()]);
        }
    }
}

#[inline(always)]
fn corners(points: &Points, pair: usize) -> [DVec3; 4] {
    let [a, b, c, d] = points;
    [
        DVec3::new(a[0][pair], a[1][pair], a[2][pair]),
        DVec3::new(b[0][pair], b[1][pair], b[2][pair]),
        DVec3::new(c[0][pair], c[1][pair], c[2][pair]),
        DVec3::new(d[0][pair], d[1][pair], d[2][pair]),
    ]
}

/// Quotient clamped to [0, 1]; 0 if it is NaN.
#[inline(always)]
fn fraction(over: f64, under: f64) -> f64 {
    let value = over / under;
    let value = if value > 0.0 { value } else { 0.0 };
    if value < 1.0 { value } else { 1.0 }
}

/// Positive if the direction separates all corners at both ends of the motion: then their distance
/// minus the separation.
#[inline(always)]
fn clearance<const N: usize>(
    direction: DVec3,
    start: &[DVec3; N],
    end: &[DVec3; N],
    separation: f64,
) -> f64 {
    let mut sizes = DVec3::ZERO;
    let mut least = f64::INFINITY;
    for corner in 0..N {
        // A sum keeps NaN, unlike min and max.
        sizes = sizes + start[corner].abs() + end[corner].abs();
        let (a, b) = (direction.dot(start[corner]), direction.dot(end[corner]));
        least = if a < least { a } else { least };
        least = if b < least { b } else { least };
    }
    let length = direction.length();
    let clear = least
        - (f64::ERROR * direction.abs().dot(sizes)
            + separation * length * (1.0 + 8.0 * UNIT_ROUNDOFF)
            + UNDERFLOW);
    // NaN for a direction of length zero. The quotient is rounded; its users allow for that.
    clear / (length * (1.0 + 8.0 * UNIT_ROUNDOFF))
}

#[inline(always)]
pub(super) fn edge_edge(from: &[DVec3; 4], to: &[DVec3; 4], separation: f64) -> f64 {
    let start = [
        from[0] - from[2],
        from[1] - from[2],
        from[1] - from[3],
        from[0] - from[3],
    ];
    let end = [to[0] - to[2], to[1] - to[2], to[1] - to[3], to[0] - to[3]];
    let (e, f, d) = (from[1] - from[0], from[3] - from[2], start[0]);
    let (ee, ef, ff, de, df) = (e.dot(e), e.dot(f), f.dot(f), d.dot(e), d.dot(f));
    let s = fraction(ef * df - de * ff, ee * ff - ef * ef);
    let t = fraction(ef * s + df, ff);
    let s = fraction(ef * t - de, ee);
    clearance(d + e * s - f * t, &start, &end, separation)
}

#[inline(always)]
pub(super) fn point_triangle(from: &[DVec3; 4], to: &[DVec3; 4], separation: f64) -> f64 {
    let start = [from[0] - from[1], from[0] - from[2], from[0] - from[3]];
    let end = [to[0] - to[1], to[0] - to[2], to[0] - to[3]];
    let [a, b, c] = start;
    let sides = [b - a, c - b, a - c];
    let mut boundary = a;
    let mut least = f64::INFINITY;
    for corner in 0..3 {
        let side = sides[corner];
        let foot = start[corner] + side * fraction(-start[corner].dot(side), side.dot(side));
        let square = foot.dot(foot);
        let is_nearer = square < least;
        boundary.x = if is_nearer { foot.x } else { boundary.x };
        boundary.y = if is_nearer { foot.y } else { boundary.y };
        boundary.z = if is_nearer { foot.z } else { boundary.z };
        least = if is_nearer { square } else { least };
    }
    let normal = sides[0].cross(sides[1]);
    let normal = normal * (if normal.dot(a) < 0.0 { -1.0 } else { 1.0 });
    let (x, y) = (
        clearance(normal, &start, &end, separation),
        clearance(boundary, &start, &end, separation),
    );
    if x > y { x } else { y }
}
