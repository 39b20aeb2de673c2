//! Inelastic projection of the velocities of an impact zone, and the division into zones.

use glam::DVec3;
use reefknot_contact::conjugate_gradients::{CgProgress, ConjugateSystem, conjugate_gradients};
use reefknot_contact::system::DisjointSets;

use super::MAX_SPEED_GROWTH;
use crate::detect::CONTACT_FRACTION;
use crate::pose::{PosedContact, relative_velocity};
use crate::step_input::StepInput;

/// Iterations of conjugate gradients in a projection.
const MAX_ITERATIONS: usize = 200;

/// Reduction of the residual at which conjugate gradients stop.
const RELATIVE_TOLERANCE: f64 = 1e-10;

/// Impact zones: constraints joined by free nodes. Constraints are in the given order, zones in the
/// order of their first constraint.
pub(super) fn zones<'a>(
    input: &StepInput<'_>,
    constraints: &'a [PosedContact],
) -> Vec<Vec<&'a PosedContact>> {
    let mut sets = DisjointSets::new(input.model.masses.len());
    let free = |posed: &'a PosedContact| {
        let nodes = posed.stencil.iter().map(|(node, _)| *node as usize);
        nodes.filter(|node| inverse_mass(input, *node) != DVec3::ZERO)
    };
    for posed in constraints {
        let mut nodes = free(posed);
        if let Some(first) = nodes.next() {
            nodes.for_each(|node| sets.join(first as u32, node as u32));
        }
    }
    let mut zones: Vec<Vec<&PosedContact>> = Vec::new();
    let mut zone_of = vec![usize::MAX; input.model.masses.len()];
    for posed in constraints {
        let Some(node) = free(posed).next() else {
            continue;
        };
        let index = &mut zone_of[sets.find(node as u32) as usize];
        if *index == usize::MAX {
            *index = zones.len();
            zones.push(Vec::new());
        }
        zones[*index].push(posed);
    }
    zones
}

/// 1/m of a node (1/kg) along its free axes, 0 along held ones.
fn inverse_mass(input: &StepInput<'_>, node: usize) -> DVec3 {
    let offset = input.model.unknowns.node_offset[node];
    let along = |axis: usize| {
        if input.prescribed.held.is_held[offset + axis] {
            0.0
        } else {
            1.0 / input.model.masses[node]
        }
    };
    DVec3::new(along(0), along(1), along(2))
}

/// A bilateral constraint on velocities: the distance of a pair along the normal at the end of the
/// step.
struct Row {
    normal: DVec3,
    /// Nodes by their index in the zone, and weights.
    nodes: Vec<(usize, f64)>,
}

/// Applies the smallest change of velocities in the norm of mass that keeps all pairs of a zone
/// apart: C M⁻¹ Cᵀ λ = target − C v, by conjugate gradients (Harmon 2010, eqs. 3.6 and 3.7).
/// Returns false, and changes nothing, if the speeds grow too much or are not finite.
pub(super) fn project_zone(
    input: &StepInput<'_>,
    zone: &[&PosedContact],
    velocities: &mut [f64],
) -> bool {
    let unknowns = &input.model.unknowns;
    let nodes = zone.iter().flat_map(|posed| &posed.stencil);
    let mut nodes: Vec<u32> = nodes.map(|(node, _)| *node).collect();
    nodes.sort_unstable();
    nodes.dedup();
    let index = |node: u32| nodes.binary_search(&node).unwrap_or_default();
    let inverse_mass: Vec<DVec3> = nodes
        .iter()
        .map(|node| inverse_mass(input, *node as usize))
        .collect();
    let rows: Vec<Row> = zone
        .iter()
        .map(|posed| Row {
            normal: posed.contact_point.normal,
            nodes: posed
                .stencil
                .iter()
                .map(|(node, weight)| (index(*node), *weight))
                .collect(),
        })
        .collect();
    let rhs = zone.iter().map(|posed| {
        let speed = relative_velocity(&posed.stencil, posed.prescribed_velocity, |node| {
            unknowns.at_node(velocities, node as usize)
        });
        target_speed(input, posed) - posed.contact_point.normal.dot(speed)
    });
    let lambda = solve_multipliers(&rows, &inverse_mass, rhs.collect());
    let change = apply_multipliers(&rows, &inverse_mass, &lambda);
    let fastest = |velocity: &dyn Fn(usize) -> DVec3| {
        let speeds = (0..nodes.len()).map(|at| velocity(at).abs().max_element());
        speeds.fold(0.0, f64::max)
    };
    let prescribed = zone
        .iter()
        .map(|posed| posed.prescribed_velocity.abs().max_element());
    let velocity = |at: usize| unknowns.at_node(velocities, nodes[at] as usize);
    let before = prescribed.fold(fastest(&velocity), f64::max);
    let has_grown = fastest(&|at| velocity(at) + change[at]) > MAX_SPEED_GROWTH * before;
    // `fastest` ignores NaN.
    if has_grown || !change.iter().all(|change| change.is_finite()) {
        return false;
    }
    for (node, change) in nodes.iter().zip(&change) {
        let flat = &mut velocities[unknowns.node_offset[*node as usize]..];
        (DVec3::from_slice(flat) + *change).write_to_slice(flat);
    }
    true
}

/// Relative normal speed of a pair (m/s) with which it ends the step at its initial distance, but
/// at most at the distance at which contacts are added.
fn target_speed(input: &StepInput<'_>, posed: &PosedContact) -> f64 {
    let contact_point = &posed.contact_point;
    let start = contact_point.gap + contact_point.thickness;
    let skin = contact_point.thickness - contact_point.core;
    let kept = contact_point.core + (start - contact_point.core).min(CONTACT_FRACTION * skin);
    (kept - start) / input.h()
}

/// Solution λ of C M⁻¹ Cᵀ λ = `rhs`.
fn solve_multipliers(rows: &[Row], inverse_mass: &[DVec3], rhs: Vec<f64>) -> Vec<f64> {
    let mut system = ZoneSystem { rows, inverse_mass };
    let mut lambda = vec![0.0; rows.len()];
    let mut residual = rhs.clone();
    conjugate_gradients(&mut system, &mut lambda, &mut residual, rhs, MAX_ITERATIONS);
    lambda
}

/// The matrix C M⁻¹ Cᵀ of a zone, without a preconditioner.
struct ZoneSystem<'a> {
    rows: &'a [Row],
    inverse_mass: &'a [DVec3],
}

impl ConjugateSystem for ZoneSystem<'_> {
    fn multiply(&self, lambda: &[f64], product: &mut [f64]) {
        let change = apply_multipliers(self.rows, self.inverse_mass, lambda);
        for (row, product) in self.rows.iter().zip(product) {
            let terms = row.nodes.iter();
            let terms = terms.map(|(node, weight)| weight * row.normal.dot(change[*node]));
            *product = terms.sum::<f64>();
        }
    }

    fn test_convergence(&mut self, progress: &CgProgress<'_>) -> bool {
        progress.size <= RELATIVE_TOLERANCE * RELATIVE_TOLERANCE * progress.initial_size
    }

    /// Constraints may be redundant and the matrix singular: stops at a direction of zero
    /// curvature.
    fn step_length(&self, size: f64, curvature: f64) -> Option<f64> {
        (curvature > f64::MIN_POSITIVE).then(|| size / curvature)
    }
}

/// M⁻¹ Cᵀ λ on the nodes of the zone.
fn apply_multipliers(rows: &[Row], inverse_mass: &[DVec3], lambda: &[f64]) -> Vec<DVec3> {
    let mut change = vec![DVec3::ZERO; inverse_mass.len()];
    for (row, lambda) in rows.iter().zip(lambda) {
        for (node, weight) in &row.nodes {
            change[*node] += row.normal * inverse_mass[*node] * (*weight * lambda);
        }
    }
    change
}
