//! Properties of contacts.

use super::{Compliance, Force, Length, Speed};
use crate::scene::define::{choice, table};
use crate::scene::schema::{NOT_NEGATIVE, POSITIVE, between};
use crate::scene::values::Placed;

table! {
    /// Contact of all objects and colliders. The first four values are defaults: the `contact` of
    /// an object and an entry of `pairs` override them.
    pub struct ContactTable {
        /// Coefficient of Coulomb friction.
        friction: f64 [between(0.0, 1e3)] = "0.3",
        /// Coefficient of restitution: speed of rebound over speed of impact.
        restitution: f64 [between(0.0, 1.0)] = "0",
        /// Tensile force that a contact resists before it opens. It decreases to zero over one
        /// thickness of separation.
        cohesion: Force [NOT_NEGATIVE] = "0",
        /// Displacement along the normal per force.
        compliance: Compliance [NOT_NEGATIVE] = "0",
        /// Whether contacts constrain positions or velocities at the end of a step.
        level: ContactLevel = "\"position\"",
        /// Largest speed at which surfaces closer than their thickness are pushed apart.
        recovery: Speed [POSITIVE] = "0.1",
        /// Values for pairs of objects, colliders or groups. An entry that names an object
        /// overrides one that names its group.
        pairs: Option<Vec<ContactPair>>,
    }
}

choice! {
    /// Whether contacts constrain positions or velocities at the end of a step.
    pub enum ContactLevel {
        /// The gap at the end of a step is not negative.
        Position = "position",
        /// Surfaces that would collide within a step have no closing velocity, whatever their gap.
        Velocity = "velocity",
    }
}

table! {
    /// Contact properties of an object or collider. A contact has the geometric mean of the two
    /// frictions, the larger restitution, the smaller cohesion, the sum of the compliances, and the
    /// mean of the two thicknesses. Defaults are those of the table `[contact]`.
    pub struct ContactProperties {
        /// Name of a contact group, for `pairs`. A group may have several objects and colliders.
        group: Option<Placed<String>>,
        /// Coefficient of Coulomb friction.
        friction: Option<f64> [between(0.0, 1e3)],
        /// Thickness for contact. Default: the elastic thickness of a shell, twice the proximity
        /// radius of a rod, 1/1000 of the size of a solid or rigid prop, 0 for a collider.
        /// Simulated objects have at least 1/10000 of their size.
        thickness: Option<Placed<Length>> [NOT_NEGATIVE],
        /// Coefficient of restitution: speed of rebound over speed of impact.
        restitution: Option<f64> [between(0.0, 1.0)],
        /// Tensile force that a contact resists before it opens.
        cohesion: Option<Force> [NOT_NEGATIVE],
        /// Displacement along the normal per force.
        compliance: Option<Compliance> [NOT_NEGATIVE],
    }
}

table! {
    /// Contact values of a pair. For self-contact of an object, or contact within a group, write
    /// its name twice.
    pub struct ContactPair {
        /// Two names of objects, colliders or groups.
        between: [Placed<String>; 2],
        /// Whether the pair collides. Default: true.
        touch: Option<bool>,
        /// Coefficient of Coulomb friction.
        friction: Option<f64> [between(0.0, 1e3)],
        /// Distance between the surfaces in contact.
        thickness: Option<Length> [NOT_NEGATIVE],
        /// Coefficient of restitution: speed of rebound over speed of impact.
        restitution: Option<f64> [between(0.0, 1.0)],
        /// Tensile force that a contact resists before it opens.
        cohesion: Option<Force> [NOT_NEGATIVE],
        /// Displacement along the normal per force.
        compliance: Option<Compliance> [NOT_NEGATIVE],
    }
}
