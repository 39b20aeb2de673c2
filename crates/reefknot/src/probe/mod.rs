//! Measurements of a run: a row per step, and one value per probe in the end.

mod build;
mod conclusion;
mod series;

use glam::{DMat3, DVec3};

use crate::certify::ContactRecord;
use crate::integrate::Step;
use crate::model::{Model, Movement};
use crate::scene::tables::{EnergyKind, Momentum, Reduce};
use crate::state::State;

pub(crate) use build::build;
pub use conclusion::Conclusion;
pub(crate) use conclusion::build as build_conclusion;
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
    /// When the series begins (s).
    pub from: f64,
    /// When it ends (s).
    pub until: f64,
    /// Factor on the value of the run, and what is added to it then.
    pub affine: [f64; 2],
    /// What the series is compared with, where its reduction does so.
    pub threshold: Option<f64>,
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
    ContactForce(Touching),
    Contacts(Touching),
    Gap(Touching),
    Energy(EnergyKind),
    MomentumDrift(Momentum),
    MaxStretch(usize),
    Weight(Vec<usize>),
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

/// Contacts of an object, or those of them with another.
#[derive(Clone, Copy, Debug)]
struct Touching {
    object: usize,
    other: Option<usize>,
}

impl Touching {
    fn of<'a>(&self, step: &'a Step) -> impl Iterator<Item = &'a ContactRecord> {
        let Touching { object, other } = *self;
        let is_meant = move |[first, second]: [usize; 2]| match other {
            Some(other) => [first, second] == [object, other] || [second, first] == [object, other],
            None => first == object || second == object,
        };
        let contacts = step.contacts.iter();
        contacts.filter(move |contact| is_meant(contact.objects))
    }

    /// The sum of their forces on the object (N); what it does to itself comes to nothing.
    fn force(&self, step: &Step) -> DVec3 {
        let others = self.of(step).filter(|it| it.objects[0] != it.objects[1]);
        let forces = others.map(|contact| match contact.objects[0] == self.object {
            true => contact.force,
            false => -contact.force,
        });
        forces.sum()
    }

    /// How many of them carry a force.
    fn count(&self, step: &Step) -> f64 {
        let carrying = self.of(step).filter(|it| it.force != DVec3::ZERO);
        carrying.count() as f64
    }

    /// Their least distance less thickness (m); not known without any.
    fn gap(&self, step: &Step) -> f64 {
        let gaps = self.of(step).map(|contact| contact.gap);
        gaps.fold(f64::NAN, f64::min)
    }
}

impl Probe {
    /// The columns of this probe in `probes.csv`, with units.
    #[must_use]
    pub fn columns(&self) -> Vec<String> {
        let unit = match (&self.what, self.scale == 1.0) {
            (_, false) => "scaled",
            (What::Position(_) | What::Displacement(_) | What::Distance(..), _) => "m",
            (What::OutOfPlane(..) | What::MapError(..) | What::Gap(_), _) => "m",
            (What::Velocity(_), _) => "m/s",
            (What::PinForce(_) | What::ContactForce(_) | What::Weight(_), _) => "N",
            (What::Energy(_), _) => "J",
            (What::Rotation(..) | What::Swing(..), _) => "rad",
            (What::MomentumDrift(_) | What::MaxStretch(_) | What::Contacts(_), _) => "1",
        };
        let names: &[&str] = match &self.what {
            What::Position(_)
            | What::Displacement(_)
            | What::Velocity(_)
            | What::PinForce(_)
            | What::ContactForce(_)
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

    /// The values after a step; forces and contacts are not known before the first.
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
            What::ContactForce(touching) => match step {
                Some(step) => self.vector(touching.force(step)),
                None => vec![f64::NAN; self.columns().len()],
            },
            What::Contacts(touching) => vec![step.map_or(f64::NAN, |step| touching.count(step))],
            What::Gap(touching) => vec![step.map_or(f64::NAN, |step| touching.gap(step))],
            What::Energy(kind) => vec![energy(*kind, model, state, step)],
            What::MomentumDrift(kind) => vec![momentum_drift(*kind, model, state)],
            What::MaxStretch(object) => {
                let bodies = model.bodies.iter().filter(|body| body.object == *object);
                let stretch = bodies.map(|body| body.max_stretch(state));
                vec![stretch.fold(f64::NAN, f64::max)]
            }
            What::Weight(objects) => {
                let masses = objects.iter().map(|object| model.objects[*object].mass);
                vec![masses.sum::<f64>() * model.gravity.length()]
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
    if kind == Momentum::TotalLinear {
        let total = |state: &State| {
            let parts = objects
                .clone()
                .map(|object| momentum(kind, model, state, object));
            parts.fold((DVec3::ZERO, 0.0), |sum, part| {
                (sum.0 + part.0, sum.1 + part.1)
            })
        };
        let ((before, size), (after, _)) = (total(&model.start), total(state));
        return match size > 0.0 {
            true => after.distance(before) / size,
            false => 0.0,
        };
    }
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
            Momentum::Linear | Momentum::TotalLinear if model.is_axis(node) => DVec3::ZERO,
            Momentum::Linear | Momentum::TotalLinear => mass * v,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certify::ContactState;
    use crate::integrate::{self, Scratch};
    use crate::scene::problem::Problems;
    use crate::scene::{Scene, SceneRequest};

    /// Two sheets over a floor, and a probe.
    fn model(probe: &str) -> Result<Model, Problems> {
        let sheet = r#"{ kind = "cloth-grid", size = [1, 1], vertices = [2, 2], material = "stuff", position = [0, 0, 1] }"#;
        let text = format!(
            r#"
            time.duration = "1 s"
            material.stuff = {{ young = "1 MPa", thickness = "1 mm", density = 1000 }}
            object.one = {sheet}
            object.two = {sheet}
            collider.floor = {{ kind = "plane" }}
            probe.it = {{ {probe} }}"#
        );
        let request = SceneRequest {
            text,
            sets: vec!["object.two.position=[0, 0, 2]".to_owned()],
            ..SceneRequest::default()
        };
        Model::build(&Scene::read(&request)?)
    }

    /// A contact between two objects.
    fn contact(objects: [usize; 2], force: [f64; 3], gap: f64) -> ContactRecord {
        ContactRecord {
            id: 0,
            objects,
            vertices: [None; 2],
            point: DVec3::ZERO,
            normal: DVec3::Z,
            force: DVec3::from_array(force),
            gap,
            state: ContactState::Stick,
        }
    }

    /// What a probe of contacts measures at the start, and after a step.
    fn measured(measure: &str) -> [Vec<f64>; 2] {
        let model = model(&format!("measure = {{ {measure} }}")).unwrap();
        let mut scratch = Scratch::new(&model);
        let mut step = integrate::step(&model, &model.start, &mut scratch).unwrap();
        step.contacts = vec![
            contact([0, 1], [1.0, 0.0, 2.0], 3e-3),
            contact([0, 0], [0.1, 0.2, 0.3], 2e-3),
            contact([1, 0], [0.0, 0.0, 8.0], 4e-3),
            contact([0, 2], [0.0, 5.0, 0.0], 5e-3),
            contact([1, 2], [0.0; 3], 1e-3),
        ];
        let probe = &model.probes[0];
        let values = |step| probe.values(&model, &model.start, step);
        [values(None), values(Some(&step))]
    }

    #[test]
    fn forces_of_contacts_act_on_the_first_and_back_on_the_second() {
        let force = |of: &str| measured(&format!("contact_force = {{ {of} }}"))[1].clone();
        assert_eq!(force("object = 'one'"), [1.0, 5.0, -6.0]);
        assert_eq!(force("object = 'one', other = 'two'"), [1.0, 0.0, -6.0]);
        assert_eq!(force("object = 'two', other = 'one'"), [-1.0, 0.0, 6.0]);
        assert_eq!(force("object = 'floor'"), [0.0, -5.0, 0.0]);
        assert_eq!(force("object = 'one', other = 'one'"), [0.0; 3]);
        let [start, _] = measured("contact_force = { object = 'one' }");
        assert!(start.len() == 3 && start.iter().all(|value| value.is_nan()));
    }

    #[test]
    fn contacts_are_counted_if_they_carry_a_force_and_all_have_a_gap() {
        let both = |of: &str| {
            let [_, count] = measured(&format!("contacts = {{ {of} }}"));
            let [start, gap] = measured(&format!("gap = {{ {of} }}"));
            assert!(start[0].is_nan());
            (count[0], gap[0])
        };
        assert_eq!(both("object = 'one'"), (4.0, 2e-3));
        assert_eq!(both("object = 'one', other = 'one'"), (1.0, 2e-3));
        assert_eq!(both("object = 'two'"), (2.0, 1e-3));
        assert_eq!(both("object = 'floor', other = 'two'"), (0.0, 1e-3));
        // Without contacts there is no gap, but a number of them.
        let [start, count] = measured("contacts = { object = 'two', other = 'two' }");
        assert!(start[0].is_nan() && count == [0.0]);
        assert!(measured("gap = { object = 'two', other = 'two' }")[1][0].is_nan());
    }

    #[test]
    fn columns_of_contacts_have_units() {
        let columns = |probe: &str| model(probe).unwrap().probes[0].columns();
        let force = columns("measure.contact_force = { object = 'one' }");
        assert_eq!(force, ["it.x [N]", "it.y [N]", "it.z [N]"]);
        let along = columns("measure.contact_force = { object = 'one' }, along = [0, 0, 1]");
        assert_eq!(along, ["it [N]"]);
        assert_eq!(columns("measure.contacts = { object = 'one' }"), ["it [1]"]);
        assert_eq!(columns("measure.gap = { object = 'one' }"), ["it [m]"]);
    }

    #[test]
    fn probes_of_contacts_that_make_no_sense_are_refused() {
        let refusal = |probe: &str| model(probe).unwrap_err().to_string();
        let other = refusal("measure.gap = { object = 'one', other = 'flor' }");
        assert!(other.contains("floor"), "{other}");
        let measure = "measure.gap = { object = 'one' }";
        let missing = refusal(&format!("{measure}, reduce = 'when-below'"));
        assert!(missing.contains("give a `threshold`"), "{missing}");
        let early = refusal(&format!("{measure}, from = '-1 s'"));
        assert!(early.contains("probe.it.from"), "{early}");
    }
}
