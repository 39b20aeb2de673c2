//! Contacts and equations of motion become a contact problem: the one place where geometry and dynamics meet.
//!
//! A contact is about where its two sides end the step. With the normal n, the weights b and the gap g that detection found, u = (B (x₁ − x₀) +
//! what is told to move)/h + n g/h, so that u_N ≥ 0 keeps the two a thickness apart at the end of the step, along the normal.

use glam::{DMat3, DVec3};
use reefknot_contact::problem::{Contact, Contacts};

use crate::collide::pair::Feature;
use crate::detect::{Detection, Touching};
use crate::model::contact::Pairing;
use crate::scene::tables::ContactLevel;
use crate::step_input::StepInput;

/// A contact of a problem, and where it comes from.
#[derive(Clone, Debug)]
pub(crate) struct Posed {
    pub(crate) touching: Touching,
    /// The two objects.
    pub(crate) objects: [usize; 2],
    /// Nodes and weights.
    pub(crate) stencil: Vec<(u32, f64)>,
    /// What the problem knows of it.
    pub(crate) contact: Contact,
    /// The relative velocity that is told (m/s): k without what the gap adds.
    pub(crate) drift: DVec3,
    /// How fast the two approach in this step (m/s), if that is for the next step to know: they bounce when they have met.
    pub(crate) approach: f64,
}

/// What contacts are posed with.
pub(crate) struct Posing<'a, 'b> {
    pub(crate) input: &'a StepInput<'a>,
    pub(crate) detection: &'a Detection<'b>,
}

impl Posing<'_, '_> {
    /// A contact of the problem.
    pub(crate) fn pose(&self, touching: &Touching) -> Posed {
        let (detection, model) = (self.detection, self.input.model);
        let objects = touching.features.map(|feature| self.object(feature));
        let pairing = detection.touch.pairing(model, objects[0], objects[1]);
        let (stencil, drift) = (self.stencil(touching), self.drift(touching));
        // Cohesion falls off with the gap (as in Daviet 2020, Fig. 6): it ends a thickness away.
        let skin = touching.thickness - touching.core;
        let near = match skin > 0.0 {
            true => (1.0 - touching.gap / skin).clamp(0.0, 1.0),
            false => 0.0,
        };
        let (rate, approach) = self.rate(touching, &stencil, drift, &pairing);
        Posed {
            touching: *touching,
            objects,
            contact: Contact {
                id: touching.id,
                normal: touching.normal,
                kinematic: drift + touching.normal * rate,
                friction: pairing.friction,
                cohesion: pairing.cohesion * near,
                compliance: pairing.compliance,
            },
            stencil,
            drift,
            approach,
        }
    }

    fn object(&self, feature: Feature) -> usize {
        let touch = self.detection.touch;
        match feature {
            Feature::Collider(number) => touch.colliders[number as usize].object,
            _ => touch.object_of(feature.corners(&touch.features)[0]),
        }
    }

    /// The normal part of k (m/s): how much faster than at this rate the two may approach. And how fast they approach, if they meet in this
    /// step and bounce in the next one: so they bounce from where they meet, with the speed that they had before.
    fn rate(
        &self,
        touching: &Touching,
        stencil: &[(u32, f64)],
        drift: DVec3,
        pairing: &Pairing,
    ) -> (f64, f64) {
        let (h, from, contact) = (self.input.h(), self.input.from, &self.input.model.contact);
        let falling = self.input.model.gravity.length() * h;
        let speed = relative(stencil, drift, |node| from.velocities[node as usize]);
        let now = -touching.normal.dot(speed);
        let known = from
            .approaches
            .binary_search_by_key(&touching.id, |(id, _)| *id);
        let approach = known.map_or(now, |place| now.max(from.approaches[place].1));
        let is_reached = touching.gap <= h * (now.max(0.0) + falling);
        // What is too close moves apart no faster than this: nothing pops, nor what moves it.
        let closing = match (contact.level, is_reached) {
            (ContactLevel::Velocity, true) if touching.gap >= 0.0 => 0.0,
            _ => (touching.gap / h)
                .max(-contact.recovery * (2.0 * self.largest_weight(stencil)).min(1.0)),
        };
        let bounces = pairing.restitution > 0.0 && approach > 2.0 * falling && is_reached;
        if !bounces || self.input.is_static {
            return (closing, 0.0);
        }
        match touching.gap <= h * falling || contact.level == ContactLevel::Velocity {
            true => (-pairing.restitution * approach, 0.0),
            false => (closing, approach),
        }
    }

    /// The largest weight of a node that can move: a contact beside a held node is moved by its other end as by a long lever.
    pub(crate) fn largest_weight(&self, stencil: &[(u32, f64)]) -> f64 {
        let free = stencil.iter().filter(|(node, _)| self.input.is_free(*node));
        free.map(|(_, weight)| weight.abs()).fold(0.0, f64::max)
    }

    /// The nodes of both sides with their weights, each once. Where the middle of a ball is meant, the place on its surface
    /// that touches: friction turns it.
    fn stencil(&self, touching: &Touching) -> Vec<(u32, f64)> {
        let touch = self.detection.touch;
        let mut stencil: Vec<(u32, f64)> = Vec::new();
        for (point, weight) in touching.points.iter().zip(touching.weights) {
            let core = touch.core[*point as usize];
            let nodes = touch.stencil(*point);
            match nodes {
                [(middle, _)] if core > 0.0 && weight != 0.0 => {
                    let place = -touching.normal * (core * weight.signum());
                    stencil.extend(
                        self.on_ball(*middle, place)
                            .map(|(node, b)| (node, b * weight)),
                    );
                }
                _ => stencil.extend(nodes.iter().map(|(node, b)| (*node, b * weight))),
            }
        }
        stencil.sort_by_key(|(node, _)| *node);
        stencil.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            if is_same {
                kept.1 += next.1;
            }
            is_same
        });
        stencil.retain(|(_, weight)| *weight != 0.0);
        stencil
    }

    /// The nodes and weights of a place on a ball, given from its middle. It is the point of the ball that comes there half way through
    /// the step: one that begins there would rise while the ball rolls on, and its normal force would turn the ball.
    fn on_ball(&self, middle: u32, place: DVec3) -> [(u32, f64); 4] {
        let from = self.input.from;
        let half = if self.input.is_static {
            0.0
        } else {
            0.5 * self.input.h()
        };
        let axis = |at: u32| {
            let node = (middle + at) as usize;
            from.positions[node] + from.velocities[node] * half
        };
        let axes = DMat3::from_cols(axis(1), axis(2), axis(3));
        let [x, y, z] = (axes.inverse() * place).to_array();
        [
            (middle, 1.0),
            (middle + 1, x),
            (middle + 2, y),
            (middle + 3, z),
        ]
    }

    /// The relative velocity that is told (m/s): of points that no node carries, and of colliders with a formula.
    fn drift(&self, touching: &Touching) -> DVec3 {
        let (detection, h) = (self.detection, self.input.h());
        let mut moved = DVec3::ZERO;
        let mut place = DVec3::ZERO;
        for (point, weight) in touching.points.iter().zip(touching.weights) {
            let at = *point as usize;
            place += detection.from[at] * weight;
            if detection.touch.stencil(*point).is_empty() {
                moved += (detection.told[at] - detection.from[at]) * weight;
            }
        }
        if let Feature::Collider(number) = touching.features[1] {
            let thickness = touching.gap + touching.thickness;
            // The place on the collider; along the normal it is as far as the gap and the thickness.
            let surface = place - touching.normal * thickness;
            moved -= detection.standing[number as usize].displacement(surface);
        }
        moved / h
    }
}

/// Σ b v + drift: how fast the first side moves against the second.
pub(crate) fn relative(
    stencil: &[(u32, f64)],
    drift: DVec3,
    velocity: impl Fn(u32) -> DVec3,
) -> DVec3 {
    let add = |sum: DVec3, (node, weight): &(u32, f64)| sum + velocity(*node) * *weight;
    stencil.iter().fold(drift, add)
}

/// The contacts of a problem, in the order given. What nodes do that are held is no question of the problem: it is known, as what colliders do.
pub(crate) fn contacts_of(input: &StepInput<'_>, posed: &[Posed]) -> Contacts {
    let unknowns = &input.model.unknowns;
    let mut rates = vec![0.0; unknowns.count];
    for (dof, rate) in input.held_velocities() {
        rates[dof] = rate;
    }
    let is_free = |node: u32| input.is_free(node);
    let mut contacts = Contacts::new();
    for posed in posed {
        let mut contact = posed.contact;
        let held = posed.stencil.iter().filter(|(node, _)| !is_free(*node));
        for (node, weight) in held {
            contact.kinematic += unknowns.at_node(&rates, *node as usize) * *weight;
        }
        let free = posed.stencil.iter().filter(|(node, _)| is_free(*node));
        contacts.push(contact, free.copied());
    }
    contacts
}

/// The number under which a pair is in the problem a second time, with another normal: codes of kinds that no pair has.
pub(crate) fn second_id(id: u64) -> u64 {
    const SECOND: [u64; 16] = [4, 8, 9, 12, 4, 13, 6, 14, 8, 9, 10, 15, 12, 13, 14, 15];
    let code = SECOND[(id >> 60) as usize];
    (code << 60) | (id & ((1 << 60) - 1))
}
