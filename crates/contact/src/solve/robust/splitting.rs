//! ADMM on the associated law, with De Saxcé's shift updated in every iteration.
//!
//! r⁺ = (W + ρ)⁻¹ (ρ z + w − q − s n), z⁺ = P_K(r⁺ − w/ρ), w⁺ = w + ρ (z⁺ − r⁺), where w is the
//! multiplier, equal to ũ at convergence, and s = μ ‖w_T‖ is the shift between the associated law
//! and Coulomb's (Acary, Cadoux, Lemaréchal, Malick 2011). Over-relaxation and residual balancing
//! of ρ are those of Boyd et al. 2011, 3.4.

use glam::{DMat3, DVec2, DVec3};

use super::lu::Lu;
use super::scaled::Scaled;
use crate::law;

/// Factor of over-relaxation.
const RELAXATION: f64 = 1.6;

/// Initial ρ, relative to diagonal blocks of norm 1, and its bounds.
const INITIAL_PENALTY: f64 = 0.1;
const MIN_PENALTY: f64 = 1e-6;
const MAX_PENALTY: f64 = 1e2;

/// Iterations between two updates of ρ.
const BALANCE_INTERVAL: usize = 20;

/// ρ changes if the residuals call for a factor beyond this or below its inverse: a new ρ needs a
/// new factorization.
const BALANCE_THRESHOLD: f64 = 3.0;

/// ρ changes by at most this factor in an update.
const MAX_BALANCE_FACTOR: f64 = 10.0;

/// State of the iteration.
#[derive(Clone, Debug)]
pub(super) struct Splitting {
    /// z, in the cones.
    pub(super) impulses: Vec<DVec3>,
    /// w.
    pub(super) multipliers: Vec<DVec3>,
    /// ρ.
    penalty: f64,
    iterations: usize,
    is_factorized: bool,
}

impl Splitting {
    pub(super) fn new(impulses: Vec<DVec3>) -> Self {
        Self {
            multipliers: vec![DVec3::ZERO; impulses.len()],
            impulses,
            penalty: INITIAL_PENALTY,
            iterations: 0,
            is_factorized: false,
        }
    }

    /// Must be called when `lu` has the factors of another matrix.
    pub(super) fn invalidate_factors(&mut self) {
        self.is_factorized = false;
    }

    /// One iteration. `None` if W + ρ cannot be factorized.
    pub(super) fn iterate(&mut self, problem: &Scaled, lu: &mut Lu) -> Option<()> {
        let rho = self.penalty;
        if !self.is_factorized {
            lu.factorize(&problem.operator, |_| {
                DMat3::from_diagonal(DVec3::splat(rho))
            })?;
            self.is_factorized = true;
        }
        let mut r: Vec<DVec3> = (0..problem.contacts())
            .map(|c| {
                let (z, w) = (self.impulses[c], self.multipliers[c]);
                let shift = problem.friction[c] * DVec2::new(w.y, w.z).length();
                z * rho + w - problem.free[c] - DVec3::X * shift
            })
            .collect();
        lu.solve_in_place(&mut r);
        // Squared norms of r − z⁺, ρ (z⁺ − z), z⁺ and w⁺.
        let (mut primal, mut dual, mut impulse, mut multiplier) = (0.0, 0.0, 0.0, 0.0);
        for (c, r) in r.iter().enumerate() {
            let (z, w) = (self.impulses[c], self.multipliers[c]);
            let relaxed = *r * RELAXATION + z * (1.0 - RELAXATION);
            let next = law::project(problem.friction[c], relaxed - w / rho);
            self.multipliers[c] = w + (next - relaxed) * rho;
            self.impulses[c] = next;
            primal += (*r - next).length_squared();
            dual += (next - z).length_squared() * rho * rho;
            impulse += next.length_squared();
            multiplier += self.multipliers[c].length_squared();
        }
        self.iterations += 1;
        if self.iterations.is_multiple_of(BALANCE_INTERVAL) {
            self.balance((primal * multiplier / (dual * impulse)).sqrt());
        }
        Some(())
    }

    /// Updates ρ by the ratio of the primal to the dual residual, each relative to its variable.
    fn balance(&mut self, ratio: f64) {
        let factor = ratio.sqrt();
        let balanced = 1.0 / BALANCE_THRESHOLD..=BALANCE_THRESHOLD;
        if factor.is_finite() && !balanced.contains(&factor) {
            let penalty = self.penalty * factor.clamp(1.0 / MAX_BALANCE_FACTOR, MAX_BALANCE_FACTOR);
            self.penalty = penalty.clamp(MIN_PENALTY, MAX_PENALTY);
            self.is_factorized = false;
        }
    }
}
