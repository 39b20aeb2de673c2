//! Random motions: compared with algebra, with constructed collisions, and with equivalent motions.

use glam::DVec3;
use proptest::prelude::*;

use super::oracle::first_collision;
use super::{CollisionTime, PairKind, Points, collision_time};

fn whole_points() -> impl Strategy<Value = Points> {
    let coordinate = -2i8..=2;
    prop::array::uniform4(prop::array::uniform3(coordinate))
        .prop_map(|points| points.map(|point| DVec3::from(point.map(f64::from))))
}

fn real_points() -> impl Strategy<Value = Points> {
    prop::array::uniform4(prop::array::uniform3(-1.0..1.0))
        .prop_map(|points| points.map(DVec3::from))
}

fn any_points() -> impl Strategy<Value = [Points; 2]> {
    prop_oneof![
        [whole_points(), whole_points()],
        [real_points(), real_points()]
    ]
}

fn kind() -> impl Strategy<Value = PairKind> {
    prop_oneof![Just(PairKind::PointTriangle), Just(PairKind::EdgeEdge)]
}

/// Orders of the points that leave the features the same.
fn orders(kind: PairKind) -> &'static [[usize; 4]] {
    match kind {
        PairKind::PointTriangle => &[[0, 1, 2, 3], [0, 2, 3, 1], [0, 3, 2, 1], [0, 2, 1, 3]],
        PairKind::EdgeEdge => &[[0, 1, 2, 3], [1, 0, 2, 3], [0, 1, 3, 2], [2, 3, 0, 1]],
    }
}

/// Whether two results agree up to the reported resolution.
fn agree(one: CollisionTime, other: CollisionTime) -> bool {
    match (one, other) {
        (CollisionTime::At(one), CollisionTime::At(other)) => (one - other).abs() <= 2f64.powi(-32),
        _ => one == other,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// For such small integer coordinates, parallel, flat, touching and degenerate features are
    /// frequent.
    #[test]
    fn small_integer_coordinates_collide_as_algebra_shows(
        kind in kind(),
        from in whole_points(),
        to in whole_points(),
    ) {
        let answer = first_collision(kind, &from, &to);
        prop_assume!(answer.is_some());
        match (collision_time(kind, &from, &to), answer.unwrap()) {
            (CollisionTime::Never, None) => {}
            (CollisionTime::At(time), Some([low, high])) => {
                prop_assert!(time <= high, "{time} is after {high}");
                prop_assert!(time >= low - 2f64.powi(-32), "{time} is long before {low}");
            }
            (found, answer) => prop_assert!(false, "found {found:?} where {answer:?} is right"),
        }
    }

    #[test]
    fn features_at_rest_collide_as_algebra_shows(kind in kind(), points in whole_points()) {
        let collides = first_collision(kind, &points, &points).unwrap().is_some();
        let expected = if collides { CollisionTime::At(0.0) } else { CollisionTime::Never };
        prop_assert_eq!(collision_time(kind, &points, &points), expected);
    }

    /// At a known time, a point well inside one feature is placed on one well inside the other, and
    /// the motion continues.
    #[test]
    fn no_constructed_collision_is_missed(
        kind in kind(),
        [from, middle] in any_points(),
        [s, r] in prop::array::uniform2(0.01..0.99),
        tenths in 1u8..10,
    ) {
        let mut middle = middle;
        match kind {
            PairKind::PointTriangle => middle[0] = middle[1].lerp(middle[2], s).lerp(middle[3], r),
            PairKind::EdgeEdge => {
                let gap = middle[0].lerp(middle[1], s) - middle[2].lerp(middle[3], r);
                middle[2] += gap;
                middle[3] += gap;
            }
        }
        // Rounding moves a feature that is a point there past the other.
        let size = match kind {
            PairKind::PointTriangle => {
                (middle[2] - middle[1]).cross(middle[3] - middle[1]).length()
            }
            PairKind::EdgeEdge => {
                middle[0].distance(middle[1]).min(middle[2].distance(middle[3]))
            }
        };
        prop_assume!(size > 1e-3);
        let time = f64::from(tenths) / 10.0;
        let to: Points = std::array::from_fn(|i| from[i] + (middle[i] - from[i]) / time);
        // Rounding shifts the collision by about an ulp. It remains one if the volume changes its
        // sign there by much more.
        let volume = |time: f64| {
            let [p, a, b, c] = std::array::from_fn(|i| from[i].lerp(to[i], time));
            (a - p).cross(b - p).dot(c - p)
        };
        prop_assume!(volume(time - 1e-3) * volume(time + 1e-3) < -1e-14);
        match collision_time(kind, &from, &to) {
            CollisionTime::Never => prop_assert!(false, "missed at {time}"),
            CollisionTime::At(found) => {
                prop_assert!(found <= time + 1e-9, "{found} is after {time}");
            }
        }
    }

    #[test]
    fn order_position_and_scale_do_not_change_the_result(
        kind in kind(),
        [from, to] in any_points(),
        order in 0usize..4,
        shift in prop::array::uniform3(-1000i32..1000),
        exponent in -300i32..300,
    ) {
        let expected = collision_time(kind, &from, &to);
        let order = orders(kind)[order];
        let [one, other] = [from, to].map(|points| order.map(|i| points[i]));
        prop_assert!(agree(expected, collision_time(kind, &one, &other)), "other order");
        let scale = |points: Points| points.map(|point| point * 2f64.powi(exponent));
        prop_assert_eq!(expected, collision_time(kind, &scale(from), &scale(to)));
        // Rounded to 2^-40, so that the translation is exact.
        let unit = 2f64.powi(40);
        let [from, to] = [from, to].map(|points| points.map(|point| (point * unit).round() / unit));
        let shift = DVec3::from(shift.map(f64::from));
        let [start, end] = [from, to].map(|points| points.map(|point| point + shift));
        prop_assert_eq!(collision_time(kind, &from, &to), collision_time(kind, &start, &end));
    }
}
