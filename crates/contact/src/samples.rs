//! Contact problems of known kinds, made without the simulator: what solvers are tested and measured on.
//!
//! A [`World`] is linear: its bodies have a constant M and K (small displacements about a rest shape), so that a step
//! is one problem and nothing is linearised again. A function makes each kind of world: [`cube`], [`stack`] and others
//! of tetrahedra, [`affine`] boxes, rods ([`chain`], [`crossing`]), [`cloth`]. A solver drives a world through
//! [`capture`], which keeps the problem of every step together with the warm start that the solver had. Problems to
//! which no motion leads ([`random`], [`heap`]) are made at once. [`rescale`] poses a problem in other units.
//!
//! SI units, z up. Slopes are in radians, Young's moduli in Pa.

mod affine;
mod cloth;
mod hard;
mod heap;
mod matter;
mod random;
#[cfg(test)]
pub(crate) mod reference;
mod rods;
mod solids;
#[cfg(test)]
mod tests;
mod touch;
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
use crate::problem::{Contact, Contacts, NodalProblem, Solution};
use crate::solve::WarmStart;
use crate::system::{Body, Coupling, Matrix, System};
use matter::Square;
use touch::{Collider, Pair, Point, Skin, Touch};

/// The acceleration of gravity (m/s²).
pub const GRAVITY: f64 = 9.81;

/// Cohesion holds only what is nearer than this (m): it would pull at a distance too.
const STICKY: f64 = 1e-4;

/// Bodies with constant M and K, moved by gravity, touching colliders and each other. Vectors are flat, as in
/// [`System`].
#[derive(Clone, Debug, Default)]
pub struct World {
    /// Where everything is (m; twists in radians).
    pub positions: Vec<f64>,
    /// How fast it moves (m/s; twists in 1/s).
    pub velocities: Vec<f64>,
    /// C = `damping` · K (s).
    pub damping: f64,
    /// Pairs with a gap below this may touch within a step (m).
    pub reach: f64,
    /// K (N/m); its couplings are ties.
    stiffness: System,
    /// The diagonal of M.
    inertia: Vec<f64>,
    /// M g (N).
    weight: Vec<f64>,
    /// X.
    rest: Vec<f64>,
    masses: Vec<f64>,
    mobilities: Vec<f64>,
    arms: Vec<(usize, f64)>,
    /// Degrees of freedom that follow a velocity.
    held: Vec<(usize, f64)>,
    colliders: Vec<Collider>,
    /// Triangles that points may touch, counter-clockwise from outside.
    surfaces: Vec<Vec<[Point; 3]>>,
    /// The index of a pair is the id of its contact.
    touches: Vec<Touch>,
}

/// A world of each kind that moves, in sizes for tests of solvers: tens to hundreds of contacts.
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

/// The problem of a step, and where a solver began.
#[derive(Clone, Debug)]
pub struct Captured {
    /// What was to be solved.
    pub problem: NodalProblem,
    /// What the step before ended with.
    pub warm: WarmStart,
}

/// The problems of `count` steps of a world, which moves as `solve` says.
///
/// # Panics
/// If an answer does not have a velocity for every degree of freedom.
pub fn capture(
    mut world: World,
    step: f64,
    count: usize,
    mut solve: impl FnMut(&NodalProblem, &WarmStart) -> Solution,
) -> Vec<Captured> {
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
        captured.push(Captured { problem, warm });
    }
    captured
}

impl World {
    /// The problem of the next step: A = M + hC + h²K, f = M v + h (M g − K (x − X)), and the pairs within reach now.
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
            arms: self.arms.clone(),
            contacts: self.contacts(step),
        }
    }

    /// Moves everything by a step at these velocities.
    ///
    /// # Panics
    /// If there is not one for every degree of freedom.
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
            matter::scale(&mut body.matrix, scale, &vec![1.0; dofs]);
            body.matrix
                .add_diagonal(&self.inertia[body.offset..body.offset + dofs]);
        }
        let ties = self.stiffness.couplings().iter().cloned();
        let scaled = ties.map(|tie| Coupling {
            block: tie.block * scale,
            ..tie
        });
        system.couple(scaled.collect());
        system
    }

    /// M v + h (M g − K (x − X)).
    fn force(&self, step: f64) -> Vec<f64> {
        let pairs = self.positions.iter().zip(&self.rest);
        let moved: Vec<f64> = pairs.map(|(x, rest)| x - rest).collect();
        let mut elastic = vec![0.0; moved.len()];
        self.stiffness.multiply(&moved, &mut elastic);
        let impulse = |dof: usize| {
            self.inertia[dof] * self.velocities[dof] + step * (self.weight[dof] - elastic[dof])
        };
        (0..moved.len()).map(impulse).collect()
    }

    /// Cuts off what is held; its velocity moves to the other side.
    fn hold(&self, whole: System, force: &mut [f64]) -> System {
        if self.held.is_empty() && whole.couplings().is_empty() {
            return whole;
        }
        let mut is_held = vec![false; force.len()];
        let mut driven = vec![0.0; force.len()];
        for (dof, velocity) in &self.held {
            is_held[*dof] = true;
            driven[*dof] = *velocity;
        }
        let mut drag = vec![0.0; force.len()];
        whole.multiply(&driven, &mut drag);
        for dof in 0..force.len() {
            force[dof] = match is_held[dof] {
                true => driven[dof],
                false => force[dof] - drag[dof],
            };
        }
        let mut system = whole.clone();
        system.hold(&whole, &is_held, |_| true);
        system
    }

    /// k = (gap/h) n, less the velocity of the collider.
    fn contacts(&self, step: f64) -> Contacts {
        let mut contacts = Contacts::new();
        for (id, Touch { pair, skin }) in self.touches.iter().enumerate() {
            let Some(meeting) = self.meet(pair) else {
                continue;
            };
            let gap = meeting.distance - skin.distance;
            if gap < self.reach {
                let contact = Contact {
                    id: id as u64,
                    normal: meeting.normal,
                    kinematic: meeting.normal * (gap / step) - meeting.velocity,
                    friction: skin.friction,
                    cohesion: if gap < STICKY { skin.cohesion } else { 0.0 },
                    compliance: skin.compliance,
                };
                contacts.push(contact, meeting.stencil);
            }
        }
        contacts
    }

    /// Adds a body at rest in its rest shape, with elasticity from squares over its nodes; returns its first node.
    fn add_body(&mut self, positions: &[DVec3], masses: &[f64], squares: &[Square]) -> u32 {
        let weights: Vec<f64> = masses.iter().map(|mass| mass * GRAVITY).collect();
        self.mobilities.extend(mobility::rigid(masses, positions));
        self.add_nodes(positions, masses, &weights, squares)
    }

    /// Adds a body without its mobilities. `weights` are the forces of gravity (N).
    fn add_nodes(
        &mut self,
        positions: &[DVec3],
        masses: &[f64],
        weights: &[f64],
        squares: &[Square],
    ) -> u32 {
        let first = self.stiffness.node_offset.len() as u32;
        let offset = self.rest.len();
        let matrix = self.share_pattern(matter::assemble(positions.len(), squares));
        let matrix = Matrix::Blocks(matrix);
        self.stiffness.bodies.push(Body { offset, matrix });
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

    /// Bodies of the same pattern share it, so that they are analysed once.
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

    /// Adds a collider; returns its index.
    fn add_collider(&mut self, collider: Collider) -> usize {
        self.colliders.push(collider);
        self.colliders.len() - 1
    }

    /// Adds a surface; returns its index.
    fn add_surface(&mut self, triangles: Vec<[Point; 3]>) -> usize {
        self.surfaces.push(triangles);
        self.surfaces.len() - 1
    }

    fn add_touch(&mut self, pair: Pair, skin: Skin) {
        self.touches.push(Touch { pair, skin });
    }

    /// Lets nodes touch a collider.
    fn touch_collider(
        &mut self,
        nodes: impl IntoIterator<Item = u32>,
        collider: usize,
        skin: Skin,
    ) {
        for node in nodes {
            let point = vec![(node, 1.0)];
            self.add_touch(Pair::Collider { point, collider }, skin);
        }
    }

    /// Gives nodes a velocity.
    fn throw(&mut self, nodes: impl IntoIterator<Item = u32>, velocity: DVec3) {
        for node in nodes {
            let offset = self.stiffness.node_offset[node as usize];
            velocity.write_to_slice(&mut self.velocities[offset..]);
        }
    }

    /// Where a node is.
    fn node(&self, node: u32) -> DVec3 {
        DVec3::from_slice(&self.positions[self.stiffness.node_offset[node as usize]..])
    }
}

/// The frame of a plane that falls along its first axis; the third is its normal.
fn incline(slope: f64) -> DMat3 {
    DMat3::from_rotation_y(slope)
}
