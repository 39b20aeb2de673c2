//! Contact problems in the impulses: u = W r + q, where (u, r) of every contact satisfies the law
//! of Signorini and Coulomb.
//!
//! Contacts have local axes (normal, tangent, tangent). The Delassus operator W = B A⁻¹ Bᵀ maps
//! impulses to changes of relative velocities. It is positive semidefinite up to rounding, often
//! singular (then r is not unique), and slightly unsymmetric in some files. Problems come from
//! FCLIB files or from nodal problems.

pub mod nodal;
#[cfg(test)]
pub(crate) mod tests;

use glam::DVec3;

use crate::block_rows::BlockRows;
use crate::law;
use crate::problem::nan_max;
use crate::symmetric::spectral_norm;

/// A frictional contact problem in the impulses.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DelassusProblem {
    /// Delassus operator W.
    pub operator: BlockRows,
    /// Free relative velocity q of each contact, without impulses.
    pub free: Vec<DVec3>,
    /// μ of each contact.
    pub friction: Vec<f64>,
}

/// Errors of impulses.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DelassusErrors {
    /// See [`DelassusProblem::natural_map_error`].
    pub natural_map: f64,
    /// See [`DelassusProblem::scaled_error`].
    pub scaled: f64,
}

impl DelassusErrors {
    /// Larger of the two; NaN if one is.
    pub fn largest(&self) -> f64 {
        nan_max(self.natural_map, self.scaled)
    }
}

/// Reason why a problem is not valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DelassusError {
    /// Sizes of vectors and matrix differ.
    #[error(
        "{contacts} contacts in W, but {free} relative velocities in q \
         and {friction} coefficients of friction"
    )]
    Sizes {
        /// Rows of W.
        contacts: usize,
        /// Length of q.
        free: usize,
        /// Length of μ.
        friction: usize,
    },
    /// An entry is not finite.
    #[error("contact {contact}: {what} is not finite")]
    NotFinite {
        /// The contact.
        contact: usize,
        /// W, q or μ.
        what: &'static str,
    },
    /// A coefficient of friction is negative.
    #[error("contact {contact}: the coefficient of friction is negative")]
    NegativeFriction {
        /// The contact.
        contact: usize,
    },
}

impl DelassusProblem {
    /// Problem with checked sizes and values.
    ///
    /// # Errors
    /// If sizes differ, an entry is not finite, or a coefficient of friction is negative.
    pub fn new(
        operator: BlockRows,
        free: Vec<DVec3>,
        friction: Vec<f64>,
    ) -> Result<Self, DelassusError> {
        let contacts = operator.rows();
        if free.len() != contacts || friction.len() != contacts {
            return Err(DelassusError::Sizes {
                contacts,
                free: free.len(),
                friction: friction.len(),
            });
        }
        let not_finite = |contact, what| Err(DelassusError::NotFinite { contact, what });
        if let Some(contact) = operator.first_not_finite() {
            return not_finite(contact, "W");
        }
        if let Some(contact) = free.iter().position(|q| !q.is_finite()) {
            return not_finite(contact, "q");
        }
        if let Some(contact) = friction.iter().position(|mu| !mu.is_finite()) {
            return not_finite(contact, "μ");
        }
        if let Some(contact) = friction.iter().position(|mu| *mu < 0.0) {
            return Err(DelassusError::NegativeFriction { contact });
        }
        Ok(Self {
            operator,
            free,
            friction,
        })
    }

    /// Number of contacts.
    pub fn contacts(&self) -> usize {
        self.free.len()
    }

    /// u = W r + q.
    pub fn velocities(&self, impulses: &[DVec3]) -> Vec<DVec3> {
        let mut velocities = vec![DVec3::ZERO; self.contacts()];
        self.operator.multiply(impulses, &mut velocities);
        for (u, q) in velocities.iter_mut().zip(&self.free) {
            *u += *q;
        }
        velocities
    }

    /// Impulses projected on the friction cones.
    pub fn projected(&self, impulses: &[DVec3]) -> Vec<DVec3> {
        let contacts = impulses.iter().zip(&self.friction);
        contacts.map(|(r, mu)| law::project(*mu, *r)).collect()
    }

    /// 1/‖W_cc‖ (kg), with the spectral norm; 0 if W_cc is zero.
    pub fn inverse_scale(&self, contact: usize) -> f64 {
        let norm = spectral_norm(self.operator.diagonal(contact));
        if norm > 0.0 { norm.recip() } else { 0.0 }
    }

    /// Error of the natural map with ρ = 1, as reported by Siconos: ‖r − P_K(r − ũ)‖ / max(‖q‖,
    /// ‖r‖, ‖u‖). It adds impulses and velocities, so it depends on the units.
    pub fn natural_map_error(&self, impulses: &[DVec3]) -> f64 {
        self.natural_map_error_with(impulses, &self.velocities(impulses))
    }

    /// [`DelassusProblem::natural_map_error`] with given relative velocities.
    pub(crate) fn natural_map_error_with(&self, impulses: &[DVec3], velocities: &[DVec3]) -> f64 {
        let size = norm(&self.free).max(norm(impulses)).max(norm(velocities));
        ratio(self.natural_map(impulses, velocities, |_| 1.0), size)
    }

    /// Dimensionless error: ‖r − P_K(r − ρ_c ũ)‖ / max(‖r‖, ‖ρ_c q‖), where ρ_c = 1/‖W_cc‖.
    pub fn scaled_error(&self, impulses: &[DVec3]) -> f64 {
        let velocities = self.velocities(impulses);
        let scales: Vec<f64> = (0..self.contacts())
            .map(|c| self.inverse_scale(c))
            .collect();
        let free = self.free.iter().zip(&scales);
        let free = free.map(|(q, rho)| (*q * *rho).length_squared());
        let size = norm(impulses).max(free.sum::<f64>().sqrt());
        ratio(self.natural_map(impulses, &velocities, |c| scales[c]), size)
    }

    /// Both errors.
    pub fn errors(&self, impulses: &[DVec3]) -> DelassusErrors {
        DelassusErrors {
            natural_map: self.natural_map_error(impulses),
            scaled: self.scaled_error(impulses),
        }
    }

    /// ‖r − P_K(r − ρ_c ũ)‖.
    fn natural_map(&self, impulses: &[DVec3], u: &[DVec3], rho: impl Fn(usize) -> f64) -> f64 {
        let natural_map = |contact: usize| {
            let friction = self.friction[contact];
            law::natural_map(friction, u[contact], impulses[contact], rho(contact))
        };
        let squares = (0..self.contacts()).map(|contact| natural_map(contact).length_squared());
        squares.sum::<f64>().sqrt()
    }
}

fn norm(vectors: &[DVec3]) -> f64 {
    vectors
        .iter()
        .map(|v| v.length_squared())
        .sum::<f64>()
        .sqrt()
}

/// Relative error; 0/0 is 0.
fn ratio(error: f64, size: f64) -> f64 {
    if error == 0.0 { 0.0 } else { error / size }
}
