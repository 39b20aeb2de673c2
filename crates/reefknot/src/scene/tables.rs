//! The tables of a scene file. What stands here is what users read in the reference page.

use super::define::{choice, kinds, one_of, quantities, table};
use super::read::{Read, Reader};
use super::shape::{NOT_NEGATIVE, POSITIVE, Shape, between};
use super::tree::Node;
use super::values::{Named, Placed, WarpWeft};

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
    /// Something by time.
    Rate = "1/s";
}

/// A value that has a meaning elsewhere: parameters and quick sizes are merged before reading.
#[derive(Clone, Copy, Debug)]
pub struct Free;

impl Read for Free {
    fn read(_: &Node, _: &mut Reader<'_>) -> Option<Self> {
        Some(Free)
    }
    fn shape() -> Shape {
        Shape::Free
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
        /// Vertices that are held.
        pin: Named<Pin>,
        /// Moving air.
        wind: Option<Placed<Wind>>,
        /// What to measure at every step.
        probe: Named<Probe>,
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

choice! {
    /// Ways to advance by a time step.
    pub enum Integrator {
        /// Implicit Euler, linearised once at the start of the step.
        LinearEuler = "linear-euler",
    }
}

choice! {
    /// Ways to solve the contact problem of a step.
    pub enum Solver {
        /// Nothing touches.
        None = "none",
    }
}

table! {
    /// How the motion is computed.
    pub struct Method {
        /// How a step advances.
        integrator: Integrator = "\"linear-euler\"",
        /// Who solves the contact problem of a step.
        solver: Solver = "\"none\"",
    }
}

table! {
    /// What something is made of. A preset gives every value that is not written here.
    pub struct Material derive Default {
        /// A material of the list at the end of this page: "cotton", "silk", "denim" or "nylon".
        preset: Option<Placed<String>>,
        /// Young's modulus.
        young: Option<Pressure> [POSITIVE],
        /// Poisson's ratio.
        poisson: Option<f64> [between(-0.95, 0.5)],
        /// Elastic thickness of a shell.
        thickness: Option<Length> [POSITIVE],
        /// Mass by volume.
        density: Option<Density> [POSITIVE],
        /// Mass by area of a shell; `density` times `thickness` if left out.
        area_density: Option<AreaDensity> [POSITIVE],
        /// In-plane stiffness of a shell, one value or [warp, weft]; `young` times `thickness` if
        /// left out.
        membrane: Option<WarpWeft<MembraneStiffness>> [POSITIVE],
        /// Bending rigidity of a shell; that of a plate of `young`, `thickness` and `poisson` if
        /// left out.
        bending: Option<BendingRigidity> [NOT_NEGATIVE],
        /// Viscosity in the plane of a shell, as a time: stress by strain rate over stress by
        /// strain.
        membrane_damping: Option<Duration> [NOT_NEGATIVE],
        /// The same for bending.
        bending_damping: Option<Duration> [NOT_NEGATIVE],
        /// Drag of a resting medium: force by velocity and mass.
        mass_damping: Option<Rate> [NOT_NEGATIVE],
        /// Where the values come from.
        source: Option<String>,
    }
}

table! {
    /// Something that is simulated.
    pub struct Object {
        /// What it is made of.
        material: Placed<String>,
        /// Where its origin is put.
        position: [Length; 3] = "[0, 0, 0]",
        /// How it is turned about its origin, before it is put in place.
        rotation: Rotation = "{}",
        /// Velocity at the start.
        velocity: [Speed; 3] = "[0, 0, 0]",
    }
    with {
        /// What it is.
        kind: ObjectKind,
    }
}

table! {
    /// A turn about an axis.
    pub struct Rotation {
        /// The axis; its length has no meaning.
        axis: Placed<[f64; 3]> = "[0, 0, 1]",
        /// The angle, counter-clockwise when the axis points at the viewer.
        angle: Angle = "0",
    }
}

kinds! {
    /// What the object is.
    pub enum ObjectKind by "kind" {
        ClothGrid(ClothGrid) = "cloth-grid",
    }
}

choice! {
    /// How the cells of a grid are cut into triangles.
    pub enum Triangles {
        /// All diagonals in the same direction.
        Right = "right",
        /// Diagonals alternate like a chess board.
        Alternating = "alternating",
    }
}

table! {
    /// A rectangle of cloth in the x-y plane, centred at its origin, warp along x. Groups for
    /// pins: "left", "right" (least and largest x), "bottom", "top" (least and largest y) and
    /// "corners". Vertices are counted along x first.
    pub struct ClothGrid {
        /// Length along x and y.
        size: Placed<[Length; 2]> [POSITIVE],
        /// Number of vertices along x and y.
        vertices: Placed<[u64; 2]> [between(2.0, 8192.0)],
        /// How the cells are cut.
        triangles: Triangles = "\"alternating\"",
    }
}

table! {
    /// Vertices of an object that are held where they start.
    pub struct Pin {
        /// Whose vertices.
        object: Placed<String>,
        /// Which vertices.
        at: Placed<Selection>,
        /// When they are let go; never if left out.
        release: Option<Duration> [NOT_NEGATIVE],
    }
}

one_of! {
    /// Some vertices of an object.
    pub enum Selection {
        /// Their numbers, from 0.
        Vertices(Vec<u64>) = "vertices",
        /// A group that the object's kind defines, such as "left".
        Group(String) = "group",
        /// Those that start inside a box.
        Box(BoxRegion) = "box",
    }
}

table! {
    /// A box along the axes.
    pub struct BoxRegion {
        /// The corner of least x, y and z.
        min: [Length; 3],
        /// The corner of largest x, y and z.
        max: [Length; 3],
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
