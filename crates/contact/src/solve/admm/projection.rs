//! Projection of velocities on the contact law: matrix-free Gauss-Seidel (Daviet 2020, Alg. 1
//! and 3).
//!
//! The problem is W p = W (v − λ) + Bᵀ r, u = B p + k, with the law at every contact. W is
//! diagonal, so that a single contact is isotropic and has a closed solution in three cases
//! (5.2.2). Contacts and their stencils are stored in the order of visits: a sweep reads memory in
//! one stream, except for p. The first sweep visits all contacts. Later sweeps visit those that
//! share a node with a contact that changed; the others sleep (6.3.3).

#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU64, Ordering};

use glam::{DMat3, DVec3};
use rayon::prelude::*;

use super::WeightedNodes;
use super::tuning::TUNING;
use crate::law;
use crate::problem::{NodalProblem, nan_max};
use crate::solve::coloring::Coloring;

/// Contacts per parallel task.
const CHUNK_SIZE: usize = 512;

/// Nodes per parallel task.
const NODE_CHUNK_SIZE: usize = 4096;

/// Solver of a single contact. Both have the same solutions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LocalSolver {
    /// Three cases, since W is diagonal (Daviet 2020, 5.2.2).
    #[default]
    Isotropic,
    /// The solver for a general 3×3 operator (Daviet et al. 2011), for the comparison of Daviet
    /// 2020, Table 3.
    General,
}

/// Options of [`Projection::project`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SweepLimits {
    /// Sweeps, at most.
    pub max_sweeps: usize,
    /// Sweeps end when no contact changes its relative velocity by more than this (m/s).
    pub tolerance: f64,
    /// A contact sleeps while no neighbour changes by more than this (m/s); 0 for no sleeping.
    pub sleep_threshold: f64,
}

/// The data of a contact that a sweep needs.
#[derive(Clone, Debug)]
struct Record {
    normal: DVec3,
    /// k, with the constant part of cohesion on a compliant contact.
    kinematic: DVec3,
    /// r̄ = s r̂ (m/s).
    force: DVec3,
    friction: f64,
    /// κ/(s h²).
    compliance: f64,
    /// Range of its stencil.
    start: u32,
    end: u32,
}

/// The data of a contact that a sweep does not need.
#[derive(Clone, Copy, Debug)]
struct Scale {
    /// s_c = Σ b²/w (1/kg).
    scale: f64,
    /// s h ξ n (m/s), the cohesion impulse in units of `force`.
    cohesion: DVec3,
}

/// A node of a stencil.
#[derive(Clone, Copy, Debug)]
struct StencilNode {
    /// Index among the nodes with weights.
    index: u32,
    /// b.
    weight: f64,
    /// γ = b/(s w).
    share: f64,
}

/// Velocities that threads change concurrently; the contacts of a stage share no node.
#[derive(Debug, Default)]
struct Velocities(Vec<[AtomicU64; 3]>);

impl Velocities {
    fn get(&self, index: u32) -> DVec3 {
        let entry =
            |axis: usize| f64::from_bits(self.0[index as usize][axis].load(Ordering::Relaxed));
        DVec3::new(entry(0), entry(1), entry(2))
    }

    fn set(&self, index: u32, velocity: DVec3) {
        for (axis, number) in velocity.to_array().into_iter().enumerate() {
            self.0[index as usize][axis].store(number.to_bits(), Ordering::Relaxed);
        }
    }

    /// Sets `count` velocities.
    fn fill(&mut self, count: usize, velocity: impl Fn(usize) -> DVec3 + Sync) {
        self.0.resize_with(count, Default::default);
        let chunks = self.0.par_chunks_mut(NODE_CHUNK_SIZE).enumerate();
        chunks.for_each(|(chunk, entries)| {
            for (local, entry) in entries.iter_mut().enumerate() {
                let velocity = velocity(chunk * NODE_CHUNK_SIZE + local).to_array();
                *entry = velocity.map(|number| AtomicU64::new(number.to_bits()));
            }
        });
    }
}

/// The contacts of a problem, assembled for sweeps.
#[derive(Debug, Default)]
pub struct Projection {
    coloring: Coloring,
    records: Vec<Record>,
    scales: Vec<Scale>,
    stencils: Vec<StencilNode>,
    velocities: Velocities,
    awake: WakeList,
    /// Solver of a single contact.
    pub local: LocalSolver,
}

impl Projection {
    /// The contacts of a problem, with initial impulses r.
    pub fn new(problem: &NodalProblem, nodes: &WeightedNodes, impulses: &[DVec3]) -> Self {
        let mut projection = Self::default();
        projection.assemble(problem, nodes, impulses);
        projection
    }

    /// Assembles the contacts of a problem, with initial impulses r. Reuses memory: allocation
    /// takes longer than the assembly.
    pub fn assemble(&mut self, problem: &NodalProblem, nodes: &WeightedNodes, impulses: &[DVec3]) {
        let contacts = &problem.contacts;
        self.coloring = Coloring::new(contacts.len(), nodes.nodes.len(), |contact| {
            let stencil = contacts.stencil(contact).iter();
            stencil.map(|(node, _)| nodes.index(*node))
        });
        self.records.clear();
        self.scales.clear();
        self.stencils.clear();
        self.records.reserve(contacts.len());
        self.scales.reserve(contacts.len());
        self.stencils.reserve(contacts.stencil_nodes());
        let inverses: Vec<f64> = nodes.weights.iter().map(|weight| weight.recip()).collect();
        for index in 0..contacts.len() {
            let contact = self.coloring.order[index] as usize;
            self.add(problem, nodes, &inverses, contact);
        }
        self.awake
            .assemble(nodes.nodes.len(), &self.records, &self.stencils);
        self.set_impulses(impulses);
    }

    /// Appends a contact; `inverses` are 1/w.
    fn add(
        &mut self,
        problem: &NodalProblem,
        nodes: &WeightedNodes,
        inverses: &[f64],
        contact: usize,
    ) {
        let (of, stencil) = (
            &problem.contacts[contact],
            problem.contacts.stencil(contact),
        );
        let start = self.stencils.len();
        let mut scale = 0.0;
        for (node, weight) in stencil {
            let index = nodes.index(*node);
            let moved = weight * inverses[index as usize];
            scale += weight * moved;
            self.stencils.push(StencilNode {
                index,
                weight: *weight,
                share: moved,
            });
        }
        for node in &mut self.stencils[start..] {
            node.share /= scale;
        }
        let held = problem.step * of.cohesion;
        let compliance = of.compliance / (problem.step * problem.step);
        self.records.push(Record {
            normal: of.normal,
            kinematic: of.kinematic - of.normal * (compliance * held),
            force: DVec3::ZERO,
            friction: of.friction,
            compliance: compliance / scale,
            start: start as u32,
            end: self.stencils.len() as u32,
        });
        self.scales.push(Scale {
            scale,
            cohesion: of.normal * (scale * held),
        });
    }

    /// r of every contact, in the order of the problem (N s).
    pub fn impulses(&self) -> Vec<DVec3> {
        let mut impulses = vec![DVec3::ZERO; self.records.len()];
        let of_contacts = self.records.iter().zip(&self.scales);
        for (contact, (record, of)) in self.coloring.order.iter().zip(of_contacts) {
            impulses[*contact as usize] = (record.force - of.cohesion) / of.scale;
        }
        impulses
    }

    /// Sets r of every contact.
    pub fn set_impulses(&mut self, impulses: &[DVec3]) {
        let of_contacts = self.records.iter_mut().zip(&self.scales);
        for (contact, (record, of)) in self.coloring.order.iter().zip(of_contacts) {
            record.force = impulses[*contact as usize] * of.scale + of.cohesion;
        }
    }

    /// Adds W⁻¹ Bᵀ r to the velocities of the nodes with weights.
    pub fn add_impulse_velocities(&self, velocities: &mut [DVec3]) {
        for (record, of) in self.records.iter().zip(&self.scales) {
            let force = record.force - of.cohesion;
            for node in record.stencil(&self.stencils) {
                velocities[node.index as usize] += force * node.share;
            }
        }
    }

    /// Projects the velocities p = v − λ + W⁻¹ Bᵀ r of `count` nodes (Alg. 3) by sweeps. Returns
    /// the largest change of a relative velocity in the last sweep.
    pub fn project(
        &mut self,
        count: usize,
        velocity: impl Fn(usize) -> DVec3 + Sync,
        limits: SweepLimits,
    ) -> f64 {
        self.set_velocities(count, velocity);
        let mut change = self.sweep(limits.sleep_threshold);
        for _ in 1..limits.max_sweeps {
            if change <= limits.tolerance {
                break;
            }
            change = self.sweep_awake(limits.sleep_threshold);
        }
        change
    }

    /// p of a node with a weight.
    #[inline]
    pub fn velocity(&self, index: usize) -> DVec3 {
        self.velocities.get(index as u32)
    }

    /// Mean memory of a contact, and the part of it that a sweep reads and writes (bytes).
    pub fn bytes_per_contact(&self) -> [f64; 2] {
        let contacts = self.records.len().max(1) as f64;
        let stencils = (self.stencils.len() * size_of::<StencilNode>()) as f64 / contacts;
        let unswept = size_of::<Scale>() + size_of::<u32>();
        // A sweep reads a record and writes its force.
        let swept = size_of::<Record>() + size_of::<DVec3>();
        [
            (size_of::<Record>() + unswept) as f64 + stencils,
            swept as f64 + stencils,
        ]
    }

    /// Sets the velocities p of the nodes with weights, for [`Projection::sweep`].
    pub fn set_velocities(&mut self, count: usize, velocity: impl Fn(usize) -> DVec3 + Sync) {
        self.velocities.fill(count, velocity);
    }

    /// Solves every contact once. Returns the largest change of a relative velocity. Contacts that
    /// change by more than `sleep_threshold` keep their neighbours awake.
    pub fn sweep(&mut self, sleep_threshold: f64) -> f64 {
        self.visit(None, sleep_threshold)
    }

    /// Solves the contacts once that changed by more than `sleep_threshold` in the previous sweep,
    /// and their neighbours.
    fn sweep_awake(&mut self, sleep_threshold: f64) -> f64 {
        let is_listed =
            sleep_threshold > 0.0 && self.awake.list_neighbours(&self.records, &self.stencils);
        let list = std::mem::take(&mut self.awake.list);
        let change = self.visit(is_listed.then_some(&list[..]), sleep_threshold);
        self.awake.list = list;
        change
    }

    /// Solves the selected contacts, or all, once, stage by stage: the result does not depend on
    /// the threads.
    fn visit(&mut self, selected: Option<&[u32]>, sleep_threshold: f64) -> f64 {
        let pass = Pass {
            stencils: &self.stencils,
            velocities: &self.velocities,
            selected,
            sleep_threshold,
        };
        let visit = match self.local {
            LocalSolver::Isotropic => visit_in_order::<false>,
            LocalSolver::General => visit_in_order::<true>,
        };
        let active = &mut self.awake.active;
        active.clear();
        if selected.is_some_and(|list| list.len() <= TUNING.max_serial_contacts) {
            return visit(&mut self.records, 0, &pass, active).sqrt();
        }
        let (mut largest, mut first) = (0.0, 0);
        let mut records = &mut self.records[..];
        for stage in &self.coloring.stages {
            let (of_stage, others) = records.split_at_mut(stage.len());
            let chunks = of_stage.par_chunks_mut(CHUNK_SIZE).enumerate();
            let visited = chunks.map(|(chunk, records)| {
                let mut active = Vec::new();
                let change = visit(records, first + chunk * CHUNK_SIZE, &pass, &mut active);
                (change, active)
            });
            let visited: Vec<(f64, Vec<u32>)> = visited.collect();
            for (change, of_chunk) in visited {
                largest = nan_max(largest, change);
                active.extend(of_chunk);
            }
            (records, first) = (others, stage.end);
        }
        nan_max(largest, visit(records, first, &pass, active)).sqrt()
    }
}

/// The contacts that are awake, by their index among the records; the others sleep.
#[derive(Debug, Default)]
struct WakeList {
    /// Start of the contacts of each node in `at_nodes`.
    starts: Vec<u32>,
    at_nodes: Vec<u32>,
    /// Contacts that changed by more than the sleep threshold in the last sweep.
    active: Vec<u32>,
    /// Contacts to visit, ascending.
    list: Vec<u32>,
    /// Stamp of the last list that contains each contact.
    stamps: Vec<u32>,
    /// Stamp of the current list.
    stamp: u32,
}

impl WakeList {
    /// Assembles the contacts of each node; all contacts sleep.
    fn assemble(&mut self, nodes: usize, records: &[Record], stencils: &[StencilNode]) {
        self.starts.clear();
        self.starts.resize(nodes + 2, 0);
        for node in stencils {
            self.starts[node.index as usize + 2] += 1;
        }
        for node in 2..self.starts.len() {
            self.starts[node] += self.starts[node - 1];
        }
        self.at_nodes.clear();
        self.at_nodes.resize(stencils.len(), 0);
        for (index, record) in records.iter().enumerate() {
            for node in record.stencil(stencils) {
                let next = &mut self.starts[node.index as usize + 1];
                self.at_nodes[*next as usize] = index as u32;
                *next += 1;
            }
        }
        self.stamps.clear();
        self.stamps.resize(records.len(), 0);
        self.stamp = 0;
    }

    /// Lists the active contacts and their neighbours. Returns false, without a list, if there are
    /// so many that visiting all contacts is faster.
    fn list_neighbours(&mut self, records: &[Record], stencils: &[StencilNode]) -> bool {
        if self.active.len() * TUNING.full_sweep_divisor > records.len() {
            return false;
        }
        self.stamp += 1;
        self.list.clear();
        for contact in &self.active {
            for node in records[*contact as usize].stencil(stencils) {
                let index = node.index as usize;
                let neighbours = self.starts[index] as usize..self.starts[index + 1] as usize;
                for neighbour in &self.at_nodes[neighbours] {
                    let stamp = &mut self.stamps[*neighbour as usize];
                    if *stamp != self.stamp {
                        *stamp = self.stamp;
                        self.list.push(*neighbour);
                    }
                }
            }
        }
        if self.list.len() * TUNING.scan_divisor > records.len() {
            // A scan of all contacts is faster than sorting a long list.
            let stamped = (0..).zip(&self.stamps);
            let stamped = stamped.filter(|(_, stamp)| **stamp == self.stamp);
            self.list.clear();
            self.list.extend(stamped.map(|(index, _)| index));
        } else {
            self.list.sort_unstable();
        }
        true
    }
}

/// Input of a sweep that all its tasks share.
struct Pass<'a> {
    stencils: &'a [StencilNode],
    velocities: &'a Velocities,
    /// The contacts to visit, ascending; `None` for all.
    selected: Option<&'a [u32]>,
    sleep_threshold: f64,
}

/// Visits the selected contacts of `records`, the first of which has the index `first`. Returns the
/// square of the largest change. Appends contacts that changed by more than the sleep threshold to
/// `active`.
fn visit_in_order<const GENERAL: bool>(
    records: &mut [Record],
    first: usize,
    pass: &Pass<'_>,
    active: &mut Vec<u32>,
) -> f64 {
    // Squares, because a square root per contact would take a considerable part of the time.
    let (mut largest, threshold) = (0.0, pass.sleep_threshold * pass.sleep_threshold);
    let end = first + records.len();
    let mut visit = |index: usize| {
        let record = &mut records[index - first];
        let stencil = record.stencil(pass.stencils);
        let change = record.solve::<GENERAL>(stencil, pass.velocities);
        let change = change.length_squared();
        if change >= threshold && threshold > 0.0 {
            active.push(index as u32);
        }
        largest = nan_max(largest, change);
    };
    match pass.selected {
        None => (first..end).for_each(visit),
        Some(list) => {
            let [start, end] = [first, end].map(|at| list.partition_point(|c| (*c as usize) < at));
            list[start..end].iter().for_each(|c| visit(*c as usize));
        }
    }
    largest
}

impl Record {
    #[inline]
    fn stencil<'a>(&self, stencils: &'a [StencilNode]) -> &'a [StencilNode] {
        &stencils[self.start as usize..self.end as usize]
    }

    /// Solves the contact for its own impulse, the others being fixed (Alg. 1, in r̄ = s r, with
    /// s = 1). Returns the change of its relative velocity.
    #[inline]
    fn solve<const GENERAL: bool>(
        &mut self,
        stencil: &[StencilNode],
        velocities: &Velocities,
    ) -> DVec3 {
        let velocity = stencil.iter().fold(self.kinematic, |sum, node| {
            sum + velocities.get(node.index) * node.weight
        });
        let free = velocity - self.force;
        let isotropic =
            || law::solve_isotropic(self.normal, self.friction, 1.0, self.compliance, free);
        let force = if GENERAL {
            self.solve_general(free).unwrap_or_else(isotropic)
        } else {
            isotropic()
        };
        let change = force - self.force;
        self.force = force;
        for node in stencil {
            let moved = velocities.get(node.index) + change * node.share;
            velocities.set(node.index, moved);
        }
        change
    }

    /// The force by the solver for general operators.
    fn solve_general(&self, free: DVec3) -> Option<DVec3> {
        let (first, second) = self.normal.any_orthonormal_pair();
        let axes = DMat3::from_cols(self.normal, first, second);
        let operator = DMat3::from_diagonal(DVec3::new(1.0 + self.compliance, 1.0, 1.0));
        let (q, guess) = (axes.transpose() * free, axes.transpose() * self.force);
        law::solve_contact(&operator, q, self.friction, guess).map(|force| axes * force)
    }
}
