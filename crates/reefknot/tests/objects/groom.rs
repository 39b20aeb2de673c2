//! Grooms: count, seed, roots, and motion with the host.

use std::f64::consts::PI;
use std::path::Path;

use glam::{DQuat, DVec3};
use reefknot_sim::generate::groom::Root;
use reefknot_sim::model::{Model, Movement, ObjectType};
use reefknot_sim::state::State;

use super::common::*;

const FUR: &str = "[object.fur]\nkind = \"groom\"\non = \"host\"\ncount = 50\nlength = 0.05\n\
    vertices = 8\nradius = 1e-4\nmaterial = \"stuff\"\n";

fn lengths(points: &[DVec3], vertices: usize) -> Vec<f64> {
    let length = |rod: &[DVec3]| rod.windows(2).map(|p| p[0].distance(p[1])).sum();
    points.chunks(vertices).map(length).collect()
}

#[test]
fn the_seed_of_the_scene_changes_grooms_and_scattered_copies() {
    let text = format!(
        "{FUR}[collider.host]\nkind = \"sphere\"\nradius = 0.1\n\
            {GRID}copies = {{ scatter = {{ count = 3, min = [-1, -1, -1], max = [1, 1, 1] }} }}\n"
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

/// Roots move rigidly with the host. After the host has stopped, the quasi-static hair returns to
/// its rest shape.
#[test]
fn hair_follows_a_moving_collider() {
    let text = format!(
        "{FUR}curl_radius = 0.004\n[collider.host]\nkind = \"sphere\"\nradius = 0.1\n\
            position = [1, 0, 0]\nmotion = {{ angular_velocity = [0, 0, \"90 deg/s\"], \
            velocity = [0, 0, 1], stop = 1 }}\n"
    );
    // Stiff enough to reach equilibrium within a few steps of 10 ms.
    let text = text
        .replace("vertices = 8", "vertices = 20")
        .replace("radius = 1e-4", "radius = 1e-3");
    let head = "gravity = [0, 0, 0]\n\
        method = { integrator = \"newton\", quasi_static = true, solver = \"none\" }\n";
    let stiff = HEAD.replace("young = 1e6", "young = 1e9");
    let scene = read_in(Path::new(""), &format!("{head}{stiff}{text}"));
    let model = Model::build(&scene).unwrap();
    let fur = &model.objects[0];
    let (center, turn) = (DVec3::X, DQuat::from_rotation_z(PI / 2.0));
    let moved = |start: DVec3| center + turn * (start - center) + DVec3::Z;
    let starts = || fur.mesh.points.iter().enumerate();
    let state = stepped(&model, 100);
    for (vertex, start) in starts().filter(|(vertex, _)| vertex % 20 < 2) {
        let (now, expected) = (state.positions[vertex], moved(*start));
        assert!(close(now, expected, 1e-12), "{now} against {expected}");
    }
    let state = stepped(&model, 150);
    for (vertex, start) in starts() {
        let (now, expected) = (state.positions[vertex], moved(*start));
        assert!(close(now, expected, 1e-6), "{now} against {expected}");
    }
    // Material frames stay perpendicular to their edges, and rotate with the host.
    let ObjectType::Rods(rods) = &fur.kind else {
        panic!()
    };
    let (points, directors) = (model.points(0, &state), model.directors(0, &state).unwrap());
    for ([a, b], director) in rods.edges.iter().zip(&directors) {
        let edge = (points[*b as usize] - points[*a as usize]).normalize();
        assert!((director.length() - 1.0).abs() < 1e-12);
        assert!(edge.dot(*director).abs() < 1e-9);
    }
    for (start, now) in rods.directors.iter().zip(&directors) {
        assert!(close(turn * *start, *now, 1e-4), "{start} {now}");
    }
}

/// The velocity of a root over a step is ω × r + v, to second order in 10 ms.
#[test]
fn roots_have_the_velocity_of_their_host() {
    let model = build(&format!(
        "{FUR}[collider.host]\nkind = \"sphere\"\nradius = 0.1\n\
            motion = {{ angular_velocity = [0, 0, \"90 deg/s\"], velocity = [0, 0, 1] }}\n"
    ));
    let state = stepped(&model, 10);
    let roots = state.positions.iter().zip(&state.velocities).step_by(8);
    for (point, velocity) in roots {
        let expected = (DVec3::Z * (PI / 2.0)).cross(*point) + DVec3::Z;
        assert!(
            close(*velocity, expected, 3e-3),
            "{velocity} against {expected}"
        );
    }
}

#[test]
fn hair_on_a_host_at_rest_stays_at_rest_without_gravity_and_hangs_with_it() {
    let model = build(&format!(
        "{FUR}[collider.host]\nkind = \"sphere\"\nradius = 0.1\n"
    ));
    let mut weightless = build(&format!(
        "{FUR}[collider.host]\nkind = \"sphere\"\nradius = 0.1\n"
    ));
    weightless.gravity = DVec3::ZERO;
    let start = &model.start.positions;
    let state = stepped(&weightless, 50);
    for (start, now) in start.iter().zip(&state.positions) {
        assert!(close(*start, *now, 1e-12), "{start} {now}");
    }
    // With gravity, roots rest to the bit and the hair hangs down.
    let state = stepped(&model, 50);
    let mut lowered = 0.0;
    for (vertex, (start, now)) in start.iter().zip(&state.positions).enumerate() {
        if vertex % 8 < 2 {
            assert_eq!(start, now);
        } else {
            lowered += (start.z - now.z) / 300.0;
        }
    }
    assert!(lowered > 1e-3, "{lowered} m");
}

/// Positions of the roots on a host with the given points.
fn roots_on(model: &Model, skin: &[DVec3]) -> Vec<DVec3> {
    let rooted = model.objects[0].rooted.as_ref().unwrap();
    let place = |root: &Root| {
        let corners = model.objects[rooted.host].mesh.triangles[root.triangle as usize];
        let weighted = corners.iter().zip(root.weights);
        weighted
            .map(|(corner, weight)| skin[*corner as usize] * weight)
            .sum()
    };
    rooted.roots.iter().map(place).collect()
}

/// Asserts that roots stay at the same weights of the same triangle, and that hairs keep their
/// length: a sudden root velocity v stretches a hair by v/c, and by twice that where the wave is
/// reflected at the tip.
fn assert_rooted(model: &Model, state: &State, skin: &[DVec3], root_speed: f64) {
    let sound = (1e6_f64 / 1000.0).sqrt();
    let hairs = model.points(0, state);
    for (rod, place) in hairs.chunks(8).zip(roots_on(model, skin)) {
        assert!(close(rod[0], place, 1e-12), "{} against {place}", rod[0]);
        // The first edge is held, so it is rigid.
        assert!((rod[0].distance(rod[1]) / (0.05 / 7.0) - 1.0).abs() < 1e-9);
    }
    for length in lengths(&hairs, 8) {
        assert!(
            (length / 0.05 - 1.0).abs() < 2.0 * root_speed / sound,
            "{length}"
        );
    }
}

/// Hair on a simulated host has ties. They stretch by weight over stiffness, a few micrometres, and
/// more if the cloth accelerates faster than gravity.
#[test]
fn hair_follows_simulated_cloth() {
    let text = format!(
        "{FUR}{}[pin.edge]\nobject = \"host\"\nat = {{ group = \"left\" }}\n",
        GRID.replace("object.it", "object.host")
    );
    let model = build(&text);
    let state = stepped(&model, 20);
    let places = roots_on(&model, &model.points(1, &state));
    for (rod, place) in model.points(0, &state).chunks(8).zip(places) {
        assert!(close(rod[0], place, 2e-4), "{} {place}", rod[0]);
        let first = rod[0].distance(rod[1]) / (0.05 / 7.0);
        assert!((first - 1.0).abs() < 0.05, "{first}");
    }
    let starts = model.objects[0].mesh.points.iter();
    let fallen = starts.zip(model.points(0, &state)).map(|(a, b)| a.z - b.z);
    assert!(fallen.fold(0.0, f64::max) > 0.01);
}

/// Hair acts on its host: thrown cloth accelerates its hair, and the total momentum is constant.
#[test]
fn hair_and_cloth_exchange_momentum() {
    let text = format!(
        "{FUR}{}velocity = [0.3, 0, 1]\n",
        GRID.replace("object.it", "object.host")
    );
    let mut model = build(&text);
    model.gravity = DVec3::ZERO;
    let hair = model.objects[0].nodes();
    model.start.velocities[hair].fill(DVec3::ZERO);
    let momentum = |state: &State, nodes: std::ops::Range<usize>| -> DVec3 {
        let moving = nodes.map(|node| model.masses[node] * state.velocities[node]);
        moving.sum()
    };
    let (all, cloth) = (0..model.masses.len(), model.objects[1].nodes());
    let state = stepped(&model, 20);
    let (before, after) = (momentum(&model.start, all.clone()), momentum(&state, all));
    assert!(
        close(before, after, 1e-9 * before.length()),
        "{before} {after}"
    );
    let own = momentum(&model.start, cloth.clone());
    assert!(
        !close(own, momentum(&state, cloth), 1e-3 * own.length()),
        "the cloth exchanges no momentum with the hair"
    );
}

#[test]
fn hair_follows_a_host_with_a_mesh_sequence() {
    // Spheres, stretched more along z in each file.
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
            "{FUR}[collider.host]\nkind = \"mesh\"\nfile = \"b.1.obj\"\nposition = [0, 0, 1]\n\
                motion = {{ sequence = {{ file = \"b.#.obj\", frame_rate = 10 }} }}\n"
        ),
    );
    for step in [0, 5, 10, 13, 20, 30] {
        let state = stepped(&model, step);
        // 0.5 × 0.1 m in 0.1 s, with a sudden start and stop.
        assert_rooted(&model, &state, &model.points(1, &state), 2.0 * 0.5);
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

/// Otherwise the first step would tear fur from a thrown host.
#[test]
fn fur_starts_with_the_velocity_of_its_host() {
    let model = build(&format!(
        "{FUR}[object.host]\nkind = \"solid-ball\"\nradius = 0.1\nedge = 0.05\n\
            material = \"stuff\"\nposition = [1, 0, 0]\nvelocity = [1, 2, 3]\n\
            angular_velocity = [0, 0, 4]\n"
    ));
    let Movement::Simulated(nodes) = &model.objects[0].movement else {
        panic!("fur is simulated");
    };
    let start = &model.start;
    for (position, velocity) in start.positions[nodes.clone()]
        .iter()
        .zip(&start.velocities[nodes.clone()])
    {
        let place = *position - DVec3::new(1.0, 0.0, 0.0);
        let expected = DVec3::new(1.0, 2.0, 3.0) + DVec3::new(0.0, 0.0, 4.0).cross(place);
        assert!(velocity.distance(expected) < 1e-9, "{velocity} at {place}");
    }
    assert!(start.spins.iter().any(|spin| *spin != 0.0));
}
