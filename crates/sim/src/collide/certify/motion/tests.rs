//! Cases with a known time of collision.

use glam::DVec3;

use super::*;

mod oracle;
mod properties;

/// The smallest positive number.
const TINY: f64 = f64::from_bits(1);
const ULP: f64 = f64::EPSILON;

type Points = [DVec3; 4];

/// A right triangle in the plane z = 0 with sides of 1, and a point.
fn above_triangle(x: f64, y: f64, z: f64) -> Points {
    [DVec3::new(x, y, z), DVec3::ZERO, DVec3::X, DVec3::Y]
}

/// The edge from -1 to 1 along x at a height, and one from -1 to 1 along y.
fn crossed_edges(x: f64, z: f64) -> Points {
    [
        DVec3::new(x - 1.0, 0.0, z),
        DVec3::new(x + 1.0, 0.0, z),
        -DVec3::Y,
        DVec3::Y,
    ]
}

/// A point at the origin, and a triangle whose corners are the rows of a matrix.
fn around_origin(rows: [[f64; 3]; 3]) -> Points {
    let [a, b, c] = rows.map(DVec3::from);
    [DVec3::ZERO, a, b, c]
}

fn edges(points: [[f64; 3]; 4]) -> Points {
    points.map(DVec3::from)
}

#[track_caller]
fn assert_never(kind: PairKind, from: Points, to: Points) {
    assert_eq!(collision_time(kind, &from, &to), CollisionTime::Never);
    assert_eq!(collision_time(kind, &to, &from), CollisionTime::Never);
}

/// The time must not be late, and not early by more than the reported resolution.
#[track_caller]
fn assert_collides(kind: PairKind, from: Points, to: Points, time: f64) {
    match collision_time(kind, &from, &to) {
        CollisionTime::Never => panic!("the collision at {time} is missed"),
        CollisionTime::At(found) => {
            assert!(found <= time && found >= time - 2f64.powi(-32), "{found}");
        }
    }
    let back = collision_time(kind, &to, &from);
    assert_ne!(back, CollisionTime::Never, "the reverse motion is missed");
}

#[test]
fn a_point_through_the_boundary_of_a_triangle_collides_and_an_ulp_beside_it_does_not() {
    let kind = PairKind::PointTriangle;
    let pass = |x: f64, y: f64| [above_triangle(x, y, 1.0), above_triangle(x, y, -2.0)];
    let inside_or_on_the_boundary = [
        (0.25, 0.25),
        (TINY, TINY),
        (0.0, 0.0),
        (1.0, 0.0),
        (0.0, 1.0),
        (0.5, 0.5),
        (0.25, 0.75),
        (0.0, 0.3),
        (0.7, 0.0),
    ];
    for (x, y) in inside_or_on_the_boundary {
        let [from, to] = pass(x, y);
        assert_collides(kind, from, to, 1.0 / 3.0);
    }
    let just_outside = [
        (-TINY, 0.25),
        (0.25, -TINY),
        (-TINY, 0.0),
        (1.0 + ULP, 0.0),
        (1.0, TINY),
        (0.5 + ULP / 2.0, 0.5),
        (0.5, 0.5 + ULP / 2.0),
        (-ULP, 1.0 + ULP),
    ];
    for (x, y) in just_outside {
        let [from, to] = pass(x, y);
        assert_never(kind, from, to);
    }
}

#[test]
fn an_edge_through_the_end_of_an_edge_collides_and_an_ulp_beyond_does_not() {
    let kind = PairKind::EdgeEdge;
    for x in [0.0, 0.3, 1.0, -1.0, 1.0 - ULP] {
        assert_collides(
            kind,
            crossed_edges(x, 1.0),
            crossed_edges(x, -2.0),
            1.0 / 3.0,
        );
    }
    for x in [1.0 + ULP, -(1.0 + ULP), 1.5] {
        assert_never(kind, crossed_edges(x, 1.0), crossed_edges(x, -2.0));
    }
    // An end an ulp beyond the line of the other edge, at a coordinate that is not a power of two.
    let beside = |x: f64, z: f64| {
        edges([
            [x, -1.0, z],
            [-3.0, 0.0, z],
            [-1.0, -3.0, 0.0],
            [-1.0, 3.0, 0.0],
        ])
    };
    assert_collides(kind, beside(-1.0, 1.0), beside(-1.0, -1.0), 0.5);
    assert_never(kind, beside(-(1.0 + ULP), 1.0), beside(-(1.0 + ULP), -1.0));
}

#[test]
fn motion_that_ends_on_the_triangle_collides_and_motion_that_ends_above_does_not() {
    let kind = PairKind::PointTriangle;
    assert_collides(
        kind,
        above_triangle(0.2, 0.2, 1.0),
        above_triangle(0.3, 0.1, 0.0),
        1.0,
    );
    assert_never(
        kind,
        above_triangle(0.2, 0.2, 1.0),
        above_triangle(0.3, 0.1, TINY),
    );
    assert_never(
        kind,
        above_triangle(0.2, 0.2, TINY),
        above_triangle(0.3, 0.1, TINY),
    );
    assert_collides(
        kind,
        above_triangle(0.2, 0.2, 0.0),
        above_triangle(0.2, 0.2, 1.0),
        0.0,
    );
    assert_collides(
        PairKind::EdgeEdge,
        crossed_edges(0.2, 1.0),
        crossed_edges(0.5, 0.0),
        1.0,
    );
    assert_never(
        PairKind::EdgeEdge,
        crossed_edges(0.2, 1.0),
        crossed_edges(0.5, TINY),
    );
}

#[test]
fn a_point_that_slides_in_the_plane_of_a_triangle_collides_where_it_enters() {
    let kind = PairKind::PointTriangle;
    let slide = |from: [f64; 2], to: [f64; 2]| {
        [
            above_triangle(from[0], from[1], 0.0),
            above_triangle(to[0], to[1], 0.0),
        ]
    };
    let colliding = [
        // Through a side, a corner only, along a side, and onto the boundary at the end.
        ([-1.0, 0.5], [2.0, 0.5], 1.0 / 3.0),
        ([-1.0, 1.0], [2.0, 1.0], 1.0 / 3.0),
        ([-1.0, 0.0], [2.0, 0.0], 1.0 / 3.0),
        ([-1.0, 2.0], [2.0, -1.0], 1.0 / 3.0),
        ([-1.0, 0.5], [0.0, 0.5], 1.0),
    ];
    for (from, to, time) in colliding {
        let [from, to] = slide(from, to);
        assert_collides(kind, from, to, time);
    }
    let missing = [
        ([-1.0, 1.0 + ULP], [2.0, 1.0 + ULP]),
        ([-1.0, -TINY], [2.0, -TINY]),
        ([-1.0, 2.0 + 2.0 * ULP], [2.0, -1.0 + 2.0 * ULP]),
        ([-1.0, 0.5], [-TINY, 0.5]),
    ];
    for (from, to) in missing {
        let [from, to] = slide(from, to);
        assert_never(kind, from, to);
    }
}

#[test]
fn collinear_edges_collide_end_to_end() {
    let kind = PairKind::EdgeEdge;
    let along = |start: f64| {
        let direction = DVec3::new(1.0, 2.0, -3.0);
        [
            start * direction,
            (start + 1.0) * direction,
            4.0 * direction,
            5.0 * direction,
        ]
    };
    assert_collides(kind, along(0.0), along(9.0), 1.0 / 3.0);
    assert_collides(kind, along(0.0), along(3.0), 1.0);
    assert_never(kind, along(0.0), along(2.5));
    // Two parallel edges, one of which moves past the other.
    let beside = |start: f64| {
        edges([
            [start, TINY, 0.0],
            [start + 1.0, TINY, 0.0],
            [0.0; 3],
            [1.0, 0.0, 0.0],
        ])
    };
    assert_never(kind, beside(-3.0), beside(3.0));
}

#[test]
fn features_without_length_or_area_collide_as_points_or_segments() {
    // Two points pass through each other, or not.
    let points = |x: f64, y: f64| edges([[x, x, y], [x, x, y], [0.0; 3], [0.0; 3]]);
    assert_collides(
        PairKind::EdgeEdge,
        points(-1.0, 0.0),
        points(2.0, 0.0),
        1.0 / 3.0,
    );
    assert_never(PairKind::EdgeEdge, points(-1.0, TINY), points(2.0, TINY));
    // A point through a triangle that is a segment, and through one that is a point.
    let needle = |x: f64, y: f64| [DVec3::new(x, y, 0.0), -DVec3::X, DVec3::X, DVec3::X * 0.5];
    assert_collides(
        PairKind::PointTriangle,
        needle(0.3, -1.0),
        needle(0.3, 2.0),
        1.0 / 3.0,
    );
    assert_collides(
        PairKind::PointTriangle,
        needle(1.0, -1.0),
        needle(1.0, 2.0),
        1.0 / 3.0,
    );
    assert_never(
        PairKind::PointTriangle,
        needle(1.0 + ULP, -1.0),
        needle(1.0 + ULP, 2.0),
    );
    let speck = |x: f64, y: f64| [DVec3::new(x, y, 0.0), DVec3::Z, DVec3::Z, DVec3::Z];
    assert_never(PairKind::PointTriangle, speck(-1.0, 0.0), speck(2.0, 0.0));
    // All points at one position, at rest and in common motion.
    for kind in [PairKind::PointTriangle, PairKind::EdgeEdge] {
        assert_collides(kind, [DVec3::ONE; 4], [DVec3::ONE; 4], 0.0);
        assert_collides(kind, [DVec3::ONE; 4], [DVec3::NEG_ONE; 4], 0.0);
    }
}

#[test]
fn double_and_triple_roots_of_the_volume_are_collisions_and_lifted_ones_are_not() {
    let kind = PairKind::PointTriangle;
    // Volume -l²: the triangle shrinks to a segment through the point at l = 0. Lifted: -(l² + d²).
    let double = |l: f64, d: f64| around_origin([[l, -d, 1.0], [d, l, 1.0], [0.0, 0.0, -1.0]]);
    assert_collides(kind, double(-1.0, 0.0), double(2.0, 0.0), 1.0 / 3.0);
    for d in [2f64.powi(-20), 2f64.powi(-45), 2f64.powi(-80)] {
        assert_never(kind, double(-1.0, d), double(2.0, d));
    }
    // Volume l³: the triangle shrinks to the point.
    let triple = |l: f64, d: f64| around_origin([[l, d, 0.0], [0.0, l, d], [d, 0.0, l]]);
    assert_collides(kind, triple(-1.0, 0.0), triple(2.0, 0.0), 1.0 / 3.0);
    // Volume l³ + d³: at l = -d the corners add up to 0, so the point is at the centroid.
    assert_collides(kind, triple(-1.0, 0.25), triple(2.0, 0.25), 0.25);
    // A corner an ulp further: at the root the triangle still contains the point.
    assert_collides(
        kind,
        triple(-1.0, 0.25 + ULP),
        triple(2.0, 0.25 + ULP),
        0.25,
    );
}

#[test]
fn a_rod_that_rotates_in_a_plane_collides_with_the_rods_it_sweeps() {
    let kind = PairKind::EdgeEdge;
    // From the direction of x to that of y; its end moves on the line x + y = 1.
    let sweep = |end: [f64; 2], x: f64, y: f64| {
        edges([
            [0.0; 3],
            [end[0], end[1], 0.0],
            [x, y, 0.0],
            [x + 2.0, y + 2.0, 0.0],
        ])
    };
    let turn = |x: f64, y: f64| [sweep([1.0, 0.0], x, y), sweep([0.0, 1.0], x, y)];
    // Contact of the end alone, at half time, and a miss by an ulp.
    let [from, to] = turn(0.5, 0.5);
    assert_collides(kind, from, to, 0.5);
    let [from, to] = turn(0.5 + ULP, 0.5);
    assert_never(kind, from, to);
    let [from, to] = turn(0.25, 0.25);
    assert_collides(kind, from, to, 0.5);
}

#[test]
fn distant_and_extremely_scaled_features_are_resolved() {
    let kind = PairKind::PointTriangle;
    let far = DVec3::new(1e6, -1e6, 1e6);
    // The spacing of numbers near 1e6.
    let step = 2f64.powi(-33);
    let place = |points: Points| points.map(|point| far + 4.0 * step * point);
    let pass = |x: f64, y: f64| {
        [
            place(above_triangle(x, y, 1.0)),
            place(above_triangle(x, y, -1.0)),
        ]
    };
    for (x, y) in [(0.25, 0.25), (0.0, 0.0), (0.5, 0.5)] {
        let [from, to] = pass(x, y);
        assert_collides(kind, from, to, 0.5);
    }
    for (x, y) in [(-0.25, 0.25), (0.75, 0.5)] {
        let [from, to] = pass(x, y);
        assert_never(kind, from, to);
    }
    for exponent in [-1070, -1000, -200, 200, 1000, 1020] {
        let scale = |points: Points| {
            let half = exponent / 2;
            points.map(|point| point * 2f64.powi(half) * 2f64.powi(exponent - half))
        };
        let pass = |x: f64| [above_triangle(x, 0.5, 4.0), above_triangle(x, 0.5, -4.0)].map(scale);
        let [from, to] = pass(0.5);
        assert_collides(kind, from, to, 0.5);
        let [from, to] = pass(0.625);
        assert_never(kind, from, to);
    }
    // Differences that overflow, and the smallest number together with the largest.
    let huge = |x: f64, z: f64| {
        let corners = [[-1.0, -1.0], [1.0, -1.0], [0.0, 1.0]];
        let [a, b, c] = corners.map(|[x, y]| DVec3::new(x, y, 0.0) * f64::MAX);
        [DVec3::new(x, 0.0, z), a, b, c]
    };
    assert_collides(kind, huge(TINY, f64::MAX), huge(TINY, -f64::MAX), 0.5);
    assert_never(kind, huge(TINY, f64::MAX), huge(TINY, TINY));
    assert_never(
        kind,
        huge(0.75 * f64::MAX, f64::MAX),
        huge(0.75 * f64::MAX, -f64::MAX),
    );
}

#[test]
fn non_finite_positions_collide_at_time_zero() {
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for place in 0..4 {
            for kind in [PairKind::PointTriangle, PairKind::EdgeEdge] {
                let from = above_triangle(5.0, 5.0, 5.0);
                let mut to = from;
                to[place].y = bad;
                assert_eq!(collision_time(kind, &from, &to), CollisionTime::At(0.0));
                assert_eq!(collision_time(kind, &to, &from), CollisionTime::At(0.0));
            }
        }
    }
}
