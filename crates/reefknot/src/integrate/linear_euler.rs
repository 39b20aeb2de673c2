//! Implicit Euler, linearised once at the start of the step (Baraff and Witkin 1998; the linear
//! case of Daviet 2020, Eq. 3): A v = f with A = M + hC + h²K and f = M v₀ + h F(x₀).

use std::time::Instant;

use glam::DVec3;

use super::{Scratch, Step, StepError};
use crate::certify;
use crate::energy::linearize::linearize;
use crate::model::Model;
use crate::model::kinematics::Held;
use crate::report::Phases;
use crate::state::{State, flat};

/// Triangles below this part of their rest area have no direction any more.
const COLLAPSED: f64 = 1e-6;

/// One step.
pub(super) fn step(model: &Model, from: &State, scratch: &mut Scratch) -> Result<Step, StepError> {
    let h = model.clock.h();
    let mut phases = Phases::default();
    let mut watch = Stopwatch::start();

    // 2. A v = f, linearised at the start; contacts (1, 3) come with collision detection.
    let held = model.held(from);
    linearize(model, from, h, scratch);
    phases.assemble = watch.lap();

    // 4. v, that of held nodes as told.
    let velocities = solve(model, from, scratch, &held)?;
    phases.linear = watch.lap();

    // 5. The motion, which nothing stands in the way of yet.
    let to = advance(from, velocities, &held, h);
    refuse_broken(model, &to)?;

    // 6. What the step says of itself.
    let mut step = certify::certify(model, from, to, scratch, &held.is_held);
    refuse_overflow(model, &step)?;
    phases.certify = watch.lap();
    step.report.phases_s = phases;
    Ok(step)
}

/// Solves A v = f for the free nodes; held ones go where they are told.
fn solve(
    model: &Model,
    from: &State,
    scratch: &mut Scratch,
    held: &Held,
) -> Result<Vec<DVec3>, StepError> {
    let Scratch {
        system,
        held_system,
        factor,
        impulse,
        ..
    } = scratch;
    for ((body, whole), isolated) in model
        .bodies
        .iter()
        .zip(&system.bodies)
        .zip(&mut held_system.bodies)
    {
        let held = &held.is_held[body.nodes.clone()];
        isolated.matrix.values.copy_from_slice(&whole.matrix.values);
        if held.contains(&true) {
            isolated.matrix.isolate(held, 1.0);
        }
    }
    factor
        .factorize(held_system)
        .map_err(|error| StepError::linear(model, &model.bodies[error.body], error.source))?;
    let mut velocities = flat(impulse);
    let told = told_velocities(model, from, held);
    // What held nodes do to free ones: A_fp v_p moves to the right-hand side.
    if told.iter().any(|(_, velocity)| *velocity != DVec3::ZERO) {
        let mut moving = vec![0.0; velocities.len()];
        for (node, velocity) in &told {
            velocity.write_to_slice(&mut moving[3 * node..]);
        }
        let mut pull = vec![0.0; velocities.len()];
        system.multiply(&moving, &mut pull);
        for (f, pull) in velocities.iter_mut().zip(pull) {
            *f -= pull;
        }
    }
    for (node, velocity) in &told {
        velocity.write_to_slice(&mut velocities[3 * node..]);
    }
    factor.solve_in_place(&mut velocities);
    Ok(velocities.chunks_exact(3).map(DVec3::from_slice).collect())
}

/// The velocities that bring held nodes to where they are told (m/s).
fn told_velocities(model: &Model, from: &State, held: &Held) -> Vec<(usize, DVec3)> {
    let h = model.clock.h();
    let velocity = |target: DVec3, node: usize| (target - from.positions[node]) / h;
    let targets = held.targets.iter();
    targets
        .map(|(node, target)| (*node, velocity(*target, *node)))
        .collect()
}

/// The state that these velocities lead to.
fn advance(from: &State, velocities: Vec<DVec3>, held: &Held, h: f64) -> State {
    let moving = from.positions.iter().zip(&velocities);
    let mut positions: Vec<DVec3> = moving.map(|(x, v)| *x + h * *v).collect();
    for (node, target) in &held.targets {
        // Not x + h v: bits do not drift.
        positions[*node] = *target;
    }
    State {
        step: from.step + 1,
        positions,
        velocities,
    }
}

/// Stops at the first vertex that is no number and the first element that has collapsed.
fn refuse_broken(model: &Model, state: &State) -> Result<(), StepError> {
    let vertices = state.positions.iter().zip(&state.velocities).enumerate();
    for (node, (position, velocity)) in vertices {
        let what = match (position.is_finite(), velocity.is_finite()) {
            (true, true) => continue,
            (_, false) => "velocity",
            (false, true) => "position",
        };
        let (object, vertex) = model.place_of_node(node);
        return Err(StepError::NotFinite {
            object: object.to_owned(),
            vertex,
            what,
        });
    }
    for body in &model.bodies {
        let positions = &state.positions[body.nodes.clone()];
        if let Some((element, ratio)) = body.shell.membrane.smallest_area_ratio(positions)
            && ratio < COLLAPSED
        {
            let object = &model.objects[body.object];
            let copy = (body.nodes.start - object.nodes().start) / body.nodes.len();
            return Err(StepError::Collapsed {
                object: object.name.clone(),
                element: copy * body.shell.triangles.len() + element,
                ratio,
            });
        }
    }
    Ok(())
}

/// Stops at a step that cannot be graded, which nobody could read back from the log either.
fn refuse_overflow(model: &Model, step: &Step) -> Result<(), StepError> {
    let report = &step.report;
    let energy = &report.energy_j;
    let flows = energy.work + energy.viscous + energy.contact + energy.numerical;
    let errors = report.momentum_error_m.unwrap_or(0.0) + report.max_stretch;
    if (energy.total() + flows + errors).is_finite() {
        return Ok(());
    }
    let speeds = step.to.velocities.iter().map(|v| v.abs().max_element());
    let fastest = speeds.enumerate().max_by(|a, b| a.1.total_cmp(&b.1));
    let (node, speed) = fastest.unwrap_or_default();
    let (object, vertex) = model.place_of_node(node);
    Err(StepError::Overflow {
        object: object.to_owned(),
        vertex,
        speed,
    })
}

/// Measures phases one after the other.
struct Stopwatch(Instant);

impl Stopwatch {
    fn start() -> Stopwatch {
        Stopwatch(Instant::now())
    }

    /// Seconds since the start or the last lap.
    fn lap(&mut self) -> f64 {
        let now = Instant::now();
        let seconds = (now - self.0).as_secs_f64();
        self.0 = now;
        seconds
    }
}
