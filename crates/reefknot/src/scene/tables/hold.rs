//! What holds, pulls and ties: pins, clamps, loads, attachments and stitches.

use super::{Duration, Force, Length, Moment, Motion, Pressure, Stiffness, Twist};
use crate::scene::define::{choice, one_of, table};
use crate::scene::shape::{NOT_NEGATIVE, POSITIVE};
use crate::scene::values::Placed;

table! {
    /// Vertices of an object that are held where they start, or moved as told.
    pub struct Pin {
        /// Whose vertices.
        object: Placed<String>,
        /// Which vertices.
        at: Placed<Selection>,
        /// Whether the border of a shell of the "plate" bending model is also kept from turning about its held edges.
        clamp: Placed<bool> = "false",
        /// Axes along which they are free, such as ["x"].
        free: Option<Vec<Axis>>,
        /// How they move; they rest if left out.
        motion: Option<Placed<Motion>>,
        /// When they are taken hold of, wherever they are then.
        start: Duration [NOT_NEGATIVE] = "0",
        /// When they are let go; never if left out.
        release: Option<Placed<Duration>> [NOT_NEGATIVE],
    }
}

table! {
    /// The end of a rod, held with its material frame: two vertices and the edge between them.
    pub struct Clamp {
        /// Whose end.
        object: Placed<String>,
        /// Which end, of every rod of the object.
        end: RodEnd,
        /// Axes along which it slides, such as ["x"].
        free: Option<Vec<Axis>>,
        /// How it moves; it rests if left out.
        motion: Option<Placed<Motion>>,
        /// How it is turned about the rod's own axis, counter-clockwise when the rod points at the
        /// viewer.
        twist: Option<Placed<Twist>>,
        /// When it takes hold.
        start: Duration [NOT_NEGATIVE] = "0",
        /// When it lets go; never if left out.
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
        /// z, which points up.
        Z = "z",
    }
}

choice! {
    /// An end of a rod.
    pub enum RodEnd {
        /// Where its vertices begin.
        First = "first",
        /// Where its vertices end.
        Last = "last",
    }
}

one_of! {
    /// Some vertices of an object.
    pub enum Selection {
        /// Their numbers, from 0.
        Vertices(Vec<u64>) = "vertices",
        /// A group that the object's kind or its mesh file defines, such as "left".
        Group(String) = "group",
        /// Those that start inside a box.
        Box(BoxRegion) = "box",
        /// Those that start inside a sphere.
        Sphere(SphereRegion) = "sphere",
        /// Those that start on one side of a plane.
        Side(SideRegion) = "side",
        /// An end of every rod of the object.
        End(RodEnd) = "end",
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
    /// A ball.
    pub struct SphereRegion {
        /// Its centre.
        center: [Length; 3],
        /// Its radius.
        radius: Length [POSITIVE],
    }
}

table! {
    /// The side of a plane that its normal points to.
    pub struct SideRegion {
        /// A point of the plane.
        point: [Length; 3],
        /// The normal; its length has no meaning.
        normal: Placed<[f64; 3]>,
    }
}

table! {
    /// A force or a moment on vertices, constant in direction.
    pub struct Load {
        /// Whose vertices.
        object: Placed<String>,
        /// Which vertices; they share the load evenly.
        at: Placed<Selection>,
        /// The whole force.
        force: [Force; 3] = "[0, 0, 0]",
        /// The whole moment, about the middle of the vertices. Of rods the part along their edges turns their sections.
        moment: [Moment; 3] = "[0, 0, 0]",
        /// Pressure on the triangles between the vertices, against the side that their normals point to, whichever way it
        /// turns.
        pressure: Pressure = "0",
        /// When it begins.
        start: Duration [NOT_NEGATIVE] = "0",
        /// How long it takes to grow to its full size.
        ramp: Duration [NOT_NEGATIVE] = "0",
        /// When it ends; never if left out.
        stop: Option<Placed<Duration>> [NOT_NEGATIVE],
    }
}

table! {
    /// Vertices of an object that are tied to the nearest points of another object or collider.
    pub struct Attachment {
        /// Whose vertices.
        object: Placed<String>,
        /// Which vertices.
        at: Placed<Selection>,
        /// What they are tied to.
        to: Placed<String>,
        /// Vertices farther from it than this are not tied.
        reach: Length [POSITIVE] = "1 cm",
        /// Stiffness of each tie.
        stiffness: Stiffness [POSITIVE] = "1e4",
        /// When it lets go; never if left out.
        release: Option<Placed<Duration>> [NOT_NEGATIVE],
    }
}

table! {
    /// Two rows of vertices, drawn together pair by pair.
    pub struct Stitch {
        /// One row.
        from: StitchSide,
        /// The other, of as many vertices.
        to: StitchSide,
        /// Stiffness of each pair.
        stiffness: Stiffness [POSITIVE] = "1e3",
        /// How long the thread stays in the end.
        length: Length [NOT_NEGATIVE] = "0",
        /// How long it takes to close.
        close: Duration [NOT_NEGATIVE] = "0",
    }
}

table! {
    /// A row of vertices.
    pub struct StitchSide {
        /// Whose vertices.
        object: Placed<String>,
        /// Which vertices, in order; groups in the order of their numbers.
        at: Placed<Selection>,
    }
}
