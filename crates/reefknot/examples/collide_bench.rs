//! How long collision detection takes: surfaces from nothing, and grooms with a tree that is kept.
//!
//! `cargo run --release --example collide_bench -- cases [--write DIR]` measures two folded cloths and steps of a cloth
//! that drapes over a ball, on one thread and on two: finding candidates, and when they collide. `--write` also writes the cases
//! for `bench/peers/collide.py`, which runs this program; `collide_bench cloths` measures the folded cloths only, without the minutes that draping takes. `collide_bench grooms` measures refitting and candidates of up to 500,000
//! segments of hair on two threads, and `collide_bench hair [STRANDS]` those of hair that swings. All print one JSON object. Times are the best of several, `ms` by the clock and `cpu_ms` by the processor, of all threads.

#[path = "collide_bench/best.rs"]
mod best;
#[path = "collide_bench/cases.rs"]
mod cases;
#[path = "collide_bench/drape.rs"]
mod drape;
#[path = "collide_bench/grooms.rs"]
mod grooms;
#[path = "collide_bench/hair.rs"]
mod hair;

use std::path::Path;
use std::process::ExitCode;

use serde_json::{Value, json};

/// Steps of the drape that are measured, by when they end (s): falling onto the ball, hanging, and folding.
const DRAPE: [f64; 3] = [0.2, 0.4, 0.7];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["cases"] => measure_cases(None),
        ["cloths"] => measure_case(&cases::folded_cloths(200)),
        ["cases", "--write", folder] => measure_cases(Some(Path::new(folder))),
        ["grooms"] => grooms::measure(&[50_000, 100_000, 200_000, 500_000]),
        ["hair"] => hair::measure(16_000),
        ["hair", strands] => match strands.parse() {
            Ok(strands) => hair::measure(strands),
            Err(_) => Err(format!("{strands} is no number of strands")),
        },
        _ => Err("collide_bench cases [--write DIR], cloths, grooms, or hair [STRANDS]".to_owned()),
    };
    match result {
        Ok(result) => {
            println!("{result:#}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

fn measure_cases(folder: Option<&Path>) -> Result<Value, String> {
    let mut cases = vec![cases::folded_cloths(200)];
    cases.extend(drape::record(120, &DRAPE)?);
    let mut results = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        if let Some(folder) = folder {
            case.write(&folder.join(number.to_string()))?;
        }
        results.push(measure_case(case)?);
    }
    Ok(Value::Array(results))
}

fn measure_case(case: &cases::Case) -> Result<Value, String> {
    let mut result = json!({ "name": case.name, "triangles": case.triangles.len() });
    for threads in [1, 2] {
        result[format!("threads_{threads}")] = best::on(threads, || case.measure())?;
    }
    Ok(result)
}
