//! The projection of velocities onto what contacts allow: Gauss-Seidel without a matrix (Daviet 2020, Alg. 1 and 3).
//!
//! The problem is W p = W (v − λ) + Bᵀ r, u = B p + k, with the law for every contact. W is diagonal, so a contact by itself
//! is isotropic and solved by looking at three cases (5.2.2). Contacts are stored in the order in which they are visited, each with
//! its stencil behind that of the one before: a sweep reads memory in one stream, but for p. The first sweep visits all contacts, the
//! others those that share a node with one that has changed: the rest sleep (6.3.3).

#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU64, Ordering};

use glam::{DMat3, DVec3};
use rayon::prelude::*;

use super::WeightedNodes;
use crate::law;
use crate::problem::{NodalProblem, larger};
use crate::solve::coloring::Coloring;

/// Contacts that a thread takes at a time.
const CHUNK: usize = 512;

/// Nodes that a thread takes at a time.
const NODES: usize = 4096;

/// So many contacts are visited by one thread: waking the others would take longer.
const FEW: usize = 6000;

/// If more than one of this many contacts is restless, all are visited.
const MANY_RESTLESS: usize = 4;

/// If more than one of this many contacts is to be visited, they are put in order by looking at all.
const MANY_AWAKE: usize = 64;

/// How a contact is solved by itself. Both give the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LocalSolver {
    /// By its three cases, since W is diagonal (Daviet 2020, 5.2.2).
    #[default]
    Isotropic,
    /// As if its operator were any 3×3 matrix (Daviet et al. 2011): for comparison, as in Daviet 2020, Table 3.
    General,
}

/// A contact, with what does not change while it is solved put together.
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
    /// Where its stencil begins and ends.
    start: u32,
    end: u32,
}

/// What of a contact is not needed in a sweep.
#[derive(Clone, Copy, Debug)]
struct Scale {
    /// s_c = Σ b²/w (1/kg).
    scale: f64,
    /// s h ξ n (m/s): what cohesion pulls.
    cohesion: DVec3,
}

/// A node of a stencil.
#[derive(Clone, Copy, Debug)]
struct Weight {
    /// Among the nodes that are touched.
    place: u32,
    /// b.
    weight: f64,
    /// γ = b/(s w).
    share: f64,
}

/// Velocities that threads change side by side, never the same one in a stage.
#[derive(Debug, Default)]
struct Velocities(Vec<[AtomicU64; 3]>);

impl Velocities {
    fn get(&self, place: u32) -> DVec3 {
        let entry =
            |axis: usize| f64::from_bits(self.0[place as usize][axis].load(Ordering::Relaxed));
        DVec3::new(entry(0), entry(1), entry(2))
    }

    fn set(&self, place: u32, velocity: DVec3) {
        for (axis, number) in velocity.to_array().into_iter().enumerate() {
            self.0[place as usize][axis].store(number.to_bits(), Ordering::Relaxed);
        }
    }

    /// Takes over other velocities.
    fn fill(&mut self, count: usize, velocity: impl Fn(usize) -> DVec3 + Sync) {
        self.0.resize_with(count, Default::default);
        let chunks = self.0.par_chunks_mut(NODES).enumerate();
        chunks.for_each(|(chunk, entries)| {
            for (place, entry) in entries.iter_mut().enumerate() {
                let velocity = velocity(chunk * NODES + place).to_array();
                *entry = velocity.map(|number| AtomicU64::new(number.to_bits()));
            }
        });
    }
}

/// All contacts of a problem, ready for sweeps.
#[derive(Debug, Default)]
pub struct Projection {
    coloring: Coloring,
    records: Vec<Record>,
    scales: Vec<Scale>,
    stencils: Vec<Weight>,
    velocities: Velocities,
    awake: Awake,
    /// How contacts are solved.
    pub local: LocalSolver,
}

impl Projection {
    /// The contacts of a problem, with r to begin with.
    pub fn new(problem: &NodalProblem, nodes: &WeightedNodes, impulses: &[DVec3]) -> Self {
        let mut projection = Self::default();
        projection.pose(problem, nodes, impulses);
        projection
    }

    /// Takes over the contacts of a problem, with r to begin with, in the memory that is there: new memory costs more than what is
    /// done with it.
    pub fn pose(&mut self, problem: &NodalProblem, nodes: &WeightedNodes, impulses: &[DVec3]) {
        let contacts = &problem.contacts;
        self.coloring = Coloring::new(contacts.len(), nodes.nodes.len(), |contact| {
            let stencil = contacts.stencil(contact).iter();
            stencil.map(|(node, _)| nodes.place(*node))
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
            .pose(nodes.nodes.len(), &self.records, &self.stencils);
        self.set_impulses(impulses);
    }

    /// Adds a contact behind the others; `inverses` are 1/w.
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
            let place = nodes.place(*node);
            let moved = weight * inverses[place as usize];
            scale += weight * moved;
            self.stencils.push(Weight {
                place,
                weight: *weight,
                share: moved,
            });
        }
        for weight in &mut self.stencils[start..] {
            weight.share /= scale;
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

    /// r of every contact, in their order (N s).
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

    /// Adds W⁻¹ Bᵀ r to velocities of touched nodes.
    pub fn push(&self, velocities: &mut [DVec3]) {
        for (record, of) in self.records.iter().zip(&self.scales) {
            let force = record.force - of.cohesion;
            for weight in record.stencil(&self.stencils) {
                velocities[weight.place as usize] += force * weight.share;
            }
        }
    }

    /// Projects velocities p = v − λ + W⁻¹ Bᵀ r (Alg. 3), of which there are `count`: sweeps until no contact changes its velocity by more than
    /// `enough`, at most `sweeps`. Contacts sleep while no neighbour changes by more than `quiet`. Says by how much contacts changed in the last
    /// sweep.
    pub fn project(
        &mut self,
        (count, velocity): (usize, impl Fn(usize) -> DVec3 + Sync),
        sweeps: usize,
        enough: f64,
        quiet: f64,
    ) -> f64 {
        self.set_velocities(count, velocity);
        let mut change = self.sweep(quiet);
        for _ in 1..sweeps {
            if change <= enough {
                break;
            }
            change = self.sweep_again(quiet);
        }
        change
    }

    /// p of a node with a weight.
    #[inline]
    pub fn velocity(&self, place: usize) -> DVec3 {
        self.velocities.get(place as u32)
    }

    /// What a contact takes in memory on average, and how much of it a sweep reads and writes (bytes).
    pub fn bytes_per_contact(&self) -> [f64; 2] {
        let contacts = self.records.len().max(1) as f64;
        let stencils = (self.stencils.len() * size_of::<Weight>()) as f64 / contacts;
        let beside = size_of::<Scale>() + size_of::<u32>();
        // A record is read as a whole, and its force written back.
        let swept = size_of::<Record>() + size_of::<DVec3>();
        [
            (size_of::<Record>() + beside) as f64 + stencils,
            swept as f64 + stencils,
        ]
    }

    /// Takes over velocities p of nodes with weights, for [`Projection::sweep`].
    pub fn set_velocities(&mut self, count: usize, velocity: impl Fn(usize) -> DVec3 + Sync) {
        self.velocities.fill(count, velocity);
    }

    /// Solves every contact once; the largest change of a relative velocity. Those that change by more than `quiet` keep their neighbours awake.
    pub fn sweep(&mut self, quiet: f64) -> f64 {
        self.visit(None, quiet)
    }

    /// Solves every contact once that shares a node with one that changed by more than `quiet` in the sweep before, with itself too.
    fn sweep_again(&mut self, quiet: f64) -> f64 {
        let is_any = quiet > 0.0 && self.awake.wake(&self.records, &self.stencils);
        let list = std::mem::take(&mut self.awake.list);
        let change = self.visit(is_any.then_some(&list[..]), quiet);
        self.awake.list = list;
        change
    }

    /// Solves some contacts, or all, once, stage by stage: what is done does not depend on the threads.
    fn visit(&mut self, some: Option<&[u32]>, quiet: f64) -> f64 {
        let pass = Pass {
            stencils: &self.stencils,
            velocities: &self.velocities,
            some,
            quiet,
        };
        let visit = match self.local {
            LocalSolver::Isotropic => visit_in_order::<false>,
            LocalSolver::General => visit_in_order::<true>,
        };
        let restless = &mut self.awake.restless;
        restless.clear();
        if some.is_some_and(|some| some.len() <= FEW) {
            return visit(&mut self.records, 0, &pass, restless).sqrt();
        }
        let (mut largest, mut first) = (0.0, 0);
        let mut records = &mut self.records[..];
        for stage in &self.coloring.stages {
            let (of_stage, others) = records.split_at_mut(stage.len());
            let chunks = of_stage.par_chunks_mut(CHUNK).enumerate();
            let visited = chunks.map(|(chunk, records)| {
                let mut restless = Vec::new();
                let change = visit(records, first + chunk * CHUNK, &pass, &mut restless);
                (change, restless)
            });
            let visited: Vec<(f64, Vec<u32>)> = visited.collect();
            for (change, of_chunk) in visited {
                largest = larger(largest, change);
                restless.extend(of_chunk);
            }
            (records, first) = (others, stage.end);
        }
        larger(largest, visit(records, first, &pass, restless)).sqrt()
    }
}

/// Which contacts sleep, by where they are among the records.
#[derive(Debug, Default)]
struct Awake {
    /// The contacts at each node: where they begin, and all in a row.
    starts: Vec<u32>,
    at_nodes: Vec<u32>,
    /// Those that changed much in the last sweep.
    restless: Vec<u32>,
    /// Those to be visited, ascending, and for each contact the last time that it was one.
    list: Vec<u32>,
    woken: Vec<u32>,
    time: u32,
}

impl Awake {
    fn pose(&mut self, nodes: usize, records: &[Record], stencils: &[Weight]) {
        self.starts.clear();
        self.starts.resize(nodes + 2, 0);
        for weight in stencils {
            self.starts[weight.place as usize + 2] += 1;
        }
        for node in 2..self.starts.len() {
            self.starts[node] += self.starts[node - 1];
        }
        self.at_nodes.clear();
        self.at_nodes.resize(stencils.len(), 0);
        for (index, record) in records.iter().enumerate() {
            for weight in record.stencil(stencils) {
                let next = &mut self.starts[weight.place as usize + 1];
                self.at_nodes[*next as usize] = index as u32;
                *next += 1;
            }
        }
        self.woken.clear();
        self.woken.resize(records.len(), 0);
        self.time = 0;
    }

    /// Lists the neighbours of what is restless; false if that is worth nothing because there are too many.
    fn wake(&mut self, records: &[Record], stencils: &[Weight]) -> bool {
        if self.restless.len() * MANY_RESTLESS > records.len() {
            return false;
        }
        self.time += 1;
        self.list.clear();
        for index in &self.restless {
            for weight in records[*index as usize].stencil(stencils) {
                let place = weight.place as usize;
                let neighbours = self.starts[place] as usize..self.starts[place + 1] as usize;
                for neighbour in &self.at_nodes[neighbours] {
                    let woken = &mut self.woken[*neighbour as usize];
                    if *woken != self.time {
                        *woken = self.time;
                        self.list.push(*neighbour);
                    }
                }
            }
        }
        match self.list.len() * MANY_AWAKE > records.len() {
            // Looking at all takes less time than sorting many.
            true => {
                let woken = (0..).zip(&self.woken);
                let woken = woken.filter(|(_, woken)| **woken == self.time);
                self.list.clear();
                self.list.extend(woken.map(|(index, _)| index));
            }
            false => self.list.sort_unstable(),
        }
        true
    }
}

/// What a sweep goes by.
struct Pass<'a> {
    stencils: &'a [Weight],
    velocities: &'a Velocities,
    /// The contacts to be visited, ascending; all if nothing is given.
    some: Option<&'a [u32]>,
    quiet: f64,
}

/// Visits contacts of a part of the records, which begins with the one numbered `first`; the square of the largest change. Adds those that changed
/// much to `restless`.
fn visit_in_order<const GENERAL: bool>(
    records: &mut [Record],
    first: usize,
    pass: &Pass<'_>,
    restless: &mut Vec<u32>,
) -> f64 {
    // Squares: a root for every contact would take a good part of the time.
    let (mut largest, quiet) = (0.0, pass.quiet * pass.quiet);
    let end = first + records.len();
    let mut visit = |index: usize| {
        let record = &mut records[index - first];
        let stencil = record.stencil(pass.stencils);
        let change = record.solve::<GENERAL>(stencil, pass.velocities);
        let change = change.length_squared();
        if change >= quiet && quiet > 0.0 {
            restless.push(index as u32);
        }
        largest = larger(largest, change);
    };
    match pass.some {
        None => (first..end).for_each(visit),
        Some(some) => {
            let [start, end] = [first, end].map(|at| some.partition_point(|c| (*c as usize) < at));
            some[start..end].iter().for_each(|c| visit(*c as usize));
        }
    }
    largest
}

impl Record {
    #[inline]
    fn stencil<'a>(&self, stencils: &'a [Weight]) -> &'a [Weight] {
        &stencils[self.start as usize..self.end as usize]
    }

    /// Makes a contact satisfy the law, given all others (Alg. 1; in r̄ = s r, s is 1); how much its relative velocity changes by that.
    #[inline]
    fn solve<const GENERAL: bool>(&mut self, stencil: &[Weight], velocities: &Velocities) -> DVec3 {
        let velocity = stencil.iter().fold(self.kinematic, |sum, weight| {
            sum + velocities.get(weight.place) * weight.weight
        });
        let free = velocity - self.force;
        let isotropic =
            || law::solve_isotropic(self.normal, self.friction, 1.0, self.compliance, free);
        let force = match GENERAL {
            true => self.solve_general(free).unwrap_or_else(isotropic),
            false => isotropic(),
        };
        let change = force - self.force;
        self.force = force;
        for weight in stencil {
            let moved = velocities.get(weight.place) + change * weight.share;
            velocities.set(weight.place, moved);
        }
        change
    }

    /// Its force, by the solver for any operator.
    fn solve_general(&self, free: DVec3) -> Option<DVec3> {
        let (first, second) = self.normal.any_orthonormal_pair();
        let axes = DMat3::from_cols(self.normal, first, second);
        let operator = DMat3::from_diagonal(DVec3::new(1.0 + self.compliance, 1.0, 1.0));
        let (q, guess) = (axes.transpose() * free, axes.transpose() * self.force);
        law::solve_contact(&operator, q, self.friction, guess).map(|force| axes * force)
    }
}
