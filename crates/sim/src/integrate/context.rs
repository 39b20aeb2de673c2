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

/// Options, budget and timer of all attempts at a step.
pub(crate) struct Context {
    pub(crate) options: StepOptions,
    pub(crate) budget: Budget,
    pub(crate) timer: Timer,
    /// The contact problem of the last solve, if `options.capture` is set.
    pub(crate) captured: Option<CapturedProblem>,
}

impl Context {
    pub(crate) fn new(options: StepOptions, solver: Option<&SolverEntry>) -> Context {
        Context {
            options,
            budget: Budget::new(solver),
            timer: Timer::start(),
            captured: None,
        }
    }
}

/// Iteration budget of the contact solver in a step. Solves without convergence and attempts are
/// charged to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Budget {
    /// Maximum number of iterations in a solve.
    max_per_solve: usize,
    /// Iterations left in the step.
    remaining: usize,
}

impl Budget {
    fn new(solver: Option<&SolverEntry>) -> Budget {
        let max_per_solve = solver.map_or(TUNING.max_attempts, |entry| entry.iterations.in_step);
        Budget {
            max_per_solve,
            remaining: TUNING.max_unconverged_solves * max_per_solve,
        }
    }

    /// Charges an attempt at a step or at a part of it.
    pub(crate) fn begin_attempt(&mut self) {
        let attempt = TUNING.max_unconverged_solves * self.max_per_solve / TUNING.max_attempts;
        self.remaining = self.remaining.saturating_sub(attempt);
    }

    /// Whether no further attempt is allowed.
    pub(crate) fn is_spent(&self) -> bool {
        self.remaining == 0
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
    fn only_unconverged_solves_and_attempts_are_charged_to_the_budget() {
        let mut budget = Budget::new(Some(&admm::ENTRY));
        let outcome = |is_converged: bool| SolveOutcome {
            iterations: 400,
            is_converged,
            ..SolveOutcome::default()
        };
        budget.begin_attempt();
        // An attempt is charged 15 of 1200 iterations.
        assert_eq!(budget.remaining, 1185);
        budget.charge(&outcome(true));
        assert_eq!(budget.limits(1e-6).iterations, 400);
        for _ in 0..2 {
            budget.charge(&outcome(false));
        }
        assert_eq!(budget.limits(1e-6).iterations, 385);
        budget.charge(&outcome(false));
        assert!(budget.is_spent());
        assert_eq!(budget.limits(1e-6).iterations, 30);
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
