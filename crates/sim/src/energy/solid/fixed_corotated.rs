//! Fixed corotated elasticity (Stomakhin, Howes, Schroeder and Teran, Energetically Consistent
//! Invertible Elasticity, 2012): Ψ = μ‖F − R‖² + λ/2 (J − 1)².
//!
//! The corotated law with a volume term that is accurate for large strains.

use super::law::{Density, Invariants, Lame};

pub(super) fn density(Lame { mu, lambda }: Lame, at: &Invariants) -> Density {
    let growth = at.volume - 1.0;
    Density {
        value: mu * at.distance + 0.5 * lambda * growth * growth,
        first: [-2.0 * mu, mu, lambda * growth],
        second: [0.0, 0.0, lambda],
    }
}
