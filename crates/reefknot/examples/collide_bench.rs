//! Time of collision detection: surfaces with a new tree, and grooms with a refitted tree.
//!
//! `cargo run --release --example collide_bench -- cases [--write DIR]` measures broad and narrow
//! phase of two folded cloths and of steps of a cloth that drapes over a ball, on one thread and on
//! two. `--write` also writes the cases for `bench/peers/collide.py`, which runs this program.
//! `collide_bench cloths` measures the folded cloths only; draping takes minutes. `collide_bench
//! grooms` measures refit and candidates of up to 500,000 segments of hair on two threads, and
//! `collide_bench hair [STRANDS]` those of swinging hair. All print one JSON object. Times are the
//! best of several runs: `ms` is wall time, `cpu_ms` CPU time of all threads.

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

/// End times of the measured steps of the drape (s): falling onto the ball, hanging, and folding.
const DRAPE_TIMES: [f64; 3] = [0.2, 0.4, 0.7];

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
            Err(_) => Err(format!("{strands} is not a number of strands")),
        },
        _ => Err(
            "usage: collide_bench cases [--write DIR] | cloths | grooms | hair [STRANDS]"
                .to_owned(),
        ),
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
    cases.extend(drape::record(120, &DRAPE_TIMES)?);
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
        result[format!("threads_{threads}")] = best::on_threads(threads, || case.measure())?;
    }
    Ok(result)
}
