use std::f64::consts::TAU;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::*;
use crate::law::{basis, project, tangential_length};

const FRICTION: [f64; 5] = [0.0, 1e-3, 0.3, 1.0, 10.0];

fn friction() -> impl Strategy<Value = f64> {
    proptest::sample::select(FRICTION.as_slice())
}

fn vector() -> impl Strategy<Value = DVec3> {
    (-1.0..1.0, -1.0..1.0, -1.0..1.0).prop_map(|(x, y, z)| DVec3::new(x, y, z))
}

/// An approaching free velocity, sometimes with a normal component much below the tangential one.
fn approach() -> impl Strategy<Value = DVec3> {
    (vector(), -6.0..0.0)
        .prop_map(|(q, exponent)| q.with_x(-(q.x.abs() + 1e-3) * 10f64.powf(exponent)))
}

fn axes() -> impl Strategy<Value = DMat3> {
    let unit = vector().prop_filter_map("a direction", DVec3::try_normalize);
    (unit, 0.0..TAU).prop_map(|(normal, angle)| basis(normal) * DMat3::from_rotation_x(angle))
}

/// Symmetric with eigenvalues 1, 10^-s and 10^-t for s <= t <= `digits`.
fn definite(digits: f64) -> impl Strategy<Value = DMat3> {
    (axes(), 0.0..=digits, 0.0..=1.0).prop_map(|(axes, digits, share): (DMat3, f64, f64)| {
        let spectrum = DVec3::new(10f64.powf(-digits * share), 10f64.powf(-digits), 1.0);
        symmetric(axes * DMat3::from_diagonal(spectrum) * axes.transpose())
    })
}

/// Symmetric, and scaled along the axes of the contact, with a condition number up to 10^`digits`.
fn scaled(digits: f64) -> impl Strategy<Value = DMat3> {
    let exponent = move || -digits / 2.0..0.0;
    (definite(0.5), exponent(), exponent(), exponent()).prop_map(|(w, x, y, z)| {
        let scale = DVec3::new(10f64.powf(x), 10f64.powf(y), 10f64.powf(z));
        symmetric(DMat3::from_diagonal(scale) * w * DMat3::from_diagonal(scale))
    })
}

fn symmetric(m: DMat3) -> DMat3 {
    (m + m.transpose()) * 0.5
}

fn singular(rank: usize) -> impl Strategy<Value = DMat3> {
    proptest::collection::vec(vector(), rank).prop_map(|columns| {
        let outer = |v: DVec3| DMat3::from_cols(v * v.x, v * v.y, v * v.z);
        columns.into_iter().map(outer).sum()
    })
}

fn any_matrix() -> impl Strategy<Value = DMat3> {
    (vector(), vector(), vector()).prop_map(|(x, y, z)| DMat3::from_cols(x, y, z))
}

fn size(w: &DMat3) -> f64 {
    (w.x_axis.abs() + w.y_axis.abs() + w.z_axis.abs()).element_sum()
}

/// The natural map with rho = 1/size, relative to (1 + mu)(‖r‖ + rho ‖q‖): it amplifies an error of
/// the velocity by at most 1 + mu.
fn residual(w: &DMat3, q: DVec3, mu: f64, r: DVec3) -> f64 {
    let rho = size(w).recip();
    natural_map(mu, *w * r + q, r, rho).length() / ((1.0 + mu) * (r.length() + rho * q.length()))
}

/// All solutions with slip, by a search over the direction e of r_T: r = r_N (1, mu e) with u_N = 0
/// and u_T opposite to e.
fn slips_by_search(w: &DMat3, q: DVec3, mu: f64) -> Vec<DVec3> {
    let at = |angle: f64| {
        let along = DVec3::new(0.0, angle.cos(), angle.sin());
        let ray = DVec3::X + mu * along;
        let lift = (*w * ray).x;
        let u = *w * ray * -q.x + q * lift;
        (
            u.cross(along).x,
            u.dot(along) < 0.0 && lift > 0.0,
            ray * (-q.x / lift),
        )
    };
    let angles = 4000;
    let mut slips = Vec::new();
    for i in 0..angles {
        let [mut low, mut high] = [i, i + 1].map(|i| TAU * f64::from(i) / f64::from(angles));
        let sign = at(low).0.signum();
        if sign * at(high).0 > 0.0 {
            continue;
        }
        for _ in 0..50 {
            let middle = 0.5 * (low + high);
            if sign * at(middle).0 > 0.0 {
                low = middle;
            } else {
                high = middle;
            }
        }
        let (_, is_opposite, r) = at(low);
        if is_opposite {
            slips.push(r);
        }
    }
    slips
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    /// A solution exists. Rounding is 1.1e-16, and a solution takes about ten operations.
    #[test]
    fn definite_operators_are_solved_to_rounding(
        w in prop_oneof![definite(10.0), scaled(10.0)], q in approach(), mu in friction(),
        guess in vector(),
        exponents in (-20.0..20.0, -20.0..20.0),
    ) {
        let (w, q) = (w * 10f64.powf(exponents.0), q * 10f64.powf(exponents.1));
        let guess = guess * 10f64.powf(exponents.1 - exponents.0);
        let r = solve_contact(&w, q, mu, guess).unwrap();
        prop_assert!(residual(&w, q, mu, r) <= 4e-15, "{:e}", residual(&w, q, mu, r));
    }

    /// The symmetric part is definite, which is sufficient for a root.
    #[test]
    fn slightly_unsymmetric_operators_are_solved_to_rounding(
        w in definite(2.0), other in any_matrix(), skew in prop_oneof![Just(1e-6), Just(1e-3)],
        q in approach(), mu in friction(),
    ) {
        let w = w + skew * other;
        let r = solve_contact(&w, q, mu, DVec3::ZERO).unwrap();
        prop_assert!(residual(&w, q, mu, r) <= 4e-15, "{:e}", residual(&w, q, mu, r));
    }

    #[test]
    fn the_solution_scales_exactly_with_powers_of_two(
        w in definite(6.0), q in vector(), mu in friction(), guess in vector(),
        a in -200..200i32, b in -200..200i32,
    ) {
        let (a, b) = (2f64.powi(a), 2f64.powi(b));
        let r = solve_contact(&w, q, mu, guess).unwrap();
        prop_assert_eq!(solve_contact(&(w * a), q * b, mu, guess * (b / a)), Some(r * (b / a)));
    }

    #[test]
    fn definite_operators_are_solved_from_any_guess(
        w in definite(10.0), q in approach(), mu in friction(),
        guess in prop_oneof![
            (vector(), -300.0..300.0).prop_map(|(v, exponent)| v * 10f64.powf(exponent)),
            Just(DVec3::NAN), Just(DVec3::INFINITY), Just(DVec3::ZERO),
        ],
    ) {
        let r = solve_contact(&w, q, mu, guess).unwrap();
        prop_assert!(residual(&w, q, mu, r) <= 4e-15, "{:e}", residual(&w, q, mu, r));
    }

    /// q = -W r with r in the cone: the contact can stick, though r is not unique.
    #[test]
    fn singular_operators_with_a_sticking_solution_are_solved(
        w in prop_oneof![singular(1), singular(2)], r in vector(),
        mu in proptest::sample::select(&FRICTION[1..]),
    ) {
        let q = w * -project(mu, r.with_x(1.0));
        prop_assume!(q.length() > 1e-6);
        let r = solve_contact(&w, q, mu, DVec3::ZERO).unwrap();
        prop_assert!(residual(&w, q, mu, r) <= 1e-12, "{:e}", residual(&w, q, mu, r));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn a_slip_solution_agrees_with_a_search_over_directions(
        w in definite(2.0), q in vector().prop_map(|q| q.with_x(-q.x.abs() - 0.1)),
        mu in proptest::sample::select(&FRICTION[2..]),
    ) {
        let r = solve_contact(&w, q, mu, DVec3::ZERO).unwrap();
        let stuck = -(w.inverse() * q);
        let sticks = tangential_length(stuck) <= mu * stuck.x;
        let nearest = if sticks {
            (r - stuck).length()
        } else {
            let slips = slips_by_search(&w, q, mu);
            slips.iter().map(|slip| (r - *slip).length()).fold(f64::INFINITY, f64::min)
        };
        prop_assert!(nearest <= 1e-9 * r.length(), "{nearest:e}");
    }

    /// Friction may wedge a singular operator, so that no impulse stops the approach.
    #[test]
    fn a_singular_operator_is_solved_wherever_a_search_over_directions_finds_a_solution(
        w in prop_oneof![singular(1), singular(2)], q in approach(),
        mu in proptest::sample::select(&FRICTION[1..]),
    ) {
        match solve_contact(&w, q, mu, DVec3::ZERO) {
            Some(r) => prop_assert!(residual(&w, q, mu, r) <= 1e-12),
            None => {
                let mut slips = slips_by_search(&w, q, mu);
                // The relative residual of a huge impulse along the null space is small only
                // because of its size.
                let limit = 1e6 * q.length() / size(&w);
                slips.retain(|r| r.length() < limit && residual(&w, q, mu, *r) < 1e-12);
                prop_assert!(slips.is_empty(), "{slips:?}");
            }
        }
    }
}

/// The symmetric part of A may have a negative eigenvalue here, so that only the Fischer-Burmeister
/// method can be used.
#[test]
fn most_indefinite_operators_with_a_slip_solution_are_solved() {
    let mut runner = TestRunner::deterministic();
    let cases = (singular(2), any_matrix(), approach());
    let (mut solvable, mut solved) = (0, 0);
    for _ in 0..300 {
        let (w, other, q) = cases.new_tree(&mut runner).unwrap().current();
        let w = w + 1e-2 * other;
        if w.x_axis.x <= 0.0 || slips_by_search(&w, q, 1.0).is_empty() {
            continue;
        }
        solvable += 1;
        if let Some(r) = solve_contact(&w, q, 1.0, DVec3::ZERO) {
            solved += 1;
            assert!(residual(&w, q, 1.0, r) <= 1e-12);
        }
    }
    assert!(solvable > 100, "{solvable}");
    assert!(solved * 100 >= 98 * solvable, "{solved} of {solvable}");
}

#[test]
fn a_contact_opens_sticks_and_slips() {
    let w = DMat3::from_diagonal(DVec3::new(1.0, 2.0, 4.0));
    let solve = |q| solve_contact(&w, q, 0.5, DVec3::ZERO).unwrap();
    assert_eq!(solve(DVec3::new(0.0, 1.0, 1.0)), DVec3::ZERO);
    assert_eq!(
        solve(DVec3::new(-2.0, 1.0, 0.0)),
        DVec3::new(2.0, -0.5, 0.0)
    );
    let slip = solve(DVec3::new(-2.0, 0.0, 5.0));
    assert!(
        (slip - DVec3::new(2.0, 0.0, -1.0)).length() <= 1e-15,
        "{slip}"
    );
}

#[test]
fn an_operator_that_cannot_stop_the_approach_has_no_solution() {
    let approaching = DVec3::new(-1.0, 0.5, 0.0);
    assert_eq!(
        solve_contact(&DMat3::ZERO, approaching, 0.5, DVec3::ZERO),
        None
    );
    assert_eq!(
        solve_contact(&DMat3::ZERO, -approaching, 0.5, DVec3::ZERO),
        Some(DVec3::ZERO)
    );
    let tangential = DMat3::from_diagonal(DVec3::new(0.0, 1.0, 1.0));
    assert_eq!(
        solve_contact(&tangential, approaching, 0.5, DVec3::ZERO),
        None
    );
}

#[test]
fn non_finite_input_has_no_solution() {
    let (w, q) = (DMat3::IDENTITY, DVec3::new(-1.0, 2.0, 0.0));
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for i in 0..3 {
            let (mut bad_q, mut lifted) = (q, -q);
            (bad_q[i], lifted[i]) = (bad, bad);
            assert_eq!(solve_contact(&w, bad_q, 0.5, DVec3::ZERO), None);
            assert_eq!(solve_contact(&w, lifted, 0.5, DVec3::ZERO), None);
            for j in 0..3 {
                let mut bad_w = w;
                bad_w.col_mut(i)[j] = bad;
                assert_eq!(solve_contact(&bad_w, q, 0.5, DVec3::ZERO), None);
            }
        }
        assert_eq!(solve_contact(&w, q, bad, DVec3::ZERO), None);
    }
    assert_eq!(solve_contact(&w, q, -0.5, DVec3::ZERO), None);
}

/// λ overflows for the smallest coefficients, and h for the largest.
#[test]
fn extreme_friction_and_extreme_scales_are_solved() {
    let w = DMat3::from_cols(
        DVec3::new(2.0, 0.5, 0.1),
        DVec3::new(0.5, 1.0, 0.3),
        DVec3::new(0.1, 0.3, 3.0),
    );
    let q = DVec3::new(-1.0, 2.0, -0.5);
    for mu in [1e-300, 1e-200, 1e-100, 1e-20, 1e-8, 1e8, 1e20, 1e100] {
        let r = solve_contact(&w, q, mu, DVec3::ZERO).unwrap();
        assert!(
            residual(&w, q, mu, r) <= 4e-15,
            "{mu:e}: {:e}",
            residual(&w, q, mu, r)
        );
    }
    for exponent in [-290, -30, 30, 290] {
        let scale = 10f64.powi(exponent);
        let r = solve_contact(&(w * scale), q * scale, 0.3, DVec3::ZERO).unwrap();
        assert!((r - solve_contact(&w, q, 0.3, DVec3::ZERO).unwrap()).length() <= 1e-14);
    }
}
