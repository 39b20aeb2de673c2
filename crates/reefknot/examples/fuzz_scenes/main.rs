//! Fuzzer of the scene reader: reads mutated scene files, and builds and steps the accepted ones.
//! None may panic or hang, and each error must have a place.
//!
//! `cargo run --release --example fuzz_scenes -- [COUNT] [SEED] [FIRST]` prints one line of JSON,
//! and fails if there are findings. `FIRST` is the number of the first case, to repeat a case.
//! `FUZZ_SAMPLE=60` also prints 60 of the reports, and `FUZZ_SEEDS=1` the accepted cases of each
//! seed scene.

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
    if tally.is_clean() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
