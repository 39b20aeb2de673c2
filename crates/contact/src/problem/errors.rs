//! Errors of a solution, in metres: its distance from the contact law and from the equations of
//! motion.

use glam::DVec3;
use rayon::prelude::*;

use super::NodalProblem;
use crate::law;
use crate::system::SystemFactor;

/// Entries per parallel task.
const CHUNK_SIZE: usize = 2048;

/// Distance of an approximate solution from a solution (m).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Errors {
    /// Contact error: distance from the law of Signorini and Coulomb.
    pub contact: f64,
    /// Momentum error: distance from the equations of motion with the reported impulses.
    pub momentum: f64,
}

impl Errors {
    /// The larger of the two; NaN if one is NaN.
    pub fn largest(&self) -> f64 {
        nan_max(self.contact, self.momentum)
    }
}

/// The larger of two numbers; NaN if one is NaN, unlike [`f64::max`].
pub(crate) fn nan_max(one: f64, other: f64) -> f64 {
    if other <= one || one.is_nan() {
        one
    } else {
        other
    }
}

/// The largest of `count` numbers and 0, in parallel; NaN if one is NaN.
pub(crate) fn par_nan_max(count: usize, number: impl Fn(usize) -> f64 + Sync) -> f64 {
    let chunks = (0..count.div_ceil(CHUNK_SIZE))
        .into_par_iter()
        .map(|chunk| {
            let indices = chunk * CHUNK_SIZE..count.min((chunk + 1) * CHUNK_SIZE);
            indices.map(&number).fold(0.0, nan_max)
        });
    let of_chunks: Vec<f64> = chunks.collect();
    of_chunks.into_iter().fold(0.0, nan_max)
}

impl NodalProblem {
    /// s_c = Σ_j b_cj²/m_j (1/kg): the inverse effective mass of a contact whose nodes move
    /// independently.
    pub fn inverse_effective_mass(&self, contact: usize) -> f64 {
        let stencil = self.contacts.stencil(contact).iter();
        stencil
            .map(|(node, weight)| weight * weight / self.masses[*node as usize])
            .sum()
    }

    /// The pair (û, r̂) in the law, with compliance and cohesion: û_N = u_N + (κ/h²) r_N and
    /// r̂ = r + hξn.
    pub fn law_pair(&self, contact: usize, velocity: DVec3, impulse: DVec3) -> (DVec3, DVec3) {
        let of = &self.contacts[contact];
        let yielding = of.compliance / (self.step * self.step) * impulse.dot(of.normal);
        let yielding = velocity + of.normal * yielding;
        (yielding, of.law_impulse(self.step, impulse))
    }

    /// h · max_c ‖s_c r̂_c − P_Kμ(s_c r̂_c − ũ_c)‖ (m). Without divisions, and therefore valid for
    /// μ = 0, open contacts and s_c = 0.
    pub fn contact_error(&self, velocities: &[f64], impulses: &[DVec3]) -> f64 {
        let error = |contact: usize| {
            let velocity = self.relative_velocity(contact, velocities);
            let (u, r) = self.law_pair(contact, velocity, impulses[contact]);
            let of = &self.contacts[contact];
            let scaled = r * self.inverse_effective_mass(contact);
            law::natural_map_about(of.normal, of.friction, u, scaled, 1.0).length()
        };
        self.step * par_nan_max(self.contacts.len(), error)
    }

    /// ρ = A v − f − Bᵀ r (N s); zero at held degrees of freedom.
    pub fn residual(&self, velocities: &[f64], impulses: &[DVec3]) -> Vec<f64> {
        let mut residual = vec![0.0; self.system.dofs()];
        self.system.multiply(velocities, &mut residual);
        let mut forces = self.force.clone();
        self.add_impulses(impulses, &mut forces);
        let entries = residual
            .par_iter_mut()
            .zip(&forces)
            .with_min_len(CHUNK_SIZE);
        entries.for_each(|(rho, force)| *rho -= force);
        residual
    }

    /// h · max_j ‖(A⁻¹ρ)_j‖ (m): the distance of each point from its position under the reported
    /// impulses. `factor` is that of A.
    pub fn momentum_error(
        &self,
        factor: &SystemFactor,
        velocities: &[f64],
        impulses: &[DVec3],
    ) -> f64 {
        let residual = self.residual(velocities, impulses);
        self.displacement(factor, residual)
    }

    /// h · max_j ‖(A⁻¹(∇𝒜(v) − Bᵀr))_j‖ (m), where `gradient` is ∇𝒜 at the accepted velocities.
    pub fn nonlinear_error(
        &self,
        factor: &SystemFactor,
        gradient: &[f64],
        impulses: &[DVec3],
    ) -> f64 {
        let mut residual: Vec<f64> = gradient.iter().map(|entry| -entry).collect();
        self.add_impulses(impulses, &mut residual);
        for (entry, is_held) in residual.iter_mut().zip(self.system.held()) {
            if *is_held {
                *entry = 0.0;
            }
        }
        self.displacement(factor, residual)
    }

    /// Both errors of a solution; `factor` is that of A.
    pub fn errors(&self, factor: &SystemFactor, velocities: &[f64], impulses: &[DVec3]) -> Errors {
        Errors {
            contact: self.contact_error(velocities, impulses),
            momentum: self.momentum_error(factor, velocities, impulses),
        }
    }

    /// h · max_j ‖(A⁻¹ρ)_j‖, with lever arms for twists (m).
    fn displacement(&self, factor: &SystemFactor, mut residual: Vec<f64>) -> f64 {
        factor.solve_in_place(&self.system, &mut residual);
        self.largest_displacement(&residual)
    }

    /// h · max_j ‖v_j‖, with lever arms for twists (m).
    pub fn largest_displacement(&self, velocities: &[f64]) -> f64 {
        let offsets = &self.system.node_offset;
        let at_nodes = par_nan_max(offsets.len(), |node| {
            DVec3::from_slice(&velocities[offsets[node]..]).length()
        });
        let at_twists = par_nan_max(self.lever_arms.len(), |index| {
            let (dof, arm) = self.lever_arms[index];
            (velocities[dof] * arm).abs()
        });
        self.step * nan_max(at_nodes, at_twists)
    }
}

/// Tolerance of both errors for a solver (m): the tolerance of the scene, reduced so that bodies at
/// rest do not creep. An error of ε metres in a step is an acceleration of ε/h². With a thousandth
/// of gravity, the slope at which a block slides is μ = tan α to half a percent.
pub fn stopping_tolerance(tolerance: f64, gravity: f64, step: f64) -> f64 {
    if gravity > 0.0 {
        tolerance.min(1e-3 * gravity * step * step)
    } else {
        tolerance
    }
}
