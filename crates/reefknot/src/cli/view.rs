//! `reefknot view`, and the viewer of `reefknot run --view`.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use reefknot_sim::io::folder::RunFolder;
use reefknot_sim::io::status::{RunState, RunStatus};
use reefknot_sim::run::Observer;

use crate::cli::arguments::ViewArguments;
use crate::cli::progress::Terminal;
use crate::cli::serve::Server;
use crate::cli::{Failure, REFUSED, browser, say, warn};

/// Largest time between two requests of a visible page.
const VISIBLE_TIMEOUT: Duration = Duration::from_secs(5);
/// Largest time between two requests of a page in the background: browsers run its timers once a
/// minute.
const BACKGROUND_TIMEOUT: Duration = Duration::from_secs(90);
/// Interval at which the requests are checked.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

pub(crate) fn view(arguments: &ViewArguments) -> Result<u8, Failure> {
    let runs: Vec<PathBuf> = [Some(&arguments.run), arguments.other.as_ref()]
        .into_iter()
        .flatten()
        .cloned()
        .collect();
    for run in &runs {
        readable_status(run)?;
    }
    let server = Server::start(&runs, arguments.port, None)
        .map_err(|error| Failure::refused(cannot_listen(arguments.port, &error)))?;
    let names: Vec<String> = runs.iter().map(|run| run.display().to_string()).collect();
    say(&invitation(&names.join(" and "), &server));
    let hint = browser::remote_hint(server.port());
    let tell = hint.clone();
    let is_wanted = !arguments.no_open;
    let is_open = is_wanted && browser::open(&server.address(), move || say(&tell));
    if !browser::has_display() || is_wanted && !is_open {
        say(&hint);
    }
    say("press Ctrl-C to stop the viewer");
    loop {
        std::thread::park();
    }
}

/// Status of a run; a failure if it has no frames to show and is not being computed.
pub(crate) fn readable_status(run: &Path) -> Result<RunStatus, Failure> {
    let name = run.display();
    let folder = RunFolder::new(run);
    let status = RunStatus::read(&folder, false);
    let message = status.message.as_deref().unwrap_or_default();
    let refuse = |advice: &str| Err(Failure::refused(format!("{message}; {advice}")));
    match status.state {
        RunState::Running | RunState::Finished | RunState::Stopped => Ok(status),
        // The run has just started.
        RunState::Empty if folder.is_being_written() => Ok(status),
        RunState::Empty if run.is_file() => refuse("give the folder that contains it"),
        RunState::Empty => refuse(&format!(
            "`reefknot run flag --out {name}` creates a run there"
        )),
        RunState::Foreign => match run_within(run) {
            Some(within) => refuse(&format!("{} is a run", within.display())),
            None => refuse("give the folder of a run, such as runs/flag"),
        },
        RunState::Gone | RunState::Damaged => Err(Failure::refused(message)),
    }
}

/// First run in a subfolder, for a hint if the parent folder is given instead of a run.
fn run_within(folder: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    let is_run = |path: &PathBuf| RunFolder::new(path).manifest().is_some();
    paths.into_iter().find(is_run)
}

fn invitation(runs: &str, server: &Server) -> String {
    format!("viewer of {runs}: {}", server.address())
}

fn cannot_listen(port: u16, error: &io::Error) -> String {
    let reason = match error.kind() {
        io::ErrorKind::AddrInUse => format!("port {port} is in use by another program"),
        _ => format!("cannot listen on port {port} of 127.0.0.1: {error}"),
    };
    format!("{reason}; give another --port, or omit it to use any free port")
}

/// Starts the viewer of a run that is being computed. If that fails, the run continues without it.
pub(crate) fn accompany(folder: &Path, quiet: bool) -> Option<Server> {
    match Server::start(&[folder.to_path_buf()], 0, None) {
        Ok(server) => {
            warn(&invitation(&folder.display().to_string(), &server));
            let hint = browser::remote_hint(server.port());
            let tell = move || {
                if !quiet {
                    warn(&hint);
                }
            };
            if !browser::open(&server.address(), tell.clone()) {
                tell();
            }
            Some(server)
        }
        Err(error) => {
            let reason = cannot_listen(0, &error);
            warn(&format!("note: {reason}; the run continues without a view"));
            None
        }
    }
}

/// Serves the viewer after the end of a run, as long as its page is open. Returns the result of the
/// run.
pub(crate) fn stay(
    result: Result<u8, Failure>,
    server: &Server,
    terminal: &Terminal,
) -> Result<u8, Failure> {
    let is_refused = matches!(&result, Err(failure) if failure.code == REFUSED);
    let is_watched = |timeout| server.idle().is_some_and(|idle| idle < timeout);
    // A signal that stopped the run also stops the viewer.
    let is_ended = || terminal.stop().is_some();
    if is_refused || is_ended() || !is_watched(VISIBLE_TIMEOUT) {
        return result;
    }
    let code = match result {
        Ok(code) => code,
        Err(failure) => failure.report(),
    };
    warn("the viewer runs while its page is open; press Ctrl-C to stop it");
    while is_watched(BACKGROUND_TIMEOUT) && !is_ended() {
        std::thread::sleep(POLL_INTERVAL);
    }
    Ok(code)
}
