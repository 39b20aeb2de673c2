//! Plates under small loads against Kirchhoff's theory: flat plates whose nodes move along z only.

use super::*;

/// A symmetric banded matrix: row i has the entries (i, i), (i, i − 1), ….
struct Banded(Vec<Vec<f64>>);

impl Banded {
    fn zeros(size: usize, width: usize) -> Self {
        Self(vec![vec![0.0; width + 1]; size])
    }

    fn add(&mut self, row: usize, column: usize, value: f64) {
        if column <= row {
            self.0[row][row - column] += value;
        }
    }

    /// Cholesky in place.
    fn factor(mut self) -> Self {
        let width = self.0[0].len() - 1;
        for i in 0..self.0.len() {
            for j in i.saturating_sub(width)..=i {
                let first = i.saturating_sub(width).max(j.saturating_sub(width));
                let product: f64 = (first..j)
                    .map(|k| self.0[i][i - k] * self.0[j][j - k])
                    .sum();
                let rest = self.0[i][i - j] - product;
                self.0[i][i - j] = if i == j {
                    rest.sqrt()
                } else {
                    rest / self.0[j][0]
                };
            }
        }
        self
    }

    fn solve(&self, mut b: Vec<f64>) -> Vec<f64> {
        let width = self.0[0].len() - 1;
        for i in 0..b.len() {
            let known: f64 = (i.saturating_sub(width)..i)
                .map(|k| self.0[i][i - k] * b[k])
                .sum();
            b[i] = (b[i] - known) / self.0[i][0];
        }
        for i in (0..b.len()).rev() {
            b[i] /= self.0[i][0];
            for k in i.saturating_sub(width)..i {
                b[k] -= self.0[i][i - k] * b[i];
            }
        }
        b
    }
}

/// Entries of the stiffness along z: row, column and value.
struct Stiffness(Vec<(usize, usize, f64)>);

impl Act for Stiffness {
    fn act<const K: usize>(&mut self, stars: &Stars<K>, element: usize, x: &[DVec3; K]) {
        let stencil = stars.stencils()[element];
        let blocks = stars.projected_hessian(element, x);
        for (i, j) in (0..K).flat_map(|i| (0..K).map(move |j| (i, j))) {
            let (row, column) = (stencil[i] as usize, stencil[j] as usize);
            self.0.push((row, column, blocks[i][j].z_axis.z));
        }
    }
}

/// Factor of the stiffness along z, with held nodes eliminated.
fn factor(plate: &Plate, points: &[DVec3], held: &[bool]) -> Banded {
    let entries = each(plate, points, Stiffness(Vec::new())).0;
    let width = entries
        .iter()
        .map(|(row, column, _)| row.abs_diff(*column))
        .max()
        .unwrap();
    let mut matrix = Banded::zeros(points.len(), width);
    for (row, column, value) in entries {
        if !held[row] && !held[column] {
            matrix.add(row, column, value);
        }
    }
    for node in (0..points.len()).filter(|node| held[*node]) {
        matrix.add(node, node, 1.0);
    }
    matrix.factor()
}

/// A plane mesh with held nodes.
fn held_where(mesh: &Mesh, is_held: impl Fn(DVec3) -> bool) -> Vec<bool> {
    mesh.points.iter().map(|point| is_held(*point)).collect()
}

/// Clamps at the boundary edges for which a predicate holds.
fn clamps_where(mesh: &Mesh, is_clamped: impl Fn(DVec3) -> bool) -> Vec<ClampedEdge> {
    let here = |node: u32| is_clamped(mesh.points[node as usize]);
    let sides = mesh
        .triangles
        .iter()
        .flat_map(|&[a, b, c]| [[a, b], [b, c], [c, a]]);
    let all: Vec<[u32; 2]> = sides.collect();
    let is_boundary = |[a, b]: &[u32; 2]| !all.contains(&[*b, *a]);
    all.iter()
        .filter(|edge| here(edge[0]) && here(edge[1]))
        .filter(|edge| is_boundary(edge))
        .map(|edge| ClampedEdge {
            edge: *edge,
            normal: DVec3::Z,
        })
        .collect()
}

/// Deflection of the centre of a square plate under pressure, relative to theory.
fn relative_deflection(cells: Cells, count: usize, clamped: bool) -> f64 {
    let (side, thickness, young, poisson, pressure) = (0.2, 1e-3f64, 1e7, 0.3, 0.005);
    let rigidity = young * thickness.powi(3) / (12.0 * (1.0 - poisson * poisson));
    let mesh = grid([side, side], [count + 1, count + 1], cells);
    let on_side = |point: DVec3| point.x.abs().max(point.y.abs()) > 0.5 * side - 1e-9;
    let clamps = if clamped {
        clamps_where(&mesh, on_side)
    } else {
        Vec::new()
    };
    let plate = Plate::new(&mesh.triangles, &mesh.points, rigidity, poisson, &clamps).unwrap();
    let held = held_where(&mesh, on_side);
    let areas = crate::mesh::surface::areas(&mesh.points, &mesh.triangles);
    let mut load =
        crate::mesh::surface::lumped_masses(mesh.points.len(), &mesh.triangles, &areas, pressure);
    load.iter_mut()
        .zip(&held)
        .filter(|(_, held)| **held)
        .for_each(|(load, _)| *load = 0.0);
    let heights = factor(&plate, &mesh.points, &held).solve(load);
    // Irregular meshes have no node at the centre; the deflection is stationary there.
    let middle = (0..heights.len())
        .min_by(|a, b| {
            mesh.points[*a]
                .length()
                .total_cmp(&mesh.points[*b].length())
        })
        .unwrap();
    let off_centre = (mesh.points[middle].length() / side).powi(2);
    assert!(off_centre < 1e-3);
    heights[middle] / if clamped { 1.10538e-5 } else { 3.54887e-5 }
}

#[test]
fn square_plates_under_pressure_deflect_as_in_theory() {
    for cells in [Cells::Right, Cells::Alternating, Cells::Unstructured] {
        for clamped in [true, false] {
            let ratios = [10, 20, 40].map(|count| relative_deflection(cells, count, clamped));
            assert!(
                (ratios[2] - 1.0).abs() < 0.015,
                "{cells:?} {clamped} {ratios:?}"
            );
        }
    }
}

#[test]
fn a_cantilever_bends_as_a_beam() {
    let (length, width, poisson, load) = (0.2, 0.05, 0.0, 1e-3);
    for cells in [Cells::Right, Cells::Alternating, Cells::Unstructured] {
        let mesh = grid([length, width], [41, 11], cells);
        let at_left = |point: DVec3| point.x < -0.5 * length + 1e-9;
        let clamps = clamps_where(&mesh, at_left);
        let plate = Plate::new(&mesh.triangles, &mesh.points, RIGIDITY, poisson, &clamps).unwrap();
        let end: Vec<usize> = (0..mesh.points.len())
            .filter(|node| mesh.points[*node].x > 0.5 * length - 1e-9)
            .collect();
        let mut loads = vec![0.0; mesh.points.len()];
        for node in &end {
            let at_corner = mesh.points[*node].y.abs() > 0.5 * width - 1e-9;
            loads[*node] = load / 10.0 * if at_corner { 0.5 } else { 1.0 };
        }
        let heights = factor(&plate, &mesh.points, &held_where(&mesh, at_left)).solve(loads);
        let tip = end.iter().map(|node| heights[*node]).sum::<f64>() / end.len() as f64;
        let expected = load * length.powi(3) / (3.0 * RIGIDITY * width);
        assert!(
            (tip / expected - 1.0).abs() < 0.02,
            "{cells:?} {}",
            tip / expected
        );
    }
}

#[test]
fn twist_has_the_torsional_rigidity() {
    for cells in [Cells::Right, Cells::Alternating, Cells::Unstructured] {
        for poisson in [0.0, 0.3] {
            let mesh = grid([0.3, 0.1], [31, 11], cells);
            let plate = plate(&mesh, poisson);
            let twist = 1e-3;
            let points: Vec<DVec3> = mesh
                .points
                .iter()
                .map(|p| *p + DVec3::Z * twist * p.x * p.y)
                .collect();
            // ½ G J twist² per length with G J = G t³/3 · width = 2 D (1 − ν) · width.
            let expected = RIGIDITY * (1.0 - poisson) * 0.1 * twist * twist * 0.3;
            let ratio = plate.total_value(&points) / expected;
            let tolerance = if cells == Cells::Unstructured {
                0.02
            } else {
                1e-5
            };
            assert!((ratio - 1.0).abs() < tolerance, "{cells:?} {ratio}");
        }
    }
}

/// Force along z of the stress N₁₁ = moment · 12 y/width³ at given heights of the nodes.
fn stress_force(mesh: &Mesh, width: f64, heights: &[f64]) -> Vec<f64> {
    let mut force = vec![0.0; heights.len()];
    for nodes in &mesh.triangles {
        let [a, b, c] = nodes.map(|node| mesh.points[node as usize]);
        let double_area = (b - a).cross(c - a).z;
        let slopes = [b.y - c.y, c.y - a.y, a.y - b.y].map(|across| across / double_area);
        let stress = 4.0 * (a.y + b.y + c.y) / width.powi(3);
        let slope: f64 = (0..3).map(|i| slopes[i] * heights[nodes[i] as usize]).sum();
        for i in 0..3 {
            force[nodes[i] as usize] += 0.5 * double_area * stress * slope * slopes[i];
        }
    }
    force
}

#[test]
fn a_deep_strip_buckles_laterally_at_the_theoretical_moment() {
    let (length, width) = (1.0, 0.05);
    for cells in [Cells::Right, Cells::Alternating, Cells::Unstructured] {
        let mesh = grid([length, width], [121, 7], cells);
        let plate = plate(&mesh, 0.0);
        let held = held_where(&mesh, |point| point.x.abs() > 0.5 * length - 1e-9);
        let matrix = factor(&plate, &mesh.points, &held);
        let mut shape: Vec<f64> = mesh.points.iter().map(|p| 0.25 - p.x * p.x + p.y).collect();
        let mut largest = 0.0;
        for _ in 0..60 {
            // Moments of both signs have the same buckling load: only pairs of iterations converge.
            let before = shape.clone();
            for _ in 0..2 {
                let mut force = stress_force(&mesh, width, &shape);
                force
                    .iter_mut()
                    .zip(&held)
                    .filter(|(_, held)| **held)
                    .for_each(|(f, _)| *f = 0.0);
                shape = matrix.solve(force);
            }
            let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            largest = product(&shape, &before) / product(&before, &before);
            let size = product(&shape, &shape).sqrt();
            shape.iter_mut().for_each(|height| *height /= size);
        }
        // π/length √(bending rigidity · torsional rigidity), of D · width and 2D · width.
        let expected = std::f64::consts::PI / length * RIGIDITY * width * 2f64.sqrt();
        let ratio = 1.0 / largest.sqrt() / expected;
        assert!((ratio - 1.0).abs() < 0.02, "{cells:?} {ratio}");
    }
}
