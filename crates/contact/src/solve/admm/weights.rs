//! How hard it is to move a node: the diagonal W (Daviet 2020, 6.2.6, and what holds where that stalls).

use crate::problem::{Contacts, NodalProblem};
use crate::symmetric::eigenvalues;
use crate::system::NodeWeights;

use glam::{DMat3, DVec3};
use rayon::prelude::*;

/// How the weights are chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Weights {
    /// 1/(mobility of the node in its rigid body + 1/η), on nodes that may touch. η is the smallest eigenvalue of the node's block of
    /// A: how hard it is to move against its neighbours.
    Mobility,
    /// max(σ η, min(β m, η)) on all nodes, as in the paper.
    Paper {
        /// σ; 0.001 in the paper.
        sigma: f64,
        /// β; 25 in the paper.
        beta: f64,
    },
}

impl Weights {
    /// With the values of the paper.
    pub const PAPER: Self = Self::Paper {
        sigma: 1e-3,
        beta: 25.0,
    };
}

/// A node that touches a heavier one has at least this part of its weight: light nodes between heavy ones, such as hair under a band, would
/// otherwise pass on their push in many sweeps. But no more than so many times its own: fur that weighed a part of the body it grows on would hardly
/// give way in an iteration.
const SPREAD: f64 = 0.05;
const HEAVIER: f64 = 10.0;

/// Nodes with a weight, by where they lie in vectors.
#[derive(Clone, Debug, Default)]
pub struct WeightedNodes {
    /// The nodes.
    pub nodes: Vec<u32>,
    /// w of each (kg).
    pub weights: Vec<f64>,
    /// Where the velocities of each start, ascending.
    pub offsets: Vec<usize>,
    /// The weights without those of what they touch.
    own: Vec<f64>,
    /// Where each node is among them, for all nodes.
    places: Vec<u32>,
}

impl WeightedNodes {
    /// The nodes of a problem that get weights.
    pub fn new(problem: &NodalProblem, weights: Weights) -> Self {
        Self::after(&Self::default(), problem, weights, |_| true)
    }

    /// The same if most are as before: a function says whether anything else about a node changed than its contacts.
    pub fn after(
        before: &Self,
        problem: &NodalProblem,
        weights: Weights,
        is_changed: impl Fn(u32) -> bool + Sync,
    ) -> Self {
        let all = &problem.system.node_offset;
        let mut nodes = match weights {
            Weights::Mobility => problem.contacts.touched(),
            Weights::Paper { .. } => (0..all.len() as u32).collect(),
        };
        nodes.sort_by_key(|node| all[*node as usize]);
        let mut places = vec![u32::MAX; all.len()];
        for (place, node) in nodes.iter().enumerate() {
            places[*node as usize] = place as u32;
        }
        let own = nodes.par_iter().with_min_len(64);
        let own = own.map(|node| match before.find(*node) {
            Some(place) if !is_changed(*node) => before.own[place],
            _ => weight_of(problem, weights, *node as usize),
        });
        let own: Vec<f64> = own.collect();
        let mut made = Self {
            weights: own.clone(),
            offsets: nodes.iter().map(|node| all[*node as usize]).collect(),
            own,
            nodes,
            places,
        };
        if weights == Weights::Mobility {
            made.spread(&problem.contacts);
        }
        made
    }

    fn spread(&mut self, contacts: &Contacts) {
        for contact in 0..contacts.len() {
            let places = contacts.stencil(contact).iter();
            let places = places.map(|(node, _)| self.places[*node as usize] as usize);
            let heaviest = places.clone().map(|at| self.own[at]).fold(0.0, f64::max);
            for at in places {
                let enough = HEAVIER * self.own[at];
                self.weights[at] = self.weights[at].max((SPREAD * heaviest).min(enough));
            }
        }
    }

    /// The weights, by where they are in vectors.
    pub(super) fn by_offset(&self) -> NodeWeights<'_> {
        NodeWeights {
            offsets: &self.offsets,
            weights: &self.weights,
        }
    }

    /// Where a node is among them; it must be one of them.
    #[inline]
    pub fn place(&self, node: u32) -> u32 {
        self.places[node as usize]
    }

    /// Where a node is among them, if it is.
    pub fn find(&self, node: u32) -> Option<usize> {
        let place = *self.places.get(node as usize)?;
        (place != u32::MAX).then_some(place as usize)
    }

    /// The weight of a node, if it has one.
    pub fn weight(&self, node: u32) -> Option<f64> {
        self.find(node).map(|place| self.weights[place])
    }
}

fn weight_of(problem: &NodalProblem, weights: Weights, node: usize) -> f64 {
    let mass = problem.masses[node];
    let eta = smallest_eigenvalue(problem, node);
    match weights {
        Weights::Mobility => (problem.mobility(node) + eta.recip()).recip(),
        Weights::Paper { sigma, beta } => (sigma * eta).max((beta * mass).min(eta)),
    }
}

/// η, of the directions in which the node can move; positive, whatever rounding makes of a stiff block.
fn smallest_eigenvalue(problem: &NodalProblem, node: usize) -> f64 {
    let block = problem.system.node_block(node);
    let free = problem.system.free_part(node);
    // What is held has a 1 there, which is no mass.
    let large = block.x_axis.x.max(block.y_axis.y).max(block.z_axis.z);
    let held = DMat3::from_diagonal((DVec3::ONE - free) * large);
    let free = DMat3::from_diagonal(free);
    eigenvalues(&(free * block * free + held))
        .x
        .max(f64::EPSILON * large)
}
