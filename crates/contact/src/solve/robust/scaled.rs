//! A group of contacts in dimensionless form, and its errors in the units of the problem.
//!
//! With ρ_c = 1/‖W_cc‖, impulses are measured in κ √ρ_c and velocities in κ/√ρ_c, where κ scales
//! the free velocities to a mean square of one. Friction cones are unchanged, diagonal blocks of W
//! have norm 1, and the parameters of the solver are dimensionless.

use glam::DVec3;

use crate::block_rows::BlockRows;
use crate::delassus::DelassusProblem;
use crate::law;

/// Bound on the norm of impulses relative to that of the free velocities. Beyond it, errors are
/// relative to the bound. Of the problems with solutions, tall stacks reach the most, less than a
/// tenth of it.
const MAX_IMPULSE_RATIO: f64 = 1e3;

/// A group of contacts in dimensionless form.
#[derive(Debug)]
pub(super) struct Scaled {
    /// W.
    pub(super) operator: BlockRows,
    /// q.
    pub(super) free: Vec<DVec3>,
    /// μ.
    pub(super) friction: Vec<f64>,
    /// √ρ_c.
    roots: Vec<f64>,
    /// κ.
    unit: f64,
    /// ρ_c; 0 where W_cc is zero.
    scales: Vec<f64>,
    /// Lower bounds of the denominators of the natural map error and the scaled error.
    floors: [f64; 2],
}

impl Scaled {
    /// The contacts given (ascending), which W does not connect to others. `indices` has the index
    /// of each contact within its group.
    pub(super) fn new(
        problem: &DelassusProblem,
        contacts: &[u32],
        indices: &[u32],
        floors: [f64; 2],
    ) -> Self {
        let members = || contacts.iter().map(|contact| *contact as usize);
        let scales: Vec<f64> = members().map(|c| problem.inverse_scale(c)).collect();
        let root = |rho: &f64| if *rho > 0.0 { rho.sqrt() } else { 1.0 };
        let roots: Vec<f64> = scales.iter().map(root).collect();
        let free = members()
            .zip(&roots)
            .map(|(c, root)| problem.free[c] * *root);
        let squares: f64 = free.clone().map(|q| q.length_squared()).sum();
        let mean = (squares / contacts.len().max(1) as f64).sqrt();
        let unit = if mean.is_normal() { mean } else { 1.0 };
        let entries = members().zip(&roots).flat_map(|(contact, root)| {
            let (columns, blocks) = problem.operator.row(contact);
            let roots = &roots;
            columns.iter().zip(blocks).map(move |(column, block)| {
                let index = indices[*column as usize];
                let scale = root * roots[index as usize];
                (indices[contact], index, *block * scale)
            })
        });
        Self {
            operator: BlockRows::new(contacts.len(), entries),
            free: free.map(|q| q / unit).collect(),
            friction: members().map(|c| problem.friction[c]).collect(),
            floors: floors.map(|floor| floor / unit),
            roots,
            unit,
            scales,
        }
    }

    pub(super) fn contacts(&self) -> usize {
        self.free.len()
    }

    /// Impulses in the units of the problem.
    pub(super) fn to_units(&self, impulses: &[DVec3]) -> Vec<DVec3> {
        let contacts = impulses.iter().zip(&self.roots);
        contacts.map(|(r, root)| *r * (root * self.unit)).collect()
    }

    /// Dimensionless impulses.
    pub(super) fn to_dimensionless(&self, impulses: impl Iterator<Item = DVec3>) -> Vec<DVec3> {
        let contacts = impulses.zip(&self.roots);
        contacts.map(|(r, root)| r / (root * self.unit)).collect()
    }

    /// W r.
    pub(super) fn product(&self, impulses: &[DVec3]) -> Vec<DVec3> {
        let mut product = vec![DVec3::ZERO; self.contacts()];
        self.operator.multiply(impulses, &mut product);
        product
    }

    /// u = W r + q.
    pub(super) fn velocities(&self, impulses: &[DVec3]) -> Vec<DVec3> {
        let mut velocities = self.product(impulses);
        for (u, q) in velocities.iter_mut().zip(&self.free) {
            *u += *q;
        }
        velocities
    }

    /// Impulses projected on the friction cones.
    pub(super) fn projected(&self, impulses: &[DVec3]) -> Vec<DVec3> {
        let contacts = impulses.iter().zip(&self.friction);
        contacts.map(|(r, mu)| law::project(*mu, *r)).collect()
    }

    /// Norm of the impulses relative to its bound; at least 1.
    pub(super) fn excess(&self, impulses: &[DVec3]) -> f64 {
        let (mut impulse, mut free) = (0.0, 0.0);
        for contact in 0..self.contacts() {
            let (root, rho) = (self.roots[contact], self.scales[contact]);
            impulse += (impulses[contact] * root).length_squared();
            free += (self.free[contact] / root * rho).length_squared();
        }
        let bound = MAX_IMPULSE_RATIO * f64::sqrt(free).max(self.floors[1]);
        (f64::sqrt(impulse) / bound).max(1.0)
    }

    /// The larger of the natural map error and the scaled error of impulses, with their velocities.
    /// Infinite instead of NaN.
    ///
    /// Both errors are relative to the impulses. If bodies are wedged and no impulses solve the
    /// problem, growing impulses have decreasing errors without approaching a solution. Beyond a
    /// bound, errors are therefore relative to the bound.
    pub(super) fn error(&self, impulses: &[DVec3], velocities: &[DVec3]) -> f64 {
        let mut errors = [0.0; 2];
        let mut sizes = [[0.0; 3], [0.0; 3]];
        for contact in 0..self.contacts() {
            let (mu, root) = (self.friction[contact], self.roots[contact]);
            // In units of the problem except for κ, which cancels in relative errors.
            let r = impulses[contact] * root;
            let u = velocities[contact] / root;
            let q = self.free[contact] / root;
            let rho = self.scales[contact];
            let maps = [1.0, rho].map(|rho| law::natural_map(mu, u, r, rho));
            let parts = [[q, r, u], [q * rho, r, DVec3::ZERO]];
            for k in 0..2 {
                errors[k] += maps[k].length_squared();
                for (size, part) in sizes[k].iter_mut().zip(parts[k]) {
                    *size += part.length_squared();
                }
            }
        }
        let relative = |k: usize| {
            let error = f64::sqrt(errors[k]);
            let square = sizes[k].iter().fold(0.0, |largest: f64, x| largest.max(*x));
            let size = square.sqrt().max(self.floors[k]);
            if error == 0.0 { 0.0 } else { error / size }
        };
        let excess = self.excess(impulses);
        let (natural, scaled) = (relative(0) * excess, relative(1) * excess);
        if natural.is_finite() && scaled.is_finite() {
            natural.max(scaled)
        } else {
            f64::INFINITY
        }
    }
}
