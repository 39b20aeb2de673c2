//! Dense unsymmetric linear systems.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::lu::partial_pivoting::{factor, solve};
use faer::perm::PermRef;
use faer::{MatMut, MatRef, Par, Spec};

/// LU factors of a dense matrix with partial pivoting, computed on one thread.
#[derive(Clone, Debug)]
pub struct DenseLu {
    size: usize,
    factors: Vec<f64>,
    forward: Vec<usize>,
    backward: Vec<usize>,
}

impl DenseLu {
    /// Factorizes a column-major matrix. `None` if memory runs out or an entry is not finite.
    ///
    /// # Panics
    /// If there are not `size`² entries.
    pub fn new(size: usize, matrix: Vec<f64>) -> Option<Self> {
        assert_eq!(matrix.len(), size * size);
        let mut lu = Self {
            size,
            factors: matrix,
            forward: vec![0; size],
            backward: vec![0; size],
        };
        if !lu.factors.iter().all(|entry| entry.is_finite()) {
            return None;
        }
        let parameters = Spec::default();
        let needed = factor::lu_in_place_scratch::<usize, f64>(size, size, Par::Seq, parameters);
        let mut buffer = MemBuffer::try_new(needed).ok()?;
        factor::lu_in_place(
            MatMut::from_column_major_slice_mut(&mut lu.factors, size, size),
            &mut lu.forward,
            &mut lu.backward,
            Par::Seq,
            MemStack::new(&mut buffer),
            parameters,
        );
        Some(lu)
    }

    /// Replaces concatenated right-hand sides by the solutions. `None`, without any change, if
    /// memory runs out. Solutions of a singular matrix are not finite.
    pub fn solve_in_place(&self, rhs: &mut [f64]) -> Option<()> {
        let columns = rhs.len() / self.size.max(1);
        let needed = solve::solve_in_place_scratch::<usize, f64>(self.size, columns, Par::Seq);
        let mut buffer = MemBuffer::try_new(needed).ok()?;
        let factors = MatRef::from_column_major_slice(&self.factors, self.size, self.size);
        solve::solve_in_place(
            factors,
            factors,
            PermRef::new_checked(&self.forward, &self.backward, self.size),
            MatMut::from_column_major_slice_mut(rhs, self.size, columns),
            Par::Seq,
            MemStack::new(&mut buffer),
        );
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_solve_inverts_the_product(
            mut matrix in prop::collection::vec(-1.0f64..1.0, 49),
            wanted in prop::collection::vec(-1.0f64..1.0, 14),
        ) {
            for place in 0..7 {
                matrix[8 * place] += 8.0;
            }
            let entry = |row: usize, column: usize| matrix[7 * column + row];
            let mut rhs: Vec<f64> = (0..14)
                .map(|place| {
                    let (column, row) = (place / 7, place % 7);
                    (0..7).map(|k| entry(row, k) * wanted[7 * column + k]).sum()
                })
                .collect();
            let lu = DenseLu::new(7, matrix.clone()).unwrap();
            lu.solve_in_place(&mut rhs).unwrap();
            for (found, wanted) in rhs.iter().zip(&wanted) {
                prop_assert!((found - wanted).abs() < 1e-13);
            }
        }
    }

    #[test]
    fn singular_and_infinite_matrices_do_not_panic() {
        let lu = DenseLu::new(2, vec![0.0; 4]).unwrap();
        let mut rhs = vec![1.0, 2.0];
        assert_eq!(lu.solve_in_place(&mut rhs), Some(()));
        assert!(!rhs.iter().all(|entry| entry.is_finite()));
        assert!(DenseLu::new(1, vec![f64::NAN]).is_none());
        assert!(DenseLu::new(0, Vec::new()).is_some());
    }
}
