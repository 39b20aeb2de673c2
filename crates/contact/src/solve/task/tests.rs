//! Problems of each kind, solved and graded.

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

#[test]
fn a_sliding_point_is_stopped_by_its_mass_and_slowed_by_friction() {
    let mut task = Task::new(ProblemFile::Fclib(falling_point())).unwrap();
    assert_eq!((task.contacts(), task.unknowns()), (1, 0));
    for solver in [Solver::Robust, Solver::GaussSeidel] {
        let (answer, outcome) = task.solve(solver, 1e-9).unwrap();
        assert!(outcome.is_converged);
        assert!(task.grade(&answer).is_within(1e-9));
        // 2 kg · 3 m/s along the normal, and μ times that against the motion.
        let wanted = DVec3::new(6.0, -0.6, 0.0);
        assert!((answer.impulses[0] - wanted).length() < 1e-7, "{answer:?}");
        assert!((answer.relative_velocities[0].y - 0.2).abs() < 1e-7);
    }
    let refused = task.solve(Solver::Admm, 1e-6).unwrap_err();
    assert_eq!(refused, TaskError::Solver(SolverError::NeedsNodes));
}

#[test]
fn a_captured_problem_is_solved_to_metres_and_its_general_form_agrees() {
    let captured = captured();
    let global = GlobalProblem::from_nodal(&captured.problem);
    let mut task = Task::new(ProblemFile::Captured(captured.clone())).unwrap();
    for solver in Solver::ALL {
        let (answer, outcome) = task.solve(solver, 1e-9).unwrap();
        assert!(
            outcome.is_converged && task.grade(&answer).is_within(1e-9),
            "{outcome:?}"
        );
        let general = Task::new(ProblemFile::Fclib(FclibProblem::Global(global.clone()))).unwrap();
        let claim = Claim::of(to_local(&captured.problem, &answer.impulses));
        // An error of 1e-9 m in a step of 0.01 s is 1e-7 m/s, in velocities of about 1 m/s.
        let grade = general.grade(&general.complete(claim));
        assert!(grade.is_within(1e-6), "{grade:?}");
    }
}

#[test]
fn velocities_that_are_given_are_graded_instead_of_computed_ones() {
    let global = GlobalProblem::from_nodal(&captured().problem);
    let mut task = Task::new(ProblemFile::Fclib(FclibProblem::Global(global))).unwrap();
    let (answer, _) = task.solve(Solver::Robust, 1e-8).unwrap();
    let mut velocities = answer.velocities.clone().unwrap();
    velocities[0] += 1.0;
    let claim = Claim {
        impulses: answer.impulses.clone(),
        velocities: Some(velocities),
    };
    assert!(task.grade(&answer).is_within(1e-8));
    assert!(!task.grade(&task.complete(claim)).is_within(1e-2));
}

#[test]
fn solvers_are_found_by_name() {
    assert_eq!(Solver::named("gauss-seidel"), Ok(Solver::GaussSeidel));
    let not_built = Solver::named("cr").unwrap_err().to_string();
    assert!(not_built.contains("`cr` is not built yet"), "{not_built}");
    let unknown = Solver::named("newton").unwrap_err().to_string();
    assert!(
        unknown.contains("there are robust, gauss-seidel and admm"),
        "{unknown}"
    );
    let fclib = ProblemFile::Fclib(falling_point());
    assert_eq!(Solver::Admm.accepts(&fclib), Err(SolverError::NeedsNodes));
    assert_eq!(Solver::Robust.accepts(&fclib), Ok(()));
}
