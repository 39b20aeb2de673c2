//! Newton steps on the contacts, where iterations are slow.
//!
//! The unknowns are the impulses r̂ of all contacts in local axes; u = W r̂ + q with the Delassus
//! operator W = B A⁻¹ Bᵀ. Where few nodes are touched, W is computed by solves, and the robust
//! solver takes over ([`condensed`]). Else W is never formed: a product is one solve with the
//! factors of A, and the Jacobian X + Y W of the function of Alart and Curnier is solved by GMRES
//! with the contacts' own blocks as preconditioner.

use glam::{DMat3, DVec3};

use crate::delassus::nodal::{to_local, to_solution};
use crate::law;
use crate::problem::{Errors, NodalProblem, Solution};
use crate::solve::alart_curnier::AlartCurnier;
use crate::solve::condensed;
use crate::solve::gmres::gmres;
use crate::system::SystemFactor;

/// Iterations of a solver before the first attempt.
const PATIENCE: usize = 40;

/// Weighted nodes of a component, and contacts of a group, up to which W is computed and the robust
/// solver takes over: its time grows with the cube of the contacts.
const FEW: usize = 400;
const FEW_CONTACTS: usize = 100;

/// With GMRES: contacts up to which it is tried. So many on few nodes determine no impulses, and no
/// Newton step finds them.
const MANY: usize = 600;

/// With GMRES: Newton steps, products in each, and how far they reduce its residual.
const FEW_STEPS: usize = 8;
const PRODUCTS: usize = 60;
const ACCURACY: f64 = 1e-4;

/// With GMRES: ε, as a part of the contacts' own scale, in W + ε; only the Jacobian sees it,
/// because W is often singular.
const REGULARISATION: f64 = 1e-6;

/// Factors of ρ that are tried in turn.
const STIFFNESSES: [f64; 4] = [10.0, 1.0, 100.0, 1000.0];

/// When to try, and how.
#[derive(Clone, Copy, Debug)]
pub struct Polish {
    tolerance: f64,
    /// The iteration of the next attempt.
    next: usize,
    attempt: usize,
}

impl Polish {
    /// While a solver iterates: from when iterations have had their chance.
    pub fn during(problem: &NodalProblem, tolerance: f64) -> Self {
        // An attempt costs as many solves as there are unknowns; iterations get that many first.
        let cost = 3 * most_touched(problem).min(FEW);
        Self {
            next: cost.max(PATIENCE),
            ..Self::now(tolerance)
        }
    }

    /// At once, after a solver has ended.
    pub fn now(tolerance: f64) -> Self {
        Self {
            tolerance,
            next: 0,
            attempt: 0,
        }
    }

    /// Whether it is time for an attempt; if so, the next one is after as many iterations again.
    pub fn is_due(&mut self, iteration: usize) -> bool {
        let is_due = iteration >= self.next;
        if is_due {
            self.next *= 2;
        }
        is_due
    }

    /// Newton steps from impulses r; the best answer on the way, if it is one, and how many solves
    /// it took.
    pub fn run(
        &mut self,
        problem: &NodalProblem,
        factor: &SystemFactor,
        impulses: &[DVec3],
    ) -> (Option<(Errors, Solution)>, usize) {
        let is_small = most_touched(problem) <= FEW && most_contacts(problem) <= FEW_CONTACTS;
        let (solution, products) = match is_small {
            true => match condensed::solve(problem, factor, impulses, self.tolerance) {
                Ok((solution, outcome)) => (Some(solution), outcome.solves),
                Err(_) => (None, 0),
            },
            false => self.without_operator(problem, factor, impulses),
        };
        let graded = solution.map(|solution| {
            let errors = problem.errors(factor, &solution.velocities, &solution.impulses);
            (errors, solution)
        });
        (graded, products + 1)
    }

    /// With products only.
    fn without_operator(
        &mut self,
        problem: &NodalProblem,
        factor: &SystemFactor,
        impulses: &[DVec3],
    ) -> (Option<Solution>, usize) {
        if problem.contacts.len() > MANY {
            return (None, 0);
        }
        let stiffness = STIFFNESSES[self.attempt % STIFFNESSES.len()];
        self.attempt += 1;
        let local = Local::new(problem, factor, stiffness);
        let mut products = 1;
        let mut best: Option<(f64, Solution)> = None;
        let mut unknowns = to_local(problem, impulses);
        for _ in 0..FEW_STEPS {
            let solution = to_solution(problem, factor, &unknowns);
            products += 1;
            let error = problem.contact_error(&solution.velocities, &solution.impulses);
            let velocities = problem.relative_velocities(&solution.velocities);
            let is_worse = |least: f64| error.is_nan() || error > least;
            match &best {
                Some((least, _)) if is_worse(1e3 * least) => break,
                Some((least, _)) if is_worse(*least) => (),
                _ => best = Some((error, solution)),
            }
            if error <= self.tolerance {
                break;
            }
            let (step, count) = local.newton_step(&unknowns, &velocities);
            products += count;
            for (unknown, step) in unknowns.iter_mut().zip(step) {
                *unknown += step;
            }
        }
        (best.map(|(_, solution)| solution), products)
    }
}

/// Contacts of the group that has the most.
fn most_contacts(problem: &NodalProblem) -> usize {
    let (groups, count) = problem.groups();
    let mut sizes = vec![0; count];
    for group in groups {
        sizes[group as usize] += 1;
    }
    sizes.into_iter().max().unwrap_or(0)
}

/// Weighted nodes of the body, or rod, that has the most.
fn most_touched(problem: &NodalProblem) -> usize {
    let (components, count) = problem.system.components();
    let mut touched = vec![0; count];
    for node in problem.contacts.touched() {
        touched[components[node as usize] as usize] += 1;
    }
    touched.into_iter().max().unwrap_or(0)
}

/// The problem in the contacts' own axes.
struct Local<'a> {
    problem: &'a NodalProblem,
    factor: &'a SystemFactor,
    bases: Vec<DMat3>,
    /// About how much an impulse moves a contact (1/kg).
    scales: Vec<f64>,
    stiffness: f64,
}

impl<'a> Local<'a> {
    fn new(problem: &'a NodalProblem, factor: &'a SystemFactor, stiffness: f64) -> Self {
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
            stiffness,
        }
    }

    /// κ/h² of a contact.
    fn compliance(&self, contact: usize) -> f64 {
        self.problem.contacts[contact].compliance / (self.problem.step * self.problem.step)
    }

    /// The Newton step at r̂ with relative velocities u (world axes), and the products it took.
    fn newton_step(&self, unknowns: &[DVec3], velocities: &[DVec3]) -> (Vec<DVec3>, usize) {
        let at = |contact: usize| {
            let of = &self.problem.contacts[contact];
            let x = unknowns[contact];
            let yielding = self.compliance(contact) * (x.x - self.problem.step * of.cohesion);
            let u = self.bases[contact].transpose() * velocities[contact] + DVec3::X * yielding;
            AlartCurnier::new(of.friction, u, x, self.stiffness / self.scales[contact])
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
        let found = gmres(&rhs, ACCURACY, PRODUCTS, |x, y| {
            let change = apply(&preconditioner, x);
            let moved = self.operate(&change);
            for (contact, part) in parts.iter().enumerate() {
                let value = part.by_impulse * change[contact] + part.by_velocity * moved[contact];
                value.write_to_slice(&mut y[3 * contact..]);
            }
        });
        (apply(&preconditioner, &found.solution), found.products)
    }

    /// (W + εI) x in local axes: one solve with the factors.
    fn operate(&self, x: &[DVec3]) -> Vec<DVec3> {
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
