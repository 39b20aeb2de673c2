//! The sections of rods: held and turned by clamps, and carried along with rods that move as told.

use std::f64::consts::TAU;

use glam::{DMat3, DQuat, DVec3};
use rayon::prelude::*;

use super::{Clamp, Kind, Model, Movement, Pin};
use crate::mesh::Curve;
use crate::state::{Span, State};

impl Model {
    /// First axis of the section at every edge of an object's rods; nothing for other objects.
    #[must_use]
    pub fn directors(&self, object: usize, state: &State) -> Option<Vec<DVec3>> {
        self.directors_at(object, state, &self.points(object, state))
    }

    /// The same, if it is known where the points are.
    pub(crate) fn directors_at(
        &self,
        object: usize,
        state: &State,
        points: &[DVec3],
    ) -> Option<Vec<DVec3>> {
        let Kind::Rods(rods) = &self.objects[object].kind else {
            return None;
        };
        let Movement::Scripted(script) = &self.objects[object].movement else {
            let first = self.first_edge(object);
            return Some(state.directors[first..first + rods.edges.len()].to_vec());
        };
        let mesh = &self.objects[object].mesh;
        let time = self.clock.time(state.step);
        let counts = mesh.curves.iter().map(|curve| curve.edges().count());
        let firsts: Vec<usize> = counts
            .scan(0, |next, count| {
                Some(std::mem::replace(next, *next + count))
            })
            .collect();
        let of_curve = |(index, curve): (usize, &Curve)| -> Vec<DVec3> {
            let turn = DMat3::from_quat(script.motion.pose(time).turn);
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

    /// The edges that clamps hold during a step, and how far their sections turn about them (rad). `targets` are the nodes
    /// that pins hold, ascending.
    pub(super) fn clamped(
        &self,
        from: &State,
        span: &Span,
        targets: &[(usize, DVec3)],
    ) -> Vec<(usize, f64)> {
        let mut turns = Vec::new();
        let place = |node: usize| {
            let found = targets.binary_search_by_key(&node, |(node, _)| *node);
            found.map_or(from.positions[node], |index| targets[index].1)
        };
        for clamp in &self.clamps {
            let pin = &self.pins[clamp.pin];
            let object = &self.objects[pin.object];
            let (Kind::Rods(rods), Movement::Simulated(nodes)) = (&object.kind, &object.movement)
            else {
                continue;
            };
            if !self.is_pinned(pin, span) {
                continue;
            }
            let first_edge = self.first_edge(pin.object);
            let motion = &pin.script.motion;
            let twist = clamp.twist.angle(span.end);
            let change = twist - clamp.twist.angle(span.begin);
            for &edge in &clamp.edges {
                let ends = rods.edges[edge as usize].map(|vertex| nodes.start + vertex as usize);
                let places = ends.map(place);
                let edge = first_edge + edge as usize;
                let (turn, director, twist) = match pin.start == 0.0 {
                    true => (
                        motion.pose(span.end).turn,
                        self.start.directors[edge],
                        twist,
                    ),
                    false => {
                        let back = motion.pose(span.begin).turn.conjugate();
                        (
                            motion.pose(span.end).turn * back,
                            from.directors[edge],
                            change,
                        )
                    }
                };
                let turned = match pin.script.sequence.is_some() {
                    // The points of a sequence turn nothing by themselves.
                    true => change,
                    false => self.turn_to(from, edge, ends[0], places, turn * director) + twist,
                };
                // Turns are counted by how far the clamp is told to turn in the step.
                turns.push((edge, turned + TAU * ((change - turned) / TAU).round()));
            }
        }
        turns
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

    #[test]
    fn twist_is_even_between_clamps_and_constant_beyond() {
        assert_eq!(twist_at(&[], 3), 0.0);
        assert_eq!(twist_at(&[(0, 0.5)], 3), 0.5);
        let both = [(0, 1.0), (4, 3.0)];
        let twists: Vec<f64> = (0..6).map(|place| twist_at(&both, place)).collect();
        assert_eq!(twists, [1.0, 1.5, 2.0, 2.5, 3.0, 3.0]);
    }
}
