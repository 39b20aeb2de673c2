//! A pile of rods with very many contacts, for measurements of kernels.

use glam::DVec3;

use super::GRAVITY;
use super::rods::RodShape;
use crate::mobility;
use crate::problem::{Contact, Contacts, NodalProblem};
use crate::random::Random;
use crate::system::{Matrix, System};

/// Crossings on an edge with each of the two neighbouring layers.
const CROSSINGS_PER_EDGE: usize = 2;
/// Time step (s).
const STEP: f64 = 1e-3;

/// Layers of parallel rods, alternately along x and y.
#[derive(Clone, Copy, Debug)]
struct Pile {
    /// Rods per layer, which is also the number of crossings of a rod with the layer above.
    rods: usize,
    layers: usize,
    rod_shape: RodShape,
}

/// About `contacts` contacts: between the edges of crossing rods of a pile, and of its lowest layer
/// with the ground. Normals and gaps have small random perturbations.
pub fn heap(contacts: usize) -> NodalProblem {
    let rods = (contacts as f64).cbrt().round().max(2.0) as usize;
    let pile = Pile {
        rods,
        layers: (contacts / (rods * rods)).max(1) + 1,
        rod_shape: RodShape {
            young: 1e8,
            length: 0.01,
            edges: rods.div_ceil(CROSSINGS_PER_EDGE),
        },
    };
    let (system, force) = pile.system();
    let count = pile.rods * pile.layers;
    let masses = pile.rod_shape.masses();
    let place = |vertex: usize| DVec3::X * (vertex as f64 * pile.rod_shape.length);
    let positions: Vec<DVec3> = (0..masses.len()).map(place).collect();
    let lever_arms =
        (0..count).flat_map(|rod| pile.rod_shape.lever_arms(rod * (4 * masses.len() - 1)));
    NodalProblem {
        force,
        step: STEP,
        mobilities: mobility::rigid(&masses, &positions).repeat(count),
        masses: masses.repeat(count),
        lever_arms: lever_arms.collect(),
        contacts: pile.contacts(),
        system,
    }
}

impl Pile {
    /// A = M + h²K and f = h M g.
    fn system(&self) -> (System, Vec<f64>) {
        let count = self.rods * self.layers;
        let (inertia, masses) = (self.rod_shape.inertia(), self.rod_shape.masses());
        let mut batch = self.rod_shape.batch(count);
        batch.set_diagonal(&inertia.repeat(count));
        for rod in 0..count {
            let direction = [DVec3::X, DVec3::Y][rod / self.rods % 2];
            self.rod_shape
                .add_stiffness(&mut batch, rod, direction, STEP * STEP);
        }
        let place = |node: usize| node / masses.len() * inertia.len() + 4 * (node % masses.len());
        let offsets: Vec<usize> = (0..count * masses.len()).map(place).collect();
        let mut force = vec![0.0; batch.dofs()];
        for (node, offset) in offsets.iter().enumerate() {
            force[offset + 2] = -STEP * GRAVITY * masses[node % masses.len()];
        }
        (System::new([Matrix::Rods(batch)], offsets), force)
    }

    fn contacts(&self) -> Contacts {
        let mut random = Random::new(1);
        let mut contacts = Contacts::new();
        let vertices = self.rod_shape.edges + 1;
        let mut push = |stencil: &[(u32, f64)]| {
            let normal = (DVec3::Z + random.vector() * 0.2).normalize_or(DVec3::Z);
            let gap = 1e-5 * (random.unit() - 0.5);
            let contact = Contact {
                id: contacts.len() as u64,
                normal,
                kinematic: normal * (gap / STEP),
                friction: 0.3,
                ..Contact::default()
            };
            contacts.push(contact, stencil.iter().copied());
        };
        for node in 0..self.rods * vertices {
            push(&[(node as u32, 1.0)]);
        }
        for (layer, place) in (1..self.layers).flat_map(|l| (0..self.rods).map(move |p| (l, p))) {
            for crossed in 0..self.rods {
                let (above, s) = self.crossing(layer, place, crossed);
                let (below, t) = self.crossing(layer - 1, crossed, place);
                push(&[
                    (above, 1.0 - s),
                    (above + 1, s),
                    (below, t - 1.0),
                    (below + 1, -t),
                ]);
            }
        }
        contacts
    }

    /// Crossing of a rod with a rod of a neighbouring layer: the first node of the edge, and the
    /// parameter along the edge.
    fn crossing(&self, layer: usize, rod: usize, crossed: usize) -> (u32, f64) {
        let first = (layer * self.rods + rod) * (self.rod_shape.edges + 1);
        let along = (crossed % CROSSINGS_PER_EDGE) as f64 + 0.5;
        (
            (first + crossed / CROSSINGS_PER_EDGE) as u32,
            along / CROSSINGS_PER_EDGE as f64,
        )
    }
}
