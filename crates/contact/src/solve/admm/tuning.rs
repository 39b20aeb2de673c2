//! Tuning constants of `admm`: value, reason, and the values that were compared.
//!
//! They change the number of iterations and the time of an iteration, not the accuracy: a solution
//! is accepted only if the errors of the problem are within the tolerance.

/// Tuning constants of `admm`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Tuning {
    /// A problem is at rest if no node moves in a step by more than this multiple of the tolerance.
    /// At rest the solution is p, which does not creep; in motion it is the velocity that follows
    /// from the impulses, whose errors are ten times smaller.
    pub(super) rest_tolerance_factor: f64,

    /// The errors are computed at least after this number of iterations, even if their estimate is
    /// above the tolerance. Computing them every 5 iterations took a tenth of the solve time.
    pub(super) check_interval: usize,

    /// Decay per iteration of the ratio of errors to residual that was measured last. The ratio
    /// changes during a solve, so that an old measurement must lose influence; a new one takes as
    /// long as several iterations, so that it must not come too early.
    pub(super) amplification_decay: f64,

    /// Lower bound of the measured ratio of errors to residual. With a ratio near zero, all later
    /// iterations would compute the errors.
    pub(super) min_amplification: f64,

    /// Sweeps of an iteration end when the largest change of a contact is below this fraction of
    /// the residual of the iteration before. 0.1 was used before; it takes more sweeps and does not
    /// save iterations in a ball of hair.
    pub(super) sweep_tolerance_factor: f64,

    /// A contact sleeps while its neighbours change by less than this fraction of the residual. A
    /// third of it does not save iterations in a ball of hair.
    pub(super) sleep_threshold_factor: f64,

    /// Accuracy of iterative solves with A + W, as a fraction of the residual, so that their error
    /// does not count in it.
    pub(super) solve_accuracy_factor: f64,

    /// Single precision is used if it changes a velocity, times h, by at most this fraction of the
    /// tolerance.
    pub(super) single_precision_factor: f64,

    /// Single precision is tried if sparse bodies have at least this number of unknowns: from
    /// there on, solves are bound by reading the factor, and half the bytes are worth a copy.
    pub(super) single_precision_min_unknowns: usize,

    /// A node has at least this fraction of the weight of the heaviest node in its contacts.
    /// Without it, light nodes between heavy ones, such as hair under a band, transmit impulses
    /// only over many sweeps. 0.01 was used before.
    pub(super) neighbour_weight_fraction: f64,

    /// The rule of [`Tuning::neighbour_weight_fraction`] multiplies the own weight of a node by at
    /// most this factor. Fur with a twentieth of the weight of the body that it grows on hardly
    /// moves in an iteration: five captured problems did not converge in 1,000 iterations without
    /// this limit, and converge in 60 to 300 with it.
    pub(super) max_weight_gain: f64,

    /// All contacts are visited if more than one of this number changed by more than the sleep
    /// threshold: listing the neighbours would not save time.
    pub(super) full_sweep_divisor: usize,

    /// The list of contacts to visit is made by a scan of all contacts if it contains more than one
    /// of this number; shorter lists are sorted.
    pub(super) scan_divisor: usize,

    /// Lists of at most this length are visited by one thread: waking the others takes longer.
    pub(super) max_serial_contacts: usize,
}

/// The values in use.
pub(super) const TUNING: Tuning = Tuning {
    rest_tolerance_factor: 10.0,
    check_interval: 20,
    amplification_decay: 0.97,
    min_amplification: 0.1,
    sweep_tolerance_factor: 0.2,
    sleep_threshold_factor: 0.03,
    solve_accuracy_factor: 1e-3,
    single_precision_factor: 0.01,
    single_precision_min_unknowns: 3000,
    neighbour_weight_fraction: 0.05,
    max_weight_gain: 10.0,
    full_sweep_divisor: 4,
    scan_divisor: 64,
    max_serial_contacts: 6000,
};
