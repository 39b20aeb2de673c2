use super::*;
use glam::DQuat;
use proptest::array::uniform4;
use proptest::prelude::*;

type Whole = [i128; 3];

fn minus(a: Whole, b: Whole) -> Whole {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

fn dot(a: Whole, b: Whole) -> i128 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: Whole, b: Whole) -> Whole {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

fn root(numerator: i128, denominator: i128) -> f64 {
    (numerator as f64 / denominator as f64).sqrt()
}

/// Distance of a point and a segment with integer coordinates: only the last operation rounds.
fn exact_point_edge(p: Whole, a: Whole, b: Whole) -> f64 {
    let (along, from_a) = (minus(b, a), minus(p, a));
    let (length, at) = (dot(along, along), dot(from_a, along));
    if at <= 0 {
        root(dot(from_a, from_a), 1)
    } else if at >= length {
        root(dot(minus(p, b), minus(p, b)), 1)
    } else {
        let across = cross(from_a, along);
        root(dot(across, across), length)
    }
}

/// The smallest distance to a sub-feature that contains the foot of the perpendicular.
fn exact_point_triangle([p, a, b, c]: [Whole; 4]) -> f64 {
    let sides = [[a, b], [b, c], [c, a]];
    let border = sides
        .iter()
        .map(|[from, to]| exact_point_edge(p, *from, *to))
        .fold(f64::INFINITY, f64::min);
    let normal = cross(minus(b, a), minus(c, a));
    let is_inside = normal != [0; 3]
        && sides
            .iter()
            .all(|[from, to]| dot(cross(minus(*to, *from), minus(p, *from)), normal) >= 0);
    if !is_inside {
        return border;
    }
    let height = dot(normal, minus(p, a)).abs();
    let square = dot(normal, normal);
    border.min(height as f64 / (square as f64).sqrt())
}

fn exact_edge_edge([a, b, c, d]: [Whole; 4]) -> f64 {
    let ends = [
        exact_point_edge(a, c, d),
        exact_point_edge(b, c, d),
        exact_point_edge(c, a, b),
        exact_point_edge(d, a, b),
    ];
    let border = ends.into_iter().fold(f64::INFINITY, f64::min);
    let (one, other, between) = (minus(b, a), minus(d, c), minus(c, a));
    let normal = cross(one, other);
    let square = dot(normal, normal);
    let at_one = dot(cross(between, other), normal);
    let at_other = dot(cross(between, one), normal);
    let is_inside = square > 0
        && [at_one, at_other]
            .iter()
            .all(|at| (0..=square).contains(at));
    if !is_inside {
        return border;
    }
    border.min(dot(between, normal).abs() as f64 / (square as f64).sqrt())
}

fn points(whole: [Whole; 4]) -> [DVec3; 4] {
    whole.map(|[x, y, z]| DVec3::new(x as f64, y as f64, z as f64))
}

fn size(points: &[DVec3; 4]) -> f64 {
    let others = points.iter().map(|point| point.distance(points[0]));
    others.fold(0.0, f64::max)
}

/// The weighted sum, relative to the first point: the weights sum to 0, and the rounding error does
/// not depend on the distance from the origin.
fn blend(points: &[DVec3; 4], weights: &[f64; 4]) -> DVec3 {
    let terms = points.iter().zip(weights);
    terms.map(|(point, w)| (*point - points[0]) * *w).sum()
}

/// Checks invariants of a result. Returns its error, in rounding errors of the size of the pair.
fn error(points: &[DVec3; 4], closest: &Closest, first: usize, exact: f64) -> f64 {
    let (one, other) = closest.weights.split_at(first);
    assert!(one.iter().all(|weight| (0.0..=1.0).contains(weight)));
    assert!(other.iter().all(|weight| (-1.0..=0.0).contains(weight)));
    assert!((one.iter().sum::<f64>() - 1.0).abs() <= 4e-16);
    assert!((other.iter().sum::<f64>() + 1.0).abs() <= 4e-16);
    let rounding = f64::EPSILON * size(points);
    assert!(blend(points, &closest.weights).distance(closest.vector) <= 16.0 * rounding);
    assert_eq!(closest.vector.length(), closest.distance);
    if closest.distance == exact {
        0.0
    } else {
        (closest.distance - exact).abs() / rounding
    }
}

/// Largest error of a distance, in rounding errors of the size of the pair.
const MAX_ERROR: f64 = 4.0;

/// Small integers, where coincidences of all kinds are frequent.
fn small() -> impl Strategy<Value = [Whole; 4]> {
    uniform4([-3..=3_i128, -3..=3_i128, -2..=2_i128])
}

/// Four points near a line: needles and nearly parallel edges, as thin as 10⁻⁶ to 10⁻¹ of their
/// length.
fn thin() -> impl Strategy<Value = [Whole; 4]> {
    let direction = [-1000..=1000_i128, -1000..=1000_i128, -1000..=1000_i128];
    let places = uniform4(-400..=400_i128);
    (
        direction,
        places,
        0..12_u32,
        uniform4([-9..=9_i128, -9..=9_i128, -9..=9_i128]),
    )
        .prop_map(|(direction, places, bits, noise)| {
            [0, 1, 2, 3]
                .map(|i| [0, 1, 2].map(|k| places[i] * direction[k] + ((noise[i][k] << bits) >> 4)))
        })
}

fn vectors() -> impl Strategy<Value = [DVec3; 4]> {
    let coordinate = || -1.0..1.0_f64;
    uniform4([coordinate(), coordinate(), coordinate()].prop_map(DVec3::from))
}

/// Compares both distances with exact fractions.
fn is_exact(whole: [Whole; 4]) -> Result<(), TestCaseError> {
    let points = points(whole);
    let triangle = error(
        &points,
        &point_triangle(points),
        1,
        exact_point_triangle(whole),
    );
    prop_assert!(triangle <= MAX_ERROR, "point-triangle is off by {triangle}");
    let edge = error(&points, &edge_edge(points), 2, exact_edge_edge(whole));
    prop_assert!(edge <= MAX_ERROR, "edge-edge is off by {edge}");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn distances_of_small_integers_are_exact(whole in small()) {
        is_exact(whole)?;
    }

    #[test]
    fn distances_of_needles_and_nearly_parallel_edges_are_exact(whole in thin()) {
        is_exact(whole)?;
    }

    #[test]
    fn no_other_points_of_the_features_are_closer(
        points in vectors(), s in 0.0..1.0_f64, t in 0.0..1.0_f64
    ) {
        let [a, b, c, d] = points;
        let in_edges = a.lerp(b, s).distance(c.lerp(d, t));
        prop_assert!(edge_edge(points).distance <= in_edges + 1e-15);
        let in_triangle = b.lerp(c, s).lerp(d, t);
        prop_assert!(point_triangle(points).distance <= a.distance(in_triangle) + 1e-15);
    }

    #[test]
    fn the_order_of_the_points_changes_rounding_only(points in vectors()) {
        let [a, b, c, d] = points;
        let (one, turned) = (point_triangle(points), point_triangle([a, d, b, c]));
        prop_assert!((one.distance - turned.distance).abs() <= 1e-15);
        let [w, u, v, x] = turned.weights;
        for (weight, other) in one.weights.iter().zip([w, v, x, u]) {
            // The accuracy of weights is proportional to the width of the triangle.
            let width = (c - b).cross(d - b).length();
            prop_assert!((weight - other).abs() * width <= 1e-13);
        }
        let (one, swapped) = (edge_edge(points), edge_edge([d, c, a, b]));
        prop_assert!((one.distance - swapped.distance).abs() <= 1e-15);
        let [w3, w2, w0, w1] = swapped.weights;
        for (weight, other) in one.weights.iter().zip([w0, w1, w2, w3]) {
            let width = (b - a).cross(d - c).length();
            prop_assert!((weight + other).abs() * width <= 1e-13);
        }
    }

    #[test]
    fn scaling_by_a_power_of_two_scales_the_result_exactly(
        points in vectors(), exponent in -200..=200_i32
    ) {
        let scale = 2.0_f64.powi(exponent);
        let scaled = points.map(|point| point * scale);
        for (one, large) in [
            (point_triangle(points), point_triangle(scaled)),
            (edge_edge(points), edge_edge(scaled)),
        ] {
            prop_assert_eq!(one.weights, large.weights);
            prop_assert_eq!(one.vector * scale, large.vector);
            prop_assert_eq!(one.distance * scale, large.distance);
        }
    }

    #[test]
    fn an_exact_translation_changes_nothing(
        whole in uniform4([-99..=99_i128, -99..=99_i128, -99..=99_i128]),
        shift in [-9999..=9999_i32, -9999..=9999_i32, -9999..=9999_i32],
    ) {
        let points = points(whole);
        let shift = DVec3::from(shift.map(f64::from));
        let shifted = points.map(|point| point + shift);
        prop_assert_eq!(point_triangle(points), point_triangle(shifted));
        prop_assert_eq!(edge_edge(points), edge_edge(shifted));
    }

    #[test]
    fn rotations_change_the_distance_by_rounding_only(
        points in vectors(),
        axis in [-1.0..1.0_f64, -1.0..1.0, 0.1..1.0_f64],
        angle in -3.0..3.0_f64,
    ) {
        let turn = DQuat::from_axis_angle(DVec3::from(axis).normalize(), angle);
        let turned = points.map(|point| turn * point);
        let [one, other] = [points, turned].map(|points| point_triangle(points).distance);
        prop_assert!((one - other).abs() <= 5e-15);
        let [one, other] = [points, turned].map(|points| edge_edge(points).distance);
        prop_assert!((one - other).abs() <= 5e-15);
    }
}

#[test]
fn parallel_edges_are_closest_at_the_middle_of_their_overlap() {
    let at = |x: f64, z: f64| DVec3::new(x, 0.0, z);
    let closest = edge_edge([at(0.0, 0.0), at(4.0, 0.0), at(1.0, 2.0), at(9.0, 2.0)]);
    // They overlap from x = 1 to x = 4.
    assert_eq!(closest.weights, [0.375, 0.625, -0.8125, -0.1875]);
    assert_eq!(closest.vector, DVec3::new(0.0, 0.0, -2.0));
    // Either edge may be reversed; a rotation by a third of a turn rounds, and is still a tie.
    let turn = DQuat::from_axis_angle(DVec3::new(1.0, 2.0, 3.0).normalize(), 2.1);
    let points = [at(4.0, 0.0), at(0.0, 0.0), at(9.0, 2.0), at(1.0, 2.0)].map(|p| turn * p);
    let closest = edge_edge(points);
    let expected = [0.625, 0.375, -0.1875, -0.8125];
    for (weight, expected) in closest.weights.iter().zip(expected) {
        assert!((weight - expected).abs() < 1e-14);
    }
    // End to end there is no overlap.
    let closest = edge_edge([at(0.0, 0.0), at(1.0, 0.0), at(3.0, 0.0), at(2.0, 0.0)]);
    assert_eq!(closest.weights, [0.0, 1.0, 0.0, -1.0]);
}

#[test]
fn weights_are_zero_outside_the_region_of_the_closest_point() {
    let triangle = [DVec3::ZERO, DVec3::X, DVec3::Y];
    let corners = |x, y| {
        let [a, b, c] = triangle;
        let closest = point_triangle([DVec3::new(x, y, 1.0), a, b, c]);
        let weights = closest.weights[1..].iter();
        weights.filter(|weight| **weight != 0.0).count()
    };
    assert_eq!(corners(0.25, 0.25), 3);
    assert_eq!(corners(0.5, 0.0), 2);
    assert_eq!(corners(0.5, -1.0), 2);
    assert_eq!(corners(1.0, 1.0), 2);
    assert_eq!(corners(0.0, 0.0), 1);
    assert_eq!(corners(-1.0, -1.0), 1);
}

#[test]
fn degenerate_features_are_points() {
    let p = DVec3::new(1.0, 2.0, 3.0);
    let at_origin = [DVec3::ZERO; 3];
    let [a, b, c] = at_origin;
    let closest = point_triangle([p, a, b, c]);
    assert_eq!(closest.distance, 14.0_f64.sqrt());
    assert_eq!(closest.weights.iter().filter(|w| **w != 0.0).count(), 2);
    assert_eq!(edge_edge([p, p, a, b]).distance, 14.0_f64.sqrt());
    assert_eq!(edge_edge([p, p, DVec3::ZERO, 2.0 * p]).distance, 0.0);
    assert_eq!(edge_edge([p; 4]).distance, 0.0);
    assert_eq!(point_triangle([p; 4]).distance, 0.0);
}

#[test]
fn non_finite_positions_have_a_non_finite_distance() {
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for place in 0..4 {
            let mut points = [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z];
            points[place].y = bad;
            assert!(!edge_edge(points).distance.is_finite());
            let closest = point_triangle(points);
            assert!(!closest.distance.is_finite());
            assert!(closest.weights.iter().all(|weight| weight.is_finite()));
        }
    }
}
