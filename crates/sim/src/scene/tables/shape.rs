//! Shapes of colliders, rigid props and embedded surfaces, and their placement.

use super::{Angle, ContactProperties, Length, Motion};
use crate::scene::define::{choice, kinds, one_of, table};
use crate::scene::schema::{POSITIVE, between};
use crate::scene::values::{LengthUnit, OneOr, Placed};

table! {
    /// Placement: scale, then rotation, then translation, then copies.
    pub struct Placement {
        /// Scale factor: one, or [x, y, z].
        scale: OneOr<f64, 3> [between(1e-9, 1e9)] = "1",
        /// Rotation about the origin of the object.
        rotation: Rotation = "{}",
        /// Position of the origin of the object.
        position: [Length; 3] = "[0, 0, 0]",
        /// Copies of the object. Vertex indices run through all copies, one after the other.
        copies: Option<Placed<Copies>>,
    }
}

table! {
    /// A rotation about an axis.
    pub struct Rotation {
        /// Axis, of any length.
        axis: Placed<[f64; 3]> = "[0, 0, 1]",
        /// Angle, counter-clockwise when the axis points at the viewer.
        angle: Angle = "0",
    }
}

one_of! {
    /// Copies of an object.
    pub enum Copies {
        /// A regular array.
        Array(CopyArray) = "array",
        /// Random positions in a box.
        Scatter(CopyScatter) = "scatter",
    }
}

table! {
    /// A regular array of copies. The first is at the `position` of the object.
    pub struct CopyArray {
        /// Number of copies along x, y and z.
        count: [u64; 3] [between(1.0, 1e6)],
        /// Distance from copy to copy along x, y and z.
        spacing: [Length; 3],
    }
}

table! {
    /// Copies at random positions in a box.
    pub struct CopyScatter {
        /// Number of copies.
        count: u64 [between(1.0, 1e6)],
        /// Corner of the box with the smallest x, y and z, relative to the `position` of the
        /// object.
        min: [Length; 3],
        /// Corner with the largest x, y and z.
        max: [Length; 3],
        /// Smallest distance between the origins of copies. Default: the diameter of the object.
        apart: Option<Length> [between(0.0, 1e9)],
        /// Whether each copy has a random orientation.
        turned: bool = "true",
        /// Seed of the random numbers, combined with the `seed` of the scene and the name of the
        /// object.
        seed: u64 = "0",
    }
}

table! {
    /// A mesh from a file. Solids need tetrahedra (Gmsh). Groups of the file are vertex groups of
    /// the object.
    pub struct MeshFile {
        /// Path of an OBJ, PLY, Gmsh 2.2 or Gmsh 4.1 file, relative to the folder of the scene
        /// file. The shipped meshes bunny.obj, bunny_coarse.msh, bunny_fine.msh and dragon.msh are
        /// used where no file has this name.
        file: Placed<String>,
        /// Unit of length of the file.
        unit: LengthUnit = "\"m\"",
        /// Up axis of the file.
        up: Up = "\"z\"",
        /// Distance within which vertices are merged. Default: no merging.
        weld: Option<Length> [POSITIVE],
    }
}

choice! {
    /// Up axis of a file.
    pub enum Up {
        /// z, as in scenes.
        Z = "z",
        /// y: (x, y, z) of the file is (x, −z, y) of the scene.
        Y = "y",
    }
}

kinds! {
    /// Shape.
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
        /// Lengths along x, y and z.
        size: Placed<[Length; 3]> [POSITIVE],
    }
}

table! {
    /// A sphere, centred at its origin. Contact uses the exact shape.
    pub struct SphereShape {
        /// Radius.
        radius: Placed<Length> [POSITIVE],
    }
}

table! {
    /// A cylinder along z with flat ends, centred at its origin. Contact uses the exact shape.
    pub struct CylinderShape {
        /// Radius.
        radius: Placed<Length> [POSITIVE],
        /// Length from end to end.
        length: Length [POSITIVE],
    }
}

table! {
    /// A capsule along z, centred at its origin. Contact uses the exact shape.
    pub struct CapsuleShape {
        /// Radius.
        radius: Placed<Length> [POSITIVE],
        /// Distance between the centres of its hemispheres.
        length: Length [POSITIVE],
    }
}

table! {
    /// The half-space z < 0 below its origin, infinite for contact.
    pub struct PlaneShape {
        /// Side length of the square that is drawn.
        size: Placed<Length> [POSITIVE] = "2",
    }
}

table! {
    /// A cone along z: its base at z = 0, its apex above. Contact uses the exact shape.
    pub struct ConeShape {
        /// Radius of the base.
        radius: Placed<Length> [POSITIVE],
        /// Height from base to apex.
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
        /// Height from bottom to top.
        height: Length [POSITIVE],
        /// Thickness of the wall.
        wall: Length [POSITIVE],
    }
}

table! {
    /// Stairs that rise along x from the origin, centred in y.
    pub struct StairsShape {
        /// Number of steps.
        steps: Placed<u64> [between(1.0, 1e4)],
        /// Depth of a step along x.
        tread: Length [POSITIVE],
        /// Height of a step.
        rise: Length [POSITIVE],
        /// Width along y.
        width: Length [POSITIVE],
    }
}

table! {
    /// A nail along z with its tip at the origin and its head above.
    pub struct NailShape {
        /// Radius of the shank.
        radius: Placed<Length> [POSITIVE],
        /// Length from the tip to the underside of the head.
        length: Length [POSITIVE],
        /// Radius of the head.
        head_radius: Length [POSITIVE],
        /// Thickness of the head.
        head_thickness: Length [POSITIVE],
    }
}

table! {
    /// An obstacle that is not simulated: static, or with a prescribed motion.
    pub struct Collider {
        /// Prescribed motion. Default: static.
        motion: Option<Placed<Motion>>,
        /// Contact properties.
        contact: ContactProperties = "{}",
        /// Edge length of its triangles. Contact uses the triangles, except of shapes with an exact
        /// contact, whose triangles are only drawn.
        edge: Option<Placed<Length>> [POSITIVE],
    }
    with {
        /// Placement.
        placement: Placement,
        /// Shape.
        kind: ShapeKind,
    }
}
