use glam::DVec3;

use super::super::features::{Features, Part};
use super::*;

/// All pairs of features that may collide.
fn all_pairs(features: &Features) -> [Vec<[u32; 2]>; 2] {
    let [points, edges, triangles] = [
        features.part_of.len(),
        features.edges.len(),
        features.triangles.len(),
    ]
    .map(|count| count as u32);
    let point_triangle = (0..points)
        .flat_map(|point| (0..triangles).map(move |triangle| [point, triangle]))
        .filter(|&[point, triangle]| features.may_collide_point_triangle(point, triangle));
    let edge_edge = (0..edges)
        .flat_map(|other| (0..other).map(move |edge| [edge, other]))
        .filter(|&[edge, other]| features.may_collide_edges(edge, other));
    [point_triangle.collect(), edge_edge.collect()]
}

fn build(points: usize, triangles: Vec<[u32; 3]>, segments: &[[u32; 2]]) -> Features {
    let part = Part {
        is_free: true,
        self_collides: true,
    };
    Features::new(vec![0; points], vec![part], triangles, segments, &[])
}

fn test(features: &Features, from: &[DVec3], to: &[DVec3], guard: f64) -> PairReport {
    let [point_triangle, edge_edge] = all_pairs(features);
    certify(features, &point_triangle, &edge_edge, from, to, |_, _| {
        guard
    })
}

/// Rods along x in a row along y, and under it one along y.
fn comb(teeth: u32, height: impl Fn(u32) -> f64) -> (Features, Vec<DVec3>) {
    let mut points = vec![DVec3::ZERO, DVec3::Y * f64::from(teeth)];
    let mut segments = vec![[0, 1]];
    for tooth in 0..teeth {
        let middle = DVec3::new(0.0, 0.5 + f64::from(tooth), height(tooth));
        segments.push([points.len() as u32, points.len() as u32 + 1]);
        points.extend([middle - DVec3::X, middle + DVec3::X]);
    }
    (build(points.len(), Vec::new(), &segments), points)
}

#[test]
fn a_rod_that_passes_through_a_rod_within_a_step_is_found() {
    let (features, from) = comb(1, |_| 1.0);
    let (_, to) = comb(1, |_| -3.0);
    let report = test(&features, &from, &to, 0.1);
    assert_eq!((report.tested, report.intersections), (1, 1));
    // They are far from each other before and after.
    assert_eq!(report.closest, 3.0);
    let [violation] = report.violations[..] else {
        panic!("{report:?}")
    };
    assert_eq!(
        (violation.kind, violation.features),
        (PairKind::EdgeEdge, [0, 1])
    );
    // Heights 1 to -3: they collide after a quarter of the step; the time is a lower bound.
    assert!(
        matches!(violation.violation, Violation::Collision(time) if (0.249..=0.25).contains(&time))
    );
}

#[test]
fn a_rod_that_passes_through_a_triangle_within_a_step_is_found() {
    let features = build(5, vec![[0, 1, 2]], &[[3, 4]]);
    let jump = |start: [f64; 3], end: [f64; 3], by: DVec3| {
        let from = [DVec3::ZERO, DVec3::X, DVec3::Y].into_iter();
        let from: Vec<DVec3> = from.chain([start.into(), end.into()]).collect();
        let mut to = from.clone();
        to[3] += by;
        to[4] += by;
        test(&features, &from, &to, 1e-3).intersections
    };
    // Horizontal and longer than the triangle: through two of its sides.
    assert_eq!(
        jump([-1.0, 0.25, 1.0], [2.0, 0.25, 1.0], -2.0 * DVec3::Z),
        2
    );
    // Upright and short: both ends through the interior.
    assert_eq!(
        jump([0.25, 0.25, 1.0], [0.25, 0.25, 2.0], -4.0 * DVec3::Z),
        2
    );
    // Upright across its plane, from one side to the other: through two sides.
    assert_eq!(
        jump([-1.0, 0.25, -0.5], [-1.0, 0.25, 0.5], 3.0 * DVec3::X),
        2
    );
    // Beside it.
    assert_eq!(
        jump([-1.0, 1.25, -0.5], [-1.0, 1.25, 0.5], 3.0 * DVec3::X),
        0
    );
}

#[test]
fn a_pair_that_ends_closer_than_its_guard_is_a_violation() {
    let (features, from) = comb(2, |_| 1.0);
    let (_, to) = comb(2, |tooth| [0.25, 0.5][tooth as usize]);
    let report = test(&features, &from, &to, 0.25);
    assert_eq!((report.intersections, report.closest), (0, 0.25));
    let report = test(&features, &from, &to, 0.25 + f64::EPSILON);
    assert_eq!(report.intersections, 1);
    assert_eq!(report.violations[0].violation, Violation::TooClose(0.25));
    // A guard per pair; a NaN guard is always violated.
    let [_, edge_edge] = all_pairs(&features);
    let guard = |_, [_, other]: [u32; 2]| if other == 2 { f64::NAN } else { 0.1 };
    let report = certify(&features, &[], &edge_edge, &from, &to, guard);
    let violations: Vec<[u32; 2]> = report.violations.iter().map(|it| it.features).collect();
    assert_eq!(violations, [[0, 2], [1, 2]]);
}

#[test]
fn non_finite_positions_are_violations() {
    let (features, from) = comb(2, |_| 1.0);
    let mut to = from.clone();
    to[3].x = f64::NAN;
    // The first tooth is in two pairs.
    for (from, to) in [(&from, &to), (&to, &from)] {
        let report = test(&features, from, to, 0.1);
        assert_eq!((report.tested, report.intersections), (3, 2));
        assert!(
            report
                .violations
                .iter()
                .all(|it| it.violation == Violation::NotFinite)
        );
    }
    // Missing positions, and features that do not exist.
    assert_eq!(test(&features, &from, &from[..5], 0.1).intersections, 2);
    let report = certify(&features, &[[0, 9]], &[[0, 9]], &from, &from, |_, _| 0.1);
    assert_eq!((report.intersections, report.closest), (2, 0.0));
}

#[test]
fn without_pairs_the_closest_distance_is_infinite() {
    let report = test(&Features::default(), &[], &[], 1.0);
    assert_eq!((report.tested, report.intersections), (0, 0));
    assert_eq!(report.closest, f64::INFINITY);
}

#[test]
fn the_first_violations_are_listed_and_all_are_counted_on_any_number_of_threads() {
    let teeth = 3 * CHUNK_SIZE as u32 / 2;
    // Later teeth fall faster, so they collide earlier; the last two stay above.
    let fall = |tooth: u32| {
        if tooth + 2 < teeth {
            -1.0 - f64::from(tooth) / f64::from(teeth)
        } else {
            0.75
        }
    };
    let (features, from) = comb(teeth, |_| 1.0);
    let (_, to) = comb(teeth, fall);
    let spine: Vec<[u32; 2]> = (1..=teeth).map(|tooth| [0, tooth]).collect();
    let reports = [1, 2, 3].map(|threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build()
            .unwrap()
            .install(|| certify(&features, &[], &spine, &from, &to, |_, _| 0.1))
    });
    assert_eq!(reports[0], reports[1]);
    assert_eq!(reports[0], reports[2]);
    let report = &reports[0];
    assert_eq!(report.tested, teeth as usize);
    assert_eq!(report.intersections, teeth as usize - 2);
    assert_eq!(report.closest, 0.75);
    let listed: Vec<u32> = report.violations.iter().map(|it| it.features[1]).collect();
    let expected: Vec<u32> = (0..MAX_LISTED as u32)
        .map(|place| teeth - 2 - place)
        .collect();
    assert_eq!(listed, expected);
}
