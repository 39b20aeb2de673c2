//! Where everything is that is not solved for: the points of scripted objects, held nodes, loads.

use glam::{DMat3, DQuat, DVec3};
use rayon::prelude::*;

use super::{Clamp, Kind, Model, Movement, Pin};
use crate::generate::groom::Root;
use crate::mesh::Curve;
use crate::motion::Script;
use crate::state::State;

/// The nodes that a step holds, and where they end it.
#[derive(Clone, Debug, Default)]
pub struct Held {
    /// Whether each node is held.
    pub is_held: Vec<bool>,
    /// The held nodes, ascending, and where they are at the end of the step (m).
    pub targets: Vec<(usize, DVec3)>,
}

impl Model {
    /// The points of an object (m).
    #[must_use]
    pub fn points(&self, object: usize, state: &State) -> Vec<DVec3> {
        self.points_beside(object, state, 0.0)
    }

    /// The velocities of the points of an object (m/s): of scripted ones, the mean over the last step.
    #[must_use]
    pub fn velocities(&self, object: usize, state: &State) -> Vec<DVec3> {
        if let Movement::Simulated(nodes) = &self.objects[object].movement {
            return state.velocities[nodes.clone()].to_vec();
        }
        // Nothing is known of what was before the start.
        let offset = self.clock.h() * if state.step == 0 { 1.0 } else { -1.0 };
        let (now, then) = (
            self.points(object, state),
            self.points_beside(object, state, offset),
        );
        let pairs = now.iter().zip(&then);
        pairs.map(|(now, then)| (*then - *now) / offset).collect()
    }

    /// Where one point of an object is, and how it moves.
    #[must_use]
    pub fn point(&self, object: usize, vertex: usize, state: &State) -> (DVec3, DVec3) {
        if let Movement::Simulated(nodes) = &self.objects[object].movement {
            let node = nodes.start + vertex;
            return (state.positions[node], state.velocities[node]);
        }
        (
            self.points(object, state)[vertex],
            self.velocities(object, state)[vertex],
        )
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
        for pin in self.pins_of(object).filter(|pin| time >= pin.start) {
            let until = time.min(pin.release);
            for (index, &vertex) in pin.vertices.iter().enumerate() {
                let vertex = vertex as usize;
                points[vertex] = match pin.start == 0.0 {
                    true => pin.script.point(index, start[vertex], until),
                    false => {
                        let taken = script.point(vertex, start[vertex], pin.start);
                        pin.carry(index, taken, pin.start, until)
                    }
                };
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
                let (from, to, turn) = self.root_motion(host, root, host_points);
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
    fn root_motion(&self, host: usize, root: &Root, points: &[DVec3]) -> (DVec3, DVec3, DMat3) {
        let host = &self.objects[host].mesh;
        let corners = host.triangles[root.triangle as usize];
        let before = corners.map(|vertex| host.points[vertex as usize]);
        let after = corners.map(|vertex| points[vertex as usize]);
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

    /// First axis of the section at every edge of an object's rods; nothing for other objects.
    #[must_use]
    pub fn directors(&self, object: usize, state: &State) -> Option<Vec<DVec3>> {
        let Kind::Rods(rods) = &self.objects[object].kind else {
            return None;
        };
        let mesh = &self.objects[object].mesh;
        let points = self.points(object, state);
        let time = self.clock.time(state.step);
        let host_points = match &self.objects[object].movement {
            Movement::Rooted { host, .. } => self.points(*host, state),
            _ => Vec::new(),
        };
        let mut directors = Vec::with_capacity(rods.edges.len());
        for (index, curve) in mesh.curves.iter().enumerate() {
            let turn = match &self.objects[object].movement {
                Movement::Scripted(script) => DMat3::from_quat(script.motion.pose(time).turn),
                Movement::Rooted { host, roots } => {
                    self.root_motion(*host, &roots[index], &host_points).2
                }
                Movement::Simulated(_) => DMat3::IDENTITY,
            };
            let first = directors.len();
            let count = curve.edges().count();
            let told = self.told_twists(object, first..first + count, time);
            for (place, edge) in curve.edges().enumerate() {
                let [a, b] = edge.map(|vertex| mesh.points[vertex as usize]);
                let [p, q] = edge.map(|vertex| points[vertex as usize]);
                let before = turn * (b - a).normalize_or_zero();
                let now = (q - p).normalize_or_zero();
                // What the whole turn leaves over, by the shortest way.
                let rest = match before.is_normalized() && now.is_normalized() {
                    true => DQuat::from_rotation_arc(before, now),
                    false => DQuat::IDENTITY,
                };
                let twist = DQuat::from_axis_angle(now, twist_at(&told, place));
                let carried = rest * (turn * rods.directors[first + place]);
                directors.push(if now.is_normalized() {
                    twist * carried
                } else {
                    carried
                });
            }
        }
        Some(directors)
    }

    /// The edges of a rod that clamps turn, by their place in the rod, and their angles, ascending.
    fn told_twists(
        &self,
        object: usize,
        edges: std::ops::Range<usize>,
        time: f64,
    ) -> Vec<(usize, f64)> {
        let of_object = |clamp: &&Clamp| {
            let pin = &self.pins[clamp.pin];
            pin.object == object && time >= pin.start
        };
        let mut told = Vec::new();
        for clamp in self.clamps.iter().filter(of_object) {
            let angle = clamp.twist.angle(time.min(self.pins[clamp.pin].release));
            let from = clamp
                .edges
                .partition_point(|edge| (*edge as usize) < edges.start);
            let inside = clamp.edges[from..].iter().map(|edge| *edge as usize);
            let inside = inside.take_while(|edge| *edge < edges.end);
            told.extend(inside.map(|edge| (edge - edges.start, angle)));
        }
        told.sort_by_key(|(place, _)| *place);
        told
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
            .filter(|pin| pin.start <= time && time < pin.release)
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
            .filter(|load| load.start <= time && time < load.stop)
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
    use proptest::prelude::*;

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
