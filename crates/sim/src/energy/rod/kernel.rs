//! SIMD kernels of [`RodBatch`] on one group of four rods.

use std::f64::consts::TAU;

use super::assemble::Linearize;
use super::dual::Dual;
use super::frame::{Edge, Vector};
use super::group::{Gather, Group, Slot, rods_of};
use super::twist::{angle, twist};
use super::visit::{Forms, Gradient, Value};
use super::{RodBatch, RodPose};
use glam::DVec3;
use reefknot_contact::banded::BandedLayout;
use reefknot_contact::lanes::{Kernel, Lanes, Scalar};

/// Sum of the four lanes.
#[inline(always)]
fn sum(value: Lanes) -> f64 {
    value.0.iter().sum()
}

/// Stores lanes to the concatenated vectors of the rods of a group.
#[inline(always)]
fn scatter(values: &[Lanes], unknowns: usize, vectors: &mut [f64]) {
    for (unknown, value) in values.iter().take(unknowns).enumerate() {
        for (lane, vector) in vectors.chunks_exact_mut(unknowns).enumerate() {
            vector[unknown] = value.0[lane];
        }
    }
}

/// Energy.
pub(super) struct ValueKernel<'a> {
    pub(super) batch: &'a RodBatch,
    pub(super) pose: &'a RodPose<'a>,
    pub(super) group: usize,
}

impl Kernel for ValueKernel<'_> {
    type Output = f64;

    #[inline(always)]
    fn run(self) -> f64 {
        let mut value = Value {
            sum: Lanes::splat(0.0),
        };
        Group::<Lanes>::load(self.batch, self.pose, self.group).walk(&mut value);
        sum(value.sum)
    }
}

/// Energy and gradient.
pub(super) struct GradientKernel<'a> {
    pub(super) batch: &'a RodBatch,
    pub(super) pose: &'a RodPose<'a>,
    pub(super) group: usize,
    pub(super) gradient: &'a mut [f64],
}

impl Kernel for GradientKernel<'_> {
    type Output = f64;

    #[inline(always)]
    fn run(self) -> f64 {
        let shape = self.batch.shape;
        let mut gradient = Gradient::new(shape.vertices);
        Group::<Lanes>::load(self.batch, self.pose, self.group).walk(&mut gradient);
        scatter(&gradient.gradient, shape.unknowns(), self.gradient);
        sum(gradient.value.sum)
    }
}

/// Energy, gradient and matrix for solves.
pub(super) struct LinearizeKernel<'a> {
    pub(super) batch: &'a RodBatch,
    pub(super) pose: &'a RodPose<'a>,
    pub(super) group: usize,
    pub(super) scales: [f64; 3],
    pub(super) layout: &'a BandedLayout,
    pub(super) matrix: &'a mut [Lanes],
    pub(super) gradient: &'a mut [f64],
}

impl Kernel for LinearizeKernel<'_> {
    type Output = f64;

    #[inline(always)]
    fn run(self) -> f64 {
        let shape = self.batch.shape;
        let mut linearize = Linearize {
            gradient: Gradient::new(shape.vertices),
            matrix: self.matrix,
            layout: self.layout,
            scales: self.scales.map(Lanes::splat),
        };
        Group::<Lanes>::load(self.batch, self.pose, self.group).walk(&mut linearize);
        let gradient = &linearize.gradient;
        scatter(&gradient.gradient, shape.unknowns(), self.gradient);
        sum(gradient.value.sum)
    }
}

/// vᵀ K v.
pub(super) struct FormsKernel<'a> {
    pub(super) batch: &'a RodBatch,
    pub(super) pose: &'a RodPose<'a>,
    pub(super) group: usize,
    pub(super) direction: &'a [f64],
}

impl Kernel for FormsKernel<'_> {
    type Output = [f64; 3];

    #[inline(always)]
    fn run(self) -> [f64; 3] {
        let shape = self.batch.shape;
        let rods = rods_of(self.group, shape.count);
        let mut forms = Forms {
            direction: Gather::new(rods, shape.unknowns(), self.direction),
            unknowns: 4 * shape.vertices,
            sums: [Lanes::splat(0.0); 3],
        };
        Group::<Lanes>::load(self.batch, self.pose, self.group).walk(&mut forms);
        forms.sums.map(sum)
    }
}

/// Directors and twists at the start of the next step.
pub(super) struct FramesKernel<'a> {
    pub(super) batch: &'a RodBatch,
    pub(super) pose: &'a RodPose<'a>,
    pub(super) group: usize,
    pub(super) directors: &'a mut [DVec3],
    pub(super) twists: &'a mut [f64],
}

impl Kernel for FramesKernel<'_> {
    type Output = ();

    #[inline(always)]
    fn run(mut self) {
        let group = Group::<Lanes>::load(self.batch, self.pose, self.group);
        let edges = group.edges;
        let mut before = orthonormalized(&group, if group.is_closed() { edges - 1 } else { 0 });
        for place in 0..edges {
            let after = orthonormalized(&group, place);
            self.store_director(place, edges, &after);
            if place > 0 || group.is_closed() {
                let predicted = twist(&before, &after, group.slots[place].twist).value.0;
                let angle = angle(&before, &after).0;
                for (lane, twists) in self.twists.chunks_exact_mut(edges).enumerate() {
                    let turns = ((predicted[lane] - angle[lane]) / TAU).round();
                    twists[place] = angle[lane] + TAU * turns;
                }
            }
            before = after;
        }
    }
}

impl FramesKernel<'_> {
    #[inline(always)]
    fn store_director(&mut self, place: usize, edges: usize, edge: &Edge<Lanes>) {
        let [x, y, z] = edge.directors[0].0;
        for (lane, directors) in self.directors.chunks_exact_mut(edges).enumerate() {
            directors[place] = DVec3::new(x.0[lane], y.0[lane], z.0[lane]);
        }
    }
}

/// An edge with orthonormalized material directors.
#[inline(always)]
fn orthonormalized(group: &Group<Lanes>, edge: usize) -> Edge<Lanes> {
    let mut edge = group.edge(edge);
    let director = edge.directors[0];
    let across = director - edge.tangent * edge.tangent.dot(director);
    let square = across.dot(across);
    let first =
        across * (Lanes::splat(1.0) / square.at_least(Lanes::splat(f64::MIN_POSITIVE)).sqrt());
    // For a collapsed edge or a degenerate director, use any direction orthogonal to the tangent.
    let [x, y, z] = edge.tangent.0;
    let (one, zero) = (Lanes::splat(1.0), Lanes::splat(0.0));
    let steepness = z.abs();
    let bound = Lanes::splat(0.7);
    let other = Vector([
        steepness.where_greater(bound, zero, -y),
        steepness.where_greater(bound, -z, x),
        steepness.where_greater(bound, y, zero),
    ]);
    let length = other.dot(other);
    let tiny = Lanes::splat(1e-12);
    let fallback = Vector([
        length.where_greater(tiny, other.0[0], one),
        length.where_greater(tiny, other.0[1], zero),
        length.where_greater(tiny, other.0[2], zero),
    ]);
    let fallback = fallback * (one / fallback.dot(fallback).sqrt());
    let chosen = |axis: usize| square.where_greater(tiny, first.0[axis], fallback.0[axis]);
    let first = Vector([chosen(0), chosen(1), chosen(2)]);
    edge.directors = [first, edge.tangent.cross(first)];
    edge
}

/// Exact second derivative of the energy of a group times a direction.
pub(super) fn hessian_product(
    batch: &RodBatch,
    pose: &RodPose<'_>,
    group: usize,
    direction: &[f64],
    product: &mut [f64],
) {
    let shape = batch.shape;
    let rods = rods_of(group, shape.count);
    let direction = Gather::new(rods, shape.unknowns(), direction);
    let plain = Group::<Lanes>::load(batch, pose, group);
    let constant = |value: Lanes| Dual {
        value,
        slope: Lanes::default(),
    };
    let constants = |vector: Vector<Lanes>| Vector(vector.0.map(constant));
    let slots = plain.slots.iter().enumerate().map(|(vertex, slot)| {
        let varied = |place: usize, value: Lanes| Dual {
            value,
            slope: if 4 * vertex + place < shape.unknowns() {
                direction.get(4 * vertex + place)
            } else {
                Lanes::default()
            },
        };
        Slot {
            start: constants(slot.start),
            now: Vector([0, 1, 2].map(|axis| varied(axis, slot.now.0[axis]))),
            director: constants(slot.director),
            twist: constant(slot.twist),
            theta: varied(3, slot.theta),
            rest_length: constant(slot.rest_length),
            share: constant(slot.share),
            rest: slot.rest.map(constant),
        }
    });
    let group = Group {
        slots: slots.collect(),
        edges: plain.edges,
        stiffness: plain.stiffness.map(constant),
    };
    let mut gradient = Gradient::new(shape.vertices);
    group.walk(&mut gradient);
    let slopes: Vec<Lanes> = gradient.gradient.iter().map(|value| value.slope).collect();
    scatter(&slopes, shape.unknowns(), product);
}
