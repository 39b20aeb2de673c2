//! Runs very many small scenes that abuse contact: colliders that teleport, crush and spin, pins that drag, stiffnesses and masses far
//! apart, long steps. A step may fail and say why, but no accepted one may intersect or hold a number that is not finite, and none may
//! panic or hang.
//!
//! `cargo run --release -p reefknot --example fuzz_contact -- COUNT [SEED] [--save DIR]` runs the scenes of `COUNT` seeds from `SEED` on and
//! prints one line of JSON; it fails if something happened that must not. Seeds with a step of more than 20 s are `slow`, and left at
//! it. With `--save`, the scenes in which something happened are written to a folder, and the one that runs is there while it runs.
//! `fuzz_contact FILE.toml` runs a scene again, as it was written or cut down by hand. With `FUZZ_CASES=1` it prints how each scene ended.

mod abuse;
mod cases;
#[path = "../fuzz/choices.rs"]
mod choices;
mod offences;
mod things;

use std::path::PathBuf;
use std::process::ExitCode;

use cases::{Scenes, Tally};

const USAGE: &str = "fuzz_contact COUNT [SEED] [--save DIR], or fuzz_contact FILE.toml";

/// Which scenes to run, and where to put those of findings.
fn arguments() -> Result<(Scenes, Option<PathBuf>), String> {
    let mut numbers = Vec::new();
    let mut save = None;
    let mut rest = std::env::args().skip(1);
    while let Some(argument) = rest.next() {
        if argument == "--save" {
            let folder = rest.next().ok_or(USAGE)?;
            save = Some(PathBuf::from(folder));
            continue;
        }
        if argument.ends_with(".toml") {
            let text = std::fs::read_to_string(&argument);
            let text = text.map_err(|error| format!("{argument}: {error}"))?;
            return Ok((Scenes::Written(text), None));
        }
        let number = argument.parse();
        numbers.push(number.map_err(|_| format!("`{argument}` is no count: {USAGE}"))?);
    }
    match numbers[..] {
        [count] => Ok((Scenes::Seeds((1..=count).collect()), save)),
        [count, seed] => {
            let end = seed.saturating_add(count);
            Ok((Scenes::Seeds((seed..end).collect()), save))
        }
        _ => Err(USAGE.to_owned()),
    }
}

/// Runs the scenes that the command line asks for.
fn run() -> Result<Tally, String> {
    let (scenes, save) = arguments()?;
    cases::run(scenes, save.as_deref()).map_err(|error| error.to_string())
}

fn main() -> ExitCode {
    let tally = match run() {
        Ok(tally) => tally,
        Err(message) => {
            eprintln!("{message}");
            return ExitCode::from(2);
        }
    };
    for finding in &tally.findings {
        let (kind, seed, step) = (finding.kind, finding.seed, finding.step);
        eprintln!("== {kind} in step {step} of seed {seed}\n{}", finding.what);
    }
    if let Some(message) = &tally.not_built_example {
        eprintln!("== a scene that is not built\n{message}");
    }
    println!("{}", tally.json());
    match tally.findings.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}
