use proptest::prelude::*;

use super::*;

type Whole = [i128; 3];

fn minus(a: Whole, b: Whole) -> Whole {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

fn dot(a: Whole, b: Whole) -> i128 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: Whole, b: Whole) -> Whole {
    let minor = |i: usize, j: usize| a[i] * b[j] - a[j] * b[i];
    [minor(1, 2), minor(2, 0), minor(0, 1)]
}

/// The distance of features with integer coordinates below 2^17: all operations but the last
/// quotient and root are exact.
fn exact_distance(kind: PairKind, points: &[Whole; 4]) -> f64 {
    let pairs: &[[usize; 2]] = match kind {
        PairKind::PointTriangle => &TRIANGLE,
        PairKind::EdgeEdge => &PARALLELOGRAM,
    };
    let corners: Vec<Whole> = pairs
        .iter()
        .map(|&[one, other]| minus(points[one], points[other]))
        .collect();
    let count = corners.len();
    let mut square = f64::INFINITY;
    let (base, one, other) = (
        corners[0],
        minus(corners[1], corners[0]),
        minus(corners[count - 1], corners[0]),
    );
    let normal = cross(one, other);
    let whole = dot(normal, normal);
    let first = -dot(cross(base, other), normal);
    let second = -dot(cross(one, base), normal);
    let sum = if count == 3 {
        first + second
    } else {
        first.max(second)
    };
    if whole > 0 && first >= 0 && second >= 0 && sum <= whole {
        let height = dot(base, normal);
        square = (height as f64).powi(2) / whole as f64;
    }
    for i in 0..count {
        let (start, end) = (corners[i], corners[(i + 1) % count]);
        let along = minus(end, start);
        square = square.min(dot(start, start) as f64);
        let area = cross(start, end);
        if dot(start, along) < 0 && dot(end, along) > 0 {
            square = square.min(dot(area, area) as f64 / dot(along, along) as f64);
        }
    }
    square.sqrt()
}

fn double(points: &[Whole; 4]) -> [DVec3; 4] {
    points.map(|[x, y, z]| DVec3::new(x as f64, y as f64, z as f64))
}

/// Error in ulp of the largest difference of coordinates.
fn ulps(kind: PairKind, points: &[Whole; 4]) -> f64 {
    let largest = (0..4)
        .flat_map(|i| (0..i).map(move |j| minus(points[i], points[j])))
        .flatten()
        .map(i128::abs)
        .max();
    let error = (distance(kind, &double(points)) - exact_distance(kind, points)).abs();
    error / (largest.unwrap().max(1) as f64 * f64::EPSILON)
}

fn kind() -> impl Strategy<Value = PairKind> {
    prop_oneof![Just(PairKind::PointTriangle), Just(PairKind::EdgeEdge)]
}

fn whole(most: i128) -> impl Strategy<Value = [Whole; 4]> {
    prop::array::uniform4(prop::array::uniform3(-most..=most))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20000))]

    #[test]
    fn distances_are_exact_to_a_few_ulp(kind in kind(), points in whole(1 << 17)) {
        prop_assert!(ulps(kind, &points) < 4.0, "{} ulp", ulps(kind, &points));
    }

    #[test]
    fn distances_of_degenerate_features_are_exact_to_a_few_ulp(
        kind in kind(), points in whole(2)
    ) {
        prop_assert!(ulps(kind, &points) < 4.0, "{} ulp", ulps(kind, &points));
    }

    /// Sides of 2^16 whose directions differ by about 2^-16 to 2^-33.
    #[test]
    fn distances_of_nearly_parallel_features_are_exact_to_a_few_ulp(
        kind in kind(),
        along in prop::array::uniform3(-(1i128 << 15)..=1 << 15),
        multiples in prop::array::uniform4(-2i128..=2),
        nudges in whole(3),
    ) {
        let points: [Whole; 4] = std::array::from_fn(|i| {
            std::array::from_fn(|axis| multiples[i] * along[axis] + nudges[i][axis])
        });
        prop_assert!(ulps(kind, &points) < 4.0, "{} ulp", ulps(kind, &points));
    }
}

#[test]
fn distances_of_simple_features_are_exact() {
    let triangle = |point: [f64; 3]| [point.into(), DVec3::ZERO, 4.0 * DVec3::X, 4.0 * DVec3::Y];
    let cases = [
        // Above the interior, beside a side, beyond a corner, in the triangle.
        ([1.0, 1.0, 2.5], 2.5),
        ([2.0, -3.0, 4.0], 5.0),
        ([-2.0, -3.0, 6.0], 7.0),
        ([1.0, 2.0, 0.0], 0.0),
    ];
    for (point, expected) in cases {
        assert_eq!(
            distance(PairKind::PointTriangle, &triangle(point)),
            expected
        );
    }
    let edges = |x: f64, z: f64| {
        [
            DVec3::new(x, -1.0, z),
            DVec3::new(x, 1.0, z),
            -DVec3::X,
            DVec3::X,
        ]
    };
    for (x, z, expected) in [(0.5, 3.0, 3.0), (4.0, 4.0, 5.0), (1.0, 0.0, 0.0)] {
        assert_eq!(distance(PairKind::EdgeEdge, &edges(x, z)), expected);
    }
}

#[test]
fn distances_scale_exactly_from_the_smallest_to_the_largest_number() {
    let points = [
        DVec3::new(0.0, 1.0, 0.25),
        DVec3::new(0.5, -1.0, 1.0),
        DVec3::new(-1.0, 0.0, -0.5),
        DVec3::new(1.0, 0.25, -1.0),
    ];
    for kind in [PairKind::PointTriangle, PairKind::EdgeEdge] {
        let unscaled = distance(kind, &points);
        assert!(unscaled > 0.1);
        for exponent in [-1000, -200, 200, 1000, 1022] {
            let scale = 2f64.powi(exponent);
            assert_eq!(
                distance(kind, &points.map(|point| point * scale)),
                unscaled * scale
            );
        }
        // Subnormal numbers have few digits, and so has the distance.
        let tiny = distance(kind, &points.map(|point| point * f64::from_bits(4)));
        assert!((tiny - unscaled * f64::from_bits(4)).abs() <= f64::from_bits(1));
        // A translation without rounding changes nothing.
        let shift = DVec3::new(1e6, -3e5, 7e4);
        assert_eq!(distance(kind, &points.map(|point| point + shift)), unscaled);
    }
}

#[test]
fn non_finite_positions_have_distance_zero() {
    for bad in [f64::NAN, f64::INFINITY] {
        let points = [
            DVec3::X,
            DVec3::Y,
            DVec3::new(9.0, bad, 9.0),
            DVec3::ONE * 9.0,
        ];
        for kind in [PairKind::PointTriangle, PairKind::EdgeEdge] {
            assert_eq!(distance(kind, &points), 0.0);
        }
    }
}
