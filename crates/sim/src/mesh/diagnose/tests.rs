use super::*;
use crate::generate::lattice::embed;
use crate::generate::shape::Shape;
use crate::generate::sheet::{Cells, grid};
use crate::mesh::{Curve, Group};
use crate::random::Random;
use proptest::prelude::*;

fn sheet() -> Mesh {
    grid([2.0, 1.0], [5, 4], Cells::Alternating)
}

fn lattice() -> Mesh {
    let ball = Shape::Sphere { radius: 1.0 }.surface(None).unwrap();
    embed(&ball, 4).unwrap().lattice
}

fn rods() -> Mesh {
    let points = (0..10).map(|i| DVec3::new(f64::from(i % 5), f64::from(i / 5), 0.0));
    Mesh {
        points: points.collect(),
        curves: [0, 5]
            .map(|first| Curve {
                first,
                count: 5,
                closed: false,
            })
            .to_vec(),
        ..Mesh::default()
    }
}

fn messages(mesh: &Mesh, use_as: MeshUse) -> Vec<String> {
    diagnose(mesh, use_as)
        .iter()
        .map(Defect::to_string)
        .collect()
}

fn kinds(mesh: &Mesh, use_as: MeshUse) -> Vec<DefectKind> {
    let mut kinds: Vec<_> = diagnose(mesh, use_as)
        .iter()
        .map(|defect| defect.kind)
        .collect();
    kinds.dedup();
    kinds
}

#[test]
fn generated_meshes_have_no_defects() {
    for diagonal in [Cells::Right, Cells::Alternating] {
        assert_eq!(
            diagnose(&grid([2.0, 1.0], [7, 5], diagonal), MeshUse::Shell),
            []
        );
    }
    assert_eq!(diagnose(&lattice(), MeshUse::Solid), []);
    assert_eq!(diagnose(&rods(), MeshUse::Rods), []);
    let stairs = Shape::Stairs {
        steps: 3,
        tread: 0.3,
        rise: 0.2,
        width: 1.0,
    };
    let nail = Shape::Nail {
        radius: 1e-3,
        length: 0.1,
        head_radius: 3e-3,
        head_thickness: 1e-3,
    };
    let funnel = Shape::Funnel {
        top_radius: 1.0,
        bottom_radius: 0.2,
        height: 1.0,
        thickness: 0.1,
    };
    for shape in [
        Shape::Capsule {
            radius: 0.1,
            length: 1.0,
        },
        stairs,
        nail,
        funnel,
    ] {
        assert_eq!(
            diagnose(&shape.surface(None).unwrap(), MeshUse::Collider),
            [],
            "{shape:?}"
        );
        assert_eq!(
            diagnose(&shape.surface(None).unwrap(), MeshUse::Shell),
            [],
            "{shape:?}"
        );
    }
}

#[test]
fn messages_have_the_element_the_position_and_the_remedy() {
    let mut mesh = sheet();
    // On the lower border, so that two triangles have no area.
    mesh.points[6] = DVec3::new(-0.8, -0.5, 0.0);
    let flat = diagnose(&mesh, MeshUse::Shell);
    assert_eq!(flat[0].kind, DefectKind::FlatTriangle);
    assert_eq!(
        flat[0].to_string(),
        "triangle 0 at (-0.76667, -0.5, 0) has no area (one of 2): \
         its corners lie on a line; remove it, or move them apart"
    );
    assert_eq!(flat[0].severity, DefectSeverity::Refuse);
    assert_eq!(
        messages(&Mesh::default(), MeshUse::Rods),
        ["the mesh has no curves: use a mesh with curves"]
    );
    assert_eq!(
        messages(&Mesh::default(), MeshUse::Solid),
        ["the mesh has no tetrahedra: use a mesh of tetrahedra, or embed its surface in a lattice"]
    );
    assert_eq!(
        kinds(&Mesh::default(), MeshUse::Collider),
        [DefectKind::NoTriangles]
    );
}

#[test]
fn missing_vertices_and_infinite_coordinates_are_refused() {
    let mut mesh = sheet();
    mesh.points[3].y = f64::NAN;
    mesh.points[4].z = f64::INFINITY;
    mesh.triangles[16][1] = 99;
    mesh.curves.push(Curve {
        first: u32::MAX,
        count: u32::MAX,
        closed: true,
    });
    assert_eq!(
        messages(&mesh, MeshUse::Shell),
        [
            "vertex 3 at (0.5, NaN, 0) has a coordinate that is not a finite number (one of 2): \
             correct the coordinate",
            "vertex 4 at (1, -0.5, inf) has a coordinate that is not a finite number (one of 2): \
             correct the coordinate",
            "triangle 16 at (-0.75, 0.33333, 0) uses a missing vertex (one of 2): \
             correct the number, or remove the element; vertices count from 0",
            "curve 0 at (0, 0, 0) uses a missing vertex (one of 2): \
             correct the number, or remove the element; vertices count from 0",
        ]
    );
    assert_eq!(
        kinds(&mesh, MeshUse::Rods),
        [DefectKind::NotFinite, DefectKind::OutOfRange]
    );
}

#[test]
fn only_the_first_defects_of_a_kind_are_listed() {
    let mut mesh = sheet();
    mesh.points
        .extend((0..50).map(|i| DVec3::new(f64::from(i), 5.0, 0.0)));
    let defects = diagnose(&mesh, MeshUse::Shell);
    assert_eq!(defects.len(), 3);
    assert_eq!(
        defects[2].to_string(),
        "vertex 22 at (2, 5, 0) belongs to no element (one of 50): \
         remove it, as it would have no mass; `weld` removes it too"
    );
    assert_eq!(
        diagnose(&mesh, MeshUse::Collider)[0].severity,
        DefectSeverity::Warning
    );
}

#[test]
fn defects_of_triangles_are_found() {
    let mut mesh = sheet();
    mesh.triangles.push([3, 3, 4]);
    assert_eq!(kinds(&mesh, MeshUse::Shell), [DefectKind::RepeatedVertex]);
    assert_eq!(
        diagnose(&mesh, MeshUse::Collider)[0].severity,
        DefectSeverity::Warning
    );

    mesh = sheet();
    mesh.triangles.push([6, 0, 1]);
    let found = messages(&mesh, MeshUse::Shell);
    assert!(
        found[0]
            .starts_with("triangles 0 and 24 at (-0.66667, -0.38889, 0) have the same corners:"),
        "{found:?}"
    );

    mesh = sheet();
    mesh.points.push(DVec3::new(-0.75, -0.5, 0.3));
    mesh.triangles.push([0, 6, 20]);
    let found = messages(&mesh, MeshUse::Shell);
    assert_eq!(
        found,
        [
            "edge 0-6 at (-0.75, -0.33333, 0) is shared by more than two triangles: \
             separate the sheets there"
        ]
    );

    mesh = sheet();
    mesh.triangles[9].swap(0, 1);
    assert_eq!(
        kinds(&mesh, MeshUse::Shell),
        [DefectKind::InconsistentOrientation]
    );
    assert_eq!(diagnose(&mesh, MeshUse::Shell)[0].count, 3);

    mesh = sheet();
    mesh.points[6].y = -0.495;
    assert!(kinds(&mesh, MeshUse::Shell).contains(&DefectKind::ThinTriangle));
    assert!(!kinds(&mesh, MeshUse::Collider).contains(&DefectKind::ThinTriangle));
}

#[test]
fn two_fans_at_a_vertex_are_found() {
    let mut mesh = sheet();
    // Two triangles at vertex 6 without a common edge.
    let around: Vec<usize> = (0..24)
        .filter(|t| mesh.triangles[*t].contains(&6))
        .collect();
    assert_eq!(around.len(), 8);
    assert_eq!(diagnose(&mesh, MeshUse::Shell), []);
    mesh.triangles = [around[0], around[7]]
        .map(|triangle| mesh.triangles[triangle])
        .to_vec();
    assert!(kinds(&mesh, MeshUse::Shell).contains(&DefectKind::NonManifoldVertex));
    weld(&mut mesh, 0.0);
    assert_eq!(mesh.points.len(), 5, "isolated vertices are removed");
    assert_eq!(
        kinds(&mesh, MeshUse::Shell),
        [DefectKind::NonManifoldVertex]
    );
    assert_eq!(
        diagnose(&mesh, MeshUse::Shell)[0].severity,
        DefectSeverity::Warning
    );
}

#[test]
fn a_hole_is_a_warning_for_colliders() {
    let mut ball = Shape::Sphere { radius: 1.0 }.surface(None).unwrap();
    ball.triangles.pop();
    let defects = diagnose(&ball, MeshUse::Collider);
    assert_eq!(defects.len(), 3);
    assert_eq!(
        (defects[0].kind, defects[0].severity),
        (DefectKind::OpenBoundary, DefectSeverity::Warning)
    );
    assert_eq!(diagnose(&ball, MeshUse::Shell), []);
}

#[test]
fn defects_of_tetrahedra_are_found() {
    let mut mesh = lattice();
    mesh.tetrahedra[5].swap(0, 1);
    let found = messages(&mesh, MeshUse::Solid);
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with("tetrahedron 5 at ("), "{found:?}");
    assert!(found[0].ends_with(
        " is inverted, unlike most: swap two of its corners, or untangle the mesh there"
    ));

    // If all are inverted, that is a convention of numbering.
    mesh = lattice();
    assert!(!orient_tetrahedra(&mut mesh));
    let right = mesh.clone();
    mesh.tetrahedra
        .iter_mut()
        .for_each(|corners| corners.swap(2, 3));
    assert_eq!(diagnose(&mesh, MeshUse::Solid), []);
    assert!(orient_tetrahedra(&mut mesh));
    assert_eq!(mesh, right);
    mesh.tetrahedra[0].swap(2, 3);
    assert!(
        !orient_tetrahedra(&mut mesh),
        "some have the right orientation, so the others are defects"
    );

    let tetrahedron = |height: f64| Mesh {
        points: vec![
            DVec3::ZERO,
            DVec3::X,
            DVec3::Y,
            DVec3::new(0.3, 0.3, height),
        ],
        tetrahedra: vec![[0, 1, 2, 3]],
        ..Mesh::default()
    };
    assert_eq!(kinds(&tetrahedron(1.0), MeshUse::Solid), []);
    assert_eq!(
        kinds(&tetrahedron(0.01), MeshUse::Solid),
        [DefectKind::ThinTetrahedron]
    );
    assert_eq!(
        kinds(&tetrahedron(0.0), MeshUse::Solid),
        [DefectKind::FlatTetrahedron]
    );

    mesh = tetrahedron(1.0);
    mesh.tetrahedra.push([1, 0, 3, 2]);
    mesh.points.extend([-DVec3::Z, -2.0 * DVec3::Z]);
    mesh.tetrahedra
        .extend([[0, 2, 1, 4], [0, 2, 1, 5], [0, 2, 1, 1]]);
    let expected = [
        DefectKind::RepeatedVertex,
        DefectKind::DuplicateElement,
        DefectKind::NonManifoldFace,
    ];
    assert_eq!(kinds(&mesh, MeshUse::Solid), expected);
}

#[test]
fn defects_of_curves_are_found() {
    let mut mesh = rods();
    mesh.points[2] = mesh.points[1];
    assert_eq!(
        messages(&mesh, MeshUse::Rods),
        [
            "edge 1-2 of curve 0 at (1, 0, 0) has no length: remove one of its vertices",
            "vertices 1 and 2 at (1, 0, 0) coincide: \
             merge them with `weld`, if the mesh is to be connected there",
        ]
    );
    mesh = rods();
    mesh.curves[1].count = 1;
    let expected = [DefectKind::IsolatedVertex, DefectKind::ShortCurve];
    assert_eq!(kinds(&mesh, MeshUse::Rods), expected);
    mesh = rods();
    mesh.curves.push(Curve {
        first: 4,
        count: 2,
        closed: true,
    });
    let expected = [DefectKind::ShortCurve, DefectKind::OverlappingCurves];
    assert_eq!(kinds(&mesh, MeshUse::Rods), expected);
    mesh.curves[2] = Curve {
        first: 0,
        count: 0,
        closed: true,
    };
    assert_eq!(kinds(&mesh, MeshUse::Rods), [DefectKind::ShortCurve]);
}

/// Every triangle with its own three vertices, as in an STL file.
fn exploded(mesh: &Mesh) -> Mesh {
    let corners = mesh.triangles.iter().flatten();
    Mesh {
        points: corners
            .map(|vertex| mesh.points[*vertex as usize])
            .collect(),
        triangles: (0..mesh.triangles.len() as u32)
            .map(|t| [3 * t, 3 * t + 1, 3 * t + 2])
            .collect(),
        ..Mesh::default()
    }
}

#[test]
fn welding_restores_a_connected_surface() {
    let ball = Shape::Sphere { radius: 1.0 }.surface(Some(0.2)).unwrap();
    let mut mesh = exploded(&ball);
    mesh.groups.push(Group::new("one", vec![0, 1, 2, 3]));
    assert_eq!(
        kinds(&mesh, MeshUse::Collider),
        [DefectKind::CoincidingVertices, DefectKind::OpenBoundary]
    );
    let before = mesh.points.clone();
    let kept = weld(&mut mesh, 1e-6);
    assert_eq!(mesh.points.len(), ball.points.len());
    let points: Vec<DVec3> = kept.iter().map(|v| before[*v as usize]).collect();
    assert_eq!(points, mesh.points, "the kept vertices are returned");
    assert_eq!(diagnose(&mesh, MeshUse::Collider), []);
    // The second triangle begins with a corner of the first.
    assert_eq!(mesh.groups[0].vertices.len(), 3);
    assert_eq!(weld(&mut mesh, 1e-6).len(), ball.points.len());
    // A tolerance larger than the mesh removes all elements.
    assert!(weld(&mut mesh, 10.0).is_empty());
    assert_eq!((mesh.points.len(), mesh.triangles.len()), (0, 0));
}

#[test]
fn welding_does_not_change_curves() {
    let mut mesh = sheet();
    let first = mesh.points.len() as u32 + 1;
    mesh.points.push(DVec3::splat(9.0));
    mesh.points
        .extend([mesh.points[0], mesh.points[1], mesh.points[1]]);
    mesh.curves.push(Curve {
        first,
        count: 3,
        closed: false,
    });
    let expected: Vec<_> = mesh.points[first as usize..].to_vec();
    let points = mesh.points.len();
    assert_eq!(weld(&mut mesh, 1e-6).len(), points - 1);
    // The isolated vertex before the curve was removed.
    assert_eq!(mesh.curves[0].first, first - 1);
    assert_eq!(mesh.points[first as usize - 1..], expected);
    mesh.triangles[0][0] = 1000;
    let before = mesh.clone();
    assert_eq!(weld(&mut mesh, 1.0).len(), before.points.len());
    assert_eq!(mesh, before, "an invalid mesh is not changed");
}

#[test]
fn many_coincident_points_do_not_take_quadratic_time() {
    let points: Vec<DVec3> = (0..200_000)
        .map(|i| DVec3::X * f64::from(i / 100_000) * 3.0)
        .collect();
    let first = repair::first_coincident(&points, 1.0, |_| true);
    assert!((0..200_000).all(|i| first[i] == if i < 100_000 { 0 } else { 100_000 }));
}

proptest! {
    #[test]
    fn coincident_vertices_agree_with_a_search_of_all_pairs(
        seed in 0..u64::MAX, tolerance in prop_oneof![Just(0.0), 1e-3..0.5_f64]
    ) {
        let mut random = Random::new(seed);
        let mut point = || random.unit_vector() * random.between(0.0, 1.0);
        let mut points: Vec<DVec3> = (0..60).map(|_| point()).collect();
        points.extend(points.clone());
        let mut slow: Vec<u32> = Vec::new();
        for (vertex, point) in points.iter().enumerate() {
            let near = |other: &usize| {
                slow[*other] as usize == *other && points[*other].distance(*point) <= tolerance
            };
            slow.push((0..vertex).find(near).unwrap_or(vertex) as u32);
        }
        prop_assert_eq!(repair::first_coincident(&points, tolerance, |_| true), slow);
    }

    #[test]
    fn any_mesh_is_diagnosed_without_panic(seed in 0..u64::MAX) {
        let mut random = Random::new(seed);
        let mut mesh = Mesh::default();
        for _ in 0..random.below(12) {
            let strange = [0.0, 1e-320, 1e300, -1e300, f64::NAN, f64::INFINITY];
            let mut number = || match random.below(8) {
                0 => strange[random.below(6)],
                _ => random.between(-1.0, 1.0).round(),
            };
            mesh.points.push(DVec3::new(number(), number(), number()));
        }
        for _ in 0..random.below(12) {
            mesh.triangles.push([0; 3].map(|_| random.below(13) as u32));
            mesh.tetrahedra.push([0; 4].map(|_| random.below(13) as u32));
            mesh.curves.push(Curve {
                first: random.below(13) as u32,
                count: random.below(6) as u32,
                closed: random.below(2) == 0,
            });
        }
        for use_as in [MeshUse::Shell, MeshUse::Solid, MeshUse::Rods, MeshUse::Collider] {
            for defect in diagnose(&mesh, use_as) {
                prop_assert!(defect.count > 0 && !defect.to_string().is_empty());
            }
        }
        orient_tetrahedra(&mut mesh);
        weld(&mut mesh, random.between(0.0, 2.0));
    }
}

#[test]
fn isolated_vertices_are_removed_and_the_others_keep_their_order() {
    let point = |x: f64| DVec3::new(x, x * x, 0.0);
    let mut mesh = Mesh {
        points: (0..7).map(|i| point(f64::from(i))).collect(),
        triangles: vec![[1, 2, 6]],
        curves: vec![Curve {
            first: 3,
            count: 2,
            closed: false,
        }],
        groups: vec![Group::new("some", vec![0, 4, 6])],
        ..Mesh::default()
    };
    assert_eq!(remove_isolated_vertices(&mut mesh), [1, 2, 3, 4, 6]);
    let kept: Vec<f64> = mesh.points.iter().map(|point| point.x).collect();
    assert_eq!(kept, [1.0, 2.0, 3.0, 4.0, 6.0]);
    assert_eq!(mesh.triangles, [[0, 1, 4]]);
    assert_eq!(mesh.curves[0].first, 2);
    assert_eq!(mesh.groups[0].vertices, [3, 4]);
}
