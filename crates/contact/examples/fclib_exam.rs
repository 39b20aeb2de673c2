//! Solves all FCLIB problems of a folder with all solvers that support them, for three tolerances.
//! Prints a line of JSON per solve.
//!
//! Usage: `cargo run --release -p reefknot-contact --example fclib_exam -- DIR`

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Instant;

use reefknot_contact::file::ProblemFile;
use reefknot_contact::solve::table::{SOLVERS, SolverEntry};
use reefknot_contact::task::{Grade, Task, check_support};

const TOLERANCES: [f64; 3] = [1e-4, 1e-6, 1e-8];

/// The time is the shortest of this many runs.
const RUNS: usize = 3;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("usage: fclib_exam DIR")?;
    let files = std::fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path()));
    let mut files: Vec<PathBuf> = files.collect::<Result<_, _>>()?;
    files.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "hdf5")
    });
    files.sort();
    for path in files {
        let problem = ProblemFile::from_bytes(&std::fs::read(&path)?)?;
        for solver in SOLVERS
            .iter()
            .filter(|solver| check_support(solver, &problem).is_ok())
        {
            for tolerance in TOLERANCES {
                measure(&path, &problem, solver, tolerance)?;
            }
        }
    }
    Ok(())
}

/// Solves a problem several times and prints a line.
fn measure(
    path: &Path,
    problem: &ProblemFile,
    solver: &'static SolverEntry,
    tolerance: f64,
) -> Result<(), Box<dyn Error>> {
    let mut time = f64::INFINITY;
    for run in 1..=RUNS {
        let problem = problem.clone();
        let began = Instant::now();
        let mut task = Task::new(problem)?;
        let (answer, outcome) = task.solve(solver, tolerance)?;
        time = time.min(began.elapsed().as_secs_f64());
        if run < RUNS {
            continue;
        }
        let grade = task.grade(&answer)?;
        let Grade::Relative {
            natural_map_error,
            scaled_error,
        } = grade
        else {
            return Err("the grade of an FCLIB problem must be relative".into());
        };
        println!(
            "{{\"problem\":{:?},\"solver\":{:?},\"tolerance\":{tolerance:e},\"contacts\":{},\
             \"time_s\":{time:.6},\"iterations\":{},\
             \"natural_map_error\":{natural_map_error:e},\"scaled_error\":{scaled_error:e},\
             \"converged\":{}}}",
            path.file_stem().unwrap_or_default().to_string_lossy(),
            solver.name,
            task.contacts(),
            outcome.iterations,
            grade.is_within(tolerance),
        );
    }
    Ok(())
}
