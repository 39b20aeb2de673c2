//! What [`RodBatch`] does with one group of four rods.

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
use reefknot_contact::lanes::{Kernel, Lanes, Number};

#[inline(always)]
fn sum(value: Lanes) -> f64 {
    value.0.iter().sum()
}

/// To the vectors of the rods of a group, one after the other.
#[inline(always)]
fn scatter(values: &[Lanes], unknowns: usize, vectors: &mut [f64]) {
    for (unknown, value) in values.iter().take(unknowns).enumerate() {
        for (lane, vector) in vectors.chunks_exact_mut(unknowns).enumerate() {
            vector[unknown] = value.0[lane];
        }
    }
}

/// The energy.
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

/// The energy and its gradient.
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

/// The energy, its gradient and the matrix for solves.
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

/// Directors and twists of the next step.
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
        let mut before = advanced(&group, if group.is_closed() { edges - 1 } else { 0 });
        for place in 0..edges {
            let after = advanced(&group, place);
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

/// An edge whose material directors are unit and orthogonal to it.
#[inline(always)]
fn advanced(group: &Group<Lanes>, edge: usize) -> Edge<Lanes> {
    let mut edge = group.edge(edge);
    let director = edge.directors[0];
    let across = director - edge.tangent * edge.tangent.dot(director);
    let square = across.dot(across);
    let first =
        across * (Lanes::splat(1.0) / square.at_least(Lanes::splat(f64::MIN_POSITIVE)).sqrt());
    // What a collapsed edge or an unsound director leaves over may be too short: any direction across will do.
    let [x, y, z] = edge.tangent.0;
    let (one, zero) = (Lanes::splat(1.0), Lanes::splat(0.0));
    let is_steep = z.abs();
    let bound = Lanes::splat(0.7);
    let other = Vector([
        is_steep.where_greater(bound, zero, -y),
        is_steep.where_greater(bound, -z, x),
        is_steep.where_greater(bound, y, zero),
    ]);
    let length = other.dot(other);
    let tiny = Lanes::splat(1e-12);
    let fallback = Vector([
        length.where_greater(tiny, other.0[0], one),
        length.where_greater(tiny, other.0[1], zero),
        length.where_greater(tiny, other.0[2], zero),
    ]);
    let fallback = fallback * (one / fallback.dot(fallback).sqrt());
    let is_sound = |axis: usize| square.where_greater(tiny, first.0[axis], fallback.0[axis]);
    let first = Vector([is_sound(0), is_sound(1), is_sound(2)]);
    edge.directors = [first, edge.tangent.cross(first)];
    edge
}

/// The exact second derivative of the energy of a group times a direction.
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
            slope: match 4 * vertex + place < shape.unknowns() {
                true => direction.get(4 * vertex + place),
                false => Lanes::default(),
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
