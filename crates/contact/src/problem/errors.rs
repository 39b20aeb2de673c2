//! The yardstick: how far an answer is from the law and from the equations of motion, in metres.

use glam::DVec3;
use rayon::prelude::*;

use super::NodalProblem;
use crate::law;
use crate::system::SystemFactor;

/// Numbers that one task looks at.
const CHUNK: usize = 2048;

/// How far an answer is from a solution (m).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Errors {
    /// From Signorini's and Coulomb's law.
    pub contact: f64,
    /// From the equations of motion with the impulses reported.
    pub momentum: f64,
}

impl Errors {
    /// The larger of the two; not a number if one is not.
    pub fn largest(&self) -> f64 {
        larger(self.contact, self.momentum)
    }
}

/// Not `max`, which passes over what is no number.
pub(crate) fn larger(one: f64, other: f64) -> f64 {
    if other <= one || one.is_nan() {
        one
    } else {
        other
    }
}

/// The largest of many numbers, not a number if one is not; on all threads.
pub(crate) fn largest(count: usize, number: impl Fn(usize) -> f64 + Sync) -> f64 {
    let chunks = (0..count.div_ceil(CHUNK)).into_par_iter().map(|chunk| {
        let places = chunk * CHUNK..count.min((chunk + 1) * CHUNK);
        places.map(&number).fold(0.0, larger)
    });
    let of_chunks: Vec<f64> = chunks.collect();
    of_chunks.into_iter().fold(0.0, larger)
}

impl NodalProblem {
    /// s_c = Σ_j b_cj²/m_j (1/kg): how much an impulse moves a contact if nodes move alone.
    pub fn lightness(&self, contact: usize) -> f64 {
        let stencil = self.contacts.stencil(contact).iter();
        stencil
            .map(|(node, weight)| weight * weight / self.masses[*node as usize])
            .sum()
    }

    /// The pair that the law is about: û_N = u_N + (κ/h²) r_N, and r̂ = r + hξn, the impulse beyond what cohesion holds.
    pub fn law_pair(&self, contact: usize, velocity: DVec3, impulse: DVec3) -> (DVec3, DVec3) {
        let of = &self.contacts[contact];
        let yielding = of.compliance / (self.step * self.step) * impulse.dot(of.normal);
        let held = self.step * of.cohesion;
        (velocity + of.normal * yielding, impulse + of.normal * held)
    }

    /// h · max_c ‖s_c r̂_c − P_Kμ(s_c r̂_c − ũ_c)‖ (m). There is no division in it, so it holds for μ = 0, open contacts
    /// and s_c = 0.
    pub fn contact_error(&self, velocities: &[f64], impulses: &[DVec3]) -> f64 {
        let error = |contact: usize| {
            let velocity = self.relative_velocity(contact, velocities);
            let (u, r) = self.law_pair(contact, velocity, impulses[contact]);
            let of = &self.contacts[contact];
            let scaled = r * self.lightness(contact);
            law::natural_map_about(of.normal, of.friction, u, scaled, 1.0).length()
        };
        self.step * largest(self.contacts.len(), error)
    }

    /// ρ = A v − f − Bᵀ r (N s); zero where something is held.
    pub fn residual(&self, velocities: &[f64], impulses: &[DVec3]) -> Vec<f64> {
        let mut residual = vec![0.0; self.system.dofs()];
        self.system.multiply(velocities, &mut residual);
        let mut forces = self.force.clone();
        self.add_impulses(impulses, &mut forces);
        let entries = residual.par_iter_mut().zip(&forces).with_min_len(CHUNK);
        entries.for_each(|(rho, force)| *rho -= force);
        residual
    }

    /// h · max_j ‖(A⁻¹ρ)_j‖ (m): how far each point is from where the reported impulses would put it. `factor` is that
    /// of A.
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
        for (entry, is_cut) in residual.iter_mut().zip(self.system.cut()) {
            if *is_cut {
                *entry = 0.0;
            }
        }
        self.displacement(factor, residual)
    }

    /// Both errors of an answer; `factor` is that of A.
    pub fn errors(&self, factor: &SystemFactor, velocities: &[f64], impulses: &[DVec3]) -> Errors {
        Errors {
            contact: self.contact_error(velocities, impulses),
            momentum: self.momentum_error(factor, velocities, impulses),
        }
    }

    /// h · max_j ‖(A⁻¹ρ)_j‖, twists by their arms (m).
    fn displacement(&self, factor: &SystemFactor, mut residual: Vec<f64>) -> f64 {
        factor.solve_in_place(&self.system, &mut residual);
        self.largest_displacement(&residual)
    }

    /// h · max_j ‖v_j‖, twists by their arms (m).
    pub fn largest_displacement(&self, velocities: &[f64]) -> f64 {
        let offsets = &self.system.node_offset;
        let at_nodes = largest(offsets.len(), |node| {
            DVec3::from_slice(&velocities[offsets[node]..]).length()
        });
        let beside = largest(self.arms.len(), |place| {
            let (dof, arm) = self.arms[place];
            (velocities[dof] * arm).abs()
        });
        self.step * larger(at_nodes, beside)
    }
}

/// What a solver may leave of both errors (m): the tolerance, but never so much that bodies at rest creep. An error of ε metres in a
/// step is an acceleration of ε/h²; a thousandth of gravity keeps μ = tan α to half a percent.
pub fn stopping_tolerance(tolerance: f64, gravity: f64, step: f64) -> f64 {
    match gravity > 0.0 {
        true => tolerance.min(1e-3 * gravity * step * step),
        false => tolerance,
    }
}
