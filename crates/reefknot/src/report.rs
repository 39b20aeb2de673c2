//! What a step and a run say of themselves: the lines of `run.jsonl` and the summary.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::integrate::claims::Claims;

/// Seconds spent in the parts of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Phases {
    /// Who may touch.
    pub detect: f64,
    /// Energies and their derivatives.
    pub assemble: f64,
    /// Factorization and solves.
    pub linear: f64,
    /// The contact problem.
    pub contact: f64,
    /// Guarding against intersections.
    pub gate: f64,
    /// Errors and energies.
    pub certify: f64,
    /// Files.
    pub write: f64,
}

impl Phases {
    pub(crate) fn add(&mut self, other: &Phases) {
        self.detect += other.detect;
        self.assemble += other.assemble;
        self.linear += other.linear;
        self.contact += other.contact;
        self.gate += other.gate;
        self.certify += other.certify;
        self.write += other.write;
    }
}

/// Energies at the end of a step, and what flowed during it (J). They balance: the change of
/// kinetic + elastic + gravity is work − viscous − contact − numerical.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Energies {
    /// Of motion.
    pub kinetic: f64,
    /// Of deformation.
    pub elastic: f64,
    /// Of height.
    pub gravity: f64,
    /// Work of pins, wind and other forces.
    pub work: f64,
    /// Lost to viscosity.
    pub viscous: f64,
    /// Lost in contacts.
    pub contact: f64,
    /// Lost to the time discretization.
    pub numerical: f64,
}

impl Energies {
    /// Kinetic, elastic and gravity.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.kinetic + self.elastic + self.gravity
    }
}

/// One step: a line of `run.jsonl`. What was not computed is `null`, never a silent 0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StepReport {
    /// Number of the step, from 1.
    pub step: u64,
    /// Time at its end (s).
    pub time: f64,
    /// Contacts in the problem.
    pub contacts: u64,
    /// Iterations of the contact solver, or of Newton's method without contacts.
    pub iterations: u64,
    /// How often the step or a part of it was halved.
    #[serde(default)]
    pub halvings: u64,
    /// Whether the fail-safe changed the motion.
    #[serde(default)]
    pub failsafe: bool,
    /// Intersections found by the independent test.
    pub intersections: Option<u64>,
    /// Least distance minus thickness (m).
    pub min_gap_m: Option<f64>,
    /// How far contacts are from the law (m).
    pub contact_error_m: Option<f64>,
    /// How far points are from where the forces would put them (m); where that is below a nanometre, a bound of it.
    pub momentum_error_m: Option<f64>,
    /// How far the step is from solving the nonlinear equations (m).
    pub nonlinear_error_m: Option<f64>,
    /// Largest ratio of a length to its rest length.
    pub max_stretch: f64,
    /// Energies.
    pub energy_j: Energies,
    /// Time that the step took (s).
    pub wall_s: f64,
    /// Processor time that the step took, of all threads (s).
    pub cpu_s: Option<f64>,
    /// The same by phase.
    pub phases_s: Phases,
}

/// Mean and largest value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct MeanMax {
    /// Mean over steps.
    pub mean: f64,
    /// Largest.
    pub max: f64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Series {
    sum: f64,
    max: f64,
    count: u64,
}

impl Series {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.max = if self.count == 0 {
            value
        } else {
            self.max.max(value)
        };
        self.count += 1;
    }

    fn mean_max(&self) -> Option<MeanMax> {
        (self.count > 0).then(|| MeanMax {
            mean: self.sum / self.count as f64,
            max: self.max,
        })
    }
}

/// What all steps of a run add up to; on resuming, refilled from `run.jsonl`.
#[derive(Clone, Debug, Default)]
pub struct Statistics {
    /// Number of steps.
    pub steps: u64,
    halved_steps: u64,
    failsafe_steps: u64,
    wall: Series,
    cpu: f64,
    phases: Phases,
    contacts: Series,
    iterations: Series,
    intersections: Option<u64>,
    certified_steps: u64,
    min_gap: Option<f64>,
    contact_error: Series,
    momentum_error: Series,
    nonlinear_error: Series,
    max_stretch: Series,
    energy: Energies,
}

impl Statistics {
    /// Takes in a step.
    pub fn add(&mut self, report: &StepReport) {
        self.steps += 1;
        self.halved_steps += u64::from(report.halvings > 0);
        self.failsafe_steps += u64::from(report.failsafe);
        self.wall.add(report.wall_s);
        self.cpu += report.cpu_s.unwrap_or(0.0);
        self.phases.add(&report.phases_s);
        self.contacts.add(report.contacts as f64);
        self.iterations.add(report.iterations as f64);
        if let Some(found) = report.intersections {
            self.certified_steps += 1;
            self.intersections = Some(self.intersections.unwrap_or(0) + found);
        }
        if let Some(gap) = report.min_gap_m {
            self.min_gap = Some(self.min_gap.map_or(gap, |least| least.min(gap)));
        }
        let errors = [
            (&mut self.contact_error, report.contact_error_m),
            (&mut self.momentum_error, report.momentum_error_m),
            (&mut self.nonlinear_error, report.nonlinear_error_m),
            (&mut self.max_stretch, Some(report.max_stretch)),
        ];
        for (series, value) in errors {
            if let Some(value) = value {
                series.add(value);
            }
        }
        let flows = self.energy;
        self.energy = Energies {
            work: flows.work + report.energy_j.work,
            viscous: flows.viscous + report.energy_j.viscous,
            contact: flows.contact + report.energy_j.contact,
            numerical: flows.numerical + report.energy_j.numerical,
            ..report.energy_j
        };
    }
}

/// What the summary says beside the statistics.
#[derive(Clone, Debug, Serialize)]
pub struct SummaryFacts {
    /// Name of the scene.
    pub scene: String,
    /// Version of the program.
    pub version: String,
    /// Instruction set; bits are the same on the same set only.
    pub isa: String,
    /// Integrator.
    pub method: String,
    /// Contact solver, "none" without contact.
    pub solver: String,
    /// What the method claims of every step.
    pub claims: Claims,
    /// Threads.
    pub threads: usize,
    /// Time step (s).
    pub h: f64,
    /// Frames stored after the first.
    pub frames: u64,
    /// Simulated time (s).
    pub simulated_s: f64,
    /// Seconds before the first step of this process.
    #[serde(skip)]
    pub setup_s: f64,
    /// Vertices of all objects and colliders, however they move.
    #[serde(skip)]
    pub vertices: usize,
    /// Nodes: what is simulated.
    pub nodes: usize,
    /// Scalar degrees of freedom.
    pub dofs: usize,
    /// Elements.
    pub elements: usize,
    /// Energies at the start, for a run without steps.
    #[serde(skip)]
    pub start_energy: Energies,
    /// Probes by name.
    pub probes: Json,
    /// What the scene concludes from them; not there if it does not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conclusions: Vec<String>,
    /// Fingerprint of the last state.
    pub state_hash: String,
}

/// The summary of a run, as `--summary json` prints it.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// Scene, method and sizes.
    #[serde(flatten)]
    pub facts: SummaryFacts,
    /// Steps.
    pub steps: u64,
    /// Steps that were halved.
    pub halved_steps: u64,
    /// Steps in which the fail-safe acted.
    pub failsafe_steps: u64,
    /// Steps that the independent test looked at.
    pub certified_steps: u64,
    /// Wall time (s), of all processes that worked on the run.
    pub wall_s: f64,
    /// Processor time (s), likewise.
    pub cpu_s: f64,
    /// Wall time by step (s).
    pub wall_per_step_s: Option<MeanMax>,
    /// Wall time by phase (s).
    pub phases_s: Phases,
    /// Contacts by step.
    pub contacts: Option<MeanMax>,
    /// Iterations by step.
    pub iterations: Option<MeanMax>,
    /// Intersections, or null where nothing was tested.
    pub intersections: Option<u64>,
    /// Least distance minus thickness (m).
    pub min_gap_m: Option<f64>,
    /// How far contacts are from the law (m).
    pub contact_error_m: Option<MeanMax>,
    /// How far points are from where the forces would put them (m).
    pub momentum_error_m: Option<MeanMax>,
    /// How far steps are from solving the nonlinear equations (m).
    pub nonlinear_error_m: Option<MeanMax>,
    /// Largest ratio of a length to its rest length.
    pub max_stretch: Option<f64>,
    /// Energies at the end, and flows over the whole run (J).
    pub energy_j: Energies,
    /// Largest memory of this process.
    pub peak_rss_bytes: Option<u64>,
}

impl Summary {
    /// The summary of a run.
    #[must_use]
    pub fn new(facts: SummaryFacts, statistics: &Statistics) -> Summary {
        let energy = if statistics.steps == 0 {
            facts.start_energy
        } else {
            statistics.energy
        };
        Summary {
            steps: statistics.steps,
            halved_steps: statistics.halved_steps,
            failsafe_steps: statistics.failsafe_steps,
            certified_steps: statistics.certified_steps,
            wall_s: facts.setup_s + statistics.wall.sum,
            cpu_s: statistics.cpu,
            wall_per_step_s: statistics.wall.mean_max(),
            phases_s: statistics.phases,
            contacts: statistics.contacts.mean_max(),
            iterations: statistics.iterations.mean_max(),
            intersections: statistics.intersections,
            min_gap_m: statistics.min_gap,
            contact_error_m: statistics.contact_error.mean_max(),
            momentum_error_m: statistics.momentum_error.mean_max(),
            nonlinear_error_m: statistics.nonlinear_error.mean_max(),
            max_stretch: statistics.max_stretch.mean_max().map(|stretch| stretch.max),
            energy_j: energy,
            peak_rss_bytes: crate::machine::peak_memory(),
            facts,
        }
    }
}
