//! Problems that change while they are solved: every solver of the table, and what the adapter
//! hands to the one inside.

use glam::DVec3;

use super::*;
use crate::problem::{Contacts, Errors};
use crate::samples::{self, Captured, World};
use crate::solve::gauss_seidel::GaussSeidel;
use crate::solve::table::{SOLVERS, SolverEntry};
use crate::solve::{ContactState, Refined, Unrefined, robust};
use crate::system::{Matrix, SystemFactor};

/// m.
const TOLERANCE: f64 = 1e-9;

/// The last of some problems of a world, with its warm start.
fn captured(world: World) -> Captured {
    let mut all = samples::capture(world, 0.01, 6, |problem, warm| {
        let (mut problem, mut factors) = (problem.clone(), Factors::default());
        let (mut solver, limits) = (robust::ENTRY.default(), robust::ENTRY.limits(1e-10));
        let solved = solver.solve(&mut problem, &mut factors, warm, limits, &mut Unrefined);
        solved.unwrap().0
    });
    all.pop().unwrap()
}

/// A cube that slides on nine contacts.
fn sliding() -> Captured {
    captured(samples::cube(1e6, 2, 0.4, 0.2))
}

/// An answer and the problem that it is to.
struct Answer {
    problem: NodalProblem,
    solution: Solution,
    outcome: Outcome,
}

impl Answer {
    /// By factors that are made anew.
    fn errors(&self, problem: &NodalProblem) -> Errors {
        let mut factor = SystemFactor::of(&problem.system).unwrap();
        factor.factorize(&problem.system).unwrap();
        problem.errors(&factor, &self.solution.velocities, &self.solution.impulses)
    }

    /// How far its motion is from another (m).
    fn apart(&self, other: &Answer) -> f64 {
        let pairs = self.solution.velocities.iter();
        let pairs = pairs.zip(&other.solution.velocities);
        let difference: Vec<f64> = pairs.map(|(a, b)| a - b).collect();
        self.problem.largest_displacement(&difference)
    }
}

fn solve_by(
    solver: &mut dyn Solver,
    of: &Captured,
    limits: Limits,
    refine: &mut dyn Refine,
) -> Answer {
    let (mut problem, mut factors) = (of.problem.clone(), Factors::default());
    let solved = solver.solve(&mut problem, &mut factors, &of.warm, limits, refine);
    let (solution, outcome) = solved.unwrap();
    Answer {
        problem,
        solution,
        outcome,
    }
}

fn solve(entry: &SolverEntry, of: &Captured, refine: &mut dyn Refine) -> Answer {
    solve_by(
        entry.default().as_mut(),
        of,
        entry.limits(TOLERANCE),
        refine,
    )
}

/// The contact that is pressed hardest, by a solution to 1e-9 m.
fn hardest(of: &Captured) -> usize {
    let answer = solve(&robust::ENTRY, of, &mut Unrefined);
    let size = |contact: &usize| answer.solution.impulses[*contact].length();
    let all = 0..of.problem.contacts.len();
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

/// Keeps a contact back until the first answer.
struct Late {
    all: Contacts,
    late: usize,
    /// How fast the first answer went through it (m/s).
    speed: Option<f64>,
}

impl Late {
    /// With the problem that it is to be added to.
    fn new(of: &Captured, late: usize) -> (Self, Captured) {
        let all = of.problem.contacts.clone();
        let mut before = of.clone();
        before.problem.contacts = without(&all, late);
        let speed = None;
        (Self { all, late, speed }, before)
    }
}

impl Refine for Late {
    fn refine(&mut self, problem: &mut NodalProblem, v: &[f64], is_answer: bool) -> Refined {
        if !is_answer || self.speed.is_some() {
            return Refined::default();
        }
        problem.contacts = self.all.clone();
        let contact = self.all[self.late];
        let speed = problem.relative_velocity(self.late, v).dot(contact.normal);
        self.speed = Some(-speed);
        Refined {
            added: vec![contact.id],
            ..Refined::default()
        }
    }
}

#[test]
fn a_contact_that_the_first_answer_runs_into_is_met_by_the_last() {
    let of = sliding();
    let late = hardest(&of);
    for entry in &SOLVERS {
        let whole = solve(entry, &of, &mut Unrefined);
        let (mut refine, before) = Late::new(&of, late);
        let found = solve(entry, &before, &mut refine);
        // Its velocity would be wrong by much more than the tolerance: 1e-9 m in 0.01 s are 1e-7
        // m/s.
        assert!(refine.speed.unwrap() > 1e-4, "{:?}", refine.speed);
        assert!(found.outcome.is_converged, "{}", entry.name);
        assert_eq!(found.outcome.linearisations, 1);
        assert!(found.errors(&of.problem).largest() <= TOLERANCE);
        // Errors add up along the body.
        let apart = found.apart(&whole);
        assert!(apart < 1e-8, "{}: {apart} m", entry.name);
    }
}

#[test]
fn a_contact_that_comes_at_the_limit_has_an_entry_and_is_solved_for_once_if_that_can_be() {
    let of = sliding();
    // The first of the list: all others move by a place.
    for late in [0, hardest(&of)] {
        for entry in &SOLVERS {
            let (mut refine, mut before) = Late::new(&of, late);
            before.warm = WarmStart::default();
            let first = solve(entry, &before, &mut Unrefined);
            let limits = Limits {
                tolerance: TOLERANCE,
                iterations: first.outcome.iterations,
            };
            assert!(limits.iterations > 0);
            let mut solver = entry.default();
            let found = solve_by(solver.as_mut(), &before, limits, &mut refine);
            assert!(refine.speed.is_some(), "it came");
            // Nobody has looked at the answer that it ends with.
            assert!(!found.outcome.is_converged, "{}", entry.name);
            assert_eq!(found.solution.impulses.len(), 9, "{}", entry.name);
            if entry.name != "admm" {
                // Newton steps need no iterations.
                let errors = found.errors(&of.problem);
                assert!(errors.largest() <= TOLERANCE, "{}: {errors:?}", entry.name);
                continue;
            }
            assert_eq!(found.outcome.iterations, limits.iterations);
            // All but the new one have what they had, up to rounding.
            let mut impulses = found.solution.impulses;
            assert_eq!(impulses.remove(late), DVec3::ZERO);
            for (found, wanted) in impulses.iter().zip(&first.solution.impulses) {
                let apart = (*found - *wanted).length();
                assert!(apart <= 1e-14 * wanted.length(), "{}", entry.name);
            }
        }
    }
}

/// Gives a contact another id at the first answer, as the same contact or as a new one.
struct Renamed {
    contact: usize,
    is_the_same: bool,
    is_done: bool,
}

impl Renamed {
    const ID: u64 = 1000;

    fn new(contact: usize, is_the_same: bool) -> Self {
        Self {
            contact,
            is_the_same,
            is_done: false,
        }
    }
}

impl Refine for Renamed {
    fn refine(&mut self, problem: &mut NodalProblem, _: &[f64], is_answer: bool) -> Refined {
        if !is_answer || std::mem::replace(&mut self.is_done, true) {
            return Refined::default();
        }
        let contact = problem.contacts.iter_mut().nth(self.contact).unwrap();
        let before = std::mem::replace(&mut contact.id, Self::ID);
        match self.is_the_same {
            true => Refined {
                renamed: vec![(before, Self::ID)],
                ..Refined::default()
            },
            false => Refined {
                removed: vec![before],
                added: vec![Self::ID],
                ..Refined::default()
            },
        }
    }
}

#[test]
fn a_contact_under_another_id_has_the_same_answer() {
    let of = sliding();
    let contact = hardest(&of);
    for entry in &SOLVERS {
        let once = solve(entry, &of, &mut Unrefined);
        for is_the_same in [true, false] {
            let found = solve(entry, &of, &mut Renamed::new(contact, is_the_same));
            assert!(found.outcome.is_converged, "{}", entry.name);
            assert_eq!(found.outcome.linearisations, 1);
            assert_eq!(found.problem.contacts[contact].id, Renamed::ID);
            assert!(found.errors(&found.problem).largest() <= TOLERANCE);
            let apart = found.apart(&once);
            assert!(apart < 1e-8, "{}: {apart} m", entry.name);
        }
    }
}

#[test]
fn a_contact_under_another_id_goes_on_and_does_not_begin_again() {
    let of = sliding();
    let contact = hardest(&of);
    for entry in &SOLVERS {
        let cold = Captured {
            warm: WarmStart::default(),
            ..of.clone()
        };
        let [once, same, new] = [
            solve(entry, &cold, &mut Unrefined),
            solve(entry, &cold, &mut Renamed::new(contact, true)),
            solve(entry, &cold, &mut Renamed::new(contact, false)),
        ]
        .map(|answer| answer.outcome.iterations);
        assert!(
            same <= once + 3 && new > same + 3,
            "{}: {once} {same} {new}",
            entry.name
        );
    }
}

/// Gauss-Seidel that writes down what it starts from and what that takes, and remembers more than
/// it does.
#[derive(Default)]
struct Recorder {
    inner: GaussSeidel,
    starts: Vec<WarmStart>,
    answers: Vec<Solution>,
    iterations: Vec<usize>,
    changed: Vec<Vec<bool>>,
}

impl FixedSolver for Recorder {
    fn solve_fixed(
        &mut self,
        problem: &NodalProblem,
        factors: &mut Factors,
        warm: &WarmStart,
        limits: Limits,
        is_changed: &dyn Fn(usize) -> bool,
    ) -> Result<(Solution, Outcome), SolveError> {
        let inner = &mut self.inner;
        let (mut solution, outcome) =
            inner.solve_fixed(problem, factors, warm, limits, is_changed)?;
        let numbers = 0..problem.contacts.len();
        solution.averages = numbers.map(|number| DVec3::splat(number as f64)).collect();
        solution.states = vec![ContactState::Slip; problem.contacts.len()];
        solution.states[0] = ContactState::Stick;
        self.starts.push(warm.clone());
        self.answers.push(solution.clone());
        self.iterations.push(outcome.iterations);
        let bodies = 0..problem.system.bodies.len();
        self.changed.push(bodies.map(is_changed).collect());
        Ok((solution, outcome))
    }
}

fn recorded(of: &Captured, limits: Limits, refine: &mut dyn Refine) -> (Recorder, Answer) {
    let mut solver = Refining {
        solver: Recorder::default(),
        polishes: false,
    };
    let answer = solve_by(&mut solver, of, limits, refine);
    (solver.solver, answer)
}

const LIMITS: Limits = Limits {
    tolerance: TOLERANCE,
    iterations: 10_000,
};

#[test]
fn the_next_solve_starts_from_what_is_known_of_a_contact_that_was_renamed() {
    let of = sliding();
    let contact = hardest(&of);
    let before = of.problem.contacts[contact].id;
    let (found, _) = recorded(&of, LIMITS, &mut Renamed::new(contact, true));
    assert_eq!(found.starts[0], of.warm);
    let known = found.starts[1].contact(Renamed::ID).unwrap();
    let answer = &found.answers[0];
    assert_eq!(known.reaction, answer.impulses[contact]);
    assert_eq!(known.average, DVec3::splat(contact as f64));
    assert_eq!(known.state, answer.states[contact]);
    assert!(known.reaction != DVec3::ZERO && found.starts[1].contact(before).is_none());
    // That was the answer already.
    assert!(found.iterations[0] > 0, "{:?}", found.iterations);
    assert_eq!(found.iterations[1..], [0]);
    let (found, _) = recorded(&of, LIMITS, &mut Renamed::new(contact, false));
    assert!(found.starts[1].contact(Renamed::ID).is_none());
    assert!(found.iterations[1] > 0, "{:?}", found.iterations);
}

#[test]
fn averages_and_states_stay_with_their_contacts_when_the_limit_ends_it() {
    let of = sliding();
    let (mut refine, before) = Late::new(&of, 0);
    let limits = Limits {
        tolerance: 0.0,
        iterations: 8,
    };
    let (recorder, answer) = recorded(&before, limits, &mut refine);
    assert_eq!(answer.solution.impulses.len(), 9);
    // The last answer is to what came, without any iterations.
    assert_eq!(recorder.iterations, [8, 0]);
    let mut last = recorder.starts[1].to_solution(&of.problem);
    assert_eq!(last.averages.remove(0), DVec3::ZERO);
    assert_eq!(last.states.remove(0), ContactState::Open);
    last.impulses.remove(0);
    assert_eq!(last, recorder.answers[0]);
}

/// Makes a body twice as hard to move at the first answer.
struct Heavier {
    body: usize,
    is_done: bool,
}

impl Refine for Heavier {
    fn refine(&mut self, problem: &mut NodalProblem, _: &[f64], is_answer: bool) -> Refined {
        if !is_answer || std::mem::replace(&mut self.is_done, true) {
            return Refined::default();
        }
        let Matrix::Blocks(matrix) = &mut problem.system.bodies[self.body].matrix else {
            panic!("cubes have blocks");
        };
        matrix.values.iter_mut().for_each(|block| *block *= 2.0);
        Refined {
            bodies: vec![self.body],
            ..Refined::default()
        }
    }
}

#[test]
fn a_body_whose_matrix_changes_is_factorized_again() {
    let of = captured(samples::stack(1e6, 2));
    for entry in &SOLVERS {
        for body in [0, 1] {
            let is_done = false;
            let found = solve(entry, &of, &mut Heavier { body, is_done });
            assert!(found.outcome.is_converged, "{}", entry.name);
            assert!(found.errors(&found.problem).largest() <= TOLERANCE);
            let lighter = found.errors(&of.problem).largest();
            assert!(lighter > 1e-6, "{}: {lighter} m", entry.name);
            // A, and A again; ADMM has A + W beside it.
            let wanted = if entry.name == "admm" { 4 } else { 2 };
            assert_eq!(found.outcome.factorizations, wanted, "{}", entry.name);
        }
    }
    let heavier = &mut Heavier {
        body: 1,
        is_done: false,
    };
    let (recorder, _) = recorded(&of, LIMITS, heavier);
    assert_eq!(recorder.changed, [[true, true], [false, true]]);
}

/// Says for ever that a body has changed.
struct Endless(usize);

impl Refine for Endless {
    fn refine(&mut self, _: &mut NodalProblem, _: &[f64], _: bool) -> Refined {
        self.0 += 1;
        Refined {
            bodies: vec![0],
            ..Refined::default()
        }
    }
}

#[test]
fn what_is_refined_for_ever_ends_all_the_same() {
    let of = sliding();
    let mut free = of.clone();
    free.problem.contacts = Contacts::new();
    let limits = Limits {
        tolerance: 1e-6,
        iterations: 50,
    };
    for entry in &SOLVERS {
        for of in [&of, &free] {
            let mut endless = Endless(0);
            let mut solver = entry.default();
            let found = solve_by(solver.as_mut(), of, limits, &mut endless);
            assert!(!found.outcome.is_converged, "{}", entry.name);
            assert_eq!(found.outcome.linearisations, endless.0);
            assert!(endless.0 > 1 && endless.0 <= 50, "{}", endless.0);
            assert!(found.outcome.iterations <= 50, "{}", entry.name);
        }
    }
}

/// Is never due.
struct Never;

impl Refine for Never {
    fn is_due(&mut self, _: bool) -> bool {
        false
    }

    fn refine(&mut self, _: &mut NodalProblem, _: &[f64], _: bool) -> Refined {
        panic!("not due");
    }
}

#[test]
fn what_is_not_due_is_not_called() {
    let of = sliding();
    let mut free = of.clone();
    free.problem.contacts = Contacts::new();
    for entry in &SOLVERS {
        for of in [&of, &free] {
            assert!(solve(entry, of, &mut Never).outcome.is_converged);
        }
    }
}
