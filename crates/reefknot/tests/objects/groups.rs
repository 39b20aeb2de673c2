//! Groups of objects, and surfaces of colliders.

use glam::DVec3;
use reefknot_sim::model::{Object, ObjectType};

use super::common::*;

/// Vertices whose position satisfies a condition.
fn vertices_where(object: &Object, is_in: impl Fn(DVec3) -> bool) -> Vec<u32> {
    let points = (0..).zip(&object.mesh.points);
    points.filter(|(_, p)| is_in(**p)).map(|(v, _)| v).collect()
}

#[test]
fn groups_of_sheets_are_the_documented_ones() {
    for kind in ["right", "alternating", "unstructured"] {
        let model = object(&format!(
            "kind = \"cloth-grid\"\nsize = [0.4, 0.2]\nvertices = [5, 4]\ntriangles = \"{kind}\""
        ));
        let sheet = &model.objects[0];
        let left = vertices_where(sheet, |p| p.x < -0.2 + 1e-12);
        let right = vertices_where(sheet, |p| p.x > 0.2 - 1e-12);
        let bottom = vertices_where(sheet, |p| p.y < -0.1 + 1e-12);
        let top = vertices_where(sheet, |p| p.y > 0.1 - 1e-12);
        let corners = vertices_where(sheet, |p| {
            p.x.abs() > 0.2 - 1e-12 && p.y.abs() > 0.1 - 1e-12
        });
        assert_eq!((left.len(), top.len(), corners.len()), (4, 5, 4), "{kind}");
        for (name, vertices) in [
            ("left", left),
            ("right", right),
            ("bottom", bottom),
            ("top", top),
            ("corners", corners),
        ] {
            assert_eq!(group(sheet, name), vertices, "{kind} {name}");
        }
    }
    let model = object("kind = \"cloth-disc\"\nradius = 0.25\nedge = 0.05");
    let disc = &model.objects[0];
    assert_eq!(
        group(disc, "rim"),
        vertices_where(disc, |p| p.length() > 0.25 - 1e-9)
    );
    assert_eq!(
        group(disc, "centre"),
        vertices_where(disc, |p| p == DVec3::ZERO)
    );
}

#[test]
fn groups_of_rods_are_their_ends() {
    let model = object("kind = \"rod\"\nlength = 0.4\nvertices = 5\nradius = 0.01");
    let rod = &model.objects[0];
    assert_eq!(group(rod, "first"), [0]);
    assert_eq!(group(rod, "last"), [4]);
    assert_eq!(group(rod, "ends"), [0, 4]);
    assert_eq!(rod.mesh.points[0], DVec3::ZERO);
    assert!(close(rod.mesh.points[4], DVec3::X * 0.4, 1e-15));
    let model = object(
        "kind = \"rod-helix\"\nhelix_radius = 0.05\npitch = -0.03\nlength = 1\nvertices = 101\n\
            radius = 0.001",
    );
    let helix = &model.objects[0];
    assert!(close(helix.mesh.points[0], DVec3::X * 0.05, 1e-15));
    // A left-handed screw: counter-clockwise is downwards.
    assert!(helix.mesh.points[1].y > 0.0 && helix.mesh.points[1].z < 0.0);
    let model = object("kind = \"rod-ring\"\nring_radius = 0.1\nvertices = 8\nradius = 0.01");
    assert!(model.objects[0].mesh.groups.is_empty() && model.objects[0].mesh.curves[0].closed);
    let model = object("kind = \"reef-knot\"\nlength = 0.7\nvertices = 140\nradius = \"8 mm\"");
    let knot = &model.objects[0];
    let [left, right] = ["left", "right"].map(|name| group(knot, name).to_vec());
    assert_eq!((left.len(), right.len()), (2, 2));
    // Along x, two ends are left of the knot and two right of it.
    let x = |vertex: &u32| knot.mesh.points[*vertex as usize].x;
    let least = knot.mesh.points.iter().map(|p| p.x).fold(0.0, f64::min);
    assert!(left.iter().all(|vertex| x(vertex) < 0.9 * least));
    assert!(right.iter().all(|vertex| x(vertex) > -0.9 * least));
    assert_eq!(group(knot, "ends").len(), 4);
}

#[test]
fn groups_of_solids_are_the_documented_ones() {
    let model = object("kind = \"solid-box\"\nsize = [0.2, 0.4, 0.6]\ncells = [2, 2, 2]");
    let solid = &model.objects[0];
    assert_eq!(
        group(solid, "left"),
        vertices_where(solid, |p| p.x < -0.099)
    );
    assert_eq!(group(solid, "back"), vertices_where(solid, |p| p.y > 0.199));
    assert_eq!(
        group(solid, "front"),
        vertices_where(solid, |p| p.y < -0.199)
    );
    assert_eq!(group(solid, "top"), vertices_where(solid, |p| p.z > 0.299));
    let model = object("kind = \"solid-beam\"\nlength = 0.4\nsection = [0.1, 0.1]\ncells = 1");
    let beam = &model.objects[0];
    assert_eq!(group(beam, "left"), vertices_where(beam, |p| p.x == 0.0));
    assert_eq!(
        group(beam, "right"),
        vertices_where(beam, |p| p.x > 0.4 - 1e-12)
    );
    let model = object("kind = \"solid-ball\"\nradius = 0.1\nedge = 0.03");
    let ball = &model.objects[0];
    assert_eq!(
        group(ball, "surface"),
        vertices_where(ball, |p| p.length() > 0.1 - 1e-9)
    );
    assert_eq!(
        group(ball, "centre"),
        vertices_where(ball, |p| p == DVec3::ZERO)
    );
    let model = object("kind = \"solid-half-ball\"\nradius = 0.1\nedge = 0.03");
    let half = &model.objects[0];
    assert!(half.mesh.points.iter().all(|p| p.z <= 0.0));
    assert_eq!(group(half, "flat"), vertices_where(half, |p| p.z == 0.0));
    assert_eq!(
        group(half, "dome"),
        vertices_where(half, |p| p.length() > 0.1 - 1e-9)
    );
    assert_eq!(
        group(half, "pole"),
        vertices_where(half, |p| close(p, DVec3::Z * -0.1, 1e-9))
    );
    let model = object(
        "kind = \"solid-tube\"\nradius = 0.06\ninner_radius = 0.04\nlength = 0.2\nedge = 0.01",
    );
    let tube = &model.objects[0];
    let across = |p: DVec3| p.x.hypot(p.y);
    assert_eq!(
        group(tube, "inside"),
        vertices_where(tube, |p| across(p) < 0.04 + 1e-9)
    );
    assert_eq!(
        group(tube, "outside"),
        vertices_where(tube, |p| across(p) > 0.06 - 1e-9)
    );
    assert_eq!(
        group(tube, "bottom"),
        vertices_where(tube, |p| p.z < -0.1 + 1e-12)
    );
    assert_eq!(
        group(tube, "top"),
        vertices_where(tube, |p| p.z > 0.1 - 1e-12)
    );
}

/// The bounding box of each shape relative to its origin.
#[test]
fn every_collider_has_the_documented_bounding_box() {
    let shapes = [
        (
            "box",
            "size = [0.2, 0.4, 0.6]",
            [-0.1, -0.2, -0.3, 0.1, 0.2, 0.3],
        ),
        ("sphere", "radius = 0.1", [-0.1, -0.1, -0.1, 0.1, 0.1, 0.1]),
        (
            "cylinder",
            "radius = 0.1\nlength = 0.6",
            [-0.1, -0.1, -0.3, 0.1, 0.1, 0.3],
        ),
        (
            "capsule",
            "radius = 0.1\nlength = 0.6",
            [-0.1, -0.1, -0.4, 0.1, 0.1, 0.4],
        ),
        ("plane", "size = 0.6", [-0.3, -0.3, 0.0, 0.3, 0.3, 0.0]),
        (
            "cone",
            "radius = 0.1\nheight = 0.6",
            [-0.1, -0.1, 0.0, 0.1, 0.1, 0.6],
        ),
        (
            "funnel",
            "top_radius = 0.1\nbottom_radius = 0.1\nheight = 0.6\nwall = 0.02",
            [-0.12, -0.12, -0.3, 0.12, 0.12, 0.3],
        ),
        (
            "stairs",
            "steps = 4\ntread = 0.1\nrise = 0.05\nwidth = 0.6",
            [0.0, -0.3, 0.0, 0.4, 0.3, 0.2],
        ),
        (
            "nail",
            "radius = 0.01\nlength = 0.2\nhead_radius = 0.03\nhead_thickness = 0.01",
            [-0.03, -0.03, 0.0, 0.03, 0.03, 0.21],
        ),
    ];
    for (kind, sizes, [a, b, c, d, e, f]) in shapes {
        let model = build(&format!("[collider.it]\nkind = \"{kind}\"\n{sizes}\n"));
        let it = &model.objects[0];
        assert!(it.is_collider() && it.mass == 0.0);
        let points = &it.mesh.points;
        let low = points.iter().fold(points[0], |low, p| low.min(*p));
        let high = points.iter().fold(points[0], |high, p| high.max(*p));
        assert!(close(low, DVec3::new(a, b, c), 1e-12), "{kind} {low}");
        assert!(close(high, DVec3::new(d, e, f), 1e-12), "{kind} {high}");
        let ObjectType::Collider(exact) = &it.kind else {
            panic!("{kind}")
        };
        let is_mesh = ["funnel", "stairs", "nail"].contains(&kind);
        assert_eq!(exact.is_none(), is_mesh, "{kind}");
        // The vertices of the drawn triangles lie on the exact shape.
        if let Some(exact) = exact {
            for point in points {
                assert!(
                    exact.shape.distance(*point).unwrap().abs() < 1e-12,
                    "{kind}"
                );
            }
        }
    }
}
