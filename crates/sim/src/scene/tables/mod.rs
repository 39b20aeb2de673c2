//! The tables of a scene file. The doc comments of tables and keys are the reference page
//! (`reefknot schema --markdown`) and the descriptions of the JSON Schema.

mod contact;
mod hold;
mod material;
mod method;
mod motion;
mod object;
mod probe;
mod shape;

pub use contact::*;
pub use hold::*;
pub use material::*;
pub use method::*;
pub use motion::*;
pub use object::*;
pub use probe::*;
pub use shape::*;

use super::define::{quantities, table};
use super::read::{Read, Reader};
use super::schema::{NOT_NEGATIVE, POSITIVE, Schema, between};
use super::tree::Node;
use super::values::{Named, Placed};

quantities! {
    /// A length.
    Length = "m";
    /// A time.
    Duration = "s";
    /// A velocity.
    Speed = "m/s";
    /// An acceleration.
    Acceleration = "m/s^2";
    /// An angle.
    Angle = "rad";
    /// A stress or elastic modulus.
    Pressure = "Pa";
    /// Membrane stiffness of a shell: Young's modulus times thickness.
    MembraneStiffness = "N/m";
    /// Bending rigidity of a shell.
    BendingRigidity = "N*m";
    /// Mass per area.
    AreaDensity = "kg/m^2";
    /// Mass per volume.
    Density = "kg/m^3";
    /// Mass per length.
    LinearDensity = "kg/m";
    /// A mass.
    Mass = "kg";
    /// A rate or frequency.
    Rate = "1/s";
    /// An angular velocity.
    AngularRate = "rad/s";
    /// A force.
    Force = "N";
    /// A moment or torque.
    Moment = "N*m";
    /// Force per elongation.
    Stiffness = "N/m";
    /// Bending and twisting stiffness of a rod.
    RodRigidity = "N*m^2";
    /// Displacement per force.
    Compliance = "m/N";
    /// A count per area.
    PerArea = "1/m^2";
    /// Curvature: one over the radius.
    Curvature = "1/m";
    /// Angle per length.
    TwistRate = "rad/m";
    /// A moment of inertia.
    Inertia = "kg*m^2";
}

/// A value of any type: `parameters` and `quick` are merged before tables are read.
#[derive(Clone, Copy, Debug)]
pub struct Free;

impl Read for Free {
    fn read(_: &Node, _: &mut Reader<'_>) -> Option<Self> {
        Some(Free)
    }
    fn schema() -> Schema {
        Schema::Free
    }
    fn absent() -> Option<Self> {
        Some(Free)
    }
}

table! {
    /// A scene.
    pub struct SceneTables {
        /// Title of the scene: one line, shown by `reefknot scenes`.
        title: String = "\"\"",
        /// Seed of all random numbers. The same seed gives the same bits.
        seed: u64 = "0",
        /// Acceleration of gravity. z is up.
        gravity: [Acceleration; 3] = "[0, 0, -9.81]",
        /// Named values, for use as `"$name"` or `"= $name / 4"` anywhere in the scene.
        /// Expressions keep units; they may use `pi`, functions such as `sqrt`, and units as in
        /// `3*mm`.
        parameters: Free,
        /// Changes for the small size of the scene, which `--quick` selects: paths and values, such
        /// as `"parameters.n" = 20`.
        quick: Free,
        /// Duration, frame rate and time step.
        time: Time,
        /// Time integrator, contact solver and tolerances.
        method: Method = "{}",
        /// Materials.
        material: Named<Material>,
        /// Objects: cloth, rods, hair, solids and rigid props. They are simulated, unless they have
        /// a `motion`.
        object: Named<Object>,
        /// Obstacles that are not simulated: static, or moved by a `motion`.
        collider: Named<Collider>,
        /// Held vertices, fixed or moved by a `motion`.
        pin: Named<Pin>,
        /// Rod ends that are held with their material frame.
        clamp: Named<Clamp>,
        /// Forces, moments and pressures.
        load: Named<Load>,
        /// Springs from vertices of an object to the nearest points of another.
        attachment: Named<Attachment>,
        /// Springs between pairs of vertices, which close a seam.
        stitch: Named<Stitch>,
        /// Friction, restitution and other properties of contacts.
        contact: ContactTable = "{}",
        /// Wind on cloth.
        wind: Option<Placed<Wind>>,
        /// Measurements at every step.
        probe: Named<Probe>,
        /// Sentences that are printed after the run, with values of probes.
        conclusions: Option<Vec<Conclusion>>,
    }
}

table! {
    /// Duration, frame rate and time step.
    pub struct Time {
        /// Simulated time, rounded up to whole frames.
        duration: Placed<Duration> [POSITIVE],
        /// Stored frames per second.
        frame_rate: f64 [between(1e-3, 1e6)] = "24",
        /// Time step. It is shortened until a frame is a whole number of steps. Default: 10 ms,
        /// unless `substeps` is given.
        h: Option<Placed<Duration>> [POSITIVE],
        /// Steps per frame, instead of `h`.
        substeps: Option<Placed<u64>> [between(1.0, 1e6)],
        /// Number of the first frame in exported files.
        start_frame: u64 [between(0.0, 1e6)] = "0",
    }
}

table! {
    /// Wind. It acts on cloth, by pressure of the normal flow and drag of the tangential flow.
    pub struct Wind {
        /// Mean velocity.
        velocity: [Speed; 3],
        /// Strength of the gusts: root mean square of the deviation from the mean velocity.
        turbulence: Speed [NOT_NEGATIVE] = "0",
        /// Length scale of the gusts.
        gust_length: Length [POSITIVE] = "0.5",
        /// Density of the air.
        density: Density [NOT_NEGATIVE] = "1.2",
        /// Drag coefficient of the flow normal to the surface.
        normal_drag: f64 [NOT_NEGATIVE] = "1.2",
        /// Drag coefficient of the flow along the surface.
        tangential_drag: f64 [NOT_NEGATIVE] = "0.02",
    }
}
