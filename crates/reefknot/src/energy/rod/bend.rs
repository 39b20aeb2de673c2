//! Bending at a vertex (Bergou et al. 2010, section 4; Kaufman et al. 2014, section 3).
//!
//! The curvature binormal of the edges before and after the vertex is κb = 2 t × t′/(1 + t·t′), of length 2 tan(φ/2) for
//! a turn by φ. Its components in the mean material frame are the strains
//! κ₁ = κb·(m₂ + m₂′)/2,  κ₂ = −κb·(m₁ + m₁′)/2,
//! and the energy is 1/(2 l̄) [B₁ (κ₁ − κ̄₁)² + B₂ (κ₂ − κ̄₂)²]. A rod that curves towards m₁ has κ₁ > 0 and one that
//! curves towards m₂ has κ₂ > 0: B₁ is the stiffness in the plane of the tangent and the first axis of the section,
//! E ∫ x₁² dA, as `RodMaterial::bending` has it.

use super::frame::{Edge, FOLDED, Strain, Vector};
use reefknot_contact::lanes::Number;

/// κ₁ and κ₂.
#[inline(always)]
pub(super) fn curvatures<N: Number>(before: &Edge<N>, after: &Edge<N>) -> [Strain<N>; 2] {
    let [m, n] = [before.directors, after.directors];
    let zero = N::splat(0.0);
    let cosine = before.tangent.dot(after.tangent);
    let closeness = N::splat(1.0) + cosine;
    let bound = N::splat(FOLDED);
    let inverse = N::splat(1.0) / closeness.at_least(bound);
    // Where the bound acts, 1 + t·t′ does not change.
    let change = closeness.where_greater(bound, inverse, zero);
    let turn = Turn {
        edges: [before, after],
        normal: before.tangent.cross(after.tangent) * inverse,
        inverse,
        toward: [
            (after.tangent - before.tangent * cosine) * change,
            (before.tangent - after.tangent * cosine) * change,
        ],
    };
    [
        turn.component(m[1] + n[1], [-m[0], -n[0]]),
        turn.component(-(m[0] + n[0]), [-m[1], -n[1]]),
    ]
}

/// The geometry of a vertex, without frames.
struct Turn<'a, N> {
    edges: [&'a Edge<N>; 2],
    /// Half of the curvature binormal.
    normal: Vector<N>,
    /// 1/(1 + t·t′).
    inverse: N,
    /// What the change of each tangent is projected on to change 1 + t·t′, over itself.
    toward: [Vector<N>; 2],
}

impl<N: Number> Turn<'_, N> {
    /// κb·a/2 for the sum `axis` = a of one director of each edge, which turn with θ by `turned`.
    ///
    /// With κ = (t × t′)·a/(1 + t·t′), a change of t that is orthogonal to it gives
    /// δκ = (t′ × a − κ t′)·δt/(1 + t·t′); the transported directors change along t only, which κ does not see.
    #[inline(always)]
    fn component(&self, axis: Vector<N>, turned: [Vector<N>; 2]) -> Strain<N> {
        let [before, after] = self.edges;
        let value = self.normal.dot(axis);
        let by_tangent =
            after.tangent.cross(axis) * self.inverse - (before.tangent + self.toward[0]) * value;
        let by_next =
            axis.cross(before.tangent) * self.inverse - (after.tangent + self.toward[1]) * value;
        Strain::new(
            value,
            [
                by_tangent * before.inverse_length,
                by_next * after.inverse_length,
            ],
            [self.normal.dot(turned[0]), self.normal.dot(turned[1])],
            self.edges,
        )
    }
}
