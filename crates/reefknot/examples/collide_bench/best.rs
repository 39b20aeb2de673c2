//! Minimum times of several runs.

use std::time::{Duration, Instant};

use reefknot_sim::machine;
use serde_json::{Value, json};

/// Number of runs.
const RUNS: usize = 10;

/// Runs a function on a number of threads.
///
/// # Errors
/// If the threads cannot be started.
pub(crate) fn on_threads<T: Send>(
    threads: usize,
    run: impl FnOnce() -> T + Send,
) -> Result<T, String> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
    let pool = pool.build().map_err(|error| error.to_string())?;
    Ok(pool.install(run))
}

/// Minimum wall and CPU time (ms).
pub(crate) struct Best {
    pub(crate) wall: f64,
    cpu: f64,
}

impl Best {
    pub(crate) fn of(run: impl FnMut()) -> Best {
        Best::of_runs(RUNS, run)
    }

    pub(crate) fn of_runs(runs: usize, mut run: impl FnMut()) -> Best {
        let mut best = Best {
            wall: f64::INFINITY,
            cpu: f64::INFINITY,
        };
        let milliseconds = |time: Duration| 1e3 * time.as_secs_f64();
        for _ in 0..runs {
            let (start, used) = (Instant::now(), machine::processor_time());
            run();
            best.wall = best.wall.min(milliseconds(start.elapsed()));
            let used = used.zip(machine::processor_time());
            let used = used.map_or(f64::NAN, |(before, after)| milliseconds(after - before));
            best.cpu = best.cpu.min(used);
        }
        best
    }

    pub(crate) fn json(&self) -> Value {
        let round = |time: f64| (100.0 * time).round() / 100.0;
        json!({ "ms": round(self.wall), "cpu_ms": round(self.cpu) })
    }
}
