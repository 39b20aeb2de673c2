//! Measures solvers of Delassus problems on walls, towers and heaps of rigid bodies, for several
//! sizes and coefficients of friction. Prints a line of JSON per solve.
//!
//! `cargo run --release -p reefknot-contact --example rigid_bench -- [CONTACTS]...`

use std::error::Error;
use std::time::Instant;

use glam::{DMat3, DVec3};
use reefknot_contact::block_rows::BlockRows;
use reefknot_contact::delassus::{DelassusError, DelassusProblem};
use reefknot_contact::random::Random;
use reefknot_contact::solve::Limits;
use reefknot_contact::solve::options::Options;
use reefknot_contact::solve::table::SOLVERS;

type Result<T> = std::result::Result<T, DelassusError>;

const TOLERANCE: f64 = 1e-6;
const FRICTIONS: [f64; 4] = [0.0, 0.3, 0.7, 1.2];

/// Limit on the sweeps of Gauss-Seidel. Other solvers terminate much earlier.
const LIMITS: Limits = Limits {
    tolerance: TOLERANCE,
    iterations: 2000,
};

fn main() -> std::result::Result<(), Box<dyn Error>> {
    let sizes: std::result::Result<Vec<usize>, _> =
        std::env::args().skip(1).map(|text| text.parse()).collect();
    let sizes = match sizes? {
        sizes if sizes.is_empty() => vec![200, 1000, 5000],
        sizes => sizes,
    };
    for contacts in sizes {
        for friction in FRICTIONS {
            measure("wall", &wall(contacts, friction)?);
            measure("tower", &tower(contacts, friction)?);
            measure("heap", &heap(contacts, friction)?);
        }
    }
    Ok(())
}

fn measure(scene: &str, problem: &DelassusProblem) {
    for solver in &SOLVERS {
        let Some(solve) = solver.delassus else {
            continue;
        };
        let (name, options) = (solver.name, Options::defaults(solver.options));
        let mut impulses = vec![DVec3::ZERO; problem.contacts()];
        let began = Instant::now();
        let outcome = solve(problem, &options, LIMITS, &mut impulses);
        let time = began.elapsed().as_secs_f64();
        let errors = problem.errors(&impulses);
        println!(
            "{{\"scene\":\"{scene}\",\"friction\":{},\"contacts\":{},\"solver\":\"{name}\",\
             \"time_s\":{time:.4},\"iterations\":{},\"natural_map_error\":{:.1e},\
             \"scaled_error\":{:.1e},\"converged\":{}}}",
            problem.friction.first().unwrap_or(&0.0),
            problem.contacts(),
            outcome.iterations,
            errors.natural_map,
            errors.scaled,
            outcome.is_converged,
        );
    }
}

/// Rigid body whose principal axes are the coordinate axes.
struct RigidBody {
    /// Centre of mass (m).
    centre: DVec3,
    /// Mass (kg).
    mass: f64,
    /// Principal moments of inertia (kg m²).
    inertia: DVec3,
    /// Velocity (m/s).
    velocity: DVec3,
    /// Angular velocity (rad/s).
    spin: DVec3,
}

/// Contact point of two bodies, or of a body and the ground.
struct ContactPoint {
    /// Lower body; `None` for the ground.
    below: Option<usize>,
    /// Upper body.
    above: usize,
    /// Position (m).
    point: DVec3,
    /// Unit normal, from the lower to the upper body.
    normal: DVec3,
}

/// Problem with W = Hᵀ M⁻¹ H and q = Hᵀ (v + h g).
fn delassus(
    bodies: &[RigidBody],
    contacts: &[ContactPoint],
    friction: f64,
) -> Result<DelassusProblem> {
    const STEP: f64 = 5e-3;
    let gravity = DVec3::new(0.0, 0.0, -9.81) * STEP;
    let frame = |normal: DVec3| {
        let (a, b) = normal.any_orthonormal_pair();
        DMat3::from_cols(normal, a, b)
    };
    let mut body_contacts = vec![Vec::new(); bodies.len()];
    let mut free = Vec::with_capacity(contacts.len());
    for (index, contact) in contacts.iter().enumerate() {
        let mut velocity = DVec3::ZERO;
        for (body, sign) in [(contact.below, -1.0), (Some(contact.above), 1.0)] {
            let Some(body) = body else { continue };
            body_contacts[body].push((index as u32, sign));
            let body = &bodies[body];
            let arm = contact.point - body.centre;
            velocity += (body.velocity + gravity + body.spin.cross(arm)) * sign;
        }
        free.push(frame(contact.normal).transpose() * velocity);
    }
    // The matrix of ω ↦ ω × arm.
    let cross = |arm: DVec3| {
        DMat3::from_cols(
            DVec3::X.cross(arm),
            DVec3::Y.cross(arm),
            DVec3::Z.cross(arm),
        )
    };
    let mut entries = Vec::new();
    for (body, indices) in bodies.iter().zip(&body_contacts) {
        let mobility = DMat3::from_diagonal(body.inertia.recip());
        for &(row, row_sign) in indices {
            let contact = &contacts[row as usize];
            let turn = cross(contact.point - body.centre) * mobility;
            for &(column, column_sign) in indices {
                let other = &contacts[column as usize];
                let world = turn * cross(other.point - body.centre).transpose()
                    + DMat3::IDENTITY * body.mass.recip();
                let block = frame(contact.normal).transpose() * world * frame(other.normal);
                entries.push((row, column, block * (row_sign * column_sign)));
            }
        }
    }
    let friction = vec![friction; contacts.len()];
    let operator = BlockRows::new(contacts.len(), entries);
    DelassusProblem::new(operator, free, friction)
}

/// Centre and size of a box (m).
type Cell = (DVec3, DVec3);

/// Rigid body of a box, with a small random velocity.
fn cuboid(cell: Cell, random: &mut Random) -> RigidBody {
    let mass = 600.0 * cell.1.element_product();
    let squares = cell.1 * cell.1;
    let sums = DVec3::splat(squares.element_sum()) - squares;
    RigidBody {
        centre: cell.0,
        mass,
        inertia: sums * (mass / 12.0),
        velocity: random.vector() * 0.01,
        spin: random.vector() * 0.01,
    }
}

/// Corners of the overlap of two boxes in the horizontal plane, or of the upper box if there is
/// none below.
fn corners(below: Option<Cell>, above: Cell) -> Vec<DVec3> {
    let (mut low, mut high) = (above.0 - above.1 * 0.5, above.0 + above.1 * 0.5);
    let height = low.z;
    if let Some((centre, size)) = below {
        low = low.max(centre - size * 0.5);
        high = high.min(centre + size * 0.5);
    }
    if high.x - low.x < 1e-9 || high.y - low.y < 1e-9 {
        return Vec::new();
    }
    let sides = [
        (low.x, low.y),
        (high.x, low.y),
        (low.x, high.y),
        (high.x, high.y),
    ];
    sides.map(|(x, y)| DVec3::new(x, y, height)).to_vec()
}

/// Problem of layers of boxes, each on the previous one.
fn stack(layers: &[Vec<Cell>], friction: f64) -> Result<DelassusProblem> {
    let mut random = Random::new(7);
    let (mut bodies, mut contacts) = (Vec::new(), Vec::new());
    let mut first_below = 0;
    for (level, layer) in layers.iter().enumerate() {
        let first = bodies.len();
        for (index, cell) in layer.iter().enumerate() {
            bodies.push(cuboid(*cell, &mut random));
            let above = first + index;
            let mut add = |below: Option<usize>, points: Vec<DVec3>| {
                contacts.extend(points.into_iter().map(|point| ContactPoint {
                    below,
                    above,
                    point,
                    normal: DVec3::Z,
                }));
            };
            if level == 0 {
                add(None, corners(None, *cell));
                continue;
            }
            for (other, under) in layers[level - 1].iter().enumerate() {
                add(Some(first_below + other), corners(Some(*under), *cell));
            }
        }
        first_below = first;
    }
    delassus(&bodies, &contacts, friction)
}

/// A wall of bricks, each on two others.
fn wall(contacts: usize, friction: f64) -> Result<DelassusProblem> {
    let side = ((contacts as f64 / 8.0).sqrt().ceil() as usize).max(2);
    let size = DVec3::new(0.2, 0.1, 0.1);
    let brick = |level: usize, k: usize| {
        let along = k as f64 + 0.5 * (level % 2) as f64;
        (DVec3::new(along, 0.0, level as f64 + 0.5) * size, size)
    };
    let layers: Vec<Vec<Cell>> = (0..side)
        .map(|level| (0..side).map(|k| brick(level, k)).collect())
        .collect();
    stack(&layers, friction)
}

/// A tower of planks, three per layer, across the three below.
fn tower(contacts: usize, friction: f64) -> Result<DelassusProblem> {
    let (long, wide, thick) = (0.12, 0.024, 0.008);
    let plank = |level: usize, k: usize| {
        let side = 0.045 * (k as f64 - 1.0);
        let height = (level as f64 + 0.5) * thick;
        match level % 2 {
            0 => (DVec3::new(0.0, side, height), DVec3::new(long, wide, thick)),
            _ => (DVec3::new(side, 0.0, height), DVec3::new(wide, long, thick)),
        }
    };
    let layers: Vec<Vec<Cell>> = (0..(contacts / 36).max(1))
        .map(|level| (0..3).map(|k| plank(level, k)).collect())
        .collect();
    stack(&layers, friction)
}

/// Radius of a ball (m).
const RADIUS: f64 = 0.05;

/// Centres of packed balls on the ground: a perturbed lattice, relaxed by moving overlapping balls
/// apart and all balls down.
fn packing(side: usize, random: &mut Random) -> Vec<DVec3> {
    let cell = 1.95 * RADIUS;
    let cells = (0..side.pow(3)).map(|k| [k % side, k / side % side, k / side / side]);
    let mut centres: Vec<DVec3> = cells
        .map(|k| {
            let place = DVec3::from_array(k.map(|k| k as f64 + 0.5)) * cell;
            place + random.vector() * (0.3 * RADIUS)
        })
        .collect();
    for _ in 0..30 {
        for a in 0..centres.len() {
            for b in a + 1..centres.len() {
                let apart = centres[b] - centres[a];
                let depth = 2.0 * RADIUS - apart.length();
                if depth > 0.0 {
                    let push = apart.normalize_or_zero() * (0.5 * depth);
                    centres[a] -= push;
                    centres[b] += push;
                }
            }
            centres[a].z = (centres[a].z - 0.002 * RADIUS).max(RADIUS);
        }
    }
    centres
}

/// A heap of balls.
fn heap(contacts: usize, friction: f64) -> Result<DelassusProblem> {
    const GAP: f64 = 0.02 * RADIUS;
    const MASS: f64 = 4.0;
    let mut random = Random::new(11);
    let side = ((contacts as f64 / 4.5).cbrt().ceil() as usize).max(2);
    let centres = packing(side, &mut random);
    let ball = |centre: &DVec3| RigidBody {
        centre: *centre,
        mass: MASS,
        inertia: DVec3::splat(0.4 * MASS * RADIUS * RADIUS),
        velocity: random.vector() * 0.05,
        spin: random.vector() * 0.05,
    };
    let bodies: Vec<RigidBody> = centres.iter().map(ball).collect();
    let mut contacts = Vec::new();
    let mut add_contact = |below: Option<usize>, above: usize, normal: DVec3| {
        let point = centres[above] - normal * RADIUS;
        contacts.push(ContactPoint {
            below,
            above,
            point,
            normal,
        });
    };
    for (a, centre) in centres.iter().enumerate() {
        if centre.z - RADIUS < GAP {
            add_contact(None, a, DVec3::Z);
        }
        for (b, other) in centres.iter().enumerate().skip(a + 1) {
            let apart = *other - *centre;
            if apart.length() < 2.0 * RADIUS + GAP {
                add_contact(Some(a), b, apart.normalize_or(DVec3::Z));
            }
        }
    }
    delassus(&bodies, &contacts, friction)
}
