use super::*;
use proptest::array::uniform3;
use proptest::prelude::*;

/// Numbers of all sizes.
fn number() -> impl Strategy<Value = f64> {
    (-1.0..1.0f64, -60i32..60).prop_map(|(mantissa, exponent)| mantissa * 2f64.powi(exponent))
}

fn point() -> impl Strategy<Value = DVec3> {
    uniform3(number()).prop_map(DVec3::from_array)
}

proptest! {
    #[test]
    fn a_volume_contains_the_whole_path_of_its_point(
        from in point(),
        to in point(),
        reach in number(),
        t in 0.0..=1.0f64,
        direction in uniform3(-1.0..1.0f64),
    ) {
        let reach = reach.abs();
        let volume = Volume::<9>::of_moving_point(from, to, [reach; 2]);
        let on_path = from + t * (to - from);
        let direction = DVec3::from_array(direction).normalize_or_zero();
        let near = on_path + 0.999 * reach * direction;
        let touched = Volume::<9>::of_moving_point(near, on_path, [0.0; 2]);
        let projected = project::<9>(on_path);
        for k in 0..9 {
            prop_assert!(f64::from(volume.lower[0][k]) <= projected[k]);
            prop_assert!(projected[k] <= f64::from(volume.upper[0][k]));
        }
        prop_assert!(volume.overlaps(&touched));
    }

    #[test]
    fn bounds_exceed_the_path_by_rounding_only(
        from in point(), to in point(), reach in number()
    ) {
        let reach = reach.abs();
        let volume = Volume::<9>::of_moving_point(from, to, [reach; 2]);
        let (start, end) = (project::<9>(from), project::<9>(to));
        for k in 0..9 {
            let reach = if k < 3 { reach } else { SQRT_2 * reach };
            let lower = start[k].min(end[k]) - reach;
            // Two roundings of f32, and those of f64 relative to all terms.
            let size = from.abs().max(to.abs()).element_sum() + 2.0 * reach;
            let slack = 4e-7 * lower.abs() + 1e-14 * size + 1e-37;
            prop_assert!(lower - f64::from(volume.lower[0][k]) <= slack);
        }
    }

    #[test]
    fn a_merged_volume_contains_both_and_overlap_is_symmetric(
        a in point(), b in point(), c in point(), reach in number()
    ) {
        let one = Volume::<9>::of_moving_point(a, b, [reach.abs(); 2]);
        let other = Volume::<9>::of_moving_point(b, c, [0.0; 2]);
        let both = one.merge(&other);
        prop_assert!(both.contains(&one) && both.contains(&other));
        // They have b in common.
        prop_assert!(one.overlaps(&other) && other.overlaps(&one));
    }

    #[test]
    fn diagonal_directions_separate_where_boxes_overlap(at in 0.1..0.4f64) {
        // Two edges along the diagonal of the unit square, side by side.
        let edge = |shift: f64| {
            let volume = |x: f64, y: f64| {
                let corner = DVec3::new(x, y, 0.0);
                Volume::<9>::of_moving_point(corner, corner, [0.0; 2])
            };
            volume(shift, 0.0).merge(&volume(1.0, 1.0 - shift))
        };
        let box_of = |volume: Volume<9>| Volume::<3> {
            lower: [[0, 1, 2].map(|k| volume.lower[0][k])],
            upper: [[0, 1, 2].map(|k| volume.upper[0][k])],
        };
        let (one, other) = (edge(0.0), edge(at));
        prop_assert!(box_of(one).overlaps(&box_of(other)));
        prop_assert!(!one.overlaps(&other));
    }

    #[test]
    fn a_common_translation_changes_no_volume(
        points in proptest::collection::vec(uniform3(-1000i32..1000), 1..20),
        shift in uniform3(-1_000_000i32..1_000_000),
    ) {
        let points = points.iter().map(|p| DVec3::from_array(p.map(f64::from)));
        let points: Vec<DVec3> = points.collect();
        let shift = DVec3::from_array(shift.map(f64::from));
        let shifted: Vec<DVec3> = points.iter().map(|&point| point + shift).collect();
        let reach = vec![0.25; points.len()];
        let volumes = |points: &[DVec3]| {
            Volumes::<9>::new(&PointMotion { from: points, to: points, reach: &reach })
        };
        prop_assert_eq!(volumes(&points).of_points, volumes(&shifted).of_points);
    }
}

/// Two paths at any scale and distance from 0, their distance at some time, and that time.
fn close_paths() -> impl Strategy<Value = ([[DVec3; 2]; 2], f64, f64)> {
    let along = (point(), uniform3(-1.0..1.0f64), uniform3(-1.0..1.0f64));
    let sizes = (-60..60i32, -60..20i32, 0.0..=1.0f64);
    (along, sizes).prop_map(|((at, one, other), (exponent, nearer, t))| {
        let scale = 2f64.powi(exponent);
        let apart = DVec3::from_array(one).normalize_or_zero() * scale * 2f64.powi(nearer);
        let paths = [(at, one), (at + apart, other)].map(|(at, displacement)| {
            let displacement = scale * DVec3::from_array(displacement);
            [at - t * displacement, at + (1.0 - t) * displacement]
        });
        (paths, apart.length(), t)
    })
}

/// Bounds the rounding of positions along paths.
fn rounding(paths: &[[DVec3; 2]; 2]) -> f64 {
    let sizes = paths
        .iter()
        .flatten()
        .map(|place| place.abs().max_element());
    1e-14 * sizes.fold(0.0, f64::max)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5000))]

    #[test]
    fn moving_volumes_overlap_if_their_points_are_close_at_one_time(
        (paths, apart, t) in close_paths(),
        share in 0.0..=1.0f64,
    ) {
        let near = apart + rounding(&paths);
        let [one, other] = paths.map(|[from, to]| [from, to, from + t * (to - from)]);
        prop_assert!(one[2].distance(other[2]) <= near + rounding(&paths));
        let reach = near + rounding(&paths);
        let volume = |path: [DVec3; 3], share: f64| {
            Volume::<9, MOVING>::of_moving_point(path[0], path[1], [share * reach; 2])
        };
        let (a, b) = (volume(one, share), volume(other, 1.0 - share));
        prop_assert!(a.overlaps(&b) && b.overlaps(&a));
        let [a, b] = [a, b].map(|volume| Volume::<3, MOVING> {
            lower: volume.lower.map(|lower| [lower[0], lower[1], lower[2]]),
            upper: volume.upper.map(|upper| [upper[0], upper[1], upper[2]]),
        });
        prop_assert!(a.overlaps(&b) && b.overlaps(&a));
    }

    #[test]
    fn larger_moving_volumes_overlap_where_smaller_ones_do(
        (paths, apart, _) in close_paths(),
        more in point(),
        share in 0.9..1.1f64,
    ) {
        // Reaches close to the limit, so that rounding decides.
        let volume = |path: [DVec3; 2]| {
            Volume::<9, MOVING>::of_moving_point(path[0], path[1], [0.5 * share * apart; 2])
        };
        let [a, b] = paths.map(volume);
        let to = paths[0][1] + apart * more.normalize_or_zero();
        let further = Volume::of_moving_point(paths[0][0], to, [0.5 * apart; 2]);
        let larger = a.merge(&further);
        prop_assert!(larger.contains(&a) && larger.contains(&further));
        prop_assert!(!a.overlaps(&b) || larger.overlaps(&b));
    }

    #[test]
    fn volumes_of_whole_paths_overlap_where_moving_ones_do(
        (paths, apart, _) in close_paths(),
        share in 0.0..2.0f64,
    ) {
        let reach = [share * apart; 2];
        let moving = paths.map(|[from, to]| Volume::<9, MOVING>::of_moving_point(from, to, reach));
        let whole = paths.map(|[from, to]| Volume::<9>::of_moving_point(from, to, reach));
        prop_assert!(!moving[0].overlaps(&moving[1]) || whole[0].overlaps(&whole[1]));
    }
}

#[test]
fn points_at_the_same_position_at_different_times_do_not_overlap() {
    // One is at the middle at a quarter of the time, the other at three quarters, at right angles.
    let crossing = [
        [DVec3::new(-2.0, 0.0, 0.0), DVec3::new(6.0, 0.0, 0.0)],
        [DVec3::new(0.0, -6.0, 0.0), DVec3::new(0.0, 2.0, 0.0)],
    ];
    // One follows the other.
    let following = [
        [DVec3::ZERO, DVec3::new(10.0, 0.0, 0.0)],
        [DVec3::new(2.0, 0.0, 0.0), DVec3::new(12.0, 0.0, 0.0)],
    ];
    for paths in [crossing, following] {
        let whole = paths.map(|[from, to]| Volume::<3>::of_moving_point(from, to, [0.9; 2]));
        assert!(whole[0].overlaps(&whole[1]));
        let moving = |reach: f64| {
            let [a, b] =
                paths.map(|[from, to]| Volume::<3, MOVING>::of_moving_point(from, to, [reach; 2]));
            assert_eq!(a.overlaps(&b), b.overlaps(&a));
            a.overlaps(&b)
        };
        // Their boxes touch with a reach of 1: all the time, or at half time, when one has passed
        // the middle by 2 and the other is still 2 before it.
        assert!(!moving(0.9) && moving(1.0) && moving(1.1));
    }
}

#[test]
fn a_moving_volume_must_contain_another_at_both_ends() {
    let volume = |from: f64, to: f64, reach: [f64; 2]| {
        Volume::<9, MOVING>::of_moving_point(DVec3::X * from, DVec3::X * to, reach)
    };
    let large = volume(0.0, 5.0, [1.0, 2.0]);
    assert!(large.contains(&large) && large.contains(&Volume::EMPTY));
    assert!(large.contains(&volume(0.0, 5.0, [1.0; 2])));
    assert!(large.contains(&volume(0.0, 6.0, [1.0; 2])));
    // Within the path, but not at the start, and not at the end.
    assert!(!large.contains(&volume(1.0, 5.0, [1.0; 2])));
    assert!(!large.contains(&volume(0.0, 3.5, [1.0; 2])));
    assert!(!large.contains(&volume(0.0, 6.5, [1.0; 2])));
    assert!(!large.contains(&volume(0.0, f64::NAN, [1.0; 2])));
    assert!(Volume::EVERYTHING.contains(&large));
}

fn check_non_finite_points<const T: usize>() {
    let there = DVec3::splat(1e5);
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for volume in [
            Volume::<9, T>::of_moving_point(DVec3::new(0.0, bad, 0.0), there, [1.0; 2]),
            Volume::<9, T>::of_moving_point(there, DVec3::new(0.0, 0.0, bad), [1.0; 2]),
            Volume::<9, T>::of_moving_point(there, there, [bad; 2]),
            Volume::<9, T>::of_moving_point(there, there, [0.0, bad]),
        ] {
            assert_eq!(volume, Volume::EVERYTHING);
        }
    }
    let everything = Volume::<9, T>::EVERYTHING;
    let huge = DVec3::splat(f64::MAX);
    for volume in [
        Volume::of_moving_point(huge, -huge, [f64::MAX; 2]),
        Volume::of_moving_point(huge, huge, [0.0; 2]),
        Volume::of_moving_point(DVec3::splat(1e300), DVec3::splat(2e300), [0.0; 2]),
        Volume::of_moving_point(DVec3::splat(1e-300), DVec3::ZERO, [0.0; 2]),
        Volume::of_moving_point(DVec3::splat(1e37), DVec3::splat(-1e37), [1e36; 2]),
    ] {
        assert!(everything.overlaps(&volume) && volume.overlaps(&everything));
        let bounds = volume.lower.iter().chain(&volume.upper).flatten();
        assert!(bounds.copied().all(f32::is_finite));
    }
}

#[test]
fn non_finite_points_overlap_everything() {
    check_non_finite_points::<WHOLE>();
    check_non_finite_points::<MOVING>();
}

fn check_empty_volume<const T: usize>() {
    let empty = Volume::<3, T>::EMPTY;
    for volume in [Volume::EVERYTHING, empty] {
        assert!(!volume.overlaps(&empty) && !empty.overlaps(&volume));
        assert_eq!(volume.merge(&empty), volume);
    }
}

#[test]
fn the_empty_volume_overlaps_nothing() {
    check_empty_volume::<WHOLE>();
    check_empty_volume::<MOVING>();
}

#[test]
fn one_distant_point_does_not_move_the_origin() {
    let near = [0.0, 1.0, 2.0].map(|x| DVec3::splat(1e6 + x));
    let mut places = vec![near[2], near[0], near[1], DVec3::NAN];
    let reach = [0.0; 4];
    let origin = |places: &[DVec3]| {
        let motion = PointMotion {
            from: places,
            to: places,
            reach: &reach,
        };
        Volumes::<3>::new(&motion).origin()
    };
    assert_eq!(origin(&places), near[1]);
    // An unstable run moves some points far away; the bounds of the others stay sharp.
    places[3] = DVec3::new(1e30, -1e30, 1e30);
    assert!(origin(&places).distance(near[1]) <= 2.0);
    places.fill(DVec3::INFINITY);
    assert_eq!(origin(&places), DVec3::ZERO);
}

#[test]
fn volumes_far_from_zero_keep_their_precision() {
    // A gap of a micrometre 4000 km from the origin: f32 alone would not resolve metres.
    let far = 4_194_304.0;
    let places = [far, far + 1.0, far + 1.0 + 2f64.powi(-20), far + 2.0];
    let places = places.map(|x| DVec3::new(x, 0.0, 0.0));
    let volumes = Volumes::<3>::new(&PointMotion {
        from: &places,
        to: &places,
        reach: &[0.0; 4],
    });
    assert!(!volumes.of(1).overlaps(volumes.of(2)));
}
