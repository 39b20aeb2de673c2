//! Momentum, rotation and oscillation: what theory says about bodies and about the integrator.

use super::theory::{implicit_decay, implicit_spin};
use super::{Case, Family};

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let case = Case::new(
        "spherical-pendulum",
        "nutation and precession, by quadrature",
    );
    let case = case.close("nutation_period", 1.07967, 0.002);
    cases.push(case.close("precession_deg", 219.51, 0.002));
    let case = Case::new("vibration", "(1 + (ωh)²)^(−1/2) for each step");
    let case = case.about(Family::ImplicitEuler);
    cases.push(case.close("amplitude_ratio", implicit_decay(100.0, 1000.0), 0.02));
    cases.extend(momentum());
    cases.extend(spin());
    cases
}

/// Free bodies that deform: symplectic Euler conserves both momenta, implicit Euler loses (ωh)² of
/// the angular momentum in a step.
fn momentum() -> Vec<Case> {
    let case = Case::new("momentum", "symplectic Euler conserves both momenta");
    let case = case.about(Family::SymplecticEuler);
    let case = case.with_word("integrator", "symplectic-euler");
    let case = case.near("linear_drift", 0.0, 1e-10);
    let mut cases = vec![case.near("angular_drift", 0.0, 1e-10)];
    for (omega, h) in [(20.0_f64, 5e-4), (10.0, 1e-3)] {
        let case = Case::new("momentum", "implicit Euler loses (ωh)² in a step");
        let case = case.about(Family::ImplicitEuler);
        let case = case.with("omega", omega).with("h", h);
        let case = case.near("linear_drift", 0.0, 1e-10);
        cases.push(case.close("angular_drift", (omega * h).powi(2), 0.1));
    }
    cases
}

/// Stiff bodies: the exact recursion of a rigid rotation by implicit Euler.
fn spin() -> Vec<Case> {
    let mut cases = Vec::new();
    let steps = 20;
    for body in ["prop", "rod", "cloth", "solid", "embedded"] {
        for h in [5e-3, 1e-3] {
            let [loss, angle] = implicit_spin(20.0 * h, steps);
            let case = Case::new(
                "spin",
                "rigid rotation by implicit Euler: 2 sin θ₁ = sin(θ₀ + θ₁)",
            );
            let case = case.about(Family::ImplicitEuler);
            let case = case.with_word("body", body).with("h", h);
            let case = case.close("angular_loss", loss, 1e-3);
            cases.push(case.close("angle", angle, 1e-5));
        }
    }
    cases
}
