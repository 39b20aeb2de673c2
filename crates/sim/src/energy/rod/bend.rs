//! Bending at a vertex (Bergou et al. 2010, section 4; Kaufman et al. 2014, section 3).
//!
//! The curvature binormal of the edges before and after the vertex is κb = 2 t × t′/(1 + t·t′), of
//! length 2 tan(φ/2) for a turning angle φ. The strains are its components in the mean material
//! frame, κ₁ = κb·(m₂ + m₂′)/2 and κ₂ = −κb·(m₁ + m₁′)/2, and the energy is
//! 1/(2 l̄) [B₁ (κ₁ − κ̄₁)² + B₂ (κ₂ − κ̄₂)²]. A rod that curves towards m₁ has κ₁ > 0, one that
//! curves towards m₂ has κ₂ > 0. B₁ is the stiffness in the plane of the tangent and the first axis
//! of the section, E ∫ x₁² dA, as in `RodMaterial::bending`.

use super::frame::{Edge, MIN_CLOSENESS, Strain, Vector};
use reefknot_contact::lanes::Scalar;

/// κ₁ and κ₂.
#[inline(always)]
pub(super) fn curvatures<N: Scalar>(before: &Edge<N>, after: &Edge<N>) -> [Strain<N>; 2] {
    let [m, n] = [before.directors, after.directors];
    let zero = N::splat(0.0);
    let cosine = before.tangent.dot(after.tangent);
    let closeness = N::splat(1.0) + cosine;
    let bound = N::splat(MIN_CLOSENESS);
    let inverse = N::splat(1.0) / closeness.at_least(bound);
    // Where the bound is active, 1 + t·t′ is constant.
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

/// Geometry of a vertex, without material frames.
struct Turn<'a, N> {
    edges: [&'a Edge<N>; 2],
    /// Half of the curvature binormal.
    normal: Vector<N>,
    /// 1/(1 + t·t′).
    inverse: N,
    /// Derivative of ln(1 + t·t′) by each tangent.
    toward: [Vector<N>; 2],
}

impl<N: Scalar> Turn<'_, N> {
    /// κb·a/2 for the sum `axis` = a of one director of each edge; `turned` are the derivatives of
    /// these directors by θ.
    ///
    /// With κ = (t × t′)·a/(1 + t·t′) and δt orthogonal to t: δκ = (t′ × a − κ t′)·δt/(1 + t·t′).
    /// Transported directors change along t only, which does not change κ.
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
