//! The command line.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use reefknot_contact::solve::table::SOLVERS;
use reefknot_sim::scene::tables::SolverChoice;
use reefknot_sim::units::parse_quantity;

use crate::cli::check::{self, CheckArguments};

/// Simulate hair, ropes, cloth, soft solids and rigid props in frictional contact
///
/// A scene is a TOML file; a run is a folder with frames, logs and checkpoints. Every step has a
/// certificate: contact error, momentum error, gaps, intersections and energy balance. A run has
/// the same bits on any number of threads, and after a stop and resume.
#[derive(Debug, Parser)]
#[command(name = "reefknot", version, max_term_width = 100, after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Simulate a scene, and write the run to a folder
    #[command(after_help = RUN_EXAMPLES)]
    Run(RunArguments),
    /// List the shipped scenes, or print one as a template
    #[command(after_help = SCENES_EXAMPLES)]
    Scenes {
        /// Print the scene file NAME
        #[arg(long, value_name = "NAME")]
        print: Option<String>,
    },
    /// Print the JSON Schema of scene files, or their reference page
    #[command(after_help = SCHEMA_EXAMPLES)]
    Schema {
        /// Print the reference page of all keys in Markdown
        #[arg(long)]
        markdown: bool,
    },
    /// Check a scene before the run, the certificates and files of a run, or the physics
    #[command(after_help = check::EXAMPLES)]
    Check(CheckArguments),
    /// Export the frames of a run: OBJ, VTK (ParaView), or one HTML page
    #[command(after_help = EXPORT_EXAMPLES)]
    Export(ExportArguments),
    /// Show a run in the browser, also while it is computed; or two runs side by side
    #[command(after_help = VIEW_EXAMPLES)]
    View(ViewArguments),
    /// Render frames of a run to PNG files; needs Chromium or Chrome, but no screen
    #[command(after_help = RENDER_EXAMPLES)]
    Render(RenderArguments),
    /// Solve a contact problem from a file, or grade a solution of it
    #[command(after_help = SOLVE_EXAMPLES)]
    Solve(SolveArguments),
}

const EXAMPLES: &str = concat!(
    "Examples:\n",
    "  reefknot run drape --quick --view      # cloth falls on a ball; watch it in the browser\n",
    "  reefknot scenes                        # all shipped scenes\n",
    "  reefknot scenes --print flag > my-flag.toml\n",
    "  reefknot run my-flag.toml\n",
    "\n`reefknot COMMAND --help` describes a command.",
);

const RUN_EXAMPLES: &str = concat!(
    "Examples:\n",
    "  reefknot run hairy-ball --quick --view\n",
    "  reefknot run flag --out runs/breeze --set 'parameters.speed=\"4 m/s\"'\n",
    "  reefknot run pile --certify --threads 4\n",
    "  reefknot run pile --resume             # continues from the last checkpoint\n",
    "\nExit codes: 0 success, 1 failure of a step or a certificate, 2 refused (mistake in scene\n",
    "or arguments), 75 stopped with a checkpoint or folder in use, 130 stopped by Ctrl-C.",
);

const SCENES_EXAMPLES: &str = concat!(
    "Examples:\n",
    "  reefknot scenes\n",
    "  reefknot scenes --print flag > my-flag.toml",
);

const SCHEMA_EXAMPLES: &str = concat!(
    "Examples:\n",
    "  reefknot schema > scene.schema.json    # for completion in editors\n",
    "  reefknot schema --markdown > scenes.md",
);

const EXPORT_EXAMPLES: &str = concat!(
    "Examples:\n",
    "  reefknot export runs/flag --to vtk\n",
    "  reefknot export runs/flag --to obj --up y --unit cm --out obj\n",
    "  reefknot export runs/flag --to html --out flag.html",
);

const VIEW_EXAMPLES: &str = concat!(
    "Examples:\n",
    "  reefknot view runs/flag\n",
    "  reefknot view runs/a runs/b --no-open --port 8080",
);

const RENDER_EXAMPLES: &str = concat!(
    "Examples:\n",
    "  reefknot render runs/flag --png pictures\n",
    "  reefknot render runs/flag --frames 0..50 --png pictures --look 'colour=speed'",
);

const SOLVE_EXAMPLES: &str = concat!(
    "Examples:\n",
    "  reefknot solve problem.hdf5 --tol 1e-8 --write solution.safetensors\n",
    "  reefknot solve problem.hdf5 --grade solution.safetensors\n",
    "  reefknot solve runs/grip/problems/00060.safetensors --solver gauss-seidel",
);

#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// A scene file, or the name of a shipped scene
    pub(crate) scene: String,
    /// Use the quick size of the scene: fewer vertices, shorter duration
    #[arg(long)]
    pub(crate) quick: bool,
    /// Folder of the run [default: runs/NAME]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Number of frames after the initial one, instead of `time.duration`
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub(crate) frames: Option<u64>,
    /// Contact solver, instead of `method.solver`
    #[arg(long, value_name = "S", value_parser = solvers(SolverChoice::words()))]
    pub(crate) solver: Option<String>,
    /// Test every step for intersections, not only the last step of each frame
    #[arg(long)]
    pub(crate) certify: bool,
    /// Store the contact problems of these steps in RUN/problems, for `reefknot solve`: 60, or
    /// 10,20..25 (inclusive)
    #[arg(long, value_name = "STEPS", value_delimiter = ',', value_parser = steps)]
    pub(crate) capture: Vec<RangeInclusive<u64>>,
    /// Number of threads; it does not change the result [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub(crate) threads: Option<u64>,
    /// Override a value of the scene, such as 'time.duration="2 s"'; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) sets: Vec<String>,
    /// Continue the run in the folder from its last checkpoint, if there is one
    #[arg(long, conflicts_with = "overwrite")]
    pub(crate) resume: bool,
    /// Replace the run in the folder, if there is one
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Stop with a checkpoint after this wall-clock time, such as "10 min" (exit code 75)
    #[arg(long, value_name = "T", value_parser = duration, allow_negative_numbers = true)]
    pub(crate) time_limit: Option<Duration>,
    /// Show the run in the browser while it is computed
    #[arg(long)]
    pub(crate) view: bool,
    /// Print a summary as the last line of standard output
    #[arg(long, value_name = "FORMAT")]
    pub(crate) summary: Option<SummaryFormat>,
    /// Print only errors and the summary
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
    /// Folder of the run
    pub(crate) run: PathBuf,
    /// File format
    #[arg(long)]
    pub(crate) to: ExportFormat,
    /// Output folder; for html also a file name that ends in .html [default: RUN/export]
    #[arg(long, value_name = "PATH")]
    pub(crate) out: Option<PathBuf>,
    /// Up axis of the files
    #[arg(long, default_value = "z")]
    pub(crate) up: UpAxis,
    /// Unit of length of the files
    #[arg(long, default_value = "m", value_parser = length_unit)]
    pub(crate) unit: f64,
    /// Initial view of an html file: the part after `?` in the address of `reefknot view`, such as
    /// 'colour=speed'
    #[arg(long, value_name = "TEXT", value_parser = look)]
    pub(crate) look: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ViewArguments {
    /// Folder of the run
    pub(crate) run: PathBuf,
    /// Folder of a second run, to compare
    #[arg(value_name = "RUN2")]
    pub(crate) other: Option<PathBuf>,
    /// Port on 127.0.0.1 [default: any free port]
    #[arg(long, value_name = "P", default_value_t = 0, hide_default_value = true)]
    pub(crate) port: u16,
    /// Do not open the browser
    #[arg(long)]
    pub(crate) no_open: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RenderArguments {
    /// Folder of the run
    pub(crate) run: PathBuf,
    /// Frames to render: 10, or 0..50 (inclusive) [default: all]
    #[arg(long, value_name = "A..B", value_parser = frames)]
    pub(crate) frames: Option<RangeInclusive<u64>>,
    /// Output folder, with one PNG file per frame, such as 00010.png
    #[arg(long, value_name = "DIR")]
    pub(crate) png: PathBuf,
    /// Width and height of the images in pixels
    #[arg(long, value_name = "WxH", default_value = "1280x800", value_parser = size)]
    pub(crate) size: Size,
    /// Camera and colours: the part after `?` in the address of `reefknot view`, such as
    /// 'colour=speed&contacts=1'
    #[arg(long, value_name = "TEXT", value_parser = look)]
    pub(crate) look: Option<String>,
}

/// Width and height of an image (pixels).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size(pub(crate) [u32; 2]);

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ExportFormat {
    /// One OBJ file per frame
    Obj,
    /// VTK for ParaView: one .vtu file per object and frame, and a .pvd file with the times
    Vtk,
    /// One HTML page with viewer and frames, for any browser
    Html,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum UpAxis {
    /// z is up, as in the simulation
    Z,
    /// y is up, as in Houdini and Maya
    Y,
}

#[derive(Debug, Args)]
pub(crate) struct SolveArguments {
    /// An FCLIB file (HDF5), or a problem captured by `reefknot run --capture` (safetensors)
    pub(crate) problem: PathBuf,
    /// Contact solver; FCLIB problems need one that works on the Delassus operator
    #[arg(long, value_name = "S", default_value = SOLVERS[0].name, value_parser = all_solvers())]
    pub(crate) solver: String,
    /// Tolerance of both errors: a ratio for FCLIB, metres for captured problems [default: 1e-6
    /// for FCLIB, the tolerance of the step for captured problems]
    #[arg(long, value_name = "T", value_parser = tolerance, allow_hyphen_values = true)]
    pub(crate) tol: Option<f64>,
    /// Write the solution (r, u, v) as safetensors
    #[arg(long, value_name = "FILE")]
    pub(crate) write: Option<PathBuf>,
    /// Grade the solution in this file instead of solving: r, and v if present
    #[arg(long, value_name = "FILE", conflicts_with_all = ["solver", "write"])]
    pub(crate) grade: Option<PathBuf>,
    /// Write the problem as an FCLIB file
    #[arg(long, value_name = "FILE")]
    pub(crate) to_fclib: Option<PathBuf>,
    /// Number of threads; it does not change the result [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub(crate) threads: Option<u64>,
    /// Print a summary as the last line of standard output
    #[arg(long, value_name = "FORMAT")]
    pub(crate) summary: Option<SummaryFormat>,
    /// Print only errors and the summary
    #[arg(long)]
    pub(crate) quiet: bool,
}

/// The names and help of all solvers.
pub(crate) fn all_solvers() -> PossibleValuesParser {
    solvers(SOLVERS.iter().map(|entry| (entry.name, entry.help)))
}

/// Parser of solver names, with their help.
fn solvers(words: impl Iterator<Item = (&'static str, &'static str)>) -> PossibleValuesParser {
    let value = |(word, help): (&'static str, &'static str)| {
        PossibleValue::new(word).help(help.trim_end_matches('.'))
    };
    PossibleValuesParser::new(words.map(value))
}

/// Parses steps, which are counted from 1.
fn steps(text: &str) -> Result<RangeInclusive<u64>, String> {
    let steps = range(text, "step")?;
    match *steps.start() {
        0 => Err("steps are counted from 1".to_owned()),
        _ => Ok(steps),
    }
}

/// Parses frames, which are counted from 0.
fn frames(text: &str) -> Result<RangeInclusive<u64>, String> {
    range(text, "frame")
}

/// Parses "10" or "10..20" (inclusive).
fn range(text: &str, unit: &str) -> Result<RangeInclusive<u64>, String> {
    let (first, last) = text.split_once("..").unwrap_or((text, text));
    match (first.trim().parse(), last.trim().parse()) {
        (Ok(first), Ok(last)) if first <= last => Ok(first..=last),
        (Ok(_), Ok(_)) => Err(format!("the first {unit} is larger than the last")),
        _ => Err(format!("expected {unit}s such as 10 or 10..20")),
    }
}

/// Parses "1280x800".
fn size(text: &str) -> Result<Size, String> {
    let numbers = text.split_once('x');
    let numbers =
        numbers.and_then(|(width, height)| Some([width.parse().ok()?, height.parse().ok()?]));
    match numbers {
        Some(size) if size.iter().all(|length| (16..=8192).contains(length)) => Ok(Size(size)),
        Some(_) => Err("width and height must be 16 to 8192 pixels".to_owned()),
        None => Err("expected width and height in pixels, such as 1280x800".to_owned()),
    }
}

/// Parses the query of a viewer address, with or without `?`.
fn look(text: &str) -> Result<String, String> {
    let text = text.strip_prefix('?').unwrap_or(text);
    if text.chars().all(|c| c.is_ascii_graphic() && c != '#') {
        Ok(text.to_owned())
    } else {
        let reason = "expected the part after `?` in the address of a view, without spaces";
        Err(reason.to_owned())
    }
}

/// Parses a number above 0.
fn tolerance(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number > 0.0 && number.is_finite() => Ok(number),
        _ => Err("expected a number above 0, such as 1e-6".to_owned()),
    }
}

/// Parses "10 min", "90 s" or seconds.
fn duration(text: &str) -> Result<Duration, String> {
    let quantity = parse_quantity(text)?;
    match quantity.dimension.to_string().as_str() {
        "1" | "s" if quantity.si < 0.0 => Err("a time limit cannot be negative".to_owned()),
        "1" | "s" => Duration::try_from_secs_f64(quantity.si)
            .map_err(|_| "the time limit is too large; omit it for no limit".to_owned()),
        unit => Err(format!(
            "expected a time such as \"10 min\", not a quantity in {unit}"
        )),
    }
}

/// Factor from metres to a unit such as "cm".
fn length_unit(text: &str) -> Result<f64, String> {
    let unit = parse_quantity(&format!("1 {text}"))?;
    match unit.dimension.to_string().as_str() {
        "m" => Ok((1e12 / unit.si).round() / 1e12),
        other => Err(format!(
            "expected a unit of length such as cm, not a unit of {other}"
        )),
    }
}
