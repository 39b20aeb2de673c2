//! Newton's method on the smoothed contact law.
//!
//! With r' = T r and v = T⁻¹ ũ, T = diag(μ, 1, 1), Coulomb's law says that r' and v lie in the cone
//! L and are orthogonal, which is Φ_ε(r', v) = r' + v − |r' − v|_ε = 0 for ε = 0 ([`super::cone`]).
//! Impulses and velocities are separate unknowns, coupled by v − ‖v_T‖ n = T⁻¹ (W r + q). Then only
//! Φ_ε is strongly nonlinear, and the state of the splitting method, which has both, is a good
//! start. A step eliminates dv = −C dr' − (1 + B)⁻¹ Φ_ε, C = (1 + B)⁻¹ (1 − B), with B the
//! derivative of the root, and solves (W + T S C T) dr = T (p − S (1 + B)⁻¹ Φ_ε), where p is the
//! residual of the coupling and S = 1 − n tᵀ, t = v_T/‖v_T‖, its derivative. C is positive definite
//! for ε > 0. S, the part of friction that is not associated, makes the matrix unsymmetric.

use glam::{DMat3, DVec2, DVec3};

use super::cone::{MIN_SLOPE_DISTANCE, Root};
use super::lu::Lu;
use super::scaled::Scaled;

/// Coefficients of friction up to this value count as zero.
const FRICTIONLESS: f64 = 1e-9;

/// Factor by which the residual may grow in a step: the path around a fold leads upwards.
const MAX_RESIDUAL_GROWTH: f64 = 1.5;

/// The line search stops at this step length.
const MIN_STEP_LENGTH: f64 = 1e-3;

/// Impulses, velocities and smoothing of the law.
#[derive(Clone, Debug)]
pub(super) struct Newton<'a> {
    problem: &'a Scaled,
    point: Point,
    /// ε.
    pub(super) smoothing: f64,
}

/// The unknowns, or a change of them.
#[derive(Clone, Debug)]
struct Point {
    /// r'.
    impulses: Vec<DVec3>,
    /// v.
    velocities: Vec<DVec3>,
    /// W r + q; W dr for a change.
    contact_velocities: Vec<DVec3>,
}

/// The linearised law at one contact: dv = −C dr' − offset.
struct LinearLaw {
    /// C.
    compliance: DMat3,
    offset: DVec3,
    /// S.
    coupling: DMat3,
}

impl Point {
    /// The point after a step along a direction.
    fn moved(&self, direction: &Self, length: f64) -> Self {
        let moved = |x: &[DVec3], d: &[DVec3]| -> Vec<DVec3> {
            x.iter().zip(d).map(|(x, d)| *x + *d * length).collect()
        };
        Self {
            impulses: moved(&self.impulses, &direction.impulses),
            velocities: moved(&self.velocities, &direction.velocities),
            contact_velocities: moved(&self.contact_velocities, &direction.contact_velocities),
        }
    }
}

impl<'a> Newton<'a> {
    /// Starts from impulses r and velocities ũ.
    pub(super) fn new(
        problem: &'a Scaled,
        impulses: &[DVec3],
        associated: &[DVec3],
        smoothing: f64,
    ) -> Self {
        let contacts = 0..problem.contacts();
        let point = Point {
            impulses: contacts
                .clone()
                .map(|c| impulses[c] * weight(problem, c))
                .collect(),
            velocities: contacts
                .map(|c| associated[c] / weight(problem, c))
                .collect(),
            contact_velocities: problem.velocities(impulses),
        };
        Self {
            problem,
            point,
            smoothing,
        }
    }

    /// r.
    pub(super) fn impulses(&self) -> Vec<DVec3> {
        let contacts = 0..self.problem.contacts();
        contacts
            .map(|c| self.point.impulses[c] / weight(self.problem, c))
            .collect()
    }

    /// W r + q.
    pub(super) fn contact_velocities(&self) -> &[DVec3] {
        &self.point.contact_velocities
    }

    /// Norm of the residuals of the law and of the coupling.
    pub(super) fn residual(&self) -> f64 {
        self.residual_at(&self.point)
    }

    fn residual_at(&self, point: &Point) -> f64 {
        let squares = (0..self.problem.contacts()).map(|c| {
            let law = self.law(c, point).0;
            self.coupling(c, point).length_squared() + law.length_squared()
        });
        squares.sum::<f64>().sqrt()
    }

    fn has_friction(&self, contact: usize) -> bool {
        self.problem.friction[contact] > FRICTIONLESS
    }

    /// p = v − ‖v_T‖ n − T⁻¹ (W r + q).
    fn coupling(&self, contact: usize, point: &Point) -> DVec3 {
        let v = point.velocities[contact];
        let slip = if self.has_friction(contact) {
            DVec2::new(v.y, v.z).length()
        } else {
            0.0
        };
        v - DVec3::X * slip - point.contact_velocities[contact] / weight(self.problem, contact)
    }

    /// Φ_ε and its root. Without friction only the normal component is used.
    fn law(&self, contact: usize, point: &Point) -> (DVec3, Root) {
        let (r, v) = (point.impulses[contact], point.velocities[contact]);
        let part = if self.has_friction(contact) {
            DVec3::ONE
        } else {
            DVec3::X
        };
        let root = Root::new((r - v) * part, self.smoothing);
        ((r + v - root.value) * part, root)
    }

    fn linearize(&self, contact: usize) -> LinearLaw {
        let (law, root) = self.law(contact, &self.point);
        let v = self.point.velocities[contact];
        let mut linear = LinearLaw {
            compliance: root.compliance(),
            offset: root.inverse() * law,
            coupling: DMat3::IDENTITY,
        };
        if self.has_friction(contact) {
            let slip = DVec2::new(v.y, v.z).length();
            if slip > 0.0 {
                linear.coupling.y_axis.x = -v.y / slip;
                linear.coupling.z_axis.x = -v.z / slip;
            }
        } else {
            // The tangential impulse is zero for any tangential velocity.
            let normal = linear.compliance.x_axis.x;
            linear.compliance = DMat3::from_diagonal(DVec3::new(
                normal,
                2.0 / MIN_SLOPE_DISTANCE,
                2.0 / MIN_SLOPE_DISTANCE,
            ));
            linear.offset = DVec3::new(linear.offset.x, v.y, v.z);
        }
        linear
    }

    /// Takes a step. Returns its length, or `None` if the matrix is singular.
    pub(super) fn step(&mut self, lu: &mut Lu) -> Option<f64> {
        let direction = self.direction(lu)?;
        let before = self.residual();
        let mut length = 1.0;
        loop {
            let point = self.point.moved(&direction, length);
            let is_accepted = self.residual_at(&point) <= MAX_RESIDUAL_GROWTH * before;
            if is_accepted || length <= MIN_STEP_LENGTH {
                self.point = point;
                return Some(length);
            }
            length *= 0.5;
        }
    }

    /// The Newton direction.
    fn direction(&self, lu: &mut Lu) -> Option<Point> {
        let problem = self.problem;
        let contacts = 0..problem.contacts();
        let linear: Vec<LinearLaw> = contacts.clone().map(|c| self.linearize(c)).collect();
        let shift = |c: usize| {
            let t = DMat3::from_diagonal(weight(problem, c));
            t * linear[c].coupling * linear[c].compliance * t
        };
        let right: Vec<DVec3> = contacts
            .clone()
            .map(|c| {
                let coupling = self.coupling(c, &self.point);
                weight(problem, c) * (coupling - linear[c].coupling * linear[c].offset)
            })
            .collect();
        lu.factorize(&problem.operator, shift)?;
        let mut change = right.clone();
        lu.solve_in_place(&mut change);
        // One step of iterative refinement, because pivoting is restricted to fronts.
        let product = problem.product(&change);
        let mut rest: Vec<DVec3> = contacts
            .clone()
            .map(|c| right[c] - product[c] - shift(c) * change[c])
            .collect();
        lu.solve_in_place(&mut rest);
        for (change, rest) in change.iter_mut().zip(&rest) {
            *change += *rest;
        }
        if !change.iter().all(|dr| dr.is_finite()) {
            return None;
        }
        let impulses: Vec<DVec3> = contacts
            .clone()
            .map(|c| change[c] * weight(problem, c))
            .collect();
        let velocity = |c: usize| -(linear[c].compliance * impulses[c]) - linear[c].offset;
        Some(Point {
            velocities: contacts.map(velocity).collect(),
            contact_velocities: problem.product(&change),
            impulses,
        })
    }
}

/// The diagonal of T.
fn weight(problem: &Scaled, contact: usize) -> DVec3 {
    let mu = problem.friction[contact];
    if mu > FRICTIONLESS {
        DVec3::new(mu, 1.0, 1.0)
    } else {
        DVec3::ONE
    }
}
