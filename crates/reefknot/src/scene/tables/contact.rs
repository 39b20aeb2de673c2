//! What happens where things touch.

use super::{Compliance, Force, Length};
use crate::scene::define::table;
use crate::scene::shape::{NOT_NEGATIVE, between};
use crate::scene::values::Placed;

table! {
    /// What happens where things touch. It is read and checked; nothing touches yet.
    pub struct Contact {
        /// Coefficient of friction, where objects and pairs give none.
        friction: f64 [between(0.0, 1e3)] = "0.3",
        /// Speed of rebound over speed of impact, likewise.
        restitution: f64 [between(0.0, 1.0)] = "0",
        /// Force that a contact takes before it opens, likewise.
        cohesion: Force [NOT_NEGATIVE] = "0",
        /// How far a contact gives way, by force, likewise.
        compliance: Compliance [NOT_NEGATIVE] = "0",
        /// Values for two objects or colliders in particular.
        pairs: Option<Vec<ContactPair>>,
    }
}

table! {
    /// How something touches others. Two things that touch have: the geometric mean of their frictions,
    /// the larger restitution, the smaller cohesion, the sum of their compliances, and half of
    /// each thickness between them. `[contact]` stands in for what one does not say.
    pub struct ContactProperties {
        /// Coefficient of friction.
        friction: Option<f64> [between(0.0, 1e3)],
        /// How thick it is for contact. If left out: the elastic thickness of a shell, twice the
        /// proximity radius of a rod, a thousandth of the size of a solid or rigid prop, nothing for
        /// a collider.
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
    /// Values for two things in particular; for one with itself, name it twice.
    pub struct ContactPair {
        /// The names of the two.
        between: [Placed<String>; 2],
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
