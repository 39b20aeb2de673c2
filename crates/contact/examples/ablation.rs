//! What the parts of `admm` are worth, as in Daviet 2020, Table 3, on problems that a run has captured: iterations and time to 0.01 mm, and what is left after
//! 25 iterations. Prints a line of JSON per way, with the mean over all problems.
//!
//! ```sh
//! reefknot run hairy-ball --frames 24 --capture 60,70,80,90
//! cargo run --release -p reefknot-contact --example ablation -- runs/hairy-ball/problems/*.safetensors
//! ```

use std::error::Error;
use std::time::Instant;

use reefknot_contact::file::problem::CapturedProblem;
use reefknot_contact::solve::admm::{Admm, LocalSolver, Settings, Weights};
use reefknot_contact::solve::{Limits, Solver, Unrefined};
use reefknot_contact::system::Factors;

/// m.
const TOLERANCE: f64 = 1e-5;

/// Iterations after which a problem counts as failed, and those of Table 3.
const MOST: usize = 1000;
const FEW: usize = 25;

fn base() -> Settings {
    Settings {
        polishes: false,
        ..Settings::default()
    }
}

fn ways() -> Vec<(&'static str, Settings)> {
    let base = base();
    vec![
        ("ours", base),
        (
            "without sleeping",
            Settings {
                sleeps: false,
                ..base
            },
        ),
        (
            "general local solver",
            Settings {
                local: LocalSolver::General,
                ..base
            },
        ),
        (
            "not accelerated",
            Settings {
                is_accelerated: false,
                ..base
            },
        ),
        (
            "weights of the paper",
            Settings {
                weights: Weights::PAPER,
                ..base
            },
        ),
        (
            "weights of the paper, not accelerated",
            Settings {
                weights: Weights::PAPER,
                is_accelerated: false,
                ..base
            },
        ),
        ("as printed", Settings::as_printed()),
    ]
}

/// Iterations, seconds and the contact error (m) of a solve, and whether it converged.
fn solve(
    of: &CapturedProblem,
    settings: Settings,
    iterations: usize,
) -> Result<(usize, f64, f64, bool), Box<dyn Error>> {
    let mut problem = of.problem.clone();
    let mut factors = Factors::default();
    factors.of(&problem.system)?;
    let limits = Limits {
        tolerance: TOLERANCE,
        iterations,
    };
    let mut solver = Admm::new(settings);
    let began = Instant::now();
    let solved = solver.solve(&mut problem, &mut factors, &of.warm, limits, &mut Unrefined)?;
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
    let contacts: usize = problems.iter().map(|of| of.problem.contacts.len()).sum();
    for (name, settings) in ways() {
        let (mut iterations, mut seconds, mut failures) = (0, 0.0, 0);
        let (mut left, mut early) = (0.0, 0.0);
        for of in &problems {
            let (_, time, error, _) = solve(of, settings, FEW)?;
            left += error;
            early += time;
            let (needed, time, _, is_converged) = solve(of, settings, MOST)?;
            iterations += needed;
            seconds += time;
            failures += usize::from(!is_converged);
        }
        println!(
            "{{\"way\":\"{name}\",\"problems\":{},\"contacts\":{:.0},\"error_after_25_m\":{:.2e},\"time_of_25_s\":{:.3},\"iterations\":{:.1},\"time_s\":{:.3},\"failures\":{failures}}}",
            problems.len(),
            contacts as f64 / count,
            left / count,
            early / count,
            iterations as f64 / count,
            seconds / count,
        );
    }
    Ok(())
}
