//! Hair: its number, its seed, and what it grows on.

use std::f64::consts::PI;
use std::path::Path;

use glam::{DQuat, DVec3};
use reefknot::integrate::{self, Scratch};
use reefknot::model::{Kind, Model, Movement};
use reefknot::state::State;

use super::common::*;

const FUR: &str = "[object.fur]\nkind = \"groom\"\non = \"host\"\ncount = 50\nlength = 0.05\nvertices = 8\nradius = 1e-4\nmaterial = \"stuff\"\n";

fn lengths(points: &[DVec3], vertices: usize) -> Vec<f64> {
    let length = |rod: &[DVec3]| rod.windows(2).map(|p| p[0].distance(p[1])).sum();
    points.chunks(vertices).map(length).collect()
}

#[test]
fn the_seed_of_the_scene_changes_grooms_and_scattered_copies() {
    let text = format!(
        "{FUR}[collider.host]\nkind = \"sphere\"\nradius = 0.1\n{GRID}copies = {{ scatter = {{ count = 3, min = [-1, -1, -1], max = [1, 1, 1] }} }}\n"
    );
    let with_seed = |seed: u64, text: &str| {
        let scene = read_in(Path::new(""), &format!("seed = {seed}\n{HEAD}{text}"));
        Model::build(&scene).unwrap()
    };
    let points = |model: &Model| {
        let objects = model.objects[..2].iter();
        objects
            .map(|object| object.mesh.points.clone())
            .collect::<Vec<_>>()
    };
    let first = points(&with_seed(7, &text));
    assert_eq!(first, points(&with_seed(7, &text)));
    let other = points(&with_seed(8, &text));
    assert!(first[0] != other[0] && first[1] != other[1]);
    let own = points(&with_seed(
        7,
        &text.replace("count = 50", "count = 50\nseed = 3"),
    ));
    assert!(first[0] != own[0] && first[1] == own[1]);
}

#[test]
fn hairs_have_their_number_length_and_roots_on_the_exact_sphere() {
    let model = build(&format!(
        "{FUR}[collider.host]\nkind = \"sphere\"\nradius = 0.1\nposition = [1, 2, 3]\n"
    ));
    let fur = &model.objects[0];
    assert_eq!((fur.mesh.curves.len(), fur.mesh.points.len()), (50, 400));
    assert!((fur.mass / (50.0 * 0.05 * PI * 1e-5) - 1.0).abs() < 1e-9);
    let roots: Vec<u32> = (0..50).map(|rod| 8 * rod).collect();
    let tips: Vec<u32> = (0..50).map(|rod| 8 * rod + 7).collect();
    assert_eq!((group(fur, "roots"), group(fur, "tips")), (&*roots, &*tips));
    let center = DVec3::new(1.0, 2.0, 3.0);
    for (root, tip) in roots.iter().zip(&tips) {
        let [root, tip] = [root, tip].map(|v| fur.mesh.points[*v as usize].distance(center));
        assert!((root - 0.1).abs() < 1e-9, "{root}");
        assert!(tip > 0.14, "{tip}");
    }
    for length in lengths(&fur.mesh.points, 8) {
        assert!((length - 0.05).abs() < 1e-9);
    }
    // 100 per square metre on 4π·1 m².
    let dense = FUR.replace("count = 50", "density = 100");
    let model = build(&format!(
        "{dense}[collider.host]\nkind = \"sphere\"\nradius = 1\n"
    ));
    let count = model.objects[0].mesh.curves.len() as f64;
    assert!((count / (400.0 * PI) - 1.0).abs() < 0.01, "{count}");
}

/// A host that turns and moves carries every hair as if both were one rigid body.
#[test]
fn hair_follows_a_moving_collider() {
    let model = build(&format!(
        "{FUR}curl_radius = 0.004\n[collider.host]\nkind = \"sphere\"\nradius = 0.1\nposition = [1, 0, 0]\nmotion = {{ angular_velocity = [0, 0, \"90 deg/s\"], velocity = [0, 0, 1] }}\n"
    ).replace("vertices = 8", "vertices = 20"));
    let fur = &model.objects[0];
    let state = later(&model, 100);
    let points = model.points(0, &state);
    let center = DVec3::X;
    let turn = DQuat::from_rotation_z(PI / 2.0);
    for (start, now) in fur.mesh.points.iter().zip(&points) {
        let expected = center + turn * (*start - center) + DVec3::Z;
        assert!(close(*now, expected, 1e-12), "{now} against {expected}");
    }
    // ω × r + v, over the last step: to second order in 10 ms.
    for (point, velocity) in points.iter().zip(model.velocities(0, &state)) {
        let expected = DVec3::Z * (PI / 2.0);
        let expected = expected.cross(*point - center - DVec3::Z) + DVec3::Z;
        assert!(
            close(velocity, expected, 3e-3),
            "{velocity} against {expected}"
        );
    }
    // Material frames stay perpendicular to their edges.
    let Kind::Rods(rods) = &fur.kind else {
        panic!()
    };
    let directors = model.directors(0, &state).unwrap();
    for ([a, b], director) in rods.edges.iter().zip(&directors) {
        let edge = (points[*b as usize] - points[*a as usize]).normalize();
        assert!(director.is_normalized() && edge.dot(*director).abs() < 1e-12);
    }
    for (start, now) in rods.directors.iter().zip(&directors) {
        assert!(close(turn * *start, *now, 1e-9), "{start} {now}");
    }
}

#[test]
fn hair_rests_to_the_bit_on_a_host_that_rests() {
    let model = build(&format!(
        "{FUR}[collider.host]\nkind = \"sphere\"\nradius = 0.1\n"
    ));
    assert_eq!(
        model.points(0, &later(&model, 50)),
        model.objects[0].mesh.points
    );
    assert!(
        model
            .velocities(0, &later(&model, 50))
            .iter()
            .all(|v| *v == DVec3::ZERO)
    );
}

/// Roots stay at the same weights of the same triangle, and hairs keep their length, however the host deforms.
fn assert_rooted(model: &Model, state: &State) {
    let Movement::Rooted { host, roots } = &model.objects[0].movement else {
        panic!("not rooted");
    };
    let (hairs, skin) = (model.points(0, state), model.points(*host, state));
    for (rod, root) in hairs.chunks(8).zip(roots) {
        let corners = model.objects[*host].mesh.triangles[root.triangle as usize];
        let place: DVec3 = corners
            .iter()
            .zip(root.weights)
            .map(|(corner, weight)| skin[*corner as usize] * weight)
            .sum();
        assert!(close(rod[0], place, 1e-12), "{} against {place}", rod[0]);
    }
    for length in lengths(&hairs, 8) {
        assert!((length - 0.05).abs() < 1e-9);
    }
}

#[test]
fn hair_follows_simulated_cloth() {
    let text = format!(
        "{HEAD}{FUR}{}[pin.edge]\nobject = \"host\"\nat = {{ group = \"left\" }}\n",
        GRID.replace("object.it", "object.host")
    );
    let scene = read_in(Path::new(""), &text);
    let model = Model::build(&scene).unwrap();
    let mut scratch = Scratch::new(&model).unwrap();
    let mut state = model.start.clone();
    let before = model.points(0, &state);
    for _ in 0..20 {
        let integrator = scene.tables.method.integrator;
        state = integrate::step(integrator, &model, &state, &mut scratch)
            .unwrap()
            .to;
    }
    assert_rooted(&model, &state);
    let fallen = before
        .iter()
        .zip(model.points(0, &state))
        .map(|(a, b)| a.z - b.z);
    assert!(fallen.fold(0.0, f64::max) > 0.01);
}

#[test]
fn hair_follows_a_host_of_a_mesh_sequence() {
    // The sphere of every file is longer along z than the one before.
    let model = build("[collider.it]\nkind = \"sphere\"\nradius = 0.1\n");
    let mesh = &model.objects[0].mesh;
    let file = |stretch: f64| {
        let vertex = |p: &DVec3| format!("v {} {} {}\n", p.x, p.y, p.z * stretch);
        let face = |t: &[u32; 3]| format!("f {} {} {}\n", t[0] + 1, t[1] + 1, t[2] + 1);
        let lines = mesh.points.iter().map(vertex);
        lines
            .chain(mesh.triangles.iter().map(face))
            .collect::<String>()
    };
    let files = [file(1.0), file(1.5), file(2.0)];
    let folder = folder_with(&[
        ("b.1.obj", &files[0]),
        ("b.2.obj", &files[1]),
        ("b.3.obj", &files[2]),
    ]);
    let model = build_in(
        folder.path(),
        &format!(
            "{FUR}[collider.host]\nkind = \"mesh\"\nfile = \"b.1.obj\"\nposition = [0, 0, 1]\nmotion = {{ sequence = {{ file = \"b.#.obj\", frame_rate = 10 }} }}\n"
        ),
    );
    for step in [0, 5, 10, 13, 20, 30] {
        assert_rooted(&model, &later(&model, step));
    }
    let skin = model.points(1, &later(&model, 20));
    for (start, now) in model.objects[1].mesh.points.iter().zip(skin) {
        let local = *start - DVec3::Z;
        assert!(close(
            now,
            DVec3::new(local.x, local.y, 2.0 * local.z) + DVec3::Z,
            1e-12
        ));
    }
}
