//! The last means of the gate: what collides gives up the motion against each other.
//!
//! The nodes of a zone keep a part of their motion relative to a common one, first the part that is free of collisions, then none. The
//! common motion is that of what is told to move, if the zone touches any such thing, with its turn: beside roots on a head that turns, a hair that only went along
//! would be cut off. Else it is that of its middle: so hair that flies along is not torn out of its flight, and momentum is kept.

use std::collections::BTreeMap;
use std::ops::Range;

use glam::DVec3;
use reefknot_contact::system::Sets;

use super::rigid::Rigid;
use crate::collide::pair::Feature;
use crate::detect::{Detection, Touching};
use crate::model::{Body, Elements, Model};
use crate::step_input::StepInput;

/// Nodes keep this part of the way to their impact.
const SHORT: f64 = 0.8;

/// How often a zone keeps a part of its motion before it loses all of it.
const PATIENCE: u8 = 2;

/// How far apart places of a collider are that tell how it turns (m).
const ARM: f64 = 0.01;

/// What a collision stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// The nodes of both features.
    Nodes,
    /// Their whole rods and bodies.
    Bodies,
}

/// Zones that grow round by round.
pub(super) struct Stops {
    reach: Reach,
    sets: Sets,
    /// The nodes of all zones, ascending.
    nodes: Vec<u32>,
    /// How often the zone of each node was stopped.
    rounds: Vec<u8>,
    /// A node of a zone, and from where to where something goes that it touches and that is told to.
    told: Vec<(u32, [DVec3; 2])>,
}

/// What is known of a zone.
#[derive(Default)]
struct Zone {
    mass: f64,
    momentum: DVec3,
    /// From where to where things go that are told to.
    told: Vec<[DVec3; 2]>,
    /// When its first collision of this round is; nothing if it has none.
    time: Option<f64>,
    rounds: u8,
}

impl Zone {
    fn common(&self, h: f64) -> Rigid {
        match self.told.is_empty() {
            true => Rigid::translation(self.momentum * (h / self.mass.max(f64::MIN_POSITIVE))),
            false => Rigid::nearest(&self.told),
        }
    }
}

impl Stops {
    pub(super) fn new(input: &StepInput<'_>, reach: Reach) -> Stops {
        let count = input.model.masses.len();
        Stops {
            reach,
            sets: Sets::new(count),
            nodes: Vec::new(),
            rounds: vec![0; count],
            told: Vec::new(),
        }
    }

    /// Stops what collides; the nodes whose velocity changed.
    pub(super) fn stop(
        &mut self,
        input: &StepInput<'_>,
        detection: &Detection<'_>,
        impacts: &[Touching],
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
        let common = zones.iter().map(|(at, zone)| (*at, zone.common(input.h())));
        let common: BTreeMap<u32, Rigid> = common.collect();
        let mut changed = Vec::new();
        for node in &self.nodes {
            let at = self.sets.find(*node);
            let zone = &zones[&at];
            let Some(time) = zone.time else {
                continue;
            };
            let part = match zone.rounds > PATIENCE || self.reach == Reach::Bodies {
                true => 0.0,
                false => SHORT * time,
            };
            self.rounds[*node as usize] = zone.rounds;
            if slow(input, *node as usize, &common[&at], part, velocities) {
                changed.push(*node);
            }
        }
        changed
    }

    /// Joins all that an impact stops into one zone; one of its nodes.
    fn join(
        &mut self,
        input: &StepInput<'_>,
        detection: &Detection<'_>,
        impact: &Touching,
    ) -> Option<u32> {
        let mut first: Option<u32> = None;
        let mut told = Vec::new();
        for (point, weight) in impact.points.iter().zip(impact.weights) {
            let stencil = detection.touch.stencil(*point);
            if stencil.is_empty() && weight != 0.0 {
                let at = *point as usize;
                told.push([detection.from[at], detection.told[at]]);
            }
            for (node, _) in stencil {
                let nodes = match self.reach {
                    Reach::Nodes => *node as usize..*node as usize + 1,
                    Reach::Bodies => unit(input.model, *node as usize),
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
            // Where it touches and, since one place does not tell how it turns, some about that.
            let place = detection.from[impact.points[0] as usize];
            let standing = &detection.standing[number as usize];
            let places = [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z].map(|arm| place + arm * ARM);
            told.extend(places.map(|place| [place, place + standing.displacement(place)]));
        }
        self.told.extend(told.into_iter().map(|way| (first, way)));
        Some(first)
    }

    /// All zones, by the node that stands for each.
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
            zone.rounds = zone.rounds.max(self.rounds[node]);
            let beside = match self.reach {
                Reach::Nodes => rod_of(model, node).unwrap_or(node..node + 1),
                Reach::Bodies => node..node + 1,
            };
            for held in beside.filter(|node| is_told(input, *node)) {
                let place = input.from.positions[held];
                let way = model.unknowns.at_node(velocities, held) * input.h();
                zone.told.push([place, place + way]);
            }
            if !model.is_axis(node) && !is_told(input, node) {
                let speed = model.unknowns.at_node(velocities, node);
                zone.mass += model.weights[node];
                zone.momentum += speed * model.weights[node];
            }
        }
        for (node, way) in &self.told {
            let zone = zones.entry(self.sets.find(*node)).or_default();
            zone.told.push(*way);
        }
        for (node, time) in times {
            let zone = zones.entry(self.sets.find(*node)).or_default();
            zone.time = Some(zone.time.map_or(*time, |first: f64| first.min(*time)));
        }
        for zone in zones.values_mut().filter(|zone| zone.time.is_some()) {
            zone.rounds = zone.rounds.saturating_add(1);
        }
        zones
    }
}

/// Whether a node is a place that is told how to move, along all axes.
fn is_told(input: &StepInput<'_>, node: usize) -> bool {
    let offset = input.model.unknowns.node_offset[node];
    !input.model.is_axis(node)
        && !input.prescribed.held.is_held[offset..offset + 3].contains(&false)
}

/// Leaves a node a part of its motion relative to a common one; whether that changed it.
fn slow(
    input: &StepInput<'_>,
    node: usize,
    common: &Rigid,
    part: f64,
    velocities: &mut [f64],
) -> bool {
    let (model, place) = (input.model, input.from.positions[node]);
    // Axes of props are vectors.
    let common = match model.is_axis(node) {
        true => common.change(place) / input.h(),
        false => common.displacement(place) / input.h(),
    };
    let offset = model.unknowns.node_offset[node];
    let mut is_changed = false;
    for axis in 0..3 {
        let dof = offset + axis;
        if !input.prescribed.held.is_held[dof] {
            let slowed = common[axis] + part * (velocities[dof] - common[axis]);
            is_changed |= slowed != velocities[dof];
            velocities[dof] = slowed;
        }
    }
    is_changed
}

/// The nodes of the rod or body that a node is of.
fn unit(model: &Model, node: usize) -> Range<usize> {
    let rod = rod_of(model, node);
    rod.unwrap_or_else(|| body_of(model, node).map_or(node..node + 1, |body| body.nodes.clone()))
}

/// The nodes of the rod that a node is of.
fn rod_of(model: &Model, node: usize) -> Option<Range<usize>> {
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
