//! Implicit Euler by Newton's method: the velocities of a step make the action stationary (Daviet 2020, Eq. 2), found by
//! linearising again and again, with a line search that never lets the action grow.

use super::implicit::{advance, solve};
use super::{Scratch, StepError, Stopwatch, Taken};
use crate::energy::linearize::{
    Problem, Which, action, differentiate, elastic_energy, linearize, prepare,
};
use crate::scene::tables::Method;

/// A step of the line search must gain this part of what the slope promises (Armijo).
const PROMISE: f64 = 1e-4;

/// How often a step is halved by the line search.
const MOST_HALVINGS: usize = 30;

/// Gains below this part of the action's terms are rounding.
const ROUNDING: f64 = 1e-13;

/// One step.
pub(super) fn step(
    problem: &Problem<'_>,
    method: &Method,
    scratch: &mut Scratch,
) -> Result<Taken, StepError> {
    let h = problem.h();
    let mut watch = Stopwatch::start();
    let mut taken = Taken::default();
    prepare(problem, scratch);
    let mut velocities = vec![0.0; scratch.impulse.len()];
    let mut error = f64::INFINITY;
    for iteration in 0..method.iterations.max(1) {
        // 2. A, linearised at the velocities so far; first at the start of the step.
        linearize(problem, &velocities, Which::All, scratch);
        if iteration == 0 {
            scratch.elastic_start = elastic_energy(scratch, &problem.from.positions);
        }
        taken.phases.assemble += watch.lap();

        // 4. Where the linear equations are solved, and as far on the way there as is good.
        let goal = solve(problem, scratch)?;
        let change: Vec<f64> = goal.iter().zip(&velocities).map(|(g, v)| g - v).collect();
        error = h * problem.model.unknowns.largest_at_nodes(&change);
        if iteration == 0 {
            for (dof, rate) in problem.told() {
                velocities[dof] = rate;
            }
        }
        taken.phases.linear += watch.lap();
        taken.iterations += 1;
        let is_close = error <= method.tolerance.0;
        let is_done = is_close && iteration > 0;
        let found = match is_done {
            true => Some(goal),
            false => search(problem, &velocities, &goal, iteration > 0, scratch),
        };
        taken.phases.assemble += watch.lap();
        // From where nothing better is found, the next iteration would find the same.
        let is_stuck = found.is_none() && iteration > 0;
        velocities = found.unwrap_or(velocities);
        if is_done || is_stuck {
            break;
        }
    }
    if method.converge && (error > method.tolerance.0 || error.is_nan()) {
        return Err(StepError::NotConverged { error });
    }
    // 5. The motion, and how far it is from solving the equations.
    taken.to = advance(problem, &velocities)?;
    differentiate(problem, &velocities, scratch);
    taken.residual.clone_from(&scratch.residual);
    taken.is_nonlinear = true;
    taken.solves = true;
    taken.velocities = velocities;
    taken.phases.assemble += watch.lap();
    Ok(taken)
}

/// The velocities on the way to a goal where the action is small enough, if there are any. `has_slope` where the velocities are those of the
/// last linearisation, whose slope is known there.
fn search(
    problem: &Problem<'_>,
    velocities: &[f64],
    goal: &[f64],
    has_slope: bool,
    scratch: &Scratch,
) -> Option<Vec<f64>> {
    let slope: f64 = match has_slope {
        true => {
            let change = goal.iter().zip(velocities).map(|(g, v)| g - v);
            change
                .zip(&scratch.residual)
                .map(|(change, r)| change * r)
                .sum()
        }
        false => 0.0,
    };
    let start = action(problem, velocities, scratch);
    let noise = ROUNDING * (start.abs() + scratch.elastic_start.abs());
    let mut part = 1.0;
    for _ in 0..MOST_HALVINGS {
        let between: Vec<f64> = velocities
            .iter()
            .zip(goal)
            .map(|(v, g)| v + part * (g - v))
            .collect();
        let there = action(problem, &between, scratch);
        if there <= start + PROMISE * part * slope + noise {
            return Some(between);
        }
        part *= 0.5;
    }
    None
}
