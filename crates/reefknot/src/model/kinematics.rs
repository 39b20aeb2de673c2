//! Where everything is that is not solved for: the points of scripted objects, held nodes, loads.

use glam::{DMat3, DVec3};
use rayon::prelude::*;

use super::{Model, Movement, Pin};
use crate::generate::groom::Root;
use crate::mesh::Curve;
use crate::mesh::mass::eigen;
use crate::motion::Script;
use crate::state::State;

/// What is told for a time counts from a step that begins so little before it, as a part of a step: times of steps are
/// computed, and come out a rounding beside.
const ROUNDING: f64 = 1e-6;

/// The nodes that a step holds, and where they end it.
#[derive(Clone, Debug, Default)]
pub struct Held {
    /// Whether each node is held.
    pub is_held: Vec<bool>,
    /// The held nodes, ascending, and where they are at the end of the step (m).
    pub targets: Vec<(usize, DVec3)>,
}

impl Model {
    /// Whether a step that begins at `time` is not before `start`.
    pub(super) fn has_come(&self, start: f64, time: f64) -> bool {
        start <= time + ROUNDING * self.clock.h()
    }

    /// The points of an object (m).
    #[must_use]
    pub fn points(&self, object: usize, state: &State) -> Vec<DVec3> {
        self.points_beside(object, state, 0.0)
    }

    /// The velocities of the points of an object (m/s): of scripted ones, the mean over the last step.
    #[must_use]
    pub fn velocities(&self, object: usize, state: &State) -> Vec<DVec3> {
        self.velocities_at(object, state, &self.points(object, state))
    }

    /// The same, if it is known where the points are.
    pub(crate) fn velocities_at(
        &self,
        object: usize,
        state: &State,
        points: &[DVec3],
    ) -> Vec<DVec3> {
        if let Movement::Simulated(nodes) = &self.objects[object].movement {
            return state.velocities[nodes.clone()].to_vec();
        }
        if self.rests(object) {
            return vec![DVec3::ZERO; points.len()];
        }
        let offset = self.known_offset(state);
        let then = self.points_beside(object, state, offset);
        let pairs = points.iter().zip(&then);
        pairs.map(|(now, then)| (*then - *now) / offset).collect()
    }

    /// Where one point of an object is, and how it moves.
    #[must_use]
    pub fn point(&self, object: usize, vertex: usize, state: &State) -> (DVec3, DVec3) {
        if let Movement::Simulated(nodes) = &self.objects[object].movement {
            let node = nodes.start + vertex;
            return (state.positions[node], state.velocities[node]);
        }
        let now = self.point_beside(object, vertex, state, 0.0);
        if self.rests(object) {
            return (now, DVec3::ZERO);
        }
        let offset = self.known_offset(state);
        let then = self.point_beside(object, vertex, state, offset);
        (now, (then - now) / offset)
    }

    /// A step back, or ahead at the start: nothing is known of what was before (s).
    fn known_offset(&self, state: &State) -> f64 {
        self.clock.h() * if state.step == 0 { 1.0 } else { -1.0 }
    }

    /// Whether an object never moves.
    fn rests(&self, object: usize) -> bool {
        match &self.objects[object].movement {
            Movement::Simulated(_) => false,
            Movement::Scripted(script) => script.is_rest() && self.pins_of(object).next().is_none(),
            Movement::Rooted { host, .. } => self.rests(*host),
        }
    }

    /// One of the points of [`Model::points_beside`], without the others.
    fn point_beside(&self, object: usize, vertex: usize, state: &State, offset: f64) -> DVec3 {
        match &self.objects[object].movement {
            Movement::Simulated(nodes) => {
                let node = nodes.start + vertex;
                match offset == 0.0 {
                    true => state.positions[node],
                    false => state.positions[node] + offset * state.velocities[node],
                }
            }
            Movement::Scripted(script) => {
                let time = self.clock.time(state.step) + offset;
                let start = self.objects[object].mesh.points[vertex];
                let mut point = script.point(vertex, start, time);
                for pin in self.pins_of(object).filter(|pin| time >= pin.start) {
                    if let Ok(index) = pin.vertices.binary_search(&(vertex as u32)) {
                        point = pin.scripted_point(index, vertex, start, script, time);
                    }
                }
                point
            }
            Movement::Rooted { host, roots } => {
                let mesh = &self.objects[object].mesh;
                let after = |curve: &Curve| curve.first as usize <= vertex;
                let curve = mesh.curves.partition_point(after) - 1;
                let corner = |corner: u32| self.point_beside(*host, corner as usize, state, offset);
                let (from, to, turn) = self.root_motion(*host, &roots[curve], corner);
                to + turn * (mesh.points[vertex] - from)
            }
        }
    }

    /// The points of an object some time away from a state, as if velocities stayed the same.
    fn points_beside(&self, object: usize, state: &State, offset: f64) -> Vec<DVec3> {
        match &self.objects[object].movement {
            Movement::Simulated(nodes) => {
                let nodes = nodes.clone();
                let moving = state.positions[nodes.clone()]
                    .iter()
                    .zip(&state.velocities[nodes]);
                // Not x + 0 v, which has other bits for −0.
                match offset == 0.0 {
                    true => moving.map(|(x, _)| *x).collect(),
                    false => moving.map(|(x, v)| *x + offset * *v).collect(),
                }
            }
            Movement::Scripted(script) => {
                self.scripted_points(object, script, self.clock.time(state.step) + offset)
            }
            Movement::Rooted { host, roots } => {
                let host_points = self.points_beside(*host, state, offset);
                self.rooted_points(object, *host, roots, &host_points)
            }
        }
    }

    /// Points by their script, and those that pins hold by theirs.
    fn scripted_points(&self, object: usize, script: &Script, time: f64) -> Vec<DVec3> {
        let start = &self.objects[object].mesh.points;
        let mut points: Vec<DVec3> = script
            .points(start.iter().copied().enumerate(), time)
            .collect();
        for pin in self
            .pins_of(object)
            .filter(|pin| self.has_come(pin.start, time))
        {
            for (index, &vertex) in pin.vertices.iter().enumerate() {
                let vertex = vertex as usize;
                points[vertex] = pin.scripted_point(index, vertex, start[vertex], script, time);
            }
        }
        points
    }

    fn pins_of(&self, object: usize) -> impl Iterator<Item = &Pin> {
        self.pins.iter().filter(move |pin| pin.object == object)
    }

    /// Rods that go with the triangles of their host.
    fn rooted_points(
        &self,
        object: usize,
        host: usize,
        roots: &[Root],
        host_points: &[DVec3],
    ) -> Vec<DVec3> {
        let mesh = &self.objects[object].mesh;
        let rods: Vec<Vec<DVec3>> = mesh
            .curves
            .par_iter()
            .zip(roots)
            .map(|(curve, root)| {
                let corner = |vertex: u32| host_points[vertex as usize];
                let (from, to, turn) = self.root_motion(host, root, corner);
                let points = &mesh.points[vertices_of(curve)];
                points
                    .iter()
                    .map(|point| to + turn * (*point - from))
                    .collect()
            })
            .collect();
        rods.into_iter().flatten().collect()
    }

    /// Where a root was at the start, where it is, and how its triangle has turned.
    pub(super) fn root_motion(
        &self,
        host: usize,
        root: &Root,
        point: impl Fn(u32) -> DVec3,
    ) -> (DVec3, DVec3, DMat3) {
        let host = &self.objects[host].mesh;
        let corners = host.triangles[root.triangle as usize];
        let before = corners.map(|vertex| host.points[vertex as usize]);
        let after = corners.map(point);
        // Where the host rests, the rod keeps its bits.
        if before == after {
            return (DVec3::ZERO, DVec3::ZERO, DMat3::IDENTITY);
        }
        let place = |corners: [DVec3; 3]| -> DVec3 {
            let parts = corners.iter().zip(root.weights);
            parts.map(|(corner, weight)| *corner * weight).sum()
        };
        let turn = frame_of(after) * frame_of(before).transpose();
        (place(before), place(after), turn)
    }

    /// The nodes that the step from a state holds.
    #[must_use]
    pub fn held(&self, from: &State) -> Held {
        let time = self.clock.time(from.step);
        let end = self.clock.time(from.step + 1);
        let mut targets = Vec::new();
        for pin in self
            .pins
            .iter()
            .filter(|pin| self.has_come(pin.start, time) && !self.has_come(pin.release, time))
        {
            let Movement::Simulated(nodes) = &self.objects[pin.object].movement else {
                continue;
            };
            for (index, &vertex) in pin.vertices.iter().enumerate() {
                let node = nodes.start + vertex as usize;
                let target = match pin.start == 0.0 {
                    true => pin.script.point(index, self.start.positions[node], end),
                    false => pin.carry(index, from.positions[node], time, end),
                };
                targets.push((node, target));
            }
        }
        // Of several pins on a vertex the last one counts.
        targets.reverse();
        targets.sort_by_key(|(node, _)| *node);
        targets.dedup_by_key(|(node, _)| *node);
        let mut is_held = vec![false; self.masses.len()];
        for (node, _) in &targets {
            is_held[*node] = true;
        }
        Held { is_held, targets }
    }

    /// The forces of loads on nodes during the step from a state (N).
    #[must_use]
    pub fn load_forces(&self, from: &State) -> Vec<(usize, DVec3)> {
        let time = self.clock.time(from.step);
        let end = self.clock.time(from.step + 1);
        let mut forces = Vec::new();
        for load in self
            .loads
            .iter()
            .filter(|load| self.has_come(load.start, time) && !self.has_come(load.stop, time))
        {
            let Movement::Simulated(nodes) = &self.objects[load.object].movement else {
                continue;
            };
            let size = match load.ramp > 0.0 {
                true => ((end - load.start) / load.ramp).min(1.0),
                false => 1.0,
            };
            let vertices: Vec<usize> = load
                .vertices
                .iter()
                .map(|v| nodes.start + *v as usize)
                .collect();
            let places: Vec<DVec3> = vertices.iter().map(|node| from.positions[*node]).collect();
            let shares = share_load(load.force * size, load.moment * size, &places);
            forces.extend(vertices.into_iter().zip(shares));
        }
        forces
    }
}

impl Pin {
    /// Where it holds a vertex of an object that is told how to move.
    fn scripted_point(
        &self,
        index: usize,
        vertex: usize,
        start: DVec3,
        script: &Script,
        time: f64,
    ) -> DVec3 {
        let until = time.min(self.release);
        match self.start == 0.0 {
            true => self.script.point(index, start, until),
            false => {
                let taken = script.point(vertex, start, self.start);
                self.carry(index, taken, self.start, until)
            }
        }
    }

    /// Where a vertex that is at `place` at one time is carried until another.
    fn carry(&self, index: usize, place: DVec3, from: f64, to: f64) -> DVec3 {
        match &self.script.sequence {
            None if self.script.is_rest() => place,
            None => {
                let motion = &self.script.motion;
                motion
                    .pose(to)
                    .after(&motion.pose(from).inverse())
                    .apply(place)
            }
            Some(_) => {
                let at = |time| self.script.point(index, place, time);
                place + (at(to) - at(from))
            }
        }
    }
}

/// Forces with a given sum and a given moment about the middle of the places: equal parts, and the field ω × r
/// whose moment is the given one.
pub(crate) fn share_load(force: DVec3, moment: DVec3, places: &[DVec3]) -> Vec<DVec3> {
    let count = places.len().max(1) as f64;
    let middle = places.iter().sum::<DVec3>() / count;
    let mut inertia = DMat3::ZERO;
    for place in places {
        let r = *place - middle;
        inertia += DMat3::from_diagonal(DVec3::splat(r.length_squared()))
            - DMat3::from_cols(r * r.x, r * r.y, r * r.z);
    }
    // About a line that all places lie on, no forces on them can turn: what remains of it is rounding.
    let (axes, inertias) = eigen(inertia);
    let mut spin = DVec3::ZERO;
    for (axis, about) in [axes.x_axis, axes.y_axis, axes.z_axis]
        .into_iter()
        .zip(inertias.to_array())
    {
        if about > 1e-12 * inertias.z {
            spin += axis * (axis.dot(moment) / about);
        }
    }
    let share = |place: &DVec3| force / count + spin.cross(*place - middle);
    places.iter().map(share).collect()
}

/// A right-handed frame of a triangle.
fn frame_of([a, b, c]: [DVec3; 3]) -> DMat3 {
    let along = (b - a).normalize_or_zero();
    let normal = (b - a).cross(c - a).normalize_or_zero();
    match along.is_normalized() && normal.is_normalized() {
        true => DMat3::from_cols(along, normal.cross(along), normal),
        false => DMat3::IDENTITY,
    }
}

/// The vertices of a curve.
fn vertices_of(curve: &Curve) -> std::ops::Range<usize> {
    curve.first as usize..(curve.first + curve.count) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::{Scene, SceneRequest, shipped};
    use proptest::prelude::*;

    #[test]
    fn a_point_alone_is_where_it_is_among_all() {
        let request = SceneRequest {
            text: shipped::find("gallery").unwrap().text.to_owned(),
            quick: true,
            ..SceneRequest::default()
        };
        let model = Model::build(&Scene::read(&request).unwrap()).unwrap();
        for step in [0, 37] {
            let state = State {
                step,
                ..model.start.clone()
            };
            for index in 0..model.objects.len() {
                let points = model.points(index, &state);
                let velocities = model.velocities(index, &state);
                for vertex in (0..points.len()).step_by(7) {
                    let expected = (points[vertex], velocities[vertex]);
                    assert_eq!(model.point(index, vertex, &state), expected);
                }
            }
        }
    }

    proptest! {
        #[test]
        fn shares_of_a_load_have_its_force_and_moment(
            places in proptest::collection::vec(proptest::array::uniform3(-1.0f64..1.0), 3..9),
            force in proptest::array::uniform3(-5.0f64..5.0),
            moment in proptest::array::uniform3(-5.0f64..5.0),
        ) {
            let places: Vec<DVec3> = places.into_iter().map(DVec3::from).collect();
            let middle = places.iter().sum::<DVec3>() / places.len() as f64;
            let spread = places.iter().map(|p| (*p - middle).cross(places[0] - middle).length());
            prop_assume!(spread.fold(0.0, f64::max) > 0.1);
            let (force, moment) = (DVec3::from(force), DVec3::from(moment));
            let shares = share_load(force, moment, &places);
            let sum: DVec3 = shares.iter().sum();
            let torque: DVec3 = places.iter().zip(&shares).map(|(p, f)| (*p - middle).cross(*f)).sum();
            prop_assert!((sum - force).length() < 1e-10);
            prop_assert!((torque - moment).length() < 1e-9);
        }
    }

    #[test]
    fn a_moment_about_the_line_that_all_places_lie_on_makes_no_huge_forces() {
        // The inertia about the line is not zero but rounding, and its inverse was 1e15.
        let along = DVec3::new(0.3, 0.4, 0.5);
        let places: Vec<DVec3> = (0..5).map(|i| DVec3::ONE + along * f64::from(i)).collect();
        let moment = along.any_orthogonal_vector();
        let shares = share_load(DVec3::ZERO, moment + along, &places);
        let middle = places[2];
        let pairs = places.iter().zip(&shares);
        let torque: DVec3 = pairs.map(|(p, f)| (*p - middle).cross(*f)).sum();
        assert!((torque - moment).length() < 1e-12, "{torque}");
        assert!(
            shares.iter().all(|share| share.length() < 1.0),
            "{shares:?}"
        );
    }
}
