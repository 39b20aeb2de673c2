//! `reefknot run`.

use std::path::{Path, PathBuf};

use reefknot_sim::check::{Finding, check_scene};
use reefknot_sim::io::input::INPUT_FOLDER;
use reefknot_sim::model::Model;
use reefknot_sim::report::Summary;
use reefknot_sim::run::{Build, Ending, Observer, RunError, RunOptions, RunOutcome, Stop};
use reefknot_sim::scene::Scene;

use crate::cli::arguments::{RunArguments, SummaryFormat};
use crate::cli::progress::{Terminal, clock};
use crate::cli::{FAILED, Failure, REFUSED, load_scene, say, thread_pool, view, warn};

/// Exit code: stopped by SIGTERM or the time limit, with a checkpoint; or the folder is in use.
pub(crate) const STOPPED: u8 = 75;
/// Exit code: stopped by Ctrl-C, with a checkpoint.
pub(crate) const INTERRUPTED: u8 = 130;
/// Largest number of findings that are printed before a run.
const MAX_NOTES: usize = 6;

pub(crate) fn run(arguments: &RunArguments) -> Result<u8, Failure> {
    let pool = thread_pool(arguments.threads)?;
    let threads = pool.current_num_threads();
    let mut terminal = Terminal::new(arguments.quiet)
        .map_err(|error| Failure::refused(format!("cannot handle signals: {error}")))?;
    let mut sets = arguments.sets.clone();
    if let Some(solver) = &arguments.solver {
        // Before other `--set` arguments, which may have options of this solver.
        sets.insert(0, format!("method.solver=\"{solver}\""));
    }
    let mut scene = load_scene(&arguments.scene, arguments.quick, sets)?;
    refuse_another_solver(arguments, &scene)?;
    if let Some(frames) = arguments.frames {
        scene.set_frames(frames);
    }
    let options = RunOptions {
        folder: arguments
            .out
            .clone()
            .unwrap_or_else(|| PathBuf::from("runs").join(&scene.name)),
        resume: arguments.resume,
        overwrite: arguments.overwrite,
        time_limit: arguments.time_limit,
        certify: arguments.certify,
        capture: arguments.capture.clone(),
        command: std::env::args().collect(),
        build: Build {
            version: env!("CARGO_PKG_VERSION").into(),
            commit: env!("REEFKNOT_COMMIT").into(),
            rustc: env!("REEFKNOT_RUSTC").into(),
        },
        threads,
    };
    let server = if arguments.view {
        view::accompany(&options.folder, arguments.quiet)
    } else {
        None
    };
    let result = pool.install(|| {
        let model = Model::build(&scene)
            .map_err(|problems| with_copies(problems.into(), arguments, &options))?;
        note_findings(&check_scene(&scene, &model), &mut terminal);
        let outcome = reefknot_sim::run::run(&scene, &model, &options, &mut terminal);
        Ok::<_, Failure>(outcome)
    });
    terminal.finish();
    let result = result.and_then(|outcome| conclude(outcome, arguments, &options, &mut terminal));
    match server {
        Some(server) => view::stay(result, &server, &terminal),
        None => result,
    }
}

/// Prints the result of a run and returns the exit code.
fn conclude(
    outcome: Result<RunOutcome, RunError>,
    arguments: &RunArguments,
    options: &RunOptions,
    terminal: &mut Terminal,
) -> Result<u8, Failure> {
    let outcome = outcome.map_err(|error| {
        let code = match error {
            RunError::Refused(_) => REFUSED,
            RunError::Busy(_) => STOPPED,
            RunError::Step { .. } | RunError::Files(_) => FAILED,
        };
        Failure::new(code, error.to_string())
    })?;
    if !options.capture.is_empty() && outcome.captured == 0 {
        terminal.note("no problem was captured: none of these steps was computed and has contacts");
    }
    if !arguments.quiet {
        print_result(&outcome, options);
    }
    if let Some(SummaryFormat::Json) = arguments.summary {
        say(&serde_json::to_string(&outcome.summary).unwrap_or_default());
    }
    if let Some(intersection) = &outcome.first_intersection {
        warn(&format!("error: {intersection}"));
    }
    Ok(match outcome.ending {
        Ending::Finished | Ending::AlreadyFinished if outcome.first_intersection.is_some() => {
            FAILED
        }
        Ending::Finished | Ending::AlreadyFinished => 0,
        Ending::Stopped(Stop::Interrupt) => INTERRUPTED,
        Ending::Stopped(Stop::Terminate | Stop::TimeLimit) => STOPPED,
    })
}

/// Prints the first findings of `check`.
fn note_findings(findings: &[Finding], terminal: &mut Terminal) {
    for finding in findings.iter().take(MAX_NOTES) {
        terminal.note(&finding.sentence);
    }
    let more = findings.len().saturating_sub(MAX_NOTES);
    if more > 0 {
        terminal.note(&format!(
            "{more} more findings: `reefknot check` lists them all"
        ));
    }
}

/// Number of vertices, and of simulated nodes if it differs.
pub(crate) fn vertices(all: usize, simulated: usize) -> String {
    if all == simulated {
        format!("{all} vertices")
    } else {
        format!("{all} vertices ({simulated} simulated)")
    }
}

/// Failure to build the scene of a run that is resumed, with a hint at the copies of scene and mesh
/// files in the run folder.
fn with_copies(failure: Failure, arguments: &RunArguments, options: &RunOptions) -> Failure {
    let folder = options.folder.display();
    let scene = options.folder.join("scene.toml");
    let has_copies = scene.is_file() && options.folder.join(INPUT_FOLDER).is_dir();
    let is_its_own = match (
        scene.canonicalize(),
        Path::new(&arguments.scene).canonicalize(),
    ) {
        (Ok(own), Ok(given)) => own == given,
        _ => false,
    };
    if !options.resume || !has_copies || is_its_own {
        return failure;
    }
    let message = format!(
        "{}\nthe run has its own copies of scene and mesh files: \
         `reefknot run {} --out {folder} --resume` continues with those",
        failure.message,
        scene.display()
    );
    Failure { message, ..failure }
}

/// Prints the result of a run: steps, contacts, errors, probes and conclusions.
fn print_result(outcome: &RunOutcome, options: &RunOptions) {
    let summary = &outcome.summary;
    let folder = options.folder.display();
    let ending = match outcome.ending {
        Ending::Finished => "finished",
        Ending::AlreadyFinished => "already finished",
        Ending::Stopped(Stop::Interrupt) => "stopped by Ctrl-C with a checkpoint",
        Ending::Stopped(Stop::Terminate) => "stopped by a signal with a checkpoint",
        Ending::Stopped(Stop::TimeLimit) => "stopped by the time limit with a checkpoint",
    };
    say(&format!(
        "{}: {ending}; {} frames, {:.3} s simulated in {}",
        summary.facts.scene,
        summary.facts.frames,
        summary.facts.simulated_s,
        clock(summary.wall_s)
    ));
    print_work(summary);
    print_contacts(summary);
    print_errors(summary);
    if outcome.captured > 0 {
        let count = outcome.captured;
        say(&format!(
            "  {count} contact problems captured in {folder}/problems"
        ));
    }
    if let Some(probes) = summary.facts.probes.as_object() {
        for (name, value) in probes {
            say(&format!("  probe {name}: {value}"));
        }
    }
    if !matches!(outcome.ending, Ending::Stopped(_)) {
        summary.facts.conclusions.iter().for_each(|text| say(text));
    }
    let next = match outcome.ending {
        Ending::Stopped(_) => format!("to continue: the same command with --resume ({folder})"),
        _ => format!("to view it: reefknot view {folder}"),
    };
    say(&format!("{}; {next}", convergence(summary)));
}

/// The number of steps whose errors are above the tolerance.
fn convergence(summary: &Summary) -> String {
    match summary.unconverged_steps {
        0 => format!("all {} steps converged", summary.steps),
        count => format!("{count} of {} steps did not converge", summary.steps),
    }
}

/// Prints vertices, steps and the shares of the phases of a step.
fn print_work(summary: &Summary) {
    let phases = &summary.phases_s;
    let parts = [
        ("detect", phases.detect),
        ("assemble", phases.assemble),
        ("linear", phases.linear),
        ("contact", phases.contact),
        ("gate", phases.gate),
        ("certify", phases.certify),
        ("write", phases.write),
    ];
    let total: f64 = parts.iter().map(|(_, seconds)| seconds).sum();
    let parts: Vec<String> = parts
        .iter()
        .map(|(name, seconds)| (name, 100.0 * seconds / total.max(1e-12)))
        .filter(|(_, percent)| *percent >= 0.5)
        .map(|(name, percent)| format!("{name} {percent:.0}%"))
        .collect();
    if let Some(step) = summary.wall_per_step_s {
        say(&format!(
            "  {}, {} steps of {}, {} per step ({})",
            vertices(summary.facts.vertices, summary.facts.nodes),
            summary.steps,
            clock(summary.facts.h),
            clock(step.mean),
            parts.join(", ")
        ));
    }
}

/// Refuses a `--set` that contradicts `--solver`.
fn refuse_another_solver(arguments: &RunArguments, scene: &Scene) -> Result<(), Failure> {
    let found = scene.tables.method.solver.word();
    match &arguments.solver {
        Some(asked) if asked != found => Err(Failure::refused(format!(
            "--solver {asked} contradicts --set, which selects \"{found}\"; omit one of them"
        ))),
        _ => Ok(()),
    }
}

/// Prints contacts, solver iterations, intersections and fail-safe steps.
fn print_contacts(summary: &Summary) {
    let known = summary.contacts.zip(summary.iterations);
    match known.filter(|_| summary.contact_error_m.is_some()) {
        Some((contacts, iterations)) => say(&format!(
            "  per step {:.0} contacts (max {}), {:.0} solver iterations (max {}); {}",
            contacts.mean,
            contacts.max,
            iterations.mean,
            iterations.max,
            intersections(summary)
        )),
        None => say("  contact is not simulated"),
    }
    let steps = summary.steps;
    if summary.failsafe_steps > 0 {
        let count = summary.failsafe_steps;
        say(&format!(
            "  the fail-safe acted in {count} of {steps} steps"
        ));
    }
    if summary.halved_steps > 0 {
        let count = summary.halved_steps;
        say(&format!("  {count} of {steps} steps were halved"));
    }
}

/// Result of the independent test for intersections.
fn intersections(summary: &Summary) -> String {
    let (tested, steps) = (summary.certified_steps, summary.steps);
    match summary.intersections {
        None => "not tested for intersections".to_owned(),
        Some(count) if tested == steps => format!("{count} intersections (all steps tested)"),
        Some(count) => format!("{count} intersections ({tested} of {steps} steps tested)"),
    }
}

/// Prints the largest contact error, momentum error and stretch.
fn print_errors(summary: &Summary) {
    let errors = [
        ("contact", summary.contact_error_m),
        ("momentum", summary.momentum_error_m),
        ("nonlinear", summary.nonlinear_error_m),
    ];
    let errors = errors.into_iter().filter_map(|(name, error)| {
        let largest = error?.max;
        Some(format!("{name} error max {largest:.1e} m"))
    });
    let mut errors: Vec<String> = errors.collect();
    if errors.is_empty() {
        errors.push("no system to solve".to_owned());
    }
    let stretch = summary.max_stretch.unwrap_or(1.0);
    errors.push(format!("stretch max {stretch:.3}"));
    say(&format!("  {}", errors.join(", ")));
}
