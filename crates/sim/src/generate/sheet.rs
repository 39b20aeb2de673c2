//! Sheets of triangles in the plane z = 0: rectangles, strips and discs.

use std::f64::consts::TAU;

use glam::{DVec2, DVec3};

use super::size::{SizeError, check_count, check_lengths, divisions};
use super::unstructured::{SheetLayout, irregular};
use crate::mesh::{Group, Mesh};
use crate::random::Random;

/// Triangulation of a rectangle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cells {
    /// A grid with all diagonals from the lower left to the upper right.
    Right,
    /// A grid with opposite diagonals in neighbouring cells, so that neither direction is
    /// preferred.
    #[default]
    Alternating,
    /// Irregular triangles without preferred direction, with the number of vertices and the
    /// boundary of the grid.
    Unstructured,
}

/// A rectangle of cloth in the plane z = 0, centred at the origin, with its normals along z.
///
/// Groups: "left", "right", "bottom", "top", "corners".
///
/// `size` is in metres along x (warp) and y (weft); `vertices` is the number of nodes along each,
/// at least two. Node (i, j) has the index j · `vertices[0]` + i, also for unstructured cells,
/// whose interior nodes are only near the grid points.
#[must_use]
pub fn grid(size: [f64; 2], vertices: [usize; 2], cells: Cells) -> Mesh {
    let counts @ [columns, rows] = vertices.map(|count| count.max(2));
    let layout = match cells {
        Cells::Right => regular(counts, |_, _| true),
        Cells::Alternating => regular(counts, |i, j| (i + j) % 2 == 0),
        Cells::Unstructured => {
            let aspect = size[0] / (columns - 1) as f64 * (rows - 1) as f64 / size[1];
            irregular(counts, aspect).unwrap_or_else(|| {
                let mut random = Random::new(0x5eed);
                regular(counts, |_, _| random.below(2) == 0)
            })
        }
    };
    let coordinate =
        |size: f64, place: f64, count: usize| size * (place / (count - 1) as f64 - 0.5);
    let point = |place: &DVec2| {
        DVec3::new(
            coordinate(size[0], place.x, columns),
            coordinate(size[1], place.y, rows),
            0.0,
        )
    };
    Mesh {
        points: layout.places.iter().map(point).collect(),
        triangles: layout.triangles,
        groups: grid_groups(columns as u32, rows as u32),
        ..Mesh::default()
    }
}

/// A grid whose cell (i, j) has the diagonal from the lower left to the upper right if it `rises`,
/// else the other one.
fn regular(
    [columns, rows]: [usize; 2],
    mut rises: impl FnMut(usize, usize) -> bool,
) -> SheetLayout {
    let places = (0..rows).flat_map(|j| (0..columns).map(move |i| DVec2::new(i as f64, j as f64)));
    let mut triangles = Vec::with_capacity(2 * (columns - 1) * (rows - 1));
    for j in 0..rows - 1 {
        for i in 0..columns - 1 {
            let lower_left = (j * columns + i) as u32;
            let lower_right = lower_left + 1;
            let upper_left = lower_left + columns as u32;
            let upper_right = upper_left + 1;
            if rises(i, j) {
                triangles.push([lower_left, lower_right, upper_right]);
                triangles.push([lower_left, upper_right, upper_left]);
            } else {
                triangles.push([lower_left, lower_right, upper_left]);
                triangles.push([lower_right, upper_right, upper_left]);
            }
        }
    }
    SheetLayout {
        places: places.collect(),
        triangles,
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

/// A strip along x: a [`grid`] with `segments` cells along its length, and about square cells.
///
/// Groups: as of a grid; "left" and "right" are its ends.
///
/// # Errors
/// If a length is not positive and finite, or there are too many vertices.
pub fn strip(length: f64, width: f64, segments: usize, cells: Cells) -> Result<Mesh, SizeError> {
    check_lengths(&[("length", length), ("width", width)])?;
    check_count(strip_vertex_estimate(length, width, segments))?;
    let across = strip_cells_across(length, width, segments) as usize;
    Ok(grid(
        [length, width],
        [segments.max(1) + 1, across + 1],
        cells,
    ))
}

/// The number of vertices of a [`strip`].
#[must_use]
pub fn strip_vertex_estimate(length: f64, width: f64, segments: usize) -> f64 {
    (segments.max(1) as f64 + 1.0) * (strip_cells_across(length, width, segments) + 1.0)
}

fn strip_cells_across(length: f64, width: f64, segments: usize) -> f64 {
    divisions(width, length / segments.max(1) as f64, 1.0)
}

/// A disc in the plane z = 0 around the origin, with its normals along z and edges of about the
/// length `edge`.
///
/// Rings of 6, 12, 18, … vertices lie around the one in the centre; no angle is below 40°.
///
/// Groups: "rim" (on the circle), "centre".
///
/// # Errors
/// If a length is not positive and finite, or there are too many vertices.
pub fn disc(radius: f64, edge: f64) -> Result<Mesh, SizeError> {
    check_lengths(&[("radius", radius), ("edge", edge)])?;
    check_count(disc_vertex_estimate(radius, edge))?;
    let rings = disc_rings(radius, edge) as usize;
    let layout = disc_layout(rings);
    let count = layout.places.len() as u32;
    let point = |place: DVec2| (radius * place).extend(0.0);
    Ok(Mesh {
        points: layout.places.into_iter().map(point).collect(),
        triangles: layout.triangles,
        groups: vec![
            Group::new("rim", (count - 6 * rings as u32..count).collect()),
            Group::new("centre", vec![0]),
        ],
        ..Mesh::default()
    })
}

/// The number of vertices of a [`disc`].
#[must_use]
pub fn disc_vertex_estimate(radius: f64, edge: f64) -> f64 {
    let rings = disc_rings(radius, edge);
    1.0 + 3.0 * rings * (rings + 1.0)
}

/// The number of rings around the centre of a [`disc`]; the outermost is its rim.
pub(super) fn disc_rings(radius: f64, edge: f64) -> f64 {
    divisions(radius, edge, 1.0)
}

/// A disc of radius 1 with at least one ring. Vertices count from the centre to the rim.
///
/// Each sixth is a part of a regular triangular lattice, bent such that its rows are on circles.
pub(super) fn disc_layout(rings: usize) -> SheetLayout {
    let mut places = vec![DVec2::ZERO];
    for ring in 1..=rings {
        for step in 0..6 * ring {
            let (sine, cosine) = (TAU * step as f64 / (6 * ring) as f64).sin_cos();
            places.push(DVec2::new(cosine, sine) * (ring as f64 / rings as f64));
        }
    }
    let vertex = |ring: usize, step: usize| match ring {
        0 => 0,
        _ => (1 + 3 * ring * (ring - 1) + step % (6 * ring)) as u32,
    };
    let mut triangles = Vec::with_capacity(6 * rings * rings);
    for ring in 0..rings {
        for sixth in 0..6 {
            let inner = |step: usize| vertex(ring, sixth * ring + step);
            let outer = |step: usize| vertex(ring + 1, sixth * (ring + 1) + step);
            for step in 0..=ring {
                triangles.push([inner(step), outer(step), outer(step + 1)]);
                if step < ring {
                    triangles.push([inner(step), outer(step + 1), inner(step + 1)]);
                }
            }
        }
    }
    SheetLayout { places, triangles }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use super::*;
    use crate::mesh::surface::{areas, interior_hinges, lumped_masses, unique_edges};
    use proptest::prelude::*;

    const CELLS: [Cells; 3] = [Cells::Right, Cells::Alternating, Cells::Unstructured];

    #[test]
    fn a_grid_has_the_topology_of_a_disc() {
        for cells in CELLS {
            let mesh = grid([2.0, 1.0], [7, 4], cells);
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
        for cells in CELLS {
            let mesh = grid([2.0, 1.0], [7, 4], cells);
            let areas = areas(&mesh.points, &mesh.triangles);
            let masses = lumped_masses(mesh.points.len(), &mesh.triangles, &areas, 0.15);
            assert!((areas.iter().sum::<f64>() - 2.0).abs() < 1e-12);
            assert!((masses.iter().sum::<f64>() - 0.3).abs() < 1e-12);
        }
    }

    #[test]
    fn a_grid_is_centred() {
        for cells in [Cells::Right, Cells::Alternating] {
            let mesh = grid([2.0, 1.0], [7, 4], cells);
            assert!(mesh.points.iter().sum::<DVec3>().length() < 1e-12);
        }
    }

    #[test]
    fn triangles_and_hinges_have_a_consistent_orientation() {
        for cells in CELLS {
            let mesh = grid([2.0, 1.0], [5, 6], cells);
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
        for cells in CELLS {
            let mesh = grid([1.0, 1.0], [0, 1], cells);
            assert_eq!((mesh.points.len(), mesh.triangles.len()), (4, 2));
            assert!(mesh.points.iter().all(|point| point.is_finite()));
        }
    }

    #[test]
    fn an_unstructured_grid_has_the_boundary_and_the_groups_of_a_regular_one() {
        for (size, counts) in [
            ([2.0, 1.0], [21, 11]),
            ([1.0, 1e-3], [2, 200]),
            ([1.0, 1e-3], [5, 200]),
        ] {
            let [regular, irregular] =
                [Cells::Right, Cells::Unstructured].map(|cells| grid(size, counts, cells));
            assert_eq!(regular.groups, irregular.groups);
            for vertex in regular.groups.iter().flat_map(|group| &group.vertices) {
                let vertex = *vertex as usize;
                assert_eq!(regular.points[vertex], irregular.points[vertex]);
            }
        }
    }

    #[test]
    fn grids_without_interior_vertices_have_random_diagonals() {
        let mesh = grid([1.0, 1e-3], [2, 200], Cells::Unstructured);
        let rising = mesh
            .triangles
            .chunks(2)
            .filter(|pair| pair[0][0] == pair[1][0])
            .count();
        // Three standard deviations of 199 coin tosses.
        assert!(
            (rising as f64 - 99.5).abs() < 1.5 * 199f64.sqrt(),
            "{rising}"
        );
    }

    #[test]
    fn a_strip_has_square_cells() {
        let mesh = strip(1.0, 0.1, 40, Cells::Alternating).unwrap();
        assert_eq!(mesh.points.len(), 41 * 5);
        assert_eq!(strip_vertex_estimate(1.0, 0.1, 40), 41.0 * 5.0);
        let left = mesh
            .groups
            .iter()
            .find(|group| group.name == "left")
            .unwrap();
        assert!(
            left.vertices
                .iter()
                .all(|vertex| mesh.points[*vertex as usize].x == -0.5)
        );
        let thin = strip(1.0, 1e-4, 40, Cells::Unstructured).unwrap();
        assert_eq!(thin.points.len(), 41 * 2);
    }

    #[test]
    fn invalid_lengths_are_refused() {
        assert!(strip(1e-9, 1.0, 10, Cells::Right).is_err());
        assert!(strip(0.0, 1.0, 10, Cells::Right).is_err());
        assert!(disc(1.0, f64::NAN).is_err());
        assert!(disc(1.0, 1e-320).is_err());
    }

    #[test]
    fn a_disc_has_its_area_and_good_angles() {
        for (edge, tolerance) in [(0.5, 0.1), (0.1, 2.5e-3), (0.02, 1e-4)] {
            let mesh = disc(2.0, 2.0 * edge).unwrap();
            assert_eq!(
                mesh.points.len() as f64,
                disc_vertex_estimate(2.0, 2.0 * edge)
            );
            let area: f64 = areas(&mesh.points, &mesh.triangles).iter().sum();
            assert!((area / (4.0 * PI) - 1.0).abs() < tolerance);
            let edges = unique_edges(&mesh.triangles);
            assert_eq!(mesh.points.len() + mesh.triangles.len(), edges.len() + 1);
            for corners in &mesh.triangles {
                let points = corners.map(|corner| mesh.points[corner as usize].truncate());
                for corner in 0..3 {
                    let [a, b, c] = [0, 1, 2].map(|step| points[(corner + step) % 3]);
                    let angle = (b - a).angle_to(c - a).to_degrees();
                    assert!((40.0..95.0).contains(&angle), "{angle}°");
                }
            }
        }
    }

    #[test]
    fn the_rim_of_a_disc_is_its_boundary_and_on_the_circle() {
        let mesh = disc(0.3, 0.05).unwrap();
        let rim = &mesh.groups[0];
        assert_eq!((rim.name.as_str(), rim.vertices.len()), ("rim", 36));
        for vertex in &rim.vertices {
            assert!((mesh.points[*vertex as usize].length() / 0.3 - 1.0).abs() < 1e-15);
        }
        let hinges = interior_hinges(&mesh.triangles).unwrap();
        assert_eq!(unique_edges(&mesh.triangles).len(), hinges.len() + 36);
        assert_eq!(
            mesh.points[mesh.groups[1].vertices[0] as usize],
            DVec3::ZERO
        );
    }

    proptest! {
        #[test]
        fn any_grid_covers_its_rectangle(
            exponents in [-3.0..3.0f64, -3.0..3.0f64],
            counts in [2usize..30, 2usize..30],
            cells in 0usize..3,
        ) {
            let size = exponents.map(|exponent| 10f64.powf(exponent));
            let mesh = grid(size, counts, CELLS[cells]);
            prop_assert_eq!(mesh.points.len(), counts[0] * counts[1]);
            let mut area = 0.0;
            for corners in &mesh.triangles {
                let [a, b, c] = corners.map(|corner| mesh.points[corner as usize]);
                let part = 0.5 * (b - a).cross(c - a).z;
                prop_assert!(part > 0.0);
                area += part;
            }
            prop_assert!((area / (size[0] * size[1]) - 1.0).abs() < 1e-10);
            prop_assert!(interior_hinges(&mesh.triangles).is_ok());
        }
    }
}
