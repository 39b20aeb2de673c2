//! Corotated linear elasticity (Müller and Gross, Interactive Virtual Materials, 2004), as the
//! energy Ψ = μ‖F − R‖² + λ/2 tr²(RᵀF − I).
//!
//! Stress is linear in the stretches: a bar at twice its length has the stress E. The energy of
//! inverted elements is finite, and the volume term is accurate for small strains only.

use super::law::{Density, Invariants, Lame};

pub(super) fn density(Lame { mu, lambda }: Lame, at: &Invariants) -> Density {
    Density {
        value: mu * at.distance + 0.5 * lambda * at.trace * at.trace,
        first: [lambda * at.trace - 2.0 * mu, mu, 0.0],
        second: [lambda, 0.0, 0.0],
    }
}
