//! Visitors of the elements of a rod: energy, gradient, quadratic forms.

use super::frame::{Strain, Vector};
use super::group::Gather;
use super::stretch::Stretch;
use reefknot_contact::lanes::{Lanes, Scalar};

/// A visitor of the elements of a rod.
pub(super) trait Visitor<N> {
    /// Visits an edge. It starts at the vertex with the same index.
    fn edge(&mut self, edge: usize, stretch: &Stretch<N>);

    /// Visits a vertex between two edges, with its strains and their stiffnesses.
    fn vertex(&mut self, vertex: usize, strains: &[Strain<N>; 3], stiffness: [N; 3]);
}

/// Energy Σ k s²/2.
pub(super) struct Value<N> {
    pub(super) sum: N,
}

impl<N: Scalar> Visitor<N> for Value<N> {
    #[inline(always)]
    fn edge(&mut self, _: usize, stretch: &Stretch<N>) {
        self.sum = self.sum + stretch.value;
    }

    #[inline(always)]
    fn vertex(&mut self, _: usize, strains: &[Strain<N>; 3], stiffness: [N; 3]) {
        let mut sum = N::splat(0.0);
        for (strain, stiffness) in strains.iter().zip(stiffness) {
            sum = sum + stiffness * strain.value * strain.value;
        }
        self.sum = self.sum + N::splat(0.5) * sum;
    }
}

/// Energy, and its gradient Σ k s ∇s in the order of the unknowns.
pub(super) struct Gradient<N> {
    pub(super) value: Value<N>,
    /// Four unknowns for each vertex.
    pub(super) gradient: Vec<N>,
}

impl<N: Scalar> Gradient<N> {
    #[inline(always)]
    pub(super) fn new(vertices: usize) -> Self {
        let zero = N::splat(0.0);
        Self {
            value: Value { sum: zero },
            gradient: vec![zero; 4 * vertices],
        }
    }
}

/// Index of an unknown, wrapped around a closed rod.
#[inline(always)]
pub(super) fn wrapped(unknown: usize, unknowns: usize) -> usize {
    if unknown >= unknowns {
        unknown - unknowns
    } else {
        unknown
    }
}

/// First unknown of the element at a vertex: the vertex before it.
#[inline(always)]
pub(super) fn first_unknown(vertex: usize, unknowns: usize) -> usize {
    match vertex {
        0 => unknowns - 4,
        _ => 4 * (vertex - 1),
    }
}

impl<N: Scalar> Visitor<N> for Gradient<N> {
    #[inline(always)]
    fn edge(&mut self, edge: usize, stretch: &Stretch<N>) {
        self.value.edge(edge, stretch);
        let next = wrapped(4 * edge + 4, self.gradient.len());
        for axis in 0..3 {
            let force = stretch.gradient.0[axis];
            self.gradient[4 * edge + axis] = self.gradient[4 * edge + axis] - force;
            self.gradient[next + axis] = self.gradient[next + axis] + force;
        }
    }

    #[inline(always)]
    fn vertex(&mut self, vertex: usize, strains: &[Strain<N>; 3], stiffness: [N; 3]) {
        self.value.vertex(vertex, strains, stiffness);
        let slopes = [strains[0].slope(), strains[1].slope(), strains[2].slope()];
        let forces = [
            stiffness[0] * strains[0].value,
            stiffness[1] * strains[1].value,
            stiffness[2] * strains[2].value,
        ];
        let first = first_unknown(vertex, self.gradient.len());
        for place in 0..11 {
            let force = forces[0] * slopes[0][place]
                + forces[1] * slopes[1][place]
                + forces[2] * slopes[2][place];
            let unknown = wrapped(first + place, self.gradient.len());
            self.gradient[unknown] = self.gradient[unknown] + force;
        }
    }
}

/// vᵀ K v of stretch, bending and twist, for their matrices K as in [`super::assemble`].
pub(super) struct Forms<'a> {
    /// v.
    pub(super) direction: Gather<'a>,
    /// Number of unknowns: four per vertex.
    pub(super) unknowns: usize,
    pub(super) sums: [Lanes; 3],
}

impl Forms<'_> {
    #[inline(always)]
    fn at(&self, unknown: usize) -> Lanes {
        self.direction.get(wrapped(unknown, self.unknowns))
    }
}

impl Visitor<Lanes> for Forms<'_> {
    #[inline(always)]
    fn edge(&mut self, edge: usize, stretch: &Stretch<Lanes>) {
        let (first, next) = (4 * edge, 4 * edge + 4);
        let change = Vector([
            self.at(next) - self.at(first),
            self.at(next + 1) - self.at(first + 1),
            self.at(next + 2) - self.at(first + 2),
        ]);
        let along = change.dot(stretch.tangent);
        self.sums[0] = self.sums[0]
            + along * along * (stretch.along - stretch.across)
            + change.dot(change) * stretch.across;
    }

    #[inline(always)]
    fn vertex(&mut self, vertex: usize, strains: &[Strain<Lanes>; 3], stiffness: [Lanes; 3]) {
        let first = first_unknown(vertex, self.unknowns);
        let mut direction = [Lanes::splat(0.0); 11];
        for place in 0..11 {
            direction[place] = self.at(first + place);
        }
        for (index, strain) in strains.iter().enumerate() {
            let mut change = Lanes::splat(0.0);
            let slope = strain.slope();
            for place in 0..11 {
                change = change + slope[place] * direction[place];
            }
            let kind = if index < 2 { 1 } else { 2 };
            self.sums[kind] = self.sums[kind] + stiffness[index] * change * change;
        }
    }
}
