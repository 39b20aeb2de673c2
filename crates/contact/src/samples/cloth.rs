//! Sheets with stretching and bending springs.

use glam::{DMat3, DVec3};

use super::World;
use super::elasticity::{QuadraticTerm, bend, spring};
use super::pairs::{CandidatePair, Collider, ColliderShape, ContactProperties, Point};

/// Edge of a sheet (m).
const EDGE: f64 = 0.2;
/// Thickness (m).
const THICKNESS: f64 = 2e-3;
/// Mass per area (kg/m²).
const AREA_DENSITY: f64 = 0.2;
/// Initial gap of contacts (m).
const GAP: f64 = 5e-4;

/// Square sheet of n × n nodes, given by its centre.
#[derive(Clone, Copy, Debug)]
struct Sheet {
    young: f64,
    n: usize,
    middle: DVec3,
    frame: DMat3,
}

impl Sheet {
    /// Length of an edge between nodes (m).
    fn length(&self) -> f64 {
        EDGE / (self.n - 1) as f64
    }

    fn node(&self, i: usize, j: usize) -> u32 {
        (j * self.n + i) as u32
    }

    fn place(&self, i: usize, j: usize) -> DVec3 {
        let aside = DVec3::new(i as f64, j as f64, 0.0) * self.length();
        self.middle + self.frame * (aside - DVec3::new(0.5 * EDGE, 0.5 * EDGE, 0.0))
    }

    /// Springs along edges and diagonals; bending along rows, columns and diagonals.
    fn terms(&self) -> Vec<QuadraticTerm> {
        let along = self.young * THICKNESS;
        let bending = self.young * THICKNESS.powi(3) / (12.0 * self.length().powi(2));
        let inside = |v: isize| (0..self.n as isize).contains(&v).then_some(v as usize);
        let mut terms = Vec::new();
        for (i, j) in (0..self.n).flat_map(|j| (0..self.n).map(move |i| (i, j))) {
            for (x, y) in [(1, 0), (0, 1), (1, 1), (-1, 1)] {
                let away = |times: isize| {
                    let i = inside(i as isize + times * x)?;
                    Some((i, inside(j as isize + times * y)?))
                };
                let Some(next) = away(1) else { continue };
                let nodes = [self.node(i, j), self.node(next.0, next.1)];
                let direction = self.place(next.0, next.1) - self.place(i, j);
                terms.push(spring(along, nodes, direction.normalize_or_zero()));
                if let Some(last) = away(2) {
                    let nodes = [nodes[0], nodes[1], self.node(last.0, last.1)];
                    terms.extend(bend(bending, nodes));
                }
            }
        }
        terms
    }

    /// Adds the sheet to a world. Returns its first node.
    fn add_to(&self, world: &mut World) -> u32 {
        let along = 0..self.n;
        let nodes = along
            .clone()
            .flat_map(|j| along.clone().map(move |i| (i, j)));
        let positions: Vec<DVec3> = nodes.map(|(i, j)| self.place(i, j)).collect();
        let masses = vec![AREA_DENSITY * self.length().powi(2); positions.len()];
        world.add_body(&positions, &masses, &self.terms())
    }

    fn triangles(&self, first: u32) -> Vec<[Point; 3]> {
        let along = 0..self.n - 1;
        let cells = along
            .clone()
            .flat_map(|j| along.clone().map(move |i| (i, j)));
        let corner = |i: usize, j: usize| vec![(first + self.node(i, j), 1.0)];
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
}

fn properties(distance: f64) -> ContactProperties {
    ContactProperties {
        distance,
        friction: 0.3,
        ..ContactProperties::default()
    }
}

/// A sheet of n × n nodes (at least 2 × 2) that falls off-centre on a ball, and on the ground
/// around it.
pub fn cloth(young: f64, n: usize) -> World {
    let sheet = Sheet {
        young,
        n: n.max(2),
        middle: DVec3::new(0.013, 0.021, 0.5 * THICKNESS + GAP),
        frame: DMat3::from_rotation_z(0.3),
    };
    let mut world = World {
        reach: 5e-3,
        ..World::default()
    };
    let first = sheet.add_to(&mut world);
    let (radius, axis) = (0.1, DVec3::ZERO);
    let ball = ColliderShape::Round { axis, radius };
    let ball = Collider::fixed(DVec3::Z * -radius, ball);
    let ground = ColliderShape::Plane { normal: DVec3::Z };
    let ground = Collider::fixed(DVec3::Z * -0.03, ground);
    for collider in [ball, ground] {
        let collider = world.add_collider(collider);
        let nodes = first..world.masses.len() as u32;
        world.add_collider_pairs(nodes, collider, properties(0.5 * THICKNESS));
    }
    world
}

/// Two sheets of n × n nodes (at least 2 × 2) that fall on level ground, one on the other, with
/// contacts of upper nodes and lower triangles.
pub fn layers(young: f64, n: usize) -> World {
    let lower = Sheet {
        young,
        n: n.max(2),
        middle: DVec3::Z * (0.5 * THICKNESS + GAP),
        frame: DMat3::IDENTITY,
    };
    let upper = Sheet {
        middle: DVec3::new(0.011, 0.007, 1.5 * THICKNESS + 2.0 * GAP),
        frame: DMat3::from_rotation_z(0.1),
        ..lower
    };
    let mut world = World {
        reach: 5e-3,
        ..World::default()
    };
    let first = lower.add_to(&mut world);
    let second = upper.add_to(&mut world);
    let nodes = second..world.masses.len() as u32;
    let ground = ColliderShape::Plane { normal: DVec3::Z };
    let ground = world.add_collider(Collider::fixed(DVec3::ZERO, ground));
    world.add_collider_pairs(first..nodes.end, ground, properties(0.5 * THICKNESS));
    let surface = world.add_surface(lower.triangles(first));
    for node in nodes {
        let point = vec![(node, 1.0)];
        world.add_pair(
            CandidatePair::Surface { point, surface },
            properties(THICKNESS),
        );
    }
    world
}
