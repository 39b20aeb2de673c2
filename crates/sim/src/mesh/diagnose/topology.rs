//! Defects of the connectivity of elements.

use super::elements::centroid;
use super::{DefectKind, Findings, MeshUse};
use crate::mesh::Mesh;
use reefknot_contact::system::DisjointSets;

/// Corners of a list of triangles: corner 3 t + c is corner c of triangle t, and also the side from
/// there to the next corner.
#[derive(Clone, Copy)]
struct Corners<'a>(&'a [(usize, [u32; 3])]);

impl Corners<'_> {
    fn count(self) -> u32 {
        3 * self.0.len() as u32
    }

    fn vertex(self, corner: u32) -> u32 {
        self.0[corner as usize / 3].1[corner as usize % 3]
    }

    fn next(self, corner: u32) -> u32 {
        if corner % 3 == 2 {
            corner - 2
        } else {
            corner + 1
        }
    }

    /// First and last vertex of a side.
    fn ends(self, side: u32) -> [u32; 2] {
        [self.vertex(side), self.vertex(self.next(side))]
    }

    /// Index of the triangle in the mesh.
    fn triangle(self, corner: u32) -> usize {
        self.0[corner as usize / 3].0
    }
}

/// Finds boundary edges (for colliders), edges and vertices that are not manifold, and triangles of
/// inconsistent orientation.
pub(super) fn surface(
    mesh: &Mesh,
    triangles: &[(usize, [u32; 3])],
    use_as: MeshUse,
    findings: &mut Findings,
) {
    let corners = Corners(triangles);
    let mut sides: Vec<([u32; 2], u32)> = (0..corners.count())
        .map(|side| {
            let [from, to] = corners.ends(side);
            ([from.min(to), from.max(to)], side)
        })
        .collect();
    sides.sort_unstable();
    let mut fans = DisjointSets::new(sides.len());
    for shared in sides.chunk_by(|one, other| one.0 == other.0) {
        let (edge, first) = shared[0];
        let name = || {
            let [a, b] = edge;
            (format!("edge {a}-{b}"), centroid(mesh, &edge))
        };
        match shared {
            [_] if use_as == MeshUse::Collider => findings.note(DefectKind::OpenBoundary, name),
            [_] => {}
            [_, (_, second)] if corners.ends(first) == corners.ends(*second) => {
                let [first, second] = [first, *second].map(|side| corners.triangle(side));
                findings.note(DefectKind::InconsistentOrientation, || {
                    (
                        format!("triangles {first} and {second}"),
                        centroid(mesh, &edge),
                    )
                });
            }
            [_, _] => {}
            _ => findings.note(DefectKind::NonManifoldEdge, name),
        }
        for &(_, other) in &shared[1..] {
            join_along_side(&mut fans, corners, first, other);
        }
    }
    find_split_vertices(mesh, corners, &mut fans, findings);
}

/// Joins the fans at both ends of an edge, which is a side of two triangles.
fn join_along_side(fans: &mut DisjointSets, corners: Corners<'_>, one: u32, other: u32) {
    let [one_start, one_end] = [one, corners.next(one)];
    let [other_start, other_end] = [other, corners.next(other)];
    if corners.vertex(one_start) == corners.vertex(other_start) {
        fans.join(one_start, other_start);
        fans.join(one_end, other_end);
    } else {
        fans.join(one_start, other_end);
        fans.join(one_end, other_start);
    }
}

/// Finds vertices with more than one fan of triangles.
fn find_split_vertices(
    mesh: &Mesh,
    corners: Corners<'_>,
    fans: &mut DisjointSets,
    findings: &mut Findings,
) {
    let mut fan_of = vec![u32::MAX; mesh.points.len()];
    let mut is_split = vec![false; mesh.points.len()];
    for index in 0..corners.count() {
        let (vertex, fan) = (corners.vertex(index) as usize, fans.find(index));
        is_split[vertex] |= fan_of[vertex] != u32::MAX && fan_of[vertex] != fan;
        fan_of[vertex] = fan;
    }
    for vertex in (0..is_split.len()).filter(|vertex| is_split[*vertex]) {
        findings.note(DefectKind::NonManifoldVertex, || {
            (format!("vertex {vertex}"), mesh.points[vertex])
        });
    }
}

/// Finds faces of more than two tetrahedra.
pub(super) fn solid(mesh: &Mesh, tetrahedra: &[(usize, [u32; 4])], findings: &mut Findings) {
    let mut faces: Vec<[u32; 3]> = Vec::with_capacity(4 * tetrahedra.len());
    for (_, corners) in tetrahedra {
        let mut corners = *corners;
        corners.sort_unstable();
        let [a, b, c, d] = corners;
        faces.extend([[a, b, c], [a, b, d], [a, c, d], [b, c, d]]);
    }
    faces.sort_unstable();
    for shared in faces.chunk_by(|one, other| one == other) {
        if shared.len() > 2 {
            let [a, b, c] = shared[0];
            findings.note(DefectKind::NonManifoldFace, || {
                (format!("face {a}-{b}-{c}"), centroid(mesh, &shared[0]))
            });
        }
    }
}
