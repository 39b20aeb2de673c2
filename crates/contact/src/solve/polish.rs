//! Polish: Newton steps on the contacts where the iterations of a solver converge slowly.
//!
//! The unknowns are the impulses r̂ of all contacts in local axes; u = W r̂ + q with the Delassus
//! operator W = B A⁻¹ Bᵀ. With few contact nodes, W is computed by solves, and the robust solver is
//! used ([`condensed`]). Otherwise W is never formed: a product with W is one solve with the
//! factors of A, and the system with the Jacobian X + Y W of the Alart-Curnier function is solved
//! by GMRES, preconditioned by the blocks of the contacts.

use glam::{DMat3, DVec3};

use crate::delassus::nodal::{to_local, to_solution, to_world};
use crate::law;
use crate::problem::{Errors, NodalProblem, Solution};
use crate::solve::alart_curnier::AlartCurnier;
use crate::solve::condensed;
use crate::solve::gmres::gmres;
use crate::system::SystemFactor;

/// Iterations of a solver before the first attempt, at least.
const MIN_ITERATIONS: usize = 40;

/// W is computed for the robust solver with at most this number of contact nodes in a component and
/// of contacts in a group: its time grows with the cube of the contacts.
const MAX_CONDENSED_NODES: usize = 400;
const MAX_CONDENSED_CONTACTS: usize = 100;

/// GMRES is tried with at most this number of contacts. More contacts on few nodes do not determine
/// their impulses, and Newton steps did not converge.
const MAX_GMRES_CONTACTS: usize = 600;

/// With GMRES: Newton steps in an attempt, products in a step, and the forcing term.
const MAX_NEWTON_STEPS: usize = 8;
const MAX_PRODUCTS: usize = 60;
const FORCING_TERM: f64 = 1e-4;

/// With GMRES: ε/s in the Jacobian X + Y (W + ε), where s is the scale of the contact. W is often
/// singular.
const REGULARISATION: f64 = 1e-6;

/// With GMRES: an attempt ends if the error exceeds the smallest one by this factor.
const DIVERGENCE_FACTOR: f64 = 1e3;

/// With GMRES: values of ρ s of the Alart-Curnier function, one per attempt.
const PENALTY_FACTORS: [f64; 4] = [10.0, 1.0, 100.0, 1000.0];

/// Schedule and parameters of the attempts.
#[derive(Clone, Copy, Debug)]
pub struct Polish {
    tolerance: f64,
    /// Iteration of the next attempt.
    next: usize,
    /// Number of attempts with GMRES.
    attempts: usize,
}

impl Polish {
    /// Attempts during the iterations of a solver.
    pub fn during(problem: &NodalProblem, tolerance: f64) -> Self {
        // W takes one solve per unknown of the contact nodes; iterations get as many solves first.
        let cost = 3 * max_contact_nodes(problem).min(MAX_CONDENSED_NODES);
        Self {
            next: cost.max(MIN_ITERATIONS),
            ..Self::now(tolerance)
        }
    }

    /// An attempt after the end of a solver.
    pub fn now(tolerance: f64) -> Self {
        Self {
            tolerance,
            next: 0,
            attempts: 0,
        }
    }

    /// Whether an attempt is due. If so, schedules the next one at twice the iteration number.
    pub fn poll(&mut self, iteration: usize) -> bool {
        let is_due = iteration >= self.next;
        if is_due {
            self.next *= 2;
        }
        is_due
    }

    /// Newton steps from impulses r. Returns the best solution with its errors, if there is one,
    /// and the number of solves with the factors.
    pub fn run(
        &mut self,
        problem: &NodalProblem,
        factor: &SystemFactor,
        impulses: &[DVec3],
    ) -> (Option<(Errors, Solution)>, usize) {
        let is_small = max_contact_nodes(problem) <= MAX_CONDENSED_NODES
            && max_group_contacts(problem) <= MAX_CONDENSED_CONTACTS;
        let (solution, solves) = if is_small {
            match condensed::solve(problem, factor, impulses, self.tolerance) {
                Ok((solution, outcome)) => (Some(solution), outcome.solves),
                Err(_) => (None, 0),
            }
        } else {
            self.run_matrix_free(problem, factor, impulses)
        };
        let graded = solution.map(|solution| {
            let errors = problem.errors(factor, &solution.velocities, &solution.impulses);
            (errors, solution)
        });
        (graded, solves + 1)
    }

    /// Newton steps with GMRES.
    fn run_matrix_free(
        &mut self,
        problem: &NodalProblem,
        factor: &SystemFactor,
        impulses: &[DVec3],
    ) -> (Option<Solution>, usize) {
        if problem.contacts.len() > MAX_GMRES_CONTACTS {
            return (None, 0);
        }
        let penalty = PENALTY_FACTORS[self.attempts % PENALTY_FACTORS.len()];
        self.attempts += 1;
        let local = LocalSystem::new(problem, factor, penalty);
        let mut solves = 1;
        let mut best: Option<(f64, Solution)> = None;
        let mut unknowns = to_local(problem, impulses);
        for _ in 0..MAX_NEWTON_STEPS {
            let solution = to_solution(problem, factor, &unknowns);
            solves += 1;
            let error = problem.contact_error(&solution.velocities, &solution.impulses);
            let is_worse = |smallest: f64| error.is_nan() || error > smallest;
            match &best {
                Some((smallest, _)) if is_worse(DIVERGENCE_FACTOR * smallest) => break,
                Some((smallest, _)) if is_worse(*smallest) => (),
                _ => best = Some((error, solution)),
            }
            if error <= self.tolerance {
                break;
            }
            // The path of Newton's method may leave the cones, unlike its solutions.
            let velocities = problem.velocities(factor, &to_world(problem, &unknowns));
            let velocities = problem.relative_velocities(&velocities);
            let (step, count) = local.newton_step(&unknowns, &velocities);
            solves += count + 1;
            for (unknown, step) in unknowns.iter_mut().zip(step) {
                *unknown += step;
            }
        }
        (best.map(|(_, solution)| solution), solves)
    }
}

/// Contacts in the largest group.
fn max_group_contacts(problem: &NodalProblem) -> usize {
    let (groups, count) = problem.groups();
    let mut sizes = vec![0; count];
    for group in groups {
        sizes[group as usize] += 1;
    }
    sizes.into_iter().max().unwrap_or(0)
}

/// Contact nodes of the body, or rod, that has the most.
fn max_contact_nodes(problem: &NodalProblem) -> usize {
    let (components, count) = problem.system.components();
    let mut sizes = vec![0; count];
    for node in problem.contacts.nodes() {
        sizes[components[node as usize] as usize] += 1;
    }
    sizes.into_iter().max().unwrap_or(0)
}

/// The problem in local axes.
struct LocalSystem<'a> {
    problem: &'a NodalProblem,
    factor: &'a SystemFactor,
    bases: Vec<DMat3>,
    /// s: estimate of the norm of the diagonal block of W of each contact (1/kg).
    scales: Vec<f64>,
    /// ρ s.
    penalty: f64,
}

impl<'a> LocalSystem<'a> {
    fn new(problem: &'a NodalProblem, factor: &'a SystemFactor, penalty: f64) -> Self {
        let scale = |contact: usize| {
            let stencil = problem.contacts.stencil(contact).iter();
            stencil
                .map(|(node, b)| {
                    let node = *node as usize;
                    let mobility = problem.mobility(node).min(problem.masses[node].recip());
                    let own = problem.system.node_block(node);
                    let stiff = (own.x_axis.x + own.y_axis.y + own.z_axis.z) / 3.0;
                    b * b * (mobility + stiff.recip())
                })
                .sum()
        };
        Self {
            problem,
            factor,
            bases: problem
                .contacts
                .iter()
                .map(|c| law::basis(c.normal))
                .collect(),
            scales: (0..problem.contacts.len()).map(scale).collect(),
            penalty,
        }
    }

    /// κ/h² of a contact.
    fn compliance(&self, contact: usize) -> f64 {
        self.problem.contacts[contact].compliance / (self.problem.step * self.problem.step)
    }

    /// The Newton step at r̂ with relative velocities u (world axes), and its number of products.
    fn newton_step(&self, unknowns: &[DVec3], velocities: &[DVec3]) -> (Vec<DVec3>, usize) {
        let at = |contact: usize| {
            let of = &self.problem.contacts[contact];
            let x = unknowns[contact];
            let yielding = self.compliance(contact) * (x.x - self.problem.step * of.cohesion);
            let u = self.bases[contact].transpose() * velocities[contact] + DVec3::X * yielding;
            AlartCurnier::new(of.friction, u, x, self.penalty / self.scales[contact])
        };
        let parts: Vec<AlartCurnier> = (0..unknowns.len()).map(at).collect();
        let own = |contact: usize| {
            let scale = self.scales[contact];
            let mut block = DMat3::from_diagonal(DVec3::splat(scale * (1.0 + REGULARISATION)));
            block.x_axis.x += self.compliance(contact);
            let part = &parts[contact];
            let inverse = (part.by_impulse + part.by_velocity * block).inverse();
            if inverse.is_finite() {
                inverse
            } else {
                DMat3::IDENTITY
            }
        };
        let preconditioner: Vec<DMat3> = (0..unknowns.len()).map(own).collect();
        let rhs: Vec<f64> = parts
            .iter()
            .flat_map(|part| (-part.value).to_array())
            .collect();
        let found = gmres(&rhs, FORCING_TERM, MAX_PRODUCTS, |x, y| {
            let change = apply(&preconditioner, x);
            let moved = self.multiply(&change);
            for (contact, part) in parts.iter().enumerate() {
                let value = part.by_impulse * change[contact] + part.by_velocity * moved[contact];
                value.write_to_slice(&mut y[3 * contact..]);
            }
        });
        (apply(&preconditioner, &found.solution), found.products)
    }

    /// (W + εI) x in local axes, by one solve with the factors.
    fn multiply(&self, x: &[DVec3]) -> Vec<DVec3> {
        let turned = x.iter().zip(&self.bases).map(|(x, basis)| *basis * *x);
        let impulses: Vec<DVec3> = turned.collect();
        let mut velocities = vec![0.0; self.problem.system.dofs()];
        self.problem.add_impulses(&impulses, &mut velocities);
        self.factor
            .solve_in_place(&self.problem.system, &mut velocities);
        let of = |contact: usize| {
            let kinematic = self.problem.contacts[contact].kinematic;
            let moved = self.problem.relative_velocity(contact, &velocities) - kinematic;
            let own = x[contact] * (REGULARISATION * self.scales[contact]);
            let yielding = DVec3::X * (self.compliance(contact) * x[contact].x);
            self.bases[contact].transpose() * moved + own + yielding
        };
        (0..x.len()).map(of).collect()
    }
}

/// Blocks times a flat vector.
fn apply(blocks: &[DMat3], x: &[f64]) -> Vec<DVec3> {
    let vectors = x.chunks_exact(3).map(DVec3::from_slice);
    blocks
        .iter()
        .zip(vectors)
        .map(|(block, x)| *block * x)
        .collect()
}
