//! Boxes and beams of tetrahedra.
//!
//! A box is a grid of cells, each divided into tetrahedra such that neighbours have the same
//! diagonals on their common faces.

use glam::DVec3;

use super::size::{SizeError, check_count, check_lengths, divisions};
use crate::mesh::boundary::boundary_triangles;
use crate::mesh::{Group, Mesh};

/// Subdivision of the cells of a box into tetrahedra.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cut {
    /// Six tetrahedra around a diagonal of the cell (Kuhn, Some combinatorial lemmas in topology,
    /// 1960). All cells are equal, so this direction is preferred.
    Six,
    /// Five tetrahedra: in a cube, a regular one in the middle and one at each of the four other
    /// corners. Cells are mirrored in a checkerboard pattern, so that no direction is preferred.
    #[default]
    Five,
}

/// A box centred at the origin.
///
/// Groups: "left", "right" (least and largest x), "front", "back" (least and largest y), "bottom",
/// "top" (least and largest z).
///
/// `size` is in metres; `cells` is the number of cells along x, y and z, at least one. Vertices are
/// numbered along x first, then y, then z.
///
/// # Errors
/// If a length is not positive and finite, or there are too many vertices.
pub fn cuboid(size: [f64; 3], cells: [usize; 3], cut: Cut) -> Result<Mesh, SizeError> {
    block(size, cells, cut, -0.5 * DVec3::from_array(size))
}

/// The number of vertices of a [`cuboid`].
#[must_use]
pub fn cuboid_vertex_estimate(cells: [usize; 3]) -> f64 {
    cells
        .map(|count| count.max(1) as f64 + 1.0)
        .iter()
        .product()
}

/// A beam from x = 0 to x = `length`, its section centred in y and z.
///
/// `section` is its size along y and z in metres. `cells_across` is the number of cells across the
/// smaller of the two, at least one; the numbers in the other directions make cells about cubic.
///
/// Groups: those of a [`cuboid`].
///
/// # Errors
/// If a length is not positive and finite, or there are too many vertices.
pub fn beam(
    length: f64,
    section: [f64; 2],
    cells_across: usize,
    cut: Cut,
) -> Result<Mesh, SizeError> {
    let [width, height] = section;
    check_lengths(&[("length", length), ("width", width), ("height", height)])?;
    check_count(beam_vertex_estimate(length, section, cells_across))?;
    let cells = beam_cells(length, section, cells_across).map(|count| count as usize);
    let lowest = DVec3::new(0.0, -0.5 * width, -0.5 * height);
    block([length, width, height], cells, cut, lowest)
}

/// The number of vertices of a [`beam`].
#[must_use]
pub fn beam_vertex_estimate(length: f64, section: [f64; 2], cells_across: usize) -> f64 {
    let cells = beam_cells(length, section, cells_across);
    cells.map(|count| count + 1.0).iter().product()
}

fn beam_cells(length: f64, [width, height]: [f64; 2], cells_across: usize) -> [f64; 3] {
    let edge = width.min(height) / cells_across.max(1) as f64;
    [length, width, height].map(|side| divisions(side, edge, 1.0))
}

/// A box from its corner of least coordinates.
fn block(size: [f64; 3], cells: [usize; 3], cut: Cut, lowest: DVec3) -> Result<Mesh, SizeError> {
    check_lengths(&[
        ("the size along x", size[0]),
        ("the size along y", size[1]),
        ("the size along z", size[2]),
    ])?;
    check_count(cuboid_vertex_estimate(cells))?;
    let cells = cells.map(|count| count.max(1));
    let counts = cells.map(|count| count + 1);
    let size = DVec3::from_array(size);
    let fraction = |index: [usize; 3]| {
        DVec3::from([0, 1, 2].map(|axis| index[axis] as f64 / cells[axis] as f64))
    };
    let points: Vec<DVec3> = indices(counts)
        .map(|index| lowest + size * fraction(index))
        .collect();
    let strides = [1, counts[0], counts[0] * counts[1]];
    let mut tetrahedra = Vec::new();
    for index in indices(cells) {
        let first: usize = (0..3).map(|axis| index[axis] * strides[axis]).sum();
        // The bits of a corner's number are its coordinates in the cell.
        let vertex = |corner: usize| {
            (first
                + (0..3)
                    .map(|axis| (corner >> axis & 1) * strides[axis])
                    .sum::<usize>()) as u32
        };
        match cut {
            Cut::Six => tetrahedra.extend(SIX_TETRAHEDRA.map(|corners| corners.map(vertex))),
            Cut::Five => {
                let mirrored = index.iter().sum::<usize>() % 2 == 1;
                tetrahedra.extend(FIVE_TETRAHEDRA.map(|[a, b, c, d]| {
                    if mirrored {
                        [a, b, d, c].map(|corner| vertex(corner ^ 1))
                    } else {
                        [a, b, c, d].map(vertex)
                    }
                }));
            }
        }
    }
    Ok(Mesh {
        triangles: boundary_triangles(&tetrahedra, |vertex| points[vertex as usize]),
        points,
        tetrahedra,
        groups: sides(counts),
        ..Mesh::default()
    })
}

/// The paths along edges from corner 0 to corner 7, one for each order of the axes.
const SIX_TETRAHEDRA: [[usize; 4]; 6] = [
    [0, 1, 3, 7],
    [0, 2, 6, 7],
    [0, 4, 5, 7],
    [0, 3, 2, 7],
    [0, 6, 4, 7],
    [0, 5, 1, 7],
];

/// A tetrahedron in the middle, and those at the corners 0, 3, 5 and 6.
const FIVE_TETRAHEDRA: [[usize; 4]; 5] = [
    [1, 2, 4, 7],
    [0, 1, 2, 4],
    [3, 2, 1, 7],
    [5, 4, 7, 1],
    [6, 7, 4, 2],
];

/// All triples of indices below the counts; the first index varies fastest.
fn indices([x, y, z]: [usize; 3]) -> impl Iterator<Item = [usize; 3]> {
    (0..z).flat_map(move |k| (0..y).flat_map(move |j| (0..x).map(move |i| [i, j, k])))
}

fn sides(counts: [usize; 3]) -> Vec<Group> {
    let names = [["left", "right"], ["front", "back"], ["bottom", "top"]];
    let mut groups = Vec::with_capacity(6);
    for axis in 0..3 {
        for (name, side) in names[axis].into_iter().zip([0, counts[axis] - 1]) {
            let vertices = indices(counts)
                .zip(0..)
                .filter(|(index, _)| index[axis] == side);
            groups.push(Group::new(
                name,
                vertices.map(|(_, vertex)| vertex).collect(),
            ));
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::check::{boundary_vertices, check_solid, group};
    use proptest::prelude::*;

    #[test]
    fn cubes_have_their_volume_and_the_analytic_quality() {
        // A tetrahedron along three edges has the inscribed radius 1/(2 + 2√2) and the
        // circumscribed radius √3/2.
        let six = 6.0 / ((2.0 + 8f64.sqrt()) * 3f64.sqrt());
        // A corner of a cube has 1/(3 + √3) and √3/2.
        let five = 6.0 / ((3.0 + 3f64.sqrt()) * 3f64.sqrt());
        for (cut, per_cell, quality, dihedral) in
            [(Cut::Six, 6, six, 45.0), (Cut::Five, 5, five, 54.7)]
        {
            for count in [1, 2, 5] {
                let mesh = cuboid([2.0; 3], [count; 3], cut).unwrap();
                let measured = check_solid(&mesh, 2);
                assert!((measured.volume - 8.0).abs() < 1e-12);
                assert!((measured.quality - quality).abs() < 1e-9, "{measured:?}");
                assert!(measured.dihedral > dihedral - 1e-6, "{measured:?}");
                assert_eq!(mesh.tetrahedra.len(), per_cell * count.pow(3));
                assert_eq!(mesh.triangles.len(), 12 * count.pow(2));
                assert_eq!(mesh.points.len() as f64, cuboid_vertex_estimate([count; 3]));
            }
        }
    }

    #[test]
    fn the_sides_of_a_box_are_its_groups() {
        let mesh = cuboid([2.0, 4.0, 6.0], [2, 3, 4], Cut::Five).unwrap();
        let names = [["left", "right"], ["front", "back"], ["bottom", "top"]];
        let mut all = Vec::new();
        for axis in 0..3 {
            for (name, sign) in names[axis].iter().zip([-1.0, 1.0]) {
                let vertices = group(&mesh, name);
                let far = |vertex: &u32| {
                    mesh.points[*vertex as usize][axis] == sign * (axis as f64 + 1.0)
                };
                assert!(vertices.iter().all(far));
                assert_eq!(vertices.len(), 60 / [3, 4, 5][axis]);
                all.extend_from_slice(vertices);
            }
        }
        all.sort_unstable();
        all.dedup();
        assert_eq!(all, boundary_vertices(&mesh));
    }

    #[test]
    fn a_beam_starts_at_zero_and_has_cubic_cells() {
        let mesh = beam(1.0, [0.1, 0.2], 2, Cut::Six).unwrap();
        assert_eq!(mesh.points.len(), 21 * 3 * 5);
        assert_eq!(beam_vertex_estimate(1.0, [0.1, 0.2], 2), 21.0 * 3.0 * 5.0);
        assert!((check_solid(&mesh, 2).volume - 0.02).abs() < 1e-14);
        assert_eq!(
            mesh.points[group(&mesh, "left")[0] as usize],
            DVec3::new(0.0, -0.05, -0.1)
        );
        assert_eq!(mesh.points[group(&mesh, "right")[0] as usize].x, 1.0);
    }

    #[test]
    fn invalid_sizes_are_refused() {
        assert!(cuboid([1.0, 0.0, 1.0], [1; 3], Cut::Six).is_err());
        assert!(cuboid([1.0; 3], [usize::MAX; 3], Cut::Six).is_err());
        assert!(beam(1e300, [1e-300, 1.0], 3, Cut::Six).is_err());
        assert!(beam(f64::NAN, [1.0, 1.0], 3, Cut::Six).is_err());
        assert_eq!(beam_vertex_estimate(1e300, [1e-300, 1.0], 3), f64::INFINITY);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn any_box_is_a_solid(cells in [0usize..6, 0usize..6, 0usize..6], five in any::<bool>()) {
            let cut = if five { Cut::Five } else { Cut::Six };
            let measured = check_solid(&cuboid([1.0, 2.0, 3.0], cells, cut).unwrap(), 2);
            prop_assert!((measured.volume - 6.0).abs() < 1e-12);
        }
    }
}
