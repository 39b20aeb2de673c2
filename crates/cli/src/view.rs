//! `reefknot view`, and the server beside a run.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use reefknot::io::folder::RunFolder;
use reefknot::io::status::{RunState, RunStatus};
use reefknot::run::Watcher;

use crate::arguments::ViewArguments;
use crate::progress::Terminal;
use crate::serve::Server;
use crate::{Failure, REFUSED, browser, say};

/// A page that is open asks more often than this, unless it is in the background.
const JUST_NOW: Duration = Duration::from_secs(5);
/// Pages in the background may do something once a minute.
const LONG_AGO: Duration = Duration::from_secs(90);
/// How often to see whether somebody still looks.
const PAUSE: Duration = Duration::from_millis(100);

pub(crate) fn view(arguments: &ViewArguments) -> Result<u8, Failure> {
    let runs: Vec<PathBuf> = [Some(&arguments.run), arguments.other.as_ref()]
        .into_iter()
        .flatten()
        .cloned()
        .collect();
    for run in &runs {
        look(run)?;
    }
    let server = Server::start(&runs, arguments.port, None)
        .map_err(|error| Failure::refused(cannot_listen(arguments.port, &error)))?;
    let names: Vec<String> = runs.iter().map(|run| run.display().to_string()).collect();
    say(&invitation(&names.join(" and "), &server));
    let hint = browser::from_afar(server.port());
    let tell = hint.clone();
    let is_wanted = !arguments.no_open;
    let is_open = is_wanted && browser::open(&server.address(), move || say(&tell));
    if !browser::has_display() || is_wanted && !is_open {
        say(&hint);
    }
    say("Ctrl-C ends it");
    let _ = io::stdout().flush();
    loop {
        std::thread::park();
    }
}

/// What is the matter with a run, unless there is nothing to see.
pub(crate) fn look(run: &Path) -> Result<RunStatus, Failure> {
    let name = run.display();
    let folder = RunFolder::new(run);
    let status = RunStatus::of(&folder, false);
    let message = status.message.as_deref().unwrap_or_default();
    let refuse = |advice: &str| Err(Failure::refused(format!("{message}; {advice}")));
    match status.state {
        RunState::Running | RunState::Finished | RunState::Stopped => Ok(status),
        // It will be there in a moment.
        RunState::Empty if folder.is_being_written() => Ok(status),
        RunState::Empty if run.is_file() => refuse("name the folder that it is in"),
        RunState::Empty => refuse(&format!(
            "`reefknot run flag --out {name}` makes a run there"
        )),
        RunState::Foreign => match run_within(run) {
            Some(within) => refuse(&format!("{} holds one", within.display())),
            None => refuse("name the folder of a run, such as runs/flag"),
        },
        RunState::Gone | RunState::Damaged => Err(Failure::refused(message)),
    }
}

/// A run in a folder of this one, for those who name the folder of all runs.
fn run_within(folder: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    let is_run = |path: &PathBuf| RunFolder::new(path).manifest().is_some();
    paths.into_iter().find(is_run)
}

fn invitation(runs: &str, server: &Server) -> String {
    format!("look at {runs}: {}", server.address())
}

fn cannot_listen(port: u16, error: &io::Error) -> String {
    let reason = match error.kind() {
        io::ErrorKind::AddrInUse => format!("port {port} is in use by another program"),
        _ => format!("cannot listen on port {port} of 127.0.0.1: {error}"),
    };
    format!("{reason}; give another one with --port, or leave it out for any that is free")
}

/// Starts a server beside a run. The run does not depend on it.
pub(crate) fn accompany(folder: &Path, quiet: bool) -> Option<Server> {
    let mut stderr = io::stderr();
    match Server::start(&[folder.to_path_buf()], 0, None) {
        Ok(server) => {
            let line = invitation(&folder.display().to_string(), &server);
            let _ = writeln!(stderr, "{line}");
            let hint = browser::from_afar(server.port());
            let tell = move || {
                if !quiet {
                    let _ = writeln!(io::stderr(), "{hint}");
                }
            };
            if !browser::open(&server.address(), tell.clone()) {
                tell();
            }
            Some(server)
        }
        Err(error) => {
            let _ = writeln!(
                stderr,
                "note: {}; the run goes on without a view",
                cannot_listen(0, &error)
            );
            None
        }
    }
}

/// Serves on after the end of a run, for as long as somebody looks at it; gives what the run came to.
pub(crate) fn stay(
    result: Result<u8, Failure>,
    server: &Server,
    terminal: &Terminal,
) -> Result<u8, Failure> {
    let is_refused = matches!(&result, Err(failure) if failure.code == REFUSED);
    let is_watched = |patience| server.idle().is_some_and(|idle| idle < patience);
    // Who ended the run by a signal wants the end.
    let is_ended = || terminal.stop().is_some();
    if is_refused || is_ended() || !is_watched(JUST_NOW) {
        return result;
    }
    let code = match result {
        Ok(code) => code,
        Err(failure) => failure.report(),
    };
    let _ = io::stdout().flush();
    let line = "the picture stays while its page is open; Ctrl-C ends it";
    let _ = writeln!(io::stderr(), "{line}");
    while is_watched(LONG_AGO) && !is_ended() {
        std::thread::sleep(PAUSE);
    }
    Ok(code)
}
