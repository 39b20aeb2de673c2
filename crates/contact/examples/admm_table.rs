//! How many iterations solvers need on problems captured along trajectories of sample worlds: the worst of each set, for three
//! tolerances. Prints a line of JSON per world, stiffness, step and solver.
//!
//! `cargo run --release -p reefknot-contact --example admm_table -- [PROBLEMS] [WORLD]`

use std::error::Error;
use std::time::Instant;

use reefknot_contact::problem::{NodalProblem, Solution};
use reefknot_contact::samples::{self, Captured};
use reefknot_contact::solve::admm::{Admm, Settings};
use reefknot_contact::solve::{Outcome, SolveError, Unrefined, Warm, condensed, gauss_seidel};
use reefknot_contact::system::SystemFactor;

/// m.
const TOLERANCES: [f64; 3] = [1e-5, 1e-7, 1e-9];

/// Iterations, or sweeps, after which a problem counts as failed.
const MOST: usize = 1500;

#[derive(Clone, Copy)]
enum Solver {
    Admm(fn(f64) -> Settings),
    GaussSeidel,
    Robust,
}

const SOLVERS: [(&str, Solver); 7] = [
    ("admm as printed", Solver::Admm(Settings::as_printed)),
    (
        "admm as printed, from the step before",
        Solver::Admm(from_before),
    ),
    (
        "admm as printed, from the step before, accelerated",
        Solver::Admm(accelerated),
    ),
    ("admm without polish", Solver::Admm(unpolished)),
    ("admm", Solver::Admm(Settings::new)),
    ("gauss-seidel", Solver::GaussSeidel),
    ("robust", Solver::Robust),
];

fn from_before(tolerance: f64) -> Settings {
    Settings {
        starts_unconstrained: false,
        ..Settings::as_printed(tolerance)
    }
}

fn accelerated(tolerance: f64) -> Settings {
    Settings {
        is_accelerated: true,
        ..from_before(tolerance)
    }
}

fn unpolished(tolerance: f64) -> Settings {
    Settings {
        polishes: false,
        ..Settings::new(tolerance)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let count: usize = arguments.next().map_or(Ok(24), |text| text.parse())?;
    let only = arguments.next();
    for step in [0.002, 0.01] {
        for young in [1e5, 1e7, 1e9] {
            for (name, world) in samples::worlds(young) {
                if only.as_deref().is_some_and(|only| only != name) {
                    continue;
                }
                let captured = samples::capture(world, step, count, drive);
                for (solver, how) in SOLVERS {
                    let head = format!(
                        "\"world\":\"{name}\",\"young\":{young:e},\"h\":{step},\"solver\":\"{solver}\""
                    );
                    report(&head, &captured, how)?;
                }
            }
        }
    }
    Ok(())
}

/// A trajectory that does not depend on the solver under test, to 1e-10 m.
fn drive(problem: &NodalProblem, warm: &Warm) -> Solution {
    let of = Captured {
        problem: problem.clone(),
        warm: warm.clone(),
    };
    match run(&of, Solver::Robust, 1e-10) {
        Ok((solution, _, _)) => solution,
        Err(_) => Solution {
            velocities: vec![0.0; problem.system.dofs()],
            impulses: vec![glam::DVec3::ZERO; problem.contacts.len()],
        },
    }
}

fn report(head: &str, captured: &[Captured], how: Solver) -> Result<(), SolveError> {
    let (mut worst, mut products, mut failures, mut times) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for tolerance in TOLERANCES {
        let began = Instant::now();
        let mut outcomes = Vec::new();
        for of in captured {
            let (solution, outcome, factor) = run(of, how, tolerance)?;
            let errors = of
                .problem
                .errors(&factor, &solution.velocities, &solution.impulses);
            let is_honest = outcome.is_converged == (errors.largest() <= tolerance);
            if !is_honest {
                eprintln!("{head}: says {outcome:?}, is {errors:?}");
            }
            outcomes.push(outcome);
        }
        let milliseconds = 1e3 * began.elapsed().as_secs_f64() / captured.len().max(1) as f64;
        times.push((milliseconds * 1e3).round() / 1e3);
        worst.push(outcomes.iter().map(|of| of.iterations).max().unwrap_or(0));
        products.push(outcomes.iter().map(|of| of.products).max().unwrap_or(0));
        failures.push(outcomes.iter().filter(|of| !of.is_converged).count());
    }
    let contacts = captured.iter().map(|of| of.problem.contacts.len()).max();
    println!(
        "{{{head},\"problems\":{},\"contacts\":{},\"iterations\":{worst:?},\"products\":{products:?},\"failures\":{failures:?},\"mean_ms\":{times:?}}}",
        captured.len(),
        contacts.unwrap_or(0)
    );
    Ok(())
}

fn run(
    of: &Captured,
    how: Solver,
    tolerance: f64,
) -> Result<(Solution, Outcome, SystemFactor), SolveError> {
    let mut factor = SystemFactor::of(&of.problem.system)?;
    factor.factorize(&of.problem.system)?;
    let (solution, outcome) = match how {
        Solver::Admm(settings) => {
            let settings = Settings {
                most_iterations: MOST,
                ..settings(tolerance)
            };
            let mut problem = of.problem.clone();
            Admm::new(settings).solve(&mut problem, &mut factor, &of.warm, &mut Unrefined)?
        }
        Solver::GaussSeidel => {
            let settings = gauss_seidel::Settings {
                most_sweeps: MOST,
                ..gauss_seidel::Settings::new(tolerance)
            };
            gauss_seidel::solve_nodal(&of.problem, &factor, &of.warm, settings)?
        }
        Solver::Robust => {
            let impulses = of.warm.impulses_of(&of.problem);
            condensed::solve(&of.problem, &factor, &impulses, tolerance)?
        }
    };
    Ok((solution, outcome, factor))
}
