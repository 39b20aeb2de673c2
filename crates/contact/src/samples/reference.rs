//! A slow reference solver: W = B A⁻¹ Bᵀ column by column, then Gauss-Seidel with the exact
//! solution of each contact.

use glam::{DMat3, DVec3};

use crate::problem::{NodalProblem, Solution, WarmStart};
use crate::system::SystemFactor;

/// Limit on the number of sweeps.
const MAX_SWEEPS: usize = 20_000;

/// Factor of A.
pub(crate) fn factor(problem: &NodalProblem) -> SystemFactor {
    let mut factor = SystemFactor::for_system(&problem.system).unwrap();
    factor.factorize(&problem.system).unwrap();
    factor
}

/// Condensed problem û = Ŵ r̂ + q̂, with compliance in Ŵ and cohesion in q̂.
struct Condensed {
    blocks: Vec<Vec<DMat3>>,
    free: Vec<DVec3>,
}

fn condense(problem: &NodalProblem, factor: &SystemFactor) -> Condensed {
    let contacts = &problem.contacts;
    let count = contacts.len();
    let mut blocks = vec![vec![DMat3::ZERO; count]; count];
    for column in 0..count {
        for axis in 0..3 {
            let mut impulses = vec![DVec3::ZERO; count];
            impulses[column][axis] = 1.0;
            let mut motion = vec![0.0; problem.system.dofs()];
            problem.add_impulses(&impulses, &mut motion);
            factor.solve_in_place(&problem.system, &mut motion);
            for row in 0..count {
                let velocity = problem.relative_velocity(row, &motion) - contacts[row].kinematic;
                *blocks[row][column].col_mut(axis) = velocity;
            }
        }
        let contact = &contacts[column];
        let compliance = contact.compliance / (problem.step * problem.step);
        let n = contact.normal;
        blocks[column][column] += DMat3::from_cols(n * n.x, n * n.y, n * n.z) * compliance;
    }
    let mut velocities = problem.force.clone();
    factor.solve_in_place(&problem.system, &mut velocities);
    let mut free = problem.relative_velocities(&velocities);
    for row in 0..count {
        for column in 0..count {
            let cohesion = contacts[column].normal * (problem.step * contacts[column].cohesion);
            free[row] -= blocks[row][column] * cohesion;
        }
    }
    Condensed { blocks, free }
}

/// Solves a problem until both errors are below `tolerance` (m).
pub(crate) fn solve(problem: &NodalProblem, warm: &WarmStart, tolerance: f64) -> Solution {
    let factor = factor(problem);
    let Condensed { blocks, free } = condense(problem, &factor);
    let contacts = &problem.contacts;
    let cohesion = |c: usize| contacts[c].normal * (problem.step * contacts[c].cohesion);
    let count = contacts.len();
    let start = warm.impulses_of(problem).into_iter().enumerate();
    let mut impulses: Vec<DVec3> = start.map(|(c, r)| r + cohesion(c)).collect();
    for sweep in 0..=MAX_SWEEPS {
        if sweep == MAX_SWEEPS || sweep % 1000 == 0 || sweep.is_power_of_two() {
            let total: Vec<DVec3> = (0..count).map(|c| impulses[c] - cohesion(c)).collect();
            let velocities = problem.velocities(&factor, &total);
            let errors = problem.errors(&factor, &velocities, &total);
            if errors.largest() < tolerance {
                return Solution::new(velocities, total);
            }
            assert!(sweep < MAX_SWEEPS, "not solved: {errors:?}");
        }
        for c in 0..count {
            let others = (0..count).filter(|other| *other != c);
            let q = others.fold(free[c], |q, other| q + blocks[c][other] * impulses[other]);
            impulses[c] = one_contact(&blocks[c][c], q, contacts[c].normal, contacts[c].friction);
        }
    }
    unreachable!("the last sweep returns or fails")
}

/// Solution r of one contact with u = W r + q, by bisection for λ in u_T = −λ r_T.
fn one_contact(w: &DMat3, q: DVec3, normal: DVec3, friction: f64) -> DVec3 {
    let (first, second) = normal.any_orthonormal_pair();
    let basis = DMat3::from_cols(normal, first, second);
    let (w, q) = (basis.transpose() * *w * basis, basis.transpose() * q);
    if q.x >= 0.0 {
        return DVec3::ZERO;
    }
    if friction == 0.0 {
        return normal * (-q.x / w.x_axis.x);
    }
    // Solution of u_N = 0 and u_T = −λ r_T.
    let at = |lambda: f64| {
        let slip = DMat3::from_diagonal(DVec3::new(0.0, lambda, lambda));
        (w + slip).inverse() * -q
    };
    let excess = |r: DVec3| r.y.hypot(r.z) - friction * r.x;
    if excess(at(0.0)) <= 0.0 {
        return basis * at(0.0);
    }
    let (mut low, mut high) = (0.0, w.x_axis.x);
    while excess(at(high)) > 0.0 {
        (low, high) = (high, 2.0 * high);
    }
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if excess(at(middle)) > 0.0 {
            low = middle
        } else {
            high = middle
        }
    }
    basis * at(high)
}
