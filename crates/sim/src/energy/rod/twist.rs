//! Twist at a vertex: GJ/(2 l̄) (m − m̄)² (Bergou et al. 2010, section 4).
//!
//! m is the angle from the material frame of the edge before the vertex, transported across the
//! vertex, to that of the edge after it. It is the sum of the twist at the start of the step, the
//! change of θ, and the change of the angle between the reference frames. So it includes full
//! turns: only the last term, small in a step, is known modulo 2π.

use super::frame::{Edge, MIN_CLOSENESS, Strain, Vector, transport};
use reefknot_contact::lanes::Scalar;

/// m, given its value at the start of the step.
#[inline(always)]
pub(super) fn twist<N: Scalar>(before: &Edge<N>, after: &Edge<N>, start: N) -> Strain<N> {
    let (old_sine, old_cosine) = relative(
        [before.start_tangent, after.start_tangent],
        before.start_directors[0],
        after.start_directors,
    );
    let (sine, cosine) = relative(
        [before.tangent, after.tangent],
        before.reference[0],
        after.reference,
    );
    let change = N::angle(
        sine * old_cosine - cosine * old_sine,
        cosine * old_cosine + sine * old_sine,
    );
    let one = N::splat(1.0);
    let closeness = (one + before.tangent.dot(after.tangent)).at_least(N::splat(MIN_CLOSENESS));
    let normal = before.tangent.cross(after.tangent) * (one / closeness);
    Strain::new(
        start + (after.theta - before.theta) + change,
        [
            normal * before.inverse_length,
            normal * after.inverse_length,
        ],
        [-one, one],
        [before, after],
    )
}

/// Angle between the material frames: m up to full turns.
#[inline(always)]
pub(super) fn angle<N: Scalar>(before: &Edge<N>, after: &Edge<N>) -> N {
    let tangents = [before.tangent, after.tangent];
    let (sine, cosine) = relative(tangents, before.directors[0], after.directors);
    N::angle(sine, cosine)
}

/// Sine and cosine of the angle from the transported `director` of one edge to the first of the
/// `directors` of the next.
#[inline(always)]
fn relative<N: Scalar>(
    tangents: [Vector<N>; 2],
    director: Vector<N>,
    directors: [Vector<N>; 2],
) -> (N, N) {
    let transported = transport(director, tangents[0], tangents[1]);
    (
        -transported.dot(directors[1]),
        transported.dot(directors[0]),
    )
}
