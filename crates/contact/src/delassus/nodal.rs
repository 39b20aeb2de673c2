//! Condensation of nodal problems to the impulses: W = B A⁻¹ Bᵀ.
//!
//! A⁻¹ is needed between contact nodes of the same component only (a body, a rod, or several joined
//! by ties). One solve with the factors of the system handles one unknown of every component. A
//! batch of rods therefore takes three solves for each contact node of the rod that has most. The
//! blocks of components that have not changed are reused.

use glam::{DMat3, DVec3};

use super::DelassusProblem;
use crate::block_rows::BlockRows;
use crate::law;
use crate::problem::{NodalProblem, Solution};
use crate::system::SystemFactor;

/// Limit on the contact nodes of a component. The blocks of 6000 nodes take 2.6 GB.
const MAX_NODES: usize = 6000;

/// A component has too many contact nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{nodes} nodes of one body are in contact, and the dense matrix between them would not fit \
     into memory (at most {MAX_NODES} nodes); use the solver admm"
)]
pub struct TooManyNodes {
    /// Number of contact nodes.
    pub nodes: usize,
}

/// A⁻¹ between contact nodes, for each component.
#[derive(Clone, Debug, Default)]
pub struct InverseBlocks {
    components: Vec<ComponentInverse>,
    /// Component of every node, and its index among the contact nodes of the component.
    place_of_node: Vec<(u32, u32)>,
}

/// A⁻¹ between the contact nodes of a component, column-major.
#[derive(Clone, Debug, Default, PartialEq)]
struct ComponentInverse {
    nodes: Vec<u32>,
    blocks: Vec<DMat3>,
}

impl InverseBlocks {
    /// Recomputes the components with other contact nodes, or with a body that has changed.
    /// `factor` is that of A. Returns the number of solves.
    ///
    /// # Errors
    /// If a component has too many contact nodes.
    pub fn update(
        &mut self,
        problem: &NodalProblem,
        factor: &SystemFactor,
        is_changed: impl Fn(usize) -> bool,
    ) -> Result<usize, TooManyNodes> {
        let system = &problem.system;
        let (component_of, count) = system.components();
        let mut components = vec![ComponentInverse::default(); count];
        self.place_of_node = vec![(u32::MAX, u32::MAX); component_of.len()];
        for node in problem.contacts.nodes() {
            let index = component_of[node as usize];
            let nodes = &mut components[index as usize].nodes;
            self.place_of_node[node as usize] = (index, nodes.len() as u32);
            nodes.push(node);
        }
        let mut is_stale = vec![false; count];
        for (node, offset) in system.node_offset.iter().enumerate() {
            is_stale[component_of[node] as usize] |= is_changed(system.body_of(*offset));
        }
        for (index, component) in components.iter_mut().enumerate() {
            let nodes = component.nodes.len();
            if nodes > MAX_NODES {
                // The remaining blocks would miss the changes of this step.
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

    /// Computes the missing blocks. Returns the number of solves.
    fn fill(&mut self, problem: &NodalProblem, factor: &SystemFactor) -> usize {
        let system = &problem.system;
        let is_missing = |component: &&mut ComponentInverse| {
            component.blocks.is_empty() && !component.nodes.is_empty()
        };
        let mut missing: Vec<&mut ComponentInverse> =
            self.components.iter_mut().filter(is_missing).collect();
        let lengths = missing.iter().map(|component| component.nodes.len());
        let most = lengths.max().unwrap_or(0);
        let mut vector = vec![0.0; system.dofs()];
        for column in 0..most {
            // One block column per component: the three axes of its node.
            let mut columns: Vec<Vec<DMat3>> = missing
                .iter()
                .map(|component| {
                    if column < component.nodes.len() {
                        vec![DMat3::ZERO; component.nodes.len()]
                    } else {
                        Vec::new()
                    }
                })
                .collect();
            for axis in 0..3 {
                vector.fill(0.0);
                for node in missing.iter().filter_map(|it| it.nodes.get(column)) {
                    let free = system.free_part(*node as usize);
                    vector[system.node_offset[*node as usize] + axis] = free[axis];
                }
                factor.solve_in_place(system, &mut vector);
                for (component, blocks) in missing.iter().zip(&mut columns) {
                    for (node, block) in component.nodes.iter().zip(blocks) {
                        let offset = system.node_offset[*node as usize];
                        let free = system.free_part(*node as usize);
                        *block.col_mut(axis) = DVec3::from_slice(&vector[offset..]) * free;
                    }
                }
            }
            for (component, blocks) in missing.iter_mut().zip(columns) {
                component.blocks.extend(blocks);
            }
        }
        3 * most
    }

    /// A⁻¹ between two contact nodes; zero between components.
    fn between(&self, row: u32, column: u32) -> DMat3 {
        let ((component, row), (other, column)) = (
            self.place_of_node[row as usize],
            self.place_of_node[column as usize],
        );
        if component == other {
            let component = &self.components[component as usize];
            component.blocks[column as usize * component.nodes.len() + row as usize]
        } else {
            DMat3::ZERO
        }
    }

    /// Problem in the impulses r̂ = r + hξn, for the problem of the last update. Takes one solve.
    pub fn condense(&self, problem: &NodalProblem, factor: &SystemFactor) -> DelassusProblem {
        let contacts = &problem.contacts;
        let mut component_contacts: Vec<Vec<u32>> = vec![Vec::new(); self.components.len()];
        for contact in 0..contacts.len() {
            for (node, _) in contacts.stencil(contact) {
                let component = self.place_of_node[*node as usize].0;
                let list = &mut component_contacts[component as usize];
                if list.last() != Some(&(contact as u32)) {
                    list.push(contact as u32);
                }
            }
        }
        let bases: Vec<DMat3> = contacts.iter().map(|c| law::basis(c.normal)).collect();
        let mut entries = Vec::new();
        for (index, list) in component_contacts.iter().enumerate() {
            let within = |contact: u32| {
                let stencil = contacts.stencil(contact as usize).iter();
                stencil.filter(|(node, _)| self.place_of_node[*node as usize].0 as usize == index)
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
                let local = bases[row as usize].transpose() * sum * bases[column as usize];
                entries.push((row, column, local));
            }
        }
        let mut operator = BlockRows::new(contacts.len(), entries);
        let square = problem.step * problem.step;
        for (row, contact) in contacts.iter().enumerate() {
            operator.diagonal_mut(row).x_axis.x += contact.compliance / square;
        }
        // Motion without the impulses r̂, but with those of cohesion.
        let cohesion = Self::cohesion_impulses(problem);
        let velocities = problem.velocities(factor, &cohesion);
        let free = (0..contacts.len()).map(|index| {
            let velocity = problem.relative_velocity(index, &velocities);
            let (velocity, _) = problem.law_pair(index, velocity, cohesion[index]);
            bases[index].transpose() * velocity
        });
        DelassusProblem {
            free: free.collect(),
            friction: contacts.iter().map(|contact| contact.friction).collect(),
            operator,
        }
    }

    /// −hξn: impulses of cohesion alone.
    fn cohesion_impulses(problem: &NodalProblem) -> Vec<DVec3> {
        let impulse = |cohesion: f64| -problem.step * cohesion;
        let contacts = problem.contacts.iter();
        contacts.map(|c| c.normal * impulse(c.cohesion)).collect()
    }
}

/// r̂ in local axes from r in world axes.
pub fn to_local(problem: &NodalProblem, impulses: &[DVec3]) -> Vec<DVec3> {
    let local = |(index, impulse): (usize, &DVec3)| {
        let (_, impulse) = problem.law_pair(index, DVec3::ZERO, *impulse);
        law::basis(problem.contacts[index].normal).transpose() * impulse
    };
    impulses.iter().enumerate().map(local).collect()
}

/// r in world axes from r̂ in local axes.
pub fn to_world(problem: &NodalProblem, impulses: &[DVec3]) -> Vec<DVec3> {
    let cohesion = InverseBlocks::cohesion_impulses(problem);
    let world = |(index, impulse): (usize, &DVec3)| {
        law::basis(problem.contacts[index].normal) * *impulse + cohesion[index]
    };
    impulses.iter().enumerate().map(world).collect()
}

/// The admissible r in world axes from r̂ in local axes, and v = A⁻¹ (f + Bᵀ r).
pub fn to_solution(problem: &NodalProblem, factor: &SystemFactor, impulses: &[DVec3]) -> Solution {
    let mut impulses = to_world(problem, impulses);
    problem.make_admissible(&mut impulses);
    Solution::new(problem.velocities(factor, &impulses), impulses)
}
