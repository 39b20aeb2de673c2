//! From the values that a user knows of a material to the coefficients of the energies.

use std::f64::consts::PI;
use std::sync::LazyLock;

use glam::DMat3;

use crate::energy::membrane::orthotropic_stiffness;
use crate::energy::solid::LARGEST_POISSON;
use crate::scene::problem::{Place, Problem};
use crate::scene::read::{Read, Reader};
use crate::scene::tables::{BendingModel, Material, MembraneModel, SolidModel};
use crate::scene::tree::{self, Node, Value};
use crate::scene::values::Named;
use crate::units::did_you_mean;

/// The scene tables of the preset materials.
pub const PRESETS: &str = include_str!("../../../assets/materials.toml");

/// The materials that a scene can name as `preset`.
pub static PRESET_MATERIALS: LazyLock<Named<Material>> = LazyLock::new(|| {
    let mut problems = Vec::new();
    let table = tree::parse(PRESETS, 0, &mut problems);
    let node = Node {
        value: Value::Table(table),
        place: Place {
            source: 0,
            range: 0..0,
        },
    };
    // A mistake in the embedded file is found by a test, not by users.
    Named::read(&node, &mut Reader::new(&mut problems)).unwrap_or(Named(Vec::new()))
});

/// What a shell's energies need.
#[derive(Clone, Debug, PartialEq)]
pub struct ShellMaterial {
    /// Mass by area (kg/m²).
    pub area_density: f64,
    /// In-plane stiffness on (E₁₁, E₂₂, 2E₁₂) (N/m).
    pub membrane: DMat3,
    /// Bending rigidity (N m).
    pub bending: f64,
    /// Viscosity in the plane over stiffness (s).
    pub membrane_damping: f64,
    /// Viscosity in bending over stiffness (s).
    pub bending_damping: f64,
    /// Drag of a resting medium by mass (1/s).
    pub mass_damping: f64,
    /// Elastic thickness if it was given (m).
    pub thickness: Option<f64>,
    /// Young's modulus times thickness: the geometric mean of warp and weft (N/m).
    pub stretch: f64,
    /// Poisson's ratio.
    pub poisson: f64,
    /// How it resists stretch.
    pub membrane_model: MembraneModel,
    /// How it resists bending.
    pub bending_model: BendingModel,
}

/// What a rod's energies need.
#[derive(Clone, Debug, PartialEq)]
pub struct RodMaterial {
    /// Mass by length (kg/m).
    pub linear_density: f64,
    /// Force by strain (N).
    pub axial: f64,
    /// Bending stiffness along the first and the second axis of the section (N m²).
    pub bending: [f64; 2],
    /// Twisting stiffness (N m²).
    pub twist: f64,
    /// Viscosity over stiffness of stretch, bending and twist (s).
    pub damping: [f64; 3],
    /// Drag of a resting medium by mass (1/s).
    pub mass_damping: f64,
}

/// What a solid's energies need.
#[derive(Clone, Debug, PartialEq)]
pub struct SolidMaterial {
    /// Mass by volume (kg/m³).
    pub density: f64,
    /// Young's modulus (Pa).
    pub young: f64,
    /// Poisson's ratio.
    pub poisson: f64,
    /// How it resists deformation.
    pub model: SolidModel,
    /// Viscosity over stiffness (s).
    pub damping: f64,
    /// Drag of a resting medium by mass (1/s).
    pub mass_damping: f64,
}

/// Sound goes at 12 km/s in diamond (m/s).
const FASTEST_SOUND: f64 = 1e7;

/// What a material loses to heat.
struct Damping {
    /// Along (s).
    stretch: f64,
    /// Across (s).
    bending: f64,
    /// All else (s).
    all: f64,
    /// To a resting medium (1/s).
    mass: f64,
}

/// The damping of a material: what it says, else its preset, else none.
fn damping(material: &Material, preset: &Material) -> Damping {
    let time = |source: &Material, own: Option<crate::scene::tables::Duration>| {
        own.or(source.damping).map(|time| time.0)
    };
    let of = |key: fn(&Material) -> Option<crate::scene::tables::Duration>| {
        let given = time(material, key(material)).or_else(|| time(preset, key(preset)));
        given.unwrap_or(0.0)
    };
    let mass = material.mass_damping.or(preset.mass_damping);
    Damping {
        stretch: of(|source| source.membrane_damping),
        bending: of(|source| source.bending_damping),
        all: of(|_| None),
        mass: mass.map_or(0.0, |rate| rate.0),
    }
}

/// The preset that a material builds on, if any.
///
/// # Errors
/// If there is no such preset.
fn preset_of(material: &Material) -> Result<Option<&'static Material>, Problem> {
    let Some(name) = &material.preset else {
        return Ok(None);
    };
    let presets = &*PRESET_MATERIALS;
    match presets.get(&name.value) {
        Some(preset) => Ok(Some(preset)),
        None => Err(Problem {
            message: format!(
                "there is no material preset \"{}\"{}",
                name.value,
                did_you_mean(&name.value, presets.names())
            ),
            place: name.place.clone(),
            advice: format!(
                "expected one of {}",
                presets.names().collect::<Vec<_>>().join(", ")
            ),
        }),
    }
}

/// The coefficients of a shell. What the scene writes goes before what the preset gives, be it a
/// stiffness or the modulus and thickness that make one.
///
/// # Errors
/// If a value is missing; `place` is where the material is defined, `name` what it is called.
pub fn shell(material: &Material, name: &str, place: &Place) -> Result<ShellMaterial, Problem> {
    let nothing = Material::default();
    let preset = preset_of(material)?.unwrap_or(&nothing);
    let missing = |what: &str, advice: &str| missing(name, place, what, advice);
    let thickness = material.thickness.or(preset.thickness).map(|t| t.0);
    let density = material.density.or(preset.density).map(|density| density.0);
    let poisson = material.poisson.or(preset.poisson).unwrap_or(0.3);
    let area_density = material
        .area_density
        .map(|density| density.0)
        .or_else(|| Some(material.density?.0 * thickness?))
        .or(preset.area_density.map(|density| density.0))
        .or_else(|| Some(density? * thickness?))
        .ok_or_else(|| {
            missing(
                "how heavy it is",
                "`area_density`, or `density` and `thickness`",
            )
        })?;
    let both = |material: &Material| material.membrane.map(|m| m.0.map(|value| value.0));
    let by_young = |young: f64| thickness.map(|thickness| [young * thickness; 2]);
    let stretch = both(material)
        .or_else(|| by_young(material.young?.0))
        .or_else(|| both(preset))
        .or_else(|| by_young(preset.young?.0))
        .ok_or_else(|| missing("how stiff it is", "`membrane`, or `young` and `thickness`"))?;
    let plate = |young: f64| {
        thickness.map(|thickness| young * thickness.powi(3) / (12.0 * (1.0 - poisson * poisson)))
    };
    let bending = material
        .bending
        .map(|bending| bending.0)
        .or_else(|| plate(material.young?.0))
        .or(preset.bending.map(|bending| bending.0))
        .or_else(|| plate(preset.young?.0))
        .ok_or_else(|| missing("how it bends", "`bending`, or `young` and `thickness`"))?;
    // The shear modulus of an isotropic sheet, between those of the two directions.
    let shear = (stretch[0] * stretch[1]).sqrt() / (2.0 * (1.0 + poisson));
    let membrane = orthotropic_stiffness(stretch, poisson, shear);
    let is_positive = [area_density, stretch[0], stretch[1], shear]
        .iter()
        .all(|value| value.is_normal());
    if !(is_positive && membrane.is_finite() && bending.is_finite()) {
        let advice = format!(
            "it has {area_density:e} kg/m^2, {:e} N/m along warp, {:e} N/m along weft, {bending:e} N m",
            stretch[0], stretch[1]
        );
        return Err(not_computable(name, place, advice));
    }
    let damping = damping(material, preset);
    Ok(ShellMaterial {
        area_density,
        membrane,
        bending,
        membrane_damping: damping.stretch,
        bending_damping: damping.bending,
        mass_damping: damping.mass,
        stretch: (stretch[0] * stretch[1]).sqrt(),
        poisson,
        membrane_model: material
            .membrane_model
            .or(preset.membrane_model)
            .unwrap_or(MembraneModel::Stvk),
        bending_model: material
            .bending_model
            .or(preset.bending_model)
            .unwrap_or(BendingModel::Hinge),
        thickness,
    })
}

/// The coefficients of a rod whose section has these half axes (m): of an elliptic bar, unless the scene
/// or the preset gives a stiffness itself.
///
/// # Errors
/// If a value is missing.
pub fn rod(
    material: &Material,
    name: &str,
    place: &Place,
    radius: [f64; 2],
) -> Result<RodMaterial, Problem> {
    let nothing = Material::default();
    let preset = preset_of(material)?.unwrap_or(&nothing);
    let [a, b] = radius;
    let section = PI * a * b;
    let poisson = material.poisson.or(preset.poisson).unwrap_or(0.3);
    let ratio = material
        .bending_ratio
        .or(preset.bending_ratio)
        .unwrap_or(1.0);
    let bar = |young: f64| {
        let twist = young / (2.0 * (1.0 + poisson)) * PI * (a * b).powi(3) / (a * a + b * b);
        let bending = [young * section * a * a / 4.0, young * section * b * b / 4.0];
        (
            young * section,
            bending.map(|value| ratio * value),
            ratio * twist,
        )
    };
    let [own, given] = [material, preset].map(|source| source.young.map(|young| bar(young.0)));
    let linear_density = material
        .linear_density
        .map(|density| density.0)
        .or_else(|| Some(material.density?.0 * section))
        .or(preset.linear_density.map(|density| density.0))
        .or_else(|| Some(preset.density?.0 * section));
    let axial = material
        .axial
        .map(|force| force.0)
        .or(own.map(|bar| bar.0))
        .or(preset.axial.map(|force| force.0))
        .or(given.map(|bar| bar.0));
    let both = |source: &Material| source.rod_bending.map(|both| both.0.map(|value| value.0));
    let bending = both(material)
        .or(own.map(|bar| bar.1))
        .or(both(preset))
        .or(given.map(|bar| bar.1));
    let twist = material
        .rod_twist
        .map(|twist| twist.0)
        .or(own.map(|bar| bar.2))
        .or(preset.rod_twist.map(|twist| twist.0))
        .or(given.map(|bar| bar.2));
    let missing = |what: &str, advice: &str| missing(name, place, what, advice);
    let damping = damping(material, preset);
    let rod = RodMaterial {
        damping: [damping.stretch, damping.bending, damping.all],
        mass_damping: damping.mass,
        linear_density: linear_density
            .ok_or_else(|| missing("how heavy a rod is", "`density` or `linear_density`"))?,
        axial: axial.ok_or_else(|| missing("how stiff a rod is", "`young` or `axial`"))?,
        bending: bending.ok_or_else(|| missing("how a rod bends", "`young` or `rod_bending`"))?,
        twist: twist.ok_or_else(|| missing("how a rod twists", "`young` or `rod_twist`"))?,
    };
    let computable = rod.linear_density.is_normal()
        && rod.axial.is_normal()
        && is_slow(rod.axial, rod.linear_density)
        && rod
            .bending
            .iter()
            .chain([&rod.twist])
            .all(|value| value.is_finite());
    match computable {
        true => Ok(rod),
        false => Err(not_computable(
            name,
            place,
            format!(
                "a rod of it has {:e} kg/m, {:e} N, bends with {:e} and {:e} N*m^2 and twists with {:e} N*m^2: look at `young`, `density` and the `radius` of the rod",
                rod.linear_density, rod.axial, rod.bending[0], rod.bending[1], rod.twist
            ),
        )),
    }
}

/// The coefficients of a solid.
///
/// # Errors
/// If a value is missing.
pub fn solid(material: &Material, name: &str, place: &Place) -> Result<SolidMaterial, Problem> {
    let nothing = Material::default();
    let preset = preset_of(material)?.unwrap_or(&nothing);
    let young = material.young.or(preset.young);
    let young = young.ok_or_else(|| missing(name, place, "how stiff a solid is", "`young`"))?;
    let poisson = material.poisson.or(preset.poisson).unwrap_or(0.3);
    if !(0.0..=LARGEST_POISSON).contains(&poisson) {
        return Err(Problem {
            message: match poisson < 0.0 {
                true => format!("material `{name}` grows wider where it is pulled"),
                false => format!("material `{name}` cannot change its volume at all"),
            },
            place: place.clone(),
            advice: format!("a solid needs a `poisson` from 0 to {LARGEST_POISSON}, not {poisson}"),
        });
    }
    let (young, density) = (young.0, density(material, name, place)?);
    if !is_slow(young, density) {
        let advice = format!("it has {young:e} Pa and {density:e} kg/m^3: are the units right?");
        return Err(not_computable(name, place, advice));
    }
    let damping = damping(material, preset);
    Ok(SolidMaterial {
        density,
        young,
        poisson,
        model: material
            .solid_model
            .or(preset.solid_model)
            .unwrap_or(SolidModel::StableNeoHookean),
        damping: damping.all,
        mass_damping: damping.mass,
    })
}

/// Mass by volume (kg/m³).
///
/// # Errors
/// If it is missing.
pub fn density(material: &Material, name: &str, place: &Place) -> Result<f64, Problem> {
    let preset = preset_of(material)?;
    let density = material
        .density
        .or(preset.and_then(|preset| preset.density));
    density
        .map(|density| density.0)
        .ok_or_else(|| missing(name, place, "how heavy it is", "`density`"))
}

fn missing(name: &str, place: &Place, what: &str, advice: &str) -> Problem {
    Problem {
        message: format!("material `{name}` does not say {what}"),
        place: place.clone(),
        advice: format!("add {advice}, or a preset that has it"),
    }
}

/// Whether sound is slow enough in something of a stiffness and a density: stiffness and inertia beyond all proportion leave
/// no digit of the smaller one in their sum.
pub(crate) fn is_slow(stiffness: f64, density: f64) -> bool {
    stiffness / density <= FASTEST_SOUND * FASTEST_SOUND
}

fn not_computable(name: &str, place: &Place, advice: String) -> Problem {
    Problem {
        message: format!("material `{name}` has values that cannot be computed with"),
        place: place.clone(),
        advice,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::tables::{AreaDensity, Density, Length, Pressure};

    const PLACE: Place = Place {
        source: 0,
        range: 0..0,
    };

    fn preset(name: &str) -> Material {
        PRESET_MATERIALS.get(name).unwrap().clone()
    }

    #[test]
    fn every_preset_has_a_source_and_makes_something() {
        let names: Vec<&str> = PRESET_MATERIALS.names().collect();
        for name in [
            "cotton",
            "silk",
            "denim",
            "rubber",
            "steel",
            "hair",
            "nylon-rope",
        ] {
            assert!(names.contains(&name), "{name}");
        }
        for name in names {
            let material = preset(name);
            assert!(material.source.is_some(), "{name}");
            let shell = shell(&material, name, &PLACE);
            let others =
                rod(&material, name, &PLACE, [1e-3; 2]).and(solid(&material, name, &PLACE));
            assert!(shell.is_ok() || others.is_ok(), "{name}");
            if let Ok(fabric) = shell {
                assert!((0.01..1.0).contains(&fabric.area_density), "{name}");
                assert!(fabric.membrane.determinant() > 0.0, "{name}");
            }
        }
    }

    #[test]
    fn a_rod_is_an_elliptic_bar() {
        let bar = rod(&preset("steel"), "wire", &PLACE, [1e-3; 2]).unwrap();
        // E π r², E π r⁴/4, G π r⁴/2 with G = E/2.6.
        assert!((bar.axial / (210e9 * PI * 1e-6) - 1.0).abs() < 1e-12);
        assert!((bar.bending[0] / (210e9 * PI * 1e-12 / 4.0) - 1.0).abs() < 1e-12);
        assert!((bar.twist / (210e9 / 2.6 * PI * 1e-12 / 2.0) - 1.0).abs() < 1e-12);
        assert!((bar.linear_density / (7850.0 * PI * 1e-6) - 1.0).abs() < 1e-12);
        let ribbon = rod(&preset("steel"), "ribbon", &PLACE, [2e-3, 1e-3]).unwrap();
        // Four times as stiff along the longer axis, as a²/b².
        assert!((ribbon.bending[0] / ribbon.bending[1] - 4.0).abs() < 1e-12);
    }

    #[test]
    fn a_solid_must_be_able_to_change_its_volume() {
        let own = Material {
            poisson: Some(0.5),
            ..preset("steel")
        };
        let problem = solid(&own, "block", &PLACE).unwrap_err();
        assert!(problem.advice.contains("0.499"), "{}", problem.advice);
    }

    #[test]
    fn what_the_scene_writes_beats_the_preset() {
        let cotton = Material {
            young: Some(Pressure(1e5)),
            thickness: Some(Length(1e-3)),
            area_density: Some(AreaDensity(0.2)),
            ..preset("cotton")
        };
        let own = Material {
            membrane: None,
            bending: None,
            preset: None,
            ..cotton
        };
        let shell = shell(&own, "sheet", &PLACE).unwrap();
        // Eh/(1 − ν²) and Eh³/12(1 − ν²) with ν = 0.25.
        assert!((shell.membrane.x_axis.x - 100.0 / (1.0 - 0.0625)).abs() < 1e-12);
        assert!((shell.bending - 1e-4 / 12.0 / (1.0 - 0.0625)).abs() < 1e-18);
        assert_eq!(shell.area_density, 0.2);
    }

    #[test]
    fn a_missing_value_is_asked_for_by_name() {
        let only_density = Material {
            density: Some(Density(1200.0)),
            ..Material::default()
        };
        let problem = shell(&only_density, "sheet", &PLACE).unwrap_err();
        assert!(problem.message.contains("how heavy"), "{}", problem.message);
        assert!(problem.advice.contains("thickness"), "{}", problem.advice);
    }
}
