//! Contact problems with general matrices: M v = H r + f, u = Hᵀ v + w, where (u, r) of every
//! contact satisfies the law of Signorini and Coulomb.
//!
//! This is the global form of FCLIB (Acary, Brémond, Koziara and Pérignon 2014). Unknowns are
//! arbitrary, and the columns of H are in the local axes (normal, tangent, tangent) of the
//! contacts. M is block diagonal: a connected component is a body, or a single unknown of a rigid
//! body. Components are factorized separately, which keeps the condensation to the impulses
//! ([`GlobalProblem::condense`]) cheap and W sparse.

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

/// Contacts per batch of columns of M⁻¹H. Limits the memory for large bodies.
const CONTACTS_PER_BATCH: usize = 32;

/// Limit on the blocks of W (3 GB).
const MAX_BLOCKS: usize = 40_000_000;

/// A frictional contact problem with general matrices.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GlobalProblem {
    /// Square matrix M.
    pub mass: SparseRows,
    /// Matrix H, three columns per contact.
    pub contacts: SparseRows,
    /// Right-hand side f.
    pub force: Vec<f64>,
    /// Constant relative velocity w of each contact.
    pub kinematic: Vec<DVec3>,
    /// μ of each contact.
    pub friction: Vec<f64>,
}

/// Reason why a problem is not valid or cannot be condensed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GlobalError {
    /// A size does not match the other sizes.
    #[error("{what} is {found}, but must be {wanted}")]
    Size {
        /// Name of the size.
        what: &'static str,
        /// Actual value.
        found: usize,
        /// Value required by the other sizes.
        wanted: usize,
    },
    /// An entry is not finite.
    #[error("{what} is not finite at {place}")]
    NotFinite {
        /// Name of the matrix or vector.
        what: &'static str,
        /// Row or contact.
        place: usize,
    },
    /// A coefficient of friction is negative.
    #[error("contact {contact}: the coefficient of friction is negative")]
    NegativeFriction {
        /// The contact.
        contact: usize,
    },
    /// M is singular.
    #[error("M is singular at or near row {row}; every unknown needs a mass")]
    Singular {
        /// First row of the singular component of M.
        row: usize,
    },
    /// There is not enough memory to factorize M.
    #[error("there is not enough memory to factorize the component of M at row {row}")]
    Memory {
        /// First row of the component.
        row: usize,
    },
    /// Too many contacts act on one body.
    #[error(
        "W would have {blocks} blocks of 3×3, more than {MAX_BLOCKS}; \
         too many contacts act on the same body"
    )]
    TooLarge {
        /// Number of blocks.
        blocks: usize,
    },
    /// The condensed problem is not valid.
    #[error("the condensed problem is not valid: {0}")]
    Condensed(#[from] DelassusError),
}

impl GlobalProblem {
    /// Problem with checked sizes and values.
    ///
    /// # Errors
    /// If sizes differ, an entry is not finite, or a coefficient of friction is negative.
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

    /// Factorizes the components of M.
    ///
    /// # Errors
    /// If M is singular, or there is not enough memory.
    pub fn factorize(&self) -> Result<MassFactor, GlobalError> {
        MassFactor::new(&self.mass)
    }

    /// Problem in the impulses: W = Hᵀ M⁻¹ H, q = Hᵀ M⁻¹ f + w.
    ///
    /// # Errors
    /// If W would be too large, or is not finite.
    pub fn condense(&self, factor: &MassFactor) -> Result<DelassusProblem, GlobalError> {
        let components = factor.components().par_iter();
        let contacts: Vec<Vec<u32>> = components.map(|it| self.contacts_on(it)).collect();
        let blocks = contacts.iter().map(|contacts| contacts.len().pow(2)).sum();
        if blocks > MAX_BLOCKS {
            return Err(GlobalError::TooLarge { blocks });
        }
        let components = factor.components().iter().zip(&contacts);
        let tasks: Vec<_> = components
            .flat_map(|(component, contacts)| {
                let batches = contacts.chunks(CONTACTS_PER_BATCH);
                batches.map(move |batch| (component, contacts, batch))
            })
            .collect();
        let blocks: Vec<Vec<(u32, u32, DMat3)>> = tasks
            .into_par_iter()
            .map(|(component, contacts, batch)| self.condense_batch(component, contacts, batch))
            .collect();
        let operator = BlockRows::new(self.friction.len(), blocks.into_iter().flatten());
        let free = self.relative_velocities(&factor.solve(&self.force));
        Ok(DelassusProblem::new(operator, free, self.friction.clone())?)
    }

    /// Contacts that act on a component of M, ascending.
    fn contacts_on(&self, component: &Component) -> Vec<u32> {
        let unknowns = component.unknowns().iter();
        let columns = unknowns.flat_map(|unknown| self.contacts.row(*unknown as usize).0);
        let mut contacts: Vec<u32> = columns.map(|column| column / 3).collect();
        contacts.sort_unstable();
        contacts.dedup();
        contacts
    }

    /// Entries of W from one component of M: the columns of the contacts `batch`, in the rows of
    /// all contacts on the component.
    fn condense_batch(
        &self,
        component: &Component,
        contacts: &[u32],
        batch: &[u32],
    ) -> Vec<(u32, u32, DMat3)> {
        let (size, width) = (component.unknowns().len(), 3 * batch.len());
        let mut solved = vec![0.0; size * width];
        for (row, unknown) in component.unknowns().iter().enumerate() {
            let (columns, values) = self.contacts.row(*unknown as usize);
            for (column, value) in columns.iter().zip(values) {
                if let Ok(place) = batch.binary_search(&(column / 3)) {
                    solved[(3 * place + *column as usize % 3) * size + row] = *value;
                }
            }
        }
        component.solve_in_place(&mut solved);
        let mut product = vec![DMat3::ZERO; contacts.len() * batch.len()];
        for (row, unknown) in component.unknowns().iter().enumerate() {
            let (columns, values) = self.contacts.row(*unknown as usize);
            for (column, value) in columns.iter().zip(values) {
                let first = contacts.partition_point(|contact| *contact < column / 3) * batch.len();
                for (place, block) in product[first..first + batch.len()].iter_mut().enumerate() {
                    for axis in 0..3 {
                        let velocity = solved[(3 * place + axis) * size + row];
                        block.col_mut(axis)[*column as usize % 3] += value * velocity;
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
        let products = self.contacts.transposed_times(velocities);
        let pairs = products.chunks_exact(3).zip(&self.kinematic);
        pairs.map(|(u, w)| DVec3::from_slice(u) + *w).collect()
    }

    /// Error as reported by Siconos: that of the contact law, as
    /// [`DelassusProblem::natural_map_error`] with u = Hᵀ v + w, plus that of the equations of
    /// motion, ‖M v − H r − f‖ / max(‖f‖, ‖M v‖, ‖H r‖). `condensed` is this problem in the
    /// impulses.
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
        let motion_error = match norm(&residual) {
            0.0 => 0.0,
            rest => rest / size,
        };
        condensed.natural_map_error_with(impulses, &relative) + motion_error
    }
}

/// Concatenated components of vectors.
pub(crate) fn flat(vectors: &[DVec3]) -> Vec<f64> {
    vectors
        .iter()
        .flat_map(|vector| vector.to_array())
        .collect()
}
