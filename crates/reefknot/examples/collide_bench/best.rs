//! The best of several measurements.

use std::time::{Duration, Instant};

use reefknot::machine;
use serde_json::{Value, json};

/// Repetitions, of which the best counts.
const RUNS: usize = 10;

/// Runs something on a number of threads.
///
/// # Errors
/// If they cannot be had.
pub(crate) fn on<T: Send>(threads: usize, run: impl FnOnce() -> T + Send) -> Result<T, String> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
    let pool = pool.build().map_err(|error| error.to_string())?;
    Ok(pool.install(run))
}

/// The shortest time by the clock and by the processor, in ms.
pub(crate) struct Best {
    pub(crate) clock: f64,
    processor: f64,
}

impl Best {
    pub(crate) fn of(run: impl FnMut()) -> Best {
        Best::of_runs(RUNS, run)
    }

    pub(crate) fn of_runs(runs: usize, mut run: impl FnMut()) -> Best {
        let mut best = Best {
            clock: f64::INFINITY,
            processor: f64::INFINITY,
        };
        let milliseconds = |time: Duration| 1e3 * time.as_secs_f64();
        for _ in 0..runs {
            let (start, used) = (Instant::now(), machine::processor_time());
            run();
            best.clock = best.clock.min(milliseconds(start.elapsed()));
            let used = used.zip(machine::processor_time());
            let used = used.map_or(f64::NAN, |(before, after)| milliseconds(after - before));
            best.processor = best.processor.min(used);
        }
        best
    }

    pub(crate) fn json(&self) -> Value {
        let round = |time: f64| (100.0 * time).round() / 100.0;
        json!({ "ms": round(self.clock), "cpu_ms": round(self.processor) })
    }
}
