//! Rigid boxes as affine bodies.
//!
//! A point is x = c + Σ X_i a_i, with coordinates X_i from the centre of mass along the principal
//! axes. The four nodes are c and g_i a_i, where g_i is the radius of gyration along an axis. Then
//! every node has the mass of the box, and M is a multiple of the identity. Elastic energy of one
//! element with constant strain keeps the axes orthonormal.

use glam::{DMat3, DVec3};

use super::elasticity::{LameParameters, elastic};
use super::pairs::{CandidatePair, Collider, ColliderShape, ContactProperties, Point};
use super::{GRAVITY, World, incline};

/// Half extents of a box (m).
const HALF_EXTENTS: DVec3 = DVec3::new(0.1, 0.05, 0.03);
/// Density (kg/m³).
const DENSITY: f64 = 1000.0;
/// Initial gap of contacts (m).
const GAP: f64 = 5e-4;
/// Contact points of a box, relative to its half extents: inside its corners, so that they remain
/// on the box below.
const INSET: f64 = 0.9;

/// Box of a world.
#[derive(Clone, Copy, Debug)]
struct AffineBox {
    first: u32,
}

impl AffineBox {
    /// Adds a box without velocity.
    fn add_to(world: &mut World, stiffness: f64, centre: DVec3, frame: DMat3) -> Self {
        let gyration = HALF_EXTENTS / 3f64.sqrt();
        let volume = 8.0 * HALF_EXTENTS.element_product();
        let mass = DENSITY * volume;
        let axes = [0, 1, 2].map(|axis| frame.col(axis) * gyration[axis]);
        let positions = [centre, axes[0], axes[1], axes[2]];
        let gradients = [0, 1, 2].map(|axis| {
            let along = frame.col(axis) / gyration[axis];
            (axis as u32 + 1, along)
        });
        let lame = LameParameters {
            lambda: 0.0,
            mu: 0.5 * stiffness,
        };
        let terms = elastic(volume, lame, &gradients);
        world.mobilities.extend([mass.recip(); 4]);
        // Gravity acts on the centre only, because the axes are directions.
        let weights = [mass * GRAVITY, 0.0, 0.0, 0.0];
        let first = world.add_nodes(&positions, &[mass; 4], &weights, &terms);
        Self { first }
    }

    /// Point with coordinates relative to the half extents.
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

    /// Triangles of the upper face.
    fn top(&self) -> Vec<[Point; 3]> {
        let corner = |x: f64, y: f64| self.point(DVec3::new(x, y, 1.0));
        let (from, to) = (corner(-1.0, -1.0), corner(1.0, 1.0));
        vec![
            [from.clone(), corner(1.0, -1.0), to.clone()],
            [from, to, corner(-1.0, 1.0)],
        ]
    }
}

/// World without bodies whose first collider is a plane through the origin.
fn on_plane(normal: DVec3) -> World {
    let mut world = World {
        reach: 5e-3,
        ..World::default()
    };
    let shape = ColliderShape::Plane { normal };
    world.add_collider(Collider::fixed(DVec3::ZERO, shape));
    world
}

/// Adds candidate pairs of points with surfaces, or with the plane if there are no surfaces.
fn rest_on(world: &mut World, points: Vec<Point>, surfaces: &[usize], friction: f64) {
    let properties = ContactProperties {
        friction,
        ..ContactProperties::default()
    };
    for point in points {
        if surfaces.is_empty() {
            let point = point.clone();
            world.add_pair(CandidatePair::Collider { point, collider: 0 }, properties);
        }
        for surface in surfaces.iter().copied() {
            let point = point.clone();
            world.add_pair(CandidatePair::Surface { point, surface }, properties);
        }
    }
}

/// A stack of `count` boxes at rest on an incline of 0.2 rad (μ = 0.5), with four contacts each.
/// `stiffness` (Pa) keeps them rigid.
pub fn affine(stiffness: f64, count: usize) -> World {
    let frame = incline(0.2);
    let mut world = on_plane(frame.z_axis);
    let mut below: Vec<usize> = Vec::new();
    for level in 0..count {
        let odd = (level % 2) as f64;
        let (aside, turned) = (0.05 * odd, frame * DMat3::from_rotation_z(0.02 * odd));
        let height = level as f64 * (2.0 * HALF_EXTENTS.z + GAP) + HALF_EXTENTS.z + GAP;
        let centre = frame * DVec3::new(aside * HALF_EXTENTS.x, aside * HALF_EXTENTS.y, height);
        let body = AffineBox::add_to(&mut world, stiffness, centre, turned);
        let corners = [-INSET, INSET];
        rest_on(&mut world, body.lower(&corners, &corners), &below, 0.5);
        below = vec![world.add_surface(body.top())];
    }
    world
}

/// A wall on level ground, with `base` bricks in its lowest row and one fewer in each row above. A
/// brick rests on two others, with four contacts on each.
pub fn wall(stiffness: f64, base: usize) -> World {
    let mut world = on_plane(DVec3::Z);
    let mut below: Vec<usize> = Vec::new();
    let length = 2.0 * HALF_EXTENTS.x + GAP;
    for row in 0..base {
        let mut tops = Vec::new();
        for place in 0..base - row {
            let along = (place as f64 + 0.5 * row as f64) * length;
            let height = row as f64 * (2.0 * HALF_EXTENTS.z + GAP) + HALF_EXTENTS.z + GAP;
            let centre = DVec3::new(along, 0.0, height);
            let body = AffineBox::add_to(&mut world, stiffness, centre, DMat3::IDENTITY);
            let points = body.lower(&[-INSET, -0.1, 0.1, INSET], &[-INSET, INSET]);
            let under = below.get(place..place + 2).unwrap_or_default();
            rest_on(&mut world, points, under, 0.6);
            tops.push(world.add_surface(body.top()));
        }
        below = tops;
    }
    world
}

/// A box on an incline with `across`² contacts. Three would be sufficient, so the impulses are not
/// unique.
pub fn brick(stiffness: f64, across: usize, slope: f64, friction: f64) -> World {
    let frame = incline(slope);
    let mut world = on_plane(frame.z_axis);
    let centre = frame.z_axis * (HALF_EXTENTS.z + GAP);
    let body = AffineBox::add_to(&mut world, stiffness, centre, frame);
    let last = across.saturating_sub(1).max(1) as f64;
    let places: Vec<f64> = (0..across)
        .map(|place| 2.0 * place as f64 / last - 1.0)
        .collect();
    rest_on(&mut world, body.lower(&places, &places), &[], friction);
    world
}
