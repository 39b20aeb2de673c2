//! Checks of any energy: derivatives against finite differences, invariance and definiteness.

use super::{Blocks, Energy};
use glam::{DMat3, DVec3};

/// Checks one element at `x` whose nodes are points: derivatives, and invariance under rigid
/// motion.
pub(crate) fn check_derivatives<const K: usize>(
    energy: &impl Energy<K>,
    element: usize,
    x: &[DVec3; K],
) {
    check_slopes(energy, element, x);
    check_invariance(energy, element, x);
}

/// Checks one element at `x`: gradient and Hessian against central differences, symmetry, a
/// projected Hessian that is positive semidefinite, and that `linearize` agrees with its parts.
pub(crate) fn check_slopes<const K: usize>(
    energy: &impl Energy<K>,
    element: usize,
    x: &[DVec3; K],
) {
    let size = x
        .iter()
        .map(|point| point.distance(x[0]))
        .fold(0.0, f64::max);
    let step = 1e-5 * size;
    let gradient = energy.gradient(element, x);
    let hessian = energy.hessian(element, x);
    let force = gradient
        .iter()
        .map(|g| g.abs().max_element())
        .fold(0.0, f64::max);
    let stiffness = largest_entry(&hessian);

    for node in 0..K {
        for axis in 0..3 {
            let (mut ahead, mut behind) = (*x, *x);
            ahead[node][axis] += step;
            behind[node][axis] -= step;
            let slope =
                (energy.value(element, &ahead) - energy.value(element, &behind)) / (2.0 * step);
            let error = (slope - gradient[node][axis]).abs();
            assert!(
                error <= 1e-6 * force + 1e-8 * stiffness * size,
                "gradient of node {node} axis {axis}: {} but the value changes by {slope}",
                gradient[node][axis]
            );
            let (ahead, behind) = (
                energy.gradient(element, &ahead),
                energy.gradient(element, &behind),
            );
            for other in 0..K {
                let slope = (ahead[other] - behind[other]) / (2.0 * step);
                let error = (slope - hessian[other][node].col(axis)).abs().max_element();
                assert!(
                    error <= 1e-6 * stiffness,
                    "Hessian block {other} {node} column {axis}: {}, but difference {slope}",
                    hessian[other][node].col(axis)
                );
            }
        }
    }
    check_symmetry(&hessian);
    let projected = energy.projected_hessian(element, x);
    check_definite(&projected);
    assert_eq!(
        (energy.value(element, x), gradient, projected),
        energy.linearize(element, x),
        "linearize differs from its parts"
    );
}

/// Checks that net force and torque are zero, and that the projected Hessian is zero for
/// translations.
pub(crate) fn check_invariance<const K: usize>(
    energy: &impl Energy<K>,
    element: usize,
    x: &[DVec3; K],
) {
    let gradient = energy.gradient(element, x);
    let force = gradient
        .iter()
        .map(|g| g.abs().max_element())
        .fold(0.0, f64::max);
    let reach = x.iter().map(|point| point.length()).fold(0.0, f64::max);
    let net_force: DVec3 = gradient.iter().sum();
    let torque: DVec3 = x
        .iter()
        .zip(&gradient)
        .map(|(point, g)| point.cross(*g))
        .sum();
    assert!(
        net_force.length() <= 1e-12 * force,
        "translation changes the energy: {net_force}"
    );
    let projected = energy.projected_hessian(element, x);
    let scale = largest_entry(&projected);
    // Near rest the force is the rounding error of stresses that cancel.
    assert!(
        torque.length() <= 1e-11 * force * reach + 1e-15 * scale * reach * reach,
        "rotation changes the energy: {torque}"
    );
    for row in &projected {
        let net: DMat3 = row
            .iter()
            .copied()
            .fold(DMat3::ZERO, |sum, block| sum + block);
        assert!(
            largest_entry(&[[net]]) <= 1e-12 * scale,
            "the projected Hessian resists translation"
        );
    }
}

fn check_symmetry<const K: usize>(hessian: &Blocks<K>) {
    let scale = largest_entry(hessian);
    for i in 0..K {
        for j in 0..K {
            let difference = hessian[i][j] - hessian[j][i].transpose();
            assert!(
                largest_entry(&[[difference]]) <= 1e-13 * scale,
                "block {i} {j} is not symmetric"
            );
        }
    }
}

fn check_definite<const K: usize>(projected: &Blocks<K>) {
    check_symmetry(projected);
    let scale = largest_entry(projected);
    let smallest = eigenvalues(dense(projected))
        .into_iter()
        .fold(f64::INFINITY, f64::min);
    assert!(
        smallest >= -1e-11 * scale,
        "the projected Hessian has the eigenvalue {smallest}"
    );
}

fn largest_entry<const K: usize>(blocks: &Blocks<K>) -> f64 {
    blocks
        .as_flattened()
        .iter()
        .flat_map(|block| block.to_cols_array())
        .map(f64::abs)
        .fold(0.0, f64::max)
}

/// The blocks as a dense matrix.
pub(crate) fn dense<const K: usize>(blocks: &Blocks<K>) -> Vec<Vec<f64>> {
    let entry = |row: usize, column: usize| blocks[row / 3][column / 3].col(column % 3)[row % 3];
    (0..3 * K)
        .map(|row| (0..3 * K).map(|column| entry(row, column)).collect())
        .collect()
}

/// Eigenvalues of a symmetric matrix by cyclic Jacobi rotations.
pub(crate) fn eigenvalues(mut a: Vec<Vec<f64>>) -> Vec<f64> {
    let n = a.len();
    for _sweep in 0..60 {
        for p in 0..n {
            for q in p + 1..n {
                if a[p][q] == 0.0 {
                    continue;
                }
                let tau = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
                let tangent = tau.signum() / (tau.abs() + tau.hypot(1.0));
                let cosine = 1.0 / tangent.hypot(1.0);
                let sine = tangent * cosine;
                for k in 0..n {
                    let (kp, kq) = (a[k][p], a[k][q]);
                    a[k][p] = cosine * kp - sine * kq;
                    a[k][q] = sine * kp + cosine * kq;
                }
                for k in 0..n {
                    let (pk, qk) = (a[p][k], a[q][k]);
                    a[p][k] = cosine * pk - sine * qk;
                    a[q][k] = sine * pk + cosine * qk;
                }
            }
        }
    }
    (0..n).map(|i| a[i][i]).collect()
}

#[test]
fn the_eigenvalues_of_a_known_matrix_are_found() {
    let mut found = eigenvalues(vec![
        vec![2.0, -1.0, 0.0],
        vec![-1.0, 2.0, -1.0],
        vec![0.0, -1.0, 2.0],
    ]);
    found.sort_by(f64::total_cmp);
    for (value, known) in found
        .iter()
        .zip([2.0 - 2f64.sqrt(), 2.0, 2.0 + 2f64.sqrt()])
    {
        assert!((value - known).abs() < 1e-14);
    }
}
