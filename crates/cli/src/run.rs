//! `reefknot run`.

use std::io::Write;
use std::path::{Path, PathBuf};

use reefknot::check::{Finding, check_scene};
use reefknot::io::input::INPUTS;
use reefknot::model::Model;
use reefknot::report::Summary;
use reefknot::run::{Build, Ending, Outcome, RunError, RunOptions, Stop, Watcher};
use reefknot::scene::Scene;

use crate::arguments::{RunArguments, SummaryFormat};
use crate::progress::{Terminal, clock};
use crate::{FAILED, Failure, load_scene, say, thread_pool, view};

/// Stopped by SIGTERM or the time limit, with a checkpoint.
const STOPPED: u8 = 75;
/// Stopped by Ctrl-C, with a checkpoint.
pub(crate) const INTERRUPTED: u8 = 130;
/// A run begins with at most so many remarks on its scene.
const MOST_NOTES: usize = 6;

pub(crate) fn run(arguments: &RunArguments) -> Result<u8, Failure> {
    let pool = thread_pool(arguments.threads)?;
    let threads = pool.current_num_threads();
    let mut terminal = Terminal::new(arguments.quiet)
        .map_err(|error| Failure::refused(format!("cannot listen to signals: {error}")))?;
    let mut sets = arguments.sets.clone();
    if let Some(solver) = &arguments.solver {
        // First, so that `--set` can give options to it.
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
    let server = match arguments.view {
        true => view::accompany(&options.folder, arguments.quiet),
        false => None,
    };
    let result = pool.install(|| {
        let model = Model::build(&scene)
            .map_err(|problems| with_copies(problems.into(), arguments, &options))?;
        note_findings(&check_scene(&scene, &model), &mut terminal);
        let outcome = reefknot::run::run(&scene, &model, &options, &mut terminal);
        Ok::<_, Failure>(outcome)
    });
    terminal.finish();
    let result = result.and_then(|outcome| conclude(outcome, arguments, &options, &mut terminal));
    match server {
        Some(server) => view::stay(result, &server, &terminal),
        None => result,
    }
}

/// Says what came of a run, and with which exit code.
fn conclude(
    outcome: Result<Outcome, RunError>,
    arguments: &RunArguments,
    options: &RunOptions,
    terminal: &mut Terminal,
) -> Result<u8, Failure> {
    let outcome = outcome.map_err(|error| Failure {
        code: match error {
            RunError::Refused(_) => crate::REFUSED,
            RunError::Step { .. } | RunError::Files(_) => FAILED,
        },
        message: error.to_string(),
    })?;
    if !options.capture.is_empty() && outcome.captured == 0 {
        terminal
            .note("nothing was captured: none of these steps was computed now and has contacts");
    }
    if !arguments.quiet {
        tell(&outcome, options);
    }
    if let Some(SummaryFormat::Json) = arguments.summary {
        say(&serde_json::to_string(&outcome.summary).unwrap_or_default());
    }
    if let Some(offence) = &outcome.offence {
        let _ = writeln!(std::io::stderr(), "error: {offence}");
    }
    Ok(match outcome.ending {
        Ending::Finished | Ending::WasFinished if outcome.offence.is_some() => FAILED,
        Ending::Finished | Ending::WasFinished => 0,
        Ending::Stopped(Stop::Interrupt) => INTERRUPTED,
        Ending::Stopped(Stop::Terminate | Stop::TimeLimit) => STOPPED,
    })
}

/// What looks wrong with a scene before it runs; the rest is for `check`.
fn note_findings(findings: &[Finding], terminal: &mut Terminal) {
    for finding in findings.iter().take(MOST_NOTES) {
        terminal.note(&finding.sentence);
    }
    let more = findings.len().saturating_sub(MOST_NOTES);
    if more > 0 {
        terminal.note(&format!(
            "{more} more findings: `reefknot check` lists them all"
        ));
    }
}

/// How many vertices there are, and how many of them are simulated.
pub(crate) fn vertices(all: usize, simulated: usize) -> String {
    match all == simulated {
        true => format!("{all} vertices"),
        false => format!("{all} vertices ({simulated} simulated)"),
    }
}

/// A scene that cannot be built any more, with a word on the copies that the run has made of its files.
fn with_copies(failure: Failure, arguments: &RunArguments, options: &RunOptions) -> Failure {
    let folder = options.folder.display();
    let scene = options.folder.join("scene.toml");
    let has_copies = scene.is_file() && options.folder.join(INPUTS).is_dir();
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
        "{}\nthe run has its own copies of scene and files, as they were: `reefknot run {} --out {folder} --resume` goes on with those",
        failure.message,
        scene.display()
    );
    Failure { message, ..failure }
}

/// What a person wants to know at the end.
fn tell(outcome: &Outcome, options: &RunOptions) {
    let summary = &outcome.summary;
    let folder = options.folder.display();
    let what = match outcome.ending {
        Ending::Finished => "done".to_owned(),
        Ending::WasFinished => "was done already".to_owned(),
        Ending::Stopped(reason) => {
            let reason = match reason {
                Stop::Interrupt => "by Ctrl-C",
                Stop::Terminate => "by a signal",
                Stop::TimeLimit => "by the time limit",
            };
            format!("stopped {reason} with a checkpoint")
        }
    };
    say(&format!(
        "{}: {what}; {} frames, {:.3} s simulated in {}",
        summary.facts.scene,
        summary.facts.frames,
        summary.facts.simulated_s,
        clock(summary.wall_s)
    ));
    tell_work(summary);
    tell_contacts(summary);
    tell_errors(summary);
    if outcome.captured > 0 {
        let count = outcome.captured;
        say(&format!("  contact problems in {folder}/problems: {count}"));
    }
    if let Some(probes) = summary.facts.probes.as_object() {
        for (name, value) in probes {
            say(&format!("  probe {name}: {value}"));
        }
    }
    if !matches!(outcome.ending, Ending::Stopped(_)) {
        summary.facts.conclusions.iter().for_each(|text| say(text));
    }
    say(&match outcome.ending {
        Ending::Stopped(_) => format!("go on: the same command with --resume ({folder})"),
        _ => format!("look at it: reefknot view {folder}"),
    });
}

/// How long it took, and what for.
fn tell_work(summary: &Summary) {
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
            "  {}, {} steps of {}, each {} ({})",
            vertices(summary.facts.vertices, summary.facts.nodes),
            summary.steps,
            clock(summary.facts.h),
            clock(step.mean),
            parts.join(", ")
        ));
    }
}

/// Refuses a `--set` that takes back what `--solver` asks for.
fn refuse_another_solver(arguments: &RunArguments, scene: &Scene) -> Result<(), Failure> {
    let found = scene.tables.method.solver.word();
    match &arguments.solver {
        Some(asked) if asked != found => Err(Failure::refused(format!(
            "--solver {asked} and --set disagree: the scene has \"{found}\" now; leave one of them out"
        ))),
        _ => Ok(()),
    }
}

/// What touched, and whether anything went through anything.
fn tell_contacts(summary: &Summary) {
    let known = summary.contacts.zip(summary.iterations);
    match known.filter(|_| summary.contact_error_m.is_some()) {
        Some((contacts, iterations)) => say(&format!(
            "  {:.0} contacts in a step, at most {}; {:.0} iterations, at most {}; {}",
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
        say(&format!("  halved: {count} of {steps} steps"));
    }
}

/// What the independent test found, and what it looked at.
fn intersections(summary: &Summary) -> String {
    let (tested, steps) = (summary.certified_steps, summary.steps);
    match summary.intersections {
        None => "not tested for intersections".to_owned(),
        Some(count) if tested == steps => format!("{count} intersections (all steps tested)"),
        Some(count) => format!("{count} intersections ({tested} of {steps} steps tested)"),
    }
}

/// How far the result is from what was to be solved.
fn tell_errors(summary: &Summary) {
    let errors = [
        ("contact", summary.contact_error_m),
        ("momentum", summary.momentum_error_m),
    ];
    let errors = errors.into_iter().filter_map(|(name, error)| {
        let largest = error?.max;
        Some(format!("{name} error at most {largest:.1e} m"))
    });
    let mut errors: Vec<String> = errors.collect();
    if errors.is_empty() {
        errors.push("nothing to solve".to_owned());
    }
    let stretch = summary.max_stretch.unwrap_or(1.0);
    errors.push(format!("largest stretch {stretch:.3}"));
    say(&format!("  {}", errors.join(", ")));
}
