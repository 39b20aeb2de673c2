//! Mobilities of nodes, from which the solver `admm` computes its weights.

use reefknot_contact::mobility;
use reefknot_contact::system::SystemFactor;

use super::tuning::TUNING;
use crate::model::{Body, Elements};
use crate::step_input::StepInput;

/// Mobility of each node (1/kg). Affine bodies: inverse nodal mass. Rods: a fraction of the
/// diagonal of A⁻¹. Others: the mobility of a point of a rigid body.
pub(super) fn mobilities(input: &StepInput<'_>, factor: &SystemFactor) -> Vec<f64> {
    let (model, positions) = (input.model, &input.from.positions);
    let mut mobilities = Vec::with_capacity(positions.len());
    for (index, body) in model.bodies.iter().enumerate() {
        let masses = &model.masses[body.nodes.clone()];
        match &body.elements {
            Elements::Blocks(blocks) if blocks.is_affine => {
                mobilities.extend(masses.iter().map(|mass| 1.0 / mass));
            }
            Elements::Rods(_) => {
                let diagonal = factor.inverse_diagonal(index).unwrap_or_default();
                let nodes = body.nodes.clone();
                mobilities.extend(nodes.map(|node| rod_mobility(input, body, node, &diagonal)));
            }
            Elements::Blocks(_) => {
                mobilities.extend(mobility::rigid(masses, &positions[body.nodes.clone()]));
            }
        }
    }
    mobilities
}

/// Fraction of the mean diagonal of A⁻¹ over the free axes of a rod node. Rods are soft across and
/// stiff along their axis: with nodal masses or masses of whole rods instead, ADMM needs several
/// times the iterations.
fn rod_mobility(input: &StepInput<'_>, body: &Body, node: usize, diagonal: &[f64]) -> f64 {
    let offset = input.model.unknowns.node_offset[node];
    let free = (offset..offset + 3).filter(|dof| !input.is_held()[*dof]);
    let inverses = free.filter_map(|dof| diagonal.get(dof - body.dofs.start));
    let (sum, count) = inverses.fold((0.0, 0.0), |(sum, count), of| (sum + of, count + 1.0));
    if count > 0.0 && f64::is_finite(sum) {
        TUNING.rod_mobility * sum / count
    } else {
        1.0 / input.model.masses[node]
    }
}
