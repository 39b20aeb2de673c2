//! Where everything is that is not solved for: the points of scripted objects, held nodes, loads.

use glam::{DMat3, DQuat, DVec3};
use rayon::prelude::*;

use super::{Clamp, Kind, Model, Movement, Pin};
use crate::generate::groom::Root;
use crate::mesh::Curve;
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
    fn has_come(&self, start: f64, time: f64) -> bool {
        start <= time + ROUNDING * self.clock.h()
    }

    /// The points of an object (m).
    #[must_use]
    pub fn points(&self, object: usize, state: &State) -> Vec<DVec3> {
        self.points_beside(object, state, 0.0)
    }

    /// The velocities of the points of an object (m/s), which are at these places: of scripted ones, the mean over
    /// the last step.
    #[must_use]
    pub fn velocities(&self, object: usize, state: &State, points: &[DVec3]) -> Vec<DVec3> {
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
    fn root_motion(
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

    /// First axis of the section at every edge of an object's rods, whose points are these; nothing for other
    /// objects.
    #[must_use]
    pub fn directors(&self, object: usize, state: &State, points: &[DVec3]) -> Option<Vec<DVec3>> {
        let Kind::Rods(rods) = &self.objects[object].kind else {
            return None;
        };
        let mesh = &self.objects[object].mesh;
        let time = self.clock.time(state.step);
        let host_points = match &self.objects[object].movement {
            Movement::Rooted { host, .. } => self.points(*host, state),
            _ => Vec::new(),
        };
        let counts = mesh.curves.iter().map(|curve| curve.edges().count());
        let firsts: Vec<usize> = counts
            .scan(0, |next, count| {
                Some(std::mem::replace(next, *next + count))
            })
            .collect();
        let of_curve = |(index, curve): (usize, &Curve)| -> Vec<DVec3> {
            let turn = match &self.objects[object].movement {
                Movement::Scripted(script) => DMat3::from_quat(script.motion.pose(time).turn),
                Movement::Rooted { host, roots } => {
                    let corner = |vertex: u32| host_points[vertex as usize];
                    self.root_motion(*host, &roots[index], corner).2
                }
                Movement::Simulated(_) => DMat3::IDENTITY,
            };
            let first = firsts[index];
            let carried = curve.edges().enumerate().map(|(place, edge)| {
                let start = edge.map(|vertex| mesh.points[vertex as usize]);
                let now = edge.map(|vertex| points[vertex as usize]);
                Frame::carried(rods.directors[first + place], turn, start, now)
            });
            let carried: Vec<Frame> = carried.collect();
            let told = self.told_twists(object, first, &carried, time);
            let frames = carried.iter().enumerate();
            frames
                .map(|(place, frame)| frame.twisted(twist_at(&told, place)))
                .collect()
        };
        let curves = mesh.curves.par_iter().enumerate();
        let directors: Vec<Vec<DVec3>> = curves.map(of_curve).collect();
        Some(directors.into_iter().flatten().collect())
    }

    /// The edges of a rod that clamps turn, by their place in the rod, and their angles, ascending. `first` is the first
    /// edge of the rod, `carried` what its frames are without clamps.
    fn told_twists(
        &self,
        object: usize,
        first: usize,
        carried: &[Frame],
        time: f64,
    ) -> Vec<(usize, f64)> {
        let of_object = |clamp: &&Clamp| {
            let pin = &self.pins[clamp.pin];
            pin.object == object && self.has_come(pin.start, time)
        };
        let mut told = Vec::new();
        for clamp in self.clamps.iter().filter(of_object) {
            let pin = &self.pins[clamp.pin];
            let until = time.min(pin.release);
            // Held from the start it is turned as told, later from where it was taken hold of.
            let before = match pin.start == 0.0 {
                true => 0.0,
                false => clamp.twist.angle(pin.start),
            };
            let twist = clamp.twist.angle(until) - before;
            let from = clamp.edges.partition_point(|edge| (*edge as usize) < first);
            for edge in clamp.edges[from..].iter().map(|edge| *edge as usize) {
                let Some(frame) = carried.get(edge - first) else {
                    break;
                };
                let held = self.held_director(object, pin, edge, until);
                let turned = held.map_or(0.0, |held| frame.angle_to(held));
                told.push((edge - first, turned + twist));
            }
        }
        told.sort_by_key(|(place, _)| *place);
        told
    }

    /// Where the motion of a clamp as a whole takes the director that it holds; nothing if a sequence or another object
    /// moves it, which turn nothing by themselves.
    fn held_director(&self, object: usize, pin: &Pin, edge: usize, until: f64) -> Option<DVec3> {
        let object = &self.objects[object];
        let (Kind::Rods(rods), Movement::Scripted(script)) = (&object.kind, &object.movement)
        else {
            return None;
        };
        if script.sequence.is_some() || pin.script.sequence.is_some() {
            return None;
        }
        let motion = &pin.script.motion;
        let turn = match pin.start == 0.0 {
            true => motion.pose(until).turn,
            false => {
                let taken = script.motion.pose(pin.start).turn;
                motion.pose(until).turn * motion.pose(pin.start).turn.conjugate() * taken
            }
        };
        Some(turn * rods.directors[edge])
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

/// The direction of an edge, and the first axis of the section there.
struct Frame {
    along: DVec3,
    director: DVec3,
}

impl Frame {
    /// The frame of an edge with this director at the start, after the rod as a whole was turned and the edge has gone
    /// from one place to another; what the turn leaves over goes by the shortest way.
    fn carried(director: DVec3, turn: DMat3, start: [DVec3; 2], now: [DVec3; 2]) -> Frame {
        let before = turn * (start[1] - start[0]).normalize_or_zero();
        let along = (now[1] - now[0]).normalize_or_zero();
        let rest = match before.is_normalized() && along.is_normalized() {
            true => DQuat::from_rotation_arc(before, along),
            false => DQuat::IDENTITY,
        };
        Frame {
            along,
            director: rest * (turn * director),
        }
    }

    /// The director, turned about the edge.
    fn twisted(&self, angle: f64) -> DVec3 {
        match self.along.is_normalized() {
            true => DQuat::from_axis_angle(self.along, angle) * self.director,
            false => self.director,
        }
    }

    /// The angle about the edge from the director to another, by the shortest way.
    fn angle_to(&self, other: DVec3) -> f64 {
        let across = self.along.dot(self.director.cross(other));
        across.atan2(self.director.dot(other))
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
    let spin = match moment == DVec3::ZERO || inertia.determinant() == 0.0 {
        true => DVec3::ZERO,
        false => inertia.inverse() * moment,
    };
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

/// The twist of an edge of a rod that is turned at some edges: even in between, as in a uniform rod in
/// equilibrium.
fn twist_at(told: &[(usize, f64)], place: usize) -> f64 {
    let after = told.partition_point(|(edge, _)| *edge <= place);
    match (
        after.checked_sub(1).map(|before| told[before]),
        told.get(after).copied(),
    ) {
        (None, None) => 0.0,
        (Some((_, angle)), None) | (None, Some((_, angle))) => angle,
        (Some((from, start)), Some((to, end))) => {
            start + (end - start) * (place - from) as f64 / (to - from) as f64
        }
    }
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
                let velocities = model.velocities(index, &state, &points);
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
    fn twist_is_even_between_clamps_and_constant_beyond() {
        assert_eq!(twist_at(&[], 3), 0.0);
        assert_eq!(twist_at(&[(0, 0.5)], 3), 0.5);
        let both = [(0, 1.0), (4, 3.0)];
        let twists: Vec<f64> = (0..6).map(|place| twist_at(&both, place)).collect();
        assert_eq!(twists, [1.0, 1.5, 2.0, 2.5, 3.0, 3.0]);
    }
}
