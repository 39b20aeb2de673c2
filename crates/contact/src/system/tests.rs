//! Products and solves of systems of sheets and rods, with and without ties.

use super::*;
use crate::banded::BandedFactor;
use crate::banded::BandedLayout;
use crate::block_sparse::tests::random;
use crate::cholesky::Factor;
use crate::symbolic::Symbolic;
use std::sync::Arc;

fn factors(system: &System) -> SystemFactor {
    let factor = |body: &SystemBody| match &body.matrix {
        Matrix::Blocks(matrix) => {
            let symbolic = Symbolic::analyze(matrix.pattern()).unwrap();
            BodyFactor::Blocks(Factor::new(Arc::new(symbolic)).unwrap())
        }
        Matrix::Rods(batch) => {
            BodyFactor::Rods(BandedFactor::new(batch.layout().clone(), batch.count()))
        }
    };
    SystemFactor::new(system.bodies.iter().map(factor).collect())
}

fn system(matrices: impl IntoIterator<Item = BlockSparse>) -> System {
    let matrices: Vec<Matrix> = matrices.into_iter().map(Matrix::Blocks).collect();
    let dofs: usize = matrices.iter().map(Matrix::dofs).sum();
    System::new(matrices, (0..dofs).step_by(3).collect())
}

#[test]
fn a_solve_inverts_the_product_for_all_bodies() {
    let sizes = [3, 1, 40, 7];
    let bodies = sizes.map(|n| random(n, &[(0, 1), (2, 5), (1, 2), (30, 3)], n as u64));
    let system = system(bodies);
    assert_eq!(system.dofs(), 3 * 51);
    assert_eq!(system.node_offset[4], 12);
    let mut factor = factors(&system);
    factor.factorize(&system).unwrap();
    let x: Vec<f64> = (0..system.dofs()).map(|i| (i as f64).sin()).collect();
    let mut y = vec![0.0; x.len()];
    system.multiply(&x, &mut y);
    factor.solve_in_place(&system, &mut y);
    assert!(x.iter().zip(&y).all(|(a, b)| (a - b).abs() < 1e-12));
}

#[test]
fn a_failed_factorization_reports_the_first_failing_body() {
    let mut system = system([5, 6, 7].map(|n| random(n, &[(0, 3)], 1)));
    let mut factor = factors(&system);
    for body in [2, 1] {
        system.bodies[body]
            .matrix
            .add_diagonal(&vec![-1e3; 3 * (5 + body)]);
        let error = factor.factorize(&system).unwrap_err();
        assert_eq!(error.body, body);
    }
}

/// Two sheets and a batch of rods with three couplings.
fn tied() -> System {
    let mut batch = BandedBatch::zeros(BandedLayout::rod(4, false), 3);
    batch.add_diagonal(&vec![2.0; 45]);
    for rod in 0..3 {
        for unknown in 1..15 {
            batch.add(rod, unknown, unknown - 1, -0.7);
        }
    }
    let sheets = [5, 6].map(|n| Matrix::Blocks(random(n, &[(0, 3), (1, 4)], n as u64)));
    let nodes = (0..11).map(|j| 3 * j);
    let rods = (0..12).map(|j| 33 + j / 4 * 15 + j % 4 * 4);
    let matrices = sheets.into_iter().chain([Matrix::Rods(batch)]);
    let mut system = System::new(matrices, nodes.chain(rods).collect());
    let ties = [
        (vec![(1, 1.0), (7, -1.0)], 10.0),
        (vec![(2, 0.5), (4, 0.5), (15, -1.0)], 1e4),
        (vec![(20, 1.0)], 3.0),
    ];
    let couplings = ties.map(|(nodes, scale)| Coupling {
        nodes,
        block: DMat3::from_diagonal(DVec3::new(1.0, 0.3, 0.0)) * scale,
    });
    system.set_couplings(couplings.into());
    system
}

#[test]
fn a_solve_inverts_the_product_with_ties_and_held_nodes() {
    let whole = tied();
    let mut is_held = vec![false; whole.dofs()];
    for round in 0..2 {
        let mut system = whole.clone();
        system.hold(&whole, &is_held, |_| true);
        let mut factor = factors(&system);
        factor.factorize(&system).unwrap();
        let x: Vec<f64> = (0..system.dofs()).map(|i| (i as f64).sin()).collect();
        let mut y = vec![0.0; x.len()];
        system.multiply(&x, &mut y);
        factor.solve_in_place(&system, &mut y);
        let error = x
            .iter()
            .zip(&y)
            .map(|(a, b)| (a - b).abs())
            .fold(0.0, f64::max);
        assert!(error < 1e-10, "round {round}: {error}");
        is_held[6..9].fill(true);
        is_held[33..36].fill(true);
        // A tied node, held along y only.
        is_held[4] = true;
        is_held[36] = true;
    }
}

#[test]
fn ties_connect_bodies() {
    // Nodes 1, 2 and 4 belong to the first sheet, 7 to the second, 15 to a rod.
    let system = tied();
    assert_eq!(system.connected_bodies(vec![false, true, false]), [true; 3]);
    assert_eq!(system.connected_bodies(vec![false; 3]), [false; 3]);
}

#[test]
fn holding_only_the_changed_body_is_holding_all() {
    let mut whole = tied();
    let is_held = vec![false; whole.dofs()];
    let mut held = whole.clone();
    held.hold(&whole, &is_held, |_| true);
    whole.bodies[1].matrix.add_diagonal(&[3.0; 18]);
    let mut again = held.clone();
    again.hold(&whole, &is_held, |_| true);
    held.hold(&whole, &is_held, |body| body == 1);
    let x: Vec<f64> = (0..whole.dofs()).map(|i| (i as f64).cos()).collect();
    let [mut a, mut b] = [vec![0.0; x.len()], vec![0.0; x.len()]];
    again.multiply(&x, &mut a);
    held.multiply(&x, &mut b);
    assert_eq!(a, b);
}

#[test]
fn a_tie_acts_on_both_ends_with_opposite_signs() {
    let with = tied();
    let mut without = with.clone();
    without.set_couplings(Vec::new());
    let x: Vec<f64> = (0..with.dofs()).map(|i| (i as f64).cos()).collect();
    let [mut a, mut b] = [vec![0.0; x.len()], vec![0.0; x.len()]];
    with.multiply(&x, &mut a);
    without.multiply(&x, &mut b);
    let (near, far) = (with.node_offset[1], with.node_offset[7]);
    let pull = 10.0 * (x[near] - x[far]);
    assert!((a[near] - b[near] - pull).abs() < 1e-12);
    assert!((a[far] - b[far] + pull).abs() < 1e-12);
}

#[test]
fn scalar_entries_have_the_products_of_the_system() {
    let whole = tied();
    let mut is_held = vec![false; whole.dofs()];
    is_held[4..8].fill(true);
    is_held[36] = true;
    let mut held = whole.clone();
    held.hold(&whole, &is_held, |_| true);
    for system in [whole, held] {
        let x: Vec<f64> = (0..system.dofs()).map(|i| (i as f64).cos()).collect();
        let [mut product, mut sum] = [vec![0.0; x.len()], vec![0.0; x.len()]];
        system.multiply(&x, &mut product);
        for (row, column, value) in system.entries() {
            sum[row as usize] += value * x[column as usize];
        }
        // Springs of 1e4 are added to entries of 1: rounding alone is 1e-12.
        let errors = product.iter().zip(&sum).map(|(a, b)| (a - b).abs());
        assert!(errors.fold(0.0, f64::max) < 1e-10);
        let restored = System::new(
            system.bodies.iter().map(|body| body.matrix.clone()),
            system.node_offset.clone(),
        );
        let restored = restored.restore(
            system.couplings().to_vec(),
            system.is_merged(),
            system.held().to_vec(),
        );
        assert_eq!(restored.entries(), system.entries());
    }
}

#[test]
fn entries_of_closed_rods_are_in_the_order_of_unknowns() {
    let mut batch = BandedBatch::zeros(BandedLayout::rod(5, true), 5);
    batch.add(4, 0, 19, 3.0);
    let system = System::new([Matrix::Rods(batch)], vec![0]);
    // The last rod begins at 80; its first and last unknowns are adjacent in the ring.
    assert_eq!(system.entries(), [(80, 99, 3.0), (99, 80, 3.0)]);
}

#[test]
fn conjugate_gradients_reach_the_accuracy_and_stay_finite_at_the_solution() {
    let mut whole = tied();
    // The second sheet is tied to the rods as well: a cycle cannot be eliminated.
    let mut couplings = whole.couplings().to_vec();
    couplings.push(Coupling {
        nodes: vec![(8, 1.0), (16, -1.0)],
        block: DMat3::IDENTITY * 5.0,
    });
    whole.set_couplings(couplings);
    let mut system = whole.clone();
    system.hold(&whole, &vec![false; whole.dofs()], |_| true);
    let mut factor = factors(&system);
    factor.factorize(&system).unwrap();
    let x: Vec<f64> = (0..system.dofs()).map(|i| (i as f64).sin()).collect();
    let solve = |from: &[f64], accuracy: f64| {
        let mut rhs = vec![0.0; x.len()];
        system.multiply(&x, &mut rhs);
        let mut solution = from.to_vec();
        let solves = factor.improve_solution(&system, &mut rhs, &mut solution, accuracy);
        let errors = x.iter().zip(&solution).map(|(a, b)| (a - b).abs());
        // Not `f64::max`, which ignores NaN.
        let error = errors.fold(0.0, |most, error| if error <= most { most } else { error });
        (solves, error)
    };
    let zero = vec![0.0; x.len()];
    let (rough, rough_error) = solve(&zero, 1e-2);
    let (fine, fine_error) = solve(&zero, 1e-9);
    assert!(rough < fine, "{rough} {fine}");
    assert!(
        fine_error < 1e-7 && fine_error < rough_error,
        "{fine_error} {rough_error}"
    );
    // At the solution the residual is rounding only; a division by it must not produce NaN.
    let (solves, error) = solve(&x, 0.0);
    assert!(error < 1e-12 && solves < 100, "{solves} {error}");
}
