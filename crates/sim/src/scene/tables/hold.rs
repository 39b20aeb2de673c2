//! Boundary conditions: pins, clamps, loads, attachments and stitches.

use super::{Duration, Force, Length, Moment, Motion, Pressure, Stiffness, Twist};
use crate::scene::define::{choice, one_of, table};
use crate::scene::schema::{NOT_NEGATIVE, POSITIVE};
use crate::scene::values::Placed;

table! {
    /// Held vertices of an object: fixed, or with a prescribed motion.
    pub struct Pin {
        /// The object.
        object: Placed<String>,
        /// Its held vertices.
        at: Placed<Selection>,
        /// Whether held border edges of a shell are clamped, so that the shell cannot rotate about
        /// them. Needs a material with `bending_model = "plate"`.
        clamp: Placed<bool> = "false",
        /// Axes along which the vertices move freely, such as ["x"].
        free: Option<Vec<Axis>>,
        /// Prescribed motion. Default: fixed.
        motion: Option<Placed<Motion>>,
        /// Time from which the vertices are held, at their positions of that time.
        start: Duration [NOT_NEGATIVE] = "0",
        /// Time at which the vertices are released. Default: never.
        release: Option<Placed<Duration>> [NOT_NEGATIVE],
    }
}

table! {
    /// A rod end, held with its material frame: two vertices and the edge between them.
    pub struct Clamp {
        /// The object. The clamp holds the ends of all its rods.
        object: Placed<String>,
        /// The end that is held.
        end: RodEnd,
        /// Axes along which the end slides freely, such as ["x"].
        free: Option<Vec<Axis>>,
        /// Prescribed motion. Default: fixed.
        motion: Option<Placed<Motion>>,
        /// Prescribed rotation about the axis of the rod, counter-clockwise when the rod points at
        /// the viewer.
        twist: Option<Placed<Twist>>,
        /// Time from which the end is held.
        start: Duration [NOT_NEGATIVE] = "0",
        /// Time at which the end is released. Default: never.
        release: Option<Placed<Duration>> [NOT_NEGATIVE],
    }
}

choice! {
    /// An axis of the scene.
    pub enum Axis {
        /// x.
        X = "x",
        /// y.
        Y = "y",
        /// z, up.
        Z = "z",
    }
}

choice! {
    /// An end of a rod.
    pub enum RodEnd {
        /// The end at the first vertex.
        First = "first",
        /// The end at the last vertex.
        Last = "last",
    }
}

one_of! {
    /// Vertices of an object. Regions select by the initial positions.
    pub enum Selection {
        /// Vertex indices, from 0.
        Vertices(Vec<u64>) = "vertices",
        /// A vertex group of the generator or the mesh file, such as "left".
        Group(String) = "group",
        /// Vertices inside a box.
        Box(BoxRegion) = "box",
        /// Vertices inside a sphere.
        Sphere(SphereRegion) = "sphere",
        /// Vertices on one side of a plane.
        Side(SideRegion) = "side",
        /// An end of all rods of the object.
        End(RodEnd) = "end",
    }
}

table! {
    /// An axis-aligned box.
    pub struct BoxRegion {
        /// Corner with the smallest x, y and z.
        min: [Length; 3],
        /// Corner with the largest x, y and z.
        max: [Length; 3],
    }
}

table! {
    /// A sphere.
    pub struct SphereRegion {
        /// Centre.
        center: [Length; 3],
        /// Radius.
        radius: Length [POSITIVE],
    }
}

table! {
    /// A half-space: the side of a plane to which its normal points.
    pub struct SideRegion {
        /// A point of the plane.
        point: [Length; 3],
        /// Normal of the plane, of any length.
        normal: Placed<[f64; 3]>,
    }
}

table! {
    /// A force, a moment or a pressure on vertices of an object.
    pub struct Load {
        /// The object.
        object: Placed<String>,
        /// Its loaded vertices, which share force and moment evenly.
        at: Placed<Selection>,
        /// Total force, constant in direction.
        force: [Force; 3] = "[0, 0, 0]",
        /// Total moment about the mean of the vertices, constant in direction. On rods its
        /// component along an edge twists the section.
        moment: [Moment; 3] = "[0, 0, 0]",
        /// Pressure on the triangles of these vertices, against their normals; it follows the
        /// surface.
        pressure: Pressure = "0",
        /// Start time.
        start: Duration [NOT_NEGATIVE] = "0",
        /// Time until the full load is reached.
        ramp: Duration [NOT_NEGATIVE] = "0",
        /// End time. Default: never.
        stop: Option<Placed<Duration>> [NOT_NEGATIVE],
    }
}

table! {
    /// Springs from vertices of an object to the nearest points of another object or collider.
    pub struct Attachment {
        /// The object whose vertices are attached.
        object: Placed<String>,
        /// Its attached vertices.
        at: Placed<Selection>,
        /// The object or collider to attach to.
        to: Placed<String>,
        /// Largest distance: vertices farther away are not attached.
        reach: Length [POSITIVE] = "1 cm",
        /// Stiffness of each spring.
        stiffness: Stiffness [POSITIVE] = "1e4",
        /// Time at which the springs are removed. Default: never.
        release: Option<Placed<Duration>> [NOT_NEGATIVE],
    }
}

table! {
    /// A seam: springs between two rows of vertices, pair by pair.
    pub struct Stitch {
        /// First row of vertices.
        from: StitchSide,
        /// Second row, with the same number of vertices.
        to: StitchSide,
        /// Stiffness of each spring.
        stiffness: Stiffness [POSITIVE] = "1e3",
        /// Rest length of the springs after closing.
        length: Length [NOT_NEGATIVE] = "0",
        /// Time in which the rest length decreases from the initial distance to `length`.
        close: Duration [NOT_NEGATIVE] = "0",
    }
}

table! {
    /// A row of vertices.
    pub struct StitchSide {
        /// The object.
        object: Placed<String>,
        /// Its vertices, in order. Groups and regions are in the order of vertex indices.
        at: Placed<Selection>,
    }
}
