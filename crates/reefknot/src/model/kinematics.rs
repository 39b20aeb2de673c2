//! Where everything is that is not solved for: the points of scripted objects, held nodes, loads.

use glam::{DMat3, DQuat, DVec3};
use rayon::prelude::*;

use super::touch::ExactCollider;
use super::{Kind, Model, Movement, Pin};
use crate::generate::groom::Root;
use crate::motion::{Pose, Script};
use crate::state::{Span, State};

/// What is told for a time counts from a step that begins so little before it, as a part of a step: times of steps are
/// computed, and come out a rounding beside.
const ROUNDING: f64 = 1e-6;

/// The nodes that a step holds, and where they end it.
#[derive(Clone, Debug, Default)]
pub struct Held {
    /// Whether each unknown is held.
    pub is_held: Vec<bool>,
    /// The held nodes, ascending, and where they are at the end of the step (m); along free axes that has no meaning.
    pub targets: Vec<(usize, DVec3)>,
    /// The held edges of rods, ascending, and how far their sections turn about them in the step (rad).
    pub turns: Vec<(usize, f64)>,
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
        match &self.objects[object].movement {
            Movement::Simulated(nodes) => return state.velocities[nodes.clone()].to_vec(),
            Movement::Carried(carried) => {
                let vertices = 0..carried.corners.len();
                return vertices
                    .map(|vertex| carried.at(vertex, &state.velocities))
                    .collect();
            }
            Movement::Scripted(_) if self.rests(object) => return vec![DVec3::ZERO; points.len()],
            Movement::Scripted(_) => {}
        }
        let offset = self.known_offset(state);
        let then = self.points_beside(object, state, offset);
        let pairs = points.iter().zip(&then);
        pairs.map(|(now, then)| (*then - *now) / offset).collect()
    }

    /// Where one point of an object is, and how it moves.
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
            Movement::Simulated(_) | Movement::Carried(_) => false,
            Movement::Scripted(script) => script.is_rest() && self.pins_of(object).next().is_none(),
        }
    }

    /// One of the points of [`Model::points_beside`], without the others.
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
            Movement::Carried(carried) => {
                let (points, velocities) = (&state.positions, &state.velocities);
                match offset == 0.0 {
                    true => carried.at(vertex, points),
                    false => carried.at(vertex, points) + offset * carried.at(vertex, velocities),
                }
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
            Movement::Carried(carried) => {
                let vertices = (0..carried.corners.len()).into_par_iter();
                let points =
                    vertices.map(|vertex| self.point_beside(object, vertex, state, offset));
                points.collect()
            }
        }
    }

    /// The pose of a collider with a formula, at a time.
    pub(crate) fn collider_pose(&self, collider: &ExactCollider, time: f64) -> Pose {
        match &self.objects[collider.object].movement {
            Movement::Scripted(script) => script.motion.pose(time).after(&collider.pose),
            Movement::Simulated(_) | Movement::Carried(_) => collider.pose,
        }
    }

    /// The points of an object that follows a script, at a time; nothing for others.
    pub(crate) fn scripted_points_of(&self, object: usize, time: f64) -> Option<Vec<DVec3>> {
        match &self.objects[object].movement {
            Movement::Scripted(script) => Some(self.scripted_points(object, script, time)),
            Movement::Simulated(_) | Movement::Carried(_) => None,
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

    /// What the step from a state holds.
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

    /// What is held from the start also starts to move as it is told, whatever the velocity of its object.
    pub(crate) fn start_as_held(&mut self) {
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
    pub(super) fn is_pinned(&self, pin: &Pin, span: &Span) -> bool {
        self.has_come(pin.start, span.begin) && !self.has_come(pin.release, span.begin)
    }

    /// The nodes that pins hold, where they end a step, and along which axes.
    fn pinned(&self, from: &State, span: &Span) -> Vec<(usize, (DVec3, [bool; 3]))> {
        let mut targets = Vec::new();
        for pin in self.pins.iter().filter(|pin| self.is_pinned(pin, span)) {
            for (index, &node) in pin.nodes.iter().enumerate() {
                let place = match pin.start == 0.0 {
                    true => self.start.positions[node],
                    false => from.positions[node],
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

    /// The roots of rods, which go with the triangles of their host as it is going to move.
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
            // What is told counts from the whole step, of which this may be a later part.
            Movement::Scripted(_) => span.end - self.clock.time(from.step),
            Movement::Simulated(_) | Movement::Carried(_) => span.h,
        };
        let is_told = matches!(self.objects[rooted.host].movement, Movement::Scripted(_));
        let host_points = self.points_beside(rooted.host, from, offset);
        let mesh = &self.objects[object].mesh;
        let first_edge = self.first_edge(object);
        let Kind::Rods(rods) = &self.objects[object].kind else {
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
            let told = turn * rods.directors[edge];
            let turned = self.turn_to(from, first_edge + edge, node, places, told);
            turns.push((first_edge + edge, turned));
            // On something simulated they are tied; what is told is only how sections turn.
            if is_told {
                targets.extend([(node, places[0]), (node + 1, places[1])]);
            }
            edge += curve.edges().count();
        }
    }

    /// The number of the first edge of an object's rods among all that are simulated.
    pub(super) fn first_edge(&self, object: usize) -> usize {
        let body = self.bodies.iter().find(|body| body.object == object);
        body.map_or(0, |body| body.edges.start)
    }

    /// The angle by which the section of an edge turns about it in a step that brings its ends to some places and its director
    /// to a direction.
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
        let carried = match before.is_normalized() && after.is_normalized() {
            true => DQuat::from_rotation_arc(before, after) * from.directors[edge],
            false => from.directors[edge],
        };
        let across = after.dot(carried.cross(director));
        across.atan2(carried.dot(director))
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

    /// Where the axis of a prop that points in a direction at one time points at another.
    fn carry_axis(&self, axis: DVec3, from: f64, to: f64) -> DVec3 {
        let motion = &self.script.motion;
        match motion.is_rest() {
            true => axis,
            false => motion.pose(to).turn * (motion.pose(from).turn.conjugate() * axis),
        }
    }
}

/// What is told of each index, ascending; of several the last one counts.
fn last_of_each<T>(mut told: Vec<(usize, T)>) -> Vec<(usize, T)> {
    told.reverse();
    told.sort_by_key(|(index, _)| *index);
    told.dedup_by_key(|(index, _)| *index);
    told
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::{Scene, SceneRequest, shipped};

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
}
