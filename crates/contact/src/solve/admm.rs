//! The solver `admm`: the alternating direction method of multipliers, between the dynamics of
//! bodies and the contact law at nodes (Daviet 2020, Alg. 2 to 4).
//!
//! An iteration has three updates:
//!
//! 1. v from (A + W) v = f + W (p + λ), body by body, with one factorization per solve;
//! 2. p, the projection of v − λ on the velocities that the contact law allows. It is cheap because
//!    W is diagonal;
//! 3. the multiplier λ ← λ + p − v. At convergence p = v and W λ = Bᵀ r.
//!
//! p and λ are extrapolated by Nesterov's method, with restarts (Alg. 4).
//!
//! As printed in the paper, the method stalls on stiff bodies and lets bodies at rest creep.
//! Different here: weights from the mobility of nodes, on nodes in contact only; a warm start from
//! the previous step, of which a rest state is a fixed point; stopping by the errors of the
//! problem; and Newton steps on the contacts where iterations converge slowly ([`Polish`]). The
//! constants are in `tuning`.

mod iterate;
mod options;
pub mod projection;
#[cfg(test)]
mod tests;
mod tuning;
mod weighted;
mod weights;

use glam::DVec3;
use rayon::prelude::*;

use crate::problem::{Errors, NodalProblem, Solution, WarmStart, nan_max};
use crate::solve::{Limits, Polish, Refine, SolveError, SolveOutcome, Solver, solve_free};
use crate::system::{FactorCache, SystemFactor};
use iterate::Iterate;
pub use options::{AdmmOptions, ENTRY};
pub use projection::LocalSolver;
use projection::{Projection, SweepLimits};
use tuning::TUNING;
use weighted::{WeightedSystem, any_within, changed_offsets};
pub use weights::{WeightRule, WeightedNodes};

/// Vector entries per parallel task.
const CHUNK_SIZE: usize = 1 << 14;

/// The solver, with buffers that it keeps from step to step. Their content does not change results.
#[derive(Debug)]
pub struct Admm {
    /// Options.
    pub options: AdmmOptions,
    weighted: Option<WeightedSystem>,
    projection: Projection,
}

impl Admm {
    /// A solver with empty buffers.
    pub fn new(options: AdmmOptions) -> Self {
        Self {
            options,
            weighted: None,
            projection: Projection::default(),
        }
    }

    /// Prepares a solve from the warm start. `factor` is that of A.
    fn begin(
        &mut self,
        problem: &NodalProblem,
        factor: &SystemFactor,
        warm: &WarmStart,
        limits: Limits,
    ) -> Result<Run, SolveError> {
        let (options, tolerance) = (self.options, limits.tolerance);
        let weighted = match self.weighted.take() {
            Some(weighted) if weighted.fits(problem) => weighted,
            _ => WeightedSystem::new(problem, factor)?,
        };
        let mut run = Run {
            options,
            tolerance,
            nodes: WeightedNodes::default(),
            projection: std::mem::take(&mut self.projection),
            iterate: Iterate::start(problem, factor, warm, &options),
            weighted,
            factorizations: 1,
            polish: (options.polishes).then(|| Polish::during(problem, tolerance)),
            amplification: 1.0,
            best: None,
            is_polished: false,
        };
        run.projection.local = options.local;
        run.assemble(problem, &warm.impulses_of(problem), |_| true);
        run.iterate.initialize(&run.nodes, &run.projection);
        run.weighted.update(problem, &run.nodes, |_| true)?;
        Ok(run)
    }
}

impl Solver for Admm {
    fn uses_mobilities(&self) -> bool {
        self.options.weights == WeightRule::Mobility
    }

    fn solve(
        &mut self,
        problem: &mut NodalProblem,
        factors: &mut FactorCache,
        warm: &WarmStart,
        limits: Limits,
        refine: &mut dyn Refine,
    ) -> Result<(Solution, SolveOutcome), SolveError> {
        let before = factors.factorizations();
        let (free, mut outcome) = solve_free(problem, factors, limits, refine)?;
        if let Some(solution) = free {
            outcome.factorizations += factors.factorizations() - before;
            return Ok((solution, outcome));
        }
        let mut run = self.begin(problem, factors.get(&problem.system)?, warm, limits)?;
        while outcome.iterations < limits.iterations && !outcome.is_converged {
            outcome.iterations += 1;
            let is_last = outcome.iterations == limits.iterations;
            run.advance(problem, factors, refine, is_last, &mut outcome)?;
        }
        outcome.factorizations += run.factorizations + factors.factorizations() - before;
        let solution = run.take_solution(problem);
        self.weighted = Some(run.weighted);
        self.projection = run.projection;
        Ok((solution, outcome))
    }
}

/// State of a solve.
struct Run {
    options: AdmmOptions,
    tolerance: f64,
    nodes: WeightedNodes,
    projection: Projection,
    iterate: Iterate,
    weighted: WeightedSystem,
    /// Number of factorizations of A + W.
    factorizations: usize,
    polish: Option<Polish>,
    /// Ratio of the errors to the residual of the iterate when they were last computed, decayed
    /// since.
    amplification: f64,
    /// The best solution whose errors were computed.
    best: Option<(Errors, Solution)>,
    /// Whether the best solution is from Newton steps, so that p and λ do not belong to it.
    is_polished: bool,
}

impl Run {
    /// One iteration, then a check of the errors, Newton steps and a refinement where they are due.
    fn advance(
        &mut self,
        problem: &mut NodalProblem,
        factors: &mut FactorCache,
        refine: &mut dyn Refine,
        is_last: bool,
        outcome: &mut SolveOutcome,
    ) -> Result<(), SolveError> {
        outcome.solves += self.iterate(problem);
        let iteration = outcome.iterations;
        let is_refine_turn = iteration.is_multiple_of(self.options.refine_every.max(1));
        self.amplification *= TUNING.amplification_decay;
        let may_converge = self.error_estimate(problem) <= self.tolerance;
        if may_converge || iteration.is_multiple_of(TUNING.check_interval) || is_last {
            outcome.solves += 1;
            outcome.products += 1;
            self.check(problem, factors.get(&problem.system)?);
        }
        if !self.is_converged()
            && let Some(polish) = &mut self.polish
            && polish.poll(iteration)
        {
            outcome.solves += self.polish(problem, factors.get(&problem.system)?);
        }
        // A solution is final only if a refinement at it does not change the problem.
        let is_converged = self.is_converged();
        let is_changed = (is_converged || is_refine_turn)
            && self.refine(problem, factors, refine, is_converged)?;
        outcome.linearisations += usize::from(is_changed);
        outcome.is_converged = is_converged && !is_changed;
        Ok(())
    }

    /// Lets the caller refine the problem, and transfers the iterate to the refined problem.
    /// Returns whether the problem changed.
    fn refine(
        &mut self,
        problem: &mut NodalProblem,
        factors: &mut FactorCache,
        refine: &mut dyn Refine,
        is_solution: bool,
    ) -> Result<bool, SolveError> {
        if !refine.poll(is_solution) {
            return Ok(false);
        }
        let solution = match &self.best {
            Some((_, best)) if is_solution => best.clone(),
            _ => self.current_solution(problem),
        };
        let known = WarmStart::from_solution(problem, solution);
        let refined = refine.refine(problem, &known.velocities, is_solution);
        if refined.is_empty() {
            return Ok(false);
        }
        let known = known.rename_contacts(&refined.renamed);
        let is_polished = std::mem::take(&mut self.is_polished);
        self.best = None;
        factors.invalidate_bodies(refined.bodies.iter().copied());
        let before = self.nodes.clone();
        let is_new = |offset: usize| refined.bodies.contains(&problem.system.body_of(offset));
        self.assemble(problem, &known.impulses_of(problem), is_new);
        if is_solution && is_polished {
            self.iterate.velocities = known.velocities;
            self.iterate.initialize(&self.nodes, &self.projection);
        } else {
            self.iterate
                .transfer(&before, &self.nodes, &self.projection);
        }
        let offsets = changed_offsets(problem, &before, &self.nodes);
        self.weighted.update(problem, &self.nodes, |dofs| {
            is_new(dofs.start) || any_within(&offsets, &dofs)
        })?;
        self.factorizations += 1;
        Ok(true)
    }

    /// Assembles weights and projection for the contacts of the problem, with impulses r. `is_new`
    /// tells by the offset of a node whether the matrix of its body changed.
    fn assemble(
        &mut self,
        problem: &NodalProblem,
        impulses: &[DVec3],
        is_new: impl Fn(usize) -> bool + Sync,
    ) {
        let offsets = &problem.system.node_offset;
        let is_changed = |node: u32| is_new(offsets[node as usize]);
        self.nodes = WeightedNodes::after(&self.nodes, problem, self.options.weights, is_changed);
        self.projection.assemble(problem, &self.nodes, impulses);
    }

    /// One iteration of Alg. 4. Returns the number of solves with the factors of A + W.
    fn iterate(&mut self, problem: &NodalProblem) -> usize {
        // The residual of the iteration before; the updates below overwrite it.
        let residual = self.iterate.residual;
        let solves = self.update_velocities(problem, residual);
        self.update_projection(residual);
        solves
    }

    /// v from (A + W) v = f + W (p̂ + λ̂): the full system in the first iteration, then only for
    /// the change of the right-hand side. Returns the number of solves with the factors.
    fn update_velocities(&mut self, problem: &NodalProblem, residual: f64) -> usize {
        let iterate = &mut self.iterate;
        let Some(mut rhs) = iterate.right_hand_side(problem, &self.nodes) else {
            let (change, velocities) = iterate.rhs_change();
            self.weighted.add_solution(change, velocities);
            return 1;
        };
        // Before the first iteration there is no residual to scale the accuracy by.
        let accuracy = if residual.is_finite() {
            TUNING.solve_accuracy_factor * residual
        } else {
            0.0
        };
        let single_precision = TUNING.single_precision_factor * self.tolerance / problem.step;
        let velocities = &mut iterate.velocities;
        let solves = (self.weighted).solve(&mut rhs, velocities, accuracy, single_precision);
        if !self.weighted.is_exact() {
            iterate.invalidate_velocities();
        }
        solves
    }

    /// p by Gauss-Seidel sweeps, then λ and the acceleration.
    fn update_projection(&mut self, residual: f64) {
        let (iterate, nodes) = (&mut self.iterate, &self.nodes);
        let sleep_threshold = if self.options.sleeps {
            TUNING.sleep_threshold_factor * residual
        } else {
            0.0
        };
        let limits = SweepLimits {
            max_sweeps: self.options.sweeps,
            tolerance: TUNING.sweep_tolerance_factor * residual,
            sleep_threshold,
        };
        let start = |index| iterate.projection_start(nodes, index);
        let change = (self.projection).project(nodes.nodes.len(), start, limits);
        iterate.advance(nodes, &self.projection, self.options.is_accelerated);
        iterate.residual = nan_max(iterate.residual, change);
    }

    /// Estimate of the errors (m).
    fn error_estimate(&self, problem: &NodalProblem) -> f64 {
        problem.step * self.iterate.residual * self.amplification
    }

    /// Computes the errors of two candidate solutions with the current impulses: p, and the
    /// velocities A⁻¹ (f + Bᵀ r). With p, bodies at rest do not creep. The second conserves
    /// momentum to rounding and has ten times smaller errors in motion, because the momentum
    /// residual of p is mostly far from contacts.
    fn check(&mut self, problem: &NodalProblem, factor: &SystemFactor) {
        let impulses = self.impulses(problem);
        let feasible = self.iterate.feasible_velocities(problem, &self.nodes);
        let mut correction = problem.residual(&feasible, &impulses);
        factor.solve_in_place(&problem.system, &mut correction);
        // p − A⁻¹ρ instead of A⁻¹ (f + Bᵀ r), which would have the rounding of large forces.
        let pairs = feasible.par_iter().zip(&correction);
        let pairs = pairs.with_min_len(CHUNK_SIZE);
        let mut velocities: Vec<f64> = pairs.map(|(p, c)| p - c).collect();
        let mut errors = Errors {
            contact: problem.contact_error(&velocities, &impulses),
            momentum: 0.0,
        };
        let tolerance = self.tolerance;
        if problem.step * self.iterate.max_speed() <= TUNING.rest_tolerance_factor * tolerance {
            let feasible_errors = Errors {
                contact: problem.contact_error(&feasible, &impulses),
                momentum: problem.largest_displacement(&correction),
            };
            let largest = feasible_errors.largest();
            let is_worse = largest > tolerance && errors.contact < largest;
            if !is_worse {
                (errors, velocities) = (feasible_errors, feasible);
            }
        }
        let residual = problem.step * self.iterate.residual;
        if residual > 0.0 {
            self.amplification = (errors.largest() / residual).max(TUNING.min_amplification);
        }
        let solution = Solution::new(velocities, impulses);
        self.is_polished &= !self.offer(errors, solution);
    }

    /// Keeps a solution if its errors are below those of the best. Returns whether they are.
    fn offer(&mut self, errors: Errors, solution: Solution) -> bool {
        let is_less = |best: &(Errors, Solution)| {
            errors.largest() < best.0.largest() || best.0.largest().is_nan()
        };
        let is_better = self.best.as_ref().is_none_or(is_less);
        if is_better {
            self.best = Some((errors, solution));
        }
        is_better
    }

    /// Whether the best solution is within the tolerance.
    fn is_converged(&self) -> bool {
        let is_within = |best: &(Errors, Solution)| best.0.largest() <= self.tolerance;
        self.best.as_ref().is_some_and(is_within)
    }

    /// Newton steps from the current impulses; their result is kept if it is better than the best
    /// solution. Returns the number of solves with the factors of A.
    fn polish(&mut self, problem: &NodalProblem, factor: &SystemFactor) -> usize {
        let Some(polish) = &mut self.polish else {
            return 0;
        };
        let impulses = self.projection.impulses();
        let (found, solves) = polish.run(problem, factor, &impulses);
        if let Some((errors, solution)) = found {
            self.is_polished |= self.offer(errors, solution);
        }
        solves
    }

    /// The best solution; the current one if no errors were computed.
    fn take_solution(&mut self, problem: &NodalProblem) -> Solution {
        match self.best.take() {
            Some((_, solution)) => solution,
            None => self.current_solution(problem),
        }
    }

    /// p with the current impulses.
    fn current_solution(&self, problem: &NodalProblem) -> Solution {
        Solution::new(
            self.iterate.feasible_velocities(problem, &self.nodes),
            self.impulses(problem),
        )
    }

    /// The current impulses, in their friction cones: those of the step before, or of the contacts
    /// before a refinement, have other cones until the next sweep.
    fn impulses(&self, problem: &NodalProblem) -> Vec<DVec3> {
        let mut impulses = self.projection.impulses();
        problem.make_admissible(&mut impulses);
        impulses
    }
}
