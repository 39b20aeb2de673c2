//! From node weights and world axes to general matrices and local axes.
//!
//! M = A, H = Bᵀ, in the axes of each contact. What is held leaves: its rows and columns are dropped, and its velocity goes
//! into w. Cohesion ξ goes into f, so that r̂ = r + hξn obeys the plain law. Compliance κ becomes one more unknown
//! per contact, with the mass h²/κ, which the normal impulse moves by (κ/h²) r_N. So the problem is that of Daviet 2020 with
//! the law that every solver knows.

use glam::DVec3;

use super::GlobalProblem;
use crate::law;
use crate::problem::NodalProblem;
use crate::sparse_rows::SparseRows;

impl GlobalProblem {
    /// The same problem with general matrices. Its unknowns are the free ones of the nodal problem, in their order, and
    /// then one per contact with compliance.
    pub fn from_nodal(problem: &NodalProblem) -> Self {
        let (places, free) = places(problem.system.cut(), problem.system.dofs());
        let mut mass: Vec<_> = kept(&problem.system.entries(), &places).collect();
        let mut contacts = Vec::new();
        let mut force: Vec<f64> = free.iter().map(|dof| problem.force[*dof]).collect();
        let mut kinematic = Vec::new();
        for (index, contact) in problem.contacts.iter().enumerate() {
            let first = contacts.len();
            let basis = law::basis(contact.normal);
            let mut w = basis.transpose() * contact.kinematic;
            for (node, weight) in problem.contacts.stencil(index) {
                let offset = problem.system.node_offset[*node as usize];
                for (axis, dof) in (offset..offset + 3).enumerate() {
                    let reach = basis.row(axis) * *weight;
                    match places[dof] {
                        Some(row) => push_row(row, index, reach, &mut contacts),
                        None => w += reach * problem.force[dof],
                    }
                }
            }
            if contact.compliance > 0.0 {
                let row = force.len() as u32;
                mass.push((row, row, problem.step * problem.step / contact.compliance));
                contacts.push((row, 3 * index as u32, 1.0));
                force.push(0.0);
            }
            let held = problem.step * contact.cohesion;
            for (row, column, value) in &contacts[first..] {
                if column % 3 == 0 {
                    force[*row as usize] -= held * value;
                }
            }
            kinematic.push(w);
        }
        let (unknowns, count) = (force.len(), problem.contacts.len());
        Self {
            mass: SparseRows::new([unknowns; 2], mass),
            contacts: SparseRows::new([unknowns, 3 * count], contacts),
            force,
            kinematic,
            friction: problem
                .contacts
                .iter()
                .map(|contact| contact.friction)
                .collect(),
        }
    }
}

/// The place of every degree of freedom among the free ones, and which those are.
fn places(is_cut: &[bool], dofs: usize) -> (Vec<Option<u32>>, Vec<usize>) {
    let mut free = Vec::new();
    let places = (0..dofs).map(|dof| match is_cut.get(dof) {
        Some(true) => None,
        _ => {
            free.push(dof);
            Some(free.len() as u32 - 1)
        }
    });
    (places.collect(), free)
}

/// The entries between free unknowns.
fn kept<'a>(
    entries: &'a [(u32, u32, f64)],
    places: &'a [Option<u32>],
) -> impl Iterator<Item = (u32, u32, f64)> + 'a {
    entries.iter().filter_map(|(row, column, value)| {
        Some((places[*row as usize]?, places[*column as usize]?, *value))
    })
}

/// Adds what an unknown does to the three velocities of a contact.
fn push_row(row: u32, contact: usize, reach: DVec3, entries: &mut Vec<(u32, u32, f64)>) {
    for (axis, value) in reach.to_array().into_iter().enumerate() {
        if value != 0.0 {
            entries.push((row, (3 * contact + axis) as u32, value));
        }
    }
}
