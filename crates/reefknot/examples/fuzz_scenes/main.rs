//! Reads very many mutated scene files, and builds and steps those that are accepted: none may
//! panic or hang, and each refusal must say where.
//!
//! `cargo run --release --example fuzz_scenes -- [COUNT] [SEED] [FIRST]` prints one line of JSON
//! and fails if something happened that must not. `FIRST` is the number of the first case, to look
//! at one again. With `FUZZ_SAMPLE=60` it also prints that many of the reports, and with `FUZZ_SEEDS=1` how many of the
//! cases made from each scene were accepted.

#[path = "../fuzz/arguments.rs"]
mod arguments;
mod cases;
#[path = "../fuzz/choices.rs"]
mod choices;
#[path = "../fuzz/guard.rs"]
mod guard;
mod mutate;
mod seeds;

use std::process::ExitCode;

fn main() -> ExitCode {
    let [count, seed, first] = match arguments::numbers("fuzz_scenes", 10_000) {
        Ok(numbers) => numbers,
        Err(message) => {
            eprintln!("{message}");
            return ExitCode::from(2);
        }
    };
    let tally = match cases::run(first, count, seed) {
        Ok(tally) => tally,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    for (kind, case, what, scene) in &tally.findings {
        let scene: String = scene.chars().take(20_000).collect();
        let what: String = what.chars().take(4_000).collect();
        eprintln!("== {kind} in case {case}\n{what}\n-- the scene\n{scene}\n");
    }
    for report in tally.sample.iter().take(arguments::sample()) {
        eprintln!("{report}\n");
    }
    if std::env::var("FUZZ_SEEDS").is_ok() {
        eprintln!("{}", tally.accepted_by_seed());
    }
    println!("{}", tally.json());
    match tally.is_clean() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}
