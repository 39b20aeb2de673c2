//! `solve`: stored contact problems are solved, graded, converted or refused.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use glam::{DMat3, DVec3};
use reefknot_contact::block_rows::BlockRows;
use reefknot_contact::block_sparse::{BlockPattern, BlockSparse};
use reefknot_contact::delassus::DelassusProblem;
use reefknot_contact::delassus::nodal::to_local;
use reefknot_contact::file::fclib::FclibProblem;
use reefknot_contact::file::problem::CapturedProblem;
use reefknot_contact::file::solution::{Answer, SubmittedSolution};
use reefknot_contact::problem::{Contact, Contacts, NodalProblem};
use reefknot_contact::system::{Matrix, System};
use serde_json::Value as Json;

use crate::common::Sandbox;

/// Keys of the summary (a contract); two more depend on the kind of problem.
const KEYS: [&str; 7] = [
    "problem",
    "solver",
    "contacts",
    "dofs",
    "iterations",
    "time_s",
    "converged",
];

/// Two points of 2 kg and 1 kg that fall at 3 m/s; the first slides at 0.5 m/s with μ = 0.1, the
/// second sticks.
fn local() -> FclibProblem {
    let blocks = [(0, 0, DMat3::IDENTITY * 0.5), (1, 1, DMat3::IDENTITY)];
    let free = vec![DVec3::new(-3.0, 0.5, 0.0), DVec3::new(-3.0, 0.0, 0.1)];
    let problem = DelassusProblem::new(BlockRows::new(2, blocks), free, vec![0.1, 0.5]);
    FclibProblem::Local(problem.unwrap())
}

/// Two nodes of 2 kg, joined by a spring, that fall on the ground and slide along it; the second
/// contact has cohesion and compliance.
fn captured() -> CapturedProblem {
    let pattern = Arc::new(BlockPattern::new(2, [(0, 1)]));
    let mut matrix = BlockSparse::zeros(pattern);
    matrix.values = vec![
        DMat3::IDENTITY * 3.0,
        DMat3::IDENTITY * -1.0,
        DMat3::IDENTITY * 3.0,
    ];
    let mut contacts = Contacts::new();
    for (node, cohesion, compliance) in [(0, 0.0, 0.0), (1, 5.0, 1e-5)] {
        let contact = Contact {
            id: u64::from(node),
            normal: DVec3::Z,
            kinematic: DVec3::ZERO,
            friction: 0.3,
            cohesion,
            compliance,
        };
        contacts.push(contact, [(node, 1.0)]);
    }
    let problem = NodalProblem {
        system: System::new([Matrix::Blocks(matrix)], vec![0, 3]),
        force: vec![1.0, 0.0, -2.0, 1.0, 0.5, -2.0],
        step: 0.01,
        masses: vec![2.0; 2],
        mobilities: vec![0.5; 2],
        lever_arms: Vec::new(),
        contacts,
    };
    CapturedProblem {
        problem,
        tolerance: 1e-7,
        ..CapturedProblem::default()
    }
}

/// A sandbox with a problem of each kind.
fn sandbox_with_problems() -> Sandbox {
    let sandbox = Sandbox::new();
    fs::write(
        sandbox.path("local.hdf5"),
        local().to_bytes("points").unwrap(),
    )
    .unwrap();
    fs::write(sandbox.path("captured.safetensors"), captured().to_bytes()).unwrap();
    sandbox
}

fn solve(sandbox: &Sandbox, arguments: &[&str]) -> Json {
    sandbox.finish(&["solve"], arguments)
}

fn keys(summary: &Json) -> Vec<&str> {
    let keys = summary.as_object().unwrap().keys();
    keys.map(String::as_str).collect()
}

fn answer(path: &Path, contacts: usize, unknowns: usize) -> SubmittedSolution {
    SubmittedSolution::from_bytes(&fs::read(path).unwrap(), contacts, unknowns).unwrap()
}

#[test]
fn the_summary_of_an_fclib_problem_has_exactly_its_keys() {
    let sandbox = sandbox_with_problems();
    let summary = solve(&sandbox, &["local.hdf5"]);
    let wanted = [&KEYS[..], &["natural_map_error", "scaled_error"]].concat();
    assert_eq!(keys(&summary), wanted);
    assert_eq!(summary["problem"], "local.hdf5");
    assert_eq!(summary["solver"], "robust");
    assert_eq!(
        (summary["contacts"].as_u64(), summary["dofs"].as_u64()),
        (Some(2), Some(6))
    );
    assert_eq!(summary["converged"], true);
    assert!(summary["natural_map_error"].as_f64().unwrap() <= 1e-6);
    assert!(summary["scaled_error"].as_f64().unwrap() <= 1e-6);
}

#[test]
fn the_summary_of_a_captured_problem_is_in_metres() {
    let sandbox = sandbox_with_problems();
    for solver in ["robust", "gauss-seidel", "admm"] {
        let summary = solve(&sandbox, &["captured.safetensors", "--solver", solver]);
        let wanted = [&KEYS[..], &["contact_error_m", "momentum_error_m"]].concat();
        assert_eq!(keys(&summary), wanted);
        assert_eq!(
            (summary["contacts"].as_u64(), summary["dofs"].as_u64()),
            (Some(2), Some(6))
        );
        // The tolerance of the captured problem.
        assert!(summary["contact_error_m"].as_f64().unwrap() <= 1e-7);
        assert!(summary["momentum_error_m"].as_f64().unwrap() <= 1e-7);
    }
}

#[test]
fn answers_are_written_and_graded() {
    let sandbox = sandbox_with_problems();
    let solved = ["local.hdf5", "--tol", "1e-10", "--write", "a.safetensors"];
    solve(&sandbox, &solved);
    let read = answer(&sandbox.path("a.safetensors"), 2, 0);
    // The normal impulse is mass times 3 m/s. The first point slips with friction at its limit; the
    // second sticks.
    let wanted = [DVec3::new(6.0, -0.6, 0.0), DVec3::new(3.0, 0.0, -0.1)];
    for (found, wanted) in read.impulses.iter().zip(wanted) {
        assert!((*found - wanted).length() < 1e-8, "{found} {wanted}");
    }
    let graded = solve(&sandbox, &["local.hdf5", "--grade", "a.safetensors"]);
    assert_eq!(
        (&graded["solver"], &graded["iterations"]),
        (&Json::from("none"), &Json::from(0))
    );
    assert!(graded["natural_map_error"].as_f64().unwrap() <= 1e-10);
    // Zero impulses are a valid answer with a large error.
    let zero = Answer {
        impulses: vec![DVec3::ZERO; 2],
        relative_velocities: vec![DVec3::ZERO; 2],
        velocities: None,
    };
    fs::write(sandbox.path("b.safetensors"), zero.to_bytes()).unwrap();
    sandbox
        .expect(1, &["solve", "local.hdf5"], &["--grade", "b.safetensors"])
        .prints("not within the tolerance");
}

#[test]
fn a_captured_problem_becomes_an_fclib_file_with_the_same_solution() {
    let sandbox = sandbox_with_problems();
    let from = ["captured.safetensors", "--tol", "1e-10"];
    let more = ["--to-fclib", "general.hdf5", "--write", "world.safetensors"];
    solve(&sandbox, &[&from[..], &more].concat());
    let more = [
        "general.hdf5",
        "--tol",
        "1e-10",
        "--write",
        "local.safetensors",
    ];
    let summary = solve(&sandbox, &more);
    // The compliance of a contact adds an unknown.
    assert_eq!(summary["dofs"], 7);
    let world = answer(&sandbox.path("world.safetensors"), 2, 6);
    let local = answer(&sandbox.path("local.safetensors"), 2, 7);
    let turned = to_local(&captured().problem, &world.impulses);
    for (one, other) in turned.iter().zip(&local.impulses) {
        assert!((*one - *other).length() < 1e-7, "{one} {other}");
    }
    // An FCLIB problem is written unchanged.
    solve(&sandbox, &["general.hdf5", "--to-fclib", "again.hdf5"]);
    let read = |name: &str| FclibProblem::from_bytes(&fs::read(sandbox.path(name)).unwrap());
    assert_eq!(read("general.hdf5").unwrap(), read("again.hdf5").unwrap());
}

#[test]
fn solve_prints_a_few_lines_unless_quiet() {
    let sandbox = sandbox_with_problems();
    let output = sandbox.expect(0, &["solve", "local.hdf5"], &["--threads", "1"]);
    for text in [
        "local.hdf5 (FCLIB, local)",
        "contacts   2",
        "robust, ",
        "natural map",
        "converged",
    ] {
        output.prints(text);
    }
    let output = sandbox.expect(0, &["solve", "captured.safetensors"], &["--quiet"]);
    assert_eq!(output.stdout, "");
}

#[test]
fn a_solve_without_convergence_fails_with_advice() {
    let sandbox = sandbox_with_problems();
    // A contact between fixed bodies that approach each other: there is no solution.
    let problem = DelassusProblem::new(BlockRows::new(1, []), vec![DVec3::NEG_X], vec![0.5]);
    let bytes = FclibProblem::Local(problem.unwrap()).to_bytes("").unwrap();
    fs::write(sandbox.path("stuck.hdf5"), bytes).unwrap();
    let stuck = ["solve", "stuck.hdf5", "--summary", "json"];
    let output = sandbox.expect(1, &stuck, &["--solver", "gauss-seidel"]);
    output.prints("not converged; try --solver robust");
    assert_eq!(output.summary()["converged"], false);
    sandbox
        .expect(1, &stuck, &[])
        .prints("may also be infeasible");
}

#[test]
fn invalid_files_and_arguments_are_refused_with_a_reason() {
    let sandbox = sandbox_with_problems();
    fs::create_dir(sandbox.path("folder")).unwrap();
    fs::write(sandbox.path("text.hdf5"), "not a problem").unwrap();
    let bytes = fs::read(sandbox.path("local.hdf5")).unwrap();
    fs::write(sandbox.path("cut.hdf5"), &bytes[..bytes.len() / 2]).unwrap();
    let bytes = fs::read(sandbox.path("captured.safetensors")).unwrap();
    fs::write(sandbox.path("cut.safetensors"), &bytes[..bytes.len() / 2]).unwrap();
    let wrong = Answer {
        impulses: vec![DVec3::ZERO; 3],
        ..Answer::default()
    };
    fs::write(sandbox.path("three.safetensors"), wrong.to_bytes()).unwrap();
    let cases: [(&[&str], &str); 16] = [
        (&["absent.hdf5"], "cannot read absent.hdf5"),
        (&["folder"], "cannot read folder"),
        (
            &["text.hdf5"],
            "neither an FCLIB problem (HDF5) nor a captured problem",
        ),
        (&["cut.hdf5"], "cut.hdf5 is not a contact problem"),
        (
            &["cut.safetensors"],
            "cut.safetensors is not a contact problem",
        ),
        (&["three.safetensors"], "holds no captured problem"),
        (
            &["local.hdf5", "--solver", "admm"],
            "which FCLIB problems do not have",
        ),
        (
            &["local.hdf5", "--solver", "magic"],
            "[possible values: robust, gauss-seidel, admm]",
        ),
        (&["local.hdf5", "--tol", "0"], "a number above 0"),
        (&["local.hdf5", "--tol", "-1e-6"], "a number above 0"),
        (
            &["local.hdf5", "--write", "folder"],
            "--write folder: this is a folder",
        ),
        (
            &["local.hdf5", "--write", "a/b"],
            "--write a/b: its folder does not exist",
        ),
        (
            &["local.hdf5", "--to-fclib", "local.hdf5"],
            "would overwrite the problem",
        ),
        (&["local.hdf5", "--write", "x", "--to-fclib", "x"], "both x"),
        (
            &["local.hdf5", "--grade", "text.hdf5"],
            "text.hdf5 is not a solution",
        ),
        (
            &["local.hdf5", "--grade", "three.safetensors"],
            "r has the shape [3, 3], but the problem needs [2, 3]",
        ),
    ];
    for (arguments, reason) in cases {
        sandbox.expect(2, &["solve"], arguments).prints(reason);
    }
    assert!(!sandbox.path("x").exists(), "a file was written");
}
