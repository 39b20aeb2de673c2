//! Type, material, mass and contact thickness of objects.

use glam::DQuat;

use super::Builder;
use super::director::directors;
use super::object::ObjectItem;
use crate::generate::shape::Shape;
use crate::material;
use crate::mesh::Mesh;
use crate::mesh::diagnose::MeshUse;
use crate::mesh::mass::volume_properties;
use crate::mesh::surface::areas;
use crate::model::contact::SurfaceProperties;
use crate::model::{ObjectType, Rods};
use crate::scene::problem::{Place, Problem};
use crate::scene::tables::{ContactProperties, Material, ObjectKind, RodSection};
use crate::scene::values::NamedItem;

impl<'a> Builder<'a> {
    /// The material of an object. Rigid props with a `mass` need none.
    pub(super) fn material_of(
        &mut self,
        item: &ObjectItem,
    ) -> Option<Option<&'a NamedItem<Material>>> {
        let materials: Vec<&str> = self.tables.material.names().collect();
        if let Some(name) = &item.value.material {
            let index = self.find("material", name, &materials)?;
            return Some(Some(&self.tables.material.0[index]));
        }
        if let ObjectKind::Rigid(rigid) = &item.value.kind
            && rigid.mass.is_some()
        {
            return Some(None);
        }
        let message = format!("`object.{}` has no material", item.name);
        let advice = if materials.is_empty() {
            "add `material = \"NAME\"` and a table [material.NAME]".to_owned()
        } else {
            format!(
                "add `material = \"NAME\"`; the scene has {}",
                materials.join(", ")
            )
        };
        self.problem(&item.place, message, advice);
        None
    }

    /// Type of an object with its material, and the mass of one copy (kg).
    pub(super) fn kind(
        &mut self,
        item: &ObjectItem,
        material: Option<&'a NamedItem<Material>>,
        mesh: &Mesh,
        shape: Option<&Shape>,
        place: &Place,
    ) -> Option<(ObjectType, f64)> {
        let nothing = Material::default();
        let (table, name, at) = match material {
            Some(item) => (&item.value, item.name.as_str(), &item.place),
            None => (&nothing, "", place),
        };
        let volume = || volume_properties(&mesh.points, &mesh.triangles);
        let result = match &item.value.kind {
            ObjectKind::Rigid(rigid) => {
                let properties = shape.and_then(Shape::mass_properties);
                let properties = properties.unwrap_or_else(volume);
                self.refuse_hollow(properties.volume, &item.name, place)?;
                let mass = match &rigid.mass {
                    Some(mass) => Ok(mass.value.0),
                    None => material::density(table, name, at)
                        .map(|density| density * properties.volume),
                };
                mass.map(|mass| (ObjectType::Rigid(None, properties), mass))
            }
            ObjectKind::Embedded(embedded) => {
                self.refuse_hollow(volume().volume, &item.name, place)?;
                let embedding =
                    self.embed(mesh, &embedded.cells, &format!("object.{}", item.name))?;
                let solid = material::solid(table, name, at);
                solid.map(|solid| {
                    let mass = solid.density * volume().volume;
                    (ObjectType::Embedded(solid, embedding), mass)
                })
            }
            kind => match (rod_section(kind), mesh.tetrahedra.is_empty()) {
                (Some(section), _) => rods(section, table, name, at).map(|rods| {
                    let density = rods.material.linear_density / rods.start_stretch;
                    let mass = density * curve_length(mesh);
                    (ObjectType::Rods(rods), mass)
                }),
                (None, true) => material::shell(table, name, at).map(|shell| {
                    let area: f64 = areas(&mesh.points, &mesh.triangles).iter().sum();
                    let mass = shell.area_density * area;
                    (ObjectType::Shell(shell), mass)
                }),
                (None, false) => material::solid(table, name, at).map(|solid| {
                    let mass = solid.density * volume().volume;
                    (ObjectType::Solid(solid), mass)
                }),
            },
        };
        self.report_error(result).and_then(|(kind, mass)| {
            if mass.is_normal() && mass > 0.0 {
                return Some((kind, mass));
            }
            let message = format!("`object.{}` would have a mass of {mass:e} kg", item.name);
            let advice = "give another size or density";
            self.problem(place, message, advice);
            None
        })
    }

    /// Refuses surfaces without a volume, which have neither mass nor inertia.
    fn refuse_hollow(&mut self, volume: f64, name: &str, place: &Place) -> Option<()> {
        if volume.is_normal() && volume > 0.0 {
            return Some(());
        }
        let (message, advice) = if volume < 0.0 {
            (
                format!("the normals of `object.{name}` point inwards"),
                "flip all triangles in the file",
            )
        } else {
            (
                format!("the surface of `object.{name}` encloses no volume"),
                "give a closed surface, or make it a collider",
            )
        };
        self.problem(place, message, advice);
        None
    }

    /// The value of a result. An error is reported.
    pub(super) fn report_error<T>(&mut self, result: Result<T, Problem>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(problem) => {
                self.add_problem(problem);
                None
            }
        }
    }
}

/// Use of the mesh of an object.
pub(super) fn use_of(kind: &ObjectKind) -> MeshUse {
    match kind {
        ObjectKind::ClothGrid(_)
        | ObjectKind::ClothStrip(_)
        | ObjectKind::ClothDisc(_)
        | ObjectKind::ClothMesh(_) => MeshUse::Shell,
        ObjectKind::SolidBox(_)
        | ObjectKind::SolidBeam(_)
        | ObjectKind::SolidBall(_)
        | ObjectKind::SolidHalfBall(_)
        | ObjectKind::SolidRing(_)
        | ObjectKind::SolidTube(_)
        | ObjectKind::SolidMesh(_) => MeshUse::Solid,
        ObjectKind::Embedded(_) | ObjectKind::Rigid(_) => MeshUse::Collider,
        _ => MeshUse::Rods,
    }
}

/// Cross-section of rods; `None` for other kinds.
fn rod_section(kind: &ObjectKind) -> Option<&RodSection> {
    match kind {
        ObjectKind::Rod(rod) => Some(&rod.section),
        ObjectKind::RodHelix(rod) => Some(&rod.section),
        ObjectKind::RodRing(rod) => Some(&rod.section),
        ObjectKind::RodSpline(rod) => Some(&rod.section),
        ObjectKind::RodMesh(rod) => Some(&rod.section),
        ObjectKind::ReefKnot(knot) => Some(&knot.section),
        ObjectKind::Groom(groom) => Some(&groom.section),
        _ => None,
    }
}

/// Rods of a section and a material, without edges ([`carry_directors`]).
pub(super) fn rods(
    section: &RodSection,
    material: &Material,
    name: &str,
    place: &Place,
) -> Result<Rods, Problem> {
    let radius = section.radius.value.0.map(|length| length.0);
    let proximity = section.proximity_radius.map(|length| length.0);
    Ok(Rods {
        material: material::rod(material, name, place, radius)?,
        radius,
        proximity_radius: proximity.unwrap_or(radius[0].max(radius[1])),
        natural_curvature: section
            .natural_curvature
            .map(|both| both.map(|value| value.0)),
        natural_twist: section.natural_twist.map(|twist| twist.0),
        start_twist: section.start_twist.0,
        start_stretch: section.start_stretch,
        quasi_static_twist: section.quasi_static_twist,
        edges: Vec::new(),
        directors: Vec::new(),
    })
}

/// Rods with the edges of all copies of a mesh, and with twist-free directors, which rotate with
/// their copy.
pub(super) fn carry_directors(rods: Rods, mesh: &Mesh, turns: &[DQuat]) -> Rods {
    let (count, edges) = (mesh.points.len() as u32, mesh.curve_edges());
    let directors = directors(mesh);
    let copies = || (0..).zip(turns);
    let of_copy = |(copy, _)| edges.iter().map(move |edge| edge.map(|v| copy * count + v));
    let turned = |(_, turn): (u32, &DQuat)| {
        let turn = *turn;
        directors.iter().map(move |director| turn * *director)
    };
    Rods {
        edges: copies().flat_map(of_copy).collect(),
        directors: copies().flat_map(turned).collect(),
        ..rods
    }
}

/// Total length of all curves (m).
pub(super) fn curve_length(mesh: &Mesh) -> f64 {
    let length = |[a, b]: [u32; 2]| mesh.points[a as usize].distance(mesh.points[b as usize]);
    mesh.curves
        .iter()
        .flat_map(|curve| curve.edges())
        .map(length)
        .sum()
}

/// Default contact thickness of an object (m).
pub(super) fn own_thickness(kind: &ObjectType, mesh: &Mesh) -> f64 {
    match kind {
        ObjectType::Shell(material) => material.thickness.unwrap_or(0.0),
        ObjectType::Rods(rods) => 2.0 * rods.proximity_radius,
        ObjectType::Solid(_) | ObjectType::Embedded(..) | ObjectType::Rigid(..) => {
            1e-3 * mesh.diagonal()
        }
        ObjectType::Collider(_) => 0.0,
    }
}

/// Contact properties of an object or collider.
pub(super) fn surface(properties: &ContactProperties, own_thickness: f64) -> SurfaceProperties {
    let thickness = properties.thickness.as_ref();
    SurfaceProperties {
        friction: properties.friction,
        thickness: thickness.map_or(own_thickness, |thickness| thickness.value.0),
        restitution: properties.restitution,
        cohesion: properties.cohesion.map(|force| force.0),
        compliance: properties.compliance.map(|compliance| compliance.0),
    }
}
