//! Time of an implicit step by phases, and lower bounds of this machine.
//!
//! `cargo run --release -p reefknot --example step_bench -- [THREADS] [REPETITIONS]` prints one
//! JSON object. Each scene is measured in a separate process, for its own memory, together with its
//! bounds, so that other load on the machine slows both. `step_bench scene NAME` prints a scene as
//! a file for `reefknot run`.

#[path = "step_bench/bounds.rs"]
mod bounds;
#[path = "step_bench/measure.rs"]
mod measure;
#[path = "step_bench/scenes.rs"]
mod scenes;

use std::process::{Command, ExitCode};

use measure::Size;
use serde_json::{Map, Value};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &[String]) -> Result<String, String> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["scene", name] => scenes::text(name, scenes::FULL),
        ["measure", name, threads, repetitions] => {
            let size = Size {
                scene: scenes::FULL,
                threads: number(threads)?,
                repetitions: number(repetitions)?,
                bound: bounds::FULL,
            };
            Ok(measure::measure(name, &size)?.to_string())
        }
        [] => measure_all("2", "15"),
        [threads] => measure_all(threads, "15"),
        [threads, repetitions] => measure_all(threads, repetitions),
        _ => Err("usage: step_bench [THREADS] [REPETITIONS], or step_bench scene NAME".to_owned()),
    }
}

fn number(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| format!("`{text}` is not a number of threads or repetitions"))
}

/// Measures every scene, each in a separate process.
fn measure_all(threads: &str, repetitions: &str) -> Result<String, String> {
    number(threads)?;
    number(repetitions)?;
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut results = Map::new();
    for name in scenes::NAMES {
        let output = Command::new(&program)
            .args(["measure", name, threads, repetitions])
            .output()
            .map_err(|error| error.to_string())?;
        let text = String::from_utf8_lossy(&output.stdout);
        let result: Value = serde_json::from_str(&text)
            .map_err(|error| format!("{error}: {}", String::from_utf8_lossy(&output.stderr)))?;
        results.insert(name.to_owned(), result);
    }
    serde_json::to_string_pretty(&results).map_err(|error| error.to_string())
}
