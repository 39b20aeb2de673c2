//! The surface of a mesh of tetrahedra, for formats that know only surfaces.

use super::ObjectTopology;

/// The triangles of an object that are to be seen: its own, and the boundary of its tetrahedra.
///
/// A boundary face that is among the object's own triangles already is not added again.
pub(super) fn visible_triangles(object: &ObjectTopology, points: &[[f64; 3]]) -> Vec<[u32; 3]> {
    let mut own: Vec<[u32; 3]> = object.triangles.iter().copied().map(sorted).collect();
    own.sort_unstable();
    let boundary = boundary_triangles(&object.tetrahedra, points);
    let added = boundary
        .into_iter()
        .filter(|&face| own.binary_search(&sorted(face)).is_err());
    object.triangles.iter().copied().chain(added).collect()
}

/// The faces that belong to one tetrahedron only, in the order of the tetrahedra, seen
/// counter-clockwise from outside.
///
/// Meshes come in both orientations, so that of each tetrahedron is taken from `points`.
fn boundary_triangles(tetrahedra: &[[u32; 4]], points: &[[f64; 3]]) -> Vec<[u32; 3]> {
    let faces: Vec<[u32; 3]> = tetrahedra
        .iter()
        .flat_map(|&tetrahedron| outward_faces(tetrahedron, points))
        .collect();
    let mut keys: Vec<([u32; 3], usize)> = faces
        .iter()
        .enumerate()
        .map(|(index, &face)| (sorted(face), index))
        .collect();
    keys.sort_unstable();
    let groups = keys.chunk_by(|first, second| first.0 == second.0);
    let mut single: Vec<usize> = groups
        .filter(|group| group.len() == 1)
        .map(|group| group[0].1)
        .collect();
    single.sort_unstable();
    single.into_iter().map(|index| faces[index]).collect()
}

fn outward_faces([a, b, c, d]: [u32; 4], points: &[[f64; 3]]) -> [[u32; 3]; 4] {
    let [p, q, r, s] = [a, b, c, d].map(|vertex| points[vertex as usize]);
    let is_inverted = triple_product(minus(q, p), minus(r, p), minus(s, p)) < 0.0;
    let (c, d) = if is_inverted { (d, c) } else { (c, d) };
    [[a, c, b], [a, b, d], [a, d, c], [b, c, d]]
}

fn minus(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

/// (a × b) · c
fn triple_product(a: [f64; 3], b: [f64; 3], c: [f64; 3]) -> f64 {
    (a[1] * b[2] - a[2] * b[1]) * c[0]
        + (a[2] * b[0] - a[0] * b[2]) * c[1]
        + (a[0] * b[1] - a[1] * b[0]) * c[2]
}

fn sorted(mut face: [u32; 3]) -> [u32; 3] {
    face.sort_unstable();
    face
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A unit cube as five tetrahedra; corner i has the coordinates given by the bits of i.
    fn cube() -> (Vec<[u32; 4]>, Vec<[f64; 3]>) {
        let corner = |i: u32| [0, 1, 2].map(|axis| f64::from(i >> axis & 1));
        let tetrahedra = vec![
            [0, 1, 2, 4],
            [1, 2, 4, 7],
            [3, 1, 2, 7],
            [5, 1, 4, 7],
            [6, 2, 4, 7],
        ];
        (tetrahedra, (0..8).map(corner).collect())
    }

    fn assert_is_outward_cube(faces: &[[u32; 3]], points: &[[f64; 3]]) {
        assert_eq!(faces.len(), 12);
        let mut volume = 0.0;
        for face in faces {
            let [a, b, c] = face.map(|vertex| minus(points[vertex as usize], [0.5; 3]));
            // Seen from the middle of the cube; negative if the triangle looks inwards.
            let part = triple_product(a, b, c) / 6.0;
            assert!(part > 0.0, "{face:?}");
            volume += part;
        }
        assert!((volume - 1.0_f64).abs() < 1e-14);
    }

    #[test]
    fn a_cube_has_twelve_outward_triangles() {
        let (tetrahedra, points) = cube();
        assert_is_outward_cube(&boundary_triangles(&tetrahedra, &points), &points);
    }

    #[test]
    fn the_orientation_of_the_tetrahedra_does_not_matter() {
        let (mut tetrahedra, points) = cube();
        for (index, tetrahedron) in tetrahedra.iter_mut().enumerate() {
            tetrahedron.swap(index % 3, 3);
        }
        assert_is_outward_cube(&boundary_triangles(&tetrahedra, &points), &points);
    }

    #[test]
    fn a_surface_that_is_given_is_not_repeated() {
        let (tetrahedra, points) = cube();
        let mut triangles = boundary_triangles(&tetrahedra, &points);
        for triangle in &mut triangles {
            triangle.rotate_left(1);
        }
        let object = ObjectTopology {
            triangles,
            tetrahedra,
            ..ObjectTopology::default()
        };
        assert_is_outward_cube(&visible_triangles(&object, &points), &points);
    }
}
