//! Bodies: the diagonal parts of the system matrix. Cloth, solids and props have sparse matrices of
//! 3×3 blocks, rods have batches of banded matrices.

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

/// A diagonal part of the system matrix. Bodies are coupled by ties only.
#[derive(Debug)]
pub struct Body {
    /// Index of its object.
    pub object: usize,
    /// Its nodes. Elements count nodes from the first of them.
    pub nodes: Range<usize>,
    /// Its rod edges, whose twists are unknowns; empty for other bodies.
    pub edges: Range<usize>,
    /// Its degrees of freedom: a range of flat vectors.
    pub dofs: Range<usize>,
    /// Its elements, shared by all copies.
    pub elements: Elements,
}

/// The elements of a body.
#[derive(Clone, Debug)]
pub enum Elements {
    /// Elements of cloth, a solid or a prop.
    Blocks(Arc<BlockElements>),
    /// Elements of rods with the same number of vertices.
    Rods(Arc<RodElements>),
}

/// The elements of cloth, a solid or a prop.
#[derive(Debug)]
pub struct BlockElements {
    /// The energies.
    pub terms: Vec<Term>,
    /// Triangles exposed to the wind.
    pub sail: Vec<[u32; 3]>,
    /// Mass-proportional drag α of a resting medium (1/s).
    pub mass_damping: f64,
    /// Whether the body is affine. Its energy is so stiff and so curved that it is linearised
    /// several times in a step.
    pub is_affine: bool,
    /// Sparsity pattern of the matrix.
    pub pattern: Arc<BlockPattern>,
    /// Symbolic factorization of the matrix.
    pub symbolic: Arc<Symbolic>,
}

/// The elements of rods.
#[derive(Debug)]
pub struct RodElements {
    /// Energies of stretch, bending and twist.
    pub batch: RodBatch,
    /// Viscosity over stiffness of stretch, bending and twist (s).
    pub damping: [f64; 3],
    /// Mass-proportional drag α of a resting medium (1/s).
    pub mass_damping: f64,
    /// Diameter for the drag of the wind (m).
    pub diameter: f64,
    /// Edges of all rods.
    pub edges: Vec<[u32; 2]>,
    /// Whether each edge is rigid: held by a clamp or a root from the start.
    pub is_rigid: Vec<bool>,
}

/// Sizes of the runs into which the nodes and edges of a body are divided for parallel work. The
/// unknowns of a run are consecutive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DofRun {
    nodes: usize,
    edges: usize,
}

impl DofRun {
    /// Number of unknowns of a run.
    pub(crate) fn dofs(&self) -> usize {
        3 * self.nodes + self.edges
    }

    /// Nodes of the run with this index.
    pub(crate) fn nodes_of(&self, index: usize, body: &Body) -> Range<usize> {
        part(&body.nodes, index * self.nodes, self.nodes)
    }

    /// Edges of the run with this index.
    pub(crate) fn edges_of(&self, index: usize, body: &Body) -> Range<usize> {
        part(&body.edges, index * self.edges, self.edges)
    }
}

/// A subrange, clipped at the end of the range.
fn part(range: &Range<usize>, first: usize, count: usize) -> Range<usize> {
    let at = |place: usize| range.end.min(range.start + place);
    at(first)..at(first + count)
}

/// A trial configuration in a step: positions of nodes, and rotations of rod sections.
#[derive(Clone, Copy, Debug)]
pub struct Trial<'a> {
    /// State at the start of the step.
    pub from: &'a State,
    /// Positions of all nodes (m).
    pub positions: &'a [DVec3],
    /// Rotations θ of all rod sections about their edges since the start of the step (rad).
    pub turns: &'a [f64],
}

impl<'a> Trial<'a> {
    /// The configuration at the start of the step; `turns` must be zeros.
    pub fn start(from: &'a State, turns: &'a [f64]) -> Trial<'a> {
        Trial {
            from,
            positions: &from.positions,
            turns,
        }
    }
}

impl Elements {
    /// A zero matrix with the sparsity pattern of the body.
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

    /// Mass-proportional drag α of a resting medium (1/s).
    #[must_use]
    pub fn mass_damping(&self) -> f64 {
        match self {
            Elements::Blocks(blocks) => blocks.mass_damping,
            Elements::Rods(rods) => rods.mass_damping,
        }
    }

    /// Whether any element is viscous.
    #[must_use]
    pub fn is_viscous(&self) -> bool {
        match self {
            Elements::Blocks(blocks) => blocks.terms.iter().any(|term| term.damping > 0.0),
            Elements::Rods(rods) => rods.damping.iter().any(|damping| *damping > 0.0),
        }
    }
}

impl Body {
    /// Division of its unknowns into runs. A run contains whole rods.
    pub(crate) fn run(&self) -> DofRun {
        match &self.elements {
            Elements::Blocks(_) => DofRun {
                nodes: CHUNK,
                edges: 0,
            },
            Elements::Rods(rods) => {
                let shape = rods.batch.shape();
                let count = (CHUNK / shape.vertices.max(1)).max(1);
                DofRun {
                    nodes: count * shape.vertices,
                    edges: count * shape.edges(),
                }
            }
        }
    }

    /// Configuration of its rods in a trial.
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

    /// Elastic energy (J).
    #[must_use]
    pub fn elastic_energy(&self, trial: &Trial<'_>) -> f64 {
        let positions = &trial.positions[self.nodes.clone()];
        match &self.elements {
            Elements::Blocks(blocks) => blocks.terms.iter().map(|term| term.value(positions)).sum(),
            Elements::Rods(rods) => rods.batch.value(&self.rod_pose(rods, trial)),
        }
    }

    /// Largest ratio of a length to its rest length.
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

    /// The triangle with the smallest ratio of area to rest area, and this ratio.
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
