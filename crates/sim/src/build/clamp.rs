//! Clamped elements: rigid edges of rods, and clamped borders of plates.

use std::sync::Arc;

use glam::DVec3;

use super::Builder;
use super::elements::shell;
use crate::energy::plate;
use crate::material::ShellMaterial;
use crate::model::{Body, Clamp, Elements, Object, ObjectType, Pin, RodElements};
use crate::scene::problem::Place;
use crate::scene::tables;
use crate::scene::values::NamedItem;

impl Builder<'_> {
    /// Builds the elements of shells with clamped borders again, with the clamped edges.
    pub(super) fn clamp_borders(
        &mut self,
        objects: &[Object],
        bodies: &mut [Body],
        pins: &[Pin],
    ) -> Option<()> {
        let tables = self.tables;
        for (index, object) in objects.iter().enumerate() {
            let of_object = |(item, pin): &(&NamedItem<tables::Pin>, &Pin)| {
                item.value.clamp.value && pin.object == index
            };
            let clamps: Vec<_> = tables.pin.0.iter().zip(pins).filter(of_object).collect();
            let Some((first, _)) = clamps.first() else {
                continue;
            };
            let place = &first.value.clamp.place;
            let ObjectType::Shell(material) = &object.kind else {
                let message = format!("`clamp` needs a shell, and `{}` is none", object.name);
                self.problem(place, message, "omit `clamp`");
                return None;
            };
            if material.bending_model != tables::BendingModel::Plate {
                let message = format!(
                    "`clamp` needs the bending model \"plate\", which `{}` does not have",
                    object.name
                );
                let advice = "give its material `bending_model = \"plate\"`";
                self.problem(place, message, advice);
                return None;
            }
            let mut is_held = vec![false; object.mesh.points.len()];
            for (item, pin) in &clamps {
                let motion = &pin.script.motion;
                if motion.pose(self.tables.time.duration.value.0).turn != motion.pose(0.0).turn {
                    let message = format!(
                        "`pin.{}` rotates, which clamped borders do not support",
                        item.name
                    );
                    let advice = "use a motion without rotation";
                    self.problem(&item.value.clamp.place, message, advice);
                    return None;
                }
                pin.vertices
                    .iter()
                    .for_each(|vertex| is_held[*vertex as usize] = true);
            }
            let mut body_first = None;
            for body in bodies.iter_mut().filter(|body| body.object == index) {
                let first = body.nodes.start - *body_first.get_or_insert(body.nodes.start);
                let held = &is_held[first..first + body.nodes.len()];
                self.clamp_body(object, material, body, held, place)?;
            }
        }
        Some(())
    }

    /// Clamps the border edges of a body whose two vertices are held.
    fn clamp_body(
        &mut self,
        object: &Object,
        material: &ShellMaterial,
        body: &mut Body,
        is_held: &[bool],
        place: &Place,
    ) -> Option<()> {
        let mesh = object.rest_copy();
        let normal = |corners: [u32; 3]| {
            let [a, b, c] = corners.map(|corner| mesh.points[corner as usize]);
            (b - a).cross(c - a).normalize_or_zero()
        };
        let clamps: Vec<plate::ClampedEdge> = border_edges(&mesh.triangles)
            .into_iter()
            .filter(|(edge, _)| edge.iter().all(|vertex| is_held[*vertex as usize]))
            .map(|(edge, triangle)| plate::ClampedEdge {
                edge,
                normal: normal(triangle),
            })
            .collect();
        let warp = self.warps.get(&object.name).copied().unwrap_or(DVec3::X);
        match shell(&mesh, material, warp, &clamps) {
            Ok(elements) => {
                body.elements = Elements::Blocks(Arc::new(elements));
                Some(())
            }
            Err(reason) => {
                let message = format!(
                    "the border of `{}` cannot be clamped: {reason}",
                    object.name
                );
                self.problem(place, message, "select other vertices");
                None
            }
        }
    }
}

/// Makes the edges rigid that clamps hold from the start.
pub(super) fn stiffen_clamps(bodies: &mut [Body], pins: &[Pin], clamps: &[Clamp]) {
    for clamp in clamps.iter().filter(|clamp| pins[clamp.pin].start == 0.0) {
        let object = pins[clamp.pin].object;
        let mut first = None;
        for body in bodies.iter_mut().filter(|body| body.object == object) {
            let first = *first.get_or_insert(body.edges.start);
            // The elements are not shared yet, so `get_mut` succeeds.
            let Elements::Rods(rods) = &mut body.elements else {
                continue;
            };
            let Some(rods) = Arc::get_mut(rods) else {
                continue;
            };
            for edge in clamp.edges.iter().map(|edge| first + *edge as usize) {
                if body.edges.contains(&edge) {
                    rods.is_rigid[edge - body.edges.start] = true;
                }
            }
        }
    }
}

/// Adapts the rest angles at rigid edges, so that rods whose rest shape is the initial shape start
/// without forces.
pub(super) fn keep_rest_shapes(bodies: &mut [Body], objects: &[Object]) {
    for body in bodies {
        let (Elements::Rods(elements), ObjectType::Rods(rods)) =
            (&mut body.elements, &objects[body.object].kind)
        else {
            continue;
        };
        let as_at_start = [
            rods.natural_curvature.is_none(),
            rods.natural_twist.is_none(),
        ];
        if let Some(RodElements {
            batch, is_rigid, ..
        }) = Arc::get_mut(elements)
        {
            batch.keep_angles(is_rigid, as_at_start);
        }
    }
}

/// Border edges, each with its triangle.
fn border_edges(triangles: &[[u32; 3]]) -> Vec<([u32; 2], [u32; 3])> {
    let mut sides: Vec<([u32; 2], [u32; 3])> = Vec::new();
    for triangle @ [a, b, c] in triangles {
        for (one, other) in [(*a, *b), (*b, *c), (*c, *a)] {
            sides.push(([one.min(other), one.max(other)], *triangle));
        }
    }
    sides.sort_unstable();
    let alone = sides.chunk_by(|one, other| one.0 == other.0);
    alone
        .filter(|same| same.len() == 1)
        .map(|same| same[0])
        .collect()
}
