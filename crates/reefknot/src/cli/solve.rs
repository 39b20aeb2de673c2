//! `reefknot solve`.

use std::path::Path;
use std::time::{Duration, Instant};

use reefknot_contact::file::ProblemFile;
use reefknot_contact::file::fclib::FclibProblem;
use reefknot_contact::file::solution::{Answer, SubmittedSolution};
use reefknot_contact::solve::SolveOutcome;
use reefknot_contact::solve::table::{SOLVERS, SolverEntry};
use reefknot_contact::task::{Grade, Task, check_support, solver_named};
use reefknot_sim::io::IoError;
use reefknot_sim::io::atomic::write_atomically;
use serde_json::{Value as Json, json};

use crate::cli::arguments::{SolveArguments, SummaryFormat};
use crate::cli::progress::clock;
use crate::cli::{FAILED, Failure, say, thread_pool};

/// Default tolerance of both errors of an FCLIB problem.
const FCLIB_TOLERANCE: f64 = 1e-6;

/// A solution with its errors.
struct Solved {
    task: Task,
    answer: Answer,
    grade: Grade,
    /// Outcome of the solver; `None` for a solution from a file.
    outcome: Option<SolveOutcome>,
    time: Duration,
    tolerance: f64,
}

pub(crate) fn solve(arguments: &SolveArguments) -> Result<u8, Failure> {
    let solver = solver_named(&arguments.solver).map_err(refused)?;
    let pool = thread_pool(arguments.threads)?;
    check_outputs(arguments)?;
    let bytes = read(&arguments.problem)?;
    let problem = ProblemFile::from_bytes(&bytes).map_err(|error| no_problem(arguments, error))?;
    if arguments.grade.is_none() {
        check_support(solver, &problem).map_err(refused)?;
    }
    if let Some(path) = &arguments.to_fclib {
        let title = arguments.problem.file_stem().unwrap_or_default();
        let fclib = problem.to_fclib();
        write(
            path,
            &fclib.to_bytes(&title.to_string_lossy()).map_err(refused)?,
        )?;
    }
    let kind = kind(&problem);
    let solved = pool.install(|| match &arguments.grade {
        Some(path) => grade(arguments, problem, path),
        None => compute(arguments, problem, solver),
    })?;
    if let Some(path) = &arguments.write {
        write(path, &solved.answer.to_bytes())?;
    }
    if !arguments.quiet {
        print_result(arguments, &solved, kind);
    }
    if let Some(SummaryFormat::Json) = arguments.summary {
        say(&summary(arguments, &solved).to_string());
    }
    Ok(if solved.is_converged() { 0 } else { FAILED })
}

impl Solved {
    /// Whether the errors are within the tolerance and the solver reports convergence. Errors alone
    /// do not suffice: in a problem without a solution, very large impulses have small errors.
    fn is_converged(&self) -> bool {
        let has_converged = self.outcome.is_none_or(|outcome| outcome.is_converged);
        has_converged && self.grade.is_within(self.tolerance)
    }

    /// Number of entries of v, or of r in a problem without v.
    fn dofs(&self) -> usize {
        match self.task {
            Task::Local(_) => 3 * self.task.contacts(),
            _ => self.task.unknowns(),
        }
    }

    /// Both errors: name in the summary, name in the printed result, value.
    fn errors(&self) -> [(&'static str, &'static str, f64); 2] {
        match self.grade {
            Grade::Relative {
                natural_map_error,
                scaled_error,
            } => [
                ("natural_map_error", "natural map", natural_map_error),
                ("scaled_error", "scaled", scaled_error),
            ],
            Grade::Metres(errors) => [
                ("contact_error_m", "contact (m)", errors.contact),
                ("momentum_error_m", "momentum (m)", errors.momentum),
            ],
        }
    }
}

fn compute(
    arguments: &SolveArguments,
    problem: ProblemFile,
    solver: &'static SolverEntry,
) -> Result<Solved, Failure> {
    let tolerance = tolerance(arguments, &problem);
    let began = Instant::now();
    let mut task = Task::new(problem).map_err(refused)?;
    let (answer, outcome) = task.solve(solver, tolerance).map_err(refused)?;
    let time = began.elapsed();
    let grade = task.grade(&answer).map_err(refused)?;
    Ok(Solved {
        task,
        answer,
        grade,
        outcome: Some(outcome),
        time,
        tolerance,
    })
}

fn grade(arguments: &SolveArguments, problem: ProblemFile, path: &Path) -> Result<Solved, Failure> {
    let tolerance = tolerance(arguments, &problem);
    let bytes = read(path)?;
    let began = Instant::now();
    let mut task = Task::new(problem).map_err(refused)?;
    let claim = SubmittedSolution::from_bytes(&bytes, task.contacts(), task.unknowns()).map_err(
        |error| {
            let path = path.display();
            Failure::refused(format!("{path} is not a solution of this problem: {error}"))
        },
    )?;
    let answer = task.complete(claim).map_err(refused)?;
    let time = began.elapsed();
    let grade = task.grade(&answer).map_err(refused)?;
    Ok(Solved {
        task,
        answer,
        grade,
        outcome: None,
        time,
        tolerance,
    })
}

fn tolerance(arguments: &SolveArguments, problem: &ProblemFile) -> f64 {
    arguments.tol.unwrap_or(match problem {
        ProblemFile::Fclib(_) => FCLIB_TOLERANCE,
        ProblemFile::Captured(captured) => captured.tolerance,
    })
}

fn kind(problem: &ProblemFile) -> &'static str {
    match problem {
        ProblemFile::Fclib(FclibProblem::Local(_)) => "FCLIB, local",
        ProblemFile::Fclib(FclibProblem::Global(_)) => "FCLIB, global",
        ProblemFile::Captured(_) => "captured",
    }
}

/// Refuses output files that cannot be written, before the problem is solved.
fn check_outputs(arguments: &SolveArguments) -> Result<(), Failure> {
    let outputs = [
        ("--write", &arguments.write),
        ("--to-fclib", &arguments.to_fclib),
    ];
    let named = outputs
        .into_iter()
        .filter_map(|(option, path)| Some((option, path.as_ref()?)));
    let named: Vec<_> = named.collect();
    for (option, path) in &named {
        let refuse = |reason: &str| {
            let path = path.display();
            Err(Failure::refused(format!("{option} {path}: {reason}")))
        };
        let parent = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        if path.is_dir() {
            return refuse("this is a folder; give a file name");
        }
        if path.exists() && !path.is_file() {
            return refuse("this is not a regular file, and is not overwritten");
        }
        if !parent.is_dir() {
            return refuse("its folder does not exist; create it first");
        }
        if is_same(path, &arguments.problem) {
            return refuse("it would overwrite the problem; give another file name");
        }
    }
    match named[..] {
        [(_, one), (_, other)] if one == other => Err(Failure::refused(format!(
            "--write and --to-fclib are both {}; give two file names",
            one.display()
        ))),
        _ => Ok(()),
    }
}

fn is_same(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(path).map_err(|error| Failure::refused(IoError::read(path, error).to_string()))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    write_atomically(path, bytes, false).map_err(|error| Failure::of_export(&error))
}

fn refused(error: impl std::fmt::Display) -> Failure {
    Failure::refused(error.to_string())
}

fn no_problem(arguments: &SolveArguments, error: impl std::fmt::Display) -> Failure {
    let path = arguments.problem.display();
    Failure::refused(format!("{path} is not a contact problem: {error}"))
}

/// Prints size, solver, errors and result.
fn print_result(arguments: &SolveArguments, solved: &Solved, kind: &str) {
    let line = |name: &str, text: &str| say(&format!("{name:<10} {text}"));
    line(
        "problem",
        &format!("{} ({kind})", arguments.problem.display()),
    );
    line("contacts", &solved.task.contacts().to_string());
    line("unknowns", &solved.dofs().to_string());
    let time = clock(solved.time.as_secs_f64());
    match (&arguments.grade, &solved.outcome) {
        (_, Some(outcome)) => {
            let iterations = outcome.iterations;
            line(
                "solver",
                &format!("{}, {iterations} iterations, {time}", arguments.solver),
            );
        }
        (Some(path), None) => line("solution", &path.display().to_string()),
        (None, None) => {}
    }
    let errors = solved.errors();
    let errors = errors.map(|(_, name, error)| format!("{name} {error:.2e}"));
    line(
        "errors",
        &format!("{} (tolerance {:.0e})", errors.join(", "), solved.tolerance),
    );
    line("result", result(arguments, solved));
}

fn result(arguments: &SolveArguments, solved: &Solved) -> &'static str {
    match (solved.is_converged(), &solved.outcome) {
        (true, Some(_)) => "converged",
        (true, None) => "within the tolerance",
        (false, None) => "not within the tolerance",
        (false, Some(_)) if arguments.solver == SOLVERS[0].name => {
            "not converged; this is the best solution found. Try a larger --tol; \
             the contacts may also be infeasible"
        }
        (false, Some(_)) => "not converged; try --solver robust",
    }
}

fn summary(arguments: &SolveArguments, solved: &Solved) -> Json {
    let solver = match solved.outcome {
        Some(_) => arguments.solver.as_str(),
        None => "none",
    };
    let mut summary = json!({
        "problem": arguments.problem.display().to_string(),
        "solver": solver,
        "contacts": solved.task.contacts(),
        "dofs": solved.dofs(),
        "iterations": solved.outcome.map_or(0, |outcome| outcome.iterations),
        "time_s": solved.time.as_secs_f64(),
        "converged": solved.is_converged(),
    });
    for (name, _, error) in solved.errors() {
        summary[name] = json!(error);
    }
    summary
}
