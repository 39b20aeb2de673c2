//! Numeric Cholesky factorization of one body, `P A Pᵀ = L Lᵀ`, and solves with it.
//!
//! The factorization is multifrontal over the supernodes of [`Symbolic`], with the dense kernels of
//! faer. The sparse factorization of faer processes supernodes one by one: for the same order it is
//! nearly as fast on one thread, but a second thread reduces its time by a fifth only. Here,
//! independent branches of the tree run in parallel, which reduces the time by almost half (see the
//! example `factor_bench`). All buffers are kept between factorizations.

use std::sync::Arc;

use glam::DMat3;

use crate::block_sparse::BlockSparse;
use crate::cholesky::front::{Front, Pool, SubtreeTask, zeros};
use crate::factor_error::FactorError;
use crate::parallel::{map_tasks, split_by_lengths};
use crate::symbolic::Symbolic;

mod dense;
mod front;
mod solve;

/// Cholesky factor of one body, with its buffers.
#[derive(Debug)]
pub struct Factor {
    symbolic: Arc<Symbolic>,
    fronts: Vec<Front>,
    pools: Vec<Pool>,
    /// Whether the single-precision copies are up to date.
    has_single_precision: bool,
}

impl Factor {
    /// Allocates the buffers. The factor is invalid before the first [`Factor::factorize`].
    ///
    /// # Errors
    /// If memory runs out.
    pub fn new(symbolic: Arc<Symbolic>) -> Result<Self, FactorError> {
        let mut fronts = Vec::with_capacity(symbolic.supernodes.len());
        for s in &symbolic.supernodes {
            let mut front = Front::default();
            zeros(&mut front.panel, 9 * s.height() * s.width())?;
            fronts.push(front);
        }
        let pools = symbolic.tasks.iter().map(|_| Pool::new()).collect();
        Ok(Self {
            symbolic,
            fronts,
            pools,
            has_single_precision: false,
        })
    }

    /// Number of degrees of freedom.
    pub fn dofs(&self) -> usize {
        3 * self.symbolic.nodes()
    }

    /// Symbolic factorization.
    pub fn symbolic(&self) -> &Arc<Symbolic> {
        &self.symbolic
    }

    /// Factorizes a matrix. After an error the factor is invalid.
    ///
    /// # Errors
    /// If an entry is not finite, the matrix is not positive definite, or memory runs out. The
    /// reported node does not depend on the threads.
    ///
    /// # Panics
    /// If the matrix does not have as many nodes and blocks as the analyzed pattern.
    pub fn factorize(&mut self, matrix: &BlockSparse) -> Result<(), FactorError> {
        let symbolic = &*self.symbolic;
        assert_eq!(matrix.pattern().nodes(), symbolic.nodes());
        assert_eq!(matrix.values.len(), symbolic.blocks);
        self.has_single_precision = false;
        check_finite(matrix)?;
        for (index, stage) in symbolic.stages.iter().enumerate() {
            let tasks = &symbolic.tasks[stage.clone()];
            let Some(first) = tasks.first().map(|t| t.start) else {
                continue;
            };
            // Above the subtrees there are fewer fronts than threads.
            let is_shared = index > 0;
            let (done, rest) = self.fronts.split_at_mut(first);
            let fronts = split_by_lengths(rest, tasks.iter().map(|t| t.len()));
            let pools = &mut self.pools[stage.clone()];
            let work: Vec<_> = tasks.iter().zip(fronts).zip(pools).collect();
            let done = &*done;
            let results = map_tasks(work, |((task, fronts), pool)| {
                let first = task.start;
                let mut task_run = SubtreeTask {
                    symbolic,
                    matrix,
                    is_shared,
                    first,
                    done,
                    fronts,
                    pool,
                };
                task.clone().try_for_each(|s| task_run.eliminate(s))
            });
            results.into_iter().collect::<Result<(), _>>()?;
        }
        Ok(())
    }

    /// Replaces `rhs` by `A⁻¹ rhs`.
    ///
    /// # Panics
    /// If `rhs` does not have three components per node.
    pub fn solve_in_place(&self, rhs: &mut [f64]) {
        assert_eq!(rhs.len(), self.dofs());
        solve::solve_in_place::<f64>(&self.symbolic, &self.fronts, rhs);
    }

    /// Copies the factor to single precision for [`Factor::solve_single_precision`].
    ///
    /// # Errors
    /// If memory runs out.
    pub fn copy_to_single_precision(&mut self) -> Result<(), FactorError> {
        for front in &mut self.fronts {
            front.single.clear();
            let reserved = front.single.try_reserve_exact(front.panel.len());
            reserved.map_err(|_| FactorError::OutOfMemory)?;
            let entries = front.panel.iter().map(|entry| *entry as f32);
            front.single.extend(entries);
        }
        self.has_single_precision = true;
        Ok(())
    }

    /// Whether the single-precision copy is up to date.
    pub fn has_single_precision(&self) -> bool {
        self.has_single_precision
    }

    /// Replaces `rhs` by an approximation of `A⁻¹ rhs` from the last single-precision copy. It
    /// reads half the memory, whose bandwidth limits a solve. The accuracy depends on the condition
    /// of A.
    ///
    /// # Panics
    /// If `rhs` does not have three components per node.
    pub fn solve_single_precision(&self, rhs: &mut [f64]) {
        assert_eq!(rhs.len(), self.dofs());
        solve::solve_in_place::<f32>(&self.symbolic, &self.fronts, rhs);
    }
}

/// Checks that all entries are finite.
fn check_finite(matrix: &BlockSparse) -> Result<(), FactorError> {
    if matrix.values.iter().all(DMat3::is_finite) {
        return Ok(());
    }
    let pattern = matrix.pattern();
    for column in 0..pattern.nodes() {
        for slot in pattern.column(column) {
            if !matrix.values[slot].is_finite() {
                let row = pattern.rows()[slot] as usize;
                return Err(FactorError::NotFinite { row, column });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block_sparse::BlockPattern;
    use crate::block_sparse::tests::random;
    use crate::order::minimum_degree;
    use glam::DVec3;
    use proptest::prelude::*;

    fn solve(matrix: &BlockSparse) -> (Vec<f64>, f64) {
        let symbolic = Arc::new(Symbolic::analyze(matrix.pattern()).unwrap());
        let mut factor = Factor::new(symbolic).unwrap();
        // Twice, because buffers are reused.
        factor.factorize(matrix).unwrap();
        factor.factorize(matrix).unwrap();
        let rhs: Vec<f64> = (0..factor.dofs()).map(|i| (i as f64).cos()).collect();
        let mut x = rhs.clone();
        factor.solve_in_place(&mut x);
        let mut product = vec![0.0; x.len()];
        matrix.multiply(&x, &mut product);
        let error = product.iter().zip(&rhs).map(|(a, b)| (a - b).abs());
        (x, error.fold(0.0, f64::max))
    }

    fn grid(n: u32) -> Vec<(u32, u32)> {
        let steps = [(1, 0), (0, 1), (1, 1), (2, 1), (1, 2)];
        let cells = (0..n).flat_map(|y| (0..n).map(move |x| (x, y)));
        let pairs = cells.flat_map(|(x, y)| steps.map(|(a, b)| (x, y, x + a, y + b)));
        let inside = pairs.filter(|p| p.2 < n && p.3 < n);
        inside.map(|(x, y, a, b)| (y * n + x, b * n + a)).collect()
    }

    #[test]
    fn single_precision_solves_have_six_digits() {
        let matrix = random(900, &grid(30), 5);
        let mut factor =
            Factor::new(Arc::new(Symbolic::analyze(matrix.pattern()).unwrap())).unwrap();
        factor.factorize(&matrix).unwrap();
        factor.copy_to_single_precision().unwrap();
        let rhs: Vec<f64> = (0..factor.dofs()).map(|i| (i as f64).cos()).collect();
        let (mut exact, mut single) = (rhs.clone(), rhs);
        factor.solve_in_place(&mut exact);
        factor.solve_single_precision(&mut single);
        let largest = exact.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        let errors = exact.iter().zip(&single).map(|(a, b)| (a - b).abs());
        let error = errors.fold(0.0, f64::max);
        // The relative rounding error of an entry is 6e-8, and not zero.
        assert!(
            error < 1e-6 * largest && error > 1e-10 * largest,
            "{error} of {largest}"
        );
    }

    #[test]
    fn solutions_satisfy_the_system_for_many_patterns() {
        let loose: Vec<_> = (0..300).filter(|i| i % 7 > 0).map(|i| (i, i + 1)).collect();
        let star: Vec<_> = (1..400).map(|i| (0, i)).collect();
        let dense: Vec<_> = (0..90).flat_map(|i| (0..i).map(move |j| (i, j))).collect();
        let cases = [
            (1, vec![]),
            (500, vec![]),
            (301, loose),
            (400, star),
            (90, dense),
        ];
        for (nodes, pairs) in cases.into_iter().chain([(900, grid(30)), (3600, grid(60))]) {
            let (_, error) = solve(&random(nodes, &pairs, 7));
            assert!(error < 1e-11, "{nodes} nodes: {error}");
        }
        assert!(solve(&random_empty()).0.is_empty());
    }

    fn random_empty() -> BlockSparse {
        BlockSparse::zeros(Arc::new(BlockPattern::new(0, [])))
    }

    #[test]
    fn results_do_not_depend_on_the_number_of_threads() {
        let matrix = random(3600, &grid(60), 3);
        let bits = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            let (x, _) = pool.unwrap().install(|| solve(&matrix));
            x.into_iter().map(f64::to_bits).collect::<Vec<_>>()
        };
        let one = bits(1);
        let symbolic = Symbolic::analyze(matrix.pattern()).unwrap();
        assert!(symbolic.stages.len() > 2, "no stage runs in parallel");
        assert!(one == bits(2) && one == bits(3));
    }

    #[test]
    fn infinite_and_indefinite_matrices_are_errors() {
        let good = random(900, &grid(30), 5);
        let mut factor = Factor::new(Arc::new(Symbolic::analyze(good.pattern()).unwrap())).unwrap();
        let slot = good.pattern().slot(31, 0).unwrap();
        for bad in [f64::NAN, f64::INFINITY] {
            let mut matrix = good.clone();
            matrix.values[slot].y_axis.x = bad;
            let wanted = FactorError::NotFinite { row: 31, column: 0 };
            assert_eq!(factor.factorize(&matrix), Err(wanted));
        }
        let mut matrix = good.clone();
        let mut mask = vec![false; 2700];
        mask[1350..1353].fill(true);
        matrix.isolate(&mask, -1.0);
        let wanted = FactorError::NotPositiveDefinite { node: 450 };
        assert_eq!(factor.factorize(&matrix), Err(wanted));
        matrix
            .values
            .fill(DMat3::from_diagonal(DVec3::splat(1e308)));
        assert!(factor.factorize(&matrix).is_err());
        matrix.values.fill(DMat3::ZERO);
        assert!(factor.factorize(&matrix).is_err());
        assert_eq!(factor.factorize(&good), Ok(()));
    }

    proptest! {
        #[test]
        fn solutions_satisfy_the_system_for_random_matrices(
            nodes in 1usize..150,
            pairs in prop::collection::vec((0u32..150, 0u32..150), 0..400),
            seed: u64,
        ) {
            let matrix = random(nodes, &pairs, seed);
            prop_assert!(solve(&matrix).1 < 1e-11);
            for order in [
                minimum_degree(matrix.pattern()).unwrap(),
                Symbolic::analyze(matrix.pattern()).unwrap().order,
            ] {
                let mut sorted = order;
                sorted.sort_unstable();
                prop_assert!(sorted.into_iter().eq(0..nodes as u32));
            }
        }
    }
}
