//! The schedule of methods for a group of connected contacts.
//!
//! Newton's method starts from the state of each other method in turn, with an increasing number of
//! iterations in between. Its path has folds where the law has several solutions or nearly none, so
//! that no single start is good for all problems.

use glam::DVec3;

use super::least_squares::LeastSquares;
use super::lu::Lu;
use super::newton::Newton;
use super::scaled::Scaled;
use super::splitting::Splitting;
use super::sweeps;
use crate::law;
use crate::solve::SolveOutcome;

/// Sweeps at the start, at least; more if a factorization takes as long as several sweeps.
const FIRST_SWEEPS: usize = 10;

/// Sweeps of a restart, at most; more if a factorization takes as long as several sweeps.
const MAX_RESTART_SWEEPS: usize = 20;

/// Time of a floating-point operation in a sweep, relative to one in a factorization.
const SWEEP_COST_FACTOR: f64 = 10.0;

/// Sweeps at the start, at most.
const MAX_SWEEPS: usize = 2000;

/// Sweeps at the start end if a batch of them leaves more than this fraction of the error.
const MAX_SWEEP_ERROR_RATIO: f64 = 0.7;

/// Splitting iterations in the first round; each round has twice the number of the one before.
const FIRST_SPLITTING_ITERATIONS: usize = 20;

/// Least squares steps, at most.
const MAX_DESCENT_STEPS: usize = 60;

/// Least squares ends if a step leaves more than this fraction of the natural map.
const MAX_DESCENT_RATIO: f64 = 0.95;

/// Rounds of splitting and restarts.
const MAX_ROUNDS: usize = 7;

/// Sweeps, or splitting iterations, between two computations of the error.
const CHECK_INTERVAL: usize = 5;

/// Newton steps from one start, at most.
const MAX_NEWTON_STEPS: usize = 200;

/// Newton steps end if this number of them does not halve the error.
const MAX_STALLED_STEPS: usize = 30;

/// Initial ε, relative to the error times the mean impulse.
const INITIAL_SMOOTHING: f64 = 0.1;

/// Factor on ε when the residual is below it, after a full step; its square root after a shorter
/// step.
const SMOOTHING_DECREASE: f64 = 0.2;

/// Factor on ε after a step shorter than [`SHORT_STEP`].
const SMOOTHING_INCREASE: f64 = 4.0;
const SHORT_STEP: f64 = 0.1;

/// The smallest ε. Below it, rounding dominates.
const MIN_SMOOTHING: f64 = 1e-12;

/// A restart sets the impulse of a contact to zero if its residual is above this fraction of the
/// largest one.
const RESET_FRACTION: f64 = 0.3;

/// Floating-point operations, at most; less than a minute. Large problems have fewer rounds.
const MAX_OPERATIONS: f64 = 4e11;

/// State of the search. Methods that return a `bool` return whether the search is over.
pub(super) struct Search<'a> {
    problem: &'a Scaled,
    tolerance: f64,
    lu: Lu,
    outcome: SolveOutcome,
    best: Vec<DVec3>,
    /// Error of the best impulses.
    error: f64,
    /// Floating-point operations of least squares so far.
    descent_operations: f64,
}

impl<'a> Search<'a> {
    /// Searches impulses within a tolerance, from a start. Returns the best impulses.
    pub(super) fn run(
        problem: &'a Scaled,
        tolerance: f64,
        start: Vec<DVec3>,
    ) -> (SolveOutcome, Vec<DVec3>) {
        let best = problem.projected(&start);
        let error = problem.error(&best, &problem.velocities(&best));
        let mut outcome = SolveOutcome {
            is_converged: error <= tolerance,
            ..SolveOutcome::default()
        };
        if outcome.is_converged {
            return (outcome, best);
        }
        let Some(lu) = Lu::new(&problem.operator) else {
            return (outcome, best);
        };
        let mut search = Self {
            problem,
            tolerance,
            lu,
            outcome,
            best,
            error,
            descent_operations: 0.0,
        };
        search.run_schedule(start);
        outcome = search.outcome;
        outcome.is_converged = search.error <= tolerance;
        (outcome, search.best)
    }

    /// All methods in turn, until the search is over.
    fn run_schedule(&mut self, start: Vec<DVec3>) {
        let mut swept = start.clone();
        if self.sweep_first(&mut swept) || self.newton_from_impulses(&swept) {
            return;
        }
        let mut splitting = Splitting::new(start);
        for round in 0..MAX_ROUNDS {
            let iterations = FIRST_SPLITTING_ITERATIONS << round;
            if self.split(&mut splitting, iterations)
                || self.newton(&splitting.impulses, &splitting.multipliers, None)
            {
                return;
            }
            let is_over = if round == 0 {
                self.newton_from_centre()
            } else {
                self.restart(iterations / 2, round % 2 == 1)
            };
            if is_over || self.descend() {
                return;
            }
            self.update_splitting(&mut splitting);
        }
    }

    /// The sweeps at the start: a few; or, if factorizations are expensive, batches that take as
    /// long as a factorization, while the error decreases.
    fn sweep_first(&mut self, impulses: &mut [DVec3]) -> bool {
        let affordable = self.affordable_sweeps();
        if affordable <= FIRST_SWEEPS {
            return self.sweep(FIRST_SWEEPS, false, impulses);
        }
        for _ in 0..MAX_SWEEPS / affordable {
            let before = self.error;
            if self.sweep(affordable, false, impulses) {
                return true;
            }
            if self.error > MAX_SWEEP_ERROR_RATIO * before {
                break;
            }
        }
        false
    }

    /// Counts an iteration and its products with W.
    fn count(&mut self, products: usize) {
        self.outcome.iterations += 1;
        self.outcome.products += products;
    }

    /// Number of sweeps that take about as long as a factorization.
    fn affordable_sweeps(&self) -> usize {
        let operator = &self.problem.operator;
        let sweep = 18.0 * operator.stored() as f64 + 300.0 * operator.rows() as f64;
        (self.lu.operations() / (SWEEP_COST_FACTOR * sweep)).min(0.1 * MAX_SWEEPS as f64) as usize
    }

    /// Whether the tolerance is reached, or the limit of operations.
    fn is_over(&self) -> bool {
        self.error <= self.tolerance || self.lu.spent() + self.descent_operations > MAX_OPERATIONS
    }

    /// Keeps impulses, projected on their cones, if their error is the smallest so far. Returns
    /// the error.
    fn offer(&mut self, impulses: &[DVec3]) -> f64 {
        let impulses = self.problem.projected(impulses);
        let error = (self.problem).error(&impulses, &self.problem.velocities(&impulses));
        if error < self.error {
            self.error = error;
            self.best = impulses;
        }
        error
    }

    /// Gauss-Seidel sweeps.
    fn sweep(&mut self, count: usize, is_backward: bool, impulses: &mut [DVec3]) -> bool {
        let contacts = 0..impulses.len();
        for k in 1..=count {
            if is_backward {
                sweeps::sweep(self.problem, contacts.clone().rev(), impulses);
            } else {
                sweeps::sweep(self.problem, contacts.clone(), impulses);
            }
            self.count(1);
            if k % CHECK_INTERVAL == 0 || k == count {
                self.offer(impulses);
                if self.is_over() {
                    return true;
                }
            }
        }
        false
    }

    /// Splitting iterations.
    fn split(&mut self, splitting: &mut Splitting, count: usize) -> bool {
        splitting.invalidate_factors();
        for k in 1..=count {
            if splitting.iterate(self.problem, &mut self.lu).is_none() {
                return self.is_over();
            }
            self.count(1);
            if k % CHECK_INTERVAL == 0 {
                self.offer(&splitting.impulses);
                if self.is_over() {
                    return true;
                }
            }
        }
        false
    }

    /// Newton's method from impulses, with ũ of their velocities.
    fn newton_from_impulses(&mut self, impulses: &[DVec3]) -> bool {
        let associated = self.associated(impulses);
        self.newton(impulses, &associated, None)
    }

    /// Newton's method from the axes of all cones.
    fn newton_from_centre(&mut self) -> bool {
        let frictions = self.problem.friction.iter();
        let impulses: Vec<DVec3> = frictions.clone().map(|mu| DVec3::X / mu.max(0.1)).collect();
        let associated: Vec<DVec3> = frictions.map(|mu| DVec3::X * *mu).collect();
        self.newton(&impulses, &associated, Some(1.0))
    }

    /// Newton's method from impulses and ũ. The initial ε follows from the error of the impulses if
    /// it is not given.
    fn newton(&mut self, impulses: &[DVec3], associated: &[DVec3], smoothing: Option<f64>) -> bool {
        let problem = self.problem;
        let size = (problem.contacts() as f64).sqrt();
        let smoothing = smoothing.unwrap_or_else(|| {
            let error = problem.error(impulses, &problem.velocities(impulses));
            let squares = impulses.iter().map(|r| r.length_squared());
            let mean = squares.sum::<f64>().sqrt() / size;
            (INITIAL_SMOOTHING * error.min(1.0) * mean).max(MIN_SMOOTHING)
        });
        let mut newton = Newton::new(problem, impulses, associated, smoothing);
        let (mut lowest, mut stalled) = (f64::INFINITY, 0);
        for _ in 0..MAX_NEWTON_STEPS {
            let Some(length) = newton.step(&mut self.lu) else {
                break;
            };
            self.count(2);
            let found = newton.impulses();
            let error = self.offer(&found);
            let error = error.min(problem.error(&found, newton.contact_velocities()));
            if self.is_over() {
                return true;
            }
            stalled += 1;
            if error < 0.5 * lowest {
                (lowest, stalled) = (error, 0);
            }
            if stalled >= MAX_STALLED_STEPS {
                break;
            }
            if newton.residual() < newton.smoothing * size {
                newton.smoothing *= if length == 1.0 {
                    SMOOTHING_DECREASE
                } else {
                    SMOOTHING_DECREASE.sqrt()
                };
            }
            if length < SHORT_STEP {
                newton.smoothing *= SMOOTHING_INCREASE;
            }
            newton.smoothing = newton.smoothing.max(MIN_SMOOTHING);
        }
        self.is_over()
    }

    /// Sweeps from the best impulses without those of the largest residuals, then Newton's method:
    /// impulses with a small error may be far from a solution.
    fn restart(&mut self, count: usize, is_backward: bool) -> bool {
        let mut impulses = self.best.clone();
        let velocities = self.problem.velocities(&impulses);
        let residuals: Vec<f64> = (0..impulses.len())
            .map(|c| {
                let mu = self.problem.friction[c];
                law::natural_map(mu, velocities[c], impulses[c], 1.0).length()
            })
            .collect();
        let largest = residuals
            .iter()
            .fold(0.0, |largest: f64, x| largest.max(*x));
        for (r, residual) in impulses.iter_mut().zip(residuals) {
            if residual > RESET_FRACTION * largest {
                *r = DVec3::ZERO;
            }
        }
        let sweeps = count.min(MAX_RESTART_SWEEPS);
        let sweeps = sweeps.max(self.affordable_sweeps());
        self.sweep(sweeps, is_backward, &mut impulses) || self.newton_from_impulses(&impulses)
    }

    /// Least squares from the best impulses.
    fn descend(&mut self) -> bool {
        let Some(mut least_squares) = LeastSquares::new(self.problem) else {
            return self.is_over();
        };
        let mut impulses = self.best.clone();
        for _ in 0..MAX_DESCENT_STEPS {
            let Some(ratio) = least_squares.step(&mut impulses) else {
                break;
            };
            self.descent_operations += least_squares.operations();
            self.count(1);
            self.offer(&impulses);
            if self.is_over() || ratio > MAX_DESCENT_RATIO {
                break;
            }
        }
        self.is_over()
    }

    /// Moves the splitting method to the best impulses if its own error is more than twice theirs.
    fn update_splitting(&self, splitting: &mut Splitting) {
        let own = &splitting.impulses;
        let error = self.problem.error(own, &self.problem.velocities(own));
        if self.error < 0.5 * error {
            splitting.impulses = self.best.clone();
            splitting.multipliers = self.associated(&self.best);
        }
    }

    /// ũ of impulses.
    fn associated(&self, impulses: &[DVec3]) -> Vec<DVec3> {
        let velocities = self.problem.velocities(impulses);
        let contacts = velocities.iter().zip(&self.problem.friction);
        contacts.map(|(u, mu)| law::associated(*mu, *u)).collect()
    }
}
