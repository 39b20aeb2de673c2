//! Pins, clamps and loads.

use glam::DVec3;

use super::Builder;
use super::place::vector;
use crate::mesh::Curve;
use crate::model::{Clamp, Load, Movement, Object, ObjectType, Pin};
use crate::scene::problem::Place;
use crate::scene::tables::{self, RodEnd, Selection};
use crate::scene::values::{NamedItem, Placed};
use crate::units::short_number;

impl Builder<'_> {
    pub(super) fn pins(&mut self, objects: &[Object]) -> Option<Vec<Pin>> {
        let tables = self.tables;
        let pins = tables.pin.0.iter();
        let pins: Vec<Option<Pin>> = pins.map(|item| self.pin(item, objects)).collect();
        pins.into_iter().collect()
    }

    fn pin(&mut self, item: &NamedItem<tables::Pin>, objects: &[Object]) -> Option<Pin> {
        let pin = &item.value;
        let index = self.movable(&pin.object, objects)?;
        let object = &objects[index];
        let vertices = self.selected(&pin.at, object, &format!("pin.{}", item.name))?;
        let release = self.stop(pin.start, pin.release.as_ref())?;
        let script = self.hold_script(pin.motion.as_ref(), object, &vertices)?;
        let nodes = self.held_nodes(object, &vertices, pin)?;
        Some(Pin {
            name: item.name.clone(),
            object: index,
            nodes,
            vertices,
            holds: held_axes(pin.free.as_deref()),
            script,
            start: pin.start.0,
            release,
        })
    }

    /// All clamps, each with the pin of its vertices.
    pub(super) fn clamps(&mut self, objects: &[Object]) -> Option<Vec<(Clamp, Pin)>> {
        let tables = self.tables;
        let clamps = tables.clamp.0.iter();
        let clamps: Vec<Option<(Clamp, Pin)>> =
            clamps.map(|item| self.clamp(item, objects)).collect();
        clamps.into_iter().collect()
    }

    fn clamp(
        &mut self,
        item: &NamedItem<tables::Clamp>,
        objects: &[Object],
    ) -> Option<(Clamp, Pin)> {
        let clamp = &item.value;
        if self.tables.pin.index(&item.name).is_some() {
            let message = format!("`{}` is the name of a pin and a clamp", item.name);
            self.problem(&item.place, message, "rename one of them");
            return None;
        }
        let index = self.movable(&clamp.object, objects)?;
        let object = &objects[index];
        let (vertices, edges) = clamped(&object.mesh.curves, clamp.end);
        if !matches!(object.kind, ObjectType::Rods(_)) || edges.is_empty() {
            let message = format!("`{}` has no open rods", object.name);
            let advice = "clamps hold ends of rods; use a pin";
            self.problem(&clamp.object.place, message, advice);
            return None;
        }
        let release = self.stop(clamp.start, clamp.release.as_ref())?;
        let twist = self.twist(clamp.twist.as_ref());
        let script = self.hold_script(clamp.motion.as_ref(), object, &vertices)?;
        let nodes = nodes_of(object, &vertices);
        let pin = Pin {
            name: item.name.clone(),
            object: index,
            nodes,
            vertices,
            holds: held_axes(clamp.free.as_deref()),
            script,
            start: clamp.start.0,
            release,
        };
        let clamp = Clamp {
            name: item.name.clone(),
            pin: 0,
            edges,
            twist: twist?,
        };
        Some((clamp, pin))
    }

    pub(super) fn loads(&mut self, objects: &[Object]) -> Option<Vec<Load>> {
        let tables = self.tables;
        let loads = tables.load.0.iter();
        let loads: Vec<Option<Load>> = loads.map(|item| self.load(item, objects)).collect();
        loads.into_iter().collect()
    }

    fn load(&mut self, item: &NamedItem<tables::Load>, objects: &[Object]) -> Option<Load> {
        let load = &item.value;
        let index = self.movable(&load.object, objects)?;
        let object = &objects[index];
        let vertices = self.selected(&load.at, object, &format!("load.{}", item.name))?;
        let stop = self.stop(load.start, load.stop.as_ref())?;
        let force = vector(load.force.map(|force| force.0));
        let moment = vector(load.moment.map(|moment| moment.0));
        let pressure = load.pressure.0;
        if force == DVec3::ZERO && moment == DVec3::ZERO && pressure == 0.0 {
            let message = format!(
                "`load.{}` has no `force`, `moment` or `pressure`",
                item.name
            );
            self.problem(&item.place, message, "add one of them");
            return None;
        }
        let is_rod = matches!(object.kind, ObjectType::Rods(_));
        if moment != DVec3::ZERO && !is_rod && !spans_a_plane(&vertices, object) {
            let message = format!("`load.{}` has a moment on collinear vertices", item.name);
            let advice = "select vertices that are not on one line";
            self.problem(&load.at.place, message, advice);
            return None;
        }
        let has = |vertex: &u32| vertices.binary_search(vertex).is_ok();
        let triangles: Vec<[u32; 3]> = if pressure == 0.0 {
            Vec::new()
        } else {
            let all = object.mesh.triangles.iter();
            all.filter(|corners| corners.iter().all(has))
                .copied()
                .collect()
        };
        if pressure != 0.0 && triangles.is_empty() {
            let message = format!("`load.{}` has a pressure, but no triangle", item.name);
            let advice = "select all three vertices of triangles of the surface";
            self.problem(&load.at.place, message, advice);
            return None;
        }
        Some(Load {
            pressure,
            triangles,
            name: item.name.clone(),
            object: index,
            vertices,
            force,
            moment,
            start: load.start.0,
            ramp: load.ramp.0,
            stop,
        })
    }

    /// The nodes that a pin holds: of embedded surfaces the corners of the lattice cells, of props
    /// all nodes.
    fn held_nodes(
        &mut self,
        object: &Object,
        vertices: &[u32],
        pin: &tables::Pin,
    ) -> Option<Vec<usize>> {
        let place = &pin.at.place;
        if let Movement::Carried(_) = &object.movement {
            if matches!(object.kind, ObjectType::Rigid(..)) && !spans_a_plane(vertices, object) {
                let message = format!("`{}` is rigid, and a pin holds all of it", object.name);
                let advice = "select three vertices that are not on one line; to hold a single \
                              point, use an attachment to a collider";
                self.problem(place, message, advice);
                return None;
            }
            if let Some(motion) = pin
                .motion
                .as_ref()
                .filter(|motion| motion.value.sequence.is_some())
            {
                let message = format!("a sequence cannot move `{}`", object.name);
                let advice = "its vertices are not nodes of their own; use `keyframes`";
                self.problem(&motion.place, message, advice);
                return None;
            }
        }
        Some(nodes_of(object, vertices))
    }

    /// Index of an object for a pin, clamp or load.
    fn movable(&mut self, name: &Placed<String>, objects: &[Object]) -> Option<usize> {
        let is_movable = |object: &&Object| !object.is_collider();
        let names: Vec<&str> = objects
            .iter()
            .filter(is_movable)
            .map(|o| o.name.as_str())
            .collect();
        if objects
            .iter()
            .any(|object| object.is_collider() && object.name == name.value)
        {
            let message = format!("`{}` is a collider, not an object", name.value);
            let advice = "name an object, or give the collider a `motion`";
            self.problem(&name.place, message, advice);
            return None;
        }
        let index = self.find("object", name, &names)?;
        objects
            .iter()
            .position(|object| object.name == names[index])
    }

    /// Script of held vertices. The default centre of rotation is their mean.
    fn hold_script(
        &mut self,
        motion: Option<&Placed<tables::Motion>>,
        object: &Object,
        vertices: &[u32],
    ) -> Option<crate::motion::Script> {
        let places = vertices
            .iter()
            .map(|vertex| object.mesh.points[*vertex as usize]);
        let center = places.sum::<DVec3>() / vertices.len().max(1) as f64;
        let layout = self.layouts.get(&object.name).cloned();
        let arrange = |points: Vec<DVec3>| {
            let (count, held) = (points.len(), vertices.len());
            let some = layout
                .as_ref()
                .and_then(|layout| layout.some(points, vertices));
            some.ok_or_else(|| {
                let all = object.mesh.points.len() / object.copies.max(1);
                format!(
                    "it has {count} vertices, but `{}` has {all}, of which {held} are held",
                    object.name
                )
            })
        };
        self.script(motion, center, &arrange)
    }

    /// The vertices of a selection, ascending and unique. An empty selection is reported; `who` is
    /// its name.
    pub(crate) fn selected(
        &mut self,
        at: &Placed<Selection>,
        object: &Object,
        who: &str,
    ) -> Option<Vec<u32>> {
        let mut vertices = self.selection(at, object)?;
        vertices.sort_unstable();
        vertices.dedup();
        if vertices.is_empty() {
            let message = format!("`{who}` selects no vertex of `{}`", object.name);
            let advice = match &at.value {
                Selection::Vertices(_) => "give at least one".to_owned(),
                _ => format!("no vertex is there initially; {}", extent(object)),
            };
            self.problem(&at.place, message, advice);
            return None;
        }
        Some(vertices)
    }

    /// The vertices of a selection, in the order of the scene.
    pub(super) fn selection(
        &mut self,
        at: &Placed<Selection>,
        object: &Object,
    ) -> Option<Vec<u32>> {
        let points = &object.mesh.points;
        let inside = |is_inside: &dyn Fn(DVec3) -> bool| {
            let all = (0..).zip(points);
            all.filter(|(_, point)| is_inside(**point))
                .map(|(vertex, _)| vertex)
                .collect()
        };
        Some(match &at.value {
            Selection::Vertices(vertices) => self.vertices_of(vertices, &at.place, object)?,
            Selection::Group(name) => self.group_of(name, &at.place, object)?,
            Selection::Box(region) => {
                let min = vector(region.min.map(|length| length.0));
                let max = vector(region.max.map(|length| length.0));
                inside(&|point| point.cmpge(min).all() && point.cmple(max).all())
            }
            Selection::Sphere(region) => {
                let center = vector(region.center.map(|length| length.0));
                inside(&|point| point.distance(center) <= region.radius.0)
            }
            Selection::Side(region) => {
                let normal =
                    self.direction(&region.normal, "the normal of `side` must not be zero")?;
                let origin = vector(region.point.map(|length| length.0));
                inside(&|point| (point - origin).dot(normal) >= 0.0)
            }
            Selection::End(end) => {
                let ends: Vec<u32> = object
                    .mesh
                    .curves
                    .iter()
                    .filter_map(|curve| end_of(curve, *end))
                    .collect();
                if ends.is_empty() {
                    let message = format!("`{}` has no open rods", object.name);
                    self.problem(&at.place, message, "use another selection");
                    return None;
                }
                ends
            }
        })
    }
}

impl Builder<'_> {
    /// Vertices by index. An index out of range is reported.
    fn vertices_of(
        &mut self,
        vertices: &[u64],
        place: &Place,
        object: &Object,
    ) -> Option<Vec<u32>> {
        let count = object.mesh.points.len();
        if let Some(outside) = vertices.iter().find(|vertex| **vertex >= count as u64) {
            let message = format!("`{}` has no vertex {outside}", object.name);
            let advice = format!("its vertices are 0 to {}", count - 1);
            self.problem(place, message, advice);
            return None;
        }
        Some(vertices.iter().map(|vertex| *vertex as u32).collect())
    }

    /// Vertices of a group. An unknown group is reported.
    fn group_of(&mut self, name: &str, place: &Place, object: &Object) -> Option<Vec<u32>> {
        let groups = object.mesh.groups.iter();
        let groups: Vec<&str> = groups.map(|group| group.name.as_str()).collect();
        let name = Placed {
            value: name.to_owned(),
            place: place.clone(),
        };
        let group = self.find_in("group", &name, &groups, &format!("`{}`", object.name))?;
        Some(object.mesh.groups[group].vertices.clone())
    }
}

/// Whether each axis is held.
fn held_axes(free: Option<&[tables::Axis]>) -> [bool; 3] {
    let is_held = |axis: tables::Axis| free.is_none_or(|free| !free.contains(&axis));
    [tables::Axis::X, tables::Axis::Y, tables::Axis::Z].map(is_held)
}

/// The nodes of vertices, ascending; of a prop all nodes.
fn nodes_of(object: &Object, vertices: &[u32]) -> Vec<usize> {
    let vertices = vertices.iter().map(|vertex| *vertex as usize);
    let mut nodes: Vec<usize> = match &object.movement {
        Movement::Simulated(nodes) => vertices.map(|vertex| nodes.start + vertex).collect(),
        Movement::Carried(carried) => {
            let corners = vertices.flat_map(|vertex| carried.corners[vertex]);
            corners
                .map(|corner| carried.nodes.start + corner as usize)
                .collect()
        }
        Movement::Scripted(_) => Vec::new(),
    };
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}

/// Bounding box of the initial positions, in words.
fn extent(object: &Object) -> String {
    let points = &object.mesh.points;
    let first = points.first().copied().unwrap_or_default();
    let low = points.iter().fold(first, |low, point| low.min(*point));
    let high = points.iter().fold(first, |high, point| high.max(*point));
    let [low, high] = [low, high].map(|p| {
        let [x, y, z] = p.to_array().map(short_number);
        format!("({x}, {y}, {z})")
    });
    format!("`{}` is between {low} and {high} m", object.name)
}

/// Vertex at an end of a rod; `None` for closed rods.
fn end_of(curve: &Curve, end: RodEnd) -> Option<u32> {
    let vertex = match end {
        RodEnd::First => curve.first,
        RodEnd::Last => curve.first + curve.count - 1,
    };
    (!curve.closed).then_some(vertex)
}

/// The vertices and edges of a clamp at an end of every rod.
fn clamped(curves: &[Curve], end: RodEnd) -> (Vec<u32>, Vec<u32>) {
    let (mut vertices, mut edges) = (Vec::new(), Vec::new());
    let mut first_edge = 0;
    for curve in curves {
        let count = curve.edges().count() as u32;
        if let Some(vertex) = end_of(curve, end).filter(|_| count > 0) {
            match end {
                RodEnd::First => {
                    vertices.extend([vertex, vertex + 1]);
                    edges.push(first_edge);
                }
                RodEnd::Last => {
                    vertices.extend([vertex - 1, vertex]);
                    edges.push(first_edge + count - 1);
                }
            }
        }
        first_edge += count;
    }
    (vertices, edges)
}

/// Whether vertices are not collinear.
fn spans_a_plane(vertices: &[u32], object: &Object) -> bool {
    let places: Vec<DVec3> = vertices
        .iter()
        .map(|vertex| object.mesh.points[*vertex as usize])
        .collect();
    let Some(first) = places.first() else {
        return false;
    };
    let far = places
        .iter()
        .max_by(|a, b| a.distance(*first).total_cmp(&b.distance(*first)));
    let along = far.map_or(DVec3::ZERO, |far| *far - *first);
    let area = |place: &DVec3| (*place - *first).cross(along).length();
    places.iter().map(area).fold(0.0, f64::max) > 1e-6 * along.length_squared()
}
