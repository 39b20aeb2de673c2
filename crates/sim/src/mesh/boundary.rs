//! The surface of a mesh of tetrahedra.

use glam::DVec3;

/// The faces of exactly one tetrahedron, in the order of the tetrahedra, counter-clockwise seen
/// from outside.
///
/// Tetrahedra may have either orientation; it is computed from the positions `point`.
#[must_use]
pub fn boundary_triangles(tetrahedra: &[[u32; 4]], point: impl Fn(u32) -> DVec3) -> Vec<[u32; 3]> {
    let faces: Vec<[u32; 3]> = tetrahedra
        .iter()
        .flat_map(|&tetrahedron| outward_faces(tetrahedron, &point))
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

fn outward_faces([a, b, c, d]: [u32; 4], point: &impl Fn(u32) -> DVec3) -> [[u32; 3]; 4] {
    let [p, q, r, s] = [a, b, c, d].map(point);
    let is_inverted = (q - p).cross(r - p).dot(s - p) < 0.0;
    let (c, d) = if is_inverted { (d, c) } else { (c, d) };
    [[a, c, b], [a, b, d], [a, d, c], [b, c, d]]
}

fn sorted(mut face: [u32; 3]) -> [u32; 3] {
    face.sort_unstable();
    face
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A unit cube as five tetrahedra; corner i has the coordinates given by the bits of i.
    fn cube() -> Vec<[u32; 4]> {
        vec![
            [0, 1, 2, 4],
            [1, 2, 4, 7],
            [3, 1, 2, 7],
            [5, 1, 4, 7],
            [6, 2, 4, 7],
        ]
    }

    fn corner(vertex: u32) -> DVec3 {
        DVec3::from([0, 1, 2].map(|axis| f64::from(vertex >> axis & 1)))
    }

    fn assert_is_outward_cube(faces: &[[u32; 3]]) {
        assert_eq!(faces.len(), 12);
        let mut volume = 0.0;
        for face in faces {
            let [a, b, c] = face.map(|vertex| corner(vertex) - DVec3::splat(0.5));
            // Volume of the tetrahedron with the centre; negative if the normal points inwards.
            let part = a.cross(b).dot(c) / 6.0;
            assert!(part > 0.0, "{face:?}");
            volume += part;
        }
        assert!((volume - 1.0_f64).abs() < 1e-14);
    }

    #[test]
    fn a_cube_has_twelve_outward_triangles() {
        assert_is_outward_cube(&boundary_triangles(&cube(), corner));
    }

    #[test]
    fn the_boundary_does_not_depend_on_the_orientation_of_the_tetrahedra() {
        let mut tetrahedra = cube();
        for (index, tetrahedron) in tetrahedra.iter_mut().enumerate() {
            tetrahedron.swap(index % 3, 3);
        }
        assert_is_outward_cube(&boundary_triangles(&tetrahedra, corner));
    }
}
