//! What a step is taken with, beside its input and its memory: options, an iteration budget, and a
//! timer.

use std::time::Instant;

use reefknot_contact::file::problem::CapturedProblem;
use reefknot_contact::solve::table::SolverEntry;
use reefknot_contact::solve::{Limits, Outcome};

use crate::report::Phases;

/// What to do beside taking a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepOptions {
    /// Whether the independent test looks at this step.
    pub test: bool,
    /// Whether to keep the contact problem of the last solve.
    pub capture: bool,
}

impl StepOptions {
    /// The independent test, and nothing else.
    pub const TEST: StepOptions = StepOptions {
        test: true,
        capture: false,
    };
}

/// What is carried through all attempts at a step.
pub(crate) struct Context {
    pub(crate) options: StepOptions,
    pub(crate) budget: Budget,
    pub(crate) timer: Timer,
    /// The contact problem of the last solve, if it is to be captured.
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

/// Solves that do not converge, in a step with its halves: what is that hard goes on with a few
/// iterations in each solve, the gate, and no more halves.
const UNCONVERGED_SOLVES: usize = 3;

/// Attempts at a step, at most.
const ATTEMPTS: usize = 80;

/// The part of the iterations of a solve that is left when the budget is spent: 30 of 400 for
/// `admm`.
const FEW: (usize, usize) = (3, 40);

/// Iterations of the contact solver in a step: they are spent by solves that do not converge, and
/// by attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Budget {
    /// Of one solve, at most.
    solve: usize,
    left: usize,
}

impl Budget {
    fn new(solver: Option<&SolverEntry>) -> Budget {
        let solve = solver.map_or(ATTEMPTS, |entry| entry.iterations.in_step);
        Budget {
            solve,
            left: UNCONVERGED_SOLVES * solve,
        }
    }

    /// Begins an attempt at a step or at a part of it.
    pub(crate) fn begin_attempt(&mut self) {
        let attempt = UNCONVERGED_SOLVES * self.solve / ATTEMPTS;
        self.left = self.left.saturating_sub(attempt);
    }

    /// Whether no more attempts are worth it.
    pub(crate) fn is_spent(&self) -> bool {
        self.left == 0
    }

    /// The limits of the next solve.
    pub(crate) fn limits(&self, tolerance: f64) -> Limits {
        let few = FEW.0 * self.solve / FEW.1;
        Limits {
            tolerance,
            iterations: self.left.max(few).min(self.solve),
        }
    }

    /// Counts a solve.
    pub(crate) fn charge(&mut self, outcome: &Outcome) {
        if !outcome.is_converged {
            self.left = self.left.saturating_sub(outcome.iterations);
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

/// Measures phases, one after the other.
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

    /// The time since the last call was spent on a phase.
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

    /// What was measured so far.
    pub(crate) fn phases(&self) -> Phases {
        self.phases
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reefknot_contact::solve::admm;

    #[test]
    fn solves_that_do_not_converge_use_up_the_budget_and_others_do_not() {
        let mut budget = Budget::new(Some(&admm::ENTRY));
        let outcome = |is_converged: bool| Outcome {
            iterations: 400,
            is_converged,
            ..Outcome::default()
        };
        budget.begin_attempt();
        // An attempt takes 15 of 1200.
        assert_eq!(budget.left, 1185);
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
    fn no_more_than_eighty_attempts_are_made() {
        for entry in &reefknot_contact::solve::table::SOLVERS {
            let mut budget = Budget::new(Some(entry));
            let attempts = std::iter::repeat_with(|| budget.begin_attempt());
            let _ = attempts.take(ATTEMPTS).count();
            assert!(budget.is_spent(), "{}", entry.name);
        }
    }

    #[test]
    fn every_moment_belongs_to_one_phase() {
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
