//! Objects: cloth, rods, hair, solids and rigid props.

use super::{
    Angle, AngularRate, ContactProperties, Curvature, Inertia, Length, Mass, MeshFile, Motion,
    PerArea, Placement, Pressure, Selection, ShapeKind, Speed, TwistRate,
};
use crate::scene::define::{choice, kinds, table};
use crate::scene::schema::{NOT_NEGATIVE, POSITIVE, between};
use crate::scene::values::{OneOr, Placed};

table! {
    /// Cloth, a rod, hair, a solid or a rigid prop. It is simulated, unless it has a `motion`.
    pub struct Object {
        /// Name of its material.
        material: Option<Placed<String>>,
        /// Initial velocity.
        velocity: [Speed; 3] = "[0, 0, 0]",
        /// Initial angular velocity about the centre of mass of each copy.
        angular_velocity: [AngularRate; 3] = "[0, 0, 0]",
        /// Prescribed motion: the object follows it and is not simulated.
        motion: Option<Placed<Motion>>,
        /// Contact properties.
        contact: ContactProperties = "{}",
    }
    with {
        /// Placement.
        placement: Placement,
        /// Type of the object.
        kind: ObjectKind,
    }
}

kinds! {
    /// Type of the object.
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
    /// Triangulation of a sheet.
    pub enum Triangles {
        /// A grid, all diagonals in the same direction.
        Right = "right",
        /// A grid with alternating diagonals.
        Alternating = "alternating",
        /// An unstructured mesh, without a preferred direction.
        Unstructured = "unstructured",
    }
}

table! {
    /// A rectangle of cloth in the x-y plane, centred at its origin, with the warp along x. Vertex
    /// groups: "left" and "right" (smallest and largest x), "bottom" and "top" (smallest and
    /// largest y), "corners". Vertex indices run along x first, unless the mesh is unstructured.
    pub struct ClothGrid {
        /// Lengths along x and y.
        size: Placed<[Length; 2]> [POSITIVE],
        /// Number of vertices along x and y; along the border, if the mesh is unstructured.
        vertices: Placed<[u64; 2]> [between(2.0, 8192.0)],
        /// Triangulation.
        triangles: Triangles = "\"alternating\"",
        /// If given, the cloth starts rolled up about y with this radius. Its rest shape is flat.
        roll: Option<Placed<Length>> [POSITIVE],
    }
}

table! {
    /// A strip of cloth along x, centred at its origin, with nearly square cells. Vertex groups: as
    /// "cloth-grid".
    pub struct ClothStrip {
        /// Length along x.
        length: Placed<Length> [POSITIVE],
        /// Width along y.
        width: Length [POSITIVE],
        /// Number of cells along x.
        segments: Placed<u64> [between(1.0, 100000.0)],
        /// Triangulation.
        triangles: Triangles = "\"alternating\"",
    }
}

table! {
    /// A disc of cloth in the x-y plane, centred at its origin, with the warp along x. Vertex
    /// groups: "rim", "centre".
    pub struct ClothDisc {
        /// Radius.
        radius: Placed<Length> [POSITIVE],
        /// Approximate edge length of the mesh.
        edge: Placed<Length> [POSITIVE],
    }
}

table! {
    /// Cloth from the triangles of a mesh file, which is its rest shape.
    pub struct ClothMesh {
        /// Direction of the warp, projected into each triangle.
        warp: Placed<[f64; 3]> = "[1, 0, 0]",
    }
    with {
        /// The mesh file.
        mesh: MeshFile,
    }
}

table! {
    /// Cross-section and rest shape of a rod.
    pub struct RodSection {
        /// Radius, or the two semi-axes of an elliptic section.
        radius: Placed<OneOr<Length, 2>> [POSITIVE],
        /// Radius for contact, which may be larger than the real radius (Kaufman et al. 2014,
        /// section 8.2). Default: the larger semi-axis.
        proximity_radius: Option<Length> [POSITIVE],
        /// Rest curvature, towards the first and the second semi-axis of the section. Default: the
        /// initial curvature.
        natural_curvature: Option<[Curvature; 2]>,
        /// Rest twist. Default: the initial twist.
        natural_twist: Option<TwistRate>,
        /// Initial twist of the whole rod, in addition to its rest twist.
        start_twist: Angle = "0",
        /// Initial length over rest length, such as 1.3 for a tight rubber band.
        start_stretch: f64 [between(0.1, 10.0)] = "1",
        /// Whether twist is always in equilibrium, without rotational inertia of the section.
        quasi_static_twist: bool = "false",
    }
}

table! {
    /// A straight rod along x from its origin, with the first semi-axis of its section along y.
    /// Vertex groups: "first", "last", "ends".
    pub struct StraightRod {
        /// Length.
        length: Placed<Length> [POSITIVE],
        /// Number of vertices.
        vertices: Placed<u64> [between(2.0, 1e6)],
    }
    with {
        /// Cross-section and rest shape.
        section: RodSection,
    }
}

table! {
    /// A helical rod about z, from (`helix_radius`, 0, 0) upwards. Vertex groups: "first", "last",
    /// "ends".
    pub struct RodHelix {
        /// Radius of the helix.
        helix_radius: Placed<Length> [POSITIVE],
        /// Rise per turn. Positive is right-handed, negative left-handed.
        pitch: Length,
        /// Length of the rod.
        length: Length [POSITIVE],
        /// Number of vertices.
        vertices: Placed<u64> [between(2.0, 1e6)],
    }
    with {
        /// Cross-section and rest shape.
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
        /// Cross-section and rest shape.
        section: RodSection,
    }
}

table! {
    /// A rod along a smooth curve through given points. Vertex groups, unless closed: "first",
    /// "last", "ends".
    pub struct RodSpline {
        /// Points of the curve.
        points: Placed<Vec<[Length; 3]>>,
        /// Whether the curve is closed.
        closed: bool = "false",
        /// Number of vertices, evenly spaced.
        vertices: Placed<u64> [between(2.0, 1e6)],
    }
    with {
        /// Cross-section and rest shape.
        section: RodSection,
    }
}

table! {
    /// Rods from the polylines of an OBJ file (`l`), the edges of a PLY file or the lines of a Gmsh
    /// file. Vertex groups, of all open rods: "first", "last", "ends".
    pub struct RodMesh {
    }
    with {
        /// Cross-section and rest shape.
        section: RodSection,
        /// The mesh file.
        mesh: MeshFile,
    }
}

table! {
    /// Two ropes tied in a reef knot, their ends along x. Vertex groups: "left", "right", "ends".
    pub struct ReefKnot {
        /// Length of each rope.
        length: Placed<Length> [POSITIVE],
        /// Number of vertices of each rope.
        vertices: Placed<u64> [between(32.0, 1e6)],
    }
    with {
        /// Cross-section and rest shape.
        section: RodSection,
    }
}

table! {
    /// Hair or fur: rods whose roots follow the surface of an object or collider. A groom has no
    /// `motion`, `velocity`, `position`, `rotation`, `scale` or `copies` of its own. Vertex groups:
    /// "roots", "tips".
    pub struct Groom {
        /// The object or collider on which the hair grows.
        on: Placed<String>,
        /// Region of the roots: triangles with all vertices in this selection. Default: the whole
        /// surface.
        at: Option<Placed<Selection>>,
        /// Number of roots per area.
        density: Option<Placed<PerArea>> [POSITIVE],
        /// Number of roots, instead of `density`.
        count: Option<Placed<u64>> [between(1.0, 1e6)],
        /// Mean length of the hair.
        length: Length [POSITIVE],
        /// Largest deviation from the mean length, as a fraction of it.
        length_variation: f64 [between(0.0, 0.9)] = "0",
        /// Number of vertices of each rod.
        vertices: Placed<u64> [between(3.0, 10000.0)],
        /// Radius of the curls. 0 is straight hair.
        curl_radius: Length [NOT_NEGATIVE] = "0",
        /// Length of a curl along the hair.
        curl_pitch: Length [POSITIVE] = "2 cm",
        /// Direction in which the hair leans. Default: along the normal.
        direction: Option<Placed<[f64; 3]>>,
        /// Amount of lean: 0 is along the normal, 1 along `direction` as far as the surface allows.
        lean: f64 [between(0.0, 1.0)] = "0.5",
        /// Random tilt.
        stray: super::Angle [NOT_NEGATIVE] = "5 deg",
        /// Smallest distance between roots.
        spacing: Length [NOT_NEGATIVE] = "0",
        /// Seed of the random numbers, combined with the `seed` of the scene and the name of the
        /// object.
        seed: u64 = "0",
    }
    with {
        /// Cross-section and rest shape.
        section: RodSection,
    }
}

choice! {
    /// Division of the cells of a solid into tetrahedra.
    pub enum Tetrahedra {
        /// Six per cell, the same in all cells.
        Six = "six",
        /// Five per cell, alternating, without a preferred direction.
        Five = "five",
    }
}

table! {
    /// A deformable box, centred at its origin. Vertex groups: "left" and "right" (smallest and
    /// largest x), "front" and "back" (y), "bottom" and "top" (z).
    pub struct SolidBox {
        /// Lengths along x, y and z.
        size: Placed<[Length; 3]> [POSITIVE],
        /// Number of cells along x, y and z.
        cells: Placed<[u64; 3]> [between(1.0, 10000.0)],
        /// Division into tetrahedra.
        tetrahedra: Tetrahedra = "\"five\"",
    }
}

table! {
    /// A deformable beam along x from its origin, with a centred section. Vertex groups: as
    /// "solid-box".
    pub struct SolidBeam {
        /// Length along x.
        length: Placed<Length> [POSITIVE],
        /// Lengths of the section along y and z.
        section: [Length; 2] [POSITIVE],
        /// Number of cells across the smaller side of the section. Cells are nearly cubes.
        cells: Placed<u64> [between(1.0, 10000.0)],
        /// Division into tetrahedra.
        tetrahedra: Tetrahedra = "\"five\"",
    }
}

table! {
    /// A deformable ball, centred at its origin. Vertex groups: "surface", "centre".
    pub struct SolidBall {
        /// Radius.
        radius: Placed<Length> [POSITIVE],
        /// Approximate edge length of the mesh.
        edge: Placed<Length> [POSITIVE],
    }
}

table! {
    /// The lower half of a deformable ball, with its flat face at z = 0. Vertex groups: "flat",
    /// "dome", "pole".
    pub struct SolidHalfBall {
        /// Radius.
        radius: Placed<Length> [POSITIVE],
        /// Approximate edge length of the mesh.
        edge: Placed<Length> [POSITIVE],
    }
}

table! {
    /// A deformable torus about z, centred at its origin.
    pub struct SolidRing {
        /// Major radius: from the centre of the torus to the centre of the tube.
        radius: Placed<Length> [POSITIVE],
        /// Minor radius: of the tube.
        tube_radius: Length [POSITIVE],
        /// Approximate edge length of the mesh.
        edge: Placed<Length> [POSITIVE],
    }
}

table! {
    /// A deformable tube along z, centred at its origin. Vertex groups: "bottom", "top", "inside",
    /// "outside".
    pub struct SolidTube {
        /// Outer radius.
        radius: Placed<Length> [POSITIVE],
        /// Inner radius. 0 is a solid cylinder.
        inner_radius: Length [NOT_NEGATIVE],
        /// Length from end to end.
        length: Length [POSITIVE],
        /// Approximate edge length of the mesh.
        edge: Placed<Length> [POSITIVE],
    }
}

table! {
    /// A detailed surface embedded in a coarse lattice of tetrahedra, which is simulated (Daviet
    /// 2020, section 7.2).
    pub struct Embedded {
        /// The surface, which collides and is drawn.
        surface: EmbeddedSurface,
        /// Number of lattice cells along the longest side of the surface.
        cells: Placed<u64> [between(1.0, 512.0)],
    }
}

table! {
    /// A closed surface: a shape or a mesh file.
    pub struct EmbeddedSurface {
        /// Edge length of its triangles. Mesh files have their own.
        edge: Option<Placed<Length>> [POSITIVE],
    }
    with {
        /// Shape.
        kind: ShapeKind,
    }
}

table! {
    /// A rigid prop.
    pub struct Rigid {
        /// Its shape.
        shape: EmbeddedSurface,
        /// Mass. Default: the density of its material times its volume.
        mass: Option<Placed<Mass>> [POSITIVE],
        /// Moments of inertia about its x, y and z axes through its centre of mass. Default: those
        /// of its shape with uniform density.
        inertia: Option<Placed<[Inertia; 3]>> [POSITIVE],
        /// Stiffness of the affine body that represents the prop: the modulus that keeps it rigid.
        rigidity: Pressure [POSITIVE] = "1 GPa",
    }
}
