//! Reads very many mutated scene files, and builds and steps those that are accepted: none may
//! panic or hang, and each refusal must say where.
//!
//! `cargo run --release --example fuzz_scenes -- [COUNT] [SEED] [FIRST]` prints one line of JSON
//! and fails if something happened that must not. `FIRST` is the number of the first case, to look
//! at one again. With `FUZZ_SAMPLE=60` it also prints that many of the reports, and with `FUZZ_SEEDS=1` how many of the
//! cases made from each scene were accepted.

mod cases;
mod mutate;
mod seeds;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: u64| match arguments.next() {
        Some(text) => text.parse::<u64>().map_err(|_| text),
        None => Ok(default),
    };
    let (count, seed, first) = match (number(10_000), number(1), number(0)) {
        (Ok(count), Ok(seed), Ok(first)) => (count, seed, first),
        (Err(text), ..) | (_, Err(text), _) | (.., Err(text)) => {
            eprintln!("`{text}` is no count: fuzz_scenes [COUNT] [SEED] [FIRST]");
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
    let sample = std::env::var("FUZZ_SAMPLE").ok();
    let sample = sample.and_then(|text| text.parse().ok()).unwrap_or(0);
    for report in tally.sample.iter().take(sample) {
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
