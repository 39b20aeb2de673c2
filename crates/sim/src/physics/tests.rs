use std::collections::BTreeSet;

use super::theory::*;
use super::*;
use crate::scene::shipped;

/// Value with five digits, as tables print it.
fn assert_digits(value: f64, printed: f64) {
    assert!((value / printed - 1.0).abs() < 5e-5, "{value} {printed}");
}

#[test]
fn closed_forms_have_the_published_values() {
    assert_digits(catenary_sag(1.0, 0.6), 0.36278);
    assert_digits(round_beam_frequency(1e7, 1200.0, 1e-3, 0.1), 2.5542);
    assert_digits(critical_turn(0.5), 13.4802);
    assert_digits(michell_twist(0.0), 10.8828);
    assert_digits(shear_energy(1e5, 0.3, 1e-5, 0.1), 1.93681e-3);
    assert_digits(lateral_buckling_length(1e8, 1200.0, 5e-4, 1e-2), 0.14684);
    assert_digits(cantilever_tip(1.0, 0.1, [1e7, 0.3], 1.0), 4.0306e-3);
    assert_digits(bar_twist(1.0, 0.1, [1e7, 0.3], 1.0), 0.018495);
    let [stress, lateral] = neo_hookean_bar([1e5, 0.3], 1.5);
    assert_digits(stress, 37828.0);
    assert_digits(lateral, 0.88017);
    assert_digits(implicit_decay(100.0, 1000.0), 0.13945);
    assert_digits(capstan_ratio(0.3, 1.0), 6.586);
    assert_digits(ladder_angle_deg(0.4, 0.2), 48.99);
    assert_digits(topple_angle_deg(0.2, 0.1), 26.565);
}

/// A body of rigid masses on a circle whose step conserves x₁ × v₀ exactly.
#[test]
fn a_spin_loses_the_square_of_the_angle_in_a_step() {
    let [loss, angle] = implicit_spin(1e-3, 1000);
    assert!((loss / 1e-3 - 1.0).abs() < 2e-3, "{loss}");
    assert!((angle - 1.0 + 0.5e-3).abs() < 1e-5, "{angle}");
}

#[test]
fn every_validation_scene_has_a_case_and_every_case_a_scene() {
    let names = shipped::all();
    let names = names.iter().map(|scene| scene.name);
    let stored: BTreeSet<&str> = names
        .filter_map(|name| name.strip_prefix("validation/"))
        .collect();
    let tested: BTreeSet<&str> = scenes().into_iter().collect();
    assert_eq!(stored, tested);
    assert!(cases().iter().all(|case| !case.checks.is_empty()));
    // The quick suite has every scene too.
    let quick: BTreeSet<&str> = cases()
        .iter()
        .filter(|case| !case.is_long)
        .map(|case| case.scene)
        .collect();
    assert_eq!(quick, tested);
}

#[test]
fn values_hold_within_their_tolerance_only() {
    let relative = Expected::Relative {
        expected: -2.0,
        tolerance: 0.01,
    };
    assert!(relative.holds(-2.019) && !relative.holds(-2.03) && !relative.holds(2.0));
    let absolute = Expected::Absolute {
        expected: 1.0,
        tolerance: 0.0,
    };
    assert!(absolute.holds(1.0) && !absolute.holds(0.0));
    assert!(!absolute.holds(f64::NAN) && !relative.holds(f64::NAN));
    let order = Expected::Order {
        exact: 1.0,
        expected: 1.3,
    };
    assert!(order.holds(order.found(1.01, 0.96)) && !order.holds(order.found(1.01, 1.02)));
}

#[test]
fn a_case_is_refused_with_its_reason() {
    let case = cases().into_iter().find(|case| case.scene == "vibration");
    let case = case.unwrap();
    let refusal = |set: &str| {
        let changes = Changes {
            sets: vec![set.to_owned()],
            ..Changes::default()
        };
        let outcome = measure(&case, &changes, &|| false);
        let rows = rows(&case, &outcome);
        assert!(rows.iter().all(|row| row.status == Status::Refused));
        rows[0].reason.clone().unwrap()
    };
    let reason = refusal("method.integrator=\"symplectic-euler\"");
    assert!(reason.contains("implicit Euler"), "{reason}");
    let reason = refusal("parameters.mu=3");
    assert!(reason.contains("no parameter `mu`"), "{reason}");
}
