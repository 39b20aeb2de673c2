//! Measurements.

use crate::scene::define::{choice, one_of, table};
use crate::scene::values::Placed;

table! {
    /// A measurement, taken at every step into `probes.csv` and reduced to one value in the
    /// summary.
    pub struct Probe {
        /// What is measured.
        measure: Measure,
        /// How the values of all steps become the value of the run.
        reduce: Reduce = "\"last\"",
    }
}

choice! {
    /// How a series becomes one value, each component by itself.
    pub enum Reduce {
        /// The value at the end.
        Last = "last",
        /// The least value.
        Min = "min",
        /// The largest value.
        Max = "max",
        /// The mean over all steps.
        Mean = "mean",
    }
}

one_of! {
    /// What is measured.
    pub enum Measure {
        /// Where a vertex is (m).
        Position(Point) = "position",
        /// How far a vertex is from where it started (m).
        Displacement(Point) = "displacement",
        /// How fast a vertex moves (m/s).
        Velocity(Point) = "velocity",
        /// The force of the held vertices of a pin on their object (N).
        PinForce(Placed<String>) = "pin_force",
        /// An energy of the whole scene (J).
        Energy(EnergyKind) = "energy",
        /// The largest ratio of a length to its rest length in an object.
        MaxStretch(Placed<String>) = "max_stretch",
    }
}

table! {
    /// A vertex of an object.
    pub struct Point {
        /// Whose vertex.
        object: Placed<String>,
        /// Its number, from 0.
        vertex: Placed<u64>,
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
    }
}
