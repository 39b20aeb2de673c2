//! What things are made of.

use super::{
    AreaDensity, BendingRigidity, Density, Duration, Force, Length, LinearDensity,
    MembraneStiffness, Pressure, Rate, RodRigidity,
};
use crate::scene::define::{choice, table};
use crate::scene::shape::{NOT_NEGATIVE, POSITIVE, between};
use crate::scene::values::{OneOr, Placed};

table! {
    /// What something is made of. A preset gives every value that is not written here.
    pub struct Material derive Default {
        /// A material of the list at the end of this page, such as "cotton" or "rubber".
        preset: Option<Placed<String>>,
        /// Young's modulus.
        young: Option<Pressure> [POSITIVE],
        /// Poisson's ratio.
        poisson: Option<f64> [between(-0.95, 0.5)],
        /// Elastic thickness of a shell. How thick it is for contact is another matter:
        /// `contact.thickness` of the object.
        thickness: Option<Length> [POSITIVE],
        /// Mass by volume.
        density: Option<Density> [POSITIVE],
        /// Mass by area of a shell; `density` times `thickness` if left out.
        area_density: Option<AreaDensity> [POSITIVE],
        /// In-plane stiffness of a shell, one value or [warp, weft]; `young` times `thickness` if
        /// left out.
        membrane: Option<OneOr<MembraneStiffness, 2>> [POSITIVE],
        /// Bending rigidity of a shell; that of a plate of `young`, `thickness` and `poisson` if
        /// left out.
        bending: Option<BendingRigidity> [NOT_NEGATIVE],
        /// Mass by length of a rod; `density` times its section if left out.
        linear_density: Option<LinearDensity> [POSITIVE],
        /// Force by strain of a rod; `young` times its section if left out.
        axial: Option<Force> [POSITIVE],
        /// Bending stiffness of a rod, one value or that along the first and the second axis of
        /// its section; that of an elastic bar of `young` and its radius if left out.
        rod_bending: Option<OneOr<RodRigidity, 2>> [NOT_NEGATIVE],
        /// Twisting stiffness of a rod; that of an elastic bar of `young`, `poisson` and its radius
        /// if left out.
        rod_twist: Option<RodRigidity> [NOT_NEGATIVE],
        /// Stiffness of a rod in bending and twist over that of an elastic bar, where those come from
        /// `young`: strands that slide along each other bend easily. 1 if left out.
        bending_ratio: Option<f64> [between(1e-9, 1.0)],
        /// How a shell resists stretch. "stvk" if left out.
        membrane_model: Option<MembraneModel>,
        /// How a shell resists bending. "hinge" if left out.
        bending_model: Option<BendingModel>,
        /// How a solid resists deformation. "stable-neo-hookean" if left out.
        solid_model: Option<SolidModel>,
        /// Viscosity as a time: stress by strain rate over stress by strain.
        damping: Option<Duration> [NOT_NEGATIVE],
        /// The same in the plane of a shell and along a rod; `damping` if left out.
        membrane_damping: Option<Duration> [NOT_NEGATIVE],
        /// The same for bending of shells and rods; `damping` if left out.
        bending_damping: Option<Duration> [NOT_NEGATIVE],
        /// Drag of a resting medium: force by velocity and mass.
        mass_damping: Option<Rate> [NOT_NEGATIVE],
        /// Where the values come from.
        source: Option<String>,
    }
}

choice! {
    /// How a shell resists stretch and shear.
    pub enum MembraneModel {
        /// St. Venant and Kirchhoff: quadratic in Green's strain. Stiffens as it stretches, softens as it is pressed.
        Stvk = "stvk",
        /// Neo-Hookean: as rubber; never folds through itself. The mean of both directions counts.
        NeoHookean = "neo-hookean",
        /// Quadratic in the change of lengths: force grows in proportion to elongation. The mean of both directions counts.
        Corotated = "corotated",
        /// Springs along the edges (as in Harmon et al. 2008). Depends on the mesh.
        Springs = "springs",
    }
}

choice! {
    /// How a shell resists bending.
    pub enum BendingModel {
        /// Angles at the edges (Grinspun et al. 2003). Fast; Poisson's ratio is fixed, and twisting depends on the mesh.
        Hinge = "hinge",
        /// Curvature of triangles (Grinspun et al. 2006): a plate with `bending` and `poisson`.
        Plate = "plate",
    }
}

choice! {
    /// How a solid resists deformation. All resist inversion with finite forces.
    pub enum SolidModel {
        /// Linear elasticity in axes that turn along (Müller and Gross 2004).
        Corotated = "corotated",
        /// The same with a volume term that pushes inverted elements back (Stomakhin et al. 2012).
        FixedCorotated = "fixed-corotated",
        /// Neo-Hookean, extrapolated where elements are nearly flat (Stomakhin et al. 2012).
        NeoHookean = "neo-hookean",
        /// Neo-Hookean without a singularity (Smith et al. 2018).
        StableNeoHookean = "stable-neo-hookean",
    }
}
