//! Surfaces of rectangular patches on a common grid, so that neighbours share their vertices.

use std::collections::BTreeMap;

use glam::DVec3;

use crate::mesh::Mesh;

/// A rectangle of grid cells. Its normal is the first axis × the second.
#[derive(Clone, Copy, Debug)]
struct Patch {
    corner: [f64; 3],
    axes: [usize; 2],
    cells: [f64; 2],
}

/// Rectangles on a grid.
///
/// Counts are whole numbers as `f64`, because an estimate must not overflow.
#[derive(Clone, Debug)]
pub(super) struct Patches {
    patches: Vec<Patch>,
    /// The grid point 0, 0, 0 (m).
    origin: DVec3,
    /// Sides of a grid cell (m).
    cell: DVec3,
    is_closed: bool,
}

/// Number of cells along a length.
pub(super) fn cells(length: f64, edge: Option<f64>) -> f64 {
    edge.map_or(1.0, |edge| (length / edge).ceil().max(1.0))
}

impl Patches {
    /// A square in z = 0, centred at the origin.
    pub(super) fn square(size: f64, edge: Option<f64>) -> Patches {
        let count = cells(size, edge);
        let patch = Patch {
            corner: [0.0; 3],
            axes: [0, 1],
            cells: [count, count],
        };
        Patches {
            patches: vec![patch],
            origin: DVec3::new(-0.5 * size, -0.5 * size, 0.0),
            cell: DVec3::splat(size / count),
            is_closed: false,
        }
    }

    /// A box centred at the origin.
    pub(super) fn cuboid(size: [f64; 3], edge: Option<f64>) -> Patches {
        let counts = size.map(|side| cells(side, edge));
        let mut patches = Vec::new();
        for axis in 0..3 {
            let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
            let mut far = [0.0; 3];
            far[axis] = counts[axis];
            for (corner, [u, v]) in [([0.0; 3], [v, u]), (far, [u, v])] {
                patches.push(Patch {
                    corner,
                    axes: [u, v],
                    cells: [counts[u], counts[v]],
                });
            }
        }
        Patches {
            patches,
            origin: -0.5 * DVec3::from(size),
            cell: DVec3::from(size) / DVec3::from(counts),
            is_closed: true,
        }
    }

    /// Stairs along x from the origin; `step` is the length, width and height of one.
    pub(super) fn stairs(steps: usize, step: [f64; 3], edge: Option<f64>) -> Patches {
        const X: usize = 0;
        const Y: usize = 1;
        const Z: usize = 2;
        let counts = step.map(|length| cells(length, edge));
        let [a, b, c] = counts;
        let all = steps as f64;
        let mut patches = Vec::new();
        let mut add = |corner, axes, cells| {
            patches.push(Patch {
                corner,
                axes,
                cells,
            });
        };
        add([0.0, 0.0, 0.0], [Y, X], [b, all * a]);
        add([all * a, 0.0, 0.0], [Y, Z], [b, all * c]);
        for index in 0..steps {
            let before = index as f64;
            let (x, z) = (before * a, before * c);
            add([x, 0.0, z], [Z, Y], [c, b]);
            add([x, 0.0, z + c], [X, Y], [a, b]);
            add([x, 0.0, 0.0], [X, Z], [a, z + c]);
            add([x, b, 0.0], [Z, X], [z + c, a]);
        }
        Patches {
            patches,
            origin: DVec3::new(0.0, -0.5 * step[Y], 0.0),
            cell: DVec3::from(step) / DVec3::from(counts),
            is_closed: true,
        }
    }

    /// The exact number: a closed surface of quadrilaterals without handles has two vertices more
    /// than faces (Euler).
    pub(super) fn vertex_estimate(&self) -> f64 {
        let counts = self.patches.iter().map(|patch| patch.cells);
        if self.is_closed {
            2.0 + counts.map(|[u, v]| u * v).sum::<f64>()
        } else {
            counts.map(|[u, v]| (u + 1.0) * (v + 1.0)).sum()
        }
    }

    pub(super) fn surface(&self) -> Mesh {
        let mut mesh = Mesh::default();
        let mut vertices: BTreeMap<[u32; 3], u32> = BTreeMap::new();
        for patch in &self.patches {
            let [columns, rows] = patch.cells.map(|count| count as u32);
            let mut vertex = |i: u32, j: u32| {
                let mut place = patch.corner.map(|count| count as u32);
                place[patch.axes[0]] += i;
                place[patch.axes[1]] += j;
                *vertices.entry(place).or_insert_with(|| {
                    let steps = DVec3::from(place.map(f64::from));
                    mesh.points.push(self.origin + self.cell * steps);
                    mesh.points.len() as u32 - 1
                })
            };
            for j in 0..rows {
                for i in 0..columns {
                    let [a, b] = [vertex(i, j), vertex(i + 1, j)];
                    let [c, d] = [vertex(i + 1, j + 1), vertex(i, j + 1)];
                    // Alternating diagonals have no preferred direction.
                    mesh.triangles.extend(match (i + j) % 2 {
                        0 => [[a, b, c], [a, c, d]],
                        _ => [[a, b, d], [b, c, d]],
                    });
                }
            }
        }
        mesh
    }
}
