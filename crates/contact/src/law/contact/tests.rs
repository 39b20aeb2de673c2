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

/// A free velocity that approaches, in part much less than it slides.
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

/// Symmetric, and light or heavy along the axes of the contact themselves: condition up to 10^`digits`.
fn graded(digits: f64) -> impl Strategy<Value = DMat3> {
    let exponent = move || -digits / 2.0..0.0;
    (definite(0.5), exponent(), exponent(), exponent()).prop_map(|(w, x, y, z)| {
        let grade = DVec3::new(10f64.powf(x), 10f64.powf(y), 10f64.powf(z));
        symmetric(DMat3::from_diagonal(grade) * w * DMat3::from_diagonal(grade))
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

/// The natural map with rho = 1/size, relative to (1 + mu)(‖r‖ + rho ‖q‖): an error of the velocity enters at most 1 + mu times.
fn residual(w: &DMat3, q: DVec3, mu: f64, r: DVec3) -> f64 {
    let rho = size(w).recip();
    natural_map(mu, *w * r + q, r, rho).length() / ((1.0 + mu) * (r.length() + rho * q.length()))
}

/// All slides, by a search over the direction of r_T: r = r_N (1, mu e), u_N = 0 gives r_N, and u_T must be opposite to e.
fn slides_by_search(w: &DMat3, q: DVec3, mu: f64) -> Vec<DVec3> {
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
    let mut slides = Vec::new();
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
        let (_, slides_back, r) = at(low);
        if slides_back {
            slides.push(r);
        }
    }
    slides
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    /// A solution exists. Rounding is 1.1e-16, and an answer has some ten operations.
    #[test]
    fn every_definite_operator_has_an_answer_exact_to_rounding(
        w in prop_oneof![definite(10.0), graded(10.0)], q in approach(), mu in friction(), guess in vector(),
        exponents in (-20.0..20.0, -20.0..20.0),
    ) {
        let (w, q) = (w * 10f64.powf(exponents.0), q * 10f64.powf(exponents.1));
        let guess = guess * 10f64.powf(exponents.1 - exponents.0);
        let r = solve_contact(&w, q, mu, guess).unwrap();
        prop_assert!(residual(&w, q, mu, r) <= 4e-15, "{:e}", residual(&w, q, mu, r));
    }

    /// The symmetric part stays definite, and that is all the existence of a root asks for.
    #[test]
    fn slightly_unsymmetric_operators_have_answers_as_exact(
        w in definite(2.0), other in any_matrix(), skew in prop_oneof![Just(1e-6), Just(1e-3)], q in approach(), mu in friction(),
    ) {
        let w = w + skew * other;
        let r = solve_contact(&w, q, mu, DVec3::ZERO).unwrap();
        prop_assert!(residual(&w, q, mu, r) <= 4e-15, "{:e}", residual(&w, q, mu, r));
    }

    #[test]
    fn the_answer_scales_exactly_with_powers_of_two(
        w in definite(6.0), q in vector(), mu in friction(), guess in vector(), a in -200..200i32, b in -200..200i32,
    ) {
        let (a, b) = (2f64.powi(a), 2f64.powi(b));
        let r = solve_contact(&w, q, mu, guess).unwrap();
        prop_assert_eq!(solve_contact(&(w * a), q * b, mu, guess * (b / a)), Some(r * (b / a)));
    }

    #[test]
    fn no_guess_keeps_an_answer_from_being_found(
        w in definite(10.0), q in approach(), mu in friction(),
        guess in prop_oneof![
            (vector(), -300.0..300.0).prop_map(|(v, exponent)| v * 10f64.powf(exponent)),
            Just(DVec3::NAN), Just(DVec3::INFINITY), Just(DVec3::ZERO),
        ],
    ) {
        let r = solve_contact(&w, q, mu, guess).unwrap();
        prop_assert!(residual(&w, q, mu, r) <= 4e-15, "{:e}", residual(&w, q, mu, r));
    }

    /// q = -W r with r in the cone: the contact sticks, though r is not unique.
    #[test]
    fn a_singular_operator_sticks_where_it_can(
        w in prop_oneof![singular(1), singular(2)], r in vector(), mu in proptest::sample::select(&FRICTION[1..]),
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
    fn a_slide_is_one_of_those_that_a_search_over_its_direction_finds(
        w in definite(2.0), q in vector().prop_map(|q| q.with_x(-q.x.abs() - 0.1)), mu in proptest::sample::select(&FRICTION[2..]),
    ) {
        let r = solve_contact(&w, q, mu, DVec3::ZERO).unwrap();
        let stuck = -(w.inverse() * q);
        let sticks = tangential_length(stuck) <= mu * stuck.x;
        let nearest = if sticks {
            (r - stuck).length()
        } else {
            let slides = slides_by_search(&w, q, mu);
            slides.iter().map(|slide| (r - *slide).length()).fold(f64::INFINITY, f64::min)
        };
        prop_assert!(nearest <= 1e-9 * r.length(), "{nearest:e}");
    }

    /// Friction may wedge a singular operator, so that no impulse stops the approach.
    #[test]
    fn a_singular_operator_has_an_answer_wherever_the_search_finds_one(
        w in prop_oneof![singular(1), singular(2)], q in approach(), mu in proptest::sample::select(&FRICTION[1..]),
    ) {
        match solve_contact(&w, q, mu, DVec3::ZERO) {
            Some(r) => prop_assert!(residual(&w, q, mu, r) <= 1e-12),
            None => {
                let mut slides = slides_by_search(&w, q, mu);
                // Without limit, an impulse along the null space would pass for a solution by its size alone.
                slides.retain(|r| r.length() < 1e6 * q.length() / size(&w) && residual(&w, q, mu, *r) < 1e-12);
                prop_assert!(slides.is_empty(), "{slides:?}");
            }
        }
    }
}

/// The symmetric part of A has a negative eigenvalue here, so that only the Fischer-Burmeister function is left.
#[test]
fn most_indefinite_operators_that_have_a_slide_are_solved() {
    let mut runner = TestRunner::deterministic();
    let cases = (singular(2), any_matrix(), approach());
    let (mut solvable, mut solved) = (0, 0);
    for _ in 0..300 {
        let (w, other, q) = cases.new_tree(&mut runner).unwrap().current();
        let w = w + 1e-2 * other;
        if w.x_axis.x <= 0.0 || slides_by_search(&w, q, 1.0).is_empty() {
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
fn a_contact_takes_off_sticks_and_slides() {
    let w = DMat3::from_diagonal(DVec3::new(1.0, 2.0, 4.0));
    let solve = |q| solve_contact(&w, q, 0.5, DVec3::ZERO).unwrap();
    assert_eq!(solve(DVec3::new(0.0, 1.0, 1.0)), DVec3::ZERO);
    assert_eq!(
        solve(DVec3::new(-2.0, 1.0, 0.0)),
        DVec3::new(2.0, -0.5, 0.0)
    );
    let slide = solve(DVec3::new(-2.0, 0.0, 5.0));
    assert!(
        (slide - DVec3::new(2.0, 0.0, -1.0)).length() <= 1e-15,
        "{slide}"
    );
}

#[test]
fn an_operator_that_cannot_stop_the_approach_has_no_answer() {
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
fn numbers_that_are_not_finite_have_no_answer() {
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
fn extreme_friction_and_extreme_scales_have_answers() {
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
