//! Ablation study of `admm`, as in Daviet 2020, Table 3, on captured problems: iterations and time
//! to an error of 0.01 mm, and the error after 25 iterations. Prints a line of JSON per variant,
//! with the mean over all problems.
//!
//! ```sh
//! reefknot run hairy-ball --frames 24 --capture 60,70,80,90
//! cargo run --release -p reefknot-contact --example ablation -- \
//!     runs/hairy-ball/problems/*.safetensors
//! ```

use std::error::Error;
use std::time::Instant;

use reefknot_contact::file::problem::CapturedProblem;
use reefknot_contact::solve::admm::{Admm, AdmmOptions, LocalSolver, WeightRule};
use reefknot_contact::solve::{Limits, NoRefinement, Solver};
use reefknot_contact::system::FactorCache;

/// Tolerance of the errors (m).
const TOLERANCE: f64 = 1e-5;

/// A problem that needs more iterations counts as failed.
const MAX_ITERATIONS: usize = 1000;

/// Iterations in Table 3 of the paper.
const TABLE_ITERATIONS: usize = 25;

/// Default options without polishing.
fn base() -> AdmmOptions {
    AdmmOptions {
        polishes: false,
        ..AdmmOptions::default()
    }
}

/// Names and options of the variants.
fn variants() -> Vec<(&'static str, AdmmOptions)> {
    let base = base();
    vec![
        ("ours", base),
        (
            "without sleeping",
            AdmmOptions {
                sleeps: false,
                ..base
            },
        ),
        (
            "general local solver",
            AdmmOptions {
                local: LocalSolver::General,
                ..base
            },
        ),
        (
            "not accelerated",
            AdmmOptions {
                is_accelerated: false,
                ..base
            },
        ),
        (
            "weights of the paper",
            AdmmOptions {
                weights: WeightRule::PAPER,
                ..base
            },
        ),
        (
            "weights of the paper, not accelerated",
            AdmmOptions {
                weights: WeightRule::PAPER,
                is_accelerated: false,
                ..base
            },
        ),
        ("as printed", AdmmOptions::as_printed()),
    ]
}

/// Iterations, seconds and the contact error (m) of a solve, and whether it converged.
fn solve(
    captured: &CapturedProblem,
    options: AdmmOptions,
    iterations: usize,
) -> Result<(usize, f64, f64, bool), Box<dyn Error>> {
    let mut problem = captured.problem.clone();
    let mut factors = FactorCache::default();
    factors.get(&problem.system)?;
    let limits = Limits {
        tolerance: TOLERANCE,
        iterations,
    };
    let mut solver = Admm::new(options);
    let began = Instant::now();
    let solved = solver.solve(
        &mut problem,
        &mut factors,
        &captured.warm,
        limits,
        &mut NoRefinement,
    )?;
    let seconds = began.elapsed().as_secs_f64();
    let (solution, outcome) = solved;
    let error = problem.contact_error(&solution.velocities, &solution.impulses);
    Ok((outcome.iterations, seconds, error, outcome.is_converged))
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut problems = Vec::new();
    for path in std::env::args().skip(1) {
        problems.push(CapturedProblem::from_bytes(&std::fs::read(path)?)?);
    }
    let count = problems.len().max(1) as f64;
    let contacts: usize = problems.iter().map(|it| it.problem.contacts.len()).sum();
    for (name, options) in variants() {
        let (mut iterations, mut seconds, mut failures) = (0, 0.0, 0);
        let (mut table_error, mut table_seconds) = (0.0, 0.0);
        for captured in &problems {
            let (_, time, error, _) = solve(captured, options, TABLE_ITERATIONS)?;
            table_error += error;
            table_seconds += time;
            let (needed, time, _, is_converged) = solve(captured, options, MAX_ITERATIONS)?;
            iterations += needed;
            seconds += time;
            failures += usize::from(!is_converged);
        }
        println!(
            "{{\"way\":\"{name}\",\"problems\":{},\"contacts\":{:.0},\
             \"error_after_25_m\":{:.2e},\"time_of_25_s\":{:.3},\"iterations\":{:.1},\
             \"time_s\":{:.3},\"failures\":{failures}}}",
            problems.len(),
            contacts as f64 / count,
            table_error / count,
            table_seconds / count,
            iterations as f64 / count,
            seconds / count,
        );
    }
    Ok(())
}
