//! The `reefknot` command: parses arguments, calls the simulator and prints results.

mod arguments;
mod browser;
mod check;
mod export;
mod html;
mod output;
mod physics;
mod progress;
mod render;
mod run;
mod serve;
mod solve;
mod view;

use clap::Parser;
use reefknot_sim::io::IoError;
use reefknot_sim::scene::load::LoadError;
use reefknot_sim::scene::problem::Problems;
use reefknot_sim::scene::{self, Scene, SceneRequest, shipped};
use std::ffi::OsString;
use std::io::{IsTerminal, Write};

use arguments::{Arguments, Command};
pub(crate) use output::{say, warn};

/// Exit code: a step, a solver or a certificate failed.
pub(crate) const FAILED: u8 = 1;
/// Exit code: scene or arguments are refused before the first step.
pub(crate) const REFUSED: u8 = 2;

/// Error message with exit code.
pub(crate) struct Failure {
    pub(crate) code: u8,
    pub(crate) message: String,
    /// Whether the message is a rendered report, complete with head and colours.
    is_rendered: bool,
}

impl Failure {
    pub(crate) fn new(code: u8, message: impl Into<String>) -> Failure {
        Failure {
            code,
            message: message.into(),
            is_rendered: false,
        }
    }

    pub(crate) fn refused(message: impl Into<String>) -> Failure {
        Failure::new(REFUSED, message)
    }

    pub(crate) fn failed(error: impl std::fmt::Display) -> Failure {
        Failure::new(FAILED, error.to_string())
    }

    /// Failure to write a file outside of a run folder.
    pub(crate) fn of_export(error: &IoError) -> Failure {
        Failure::failed(error.message_outside_run())
    }

    /// Prints the message and returns the exit code.
    pub(crate) fn report(&self) -> u8 {
        if self.is_rendered {
            let _ = writeln!(std::io::stderr(), "{}", self.message);
        } else {
            // Reports of a scene inside a run have their own head.
            let head = if self.message.starts_with("error") {
                ""
            } else {
                "error: "
            };
            warn(&format!("{head}{}", self.message));
        }
        self.code
    }
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Failure {
        match error {
            LoadError::Mistakes(problems) => problems.into(),
            other => Failure::refused(other.to_string()),
        }
    }
}

impl From<Problems> for Failure {
    fn from(problems: Problems) -> Failure {
        Failure {
            is_rendered: true,
            ..Failure::refused(problems.render(std::io::stderr().is_terminal()))
        }
    }
}

/// Runs the command with these arguments, the name of the program first, and returns its exit code.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let arguments = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        // Help and version are printed to standard output, with exit code 0.
        Err(message) => {
            let printed = message.print();
            return if printed.is_err() {
                FAILED
            } else {
                message.exit_code() as u8
            };
        }
    };
    let result = match arguments.command {
        Command::Run(arguments) => run::run(&arguments),
        Command::Scenes { print } => scenes(print.as_deref()),
        Command::Schema { markdown } => {
            if markdown {
                say(scene::reference().trim_end());
            } else {
                say(&format!("{:#}", scene::json_schema()));
            }
            Ok(0)
        }
        Command::Check(arguments) => check::check(&arguments),
        Command::Export(arguments) => export::export(&arguments),
        Command::View(arguments) => view::view(&arguments),
        Command::Render(arguments) => render::render(&arguments),
        Command::Solve(arguments) => solve::solve(&arguments),
    };
    let code = result.unwrap_or_else(|failure| failure.report());
    match output::failure() {
        Some(failure) if code == 0 => failure.report(),
        _ => code,
    }
}

/// Thread pool of the requested size; by default one thread per core.
pub(crate) fn thread_pool(threads: Option<u64>) -> Result<rayon::ThreadPool, Failure> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = threads.map_or(cores, |threads| threads as usize);
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|error| Failure::refused(format!("cannot start {threads} threads: {error}")))
}

/// Loads a scene file, or a shipped scene by its name.
pub(crate) fn load_scene(name: &str, quick: bool, sets: Vec<String>) -> Result<Scene, Failure> {
    let request = SceneRequest::find(name)?;
    Ok(Scene::read(&SceneRequest {
        quick,
        sets,
        ..request
    })?)
}

/// `reefknot scenes`.
fn scenes(print: Option<&str>) -> Result<u8, Failure> {
    if let Some(name) = print {
        let scene = shipped::find(name).map_err(Failure::refused)?;
        say(scene.text.trim_end());
        return Ok(0);
    }
    for scene in shipped::all() {
        let request = SceneRequest {
            file: scene.name.to_owned(),
            text: scene.text.to_owned(),
            ..SceneRequest::default()
        };
        let title = Scene::read(&request)?.tables.title;
        say(&format!("{:<28} {title}", scene.name));
    }
    Ok(0)
}
