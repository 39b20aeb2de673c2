//! Solves of systems with leaves and hosts, compared with dense matrices.

use proptest::prelude::*;

use super::*;
use crate::banded::{BandedBatch, BandedLayout};
use crate::block_sparse::tests::random as random_matrix;
use crate::dense_lu::DenseLu;
use crate::random::Random;
use crate::system::SystemFactor;

/// Distinct nodes of a range, with weights.
fn some_nodes(random: &mut Random, count: usize, range: std::ops::Range<usize>) -> Vec<(u32, f64)> {
    let first = random.below(range.len());
    let nodes = (first..first + count).map(|index| range.start + index % range.len());
    nodes
        .map(|node| (node as u32, 0.2 + random.unit()))
        .collect()
}

/// A symmetric positive definite block.
fn stiffness(random: &mut Random, scale: f64) -> DMat3 {
    let axis = random.vector() * 0.5;
    let outer = DMat3::from_cols(axis * axis.x, axis * axis.y, axis * axis.z);
    (outer * 3.0 + DMat3::IDENTITY * 0.3) * scale
}

const RODS: usize = 6;
const VERTICES: usize = 4;
/// First nodes of the two hosts, the two small sheets, and the rods.
const FIRST: [usize; 5] = [0, 9, 16, 18, 21];

/// Two large sheets, two small ones and six rods.
fn bodies(seed: u64) -> System {
    let links = [(0, 1), (1, 2), (2, 3), (0, 4), (5, 2), (6, 7), (7, 1)];
    let sheets = FIRST.windows(2).map(|pair| pair[1] - pair[0]);
    let sheets = sheets.map(|nodes| Matrix::Blocks(random_matrix(nodes, &links, seed)));
    let layout = BandedLayout::rod(VERTICES, false);
    let size = layout.size();
    let mut batch = BandedBatch::zeros(layout, RODS);
    batch.add_diagonal(&vec![2.0; RODS * size]);
    for rod in 0..RODS {
        for unknown in 1..size {
            batch.add(rod, unknown, unknown - 1, -0.1 * (rod + 4) as f64);
        }
    }
    let nodes = (0..FIRST[4]).map(|node| 3 * node);
    let vertices = (0..RODS * VERTICES)
        .map(|vertex| 3 * FIRST[4] + vertex / VERTICES * size + vertex % VERTICES * 4);
    let offsets = nodes.chain(vertices).collect();
    System::new(sheets.chain([Matrix::Rods(batch)]), offsets)
}

fn rod(rod: usize) -> std::ops::Range<usize> {
    FIRST[4] + rod * VERTICES..FIRST[4] + (rod + 1) * VERTICES
}

/// Ties from the small sheets and all rods but the last to hosts, and ties within a body.
fn random_ties(random: &mut Random) -> Vec<Coupling> {
    let hosts = [FIRST[0]..FIRST[1], FIRST[1]..FIRST[2]];
    let leaves = [FIRST[2]..FIRST[3], FIRST[3]..FIRST[4]];
    let leaves = leaves.into_iter().chain((0..RODS - 1).map(rod));
    let mut couplings = Vec::new();
    for (index, leaf) in leaves.enumerate() {
        for _ in 0..=random.below(3) {
            let (count, anchors) = (1 + random.below(2), 1 + random.below(3));
            let mut nodes = some_nodes(random, count, leaf.clone());
            let host = hosts[index % 2].clone();
            let anchors = some_nodes(random, anchors, host).into_iter();
            nodes.extend(anchors.map(|(node, weight)| (node, -weight)));
            let scale = 10f64.powf(4.0 * random.unit() - 1.0);
            let block = stiffness(random, scale);
            couplings.push(Coupling { nodes, block });
        }
    }
    for part in [hosts[0].clone(), rod(0), rod(RODS - 1)] {
        let nodes = some_nodes(random, 2, part);
        let block = stiffness(random, 5.0);
        couplings.push(Coupling { nodes, block });
    }
    couplings
}

fn tied(seed: u64) -> System {
    let mut system = bodies(seed);
    system.set_couplings(random_ties(&mut Random::new(seed)));
    system
}

/// System with held degrees of freedom and held nodes, each with probability 1/`every`.
fn held(whole: &System, random: &mut Random, every: usize) -> System {
    let mut is_held: Vec<bool> = (0..whole.dofs())
        .map(|_| random.below(every) == 0)
        .collect();
    for offset in &whole.node_offset {
        if random.below(every) == 0 {
            is_held[*offset..*offset + 3].fill(true);
        }
    }
    let mut system = whole.clone();
    system.hold(whole, &is_held, |_| true);
    system
}

fn factorized(system: &System) -> SystemFactor {
    let mut factor = SystemFactor::for_system(system).unwrap();
    factor.factorize(system).unwrap();
    factor
}

fn some_vector(dofs: usize) -> Vec<f64> {
    (0..dofs).map(|dof| (dof as f64 * 1.7).sin()).collect()
}

/// Largest difference to the solution with the dense matrix, relative to the largest entry.
fn error(system: &System, factor: &SystemFactor) -> f64 {
    let dofs = system.dofs();
    let mut matrix = vec![0.0; dofs * dofs];
    for (row, column, value) in system.entries() {
        matrix[column as usize * dofs + row as usize] += value;
    }
    let mut wanted = some_vector(dofs);
    let mut found = wanted.clone();
    DenseLu::new(dofs, matrix)
        .unwrap()
        .solve_in_place(&mut wanted)
        .unwrap();
    factor.solve_in_place(system, &mut found);
    // Not `f64::max`, which ignores NaN.
    let largest = |entries: &mut dyn Iterator<Item = f64>| {
        entries.fold(0.0, |most, entry| if entry <= most { most } else { entry })
    };
    let size = largest(&mut wanted.iter().map(|entry| entry.abs()));
    let differences = wanted.iter().zip(&found).map(|(w, f)| (w - f).abs());
    largest(&mut { differences }) / size
}

proptest! {
    #[test]
    fn solves_with_leaves_agree_with_a_dense_matrix(seed: u64, every in 2usize..12) {
        let whole = tied(seed);
        let held = held(&whole, &mut Random::new(seed ^ 7), every);
        for system in [whole, held] {
            let factor = factorized(&system);
            prop_assert!(factor.is_exact(&system));
            let error = error(&system, &factor);
            // Springs are up to 1000 times as stiff as the bodies, which amplifies rounding.
            prop_assert!(error < 1e-10, "{}", error);
        }
    }

    #[test]
    fn factors_follow_ties_and_bodies_that_change(seed: u64) {
        let random = &mut Random::new(seed);
        let whole = tied(seed);
        let mut factor = factorized(&whole);
        // Other ties, fewer ties, no ties, the original ties.
        let all = whole.couplings().to_vec();
        let fewer = all.iter().filter(|_| random.below(2) == 0).cloned().collect();
        for couplings in [random_ties(&mut Random::new(seed ^ 1)), fewer, Vec::new(), all] {
            let mut system = whole.clone();
            system.set_couplings(couplings);
            factor.factorize_bodies(&system, |_| false).unwrap();
            prop_assert!(factor.is_exact(&system));
            prop_assert!(error(&system, &factor) < 1e-10);
        }
        // Each body in turn: hosts, leaves, rods.
        let mut system = whole;
        for changed in 0..system.bodies.len() {
            let dofs = system.bodies[changed].matrix.dofs();
            let more: Vec<f64> = (0..dofs).map(|_| 3.0 * random.unit()).collect();
            system.bodies[changed].matrix.add_diagonal(&more);
            factor.factorize_bodies(&system, |body| body == changed).unwrap();
            prop_assert!(error(&system, &factor) < 1e-10, "body {}", changed);
        }
        // The same nodes with stiffer springs.
        let mut stiffer = system.couplings().to_vec();
        stiffer.iter_mut().for_each(|coupling| coupling.block *= 7.0);
        system.set_couplings(stiffer);
        factor.factorize_bodies(&system, |_| false).unwrap();
        prop_assert!(error(&system, &factor) < 1e-10);
    }
}

fn spring(ends: [usize; 2], stiffness: f64) -> Coupling {
    Coupling {
        nodes: vec![(ends[0] as u32, 1.0), (ends[1] as u32, -1.0)],
        block: DMat3::IDENTITY * stiffness,
    }
}

/// Number of solves with the factors, and the error.
fn solves_and_error(couplings: Vec<Coupling>) -> (usize, f64) {
    let mut system = bodies(5);
    system.set_couplings(couplings);
    let factor = factorized(&system);
    let mut rhs = some_vector(system.dofs());
    let mut solution = vec![0.0; rhs.len()];
    let solves = factor.improve_solution(&system, &mut rhs, &mut solution, 1e-12);
    (solves, error(&system, &factor))
}

#[test]
fn leaves_of_one_sparse_body_take_a_single_solve() {
    let [host, other, small, ..] = FIRST;
    let cases = [
        vec![spring([host, other], 3.0)],
        vec![spring([small, rod(0).start], 3.0)],
        vec![spring([host, other], 3.0), spring([small, other], 3.0)],
        vec![spring([host, host + 8], 3.0)],
        vec![spring([rod(1).start, rod(1).start + 3], 3.0)],
    ];
    for (case, couplings) in cases.into_iter().enumerate() {
        let (solves, error) = solves_and_error(couplings);
        assert!(
            solves == 1 && error < 1e-12,
            "case {case}: {solves} {error}"
        );
    }
}

#[test]
fn cycles_chains_and_ties_between_rods_use_conjugate_gradients() {
    let [host, other, small, last, _] = FIRST;
    let rods = [rod(0).start, rod(1).start];
    let across = Coupling {
        nodes: [host, other, small].map(|node| (node as u32, 0.3)).into(),
        block: DMat3::IDENTITY,
    };
    let cases = [
        // A cycle, a chain, two rods, two rods that are also tied to a host, a tie of three bodies.
        vec![
            spring([host, other], 3.0),
            spring([other, small], 3.0),
            spring([small, host], 3.0),
        ],
        vec![
            spring([host, other], 3.0),
            spring([other, small], 3.0),
            spring([small, last], 3.0),
        ],
        vec![spring(rods, 3.0)],
        vec![
            spring(rods, 3.0),
            spring([host, rods[0]], 3.0),
            spring([host, rods[1]], 3.0),
        ],
        vec![across],
    ];
    for (case, couplings) in cases.into_iter().enumerate() {
        let (solves, error) = solves_and_error(couplings);
        assert!(solves > 1 && error < 1e-10, "case {case}: {solves} {error}");
    }
}

#[test]
fn a_seam_of_many_nodes_uses_conjugate_gradients() {
    let sheets = [40, 30].map(|nodes| Matrix::Blocks(random_matrix(nodes, &[(0, 1), (5, 9)], 3)));
    let mut system = System::new(sheets, (0..70).map(|node| 3 * node).collect());
    for (nodes, is_exact) in [(21, true), (22, false)] {
        let seam = (0..nodes).map(|node| spring([node, 40 + node], 2.0));
        system.set_couplings(seam.collect());
        let factor = factorized(&system);
        assert_eq!(factor.is_exact(&system), is_exact);
        assert!(error(&system, &factor) < 1e-12);
    }
}

#[test]
fn a_tie_to_many_host_nodes_uses_conjugate_gradients() {
    let sheets = [120, 3].map(|nodes| Matrix::Blocks(random_matrix(nodes, &[(0, 1), (1, 2)], 3)));
    let mut system = System::new(sheets, (0..123).map(|node| 3 * node).collect());
    for (nodes, is_exact) in [(100, true), (101, false)] {
        let mean = (0..nodes).map(|node| (node, -1.0 / f64::from(nodes)));
        system.set_couplings(vec![Coupling {
            nodes: mean.chain([(121, 1.0)]).collect(),
            block: DMat3::IDENTITY * 10.0,
        }]);
        let factor = factorized(&system);
        assert_eq!(factor.is_exact(&system), is_exact);
        assert!(error(&system, &factor) < 1e-12);
    }
}

#[test]
fn leaves_that_make_the_host_factor_dense_use_conjugate_gradients() {
    // The factor of a chain has a few blocks per node; rods between distant nodes make it dense.
    let (nodes, rods) = (1500, 700);
    let links: Vec<(u32, u32)> = (1..nodes).map(|node| (node - 1, node)).collect();
    let chain = Matrix::Blocks(random_matrix(nodes as usize, &links, 3));
    let layout = BandedLayout::rod(2, false);
    let (size, first) = (layout.size(), 3 * nodes as usize);
    let mut batch = BandedBatch::zeros(layout, rods);
    batch.add_diagonal(&vec![1.0; rods * size]);
    let ends = (0..2 * rods).map(|end| first + end / 2 * size + end % 2 * 4);
    let offsets = (0..first).step_by(3).chain(ends).collect();
    let mut system = System::new([chain, Matrix::Rods(batch)], offsets);
    let end = |rod: usize, end: usize| nodes as usize + 2 * rod + end;
    for (stride, is_exact) in [(1, true), (577, false)] {
        let spokes = (0..rods).flat_map(|rod| {
            let far = (rod * stride + 1) % nodes as usize;
            [
                spring([rod, end(rod, 0)], 1.0),
                spring([far, end(rod, 1)], 1.0),
            ]
        });
        system.set_couplings(spokes.collect());
        let factor = factorized(&system);
        assert_eq!(factor.is_exact(&system), is_exact);
        let wanted = some_vector(system.dofs());
        let mut found = vec![0.0; wanted.len()];
        system.multiply(&wanted, &mut found);
        factor.solve_in_place(&system, &mut found);
        let errors = wanted.iter().zip(&found).map(|(w, f)| (w - f).abs());
        assert!(errors.fold(0.0, f64::max) < 1e-11);
    }
}

#[test]
fn factors_are_correct_after_a_failed_factorization() {
    let mut system = tied(8);
    let mut factor = factorized(&system);
    // A host changes, and a leaf, which fails.
    system.bodies[0].matrix.add_diagonal(&[1.0; 27]);
    system.bodies[2].matrix.add_diagonal(&[-100.0; 6]);
    let failure = factor.factorize(&system).unwrap_err();
    assert_eq!(failure.body, 2);
    system.bodies[2].matrix.add_diagonal(&[101.0; 6]);
    factor.factorize_bodies(&system, |body| body == 2).unwrap();
    assert!(factor.is_exact(&system) && error(&system, &factor) < 1e-10);
    // The failure of a host is reported too.
    system.bodies[1].matrix.add_diagonal(&[-1e6; 21]);
    let failure = factor.factorize(&system).unwrap_err();
    assert_eq!(failure.body, 1);
}

#[test]
fn extremely_stiff_springs_do_not_fail_the_factorization() {
    let mut system = bodies(5);
    for stiffness in [1e12, 1e16, 1e20, 1e300] {
        system.set_couplings(vec![spring([FIRST[0], rod(0).start], stiffness)]);
        let whole = system.clone();
        let mut merged = system.clone();
        merged.hold(&whole, &vec![false; whole.dofs()], |_| true);
        for system in [&system, &merged] {
            let factor = factorized(system);
            let mut rhs = some_vector(system.dofs());
            factor.solve_in_place(system, &mut rhs);
            assert!(rhs.iter().all(|entry| entry.is_finite()), "{stiffness}");
        }
    }
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let system = tied(11);
    let solve = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().unwrap().install(|| {
            let mut rhs = some_vector(system.dofs());
            factorized(&system).solve_in_place(&system, &mut rhs);
            rhs
        })
    };
    assert_eq!(solve(1), solve(5));
}

#[test]
fn single_precision_solves_include_ties() {
    let mut system = tied(3);
    let mut factor = factorized(&system);
    for _ in 0..2 {
        factor.update_single_precision(|_| true).unwrap();
        let [mut single, mut exact] = [some_vector(system.dofs()), some_vector(system.dofs())];
        factor.solve_single_precision(&mut single);
        factor.solve_in_place(&system, &mut exact);
        let differences = single.iter().zip(&exact).map(|(a, b)| (a - b).abs());
        let difference = differences.fold(0.0, f64::max);
        assert!(difference > 0.0 && difference < 1e-3, "{difference}");
        system.bodies[0].matrix.add_diagonal(&[1.0; 27]);
        factor.factorize_bodies(&system, |body| body == 0).unwrap();
    }
}

#[test]
fn plans_and_symbolic_factorizations_are_reused() {
    let mut system = tied(3);
    let mut factor = factorized(&system);
    let mut other = factor.allocate_like().unwrap();
    let plan = factor.elimination.plan.clone().unwrap();
    let mut softer = system.couplings().to_vec();
    softer.iter_mut().for_each(|coupling| coupling.block *= 0.5);
    system.set_couplings(softer);
    for factor in [&mut factor, &mut other] {
        factor.factorize(&system).unwrap();
        let kept = factor.elimination.plan.as_ref().unwrap();
        assert!(Arc::ptr_eq(&plan, kept));
        assert!(error(&system, factor) < 1e-10);
    }
    // Without the ties of a rod to its host, the other host has the same pattern.
    let mut fewer = system.couplings().to_vec();
    fewer.retain(|coupling| !rod(0).contains(&(coupling.nodes[0].0 as usize)));
    system.set_couplings(fewer);
    factor.factorize(&system).unwrap();
    let changed = factor.elimination.plan.as_ref().unwrap();
    assert!(!Arc::ptr_eq(&plan, changed));
    let is_kept = |host: usize| {
        let symbolic = [&plan, changed].map(|plan| &plan.hosts[host].symbolic);
        Arc::ptr_eq(symbolic[0], symbolic[1])
    };
    assert!(is_kept(1));
}
