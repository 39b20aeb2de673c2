//! Rods: nodes with a twist on every edge between them.

use glam::{DMat3, DVec3};

use super::pairs::{CandidatePair, Collider, ColliderShape, ContactProperties};
use super::{GRAVITY, World};
use crate::banded::{BandedBatch, BandedLayout};
use crate::mobility;
use crate::system::{Matrix, SystemBody};

/// Radius of rods (m).
const RADIUS: f64 = 2e-3;
/// Density (kg/m³).
const DENSITY: f64 = 1000.0;
/// Initial gap of contacts (m).
const GAP: f64 = 5e-4;
/// Natural curvature (1/m), which couples twist and bending.
const NATURAL_CURVATURE: f64 = 5.0;

/// Shape and stiffness of straight rods.
#[derive(Clone, Copy, Debug)]
pub(super) struct RodShape {
    pub(super) young: f64,
    /// Length of an edge (m).
    pub(super) length: f64,
    /// Number of edges of a rod.
    pub(super) edges: usize,
}

impl RodShape {
    /// Zero matrices of rods.
    pub(super) fn batch(&self, count: usize) -> BandedBatch {
        BandedBatch::zeros(BandedLayout::rod(self.edges + 1, false), count)
    }

    /// Adds `scale` · K of a rod with a direction: stretch, bending and twist of circular sections.
    pub(super) fn add_stiffness(
        &self,
        batch: &mut BandedBatch,
        rod: usize,
        direction: DVec3,
        scale: f64,
    ) {
        let mut add_term = |stiffness: f64, form: &[(usize, f64)]| {
            for (place, (one, a)) in form.iter().enumerate() {
                for (other, b) in &form[..=place] {
                    batch.add(rod, *one, *other, scale * stiffness * a * b);
                }
            }
        };
        let area = std::f64::consts::PI * RADIUS * RADIUS;
        let stretch = self.young * area / self.length;
        let bending = 0.25 * self.young * area * RADIUS * RADIUS;
        // Polar moment of a circle times the shear modulus for Poisson's ratio 0.3.
        let twist = bending / 1.3;
        let t = direction;
        for edge in 0..self.edges {
            let at = 4 * edge;
            add_term(
                stretch,
                &[
                    (at, -t.x),
                    (at + 1, -t.y),
                    (at + 2, -t.z),
                    (at + 4, t.x),
                    (at + 5, t.y),
                    (at + 6, t.z),
                ],
            );
        }
        // κ = (x₀ − 2 x₁ + x₂)/ℓ² minus the natural curvature, which rotates with the mean twist.
        let turned =
            direction.any_orthonormal_vector() * (0.5 * NATURAL_CURVATURE * self.length.powi(2));
        for vertex in 1..self.edges {
            let at = 4 * vertex;
            for axis in 0..3 {
                let form = [
                    (at - 4 + axis, 1.0),
                    (at - 1, -turned[axis]),
                    (at + axis, -2.0),
                    (at + 3, -turned[axis]),
                    (at + 4 + axis, 1.0),
                ];
                add_term(bending / self.length.powi(3), &form);
            }
            add_term(twist / self.length, &[(at - 1, -1.0), (at + 3, 1.0)]);
        }
    }

    /// Mass of an edge (kg).
    pub(super) fn edge_mass(&self) -> f64 {
        DENSITY * std::f64::consts::PI * RADIUS * RADIUS * self.length
    }

    /// Masses of the vertices (kg).
    pub(super) fn masses(&self) -> Vec<f64> {
        let mass = |vertex: usize| {
            if vertex == 0 || vertex == self.edges {
                0.5 * self.edge_mass()
            } else {
                self.edge_mass()
            }
        };
        (0..=self.edges).map(mass).collect()
    }

    /// Diagonal of M of a rod. A twist has the moment of inertia of its edge (kg m²).
    pub(super) fn inertia(&self) -> Vec<f64> {
        let spin = 0.5 * self.edge_mass() * RADIUS * RADIUS;
        let masses = self.masses().into_iter();
        let mut inertia: Vec<f64> = masses.flat_map(|mass| [mass, mass, mass, spin]).collect();
        inertia.pop();
        inertia
    }

    /// Twists of a rod at `offset`, and the lever arms that convert them to metres.
    pub(super) fn lever_arms(&self, offset: usize) -> impl Iterator<Item = (usize, f64)> {
        (0..self.edges).map(move |edge| (offset + 4 * edge + 3, RADIUS))
    }

    /// Adds rods without velocity, given by their first vertices and directions. Returns their
    /// first node.
    fn add_to(&self, world: &mut World, rods: &[(DVec3, DVec3)]) -> u32 {
        let first = world.masses.len() as u32;
        let offset = world.rest.len();
        let mut batch = self.batch(rods.len());
        let masses = self.masses();
        for (rod, (start, direction)) in rods.iter().enumerate() {
            self.add_stiffness(&mut batch, rod, *direction, 1.0);
            let at = world.rest.len();
            let place = |vertex: usize| *start + *direction * (vertex as f64 * self.length);
            let positions: Vec<DVec3> = (0..=self.edges).map(place).collect();
            world
                .mobilities
                .extend(mobility::rigid(&masses, &positions));
            world.masses.extend_from_slice(&masses);
            world.inertia.extend(self.inertia());
            world.lever_arms.extend(self.lever_arms(at));
            for (vertex, position) in positions.iter().enumerate() {
                world.stiffness.node_offset.push(at + 4 * vertex);
                let twist = (vertex < self.edges).then_some(0.0);
                world
                    .rest
                    .extend(position.to_array().into_iter().chain(twist));
                let pull = [0.0, 0.0, -masses[vertex] * GRAVITY];
                world.weight.extend(pull.into_iter().chain(twist));
            }
        }
        world.positions.extend_from_slice(&world.rest[offset..]);
        world.velocities.resize(world.rest.len(), 0.0);
        let matrix = Matrix::Rods(batch);
        world.stiffness.bodies.push(SystemBody { offset, matrix });
        first
    }

    /// Nodes of the edges of a rod.
    fn edges_of(&self, first: u32, rod: usize) -> impl Iterator<Item = [u32; 2]> + Clone {
        let start = first + (rod * (self.edges + 1)) as u32;
        (start..start + self.edges as u32).map(|node| [node, node + 1])
    }
}

fn properties(friction: f64, distance: f64) -> ContactProperties {
    ContactProperties {
        friction,
        distance,
        ..ContactProperties::default()
    }
}

/// `count` rods of length 24 cm and radius 2 mm, placed off-centre on a horizontal cylinder. They
/// bend around it (if softer than about 10 MPa) and slide (μ = 0.2).
pub fn chain(young: f64, count: usize) -> World {
    let rod_shape = RodShape {
        young,
        length: 0.01,
        edges: 24,
    };
    let mut world = World {
        reach: 5e-3,
        ..World::default()
    };
    let rod = |place: usize| {
        let turned = DMat3::from_rotation_z(0.05 * place as f64);
        let middle = DVec3::new(0.02, 0.02 * place as f64, RADIUS + GAP);
        let direction = turned.x_axis;
        (middle - direction * 0.12, direction)
    };
    let rods: Vec<_> = (0..count).map(rod).collect();
    let first = rod_shape.add_to(&mut world, &rods);
    let radius = 0.2;
    let shape = ColliderShape::Round {
        axis: DVec3::Y,
        radius,
    };
    let cylinder = world.add_collider(Collider::fixed(DVec3::Z * -radius, shape));
    let nodes = first..world.masses.len() as u32;
    world.add_collider_pairs(nodes, cylinder, properties(0.2, RADIUS));
    world
}

/// `count` rods on the ground and `count` rods that fall across them, with edge-edge contacts.
pub fn crossing(young: f64, count: usize) -> World {
    let rod_shape = RodShape {
        young,
        length: 0.01,
        edges: 12,
    };
    let mut world = World {
        reach: 5e-3,
        ..World::default()
    };
    let layer = |angle: f64, height: f64| {
        let frame = DMat3::from_rotation_z(angle);
        let spread = 0.08 / count as f64;
        let rod = move |place: usize| {
            let aside = (place as f64 - 0.5 * count as f64 + 0.47) * spread;
            let start = frame * DVec3::new(-0.06, aside, 0.0) + DVec3::Z * height;
            (start, frame.x_axis)
        };
        (0..count).map(rod)
    };
    let lower = layer(0.0, RADIUS + GAP);
    let upper = layer(1.4, 3.0 * RADIUS + 2.0 * GAP);
    let rods: Vec<_> = lower.chain(upper).collect();
    let first = rod_shape.add_to(&mut world, &rods);
    let shape = ColliderShape::Plane { normal: DVec3::Z };
    let ground = world.add_collider(Collider::fixed(DVec3::ZERO, shape));
    let nodes = first..world.masses.len() as u32;
    world.add_collider_pairs(nodes, ground, properties(0.3, RADIUS));
    for (above, below) in (count..2 * count).flat_map(|a| (0..count).map(move |b| (a, b))) {
        for one in rod_shape.edges_of(first, above) {
            for other in rod_shape.edges_of(first, below) {
                world.add_pair(
                    CandidatePair::Edges([one, other]),
                    properties(0.3, 2.0 * RADIUS),
                );
            }
        }
    }
    world
}
