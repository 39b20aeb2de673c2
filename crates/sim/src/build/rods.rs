//! Simulated rods: rest shape and initial frames. Rods with equal numbers of vertices form a body.

use std::f64::consts::TAU;
use std::ops::Range;
use std::sync::Arc;

use glam::{DQuat, DVec3};

use super::director::{angle_between, carried};
use crate::energy::rod::{RodBatch, RodRest, RodShape};
use crate::mesh::{Curve, Mesh};
use crate::model::{RodElements, Rods};

/// Fraction of the rotational inertia of sections with quasi-static twist. It is not 0, so that the
/// twist of a free rod is determined.
const QUASI_STATIC_INERTIA: f64 = 1e-6;

/// Largest curvature or twist of a joint (rad). The curvature 2 tan(φ/2) of an edge that folds back
/// to 0.1 degrees is smaller.
const MAX_JOINT_ANGLE: f64 = 2000.0;

/// A body of rods with equal numbers of vertices.
pub(super) struct RodBody {
    /// Its vertices, from the first of the object.
    pub(super) vertices: Range<usize>,
    /// Its edges, from the first of the object.
    pub(super) edges: Range<usize>,
    /// Its elements.
    pub(super) elements: Arc<RodElements>,
    /// Masses of the vertices (kg).
    pub(super) masses: Vec<f64>,
    /// Moments of inertia of the edges about their axes (kg m²).
    pub(super) twist_inertias: Vec<f64>,
    /// First axis of the section at each edge.
    pub(super) directors: Vec<DVec3>,
    /// Twist from the previous edge to each edge (rad).
    pub(super) twists: Vec<f64>,
}

/// Bodies of all rods of an object. With `is_rooted`, a scripted host holds the first edge of each.
pub(super) fn rod_bodies(
    mesh: &Mesh,
    rods: &Rods,
    is_rooted: bool,
) -> Result<Vec<RodBody>, String> {
    let mut bodies = Vec::new();
    let mut first_edge = 0;
    let same = |one: &Curve, other: &Curve| one.count == other.count && one.closed == other.closed;
    for curves in mesh.curves.chunk_by(same) {
        let edges: usize = curves.iter().map(|curve| curve.edges().count()).sum();
        let range = first_edge..first_edge + edges;
        bodies.push(rod_body(mesh, rods, curves, range, is_rooted)?);
        first_edge += edges;
    }
    Ok(bodies)
}

/// One body of rods with these edges.
fn rod_body(
    mesh: &Mesh,
    rods: &Rods,
    curves: &[Curve],
    edges: Range<usize>,
    is_rooted: bool,
) -> Result<RodBody, String> {
    let first = curves[0].first as usize;
    let shape = RodShape {
        vertices: curves[0].count as usize,
        is_closed: curves[0].closed,
        count: curves.len(),
    };
    let mut starts = Vec::with_capacity(curves.len());
    for (rod, curve) in curves.iter().enumerate() {
        let own = edges.start + rod * shape.edges();
        let directors = &rods.directors[own..own + shape.edges()];
        let start = RodAtStart::new(mesh, rods, curve, directors);
        start.refuse_sharp(first + rod * shape.vertices)?;
        starts.push(start);
    }
    let lengths = joined(&starts, |rod| &rod.lengths);
    let batch = rod_batch(shape, &starts, &lengths, rods)?;
    let vertices = first..first + shape.vertices * shape.count;
    let local = |edge: &[u32; 2]| edge.map(|vertex| vertex - first as u32);
    let edge_list: Vec<[u32; 2]> = rods.edges[edges.clone()].iter().map(local).collect();
    let material = &rods.material;
    let mut masses = vec![0.0; vertices.len()];
    for ([a, b], length) in edge_list.iter().zip(&lengths) {
        masses[*a as usize] += 0.5 * material.linear_density * length;
        masses[*b as usize] += 0.5 * material.linear_density * length;
    }
    let squares = rods.radius[0] * rods.radius[0] + rods.radius[1] * rods.radius[1];
    let part = if rods.quasi_static_twist {
        QUASI_STATIC_INERTIA
    } else {
        1.0
    };
    let inertia = |length: &f64| part * material.linear_density * length * squares / 4.0;
    let is_rigid = (0..edges.len()).map(|edge| is_rooted && edge % shape.edges() == 0);
    let elements = RodElements {
        batch,
        damping: material.damping,
        mass_damping: material.mass_damping,
        diameter: rods.radius[0] + rods.radius[1],
        edges: edge_list,
        is_rigid: is_rigid.collect(),
    };
    Ok(RodBody {
        vertices,
        edges,
        twist_inertias: lengths.iter().map(inertia).collect(),
        masses,
        elements: Arc::new(elements),
        directors: starts
            .iter()
            .flat_map(|rod| rod.directors.clone())
            .collect(),
        twists: joined(&starts, |rod| &rod.twists),
    })
}

/// The energies of rods with these rest lengths and the rest shapes of `starts`.
fn rod_batch(
    shape: RodShape,
    starts: &[RodAtStart],
    lengths: &[f64],
    rods: &Rods,
) -> Result<RodBatch, String> {
    let curvatures = starts.iter().flat_map(|rod| rod.curvatures.clone());
    let rest = RodRest {
        lengths,
        curvatures: &curvatures.collect::<Vec<[f64; 2]>>(),
        twists: &joined(starts, |rod| &rod.natural_twists),
    };
    let material = &rods.material;
    let batch = RodBatch::new(
        shape,
        &rest,
        material.axial,
        material.bending,
        material.twist,
    );
    batch.map_err(|error| error.to_string())
}

/// One array of all rods, one rod after the other.
fn joined(rods: &[RodAtStart], part: fn(&RodAtStart) -> &[f64]) -> Vec<f64> {
    rods.iter()
        .flat_map(|rod| part(rod).iter().copied())
        .collect()
}

/// Initial state and rest shape of a rod.
struct RodAtStart {
    /// Rest lengths (m).
    lengths: Vec<f64>,
    /// Rest curvatures at each vertex (1/m).
    curvatures: Vec<[f64; 2]>,
    /// Rest twists at each vertex (rad/m).
    natural_twists: Vec<f64>,
    directors: Vec<DVec3>,
    /// Initial twists at the first vertex of each edge (rad).
    twists: Vec<f64>,
}

impl RodAtStart {
    fn new(mesh: &Mesh, rods: &Rods, curve: &Curve, directors: &[DVec3]) -> RodAtStart {
        let sides = curve
            .edges()
            .map(|[a, b]| mesh.points[b as usize] - mesh.points[a as usize]);
        let sides: Vec<DVec3> = sides.collect();
        let lengths = sides.iter().map(|side| side.length() / rods.start_stretch);
        let lengths: Vec<f64> = lengths.collect();
        let tangents: Vec<DVec3> = sides.iter().map(|side| side.normalize_or_zero()).collect();
        let count = sides.len();
        // The start twist is distributed evenly over the joints. On a closed rod the directors can
        // have whole turns only; the remainder is subtracted from the rest twist.
        let (turned, strained) = if curve.closed {
            let whole = TAU * (rods.start_twist / TAU).round();
            (whole, rods.start_twist - whole)
        } else {
            (rods.start_twist, 0.0)
        };
        let joints = count.max(2) - usize::from(!curve.closed);
        let [even, strained] = [turned, strained].map(|angle| angle / joints as f64);
        let mut rod = RodAtStart {
            curvatures: vec![[0.0; 2]; curve.count as usize],
            natural_twists: vec![0.0; curve.count as usize],
            directors: directors.to_vec(),
            twists: vec![0.0; count],
            lengths,
        };
        for edge in 0..count {
            let before = match (edge, curve.closed) {
                (0, false) => continue,
                (0, true) => count - 1,
                _ => edge - 1,
            };
            let [from, to] = [tangents[before], tangents[edge]];
            let cell = 0.5 * (rod.lengths[before] + rod.lengths[edge]);
            let transported = carried(directors[before], from, to);
            let twist = angle_between(transported, directors[edge], to);
            let binormal = from.cross(to) * (2.0 / (1.0 + from.dot(to)).max(1e-9));
            let first = 0.5 * (directors[before] + directors[edge]);
            let second = 0.5 * (from.cross(directors[before]) + to.cross(directors[edge]));
            let bent = [binormal.dot(second) / cell, -binormal.dot(first) / cell];
            rod.curvatures[edge] = rods.natural_curvature.unwrap_or(bent);
            let natural = rods.natural_twist.unwrap_or(twist / cell);
            rod.natural_twists[edge] = natural - strained / cell;
            rod.twists[edge] = twist + even;
        }
        for (edge, director) in rod.directors.iter_mut().enumerate() {
            let angle = (even * edge as f64) % TAU;
            *director = DQuat::from_axis_angle(tangents[edge], angle) * *director;
        }
        rod
    }

    /// Refuses joints with an initial or rest curvature or twist above [`MAX_JOINT_ANGLE`]. `first`
    /// is the first vertex of the rod.
    fn refuse_sharp(&self, first: usize) -> Result<(), String> {
        for (edge, twist) in self.twists.iter().enumerate() {
            let [one, two] = self.curvatures[edge];
            let at_rest = [one, two, self.natural_twists[edge]];
            let strains = at_rest.map(|by_length| by_length * self.lengths[edge]);
            let sharpest = strains
                .iter()
                .fold(twist.abs(), |most, strain| most.max(strain.abs()));
            if sharpest > MAX_JOINT_ANGLE {
                let vertex = first + edge;
                return Err(format!(
                    "its bend or twist at vertex {vertex} is {sharpest:e} rad, above the limit of \
                     {MAX_JOINT_ANGLE} rad"
                ));
            }
        }
        Ok(())
    }
}
