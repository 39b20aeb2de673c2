//! Kinematics: points of objects in a state, prescribed motion of scripted objects, and held nodes.

use glam::{DMat3, DQuat, DVec3};
use rayon::prelude::*;

use super::collision::ExactCollider;
use super::{Model, Movement, ObjectType, Pin};
use crate::generate::groom::Root;
use crate::motion::{Pose, Script};
use crate::state::{Span, State};

/// An event takes effect in a step that starts at most this fraction of a time step before it: the
/// times of steps have rounding errors.
const TIME_TOLERANCE: f64 = 1e-6;

/// Held unknowns of a step, and their values at its end.
#[derive(Clone, Debug, Default)]
pub struct Held {
    /// Whether each unknown is held.
    pub is_held: Vec<bool>,
    /// Held nodes, ascending, with their positions at the end of the step (m). Components along
    /// free axes are not used.
    pub targets: Vec<(usize, DVec3)>,
    /// Held rod edges, ascending, with the rotations of their sections in the step (rad).
    pub turns: Vec<(usize, f64)>,
}

impl Model {
    /// Whether a step that starts at `time` is at or after `start`, up to rounding.
    pub(super) fn has_begun(&self, start: f64, time: f64) -> bool {
        start <= time + TIME_TOLERANCE * self.clock.h()
    }

    /// Points of an object (m).
    #[must_use]
    pub fn points(&self, object: usize, state: &State) -> Vec<DVec3> {
        self.points_beside(object, state, 0.0)
    }

    /// Velocities of the points of an object (m/s). For scripted objects: the mean over the last
    /// step.
    #[must_use]
    pub fn velocities(&self, object: usize, state: &State) -> Vec<DVec3> {
        self.velocities_at(object, state, &self.points(object, state))
    }

    /// Velocities of the points of an object, given these points (m/s).
    pub(crate) fn velocities_at(
        &self,
        object: usize,
        state: &State,
        points: &[DVec3],
    ) -> Vec<DVec3> {
        match &self.objects[object].movement {
            Movement::Simulated(nodes) => return state.velocities[nodes.clone()].to_vec(),
            Movement::Carried(carried) => {
                let vertices = 0..carried.corners.len();
                return vertices
                    .map(|vertex| carried.at(vertex, &state.velocities))
                    .collect();
            }
            Movement::Scripted(_) if self.is_at_rest(object) => {
                return vec![DVec3::ZERO; points.len()];
            }
            Movement::Scripted(_) => {}
        }
        let offset = self.difference_offset(state);
        let then = self.points_beside(object, state, offset);
        let pairs = points.iter().zip(&then);
        pairs.map(|(now, then)| (*then - *now) / offset).collect()
    }

    /// Position and velocity of one point of an object (m, m/s).
    #[must_use]
    pub fn point(&self, object: usize, vertex: usize, state: &State) -> (DVec3, DVec3) {
        match &self.objects[object].movement {
            Movement::Simulated(nodes) => {
                let node = nodes.start + vertex;
                return (state.positions[node], state.velocities[node]);
            }
            Movement::Carried(carried) => {
                let at = |values: &[DVec3]| carried.at(vertex, values);
                return (at(&state.positions), at(&state.velocities));
            }
            Movement::Scripted(_) => {}
        }
        let now = self.point_beside(object, vertex, state, 0.0);
        if self.is_at_rest(object) {
            return (now, DVec3::ZERO);
        }
        let offset = self.difference_offset(state);
        let then = self.point_beside(object, vertex, state, offset);
        (now, (then - now) / offset)
    }

    /// Time offset for velocities by finite differences: one step back; at the start, one ahead
    /// (s).
    fn difference_offset(&self, state: &State) -> f64 {
        self.clock.h() * if state.step == 0 { 1.0 } else { -1.0 }
    }

    /// Whether an object is scripted and never moves.
    fn is_at_rest(&self, object: usize) -> bool {
        match &self.objects[object].movement {
            Movement::Simulated(_) | Movement::Carried(_) => false,
            Movement::Scripted(script) => script.is_rest() && self.pins_of(object).next().is_none(),
        }
    }

    /// One point of [`Model::points_beside`].
    pub(super) fn point_beside(
        &self,
        object: usize,
        vertex: usize,
        state: &State,
        offset: f64,
    ) -> DVec3 {
        match &self.objects[object].movement {
            Movement::Simulated(nodes) => {
                let node = nodes.start + vertex;
                if offset == 0.0 {
                    state.positions[node]
                } else {
                    state.positions[node] + offset * state.velocities[node]
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
            Movement::Carried(carried) => {
                let (points, velocities) = (&state.positions, &state.velocities);
                if offset == 0.0 {
                    carried.at(vertex, points)
                } else {
                    carried.at(vertex, points) + offset * carried.at(vertex, velocities)
                }
            }
        }
    }

    /// Points of an object at a time offset from a state (m): extrapolated with constant velocity,
    /// or by the script.
    fn points_beside(&self, object: usize, state: &State, offset: f64) -> Vec<DVec3> {
        match &self.objects[object].movement {
            Movement::Simulated(nodes) => {
                let nodes = nodes.clone();
                let moving = state.positions[nodes.clone()]
                    .iter()
                    .zip(&state.velocities[nodes]);
                // x + 0 v would change the sign of −0.
                if offset == 0.0 {
                    moving.map(|(x, _)| *x).collect()
                } else {
                    moving.map(|(x, v)| *x + offset * *v).collect()
                }
            }
            Movement::Scripted(script) => {
                self.scripted_points(object, script, self.clock.time(state.step) + offset)
            }
            Movement::Carried(carried) => {
                let vertices = (0..carried.corners.len()).into_par_iter();
                let points =
                    vertices.map(|vertex| self.point_beside(object, vertex, state, offset));
                points.collect()
            }
        }
    }

    /// Pose of an exact collider at a time.
    pub(crate) fn collider_pose(&self, collider: &ExactCollider, time: f64) -> Pose {
        match &self.objects[collider.object].movement {
            Movement::Scripted(script) => script.motion.pose(time).after(&collider.pose),
            Movement::Simulated(_) | Movement::Carried(_) => collider.pose,
        }
    }

    /// Points of a scripted object at a time (m); `None` for other objects.
    pub(crate) fn scripted_points_of(&self, object: usize, time: f64) -> Option<Vec<DVec3>> {
        match &self.objects[object].movement {
            Movement::Scripted(script) => Some(self.scripted_points(object, script, time)),
            Movement::Simulated(_) | Movement::Carried(_) => None,
        }
    }

    /// Points by the script of the object; pinned ones by the script of their pin.
    fn scripted_points(&self, object: usize, script: &Script, time: f64) -> Vec<DVec3> {
        let start = &self.objects[object].mesh.points;
        let mut points: Vec<DVec3> = script
            .points(start.iter().copied().enumerate(), time)
            .collect();
        for pin in self
            .pins_of(object)
            .filter(|pin| self.has_begun(pin.start, time))
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

    /// Initial position of a root, its position, and the rotation of its triangle.
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
        // On a host at rest, the rod keeps its bits.
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

    /// Held unknowns of the step from a state.
    #[must_use]
    pub fn held(&self, from: &State, span: &Span) -> Held {
        let pinned = self.pinned(from, span);
        let mut is_free = Vec::new();
        let mut targets = Vec::with_capacity(pinned.len());
        for (node, (target, holds)) in last_of_each(pinned) {
            targets.push((node, target));
            let axes = (0..3).filter(|axis| !holds[*axis]);
            is_free.extend(axes.map(|axis| self.unknowns.node_offset[node] + axis));
        }
        let mut turns = self.clamped(from, span, &targets);
        for object in 0..self.objects.len() {
            self.hold_roots(object, from, span, &mut targets, &mut turns);
        }
        let (targets, turns) = (last_of_each(targets), last_of_each(turns));
        let mut is_held = vec![false; self.unknowns.count];
        for (node, _) in &targets {
            let offset = self.unknowns.node_offset[*node];
            is_held[offset..offset + 3].fill(true);
        }
        for dof in is_free {
            is_held[dof] = false;
        }
        for (edge, _) in &turns {
            is_held[self.unknowns.edge_offset[*edge]] = true;
        }
        Held {
            is_held,
            targets,
            turns,
        }
    }

    /// Sets initial velocities of nodes that are held from the start to their prescribed
    /// velocities, which precede the initial velocity of the object.
    pub(crate) fn set_held_start_velocities(&mut self) {
        let span = self.clock.span(0);
        let held = self.held(&self.start, &span);
        for (node, target) in &held.targets {
            let velocity = (*target - self.start.positions[*node]) / span.h;
            let offset = self.unknowns.node_offset[*node];
            for axis in (0..3).filter(|axis| held.is_held[offset + axis]) {
                self.start.velocities[*node][axis] = velocity[axis];
            }
        }
        for (edge, turn) in &held.turns {
            self.start.spins[*edge] = turn / span.h;
        }
    }

    /// Whether a pin holds during a step.
    pub(crate) fn is_pinned(&self, pin: &Pin, span: &Span) -> bool {
        self.has_begun(pin.start, span.begin) && !self.has_begun(pin.release, span.begin)
    }

    /// Nodes held by pins, with their positions at the end of the step (m) and held axes.
    pub(crate) fn pinned(&self, from: &State, span: &Span) -> Vec<(usize, (DVec3, [bool; 3]))> {
        let mut targets = Vec::new();
        for pin in self.pins.iter().filter(|pin| self.is_pinned(pin, span)) {
            for (index, &node) in pin.nodes.iter().enumerate() {
                let place = if pin.start == 0.0 {
                    self.start.positions[node]
                } else {
                    from.positions[node]
                };
                let target = match (pin.start == 0.0, self.is_axis(node)) {
                    (true, true) => pin.script.motion.pose(span.end).turn * place,
                    (true, false) => pin.script.point(index, place, span.end),
                    (false, true) => pin.carry_axis(place, span.begin, span.end),
                    (false, false) => pin.carry(index, place, span.begin, span.end),
                };
                targets.push((node, (target, pin.holds)));
            }
        }
        targets
    }

    /// Holds the first edges of rooted rods: they follow the triangles of their host, whose motion
    /// is extrapolated if it is simulated.
    fn hold_roots(
        &self,
        object: usize,
        from: &State,
        span: &Span,
        targets: &mut Vec<(usize, DVec3)>,
        turns: &mut Vec<(usize, f64)>,
    ) {
        let (Some(rooted), Movement::Simulated(nodes)) =
            (&self.objects[object].rooted, &self.objects[object].movement)
        else {
            return;
        };
        let offset = match &self.objects[rooted.host].movement {
            // A script depends on the time of the whole step; the span may be a later part of it.
            Movement::Scripted(_) => span.end - self.clock.time(from.step),
            Movement::Simulated(_) | Movement::Carried(_) => span.h,
        };
        let is_prescribed = matches!(self.objects[rooted.host].movement, Movement::Scripted(_));
        let host_points = self.points_beside(rooted.host, from, offset);
        let mesh = &self.objects[object].mesh;
        let first_edge = self.first_edge(object);
        let ObjectType::Rods(rods) = &self.objects[object].kind else {
            return;
        };
        let held: Vec<_> = mesh
            .curves
            .par_iter()
            .zip(&rooted.roots)
            .map(|(curve, root)| {
                let corner = |vertex: u32| host_points[vertex as usize];
                let (before, after, turn) = self.root_motion(rooted.host, root, corner);
                let first = curve.first as usize;
                let place = |vertex: usize| after + turn * (mesh.points[vertex] - before);
                (first, [place(first), place(first + 1)], turn)
            })
            .collect();
        let mut edge = 0;
        for ((first, places, turn), curve) in held.into_iter().zip(&mesh.curves) {
            let node = nodes.start + first;
            let prescribed = turn * rods.directors[edge];
            let turned = self.turn_to(from, first_edge + edge, node, places, prescribed);
            turns.push((first_edge + edge, turned));
            // On a simulated host the vertices are tied; only the rotation of the section is held.
            if is_prescribed {
                targets.extend([(node, places[0]), (node + 1, places[1])]);
            }
            edge += curve.edges().count();
        }
    }

    /// Index of the first rod edge of an object among all simulated rod edges.
    pub(super) fn first_edge(&self, object: usize) -> usize {
        let body = self.bodies.iter().find(|body| body.object == object);
        body.map_or(0, |body| body.edges.start)
    }

    /// Rotation θ of the section of an edge in a step that moves its ends to `places` and its
    /// director to `director` (rad).
    pub(super) fn turn_to(
        &self,
        from: &State,
        edge: usize,
        node: usize,
        places: [DVec3; 2],
        director: DVec3,
    ) -> f64 {
        let before = (from.positions[node + 1] - from.positions[node]).normalize_or_zero();
        let after = (places[1] - places[0]).normalize_or_zero();
        let carried = if before.is_normalized() && after.is_normalized() {
            DQuat::from_rotation_arc(before, after) * from.directors[edge]
        } else {
            from.directors[edge]
        };
        let across = after.dot(carried.cross(director));
        across.atan2(carried.dot(director))
    }
}

impl Pin {
    /// Position of a pinned vertex of a scripted object at a time (m).
    fn scripted_point(
        &self,
        index: usize,
        vertex: usize,
        start: DVec3,
        script: &Script,
        time: f64,
    ) -> DVec3 {
        let until = time.min(self.release);
        if self.start == 0.0 {
            self.script.point(index, start, until)
        } else {
            let taken = script.point(vertex, start, self.start);
            self.carry(index, taken, self.start, until)
        }
    }

    /// Position at time `to` of a vertex that is at `place` at time `from` (m).
    fn carry(&self, index: usize, place: DVec3, from: f64, to: f64) -> DVec3 {
        match &self.script.sequence {
            None if self.script.is_rest() => place,
            None if self.script.motion.deformation.is_none() => {
                let motion = &self.script.motion;
                motion
                    .pose(to)
                    .after(&motion.pose(from).inverse())
                    .apply(place)
            }
            _ => {
                let at = |time| self.script.point(index, place, time);
                place + (at(to) - at(from))
            }
        }
    }

    /// Direction at time `to` of a prop axis that is `axis` at time `from`.
    fn carry_axis(&self, axis: DVec3, from: f64, to: f64) -> DVec3 {
        let motion = &self.script.motion;
        if motion.is_rest() {
            axis
        } else {
            motion.pose(to).turn * (motion.pose(from).turn.conjugate() * axis)
        }
    }
}

/// The last value of each index, by ascending index.
fn last_of_each<T>(mut values: Vec<(usize, T)>) -> Vec<(usize, T)> {
    values.reverse();
    values.sort_by_key(|(index, _)| *index);
    values.dedup_by_key(|(index, _)| *index);
    values
}

/// A right-handed orthonormal frame of a triangle.
fn frame_of([a, b, c]: [DVec3; 3]) -> DMat3 {
    let along = (b - a).normalize_or_zero();
    let normal = (b - a).cross(c - a).normalize_or_zero();
    if along.is_normalized() && normal.is_normalized() {
        DMat3::from_cols(along, normal.cross(along), normal)
    } else {
        DMat3::IDENTITY
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::{Scene, SceneRequest, shipped};

    #[test]
    fn a_single_point_equals_the_entry_of_all_points() {
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
}
