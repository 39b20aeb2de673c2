//! Exact solves through ties, by block elimination.
//!
//! A *leaf* is a body, or a rod of a batch, whose ties all go to one sparse body, its *host*: strands of fur in what they grow from.
//! Let D be the matrix of a leaf in its body, P its tied nodes, G = Pᵀ D⁻¹ P, and let ties add E between its tied nodes and R between
//! these and the host. With V = (I + E G)⁻¹ R and U = (I + E G)⁻¹ E, which is symmetric, and b and c the right-hand sides of leaf and host,
//!
//! S x = c − Σ Vᵀ Pᵀ y,   y = D⁻¹ b,   S = H − Σ Vᵀ G R,   leaf: y − D⁻¹ P (U Pᵀ y + V x),
//!
//! where H is the host's matrix with all that ties add there. Where every tie has one leaf node and the bodies hold what ties do to single
//! nodes, E is zero. S has a pattern and a factor of its own, which take the place of the body's.
//!
//! A solve goes twice through the factors of leaves and once through those of hosts. Sums over leaves are taken in their order.

mod link;
mod plan;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use glam::{DMat3, DVec3};
use rayon::prelude::*;

use super::factor::solve_bodies;
use super::{BodyFactor, Coupling, Matrix, System, SystemFactorError};
use crate::block_sparse::BlockSparse;
use crate::cholesky::{Factor, parts};
use link::{Link, add, condense};
use plan::{Host, Leaf, Plan};

/// Leaves that are condensed before their parts are added up: bounds the memory for them.
const CHUNK: usize = 256;

/// Leaves that one task works on.
const TASK: usize = 32;

/// The elimination of all ties of a system, if they allow it.
#[derive(Debug, Default)]
pub(super) struct Elimination {
    /// What the numbers are of.
    posed: Posed,
    plan: Option<Arc<Plan>>,
    /// G of every leaf, column by column.
    inverses: Vec<Vec<f64>>,
    links: Vec<Link>,
    hosts: Vec<HostFactor>,
    /// Whether all numbers are those of the last factorization.
    is_done: bool,
}

#[derive(Clone, Debug, Default)]
struct Posed {
    couplings: Vec<Coupling>,
    is_merged: bool,
    is_cut: Vec<bool>,
}

/// S of a host and its factor.
#[derive(Debug)]
struct HostFactor {
    matrix: BlockSparse,
    factor: Factor,
}

impl Elimination {
    /// Takes over the couplings of a system, and works out anew what goes where if they tie other nodes than before.
    pub(super) fn pose(&mut self, system: &System, factors: &[BodyFactor]) {
        let posed = &self.posed;
        if posed.couplings == system.couplings
            && posed.is_merged == system.is_merged
            && posed.is_cut == system.is_cut
        {
            return;
        }
        self.is_done = false;
        if !ties_the_same(&posed.couplings, &system.couplings) {
            let plan = match system.couplings.is_empty() {
                true => None,
                false => Plan::new(system, factors, self.plan.as_deref()),
            };
            self.plan = plan.map(Arc::new);
            self.hosts.clear();
        }
        self.posed = Posed {
            couplings: system.couplings.clone(),
            is_merged: system.is_merged,
            is_cut: system.is_cut.clone(),
        };
    }

    /// One with the same structure and without numbers.
    pub(super) fn alike(&self) -> Self {
        Self {
            posed: self.posed.clone(),
            plan: self.plan.clone(),
            ..Self::default()
        }
    }

    /// Whether it has a factor in place of a body's.
    pub(super) fn is_host(&self, body: usize) -> bool {
        self.plan.as_ref().is_some_and(|plan| plan.is_host(body))
    }

    pub(super) fn is_done(&self) -> bool {
        self.is_done
    }

    /// All numbers are to be computed anew: some factors are no longer those that they came from.
    pub(super) fn forget(&mut self) {
        self.is_done = false;
    }

    /// Condenses and factorizes what depends on some bodies, by index; `factors` are those of all that are no hosts. Nothing if
    /// the ties do not allow it, or S has no factor: rounding leaves nothing of a host beside springs that are stiff beyond all measure.
    pub(super) fn factorize(
        &mut self,
        system: &System,
        factors: &[BodyFactor],
        is_chosen: impl Fn(usize) -> bool,
    ) -> Option<()> {
        let was_done = std::mem::replace(&mut self.is_done, false);
        let plan = self.plan.clone()?;
        if !was_done {
            self.allocate(&plan)?;
        }
        let is_stale = |body: usize| !was_done || is_chosen(body);
        let leaves = |is_stale: &dyn Fn(&Leaf) -> bool| -> Vec<usize> {
            let leaves = plan.leaves.iter().enumerate();
            let stale = leaves.filter(|(_, leaf)| is_stale(leaf));
            stale.map(|(index, _)| index).collect()
        };
        let changed = leaves(&|leaf| is_stale(leaf.body));
        self.invert(&plan, factors, &changed);
        let mut hosts: Vec<bool> = plan.hosts.iter().map(|host| is_stale(host.body)).collect();
        for host in changed.iter().filter_map(|leaf| plan.leaves[*leaf].host) {
            hosts[host] = true;
        }
        let places = plan.hosts.iter().enumerate();
        for (place, host) in places.filter(|(place, _)| hosts[*place]) {
            self.hosts[place].begin(system, host);
        }
        let condensed = leaves(&|leaf| match leaf.host {
            Some(host) => hosts[host],
            None => is_stale(leaf.body),
        });
        self.condense(system, &plan, &condensed)?;
        let pairs = self.hosts.par_iter_mut().zip(&hosts);
        let results: Vec<Option<()>> = pairs
            .map(|(host, is_stale)| match is_stale {
                true => host.factor.factorize(&host.matrix).ok(),
                false => Some(()),
            })
            .collect();
        results.into_iter().collect::<Option<()>>()?;
        self.is_done = true;
        Some(())
    }

    /// Room for the numbers of a plan.
    fn allocate(&mut self, plan: &Plan) -> Option<()> {
        self.inverses.resize_with(plan.leaves.len(), Vec::new);
        self.links.resize_with(plan.leaves.len(), Link::default);
        for host in &plan.hosts[self.hosts.len()..] {
            let factor = Factor::new(host.symbolic.clone()).ok()?;
            self.hosts.push(HostFactor {
                matrix: BlockSparse::zeros(host.pattern.clone()),
                factor,
            });
        }
        Some(())
    }

    /// G of some leaves: a unit at a tied degree of freedom of each, for all leaves at once.
    fn invert(&mut self, plan: &Plan, factors: &[BodyFactor], leaves: &[usize]) {
        let size = |leaf: &usize| 3 * plan.leaves[*leaf].tied.len();
        let most = leaves.iter().map(size).max().unwrap_or(0);
        leaves.iter().for_each(|leaf| self.inverses[*leaf].clear());
        let mut vector = vec![0.0; factors.iter().map(BodyFactor::dofs).sum()];
        for column in 0..most {
            vector.fill(0.0);
            let has_column = |leaf: &&usize| column < size(leaf);
            for leaf in leaves.iter().filter(has_column) {
                vector[plan.leaves[*leaf].tied[column / 3] + column % 3] = 1.0;
            }
            solve_bodies(factors, &mut vector, false, |body| plan.has_leaf(body));
            for leaf in leaves.iter().filter(has_column) {
                let tied = plan.leaves[*leaf].tied.iter();
                let entries = tied.flat_map(|offset| &vector[*offset..*offset + 3]);
                self.inverses[*leaf].extend(entries);
            }
        }
    }

    /// U and V of some leaves, and what they take from S.
    fn condense(&mut self, system: &System, plan: &Plan, leaves: &[usize]) -> Option<()> {
        for chunk in leaves.chunks(CHUNK) {
            let condense =
                |index: &usize| condense(system, &plan.leaves[*index], &self.inverses[*index]);
            let condensed: Vec<Option<(Link, Vec<f64>)>> = chunk.par_iter().map(condense).collect();
            for (index, condensed) in chunk.iter().zip(condensed) {
                let (link, taken) = condensed?;
                let leaf = &plan.leaves[*index];
                if let Some(host) = leaf.host {
                    let first = system.bodies[plan.hosts[host].body].offset;
                    self.hosts[host].take(first, &leaf.anchors, &taken);
                }
                self.links[*index] = link;
            }
        }
        Some(())
    }

    /// Copies the factors of hosts to single precision where that is out of date.
    pub(super) fn lighten(&mut self) -> Result<(), SystemFactorError> {
        let Some(plan) = &self.plan else {
            return Ok(());
        };
        for (factor, host) in self.hosts.iter_mut().zip(&plan.hosts) {
            let body = host.body;
            if !factor.factor.is_light() {
                let lightened = factor.factor.lighten();
                lightened.map_err(|source| SystemFactorError { body, source })?;
            }
        }
        Ok(())
    }

    /// Replaces `rhs` by `A⁻¹ rhs`; `factors` are those of the bodies that are no hosts.
    pub(super) fn solve_in_place(&self, factors: &[BodyFactor], rhs: &mut [f64], is_light: bool) {
        let Some(plan) = &self.plan else {
            return;
        };
        solve_bodies(factors, rhs, is_light, |body| !plan.is_host(body));
        let pull = |leaf: &Leaf, link: &Link, pull: &mut [f64]| link.pull(leaf, rhs, pull);
        let pulls = self.for_leaves(plan, |leaf| leaf.anchors.len(), pull);
        let anchors = plan.leaves.iter().flat_map(|leaf| &leaf.anchors);
        for (anchor, pull) in anchors.zip(pulls.chunks_exact(3)) {
            subtract(&mut rhs[*anchor..*anchor + 3], pull);
        }
        let bodies = parts(rhs, factors.iter().map(BodyFactor::dofs));
        let bodies = bodies.into_iter().enumerate();
        let bodies = bodies.filter(|(body, _)| plan.is_host(*body));
        let mut hosts: Vec<_> = self.hosts.iter().zip(bodies).collect();
        // What nothing acts on stays as it is.
        hosts.retain(|(_, (_, part))| part.iter().any(|entry| *entry != 0.0));
        hosts
            .into_par_iter()
            .for_each(|(host, (_, part))| host.solve_in_place(part, is_light));
        let push = |leaf: &Leaf, link: &Link, push: &mut [f64]| link.push(leaf, rhs, push);
        let pushes = self.for_leaves(plan, |leaf| leaf.tied.len(), push);
        let mut change = vec![0.0; rhs.len()];
        let tied = plan.leaves.iter().flat_map(|leaf| &leaf.tied);
        for (tied, push) in tied.zip(pushes.chunks_exact(3)) {
            change[*tied..*tied + 3].copy_from_slice(push);
        }
        solve_bodies(factors, &mut change, is_light, |body| plan.has_leaf(body));
        subtract(rhs, &change);
    }

    /// The results of all leaves, one after the other: of each, three numbers for a number of nodes.
    fn for_leaves(
        &self,
        plan: &Plan,
        nodes: impl Fn(&Leaf) -> usize,
        compute: impl Fn(&Leaf, &Link, &mut [f64]) + Sync,
    ) -> Vec<f64> {
        let lengths = || plan.leaves.iter().map(|leaf| 3 * nodes(leaf));
        let mut results = vec![0.0; lengths().sum()];
        let leaves = plan.leaves.par_iter().zip(&self.links);
        leaves
            .zip(parts(&mut results, lengths()))
            .with_min_len(TASK)
            .for_each(|((leaf, link), result)| compute(leaf, link, result));
        results
    }
}

impl HostFactor {
    /// S becomes H.
    fn begin(&mut self, system: &System, host: &Host) {
        let body = &system.bodies[host.body];
        let Matrix::Blocks(own) = &body.matrix else {
            return;
        };
        let pattern = &host.pattern;
        self.matrix.values.fill(DMat3::ZERO);
        for column in 0..own.pattern().nodes() {
            let mut slots = pattern.column(column);
            for slot in own.pattern().column(column) {
                let row = own.pattern().rows()[slot];
                if let Some(found) = slots.find(|slot| pattern.rows()[*slot] == row) {
                    self.matrix.values[found] = own.values[slot];
                }
            }
        }
        let dofs = body.offset..body.offset + body.matrix.dofs();
        for coupling in &host.couplings {
            for (offsets, block) in system.coupling_blocks(&system.couplings[*coupling]) {
                if offsets.iter().all(|offset| dofs.contains(offset)) {
                    self.add(offsets.map(|offset| (offset - dofs.start) / 3), block);
                }
            }
        }
    }

    /// Adds a block of the lower triangle; those of the upper are the same.
    fn add(&mut self, [row, column]: [usize; 2], block: DMat3) {
        if row >= column
            && let Some(slot) = self.matrix.pattern().slot(row, column)
        {
            self.matrix.values[slot] += block;
        }
    }

    /// Subtracts a matrix, row by row, between nodes whose degrees of freedom begin at `anchors`; `first` are the first of the host.
    fn take(&mut self, first: usize, anchors: &[usize], taken: &[f64]) {
        let width = 3 * anchors.len();
        for (i, row) in anchors.iter().enumerate() {
            for (j, column) in anchors[..=i].iter().enumerate() {
                let column_of = |c: usize| {
                    let entry = |r: usize| -taken[(3 * i + r) * width + 3 * j + c];
                    DVec3::new(entry(0), entry(1), entry(2))
                };
                let block = DMat3::from_cols(column_of(0), column_of(1), column_of(2));
                self.add([row, column].map(|offset| (offset - first) / 3), block);
            }
        }
    }

    fn solve_in_place(&self, rhs: &mut [f64], is_light: bool) {
        match is_light {
            true => self.factor.solve_lightly(rhs),
            false => self.factor.solve_in_place(rhs),
        }
    }
}

fn subtract(from: &mut [f64], x: &[f64]) {
    add(from, -1.0, x);
}

/// Whether couplings have the same nodes, one by one.
fn ties_the_same<'a>(some: &'a [Coupling], others: &'a [Coupling]) -> bool {
    let nodes = |coupling: &'a Coupling| coupling.nodes.iter().map(|(node, _)| node);
    let mut pairs = some.iter().zip(others);
    some.len() == others.len() && pairs.all(|(one, other)| nodes(one).eq(nodes(other)))
}
