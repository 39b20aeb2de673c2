//! Exact solves of systems with ties, by block elimination.
//!
//! A *leaf* is a body, or a rod of a batch, whose ties all go to one sparse body, its *host*; for
//! example, a strand of fur and the skin on which it grows. Let D be the matrix of a leaf, P the
//! selection of its tied nodes, and G = Pᵀ D⁻¹ P. Ties add E between the tied nodes and R between
//! these and the host. With V = (I + E G)⁻¹ R, the symmetric matrix U = (I + E G)⁻¹ E, and the
//! right-hand sides b and c of leaf and host,
//!
//! S x = c − Σ Vᵀ Pᵀ y,   y = D⁻¹ b,   S = H − Σ Vᵀ G R,   leaf: y − D⁻¹ P (U Pᵀ y + V x),
//!
//! where H is the matrix of the host including its ties. E is zero if every tie has one leaf node
//! and the diagonal blocks of ties are merged into the body matrices. The Schur complement S has
//! its own pattern and factor, which replace those of the host.
//!
//! A solve needs two solves with the factors of leaves and one with those of hosts. Sums over
//! leaves have a fixed order.

mod link;
mod plan;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use glam::{DMat3, DVec3};
use rayon::prelude::*;

use super::body_factor::{BodyFactor, SystemFactorError, solve_bodies};
use super::{Coupling, Matrix, System};
use crate::block_sparse::BlockSparse;
use crate::cholesky::Factor;
use crate::parallel::split_by_lengths;
use link::{Link, add, condense};
use plan::{Host, Leaf, Plan};

/// Leaves that are condensed before they are subtracted from S. Limits the memory.
const LEAVES_PER_CHUNK: usize = 256;

/// Leaves per parallel task.
const LEAVES_PER_TASK: usize = 32;

/// Elimination of all ties of a system, if their structure permits it.
#[derive(Debug, Default)]
pub(super) struct Elimination {
    /// Couplings of the last factorization.
    state: CouplingState,
    plan: Option<Arc<Plan>>,
    /// G of every leaf, column-major.
    inverses: Vec<Vec<f64>>,
    links: Vec<Link>,
    hosts: Vec<HostFactor>,
    /// Whether G, U, V and the factors of S are up to date.
    is_done: bool,
}

/// State of a system on which the matrices of an elimination depend.
#[derive(Clone, Debug, Default)]
struct CouplingState {
    couplings: Vec<Coupling>,
    is_merged: bool,
    is_held: Vec<bool>,
}

/// Schur complement S of a host, and its factor.
#[derive(Debug)]
struct HostFactor {
    matrix: BlockSparse,
    factor: Factor,
}

impl Elimination {
    /// Copies the couplings of a system, and makes a new plan if they tie other nodes than before.
    pub(super) fn update_plan(&mut self, system: &System, factors: &[BodyFactor]) {
        let state = &self.state;
        if state.couplings == system.couplings
            && state.is_merged == system.is_merged
            && state.is_held == system.is_held
        {
            return;
        }
        self.is_done = false;
        if !have_same_nodes(&state.couplings, &system.couplings) {
            let plan = if system.couplings.is_empty() {
                None
            } else {
                Plan::new(system, factors, self.plan.as_deref())
            };
            self.plan = plan.map(Arc::new);
            self.hosts.clear();
        }
        self.state = CouplingState {
            couplings: system.couplings.clone(),
            is_merged: system.is_merged,
            is_held: system.is_held.clone(),
        };
    }

    /// Elimination with the same plan, not yet factorized.
    pub(super) fn allocate_like(&self) -> Self {
        Self {
            state: self.state.clone(),
            plan: self.plan.clone(),
            ..Self::default()
        }
    }

    /// Whether the factor of a body is replaced by that of its Schur complement.
    pub(super) fn is_host(&self, body: usize) -> bool {
        self.plan.as_ref().is_some_and(|plan| plan.is_host(body))
    }

    /// Whether the elimination is factorized and up to date.
    pub(super) fn is_done(&self) -> bool {
        self.is_done
    }

    /// Marks all matrices as stale, because the factors of the bodies have changed.
    pub(super) fn invalidate(&mut self) {
        self.is_done = false;
    }

    /// Condenses the leaves and factorizes the hosts that depend on the chosen bodies. `factors`
    /// must be up to date for all bodies except hosts. `None` if there is no plan, or if S is not
    /// positive definite: beside extremely stiff springs, the host is lost to rounding.
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
            .map(|(host, is_stale)| {
                if *is_stale {
                    host.factor.factorize(&host.matrix).ok()
                } else {
                    Some(())
                }
            })
            .collect();
        results.into_iter().collect::<Option<()>>()?;
        self.is_done = true;
        Some(())
    }

    /// Allocates the matrices of a plan.
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

    /// Computes G of some leaves. One solve handles a unit vector of every leaf.
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

    /// Computes U and V of some leaves, and subtracts Vᵀ G R from S.
    fn condense(&mut self, system: &System, plan: &Plan, leaves: &[usize]) -> Option<()> {
        for chunk in leaves.chunks(LEAVES_PER_CHUNK) {
            let condense =
                |index: &usize| condense(system, &plan.leaves[*index], &self.inverses[*index]);
            let condensed: Vec<Option<(Link, Vec<f64>)>> = chunk.par_iter().map(condense).collect();
            for (index, condensed) in chunk.iter().zip(condensed) {
                let (link, schur_term) = condensed?;
                let leaf = &plan.leaves[*index];
                if let Some(host) = leaf.host {
                    let first = system.bodies[plan.hosts[host].body].offset;
                    self.hosts[host].subtract(first, &leaf.anchors, &schur_term);
                }
                self.links[*index] = link;
            }
        }
        Some(())
    }

    /// Copies the factors of hosts to single precision if their copies are out of date.
    pub(super) fn copy_to_single_precision(&mut self) -> Result<(), SystemFactorError> {
        let Some(plan) = &self.plan else {
            return Ok(());
        };
        for (factor, host) in self.hosts.iter_mut().zip(&plan.hosts) {
            let body = host.body;
            if !factor.factor.has_single_precision() {
                let copied = factor.factor.copy_to_single_precision();
                copied.map_err(|source| SystemFactorError { body, source })?;
            }
        }
        Ok(())
    }

    /// Replaces `rhs` by `A⁻¹ rhs`. `factors` must be up to date for all bodies except hosts.
    pub(super) fn solve_in_place(
        &self,
        factors: &[BodyFactor],
        rhs: &mut [f64],
        single_precision: bool,
    ) {
        let Some(plan) = &self.plan else {
            return;
        };
        solve_bodies(factors, rhs, single_precision, |body| !plan.is_host(body));
        let pull = |leaf: &Leaf, link: &Link, pull: &mut [f64]| link.pull(leaf, rhs, pull);
        let pulls = self.for_leaves(plan, |leaf| leaf.anchors.len(), pull);
        let anchors = plan.leaves.iter().flat_map(|leaf| &leaf.anchors);
        for (anchor, pull) in anchors.zip(pulls.chunks_exact(3)) {
            subtract(&mut rhs[*anchor..*anchor + 3], pull);
        }
        let bodies = split_by_lengths(rhs, factors.iter().map(BodyFactor::dofs));
        let bodies = bodies.into_iter().enumerate();
        let bodies = bodies.filter(|(body, _)| plan.is_host(*body));
        let mut hosts: Vec<_> = self.hosts.iter().zip(bodies).collect();
        // The solution of a zero right-hand side is zero.
        hosts.retain(|(_, (_, part))| part.iter().any(|entry| *entry != 0.0));
        hosts
            .into_par_iter()
            .for_each(|(host, (_, part))| host.solve_in_place(part, single_precision));
        let push = |leaf: &Leaf, link: &Link, push: &mut [f64]| link.push(leaf, rhs, push);
        let pushes = self.for_leaves(plan, |leaf| leaf.tied.len(), push);
        let mut change = vec![0.0; rhs.len()];
        let tied = plan.leaves.iter().flat_map(|leaf| &leaf.tied);
        for (tied, push) in tied.zip(pushes.chunks_exact(3)) {
            change[*tied..*tied + 3].copy_from_slice(push);
        }
        solve_bodies(factors, &mut change, single_precision, |body| {
            plan.has_leaf(body)
        });
        subtract(rhs, &change);
    }

    /// Concatenated results of all leaves, three components for each of `nodes` nodes.
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
            .zip(split_by_lengths(&mut results, lengths()))
            .with_min_len(LEAVES_PER_TASK)
            .for_each(|((leaf, link), result)| compute(leaf, link, result));
        results
    }
}

impl HostFactor {
    /// Sets S to H.
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

    /// Adds a block of the lower triangle. Blocks of the upper triangle are ignored.
    fn add(&mut self, [row, column]: [usize; 2], block: DMat3) {
        if row >= column
            && let Some(slot) = self.matrix.pattern().slot(row, column)
        {
            self.matrix.values[slot] += block;
        }
    }

    /// Subtracts a row-major matrix over the nodes at the degrees of freedom `anchors`. `first` is
    /// the first degree of freedom of the host.
    fn subtract(&mut self, first: usize, anchors: &[usize], matrix: &[f64]) {
        let width = 3 * anchors.len();
        for (i, row) in anchors.iter().enumerate() {
            for (j, column) in anchors[..=i].iter().enumerate() {
                let column_of = |c: usize| {
                    let entry = |r: usize| -matrix[(3 * i + r) * width + 3 * j + c];
                    DVec3::new(entry(0), entry(1), entry(2))
                };
                let block = DMat3::from_cols(column_of(0), column_of(1), column_of(2));
                self.add([row, column].map(|offset| (offset - first) / 3), block);
            }
        }
    }

    fn solve_in_place(&self, rhs: &mut [f64], single_precision: bool) {
        if single_precision {
            self.factor.solve_single_precision(rhs)
        } else {
            self.factor.solve_in_place(rhs)
        }
    }
}

fn subtract(from: &mut [f64], x: &[f64]) {
    add(from, -1.0, x);
}

/// Whether two lists of couplings have the same nodes.
fn have_same_nodes<'a>(a: &'a [Coupling], b: &'a [Coupling]) -> bool {
    let nodes = |coupling: &'a Coupling| coupling.nodes.iter().map(|(node, _)| node);
    let mut pairs = a.iter().zip(b);
    a.len() == b.len() && pairs.all(|(a, b)| nodes(a).eq(nodes(b)))
}
