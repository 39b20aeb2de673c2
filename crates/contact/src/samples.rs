//! Sample contact problems for tests and measurements of solvers, independent of the simulator.
//!
//! A [`World`] is linear: its bodies have constant matrices M and K (small displacements from a
//! rest shape), so a step is a single problem without further linearisation. There are worlds of
//! tetrahedra ([`cube`], [`stack`], …), [`affine`] boxes, rods ([`chain`], [`crossing`]) and
//! [`cloth`]. [`capture`] advances a world with a solver and records the problem and the warm start
//! of every step. Problems without a preceding motion are [`random`] and [`heap`]. [`rescale`]
//! converts a problem to other units.
//!
//! SI units, z up. Slopes are in radians, Young's moduli in Pa.

mod affine;
mod cloth;
mod elasticity;
mod hard;
mod heap;
mod pairs;
mod random;
#[cfg(test)]
pub(crate) mod reference;
mod rods;
mod solids;
#[cfg(test)]
mod tests;
mod units;

use glam::{DMat3, DVec3};

pub use affine::{affine, brick, wall};
pub use cloth::{cloth, layers};
pub use hard::{contradictory, tied, wedge};
pub use heap::heap;
pub use random::random;
pub use rods::{chain, crossing};
pub use solids::{cube, stack, thrown};
pub use units::rescale;

use crate::block_sparse::BlockSparse;
use crate::mobility;
use crate::problem::{Contact, Contacts, NodalProblem, Solution, WarmStart};
use crate::system::{Coupling, Matrix, System, SystemBody};
use elasticity::QuadraticTerm;
use pairs::{Candidate, CandidatePair, Collider, ContactProperties, Point};

/// Acceleration of gravity (m/s²).
pub const GRAVITY: f64 = 9.81;

/// Cohesion acts at gaps below this (m); it must not act at a distance.
const COHESION_RANGE: f64 = 1e-4;

/// Bodies with constant M and K under gravity, in contact with colliders and each other. Vectors
/// are flat, as in [`System`].
#[derive(Clone, Debug, Default)]
pub struct World {
    /// Positions (m; twists in rad).
    pub positions: Vec<f64>,
    /// Velocities (m/s; twists in rad/s).
    pub velocities: Vec<f64>,
    /// Stiffness-proportional damping: C = `damping` · K (s).
    pub damping: f64,
    /// Candidate pairs with a gap below this become contacts (m).
    pub reach: f64,
    /// K (N/m); its couplings are ties.
    stiffness: System,
    /// Diagonal of M.
    inertia: Vec<f64>,
    /// M g (N).
    weight: Vec<f64>,
    /// Rest positions X.
    rest: Vec<f64>,
    masses: Vec<f64>,
    mobilities: Vec<f64>,
    lever_arms: Vec<(usize, f64)>,
    /// Held degrees of freedom and their velocities.
    held: Vec<(usize, f64)>,
    colliders: Vec<Collider>,
    /// Triangles of surfaces, counter-clockwise from outside.
    surfaces: Vec<Vec<[Point; 3]>>,
    /// The index of a pair is the id of its contact.
    candidates: Vec<Candidate>,
}

/// Worlds of all kinds, with tens to hundreds of contacts.
pub fn worlds(young: f64) -> Vec<(&'static str, World)> {
    vec![
        ("cube", cube(young, 4, 0.4, 0.2)),
        ("thrown", thrown(young, 4, 0.3)),
        ("stack", stack(young, 3)),
        ("affine", affine(young, 3)),
        ("wall", wall(young, 4)),
        ("brick", brick(young, 10, 0.4, 0.2)),
        ("chain", chain(young, 3)),
        ("crossing", crossing(young, 4)),
        ("cloth", cloth(young, 12)),
        ("layers", layers(young, 8)),
        ("wedge", wedge(young, 3, 0.3)),
        ("tied", tied(young, 2)),
    ]
}

/// Problem and warm start of a step.
#[derive(Clone, Debug)]
pub struct CapturedStep {
    /// Problem of the step.
    pub problem: NodalProblem,
    /// Warm start from the solution of the previous step.
    pub warm: WarmStart,
}

/// Problems of `count` steps of a world. Its motion is the solution returned by `solve`.
///
/// # Panics
/// If a solution does not have a velocity for every degree of freedom.
pub fn capture(
    mut world: World,
    step: f64,
    count: usize,
    mut solve: impl FnMut(&NodalProblem, &WarmStart) -> Solution,
) -> Vec<CapturedStep> {
    let mut warm = WarmStart {
        velocities: world.velocities.clone(),
        contacts: Vec::new(),
    };
    let mut captured = Vec::with_capacity(count);
    for _ in 0..count {
        let problem = world.problem(step);
        let solution = solve(&problem, &warm);
        world.advance(step, &solution.velocities);
        let next = WarmStart::from_solution(&problem, solution);
        let warm = std::mem::replace(&mut warm, next);
        captured.push(CapturedStep { problem, warm });
    }
    captured
}

impl World {
    /// Problem of the next step: A = M + hC + h²K, f = M v + h (M g − K (x − X)), and the candidate
    /// pairs within reach.
    pub fn problem(&self, step: f64) -> NodalProblem {
        let whole = self.matrix(step);
        let mut force = self.force(step);
        let system = self.hold(whole, &mut force);
        NodalProblem {
            system,
            force,
            step,
            masses: self.masses.clone(),
            mobilities: self.mobilities.clone(),
            lever_arms: self.lever_arms.clone(),
            contacts: self.contacts(step),
        }
    }

    /// Advances positions and colliders by a step with the given velocities.
    ///
    /// # Panics
    /// If there is not one velocity for every degree of freedom.
    pub fn advance(&mut self, step: f64, velocities: &[f64]) {
        for (x, v) in self.positions.iter_mut().zip(velocities) {
            *x += step * v;
        }
        self.velocities.copy_from_slice(velocities);
        for collider in &mut self.colliders {
            collider.origin += step * collider.velocity;
        }
    }

    /// M + hC + h²K.
    fn matrix(&self, step: f64) -> System {
        let scale = step * (self.damping + step);
        let mut system = self.stiffness.clone();
        for body in &mut system.bodies {
            let dofs = body.matrix.dofs();
            elasticity::scale(&mut body.matrix, scale, &vec![1.0; dofs]);
            body.matrix
                .add_diagonal(&self.inertia[body.offset..body.offset + dofs]);
        }
        let ties = self.stiffness.couplings().iter().cloned();
        let scaled = ties.map(|tie| Coupling {
            block: tie.block * scale,
            ..tie
        });
        system.set_couplings(scaled.collect());
        system
    }

    /// M v + h (M g − K (x − X)).
    fn force(&self, step: f64) -> Vec<f64> {
        let pairs = self.positions.iter().zip(&self.rest);
        let displacements: Vec<f64> = pairs.map(|(x, rest)| x - rest).collect();
        let mut elastic = vec![0.0; displacements.len()];
        self.stiffness.multiply(&displacements, &mut elastic);
        let impulse = |dof: usize| {
            self.inertia[dof] * self.velocities[dof] + step * (self.weight[dof] - elastic[dof])
        };
        (0..displacements.len()).map(impulse).collect()
    }

    /// Holds degrees of freedom, and moves their velocities to the right-hand side.
    fn hold(&self, whole: System, force: &mut [f64]) -> System {
        if self.held.is_empty() && whole.couplings().is_empty() {
            return whole;
        }
        let mut is_held = vec![false; force.len()];
        let mut held_velocities = vec![0.0; force.len()];
        for (dof, velocity) in &self.held {
            is_held[*dof] = true;
            held_velocities[*dof] = *velocity;
        }
        let mut drag = vec![0.0; force.len()];
        whole.multiply(&held_velocities, &mut drag);
        for dof in 0..force.len() {
            force[dof] = if is_held[dof] {
                held_velocities[dof]
            } else {
                force[dof] - drag[dof]
            };
        }
        let mut system = whole.clone();
        system.hold(&whole, &is_held, |_| true);
        system
    }

    /// Contacts of the next step, with k = (gap/h) n minus the velocity of the collider.
    fn contacts(&self, step: f64) -> Contacts {
        let mut contacts = Contacts::new();
        for (id, Candidate { pair, properties }) in self.candidates.iter().enumerate() {
            let Some(closest) = self.closest_points(pair) else {
                continue;
            };
            let gap = closest.distance - properties.distance;
            if gap < self.reach {
                let contact = Contact {
                    id: id as u64,
                    normal: closest.normal,
                    kinematic: closest.normal * (gap / step) - closest.velocity,
                    friction: properties.friction,
                    cohesion: if gap < COHESION_RANGE {
                        properties.cohesion
                    } else {
                        0.0
                    },
                    compliance: properties.compliance,
                };
                contacts.push(contact, closest.stencil);
            }
        }
        contacts
    }

    /// Adds a body in its rest shape and without velocity. Returns its first node.
    fn add_body(&mut self, positions: &[DVec3], masses: &[f64], terms: &[QuadraticTerm]) -> u32 {
        let weights: Vec<f64> = masses.iter().map(|mass| mass * GRAVITY).collect();
        self.mobilities.extend(mobility::rigid(masses, positions));
        self.add_nodes(positions, masses, &weights, terms)
    }

    /// Adds a body without mobilities. `weights` are the forces of gravity (N). Returns its first
    /// node.
    fn add_nodes(
        &mut self,
        positions: &[DVec3],
        masses: &[f64],
        weights: &[f64],
        terms: &[QuadraticTerm],
    ) -> u32 {
        let first = self.stiffness.node_offset.len() as u32;
        let offset = self.rest.len();
        let matrix = self.share_pattern(elasticity::assemble(positions.len(), terms));
        let matrix = Matrix::Blocks(matrix);
        self.stiffness.bodies.push(SystemBody { offset, matrix });
        for (node, position) in positions.iter().enumerate() {
            self.stiffness.node_offset.push(self.rest.len());
            self.rest.extend(position.to_array());
            self.positions.extend(position.to_array());
            self.inertia.extend([masses[node]; 3]);
            self.weight.extend([0.0, 0.0, -weights[node]]);
        }
        self.velocities.resize(self.rest.len(), 0.0);
        self.masses.extend_from_slice(masses);
        first
    }

    /// Shares the pattern of an earlier body if it is equal, so that it is analysed once.
    fn share_pattern(&self, matrix: BlockSparse) -> BlockSparse {
        let mut bodies = self.stiffness.bodies.iter();
        let known = bodies.find_map(|body| match &body.matrix {
            Matrix::Blocks(other) if other.pattern() == matrix.pattern() => Some(other.pattern()),
            _ => None,
        });
        match known {
            Some(pattern) => {
                let mut shared = BlockSparse::zeros(pattern.clone());
                shared.values = matrix.values;
                shared
            }
            None => matrix,
        }
    }

    /// Adds a collider. Returns its index.
    fn add_collider(&mut self, collider: Collider) -> usize {
        self.colliders.push(collider);
        self.colliders.len() - 1
    }

    /// Adds a surface. Returns its index.
    fn add_surface(&mut self, triangles: Vec<[Point; 3]>) -> usize {
        self.surfaces.push(triangles);
        self.surfaces.len() - 1
    }

    /// Adds a candidate pair.
    fn add_pair(&mut self, pair: CandidatePair, properties: ContactProperties) {
        self.candidates.push(Candidate { pair, properties });
    }

    /// Adds candidate pairs of nodes and a collider.
    fn add_collider_pairs(
        &mut self,
        nodes: impl IntoIterator<Item = u32>,
        collider: usize,
        properties: ContactProperties,
    ) {
        for node in nodes {
            let point = vec![(node, 1.0)];
            self.add_pair(CandidatePair::Collider { point, collider }, properties);
        }
    }

    /// Sets the velocity of nodes.
    fn set_velocity(&mut self, nodes: impl IntoIterator<Item = u32>, velocity: DVec3) {
        for node in nodes {
            let offset = self.stiffness.node_offset[node as usize];
            velocity.write_to_slice(&mut self.velocities[offset..]);
        }
    }

    /// Position of a node.
    fn node(&self, node: u32) -> DVec3 {
        DVec3::from_slice(&self.positions[self.stiffness.node_offset[node as usize]..])
    }
}

/// Frame of an inclined plane: the first axis points down the slope, the third is the normal.
fn incline(slope: f64) -> DMat3 {
    DMat3::from_rotation_y(slope)
}
