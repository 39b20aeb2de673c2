use super::*;
use proptest::array::{uniform2, uniform3};
use proptest::prelude::*;

fn shapes() -> impl Strategy<Value = Shape> {
    let length = || 0.1..1.0_f64;
    prop_oneof![
        [length(), length(), length()].prop_map(|size| Shape::Box { size }),
        length().prop_map(|radius| Shape::Sphere { radius }),
        (length(), length()).prop_map(|(radius, length)| Shape::Cylinder { radius, length }),
        (length(), length()).prop_map(|(radius, length)| Shape::Capsule { radius, length }),
        Just(Shape::Plane { size: 1.0 }),
        (length(), length()).prop_map(|(radius, height)| Shape::Cone { radius, height }),
    ]
}

fn vector() -> impl Strategy<Value = DVec3> {
    [-1.5..1.5_f64, -1.5..1.5_f64, -1.5..1.5_f64].prop_map(DVec3::from)
}

/// Some corners are moved onto planes and axes where the distance is not smooth.
fn corners() -> impl Strategy<Value = [DVec3; 3]> {
    (uniform3(vector()), 0..4_usize).prop_map(|(corners, snap)| {
        corners.map(|corner| match snap {
            1 => (corner * 2.0).round() / 2.0,
            2 => corner.with_z(0.75),
            3 => corner.with_x(0.0),
            _ => corner,
        })
    })
}

/// The smallest distance of a fine grid of points.
fn sampled(shape: &Shape, [a, b, c]: [DVec3; 3]) -> f64 {
    let steps = 24;
    let mut least = f64::INFINITY;
    for i in 0..=steps {
        for j in 0..=steps - i {
            let [v, w] = [i, j].map(|k| f64::from(k) / f64::from(steps));
            let at = a * (1.0 - v - w) + b * v + c * w;
            least = least.min(shape.distance(at).unwrap());
        }
    }
    least
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn the_gradient_equals_finite_differences(shape in shapes(), point in vector()) {
        let found = signed_distance(&shape, point).unwrap();
        prop_assert_eq!(Some(found.distance), shape.distance(point));
        prop_assert!((found.gradient.length() - 1.0).abs() < 1e-14);
        let step = 1e-6;
        let slope = |axis: DVec3| {
            let at = |step: f64| shape.distance(point + axis * step).unwrap();
            let [ahead, behind] = [at(step), at(-step)];
            [(ahead - found.distance) / step, (found.distance - behind) / step]
        };
        for (k, axis) in DVec3::AXES.into_iter().enumerate() {
            let [ahead, behind] = slope(axis);
            // Where a convex function is not smooth, its gradient is between the slopes of the two
            // sides.
            prop_assert!(found.gradient[k] <= ahead + 1e-4 && found.gradient[k] >= behind - 1e-4);
        }
    }

    #[test]
    fn no_point_of_a_feature_is_closer_and_the_bound_holds(
        shape in shapes(), corners in corners()
    ) {
        let [a, b, _] = corners;
        for (corners, least) in [
            (&corners[..1], sampled(&shape, [a; 3])),
            (&corners[..2], sampled(&shape, [a, b, b])),
            (&corners[..], sampled(&shape, corners)),
        ] {
            let nearest = closest(&shape, corners).unwrap();
            let at: DVec3 = corners.iter().zip(nearest.weights).map(|(c, w)| *c * w).sum();
            prop_assert!(nearest.weights.iter().all(|weight| (0.0..=1.0).contains(weight)));
            prop_assert!((nearest.weights.iter().sum::<f64>() - 1.0).abs() < 1e-15);
            prop_assert!((shape.distance(at).unwrap() - nearest.signed.distance).abs() < 1e-14);
            prop_assert!(nearest.signed.distance <= least + 1e-12);
            prop_assert!(nearest.bound <= least + 1e-14);
            prop_assert!(nearest.bound <= nearest.signed.distance);
            // Outside of the shape the bound is tight.
            if nearest.signed.distance > 1e-3 {
                prop_assert!(nearest.bound >= nearest.signed.distance - 1e-10, "{nearest:?}");
            }
        }
    }

    #[test]
    fn first_contact_is_not_late_and_at_most_a_tolerance_early(
        shape in shapes(), from in corners(), to in corners(), count in 1..=3_usize
    ) {
        let from = from.map(|corner| corner + DVec3::Z * 3.0);
        let (separation, tolerance) = (0.01, 1e-4);
        let at = |time: f64| [0, 1, 2].map(|i| from[i].lerp(to[i], time));
        let distance = |time: f64| closest(&shape, &at(time)[..count]).unwrap().signed.distance;
        let found = first_contact(&shape, &from[..count], &to[..count], separation, tolerance);
        let steps = 200;
        let mut times = (0..=steps).map(|step| f64::from(step) / f64::from(steps));
        let first = times.find(|time| distance(*time) <= separation);
        match (found, first) {
            (Some(found), Some(first)) => prop_assert!(found <= first),
            (None, Some(first)) => prop_assert!(false, "contact at {first} was missed"),
            _ => {}
        }
        if let Some(found) = found {
            prop_assert!(distance(found) <= separation + 2.0 * tolerance);
        }
    }

    #[test]
    fn a_feature_within_the_separation_at_the_start_is_in_contact(
        shape in shapes(), from in uniform2(vector()), to in uniform2(vector())
    ) {
        let apart = closest(&shape, &from).unwrap().signed.distance;
        prop_assert_eq!(first_contact(&shape, &from, &to, apart + 1e-9, 0.0), Some(0.0));
    }
}

#[test]
fn a_large_triangle_does_not_sink_onto_a_small_ball() {
    let ball = Shape::Sphere { radius: 0.01 };
    let triangle =
        |z: f64| [[-1.0, -1.0], [1.0, -1.0], [0.0, 2.0]].map(|[x, y]| DVec3::new(x, y, z));
    let nearest = closest(&ball, &triangle(0.015)).unwrap();
    assert!((nearest.signed.distance - 0.005).abs() < 1e-14);
    assert!((nearest.signed.gradient - DVec3::Z).length() < 1e-12);
    assert!(nearest.weights.iter().all(|weight| *weight > 0.2));
    let time = first_contact(&ball, &triangle(1.0), &triangle(-1.0), 0.0, 1e-9).unwrap();
    assert!((time - 0.495).abs() < 1e-8 && time <= 0.495);
    assert_eq!(
        first_contact(&ball, &triangle(1.0), &triangle(0.0101), 0.0, 1e-9),
        None
    );
}

#[test]
fn an_edge_along_a_face_is_closest_at_its_middle() {
    let plate = Shape::Box {
        size: [1.0, 1.0, 0.2],
    };
    let edge = [DVec3::new(-2.0, 0.0, 0.3), DVec3::new(2.0, 0.0, 0.3)];
    let nearest = closest(&plate, &edge).unwrap();
    assert!((nearest.signed.distance - 0.2).abs() < 1e-15);
    assert!((nearest.weights[0] - 0.5).abs() < 1e-6);
}

#[test]
fn non_finite_features_are_in_contact_and_have_no_distance() {
    let ball = Shape::Sphere { radius: 1.0 };
    for bad in [f64::NAN, f64::INFINITY] {
        let corners = [DVec3::X * 5.0, DVec3::new(5.0, bad, 0.0)];
        assert_eq!(closest(&ball, &corners), None);
        let fine = [DVec3::X * 5.0; 2];
        assert_eq!(first_contact(&ball, &corners, &fine, 0.0, 0.0), Some(0.0));
        assert_eq!(first_contact(&ball, &fine, &corners, 0.0, 0.0), Some(0.0));
    }
    let huge = [DVec3::splat(1e300), DVec3::splat(-1e300), DVec3::X];
    // No panic, whatever the result.
    let _ = (
        closest(&ball, &huge),
        first_contact(&ball, &huge, &huge, 0.0, 0.0),
    );
    assert_eq!(closest(&ball, &[]), None);
    let stairs = Shape::Stairs {
        steps: 3,
        tread: 1.0,
        rise: 1.0,
        width: 1.0,
    };
    assert_eq!(closest(&stairs, &[DVec3::X]), None);
}
