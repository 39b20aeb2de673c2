//! Advancing by a time step: one state is read, another is written, and a step that fails leaves
//! nothing behind.

mod contact;
mod implicit;
mod linear_euler;
mod newton;
mod scratch;
mod symplectic_euler;

use std::time::Instant;

use glam::DVec3;
use reefknot_contact::cholesky::FactorError;

use crate::certify::{self, ContactRecord};
use crate::energy::linearize::Problem;
use crate::model::{Body, Elements, Model};
use crate::report::{Energies, Phases, StepReport};
use crate::scene::tables::Integrator;
use crate::state::{Span, State};

pub(crate) use contact::Touches;
pub(crate) use scratch::BodyScratch;
pub use scratch::Scratch;

/// Why a step could not be taken.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum StepError {
    /// A position or velocity is no number.
    #[error("vertex {vertex} of `{object}` has no finite {what}")]
    NotFinite {
        /// The object.
        object: String,
        /// The vertex.
        vertex: usize,
        /// "position" or "velocity".
        what: &'static str,
    },
    /// Numbers have grown beyond what can be computed with.
    #[error(
        "vertex {vertex} of `{object}` moves at {speed:.1e} m/s: its energy is no finite number"
    )]
    Overflow {
        /// The object.
        object: String,
        /// The fastest vertex.
        vertex: usize,
        /// Its largest component of velocity (m/s).
        speed: f64,
    },
    /// An element has lost its area.
    #[error("triangle {element} of `{object}` has collapsed to {ratio:.1e} of its rest area")]
    Collapsed {
        /// The object.
        object: String,
        /// The element.
        element: usize,
        /// Area over rest area.
        ratio: f64,
    },
    /// A step of an explicit method is longer than its stiffest part allows.
    #[error(
        "a step of {h:.2e} s is too long for symplectic-euler: `{object}` needs less than {longest:.2e} s; give a shorter `h`, or another integrator"
    )]
    TooLong {
        /// The object with the fastest oscillation.
        object: String,
        /// The step (s).
        h: f64,
        /// The longest stable one (s).
        longest: f64,
    },
    /// Newton's method did not come close enough.
    #[error(
        "Newton's method is still {error:.1e} m away after its last iteration; give it more `iterations`, a larger `tolerance` or a shorter `h`"
    )]
    NotConverged {
        /// The last change of a position (m).
        error: f64,
    },
    /// The contact problem could not be solved.
    #[error("the contacts of the step cannot be solved: {reason}")]
    Contact {
        /// Why.
        reason: String,
    },
    /// Something goes too far in a step.
    #[error(
        "vertex {vertex} of `{object}` moves by {way:.1e} m in a step, too far to tell what it meets; give a shorter `h`"
    )]
    TooFast {
        /// The object.
        object: String,
        /// The vertex.
        vertex: usize,
        /// How far (m).
        way: f64,
    },
    /// Something cannot get out of the way.
    #[error(
        "`{object}` (vertex {vertex}) has no room beside `{other}` near ({:.4}, {:.4}, {:.4}) m at {time:.6} s: what is told to move leaves none; slow it down, give the pair a smaller `thickness`, or let contacts give way with `compliance`", place[0], place[1], place[2]
    )]
    NoRoom {
        /// An object.
        object: String,
        /// One of its vertices.
        vertex: usize,
        /// What it would go through.
        other: String,
        /// Where (m).
        place: [f64; 3],
        /// When (s).
        time: f64,
    },
    /// The linear system could not be solved.
    #[error("the linear system of `{object}` cannot be solved: {reason}")]
    Linear {
        /// The object.
        object: String,
        /// Why, and at which vertex.
        reason: String,
    },
}

impl StepError {
    /// A failed factorization in the words of users, who know objects and their vertices.
    pub(crate) fn linear(model: &Model, body: &Body, error: FactorError) -> StepError {
        let object = &model.objects[body.object];
        let first = body.nodes.start - object.nodes().start;
        let reason = match error {
            FactorError::NotPositiveDefinite { node } => {
                format!("it is not positive definite at vertex {}", first + node)
            }
            FactorError::NotPositiveDefiniteRod { rod, unknown } => {
                let vertices = match &body.elements {
                    Elements::Rods(rods) => rods.batch.shape().vertices,
                    Elements::Blocks(_) => 0,
                };
                let vertex = first + rod * vertices + unknown / 4;
                format!("it is not positive definite and finite at vertex {vertex}")
            }
            FactorError::NotFinite { row, column } if row == column => {
                format!(
                    "it has an entry that is no finite number at vertex {}",
                    first + row
                )
            }
            FactorError::NotFinite { row, column } => {
                let (row, column) = (first + row, first + column);
                format!(
                    "it has an entry that is no finite number between vertices {column} and {row}"
                )
            }
            FactorError::OutOfMemory => "there is not enough memory".to_owned(),
        };
        StepError::Linear {
            object: object.name.clone(),
            reason,
        }
    }
}

/// A step that was taken.
#[derive(Clone, Debug)]
pub struct Step {
    /// The state after it.
    pub to: State,
    /// What it says of itself.
    pub report: StepReport,
    /// Nodes that were held, and the force that it took (N).
    pub pin_forces: Vec<(usize, DVec3)>,
    /// Contacts of the step, or of its last part.
    pub contacts: Vec<ContactRecord>,
    /// What the independent test found first, in a sentence.
    pub offence: Option<String>,
}

impl Step {
    /// The force of a pin on its object (N).
    #[must_use]
    pub fn pin_force(&self, model: &Model, pin: usize) -> DVec3 {
        let pin = &model.pins[pin];
        let is_pinned =
            |node: &usize| pin.nodes.binary_search(node).is_ok() && !model.is_axis(*node);
        self.pin_forces
            .iter()
            .filter(|(node, _)| is_pinned(node))
            .map(|(_, force)| *force)
            .sum()
    }

    /// This step and another one after it, as one.
    fn then(self, after: Step) -> Step {
        let (first, second) = (&self.report, after.report);
        let largest = |a: Option<f64>, b: Option<f64>| a.zip(b).map(|(a, b)| a.max(b)).or(a).or(b);
        let mut phases = first.phases_s;
        phases.add(&second.phases_s);
        let (energy, flows) = (second.energy_j, first.energy_j);
        let report = StepReport {
            iterations: first.iterations + second.iterations,
            halvings: 1 + first.halvings + second.halvings,
            failsafe: first.failsafe || second.failsafe,
            intersections: first
                .intersections
                .zip(second.intersections)
                .map(|(a, b)| a + b),
            min_gap_m: first.min_gap_m.map_or(second.min_gap_m, |gap| {
                Some(second.min_gap_m.map_or(gap, |other| gap.min(other)))
            }),
            contacts: first.contacts.max(second.contacts),
            contact_error_m: largest(first.contact_error_m, second.contact_error_m),
            momentum_error_m: largest(first.momentum_error_m, second.momentum_error_m),
            nonlinear_error_m: largest(first.nonlinear_error_m, second.nonlinear_error_m),
            max_stretch: first.max_stretch.max(second.max_stretch),
            energy_j: Energies {
                work: energy.work + flows.work,
                viscous: energy.viscous + flows.viscous,
                contact: energy.contact + flows.contact,
                numerical: energy.numerical + flows.numerical,
                ..energy
            },
            phases_s: phases,
            ..second
        };
        // Both took the same time, so their mean has the impulse of both.
        let forces = self.pin_forces.iter().chain(&after.pin_forces);
        let mut pin_forces: Vec<(usize, DVec3)> =
            forces.map(|(node, force)| (*node, 0.5 * *force)).collect();
        pin_forces.sort_by_key(|(node, _)| *node);
        pin_forces.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
            }
            same
        });
        Step {
            to: after.to,
            report,
            pin_forces,
            contacts: after.contacts,
            offence: self.offence.or(after.offence),
        }
    }
}

/// Takes one step; where it fails, in halves, in quarters and so on.
///
/// # Errors
/// Why it could not be taken; the state it started from is as it was.
pub fn step(model: &Model, from: &State, scratch: &mut Scratch) -> Result<Step, StepError> {
    let span = model.clock.span(from.step);
    scratch.is_tested = scratch.tests_every_step || model.clock.frame_at(from.step + 1).is_some();
    scratch.iterations_left = contact::ITERATIONS_OF_STEP;
    let mut step = step_within(model, from, span, scratch)?;
    step.to.step = from.step + 1;
    step.report.step = step.to.step;
    step.report.time = span.end;
    refuse_overflow(model, &step)?;
    Ok(step)
}

/// Refuses a method that cannot simulate a model.
///
/// # Errors
/// If the steps of an explicit method are too long from the start.
pub fn refuse_unstable(model: &Model) -> Result<(), StepError> {
    match model.method.integrator {
        Integrator::SymplecticEuler => {
            let first = problem(model, &model.start, model.clock.span(0));
            symplectic_euler::refuse_long(&first, &mut Scratch::new(model)?)
        }
        Integrator::LinearEuler | Integrator::Newton => Ok(()),
    }
}

/// The step from a state over some time.
fn problem<'a>(model: &'a Model, from: &'a State, span: Span) -> Problem<'a> {
    Problem {
        model,
        from,
        span,
        held: model.held(from, &span),
        is_static: model.method.quasi_static,
    }
}

/// A step over some time, or two over its halves.
fn step_within(
    model: &Model,
    from: &State,
    span: Span,
    scratch: &mut Scratch,
) -> Result<Step, StepError> {
    scratch.iterations_left = scratch.iterations_left.saturating_sub(contact::ATTEMPT);
    let error = match single_step(model, from, span, scratch) {
        Ok(step) => return Ok(step),
        Err(error) => error,
    };
    let is_deep = span.depth >= model.method.halvings as u32;
    if is_deep || scratch.iterations_left == 0 {
        return Err(error);
    }
    let [first, second] = span.halves();
    let before = step_within(model, from, first, scratch)?;
    let after = step_within(model, &before.to, second, scratch)?;
    Ok(before.then(after))
}

/// One step, as it is.
fn single_step(
    model: &Model,
    from: &State,
    span: Span,
    scratch: &mut Scratch,
) -> Result<Step, StepError> {
    let problem = problem(model, from, span);
    let mut taken = match model.method.integrator {
        Integrator::LinearEuler => linear_euler::step(&problem, scratch)?,
        Integrator::Newton => newton::step(&problem, &model.method, scratch)?,
        Integrator::SymplecticEuler => symplectic_euler::step(&problem, scratch)?,
    };
    // 6. What the step says of itself.
    let mut watch = Stopwatch::start();
    let mut step = certify::certify(&problem, &mut taken, scratch);
    scratch.keep([taken.velocities, taken.residual]);
    if let Some(touches) = taken.touches {
        touches.detection.finish(&mut scratch.detector);
    }
    step.report.phases_s.certify = watch.lap();
    Ok(step)
}

/// Stops at a step that cannot be graded, which nobody could read back from the log either.
fn refuse_overflow(model: &Model, step: &Step) -> Result<(), StepError> {
    let report = &step.report;
    let energy = &report.energy_j;
    let flows = energy.work + energy.viscous + energy.contact + energy.numerical;
    let errors = report.momentum_error_m.unwrap_or(0.0) + report.max_stretch;
    if (energy.total() + flows + errors).is_finite() {
        return Ok(());
    }
    let speeds = step.to.velocities.iter().map(|v| v.abs().max_element());
    let fastest = speeds.enumerate().max_by(|a, b| a.1.total_cmp(&b.1));
    let (node, speed) = fastest.unwrap_or_default();
    let (object, vertex) = model.place_of_node(node);
    Err(StepError::Overflow {
        object: object.to_owned(),
        vertex,
        speed,
    })
}

/// A step that was taken, before it is graded.
#[derive(Default)]
pub(crate) struct Taken<'a> {
    /// The state after it.
    pub(crate) to: State,
    /// Its velocities, flat.
    pub(crate) velocities: Vec<f64>,
    /// What its equations leave over: on free unknowns an error, on held ones the impulse that holds them (N s).
    pub(crate) residual: Vec<f64>,
    /// Whether these are the nonlinear equations, at the velocities of the step.
    pub(crate) is_nonlinear: bool,
    /// Whether anything was solved: A is factorized.
    pub(crate) solves: bool,
    /// Viscous impulse where it is not that of the velocities of the step (N s).
    pub(crate) drag: Option<Vec<f64>>,
    /// Contacts, where there can be any.
    pub(crate) touches: Option<Touches<'a>>,
    pub(crate) iterations: u64,
    pub(crate) phases: Phases,
}

/// Measures phases one after the other.
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    pub(crate) fn start() -> Stopwatch {
        Stopwatch(Instant::now())
    }

    /// Seconds since the start or the last lap.
    pub(crate) fn lap(&mut self) -> f64 {
        let now = Instant::now();
        let seconds = (now - self.0).as_secs_f64();
        self.0 = now;
        seconds
    }
}
