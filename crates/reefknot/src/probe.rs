//! Measurements of a run: a row per step, and one value per probe in the end.

use serde_json::{Value as Json, json};

use crate::build::Builder;
use crate::integrate::Step;
use crate::model::Model;
use crate::scene::tables::{self, EnergyKind, Measure, Reduce};
use crate::scene::values::NamedItem;
use crate::state::State;

/// A measurement.
#[derive(Clone, Debug)]
pub struct Probe {
    /// Its name in the scene.
    pub name: String,
    /// How the series becomes one value.
    pub reduce: Reduce,
    what: What,
}

#[derive(Clone, Copy, Debug)]
enum What {
    Position(usize, usize),
    Displacement(usize, usize),
    Velocity(usize, usize),
    PinForce(usize),
    Energy(EnergyKind),
    MaxStretch(usize),
}

/// Makes a probe from its table.
pub(crate) fn build(
    item: &NamedItem<tables::Probe>,
    model: &Model,
    builder: &mut Builder<'_>,
) -> Option<Probe> {
    let objects: Vec<&str> = model.objects.iter().map(|o| o.name.as_str()).collect();
    let mut vertex = |point: &tables::Point| {
        let index = builder.find("object", &point.object, &objects)?;
        let (name, count) = (objects[index], model.objects[index].mesh.points.len());
        if point.vertex.value >= count as u64 {
            let message = format!("`{name}` has no vertex {}", point.vertex.value);
            let advice = format!("its vertices are 0 to {}", count - 1);
            builder.problem(&point.vertex.place, message, advice);
            return None;
        }
        Some((index, point.vertex.value as usize))
    };
    let what = match &item.value.measure {
        Measure::Position(point) => vertex(point).map(|(o, v)| What::Position(o, v))?,
        Measure::Displacement(point) => vertex(point).map(|(o, v)| What::Displacement(o, v))?,
        Measure::Velocity(point) => vertex(point).map(|(o, v)| What::Velocity(o, v))?,
        Measure::PinForce(pin) => {
            let pins: Vec<&str> = model.pins.iter().map(|pin| pin.name.as_str()).collect();
            What::PinForce(builder.find("pin", pin, &pins)?)
        }
        Measure::Energy(kind) => What::Energy(*kind),
        Measure::MaxStretch(object) => What::MaxStretch(builder.find("object", object, &objects)?),
    };
    Some(Probe {
        name: item.name.clone(),
        reduce: item.value.reduce,
        what,
    })
}

impl Probe {
    /// The columns of this probe in `probes.csv`, with units.
    #[must_use]
    pub fn columns(&self) -> Vec<String> {
        let unit = match self.what {
            What::Position(..) | What::Displacement(..) => "m",
            What::Velocity(..) => "m/s",
            What::PinForce(_) => "N",
            What::Energy(_) => "J",
            What::MaxStretch(_) => "1",
        };
        match self.what {
            What::Energy(_) | What::MaxStretch(_) => vec![format!("{} [{unit}]", self.name)],
            _ => ["x", "y", "z"]
                .iter()
                .map(|axis| format!("{}.{axis} [{unit}]", self.name))
                .collect(),
        }
    }

    /// The values after a step; forces are not known before the first.
    #[must_use]
    pub fn values(&self, model: &Model, state: &State, step: Option<&Step>) -> Vec<f64> {
        match self.what {
            What::Position(object, vertex) => {
                model.point(object, vertex, state).0.to_array().to_vec()
            }
            What::Displacement(object, vertex) => {
                let start = model.objects[object].mesh.points[vertex];
                let moved = model.point(object, vertex, state).0 - start;
                moved.to_array().to_vec()
            }
            What::Velocity(object, vertex) => {
                model.point(object, vertex, state).1.to_array().to_vec()
            }
            What::PinForce(pin) => {
                let object = &model.objects[model.pins[pin].object];
                match step.filter(|_| !object.nodes().is_empty()) {
                    Some(step) => step.pin_force(model, pin).to_array().to_vec(),
                    // Before the first step, and where nothing is simulated, no force is known.
                    None => vec![f64::NAN; 3],
                }
            }
            What::Energy(kind) => {
                let energies = match step {
                    Some(step) => step.report.energy_j,
                    None => crate::certify::energies(model, state),
                };
                vec![match kind {
                    EnergyKind::Kinetic => energies.kinetic,
                    EnergyKind::Elastic => energies.elastic,
                    EnergyKind::Gravity => energies.gravity,
                }]
            }
            What::MaxStretch(object) => {
                let bodies = model.bodies.iter().filter(|body| body.object == object);
                let stretch = bodies.map(|body| {
                    let positions = &state.positions[body.nodes.clone()];
                    body.shell.membrane.max_stretch(positions)
                });
                vec![stretch.fold(f64::NAN, f64::max)]
            }
        }
    }
}

/// The series of all probes so far, reduced as it grows.
#[derive(Clone, Debug)]
pub struct ProbeSeries {
    names: Vec<(String, Reduce, usize)>,
    last: Vec<f64>,
    least: Vec<f64>,
    largest: Vec<f64>,
    sum: Vec<f64>,
    count: Vec<u64>,
}

impl ProbeSeries {
    /// An empty series for these probes.
    #[must_use]
    pub fn new(probes: &[Probe]) -> ProbeSeries {
        let names: Vec<(String, Reduce, usize)> = probes
            .iter()
            .map(|probe| (probe.name.clone(), probe.reduce, probe.columns().len()))
            .collect();
        let width = names.iter().map(|(_, _, width)| width).sum();
        ProbeSeries {
            names,
            last: vec![f64::NAN; width],
            least: vec![f64::INFINITY; width],
            largest: vec![f64::NEG_INFINITY; width],
            sum: vec![0.0; width],
            count: vec![0; width],
        }
    }

    /// How many columns a row has.
    #[must_use]
    pub fn width(&self) -> usize {
        self.last.len()
    }

    /// Takes in a row; values that are not known are passed over.
    pub fn add(&mut self, row: &[f64]) {
        for (column, &value) in row.iter().enumerate().take(self.width()) {
            if value.is_nan() {
                continue;
            }
            self.last[column] = value;
            self.least[column] = self.least[column].min(value);
            self.largest[column] = self.largest[column].max(value);
            self.sum[column] += value;
            self.count[column] += 1;
        }
    }

    /// The value of each probe: a number or a vector, `null` where nothing is known.
    #[must_use]
    pub fn summary(&self) -> Json {
        let mut result = serde_json::Map::new();
        let mut first = 0;
        for (name, reduce, width) in &self.names {
            let value = |column: usize| match reduce {
                _ if self.count[column] == 0 => Json::Null,
                Reduce::Last => json!(self.last[column]),
                Reduce::Min => json!(self.least[column]),
                Reduce::Max => json!(self.largest[column]),
                Reduce::Mean => json!(self.sum[column] / self.count[column] as f64),
            };
            let values: Vec<Json> = (first..first + width).map(value).collect();
            first += width;
            let value = match values.as_slice() {
                [single] => single.clone(),
                _ => Json::Array(values),
            };
            result.insert(name.clone(), value);
        }
        Json::Object(result)
    }
}
