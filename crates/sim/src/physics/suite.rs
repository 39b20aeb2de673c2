//! All cases, several at a time, and the rows of the result.
//!
//! A case runs on one thread: its result is the same for any number, and two cases side by side use
//! two cores better than two threads in one.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use serde::Serialize;

use super::{Case, Changes, Check, Facts, Outcome, Unmeasured, measure};

/// How often the caller can stop the suite.
const POLL: Duration = Duration::from_millis(100);

/// Runs cases on `workers` threads. `proceed` is called with the number of finished cases, at
/// intervals; the suite stops when it returns false. The outcome of a case that was not started is
/// `None`.
pub fn run(
    cases: &[Case],
    changes: &Changes,
    workers: usize,
    proceed: &mut dyn FnMut(usize) -> bool,
) -> Vec<Option<Outcome>> {
    let stop = AtomicBool::new(false);
    let next = AtomicUsize::new(0);
    let mut outcomes: Vec<Option<Outcome>> = vec![None; cases.len()];
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..workers.clamp(1, cases.len().max(1)) {
            let (sender, stop, next) = (sender.clone(), &stop, &next);
            scope.spawn(move || {
                let is_stopped = || stop.load(Ordering::Relaxed);
                while !is_stopped() {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(case) = cases.get(index) else { break };
                    let outcome = on_one_thread(|| measure(case, changes, &is_stopped));
                    if sender.send((index, outcome)).is_err() {
                        break;
                    }
                }
            });
        }
        // The loop ends when the last worker has dropped its sender.
        drop(sender);
        let mut finished = 0;
        loop {
            match receiver.recv_timeout(POLL) {
                Ok((index, outcome)) => {
                    outcomes[index] = Some(outcome);
                    finished += 1;
                }
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
            }
            if !proceed(finished) {
                stop.store(true, Ordering::Relaxed);
            }
        }
    });
    outcomes
}

/// Runs a function in a pool of one thread; in the current pool, if no thread can be started.
fn on_one_thread<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    match rayon::ThreadPoolBuilder::new().num_threads(1).build() {
        Ok(pool) => pool.install(work),
        Err(_) => work(),
    }
}

/// Whether a value agrees with theory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Within its tolerance.
    Held,
    /// Not within its tolerance, or not measured because a step failed.
    Failed,
    /// The scene cannot run with these changes.
    Refused,
}

/// One value of the suite: a probe of a case.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Name of the scene in `scenes/validation`.
    pub scene: &'static str,
    /// `KEY=VALUE` of the case.
    pub set: Vec<String>,
    /// The theory.
    pub theory: &'static str,
    /// Name of the probe.
    pub probe: &'static str,
    /// Its value, or the rate of its convergence.
    pub found: Option<f64>,
    /// The expected value, or the limit.
    pub expected: f64,
    /// The tolerance; null for a limit.
    pub tolerance: Option<f64>,
    /// Meaning of the tolerance: "relative" or "absolute"; or "above" the expected value, or
    /// "order above" it.
    pub bound: &'static str,
    /// Whether it holds.
    pub holds: bool,
    /// The same, with refusals.
    pub status: Status,
    /// Why the value is refused, was not measured, or does not count.
    pub reason: Option<String>,
    /// Facts of the run.
    #[serde(flatten)]
    pub facts: Facts,
}

/// Number of rows by status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Rows that hold.
    pub held: usize,
    /// Rows that do not.
    pub failed: usize,
    /// Rows that were refused.
    pub refused: usize,
}

impl Tally {
    /// Counts rows.
    #[must_use]
    pub fn of(rows: &[Row]) -> Tally {
        let count = |status| rows.iter().filter(|row| row.status == status).count();
        Tally {
            held: count(Status::Held),
            failed: count(Status::Failed),
            refused: count(Status::Refused),
        }
    }
}

/// The rows of a case.
#[must_use]
pub fn rows(case: &Case, outcome: &Outcome) -> Vec<Row> {
    let row = |check: &Check| row(case, check, outcome);
    case.checks.iter().map(row).collect()
}

fn row(case: &Case, check: &Check, outcome: &Outcome) -> Row {
    let (found, status, reason) = match &outcome.measured {
        Ok(measured) => {
            let value = measured.probes[check.probe].as_f64();
            let coarser = measured.coarser[check.probe].as_f64();
            let found = value.map(|value| check.expected.found(value, coarser.unwrap_or(f64::NAN)));
            let intersections = outcome.facts.intersections.unwrap_or(0);
            let reason = match found {
                None => Some("the probe has no value".to_owned()),
                Some(_) if intersections > 0 => Some(format!("{intersections} intersections")),
                Some(_) => None,
            };
            let holds = found.is_some_and(|found| check.expected.holds(found));
            let is_held = holds && reason.is_none();
            let status = if is_held {
                Status::Held
            } else {
                Status::Failed
            };
            (found, status, reason)
        }
        Err(Unmeasured::Refused(reason)) => (None, Status::Refused, Some(reason.clone())),
        Err(Unmeasured::Failed(reason)) => (None, Status::Failed, Some(reason.clone())),
        Err(Unmeasured::Stopped) => (None, Status::Failed, Some("stopped".to_owned())),
    };
    let (bound, expected, tolerance) = check.expected.parts();
    Row {
        scene: case.scene,
        set: case.sets.clone(),
        theory: case.theory,
        probe: check.probe,
        found,
        expected,
        tolerance,
        bound,
        holds: status == Status::Held,
        status,
        reason,
        facts: outcome.facts.clone(),
    }
}
