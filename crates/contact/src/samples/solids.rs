//! Cubes of tetrahedra.

use glam::{DMat3, DVec3};

use super::elasticity::{LameParameters, QuadraticTerm, elastic};
use super::pairs::{CandidatePair, Collider, ColliderShape, ContactProperties, Point};
use super::{World, incline};

/// Edge of a cube (m).
pub(super) const EDGE: f64 = 0.1;
/// Density (kg/m³).
const DENSITY: f64 = 1000.0;
/// Initial gap of contacts (m).
pub(super) const GAP: f64 = 5e-4;

/// Kuhn's subdivision of a cell into tetrahedra. Each follows a path along edges from the first
/// corner of the cell to the last; these are the axes of its three edges.
const KUHN_PATHS: [[usize; 3]; 6] = [
    [0, 1, 2],
    [0, 2, 1],
    [1, 0, 2],
    [1, 2, 0],
    [2, 0, 1],
    [2, 1, 0],
];

/// Cube above the first two axes of a frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cube {
    pub(super) young: f64,
    pub(super) cells: usize,
    /// Centre of its lower face.
    pub(super) origin: DVec3,
    pub(super) frame: DMat3,
}

impl Cube {
    pub(super) fn new(young: f64, cells: usize, frame: DMat3) -> Self {
        Self {
            young,
            cells: cells.max(1),
            origin: frame.z_axis * GAP,
            frame,
        }
    }

    pub(super) fn node(&self, place: [usize; 3]) -> u32 {
        let across = self.cells + 1;
        ((place[2] * across + place[1]) * across + place[0]) as u32
    }

    /// Nodes at a height (0 to `cells`) along an axis.
    pub(super) fn face(&self, axis: usize, height: usize) -> Vec<u32> {
        let along = 0..=self.cells;
        let places = along
            .clone()
            .flat_map(|v| along.clone().map(move |u| (u, v)));
        let node = |(u, v): (usize, usize)| {
            let mut place = [height; 3];
            place[(axis + 1) % 3] = u;
            place[(axis + 2) % 3] = v;
            self.node(place)
        };
        places.map(node).collect()
    }

    /// Triangles of the upper face, with the diagonals of the tetrahedra.
    fn top(&self, first: u32) -> Vec<[Point; 3]> {
        let cells = (0..self.cells).flat_map(|j| (0..self.cells).map(move |i| (i, j)));
        let corner = |i: usize, j: usize| vec![(first + self.node([i, j, self.cells]), 1.0)];
        cells
            .flat_map(|(i, j)| {
                let (from, to) = (corner(i, j), corner(i + 1, j + 1));
                [
                    [from.clone(), corner(i + 1, j), to.clone()],
                    [from, to, corner(i, j + 1)],
                ]
            })
            .collect()
    }

    fn positions(&self) -> Vec<DVec3> {
        let along = 0..=self.cells;
        let size = EDGE / self.cells as f64;
        let middle = DVec3::new(0.5 * EDGE, 0.5 * EDGE, 0.0);
        let mut positions = Vec::new();
        for k in along.clone() {
            for j in along.clone() {
                for i in along.clone() {
                    let place = DVec3::new(i as f64, j as f64, k as f64) * size - middle;
                    positions.push(self.origin + self.frame * place);
                }
            }
        }
        positions
    }

    fn tetrahedra(&self) -> Vec<[u32; 4]> {
        let mut tetrahedra = Vec::new();
        for cell in 0..self.cells.pow(3) {
            let first = [
                cell % self.cells,
                cell / self.cells % self.cells,
                cell / self.cells / self.cells,
            ];
            for path in KUHN_PATHS {
                let mut place = first;
                tetrahedra.push([0, 1, 2, 3].map(|corner: usize| {
                    if corner > 0 {
                        place[path[corner - 1]] += 1;
                    }
                    self.node(place)
                }));
            }
        }
        tetrahedra
    }

    /// Adds the cube to a world. Returns its first node.
    pub(super) fn add_to(&self, world: &mut World) -> u32 {
        let positions = self.positions();
        let mut masses = vec![0.0; positions.len()];
        let mut terms = Vec::new();
        for corners in self.tetrahedra() {
            let (volume, element) = tetrahedron(self.young, corners, &positions);
            for corner in corners {
                masses[corner as usize] += 0.25 * DENSITY * volume;
            }
            terms.extend(element);
        }
        world.add_body(&positions, &masses, &terms)
    }
}

/// Volume and elastic energy of a tetrahedron.
fn tetrahedron(young: f64, corners: [u32; 4], positions: &[DVec3]) -> (f64, Vec<QuadraticTerm>) {
    let [a, b, c, d] = corners.map(|corner| positions[corner as usize]);
    let edges = DMat3::from_cols(b - a, c - a, d - a);
    let volume = edges.determinant().abs() / 6.0;
    let gradients = edges.inverse().transpose();
    let [second, third, fourth] = [gradients.x_axis, gradients.y_axis, gradients.z_axis];
    let corner_gradients = [-(second + third + fourth), second, third, fourth];
    let gradients: Vec<(u32, DVec3)> = corners.into_iter().zip(corner_gradients).collect();
    (
        volume,
        elastic(volume, LameParameters::new(young), &gradients),
    )
}

/// Plane without velocity.
pub(super) fn plane(origin: DVec3, normal: DVec3) -> Collider {
    Collider::fixed(origin, ColliderShape::Plane { normal })
}

/// Contact properties with friction only.
pub(super) fn with_friction(friction: f64) -> ContactProperties {
    ContactProperties {
        friction,
        ..ContactProperties::default()
    }
}

/// A cube of `cells`³ cells (4 for 5×5×5 nodes and 25 contacts), 2 mm above an incline and moving
/// down the slope at 0.3 m/s. It falls, collides, slides, and stops if friction is sufficient.
pub fn cube(young: f64, cells: usize, slope: f64, friction: f64) -> World {
    let frame = incline(slope);
    let body = Cube {
        origin: frame.z_axis * 2e-3,
        ..Cube::new(young, cells, frame)
    };
    let mut world = World {
        reach: 5e-3,
        ..World::default()
    };
    let first = body.add_to(&mut world);
    let ground = world.add_collider(plane(DVec3::ZERO, frame.z_axis));
    let lower = body.face(2, 0).into_iter().map(|node| first + node);
    world.add_collider_pairs(lower, ground, with_friction(friction));
    let nodes = first..world.masses.len() as u32;
    world.set_velocity(nodes, frame.x_axis * 0.3);
    world
}

/// A cube that hits level ground at 0.5 m/s horizontally and vertically, tilted so that a corner
/// collides first.
pub fn thrown(young: f64, cells: usize, friction: f64) -> World {
    let tilted = DMat3::from_rotation_x(0.15) * DMat3::from_rotation_z(0.4);
    let body = Cube::new(young, cells, tilted);
    let lowest = body
        .positions()
        .iter()
        .fold(f64::INFINITY, |z, x| z.min(x.z));
    let mut world = World {
        reach: 1e-2,
        ..World::default()
    };
    let first = body.add_to(&mut world);
    let ground = world.add_collider(plane(DVec3::Z * (lowest - GAP), DVec3::Z));
    let lower = body.face(2, 0).into_iter().map(|node| first + node);
    world.add_collider_pairs(lower, ground, with_friction(friction));
    let nodes = first..world.masses.len() as u32;
    world.set_velocity(nodes, DVec3::new(0.5, 0.1, -0.5));
    world
}

/// A stack of `count` cubes of 4³ cells at rest on an incline of 0.2 rad (μ = 0.5). The lower nodes
/// of a cube are in contact with triangles of the cube below, away from its nodes.
pub fn stack(young: f64, count: usize) -> World {
    let frame = incline(0.2);
    let mut world = World {
        reach: 5e-3,
        ..World::default()
    };
    let ground = world.add_collider(plane(DVec3::ZERO, frame.z_axis));
    let mut below = None;
    for level in 0..count {
        let aside = match level % 2 {
            0 => DVec3::ZERO,
            _ => DVec3::new(0.0093, 0.0052, 0.0),
        };
        let height = DVec3::Z * (level as f64 * (EDGE + GAP) + GAP);
        let body = Cube {
            origin: frame * (aside + height),
            ..Cube::new(young, 4, frame)
        };
        let first = body.add_to(&mut world);
        let lower = body.face(2, 0).into_iter().map(|node| first + node);
        match below {
            None => world.add_collider_pairs(lower, ground, with_friction(0.5)),
            Some(surface) => {
                for node in lower {
                    let point = vec![(node, 1.0)];
                    world.add_pair(
                        CandidatePair::Surface { point, surface },
                        with_friction(0.5),
                    );
                }
            }
        }
        below = Some(world.add_surface(body.top(first)));
    }
    world
}
