//! Factors are computed on first use, and again only for bodies that have changed.

use super::*;
use crate::banded::BandedBatch;
use crate::block_sparse::tests::random;
use crate::system::Matrix;

/// Two sheets, of 4 and 6 nodes.
fn sheets() -> System {
    let sheet = |nodes: usize| Matrix::Blocks(random(nodes, &[(0, 3), (1, 2)], nodes as u64));
    System::new([sheet(4), sheet(6)], (0..10).map(|node| 3 * node).collect())
}

/// Adds a mass (kg) to each node of a body.
fn add(system: &mut System, body: usize, mass: f64) {
    let dofs = system.bodies[body].matrix.dofs();
    system.bodies[body].matrix.add_diagonal(&vec![mass; dofs]);
}

fn solve(factor: &SystemFactor, system: &System) -> Vec<f64> {
    let mut x: Vec<f64> = (0..system.dofs()).map(|dof| (dof as f64).sin()).collect();
    factor.solve_in_place(system, &mut x);
    x
}

/// Solution with newly allocated factors.
fn solve_anew(system: &System) -> Vec<f64> {
    let mut factor = SystemFactor::for_system(system).unwrap();
    factor.factorize(system).unwrap();
    solve(&factor, system)
}

#[test]
fn factors_are_computed_once_on_first_use() {
    let system = sheets();
    let mut factors = FactorCache::default();
    factors.invalidate();
    factors.invalidate_bodies([0, 1, 7]);
    assert!(factors.fresh().is_none() && factors.factor.is_none());
    assert_eq!(factors.factorizations(), 0);
    let answer = solve(factors.get(&system).unwrap(), &system);
    assert_eq!(answer, solve_anew(&system));
    factors.get(&system).unwrap();
    assert!(factors.fresh().is_some());
    assert_eq!(factors.factorizations(), 1);
}

#[test]
fn invalidated_bodies_are_stale_until_the_next_use() {
    let mut system = sheets();
    let mut factors = FactorCache::default();
    for (made, bodies) in [None, Some(vec![0]), Some(vec![1]), Some(vec![0, 1])]
        .into_iter()
        .enumerate()
    {
        factors.get(&system).unwrap();
        assert_eq!(factors.factorizations(), made + 1);
        assert!(factors.fresh().is_some());
        add(&mut system, 0, 1.0);
        match bodies {
            None => factors.invalidate(),
            Some(bodies) => factors.invalidate_bodies(bodies),
        }
        assert!(factors.fresh().is_none());
    }
    factors.get(&system).unwrap();
    factors.invalidate_bodies([]);
    assert!(factors.fresh().is_some(), "no body has changed");
}

#[test]
fn only_invalidated_bodies_are_factorized_again() {
    let mut system = sheets();
    let mut factors = FactorCache::default();
    let before = solve(factors.get(&system).unwrap(), &system);
    // Both matrices change, but only the second body is invalidated: the first, with 12 unknowns,
    // keeps its factors.
    add(&mut system, 0, 5.0);
    add(&mut system, 1, 3.0);
    factors.invalidate_bodies([1]);
    let found = solve(factors.get(&system).unwrap(), &system);
    let wanted = solve_anew(&system);
    assert_eq!(found[..12], before[..12]);
    assert_eq!(found[12..], wanted[12..]);
    assert!(found[..12] != wanted[..12] && found[12..] != before[12..]);
    factors.invalidate_bodies([0]);
    assert_eq!(solve(factors.get(&system).unwrap(), &system), wanted);
    assert_eq!(factors.factorizations(), 3);
}

#[test]
fn after_a_failure_all_bodies_are_factorized_again() {
    let mut system = sheets();
    let mut factors = FactorCache::default();
    factors.get(&system).unwrap();
    // The entries of the second matrix are below 100.
    add(&mut system, 0, 2.0);
    add(&mut system, 1, -1e3);
    factors.invalidate_bodies([0, 1]);
    assert_eq!(factors.get(&system).unwrap_err().body, 1);
    assert!(factors.fresh().is_none());
    assert!(factors.get(&system).is_err(), "the factors are still stale");
    add(&mut system, 1, 1e3 + 1.0);
    factors.invalidate_bodies([1]);
    assert_eq!(
        solve(factors.get(&system).unwrap(), &system),
        solve_anew(&system)
    );
    assert!(factors.fresh().is_some());
    // One at the start, two failures, one success.
    assert_eq!(factors.factorizations(), 4);
}

#[test]
fn after_a_failure_on_first_use_there_are_no_factors() {
    let mut system = sheets();
    add(&mut system, 0, f64::NAN);
    let mut factors = FactorCache::default();
    assert_eq!(factors.get(&system).unwrap_err().body, 0);
    assert!(factors.fresh().is_none());
    let system = sheets();
    assert_eq!(
        solve(factors.get(&system).unwrap(), &system),
        solve_anew(&system)
    );
}

#[test]
fn factors_from_plans_equal_those_from_patterns() {
    let sheet = random(5, &[(0, 3), (1, 4)], 3);
    let layout = BandedLayout::rod(4, false);
    let mut rods = BandedBatch::zeros(layout.clone(), 3);
    rods.add_diagonal(&vec![2.5; 3 * layout.size()]);
    rods.add(1, 2, 1, -0.7);
    let plans = vec![
        FactorPlan::Blocks(Arc::new(Symbolic::analyze(sheet.pattern()).unwrap())),
        FactorPlan::Rods(layout, 3),
    ];
    let system = System::new([Matrix::Blocks(sheet), Matrix::Rods(rods)], vec![0]);
    let wanted = solve_anew(&system);
    // Plans are ignored if their number is not that of the bodies.
    for plans in [plans.clone(), plans[..1].to_vec(), Vec::new()] {
        let mut factors = FactorCache::new(plans);
        assert_eq!(solve(factors.get(&system).unwrap(), &system), wanted);
    }
}
