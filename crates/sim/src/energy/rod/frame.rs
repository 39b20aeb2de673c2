//! Vectors of lanes, and the material frame of an edge: the frame at the start of the step after
//! parallel transport and rotation by θ.
//!
//! Bergou, Wardetzky, Robinson, Audoly and Grinspun, Discrete Elastic Rods (2008), and Bergou,
//! Audoly, Vouga, Wardetzky and Grinspun, Discrete Viscous Threads (2010). The transport starts
//! from the beginning of the step, not from the last iterate: energies are functions of the
//! positions and angles alone. This adds a term that those papers do not have: when the tangent t
//! changes by δt, the frame transported directly from the old tangent t⁰ rotates against the frame
//! transported along with t by −(t⁰ × t)·δt/(1 + t⁰·t), the area of a thin spherical triangle.

use std::ops::{Add, Mul, Neg, Sub};

use reefknot_contact::lanes::Scalar;

/// Lower bound of a length in the computation of its tangent, as a fraction of the rest length. The
/// tangent of a collapsed edge is shorter than 1.
pub(super) const MIN_RELATIVE_LENGTH: f64 = 1e-6;

/// Lower bound of 1 + t·t′. It is reached where edges fold back to within 0.1 degrees.
pub(super) const MIN_CLOSENESS: f64 = 1.5e-6;

/// A vector in space.
#[derive(Clone, Copy, Debug)]
pub(super) struct Vector<N>(pub(super) [N; 3]);

impl<N: Scalar> Vector<N> {
    #[inline(always)]
    pub(super) fn dot(self, other: Self) -> N {
        let ([a, b, c], [x, y, z]) = (self.0, other.0);
        a * x + b * y + c * z
    }

    #[inline(always)]
    pub(super) fn cross(self, other: Self) -> Self {
        let ([a, b, c], [x, y, z]) = (self.0, other.0);
        Self([b * z - c * y, c * x - a * z, a * y - b * x])
    }
}

impl<N: Scalar> Add for Vector<N> {
    type Output = Self;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        let ([a, b, c], [x, y, z]) = (self.0, other.0);
        Self([a + x, b + y, c + z])
    }
}

impl<N: Scalar> Sub for Vector<N> {
    type Output = Self;

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        let ([a, b, c], [x, y, z]) = (self.0, other.0);
        Self([a - x, b - y, c - z])
    }
}

impl<N: Scalar> Mul<N> for Vector<N> {
    type Output = Self;

    #[inline(always)]
    fn mul(self, factor: N) -> Self {
        let [a, b, c] = self.0;
        Self([a * factor, b * factor, c * factor])
    }
}

impl<N: Scalar> Neg for Vector<N> {
    type Output = Self;

    #[inline(always)]
    fn neg(self) -> Self {
        let [a, b, c] = self.0;
        Self([-a, -b, -c])
    }
}

/// Parallel transport of a vector orthogonal to `from` by the smallest rotation from `from` to
/// `to`.
#[inline(always)]
pub(super) fn transport<N: Scalar>(vector: Vector<N>, from: Vector<N>, to: Vector<N>) -> Vector<N> {
    let closeness = (N::splat(1.0) + from.dot(to)).at_least(N::splat(MIN_CLOSENESS));
    vector - (from + to) * (to.dot(vector) / closeness)
}

/// Input of an edge.
#[derive(Clone, Copy)]
pub(super) struct EdgeInput<N> {
    /// Its ends at the start of the step.
    pub(super) start: [Vector<N>; 2],
    /// Its first material director at the start of the step.
    pub(super) director: Vector<N>,
    /// Its current ends.
    pub(super) now: [Vector<N>; 2],
    /// Angle of the material frame against the transported frame.
    pub(super) theta: N,
    /// Its rest length (m).
    pub(super) rest_length: N,
}

/// Geometry of an edge.
#[derive(Clone, Copy)]
pub(super) struct Edge<N> {
    pub(super) length: N,
    pub(super) inverse_length: N,
    pub(super) rest_length: N,
    pub(super) tangent: Vector<N>,
    /// Directors at the start, transported to the current tangent.
    pub(super) reference: [Vector<N>; 2],
    /// Material directors.
    pub(super) directors: [Vector<N>; 2],
    /// Derivative, by the edge vector, of the angle of the reference frame against the frame that
    /// is transported along with the edge.
    pub(super) drift: Vector<N>,
    pub(super) theta: N,
    pub(super) start_tangent: Vector<N>,
    pub(super) start_directors: [Vector<N>; 2],
}

/// Tangent, length and inverse length of an edge, finite also for a collapsed edge.
#[inline(always)]
fn direction<N: Scalar>(ends: [Vector<N>; 2], rest_length: N) -> (Vector<N>, N, N) {
    let edge = ends[1] - ends[0];
    // Avoids an infinite derivative of the square root at zero.
    let square = edge.dot(edge).at_least(N::splat(f64::MIN_POSITIVE));
    let length = square.sqrt();
    let inverse = N::splat(1.0) / length.at_least(rest_length * N::splat(MIN_RELATIVE_LENGTH));
    (edge * inverse, length, inverse)
}

impl<N: Scalar> Edge<N> {
    #[inline(always)]
    pub(super) fn new(input: &EdgeInput<N>) -> Self {
        let (start_tangent, ..) = direction(input.start, input.rest_length);
        let (tangent, length, inverse_length) = direction(input.now, input.rest_length);
        let start_directors = [input.director, start_tangent.cross(input.director)];
        let first = transport(input.director, start_tangent, tangent);
        let second = tangent.cross(first);
        let (sine, cosine) = input.theta.sin_cos();
        let directors = [
            first * cosine + second * sine,
            second * cosine - first * sine,
        ];
        let closeness =
            (N::splat(1.0) + start_tangent.dot(tangent)).at_least(N::splat(MIN_CLOSENESS));
        Self {
            length,
            inverse_length,
            rest_length: input.rest_length,
            tangent,
            reference: [first, second],
            directors,
            drift: -start_tangent.cross(tangent) * (inverse_length / closeness),
            theta: input.theta,
            start_tangent,
            start_directors,
        }
    }
}

/// A strain of a vertex, with its derivatives by edge vectors and angles θ of the edges before and
/// after it.
#[derive(Clone, Copy)]
pub(super) struct Strain<N> {
    pub(super) value: N,
    pub(super) by_edge: [Vector<N>; 2],
    pub(super) by_theta: [N; 2],
}

impl<N: Scalar> Strain<N> {
    /// A strain from its derivative with frames transported along with the edges. The drift of the
    /// reference frames is added.
    #[inline(always)]
    pub(super) fn new(
        value: N,
        by_edge: [Vector<N>; 2],
        by_theta: [N; 2],
        edges: [&Edge<N>; 2],
    ) -> Self {
        Self {
            value,
            by_edge: [
                by_edge[0] + edges[0].drift * by_theta[0],
                by_edge[1] + edges[1].drift * by_theta[1],
            ],
            by_theta,
        }
    }

    /// Derivative by the unknowns of three vertices and two edges, in the order x, θ, x, θ, x.
    #[inline(always)]
    pub(super) fn slope(&self) -> [N; 11] {
        let [before, after] = self.by_edge;
        let (first, middle) = ((-before).0, (before - after).0);
        let last = after.0;
        [
            first[0],
            first[1],
            first[2],
            self.by_theta[0],
            middle[0],
            middle[1],
            middle[2],
            self.by_theta[1],
            last[0],
            last[1],
            last[2],
        ]
    }
}
