//! Fuzzer of the mesh readers: reads mutated files of every format. None may panic or hang,
//! accepted meshes must be valid, and each error must have a place and advice.
//!
//! `cargo run --release --example fuzz_meshes -- [COUNT] [SEED] [FIRST]` prints one line of JSON,
//! and fails if there are findings. `FIRST` is the number of the first case, to repeat a case.
//! `FUZZ_SAMPLE=60` also prints 60 of the messages.

#[path = "../fuzz/arguments.rs"]
mod arguments;
mod cases;
#[path = "../fuzz/choices.rs"]
mod choices;
#[path = "../fuzz/guard.rs"]
mod guard;
mod mutate;
mod seeds;
mod write;

use std::process::ExitCode;

fn main() -> ExitCode {
    let [count, seed, first] = match arguments::numbers("fuzz_meshes", 5000) {
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
    for (kind, case, what, file) in &tally.findings {
        let file: String = file.chars().take(20_000).collect();
        let what: String = what.chars().take(4_000).collect();
        eprintln!("== {kind} in case {case}\n{what}\n-- the file\n{file}\n");
    }
    for refusal in tally.sample.iter().take(arguments::sample()) {
        eprintln!("{refusal}");
    }
    println!("{}", tally.json());
    if tally.is_clean() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
