//! Friction: sliding, sticking, rolling, and their limits.

use super::Case;
use super::theory::{
    capstan_ratio, cards_friction, incline_slide, ladder_angle_deg, spin_stop_time, stopping,
};

/// Friction and descent over length at which the foot of an upright rod slips: the elastica whose
/// end force leaves the cone, solved numerically.
const STICK_SLIP: [[f64; 2]; 4] = [[0.1, 0.0469], [0.3, 0.2716], [0.5, 0.4487], [0.8, 0.5893]];

pub(super) fn cases() -> Vec<Case> {
    let mut cases = incline();
    for direction in [0.0, 33.0] {
        let [distance, time] = stopping(2.0, 0.3);
        let case = Case::new("slide-to-stop", "v²/2μg and v/μg, in any direction");
        let case = case.with("direction_deg", direction);
        let case = case.close("distance", distance, 5e-3);
        let case = case.close("time", time, 5e-3);
        cases.push(case.near("sideways", 0.0, 1e-4));
    }
    // The speed plus its part down the slope is constant; the position at 1 s by quadrature.
    let case = Case::new("puck", "v + v·down stays constant for μ = tan α");
    let case = case.close("x", 0.19840, 1e-2).close("y", 0.44412, 1e-2);
    cases.push(case.close("final_speed", 0.5, 1e-2));
    for (mu, radius) in [(0.2, 0.05), (0.1, 0.02)] {
        let case = Case::new("ball-roll", "rolls at 5/7 of its speed");
        let case = case.with("mu", mu).with("radius", radius);
        cases.push(case.close("final_speed", 5.0 / 7.0, 2e-2));
    }
    cases.extend(capstan());
    for angle in [15.0, 20.0, 25.0, 30.0] {
        let limit = cards_friction(angle);
        for (part, stands) in [(0.97, 0.0), (1.03, 1.0)] {
            let case = Case::new("two-cards", "stand above μ = tan(α)/2");
            let case = case.with("half_angle_deg", angle).with("mu", part * limit);
            let case = case.near("stands", stands, 0.0);
            let is_long = angle == 20.0 || angle == 25.0;
            cases.push(if is_long { case.long() } else { case });
        }
    }
    for [mu, lowering] in STICK_SLIP {
        let case = Case::new("stick-slip", "slips where the elastica leaves the cone");
        let case = case.with("mu", mu).with("lowest", lowering + 0.016);
        let case = case.close("lowering_at_slip_over_L", lowering, 3e-2);
        cases.push(if mu > 0.4 { case.long() } else { case });
    }
    let case = Case::new("ladder", "tan α = (1 − μ_floor μ_wall)/2μ_floor");
    cases.push(case.close("min_angle_deg", ladder_angle_deg(0.4, 0.2), 2e-2));
    cases.extend(spinning_disc());
    let case = Case::new("grip", "sticks");
    let case = case.with("h", 0.01).lasting(2.0);
    cases.push(case.near("slip", 0.0, 1e-5));
    cases
}

/// A cube slides by Coulomb's law; all bodies slide below its limit, and rest above.
fn incline() -> Vec<Case> {
    let [distance, speed] = incline_slide(30.0, 0.2, 1.0);
    let mut cases = Vec::new();
    for body in ["cube", "cloth", "rod"] {
        let case = |theory| Case::new("incline", theory).with_word("body", body);
        let slides = case("g (sin α − μ cos α)").lasting(1.0);
        let slides = slides.close("distance", distance, 5e-3);
        let slides = slides.close("speed", speed, 5e-3);
        cases.push(if body == "cube" {
            slides
        } else {
            slides.long()
        });
        let limit = 30.0_f64.to_radians().tan();
        let below = case("slides below μ = tan α").lasting(1.0);
        cases.push(below.with("mu", 0.995 * limit).above("speed", 0.02));
        let above = || case("rests above μ = tan α").with("mu", 1.005 * limit);
        cases.push(above().lasting(3.0).near("creep", 0.0, 2e-6));
        cases.push(above().lasting(11.0).near("creep", 0.0, 1e-5).long());
    }
    cases
}

fn capstan() -> Vec<Case> {
    let at = |mu: f64, turns: f64| {
        let case = Case::new("capstan", "exp(μ·angle)");
        let case = case.with("mu", mu).with("turns", turns);
        case.close("tension_ratio", capstan_ratio(mu, turns), 2e-2)
    };
    vec![
        at(0.3, 0.25),
        at(0.5, 0.5),
        at(0.3, 1.0).long(),
        at(0.5, 1.0).long(),
    ]
}

/// A cloth presses evenly; a square plate stands on its corners, at the same radius.
fn spinning_disc() -> Vec<Case> {
    let [omega, radius, mu] = [5.0, 0.1, 0.2];
    let on = |body, arm: f64, inertia: f64| {
        let case = Case::new(
            "spinning-disc",
            "moment arm·μmgR: 2/3 of a disc, 1 on corners",
        );
        let case = case.with_word("body", body);
        let case = case.with("arm", arm).with("inertia", inertia);
        let case = case.close("torque_over_theory", 1.0, 1e-2);
        let time = spin_stop_time([omega, radius], mu, [arm, inertia]);
        case.close("stop_time", time, 2e-2)
    };
    vec![on("cloth", 2.0 / 3.0, 0.5), on("prop", 1.0, 1.0 / 3.0)]
}
