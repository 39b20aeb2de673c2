//! Weights of nodes: the diagonal matrix W (kg), an effective mass of each node (Daviet 2020,
//! 6.2.6, and a rule that also converges on stiff bodies).

use super::tuning::TUNING;
use crate::problem::{Contacts, NodalProblem};
use crate::symmetric::eigenvalues;
use crate::system::NodeWeights;

use glam::{DMat3, DVec3};
use rayon::prelude::*;

/// Rule for the weights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WeightRule {
    /// 1/(mobility of the node in its rigid body + 1/η), on nodes in contact. η is the smallest
    /// eigenvalue of the node's block of A: the resistance against its neighbours.
    Mobility,
    /// max(σ η, min(β m, η)) on all nodes, as in the paper.
    Paper {
        /// σ; 0.001 in the paper.
        sigma: f64,
        /// β; 25 in the paper.
        beta: f64,
    },
}

impl WeightRule {
    /// The rule of the paper with its values.
    pub const PAPER: Self = Self::Paper {
        sigma: 1e-3,
        beta: 25.0,
    };
}

/// Nodes with a weight, in the order of their velocities in flat vectors.
#[derive(Clone, Debug, Default)]
pub struct WeightedNodes {
    /// The nodes.
    pub nodes: Vec<u32>,
    /// w of each (kg).
    pub weights: Vec<f64>,
    /// Offset of the velocity of each in a flat vector, ascending.
    pub offsets: Vec<usize>,
    /// The weights without the influence of heavier nodes in contact.
    own: Vec<f64>,
    /// Index in `nodes` of every node of the problem; `u32::MAX` without a weight.
    indices: Vec<u32>,
}

impl WeightedNodes {
    /// The nodes of a problem that get weights.
    pub fn new(problem: &NodalProblem, weights: WeightRule) -> Self {
        Self::after(&Self::default(), problem, weights, |_| true)
    }

    /// The nodes of a problem that get weights, with the own weights of `before` for nodes that did
    /// not change. `is_changed` tells whether the matrix at a node changed; contacts may differ.
    pub fn after(
        before: &Self,
        problem: &NodalProblem,
        weights: WeightRule,
        is_changed: impl Fn(u32) -> bool + Sync,
    ) -> Self {
        let all = &problem.system.node_offset;
        let mut nodes = match weights {
            WeightRule::Mobility => problem.contacts.nodes(),
            WeightRule::Paper { .. } => (0..all.len() as u32).collect(),
        };
        nodes.sort_by_key(|node| all[*node as usize]);
        let mut indices = vec![u32::MAX; all.len()];
        for (index, node) in nodes.iter().enumerate() {
            indices[*node as usize] = index as u32;
        }
        let own = nodes.par_iter().with_min_len(64);
        let own = own.map(|node| match before.find(*node) {
            Some(index) if !is_changed(*node) => before.own[index],
            _ => own_weight(problem, weights, *node as usize),
        });
        let own: Vec<f64> = own.collect();
        let mut weighted = Self {
            weights: own.clone(),
            offsets: nodes.iter().map(|node| all[*node as usize]).collect(),
            own,
            nodes,
            indices,
        };
        if weights == WeightRule::Mobility {
            weighted.raise_light_nodes(&problem.contacts);
        }
        weighted
    }

    /// Raises the weights of nodes in contact with much heavier ones
    /// ([`super::tuning::Tuning::neighbour_weight_fraction`]).
    fn raise_light_nodes(&mut self, contacts: &Contacts) {
        for contact in 0..contacts.len() {
            let indices = contacts.stencil(contact).iter();
            let indices = indices.map(|(node, _)| self.indices[*node as usize] as usize);
            let heaviest = indices.clone().map(|i| self.own[i]).fold(0.0, f64::max);
            for i in indices {
                let upper = TUNING.max_weight_gain * self.own[i];
                let lower = (TUNING.neighbour_weight_fraction * heaviest).min(upper);
                self.weights[i] = self.weights[i].max(lower);
            }
        }
    }

    /// The weights, with the offsets of their nodes.
    pub(super) fn by_offset(&self) -> NodeWeights<'_> {
        NodeWeights {
            offsets: &self.offsets,
            weights: &self.weights,
        }
    }

    /// Index of a node in `nodes`; the node must have a weight.
    #[inline]
    pub fn index(&self, node: u32) -> u32 {
        self.indices[node as usize]
    }

    /// Index of a node in `nodes`, if it has a weight.
    pub fn find(&self, node: u32) -> Option<usize> {
        let index = *self.indices.get(node as usize)?;
        (index != u32::MAX).then_some(index as usize)
    }

    /// The weight of a node, if it has one.
    pub fn weight(&self, node: u32) -> Option<f64> {
        self.find(node).map(|index| self.weights[index])
    }
}

/// The weight of a node by the rule alone, without its contacts.
fn own_weight(problem: &NodalProblem, weights: WeightRule, node: usize) -> f64 {
    let mass = problem.masses[node];
    let eta = smallest_eigenvalue(problem, node);
    match weights {
        WeightRule::Mobility => (problem.mobility(node) + eta.recip()).recip(),
        WeightRule::Paper { sigma, beta } => (sigma * eta).max((beta * mass).min(eta)),
    }
}

/// η over the free directions of the node. Positive, also where rounding in a stiff block is not.
fn smallest_eigenvalue(problem: &NodalProblem, node: usize) -> f64 {
    let block = problem.system.node_block(node);
    let free = problem.system.free_part(node);
    // Held directions have a 1 on the diagonal, which is not a mass.
    let large = block.x_axis.x.max(block.y_axis.y).max(block.z_axis.z);
    let held = DMat3::from_diagonal((DVec3::ONE - free) * large);
    let free = DMat3::from_diagonal(free);
    eigenvalues(&(free * block * free + held))
        .x
        .max(f64::EPSILON * large)
}
