//! Options, iteration budget and timer of a step. They are shared by all its attempts.

use std::time::Instant;

use reefknot_contact::file::problem::CapturedProblem;
use reefknot_contact::solve::table::SolverEntry;
use reefknot_contact::solve::{Limits, SolveOutcome};

use super::tuning::TUNING;
use crate::report::Phases;

/// Optional work of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepOptions {
    /// Whether the independent intersection test is run on this step.
    pub test: bool,
    /// Whether the contact problem of the last solve is kept.
    pub capture: bool,
}

impl StepOptions {
    /// Only the independent intersection test.
    pub const TEST: StepOptions = StepOptions {
        test: true,
        capture: false,
    };
}

/// How far an integrator solves the nonlinear equations of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Effort {
    /// As the scene says.
    #[default]
    Usual,
    /// Newton's method until convergence, with at least its default number of iterations: for a
    /// step that was refused.
    Converged,
}

/// Options, budget and timer of all attempts at a step.
pub(crate) struct Context {
    pub(crate) options: StepOptions,
    pub(crate) effort: Effort,
    pub(crate) budget: Budget,
    pub(crate) timer: Timer,
    /// The contact problem of the last solve, if `options.capture` is set.
    pub(crate) captured: Option<CapturedProblem>,
}

impl Context {
    pub(crate) fn new(options: StepOptions, solver: Option<&SolverEntry>) -> Context {
        Context {
            options,
            effort: Effort::Usual,
            budget: Budget::new(solver),
            timer: Timer::start(),
            captured: None,
        }
    }
}

/// Limits of the work on a step: attempts at it and its parts, and iterations of the contact solver
/// in an attempt. Solves without convergence are charged to the iterations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Budget {
    /// Maximum number of iterations in a solve.
    max_per_solve: usize,
    /// Iterations left in the attempt.
    remaining: usize,
    /// Attempts so far.
    attempts: usize,
}

impl Budget {
    fn new(solver: Option<&SolverEntry>) -> Budget {
        let max_per_solve = solver.map_or(0, |entry| entry.iterations.in_step);
        Budget {
            max_per_solve,
            remaining: TUNING.max_unconverged_solves * max_per_solve,
            attempts: 0,
        }
    }

    /// Begins a part of a step that is a step of its own: it has all attempts.
    pub(crate) fn begin_part(&mut self) {
        self.attempts = 0;
    }

    /// Begins an attempt at a step or at a part of it.
    pub(crate) fn begin_attempt(&mut self) {
        self.remaining = TUNING.max_unconverged_solves * self.max_per_solve;
        self.attempts += 1;
    }

    /// Whether no further attempt is allowed.
    pub(crate) fn is_spent(&self) -> bool {
        self.attempts >= TUNING.max_attempts
    }

    /// Whether the solves of the attempt have used all their iterations without convergence.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.max_per_solve > 0 && self.remaining == 0
    }

    /// Limits of the next solve.
    pub(crate) fn limits(&self, tolerance: f64) -> Limits {
        let (numerator, denominator) = TUNING.spent_budget_fraction;
        let minimum = numerator * self.max_per_solve / denominator;
        Limits {
            tolerance,
            iterations: self.remaining.max(minimum).min(self.max_per_solve),
        }
    }

    /// Charges the iterations of a solve that did not converge.
    pub(crate) fn charge(&mut self, outcome: &SolveOutcome) {
        if !outcome.is_converged {
            self.remaining = self.remaining.saturating_sub(outcome.iterations);
        }
    }
}

/// A phase of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Detect,
    Assemble,
    Linear,
    Contact,
    Gate,
    Certify,
}

/// Measures the wall time of consecutive phases.
pub(crate) struct Timer {
    phases: Phases,
    last: Instant,
}

impl Timer {
    fn start() -> Timer {
        Timer {
            phases: Phases::default(),
            last: Instant::now(),
        }
    }

    /// Adds the time since the last call to a phase.
    pub(crate) fn lap(&mut self, phase: Phase) {
        let now = Instant::now();
        let seconds = (now - self.last).as_secs_f64();
        self.last = now;
        let phases = &mut self.phases;
        *match phase {
            Phase::Detect => &mut phases.detect,
            Phase::Assemble => &mut phases.assemble,
            Phase::Linear => &mut phases.linear,
            Phase::Contact => &mut phases.contact,
            Phase::Gate => &mut phases.gate,
            Phase::Certify => &mut phases.certify,
        } += seconds;
    }

    /// Times so far (s).
    pub(crate) fn phases(&self) -> Phases {
        self.phases
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reefknot_contact::solve::admm;

    #[test]
    fn only_unconverged_solves_are_charged_to_the_iterations_of_an_attempt() {
        let mut budget = Budget::new(Some(&admm::ENTRY));
        let outcome = |is_converged: bool| SolveOutcome {
            iterations: 400,
            is_converged,
            ..SolveOutcome::default()
        };
        budget.begin_attempt();
        assert_eq!(budget.remaining, 1200);
        budget.charge(&outcome(true));
        assert_eq!(budget.limits(1e-6).iterations, 400);
        for _ in 0..3 {
            budget.charge(&outcome(false));
        }
        // 3/40 of 400 iterations remain for later solves of the attempt.
        assert_eq!(budget.limits(1e-6).iterations, 30);
        budget.begin_attempt();
        assert_eq!(budget.limits(1e-6).iterations, 400);
    }

    #[test]
    fn the_budget_of_every_solver_is_spent_after_the_maximum_number_of_attempts() {
        for entry in &reefknot_contact::solve::table::SOLVERS {
            let mut budget = Budget::new(Some(entry));
            let attempts = std::iter::repeat_with(|| budget.begin_attempt());
            let _ = attempts.take(TUNING.max_attempts).count();
            assert!(budget.is_spent(), "{}", entry.name);
        }
    }

    #[test]
    fn each_time_interval_is_added_to_one_phase() {
        let began = Instant::now();
        let mut timer = Timer::start();
        std::thread::sleep(std::time::Duration::from_millis(2));
        timer.lap(Phase::Detect);
        timer.lap(Phase::Gate);
        let phases = timer.phases();
        assert!(phases.detect >= 2e-3 && phases.contact == 0.0);
        assert!(phases.detect + phases.gate <= began.elapsed().as_secs_f64());
    }
}
