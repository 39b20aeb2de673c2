//! Whether surfaces intersect in one state: edges that go through triangles.
//!
//! The tests of motion see points that come to triangles and edges that come to edges. Cloths that start within each
//! other have edges amid triangles, and keep every distance while they move on; so a start is looked at by itself.
//!
//! With the start of the edge for the origin, q its end and a, b, c the corners, the volumes [q b c], [q c a] and [q a b]
//! are those the edge's line spans with the sides, [a b c] that of its start, and [a b c] minus the sum of the three that
//! of its end. Closed edges and triangles are apart exactly when one of these holds:
//!
//! - 1D: along a coordinate axis their boxes are;
//! - 2D: seen along a coordinate axis, the corners are strictly on one side of the edge, or both ends strictly on one
//!   side of a side, where the third corner is not;
//! - 3D: two of the three volumes have strictly opposite signs (the line passes by), or start and end are strictly
//!   on one side of the triangle.
//!
//! The list is complete. A line that crosses the plane of a triangle does so at a point with the three volumes for weights,
//! so 3D decides. What is flat together shows its true shape along some axis, and a line that keeps convex shapes apart
//! there can be turned until it is parallel to a side of one; what is on a line together is apart along an axis. Triangles
//! and edges without area or length are no special cases.

use std::cmp::Ordering;

use glam::DVec3;
use rayon::prelude::*;

use super::super::features::{Features, NONE};
use super::super::tree::Tree;
use super::super::volume::{Motion, Volumes};
use super::at;
use super::integer::Integer;
use super::polygon::{
    AREA_ERROR, Number, Sign, VOLUME_ERROR, cross, dot, exact_difference, inverse_power,
    lowest_bits,
};

/// Edges that one task takes.
const CHUNK: usize = 1024;

/// An edge that goes through a triangle, or touches it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crossing {
    /// The edge.
    pub edge: u32,
    /// The triangle.
    pub triangle: u32,
    /// Where on the edge, to rounding; if both are in a plane, amid the part of the edge that is in the box of the
    /// triangle.
    pub place: DVec3,
}

/// All edges that go through triangles or touch them, sorted by edge, then triangle: of sides of triangles and segments of
/// rods those that may meet the triangle and are not its neighbours, by a common or joined point. Decided
/// whatever rounding does. Lone points cannot cross, and what has a point without a finite position is passed over.
#[must_use]
pub fn crossings(features: &Features, positions: &[DVec3]) -> Vec<Crossing> {
    let points = 0..features.part_of.len() as u32;
    let places: Vec<DVec3> = points.map(|point| at(positions, point)).collect();
    let is_solid = |points: &[u32]| points.iter().all(|it| places[*it as usize].is_finite());
    // Only what has a place: the volume of a point without one would overlap everything.
    let mut triangles = features.primitives.clone();
    triangles.retain(|it| it.triangle != NONE && is_solid(&it.points));
    let volumes: Volumes<3> = Volumes::new(&Motion {
        from: &places,
        to: &places,
        reach: &vec![0.0; places.len()],
    });
    let tree = Tree::over(&triangles, &volumes);
    let of_edge = |edge: u32, found: &mut Vec<Crossing>| {
        let ends = features.edges[edge as usize];
        if ends[0] == ends[1] || !is_solid(&ends) {
            return;
        }
        let mut near = Vec::new();
        let [one, other] = ends.map(|end| volumes.of(end));
        tree.add_triangles(&one.merge(other), &mut near);
        near.retain(|&triangle| meets(features, ends, triangle));
        near.sort_unstable();
        for triangle in near {
            let corners = features.triangles[triangle as usize];
            let ends = ends.map(|point| places[point as usize]);
            let corners = corners.map(|point| places[point as usize]);
            let crossing = |place| Crossing {
                edge,
                triangle,
                place,
            };
            found.extend(crossing_place(ends, corners).map(crossing));
        }
    };
    let edges: Vec<u32> = (0..features.edges.len() as u32).collect();
    let chunks = edges.par_chunks(CHUNK).map(|edges| {
        let mut found = Vec::new();
        edges.iter().for_each(|edge| of_edge(*edge, &mut found));
        found
    });
    chunks.collect::<Vec<_>>().concat()
}

/// Whether an edge can meet a triangle: their parts may, and they are not neighbours.
fn meets(features: &Features, ends: [u32; 2], triangle: u32) -> bool {
    ends.iter()
        .all(|&end| features.point_meets_triangle(end, triangle))
}

/// Where a closed edge and a closed triangle of finite points meet, if they do.
fn crossing_place(ends: [DVec3; 2], corners: [DVec3; 3]) -> Option<DVec3> {
    let ([start, end], [a, b, c]) = (ends, corners);
    let lower = [start.min(end), a.min(b).min(c)];
    let upper = [start.max(end), a.max(b).max(c)];
    if (upper[0].cmplt(lower[1]) | upper[1].cmplt(lower[0])).any() {
        return None;
    }
    let rounded = Arrangement::rounded(ends, corners);
    let does_meet = match rounded.judge() {
        Verdict::Hidden => Arrangement::exact(ends, corners).judge() == Verdict::Meet,
        verdict => verdict == Verdict::Meet,
    };
    does_meet.then(|| {
        let [from, to] = clip(ends, [lower[1], upper[1]]);
        let fraction = rounded.crossed_at().unwrap_or(0.5 * (from + to));
        start.lerp(end, fraction.min(to).max(from))
    })
}

/// From where to where an edge is in a box that it overlaps along each axis.
fn clip([start, end]: [DVec3; 2], [lower, upper]: [DVec3; 2]) -> [f64; 2] {
    let [mut from, mut to] = [0.0f64, 1.0];
    for axis in 0..3 {
        let way = end[axis] - start[axis];
        if way != 0.0 {
            let [one, other] = [lower, upper].map(|bound| (bound[axis] - start[axis]) / way);
            from = from.max(one.min(other));
            to = to.min(one.max(other));
        }
    }
    [from.min(1.0), to.max(from.min(1.0))]
}

/// What signs prove about an edge and a triangle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Apart,
    Meet,
    /// Rounding hides a sign that may decide.
    Hidden,
}

/// An edge and a triangle whose boxes overlap, relative to the start of the edge.
struct Arrangement<T> {
    end: [T; 3],
    corners: [[T; 3]; 3],
}

impl Arrangement<f64> {
    /// Each axis has its own power of two for a unit, so that coordinates are below 2. Where a difference overflows it holds
    /// what is no number, and no sign is known.
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

    /// The fraction of the edge at which its line crosses the plane of the triangle; nothing if it does nowhere.
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

/// Volumes that the edge spans with each side, and the triangle with each end.
struct Spanned<T> {
    of_sides: [T; 3],
    of_ends: [T; 2],
}

impl<T: Number> Arrangement<T> {
    /// What is proved. In doubles, below 2 and off by at most u = 2^-53 of that, volumes are off by 368u, and that of the
    /// end, which has four, by less than 2^-42; an area of three products by 136u. So the bounds for polygons hold.
    fn judge(&self) -> Verdict {
        let Spanned { of_sides, of_ends } = self.volumes();
        let sides = of_sides.each_ref().map(|it| it.sign(VOLUME_ERROR));
        let ends = of_ends.each_ref().map(|it| it.sign(VOLUME_ERROR));
        let passes_by =
            sides.contains(&Some(Ordering::Less)) && sides.contains(&Some(Ordering::Greater));
        if passes_by || strict(&ends).is_some() {
            return Verdict::Apart;
        }
        let goes_through = strict(&sides).is_some() && ends.iter().all(Option::is_some);
        if goes_through {
            return Verdict::Meet;
        }
        self.judge_flat(&[&sides[..], &ends].concat())
    }

    /// What is proved along the axes, after volumes with these signs proved nothing.
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
            Verdict::Hidden
        } else {
            Verdict::Meet
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

/// The sign that all have, if it is strict.
fn strict(signs: &[Sign]) -> Sign {
    let first = signs.first().copied().flatten();
    first.filter(|it| it.is_ne() && signs.iter().all(|sign| *sign == first))
}

#[cfg(test)]
mod tests;
