//! Random problems.

use glam::DVec3;

use super::elasticity::{self, QuadraticTerm};
use crate::mobility;
use crate::problem::{Contact, Contacts, NodalProblem};
use crate::random::Random;
use crate::system::{Matrix, System};

/// Nodes of a body.
type Nodes = std::ops::Range<u32>;

/// Random problem of bodies with one to four nodes and positive definite matrices. Contacts are
/// between two bodies, or between a body and a fixed obstacle. μ is between 0 and 1; some contacts
/// have cohesion, some compliance.
///
/// It has a solution, because there are velocities at which every u is strictly inside the dual of
/// the friction cone (Acary, Cadoux, Lemaréchal and Malick 2011).
pub fn random(seed: u64, bodies: usize, contacts: usize) -> NodalProblem {
    let mut random = Random::new(seed);
    let mut problem = NodalProblem {
        step: 0.01,
        ..NodalProblem::default()
    };
    let mut nodes: Vec<Nodes> = Vec::new();
    let mut matrices = Vec::new();
    for _ in 0..bodies {
        let first = problem.masses.len() as u32;
        matrices.push(add_body(&mut random, &mut problem));
        nodes.push(first..problem.masses.len() as u32);
    }
    let offsets = (0..problem.masses.len()).map(|node| 3 * node).collect();
    problem.system = System::new(matrices, offsets);
    problem.force = (0..problem.system.dofs())
        .map(|_| 2.0 * random.unit() - 1.0)
        .collect();
    if bodies > 0 {
        add_contacts(&mut random, &mut problem, &nodes, contacts);
    }
    problem
}

/// Adds the masses and mobilities of a body. Returns its matrix.
fn add_body(random: &mut Random, problem: &mut NodalProblem) -> Matrix {
    let count = 1 + random.below(4);
    let masses: Vec<f64> = (0..count).map(|_| 0.1 + random.unit()).collect();
    let positions: Vec<DVec3> = (0..count).map(|_| random.vector()).collect();
    let term = |_| QuadraticTerm {
        stiffness: 10f64.powf(4.0 * random.unit() - 2.0),
        form: (0..count as u32)
            .map(|node| (node, random.vector()))
            .collect(),
    };
    let terms: Vec<QuadraticTerm> = (0..2 * count).map(term).collect();
    let mut matrix = Matrix::Blocks(elasticity::assemble(count, &terms));
    let diagonal: Vec<f64> = masses.iter().flat_map(|mass| [*mass; 3]).collect();
    matrix.add_diagonal(&diagonal);
    problem
        .mobilities
        .extend(mobility::rigid(&masses, &positions));
    problem.masses.extend(masses);
    matrix
}

fn add_contacts(random: &mut Random, problem: &mut NodalProblem, nodes: &[Nodes], count: usize) {
    let separating: Vec<DVec3> = problem.masses.iter().map(|_| random.vector()).collect();
    let mut contacts = Contacts::new();
    for id in 0..count {
        let one = random.below(nodes.len());
        let other = random.below(nodes.len());
        let mut stencil = point(random, &nodes[one], 1.0);
        if other != one {
            stencil.extend(point(random, &nodes[other], -1.0));
        }
        let normal = random.vector().normalize_or(DVec3::Z);
        let friction = random.unit();
        let slip = random.vector().reject_from_normalized(normal) * 0.1;
        let opening = friction * slip.length() + 0.01 + 0.1 * random.unit();
        let relative = stencil
            .iter()
            .map(|(node, weight)| separating[*node as usize] * *weight);
        let kind = random.below(4);
        let contact = Contact {
            id: id as u64,
            normal,
            kinematic: normal * opening + slip - relative.sum::<DVec3>(),
            friction,
            cohesion: [0.0, 0.0, 5.0, 5.0][kind] * random.unit(),
            compliance: [0.0, 1e-5, 0.0, 1e-4][kind] * random.unit(),
        };
        contacts.push(contact, stencil);
    }
    problem.contacts = contacts;
}

/// Random convex combination of the nodes of a body.
fn point(random: &mut Random, nodes: &Nodes, sign: f64) -> Vec<(u32, f64)> {
    let shares: Vec<f64> = nodes.clone().map(|_| 0.05 + random.unit()).collect();
    let whole: f64 = shares.iter().sum();
    let weights = shares.iter().map(|share| sign * share / whole);
    nodes.clone().zip(weights).collect()
}
