//! Probes and conclusions: measurements of a run.

use super::{Duration, Length, Selection};
use crate::scene::define::{choice, one_of, table};
use crate::scene::schema::NOT_NEGATIVE;
use crate::scene::values::Placed;

table! {
    /// A measurement. `probes.csv` has its value at every step, the summary one value for the run.
    pub struct Probe {
        /// The measured quantity.
        measure: Measure,
        /// Measure the dot product with this vector instead of all components.
        along: Option<Placed<[f64; 3]>>,
        /// Factor on the values of all steps, such as one over a length.
        scale: f64 = "1",
        /// Reduction of the values of all steps to one value for the run.
        reduce: Reduce = "\"last\"",
        /// Start of the time interval that is reduced. `probes.csv` has all steps.
        from: Duration [NOT_NEGATIVE] = "0",
        /// End of the time interval that is reduced. Default: the end of the run.
        until: Option<Duration> [NOT_NEGATIVE],
        /// Factor on the reduced value.
        factor: f64 = "1",
        /// Offset of the reduced value, added after `factor`.
        offset: f64 = "0",
        /// Threshold of "when-below" and "when-above", for values after `scale`.
        threshold: Option<f64>,
        /// If given, the reduced value becomes 1 where it is larger than this, otherwise 0.
        above: Option<f64>,
    }
}

table! {
    /// A sentence that is printed after the run.
    pub struct Conclusion {
        /// The sentence. `{NAME}` is replaced by the value of the probe NAME.
        text: Placed<String>,
        /// Print the sentence only if the value of this probe is between `above` and `below`.
        probe: Option<Placed<String>>,
        /// Lower limit of the probe. Default: none.
        above: Option<f64>,
        /// Upper limit of the probe. Default: none.
        below: Option<f64>,
    }
}

choice! {
    /// Reduction of a time series to one value, for each component.
    pub enum Reduce {
        /// The last value.
        Last = "last",
        /// The first value.
        First = "first",
        /// The minimum.
        Min = "min",
        /// The maximum.
        Max = "max",
        /// The mean of all steps.
        Mean = "mean",
        /// The last value minus the first.
        Change = "change",
        /// The largest distance from the first value: one number, also for vectors.
        MaxChange = "max-change",
        /// The time of the first step whose value is below `threshold` (s); the end of the run if
        /// there is none.
        WhenBelow = "when-below",
        /// The time of the first step whose value is above `threshold` (s); the end of the run if
        /// there is none.
        WhenAbove = "when-above",
        /// The mean change per step, over the second half of the run.
        PerStep = "per-step",
        /// The square root of the last value over the first: the change of an amplitude whose
        /// square is measured, such as an energy.
        AmplitudeRatio = "amplitude-ratio",
        /// The frequency of a free oscillation (1/s), from the second half of the run, corrected
        /// for the numerical dispersion and damping of the integrator.
        Frequency = "frequency",
        /// The mean time between maxima (s).
        Period = "period",
        /// For "swing": the mean change of the second angle between maxima of the first.
        Precession = "precession",
    }
}

one_of! {
    /// The measured quantity.
    pub enum Measure {
        /// Position of a vertex, or the mean of several (m).
        Position(Points) = "position",
        /// Displacement of a vertex from its initial position, or the mean of several (m).
        Displacement(Points) = "displacement",
        /// Velocity of a vertex, or the mean of several (m/s).
        Velocity(Points) = "velocity",
        /// Distance between two vertices, or means of vertices (m).
        Distance(Pair) = "distance",
        /// Angle by which vertices have rotated about an axis through their mean (rad).
        Rotation(Turn) = "rotation",
        /// Angles of a pendulum (rad): from straight down, and about the vertical, from −π to π.
        Swing(Swing) = "swing",
        /// Largest distance of a vertex from the plane through the initial position of the first
        /// vertex (m).
        OutOfPlane(Plane) = "out_of_plane",
        /// Largest distance of a vertex from the image of its initial position under a linear map
        /// (m).
        MapError(LinearMap) = "map_error",
        /// Force of a pin or clamp on its object (N).
        PinForce(Placed<String>) = "pin_force",
        /// Total contact force on an object (N).
        ContactForce(ContactFilter) = "contact_force",
        /// Total moment of the contact forces on an object about its centre of mass (N m); about
        /// the origin for a collider.
        ContactTorque(ContactFilter) = "contact_torque",
        /// Number of contacts of an object that carry a force.
        Contacts(ContactFilter) = "contacts",
        /// Smallest gap of the contacts of an object: distance minus thickness (m). Null without
        /// contacts.
        Gap(ContactFilter) = "gap",
        /// An energy of the whole scene (J).
        Energy(EnergyKind) = "energy",
        /// Change of linear momentum over Σ m |v| at the start, or of angular momentum over its
        /// initial value; the maximum over all objects.
        MomentumDrift(Momentum) = "momentum_drift",
        /// Largest stretch in an object: length over rest length.
        MaxStretch(Placed<String>) = "max_stretch",
        /// Total weight of objects (N).
        Weight(Vec<Placed<String>>) = "weight",
    }
}

table! {
    /// Vertices of an object.
    pub struct Points {
        /// The object or collider.
        object: Placed<String>,
        /// Index of a vertex, from 0.
        vertex: Option<Placed<u64>>,
        /// Several vertices, instead of `vertex`. Their mean is measured.
        at: Option<Placed<Selection>>,
    }
}

table! {
    /// Two points.
    pub struct Pair {
        /// First point.
        from: Points,
        /// Second point.
        to: Points,
    }
}

table! {
    /// Vertices and an axis of rotation.
    pub struct Turn {
        /// The vertices.
        of: Points,
        /// The axis, of any length.
        axis: Placed<[f64; 3]>,
    }
}

table! {
    /// A pendulum.
    pub struct Swing {
        /// The vertices of its bob.
        of: Points,
        /// Its pivot.
        center: [Length; 3],
    }
}

table! {
    /// A plane through the first vertex of an object.
    pub struct Plane {
        /// The object.
        object: Placed<String>,
        /// Normal of the plane, of any length.
        normal: Placed<[f64; 3]>,
    }
}

table! {
    /// Contacts of an object or collider.
    pub struct ContactFilter {
        /// The object or collider.
        object: Placed<String>,
        /// Only contacts with this object or collider; the same name for self-contact. Default: all
        /// contacts.
        other: Option<Placed<String>>,
    }
}

table! {
    /// A linear map about the origin.
    pub struct LinearMap {
        /// The object.
        object: Placed<String>,
        /// The matrix, by rows.
        rows: [[f64; 3]; 3],
    }
}

choice! {
    /// Linear or angular momentum.
    pub enum Momentum {
        /// Linear momentum Σ m v of each object.
        Linear = "linear",
        /// Linear momentum Σ m v of all objects together.
        TotalLinear = "total-linear",
        /// Angular momentum Σ m x × v of each object, about the origin.
        Angular = "angular",
    }
}

choice! {
    /// Energies of a scene.
    pub enum EnergyKind {
        /// Kinetic energy.
        Kinetic = "kinetic",
        /// Elastic energy.
        Elastic = "elastic",
        /// Potential energy of gravity.
        Gravity = "gravity",
        /// The sum of the three.
        Total = "total",
    }
}
