//! `reefknot check`: a scene before its run, a run, or the physics suite.

use std::path::{Path, PathBuf};

use clap::Args;
use reefknot_sim::check::{self, Severity};
use reefknot_sim::model::Model;
use reefknot_sim::scene::shipped;

use crate::cli::arguments::{SummaryFormat, all_solvers};
use crate::cli::{FAILED, Failure, load_scene, physics, progress, run, say};

pub(crate) const EXAMPLES: &str = concat!(
    "Examples:\n",
    "  reefknot check my-flag.toml            # warnings before the run\n",
    "  reefknot check runs/flag               # tests contacts, energies and files of the run\n",
    "  reefknot check --physics               # all validation scenes against mechanics\n",
    "  reefknot check --physics --solver robust --only incline,capstan --out robust.html\n",
    "  reefknot check --physics --set 'method.integrator=\"linear-euler\"' --summary json",
);

#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    /// A scene file, the name of a shipped scene, or the folder of a run
    #[arg(value_name = "SCENE_OR_RUN", required_unless_present = "physics")]
    pub(crate) what: Option<String>,
    /// Run the validation scenes, compare them with mechanics, and write the table as a page
    #[arg(long)]
    pub(crate) physics: bool,
    /// Check the quick size of the scene; with --physics, only the quick cases
    #[arg(long)]
    pub(crate) quick: bool,
    /// Override a value of the scene, as in `run`; with --physics, of all scenes
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) sets: Vec<String>,
    /// Physics: contact solver of the scenes with contact [default: that of the scene]
    #[arg(long, value_name = "S", value_parser = all_solvers(), requires = "physics")]
    pub(crate) solver: Option<String>,
    /// Physics: only these scenes of `scenes/validation`, such as incline,capstan
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        requires = "physics"
    )]
    pub(crate) only: Vec<String>,
    /// Physics: the page, a file that ends in .html or .md [default: physics.html]
    #[arg(long, value_name = "FILE", requires = "physics")]
    pub(crate) out: Option<PathBuf>,
    /// Physics: number of cases at a time; it does not change the result [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1024))]
    #[arg(requires = "physics")]
    pub(crate) threads: Option<u64>,
    /// Physics: print a summary as the last line of standard output
    #[arg(long, value_name = "FORMAT", requires = "physics")]
    pub(crate) summary: Option<SummaryFormat>,
    /// Physics: print only errors and the summary
    #[arg(long, requires = "physics")]
    pub(crate) quiet: bool,
}

/// `reefknot check`.
pub(crate) fn check(arguments: &CheckArguments) -> Result<u8, Failure> {
    match &arguments.what {
        Some(name) if arguments.physics => Err(Failure::refused(format!(
            "--physics runs the validation scenes, not `{name}`; --only NAMES selects some of them"
        ))),
        Some(name) => check_one(name, arguments),
        None => physics::physics(arguments),
    }
}

/// Checks a scene or a run.
fn check_one(name: &str, arguments: &CheckArguments) -> Result<u8, Failure> {
    let path = Path::new(name);
    // A folder without a run may have the name of a shipped scene.
    let is_run =
        path.is_dir() && (shipped::find(name).is_err() || path.join("manifest.json").exists());
    let findings = if is_run {
        check::check_run(path).map_err(Failure::refused)?
    } else {
        let scene = load_scene(name, arguments.quick, arguments.sets.clone())?;
        let model = Model::build(&scene)?;
        say(&format!("{name}: {}", model_size(&model)));
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

/// Numbers of objects, vertices, elements and steps, in one line.
fn model_size(model: &Model) -> String {
    let clock = &model.clock;
    let colliders = model.objects.iter().filter(|o| o.is_collider()).count();
    let vertices = run::vertices(model.vertices(), model.masses.len());
    let step = progress::clock(clock.h());
    format!(
        "{} objects, {colliders} colliders, {vertices}, {} elements; \
         {} frames of {} steps of {step}",
        model.objects.len() - colliders,
        model.elements(),
        clock.frames,
        clock.steps_per_frame,
    )
}
