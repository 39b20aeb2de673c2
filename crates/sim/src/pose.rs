//! Contacts and equations of motion become a contact problem: the only module that joins geometry
//! and dynamics.
//!
//! A contact constrains the positions of its two sides at the end of the step. With the normal n,
//! the weights b and the gap g of detection, u = (B (x₁ − x₀) + prescribed displacement)/h + n g/h.
//! So u_N ≥ 0 keeps the two sides a thickness apart along the normal at the end of the step.

use glam::{DMat3, DVec3};
use reefknot_contact::problem::{Contact, Contacts};

use crate::collide::pair::Feature;
use crate::detect::{ContactPoint, Detection};
use crate::model::contact::ConstraintLevel;
use crate::step_input::StepInput;

/// A contact of a problem, with its geometry.
#[derive(Clone, Debug)]
pub(crate) struct PosedContact {
    pub(crate) contact_point: ContactPoint,
    /// The two objects.
    pub(crate) objects: [usize; 2],
    /// Nodes and weights.
    pub(crate) stencil: Vec<(u32, f64)>,
    /// The contact in the problem.
    pub(crate) contact: Contact,
    /// Prescribed relative velocity (m/s): k without the term of the gap.
    pub(crate) prescribed_velocity: DVec3,
    /// Coefficient of restitution.
    pub(crate) restitution: f64,
}

/// Input for posing contacts.
pub(crate) struct PoseContext<'a, 'b> {
    pub(crate) input: &'a StepInput<'a>,
    pub(crate) detection: &'a Detection<'b>,
}

impl PoseContext<'_, '_> {
    /// Poses a contact point as a contact of the problem.
    pub(crate) fn pose(&self, contact_point: &ContactPoint) -> PosedContact {
        let (detection, model) = (self.detection, self.input.model);
        let objects = contact_point.features.map(|feature| self.object(feature));
        let pairing = detection.collision.pairing(model, objects[0], objects[1]);
        let stencil = self.stencil(contact_point);
        let prescribed_velocity = self.prescribed_velocity(contact_point);
        // Cohesion decreases with the gap (as in Daviet 2020, Fig. 6): it ends a thickness away.
        let skin = contact_point.thickness - contact_point.core;
        let proximity = if skin > 0.0 {
            (1.0 - contact_point.gap / skin).clamp(0.0, 1.0)
        } else {
            0.0
        };
        let rate = self.normal_rate(contact_point, &stencil, prescribed_velocity);
        PosedContact {
            contact_point: *contact_point,
            objects,
            contact: Contact {
                id: contact_point.id,
                normal: contact_point.normal,
                kinematic: prescribed_velocity + contact_point.normal * rate,
                friction: pairing.friction,
                cohesion: pairing.cohesion * proximity,
                compliance: pairing.compliance,
            },
            stencil,
            prescribed_velocity,
            restitution: pairing.restitution,
        }
    }

    fn object(&self, feature: Feature) -> usize {
        let collision = self.detection.collision;
        match feature {
            Feature::Collider(number) => collision.colliders[number as usize].object,
            _ => collision.object_of(feature.corners(&collision.features)[0]),
        }
    }

    /// Normal part of k (m/s): a limit for the closing speed.
    fn normal_rate(
        &self,
        contact_point: &ContactPoint,
        stencil: &[(u32, f64)],
        prescribed_velocity: DVec3,
    ) -> f64 {
        let (h, from, contact) = (self.input.h(), self.input.from, &self.input.model.contact);
        if contact.level == ConstraintLevel::Velocity && contact_point.gap >= 0.0 {
            let fall_speed = self.input.model.gravity.length() * h;
            let velocity = relative_velocity(stencil, prescribed_velocity, |node| {
                from.velocities[node as usize]
            });
            let closing = -contact_point.normal.dot(velocity);
            if contact_point.gap <= h * (closing.max(0.0) + fall_speed) {
                return 0.0;
            }
        }
        // Overlapping sides separate at most at the recovery speed, and so do the nodes that move
        // them.
        let recovery = contact.recovery * (2.0 * self.largest_weight(stencil)).min(1.0);
        (contact_point.gap / h).max(-recovery)
    }

    /// Largest weight of a free node. It is small for a contact beside a held node, which only the
    /// free end of the edge can move.
    pub(crate) fn largest_weight(&self, stencil: &[(u32, f64)]) -> f64 {
        let free = stencil.iter().filter(|(node, _)| self.input.is_free(*node));
        free.map(|(_, weight)| weight.abs()).fold(0.0, f64::max)
    }

    /// The nodes of both sides with their weights, each once. For balls, the point on the surface
    /// instead of the centre, so that friction causes rotation.
    fn stencil(&self, contact_point: &ContactPoint) -> Vec<(u32, f64)> {
        let collision = self.detection.collision;
        let mut stencil: Vec<(u32, f64)> = Vec::new();
        for (point, weight) in contact_point.points.iter().zip(contact_point.weights) {
            let core = collision.core[*point as usize];
            let nodes = collision.stencil(*point);
            match nodes {
                [(centre, _)] if core > 0.0 && weight != 0.0 => {
                    let offset = -contact_point.normal * (core * weight.signum());
                    let nodes = self.ball_surface_stencil(*centre, offset);
                    stencil.extend(nodes.map(|(node, b)| (node, b * weight)));
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

    /// Nodes and weights of a point on the surface of a ball, given by its offset from the centre.
    /// It is the material point that is there at the middle of the step. The point that is there
    /// at the start would rise while the ball rolls, and its normal force would turn the ball.
    fn ball_surface_stencil(&self, centre: u32, offset: DVec3) -> [(u32, f64); 4] {
        let from = self.input.from;
        let half = if self.input.is_static {
            0.0
        } else {
            0.5 * self.input.h()
        };
        let axis = |number: u32| {
            let node = (centre + number) as usize;
            from.positions[node] + from.velocities[node] * half
        };
        let axes = DMat3::from_cols(axis(1), axis(2), axis(3));
        let [x, y, z] = (axes.inverse() * offset).to_array();
        [
            (centre, 1.0),
            (centre + 1, x),
            (centre + 2, y),
            (centre + 3, z),
        ]
    }

    /// Prescribed relative velocity (m/s): of points without nodes, and of exact colliders.
    fn prescribed_velocity(&self, contact_point: &ContactPoint) -> DVec3 {
        let (detection, h) = (self.detection, self.input.h());
        let mut displacement = DVec3::ZERO;
        let mut position = DVec3::ZERO;
        for (point, weight) in contact_point.points.iter().zip(contact_point.weights) {
            let at = *point as usize;
            position += detection.from[at] * weight;
            if detection.collision.stencil(*point).is_empty() {
                displacement += (detection.prescribed[at] - detection.from[at]) * weight;
            }
        }
        if let Feature::Collider(number) = contact_point.features[1] {
            // The point on the collider, at the distance gap + thickness along the normal.
            let distance = contact_point.gap + contact_point.thickness;
            let surface = position - contact_point.normal * distance;
            displacement -= detection.moving_colliders[number as usize].displacement(surface);
        }
        displacement / h
    }
}

/// Σ b v + `prescribed`: velocity of the first side relative to the second (m/s).
pub(crate) fn relative_velocity(
    stencil: &[(u32, f64)],
    prescribed: DVec3,
    velocity: impl Fn(u32) -> DVec3,
) -> DVec3 {
    let add = |sum: DVec3, (node, weight): &(u32, f64)| sum + velocity(*node) * *weight;
    stencil.iter().fold(prescribed, add)
}

/// The contacts of a problem, in the given order. The velocities of held nodes are known, and part
/// of k.
pub(crate) fn assemble_contacts(input: &StepInput<'_>, posed: &[PosedContact]) -> Contacts {
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

/// The id of a pair that is in the problem a second time, with another normal: the first four bits
/// are a code of feature kinds that no pair has.
pub(crate) fn second_id(id: u64) -> u64 {
    const SECOND: [u64; 16] = [4, 8, 9, 12, 4, 13, 6, 14, 8, 9, 10, 15, 12, 13, 14, 15];
    let code = SECOND[(id >> 60) as usize];
    (code << 60) | (id & ((1 << 60) - 1))
}
