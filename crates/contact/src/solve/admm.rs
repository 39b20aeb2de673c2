//! The solver `admm`: alternating directions between the dynamics of bodies and a projection of nodes (Daviet 2020, Alg. 2 to 4).
//!
//! v solves (A + W) v = f + W (p + λ), body by body with one factorization; p is v − λ projected onto what contacts allow, which is
//! cheap because W is diagonal; λ gathers W (p − v), so that in the end W λ = Bᵀ r and p = v. As printed, the method stalls on
//! stiff bodies and lets bodies at rest creep. What holds: weights from the mobility of nodes, on nodes that may touch; a start from
//! the step before, so that rest is a fixed point; acceleration with restarts; stopping by the errors of the problem itself; and a few
//! Newton steps on the contacts where iterations do not get there. The answer is p, which contacts allow.

mod iterate;
mod polish;
pub mod projection;
#[cfg(test)]
mod tests;
mod weighted;
mod weights;

use glam::DVec3;
use rayon::prelude::*;

use crate::problem::{Errors, NodalProblem, Solution, larger};
use crate::solve::{Outcome, Refine, SolveError, Warm};
use crate::system::SystemFactor;
use iterate::Iterate;
use polish::Polish;
pub use projection::LocalSolver;
use projection::Projection;
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

/// How ADMM goes about it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// What may be left of both errors (m); see [`crate::problem::stopping_tolerance`].
    pub tolerance: f64,
    /// It ends after so many iterations, converged or not.
    pub most_iterations: usize,
    /// How the weights are chosen.
    pub weights: Weights,
    /// Whether to begin from the velocities without contact, as in the paper, and not from those of the step before.
    pub starts_unconstrained: bool,
    /// Whether to accelerate (Alg. 4).
    pub is_accelerated: bool,
    /// Gauss-Seidel sweeps in an iteration, at most.
    pub sweeps: usize,
    /// Whether contacts that hardly change sleep for a few sweeps.
    pub sleeps: bool,
    /// How a contact is solved by itself.
    pub local: LocalSolver,
    /// Whether Newton steps on the contacts take over where iterations are slow.
    pub polishes: bool,
    /// Iterations between two calls of `refine`.
    pub refine_every: usize,
}

impl Settings {
    /// The settings that hold for everything tried.
    pub fn new(tolerance: f64) -> Self {
        Self {
            tolerance,
            most_iterations: 1000,
            weights: Weights::Mobility,
            starts_unconstrained: false,
            is_accelerated: true,
            sweeps: 20,
            sleeps: true,
            local: LocalSolver::Isotropic,
            polishes: true,
            refine_every: 5,
        }
    }

    /// Everything as in the paper.
    pub fn as_printed(tolerance: f64) -> Self {
        Self {
            weights: Weights::Paper {
                sigma: 1e-3,
                beta: 25.0,
            },
            starts_unconstrained: true,
            is_accelerated: false,
            polishes: false,
            ..Self::new(tolerance)
        }
    }
}

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

    /// Solves a problem. `factor` is that of A, and is kept up if `refine` changes A.
    ///
    /// # Errors
    /// If a matrix cannot be factorized.
    pub fn solve(
        &mut self,
        problem: &mut NodalProblem,
        factor: &mut SystemFactor,
        warm: &Warm,
        refine: &mut dyn Refine,
    ) -> Result<(Solution, Outcome), SolveError> {
        let mut run = Run::new(self.settings, std::mem::take(&mut self.projection));
        run.projection.local = self.settings.local;
        run.start(problem, factor, warm);
        let mut weighted = match self.weighted.take() {
            Some(weighted) if weighted.is_of(problem) => weighted,
            _ => Weighted::new(problem, factor)?,
        };
        weighted.weigh(problem, &run.nodes, |_| true)?;
        let mut polish = Polish::new(problem, &self.settings);
        let mut outcome = Outcome::default();
        for iteration in 1..=self.settings.most_iterations {
            outcome.iterations = iteration;
            outcome.products += run.iterate(problem, &mut weighted);
            let is_last = iteration == self.settings.most_iterations;
            let is_time = iteration % self.settings.refine_every.max(1) == 0;
            if run.is_worth_checking(problem) || iteration % CHECKED == 0 || is_last {
                outcome.products += 1;
                run.check(problem, factor);
            }
            if !run.is_converged() && polish.is_due(iteration) {
                outcome.products += run.polish(problem, factor, &mut polish);
            }
            // An answer counts if nothing changes when it is looked at.
            let is_converged = run.is_converged();
            let is_changed = (is_converged || is_time)
                && run.refine(problem, factor, &mut weighted, (refine, is_converged))?;
            outcome.is_converged = is_converged && !is_changed;
            if outcome.is_converged {
                break;
            }
        }
        self.weighted = Some(weighted);
        let solution = run.answer(problem);
        self.projection = run.projection;
        Ok((solution, outcome))
    }
}

/// A solve under way.
struct Run {
    settings: Settings,
    nodes: WeightedNodes,
    projection: Projection,
    iterate: Iterate,
    /// By how much the errors exceeded the unrest when they were last computed.
    amplification: f64,
    /// The best answer whose errors were computed, and whether Newton steps found it, which iterations know nothing of.
    best: Option<(Errors, Solution)>,
    is_polished: bool,
}

impl Run {
    fn new(settings: Settings, projection: Projection) -> Self {
        Self {
            settings,
            nodes: WeightedNodes::default(),
            projection,
            iterate: Iterate::default(),
            amplification: 1.0,
            best: None,
            is_polished: false,
        }
    }

    /// Goes to where the step before ended.
    fn start(&mut self, problem: &NodalProblem, factor: &SystemFactor, warm: &Warm) {
        self.pose(problem, &warm.impulses_of(problem), |_| true);
        self.iterate = Iterate::start(problem, factor, warm, &self.settings);
        self.iterate.place(&self.nodes, &self.projection);
    }

    /// Lets the caller change contacts and matrices, and takes over what changed; whether anything did.
    fn refine(
        &mut self,
        problem: &mut NodalProblem,
        factor: &mut SystemFactor,
        weighted: &mut Weighted,
        (refine, is_answer): (&mut dyn Refine, bool),
    ) -> Result<bool, SolveError> {
        if !refine.is_due(is_answer) {
            return Ok(false);
        }
        let (velocities, impulses) = match &self.best {
            Some((_, best)) if is_answer => (best.velocities.clone(), best.impulses.clone()),
            _ => (
                self.iterate.answer(problem, &self.nodes),
                self.projection.impulses(),
            ),
        };
        let known = Warm::from_solution(problem, Vec::new(), &impulses);
        let refined = refine.refine(problem, &velocities, is_answer);
        if refined.is_nothing() {
            return Ok(false);
        }
        let is_polished = std::mem::take(&mut self.is_polished);
        self.best = None;
        factor.factorize_some(&problem.system, |body| refined.bodies.contains(&body))?;
        let before = self.nodes.clone();
        let is_new = |offset: usize| refined.bodies.contains(&problem.system.body_of(offset));
        self.pose(problem, &known.impulses_of(problem), is_new);
        match is_answer && is_polished {
            true => {
                self.iterate.velocities = velocities;
                self.iterate.place(&self.nodes, &self.projection);
            }
            false => {
                let iterate = &mut self.iterate;
                iterate.carry_over(&before, &self.nodes, &self.projection);
            }
        }
        let offsets = changed_offsets(problem, &before, &self.nodes);
        weighted.weigh(problem, &self.nodes, |dofs| {
            is_new(dofs.start) || any_within(&offsets, &dofs)
        })?;
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
    fn iterate(&mut self, problem: &NodalProblem, weighted: &mut Weighted) -> usize {
        let (iterate, nodes) = (&mut self.iterate, &self.nodes);
        // Update the velocities of all degrees of freedom: once for all, then only for what changes.
        let (unrest, mut products) = (iterate.unrest, 1);
        match iterate.pull(problem, nodes) {
            Some(mut rhs) => {
                // The first solve has nothing to be measured by.
                let accuracy = match unrest.is_finite() {
                    true => 1e-3 * unrest,
                    false => 0.0,
                };
                let enough = LIGHT * self.settings.tolerance / problem.step;
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
        self.error_estimate(problem) <= self.settings.tolerance
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
        let tolerance = self.settings.tolerance;
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
        let solution = Solution {
            velocities,
            impulses,
        };
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
        let is_within = |best: &(Errors, Solution)| best.0.largest() <= self.settings.tolerance;
        self.best.as_ref().is_some_and(is_within)
    }

    /// Newton steps from here on; ADMM goes on from their end if they helped. How many times they went through the factors.
    fn polish(
        &mut self,
        problem: &NodalProblem,
        factor: &SystemFactor,
        polish: &mut Polish,
    ) -> usize {
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
            None => Solution {
                velocities: self.iterate.answer(problem, &self.nodes),
                impulses: self.projection.impulses(),
            },
        }
    }
}
