//! The impact of many contacts at once, in velocities: generalized reflections (Smith, Kaufman,
//! Vouga, Tamstorf and Grinspun, Reflections on Simultaneous Impact, 2012).
//!
//! All contacts have gap zero. While some approach each other, the inelastic impulses r of these
//! contacts alone are computed, and the velocities are reflected: v ← v + 2 M⁻¹Bᵀr. This keeps the
//! energy, and separates what approached. An impulse travels from contact to contact, so that a
//! cradle passes it to its last ball; one problem for all contacts would not.
//!
//! With v_L, the velocities after an impact without restitution, and v_G, those after one in which
//! the contacts with e ≥ e_k reflect, v⁺ = (1 − e_m) v_L + Σ_k (e_k − e_{k−1}) v_{G,k} for the
//! coefficients 0 < e_1 < … < e_m. This is a convex combination of states without penetration whose
//! energies are at most that before the impact, and so is v⁺. For a single coefficient the loss is
//! E (1 − e²) − e (1 − e) v_L·M (v_G − v_L), where E is the energy that the impact without
//! restitution loses. The last product is Σ u_N(v_L) r_N ≥ 0: the loss is between 0 and (1 − e²) E.
//!
//! Each projection is a [`NodalProblem`] in the change of velocity, for any solver. Its error does
//! not change energies: the length of a reflection is that at which the energy is exactly the same.

use glam::DVec3;
use reefknot_contact::problem::{Contact, Contacts, NodalProblem, WarmStart};
use reefknot_contact::solve::{Limits, NoRefinement, SolveError, Solver};
use reefknot_contact::system::FactorCache;

/// Rounds of reflections, at most. A cradle of n balls needs n, the corners of a box a few.
const MAX_ROUNDS: usize = 60;

/// Contacts that approach by less than this fraction of the fastest approach before the impact are
/// at rest.
const REST: f64 = 1e-6;

/// Tolerance of a solver, as a fraction of the fastest approach.
const TOLERANCE: f64 = 1e-9;

/// The contacts of an impact.
pub(super) struct SimultaneousImpact<'a> {
    /// Its matrix is the inertia, its contacts are those of the impact, k is prescribed motion.
    pub(super) problem: NodalProblem,
    /// Coefficient of restitution of each contact.
    pub(super) restitution: &'a [f64],
    pub(super) solver: Box<dyn Solver>,
    /// Iterations of a solve, at most.
    pub(super) iterations: usize,
}

/// Velocities, and the impulses (N s) of all contacts that led to them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Motion {
    pub(super) velocities: Vec<f64>,
    pub(super) impulses: Vec<DVec3>,
}

impl Motion {
    /// Adds a multiple of a change.
    fn add(&mut self, factor: f64, change: &Motion) {
        for (v, change) in self.velocities.iter_mut().zip(&change.velocities) {
            *v += factor * change;
        }
        for (r, change) in self.impulses.iter_mut().zip(&change.impulses) {
            *r += factor * *change;
        }
    }
}

/// A change of velocities by impulses, with its energies along a line: s Δ changes the kinetic
/// energy, without work of prescribed motion, by s · `slope` + s²/2 · `curvature` (J).
struct Change {
    motion: Motion,
    slope: f64,
    curvature: f64,
}

impl Change {
    /// The multiple at which the energy is least.
    fn least(&self) -> f64 {
        let least = -self.slope / self.curvature;
        if least.is_finite() {
            least.max(0.0)
        } else {
            0.0
        }
    }
}

impl SimultaneousImpact<'_> {
    /// The velocities after the impact, and its impulses.
    pub(super) fn resolve(&mut self, velocities: Vec<f64>) -> Result<Motion, SolveError> {
        let contacts = std::mem::take(&mut self.problem.contacts);
        let mut factors = FactorCache::default();
        let mut impact = Impact {
            approach: fastest_approach(&self.problem, &contacts, &velocities),
            contacts: &contacts,
            restitution: self.restitution,
            problem: &mut self.problem,
            factors: &mut factors,
            solver: self.solver.as_mut(),
            iterations: self.iterations,
        };
        let before = Motion {
            velocities,
            impulses: vec![DVec3::ZERO; contacts.len()],
        };
        let bounced = impact.without_friction(&before)?;
        impact.with_friction(&before, bounced)
    }
}

/// An impact that is being resolved.
struct Impact<'a> {
    contacts: &'a Contacts,
    restitution: &'a [f64],
    /// The problem of one projection.
    problem: &'a mut NodalProblem,
    factors: &'a mut FactorCache,
    solver: &'a mut dyn Solver,
    iterations: usize,
    /// The fastest approach before the impact (m/s).
    approach: f64,
}

impl Impact<'_> {
    /// v⁺ without friction: the combination of inelastic impact and reflections.
    fn without_friction(&mut self, before: &Motion) -> Result<Motion, SolveError> {
        let mut levels: Vec<f64> = self.restitution.to_vec();
        levels.retain(|e| *e > 0.0);
        levels.sort_by(f64::total_cmp);
        levels.dedup();
        let mut after = Motion {
            velocities: vec![0.0; before.velocities.len()],
            impulses: vec![DVec3::ZERO; before.impulses.len()],
        };
        let mut last = 0.0;
        for level in levels {
            after.add(level - last, &self.reflected(before, level)?);
            last = level;
        }
        if last < 1.0 {
            after.add(1.0 - last, &self.projected(before.clone())?);
        }
        Ok(after)
    }

    /// Reflects the contacts whose coefficient is at least `level`, and stops the others, until
    /// none approaches.
    fn reflected(&mut self, before: &Motion, level: f64) -> Result<Motion, SolveError> {
        let mut motion = before.clone();
        for _ in 0..MAX_ROUNDS {
            let violated = self.violated(&motion);
            if violated.is_empty() {
                return Ok(motion);
            }
            let reflects = |contact: &usize| self.restitution[*contact] >= level;
            let chosen: Vec<usize> = violated.iter().copied().filter(reflects).collect();
            if chosen.is_empty() {
                let change = self.inelastic(&motion, &violated)?;
                motion.add(change.least(), &change.motion);
            } else {
                let change = self.inelastic(&motion, &chosen)?;
                motion.add(2.0 * change.least(), &change.motion);
            }
        }
        self.projected(motion)
    }

    /// The velocities after an inelastic impact of all contacts.
    fn projected(&mut self, mut motion: Motion) -> Result<Motion, SolveError> {
        let all: Vec<usize> = (0..self.contacts.len()).collect();
        let change = self.inelastic(&motion, &all)?;
        motion.add(change.least(), &change.motion);
        Ok(motion)
    }

    /// Contacts that approach.
    fn violated(&self, motion: &Motion) -> Vec<usize> {
        let limit = -REST * self.approach;
        let approaches = |contact: &usize| self.normal_velocity(*contact, motion) < limit;
        (0..self.contacts.len()).filter(approaches).collect()
    }

    fn normal_velocity(&self, contact: usize, motion: &Motion) -> f64 {
        let velocity = relative_velocity(self.problem, self.contacts, contact, &motion.velocities);
        velocity.dot(self.contacts[contact].normal)
    }

    /// The change by an inelastic impact of some contacts, without friction.
    fn inelastic(&mut self, from: &Motion, chosen: &[usize]) -> Result<Change, SolveError> {
        let known = self.solve(from, chosen, |contact, velocity| Contact {
            kinematic: velocity,
            friction: 0.0,
            ..contact
        })?;
        // Without friction an impulse is along the normal, and never pulls.
        let impulses = chosen.iter().zip(known).map(|(contact, impulse)| {
            let normal = self.contacts[*contact].normal;
            (*contact, normal * impulse.dot(normal).max(0.0))
        });
        let impulses = impulses.collect();
        self.change(from, impulses)
    }

    /// Adds friction: Coulomb's law at the normal velocities of the impact without it. Such an
    /// impact may gain energy (Kane's example); then it goes only part of the way from the one
    /// without friction, up to the same energy. All that is between the two separates, and has its
    /// impulses in the cones.
    fn with_friction(&mut self, before: &Motion, bounced: Motion) -> Result<Motion, SolveError> {
        if self.contacts.iter().all(|contact| contact.friction == 0.0) {
            return Ok(bounced);
        }
        let all: Vec<usize> = (0..self.contacts.len()).collect();
        let targets: Vec<f64> = all
            .iter()
            .map(|contact| match bounced.impulses[*contact] {
                DVec3::ZERO => 0.0,
                _ => self.normal_velocity(*contact, &bounced).max(0.0),
            })
            .collect();
        let mut target = targets.into_iter();
        let impulses = self.solve(before, &all, |contact, velocity| Contact {
            kinematic: velocity - contact.normal * target.next().unwrap_or_default(),
            ..contact
        })?;
        let pairs = impulses.iter().zip(&bounced.impulses).enumerate();
        let added = pairs.map(|(contact, (all, normal))| {
            let friction = self.contacts[contact].friction;
            let normal_part = self.contacts[contact].normal;
            (contact, into_cone(*all, normal_part, friction) - *normal)
        });
        let added = added.collect();
        let change = self.change(&bounced, added)?;
        // The energy is the same at zero and at twice the multiple where it is least.
        let mut rubbed = bounced;
        rubbed.add((2.0 * change.least()).min(1.0), &change.motion);
        Ok(rubbed)
    }

    /// The change of velocity by impulses of some contacts.
    fn change(&mut self, from: &Motion, given: Vec<(usize, DVec3)>) -> Result<Change, SolveError> {
        let mut impulses = vec![DVec3::ZERO; self.contacts.len()];
        let mut slope = 0.0;
        for (contact, impulse) in given {
            impulses[contact] = impulse;
            let velocity = &from.velocities;
            slope += impulse.dot(relative_velocity(
                self.problem,
                self.contacts,
                contact,
                velocity,
            ));
        }
        self.problem.contacts = self.contacts.clone();
        let factor = self.factors.get(&self.problem.system)?;
        let velocities = self.problem.velocities(factor, &impulses);
        let mut force = vec![0.0; velocities.len()];
        self.problem.add_impulses(&impulses, &mut force);
        let curvature = force.iter().zip(&velocities).map(|(f, v)| f * v).sum();
        let motion = Motion {
            velocities,
            impulses,
        };
        Ok(Change {
            motion,
            slope,
            curvature,
        })
    }

    /// The impulses of some contacts, posed by `pose` from the contact and its relative velocity.
    fn solve(
        &mut self,
        from: &Motion,
        chosen: &[usize],
        mut pose: impl FnMut(Contact, DVec3) -> Contact,
    ) -> Result<Vec<DVec3>, SolveError> {
        let mut contacts = Contacts::new();
        for contact in chosen {
            let velocities = &from.velocities;
            let velocity = relative_velocity(self.problem, self.contacts, *contact, velocities);
            let posed = pose(self.contacts[*contact], velocity);
            contacts.push(posed, self.contacts.stencil(*contact).iter().copied());
        }
        self.problem.contacts = contacts;
        let limits = Limits {
            tolerance: TOLERANCE * self.approach * self.problem.step,
            iterations: self.iterations,
        };
        let (solution, _) = self.solver.solve(
            self.problem,
            self.factors,
            &WarmStart::default(),
            limits,
            &mut NoRefinement,
        )?;
        Ok(solution.impulses)
    }
}

/// The fastest approach of contacts (m/s).
fn fastest_approach(problem: &NodalProblem, contacts: &Contacts, velocities: &[f64]) -> f64 {
    let approach = |contact: usize| {
        let velocity = relative_velocity(problem, contacts, contact, velocities);
        -velocity.dot(contacts[contact].normal)
    };
    (0..contacts.len()).map(approach).fold(0.0, f64::max)
}

/// B v + k of a contact (m/s).
fn relative_velocity(
    problem: &NodalProblem,
    contacts: &Contacts,
    contact: usize,
    velocities: &[f64],
) -> DVec3 {
    let stencil = contacts.stencil(contact).iter();
    stencil.fold(contacts[contact].kinematic, |sum, (node, weight)| {
        let offset = problem.system.node_offset[*node as usize];
        sum + DVec3::from_slice(&velocities[offset..]) * *weight
    })
}

/// An impulse without the error of a solver: not pulling, and with the friction that its normal
/// part allows.
fn into_cone(impulse: DVec3, normal: DVec3, friction: f64) -> DVec3 {
    let push = impulse.dot(normal).max(0.0);
    let tangential = impulse - normal * impulse.dot(normal);
    normal * push + tangential.clamp_length_max(friction * push)
}

#[cfg(test)]
mod tests;
