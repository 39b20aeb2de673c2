//! The solver `admm` in the table of solvers, its options, and what they set.

use super::{Admm, LocalSolver, Weights};
use crate::solve::options::{OptionKind, OptionSpec, OptionValue, Options};
use crate::solve::table::{Iterations, SolverEntry};

/// The solver in the table.
pub const ENTRY: SolverEntry = SolverEntry {
    name: "admm",
    help: "Alternating directions between bodies and contacts (Daviet 2020), with Newton steps where these are slow; for all sizes.",
    delassus: None,
    options: &[
        OptionSpec {
            name: "weights",
            help: "How hard it is to move a node.",
            kind: OptionKind::Word(&[
                (
                    "mobility",
                    "By how easily it moves with its rigid body, on nodes that may touch.",
                ),
                ("paper", "As in the paper, on all nodes."),
            ]),
            default: OptionValue::Word("mobility"),
        },
        OptionSpec {
            name: "start",
            help: "The velocities that iterations begin with.",
            kind: OptionKind::Word(&[
                ("previous", "Those of the step before."),
                ("unconstrained", "Those without contact, as in the paper."),
            ]),
            default: OptionValue::Word("previous"),
        },
        OptionSpec {
            name: "accelerate",
            help: "Whether to accelerate by momentum with restarts (Daviet 2020, Alg. 4).",
            kind: OptionKind::Flag,
            default: OptionValue::Flag(true),
        },
        OptionSpec {
            name: "sweeps",
            help: "Gauss-Seidel sweeps over contacts in an iteration, at most.",
            kind: OptionKind::Count(1, 1000),
            default: OptionValue::Count(20),
        },
        OptionSpec {
            name: "sleep",
            help: "Whether contacts that hardly change sleep for a few sweeps.",
            kind: OptionKind::Flag,
            default: OptionValue::Flag(true),
        },
        OptionSpec {
            name: "polish",
            help: "Whether Newton steps on the contacts take over where iterations are slow.",
            kind: OptionKind::Flag,
            default: OptionValue::Flag(true),
        },
    ],
    build: |options| Box::new(Admm::new(Settings::of(options))),
    iterations: Iterations {
        alone: 1000,
        in_step: 400,
    },
};

/// How ADMM goes about it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// How the weights are chosen.
    pub weights: Weights,
    /// Whether to begin from the velocities without contact, as in the paper, and not from those of
    /// the step before.
    pub starts_unconstrained: bool,
    /// Whether to accelerate (Alg. 4).
    pub is_accelerated: bool,
    /// Gauss-Seidel sweeps in an iteration, at most.
    pub sweeps: usize,
    /// Whether contacts that hardly change sleep for a few sweeps.
    pub sleeps: bool,
    /// How a contact is solved by itself.
    pub local: LocalSolver,
    /// Whether Newton steps on the contacts take over where iterations are slow.
    pub polishes: bool,
    /// Iterations between two calls of `refine`.
    pub refine_every: usize,
}

impl Default for Settings {
    /// The settings that hold for everything tried.
    fn default() -> Self {
        Self::of(&Options::defaults(ENTRY.options))
    }
}

impl Settings {
    fn of(options: &Options) -> Self {
        Self {
            weights: match options.is("weights", "paper") {
                true => Weights::PAPER,
                false => Weights::Mobility,
            },
            starts_unconstrained: options.is("start", "unconstrained"),
            is_accelerated: options.flag("accelerate"),
            sweeps: options.count("sweeps"),
            sleeps: options.flag("sleep"),
            local: LocalSolver::Isotropic,
            polishes: options.flag("polish"),
            refine_every: 5,
        }
    }

    /// Everything as in the paper.
    pub fn as_printed() -> Self {
        Self {
            weights: Weights::PAPER,
            starts_unconstrained: true,
            is_accelerated: false,
            polishes: false,
            ..Self::default()
        }
    }
}
