//! Measurements of a run: a row per step, and one value per probe in the end.

mod build;
mod series;

use glam::{DMat3, DVec3};

use crate::integrate::Step;
use crate::model::{Model, Movement};
use crate::scene::tables::{EnergyKind, Momentum, Reduce};
use crate::state::State;

pub(crate) use build::build;
pub use series::ProbeSeries;

/// A measurement.
#[derive(Clone, Debug)]
pub struct Probe {
    /// Its name in the scene.
    pub name: String,
    /// How the series becomes one value.
    pub reduce: Reduce,
    /// If given, the value of the run is whether it is larger than this.
    pub above: Option<f64>,
    /// Of a vector, the part along this.
    along: Option<DVec3>,
    scale: f64,
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    Position(Points),
    Displacement(Points),
    Velocity(Points),
    Distance(Points, Points),
    Rotation(Points, DVec3),
    Swing(Points, DVec3),
    OutOfPlane(usize, DVec3),
    MapError(usize, DMat3),
    PinForce(usize),
    Energy(EnergyKind),
    MomentumDrift(Momentum),
    MaxStretch(usize),
}

/// Vertices of an object, of which the mean counts.
#[derive(Clone, Debug)]
struct Points {
    object: usize,
    vertices: Vec<u32>,
}

impl Points {
    /// The mean of places and that of velocities.
    fn mean(&self, model: &Model, state: &State) -> (DVec3, DVec3) {
        let (mut place, mut velocity) = (DVec3::ZERO, DVec3::ZERO);
        for (x, v) in self.all(model, state) {
            place += x;
            velocity += v;
        }
        let count = self.vertices.len() as f64;
        match self.vertices.len() == 1 {
            true => (place, velocity),
            false => (place / count, velocity / count),
        }
    }

    fn all<'a>(
        &'a self,
        model: &'a Model,
        state: &'a State,
    ) -> impl Iterator<Item = (DVec3, DVec3)> + 'a {
        let vertices = self.vertices.iter();
        vertices.map(|vertex| model.point(self.object, *vertex as usize, state))
    }

    fn starts<'a>(&'a self, model: &'a Model) -> impl Iterator<Item = DVec3> + 'a {
        let points = &model.objects[self.object].mesh.points;
        self.vertices.iter().map(|vertex| points[*vertex as usize])
    }

    fn start(&self, model: &Model) -> DVec3 {
        let sum: DVec3 = self.starts(model).sum();
        match self.vertices.len() {
            1 => sum,
            count => sum / count as f64,
        }
    }

    /// The angle about an axis that brings the starts nearest to where they are.
    fn rotation(&self, model: &Model, state: &State, axis: DVec3) -> f64 {
        let (middle, start) = (self.mean(model, state).0, self.start(model));
        let (mut sine, mut cosine) = (0.0, 0.0);
        for ((now, _), before) in self.all(model, state).zip(self.starts(model)) {
            let across = |v: DVec3| v - axis * axis.dot(v);
            let (now, before) = (across(now - middle), across(before - start));
            sine += axis.dot(before.cross(now));
            cosine += before.dot(now);
        }
        sine.atan2(cosine)
    }
}

impl Probe {
    /// The columns of this probe in `probes.csv`, with units.
    #[must_use]
    pub fn columns(&self) -> Vec<String> {
        let unit = match (&self.what, self.scale == 1.0) {
            (_, false) => "scaled",
            (What::Position(_) | What::Displacement(_) | What::Distance(..), _) => "m",
            (What::OutOfPlane(..) | What::MapError(..), _) => "m",
            (What::Velocity(_), _) => "m/s",
            (What::PinForce(_), _) => "N",
            (What::Energy(_), _) => "J",
            (What::Rotation(..) | What::Swing(..), _) => "rad",
            (What::MomentumDrift(_) | What::MaxStretch(_), _) => "1",
        };
        let names: &[&str] = match &self.what {
            What::Position(_) | What::Displacement(_) | What::Velocity(_) | What::PinForce(_)
                if self.along.is_none() =>
            {
                &[".x", ".y", ".z"]
            }
            What::Swing(..) => &[".tilt", ".turn"],
            _ => &[""],
        };
        let column = |part: &&str| format!("{}{part} [{unit}]", self.name);
        names.iter().map(column).collect()
    }

    /// The values after a step; forces are not known before the first.
    #[must_use]
    pub fn values(&self, model: &Model, state: &State, step: Option<&Step>) -> Vec<f64> {
        let mut values = match &self.what {
            What::Position(points) => self.vector(points.mean(model, state).0),
            What::Displacement(points) => {
                self.vector(points.mean(model, state).0 - points.start(model))
            }
            What::Velocity(points) => self.vector(points.mean(model, state).1),
            What::Distance(from, to) => {
                let apart = to.mean(model, state).0 - from.mean(model, state).0;
                match self.along {
                    Some(_) => self.vector(apart),
                    None => vec![apart.length()],
                }
            }
            What::Rotation(points, axis) => vec![points.rotation(model, state, *axis)],
            What::Swing(points, center) => {
                let arm = points.mean(model, state).0 - *center;
                let tilt = arm.x.hypot(arm.y).atan2(-arm.z);
                vec![tilt, arm.y.atan2(arm.x)]
            }
            What::OutOfPlane(object, normal) => {
                let origin = model.objects[*object].mesh.points[0];
                let apart = |point: &DVec3| (*point - origin).dot(*normal).abs();
                vec![largest(model.points(*object, state).iter().map(apart))]
            }
            What::MapError(object, map) => {
                let starts = &model.objects[*object].mesh.points;
                let points = model.points(*object, state);
                let apart = points
                    .iter()
                    .zip(starts)
                    .map(|(now, start)| now.distance(*map * *start));
                vec![largest(apart)]
            }
            What::PinForce(pin) => {
                let object = &model.objects[model.pins[*pin].object];
                match step.filter(|_| !object.nodes().is_empty()) {
                    Some(step) => self.vector(step.pin_force(model, *pin)),
                    // Before the first step, and where nothing is simulated, no force is known.
                    None => vec![f64::NAN; self.columns().len()],
                }
            }
            What::Energy(kind) => vec![energy(*kind, model, state, step)],
            What::MomentumDrift(kind) => vec![momentum_drift(*kind, model, state)],
            What::MaxStretch(object) => {
                let bodies = model.bodies.iter().filter(|body| body.object == *object);
                let stretch = bodies.map(|body| body.max_stretch(state));
                vec![stretch.fold(f64::NAN, f64::max)]
            }
        };
        if self.scale != 1.0 {
            values.iter_mut().for_each(|value| *value *= self.scale);
        }
        values
    }

    fn vector(&self, vector: DVec3) -> Vec<f64> {
        match self.along {
            Some(along) => vec![vector.dot(along)],
            None => vector.to_array().to_vec(),
        }
    }
}

fn largest(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(0.0, f64::max)
}

fn energy(kind: EnergyKind, model: &Model, state: &State, step: Option<&Step>) -> f64 {
    let energies = match step {
        Some(step) => step.report.energy_j,
        None => crate::certify::energies(model, state),
    };
    match kind {
        EnergyKind::Kinetic => energies.kinetic,
        EnergyKind::Elastic => energies.elastic,
        EnergyKind::Gravity => energies.gravity,
        EnergyKind::Total => energies.total(),
    }
}

/// How much the momentum of an object has changed since the start, by the sum of its sizes then; the largest of all objects.
fn momentum_drift(kind: Momentum, model: &Model, state: &State) -> f64 {
    let objects = 0..model.objects.len();
    let drift = |object: usize| {
        let (before, size) = momentum(kind, model, &model.start, object);
        let (after, _) = momentum(kind, model, state, object);
        // What turns has a momentum to compare with; what moves may have none in all.
        let size = match kind {
            Momentum::Angular if before != DVec3::ZERO => before.length(),
            _ => size,
        };
        match size > 0.0 {
            true => after.distance(before) / size,
            false => 0.0,
        }
    };
    largest(objects.map(drift))
}

/// The momentum of an object, and the sum of the sizes of its parts.
fn momentum(kind: Momentum, model: &Model, state: &State, object: usize) -> (DVec3, f64) {
    let (mut sum, mut size) = (DVec3::ZERO, 0.0);
    if matches!(model.objects[object].movement, Movement::Scripted(_)) {
        return (sum, size);
    }
    for node in model.objects[object].nodes() {
        let (mass, x, v) = (
            model.masses[node],
            state.positions[node],
            state.velocities[node],
        );
        let part = match kind {
            Momentum::Linear if model.is_axis(node) => DVec3::ZERO,
            Momentum::Linear => mass * v,
            Momentum::Angular => mass * x.cross(v),
        };
        sum += part;
        size += part.length();
    }
    if kind == Momentum::Angular {
        for body in model.bodies.iter().filter(|body| body.object == object) {
            if let crate::model::Elements::Rods(rods) = &body.elements {
                for (edge, ends) in body.edges.clone().zip(&rods.edges) {
                    let [a, b] = ends.map(|node| state.positions[body.nodes.start + node as usize]);
                    let spin = model.twist_inertias[edge] * state.spins[edge];
                    sum += (b - a).normalize_or_zero() * spin;
                    size += spin.abs();
                }
            }
        }
    }
    (sum, size)
}
