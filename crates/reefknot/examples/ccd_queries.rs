//! Continuous collision detection on a benchmark with exact results.
//!
//! `cargo run --release --example ccd_queries -- DIR [--list]` reads the format of Wang et al., A
//! large scale benchmark and an inclusion-based algorithm for continuous collision detection
//! (2021): below DIR, folders `vertex-face` and `edge-edge` with `*.csv`. A query has eight rows
//! (four points at the start, four at the end), each with `x, y, z` as numerators and denominators,
//! and the exact result. An optional file `*.toi.csv` next to each contains hit, lower and upper
//! bound of the exact time of impact. Prints one JSON object; `--list` also prints false negatives,
//! false positives and late results to standard error.

use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use glam::DVec3;
use reefknot_sim::collide::ccd;
use serde_json::json;

/// A query with its exact result.
struct Query {
    is_edge_edge: bool,
    ends: [[DVec3; 4]; 2],
    is_hit: bool,
    /// Bounds of the exact time of impact.
    exact_time: Option<[f64; 2]>,
    /// File, and number in the file.
    place: (usize, usize),
}

/// Kinds of wrong results.
#[derive(Clone, Copy, Debug)]
enum Failure {
    FalseNegative,
    FalsePositive,
    /// After the exact time of impact.
    Late,
}

impl Query {
    fn time(&self) -> Option<f64> {
        let [from, to] = &self.ends;
        let search = if self.is_edge_edge {
            ccd::edge_edge
        } else {
            ccd::point_triangle
        };
        search(from, to, 0.0).map(|impact| impact.time)
    }

    /// Failure of a computed time of impact.
    fn failure(&self, time: Option<f64>) -> Option<Failure> {
        match (self.is_hit, time) {
            (true, None) => Some(Failure::FalseNegative),
            (false, Some(_)) => Some(Failure::FalsePositive),
            (true, Some(time)) => {
                let is_late = self.exact_time.is_some_and(|[_, upper]| time > upper);
                is_late.then_some(Failure::Late)
            }
            (false, None) => None,
        }
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [folder] => run(Path::new(folder), false),
        [folder, "--list"] => run(Path::new(folder), true),
        _ => Err("usage: ccd_queries DIR [--list]".to_owned()),
    };
    match result {
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

fn run(folder: &Path, lists_failures: bool) -> Result<String, String> {
    let mut files = Vec::new();
    find_files(folder, &mut files)?;
    let mut queries = Vec::new();
    for (index, file) in files.iter().enumerate() {
        read(file, index, &mut queries)?;
    }
    if queries.is_empty() {
        return Err(format!(
            "{}: no queries in *.csv files below this folder",
            folder.display()
        ));
    }
    let (mean_us, max_us) = times(&queries);
    let [mut false_negatives, mut false_positives, mut late] = [0; 3];
    let mut ratios = Vec::new();
    for query in &queries {
        let time = query.time();
        let failure = query.failure(time);
        match failure {
            Some(Failure::FalseNegative) => false_negatives += 1,
            Some(Failure::FalsePositive) => false_positives += 1,
            Some(Failure::Late) => late += 1,
            None => {}
        }
        if let (Some(time), Some([lower, upper]), true) = (time, query.exact_time, query.is_hit)
            && lower > 0.0
        {
            ratios.push(time / (0.5 * (lower + upper)));
        }
        if let (true, Some(failure)) = (lists_failures, failure) {
            let (file, number) = query.place;
            eprintln!(
                "{failure:?}: query {number} of {}, time {time:?}, exact {:?}",
                files[file].display(),
                query.exact_time
            );
        }
    }
    let result = json!({
        "queries": queries.len(),
        "hits": queries.iter().filter(|query| query.is_hit).count(),
        "false_negatives": false_negatives,
        "false_positives": false_positives,
        "late": late,
        "mean_us": mean_us,
        "max_us": max_us,
        "mean_time_over_true_time": ratios.iter().sum::<f64>() / ratios.len().max(1) as f64,
        "least_time_over_true_time": ratios.iter().copied().fold(f64::INFINITY, f64::min),
    });
    Ok(result.to_string())
}

/// Mean time of a query, the best of five rounds over all; and the time of the slowest query, with
/// the best of three for each (µs).
fn times(queries: &[Query]) -> (f64, f64) {
    let microseconds = |start: Instant| start.elapsed().as_secs_f64() * 1e6;
    let mut mean = f64::INFINITY;
    for _ in 0..5 {
        let start = Instant::now();
        for query in queries {
            black_box(query.time());
        }
        mean = mean.min(microseconds(start) / queries.len() as f64);
    }
    let worst = queries.iter().map(|query| {
        let repeats = [(); 3].map(|()| {
            let start = Instant::now();
            black_box(query.time());
            microseconds(start)
        });
        repeats.into_iter().fold(f64::INFINITY, f64::min)
    });
    (mean, worst.fold(0.0, f64::max))
}

/// Appends all query files below a folder, sorted.
fn find_files(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    let problem = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder).map_err(problem)? {
        entries.push(entry.map_err(problem)?.path());
    }
    entries.sort();
    for path in entries {
        let name = path.to_string_lossy().into_owned();
        if path.is_dir() {
            find_files(&path, files)?;
        } else if name.ends_with(".csv") && !name.ends_with(".toi.csv") {
            files.push(path);
        }
    }
    Ok(())
}

fn read(file: &Path, index: usize, queries: &mut Vec<Query>) -> Result<(), String> {
    let name = file.to_string_lossy();
    let is_edge_edge = match (name.contains("edge-edge"), name.contains("vertex-face")) {
        (true, false) => true,
        (false, true) => false,
        _ => {
            return Err(format!(
                "{name}: the folder must be `edge-edge` or `vertex-face`"
            ));
        }
    };
    let rows = numbers::<7>(file)?;
    let times = file.with_extension("toi.csv");
    let times = if times.exists() {
        numbers::<3>(&times)?
    } else {
        Vec::new()
    };
    if !rows.len().is_multiple_of(8) || !(times.is_empty() || times.len() == rows.len() / 8) {
        return Err(format!(
            "{name}: {} rows, {} times; a query has 8 rows and 1 time",
            rows.len(),
            times.len()
        ));
    }
    for (number, query) in rows.chunks_exact(8).enumerate() {
        let point = |row: usize| {
            let [a, b, c, d, e, f, _] = query[row];
            DVec3::new(a / b, c / d, e / f)
        };
        let is_hit = query[0][6] != 0.0;
        queries.push(Query {
            is_edge_edge,
            ends: [[0, 1, 2, 3].map(point), [4, 5, 6, 7].map(point)],
            is_hit,
            exact_time: times
                .get(number)
                .filter(|_| is_hit)
                .map(|[_, lower, upper]| [*lower, *upper]),
            place: (index, number),
        });
    }
    Ok(())
}

/// Rows of numbers. The integers of the benchmark are exact as doubles.
fn numbers<const COLUMNS: usize>(file: &Path) -> Result<Vec<[f64; COLUMNS]>, String> {
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let mut rows = Vec::new();
    for (line, row) in text.lines().enumerate() {
        let is_heading = line == 0 && row.starts_with(|first: char| first.is_alphabetic());
        if row.trim().is_empty() || is_heading {
            continue;
        }
        let mut values = [f64::NAN; COLUMNS];
        let mut words = row.split(',');
        for value in &mut values {
            let word = words.next().unwrap_or_default().trim();
            // The time of a query without impact is empty.
            if COLUMNS != 3 || !word.is_empty() {
                *value = word.parse().map_err(|_| {
                    format!("{}:{}: `{word}` is not a number", file.display(), line + 1)
                })?;
            }
        }
        if words.next().is_some() {
            return Err(format!(
                "{}:{}: more than {COLUMNS} columns",
                file.display(),
                line + 1
            ));
        }
        rows.push(values);
    }
    Ok(rows)
}
