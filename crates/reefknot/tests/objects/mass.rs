//! Masses of objects.

use std::f64::consts::PI;

use reefknot_sim::model::{Movement, ObjectType};

use super::common::*;

fn assert_mass(lines: &str, vertices: usize, mass: f64, tolerance: f64) {
    let model = object(lines);
    let object = &model.objects[0];
    if vertices > 0 {
        assert_eq!(object.mesh.points.len(), vertices, "{lines}");
    }
    assert!(
        (object.mass / mass - 1.0).abs() < tolerance,
        "{lines}: {} kg against {mass} kg",
        object.mass
    );
    // The nodes of a simulated object carry its mass.
    if let Movement::Simulated(nodes) = &object.movement {
        let sum: f64 = model.masses[nodes.clone()].iter().sum();
        assert!((sum / object.mass - 1.0).abs() < 1e-12);
    }
}

/// Area times 1 kg/m². The disc is a polygon.
#[test]
fn the_mass_of_cloth_is_area_times_area_density() {
    let grid = "kind = \"cloth-grid\"\nsize = [0.3, 0.2]\nvertices = [4, 3]";
    assert_mass(grid, 12, 0.06, 1e-12);
    assert_mass(&format!("{grid}\ntriangles = \"right\""), 12, 0.06, 1e-12);
    assert_mass(
        &format!("{grid}\ntriangles = \"unstructured\""),
        0,
        0.06,
        1e-12,
    );
    // Cells of 2 cm by 2 cm: 31 by 5 vertices.
    let strip = "kind = \"cloth-strip\"\nlength = 0.6\nwidth = 0.08\nsegments = 30";
    assert_mass(strip, 155, 0.048, 1e-12);
    // A polygon of 48 sides has sin(2π/48)/(2π/48) of its circle's area, 0.3% less.
    let disc = "kind = \"cloth-disc\"\nradius = 0.25\nedge = 0.03";
    assert_mass(disc, 0, PI * 0.0625, 5e-3);
    assert_mass(
        "kind = \"cloth-mesh\"\nfile = \"bunny.obj\"\nup = \"y\"",
        0,
        bunny_area(),
        1e-9,
    );
    // A scale changes the area, not the area density.
    assert_mass(&format!("{grid}\nscale = [2, 3, 5]"), 12, 0.36, 1e-12);
}

fn bunny_area() -> f64 {
    let model = build("[collider.it]\nkind = \"mesh\"\nfile = \"bunny.obj\"\n");
    let mesh = &model.objects[0].mesh;
    let area = |[a, b, c]: &[u32; 3]| {
        let [a, b, c] = [a, b, c].map(|vertex| mesh.points[*vertex as usize]);
        0.5 * (b - a).cross(c - a).length()
    };
    mesh.triangles.iter().map(area).sum()
}

/// Cross-section times length times 1000 kg/m³.
#[test]
fn the_mass_of_rods_is_section_times_length_times_density() {
    let section = PI * 9e-6 * 1000.0;
    let radius = "vertices = 41\nradius = \"3 mm\"";
    assert_mass(
        &format!("kind = \"rod\"\nlength = 0.4\n{radius}"),
        41,
        0.4 * section,
        1e-12,
    );
    let ribbon = "kind = \"rod\"\nlength = 0.4\nvertices = 2\nradius = [\"9 mm\", \"1 mm\"]";
    assert_mass(ribbon, 2, 0.4 * section, 1e-12);
    // Chords of a turn with 40 edges are 0.1% shorter than their arcs.
    let helix = "kind = \"rod-helix\"\nhelix_radius = 0.05\npitch = 0.03\nlength = 0.3";
    assert_mass(&format!("{helix}\n{radius}"), 41, 0.3 * section, 2e-3);
    let polygon = 41.0 * 2.0 * 0.1 * (PI / 41.0).sin();
    assert_mass(
        &format!("kind = \"rod-ring\"\nring_radius = 0.1\n{radius}"),
        41,
        polygon * section,
        1e-12,
    );
    let straight = "kind = \"rod-spline\"\npoints = [[0, 0, 0], [0, 0, 0.1], [0, 0, 0.3]]";
    assert_mass(&format!("{straight}\n{radius}"), 41, 0.3 * section, 1e-9);
    let knot = "kind = \"reef-knot\"\nlength = 0.7\nvertices = 140\nradius = \"3 mm\"";
    assert_mass(knot, 280, 1.4 * section, 5e-3);
    // A scale changes the length, not the radius.
    let scaled = format!("kind = \"rod\"\nlength = 0.4\n{radius}\nscale = 0.5");
    assert_mass(&scaled, 41, 0.2 * section, 1e-12);
}

#[test]
fn the_mass_of_a_rope_is_linear_density_times_length() {
    let model = build(
        "[material.rope]\npreset = \"nylon-rope\"\nlinear_density = \"8 g/m\"\n[object.it]\n\
            material = \"rope\"\nkind = \"rod\"\nlength = 2.5\nvertices = 11\nradius = 0.005\n",
    );
    assert!((model.objects[0].mass - 0.02).abs() < 1e-15);
}

/// Volume times 1000 kg/m³. The flat faces of round solids reduce it by some percent.
#[test]
fn the_mass_of_solids_is_volume_times_density() {
    for cut in ["five", "six"] {
        let solid = format!(
            "kind = \"solid-box\"\nsize = [0.1, 0.2, 0.3]\ncells = [1, 2, 3]\n\
                tetrahedra = \"{cut}\""
        );
        assert_mass(&solid, 24, 6.0, 1e-12);
        let beam = format!(
            "kind = \"solid-beam\"\nlength = 0.4\nsection = [0.06, 0.04]\ncells = 2\n\
                tetrahedra = \"{cut}\""
        );
        // Cells of 2 cm: 21 by 4 by 3 vertices.
        assert_mass(&beam, 252, 0.96, 1e-12);
    }
    let ball = 4.0 / 3.0 * PI;
    assert_mass(
        "kind = \"solid-ball\"\nradius = 0.1\nedge = 0.015",
        0,
        ball,
        2e-2,
    );
    assert_mass(
        "kind = \"solid-half-ball\"\nradius = 0.1\nedge = 0.015",
        0,
        0.5 * ball,
        2e-2,
    );
    // 2π²Rr².
    assert_mass(
        "kind = \"solid-ring\"\nradius = 0.09\ntube_radius = 0.03\nedge = 0.01",
        0,
        2.0 * PI * PI * 0.09 * 0.0009 * 1000.0,
        4e-2,
    );
    let tube = "kind = \"solid-tube\"\nradius = 0.06\nlength = 0.2\nedge = 0.01";
    assert_mass(
        &format!("{tube}\ninner_radius = 0.04"),
        0,
        PI * (0.0036 - 0.0016) * 200.0,
        2e-2,
    );
    assert_mass(
        &format!("{tube}\ninner_radius = 0"),
        0,
        PI * 0.0036 * 200.0,
        2e-2,
    );
    // Eight times the volume at twice the size.
    let half = "kind = \"solid-box\"\nsize = [0.1, 0.2, 0.3]\ncells = [1, 1, 1]\nscale = 2";
    assert_mass(half, 8, 48.0, 1e-12);
}

#[test]
fn the_mass_of_imported_solids_and_embedded_surfaces_is_that_of_their_volume() {
    let model = object("kind = \"solid-mesh\"\nfile = \"bunny_coarse.msh\"\nup = \"y\"");
    let it = &model.objects[0];
    let volume = |[a, b, c, d]: &[u32; 4]| {
        let [a, b, c, d] = [a, b, c, d].map(|vertex| it.mesh.points[*vertex as usize]);
        (b - a).cross(c - a).dot(d - a) / 6.0
    };
    let volumes: Vec<f64> = it.mesh.tetrahedra.iter().map(volume).collect();
    assert!(volumes.iter().all(|volume| *volume > 0.0));
    let mass = 1000.0 * volumes.iter().sum::<f64>();
    assert!((it.mass / mass - 1.0).abs() < 1e-9);
    assert!(matches!(it.kind, ObjectType::Solid(_)));

    let surface = "surface = { kind = \"box\", size = [0.1, 0.2, 0.3] }";
    assert_mass(
        &format!("kind = \"embedded\"\n{surface}\ncells = 6"),
        8,
        6.0,
        1e-12,
    );
    let model = object(&format!("kind = \"embedded\"\n{surface}\ncells = 6"));
    let ObjectType::Embedded(_, embedding) = &model.objects[0].kind else {
        panic!("{:?}", model.objects[0].kind);
    };
    // The weights of the lattice reproduce every vertex of the surface.
    for (stencil, point) in embedding.weights.iter().zip(&model.objects[0].mesh.points) {
        assert!(close(
            stencil.position(&embedding.lattice.points),
            *point,
            1e-12
        ));
    }
}

#[test]
fn the_mass_of_props_is_that_of_their_volume_or_the_given_one() {
    let prop = |shape: &str| format!("kind = \"rigid\"\nshape = {{ {shape} }}");
    assert_mass(
        &prop("kind = \"box\", size = [0.1, 0.2, 0.3]"),
        8,
        6.0,
        1e-12,
    );
    // A sphere of 48 × 24 faces has 0.8% less volume.
    let sphere = prop("kind = \"sphere\", radius = 0.1");
    assert_mass(&sphere, 0, 4.0 / 3.0 * PI, 1e-2);
    assert_mass(
        &prop("kind = \"sphere\", radius = 0.1, edge = 0.004"),
        0,
        4.0 / 3.0 * PI,
        1e-3,
    );
    let round = [
        ("kind = \"cylinder\", radius = 0.1, length = 0.3", PI * 3.0),
        ("kind = \"cone\", radius = 0.1, height = 0.3", PI),
        (
            "kind = \"capsule\", radius = 0.1, length = 0.3",
            PI * (3.0 + 4.0 / 3.0),
        ),
    ];
    for (shape, mass) in round {
        assert_mass(&prop(shape), 0, mass, 1e-2);
    }
    let stairs = "kind = \"stairs\", steps = 3, tread = 0.1, rise = 0.1, width = 0.5";
    assert_mass(&prop(stairs), 0, 30.0, 1e-12);
    let model = build(
        "[object.it]\nkind = \"rigid\"\nshape = { kind = \"sphere\", radius = 0.1 }\nmass = 2.5\n\
            copies = { array = { count = [3, 1, 1], spacing = [1, 0, 0] } }\n",
    );
    // Three copies of that mass each.
    assert_eq!(model.objects[0].mass, 7.5);
}
