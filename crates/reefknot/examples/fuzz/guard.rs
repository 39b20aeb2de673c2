//! Runs cases that may panic or hang, for all fuzzers.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Time limit of a case; beyond it the program aborts.
const HANG_LIMIT: Duration = Duration::from_secs(60);

/// Smallest stack of a main thread on any platform (bytes).
const STACK_SIZE: usize = 1 << 20;

/// Marks the end of all cases.
const NO_CASE: u64 = u64::MAX;

/// Records start and panic message of the current case.
pub(crate) struct Guard {
    current: Arc<(AtomicU64, Mutex<Instant>)>,
    message: Arc<Mutex<String>>,
}

/// Runs `cases` on a thread with a small stack, under a guard.
///
/// # Errors
/// If the thread cannot be started, or fails outside of a case.
pub(crate) fn run<T: Send>(cases: impl FnOnce(&Guard) -> T + Send) -> std::io::Result<T> {
    let message = Arc::new(Mutex::new(String::new()));
    let recorder = message.clone();
    let previous = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let mut first = recorder.lock().unwrap_or_else(PoisonError::into_inner);
        if first.is_empty() {
            *first = info.to_string();
        }
    }));
    let current = Arc::new((AtomicU64::new(0), Mutex::new(Instant::now())));
    let watched = current.clone();
    std::thread::spawn(move || watch(&watched));
    let guard = Guard { current, message };
    let result = std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().stack_size(STACK_SIZE);
        let worker = builder.spawn_scoped(scope, || cases(&guard))?;
        let failed = |_| std::io::Error::other("the fuzzer itself failed");
        worker.join().map_err(failed)
    });
    guard.current.0.store(NO_CASE, Ordering::Relaxed);
    std::panic::set_hook(previous);
    result
}

impl Guard {
    /// Runs one case; returns its duration, and the message of its panic.
    pub(crate) fn case(&self, case: u64, run: impl FnOnce()) -> (Duration, Option<String>) {
        self.current.0.store(case, Ordering::Relaxed);
        let start = Instant::now();
        let lock = |mutex| Mutex::lock(mutex).unwrap_or_else(PoisonError::into_inner);
        *lock(&self.current.1) = start;
        let result = catch_unwind(AssertUnwindSafe(run));
        let taken = start.elapsed();
        let message = self.message.lock();
        let mut message = message.unwrap_or_else(PoisonError::into_inner);
        let panic = result.err().map(|_| std::mem::take(&mut *message));
        (taken, panic)
    }
}

/// Aborts the program if a case hangs: a thread cannot be stopped.
fn watch(current: &(AtomicU64, Mutex<Instant>)) {
    loop {
        std::thread::sleep(Duration::from_millis(500));
        let case = current.0.load(Ordering::Relaxed);
        if case == NO_CASE {
            return;
        }
        let start = *current.1.lock().unwrap_or_else(PoisonError::into_inner);
        if start.elapsed() > HANG_LIMIT {
            eprintln!("case {case} hangs");
            std::process::abort();
        }
    }
}
