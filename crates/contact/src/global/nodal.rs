//! Conversion of nodal problems to general matrices and local axes.
//!
//! M = A, and H = Bᵀ in the axes of each contact. Held unknowns are removed; their velocities are
//! added to w. Cohesion ξ is added to f, so that r̂ = r + hξn satisfies the law without cohesion.
//! Compliance κ becomes an additional unknown of the contact with the mass h²/κ, which the normal
//! impulse moves by (κ/h²) r_N. The result is the problem of Daviet 2020 without cohesion and
//! compliance, which all solvers accept.

use glam::DVec3;

use super::GlobalProblem;
use crate::law;
use crate::problem::NodalProblem;
use crate::sparse_rows::SparseRows;

impl GlobalProblem {
    /// Equivalent problem with general matrices. Its unknowns are the free ones of the nodal
    /// problem, in their order, and one for each contact with compliance.
    pub fn from_nodal(problem: &NodalProblem) -> Self {
        let (places, free) = places(problem.system.held(), problem.system.dofs());
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
            let cohesion = problem.step * contact.cohesion;
            for (row, column, value) in &contacts[first..] {
                if column % 3 == 0 {
                    force[*row as usize] -= cohesion * value;
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

/// Index of every degree of freedom among the free ones, and the list of free ones.
fn places(is_held: &[bool], dofs: usize) -> (Vec<Option<u32>>, Vec<usize>) {
    let mut free = Vec::new();
    let places = (0..dofs).map(|dof| match is_held.get(dof) {
        Some(true) => None,
        _ => {
            free.push(dof);
            Some(free.len() as u32 - 1)
        }
    });
    (places.collect(), free)
}

/// Entries between free unknowns.
fn kept<'a>(
    entries: &'a [(u32, u32, f64)],
    places: &'a [Option<u32>],
) -> impl Iterator<Item = (u32, u32, f64)> + 'a {
    entries.iter().filter_map(|(row, column, value)| {
        Some((places[*row as usize]?, places[*column as usize]?, *value))
    })
}

/// Adds the row of an unknown to the three columns of a contact in H.
fn push_row(row: u32, contact: usize, reach: DVec3, entries: &mut Vec<(u32, u32, f64)>) {
    for (axis, value) in reach.to_array().into_iter().enumerate() {
        if value != 0.0 {
            entries.push((row, (3 * contact + axis) as u32, value));
        }
    }
}
