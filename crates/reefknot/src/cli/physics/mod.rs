//! `reefknot check --physics`: the table of the validation scenes, for any solver and integrator.

mod page;
mod table;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use reefknot_sim::io::IoError;
use reefknot_sim::io::atomic::AtomicFile;
use reefknot_sim::machine;
use reefknot_sim::physics::{self, Case, Changes, Row, Status, Tally};
use reefknot_sim::run::{Observer, Stop};
use reefknot_sim::units::did_you_mean;
use serde::Serialize;

use crate::cli::check::CheckArguments;
use crate::cli::progress::{Terminal, clock};
use crate::cli::run::{INTERRUPTED, STOPPED};
use crate::cli::{FAILED, Failure, say, warn};

/// Result of the suite, as `--summary json` prints it.
#[derive(Debug, Serialize)]
struct Report {
    suite: &'static str,
    version: &'static str,
    isa: String,
    /// Solvers of the cases with contact, joined by commas.
    solver: String,
    /// Integrators of all cases, joined by commas.
    integrator: String,
    /// Changes by `--set`.
    changes: Vec<String>,
    rows: Vec<Row>,
    #[serde(flatten)]
    tally: Tally,
    wall_s: f64,
}

pub(crate) fn physics(arguments: &CheckArguments) -> Result<u8, Failure> {
    let began = Instant::now();
    let cases = selected(arguments)?;
    let mut terminal = Terminal::new(arguments.quiet)
        .map_err(|error| Failure::refused(format!("cannot handle signals: {error}")))?;
    let path = arguments.out.clone();
    let path = path.unwrap_or_else(|| PathBuf::from("physics.html"));
    let page = Page::create(&path)?;
    let changes = Changes {
        solver: arguments.solver.clone(),
        sets: arguments.sets.clone(),
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let workers = arguments.threads.map_or(cores, |threads| threads as usize);
    terminal.start_cases(cases.len());
    let outcomes = physics::run(&cases, &changes, workers, &mut |finished| {
        terminal.finish_cases(finished);
        terminal.stop().is_none()
    });
    terminal.finish();
    if let Some(stop) = terminal.stop() {
        warn("stopped; no page was written");
        return Ok(match stop {
            Stop::Interrupt => INTERRUPTED,
            Stop::Terminate | Stop::TimeLimit => STOPPED,
        });
    }
    let outcomes = cases.iter().zip(outcomes.iter().flatten());
    let mut rows: Vec<Row> = outcomes
        .flat_map(|(case, outcome)| physics::rows(case, outcome))
        .collect();
    rows.sort_by_key(|row| row.scene);
    let report = Report::new(rows, changes, began.elapsed().as_secs_f64());
    conclude(&report, page, arguments)
}

/// Prints and writes the report, and returns the exit code.
fn conclude(report: &Report, page: Page, arguments: &CheckArguments) -> Result<u8, Failure> {
    if report.tally.held + report.tally.failed == 0 {
        let first = report.rows.first().and_then(|row| row.reason.as_deref());
        let reason = first.unwrap_or_default();
        return Err(Failure::refused(format!("no case can run: {reason}")));
    }
    let path = page.write(report)?;
    if !arguments.quiet {
        table::lines(&report.rows).iter().for_each(|line| say(line));
        say(&format!("{}; {}", conclusion(report), path.display()));
    }
    if arguments.summary.is_some() {
        say(&serde_json::to_string(report).unwrap_or_default());
    }
    Ok(match report.tally.failed {
        0 => 0,
        _ => FAILED,
    })
}

/// Numbers of values, in a sentence.
fn conclusion(report: &Report) -> String {
    let Tally {
        held,
        failed,
        refused,
    } = report.tally;
    format!(
        "{held} of {} values agree with theory, {failed} do not, {refused} cannot run; {}",
        held + failed + refused,
        clock(report.wall_s)
    )
}

/// The cases that the arguments select.
fn selected(arguments: &CheckArguments) -> Result<Vec<Case>, Failure> {
    let names = physics::scenes();
    for name in &arguments.only {
        if !names.contains(&name.as_str()) {
            return Err(Failure::refused(format!(
                "--only: there is no validation scene `{name}`{}",
                did_you_mean(name, names.iter().copied())
            )));
        }
    }
    let is_meant = |case: &Case| {
        let is_named = arguments.only.iter().any(|name| name == case.scene);
        let is_quick = !(arguments.quick && case.is_long);
        (arguments.only.is_empty() || is_named) && is_quick
    };
    Ok(physics::cases().into_iter().filter(is_meant).collect())
}

impl Report {
    fn new(rows: Vec<Row>, changes: Changes, wall_s: f64) -> Report {
        let words = |word: fn(&Row) -> &str| {
            let ran = rows.iter().filter(|row| row.status != Status::Refused);
            let mut words: Vec<&str> = ran.map(word).filter(|word| *word != "none").collect();
            words.sort_unstable();
            words.dedup();
            words.join(",")
        };
        Report {
            suite: "physics",
            version: env!("CARGO_PKG_VERSION"),
            isa: machine::instruction_set(),
            solver: words(|row| &row.facts.solver),
            integrator: words(|row| &row.facts.integrator),
            changes: changes.sets,
            tally: Tally::of(&rows),
            rows,
            wall_s,
        }
    }
}

/// The page, which is created before the suite runs, so that a folder that cannot be written is
/// refused at once.
struct Page {
    path: PathBuf,
    file: AtomicFile,
    format: fn(&Report) -> String,
}

impl Page {
    fn create(path: &Path) -> Result<Page, Failure> {
        let ending = path.extension().and_then(|ending| ending.to_str());
        let format: fn(&Report) -> String = match ending {
            Some("html") => page::html,
            Some("md") => page::markdown,
            _ => {
                let path = path.display();
                let message = format!("--out {path}: expected a file that ends in .html or .md");
                return Err(Failure::refused(message));
            }
        };
        let file = AtomicFile::create(path);
        let file = file.map_err(|error| Failure::refused(error.message_outside_run()))?;
        Ok(Page {
            path: path.to_path_buf(),
            file,
            format,
        })
    }

    fn write(mut self, report: &Report) -> Result<PathBuf, Failure> {
        let text = (self.format)(report);
        let written = self.file.write_all(text.as_bytes());
        let written = written.map_err(|error| IoError::write(&self.path, error));
        let finished = written.and_then(|()| self.file.finish(false));
        finished.map_err(|error| Failure::of_export(&error))?;
        Ok(self.path)
    }
}
