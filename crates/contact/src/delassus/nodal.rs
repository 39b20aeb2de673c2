//! From a problem in velocities and impulses to one in impulses alone: W = B A⁻¹ Bᵀ, by solves.
//!
//! A⁻¹ is needed between touched nodes of the same component only (a body, a rod, or what ties join). One solve with the factors of the
//! whole system serves one node of every component at once, so that a batch of rods costs as many solves as its most
//! touched rod has unknowns. Components that have not changed keep theirs.

use glam::{DMat3, DVec3};

use super::DelassusProblem;
use crate::block_rows::BlockRows;
use crate::law;
use crate::problem::{NodalProblem, Solution};
use crate::system::SystemFactor;

/// More touched nodes than this in one component make a matrix that is too large.
const MOST_NODES: usize = 6000;

/// A component has too many touched nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{nodes} nodes of one body are touched, and the matrix between them would not fit into memory (at most {MOST_NODES}); use the solver admm"
)]
pub struct TooManyNodes {
    /// How many.
    pub nodes: usize,
}

/// A⁻¹ between touched nodes, by components.
#[derive(Clone, Debug, Default)]
pub struct Inverses {
    components: Vec<Inverse>,
    /// The component of every node, and its place among the touched ones there.
    of_node: Vec<(u32, u32)>,
}

/// A⁻¹ between touched nodes of a component, column by column.
#[derive(Clone, Debug, Default, PartialEq)]
struct Inverse {
    nodes: Vec<u32>,
    blocks: Vec<DMat3>,
}

impl Inverses {
    /// Computes all of them. `factor` is that of A. Also says how many solves it took.
    ///
    /// # Errors
    /// If a component has too many touched nodes.
    pub fn new(
        problem: &NodalProblem,
        factor: &SystemFactor,
    ) -> Result<(Self, usize), TooManyNodes> {
        let mut inverses = Self::default();
        let solves = inverses.update(problem, factor, |_| true)?;
        Ok((inverses, solves))
    }

    /// Computes those anew that have other touched nodes, or a node in a body that has changed; how many solves it took.
    ///
    /// # Errors
    /// If a component has too many touched nodes.
    pub fn update(
        &mut self,
        problem: &NodalProblem,
        factor: &SystemFactor,
        is_changed: impl Fn(usize) -> bool,
    ) -> Result<usize, TooManyNodes> {
        let system = &problem.system;
        let (component_of, count) = system.components();
        let mut components = vec![Inverse::default(); count];
        self.of_node = vec![(u32::MAX, u32::MAX); component_of.len()];
        for node in problem.contacts.touched() {
            let index = component_of[node as usize];
            let nodes = &mut components[index as usize].nodes;
            self.of_node[node as usize] = (index, nodes.len() as u32);
            nodes.push(node);
        }
        let mut is_stale = vec![false; count];
        for (node, offset) in system.node_offset.iter().enumerate() {
            is_stale[component_of[node] as usize] |= is_changed(system.body_of(*offset));
        }
        for (index, component) in components.iter_mut().enumerate() {
            let nodes = component.nodes.len();
            if nodes > MOST_NODES {
                // What is left would not know what has changed by the next time.
                self.components.clear();
                return Err(TooManyNodes { nodes });
            }
            let before = self.components.get_mut(index).map(std::mem::take);
            match before.filter(|before| !is_stale[index] && before.nodes == component.nodes) {
                Some(before) => *component = before,
                None => component.blocks = Vec::with_capacity(nodes * nodes),
            }
        }
        self.components = components;
        Ok(self.fill(problem, factor))
    }

    /// Computes what is missing; how many solves it took.
    fn fill(&mut self, problem: &NodalProblem, factor: &SystemFactor) -> usize {
        let system = &problem.system;
        let is_missing = |of: &&mut Inverse| of.blocks.is_empty() && !of.nodes.is_empty();
        let mut missing: Vec<&mut Inverse> =
            self.components.iter_mut().filter(is_missing).collect();
        let most = missing.iter().map(|of| of.nodes.len()).max().unwrap_or(0);
        let mut vector = vec![0.0; system.dofs()];
        for column in 0..most {
            // A column of blocks per component: the three axes of its node.
            let mut columns: Vec<Vec<DMat3>> = missing
                .iter()
                .map(|of| match column < of.nodes.len() {
                    true => vec![DMat3::ZERO; of.nodes.len()],
                    false => Vec::new(),
                })
                .collect();
            for axis in 0..3 {
                vector.fill(0.0);
                for node in missing.iter().filter_map(|of| of.nodes.get(column)) {
                    let free = system.free_part(*node as usize);
                    vector[system.node_offset[*node as usize] + axis] = free[axis];
                }
                factor.solve_in_place(system, &mut vector);
                for (of, blocks) in missing.iter().zip(&mut columns) {
                    for (node, block) in of.nodes.iter().zip(blocks) {
                        let offset = system.node_offset[*node as usize];
                        let free = system.free_part(*node as usize);
                        *block.col_mut(axis) = DVec3::from_slice(&vector[offset..]) * free;
                    }
                }
            }
            for (of, blocks) in missing.iter_mut().zip(columns) {
                of.blocks.extend(blocks);
            }
        }
        3 * most
    }

    /// A⁻¹ between two touched nodes; nothing between components.
    fn between(&self, row: u32, column: u32) -> DMat3 {
        let ((component, row), (other, column)) =
            (self.of_node[row as usize], self.of_node[column as usize]);
        match component == other {
            true => {
                let of = &self.components[component as usize];
                of.blocks[column as usize * of.nodes.len() + row as usize]
            }
            false => DMat3::ZERO,
        }
    }

    /// W, q and μ of a problem whose touched nodes these are of, in the impulses r̂ beyond cohesion. Takes one solve.
    pub fn pose(&self, problem: &NodalProblem, factor: &SystemFactor) -> DelassusProblem {
        let contacts = &problem.contacts;
        let mut of_component: Vec<Vec<u32>> = vec![Vec::new(); self.components.len()];
        for contact in 0..contacts.len() {
            for (node, _) in contacts.stencil(contact) {
                let list = &mut of_component[self.of_node[*node as usize].0 as usize];
                if list.last() != Some(&(contact as u32)) {
                    list.push(contact as u32);
                }
            }
        }
        let bases: Vec<DMat3> = contacts.iter().map(|c| law::basis(c.normal)).collect();
        let mut entries = Vec::new();
        for (index, list) in of_component.iter().enumerate() {
            let within = |contact: u32| {
                let stencil = contacts.stencil(contact as usize).iter();
                stencil.filter(|(node, _)| self.of_node[*node as usize].0 as usize == index)
            };
            for (row, column) in list
                .iter()
                .flat_map(|row| list.iter().map(move |column| (*row, *column)))
            {
                let mut sum = DMat3::ZERO;
                for (node, weight) in within(row) {
                    for (other, other_weight) in within(column) {
                        sum += self.between(*node, *other) * (weight * other_weight);
                    }
                }
                let turned = bases[row as usize].transpose() * sum * bases[column as usize];
                entries.push((row, column, turned));
            }
        }
        let mut operator = BlockRows::new(contacts.len(), entries);
        let square = problem.step * problem.step;
        for (row, contact) in contacts.iter().enumerate() {
            operator.diagonal_mut(row).x_axis.x += contact.compliance / square;
        }
        // What the problem does without the impulses r̂; cohesion pulls all the time.
        let held = Self::held(problem);
        let velocities = problem.velocities(factor, &held);
        let free = (0..contacts.len()).map(|index| {
            let velocity = problem.relative_velocity(index, &velocities);
            let (velocity, _) = problem.law_pair(index, velocity, held[index]);
            bases[index].transpose() * velocity
        });
        DelassusProblem {
            free: free.collect(),
            friction: contacts.iter().map(|contact| contact.friction).collect(),
            operator,
        }
    }

    /// −hξn: the impulses of contacts at which nothing presses.
    fn held(problem: &NodalProblem) -> Vec<DVec3> {
        let pull = |cohesion: f64| -problem.step * cohesion;
        let contacts = problem.contacts.iter();
        contacts.map(|c| c.normal * pull(c.cohesion)).collect()
    }
}

/// r̂ in local axes from r in world axes.
pub fn to_local(problem: &NodalProblem, impulses: &[DVec3]) -> Vec<DVec3> {
    let of = |(index, impulse): (usize, &DVec3)| {
        let (_, beyond) = problem.law_pair(index, DVec3::ZERO, *impulse);
        law::basis(problem.contacts[index].normal).transpose() * beyond
    };
    impulses.iter().enumerate().map(of).collect()
}

/// r in world axes from r̂ in local axes, and v = A⁻¹ (f + Bᵀ r).
pub fn to_solution(problem: &NodalProblem, factor: &SystemFactor, impulses: &[DVec3]) -> Solution {
    let held = Inverses::held(problem);
    let of = |(index, impulse): (usize, &DVec3)| {
        law::basis(problem.contacts[index].normal) * *impulse + held[index]
    };
    let impulses: Vec<DVec3> = impulses.iter().enumerate().map(of).collect();
    Solution::new(problem.velocities(factor, &impulses), impulses)
}
