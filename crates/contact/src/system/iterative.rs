//! Solves with A by products alone: conjugate gradients, preconditioned by the blocks on the
//! diagonal.

use glam::{DMat3, DVec3};

use super::{Matrix, System};

/// Where conjugate gradients have come to.
#[derive(Clone, Debug, PartialEq)]
pub struct Iterative {
    /// x.
    pub solution: Vec<f64>,
    /// b − A x.
    pub residual: Vec<f64>,
    /// Products with A.
    pub products: usize,
}

impl System {
    /// Moves towards A⁻¹ b from 0, until a function says that it is enough, or after `most`
    /// products with A. Sums go one entry after the other, so that they do not depend on the
    /// threads.
    ///
    /// # Panics
    /// If `rhs` has another length than [`System::dofs`].
    pub fn conjugate_gradients(
        &self,
        rhs: &[f64],
        most: usize,
        mut is_enough: impl FnMut(&Iterative) -> bool,
    ) -> Iterative {
        let preconditioner = DiagonalBlocks::new(self);
        let mut found = Iterative {
            solution: vec![0.0; rhs.len()],
            residual: rhs.to_vec(),
            products: 0,
        };
        let mut scaled = preconditioner.apply(&found.residual);
        let mut direction = scaled.clone();
        let mut product = vec![0.0; rhs.len()];
        let mut size = dot(&found.residual, &scaled);
        while size > 0.0 && found.products < most && !is_enough(&found) {
            self.multiply(&direction, &mut product);
            found.products += 1;
            let length = size / dot(&direction, &product);
            if !length.is_finite() {
                break;
            }
            for (x, d) in found.solution.iter_mut().zip(&direction) {
                *x += length * d;
            }
            for (r, p) in found.residual.iter_mut().zip(&product) {
                *r -= length * p;
            }
            scaled = preconditioner.apply(&found.residual);
            let next = dot(&found.residual, &scaled);
            for (d, z) in direction.iter_mut().zip(&scaled) {
                *d = z + next / size * *d;
            }
            size = next;
        }
        found
    }
}

/// The inverses of the blocks on the diagonal: 3×3 for nodes, numbers for twists.
struct DiagonalBlocks {
    nodes: Vec<(usize, DMat3)>,
    others: Vec<(usize, f64)>,
}

impl DiagonalBlocks {
    fn new(system: &System) -> Self {
        let inverse = |node: usize| {
            let inverse = system.node_block(node).inverse();
            match inverse.is_finite() {
                true => inverse,
                false => DMat3::IDENTITY,
            }
        };
        let offsets = system.node_offset.iter().enumerate();
        let nodes = offsets.map(|(node, offset)| (*offset, inverse(node)));
        let mut is_of_node = vec![false; system.dofs()];
        for offset in &system.node_offset {
            is_of_node[*offset..offset + 3].fill(true);
        }
        let mut others = Vec::new();
        for body in &system.bodies {
            if let Matrix::Rods(batch) = &body.matrix {
                let size = batch.layout().size();
                for own in (0..batch.dofs()).filter(|own| !is_of_node[body.offset + own]) {
                    let entry = batch.get(own / size, own % size, own % size);
                    others.push((body.offset + own, entry.recip()));
                }
            }
        }
        Self {
            nodes: nodes.collect(),
            others,
        }
    }

    fn apply(&self, vector: &[f64]) -> Vec<f64> {
        let mut result = vector.to_vec();
        for (offset, inverse) in &self.nodes {
            let value = *inverse * DVec3::from_slice(&vector[*offset..]);
            value.write_to_slice(&mut result[*offset..]);
        }
        for (dof, inverse) in &self.others {
            result[*dof] *= inverse;
        }
        result
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use crate::samples;
    use crate::system::SystemFactor;

    #[test]
    fn products_alone_find_what_factors_find() {
        // Solids, affine bodies, rods with twists, and ties.
        for world in [
            samples::stack(1e5, 2),
            samples::affine(1e5, 3),
            samples::crossing(1e5, 2),
            samples::tied(1e5, 2),
        ] {
            let problem = world.problem(1e-3);
            let mut factor = SystemFactor::of(&problem.system).unwrap();
            factor.factorize(&problem.system).unwrap();
            let rhs: Vec<f64> = (0..problem.system.dofs())
                .map(|dof| (dof as f64).sin())
                .collect();
            let mut exact = rhs.clone();
            factor.solve_in_place(&problem.system, &mut exact);
            let found = problem.system.conjugate_gradients(&rhs, 20_000, |found| {
                found.residual.iter().all(|r| r.abs() < 1e-13)
            });
            let largest = exact.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
            let pairs = found.solution.iter().zip(&exact);
            let apart = pairs.fold(0.0_f64, |most, (a, b)| most.max((a - b).abs()));
            assert!(apart < 1e-6 * largest, "{apart} of {largest}");
        }
    }

    #[test]
    fn it_ends_where_it_is_told_to() {
        let problem = samples::stack(1e5, 2).problem(1e-3);
        let rhs = vec![1.0; problem.system.dofs()];
        let found = problem.system.conjugate_gradients(&rhs, 7, |_| false);
        assert_eq!(found.products, 7);
        let at_once = problem.system.conjugate_gradients(&rhs, 7, |_| true);
        assert_eq!((at_once.products, at_once.residual), (0, rhs));
    }
}
