//! From what the user wrote to the model; everything that does not fit together is noted at its
//! place.

use std::ops::Range;
use std::sync::Arc;

use glam::{DQuat, DVec3};
use reefknot_contact::block_sparse::BlockPattern;
use reefknot_contact::symbolic::Symbolic;

use crate::energy::Energy;
use crate::energy::assemble::GatherMap;
use crate::energy::hinge::Hinges;
use crate::energy::membrane::Membrane;
use crate::energy::wind::{Air, Wind};
use crate::generate::sheet::{self, Cells};
use crate::material::{self, ShellMaterial};
use crate::mesh::Mesh;
use crate::mesh::surface::{areas, interior_hinges, lumped_masses};
use crate::model::{Model, Object, Pin};
use crate::probe::{self, Probe};
use crate::scene::Scene;
use crate::scene::problem::{Place, Problem, Problems};
use crate::scene::tables::{self, ClothGrid, ObjectKind, Selection, Triangles};
use crate::scene::values::{NamedItem, Placed};
use crate::state::{Clock, State};
use crate::units::did_you_mean;

/// Scenes with more nodes than this are refused: their indices and matrices would not fit.
const MAX_NODES: usize = 20_000_000;

impl Model {
    /// Builds the model of a scene.
    ///
    /// # Errors
    /// Everything that does not fit together, at its place.
    pub fn build(scene: &Scene) -> Result<Model, Problems> {
        let mut builder = Builder {
            tables: &scene.tables,
            problems: Vec::new(),
        };
        let model = builder.model();
        match model {
            Some(model) if builder.problems.is_empty() => Ok(model),
            _ => Err(Problems::new(scene.sources.clone(), builder.problems)),
        }
    }
}

/// How a scene cuts time into frames and steps.
///
/// # Errors
/// If it makes too many of them.
pub fn clock(scene: &Scene) -> Result<Clock, Problems> {
    let mut builder = Builder {
        tables: &scene.tables,
        problems: Vec::new(),
    };
    let clock = builder.clock();
    clock.ok_or_else(|| Problems::new(scene.sources.clone(), builder.problems))
}

/// Builds the parts of a model and notes what is wrong with them.
pub(crate) struct Builder<'a> {
    pub(crate) tables: &'a tables::SceneTables,
    problems: Vec<Problem>,
}

impl Builder<'_> {
    pub(crate) fn problem(&mut self, place: &Place, message: String, advice: impl Into<String>) {
        self.problems.push(Problem {
            message,
            place: place.clone(),
            advice: advice.into(),
        });
    }

    fn model(&mut self) -> Option<Model> {
        let tables = self.tables;
        let clock = self.clock();
        let mut start = State {
            step: 0,
            positions: Vec::new(),
            velocities: Vec::new(),
        };
        let mut masses = Vec::new();
        let mut objects = Vec::new();
        for item in &tables.object.0 {
            let object = self.cloth(item, &mut start);
            if let Some((object, object_masses)) = object {
                masses.extend(object_masses);
                objects.push(object);
            }
        }
        if objects.len() < tables.object.0.len() {
            return None;
        }
        let pins = tables.pin.0.iter();
        let pins: Vec<Option<Pin>> = pins.map(|item| self.pin(item, &objects, &start)).collect();
        let pins: Option<Vec<Pin>> = pins.into_iter().collect();
        let mut model = Model {
            objects,
            masses,
            start,
            pins: pins?,
            gravity: DVec3::from_array(tables.gravity.map(|component| component.0)),
            wind: match &tables.wind {
                Some(wind) => Some(self.wind(wind)?),
                None => None,
            },
            probes: Vec::new(),
            clock: clock?,
        };
        let probes: Vec<Option<Probe>> = tables
            .probe
            .0
            .iter()
            .map(|item| probe::build(item, &model, self))
            .collect();
        model.probes = probes.into_iter().collect::<Option<Vec<Probe>>>()?;
        Some(model)
    }

    fn clock(&mut self) -> Option<Clock> {
        let time = &self.tables.time;
        let frames = (time.duration.value.0 * time.frame_rate - 1e-6)
            .ceil()
            .max(1.0);
        if frames > 1e7 {
            let message = format!("the scene would have {} frames", count(frames));
            let advice = "at most ten million; give a shorter `duration` or a lower `frame_rate`";
            self.problem(&time.duration.place.clone(), message, advice);
            return None;
        }
        if let (Some(_), Some(substeps)) = (&time.h, &time.substeps) {
            let message = "`time` has both `h` and `substeps`".to_owned();
            self.problem(&substeps.place.clone(), message, "give one of them");
            return None;
        }
        let h = time.h.as_ref().map_or(0.01, |h| h.value.0);
        let needed = (1.0 / (time.frame_rate * h) - 1e-9).ceil().max(1.0);
        let steps_per_frame = match &time.substeps {
            Some(substeps) => substeps.value,
            None if needed <= 1e9 => needed as u64,
            None => {
                let place = time.h.as_ref().map_or(&time.duration.place, |h| &h.place);
                let message = format!("a frame would have {} steps", count(needed));
                self.problem(
                    &place.clone(),
                    message,
                    "at most a billion; give a longer `h`",
                );
                return None;
            }
        };
        Some(Clock {
            frame_rate: time.frame_rate,
            steps_per_frame,
            frames: frames as u64,
        })
    }

    fn wind(&mut self, wind: &Placed<tables::Wind>) -> Option<(Wind, Air)> {
        let (place, wind) = (&wind.place, &wind.value);
        let mean = DVec3::from_array(wind.velocity.map(|component| component.0));
        let field = if wind.turbulence.0 > 0.0 {
            Wind::gusty(
                mean,
                wind.turbulence.0,
                wind.gust_length.0,
                self.tables.seed,
            )
        } else {
            Wind::steady(mean)
        };
        let end = self.tables.time.duration.value.0;
        if !field.velocity(DVec3::ONE, end).is_finite() {
            let message = "the wind has no velocity that is a number".to_owned();
            let advice = "give a larger `gust_length`, or a smaller `turbulence` or `velocity`";
            self.problem(place, message, advice);
            return None;
        }
        let air = Air {
            density: wind.density.0,
            normal_coefficient: wind.normal_drag,
            tangential_coefficient: wind.tangential_drag,
        };
        Some((field, air))
    }

    /// Finds something by name among candidates, or notes that it is not there.
    pub(crate) fn find(
        &mut self,
        what: &str,
        name: &Placed<String>,
        candidates: &[&str],
    ) -> Option<usize> {
        let found = candidates
            .iter()
            .position(|candidate| *candidate == name.value);
        if found.is_none() {
            let hint = did_you_mean(&name.value, candidates.iter().copied());
            let message = format!("there is no {what} `{}`{hint}", name.value);
            let advice = match candidates.is_empty() {
                true => format!("the scene has no {what}"),
                false => format!("the scene has {}", candidates.join(", ")),
            };
            self.problem(&name.place, message, advice);
        }
        found
    }

    fn cloth(
        &mut self,
        item: &NamedItem<tables::Object>,
        start: &mut State,
    ) -> Option<(Object, Vec<f64>)> {
        let tables = self.tables;
        let materials: Vec<&str> = tables.material.names().collect();
        let material = self.find("material", &item.value.material, &materials);
        let ObjectKind::ClothGrid(grid) = &item.value.kind;
        let [columns, rows] = grid.vertices.value.map(|count| count as usize);
        if start.positions.len() + columns * rows > MAX_NODES {
            let message = format!("`object.{}` makes the scene too large", item.name);
            let advice = format!("at most {MAX_NODES} vertices in all");
            self.problem(&grid.vertices.place, message, advice);
            return None;
        }
        let material_item = &tables.material.0[material?];
        let material = match material::shell(
            &material_item.value,
            &material_item.name,
            &material_item.place,
        ) {
            Ok(material) => material,
            Err(problem) => {
                // Several objects of one material have one mistake, not several.
                let known = |other: &Problem| other.message == problem.message;
                if !self.problems.iter().any(known) {
                    self.problems.push(problem);
                }
                return None;
            }
        };
        let mesh = grid_mesh(grid);
        let placement = self.placement(&item.value)?;
        let nodes = start.positions.len()..start.positions.len() + mesh.points.len();
        start
            .positions
            .extend(mesh.points.iter().map(|point| placement(*point)));
        let velocity = DVec3::from_array(item.value.velocity.map(|component| component.0));
        start.velocities.resize(nodes.end, velocity);
        let placed = &start.positions[nodes.clone()];
        let built = assemble_object(item.name.clone(), nodes, &mesh, material);
        let (object, masses) = match built {
            Ok(built) => built,
            Err(reason) => {
                let message = format!("`object.{}` cannot be built: {reason}", item.name);
                let advice = "give a `size` and `vertices` that fit";
                self.problem(&grid.size.place, message, advice);
                return None;
            }
        };
        if let Some(mass) = masses.iter().find(|mass| !mass.is_normal()) {
            let message = format!("a vertex of `object.{}` would weigh {mass:e} kg", item.name);
            let advice = "give a `size` and a material whose masses can be computed with";
            self.problem(&grid.size.place, message, advice);
            return None;
        }
        let ratio = object.membrane.smallest_area_ratio(placed);
        if !ratio.is_some_and(|(_, ratio)| (0.5..2.0).contains(&ratio)) {
            let message = format!("`object.{}` is too far away", item.name);
            let advice = "its vertices fall together there, as numbers have 16 digits";
            self.problem(&item.place, message, advice);
            return None;
        }
        Some((object, masses))
    }

    /// How points of an object come to their place.
    fn placement(&mut self, object: &tables::Object) -> Option<impl Fn(DVec3) -> DVec3 + use<>> {
        let rotation = &object.rotation;
        let axis = DVec3::from_array(rotation.axis.value);
        // Scaled first: the length of a very long or short axis is no number.
        let axis = axis / axis.abs().max_element();
        let Some(axis) = axis.try_normalize() else {
            let message = "a rotation needs an axis of some length".to_owned();
            self.problem(&rotation.axis.place, message, "such as [0, 0, 1]");
            return None;
        };
        let turn = DQuat::from_axis_angle(axis, rotation.angle.0);
        let position = DVec3::from_array(object.position.map(|component| component.0));
        Some(move |point| turn * point + position)
    }

    fn pin(
        &mut self,
        item: &NamedItem<tables::Pin>,
        objects: &[Object],
        start: &State,
    ) -> Option<Pin> {
        let names: Vec<&str> = objects.iter().map(|object| object.name.as_str()).collect();
        let index = self.find("object", &item.value.object, &names)?;
        let object = &objects[index];
        let mut nodes = self.selected(&item.value.at, object, start)?;
        nodes.sort_unstable();
        nodes.dedup();
        if nodes.is_empty() {
            let message = format!("`pin.{}` holds no vertex of `{}`", item.name, object.name);
            self.problem(&item.value.at.place, message, "no vertex starts there");
            return None;
        }
        Some(Pin {
            name: item.name.clone(),
            object: index,
            nodes,
            release: item.value.release.map_or(f64::INFINITY, |time| time.0),
        })
    }

    fn selected(
        &mut self,
        at: &Placed<Selection>,
        object: &Object,
        start: &State,
    ) -> Option<Vec<usize>> {
        let first = object.nodes.start;
        match &at.value {
            Selection::Vertices(vertices) => {
                let count = object.nodes.len();
                if let Some(outside) = vertices.iter().find(|vertex| **vertex >= count as u64) {
                    let message = format!("`{}` has no vertex {outside}", object.name);
                    let advice = format!("its vertices are 0 to {}", count - 1);
                    self.problem(&at.place, message, advice);
                    return None;
                }
                Some(
                    vertices
                        .iter()
                        .map(|vertex| first + *vertex as usize)
                        .collect(),
                )
            }
            Selection::Group(name) => {
                let groups: Vec<&str> = object
                    .groups
                    .iter()
                    .map(|group| group.name.as_str())
                    .collect();
                let name = Placed {
                    value: name.clone(),
                    place: at.place.clone(),
                };
                let group = self.find("group", &name, &groups)?;
                let vertices = &object.groups[group].vertices;
                Some(
                    vertices
                        .iter()
                        .map(|vertex| first + *vertex as usize)
                        .collect(),
                )
            }
            Selection::Box(region) => {
                let min = DVec3::from_array(region.min.map(|length| length.0));
                let max = DVec3::from_array(region.max.map(|length| length.0));
                let inside = |node: &usize| {
                    let position = start.positions[*node];
                    position.cmpge(min).all() && position.cmple(max).all()
                };
                Some(object.nodes.clone().filter(inside).collect())
            }
        }
    }
}

/// A number of things in words, however large.
fn count(number: f64) -> String {
    match number {
        number if number < 1e15 => format!("{number:.0}"),
        number if number.is_finite() => format!("{number:.0e}"),
        _ => "endlessly many".into(),
    }
}

fn grid_mesh(grid: &ClothGrid) -> Mesh {
    let cells = match grid.triangles {
        Triangles::Right => Cells::Right,
        Triangles::Alternating => Cells::Alternating,
    };
    let vertices = grid.vertices.value.map(|count| count as usize);
    sheet::grid(grid.size.value.map(|length| length.0), vertices, cells)
}

/// The elements of a sheet, with its masses.
fn assemble_object(
    name: String,
    nodes: Range<usize>,
    mesh: &Mesh,
    material: ShellMaterial,
) -> Result<(Object, Vec<f64>), String> {
    let count = mesh.points.len();
    let hinge_stencils = interior_hinges(&mesh.triangles).map_err(|error| error.to_string())?;
    let rigidity = vec![material.bending; hinge_stencils.len()];
    let hinges =
        Hinges::new(hinge_stencils, &mesh.points, &rigidity).map_err(|error| error.to_string())?;
    let membrane = Membrane::new(
        mesh.triangles.clone(),
        &mesh.rest_triangles(DVec3::X),
        vec![0; mesh.triangles.len()],
        vec![material.membrane],
    )
    .map_err(|error| error.to_string())?;
    // Every pair of nodes of a triangle is also a pair of a hinge, except in a lone triangle.
    let pairs = pairs_of(&mesh.triangles).chain(pairs_of(hinges.stencils()));
    let pattern = Arc::new(BlockPattern::new(count, pairs));
    let symbolic = Arc::new(Symbolic::analyze(&pattern).map_err(|error| error.to_string())?);
    let slot = |row: usize, column: usize| pattern.slot(row, column).unwrap_or(usize::MAX);
    let membrane_map = GatherMap::new(membrane.stencils(), count, pattern.blocks(), slot);
    let hinge_map = GatherMap::new(hinges.stencils(), count, pattern.blocks(), slot);
    let areas = areas(&mesh.points, &mesh.triangles);
    let masses = lumped_masses(count, &mesh.triangles, &areas, material.area_density);
    let object = Object {
        name,
        nodes,
        triangles: mesh.triangles.clone(),
        groups: mesh.groups.clone(),
        material,
        membrane,
        hinges,
        pattern: pattern.clone(),
        symbolic,
        membrane_map,
        hinge_map,
    };
    Ok((object, masses))
}

/// All pairs of nodes of all elements.
fn pairs_of<const K: usize>(stencils: &[[u32; K]]) -> impl Iterator<Item = (u32, u32)> {
    stencils
        .iter()
        .flat_map(|stencil| (0..K).flat_map(move |i| (0..i).map(move |j| (stencil[i], stencil[j]))))
}
