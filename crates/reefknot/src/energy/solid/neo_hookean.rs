//! Compressible neo-Hookean elasticity, Ψ = μ/2 (I₂ − 3) + f(J) with f(J) = −μ ln J + λ/2 ln²J.
//!
//! f is infinite at J = 0, so a step that inverts an element would end the run. Verschoor and Jalba 2019 (section 6.2.1)
//! extrapolate the energy below a volume ratio of 0.7, after Stomakhin et al., Energetically Consistent Invertible
//! Elasticity, 2012. We extrapolate f as a function of J, where theirs is one of the stretches: J is a polynomial of F, so
//! there is no edge at inversion, and f goes on as its Taylor polynomial of second order, so Ψ is twice continuously
//! differentiable everywhere. The polynomial falls and is convex below that volume (λ ≥ 0), so it pushes small and inverted
//! elements towards more volume. The price, as J has no slope at F = 0: an element crushed to a point has no force, and one
//! crushed to less than about 6% in all three directions (ν = 0.3) does not grow again without its neighbours.

use super::law::{Density, Invariants, Lame};

/// The volume ratio below which f is extrapolated: a bar with free sides, pressed to half its length, is above it.
pub(super) const EXTRAPOLATED: f64 = 0.4;

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
    let from = volume.max(EXTRAPOLATED);
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
