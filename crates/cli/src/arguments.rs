//! The command line.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use reefknot::scene::tables::SolverChoice;
use reefknot::units::parse_quantity;
use reefknot_contact::solve::table::SOLVERS;

/// Simulates thin and soft things: cloth with stretch, bending, gravity, wind and pins. The same
/// bits on any number of threads and after any stop.
#[derive(Debug, Parser)]
#[command(name = "reefknot", version, max_term_width = 100)]
#[command(after_help = "Example: reefknot run flag --quick\nEvery command has its own --help.")]
pub(crate) struct Arguments {
    /// What to do
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a scene into a folder
    #[command(
        after_help = "Example: reefknot run flag --out runs/breeze --set 'parameters.speed=\"4 m/s\"'"
    )]
    Run(RunArguments),
    /// List the shipped scenes, or print one to copy and edit
    #[command(after_help = "Example: reefknot scenes --print flag > my-flag.toml")]
    Scenes {
        /// Print the scene file of this one
        #[arg(long, value_name = "NAME")]
        print: Option<String>,
    },
    /// Print the JSON Schema of scene files
    #[command(after_help = "Example: reefknot schema > scene.schema.json")]
    Schema {
        /// Print the reference page instead
        #[arg(long)]
        markdown: bool,
    },
    /// Look at a scene before it runs, or at a run after it was made
    #[command(
        after_help = "Example: reefknot check my-flag.toml\n         reefknot check runs/flag"
    )]
    Check {
        /// A scene file, a shipped scene or the folder of a run
        #[arg(value_name = "SCENE_OR_RUN")]
        what: String,
        /// Take the quick size of a scene
        #[arg(long)]
        quick: bool,
        /// Change a value of the scene, as in `run`
        #[arg(long = "set", value_name = "KEY=VALUE")]
        sets: Vec<String>,
    },
    /// Write the animation of a run as files for other programs
    #[command(
        after_help = "Example: reefknot export runs/flag --to vtk\n         reefknot export runs/flag --to html --out flag.html"
    )]
    Export(ExportArguments),
    /// Look at a run in the browser, also while it is under way; or at two, side by side
    #[command(
        after_help = "Example: reefknot view runs/flag\n         reefknot view runs/a runs/b --no-open"
    )]
    View(ViewArguments),
    /// Make pictures of a run, without a screen; needs Chromium
    #[command(
        after_help = "Example: reefknot render runs/flag --frames 0..50 --png pictures --look 'colour=speed'"
    )]
    Render(RenderArguments),
    /// Solve a stored contact problem, or grade an answer to it
    #[command(
        after_help = "Example: reefknot solve problem.hdf5 --tol 1e-8 --write answer.safetensors\n         reefknot solve problem.hdf5 --grade answer.safetensors"
    )]
    Solve(SolveArguments),
}

#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// A scene file, or the name of a shipped scene
    pub(crate) scene: String,
    /// Take the scene's quick size
    #[arg(long)]
    pub(crate) quick: bool,
    /// The folder of the run [default: runs/NAME]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Compute this many frames after the first, whatever the scene says
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub(crate) frames: Option<u64>,
    /// The contact solver, whatever the scene says
    #[arg(long, value_name = "S", value_parser = solvers(SolverChoice::words()))]
    pub(crate) solver: Option<String>,
    /// Test every step for intersections, not only those that end a frame
    #[arg(long)]
    pub(crate) certify: bool,
    /// Store the contact problems of these steps in RUN/problems, such as 10,20..25 (both included), for `solve`
    #[arg(long, value_name = "STEPS", value_delimiter = ',', value_parser = steps)]
    pub(crate) capture: Vec<RangeInclusive<u64>>,
    /// Number of threads; the result does not depend on it [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub(crate) threads: Option<u64>,
    /// Change a value of the scene, such as 'time.duration="2 s"'; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) sets: Vec<String>,
    /// Go on with the run in the folder, if there is one
    #[arg(long, conflicts_with = "overwrite")]
    pub(crate) resume: bool,
    /// Replace the run in the folder, if there is one
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Stop with a checkpoint after this time, such as "10 min" (exit code 75)
    #[arg(long, value_name = "T", value_parser = duration, allow_negative_numbers = true)]
    pub(crate) time_limit: Option<Duration>,
    /// Show it in the browser while it is under way
    #[arg(long)]
    pub(crate) view: bool,
    /// Print a summary as the last line
    #[arg(long, value_name = "FORMAT")]
    pub(crate) summary: Option<SummaryFormat>,
    /// Print nothing but errors and the summary
    #[arg(long)]
    pub(crate) quiet: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum SummaryFormat {
    /// One line of JSON
    Json,
}

#[derive(Debug, Args)]
pub(crate) struct ExportArguments {
    /// The folder of a run
    pub(crate) run: PathBuf,
    /// The format
    #[arg(long)]
    pub(crate) to: ExportFormat,
    /// The folder to write to; for html also a file that ends in .html [default: RUN/export]
    #[arg(long, value_name = "PATH")]
    pub(crate) out: Option<PathBuf>,
    /// The axis that points up in the files
    #[arg(long, default_value = "z")]
    pub(crate) up: UpAxis,
    /// The unit of length in the files
    #[arg(long, default_value = "m", value_parser = length_unit)]
    pub(crate) unit: f64,
    /// How an html file shows the run at first: the part behind `?` in the address of a view, such as 'colour=speed'
    #[arg(long, value_name = "TEXT", value_parser = look)]
    pub(crate) look: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ViewArguments {
    /// The folder of a run
    pub(crate) run: PathBuf,
    /// The folder of another run, to compare
    #[arg(value_name = "RUN2")]
    pub(crate) other: Option<PathBuf>,
    /// The port on 127.0.0.1 [default: any that is free]
    #[arg(long, value_name = "P", default_value_t = 0, hide_default_value = true)]
    pub(crate) port: u16,
    /// Do not open the browser
    #[arg(long)]
    pub(crate) no_open: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RenderArguments {
    /// The folder of a run
    pub(crate) run: PathBuf,
    /// The frames, such as 10 or 0..50 (both included) [default: all]
    #[arg(long, value_name = "A..B", value_parser = frames)]
    pub(crate) frames: Option<RangeInclusive<u64>>,
    /// The folder to write to: one file per frame, by its number
    #[arg(long, value_name = "DIR")]
    pub(crate) png: PathBuf,
    /// Width and height of the pictures
    #[arg(long, value_name = "WxH", default_value = "1280x800", value_parser = size)]
    pub(crate) size: Size,
    /// How to show it: the part behind `?` in the address of a view, such as 'colour=speed&contacts=1'
    #[arg(long, value_name = "TEXT", value_parser = look)]
    pub(crate) look: Option<String>,
}

/// Width and height of a picture.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size(pub(crate) [u32; 2]);

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ExportFormat {
    /// One OBJ file per frame
    Obj,
    /// VTK for ParaView: a .vtu per object and frame, and a .pvd with the times
    Vtk,
    /// One page that shows the run in any browser, without anything else
    Html,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum UpAxis {
    /// As simulated
    Z,
    /// As in many animation programs
    Y,
}

#[derive(Debug, Args)]
pub(crate) struct SolveArguments {
    /// An FCLIB file (HDF5) or a captured problem (safetensors)
    pub(crate) problem: PathBuf,
    /// The solver; FCLIB problems need one that works on the impulses alone
    #[arg(long, value_name = "S", default_value = SOLVERS[0].name, value_parser = solvers(SOLVERS.iter().map(|entry| (entry.name, entry.help))))]
    pub(crate) solver: String,
    /// What both errors may be: a ratio for FCLIB, metres for captured problems [default: 1e-6; what the problem was captured with]
    #[arg(long, value_name = "T", value_parser = tolerance, allow_hyphen_values = true)]
    pub(crate) tol: Option<f64>,
    /// Store the answer (r, u, v) as safetensors
    #[arg(long, value_name = "FILE")]
    pub(crate) write: Option<PathBuf>,
    /// Do not solve, but grade the answer in this file: r, and v if it is there
    #[arg(long, value_name = "FILE", conflicts_with_all = ["solver", "write"])]
    pub(crate) grade: Option<PathBuf>,
    /// Store the problem as an FCLIB file
    #[arg(long, value_name = "FILE")]
    pub(crate) to_fclib: Option<PathBuf>,
    /// Number of threads; the result does not depend on it [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub(crate) threads: Option<u64>,
    /// Print a summary as the last line
    #[arg(long, value_name = "FORMAT")]
    pub(crate) summary: Option<SummaryFormat>,
    /// Print nothing but errors and the summary
    #[arg(long)]
    pub(crate) quiet: bool,
}

/// Names of solvers with their help.
fn solvers(words: impl Iterator<Item = (&'static str, &'static str)>) -> PossibleValuesParser {
    let value = |(word, help): (&'static str, &'static str)| {
        PossibleValue::new(word).help(help.trim_end_matches('.'))
    };
    PossibleValuesParser::new(words.map(value))
}

/// Steps, from 1.
fn steps(text: &str) -> Result<RangeInclusive<u64>, String> {
    let steps = range(text, "step")?;
    match *steps.start() {
        0 => Err("the first step is 1".to_owned()),
        _ => Ok(steps),
    }
}

/// Frames, from 0.
fn frames(text: &str) -> Result<RangeInclusive<u64>, String> {
    range(text, "frame")
}

/// Reads "10" or "10..20", with both ends.
fn range(text: &str, what: &str) -> Result<RangeInclusive<u64>, String> {
    let (first, last) = text.split_once("..").unwrap_or((text, text));
    match (first.trim().parse(), last.trim().parse()) {
        (Ok(first), Ok(last)) if first <= last => Ok(first..=last),
        (Ok(_), Ok(_)) => Err(format!("the first {what} comes after the last")),
        _ => Err(format!("{what}s are needed, such as 10 or 10..20")),
    }
}

/// Reads "1280x800".
fn size(text: &str) -> Result<Size, String> {
    let numbers = text.split_once('x');
    let numbers =
        numbers.and_then(|(width, height)| Some([width.parse().ok()?, height.parse().ok()?]));
    match numbers {
        Some(size) if size.iter().all(|length| (16..=8192).contains(length)) => Ok(Size(size)),
        Some(_) => Err("pictures have 16 to 8192 pixels each way".to_owned()),
        None => Err("width and height in pixels are needed, such as 1280x800".to_owned()),
    }
}

/// Reads the part of an address behind `?`, with or without it.
fn look(text: &str) -> Result<String, String> {
    let text = text.strip_prefix('?').unwrap_or(text);
    match text.chars().all(|c| c.is_ascii_graphic() && c != '#') {
        true => Ok(text.to_owned()),
        false => Err("it has no spaces: copy it from the address of a view".to_owned()),
    }
}

/// Reads a number above 0.
fn tolerance(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number > 0.0 && number.is_finite() => Ok(number),
        _ => Err("a number above 0 is needed, such as 1e-6".to_owned()),
    }
}

/// Reads "10 min", "90 s" or seconds.
fn duration(text: &str) -> Result<Duration, String> {
    let quantity = parse_quantity(text)?;
    match quantity.dimension.to_string().as_str() {
        "1" | "s" if quantity.si < 0.0 => Err("a time limit cannot be negative".to_owned()),
        "1" | "s" => Duration::try_from_secs_f64(quantity.si)
            .map_err(|_| "nothing takes that long; leave the limit out".to_owned()),
        unit => Err(format!(
            "a time is needed, such as \"10 min\", not something in {unit}"
        )),
    }
}

/// The factor from metres to a unit such as "cm".
fn length_unit(text: &str) -> Result<f64, String> {
    let unit = parse_quantity(&format!("1 {text}"))?;
    match unit.dimension.to_string().as_str() {
        "m" => Ok((1e12 / unit.si).round() / 1e12),
        other => Err(format!(
            "a unit of length is needed, such as cm, not one of {other}"
        )),
    }
}
