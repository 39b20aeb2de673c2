//! The sagitta of points: of scripted meshes, and of what pins hold.

use glam::DVec3;

use super::{Cut, Motions, SweptBox};
use crate::collide::features::Primitive;
use crate::model::collision::CollisionModel;
use crate::model::{Model, Movement, Pin};
use crate::motion::Script;
use crate::motion::bend::Bend;
use crate::step_input::{ScriptedPoints, StepInput};

/// Bounds for the sagitta of all points.
pub(super) struct Sway {
    /// Of each point (m).
    pub(super) points: Vec<f64>,
    /// For each object, the largest sagitta as excess (m), with the time of the best cut.
    pub(super) objects: Vec<Option<Cut>>,
}

impl Sway {
    pub(super) fn of(input: &StepInput<'_>, collision: &CollisionModel) -> Sway {
        let mut sway = Sway {
            points: vec![0.0; collision.places.len()],
            objects: vec![None; input.model.objects.len()],
        };
        for scripted in &input.prescribed.scripted {
            sway.add_scripted(input, collision, scripted);
        }
        let mut nodes = vec![0.0; input.model.masses.len()];
        for pin in &input.model.pins {
            if input.model.is_pinned(pin, &input.span) && !pin.script.is_rest() {
                sway.add_pin(input, pin, &mut nodes);
            }
        }
        for (point, sagitta) in sway.points.iter_mut().enumerate() {
            let stencil = collision.stencil(point as u32).iter();
            let parts = stencil.map(|(node, weight)| weight.abs() * nodes[*node as usize]);
            *sagitta += parts.sum::<f64>();
        }
        sway
    }

    /// Adds the points of a scripted mesh.
    fn add_scripted(
        &mut self,
        input: &StepInput<'_>,
        collision: &CollisionModel,
        scripted: &ScriptedPoints,
    ) {
        let (model, object) = (input.model, scripted.object);
        let Some(bend) = bend_of_mesh(input, object) else {
            return;
        };
        for point in collision.points_of(object) {
            let vertex = collision.places[point].1 as usize;
            let arm = bend.arm([scripted.begin[vertex], scripted.end[vertex]]);
            self.points[point] = bend.deviation(arm);
            self.note(object, &bend, arm);
        }
        for pin in model.pins.iter().filter(|pin| pin.object == object) {
            self.add_pinned_vertices(input, collision, scripted, pin);
        }
    }

    /// Adds the vertices of a scripted mesh that a pin moves in its own way.
    fn add_pinned_vertices(
        &mut self,
        input: &StepInput<'_>,
        collision: &CollisionModel,
        scripted: &ScriptedPoints,
        pin: &Pin,
    ) {
        let span = [input.span.begin, input.span.end];
        let Some(script) = input.model.objects[scripted.object].script() else {
            return;
        };
        let extent = |script: &Script| extent_of(script, &scripted.begin);
        let mut bend = pin.script.bend(span, extent(&pin.script), None);
        let own = script.bend(span, extent(script), None);
        // The hold begins and ends with a jump from one velocity to another.
        let arm = |vertex: u32| {
            let ends = [&scripted.begin, &scripted.end].map(|points| points[vertex as usize]);
            bend.arm(ends).max(own.arm(ends))
        };
        let arms: Vec<f64> = pin.vertices.iter().map(|vertex| arm(*vertex)).collect();
        for time in [pin.start, pin.release] {
            let [one, other] = [&bend, &own].map(|bend| bend.speed());
            bend.add_kink(time, one.0 + other.0, one.1 + other.1);
        }
        for (vertex, arm) in pin.vertices.iter().zip(arms) {
            let place = (scripted.object as u32, *vertex);
            let points = collision.points_of(scripted.object);
            if let Ok(at) = collision.places[points.clone()].binary_search(&place) {
                self.points[points.start + at] += bend.deviation(arm);
                self.note(scripted.object, &bend, arm);
            }
        }
    }

    /// Adds the nodes that a pin holds.
    fn add_pin(&mut self, input: &StepInput<'_>, pin: &Pin, nodes: &mut [f64]) {
        let model = input.model;
        let span = [input.span.begin, input.span.end];
        let places: Vec<DVec3> = pin
            .nodes
            .iter()
            .map(|node| model.start.positions[*node])
            .collect();
        let bend = pin.script.bend(span, extent_of(&pin.script, &places), None);
        if bend.is_straight() {
            return;
        }
        let targets = &input.prescribed.held.targets;
        for node in &pin.nodes {
            let begin = input.from.positions[*node];
            let target = targets.binary_search_by_key(node, |(node, _)| *node);
            let end = target.map_or(begin, |at| targets[at].1);
            // The axes of a prop are vectors: they turn, without a centre.
            let (arm, sagitta) = if model.is_axis(*node) {
                let arm = bend.arm_of(begin);
                (arm, bend.deviation(arm) - bend.deviation(0.0))
            } else {
                let arm = bend.arm([begin, end]);
                (arm, bend.deviation(arm))
            };
            nodes[*node] = sagitta;
            self.note(pin.object, &bend, arm);
        }
    }

    /// Keeps the largest sagitta of an object.
    fn note(&mut self, object: usize, bend: &Bend, arm: f64) {
        let excess = bend.deviation(arm);
        let known = &mut self.objects[object];
        if known.is_none_or(|known| excess > known.excess) && excess > 0.0 {
            *known = Some(Cut {
                object,
                time: bend.cut(arm),
                excess,
            });
        }
    }
}

/// Bounds for the motion of a scripted mesh; `None` at rest.
fn bend_of_mesh(input: &StepInput<'_>, object: usize) -> Option<Bend> {
    let object = &input.model.objects[object];
    let script = object.script()?;
    let extent = extent_of(script, &object.mesh.points);
    let bend = script.bend([input.span.begin, input.span.end], extent, None);
    (!bend.is_straight()).then_some(bend)
}

/// The largest distance from the centre of points before a deformation (m); 0 without one.
fn extent_of(script: &Script, points: &[DVec3]) -> f64 {
    if script.motion.deformation.is_none() {
        return 0.0;
    }
    let distance = |point: &DVec3| point.distance(script.motion.center);
    match &script.sequence {
        Some(sequence) => {
            let frames = sequence.frames.iter().flatten();
            frames.map(distance).fold(0.0, f64::max)
        }
        None => points.iter().map(distance).fold(0.0, f64::max),
    }
}

impl Motions<'_> {
    /// The scripted mesh or pinned body whose chords leave their path most, relative to what the
    /// thickness of the features that it may touch allows.
    pub(super) fn worst_of_bodies(&self) -> Option<Cut> {
        let worst = self.worst_of_boxes().filter(|worst| worst.excess > 1.0)?;
        if self.has_small_sagittas() {
            self.worst_of_pairs()
        } else {
            Some(worst)
        }
    }

    /// The same by the boxes of whole objects: a quick test, and one for paths so far from their
    /// chords that all pairs would be near each other.
    fn worst_of_boxes(&self) -> Option<Cut> {
        let features = &self.collision.features;
        let mut worst: Option<Cut> = None;
        for cut in self.objects.iter().flatten() {
            let own = features.primitives.iter();
            let own = own.filter(|it| self.object_of(it) == cut.object);
            let own = own.filter(|it| self.sagitta(&it.points) > 0.0);
            let swept = own
                .clone()
                .fold(SweptBox::EMPTY, |swept, it| self.extend(swept, it));
            let Some(first) = own.clone().next() else {
                continue;
            };
            for primitive in &features.primitives {
                let Some(excess) = self.excess_beside(primitive, cut, &swept, first.points[0])
                else {
                    continue;
                };
                if worst.is_none_or(|worst| excess > worst.excess) {
                    worst = Some(Cut { excess, ..*cut });
                }
            }
        }
        worst
    }

    /// The sagitta of an object beside a feature, relative to the largest one allowed; `None` if
    /// they cannot touch. `point` is one of the object.
    fn excess_beside(
        &self,
        primitive: &Primitive,
        cut: &Cut,
        swept: &SweptBox,
        point: u32,
    ) -> Option<f64> {
        let (model, features) = (self.input.model, &self.collision.features);
        let other = self.object_of(primitive);
        let part = &features.parts[primitive.part as usize];
        let is_own = other == cut.object;
        let may_touch = model.contact.objects_collide(cut.object, other)
            && !self.is_rooted(cut.object, other)
            && (part.is_free || self.is_simulated(cut.object))
            && (!is_own || part.self_collides);
        if !may_touch {
            return None;
        }
        let thickness = self.thickness(point, primitive.points[0]);
        let sagitta = cut.excess + self.sagitta(&primitive.points);
        let reach = self.extend(SweptBox::EMPTY, primitive);
        let distance = sagitta + thickness;
        let is_near = reach.is_near(swept, distance);
        is_near.then(|| sagitta / Motions::allowed(thickness))
    }

    fn is_simulated(&self, object: usize) -> bool {
        !matches!(
            self.input.model.objects[object].movement,
            Movement::Scripted(_)
        )
    }

    fn object_of(&self, primitive: &Primitive) -> usize {
        self.collision.object_of(primitive.points[0])
    }

    /// A box with the motion of a feature.
    pub(super) fn extend(&self, swept: SweptBox, primitive: &Primitive) -> SweptBox {
        let corners = || primitive.points.iter().map(|point| *point as usize);
        let core = corners()
            .map(|at| self.collision.core[at])
            .fold(0.0, f64::max);
        let ends = [&self.from, &self.to];
        let places = corners().flat_map(|at| ends.map(|points| points[at]));
        swept.with(places.flat_map(|place| [place - core, place + core]))
    }
}

impl Model {
    /// Whether one object is hair that grows on the other.
    pub(crate) fn is_rooted(&self, one: usize, other: usize) -> bool {
        let grows_on = |hair: usize, host: usize| {
            let rooted = self.objects[hair].rooted.as_ref();
            rooted.is_some_and(|rooted| rooted.host == host)
        };
        grows_on(one, other) || grows_on(other, one)
    }
}
