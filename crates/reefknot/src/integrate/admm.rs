//! What is particular to the solver `admm` in a step: how easily nodes move, which its weights are
//! made of.

use reefknot_contact::mobility;
use reefknot_contact::system::SystemFactor;

use crate::model::{Body, Elements};
use crate::step_input::StepInput;

/// The part of the mobility of a node of a rod that weights are made of: a third needs the fewest
/// iterations in a ball of hair.
const ROD_MOBILITY: f64 = 1.0 / 3.0;

/// How easily each node moves (1/kg): if its body is rigid; of what is affine, by its own mass; in
/// a rod, by a part of what the factor says.
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

/// A part of how far a node of a rod gives way to an impulse, along the axes that it can move
/// along. Rods are so soft across and so stiff along that neither their masses nor those of whole
/// rods tell how hard it is to move a node: with these, ADMM needs several times the iterations.
fn rod_mobility(input: &StepInput<'_>, body: &Body, node: usize, diagonal: &[f64]) -> f64 {
    let offset = input.model.unknowns.node_offset[node];
    let free = (offset..offset + 3).filter(|dof| !input.is_held()[*dof]);
    let inverses = free.filter_map(|dof| diagonal.get(dof - body.dofs.start));
    let (sum, count) = inverses.fold((0.0, 0.0), |(sum, count), of| (sum + of, count + 1.0));
    match count > 0.0 && f64::is_finite(sum) {
        true => ROD_MOBILITY * sum / count,
        false => 1.0 / input.model.masses[node],
    }
}
