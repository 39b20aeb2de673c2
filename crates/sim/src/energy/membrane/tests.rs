//! Tests of the laws of membranes.
use super::*;
use crate::energy::check::check_derivatives;
use crate::energy::total_value;
use crate::generate::sheet::{Cells, grid};
use proptest::array::uniform3;
use proptest::prelude::*;

const LAWS: [MembraneLaw; 3] = [
    MembraneLaw::StVenantKirchhoff,
    MembraneLaw::NeoHookean,
    MembraneLaw::Corotated,
];
const REST: [DVec3; 3] = [
    DVec3::new(0.01, 0.02, 0.0),
    DVec3::new(0.05, 0.01, 0.0),
    DVec3::new(0.02, 0.06, 0.0),
];

fn one_triangle(stiffness: DMat3, law: MembraneLaw) -> Membrane {
    let rest = REST.map(|point| point.truncate());
    Membrane::new(vec![[0, 1, 2]], &[rest], vec![0], vec![stiffness], law).unwrap()
}

/// Whether a triangle is far from the kink at area zero, where finite differences fail.
fn has_area(x: &[DVec3; 3]) -> bool {
    let (a, b) = (x[1] - x[0], x[2] - x[0]);
    a.cross(b).length() > 0.02 * a.length_squared().max(b.length_squared())
}

proptest! {
    #[test]
    fn derivatives_agree_with_differences(
        corners in uniform3(uniform3(-0.05..0.05f64)),
        poisson in -0.5..0.9f64,
        weft in 200.0..1000.0f64,
    ) {
        let x = corners.map(DVec3::from_array);
        prop_assume!(has_area(&x));
        let stiffness = orthotropic_stiffness([300.0, weft], poisson, 20.0);
        check_derivatives(&one_triangle(stiffness, MembraneLaw::StVenantKirchhoff), 0, &x);
        check_derivatives(&one_triangle(stiffness, MembraneLaw::Corotated), 0, &x);
        let mild = orthotropic_stiffness([300.0, weft], poisson.clamp(0.0, 0.3), 20.0);
        check_derivatives(&one_triangle(mild, MembraneLaw::NeoHookean), 0, &x);
    }

    #[test]
    fn derivatives_agree_with_differences_in_compression(
        nudge in uniform3(uniform3(-0.002..0.002f64)),
        scale in 0.1..1.0f64,
    ) {
        let x = [0, 1, 2].map(|i| REST[i] * scale + DVec3::from_array(nudge[i]));
        prop_assume!(has_area(&x));
        for law in LAWS {
            check_derivatives(&one_triangle(isotropic_stiffness(100.0, 0.3), law), 0, &x);
        }
    }

    #[test]
    fn derivatives_agree_with_differences_near_rest(
        nudge in uniform3(uniform3(-1e-6..1e-6f64)),
        poisson in -0.5..0.9f64,
    ) {
        let x = [0, 1, 2].map(|i| REST[i] + DVec3::from_array(nudge[i]));
        for law in LAWS {
            check_derivatives(&one_triangle(isotropic_stiffness(100.0, poisson), law), 0, &x);
        }
    }

    #[test]
    fn a_matrix_is_the_difference_of_its_positive_and_negative_parts(
        a in -1.0..1.0f64,
        b in -1.0..1.0f64,
        c in -1.0..1.0f64,
    ) {
        let s = DMat2::from_cols_array(&[a, b, b, c]);
        let (positive, negative) = (positive_part(s), positive_part(-s));
        prop_assert!((positive - negative).abs_diff_eq(s, 1e-14));
        prop_assert!((positive * negative).abs_diff_eq(DMat2::ZERO, 1e-14));
        prop_assert!(positive.determinant() >= -1e-14);
        prop_assert!(positive.x_axis.x + positive.y_axis.y >= 0.0);
    }

    #[test]
    fn modes_reproduce_f(f in proptest::array::uniform2(uniform3(-2.0..2.0f64))) {
        let f = f.map(DVec3::from_array);
        let modes = Modes::new(&f);
        let [first, second] = modes.stretch;
        prop_assert!(first >= second && second >= 0.0);
        let again = modes.stress([[first, 0.0], [0.0, second]]);
        prop_assert!(again[0].abs_diff_eq(f[0], 1e-12) && again[1].abs_diff_eq(f[1], 1e-12));
        prop_assert!((modes.left * modes.left.transpose()).abs_diff_eq(DMat3::IDENTITY, 1e-13));
    }
}

#[test]
fn rest_has_no_force() {
    for law in LAWS {
        let membrane = one_triangle(isotropic_stiffness(100.0, 0.3), law);
        assert!(membrane.value(0, &REST).abs() < 1e-16);
        assert!(
            membrane
                .gradient(0, &REST)
                .iter()
                .all(|g| g.length() < 1e-13)
        );
        check_derivatives(&membrane, 0, &REST);
        check_derivatives(&membrane, 0, &REST.map(|point| point + DVec3::X * 1e-3));
    }
}

#[test]
fn all_laws_have_the_same_stiffness_at_rest() {
    for stiffness in [
        isotropic_stiffness(100.0, 0.3),
        isotropic_stiffness(100.0, -0.2),
        orthotropic_stiffness([100.0, 400.0], 0.2, 10.0),
    ] {
        let [one, two, three] = LAWS.map(|law| one_triangle(stiffness, law).hessian(0, &REST));
        for other in [two, three] {
            for (block, expected) in other.as_flattened().iter().zip(one.as_flattened()) {
                assert!(block.abs_diff_eq(*expected, 1e-9), "{block} {expected}");
            }
        }
    }
}

#[test]
fn a_corotated_strip_is_linear_in_its_stretch() {
    // E t = 100 N/m, width 0.1 m: the energy is E t ε²/2 · area, so the force is E t ε · width for
    // any length.
    for (axis, modulus) in [(0, 100.0), (1, 400.0)] {
        for stretch in [0.2, 0.9, 1.0, 1.5, 4.0] {
            let stiffness = orthotropic_stiffness([100.0, 400.0], 0.0, 10.0);
            let (membrane, mut points) = square(stiffness, MembraneLaw::Corotated);
            points.iter_mut().for_each(|point| point[axis] *= stretch);
            let strain: f64 = stretch - 1.0;
            let energy = total_value(&membrane, &points);
            assert!((energy - 0.5 * modulus * strain * strain * 0.01).abs() < 1e-12);
            let end = 0.05 * stretch * (1.0 - 1e-9);
            let pull: f64 = nodal_forces(&membrane, &points)
                .iter()
                .zip(&points)
                .filter(|(_, point)| point[axis] > end)
                .map(|(force, _)| force[axis])
                .sum();
            assert!((pull - modulus * strain * 0.1).abs() < 1e-11, "{pull}");
        }
    }
}

#[test]
fn a_neo_hookean_square_has_the_energy_of_its_formula() {
    // σ₁ = 2, σ₂ = 0.5: J = 1 leaves μ/2 (4.25 − 2) per area, with μ = 100/2.6.
    let (membrane, mut points) = square(isotropic_stiffness(100.0, 0.3), MembraneLaw::NeoHookean);
    for point in &mut points {
        *point = DVec3::new(2.0 * point.x, 0.0, 0.5 * point.y);
    }
    let energy = total_value(&membrane, &points);
    assert!(
        (energy - 0.01 * 50.0 / 2.6 * 2.25).abs() < 1e-12,
        "{energy}"
    );
}

#[test]
fn a_collapsed_triangle_stays_finite() {
    let line = [DVec3::ZERO, DVec3::X * 0.03, DVec3::X * 0.01];
    let long = [DVec3::ZERO, DVec3::X * 3.0, DVec3::X * 1.0];
    let point = [DVec3::ONE; 3];
    let sliver = [DVec3::ZERO, DVec3::X * 0.03, DVec3::new(0.01, 1e-14, 0.0)];
    let speck = REST.map(|point| point * 1e-170);
    let stiffnesses = [
        isotropic_stiffness(100.0, 0.3),
        orthotropic_stiffness([100.0, 400.0], 0.2, 10.0),
    ];
    for x in [line, long, point, sliver, speck] {
        for (law, stiffness) in LAWS
            .into_iter()
            .flat_map(|law| stiffnesses.map(|c| (law, c)))
        {
            let membrane = one_triangle(stiffness, law);
            let (value, gradient, projected) = membrane.linearize(0, &x);
            assert!(
                value.is_finite() && gradient.iter().all(|g| g.is_finite()),
                "{law:?} {x:?}"
            );
            for block in [projected, membrane.hessian(0, &x)]
                .as_flattened()
                .as_flattened()
            {
                assert!(block.is_finite(), "{law:?} {x:?} {block}");
            }
        }
    }
}

#[test]
fn a_stiffness_with_too_stiff_shear_is_refused_as_neo_hookean() {
    let stiffness = orthotropic_stiffness([100.0, 100.0], 0.3, 90.0);
    let rest = REST.map(|point| point.truncate());
    let error = Membrane::new(
        vec![[0, 1, 2]],
        &[rest],
        vec![0],
        vec![stiffness],
        MembraneLaw::NeoHookean,
    )
    .unwrap_err();
    assert_eq!(error, MembraneError::NotNeoHookean { material: 0 });
}

fn nodal_forces(membrane: &Membrane, points: &[DVec3]) -> Vec<DVec3> {
    let mut forces = vec![DVec3::ZERO; points.len()];
    for (element, stencil) in membrane.stencils().iter().enumerate() {
        let gradient = membrane.gradient(element, &at_nodes(stencil, points));
        for (node, force) in stencil.iter().zip(gradient) {
            forces[*node as usize] += force;
        }
    }
    forces
}

fn square(stiffness: DMat3, law: MembraneLaw) -> (Membrane, Vec<DVec3>) {
    let mesh = grid([0.1, 0.1], [4, 5], Cells::Alternating);
    let rest = mesh.rest_triangles(DVec3::X);
    let material = vec![0; rest.len()];
    (
        Membrane::new(mesh.triangles, &rest, material, vec![stiffness], law).unwrap(),
        mesh.points,
    )
}

#[test]
fn simple_shear_has_the_known_energy() {
    let (membrane, mut points) = square(
        isotropic_stiffness(1e5 * 1e-3, 0.3),
        MembraneLaw::StVenantKirchhoff,
    );
    points.iter_mut().for_each(|point| point.x += 0.1 * point.y);
    let energy = total_value(&membrane, &points);
    assert!((energy / 1.93681e-3 - 1.0).abs() < 1e-5, "{energy}");
}

#[test]
fn warp_and_weft_have_their_prescribed_stiffness() {
    let stretched = |axis: usize| {
        let (membrane, mut points) = square(
            orthotropic_stiffness([100.0, 400.0], 0.0, 10.0),
            MembraneLaw::StVenantKirchhoff,
        );
        points.iter_mut().for_each(|point| point[axis] *= 1.1);
        assert!((membrane.max_stretch(&points) - 1.1).abs() < 1e-12);
        total_value(&membrane, &points)
    };
    // A/2 C E² with E = (1.1² − 1)/2.
    assert!((stretched(0) - 0.005 * 100.0 * 0.105 * 0.105).abs() < 1e-12);
    assert!((stretched(1) - 0.005 * 400.0 * 0.105 * 0.105).abs() < 1e-12);
}

#[test]
fn the_smallest_area_ratio_is_found() {
    let membrane = one_triangle(DMat3::IDENTITY, MembraneLaw::StVenantKirchhoff);
    let x = [[0.01, 0.02, 0.0], [0.05, 0.01, 0.0], [0.02, 0.06, 0.0]]
        .map(|point| DVec3::from_array(point) * 2.0);
    let (triangle, ratio) = membrane.smallest_area_ratio(&x).unwrap();
    assert_eq!(triangle, 0);
    assert!((ratio - 4.0).abs() < 1e-12);
    assert_eq!(membrane.smallest_area_ratio(&[x[0]; 3]), Some((0, 0.0)));
}

#[test]
fn a_triangle_without_area_is_refused() {
    let rest = [DVec2::ZERO, DVec2::X, DVec2::X * 2.0];
    let error = Membrane::new(
        vec![[0, 1, 2]],
        &[rest],
        vec![0],
        vec![DMat3::IDENTITY],
        MembraneLaw::default(),
    )
    .unwrap_err();
    assert_eq!(
        error,
        MembraneError::Triangle(DegenerateTriangle {
            triangle: 0,
            area: 0.0
        })
    );
}

#[test]
fn flattened_triangles_keep_their_shape() {
    let corners = [[0.1, 0.3, 0.2], [0.4, -0.1, 0.3], [0.2, 0.2, 0.9]].map(DVec3::from_array);
    let flat = flatten(corners);
    for (i, j) in [(0, 1), (1, 2), (2, 0)] {
        assert!((flat[i].distance(flat[j]) - corners[i].distance(corners[j])).abs() < 1e-14);
    }
}
