//! Probable mistakes of a scene: wrong units, defects of meshes, conflicts of pins, keys without
//! effect, intersections at the start.

use std::ops::Range;

use super::pins::check_pins;
use super::start::intersections;
use super::{Finding, Severity, finding};
use crate::generate::shape::Shape;
use crate::integrate::refuse_unstable;
use crate::mesh::Mesh;
use crate::mesh::diagnose::{self, MeshUse};
use crate::model::{ExactShape, Model, Object, ObjectType};
use crate::scene::Scene;
use crate::scene::presets::PRESET_MATERIALS;
use crate::scene::tables::Material;
use crate::units::short_number;

/// Longest time step without a warning (s), unless the method is quasi-static.
const MAX_USUAL_STEP: f64 = 0.1;

/// Largest contact thickness of a rod without a warning, as a multiple of its shortest edge.
/// Neighbours along a rod do not collide, so it may be larger than 1.
const MAX_ROD_THICKNESS: f64 = 5.0;

/// Finds probable mistakes of a scene.
#[must_use]
pub fn check_scene(scene: &Scene, model: &Model) -> Vec<Finding> {
    let mut findings = Vec::new();
    if model.objects.iter().all(Object::is_collider) {
        findings.push(finding(Severity::Warning, "the scene has no objects"));
    }
    check_presets(scene, &mut findings);
    for object in &model.objects {
        check_mesh(object, &mut findings);
        check_units(object, &mut findings);
        check_thickness(object, &mut findings);
    }
    check_pins(model, &mut findings);
    check_scripted(scene, model, &mut findings);
    if let Err(error) = refuse_unstable(model) {
        findings.push(finding(Severity::Wrong, error.to_string()));
    }
    for sentence in intersections(model) {
        findings.push(finding(Severity::Wrong, sentence));
    }
    let h = model.clock.h();
    if h > MAX_USUAL_STEP && !model.method.quasi_static {
        let sentence = format!("the time step of {h} s damps fast motion; give a shorter `time.h`");
        findings.push(finding(Severity::Warning, sentence));
    }
    findings
}

/// Finds defects of a mesh that do not prevent its simulation.
fn check_mesh(object: &Object, findings: &mut Vec<Finding>) {
    let use_as = match object.kind {
        ObjectType::Shell(_) => MeshUse::Shell,
        ObjectType::Rods(_) => MeshUse::Rods,
        ObjectType::Solid(_) => MeshUse::Solid,
        ObjectType::Embedded(..) | ObjectType::Rigid(..) | ObjectType::Collider(_) => {
            MeshUse::Collider
        }
    };
    // Contact uses the exact shape; the drawn mesh of a plane, for example, is not closed.
    if matches!(
        &object.kind,
        ObjectType::Collider(Some(_)) | ObjectType::Rigid(Some(_), _)
    ) {
        return;
    }
    for defect in diagnose::diagnose(&object.first_copy(), use_as) {
        let sentence = format!("`{}`: {defect}", object.name);
        findings.push(finding(Severity::Warning, sentence));
    }
}

/// Finds values outside of the usual orders of magnitude.
fn check_units(object: &Object, findings: &mut Vec<Finding>) {
    let name = &object.name;
    let mut unusual = |value: f64, range: Range<f64>, what: &str, unit: &str| {
        if !range.contains(&value) {
            findings.push(finding(
                Severity::Warning,
                format!(
                    "`{name}` has {what} of {} {unit}, which is unusual: check the unit",
                    short_number(value)
                ),
            ));
        }
    };
    // The size of a plane is only drawn.
    let is_plane = |exact: &ExactShape| matches!(exact.shape, Shape::Plane { .. });
    let is_plane = matches!(&object.kind, ObjectType::Collider(Some(exact)) if is_plane(exact));
    if !is_plane {
        unusual(object.first_copy().diagonal(), 1e-3..50.0, "a size", "m");
    }
    match &object.kind {
        ObjectType::Shell(material) => {
            unusual(
                material.area_density,
                5e-3..3.0,
                "an area density",
                "kg/m^2",
            );
            unusual(
                material.membrane.x_axis.x,
                1.0..1e9,
                "a membrane stiffness",
                "N/m",
            );
            unusual(material.bending, 0.0..1e4, "a bending rigidity", "N*m");
        }
        ObjectType::Rods(rods) => {
            let section = std::f64::consts::PI * rods.radius[0] * rods.radius[1];
            let density = rods.material.linear_density / section;
            unusual(rods.radius[0], 2e-6..0.2, "a radius", "m");
            unusual(density, 20.0..25e3, "a density", "kg/m^3");
            unusual(
                rods.material.axial / section,
                1e3..2e12,
                "a Young's modulus",
                "Pa",
            );
        }
        ObjectType::Solid(material) | ObjectType::Embedded(material, _) => {
            unusual(material.density, 5.0..25e3, "a density", "kg/m^3");
            unusual(material.young, 50.0..2e12, "a Young's modulus", "Pa");
        }
        ObjectType::Rigid(_, properties) => {
            let density = object.mass / object.copies as f64 / properties.volume;
            unusual(density, 5.0..25e3, "a density", "kg/m^3");
        }
        ObjectType::Collider(_) => {}
    }
}

/// Finds thicknesses larger than the edges of the mesh, with which neighbours would collide.
fn check_thickness(object: &Object, findings: &mut Vec<Finding>) {
    let mesh = object.first_copy();
    let Some((shortest, [a, b])) = shortest_edge(&mesh) else {
        return;
    };
    let name = &object.name;
    let at = mesh.points[a as usize];
    let [x, y, z] = at.to_array().map(short_number);
    let place = format!(
        "its shortest edge, {a}-{b} at ({x}, {y}, {z}) m, has a length of {} m",
        short_number(shortest)
    );
    let contact = object.surface.thickness;
    let most = match object.kind {
        ObjectType::Rods(_) => MAX_ROD_THICKNESS * shortest,
        _ => shortest,
    };
    if contact > most {
        let sentence = format!(
            "`{name}` has a contact thickness of {contact} m, but {place}: use fewer vertices or a \
             smaller `contact.thickness`"
        );
        findings.push(finding(Severity::Warning, sentence));
    }
    if let ObjectType::Shell(material) = &object.kind
        && let Some(thickness) = material.thickness
        && thickness > shortest
        && thickness != contact
    {
        let sentence = format!(
            "`{name}` has a thickness of {thickness} m, but {place}: use fewer vertices or a \
             smaller `thickness`"
        );
        findings.push(finding(Severity::Warning, sentence));
    }
}

/// The shortest edge of triangles and curves, and its length (m).
fn shortest_edge(mesh: &Mesh) -> Option<(f64, [u32; 2])> {
    let sides = mesh
        .triangles
        .iter()
        .flat_map(|[a, b, c]| [[*a, *b], [*b, *c], [*c, *a]]);
    let edges = sides.chain(mesh.curves.iter().flat_map(|curve| curve.edges()));
    let length = |[a, b]: [u32; 2]| mesh.points[a as usize].distance(mesh.points[b as usize]);
    edges
        .map(|edge| (length(edge), edge))
        .min_by(|one, other| one.0.total_cmp(&other.0))
}

/// Finds values that differ from the preset by more than materials of this type do.
fn check_presets(scene: &Scene, findings: &mut Vec<Finding>) {
    for item in &scene.tables.material.0 {
        let material = &item.value;
        let preset = material.preset.as_ref().and_then(|name| {
            PRESET_MATERIALS
                .get(&name.value)
                .map(|preset| (&name.value, preset))
        });
        let Some((preset_name, preset)) = preset else {
            continue;
        };
        for (key, unit, most) in [
            ("density", "kg/m^3", 3.0),
            ("area_density", "kg/m^2", 5.0),
            ("thickness", "m", 20.0),
            ("young", "Pa", 1e3),
        ] {
            let (Some(own), Some(usual)) = (value_of(material, key), value_of(preset, key)) else {
                continue;
            };
            if !(1.0 / most..=most).contains(&(own / usual)) {
                let sentence = format!(
                    "`{key}` of material `{}` is {} {unit}, that of the preset \"{preset_name}\" \
                     is {} {unit}: check the unit",
                    item.name,
                    short_number(own),
                    short_number(usual)
                );
                findings.push(finding(Severity::Warning, sentence));
            }
        }
    }
}

fn value_of(material: &Material, key: &str) -> Option<f64> {
    match key {
        "density" => material.density.map(|value| value.0),
        "area_density" => material.area_density.map(|value| value.0),
        "thickness" => material.thickness.map(|value| value.0),
        _ => material.young.map(|value| value.0),
    }
}

/// Finds velocities and loads of scripted objects, which have no effect.
fn check_scripted(scene: &Scene, model: &Model, findings: &mut Vec<Finding>) {
    let mut without_effect = |what: String, object: &str| {
        let sentence = format!(
            "{what} has no effect, because `{object}` has a `motion`: remove one of the two"
        );
        findings.push(finding(Severity::Warning, sentence));
    };
    for item in &scene.tables.object.0 {
        if item.value.motion.is_none() {
            continue;
        }
        let is_zero = |components: [f64; 3]| components == [0.0; 3];
        if !is_zero(item.value.velocity.map(|speed| speed.0)) {
            without_effect(format!("the `velocity` of `{}`", item.name), &item.name);
        }
        if !is_zero(item.value.angular_velocity.map(|rate| rate.0)) {
            let what = format!("the `angular_velocity` of `{}`", item.name);
            without_effect(what, &item.name);
        }
        let loads = model.loads.iter();
        for load in loads.filter(|load| model.objects[load.object].name == item.name) {
            without_effect(format!("`load.{}`", load.name), &item.name);
        }
    }
}
