//! What an integrator is given: the model, the state that the step starts from, its time, and what
//! is prescribed over it.

use glam::DVec3;
use rayon::prelude::*;

use crate::energy::CHUNK;
use crate::model::Model;
use crate::model::kinematics::Held;
use crate::motion::Pose;
use crate::state::{Span, State};

/// A step that is to be taken.
pub(crate) struct StepInput<'a> {
    pub(crate) model: &'a Model,
    pub(crate) from: &'a State,
    pub(crate) span: Span,
    pub(crate) prescribed: Prescribed,
    /// Whether the step begins at rest, wherever it comes from.
    pub(crate) is_static: bool,
}

/// What is prescribed over a step: a value, which need not come from the scene.
#[derive(Clone, Debug, Default)]
pub struct Prescribed {
    /// Unknowns that are held, and where they end the step.
    pub held: Held,
    /// Objects that follow a script and can touch.
    pub scripted: Vec<ScriptedPoints>,
    /// Poses of colliders with a formula at the start and at the end, in the order of the collision
    /// model.
    pub poses: Vec<[Pose; 2]>,
    /// Forces and torques on unknowns, flat (N, N m); empty if there are none.
    pub loads: Vec<f64>,
}

/// Where the points of a scripted object are at the start and at the end of a step (m).
#[derive(Clone, Debug)]
pub struct ScriptedPoints {
    /// The object, by index.
    pub object: usize,
    /// All its points at the start.
    pub begin: Vec<DVec3>,
    /// All its points at the end.
    pub end: Vec<DVec3>,
}

impl Prescribed {
    /// What the scene prescribes over a step from a state.
    #[must_use]
    pub fn of(model: &Model, from: &State, span: &Span) -> Prescribed {
        let mut prescribed = Prescribed {
            held: model.held(from, span),
            loads: model.load_forces(from, span),
            ..Prescribed::default()
        };
        if let Some(touch) = &model.touch {
            let times = [span.begin, span.end];
            let points = |object: usize| {
                let [begin, end] = times.map(|time| model.scripted_points_of(object, time));
                Some(ScriptedPoints {
                    object,
                    begin: begin?,
                    end: end?,
                })
            };
            prescribed.scripted = touch.objects_with_points().filter_map(points).collect();
            let poses = touch.colliders.iter();
            let poses = poses.map(|it| times.map(|time| model.collider_pose(it, time)));
            prescribed.poses = poses.collect();
        }
        prescribed
    }
}

impl<'a> StepInput<'a> {
    /// The step from a state over some time, as the scene prescribes it.
    pub(crate) fn of(model: &'a Model, from: &'a State, span: Span) -> StepInput<'a> {
        StepInput {
            model,
            from,
            span,
            prescribed: Prescribed::of(model, from, &span),
            is_static: model.method.quasi_static,
        }
    }

    /// The time step (s).
    pub(crate) fn h(&self) -> f64 {
        self.span.h
    }

    /// Whether each unknown is held.
    pub(crate) fn is_held(&self) -> &[bool] {
        &self.prescribed.held.is_held
    }

    /// Whether a node can move along any axis.
    pub(crate) fn is_free(&self, node: u32) -> bool {
        let offset = self.model.unknowns.node_offset[node as usize];
        self.is_held()[offset..offset + 3].contains(&false)
    }

    /// Positions and turns that velocities lead to. Rounding moves held nodes beside their targets:
    /// [`StepInput::ends`] puts them there.
    pub(crate) fn trial(&self, v: &[f64]) -> (Vec<DVec3>, Vec<f64>) {
        let (unknowns, h) = (&self.model.unknowns, self.h());
        let starts = self.from.positions.par_iter().with_min_len(CHUNK);
        let positions = starts
            .enumerate()
            .map(|(node, x)| *x + h * unknowns.at_node(v, node));
        let rates = unknowns.edge_offset.par_iter().with_min_len(CHUNK);
        let turns = rates.map(|offset| h * v[*offset]);
        (positions.collect(), turns.collect())
    }

    /// Where nodes end the step with these velocities: held ones exactly where it is prescribed.
    pub(crate) fn ends(&self, v: &[f64]) -> Vec<DVec3> {
        let (mut positions, _) = self.trial(v);
        self.put_held(&mut positions);
        positions
    }

    /// Puts held nodes where it is prescribed: not x + h v, so that bits do not drift.
    pub(crate) fn put_held(&self, positions: &mut [DVec3]) {
        for (node, target) in &self.prescribed.held.targets {
            let offset = self.model.unknowns.node_offset[*node];
            for axis in (0..3).filter(|axis| self.is_held()[offset + axis]) {
                positions[*node][axis] = target[axis];
            }
        }
    }

    /// The prescribed velocities of held unknowns (m/s, rad/s), by their place in flat vectors.
    pub(crate) fn held_velocities(&self) -> Vec<(usize, f64)> {
        let (unknowns, h) = (&self.model.unknowns, self.h());
        let mut velocities = Vec::new();
        for (node, target) in &self.prescribed.held.targets {
            let velocity = (*target - self.from.positions[*node]) / h;
            let offset = unknowns.node_offset[*node];
            let rates = (offset..).zip(velocity.to_array());
            velocities.extend(rates.filter(|(dof, _)| self.is_held()[*dof]));
        }
        let turns = self.prescribed.held.turns.iter();
        velocities.extend(turns.map(|(edge, turn)| (unknowns.edge_offset[*edge], turn / h)));
        velocities
    }

    /// The velocities of the step before, flat; zero if the step begins at rest.
    pub(crate) fn start_velocities(&self) -> Vec<f64> {
        let (from, unknowns) = (self.from, &self.model.unknowns);
        if self.is_static {
            vec![0.0; unknowns.count]
        } else {
            unknowns.join(&from.velocities, &from.spins)
        }
    }
}
