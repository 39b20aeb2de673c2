//! Reports of steps and runs: the lines of `run.jsonl`, and the summary.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::claims::Claims;

/// Wall time of the phases of a step (s).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Phases {
    /// Detection of contacts.
    pub detect: f64,
    /// Evaluation of energies and their derivatives.
    pub assemble: f64,
    /// Factorization and linear solves.
    pub linear: f64,
    /// Contact solves.
    pub contact: f64,
    /// The gate.
    pub gate: f64,
    /// The certificate.
    pub certify: f64,
    /// Output files.
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

/// Energies at the end of a step, with work and losses during it (J). The change of
/// kinetic + elastic + gravity is work − viscous − contact − numerical + unbalanced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Energies {
    /// Kinetic energy.
    pub kinetic: f64,
    /// Elastic energy.
    pub elastic: f64,
    /// Potential energy of gravity.
    pub gravity: f64,
    /// Work of pins, wind, loads and prescribed motion.
    pub work: f64,
    /// Loss to viscosity.
    pub viscous: f64,
    /// Loss in contacts.
    pub contact: f64,
    /// Loss to the time discretization.
    pub numerical: f64,
    /// Energy without a source: the work of the residual of the equations of motion.
    #[serde(default)]
    pub unbalanced: f64,
    /// Energy of the layers of the asynchronous method.
    #[serde(default)]
    pub layers: f64,
}

/// Growth of kinetic + elastic + gravity in a step beyond its sources (J).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EnergyGain {
    /// Growth beyond work, recovery from overlaps and `non_convex`. Negative in a step that
    /// dissipates.
    pub gain: f64,
    /// Growth where the elastic energy is not convex: E₁ − E₀ − h v·∇E₁, if positive.
    pub non_convex: f64,
    /// Energy that changed its form in the step.
    pub turnover: f64,
    /// Kinetic + elastic energy at the end of the step.
    pub stored: f64,
    /// Sum of the contact forces (N).
    pub contact_force: f64,
}

impl Energies {
    /// Kinetic + elastic + gravity (J).
    #[must_use]
    pub fn total(&self) -> f64 {
        self.kinetic + self.elastic + self.gravity
    }

    /// What the total grows by in the step (J).
    #[must_use]
    pub fn flow(&self) -> f64 {
        self.work - self.viscous - self.contact - self.numerical + self.unbalanced
    }
}

/// Report of one step: a line of `run.jsonl`. Values that were not computed are `null`.
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
    /// Number of halvings of the step and its parts.
    #[serde(default)]
    pub halvings: u64,
    /// Whether the fail-safe of the gate changed velocities.
    #[serde(default)]
    pub failsafe: bool,
    /// Whether a claimed error is above the tolerance of the scene and above 10 µm.
    #[serde(default)]
    pub unconverged: bool,
    /// Intersections found by the independent test.
    pub intersections: Option<u64>,
    /// Smallest gap: distance minus thickness (m).
    pub min_gap_m: Option<f64>,
    /// Distance of contacts from the contact law (m).
    pub contact_error_m: Option<f64>,
    /// Distance of nodes from where the reported forces would move them (m). Below a nanometre, an
    /// upper bound.
    pub momentum_error_m: Option<f64>,
    /// The same for the nonlinear equations (m).
    pub nonlinear_error_m: Option<f64>,
    /// Largest ratio of a length to its rest length.
    pub max_stretch: f64,
    /// Energies.
    pub energy_j: Energies,
    /// Largest growth of the energy beyond its sources in a part of the step.
    #[serde(default)]
    pub gain_j: EnergyGain,
    /// Wall time of the step (s).
    pub wall_s: f64,
    /// Processor time of the step, of all threads (s).
    pub cpu_s: Option<f64>,
    /// Wall time by phase (s).
    pub phases_s: Phases,
}

/// Mean and maximum over steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct MeanMax {
    /// Mean.
    pub mean: f64,
    /// Maximum.
    pub max: f64,
}

/// Sum and maximum of a value over steps.
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

/// Accumulated reports of all steps of a run. A resumed run reads the earlier ones from
/// `run.jsonl`.
#[derive(Clone, Debug, Default)]
pub struct Statistics {
    /// Number of steps.
    pub steps: u64,
    halved_steps: u64,
    failsafe_steps: u64,
    unconverged_steps: u64,
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
    /// Adds the report of a step.
    pub fn add(&mut self, report: &StepReport) {
        self.steps += 1;
        self.halved_steps += u64::from(report.halvings > 0);
        self.failsafe_steps += u64::from(report.failsafe);
        self.unconverged_steps += u64::from(report.unconverged);
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
            unbalanced: flows.unbalanced + report.energy_j.unbalanced,
            ..report.energy_j
        };
    }
}

/// Entries of the summary that are not statistics of steps.
#[derive(Clone, Debug, Serialize)]
pub struct SummaryFacts {
    /// Name of the scene.
    pub scene: String,
    /// Version of the program.
    pub version: String,
    /// Instruction set of the kernels. Runs have the same bits on the same set only.
    pub isa: String,
    /// Integrator.
    pub method: String,
    /// Contact solver, "none" without contact.
    pub solver: String,
    /// Guarantees of the integrator for every step.
    pub claims: Claims,
    /// Number of threads.
    pub threads: usize,
    /// Time step (s).
    pub h: f64,
    /// Frames stored, without frame 0.
    pub frames: u64,
    /// Simulated time (s).
    pub simulated_s: f64,
    /// Wall time before the first step of this process (s).
    #[serde(skip)]
    pub setup_s: f64,
    /// Number of vertices of all objects and colliders.
    #[serde(skip)]
    pub vertices: usize,
    /// Number of nodes.
    pub nodes: usize,
    /// Number of scalar degrees of freedom.
    pub dofs: usize,
    /// Number of elements.
    pub elements: usize,
    /// Energies at the start, for a run without steps.
    #[serde(skip)]
    pub start_energy: Energies,
    /// Values of probes by name.
    pub probes: Json,
    /// Conclusions of the scene. Left out if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conclusions: Vec<String>,
    /// Hash of the last state.
    pub state_hash: String,
}

/// The summary of a run, as `--summary json` prints it.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// Scene, method and sizes.
    #[serde(flatten)]
    pub facts: SummaryFacts,
    /// Number of steps.
    pub steps: u64,
    /// Number of steps that were halved.
    pub halved_steps: u64,
    /// Number of steps in which the fail-safe changed velocities.
    pub failsafe_steps: u64,
    /// Number of steps with a claimed error above the tolerance of the scene and above 10 µm.
    pub unconverged_steps: u64,
    /// Number of steps checked by the independent intersection test.
    pub certified_steps: u64,
    /// Wall time of all processes of the run (s).
    pub wall_s: f64,
    /// Processor time of all processes of the run (s).
    pub cpu_s: f64,
    /// Wall time per step (s).
    pub wall_per_step_s: Option<MeanMax>,
    /// Wall time by phase (s).
    pub phases_s: Phases,
    /// Contacts per step.
    pub contacts: Option<MeanMax>,
    /// Iterations per step.
    pub iterations: Option<MeanMax>,
    /// Number of intersections; null if no step was tested.
    pub intersections: Option<u64>,
    /// Smallest gap: distance minus thickness (m).
    pub min_gap_m: Option<f64>,
    /// Distance of contacts from the contact law (m).
    pub contact_error_m: Option<MeanMax>,
    /// Distance of nodes from where the reported forces would move them (m).
    pub momentum_error_m: Option<MeanMax>,
    /// The same for the nonlinear equations (m).
    pub nonlinear_error_m: Option<MeanMax>,
    /// Largest ratio of a length to its rest length.
    pub max_stretch: Option<f64>,
    /// Energies at the end, with work and losses of the whole run (J).
    pub energy_j: Energies,
    /// Peak memory of this process (bytes).
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
            unconverged_steps: statistics.unconverged_steps,
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
