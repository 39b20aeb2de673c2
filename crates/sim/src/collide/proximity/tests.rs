mod properties;

use super::*;
use crate::collide::features::Part;
use glam::DQuat;

/// Parts to test: positions and features.
#[derive(Clone, Debug, Default)]
struct Parts {
    positions: Vec<DVec3>,
    part_of: Vec<u32>,
    triangles: Vec<[u32; 3]>,
    segments: Vec<[u32; 2]>,
}

impl Parts {
    /// Adds a part of triangles and segments.
    fn add(mut self, points: &[DVec3], triangles: &[[u32; 3]], segments: &[[u32; 2]]) -> Parts {
        let first = self.positions.len() as u32;
        let part = self.part_of.last().map_or(0, |part| part + 1);
        self.positions.extend(points);
        self.part_of.extend(points.iter().map(|_| part));
        let triangles = triangles.iter().map(|corners| corners.map(|c| c + first));
        self.triangles.extend(triangles);
        let segments = segments.iter().map(|ends| ends.map(|end| end + first));
        self.segments.extend(segments);
        self
    }

    fn features(&self) -> Features {
        let count = self.part_of.last().map_or(0, |part| part + 1);
        let part = Part {
            is_free: true,
            self_collides: true,
        };
        Features::new(
            self.part_of.clone(),
            vec![part; count as usize],
            self.triangles.clone(),
            &self.segments,
            &[],
        )
    }

    /// The contacts among all pairs that may collide.
    fn contacts(&self, query: &ProximityQuery) -> Vec<ProximityPair> {
        let features = self.features();
        let [points, edges] = all_pairs(&features);
        contacts(&features, &self.positions, &points, &edges, query).contacts
    }

    fn transformed(mut self, turn: DQuat, shift: DVec3) -> Parts {
        for position in &mut self.positions {
            *position = turn * *position + shift;
        }
        self
    }
}

fn all_pairs(features: &Features) -> [Vec<[u32; 2]>; 2] {
    let (points, triangles) = (
        features.part_of.len() as u32,
        features.triangles.len() as u32,
    );
    let point_triangle = (0..points)
        .flat_map(|point| (0..triangles).map(move |triangle| [point, triangle]))
        .filter(|[point, triangle]| features.may_collide_point_triangle(*point, *triangle))
        .collect();
    let edges = features.edges.len() as u32;
    let edge_edge = (0..edges)
        .flat_map(|one| (one + 1..edges).map(move |other| [one, other]))
        .filter(|[one, other]| features.may_collide_edges(*one, *other))
        .collect();
    [point_triangle, edge_edge]
}

fn within(range: f64) -> ProximityQuery<'static> {
    ProximityQuery {
        range,
        ranges: &[],
        half_thickness: &[],
        extra: None,
        rest: None,
        slope: 0.0,
    }
}

/// A square of n × n vertices at z = 0, `step` apart, with diagonals in one of two directions.
fn grid(n: u32, step: f64, is_mirrored: bool) -> (Vec<DVec3>, Vec<[u32; 3]>) {
    let cells = (0..n - 1).flat_map(|j| (0..n - 1).map(move |i| j * n + i));
    let triangles = cells.flat_map(|a| {
        let (b, c, d) = (a + 1, a + n, a + n + 1);
        if is_mirrored {
            [[a, b, c], [b, d, c]]
        } else {
            [[a, b, d], [a, d, c]]
        }
    });
    let points = (0..n * n).map(|at| DVec3::new(f64::from(at % n), f64::from(at / n), 0.0) * step);
    (points.collect(), triangles.collect())
}

/// A cube of side 1 from the origin, with outward normals.
fn cube() -> (Vec<DVec3>, Vec<[u32; 3]>) {
    let points = (0..8_u32).map(|at| {
        let bit = |k: u32| f64::from((at >> k) & 1);
        DVec3::new(bit(0), bit(1), bit(2))
    });
    let faces = [
        [0, 2, 3, 1],
        [4, 5, 7, 6],
        [0, 1, 5, 4],
        [2, 6, 7, 3],
        [0, 4, 6, 2],
        [1, 3, 7, 5],
    ];
    let triangles = faces
        .iter()
        .flat_map(|&[a, b, c, d]| [[a, b, c], [a, c, d]])
        .collect();
    (points.collect(), triangles)
}

fn moved(points: &[DVec3], shift: [f64; 3]) -> Vec<DVec3> {
    let shift = DVec3::from(shift);
    points.iter().map(|point| *point + shift).collect()
}

/// Kinds of the two features of a contact: 0 point, 1 edge, 2 triangle.
fn kinds(contact: &ProximityPair) -> [u64; 2] {
    [contact.id >> 62, (contact.id >> 60) & 3]
}

fn between_parts<'a>(
    parts: &'a Parts,
    found: &'a [ProximityPair],
) -> impl Iterator<Item = &'a ProximityPair> {
    found.iter().filter(|contact| {
        let [one, other] = [contact.points[0], contact.points[3]];
        parts.part_of[one as usize] != parts.part_of[other as usize]
    })
}

/// A rotation that rounds all coordinates.
fn tilt() -> DQuat {
    DQuat::from_axis_angle(DVec3::new(1.0, -2.0, 0.7).normalize(), 0.83)
}

#[test]
fn a_vertex_over_a_grid_has_one_contact() {
    let (points, triangles) = grid(5, 0.1, false);
    let tip = |x: f64, y: f64| {
        let at = |dx, dy, dz| DVec3::new(x + dx, y + dy, 0.05 + dz);
        let points = [
            at(0.0, 0.0, 0.0),
            at(0.02, 0.0, 0.03),
            at(-0.01, 0.02, 0.03),
            at(-0.01, -0.02, 0.03),
        ];
        (points, [[0, 1, 2], [0, 2, 3], [0, 3, 1]])
    };
    for (position, expected) in [
        ([0.2, 0.2], [0, 0]),
        ([0.25, 0.2], [0, 1]),
        ([0.2, 0.23], [0, 1]),
        ([0.25, 0.25], [0, 1]),
        ([0.21, 0.27], [0, 2]),
        ([0.0, 0.0], [0, 0]),
        ([0.0, 0.33], [0, 1]),
        ([-0.02, 0.33], [0, 1]),
        ([-0.02, -0.01], [0, 0]),
    ] {
        for turn in [DQuat::IDENTITY, tilt()] {
            let (tip, sides) = tip(position[0], position[1]);
            let parts = Parts::default()
                .add(&points, &triangles, &[])
                .add(&tip, &sides, &[])
                .transformed(turn, DVec3::splat(0.3));
            let found = parts.contacts(&within(0.06));
            let found: Vec<&ProximityPair> = between_parts(&parts, &found).collect();
            assert_eq!(found.len(), 1, "at {position:?}: {found:?}");
            assert_eq!(kinds(found[0]), expected, "at {position:?}");
            assert!(
                (found[0].normal.dot(turn * DVec3::Z).abs() - 0.05 / found[0].distance).abs()
                    < 1e-12
            );
        }
    }
}

#[test]
fn equal_parallel_grids_have_a_contact_at_each_vertex() {
    let (points, triangles) = grid(6, 0.1, false);
    let above = moved(&points, [0.0, 0.0, 0.01]);
    for turn in [DQuat::IDENTITY, tilt()] {
        let parts = Parts::default()
            .add(&points, &triangles, &[])
            .add(&above, &triangles, &[])
            .transformed(turn, DVec3::ZERO);
        let found = parts.contacts(&within(0.02));
        assert_eq!(found.len(), 36);
        for (at, contact) in found.iter().enumerate() {
            assert_eq!(kinds(contact), [0, 0]);
            let at = at as u32;
            assert_eq!(contact.points, [at, at + 36, at + 36, at + 36]);
            assert_eq!(contact.weights, [1.0, -1.0, 0.0, 0.0]);
            assert!((contact.distance - 0.01).abs() < 1e-15);
        }
    }
}

#[test]
fn crossing_diagonals_are_contacts() {
    let (points, triangles) = grid(4, 0.1, false);
    let (above, mirrored) = grid(4, 0.1, true);
    let above = moved(&above, [0.0, 0.0, 0.01]);
    let parts = Parts::default()
        .add(&points, &triangles, &[])
        .add(&above, &mirrored, &[])
        .transformed(tilt(), DVec3::X);
    let found = parts.contacts(&within(0.02));
    let edges = found.iter().filter(|contact| kinds(contact) == [1, 1]);
    // One crossing in each of the 9 cells, and the 16 vertices.
    assert_eq!((edges.count(), found.len()), (9, 25));
}

#[test]
fn a_shifted_grid_has_a_contact_at_each_vertex_and_each_crossing() {
    let (points, triangles) = grid(4, 1.0, false);
    let above = moved(&points, [0.25, 0.5, 0.125]);
    let parts = Parts::default()
        .add(&points, &triangles, &[])
        .add(&above, &triangles, &[]);
    let found = parts.contacts(&within(0.2));
    let position = |contact: &ProximityPair| {
        let terms = contact.points.iter().zip(contact.weights).take(4);
        let first = terms.filter(|(_, weight)| *weight > 0.0);
        let at: DVec3 = first.map(|(&p, w)| parts.positions[p as usize] * w).sum();
        [at.x, at.y].map(|x| (x * 1e6).round() as i64)
    };
    let mut all: Vec<[i64; 2]> = found.iter().map(position).collect();
    assert!(found.iter().all(|contact| contact.distance == 0.125));
    let count = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), count, "each position once");
    let vertices = found
        .iter()
        .filter(|contact| kinds(contact)[0] == 0)
        .count();
    // In the common area of 2.75 × 2.5: 3 columns of 3 vertices of either sheet.
    assert_eq!(vertices, 18);
}

#[test]
fn a_cube_on_a_cube_has_contacts_at_four_corners() {
    let (points, triangles) = cube();
    let above = moved(&points, [0.0, 0.0, 1.0 + 1e-3]);
    for turn in [DQuat::IDENTITY, tilt()] {
        let parts = Parts::default()
            .add(&points, &triangles, &[])
            .add(&above, &triangles, &[])
            .transformed(turn, DVec3::ZERO);
        let found = parts.contacts(&within(0.1));
        let corners = found
            .iter()
            .filter(|contact| kinds(contact) == [0, 0])
            .count();
        assert_eq!((corners, found.len()), (4, 4));
    }
    // Shifted over the edge: two corners over or under the other face, two crossing edges,
    // diagonals.
    let above = moved(&points, [0.5, 0.25, 1.0 + 1e-3]);
    let parts = Parts::default()
        .add(&points, &triangles, &[])
        .add(&above, &triangles, &[]);
    let found = parts.contacts(&within(0.1));
    let kind = |kind: [u64; 2]| {
        found
            .iter()
            .filter(|contact| kinds(contact) == kind)
            .count()
    };
    assert_eq!((kind([0, 0]), kind([0, 1]), kind([0, 2])), (0, 0, 2));
    assert!(kind([1, 1]) >= 2);
}

#[test]
fn the_corner_of_a_cube_has_one_contact_with_a_floor() {
    let (floor, ground) = grid(5, 0.5, false);
    let (points, triangles) = cube();
    let stand = DQuat::from_rotation_arc(DVec3::ONE.normalize(), DVec3::Z);
    for position in [[1.0, 1.0], [0.75, 1.0], [0.75, 0.75], [0.6, 0.8]] {
        let cube: Vec<DVec3> = points.iter().map(|point| stand * *point).collect();
        let parts = Parts::default().add(&floor, &ground, &[]).add(
            &moved(&cube, [position[0], position[1], 0.01]),
            &triangles,
            &[],
        );
        let found = parts.contacts(&within(0.1));
        assert_eq!(found.len(), 1, "at {position:?}");
        assert!((found[0].distance - 0.01).abs() < 1e-14);
    }
}

#[test]
fn crossing_rods_have_one_contact_and_parallel_rods_one_per_vertex() {
    let rod = |count: u32, from: DVec3, step: DVec3| -> (Vec<DVec3>, Vec<[u32; 2]>) {
        let points = (0..=count).map(|at| from + step * f64::from(at));
        (
            points.collect(),
            (0..count).map(|at| [at, at + 1]).collect(),
        )
    };
    let (one, segments) = rod(4, DVec3::ZERO, DVec3::X);
    for turn in [DQuat::IDENTITY, tilt()] {
        for (from, step, expected) in [
            // Across a segment, across a vertex, vertex over vertex, parallel with a shift of half
            // a segment, parallel without a shift, end to end.
            ([1.5, -1.5, 0.1], DVec3::Y, vec![[1, 1]]),
            ([2.0, -1.5, 0.1], DVec3::Y, vec![[0, 1]]),
            ([2.0, -2.0, 0.1], DVec3::Y, vec![[0, 0]]),
            ([0.5, 0.0, 0.1], DVec3::X, vec![[0, 1]; 8]),
            ([0.0, 0.0, 0.1], DVec3::X, vec![[0, 0]; 5]),
            ([4.1, 0.0, 0.0], DVec3::X, vec![[0, 0]]),
        ] {
            let (other, _) = rod(4, DVec3::from(from), step);
            let parts = Parts::default()
                .add(&one, &[], &segments)
                .add(&other, &[], &segments)
                .transformed(turn, DVec3::ONE);
            let found = parts.contacts(&within(0.2));
            let kinds: Vec<[u64; 2]> = found.iter().map(kinds).collect();
            assert_eq!(kinds, expected, "rod from {from:?} along {step}");
            assert!(
                found
                    .iter()
                    .all(|contact| (contact.distance - 0.1).abs() < 1e-14)
            );
        }
    }
}

#[test]
fn lone_points_have_contacts_with_triangles_rods_and_each_other() {
    let (points, triangles) = grid(3, 1.0, false);
    let lone = [
        [0.25, 0.5, 0.1],
        [1.0, 1.0, -0.1],
        [5.0, 0.2, 0.0],
        [5.3, 0.2, 0.0],
    ];
    let parts = Parts::default()
        .add(&points, &triangles, &[])
        .add(&lone.map(DVec3::from), &[], &[])
        .add(
            &[DVec3::new(4.8, 0.0, 0.0), DVec3::new(5.1, 0.0, 0.0)],
            &[],
            &[[0, 1]],
        );
    let found = parts.contacts(&within(0.3));
    let mut kinds: Vec<[u64; 2]> = found.iter().map(kinds).collect();
    kinds.sort_unstable();
    // Two over the sheet; the two of each other; one with the segment and one with its end.
    assert_eq!(kinds, [[0, 0], [0, 0], [0, 0], [0, 1], [0, 2]]);
}

#[test]
fn the_gap_is_the_distance_minus_the_thickness() {
    let (points, triangles) = grid(2, 1.0, false);
    let rod = [DVec3::new(0.25, 0.5, 0.3), DVec3::new(0.25, 0.5, 1.0)];
    let parts = Parts::default()
        .add(&points, &triangles, &[])
        .add(&rod, &[], &[[0, 1]]);
    // Below the end of the rod: corners 0, 2 and 3 of the square with weights 1/2, 1/4, 1/4.
    let half_thickness = [0.01, 9.0, 0.02, 0.04, 0.05, 9.0];
    let extra = |one: u32, other: u32| f64::from(one + other) * 0.1;
    let query = ProximityQuery {
        half_thickness: &half_thickness,
        extra: Some(&extra),
        ..within(1.0)
    };
    let found = parts.contacts(&query);
    assert_eq!(found.len(), 1);
    let thickness = 0.05 + 0.5 * 0.01 + 0.25 * 0.02 + 0.25 * 0.04 + 0.1;
    assert!((found[0].gap - (0.3 - thickness)).abs() < 1e-15);
    // The gap is out of range.
    assert!(
        parts
            .contacts(&ProximityQuery {
                range: 0.1,
                ranges: &[],
                ..query
            })
            .is_empty()
    );
}

#[test]
fn neighbours_along_a_thick_rod_are_not_contacts() {
    let count = 16_u32;
    let segments: Vec<[u32; 2]> = (0..count).map(|at| [at, at + 1]).collect();
    let half_thickness = vec![2.5; 17];
    let query = ProximityQuery {
        half_thickness: &half_thickness,
        ..within(0.0)
    };
    // Bent to twice its own radius; segments are much shorter than the thickness.
    let turn = |at: u32| 0.2 * f64::from(at);
    let bent = (0..=count).map(|at| DVec3::new(turn(at).sin(), -turn(at).cos(), 0.0) * 5.0);
    let bent: Vec<DVec3> = bent.collect();
    let parts = Parts::default().add(&bent, &[], &segments);
    assert_eq!(parts.contacts(&query), []);
}

#[test]
fn features_that_are_close_at_rest_do_not_repel_each_other() {
    // Two parallel rods of one part.
    let rods = |apart: f64| -> Vec<DVec3> {
        let at = |at: u32| DVec3::new(f64::from(at % 6), f64::from(at / 6) * apart, 0.0);
        (0..12).map(at).collect()
    };
    let segments: Vec<[u32; 2]> = (0..11)
        .filter(|at| *at != 5)
        .map(|at| [at, at + 1])
        .collect();
    let (half_thickness, rest) = ([0.8; 12], rods(1.0));
    let query = ProximityQuery {
        half_thickness: &half_thickness,
        ..within(0.0)
    };
    let limited = ProximityQuery {
        rest: Some(&rest),
        ..query
    };
    let gaps = |apart: f64, query: &ProximityQuery| -> Vec<f64> {
        let parts = Parts::default().add(&rods(apart), &[], &segments);
        let found = parts.contacts(query);
        found.iter().map(|contact| contact.gap).collect()
    };
    assert_eq!(gaps(1.0, &query), [1.0 - 1.6; 6]);
    assert!(gaps(1.0, &limited).is_empty());
    // Compressed they do: the thickness is 1.6 sin(1 / 1.6).
    let pressed = gaps(0.5, &limited);
    assert_eq!(pressed, [0.5 - 1.6 * (1.0_f64 / 1.6).sin(); 6]);
}

#[test]
fn a_sharp_fold_keeps_the_contacts_next_to_its_crease() {
    // A strip along x, folded at x = 0 to a wedge of 0.1 rad.
    let (mut points, triangles) = grid(7, 1.0, false);
    for point in &mut points {
        let x = point.x - 3.0;
        *point = DVec3::new(x.abs(), point.y, if x < 0.0 { 0.1 * x.abs() } else { 0.0 });
    }
    let parts = Parts::default().add(&points, &triangles, &[]);
    let found = parts.contacts(&within(0.5));
    assert!(!found.is_empty());
    // The first row of vertices is 0.1 above the other half; the diagonals beside it cross halfway
    // to the crease.
    let distances = found.iter().map(|contact| contact.distance);
    let smallest = distances.fold(f64::INFINITY, f64::min);
    assert!((0.04..=0.1).contains(&smallest), "{smallest}");
}

#[test]
fn a_flat_sheet_has_no_contacts_with_itself() {
    let (points, triangles) = grid(6, 1.0, false);
    let parts = Parts::default().add(&points, &triangles, &[]);
    assert_eq!(parts.contacts(&within(0.9)), []);
    let segments: Vec<[u32; 2]> = (0..9).map(|at| [at, at + 1]).collect();
    let straight: Vec<DVec3> = (0..10).map(|at| DVec3::X * f64::from(at)).collect();
    let parts = Parts::default().add(&straight, &[], &segments);
    assert_eq!(parts.contacts(&within(1.5)), []);
}

#[test]
fn with_a_slope_all_points_over_a_floor_are_contacts() {
    let (floor, triangles) = grid(4, 1.0, false);
    let (sheet, _) = grid(4, 0.3, false);
    let tilted: Vec<DVec3> = sheet
        .iter()
        .map(|point| *point + DVec3::new(1.03, 1.02, 0.1 + 0.05 * point.x))
        .collect();
    let parts = Parts::default()
        .add(&floor, &triangles, &[])
        .add(&tilted, &triangles, &[]);
    let lowest = parts.contacts(&within(0.5));
    assert!(
        lowest
            .iter()
            .all(|contact| (contact.distance - 0.1).abs() < 1e-12)
    );
    let query = ProximityQuery {
        slope: 0.1,
        ..within(0.5)
    };
    let all = parts.contacts(&query);
    let vertices = all
        .iter()
        .filter(|contact| kinds(contact) == [0, 2])
        .count();
    assert_eq!(vertices, 16);
}

#[test]
fn every_point_of_a_steep_sheet_has_one_contact_with_the_floor() {
    // Over the interiors, sides and corners of the floor.
    for tilt in [0.1, 1.0, 3.0] {
        let (floor, triangles) = grid(6, 1.0, false);
        let (sheet, sides) = grid(4, 0.5, true);
        let steep: Vec<DVec3> = sheet
            .iter()
            .map(|point| *point + DVec3::new(1.0, 1.0, 0.2 + tilt * point.x))
            .collect();
        let parts = Parts::default()
            .add(&floor, &triangles, &[])
            .add(&steep, &sides, &[]);
        let query = ProximityQuery {
            slope: 1.0,
            ..within(9.0)
        };
        let found = parts.contacts(&query);
        for point in 36..52 {
            // The only point of its side with a nonzero weight.
            let is_alone = |contact: &&ProximityPair| {
                let weighted = contact.points.iter().zip(contact.weights);
                let own: Vec<u32> = weighted
                    .filter(|(other, weight)| **other >= 36 && *weight != 0.0)
                    .map(|(other, _)| *other)
                    .collect();
                own == [point]
            };
            let own: Vec<&ProximityPair> = found.iter().filter(is_alone).collect();
            assert_eq!(own.len(), 1, "point {point}, tilt {tilt}: {own:?}");
        }
    }
}

#[test]
fn coincident_features_have_a_normal() {
    let (points, triangles) = grid(2, 1.0, false);
    let normal_of = |other: &[DVec3], sides: &[[u32; 3]], segments: &[[u32; 2]]| {
        let parts = Parts::default()
            .add(&points, &triangles, &[])
            .add(other, sides, segments);
        let found = parts.contacts(&within(0.0));
        assert_eq!(found.len(), 1, "{found:?}");
        found[0].normal
    };
    let up = DVec3::Z;
    // A point in a triangle, on a side, on a corner: the lower feature is the first, so the sign
    // differs.
    let rod = |x: f64, y: f64| [DVec3::new(x, y, 0.0), DVec3::new(x, y, 1.0)];
    assert_eq!(normal_of(&rod(0.25, 0.5), &[], &[[0, 1]]), up);
    assert_eq!(normal_of(&rod(0.5, 0.0), &[], &[[0, 1]]), up);
    assert_eq!(normal_of(&rod(0.0, 0.0), &[], &[[0, 1]]), -up);
    let across = [DVec3::new(-0.5, -1.0, 1.0), DVec3::new(1.5, 1.0, -1.0)];
    let normal = normal_of(&across, &[], &[[0, 1]]);
    assert!(normal.dot(DVec3::X).abs() < 1e-15 && (normal.length() - 1.0).abs() < 1e-15);
    // Two edges without triangles, and two points.
    let line = [DVec3::ZERO, DVec3::X];
    for other in [line, [DVec3::ZERO, -DVec3::X]] {
        let parts = Parts::default()
            .add(&line, &[], &[[0, 1]])
            .add(&other, &[], &[[0, 1]]);
        for contact in parts.contacts(&within(0.0)) {
            assert!((contact.normal.length() - 1.0).abs() < 1e-15);
        }
    }
}

#[test]
fn non_finite_points_are_reported_and_have_no_contacts() {
    let (points, triangles) = grid(3, 1.0, false);
    let above = moved(&points, [0.0, 0.0, 0.1]);
    let parts = Parts::default()
        .add(&points, &triangles, &[])
        .add(&above, &triangles, &[]);
    let features = parts.features();
    let [point_triangle, edge_edge] = all_pairs(&features);
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e200] {
        let mut positions = parts.positions.clone();
        positions[4].x = bad;
        let found = contacts(
            &features,
            &positions,
            &point_triangle,
            &edge_edge,
            &within(0.2),
        );
        assert_eq!(found.invalid_points, [4]);
        let has_invalid = |contact: &ProximityPair| contact.points.contains(&4);
        assert!(!found.contacts.iter().any(has_invalid));
        assert!(
            found
                .contacts
                .iter()
                .all(|contact| contact.normal.is_finite())
        );
        // The eight other vertices keep their contacts.
        let vertices = found
            .contacts
            .iter()
            .filter(|contact| kinds(contact) == [0, 0]);
        assert_eq!(vertices.count(), 8);
    }
    let empty = contacts(&Features::default(), &[], &[], &[], &within(1.0));
    assert_eq!(empty, Proximity::default());
}
