//! The momentum error: the distance of each node from where the reported forces would move it.

use std::ops::Range;

use rayon::prelude::*;

use super::Scratch;
use crate::energy::{CHUNK, Curvature, sum_in_chunks};
use crate::equations::Equations;
use crate::model::{Body, Elements, Model};
use crate::step_input::StepInput;

/// If the upper bound of the error is below this (m), the bound is reported. It needs no solve.
const NEGLIGIBLE_ERROR: f64 = 1e-9;

/// Relative error at which conjugate gradients stop, by an upper bound.
const CG_TOLERANCE: f64 = 0.05;

/// Maximum number of iterations of conjugate gradients.
const MAX_CG_ITERATIONS: usize = 2000;

/// Iterations of conjugate gradients from one convergence test to the next.
const CG_TEST_INTERVAL: usize = 10;

/// h · max ‖(A⁻¹ρ)ⱼ‖ over the nodes (m). ρ is overwritten; it must be zero on held unknowns.
///
/// Uses the factors of A if the step has computed them. Otherwise conjugate gradients, plus an
/// upper bound of their error: no factorization is done for the certificate only.
pub(crate) fn momentum_error(
    model: &Model,
    h: f64,
    residual: &mut [f64],
    scratch: &Scratch,
) -> f64 {
    let (equations, posed) = (&scratch.equations, &scratch.posed);
    let bound = h * displacement_bound(model, residual, equations);
    if bound <= NEGLIGIBLE_ERROR && equations.curvature == Curvature::Projected {
        return bound;
    }
    let system = &posed.problem.system;
    if let Some(factor) = posed.factors.fresh() {
        factor.solve_in_place(system, residual);
        return h * model.unknowns.largest_at_nodes(residual);
    }
    let error = |solution: &[f64], left: &[f64]| {
        let own = h * displacement_bound(model, left, equations);
        (h * model.unknowns.largest_at_nodes(solution), own)
    };
    let found = system.conjugate_gradients(residual, MAX_CG_ITERATIONS, |found| {
        if !found.products.is_multiple_of(CG_TEST_INTERVAL) {
            return false;
        }
        let (found, own) = error(found.solution, found.residual);
        own <= NEGLIGIBLE_ERROR.max(CG_TOLERANCE * found)
    });
    let (found, own) = error(&found.solution, &found.residual);
    (found + own).min(bound)
}

/// Sets the residual on held unknowns to zero.
pub(crate) fn clear_held(input: &StepInput<'_>, residual: &mut [f64]) {
    let residuals = residual.par_iter_mut().zip(input.is_held());
    residuals.with_min_len(CHUNK).for_each(|(rho, is_held)| {
        if *is_held {
            *rho = 0.0;
        }
    });
}

/// An upper bound of max ‖(A⁻¹ρ)ⱼ‖ over the nodes without a solve (m/s). K and C are positive
/// semidefinite, so A ⪰ M and mⱼ ‖(A⁻¹ρ)ⱼ‖² ≤ ρᵀA⁻¹MA⁻¹ρ ≤ ρᵀM⁻¹ρ, where M is the inertia in A.
/// Without ties this holds for each rod and each other body alone.
fn displacement_bound(model: &Model, residual: &[f64], equations: &Equations) -> f64 {
    let sum = |dofs: Range<usize>| -> f64 {
        let entries = residual[dofs.clone()].iter().zip(&equations.inertia[dofs]);
        entries.map(|(rho, inertia)| rho * rho / inertia).sum()
    };
    let total = |dofs: Range<usize>| {
        let (first, count) = (dofs.start, dofs.len().div_ceil(CHUNK));
        sum_in_chunks(count, |chunk| {
            let start = first + chunk * CHUNK;
            sum(start..dofs.end.min(start + CHUNK))
        })
    };
    // Not `max`, which ignores NaN.
    let larger = |most: f64, bound: f64| if bound <= most { most } else { bound };
    let of_body = |body: &Body| {
        let masses = body.nodes.clone().map(|node| model.masses[node]);
        let least = masses.fold(f64::INFINITY, f64::min);
        let most = match (&body.elements, equations.ties.is_empty()) {
            (_, false) => total(0..residual.len()),
            (Elements::Blocks(_), true) => total(body.dofs.clone()),
            (Elements::Rods(rods), true) => {
                let (first, size) = (body.dofs.start, rods.batch.shape().unknowns());
                let of_rod = |rod: usize| sum(first + rod * size..first + (rod + 1) * size);
                let rods = (0..rods.batch.shape().count).into_par_iter();
                let sums: Vec<f64> = rods.map(of_rod).collect();
                sums.into_iter().fold(0.0, larger)
            }
        };
        (most / least).sqrt()
    };
    model.bodies.iter().map(of_body).fold(0.0, larger)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::equations::linearize::tests::{input, model, velocities};
    use crate::equations::linearize::{BodySubset, LinearisationPoint, linearize, prepare};

    /// Rods, cloth, a solid, a lattice and a prop, with viscosity and wind; with ties and without.
    fn with_and_without_ties(mut call: impl FnMut(&StepInput<'_>, &mut Scratch)) {
        let mut tied = model();
        let ties = std::mem::take(&mut tied.ties);
        for ties in [Vec::new(), ties] {
            tied.ties = ties;
            let input = input(&tied);
            let mut scratch = Scratch::new(&tied);
            let Scratch {
                equations,
                linearised,
                posed,
                ..
            } = &mut scratch;
            prepare(&input, equations);
            linearize(
                &input,
                LinearisationPoint::Start,
                BodySubset::All,
                equations,
                linearised,
            );
            let system = &mut posed.problem.system;
            system.hold(&linearised.system, input.is_held(), |_| true);
            call(&input, &mut scratch);
        }
    }

    fn random_residual(input: &StepInput<'_>, seed: u64) -> Vec<f64> {
        let mut residual = velocities(input.model, seed, 1.0);
        for (rho, is_held) in residual.iter_mut().zip(input.is_held()) {
            *rho = if *is_held { 0.0 } else { *rho };
        }
        residual
    }

    #[test]
    fn the_momentum_error_is_never_above_its_bound() {
        with_and_without_ties(|input, scratch| {
            let posed = &mut scratch.posed;
            posed.factors.get(&posed.problem.system).unwrap();
            for seed in 0..20 {
                let mut residual = random_residual(input, seed);
                let bound = displacement_bound(input.model, &residual, &scratch.equations);
                let factor = scratch.posed.factors.fresh().unwrap();
                factor.solve_in_place(scratch.held_system(), &mut residual);
                let error = input.model.unknowns.largest_at_nodes(&residual);
                assert!(error > 0.0 && error <= bound, "{error} above {bound}");
            }
        });
    }

    #[test]
    fn without_factors_conjugate_gradients_bound_the_error_from_above() {
        with_and_without_ties(|input, scratch| {
            for seed in 0..5 {
                let residual = random_residual(input, seed);
                let by_products = momentum_error(input.model, 0.01, &mut residual.clone(), scratch);
                assert_eq!(scratch.factorizations(), 0);
                let mut twin = Scratch::new(input.model);
                std::mem::swap(&mut twin.posed.factors, &mut scratch.posed.factors);
                scratch
                    .posed
                    .factors
                    .get(&scratch.posed.problem.system)
                    .unwrap();
                let exact = momentum_error(input.model, 0.01, &mut residual.clone(), scratch);
                std::mem::swap(&mut twin.posed.factors, &mut scratch.posed.factors);
                let most = (1.0 + 2.0 * CG_TOLERANCE) * exact + 2.0 * NEGLIGIBLE_ERROR;
                assert!(by_products >= 0.999 * exact, "{by_products} below {exact}");
                assert!(by_products <= most, "{by_products} above {exact}");
            }
        });
    }
}
