//! Sheets of triangles in the plane z = 0: rectangles, strips and discs.

use glam::DVec3;

use crate::mesh::{Group, Mesh};

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
/// Groups: "left", "right", "bottom", "top", "corners".
///
/// `size` is in metres along x (warp) and y (weft); `vertices` counts the nodes along each, where fewer than two
/// count as two. Node (i, j) has the index j · `vertices[0]` + i.
#[must_use]
pub fn grid(size: [f64; 2], vertices: [usize; 2], diagonal: Diagonal) -> Mesh {
    let [columns, rows] = vertices.map(|count| count.max(2));
    let fraction = |index: usize, count: usize| index as f64 / (count - 1) as f64 - 0.5;
    let mut points = Vec::with_capacity(columns * rows);
    for j in 0..rows {
        for i in 0..columns {
            points.push(DVec3::new(
                size[0] * fraction(i, columns),
                size[1] * fraction(j, rows),
                0.0,
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
    Mesh {
        points,
        triangles,
        groups: grid_groups(columns as u32, rows as u32),
        ..Mesh::default()
    }
}

/// The sides and corners of a grid.
fn grid_groups(columns: u32, rows: u32) -> Vec<Group> {
    let last_row = (rows - 1) * columns;
    let corners = vec![0, columns - 1, last_row, last_row + columns - 1];
    vec![
        Group::new("left", (0..rows).map(|row| row * columns).collect()),
        Group::new("right", (1..=rows).map(|row| row * columns - 1).collect()),
        Group::new("bottom", (0..columns).collect()),
        Group::new("top", (last_row..last_row + columns).collect()),
        Group::new("corners", corners),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::surface::{areas, interior_hinges, lumped_masses, unique_edges};

    const DIAGONALS: [Diagonal; 2] = [Diagonal::Right, Diagonal::Alternating];

    #[test]
    fn a_grid_is_a_disc_with_the_right_counts() {
        for diagonal in DIAGONALS {
            let mesh = grid([2.0, 1.0], [7, 4], diagonal);
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
            let mesh = grid([2.0, 1.0], [7, 4], diagonal);
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
            let mesh = grid([2.0, 1.0], [5, 6], diagonal);
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
    fn the_smallest_grid_is_one_cell() {
        let mesh = grid([1.0, 1.0], [0, 1], Diagonal::Right);
        assert_eq!((mesh.points.len(), mesh.triangles.len()), (4, 2));
        assert!(mesh.points.iter().all(|point| point.is_finite()));
    }
}
