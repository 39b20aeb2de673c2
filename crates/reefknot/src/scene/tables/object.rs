//! What is simulated.

use super::{
    Angle, AngularRate, ContactProperties, Curvature, Inertia, Length, Mass, MeshFile, Motion,
    PerArea, Placement, Pressure, Selection, ShapeKind, Speed, TwistRate,
};
use crate::scene::define::{choice, kinds, table};
use crate::scene::shape::{NOT_NEGATIVE, POSITIVE, between};
use crate::scene::values::{OneOr, Placed};

table! {
    /// Something that is simulated, or moved as it is told.
    pub struct Object {
        /// What it is made of.
        material: Option<Placed<String>>,
        /// Velocity at the start.
        velocity: [Speed; 3] = "[0, 0, 0]",
        /// Angular velocity at the start, about its middle (of each copy).
        angular_velocity: [AngularRate; 3] = "[0, 0, 0]",
        /// If given, it moves like this instead of being simulated.
        motion: Option<Placed<Motion>>,
        /// How it touches others.
        contact: ContactProperties = "{}",
    }
    with {
        /// Where it is put.
        placement: Placement,
        /// What it is.
        kind: ObjectKind,
    }
}

kinds! {
    /// What the object is.
    pub enum ObjectKind by "kind" {
        ClothGrid(ClothGrid) = "cloth-grid",
        ClothStrip(ClothStrip) = "cloth-strip",
        ClothDisc(ClothDisc) = "cloth-disc",
        ClothMesh(ClothMesh) = "cloth-mesh",
        Rod(StraightRod) = "rod",
        RodHelix(RodHelix) = "rod-helix",
        RodRing(RodRing) = "rod-ring",
        RodSpline(RodSpline) = "rod-spline",
        RodMesh(RodMesh) = "rod-mesh",
        ReefKnot(ReefKnot) = "reef-knot",
        Groom(Groom) = "groom",
        SolidBox(SolidBox) = "solid-box",
        SolidBeam(SolidBeam) = "solid-beam",
        SolidBall(SolidBall) = "solid-ball",
        SolidHalfBall(SolidHalfBall) = "solid-half-ball",
        SolidRing(SolidRing) = "solid-ring",
        SolidTube(SolidTube) = "solid-tube",
        SolidMesh(MeshFile) = "solid-mesh",
        Embedded(Embedded) = "embedded",
        Rigid(Rigid) = "rigid",
    }
}

choice! {
    /// How a sheet is cut into triangles.
    pub enum Triangles {
        /// Cells of a grid, all diagonals in the same direction.
        Right = "right",
        /// Cells of a grid, diagonals alternate like a chess board.
        Alternating = "alternating",
        /// No direction is preferred.
        Unstructured = "unstructured",
    }
}

table! {
    /// A rectangle of cloth in the x-y plane, centred at its origin, warp along x. Groups for
    /// pins: "left", "right" (least and largest x), "bottom", "top" (least and largest y) and
    /// "corners". Vertices are counted along x first, unless the triangles are unstructured.
    pub struct ClothGrid {
        /// Length along x and y.
        size: Placed<[Length; 2]> [POSITIVE],
        /// Number of vertices along x and y; on the border, if the triangles are unstructured.
        vertices: Placed<[u64; 2]> [between(2.0, 8192.0)],
        /// How it is cut.
        triangles: Triangles = "\"alternating\"",
        /// If given, it starts rolled up about y with this radius, while it is flat at rest.
        roll: Option<Placed<Length>> [POSITIVE],
    }
}

table! {
    /// A strip of cloth along x, centred at its origin, with cells about as wide as long. Groups as
    /// "cloth-grid".
    pub struct ClothStrip {
        /// Along x.
        length: Placed<Length> [POSITIVE],
        /// Along y.
        width: Length [POSITIVE],
        /// Number of cells along x.
        segments: Placed<u64> [between(1.0, 100000.0)],
        /// How it is cut.
        triangles: Triangles = "\"alternating\"",
    }
}

table! {
    /// A disc of cloth in the x-y plane, centred at its origin, warp along x. Groups: "rim",
    /// "centre".
    pub struct ClothDisc {
        /// Its radius.
        radius: Placed<Length> [POSITIVE],
        /// Length of the edges, about.
        edge: Placed<Length> [POSITIVE],
    }
}

table! {
    /// Cloth with the triangles of a file, which are its rest shape.
    pub struct ClothMesh {
        /// The direction of the warp, which is laid into each triangle.
        warp: Placed<[f64; 3]> = "[1, 0, 0]",
    }
    with {
        /// The file.
        mesh: MeshFile,
    }
}

table! {
    /// How thick a rod is.
    pub struct RodSection {
        /// Radius, or the two half axes of an elliptic section.
        radius: Placed<OneOr<Length, 2>> [POSITIVE],
        /// Radius for contact, which may be larger than the real one (Kaufman et al. 2014, section
        /// 8.2); the larger half axis if left out.
        proximity_radius: Option<Length> [POSITIVE],
        /// Curvature without force, towards the first and the second half axis of the section; that of the start if left out.
        natural_curvature: Option<[Curvature; 2]>,
        /// Twist without force; that of the start if left out.
        natural_twist: Option<TwistRate>,
        /// How far the section is turned along the whole rod at the start, beyond its natural twist.
        start_twist: Angle = "0",
        /// Length at the start over length without force, such as 1.3 for a rubber band that is put around something.
        start_stretch: f64 [between(0.1, 10.0)] = "1",
        /// Whether twist is always in equilibrium: the section has no inertia of its own.
        quasi_static_twist: bool = "false",
    }
}

table! {
    /// A straight rod along x from its origin, the first half axis of its section along y. Groups:
    /// "first", "last", "ends".
    pub struct StraightRod {
        /// Its length.
        length: Placed<Length> [POSITIVE],
        /// Number of vertices.
        vertices: Placed<u64> [between(2.0, 1e6)],
    }
    with {
        /// How thick it is.
        section: RodSection,
    }
}

table! {
    /// A helical rod about z, from (radius, 0, 0) upwards. Groups: "first", "last", "ends".
    pub struct RodHelix {
        /// Radius of the helix.
        helix_radius: Placed<Length> [POSITIVE],
        /// Rise of a turn; a right-handed screw, left-handed if negative.
        pitch: Length,
        /// Length of the rod.
        length: Length [POSITIVE],
        /// Number of vertices.
        vertices: Placed<u64> [between(2.0, 1e6)],
    }
    with {
        /// How thick it is.
        section: RodSection,
    }
}

table! {
    /// A closed rod in the x-y plane, centred at its origin.
    pub struct RodRing {
        /// Radius of the ring.
        ring_radius: Placed<Length> [POSITIVE],
        /// Number of vertices.
        vertices: Placed<u64> [between(3.0, 1e6)],
    }
    with {
        /// How thick it is.
        section: RodSection,
    }
}

table! {
    /// A rod along a smooth curve through points. Groups: "first", "last", "ends" unless closed.
    pub struct RodSpline {
        /// The points.
        points: Placed<Vec<[Length; 3]>>,
        /// Whether it leads back to the first point.
        closed: bool = "false",
        /// Number of vertices, at even distances.
        vertices: Placed<u64> [between(2.0, 1e6)],
    }
    with {
        /// How thick it is.
        section: RodSection,
    }
}

table! {
    /// Rods along the `l` lines of an OBJ file, the edges of a PLY file or the lines of a Gmsh file.
    /// Groups: "first", "last", "ends" of all rods that are not closed.
    pub struct RodMesh {
    }
    with {
        /// How thick they are.
        section: RodSection,
        /// The file.
        mesh: MeshFile,
    }
}

table! {
    /// Two ropes tied in a reef knot, their ends along x. Groups: "left", "right", "ends".
    pub struct ReefKnot {
        /// Length of each rope.
        length: Placed<Length> [POSITIVE],
        /// Number of vertices of each rope.
        vertices: Placed<u64> [between(32.0, 1e6)],
    }
    with {
        /// How thick they are.
        section: RodSection,
    }
}

table! {
    /// Many rods that grow on an object or collider and follow it with their roots, so they have no
    /// `motion`, `velocity`, `position`, `rotation`, `scale` or `copies` of their own. Groups: "roots",
    /// "tips".
    pub struct Groom {
        /// The object or collider that they grow on.
        on: Placed<String>,
        /// Where on it: on the triangles all of whose vertices are chosen; everywhere if left out.
        at: Option<Placed<Selection>>,
        /// Roots by area.
        density: Option<Placed<PerArea>> [POSITIVE],
        /// Number of roots, instead of `density`.
        count: Option<Placed<u64>> [between(1.0, 1e6)],
        /// Length of a rod.
        length: Length [POSITIVE],
        /// By which part of it lengths differ, to either side.
        length_variation: f64 [between(0.0, 0.9)] = "0",
        /// Number of vertices of a rod.
        vertices: Placed<u64> [between(3.0, 10000.0)],
        /// Radius of the curls; straight rods if 0.
        curl_radius: Length [NOT_NEGATIVE] = "0",
        /// Distance from curl to curl.
        curl_pitch: Length [POSITIVE] = "2 cm",
        /// Where the rods lean to; outwards if left out.
        direction: Option<Placed<[f64; 3]>>,
        /// How much they lean: 0 is along the normal, 1 as far as the surface allows.
        lean: f64 [between(0.0, 1.0)] = "0.5",
        /// Random tilt.
        stray: super::Angle [NOT_NEGATIVE] = "5 deg",
        /// Least distance between roots.
        spacing: Length [NOT_NEGATIVE] = "0",
        /// Start of the random numbers, beside the scene's own `seed` and the name of the object.
        seed: u64 = "0",
    }
    with {
        /// How thick they are.
        section: RodSection,
    }
}

choice! {
    /// How the cells of a solid are cut into tetrahedra.
    pub enum Tetrahedra {
        /// Six in each cell, all cells alike.
        Six = "six",
        /// Five in each cell, alternating like a chess board: no direction is preferred.
        Five = "five",
    }
}

table! {
    /// A soft box, centred at its origin. Groups: "left", "right" (least and largest x), "front",
    /// "back" (y), "bottom", "top" (z).
    pub struct SolidBox {
        /// Along x, y and z.
        size: Placed<[Length; 3]> [POSITIVE],
        /// Number of cells along x, y and z.
        cells: Placed<[u64; 3]> [between(1.0, 10000.0)],
        /// How cells are cut.
        tetrahedra: Tetrahedra = "\"five\"",
    }
}

table! {
    /// A soft beam along x from its origin, its section centred. Groups as "solid-box".
    pub struct SolidBeam {
        /// Along x.
        length: Placed<Length> [POSITIVE],
        /// Along y and z.
        section: [Length; 2] [POSITIVE],
        /// Number of cells across the smaller side; cells are about as long as wide.
        cells: Placed<u64> [between(1.0, 10000.0)],
        /// How cells are cut.
        tetrahedra: Tetrahedra = "\"five\"",
    }
}

table! {
    /// A soft ball, centred at its origin. Groups: "surface", "centre".
    pub struct SolidBall {
        /// Its radius.
        radius: Placed<Length> [POSITIVE],
        /// Length of the edges, about.
        edge: Placed<Length> [POSITIVE],
    }
}

table! {
    /// The lower half of a soft ball: its flat face in z = 0. Groups: "flat", "dome", "pole".
    pub struct SolidHalfBall {
        /// Its radius.
        radius: Placed<Length> [POSITIVE],
        /// Length of the edges, about.
        edge: Placed<Length> [POSITIVE],
    }
}

table! {
    /// A soft ring (torus) about z, centred at its origin.
    pub struct SolidRing {
        /// From the middle of the hole to the middle of the tube.
        radius: Placed<Length> [POSITIVE],
        /// Of the tube.
        tube_radius: Length [POSITIVE],
        /// Length of the edges, about.
        edge: Placed<Length> [POSITIVE],
    }
}

table! {
    /// A soft tube along z, centred at its origin. Groups: "bottom", "top", "inside", "outside".
    pub struct SolidTube {
        /// Outer radius.
        radius: Placed<Length> [POSITIVE],
        /// Inner radius; 0 is a full cylinder.
        inner_radius: Length [NOT_NEGATIVE],
        /// From end to end.
        length: Length [POSITIVE],
        /// Length of the edges, about.
        edge: Placed<Length> [POSITIVE],
    }
}

table! {
    /// A surface that moves with a coarse lattice of tetrahedra around it (Daviet 2020, section 7.2).
    pub struct Embedded {
        /// The surface.
        surface: EmbeddedSurface,
        /// Number of lattice cells along its longest side.
        cells: Placed<u64> [between(1.0, 512.0)],
    }
}

table! {
    /// A surface.
    pub struct EmbeddedSurface {
        /// Length of the edges of its triangles, where it is no mesh.
        edge: Option<Placed<Length>> [POSITIVE],
    }
    with {
        /// What shape it has.
        kind: ShapeKind,
    }
}

table! {
    /// A rigid prop.
    pub struct Rigid {
        /// Its shape.
        shape: EmbeddedSurface,
        /// Its mass; the density of its material times its volume if left out.
        mass: Option<Placed<Mass>> [POSITIVE],
        /// Its moments of inertia about its own x, y and z axes through its centre of mass; those of its shape if left out.
        inertia: Option<Placed<[Inertia; 3]>> [POSITIVE],
        /// How stiff it is: it is a body that could only stretch and shear as a whole, held rigid by this modulus.
        rigidity: Pressure [POSITIVE] = "1 GPa",
    }
}
