//! Implicit Euler by Newton's method: the velocities of a step make the action stationary (Daviet 2020, Eq. 2), found by
//! linearising again and again, with a line search that never lets the action grow.

use super::contact::strictest;
use super::implicit::{advance, solve};
use super::{Scratch, StepError, Stopwatch, Taken, Touches};
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

/// How many times the tolerance contacts may leave in the first of several iterations: less would be lost on equations that the next one changes. With 1000 times, curls are linearised
/// where they are stretched by a third, and need the gate.
const FIRST: f64 = 300.0;

/// The part of the largest change of an iteration that contacts may leave in the next one. With a thousandth, 4,000 curls that are thrown about take 166 iterations
/// a step where they take 136, and their equations are left as far from solved.
const OF_CHANGE: f64 = 1e-2;

/// One step.
pub(super) fn step<'a>(
    problem: &Problem<'a>,
    method: &Method,
    scratch: &mut Scratch,
) -> Result<Taken<'a>, StepError> {
    let h = problem.h();
    let mut watch = Stopwatch::start();
    let mut taken = Taken::default();
    // 1. Who may touch.
    let mut touches = Touches::begin(problem, scratch);
    let mut warm = touches.as_ref().map(|touches| touches.warm(problem));
    taken.phases.detect = watch.lap();
    // 2. A, linearised at the velocities so far.
    let mut velocities = begin(problem, scratch);
    let mut error = f64::INFINITY;
    for iteration in 0..method.iterations.max(1) {
        if iteration > 0 {
            linearize(problem, &velocities, Which::All, scratch);
        }
        taken.phases.assemble += watch.lap();

        // 3. and 4. Where the linear equations are solved among contacts, and as far on the way there as is good.
        let is_first = iteration == 0 && method.iterations > 1;
        let goal = match (&mut touches, &warm) {
            (Some(touches), Some(warm)) => {
                touches.goes_on = is_first;
                let between = [strictest(problem), method.tolerance.0];
                touches.tolerance = contact_tolerance(between, is_first, error);
                touches.solve(problem, warm, scratch)?
            }
            _ => solve(problem, scratch)?,
        };
        let push = touches.as_ref().map(|touches| touches.push(problem));
        warm = touches.as_ref().map(|touches| touches.warm_again(&goal));
        let change: Vec<f64> = goal.iter().zip(&velocities).map(|(g, v)| g - v).collect();
        error = h * problem.model.unknowns.largest_at_nodes(&change);
        if iteration == 0 {
            for (dof, rate) in problem.told() {
                velocities[dof] = rate;
            }
        }
        match &touches {
            Some(touches) if !touches.posed.is_empty() => taken.phases.contact += watch.lap(),
            _ => taken.phases.linear += watch.lap(),
        }
        taken.iterations += 1;
        let is_close = error <= method.tolerance.0;
        let is_done = is_close && iteration > 0;
        let found = match is_done {
            true => Some(goal),
            false => {
                let forces = push.as_deref().unwrap_or_default();
                search(
                    problem,
                    [&velocities, &goal, forces],
                    iteration > 0,
                    scratch,
                )
            }
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
    // 5. The motion, through the gate, and how far it is from solving the equations.
    if let Some(touches) = &mut touches {
        touches.guard(problem, &mut velocities)?;
        taken.iterations = taken.iterations.max(touches.iterations);
    }
    taken.to = advance(problem, &velocities)?;
    taken.phases.gate = watch.lap();
    differentiate(problem, &velocities, scratch);
    taken.residual.clone_from(&scratch.residual);
    taken.is_nonlinear = true;
    taken.solves = true;
    taken.touches = touches;
    taken.velocities = velocities;
    taken.phases.assemble += watch.lap();
    Ok(taken)
}

/// Linearises where Newton's method begins: at the velocities of the step before. From rest, what turns goes along tangents first, where whatever
/// hardly stretches is stretched: the line search would let it move by a small part of its way only, and few iterations would slow
/// down everything. From here, the same error is one of the second order less.
fn begin(problem: &Problem<'_>, scratch: &mut Scratch) -> Vec<f64> {
    let (from, unknowns) = (problem.from, &problem.model.unknowns);
    let rest = vec![0.0; unknowns.count];
    prepare(problem, scratch);
    // Viscosity is that of the start, wherever the rest is linearised.
    linearize(problem, &rest, Which::All, scratch);
    scratch.elastic_start = elastic_energy(scratch, &from.positions);
    let before = unknowns.join(&from.velocities, &from.spins);
    let is_moving = !problem.is_static && before.iter().any(|rate| *rate != 0.0);
    if !is_moving || !action(problem, &before, scratch).is_finite() {
        return rest;
    }
    linearize(problem, &before, Which::All, scratch);
    before
}

/// What contacts may leave of errors in an iteration (m), between what lets everything rest and the tolerance of the scene: where things are thrown
/// about, the equations themselves are off by far more. `change` is how far the iteration before moved anything.
fn contact_tolerance([strictest, loosest]: [f64; 2], is_first: bool, change: f64) -> f64 {
    match is_first {
        true => FIRST * strictest,
        false if change.is_finite() => (OF_CHANGE * change).clamp(strictest, loosest),
        false => strictest,
    }
}

/// The velocities on the way to a goal where the action, less the work of contacts, is small enough, if there are any. `has_slope` where the
/// velocities are those of the last linearisation, whose slope is known there.
fn search(
    problem: &Problem<'_>,
    [velocities, goal, forces]: [&[f64]; 3],
    has_slope: bool,
    scratch: &Scratch,
) -> Option<Vec<f64>> {
    let work = |v: &[f64]| -> f64 { v.iter().zip(forces).map(|(v, f)| v * f).sum() };
    let slope: f64 = match has_slope {
        true => {
            let change = goal.iter().zip(velocities).map(|(g, v)| g - v);
            let along: f64 = change
                .zip(&scratch.residual)
                .map(|(change, r)| change * r)
                .sum();
            along - work(goal) + work(velocities)
        }
        false => 0.0,
    };
    let start = action(problem, velocities, scratch) - work(velocities);
    let noise = ROUNDING * (start.abs() + scratch.elastic_start.abs());
    let mut part = 1.0;
    for _ in 0..MOST_HALVINGS {
        let between: Vec<f64> = velocities
            .iter()
            .zip(goal)
            .map(|(v, g)| v + part * (g - v))
            .collect();
        let there = action(problem, &between, scratch) - work(&between);
        if there <= start + PROMISE * part * slope + noise {
            return Some(between);
        }
        part *= 0.5;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contacts_are_solved_as_exactly_as_the_motion_asks_for() {
        let between = [1e-6, 1e-5];
        // What rests must not creep; nor may a step with one iteration, of which nothing is known before.
        assert_eq!(contact_tolerance(between, false, 0.0), 1e-6);
        assert_eq!(contact_tolerance(between, false, f64::INFINITY), 1e-6);
        assert_eq!(contact_tolerance(between, false, f64::NAN), 1e-6);
        // A hundredth of half a millimetre, and never more than the scene allows.
        assert!((contact_tolerance(between, false, 5e-4) - 5e-6).abs() < 1e-18);
        assert_eq!(contact_tolerance(between, false, 0.1), 1e-5);
        assert_eq!(contact_tolerance(between, true, f64::INFINITY), 3e-4);
    }
}
