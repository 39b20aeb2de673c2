//! Stable neo-Hookean elasticity (Smith, de Goes and Kim, Stable Neo-Hookean Flesh Simulation,
//! 2018, equation 14): Ψ = μ/2 (I₂ − 3) + λ/2 (J − α)² − μ/2 ln(I₂ + 1), with α = 1 + 3μ/(4λ) such
//! that the rest state is F = I.
//!
//! It is finite and smooth for every F. Its μ and λ are not those of linear elasticity: by section
//! 3.4 of the paper, μ = 4/3 μ₀ and λ = λ₀ + 5/6 μ₀ have the prescribed E and ν for small strains.
//! So λ > 0, and α is finite.

use super::law::{Density, Invariants, Lame};

pub(super) fn density(small_strain: Lame, at: &Invariants) -> Density {
    let mu = 4.0 / 3.0 * small_strain.mu;
    let lambda = small_strain.lambda + 5.0 / 6.0 * small_strain.mu;
    let excess = at.volume - 1.0;
    // λ (J − α), from λ (J − 1) and λ (1 − α) = −3μ/4.
    let pressure = lambda * excess - 0.75 * mu;
    let inverse = 1.0 / (at.square + 1.0);
    Density {
        // The constant is chosen such that Ψ(I) = 0.
        value: 0.5 * mu * (at.square - 3.0 - (0.25 * (at.square + 1.0)).ln())
            + excess * (0.5 * lambda * excess - 0.75 * mu),
        first: [0.0, 0.5 * mu * (1.0 - inverse), pressure],
        second: [0.0, 0.5 * mu * inverse * inverse, lambda],
    }
}
