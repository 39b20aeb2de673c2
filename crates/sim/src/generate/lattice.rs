//! A surface embedded in a coarse lattice of tetrahedra.
//!
//! Daviet 2020, section 7.2: a detailed surface need not be the boundary of the simulated mesh.
//! Cubes of a regular grid that are inside the surface or intersect it are divided into tetrahedra.
//! Each vertex of the surface is a fixed weighted sum of the four corners of the tetrahedron around
//! it, so contacts on the surface act on the lattice (Assumption 1).
//!
//! Cubes that intersect the surface are found by separating axes, with a margin for rounding: an
//! extra cube does no harm. Connected components of the other cubes are completely inside or
//! outside. The winding number of one of their points decides: the solid angle of the surface seen
//! from there, over 4π (Jacobson, Kavan and Sorkine-Hornung, Robust inside-outside segmentation
//! using generalized winding numbers, 2013).

use std::f64::consts::TAU;

use glam::{DMat3, DVec3};

use crate::mesh::Mesh;
use crate::mesh::boundary::boundary_triangles;

/// Maximum number of cubes.
pub const MAX_CUBES: f64 = 4e6;
/// Maximum number of tests of a triangle against a cube: more would take minutes.
const MAX_TESTS: f64 = 2e9;
/// Margin of the grid around the surface, as a fraction of the longest side.
const GRID_MARGIN: f64 = 1e-3;
/// Enlargement of cubes in the overlap test, as a fraction of a cube.
const OVERLAP_TOLERANCE: f64 = 1e-9;

/// A cube as five tetrahedra; the bits of a corner's number are its coordinates. The diagonals of
/// opposite faces are different, so every second cube is mirrored to match its neighbours.
const FIVE_TETRAHEDRA: [[usize; 4]; 5] = [
    [1, 2, 4, 7],
    [0, 1, 2, 4],
    [3, 2, 1, 7],
    [5, 1, 4, 7],
    [6, 4, 2, 7],
];

/// A point as a weighted sum of four vertices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stencil {
    /// The vertices, all distinct.
    pub vertices: [u32; 4],
    /// Their weights, with sum 1.
    pub weights: [f64; 4],
}

impl Stencil {
    /// Position of the point, for these positions of the vertices.
    ///
    /// # Panics
    /// If a vertex is not among them.
    #[must_use]
    pub fn position(&self, points: &[DVec3]) -> DVec3 {
        let terms = self.vertices.iter().zip(self.weights);
        terms
            .map(|(vertex, weight)| points[*vertex as usize] * weight)
            .sum()
    }
}

/// The lattice of a surface, and the weights of the surface points.
#[derive(Clone, Debug, PartialEq)]
pub struct Embedding {
    /// Points, tetrahedra, and the triangles of their boundary.
    pub lattice: Mesh,
    /// For every vertex of the surface, the corners of the tetrahedron around it.
    pub weights: Vec<Stencil>,
    /// Whether the inside is filled. Otherwise the surface has a hole or inconsistent orientation,
    /// and the lattice only follows it.
    pub is_filled: bool,
}

/// Embeds a surface in cubes, each divided into five tetrahedra, with `cells` cubes along the
/// longest side of the bounding box.
pub fn embed(surface: &Mesh, cells: usize) -> Result<Embedding, String> {
    let grid = Grid::around(surface, cells)?;
    let mut cubes = grid.intersected(surface)?;
    let is_filled = is_closed(&surface.triangles);
    if is_filled {
        grid.fill(surface, &mut cubes);
    }
    let vertices = grid.number_corners(&cubes);
    let lattice = grid.lattice(&cubes, &vertices);
    let weights = surface
        .points
        .iter()
        .map(|&point| grid.stencil(point, &vertices))
        .collect();
    Ok(Embedding {
        lattice,
        weights,
        is_filled,
    })
}

/// Whether every side of a triangle has a partner in the opposite direction, so that winding
/// numbers are whole numbers.
fn is_closed(triangles: &[[u32; 3]]) -> bool {
    let mut sides = Vec::with_capacity(3 * triangles.len());
    for &[a, b, c] in triangles {
        for [from, to] in [[a, b], [b, c], [c, a]] {
            sides.push((from.min(to), from.max(to), from < to));
        }
    }
    sides.sort_unstable();
    let mut edges = sides.chunk_by(|one, other| (one.0, one.1) == (other.0, other.1));
    edges.all(|edge| 2 * edge.iter().filter(|side| side.2).count() == edge.len())
}

/// State of a cube.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cube {
    Unknown,
    Outside,
    Kept,
}

/// A regular grid of cubes around a surface.
struct Grid {
    origin: DVec3,
    /// Side of a cube (m).
    side: f64,
    counts: [usize; 3],
}

impl Grid {
    fn around(surface: &Mesh, cells: usize) -> Result<Grid, String> {
        if cells == 0 {
            return Err("a lattice needs at least 1 cell".to_owned());
        }
        if surface.triangles.is_empty() {
            return Err("a surface without triangles cannot be embedded".to_owned());
        }
        if let Some(vertex) = surface.points.iter().position(|point| !point.is_finite()) {
            return Err(format!("vertex {vertex} of the surface is not finite"));
        }
        let count = surface.points.len();
        for (triangle, corners) in surface.triangles.iter().enumerate() {
            if let Some(vertex) = corners.iter().find(|vertex| **vertex as usize >= count) {
                return Err(format!(
                    "triangle {triangle} uses vertex {vertex}, but there are {count}"
                ));
            }
        }
        let mut points = surface.points.iter();
        let first = points.next().copied().unwrap_or_default();
        let (low, high) = points.fold((first, first), |(low, high), point| {
            (low.min(*point), high.max(*point))
        });
        let extent = high - low;
        let longest = extent.max_element();
        let middle = low + 0.5 * extent;
        // The margin must exceed rounding errors.
        let least = 1e-9 * middle.abs().max_element();
        if !longest.is_finite() || longest <= least || longest < 1e-100 {
            return Err(format!(
                "the surface is {longest} m long, too short or too long for a lattice"
            ));
        }
        let padded = extent + DVec3::splat(2.0 * GRID_MARGIN * longest);
        let side = padded.max_element() / cells as f64;
        let counts = (padded / side - DVec3::splat(1e-9)).ceil().max(DVec3::ONE);
        if counts.element_product() > MAX_CUBES {
            return Err(format!(
                "a lattice of {} × {} × {} cubes has more than {MAX_CUBES:e}; use fewer cells",
                counts.x, counts.y, counts.z
            ));
        }
        Ok(Grid {
            origin: middle - 0.5 * side * counts,
            side,
            counts: counts.to_array().map(|count| count as usize),
        })
    }

    fn cube_count(&self) -> usize {
        self.counts.iter().product()
    }

    fn cube(&self, [i, j, k]: [usize; 3]) -> usize {
        (k * self.counts[1] + j) * self.counts[0] + i
    }

    fn cell(&self, cube: usize) -> [usize; 3] {
        let [columns, rows, _] = self.counts;
        [
            cube % columns,
            cube / columns % rows,
            cube / (columns * rows),
        ]
    }

    /// Index of a cube's corner among all corners of the grid.
    fn corner(&self, cell: [usize; 3], corner: usize) -> usize {
        let [i, j, k] = [0, 1, 2].map(|axis| cell[axis] + (corner >> axis & 1));
        (k * (self.counts[1] + 1) + j) * (self.counts[0] + 1) + i
    }

    /// A position in units of cubes.
    fn scaled(&self, point: DVec3) -> DVec3 {
        (point - self.origin) / self.side
    }

    /// The cell of a position in units of cubes, or the nearest one.
    fn cell_at(&self, place: DVec3) -> [usize; 3] {
        // The cast of a negative number is 0.
        [0, 1, 2].map(|axis| (place[axis] as usize).min(self.counts[axis] - 1))
    }

    /// The cubes that intersect a triangle or contain a vertex.
    fn intersected(&self, surface: &Mesh) -> Result<Vec<Cube>, String> {
        let places: Vec<DVec3> = surface
            .points
            .iter()
            .map(|&point| self.scaled(point))
            .collect();
        let ranges: Vec<_> = surface
            .triangles
            .iter()
            .map(|triangle| {
                let [a, b, c] = triangle.map(|vertex| places[vertex as usize]);
                let slack = DVec3::splat(OVERLAP_TOLERANCE);
                let low = self.cell_at(a.min(b).min(c) - slack);
                let high = self.cell_at(a.max(b).max(c) + slack);
                ([a, b, c], low, high)
            })
            .collect();
        let tests = |low: &[usize; 3], high: &[usize; 3]| -> f64 {
            low.iter()
                .zip(high)
                .map(|(low, high)| (high - low + 1) as f64)
                .product()
        };
        let all: f64 = ranges.iter().map(|(_, low, high)| tests(low, high)).sum();
        if all > MAX_TESTS {
            return Err(format!(
                "the triangles are too large for these cubes: {all:.1e} pairs to test, more than \
                 {MAX_TESTS:e}; use fewer cells"
            ));
        }
        let mut cubes = vec![Cube::Unknown; self.cube_count()];
        for (corners, low, high) in ranges {
            for k in low[2]..=high[2] {
                for j in low[1]..=high[1] {
                    for i in low[0]..=high[0] {
                        let cube = self.cube([i, j, k]);
                        let middle = DVec3::new(i as f64, j as f64, k as f64) + 0.5;
                        if cubes[cube] == Cube::Unknown
                            && overlaps(corners.map(|corner| corner - middle))
                        {
                            cubes[cube] = Cube::Kept;
                        }
                    }
                }
            }
        }
        for &place in &places {
            cubes[self.cube(self.cell_at(place))] = Cube::Kept;
        }
        Ok(cubes)
    }

    /// Also keeps the cubes inside a closed surface.
    fn fill(&self, surface: &Mesh, cubes: &mut [Cube]) {
        let mut stack = Vec::new();
        let mut component = Vec::new();
        for start in 0..cubes.len() {
            if cubes[start] != Cube::Unknown {
                continue;
            }
            component.clear();
            cubes[start] = Cube::Outside;
            stack.push(start);
            let mut is_at_border = false;
            while let Some(cube) = stack.pop() {
                component.push(cube);
                let cell = self.cell(cube);
                for axis in 0..3 {
                    is_at_border |= cell[axis] == 0 || cell[axis] + 1 == self.counts[axis];
                    for step in [usize::MAX, 1] {
                        let mut next = cell;
                        next[axis] = next[axis].wrapping_add(step);
                        if next[axis] < self.counts[axis] {
                            let next = self.cube(next);
                            if cubes[next] == Cube::Unknown {
                                cubes[next] = Cube::Outside;
                                stack.push(next);
                            }
                        }
                    }
                }
            }
            // A cube at the border of the grid is partly outside the surface.
            let middle = DVec3::from(self.cell(start).map(|index| index as f64 + 0.5));
            let middle = self.origin + self.side * middle;
            if !is_at_border && winding_number(surface, middle).abs() > 0.5 {
                for &cube in &component {
                    cubes[cube] = Cube::Kept;
                }
            }
        }
    }

    /// Vertex of each corner of the grid: the corners of kept cubes, numbered in order.
    fn number_corners(&self, cubes: &[Cube]) -> Vec<u32> {
        let corners = self.counts.iter().map(|count| count + 1).product();
        let mut vertices = vec![u32::MAX; corners];
        for cube in (0..cubes.len()).filter(|cube| cubes[*cube] == Cube::Kept) {
            for corner in 0..8 {
                vertices[self.corner(self.cell(cube), corner)] = 0;
            }
        }
        let kept = vertices.iter_mut().filter(|vertex| **vertex == 0);
        for (next, vertex) in kept.enumerate() {
            *vertex = next as u32;
        }
        vertices
    }

    fn lattice(&self, cubes: &[Cube], vertices: &[u32]) -> Mesh {
        let [columns, rows, _] = self.counts.map(|count| count + 1);
        let points = (0..vertices.len())
            .filter(|corner| vertices[*corner] != u32::MAX)
            .map(|corner| {
                let cell = [
                    corner % columns,
                    corner / columns % rows,
                    corner / (columns * rows),
                ];
                self.origin + self.side * DVec3::from(cell.map(|index| index as f64))
            })
            .collect();
        let mut lattice = Mesh {
            points,
            ..Mesh::default()
        };
        for cube in (0..cubes.len()).filter(|cube| cubes[*cube] == Cube::Kept) {
            let cell = self.cell(cube);
            for tetrahedron in five(cell) {
                let [a, b, c, d] = tetrahedron.map(|corner| vertices[self.corner(cell, corner)]);
                let [p, q, r, s] = [a, b, c, d].map(|vertex| lattice.points[vertex as usize]);
                let is_positive = (q - p).cross(r - p).dot(s - p) > 0.0;
                lattice.tetrahedra.push(if is_positive {
                    [a, b, c, d]
                } else {
                    [a, b, d, c]
                });
            }
        }
        lattice.triangles = boundary_triangles(&lattice.tetrahedra, |vertex| {
            lattice.points[vertex as usize]
        });
        lattice
    }

    /// Stencil of the tetrahedron around a point: the one with the largest minimum weight.
    fn stencil(&self, point: DVec3, vertices: &[u32]) -> Stencil {
        let place = self.scaled(point);
        let cell = self.cell_at(place);
        let local = place - DVec3::from(cell.map(|index| index as f64));
        let local = local.clamp(DVec3::ZERO, DVec3::ONE);
        let mut best = ([0; 4], [f64::NEG_INFINITY; 4]);
        let least = |weights: &[f64; 4]| weights.iter().fold(f64::INFINITY, |a, b| a.min(*b));
        for tetrahedron in five(cell) {
            let weights = barycentric(tetrahedron.map(unit_corner), local);
            if least(&weights) > least(&best.1) {
                best = (tetrahedron, weights);
            }
        }
        Stencil {
            vertices: best.0.map(|corner| vertices[self.corner(cell, corner)]),
            weights: best.1,
        }
    }
}

/// The five tetrahedra of a cell, mirrored in every second cell.
fn five(cell: [usize; 3]) -> [[usize; 4]; 5] {
    let mirror = cell.iter().sum::<usize>() % 2;
    FIVE_TETRAHEDRA.map(|tetrahedron| tetrahedron.map(|corner| corner ^ mirror))
}

fn unit_corner(corner: usize) -> DVec3 {
    DVec3::from([0, 1, 2].map(|axis| (corner >> axis & 1) as f64))
}

fn barycentric([a, b, c, d]: [DVec3; 4], point: DVec3) -> [f64; 4] {
    let [v, w, x] = (DMat3::from_cols(b - a, c - a, d - a).inverse() * (point - a)).to_array();
    [1.0 - v - w - x, v, w, x]
}

/// Whether a triangle intersects the unit cube around the origin.
///
/// Akenine-Möller, Fast 3D triangle-box overlap testing (2001): they are separate if an axis of the
/// cube, the normal of the triangle or a cross product of an axis and a side separates them.
fn overlaps(corners: [DVec3; 3]) -> bool {
    let [a, b, c] = corners;
    let sides = [b - a, c - b, a - c];
    let axes = [DVec3::X, DVec3::Y, DVec3::Z];
    let products = sides
        .iter()
        .flat_map(|side| axes.map(|axis| axis.cross(*side)));
    let normal = sides[0].cross(sides[1]);
    let mut candidates = axes.into_iter().chain([normal]).chain(products);
    !candidates.any(|axis| {
        let [p, q, r] = corners.map(|corner| axis.dot(corner));
        let reach = (0.5 + OVERLAP_TOLERANCE) * axis.abs().element_sum();
        p.min(q).min(r) > reach || p.max(q).max(r) < -reach
    })
}

/// Winding number of a surface around a point that is not on it.
///
/// Solid angles of triangles are by van Oosterom and Strackee (1983).
fn winding_number(surface: &Mesh, point: DVec3) -> f64 {
    let half_angle = |corners: &[u32; 3]| {
        let [a, b, c] = corners.map(|vertex| surface.points[vertex as usize] - point);
        let [x, y, z] = [a, b, c].map(DVec3::length);
        let below = x * y * z + a.dot(b) * z + b.dot(c) * x + c.dot(a) * y;
        a.dot(b.cross(c)).atan2(below)
    };
    surface.triangles.iter().map(half_angle).sum::<f64>() / TAU
}

#[cfg(test)]
mod tests;
