use super::*;
use proptest::prelude::*;

/// Two random parts of triangles and segments. Most have integer coordinates, where ties are
/// frequent, or are close to them.
fn two_parts() -> impl Strategy<Value = Parts> {
    let part = (
        prop::collection::vec([-4.0..4.0_f64, -4.0..4.0, -2.0..2.0_f64], 4..9),
        prop::collection::vec([0..99_u32, 0..99, 0..99], 0..7),
        prop::collection::vec([0..99_u32, 0..99], 1..4),
    );
    let noise = prop::sample::select(vec![0.0, 0.0, 1e-15, 1e-12, 1e-9, 1e-8, 1e-6, 1.0]);
    (part.clone(), part, noise).prop_map(|(one, other, noise)| {
        [(one, 0.0), (other, 3.0)].into_iter().fold(
            Parts::default(),
            |parts, ((points, triangles, segments), height)| {
                let snapped = |[x, y, z]: [f64; 3]| {
                    let point = DVec3::new(x, y, z + height);
                    point.round() + noise * (point - point.round())
                };
                let points: Vec<DVec3> = points.into_iter().map(snapped).collect();
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
                parts.add(&points, &triangles, &segments)
            },
        )
    })
}

/// The smallest distance between different parts, over all pairs.
fn smallest(parts: &Parts) -> f64 {
    let features = parts.features();
    let placed = PlacedFeatures {
        features: &features,
        positions: &parts.positions,
    };
    let [points, edges] = all_pairs(&features);
    let points = points
        .iter()
        .map(|&[p, t]| FeaturePair::new(Feature::Point(p), Feature::Triangle(t)));
    let edges = edges
        .iter()
        .map(|&[a, b]| FeaturePair::new(Feature::Edge(a), Feature::Edge(b)));
    points
        .chain(edges)
        .map(|pair| placed.distance(pair))
        .filter(|near| {
            let [one, other] = [near.points[0], near.points[3]];
            features.part_of[one as usize] != features.part_of[other as usize]
        })
        .map(|near| near.closest.distance)
        .fold(f64::INFINITY, f64::min)
}

/// Two sheets with bumps, one above the other; some on a coarse lattice, with ties.
fn two_sheets() -> impl Strategy<Value = Parts> {
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
            Parts::default()
                .add(&bumpy(&low, [0.0; 3]), &triangles, &[])
                .add(&bumpy(&high, [x, y, 1.25]), &mirrored, &[])
        },
    )
}

/// Rotates the parts if `is_turned`.
fn turned_if(parts: Parts, is_turned: bool) -> Parts {
    if is_turned {
        parts.transformed(tilt(), DVec3::ZERO)
    } else {
        parts
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn skipped_pairs_of_edges_lose_no_contact(
        parts in prop_oneof![two_sheets(), two_parts()],
        is_turned in any::<bool>(),
    ) {
        let parts = turned_if(parts, is_turned);
        let features = parts.features();
        let placed = PlacedFeatures { features: &features, positions: &parts.positions };
        let search = ContactSearch { placed, query: within(1.5) };
        let [points, edges] = all_pairs(&features);
        let mut all = Vec::new();
        for &[point, triangle] in &points {
            let pair = FeaturePair::new(Feature::Point(point), Feature::Triangle(triangle));
            placed.resolve(pair, &mut all);
        }
        for &[one, other] in &edges {
            placed.resolve(FeaturePair::new(Feature::Edge(one), Feature::Edge(other)), &mut all);
        }
        all.sort_unstable_by_key(|pair| pair.id());
        all.dedup();
        let all = all.into_iter().filter_map(|pair| search.contact(pair));
        prop_assert_eq!(parts.contacts(&within(1.5)), all.collect::<Vec<ProximityPair>>());
    }

    #[test]
    fn the_closest_points_of_two_sheets_are_a_contact(
        parts in two_sheets(), is_turned in any::<bool>()
    ) {
        let parts = turned_if(parts, is_turned);
        let smallest = smallest(&parts);
        let found = parts.contacts(&within(smallest + 1e-9));
        let closest = between_parts(&parts, &found).map(|contact| contact.distance);
        prop_assert!((closest.fold(f64::INFINITY, f64::min) - smallest).abs() <= 1e-13);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn the_closest_points_of_two_parts_are_a_contact(
        parts in two_parts(), is_turned in any::<bool>()
    ) {
        let parts = turned_if(parts, is_turned);
        let smallest = smallest(&parts);
        prop_assume!(smallest.is_finite());
        let found = parts.contacts(&within(smallest + 1e-9));
        let closest = between_parts(&parts, &found).map(|contact| contact.distance);
        let closest = closest.fold(f64::INFINITY, f64::min);
        prop_assert!((closest - smallest).abs() <= 1e-13, "{closest} instead of {smallest}");
        prop_assert!(found.iter().all(|contact| contact.normal.is_finite()));
        prop_assert!(found.iter().all(|contact| (contact.normal.length() - 1.0).abs() < 1e-15));
        prop_assert!(found.windows(2).all(|two| two[0].id < two[1].id));
    }

    #[test]
    fn two_convex_bodies_have_one_contact(
        turn in [-1.0..1.0_f64, -1.0..1.0, -1.0..1.0_f64],
        shift in [-0.4..0.4_f64, -0.4..0.4, 1.9..2.2_f64],
    ) {
        let (points, triangles) = cube();
        let turn = DQuat::from_scaled_axis(DVec3::from(turn));
        let other = points.iter().map(|p| turn * (*p - 0.5) + DVec3::from(shift));
        let other: Vec<DVec3> = other.collect();
        let parts = Parts::default().add(&points, &triangles, &[]).add(&other, &triangles, &[]);
        let smallest = smallest(&parts);
        let found = parts.contacts(&within(smallest * (1.0 + 1e-6)));
        prop_assert_eq!(between_parts(&parts, &found).count(), 1);
    }

    #[test]
    fn any_number_of_threads_finds_the_same_contacts(parts in two_parts()) {
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| parts.contacts(&within(2.0)))
        };
        let one = on(1);
        prop_assert_eq!(&one, &on(2));
        prop_assert_eq!(&one, &on(3));
    }

    #[test]
    fn scaling_by_a_power_of_two_scales_the_contacts_exactly(
        parts in two_parts(), exponent in -200..200_i32
    ) {
        let scale = 2.0_f64.powi(exponent);
        let mut scaled = parts.clone();
        scaled.positions.iter_mut().for_each(|position| *position *= scale);
        let (one, other) = (parts.contacts(&within(1.5)), scaled.contacts(&within(1.5 * scale)));
        prop_assert_eq!(one.len(), other.len());
        for (one, other) in one.iter().zip(&other) {
            prop_assert_eq!((one.id, one.weights), (other.id, other.weights));
            prop_assert_eq!(one.normal, other.normal);
            prop_assert_eq!(one.distance * scale, other.distance);
        }
    }
}
