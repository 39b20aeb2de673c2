//! Cubes of tetrahedra.

use glam::{DMat3, DVec3};

use super::matter::{Lame, Square, elastic};
use super::touch::{Collider, Pair, Point, Shape, Skin};
use super::{World, incline};

/// The edge of a cube (m).
pub(super) const EDGE: f64 = 0.1;
/// kg/m³.
const DENSITY: f64 = 1000.0;
/// How far cubes start from what they will touch (m).
pub(super) const GAP: f64 = 5e-4;

/// The axes in which a path along a cell's edges runs from its first corner to its last: one tetrahedron each (Kuhn).
const PATHS: [[usize; 3]; 6] = [
    [0, 1, 2],
    [0, 2, 1],
    [1, 0, 2],
    [1, 2, 0],
    [2, 0, 1],
    [2, 1, 0],
];

/// A cube on the third axis of a frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cube {
    pub(super) young: f64,
    pub(super) cells: usize,
    /// The middle of its lower face.
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

    /// The nodes at a height (0 to `cells`) along an axis.
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

    /// The triangles of the upper face, with the diagonals of the tetrahedra.
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
            for path in PATHS {
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

    /// Adds it to a world; returns its first node.
    pub(super) fn add_to(&self, world: &mut World) -> u32 {
        let positions = self.positions();
        let mut masses = vec![0.0; positions.len()];
        let mut squares = Vec::new();
        for corners in self.tetrahedra() {
            let (volume, element) = tetrahedron(self.young, corners, &positions);
            for corner in corners {
                masses[corner as usize] += 0.25 * DENSITY * volume;
            }
            squares.extend(element);
        }
        world.add_body(&positions, &masses, &squares)
    }
}

/// The volume and the elasticity of a tetrahedron.
fn tetrahedron(young: f64, corners: [u32; 4], positions: &[DVec3]) -> (f64, Vec<Square>) {
    let [a, b, c, d] = corners.map(|corner| positions[corner as usize]);
    let edges = DMat3::from_cols(b - a, c - a, d - a);
    let volume = edges.determinant().abs() / 6.0;
    let gradients = edges.inverse().transpose();
    let [second, third, fourth] = [gradients.x_axis, gradients.y_axis, gradients.z_axis];
    let of_corners = [-(second + third + fourth), second, third, fourth];
    let gradients: Vec<(u32, DVec3)> = corners.into_iter().zip(of_corners).collect();
    (volume, elastic(volume, Lame::new(young), &gradients))
}

/// A plane at rest.
pub(super) fn plane(origin: DVec3, normal: DVec3) -> Collider {
    Collider::fixed(origin, Shape::Plane { normal })
}

/// Friction only.
pub(super) fn rough(friction: f64) -> Skin {
    Skin {
        friction,
        ..Skin::default()
    }
}

/// A cube of `cells`³ cells (4 for 5×5×5 nodes and 25 contacts), 2 mm above an incline and moving down along it at
/// 0.3 m/s: it flies, hits, slides, and stops if friction is enough.
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
    world.touch_collider(lower, ground, rough(friction));
    let nodes = first..world.masses.len() as u32;
    world.throw(nodes, frame.x_axis * 0.3);
    world
}

/// A cube thrown onto level ground at half a metre per second both ways, tilted so that a corner touches first.
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
    world.touch_collider(lower, ground, rough(friction));
    let nodes = first..world.masses.len() as u32;
    world.throw(nodes, DVec3::new(0.5, 0.1, -0.5));
    world
}

/// `count` cubes of 4³ cells on each other and on an incline of 0.2 rad, on which they stay (μ = 0.5). The lower nodes
/// of each touch triangles of the cube below, aside of its nodes.
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
            None => world.touch_collider(lower, ground, rough(0.5)),
            Some(surface) => {
                for node in lower {
                    let point = vec![(node, 1.0)];
                    world.add_touch(Pair::Surface { point, surface }, rough(0.5));
                }
            }
        }
        below = Some(world.add_surface(body.top(first)));
    }
    world
}
