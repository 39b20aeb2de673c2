use std::f64::consts::PI;

use super::*;
use crate::mesh::mass::volume_properties;
use crate::mesh::nearest::NearestTree;
use crate::mesh::surface::unique_edges;
use crate::random::Random;
use proptest::prelude::*;

const FUNNEL: Shape = Shape::Funnel {
    top_radius: 1.0,
    bottom_radius: 0.3,
    height: 0.8,
    thickness: 0.1,
};
const STAIRS: Shape = Shape::Stairs {
    steps: 4,
    tread: 0.3,
    rise: 0.2,
    width: 1.0,
};
const NAIL: Shape = Shape::Nail {
    radius: 0.1,
    length: 1.0,
    head_radius: 0.25,
    head_thickness: 0.05,
};

/// Every kind of solid, with its volume.
fn solids() -> Vec<(Shape, f64)> {
    let wall = 0.1 * (0.7_f64 / 0.8).hypot(1.0);
    // Between two cones of one slope, the cross-section is an annulus: π w (2 r + w), mean radius
    // 0.65.
    let funnel = 0.8 * PI * wall * (2.0 * 0.65 + wall);
    let nail = PI * (0.01 * (0.3 / 3.0 + 0.7) + 0.0625 * 0.05);
    vec![
        (
            Shape::Box {
                size: [1.0, 0.5, 0.7],
            },
            0.35,
        ),
        (Shape::Sphere { radius: 0.6 }, 4.0 / 3.0 * PI * 0.216),
        (
            Shape::Cylinder {
                radius: 0.5,
                length: 1.2,
            },
            PI * 0.3,
        ),
        (
            Shape::Capsule {
                radius: 0.5,
                length: 0.8,
            },
            PI * (0.2 + 0.125 * 4.0 / 3.0),
        ),
        (
            Shape::Capsule {
                radius: 0.5,
                length: 0.0,
            },
            PI * 0.125 * 4.0 / 3.0,
        ),
        (
            Shape::Cone {
                radius: 0.6,
                height: 0.9,
            },
            PI * 0.36 * 0.3,
        ),
        (FUNNEL, funnel),
        (STAIRS, 0.06 * 10.0),
        (NAIL, nail),
    ]
}

/// 4√3 area / Σ side²: 1 for an equilateral triangle, 0 for a line.
fn worst_quality(mesh: &Mesh) -> f64 {
    let quality = |corners: &[u32; 3]| {
        let [a, b, c] = corners.map(|vertex| mesh.points[vertex as usize]);
        let sides = a.distance_squared(b) + b.distance_squared(c) + c.distance_squared(a);
        2.0 * 3_f64.sqrt() * (b - a).cross(c - a).length() / sides
    };
    mesh.triangles.iter().map(quality).fold(1.0, f64::min)
}

/// Whether every side has exactly one partner in the opposite direction.
fn is_closed_manifold(mesh: &Mesh) -> bool {
    let mut sides: Vec<[u32; 2]> = Vec::new();
    for &[a, b, c] in &mesh.triangles {
        sides.extend([[a, b], [b, c], [c, a]]);
    }
    sides.sort_unstable();
    let is_single = sides.windows(2).all(|pair| pair[0] != pair[1]);
    is_single
        && sides
            .iter()
            .all(|&[a, b]| sides.binary_search(&[b, a]).is_ok())
}

#[test]
fn surfaces_are_closed_with_outward_normals() {
    for (shape, _) in solids() {
        for edge in [None, Some(0.3), Some(0.05), Some(10.0)] {
            let mesh = shape.surface(edge).unwrap();
            assert!(is_closed_manifold(&mesh), "{shape:?}");
            let edges = unique_edges(&mesh.triangles);
            let characteristic =
                (mesh.points.len() + mesh.triangles.len()) as i64 - edges.len() as i64;
            // 2 for a sphere, 0 for a torus.
            assert_eq!(
                characteristic,
                if shape == FUNNEL { 0 } else { 2 },
                "{shape:?}"
            );
            assert!(volume_properties(&mesh.points, &mesh.triangles).volume > 0.0);
        }
    }
}

#[test]
fn volumes_converge_with_the_edge_length() {
    for (shape, volume) in solids() {
        let error = |edge| {
            let mesh = shape.surface(Some(edge)).unwrap();
            let found = volume_properties(&mesh.points, &mesh.triangles).volume;
            (found / volume - 1.0).abs()
        };
        // A polygon of n sides has less area than its circle by 2π²/3n², with n = 2π r / edge.
        assert!(error(0.01) < 2e-3, "{shape:?}: {}", error(0.01));
        assert!(error(0.01) < 0.3 * error(0.02) + 1e-11, "{shape:?}");
    }
}

#[test]
fn triangles_are_well_shaped() {
    let mut worst: f64 = 1.0;
    for (shape, _) in solids() {
        let quality = worst_quality(&shape.surface(Some(0.04)).unwrap());
        // The sharp point of a nail has thin triangles.
        assert!(
            quality > if shape == NAIL { 0.35 } else { 0.6 },
            "{shape:?}: {quality}"
        );
        worst = worst.min(quality);
        let default = worst_quality(&shape.surface(None).unwrap());
        println!("{shape:?}: {quality:.3} with an edge length, {default:.3} without");
    }
    println!("worst {worst:.3}");
}

#[test]
fn the_estimate_of_vertices_is_accurate() {
    let mut shapes: Vec<_> = solids().iter().map(|(shape, _)| *shape).collect();
    shapes.push(Shape::Plane { size: 1.0 });
    for shape in shapes {
        for edge in [None, Some(0.05), Some(0.02)] {
            let found = shape.surface(edge).unwrap().points.len() as f64;
            let estimate = shape.vertex_estimate(edge);
            assert!(
                (estimate / found - 1.0).abs() < 0.15,
                "{shape:?}: {estimate} for {found}"
            );
        }
        assert!(shape.vertex_estimate(Some(1e-6)) > MAX_SURFACE_VERTICES);
        assert!(shape.surface(Some(1e-6)).is_err());
    }
}

#[test]
fn invalid_lengths_are_refused() {
    let message = |shape: Shape| shape.surface(None).unwrap_err();
    assert_eq!(
        message(Shape::Sphere { radius: -1.0 }),
        "radius is -1; it must be more than 0"
    );
    let thin = message(Shape::Box {
        size: [1.0, 1e-12, 1.0],
    });
    assert_eq!(
        thin,
        "size is 1, more than 1e9 times the smallest length, 0.000000000001"
    );
    let nail = Shape::Nail {
        radius: 0.1,
        length: 1.0,
        head_radius: 0.1,
        head_thickness: 0.1,
    };
    assert_eq!(
        message(nail),
        "head_radius is 0.1; it must be more than radius, 0.1"
    );
    assert!(
        Shape::Capsule {
            radius: 1.0,
            length: f64::NAN
        }
        .check()
        .is_err()
    );
    assert!(Shape::Sphere { radius: 1.0 }.surface(Some(0.0)).is_err());
    for steps in [0, usize::MAX] {
        let stairs = Shape::Stairs {
            steps,
            tread: 1.0,
            rise: 1.0,
            width: 1.0,
        };
        assert!(stairs.surface(None).is_err());
    }
}

#[test]
fn the_distance_is_zero_on_the_surface() {
    let plane = (Shape::Plane { size: 2.0 }, 0.0);
    for (shape, _) in solids().into_iter().chain([plane]) {
        for point in shape.surface(Some(0.1)).unwrap().points {
            match shape.distance(point) {
                Some(distance) => assert!(distance.abs() < 1e-15, "{shape:?} at {point}"),
                None => assert!(!shape.is_analytic()),
            }
        }
    }
}

#[test]
fn distances_agree_with_a_fine_mesh() {
    let edge = 0.02;
    let mut random = Random::new(7);
    for (shape, _) in solids()
        .into_iter()
        .filter(|(shape, _)| shape.is_analytic())
    {
        let mesh = shape.surface(Some(edge)).unwrap();
        let tree = NearestTree::of_triangles(&mesh.points, &mesh.triangles);
        for _ in 0..300 {
            let point = random.unit_vector() * random.between(0.0, 1.5);
            let found = tree.find(point).unwrap();
            let distance = shape.distance(point).unwrap();
            // A chord of length e is e²/8r below its circle; the centre of a triangle at most twice
            // that. Near the apex of a cone the circles are small.
            let corners = mesh.triangles[found.element].map(|vertex| mesh.points[vertex as usize]);
            let radius = corners.map(|corner| corner.x.hypot(corner.y));
            let radius = match shape {
                Shape::Cone { .. } => radius
                    .iter()
                    .fold(0.5, |least: f64, other| least.min(*other)),
                _ => 0.5,
            };
            let error = (found.distance - distance.abs()).abs();
            assert!(
                error < edge * edge / (4.0 * radius),
                "{shape:?} at {point}: {error}"
            );
        }
    }
}

#[test]
fn the_sign_of_the_distance_agrees_with_the_winding_number() {
    let mut random = Random::new(8);
    for (shape, _) in solids()
        .into_iter()
        .filter(|(shape, _)| shape.is_analytic())
    {
        let mesh = shape.surface(Some(0.1)).unwrap();
        for _ in 0..200 {
            let point = random.unit_vector() * random.between(0.0, 1.0);
            let distance = shape.distance(point).unwrap();
            // Solid angle of all triangles: 4π from inside, 0 from outside.
            let mut angle = 0.0;
            for corners in &mesh.triangles {
                let [a, b, c] = corners.map(|vertex| mesh.points[vertex as usize] - point);
                let [x, y, z] = [a, b, c].map(DVec3::length);
                let below = x * y * z + a.dot(b) * z + b.dot(c) * x + c.dot(a) * y;
                angle += 2.0 * a.dot(b.cross(c)).atan2(below);
            }
            if distance.abs() > 0.02 {
                assert_eq!(distance < 0.0, angle > 2.0 * PI, "{shape:?} at {point}");
            }
        }
    }
}

proptest! {
    #[test]
    fn the_gradient_of_the_distance_has_unit_length(
        place in prop::array::uniform3(-1.5..1.5_f64),
    ) {
        let point = DVec3::from(place);
        for (shape, _) in solids().into_iter().filter(|(shape, _)| shape.is_analytic()) {
            let distance = |point: DVec3| shape.distance(point).unwrap();
            let step = 1e-6;
            let slope = |axis: DVec3| {
                (distance(point + step * axis) - distance(point - step * axis)) / (2.0 * step)
            };
            let gradient = DVec3::new(slope(DVec3::X), slope(DVec3::Y), slope(DVec3::Z));
            // Less where there are two nearest points.
            prop_assert!(gradient.length() < 1.0 + 1e-8, "{:?}", shape);
            if distance(point) > 1e-5 {
                prop_assert!((gradient.length() - 1.0).abs() < 1e-6, "{:?}", shape);
            }
            // The nearest point is on the surface.
            if gradient.length() > 1.0 - 1e-9 {
                let nearest = point - distance(point) * gradient;
                prop_assert!(distance(nearest).abs() < 1e-5, "{:?}", shape);
            }
        }
    }
}

#[test]
fn exact_mass_properties_agree_with_fine_meshes() {
    let shapes = [
        Shape::Box {
            size: [0.2, 0.3, 0.5],
        },
        Shape::Sphere { radius: 0.2 },
        Shape::Cylinder {
            radius: 0.2,
            length: 0.5,
        },
        Shape::Capsule {
            radius: 0.2,
            length: 0.3,
        },
        Shape::Cone {
            radius: 0.2,
            height: 0.4,
        },
    ];
    for shape in shapes {
        let exact = shape.mass_properties().unwrap();
        let mesh = shape.surface(Some(0.01)).unwrap();
        let drawn = crate::mesh::mass::volume_properties(&mesh.points, &mesh.triangles);
        assert!(
            (drawn.volume / exact.volume - 1.0).abs() < 2e-3,
            "{shape:?}"
        );
        assert!(drawn.centre.distance(exact.centre) < 1e-4, "{shape:?}");
        for axis in 0..3 {
            let ratio = drawn.inertia.col(axis)[axis] / exact.inertia.col(axis)[axis];
            assert!((ratio - 1.0).abs() < 4e-3, "{shape:?}: {ratio}");
        }
    }
}
