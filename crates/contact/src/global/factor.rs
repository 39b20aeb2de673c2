//! Factorization of M, separately for each connected component.
//!
//! Most components are single unknowns or rigid bodies, which need a division or a dense LU
//! factorization with partial pivoting. Large components (deformable bodies) have a sparse LU
//! factorization. M is symmetric in most problems, but not in all files. Each component is
//! factorized on one thread, so results do not depend on the number of threads.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::sparse::linalg::lu::{LuRef, NumericLu, SymbolicLu, factorize_symbolic_lu};
use faer::sparse::{SparseColMat, Triplet};
use faer::{Conj, MatMut, Par, Spec};
use rayon::prelude::*;

use super::GlobalError;
use crate::dense_lu::DenseLu;
use crate::sparse_rows::SparseRows;
use crate::system::DisjointSets;

/// Components with more unknowns are factorized as sparse matrices.
const MAX_DENSE_UNKNOWNS: usize = 256;

/// Factors of M.
#[derive(Debug)]
pub struct MassFactor {
    unknowns: usize,
    components: Vec<Component>,
}

/// Connected component of M, and its factors.
#[derive(Debug)]
pub(super) struct Component {
    unknowns: Vec<u32>,
    factors: ComponentFactors,
}

/// Factors of a component: a scalar, a dense or a sparse LU factorization.
#[derive(Debug)]
enum ComponentFactors {
    Scalar(f64),
    Dense(DenseLu),
    Sparse(Box<(SymbolicLu<usize>, NumericLu<usize, f64>)>),
}

impl MassFactor {
    pub(super) fn new(mass: &SparseRows) -> Result<Self, GlobalError> {
        let unknowns = mass.rows();
        let mut sets = DisjointSets::new(unknowns);
        for (row, column, _) in mass.entries().filter(|(_, _, value)| *value != 0.0) {
            sets.join(row, column);
        }
        let (component_of, count) = sets.numbered();
        let mut members = vec![Vec::new(); count];
        let mut places = vec![0; unknowns];
        for (unknown, component) in component_of.iter().enumerate() {
            let members = &mut members[*component as usize];
            places[unknown] = members.len();
            members.push(unknown as u32);
        }
        let components = members.into_par_iter();
        let components: Vec<_> = components
            .map(|unknowns| Component::new(mass, unknowns, &places))
            .collect();
        // The first failing component is reported, independent of the threads.
        let components = components.into_iter().collect::<Result<_, _>>()?;
        Ok(Self {
            unknowns,
            components,
        })
    }

    pub(super) fn components(&self) -> &[Component] {
        &self.components
    }

    /// M⁻¹ x.
    pub(super) fn solve(&self, x: &[f64]) -> Vec<f64> {
        let components = self.components.par_iter();
        let solutions: Vec<Vec<f64>> = components
            .map(|component| {
                let unknowns = component.unknowns.iter();
                let mut vector: Vec<f64> = unknowns.map(|unknown| x[*unknown as usize]).collect();
                component.solve_in_place(&mut vector);
                vector
            })
            .collect();
        let mut solution = vec![0.0; self.unknowns];
        for (component, values) in self.components.iter().zip(solutions) {
            for (unknown, value) in component.unknowns.iter().zip(values) {
                solution[*unknown as usize] = value;
            }
        }
        solution
    }
}

impl Component {
    /// Extracts and factorizes a component. `places` has the index of every unknown of M in its
    /// component.
    fn new(mass: &SparseRows, unknowns: Vec<u32>, places: &[usize]) -> Result<Self, GlobalError> {
        let row = unknowns.first().map_or(0, |unknown| *unknown as usize);
        let entries = unknowns.iter().enumerate().flat_map(|(place, unknown)| {
            let (columns, values) = mass.row(*unknown as usize);
            let pairs = columns.iter().zip(values);
            pairs
                .filter(|(_, value)| **value != 0.0)
                .map(move |(column, value)| Triplet::new(place, places[*column as usize], *value))
        });
        let factors = match unknowns.len() {
            1 => ComponentFactors::Scalar(entries.map(|entry| entry.val).sum()),
            2..=MAX_DENSE_UNKNOWNS => {
                dense(unknowns.len(), entries).ok_or(GlobalError::Memory { row })?
            }
            _ => sparse(unknowns.len(), entries.collect(), row)?,
        };
        let component = Self { unknowns, factors };
        // A zero pivot makes any solution infinite or NaN.
        let mut probe = vec![1.0; component.unknowns.len()];
        component.solve_in_place(&mut probe);
        if probe.iter().all(|x| x.is_finite()) {
            Ok(component)
        } else {
            Err(GlobalError::Singular { row })
        }
    }

    /// Rows of M in the component, ascending.
    pub(super) fn unknowns(&self) -> &[u32] {
        &self.unknowns
    }

    /// Replaces concatenated right-hand sides by the solutions.
    pub(super) fn solve_in_place(&self, vectors: &mut [f64]) {
        let size = self.unknowns.len();
        let count = vectors.len() / size;
        match &self.factors {
            ComponentFactors::Scalar(mass) => vectors.iter_mut().for_each(|entry| *entry /= mass),
            ComponentFactors::Dense(factors) => {
                // Without memory the solution is NaN, as for a singular matrix.
                if factors.solve_in_place(vectors).is_none() {
                    vectors.fill(f64::NAN);
                }
            }
            ComponentFactors::Sparse(factors) => {
                let (symbolic, numeric) = &**factors;
                let scratch = symbolic.solve_in_place_scratch::<f64>(count, Par::Seq);
                LuRef::new_unchecked(symbolic, numeric).solve_in_place_with_conj(
                    Conj::No,
                    MatMut::from_column_major_slice_mut(vectors, size, count),
                    Par::Seq,
                    MemStack::new(&mut MemBuffer::new(scratch)),
                );
            }
        }
    }
}

/// Entry of M: row, column and value.
type Entry = Triplet<usize, usize, f64>;

fn dense(size: usize, entries: impl Iterator<Item = Entry>) -> Option<ComponentFactors> {
    let mut matrix = vec![0.0; size * size];
    for entry in entries {
        matrix[entry.col * size + entry.row] = entry.val;
    }
    DenseLu::new(size, matrix).map(ComponentFactors::Dense)
}

fn sparse(size: usize, entries: Vec<Entry>, row: usize) -> Result<ComponentFactors, GlobalError> {
    use faer::sparse::linalg::LuError;
    let memory = |_| GlobalError::Memory { row };
    let matrix = SparseColMat::try_new_from_triplets(size, size, &entries)
        .map_err(|_| GlobalError::Memory { row })?;
    let symbolic = factorize_symbolic_lu(matrix.symbolic(), Default::default()).map_err(memory)?;
    let parameters = Spec::default();
    let scratch = symbolic.factorize_numeric_lu_scratch::<f64>(Par::Seq, parameters);
    let mut buffer = MemBuffer::try_new(scratch).map_err(|_| GlobalError::Memory { row })?;
    let mut numeric = NumericLu::new();
    symbolic
        .factorize_numeric_lu(
            &mut numeric,
            matrix.as_ref(),
            Par::Seq,
            MemStack::new(&mut buffer),
            parameters,
        )
        .map_err(|error| match error {
            LuError::Generic(_) => GlobalError::Memory { row },
            LuError::SymbolicSingular { .. } => GlobalError::Singular { row },
        })?;
    Ok(ComponentFactors::Sparse(Box::new((symbolic, numeric))))
}
