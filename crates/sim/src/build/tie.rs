//! Ties: springs of attachments, stitches and hair roots on simulated hosts.

use glam::DVec3;

use super::Builder;
use crate::mesh::nearest::NearestTree;
use crate::model::{Movement, Object, ObjectType, Tie};
use crate::scene::tables;
use crate::scene::values::NamedItem;
use crate::units::short_number;

/// Stiffness of the springs that keep the direction of a root, relative to the bending stiffness of
/// the first edge. The axial stiffness would be too much: strains of the host would stretch and
/// compress the first edges.
const ROOT_DIRECTION_FACTOR: f64 = 500.0;

/// Ties of the roots of a groom to a simulated host, in both directions: a spring with the axial
/// stiffness of the first edge, from the first vertex to its root; and softer springs from the
/// second vertex to the corners of the root's triangle, which keep its direction.
fn root_ties(index: usize, object: &Object, objects: &[Object]) -> Vec<Tie> {
    let (Some(rooted), ObjectType::Rods(rods)) = (&object.rooted, &object.kind) else {
        return Vec::new();
    };
    let host = &objects[rooted.host];
    if matches!(host.movement, Movement::Scripted(_)) {
        return Vec::new();
    }
    let mut ties = Vec::new();
    for (curve, root) in object.mesh.curves.iter().zip(&rooted.roots) {
        let [first, second] = [curve.first, curve.first + 1];
        let [base, next] = [first, second].map(|vertex| object.mesh.points[vertex as usize]);
        let corners = host.mesh.triangles[root.triangle as usize];
        let edge = base.distance(next);
        let axial = rods.material.axial / edge;
        let [one, other] = rods.material.bending;
        let across = (ROOT_DIRECTION_FACTOR * one.max(other) / edge.powi(3)).min(axial);
        let mut tie = |vertex: u32, to: Vec<(u32, f64)>, length: f64, stiffness: f64| {
            ties.push(Tie {
                name: object.name.clone(),
                from: (index, vertex),
                to: (rooted.host, to),
                stiffness,
                length: [length; 2],
                close: 0.0,
                release: f64::INFINITY,
            });
        };
        let place = corners.into_iter().zip(root.weights).collect();
        tie(first, place, 0.0, axial);
        for corner in corners {
            let place = host.mesh.points[corner as usize];
            tie(second, vec![(corner, 1.0)], next.distance(place), across);
        }
    }
    ties
}

impl Builder<'_> {
    pub(super) fn ties(&mut self, objects: &[Object]) -> Option<Vec<Tie>> {
        let tables = self.tables;
        let mut ties = Vec::new();
        let mut complete = true;
        for item in &tables.attachment.0 {
            let attached = self.attachment(item, objects);
            complete &= attached.is_some();
            ties.extend(attached.unwrap_or_default());
        }
        for item in &tables.stitch.0 {
            let stitched = self.stitch(item, objects);
            complete &= stitched.is_some();
            ties.extend(stitched.unwrap_or_default());
        }
        for (index, object) in objects.iter().enumerate() {
            ties.extend(root_ties(index, object, objects));
        }
        complete.then_some(ties)
    }

    fn attachment(
        &mut self,
        item: &NamedItem<tables::Attachment>,
        objects: &[Object],
    ) -> Option<Vec<Tie>> {
        let table = &item.value;
        let names: Vec<&str> = objects.iter().map(|object| object.name.as_str()).collect();
        let from = self.find("object", &table.object, &names);
        let to = self.find("object or collider", &table.to, &names);
        let (from, to) = (from?, to?);
        if from == to {
            let message = format!(
                "`attachment.{}` attaches `{}` to itself",
                item.name, names[from]
            );
            let advice = "use a stitch between vertices of one object";
            self.problem(&table.to.place, message, advice);
            return None;
        }
        let who = format!("attachment.{}", item.name);
        let vertices = self.selected(&table.at, &objects[from], &who)?;
        let release = self.stop(tables::Duration(0.0), table.release.as_ref())?;
        let places = nearest_points(&objects[to], &vertices, &objects[from]);
        let (mut ties, mut nearest) = (Vec::new(), f64::INFINITY);
        for (vertex, found) in vertices.iter().zip(places) {
            let Some((weights, distance)) = found else {
                continue;
            };
            nearest = nearest.min(distance);
            if distance > table.reach.0 {
                continue;
            }
            ties.push(Tie {
                name: item.name.clone(),
                from: (from, *vertex),
                to: (to, weights),
                stiffness: table.stiffness.0,
                length: [distance; 2],
                close: 0.0,
                release,
            });
        }
        if ties.is_empty() {
            let message = format!(
                "`attachment.{}` has no effect: no vertex is within {} m of `{}`",
                item.name, table.reach.0, names[to]
            );
            let advice = format!(
                "the nearest is {} m away; give a larger `reach`, or move the object",
                short_number(nearest)
            );
            self.problem(&table.at.place, message, advice);
            return None;
        }
        Some(ties)
    }

    fn stitch(&mut self, item: &NamedItem<tables::Stitch>, objects: &[Object]) -> Option<Vec<Tie>> {
        let table = &item.value;
        let names: Vec<&str> = objects.iter().map(|object| object.name.as_str()).collect();
        let mut sides = Vec::new();
        for side in [&table.from, &table.to] {
            let object = self.find("object", &side.object, &names)?;
            sides.push((object, self.selection(&side.at, &objects[object])?));
        }
        let [(from, row), (to, other)] = sides.as_slice() else {
            return None;
        };
        if row.len() != other.len() || row.is_empty() {
            let message = format!(
                "`stitch.{}` joins {} vertices to {}",
                item.name,
                row.len(),
                other.len()
            );
            let advice = "select the same number of vertices on both sides";
            self.problem(&table.to.at.place, message, advice);
            return None;
        }
        let place = |object: usize, vertex: u32| objects[object].mesh.points[vertex as usize];
        let mut ties = Vec::new();
        for (one, two) in row.iter().zip(other) {
            if (from, one) == (to, two) {
                let message = format!(
                    "`stitch.{}` joins vertex {one} of `{}` to itself",
                    item.name, names[*from]
                );
                let advice = "select other vertices, or another order";
                self.problem(&table.to.at.place, message, advice);
                return None;
            }
            let distance = place(*from, *one).distance(place(*to, *two));
            ties.push(Tie {
                name: item.name.clone(),
                from: (*from, *one),
                to: (*to, vec![(*two, 1.0)]),
                stiffness: table.stiffness.0,
                length: [distance, table.length.0],
                close: table.close.0,
                release: f64::INFINITY,
            });
        }
        Some(ties)
    }
}

/// A point as vertices with weights, and its distance (m).
type NearestPoint = (Vec<(u32, f64)>, f64);

/// The nearest point of an object for each vertex of another.
fn nearest_points(to: &Object, vertices: &[u32], from: &Object) -> Vec<Option<NearestPoint>> {
    let mesh = &to.mesh;
    let places = vertices
        .iter()
        .map(|vertex| from.mesh.points[*vertex as usize]);
    if mesh.triangles.is_empty() {
        let edges = mesh.curve_edges();
        let nearest = NearestTree::of_edges(&mesh.points, &edges);
        let find = |place: DVec3| {
            let found = nearest.find(place)?;
            Some((
                weighted(&edges[found.element], &found.weights),
                found.distance,
            ))
        };
        return places.map(find).collect();
    }
    let nearest = NearestTree::of_triangles(&mesh.points, &mesh.triangles);
    let find = |place: DVec3| {
        let found = nearest.find(place)?;
        Some((
            weighted(&mesh.triangles[found.element], &found.weights),
            found.distance,
        ))
    };
    places.map(find).collect()
}

fn weighted(vertices: &[u32], weights: &[f64]) -> Vec<(u32, f64)> {
    vertices
        .iter()
        .copied()
        .zip(weights.iter().copied())
        .collect()
}
