//! Newton's method on the law itself, smoothed.
//!
//! With r' = T r and v = T⁻¹ ũ, T = diag(μ, 1, 1), Coulomb's law says that r' and v lie in the cone L and are orthogonal, which is
//! Φ_ε(r', v) = r' + v − |r' − v|_ε = 0 for ε = 0 ([`super::cone`]). Impulses and velocities are unknowns of their own, tied by
//! v − ‖v_T‖ n = T⁻¹ (W r + q): then only Φ_ε is far from linear, and the state of a splitting method, which has both, is a good start.
//! A step eliminates dv = −C dr' − (1 + B)⁻¹ Φ_ε, C = (1 + B)⁻¹ (1 − B), with B the derivative of the root, and solves
//! (W + T S C T) dr = T (p − S (1 + B)⁻¹ Φ_ε), where p is the residual of the tie and S = 1 − n tᵀ, t = v_T/‖v_T‖, its derivative.
//! C is positive definite for ε > 0; S, the part of friction that is not associated, makes the matrix unsymmetric.

use glam::{DMat3, DVec2, DVec3};

use super::cone::{CLIP, Root};
use super::lu::Lu;
use super::scaled::Scaled;

/// Smaller coefficients of friction are none.
const FRICTIONLESS: f64 = 1e-9;

/// The residual may grow by so much in a step: the way around a fold of the path leads upwards.
const GROWTH: f64 = 1.5;

/// Shorter steps are not sought.
const SHORTEST: f64 = 1e-3;

/// Impulses, velocities and how much the law is smoothed.
#[derive(Clone, Debug)]
pub(super) struct Newton<'a> {
    problem: &'a Scaled,
    point: Point,
    /// ε.
    pub(super) smoothing: f64,
}

/// Impulses r', velocities v, and W r + q.
#[derive(Clone, Debug)]
struct Point {
    impulses: Vec<DVec3>,
    velocities: Vec<DVec3>,
    driven: Vec<DVec3>,
}

/// The law at one contact, linearized: dv = −C dr' − offset, and S.
struct Linear {
    compliance: DMat3,
    offset: DVec3,
    tie: DMat3,
}

impl Point {
    fn ahead(&self, direction: &Self, length: f64) -> Self {
        let ahead = |x: &[DVec3], d: &[DVec3]| -> Vec<DVec3> {
            x.iter().zip(d).map(|(x, d)| *x + *d * length).collect()
        };
        Self {
            impulses: ahead(&self.impulses, &direction.impulses),
            velocities: ahead(&self.velocities, &direction.velocities),
            driven: ahead(&self.driven, &direction.driven),
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
            driven: problem.velocities(impulses),
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
    pub(super) fn driven(&self) -> &[DVec3] {
        &self.point.driven
    }

    /// The norm of the residuals of the law and of the tie.
    pub(super) fn residual(&self) -> f64 {
        self.residual_at(&self.point)
    }

    fn residual_at(&self, point: &Point) -> f64 {
        let squares = (0..self.problem.contacts()).map(|c| {
            let law = self.law(c, point).0;
            self.tie(c, point).length_squared() + law.length_squared()
        });
        squares.sum::<f64>().sqrt()
    }

    fn has_friction(&self, contact: usize) -> bool {
        self.problem.friction[contact] > FRICTIONLESS
    }

    /// p = v − ‖v_T‖ n − T⁻¹ (W r + q).
    fn tie(&self, contact: usize, point: &Point) -> DVec3 {
        let v = point.velocities[contact];
        let slip = match self.has_friction(contact) {
            true => DVec2::new(v.y, v.z).length(),
            false => 0.0,
        };
        v - DVec3::X * slip - point.driven[contact] / weight(self.problem, contact)
    }

    /// Φ_ε and the root in it. Without friction there is only the normal.
    fn law(&self, contact: usize, point: &Point) -> (DVec3, Root) {
        let (r, v) = (point.impulses[contact], point.velocities[contact]);
        let part = match self.has_friction(contact) {
            true => DVec3::ONE,
            false => DVec3::X,
        };
        let root = Root::new((r - v) * part, self.smoothing);
        ((r + v - root.value) * part, root)
    }

    fn linearize(&self, contact: usize) -> Linear {
        let (law, root) = self.law(contact, &self.point);
        let v = self.point.velocities[contact];
        let mut linear = Linear {
            compliance: root.compliance(),
            offset: root.inverse() * law,
            tie: DMat3::IDENTITY,
        };
        if self.has_friction(contact) {
            let slip = DVec2::new(v.y, v.z).length();
            if slip > 0.0 {
                linear.tie.y_axis.x = -v.y / slip;
                linear.tie.z_axis.x = -v.z / slip;
            }
        } else {
            // Any tangential velocity goes with no tangential impulse.
            let normal = linear.compliance.x_axis.x;
            linear.compliance = DMat3::from_diagonal(DVec3::new(normal, 2.0 / CLIP, 2.0 / CLIP));
            linear.offset = DVec3::new(linear.offset.x, v.y, v.z);
        }
        linear
    }

    /// Takes a step. Its length, or `None` if the matrix is singular.
    pub(super) fn step(&mut self, lu: &mut Lu) -> Option<f64> {
        let direction = self.direction(lu)?;
        let before = self.residual();
        let mut length = 1.0;
        loop {
            let point = self.point.ahead(&direction, length);
            if self.residual_at(&point) <= GROWTH * before || length <= SHORTEST {
                self.point = point;
                return Some(length);
            }
            length *= 0.5;
        }
    }

    fn direction(&self, lu: &mut Lu) -> Option<Point> {
        let problem = self.problem;
        let contacts = 0..problem.contacts();
        let linear: Vec<Linear> = contacts.clone().map(|c| self.linearize(c)).collect();
        let shift = |c: usize| {
            let t = DMat3::from_diagonal(weight(problem, c));
            t * linear[c].tie * linear[c].compliance * t
        };
        let right: Vec<DVec3> = contacts
            .clone()
            .map(|c| {
                let tie = self.tie(c, &self.point);
                weight(problem, c) * (tie - linear[c].tie * linear[c].offset)
            })
            .collect();
        lu.factorize(&problem.operator, shift)?;
        let mut change = right.clone();
        lu.solve_in_place(&mut change);
        // Refined once, because pivots are only sought within fronts.
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
            driven: problem.product(&change),
            impulses,
        })
    }
}

/// The diagonal of T.
fn weight(problem: &Scaled, contact: usize) -> DVec3 {
    match problem.friction[contact] {
        mu if mu > FRICTIONLESS => DVec3::new(mu, 1.0, 1.0),
        _ => DVec3::ONE,
    }
}
