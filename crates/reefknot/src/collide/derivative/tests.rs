use super::*;
use crate::collide::distance::{Region, edge_edge, point_triangle};
use proptest::array::uniform4;
use proptest::prelude::*;

type Find = fn([DVec3; 4]) -> Closest;

fn vectors() -> impl Strategy<Value = [DVec3; 4]> {
    let coordinate = || -1.0..1.0_f64;
    uniform4([coordinate(), coordinate(), coordinate()].prop_map(DVec3::from))
}

/// Whether the closest points are well inside of what they lie on, and features have a size: then the distance is smooth.
fn is_smooth(points: &[DVec3; 4], find: Find, closest: &Closest) -> bool {
    let inside = |weight: &f64| *weight == 0.0 || weight.abs() > 0.02;
    let step = 1e-3;
    let same_region = (0..12).all(|at| {
        [step, -step].into_iter().all(|step| {
            let mut moved = *points;
            moved[at / 3][at % 3] += step;
            let moved = find(moved).weights;
            moved
                .iter()
                .zip(closest.weights)
                .all(|(one, other)| (*one == 0.0) == (other == 0.0))
        })
    });
    let [a, b, c, d] = *points;
    let wide = match closest.region() {
        Region::EdgeEdge => (b - a).cross(d - c).length() > 0.1,
        Region::PointTriangle => (c - b).cross(d - b).length() > 0.1,
        _ => true,
    };
    closest.distance > 0.1 && wide && same_region && closest.weights.iter().all(inside)
}

/// Compares gradient and Hessian with central differences of value and gradient.
fn check(
    points: &[DVec3; 4],
    find: Find,
    derivatives: impl Fn(&[DVec3; 4], &Closest) -> (f64, Derivatives),
) {
    let at = |points: &[DVec3; 4]| derivatives(points, &find(*points));
    let (_, found) = at(points);
    let step = 1e-5;
    for (point, axis) in (0..12).map(|at| (at / 3, at % 3)) {
        let (mut ahead, mut behind) = (*points, *points);
        ahead[point][axis] += step;
        behind[point][axis] -= step;
        let (ahead, behind) = (at(&ahead), at(&behind));
        let slope = (ahead.0 - behind.0) / (2.0 * step);
        assert!((slope - found.gradient[point][axis]).abs() < 1e-6);
        for other in 0..4 {
            let slope = (ahead.1.gradient[other] - behind.1.gradient[other]) / (2.0 * step);
            let column = found.hessian[other][point].col(axis);
            let scale = 1.0 + column.length();
            assert!((slope - column).length() < 1e-5 * scale, "{slope} {column}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn derivatives_are_those_of_differences(points in vectors(), is_edges in any::<bool>()) {
        let find: Find = if is_edges { edge_edge } else { point_triangle };
        prop_assume!(is_smooth(&points, find, &find(points)));
        check(&points, find, |points, closest| {
            (closest.distance, of_distance(points, closest).unwrap())
        });
        check(&points, find, |points, closest| {
            (0.5 * closest.distance * closest.distance, of_half_square(points, closest))
        });
    }

    #[test]
    fn a_shift_changes_nothing(points in vectors(), is_edges in any::<bool>()) {
        let find: Find = if is_edges { edge_edge } else { point_triangle };
        let derivatives = of_half_square(&points, &find(points));
        prop_assert!(derivatives.gradient.iter().sum::<DVec3>().length() < 1e-15);
        for row in derivatives.hessian {
            let largest = row.iter().flat_map(DMat3::to_cols_array).fold(1.0, |m: f64, x| m.max(x.abs()));
            let sum = row.iter().fold(DMat3::ZERO, |sum, block| sum + *block);
            prop_assert!(sum.to_cols_array().iter().all(|x| x.abs() <= 1e-14 * largest));
        }
    }
}

/// A test of the test: each region must be met often enough.
#[test]
fn every_region_has_smooth_places() {
    let square = [DVec3::ZERO, DVec3::X, DVec3::Y];
    let [a, b, c] = square;
    for (point, region) in [
        ([0.3, 0.3, 0.5], Region::PointTriangle),
        ([0.4, -0.5, 0.5], Region::PointEdge),
        ([-0.5, -0.5, 0.5], Region::PointPoint),
    ] {
        let points = [DVec3::from(point), a, b, c];
        let closest = point_triangle(points);
        assert_eq!(closest.region(), region);
        assert!(is_smooth(&points, point_triangle, &closest));
        check(&points, point_triangle, |points, closest| {
            (closest.distance, of_distance(points, closest).unwrap())
        });
    }
    let points = [
        DVec3::ZERO,
        DVec3::X,
        DVec3::new(0.4, -0.5, 0.5),
        DVec3::new(0.3, 0.6, 0.4),
    ];
    let closest = edge_edge(points);
    assert_eq!(closest.region(), Region::EdgeEdge);
    assert!(is_smooth(&points, edge_edge, &closest));
    check(&points, edge_edge, |points, closest| {
        (closest.distance, of_distance(points, closest).unwrap())
    });
}

#[test]
fn edges_side_by_side_have_the_derivative_of_parallel_lines() {
    let points = [
        DVec3::ZERO,
        DVec3::X,
        DVec3::new(0.0, 0.0, 0.5),
        DVec3::new(1.0, 0.0, 0.5),
    ];
    let closest = edge_edge(points);
    let derivatives = of_distance(&points, &closest).unwrap();
    assert_eq!(derivatives.gradient[0], DVec3::new(0.0, 0.0, -0.5));
    // Both ends of an edge moved together along y by ε: √(0.5² + ε²) = 0.5 + ε² + …
    let together = |k: usize| {
        let block = |i: usize, j: usize| derivatives.hessian[i][j].col(k)[k];
        block(0, 0) + block(0, 1) + block(1, 0) + block(1, 1)
    };
    assert!((together(1) - 2.0).abs() < 1e-14);
    // Along the edges and along the normal nothing changes, to second order.
    assert!(together(0).abs() < 1e-14 && together(2).abs() < 1e-14);
    let entries = derivatives.hessian.as_flattened().iter();
    assert!(
        entries
            .flat_map(DMat3::to_cols_array)
            .all(|entry| entry.abs() < 10.0)
    );
}

#[test]
fn at_distance_zero_only_the_square_has_derivatives() {
    let points = [DVec3::new(0.25, 0.25, 0.0), DVec3::ZERO, DVec3::X, DVec3::Y];
    let closest = point_triangle(points);
    assert_eq!(closest.distance, 0.0);
    assert_eq!(of_distance(&points, &closest), None);
    let derivatives = of_half_square(&points, &closest);
    // ½z² of the point over the plane.
    let expected = DMat3::from_diagonal(DVec3::Z);
    assert!(
        (derivatives.hessian[0][0] - expected)
            .to_cols_array()
            .iter()
            .all(|x| x.abs() < 1e-15)
    );
    let bad = point_triangle([DVec3::NAN, DVec3::ZERO, DVec3::X, DVec3::Y]);
    assert_eq!(of_distance(&points, &bad), None);
}
