//! Shapes of colliders, rigid props and embedded surfaces; where things are put.

use super::{Angle, ContactProperties, Length, Motion};
use crate::scene::define::{choice, kinds, one_of, table};
use crate::scene::shape::{POSITIVE, between};
use crate::scene::values::{LengthUnit, OneOr, Placed};

table! {
    /// Where something is put. It is scaled first, then turned, then moved; then it is copied.
    pub struct Placement {
        /// Factor on lengths, one or [x, y, z].
        scale: OneOr<f64, 3> [between(1e-9, 1e9)] = "1",
        /// How it is turned about its origin.
        rotation: Rotation = "{}",
        /// Where its origin is put.
        position: [Length; 3] = "[0, 0, 0]",
        /// More than one of it. Vertices count through all copies, one copy after the other.
        copies: Option<Placed<Copies>>,
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

one_of! {
    /// Copies of an object.
    pub enum Copies {
        /// In rows, columns and layers.
        Array(CopyArray) = "array",
        /// Anywhere in a box.
        Scatter(CopyScatter) = "scatter",
    }
}

table! {
    /// Copies in rows, columns and layers; the first is where the object was put.
    pub struct CopyArray {
        /// How many along x, y and z.
        count: [u64; 3] [between(1.0, 1e6)],
        /// From one to the next along x, y and z.
        spacing: [Length; 3],
    }
}

table! {
    /// Copies at random places.
    pub struct CopyScatter {
        /// How many.
        count: u64 [between(1.0, 1e6)],
        /// The box of their origins, from the place of the object: the corner of least x, y and z.
        min: [Length; 3],
        /// The corner of largest x, y and z.
        max: [Length; 3],
        /// Least distance between origins; the diameter of the object if left out.
        apart: Option<Length> [between(0.0, 1e9)],
        /// Whether each is turned at random.
        turned: bool = "true",
        /// Start of the random numbers, beside the scene's own `seed` and the name of the object.
        seed: u64 = "0",
    }
}

table! {
    /// A mesh in a file. A solid needs tetrahedra, which Gmsh files can have. Groups of the file are groups of the
    /// object.
    pub struct MeshFile {
        /// The file: OBJ, PLY, or Gmsh 2.2 or 4.1. Its path is from the folder of the scene file. The shipped meshes
        /// bunny.obj, bunny_coarse.msh, bunny_fine.msh and dragon.msh are found everywhere, unless there is such
        /// a file.
        file: Placed<String>,
        /// The unit of its numbers.
        unit: LengthUnit = "\"m\"",
        /// The axis of the file that points up.
        up: Up = "\"z\"",
        /// Vertices closer than this become one.
        weld: Option<Length> [POSITIVE],
    }
}

choice! {
    /// The axis of a file that points up.
    pub enum Up {
        /// As in scenes.
        Z = "z",
        /// (x, y, z) of the file is (x, −z, y) of the scene.
        Y = "y",
    }
}

kinds! {
    /// What shape it has.
    pub enum ShapeKind by "kind" {
        Box(BoxShape) = "box",
        Sphere(SphereShape) = "sphere",
        Cylinder(CylinderShape) = "cylinder",
        Capsule(CapsuleShape) = "capsule",
        Plane(PlaneShape) = "plane",
        Cone(ConeShape) = "cone",
        Funnel(FunnelShape) = "funnel",
        Stairs(StairsShape) = "stairs",
        Nail(NailShape) = "nail",
        Mesh(MeshFile) = "mesh",
    }
}

table! {
    /// A box, centred at its origin.
    pub struct BoxShape {
        /// Along x, y and z.
        size: Placed<[Length; 3]> [POSITIVE],
    }
}

table! {
    /// A sphere, centred at its origin. Exactly round for contact.
    pub struct SphereShape {
        /// Its radius.
        radius: Placed<Length> [POSITIVE],
    }
}

table! {
    /// A cylinder along z with flat ends, centred at its origin. Exactly round for contact.
    pub struct CylinderShape {
        /// Its radius.
        radius: Placed<Length> [POSITIVE],
        /// From end to end.
        length: Length [POSITIVE],
    }
}

table! {
    /// A capsule along z, centred at its origin. Exactly round for contact.
    pub struct CapsuleShape {
        /// Its radius.
        radius: Placed<Length> [POSITIVE],
        /// Between the centres of its round ends.
        length: Length [POSITIVE],
    }
}

table! {
    /// The plane z = 0 through its origin, endless for contact; solid below.
    pub struct PlaneShape {
        /// Side of the square that is drawn.
        size: Placed<Length> [POSITIVE] = "2",
    }
}

table! {
    /// A cone along z: its base at z = 0, its tip above. Exactly round for contact.
    pub struct ConeShape {
        /// Radius of the base.
        radius: Placed<Length> [POSITIVE],
        /// From base to tip.
        height: Length [POSITIVE],
    }
}

table! {
    /// A funnel along z, wide at the top, open at both ends, centred at its origin.
    pub struct FunnelShape {
        /// Inner radius at the top.
        top_radius: Placed<Length> [POSITIVE],
        /// Inner radius at the bottom.
        bottom_radius: Length [POSITIVE],
        /// From bottom to top.
        height: Length [POSITIVE],
        /// Of the wall.
        wall: Length [POSITIVE],
    }
}

table! {
    /// Stairs that rise along x from the origin, as wide to either side of it.
    pub struct StairsShape {
        /// How many steps.
        steps: Placed<u64> [between(1.0, 1e4)],
        /// Depth of a step along x.
        tread: Length [POSITIVE],
        /// Height of a step.
        rise: Length [POSITIVE],
        /// Along y.
        width: Length [POSITIVE],
    }
}

table! {
    /// A nail that stands on its tip at the origin, its head above.
    pub struct NailShape {
        /// Radius of the shank.
        radius: Placed<Length> [POSITIVE],
        /// From the tip to the underside of the head.
        length: Length [POSITIVE],
        /// Radius of the head.
        head_radius: Length [POSITIVE],
        /// Thickness of the head.
        head_thickness: Length [POSITIVE],
    }
}

table! {
    /// Something that is touched but not simulated: it rests, or moves as it is told.
    pub struct Collider {
        /// How it moves; it rests if left out.
        motion: Option<Placed<Motion>>,
        /// How it touches others.
        contact: ContactProperties = "{}",
        /// Length of the edges of the triangles that it is drawn with; of those that are touched,
        /// where the shape is no exact one.
        edge: Option<Placed<Length>> [POSITIVE],
    }
    with {
        /// Where it is put.
        placement: Placement,
        /// What shape it has.
        kind: ShapeKind,
    }
}
