//! Measurements.

use super::{Duration, Length, Selection};
use crate::scene::define::{choice, one_of, table};
use crate::scene::shape::NOT_NEGATIVE;
use crate::scene::values::Placed;

table! {
    /// A measurement, taken at every step into `probes.csv` and reduced to one value in the
    /// summary.
    pub struct Probe {
        /// What is measured.
        measure: Measure,
        /// Of a vector, the part along this direction (times its length) instead of the whole.
        along: Option<Placed<[f64; 3]>>,
        /// A factor on what is measured, such as one over a length.
        scale: f64 = "1",
        /// How the values of all steps become the value of the run.
        reduce: Reduce = "\"last\"",
        /// The value of the run counts steps from this time on; all of them are in `probes.csv`.
        from: Duration [NOT_NEGATIVE] = "0",
        /// And those until this time.
        until: Option<Duration> [NOT_NEGATIVE],
        /// A factor on the value of the run.
        factor: f64 = "1",
        /// What is added to the value of the run, after `factor`.
        offset: f64 = "0",
        /// What "when-below" and "when-above" compare with, after `scale`.
        threshold: Option<f64>,
        /// If given, the value of the run is 1 if it is larger than this, else 0.
        above: Option<f64>,
    }
}

table! {
    /// A sentence that a run ends with.
    pub struct Conclusion {
        /// What is said; `{NAME}` stands for the value of a probe.
        text: Placed<String>,
        /// It is said if the value of this probe is in the range; always if left out.
        probe: Option<Placed<String>>,
        /// The value is above this.
        above: Option<f64>,
        /// And below this.
        below: Option<f64>,
    }
}

choice! {
    /// How a series becomes one value, each component by itself.
    pub enum Reduce {
        /// The value at the end.
        Last = "last",
        /// The value at the start, or at `from`.
        First = "first",
        /// The least value.
        Min = "min",
        /// The largest value.
        Max = "max",
        /// The mean over all steps.
        Mean = "mean",
        /// The value at the end less that at the start, or at `from`.
        Change = "change",
        /// The largest distance from the value at the start, or at `from`; of a vector one number.
        MaxChange = "max-change",
        /// When the value is below `threshold` for the first time (s), at the end of a step; if it never is, the end of the run.
        WhenBelow = "when-below",
        /// When the value is above `threshold` for the first time (s), likewise.
        WhenAbove = "when-above",
        /// The mean change in a step, in the second half of the run.
        PerStep = "per-step",
        /// The square root of the last value over the first: how an amplitude changes whose square is measured.
        AmplitudeRatio = "amplitude-ratio",
        /// The frequency of a free oscillation (1/s), from the second half of the run. What the integrator itself does to
        /// frequency and amplitude is taken out.
        Frequency = "frequency",
        /// The mean time between largest values (s).
        Period = "period",
        /// Of a "swing": the mean change of its second angle between largest values of the first.
        Precession = "precession",
    }
}

one_of! {
    /// What is measured.
    pub enum Measure {
        /// Where a vertex is, or the mean of some vertices (m).
        Position(Points) = "position",
        /// How far they are from where they started (m).
        Displacement(Points) = "displacement",
        /// How fast they move (m/s).
        Velocity(Points) = "velocity",
        /// How far one point or mean is from another (m).
        Distance(Pair) = "distance",
        /// The angle by which some vertices have turned about an axis through their middle (rad).
        Rotation(Turn) = "rotation",
        /// Two angles of a point about a centre (rad): from straight down, and about the vertical, from −π to π.
        Swing(Swing) = "swing",
        /// The largest distance of a vertex from the plane through the first vertex at the start (m).
        OutOfPlane(Plane) = "out_of_plane",
        /// The largest distance of a vertex from where a linear map about the origin takes its start (m).
        MapError(LinearMap) = "map_error",
        /// The force of the held vertices of a pin or clamp on their object (N).
        PinForce(Placed<String>) = "pin_force",
        /// The force of all contacts on an object (N), or of those with another object.
        ContactForce(Touching) = "contact_force",
        /// How many contacts of an object carry a force, or of those with another object.
        Contacts(Touching) = "contacts",
        /// The least distance less thickness of the contacts of an object, or of those with another object (m). Not known while there
        /// are none.
        Gap(Touching) = "gap",
        /// An energy of the whole scene (J).
        Energy(EnergyKind) = "energy",
        /// Change of momentum since the start over Σ m |v| at the start, or over the angular momentum at the start; the
        /// largest of all objects.
        MomentumDrift(Momentum) = "momentum_drift",
        /// The largest ratio of a length to its rest length in an object.
        MaxStretch(Placed<String>) = "max_stretch",
        /// What some objects weigh together (N).
        Weight(Vec<Placed<String>>) = "weight",
    }
}

table! {
    /// Vertices of an object.
    pub struct Points {
        /// Whose vertices.
        object: Placed<String>,
        /// A vertex by its number, from 0.
        vertex: Option<Placed<u64>>,
        /// Several vertices, instead; their mean counts.
        at: Option<Placed<Selection>>,
    }
}

table! {
    /// Two points.
    pub struct Pair {
        /// One.
        from: Points,
        /// The other.
        to: Points,
    }
}

table! {
    /// Vertices that turn.
    pub struct Turn {
        /// Which, and of which object.
        of: Points,
        /// The axis.
        axis: Placed<[f64; 3]>,
    }
}

table! {
    /// Vertices that swing.
    pub struct Swing {
        /// Which, and of which object.
        of: Points,
        /// What they swing about.
        center: [Length; 3],
    }
}

table! {
    /// A plane.
    pub struct Plane {
        /// Whose vertices.
        object: Placed<String>,
        /// Its normal; its length has no meaning.
        normal: Placed<[f64; 3]>,
    }
}

table! {
    /// Contacts of an object.
    pub struct Touching {
        /// Whose contacts; an object or a collider.
        object: Placed<String>,
        /// Only those with this one, which may be the same.
        other: Option<Placed<String>>,
    }
}

table! {
    /// A linear map.
    pub struct LinearMap {
        /// Whose vertices.
        object: Placed<String>,
        /// The map, by rows.
        rows: [[f64; 3]; 3],
    }
}

choice! {
    /// Momentum of either kind.
    pub enum Momentum {
        /// Σ m v.
        Linear = "linear",
        /// Σ m v of all objects together.
        TotalLinear = "total-linear",
        /// Σ m x × v, about the origin.
        Angular = "angular",
    }
}

choice! {
    /// Energies of a scene.
    pub enum EnergyKind {
        /// Of motion.
        Kinetic = "kinetic",
        /// Of deformation.
        Elastic = "elastic",
        /// Of height.
        Gravity = "gravity",
        /// All three.
        Total = "total",
    }
}
