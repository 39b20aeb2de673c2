use super::*;
use proptest::array::uniform3;
use proptest::prelude::*;

/// Numbers of all sizes.
fn number() -> impl Strategy<Value = f64> {
    (-1.0..1.0f64, -60i32..60).prop_map(|(mantissa, exponent)| mantissa * 2f64.powi(exponent))
}

fn place() -> impl Strategy<Value = DVec3> {
    uniform3(number()).prop_map(DVec3::from_array)
}

proptest! {
    #[test]
    fn a_volume_holds_its_point_all_along_the_way(
        from in place(),
        to in place(),
        reach in number(),
        t in 0.0..=1.0f64,
        direction in uniform3(-1.0..1.0f64),
    ) {
        let reach = reach.abs();
        let volume = Volume::<9>::of_point(from, to, reach);
        let on_way = from + t * (to - from);
        let direction = DVec3::from_array(direction).normalize_or_zero();
        let touched = Volume::<9>::of_point(on_way + 0.999 * reach * direction, on_way, 0.0);
        let projected = project::<9>(on_way);
        for k in 0..9 {
            prop_assert!(f64::from(volume.lower[k]) <= projected[k]);
            prop_assert!(projected[k] <= f64::from(volume.upper[k]));
        }
        prop_assert!(volume.overlaps(&touched));
    }

    #[test]
    fn bounds_are_wider_than_needed_by_rounding_only(from in place(), to in place(), reach in number()) {
        let reach = reach.abs();
        let volume = Volume::<9>::of_point(from, to, reach);
        let (start, end) = (project::<9>(from), project::<9>(to));
        for k in 0..9 {
            let reach = if k < 3 { reach } else { SQRT_2 * reach };
            let lower = start[k].min(end[k]) - reach;
            // Two roundings of f32, and those of f64 relative to all that was added.
            let size = from.abs().max(to.abs()).element_sum() + 2.0 * reach;
            let slack = 4e-7 * lower.abs() + 1e-14 * size + 1e-37;
            prop_assert!(lower - f64::from(volume.lower[k]) <= slack);
        }
    }

    #[test]
    fn merging_holds_both_and_overlap_is_mutual(a in place(), b in place(), c in place(), reach in number()) {
        let one = Volume::<9>::of_point(a, b, reach.abs());
        let other = Volume::<9>::of_point(b, c, 0.0);
        let both = one.merge(&other);
        prop_assert!(both.holds(&one) && both.holds(&other));
        // They have b in common.
        prop_assert!(one.overlaps(&other) && other.overlaps(&one));
    }

    #[test]
    fn diagonals_separate_what_boxes_do_not(at in 0.1..0.4f64) {
        // Two edges along the diagonal of the unit square, side by side.
        let edge = |shift: f64| {
            let volume = |x: f64, y: f64| Volume::<9>::of_point(DVec3::new(x, y, 0.0), DVec3::new(x, y, 0.0), 0.0);
            volume(shift, 0.0).merge(&volume(1.0, 1.0 - shift))
        };
        let box_of = |volume: Volume<9>| Volume::<3> {
            lower: [0, 1, 2].map(|k| volume.lower[k]),
            upper: [0, 1, 2].map(|k| volume.upper[k]),
        };
        let (one, other) = (edge(0.0), edge(at));
        prop_assert!(box_of(one).overlaps(&box_of(other)));
        prop_assert!(!one.overlaps(&other));
    }

    #[test]
    fn a_shift_of_everything_changes_no_volume(
        places in proptest::collection::vec(uniform3(-1000i32..1000), 1..20),
        shift in uniform3(-1_000_000i32..1_000_000),
    ) {
        let places: Vec<DVec3> = places.iter().map(|p| DVec3::from_array(p.map(f64::from))).collect();
        let shift = DVec3::from_array(shift.map(f64::from));
        let shifted: Vec<DVec3> = places.iter().map(|&place| place + shift).collect();
        let reach = vec![0.25; places.len()];
        let volumes = |places: &[DVec3]| Volumes::<9>::new(&Motion { from: places, to: places, reach: &reach });
        prop_assert_eq!(volumes(&places).of_points, volumes(&shifted).of_points);
    }
}

#[test]
fn what_is_not_finite_could_be_anywhere() {
    let there = DVec3::splat(1e5);
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for volume in [
            Volume::<9>::of_point(DVec3::new(0.0, bad, 0.0), there, 1.0),
            Volume::<9>::of_point(there, DVec3::new(0.0, 0.0, bad), 1.0),
            Volume::<9>::of_point(there, there, bad),
        ] {
            assert_eq!(volume, Volume::EVERYTHING);
        }
    }
    let everything = Volume::<9>::EVERYTHING;
    let huge = DVec3::splat(f64::MAX);
    for volume in [
        Volume::of_point(huge, -huge, f64::MAX),
        Volume::of_point(huge, huge, 0.0),
        Volume::of_point(DVec3::splat(1e300), DVec3::splat(2e300), 0.0),
        Volume::of_point(DVec3::splat(1e-300), DVec3::ZERO, 0.0),
    ] {
        assert!(everything.overlaps(&volume) && volume.overlaps(&everything));
        assert!((0..9).all(|k| volume.lower[k].is_finite() && volume.upper[k].is_finite()));
    }
}

#[test]
fn the_empty_volume_overlaps_nothing() {
    let empty = Volume::<3>::EMPTY;
    for volume in [Volume::EVERYTHING, empty] {
        assert!(!volume.overlaps(&empty) && !empty.overlaps(&volume));
        assert_eq!(volume.merge(&empty), volume);
    }
}

#[test]
fn one_lost_point_does_not_move_the_origin() {
    let near = [0.0, 1.0, 2.0].map(|x| DVec3::splat(1e6 + x));
    let mut places = vec![near[2], near[0], near[1], DVec3::NAN];
    let reach = [0.0; 4];
    let origin = |places: &[DVec3]| {
        let motion = Motion {
            from: places,
            to: places,
            reach: &reach,
        };
        Volumes::<3>::new(&motion).origin()
    };
    assert_eq!(origin(&places), near[1]);
    // A run that explodes sends some far away; the others are to keep their sharp bounds.
    places[3] = DVec3::new(1e30, -1e30, 1e30);
    assert!(origin(&places).distance(near[1]) <= 2.0);
    places.fill(DVec3::INFINITY);
    assert_eq!(origin(&places), DVec3::ZERO);
}

#[test]
fn far_from_zero_nothing_is_lost() {
    // A gap of a micrometre 4000 km from the origin: f32 alone would not even see metres.
    let far = 4_194_304.0;
    let places = [far, far + 1.0, far + 1.0 + 2f64.powi(-20), far + 2.0];
    let places = places.map(|x| DVec3::new(x, 0.0, 0.0));
    let volumes = Volumes::<3>::new(&Motion {
        from: &places,
        to: &places,
        reach: &[0.0; 4],
    });
    assert!(!volumes.of(1).overlaps(volumes.of(2)));
}
