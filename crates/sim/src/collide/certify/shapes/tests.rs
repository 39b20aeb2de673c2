use super::super::super::features::Part;
use super::*;
use crate::random::Random;

/// Whether the part of a primitive is free.
fn free(features: &Features) -> impl Fn(&Primitive) -> bool + Sync + '_ {
    |primitive| features.parts[primitive.part as usize].is_free
}

const FREE: Part = Part {
    is_free: true,
    self_collides: true,
};

const SHAPES: [Shape; 6] = [
    Shape::Box {
        size: [1.0, 0.6, 0.2],
    },
    Shape::Sphere { radius: 0.5 },
    Shape::Cylinder {
        radius: 0.4,
        length: 0.7,
    },
    Shape::Capsule {
        radius: 0.2,
        length: 0.8,
    },
    Shape::Plane { size: 1.0 },
    Shape::Cone {
        radius: 0.5,
        height: 0.8,
    },
];

fn features(points: usize, triangles: Vec<[u32; 3]>, segments: &[[u32; 2]]) -> Features {
    Features::new(vec![0; points], vec![FREE], triangles, segments, &[])
}

/// Tests one triangle, segment or point.
fn test_one(shape: &Shape, from: &[DVec3], to: &[DVec3], radius: f64, guard: f64) -> ShapeReport {
    let features = match from.len() {
        1 => features(1, Vec::new(), &[]),
        2 => features(2, Vec::new(), &[[0, 1]]),
        _ => features(3, vec![[0, 1, 2]], &[]),
    };
    certify_shape(
        &features,
        shape,
        [from, to],
        |_| radius,
        |_| guard,
        free(&features),
    )
}

/// The corners, translated.
fn moved(corners: &[DVec3], by: DVec3) -> Vec<DVec3> {
    corners.iter().map(|corner| corner + by).collect()
}

/// The time must not be late, and not early by more than the reported resolution or a cell of the
/// smallest size.
#[track_caller]
fn assert_met(report: &ShapeReport, time: f64) {
    let [
        ShapeViolation {
            violation: Violation::Collision(found),
            ..
        },
    ] = report.violations[..]
    else {
        panic!("the collision at {time} is missed: {report:?}")
    };
    assert!(found <= time && found > time - 1e-6, "{found}, not {time}");
}

#[track_caller]
fn assert_clear(report: &ShapeReport) {
    assert_eq!((report.tested, report.intersections), (1, 0), "{report:?}");
}

#[test]
fn a_point_through_a_ball_collides_when_it_enters() {
    let ball = Shape::Sphere { radius: 1.0 };
    let pass = |y: f64, radius: f64| {
        let [from, to] = [-2.0, 2.0].map(|x| [DVec3::new(x, y, 0.0)]);
        test_one(&ball, &from, &to, radius, 1e-3)
    };
    assert_met(&pass(0.0, 0.0), 0.25);
    assert_met(&pass(0.6, 0.0), 0.3);
    // With a radius of 0.5 it enters at x = −1.5.
    assert_met(&pass(0.0, 0.5), 0.125);
    // It passes at a nanometre, which is below the guard, but not at the end.
    assert_clear(&pass(1.0 + 1e-9, 0.0));
    assert_clear(&pass(1.5 + 1e-9, 0.5));
    // Both ends are on a sphere of radius √5.
    let distance = pass(1.0 + 1e-9, 0.0).closest;
    assert!((distance - (5f64.sqrt() - 1.0)).abs() < 1e-6, "{distance}");
}

#[test]
fn a_triangle_that_hits_a_ball_between_its_corners_is_found() {
    let ball = Shape::Sphere { radius: 1.0 };
    let corners = [[-50.0, -40.0, 0.0], [70.0, -30.0, 0.0], [10.0, 60.0, 0.0]].map(DVec3::from);
    let lower = |to: f64, radius: f64, guard: f64| {
        let [from, to] = [3.0, to].map(|z| moved(&corners, z * DVec3::Z));
        test_one(&ball, &from, &to, radius, guard)
    };
    assert_clear(&lower(1.001, 0.0, 1e-3 - 1e-9));
    let report = lower(1.001, 0.0, 2e-3);
    let Violation::TooClose(gap) = report.violations[0].violation else {
        panic!("{report:?}")
    };
    assert!((gap - 1e-3).abs() < 1e-6);
    assert!((report.closest - 1e-3).abs() < 1e-6);
    // From 3 down to −1 it reaches 1 at half of the step, and 1.5 at three eighths.
    assert_met(&lower(-1.0, 0.0, 1e-3), 0.5);
    assert_met(&lower(-1.0, 0.5, 1e-3), 0.375);
    // Contact only.
    assert_met(&lower(1.0, 0.0, 1e-3), 1.0);
}

#[test]
fn a_jump_through_a_thin_box_is_found() {
    let sheet = Shape::Box {
        size: [1.0, 1.0, 1e-4],
    };
    let corners = [[0.0, 0.0, 0.0], [0.01, 0.0, 0.002], [0.0, 0.01, 0.003]].map(DVec3::from);
    let [from, to] = [0.5, -0.5].map(|z| moved(&corners, z * DVec3::Z));
    for count in 1..=3 {
        // The first corner is the lowest.
        let report = test_one(&sheet, &from[..count], &to[..count], 0.0, 1e-4);
        assert_met(&report, 0.5 - 0.5e-4);
        let highest = [0.0, 0.002, 0.003][count - 1];
        assert!((report.closest - (0.5 - highest - 0.5e-4)).abs() < 1e-9);
        // Beside it.
        let [from, to] = [&from, &to].map(|corners| moved(corners, DVec3::X * 0.500_001));
        assert_clear(&test_one(&sheet, &from[..count], &to[..count], 0.0, 1e-4));
    }
}

#[test]
fn a_rod_that_sweeps_through_a_thin_cylinder_between_its_ends_is_found() {
    let wire = Shape::Cylinder {
        radius: 1e-3,
        length: 10.0,
    };
    let rod = [DVec3::new(-3.0, 1.0, 0.2), DVec3::new(2.0, 1.0, 0.1)];
    let to = moved(&rod, -4.0 * DVec3::Y);
    assert_met(&test_one(&wire, &rod, &to, 0.0, 1e-4), (1.0 - 1e-3) / 4.0);
    assert_met(&test_one(&wire, &rod, &to, 0.1, 1e-4), (1.0 - 0.101) / 4.0);
    let to = moved(&rod, -0.998 * DVec3::Y);
    assert_clear(&test_one(&wire, &rod, &to, 0.0, 1e-3 - 1e-9));
}

#[test]
fn large_triangles_close_to_a_floor_are_clear() {
    let floor = Shape::Plane { size: 1.0 };
    let corners = [[0.0, 0.0, 0.0], [1.0, 0.3, 0.0], [0.2, 1.0, 0.0]].map(DVec3::from);
    let [from, to] = [0.25, 1e-4].map(|z| moved(&corners, DVec3::new(z, 0.0, z)));
    // Squares of a tenth of a millimetre would be 10^8.
    let report = test_one(&floor, &from, &to, 0.0, 1e-4);
    assert_clear(&report);
    assert_eq!(report.closest, 1e-4);
    let guard = 1e-4 * (1.0 + f64::EPSILON);
    let report = test_one(&floor, &from, &to, 0.0, guard);
    assert_eq!(report.violations[0].violation, Violation::TooClose(1e-4));
    // From 1 to −1.
    let [from, to] = [1.0, -1.0].map(|z| moved(&corners, z * DVec3::Z));
    let report = test_one(&floor, &from, &to, 0.0, 1e-3);
    assert_met(&report, 0.5);
    assert_eq!(report.closest, -1.0);
}

#[test]
fn radii_and_guards_vary_by_point() {
    let floor = Shape::Plane { size: 1.0 };
    let features = features(3, Vec::new(), &[[0, 1]]);
    // A rod that is thicker where it is higher, and a lone ball.
    let at = [[0.0, 0.0, 0.2], [1.0, 0.0, 0.5], [5.0, 0.0, 0.7]].map(DVec3::from);
    let radius = |point: u32| [0.1, 0.25, 0.5][point as usize];
    let run = |guards: [f64; 3]| {
        let guard = move |point: u32| guards[point as usize];
        certify_shape(
            &features,
            &floor,
            [&at, &at],
            radius,
            guard,
            free(&features),
        )
    };
    let report = run([0.09, 5.0, 0.19]);
    assert_eq!((report.tested, report.intersections), (2, 0));
    assert!((report.closest - 0.1).abs() < 1e-15);
    let feature = |report: ShapeReport| report.violations[0].feature;
    assert_eq!(feature(run([0.3, 0.3, 0.1])), [0, 1, 1]);
    assert_eq!(feature(run([0.1, 0.0, 0.3])), [2, 2, 2]);
    assert_eq!(run([f64::NAN, 0.0, 0.0]).intersections, 1, "a NaN guard");
    assert_eq!(run([f64::INFINITY; 3]).intersections, 2);
}

#[test]
fn fixed_parts_and_shapes_without_exact_distance_are_not_tested() {
    let fixed = Part {
        is_free: false,
        self_collides: false,
    };
    let features = Features::new(vec![0, 1], vec![fixed, FREE], Vec::new(), &[], &[]);
    let at = [DVec3::ZERO; 2];
    let run = |shape: &Shape| {
        certify_shape(
            &features,
            shape,
            [&at, &at],
            |_| 0.0,
            |_| 1e-3,
            free(&features),
        )
    };
    let report = run(&Shape::Sphere { radius: 1.0 });
    assert_eq!(
        (report.tested, report.intersections, report.closest),
        (1, 1, -1.0)
    );
    assert_eq!(report.violations[0].feature, [1; 3]);
    let stairs = Shape::Stairs {
        steps: 3,
        tread: 1.0,
        rise: 1.0,
        width: 1.0,
    };
    assert_eq!(run(&stairs), ShapeReport::empty());
}

#[test]
fn non_finite_and_too_large_numbers_are_violations() {
    let ball = Shape::Sphere { radius: 1.0 };
    let corners = [2.0 * DVec3::X, 3.0 * DVec3::X, 4.0 * DVec3::Y];
    for bad in [f64::NAN, f64::INFINITY] {
        let mut lost = corners;
        lost[2].z = bad;
        for (from, to) in [(lost, corners), (corners, lost)] {
            let report = test_one(&ball, &from, &to, 0.0, 1e-3);
            assert_eq!(report.violations[0].violation, Violation::NotFinite);
            assert_eq!(report.closest, 0.0);
        }
        let report = test_one(&ball, &corners, &corners, bad, 1e-3);
        assert_eq!(report.violations[0].violation, Violation::NotFinite);
        let nonsense = Shape::Sphere { radius: bad };
        assert_eq!(
            test_one(&nonsense, &corners, &corners, 0.0, 1e-3).intersections,
            1
        );
    }
    // Squares overflow, so there is no proof.
    let far = corners.map(|corner| corner * 1e300);
    assert_eq!(test_one(&ball, &far, &corners, 0.0, 1e-3).intersections, 1);
    // Missing positions.
    let one = features(2, Vec::new(), &[]);
    let report = certify_shape(
        &one,
        &ball,
        [&corners, &corners[..1]],
        |_| 0.0,
        |_| 1e-3,
        free(&one),
    );
    assert_eq!((report.tested, report.intersections), (2, 1));
    let empty = certify_shape(
        &Features::default(),
        &ball,
        [&[], &[]],
        |_| 0.0,
        |_| 1e-3,
        |_| true,
    );
    assert_eq!(empty, ShapeReport::empty());
}

fn random_point(random: &mut Random, size: f64) -> DVec3 {
    DVec3::from_array([(); 3].map(|()| random.between(-size, size)))
}

#[test]
fn distances_change_by_no_more_than_the_displacement() {
    let mut random = Random::new(3);
    for shape in SHAPES {
        let distance = |point: DVec3| shape.distance(point).unwrap();
        for _ in 0..20_000 {
            let [a, b] = [1.0, 1.0].map(|size| random_point(&mut random, size));
            assert!(
                (distance(a) - distance(b)).abs() <= a.distance(b) + 1e-14,
                "{shape:?} from {a} to {b}"
            );
        }
    }
}

/// Samples along the sides of a feature.
const SAMPLES: u32 = 12;

/// The smallest distance minus radius of samples of a feature.
fn sampled_distance(shape: &Shape, corners: &[DVec3], radius: f64) -> f64 {
    let mut least = f64::INFINITY;
    for i in 0..=SAMPLES {
        for j in 0..=SAMPLES - i {
            let [u, v] = [i, j].map(|at| f64::from(at) / f64::from(SAMPLES));
            let [a, b, c] = [0, 1, 2].map(|at| corners[at.min(corners.len() - 1)]);
            let point = a + u * (b - a) + v * (c - a);
            least = least.min(shape.distance(point).unwrap() - radius);
        }
    }
    least
}

/// Compares the test of a random motion with dense samples. Returns whether there is a violation.
fn compare_with_samples(random: &mut Random, shape: &Shape, count: usize) -> bool {
    let size = [0.02, 0.3, 2.0][random.below(3)];
    let centre = random_point(random, 0.9);
    let displacement = random_point(random, 1.0);
    let from: Vec<DVec3> = (0..count)
        .map(|_| centre + random_point(random, size))
        .collect();
    let to: Vec<DVec3> = from
        .iter()
        .map(|at| at + displacement + random_point(random, 0.5 * size))
        .collect();
    let radius = [0.0, 0.05][random.below(2)];
    let guard = 1e-4;
    let report = test_one(shape, &from, &to, radius, guard);
    let at = |time: f64| {
        let corners: Vec<DVec3> = from
            .iter()
            .zip(&to)
            .map(|(a, b)| a.lerp(*b, time))
            .collect();
        sampled_distance(shape, &corners, radius)
    };
    let sampled: Vec<f64> = (0..=100).map(|step| at(f64::from(step) / 100.0)).collect();
    let first_inside = sampled.iter().position(|distance| *distance <= 0.0);
    let least = sampled.iter().copied().fold(f64::INFINITY, f64::min);
    // The largest distance of a point from a sample, in space and in time.
    let side = |corners: &[DVec3]| {
        corners
            .iter()
            .map(|it| it.distance(corners[0]))
            .fold(0.0, f64::max)
    };
    let apart = 2.0 * side(&from).max(side(&to)) / f64::from(SAMPLES);
    let longest = from
        .iter()
        .zip(&to)
        .map(|(a, b)| a.distance(*b))
        .fold(0.0, f64::max);
    match report.violations.first().map(|it| it.violation) {
        Some(Violation::Collision(time)) => {
            assert!(
                least <= apart + longest / 200.0,
                "{report:?}, {least} sampled"
            );
            let first = first_inside.map_or(1.0, |step| step as f64 / 100.0);
            assert!(time <= first + 1e-9, "{time}, but inside at {first}");
        }
        _ => assert!(least > 0.0, "a collision is missed: {least} sampled"),
    }
    let end = sampled[100];
    assert!(
        report.closest <= end.max(0.0) * (1.0 + 1e-3),
        "{} after {end} sampled",
        report.closest
    );
    assert!(
        report.closest >= end - apart - 1e-9,
        "{} after {end} sampled",
        report.closest
    );
    report.intersections > 0
}

#[test]
fn random_motions_agree_with_dense_samples() {
    let mut random = Random::new(11);
    for shape in SHAPES {
        for count in 1..=3 {
            let cases = 150;
            let mut run = || compare_with_samples(&mut random, &shape, count);
            let violations = (0..cases).filter(|_| run()).count();
            assert!(
                violations > cases / 20 && violations < cases,
                "{violations} of {cases} for {shape:?}"
            );
        }
    }
}

#[test]
fn near_misses_of_corners_and_edges_are_clear_and_hits_are_not() {
    // Corners, edges and an apex, where the gradient changes most, and triangles ten thousand times
    // as large as the gap.
    let cases: [(Shape, [f64; 3], [f64; 3]); 4] = [
        (SHAPES[0], [0.5, 0.3, 0.1], [1.0, 1.0, 1.0]),
        (SHAPES[0], [0.5, 0.1, 0.1], [1.0, 0.0, 1.0]),
        (SHAPES[2], [0.4, 0.0, 0.35], [1.0, 0.0, 1.0]),
        (SHAPES[5], [0.0, 0.0, 0.8], [0.0, 0.0, 1.0]),
    ];
    for (shape, touched, normal) in cases {
        let (touched, normal) = (DVec3::from(touched), DVec3::from(normal).normalize());
        let [one, other] = [
            normal.any_orthonormal_vector(),
            normal.cross(normal.any_orthonormal_vector()),
        ];
        for gap in [1e-4, -1e-4] {
            // A triangle in the plane before the corner that slides along it.
            let middle = touched + gap * normal;
            let from = [
                middle - 0.6 * one,
                middle + 0.3 * one - 0.5 * other,
                middle + 0.3 * one + 0.5 * other,
            ];
            let to = moved(&from, 0.1 * one - 0.05 * other);
            let report = test_one(&shape, &from, &to, 0.0, 1e-5);
            assert_eq!(
                report.intersections,
                usize::from(gap < 0.0),
                "{shape:?} {gap}"
            );
            let most = if gap > 0.0 { gap } else { 0.0 };
            let range = gap - 1e-7..=most + 1e-7;
            assert!(range.contains(&report.closest), "{}", report.closest);
        }
    }
}

#[test]
fn reports_are_the_same_on_any_number_of_threads() {
    let mut random = Random::new(5);
    let triangles: Vec<[u32; 3]> = (0..3 * CHUNK_SIZE as u32)
        .map(|at| [3 * at, 3 * at + 1, 3 * at + 2])
        .collect();
    let mut from = Vec::new();
    for _ in &triangles {
        let middle = 3.0 * random.unit_vector();
        from.extend([0; 3].map(|_| middle + random_point(&mut random, 0.1)));
    }
    let to: Vec<DVec3> = from.iter().map(|at| at * 0.5 - 1.5 * DVec3::X).collect();
    let features = features(from.len(), triangles, &[]);
    let reports = [1, 2, 3].map(|threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let run = || {
            certify_shape(
                &features,
                &SHAPES[1],
                [&from, &to],
                |_| 0.0,
                |_| 1e-3,
                free(&features),
            )
        };
        pool.build().unwrap().install(run)
    });
    assert_eq!(reports[0], reports[1]);
    assert_eq!(reports[0], reports[2]);
    let report = &reports[0];
    assert_eq!(
        (report.tested, report.violations.len()),
        (3 * CHUNK_SIZE, MAX_LISTED)
    );
    let part = report.intersections as f64 / report.tested as f64;
    assert!((0.02..0.5).contains(&part), "violations: {part} of all");
    assert!(
        report
            .violations
            .is_sorted_by(|a, b| a.violation.time() <= b.violation.time())
    );
}
