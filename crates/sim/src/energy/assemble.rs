//! Deterministic parallel assembly of elements into a block-sparse matrix and a vector.
//!
//! Elements are evaluated in parallel into a buffer. Then every block of the matrix and every node
//! of the vector *gathers* its contributions, in the order of the elements: without locks or
//! colouring, and with the same bits for any number of threads. Buffers and maps are built once per
//! mesh.

use super::{CHUNK, Curvature, Energy, at_nodes, sum_in_chunks};
use glam::{DMat3, DVec3};
use rayon::prelude::*;

/// Values, gradients and Hessians of all elements of one energy.
#[derive(Clone, Debug)]
pub struct ElementBuffer {
    /// Nodes of the elements, concatenated.
    stencils: Vec<u32>,
    /// Number of nodes of an element.
    size: usize,
    values: Vec<f64>,
    gradients: Vec<DVec3>,
    /// Hessian blocks of the node pairs (i, j ≤ i) of each element. The row of a block is the node
    /// with the larger index.
    blocks: Vec<DMat3>,
}

/// Number of node pairs (i, j ≤ i) of an element.
const fn pairs(nodes: usize) -> usize {
    nodes * (nodes + 1) / 2
}

/// Node pairs (i, j ≤ i) of an element in the order of the buffer, as (row, column): the node with
/// the larger index is the row.
fn oriented_pairs(stencil: &[u32]) -> impl Iterator<Item = (usize, usize)> {
    (0..stencil.len()).flat_map(move |i| {
        (0..=i).map(move |j| {
            if stencil[i] >= stencil[j] {
                (i, j)
            } else {
                (j, i)
            }
        })
    })
}

impl ElementBuffer {
    /// A zero buffer for elements with the given nodes, distinct within an element.
    pub fn new<const K: usize>(stencils: &[[u32; K]]) -> Self {
        Self {
            stencils: stencils.as_flattened().to_vec(),
            size: K,
            values: vec![0.0; stencils.len()],
            gradients: vec![DVec3::ZERO; K * stencils.len()],
            blocks: vec![DMat3::ZERO; stencils.len() * pairs(K)],
        }
    }

    /// Evaluates all elements at `positions`. The energy must have the stencils of the buffer.
    pub fn fill<const K: usize>(
        &mut self,
        energy: &impl Energy<K>,
        positions: &[DVec3],
        curvature: Curvature,
    ) {
        debug_assert_eq!(K, self.size);
        let stencils = energy.stencils().par_chunks(CHUNK);
        let values = self.values.par_chunks_mut(CHUNK);
        let gradients = self.gradients.par_chunks_mut(CHUNK * K);
        let blocks = self.blocks.par_chunks_mut(CHUNK * pairs(K));
        let chunks = stencils.zip(values).zip(gradients.zip(blocks)).enumerate();
        chunks.for_each(|(chunk, ((stencils, values), (gradients, blocks)))| {
            let blocks = blocks.chunks_exact_mut(pairs(K));
            let gradients = gradients.chunks_exact_mut(K);
            let elements = stencils.iter().zip(values).zip(gradients.zip(blocks));
            for (i, ((stencil, value), (gradients, blocks))) in elements.enumerate() {
                let x = at_nodes(stencil, positions);
                let element = chunk * CHUNK + i;
                let (energy, gradient, hessian) = match curvature {
                    Curvature::Projected => energy.linearize(element, &x),
                    Curvature::Exact => energy.expand(element, &x),
                };
                *value = energy;
                gradients.copy_from_slice(&gradient);
                for (block, (row, column)) in blocks.iter_mut().zip(oriented_pairs(stencil)) {
                    *block = hessian[row][column];
                }
            }
        });
    }

    /// Evaluates values and gradients only.
    pub fn fill_gradients<const K: usize>(&mut self, energy: &impl Energy<K>, positions: &[DVec3]) {
        debug_assert_eq!(K, self.size);
        let stencils = energy.stencils().par_chunks(CHUNK);
        let values = self.values.par_chunks_mut(CHUNK);
        let gradients = self.gradients.par_chunks_mut(CHUNK * K);
        let chunks = stencils.zip(values).zip(gradients).enumerate();
        chunks.for_each(|(chunk, ((stencils, values), gradients))| {
            let elements = stencils
                .iter()
                .zip(values)
                .zip(gradients.chunks_exact_mut(K));
            for (i, ((stencil, value), gradients)) in elements.enumerate() {
                let x = at_nodes(stencil, positions);
                *value = energy.value(chunk * CHUNK + i, &x);
                gradients.copy_from_slice(&energy.gradient(chunk * CHUNK + i, &x));
            }
        });
    }

    /// Energy of all elements at the last fill (J).
    pub fn energy(&self) -> f64 {
        sum_in_chunks(self.values.len(), |element| self.values[element])
    }

    /// Σ vₑᵀHₑvₑ over the elements, with the projected Hessians of the last fill.
    pub fn quadratic_form(&self, v: &[DVec3]) -> f64 {
        let (size, pairs) = (self.size, pairs(self.size));
        sum_in_chunks(self.values.len(), |element| {
            let stencil = &self.stencils[element * size..][..size];
            let v = |local: usize| v[stencil[local] as usize];
            let blocks = &self.blocks[element * pairs..][..pairs];
            let term = |(block, (row, column)): (&DMat3, (usize, usize))| {
                // A block off the diagonal stands for its transpose too.
                let count = if row == column { 1.0 } else { 2.0 };
                count * v(row).dot(*block * v(column))
            };
            blocks.iter().zip(oriented_pairs(stencil)).map(term).sum()
        })
    }
}

/// Sources of each target, ascending, in compressed sparse rows.
#[derive(Clone, Debug)]
pub(super) struct Incidence {
    start: Vec<u32>,
    sources: Vec<u32>,
}

impl Incidence {
    /// Incidence of `targets` targets, where `target_of[source]` is the target of each source.
    pub(super) fn new(targets: usize, target_of: &[u32]) -> Self {
        let mut start = vec![0; targets + 1];
        for &target in target_of {
            start[target as usize + 1] += 1;
        }
        for target in 0..targets {
            start[target + 1] += start[target];
        }
        let mut next = start.clone();
        let mut sources = vec![0; target_of.len()];
        for (source, &target) in target_of.iter().enumerate() {
            sources[next[target as usize] as usize] = source as u32;
            next[target as usize] += 1;
        }
        Self { start, sources }
    }

    /// Sources of a target.
    pub(super) fn of(&self, target: usize) -> &[u32] {
        &self.sources[self.start[target] as usize..self.start[target + 1] as usize]
    }

    /// Calls `add` in parallel for every target that has sources.
    fn gather<T: Send>(&self, targets: &mut [T], add: impl Fn(&mut T, &[u32]) + Sync) {
        debug_assert_eq!(targets.len() + 1, self.start.len());
        targets
            .par_chunks_mut(CHUNK)
            .enumerate()
            .for_each(|(chunk, targets)| {
                for (i, target) in targets.iter_mut().enumerate() {
                    let sources = self.of(chunk * CHUNK + i);
                    if !sources.is_empty() {
                        add(target, sources);
                    }
                }
            });
    }
}

/// Map from the entries of an [`ElementBuffer`] to matrix blocks and nodes.
#[derive(Clone, Debug)]
pub struct GatherMap {
    blocks_of_slot: Incidence,
    gradients_of_node: Incidence,
}

impl GatherMap {
    /// Map for a matrix of `slots` stored blocks. `slot(row, column)` is the index of the block of
    /// two nodes, row ≥ column.
    pub fn new<const K: usize>(
        stencils: &[[u32; K]],
        nodes: usize,
        slots: usize,
        slot: impl Fn(usize, usize) -> usize,
    ) -> Self {
        let slot_of_block: Vec<u32> = stencils
            .iter()
            .flat_map(|stencil| {
                oriented_pairs(stencil)
                    .map(|(i, j)| slot(stencil[i] as usize, stencil[j] as usize) as u32)
            })
            .collect();
        Self {
            blocks_of_slot: Incidence::new(slots, &slot_of_block),
            gradients_of_node: Incidence::new(nodes, stencils.as_flattened()),
        }
    }

    /// Adds `scale` times the Hessian blocks of the buffer to the stored blocks of the matrix.
    pub fn gather_blocks(&self, buffer: &ElementBuffer, scale: f64, values: &mut [DMat3]) {
        self.blocks_of_slot.gather(values, |value, blocks| {
            let sum = blocks.iter().fold(DMat3::ZERO, |sum, &block| {
                sum + buffer.blocks[block as usize]
            });
            *value += sum * scale;
        });
    }

    /// Adds `scale` times the gradients of the buffer to a nodal vector.
    pub fn gather_gradients(&self, buffer: &ElementBuffer, scale: f64, forces: &mut [DVec3]) {
        let gradients = &buffer.gradients;
        self.gradients_of_node.gather(forces, |force, entries| {
            let sum = entries
                .iter()
                .fold(DVec3::ZERO, |sum, &entry| sum + gradients[entry as usize]);
            *force += sum * scale;
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::dense;
    use super::super::hinge::Hinges;
    use super::super::membrane::{Membrane, MembraneLaw, isotropic_stiffness};
    use super::super::total_value;
    use super::*;
    use crate::generate::sheet::{Cells, grid};
    use crate::mesh::surface::interior_hinges;
    use proptest::prelude::*;

    /// A crumpled sheet with permuted nodes.
    struct Sheet {
        membrane: Membrane,
        hinges: Hinges,
        positions: Vec<DVec3>,
        velocities: Vec<DVec3>,
    }

    fn sheet(vertices: [usize; 2], seed: u64) -> Sheet {
        let mut mesh = grid([0.1, 0.1], vertices, Cells::Alternating);
        let rest_triangles = mesh.rest_triangles(DVec3::X);
        let nodes = mesh.points.len();
        let place = |node: u32| ((node as u64 + seed) * 7919 % nodes as u64) as u32;
        let mut points = vec![DVec3::ZERO; nodes];
        for (node, point) in mesh.points.iter().enumerate() {
            points[place(node as u32) as usize] = *point;
        }
        mesh.triangles
            .iter_mut()
            .for_each(|corners| *corners = corners.map(place));
        let wave = |node: usize, k: f64| (k * (node as f64 + seed as f64)).sin();
        let noise = |node: usize| DVec3::new(wave(node, 1.3), wave(node, 2.9), wave(node, 4.1));
        let stencils = interior_hinges(&mesh.triangles).unwrap();
        let rigidity = vec![1e-5; stencils.len()];
        Sheet {
            hinges: Hinges::new(stencils, &points, &rigidity).unwrap(),
            positions: points
                .iter()
                .enumerate()
                .map(|(node, point)| *point + 5e-3 * noise(node))
                .collect(),
            velocities: (0..nodes).map(|node| noise(node + 17)).collect(),
            membrane: Membrane::new(
                mesh.triangles,
                &rest_triangles,
                vec![0; rest_triangles.len()],
                vec![isotropic_stiffness(100.0, 0.3)],
                MembraneLaw::StVenantKirchhoff,
            )
            .unwrap(),
        }
    }

    /// Every pair of nodes has a slot.
    fn full_slot(row: usize, column: usize) -> usize {
        assert!(row >= column);
        row * (row + 1) / 2 + column
    }

    /// Blocks, forces and quadratic form of one energy.
    fn assembled<const K: usize>(
        energy: &impl Energy<K>,
        sheet: &Sheet,
    ) -> (Vec<DMat3>, Vec<DVec3>, f64) {
        let nodes = sheet.positions.len();
        let mut buffer = ElementBuffer::new(energy.stencils());
        let map = GatherMap::new(energy.stencils(), nodes, pairs(nodes), full_slot);
        let (mut values, mut forces) = (vec![DMat3::ZERO; pairs(nodes)], vec![DVec3::ZERO; nodes]);
        buffer.fill(energy, &sheet.positions, Curvature::Projected);
        map.gather_blocks(&buffer, 0.5, &mut values);
        map.gather_gradients(&buffer, -1.0, &mut forces);
        (values, forces, buffer.quadratic_form(&sheet.velocities))
    }

    fn check_against_dense<const K: usize>(energy: &impl Energy<K>, sheet: &Sheet) {
        let nodes = sheet.positions.len();
        let mut matrix = vec![vec![0.0; 3 * nodes]; 3 * nodes];
        let mut vector = vec![DVec3::ZERO; nodes];
        for (element, stencil) in energy.stencils().iter().enumerate() {
            let x = at_nodes(stencil, &sheet.positions);
            let hessian = dense(&energy.projected_hessian(element, &x));
            let global = |local: usize| 3 * stencil[local / 3] as usize + local % 3;
            for row in 0..3 * K {
                for column in 0..3 * K {
                    matrix[global(row)][global(column)] += hessian[row][column];
                }
            }
            for (node, gradient) in stencil.iter().zip(energy.gradient(element, &x)) {
                vector[*node as usize] -= gradient;
            }
        }
        let (values, forces, form) = assembled(energy, sheet);
        let scale = matrix
            .as_slice()
            .iter()
            .flatten()
            .fold(0.0, |largest: f64, entry| largest.max(entry.abs()));
        for row in 0..3 * nodes {
            for column in 0..3 * (row / 3 + 1) {
                let block = values[full_slot(row / 3, column / 3)];
                let difference = block.col(column % 3)[row % 3] - 0.5 * matrix[row][column];
                assert!(
                    difference.abs() <= 1e-13 * scale,
                    "row {row} column {column}"
                );
            }
        }
        for (force, expected) in forces.iter().zip(&vector) {
            assert!(force.abs_diff_eq(*expected, 1e-13 * scale));
        }
        let v: Vec<f64> = sheet.velocities.iter().flat_map(|v| v.to_array()).collect();
        let expected: f64 = (0..3 * nodes)
            .map(|i| {
                (0..3 * nodes)
                    .map(|j| v[i] * matrix[i][j] * v[j])
                    .sum::<f64>()
            })
            .sum();
        let squares: f64 = v.iter().map(|entry| entry * entry).sum();
        assert!((form - expected).abs() <= 1e-13 * scale * squares);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn assembly_agrees_with_dense_summation(
            columns in 2..6usize,
            rows in 2..6usize,
            seed in 0..1000u64,
        ) {
            let sheet = sheet([columns, rows], seed);
            check_against_dense(&sheet.membrane, &sheet);
            check_against_dense(&sheet.hinges, &sheet);
        }
    }

    #[test]
    fn assembly_has_the_same_bits_for_any_number_of_threads() {
        let sheet = sheet([23, 31], 5);
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| {
                let value = total_value(&sheet.membrane, &sheet.positions)
                    + total_value(&sheet.hinges, &sheet.positions);
                let mut numbers = vec![value, sheet.membrane.max_stretch(&sheet.positions)];
                let membrane = assembled(&sheet.membrane, &sheet);
                let hinges = assembled(&sheet.hinges, &sheet);
                for (values, forces, form) in [membrane, hinges] {
                    numbers.extend(values.iter().flat_map(|block| block.to_cols_array()));
                    numbers.extend(forces.iter().flat_map(|force| force.to_array()));
                    numbers.push(form);
                }
                numbers.into_iter().map(f64::to_bits).collect::<Vec<_>>()
            })
        };
        let one = run(1);
        assert!(one == run(2) && one == run(3));
    }
}
