//! Winding numbers about lattice points, where rays meet vertices and edges of surfaces.

use glam::DVec3;

use super::super::super::features::Part;
use super::*;
use crate::random::Random;

/// Tetrahedra, each a part, with one surface in the order given.
fn tetrahedra(corners: &[[DVec3; 4]]) -> (Features, Vec<DVec3>) {
    let part = Part {
        is_free: true,
        self_collides: true,
    };
    let faces = (0..corners.len() as u32).flat_map(|body| {
        let faces = [[1, 2, 3], [0, 3, 2], [0, 1, 3], [0, 2, 1]];
        faces.map(|face: [u32; 3]| face.map(|corner| 4 * body + corner))
    });
    let part_of = (0..corners.len() as u32)
        .flat_map(|body| [body; 4])
        .collect();
    let parts = vec![part; corners.len()];
    let features = Features::new(part_of, parts, faces.collect(), &[], &[]);
    (features, corners.concat())
}

/// Six times the volume of a tetrahedron with small integer coordinates: exact.
fn volume([a, b, c, d]: [DVec3; 4]) -> f64 {
    (b - a).cross(c - a).dot(d - a)
}

/// The winding number of a tetrahedron about a point; None if the point is on its surface.
fn expected(corners: [DVec3; 4], point: DVec3) -> Option<i32> {
    let whole = volume(corners);
    let parts = [0, 1, 2, 3].map(|corner| {
        let mut corners = corners;
        corners[corner] = point;
        volume(corners) * whole.signum()
    });
    let least = parts.into_iter().fold(f64::INFINITY, f64::min);
    if least > 0.0 {
        Some(whole.signum() as i32)
    } else {
        (least < 0.0).then_some(0)
    }
}

#[test]
fn winding_numbers_about_lattice_points_agree_with_volumes() {
    let mut random = Random::new(7);
    let mut inside = 0;
    for scale in [1.0, 1e-3, 1e9] {
        for _ in 0..60 {
            let mut place = || DVec3::from_array([0, 1, 2].map(|_| random.below(7) as f64));
            let mut bodies: Vec<[DVec3; 4]> = (0..4).map(|_| [0; 4].map(|_| place())).collect();
            bodies.retain(|corners| volume(*corners) != 0.0);
            let (features, positions) = tetrahedra(&bodies);
            let positions: Vec<DVec3> = positions.iter().map(|at| *at * scale).collect();
            let enclosure = Enclosure::new(&features, &positions, |_| true);
            for _ in 0..40 {
                let point = place();
                let wanted: Vec<Option<i32>> = bodies
                    .iter()
                    .map(|corners| expected(*corners, point))
                    .collect();
                let found = enclosure.winding_numbers(point * scale, None);
                // On a surface, any answer will do: the features touch.
                if wanted.contains(&None) {
                    continue;
                }
                let wanted = wanted.into_iter().flatten().enumerate();
                let wanted: Vec<(u32, i32)> = wanted
                    .filter(|(_, number)| *number != 0)
                    .map(|(part, number)| (part as u32, number))
                    .collect();
                inside += wanted.len();
                assert_eq!(found, wanted, "{point} in {bodies:?}");
            }
        }
    }
    assert!(inside > 100, "{inside}");
}

#[test]
fn open_surfaces_and_selected_out_parts_have_no_inside() {
    let corners = [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z].map(|at| at * 4.0);
    let (features, positions) = tetrahedra(&[corners]);
    let centre = DVec3::ONE * 0.5;
    let closed = Enclosure::new(&features, &positions, |_| true);
    assert_eq!(closed.winding_numbers(centre, None), [(0, 1)]);
    assert_eq!(closed.winding_numbers(DVec3::ONE * 4.0, None), []);
    assert_eq!(closed.winding_numbers(DVec3::NAN, None), []);
    assert!(Enclosure::new(&features, &positions, |_| false).is_empty());
    // A vertex is on the surface of its own part, which does not hide the other.
    let outer = corners.map(|at| at * 9.0 - 4.0);
    let (features, positions) = tetrahedra(&[corners, outer]);
    let nested = Enclosure::new(&features, &positions, |_| true);
    assert_eq!(nested.winding_numbers(corners[0], Some(0)), [(1, 1)]);
    assert_eq!(nested.winding_numbers(outer[0], Some(1)), []);
    let (features, positions) = tetrahedra(&[corners]);
    let mut triangles = features.triangles.clone();
    triangles.pop();
    let open = Features::new(vec![0; 4], features.parts.clone(), triangles, &[], &[]);
    assert!(Enclosure::new(&open, &positions, |_| true).is_empty());
    // One triangle turned over.
    let mut triangles = features.triangles.clone();
    triangles[0].swap(0, 1);
    let twisted = Features::new(vec![0; 4], features.parts, triangles, &[], &[]);
    assert!(Enclosure::new(&twisted, &positions, |_| true).is_empty());
}
