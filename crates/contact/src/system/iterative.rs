//! Solves by conjugate gradients, preconditioned by the inverse of the diagonal blocks (block
//! Jacobi). No factorization is needed.

use glam::{DMat3, DVec3};

use super::{Matrix, System};
use crate::conjugate_gradients::{CgProgress, ConjugateSystem, conjugate_gradients};

/// The result of [`System::conjugate_gradients`].
#[derive(Clone, Debug, PartialEq)]
pub struct IterativeSolution {
    /// x.
    pub solution: Vec<f64>,
    /// b − A x.
    pub residual: Vec<f64>,
    /// Number of products with A.
    pub products: usize,
}

impl System {
    /// Approximates A⁻¹ b from the initial guess 0, until `is_accurate` or after `max_products`
    /// products with A.
    ///
    /// # Panics
    /// If `rhs` has another length than [`System::dofs`].
    pub fn conjugate_gradients(
        &self,
        rhs: &[f64],
        max_products: usize,
        is_accurate: impl FnMut(&CgProgress<'_>) -> bool,
    ) -> IterativeSolution {
        let mut system = Preconditioned {
            system: self,
            diagonal: DiagonalBlocks::new(self),
            is_accurate,
        };
        let (mut solution, mut residual) = (vec![0.0; rhs.len()], rhs.to_vec());
        let mut preconditioned = rhs.to_vec();
        system.precondition(&mut preconditioned);
        let effort = conjugate_gradients(
            &mut system,
            &mut solution,
            &mut residual,
            preconditioned,
            max_products,
        );
        IterativeSolution {
            solution,
            residual,
            products: effort.products,
        }
    }
}

/// System with its diagonal blocks as preconditioner.
struct Preconditioned<'a, F> {
    system: &'a System,
    diagonal: DiagonalBlocks,
    is_accurate: F,
}

impl<F: FnMut(&CgProgress<'_>) -> bool> ConjugateSystem for Preconditioned<'_, F> {
    fn multiply(&self, x: &[f64], y: &mut [f64]) {
        self.system.multiply(x, y);
    }

    fn precondition(&self, residual: &mut [f64]) {
        self.diagonal.solve_in_place(residual);
    }

    fn test_convergence(&mut self, progress: &CgProgress<'_>) -> bool {
        // rᵀz is zero at the solution, and NaN if an entry of A or b is.
        let has_residual = progress.size > 0.0;
        !has_residual || (self.is_accurate)(progress)
    }
}

/// Inverses of the diagonal blocks: 3×3 for nodes, scalars for twists.
struct DiagonalBlocks {
    /// Offset and inverse block of each node.
    nodes: Vec<(usize, DMat3)>,
    /// Degree of freedom and inverse entry of each twist.
    twists: Vec<(usize, f64)>,
}

impl DiagonalBlocks {
    fn new(system: &System) -> Self {
        let inverse = |node: usize| {
            let inverse = system.node_block(node).inverse();
            if inverse.is_finite() {
                inverse
            } else {
                DMat3::IDENTITY
            }
        };
        let offsets = system.node_offset.iter().enumerate();
        let nodes = offsets.map(|(node, offset)| (*offset, inverse(node)));
        let mut is_of_node = vec![false; system.dofs()];
        for offset in &system.node_offset {
            is_of_node[*offset..offset + 3].fill(true);
        }
        let mut twists = Vec::new();
        for body in &system.bodies {
            if let Matrix::Rods(batch) = &body.matrix {
                let size = batch.layout().size();
                for own in (0..batch.dofs()).filter(|own| !is_of_node[body.offset + own]) {
                    let entry = batch.get(own / size, own % size, own % size);
                    twists.push((body.offset + own, entry.recip()));
                }
            }
        }
        Self {
            nodes: nodes.collect(),
            twists,
        }
    }

    fn solve_in_place(&self, vector: &mut [f64]) {
        for (offset, inverse) in &self.nodes {
            let value = *inverse * DVec3::from_slice(&vector[*offset..]);
            value.write_to_slice(&mut vector[*offset..]);
        }
        for (dof, inverse) in &self.twists {
            vector[*dof] *= inverse;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::samples;
    use crate::system::SystemFactor;

    #[test]
    fn conjugate_gradients_agree_with_the_direct_solver() {
        // Solids, affine bodies, rods with twists, and ties.
        for world in [
            samples::stack(1e5, 2),
            samples::affine(1e5, 3),
            samples::crossing(1e5, 2),
            samples::tied(1e5, 2),
        ] {
            let problem = world.problem(1e-3);
            let mut factor = SystemFactor::for_system(&problem.system).unwrap();
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
    fn it_stops_at_the_product_limit_and_at_the_accuracy() {
        let problem = samples::stack(1e5, 2).problem(1e-3);
        let rhs = vec![1.0; problem.system.dofs()];
        let found = problem.system.conjugate_gradients(&rhs, 7, |_| false);
        assert_eq!(found.products, 7);
        let at_once = problem.system.conjugate_gradients(&rhs, 7, |_| true);
        assert_eq!((at_once.products, at_once.residual), (0, rhs));
    }
}
