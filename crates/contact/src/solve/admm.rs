//! The solver `admm`: alternating directions between the dynamics of bodies and a projection of nodes (Daviet 2020, Alg. 2 to 4).
//!
//! v solves (A + W) v = f + W (p + λ), body by body with one factorization; p is v − λ projected onto what contacts allow, which is
//! cheap because W is diagonal; λ gathers W (p − v), so that in the end W λ = Bᵀ r and p = v. As printed, the method stalls on
//! stiff bodies and lets bodies at rest creep. What holds: weights from the mobility of nodes, on nodes that may touch; a start from
//! the step before, so that rest is a fixed point; acceleration with restarts; stopping by the errors of the problem itself; and a few
//! Newton steps on the contacts where iterations do not get there. The answer is p, which contacts allow.

mod iterate;
pub mod projection;
mod settings;
#[cfg(test)]
mod tests;
mod weighted;
mod weights;

use glam::DVec3;
use rayon::prelude::*;

use crate::problem::{Errors, NodalProblem, Solution, larger};
use crate::solve::{Limits, Outcome, Polish, Refine, SolveError, Solver, WarmStart, solve_free};
use crate::system::{Factors, SystemFactor};
use iterate::Iterate;
pub use projection::LocalSolver;
use projection::Projection;
pub use settings::{ENTRY, Settings};
use weighted::{Weighted, any_within, changed_offsets};
pub use weights::{WeightedNodes, Weights};

/// What moves in a step by no more than so many times the tolerance rests.
const RESTING: f64 = 10.0;

/// Numbers that one task takes.
const CHUNK: usize = 1 << 14;

/// Iterations after which errors are computed even if they seem to be too large.
const CHECKED: usize = 20;

/// What errors were found to be of the unrest counts for so much less in every iteration: a check takes as long as some of these.
const FORGOTTEN: f64 = 0.97;

/// Sweeps of an iteration end when contacts change by this part of its unrest, and contacts sleep while their neighbours change by less than that part. Half of
/// the one and a third of the other do not save iterations in a ball of hair.
const ENOUGH: f64 = 0.2;
const QUIET: f64 = 0.03;

/// The part of the tolerance by which solves in single precision may be off.
const LIGHT: f64 = 0.01;

/// The solver, with the memory that it keeps from step to step. Nothing in it changes the answer.
#[derive(Debug)]
pub struct Admm {
    /// How it goes about it.
    pub settings: Settings,
    weighted: Option<Weighted>,
    projection: Projection,
}

impl Admm {
    /// A solver without any memory yet.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            weighted: None,
            projection: Projection::default(),
        }
    }

    /// Goes to where the step before ended. `factor` is that of A.
    fn begin(
        &mut self,
        problem: &NodalProblem,
        factor: &SystemFactor,
        warm: &WarmStart,
        limits: Limits,
    ) -> Result<Run, SolveError> {
        let (settings, tolerance) = (self.settings, limits.tolerance);
        let weighted = match self.weighted.take() {
            Some(weighted) if weighted.is_of(problem) => weighted,
            _ => Weighted::new(problem, factor)?,
        };
        let mut run = Run {
            settings,
            tolerance,
            nodes: WeightedNodes::default(),
            projection: std::mem::take(&mut self.projection),
            iterate: Iterate::start(problem, factor, warm, &settings),
            weighted,
            weighings: 1,
            polish: (settings.polishes).then(|| Polish::during(problem, tolerance)),
            amplification: 1.0,
            best: None,
            is_polished: false,
        };
        run.projection.local = settings.local;
        run.pose(problem, &warm.impulses_of(problem), |_| true);
        run.iterate.place(&run.nodes, &run.projection);
        run.weighted.weigh(problem, &run.nodes, |_| true)?;
        Ok(run)
    }
}

impl Solver for Admm {
    fn uses_mobilities(&self) -> bool {
        self.settings.weights == Weights::Mobility
    }

    fn solve(
        &mut self,
        problem: &mut NodalProblem,
        factors: &mut Factors,
        warm: &WarmStart,
        limits: Limits,
        refine: &mut dyn Refine,
    ) -> Result<(Solution, Outcome), SolveError> {
        let before = factors.factorizations();
        let (free, mut outcome) = solve_free(problem, factors, limits, refine)?;
        if let Some(solution) = free {
            outcome.factorizations += factors.factorizations() - before;
            return Ok((solution, outcome));
        }
        let mut run = self.begin(problem, factors.of(&problem.system)?, warm, limits)?;
        while outcome.iterations < limits.iterations && !outcome.is_converged {
            outcome.iterations += 1;
            let is_last = outcome.iterations == limits.iterations;
            run.advance(problem, factors, (refine, is_last), &mut outcome)?;
        }
        outcome.factorizations += run.weighings + factors.factorizations() - before;
        let solution = run.answer(problem);
        self.weighted = Some(run.weighted);
        self.projection = run.projection;
        Ok((solution, outcome))
    }
}

/// A solve under way.
struct Run {
    settings: Settings,
    tolerance: f64,
    nodes: WeightedNodes,
    projection: Projection,
    iterate: Iterate,
    weighted: Weighted,
    /// How often A + W was factorized.
    weighings: usize,
    polish: Option<Polish>,
    /// By how much the errors exceeded the unrest when they were last computed.
    amplification: f64,
    /// The best answer whose errors were computed, and whether Newton steps found it, which iterations know nothing of.
    best: Option<(Errors, Solution)>,
    is_polished: bool,
}

impl Run {
    /// An iteration, and what there is to do after it.
    fn advance(
        &mut self,
        problem: &mut NodalProblem,
        factors: &mut Factors,
        (refine, is_last): (&mut dyn Refine, bool),
        outcome: &mut Outcome,
    ) -> Result<(), SolveError> {
        outcome.solves += self.iterate(problem);
        let iteration = outcome.iterations;
        let is_time = iteration.is_multiple_of(self.settings.refine_every.max(1));
        if self.is_worth_checking(problem) || iteration.is_multiple_of(CHECKED) || is_last {
            outcome.solves += 1;
            outcome.products += 1;
            self.check(problem, factors.of(&problem.system)?);
        }
        if !self.is_converged()
            && let Some(polish) = &mut self.polish
            && polish.is_due(iteration)
        {
            outcome.solves += self.polish(problem, factors.of(&problem.system)?);
        }
        // An answer counts if nothing changes when it is looked at.
        let is_converged = self.is_converged();
        let is_changed =
            (is_converged || is_time) && self.refine(problem, factors, (refine, is_converged))?;
        outcome.linearisations += usize::from(is_changed);
        outcome.is_converged = is_converged && !is_changed;
        Ok(())
    }

    /// Lets the caller change contacts and matrices, and takes over what changed; whether anything did.
    fn refine(
        &mut self,
        problem: &mut NodalProblem,
        factors: &mut Factors,
        (refine, is_answer): (&mut dyn Refine, bool),
    ) -> Result<bool, SolveError> {
        if !refine.is_due(is_answer) {
            return Ok(false);
        }
        let solution = match &self.best {
            Some((_, best)) if is_answer => best.clone(),
            _ => Solution::new(
                self.iterate.answer(problem, &self.nodes),
                self.projection.impulses(),
            ),
        };
        let known = WarmStart::from_solution(problem, solution);
        let refined = refine.refine(problem, &known.velocities, is_answer);
        if refined.is_nothing() {
            return Ok(false);
        }
        let known = known.refined(&refined);
        let is_polished = std::mem::take(&mut self.is_polished);
        self.best = None;
        factors.invalidate_bodies(refined.bodies.iter().copied());
        let before = self.nodes.clone();
        let is_new = |offset: usize| refined.bodies.contains(&problem.system.body_of(offset));
        self.pose(problem, &known.impulses_of(problem), is_new);
        match is_answer && is_polished {
            true => {
                self.iterate.velocities = known.velocities;
                self.iterate.place(&self.nodes, &self.projection);
            }
            false => {
                let iterate = &mut self.iterate;
                iterate.carry_over(&before, &self.nodes, &self.projection);
            }
        }
        let offsets = changed_offsets(problem, &before, &self.nodes);
        self.weighted.weigh(problem, &self.nodes, |dofs| {
            is_new(dofs.start) || any_within(&offsets, &dofs)
        })?;
        self.weighings += 1;
        Ok(true)
    }

    /// Takes over the contacts of the problem, with r. Of nodes in other bodies than before, as a function of where they start says, everything
    /// may be new.
    fn pose(
        &mut self,
        problem: &NodalProblem,
        impulses: &[DVec3],
        is_new: impl Fn(usize) -> bool + Sync,
    ) {
        let offsets = &problem.system.node_offset;
        let is_changed = |node: u32| is_new(offsets[node as usize]);
        self.nodes = WeightedNodes::after(&self.nodes, problem, self.settings.weights, is_changed);
        self.projection.pose(problem, &self.nodes, impulses);
    }

    /// One iteration of Alg. 4; how many times it went through the factors.
    fn iterate(&mut self, problem: &NodalProblem) -> usize {
        let (iterate, nodes) = (&mut self.iterate, &self.nodes);
        let weighted = &mut self.weighted;
        // Update the velocities of all degrees of freedom: once for all, then only for what changes.
        let (unrest, mut products) = (iterate.unrest, 1);
        match iterate.pull(problem, nodes) {
            Some(mut rhs) => {
                // The first solve has nothing to be measured by.
                let accuracy = match unrest.is_finite() {
                    true => 1e-3 * unrest,
                    false => 0.0,
                };
                let enough = LIGHT * self.tolerance / problem.step;
                let velocities = &mut iterate.velocities;
                products = weighted.solve(&mut rhs, velocities, [accuracy, enough]);
                if !weighted.is_exact() {
                    iterate.forget();
                }
            }
            None => {
                let (change, velocities) = iterate.change();
                weighted.add_solution(change, velocities);
            }
        }
        // Update the feasible projection.
        let quiet = match self.settings.sleeps {
            true => QUIET * unrest,
            false => 0.0,
        };
        let enough = ENOUGH * unrest;
        let start = (nodes.nodes.len(), |place| iterate.aim(nodes, place));
        let sweeps = self.settings.sweeps;
        let change = self.projection.project(start, sweeps, enough, quiet);
        let is_accelerated = self.settings.is_accelerated;
        iterate.advance(nodes, &self.projection, is_accelerated);
        iterate.unrest = larger(iterate.unrest, change);
        products
    }

    /// What the errors are likely to be (m).
    fn error_estimate(&self, problem: &NodalProblem) -> f64 {
        problem.step * self.iterate.unrest * self.amplification
    }

    /// Whether the errors may be small enough.
    fn is_worth_checking(&mut self, problem: &NodalProblem) -> bool {
        // What was seen once need not hold for ever.
        self.amplification *= FORGOTTEN;
        self.error_estimate(problem) <= self.tolerance
    }

    /// Computes the errors of where it is: of p, and of the velocities that its impulses make. p lets nothing creep where everything
    /// rests. The other keeps momentum to the last digit, and while things move it is ten times better, since what is left of the
    /// momentum is mostly far from all contacts.
    fn check(&mut self, problem: &NodalProblem, factor: &SystemFactor) {
        let impulses = self.projection.impulses();
        let feasible = self.iterate.answer(problem, &self.nodes);
        let mut beside = problem.residual(&feasible, &impulses);
        factor.solve_in_place(&problem.system, &mut beside);
        // By way of what is left over: the same from A and f alone would have the rounding of large forces.
        let moved = feasible.par_iter().zip(&beside).with_min_len(CHUNK);
        let mut velocities: Vec<f64> = moved.map(|(p, b)| p - b).collect();
        let mut errors = Errors {
            contact: problem.contact_error(&velocities, &impulses),
            momentum: 0.0,
        };
        let tolerance = self.tolerance;
        if problem.step * self.iterate.fastest() <= RESTING * tolerance {
            let of_feasible = Errors {
                contact: problem.contact_error(&feasible, &impulses),
                momentum: problem.largest_displacement(&beside),
            };
            let least = of_feasible.largest();
            let is_worse = least > tolerance && errors.contact < least;
            if !is_worse {
                (errors, velocities) = (of_feasible, feasible);
            }
        }
        let unrest = problem.step * self.iterate.unrest;
        if unrest > 0.0 {
            self.amplification = (errors.largest() / unrest).max(0.1);
        }
        let solution = Solution::new(velocities, impulses);
        self.is_polished &= !self.offer(errors, solution);
    }

    /// Keeps an answer if it is better than the best; whether it is.
    fn offer(&mut self, errors: Errors, solution: Solution) -> bool {
        let is_less = |best: &(Errors, Solution)| errors.largest() < best.0.largest();
        let is_better = self.best.as_ref().is_none_or(is_less);
        if is_better {
            self.best = Some((errors, solution));
        }
        is_better
    }

    /// Whether the best answer is within the tolerance.
    fn is_converged(&self) -> bool {
        let is_within = |best: &(Errors, Solution)| best.0.largest() <= self.tolerance;
        self.best.as_ref().is_some_and(is_within)
    }

    /// Newton steps from here on; ADMM goes on from their end if they helped. How many times they went through the factors.
    fn polish(&mut self, problem: &NodalProblem, factor: &SystemFactor) -> usize {
        let Some(polish) = &mut self.polish else {
            return 0;
        };
        let impulses = self.projection.impulses();
        let (found, products) = polish.run(problem, factor, &impulses);
        if let Some((errors, solution)) = found {
            self.is_polished |= self.offer(errors, solution);
        }
        products
    }

    fn answer(&mut self, problem: &NodalProblem) -> Solution {
        match self.best.take() {
            Some((_, solution)) => solution,
            None => Solution::new(
                self.iterate.answer(problem, &self.nodes),
                self.projection.impulses(),
            ),
        }
    }
}
