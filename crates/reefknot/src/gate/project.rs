//! Inelastic projection of a zone, and which zones there are.

use glam::DVec3;
use reefknot_contact::system::Sets;

use super::GROWTH;
use crate::detect::NEAR;
use crate::pose::{Posed, relative};
use crate::step_input::StepInput;

/// Iterations of conjugate gradients in a projection, and how far they reduce what is left.
const ITERATIONS: usize = 200;
const ACCURACY: f64 = 1e-10;

/// The constraints that are joined by nodes that can move, each zone in the order given, zones by their first.
pub(super) fn zones<'a>(input: &StepInput<'_>, constraints: &'a [Posed]) -> Vec<Vec<&'a Posed>> {
    let mut sets = Sets::new(input.model.masses.len());
    let free = |posed: &'a Posed| {
        let nodes = posed.stencil.iter().map(|(node, _)| *node as usize);
        nodes.filter(|node| lightness(input, *node) != DVec3::ZERO)
    };
    for posed in constraints {
        let mut nodes = free(posed);
        if let Some(first) = nodes.next() {
            nodes.for_each(|node| sets.join(first as u32, node as u32));
        }
    }
    let mut zones: Vec<Vec<&Posed>> = Vec::new();
    let mut zone_of = vec![usize::MAX; input.model.masses.len()];
    for posed in constraints {
        let Some(node) = free(posed).next() else {
            continue;
        };
        let place = &mut zone_of[sets.find(node as u32) as usize];
        if *place == usize::MAX {
            *place = zones.len();
            zones.push(Vec::new());
        }
        zones[*place].push(posed);
    }
    zones
}

/// 1/m of a node along the axes that it can move along (1/kg).
fn lightness(input: &StepInput<'_>, node: usize) -> DVec3 {
    let offset = input.model.unknowns.node_offset[node];
    let free = |axis: usize| match input.prescribed.held.is_held[offset + axis] {
        true => 0.0,
        false => 1.0 / input.model.masses[node],
    };
    DVec3::new(free(0), free(1), free(2))
}

/// A bilateral constraint on velocities: the two sides end the step as far apart as they must, along the normal.
struct Row {
    normal: DVec3,
    /// Nodes by their place in the zone, and weights.
    nodes: Vec<(usize, f64)>,
}

/// The least change of velocities, in the norm of mass, that keeps all pairs of a zone apart: C M⁻¹ Cᵀ λ = wanted − C v, by conjugate gradients
/// (Harmon 2010, eqs. 3.6 and 3.7). Whether that is a sensible one; if not, nothing is changed.
pub(super) fn is_projected(input: &StepInput<'_>, zone: &[&Posed], velocities: &mut [f64]) -> bool {
    let unknowns = &input.model.unknowns;
    let nodes = zone.iter().flat_map(|posed| &posed.stencil);
    let mut nodes: Vec<u32> = nodes.map(|(node, _)| *node).collect();
    nodes.sort_unstable();
    nodes.dedup();
    let place = |node: u32| nodes.binary_search(&node).unwrap_or_default();
    let lightness: Vec<DVec3> = nodes
        .iter()
        .map(|node| lightness(input, *node as usize))
        .collect();
    let rows: Vec<Row> = zone
        .iter()
        .map(|posed| Row {
            normal: posed.touching.normal,
            nodes: posed
                .stencil
                .iter()
                .map(|(node, weight)| (place(*node), *weight))
                .collect(),
        })
        .collect();
    let wanted = zone.iter().map(|posed| {
        let speed = relative(&posed.stencil, posed.drift, |node| {
            unknowns.at_node(velocities, node as usize)
        });
        wanted(input, posed) - posed.touching.normal.dot(speed)
    });
    let lambda = conjugate_gradients(&rows, &lightness, wanted.collect());
    let change = push(&rows, &lightness, &lambda);
    let fastest = |of: &dyn Fn(usize) -> DVec3| {
        let speeds = (0..nodes.len()).map(|at| of(at).abs().max_element());
        speeds.fold(0.0, f64::max)
    };
    let told = zone.iter().map(|posed| posed.drift.abs().max_element());
    let at = |at: usize| unknowns.at_node(velocities, nodes[at] as usize);
    let before = told.fold(fastest(&at), f64::max);
    // What is no number has grown too.
    let has_grown = fastest(&|place| at(place) + change[place]) > GROWTH * before;
    if has_grown || !change.iter().all(|change| change.is_finite()) {
        return false;
    }
    for (node, change) in nodes.iter().zip(&change) {
        let flat = &mut velocities[unknowns.node_offset[*node as usize]..];
        (DVec3::from_slice(flat) + *change).write_to_slice(flat);
    }
    true
}

/// How fast the two sides of a pair must part along the normal (m/s): to be as far apart as at the start, but no farther than contacts begin.
fn wanted(input: &StepInput<'_>, posed: &Posed) -> f64 {
    let touching = &posed.touching;
    let start = touching.gap + touching.thickness;
    let skin = touching.thickness - touching.core;
    let kept = touching.core + (start - touching.core).min(NEAR * skin);
    (kept - start) / input.h()
}

/// λ of C M⁻¹ Cᵀ λ = left.
fn conjugate_gradients(rows: &[Row], lightness: &[DVec3], mut left: Vec<f64>) -> Vec<f64> {
    let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
    let mut lambda = vec![0.0; rows.len()];
    let mut direction = left.clone();
    let mut square = dot(&left, &left);
    let enough = ACCURACY * ACCURACY * square;
    for _ in 0..ITERATIONS {
        if square <= enough {
            break;
        }
        let change = push(rows, lightness, &direction);
        let product = rows.iter().map(|row| {
            let terms = row.nodes.iter();
            let terms = terms.map(|(node, weight)| weight * row.normal.dot(change[*node]));
            terms.sum::<f64>()
        });
        let product: Vec<f64> = product.collect();
        let curvature = dot(&direction, &product);
        if curvature <= f64::MIN_POSITIVE || curvature.is_nan() {
            break;
        }
        let length = square / curvature;
        for place in 0..left.len() {
            lambda[place] += length * direction[place];
            left[place] -= length * product[place];
        }
        let next = dot(&left, &left);
        let part = next / square;
        square = next;
        for (direction, left) in direction.iter_mut().zip(&left) {
            *direction = left + part * *direction;
        }
    }
    lambda
}

/// M⁻¹ Cᵀ λ, on the nodes of the zone.
fn push(rows: &[Row], lightness: &[DVec3], lambda: &[f64]) -> Vec<DVec3> {
    let mut change = vec![DVec3::ZERO; lightness.len()];
    for (row, lambda) in rows.iter().zip(lambda) {
        for (node, weight) in &row.nodes {
            change[*node] += row.normal * lightness[*node] * (*weight * lambda);
        }
    }
    change
}
