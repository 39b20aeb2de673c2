//! Tuning constants of a step. They trade cost against accuracy. The certificate of a step does not
//! depend on them.

/// Limits, retry counts and tolerances of a step.
///
/// The values were tuned on hair: a ball of hair, and 4,000 shaken curls.
pub(super) struct StepTuning {
    /// Relinearisations of affine bodies in a solve. The stiffness that keeps these bodies rigid is
    /// so large that the first tangent makes them grow and spin up when they rotate.
    pub(super) affine_relinearisations: usize,

    /// Sufficient decrease of the line search, as a fraction of the slope (Armijo).
    pub(super) sufficient_decrease: f64,
    /// A line search goes on beyond its target while the action decreases by more than this
    /// fraction of the slope. Along a parabola with its minimum at the target it is one half.
    pub(super) linear_decrease: f64,
    /// Maximum length of a line search, as a multiple of the distance to the target.
    pub(super) max_extension: f64,
    /// Maximum number of halvings in a line search.
    pub(super) max_halvings: usize,
    /// Changes of the action below this fraction of its terms are rounding errors. The line search
    /// accepts them.
    pub(super) action_rounding: f64,
    /// Contact tolerance of the first Newton iteration, as a multiple of the strictest one. A
    /// smaller error would be lost, since the next iteration changes the equations. With 1000,
    /// curls are linearised at positions where they are stretched by a third, and the gate must
    /// act.
    pub(super) first_tolerance_factor: f64,
    /// Contact tolerance of a later Newton iteration, as a fraction of the largest displacement of
    /// the iteration before (the forcing term of inexact Newton methods). With 1e-3, the shaken
    /// curls take 166 instead of 136 iterations per step, at the same nonlinear error.
    pub(super) forcing_term: f64,

    /// Newton iterations with the projected curvature before the exact one is tried.
    pub(super) projected_iterations: u64,

    /// A contact is posed if a free node has at least this weight in it. Below, the node would have
    /// to move 1/weight times as far as the contact point; such contacts are left to the gate.
    pub(super) min_contact_weight: f64,

    /// Maximum number of CCD rounds in a contact solve. The gate treats impacts found after that.
    pub(super) max_ccd_rounds: usize,
    /// The same for a solve that another solve of the same step follows.
    pub(super) max_ccd_rounds_if_followed: usize,
    /// The interval between CCD rounds doubles after a round that adds less than one contact per
    /// this number of contacts.
    pub(super) contacts_per_new: usize,
    /// CCD is postponed while more than one point in this number is outside its predicted volume:
    /// an iterate that far from the solution meets features that the solution never meets.
    pub(super) points_per_outlier: usize,
    /// Postponements of CCD in a solve. After that the points do leave their volumes, and the
    /// contacts that stop them must be found.
    pub(super) max_postponements: usize,

    /// Solves without convergence in an attempt at a step. Later solves have few iterations, and the
    /// gate treats the rest.
    pub(super) max_unconverged_solves: usize,
    /// Maximum number of attempts at a step, halves included.
    pub(super) max_attempts: usize,
    /// Fraction (numerator, denominator) of the iterations of a solve that remains when the budget
    /// is spent: 30 of 400 for `admm`.
    pub(super) spent_budget_fraction: (usize, usize),

    /// Fraction of the mobility of a rod node that enters the weights of ADMM. One third needs the
    /// fewest iterations in a ball of hair.
    pub(super) rod_mobility: f64,
}

/// The tuning of all scenes.
pub(super) const TUNING: StepTuning = StepTuning {
    affine_relinearisations: 2,

    sufficient_decrease: 1e-4,
    linear_decrease: 0.75,
    max_extension: 16.0,
    max_halvings: 30,
    action_rounding: 1e-13,
    first_tolerance_factor: 300.0,
    forcing_term: 1e-2,

    projected_iterations: 2,

    min_contact_weight: 0.01,

    max_ccd_rounds: 40,
    max_ccd_rounds_if_followed: 3,
    contacts_per_new: 1000,
    points_per_outlier: 100,
    max_postponements: 4,

    max_unconverged_solves: 3,
    max_attempts: 32,
    spent_budget_fraction: (3, 40),

    rod_mobility: 1.0 / 3.0,
};
