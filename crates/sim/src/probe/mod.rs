//! Probes: measurements at every step, and one reduced value for the run.

mod conclusion;
mod series;

use glam::DVec3;

use crate::certify::{ContactRecord, Step};
use crate::model::probe::{
    ContactFilter, MeasuredEnergy, MeasuredMomentum, MeasuredQuantity, PointSet, Probe,
};
use crate::model::{Model, Movement};
use crate::state::State;

pub use series::ProbeSeries;

impl PointSet {
    /// Mean position (m) and mean velocity (m/s).
    fn mean(&self, model: &Model, state: &State) -> (DVec3, DVec3) {
        let (mut place, mut velocity) = (DVec3::ZERO, DVec3::ZERO);
        for (x, v) in self.all(model, state) {
            place += x;
            velocity += v;
        }
        let count = self.vertices.len() as f64;
        if self.vertices.len() == 1 {
            (place, velocity)
        } else {
            (place / count, velocity / count)
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

    /// Angle of the rotation about an axis that best maps the initial positions to the current ones
    /// (rad), by least squares.
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

impl ContactFilter {
    fn of(self, step: &Step) -> impl Iterator<Item = &ContactRecord> {
        let ContactFilter { object, other } = self;
        let is_meant = move |[first, second]: [usize; 2]| match other {
            Some(other) => [first, second] == [object, other] || [second, first] == [object, other],
            None => first == object || second == object,
        };
        let contacts = step.contacts.iter();
        contacts.filter(move |contact| is_meant(contact.objects))
    }

    /// Points and forces of the contacts on the object. Self-contact forces cancel.
    fn forces(self, step: &Step) -> impl Iterator<Item = (DVec3, DVec3)> {
        let ContactFilter { object, .. } = self;
        let others = self.of(step).filter(|it| it.objects[0] != it.objects[1]);
        others.map(move |contact| {
            let is_first = contact.objects[0] == object;
            let sign = if is_first { 1.0 } else { -1.0 };
            (contact.point, sign * contact.force)
        })
    }

    /// Total force of the contacts on the object (N).
    fn force(&self, step: &Step) -> DVec3 {
        self.forces(step).map(|(_, force)| force).sum()
    }

    /// Total moment of the contacts on the object about its centre of mass (N m).
    fn torque(&self, model: &Model, step: &Step) -> DVec3 {
        let center = center_of_mass(model, &step.to, self.object);
        let moments = self.forces(step);
        let moments = moments.map(|(point, force)| (point - center).cross(force));
        moments.sum()
    }

    /// Number of contacts with a force.
    fn count(&self, step: &Step) -> f64 {
        let carrying = self.of(step).filter(|it| it.force != DVec3::ZERO);
        carrying.count() as f64
    }

    /// Smallest gap (m); NaN without contacts.
    fn gap(&self, step: &Step) -> f64 {
        let gaps = self.of(step).map(|contact| contact.gap);
        gaps.fold(f64::NAN, f64::min)
    }
}

impl Probe {
    /// Columns of this probe in `probes.csv`, with units.
    #[must_use]
    pub fn columns(&self) -> Vec<String> {
        let unit = match (&self.quantity, self.scale == 1.0) {
            (_, false) => "scaled",
            (
                MeasuredQuantity::Position(_)
                | MeasuredQuantity::Displacement(_)
                | MeasuredQuantity::Distance(..),
                _,
            ) => "m",
            (
                MeasuredQuantity::OutOfPlane(..)
                | MeasuredQuantity::MapError(..)
                | MeasuredQuantity::Gap(_),
                _,
            ) => "m",
            (MeasuredQuantity::Velocity(_), _) => "m/s",
            (
                MeasuredQuantity::PinForce(_)
                | MeasuredQuantity::ContactForce(_)
                | MeasuredQuantity::Weight(_),
                _,
            ) => "N",
            (MeasuredQuantity::ContactTorque(_), _) => "N m",
            (MeasuredQuantity::Energy(_), _) => "J",
            (MeasuredQuantity::Rotation(..) | MeasuredQuantity::Swing(..), _) => "rad",
            (
                MeasuredQuantity::MomentumDrift(_)
                | MeasuredQuantity::MaxStretch(_)
                | MeasuredQuantity::Contacts(_),
                _,
            ) => "1",
        };
        let names: &[&str] = match &self.quantity {
            MeasuredQuantity::Position(_)
            | MeasuredQuantity::Displacement(_)
            | MeasuredQuantity::Velocity(_)
            | MeasuredQuantity::PinForce(_)
            | MeasuredQuantity::ContactForce(_)
            | MeasuredQuantity::ContactTorque(_)
                if self.along.is_none() =>
            {
                &[".x", ".y", ".z"]
            }
            MeasuredQuantity::Swing(..) => &[".tilt", ".turn"],
            _ => &[""],
        };
        let column = |part: &&str| format!("{}{part} [{unit}]", self.name);
        names.iter().map(column).collect()
    }

    /// Values after a step. Forces and contacts are NaN before the first step.
    #[must_use]
    pub fn values(&self, model: &Model, state: &State, step: Option<&Step>) -> Vec<f64> {
        let mut values = match &self.quantity {
            MeasuredQuantity::Position(points) => self.vector(points.mean(model, state).0),
            MeasuredQuantity::Displacement(points) => {
                self.vector(points.mean(model, state).0 - points.start(model))
            }
            MeasuredQuantity::Velocity(points) => self.vector(points.mean(model, state).1),
            MeasuredQuantity::Distance(from, to) => {
                let apart = to.mean(model, state).0 - from.mean(model, state).0;
                match self.along {
                    Some(_) => self.vector(apart),
                    None => vec![apart.length()],
                }
            }
            MeasuredQuantity::Rotation(points, axis) => vec![points.rotation(model, state, *axis)],
            MeasuredQuantity::Swing(points, center) => {
                let arm = points.mean(model, state).0 - *center;
                let tilt = arm.x.hypot(arm.y).atan2(-arm.z);
                vec![tilt, arm.y.atan2(arm.x)]
            }
            MeasuredQuantity::OutOfPlane(object, normal) => {
                let origin = model.objects[*object].mesh.points[0];
                let apart = |point: &DVec3| (*point - origin).dot(*normal).abs();
                vec![largest(model.points(*object, state).iter().map(apart))]
            }
            MeasuredQuantity::MapError(object, map) => {
                let starts = &model.objects[*object].mesh.points;
                let points = model.points(*object, state);
                let apart = points
                    .iter()
                    .zip(starts)
                    .map(|(now, start)| now.distance(*map * *start));
                vec![largest(apart)]
            }
            MeasuredQuantity::PinForce(pin) => {
                let object = &model.objects[model.pins[*pin].object];
                match step.filter(|_| !object.nodes().is_empty()) {
                    Some(step) => self.vector(step.pin_force(model, *pin)),
                    // Unknown before the first step, and for scripted objects.
                    None => vec![f64::NAN; self.columns().len()],
                }
            }
            MeasuredQuantity::ContactForce(filter) => match step {
                Some(step) => self.vector(filter.force(step)),
                None => vec![f64::NAN; self.columns().len()],
            },
            MeasuredQuantity::ContactTorque(filter) => match step {
                Some(step) => self.vector(filter.torque(model, step)),
                None => vec![f64::NAN; self.columns().len()],
            },
            MeasuredQuantity::Contacts(filter) => {
                vec![step.map_or(f64::NAN, |step| filter.count(step))]
            }
            MeasuredQuantity::Gap(filter) => vec![step.map_or(f64::NAN, |step| filter.gap(step))],
            MeasuredQuantity::Energy(kind) => vec![energy(*kind, model, state, step)],
            MeasuredQuantity::MomentumDrift(kind) => vec![momentum_drift(*kind, model, state)],
            MeasuredQuantity::MaxStretch(object) => {
                let bodies = model.bodies.iter().filter(|body| body.object == *object);
                let stretch = bodies.map(|body| body.max_stretch(state));
                vec![stretch.fold(f64::NAN, f64::max)]
            }
            MeasuredQuantity::Weight(objects) => {
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

fn energy(kind: MeasuredEnergy, model: &Model, state: &State, step: Option<&Step>) -> f64 {
    let energies = match step {
        Some(step) => step.report.energy_j,
        None => crate::certify::energies(model, state),
    };
    match kind {
        MeasuredEnergy::Kinetic => energies.kinetic,
        MeasuredEnergy::Elastic => energies.elastic,
        MeasuredEnergy::Gravity => energies.gravity,
        MeasuredEnergy::Total => energies.total(),
    }
}

/// Centre of mass of an object; the origin for one without nodes.
fn center_of_mass(model: &Model, state: &State, object: usize) -> DVec3 {
    let nodes = model.objects[object].nodes();
    let nodes = nodes.filter(|node| !model.is_axis(*node));
    let (moment, mass) = nodes.fold((DVec3::ZERO, 0.0), |(moment, mass), node| {
        let own = model.masses[node];
        (moment + own * state.positions[node], mass + own)
    });
    if mass > 0.0 {
        moment / mass
    } else {
        DVec3::ZERO
    }
}

/// Change of momentum since the start, relative to the initial sum of magnitudes; the maximum over
/// all objects.
fn momentum_drift(kind: MeasuredMomentum, model: &Model, state: &State) -> f64 {
    let objects = 0..model.objects.len();
    if kind == MeasuredMomentum::TotalLinear {
        let total = |state: &State| {
            let parts = objects
                .clone()
                .map(|object| momentum(kind, model, state, object));
            parts.fold((DVec3::ZERO, 0.0), |sum, part| {
                (sum.0 + part.0, sum.1 + part.1)
            })
        };
        let ((before, size), (after, _)) = (total(&model.start), total(state));
        return relative_change(after, before, size);
    }
    let drift = |object: usize| {
        let (before, size) = momentum(kind, model, &model.start, object);
        let (after, _) = momentum(kind, model, state, object);
        // Angular momentum is compared with its initial value. Total linear momentum may be zero.
        let size = match kind {
            MeasuredMomentum::Angular if before != DVec3::ZERO => before.length(),
            _ => size,
        };
        relative_change(after, before, size)
    };
    largest(objects.map(drift))
}

/// Distance of two vectors relative to `size`; 0 if that is 0.
fn relative_change(after: DVec3, before: DVec3, size: f64) -> f64 {
    if size > 0.0 {
        after.distance(before) / size
    } else {
        0.0
    }
}

/// Momentum of an object, and the sum of the magnitudes of its parts.
fn momentum(kind: MeasuredMomentum, model: &Model, state: &State, object: usize) -> (DVec3, f64) {
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
            MeasuredMomentum::Linear | MeasuredMomentum::TotalLinear if model.is_axis(node) => {
                DVec3::ZERO
            }
            MeasuredMomentum::Linear | MeasuredMomentum::TotalLinear => mass * v,
            MeasuredMomentum::Angular => mass * x.cross(v),
        };
        sum += part;
        size += part.length();
    }
    if kind == MeasuredMomentum::Angular {
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
    use crate::integrate::Scratch;
    use crate::scene::problem::Problems;
    use crate::scene::{Scene, SceneRequest};
    use crate::step::step;

    /// Two sheets above a floor, and a probe.
    fn model(probe: &str) -> Result<Model, Problems> {
        let grid = "kind = \"cloth-grid\", size = [1, 1], vertices = [2, 2]";
        let sheet = format!("{{ {grid}, material = \"stuff\", position = [0, 0, 1] }}");
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

    /// Values of a contact probe at the start and after a step.
    fn measured(measure: &str) -> [Vec<f64>; 2] {
        let model = model(&format!("measure = {{ {measure} }}")).unwrap();
        let mut scratch = Scratch::new(&model);
        let mut step = step(&model, &model.start, &mut scratch).unwrap();
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
    fn contact_forces_on_the_two_objects_are_opposite() {
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
    fn contact_torques_are_about_the_centre_of_mass() {
        let torque = |of: &str| measured(&format!("contact_torque = {{ {of} }}"))[1].clone();
        // The test contacts are at the origin; sheet one is 1 m above, but for one step of fall.
        let moment = DVec3::from_slice(&torque("object = 'one', other = 'two'"));
        assert!(moment.distance(-DVec3::Y) < 1e-2, "{moment}");
        // A collider has no mass: about the origin, where the contacts are.
        assert_eq!(torque("object = 'floor'"), [0.0; 3]);
    }

    #[test]
    fn counts_need_a_force_and_gaps_do_not() {
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
        // Without contacts the count is 0 and the gap is unknown.
        let [start, count] = measured("contacts = { object = 'two', other = 'two' }");
        assert!(start[0].is_nan() && count == [0.0]);
        assert!(measured("gap = { object = 'two', other = 'two' }")[1][0].is_nan());
    }

    #[test]
    fn columns_of_contact_probes_have_units() {
        let columns = |probe: &str| model(probe).unwrap().probes[0].columns();
        let force = columns("measure.contact_force = { object = 'one' }");
        assert_eq!(force, ["it.x [N]", "it.y [N]", "it.z [N]"]);
        let along = columns("measure.contact_force = { object = 'one' }, along = [0, 0, 1]");
        assert_eq!(along, ["it [N]"]);
        assert_eq!(columns("measure.contacts = { object = 'one' }"), ["it [1]"]);
        assert_eq!(columns("measure.gap = { object = 'one' }"), ["it [m]"]);
    }

    #[test]
    fn invalid_contact_probes_are_refused() {
        let refusal = |probe: &str| model(probe).unwrap_err().to_string();
        let other = refusal("measure.gap = { object = 'one', other = 'flor' }");
        assert!(other.contains("floor"), "{other}");
        let measure = "measure.gap = { object = 'one' }";
        let missing = refusal(&format!("{measure}, reduce = 'when-below'"));
        assert!(missing.contains("needs a `threshold`"), "{missing}");
        let early = refusal(&format!("{measure}, from = '-1 s'"));
        assert!(early.contains("probe.it.from"), "{early}");
    }
}
