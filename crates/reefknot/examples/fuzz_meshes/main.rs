//! Reads very many mutated mesh files of every format: none may panic or hang, what is accepted must be a
//! mesh, and each refusal must say where and what to do.
//!
//! `cargo run --release --example fuzz_meshes -- [COUNT] [SEED] [FIRST]` prints one line of JSON
//! and fails if something happened that must not. `FIRST` is the number of the first case, to look
//! at one again. With `FUZZ_SAMPLE=60` it also prints that many of the refusals.

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
    match tally.is_clean() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}
