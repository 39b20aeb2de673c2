//! Scale, rotation, position, unit, up axis and copies.

use std::f64::consts::PI;

use glam::{DQuat, DVec3};
use reefknot_sim::model::{Model, ObjectType};

use super::common::*;

#[test]
fn a_scale_to_another_kind_of_shape_makes_a_collider_a_mesh() {
    let exact = |lines: &str| {
        let model = build(&format!("[collider.it]\n{lines}\n"));
        let ObjectType::Collider(exact) = &model.objects[0].kind else {
            panic!("{lines}")
        };
        exact.clone()
    };
    assert!(exact("kind = \"sphere\"\nradius = 1\nscale = [1, 1, 2]").is_none());
    assert!(exact("kind = \"cylinder\"\nradius = 1\nlength = 1\nscale = [2, 1, 1]").is_none());
    let stretched = exact("kind = \"cylinder\"\nradius = 1\nlength = 1\nscale = [2, 2, 5]");
    let distance = |at: DVec3| stretched.as_ref().unwrap().shape.distance(at).unwrap();
    assert!(distance(DVec3::X * 2.0).abs() < 1e-15 && distance(DVec3::Z * 2.5).abs() < 1e-15);
}

#[test]
fn points_are_scaled_then_rotated_then_translated() {
    let model = object(
        "kind = \"rod\"\nlength = 1\nvertices = 2\nradius = 0.01\nscale = [3, 1, 1]\n\
            rotation = { axis = [0, 0, 2], angle = \"90 deg\" }\nposition = [1, 2, 3]",
    );
    let points = &model.objects[0].mesh.points;
    assert!(close(points[0], DVec3::new(1.0, 2.0, 3.0), 1e-15));
    assert!(close(points[1], DVec3::new(1.0, 5.0, 3.0), 1e-15));
}

const OBJ: &str = "v 0 0 0\nv 10 0 0\nv 0 20 0\nv 0 0 30\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n";

const PLY: &str = "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\n\
    property float z\nelement face 4\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n\
    10 0 0\n0 20 0\n0 0 30\n3 0 2 1\n3 0 1 3\n3 0 3 2\n3 1 2 3\n";

const GMSH_2: &str = "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n4\n1 0 0 0\n2 10 0 0\n\
    3 0 20 0\n4 0 0 30\n$EndNodes\n$Elements\n1\n1 4 0 1 2 3 4\n$EndElements\n";

const GMSH_4: &str = "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Nodes\n1 4 1 4\n3 1 0 4\n1\n2\n3\n4\n\
    0 0 0\n10 0 0\n0 20 0\n0 0 30\n$EndNodes\n$Elements\n1 1 1 1\n3 1 4 1\n1 1 2 3 4\n\
    $EndElements\n";

/// A tetrahedron with legs of 10, 20 and 30 cm. With y up in the file, (x, y, z) becomes
/// (x, −z, y).
#[test]
fn unit_and_up_axis_apply_to_every_mesh_format() {
    let folder = folder_with(&[
        ("a.obj", OBJ),
        ("a.ply", PLY),
        ("a2.msh", GMSH_2),
        ("a4.msh", GMSH_4),
    ]);
    for (kind, files) in [
        ("cloth-mesh", &["a.obj", "a.ply", "a2.msh", "a4.msh"][..]),
        ("solid-mesh", &["a2.msh", "a4.msh"]),
    ] {
        for file in files {
            let model = build_in(
                folder.path(),
                &format!(
                    "[object.it]\nkind = \"{kind}\"\nfile = \"{file}\"\nunit = \"cm\"\nup = \"y\"\n\
                        material = \"stuff\"\nposition = [0, 0, 1]\n"
                ),
            );
            let points = &model.objects[0].mesh.points;
            assert_eq!(points.len(), 4, "{file}");
            assert!(close(points[2], DVec3::new(0.0, 0.0, 1.2), 1e-15), "{file}");
            assert!(
                close(points[3], DVec3::new(0.0, -0.3, 1.0), 1e-15),
                "{file}"
            );
            if kind == "solid-mesh" {
                assert!((model.objects[0].mass - 1.0).abs() < 1e-12, "{file}");
            }
        }
    }
}

#[test]
fn polylines_of_files_become_rods_with_ends() {
    let lines = "v 0 0 0\nv 5 5 5\nv 1 0 0\nv 2 0 0\nv 0 1 0\nv 0 2 0\nl 1 3 4\nl 5 6\n";
    let edges = "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\n\
        property float z\nelement edge 2\nproperty int vertex1\nproperty int vertex2\nend_header\n\
        0 0 0\n1 0 0\n2 0 0\n0 1\n1 2\n";
    let folder = folder_with(&[("hair.obj", lines), ("hair.ply", edges)]);
    let rods = |file: &str| {
        build_in(
            folder.path(),
            &format!(
                "[object.it]\nkind = \"rod-mesh\"\nfile = \"{file}\"\nradius = 0.001\n\
                    material = \"stuff\"\n"
            ),
        )
    };
    let model = rods("hair.obj");
    let it = &model.objects[0];
    // Vertex 2 of the file belongs to no curve.
    assert_eq!((it.mesh.points.len(), it.mesh.curves.len()), (5, 2));
    assert_eq!(group(it, "first"), [0, 3]);
    assert_eq!(group(it, "last"), [2, 4]);
    assert!((it.mass / (3.0 * PI * 1e-3) - 1.0).abs() < 1e-12);
    assert_eq!(rods("hair.ply").objects[0].mesh.points.len(), 3);
}

#[test]
fn copies_in_an_array_have_consecutive_vertices_and_groups_of_all() {
    let model = build(&format!(
        "{GRID}position = [1, 0, 0]\n\
            copies = {{ array = {{ count = [2, 1, 3], spacing = [0.5, 9, 0.25] }} }}\n"
    ));
    let it = &model.objects[0];
    assert_eq!((it.copies, it.mesh.points.len()), (6, 54));
    assert_eq!((model.bodies.len(), model.masses.len()), (6, 54));
    assert!((it.mass - 6.0 * 0.04).abs() < 1e-14);
    assert_eq!(it.first_copy().points, it.mesh.points[..9]);
    let first = it.mesh.points[0];
    let mut offsets: Vec<DVec3> = (0..6).map(|i| it.mesh.points[9 * i] - first).collect();
    offsets.sort_by(|a, b| (a.x, a.z).partial_cmp(&(b.x, b.z)).unwrap());
    let expected = [
        [0.0, 0.0],
        [0.0, 0.25],
        [0.0, 0.5],
        [0.5, 0.0],
        [0.5, 0.25],
        [0.5, 0.5],
    ];
    for (offset, [x, z]) in offsets.iter().zip(expected) {
        assert!(close(*offset, DVec3::new(x, 0.0, z), 1e-15), "{offset}");
    }
    // The first copy is at the position of the object.
    assert!(close(first, DVec3::new(0.9, -0.1, 0.0), 1e-15));
    let corners: Vec<u32> = (0..6)
        .flat_map(|copy| [0, 2, 6, 8].map(|corner| 9 * copy + corner))
        .collect();
    assert_eq!(group(it, "corners"), corners);
    assert_eq!(model.vertex_of_node(53), (0, 53));
}

fn scattered(table: &str) -> Model {
    build(&format!("{GRID}copies = {{ scatter = {{ {table} }} }}\n"))
}

#[test]
fn scattered_copies_keep_their_distance_and_are_reproducible() {
    let table = "count = 30, min = [-1, -1, 0], max = [1, 1, 2]";
    let places = |model: &Model| -> Vec<DVec3> {
        let middles = model.objects[0].mesh.points.chunks(9);
        middles.map(|copy| copy[4]).collect()
    };
    let model = scattered(table);
    let middles = places(&model);
    for (i, a) in middles.iter().enumerate() {
        let low = DVec3::new(-1.0, -1.0, 0.0) - DVec3::splat(1e-12);
        assert!(a.cmpge(low).all() && a.cmple(DVec3::new(1.0, 1.0, 2.0) + 1e-12).all());
        // The diameter of the sheet is the diagonal of its square.
        for b in &middles[..i] {
            assert!(a.distance(*b) >= 0.08_f64.sqrt() - 1e-12);
        }
    }
    assert_eq!(scattered(table).start.hash(), model.start.hash());
    let other = places(&scattered(&format!("{table}, seed = 1")));
    assert!(
        middles
            .iter()
            .zip(&other)
            .all(|(a, b)| a.distance(*b) > 1e-6)
    );
    let straight = scattered(&format!("{table}, turned = false, apart = 0.6"));
    for copy in straight.objects[0].mesh.points.chunks(9) {
        assert!(close(copy[1] - copy[0], DVec3::X * 0.1, 1e-12));
    }
    let middles = places(&straight);
    for (i, a) in middles.iter().enumerate() {
        assert!(middles[..i].iter().all(|b| a.distance(*b) >= 0.6));
    }
}

#[test]
fn each_copy_spins_about_its_own_centre() {
    let model = build(&format!(
        "{GRID}copies = {{ array = {{ count = [2, 1, 1], spacing = [5, 0, 0] }} }}\n\
            velocity = [0, 0, 1]\nangular_velocity = [0, 0, 2]\n"
    ));
    for copy in 0..2 {
        let nodes = 9 * copy..9 * copy + 9;
        assert!(close(model.start.velocities[9 * copy + 4], DVec3::Z, 1e-14));
        let masses = &model.masses[nodes.clone()];
        let momentum: DVec3 = nodes
            .clone()
            .zip(masses)
            .map(|(node, mass)| *mass * model.start.velocities[node])
            .sum();
        assert!(close(momentum, DVec3::Z * 0.04, 1e-14));
        // L = Σ m r² ω about z.
        let middle = model.start.positions[9 * copy + 4];
        let arm = |node: usize| model.start.positions[node] - middle;
        let inertia: f64 = nodes
            .clone()
            .map(|node| model.masses[node] * arm(node).length_squared())
            .sum();
        let spin: DVec3 = nodes
            .map(|node| model.masses[node] * arm(node).cross(model.start.velocities[node]))
            .sum();
        assert!(close(spin, DVec3::Z * 2.0 * inertia, 1e-14));
    }
}

/// Rotations of an object and of its copies rotate the directors.
#[test]
fn directors_rotate_with_their_rod() {
    let ribbon = "kind = \"rod\"\nlength = 1\nvertices = 4\nradius = [0.01, 0.001]";
    let director = |lines: &str| -> Vec<DVec3> {
        let model = object(&format!("{ribbon}\n{lines}"));
        model.directors(0, &model.start).unwrap()
    };
    let before = director("");
    let turn = DQuat::from_axis_angle(DVec3::X, 0.7);
    for (start, turned) in before
        .iter()
        .zip(director("rotation = { axis = [1, 0, 0], angle = 0.7 }"))
    {
        assert!(close(turn * *start, turned, 1e-12), "{start} {turned}");
    }
    // The bend of a rod defines a frame per copy, in which the directors of all copies agree.
    let model = object(
        "kind = \"rod-spline\"\npoints = [[0, 0, 0], [1, 0, 0], [1, 1, 0]]\nvertices = 4\n\
            radius = [0.01, 0.001]\n\
            copies = { scatter = { count = 5, min = [-9, -9, -9], max = [9, 9, 9] } }",
    );
    let points = &model.objects[0].mesh.points;
    let directors = model.directors(0, &model.start).unwrap();
    let in_frame = |copy: usize| -> Vec<DVec3> {
        let edge = |i: usize| points[4 * copy + i + 1] - points[4 * copy + i];
        let along = edge(0).normalize();
        let normal = edge(0).cross(edge(1)).normalize();
        let frame = glam::DMat3::from_cols(along, normal.cross(along), normal);
        let own = directors[3 * copy..3 * copy + 3].iter();
        own.map(|director| frame.transpose() * *director).collect()
    };
    for copy in 1..5 {
        for (first, other) in in_frame(0).iter().zip(in_frame(copy)) {
            assert!(close(*first, other, 1e-12), "{first} {other}");
        }
    }
}
