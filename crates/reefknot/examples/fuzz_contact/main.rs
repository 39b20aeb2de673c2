//! Fuzzer of contact: runs small random scenes with colliders that teleport, crush and spin, pins
//! that drag, extreme ratios of stiffness and mass, and long steps. A step may fail with an error,
//! but no accepted step may intersect or contain a value that is not finite, and none may panic or
//! hang.
//!
//! `cargo run --release -p reefknot --example fuzz_contact -- COUNT [SEED] [--save DIR]` runs the
//! scenes of `COUNT` seeds from `SEED` on and prints one line of JSON; it fails if there are
//! findings. Scenes with a step of more than 20 s are `slow` and abandoned. `--save` writes the
//! scenes with findings, and the current one, to a folder. `fuzz_contact FILE.toml` runs a saved
//! scene again. `FUZZ_CASES=1` prints the end of each scene.

mod cases;
#[path = "../fuzz/choices.rs"]
mod choices;
mod generate;
mod objects;
mod violations;

use std::path::PathBuf;
use std::process::ExitCode;

use cases::{Scenes, Tally};

const USAGE: &str = "fuzz_contact COUNT [SEED] [--save DIR], or fuzz_contact FILE.toml";

/// Scenes to run, and folder for those with findings.
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
            return Ok((Scenes::Text(text), None));
        }
        let number = argument.parse();
        numbers.push(number.map_err(|_| format!("`{argument}` is not a number; usage: {USAGE}"))?);
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

/// Runs the scenes of the command line.
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
        eprintln!(
            "== {kind} in step {step} of seed {seed}\n{}",
            finding.description
        );
    }
    if let Some(message) = &tally.not_built_example {
        eprintln!("== the generated scene is invalid\n{message}");
    }
    println!("{}", tally.json());
    if tally.findings.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
