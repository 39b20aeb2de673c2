//! Last resort of the gate: the nodes of an impact zone lose their relative motion.
//!
//! The nodes of a zone keep a fraction of their motion relative to a common rigid motion: first the
//! fraction before the first collision, then none. If the zone contains prescribed points, its
//! common motion is the rigid motion nearest to theirs, rotation included: beside the roots of hair
//! on a turning head, a translation alone would collide. Otherwise the common motion is that of the
//! centre of mass: flying hair keeps its momentum.

use std::collections::BTreeMap;
use std::ops::Range;

use glam::DVec3;
use reefknot_contact::system::DisjointSets;

use super::rigid::RigidMotion;
use crate::collide::pair::Feature;
use crate::detect::{ContactPoint, Detection};
use crate::model::{Body, Elements, Model};
use crate::step_input::StepInput;

/// Fraction of the motion until the first collision that nodes keep.
const KEPT_FRACTION: f64 = 0.8;

/// Partial stops of a zone before it is stopped completely.
const MAX_PARTIAL_STOPS: u8 = 2;

/// Distance of the points of a collider from which its rotation is computed (m).
const SAMPLE_OFFSET: f64 = 0.01;

/// The nodes that a collision stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StopExtent {
    /// Nodes of both features.
    Nodes,
    /// Nodes of the rods and bodies of both features.
    Bodies,
}

/// Impact zones, which grow round by round.
pub(super) struct ImpactZones {
    extent: StopExtent,
    sets: DisjointSets,
    /// The nodes of all zones, ascending.
    nodes: Vec<u32>,
    /// Number of stops of the zone of each node.
    stops: Vec<u8>,
    /// A node of a zone, and start and end of a prescribed point in contact with the zone.
    prescribed: Vec<(u32, [DVec3; 2])>,
}

/// State of an impact zone.
#[derive(Default)]
struct Zone {
    mass: f64,
    momentum: DVec3,
    /// Start and end positions of prescribed points.
    prescribed: Vec<[DVec3; 2]>,
    /// Time of its first collision in this round, if any.
    time: Option<f64>,
    stops: u8,
}

impl Zone {
    /// The common motion of its nodes in a step of length h.
    fn common_motion(&self, h: f64) -> RigidMotion {
        if self.prescribed.is_empty() {
            RigidMotion::translation(self.momentum * (h / self.mass.max(f64::MIN_POSITIVE)))
        } else {
            RigidMotion::nearest(&self.prescribed)
        }
    }
}

impl ImpactZones {
    pub(super) fn new(input: &StepInput<'_>, extent: StopExtent) -> ImpactZones {
        let count = input.model.masses.len();
        ImpactZones {
            extent,
            sets: DisjointSets::new(count),
            nodes: Vec::new(),
            stops: vec![0; count],
            prescribed: Vec::new(),
        }
    }

    /// Stops the zones of all impacts. Returns the nodes whose velocity changed.
    pub(super) fn stop(
        &mut self,
        input: &StepInput<'_>,
        detection: &Detection<'_>,
        impacts: &[ContactPoint],
        velocities: &mut [f64],
    ) -> Vec<u32> {
        let mut times: Vec<(u32, f64)> = Vec::new();
        for impact in impacts {
            if let Some(node) = self.join(input, detection, impact) {
                times.push((node, impact.time));
            }
        }
        self.nodes.sort_unstable();
        self.nodes.dedup();
        let zones = self.zones(input, &times, velocities);
        let motions = zones
            .iter()
            .map(|(root, zone)| (*root, zone.common_motion(input.h())));
        let motions: BTreeMap<u32, RigidMotion> = motions.collect();
        let mut changed = Vec::new();
        for node in &self.nodes {
            let root = self.sets.find(*node);
            let zone = &zones[&root];
            let Some(time) = zone.time else {
                continue;
            };
            let is_full_stop = zone.stops > MAX_PARTIAL_STOPS || self.extent == StopExtent::Bodies;
            let fraction = if is_full_stop {
                0.0
            } else {
                KEPT_FRACTION * time
            };
            self.stops[*node as usize] = zone.stops;
            let common = &motions[&root];
            if reduce_relative_motion(input, *node as usize, common, fraction, velocities) {
                changed.push(*node);
            }
        }
        changed
    }

    /// Joins all nodes that an impact stops into one zone. Returns one of them, if any.
    fn join(
        &mut self,
        input: &StepInput<'_>,
        detection: &Detection<'_>,
        impact: &ContactPoint,
    ) -> Option<u32> {
        let mut first: Option<u32> = None;
        let mut prescribed = Vec::new();
        for (point, weight) in impact.points.iter().zip(impact.weights) {
            let stencil = detection.collision.stencil(*point);
            if stencil.is_empty() && weight != 0.0 {
                let at = *point as usize;
                prescribed.push([detection.from[at], detection.prescribed[at]]);
            }
            for (node, _) in stencil {
                let nodes = match self.extent {
                    StopExtent::Nodes => *node as usize..*node as usize + 1,
                    StopExtent::Bodies => rod_or_body_nodes(input.model, *node as usize),
                };
                let known = *first.get_or_insert(*node);
                for node in nodes {
                    self.sets.join(known, node as u32);
                    self.nodes.push(node as u32);
                }
            }
        }
        let first = first?;
        if let Feature::Collider(number) = impact.features[1] {
            // The contact and three points around it, since one point does not determine the
            // rotation.
            let contact = detection.from[impact.points[0] as usize];
            let moving = &detection.moving_colliders[number as usize];
            let offsets = [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z];
            let samples = offsets.map(|offset| contact + offset * SAMPLE_OFFSET);
            prescribed.extend(samples.map(|point| [point, point + moving.displacement(point)]));
        }
        self.prescribed
            .extend(prescribed.into_iter().map(|path| (first, path)));
        Some(first)
    }

    /// All zones, by the representative node of each.
    fn zones(
        &mut self,
        input: &StepInput<'_>,
        times: &[(u32, f64)],
        velocities: &[f64],
    ) -> BTreeMap<u32, Zone> {
        let model = input.model;
        let mut zones: BTreeMap<u32, Zone> = BTreeMap::new();
        for node in &self.nodes {
            let zone = zones.entry(self.sets.find(*node)).or_default();
            let node = *node as usize;
            zone.stops = zone.stops.max(self.stops[node]);
            let nodes = match self.extent {
                StopExtent::Nodes => rod_nodes(model, node).unwrap_or(node..node + 1),
                StopExtent::Bodies => node..node + 1,
            };
            for held in nodes.filter(|node| is_prescribed_point(input, *node)) {
                let start = input.from.positions[held];
                let displacement = model.unknowns.at_node(velocities, held) * input.h();
                zone.prescribed.push([start, start + displacement]);
            }
            if !model.is_axis(node) && !is_prescribed_point(input, node) {
                let velocity = model.unknowns.at_node(velocities, node);
                zone.mass += model.weights[node];
                zone.momentum += velocity * model.weights[node];
            }
        }
        for (node, path) in &self.prescribed {
            let zone = zones.entry(self.sets.find(*node)).or_default();
            zone.prescribed.push(*path);
        }
        for (node, time) in times {
            let zone = zones.entry(self.sets.find(*node)).or_default();
            zone.time = Some(zone.time.map_or(*time, |first: f64| first.min(*time)));
        }
        for zone in zones.values_mut().filter(|zone| zone.time.is_some()) {
            zone.stops = zone.stops.saturating_add(1);
        }
        zones
    }
}

/// Whether a node is a point with prescribed motion along all axes.
fn is_prescribed_point(input: &StepInput<'_>, node: usize) -> bool {
    !input.model.is_axis(node) && !input.is_free(node as u32)
}

/// Scales the motion of a node relative to a common one by `fraction`; whether that changed it.
fn reduce_relative_motion(
    input: &StepInput<'_>,
    node: usize,
    common: &RigidMotion,
    fraction: f64,
    velocities: &mut [f64],
) -> bool {
    let (model, position) = (input.model, input.from.positions[node]);
    // Axes of props are vectors, not points.
    let common = if model.is_axis(node) {
        common.change(position) / input.h()
    } else {
        common.displacement(position) / input.h()
    };
    let offset = model.unknowns.node_offset[node];
    let mut is_changed = false;
    for axis in 0..3 {
        let dof = offset + axis;
        if !input.prescribed.held.is_held[dof] {
            let reduced = common[axis] + fraction * (velocities[dof] - common[axis]);
            is_changed |= reduced != velocities[dof];
            velocities[dof] = reduced;
        }
    }
    is_changed
}

/// Nodes of the rod of a node, or of its body if it is not in a rod.
fn rod_or_body_nodes(model: &Model, node: usize) -> Range<usize> {
    let rod = rod_nodes(model, node);
    rod.unwrap_or_else(|| body_of(model, node).map_or(node..node + 1, |body| body.nodes.clone()))
}

/// Nodes of the rod of a node; None if it is not in a rod.
fn rod_nodes(model: &Model, node: usize) -> Option<Range<usize>> {
    let body = body_of(model, node)?;
    let Elements::Rods(rods) = &body.elements else {
        return None;
    };
    let count = rods.batch.shape().vertices.max(1);
    let first = body.nodes.start + (node - body.nodes.start) / count * count;
    Some(first..first + count)
}

fn body_of(model: &Model, node: usize) -> Option<&Body> {
    let body = model.bodies.partition_point(|body| body.nodes.end <= node);
    model.bodies.get(body)
}
