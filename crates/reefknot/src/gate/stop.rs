//! The last means of the gate: what collides gives up the motion against each other.
//!
//! The nodes of a zone keep a part of their motion relative to a common one, first the part that is free of collisions, then none. The
//! common motion is that of what is told to move, if the zone touches any such thing, else that of its middle: so hair that
//! flies along is not torn out of its flight, and momentum is kept.

use std::collections::BTreeMap;
use std::ops::Range;

use glam::DVec3;
use reefknot_contact::system::Sets;

use crate::collide::pair::Feature;
use crate::detect::{Detection, Touching};
use crate::energy::linearize::Problem;
use crate::model::{Elements, Model};

/// Nodes keep this part of the way to their impact.
const SHORT: f64 = 0.8;

/// How often a zone keeps a part of its motion before it loses all of it.
const PATIENCE: u8 = 2;

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
    /// A node of a zone, and how something moves that it touches and that is told to (m/s).
    told: Vec<(u32, DVec3)>,
}

/// What is known of a zone.
#[derive(Default)]
struct Zone {
    mass: f64,
    momentum: DVec3,
    /// How many things are told how to move, and their velocities.
    told: (f64, DVec3),
    /// When its first collision of this round is; nothing if it has none.
    time: Option<f64>,
    rounds: u8,
}

impl Zone {
    fn common(&self) -> DVec3 {
        match self.told.0 > 0.0 {
            true => self.told.1 / self.told.0,
            false => self.momentum / self.mass.max(f64::MIN_POSITIVE),
        }
    }
}

impl Stops {
    pub(super) fn new(step: &Problem<'_>, reach: Reach) -> Stops {
        let count = step.model.masses.len();
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
        step: &Problem<'_>,
        detection: &Detection<'_>,
        impacts: &[Touching],
        velocities: &mut [f64],
    ) -> Vec<u32> {
        let mut times: Vec<(u32, f64)> = Vec::new();
        for impact in impacts {
            if let Some(node) = self.join(step, detection, impact) {
                times.push((node, impact.time));
            }
        }
        self.nodes.sort_unstable();
        self.nodes.dedup();
        let zones = self.zones(step, &times, velocities);
        let mut changed = Vec::new();
        for node in &self.nodes {
            let zone = &zones[&self.sets.find(*node)];
            let Some(time) = zone.time else {
                continue;
            };
            let part = match zone.rounds > PATIENCE || self.reach == Reach::Bodies {
                true => 0.0,
                false => SHORT * time,
            };
            self.rounds[*node as usize] = zone.rounds;
            if slow(step, *node as usize, zone.common(), part, velocities) {
                changed.push(*node);
            }
        }
        changed
    }

    /// Joins all that an impact stops into one zone; one of its nodes.
    fn join(
        &mut self,
        step: &Problem<'_>,
        detection: &Detection<'_>,
        impact: &Touching,
    ) -> Option<u32> {
        let mut first: Option<u32> = None;
        let mut told = Vec::new();
        for (point, weight) in impact.points.iter().zip(impact.weights) {
            let stencil = detection.touch.stencil(*point);
            if stencil.is_empty() && weight != 0.0 {
                let at = *point as usize;
                told.push((detection.told[at] - detection.from[at]) / step.h());
            }
            for (node, _) in stencil {
                let nodes = match self.reach {
                    Reach::Nodes => *node as usize..*node as usize + 1,
                    Reach::Bodies => unit(step.model, *node as usize),
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
            let place = detection.from[impact.points[0] as usize];
            told.push(detection.standing[number as usize].displacement(place) / step.h());
        }
        self.told
            .extend(told.into_iter().map(|speed| (first, speed)));
        Some(first)
    }

    /// All zones, by the node that stands for each.
    fn zones(
        &mut self,
        step: &Problem<'_>,
        times: &[(u32, f64)],
        velocities: &[f64],
    ) -> BTreeMap<u32, Zone> {
        let model = step.model;
        let mut zones: BTreeMap<u32, Zone> = BTreeMap::new();
        for node in &self.nodes {
            let zone = zones.entry(self.sets.find(*node)).or_default();
            let node = *node as usize;
            zone.rounds = zone.rounds.max(self.rounds[node]);
            if model.is_axis(node) {
                continue;
            }
            let offset = model.unknowns.node_offset[node];
            let speed = DVec3::from_slice(&velocities[offset..]);
            match step.held.is_held[offset..offset + 3].contains(&false) {
                true => {
                    zone.mass += model.weights[node];
                    zone.momentum += speed * model.weights[node];
                }
                false => zone.told = (zone.told.0 + 1.0, zone.told.1 + speed),
            }
        }
        for (node, speed) in &self.told {
            let zone = zones.entry(self.sets.find(*node)).or_default();
            zone.told = (zone.told.0 + 1.0, zone.told.1 + *speed);
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

/// Leaves a node a part of its motion relative to a common one; whether that changed it.
fn slow(step: &Problem<'_>, node: usize, common: DVec3, part: f64, velocities: &mut [f64]) -> bool {
    let model = step.model;
    // Axes of props are vectors, which a translation does not change.
    let common = if model.is_axis(node) {
        DVec3::ZERO
    } else {
        common
    };
    let offset = model.unknowns.node_offset[node];
    let mut is_changed = false;
    for axis in 0..3 {
        let dof = offset + axis;
        if !step.held.is_held[dof] {
            let slowed = common[axis] + part * (velocities[dof] - common[axis]);
            is_changed |= slowed != velocities[dof];
            velocities[dof] = slowed;
        }
    }
    is_changed
}

/// The nodes of the rod or body that a node is of.
fn unit(model: &Model, node: usize) -> Range<usize> {
    let body = model.bodies.partition_point(|body| body.nodes.end <= node);
    let Some(body) = model.bodies.get(body) else {
        return node..node + 1;
    };
    match &body.elements {
        Elements::Blocks(_) => body.nodes.clone(),
        Elements::Rods(rods) => {
            let count = rods.batch.shape().vertices.max(1);
            let first = body.nodes.start + (node - body.nodes.start) / count * count;
            first..first + count
        }
    }
}
