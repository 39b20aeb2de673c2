//! Intersections of surfaces in one state: edges that cross triangles.
//!
//! The tests of motion detect points that collide with triangles and edges that collide with edges.
//! Cloths that start interpenetrating have edges amid triangles, and can keep every distance while
//! they move. So the start has a test of its own.
//!
//! Let the start of the edge be the origin, q its end, and a, b, c the corners. The volumes
//! [q b c], [q c a] and [q a b] are those that the line of the edge spans with the sides, [a b c]
//! is that of its start, and [a b c] minus the sum of the three that of its end. Closed edges and
//! triangles are separated exactly if one of these holds:
//!
//! - 1D: their boxes are separated along a coordinate axis;
//! - 2D: in the projection along a coordinate axis, the corners are strictly on one side of the
//!   edge, or both ends strictly on one side of a side, where the third corner is not;
//! - 3D: two of the three volumes have strictly opposite signs (the line passes the triangle), or
//!   start and end are strictly on one side of the triangle.
//!
//! The list is complete. A line that crosses the plane of a triangle does so at a point whose
//! weights are the three volumes, so 3D decides. Coplanar features keep their shape in the
//! projection along some axis, and a line that separates convex shapes there can be rotated until
//! it is parallel to a side of one; collinear features are separated along an axis. Triangles and
//! edges without area or length are no special cases.

use std::cmp::Ordering;

use glam::DVec3;
use rayon::prelude::*;

use super::super::features::{Features, NONE};
use super::super::tree::Tree;
use super::super::volume::{PointMotion, Volumes};
use super::at;
use super::integer::Integer;
use super::polygon::{
    AREA_ERROR, Scalar, Sign, VOLUME_ERROR, cross, dot, exact_difference, inverse_power,
    lowest_bits,
};

/// Edges that one task tests.
const CHUNK_SIZE: usize = 1024;

/// An edge that crosses or touches a triangle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crossing {
    /// The edge.
    pub edge: u32,
    /// The triangle.
    pub triangle: u32,
    /// Position on the edge, up to rounding; if both are coplanar, the middle of the part of the
    /// edge in the box of the triangle.
    pub position: DVec3,
}

/// All edges that cross or touch triangles, sorted by edge, then triangle: sides of triangles and
/// segments of rods that may collide with the triangle and have no common or joined point with it.
/// The decision is exact, whatever the rounding. Lone points cannot cross; features with a
/// non-finite position are ignored.
#[must_use]
pub fn crossings(features: &Features, positions: &[DVec3]) -> Vec<Crossing> {
    let points = 0..features.part_of.len() as u32;
    let positions: Vec<DVec3> = points.map(|point| at(positions, point)).collect();
    let is_finite = |points: &[u32]| points.iter().all(|it| positions[*it as usize].is_finite());
    // Finite triangles only: the volume of a non-finite point would overlap everything.
    let mut triangles = features.primitives.clone();
    triangles.retain(|it| it.triangle != NONE && is_finite(&it.points));
    let volumes: Volumes<3> = Volumes::new(&PointMotion {
        from: &positions,
        to: &positions,
        reach: &vec![0.0; positions.len()],
    });
    let tree = Tree::from_primitives(&triangles, &volumes);
    let of_edge = |edge: u32, found: &mut Vec<Crossing>| {
        let ends = features.edges[edge as usize];
        if ends[0] == ends[1] || !is_finite(&ends) {
            return;
        }
        let mut near = Vec::new();
        let [one, other] = ends.map(|end| volumes.of(end));
        tree.add_overlapping_triangles(&one.merge(other), &mut near);
        near.retain(|&triangle| may_collide(features, ends, triangle));
        near.sort_unstable();
        for triangle in near {
            let corners = features.triangles[triangle as usize];
            let ends = ends.map(|point| positions[point as usize]);
            let corners = corners.map(|point| positions[point as usize]);
            let crossing = |position| Crossing {
                edge,
                triangle,
                position,
            };
            found.extend(crossing_position(ends, corners).map(crossing));
        }
    };
    let edges: Vec<u32> = (0..features.edges.len() as u32).collect();
    let chunks = edges.par_chunks(CHUNK_SIZE).map(|edges| {
        let mut found = Vec::new();
        edges.iter().for_each(|edge| of_edge(*edge, &mut found));
        found
    });
    chunks.collect::<Vec<_>>().concat()
}

/// Whether an edge may collide with a triangle: their parts may, and they have no joined points.
fn may_collide(features: &Features, ends: [u32; 2], triangle: u32) -> bool {
    ends.iter()
        .all(|&end| features.may_collide_point_triangle(end, triangle))
}

/// A common point of a closed edge and a closed triangle of finite points, if any.
fn crossing_position(ends: [DVec3; 2], corners: [DVec3; 3]) -> Option<DVec3> {
    let ([start, end], [a, b, c]) = (ends, corners);
    let lower = [start.min(end), a.min(b).min(c)];
    let upper = [start.max(end), a.max(b).max(c)];
    if (upper[0].cmplt(lower[1]) | upper[1].cmplt(lower[0])).any() {
        return None;
    }
    let rounded = Arrangement::rounded(ends, corners);
    let collides = match rounded.judge() {
        Verdict::Inexact => Arrangement::exact(ends, corners).judge() == Verdict::Collide,
        verdict => verdict == Verdict::Collide,
    };
    collides.then(|| {
        let [from, to] = clip(ends, [lower[1], upper[1]]);
        let fraction = rounded.crossed_at().unwrap_or(0.5 * (from + to));
        start.lerp(end, fraction.min(to).max(from))
    })
}

/// How an edge passes through a triangle: 1 if it leaves the side of the triangle to which the
/// normal does not point, −1 if it enters it, 0 if it misses; None if it touches the boundary of
/// the triangle, or has an end on it.
pub(super) fn passage(ends: [DVec3; 2], corners: [DVec3; 3]) -> Option<i32> {
    let rounded = Arrangement::rounded(ends, corners).passage();
    rounded.or_else(|| Arrangement::exact(ends, corners).passage())
}

/// The interval of an edge inside a box that it overlaps along each axis.
fn clip([start, end]: [DVec3; 2], [lower, upper]: [DVec3; 2]) -> [f64; 2] {
    let [mut from, mut to] = [0.0f64, 1.0];
    for axis in 0..3 {
        let length = end[axis] - start[axis];
        if length != 0.0 {
            let [one, other] = [lower, upper].map(|bound| (bound[axis] - start[axis]) / length);
            from = from.max(one.min(other));
            to = to.min(one.max(other));
        }
    }
    [from.min(1.0), to.max(from.min(1.0))]
}

/// Proof from the signs for an edge and a triangle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Apart,
    Collide,
    /// Rounding hides a sign that may decide.
    Inexact,
}

/// An edge and a triangle whose boxes overlap, relative to the start of the edge.
struct Arrangement<T> {
    end: [T; 3],
    corners: [[T; 3]; 3],
}

impl Arrangement<f64> {
    /// Each axis is scaled by a power of two, so that coordinates are below 2. Where a difference
    /// overflows it contains NaN, and no sign is known.
    fn rounded([start, end]: [DVec3; 2], corners: [DVec3; 3]) -> Arrangement<f64> {
        let end = end - start;
        let corners = corners.map(|corner| corner - start);
        let sizes = corners.iter().map(|corner| corner.abs());
        let unit = sizes.fold(end.abs(), DVec3::max).map(inverse_power);
        Arrangement {
            end: (end * unit).to_array(),
            corners: corners.map(|corner| (corner * unit).to_array()),
        }
    }

    /// The fraction of the edge at which its line crosses the plane of the triangle; None if they
    /// are parallel.
    fn crossed_at(&self) -> Option<f64> {
        let [start, end] = self.volumes().of_ends;
        let fraction = start / (start - end);
        fraction.is_finite().then_some(fraction)
    }
}

impl Arrangement<Integer> {
    fn exact([start, end]: [DVec3; 2], corners: [DVec3; 3]) -> Arrangement<Integer> {
        let lowest = lowest_bits([start, end].iter().chain(&corners));
        Arrangement {
            end: exact_difference(end, start, lowest),
            corners: corners.map(|corner| exact_difference(corner, start, lowest)),
        }
    }
}

/// Volumes spanned by the edge with each side, and by the triangle with each end.
struct Spanned<T> {
    of_sides: [T; 3],
    of_ends: [T; 2],
}

impl<T: Scalar> Arrangement<T> {
    /// The proof. In doubles, below 2 with an error of at most u = 2^-53 of that, volumes have an
    /// error of 368u, and that of the end, which has four, of less than 2^-42; an area of three
    /// products has an error of 136u. So the bounds for polygons hold.
    fn judge(&self) -> Verdict {
        let Spanned { of_sides, of_ends } = self.volumes();
        let sides = of_sides.each_ref().map(|it| it.sign(VOLUME_ERROR));
        let ends = of_ends.each_ref().map(|it| it.sign(VOLUME_ERROR));
        let passes =
            sides.contains(&Some(Ordering::Less)) && sides.contains(&Some(Ordering::Greater));
        if passes || strict(&ends).is_some() {
            return Verdict::Apart;
        }
        let crosses = strict(&sides).is_some() && ends.iter().all(Option::is_some);
        if crosses {
            return Verdict::Collide;
        }
        self.judge_flat(&[&sides[..], &ends].concat())
    }

    /// The proof in the projections along the axes, if volumes with these signs prove nothing.
    fn judge_flat(&self, volumes: &[Sign]) -> Verdict {
        let mut is_hidden = volumes.contains(&None);
        let [a, b, c] = &self.corners;
        let lines = self.corners.each_ref().map(|it| cross(&self.end, it));
        let sides = [cross(a, b), cross(b, c), cross(c, a)];
        for axis in 0..3 {
            let sign = |area: &T| area.sign(AREA_ERROR);
            let of_corners = lines.each_ref().map(|line| sign(&line[axis]));
            let [first, second, third] = sides.each_ref().map(|side| &side[axis]);
            let whole = sign(&first.plus(second).plus(third));
            is_hidden |= whole.is_none() || of_corners.contains(&None);
            if strict(&of_corners).is_some() {
                return Verdict::Apart;
            }
            for side in 0..3 {
                let [line, next] = [side, (side + 1) % 3].map(|corner| &lines[corner][axis]);
                let of_start = &sides[side][axis];
                let of_ends = [of_start, &of_start.plus(line).minus(next)].map(sign);
                is_hidden |= of_ends.contains(&None);
                let beyond = strict(&of_ends);
                if beyond.is_some() && whole.is_some() && beyond != whole {
                    return Verdict::Apart;
                }
            }
        }
        if is_hidden {
            Verdict::Inexact
        } else {
            Verdict::Collide
        }
    }

    /// See [`passage`]; also None if rounding hides a sign that decides.
    fn passage(&self) -> Option<i32> {
        let Spanned { of_sides, of_ends } = self.volumes();
        let sides = of_sides.map(|it| it.sign(VOLUME_ERROR));
        let ends = of_ends.map(|it| it.sign(VOLUME_ERROR));
        let passes =
            sides.contains(&Some(Ordering::Less)) && sides.contains(&Some(Ordering::Greater));
        if passes || strict(&ends).is_some() {
            return Some(0);
        }
        strict(&sides)?;
        match ends {
            [Some(Ordering::Greater), Some(Ordering::Less)] => Some(1),
            [Some(Ordering::Less), Some(Ordering::Greater)] => Some(-1),
            _ => None,
        }
    }

    fn volumes(&self) -> Spanned<T> {
        let [a, b, c] = &self.corners;
        let across = cross(b, c);
        let of_sides = [
            dot(&self.end, &across),
            dot(&self.end, &cross(c, a)),
            dot(&self.end, &cross(a, b)),
        ];
        let of_start = dot(a, &across);
        let [first, second, third] = &of_sides;
        let of_end = of_start.minus(&first.plus(second).plus(third));
        Spanned {
            of_sides,
            of_ends: [of_start, of_end],
        }
    }
}

/// The common strict sign of all, if any.
fn strict(signs: &[Sign]) -> Sign {
    let first = signs.first().copied().flatten();
    first.filter(|it| it.is_ne() && signs.iter().all(|sign| *sign == first))
}

#[cfg(test)]
mod tests;
