//! Triangulation of polygons.
//!
//! Convex polygons become a fan from the first corner. The fan does not depend on the positions, so
//! that all frames of an animation have the same triangles. If the fan would fold over, ears are
//! clipped in the plane of the polygon (Meisters, Polygons have ears, 1975), the one with the
//! shortest cut first. Clipping an ear changes only its two neighbours, so the cost is quadratic in
//! the number of corners.

use glam::{DVec2, DVec3};

/// Maximum number of corners of a polygon that is not convex.
pub(super) const MAX_CORNERS: usize = 1000;

/// Adds triangles of a polygon, in its orientation; false if it is not convex and has more than
/// [`MAX_CORNERS`]. Triangles with a repeated vertex are omitted.
#[must_use]
pub(super) fn triangulate(
    points: &[DVec3],
    corners: &[u32],
    triangles: &mut Vec<[u32; 3]>,
) -> bool {
    match *corners {
        [] | [_] | [_, _] => return true,
        [a, b, c] => {
            push(triangles, [a, b, c]);
            return true;
        }
        _ => {}
    }
    let point = |corner: u32| points.get(corner as usize).copied().unwrap_or_default();
    let origin = point(corners[0]);
    let offsets: Vec<DVec3> = corners
        .iter()
        .map(|corner| point(*corner) - origin)
        .collect();
    let crosses = || offsets.windows(2).map(|pair| pair[0].cross(pair[1]));
    // Twice the area vector, by Newell's formula.
    let normal: DVec3 = crosses().sum();
    let least = 1e-12 * normal.length_squared();
    let is_fan = crosses().skip(1).all(|cross| cross.dot(normal) > least);
    // A polygon without area has no plane: use the fan.
    if is_fan || !(normal.is_finite() && normal.length_squared() > 0.0) {
        for pair in corners[1..].windows(2) {
            push(triangles, [corners[0], pair[0], pair[1]]);
        }
        return true;
    }
    if corners.len() > MAX_CORNERS {
        return false;
    }
    let (across, along) = normal.normalize_or_zero().any_orthonormal_pair();
    let flat = |offset: &DVec3| DVec2::new(offset.dot(across), offset.dot(along));
    clip_ears(
        corners,
        &offsets.iter().map(flat).collect::<Vec<_>>(),
        triangles,
    );
    true
}

fn push(triangles: &mut Vec<[u32; 3]>, [a, b, c]: [u32; 3]) {
    if a != b && b != c && c != a {
        triangles.push([a, b, c]);
    }
}

/// Remaining corners of a polygon during ear clipping, as indices into `corners`, with the length
/// of the cut for each ear.
struct Remainder<'a> {
    corners: &'a [u32],
    flat: &'a [DVec2],
    left: Vec<usize>,
    /// Squared lengths; infinite for corners that are no ears.
    cuts: Vec<f64>,
}

impl Remainder<'_> {
    /// The corners before, at and after an index.
    fn around(&self, at: usize) -> [usize; 3] {
        let count = self.left.len();
        [at + count - 1, at, at + 1].map(|place| self.left[place % count])
    }

    /// Squared length of the cut if the corner is an ear, else infinity.
    fn cut(&self, at: usize) -> f64 {
        let ear = self.around(at);
        let [a, b, c] = ear.map(|corner| self.flat[corner]);
        if side(a, b, c) <= 0.0 {
            return f64::INFINITY;
        }
        let names = ear.map(|corner| self.corners[corner]);
        let blocks = |other: &usize| {
            let point = self.flat[*other];
            // In a polygon with a hole, the ends of the bridge to it occur twice.
            !names.contains(&self.corners[*other])
                && side(a, b, point) >= 0.0
                && side(b, c, point) >= 0.0
                && side(c, a, point) >= 0.0
        };
        if self.left.iter().any(blocks) {
            f64::INFINITY
        } else {
            a.distance_squared(c)
        }
    }
}

/// Twice the area of the triangle, positive if it runs counter-clockwise.
fn side(a: DVec2, b: DVec2, c: DVec2) -> f64 {
    (b - a).perp_dot(c - a)
}

fn clip_ears(corners: &[u32], flat: &[DVec2], triangles: &mut Vec<[u32; 3]>) {
    let mut polygon = Remainder {
        corners,
        flat,
        left: (0..corners.len()).collect(),
        cuts: Vec::new(),
    };
    polygon.cuts = (0..corners.len()).map(|at| polygon.cut(at)).collect();
    while polygon.left.len() >= 3 {
        // A polygon without an ear intersects itself; any corner is clipped then.
        let shortest =
            |one: &usize, other: &usize| f64::total_cmp(&polygon.cuts[*one], &polygon.cuts[*other]);
        let ear = (0..polygon.left.len()).min_by(shortest).unwrap_or(0);
        let corner = polygon.around(ear);
        push(triangles, corner.map(|corner| corners[corner]));
        polygon.left.remove(ear);
        polygon.cuts.remove(ear);
        let count = polygon.left.len();
        if count < 3 {
            return;
        }
        for neighbour in [(ear + count - 1) % count, ear % count] {
            polygon.cuts[neighbour] = polygon.cut(neighbour);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cut(points: &[DVec3]) -> Vec<[u32; 3]> {
        let corners: Vec<u32> = (0..points.len() as u32).collect();
        let mut triangles = Vec::new();
        assert!(triangulate(points, &corners, &mut triangles));
        triangles
    }

    fn area_vector(points: &[DVec3], [a, b, c]: [u32; 3]) -> DVec3 {
        let [a, b, c] = [a, b, c].map(|corner| points[corner as usize]);
        0.5 * (b - a).cross(c - a)
    }

    #[test]
    fn a_square_becomes_a_fan() {
        let square = [DVec3::ZERO, DVec3::X, DVec3::X + DVec3::Y, DVec3::Y];
        assert_eq!(cut(&square), [[0, 1, 2], [0, 2, 3]]);
    }

    #[test]
    fn an_arrowhead_is_triangulated_inside_from_any_first_corner() {
        // The notch is vertex 3; the only cut inside leads from it to vertex 1.
        let arrow = [[0.0, 0.0], [2.0, 1.0], [0.0, 2.0], [1.0, 1.0]];
        let points = arrow.map(|[x, y]| DVec3::new(x, y, 5.0));
        for start in 0..4u32 {
            let corners: Vec<u32> = (0..4).map(|corner| (corner + start) % 4).collect();
            let mut triangles = Vec::new();
            assert!(triangulate(&points, &corners, &mut triangles));
            assert_eq!(triangles.len(), 2);
            for triangle in triangles {
                // Each half has the area 1/2.
                let area = area_vector(&points, triangle);
                assert!((area - 0.5 * DVec3::Z).length() < 1e-15, "{triangle:?}");
            }
        }
    }

    #[test]
    fn a_square_with_a_hole_keeps_its_hole() {
        // Outer square counter-clockwise, bridge, hole clockwise, bridge back.
        let outer = [[0.0, 0.0], [3.0, 0.0], [3.0, 3.0], [0.0, 3.0]];
        let inner = [[1.0, 1.0], [1.0, 2.0], [2.0, 2.0], [2.0, 1.0]];
        let points: Vec<DVec3> = outer
            .iter()
            .chain(&inner)
            .map(|[x, y]| DVec3::new(*x, *y, 0.0))
            .collect();
        let mut triangles = Vec::new();
        assert!(triangulate(
            &points,
            &[0, 1, 2, 3, 0, 4, 5, 6, 7, 4],
            &mut triangles
        ));
        assert_eq!(triangles.len(), 8);
        let areas: Vec<f64> = triangles
            .iter()
            .map(|triangle| area_vector(&points, *triangle).z)
            .collect();
        assert!(areas.iter().all(|area| *area > 0.0), "{areas:?}");
        // 9 - 1.
        assert!((areas.iter().sum::<f64>() - 8.0).abs() < 1e-14);
    }

    #[test]
    fn a_large_convex_polygon_is_a_fan_and_a_large_star_is_refused() {
        let corner = |index: u32, radius: f64| {
            let (sine, cosine) = (f64::from(index) * std::f64::consts::TAU / 1200.0).sin_cos();
            DVec3::new(radius * cosine, radius * sine, 0.0)
        };
        let circle: Vec<DVec3> = (0..1200).map(|index| corner(index, 1.0)).collect();
        assert_eq!(cut(&circle).len(), 1198);
        let star: Vec<DVec3> = (0..1200)
            .map(|index| corner(index, f64::from(1 + index % 2)))
            .collect();
        let corners: Vec<u32> = (0..1200).collect();
        assert!(!triangulate(&star, &corners, &mut Vec::new()));
    }

    proptest! {
        /// A star-shaped polygon is simple for all radii: every triangle has its orientation, and
        /// their areas add up to its area.
        #[test]
        fn the_triangles_cover_the_polygon_once(
            radii in prop::collection::vec(0.1..3.0f64, 4..30),
            turn in -3.0..3.0f64,
        ) {
            let count = radii.len() as f64;
            let tilt = glam::DQuat::from_rotation_x(turn);
            let points: Vec<DVec3> = radii.iter().enumerate().map(|(index, radius)| {
                let (sine, cosine) = (index as f64 * std::f64::consts::TAU / count).sin_cos();
                tilt * DVec3::new(radius * cosine, radius * sine, 0.0) + DVec3::ONE
            }).collect();
            let triangles = cut(&points);
            prop_assert_eq!(triangles.len(), radii.len() - 2);
            let normal = tilt * DVec3::Z;
            let part = |triangle: &[u32; 3]| area_vector(&points, *triangle).dot(normal);
            let parts: Vec<f64> = triangles.iter().map(part).collect();
            let slice = (std::f64::consts::TAU / count).sin() / 2.0;
            let sector = |i: usize| radii[i] * radii[(i + 1) % radii.len()] * slice;
            let area: f64 = (0..radii.len()).map(sector).sum();
            prop_assert!(parts.iter().all(|part| *part > -1e-12));
            prop_assert!((parts.iter().sum::<f64>() - area).abs() < 1e-12 * area);
        }

        /// Without panic, and without repeated vertices.
        #[test]
        fn any_polygon_is_triangulated(
            numbers in prop::collection::vec(
                prop::sample::select(vec![0.0, 1.0, -1.0, 1e-300, 1e308, -1e308, 0.5]),
                12..60,
            ),
        ) {
            let points: Vec<DVec3> = numbers.chunks_exact(3).map(DVec3::from_slice).collect();
            let triangles = cut(&points);
            prop_assert!(triangles.len() <= points.len() - 2);
            prop_assert!(triangles.iter().all(|[a, b, c]| a != b && b != c && c != a));
        }
    }
}
