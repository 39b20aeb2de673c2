//! Problems of each kind are solved and graded.

use glam::DMat3;

use super::*;
use crate::block_rows::BlockRows;
use crate::delassus::nodal::to_local;
use crate::file::problem::tests::captured;

/// A point of 2 kg that falls on a plane at 3 m/s and slides at 0.5 m/s, with μ = 0.1.
fn falling_point() -> FclibProblem {
    let operator = BlockRows::new(1, [(0, 0, DMat3::IDENTITY * 0.5)]);
    let free = vec![DVec3::new(-3.0, 0.5, 0.0)];
    FclibProblem::Local(DelassusProblem::new(operator, free, vec![0.1]).unwrap())
}

fn solver(name: &str) -> &'static SolverEntry {
    solver_named(name).unwrap()
}

#[test]
fn a_falling_point_has_the_impulse_of_its_mass_and_friction() {
    let mut task = Task::new(ProblemFile::Fclib(falling_point())).unwrap();
    assert_eq!((task.contacts(), task.unknowns()), (1, 0));
    let supports = |solver: &&SolverEntry| solver.delassus.is_some();
    assert_eq!(SOLVERS.iter().filter(supports).count(), 2);
    for solver in SOLVERS.iter().filter(supports) {
        let (answer, outcome) = task.solve(solver, 1e-9).unwrap();
        assert!(outcome.is_converged);
        assert!(task.grade(&answer).unwrap().is_within(1e-9));
        // 2 kg · 3 m/s along the normal, and μ times that against the motion.
        let wanted = DVec3::new(6.0, -0.6, 0.0);
        assert!((answer.impulses[0] - wanted).length() < 1e-7, "{answer:?}");
        assert!((answer.relative_velocities[0].y - 0.2).abs() < 1e-7);
    }
    let refused = task.solve(solver("admm"), 1e-6).unwrap_err();
    let reason = SolverError::NeedsNodes { name: "admm" };
    assert_eq!(refused, TaskError::Solver(reason));
}

#[test]
fn a_captured_problem_converges_in_metres_and_its_general_form_agrees() {
    let captured = captured();
    let global = GlobalProblem::from_nodal(&captured.problem);
    let mut task = Task::new(ProblemFile::Captured(captured.clone())).unwrap();
    for solver in &SOLVERS {
        let (answer, outcome) = task.solve(solver, 1e-9).unwrap();
        assert!(
            outcome.is_converged && task.grade(&answer).unwrap().is_within(1e-9),
            "{outcome:?}"
        );
        let mut general =
            Task::new(ProblemFile::Fclib(FclibProblem::Global(global.clone()))).unwrap();
        let local = to_local(&captured.problem, &answer.impulses);
        let submitted = SubmittedSolution::from_impulses(local);
        // An error of 1e-9 m in a step of 0.01 s is 1e-7 m/s, in velocities of about 1 m/s.
        let completed = general.complete(submitted).unwrap();
        let grade = general.grade(&completed).unwrap();
        assert!(grade.is_within(1e-6), "{grade:?}");
    }
}

#[test]
fn submitted_velocities_are_graded_instead_of_computed_ones() {
    let global = GlobalProblem::from_nodal(&captured().problem);
    let mut task = Task::new(ProblemFile::Fclib(FclibProblem::Global(global))).unwrap();
    let (answer, _) = task.solve(solver("robust"), 1e-8).unwrap();
    let mut velocities = answer.velocities.clone().unwrap();
    velocities[0] += 1.0;
    let submitted = SubmittedSolution {
        impulses: answer.impulses.clone(),
        velocities: Some(velocities),
    };
    assert!(task.grade(&answer).unwrap().is_within(1e-8));
    let wrong = task.complete(submitted).unwrap();
    assert!(!task.grade(&wrong).unwrap().is_within(1e-2));
}

#[test]
fn solvers_are_found_by_name() {
    for entry in &SOLVERS {
        assert_eq!(solver_named(entry.name).unwrap().name, entry.name);
    }
    for name in ["newton", "cr", "Robust", ""] {
        let unknown = solver_named(name).unwrap_err();
        assert_eq!(unknown, SolverError::Unknown { name: name.into() });
        let said = unknown.to_string();
        assert!(said.contains(&format!("no solver `{name}`")), "{said}");
        let known = "the solvers are robust, gauss-seidel and admm";
        assert!(said.contains(known), "{said}");
    }
}

#[test]
fn all_solvers_support_captured_problems_and_delassus_solvers_support_fclib() {
    let (fclib, nodal) = (
        ProblemFile::Fclib(falling_point()),
        ProblemFile::Captured(captured()),
    );
    for entry in &SOLVERS {
        assert_eq!(check_support(entry, &nodal), Ok(()));
    }
    assert_eq!(check_support(solver("robust"), &fclib), Ok(()));
    assert_eq!(check_support(solver("gauss-seidel"), &fclib), Ok(()));
    let refused = check_support(solver("admm"), &fclib).unwrap_err();
    assert_eq!(refused, SolverError::NeedsNodes { name: "admm" });
    let said = refused.to_string();
    assert!(said.ends_with("choose robust and gauss-seidel"), "{said}");
}
