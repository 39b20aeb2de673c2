//! Iterations of solvers on captured problems of sample worlds: the largest number in each set, for
//! three tolerances. Prints a line of JSON per world, stiffness, step and solver.
//!
//! `cargo run --release -p reefknot-contact --example admm_table -- [PROBLEMS] [WORLD]`

use std::error::Error;
use std::time::Instant;

use reefknot_contact::problem::{Errors, NodalProblem, Solution, WarmStart};
use reefknot_contact::samples::{self, CapturedStep};
use reefknot_contact::solve::admm::{Admm, AdmmOptions};
use reefknot_contact::solve::gauss_seidel::GaussSeidel;
use reefknot_contact::solve::refinement::RefinementLoop;
use reefknot_contact::solve::table::SOLVERS;
use reefknot_contact::solve::{Limits, NoRefinement, SolveError, SolveOutcome, Solver, robust};
use reefknot_contact::system::FactorCache;

/// Tolerances of the errors (m).
const TOLERANCES: [f64; 3] = [1e-5, 1e-7, 1e-9];

/// A problem that needs more iterations or sweeps counts as failed.
const MAX_ITERATIONS: usize = 1500;

/// Solver of a comparison.
struct Variant {
    name: &'static str,
    build: Box<dyn Fn() -> Box<dyn Solver>>,
    /// Iteration limit.
    iterations: usize,
}

/// Variants of ADMM starting with that of the paper, Gauss-Seidel without polish, and the solvers
/// of the table.
fn variants() -> Vec<Variant> {
    let printed = AdmmOptions::as_printed();
    let from_before = AdmmOptions {
        starts_unconstrained: false,
        ..printed
    };
    let accelerated = AdmmOptions {
        is_accelerated: true,
        ..from_before
    };
    let unpolished = AdmmOptions {
        polishes: false,
        ..AdmmOptions::default()
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
    let admm = admm.into_iter().map(|(name, options)| Variant {
        name,
        build: Box::new(move || Box::new(Admm::new(options))),
        iterations: MAX_ITERATIONS,
    });
    let table = SOLVERS.iter().map(|entry| Variant {
        name: entry.name,
        build: Box::new(|| entry.build_default()),
        // Solvers without an iteration limit keep none.
        iterations: match entry.iterations.standalone {
            usize::MAX => usize::MAX,
            _ => MAX_ITERATIONS,
        },
    });
    let sweeps = Variant {
        name: "gauss-seidel without polish",
        build: Box::new(|| {
            Box::new(RefinementLoop {
                solver: GaussSeidel::new(true),
                polishes: false,
            })
        }),
        iterations: MAX_ITERATIONS,
    };
    admm.chain([sweeps]).chain(table).collect()
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let count: usize = arguments.next().map_or(Ok(24), |text| text.parse())?;
    let only = arguments.next();
    let variants = variants();
    for step in [0.002, 0.01] {
        for young in [1e5, 1e7, 1e9] {
            for (name, world) in samples::worlds(young) {
                if only.as_deref().is_some_and(|only| only != name) {
                    continue;
                }
                let captured = samples::capture(world, step, count, solve_reference);
                for variant in &variants {
                    let solver = variant.name;
                    let head = format!(
                        "\"world\":\"{name}\",\"young\":{young:e},\"h\":{step},\
                         \"solver\":\"{solver}\""
                    );
                    report(&head, &captured, variant)?;
                }
            }
        }
    }
    Ok(())
}

/// Solution with a tolerance of 1e-10 m. It advances the world, so that the problems do not depend
/// on the solver under test.
fn solve_reference(problem: &NodalProblem, warm: &WarmStart) -> Solution {
    let step = CapturedStep {
        problem: problem.clone(),
        warm: warm.clone(),
    };
    let limits = robust::ENTRY.limits(1e-10);
    match run(&step, robust::ENTRY.build_default().as_mut(), limits) {
        Ok((solution, _, _)) => solution,
        Err(_) => Solution::new(
            vec![0.0; problem.system.dofs()],
            vec![glam::DVec3::ZERO; problem.contacts.len()],
        ),
    }
}

/// Solves all problems and prints a line.
fn report(head: &str, captured: &[CapturedStep], variant: &Variant) -> Result<(), SolveError> {
    let (mut worst, mut products, mut solves) = (Vec::new(), Vec::new(), Vec::new());
    let (mut failures, mut times) = (Vec::new(), Vec::new());
    for tolerance in TOLERANCES {
        let began = Instant::now();
        let mut outcomes = Vec::new();
        for step in captured {
            let limits = Limits {
                tolerance,
                iterations: variant.iterations,
            };
            let (_, outcome, errors) = run(step, (variant.build)().as_mut(), limits)?;
            if outcome.is_converged != (errors.largest() <= tolerance) {
                eprintln!("warning: {head}: {outcome:?} contradicts {errors:?}");
            }
            outcomes.push(outcome);
        }
        let milliseconds = 1e3 * began.elapsed().as_secs_f64() / captured.len().max(1) as f64;
        times.push((milliseconds * 1e3).round() / 1e3);
        worst.push(outcomes.iter().map(|it| it.iterations).max().unwrap_or(0));
        products.push(outcomes.iter().map(|it| it.products).max().unwrap_or(0));
        solves.push(outcomes.iter().map(|it| it.solves).max().unwrap_or(0));
        failures.push(outcomes.iter().filter(|it| !it.is_converged).count());
    }
    let contacts = captured.iter().map(|it| it.problem.contacts.len()).max();
    println!(
        "{{{head},\"problems\":{},\"contacts\":{},\"iterations\":{worst:?},\
         \"products\":{products:?},\"solves\":{solves:?},\"failures\":{failures:?},\
         \"mean_ms\":{times:?}}}",
        captured.len(),
        contacts.unwrap_or(0)
    );
    Ok(())
}

/// Solution of a problem, outcome of the solver, and errors.
fn run(
    step: &CapturedStep,
    solver: &mut dyn Solver,
    limits: Limits,
) -> Result<(Solution, SolveOutcome, Errors), SolveError> {
    let (mut problem, mut factors) = (step.problem.clone(), FactorCache::default());
    let solved = solver.solve(
        &mut problem,
        &mut factors,
        &step.warm,
        limits,
        &mut NoRefinement,
    )?;
    let (solution, outcome) = solved;
    let factor = factors.get(&problem.system)?;
    let errors = problem.errors(factor, &solution.velocities, &solution.impulses);
    Ok((solution, outcome, errors))
}
