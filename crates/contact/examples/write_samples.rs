//! Writes captured problems of sample worlds to a folder, for `reefknot solve` and other programs.
//!
//! `cargo run --release -p reefknot-contact --example write_samples -- DIR [YOUNG] [STEP] [COUNT]`

use std::error::Error;
use std::path::PathBuf;

use reefknot_contact::file::problem::CapturedProblem;
use reefknot_contact::problem::{NodalProblem, Solution, WarmStart, stopping_tolerance};
use reefknot_contact::samples;
use reefknot_contact::solve::{NoRefinement, admm};
use reefknot_contact::system::FactorCache;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments
        .next()
        .ok_or("usage: write_samples DIR [YOUNG] [STEP] [COUNT]")?;
    let folder = PathBuf::from(folder);
    let mut number = |default: f64| arguments.next().map_or(Ok(default), |text| text.parse());
    let (young, step, count) = (number(1e7)?, number(0.01)?, number(10.0)?);
    std::fs::create_dir_all(&folder)?;
    for (name, world) in samples::worlds(young) {
        let captured = samples::capture(world, step, count as usize, solve);
        for (index, captured) in captured.into_iter().enumerate() {
            let file = CapturedProblem {
                tolerance: stopping_tolerance(1e-5, samples::GRAVITY, step),
                problem: captured.problem,
                warm: captured.warm,
            };
            let path = folder.join(format!("{name}-{index:03}.safetensors"));
            std::fs::write(&path, file.to_bytes())?;
        }
        println!("{name}");
    }
    Ok(())
}

/// Solution with a tolerance of 1e-8 m, which advances the world; zero if the solver fails.
fn solve(problem: &NodalProblem, warm: &WarmStart) -> Solution {
    let (mut problem, mut factors) = (problem.clone(), FactorCache::default());
    let limits = admm::ENTRY.limits(1e-8);
    let mut solver = admm::ENTRY.build_default();
    match solver.solve(&mut problem, &mut factors, warm, limits, &mut NoRefinement) {
        Ok((solution, _)) => solution,
        Err(error) => {
            eprintln!("warning: the solver failed, and the step has zero velocities: {error}");
            Solution::new(
                vec![0.0; problem.system.dofs()],
                vec![glam::DVec3::ZERO; problem.contacts.len()],
            )
        }
    }
}
