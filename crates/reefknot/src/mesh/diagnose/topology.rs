//! What is wrong with how elements hang together.

use super::elements::middle;
use super::{DefectKind, Findings, Use};
use crate::mesh::Mesh;

/// Notes edges of one or of too many triangles, neighbours that look to opposite sides, and vertices that hold together
/// what no edge does.
pub(super) fn surface(
    mesh: &Mesh,
    triangles: &[(usize, [u32; 3])],
    use_as: Use,
    findings: &mut Findings,
) {
    // Corner 3 t + c is also the side from corner c to the next.
    let corner = |corner: u32| triangles[corner as usize / 3].1[corner as usize % 3];
    let next = |corner: u32| {
        if corner % 3 == 2 {
            corner - 2
        } else {
            corner + 1
        }
    };
    let ends = |side: u32| [corner(side), corner(next(side))];
    let mut sides: Vec<([u32; 2], u32)> = (0..3 * triangles.len() as u32)
        .map(|side| {
            let [from, to] = ends(side);
            ([from.min(to), from.max(to)], side)
        })
        .collect();
    sides.sort_unstable();
    let mut fans = Sets::new(sides.len());
    for shared in sides.chunk_by(|one, other| one.0 == other.0) {
        let (edge, first) = shared[0];
        let name = || (format!("edge {}-{}", edge[0], edge[1]), middle(mesh, &edge));
        match shared {
            [_] if use_as == Use::Collider => findings.note(DefectKind::OpenBoundary, name),
            [_] => {}
            [_, (_, second)] if ends(first) == ends(*second) => {
                let [first, second] = [first, *second].map(|side| triangles[side as usize / 3].0);
                findings.note(DefectKind::OpposedNeighbours, || {
                    (
                        format!("triangles {first} and {second}"),
                        middle(mesh, &edge),
                    )
                });
            }
            [_, _] => {}
            _ => findings.note(DefectKind::NonManifoldEdge, name),
        }
        for &(_, other) in &shared[1..] {
            let [one_start, one_end] = [first, next(first)];
            let [other_start, other_end] = [other, next(other)];
            if corner(one_start) == corner(other_start) {
                fans.join(one_start, other_start);
                fans.join(one_end, other_end);
            } else {
                fans.join(one_start, other_end);
                fans.join(one_end, other_start);
            }
        }
    }
    let mut fan_of = vec![u32::MAX; mesh.points.len()];
    let mut is_split = vec![false; mesh.points.len()];
    for index in 0..sides.len() as u32 {
        let (vertex, fan) = (corner(index) as usize, fans.find(index));
        is_split[vertex] |= fan_of[vertex] != u32::MAX && fan_of[vertex] != fan;
        fan_of[vertex] = fan;
    }
    for vertex in (0..is_split.len()).filter(|vertex| is_split[*vertex]) {
        findings.note(DefectKind::NonManifoldVertex, || {
            (format!("vertex {vertex}"), mesh.points[vertex])
        });
    }
}

/// Notes faces of too many tetrahedra.
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
            findings.note(DefectKind::CrowdedFace, || {
                (format!("face {a}-{b}-{c}"), middle(mesh, &shared[0]))
            });
        }
    }
}

/// Disjoint sets, each known by its smallest member.
struct Sets(Vec<u32>);

impl Sets {
    fn new(count: usize) -> Sets {
        Sets((0..count as u32).collect())
    }

    fn find(&mut self, mut member: u32) -> u32 {
        loop {
            let parent = self.0[member as usize];
            if parent == member {
                return member;
            }
            let above = self.0[parent as usize];
            self.0[member as usize] = above;
            member = above;
        }
    }

    fn join(&mut self, one: u32, other: u32) {
        let (one, other) = (self.find(one), self.find(other));
        self.0[one.max(other) as usize] = one.min(other);
    }
}
