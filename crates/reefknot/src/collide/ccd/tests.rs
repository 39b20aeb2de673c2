use glam::{DMat3, DVec3, dvec3};
use proptest::prelude::*;

use super::super::certify::{Kind, Meeting, motion_meets};
use super::*;

type Search = fn(&[DVec3; 4], &[DVec3; 4], f64) -> Option<Impact>;
const KINDS: [Search; 2] = [point_triangle, edge_edge];

/// A triangle in the plane z = 0 about the origin.
const FLAT: [DVec3; 3] = [
    dvec3(-1.0, -1.0, 0.0),
    dvec3(1.0, -1.0, 0.0),
    dvec3(0.0, 1.0, 0.0),
];

fn over_triangle(point: DVec3) -> [DVec3; 4] {
    [point, FLAT[0], FLAT[1], FLAT[2]]
}

/// Distances of features by looking everywhere: an upper bound, close to the true one.
fn sampled_distance(kind: usize, x: &[DVec3; 4]) -> f64 {
    let steps = 40;
    let mut least = f64::INFINITY;
    for i in 0..=steps {
        for j in 0..=steps {
            let (u, v) = (
                f64::from(i) / f64::from(steps),
                f64::from(j) / f64::from(steps),
            );
            let distance = if kind == 0 {
                // All of a square, folded onto the triangle.
                let (u, v) = if u + v > 1.0 {
                    (1.0 - u, 1.0 - v)
                } else {
                    (u, v)
                };
                x[0].distance(x[1] + u * (x[2] - x[1]) + v * (x[3] - x[1]))
            } else {
                x[0].lerp(x[1], u).distance(x[2].lerp(x[3], v))
            };
            least = least.min(distance);
        }
    }
    least
}

fn at(from: &[DVec3; 4], to: &[DVec3; 4], time: f64) -> [DVec3; 4] {
    std::array::from_fn(|corner| from[corner].lerp(to[corner], time))
}

#[test]
fn a_falling_point_meets_the_triangle_at_the_time_of_its_height() {
    let (from, to) = (
        over_triangle(dvec3(0.1, 0.2, 3.0)),
        over_triangle(dvec3(0.1, 0.2, -1.0)),
    );
    let impact = point_triangle(&from, &to, 0.0).unwrap();
    assert!(
        impact.time <= 0.75 && impact.time > 0.75 - 1e-12,
        "{}",
        impact.time
    );
    assert_eq!(
        impact.normal,
        DVec3::Z,
        "up, from the triangle to the point"
    );
    // 1 m above the plane after half the way.
    let impact = point_triangle(&from, &to, 1.0).unwrap();
    assert!(
        impact.time <= 0.5 && impact.time > 0.5 - 1e-12,
        "{}",
        impact.time
    );
    assert_eq!(
        point_triangle(&from, &over_triangle(dvec3(0.1, 0.2, 1e-9)), 0.0),
        None
    );
}

#[test]
fn the_normal_is_that_of_the_side_where_the_motion_starts() {
    let (above, below) = (dvec3(0.0, 0.0, 0.5), dvec3(0.2, 0.0, -0.5));
    let down = point_triangle(&over_triangle(above), &over_triangle(below), 0.0).unwrap();
    let up = point_triangle(&over_triangle(below), &over_triangle(above), 0.0).unwrap();
    assert_eq!([down.normal, up.normal], [DVec3::Z, DVec3::NEG_Z]);
}

#[test]
fn edges_that_cross_meet_when_they_cross() {
    let edges = |height: f64| {
        [
            dvec3(-1.0, 0.0, height),
            dvec3(1.0, 0.0, height),
            dvec3(0.3, -1.0, 0.0),
            dvec3(0.3, 1.0, 0.0),
        ]
    };
    let impact = edge_edge(&edges(0.2), &edges(-0.6), 0.0).unwrap();
    assert!(
        impact.time <= 0.25 && impact.time > 0.25 - 1e-12,
        "{}",
        impact.time
    );
    assert_eq!(impact.normal, DVec3::Z);
}

#[test]
fn touching_at_the_very_end_counts_and_an_ulp_before_does_not() {
    let from = over_triangle(dvec3(0.0, 0.0, 1.0));
    assert!(
        point_triangle(&from, &over_triangle(DVec3::ZERO), 0.0)
            .unwrap()
            .time
            > 1.0 - 1e-12
    );
    let almost = dvec3(0.0, 0.0, f64::EPSILON * f64::EPSILON);
    assert_eq!(point_triangle(&from, &over_triangle(almost), 0.0), None);
}

#[test]
fn touching_from_the_start_has_time_zero_and_no_direction() {
    let from = over_triangle(dvec3(0.25, 0.0, 0.0));
    let impact = point_triangle(&from, &over_triangle(dvec3(0.0, 0.0, 1.0)), 0.0).unwrap();
    assert_eq!((impact.time, impact.normal), (0.0, DVec3::ZERO));
}

#[test]
fn one_ulp_decides_past_corners_and_along_edges() {
    let next = 1.0 + f64::EPSILON;
    // A point falls past the corner (−1, −1) along the line x = −1: on it, or one ulp outside.
    for (x, meets) in [(-1.0, true), (-next, false)] {
        let (from, to) = (
            over_triangle(dvec3(x, -1.0, 1.0)),
            over_triangle(dvec3(x, -1.0, -1.0)),
        );
        assert_eq!(point_triangle(&from, &to, 0.0).is_some(), meets, "{x}");
    }
    // An upright edge slides past the end of another one.
    for (x, meets) in [(1.0, true), (next, false)] {
        let edges = |y: f64| {
            [
                dvec3(-1.0, y, 0.0),
                dvec3(1.0, y, 0.0),
                dvec3(x, 0.0, -1.0),
                dvec3(x, 0.0, 1.0),
            ]
        };
        assert_eq!(
            edge_edge(&edges(-1.0), &edges(2.0), 0.0).is_some(),
            meets,
            "{x}"
        );
    }
}

#[test]
fn motion_in_one_plane_is_decided_too() {
    // The cubic is 0 throughout: only directions help.
    let slide = |x: f64| over_triangle(dvec3(x, 0.0, 0.0));
    let impact = point_triangle(&slide(-3.0), &slide(3.0), 0.0).unwrap();
    // The side from (−1, −1) to (0, 1) is at x = −0.5 where y = 0.
    assert!(
        (impact.time - 2.5 / 6.0).abs() < 1e-12 && impact.time <= 2.5 / 6.0,
        "{}",
        impact.time
    );
    let above = |x: f64| over_triangle(dvec3(x, 1.0 + 1e-15, 0.0));
    assert_eq!(point_triangle(&above(-3.0), &above(3.0), 0.0), None);
}

#[test]
fn degenerate_features_are_features() {
    // A triangle that is a segment, one that is a point, and an edge that is a point.
    let point = dvec3(0.0, 0.0, 0.0);
    let fall = |height: f64, triangle: [DVec3; 3]| {
        [
            dvec3(0.0, 0.0, height),
            triangle[0],
            triangle[1],
            triangle[2],
        ]
    };
    let segment = [
        dvec3(-1.0, 0.0, 0.0),
        dvec3(1.0, 0.0, 0.0),
        dvec3(3.0, 0.0, 0.0),
    ];
    for triangle in [segment, [point; 3]] {
        let time = point_triangle(&fall(1.0, triangle), &fall(-1.0, triangle), 0.0)
            .unwrap()
            .time;
        assert!((time - 0.5).abs() < 1e-12 && time <= 0.5, "{time}");
        let beside = triangle.map(|corner| corner + dvec3(0.0, 1e-14, 0.0));
        assert_eq!(
            point_triangle(&fall(1.0, beside), &fall(-1.0, beside), 0.0),
            None
        );
    }
    let drop = |height: f64| {
        [
            point,
            point,
            dvec3(0.0, -1.0, height),
            dvec3(0.0, 2.0, height),
        ]
    };
    assert!(edge_edge(&drop(1.0), &drop(-1.0), 0.0).is_some());
    assert_eq!(
        point_triangle(&[point; 4], &[point; 4], 0.0).unwrap().time,
        0.0
    );
}

#[test]
fn parallel_edges_meet_or_slide_along() {
    let lie = |x: f64, z: f64| {
        [
            dvec3(x, 0.0, z),
            dvec3(x + 1.0, 0.0, z),
            DVec3::ZERO,
            DVec3::X,
        ]
    };
    let impact = edge_edge(&lie(0.3, 0.5), &lie(0.3, -0.5), 0.0).unwrap();
    assert!((impact.time - 0.5).abs() < 1e-12, "{}", impact.time);
    // End to end along one line, from a gap of 1 to an overlap.
    let impact = edge_edge(&lie(2.0, 0.0), &lie(0.5, 0.0), 0.0).unwrap();
    assert!((impact.time - 1.0 / 1.5).abs() < 1e-12, "{}", impact.time);
    assert_eq!(edge_edge(&lie(-3.0, 1e-17), &lie(3.0, 1e-17), 0.0), None);
}

#[test]
fn a_turning_edge_meets_at_the_time_that_geometry_gives() {
    // One end stays, the other swings down along a chord; the other edge crosses below at x = 0.4 of the way out.
    let from = [
        DVec3::ZERO,
        dvec3(1.0, 0.0, 1.0),
        dvec3(0.4, -1.0, 0.1),
        dvec3(0.4, 1.0, 0.1),
    ];
    let to = [DVec3::ZERO, dvec3(1.0, 0.0, -1.0), from[2], from[3]];
    // z of the edge over x = 0.4 is 0.4 (1 − 2t), 0.1 at t = 3/8.
    let time = edge_edge(&from, &to, 0.0).unwrap().time;
    assert!(time <= 0.375 && time > 0.375 - 1e-9, "{time}");
}

#[test]
fn what_is_not_finite_stops_at_once() {
    let from = over_triangle(dvec3(0.0, 0.0, 5.0));
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for corner in 0..4 {
            for axis in 0..3 {
                let mut to = from;
                to[corner][axis] = bad;
                for search in KINDS {
                    assert_eq!(search(&from, &to, 0.0).map(|impact| impact.time), Some(0.0));
                    assert_eq!(search(&to, &from, 0.0).map(|impact| impact.time), Some(0.0));
                }
            }
        }
        assert!(bad < 0.0 || point_triangle(&from, &from, bad).is_some() == bad.is_infinite());
    }
}

#[test]
fn numbers_without_normal_exponent_are_told_apart() {
    let tiny = f64::from_bits(1);
    for scale in [tiny, 1e-310, 1e-200, 1e150, 1e300, 0.3 * f64::MAX] {
        let scaled = |x: [DVec3; 4]| x.map(|point| point * scale);
        let fall = |height: f64| scaled(over_triangle(dvec3(0.0, 0.0, height)));
        let time = point_triangle(&fall(3.0), &fall(-1.0), 0.0).map(|impact| impact.time);
        assert!(
            time.is_some_and(|time| time <= 0.75 && time > 0.7),
            "{scale} {time:?}"
        );
        assert_eq!(point_triangle(&fall(3.0), &fall(1.0), 0.0), None, "{scale}");
    }
}

#[test]
fn a_start_that_touches_is_not_lost_at_large_scales() {
    // The corners are on the plane at first; how much they are short of clear was lost beside how clear they are in the end.
    let triangle = [
        dvec3(-1.0, -1.0, 0.0),
        dvec3(2.0, -1.0, 0.0),
        dvec3(-1.0, 2.0, 0.0),
    ];
    for power in -300..300 {
        let scale = 2.0f64.powi(power);
        let leave = |height: f64| {
            [
                dvec3(0.0, 0.0, height),
                triangle[0],
                triangle[1],
                triangle[2],
            ]
            .map(|x| x * scale)
        };
        let time = point_triangle(&leave(0.0), &leave(1.0), 0.0).map(|impact| impact.time);
        assert_eq!(time, Some(0.0), "2^{power}");
        let arrive = point_triangle(&leave(1.0), &leave(0.0), 0.0).map(|impact| impact.time);
        assert!(
            arrive.is_some_and(|time| time > 0.999_999),
            "2^{power}: {arrive:?}"
        );
    }
}

#[test]
fn two_bars_that_turn_together_are_clear_by_their_planes() {
    // Two bars of length 2 cross at a distance of 0.1 and turn by 60 degrees about an axis across, which no fixed direction keeps apart.
    let [start, end] = [0.0, std::f64::consts::FRAC_PI_3].map(|angle: f64| {
        let turn = DMat3::from_rotation_x(angle);
        let ends = [
            [1.0, 0.0, 0.1],
            [-1.0, 0.0, 0.1],
            [0.0, 1.0, 0.0],
            [0.0, -1.0, 0.0],
        ];
        ends.map(|end| turn * DVec3::from(end))
    });
    assert!(filter::edge_edge(&start, &end, 0.0) <= 0.0);
    let slack = plane_slack::<true>(&start, &end, 0.02);
    // Straight ways cut across the circle: the distance shrinks to 0.087.
    assert!(slack > 0.03 && slack < 0.067, "{slack}");
}

fn coordinate() -> impl Strategy<Value = f64> {
    prop_oneof![(-3..=3i32).prop_map(f64::from), -2.0..2.0f64]
}

fn corner() -> impl Strategy<Value = DVec3> {
    [coordinate(), coordinate(), coordinate()].prop_map(DVec3::from)
}

fn corners() -> impl Strategy<Value = [DVec3; 4]> {
    [corner(), corner(), corner(), corner()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn what_the_plane_keeps_it_keeps_all_the_time(
        from in corners(), to in corners(), kind in 0..2usize, separation in prop_oneof![Just(0.0), 0.0..1.0f64],
    ) {
        let slack = [plane_slack::<false>, plane_slack::<true>][kind](&from, &to, separation);
        for step in 0..=50 {
            let distance = sampled_distance(kind, &at(&from, &to, f64::from(step) / 50.0));
            let least = (separation + slack) * (1.0 - 1e-12);
            prop_assert!(slack <= 0.0 || distance >= least, "{distance} {separation} {slack}");
        }
    }

    #[test]
    fn nothing_comes_too_close_before_the_time_returned(
        from in corners(), to in corners(), kind in 0..2usize, separation in prop_oneof![Just(0.0), 0.0..1.0f64],
    ) {
        let impact = KINDS[kind](&from, &to, separation);
        let until = impact.map_or(1.0, |impact| impact.time);
        for step in 0..=50 {
            let time = until * f64::from(step) / 50.0;
            if time < until || impact.is_none() {
                let distance = sampled_distance(kind, &at(&from, &to, time));
                prop_assert!(distance >= separation * (1.0 - 1e-12), "{distance} at {time}");
            }
        }
        if let Some(impact) = impact && impact.time > 0.0 {
            // The direction separates the features when they stop.
            let x = at(&from, &to, impact.time);
            let pairs: &[[usize; 2]] = if kind == 0 { &[[0, 1], [0, 2], [0, 3]] } else { &[[0, 2], [0, 3], [1, 2], [1, 3]] };
            let least = pairs.iter().map(|&[p, q]| impact.normal.dot(x[p] - x[q])).fold(f64::INFINITY, f64::min);
            prop_assert!((impact.normal.length() - 1.0).abs() < 1e-12);
            prop_assert!(least >= -1e-6, "{least}");
        }
    }

    #[test]
    fn impacts_are_found_only_where_something_comes_close(
        from in corners(), to in corners(), kind in 0..2usize, separation in 0.01..1.0f64,
    ) {
        if KINDS[kind](&from, &to, separation).is_some() {
            // The search may give up where features turn past each other, 2% further away than they should keep. Edges
            // up to 10 long are sampled in steps of 1/40, which may add 0.15 to a distance, and time in steps of 1/100.
            let times = (0..=100).map(|step| f64::from(step) / 100.0);
            let distances = times.map(|time| sampled_distance(kind, &at(&from, &to, time)));
            let distance = distances.fold(f64::INFINITY, f64::min);
            prop_assert!(distance <= 1.02 * separation + 0.2, "{distance} for {separation}");
        }
    }

    #[test]
    fn the_independent_test_agrees(from in corners(), to in corners(), kind in 0..2usize, nudges in prop::collection::vec((0..24usize, any::<bool>()), 0..4)) {
        let mut ends = [from, to];
        for (place, up) in nudges {
            let value = &mut ends[place / 12][place % 12 / 3][place % 3];
            *value = if up { value.next_up() } else { value.next_down() };
        }
        let [from, to] = &ends;
        let impact = KINDS[kind](from, to, 0.0);
        let kind = [Kind::PointTriangle, Kind::EdgeEdge][kind];
        match motion_meets(kind, from, to) {
            // Told to 2⁻³².
            Meeting::At(time) => prop_assert!(impact.is_some_and(|impact| impact.time <= time + 3e-10), "{impact:?} {time}"),
            Meeting::Never => {}
        }
    }

    #[test]
    fn what_misses_clearly_is_not_hit(from in corners(), to in corners(), kind in 0..2usize) {
        // Motion without a change of shape converges at once, whatever is degenerate.
        let moved = from.map(|point| point + (to[0] - from[0]));
        let to = [moved[0], if kind == 0 { from[1] } else { moved[1] }, from[2], from[3]];
        let known = [Kind::PointTriangle, Kind::EdgeEdge][kind];
        let meets = motion_meets(known, &from, &to) != Meeting::Never;
        prop_assert_eq!(KINDS[kind](&from, &to, 0.0).is_some(), meets);
    }

    #[test]
    fn scaling_by_a_power_of_two_changes_nothing(from in corners(), to in corners(), kind in 0..2usize, power in prop_oneof![Just(200i32), Just(-200), -300..300i32]) {
        let scale = 2.0f64.powi(power);
        let scaled = KINDS[kind](&from.map(|x| x * scale), &to.map(|x| x * scale), 0.0);
        prop_assert_eq!(scaled, KINDS[kind](&from, &to, 0.0));
    }

    #[test]
    fn an_exact_translation_changes_nothing(from in corners(), to in corners(), kind in 0..2usize, shift in [-8..8i32, -8..8i32, -8..8i32]) {
        // Coordinates on a grid of 2⁻²⁰, so that sums are exact.
        let snap = |x: DVec3| (x * 1048576.0).round() / 1048576.0;
        let shift = DVec3::from(shift.map(|value| f64::from(value) * 131072.0));
        let (from, to) = (from.map(snap), to.map(snap));
        let moved = KINDS[kind](&from.map(|x| x + shift), &to.map(|x| x + shift), 0.0);
        prop_assert_eq!(moved, KINDS[kind](&from, &to, 0.0));
    }

    #[test]
    fn the_order_of_corners_does_not_decide(from in corners(), to in corners()) {
        let orders = [[0, 2, 3, 1], [0, 3, 1, 2], [0, 3, 2, 1]];
        let known = point_triangle(&from, &to, 0.0);
        for order in orders {
            let again = point_triangle(&order.map(|k| from[k]), &order.map(|k| to[k]), 0.0);
            prop_assert_eq!(again.is_some(), known.is_some());
            if let (Some(a), Some(b)) = (again, known) {
                prop_assert!((a.time - b.time).abs() < 1e-6, "{} {}", a.time, b.time);
            }
        }
        let known = edge_edge(&from, &to, 0.0);
        for order in [[1, 0, 2, 3], [0, 1, 3, 2], [2, 3, 0, 1]] {
            let again = edge_edge(&order.map(|k| from[k]), &order.map(|k| to[k]), 0.0);
            prop_assert_eq!(again.is_some(), known.is_some());
            if let (Some(a), Some(b)) = (again, known) {
                prop_assert!((a.time - b.time).abs() < 1e-6, "{} {}", a.time, b.time);
            }
        }
    }

    #[test]
    fn turning_the_scene_turns_the_answer(from in corners(), to in corners(), kind in 0..2usize, axis in corner(), angle in 0.0..6.0f64) {
        let turn = DMat3::from_axis_angle(axis.try_normalize().unwrap_or(DVec3::X), angle);
        let known = KINDS[kind](&from, &to, 0.01);
        let turned = KINDS[kind](&from.map(|x| turn * x), &to.map(|x| turn * x), 0.01);
        if let (Some(a), Some(b)) = (known, turned) {
            prop_assert!((a.time - b.time).abs() < 1e-5, "{} {}", a.time, b.time);
        }
    }
}

/// A hair with a free second edge beside a held root, 0.83 micrometres away, both on a head that turns by three degrees: they keep 0.9997 of that. After 256 rounds
/// the search had come to 0.4 of the motion, and said that they collide; a step of 16,000 hairs was halved three times for it.
#[test]
fn hair_that_turns_with_a_head_does_not_hit_the_root_beside_it() {
    let from = [
        [-0.039004022523397, 0.032606279961720566, 0.0815615263357232],
        [
            -0.03915973810479663,
            0.034284775289376644,
            0.08745004325040025,
        ],
        [
            -0.03633095189033428,
            0.02994607212093955,
            0.07670263815065101,
        ],
        [
            -0.03904155334465583,
            0.03264250838445687,
            0.08162917986828626,
        ],
    ];
    let to = [
        [-0.039004022523397, 0.028001558624457017, 0.0832548183936285],
        [
            -0.03915973810159033,
            0.02934865965168103,
            0.08922786592754038,
        ],
        [
            -0.03633095189033428,
            0.025616788778806368,
            0.07825498110282973,
        ],
        [
            -0.03904155334465584,
            0.02803395320648948,
            0.08332438914996453,
        ],
    ];
    let [from, to] = [from, to].map(|points| points.map(DVec3::from_array));
    assert_eq!(edge_edge(&from, &to, 4.15e-7), None);
    // More than the least distance on the way, 0.83040 um, is too much.
    assert!(edge_edge(&from, &to, 8.306e-7).is_some());
}
