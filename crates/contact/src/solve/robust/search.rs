//! What is tried, in which order, for a group of connected contacts.
//!
//! Newton's method is tried from the state of every other method, in turn and with ever more iterations in between. Its path
//! has folds where the law has several solutions or nearly none, so that no single start serves all problems.

use glam::DVec3;

use super::least_squares::LeastSquares;
use super::lu::Lu;
use super::newton::Newton;
use super::scaled::Scaled;
use super::splitting::Splitting;
use super::sweeps;
use crate::law;
use crate::solve::Outcome;

/// Sweeps at least at first, and at most after a restart; more where a factorization takes as long as several of them.
const SWEEPS: [usize; 2] = [10, 20];

/// How many times slower the operations of sweeps are than those of factorizations, how many sweeps are made at most, and what a part of
/// them must make of the error for another one.
const SLOWNESS: f64 = 10.0;
const MOST_SWEEPS: usize = 2000;
const FALLING: f64 = 0.7;

/// Splitting iterations in the first round; each round has twice as many as the one before.
const SPLITTING: usize = 20;

/// Steps of least squares at most; they end when one does not make the map smaller by this.
const DESCENTS: usize = 60;
const PROGRESS: f64 = 0.95;

/// Rounds of splitting and restarts.
const ROUNDS: usize = 7;

/// Sweeps and splitting iterations between two looks at the error.
const LOOK: usize = 5;

/// Newton steps at most from one start, and such steps without half the error of before.
const STEPS: usize = 200;
const PATIENCE: usize = 30;

/// ε at first, in parts of the error times the mean impulse.
const SMOOTHING: f64 = 0.1;

/// ε is multiplied by this when the residual is as small, after a full step; by its root after a shorter one.
const SHARPEN: f64 = 0.2;

/// ε is multiplied by this after a step shorter than [`SHORT`].
const BLUR: f64 = 4.0;
const SHORT: f64 = 0.1;

/// The smallest ε: beyond, rounding rules.
const SHARPEST: f64 = 1e-12;

/// Contacts with at least such a part of the largest residual start anew in a restart.
const KICKED: f64 = 0.3;

/// Floating-point operations at most, less than a minute: large problems have fewer rounds.
const WORK: f64 = 4e11;

/// A search with its best impulses so far.
pub(super) struct Search<'a> {
    problem: &'a Scaled,
    tolerance: f64,
    lu: Lu,
    outcome: Outcome,
    best: Vec<DVec3>,
    /// Of the best impulses.
    error: f64,
    /// Floating-point operations of least squares so far.
    squares: f64,
}

impl<'a> Search<'a> {
    /// Seeks impulses within a tolerance from a start; returns the best found.
    pub(super) fn run(
        problem: &'a Scaled,
        tolerance: f64,
        start: Vec<DVec3>,
    ) -> (Outcome, Vec<DVec3>) {
        let best = problem.projected(&start);
        let error = problem.error(&best, &problem.velocities(&best));
        let mut outcome = Outcome {
            is_converged: error <= tolerance,
            ..Outcome::default()
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
            squares: 0.0,
        };
        search.seek(start);
        outcome = search.outcome;
        outcome.is_converged = search.error <= tolerance;
        (outcome, search.best)
    }

    fn seek(&mut self, start: Vec<DVec3>) {
        let mut swept = start.clone();
        if self.sweep_first(&mut swept) || self.polish_impulses(&swept) {
            return;
        }
        let mut splitting = Splitting::new(start);
        for round in 0..ROUNDS {
            let iterations = SPLITTING << round;
            if self.split(&mut splitting, iterations)
                || self.polish(&splitting.impulses, &splitting.multipliers, None)
            {
                return;
            }
            let is_over = match round {
                0 => self.polish_centre(),
                _ => self.restart(iterations / 2, round % 2 == 1),
            };
            if is_over || self.descend() {
                return;
            }
            self.help(&mut splitting);
        }
    }

    /// A few sweeps; where factorizations are dear, as many as they take and on for as long as the error falls.
    fn sweep_first(&mut self, impulses: &mut [DVec3]) -> bool {
        let affordable = self.affordable_sweeps();
        if affordable <= SWEEPS[0] {
            return self.sweep(SWEEPS[0], false, impulses);
        }
        for _ in 0..MOST_SWEEPS / affordable {
            let before = self.error;
            if self.sweep(affordable, false, impulses) {
                return true;
            }
            if self.error > FALLING * before {
                break;
            }
        }
        false
    }

    /// Counts an iteration, with what it does to all contacts.
    fn count(&mut self, products: usize) {
        self.outcome.iterations += 1;
        self.outcome.products += products;
    }

    /// Sweeps that take about as long as a factorization.
    fn affordable_sweeps(&self) -> usize {
        let operator = &self.problem.operator;
        let sweep = 18.0 * operator.stored() as f64 + 300.0 * operator.rows() as f64;
        (self.lu.operations() / (SLOWNESS * sweep)).min(0.1 * MOST_SWEEPS as f64) as usize
    }

    /// Whether there is nothing left to do: the tolerance is reached, or the work is spent.
    fn is_over(&self) -> bool {
        self.error <= self.tolerance || self.lu.spent() + self.squares > WORK
    }

    /// Remembers impulses with their velocities if they are the best so far. Their error.
    fn offer(&mut self, impulses: &[DVec3], velocities: &[DVec3]) -> f64 {
        let error = self.problem.error(impulses, velocities);
        if error < self.error {
            self.error = error;
            self.best = impulses.to_vec();
        }
        error
    }

    fn sweep(&mut self, count: usize, is_backward: bool, impulses: &mut [DVec3]) -> bool {
        let contacts = 0..impulses.len();
        for k in 1..=count {
            match is_backward {
                true => sweeps::sweep(self.problem, contacts.clone().rev(), impulses),
                false => sweeps::sweep(self.problem, contacts.clone(), impulses),
            }
            self.count(1);
            if k % LOOK == 0 || k == count {
                self.offer(impulses, &self.problem.velocities(impulses));
                if self.is_over() {
                    return true;
                }
            }
        }
        false
    }

    fn split(&mut self, splitting: &mut Splitting, count: usize) -> bool {
        splitting.forget_factors();
        for k in 1..=count {
            if splitting.iterate(self.problem, &mut self.lu).is_none() {
                return self.is_over();
            }
            self.count(1);
            if k % LOOK == 0 {
                let impulses = &splitting.impulses;
                self.offer(impulses, &self.problem.velocities(impulses));
                if self.is_over() {
                    return true;
                }
            }
        }
        false
    }

    /// Newton's method from impulses alone.
    fn polish_impulses(&mut self, impulses: &[DVec3]) -> bool {
        let associated = self.associated(impulses);
        self.polish(impulses, &associated, None)
    }

    /// Newton's method from the middle of all cones.
    fn polish_centre(&mut self) -> bool {
        let frictions = self.problem.friction.iter();
        let impulses: Vec<DVec3> = frictions.clone().map(|mu| DVec3::X / mu.max(0.1)).collect();
        let associated: Vec<DVec3> = frictions.map(|mu| DVec3::X * *mu).collect();
        self.polish(&impulses, &associated, Some(1.0))
    }

    /// Newton's method from impulses and ũ; ε by the error of the impulses if it is not given.
    fn polish(&mut self, impulses: &[DVec3], associated: &[DVec3], smoothing: Option<f64>) -> bool {
        let problem = self.problem;
        let size = (problem.contacts() as f64).sqrt();
        let smoothing = smoothing.unwrap_or_else(|| {
            let error = problem.error(impulses, &problem.velocities(impulses));
            let squares = impulses.iter().map(|r| r.length_squared());
            let mean = squares.sum::<f64>().sqrt() / size;
            (SMOOTHING * error.min(1.0) * mean).max(SHARPEST)
        });
        let mut newton = Newton::new(problem, impulses, associated, smoothing);
        let (mut lowest, mut waiting) = (f64::INFINITY, 0);
        for _ in 0..STEPS {
            let Some(length) = newton.step(&mut self.lu) else {
                break;
            };
            self.count(2);
            let found = newton.impulses();
            let projected = problem.projected(&found);
            let error = self
                .offer(&found, newton.driven())
                .min(self.offer(&projected, &problem.velocities(&projected)));
            if self.is_over() {
                return true;
            }
            waiting += 1;
            if error < 0.5 * lowest {
                (lowest, waiting) = (error, 0);
            }
            if waiting >= PATIENCE {
                break;
            }
            newton.smoothing *= match newton.residual() < newton.smoothing * size {
                true if length == 1.0 => SHARPEN,
                true => SHARPEN.sqrt(),
                false => 1.0,
            };
            if length < SHORT {
                newton.smoothing *= BLUR;
            }
            newton.smoothing = newton.smoothing.max(SHARPEST);
        }
        self.is_over()
    }

    /// Sweeps from the best impulses with those that fit worst taken away, then Newton's method: what is nearly a solution may
    /// be far from one.
    fn restart(&mut self, count: usize, is_backward: bool) -> bool {
        let mut impulses = self.problem.projected(&self.best);
        let velocities = self.problem.velocities(&impulses);
        let residuals: Vec<f64> = (0..impulses.len())
            .map(|c| {
                let mu = self.problem.friction[c];
                law::natural_map(mu, velocities[c], impulses[c], 1.0).length()
            })
            .collect();
        let most = residuals.iter().fold(0.0, |most: f64, x| most.max(*x));
        for (r, residual) in impulses.iter_mut().zip(residuals) {
            if residual > KICKED * most {
                *r = DVec3::ZERO;
            }
        }
        self.sweep(
            count.min(SWEEPS[1]).max(self.affordable_sweeps()),
            is_backward,
            &mut impulses,
        ) || self.polish_impulses(&impulses)
    }

    /// Least squares from the best impulses.
    fn descend(&mut self) -> bool {
        let Some(mut squares) = LeastSquares::new(self.problem) else {
            return self.is_over();
        };
        let mut impulses = self.best.clone();
        for _ in 0..DESCENTS {
            let Some(factor) = squares.step(&mut impulses) else {
                break;
            };
            self.squares += squares.operations();
            self.count(1);
            self.offer(&impulses, &self.problem.velocities(&impulses));
            if self.is_over() || factor > PROGRESS {
                break;
            }
        }
        self.is_over()
    }

    /// Takes the splitting method to the best impulses, if its own are much worse.
    fn help(&self, splitting: &mut Splitting) {
        let own = &splitting.impulses;
        let error = self.problem.error(own, &self.problem.velocities(own));
        if self.error < 0.5 * error {
            splitting.impulses = self.problem.projected(&self.best);
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
