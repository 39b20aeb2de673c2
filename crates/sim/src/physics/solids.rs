//! Solids without contact.

use super::Case;
use super::theory::{bar_twist, cantilever_tip, neo_hookean_bar};

/// First frequency of a clamped square beam, L = 1 m, section 0.1 m, E = 10 MPa, ν = 0.3, density
/// 1000 kg/m³: the beam of Timoshenko, solved numerically (Hz).
const BEAM_FREQUENCY: f64 = 1.6029;

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let rubber = [1e7, 0.3];
    let beams = [
        (
            "solid-cantilever",
            "tip",
            cantilever_tip(1.0, 0.1, rubber, 1.0),
        ),
        (
            "solid-torsion",
            "end_rotation",
            bar_twist(1.0, 0.1, rubber, 1.0),
        ),
        ("solid-frequency", "f1", BEAM_FREQUENCY),
    ];
    for (scene, probe, exact) in beams {
        // The error is below 2% with 16 cells, and four times that with 8.
        let case = Case::new(scene, "beam theory, converging with second order");
        let case = case.with("cells", 8.0).close(probe, exact, 0.08);
        cases.push(case.converging(probe, exact, 8.0));
    }
    for stretch in [1.5, 0.7] {
        let [stress, lateral] = neo_hookean_bar([1e5, 0.3], stretch);
        let case = Case::new("solid-uniaxial", "neo-Hookean stress with free sides");
        let case = case.with("stretch", stretch).close("stress", stress, 1e-3);
        cases.push(case.close("lateral", lateral, 1e-3));
    }
    let case = Case::new("solid-uniaxial", "corotated stress for ν = 0: E ε");
    let case = case.with_word("model", "corotated").with("nu", 0.0);
    cases.push(case.close("stress", 0.5e5, 1e-3));
    for model in [
        "corotated",
        "fixed-corotated",
        "neo-hookean",
        "stable-neo-hookean",
    ] {
        let case = Case::new(
            "solid-uniaxial",
            "all laws are linear for small strain: E ε",
        );
        let case = case.with_word("model", model).with("stretch", 1.0001);
        let case = case.close("stress", 10.0, 1e-3);
        cases.push(case.close("lateral", 1.0 - 0.3e-4, 1e-6));
    }
    let case = Case::new("solid-patch", "an affine deformation is exact");
    cases.push(case.near("position_error", 0.0, 1e-9));
    cases
}
