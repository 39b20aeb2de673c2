//! Materials and their constitutive models.

use super::{
    AreaDensity, BendingRigidity, Density, Duration, Force, Length, LinearDensity,
    MembraneStiffness, Pressure, Rate, RodRigidity,
};
use crate::scene::define::{choice, table};
use crate::scene::schema::{NOT_NEGATIVE, POSITIVE, between};
use crate::scene::values::{OneOr, Placed};

table! {
    /// A material: values, or a preset with changes. Cloth needs mass per area, membrane and
    /// bending stiffness; rods need `density` and `young`, or the values of rods; solids need
    /// `density` and `young`; rigid props need `density` or their own `mass`.
    pub struct Material derive Default {
        /// A material from the list at the end of this page, such as "cotton" or "rubber". Values
        /// in this table override those of the preset.
        preset: Option<Placed<String>>,
        /// Young's modulus.
        young: Option<Pressure> [POSITIVE],
        /// Poisson's ratio. Solids need 0 to 0.499. Default: 0.3.
        poisson: Option<f64> [between(-0.95, 0.5)],
        /// Elastic thickness of a shell. The thickness for contact is `contact.thickness` of the
        /// object.
        thickness: Option<Length> [POSITIVE],
        /// Mass per volume.
        density: Option<Density> [POSITIVE],
        /// Mass per area of a shell. Default: `density` · `thickness`.
        area_density: Option<AreaDensity> [POSITIVE],
        /// Membrane stiffness of a shell, Young's modulus times thickness: one value or
        /// [warp, weft]. Default: `young` · `thickness`.
        membrane: Option<OneOr<MembraneStiffness, 2>> [POSITIVE],
        /// Bending rigidity of a shell. Default: `young` · `thickness`³ / (12 (1 − `poisson`²)).
        bending: Option<BendingRigidity> [NOT_NEGATIVE],
        /// Mass per length of a rod. Default: `density` times the area of its section.
        linear_density: Option<LinearDensity> [POSITIVE],
        /// Axial stiffness of a rod: force per strain. Default: `young` times the area of its
        /// section.
        axial: Option<Force> [POSITIVE],
        /// Bending stiffness of a rod: one value, or one for each axis of its section. Default:
        /// `young` times the second moment of area of its section, times `bending_ratio`.
        rod_bending: Option<OneOr<RodRigidity, 2>> [NOT_NEGATIVE],
        /// Torsional stiffness of a rod. Default: that of an elliptic bar of `young`, `poisson` and
        /// its `radius`, times `bending_ratio`.
        rod_twist: Option<RodRigidity> [NOT_NEGATIVE],
        /// Bending and torsional stiffness of a rod over those of a homogeneous bar. Ropes and
        /// cables have small values, because their strands slide. Default: 1.
        bending_ratio: Option<f64> [between(1e-9, 1.0)],
        /// Membrane model of shells. Default: "stvk".
        membrane_model: Option<MembraneModel>,
        /// Bending model of shells. Default: "hinge".
        bending_model: Option<BendingModel>,
        /// Constitutive model of solids. Default: "stable-neo-hookean".
        solid_model: Option<SolidModel>,
        /// Stiffness-proportional damping: viscosity over stiffness. Default: 0.
        damping: Option<Duration> [NOT_NEGATIVE],
        /// Damping of stretch and shear of shells, and of stretch of rods. Default: `damping`.
        membrane_damping: Option<Duration> [NOT_NEGATIVE],
        /// Damping of bending of shells and rods. Default: `damping`.
        bending_damping: Option<Duration> [NOT_NEGATIVE],
        /// Mass-proportional damping: drag force per mass and velocity. Default: 0.
        mass_damping: Option<Rate> [NOT_NEGATIVE],
        /// Source of the values, for the reader.
        source: Option<String>,
    }
}

choice! {
    /// Membrane model: resistance of a shell to stretch and shear.
    pub enum MembraneModel {
        /// St. Venant-Kirchhoff: quadratic in Green strain, orthotropic. Stiffens in tension,
        /// softens in compression.
        Stvk = "stvk",
        /// Neo-Hookean, for rubber. Resists collapse of triangles. Isotropic: uses the mean of warp
        /// and weft.
        NeoHookean = "neo-hookean",
        /// Corotated: force proportional to elongation. Isotropic: uses the mean of warp and weft.
        Corotated = "corotated",
        /// Springs along the edges (Harmon et al. 2008). Depends on the mesh.
        Springs = "springs",
    }
}

choice! {
    /// Bending model of a shell.
    pub enum BendingModel {
        /// Dihedral angles at edges (Grinspun et al. 2003). Fast, but its effective Poisson's ratio
        /// and its resistance to twist depend on the mesh.
        Hinge = "hinge",
        /// Curvature at vertices, from the dihedral angles around them (Cohen-Steiner and Morvan
        /// 2003): a plate with `bending` and `poisson`, accurate on any mesh. Its border can be
        /// clamped: `clamp` of a pin.
        Plate = "plate",
    }
}

choice! {
    /// Constitutive model of a solid. All models have finite forces in inverted elements.
    pub enum SolidModel {
        /// Corotated linear elasticity (Müller and Gross 2004).
        Corotated = "corotated",
        /// Fixed corotated, which recovers inverted elements (Stomakhin et al. 2012).
        FixedCorotated = "fixed-corotated",
        /// Neo-Hookean, extrapolated near inversion (Stomakhin et al. 2012).
        NeoHookean = "neo-hookean",
        /// Stable neo-Hookean: no singularity (Smith et al. 2018).
        StableNeoHookean = "stable-neo-hookean",
    }
}
