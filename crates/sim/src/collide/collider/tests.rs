use super::*;
use crate::collide::features::Part;
use proptest::prelude::*;

fn features(count: usize, triangles: &[[u32; 3]], segments: &[[u32; 2]]) -> Features {
    let part = Part {
        is_free: true,
        self_collides: true,
    };
    Features::new(
        vec![0; count],
        vec![part],
        triangles.to_vec(),
        segments,
        &[],
    )
}

/// A square of n × n vertices, `step` apart, with this centre.
fn grid(n: u32, step: f64, middle: DVec3) -> (Vec<DVec3>, Vec<[u32; 3]>) {
    let half = 0.5 * f64::from(n - 1);
    let at = |at: u32| {
        let [i, j] = [at % n, at / n].map(f64::from);
        DVec3::new(i - half, j - half, 0.0) * step + middle
    };
    let cells = (0..n - 1).flat_map(|j| (0..n - 1).map(move |i| j * n + i));
    let triangles = cells.flat_map(|a| [[a, a + 1, a + n + 1], [a, a + n + 1, a + n]]);
    ((0..n * n).map(at).collect(), triangles.collect())
}

fn within(range: f64) -> ShapeQuery<'static> {
    ShapeQuery {
        range,
        ranges: &[],
        half_thickness: &[],
        skin: 0.0,
        parts: None,
    }
}

fn kind(contact: &ProximityPair) -> u64 {
    contact.id >> 62
}

#[test]
fn a_sheet_on_a_floor_has_a_contact_at_each_vertex() {
    for tilt in [0.0, 0.05, 2.0] {
        let (mut points, triangles) = grid(6, 0.1, DVec3::Z * 0.8);
        for point in &mut points {
            point.z += tilt * point.x;
        }
        let features = features(points.len(), &triangles, &[]);
        let floor = Shape::Plane { size: 10.0 };
        let found = contacts(&features, &points, &floor, 3, &within(2.0));
        assert_eq!(found.len(), 36, "tilt {tilt}");
        for (at, contact) in found.iter().enumerate() {
            assert_eq!(
                contact.id,
                FeaturePair::new(Feature::Point(at as u32), Feature::Collider(3)).id()
            );
            assert_eq!((contact.normal, contact.distance), (DVec3::Z, points[at].z));
        }
    }
}

#[test]
fn a_ball_under_a_sheet_has_one_contact() {
    let ball = Shape::Sphere { radius: 0.3 };
    // 5 vertices, 1 apart: under a vertex, two kinds of sides, a diagonal, and an interior.
    for (shift, expected) in [
        ([0.0, 0.0], 0),
        ([0.5, 0.0], 1),
        ([0.0, 0.3], 1),
        ([0.5, 0.5], 1),
        ([0.25, 0.5], 2),
        ([1.7, 0.4], 2),
    ] {
        let (points, triangles) = grid(5, 1.0, DVec3::new(shift[0], shift[1], 0.35));
        let features = features(points.len(), &triangles, &[]);
        let found = contacts(&features, &points, &ball, 0, &within(0.1));
        assert_eq!(found.len(), 1, "{shift:?} {found:?}");
        assert_eq!(kind(&found[0]), expected, "{shift:?}");
        assert!((found[0].distance - 0.05).abs() < 1e-12);
        let terms = found[0].points.iter().zip(found[0].weights);
        let position: DVec3 = terms.map(|(&p, weight)| points[p as usize] * weight).sum();
        assert!((position - DVec3::Z * 0.35).length() < 1e-5);
    }
}

#[test]
fn a_rod_has_one_contact_with_a_cylinder() {
    let drum = Shape::Cylinder {
        radius: 0.5,
        length: 4.0,
    };
    let segments: Vec<[u32; 2]> = (0..6).map(|at| [at, at + 1]).collect();
    for (shift, expected) in [(0.0, 0), (0.3, 1)] {
        let at = |at: u32| DVec3::new(0.52, f64::from(at) - 3.0 + shift, 0.1);
        let points: Vec<DVec3> = (0..7).map(at).collect();
        let half_thickness = [0.015; 7];
        let query = ShapeQuery {
            half_thickness: &half_thickness,
            skin: 0.001,
            parts: None,
            ..within(0.01)
        };
        let features = features(7, &[], &segments);
        let found = contacts(&features, &points, &drum, 0, &query);
        assert_eq!(found.len(), 1);
        assert_eq!(kind(&found[0]), expected);
        assert!((found[0].gap - 0.004).abs() < 1e-12);
        assert!((found[0].normal - DVec3::X).length() < 1e-6);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn the_closest_point_is_always_a_contact(
        heights in prop::collection::vec(0.0..0.3_f64, 25),
        shape in 0..5_usize,
        is_level in any::<bool>(),
        shift in 0.0..0.5_f64,
    ) {
        let shape = [
            Shape::Sphere { radius: 0.2 },
            Shape::Box { size: [0.3, 0.2, 0.4] },
            Shape::Cone { radius: 0.3, height: 0.2 },
            Shape::Capsule { radius: 0.1, length: 0.2 },
            Shape::Plane { size: 1.0 },
        ][shape];
        let (mut points, triangles) = grid(5, 0.25, DVec3::new(shift, 0.0, 0.21));
        for (point, height) in points.iter_mut().zip(&heights) {
            point.z += if is_level { (height * 10.0).round() / 10.0 } else { *height };
        }
        let features = features(points.len(), &triangles, &[]);
        let position = |corner: u32| points[corner as usize];
        let corners = triangles.iter().map(|corners| corners.map(position));
        let smallest = corners
            .filter_map(|corners| closest(&shape, &corners))
            .map(|found| found.signed.distance)
            .fold(f64::INFINITY, f64::min);
        let query = within(smallest + 1e-6);
        let found = contacts(&features, &points, &shape, 0, &query);
        let distances = found.iter().map(|contact| contact.distance);
        let nearest = distances.fold(f64::INFINITY, f64::min);
        prop_assert!((nearest - smallest).abs() <= 1e-10, "{nearest} instead of {smallest}");
        prop_assert!(found.windows(2).all(|two| two[0].id < two[1].id));
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let alone = pool.install(|| contacts(&features, &points, &shape, 0, &query));
        prop_assert_eq!(alone, found);
    }
}

#[test]
fn held_parts_and_non_finite_points_have_no_contacts() {
    let (mut points, triangles) = grid(3, 0.1, DVec3::Z * 0.01);
    let floor = Shape::Plane { size: 10.0 };
    let mut features = features(points.len(), &triangles, &[]);
    points[4].y = f64::NAN;
    let found = contacts(&features, &points, &floor, 0, &within(0.02));
    assert_eq!(found.len(), 8);
    assert!(found.iter().all(|contact| !contact.points.contains(&4)));
    features.parts[0].is_free = false;
    assert_eq!(contacts(&features, &points, &floor, 0, &within(0.02)), []);
    assert_eq!(
        contacts(&Features::default(), &[], &floor, 0, &within(0.02)),
        []
    );
}
