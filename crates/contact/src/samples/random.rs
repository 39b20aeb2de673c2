//! Problems of any shape.

use glam::DVec3;

use super::matter::{self, Square};
use crate::mobility;
use crate::numbers::Numbers;
use crate::problem::{Contact, Contacts, NodalProblem};
use crate::system::{Matrix, System};

/// The nodes of a body.
type Nodes = std::ops::Range<u32>;

/// A problem of bodies with one to four nodes, positive definite matrices and contacts between any of them, or with the
/// outside. μ is between 0 and 1; some contacts have cohesion, some compliance.
///
/// It has a solution: at some velocity every contact separates strictly within the dual of its friction cone, which
/// suffices (Acary, Cadoux, Lemaréchal and Malick 2011).
pub fn random(seed: u64, bodies: usize, contacts: usize) -> NodalProblem {
    let mut numbers = Numbers(seed);
    let mut problem = NodalProblem {
        step: 0.01,
        ..NodalProblem::default()
    };
    let mut nodes: Vec<Nodes> = Vec::new();
    let mut matrices = Vec::new();
    for _ in 0..bodies {
        let first = problem.masses.len() as u32;
        matrices.push(add_body(&mut numbers, &mut problem));
        nodes.push(first..problem.masses.len() as u32);
    }
    let offsets = (0..problem.masses.len()).map(|node| 3 * node).collect();
    problem.system = System::new(matrices, offsets);
    problem.force = (0..problem.system.dofs())
        .map(|_| 2.0 * numbers.unit() - 1.0)
        .collect();
    if bodies > 0 {
        add_contacts(&mut numbers, &mut problem, &nodes, contacts);
    }
    problem
}

/// Adds masses and mobilities of a body; returns its matrix.
fn add_body(numbers: &mut Numbers, problem: &mut NodalProblem) -> Matrix {
    let count = 1 + numbers.below(4);
    let masses: Vec<f64> = (0..count).map(|_| 0.1 + numbers.unit()).collect();
    let positions: Vec<DVec3> = (0..count).map(|_| numbers.vector()).collect();
    let square = |_| Square {
        stiffness: 10f64.powf(4.0 * numbers.unit() - 2.0),
        form: (0..count as u32)
            .map(|node| (node, numbers.vector()))
            .collect(),
    };
    let squares: Vec<Square> = (0..2 * count).map(square).collect();
    let mut matrix = Matrix::Blocks(matter::assemble(count, &squares));
    let diagonal: Vec<f64> = masses.iter().flat_map(|mass| [*mass; 3]).collect();
    matrix.add_diagonal(&diagonal);
    problem
        .mobilities
        .extend(mobility::rigid(&masses, &positions));
    problem.masses.extend(masses);
    matrix
}

fn add_contacts(numbers: &mut Numbers, problem: &mut NodalProblem, nodes: &[Nodes], count: usize) {
    let separating: Vec<DVec3> = problem.masses.iter().map(|_| numbers.vector()).collect();
    let mut contacts = Contacts::new();
    for id in 0..count {
        let one = numbers.below(nodes.len());
        let other = numbers.below(nodes.len());
        let mut stencil = point(numbers, &nodes[one], 1.0);
        if other != one {
            stencil.extend(point(numbers, &nodes[other], -1.0));
        }
        let normal = numbers.vector().normalize_or(DVec3::Z);
        let friction = numbers.unit();
        let slip = numbers.vector().reject_from_normalized(normal) * 0.1;
        let opening = friction * slip.length() + 0.01 + 0.1 * numbers.unit();
        let moved = stencil
            .iter()
            .map(|(node, weight)| separating[*node as usize] * *weight);
        let kind = numbers.below(4);
        let contact = Contact {
            id: id as u64,
            normal,
            kinematic: normal * opening + slip - moved.sum::<DVec3>(),
            friction,
            cohesion: [0.0, 0.0, 5.0, 5.0][kind] * numbers.unit(),
            compliance: [0.0, 1e-5, 0.0, 1e-4][kind] * numbers.unit(),
        };
        contacts.push(contact, stencil);
    }
    problem.contacts = contacts;
}

/// A point between the nodes of a body.
fn point(numbers: &mut Numbers, nodes: &Nodes, sign: f64) -> Vec<(u32, f64)> {
    let shares: Vec<f64> = nodes.clone().map(|_| 0.05 + numbers.unit()).collect();
    let whole: f64 = shares.iter().sum();
    let weights = shares.iter().map(|share| sign * share / whole);
    nodes.clone().zip(weights).collect()
}
