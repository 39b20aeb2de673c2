//! Probes and conclusions of a model. [`crate::probe`] evaluates them.

use glam::{DMat3, DVec3};

/// A measurement at every step, and its reduction to one value.
#[derive(Clone, Debug)]
pub struct Probe {
    /// Name in the scene.
    pub name: String,
    /// Reduction of the time series to one value.
    pub reduce: Reduction,
    /// If given, the value of the run is whether the reduced value exceeds this.
    pub above: Option<f64>,
    /// Start of the time series (s).
    pub from: f64,
    /// End of the time series (s).
    pub until: f64,
    /// Factor and offset applied to the reduced value, in this order.
    pub affine: [f64; 2],
    /// Threshold of the reductions `WhenBelow` and `WhenAbove`.
    pub threshold: Option<f64>,
    /// Direction along which vectors are measured; `None` keeps all components.
    pub(crate) along: Option<DVec3>,
    /// Factor on each value of the time series.
    pub(crate) scale: f64,
    pub(crate) quantity: MeasuredQuantity,
}

/// Reduction of a time series to one value, for each component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// The last value.
    Last,
    /// The first value.
    First,
    /// The minimum.
    Min,
    /// The maximum.
    Max,
    /// The mean of all steps.
    Mean,
    /// The last value minus the first.
    Change,
    /// The largest distance from the first value: one number, also for vectors.
    MaxChange,
    /// Time of the first value below the threshold (s).
    WhenBelow,
    /// Time of the first value above the threshold (s).
    WhenAbove,
    /// The mean change per step, over the second half of the run.
    PerStep,
    /// The square root of the last value over the first.
    AmplitudeRatio,
    /// Frequency of a free oscillation (1/s), corrected for the errors of the integrator.
    Frequency,
    /// The mean time between maxima (s).
    Period,
    /// The mean change of the second angle of a swing between maxima of the first.
    Precession,
}

/// Energy that a probe measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeasuredEnergy {
    /// Kinetic energy.
    Kinetic,
    /// Elastic energy.
    Elastic,
    /// Potential energy of gravity.
    Gravity,
    /// The sum of the three.
    Total,
}

/// Momentum that a probe measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeasuredMomentum {
    /// Σ m v of each object.
    Linear,
    /// Σ m v of all objects together.
    TotalLinear,
    /// Σ m x × v of each object, about the origin.
    Angular,
}

/// MeasuredQuantity that a probe measures.
#[derive(Clone, Debug)]
pub(crate) enum MeasuredQuantity {
    Position(PointSet),
    Displacement(PointSet),
    Velocity(PointSet),
    Distance(PointSet, PointSet),
    Rotation(PointSet, DVec3),
    Swing(PointSet, DVec3),
    OutOfPlane(usize, DVec3),
    MapError(usize, DMat3),
    PinForce(usize),
    ContactForce(ContactFilter),
    ContactTorque(ContactFilter),
    Contacts(ContactFilter),
    Gap(ContactFilter),
    Energy(MeasuredEnergy),
    MomentumDrift(MeasuredMomentum),
    MaxStretch(usize),
    Weight(Vec<usize>),
}

/// Vertices of an object, whose mean is measured.
#[derive(Clone, Debug)]
pub(crate) struct PointSet {
    pub(crate) object: usize,
    pub(crate) vertices: Vec<u32>,
}

/// Contacts of an object, or only those with one other object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ContactFilter {
    pub(crate) object: usize,
    pub(crate) other: Option<usize>,
}

/// A sentence with values of probes. It is part of the summary if its condition holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Conclusion {
    pub(crate) text: String,
    pub(crate) condition: Option<Condition>,
}

/// An open interval for the value of a probe.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Condition {
    pub(crate) probe: String,
    pub(crate) above: f64,
    pub(crate) below: f64,
}

impl Conclusion {
    /// Names in braces in the text.
    pub(crate) fn named_probes(&self) -> impl Iterator<Item = &str> {
        let after = self.text.split('{').skip(1);
        after.filter_map(|rest| rest.split_once('}').map(|(name, _)| name))
    }
}
