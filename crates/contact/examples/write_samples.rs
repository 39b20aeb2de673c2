//! Writes problems captured along trajectories of sample worlds into a folder, for `reefknot solve` and other programs.
//!
//! `cargo run --release -p reefknot-contact --example write_samples -- DIR [YOUNG] [STEP] [COUNT]`

use std::error::Error;
use std::path::PathBuf;

use reefknot_contact::file::problem::CapturedProblem;
use reefknot_contact::problem::{NodalProblem, Solution, stopping_tolerance};
use reefknot_contact::samples;
use reefknot_contact::solve::{Unrefined, WarmStart, admm};
use reefknot_contact::system::Factors;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments
        .next()
        .ok_or("a folder is needed: write_samples DIR [YOUNG] [STEP] [COUNT]")?;
    let folder = PathBuf::from(folder);
    let mut number = |default: f64| arguments.next().map_or(Ok(default), |text| text.parse());
    let (young, step, count) = (number(1e7)?, number(0.01)?, number(10.0)?);
    std::fs::create_dir_all(&folder)?;
    for (name, world) in samples::worlds(young) {
        let captured = samples::capture(world, step, count as usize, drive);
        for (index, of) in captured.into_iter().enumerate() {
            let file = CapturedProblem {
                tolerance: stopping_tolerance(1e-5, samples::GRAVITY, step),
                problem: of.problem,
                warm: of.warm,
            };
            let path = folder.join(format!("{name}-{index:03}.safetensors"));
            std::fs::write(&path, file.to_bytes())?;
        }
        println!("{name}");
    }
    Ok(())
}

fn drive(problem: &NodalProblem, warm: &WarmStart) -> Solution {
    let (mut problem, mut factors) = (problem.clone(), Factors::default());
    let limits = admm::ENTRY.limits(1e-8);
    let mut solver = admm::ENTRY.default();
    match solver.solve(&mut problem, &mut factors, warm, limits, &mut Unrefined) {
        Ok((solution, _)) => solution,
        Err(error) => {
            eprintln!("a step was not solved: {error}");
            Solution::new(
                vec![0.0; problem.system.dofs()],
                vec![glam::DVec3::ZERO; problem.contacts.len()],
            )
        }
    }
}
