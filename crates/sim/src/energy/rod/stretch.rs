//! Stretch of an edge: EA/2 (l/l̄ − 1)² l̄ (Bergou et al. 2010, section 4).
//!
//! Its second derivative by the edge vector is EA/l̄ along the tangent and EA (l/l̄ − 1)/l across
//! it. The second part is clamped at zero under compression: the matrix is positive semidefinite.

use super::frame::{Edge, Vector};
use reefknot_contact::lanes::Scalar;

/// Energy of an edge, with its derivatives by the edge vector.
#[derive(Clone, Copy)]
pub(super) struct Stretch<N> {
    pub(super) value: N,
    pub(super) gradient: Vector<N>,
    pub(super) tangent: Vector<N>,
    /// Stiffness along the tangent (N/m).
    pub(super) along: N,
    /// Stiffness across the tangent, not negative (N/m).
    pub(super) across: N,
}

/// Stretch of an edge with axial stiffness EA (N).
#[inline(always)]
pub(super) fn stretch<N: Scalar>(edge: &Edge<N>, axial: N) -> Stretch<N> {
    let strain = edge.length / edge.rest_length - N::splat(1.0);
    let force = axial * strain;
    Stretch {
        value: N::splat(0.5) * force * strain * edge.rest_length,
        gradient: edge.tangent * force,
        tangent: edge.tangent,
        along: axial / edge.rest_length,
        across: force.at_least(N::splat(0.0)) * edge.inverse_length,
    }
}

impl<N: Scalar> Stretch<N> {
    /// Projected second derivative: entries 11, 21, 22, 31, 32, 33.
    #[inline(always)]
    pub(super) fn stiffness(&self) -> [N; 6] {
        let [x, y, z] = self.tangent.0;
        let [a, b, c] = (self.tangent * (self.along - self.across)).0;
        [
            a * x + self.across,
            b * x,
            b * y + self.across,
            c * x,
            c * y,
            c * z + self.across,
        ]
    }
}
