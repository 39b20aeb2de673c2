//! Difficult problems: redundant contacts, ties, held nodes, and contradictory constraints.

use std::f64::consts::FRAC_PI_4;

use glam::{DMat3, DVec3};

use super::World;
use super::pairs::{Collider, ColliderShape, ContactProperties};
use super::solids::{Cube, EDGE, GAP, plane, with_friction};
use crate::system::Coupling;

/// A cube with two faces on the planes of an inclined groove. Every contact is duplicated, so the
/// impulses are not unique.
pub fn wedge(young: f64, cells: usize, friction: f64) -> World {
    let frame = DMat3::from_rotation_x(0.3) * DMat3::from_rotation_y(FRAC_PI_4);
    let body = Cube::new(young, cells, frame);
    let mut world = World {
        reach: 5e-3,
        ..World::default()
    };
    let first = body.add_to(&mut world);
    let side = frame.x_axis * (0.5 * EDGE + GAP);
    let planes = [plane(DVec3::ZERO, frame.z_axis), plane(side, -frame.x_axis)];
    let faces = [body.face(2, 0), body.face(0, body.cells)];
    for (collider, face) in planes.into_iter().zip(faces) {
        let collider = world.add_collider(collider);
        for _ in 0..2 {
            let nodes = face.iter().map(|node| first + node);
            world.add_collider_pairs(nodes, collider, with_friction(friction));
        }
    }
    world
}

/// Two cubes of `cells`³ cells, tied face to face, on a belt that moves diagonally. An upper edge
/// of the first cube is held, another along y only, and a corner of the second has a prescribed
/// velocity. Half of the contacts have cohesion, half have compliance.
pub fn tied(young: f64, cells: usize) -> World {
    let one = Cube::new(young, cells, DMat3::IDENTITY);
    let cell = EDGE / one.cells as f64;
    let other = Cube {
        origin: one.origin + DVec3::new(EDGE, 0.5 * cell, 0.0),
        ..one
    };
    let mut world = World {
        reach: 5e-3,
        damping: 1e-3,
        ..World::default()
    };
    let firsts = [one.add_to(&mut world), other.add_to(&mut world)];
    let belt = world.add_collider(Collider {
        velocity: DVec3::new(0.1, -0.2, 0.0),
        ..plane(DVec3::ZERO, DVec3::Z)
    });
    let skins = [
        ContactProperties {
            cohesion: 0.5,
            ..with_friction(0.4)
        },
        ContactProperties {
            compliance: 1e-5,
            ..with_friction(0.4)
        },
    ];
    for first in firsts {
        for (place, node) in one.face(2, 0).into_iter().enumerate() {
            world.add_collider_pairs([first + node], belt, skins[place % 2]);
        }
    }
    let block = DMat3::from_diagonal(DVec3::new(1.0, 0.5, 0.25)) * (young * cell);
    world.stiffness.set_couplings(ties(&one, firsts, block));
    for place in 0..=one.cells {
        let end = firsts[0] + one.node([0, place, one.cells]);
        let side = firsts[0] + one.node([place, 0, one.cells]);
        world.hold_axes(end, [true; 3], 0.0);
        world.hold_axes(side, [false, true, false], 0.0);
    }
    let last = firsts[1] + one.node([one.cells; 3]);
    world.hold_axes(last, [true, false, false], 0.02);
    world
}

/// Ties from a face of the second cube to the midpoints of edges of the first: the cubes are offset
/// by half a cell.
fn ties(cube: &Cube, firsts: [u32; 2], block: DMat3) -> Vec<Coupling> {
    let along = (0..=cube.cells).flat_map(|k| (0..cube.cells).map(move |j| (j, k)));
    let tie = |(j, k): (usize, usize)| {
        let on_first = |j: usize| firsts[0] + cube.node([cube.cells, j, k]);
        let on_second = firsts[1] + cube.node([0, j, k]);
        Coupling {
            nodes: vec![
                (on_first(j), -0.5),
                (on_first(j + 1), -0.5),
                (on_second, 1.0),
            ],
            block,
        }
    };
    along.map(tie).collect()
}

/// A problem without solution: a particle between two closing planes, and a cube with held corners
/// on a rising plane. A solver must still terminate.
pub fn contradictory() -> World {
    let mut world = World {
        reach: 1e-2,
        ..World::default()
    };
    let body = Cube::new(1e6, 2, DMat3::IDENTITY);
    let first = body.add_to(&mut world);
    let rising = world.add_collider(Collider {
        velocity: DVec3::Z * 0.1,
        ..plane(body.origin, DVec3::Z)
    });
    let lower = body.face(2, 0);
    let nodes = lower.iter().map(|node| first + node);
    world.add_collider_pairs(nodes, rising, with_friction(0.5));
    for corner in [0, 2].into_iter().flat_map(|j| [[0, j, 0], [2, j, 0]]) {
        world.hold_axes(first + body.node(corner), [true; 3], 0.0);
    }
    let place = DVec3::X;
    let particle = world.add_body(&[place], &[0.1], &[]);
    for normal in [DVec3::Z, DVec3::NEG_Z] {
        let closing = world.add_collider(Collider {
            origin: place,
            velocity: normal * 0.1,
            shape: ColliderShape::Plane { normal },
        });
        world.add_collider_pairs([particle], closing, with_friction(0.5));
    }
    world
}

impl World {
    /// Holds axes of a node at a velocity.
    fn hold_axes(&mut self, node: u32, axes: [bool; 3], velocity: f64) {
        let offset = self.stiffness.node_offset[node as usize];
        for axis in (0..3).filter(|axis| axes[*axis]) {
            self.held.push((offset + axis, velocity));
            self.velocities[offset + axis] = velocity;
        }
    }
}
