//! The `reefknot` command. It reads the command line and prints; the work is done by the library.

mod arguments;
mod browser;
mod export;
mod html;
mod progress;
mod render;
mod run;
mod serve;
mod solve;
mod view;

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use reefknot::check::{self, Severity};
use reefknot::io::IoError;
use reefknot::model::Model;
use reefknot::scene::problem::Problems;
use reefknot::scene::{self, Scene, SceneRequest, shipped};

use arguments::{Arguments, Command};

/// Physics, solver or check failed.
pub(crate) const FAILED: u8 = 1;
/// Refused before the first step.
pub(crate) const REFUSED: u8 = 2;

/// A message for the user, and the exit code.
pub(crate) struct Failure {
    pub(crate) code: u8,
    pub(crate) message: String,
}

impl Failure {
    pub(crate) fn refused(message: impl Into<String>) -> Failure {
        Failure {
            code: REFUSED,
            message: message.into(),
        }
    }

    pub(crate) fn failed(error: impl std::fmt::Display) -> Failure {
        Failure {
            code: FAILED,
            message: error.to_string(),
        }
    }

    /// A file that is no part of a run could not be made.
    pub(crate) fn of_export(error: &IoError) -> Failure {
        Failure::failed(error.outside_of_a_run())
    }

    /// Prints the message, and gives the exit code.
    pub(crate) fn report(&self) -> u8 {
        let message = &self.message;
        let is_report = message.starts_with("error") || message.starts_with('\x1b');
        let head = if is_report { "" } else { "error: " };
        let _ = writeln!(std::io::stderr(), "{head}{message}");
        self.code
    }
}

impl From<Problems> for Failure {
    fn from(problems: Problems) -> Failure {
        Failure::refused(problems.render(std::io::stderr().is_terminal()))
    }
}

fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::Run(arguments) => run::run(&arguments),
        Command::Scenes { print } => scenes(print.as_deref()),
        Command::Schema { markdown } => {
            match markdown {
                true => say(scene::reference().trim_end()),
                false => say(&format!("{:#}", scene::json_schema())),
            }
            Ok(0)
        }
        Command::Check { what, quick, sets } => check(&what, quick, sets),
        Command::Export(arguments) => export::export(&arguments),
        Command::View(arguments) => view::view(&arguments),
        Command::Render(arguments) => render::render(&arguments),
        Command::Solve(arguments) => solve::solve(&arguments),
    };
    match result {
        Ok(code) => ExitCode::from(code),
        Err(failure) => ExitCode::from(failure.report()),
    }
}

/// Prints a line, unless nobody listens any more.
pub(crate) fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// As many threads as were asked for, or as there are cores.
pub(crate) fn thread_pool(threads: Option<u64>) -> Result<rayon::ThreadPool, Failure> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = threads.map_or(cores, |threads| threads as usize);
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|error| Failure::refused(format!("cannot start {threads} threads: {error}")))
}

/// Reads a scene from a file, or one of the shipped ones.
pub(crate) fn load_scene(name: &str, quick: bool, sets: Vec<String>) -> Result<Scene, Failure> {
    let path = Path::new(name);
    // A file that happens to have the name of a shipped scene, such as this program, is another thing.
    let is_file = path.is_file() && shipped::find(name).is_err();
    let request = if is_file || name.ends_with(".toml") {
        let text = std::fs::read(path)
            .map_err(|error| Failure::refused(format!("cannot read {name}: {error}")))?;
        let text = String::from_utf8(text)
            .map_err(|error| Failure::from(Problems::not_text(name, &error)))?;
        let stem = path.file_stem().unwrap_or_default();
        SceneRequest {
            name: stem.to_string_lossy().into_owned(),
            file: name.to_owned(),
            text,
            quick,
            sets,
            folder: path.parent().unwrap_or(Path::new("")).to_path_buf(),
        }
    } else {
        let shipped = shipped::find(name).map_err(|reason| match path.is_dir() {
            true => Failure::refused(format!(
                "{name} is a folder; give a scene file or a shipped scene"
            )),
            false => Failure::refused(format!(
                "{reason}\n`reefknot scenes` lists the shipped ones"
            )),
        })?;
        SceneRequest {
            name: name.to_owned(),
            file: format!("{name}.toml"),
            text: shipped.text.to_owned(),
            quick,
            sets,
            ..SceneRequest::default()
        }
    };
    Ok(Scene::read(&request)?)
}

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

fn check(what: &str, quick: bool, sets: Vec<String>) -> Result<u8, Failure> {
    let path = Path::new(what);
    // A folder without a run may well have the name of a shipped scene.
    let is_run =
        path.is_dir() && (shipped::find(what).is_err() || path.join("manifest.json").exists());
    let findings = if is_run {
        check::check_run(path).map_err(Failure::refused)?
    } else {
        let scene = load_scene(what, quick, sets)?;
        let model = Model::build(&scene)?;
        let clock = &model.clock;
        let colliders = model.objects.iter().filter(|o| o.is_collider()).count();
        say(&format!(
            "{what}: {} objects, {colliders} colliders, {}, {} elements; {} frames of {} steps of {}",
            model.objects.len() - colliders,
            run::vertices(model.vertices(), model.masses.len()),
            model.elements(),
            clock.frames,
            clock.steps_per_frame,
            progress::clock(clock.h()),
        ));
        check::check_scene(&scene, &model)
    };
    let mut worst = Severity::Good;
    for finding in &findings {
        let head = match finding.severity {
            Severity::Good => "ok",
            Severity::Warning => "warning",
            Severity::Wrong => "wrong",
        };
        say(&format!("{head}: {}", finding.sentence));
        worst = worst.max(finding.severity);
    }
    Ok(match worst {
        Severity::Wrong => FAILED,
        Severity::Good | Severity::Warning => 0,
    })
}
