//! The contact problem with general matrices: M v = H r + f, u = Hᵀ v + w, (u, r) in Signorini's and Coulomb's law for every
//! contact.
//!
//! This is how FCLIB states problems of other programs (Acary, Brémond, Koziara and Pérignon 2014): unknowns may be of any
//! kind, and H holds the local axes (normal, tangent, tangent) of each contact. M falls apart into what moves
//! independently (bodies, or single unknowns of a rigid one); each part is factorized by itself, so that condensing to the
//! impulses alone ([`GlobalProblem::condense`]) costs what the parts cost, and W stays sparse by bodies.

mod factor;
mod nodal;
#[cfg(test)]
mod tests;

use glam::{DMat3, DVec3};
use rayon::prelude::*;

pub use factor::MassFactor;

use crate::block_rows::BlockRows;
use crate::delassus::{DelassusError, DelassusProblem};
use crate::sparse_rows::SparseRows;
use factor::Component;

/// Contacts whose columns of M⁻¹H are computed at once; bounds the memory that large bodies need.
const BATCH: usize = 32;

/// W with more blocks than this (3 GB) does not fit into the memory of many machines.
const MOST_BLOCKS: usize = 40_000_000;

/// A frictional contact problem with general matrices.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GlobalProblem {
    /// M, square.
    pub mass: SparseRows,
    /// H: three columns per contact.
    pub contacts: SparseRows,
    /// f.
    pub force: Vec<f64>,
    /// w of each contact.
    pub kinematic: Vec<DVec3>,
    /// μ of each contact.
    pub friction: Vec<f64>,
}

/// Why a problem cannot be posed or condensed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GlobalError {
    /// Vectors and matrices do not fit together.
    #[error("{what} is {found}, but must be {wanted}")]
    Size {
        /// The length of which vector, or of which side of a matrix.
        what: &'static str,
        /// What it is.
        found: usize,
        /// What the other sizes ask for.
        wanted: usize,
    },
    /// An entry is no finite number.
    #[error("{what} is not finite at {place}")]
    NotFinite {
        /// Which matrix or vector.
        what: &'static str,
        /// Row or contact.
        place: usize,
    },
    /// A negative coefficient of friction.
    #[error("contact {contact}: the coefficient of friction is negative")]
    NegativeFriction {
        /// The contact.
        contact: usize,
    },
    /// M has no inverse.
    #[error("M is singular at or near row {row}; every unknown needs a mass")]
    Singular {
        /// First row of the part of M that is singular.
        row: usize,
    },
    /// There is not enough memory to factorize M.
    #[error("there is not enough memory to factorize the part of M at row {row}")]
    Memory {
        /// First row of the part.
        row: usize,
    },
    /// Too many contacts act on one body.
    #[error(
        "W would have {blocks} blocks of 3×3, more than {MOST_BLOCKS}; too many contacts act on the same body"
    )]
    TooLarge {
        /// How many.
        blocks: usize,
    },
    /// The condensed problem is no problem.
    #[error("condensed, {0}")]
    Condensed(#[from] DelassusError),
}

impl GlobalProblem {
    /// Checks sizes and values.
    ///
    /// # Errors
    /// If sizes do not fit, an entry is not finite, or a coefficient of friction is negative.
    pub fn new(
        mass: SparseRows,
        contacts: SparseRows,
        force: Vec<f64>,
        kinematic: Vec<DVec3>,
        friction: Vec<f64>,
    ) -> Result<Self, GlobalError> {
        let (unknowns, count) = (force.len(), friction.len());
        let sizes = [
            ("the number of rows of M", mass.rows(), unknowns),
            ("the number of columns of M", mass.columns(), unknowns),
            ("the number of rows of H", contacts.rows(), unknowns),
            ("the number of columns of H", contacts.columns(), 3 * count),
            ("the length of w", 3 * kinematic.len(), 3 * count),
        ];
        if let Some((what, found, wanted)) = sizes.into_iter().find(|(_, a, b)| a != b) {
            return Err(GlobalError::Size {
                what,
                found,
                wanted,
            });
        }
        let places = [
            ("M", mass.first_not_finite()),
            ("H", contacts.first_not_finite()),
            ("f", force.iter().position(|f| !f.is_finite())),
            ("w", kinematic.iter().position(|w| !w.is_finite())),
            ("μ", friction.iter().position(|mu| !mu.is_finite())),
        ];
        for (what, place) in places {
            if let Some(place) = place {
                return Err(GlobalError::NotFinite { what, place });
            }
        }
        if let Some(contact) = friction.iter().position(|mu| *mu < 0.0) {
            return Err(GlobalError::NegativeFriction { contact });
        }
        Ok(Self {
            mass,
            contacts,
            force,
            kinematic,
            friction,
        })
    }

    /// Factorizes M, part by part.
    ///
    /// # Errors
    /// If M is singular, or there is not enough memory.
    pub fn factorize(&self) -> Result<MassFactor, GlobalError> {
        MassFactor::new(&self.mass)
    }

    /// The problem in the impulses alone: W = Hᵀ M⁻¹ H, q = Hᵀ M⁻¹ f + w.
    ///
    /// # Errors
    /// If W would be too large, or is not finite.
    pub fn condense(&self, factor: &MassFactor) -> Result<DelassusProblem, GlobalError> {
        let parts = factor.components().par_iter();
        let touched: Vec<Vec<u32>> = parts.map(|part| self.touched(part)).collect();
        let blocks = touched.iter().map(|contacts| contacts.len().pow(2)).sum();
        if blocks > MOST_BLOCKS {
            return Err(GlobalError::TooLarge { blocks });
        }
        let parts = factor.components().iter().zip(&touched);
        let tasks: Vec<_> = parts
            .flat_map(|(part, contacts)| {
                let batches = contacts.chunks(BATCH);
                batches.map(move |batch| (part, contacts, batch))
            })
            .collect();
        let blocks: Vec<Vec<(u32, u32, DMat3)>> = tasks
            .into_par_iter()
            .map(|(part, contacts, batch)| self.condense_batch(part, contacts, batch))
            .collect();
        let operator = BlockRows::new(self.friction.len(), blocks.into_iter().flatten());
        let free = self.relative_velocities(&factor.solve(&self.force));
        Ok(DelassusProblem::new(operator, free, self.friction.clone())?)
    }

    /// The contacts that act on a part of M, ascending.
    fn touched(&self, part: &Component) -> Vec<u32> {
        let unknowns = part.unknowns().iter();
        let columns = unknowns.flat_map(|unknown| self.contacts.row(*unknown as usize).0);
        let mut contacts: Vec<u32> = columns.map(|column| column / 3).collect();
        contacts.sort_unstable();
        contacts.dedup();
        contacts
    }

    /// What a part of M adds to the columns of some contacts (`batch`) of W, in the rows of all contacts that act on it.
    fn condense_batch(
        &self,
        part: &Component,
        contacts: &[u32],
        batch: &[u32],
    ) -> Vec<(u32, u32, DMat3)> {
        let (size, width) = (part.unknowns().len(), 3 * batch.len());
        let mut solved = vec![0.0; size * width];
        for (row, unknown) in part.unknowns().iter().enumerate() {
            let (columns, values) = self.contacts.row(*unknown as usize);
            for (column, value) in columns.iter().zip(values) {
                if let Ok(place) = batch.binary_search(&(column / 3)) {
                    solved[(3 * place + *column as usize % 3) * size + row] = *value;
                }
            }
        }
        part.solve_in_place(&mut solved);
        let mut product = vec![DMat3::ZERO; contacts.len() * batch.len()];
        for (row, unknown) in part.unknowns().iter().enumerate() {
            let (columns, values) = self.contacts.row(*unknown as usize);
            for (column, value) in columns.iter().zip(values) {
                let first = contacts.partition_point(|contact| *contact < column / 3) * batch.len();
                for (place, block) in product[first..first + batch.len()].iter_mut().enumerate() {
                    for axis in 0..3 {
                        let moved = solved[(3 * place + axis) * size + row];
                        block.col_mut(axis)[*column as usize % 3] += value * moved;
                    }
                }
            }
        }
        let pairs = contacts
            .iter()
            .flat_map(|row| batch.iter().map(move |column| (*row, *column)));
        let entries = pairs.zip(product);
        entries
            .map(|((row, column), block)| (row, column, block))
            .collect()
    }

    /// v = M⁻¹(H r + f).
    pub fn velocities(&self, factor: &MassFactor, impulses: &[DVec3]) -> Vec<f64> {
        let mut force = self.contacts.times(&flat(impulses));
        for (sum, f) in force.iter_mut().zip(&self.force) {
            *sum += f;
        }
        factor.solve(&force)
    }

    /// u = Hᵀ v + w.
    pub fn relative_velocities(&self, velocities: &[f64]) -> Vec<DVec3> {
        let moved = self.contacts.transposed_times(velocities);
        let pairs = moved.chunks_exact(3).zip(&self.kinematic);
        pairs.map(|(u, w)| DVec3::from_slice(u) + *w).collect()
    }

    /// The error as Siconos reports it: that of the law, as [`DelassusProblem::natural_map_error`] with u = Hᵀ v + w, plus
    /// that of the motion, ‖M v − H r − f‖ / max(‖f‖, ‖M v‖, ‖H r‖). `condensed` is this problem in the impulses.
    pub fn natural_map_error(
        &self,
        condensed: &DelassusProblem,
        velocities: &[f64],
        impulses: &[DVec3],
    ) -> f64 {
        let relative = self.relative_velocities(velocities);
        let momentum = self.mass.times(velocities);
        let pushed = self.contacts.times(&flat(impulses));
        let sums = momentum.iter().zip(&pushed).zip(&self.force);
        let residual: Vec<f64> = sums.map(|((mv, hr), f)| mv - hr - f).collect();
        let norm = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
        let size = norm(&self.force).max(norm(&momentum)).max(norm(&pushed));
        let of_motion = match norm(&residual) {
            0.0 => 0.0,
            rest => rest / size,
        };
        condensed.natural_map_error_of(impulses, &relative) + of_motion
    }
}

/// The components of vectors, one after the other.
pub(crate) fn flat(vectors: &[DVec3]) -> Vec<f64> {
    vectors
        .iter()
        .flat_map(|vector| vector.to_array())
        .collect()
}
