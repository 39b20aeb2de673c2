//! Entry of `admm` in the table of solvers, and its options.

use super::{Admm, LocalSolver, WeightRule};
use crate::solve::options::{OptionKind, OptionSpec, OptionValue, Options};
use crate::solve::table::{IterationLimits, SolverEntry};

/// Entry in the table of solvers.
pub const ENTRY: SolverEntry = SolverEntry {
    name: "admm",
    help: "ADMM between bodies and contacts (Daviet 2020), with Newton steps on the contacts where \
           it converges slowly; for all sizes.",
    delassus: None,
    options: &[
        OptionSpec {
            name: "weights",
            help: "Rule for the weights of nodes, their effective masses in the solver.",
            kind: OptionKind::Word(&[
                (
                    "mobility",
                    "From the mobility of the node in its rigid body; on nodes in contact.",
                ),
                ("paper", "As in the paper; on all nodes."),
            ]),
            default: OptionValue::Word("mobility"),
        },
        OptionSpec {
            name: "start",
            help: "Velocities at the start of the iterations.",
            kind: OptionKind::Word(&[
                ("previous", "Those of the previous step."),
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
            help: "Whether contacts sleep while their neighbours hardly change.",
            kind: OptionKind::Flag,
            default: OptionValue::Flag(true),
        },
        OptionSpec {
            name: "polish",
            help: "Whether to try Newton steps on the contacts where iterations converge slowly.",
            kind: OptionKind::Flag,
            default: OptionValue::Flag(true),
        },
    ],
    build: |options| Box::new(Admm::new(AdmmOptions::of(options))),
    iterations: IterationLimits {
        standalone: 1000,
        in_step: 400,
    },
};

/// Options of ADMM.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdmmOptions {
    /// Rule for the weights of nodes.
    pub weights: WeightRule,
    /// Whether to start from the velocities without contact, as in the paper, instead of those of
    /// the previous step.
    pub starts_unconstrained: bool,
    /// Whether to accelerate (Alg. 4).
    pub is_accelerated: bool,
    /// Gauss-Seidel sweeps in an iteration, at most.
    pub sweeps: usize,
    /// Whether contacts sleep while their neighbours hardly change.
    pub sleeps: bool,
    /// Solver of a single contact.
    pub local: LocalSolver,
    /// Whether to try Newton steps on the contacts where iterations converge slowly.
    pub polishes: bool,
    /// Iterations between two calls of `refine`.
    pub refine_every: usize,
}

impl Default for AdmmOptions {
    /// The defaults of the table of solvers.
    fn default() -> Self {
        Self::of(&Options::defaults(ENTRY.options))
    }
}

impl AdmmOptions {
    fn of(options: &Options) -> Self {
        Self {
            weights: if options.is("weights", "paper") {
                WeightRule::PAPER
            } else {
                WeightRule::Mobility
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

    /// The method as printed in the paper.
    pub fn as_printed() -> Self {
        Self {
            weights: WeightRule::PAPER,
            starts_unconstrained: true,
            is_accelerated: false,
            polishes: false,
            ..Self::default()
        }
    }
}
