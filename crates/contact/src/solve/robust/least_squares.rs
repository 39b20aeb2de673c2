//! Least squares of the natural map F(r) = r − P_K(r − ũ), by the Levenberg-Marquardt method: the
//! last resort of the search.
//!
//! Where the path of Newton's method ends in a fold, impulses that are nearly a solution are often
//! close to one whose residual is far below the tolerance. F has a generalized derivative J = 1 −
//! D (1 − G W), with D that of the projection and G that of ũ. A step solves (JᵀJ + λ) dr = −Jᵀ F,
//! which is sparse, symmetric and positive definite, and is accepted only if ‖F‖ decreases.

use std::sync::Arc;

use glam::{DMat3, DVec2, DVec3};

use super::scaled::Scaled;
use crate::block_sparse::{BlockPattern, BlockSparse};
use crate::cholesky::Factor;
use crate::law;
use crate::symbolic::Symbolic;

/// Initial λ and its bounds.
const INITIAL_DAMPING: f64 = 1e-3;
const MIN_DAMPING: f64 = 1e-12;
const MAX_DAMPING: f64 = 1e6;

/// Factors on λ after an accepted and after a rejected step.
const ACCEPTED_FACTOR: f64 = 0.2;
const REJECTED_FACTOR: f64 = 5.0;

/// The method, with its matrix and factors.
pub(super) struct LeastSquares<'a> {
    problem: &'a Scaled,
    normal: BlockSparse,
    factor: Factor,
    damping: f64,
}

impl<'a> LeastSquares<'a> {
    /// Allocates JᵀJ and its factor; `None` if memory runs out.
    pub(super) fn new(problem: &'a Scaled) -> Option<Self> {
        let rows = 0..problem.contacts();
        // Two contacts are coupled in JᵀJ if a row of J contains both.
        let pairs = rows.flat_map(|row| {
            let columns = problem.operator.row(row).0;
            let entries = columns.iter().enumerate();
            entries.flat_map(move |(index, one)| {
                columns[..index].iter().map(move |other| (*one, *other))
            })
        });
        let pattern = Arc::new(BlockPattern::new(problem.contacts(), pairs));
        let symbolic = Symbolic::analyze(&pattern).ok()?;
        Some(Self {
            problem,
            normal: BlockSparse::zeros(pattern),
            factor: Factor::new(Arc::new(symbolic)).ok()?,
            damping: INITIAL_DAMPING,
        })
    }

    /// Floating-point operations of one factorization.
    pub(super) fn operations(&self) -> f64 {
        self.factor.symbolic().operations()
    }

    /// Takes a step. Returns the ratio of the new ‖F‖ to the old, or `None` if no step decreases
    /// it.
    pub(super) fn step(&mut self, impulses: &mut Vec<DVec3>) -> Option<f64> {
        let before = self.residual(impulses);
        let gradient = self.gradient(impulses);
        while self.damping <= MAX_DAMPING {
            if let Some(next) = self.trial(impulses, &gradient) {
                let after = self.residual(&next);
                if after < before {
                    *impulses = next;
                    self.damping = (self.damping * ACCEPTED_FACTOR).max(MIN_DAMPING);
                    return Some(after / before);
                }
            }
            self.damping *= REJECTED_FACTOR;
        }
        self.damping = INITIAL_DAMPING;
        None
    }

    /// ‖F‖.
    pub(super) fn residual(&self, impulses: &[DVec3]) -> f64 {
        let velocities = self.problem.velocities(impulses);
        let squares = (0..impulses.len()).map(|contact| {
            let mu = self.problem.friction[contact];
            law::natural_map(mu, velocities[contact], impulses[contact], 1.0).length_squared()
        });
        squares.sum::<f64>().sqrt()
    }

    /// Jᵀ F. Also assembles JᵀJ.
    pub(super) fn gradient(&mut self, impulses: &[DVec3]) -> Vec<DVec3> {
        let velocities = self.problem.velocities(impulses);
        let pattern = self.normal.pattern().clone();
        self.normal.values.fill(DMat3::ZERO);
        let mut gradient = vec![DVec3::ZERO; impulses.len()];
        for row in 0..impulses.len() {
            let (mu, u) = (self.problem.friction[row], velocities[row]);
            let target = impulses[row] - law::associated(mu, u);
            let residual = impulses[row] - law::project(mu, target);
            let projection = law::project_derivative(mu, target);
            let drive = projection * associated_derivative(mu, u);
            let (columns, blocks) = self.problem.operator.row(row);
            let entries = columns.iter().zip(blocks).map(|(column, block)| {
                let own = if *column as usize == row {
                    DMat3::IDENTITY - projection
                } else {
                    DMat3::ZERO
                };
                (*column as usize, own + drive * *block)
            });
            let entries: Vec<(usize, DMat3)> = entries.collect();
            for (index, (one, block)) in entries.iter().enumerate() {
                gradient[*one] += block.transpose() * residual;
                for (other, left) in &entries[..=index] {
                    if let Some(slot) = pattern.slot(*one, *other) {
                        self.normal.values[slot] += block.transpose() * *left;
                    }
                }
            }
        }
        gradient
    }

    /// The impulses after a step with the current λ.
    fn trial(&mut self, impulses: &[DVec3], gradient: &[DVec3]) -> Option<Vec<DVec3>> {
        let mut damped = self.normal.clone();
        let pattern = damped.pattern().clone();
        for contact in 0..impulses.len() {
            let own = DMat3::from_diagonal(DVec3::splat(self.damping));
            damped.values[pattern.column(contact).start] += own;
        }
        self.factor.factorize(&damped).ok()?;
        let mut change: Vec<f64> = gradient.iter().flat_map(|g| (-*g).to_array()).collect();
        self.factor.solve_in_place(&mut change);
        let changes = change.chunks_exact(3).map(DVec3::from_slice);
        let next: Vec<DVec3> = impulses
            .iter()
            .zip(changes)
            .map(|(r, dr)| *r + dr)
            .collect();
        next.iter().all(|r| r.is_finite()).then_some(next)
    }
}

/// G, the derivative of ũ = u + μ‖u_T‖ n by u.
fn associated_derivative(mu: f64, u: DVec3) -> DMat3 {
    let mut derivative = DMat3::IDENTITY;
    let slip = DVec2::new(u.y, u.z).length();
    if slip > 0.0 {
        derivative.y_axis.x = mu * u.y / slip;
        derivative.z_axis.x = mu * u.z / slip;
    }
    derivative
}
