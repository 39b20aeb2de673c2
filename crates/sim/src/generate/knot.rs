//! Two ropes tied in a reef knot.
//!
//! Each rope is a bight, a bend with both ends on one side, around the neck of the other. The ends
//! of rope A are on the left. Seen from above, along the upper half of A:
//!
//! 1. A passes over the bend of B,
//! 2. then under the leg of B that leaves that bend,
//! 3. and its own bend passes over the neck of B, at whose middle (y = 0) the lower half begins.
//!
//! So each half is an overhand knot of three alternating crossings. In a reef knot the lower half
//! is the mirror image of the upper in the plane y = 0: A passes over, under, over, over, under,
//! over, and the two overhand knots have opposite handedness. In a granny knot it is the upper half
//! rotated about the x axis: over, under, over, under, over, under, with the same handedness.
//!
//! A rotation by 180° about the y axis swaps A and B. Thus the knot is given by points on half a
//! rope, in units of the radius. They are the result of a minimization, rounded: shortest rope,
//! distances of at least 2, radii of curvature of at least 1.33.

use glam::DVec3;

use super::path::Path;
use super::rod::{check_count, check_positive};
use crate::mesh::{Curve, Group, Mesh};

/// Half of rope A for ropes of radius 1, from its straight end to the middle of its bend.
///
/// The first three points are on a line, so the rope is straight up to the second, for any length
/// of the end on the left.
const HALF_ROPE: [[f64; 3]; 11] = [
    [-6.9, 1.01, 0.0],
    [-5.4, 1.01, 0.0],
    [-3.9, 1.01, 0.0],
    [-2.36, 1.015, -0.07],
    [-1.34, 1.06, -0.51],
    [-0.51, 1.47, -0.93],
    [0.35, 2.22, -0.97],
    [1.23, 2.92, -0.34],
    [2.02, 2.97, 0.80],
    [2.55, 2.10, 1.85],
    [2.73, 0.0, 2.21],
];

/// Minimum distance between parts of these ropes that are not neighbours, measured by a test.
const MIN_CLEARANCE: f64 = 2.017;

/// Minimum radius of curvature of these ropes, measured by a test.
const MIN_BEND_RADIUS: f64 = 1.328;

/// Gap between the ropes at the start, relative to their diameter.
const MARGIN: f64 = 0.005;

/// Minimum length of the straight ends, for ropes of radius 1.
const MIN_END_LENGTH: f64 = 1.0;

/// Two ropes in a tight reef knot without contact, around the origin in the plane z = 0.
///
/// `length` is the arc length of each rope (m), `vertices` the number of vertices of each. The ends
/// are in the plane and along x, those of the first rope on the left, those of the second on the
/// right. The distance of any two parts is at least a diameter, also between vertices: the knot is
/// wider for longer edges, because chords are inside the curve.
///
/// Groups: "left", "right" (two vertices each), "ends".
pub fn reef_knot(rope_radius: f64, length: f64, vertices: usize) -> Result<Mesh, String> {
    check_count(vertices, 2)?;
    check_positive("radius of the rope", rope_radius)?;
    check_positive("length", length)?;
    let edge = length / (vertices - 1) as f64;
    if edge > 2.0 * rope_radius {
        return Err(format!(
            "edges of {edge:.3e} m are too long for a knot with a radius of {rope_radius} m; \
             take at least {} vertices",
            (0.5 * length / rope_radius).ceil() + 1.0
        ));
    }
    let scale = scale(edge / rope_radius) * rope_radius;
    let core = Path::through(&rope(&[]), false)?.length();
    let end = 0.5 * (length / scale - core);
    if end < MIN_END_LENGTH {
        return Err(format!(
            "ropes of {length} m are too short for a reef knot with a radius of {rope_radius} m; \
             take at least {} m",
            rounded_up(rope_radius * least_length(core + 2.0 * MIN_END_LENGTH, vertices))
        ));
    }
    let tip = DVec3::from(HALF_ROPE[0]) - DVec3::new(end, 0.0, 0.0);
    let points: Vec<DVec3> = rope(&[tip])
        .into_iter()
        .map(|point| scale * point)
        .collect();
    let left = Path::through(&points, false)?.evenly(vertices);
    let right = left
        .iter()
        .map(|point| DVec3::new(-point.x, point.y, -point.z));
    let points: Vec<DVec3> = left.iter().copied().chain(right).collect();
    Ok(Mesh {
        points,
        curves: ropes(vertices as u32),
        groups: groups(vertices as u32),
        ..Mesh::default()
    })
}

/// Scale at which ropes of radius 1 with edges of this length keep their distance.
///
/// A chord of length s is at most s²/(8 R) from a curve with radii of curvature of at least R.
/// Scaled by k, with k R for R, two chords are thus at least k D − s²/(4 k R) apart, which is set
/// to 2 (1 + margin).
fn scale(edge: f64) -> f64 {
    let wanted = 1.0 + MARGIN;
    let sag = MIN_CLEARANCE * edge * edge / (4.0 * MIN_BEND_RADIUS);
    (wanted + (wanted * wanted + sag).sqrt()) / MIN_CLEARANCE
}

/// Minimum length of ropes of radius 1 whose length is `design` at scale 1.
///
/// Longer ropes have longer edges and need a larger scale k. The minimum length is k · design, so
/// the edges are k · design / (vertices − 1), and the equation of [`scale`] is linear in k.
fn least_length(design: f64, vertices: usize) -> f64 {
    let edge = design / (vertices - 1) as f64;
    2.0 * (1.0 + MARGIN) * design / (MIN_CLEARANCE - edge * edge / (4.0 * MIN_BEND_RADIUS))
}

/// A value rounded up to four digits.
fn rounded_up(value: f64) -> f64 {
    let digits = 10.0_f64.powf(3.0 - value.log10().floor());
    (value * digits).ceil() / digits
}

/// The points of rope A, with `tips` before the first point of its half.
fn rope(tips: &[DVec3]) -> Vec<DVec3> {
    let half = tips.iter().copied().chain(HALF_ROPE.map(DVec3::from));
    let mirrored = half
        .clone()
        .map(|point| DVec3::new(point.x, -point.y, point.z));
    let count = tips.len() + HALF_ROPE.len() - 1;
    let mut lower: Vec<DVec3> = mirrored.take(count).collect();
    lower.reverse();
    half.chain(lower).collect()
}

fn ropes(vertices: u32) -> Vec<Curve> {
    let curve = |first| Curve {
        first,
        count: vertices,
        closed: false,
    };
    vec![curve(0), curve(vertices)]
}

fn groups(vertices: u32) -> Vec<Group> {
    let [left, right] = [[0, vertices - 1], [vertices, 2 * vertices - 1]];
    vec![
        Group::new("left", left.to_vec()),
        Group::new("right", right.to_vec()),
        Group::new("ends", [left, right].concat()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::PI;

    fn split(mesh: &Mesh) -> (&[DVec3], &[DVec3]) {
        mesh.points.split_at(mesh.points.len() / 2)
    }

    /// Distance of two segments: of an end from the other segment, or of the two lines.
    fn distance([a, b]: [DVec3; 2], [c, d]: [DVec3; 2]) -> f64 {
        let to_segment = |point: DVec3, from: DVec3, to: DVec3| {
            let along = (point - from).dot(to - from) / (to - from).length_squared();
            point.distance(from + along.clamp(0.0, 1.0) * (to - from))
        };
        let ends = [
            to_segment(a, c, d),
            to_segment(b, c, d),
            to_segment(c, a, b),
            to_segment(d, a, b),
        ];
        let mut least = ends.into_iter().fold(f64::INFINITY, f64::min);
        let (u, v, w) = (b - a, d - c, a - c);
        let across = u.cross(v);
        let square = across.length_squared();
        if square > 1e-12 * u.length_squared() * v.length_squared() {
            let (s, t) = (
                v.cross(w).dot(across) / square,
                u.cross(w).dot(across) / square,
            );
            if (0.0..=1.0).contains(&s) && (0.0..=1.0).contains(&t) {
                least = least.min((w + s * u - t * v).length());
            }
        }
        least
    }

    /// Minimum distances between the ropes, and of one from its own parts that are more than π
    /// radii further along.
    fn clearances(mesh: &Mesh, radius: f64) -> [f64; 2] {
        let (a, b) = split(mesh);
        let segments = |points: &[DVec3]| {
            points
                .windows(2)
                .map(|ends| [ends[0], ends[1]])
                .collect::<Vec<_>>()
        };
        let (a, b) = (segments(a), segments(b));
        let edge = a[0][0].distance(a[0][1]);
        let apart = (PI * radius / edge).ceil() as usize + 1;
        let mut least = [f64::INFINITY; 2];
        for (index, &one) in a.iter().enumerate() {
            for &other in &b {
                least[0] = least[0].min(distance(one, other));
            }
            for &other in a.iter().skip(index + apart) {
                least[1] = least[1].min(distance(one, other));
            }
        }
        least
    }

    /// Crossings of A with B, ordered along A: segment of B, whether A is above, and the sign of
    /// (above × below)·z.
    fn crossings(a: &[DVec3], b: &[DVec3]) -> Vec<(usize, bool, i32)> {
        let cross = |u: DVec3, v: DVec3| u.truncate().perp_dot(v.truncate());
        let mut found = Vec::new();
        for one in a.windows(2) {
            for (place, other) in b.windows(2).enumerate() {
                let (u, v, w) = (one[1] - one[0], other[1] - other[0], other[0] - one[0]);
                let area = cross(u, v);
                let (s, t) = (cross(w, v) / area, cross(w, u) / area);
                if (0.0..1.0).contains(&s) && (0.0..1.0).contains(&t) {
                    let above = one[0].z + s * u.z > other[0].z + t * v.z;
                    found.push((place, above, if above == (area > 0.0) { 1 } else { -1 }));
                }
            }
        }
        found
    }

    /// Gauss linking integral of two closed polygons: the sum over pairs of edges of the signed
    /// areas that they cover on the sphere of directions (Klenin and Langowski, Computation of
    /// writhe in modeling of supercoiled DNA, 2000).
    fn linking_number(a: &[DVec3], b: &[DVec3]) -> f64 {
        let mut area = 0.0;
        for i in 0..a.len() {
            for j in 0..b.len() {
                let [p, q] = [a[i], a[(i + 1) % a.len()]];
                let [r, s] = [b[j], b[(j + 1) % b.len()]];
                let normals = [
                    (r - p).cross(s - p),
                    (s - p).cross(s - q),
                    (s - q).cross(r - q),
                    (r - q).cross(r - p),
                ]
                .map(DVec3::normalize_or_zero);
                let angle = |k: usize| normals[k].dot(normals[(k + 1) % 4]).clamp(-1.0, 1.0).asin();
                let sign = (s - r).cross(q - p).dot(r - p);
                area += (angle(0) + angle(1) + angle(2) + angle(3)).abs() * sign.signum();
            }
        }
        area / (4.0 * PI)
    }

    /// The granny knot: the lower half is reflected in z = 0. At y = 0 the ropes do not cross, so
    /// that the reflection is possible.
    fn granny_knot(points: &[DVec3]) -> Vec<DVec3> {
        let reflect = |point: &DVec3| {
            if point.y < 0.0 {
                DVec3::new(point.x, point.y, -point.z)
            } else {
                *point
            }
        };
        points.iter().map(reflect).collect()
    }

    #[test]
    fn the_distance_of_the_ropes_is_at_least_a_diameter() {
        for (vertices, snug) in [(25, 2.6), (50, 2.15), (150, 2.03), (600, 2.012)] {
            let mesh = reef_knot(0.01, 0.42, vertices).unwrap();
            let [between, own] = clearances(&mesh, 0.01).map(|distance| distance / 0.01);
            println!("{vertices} vertices: {between:.4} between the ropes, {own:.4} within one");
            assert!(between >= 2.0 * (1.0 + MARGIN), "{vertices}: {between}");
            assert!(own >= 2.0 * (1.0 + MARGIN), "{vertices}: {own}");
            assert!(own.min(between) < snug, "{vertices}: {between} {own}");
        }
    }

    #[test]
    fn clearance_and_bend_radius_agree_with_the_points() {
        let points = Path::through(&rope(&[]), false).unwrap().evenly(4000);
        let edge = points[0].distance(points[1]);
        let radius = |ends: &[DVec3]| {
            // Radius of the circle through three points: product of the sides over four areas.
            let [a, b, c] = [ends[0], ends[1], ends[2]];
            let double_area = (b - a).cross(c - a).length();
            a.distance(b) * b.distance(c) * c.distance(a) / (2.0 * double_area)
        };
        let bend = points.windows(3).map(radius).fold(f64::INFINITY, f64::min);
        assert!(
            (MIN_BEND_RADIUS..MIN_BEND_RADIUS + 0.02).contains(&bend),
            "{bend}"
        );
        let mut least = f64::INFINITY;
        for (index, a) in points.iter().enumerate() {
            for b in &points {
                least = least.min(a.distance(DVec3::new(-b.x, b.y, -b.z)));
            }
            for b in points.iter().skip(index + (PI / edge) as usize) {
                least = least.min(a.distance(*b));
            }
        }
        // Between two points the distance is smaller by at most edge²/4.
        assert!(
            (MIN_CLEARANCE..MIN_CLEARANCE + 0.01).contains(&least),
            "{least}"
        );
    }

    #[test]
    fn the_halves_are_overhand_knots_of_opposite_handedness() {
        let mesh = reef_knot(0.02, 1.0, 300).unwrap();
        let (a, b) = split(&mesh);
        let along_a = crossings(a, b);
        let above: Vec<bool> = along_a.iter().map(|crossing| crossing.1).collect();
        assert_eq!(above, [true, false, true, true, false, true]);
        // Along B the order of the crossings is different: bend, leg and neck of A.
        let mut along_b = along_a.clone();
        along_b.sort_unstable();
        let below: Vec<bool> = along_b.iter().map(|crossing| !crossing.1).collect();
        assert_eq!(below, [false, true, false, false, true, false]);
        let order: Vec<usize> = along_b
            .iter()
            .map(|crossing| along_a.iter().position(|other| other == crossing).unwrap())
            .collect();
        assert_eq!(order, [2, 1, 0, 5, 4, 3]);
        let signs: Vec<i32> = along_a.iter().map(|crossing| crossing.2).collect();
        assert_eq!(signs, [-1, -1, -1, 1, 1, 1]);
    }

    #[test]
    fn the_linking_number_is_0_for_the_reef_knot_and_3_for_the_granny_knot() {
        // Each rope is closed by the straight line between its two ends, away from the other rope.
        // The linking number is half the sum of the signs of the crossings. The upper three have
        // the same sign. A mirror image with both ropes reversed has the opposite signs: −3 + 3 = 0
        // for the reef knot. A rotation keeps signs, as does reversing both ropes: 2 · (−3) / 2 =
        // −3 for the granny knot.
        let mesh = reef_knot(0.02, 1.0, 120).unwrap();
        let (a, b) = split(&mesh);
        // An arcsine near 1 has only half of the digits.
        let reef = linking_number(a, b);
        assert!(reef.abs() < 1e-6, "{reef}");
        let granny = linking_number(&granny_knot(a), &granny_knot(b));
        assert!((granny.abs() - 3.0).abs() < 1e-6, "{granny}");
    }

    #[test]
    fn ropes_have_the_given_length_and_ends() {
        let mesh = reef_knot(0.01, 0.6, 4000).unwrap();
        let (a, b) = split(&mesh);
        for rope in [a, b] {
            let length: f64 = rope.windows(2).map(|ends| ends[0].distance(ends[1])).sum();
            // Chords of 0.015 radii are shorter than arcs with a radius of 1.3 by 0.0115²/24.
            assert!((length / 0.6 - 1.0).abs() < 1e-5, "{length}");
        }
        let x = |vertex: u32| mesh.points[vertex as usize].x;
        let least = mesh
            .points
            .iter()
            .map(|point| point.x)
            .fold(f64::INFINITY, f64::min);
        assert!(
            mesh.groups[0]
                .vertices
                .iter()
                .all(|&vertex| x(vertex) == least)
        );
        assert!(
            mesh.groups[1]
                .vertices
                .iter()
                .all(|&vertex| x(vertex) == -least)
        );
        assert_eq!(mesh.groups[2].vertices, [0, 3999, 4000, 7999]);
        assert!(
            mesh.groups[2]
                .vertices
                .iter()
                .all(|&end| mesh.points[end as usize].z == 0.0)
        );
    }

    #[test]
    fn the_error_of_a_rope_that_is_too_short_has_the_minimum_length() {
        let error = reef_knot(0.01, 0.2, 100).unwrap_err();
        assert!(error.ends_with("take at least 0.3058 m"), "{error}");
        assert!(reef_knot(0.01, 0.3058, 100).is_ok() && reef_knot(0.01, 0.3056, 100).is_err());
        let error = reef_knot(0.01, 1.0, 20).unwrap_err();
        assert!(error.ends_with("take at least 51 vertices"), "{error}");
        assert!(reef_knot(0.01, 1.0, 51).is_ok());
        assert!(reef_knot(0.0, 1.0, 51).is_err() && reef_knot(0.01, f64::NAN, 51).is_err());
        assert!(reef_knot(1e-300, 1.0, 51).is_err() && reef_knot(0.01, 1.0, 0).is_err());
    }
}
