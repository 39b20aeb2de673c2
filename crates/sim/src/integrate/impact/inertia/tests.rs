use glam::DQuat;
use proptest::array::uniform3;
use proptest::prelude::*;

use super::*;

const LENGTHS: [f64; 3] = [0.02, 0.05, 0.03];

fn axes(turn: DVec3) -> [DVec3; 3] {
    let rotation = DQuat::from_scaled_axis(turn);
    [0, 1, 2].map(|k| rotation * DVec3::AXES[k] * LENGTHS[k])
}

fn flat(rates: [DVec3; 3]) -> Vec<f64> {
    rates.iter().flat_map(|rate| rate.to_array()).collect()
}

proptest! {
    #[test]
    fn rotations_are_rigid_and_the_rest_is_removed(
        turn in uniform3(-3.0..3.0f64),
        spin in uniform3(-9.0..9.0f64),
        rates in uniform3(uniform3(-1.0..1.0f64)),
        is_held in proptest::collection::vec(proptest::bool::weighted(0.2), 9),
    ) {
        let (axes, spin) = (axes(turn.into()), DVec3::from_array(spin));
        let strains = strain_rates(axes);
        let mut rotating = flat(axes.map(|axis| spin.cross(axis)));
        let known = rotating.clone();
        remove_strains(&mut rotating, &strains, &[false; 9]);
        for (v, known) in rotating.iter().zip(&known) {
            prop_assert!((v - known).abs() < 1e-13);
        }
        // Any velocities: what remains has no strain rate, and less energy.
        let mut any = flat(rates.map(DVec3::from_array));
        let before: f64 = any.iter().map(|v| v * v).sum();
        remove_strains(&mut any, &strains, &[false; 9]);
        let rate = |strain: &[DVec3; 3]| {
            let along = |k: usize| DVec3::from_slice(&any[3 * k..]).dot(strain[k]);
            (0..3).map(along).sum::<f64>()
        };
        prop_assert!(strains.iter().all(|strain| rate(strain).abs() < 1e-12));
        prop_assert!(any.iter().map(|v| v * v).sum::<f64>() <= before * (1.0 + 1e-12));
        // Held velocities remain.
        let mut partly = flat(rates.map(DVec3::from_array));
        let known = partly.clone();
        remove_strains(&mut partly, &strains, &is_held);
        for dof in (0..9).filter(|dof| is_held[*dof]) {
            prop_assert_eq!(partly[dof], known[dof]);
        }
    }
}
