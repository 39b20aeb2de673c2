//! Asks every query of a folder when its features collide, and compares with the exact truth.
//!
//! `cargo run --release --example ccd_queries -- DIR [--list]` reads the format of the benchmark of Wang et al., A large scale
//! benchmark and an inclusion-based algorithm for continuous collision detection (2021): below DIR, folders
//! `vertex-face` and `edge-edge` with `*.csv`, eight rows a query (four points at the start, four at the end), each `x, y, z` as
//! numerator and denominator, and the truth. Beside each file, `*.toi.csv` may hold hit, lower and upper bound of the
//! true time. Prints one JSON object; with `--list`, the queries that were missed, late or wrongly hit go to standard error.

use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use glam::DVec3;
use reefknot::collide::ccd;
use serde_json::json;

/// A query with its answer.
struct Query {
    is_edge_edge: bool,
    ends: [[DVec3; 4]; 2],
    hits: bool,
    /// Bounds of the true time.
    bracket: Option<[f64; 2]>,
    /// Its file and number.
    place: (usize, usize),
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
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [folder] => run(Path::new(folder), false),
        [folder, "--list"] => run(Path::new(folder), true),
        _ => Err("ccd_queries DIR [--list]".to_owned()),
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

fn run(folder: &Path, lists: bool) -> Result<String, String> {
    let mut files = Vec::new();
    find_files(folder, &mut files)?;
    let mut queries = Vec::new();
    for (index, file) in files.iter().enumerate() {
        read(file, index, &mut queries)?;
    }
    if queries.is_empty() {
        return Err(format!(
            "{}: no queries in *.csv below it",
            folder.display()
        ));
    }
    let (mean_us, max_us) = times(&queries);
    let [mut missed, mut extra, mut late] = [0; 3];
    let mut ratios = Vec::new();
    for query in &queries {
        let time = query.time();
        let is_late = match (time, query.bracket) {
            (Some(time), Some([_, upper])) if query.hits => time > upper,
            _ => false,
        };
        let is_missed = query.hits && time.is_none();
        let is_extra = !query.hits && time.is_some();
        missed += usize::from(is_missed);
        extra += usize::from(is_extra);
        late += usize::from(is_late);
        if let (Some(time), Some([lower, upper]), true) = (time, query.bracket, query.hits)
            && lower > 0.0
        {
            ratios.push(time / (0.5 * (lower + upper)));
        }
        if lists && (is_missed || is_extra || is_late) {
            let word = if is_missed {
                "missed"
            } else if is_late {
                "late"
            } else {
                "wrongly hit"
            };
            let (file, number) = query.place;
            eprintln!(
                "{word}: query {number} of {}, time {time:?}, truth {:?}",
                files[file].display(),
                query.bracket
            );
        }
    }
    let result = json!({
        "queries": queries.len(),
        "hits": queries.iter().filter(|query| query.hits).count(),
        "false_negatives": missed,
        "false_positives": extra,
        "late": late,
        "mean_us": mean_us,
        "max_us": max_us,
        "mean_time_over_true_time": ratios.iter().sum::<f64>() / ratios.len().max(1) as f64,
        "least_time_over_true_time": ratios.iter().copied().fold(f64::INFINITY, f64::min),
    });
    Ok(result.to_string())
}

/// Mean of all queries in a row, the best of five rounds, and the least of three times of the worst query (µs).
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

/// The files with queries, sorted.
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
                "{name}: its folder must be `edge-edge` or `vertex-face`"
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
        let hits = query[0][6] != 0.0;
        queries.push(Query {
            is_edge_edge,
            ends: [[0, 1, 2, 3].map(point), [4, 5, 6, 7].map(point)],
            hits,
            bracket: times
                .get(number)
                .filter(|_| hits)
                .map(|[_, lower, upper]| [*lower, *upper]),
            place: (index, number),
        });
    }
    Ok(())
}

/// Rows of numbers. Integers of any length are read as doubles, which they are.
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
            // The time of a miss is empty.
            if COLUMNS != 3 || !word.is_empty() {
                *value = word.parse().map_err(|_| {
                    format!("{}:{}: `{word}` is no number", file.display(), line + 1)
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
