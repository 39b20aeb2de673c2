//! Random motions: against algebra, against arranged meetings, and against themselves in other words.

use glam::DVec3;
use proptest::prelude::*;

use super::oracle::first_meeting;
use super::{Kind, Meeting, Points, motion_meets};

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

fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![Just(Kind::PointTriangle), Just(Kind::EdgeEdge)]
}

/// Orders of the points that leave the features the same.
fn orders(kind: Kind) -> &'static [[usize; 4]] {
    match kind {
        Kind::PointTriangle => &[[0, 1, 2, 3], [0, 2, 3, 1], [0, 3, 2, 1], [0, 2, 1, 3]],
        Kind::EdgeEdge => &[[0, 1, 2, 3], [1, 0, 2, 3], [0, 1, 3, 2], [2, 3, 0, 1]],
    }
}

/// The same answer, at times that differ by no more than the spans that are told.
fn agree(one: Meeting, other: Meeting) -> bool {
    match (one, other) {
        (Meeting::At(one), Meeting::At(other)) => (one - other).abs() <= 2f64.powi(-32),
        _ => one == other,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Where whole coordinates are so small, parallel, flat, touching and vanishing features are frequent.
    #[test]
    fn small_whole_coordinates_meet_when_algebra_says_so(
        kind in kind(),
        from in whole_points(),
        to in whole_points(),
    ) {
        let answer = first_meeting(kind, &from, &to);
        prop_assume!(answer.is_some());
        match (motion_meets(kind, &from, &to), answer.unwrap()) {
            (Meeting::Never, None) => {}
            (Meeting::At(time), Some([low, high])) => {
                prop_assert!(time <= high, "{time} is after {high}");
                prop_assert!(time >= low - 2f64.powi(-32), "{time} is long before {low}");
            }
            (found, answer) => prop_assert!(false, "found {found:?} where {answer:?} is right"),
        }
    }

    #[test]
    fn features_at_rest_meet_when_algebra_says_so(kind in kind(), points in whole_points()) {
        let is_meeting = first_meeting(kind, &points, &points).unwrap().is_some();
        let expected = if is_meeting { Meeting::At(0.0) } else { Meeting::Never };
        prop_assert_eq!(motion_meets(kind, &points, &points), expected);
    }

    /// At a known time a point well inside one feature is put on one well inside the other, and motion goes on.
    #[test]
    fn no_meeting_that_was_arranged_is_missed(
        kind in kind(),
        [from, middle] in any_points(),
        [s, r] in prop::array::uniform2(0.01..0.99),
        tenths in 1u8..10,
    ) {
        let mut middle = middle;
        match kind {
            Kind::PointTriangle => middle[0] = middle[1].lerp(middle[2], s).lerp(middle[3], r),
            Kind::EdgeEdge => {
                let gap = middle[0].lerp(middle[1], s) - middle[2].lerp(middle[3], r);
                middle[2] += gap;
                middle[3] += gap;
            }
        }
        let time = f64::from(tenths) / 10.0;
        let to: Points = std::array::from_fn(|i| from[i] + (middle[i] - from[i]) / time);
        // Rounding shifts the meeting by an ulp or so; it stays one if the volume changes its sign there by much more.
        let volume = |time: f64| {
            let [p, a, b, c] = std::array::from_fn(|i| from[i].lerp(to[i], time));
            (a - p).cross(b - p).dot(c - p)
        };
        prop_assume!(volume(time - 1e-3) * volume(time + 1e-3) < -1e-14);
        match motion_meets(kind, &from, &to) {
            Meeting::Never => prop_assert!(false, "missed at {time}"),
            Meeting::At(found) => prop_assert!(found <= time + 1e-9, "{found} is after {time}"),
        }
    }

    #[test]
    fn order_place_and_scale_do_not_matter(
        kind in kind(),
        [from, to] in any_points(),
        order in 0usize..4,
        shift in prop::array::uniform3(-1000i32..1000),
        exponent in -300i32..300,
    ) {
        let meeting = motion_meets(kind, &from, &to);
        let order = orders(kind)[order];
        let [one, other] = [from, to].map(|points| order.map(|i| points[i]));
        prop_assert!(agree(meeting, motion_meets(kind, &one, &other)), "other order");
        let scale = |points: Points| points.map(|point| point * 2f64.powi(exponent));
        prop_assert_eq!(meeting, motion_meets(kind, &scale(from), &scale(to)));
        // Rounded to 2^-40, so that a shift rounds nothing.
        let unit = 2f64.powi(40);
        let [from, to] = [from, to].map(|points| points.map(|point| (point * unit).round() / unit));
        let shift = DVec3::from(shift.map(f64::from));
        let moved = [from, to].map(|points| points.map(|point| point + shift));
        prop_assert_eq!(motion_meets(kind, &from, &to), motion_meets(kind, &moved[0], &moved[1]));
    }
}
