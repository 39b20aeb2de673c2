//! Input of an integrator: model, state at the start of the step, time span, and prescribed motion.

use glam::DVec3;
use rayon::prelude::*;

use crate::energy::CHUNK;
use crate::model::Model;
use crate::model::kinematics::Held;
use crate::motion::Pose;
use crate::state::{Span, State};

/// Input of one step.
pub(crate) struct StepInput<'a> {
    pub(crate) model: &'a Model,
    /// State at the start of the step.
    pub(crate) from: &'a State,
    pub(crate) span: Span,
    pub(crate) prescribed: Prescribed,
    /// Whether the step is quasi-static: it ignores the velocities of `from`.
    pub(crate) is_static: bool,
}

/// Prescribed motion and loads of a step.
#[derive(Clone, Debug, Default)]
pub struct Prescribed {
    /// Held unknowns, with their values at the end of the step.
    pub held: Held,
    /// Points of scripted objects that can collide.
    pub scripted: Vec<ScriptedPoints>,
    /// Poses of exact colliders at the start and at the end, in the order of the collision model.
    pub poses: Vec<[Pose; 2]>,
    /// Forces and torques on unknowns, flat (N, N m). Empty without loads.
    pub loads: Vec<f64>,
}

/// Positions of the points of a scripted object at the start and at the end of a step (m).
#[derive(Clone, Debug)]
pub struct ScriptedPoints {
    /// Index of the object.
    pub object: usize,
    /// All its points at the start.
    pub begin: Vec<DVec3>,
    /// All its points at the end.
    pub end: Vec<DVec3>,
}

impl Prescribed {
    /// Prescribed motion and loads of a model in a step from a state.
    #[must_use]
    pub fn of(model: &Model, from: &State, span: &Span) -> Prescribed {
        let mut prescribed = Prescribed {
            held: model.held(from, span),
            loads: model.load_forces(from, span),
            ..Prescribed::default()
        };
        if let Some(collision) = &model.collision {
            let times = [span.begin, span.end];
            let points = |object: usize| {
                let [begin, end] = times.map(|time| model.scripted_points_of(object, time));
                Some(ScriptedPoints {
                    object,
                    begin: begin?,
                    end: end?,
                })
            };
            prescribed.scripted = collision.objects_with_points().filter_map(points).collect();
            let poses = collision.colliders.iter();
            let poses = poses.map(|it| times.map(|time| model.collider_pose(it, time)));
            prescribed.poses = poses.collect();
        }
        prescribed
    }
}

impl<'a> StepInput<'a> {
    /// Input of the step from a state over a time span.
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

    /// Whether a node is free along at least one axis.
    pub(crate) fn is_free(&self, node: u32) -> bool {
        let unknowns = &self.model.unknowns;
        unknowns.is_free(node as usize, self.is_held())
    }

    /// Positions and rotations of rod sections that velocities lead to. Held nodes miss their
    /// targets by rounding; [`StepInput::ends`] sets them exactly.
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

    /// Positions at the end of the step that velocities lead to, with held nodes at their targets.
    pub(crate) fn ends(&self, v: &[f64]) -> Vec<DVec3> {
        let (mut positions, _) = self.trial(v);
        self.put_held(&mut positions);
        positions
    }

    /// Sets held nodes to their targets. Unlike x + h v, targets accumulate no rounding errors.
    pub(crate) fn put_held(&self, positions: &mut [DVec3]) {
        for (node, target) in &self.prescribed.held.targets {
            let offset = self.model.unknowns.node_offset[*node];
            for axis in (0..3).filter(|axis| self.is_held()[offset + axis]) {
                positions[*node][axis] = target[axis];
            }
        }
    }

    /// Prescribed velocities of held unknowns (m/s, rad/s), with their index in flat vectors.
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

    /// Velocities at the start, flat; zero in a quasi-static step.
    pub(crate) fn start_velocities(&self) -> Vec<f64> {
        let (from, unknowns) = (self.from, &self.model.unknowns);
        if self.is_static {
            vec![0.0; unknowns.count]
        } else {
            unknowns.join(&from.velocities, &from.spins)
        }
    }
}
