use super::*;
use proptest::prelude::*;

/// Two random parts of triangles and segments; most on whole numbers, where ties are everywhere, or next to them.
fn two_parts() -> impl Strategy<Value = Things> {
    let part = (
        prop::collection::vec([-4.0..4.0_f64, -4.0..4.0, -2.0..2.0_f64], 4..9),
        prop::collection::vec([0..99_u32, 0..99, 0..99], 0..7),
        prop::collection::vec([0..99_u32, 0..99], 1..4),
    );
    let noise = prop::sample::select(vec![0.0, 0.0, 1e-15, 1e-12, 1e-9, 1e-8, 1e-6, 1.0]);
    (part.clone(), part, noise).prop_map(|(one, other, noise)| {
        [(one, 0.0), (other, 3.0)].into_iter().fold(
            Things::default(),
            |things, ((points, triangles, segments), height)| {
                let place = |[x, y, z]: [f64; 3]| {
                    let place = DVec3::new(x, y, z + height);
                    place.round() + noise * (place - place.round())
                };
                let points: Vec<DVec3> = points.into_iter().map(place).collect();
                let count = points.len() as u32;
                let triangles: Vec<[u32; 3]> = triangles
                    .iter()
                    .map(|corners| corners.map(|corner| corner % count))
                    .filter(|[a, b, c]| a != b && b != c && c != a)
                    .collect();
                let segments: Vec<[u32; 2]> = segments
                    .iter()
                    .map(|ends| ends.map(|end| end % count))
                    .filter(|[a, b]| a != b)
                    .collect();
                things.add(&points, &triangles, &segments)
            },
        )
    })
}

/// The smallest distance between different parts, over all pairs.
fn smallest(things: &Things) -> f64 {
    let features = things.features();
    let placed = Placed {
        features: &features,
        positions: &things.positions,
    };
    let [points, edges] = all_pairs(&features);
    let points = points
        .iter()
        .map(|&[p, t]| Pair::new(Feature::Point(p), Feature::Triangle(t)));
    let edges = edges
        .iter()
        .map(|&[a, b]| Pair::new(Feature::Edge(a), Feature::Edge(b)));
    points
        .chain(edges)
        .map(|pair| placed.near(pair))
        .filter(|near| {
            let [one, other] = [near.points[0], near.points[3]];
            features.part_of[one as usize] != features.part_of[other as usize]
        })
        .map(|near| near.closest.distance)
        .fold(f64::INFINITY, f64::min)
}

/// Two sheets with bumps, one above the other; on a coarse lattice if asked for, with ties.
fn two_sheets() -> impl Strategy<Value = Things> {
    let heights = || prop::collection::vec(0.0..1.0_f64, 16);
    let shift = [0..4_i32, 0..4_i32].prop_map(|shift| shift.map(|k| 0.25 * f64::from(k)));
    (heights(), heights(), shift, any::<[bool; 2]>()).prop_map(
        |(low, high, [x, y], [is_level, is_mirrored])| {
            let (points, triangles) = grid(4, 1.0, false);
            let bumpy = |heights: &[f64], shift: [f64; 3]| -> Vec<DVec3> {
                let heights = heights.iter().map(|height| {
                    if is_level {
                        (height * 2.0).round() / 4.0
                    } else {
                        *height
                    }
                });
                let moved = moved(&points, shift);
                moved
                    .iter()
                    .zip(heights)
                    .map(|(point, height)| *point + DVec3::Z * height)
                    .collect()
            };
            let (_, mirrored) = grid(4, 1.0, is_mirrored);
            Things::default()
                .add(&bumpy(&low, [0.0; 3]), &triangles, &[])
                .add(&bumpy(&high, [x, y, 1.25]), &mirrored, &[])
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn what_is_left_out_is_found_otherwise(things in prop_oneof![two_sheets(), two_parts()], is_turned in any::<bool>()) {
        let things = if is_turned { things.turned(tilt(), DVec3::ZERO) } else { things };
        let features = things.features();
        let placed = Placed { features: &features, positions: &things.positions };
        let state = State { placed, settings: within(1.5) };
        let [points, edges] = all_pairs(&features);
        let mut all = Vec::new();
        for &[point, triangle] in &points {
            placed.settle(Pair::new(Feature::Point(point), Feature::Triangle(triangle)), &mut all);
        }
        for &[one, other] in &edges {
            placed.settle(Pair::new(Feature::Edge(one), Feature::Edge(other)), &mut all);
        }
        all.sort_unstable_by_key(|pair| pair.id());
        all.dedup();
        let all: Vec<Contact> = all.into_iter().filter_map(|pair| state.contact(pair)).collect();
        prop_assert_eq!(things.contacts(&within(1.5)), all);
    }

    #[test]
    fn of_two_sheets_the_closest_place_is_found(things in two_sheets(), is_turned in any::<bool>()) {
        let things = if is_turned { things.turned(tilt(), DVec3::ZERO) } else { things };
        let smallest = smallest(&things);
        let found = things.contacts(&within(smallest + 1e-9));
        let closest = between_parts(&things, &found).map(|contact| contact.distance);
        prop_assert!((closest.fold(f64::INFINITY, f64::min) - smallest).abs() <= 1e-13);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn what_is_closest_of_all_is_found(things in two_parts(), is_turned in any::<bool>()) {
        let things = if is_turned { things.turned(tilt(), DVec3::ZERO) } else { things };
        let smallest = smallest(&things);
        prop_assume!(smallest.is_finite());
        let found = things.contacts(&within(smallest + 1e-9));
        let closest = between_parts(&things, &found).map(|contact| contact.distance);
        let closest = closest.fold(f64::INFINITY, f64::min);
        prop_assert!((closest - smallest).abs() <= 1e-13, "{closest} instead of {smallest}");
        prop_assert!(found.iter().all(|contact| contact.normal.is_finite()));
        prop_assert!(found.iter().all(|contact| (contact.normal.length() - 1.0).abs() < 1e-15));
        prop_assert!(found.windows(2).all(|two| two[0].id < two[1].id));
    }

    #[test]
    fn two_convex_bodies_have_one_closest_place(
        turn in [-1.0..1.0_f64, -1.0..1.0, -1.0..1.0_f64], shift in [-0.4..0.4_f64, -0.4..0.4, 1.9..2.2_f64]
    ) {
        let (points, triangles) = cube();
        let turned = DQuat::from_scaled_axis(DVec3::from(turn));
        let other: Vec<DVec3> = points.iter().map(|p| turned * (*p - 0.5) + DVec3::from(shift)).collect();
        let things = Things::default().add(&points, &triangles, &[]).add(&other, &triangles, &[]);
        let smallest = smallest(&things);
        let found = things.contacts(&within(smallest * (1.0 + 1e-6)));
        prop_assert_eq!(between_parts(&things, &found).count(), 1);
    }

    #[test]
    fn threads_change_no_bit(things in two_parts()) {
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| things.contacts(&within(2.0)))
        };
        let one = on(1);
        prop_assert_eq!(&one, &on(2));
        prop_assert_eq!(&one, &on(3));
    }

    #[test]
    fn to_scale_by_a_power_of_two_scales_the_contacts_exactly(things in two_parts(), exponent in -200..200_i32) {
        let scale = 2.0_f64.powi(exponent);
        let mut scaled = things.clone();
        scaled.positions.iter_mut().for_each(|position| *position *= scale);
        let (one, other) = (things.contacts(&within(1.5)), scaled.contacts(&within(1.5 * scale)));
        prop_assert_eq!(one.len(), other.len());
        for (one, other) in one.iter().zip(&other) {
            prop_assert_eq!((one.id, one.weights, one.normal), (other.id, other.weights, other.normal));
            prop_assert_eq!(one.distance * scale, other.distance);
        }
    }
}
