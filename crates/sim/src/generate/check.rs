//! Test helpers: invariants of generated solids.

use std::collections::BTreeMap;

use glam::DVec3;

use crate::mesh::Mesh;
use crate::mesh::surface::unique_edges;

/// Measurements of [`check_solid`].
#[derive(Debug)]
pub(super) struct Measured {
    /// The volume (m³).
    pub(super) volume: f64,
    /// The smallest of 3 · inscribed / circumscribed radius over the tetrahedra; 1 for a regular
    /// one.
    pub(super) quality: f64,
    /// The smallest angle between two faces of a tetrahedron (degrees).
    pub(super) dihedral: f64,
    /// The mean length of the edges of the boundary (m).
    pub(super) edge: f64,
}

/// Checks that a mesh is a solid: positive tetrahedra without gaps that use every vertex, and a
/// boundary that is a closed surface of the given Euler characteristic, outward, and around the
/// same volume.
pub(super) fn check_solid(mesh: &Mesh, characteristic: i64) -> Measured {
    let mut used = vec![false; mesh.points.len()];
    let mut measured = Measured {
        volume: 0.0,
        quality: f64::INFINITY,
        dihedral: 180.0,
        edge: 0.0,
    };
    for corners in &mesh.tetrahedra {
        let points = corners.map(|corner| mesh.points[corner as usize]);
        let volume = volume(points);
        assert!(volume > 0.0, "{corners:?} has the volume {volume}");
        measured.volume += volume;
        measured.quality = measured.quality.min(quality(points));
        measured.dihedral = measured.dihedral.min(smallest_dihedral(points));
        corners
            .iter()
            .for_each(|corner| used[*corner as usize] = true);
    }
    assert!(
        used.into_iter().all(|used| used),
        "a vertex without tetrahedron"
    );
    check_faces(mesh);
    check_closed_surface(&mesh.triangles, characteristic);
    let around: f64 = mesh
        .triangles
        .iter()
        .map(|corners| {
            let [a, b, c] = corners.map(|corner| mesh.points[corner as usize]);
            a.cross(b).dot(c) / 6.0
        })
        .sum();
    assert!((around / measured.volume - 1.0).abs() < 1e-10, "divergence");
    let edges = unique_edges(&mesh.triangles);
    let length = |[a, b]: &[u32; 2]| mesh.points[*a as usize].distance(mesh.points[*b as usize]);
    measured.edge = edges.iter().map(length).sum::<f64>() / edges.len() as f64;
    measured
}

/// Checks that every face belongs to two tetrahedra, or to one and the boundary.
fn check_faces(mesh: &Mesh) {
    let sorted = |mut corners: [u32; 3]| {
        corners.sort_unstable();
        corners
    };
    let faces = |&[a, b, c, d]: &[u32; 4]| [[a, b, c], [a, b, d], [a, c, d], [b, c, d]].map(sorted);
    let mut faces: Vec<_> = mesh.tetrahedra.iter().flat_map(faces).collect();
    faces.extend(mesh.triangles.iter().copied().map(sorted));
    faces.sort_unstable();
    assert!(
        faces
            .chunk_by(|first, second| first == second)
            .all(|shared| shared.len() == 2)
    );
}

/// Checks that every edge occurs once in each direction, the triangles around each vertex are one
/// fan, and vertices − edges + triangles is the given Euler characteristic.
fn check_closed_surface(triangles: &[[u32; 3]], characteristic: i64) {
    let mut next_around = BTreeMap::new();
    let mut degrees = BTreeMap::new();
    for corners in triangles {
        for corner in 0..3 {
            let [at, from, to] = [0, 1, 2].map(|step| corners[(corner + step) % 3]);
            let before = next_around.insert((at, from), to);
            assert_eq!(before, None, "an edge twice in one direction");
            *degrees.entry(at).or_insert(0) += 1;
        }
    }
    for (&at, &degree) in &degrees {
        let start = next_around.range((at, 0)..).next().unwrap().0.1;
        let (mut vertex, mut steps) = (start, 0);
        while steps == 0 || vertex != start {
            vertex = next_around[&(at, vertex)];
            steps += 1;
        }
        assert_eq!(steps, degree, "two fans meet at vertex {at}");
    }
    let edges = unique_edges(triangles).len() as i64;
    let found = degrees.len() as i64 - edges + triangles.len() as i64;
    assert_eq!(found, characteristic, "Euler characteristic");
}

/// The vertices of a group.
pub(super) fn group<'a>(mesh: &'a Mesh, name: &str) -> &'a [u32] {
    let group = mesh.groups.iter().find(|group| group.name == name);
    &group.unwrap_or_else(|| panic!("no group {name}")).vertices
}

/// The vertices of the boundary, ascending.
pub(super) fn boundary_vertices(mesh: &Mesh) -> Vec<u32> {
    let mut vertices: Vec<u32> = mesh.triangles.iter().flatten().copied().collect();
    vertices.sort_unstable();
    vertices.dedup();
    vertices
}

fn volume([a, b, c, d]: [DVec3; 4]) -> f64 {
    (b - a).cross(c - a).dot(d - a) / 6.0
}

fn quality(points: [DVec3; 4]) -> f64 {
    let [a, b, c, d] = points;
    let [u, v, w] = [b - a, c - a, d - a];
    let area = |u: DVec3, v: DVec3| 0.5 * u.cross(v).length();
    let areas = area(u, v) + area(v, w) + area(w, u) + area(v - u, w - u);
    let inscribed = 3.0 * volume(points) / areas;
    let numerator = u.length_squared() * v.cross(w)
        + v.length_squared() * w.cross(u)
        + w.length_squared() * u.cross(v);
    let circumscribed = numerator.length() / (12.0 * volume(points));
    3.0 * inscribed / circumscribed
}

fn smallest_dihedral([a, b, c, d]: [DVec3; 4]) -> f64 {
    // Outward normals; the angle between two faces is 180° minus that between their normals.
    let normals =
        [(a, c, b), (a, b, d), (a, d, c), (b, c, d)].map(|(p, q, r)| (q - p).cross(r - p));
    let mut smallest = 180.0f64;
    for i in 0..4 {
        for j in 0..i {
            smallest = smallest.min(180.0 - normals[i].angle_between(normals[j]).to_degrees());
        }
    }
    smallest
}

#[test]
fn a_regular_tetrahedron_has_quality_one() {
    let points = [
        [1.0, 1.0, 1.0],
        [-1.0, 1.0, -1.0],
        [1.0, -1.0, -1.0],
        [-1.0, -1.0, 1.0],
    ]
    .map(DVec3::from);
    assert!((volume(points) - 8.0 / 3.0).abs() < 1e-14);
    assert!((quality(points) - 1.0).abs() < 1e-14);
    assert!((smallest_dihedral(points) - (1.0f64 / 3.0).acos().to_degrees()).abs() < 1e-12);
}
