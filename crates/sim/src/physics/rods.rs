//! Rods without contact. E = 10 MPa, radius 1 mm, density 1200 kg/m³, unless set.

use std::f64::consts::TAU;

use super::Case;
use super::theory::{
    catenary_sag, critical_turn, hanging_elongation, michell_twist, round_beam_frequency,
};

/// Length, drop and horizontal position of the tip over the length, of a horizontal cantilever
/// under its weight: the heavy elastica, solved numerically.
const HEAVY_ELASTICA: [[f64; 3]; 4] = [
    [0.059662, 0.12347, 0.99125],
    [0.128538, 0.70020, 0.65635],
    [0.276926, 0.93752, 0.15922],
    [0.596618, 0.98114, 0.045986],
];

/// Force at the tip (N) and deflection over the length, for L = 0.2 m: elliptic integrals.
const END_LOAD: [[f64; 2]; 4] = [
    [1.96350e-4, 0.30172],
    [3.92699e-4, 0.49346],
    [9.81748e-4, 0.71379],
    [1.963495e-3, 0.81061],
];

/// Chord over length, deflection over length, force over the critical one: elliptic integrals.
const PINNED_ELASTICA: [[f64; 3]; 3] = [
    [0.969731, 0.10971, 1.01540],
    [0.741020, 0.29660, 1.15172],
    [0.348989, 0.39577, 1.51839],
];

/// Length and critical curvature times length of a curly rod: the linearised equations of a
/// three-dimensional rod about its planar equilibrium, solved numerically.
const OUT_OF_PLANE: [[f64; 2]; 2] = [[0.276926, 7.573], [0.596618, 16.114]];

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for [length, drop, x] in HEAVY_ELASTICA {
        let edges = if length > 0.5 { 160.0 } else { 64.0 };
        let case = Case::new("rod-cantilever", "heavy elastica");
        let case = case.with("L", length).with("edges", edges);
        let case = case.close("tip_drop_over_L", drop, 0.01);
        cases.push(case.close("tip_x_over_L", x, 0.01));
    }
    for [force, deflection] in END_LOAD {
        let case = Case::new("rod-end-load", "elastica with a load at its end");
        let case = case.with("P", force);
        cases.push(case.close("tip_deflection_over_L", deflection, 0.005));
    }
    let case = Case::new("rod-rollup", "a moment of 2πEI/L closes the circle");
    cases.push(case.near("tip_to_clamp_over_L", 0.0, 0.01));
    for [chord, deflection, force] in PINNED_ELASTICA {
        let case = Case::new("rod-elastica", "elastica between pins");
        let case = case.with("chord_over_L", chord);
        let case = case.close("mid_deflection_over_L", deflection, 0.01);
        cases.push(case.close("force_over_critical", force, 0.01));
    }
    cases.extend(buckling());
    let case = Case::new("hanging-rod", "ρgL²/2E");
    let elongation = hanging_elongation(1200.0, 1.0, 1e5);
    cases.push(case.close("elongation", elongation, 0.005));
    let case = Case::new("catenary", "catenary");
    cases.push(case.close("sag", catenary_sag(1.0, 0.6), 0.003));
    cases.extend(frequencies());
    cases
}

fn buckling() -> Vec<Case> {
    let mut cases = Vec::new();
    let critical = |scene, theory, [parameter, value]: [(&'static str, f64); 2]| {
        [(0.98, 0.0), (1.02, 1.0)].map(|(part, buckled)| {
            let (name, limit) = value;
            let case = Case::new(scene, theory).with(parameter.0, parameter.1);
            case.with(name, part * limit).near("buckled", buckled, 0.0)
        })
    };
    for nu in [0.0, 0.5] {
        let turns = ("turns", critical_turn(nu) / TAU);
        let theory = "critical end rotation 8.9868 (1 + ν)";
        cases.extend(critical("rod-twist", theory, [("nu", nu), turns]));
        let twist = ("twist", michell_twist(nu));
        let theory = "Michell's critical twist 2π√3 (1 + ν)";
        cases.extend(critical("ring-twist", theory, [("nu", nu), twist]));
    }
    for [length, critical] in OUT_OF_PLANE {
        let at = |part: f64| {
            let case = Case::new("rod-bend-twist", "a curly rod leaves its plane");
            let case = case.with("L", length);
            case.with("kappa0", part * critical / length)
        };
        cases.push(at(0.95).near("out_of_plane_over_L", 0.0, 1e-3));
        cases.push(at(1.05).above("out_of_plane_over_L", 0.02));
    }
    cases
}

/// The frequency is independent of the time step, and proportional to the radius.
fn frequencies() -> Vec<Case> {
    let case = || Case::new("rod-frequency", "first mode of a clamped beam");
    let frequency = |radius: f64| round_beam_frequency(1e7, 1200.0, radius, 0.1);
    let other_step = case().set("time", "substeps", 160);
    let other_radius = case().with("radius", 2e-3);
    vec![
        case().close("f1", frequency(1e-3), 0.01),
        other_step.close("f1", frequency(1e-3), 0.01),
        other_radius.close("f1", frequency(2e-3), 0.01),
    ]
}
