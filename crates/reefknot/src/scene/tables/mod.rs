//! The tables of a scene file. What stands here is what users read in the reference page.

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
use super::shape::{NOT_NEGATIVE, POSITIVE, Shape as ValueShape, between};
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
    /// In-plane stiffness of a shell: Young's modulus times thickness.
    MembraneStiffness = "N/m";
    /// Bending stiffness of a shell.
    BendingRigidity = "N*m";
    /// Mass by area.
    AreaDensity = "kg/m^2";
    /// Mass by volume.
    Density = "kg/m^3";
    /// Mass by length.
    LinearDensity = "kg/m";
    /// A mass.
    Mass = "kg";
    /// Something by time.
    Rate = "1/s";
    /// How fast something turns.
    AngularRate = "rad/s";
    /// A force.
    Force = "N";
    /// A moment or torque.
    Moment = "N*m";
    /// Force by elongation.
    Stiffness = "N/m";
    /// Bending and twisting stiffness of a rod.
    RodRigidity = "N*m^2";
    /// Elongation by force.
    Compliance = "m/N";
    /// A number by area.
    PerArea = "1/m^2";
    /// One over a radius.
    Curvature = "1/m";
    /// An angle by length.
    TwistRate = "rad/m";
    /// A moment of inertia.
    Inertia = "kg*m^2";
}

/// A value that has a meaning elsewhere: parameters and quick sizes are merged before reading.
#[derive(Clone, Copy, Debug)]
pub struct Free;

impl Read for Free {
    fn read(_: &Node, _: &mut Reader<'_>) -> Option<Self> {
        Some(Free)
    }
    fn shape() -> ValueShape {
        ValueShape::Free
    }
    fn absent() -> Option<Self> {
        Some(Free)
    }
}

table! {
    /// A scene.
    pub struct SceneTables {
        /// What the scene shows, in a line.
        title: String = "\"\"",
        /// Start of all random numbers; the same seed gives the same bits.
        seed: u64 = "0",
        /// Acceleration of free fall; z points up.
        gravity: [Acceleration; 3] = "[0, 0, -9.81]",
        /// Values by name, for use as `"$name"` or in `"= $name / 4"` anywhere in the scene. Units
        /// are carried along; `pi`, functions such as `sqrt` and units as in `3*mm` may be used.
        parameters: Free,
        /// Paths and values of the small size that `--quick` chooses, such as
        /// `"parameters.n" = 20`.
        quick: Free,
        /// When the simulation runs, and how finely.
        time: Time,
        /// How the motion is computed.
        method: Method = "{}",
        /// Materials by name.
        material: Named<Material>,
        /// What is simulated.
        object: Named<Object>,
        /// What is not simulated but touched: it rests, or moves as it is told.
        collider: Named<Collider>,
        /// Vertices that are held.
        pin: Named<Pin>,
        /// Ends of rods that are held together with their material frame.
        clamp: Named<Clamp>,
        /// Forces and moments on vertices.
        load: Named<Load>,
        /// Vertices of an object that are tied to the nearest points of another.
        attachment: Named<Attachment>,
        /// Vertices that are drawn together pair by pair, as by a thread.
        stitch: Named<Stitch>,
        /// What happens where things touch.
        contact: Contact = "{}",
        /// Moving air.
        wind: Option<Placed<Wind>>,
        /// What to measure at every step.
        probe: Named<Probe>,
        /// Sentences that the run ends with, with the values of probes.
        conclusions: Option<Vec<Conclusion>>,
    }
}

table! {
    /// When the simulation runs, and how finely.
    pub struct Time {
        /// How long to simulate; rounded up to whole frames.
        duration: Placed<Duration> [POSITIVE],
        /// Frames stored per second.
        frame_rate: f64 [between(1e-3, 1e6)] = "24",
        /// Longest time step; cut so that a whole number of steps makes a frame. 10 ms if neither
        /// this nor `substeps` is given.
        h: Option<Placed<Duration>> [POSITIVE],
        /// Steps per frame, instead of `h`.
        substeps: Option<Placed<u64>> [between(1.0, 1e6)],
        /// The number that exported files give to the first frame.
        start_frame: u64 [between(0.0, 1e6)] = "0",
    }
}

table! {
    /// Moving air. It pushes on cloth by the pressure of the flow across it and by the drag of the
    /// flow along it.
    pub struct Wind {
        /// Mean velocity.
        velocity: [Speed; 3],
        /// Strength of the gusts: root mean square of the velocity around its mean.
        turbulence: Speed [NOT_NEGATIVE] = "0",
        /// Size of the gusts.
        gust_length: Length [POSITIVE] = "0.5",
        /// Mass of air by volume.
        density: Density [NOT_NEGATIVE] = "1.2",
        /// Pressure coefficient of the flow across the surface.
        normal_drag: f64 [NOT_NEGATIVE] = "1.2",
        /// Friction coefficient of the flow along the surface.
        tangential_drag: f64 [NOT_NEGATIVE] = "0.02",
    }
}
