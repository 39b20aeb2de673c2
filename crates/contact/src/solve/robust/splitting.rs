//! Alternating directions (ADMM) on the associated law, with De Saxcé's shift taken anew in every iteration.
//!
//! r⁺ = (W + ρ)⁻¹ (ρ z + w − q − s n), z⁺ = P_K(r⁺ − w/ρ), w⁺ = w + ρ (z⁺ − r⁺), where w is the multiplier, ũ in the end, and
//! s = μ ‖w_T‖ the shift that makes the associated law that of Coulomb (Acary, Cadoux, Lemaréchal, Malick 2011). Over-relaxation and
//! the choice of ρ by the residuals are those of Boyd et al. 2011, 3.4.

use glam::{DMat3, DVec2, DVec3};

use super::lu::Lu;
use super::scaled::Scaled;
use crate::law;

/// Over-relaxation.
const RELAXATION: f64 = 1.6;

/// ρ at first, next to diagonal blocks of norm 1, and where it stays.
const PENALTY: f64 = 0.1;
const PENALTIES: [f64; 2] = [1e-6, 1e2];

/// Iterations between two looks at ρ, and the imbalance that it stands: a new ρ is a new factorization.
const BALANCE: usize = 20;
const IMBALANCE: f64 = 3.0;

/// The state of the iteration.
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
            penalty: PENALTY,
            iterations: 0,
            is_factorized: false,
        }
    }

    /// Tells that the factors hold another matrix by now.
    pub(super) fn forget_factors(&mut self) {
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
        // Squares: r − z, ρ (z⁺ − z), z and w.
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
        if self.iterations.is_multiple_of(BALANCE) {
            self.balance((primal * multiplier / (dual * impulse)).sqrt());
        }
        Some(())
    }

    /// Changes ρ by the primal residual next to the dual one, each relative to its size.
    fn balance(&mut self, imbalance: f64) {
        let factor = imbalance.sqrt();
        if factor.is_finite() && !(1.0 / IMBALANCE..=IMBALANCE).contains(&factor) {
            let penalty = self.penalty * factor.clamp(0.1, 10.0);
            self.penalty = penalty.clamp(PENALTIES[0], PENALTIES[1]);
            self.is_factorized = false;
        }
    }
}
