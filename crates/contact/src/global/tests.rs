//! Condensed problems compared with dense algebra, and nodal problems with their general form.

use faer::Mat;
use faer::prelude::Solve;
use proptest::prelude::*;

use super::*;
use crate::delassus::nodal::to_world;
use crate::delassus::tests::inverse_blocks;
use crate::file::problem::tests::captured;
use crate::random::Random;
use crate::system::SystemFactor;

/// Unsymmetric bodies of given sizes. Every column of H has five entries at random unknowns.
fn random(sizes: &[usize], contacts: usize, seed: u64) -> GlobalProblem {
    let mut random = Random::new(seed);
    let unknowns: usize = sizes.iter().sum();
    let mut mass = Vec::new();
    let mut first = 0;
    for size in sizes {
        for row in first..first + size {
            // Diagonal dominance: up to four other entries, each less than 1.
            mass.push((row as u32, row as u32, 5.0 + random.signed()));
            for column in row.saturating_sub(2).max(first)..(row + 3).min(first + size) {
                mass.push((row as u32, column as u32, random.signed()));
            }
        }
        first += size;
    }
    let mut reach = Vec::new();
    for column in 0..3 * contacts {
        for _ in 0..5 {
            let row = ((random.signed() + 1.0) * 0.5 * unknowns as f64) as usize % unknowns;
            reach.push((row as u32, column as u32, random.signed()));
        }
    }
    let force = (0..unknowns).map(|_| random.signed()).collect();
    let kinematic =
        (0..contacts).map(|_| DVec3::new(random.signed(), random.signed(), random.signed()));
    let kinematic = kinematic.collect();
    GlobalProblem::new(
        SparseRows::new([unknowns; 2], mass),
        SparseRows::new([unknowns, 3 * contacts], reach),
        force,
        kinematic,
        vec![0.5; contacts],
    )
    .unwrap()
}

fn dense(matrix: &SparseRows) -> Mat<f64> {
    let mut dense = Mat::zeros(matrix.rows(), matrix.columns());
    for (row, column, value) in matrix.entries() {
        dense[(row as usize, column as usize)] = value;
    }
    dense
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]
    #[test]
    fn condensation_agrees_with_dense_algebra(
        sizes in prop::collection::vec(1usize..20, 1..8),
        contacts in 0usize..40,
        seed: u64,
    ) {
        let problem = random(&sizes, contacts, seed);
        let factor = problem.factorize().unwrap();
        prop_assert!(factor.components().len() >= sizes.len());
        let condensed = problem.condense(&factor).unwrap();
        let (mass, reach) = (dense(&problem.mass), dense(&problem.contacts));
        let force = Mat::from_fn(problem.force.len(), 1, |row, _| problem.force[row]);
        let operator = reach.transpose() * mass.partial_piv_lu().solve(&reach);
        let free = reach.transpose() * mass.partial_piv_lu().solve(&force);
        for row in 0..contacts {
            for axis in 0..3 {
                let q = free[(3 * row + axis, 0)] + problem.kinematic[row][axis];
                prop_assert!((condensed.free[row][axis] - q).abs() < 1e-12);
            }
            for column in 0..3 * contacts {
                let mut unit = vec![DVec3::ZERO; contacts];
                unit[column / 3][column % 3] = 1.0;
                let found = condensed.operator.row_times(row, &unit);
                for axis in 0..3 {
                    let wanted = operator[(3 * row + axis, column)];
                    prop_assert!((found[axis] - wanted).abs() < 1e-12);
                }
            }
        }
    }
}

#[test]
fn velocities_satisfy_the_equations_of_small_and_large_bodies() {
    // 700 unknowns are factorized as a sparse matrix, 5 as a dense one. 50 contacts are two
    // batches.
    let problem = random(&[700, 5], 50, 3);
    let factor = problem.factorize().unwrap();
    let condensed = problem.condense(&factor).unwrap();
    let impulses: Vec<DVec3> = (0..50).map(|c| DVec3::new(c as f64, 1.0, -0.5)).collect();
    let velocities = problem.velocities(&factor, &impulses);
    let relative = problem.relative_velocities(&velocities);
    // Both formulas for u agree up to rounding in sums of a few terms of size 50.
    for (one, other) in condensed.velocities(&impulses).iter().zip(&relative) {
        assert!((*one - *other).length() < 1e-11, "{one} {other}");
    }
    let error = problem.natural_map_error(&condensed, &velocities, &impulses);
    let law_error = condensed.natural_map_error(&impulses);
    assert!((error - law_error).abs() < 1e-13, "{error} {law_error}");
}

#[test]
fn the_error_includes_the_residual_of_the_equations_of_motion() {
    let problem = random(&[6], 1, 5);
    let factor = problem.factorize().unwrap();
    let condensed = problem.condense(&factor).unwrap();
    let impulses = [DVec3::ZERO];
    let mut velocities = problem.velocities(&factor, &impulses);
    velocities.iter_mut().for_each(|v| *v *= 1.5);
    // M v − f = f/2, divided by the largest term M v = 1.5 f, is a third.
    let relative = problem.relative_velocities(&velocities);
    let law_error = condensed.natural_map_error_with(&impulses, &relative);
    let error = problem.natural_map_error(&condensed, &velocities, &impulses);
    assert!((error - law_error - 1.0 / 3.0).abs() < 1e-12, "{error}");
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let problem = random(&[300, 40, 3, 1, 1, 1, 9], 80, 11);
    let condensed = [1, 3].map(|threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let pool = pool.build().unwrap();
        pool.install(|| problem.condense(&problem.factorize().unwrap()).unwrap())
    });
    assert_eq!(condensed[0], condensed[1]);
}

#[test]
fn a_zero_mass_is_reported_as_singular() {
    for size in [4, 600] {
        let mut problem = random(&[3, size, 2], 2, 1);
        let entries = problem.mass.entries();
        let without = entries
            .filter(|(_, column, _)| *column != 5)
            .collect::<Vec<_>>();
        problem.mass = SparseRows::new([size + 5; 2], without);
        let error = problem.factorize().unwrap_err();
        assert!(
            matches!(error, GlobalError::Singular { row: 3 | 5 }),
            "{error}"
        );
    }
}

#[test]
fn problems_without_contacts_or_unknowns_are_valid() {
    for problem in [random(&[3], 0, 1), GlobalProblem::default()] {
        let factor = problem.factorize().unwrap();
        let condensed = problem.condense(&factor).unwrap();
        assert_eq!(condensed.contacts(), 0);
        let velocities = problem.velocities(&factor, &[]);
        let error = problem.natural_map_error(&condensed, &velocities, &[]);
        assert!(error < 1e-15, "{error}");
    }
}

#[test]
fn sizes_and_values_are_checked() {
    let good = random(&[3], 1, 1);
    let check = |change: &dyn Fn(&mut GlobalProblem)| {
        let mut it = good.clone();
        change(&mut it);
        GlobalProblem::new(it.mass, it.contacts, it.force, it.kinematic, it.friction)
            .unwrap_err()
            .to_string()
    };
    assert!(check(&|it| it.force.push(0.0)).contains("rows of M is 3"));
    assert!(check(&|it| it.kinematic.clear()).contains("length of w is 0"));
    assert!(check(&|it| it.friction.push(0.1)).contains("columns of H is 3"));
    assert!(check(&|it| it.force[1] = f64::NAN).contains("f is not finite at 1"));
    assert!(check(&|it| it.friction[0] = -0.1).contains("negative"));
}

#[test]
fn a_nodal_problem_and_its_general_form_have_the_same_solutions() {
    let problem = captured().problem;
    let mut nodal_factor = SystemFactor::for_system(&problem.system).unwrap();
    nodal_factor.factorize(&problem.system).unwrap();
    let global = GlobalProblem::from_nodal(&problem);
    // Four unknowns are held, and two contacts have compliance.
    assert_eq!(global.force.len(), problem.system.dofs() - 4 + 2);
    let local = [
        DVec3::new(0.3, 0.05, -0.02),
        DVec3::new(0.2, 0.0, 0.1),
        DVec3::new(0.5, -0.1, 0.0),
        DVec3::new(0.1, 0.01, 0.02),
    ];
    let world = to_world(&problem, &local);
    let velocities = problem.velocities(&nodal_factor, &world);
    let factor = global.factorize().unwrap();
    let general = global.velocities(&factor, &local);
    let is_held = problem.system.held();
    let free = (0..velocities.len()).filter(|dof| !is_held[*dof]);
    for (place, dof) in free.enumerate() {
        let difference = (general[place] - velocities[dof]).abs();
        assert!(difference < 1e-12, "unknown {dof}: {difference}");
    }
    let relative = global.relative_velocities(&general);
    for contact in 0..4 {
        let u = problem.relative_velocity(contact, &velocities);
        let (law_velocity, r) = problem.law_pair(contact, u, world[contact]);
        let normal = problem.contacts[contact].normal;
        // Normal components and lengths do not depend on the axes.
        assert!((relative[contact].x - law_velocity.dot(normal)).abs() < 1e-11);
        assert!((relative[contact].length() - law_velocity.length()).abs() < 1e-11);
        assert!((r.dot(normal) - local[contact].x).abs() < 1e-15);
    }
    let (inverses, _) = inverse_blocks(&problem, &nodal_factor);
    let nodal_condensed = inverses.condense(&problem, &nodal_factor);
    let condensed = global.condense(&factor).unwrap();
    for (one, other) in nodal_condensed
        .velocities(&local)
        .iter()
        .zip(condensed.velocities(&local))
    {
        assert!((*one - other).length() < 1e-11, "{one} {other}");
    }
}
