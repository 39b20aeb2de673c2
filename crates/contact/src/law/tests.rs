use std::f64::consts::TAU;

use proptest::prelude::*;

use super::*;

fn vector(size: f64) -> impl Strategy<Value = DVec3> {
    (-size..size, -size..size, -size..size).prop_map(|(x, y, z)| DVec3::new(x, y, z))
}

fn unit() -> impl Strategy<Value = DVec3> {
    vector(1.0).prop_filter_map("a direction", DVec3::try_normalize)
}

fn friction() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), Just(1.0), Just(f64::INFINITY), 1e-3..10.0]
}

/// Whether all eigenvalues of a symmetric matrix are not negative to rounding, by the signs of the
/// coefficients of its characteristic polynomial.
fn is_semidefinite(m: &DMat3) -> bool {
    let squared = *m * *m;
    let trace = m.diagonal().element_sum();
    let minors = 0.5 * (trace * trace - squared.diagonal().element_sum());
    [trace, minors, m.determinant()]
        .iter()
        .all(|coefficient| *coefficient >= -1e-14)
}

proptest! {
    #[test]
    fn the_projection_is_in_the_cone_and_idempotent(mu in friction(), x in vector(2.0)) {
        let p = project(mu, x);
        if mu.is_finite() {
            prop_assert!(tangential_length(p) <= mu * p.x + 1e-15);
        }
        prop_assert!(p.x >= 0.0);
        prop_assert!((project(mu, p) - p).length() <= 4e-15);
    }

    #[test]
    fn no_sampled_point_of_the_cone_is_nearer_than_the_projection(
        mu in 0.0..5.0, x in vector(2.0),
    ) {
        let distance = (x - project(mu, x)).length();
        for i in 0..64 {
            let (sine, cosine) = (TAU * f64::from(i) / 64.0).sin_cos();
            for j in 0..256 {
                let normal = f64::from(j % 32) / 8.0;
                let radius = mu * normal * f64::from(j / 32) / 7.0;
                let point = DVec3::new(normal, radius * cosine, radius * sine);
                prop_assert!(distance <= (x - point).length() + 1e-14);
            }
        }
    }

    #[test]
    fn the_projection_does_not_increase_distances(
        mu in friction(), x in vector(2.0), y in vector(2.0),
    ) {
        let (before, after) = ((x - y).length(), (project(mu, x) - project(mu, y)).length());
        prop_assert!(after <= before + 1e-15);
    }

    /// Moreau's decomposition: x − P(x) is orthogonal to P(x) and lies in the polar cone,
    /// -K_{1/mu}.
    #[test]
    fn a_point_is_the_sum_of_its_projections_on_the_cone_and_on_the_polar_cone(
        mu in friction(), x in vector(2.0),
    ) {
        let p = project(mu, x);
        let rest = x - p;
        prop_assert!(p.dot(rest).abs() <= 1e-14);
        prop_assert!((project(mu.recip(), -rest) + rest).length() <= 1e-14);
    }

    /// Away from the kinks the second derivative is bounded by 1/‖x_T‖: the error of the
    /// differences is below (1e-5)²/0.1.
    #[test]
    fn the_derivative_agrees_with_central_differences(
        mu in 0.05..5.0f64, x in vector(2.0), direction in unit(),
    ) {
        let tangential = tangential_length(x);
        prop_assume!(tangential > 0.1);
        prop_assume!((tangential - mu * x.x).abs() > 1e-3 && (mu * tangential + x.x).abs() > 1e-3);
        let step = 1e-5;
        let (ahead, behind) = (x + step * direction, x - step * direction);
        let difference = (project(mu, ahead) - project(mu, behind)) / (2.0 * step);
        prop_assert!((project_derivative(mu, x) * direction - difference).length() <= 1e-8);
    }

    #[test]
    fn the_derivative_is_symmetric_with_eigenvalues_in_the_unit_interval(
        mu in friction(), x in vector(2.0),
    ) {
        let derivative = project_derivative(mu, x);
        prop_assert!(derivative.abs_diff_eq(derivative.transpose(), 0.0));
        prop_assert!(is_semidefinite(&derivative));
        prop_assert!(is_semidefinite(&(DMat3::IDENTITY - derivative)));
    }

    #[test]
    fn functions_in_world_axes_agree_with_those_in_local_axes(
        mu in 0.0..5.0, normal in unit(), u in vector(1.0), r in vector(1.0),
    ) {
        let axes = basis(normal);
        let (world_u, world_r) = (axes * u, axes * r);
        let close = |world: DVec3, local: DVec3| {
            (world - axes * local).length() <= 1e-14 * (1.0 + mu)
        };
        prop_assert!(close(project_about(normal, mu, world_r), project(mu, r)));
        prop_assert!(close(associated_about(normal, mu, world_u), associated(mu, u)));
        let world = natural_map_about(normal, mu, world_u, world_r, 0.7);
        prop_assert!(close(world, natural_map(mu, u, r, 0.7)));
    }

    #[test]
    fn a_basis_is_orthonormal_and_right_handed(normal in unit()) {
        let axes = basis(normal);
        prop_assert!((axes * axes.transpose()).abs_diff_eq(DMat3::IDENTITY, 1e-14));
        prop_assert!((axes.determinant() - 1.0).abs() <= 1e-14);
        prop_assert_eq!(axes.x_axis, normal);
    }

    /// Pairs that obey the law by construction, and pairs that violate one of its conditions by 0.1
    /// or more.
    #[test]
    fn the_natural_map_is_zero_exactly_where_the_law_holds(
        mu in 0.1..3.0, pressure in 0.1..1.0, angle in 0.0..TAU, slip in 0.1..1.0f64,
        rho in 0.1..10.0,
    ) {
        let along = DVec3::new(0.0, angle.cos(), angle.sin());
        let across = DVec3::new(0.0, -angle.sin(), angle.cos());
        let sliding = pressure * (DVec3::X - mu * along);
        let stuck = pressure * (DVec3::X - 0.5 * mu * along);
        let zero = |u, r| natural_map(mu, u, r, rho).length() <= 1e-14 * (1.0 + mu) * (1.0 + rho);
        prop_assert!(zero(slip * (DVec3::X + along), DVec3::ZERO));
        prop_assert!(zero(DVec3::ZERO, stuck));
        prop_assert!(zero(slip * along, sliding));
        let violated = |u, r| natural_map(mu, u, r, rho).length() >= 1e-4;
        prop_assert!(violated(-slip * DVec3::X, DVec3::ZERO));
        prop_assert!(violated(slip * DVec3::X, stuck));
        prop_assert!(violated(slip * along, stuck));
        prop_assert!(violated(-slip * along, sliding));
        prop_assert!(violated(slip * across, sliding));
        prop_assert!(violated(DVec3::ZERO, pressure * (DVec3::X - 1.5 * mu * along)));
    }

    /// u includes c r_N here, as the operator includes the compliance.
    #[test]
    fn the_isotropic_solution_obeys_the_law(
        normal in unit(), mu in 0.0..3.0, scale in 0.1..10.0,
        compliance in prop_oneof![Just(0.0), 0.0..10.0], free in vector(1.0),
    ) {
        let r = solve_isotropic(normal, mu, scale, compliance, free);
        let u = scale * r + free + compliance * r.dot(normal) * normal;
        let residual = natural_map_about(normal, mu, u, r, scale.recip()).length();
        let terms = (1.0 + mu) * (r.length() * (1.0 + compliance / scale) + free.length() / scale);
        prop_assert!(residual <= 1e-14 * terms, "{residual:e} of {terms:e}");
    }

    #[test]
    fn the_isotropic_and_the_general_solution_agree(
        normal in unit(), mu in 0.0..3.0, scale in 0.1..10.0, compliance in 0.0..10.0,
        free in vector(1.0), guess in vector(1.0),
    ) {
        let axes = basis(normal);
        let w = DMat3::from_diagonal(DVec3::new(scale + compliance, scale, scale));
        let general = solve_contact(&w, axes.transpose() * free, mu, guess).unwrap();
        let isotropic = solve_isotropic(normal, mu, scale, compliance, free);
        prop_assert!((axes * general - isotropic).length() <= 1e-13 * isotropic.length());
    }
}

#[test]
fn the_basis_is_orthonormal_for_normals_near_the_axes() {
    let tiny = f64::MIN_POSITIVE;
    for normal in [
        DVec3::X,
        DVec3::NEG_X,
        DVec3::Y,
        DVec3::NEG_Y,
        DVec3::Z,
        DVec3::NEG_Z,
        DVec3::new(tiny, -tiny, -1.0),
        DVec3::new(1e-9, 1e-9, -1.0),
        DVec3::new(1.0, 0.0, -0.0),
    ] {
        let axes = basis(normal);
        assert!(
            (axes * axes.transpose()).abs_diff_eq(DMat3::IDENTITY, 1e-15),
            "{normal}"
        );
    }
}

#[test]
fn an_isotropic_contact_opens_sticks_and_slips() {
    let solve = |free| solve_isotropic(DVec3::Y, 0.5, 2.0, 0.0, free);
    assert_eq!(solve(DVec3::new(3.0, 0.1, 0.0)), DVec3::ZERO);
    // r_N = 4/2, and 1.5/2 is less than mu r_N = 1.
    assert_eq!(
        solve(DVec3::new(1.5, -4.0, 0.0)),
        DVec3::new(-0.75, 2.0, 0.0)
    );
    // 3/2 exceeds mu r_N.
    assert_eq!(
        solve(DVec3::new(3.0, -4.0, 0.0)),
        DVec3::new(-1.0, 2.0, 0.0)
    );
    // The compliance halves the normal impulse and does not change the operator of friction:
    // mu r_N = 0.5 < 1.5/2.
    let soft = solve_isotropic(DVec3::Y, 0.5, 2.0, 2.0, DVec3::new(1.5, -4.0, 0.0));
    assert_eq!(soft, DVec3::new(-0.5, 1.0, 0.0));
}

#[test]
fn non_finite_input_does_not_panic() {
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for x in [
            DVec3::splat(bad),
            DVec3::new(bad, 1.0, 0.0),
            DVec3::new(-1.0, bad, 0.0),
        ] {
            project_derivative(0.5, x);
            natural_map(bad, x, x, 1.0);
            basis(x);
            solve_isotropic(DVec3::X, 0.5, 1.0, 0.0, x);
        }
    }
    assert!(project(f64::NAN, DVec3::ONE).is_nan());
    assert!(project(0.5, DVec3::new(f64::NAN, 1.0, 0.0)).is_nan());
}
