//! A group of four rods of a batch in SIMD lanes, and the traversal of its elements.

use super::bend::curvatures;
use super::frame::{Edge, EdgeInput, Strain, Vector};
use super::stretch::stretch;
use super::twist::twist;
use super::visit::Visitor;
use super::{RodBatch, RodPose};
use glam::DVec3;
use reefknot_contact::lanes::{LANES, Lanes, Scalar};

/// A vertex and the edge after it.
#[derive(Clone, Copy)]
pub(super) struct Slot<N> {
    pub(super) start: Vector<N>,
    pub(super) now: Vector<N>,
    pub(super) director: Vector<N>,
    /// Twist of the vertex at the start of the step.
    pub(super) twist: N,
    pub(super) theta: N,
    pub(super) rest_length: N,
    /// Contribution of the edge to the Voronoi length l̄ of its ends: half of its rest length; zero
    /// if it is rigid.
    pub(super) share: N,
    /// Rest curvatures per length in the material frame, and rest twist per length.
    pub(super) rest: [N; 3],
}

/// Up to four rods. Unused lanes of the last group repeat a rod with stiffness zero.
pub(super) struct Group<N> {
    pub(super) slots: Vec<Slot<N>>,
    pub(super) edges: usize,
    /// EA, B₁, B₂ and GJ.
    pub(super) stiffness: [N; 4],
}

/// Flat vectors of the rods of a group.
pub(super) struct Gather<'a> {
    /// Index of the first value of each rod.
    firsts: [usize; LANES],
    values: &'a [f64],
}

/// The rod of each lane.
pub(super) fn rods_of(group: usize, count: usize) -> [usize; LANES] {
    [0, 1, 2, 3].map(|lane| (group * LANES + lane).min(count - 1))
}

impl<'a> Gather<'a> {
    /// Vectors with `length` values per rod.
    pub(super) fn new(rods: [usize; LANES], length: usize, values: &'a [f64]) -> Self {
        Self {
            firsts: rods.map(|rod| rod * length),
            values,
        }
    }

    #[inline(always)]
    pub(super) fn get(&self, place: usize) -> Lanes {
        gather(self.values, offset(self.firsts, place))
    }
}

/// Values of an array for the four rods. Written out because `map` stores them to memory.
#[inline(always)]
fn gather(values: &[f64], places: [usize; LANES]) -> Lanes {
    let [a, b, c, d] = places;
    Lanes([values[a], values[b], values[c], values[d]])
}

#[inline(always)]
fn gather_vectors(values: &[DVec3], places: [usize; LANES]) -> Vector<Lanes> {
    let [a, b, c, d] = places;
    let (a, b, c, d) = (&values[a], &values[b], &values[c], &values[d]);
    Vector([
        Lanes([a.x, b.x, c.x, d.x]),
        Lanes([a.y, b.y, c.y, d.y]),
        Lanes([a.z, b.z, c.z, d.z]),
    ])
}

/// Fraction of its rest length that each edge adds to the Voronoi lengths of its ends.
#[inline(always)]
fn gather_shares(is_rigid: Option<&[bool]>, places: [usize; LANES]) -> Lanes {
    let Some(is_rigid) = is_rigid else {
        return Lanes::splat(0.5);
    };
    let [a, b, c, d] = places;
    let share = |place: usize| if is_rigid[place] { 0.0 } else { 0.5 };
    Lanes([share(a), share(b), share(c), share(d)])
}

#[inline(always)]
fn offset(firsts: [usize; LANES], place: usize) -> [usize; LANES] {
    let [a, b, c, d] = firsts;
    [a + place, b + place, c + place, d + place]
}

impl Group<Lanes> {
    #[inline(always)]
    pub(super) fn load(batch: &RodBatch, pose: &RodPose<'_>, group: usize) -> Self {
        let (vertices, edges) = (batch.shape.vertices, batch.shape.edges());
        let rods = rods_of(group, batch.shape.count);
        let (first_vertices, first_edges) = (rods.map(|r| r * vertices), rods.map(|r| r * edges));
        let mut slots = Vec::with_capacity(vertices);
        for vertex in 0..vertices {
            let rest = &batch.rest[group * vertices + vertex];
            // The last vertex of an open rod has no edge; its values are not used.
            let edge = vertex.min(edges - 1);
            let of_vertices = offset(first_vertices, vertex);
            let of_edges = offset(first_edges, edge);
            let rest_length = rest[0];
            slots.push(Slot {
                start: gather_vectors(pose.start.positions, of_vertices),
                now: gather_vectors(pose.positions, of_vertices),
                director: gather_vectors(pose.start.directors, of_edges),
                twist: gather(pose.start.twists, of_edges),
                theta: gather(pose.theta, of_edges),
                rest_length,
                share: rest_length * gather_shares(pose.start.is_rigid, of_edges),
                rest: [rest[1], rest[2], rest[3]],
            });
        }
        let is_real = [0, 1, 2, 3].map(|lane| f64::from(group * LANES + lane < batch.shape.count));
        let is_real = Lanes(is_real);
        Self {
            slots,
            edges,
            stiffness: batch.stiffness.map(|value| Lanes::splat(value) * is_real),
        }
    }
}

impl<N: Scalar> Group<N> {
    #[inline(always)]
    pub(super) fn edge(&self, edge: usize) -> Edge<N> {
        let slot = &self.slots[edge];
        let next = if edge + 1 == self.slots.len() {
            &self.slots[0]
        } else {
            &self.slots[edge + 1]
        };
        Edge::new(&EdgeInput {
            start: [slot.start, next.start],
            director: slot.director,
            now: [slot.now, next.now],
            theta: slot.theta,
            rest_length: slot.rest_length,
        })
    }

    /// Whether the last edge ends at the first vertex.
    #[inline(always)]
    pub(super) fn is_closed(&self) -> bool {
        self.edges == self.slots.len()
    }

    /// Passes all elements along the rod to a visitor. The compiler removes values that the visitor
    /// does not read.
    #[inline(always)]
    pub(super) fn walk(&self, visitor: &mut impl Visitor<N>) {
        let [axial, _, _, _] = self.stiffness;
        let is_closed = self.is_closed();
        let mut before = self.edge(if is_closed { self.edges - 1 } else { 0 });
        if !is_closed {
            visitor.edge(0, &stretch(&before, axial));
        }
        for vertex in usize::from(!is_closed)..self.edges {
            let after = self.edge(vertex);
            visitor.edge(vertex, &stretch(&after, axial));
            let (strains, stiffness) = self.strains(vertex, &before, &after);
            visitor.vertex(vertex, &strains, stiffness);
            before = after;
        }
    }

    /// κ₁ − κ̄₁, κ₂ − κ̄₂ and m − m̄ at a vertex, and their stiffnesses (J).
    #[inline(always)]
    fn strains(
        &self,
        vertex: usize,
        before: &Edge<N>,
        after: &Edge<N>,
    ) -> ([Strain<N>; 3], [N; 3]) {
        let slot = &self.slots[vertex];
        let previous = match vertex {
            0 => self.edges - 1,
            _ => vertex - 1,
        };
        let length = self.slots[previous].share + slot.share;
        let zero = N::splat(0.0);
        let inverse = length.where_greater(zero, N::splat(1.0) / length, zero);
        let [first, second] = curvatures(before, after);
        let mut strains = [first, second, twist(before, after, slot.twist)];
        for (strain, rest) in strains.iter_mut().zip(slot.rest) {
            strain.value = strain.value - rest * length;
        }
        let [_, b1, b2, twist_stiffness] = self.stiffness;
        (
            strains,
            [b1 * inverse, b2 * inverse, twist_stiffness * inverse],
        )
    }
}
