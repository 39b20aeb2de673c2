//! Rigid boxes as affine bodies.
//!
//! A point is x = c + Σ X_i a_i with coordinates X_i from the centre of mass along the principal axes. The four nodes
//! are c and g_i a_i, where g_i is the gyration length along an axis: then all of them weigh what the box weighs, and M
//! is a multiple of the identity. The axes are kept orthonormal by elasticity, as of one element with constant strain.

use glam::{DMat3, DVec3};

use super::matter::{Lame, elastic};
use super::touch::{Collider, Pair, Point, Shape, Skin};
use super::{GRAVITY, World, incline};

/// Half of the extents of a box (m).
const HALF: DVec3 = DVec3::new(0.1, 0.05, 0.03);
/// kg/m³.
const DENSITY: f64 = 1000.0;
/// How far boxes start from what they will touch (m).
const GAP: f64 = 5e-4;
/// How near to its corners a box touches, as a part of its extents: not at them, so that it stays on the box below.
const INSET: f64 = 0.9;

/// A box in a world.
#[derive(Clone, Copy, Debug)]
struct Block {
    first: u32,
}

impl Block {
    /// Adds a box at rest.
    fn add_to(world: &mut World, stiffness: f64, centre: DVec3, frame: DMat3) -> Self {
        let gyration = HALF / 3f64.sqrt();
        let volume = 8.0 * HALF.element_product();
        let mass = DENSITY * volume;
        let axes = [0, 1, 2].map(|axis| frame.col(axis) * gyration[axis]);
        let positions = [centre, axes[0], axes[1], axes[2]];
        let gradients = [0, 1, 2].map(|axis| {
            let along = frame.col(axis) / gyration[axis];
            (axis as u32 + 1, along)
        });
        let lame = Lame {
            lambda: 0.0,
            mu: 0.5 * stiffness,
        };
        let squares = elastic(volume, lame, &gradients);
        world.mobilities.extend([mass.recip(); 4]);
        // The centre carries all the weight: the axes are directions.
        let weights = [mass * GRAVITY, 0.0, 0.0, 0.0];
        let first = world.add_nodes(&positions, &[mass; 4], &weights, &squares);
        Self { first }
    }

    /// The point with coordinates as parts of the extents.
    fn point(&self, place: DVec3) -> Point {
        let weight = place * 3f64.sqrt();
        let axes = (0..3).filter(|axis| weight[*axis] != 0.0);
        let axes = axes.map(|axis| (self.first + 1 + axis as u32, weight[axis]));
        [(self.first, 1.0)].into_iter().chain(axes).collect()
    }

    /// Points of the lower face.
    fn lower(&self, along: &[f64], across: &[f64]) -> Vec<Point> {
        let places = across
            .iter()
            .flat_map(|y| along.iter().map(move |x| (*x, *y)));
        places
            .map(|(x, y)| self.point(DVec3::new(x, y, -1.0)))
            .collect()
    }

    /// The upper face.
    fn top(&self) -> Vec<[Point; 3]> {
        let corner = |x: f64, y: f64| self.point(DVec3::new(x, y, 1.0));
        let (from, to) = (corner(-1.0, -1.0), corner(1.0, 1.0));
        vec![
            [from.clone(), corner(1.0, -1.0), to.clone()],
            [from, to, corner(-1.0, 1.0)],
        ]
    }
}

/// A world of boxes on a plane through the origin: the plane is its first collider.
fn on_plane(normal: DVec3) -> World {
    let mut world = World {
        reach: 5e-3,
        ..World::default()
    };
    let shape = Shape::Plane { normal };
    world.add_collider(Collider::fixed(DVec3::ZERO, shape));
    world
}

/// Lets points touch the plane, or surfaces if there are any.
fn rest_on(world: &mut World, points: Vec<Point>, surfaces: &[usize], friction: f64) {
    let skin = Skin {
        friction,
        ..Skin::default()
    };
    for point in points {
        if surfaces.is_empty() {
            let point = point.clone();
            world.add_touch(Pair::Collider { point, collider: 0 }, skin);
        }
        for surface in surfaces.iter().copied() {
            let point = point.clone();
            world.add_touch(Pair::Surface { point, surface }, skin);
        }
    }
}

/// `count` boxes on each other and on an incline of 0.2 rad, on which they stay (μ = 0.5), with four contacts each.
/// `stiffness` (Pa) is what keeps them rigid.
pub fn affine(stiffness: f64, count: usize) -> World {
    let frame = incline(0.2);
    let mut world = on_plane(frame.z_axis);
    let mut below: Vec<usize> = Vec::new();
    for level in 0..count {
        let odd = (level % 2) as f64;
        let (aside, turned) = (0.05 * odd, frame * DMat3::from_rotation_z(0.02 * odd));
        let height = level as f64 * (2.0 * HALF.z + GAP) + HALF.z + GAP;
        let centre = frame * DVec3::new(aside * HALF.x, aside * HALF.y, height);
        let block = Block::add_to(&mut world, stiffness, centre, turned);
        let corners = [-INSET, INSET];
        rest_on(&mut world, block.lower(&corners, &corners), &below, 0.5);
        below = vec![world.add_surface(block.top())];
    }
    world
}

/// A wall on level ground, with `base` bricks in its lowest row and one fewer in each row above. A brick rests on two,
/// with four contacts on each.
pub fn wall(stiffness: f64, base: usize) -> World {
    let mut world = on_plane(DVec3::Z);
    let mut below: Vec<usize> = Vec::new();
    let length = 2.0 * HALF.x + GAP;
    for row in 0..base {
        let mut tops = Vec::new();
        for place in 0..base - row {
            let along = (place as f64 + 0.5 * row as f64) * length;
            let height = row as f64 * (2.0 * HALF.z + GAP) + HALF.z + GAP;
            let centre = DVec3::new(along, 0.0, height);
            let block = Block::add_to(&mut world, stiffness, centre, DMat3::IDENTITY);
            let points = block.lower(&[-INSET, -0.1, 0.1, INSET], &[-INSET, INSET]);
            let under = below.get(place..place + 2).unwrap_or_default();
            rest_on(&mut world, points, under, 0.6);
            tops.push(world.add_surface(block.top()));
        }
        below = tops;
    }
    world
}

/// A box on an incline with `across`² contacts under it, of which three would do: the impulses are not unique.
pub fn brick(stiffness: f64, across: usize, slope: f64, friction: f64) -> World {
    let frame = incline(slope);
    let mut world = on_plane(frame.z_axis);
    let centre = frame.z_axis * (HALF.z + GAP);
    let block = Block::add_to(&mut world, stiffness, centre, frame);
    let last = across.saturating_sub(1).max(1) as f64;
    let places: Vec<f64> = (0..across)
        .map(|place| 2.0 * place as f64 / last - 1.0)
        .collect();
    rest_on(&mut world, block.lower(&places, &places), &[], friction);
    world
}
