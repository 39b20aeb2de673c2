//! M⁻¹: a factorization for each part of M that shares no entry with the others.
//!
//! Most parts are single unknowns or rigid bodies: a division, or dense LU with partial pivoting. Large ones (deformable
//! bodies) get a sparse LU. M is symmetric in most problems, but some files have it only up to rounding or not at all. All
//! kernels run on one thread, and parts are shared among threads, so that the bits do not depend on how many there are.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::sparse::linalg::lu::{LuRef, NumericLu, SymbolicLu, factorize_symbolic_lu};
use faer::sparse::{SparseColMat, Triplet};
use faer::{Conj, MatMut, Par, Spec};
use rayon::prelude::*;

use super::GlobalError;
use crate::dense_lu::DenseLu;
use crate::sparse_rows::SparseRows;
use crate::system::Sets;

/// Parts with more unknowns are factorized as sparse matrices.
const LARGEST_DENSE: usize = 256;

/// The factors of M.
#[derive(Debug)]
pub struct MassFactor {
    unknowns: usize,
    components: Vec<Component>,
}

/// A part of M that shares no entry with the others, and its factors.
#[derive(Debug)]
pub(super) struct Component {
    unknowns: Vec<u32>,
    factors: Factors,
}

#[derive(Debug)]
enum Factors {
    Number(f64),
    Dense(DenseLu),
    Sparse(Box<(SymbolicLu<usize>, NumericLu<usize, f64>)>),
}

impl MassFactor {
    pub(super) fn new(mass: &SparseRows) -> Result<Self, GlobalError> {
        let unknowns = mass.rows();
        let mut sets = Sets::new(unknowns);
        for (row, column, _) in mass.entries().filter(|(_, _, value)| *value != 0.0) {
            sets.join(row, column);
        }
        let (parts, count) = sets.numbered();
        let mut members = vec![Vec::new(); count];
        let mut places = vec![0; unknowns];
        for (unknown, part) in parts.iter().enumerate() {
            let members = &mut members[*part as usize];
            places[unknown] = members.len();
            members.push(unknown as u32);
        }
        let components = members.into_par_iter();
        let components: Vec<_> = components
            .map(|unknowns| Component::new(mass, unknowns, &places))
            .collect();
        // In order: the first part that fails is reported, whichever thread came upon a failure first.
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
        let parts: Vec<Vec<f64>> = components
            .map(|component| {
                let unknowns = component.unknowns.iter();
                let mut part: Vec<f64> = unknowns.map(|unknown| x[*unknown as usize]).collect();
                component.solve_in_place(&mut part);
                part
            })
            .collect();
        let mut solution = vec![0.0; self.unknowns];
        for (component, part) in self.components.iter().zip(parts) {
            for (unknown, value) in component.unknowns.iter().zip(part) {
                solution[*unknown as usize] = value;
            }
        }
        solution
    }
}

impl Component {
    /// `places` has the place of every unknown of M in its part.
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
            1 => Factors::Number(entries.map(|entry| entry.val).sum()),
            2..=LARGEST_DENSE => {
                dense(unknowns.len(), entries).ok_or(GlobalError::Memory { row })?
            }
            _ => sparse(unknowns.len(), entries.collect(), row)?,
        };
        let component = Self { unknowns, factors };
        // A pivot of zero shows in any solve.
        let mut probe = vec![1.0; component.unknowns.len()];
        component.solve_in_place(&mut probe);
        match probe.iter().all(|x| x.is_finite()) {
            true => Ok(component),
            false => Err(GlobalError::Singular { row }),
        }
    }

    /// The rows of M that the part consists of, ascending.
    pub(super) fn unknowns(&self) -> &[u32] {
        &self.unknowns
    }

    /// Replaces vectors, one after the other, by what the inverse of the part makes of them.
    pub(super) fn solve_in_place(&self, vectors: &mut [f64]) {
        let size = self.unknowns.len();
        let count = vectors.len() / size;
        match &self.factors {
            Factors::Number(mass) => vectors.iter_mut().for_each(|entry| *entry /= mass),
            Factors::Dense(factors) => {
                // Without memory there is no answer, as with a singular part.
                if factors.solve_in_place(vectors).is_none() {
                    vectors.fill(f64::NAN);
                }
            }
            Factors::Sparse(factors) => {
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

type Entry = Triplet<usize, usize, f64>;

fn dense(size: usize, entries: impl Iterator<Item = Entry>) -> Option<Factors> {
    let mut matrix = vec![0.0; size * size];
    for entry in entries {
        matrix[entry.col * size + entry.row] = entry.val;
    }
    DenseLu::new(size, matrix).map(Factors::Dense)
}

fn sparse(size: usize, entries: Vec<Entry>, row: usize) -> Result<Factors, GlobalError> {
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
    Ok(Factors::Sparse(Box::new((symbolic, numeric))))
}
