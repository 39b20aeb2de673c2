//! What happens where things touch.

use super::{Compliance, Force, Length, Speed};
use crate::scene::define::{choice, table};
use crate::scene::shape::{NOT_NEGATIVE, POSITIVE, between};
use crate::scene::values::Placed;

table! {
    /// What happens where things touch.
    pub struct Contact {
        /// Coefficient of friction, where objects and pairs give none.
        friction: f64 [between(0.0, 1e3)] = "0.3",
        /// Speed of rebound over speed of impact, likewise.
        restitution: f64 [between(0.0, 1.0)] = "0",
        /// Force that a contact takes before it opens, likewise; it falls off to nothing where surfaces are a
        /// thickness farther apart than contact keeps them.
        cohesion: Force [NOT_NEGATIVE] = "0",
        /// How far a contact gives way, by force, likewise.
        compliance: Compliance [NOT_NEGATIVE] = "0",
        /// What contacts are about: places or velocities at the end of a step.
        level: ContactLevel = "\"position\"",
        /// How fast things that are closer than their thickness move apart, at most.
        recovery: Speed [POSITIVE] = "0.1",
        /// Values for two objects or colliders in particular, or for groups of them. What names an object goes before
        /// what names its group.
        pairs: Option<Vec<ContactPair>>,
    }
}

choice! {
    /// What contacts are about.
    pub enum ContactLevel {
        /// Surfaces end a step a thickness apart.
        Position = "position",
        /// Surfaces that would meet within a step stop approaching at once, wherever they are.
        Velocity = "velocity",
    }
}

table! {
    /// How something touches others. Two things that touch have: the geometric mean of their frictions,
    /// the larger restitution, the smaller cohesion, the sum of their compliances, and half of
    /// each thickness between them. `[contact]` stands in for what one does not say.
    pub struct ContactProperties {
        /// A group that `pairs` can name; several objects and colliders may be in one.
        group: Option<Placed<String>>,
        /// Coefficient of friction.
        friction: Option<f64> [between(0.0, 1e3)],
        /// How thick it is for contact. If left out: the elastic thickness of a shell, twice the
        /// proximity radius of a rod, a thousandth of the size of a solid or rigid prop, nothing for
        /// a collider. What is simulated has at least a ten-thousandth of its size.
        thickness: Option<Placed<Length>> [NOT_NEGATIVE],
        /// Speed of rebound over speed of impact.
        restitution: Option<f64> [between(0.0, 1.0)],
        /// Force that a contact takes before it opens.
        cohesion: Option<Force> [NOT_NEGATIVE],
        /// How far a contact gives way, by force.
        compliance: Option<Compliance> [NOT_NEGATIVE],
    }
}

table! {
    /// Values for two things in particular; for one with itself, or for those of a group with each other, name it twice.
    pub struct ContactPair {
        /// The names of the two, objects, colliders or groups.
        between: [Placed<String>; 2],
        /// Whether they touch at all. If left out they do.
        touch: Option<bool>,
        /// Coefficient of friction.
        friction: Option<f64> [between(0.0, 1e3)],
        /// Distance that contact keeps between them.
        thickness: Option<Length> [NOT_NEGATIVE],
        /// Speed of rebound over speed of impact.
        restitution: Option<f64> [between(0.0, 1.0)],
        /// Force that a contact takes before it opens.
        cohesion: Option<Force> [NOT_NEGATIVE],
        /// How far a contact gives way, by force.
        compliance: Option<Compliance> [NOT_NEGATIVE],
    }
}
