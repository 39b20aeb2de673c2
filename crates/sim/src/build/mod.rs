//! Builds the model of a scene. All inconsistencies are reported, each with its location.

mod choice;
mod clamp;
mod contact;
mod director;
mod elements;
mod generated;
mod groom;
mod hold;
mod kind;
mod mesh;
mod method;
mod motion;
mod object;
mod place;
mod probe;
mod refuse;
mod rods;
mod simulate;
mod tie;

use std::collections::BTreeMap;
use std::sync::Arc;

use glam::DVec3;
use xxhash_rust::xxh3::xxh3_64;

use crate::energy::wind::{Air, Wind};
use crate::io::input::InputFiles;
use crate::model::collision::CollisionModel;
use crate::model::probe::{Conclusion, Probe};
use crate::model::{Body, Clamp, Model, Object, Pin, Unknowns};
use crate::scene::Scene;
use crate::scene::problem::{Place, Problem, Problems};
use crate::scene::tables;
use crate::scene::values::Placed;
use crate::state::{Clock, State};
use crate::units::did_you_mean;
use clamp::{keep_rest_shapes, stiffen_clamps};
use place::Layout;

/// Largest number of vertices of a scene: indices and matrices of more would not fit.
const MAX_VERTICES: usize = 20_000_000;

impl Model {
    /// Builds the model of a scene.
    ///
    /// # Errors
    /// All inconsistencies of the scene.
    pub fn build(scene: &Scene) -> Result<Model, Problems> {
        Model::build_within(scene, MAX_VERTICES)
    }

    /// Builds the model of a scene with at most this many vertices.
    ///
    /// # Errors
    /// All inconsistencies of the scene.
    pub fn build_within(scene: &Scene, vertices: usize) -> Result<Model, Problems> {
        let mut builder = Builder::new(scene);
        builder.max_vertices = vertices.min(MAX_VERTICES);
        let model = builder.model();
        match model {
            Some(model) if builder.problems.is_empty() => Ok(model),
            _ => Err(Problems::new(scene.sources.clone(), builder.problems)),
        }
    }
}

/// Frames and steps of a scene.
///
/// # Errors
/// If there are too many.
pub fn clock(scene: &Scene) -> Result<Clock, Problems> {
    let mut builder = Builder::new(scene);
    let clock = builder.clock();
    clock.ok_or_else(|| Problems::new(scene.sources.clone(), builder.problems))
}

/// State of building a model: collected problems and read files.
pub(crate) struct Builder<'a> {
    pub(crate) tables: &'a tables::SceneTables,
    problems: Vec<Problem>,
    files: InputFiles,
    /// Number of vertices so far.
    vertices: usize,
    /// Largest allowed number of vertices.
    max_vertices: usize,
    /// Warp direction of cloth, by object name.
    warps: BTreeMap<String, DVec3>,
    /// Layout of the vertices of each object, by name.
    layouts: BTreeMap<String, Arc<Layout>>,
}

/// The parts of a model to which each object adds.
#[derive(Default)]
struct Parts {
    objects: Vec<Object>,
    bodies: Vec<Body>,
    masses: Vec<f64>,
    weights: Vec<f64>,
    twist_inertias: Vec<f64>,
    positions: Vec<DVec3>,
    velocities: Vec<DVec3>,
    directors: Vec<DVec3>,
    twists: Vec<f64>,
    spins: Vec<f64>,
}

impl<'a> Builder<'a> {
    fn new(scene: &'a Scene) -> Builder<'a> {
        Builder {
            tables: &scene.tables,
            problems: Vec::new(),
            files: InputFiles::new(&scene.folder, &scene.meshes),
            vertices: 0,
            max_vertices: MAX_VERTICES,
            layouts: BTreeMap::new(),
            warps: BTreeMap::new(),
        }
    }

    /// Seed of an object or collider. It depends on the name, so that objects with the same `seed`
    /// differ.
    fn seed_of(&self, name: &str, own: u64) -> u64 {
        self.tables.seed ^ own.rotate_left(32) ^ xxh3_64(name.as_bytes())
    }

    /// Adds a problem.
    pub(crate) fn problem(&mut self, place: &Place, message: String, advice: impl Into<String>) {
        self.add_problem(Problem {
            message,
            place: place.clone(),
            advice: advice.into(),
        });
    }

    /// Adds a problem once, also if several objects have the same material or file.
    fn add_problem(&mut self, problem: Problem) {
        let same =
            |other: &Problem| other.message == problem.message && other.place == problem.place;
        if !self.problems.iter().any(same) {
            self.problems.push(problem);
        }
    }

    /// The model; `None` if there are problems.
    fn model(&mut self) -> Option<Model> {
        let clock = self.clock();
        let names = self.refuse_double_names();
        let parts = self.parts();
        names?;
        let (mut parts, clock) = (parts?, clock?);
        let pins = self.pins(&parts.objects);
        let clamps = self.clamps(&parts.objects);
        let loads = self.loads(&parts.objects);
        let ties = self.ties(&parts.objects);
        let contact = self.contact(&parts.objects);
        let wind = match &self.tables.wind {
            Some(wind) => self.wind(wind).map(Some),
            None => Some(None),
        };
        let (pins, clamps) = with_clamp_pins(pins?, clamps?);
        stiffen_clamps(&mut parts.bodies, &pins, &clamps);
        keep_rest_shapes(&mut parts.bodies, &parts.objects);
        self.clamp_borders(&parts.objects, &mut parts.bodies, &pins)?;
        let unknowns = Unknowns::of(&mut parts.bodies);
        let inputs = std::mem::take(&mut self.files).finish();
        let mut model = Model {
            clamps,
            pins,
            objects: parts.objects,
            bodies: parts.bodies,
            masses: parts.masses,
            start: State {
                step: 0,
                positions: parts.positions,
                velocities: parts.velocities,
                directors: parts.directors,
                twists: parts.twists,
                spins: parts.spins,
                ..State::default()
            },
            weights: parts.weights,
            twist_inertias: parts.twist_inertias,
            unknowns,
            loads: loads?,
            ties: ties?,
            contact: contact?,
            collision: None,
            gravity: DVec3::from_array(self.tables.gravity.map(|component| component.0)),
            wind: wind?,
            probes: Vec::new(),
            conclusions: Vec::new(),
            clock,
            method: method::method(&self.tables.method),
            inputs: inputs.files,
            renamed: inputs.renamed,
        };
        model.set_held_start_velocities();
        if model.method.solver.is_some() {
            model.collision = CollisionModel::of(&model);
        }
        self.add_probes(&mut model)?;
        Some(model)
    }

    /// Builds the probes and conclusions of a model.
    fn add_probes(&mut self, model: &mut Model) -> Option<()> {
        let probes = self.tables.probe.0.iter();
        let probes: Vec<Option<Probe>> =
            probes.map(|item| probe::probe(item, model, self)).collect();
        model.probes = probes.into_iter().collect::<Option<Vec<Probe>>>()?;
        let names: Vec<&str> = self.tables.probe.names().collect();
        let conclusions = self.tables.conclusions.iter().flatten();
        let conclusions: Vec<Option<Conclusion>> = conclusions
            .map(|table| probe::conclusion(table, &names, self))
            .collect();
        model.conclusions = conclusions.into_iter().collect::<Option<_>>()?;
        Some(())
    }

    /// Refuses an object and a collider with the same name: frames, pairs and exports refer to both
    /// by name.
    fn refuse_double_names(&mut self) -> Option<()> {
        let tables = self.tables;
        let mut result = Some(());
        for item in &tables.collider.0 {
            if tables.object.index(&item.name).is_some() {
                let message = format!("`{}` is the name of an object and a collider", item.name);
                self.problem(&item.place, message, "rename one of them");
                result = None;
            }
        }
        result
    }

    fn clock(&mut self) -> Option<Clock> {
        let time = &self.tables.time;
        let frames = (time.duration.value.0 * time.frame_rate - 1e-6)
            .ceil()
            .max(1.0);
        if frames > 1e7 {
            let message = format!("the scene would have {} frames", count(frames));
            let advice = "the limit is 1e7; give a shorter `duration` or a lower `frame_rate`";
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
                    "the limit is 1e9; give a longer `h`",
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
            let message = "the velocity of the wind is not finite".to_owned();
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

    /// Index of a name among candidates. An unknown name is reported.
    pub(crate) fn find(
        &mut self,
        what: &str,
        name: &Placed<String>,
        candidates: &[&str],
    ) -> Option<usize> {
        self.find_in(what, name, candidates, "the scene")
    }

    /// Index of a name among the candidates of `whose`. An unknown name is reported.
    fn find_in(
        &mut self,
        what: &str,
        name: &Placed<String>,
        candidates: &[&str],
        whose: &str,
    ) -> Option<usize> {
        let found = candidates
            .iter()
            .position(|candidate| *candidate == name.value);
        if found.is_none() {
            let hint = did_you_mean(&name.value, candidates.iter().copied());
            let message = format!("there is no {what} `{}`{hint}", name.value);
            let advice = if candidates.is_empty() {
                format!("{whose} has no {what}")
            } else {
                format!("{whose} has {}", listed(candidates))
            };
            self.problem(&name.place, message, advice);
        }
        found
    }
}

/// All pins, with those of clamps at the end, and the clamps with the indices of their pins.
fn with_clamp_pins(mut pins: Vec<Pin>, clamps: Vec<(Clamp, Pin)>) -> (Vec<Pin>, Vec<Clamp>) {
    let clamps = clamps.into_iter().map(|(mut clamp, pin)| {
        clamp.pin = pins.len();
        pins.push(pin);
        clamp
    });
    let clamps = clamps.collect();
    (pins, clamps)
}

/// A count as text, in scientific notation if it is large.
fn count(number: f64) -> String {
    match number {
        number if number < 1e15 => format!("{number:.0}"),
        number if number.is_finite() => format!("{number:.0e}"),
        _ => "infinitely many".into(),
    }
}

/// Names, separated by commas. Long lists are cut.
fn listed(names: &[&str]) -> String {
    const SHOWN: usize = 12;
    match names.len() {
        count if count > SHOWN => {
            format!("{} and {} more", names[..SHOWN].join(", "), count - SHOWN)
        }
        _ => names.join(", "),
    }
}
