//! How many iterations solvers need on problems captured along trajectories of sample worlds: the worst of each set, for three
//! tolerances. Prints a line of JSON per world, stiffness, step and solver.
//!
//! `cargo run --release -p reefknot-contact --example admm_table -- [PROBLEMS] [WORLD]`

use std::error::Error;
use std::time::Instant;

use reefknot_contact::problem::{Errors, NodalProblem, Solution};
use reefknot_contact::samples::{self, Captured};
use reefknot_contact::solve::admm::{Admm, Settings};
use reefknot_contact::solve::gauss_seidel::GaussSeidel;
use reefknot_contact::solve::refining::Refining;
use reefknot_contact::solve::table::SOLVERS;
use reefknot_contact::solve::{Limits, Outcome, SolveError, Solver, Unrefined, WarmStart, robust};
use reefknot_contact::system::Factors;

/// m.
const TOLERANCES: [f64; 3] = [1e-5, 1e-7, 1e-9];

/// Iterations, or sweeps, after which a problem counts as failed.
const MOST: usize = 1500;

/// A name, how the solver is built, and how many iterations it gets.
type Way = (&'static str, Box<dyn Fn() -> Box<dyn Solver>>, usize);

/// ADMM on its way from the paper, sweeps alone, then the solvers of the table.
fn ways() -> Vec<Way> {
    let printed = Settings::as_printed();
    let from_before = Settings {
        starts_unconstrained: false,
        ..printed
    };
    let accelerated = Settings {
        is_accelerated: true,
        ..from_before
    };
    let unpolished = Settings {
        polishes: false,
        ..Settings::default()
    };
    let admm = [
        ("admm as printed", printed),
        ("admm as printed, from the step before", from_before),
        (
            "admm as printed, from the step before, accelerated",
            accelerated,
        ),
        ("admm without polish", unpolished),
    ];
    let admm = admm.into_iter().map(|(name, settings)| -> Way {
        (name, Box::new(move || Box::new(Admm::new(settings))), MOST)
    });
    let table = SOLVERS.iter().map(|entry| -> Way {
        // What ends by itself is let be.
        let iterations = match entry.iterations.alone {
            usize::MAX => usize::MAX,
            _ => MOST,
        };
        (entry.name, Box::new(|| entry.default()), iterations)
    });
    let sweeps: Way = (
        "gauss-seidel without polish",
        Box::new(|| {
            Box::new(Refining {
                solver: GaussSeidel::new(true),
                polishes: false,
            })
        }),
        MOST,
    );
    admm.chain([sweeps]).chain(table).collect()
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let count: usize = arguments.next().map_or(Ok(24), |text| text.parse())?;
    let only = arguments.next();
    let ways = ways();
    for step in [0.002, 0.01] {
        for young in [1e5, 1e7, 1e9] {
            for (name, world) in samples::worlds(young) {
                if only.as_deref().is_some_and(|only| only != name) {
                    continue;
                }
                let captured = samples::capture(world, step, count, drive);
                for way in &ways {
                    let solver = way.0;
                    let head = format!(
                        "\"world\":\"{name}\",\"young\":{young:e},\"h\":{step},\"solver\":\"{solver}\""
                    );
                    report(&head, &captured, way)?;
                }
            }
        }
    }
    Ok(())
}

/// A trajectory that does not depend on the solver under test, to 1e-10 m.
fn drive(problem: &NodalProblem, warm: &WarmStart) -> Solution {
    let of = Captured {
        problem: problem.clone(),
        warm: warm.clone(),
    };
    let limits = robust::ENTRY.limits(1e-10);
    match run(&of, robust::ENTRY.default().as_mut(), limits) {
        Ok((solution, _, _)) => solution,
        Err(_) => Solution::new(
            vec![0.0; problem.system.dofs()],
            vec![glam::DVec3::ZERO; problem.contacts.len()],
        ),
    }
}

fn report(
    head: &str,
    captured: &[Captured],
    (_, build, iterations): &Way,
) -> Result<(), SolveError> {
    let (mut worst, mut products, mut solves) = (Vec::new(), Vec::new(), Vec::new());
    let (mut failures, mut times) = (Vec::new(), Vec::new());
    for tolerance in TOLERANCES {
        let began = Instant::now();
        let mut outcomes = Vec::new();
        for of in captured {
            let limits = Limits {
                tolerance,
                iterations: *iterations,
            };
            let (_, outcome, errors) = run(of, build().as_mut(), limits)?;
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
        solves.push(outcomes.iter().map(|of| of.solves).max().unwrap_or(0));
        failures.push(outcomes.iter().filter(|of| !of.is_converged).count());
    }
    let contacts = captured.iter().map(|of| of.problem.contacts.len()).max();
    println!(
        "{{{head},\"problems\":{},\"contacts\":{},\"iterations\":{worst:?},\"products\":{products:?},\"solves\":{solves:?},\"failures\":{failures:?},\"mean_ms\":{times:?}}}",
        captured.len(),
        contacts.unwrap_or(0)
    );
    Ok(())
}

/// Solves a problem; its answer, and how good that is.
fn run(
    of: &Captured,
    solver: &mut dyn Solver,
    limits: Limits,
) -> Result<(Solution, Outcome, Errors), SolveError> {
    let (mut problem, mut factors) = (of.problem.clone(), Factors::default());
    let solved = solver.solve(&mut problem, &mut factors, &of.warm, limits, &mut Unrefined)?;
    let (solution, outcome) = solved;
    let factor = factors.of(&problem.system)?;
    let errors = problem.errors(factor, &solution.velocities, &solution.impulses);
    Ok((solution, outcome, errors))
}
