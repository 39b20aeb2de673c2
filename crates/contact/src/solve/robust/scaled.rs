//! A group of contacts without units, and its errors in the units given.
//!
//! With ρ_c = 1/‖W_cc‖, impulses are measured in κ √ρ_c and velocities in κ/√ρ_c, where κ makes the free velocities of size one.
//! Cones stay what they are, diagonal blocks of W have the norm 1, and no parameter of the solver has a unit.

use glam::DVec3;

use crate::block_rows::BlockRows;
use crate::delassus::DelassusProblem;
use crate::law;

/// Impulses larger than so many times the free velocities gain nothing from their size. Among problems with solutions, tall stacks
/// come nearest to it, with less than a tenth.
const LARGE: f64 = 1e3;

/// A group of contacts, without units.
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
    /// ρ_c; nothing where an impulse does not move its own contact.
    scales: Vec<f64>,
    /// What the natural and the scaled error are divided by at least.
    floors: [f64; 2],
}

impl Scaled {
    /// The contacts given (ascending), to which no others are connected. `places` tells the index of a contact among them.
    pub(super) fn new(
        problem: &DelassusProblem,
        contacts: &[u32],
        places: &[u32],
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
                let place = places[*column as usize];
                let scale = root * roots[place as usize];
                (places[contact], place, *block * scale)
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
    pub(super) fn with_units(&self, impulses: &[DVec3]) -> Vec<DVec3> {
        let contacts = impulses.iter().zip(&self.roots);
        contacts.map(|(r, root)| *r * (root * self.unit)).collect()
    }

    /// Impulses without units.
    pub(super) fn without_units(&self, impulses: impl Iterator<Item = DVec3>) -> Vec<DVec3> {
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

    /// The nearest impulses in the cones.
    pub(super) fn projected(&self, impulses: &[DVec3]) -> Vec<DVec3> {
        let contacts = impulses.iter().zip(&self.friction);
        contacts.map(|(r, mu)| law::project(*mu, *r)).collect()
    }

    /// How many times larger the impulses are than they should be; at least 1.
    pub(super) fn excess(&self, impulses: &[DVec3]) -> f64 {
        let (mut impulse, mut free) = (0.0, 0.0);
        for contact in 0..self.contacts() {
            let (root, rho) = (self.roots[contact], self.scales[contact]);
            impulse += (impulses[contact] * root).length_squared();
            free += (self.free[contact] / root * rho).length_squared();
        }
        let bound = LARGE * f64::sqrt(free).max(self.floors[1]);
        (f64::sqrt(impulse) / bound).max(1.0)
    }

    /// The larger of the natural map error and the scaled error of impulses, whose velocities are given. Infinite instead of NaN.
    ///
    /// Both are relative to the impulses. Where bodies are wedged and no impulses solve the problem, larger and larger ones have
    /// smaller and smaller errors, and mean nothing: beyond a bound, errors are relative to the bound.
    pub(super) fn error(&self, impulses: &[DVec3], velocities: &[DVec3]) -> f64 {
        let mut errors = [0.0; 2];
        let mut sizes = [[0.0; 3], [0.0; 3]];
        for contact in 0..self.contacts() {
            let (mu, root) = (self.friction[contact], self.roots[contact]);
            // In units of the problem, but for κ, which all errors are relative to.
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
            let square = sizes[k].iter().fold(0.0, |most: f64, x| most.max(*x));
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
