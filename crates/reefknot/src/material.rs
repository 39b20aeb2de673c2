//! From the values that a user knows of a material to the coefficients of the energies.

use std::sync::LazyLock;

use glam::DMat3;

use crate::energy::membrane::orthotropic_stiffness;
use crate::scene::problem::{Place, Problem};
use crate::scene::read::{Read, Reader};
use crate::scene::tables::Material;
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
    let missing = |what: &str, advice: &str| Problem {
        message: format!("material `{name}` does not say {what}"),
        place: place.clone(),
        advice: format!("add {advice}, or a preset"),
    };
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
        return Err(Problem {
            message: format!("material `{name}` has values that cannot be computed with"),
            place: place.clone(),
            advice: format!(
                "it has {area_density:e} kg/m^2, {:e} N/m along warp, {:e} N/m along weft, {bending:e} N m",
                stretch[0], stretch[1]
            ),
        });
    }
    let damping = |own: Option<f64>, given: Option<f64>| own.or(given).unwrap_or(0.0);
    Ok(ShellMaterial {
        area_density,
        membrane,
        bending,
        membrane_damping: damping(
            material.membrane_damping.map(|time| time.0),
            preset.membrane_damping.map(|time| time.0),
        ),
        bending_damping: damping(
            material.bending_damping.map(|time| time.0),
            preset.bending_damping.map(|time| time.0),
        ),
        mass_damping: damping(
            material.mass_damping.map(|rate| rate.0),
            preset.mass_damping.map(|rate| rate.0),
        ),
        thickness,
    })
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
    fn every_preset_is_a_complete_fabric_with_a_source() {
        let names: Vec<&str> = PRESET_MATERIALS.names().collect();
        assert_eq!(names, ["cotton", "silk", "denim", "nylon"]);
        for name in names {
            let fabric = shell(&preset(name), name, &PLACE).unwrap();
            assert!((0.01..1.0).contains(&fabric.area_density), "{name}");
            assert!(fabric.membrane.determinant() > 0.0, "{name}");
            assert!(preset(name).source.is_some(), "{name}");
        }
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
