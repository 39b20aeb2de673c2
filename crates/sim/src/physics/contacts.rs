//! Contact forces, impacts, toppling.

use super::Case;
use super::theory::topple_angle_deg;

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let case = Case::new("block-topple", "tan α = width/height");
    cases.push(case.close("topple_angle_deg", topple_angle_deg(0.2, 0.1), 1e-2));
    // Finite elements of a half ball; the half-space of Hertz gives 10.36 N.
    let case = Case::new("hertz", "half ball by finite elements, 8% above Hertz");
    cases.push(case.close("force", 11.24, 5e-2));
    // Implicit Euler loses the part g h/v of the energy in a free rise: 1% for the lower one.
    for (restitution, height, h) in [(0.7_f64, 1.0, 1e-3), (0.3, 0.5, 1e-3)] {
        let case = Case::new("bounce", "e² of the height");
        let case = case.with("e", restitution).with("h0", height).with("h", h);
        cases.push(case.close("h1", restitution.powi(2) * height, 2e-2));
    }
    let case = Case::new("collide", "free bodies conserve momentum");
    cases.push(case.near("linear_drift", 0.0, 1e-10));
    let mut case = Case::new("resting-weight", "contacts carry the weight").lasting(1.0);
    for body in [
        "force_over_weight",
        "cloth",
        "solid",
        "embedded",
        "rigid",
        "ball",
        "rod",
    ] {
        case = case.close(body, 1.0, 1e-3);
    }
    cases.push(case);
    for speed in [0.0, 2.0] {
        // Load of 4 N at 50 mm from the middle of 1 kg.
        let case = Case::new("eccentric-load", "contacts balance the moment of the load");
        let case = case.with("v0", speed).close("torque", 4.0 * 0.05, 1e-3);
        cases.push(case.close("force", 9.81 + 4.0, 1e-3));
    }
    cases
}
