//! Whether the chords of a time span follow the paths of prescribed motion.
//!
//! Detection, gate and contacts take the motion of a span as straight, between true positions at
//! both ends. Prescribed points in fact follow arcs, and turn corners at keyframes. Where something
//! can touch, a chord may leave the path by a fraction of the distance that the gate keeps, its
//! *sagitta*; otherwise the span is cut in two, at a corner or in the middle. The bounds come from
//! the formulas of the motion ([`crate::motion::bend`]), so a full turn within a step, whose chord
//! is a point, is seen. Prescribed objects that nothing can reach need no cut.
//!
//! A ball that turns about its centre, and any surface of revolution about its axis, turn into
//! themselves: only the motion of centre and axis counts. Hair moves with the head on which it
//! grows: for its roots, and between it and that head, only the angle of a chord is limited.

mod bodies;
mod colliders;
mod pairs;

use glam::DVec3;

use crate::detect::{GUARD_FRACTION, interpolate_points, scripted_points};
use crate::integrate::StepError;
use crate::model::Model;
use crate::model::collision::CollisionModel;
use crate::motion::bend::Bend;
use crate::state::Span;
use crate::step_input::StepInput;
use bodies::Sway;

/// Largest sagitta of two features together, as a fraction of the distance that the gate keeps.
const SAGITTA_FRACTION: f64 = 0.5;

/// Largest turn in a span of a head with hair (rad).
const MAX_ROOTED_TURN: f64 = 0.25;

/// A span shorter than this fraction of the time step is not cut in the middle.
const MIN_SPAN_FRACTION: f64 = 1.0 / 2048.0;

/// A chord that leaves the path of an object too far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cut {
    /// The object.
    object: usize,
    /// The time at which the span is best cut in two.
    time: f64,
    /// The sagitta, relative to the largest one allowed.
    excess: f64,
}

/// Motion of the points of a collision model in a span, with its deviation from chords.
struct Motions<'a> {
    input: &'a StepInput<'a>,
    collision: &'a CollisionModel,
    from: Vec<DVec3>,
    to: Vec<DVec3>,
    /// Bounds for the sagitta of each point (m).
    sagittas: Vec<f64>,
    /// For each object, the largest sagitta of its points, with the time of the best cut.
    objects: Vec<Option<Cut>>,
}

/// Whether all prescribed motion in a span is straight, with constant velocity.
pub(crate) fn is_straight(model: &Model, span: &Span) -> bool {
    model.collision.is_none() || bends(model, span).next().is_none()
}

/// Bounds for all prescribed motions in a span that are not straight, without those of arms, each
/// with its object.
pub(crate) fn bends<'a>(model: &'a Model, span: &Span) -> impl Iterator<Item = (usize, Bend)> + 'a {
    let interval = [span.begin, span.end];
    let objects = model.objects.iter().enumerate();
    let objects = objects.filter_map(|(number, object)| Some((number, object.script()?)));
    let pins = model.pins.iter().map(|pin| (pin.object, &pin.script));
    // With an extent, deformations have corners, too.
    let bends = objects.chain(pins);
    let bends = bends.map(move |(object, script)| (object, script.bend(interval, 1.0, None)));
    let held = model.pins.iter().filter(|pin| pin.nodes.is_empty());
    let ends = held.flat_map(|pin| [pin.start, pin.release].map(|time| (pin.object, time)));
    let ends =
        ends.filter_map(move |(object, time)| Some((object, Bend::of_kink(interval, time)?)));
    bends.filter(|(_, bend)| !bend.is_straight()).chain(ends)
}

/// For each object, whether a prescribed motion of it is not straight in a span.
pub(crate) fn bent_objects(model: &Model, span: &Span) -> Vec<bool> {
    let mut is_bent = vec![false; model.objects.len()];
    for (object, _) in bends(model, span) {
        is_bent[object] = true;
    }
    is_bent
}

/// The spans into which a span must be cut so that chords follow prescribed motion; `None` if its
/// own chords do. `ends` are the positions of the nodes at its end, predicted or computed.
///
/// # Errors
/// If the spans would be too short.
pub(crate) fn cut(input: &StepInput<'_>, ends: &[DVec3]) -> Result<Option<[Span; 2]>, StepError> {
    let (model, span) = (input.model, &input.span);
    let Some(collision) = &model.collision else {
        return Ok(None);
    };
    let motions = Motions::new(input, collision, ends);
    let cuts = [
        motions.worst_of_bodies(),
        motions.worst_of_colliders(),
        motions.worst_of_roots(),
    ];
    let worst = cuts.into_iter().flatten();
    let worst = worst.max_by(|a, b| a.excess.total_cmp(&b.excess));
    let Some(cut) = worst.filter(|cut| cut.excess > 1.0) else {
        return Ok(None);
    };
    let halves = span.cut_at(cut.time);
    if span.h < MIN_SPAN_FRACTION * model.clock.h() || halves.iter().any(|half| half.h <= 0.0) {
        return Err(StepError::PathTooCurved {
            object: model.objects[cut.object].name.clone(),
            time: span.begin,
            h: span.h,
        });
    }
    Ok(Some(halves))
}

impl<'a> Motions<'a> {
    fn new(input: &'a StepInput<'a>, collision: &'a CollisionModel, ends: &[DVec3]) -> Motions<'a> {
        let scripted = &input.prescribed.scripted;
        let begin = scripted.iter().map(|it| (it.object, &it.begin[..]));
        let end = scripted.iter().map(|it| (it.object, &it.end[..]));
        let nodes = &input.from.positions;
        let from = interpolate_points(collision, nodes, scripted_points(collision, begin));
        let to = interpolate_points(collision, ends, scripted_points(collision, end));
        let sway = Sway::of(input, collision);
        Motions {
            input,
            collision,
            from,
            to,
            sagittas: sway.points,
            objects: sway.objects,
        }
    }

    /// The largest sagitta of some points.
    fn sagitta(&self, points: &[u32]) -> f64 {
        let sagittas = points.iter().map(|point| self.sagittas[*point as usize]);
        sagittas.fold(0.0, f64::max)
    }

    /// Thickness between the features of two points, without their cores (m).
    fn thickness(&self, one: u32, other: u32) -> f64 {
        let part = |point: u32| self.collision.features.part_of[point as usize];
        let extra = self
            .collision
            .extra_thickness(self.input.model, part(one), part(other));
        let skins = [one, other].map(|point| self.collision.skin[point as usize]);
        skins[0] + skins[1] + extra
    }

    /// The largest sagitta that two features with a total thickness may have (m).
    fn allowed(skin: f64) -> f64 {
        SAGITTA_FRACTION * GUARD_FRACTION * skin.max(0.0)
    }

    /// The head with hair that turns most.
    fn worst_of_roots(&self) -> Option<Cut> {
        let model = self.input.model;
        let hosts = model
            .objects
            .iter()
            .filter_map(|object| object.rooted.as_ref());
        let cuts = hosts.filter_map(|rooted| {
            let script = model.objects[rooted.host].script()?;
            let Span { begin, end, .. } = self.input.span;
            let bend = script.bend([begin, end], 0.0, None);
            Some(Cut {
                object: rooted.host,
                time: 0.5 * (begin + end),
                excess: bend.turn / MAX_ROOTED_TURN,
            })
        });
        cuts.max_by(|a, b| a.excess.total_cmp(&b.excess))
    }

    /// Whether one object is hair that grows on the other.
    fn is_rooted(&self, one: usize, other: usize) -> bool {
        self.input.model.is_rooted(one, other)
    }
}

/// The box of points at both ends of a span, widened.
#[derive(Clone, Copy)]
struct SweptBox {
    low: DVec3,
    high: DVec3,
}

impl SweptBox {
    const EMPTY: SweptBox = SweptBox {
        low: DVec3::INFINITY,
        high: DVec3::NEG_INFINITY,
    };

    fn with(self, points: impl Iterator<Item = DVec3>) -> SweptBox {
        points.fold(self, |all, point| SweptBox {
            low: all.low.min(point),
            high: all.high.max(point),
        })
    }

    /// Whether boxes are within a distance along every axis; a position that is NaN is.
    fn is_near(&self, other: &SweptBox, distance: f64) -> bool {
        let gap = (other.low - self.high).max(self.low - other.high);
        let is_apart = gap.max_element() > distance;
        !is_apart
    }
}

#[cfg(test)]
mod tests;
