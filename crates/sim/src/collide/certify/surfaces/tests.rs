//! Comparison with an oracle that computes the intersection along the edge in exact fractions.

use proptest::prelude::*;

use super::super::super::features::Part;
use super::super::super::sample::SampleScene;
use super::*;

type Whole = [i128; 3];

/// The inequality first + second · t ≥ 0.
type Constraint = [i128; 2];

fn minus(a: Whole, b: Whole) -> Whole {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

fn product(a: Whole, b: Whole) -> i128 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn area(a: Whole, b: Whole) -> Whole {
    let minor = |i: usize, j: usize| a[i] * b[j] - a[j] * b[i];
    [minor(1, 2), minor(2, 0), minor(0, 1)]
}

/// Whether a t in [0, 1] satisfies all constraints, which bound an interval of fractions.
fn is_satisfiable(constraints: &[Constraint]) -> bool {
    let ([mut low, mut high], mut is_satisfied) = ([[0, 1], [1, 1]], true);
    let is_less = |[a, b]: [i128; 2], [c, d]: [i128; 2]| a * d < c * b;
    for &[first, second] in constraints {
        match second.signum() {
            0 => is_satisfied &= first >= 0,
            1 if is_less(low, [-first, second]) => low = [-first, second],
            -1 if is_less([first, -second], high) => high = [first, -second],
            _ => {}
        }
    }
    is_satisfied && !is_less(high, low)
}

/// The constraint `normal` · (x − `from`) ≥ 0 for x along an edge.
fn above(normal: Whole, from: Whole, [start, end]: [Whole; 2]) -> Constraint {
    let at_start = product(normal, minus(start, from));
    [at_start, product(normal, minus(end, start))]
}

fn opposite([first, second]: Constraint) -> Constraint {
    [-first, -second]
}

/// Whether an edge with integer coordinates below 2^12 crosses or touches a triangle.
fn is_crossing_exactly(edge: [Whole; 2], corners: [Whole; 3]) -> bool {
    let [a, b, c] = corners;
    let normal = area(minus(b, a), minus(c, a));
    let sides = [[a, b], [b, c], [c, a]];
    if normal != [0; 3] {
        let plane = above(normal, a, edge);
        let inside = sides.map(|[from, to]| above(area(normal, minus(to, from)), from, edge));
        return is_satisfiable(&[&inside[..], &[plane, opposite(plane)]].concat());
    }
    // A triangle without area consists of its sides.
    sides.into_iter().any(|[from, to]| {
        let along = minus(to, from);
        let mut constraints = vec![above(along, from, edge), opposite(above(along, to, edge))];
        for axis in 0..3 {
            let mut unit = [0; 3];
            unit[axis] = 1;
            let across = if along == [0; 3] {
                unit
            } else {
                area(along, unit)
            };
            let on_line = above(across, from, edge);
            constraints.extend([on_line, opposite(on_line)]);
        }
        is_satisfiable(&constraints)
    })
}

fn double([x, y, z]: Whole) -> DVec3 {
    DVec3::new(x as f64, y as f64, z as f64)
}

fn whole(position: DVec3) -> Whole {
    position.to_array().map(|coordinate| coordinate as i128)
}

/// The crossings of a scene with integer coordinates, by comparison of all edges and triangles.
fn brute_force_crossings(features: &Features, positions: &[DVec3]) -> Vec<[u32; 2]> {
    let mut found = Vec::new();
    for (edge, ends) in (0..).zip(&features.edges) {
        for (triangle, corners) in (0..).zip(&features.triangles) {
            let [one, other] = [ends[0], corners[0]].map(|point| features.part_of[point as usize]);
            let is_neighbour = ends
                .iter()
                .any(|&end| corners.iter().any(|&it| features.are_joined(end, it)));
            let position = |point: u32| whole(positions[point as usize]);
            if ends[0] != ends[1]
                && features.may_collide(one, other)
                && !is_neighbour
                && is_crossing_exactly(ends.map(position), corners.map(position))
            {
                found.push([edge, triangle]);
            }
        }
    }
    found
}

fn pairs(crossings: &[Crossing]) -> Vec<[u32; 2]> {
    crossings.iter().map(|it| [it.edge, it.triangle]).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn scenes_on_a_lattice_have_the_crossings_of_a_brute_force_search(
        seed: u64,
        size in 1usize..30,
        exponent in -300i32..300,
    ) {
        let SampleScene { features, from, .. } = SampleScene::random(seed, size, 1.0, DVec3::ZERO);
        let expected = brute_force_crossings(&features, &from);
        let found = crossings(&features, &from);
        prop_assert_eq!(pairs(&found), &expected[..]);
        for Crossing { edge, position, .. } in found {
            let [start, end] = features.edges[edge as usize].map(|point| from[point as usize]);
            let detour = start.distance(position) + position.distance(end) - start.distance(end);
            let is_on_edge = detour < 1e-9;
            prop_assert!(is_on_edge, "{position} from {start} to {end}");
        }
        // Far from 0, and at other scales.
        let moved: Vec<DVec3> = from.iter().map(|point| point * 2f64.powi(-20) + 1e6).collect();
        prop_assert_eq!(pairs(&crossings(&features, &moved)), &expected[..]);
        let scaled: Vec<DVec3> = from.iter().map(|point| point * 2f64.powi(exponent)).collect();
        prop_assert_eq!(pairs(&crossings(&features, &scaled)), &expected[..]);
    }
}

fn points<const COUNT: usize>(most: i128) -> impl Strategy<Value = [Whole; COUNT]> {
    let coordinates = prop::collection::vec(-most..=most, 3 * COUNT);
    coordinates
        .prop_map(|all| std::array::from_fn(|at| [all[3 * at], all[3 * at + 1], all[3 * at + 2]]))
}

fn check(edge: [Whole; 2], corners: [Whole; 3]) -> Result<(), TestCaseError> {
    let expected = is_crossing_exactly(edge, corners);
    for scale in [1.0, 2f64.powi(1008), 2f64.powi(-1074)] {
        let [start, end] = edge.map(|position| scale * double(position));
        let corners = corners.map(|position| scale * double(position));
        for edge in [[start, end], [end, start]] {
            let found = crossing_position(edge, corners);
            prop_assert_eq!(found.is_some(), expected, "{:?} {:?}", edge, corners);
            prop_assert!(found.is_none_or(DVec3::is_finite));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5000))]

    #[test]
    fn random_edges_cross_as_in_exact_arithmetic(
        edge in points::<2>(2000), corners in points::<3>(2000)
    ) {
        check(edge, corners)?;
    }

    #[test]
    fn edges_on_a_coarse_lattice_cross_as_in_exact_arithmetic(
        edge in points::<2>(2), corners in points::<3>(2)
    ) {
        check(edge, corners)?;
    }

    #[test]
    fn edges_in_the_plane_of_a_triangle_cross_as_in_exact_arithmetic(
        [origin, one, other] in points::<3>(20),
        multiples in prop::array::uniform5(prop::array::uniform2(-6i128..=6)),
    ) {
        let [a, b, c, start, end] = multiples.map(|[u, v]| {
            std::array::from_fn(|axis| origin[axis] + u * one[axis] + v * other[axis])
        });
        check([start, end], [a, b, c])?;
    }

    /// Edges through a point of the triangle, most often on its boundary, and beside it by as
    /// little as possible.
    #[test]
    fn edges_through_the_boundary_cross_as_in_exact_arithmetic(
        corners in points::<3>(80),
        weights in prop::array::uniform3(0i128..=2),
        [along, nudge] in points::<2>(1),
        ends in prop::array::uniform2(-50i128..=50),
    ) {
        let sum = weights.iter().sum::<i128>().max(1);
        let corners = corners.map(|corner| corner.map(|x| sum * x));
        let point: Whole = std::array::from_fn(|axis| {
            let terms = (0..3).map(|corner| weights[corner] * corners[corner][axis]);
            terms.sum::<i128>() / sum + nudge[axis]
        });
        let edge = ends.map(|end| std::array::from_fn(|axis| point[axis] + end * along[axis]));
        check(edge, corners)?;
    }
}

#[test]
fn an_edge_through_the_boundary_crosses_and_an_ulp_beside_it_does_not() {
    let corners = [DVec3::ZERO, DVec3::X, DVec3::Y];
    let upright = |x: f64, y: f64| {
        let foot = DVec3::new(x, y, 0.0);
        crossing_position([foot - DVec3::Z, foot + 3.0 * DVec3::Z], corners)
    };
    for (x, y) in [
        (0.25, 0.25),
        (0.0, 0.0),
        (1.0, 0.0),
        (0.25, 0.75),
        (0.3, 0.0),
    ] {
        assert_eq!(upright(x, y), Some(DVec3::new(x, y, 0.0)));
    }
    for (x, y) in [
        (0.25, 0.75 + f64::EPSILON),
        (-f64::from_bits(1), 0.5),
        (1.0 + f64::EPSILON, 0.0),
    ] {
        assert_eq!(upright(x, y), None);
    }
    // From above down to the triangle, and down to the smallest number above it.
    let lowered = |z: f64| {
        crossing_position(
            [DVec3::new(0.2, 0.3, 1.0), DVec3::new(0.2, 0.3, z)],
            corners,
        )
    };
    assert_eq!(lowered(0.0), Some(DVec3::new(0.2, 0.3, 0.0)));
    assert_eq!(lowered(f64::from_bits(1)), None);
}

#[test]
fn an_edge_in_the_plane_crosses_if_it_overlaps() {
    let corners = [DVec3::ZERO, 4.0 * DVec3::X, 4.0 * DVec3::Y];
    let flat = |start: [f64; 2], end: [f64; 2]| {
        let [start, end] = [start, end].map(|[x, y]| DVec3::new(x, y, 0.0));
        crossing_position([start, end], corners)
    };
    assert_eq!(
        flat([1.0, 1.0], [2.0, 1.0]),
        Some(DVec3::new(1.5, 1.0, 0.0)),
        "within"
    );
    assert_eq!(
        flat([-2.0, 1.0], [9.0, 1.0]),
        Some(DVec3::new(2.0, 1.0, 0.0)),
        "across"
    );
    assert!(flat([1.0, -1.0], [-1.0, 1.0]).is_some(), "at a corner");
    assert!(flat([5.0, 0.0], [4.0, 0.0]).is_some(), "end to corner");
    assert!(flat([5.0, -1.0], [-1.0, 5.0]).is_some(), "along a side");
    assert_eq!(flat([5.0, -0.5], [-1.0, 5.5]), None, "beside a side");
    assert_eq!(flat([5.0, 0.0], [6.0, 0.0]), None, "on the line of a side");
}

#[test]
fn coordinates_with_overflowing_differences_are_decided() {
    let far = f64::MAX;
    let corners = [[-far, -far, 0.0], [far, -far, 0.0], [0.0, far, 0.0]].map(DVec3::from);
    let upright =
        |x: f64| crossing_position([DVec3::new(x, 0.0, -far), DVec3::new(x, 0.0, far)], corners);
    assert!(upright(0.5 * far).is_some());
    assert!(upright(0.6 * far).is_none());
}

const FREE: Part = Part {
    is_free: true,
    self_collides: true,
};

/// Appends a sheet of squares, each divided into two triangles, with vertices at the values of
/// `position`.
fn add_sheet(
    side: u32,
    position: impl Fn(f64, f64) -> DVec3,
    points: &mut Vec<DVec3>,
    triangles: &mut Vec<[u32; 3]>,
) {
    let first = points.len() as u32;
    for row in 0..=side {
        for column in 0..=side {
            let [u, v] = [row, column].map(|at| f64::from(at) / f64::from(side));
            points.push(position(u, v));
            if row < side && column < side {
                let corner = first + row * (side + 1) + column;
                let (next, above) = (corner + 1, corner + side + 1);
                triangles.extend([[corner, next, above], [next, above + 1, above]]);
            }
        }
    }
}

/// A horizontal sheet, and an upright one from z = −0.5 + `lift` to 0.5 + `lift`.
fn two_sheets(lift: f64) -> (Features, Vec<DVec3>) {
    let (mut points, mut triangles) = (Vec::new(), Vec::new());
    let level = |u: f64, v: f64| DVec3::new(u, v, 0.0);
    let upright = |u: f64, v: f64| DVec3::new(0.503 + 0.01 * u, 0.1037 + 0.7 * u, v - 0.5 + lift);
    add_sheet(25, level, &mut points, &mut triangles);
    add_sheet(25, upright, &mut points, &mut triangles);
    let features = Features::new(vec![0; points.len()], vec![FREE], triangles, &[], &[]);
    (features, points)
}

#[test]
fn interpenetrating_cloths_are_found_on_any_number_of_threads() {
    let (features, points) = two_sheets(0.013);
    let found = [1, 2, 3].map(|threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build()
            .unwrap()
            .install(|| crossings(&features, &points))
    });
    assert_eq!(found[0], found[1]);
    assert_eq!(found[0], found[2]);
    assert!(found[0].is_sorted_by_key(|it| [it.edge, it.triangle]));
    // In general position every edge that crosses the other sheet crosses one triangle.
    let beyond = |position: DVec3| position.x - 0.503 - (position.y - 0.1037) / 70.0;
    let crosses = |ends: &[u32; 2]| {
        let [a, b] = ends.map(|point| points[point as usize]);
        let is_level = a.z == 0.0 && b.z == 0.0;
        let fraction = beyond(a) / (beyond(a) - beyond(b));
        let y = a.lerp(b, fraction).y;
        if is_level {
            beyond(a) * beyond(b) < 0.0 && (0.1037..=0.8037).contains(&y)
        } else {
            a.z * b.z < 0.0
        }
    };
    let expected = (0..).zip(&features.edges).filter(|(_, ends)| crosses(ends));
    let expected: Vec<u32> = expected.map(|(edge, _)| edge).collect();
    let edges: Vec<u32> = found[0].iter().map(|it| it.edge).collect();
    assert!(features.edges.len() > 3 * CHUNK_SIZE && expected.len() > 60);
    assert_eq!(edges, expected);
    for Crossing { position, .. } in &found[0] {
        assert!(
            position.z.abs() < 1e-15 && beyond(*position).abs() < 1e-15,
            "{position}"
        );
    }
    // Separated sheets have no crossings, and a flat sheet does not cross itself.
    let (features, points) = two_sheets(0.501);
    assert_eq!(crossings(&features, &points), []);
}

#[test]
fn non_finite_positions_are_ignored() {
    let (features, mut points) = two_sheets(0.013);
    let all = crossings(&features, &points);
    let lost = features.edges[all[0].edge as usize][0];
    points[lost as usize].y = f64::NAN;
    let has_lost = |it: &Crossing| {
        let corners = features.triangles[it.triangle as usize];
        features.edges[it.edge as usize].contains(&lost) || corners.contains(&lost)
    };
    let expected: Vec<Crossing> = all.iter().copied().filter(|it| !has_lost(it)).collect();
    assert!(expected.len() < all.len() && !expected.is_empty());
    assert_eq!(crossings(&features, &points), expected);
    // Missing positions, and non-finite ones only.
    assert_eq!(crossings(&features, &points[..20]), []);
    assert_eq!(
        crossings(&features, &vec![DVec3::INFINITY; points.len()]),
        []
    );
    assert_eq!(crossings(&Features::default(), &[]), []);
}

#[test]
fn a_lone_point_on_a_triangle_does_not_cross_it_and_a_segment_does() {
    let corners = [DVec3::ZERO, DVec3::X, DVec3::Y];
    let points = [
        &corners[..],
        &[DVec3::new(0.2, 0.2, 0.0), DVec3::new(0.2, 0.2, 1.0)],
    ]
    .concat();
    let build = |segments: &[[u32; 2]], joined: &[[u32; 2]]| {
        Features::new(vec![0; 5], vec![FREE], vec![[0, 1, 2]], segments, joined)
    };
    assert_eq!(crossings(&build(&[], &[]), &points), []);
    let found = crossings(&build(&[[3, 4]], &[]), &points);
    assert_eq!((found.len(), found[0].position), (1, points[3]));
    // A hair with its root there.
    assert_eq!(crossings(&build(&[[3, 4]], &[[3, 0]]), &points), []);
}
