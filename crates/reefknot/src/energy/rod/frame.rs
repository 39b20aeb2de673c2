//! Vectors of lanes, and the frame of an edge: where parallel transport and the unknown angle have taken it.
//!
//! Bergou, Wardetzky, Robinson, Audoly and Grinspun, Discrete Elastic Rods (2008), and Bergou, Audoly, Vouga, Wardetzky
//! and Grinspun, Discrete Viscous Threads (2010). The transport starts from the beginning of the step and not from the
//! last iterate, so energies are functions of the positions alone. The price is one term that those papers do not have:
//! when the tangent t moves, the frame transported straight from the old tangent t⁰ turns against the one that is
//! transported along with t, by the area −(t⁰ × t)·δt/(1 + t⁰·t) of a thin spherical triangle.

use std::ops::{Add, Mul, Neg, Sub};

use reefknot_contact::lanes::Number;

/// A length below this part of the rest length counts as this part: a collapsed edge has a tangent shorter than one.
pub(super) const SHORTEST: f64 = 1e-6;

/// Bound of 1 + t·t′ from below: edges that fold back more sharply than by 0.1 degrees count as that sharp.
pub(super) const FOLDED: f64 = 1.5e-6;

/// A vector in space.
#[derive(Clone, Copy, Debug)]
pub(super) struct Vector<N>(pub(super) [N; 3]);

impl<N: Number> Vector<N> {
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

impl<N: Number> Add for Vector<N> {
    type Output = Self;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        let ([a, b, c], [x, y, z]) = (self.0, other.0);
        Self([a + x, b + y, c + z])
    }
}

impl<N: Number> Sub for Vector<N> {
    type Output = Self;

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        let ([a, b, c], [x, y, z]) = (self.0, other.0);
        Self([a - x, b - y, c - z])
    }
}

impl<N: Number> Mul<N> for Vector<N> {
    type Output = Self;

    #[inline(always)]
    fn mul(self, factor: N) -> Self {
        let [a, b, c] = self.0;
        Self([a * factor, b * factor, c * factor])
    }
}

impl<N: Number> Neg for Vector<N> {
    type Output = Self;

    #[inline(always)]
    fn neg(self) -> Self {
        let [a, b, c] = self.0;
        Self([-a, -b, -c])
    }
}

/// What turns `from` to `to` by the shortest way, applied to a vector orthogonal to `from`.
#[inline(always)]
pub(super) fn transport<N: Number>(vector: Vector<N>, from: Vector<N>, to: Vector<N>) -> Vector<N> {
    let closeness = (N::splat(1.0) + from.dot(to)).at_least(N::splat(FOLDED));
    vector - (from + to) * (to.dot(vector) / closeness)
}

/// What an edge is given by.
#[derive(Clone, Copy)]
pub(super) struct EdgeInput<N> {
    /// Its ends at the start of the step.
    pub(super) start: [Vector<N>; 2],
    /// Its first material director there.
    pub(super) director: Vector<N>,
    /// Its ends now.
    pub(super) now: [Vector<N>; 2],
    /// How far the material has turned about it since, relative to the transported frame.
    pub(super) theta: N,
    /// Its rest length (m).
    pub(super) rest_length: N,
}

/// An edge now, and what is needed of its start.
#[derive(Clone, Copy)]
pub(super) struct Edge<N> {
    pub(super) length: N,
    pub(super) inverse_length: N,
    pub(super) rest_length: N,
    pub(super) tangent: Vector<N>,
    /// The start's directors, transported to the tangent of now.
    pub(super) reference: [Vector<N>; 2],
    /// The material directors.
    pub(super) directors: [Vector<N>; 2],
    /// How fast the reference turns about the tangent as the edge vector changes, against the frame that is transported
    /// along with it.
    pub(super) drift: Vector<N>,
    pub(super) theta: N,
    pub(super) start_tangent: Vector<N>,
    pub(super) start_directors: [Vector<N>; 2],
}

/// The direction, length and inverse length of an edge, finite even if it has collapsed.
#[inline(always)]
fn direction<N: Number>(ends: [Vector<N>; 2], rest_length: N) -> (Vector<N>, N, N) {
    let edge = ends[1] - ends[0];
    // A square that underflows must not give the root an infinite slope.
    let square = edge.dot(edge).at_least(N::splat(f64::MIN_POSITIVE));
    let length = square.sqrt();
    let inverse = N::splat(1.0) / length.at_least(rest_length * N::splat(SHORTEST));
    (edge * inverse, length, inverse)
}

impl<N: Number> Edge<N> {
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
        let closeness = (N::splat(1.0) + start_tangent.dot(tangent)).at_least(N::splat(FOLDED));
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

/// A strain of a vertex and its derivative by the edge vectors and the angles θ of the edges before and after it.
#[derive(Clone, Copy)]
pub(super) struct Strain<N> {
    pub(super) value: N,
    pub(super) by_edge: [Vector<N>; 2],
    pub(super) by_theta: [N; 2],
}

impl<N: Number> Strain<N> {
    /// From a derivative by edge vectors along which frames are transported: what the drift of the reference does to θ
    /// is added.
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

    /// The derivative by the unknowns of the three vertices and two edges in their order x, θ, x, θ, x.
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
