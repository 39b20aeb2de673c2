//! Energies of bodies with a matrix of 3×3 blocks, and the assembly of each into the matrix.

use glam::DVec3;
use reefknot_contact::block_sparse::BlockPattern;

use super::affine::Orthogonality;
use super::assemble::{ElementBuffer, GatherMap};
use super::hinge::Hinges;
use super::membrane::Membrane;
use super::plate::{Plate, Stars};
use super::solid::Solid;
use super::spring::Springs;
use super::{Curvature, Energy, total_value};

/// An elastic energy.
#[derive(Clone, Debug)]
pub enum Elastic {
    /// Stretch and shear of triangles.
    Membrane(Membrane),
    /// Bending across edges.
    Hinges(Hinges),
    /// Plate bending, elements of 3 nodes.
    Plate3(Stars<3>),
    /// Plate bending, elements of 4 nodes.
    Plate4(Stars<4>),
    /// Plate bending, elements of 5 nodes.
    Plate5(Stars<5>),
    /// Plate bending, elements of 6 nodes.
    Plate6(Stars<6>),
    /// Plate bending, elements of 7 nodes.
    Plate7(Stars<7>),
    /// Plate bending, elements of 8 nodes.
    Plate8(Stars<8>),
    /// Plate bending, elements of 9 nodes.
    Plate9(Stars<9>),
    /// Plate bending, elements of 10 nodes.
    Plate10(Stars<10>),
    /// Springs along edges.
    Springs(Springs),
    /// Tetrahedra.
    Solid(Solid),
    /// Orthogonality of the axes of an affine body.
    Orthogonality(Orthogonality),
}

/// Evaluates an expression with the energy of any variant.
macro_rules! with_energy {
    ($elastic:expr, $energy:ident => $result:expr) => {
        match $elastic {
            Elastic::Membrane($energy) => $result,
            Elastic::Hinges($energy) => $result,
            Elastic::Plate3($energy) => $result,
            Elastic::Plate4($energy) => $result,
            Elastic::Plate5($energy) => $result,
            Elastic::Plate6($energy) => $result,
            Elastic::Plate7($energy) => $result,
            Elastic::Plate8($energy) => $result,
            Elastic::Plate9($energy) => $result,
            Elastic::Plate10($energy) => $result,
            Elastic::Springs($energy) => $result,
            Elastic::Solid($energy) => $result,
            Elastic::Orthogonality($energy) => $result,
        }
    };
}

impl Elastic {
    /// Pairs of distinct nodes of all elements.
    pub fn pairs(&self) -> Vec<(u32, u32)> {
        with_energy!(self, energy => pairs_of(energy.stencils()))
    }
}

/// The energies of a plate that have elements.
pub fn plate_terms(plate: Plate) -> Vec<Elastic> {
    let parts = [
        Elastic::Plate3(plate.of_3),
        Elastic::Plate4(plate.of_4),
        Elastic::Plate5(plate.of_5),
        Elastic::Plate6(plate.of_6),
        Elastic::Plate7(plate.of_7),
        Elastic::Plate8(plate.of_8),
        Elastic::Plate9(plate.of_9),
        Elastic::Plate10(plate.of_10),
    ];
    let has_elements = |part: &Elastic| with_energy!(part, energy => !energy.stencils().is_empty());
    parts.into_iter().filter(has_elements).collect()
}

/// Pairs of distinct nodes of all elements.
fn pairs_of<const K: usize>(stencils: &[[u32; K]]) -> Vec<(u32, u32)> {
    let of_one = |stencil: &[u32; K]| {
        let stencil = *stencil;
        (0..K).flat_map(move |i| (0..i).map(move |j| (stencil[i], stencil[j])))
    };
    stencils.iter().flat_map(of_one).collect()
}

/// An energy of a body, with its damping and its assembly map.
#[derive(Clone, Debug)]
pub struct Term {
    /// The energy.
    pub elastic: Elastic,
    /// Viscosity over stiffness (s).
    pub damping: f64,
    /// Map from its elements to the matrix and the gradient.
    pub map: GatherMap,
}

impl Term {
    /// A term of a matrix whose pattern has a block for every pair of nodes of an element.
    pub fn new(elastic: Elastic, damping: f64, pattern: &BlockPattern) -> Term {
        let slot = |row: usize, column: usize| pattern.slot(row, column).unwrap_or(usize::MAX);
        let (nodes, blocks) = (pattern.nodes(), pattern.blocks());
        let map = with_energy!(&elastic, energy => {
            GatherMap::new(energy.stencils(), nodes, blocks, slot)
        });
        Term {
            elastic,
            damping,
            map,
        }
    }

    /// Number of elements.
    pub fn elements(&self) -> usize {
        with_energy!(&self.elastic, energy => energy.stencils().len())
    }

    /// Energy (J).
    pub fn value(&self, positions: &[DVec3]) -> f64 {
        with_energy!(&self.elastic, energy => total_value(energy, positions))
    }

    /// An empty buffer for its elements.
    pub fn buffer(&self) -> ElementBuffer {
        with_energy!(&self.elastic, energy => ElementBuffer::new(energy.stencils()))
    }

    /// Evaluates values, gradients and projected Hessians.
    pub fn fill(&self, buffer: &mut ElementBuffer, positions: &[DVec3], curvature: Curvature) {
        with_energy!(&self.elastic, energy => buffer.fill(energy, positions, curvature));
    }

    /// Evaluates values and gradients.
    pub fn fill_gradients(&self, buffer: &mut ElementBuffer, positions: &[DVec3]) {
        with_energy!(&self.elastic, energy => buffer.fill_gradients(energy, positions));
    }

    /// Largest ratio of a length to its rest length; `None` for energies without a strain measure.
    pub fn max_stretch(&self, positions: &[DVec3]) -> Option<f64> {
        match &self.elastic {
            Elastic::Membrane(membrane) => Some(membrane.max_stretch(positions)),
            Elastic::Solid(solid) => Some(solid.max_stretch(positions)),
            _ => None,
        }
    }
}
