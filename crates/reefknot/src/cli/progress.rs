//! Progress of a run on standard error: one line that is redrawn on a terminal, otherwise a new
//! line at intervals. A thread prints it, so it also appears during long steps.

use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use reefknot_sim::run::{Observer, Progress, Stop};
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::cli::warn;

/// Interval of lines if standard error is not a terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(10);
/// Interval at which the line is redrawn on a terminal.
const REDRAW_INTERVAL: Duration = Duration::from_millis(200);

/// Observer of a run that prints progress and handles signals.
pub(crate) struct Terminal {
    quiet: bool,
    signal: Arc<AtomicUsize>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    status: Mutex<Status>,
    wake: Condvar,
}

#[derive(Default)]
struct Status {
    done: bool,
    /// Name of a counted unit: a step, or a case of the physics suite.
    unit: Unit,
    first: u64,
    step: u64,
    steps: u64,
    contacts: u64,
    error: Option<f64>,
    began: Option<Instant>,
}

#[derive(Clone, Copy, Default)]
enum Unit {
    #[default]
    Step,
    Case,
}

impl Terminal {
    /// Registers handlers of Ctrl-C and SIGTERM. A second signal ends the program at once.
    pub(crate) fn new(quiet: bool) -> std::io::Result<Terminal> {
        let signal = Arc::new(AtomicUsize::new(0));
        let once = Arc::new(AtomicBool::new(false));
        for (number, code) in [(SIGINT, 130), (SIGTERM, 75)] {
            signal_hook::flag::register_conditional_shutdown(number, code, once.clone())?;
            signal_hook::flag::register(number, once.clone())?;
            signal_hook::flag::register_usize(number, signal.clone(), number as usize)?;
        }
        Ok(Terminal {
            quiet,
            signal,
            shared: Arc::default(),
            thread: None,
        })
    }

    /// Begins to print the progress of a number of cases.
    pub(crate) fn start_cases(&mut self, cases: usize) {
        self.start(0, cases as u64);
        self.update(|status| status.unit = Unit::Case);
    }

    /// Sets the number of finished cases.
    pub(crate) fn finish_cases(&self, finished: usize) {
        self.update(|status| status.step = finished as u64);
    }

    /// Stops printing and clears the line.
    pub(crate) fn finish(&mut self) {
        self.update(|status| status.done = true);
        self.shared.wake.notify_all();
        if let Some(thread) = self.thread.take() {
            // A panic of the printing thread does not fail the run.
            let _ = thread.join();
        }
    }

    fn update(&self, change: impl FnOnce(&mut Status)) {
        let mut status = self
            .shared
            .status
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        change(&mut status);
    }
}

impl Observer for Terminal {
    fn note(&mut self, sentence: &str) {
        if !self.quiet {
            warn(&format!("note: {sentence}"));
        }
    }

    fn start(&mut self, step: u64, steps: u64) {
        self.update(|status| {
            *status = Status {
                first: step,
                step,
                steps,
                began: Some(Instant::now()),
                ..Status::default()
            };
        });
        if !self.quiet {
            let shared = self.shared.clone();
            self.thread = std::thread::Builder::new()
                .name("progress".into())
                .spawn(move || draw(&shared))
                .ok();
        }
    }

    fn progress(&mut self, progress: &Progress<'_>) {
        let report = progress.report;
        let errors = [report.contact_error_m, report.momentum_error_m];
        let error = errors.into_iter().flatten().fold(0.0, f64::max);
        self.update(|status| {
            status.step = progress.step;
            status.contacts = report.contacts;
            status.error = Some(error);
        });
    }

    fn stop(&self) -> Option<Stop> {
        match self.signal.load(Ordering::Relaxed) as i32 {
            SIGINT => Some(Stop::Interrupt),
            SIGTERM => Some(Stop::Terminate),
            _ => None,
        }
    }
}

fn draw(shared: &Shared) {
    let terminal = std::io::stderr().is_terminal();
    let pause = if terminal {
        REDRAW_INTERVAL
    } else {
        LINE_INTERVAL
    };
    let mut status = shared.status.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        // `done` may be set before the wait begins.
        let (next, _) = shared
            .wake
            .wait_timeout_while(status, pause, |status| !status.done)
            .unwrap_or_else(PoisonError::into_inner);
        status = next;
        // A closed standard error does not stop the run.
        let mut stderr = std::io::stderr();
        let _ = match (terminal, status.done) {
            (true, true) => write!(stderr, "\r\x1b[K"),
            (true, false) => write!(stderr, "\r\x1b[K{}", line(&status)),
            (false, true) => Ok(()),
            (false, false) => writeln!(stderr, "{}", line(&status)),
        };
        let _ = stderr.flush();
        if status.done {
            return;
        }
    }
}

fn line(status: &Status) -> String {
    let percent = 100 * status.step / status.steps.max(1);
    let elapsed = status.began.map_or(Duration::ZERO, |began| began.elapsed());
    let done = status.step - status.first;
    let left = if done == 0 {
        "...".to_owned()
    } else {
        let rate = elapsed.as_secs_f64() / done as f64;
        clock((status.steps - status.step) as f64 * rate)
    };
    let contacts = match status.contacts {
        0 => String::new(),
        count => format!("{count} contacts  "),
    };
    let unit = match status.unit {
        Unit::Step => "step",
        Unit::Case => "case",
    };
    let error = status.error.map(|error| format!("error {error:.0e} m  "));
    let error = error.unwrap_or_default();
    let (step, steps) = (status.step, status.steps);
    format!("{percent:3}%  {unit} {step} of {steps}  {contacts}{error}{left} left")
}

/// Seconds as text with a suitable unit.
pub(crate) fn clock(seconds: f64) -> String {
    match seconds {
        s if s < 0.01 => format!("{:.2} ms", 1e3 * s),
        s if s < 1.0 => format!("{:.0} ms", 1e3 * s),
        s if s < 60.0 => format!("{s:.1} s"),
        s if s < 3600.0 => format!("{:.0} min {:.0} s", (s / 60.0).floor(), (s % 60.0).floor()),
        s => format!(
            "{:.0} h {:.0} min",
            (s / 3600.0).floor(),
            (s % 3600.0 / 60.0).floor()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_ends_at_once_does_not_wait_for_the_next_line() {
        let began = Instant::now();
        for _ in 0..300 {
            let mut terminal = Terminal {
                quiet: false,
                signal: Arc::default(),
                shared: Arc::default(),
                thread: None,
            };
            terminal.start(0, 1);
            terminal.finish();
            assert!(began.elapsed() < LINE_INTERVAL);
        }
    }

    #[test]
    fn a_line_has_a_percentage_and_comes_at_least_every_30_seconds() {
        assert!(LINE_INTERVAL <= Duration::from_secs(30));
        let mut status = Status {
            step: 7,
            steps: 100,
            ..Status::default()
        };
        assert!(line(&status).starts_with("  7%  step 7 of 100"));
        assert!(!line(&status).contains("contacts"));
        (status.contacts, status.error) = (12, Some(3e-7));
        assert!(line(&status).contains("  12 contacts  error 3e-7 m  "));
        // Before the first step, and in a run without steps.
        (status.step, status.steps) = (0, 0);
        assert!(line(&status).contains("  0%"));
    }
}
