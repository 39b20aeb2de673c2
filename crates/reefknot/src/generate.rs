//! Meshes made from a few numbers, and what a triangle mesh says about itself: edges, hinges, areas and masses.
//!
//! Every list is sorted by node or triangle index, so the same mesh always gives the same lists.

use glam::{DVec2, DVec3};

/// A triangle mesh with the flat coordinates that its material was cut from.
#[derive(Clone, Debug, PartialEq)]
pub struct TriangleMesh {
    /// Positions in space (m).
    pub points: Vec<DVec3>,
    /// Rest coordinates of the points in the plane of the fabric (m): x along the warp, y along the weft.
    pub material: Vec<DVec2>,
    /// Corners of the triangles, counter-clockwise seen from the side of the normal.
    pub triangles: Vec<[u32; 3]>,
}

impl TriangleMesh {
    /// Rest coordinates of the corners of each triangle (m).
    pub fn rest_triangles(&self) -> Vec<[DVec2; 3]> {
        self.triangles
            .iter()
            .map(|corners| corners.map(|node| self.material[node as usize]))
            .collect()
    }
}

/// How the cells of a grid are cut into two triangles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Diagonal {
    /// Every diagonal runs from the lower left to the upper right.
    Right,
    /// Neighbouring cells have opposite diagonals, so that neither direction is preferred.
    #[default]
    Alternating,
}

/// A rectangle of cloth in the plane z = 0, centred at the origin, with its normals along z.
///
/// `size` is in metres along x (warp) and y (weft); `vertices` counts the nodes along each, where fewer than two
/// count as two. Node (i, j) has the index j · `vertices[0]` + i.
pub fn cloth_grid(size: [f64; 2], vertices: [usize; 2], diagonal: Diagonal) -> TriangleMesh {
    let [columns, rows] = vertices.map(|count| count.max(2));
    let fraction = |index: usize, count: usize| index as f64 / (count - 1) as f64 - 0.5;
    let mut material = Vec::with_capacity(columns * rows);
    for j in 0..rows {
        for i in 0..columns {
            material.push(DVec2::new(
                size[0] * fraction(i, columns),
                size[1] * fraction(j, rows),
            ));
        }
    }
    let mut triangles = Vec::with_capacity(2 * (columns - 1) * (rows - 1));
    for j in 0..rows - 1 {
        for i in 0..columns - 1 {
            let lower_left = (j * columns + i) as u32;
            let lower_right = lower_left + 1;
            let upper_left = lower_left + columns as u32;
            let upper_right = upper_left + 1;
            if diagonal == Diagonal::Right || (i + j) % 2 == 0 {
                triangles.push([lower_left, lower_right, upper_right]);
                triangles.push([lower_left, upper_right, upper_left]);
            } else {
                triangles.push([lower_left, lower_right, upper_left]);
                triangles.push([lower_right, upper_right, upper_left]);
            }
        }
    }
    TriangleMesh {
        points: material.iter().map(|rest| rest.extend(0.0)).collect(),
        material,
        triangles,
    }
}

/// Why a list of triangles is not a surface that can bend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MeshError {
    /// An edge where three or more sheets meet has no bending angle.
    #[error("edge {}-{} is shared by {triangles} triangles; at most two may meet", edge[0], edge[1])]
    NonManifoldEdge {
        /// The nodes of the edge, smaller first.
        edge: [u32; 2],
        /// How many triangles have this edge.
        triangles: usize,
    },
    /// A triangle that names a node twice has no area.
    #[error("triangle {triangle} has node {node} twice")]
    RepeatedNode {
        /// Index of the triangle.
        triangle: usize,
        /// The node that it repeats.
        node: u32,
    },
}

/// One side of a triangle, as the triangle runs along it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Side {
    /// The nodes of the edge, smaller first: first in the order, so that equal edges lie together when sorted.
    edge: [u32; 2],
    triangle: usize,
    from: u32,
    to: u32,
    opposite: u32,
}

fn sorted_sides(triangles: &[[u32; 3]]) -> Vec<Side> {
    let mut sides = Vec::with_capacity(3 * triangles.len());
    for (triangle, corners) in triangles.iter().enumerate() {
        for corner in 0..3 {
            let [from, to, opposite] = [0, 1, 2].map(|step| corners[(corner + step) % 3]);
            sides.push(Side {
                edge: [from.min(to), from.max(to)],
                triangle,
                from,
                to,
                opposite,
            });
        }
    }
    sides.sort_unstable();
    sides
}

/// The edges of a mesh, each once, smaller node first, sorted.
pub fn unique_edges(triangles: &[[u32; 3]]) -> Vec<[u32; 2]> {
    let mut edges: Vec<_> = sorted_sides(triangles)
        .iter()
        .map(|side| side.edge)
        .collect();
    edges.dedup();
    edges
}

/// The edges with a triangle on either side, as `[edge0, edge1, opposite0, opposite1]`.
///
/// The triangle of the smaller index has `opposite0` and runs from `edge0` to `edge1`, so on an oriented surface
/// every bending angle has the same sign for the same side of the surface.
pub fn interior_hinges(triangles: &[[u32; 3]]) -> Result<Vec<[u32; 4]>, MeshError> {
    let sides = sorted_sides(triangles);
    let mut hinges = Vec::new();
    for shared in sides.chunk_by(|one, other| one.edge == other.edge) {
        if let Some(side) = shared.iter().find(|side| side.from == side.to) {
            return Err(MeshError::RepeatedNode {
                triangle: side.triangle,
                node: side.from,
            });
        }
        match shared {
            [_] => {}
            [first, second] => hinges.push([first.from, first.to, first.opposite, second.opposite]),
            _ => {
                return Err(MeshError::NonManifoldEdge {
                    edge: shared[0].edge,
                    triangles: shared.len(),
                });
            }
        }
    }
    Ok(hinges)
}

/// Areas of the triangles (m²).
pub fn areas(points: &[DVec3], triangles: &[[u32; 3]]) -> Vec<f64> {
    let area = |corners: &[u32; 3]| {
        let [a, b, c] = corners.map(|node| points[node as usize]);
        0.5 * (b - a).cross(c - a).length()
    };
    triangles.iter().map(area).collect()
}

/// Masses of the nodes (kg) when each triangle gives a third of its `area_density` (kg/m²) times area to each corner.
pub fn lumped_masses(
    nodes: usize,
    triangles: &[[u32; 3]],
    areas: &[f64],
    area_density: f64,
) -> Vec<f64> {
    let mut masses = vec![0.0; nodes];
    for (corners, area) in triangles.iter().zip(areas) {
        for &node in corners {
            masses[node as usize] += area_density * area / 3.0;
        }
    }
    masses
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIAGONALS: [Diagonal; 2] = [Diagonal::Right, Diagonal::Alternating];

    #[test]
    fn a_grid_is_a_disc_with_the_right_counts() {
        for diagonal in DIAGONALS {
            let mesh = cloth_grid([2.0, 1.0], [7, 4], diagonal);
            let edges = unique_edges(&mesh.triangles);
            let hinges = interior_hinges(&mesh.triangles).unwrap();
            assert_eq!(mesh.points.len(), 28);
            assert_eq!(mesh.triangles.len(), 36);
            // Euler characteristic of a disc.
            assert_eq!(mesh.points.len() + mesh.triangles.len(), edges.len() + 1);
            // The boundary has 2 (6 + 3) edges.
            assert_eq!(hinges.len() + 18, edges.len());
        }
    }

    #[test]
    fn areas_and_masses_add_up() {
        for diagonal in DIAGONALS {
            let mesh = cloth_grid([2.0, 1.0], [7, 4], diagonal);
            let areas = areas(&mesh.points, &mesh.triangles);
            let masses = lumped_masses(mesh.points.len(), &mesh.triangles, &areas, 0.15);
            assert!((areas.iter().sum::<f64>() - 2.0).abs() < 1e-12);
            assert!((masses.iter().sum::<f64>() - 0.3).abs() < 1e-12);
            assert!(
                mesh.points.iter().sum::<DVec3>().length() < 1e-12,
                "not centred"
            );
        }
    }

    #[test]
    fn triangles_and_hinges_have_one_orientation() {
        for diagonal in DIAGONALS {
            let mesh = cloth_grid([2.0, 1.0], [5, 6], diagonal);
            for corners in &mesh.triangles {
                let [a, b, c] = corners.map(|node| mesh.points[node as usize]);
                assert!((b - a).cross(c - a).z > 0.0);
            }
            for hinge in interior_hinges(&mesh.triangles).unwrap() {
                let [a, b, left, right] = hinge.map(|node| mesh.points[node as usize]);
                assert!(
                    (b - a).cross(left - a).z > 0.0,
                    "the first opposite node lies to the left of the edge"
                );
                assert!((b - a).cross(right - a).z < 0.0, "the second to the right");
            }
        }
    }

    #[test]
    fn an_edge_of_three_sheets_is_named() {
        let error = interior_hinges(&[[0, 1, 2], [1, 0, 3], [0, 1, 4]]).unwrap_err();
        assert_eq!(
            error,
            MeshError::NonManifoldEdge {
                edge: [0, 1],
                triangles: 3
            }
        );
        assert_eq!(
            error.to_string(),
            "edge 0-1 is shared by 3 triangles; at most two may meet"
        );
    }

    #[test]
    fn a_repeated_node_is_named() {
        let error = interior_hinges(&[[0, 1, 2], [3, 1, 3]]).unwrap_err();
        assert_eq!(
            error,
            MeshError::RepeatedNode {
                triangle: 1,
                node: 3
            }
        );
    }

    #[test]
    fn the_smallest_grid_is_one_cell() {
        let mesh = cloth_grid([1.0, 1.0], [0, 1], Diagonal::Right);
        assert_eq!((mesh.points.len(), mesh.triangles.len()), (4, 2));
        assert!(mesh.points.iter().all(|point| point.is_finite()));
    }
}
