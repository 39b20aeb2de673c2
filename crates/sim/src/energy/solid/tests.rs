use super::super::check::{check_derivatives, dense, eigenvalues};
use super::super::total_value;
use super::neo_hookean::EXTRAPOLATION_VOLUME;
use super::*;
use glam::DQuat;
use proptest::array::{uniform3, uniform4, uniform9};
use proptest::prelude::*;
use proptest::sample::select;

const LAWS: [SolidLaw; 4] = [
    SolidLaw::Corotated,
    SolidLaw::FixedCorotated,
    SolidLaw::NeoHookean,
    SolidLaw::StableNeoHookean,
];

const REST: [DVec3; 4] = [
    DVec3::new(0.01, 0.02, -0.01),
    DVec3::new(0.05, 0.01, 0.0),
    DVec3::new(0.02, 0.06, 0.01),
    DVec3::new(0.0, 0.02, 0.04),
];

fn one(law: SolidLaw, poisson: f64) -> Solid {
    Solid::new(vec![[0, 1, 2, 3]], &REST, law, 1e5, poisson).unwrap()
}

/// The tetrahedron whose shape functions have the axes as gradients: three of its nodes are the
/// columns of F.
fn unit(law: SolidLaw, poisson: f64) -> Solid {
    let corners = [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z];
    Solid::new(vec![[0, 1, 2, 3]], &corners, law, 1e5, poisson).unwrap()
}

fn nodes(f: &DMat3) -> [DVec3; 4] {
    [DVec3::ZERO, f.x_axis, f.y_axis, f.z_axis]
}

/// Whether finite differences are accurate: away from jumps of the nearest rotation, for laws that
/// depend on it, and from the jump of the third derivative where the extrapolation begins.
fn is_smooth(solid: &Solid, x: &[DVec3; 4]) -> bool {
    let stretches = solid.stretches(0, x);
    match solid.law {
        SolidLaw::Corotated | SolidLaw::FixedCorotated => stretches.y + stretches.z > 0.05,
        SolidLaw::NeoHookean => (stretches.element_product() - EXTRAPOLATION_VOLUME).abs() > 1e-3,
        SolidLaw::StableNeoHookean => true,
    }
}

fn all_finite((value, gradient, blocks): &(f64, [DVec3; 4], Blocks<4>)) -> bool {
    value.is_finite()
        && gradient.iter().all(|g| g.is_finite())
        && blocks.as_flattened().iter().all(|block| block.is_finite())
}

fn poissons() -> impl Strategy<Value = f64> {
    select(vec![0.0, 0.2, 0.3, 0.45, LARGEST_POISSON])
}

fn turns() -> impl Strategy<Value = DQuat> {
    uniform3(-3.0..3.0f64).prop_map(|axis| DQuat::from_scaled_axis(axis.into()))
}

proptest! {
    #[test]
    fn derivatives_agree_with_differences(
        corners in uniform4(uniform3(-0.06..0.06f64)),
        law in select(&LAWS),
        poisson in poissons(),
    ) {
        let (solid, x) = (one(law, poisson), corners.map(DVec3::from_array));
        prop_assume!(is_smooth(&solid, &x));
        check_derivatives(&solid, 0, &x);
    }

    #[test]
    fn derivatives_agree_with_differences_near_rest(
        nudge in uniform4(uniform3(-1.0..1.0f64)),
        exponent in -12..0i32,
        turn in turns(),
        law in select(&LAWS),
        poisson in poissons(),
    ) {
        let size = 0.05 * 10f64.powi(exponent);
        let x = [0, 1, 2, 3].map(|i| turn * REST[i] + DVec3::from_array(nudge[i]) * size);
        let solid = one(law, poisson);
        prop_assume!(is_smooth(&solid, &x));
        check_derivatives(&solid, 0, &x);
    }

    /// All combinations of equal, opposite, zero and other stretches.
    #[test]
    fn derivatives_agree_with_differences_at_special_stretches(
        stretches in uniform3(select(vec![-1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.0 + 1e-9, 1.5])),
        turn in turns(),
        law in select(&LAWS),
    ) {
        let solid = unit(law, 0.3);
        let turn = DMat3::from_quat(turn);
        let f = turn * DMat3::from_diagonal(stretches.into()) * turn.transpose();
        let x = nodes(&f);
        prop_assert!(all_finite(&solid.linearize(0, &x)));
        // Differences have no step size at a tetrahedron of size zero.
        if is_smooth(&solid, &x) && stretches != [0.0; 3] {
            check_derivatives(&solid, 0, &x);
        }
    }

    #[test]
    fn derivatives_are_finite_for_every_deformation(
        entries in uniform9(-1.0..1.0f64),
        exponents in uniform9(-30..30i32),
        law in select(&LAWS),
        poisson in poissons(),
    ) {
        let entries = [0, 1, 2, 3, 4, 5, 6, 7, 8].map(|i| entries[i] * 10f64.powi(exponents[i]));
        let (solid, x) = (one(law, poisson), nodes(&DMat3::from_cols_array(&entries)));
        prop_assert!(all_finite(&solid.linearize(0, &x)));
        prop_assert!(solid.hessian(0, &x).as_flattened().iter().all(|block| block.is_finite()));
    }

    /// The projection is the nearest one: its eigenvalues are those of ∂P/∂F, clamped at zero.
    #[test]
    fn projection_only_removes_negative_eigenvalues(
        entries in uniform9(-1.5..1.5f64),
        law in select(&LAWS),
    ) {
        let (solid, x) = (unit(law, 0.3), nodes(&DMat3::from_cols_array(&entries)));
        let spectrum = |blocks: Blocks<4>| {
            let inner = [1, 2, 3].map(|i| [1, 2, 3].map(|j| blocks[i][j]));
            let mut values = eigenvalues(dense(&inner));
            values.sort_by(f64::total_cmp);
            values
        };
        let exact = spectrum(solid.hessian(0, &x));
        let projected = spectrum(solid.projected_hessian(0, &x));
        let scale = exact.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
        for (value, projected) in exact.iter().zip(&projected) {
            let error = (value.max(0.0) - projected).abs();
            prop_assert!(error <= 1e-12 * scale, "{value} became {projected}");
        }
    }
}

#[test]
fn rest_has_no_force_and_no_energy() {
    for law in LAWS {
        for poisson in [0.0, 0.3, LARGEST_POISSON] {
            let solid = one(law, poisson);
            let stress = 1e-14 * (solid.moduli.mu + solid.moduli.lambda);
            let area = 0.05 * 0.05;
            assert!(solid.value(0, &REST).abs() <= stress * solid.volume[0]);
            let gradient = solid.gradient(0, &REST);
            assert!(gradient.iter().all(|g| g.length() <= stress * area));
            check_rest_stiffness(&solid);
        }
    }
}

/// At rest the exact Hessian is positive semidefinite and has six zero eigenvalues, of the rigid
/// motions.
fn check_rest_stiffness(solid: &Solid) {
    let mut values = eigenvalues(dense(&solid.hessian(0, &REST)));
    values.sort_by(f64::total_cmp);
    assert!(
        values[..6]
            .iter()
            .all(|value| value.abs() < 1e-12 * values[11])
    );
    assert!(values[6] > 1e-4 * values[11]);
}

/// The stress is (E ε, 0, 0) for the strain (ε, −νε, −νε), and 2μ γ for the shear strain γ.
#[test]
fn small_strains_have_the_prescribed_moduli() {
    let strain = 1e-6;
    for law in LAWS {
        for poisson in [0.0, 0.3, 0.49] {
            let solid = unit(law, poisson);
            let lateral = 1.0 - poisson * strain;
            let stress = solid.stress(&DMat3::from_diagonal(DVec3::new(
                1.0 + strain,
                lateral,
                lateral,
            )));
            // The error is of second order in the strain, times λ.
            let error = 10.0 * strain * strain * (solid.moduli.lambda + solid.moduli.mu) + 1e-9;
            assert!(
                (stress.x_axis.x - 1e5 * strain).abs() < error,
                "{law:?} {stress}"
            );
            assert!(stress.y_axis.y.abs() < error && stress.z_axis.z.abs() < error);
            let mut shear = DMat3::IDENTITY;
            (shear.x_axis.y, shear.y_axis.x) = (strain, strain);
            let stress = solid.stress(&shear).y_axis.x;
            assert!((stress - 1e5 / (1.0 + poisson) * strain).abs() < error);
        }
    }
}

/// Stress along a bar with free sides at a given stretch, and its transverse stretch.
fn pull(solid: &Solid, stretch: f64) -> (f64, f64) {
    let stress = |side: f64| solid.stress(&DMat3::from_diagonal(DVec3::new(stretch, side, side)));
    let (mut thin, mut thick) = (0.3, 2.0);
    for _ in 0..100 {
        let middle = 0.5 * (thin + thick);
        if stress(middle).y_axis.y < 0.0 {
            thin = middle;
        } else {
            thick = middle;
        }
    }
    (stress(thin).x_axis.x, thin)
}

#[test]
fn bars_have_the_theoretical_tension() {
    let neo_hookean = unit(SolidLaw::NeoHookean, 0.3);
    for (stretch, known, known_side) in [(1.5, 37828.0, 0.88017), (0.7, -40523.0, 1.10793)] {
        let (stress, side) = pull(&neo_hookean, stretch);
        assert!((stress - known).abs() < 1.0, "{stress}");
        assert!((side - known_side).abs() < 1e-5, "{side}");
        assert!(stretch * side * side > EXTRAPOLATION_VOLUME);
    }
    // ν = 0: 2μ (σ − 1) = E (σ − 1).
    for law in [SolidLaw::Corotated, SolidLaw::FixedCorotated] {
        let (stress, side) = pull(&unit(law, 0.0), 1.5);
        assert!((stress - 5e4).abs() < 1e-6 && (side - 1.0).abs() < 1e-12);
    }
    // The transverse corotated stress is 2μ (s − 1) + λ (σ + 2s − 3) = 0: the bar behaves as for
    // small strains.
    let (stress, side) = pull(&unit(SolidLaw::Corotated, 0.3), 1.5);
    assert!((stress - 5e4).abs() < 1e-6 && (side - 0.85).abs() < 1e-12);
}

/// The volume ratio of a bar with ν = 0 is its stretch. Half its length is above the extrapolation.
#[test]
fn a_bar_at_half_its_length_is_not_extrapolated() {
    let (stress, side) = pull(&unit(SolidLaw::NeoHookean, 0.0), 0.5);
    assert!((stress - 0.5e5 * (0.5 - 2.0)).abs() < 1e-6 && (side - 1.0).abs() < 1e-12);
}

/// Value, force and stiffness on both sides of the volume where the extrapolation begins differ in
/// proportion to the distance between the sides.
#[test]
fn the_extrapolation_is_twice_continuously_differentiable() {
    let solid = unit(SolidLaw::NeoHookean, 0.4);
    let at = |volume: f64| {
        let x = nodes(&DMat3::from_diagonal(DVec3::new(0.8, 1.1, volume / 0.88)));
        (
            solid.value(0, &x),
            solid.gradient(0, &x)[3].z,
            solid.hessian(0, &x)[3][3].z_axis.z,
        )
    };
    for distance in [1e-3, 1e-5, 1e-7] {
        let (below, above) = (
            at(EXTRAPOLATION_VOLUME - distance),
            at(EXTRAPOLATION_VOLUME + distance),
        );
        let scale = 20.0 * distance * above.2;
        assert!((below.0 - above.0).abs() < scale);
        assert!((below.1 - above.1).abs() < scale);
        assert!((below.2 - above.2).abs() < scale);
    }
}

/// Newton's method with the projected Hessian reaches the rest shape from flat and inverted shapes.
#[test]
fn inverted_tetrahedra_return_to_rest() {
    let starts = [
        DVec3::new(1.0, 1.0, -1.0),
        DVec3::new(-1.3, 0.7, 1.1),
        DVec3::new(1.0, 1.0, 0.0),
        DVec3::new(0.1, 0.2, -0.3),
        DVec3::new(-1.0, -0.9, -1.2),
        DVec3::new(1.0, 0.05, 0.02),
    ];
    for law in LAWS {
        let solid = unit(law, 0.3);
        for start in starts {
            let mut x = nodes(&DMat3::from_diagonal(start));
            // An initial shape without symmetry.
            x[2] += DVec3::new(0.03, -0.01, 0.02);
            for _ in 0..200 {
                x = newton_step(&solid, &x);
            }
            let stretches = solid.stretches(0, &x);
            assert!(
                (stretches - DVec3::ONE).length() < 1e-6,
                "{law:?} from {start} stays at {stretches}"
            );
        }
    }
}

/// A Newton step with a small inertia and a line search.
fn newton_step(solid: &Solid, x: &[DVec3; 4]) -> [DVec3; 4] {
    let (value, gradient, blocks) = solid.linearize(0, x);
    let mut rows = dense(&blocks);
    for i in 0..12 {
        rows[i][i] += 1e2;
        rows[i].push(-gradient[i / 3][i % 3]);
    }
    for pivot in 0..12 {
        let row = rows[pivot].clone();
        for (i, other) in rows.iter_mut().enumerate().filter(|(i, _)| *i != pivot) {
            let factor = other[pivot] / row[pivot];
            assert!(factor.is_finite(), "row {i}");
            for (entry, by) in other.iter_mut().zip(&row) {
                *entry -= factor * by;
            }
        }
    }
    let step = [0, 1, 2, 3].map(|node| {
        DVec3::from_array([0, 1, 2].map(|axis| {
            let row = &rows[3 * node + axis];
            row[12] / row[3 * node + axis]
        }))
    });
    let mut length = 1.0;
    for _ in 0..30 {
        let next = [0, 1, 2, 3].map(|node| x[node] + step[node] * length);
        if solid.value(0, &next) < value {
            return next;
        }
        length *= 0.5;
    }
    *x
}

#[test]
fn the_energy_does_not_depend_on_the_order_of_nodes() {
    let flipped = [REST[1], REST[0], REST[2], REST[3]];
    let x = REST.map(|point| DVec3::new(1.2 * point.x, point.y, 0.8 * point.z));
    for law in LAWS {
        let solid = one(law, 0.3);
        let other = Solid::new(vec![[0, 1, 2, 3]], &flipped, law, 1e5, 0.3).unwrap();
        let values = (
            solid.value(0, &x),
            other.value(0, &[x[1], x[0], x[2], x[3]]),
        );
        assert!(values.0 > 0.0 && (values.0 / values.1 - 1.0).abs() < 1e-12);
    }
}

#[test]
fn stretches_and_volumes_are_found() {
    let tetrahedra: Vec<[u32; 4]> = (0..600)
        .map(|i| [4 * i, 4 * i + 1, 4 * i + 2, 4 * i + 3])
        .collect();
    let points = REST.repeat(600);
    let solid = Solid::new(tetrahedra, &points, SolidLaw::NeoHookean, 1e5, 0.3).unwrap();
    let sides = sides(&REST);
    assert!(
        solid
            .volumes()
            .iter()
            .all(|volume| (volume * 6.0 - sides.determinant().abs()).abs() < 1e-18)
    );
    assert!((solid.max_stretch(&points) - 1.0).abs() < 1e-14);
    assert!((solid.min_stretch(&points) - 1.0).abs() < 1e-14);
    let mut x = points;
    for point in &mut x[4 * 300..4 * 301] {
        *point *= DVec3::new(1.7, 1.0, 1.0);
    }
    for point in &mut x[4 * 555..4 * 556] {
        point.y *= -0.5;
    }
    assert!((solid.max_stretch(&x) - 1.7).abs() < 1e-13);
    assert!((solid.min_stretch(&x) + 0.5).abs() < 1e-13);
    assert!((solid.smallest_volume_ratio(&x) + 0.5).abs() < 1e-13);
    assert!(total_value(&solid, &x) > 0.0);
    let none = Solid::new(vec![], &[], SolidLaw::NeoHookean, 1e5, 0.3).unwrap();
    assert_eq!(
        (
            none.max_stretch(&[]),
            none.min_stretch(&[]),
            none.smallest_volume_ratio(&[])
        ),
        (0.0, 1.0, 1.0)
    );
}

#[test]
fn invalid_solids_are_refused() {
    let solid = |tetrahedron, young, poisson| {
        Solid::new(
            vec![tetrahedron],
            &REST,
            SolidLaw::Corotated,
            young,
            poisson,
        )
    };
    assert!(solid([0, 1, 2, 3], 1e5, LARGEST_POISSON).is_ok());
    let message = solid([0, 1, 2, 3], 1e5, 0.5).unwrap_err().to_string();
    assert_eq!(
        message,
        "Poisson's ratio is 0.5, but must be from 0 to 0.499"
    );
    for poisson in [-0.1, 0.4999, f64::NAN] {
        assert!(matches!(
            solid([0, 1, 2, 3], 1e5, poisson),
            Err(SolidError::Poisson { .. })
        ));
    }
    for young in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(
            solid([0, 1, 2, 3], young, 0.3),
            Err(SolidError::Young { .. })
        ));
    }
    assert_eq!(
        solid([0, 1, 2, 2], 1e5, 0.3).unwrap_err(),
        SolidError::Flat {
            tetrahedron: 0,
            volume: 0.0
        }
    );
    let message = solid([0, 1, 2, 4], 1e5, 0.3).unwrap_err().to_string();
    assert_eq!(
        message,
        "tetrahedron 0 has the point 4, but there are 4 points"
    );
}
