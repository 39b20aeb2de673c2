//! Factors of A, computed on first use: a solver that only multiplies with A causes no
//! factorization.

use std::sync::Arc;

use super::{BodyFactor, System, SystemFactor, SystemFactorError};
use crate::banded::{BandedFactor, BandedLayout};
use crate::cholesky::Factor;
use crate::factor_error::FactorError;
use crate::symbolic::Symbolic;

/// Structure of the factor of a body.
#[derive(Clone, Debug)]
pub enum FactorPlan {
    /// Symbolic factorization of a sparse matrix.
    Blocks(Arc<Symbolic>),
    /// Layout of one rod of a batch, and the number of rods.
    Rods(BandedLayout, usize),
}

impl FactorPlan {
    fn allocate(&self) -> Result<BodyFactor, FactorError> {
        Ok(match self {
            Self::Blocks(symbolic) => BodyFactor::Blocks(Factor::new(symbolic.clone())?),
            Self::Rods(layout, count) => {
                BodyFactor::Rods(BandedFactor::new(layout.clone(), *count))
            }
        })
    }
}

/// Factors of a system. They are allocated on first use; stale ones are factorized again.
#[derive(Debug, Default)]
pub struct FactorCache {
    /// One plan per body. Without plans, the patterns of the system are analyzed on first use.
    plans: Vec<FactorPlan>,
    factor: Option<SystemFactor>,
    /// Whether the matrix of each body has changed since its factorization; empty if all have.
    is_stale: Vec<bool>,
    factorizations: usize,
}

impl FactorCache {
    /// Empty cache for systems whose bodies have these plans.
    pub fn new(plans: Vec<FactorPlan>) -> Self {
        Self {
            plans,
            ..Self::default()
        }
    }

    /// Factors of a system. Stale bodies are factorized first.
    ///
    /// # Errors
    /// If there is not enough memory, or a matrix is not finite or not positive definite.
    pub fn get(&mut self, system: &System) -> Result<&SystemFactor, SystemFactorError> {
        if self.fresh().is_none() {
            self.refresh(system)?;
        }
        match &self.factor {
            Some(factor) => Ok(factor),
            None => unreachable!("the factors were computed above"),
        }
    }

    fn refresh(&mut self, system: &System) -> Result<(), SystemFactorError> {
        let mut factor = match self.factor.take() {
            Some(factor) => factor,
            None => self.allocate(system)?,
        };
        // After a failure all bodies are stale.
        let is_stale = std::mem::take(&mut self.is_stale);
        let is_chosen = |body: usize| is_stale.get(body).is_none_or(|is_stale| *is_stale);
        self.factorizations += 1;
        let result = factor.factorize_bodies(system, is_chosen);
        self.factor = Some(factor);
        if result.is_ok() {
            self.is_stale.resize(system.bodies.len(), false);
        }
        result
    }

    /// The factors, if they exist and none is stale.
    pub fn fresh(&self) -> Option<&SystemFactor> {
        let factor = self.factor.as_ref()?;
        let is_fresh = self.is_stale.len() == factor.bodies() && !self.is_stale.contains(&true);
        is_fresh.then_some(factor)
    }

    /// Marks all bodies as stale.
    pub fn invalidate(&mut self) {
        self.is_stale.clear();
    }

    /// Marks bodies as stale.
    pub fn invalidate_bodies(&mut self, bodies: impl IntoIterator<Item = usize>) {
        for body in bodies {
            if let Some(is_stale) = self.is_stale.get_mut(body) {
                *is_stale = true;
            }
        }
    }

    /// Number of factorizations so far.
    pub fn factorizations(&self) -> usize {
        self.factorizations
    }

    fn allocate(&self, system: &System) -> Result<SystemFactor, SystemFactorError> {
        if self.plans.len() != system.bodies.len() {
            return SystemFactor::for_system(system);
        }
        let plans = self.plans.iter().enumerate();
        let factors = plans.map(|(body, plan)| {
            plan.allocate()
                .map_err(|source| SystemFactorError { body, source })
        });
        factors.collect::<Result<_, _>>().map(SystemFactor::new)
    }
}

#[cfg(test)]
mod tests;
