//! The preconditioned conjugate gradient method for A x = b with A symmetric positive definite.
//!
//! Dot products are summed in the order of the entries, so that the result does not depend on the
//! threads.

/// A linear system, its preconditioner and its stopping test.
pub trait ConjugateSystem {
    /// `y = A x`.
    fn multiply(&self, x: &[f64], y: &mut [f64]);

    /// Replaces a residual r by z = P⁻¹ r. Without a preconditioner, z = r.
    fn precondition(&self, _residual: &mut [f64]) {}

    /// Whether to stop. Called once before each product with A; implementations may count or
    /// record.
    fn test_convergence(&mut self, progress: &CgProgress<'_>) -> bool;

    /// The step length from rᵀz and the curvature dᵀA d along the direction d; `None` if the method
    /// breaks down, which ends it.
    fn step_length(&self, size: f64, curvature: f64) -> Option<f64> {
        let length = size / curvature;
        length.is_finite().then_some(length)
    }
}

/// State before an iteration of conjugate gradients.
#[derive(Clone, Copy, Debug)]
pub struct CgProgress<'a> {
    /// x.
    pub solution: &'a [f64],
    /// r = b − A x.
    pub residual: &'a [f64],
    /// z = P⁻¹ r.
    pub preconditioned: &'a [f64],
    /// rᵀz.
    pub size: f64,
    /// rᵀz at the start.
    pub initial_size: f64,
    /// Products with A so far.
    pub products: usize,
}

/// Work of a solve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Products with A.
    pub products: usize,
    /// Steps taken: one fewer than products if the last one broke down.
    pub steps: usize,
}

/// Iterates on `solution` until [`ConjugateSystem::test_convergence`], a breakdown, or `max_steps`.
/// `residual` is b − A x on entry and on return, `preconditioned` is P⁻¹ r on entry.
pub fn conjugate_gradients(
    system: &mut impl ConjugateSystem,
    solution: &mut [f64],
    residual: &mut [f64],
    mut preconditioned: Vec<f64>,
    max_steps: usize,
) -> Effort {
    let mut direction = preconditioned.clone();
    let mut product = vec![0.0; residual.len()];
    let mut size = dot(residual, &preconditioned);
    let initial_size = size;
    let mut steps = 0;
    while steps < max_steps {
        let progress = CgProgress {
            solution,
            residual,
            preconditioned: &preconditioned,
            size,
            initial_size,
            products: steps,
        };
        if system.test_convergence(&progress) {
            break;
        }
        system.multiply(&direction, &mut product);
        let Some(length) = system.step_length(size, dot(&direction, &product)) else {
            let products = steps + 1;
            return Effort { products, steps };
        };
        for (x, d) in solution.iter_mut().zip(&direction) {
            *x += length * d;
        }
        for (r, p) in residual.iter_mut().zip(&product) {
            *r -= length * p;
        }
        preconditioned.copy_from_slice(residual);
        system.precondition(&mut preconditioned);
        let next = dot(residual, &preconditioned);
        for (d, z) in direction.iter_mut().zip(&preconditioned) {
            *d = z + next / size * *d;
        }
        size = next;
        steps += 1;
    }
    Effort {
        products: steps,
        steps,
    }
}

/// aᵀb, summed in the order of the entries.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A diagonal matrix, with a bound on the residual as the convergence test.
    struct Diagonal {
        entries: Vec<f64>,
        bound: f64,
    }

    impl ConjugateSystem for Diagonal {
        fn multiply(&self, x: &[f64], y: &mut [f64]) {
            for (y, (x, entry)) in y.iter_mut().zip(x.iter().zip(&self.entries)) {
                *y = entry * x;
            }
        }

        fn test_convergence(&mut self, progress: &CgProgress<'_>) -> bool {
            progress.residual.iter().all(|r| r.abs() <= self.bound)
        }
    }

    fn solve(entries: &[f64], rhs: &[f64], max_steps: usize) -> (Vec<f64>, Effort) {
        let mut system = Diagonal {
            entries: entries.to_vec(),
            bound: 1e-12,
        };
        let mut solution = vec![0.0; rhs.len()];
        let mut residual = rhs.to_vec();
        let effort = conjugate_gradients(
            &mut system,
            &mut solution,
            &mut residual,
            rhs.to_vec(),
            max_steps,
        );
        (solution, effort)
    }

    #[test]
    fn one_step_per_distinct_eigenvalue_suffices() {
        let (solution, effort) = solve(&[1.0, 4.0, 4.0, 9.0], &[1.0, 2.0, -4.0, 3.0], 50);
        let expected = [1.0, 0.5, -1.0, 1.0 / 3.0];
        assert!(
            solution
                .iter()
                .zip(expected)
                .all(|(a, b)| (a - b).abs() < 1e-12)
        );
        assert_eq!((effort.steps, effort.products), (3, 3));
    }

    #[test]
    fn the_iteration_stops_at_the_limit_at_a_solution_and_at_a_breakdown() {
        assert_eq!(solve(&[1.0, 4.0], &[1.0, 1.0], 1).1.steps, 1);
        assert_eq!(solve(&[1.0, 4.0], &[0.0, 0.0], 9).1.products, 0);
        let (solution, effort) = solve(&[0.0, 0.0], &[1.0, 1.0], 9);
        assert_eq!((effort.products, effort.steps), (1, 0));
        assert_eq!(solution, [0.0, 0.0]);
    }
}
