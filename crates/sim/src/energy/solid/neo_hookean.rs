//! Compressible neo-Hookean elasticity, Ψ = μ/2 (I₂ − 3) + f(J) with f(J) = −μ ln J + λ/2 ln²J.
//!
//! f is infinite at J = 0: a step that inverts an element would fail. Verschoor and Jalba 2019
//! (section 6.2.1) extrapolate the energy below a volume ratio of 0.7, after Stomakhin et al.,
//! Energetically Consistent Invertible Elasticity, 2012. Their extrapolation is a function of the
//! stretches; here f(J) is extrapolated by its Taylor polynomial of second order. J is a polynomial
//! of F, so Ψ is twice continuously differentiable everywhere, also at inversion. The Taylor
//! polynomial is convex and decreases with J (λ ≥ 0): small and inverted elements are pushed
//! towards larger volume. A limitation, since ∂J/∂F = 0 at F = 0: an element compressed to a point
//! has no force, and one compressed below about 6% in all three directions (ν = 0.3) does not
//! recover by itself.

use super::law::{Density, Invariants, Lame};

/// Volume ratio below which f is extrapolated. A bar with free sides, compressed to half its
/// length, is above it.
pub(super) const EXTRAPOLATION_VOLUME: f64 = 0.4;

pub(super) fn density(moduli: Lame, at: &Invariants) -> Density {
    let [value, slope, curvature] = volume_term(moduli, at.volume);
    Density {
        value: 0.5 * moduli.mu * (at.square - 3.0) + value,
        first: [0.0, 0.5 * moduli.mu, slope],
        second: [0.0, 0.0, curvature],
    }
}

/// f, f′ and f″.
fn volume_term(Lame { mu, lambda }: Lame, volume: f64) -> [f64; 3] {
    let from = volume.max(EXTRAPOLATION_VOLUME);
    let beyond = volume - from;
    let logarithm = from.ln();
    let value = (0.5 * lambda * logarithm - mu) * logarithm;
    let slope = (lambda * logarithm - mu) / from;
    let curvature = (mu + lambda * (1.0 - logarithm)) / (from * from);
    [
        value + beyond * (slope + 0.5 * curvature * beyond),
        slope + curvature * beyond,
        curvature,
    ]
}
