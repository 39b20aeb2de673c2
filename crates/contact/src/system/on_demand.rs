//! The factors of A, made when somebody asks for them: a solver that multiplies with A never causes
//! a factorization.

use std::sync::Arc;

use super::{BodyFactor, System, SystemFactor, SystemFactorError};
use crate::banded::{BandedFactor, BandedLayout};
use crate::cholesky::{Factor, Symbolic};

/// What is known of the factor of a body before it is made.
#[derive(Clone, Debug)]
pub enum FactorPlan {
    /// Of a sparse matrix: its symbolic factorization.
    Blocks(Arc<Symbolic>),
    /// Of a batch of rods: the layout of one, and their number.
    Rods(BandedLayout, usize),
}

impl FactorPlan {
    fn allocate(&self) -> Result<BodyFactor, crate::cholesky::FactorError> {
        Ok(match self {
            Self::Blocks(symbolic) => BodyFactor::Blocks(Factor::new(symbolic.clone())?),
            Self::Rods(layout, count) => {
                BodyFactor::Rods(BandedFactor::new(layout.clone(), *count))
            }
        })
    }
}

/// Factors of a system that are allocated at first use, and factorized where they are stale.
#[derive(Debug, Default)]
pub struct Factors {
    /// One plan per body; without plans, the patterns of the system are analyzed at first use.
    plans: Vec<FactorPlan>,
    factor: Option<SystemFactor>,
    /// Whether the matrix of each body has changed since it was factorized; empty if all have.
    is_stale: Vec<bool>,
    factorizations: usize,
}

impl Factors {
    /// For systems whose bodies have these plans.
    pub fn new(plans: Vec<FactorPlan>) -> Self {
        Self {
            plans,
            ..Self::default()
        }
    }

    /// The factors of a system: those of bodies that have changed are made anew.
    ///
    /// # Errors
    /// If there is not enough memory, or a matrix is not finite or not positive definite.
    pub fn of(&mut self, system: &System) -> Result<&SystemFactor, SystemFactorError> {
        if self.fresh().is_none() {
            self.refresh(system)?;
        }
        match &self.factor {
            Some(factor) => Ok(factor),
            None => unreachable!("factors that were just made"),
        }
    }

    fn refresh(&mut self, system: &System) -> Result<(), SystemFactorError> {
        let mut factor = match self.factor.take() {
            Some(factor) => factor,
            None => self.allocate(system)?,
        };
        // Should it fail, everything is stale.
        let is_stale = std::mem::take(&mut self.is_stale);
        let is_chosen = |body: usize| is_stale.get(body).is_none_or(|is_stale| *is_stale);
        self.factorizations += 1;
        let result = factor.factorize_some(system, is_chosen);
        self.factor = Some(factor);
        if result.is_ok() {
            self.is_stale.resize(system.bodies.len(), false);
        }
        result
    }

    /// The factors, if they are there and none is stale.
    pub fn fresh(&self) -> Option<&SystemFactor> {
        let factor = self.factor.as_ref()?;
        let is_fresh = self.is_stale.len() == factor.bodies() && !self.is_stale.contains(&true);
        is_fresh.then_some(factor)
    }

    /// All matrices have changed.
    pub fn invalidate(&mut self) {
        self.is_stale.clear();
    }

    /// The matrices of some bodies have changed.
    pub fn invalidate_bodies(&mut self, bodies: impl IntoIterator<Item = usize>) {
        for body in bodies {
            if let Some(is_stale) = self.is_stale.get_mut(body) {
                *is_stale = true;
            }
        }
    }

    /// How often anything was factorized so far.
    pub fn factorizations(&self) -> usize {
        self.factorizations
    }

    fn allocate(&self, system: &System) -> Result<SystemFactor, SystemFactorError> {
        if self.plans.len() != system.bodies.len() {
            return SystemFactor::of(system);
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
