//! Corotated linear elasticity (Müller and Gross, Interactive Virtual Materials, 2004), as the energy
//! Ψ = μ‖F − R‖² + λ/2 tr²(RᵀF − I).
//!
//! Linear in the stretches, so a bar pulled to twice its length has the stress E. Nothing but a finite energy keeps it from
//! inverting, and the volume is kept for small strains only.

use super::law::{Density, Invariants, Lame};

pub(super) fn density(Lame { mu, lambda }: Lame, at: &Invariants) -> Density {
    Density {
        value: mu * at.distance + 0.5 * lambda * at.trace * at.trace,
        first: [lambda * at.trace - 2.0 * mu, mu, 0.0],
        second: [lambda, 0.0, 0.0],
    }
}
