//! Directors of rods: rotation by clamps, and transport along scripted rods.

use std::f64::consts::TAU;

use glam::{DMat3, DQuat, DVec3};
use rayon::prelude::*;

use super::{Clamp, Model, Movement, ObjectType, Pin};
use crate::mesh::Curve;
use crate::state::{Span, State};

impl Model {
    /// First axis of the section at every rod edge of an object; `None` for objects without rods.
    #[must_use]
    pub fn directors(&self, object: usize, state: &State) -> Option<Vec<DVec3>> {
        self.directors_at(object, state, &self.points(object, state))
    }

    /// First axes of the sections, given the points of the object.
    pub(crate) fn directors_at(
        &self,
        object: usize,
        state: &State,
        points: &[DVec3],
    ) -> Option<Vec<DVec3>> {
        let ObjectType::Rods(rods) = &self.objects[object].kind else {
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
            let prescribed = self.prescribed_twists(object, first, &carried, time);
            let frames = carried.iter().enumerate();
            frames
                .map(|(place, frame)| frame.twisted(twist_at(&prescribed, place)))
                .collect()
        };
        let curves = mesh.curves.par_iter().enumerate();
        let directors: Vec<Vec<DVec3>> = curves.map(of_curve).collect();
        Some(directors.into_iter().flatten().collect())
    }

    /// Rod edges held by clamps in a step, with the rotations of their sections (rad). `targets`
    /// are the nodes held by pins, ascending.
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
            let (ObjectType::Rods(rods), Movement::Simulated(nodes)) =
                (&object.kind, &object.movement)
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
                let (turn, director, twist) = if pin.start == 0.0 {
                    (
                        motion.pose(span.end).turn,
                        self.start.directors[edge],
                        twist,
                    )
                } else {
                    let back = motion.pose(span.begin).turn.conjugate();
                    (
                        motion.pose(span.end).turn * back,
                        from.directors[edge],
                        change,
                    )
                };
                let turned = if pin.script.sequence.is_some() {
                    // A sequence of points prescribes no rotation of sections.
                    change
                } else {
                    self.turn_to(from, edge, ends[0], places, turn * director) + twist
                };
                // Add the full turns that are nearest to the prescribed rotation.
                turns.push((edge, turned + TAU * ((change - turned) / TAU).round()));
            }
        }
        turns
    }

    /// Edges of a scripted rod held by clamps, ascending within the rod, with their angles (rad).
    /// `first` is the first edge of the rod, `carried` are its frames without clamps.
    fn prescribed_twists(
        &self,
        object: usize,
        first: usize,
        carried: &[Frame],
        time: f64,
    ) -> Vec<(usize, f64)> {
        let of_object = |clamp: &&Clamp| {
            let pin = &self.pins[clamp.pin];
            pin.object == object && self.has_begun(pin.start, time)
        };
        let mut prescribed = Vec::new();
        for clamp in self.clamps.iter().filter(of_object) {
            let pin = &self.pins[clamp.pin];
            let until = time.min(pin.release);
            // A clamp that starts later rotates from the frame at its start.
            let before = if pin.start == 0.0 {
                0.0
            } else {
                clamp.twist.angle(pin.start)
            };
            let twist = clamp.twist.angle(until) - before;
            let from = clamp.edges.partition_point(|edge| (*edge as usize) < first);
            for edge in clamp.edges[from..].iter().map(|edge| *edge as usize) {
                let Some(frame) = carried.get(edge - first) else {
                    break;
                };
                let held = self.held_director(object, pin, edge, until);
                let turned = held.map_or(0.0, |held| frame.angle_to(held));
                prescribed.push((edge - first, turned + twist));
            }
        }
        prescribed.sort_by_key(|(place, _)| *place);
        prescribed
    }

    /// Held director rotated by the rigid motion of a clamp. `None` if a sequence moves the rod or
    /// the clamp: a sequence prescribes no rotation of sections.
    fn held_director(&self, object: usize, pin: &Pin, edge: usize, until: f64) -> Option<DVec3> {
        let object = &self.objects[object];
        let (ObjectType::Rods(rods), Movement::Scripted(script)) = (&object.kind, &object.movement)
        else {
            return None;
        };
        if script.sequence.is_some() || pin.script.sequence.is_some() {
            return None;
        }
        let motion = &pin.script.motion;
        let turn = if pin.start == 0.0 {
            motion.pose(until).turn
        } else {
            let taken = script.motion.pose(pin.start).turn;
            motion.pose(until).turn * motion.pose(pin.start).turn.conjugate() * taken
        };
        Some(turn * rods.directors[edge])
    }
}

/// Direction of a rod edge, and first axis of its section.
struct Frame {
    along: DVec3,
    director: DVec3,
}

impl Frame {
    /// Frame of an edge that has moved from `start` to `now` while the rod as a whole was rotated
    /// by `turn`. The remaining rotation of the edge is the smallest one.
    fn carried(director: DVec3, turn: DMat3, start: [DVec3; 2], now: [DVec3; 2]) -> Frame {
        let before = turn * (start[1] - start[0]).normalize_or_zero();
        let along = (now[1] - now[0]).normalize_or_zero();
        let rest = if before.is_normalized() && along.is_normalized() {
            DQuat::from_rotation_arc(before, along)
        } else {
            DQuat::IDENTITY
        };
        Frame {
            along,
            director: rest * (turn * director),
        }
    }

    /// The director, rotated about the edge.
    fn twisted(&self, angle: f64) -> DVec3 {
        if self.along.is_normalized() {
            DQuat::from_axis_angle(self.along, angle) * self.director
        } else {
            self.director
        }
    }

    /// Angle about the edge from the director to another one, in (−π, π].
    fn angle_to(&self, other: DVec3) -> f64 {
        let across = self.along.dot(self.director.cross(other));
        across.atan2(self.director.dot(other))
    }
}

/// Twist of an edge of a rod with prescribed twists at some edges: linear in between, as in the
/// equilibrium of a uniform rod.
fn twist_at(prescribed: &[(usize, f64)], place: usize) -> f64 {
    let after = prescribed.partition_point(|(edge, _)| *edge <= place);
    match (
        after.checked_sub(1).map(|before| prescribed[before]),
        prescribed.get(after).copied(),
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
    fn twist_is_linear_between_clamps_and_constant_beyond() {
        assert_eq!(twist_at(&[], 3), 0.0);
        assert_eq!(twist_at(&[(0, 0.5)], 3), 0.5);
        let both = [(0, 1.0), (4, 3.0)];
        let twists: Vec<f64> = (0..6).map(|place| twist_at(&both, place)).collect();
        assert_eq!(twists, [1.0, 1.5, 2.0, 2.5, 3.0, 3.0]);
    }
}
