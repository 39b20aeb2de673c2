//! What is factorized by itself: cloth, solids and props as matrices of 3×3 blocks, rods as batches of bands.

use std::ops::Range;
use std::sync::Arc;

use glam::DVec3;
use reefknot_contact::banded::BandedBatch;
use reefknot_contact::block_sparse::{BlockPattern, BlockSparse};
use reefknot_contact::symbolic::Symbolic;
use reefknot_contact::system::Matrix;

use crate::energy::CHUNK;
use crate::energy::rod::{RodBatch, RodPose, RodStart};
use crate::energy::term::{Elastic, Term};
use crate::state::State;

/// A part that is simulated by itself: only ties join its matrix with others.
#[derive(Debug)]
pub struct Body {
    /// The index of its object.
    pub object: usize,
    /// Its nodes; elements count from the first of them.
    pub nodes: Range<usize>,
    /// Its edges of rods, whose twists are unknowns too; none for other bodies.
    pub edges: Range<usize>,
    /// Its degrees of freedom.
    pub dofs: Range<usize>,
    /// What it resists; shared by all copies.
    pub elements: Elements,
}

/// The elements of a body.
#[derive(Clone, Debug)]
pub enum Elements {
    /// Of cloth, a solid or a prop.
    Blocks(Arc<BlockElements>),
    /// Of rods of the same number of vertices.
    Rods(Arc<RodElements>),
}

/// The elements of cloth, a solid or a prop.
#[derive(Debug)]
pub struct BlockElements {
    /// The energies.
    pub terms: Vec<Term>,
    /// The triangles that the wind blows on.
    pub sail: Vec<[u32; 3]>,
    /// Drag of a resting medium by mass (1/s).
    pub mass_damping: f64,
    /// Whether the energies are so stiff and so bent that one linearisation in a step is not enough.
    pub is_affine: bool,
    /// The blocks of the matrix.
    pub pattern: Arc<BlockPattern>,
    /// How the matrix is factorized.
    pub symbolic: Arc<Symbolic>,
}

/// The elements of rods.
#[derive(Debug)]
pub struct RodElements {
    /// Stretch, bending and twist.
    pub batch: RodBatch,
    /// Viscosity over stiffness of stretch, bending and twist (s).
    pub damping: [f64; 3],
    /// Drag of a resting medium by mass (1/s).
    pub mass_damping: f64,
    /// Diameter, which the wind blows on (m).
    pub diameter: f64,
    /// The edges of all rods.
    pub edges: Vec<[u32; 2]>,
    /// Whether each edge is rigid, since a clamp or a root holds it from the start.
    pub is_rigid: Vec<bool>,
}

/// Consecutive nodes and edges of a body whose unknowns are consecutive too: what one thread works on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    nodes: usize,
    edges: usize,
}

impl Run {
    /// How many unknowns.
    pub(crate) fn dofs(&self) -> usize {
        3 * self.nodes + self.edges
    }

    /// The nodes of the run of some index.
    pub(crate) fn nodes_of(&self, index: usize, body: &Body) -> Range<usize> {
        part(&body.nodes, index * self.nodes, self.nodes)
    }

    /// Its edges.
    pub(crate) fn edges_of(&self, index: usize, body: &Body) -> Range<usize> {
        part(&body.edges, index * self.edges, self.edges)
    }
}

/// A part of a range, as far as it goes.
fn part(range: &Range<usize>, first: usize, count: usize) -> Range<usize> {
    let at = |place: usize| range.end.min(range.start + place);
    at(first)..at(first + count)
}

/// Where a body is on its way through a step: positions of its nodes, turns of its edges about themselves.
#[derive(Clone, Copy, Debug)]
pub struct Trial<'a> {
    /// Where the step began.
    pub from: &'a State,
    /// Positions of all nodes (m).
    pub positions: &'a [DVec3],
    /// Turns of all edges of rods since the start of the step (rad).
    pub turns: &'a [f64],
}

impl<'a> Trial<'a> {
    /// The start of the step itself; `turns` are zeros.
    pub fn start(from: &'a State, turns: &'a [f64]) -> Trial<'a> {
        Trial {
            from,
            positions: &from.positions,
            turns,
        }
    }
}

impl Elements {
    /// A matrix without entries.
    pub fn matrix(&self) -> Matrix {
        match self {
            Elements::Blocks(blocks) => Matrix::Blocks(BlockSparse::zeros(blocks.pattern.clone())),
            Elements::Rods(rods) => Matrix::Rods(BandedBatch::zeros(
                rods.batch.layout(),
                rods.batch.shape().count,
            )),
        }
    }

    /// Number of elements.
    #[must_use]
    pub fn count(&self) -> usize {
        match self {
            Elements::Blocks(blocks) => blocks.terms.iter().map(Term::elements).sum(),
            Elements::Rods(rods) => rods.edges.len(),
        }
    }

    /// Drag of a resting medium by mass (1/s).
    #[must_use]
    pub fn mass_damping(&self) -> f64 {
        match self {
            Elements::Blocks(blocks) => blocks.mass_damping,
            Elements::Rods(rods) => rods.mass_damping,
        }
    }

    /// Whether anything is viscous.
    #[must_use]
    pub fn is_viscous(&self) -> bool {
        match self {
            Elements::Blocks(blocks) => blocks.terms.iter().any(|term| term.damping > 0.0),
            Elements::Rods(rods) => rods.damping.iter().any(|damping| *damping > 0.0),
        }
    }
}

impl Body {
    /// How its unknowns are cut into runs: rods into some whole ones each.
    pub(crate) fn run(&self) -> Run {
        match &self.elements {
            Elements::Blocks(_) => Run {
                nodes: CHUNK,
                edges: 0,
            },
            Elements::Rods(rods) => {
                let shape = rods.batch.shape();
                let count = (CHUNK / shape.vertices.max(1)).max(1);
                Run {
                    nodes: count * shape.vertices,
                    edges: count * shape.edges(),
                }
            }
        }
    }

    /// Where its rods are on their way through a step.
    pub fn rod_pose<'a>(&self, rods: &'a RodElements, trial: &Trial<'a>) -> RodPose<'a> {
        RodPose {
            start: RodStart {
                positions: &trial.from.positions[self.nodes.clone()],
                directors: &trial.from.directors[self.edges.clone()],
                twists: &trial.from.twists[self.edges.clone()],
                is_rigid: Some(&rods.is_rigid),
            },
            positions: &trial.positions[self.nodes.clone()],
            theta: &trial.turns[self.edges.clone()],
        }
    }

    /// Its elastic energy (J).
    #[must_use]
    pub fn elastic_energy(&self, trial: &Trial<'_>) -> f64 {
        let positions = &trial.positions[self.nodes.clone()];
        match &self.elements {
            Elements::Blocks(blocks) => blocks.terms.iter().map(|term| term.value(positions)).sum(),
            Elements::Rods(rods) => rods.batch.value(&self.rod_pose(rods, trial)),
        }
    }

    /// The largest ratio of a length to its rest length.
    #[must_use]
    pub fn max_stretch(&self, state: &State) -> f64 {
        let positions = &state.positions[self.nodes.clone()];
        match &self.elements {
            Elements::Blocks(blocks) => {
                let stretches = blocks.terms.iter();
                let stretches = stretches.filter_map(|term| term.max_stretch(positions));
                stretches.fold(0.0, f64::max)
            }
            Elements::Rods(rods) => rods.batch.max_stretch(positions),
        }
    }

    /// A triangle that has lost its area, and the part of its rest area that is left.
    #[must_use]
    pub fn smallest_area_ratio(&self, state: &State) -> Option<(usize, f64)> {
        let Elements::Blocks(blocks) = &self.elements else {
            return None;
        };
        let positions = &state.positions[self.nodes.clone()];
        blocks.terms.iter().find_map(|term| match &term.elastic {
            Elastic::Membrane(membrane) => membrane.smallest_area_ratio(positions),
            _ => None,
        })
    }
}
