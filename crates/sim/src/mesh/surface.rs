//! Edges, hinges, areas and masses of a list of triangles.

use glam::DVec3;

/// Reason why a list of triangles is not a surface that can bend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MeshError {
    /// An edge where three or more sheets meet has no bending angle.
    #[error(
        "edge {}-{} is shared by {triangles} triangles; at most two may meet",
        edge[0],
        edge[1]
    )]
    NonManifoldEdge {
        /// The nodes of the edge, smaller first.
        edge: [u32; 2],
        /// Number of triangles with this edge.
        triangles: usize,
    },
    /// A triangle with a repeated node has no area.
    #[error("triangle {triangle} has node {node} twice")]
    RepeatedNode {
        /// Index of the triangle.
        triangle: usize,
        /// The node that it repeats.
        node: u32,
    },
}

/// One side of a triangle, with the direction of the triangle.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Side {
    /// The nodes of the edge, smaller first. The first field, so that sorting groups equal edges.
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
/// The triangle of the smaller index has `opposite0` and the direction from `edge0` to `edge1`, so
/// that on an oriented surface all bending angles have the same sign convention.
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

/// Lumped masses of the nodes (kg): each triangle adds a third of `area_density` (kg/m²) times its
/// area to each corner.
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

    #[test]
    fn the_error_of_a_nonmanifold_edge_names_it() {
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
    fn the_error_of_a_repeated_node_names_it() {
        let error = interior_hinges(&[[0, 1, 2], [3, 1, 3]]).unwrap_err();
        assert_eq!(
            error,
            MeshError::RepeatedNode {
                triangle: 1,
                node: 3
            }
        );
    }
}
