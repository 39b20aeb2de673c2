//! Materials of a scene as coefficients of the energies.
//!
//! A value comes from the material table, else from its preset. At both levels a stiffness may be
//! given directly, or by Young's modulus and the thickness or section; a direct value has
//! precedence at the same level.

use std::f64::consts::PI;

use glam::DMat3;

use crate::energy::membrane::orthotropic_stiffness;
use crate::energy::solid::LARGEST_POISSON;
use crate::scene::presets::PRESET_MATERIALS;
use crate::scene::problem::{Place, Problem};
use crate::scene::tables::{self, BendingModel, Material, MembraneModel, SolidModel};
use crate::units::did_you_mean;

/// Coefficients of the energies of a shell.
#[derive(Clone, Debug, PartialEq)]
pub struct ShellMaterial {
    /// Mass per area (kg/m²).
    pub area_density: f64,
    /// Membrane stiffness on (E₁₁, E₂₂, 2E₁₂) (N/m).
    pub membrane: DMat3,
    /// Bending rigidity (N m).
    pub bending: f64,
    /// Viscosity over stiffness of stretch and shear (s).
    pub membrane_damping: f64,
    /// Viscosity over stiffness of bending (s).
    pub bending_damping: f64,
    /// Mass-proportional damping (1/s).
    pub mass_damping: f64,
    /// Elastic thickness, if given (m).
    pub thickness: Option<f64>,
    /// Young's modulus times thickness: the geometric mean of warp and weft (N/m).
    pub stretch: f64,
    /// Poisson's ratio.
    pub poisson: f64,
    /// Membrane model.
    pub membrane_model: MembraneModel,
    /// Bending model.
    pub bending_model: BendingModel,
}

/// Coefficients of the energies of a rod.
#[derive(Clone, Debug, PartialEq)]
pub struct RodMaterial {
    /// Mass per length (kg/m).
    pub linear_density: f64,
    /// Axial stiffness: force per strain (N).
    pub axial: f64,
    /// Bending stiffness towards the first and the second axis of the section (N m²).
    pub bending: [f64; 2],
    /// Torsional stiffness (N m²).
    pub twist: f64,
    /// Viscosity over stiffness of stretch, bending and twist (s).
    pub damping: [f64; 3],
    /// Mass-proportional damping (1/s).
    pub mass_damping: f64,
}

/// Coefficients of the energy of a solid.
#[derive(Clone, Debug, PartialEq)]
pub struct SolidMaterial {
    /// Mass per volume (kg/m³).
    pub density: f64,
    /// Young's modulus (Pa).
    pub young: f64,
    /// Poisson's ratio.
    pub poisson: f64,
    /// Constitutive model.
    pub model: SolidModel,
    /// Viscosity over stiffness (s).
    pub damping: f64,
    /// Mass-proportional damping (1/s).
    pub mass_damping: f64,
}

/// Largest speed of sound of a material (m/s). Diamond has 1.2e4 m/s.
const MAX_SOUND_SPEED: f64 = 1e7;

/// Poisson's ratio of materials that do not give it.
const DEFAULT_POISSON: f64 = 0.3;

/// Damping of a material.
struct Damping {
    /// Viscosity over stiffness of stretch (s).
    stretch: f64,
    /// Viscosity over stiffness of bending (s).
    bending: f64,
    /// Viscosity over stiffness of other deformations (s).
    all: f64,
    /// Mass-proportional damping (1/s).
    mass: f64,
}

/// Damping of a material, else of its preset, else 0.
fn damping(material: &Material, preset: &Material) -> Damping {
    let time = |source: &Material, own: Option<tables::Duration>| {
        own.or(source.damping).map(|time| time.0)
    };
    let of = |key: fn(&Material) -> Option<tables::Duration>| {
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

/// The preset of a material, if it has one.
///
/// # Errors
/// If the preset does not exist.
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

/// Coefficients of a shell.
///
/// # Errors
/// If a value is missing. `place` is the location of the material, `name` its name.
pub fn shell(material: &Material, name: &str, place: &Place) -> Result<ShellMaterial, Problem> {
    let nothing = Material::default();
    let preset = preset_of(material)?.unwrap_or(&nothing);
    let missing = |what: &str, advice: &str| missing(name, place, what, advice);
    let thickness = material.thickness.or(preset.thickness).map(|t| t.0);
    let poisson = poisson(material, preset);
    let area_density = area_density(material, preset, thickness).ok_or_else(|| {
        let advice = "`area_density`, or `density` and `thickness`";
        missing("mass per area", advice)
    })?;
    let stretch = membrane_stiffness(material, preset, thickness).ok_or_else(|| {
        missing(
            "membrane stiffness",
            "`membrane`, or `young` and `thickness`",
        )
    })?;
    let bending = bending_rigidity(material, preset, thickness, poisson)
        .ok_or_else(|| missing("bending rigidity", "`bending`, or `young` and `thickness`"))?;
    // The shear modulus of an isotropic sheet, between those of the two directions.
    let shear = (stretch[0] * stretch[1]).sqrt() / (2.0 * (1.0 + poisson));
    let membrane = orthotropic_stiffness(stretch, poisson, shear);
    let is_positive = [area_density, stretch[0], stretch[1], shear]
        .iter()
        .all(|value| value.is_normal());
    if !(is_positive && membrane.is_finite() && bending.is_finite()) {
        let [warp, weft] = stretch;
        let advice = format!(
            "it has {area_density:e} kg/m^2, {warp:e} N/m along warp, {weft:e} N/m along weft, \
             {bending:e} N*m: check the units"
        );
        return Err(out_of_range(name, place, advice));
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

/// Poisson's ratio of a material or its preset.
fn poisson(material: &Material, preset: &Material) -> f64 {
    material
        .poisson
        .or(preset.poisson)
        .unwrap_or(DEFAULT_POISSON)
}

/// Mass per area of a shell (kg/m²).
fn area_density(material: &Material, preset: &Material, thickness: Option<f64>) -> Option<f64> {
    let density = material.density.or(preset.density).map(|density| density.0);
    material
        .area_density
        .map(|density| density.0)
        .or_else(|| Some(material.density?.0 * thickness?))
        .or(preset.area_density.map(|density| density.0))
        .or_else(|| Some(density? * thickness?))
}

/// Young's modulus times thickness along warp and weft (N/m).
fn membrane_stiffness(
    material: &Material,
    preset: &Material,
    thickness: Option<f64>,
) -> Option<[f64; 2]> {
    let direct = |material: &Material| material.membrane.map(|m| m.0.map(|value| value.0));
    let by_young = |young: f64| thickness.map(|thickness| [young * thickness; 2]);
    direct(material)
        .or_else(|| by_young(material.young?.0))
        .or_else(|| direct(preset))
        .or_else(|| by_young(preset.young?.0))
}

/// Bending rigidity of a shell (N m); E t³/(12 (1 − ν²)) from Young's modulus E.
fn bending_rigidity(
    material: &Material,
    preset: &Material,
    thickness: Option<f64>,
    poisson: f64,
) -> Option<f64> {
    let by_young = |young: f64| {
        thickness.map(|thickness| young * thickness.powi(3) / (12.0 * (1.0 - poisson * poisson)))
    };
    material
        .bending
        .map(|bending| bending.0)
        .or_else(|| by_young(material.young?.0))
        .or(preset.bending.map(|bending| bending.0))
        .or_else(|| by_young(preset.young?.0))
}

/// Stiffnesses of a bar with an elliptic section.
#[derive(Clone, Copy)]
struct Bar {
    /// Axial stiffness (N).
    axial: f64,
    /// Bending stiffness towards both axes (N m²).
    bending: [f64; 2],
    /// Torsional stiffness (N m²).
    twist: f64,
}

impl Bar {
    /// A bar of Young's modulus (Pa) and Poisson's ratio, with semi-axes `[a, b]` (m). Bending and
    /// torsion are multiplied by `ratio`.
    fn new(young: f64, poisson: f64, [a, b]: [f64; 2], ratio: f64) -> Bar {
        let section = PI * a * b;
        let twist = young / (2.0 * (1.0 + poisson)) * PI * (a * b).powi(3) / (a * a + b * b);
        let bending = [young * section * a * a / 4.0, young * section * b * b / 4.0];
        Bar {
            axial: young * section,
            bending: bending.map(|value| ratio * value),
            twist: ratio * twist,
        }
    }
}

/// Coefficients of a rod whose section has these semi-axes (m): those of an elliptic bar, unless
/// the material or its preset gives a stiffness directly.
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
    let poisson = poisson(material, preset);
    let ratio = material
        .bending_ratio
        .or(preset.bending_ratio)
        .unwrap_or(1.0);
    let bars = [material, preset].map(|source| {
        let young = source.young?;
        Some(Bar::new(young.0, poisson, radius, ratio))
    });
    let axial = first_given(
        [material, preset],
        bars,
        |source| source.axial.map(|force| force.0),
        |bar| bar.axial,
    );
    let bending = first_given(
        [material, preset],
        bars,
        |source| source.rod_bending.map(|both| both.0.map(|value| value.0)),
        |bar| bar.bending,
    );
    let twist = first_given(
        [material, preset],
        bars,
        |source| source.rod_twist.map(|twist| twist.0),
        |bar| bar.twist,
    );
    let missing = |what: &str, advice: &str| missing(name, place, what, advice);
    let damping = damping(material, preset);
    let rod = RodMaterial {
        damping: [damping.stretch, damping.bending, damping.all],
        mass_damping: damping.mass,
        linear_density: linear_density(material, preset, radius)
            .ok_or_else(|| missing("mass per length of rods", "`density` or `linear_density`"))?,
        axial: axial.ok_or_else(|| missing("axial stiffness of rods", "`young` or `axial`"))?,
        bending: bending
            .ok_or_else(|| missing("bending stiffness of rods", "`young` or `rod_bending`"))?,
        twist: twist
            .ok_or_else(|| missing("torsional stiffness of rods", "`young` or `rod_twist`"))?,
    };
    if rod.is_computable() {
        return Ok(rod);
    }
    let advice = format!(
        "a rod of it has {:e} kg/m, {:e} N, bending stiffnesses {:e} and {:e} N*m^2 and torsional \
         stiffness {:e} N*m^2: check `young`, `density` and the `radius` of the rod",
        rod.linear_density, rod.axial, rod.bending[0], rod.bending[1], rod.twist
    );
    Err(out_of_range(name, place, advice))
}

impl RodMaterial {
    /// Whether all coefficients are in the range of numbers.
    fn is_computable(&self) -> bool {
        self.linear_density.is_normal()
            && self.axial.is_normal()
            && has_valid_sound_speed(self.axial, self.linear_density)
            && self
                .bending
                .iter()
                .chain([&self.twist])
                .all(|value| value.is_finite())
    }
}

/// First given value: of the material, of its bar, of the preset, of the bar of the preset.
fn first_given<T>(
    [material, preset]: [&Material; 2],
    [own, given]: [Option<Bar>; 2],
    direct: impl Fn(&Material) -> Option<T>,
    by_young: impl Fn(Bar) -> T,
) -> Option<T> {
    direct(material)
        .or_else(|| own.map(&by_young))
        .or_else(|| direct(preset))
        .or_else(|| given.map(&by_young))
}

/// Mass per length of a rod (kg/m).
fn linear_density(material: &Material, preset: &Material, [a, b]: [f64; 2]) -> Option<f64> {
    let section = PI * a * b;
    material
        .linear_density
        .map(|density| density.0)
        .or_else(|| Some(material.density?.0 * section))
        .or(preset.linear_density.map(|density| density.0))
        .or_else(|| Some(preset.density?.0 * section))
}

/// Coefficients of a solid.
///
/// # Errors
/// If a value is missing.
pub fn solid(material: &Material, name: &str, place: &Place) -> Result<SolidMaterial, Problem> {
    let nothing = Material::default();
    let preset = preset_of(material)?.unwrap_or(&nothing);
    let young = material.young.or(preset.young);
    let young = young.ok_or_else(|| missing(name, place, "Young's modulus", "`young`"))?;
    let poisson = poisson(material, preset);
    if !(0.0..=LARGEST_POISSON).contains(&poisson) {
        return Err(Problem {
            message: if poisson < 0.0 {
                format!("material `{name}` has a negative Poisson's ratio")
            } else {
                format!("material `{name}` is incompressible")
            },
            place: place.clone(),
            advice: format!("solids need a `poisson` from 0 to {LARGEST_POISSON}, not {poisson}"),
        });
    }
    let (young, density) = (young.0, density(material, name, place)?);
    if !has_valid_sound_speed(young, density) {
        let advice = format!("it has {young:e} Pa and {density:e} kg/m^3: check the units");
        return Err(out_of_range(name, place, advice));
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

/// Mass per volume (kg/m³).
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
        .ok_or_else(|| missing(name, place, "density", "`density`"))
}

fn missing(name: &str, place: &Place, what: &str, advice: &str) -> Problem {
    Problem {
        message: format!("material `{name}` has no {what}"),
        place: place.clone(),
        advice: format!("add {advice}, or a `preset` with this value"),
    }
}

/// Whether the speed of sound √(stiffness/density) is realistic. If it is far too large, rounding
/// loses the inertia in the sum of inertia and stiffness.
pub(crate) fn has_valid_sound_speed(stiffness: f64, density: f64) -> bool {
    stiffness / density <= MAX_SOUND_SPEED * MAX_SOUND_SPEED
}

fn out_of_range(name: &str, place: &Place, advice: String) -> Problem {
    Problem {
        message: format!("the values of material `{name}` are too large or too small"),
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
    fn every_preset_has_a_source_and_all_values_of_a_kind() {
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
    fn a_rod_has_the_stiffness_of_an_elliptic_bar() {
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
    fn an_incompressible_solid_is_refused() {
        let own = Material {
            poisson: Some(0.5),
            ..preset("steel")
        };
        let problem = solid(&own, "block", &PLACE).unwrap_err();
        assert!(problem.advice.contains("0.499"), "{}", problem.advice);
    }

    #[test]
    fn values_of_the_material_override_the_preset() {
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
    fn a_missing_value_is_reported_with_its_keys() {
        let only_density = Material {
            density: Some(Density(1200.0)),
            ..Material::default()
        };
        let problem = shell(&only_density, "sheet", &PLACE).unwrap_err();
        assert!(
            problem.message.contains("no mass per area"),
            "{}",
            problem.message
        );
        assert!(problem.advice.contains("thickness"), "{}", problem.advice);
    }
}
