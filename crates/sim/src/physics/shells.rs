//! Cloth and plates without contact.

use super::Case;
use super::theory::{
    cylinder_energy, hanging_elongation, lateral_buckling_length, plate_stiffness, shear_energy,
};

const MESHES: [&str; 3] = ["right", "alternating", "unstructured"];

/// Length, drop and horizontal position of the tip over the length: the heavy elastica of rods,
/// with the bending stiffness of a strip.
const HEAVY_STRIP: [[f64; 3]; 2] = [[0.0089123, 0.12347, 0.99125], [0.0192010, 0.70020, 0.65635]];

/// Deflection at the centre of a square plate over q a⁴/D: clamped, and simply supported
/// (Timoshenko and Woinowsky-Krieger, §44 and §30).
const PLATE_CENTER: [f64; 2] = [0.001_265_32, 0.004_062_35];

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for mesh in MESHES {
        for [length, drop, x] in HEAVY_STRIP {
            let case = Case::new("strip-cantilever", "heavy elastica");
            let case = case.with("L", length).with_word("mesh", mesh);
            let case = case.close("tip_drop_over_L", drop, 0.02);
            let case = case.close("tip_x_over_L", x, 0.02);
            // The other two meshes bracket this one.
            cases.push(if mesh == "alternating" {
                case.long()
            } else {
                case
            });
        }
        let load = 0.005 * 0.2_f64.powi(4) / plate_stiffness(1e7, 1e-3, 0.3);
        for (scene, factor) in ["plate-clamped", "plate-supported"]
            .into_iter()
            .zip(PLATE_CENTER)
        {
            let case = Case::new(scene, "Kirchhoff plate").with_word("mesh", mesh);
            cases.push(case.close("center_deflection", factor * load, 0.02));
        }
        let case = Case::new("cloth-hanging", "ρgL²/2E; the pin carries the weight");
        let case = case.with_word("mesh", mesh);
        let case = case.close("elongation", hanging_elongation(300.0, 1.0, 1e5), 0.01);
        cases.push(case.close("pin_over_weight", 1.0, 1e-6));
    }
    let critical = lateral_buckling_length(1e8, 1200.0, 5e-4, 1e-2);
    let at = |part: f64| {
        let case = Case::new("strip-lateral-buckling", "qL³ = 12.85 √(EI·GJ)");
        case.with("L", part * critical)
    };
    cases.push(at(0.95).near("out_of_plane_over_L", 0.0, 1e-2));
    cases.push(at(1.05).above("out_of_plane_over_L", 0.05));
    let case = Case::new("cylinder-roll", "D·area/2R²");
    let energy = cylinder_energy(1e7, 1e-3, 0.314159 * 0.1, 0.05);
    cases.push(case.close("energy", energy, 0.02));
    let case = Case::new("cloth-shear", "St. Venant-Kirchhoff energy of simple shear");
    let energy = shear_energy(1e5, 0.3, 1e-3 * 0.1 * 0.1, 0.1);
    cases.push(case.close("energy", energy, 1e-3));
    cases
}
