//! Grooms: rods whose roots follow the surface of a host.

use glam::{DQuat, DVec3};

use super::kind::{carry_directors, curve_length, own_thickness, rods, surface};
use super::object::ObjectItem;
use super::place::{Places, vector};
use super::refuse::smallest_length;
use super::simulate::Simulated;
use super::{Builder, Parts};
use crate::generate::groom::{self, Roots, Style};
use crate::generate::shape::Shape;
use crate::mesh::diagnose::MeshUse;
use crate::model::{ExactShape, Movement, Object, ObjectType, Rooted};
use crate::motion::Pose;
use crate::scene::tables::{Groom, Selection};
use crate::scene::values::Placed;

impl Builder<'_> {
    /// A groom on one of the objects that are already built.
    pub(super) fn groom(
        &mut self,
        item: &ObjectItem,
        table: &Groom,
        built: &[Option<Object>],
        parts: &mut Parts,
        index: usize,
    ) -> Option<Object> {
        let who = format!("object.{}", item.name);
        let material = self.material_of(item);
        let host = self.host(table, built);
        let style = self.style(item, table);
        let keys = self.refuse_unused_keys(item, table);
        let (material, host, style) = (material??, host?, style?);
        keys?;
        let rods = rods(
            &table.section,
            &material.value,
            &material.name,
            &material.place,
        );
        let rods = self.report_error(rods)?;
        let linear_density = rods.material.linear_density / rods.start_stretch;
        let host_object = built[host].as_ref()?;
        let grown = self.grown(item, table, &style, host_object)?;
        let is_prescribed = matches!(host_object.movement, Movement::Scripted(_));
        self.refuse_size(&grown.mesh, &who, &item.place)?;
        let smallest = smallest_length(&grown.mesh, MeshUse::Rods);
        self.refuse_far(&grown.mesh, smallest, &who, &item.place)?;
        let kind = ObjectType::Rods(carry_directors(rods, &grown.mesh, &[DQuat::IDENTITY]));
        let mass = linear_density * curve_length(&grown.mesh);
        let places = Places {
            scale: DVec3::ONE,
            poses: vec![Pose::IDENTITY],
        };
        let simulated = Simulated {
            item,
            index,
            kind: &kind,
            mass,
            mesh: &grown.mesh,
            whole: &grown.mesh,
            places: &places,
            place: &table.vertices.place,
            holds_roots: is_prescribed,
        };
        let movement = self.simulate(&simulated, parts)?;
        if let (false, Movement::Simulated(nodes)) = (is_prescribed, &movement) {
            let spin = self.initial_spin(host);
            parts.set_in_motion_with(host_object, spin, &grown, nodes.start);
            parts.spin_sections(index, spin);
        }
        Some(Object {
            name: item.name.clone(),
            surface: surface(&item.value.contact, own_thickness(&kind, &grown.mesh)),
            mass,
            kind,
            mesh: grown.mesh,
            copies: 1,
            movement,
            rest: None,
            rooted: Some(Rooted {
                host,
                roots: grown.roots,
            }),
        })
    }

    /// Initial angular velocity of an object; zero for colliders (rad/s).
    fn initial_spin(&self, object: usize) -> DVec3 {
        let item = self.tables.object.0.get(object);
        item.map_or(DVec3::ZERO, |item| {
            vector(item.value.angular_velocity.map(|rate| rate.0))
        })
    }

    /// The rods of a groom on its host.
    fn grown(
        &mut self,
        item: &ObjectItem,
        table: &Groom,
        style: &Style,
        host: &Object,
    ) -> Option<groom::GroomedRods> {
        let who = format!("object.{}", item.name);
        let chosen = match &table.at {
            Some(at) => self.selected_triangles(at, host, &who)?,
            None => (0..host.mesh.triangles.len() as u32).collect(),
        };
        let triangles = chosen.iter();
        let triangles: Vec<[u32; 3]> = triangles
            .map(|triangle| host.mesh.triangles[*triangle as usize])
            .collect();
        let skin = groom::HostSurface {
            points: &host.mesh.points,
            triangles: &triangles,
        };
        let area: f64 = crate::mesh::surface::areas(skin.points, skin.triangles)
            .iter()
            .sum();
        let roots = match style.roots {
            Roots::Density(density) => density * area,
            Roots::Count(count) => count as f64,
        };
        self.refuse_vertices(roots * style.vertices as f64, &who, &table.vertices.place)?;
        let mut grown = match groom::groom(&skin, style) {
            Ok(grown) => grown,
            Err(reason) => {
                let advice = match (roots < 0.5, style.spacing > 0.0) {
                    (true, _) => "give a larger `density`, or a `count`",
                    (false, true) => "give fewer roots or a smaller `spacing`",
                    (false, false) => "change the numbers of the groom",
                };
                let message = format!("`{who}` cannot be generated: {reason}");
                self.problem(&item.place, message, advice);
                return None;
            }
        };
        self.vertices += grown.mesh.points.len();
        for root in &mut grown.roots {
            root.triangle = chosen[root.triangle as usize];
        }
        if let ObjectType::Collider(Some(exact)) | ObjectType::Rigid(Some(exact), _) = &host.kind {
            lift_to(exact, host, &mut grown);
        }
        Some(grown)
    }

    /// The triangles of a host with all vertices in a selection.
    fn selected_triangles(
        &mut self,
        at: &Placed<Selection>,
        host: &Object,
        who: &str,
    ) -> Option<Vec<u32>> {
        let vertices = self.selected(at, host, who)?;
        let is_chosen = |corner: &u32| vertices.binary_search(corner).is_ok();
        let triangles = host.mesh.triangles.iter().zip(0..);
        let chosen = triangles.filter(|(corners, _)| corners.iter().all(is_chosen));
        let chosen: Vec<u32> = chosen.map(|(_, triangle)| triangle).collect();
        if chosen.is_empty() {
            let message = format!("`{who}` selects no triangle of `{}`", host.name);
            let advice = "select all three vertices of triangles";
            self.problem(&at.place, message, advice);
            return None;
        }
        Some(chosen)
    }

    /// Index of the host of a groom.
    fn host(&mut self, table: &Groom, built: &[Option<Object>]) -> Option<usize> {
        let tables = self.tables;
        let names: Vec<&str> = tables
            .object
            .names()
            .chain(tables.collider.names())
            .collect();
        let index = self.find("object or collider", &table.on, &names)?;
        // A host that could not be built is already reported.
        let is_bare = match &built[index] {
            Some(object) => object.mesh.triangles.is_empty(),
            None => {
                index < tables.object.0.len()
                    && matches!(
                        tables.object.0[index].value.kind,
                        crate::scene::tables::ObjectKind::Groom(_)
                    )
            }
        };
        if is_bare {
            let message = format!("`{}` has no surface on which hair can grow", table.on.value);
            let advice = "name cloth, a solid, a prop or a collider";
            self.problem(&table.on.place, message, advice);
            return None;
        }
        built[index].as_ref().map(|_| index)
    }

    /// Refuses keys of objects that have no effect on a groom.
    fn refuse_unused_keys(&mut self, item: &ObjectItem, table: &Groom) -> Option<()> {
        let object = &item.value;
        let placement = &object.placement;
        let is_zero = |components: [f64; 3]| components == [0.0; 3];
        let given = [
            ("motion", object.motion.is_some()),
            ("velocity", !is_zero(object.velocity.map(|speed| speed.0))),
            (
                "angular_velocity",
                !is_zero(object.angular_velocity.map(|rate| rate.0)),
            ),
            (
                "position",
                !is_zero(placement.position.map(|length| length.0)),
            ),
            ("rotation", placement.rotation.angle.0 != 0.0),
            ("scale", placement.scale.0 != [1.0; 3]),
            ("copies", placement.copies.is_some()),
        ];
        let mut result = Some(());
        for (key, _) in given.iter().filter(|(_, is_given)| *is_given) {
            let message = format!(
                "`object.{}` cannot have `{key}`: it follows `{}`",
                item.name, table.on.value
            );
            let advice = format!("omit `{key}`, or give it to `{}`", table.on.value);
            self.problem(&item.place, message, advice);
            result = None;
        }
        result
    }

    fn style(&mut self, item: &ObjectItem, table: &Groom) -> Option<Style> {
        let roots = match (&table.density, &table.count) {
            (Some(density), None) => Roots::Density(density.value.0),
            (None, Some(count)) => Roots::Count(count.value as usize),
            (None, None) => {
                let message = format!("`object.{}` has no number of hairs", item.name);
                self.problem(&item.place, message, "add `density` or `count`");
                return None;
            }
            (Some(_), Some(count)) => {
                let message = format!("`object.{}` has both `density` and `count`", item.name);
                self.problem(&count.place, message, "give one of them");
                return None;
            }
        };
        let direction = match &table.direction {
            None => None,
            Some(given) => Some(self.direction(given, "`direction` must not be zero")?),
        };
        Some(Style {
            roots,
            length: table.length.0,
            length_variation: table.length_variation,
            vertices: table.vertices.value as usize,
            curl_radius: table.curl_radius.0,
            curl_pitch: table.curl_pitch.0,
            direction,
            lean: table.lean,
            stray: table.stray.0,
            spacing: table.spacing.0,
            seed: self.seed_of(&format!("object.{}", item.name), table.seed),
        })
    }
}

impl Parts {
    /// Initial velocities of rods: each moves rigidly with its root, which rotates.
    fn set_in_motion_with(
        &mut self,
        host: &Object,
        spin: DVec3,
        grown: &groom::GroomedRods,
        first: usize,
    ) {
        let velocity = |vertex: u32| match &host.movement {
            Movement::Simulated(nodes) => self.velocities[nodes.start + vertex as usize],
            Movement::Carried(carried) => carried.at(vertex as usize, &self.velocities),
            Movement::Scripted(_) => DVec3::ZERO,
        };
        let points = &grown.mesh.points;
        let mut velocities = vec![DVec3::ZERO; points.len()];
        for (curve, root) in grown.mesh.curves.iter().zip(&grown.roots) {
            let corners = host.mesh.triangles[root.triangle as usize];
            let place = corners.into_iter().zip(root.weights);
            let of_root: DVec3 = place
                .map(|(corner, weight)| velocity(corner) * weight)
                .sum();
            let vertices = curve.first as usize..(curve.first + curve.count) as usize;
            let base = points[vertices.start];
            for vertex in vertices {
                velocities[vertex] = of_root + spin.cross(points[vertex] - base);
            }
        }
        self.velocities[first..first + points.len()].copy_from_slice(&velocities);
    }
}

/// Moves rods from the drawn triangles of a shape to the exact shape.
fn lift_to(exact: &ExactShape, host: &Object, grown: &mut groom::GroomedRods) {
    let triangles_of_copy = (host.mesh.triangles.len() / host.copies.max(1)).max(1);
    let points = &mut grown.mesh.points;
    for (curve, root) in grown.mesh.curves.iter().zip(&grown.roots) {
        let first = curve.first as usize;
        let pose = exact.poses.get(root.triangle as usize / triangles_of_copy);
        let Some(lift) = pose.and_then(|pose| lift_of(&exact.shape, pose, points[first])) else {
            continue;
        };
        for point in &mut points[first..first + curve.count as usize] {
            *point += lift;
        }
    }
}

/// Vector from a point near a shape to the shape.
fn lift_of(shape: &Shape, pose: &Pose, point: DVec3) -> Option<DVec3> {
    let at = pose.inverse().apply(point);
    let depth = shape.distance(at)?;
    // Gradient of the distance by central differences. The distance is about 1/1000 of the size.
    let step = 1e-6 * at.abs().max_element();
    let slope = |axis: DVec3| {
        let ahead = shape.distance(at + step * axis)?;
        Some(ahead - shape.distance(at - step * axis)?)
    };
    let gradient = vector([slope(DVec3::X)?, slope(DVec3::Y)?, slope(DVec3::Z)?]);
    Some(pose.turn * (gradient.normalize_or_zero() * -depth))
}

#[cfg(test)]
mod tests {
    use crate::model::Model;
    use crate::scene::{Scene, SceneRequest};

    fn model(collider: &str, groom: &str) -> Model {
        let text = format!(
            "time.duration = 1\n[material.a]\ndensity = 1000\nyoung = 1e9\n\
             [collider.ball]\nkind = \"sphere\"\n{collider}\n\
             [object.hair]\nkind = \"groom\"\non = \"ball\"\nmaterial = \"a\"\n{groom}\n"
        );
        let request = SceneRequest {
            text,
            ..SceneRequest::default()
        };
        Model::build(&Scene::read(&request).unwrap()).unwrap()
    }

    #[test]
    fn roots_are_on_the_exact_surface_of_a_tiny_sphere() {
        // A fixed difference of 1 um for the gradient was as large as this sphere.
        let model = model(
            "radius = \"1 um\"",
            "count = 50\nlength = \"0.1 um\"\nvertices = 3\nradius = \"1 nm\"",
        );
        let mesh = &model.objects[0].mesh;
        for curve in &mesh.curves {
            let radius = mesh.points[curve.first as usize].length();
            assert!((radius / 1e-6 - 1.0).abs() < 1e-6, "{radius}");
        }
    }

    #[test]
    fn roots_on_overlapping_copies_stay_on_their_own_copy() {
        // Roots moved to the nearest of all spheres, which took a minute for 100,000 rods on 10,000
        // spheres.
        let copies = "{ array = { count = [20, 1, 1], spacing = [1.5, 0, 0] } }";
        let model = model(
            &format!("radius = 1\nedge = 1\ncopies = {copies}"),
            "count = 2000\nlength = 0.1\nvertices = 3\nradius = 0.001",
        );
        let (hair, ball) = (&model.objects[0], &model.objects[1]);
        let roots = &hair.rooted.as_ref().unwrap().roots;
        let of_copy = ball.mesh.triangles.len() / ball.copies;
        for (curve, root) in hair.mesh.curves.iter().zip(roots) {
            let copy = root.triangle as usize / of_copy;
            let center = glam::DVec3::X * (1.5 * copy as f64);
            let radius = hair.mesh.points[curve.first as usize].distance(center);
            assert!((radius - 1.0).abs() < 1e-6, "{radius}");
        }
    }
}
