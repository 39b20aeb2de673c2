//! Refinement during a solve: all solvers of the table, and the warm starts that the outer loop
//! passes to its inner solver.

use glam::DVec3;

use super::*;
use crate::problem::{ContactState, Contacts, Errors};
use crate::samples::{self, CapturedStep, World};
use crate::solve::gauss_seidel::GaussSeidel;
use crate::solve::table::{SOLVERS, SolverEntry};
use crate::solve::{NoRefinement, Refinement, robust};
use crate::system::{Matrix, SystemFactor};

/// Tolerance of both errors (m).
const TOLERANCE: f64 = 1e-9;

/// The last of six problems of a world, with its warm start.
fn captured(world: World) -> CapturedStep {
    let mut all = samples::capture(world, 0.01, 6, |problem, warm| {
        let (mut problem, mut factors) = (problem.clone(), FactorCache::default());
        let (mut solver, limits) = (robust::ENTRY.build_default(), robust::ENTRY.limits(1e-10));
        let solved = solver.solve(&mut problem, &mut factors, warm, limits, &mut NoRefinement);
        solved.unwrap().0
    });
    all.pop().unwrap()
}

/// A cube sliding on nine contacts.
fn sliding() -> CapturedStep {
    captured(samples::cube(1e6, 2, 0.4, 0.2))
}

/// A solution with its refined problem.
struct Solved {
    problem: NodalProblem,
    solution: Solution,
    outcome: SolveOutcome,
}

impl Solved {
    /// Errors in a problem, computed with new factors.
    fn errors(&self, problem: &NodalProblem) -> Errors {
        let mut factor = SystemFactor::for_system(&problem.system).unwrap();
        factor.factorize(&problem.system).unwrap();
        problem.errors(&factor, &self.solution.velocities, &self.solution.impulses)
    }

    /// Distance of the motion from another one (m).
    fn distance(&self, other: &Solved) -> f64 {
        let pairs = self.solution.velocities.iter();
        let pairs = pairs.zip(&other.solution.velocities);
        let difference: Vec<f64> = pairs.map(|(a, b)| a - b).collect();
        self.problem.largest_displacement(&difference)
    }
}

fn solve_by(
    solver: &mut dyn Solver,
    sample: &CapturedStep,
    limits: Limits,
    refine: &mut dyn Refine,
) -> Solved {
    let (mut problem, mut factors) = (sample.problem.clone(), FactorCache::default());
    let solved = solver.solve(&mut problem, &mut factors, &sample.warm, limits, refine);
    let (solution, outcome) = solved.unwrap();
    Solved {
        problem,
        solution,
        outcome,
    }
}

fn solve(entry: &SolverEntry, sample: &CapturedStep, refine: &mut dyn Refine) -> Solved {
    solve_by(
        entry.build_default().as_mut(),
        sample,
        entry.limits(TOLERANCE),
        refine,
    )
}

/// The contact with the largest impulse.
fn largest_impulse(sample: &CapturedStep) -> usize {
    let solved = solve(&robust::ENTRY, sample, &mut NoRefinement);
    let size = |contact: &usize| solved.solution.impulses[*contact].length();
    let all = 0..sample.problem.contacts.len();
    all.max_by(|a, b| size(a).total_cmp(&size(b))).unwrap()
}

/// Contacts without one of them.
fn without(all: &Contacts, left_out: usize) -> Contacts {
    let mut some = Contacts::new();
    for contact in (0..all.len()).filter(|contact| *contact != left_out) {
        some.push(all[contact], all.stencil(contact).iter().copied());
    }
    some
}

/// Adds a contact at the first solution.
struct LateContact {
    all: Contacts,
    late: usize,
    /// Speed of penetration of the first solution at the contact (m/s).
    speed: Option<f64>,
}

impl LateContact {
    /// The refinement, and the problem without the contact.
    fn new(sample: &CapturedStep, late: usize) -> (Self, CapturedStep) {
        let all = sample.problem.contacts.clone();
        let mut before = sample.clone();
        before.problem.contacts = without(&all, late);
        let speed = None;
        (Self { all, late, speed }, before)
    }
}

impl Refine for LateContact {
    fn refine(&mut self, problem: &mut NodalProblem, v: &[f64], is_solution: bool) -> Refinement {
        if !is_solution || self.speed.is_some() {
            return Refinement::default();
        }
        problem.contacts = self.all.clone();
        let contact = self.all[self.late];
        let speed = problem.relative_velocity(self.late, v).dot(contact.normal);
        self.speed = Some(-speed);
        Refinement {
            added: vec![contact.id],
            ..Refinement::default()
        }
    }
}

#[test]
fn a_contact_that_the_first_solution_violates_is_satisfied_by_the_last() {
    let sample = sliding();
    let late = largest_impulse(&sample);
    for entry in &SOLVERS {
        let whole = solve(entry, &sample, &mut NoRefinement);
        let (mut refine, before) = LateContact::new(&sample, late);
        let found = solve(entry, &before, &mut refine);
        // The first solution violates the contact by much more than the tolerance, which is 1e-9 m
        // in 0.01 s, or 1e-7 m/s.
        assert!(refine.speed.unwrap() > 1e-4, "{:?}", refine.speed);
        assert!(found.outcome.is_converged, "{}", entry.name);
        assert_eq!(found.outcome.linearisations, 1);
        assert!(found.errors(&sample.problem).largest() <= TOLERANCE);
        // Errors accumulate along the body.
        let distance = found.distance(&whole);
        assert!(distance < 1e-8, "{}: {distance} m", entry.name);
    }
}

#[test]
fn a_contact_added_at_the_iteration_limit_is_part_of_the_solution() {
    let sample = sliding();
    // With the first contact of the list, the indices of all others change.
    for late in [0, largest_impulse(&sample)] {
        for entry in &SOLVERS {
            let (mut refine, mut before) = LateContact::new(&sample, late);
            before.warm = WarmStart::default();
            let first = solve(entry, &before, &mut NoRefinement);
            let limits = Limits {
                tolerance: TOLERANCE,
                iterations: first.outcome.iterations,
            };
            assert!(limits.iterations > 0);
            let mut solver = entry.build_default();
            let found = solve_by(solver.as_mut(), &before, limits, &mut refine);
            assert!(refine.speed.is_some(), "the contact was not added");
            // The last solution is not refined, and therefore not final.
            assert!(!found.outcome.is_converged, "{}", entry.name);
            assert_eq!(found.solution.impulses.len(), 9, "{}", entry.name);
            if entry.name != "admm" {
                // Newton steps solve the contact without iterations.
                let errors = found.errors(&sample.problem);
                assert!(errors.largest() <= TOLERANCE, "{}: {errors:?}", entry.name);
                continue;
            }
            assert_eq!(found.outcome.iterations, limits.iterations);
            // All other contacts keep their impulses to rounding.
            let mut impulses = found.solution.impulses;
            assert_eq!(impulses.remove(late), DVec3::ZERO);
            for (found, wanted) in impulses.iter().zip(&first.solution.impulses) {
                let distance = (*found - *wanted).length();
                assert!(distance <= 1e-14 * wanted.length(), "{}", entry.name);
            }
        }
    }
}

/// Changes the id of a contact at the first solution, as a renamed or as a new contact.
struct NewId {
    contact: usize,
    is_renamed: bool,
    is_done: bool,
}

impl NewId {
    const ID: u64 = 1000;

    fn new(contact: usize, is_renamed: bool) -> Self {
        Self {
            contact,
            is_renamed,
            is_done: false,
        }
    }
}

impl Refine for NewId {
    fn refine(&mut self, problem: &mut NodalProblem, _: &[f64], is_solution: bool) -> Refinement {
        if !is_solution || std::mem::replace(&mut self.is_done, true) {
            return Refinement::default();
        }
        let contact = problem.contacts.iter_mut().nth(self.contact).unwrap();
        let before = std::mem::replace(&mut contact.id, Self::ID);
        if self.is_renamed {
            Refinement {
                renamed: vec![(before, Self::ID)],
                ..Refinement::default()
            }
        } else {
            Refinement {
                removed: vec![before],
                added: vec![Self::ID],
                ..Refinement::default()
            }
        }
    }
}

#[test]
fn the_solution_does_not_depend_on_the_id_of_a_contact() {
    let sample = sliding();
    let contact = largest_impulse(&sample);
    for entry in &SOLVERS {
        let once = solve(entry, &sample, &mut NoRefinement);
        for is_renamed in [true, false] {
            let found = solve(entry, &sample, &mut NewId::new(contact, is_renamed));
            assert!(found.outcome.is_converged, "{}", entry.name);
            assert_eq!(found.outcome.linearisations, 1);
            assert_eq!(found.problem.contacts[contact].id, NewId::ID);
            assert!(found.errors(&found.problem).largest() <= TOLERANCE);
            let distance = found.distance(&once);
            assert!(distance < 1e-8, "{}: {distance} m", entry.name);
        }
    }
}

#[test]
fn a_renamed_contact_keeps_its_impulse_and_a_new_one_does_not() {
    let sample = sliding();
    let contact = largest_impulse(&sample);
    for entry in &SOLVERS {
        let cold = CapturedStep {
            warm: WarmStart::default(),
            ..sample.clone()
        };
        let [once, same, new] = [
            solve(entry, &cold, &mut NoRefinement),
            solve(entry, &cold, &mut NewId::new(contact, true)),
            solve(entry, &cold, &mut NewId::new(contact, false)),
        ]
        .map(|solved| solved.outcome.iterations);
        assert!(
            same <= once + 3 && new > same + 3,
            "{}: {once} {same} {new}",
            entry.name
        );
    }
}

/// Gauss-Seidel with a record of its calls, and with averages and states in its solutions.
#[derive(Default)]
struct Recorder {
    inner: GaussSeidel,
    starts: Vec<WarmStart>,
    solutions: Vec<Solution>,
    iterations: Vec<usize>,
    changed: Vec<Vec<bool>>,
}

impl FixedSolver for Recorder {
    fn solve_fixed(
        &mut self,
        problem: &NodalProblem,
        factors: &mut FactorCache,
        warm: &WarmStart,
        limits: Limits,
        is_changed: &dyn Fn(usize) -> bool,
    ) -> Result<(Solution, SolveOutcome), SolveError> {
        let inner = &mut self.inner;
        let (mut solution, outcome) =
            inner.solve_fixed(problem, factors, warm, limits, is_changed)?;
        let numbers = 0..problem.contacts.len();
        solution.averages = numbers.map(|number| DVec3::splat(number as f64)).collect();
        solution.states = vec![ContactState::Slip; problem.contacts.len()];
        solution.states[0] = ContactState::Stick;
        self.starts.push(warm.clone());
        self.solutions.push(solution.clone());
        self.iterations.push(outcome.iterations);
        let bodies = 0..problem.system.bodies.len();
        self.changed.push(bodies.map(is_changed).collect());
        Ok((solution, outcome))
    }
}

fn recorded(sample: &CapturedStep, limits: Limits, refine: &mut dyn Refine) -> (Recorder, Solved) {
    let mut solver = RefinementLoop {
        solver: Recorder::default(),
        polishes: false,
    };
    let solved = solve_by(&mut solver, sample, limits, refine);
    (solver.solver, solved)
}

const LIMITS: Limits = Limits {
    tolerance: TOLERANCE,
    iterations: 10_000,
};

#[test]
fn the_next_solve_starts_with_the_memory_of_a_renamed_contact() {
    let sample = sliding();
    let contact = largest_impulse(&sample);
    let before = sample.problem.contacts[contact].id;
    let (found, _) = recorded(&sample, LIMITS, &mut NewId::new(contact, true));
    assert_eq!(found.starts[0], sample.warm);
    let known = found.starts[1].contact(NewId::ID).unwrap();
    let solution = &found.solutions[0];
    assert_eq!(known.reaction, solution.impulses[contact]);
    assert_eq!(known.average, DVec3::splat(contact as f64));
    assert_eq!(known.state, solution.states[contact]);
    assert!(known.reaction != DVec3::ZERO && found.starts[1].contact(before).is_none());
    // The second solve starts at its solution.
    assert!(found.iterations[0] > 0, "{:?}", found.iterations);
    assert_eq!(found.iterations[1..], [0]);
    let (found, _) = recorded(&sample, LIMITS, &mut NewId::new(contact, false));
    assert!(found.starts[1].contact(NewId::ID).is_none());
    assert!(found.iterations[1] > 0, "{:?}", found.iterations);
}

#[test]
fn averages_and_states_stay_with_their_contacts_at_the_iteration_limit() {
    let sample = sliding();
    let (mut refine, before) = LateContact::new(&sample, 0);
    let limits = Limits {
        tolerance: 0.0,
        iterations: 8,
    };
    let (recorder, solved) = recorded(&before, limits, &mut refine);
    assert_eq!(solved.solution.impulses.len(), 9);
    // The last solve includes the new contact, but has no iterations left.
    assert_eq!(recorder.iterations, [8, 0]);
    let mut last = recorder.starts[1].to_solution(&sample.problem);
    assert_eq!(last.averages.remove(0), DVec3::ZERO);
    assert_eq!(last.states.remove(0), ContactState::Open);
    last.impulses.remove(0);
    assert_eq!(last, recorder.solutions[0]);
}

/// Doubles the matrix of a body at the first solution.
struct DoubleMatrix {
    body: usize,
    is_done: bool,
}

impl Refine for DoubleMatrix {
    fn refine(&mut self, problem: &mut NodalProblem, _: &[f64], is_solution: bool) -> Refinement {
        if !is_solution || std::mem::replace(&mut self.is_done, true) {
            return Refinement::default();
        }
        let Matrix::Blocks(matrix) = &mut problem.system.bodies[self.body].matrix else {
            panic!("the matrix of a cube is not a block matrix");
        };
        matrix.values.iter_mut().for_each(|block| *block *= 2.0);
        Refinement {
            bodies: vec![self.body],
            ..Refinement::default()
        }
    }
}

#[test]
fn a_matrix_that_a_refinement_changes_is_factorized_again() {
    let sample = captured(samples::stack(1e6, 2));
    for entry in &SOLVERS {
        for body in [0, 1] {
            let is_done = false;
            let found = solve(entry, &sample, &mut DoubleMatrix { body, is_done });
            assert!(found.outcome.is_converged, "{}", entry.name);
            assert!(found.errors(&found.problem).largest() <= TOLERANCE);
            let lighter = found.errors(&sample.problem).largest();
            assert!(lighter > 1e-6, "{}: {lighter} m", entry.name);
            // A twice; ADMM also A + W twice.
            let wanted = if entry.name == "admm" { 4 } else { 2 };
            assert_eq!(found.outcome.factorizations, wanted, "{}", entry.name);
        }
    }
    let mut double = DoubleMatrix {
        body: 1,
        is_done: false,
    };
    let (recorder, _) = recorded(&sample, LIMITS, &mut double);
    assert_eq!(recorder.changed, [[true, true], [false, true]]);
}

/// Reports a changed body at every call.
struct Endless(usize);

impl Refine for Endless {
    fn refine(&mut self, _: &mut NodalProblem, _: &[f64], _: bool) -> Refinement {
        self.0 += 1;
        Refinement {
            bodies: vec![0],
            ..Refinement::default()
        }
    }
}

#[test]
fn endless_refinement_ends_at_the_iteration_limit() {
    let sample = sliding();
    let mut free = sample.clone();
    free.problem.contacts = Contacts::new();
    let limits = Limits {
        tolerance: 1e-6,
        iterations: 50,
    };
    for entry in &SOLVERS {
        for sample in [&sample, &free] {
            let mut endless = Endless(0);
            let mut solver = entry.build_default();
            let found = solve_by(solver.as_mut(), sample, limits, &mut endless);
            assert!(!found.outcome.is_converged, "{}", entry.name);
            assert_eq!(found.outcome.linearisations, endless.0);
            assert!(endless.0 > 1 && endless.0 <= 50, "{}", endless.0);
            assert!(found.outcome.iterations <= 50, "{}", entry.name);
        }
    }
}

/// A refinement that is never due.
struct Never;

impl Refine for Never {
    fn poll(&mut self, _: bool) -> bool {
        false
    }

    fn refine(&mut self, _: &mut NodalProblem, _: &[f64], _: bool) -> Refinement {
        panic!("called without being due");
    }
}

#[test]
fn a_refinement_that_is_not_due_is_not_called() {
    let sample = sliding();
    let mut free = sample.clone();
    free.problem.contacts = Contacts::new();
    for entry in &SOLVERS {
        for sample in [&sample, &free] {
            assert!(solve(entry, sample, &mut Never).outcome.is_converged);
        }
    }
}
